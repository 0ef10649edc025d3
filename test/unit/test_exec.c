/* test_exec.c -- programs as tools: those that behave, and those that do not. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "test.h"
#include "tool/exec_out.h"
#include "tool/process/exec.h"
#include "toolrun.h"

/* --- lines -------------------------------------------------------------------------- */

struct lines {
    struct exec_out out;
    unsigned        progress;
    double          last;
};

static void count(struct exec_out *o, const struct tool_progress *p)
{
    struct lines *l = LIST_ITEM(o, struct lines, out);
    l->progress++;
    l->last = p->progress;
}

static void feed(struct lines *l, const char *text, size_t step)
{
    size_t n = strlen(text);
    *l = (struct lines){ .out.progress = count };
    exec_out_init(&l->out, 1000);
    for (size_t i = 0; i < n; i += step)
        CHECK(exec_out_feed(&l->out, str_n(text + i, step < n - i ? step : n - i)) == OK);
    CHECK(exec_out_eof(&l->out) == OK);
}

TEST(lines_cut_anywhere_are_the_same_lines)
{
    for (size_t step = 1; step < 60; step++) {
        struct lines l;
        feed(&l,
             "{\"progress\":0.25,\"stage\":\"a\"}\n\n{\"message\":\"b\"}\r\n{\"result\":{\"x\":1}}"
             "\n",
             step);
        CHECK(l.progress == 2 && l.out.bad == 0 && l.out.end == EXEC_RESULT);
        CHECK_STR(buf_view(&l.out.value), "{\"x\":1}");
        exec_out_done(&l.out);
    }
}

static void ends_as(const char *text, enum exec_end end, const char *value)
{
    struct lines l;
    feed(&l, text, 7);
    CHECK(l.out.end == end && l.out.ends == 2);
    CHECK_STR(buf_view(&l.out.value), value);
    exec_out_done(&l.out);
}

TEST(a_result_is_the_last_word_and_half_a_line_is_read)
{
    struct lines l;
    ends_as("{\"result\":1}\n{\"error\":\"no\"}", EXEC_RESULT, "1");
    ends_as("{\"result\":1}\n{\"result\":2}", EXEC_RESULT, "1");
    ends_as("{\"error\":\"no\"}\n{\"result\":2}", EXEC_RESULT, "2");
    ends_as("{\"error\":\"no\"}\n{\"error\":\"still no\"}", EXEC_ERROR, "no");
    feed(&l, "{\"result\":1}\n{\"result\":", 7);
    CHECK(l.out.end == EXEC_RESULT && l.out.bad == 1);
    exec_out_done(&l.out);
}

static void check_says(const char *text, enum exec_end end, const char *value)
{
    struct lines l = { .out.progress = count };
    exec_out_init(&l.out, 1000);
    l.out.checks = true;
    CHECK(exec_out_feed(&l.out, str_c(text)) == OK && exec_out_eof(&l.out) == OK);
    CHECK(l.out.end == end);
    CHECK_STR(buf_view(&l.out.value), value);
    exec_out_done(&l.out);
}

TEST(a_check_says_one_answer_whole_and_two_are_none)
{
    check_says("{\"progress\":1}\n{\"happened\":true,\"result\":1}", EXEC_RESULT,
               "{\"happened\":true,\"result\":1}");
    check_says("{\"unknown\":true}", EXEC_RESULT, "{\"unknown\":true}");
    check_says("{\"happened\":true}\n{\"happened\":false}", EXEC_ERROR,
               "It said more than one answer.");
    check_says("{\"error\":\"no\"}\n{\"happened\":true}", EXEC_ERROR,
               "It said more than one answer.");
    check_says("{\"result\":{\"happened\":true}}", EXEC_NO_END, "");
    check_says("{\"error\":\"no\"}", EXEC_ERROR, "no");
}

TEST(a_line_beyond_its_limit_is_an_error)
{
    struct lines l = { .out.progress = count };
    char         text[1200];
    memset(text, 'x', sizeof text);
    exec_out_init(&l.out, 1000);
    CHECK(exec_out_feed(&l.out, str_n(text, sizeof text)) == ERR_FULL);
    exec_out_done(&l.out);
}

