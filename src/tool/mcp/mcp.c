/* mcp.c -- one server's life.
 *
 *   DOWN ──open──▶ OPENING ──discover/initialize──▶ LISTING ──▶ READY
 *     ▲                │                               │          │
 *     └── 1, 2 … 60 s ─┴────── the connection is lost ─┴──────────┘
 *   AUTH: the server wants credentials; nothing is tried again until it is told to start anew.
 *   Only one that never let us in is left there: one that did may have a bad day, and is lost like
 *   any other.
 *
 * Which era the server speaks is asked (server/discover) unless it is known or
 * pinned; it is forgotten when an opening fails, so that an updated server is asked again. Old
 * servers over stdio may be silent when they are asked that. So one that is, is asked in the old
 * way as well, and both questions stand: what it answers decides, however long it takes to start.
 */
#include "base/clock.h"
#include "base/id.h"
#include "base/log.h"
#include "base/secret.h"
#include "tool/mcp/mcp_int.h"

#define ASKED_ID_MAX 1024

static void discover(struct mcp *m);
static void initialize(struct mcp *m);
static void ask_both(struct mcp *m);

void mcp_changed(struct mcp *m)
{
    if (m->host.changed) m->host.changed(m, m->host.ctx);
}

static void tell(struct loop_dirty *d)
{
    registry_tell(LIST_ITEM(d, struct mcp, news)->host.registry);
}

void mcp_settle(struct mcp *m)
{
    registry_settle(m->host.registry, &m->source);
    m->news.flush = tell;
    loop_mark(m->host.loop, &m->news);
}

static uint64_t expected_until(const struct mcp *m)
{
    return list_linked(&m->source.node) ? m->source.until_ms : 0;
}

/* --- clocks -------------------------------------------------------------------------- */

void mcp_rearm(struct mcp *m)
{
    uint64_t now = clock_mono_ms(), next = m->restart_ms;

    if (m->listen_ms && (!next || m->listen_ms < next)) next = m->listen_ms;
    if (m->relist_ms && (!next || m->relist_ms < next)) next = m->relist_ms;
    if (m->renew_ms && (!next || m->renew_ms < next)) next = m->renew_ms;
    if (m->leave_ms && (!next || m->leave_ms < next)) next = m->leave_ms;
    if (m->both_ms && (!next || m->both_ms < next)) next = m->both_ms;
    if (m->look_ms && (!next || m->look_ms < next)) next = m->look_ms;
    if (expected_until(m) && (!next || expected_until(m) < next)) next = expected_until(m);
    LIST_EACH (n, &m->requests) {
        struct mcp_request *q = LIST_ITEM(n, struct mcp_request, node);
        if (q->deadline_ms && (!next || q->deadline_ms < next)) next = q->deadline_ms;
    }
    if (!next) loop_timer_stop(&m->tick);
    else loop_timer_set(&m->tick, next > now ? next - now : 0);
}

static void notify(struct mcp *m, const char *method, struct str params);

static void cancel_notice(struct mcp_request *q, const char *reason)
{
    struct mcp  *m = q->m;
    struct buf   b;
    struct jsonw w;

    if (str_is(str_c(q->method), "initialize") || m->state == MCP_STOPPING) return;
    /* there, closing the response says it */
    if (m->era == ERA_MODERN && m->transport == &mcp_http) return;
    buf_init(&b, 0);
    jsonw_init(&w, &b);
    buf_printf(&b, "\"requestId\":%lld,\"reason\":", (long long)q->id);
    jw_strz(&w, reason);
    notify(m, "notifications/cancelled", buf_view(&b));
    buf_done(&b);
}

static bool is_call(const struct mcp_request *q)
{
    return strcmp(q->method, "tools/call") == 0;
}

void mcp_end_request(struct mcp_request *q, const struct mcp_reply *r)
{
    struct mcp *m = q->m;
    if (is_call(q) && r->lost && !r->unsent) mcp_call_given_up(q);
    list_remove(&q->node);
    m->transport->release(m, q);
    q->done(q, r);
    mem_free(q);
}

void mcp_cancel(struct mcp_request *q, const char *reason)
{
    struct mcp *m = q->m;
    if (is_call(q) && (!m->transport->sent || m->transport->sent(q))) mcp_call_given_up(q);
    cancel_notice(q, reason);
    list_remove(&q->node);
    m->transport->release(m, q);
    mem_free(q);
    mcp_rearm(m);
}

