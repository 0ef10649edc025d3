/* remote.c -- a model behind a network: joins a wire (what is said) to upstream
 * (how it travels), and decides about further attempts.
 *
 * One run is up to 1 + retries attempts:
 *
 *   send ──▶ headers ──▶ stream ──▶ done
 *     ▲         │           │
 *     └──wait◀──┴───────────┘   only while nothing was told to the sink, the failure
 *                               may pass, and the wait asked for is not too long
 *
 * What the runs of one model know together is in struct remote: how many there are (beyond
 * `concurrent` they wait in line; patient ones, which a crash left behind, without an end and
 * beside the others' room in it), until when the service asked not to be asked (they wait for that
 * too), and for how long a list of models should pass it over: after a failure for a while that
 * grows, then one call tries it again.
 *
 * Ownership: a run belongs to this file until done or failed was told, or cancel.
 * `busy` counts the frames that still use it: a sink may cancel from inside any of its
 * functions, and the memory goes when the last frame has left.
 */
#include <curl/curl.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/id.h"
#include "base/log.h"
#include "base/utf8.h"
#include "model/remote.h"

#define ERROR_BODY_MAX 65536       /* of an answer that is no stream */
#define REQUEST_MAX    (32u << 20) /* what the strictest provider takes */
#define PATIENCE_MS    1000        /* another model stands by: no longer wait than this */
#define PATIENT_MS     600000      /* a patient run asks a service that has no room for this long */
#define AWAY_MIN_MS    5000 /* passed over after a failure; doubled with each up to the most */
#define AWAY_MAX_MS    300000
#define PROBE_MS       10000 /* one call tries a model again; the others give it this time */
#define BODY_LOGGED    400   /* of what a service says about a request it refuses */

struct model_run {
    struct remote       *m;
    struct list          place; /* in the model's line */
    struct model_sink   *sink;
    struct transfer     *transfer;
    struct upstream_wait wait;
    struct reader        reader;
    /* the request, between two attempts; else it is with the transfer */
    struct buf           body;
    struct buf           error_body;
    struct trouble       trouble;  /* of the attempt that ended */
    uint64_t             began_ms; /* the attempt */
    uint64_t             first_ms; /* the first of them; 0: there was none */
    unsigned             attempt, busy, first_byte_ms;
    int                  status; /* 0: no answer yet */
    size_t               received;
    int64_t              input_estimate; /* tokens of the request */
    bool                 over;           /* cancelled, or its end was told */
    bool                 reading, stripped, forgot;
    bool                 placed;    /* counts among the model's calls */
    bool                 another;   /* model_request.another */
    bool                 patient;   /* model_request.patient */
    bool                 estimated; /* its usage */
    struct log_about     about;     /* whose it is; the texts stand behind the struct */
    struct curl_slist    traced;    /* the model's headers with `trace` before them */
    char                 trace[80]; /* "": nobody follows it */
};

static void on_wait_over(struct upstream_wait *w);
static void let_in(struct remote *m);

/* --- the run's memory ---------------------------------------------------------------------- */

static void release(struct model_run *r)
{
    if (!r->over || r->busy) return;
    reader_done(&r->reader);
    buf_done(&r->body);
    buf_done(&r->error_body);
    mem_free(r);
}

static void leave_line(struct model_run *r)
{
    if (list_empty(&r->place)) return;
    list_remove(&r->place);
    r->m->waiting--;
    if (r->patient) r->m->patient--;
}

static void leave(struct model_run *r)
{
    struct remote *m = r->m;
    leave_line(r);
    if (r->placed) m->calls--;
    r->placed = false;
    let_in(m);
}

/* From here on the sink is not called and nothing is under way. */
static void end(struct model_run *r)
{
    r->over = true;
    reader_mute(&r->reader);
    upstream_wait_stop(&r->wait);
    if (r->transfer) transfer_cancel(r->transfer);
    r->transfer = NULL;
    leave(r);
}

/* --- what it costs ---------------------------------------------------------------------------- */

/* A provider counts at the end of its answer. When that end never comes, or it does not count at
 * all, what went over the wire is as near as one can get; nothing would be wrong for sure. */
