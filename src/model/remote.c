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
 * Ownership: a run belongs to this file until done or failed was told, or cancel.
 * `busy` counts the frames that still use it: a sink may cancel from inside any of its
 * functions, and the memory goes when the last frame has left.
 */
#include "base/clock.h"
#include "base/id.h"
#include "base/log.h"
#include "base/secret.h"
#include "base/utf8.h"
#include "model/upstream.h"
#include "model/wire.h"

#define ERROR_BODY_MAX 65536        /* of an answer that is no stream */
#define REQUEST_MAX    (32u << 20)  /* what the strictest provider takes */

struct remote {
    struct model        model;
    struct upstream    *up;
    const struct wire  *wire;
    struct model_config config;     /* its texts live in `arena`; key and headers are not kept: they are in `headers` */
    struct arena        arena;
    struct str          url, host;
    struct curl_slist  *headers;
};

struct model_run {
    struct remote       *m;
    struct model_sink   *sink;
    struct transfer     *transfer;
    struct upstream_wait wait;
    struct reader        reader;
    struct buf           body;          /* the request, between two attempts; else it is with the transfer */
    struct buf           error_body;
    struct trouble       trouble;       /* of the attempt that ended */
    uint64_t             began_ms;      /* the attempt */
    unsigned             attempt, busy, first_byte_ms;
    int                  status;        /* 0: no answer yet */
    size_t               received;
    int64_t              input_estimate;    /* tokens of the request */
    bool                 over;          /* cancelled, or its end was told */
    bool                 reading, stripped, forgot;
};

static void on_wait_over(struct upstream_wait *w);

/* --- the run's memory ---------------------------------------------------------------------- */

static void release(struct model_run *r)
{
    if (!r->over || r->busy) return;
    reader_done(&r->reader);
    buf_done(&r->body);
    buf_done(&r->error_body);
    mem_free(r);
}

/* From here on the sink is not called and nothing is under way. */
static void end(struct model_run *r)
{
    r->over = true;
    reader_mute(&r->reader);
    upstream_wait_stop(&r->wait);
    if (r->transfer) transfer_cancel(r->transfer);
    r->transfer = NULL;
}

/* --- how it ends ------------------------------------------------------------------------------ */

/* Every attempt is one line, however it ended. A NULL ends the list early. */
static void note(const struct model_run *r, enum log_level level, const char *event, int64_t wait_ms)
{
    const struct trouble *t = &r->trouble;
    const struct decoder *d = &r->reader.dec;
    log_line(level, event, "model", log_str(r->m->model.name), "provider", r->m->wire->provider, "attempt", log_int(r->attempt),
             "status", log_int(r->status ? r->status : t->status), "request", t->request_id, "first_byte_ms", log_int(r->first_byte_ms),
             "ms", log_int((int64_t)(clock_mono_ms() - r->began_ms)), "bytes", log_int((int64_t)r->received),
             "input_tokens", log_int(d->input_tokens), "output_tokens", log_int(d->output_tokens),
             t->kind == FAIL_NONE ? NULL : "why", fail_code(t->kind), "word", t->word, wait_ms < 0 ? NULL : "wait_ms", log_int(wait_ms), NULL);
}

static void tell_failure(struct model_run *r)
{
    struct model_sink *sink = r->sink;
    struct model_error e = { .code = fail_code(r->trouble.kind), .retryable = fail_retryable(r->trouble.kind) };
    struct buf         sentence;

    note(r, LOG_WARN, "model.failed", -1);
    buf_init(&sentence, 0);
    fail_sentence(&sentence, &r->trouble, r->m->config.model, r->m->host);
    e.message = sentence.err ? STR("The server is short of memory. Trying again later will help.") : buf_view(&sentence);
    end(r);
    sink->failed(sink, &e);
    buf_done(&sentence);
}

static void tell_done(struct model_run *r)
{
    struct model_sink *sink = r->sink;
    enum model_stop    stop = r->reader.dec.stop;
    struct transfer   *t = r->transfer;
    note(r, LOG_INFO, "model.answered", -1);
    r->transfer = NULL;
    end(r);
    if (t) transfer_drain(t);            /* its last bytes are on the way; then the connection is free again */
    sink->done(sink, stop);
}