TEST(progress_outside_its_range_is_not_known_or_full)
{
    struct lines l;
    feed(&l, "{\"progress\":-3}\n", 99);
    CHECK(l.last == -1);
    exec_out_done(&l.out);
    feed(&l, "{\"progress\":7}\n", 99);
    CHECK(l.last == 1);
    exec_out_done(&l.out);
    feed(&l, "{\"progress\":\"half\",\"message\":\"x\"}\n", 99);
    CHECK(l.last == -1 && l.progress == 1);
    exec_out_done(&l.out);
}

/* --- tools that behave ----------------------------------------------------------------- */

static struct toolrun *T;
static void            begin(void)
{
    T = toolrun_new();
}
static void end(void)
{
    toolrun_free(T);
}

static void run_sh(struct ran *r, const char *script, const char *more, unsigned timeout_ms)
{
    ran_run(T, r, toolrun_sh(T, script, more, timeout_ms), "{\"name\":\"Ada\"}");
}

TEST(an_exec_tool_gets_its_arguments_and_gives_its_result)
{
    struct ran r;
    begin();
    run_sh(
        &r,
        "read line; echo \"{\\\"progress\\\":0.5,\\\"message\\\":\\\"half\\\"}\"; echo noise >&2;"
        "echo \"{\\\"result\\\":$line}\"",
        "", 5000);
    CHECK(r.outcome == TOOL_DONE && r.progress == 1 && r.last_progress == 0.5);
    CHECK_STR(r.text, "{\"name\":\"Ada\"}");
    CHECK_STR(r.value, "{\"name\":\"Ada\"}");
    CHECK_STR(r.note, "noise");
    CHECK_STR(r.last_message, "half");
    ran_done(&r);
    run_sh(&r, "echo '{\"result\":\"just words\"}'", "", 5000);
    CHECK_STR(r.text, "just words");
    CHECK_STR(r.value, "\"just words\"");
    CHECK(!r.note.ptr);
    ran_done(&r);
    end();
}

TEST(an_exec_tool_reads_its_arguments_as_one_line)
{
    struct ran r;
    begin();
    struct tool *t = toolrun_sh(
        T, "read -r line; read -r more && exit 9; echo \"{\\\"result\\\":$line}\"", "", 5000);
    ran_run(T, &r, t, "{\n  \"text\" : \"a b\\nc\",\r\n\t\"list\": [1, 2.50,\n {\"x\" :null}]\n}");
    CHECK(r.outcome == TOOL_DONE);
    CHECK_STR(r.text, "{\"text\":\"a b\\nc\",\"list\":[1,2.50,{\"x\":null}]}");
    ran_done(&r);
    end();
}

TEST(an_exec_tool_says_what_went_wrong)
{
    struct ran r;
    begin();
    run_sh(&r, "echo '{\"error\":\"no such account\"}'; exit 3", "", 5000);
    CHECK(r.outcome == TOOL_FAILED);
    CHECK_STR(r.text, "no such account");
    ran_done(&r);
    run_sh(&r, "echo oops >&2; exit 3", "", 5000);
    CHECK_STR(r.text,
              "It ended without a result (exit status 3). Whether it had an effect is not known.");
    CHECK_STR(r.note, "oops");
    ran_done(&r);
    end();
}

TEST(an_exec_tool_sees_only_the_environment_it_was_given)
{
    struct ran r;
    begin();
    setenv("PARLEY_TEST_SECRET", "hunter2", 1); /* what looks like a reference is a value here */
    run_sh(&r,
           "env | cut -d= -f1 | grep -vE '^(PWD|SHLVL|_|OLDPWD)$' | sort | tr '\\n' ' ' > $HOME/e; "
           "echo \"{\\\"result\\\":\\\"$(cat $HOME/e)$KEY\\\"}\"",
           ",\"env\":{\"KEY\":\"env:PARLEY_TEST_SECRET\"}", 5000);
    CHECK_STR(r.text, "HOME KEY LANG PARLEY_CALL_ID PARLEY_THREAD PARLEY_TOOL PATH TMPDIR "
                      "env:PARLEY_TEST_SECRET");
    ran_done(&r);
    struct tool *t =
        toolrun_sh(T, "echo \"{\\\"result\\\":\\\"$PARLEY_TOOL $PARLEY_CALL_ID\\\"}\"", "", 5000);
    ran_run(T, &r, t, "{}");
    CHECK(str_starts(r.text, t->name));
    CHECK(str_has(r.text, " call-abcdefghijklmnopqrstuv"));
    ran_done(&r);
    end();
}