static void lose(struct mcp_request *q, const char *why)
{
    bool sent = !q->m->transport->sent || q->m->transport->sent(q);
    mcp_end_request(q, &(struct mcp_reply){ .lost = why, .unsent = !sent });
}

/* A call that was given up may still ask, and nothing would say that it is the one that asks. On a
 * new connection it cannot. Never while others are under way: they would be lost with it. */
static void renew(struct mcp *m)
{
    m->renew_ms = clock_mono_ms() + MCP_RENEW_MS;
    if (!list_empty(&m->calls) || m->state != MCP_READY) return;
    buf_clear(&m->trouble);
    buf_lit(&m->trouble, "a call that was given up may still ask; the connection is made anew");
    m->transport->close(m);
    mcp_lost(m, "the connection is made anew");
}

static struct mcp_request *overdue(struct mcp *m, uint64_t now)
{
    LIST_EACH (n, &m->requests) {
        struct mcp_request *q = LIST_ITEM(n, struct mcp_request, node);
        if (q->deadline_ms && q->deadline_ms <= now) return q;
    }
    return NULL;
}

void mcp_tick(struct loop_timer *t)
{
    struct mcp         *m = LIST_ITEM(t, struct mcp, tick);
    struct mcp_request *q;
    uint64_t            now = clock_mono_ms();

    while ((q = overdue(m, now))) {
        cancel_notice(q, "timeout");
        lose(q, "it did not answer in time");
    }
    if (m->restart_ms && m->restart_ms <= now && m->state == MCP_DOWN) mcp_open_now(m);
    if (m->listen_ms && m->listen_ms <= now) {
        m->listen_ms = 0;
        if (m->state == MCP_READY) {
            mcp_listen(m);
            mcp_list_soon(m);
        }
    }
    if (m->relist_ms && m->relist_ms <= now) {
        m->relist_ms = 0;
        mcp_list_soon(m);
    }
    if (m->renew_ms && m->renew_ms <= now) renew(m);
    if (m->both_ms && m->both_ms <= now) ask_both(m);
    if (m->look_ms && m->look_ms <= now) mcp_look(m);
    if (m->leave_ms && m->leave_ms <= now) {
        mcp_line_leave(m);
        return;
    }
    if (expected_until(m) && expected_until(m) <= now) mcp_settle(m);
    mcp_rearm(m);
}

/* --- sending ----------------------------------------------------------------------------- */

static void write_meta(struct mcp *m, struct buf *b, int64_t token, const struct mcp_send *s)
{
    bool modern = m->era == ERA_MODERN;

    if (!modern && !s->progress && !s->meta.len) return;
    buf_lit(b, "\"_meta\":{");
    if (modern)
        buf_printf(b,
                   "\"io.modelcontextprotocol/protocolVersion\":\"%s\","
                   "\"io.modelcontextprotocol/"
                   "clientInfo\":{\"name\":\"parley\",\"version\":\"" PARLEY_VERSION "\"},"
                   "\"io.modelcontextprotocol/clientCapabilities\":{\"elicitation\":{\"form\":{}}}",
                   m->version);
    if (modern && s->progress) buf_chr(b, ',');
    if (s->progress) buf_printf(b, "\"progressToken\":\"%lld\"", (long long)token);
    if (s->meta.len && (modern || s->progress)) buf_chr(b, ',');
    buf_str(b, s->meta);
    buf_chr(b, '}');
}

static void write_request(struct mcp *m, struct buf *b, int64_t id, const struct mcp_send *s)
{
    size_t before;

    buf_printf(b, "{\"jsonrpc\":\"2.0\",\"id\":%lld,\"method\":\"%s\",\"params\":{", (long long)id,
               s->method);
    buf_str(b, s->params);
    if (s->params.len) buf_chr(b, ',');
    before = b->len;
    write_meta(m, b, id, s);
    if (b->len == before && s->params.len) buf_truncate(b, b->len - 1); /* no _meta: no comma */
    buf_lit(b, "}}");
}