static void settle_usage(struct model_run *r)
{
    struct decoder *d = &r->reader.dec;
    int64_t         out = (int64_t)(d->blocks.bytes + 3) / 4;
    /* it answers, or is about to */
    bool heard = r->status == 200 || (!r->status && r->transfer && transfer_sent(r->transfer));
    bool counted = d->stopped && d->input_tokens > 0 && (d->output_tokens > 0 || !out);
    if (counted || !heard || r->over) return;
    if (d->input_tokens <= 0) d->input_tokens = r->input_estimate;
    if (d->output_tokens < out) d->output_tokens = out;
    r->estimated = true;
    r->sink->usage(r->sink, d->input_tokens, d->output_tokens);
}

/* --- how it ends ------------------------------------------------------------------------------ */

/* Every attempt is one line, however it ended. A NULL ends the list early. */
static void note(const struct model_run *r, enum log_level level, const char *event,
                 int64_t wait_ms)
{
    const struct trouble *t = &r->trouble;
    const struct decoder *d = &r->reader.dec;
    log_about(level, &r->about, event, "model", log_str(r->m->model.name), "provider",
              log_str(r->m->config.provider), "host", log_str(r->m->host), "attempt",
              log_int(r->attempt), "status", log_int(r->status ? r->status : t->status), "request",
              t->request_id, "first_byte_ms", log_int(r->first_byte_ms), "ms",
              log_int((int64_t)(clock_mono_ms() - r->began_ms)), "bytes",
              log_int((int64_t)r->received), "input_tokens", log_int(d->input_tokens),
              "output_tokens", log_int(d->output_tokens), "counted_by",
              r->estimated ? "estimate" : "provider", t->kind == FAIL_NONE ? NULL : "why",
              fail_code(t->kind), "word", t->word, wait_ms < 0 ? NULL : "wait_ms", log_int(wait_ms),
              NULL);
}

/* Whether the model is to be passed over for a while, by those who have another. */
static int64_t away_for(const struct remote *m, const struct trouble *t)
{
    int64_t ms = AWAY_MIN_MS;
    switch (t->kind) {
    case FAIL_NONE:
    case FAIL_REQUEST:
    case FAIL_CONTEXT:
    case FAIL_TOO_LARGE:
    case FAIL_TOTAL:
    case FAIL_BAD_CALL:
    case FAIL_SIGNATURE:
    case FAIL_BUSY:
    case FAIL_NOMEM:
    case FAIL_COUNT: return 0; /* this request's trouble, not the model's */
    case FAIL_AUTH:
    case FAIL_FORBIDDEN:
    case FAIL_MODEL:
    case FAIL_QUOTA:
    case FAIL_TLS:
    case FAIL_ADDRESS:
        ms = 60000; /* somebody must do something about it first */
        break;
    case FAIL_RATE:
    case FAIL_OVERLOADED:
    case FAIL_SERVER:
    case FAIL_SLOW:
    case FAIL_SILENT:
    case FAIL_CONNECT:
    case FAIL_NAME:
    case FAIL_PROXY:
    case FAIL_CUT:
    case FAIL_PROTOCOL: break;
    }
    for (unsigned i = 1; i < m->failures && ms < AWAY_MAX_MS; i++) ms *= 2;
    if (t->after_ms > ms) ms = t->after_ms;
    return ms < AWAY_MAX_MS ? ms : AWAY_MAX_MS;
}

static void note_failure(struct model_run *r)
{
    struct remote *m = r->m;
    if (r->reader.dec.blocks.spoke || !away_for(m, &r->trouble)) return;
    m->failures++;
    m->away_until_ms = clock_mono_ms() + (uint64_t)away_for(m, &r->trouble);
}

static void note_success(struct remote *m)
{
    m->failures = 0;
    m->away_until_ms = 0;
}

/* An attempt that failed, whether another follows it or not. */
static void count_error(struct model_run *r)
{
    r->m->errors[r->trouble.kind]++;
}

static void count_answer(struct model_run *r)
{
    measure_observe(&r->m->first_byte, r->first_byte_ms / 1e3);
    measure_observe(&r->m->answers, (double)(clock_mono_ms() - r->began_ms) / 1e3);
}

