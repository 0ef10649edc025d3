/* upstream.c -- a scripted model service for tests: three wires on one port, with faults.
 *
 *     upstream PORT          0: a free one; the first line on stdout is the port
 *
 *   POST /v1/messages                              Anthropic
 *   POST /v1/chat/completions                      chat completions
 *   POST /v1beta/models/M:streamGenerateContent    Gemini
 *   GET  /requests      [{"path","key","body"} ...], the bodies received so far;  DELETE /requests
 *   forgets them
 *   GET  /stats         {"open","streams","cancelled"}: connections, answers begun, answers left by
 *   the client
 *   GET  /go            the held answers go on
 *
 * What is answered is chosen by {{scenario:WORD}} in the last user message, else by a
 * model called "sc-WORD", else the conversation is played: {{call NAME {json}}} in the message
 * makes a call (several: parallel calls), {{think}} a signed thought, results are
 * repeated in words. {{then:WORD}} is the scenario of the request that brings the results;
 * {{again}} calls get_weather in every answer as long as calls are allowed. Bodies the real service
 * would refuse get its 400, and so does every body with a picture that says "poison". The words are
 * in the table `faults`; a word with "-once" fails every first, third ... time it is asked for.
 * {{say TEXT}} is the answer itself, {{then-say TEXT}} the next one. "pace-N-US": N tokens, one every
 * US microseconds. "held-N": N tokens, half of them at once, the others when /go was asked for.
 * "limit-N": a body of more than N bytes is too long.
 */
#include <stdio.h>
#include <stdlib.h>
#include <uv.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/jsonw.h"
#include "base/list.h"
#include "wires.h"

#define RECORDS_MAX 400
#define LONG_LINE   (100u << 20)
#define PIECE       65536

struct client {
    uv_tcp_t       tcp;
    struct list    paced; /* linked while it has tokens to send */
    struct buf     in, out;
    enum wire      wire;
    struct speaker speaker;
    unsigned       tokens, sent, every_us;
    uint64_t       began_us;
    size_t         long_left; /* of the 100 MB line */
    bool           answering, dead, held;
};

struct record {
    struct str path, key, body;
};

static uv_loop_t     loop;
static uv_timer_t    pace;
static struct list   paced;
static struct record records[RECORDS_MAX];
static size_t        record_count;
static unsigned      open_count, streams, left_by_client;

/* --- writing ------------------------------------------------------------------------- */

static void on_closed(uv_handle_t *h)
{
    struct client *c = h->data;
    list_remove(&c->paced);
    buf_done(&c->in);
    buf_done(&c->out);
    free(c);
    open_count--;
}

static void close_client(struct client *c)
{
    if (c->dead) return;
    c->dead = true;
    list_remove(&c->paced);
    uv_close((uv_handle_t *)&c->tcp, on_closed);
}

struct sending {
    uv_write_t     req;
    struct client *c;
    bool           last;
    char           data[];
};
static void more_of_long_line(struct client *c);

static void on_written(uv_write_t *req, int status)
{
    struct sending *s = (struct sending *)req;
    struct client  *c = s->c;
    bool            last = s->last;
    free(s);
    if (status < 0 || last) close_client(c);
    else if (c->long_left) more_of_long_line(c);
}

static void send_bytes(struct client *c, struct str bytes, bool last)
{
    struct sending *s = malloc(sizeof *s + bytes.len);
    uv_buf_t        b;
    if (!s || c->dead) {
        free(s);
        return;
    }
    memcpy(s->data, bytes.ptr, bytes.len);
    s->c = c;
    s->last = last;
    b = uv_buf_init(s->data, (unsigned)bytes.len);
    if (uv_write(&s->req, (uv_stream_t *)&c->tcp, &b, 1, on_written)) {
        free(s);
        close_client(c);
    }
}

static void send_chunk(struct client *c, struct str bytes)
{
    struct buf b;
    buf_init(&b, 0);
    buf_printf(&b, "%zx\r\n", bytes.len);
    buf_str(&b, bytes);
    buf_lit(&b, "\r\n");
    send_bytes(c, buf_view(&b), false);
    buf_done(&b);
}