struct mcp_request *mcp_request(struct mcp *m, const struct mcp_send *s)
{
    struct mcp_request *q = mem_alloc(sizeof *q);
    struct buf          b;

    buf_init(&b, 0);
    if (q) write_request(m, &b, ++m->next_id, s);
    if (!q || b.err) {
        mem_free(q);
        buf_done(&b);
        curl_slist_free_all(s->extra);
        return NULL;
    }
    *q = (struct mcp_request){
        .m = m, .id = m->next_id, .method = s->method, .done = s->done, .ctx = s->ctx
    };
    if (s->timeout_ms) q->deadline_ms = clock_mono_ms() + s->timeout_ms;
    list_add(&m->requests, &q->node);
    if (m->transport->send(m, q, buf_view(&b), s->extra) != OK) {
        list_remove(&q->node);
        mem_free(q);
        q = NULL;
    }
    buf_done(&b);
    mcp_rearm(m);
    return q;
}

static void notify(struct mcp *m, const char *method, struct str params)
{
    struct buf b;
    buf_init(&b, 0);
    buf_printf(&b, "{\"jsonrpc\":\"2.0\",\"method\":\"%s\"", method);
    if (params.len) {
        buf_lit(&b, ",\"params\":{");
        buf_str(&b, params);
        buf_chr(&b, '}');
    }
    buf_chr(&b, '}');
    if (b.err || m->transport->send(m, NULL, buf_view(&b), NULL) != OK)
        log_line(LOG_WARN, "mcp.unsent", "server", log_str(m->alias), "what", method, "why",
                 "no memory", NULL);
    buf_done(&b);
}

void mcp_answer(struct mcp *m, struct str id, struct str result)
{
    struct buf b;
    buf_init(&b, 0);
    buf_printf(&b, "{\"jsonrpc\":\"2.0\",\"id\":" STR_FMT ",\"result\":" STR_FMT "}", STR_ARG(id),
               STR_ARG(result));
    if (b.err || m->transport->send(m, NULL, buf_view(&b), NULL) != OK)
        log_line(LOG_WARN, "mcp.unsent", "server", log_str(m->alias), "what", "an answer", "why",
                 "no memory", NULL);
    buf_done(&b);
}

static void refuse(struct mcp *m, struct str id, int code, const char *message)
{
    struct buf b;
    buf_init(&b, 0);
    buf_printf(
        &b, "{\"jsonrpc\":\"2.0\",\"id\":" STR_FMT ",\"error\":{\"code\":%d,\"message\":\"%s\"}}",
        STR_ARG(id), code, message);
    if (b.err || m->transport->send(m, NULL, buf_view(&b), NULL) != OK)
        log_line(LOG_WARN, "mcp.unsent", "server", log_str(m->alias), "what", "an answer", "why",
                 "no memory", NULL);
    buf_done(&b);
}

/* --- receiving ------------------------------------------------------------------------------ */

static struct mcp_request *find(struct mcp *m, int64_t id)
{
    LIST_EACH (n, &m->requests) {
        struct mcp_request *q = LIST_ITEM(n, struct mcp_request, node);
        if (q->id == id) return q;
    }
    return NULL;
}

static void on_response(struct mcp *m, const struct jv *v, struct mcp_request *on)
{
    const struct jv    *error = jv_get(v, "error"), *id = jv_get(v, "id");
    struct mcp_reply    r = { .result = jv_get(v, "result") };
    struct mcp_request *q = NULL;
    int64_t             n;

    if (jv_int(id, &n)) q = find(m, n);
    else if ((!id || id->type == JSON_NULL) && error)
        q = on;     /* the server could not read whose it was */
    if (!q) return; /* late, after a cancellation */
    if (error && error->type == JSON_NULL) error = NULL;
    /* Said of nobody on a call's stream, it does not say that the call did not begin. */
    bool vague = (!id || id->type == JSON_NULL) && is_call(q);
    if ((r.result && error) || vague)
        r = (struct mcp_reply){ .code = MCP_INTERNAL,
                                .message =
                                    vague ? jv_str_at(error, "message")
                                          : STR("it answered with a result and an error at once") };
    else if (!r.result) {
        r.code = jv_int_at(error, "code", MCP_INTERNAL);
        if (!r.code) r.code = MCP_INTERNAL;
        r.message = jv_str_at(error, "message");
        r.data = jv_get(error, "data");
    }
    mcp_end_request(q, &r);
    mcp_rearm(m);
}

