/* faults.c -- see faults.h. */
#include "faults.h"

#include <stdio.h>

static void f_429(struct client *c)
{
    send_error(c, 429, "Too Many",
               pick(c, "rate_limit_error", "rate_limit_exceeded", "RESOURCE_EXHAUSTED"),
               "retry-after: 0\r\n", "");
}
static void f_429_long(struct client *c)
{
    send_error(c, 429, "Too Many",
               pick(c, "rate_limit_error", "rate_limit_exceeded", "RESOURCE_EXHAUSTED"),
               "retry-after: 3600\r\n", "");
}
static void f_429_pause(struct client *c)
{
    send_error(c, 429, "Too Many",
               pick(c, "rate_limit_error", "rate_limit_exceeded", "RESOURCE_EXHAUSTED"),
               "retry-after: 20\r\n", "");
}
static void f_429_ms(struct client *c)
{
    send_error(c, 429, "Too Many",
               pick(c, "rate_limit_error", "rate_limit_exceeded", "RESOURCE_EXHAUSTED"),
               "retry-after-ms: 30\r\n", "");
}
static void f_quota(struct client *c)
{
    send_error(c, c->wire == W_GEMINI ? 402 : 429, "Too Many",
               pick(c, "rate_limit_error", "insufficient_quota", "OUT"), "",
               c->wire == W_ANTHROPIC
                   ? ",\"details\":{\"error_code\":\"enforced_spend_limit_reached\"}"
                   : "");
}
static void f_500(struct client *c)
{
    send_error(c, 500, "Oops", pick(c, "api_error", "server_error", "INTERNAL"),
               "retry-after-ms: 10\r\n", "");
}
static void f_500_no(struct client *c)
{
    send_error(c, 500, "Oops", pick(c, "api_error", "server_error", "INTERNAL"),
               "x-should-retry: false\r\n", "");
}
static void f_529(struct client *c)
{
    send_error(c, c->wire == W_ANTHROPIC ? 529 : 503, "Overloaded",
               pick(c, "overloaded_error", "unavailable_error", "UNAVAILABLE"),
               "retry-after-ms: 10\r\n", "");
}
static void f_400(struct client *c)
{
    send_error(c, 400, "Bad",
               pick(c, "invalid_request_error", "invalid_request_error", "INVALID_ARGUMENT"), "",
               "");
}
static void f_401(struct client *c)
{
    send_error(c, 401, "No", pick(c, "authentication_error", "invalid_api_key", "UNAUTHENTICATED"),
               "", "");
}
static void f_404(struct client *c)
{
    send_error(c, 404, "No", pick(c, "not_found_error", "model_not_found", "NOT_FOUND"), "", "");
}
static void f_redirect(struct client *c)
{
    send_plain(c, "302 Found", "Location: /elsewhere\r\n", STR(""));
}
static void f_html(struct client *c)
{
    send_plain(c, "200 OK", "Content-Type: text/html\r\n", STR("<html>Welcome, sk-secret</html>"));
}
static void f_gzip(struct client *c)
{
    send_plain(c, "200 OK", "Content-Type: text/event-stream\r\nContent-Encoding: gzip\r\n",
               STR("\x1f\x8bgarbage"));
}
static void f_silent(struct client *c)
{
}
static void f_drop(struct client *c)
{
    client_close(c);
}
static void f_empty(struct client *c)
{
    send_head(c);
    send_last(c);
}

static void some_text(struct client *c)
{
    begin(c);
    speak_text(&c->speaker, STR("Half an"));
    flush(c);
}

