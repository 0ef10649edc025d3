/* test_keys.c -- what a person types: lines whatever pieces they come in, and Ctrl-C at any
 * moment. */
#include "cli/keys.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "test.h"

static int        hands = -1, saved = -1; /* what is written here is typed */
static struct buf line;

static void sit_down(size_t longest)
{
    int fds[2];

    REQUIRE(pipe(fds) == 0);
    saved = dup(STDIN_FILENO);
    dup2(fds[0], STDIN_FILENO);
    close(fds[0]);
    hands = fds[1];
    buf_init(&line, longest);
}

static void stand_up(void)
{
    dup2(saved, STDIN_FILENO);
    close(saved);
    if (hands >= 0) close(hands);
    buf_done(&line);
    keys_forget();
}

static void type(const char *text)
{
    CHECK(write(hands, text, strlen(text)) == (ssize_t)strlen(text));
}

static void reads(const char *want)
{
    CHECK(keys_line(&line) == KEYS_LINE);
    CHECK_STR(buf_view(&line), want);
}

TEST(lines_come_one_by_one_and_the_last_needs_no_end)
{
    sit_down(0);
    type("first\n\n third\r\nlast");
    close(hands);
    hands = -1;
    reads("first");
    reads("");
    reads(" third\r");
    reads("last");
    CHECK(keys_line(&line) == KEYS_END);
    CHECK(keys_line(&line) == KEYS_END);
    stand_up();
}

TEST(a_line_that_is_too_long_says_so_and_the_next_one_is_whole)
{
    sit_down(8);
    for (int i = 0; i < 1000; i++) type("too long ");
    type("\ny\n");
    CHECK(keys_line(&line) == KEYS_LINE && line.err == ERR_FULL);
    reads("y");
    CHECK(!line.err);
    stand_up();
}

/* It was lost when it came after the prompt and before the reading, which then waited for a
 * line. */
TEST(ctrl_c_before_the_reading_is_not_missed)
{
    sit_down(0);
    REQUIRE(keys_listen());
    raise(SIGINT);
    CHECK(keys_line(&line) == KEYS_PRESSED);
    raise(SIGINT);
    CHECK(keys_pressed() == 2 && keys_taken() == 2 && keys_pressed() == 0);
    type("then a line\n");
    reads("then a line");
    signal(SIGINT, SIG_DFL);
    stand_up();
}