TEST(an_exec_tool_that_is_cancelled_ends)
{
    struct ran r = { 0 };
    begin();
    ran_start(T, &r, toolrun_sh(T, "sleep 64201", "", 60000), "{}");
    toolrun_while(T, !processes_with("64201"));
    CHECK(!r.over);
    r.job.tool->ops->cancel(&r.job);
    ran_wait(T, &r, 5000);
    CHECK(r.outcome == TOOL_UNKNOWN);
    CHECK_STR(r.text, "It was stopped after it had begun. Whether it had an effect is not known.");
    CHECK(processes_with("64201") == 0);
    ran_done(&r);
    end();
}

static void stopped_gives(enum tool_confirm confirm, const char *risk, bool idempotent,
                          enum tool_outcome outcome)
{
    struct ran   r = { 0 };
    struct tool *t = toolrun_sh(T, "echo '{\"progress\":0.1}'; sleep 64203", "", 60000);

    t->confirm = confirm;
    t->risk = str_c(risk);
    t->idempotent = idempotent;
    ran_start(T, &r, t, "{}");
    toolrun_while(T, r.progress == 0);
    r.job.tool->ops->cancel(&r.job);
    ran_wait(T, &r, 5000);
    CHECK(r.outcome == outcome);
    if (outcome == TOOL_UNKNOWN)
        CHECK_STR(r.text,
                  "It was stopped after it had begun. Whether it had an effect is not known.");
    ran_done(&r);
}

TEST(a_program_stopped_in_the_middle_is_unknown_whatever_its_policy)
{
    begin();
    stopped_gives(CONFIRM_ALWAYS, "low", false, TOOL_UNKNOWN);
    stopped_gives(CONFIRM_WHEN, "low", false, TOOL_UNKNOWN);
    stopped_gives(CONFIRM_NEVER, "high", false, TOOL_UNKNOWN);
    stopped_gives(CONFIRM_NEVER, "low", false, TOOL_UNKNOWN);
    stopped_gives(CONFIRM_ALWAYS, "high", true, TOOL_UNKNOWN);
    end();
}

TEST(what_was_said_before_a_cancellation_counts)
{
    struct ran r = { 0 };
    begin();
    ran_start(T, &r,
              toolrun_sh(T,
                         "trap 'echo \"{\\\"result\\\":\\\"paid after all\\\"}\"; exit' TERM;"
                         "echo '{\"progress\":0.1}'; sleep 64202 & wait",
                         "", 60000),
              "{}");
    toolrun_while(T, r.progress == 0);
    r.job.tool->ops->cancel(&r.job);
    ran_wait(T, &r, 5000);
    CHECK(r.outcome == TOOL_DONE);
    CHECK_STR(r.text, "paid after all");
    ran_done(&r);
    end();
}

TEST(progress_is_told_ten_times_a_second_and_the_last_of_it_always)
{
    struct ran r;
    begin();
    run_sh(&r,
           "for i in 1 2 3 4 5 6 7 8 9; do echo \"{\\\"progress\\\":0.$i}\"; done; sleep 0.3; echo "
           "'{\"result\":1}'",
           "", 5000);
    CHECK(r.progress >= 2 && r.progress <= 4 && r.last_progress == 0.9);
    ran_done(&r);
    end();
}

/* --- configuration ---------------------------------------------------------------------- */

static void refused(const char *json, const char *because)
{
    struct tool *t = registry_tool(&T->reg, STR("x"));
    struct jv   *v;
    struct buf   why;

    buf_init(&why, 0);
    REQUIRE(json_parse(&T->reg.arena, str_c(json), &v, NULL) == OK);
    CHECK(exec_tool_read(&T->reg, t, v, &T->exec, STR_NONE, &why) != OK);
    if (!str_has(buf_view(&why), because))
        test_check_str(__FILE__, __LINE__, buf_view(&why), str_c(because));
    buf_done(&why);
}