static void tell_failure(struct model_run *r)
{
    struct model_sink *sink = r->sink;
    struct model_error e = { .code = fail_code(r->trouble.kind),
                             .retryable = fail_retryable(r->trouble.kind) };
    struct buf         sentence, detail;

    settle_usage(r);
    note_failure(r);
    count_error(r);
    note(r, LOG_WARN, "model.failed", -1);
    buf_init(&sentence, 0);
    buf_init(&detail, 0);
    fail_sentence(&sentence, &r->trouble, r->m->config.model, STR_NONE);
    fail_sentence(&detail, &r->trouble, r->m->config.model, r->m->host);
    e.message = sentence.err ? STR("The server is short of memory. Trying again later will help.")
                             : buf_view(&sentence);
    e.detail = detail.err ? STR_NONE : buf_view(&detail);
    end(r);
    sink->failed(sink, &e);
    buf_done(&sentence);
    buf_done(&detail);
}

static void tell_done(struct model_run *r)
{
    struct model_sink *sink = r->sink;
    enum model_stop    stop = r->reader.dec.stop;
    struct transfer   *t = r->transfer;
    settle_usage(r);
    note_success(r->m);
    count_answer(r);
    note(r, LOG_INFO, "model.answered", -1);
    r->transfer = NULL;
    end(r);
    /* its last bytes are on the way; then the connection is free again */
    if (t) transfer_drain(t);
    sink->done(sink, stop);
}

/* --- another attempt? ------------------------------------------------------------------------- */

static int64_t up_to(int64_t ms)
{
    uint32_t random;
    id_bytes(&random, sizeof random);
    return ms > 0 ? (int64_t)(random % (uint64_t)ms) : 0;
}

/* 0.5, 1, 2 ... 8 s, each shortened by up to a quarter so that many clients do not come back
 * together. */
static int64_t back_off(unsigned attempt)
{
    int64_t ms = 500;
    while (--attempt > 0 && ms < 8000) ms *= 2;
    if (ms > 8000) ms = 8000;
    return ms - up_to(ms / 4);
}

/* What the service asked for and a little more, not the same for all. */
static int64_t wait_for(const struct model_run *r)
{
    int64_t after = r->trouble.after_ms;
    return after >= 0 ? after + up_to(after / 4 + 50) : back_off(r->attempt);
}

/* The service has no room for it, which passes when the others that came back with it are done. */
static bool goes_on_waiting(const struct model_run *r)
{
    enum fail kind = r->trouble.kind;
    return r->patient && (kind == FAIL_RATE || kind == FAIL_OVERLOADED) &&
           clock_mono_ms() - r->first_ms < PATIENT_MS;
}

static bool may_repeat(const struct model_run *r, int64_t wait)
{
    const struct trouble *t = &r->trouble;
    return t->again && !r->reader.dec.blocks.spoke && r->body.len &&
           (r->attempt <= r->m->config.retries || goes_on_waiting(r)) &&
           t->after_ms <= (int64_t)r->m->config.wait_max_ms && (!r->another || wait <= PATIENCE_MS);
}

static void repeat_later(struct model_run *r, int64_t wait)
{
    count_error(r);
    note(r, LOG_WARN, "model.retry", wait);
    upstream_wait(r->m->up, &r->wait, (uint64_t)wait, on_wait_over);
}

/* Signatures of another model or key: once more without them. */
static bool strip_signatures(struct model_run *r)
{
    struct buf   plain;
    struct arena a;
    struct jv   *v = NULL;
    if (r->stripped || r->reader.dec.blocks.spoke || !r->m->wire->unsigned_body) return false;
    r->stripped = true;
    arena_init(&a, 0);
    buf_init(&plain, REQUEST_MAX);
    bool ok = json_parse(&a, buf_view(&r->body), &v, NULL) == OK;
    if (ok) r->m->wire->unsigned_body(&plain, v);
    arena_done(&a);
    if (!ok || plain.err) {
        buf_done(&plain);
        return false;
    }
    buf_done(&r->body);
    r->body = plain;
    return true;
}

/* The service asks for a pause: calls that begin now wait for its end as well, if it is one that is
 * slept. */
static void hold_off(struct remote *m, int64_t after_ms)
{
    uint64_t until = clock_mono_ms() + (uint64_t)(after_ms > 0 ? after_ms : 0);
    if (after_ms > 0 && after_ms <= (int64_t)m->config.wait_max_ms && until > m->not_before_ms)
        m->not_before_ms = until;
}

static void attempt_failed(struct model_run *r)
{
    struct trouble *t = &r->trouble;
    if (r->transfer) {
        transfer_take_body(r->transfer, &r->body);
        transfer_cancel(r->transfer);
        r->transfer = NULL;
    }
    int64_t wait = wait_for(r);
    hold_off(r->m, t->after_ms);
    if (t->kind == FAIL_SIGNATURE && strip_signatures(r)) repeat_later(r, 0);
    else if (may_repeat(r, wait)) repeat_later(r, wait);
    else tell_failure(r);
}

