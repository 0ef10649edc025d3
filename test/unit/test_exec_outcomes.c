/* test_exec_outcomes.c -- the column "exec" of docs/outcomes.md, one test per row.
 *
 * Every tool here is told as TOOL_UNKNOWN where nobody can know, idempotent or
 * not: what may be run again is not the runner's to decide. */
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test.h"
#include "toolrun.h"

static struct toolrun *T;

static void ends(const char *script, const char *more, unsigned timeout_ms,
                 enum tool_outcome outcome, const char *words)
{
    struct ran r;
    T = toolrun_new();
    struct tool *t = toolrun_sh(T, script, more, timeout_ms);
    t->idempotent = true;
    ran_run(T, &r, t, "{}");
    CHECK(r.outcome == outcome);
    if (!str_has(r.text, words)) test_check_str(__FILE__, __LINE__, r.text, str_c(words));
    CHECK(str_has(r.text, "Whether it had an effect is not known.") == (outcome == TOOL_UNKNOWN));
    ran_done(&r);
    toolrun_free(T);
}

TEST(exec_outcome_a_result_is_done)
{
    ends("echo '{\"result\":\"paid\"}'", "", 5000, TOOL_DONE, "paid");
}
TEST(exec_outcome_an_error_is_failed)
{
    ends("echo '{\"error\":\"no money\"}'", "", 5000, TOOL_FAILED, "no money");
}
TEST(exec_outcome_an_error_and_a_bad_exit_is_failed)
{
    ends("echo '{\"error\":\"no money\"}'; exit 3", "", 5000, TOOL_FAILED, "no money");
}
TEST(exec_outcome_a_result_and_a_bad_exit_is_done)
{
    ends("echo '{\"result\":\"paid\"}'; exit 3", "", 5000, TOOL_DONE, "paid");
}
TEST(exec_outcome_a_result_and_a_crash_is_done)
{
    ends("echo '{\"result\":\"paid\"}'; kill -SEGV $$", "", 5000, TOOL_DONE, "paid");
}
TEST(exec_outcome_a_result_then_an_error_is_done)
{
    ends("echo '{\"result\":\"paid\"}'; echo '{\"error\":\"no\"}'", "", 5000, TOOL_DONE, "paid");
}
TEST(exec_outcome_an_error_then_a_result_is_done)
{
    ends("echo '{\"error\":\"no\"}'; echo '{\"result\":\"paid\"}'", "", 5000, TOOL_DONE, "paid");
}
TEST(exec_outcome_a_result_then_a_flood_is_done)
{
    ends("echo '{\"result\":\"paid\"}'; exec yes", ",\"limits\":{\"output\":100000}", 5000,
         TOOL_DONE, "paid");
}
TEST(exec_outcome_silence_is_unknown)
{
    ends("true", "", 5000, TOOL_UNKNOWN, "ended without a result");
}
TEST(exec_outcome_silence_and_a_bad_exit_is_unknown)
{
    ends("exit 3", "", 5000, TOOL_UNKNOWN, "(exit status 3)");
}
TEST(exec_outcome_what_a_shell_says_of_a_missing_program_is_unknown)
{
    ends("no-such-program", "", 5000, TOOL_UNKNOWN, "(exit status 127)");
}
TEST(exec_outcome_no_json_is_unknown)
{
    ends("echo paid", "", 5000, TOOL_UNKNOWN, "not JSON lines");
}
TEST(exec_outcome_half_a_line_is_unknown)
{
    ends("printf '{\"result\":\"pa'", "", 5000, TOOL_UNKNOWN, "not JSON lines");
}
TEST(exec_outcome_progress_without_an_end_is_unknown)
{
    ends("echo '{\"progress\":1}'", "", 5000, TOOL_UNKNOWN, "ended without a result");
}
TEST(exec_outcome_a_crash_is_unknown)
{
    ends("kill -SEGV $$", "", 5000, TOOL_UNKNOWN, "signal 11");
}
TEST(exec_outcome_killed_is_unknown)
{
    ends("kill -KILL $$", "", 5000, TOOL_UNKNOWN, "signal 9");
}
TEST(exec_outcome_too_late_is_unknown)
{
    ends("sleep 64401", "", 100, TOOL_UNKNOWN, "did not finish within 0.1 s");
}
TEST(exec_outcome_too_much_output_is_unknown)
{
    ends("exec yes", ",\"limits\":{\"output\":100000}", 5000, TOOL_UNKNOWN,
         "wrote more than 100000 bytes");
}

TEST(exec_outcome_the_keeper_killed_is_unknown)
{
    struct ran r = { 0 };
    T = toolrun_new();
    ran_start(T, &r, toolrun_sh(T, "echo '{\"progress\":0}'; sleep 64402", "", 60000), "{}");
    while (r.progress == 0 && !r.over) toolrun_turn(T, 10);
    kill(children_keeper(T->children), SIGKILL);
    ran_wait(T, &r, 10000);
    CHECK(r.outcome == TOOL_UNKNOWN);
    ran_done(&r);
    toolrun_free(T);
}

/* It was there when the configuration was read. */
TEST(exec_outcome_a_program_that_cannot_be_started_is_failed)
{
    struct ran  r;
    char        path[300], json[400];
    const char *gone[] = { "removed", "no interpreter" };

    T = toolrun_new();
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/pay-%d", test_dir(), i);
        FILE *f = fopen(path, "w");
        REQUIRE(f != NULL);
        fputs(i ? "#!/no/such/interpreter\n" : "#!/bin/sh\n", f);
        fclose(f);
        REQUIRE(chmod(path, 0755) == 0);
        snprintf(json, sizeof json, "{\"command\":[\"%s\"]}", path);
        struct tool *t = toolrun_exec(T, json, 5000);
        if (i == 0) unlink(path);
        ran_run(T, &r, t, "{}");
        CHECK(r.outcome == TOOL_FAILED);
        CHECK_STR(r.text, "It could not be started.");
        if (!str_has(r.note, "No such file")) test_failed(__FILE__, __LINE__, gone[i]);
        ran_done(&r);
    }
    toolrun_free(T);
}
