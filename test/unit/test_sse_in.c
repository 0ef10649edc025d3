/* test_sse_in.c -- server-sent events out of bytes, cut anywhere. */
#include "test.h"

#include "base/sse_in.h"

static struct buf seen;

static void on_event(struct sse_in *s, struct str name, struct str data)
{
    buf_printf(&seen, "[" STR_FMT "|", STR_ARG(name));
    buf_str(&seen, data);
    buf_lit(&seen, "]");
    if (str_is(data, "stop")) sse_in_stop(s);
}

static enum err feed(const char *text, size_t len, size_t cut, bool bytewise, size_t max)
{
    struct sse_in s;
    enum err      e = OK;
    sse_in_init(&s, max, on_event);
    s.error_field = true;
    buf_clear(&seen);
    if (bytewise)
        for (size_t i = 0; i < len && !e; i++) e = sse_in_feed(&s, str_n(text + i, 1));
    else {
        e = sse_in_feed(&s, str_n(text, cut));
        if (!e) e = sse_in_feed(&s, str_n(text + cut, len - cut));
    }
    if (!e) e = sse_in_end(&s);
    sse_in_done(&s);
    return e;
}

/* The same events whole, byte by byte, and cut once at every place. */
static void expect(const char *text, const char *want)
{
    size_t len = strlen(text);
    CHECK(feed(text, len, len, false, 1000) == OK);
    CHECK_STR(buf_view(&seen), want);
    CHECK(feed(text, len, 0, true, 1000) == OK);
    CHECK_STR(buf_view(&seen), want);
    for (size_t cut = 0; cut <= len; cut++) {
        CHECK(feed(text, len, cut, false, 1000) == OK);
        if (!str_eq(buf_view(&seen), str_c(want)))
            test_failed(__FILE__, (int)cut, "this cut tells something else");
    }
    buf_done(&seen);
}

TEST(events_end_with_a_blank_line_in_any_of_three_endings)
{
    expect("data: a\n\ndata: b\n\n", "[|a][|b]");
    expect("data: a\r\n\r\ndata: b\r\n\r\n", "[|a][|b]");
    expect("data: a\r\rdata: b\r\r", "[|a][|b]");
    expect("data: a\r\n\ndata: b\n\r\n", "[|a][|b]");
}

TEST(names_fields_and_comments)
{
    expect("event: ping\ndata: 1\nid: 7\nretry: 10\n\n", "[ping|1]");
    expect(": keep-alive\n\n:\n\ndata:x\n\n", "[|x]");
    /* without data: dropped, and its name with it */
    expect("event: lonely\n\ndata: y\n\n", "[|y]");
    expect("data: one\ndata:  two\ndata\ndata:\n\n", "[|one\n two\n\n]");
    expect("data:\n\n", "[|]");
    expect("error: {\"code\":500}\n\n", "[error|{\"code\":500}]");
    expect("unknown: x\nDATA: x\ndata : x\n\n", "");
}

TEST(characters_and_byte_order_marks_may_be_cut)
{
    expect("\xEF\xBB\xBF"
           "data: \xE2\x82\xAC\xF0\x9F\x98\x80\n\n",
           "[|\xE2\x82\xAC\xF0\x9F\x98\x80]");
    expect("\xEF\xBB"
           "data: x\n\ndata: y\n\n",
           "[|y]");
}

TEST(the_end_of_the_body_dispatches_what_is_there)
{
    expect("data: a\n\ndata: [DONE]", "[|a][|[DONE]]");
    expect("data: a\n", "[|a]");
    expect("data: a\r", "[|a]");
    expect("", "");
}

TEST(nothing_is_told_after_a_stop)
{
    expect("data: a\n\ndata: stop\n\ndata: b\n\n", "[|a][|stop]");
}

TEST(an_event_over_the_limit_is_an_error_and_bounded)
{
    static char line[200000];
    memset(line, 'x', sizeof line);
    memcpy(line, "data: ", 6);
    struct sse_in s;
    sse_in_init(&s, 1000, on_event);
    buf_clear(&seen);
    CHECK(sse_in_feed(&s, str_n(line, 500)) == OK);
    CHECK(sse_in_feed(&s, str_n(line + 6, 600)) == ERR_FULL);
    /* stopped: nothing comes out any more */
    CHECK(sse_in_feed(&s, STR("\n\n")) == OK && seen.len == 0);
    CHECK(s.line.cap <= 2048);
    sse_in_done(&s);
    sse_in_init(&s, 1000, on_event);
    for (int i = 0; i < 9; i++)
        CHECK(sse_in_feed(&s, STR("data: "
                                  "0123456789012345678901234567890123456789012345678901234567890123"
                                  "456789012345678901234567890123456789\n")) == OK);
    CHECK(sse_in_feed(&s, STR("data: "
                              "01234567890123456789012345678901234567890123456789012345678901234567"
                              "89012345678901234567890123456789\n")) == ERR_FULL);
    sse_in_done(&s);
    buf_done(&seen);
}

TEST(events_that_lie_whole_in_a_read_allocate_nothing)
{
    struct sse_in s;
    sse_in_init(&s, 1000, on_event);
    for (int i = 0; i < 100; i++)
        CHECK(sse_in_feed(&s, STR("event: x\ndata: {\"a\":1}\n\n")) == OK);
    CHECK(!s.line.ptr && !s.data.ptr);
    sse_in_done(&s);
    buf_done(&seen);
}

/* --- ids and retry -------------------------------------------------------------------------- */

static const char numbered[] =
    "\xEF\xBB\xBF: hello\r\nevent: a\r\ndata: one\r\ndata:two\r\n\r\nid: 7\rdata:\r\rretry: 500\n\n"
    "id: 8\n\ndata: last";

TEST(ids_count_also_without_data_and_however_they_are_cut)
{
    for (size_t step = 1; step < sizeof numbered; step++) {
        struct sse_in s;
        buf_clear(&seen);
        sse_in_init(&s, 100, on_event);
        for (struct str rest = str_c(numbered); rest.len; rest = str_from(rest, step))
            CHECK(sse_in_feed(&s, str_cut(rest, step)) == OK);
        CHECK(sse_in_end(&s) == OK);
        CHECK_STR(buf_view(&s.last_id), "8");
        CHECK(s.retry_ms == 500);
        sse_in_done(&s);
    }
}

TEST(an_id_of_half_an_event_is_no_place_to_go_on_from)
{
    struct sse_in s;
    buf_clear(&seen);
    sse_in_init(&s, 100, on_event);
    CHECK(sse_in_feed(&s, STR("id: 1\ndata: a\n\nid: 2\ndata: b\nda")) == OK);
    sse_in_again(&s); /* the connection was cut */
    CHECK_STR(buf_view(&s.last_id), "1");
    CHECK(sse_in_feed(&s, STR("id: 2\ndata: whole\n\n")) == OK);
    CHECK_STR(buf_view(&s.last_id), "2");
    CHECK(str_find(buf_view(&seen), STR("whole")) > 0 && str_find(buf_view(&seen), STR("|b")) < 0);
    sse_in_done(&s);
}