/* --- the answer comes ------------------------------------------------------------------------- */

static bool is_stream(const struct transfer_head *h)
{
    return h->status == 200 && (h->event_stream || !h->typed) && !h->coded;
}

static void keep_error(struct model_run *r, struct str bytes)
{
    size_t room = ERROR_BODY_MAX - r->error_body.len;
    buf_str(&r->error_body, str_cut(bytes, room));
}

/* Reads what the reader has found out, and acts on it. */
static void settle(struct model_run *r)
{
    struct decoder *d = &r->reader.dec;
    if (r->over) return;
    if (d->trouble.kind != FAIL_NONE) {
        memcpy(d->trouble.request_id, r->trouble.request_id, sizeof r->trouble.request_id);
        r->trouble = d->trouble;
        attempt_failed(r);
    } else if (d->ended) {
        tell_done(r);
    }
}

static void take_head(struct model_run *r, const struct transfer_head *h)
{
    r->status = h->status;
    if (h->status) r->first_byte_ms = (unsigned)(clock_mono_ms() - r->began_ms);
    memcpy(r->trouble.request_id, h->request_id, sizeof h->request_id);
    r->reading = is_stream(h);
}

static void on_data(void *ctx, struct transfer *t, struct str bytes)
{
    struct model_run *r = ctx;
    if (!r->received) take_head(r, transfer_head(t));
    r->received += bytes.len;
    if (!r->reading) {
        keep_error(r, bytes);
        return;
    }
    r->busy++;
    reader_feed(&r->reader, bytes);
    if (!r->over && !r->forgot && r->reader.dec.blocks.spoke) r->forgot = transfer_forget_body(t);
    settle(r);
    r->busy--;
    release(r);
}

static enum fail end_to_fail(enum transfer_end end)
{
    switch (end) {
    case T_OK: return FAIL_NONE;
    case T_NAME: return FAIL_NAME;
    case T_CONNECT:
    case T_CONNECT_TIMEOUT: return FAIL_CONNECT;
    case T_PROXY: return FAIL_PROXY;
    case T_TLS: return FAIL_TLS;
    case T_FIRST_BYTE_TIMEOUT: return FAIL_SLOW;
    case T_IDLE_TIMEOUT: return FAIL_SILENT;
    case T_TOTAL_TIMEOUT: return FAIL_TOTAL;
    case T_CUT: return FAIL_CUT;
    case T_TOO_LARGE:
    case T_OTHER: return FAIL_PROTOCOL;
    case T_NOMEM: return FAIL_NOMEM;
    }
    return FAIL_PROTOCOL;
}

static void hide(struct buf *text, struct str secret)
{
    ptrdiff_t at;
    while (secret.len >= 6 && (at = str_find(buf_view(text), secret)) >= 0)
        memset(text->ptr + at, '*', secret.len);
}

static bool key_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '*' || c == '.';
}

/* Words that look like a key, whoever's it is. */
static void hide_like(struct buf *text, struct str beginning)
{
    ptrdiff_t at;
    while ((at = str_find(buf_view(text), beginning)) >= 0)
        for (size_t i = (size_t)at; i < text->len && key_char(text->ptr[i]); i++)
            text->ptr[i] = '*';
}

/* What a service says about a request it does not take: it names the field, and nothing else does.
 * Cut, and without keys. */
static void log_refusal(const struct model_run *r)
{
    struct buf text;
    if (!r->error_body.len) return;
    buf_init(&text, 0);
    buf_str(&text, buf_view(&r->error_body));
    for (const struct curl_slist *h = r->m->headers; h; h = h->next) {
        struct str value = str_c(h->data), name;
        if (!str_split(&value, ':', &name) || str_eq_nocase(name, STR("content-type")) ||
            str_eq_nocase(name, STR("accept")))
            continue;
        value = str_trim(value);
        if (str_starts(value, STR("Bearer "))) value = str_from(value, 7);
        hide(&text, value);
    }
    hide_like(&text, STR("sk-"));
    hide_like(&text, STR("AIza"));
    struct str view = buf_view(&text);
    if (!text.err)
        log_about(LOG_WARN, &r->about, "model.refused", "model", log_str(r->m->model.name), "host",
                  log_str(r->m->host), "status", log_int(r->status), "request",
                  r->trouble.request_id, "body",
                  log_str(str_cut(view, utf8_cut(view, BODY_LOGGED))), NULL);
    buf_done(&text);
}