#define STREAM_HEAD                                                                     \
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nrequest-id: " \
    "req_1\r\nTransfer-Encoding: chunked\r\n\r\n"

static void send_head(struct client *c)
{
    send_bytes(c, STR(STREAM_HEAD), false);
}
static void send_last(struct client *c)
{
    send_bytes(c, STR("0\r\n\r\n"), false);
    c->answering = false;
}

static void send_plain(struct client *c, const char *status, const char *headers, struct str body)
{
    struct buf b;
    buf_init(&b, 0);
    buf_printf(&b, "HTTP/1.1 %s\r\nContent-Length: %zu\r\n%s\r\n", status, body.len, headers);
    buf_str(&b, body);
    send_bytes(c, buf_view(&b), false);
    buf_done(&b);
    c->answering = false;
}

static void send_json(struct client *c, const char *status, const char *headers,
                      const struct buf *body)
{
    char all[400];
    snprintf(all, sizeof all, "Content-Type: application/json\r\nrequest-id: req_1\r\n%s", headers);
    send_plain(c, status, all, buf_view(body));
}

/* --- faults ---------------------------------------------------------------------------- */

static void error_answer(struct client *c, int status, const char *reason, const char *type,
                         const char *headers, const char *extra)
{
    struct buf b;
    char       line[64];
    buf_init(&b, 0);
    snprintf(line, sizeof line, "%d %s", status, reason);
    wire_error(&b, c->wire, status, type, "sk-secret: the provider's own words", extra);
    send_json(c, line, headers, &b);
    buf_done(&b);
}

/* One name per wire: Anthropic, OpenAI, Gemini. */
static const char *pick(struct client *c, const char *a, const char *o, const char *g)
{
    return c->wire == W_ANTHROPIC ? a : c->wire == W_OPENAI ? o : g;
}

static void f_429(struct client *c)
{
    error_answer(c, 429, "Too Many",
                 pick(c, "rate_limit_error", "rate_limit_exceeded", "RESOURCE_EXHAUSTED"),
                 "retry-after: 0\r\n", "");
}
static void f_429_long(struct client *c)
{
    error_answer(c, 429, "Too Many",
                 pick(c, "rate_limit_error", "rate_limit_exceeded", "RESOURCE_EXHAUSTED"),
                 "retry-after: 3600\r\n", "");
}
static void f_429_pause(struct client *c)
{
    error_answer(c, 429, "Too Many",
                 pick(c, "rate_limit_error", "rate_limit_exceeded", "RESOURCE_EXHAUSTED"),
                 "retry-after: 20\r\n", "");
}
static void f_429_ms(struct client *c)
{
    error_answer(c, 429, "Too Many",
                 pick(c, "rate_limit_error", "rate_limit_exceeded", "RESOURCE_EXHAUSTED"),
                 "retry-after-ms: 30\r\n", "");
}
static void f_quota(struct client *c)
{
    error_answer(c, c->wire == W_GEMINI ? 402 : 429, "Too Many",
                 pick(c, "rate_limit_error", "insufficient_quota", "OUT"), "",
                 c->wire == W_ANTHROPIC
                     ? ",\"details\":{\"error_code\":\"enforced_spend_limit_reached\"}"
                     : "");
}
static void f_500(struct client *c)
{
    error_answer(c, 500, "Oops", pick(c, "api_error", "server_error", "INTERNAL"),
                 "retry-after-ms: 10\r\n", "");
}
static void f_500_no(struct client *c)
{
    error_answer(c, 500, "Oops", pick(c, "api_error", "server_error", "INTERNAL"),
                 "x-should-retry: false\r\n", "");
}
static void f_529(struct client *c)
{
    error_answer(c, c->wire == W_ANTHROPIC ? 529 : 503, "Overloaded",
                 pick(c, "overloaded_error", "unavailable_error", "UNAVAILABLE"),
                 "retry-after-ms: 10\r\n", "");
}
static void f_400(struct client *c)
{
    error_answer(c, 400, "Bad",
                 pick(c, "invalid_request_error", "invalid_request_error", "INVALID_ARGUMENT"), "",
                 "");
}
static void f_401(struct client *c)
{
    error_answer(c, 401, "No",
                 pick(c, "authentication_error", "invalid_api_key", "UNAUTHENTICATED"), "", "");
}
static void f_404(struct client *c)
{
    error_answer(c, 404, "No", pick(c, "not_found_error", "model_not_found", "NOT_FOUND"), "", "");
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
    close_client(c);
}
static void f_empty(struct client *c)
{
    send_head(c);
    send_last(c);
}