TEST(a_wrong_exec_configuration_is_told_in_a_sentence)
{
    begin();
    refused("[]", "must be an object");
    refused("{}", "\"command\" must be a list");
    refused("{\"command\":\"ls\"}", "\"command\" must be a list");
    refused("{\"command\":[]}", "\"command\" must be a list");
    refused("{\"command\":[1]}", "texts only");
    refused("{\"command\":[\"a\\u0000b\"]}", "NUL");
    refused("{\"command\":[\"no-such-program-here\"]}",
            "no-such-program-here of \"command\" is not installed");
    refused("{\"command\":[\"ls\"],\"cwd\":\"/no/such/dir\"}",
            "/no/such/dir of \"cwd\" is not there");
    refused("{\"command\":[\"ls\"],\"env\":{\"PARLEY_TOOL\":\"x\"}}",
            "\"env\" cannot set PARLEY_TOOL");
    refused("{\"command\":[\"ls\"],\"env\":[]}", "\"env\" must be an object");
    refused("{\"command\":[\"ls\"],\"limits\":{\"cpus\":1}}", "no limit called cpus");
    refused("{\"command\":[\"ls\"],\"limits\":{\"memory\":-1}}", "memory must be a whole number");
    refused("{\"command\":[\"ls\"],\"nework\":true}", "no option called nework");
    refused("{\"command\":[\"ls\"],\"network\":\"yes\"}", "true or false");
    refused("{\"command\":[\"ls\"],\"read\":[\"/no/such\"]}", "is not there");
    end();
}

/* --- tools that do not behave -------------------------------------------------------------- */

TEST(a_tool_that_never_ends_is_ended)
{
    struct ran r;
    begin();
    run_sh(&r, "sleep 64203", "", 200);
    CHECK(r.outcome == TOOL_UNKNOWN && r.ms < 1500 * TOOLRUN_PATIENCE &&
          str_has(r.text, "did not finish"));
    CHECK(processes_with("64203") == 0);
    ran_done(&r);
    end();
}

TEST(a_tool_that_ignores_sigterm_is_killed)
{
    struct ran r;
    begin();
    run_sh(&r, "trap '' TERM; while :; do sleep 64204; done", "", 200);
    CHECK(r.outcome == TOOL_UNKNOWN && r.ms >= 2100 && r.ms < 4000 * TOOLRUN_PATIENCE);
    CHECK(processes_with("64204") == 0);
    ran_done(&r);
    end();
}

TEST(a_tool_that_closes_stdout_and_lingers_is_ended)
{
    struct ran r;
    begin();
    run_sh(&r, "echo '{\"result\":\"done\"}'; exec 1>&- 2>&-; sleep 64205", "", 60000);
    CHECK(r.outcome == TOOL_DONE && r.ms >= 1900 && r.ms < 4000 * TOOLRUN_PATIENCE);
    CHECK(processes_with("64205") == 0);
    ran_done(&r);
    run_sh(&r, "exec 1>&- 2>&-; trap '' TERM; sleep 64205; sleep 64205", "", 60000);
    CHECK(r.outcome == TOOL_UNKNOWN);
    CHECK(r.ms < 4000 * TOOLRUN_PATIENCE);
    CHECK(processes_with("64205") == 0);
    ran_done(&r);
    end();
}

TEST(a_grandchild_left_behind_does_not_stay)
{
    struct ran r;
    begin();
    run_sh(&r,
           "setsid sleep 64206 & (setsid nohup sleep 64206 > /dev/null 2>&1 &) ; sleep 0.1; echo "
           "'{\"result\":1}'",
           "", 60000);
    CHECK(r.outcome == TOOL_DONE && r.ms < 1500 * TOOLRUN_PATIENCE);
    CHECK(processes_with("64206") == 0);
    ran_done(&r);
    end();
}

TEST(ten_gigabytes_of_output_are_not_read)
{
    struct ran r;
    begin();
    run_sh(&r, "head -c 10000000000 /dev/zero", "", 60000);
    CHECK(r.outcome == TOOL_UNKNOWN && r.ms < 3000 * TOOLRUN_PATIENCE &&
          str_has(r.text, "wrote more than"));
    ran_done(&r);
    run_sh(&r, "yes '{\"progress\":0.1}'", ",\"limits\":{\"output\":100000}", 60000);
    CHECK(r.outcome == TOOL_UNKNOWN && r.ms < 3000 * TOOLRUN_PATIENCE &&
          str_has(r.text, "100000 bytes"));
    ran_done(&r);
    run_sh(&r, "head -c 10000000 /dev/zero >&2; echo end >&2; echo '{\"result\":1}'", "", 60000);
    CHECK(r.outcome == TOOL_DONE && str_ends(r.note, STR("end")) && r.note.len < 9000);
    ran_done(&r);
    run_sh(&r, "yes noise >&2", "", 60000);
    CHECK(r.outcome == TOOL_UNKNOWN && str_has(r.text, "bytes to stderr") && r.note.len < 9000);
    ran_done(&r);
    end();
}