/* An answer that is no stream: a status with or without words, or something else altogether. */
static void read_refusal(struct model_run *r, const struct transfer_head *h)
{
    struct trouble *t = &r->trouble;
    wire_http_error(r->m->wire, upstream_scratch(r->m->up), h->status, buf_view(&r->error_body), t);
    if (h->status == 200 && h->typed && !h->event_stream && !t->word[0])
        trouble_set(t, FAIL_ADDRESS);
    if (h->retry_after_ms >= 0 && t->after_ms < 0) t->after_ms = h->retry_after_ms;
    bool refused = h->status >= 400 && h->status < 500 && !t->again && t->kind != FAIL_AUTH &&
                   t->kind != FAIL_QUOTA;
    if (refused) log_refusal(r);
    if (h->should_retry >= 0 && t->kind != FAIL_QUOTA && t->kind != FAIL_REQUEST)
        t->again = h->should_retry == 1;
}

static void on_done(void *ctx, struct transfer *t, enum transfer_end how)
{
    struct model_run           *r = ctx;
    const struct transfer_head *h = transfer_head(t);
    enum fail                   f = end_to_fail(how);

    r->busy++;
    r->transfer = NULL;
    transfer_take_body(t, &r->body);
    if (!r->received) take_head(r, h);
    if (r->reading && (f == FAIL_NONE || f == FAIL_CUT)) {
        reader_end(&r->reader); /* a cut after the stop reason is no loss */
        settle(r);
    } else if (h->status && !r->reading && f != FAIL_NOMEM) {
        read_refusal(r, h); /* whatever happened to its body: the status counts */
        attempt_failed(r);
    } else {
        trouble_set(&r->trouble, f == FAIL_NONE ? FAIL_CUT : f);
        attempt_failed(r);
    }
    r->busy--;
    release(r);
}

static const struct transfer_ops transfer_ops = { on_data, on_done };

/* --- the question goes ------------------------------------------------------------------------ */

static bool send_request(struct model_run *r)
{
    const struct model_config *c = &r->m->config;
    struct transfer_request    q = { .url = r->m->url.ptr,
                                     .headers = r->trace[0] ? &r->traced : r->m->headers,
                                     .connect_ms = c->connect_ms,
                                     .first_byte_ms = c->first_byte_ms,
                                     .idle_ms = c->idle_ms,
                                     .total_ms = c->total_ms,
                                     .response_max = c->response_max };
    r->attempt++;
    r->began_ms = clock_mono_ms();
    if (!r->first_ms) r->first_ms = r->began_ms;
    r->first_byte_ms = 0;
    r->status = 0;
    r->received = 0;
    r->reading = false;
    buf_clear(&r->error_body);
    trouble_init(&r->trouble);
    r->transfer = transfer_start(r->m->up, &q, &r->body, &transfer_ops, r);
    return r->transfer != NULL;
}

static void on_wait_over(struct upstream_wait *w)
{
    struct model_run *r = LIST_ITEM(w, struct model_run, wait);
    r->busy++;
    reader_done(&r->reader);
    reader_init(&r->reader, r->m->wire, upstream_scratch(r->m->up), r->sink);
    if (!send_request(r)) {
        trouble_set(&r->trouble, FAIL_NOMEM);
        tell_failure(r);
    }
    r->busy--;
    release(r);
}

/* Told as the provider would, but not from inside start(). */
static void on_trouble(struct upstream_wait *w)
{
    struct model_run *r = LIST_ITEM(w, struct model_run, wait);
    r->busy++;
    tell_failure(r);
    r->busy--;
    release(r);
}

static void fail_soon(struct model_run *r, enum fail kind, int64_t after_ms)
{
    trouble_init(&r->trouble);
    trouble_set(&r->trouble, kind);
    r->trouble.after_ms = after_ms;
    upstream_wait_stop(&r->wait);
    upstream_wait(r->m->up, &r->wait, 0, on_trouble);
}

/* --- the line --------------------------------------------------------------------------------- */

static bool has_place(const struct remote *m)
{
    return m->calls < m->config.concurrent && clock_mono_ms() >= m->not_before_ms;
}