/* Everything it asks is answered, because an unanswered request stalls it; unless it asks faster
 * than it takes the answers. */
static bool too_fast(struct mcp *m)
{
    if (!m->transport->busy(m)) return false;
    if (!m->rude)
        log_line(LOG_WARN, "mcp.too_fast", "server", log_str(m->alias), "why",
                 "it asks faster than it takes the answers; some are left out", NULL);
    return m->rude = true;
}

static void on_request(struct mcp *m, const struct jv *v, struct mcp_request *on)
{
    struct str       method = jv_str_at(v, "method"), id = jv_get(v, "id")->raw;
    const struct jv *params = jv_get(v, "params");
    struct str       mode = jv_str_at(params, "mode");
    bool question = str_is(method, "elicitation/create"), form = !mode.ptr || str_is(mode, "form");

    if (id.len > ASKED_ID_MAX) return; /* it would be sent back, over and over */
    if (question && form && mcp_call_elicit(m, on, id, params)) return;
    if (too_fast(m)) return;
    if (str_is(method, "ping")) mcp_answer(m, id, STR("{}"));
    else if (!question) refuse(m, id, MCP_NO_METHOD, "not supported by this client");
    else if (!form) refuse(m, id, MCP_BAD_PARAMS, "only form elicitation is supported");
    else mcp_answer(m, id, STR("{\"action\":\"cancel\"}"));
}

struct mcp_request *mcp_by_token(struct mcp *m, const struct jv *token)
{
    uint64_t n;
    if (!token || !str_to_u64(token->type == JSON_STRING ? token->str : token->raw, &n))
        return NULL;
    return find(m, (int64_t)n);
}

static void on_progress(struct mcp *m, const struct jv *params)
{
    struct mcp_request *q = mcp_by_token(m, jv_get(params, "progressToken"));
    if (q) mcp_call_progress(q, params);
}

static void on_notice(struct mcp *m, const struct jv *v)
{
    struct str method = jv_str_at(v, "method");

    if (str_is(method, "notifications/progress")) on_progress(m, jv_get(v, "params"));
    else if (str_is(method, "notifications/tools/list_changed")) mcp_list_soon(m);
}

void mcp_receive(struct mcp *m, struct str text, struct mcp_request *on)
{
    struct jv *v;

    if (m->state == MCP_STOPPING) return;
    arena_reset(&m->arena);
    text = mcp_blot(m, &m->arena, text);
    if (json_parse(&m->arena, text, &v, NULL) != OK || v->type != JSON_OBJECT) return;
    if (jv_str_at(v, "method").ptr) {
        if (jv_get(v, "id")) on_request(m, v, on);
        else on_notice(m, v);
    } else if (jv_get(v, "result") || jv_get(v, "error")) on_response(m, v, on);
}

/* --- opening ---------------------------------------------------------------------------------- */

static void note_trouble(struct mcp *m, const char *why, struct str more)
{
    buf_clear(&m->trouble);
    buf_lit(&m->trouble, why);
    if (more.len) {
        buf_lit(&m->trouble, ": ");
        text_clean(&m->trouble, more, 300);
    }
}

static void fail_all(struct mcp *m, const char *why)
{
    while (!list_empty(&m->requests))
        lose(LIST_ITEM(m->requests.next, struct mcp_request, node), why);
}

uint64_t mcp_backoff(unsigned failures)
{
    uint64_t wait = failures < 6 ? 1000ull << failures : MCP_BACKOFF_MAX;
    uint16_t random;
    id_bytes(&random, sizeof random);
    return wait + wait * random / (4 * 65536ull);
}

