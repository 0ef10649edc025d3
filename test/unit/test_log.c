/* test_log.c -- log lines: JSON for programs, tame text for terminals. */
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/json.h"
#include "test.h"

/* stderr goes to `fd` until restored. */
static int saved = -1;

static void redirect(int fd)
{
    saved = dup(STDERR_FILENO);
    dup2(fd, STDERR_FILENO);
}

static void restore(void)
{
    dup2(saved, STDERR_FILENO);
    close(saved);
}

static int  fds[2];
static char line[70000];

static void listen_pipe(void)
{
    REQUIRE(pipe(fds) == 0);
    fcntl(fds[0], F_SETFL, O_NONBLOCK);
    fcntl(fds[1], F_SETPIPE_SZ, 1 << 17);
    redirect(fds[1]);
}

static struct str heard(void)
{
    restore();
    ssize_t n = read(fds[0], line, sizeof line - 1);
    close(fds[0]);
    close(fds[1]);
    return str_n(line, n > 0 ? (size_t)n : 0);
}

/* The other end of a terminal. */
static void listen_terminal(void)
{
    fds[0] = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK);
    REQUIRE(fds[0] >= 0 && grantpt(fds[0]) == 0 && unlockpt(fds[0]) == 0);
    fds[1] = open(ptsname(fds[0]), O_RDWR | O_NOCTTY);
    REQUIRE(fds[1] >= 0);
    redirect(fds[1]);
}

/* All that stands in `fd` now: how many whole lines. */
static size_t drain_lines(int fd, struct buf *into)
{
    size_t lines = 0;
    for (ssize_t n; (n = read(fd, line, sizeof line)) > 0;) buf_add(into, line, (size_t)n);
    for (size_t i = 0; i < into->len; i++) lines += into->ptr[i] == '\n';
    return lines;
}

/* `many` lines to a reader who does not read, then one when he does. */
static void check_stalled(int reader, unsigned many, const char *value)
{
    struct buf first, then;
    char       words[64];
    buf_init(&first, 0);
    buf_init(&then, 0);
    for (unsigned i = 0; i < many; i++) log_line(LOG_WARN, "test.flood", "value", value, NULL);
    size_t came = drain_lines(reader, &first);
    bool   cut = first.ptr[first.len - 1] != '\n';
    log_line(LOG_WARN, "test.after", NULL);
    size_t after = drain_lines(reader, &then);
    restore();
    log_waits(true);
    CHECK(came > 0 && came + cut < many);
    CHECK(after == 2u + cut && str_find(buf_view(&then), STR("test.after")) > 0);
    snprintf(words, sizeof words, "\"event\":\"log.lost\",\"lines\":%u",
             many - (unsigned)came - cut);
    CHECK(str_find(buf_view(&then), str_c(words)) >= 0);
    buf_done(&first);
    buf_done(&then);
}

TEST(a_reader_of_a_pipe_who_stops_reading_holds_up_nobody_and_is_told_what_was_lost)
{
    static char large[20000];
    memset(large, 'x', sizeof large - 1);
    for (int i = 0; i < 2; i++) {
        REQUIRE(pipe(fds) == 0);
        fcntl(fds[0], F_SETFL, O_NONBLOCK);
        redirect(fds[1]);
        log_waits(false);
        check_stalled(fds[0], 5000, i ? large : "small");
        close(fds[0]);
        close(fds[1]);
    }
}

TEST(a_reader_of_a_socket_who_stops_reading_holds_up_nobody)
{
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
    fcntl(fds[0], F_SETFL, O_NONBLOCK);
    redirect(fds[1]);
    log_waits(false);
    check_stalled(fds[0], 5000, "small");
    close(fds[0]);
    close(fds[1]);
}

TEST(stderr_itself_is_left_as_it_was)
{
    REQUIRE(pipe(fds) == 0);
    redirect(fds[1]);
    log_waits(false);
    bool waits = !(fcntl(STDERR_FILENO, F_GETFL) & O_NONBLOCK);
    restore();
    log_waits(true);
    CHECK(waits);
    close(fds[0]);
    close(fds[1]);
}

TEST(a_log_line_is_one_json_object)
{
    struct arena a;
    struct jv   *v = NULL;
    listen_pipe();
    log_line(LOG_WARN, "store.full", "path", "/data \"x\"\n", "free", log_int(0), NULL);
    struct str s = heard();
    arena_init(&a, 0);
    CHECK(str_ends(s, STR("}\n")) && str_find(s, STR("\n")) == (ptrdiff_t)s.len - 1);
    REQUIRE(json_parse(&a, s, &v, NULL) == OK);
    CHECK(jv_str_at(v, "at").len == 24);
    CHECK_STR(jv_str_at(v, "level"), "warn");
    CHECK_STR(jv_str_at(v, "event"), "store.full");
    CHECK_STR(jv_str_at(v, "path"), "/data \"x\"\n");
    CHECK(jv_is(jv_get(v, "free"), JSON_NUMBER) && jv_int_at(v, "free", 1) == 0);
    CHECK(str_starts(s, STR("{\"at\":\"")) &&
          str_find(s, STR("\",\"level\":\"warn\",\"event\":\"store.full\",\"path\":")) > 0);
    arena_done(&a);
}

TEST(a_line_below_the_level_is_not_written)
{
    listen_pipe();
    log_line(LOG_DEBUG, "x.debug", NULL);
    CHECK(heard().len == 0);
    listen_pipe();
    log_level(LOG_DEBUG);
    log_line(LOG_DEBUG, "x.debug", NULL);
    log_level(LOG_INFO);
    CHECK(str_find(heard(), STR("\"level\":\"debug\"")) > 0);
}