TEST(what_is_not_json_lines_is_told_in_words)
{
    struct ran r;
    begin();
    run_sh(&r, "echo hello; echo world", "", 5000);
    CHECK(r.outcome == TOOL_UNKNOWN);
    CHECK_STR(r.text, "Its answer is not JSON lines: line 1 is not JSON: hello. Whether it had an "
                      "effect is not known.");
    ran_done(&r);
    run_sh(&r, "printf '{\"result\":\"\\xff\\xfe\"}\\n'", "", 5000);
    CHECK(r.outcome == TOOL_UNKNOWN &&
          str_has(r.text, "line 1 is not JSON: {\"result\":\"\xEF\xBF\xBD\xEF\xBF\xBD\"}"));
    ran_done(&r);
    run_sh(&r, "printf '{\"result\":\"unfin'", "", 5000);
    CHECK(r.outcome == TOOL_UNKNOWN && str_has(r.text, "line 1 is not JSON"));
    ran_done(&r);
    run_sh(&r, "printf '{\"result\":\"no newline\"}'", "", 5000);
    CHECK(r.outcome == TOOL_DONE);
    ran_done(&r);
    run_sh(&r, "echo '[1]'; echo '{\"x\":1}'; echo '{\"result\":7}'", "", 5000);
    CHECK(r.outcome == TOOL_DONE && str_has(r.note, "2 of its lines could not be read"));
    CHECK_STR(r.text, "7");
    ran_done(&r);
    end();
}

/* A tool that never reads its stdin must not block or end us. */
TEST(input_that_nobody_reads_is_dropped)
{
    static char big[600000];
    struct ran  r;
    begin();
    snprintf(big, sizeof big, "{\"a\":\"%0*d\"}", 500000, 1);
    ran_run(T, &r, toolrun_sh(T, "exec 0<&-; echo '{\"result\":1}'", "", 5000), big);
    CHECK(r.outcome == TOOL_DONE);
    ran_done(&r);
    ran_run(T, &r, toolrun_sh(T, "n=$(wc -c); echo \"{\\\"result\\\":$n}\"", "", 5000), big);
    CHECK_STR(r.text, "500009");
    ran_done(&r);
    end();
}

TEST(what_is_left_of_tools_dies_with_the_keeper_and_another_one_comes)
{
    struct ran r = { 0 };
    begin();
    ran_start(T, &r, toolrun_sh(T, "echo '{\"progress\":0}'; setsid sleep 64207 & wait", "", 60000),
              "{}");
    toolrun_while(T, r.progress == 0);
    pid_t killed = children_keeper(T->children);
    kill(killed, SIGKILL);
    ran_wait(T, &r, 5000);
    CHECK(r.outcome == TOOL_UNKNOWN);
    toolrun_while(T, processes_with("64207"));
    CHECK(processes_with("64207") == 0);
    ran_done(&r);
    toolrun_while(T, children_keeper(T->children) == killed || children_keeper(T->children) <= 0);
    run_sh(&r, "echo '{\"result\":1}'", "", 5000);
    CHECK(r.outcome == TOOL_DONE);
    ran_done(&r);
    end();
}

/* A second process is the server here, and dies of SIGKILL. */
TEST(tools_die_with_the_server)
{
    int   ready[2];
    char  c;
    pid_t server;

    REQUIRE(pipe(ready) == 0);
    server = fork();
    if (server == 0) {
        struct ran r = { 0 };
        begin();
        ran_start(T, &r,
                  toolrun_sh(T,
                             "echo '{\"progress\":0}'; setsid sleep 64208 & trap '' TERM HUP; "
                             "sleep 64208; sleep 64208",
                             "", 60000),
                  "{}");
        toolrun_while(T, r.progress == 0);
        (void)!write(ready[1], "x", 1);
        for (;;) pause();
    }
    CHECK(read(ready[0], &c, 1) == 1);
    CHECK(processes_with("64208") >= 1);
    kill(server, SIGKILL);
    waitpid(server, NULL, 0);
    for (int i = 0; i < 3000 && processes_with("64208"); i++) usleep(10000);
    CHECK(processes_with("64208") == 0);
    close(ready[0]);
    close(ready[1]);
}

/* --- without a sandbox (MCP servers): looked after all the same ------------------------------- */