void mcp_lost(struct mcp *m, const char *why)
{
    uint64_t now = clock_mono_ms();

    if (m->state == MCP_DOWN || m->state == MCP_STOPPING) return;
    if (m->state != MCP_AUTH) m->state = MCP_DOWN;
    m->listening = m->listed = false;
    m->listen_ms = m->relist_ms = m->renew_ms = m->both_ms = 0;
    if (m->trouble.len == 0) note_trouble(m, why, STR_NONE);
    log_line(LOG_WARN, "mcp.lost", "server", log_str(m->alias), "why",
             log_str(buf_view(&m->trouble)), NULL);
    fail_all(m, why);
    m->settled = true;
    if (m->ready_ms && now - m->ready_ms >= MCP_STEADY_MS) m->failures = 0;
    m->ready_ms = 0;
    /* a line is opened again by the next call */
    m->restart_ms = m->state == MCP_AUTH || m->server ? 0 : now + mcp_backoff(m->failures++);
    mcp_rearm(m);
    mcp_look(m);
    if (m->server) mcp_call_line_lost(m, m->state == MCP_AUTH);
    mcp_changed(m);
}

/* Its people have accounts there, and the token that was sent is not taken, or there was none. One
 * that is only over is renewed, once. */
static void account_refused(struct mcp *m, struct str challenge)
{
    (void)oauth_challenged(m->oauth, challenge, m->server ? m->person : STR_NONE);
    if (m->server || !m->bearer.len || m->renewed) m->state = MCP_AUTH;
    m->renewed = true;
    note_trouble(m, "authorization needed",
                 m->server || m->welcomed ? challenge
                                          : STR("nobody has connected their account yet"));
    if (!m->server && m->state == MCP_AUTH) mcp_settle(m);
    m->transport->close(m);
}

void mcp_auth(struct mcp *m, struct str challenge, struct str words)
{
    if (m->oauth) account_refused(m, challenge);
    else {
        note_trouble(m, "authorization needed", words);
        if (!m->welcomed) {
            m->state = MCP_AUTH;
            mcp_settle(m);
        }
    }
    mcp_lost(m, "authorization needed");
}

/* The opening did not work: another era may be spoken next time. */
static void opening_failed(struct mcp *m, const char *what, const struct mcp_reply *r)
{
    if (m->state != MCP_OPENING) return;
    note_trouble(m, what, r->lost ? str_c(r->lost) : r->message);
    m->era = m->pinned;
    m->transport->close(m);
    mcp_lost(m, what);
}

static void opened(struct mcp *m, const struct jv *capabilities)
{
    const struct jv *tools = jv_get(capabilities, "tools");

    m->list_changes = jv_true(jv_get(tools, "listChanged"));
    m->state = MCP_LISTING;
    buf_clear(&m->trouble);
    if (m->era == ERA_LEGACY) {
        notify(m, "notifications/initialized", STR_NONE);
        m->transport->opened(m);
    }
    m->renewed = false;
    if (m->server) { /* its server has listed the tools */
        m->state = MCP_READY;
        m->ready_ms = clock_mono_ms();
        mcp_call_line_ready(m);
        return;
    }
    mcp_list(m);
    if (m->era == ERA_MODERN && m->list_changes) mcp_listen(m);
}

static bool is_legacy_version(struct str v)
{
    static const char *const all[] = { "2024-11-05", "2025-03-26", "2025-06-18", MCP_LEGACY, NULL };
    for (int i = 0; all[i]; i++)
        if (str_is(v, all[i])) return true;
    return false;
}

/* The other question is not needed any more. */
static void withdraw(struct mcp_request **q)
{
    if (*q) mcp_cancel(*q, "answered otherwise");
    *q = NULL;
}

static void on_initialized(struct mcp_request *q, const struct mcp_reply *r)
{
    struct mcp *m = q->m;
    struct str  version = jv_str_at(r->result, "protocolVersion");

    m->initializing = NULL;
    if (!r->result && m->discovering) return; /* it has not said yet what it does speak */
    if (!r->result) {
        opening_failed(m, "it could not be opened", r);
        return;
    }
    if (!is_legacy_version(version)) {
        opening_failed(m, "it speaks a version that we do not",
                       &(struct mcp_reply){ .message = version });
        return;
    }
    m->both_ms = 0;
    withdraw(&m->discovering);
    snprintf(m->version, sizeof m->version, STR_FMT, STR_ARG(version));
    opened(m, jv_get(r->result, "capabilities"));
}

/* A program may need long to start; as long as one of its calls may take is not too long. */
static uint64_t open_ms(const struct mcp *m)
{
    return m->transport != &mcp_http && m->call_ms > MCP_OPEN_MS ? m->call_ms : MCP_OPEN_MS;
}