static void begin(struct client *c)
{
    send_head(c);
    buf_clear(&c->out);
    c->speaker = (struct speaker){ .out = &c->out, .w = c->wire };
    speak_begin(&c->speaker);
}
static void flush(struct client *c)
{
    if (c->out.len) send_chunk(c, buf_view(&c->out));
    buf_clear(&c->out);
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

static void more_of_long_line(struct client *c)
{
    static char piece[PIECE];
    size_t      n = c->long_left < PIECE ? c->long_left : PIECE;
    memset(piece, 'x', sizeof piece);
    c->long_left -= n;
    send_chunk(c, str_n(piece, n));
}
static void f_longline(struct client *c)
{
    begin(c);
    flush(c);
    c->long_left = LONG_LINE;
    send_chunk(c, STR("data: "));
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

/* --- the conversation ---------------------------------------------------------------------- */

static void play_calls(struct client *c, struct str text, bool *called)
{
    static unsigned serial;
    ptrdiff_t       at;
    while ((at = str_find(text, STR("{{call "))) >= 0) {
        struct str rest = str_from(text, (size_t)at + 7), name;
        ptrdiff_t  end = str_find(rest, STR("}}}"));
        char       id[32];
        if (end < 0) return;
        struct str spec = str_cut(rest, (size_t)end + 1);
        if (!str_split(&spec, ' ', &name)) return;
        snprintf(id, sizeof id, "%s%u",
                 c->wire == W_ANTHROPIC ? "toolu_"
                 : c->wire == W_OPENAI  ? "call_"
                                        : "fc",
                 ++serial);
        speak_call(&c->speaker, str_c(id), name, spec, spec.len);
        *called = true;
        text = str_from(rest, (size_t)end + 3);
    }
}

/* Up to the "}}" that ends it: the last before another "{{", or of all. */
static struct str said_after(struct str text, struct str mark)
{
    ptrdiff_t at = str_find(text, mark), end;
    if (at < 0) return STR_NONE;
    text = str_from(text, (size_t)at + mark.len);
    if ((end = str_find(text, STR("}}{{"))) < 0) end = str_find(text, STR("}}"));
    while (end >= 0 && str_starts(str_from(text, (size_t)end + 1), STR("}}"))) end++;
    return end < 0 ? STR_NONE : str_cut(text, (size_t)end);
}

/* {{say TEXT}} is said as it is; {{then-say TEXT}}, of an earlier message, when the answer is asked
 * for once more. */
static bool told_to_say(const struct asked *q, struct str body, struct buf *line)
{
    struct str   said = said_after(q->text, STR("{{say "));
    struct arena a;
    struct jv   *v;
    if (str_find(q->text, STR("does not fit the schema")) < 0) {
        buf_str(line, said);
        return said.ptr;
    }
    said = said_after(body, STR("{{then-say "));
    arena_init(&a, 0);
    if (said.ptr &&
        json_parse(&a, arena_printf(&a, "\"" STR_FMT "\"", STR_ARG(said)), &v, NULL) == OK)
        buf_str(line, v->str);
    arena_done(&a);
    return said.ptr;
}

static void play(struct client *c, const struct asked *q, struct str body)
{
    struct buf line;
    bool       called = false;
    buf_init(&line, 0);
    begin(c);
    if (str_find(q->text, STR("{{think}}")) >= 0) speak_thought(&c->speaker, STR("Let me see."));
    if (told_to_say(q, body, &line)) called = false;
    else if (q->has_results) buf_printf(&line, "The tools said: " STR_FMT, STR_ARG(q->results));
    else if (str_find(q->text, STR("{{call ")) >= 0) buf_lit(&line, "One moment.");
    else buf_printf(&line, "You said: " STR_FMT, STR_ARG(q->text));
    speak_text(&c->speaker, buf_view(&line));
    if (!q->has_results) play_calls(c, q->text, &called);
    if (q->may_call && str_find(q->question, STR("{{again}}")) >= 0)
        play_calls(c, STR("{{call get_weather {\"city\":\"Oslo\"}}}"), &called);
    speak_end(&c->speaker, called ? S_CALLS : S_END);
    flush(c);
    send_last(c);
    buf_done(&line);
}

/* --- load: tokens at a pace ------------------------------------------------------------------ */

static bool is_due(const struct client *c, uint64_t now)
{
    return c->sent < (c->held ? c->tokens / 2 : c->tokens) &&
           now >= c->began_us + (uint64_t)c->sent * c->every_us;
}

static void on_pace(uv_timer_t *t)
{
    uint64_t now = uv_hrtime() / 1000;
    LIST_EACH (n, &paced) {
        struct client *c = LIST_ITEM(n, struct client, paced);
        while (is_due(c, now)) speak_token(&c->speaker, c->sent++);
        if (c->sent == c->tokens) {
            if (c->wire == W_ANTHROPIC)
                buf_lit(&c->out, "data: {\"type\":\"content_block_stop\",\"index\":0}\n\n");
            speak_end(&c->speaker, S_END);
        }
        flush(c);
        if (c->sent < c->tokens || c->dead) continue;
        list_remove(&c->paced);
        send_last(c);
    }
}

static void let_go(struct client *asked)
{
    LIST_EACH (n, &paced) LIST_ITEM(n, struct client, paced)->held = false;
    send_plain(asked, "200 OK", "", STR(""));
}

static bool is_paced(struct client *c, struct str word)
{
    char text[64];
    if (word.len >= sizeof text) return false;
    snprintf(text, sizeof text, STR_FMT, STR_ARG(word));
    c->every_us = 0;
    c->held = sscanf(text, "held-%u", &c->tokens) == 1;
    return c->held || sscanf(text, "pace-%u-%u", &c->tokens, &c->every_us) == 2;
}

static bool start_pace(struct client *c, struct str word)
{
    if (!is_paced(c, word)) return false;
    begin(c);
    flush(c);
    c->sent = 0;
    c->began_us = uv_hrtime() / 1000;
    list_add(&paced, &c->paced);
    if (!uv_is_active((uv_handle_t *)&pace)) uv_timer_start(&pace, on_pace, 1, 1);
    return true;
}

/* --- requests --------------------------------------------------------------------------------- */

/* The last one counts: some wires join a question that failed with the next one. */
static bool word_after(struct str text, struct str mark, struct str *word)
{
    size_t n = 0;
    bool   found = false;
    for (ptrdiff_t at; (at = str_find(text, mark)) >= 0; found = true)
        text = str_from(text, (size_t)at + mark.len);
    if (!found) return false;
    while (n < text.len &&
           (strchr("-_", text.ptr[n]) || (text.ptr[n] >= '0' && text.ptr[n] <= '9') ||
            (text.ptr[n] >= 'a' && text.ptr[n] <= 'z')))
        n++;
    *word = str_cut(text, n);
    return n > 0;
}

static bool fail_on_purpose(struct client *c, struct str word)
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

/* "limit-N": what is longer than N bytes is too long, in the service's own words. */
static bool is_too_long(struct client *c, struct str word, struct str body)
{
    uint64_t max;
    if (!str_starts(word, STR("limit-")) || !str_to_u64(str_from(word, 6), &max)) return false;
    if (body.len <= max) return false;
    struct buf b;
    buf_init(&b, 0);
    wire_error(&b, c->wire, 400,
               pick(c, "invalid_request_error", "context_length_exceeded", "INVALID_ARGUMENT"),
               pick(c, "prompt is too long: 2 > 1", "m",
                    "The input token count (2) exceeds the maximum number of tokens allowed (1)."),
               "");
    send_json(c, "400 Bad Request", "", &b);
    buf_done(&b);
    return true;
}

static void answer_model(struct client *c, struct str path, struct str body)
{
    struct arena a;
    struct jv   *v = NULL;
    struct asked q;
    struct str   word = STR_NONE;
    struct buf   b;
    const char  *no;

    streams++;
    arena_init(&a, 0);
    if (json_parse(&a, body, &v, NULL) != OK) error_answer(c, 400, "Bad", "invalid_json", "", "");
    else {
        wire_asked(c->wire, v, &a, &q);
        if (q.has_results) word_after(q.question, STR("{{then:"), &word);
        else word_after(q.text, STR("{{scenario:"), &word);
        if (!word.len && !word_after(path, STR("/sc-"), &word))
            word_after(jv_str_at(v, "model"), STR("sc-"), &word);
        no = wire_refuses(c->wire, v);
        /* a PNG that says "poison" */
        if (str_find(body, STR("iVBORw0KGgpwb2lzb24=")) >= 0) no = "Could not process image";
        if (str_is(word, "signature") && str_find(body, STR("thoughtSignature")) >= 0)
            no = "Corrupted thought signature.";
        if (no) {
            buf_init(&b, 0);
            wire_error(
                &b, c->wire, 400,
                pick(c, "invalid_request_error", "invalid_request_error", "INVALID_ARGUMENT"), no,
                "");
            fprintf(stderr, "refused: %s\n", no);
            send_json(c, "400 Bad Request", "", &b);
            buf_done(&b);
        } else if (!word.len || (!start_pace(c, word) && !is_too_long(c, word, body) &&
                                 !fail_on_purpose(c, word)))
            play(c, &q, body);
    }
    arena_done(&a);
}

static char *copy(struct str s)
{
    char *p = malloc(s.len + 1);
    if (!p) abort();
    if (s.len) memcpy(p, s.ptr, s.len);
    p[s.len] = '\0';
    return p;
}

static void record(struct str path, struct str key, struct str body)
{
    if (record_count == RECORDS_MAX || body.len > (1u << 20)) return;
    records[record_count++] =
        (struct record){ str_n(copy(path), path.len), str_n(copy(key), key.len),
                         str_n(copy(body), body.len) };
}

static void forget(void)
{
    while (record_count) {
        struct record *r = &records[--record_count];
        free((char *)r->path.ptr);
        free((char *)r->key.ptr);
        free((char *)r->body.ptr);
    }
}

static void serve_requests(struct client *c)
{
    struct buf   b;
    struct jsonw w;
    buf_init(&b, 0);
    jsonw_init(&w, &b);
    jw_arr(&w);
    for (size_t i = 0; i < record_count; i++) {
        jw_obj(&w);
        jw_kstr(&w, "path", records[i].path);
        jw_kstr(&w, "key", records[i].key);
        jw_kraw(&w, "body", records[i].body);
        jw_end_obj(&w);
    }
    jw_end_arr(&w);
    send_json(c, "200 OK", "", &b);
    buf_done(&b);
}

static void serve_stats(struct client *c)
{
    struct buf b;
    buf_init(&b, 0);
    buf_printf(&b, "{\"open\":%u,\"streams\":%u,\"cancelled\":%u}", open_count, streams,
               left_by_client);
    send_json(c, "200 OK", "", &b);
    buf_done(&b);
}

static struct str header(struct str head, const char *name)
{
    struct str line;
    while (str_split(&head, '\n', &line)) {
        size_t n = strlen(name);
        if (line.len > n && line.ptr[n] == ':' && str_eq_nocase(str_cut(line, n), str_c(name)))
            return str_trim(str_from(line, n + 1));
    }
    return STR("");
}

static struct str key_of(struct str head)
{
    static const char *const names[] = { "x-api-key", "authorization", "x-goog-api-key" };
    for (size_t i = 0; i < 3; i++)
        if (header(head, names[i]).len) return header(head, names[i]);
    return STR("");
}

static void answer(struct client *c, struct str head, struct str body)
{
    struct str line = head, method, path, rest = head;
    if (!str_split(&rest, '\n', &line) || !str_split(&line, ' ', &method) ||
        !str_split(&line, ' ', &path)) {
        close_client(c);
        return;
    }
    c->answering = true;
    if (str_is(method, "POST")) {
        c->wire = str_find(path, STR("/messages")) >= 0           ? W_ANTHROPIC
                  : str_find(path, STR("/chat/completions")) >= 0 ? W_OPENAI
                                                                  : W_GEMINI;
        record(path, key_of(head), body);
        answer_model(c, path, body);
    } else if (str_is(path, "/requests")) {
        if (str_is(method, "DELETE")) forget();
        serve_requests(c);
    } else if (str_is(path, "/stats")) serve_stats(c);
    else if (str_is(path, "/go")) let_go(c);
    else send_plain(c, "404 Not Found", "", STR(""));
}

static void take_requests(struct client *c)
{
    while (!c->dead && !c->answering) {
        struct str all = buf_view(&c->in);
        ptrdiff_t  end = str_find(all, STR("\r\n\r\n"));
        uint64_t   len = 0;
        if (end < 0) return;
        struct str head = str_cut(all, (size_t)end + 2), length = header(head, "content-length");
        if (length.len && !str_to_u64(length, &len)) {
            close_client(c);
            return;
        }
        if (all.len < (size_t)end + 4 + len) return;
        answer(c, head, str_cut(str_from(all, (size_t)end + 4), (size_t)len));
        buf_eat(&c->in, (size_t)end + 4 + (size_t)len);
        buf_shrink(&c->in, 1024);
    }
}

static void on_alloc(uv_handle_t *h, size_t hint, uv_buf_t *b)
{
    static char room[PIECE];
    *b = uv_buf_init(room, sizeof room);
}

static void on_read(uv_stream_t *s, ssize_t n, const uv_buf_t *b)
{
    struct client *c = s->data;
    if (n < 0) {
        if (c->answering) left_by_client++;
        close_client(c);
        return;
    }
    buf_add(&c->in, b->base, (size_t)n);
    if (c->in.ptr[0] == 0x16)
        send_bytes(c, STR("HTTP/1.1 400 This port does not speak TLS\r\n\r\n"), true);
    else take_requests(c);
}

static void on_connect(uv_stream_t *server, int status)
{
    struct client *c = calloc(1, sizeof *c);
    if (!c || status < 0) abort();
    buf_init(&c->in, 64u << 20);
    buf_init(&c->out, 0);
    uv_tcp_init(&loop, &c->tcp);
    c->tcp.data = c;
    open_count++;
    if (uv_accept(server, (uv_stream_t *)&c->tcp) ||
        uv_read_start((uv_stream_t *)&c->tcp, on_alloc, on_read))
        close_client(c);
    else uv_tcp_nodelay(&c->tcp, 1);
}

int main(int argc, char **argv)
{
    uv_tcp_t           server;
    struct sockaddr_in at;
    int                len = sizeof at;

    signal(SIGPIPE, SIG_IGN);
    list_init(&paced);
    uv_loop_init(&loop);
    uv_timer_init(&loop, &pace);
    uv_tcp_init(&loop, &server);
    uv_ip4_addr("127.0.0.1", argc > 1 ? atoi(argv[1]) : 0, &at);
    if (uv_tcp_bind(&server, (struct sockaddr *)&at, 0) ||
        uv_listen((uv_stream_t *)&server, 1024, on_connect)) {
        fprintf(stderr, "upstream: cannot listen\n");
        return 1;
    }
    uv_tcp_getsockname(&server, (struct sockaddr *)&at, &len);
    printf("%d\n", ntohs(at.sin_port));
    fflush(stdout);
    uv_run(&loop, UV_RUN_DEFAULT);
    return 0;
}