struct free_child {
    struct child child;
    bool         over;
    int          status;
    unsigned     heard;
};

static void heard(struct child *c, struct str bytes)
{
    LIST_ITEM(c, struct free_child, child)->heard += (unsigned)bytes.len;
}
static void gone(struct child *c, int status)
{
    LIST_ITEM(c, struct free_child, child)->status = status;
    LIST_ITEM(c, struct free_child, child)->over = true;
}

static void run_free(struct free_child *f, const char *script)
{
    const char *argv[] = { "bash", "-c", script, NULL }, *envp[] = { "PATH=/usr/bin:/bin", NULL };
    struct child_spec spec = { .program = "/bin/bash", .argv = argv, .envp = envp };

    *f = (struct free_child){ .child = { .on_out = heard, .on_err = heard, .on_exit = gone } };
    REQUIRE(child_start(T->children, &f->child, &spec) == OK);
}

TEST(a_child_without_a_sandbox_leaves_nothing_either)
{
    struct free_child f;
    begin();
    run_free(&f, "setsid sleep 64210 & (setsid setsid sleep 64210 &); sleep 0.1; exit 7");
    toolrun_wait(T, &f.over, 5000);
    CHECK(f.over && WIFEXITED(f.status) && WEXITSTATUS(f.status) == 7);
    CHECK(processes_with("64210") == 0);
    run_free(
        &f,
        "trap '' TERM; (trap '' TERM; setsid sleep 64211 &); echo up; sleep 64211; sleep 64211");
    toolrun_while(T, !f.heard);
    child_term(&f.child);
    toolrun_turn(T, 200);
    CHECK(!f.over);
    child_kill(&f.child);
    toolrun_wait(T, &f.over, 5000);
    CHECK(f.over && WIFSIGNALED(f.status));
    CHECK(processes_with("64211") == 0);
    end();
}

/* More than a pipe holds: with half of it written, a server's end would be the end of the text. */
TEST(all_that_a_program_reads_is_there_before_it_begins)
{
    struct ran   r = { 0 };
    struct buf   args;
    struct tool *t;

    begin();
    buf_init(&args, 0);
    buf_str(&args, STR("{\"to\":\""));
    for (int i = 0; i < 300000; i++) buf_chr(&args, 'x');
    buf_str(&args, STR("\"}"));
    buf_chr(&args, 0);
    t = toolrun_sh(T, "test -p /dev/stdin && cat > /dev/null && echo '{\"result\":\"pipe\"}'", "",
                   20000);
    ran_start(T, &r, t, "{}");
    toolrun_wait(T, &r.over, 20000);
    CHECK_STR(r.value, "\"pipe\""); /* where it fits */
    ran_done(&r);
    r = (struct ran){ 0 };
    t = toolrun_sh(T, "test -f /dev/stdin && n=$(wc -c) && echo \"{\\\"result\\\":$n}\"", "",
                   20000);
    ran_start(T, &r, t, buf_view(&args).ptr);
    toolrun_wait(T, &r.over, 20000);
    CHECK(r.outcome == TOOL_DONE);
    CHECK_STR(r.value, "300010");
    ran_done(&r);
    buf_done(&args);
    end();
}

TEST(a_program_that_is_not_there_is_told_not_waited_for)
{
    struct free_child f = { .child = { .on_out = heard, .on_err = heard, .on_exit = gone } };
    const char       *argv[] = { "x", NULL }, *envp[] = { NULL };
    begin();
    REQUIRE(child_start(
                T->children, &f.child,
                &(struct child_spec){ .program = "/no/such", .argv = argv, .envp = envp }) == OK);
    toolrun_wait(T, &f.over, 5000);
    CHECK(f.over && f.status == CHILD_NOT_STARTED && f.heard > 0);
    end();
}

/* --- their turn ------------------------------------------------------------------------------- */

TEST(no_more_programs_run_at_once_than_may_and_every_call_has_its_turn)
{
    enum { ALL = 12, AT_ONCE = 3 };
    static struct ran rs[ALL];
    struct tool      *t;
    size_t            most = 0;

    begin();
    T->exec.at_once = AT_ONCE;
    t = toolrun_sh(T, "sleep 0.05; echo '{\"result\":1}'", "", 20000);
    for (int i = 0; i < ALL; i++) ran_start(T, &rs[i], t, "{}");
    CHECK(children_count(T->children) == AT_ONCE);
    for (int i = 0; i < ALL;) {
        uv_run(&T->loop.uv, UV_RUN_ONCE);
        if (children_count(T->children) > most) most = children_count(T->children);
        while (i < ALL && rs[i].over) i++;
    }
    CHECK(most == AT_ONCE);
    for (int i = 0; i < ALL; i++) {
        CHECK(rs[i].outcome == TOOL_DONE);
        ran_done(&rs[i]);
    }
    end();
}