static bool take_place(struct model_run *r)
{
    r->placed = true;
    r->m->calls++;
    if (r->m->failures && clock_mono_ms() >= r->m->away_until_ms)
        r->m->away_until_ms = clock_mono_ms() + PROBE_MS;
    return send_request(r);
}

static void on_gate(struct upstream_wait *w)
{
    let_in(LIST_ITEM(w, struct remote, gate));
}

/* Those who wait, as far as there are places, in their order. */
static void let_in(struct remote *m)
{
    uint64_t now = clock_mono_ms();
    while (!list_empty(&m->line) && has_place(m)) {
        struct model_run *r = LIST_ITEM(m->line.next, struct model_run, place);
        leave_line(r);
        upstream_wait_stop(&r->wait);
        if (!take_place(r)) fail_soon(r, FAIL_NOMEM, -1);
    }
    upstream_wait_stop(&m->gate);
    if (!list_empty(&m->line) && now < m->not_before_ms)
        upstream_wait(m->up, &m->gate, m->not_before_ms - now + (uint64_t)up_to(100), on_gate);
}

static void on_waited_enough(struct upstream_wait *w)
{
    struct model_run *r = LIST_ITEM(w, struct model_run, wait);
    trouble_init(&r->trouble);
    trouble_set(&r->trouble, FAIL_BUSY);
    on_trouble(w);
}

static void stand_in_line(struct model_run *r)
{
    struct remote *m = r->m;
    if (r->another || (!r->patient && m->waiting - m->patient >= m->config.concurrent)) {
        fail_soon(r, FAIL_BUSY, -1);
        return;
    }
    if (!m->waiting)
        log_line(LOG_WARN, "model.limit", "model", log_str(m->model.name), "calls",
                 log_int(m->calls), "concurrent", log_int(m->config.concurrent), NULL);
    list_add(&m->line, &r->place);
    m->waiting++;
    if (r->patient) m->patient++;
    else upstream_wait(m->up, &r->wait, m->config.first_byte_ms, on_waited_enough);
    let_in(m); /* arms the gate, if it is that */
}

static char *keep(char *at, struct str from, struct str *to)
{
    if (from.len) memcpy(at, from.ptr, from.len);
    *to = str_n(at, from.len);
    return at + from.len;
}

static struct model_run *new_run(const struct model_request *q)
{
    struct model_run *r = mem_alloc(sizeof *r + q->thread.len + q->run.len + q->principal.len + 1);
    char             *at = (char *)(r + 1);
    if (!r) return NULL;
    at = keep(at, q->thread, &r->about.thread);
    at = keep(at, q->run, &r->about.run);
    keep(at, q->principal, &r->about.principal);
    return r;
}

struct model_run *remote_start(struct model *model, const struct model_request *q,
                               struct model_sink *sink)
{
    struct remote    *m = LIST_ITEM(model, struct remote, model);
    struct model_run *r = new_run(q);
    if (!r) return NULL;
    r->m = m;
    r->sink = sink;
    r->another = q->another;
    r->patient = q->patient;
    if (q->trace.len) {
        snprintf(r->trace, sizeof r->trace, "traceparent: " STR_FMT, STR_ARG(q->trace));
        r->traced = (struct curl_slist){ r->trace, m->headers };
    }
    r->began_ms = clock_mono_ms();
    list_init(&r->place);
    trouble_init(&r->trouble);
    reader_init(&r->reader, m->wire, upstream_scratch(m->up), sink);
    buf_init(&r->body, REQUEST_MAX);
    buf_init(&r->error_body, ERROR_BODY_MAX);
    wire_body(m->wire, &r->body, &m->config, q, &r->input_estimate);
    if (r->body.err == ERR_FULL) {
        fail_soon(r, FAIL_TOO_LARGE, -1);
        return r;
    }
    buf_fit(&r->body); /* waits for the first word; a thousand of them may */
    if (!r->body.err && (!has_place(m) || m->waiting)) {
        stand_in_line(r);
        return r;
    }
    if (!r->body.err && take_place(r)) return r;
    r->over = true;
    leave(r);
    release(r);
    return NULL;
}

void remote_cancel(struct model_run *r)
{
    settle_usage(r);
    if (r->transfer) note(r, LOG_INFO, "model.cancelled", -1);
    end(r);
    release(r);
}

bool remote_waits(const struct model_run *r)
{
    return list_linked(&r->place);
}

bool remote_stripped(const struct model_run *r)
{
    return r->stripped;
}