TEST(a_security_line_is_always_written)
{
    listen_pipe();
    log_level((enum log_level)(LOG_SECURITY + 1));
    log_line(LOG_ERROR, "x.error", NULL);
    log_line(LOG_SECURITY, "x.security", NULL);
    log_level(LOG_INFO);
    struct str s = heard();
    CHECK(str_find(s, STR("x.security")) > 0 && str_find(s, STR("x.error")) < 0);
}

TEST(a_terminal_gets_a_readable_line)
{
    listen_terminal();
    log_line(LOG_INFO, "net.open", "port", "8000", "name", "two words", "empty", "", NULL);
    struct str s = str_trim(heard());
    CHECK(s.len > 13 && s.ptr[2] == ':' && s.ptr[8] == '.');
    CHECK_STR(str_from(s, 13), "info net.open port=8000 name=\"two words\" empty=\"\"");
}

TEST(untrusted_text_cannot_move_the_cursor_of_a_terminal)
{
    listen_terminal();
    log_line(LOG_INFO, "x.y", "v",
             "a\x1b[2J\r\n\x7f\xc2\x9b"
             "31m\xff\xe2\x80\xae\"\\end",
             "k\x1b", "v", NULL);
    struct str s = str_trim(heard());
    for (size_t i = 0; i < s.len; i++)
        CHECK((unsigned char)s.ptr[i] >= 0x20 && (unsigned char)s.ptr[i] < 0x7f);
    CHECK_STR(str_from(s, 13),
              "info x.y v=\"a\\u001b[2J\\u000d\\u000a\\u007f\\u009b31m\\ufffd\\u202e\\\"\\\\end\" "
              "k\\u001b=v");
}

TEST(text_in_other_scripts_stays_readable_on_a_terminal)
{
    listen_terminal();
    log_line(LOG_INFO, "x.y", "v", "caf\xc3\xa9 \xe6\x97\xa5", NULL);
    CHECK_STR(str_from(str_trim(heard()), 13), "info x.y v=\"caf\xc3\xa9 \xe6\x97\xa5\"");
}

TEST(numbers_are_numbers_and_texts_that_look_like_them_are_texts)
{
    listen_pipe();
    log_line(LOG_INFO, "x.y", "port", "8000", "ms", log_int(-12), "big", log_int(INT64_MAX), NULL);
    CHECK(str_ends(heard(), STR("\"port\":\"8000\",\"ms\":-12,\"big\":9223372036854775807}\n")));
}

TEST(a_line_says_what_it_is_about_and_leaves_out_what_it_does_not_know)
{
    struct log_about about = { .thread = STR("t\n1"), .principal = STR("ada") };
    listen_pipe();
    log_about(LOG_INFO, &about, "x.y", "n", log_int(1), NULL);
    CHECK(str_ends(heard(),
                   STR("\"event\":\"x.y\",\"thread\":\"t\\n1\",\"principal\":\"ada\",\"n\":1}\n")));
    about = (struct log_about){ .run = STR("r"), .call = STR("c") };
    listen_pipe();
    log_about(LOG_INFO, &about, "x.y", NULL);
    CHECK(str_ends(heard(), STR("\"event\":\"x.y\",\"run\":\"r\",\"call\":\"c\"}\n")));
}

TEST(a_line_is_written_even_without_memory)
{
    listen_pipe();
    mem_fail_at(0);
    log_line(LOG_ERROR, "x.nomem", "key", "value", NULL);
    mem_fail_at(-1);
    CHECK_STR(heard(), "{\"level\":\"error\",\"event\":\"x.nomem\",\"cut\":true}\n");
}

TEST(a_line_that_is_too_long_is_cut_to_its_event)
{
    static char value[70000];
    memset(value, 'x', sizeof value - 1);
    listen_pipe();
    log_line(LOG_INFO, "x.long", "v", value, NULL);
    CHECK_STR(heard(), "{\"level\":\"info\",\"event\":\"x.long\",\"cut\":true}\n");
}

TEST(a_missing_value_ends_the_line_cleanly)
{
    const char *none = NULL;
    listen_pipe();
    log_line(LOG_INFO, "x.y", "a", "1", "b", none, NULL);
    CHECK(str_ends(heard(), STR("\"a\":\"1\",\"b\":null}\n")));
}

TEST(logging_does_not_change_errno)
{
    listen_pipe();
    errno = ENOSPC;
    log_line(LOG_INFO, "x.y", NULL);
    CHECK(errno == ENOSPC);
    heard();
}

TEST(a_text_for_the_log_is_cut_on_a_character_boundary)
{
    char long_text[600];
    memset(long_text, 'x', sizeof long_text);
    memcpy(long_text + 510, "\xe2\x82\xac", 3);
    CHECK(strlen(log_str(str_n(long_text, sizeof long_text))) == 510);
    CHECK(strlen(log_str(str_n(long_text, 510))) == 510);
    CHECK(strcmp(log_str(STR("a\0b")), "a?b") == 0);
    CHECK(strcmp(log_str(STR_NONE), "") == 0);
    CHECK(strcmp(log_int(INT64_MIN), "-9223372036854775808") == 0);
}

TEST(eight_texts_for_the_log_live_at_a_time)
{
    const char *got[8];
    char        digit[] = "0";
    for (int i = 0; i < 8; i++) {
        digit[0] = (char)('0' + i);
        got[i] = log_str(str_c(digit));
    }
    for (int i = 0; i < 8; i++) CHECK(got[i][0] == '0' + i && got[i][1] == 0);
}