static void initialize(struct mcp *m)
{
    struct mcp_send s = {
        .method = "initialize",
        .timeout_ms = open_ms(m),
        .done = on_initialized,
        .params = STR("\"protocolVersion\":\"" MCP_LEGACY
                      "\",\"capabilities\":{\"elicitation\":{\"form\":{}}},"
                      "\"clientInfo\":{\"name\":\"parley\",\"version\":\"" PARLEY_VERSION "\"}"),
    };
    if (m->initializing) return;
    m->era = ERA_LEGACY;
    m->version[0] = 0;
    if (!(m->initializing = mcp_request(m, &s)))
        opening_failed(m, "there is not enough memory", &(struct mcp_reply){ 0 });
}

static void ask_both(struct mcp *m)
{
    m->both_ms = 0;
    if (m->state == MCP_OPENING && m->discovering) initialize(m);
}

static bool chosen_version(struct mcp *m, const struct jv *data)
{
    JV_EACH (v, jv_get(data, "supported"))
        if (str_is(jv_str(v), MCP_MODERN)) return true;
    return false;
}

static bool is_modern_error(int64_t code)
{
    return code == MCP_HEADER_MISMATCH || code == MCP_NO_CAPABILITY || code == MCP_BAD_VERSION;
}

static void speak_modern(struct mcp *m)
{
    m->era = ERA_MODERN;
    snprintf(m->version, sizeof m->version, MCP_MODERN);
}

static void on_discovered(struct mcp_request *q, const struct mcp_reply *r)
{
    struct mcp *m = q->m;
    bool        http = m->transport == &mcp_http;

    m->discovering = NULL;
    m->both_ms = 0;
    if (m->state != MCP_OPENING) return;
    if (r->result) {
        withdraw(&m->initializing);
        speak_modern(m);
        opened(m, jv_get(r->result, "capabilities"));
        return;
    }
    if (r->lost && m->initializing) return; /* that one's answer decides */
    /* Over HTTP silence and broken connections say nothing about the era; over stdio old servers
     * are silent. */
    if (r->lost && (http || r->unsent)) opening_failed(m, "it could not be reached", r);
    else if (http && r->http >= 500) opening_failed(m, "it could not be opened", r);
    else if (is_modern_error(r->code)) {
        withdraw(&m->initializing);
        if (chosen_version(m, r->data) && q->ctx == NULL) discover(m);
        else if (m->pinned != ERA_MODERN) initialize(m);
        else opening_failed(m, "it speaks a version that we do not", r);
    } else if (http && r->http == 404 && r->code == MCP_NO_METHOD)
        opened(m, NULL); /* modern, without discover */
    else if (m->pinned == ERA_MODERN) opening_failed(m, "it does not speak the modern protocol", r);
    else initialize(m);
}

static void discover(struct mcp *m)
{
    bool            again = m->era == ERA_MODERN && m->version[0];
    bool            sure = m->pinned == ERA_MODERN || m->transport == &mcp_http;
    struct mcp_send s = { .method = "server/discover",
                          .done = on_discovered,
                          .ctx = again ? m : NULL,
                          .timeout_ms = open_ms(m) };
    speak_modern(m);
    if (!sure) m->both_ms = clock_mono_ms() + MCP_BOTH_MS;
    if (!(m->discovering = mcp_request(m, &s)))
        opening_failed(m, "there is not enough memory", &(struct mcp_reply){ 0 });
}

static void open_line(struct mcp *m)
{
    enum mcp_era known = m->pinned ? m->pinned : m->era;

    m->version[0] = 0;
    m->list_again = m->rude = m->nobody_said = false;
    m->skipped = 0;
    buf_clear(&m->trouble);
    if (m->transport->open(m) != OK) {
        mcp_lost(m, "it could not be started");
        return;
    }
    if (known == ERA_LEGACY) initialize(m);
    else {
        m->era = ERA_UNKNOWN;
        discover(m);
    }
}

/* Without a token it is tried all the same: some servers list to everybody. */
static void on_token(struct oauth_want *w, struct str token, const char *why)
{
    struct mcp *m = LIST_ITEM(w, struct mcp, want);
    if (m->state != MCP_OPENING) return;
    if (why || !mcp_set_bearer(m, token)) {
        note_trouble(m, "it could not be opened", str_c(why ? why : "not enough memory"));
        mcp_lost(m, "it could not be opened");
    } else open_line(m);
}