/* --- another attempt? ------------------------------------------------------------------------------ */

/* 0.5, 1, 2 ... 8 s, each shortened by up to a quarter so that many clients do not come back together. */
static int64_t back_off(unsigned attempt)
{
    uint32_t random;
    int64_t  ms = 500;
    while (--attempt > 0 && ms < 8000) ms *= 2;
    if (ms > 8000) ms = 8000;
    id_bytes(&random, sizeof random);
    return ms - (int64_t)(random % 1000) * ms / 4000;
}

static bool may_repeat(const struct model_run *r)
{
    const struct trouble *t = &r->trouble;
    return t->again && !r->reader.dec.parts.spoke && r->body.len && r->attempt <= r->m->config.retries
        && t->after_ms <= (int64_t)r->m->config.wait_max_ms;
}

static void repeat_later(struct model_run *r, int64_t wait)
{
    note(r, LOG_WARN, "model.retry", wait);
    upstream_wait(r->m->up, &r->wait, (uint64_t)wait, on_wait_over);
}

/* Signatures of another model or key: once more without them. */
static bool strip_signatures(struct model_run *r)
{
    struct buf   plain;
    struct arena a;
    struct jv   *v = NULL;
    if (r->stripped || r->reader.dec.parts.spoke || !r->m->wire->unsigned_body) return false;
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

static void attempt_failed(struct model_run *r)
{
    struct trouble *t = &r->trouble;
    if (r->transfer) {
        transfer_take_body(r->transfer, &r->body);
        transfer_cancel(r->transfer);
        r->transfer = NULL;
    }
    if (t->kind == FAIL_SIGNATURE && strip_signatures(r)) repeat_later(r, 0);
    else if (may_repeat(r)) repeat_later(r, t->after_ms >= 0 ? t->after_ms : back_off(r->attempt));
    else tell_failure(r);
}

/* --- the answer comes --------------------------------------------------------------------------------- */

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
    if (!r->over && !r->forgot && r->reader.dec.parts.spoke) r->forgot = transfer_forget_body(t);
    settle(r);
    r->busy--;
    release(r);
}

static enum fail end_to_fail(enum transfer_end end)
{
    switch (end) {
    case T_OK:                 return FAIL_NONE;
    case T_NAME:               return FAIL_NAME;
    case T_CONNECT:
    case T_CONNECT_TIMEOUT:    return FAIL_CONNECT;
    case T_PROXY:              return FAIL_PROXY;
    case T_TLS:                return FAIL_TLS;
    case T_FIRST_BYTE_TIMEOUT: return FAIL_SLOW;
    case T_IDLE_TIMEOUT:       return FAIL_SILENT;
    case T_TOTAL_TIMEOUT:      return FAIL_TOTAL;
    case T_CUT:                return FAIL_CUT;
    case T_TOO_LARGE:
    case T_OTHER:              return FAIL_PROTOCOL;
    case T_NOMEM:              return FAIL_NOMEM;
    }
    return FAIL_PROTOCOL;
}

/* An answer that is no stream: a status with or without words, or something else altogether. */
static void read_refusal(struct model_run *r, const struct transfer_head *h)
{
    struct trouble *t = &r->trouble;
    wire_http_error(r->m->wire, upstream_scratch(r->m->up), h->status, buf_view(&r->error_body), t);
    if (h->status == 200 && h->typed && !h->event_stream && !t->word[0]) trouble_set(t, FAIL_ADDRESS);
    if (h->retry_after_ms >= 0 && t->after_ms < 0) t->after_ms = h->retry_after_ms;
    if (h->should_retry >= 0 && t->kind != FAIL_QUOTA) t->again = h->should_retry == 1;
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
        reader_end(&r->reader);             /* a cut after the stop reason is no loss */
        settle(r);
    } else if (h->status && !r->reading && f != FAIL_NOMEM) {
        read_refusal(r, h);                 /* whatever happened to its body: the status counts */
        attempt_failed(r);
    } else {
        trouble_set(&r->trouble, f == FAIL_NONE ? FAIL_CUT : f);
        attempt_failed(r);
    }
    r->busy--;
    release(r);
}

static const struct transfer_ops transfer_ops = { on_data, on_done };

