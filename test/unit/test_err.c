/* test_err.c -- error names, and the end of a broken process. */
#include "base/err.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

TEST(every_error_has_a_name_of_its_own)
{
    for (int a = OK; a <= ERR_UNSUPPORTED; a++)
        for (int b = OK; b < a; b++)
            CHECK(strcmp(err_name((enum err)a), err_name((enum err)b)) != 0);
    CHECK(strcmp(err_name(ERR_NOT_FOUND), "not_found") == 0 && strcmp(err_name(OK), "ok") == 0);
}

TEST(an_unknown_error_has_a_name_too)
{
    CHECK(strcmp(err_name((enum err)12345), "unknown") == 0);
}

TEST(too_many_open_files_are_called_that_and_what_to_do)
{
    CHECK(strstr(os_words(EMFILE), "too many open files") && strstr(os_words(EMFILE), "ulimit -n"));
    CHECK(strstr(os_words(ENFILE), "too many open files") &&
          strcmp(os_words(ENOENT), strerror(ENOENT)) == 0);
}

TEST(a_broken_invariant_ends_the_process_with_one_line)
{
    int  fd[2], status = 0;
    char said[200] = "";
    must(1 + 1 == 2);
    REQUIRE(pipe(fd) == 0);
    fflush(stdout);
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
        dup2(fd[1], STDERR_FILENO);
        must(1 + 1 == 3);
        _exit(0);
    }
    close(fd[1]);
    CHECK(read(fd[0], said, sizeof said - 1) > 0);
    close(fd[0]);
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    CHECK(strstr(said, "1 + 1 == 3") && strstr(said, "test_err.c"));
    CHECK(strchr(said, '\n') == said + strlen(said) - 1);
}