static void f_stall(struct client *c)
{
    begin(c);
    flush(c);
}
static void f_stall_late(struct client *c)
{
    some_text(c);
}
static void f_error(struct client *c)
{
    some_text(c);
    speak_error(&c->speaker);
    flush(c);
    send_last(c);
}
static void f_error_early(struct client *c)
{
    begin(c);
    speak_error(&c->speaker);
    flush(c);
    send_last(c);
}
static void f_badjson(struct client *c)
{
    some_text(c);
    send_chunk(c, STR("data: {\"type\":\"content_block_delta\", \"choices\": [}\n\n"));
    send_last(c);
}
static void f_badjson_early(struct client *c)
{
    begin(c);
    flush(c);
    send_chunk(c, STR("data: {\"candidates\": nonsense\n\n"));
    send_last(c);
}
static void f_eof(struct client *c)
{
    some_text(c);
    send_last(c);
}
static void f_cut(struct client *c)
{
    some_text(c);
    send_bytes(c, STR("4000\r\nevent: content_block_delta\ndata: {\"type\":\"content_bl"), true);
}
static void f_cut_early(struct client *c)
{
    begin(c);
    flush(c);
    send_bytes(c, STR("4000\r\ndata: {\"ty"), true);
}

static struct str payment(void)
{
    return STR("{\"amount\":50,\"currency\":\"USD\",\"recipient\":\"Alice\"}");
}

/* half an input, and then an end as if all were well */
static void f_half(struct client *c)
{
    begin(c);
    speak_call(&c->speaker, STR("toolu_h"), STR("process_payment"), payment(), 20);
    if (c->wire == W_ANTHROPIC) {
        buf_lit(
            &c->out,
            "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n");
    }
    speak_end(&c->speaker, S_CALLS);
    flush(c);
    send_last(c);
}
static void f_half_cut(struct client *c)
{
    begin(c);
    speak_call(&c->speaker, STR("toolu_h"), STR("process_payment"), payment(), 20);
    flush(c);
    send_bytes(c, STR("40\r\ndata: "), true);
}
/* the call is complete, its stop reason never comes */
static void f_whole_cut(struct client *c)
{
    begin(c);
    speak_call(&c->speaker, STR("toolu_w"), STR("process_payment"), payment(), 1000);
    flush(c);
    send_last(c);
}
static void f_length(struct client *c)
{
    begin(c);
    speak_text(&c->speaker, STR("Paying now"));
    speak_call(&c->speaker, STR("toolu_l"), STR("process_payment"), payment(), 20);
    speak_end(&c->speaker, S_LENGTH);
    flush(c);
    send_last(c);
}
static void f_refusal(struct client *c)
{
    begin(c);
    speak_text(&c->speaker, STR("I will not"));
    speak_call(&c->speaker, STR("toolu_r"), STR("process_payment"), payment(), 1000);
    speak_end(&c->speaker, S_REFUSAL);
    flush(c);
    send_last(c);
}

static void f_longline(struct client *c)
{
    begin(c);
    flush(c);
    send_long_line(c);
}

static const struct fault {
    const char *word;
    void (*answer)(struct client *c);
} faults[] = {
    { "429", f_429 },
    { "429-long", f_429_long },
    { "429-pause", f_429_pause },
    { "429-ms", f_429_ms },
    { "quota", f_quota },
    { "500", f_500 },
    { "500-no", f_500_no },
    { "529", f_529 },
    { "400", f_400 },
    { "401", f_401 },
    { "404", f_404 },
    { "redirect", f_redirect },
    { "html", f_html },
    { "gzip", f_gzip },
    { "silent", f_silent },
    { "drop", f_drop },
    { "empty", f_empty },
    { "stall", f_stall },
    { "stall-late", f_stall_late },
    { "error", f_error },
    { "error-early", f_error_early },
    { "badjson", f_badjson },
    { "badjson-early", f_badjson_early },
    { "eof", f_eof },
    { "cut", f_cut },
    { "cut-early", f_cut_early },
    { "half", f_half },
    { "half-cut", f_half_cut },
    { "whole-cut", f_whole_cut },
    { "length", f_length },
    { "refusal", f_refusal },
    { "longline", f_longline },
};
static unsigned asked_for[sizeof faults / sizeof *faults];

bool fail_on_purpose(struct client *c, struct str word)
{
    bool once = str_ends(word, STR("-once"));
    if (once) word = str_cut(word, word.len - 5);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        if (!str_is(word, faults[i].word)) continue;
        if (once && asked_for[i]++ % 2) return false;
        faults[i].answer(c);
        return true;
    }
    return false;
}