void mcp_open_now(struct mcp *m)
{
    m->restart_ms = 0;
    m->state = MCP_OPENING;
    if (!m->oauth || m->server) {
        open_line(m);
        return;
    }
    oauth_unwant(&m->want);
    m->want = (struct oauth_want){ .stale = m->renewed ? buf_view(&m->bearer) : STR_NONE,
                                   .done = on_token };
    oauth_want(m->oauth, &m->want);
}

/* --- interface -------------------------------------------------------------------------------- */

void mcp_expect(struct mcp *m)
{
    registry_expect(m->host.registry, &m->source, m->prefix,
                    clock_mono_ms() + (m->call_ms > MCP_FIRST_MS ? m->call_ms : MCP_FIRST_MS));
    mcp_rearm(m);
}

void mcp_start(struct mcp *m)
{
    if (m->state != MCP_DOWN && m->state != MCP_AUTH) return;
    if (mcp_account_start(m) != OK)
        log_line(LOG_ERROR, "mcp.no_accounts", "server", log_str(m->alias), "why",
                 "there is not enough memory", NULL);
    if (!m->welcomed) mcp_expect(m);
    mcp_open_now(m);
}

static void tick_closed(struct loop_timer *t)
{
    struct mcp *m = LIST_ITEM(t, struct mcp, tick);
    if (m->on_closed) m->on_closed(m);
    m->transport->free(m);
    buf_done(&m->trouble);
    buf_done(&m->given_up);
    secret_wipe(m->bearer.ptr, m->bearer.cap);
    buf_done(&m->bearer);
    arena_done(&m->arena);
    arena_done(&m->pages);
    arena_done(&m->config);
    mem_free(m->tools);
    mem_free(m);
}

void mcp_stop(struct mcp *m, void (*on_closed)(struct mcp *m))
{
    m->on_closed = on_closed;
    m->state = MCP_STOPPING;
    m->restart_ms = m->listen_ms = m->relist_ms = m->renew_ms = m->leave_ms = m->both_ms = 0;
    m->look_ms = 0;
    oauth_unwant(&m->want);
    registry_settle(m->host.registry, &m->source);
    list_remove(&m->source.look_node);
    loop_undirty(&m->news);
    fail_all(m, "the server is being stopped");
    mcp_calls_done(m);
    mcp_list_done(m);
    mcp_lines_stop(m);
    m->transport->close(m);
}

static void accounts_closed(void *ctx)
{
    struct mcp *m = ctx;
    loop_timer_close(&m->tick, tick_closed);
}

/* Its own connection is gone, and its lines are: the accounts, then the rest. */
void mcp_maybe_closed(struct mcp *m)
{
    if (m->state != MCP_STOPPING || !m->ended || m->line_count) return;
    m->ended = false;
    if (m->oauth && !m->server) oauth_free(m->oauth, accounts_closed, m);
    else accounts_closed(m);
}

void mcp_transport_closed(struct mcp *m)
{
    m->ended = m->state == MCP_STOPPING;
    mcp_maybe_closed(m);
}

struct str mcp_alias(const struct mcp *m)
{
    return m->alias;
}
bool mcp_settled(const struct mcp *m)
{
    return m->settled;
}
bool mcp_ready(const struct mcp *m)
{
    return m->listed;
}

void mcp_state_text(const struct mcp *m, struct buf *out)
{
    size_t listed = 0;
    for (size_t i = 0; i < m->tool_count; i++) listed += m->tools[i]->listed;
    switch (m->state) {
    case MCP_OPENING: buf_lit(out, "opening"); return;
    case MCP_LISTING:
    case MCP_READY:
        if (m->listed) buf_printf(out, "ready (%s, %zu tools)", m->version, listed);
        else buf_lit(out, "opening");
        return;
    case MCP_STOPPING: buf_lit(out, "stopping"); return;
    case MCP_AUTH: buf_str(out, buf_view(&m->trouble)); return;
    case MCP_DOWN:
        buf_lit(out, m->restart_ms ? "waiting to start again: " : "not started");
        buf_str(out, buf_view(&m->trouble));
        return;
    }
}
