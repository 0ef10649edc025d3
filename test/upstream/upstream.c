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
 * in faults.c; a word with "-once" fails every first, third ... time it is asked for.
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
#include "client.h"
#include "faults.h"

#define RECORDS_MAX 400
#define PIECE       65536

struct record {
    struct str path, key, body;
};

static uv_loop_t     loop;
static uv_timer_t    pace;
static struct list   paced;
static struct record records[RECORDS_MAX];
static size_t        record_count;
static unsigned      streams, left_by_client;

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
    if (json_parse(&a, body, &v, NULL) != OK) send_error(c, 400, "Bad", "invalid_json", "", "");
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
    buf_printf(&b, "{\"open\":%u,\"streams\":%u,\"cancelled\":%u}", clients_open, streams,
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
        client_close(c);
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
            client_close(c);
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
        client_close(c);
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
    clients_open++;
    if (uv_accept(server, (uv_stream_t *)&c->tcp) ||
        uv_read_start((uv_stream_t *)&c->tcp, on_alloc, on_read))
        client_close(c);
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