TEST(a_call_that_waits_for_its_turn_has_time_and_can_be_cancelled_for_certain)
{
    struct ran   first = { 0 }, second = { 0 }, third = { 0 };
    struct tool *slow, *quick, *never;
    char         path[300], script[400];
    struct stat  st;

    begin();
    T->exec.at_once = 1;
    snprintf(path, sizeof path, "%s/ran", test_dir());
    snprintf(script, sizeof script, "echo x > $HOME/ran; echo '{\"result\":1}'");
    slow = toolrun_sh(T, "sleep 0.5; echo '{\"result\":1}'", "", 20000);
    quick = toolrun_sh(T, "echo '{\"result\":2}'", "", 400); /* less than it waits */
    never = toolrun_sh(T, script, "", 20000);
    never->confirm = CONFIRM_ALWAYS;
    ran_start(T, &first, slow, "{}");
    ran_start(T, &second, quick, "{}");
    ran_start(T, &third, never, "{}");
    never->ops->cancel(&third.job);
    never->ops->cancel(&third.job);
    CHECK(!third.over);
    ran_wait(T, &third, 10000);
    CHECK(third.outcome == TOOL_CANCELLED && !first.over);
    CHECK_STR(third.text, "It was cancelled before it began.");
    ran_wait(T, &second, 10000);
    CHECK(first.over && second.outcome == TOOL_DONE);
    CHECK(stat(path, &st) != 0);
    ran_done(&first);
    ran_done(&second);
    ran_done(&third);
    end();
}

/* --- a thousand of them ----------------------------------------------------------------------- */

static uint64_t worst_ns;
static unsigned slow_turns;
static void     on_turn(void *ctx, uint64_t busy_ns)
{
    if (busy_ns > worst_ns) worst_ns = busy_ns;
    if (busy_ns > 5000000) slow_turns++;
}

TEST(hundreds_of_starts_leave_nothing_and_do_not_hold_the_loop)
{
    enum { ALL = 200, AT_ONCE = 20 };
    static struct ran rs[AT_ONCE];
    struct tool      *tool;
    unsigned          started = 0, done = 0, good = 0, before;
    uint64_t          began, took;
    struct ran        first;

    begin();
    tool = toolrun_sh(T, "echo '{\"result\":64209}'", "", 30000);
    ran_run(T, &first, tool, "{}");
    ran_done(&first);
    toolrun_while(T, children_count(T->children));
    before = open_descriptors();
    worst_ns = slow_turns = 0;
    T->loop.on_turn = on_turn;
    for (int i = 0; i < AT_ONCE; i++, started++) ran_start(T, &rs[i], tool, "{}");
    for (began = clock_mono_ms(); done < ALL && clock_mono_ms() - began < 120000;) {
        uv_run(&T->loop.uv, UV_RUN_ONCE);
        for (int i = 0; i < AT_ONCE; i++) {
            if (!rs[i].over) continue;
            done++;
            if (rs[i].outcome == TOOL_DONE) good++;
            ran_done(&rs[i]);
            rs[i].over = false;
            if (started < ALL) ran_start(T, &rs[i], tool, "{}"), started++;
        }
    }
    took = clock_mono_ms() - began;
    CHECK(done == ALL && good == ALL);
    toolrun_while(T, children_count(T->children) || open_descriptors() != before ||
                         processes_with("64209"));
    printf("note: %d starts in %llu ms, longest turn of the loop %.2f ms, %u turns over 5 ms\n",
           ALL, (unsigned long long)took, (double)worst_ns / 1e6, slow_turns);
    CHECK(open_descriptors() == before);
    CHECK(children_count(T->children) == 0);
    CHECK(processes_with("64209") == 0);
    /* the keeper lives, and nothing waits to be buried */
    CHECK(waitpid(-1, NULL, WNOHANG) == 0);
    end();
    CHECK(waitpid(-1, NULL, WNOHANG) <= 0); /* another test's server may be there, and lives */
}