/* --- the question goes ------------------------------------------------------------------------------------ */

static bool send_request(struct model_run *r)
{
    const struct model_config *c = &r->m->config;
    struct transfer_request q = { .url = r->m->url.ptr, .headers = r->m->headers, .connect_ms = c->connect_ms,
        .first_byte_ms = c->first_byte_ms, .idle_ms = c->idle_ms, .total_ms = c->total_ms, .response_max = c->response_max };
    r->attempt++;
    r->began_ms = clock_mono_ms();
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

static void on_too_large(struct upstream_wait *w)
{
    struct model_run *r = LIST_ITEM(w, struct model_run, wait);
    r->busy++;
    tell_failure(r);
    r->busy--;
    release(r);
}

static struct model_run *start(struct model *model, const struct model_request *q, struct model_sink *sink)
{
    struct remote    *m = LIST_ITEM(model, struct remote, model);
    struct model_run *r = mem_alloc(sizeof *r);
    if (!r) return NULL;
    r->m = m;
    r->sink = sink;
    reader_init(&r->reader, m->wire, upstream_scratch(m->up), sink);
    buf_init(&r->body, REQUEST_MAX);
    buf_init(&r->error_body, ERROR_BODY_MAX);
    wire_body(m->wire, &r->body, &m->config, q, &r->input_estimate);
    if (r->body.err == ERR_FULL) {            /* told as the provider would, but not from inside start() */
        trouble_init(&r->trouble);
        trouble_set(&r->trouble, FAIL_TOO_LARGE);
        upstream_wait(m->up, &r->wait, 0, on_too_large);
        return r;
    }
    buf_fit(&r->body);                        /* waits for the first word; a thousand of them may */
    if (!r->body.err && send_request(r)) return r;
    r->over = true;
    release(r);
    return NULL;
}

static void cancel(struct model_run *r)
{
    if (r->transfer) note(r, LOG_INFO, "model.cancelled", -1);
    end(r);
    release(r);
}

/* --- making one --------------------------------------------------------------------------------------------- */

static void free_model(struct model *model)
{
    struct remote *m = LIST_ITEM(model, struct remote, model);
    headers_free(m->headers);
    arena_done(&m->arena);
    mem_free(m);
}

static const struct model_ops ops = { start, cancel, free_model };

static bool is_plain(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if ((unsigned char)s.ptr[i] < ' ' || s.ptr[i] == 127) return false;
    return true;
}

/* "Name: prefix value", wiped behind it: the value may be the key. */
static bool add_header(struct remote *m, struct str name, const char *prefix, struct str value)
{
    struct buf line;
    buf_init(&line, 16384);
    buf_room(&line, name.len + strlen(prefix) + value.len + 8);      /* at once: growing would leave copies behind */
    buf_printf(&line, STR_FMT ": %s", STR_ARG(name), prefix);
    buf_str(&line, value);
    buf_chr(&line, '\0');
    bool ok = !line.err && headers_add(&m->headers, line.ptr);
    secret_wipe(line.ptr, line.cap);
    buf_done(&line);
    return ok;
}

static bool own_header(struct remote *m, const struct model_config *c, const char *name, const char *prefix, struct str value)
{
    for (size_t i = 0; i < c->header_count; i++)
        if (str_eq_nocase(c->headers[i].name, str_c(name))) return true;
    return add_header(m, str_c(name), prefix, value);
}

static bool add_headers(struct remote *m, const struct model_config *c)
{
    const char        *name, *prefix;
    const struct wire *w = m->wire;
    bool ok = headers_add(&m->headers, "Expect:")          /* no "100-continue": it costs a round trip */
           && own_header(m, c, "Content-Type", "", STR("application/json"))
           && own_header(m, c, "Accept", "", STR("text/event-stream"))
           && own_header(m, c, "User-Agent", "parley/", STR(PARLEY_VERSION));
    if (w->version_header) ok = ok && own_header(m, c, w->version_header, "", c->version.len ? c->version : str_c(w->version));
    w->key_header(c, &name, &prefix);
    if (c->api_key.len) ok = ok && own_header(m, c, name, prefix, c->api_key);
    for (size_t i = 0; i < c->header_count; i++) ok = ok && add_header(m, c->headers[i].name, "", c->headers[i].value);
    return ok;
}

static const char *check_config(const struct model_config *c, const struct wire *w)
{
    if (!w) return "The provider is not known; known are anthropic, gemini and openai.";
    if (!c->model.len) return "The model has no name (\"model\").";
    if (!is_plain(c->model) || !is_plain(c->base_url) || !is_plain(c->version)) return "The model's name, version or base_url has a character that cannot be sent.";
    if (c->base_url.len && !str_starts(c->base_url, STR("http://")) && !str_starts(c->base_url, STR("https://")))
        return "base_url must begin with http:// or https://.";
    if (!is_plain(c->api_key)) return "The API key has a character that cannot be sent, such as a line break.";
    if (c->extra && c->extra->type != JSON_OBJECT) return "\"extra\" must be an object.";
    if (jv_is(c->thinking, JSON_NULL) || jv_is(c->thinking, JSON_ARRAY)) return "\"thinking\" must be true, false, a number of tokens, a word or an object.";
    for (size_t i = 0; i < c->header_count; i++)
        if (!id_valid(c->headers[i].name, 128) || !is_plain(c->headers[i].value)) return "A header has a name or value that cannot be sent.";
    return NULL;
}

static void fill_defaults(struct model_config *c)
{
    if (!c->connect_ms) c->connect_ms = 10000;
    if (!c->first_byte_ms) c->first_byte_ms = 120000;
    if (!c->idle_ms) c->idle_ms = 120000;
    if (!c->total_ms) c->total_ms = 1800000;
    if (!c->response_max) c->response_max = 64u << 20;
}

static const struct jv *copy_tree(struct arena *a, const struct jv *v)
{
    struct jv *copy = NULL;
    if (v && json_parse(a, arena_dup(a, v->raw), &copy, NULL) != OK) a->failed = true;
    return copy;
}

static void copy_config(struct remote *m, const struct model_config *c)
{
    struct model_config *to = &m->config;
    struct arena        *a = &m->arena;
    *to = *c;
    to->name = arena_dup(a, c->name.len ? c->name : c->model);
    to->provider = str_c(m->wire->provider);
    to->model = arena_dup(a, c->model);
    to->base_url = arena_dup(a, c->base_url);
    to->thinking = copy_tree(a, c->thinking);
    to->extra = copy_tree(a, c->extra);
    to->version = arena_dup(a, c->version);
    to->api_key = STR_NONE;
    to->headers = NULL;
    to->header_count = 0;
    fill_defaults(to);
}

static void write_url(struct remote *m, struct str base)
{
    struct buf url;
    if (!base.len) base = str_c(m->wire->base_url);
    while (str_ends(base, STR("/"))) base = str_cut(base, base.len - 1);
    buf_init(&url, 8192);
    m->wire->url(&url, base, m->config.model);
    if (url.err) m->arena.failed = true;
    m->url = arena_dup(&m->arena, buf_view(&url));
    buf_done(&url);

    ptrdiff_t  at = str_find(m->url, STR("://"));
    struct str rest = str_from(m->url, at < 0 ? 0 : (size_t)at + 3);
    if (!str_split(&rest, '/', &m->host)) m->host = STR("the model service");
    at = str_find(m->host, STR("@"));                     /* user:password@ is not for people */
    if (at >= 0) m->host = str_from(m->host, (size_t)at + 1);
}

struct model *model_remote_new(struct upstream *up, const struct model_config *c, struct str *why)
{
    const struct wire *w = wire_find(c->provider);
    const char        *wrong = check_config(c, w);
    struct remote     *m = wrong ? NULL : mem_alloc(sizeof *m);
    if (!m) {
        *why = str_c(wrong ? wrong : "Out of memory.");
        return NULL;
    }
    m->up = up;
    m->wire = w;
    arena_init(&m->arena, 0);
    copy_config(m, c);
    write_url(m, c->base_url);
    m->model = (struct model){ &ops, m->config.name, m->config.provider, m->config.model };
    if (add_headers(m, c) && !m->arena.failed) return &m->model;
    *why = STR("Out of memory.");
    free_model(&m->model);
    return NULL;
}
