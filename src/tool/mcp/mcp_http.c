/* mcp_http.c -- streamable HTTP: every message is its own POST.
 *
 * An exchange is one POST and its answer, or the legacy GET stream, or the DELETE
 * of a session. Its request (`q`) is taken off it as soon as it is over; what still comes then is
 * not wanted.
 *
 *   POST ──▶ JSON ────────────────────────────────▶ receive, done
 *        ──▶ events ──▶ receive each … our response ─▶ done
 *               └── ends early, legacy, had an event id: wait `retry`, GET with Last-Event-ID
 *   GET  ──▶ events … ends: wait, again            (405: the server does not offer it)
 */
#include "base/clock.h"
#include "base/id.h"
#include "base/secret.h"
#include "base/sse_in.h"
#include "tool/http.h"
#include "tool/mcp/mcp_int.h"

#define CONNECT_MS   10000L
#define RETRY_MS     1000
#define RETRY_MAX_MS 30000
#define RETRY_MIN_MS 200    /* whatever the server says: it must not keep us busy */
#define RESUMES_MAX  3      /* in a row without hearing anything */
#define QUICK_MAX    5      /* streams in a row that ended at once, before the waits grow */
#define ANSWERS_MAX  16     /* under way at once */
#define ANSWER_MS    30000L /* it takes our answer, or never will */
#define SESSION_MAX  512

enum kind { POST, GET, DELETE_SESSION };

struct http {
    struct mcp        *m;
    const char        *url;
    struct str         host;
    struct egress      egress; /* plain http: loopback only */
    bool               any_address;
    struct curl_slist *headers; /* configured */
    char               session[SESSION_MAX];
    bool               had_session; /* this connection */
    /* exchanges that carry an answer or a notice of ours */
    unsigned           answers;
    struct list        exchanges;
    bool               closing;
};

struct mcp_exchange {
    struct list         node;
    struct mcp         *m;
    struct http        *link;
    struct mcp_request *q; /* NULL: none, or over */
    enum kind           kind;
    const char         *method; /* JSON-RPC, for the header */
    bool                initialize, modern;
    bool                answer;    /* counted in link->answers */
    bool                no_memory; /* a header is missing: it must not be sent */
    struct curl_job     job;
    struct curl_slist  *headers;
    struct egress_check check;
    struct buf          message, body, challenge;
    struct sse_in       events;
    bool                is_events, head_seen, running, heard;
    bool                unwanted; /* nobody waits for it */
    bool                over;     /* about to be freed by ended() */
    long                status;
    unsigned            resumes; /* in a row without hearing anything */
    unsigned            quick;   /* in a row that ended at once */
    uint64_t            began_ms;
    struct loop_timer   wait;
};

static bool begin(struct mcp_exchange *x);
static void lose(struct mcp_exchange *x, const char *why, bool unsent);
static void on_done(struct curl_job *j, CURLcode code);

/* --- exchanges -------------------------------------------------------------------------------- */

static void on_event(struct sse_in *e, struct str name, struct str data)
{
    struct mcp_exchange *x = LIST_ITEM(e, struct mcp_exchange, events);
    if (x->unwanted || data.len == 0) return;
    x->heard = true;
    mcp_receive(x->m, data, x->q);
}

static void on_wait(struct loop_timer *t)
{
    struct mcp_exchange *x = LIST_ITEM(t, struct mcp_exchange, wait);
    if (!begin(x)) lose(x, "there is not enough memory", false);
}

static struct mcp_exchange *exchange_new(struct mcp *m, enum kind kind)
{
    struct http         *h = m->link;
    struct mcp_exchange *x = mem_alloc(sizeof *x);
    if (!x) return NULL;
    x->m = m;
    x->link = h;
    x->kind = kind;
    x->modern = m->era == ERA_MODERN;
    buf_init(&x->message, 0);
    buf_init(&x->body, MCP_MESSAGE_MAX);
    buf_init(&x->challenge, 2048);
    sse_in_init(&x->events, MCP_MESSAGE_MAX, on_event);
    loop_timer_init(m->host.loop, &x->wait, on_wait);
    list_add(&h->exchanges, &x->node);
    return x;
}

static void wait_closed(struct loop_timer *t)
{
    struct mcp_exchange *x = LIST_ITEM(t, struct mcp_exchange, wait);
    struct http         *h = x->link;

    list_remove(&x->node);
    if (x->answer) h->answers--;
    buf_done(&x->message);
    buf_done(&x->body);
    buf_done(&x->challenge);
    sse_in_done(&x->events);
    curl_slist_free_all(x->headers);
    mem_free(x);
    if (h->closing && list_empty(&h->exchanges)) {
        h->closing = false;
        mcp_transport_closed(h->m);
    }
}

static void exchange_free(struct mcp_exchange *x)
{
    if (x->q) x->q->exchange = NULL;
    x->q = NULL;
    x->unwanted = true;
    loop_timer_close(&x->wait, wait_closed);
}

/* What it says is not wanted any more. */
static void exchange_drop(struct mcp_exchange *x)
{
    if (x->q) x->q->exchange = NULL;
    x->q = NULL;
    if (x->unwanted || x->over) return;
    /* whoever was told that it did not leave was told the truth */
    x->unwanted = x->check.stop = true;
    if (x->running) curl_cancel(&x->job);
    else loop_timer_close(&x->wait, wait_closed);
}

/* --- headers ---------------------------------------------------------------------------------- */

static void add_header(struct mcp_exchange *x, const char *name, const char *value)
{
    struct buf         line;
    struct curl_slist *next = NULL;

    buf_init(&line, 0);
    buf_printf(&line, "%s: %s", name, value);
    buf_chr(&line, 0);
    if (!line.err) next = curl_slist_append(x->headers, line.ptr);
    if (next) x->headers = next;
    else x->no_memory = true;
    buf_done(&line);
}

static void add_bearer(struct mcp_exchange *x)
{
    struct buf value;
    buf_init(&value, 0);
    buf_lit(&value, "Bearer ");
    buf_str(&value, buf_view(&x->m->bearer));
    buf_chr(&value, 0);
    if (value.err) x->no_memory = true;
    else add_header(x, "Authorization", value.ptr);
    secret_wipe(value.ptr, value.cap);
    buf_done(&value);
}

static void make_headers(struct mcp_exchange *x)
{
    struct mcp *m = x->m;

    for (struct curl_slist *h = x->link->headers; h; h = h->next) {
        struct curl_slist *next = curl_slist_append(x->headers, h->data);
        if (next) x->headers = next;
        else x->no_memory = true;
    }
    if (x->kind == POST) {
        add_header(x, "Content-Type", "application/json");
        add_header(x, "Accept", "application/json, text/event-stream");
    } else if (x->kind == GET) add_header(x, "Accept", "text/event-stream");
    if (m->version[0] && !x->initialize) add_header(x, "MCP-Protocol-Version", m->version);
    if (x->link->session[0] && !x->initialize && !x->modern)
        add_header(x, "Mcp-Session-Id", x->link->session);
    if (x->modern && x->method) add_header(x, "Mcp-Method", x->method);
    if (m->bearer.len) add_bearer(x);
    add_header(x, "Expect", "");
}

static bool is_header(struct str line, const char *name, struct str *value)
{
    size_t n = strlen(name);
    if (line.len <= n || line.ptr[n] != ':' || !str_eq_nocase(str_cut(line, n), str_c(name)))
        return false;
    *value = str_trim(str_from(line, n + 1));
    return true;
}

static bool visible(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.ptr[i] < 0x21 || s.ptr[i] > 0x7e) return false;
    return s.len > 0 && s.len < SESSION_MAX;
}

static size_t on_header(char *p, size_t size, size_t n, void *ctx)
{
    struct mcp_exchange *x = ctx;
    struct str           value;

    if (x->unwanted) return n;
    if (x->initialize && is_header(str_n(p, n), "Mcp-Session-Id", &value) && visible(value)) {
        snprintf(x->link->session, sizeof x->link->session, STR_FMT, STR_ARG(value));
        x->link->had_session = true;
    }
    if (is_header(str_n(p, n), "WWW-Authenticate", &value)) {
        buf_clear(&x->challenge);
        buf_str(&x->challenge, value);
    }
    return n;
}

/* --- bytes ------------------------------------------------------------------------------------ */

static void look_at_head(struct mcp_exchange *x)
{
    char *type = NULL;
    x->head_seen = true;
    curl_easy_getinfo(x->job.easy, CURLINFO_RESPONSE_CODE, &x->status);
    curl_easy_getinfo(x->job.easy, CURLINFO_CONTENT_TYPE, &type);
    x->is_events = x->status == 200 && type && strncasecmp(type, "text/event-stream", 17) == 0;
}

static size_t on_body(char *p, size_t size, size_t n, void *ctx)
{
    struct mcp_exchange *x = ctx;
    enum err             e;

    if (x->unwanted) return 0;
    if (!x->head_seen) look_at_head(x);
    if (x->is_events) e = sse_in_feed(&x->events, str_n(p, n));
    else {
        buf_add(&x->body, p, n);
        e = x->body.err;
    }
    return e == OK ? n : 0;
}

static int verb(CURL *e, struct mcp_exchange *x)
{
    if (x->kind == POST) {
        curl_easy_setopt(e, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)x->message.len);
        return curl_easy_setopt(e, CURLOPT_POSTFIELDS, x->message.ptr);
    }
    if (x->kind == DELETE_SESSION) return curl_easy_setopt(e, CURLOPT_CUSTOMREQUEST, "DELETE");
    return curl_easy_setopt(e, CURLOPT_HTTPGET, 1L);
}

/* Opening and listing may be repeated; whatever else is posted acts, or lets the server act. */
static bool at_the_door(const struct mcp_exchange *x)
{
    static const char *const all[] = { "initialize", "server/discover", "tools/list", NULL };
    for (int i = 0; x->q && all[i]; i++)
        if (strcmp(x->q->method, all[i]) == 0) return true;
    return false;
}

/* False: there is no memory, and nothing was sent. A request without one of its headers would be
 * another request. */
static bool begin(struct mcp_exchange *x)
{
    CURL *e = x->no_memory || x->message.err ? NULL : curl_easy_new(true);

    if (!e) return false;
    x->began_ms = clock_mono_ms();
    x->head_seen = x->is_events = x->heard = false;
    x->status = 0;
    buf_clear(&x->body);
    sse_in_again(&x->events);
    curl_easy_setopt(e, CURLOPT_URL, x->link->url);
    verb(e, x);
    curl_easy_setopt(e, CURLOPT_HTTPHEADER, x->headers);
    curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS);
    curl_easy_setopt(e, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(e, CURLOPT_HEADERDATA, (void *)x);
    curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(e, CURLOPT_WRITEDATA, (void *)x);
    curl_easy_setopt(e, CURLOPT_ACCEPT_ENCODING, "");
    if (x->kind == DELETE_SESSION) curl_easy_setopt(e, CURLOPT_TIMEOUT_MS, 2000L);
    if (x->answer) curl_easy_setopt(e, CURLOPT_TIMEOUT_MS, ANSWER_MS);
    if (x->kind == POST && !at_the_door(x)) curl_once(e);
    x->check = (struct egress_check){ .egress = x->link->any_address ? NULL : &x->link->egress,
                                      .host = x->link->host };
    if (!x->link->any_address) curl_easy_setopt(e, CURLOPT_PROXY, "");
    egress_guard(e, &x->check);
    x->job = (struct curl_job){ .easy = e, .done = on_done };
    x->running = true;
    curl_start(x->m->host.pool, &x->job);
    return true;
}

/* --- the end of an exchange ------------------------------------------------------------------- */

/* As long as the server wants us to, within reason; longer when nothing comes of it, or when its
 * streams end as soon as they are there; and a little more, so that a thousand of us do not come
 * back at once. */
static uint64_t rest_ms(struct mcp_exchange *x)
{
    uint64_t wait = x->events.retry_ms >= 0 ? (uint64_t)x->events.retry_ms : RETRY_MS;
    unsigned times = x->quick > QUICK_MAX ? x->quick - QUICK_MAX : 0;
    uint8_t  random;

    id_bytes(&random, sizeof random);
    if (x->resumes > 1 && x->resumes - 1 > times) times = x->resumes - 1;
    if (wait < RETRY_MIN_MS) wait = RETRY_MIN_MS;
    for (unsigned i = 0; i < times && wait < RETRY_MAX_MS; i++) wait += wait / 2 + 1;
    if (wait > RETRY_MAX_MS) wait = RETRY_MAX_MS;
    return wait + wait * random / (8 * 256u);
}

static bool resume(struct mcp_exchange *x)
{
    if (x->modern || x->link->closing || x->unwanted) return false;
    if (x->kind == POST && (!x->q || !x->events.last_id.len)) return false;
    x->resumes = x->heard ? 0 : x->resumes + 1;
    x->quick = clock_mono_ms() - x->began_ms < MCP_STEADY_MS ? x->quick + 1 : 0;
    if (x->q && x->resumes > RESUMES_MAX) return false;
    curl_slist_free_all(x->headers);
    x->headers = NULL;
    x->kind = GET;
    make_headers(x);
    if (x->events.last_id.len) {
        buf_chr(&x->events.last_id, 0);
        add_header(x, "Last-Event-ID", x->events.last_id.ptr);
        buf_truncate(&x->events.last_id, x->events.last_id.len - 1);
    }
    loop_timer_set(&x->wait, rest_ms(x));
    return true;
}

static void lose(struct mcp_exchange *x, const char *why, bool unsent)
{
    if (x->q) mcp_end_request(x->q, &(struct mcp_reply){ .lost = why, .unsent = unsent });
    exchange_free(x);
}

/* A JSON-RPC error in the body of an HTTP error, if there is one. */
static void bad_status(struct mcp_exchange *x)
{
    struct mcp      *m = x->m;
    struct arena     a;
    struct jv       *v = NULL;
    struct mcp_reply r = { .http = x->status };
    struct buf       words;
    struct str       challenge;
    bool             gone = x->status == 404 && !x->modern && x->link->session[0] && !x->initialize;

    arena_init(&a, 0);
    buf_init(&words, 0);
    challenge = mcp_blot(m, &a, buf_view(&x->challenge));
    if (challenge.len) r.challenge = challenge;
    buf_printf(&words, "status %ld", x->status);
    if (gone) buf_lit(&words, " (its session ended)");
    else if (challenge.len) buf_printf(&words, " (" STR_FMT ")", STR_ARG(challenge));
    r.message = buf_view(&words);
    if (json_parse(&a, mcp_blot(m, &a, buf_view(&x->body)), &v, NULL) == OK && jv_get(v, "error")) {
        r.code = jv_int_at(jv_get(v, "error"), "code", 0);
        r.message = jv_str_at(jv_get(v, "error"), "message");
        r.data = jv_get(jv_get(v, "error"), "data");
    }
    /* Without opening and listing there is no server; of anything else a 401 or 403 is that
     * request's own end. */
    bool auth = (x->status == 401 || x->status == 403) && at_the_door(x);
    bool doubt = x->status == 401 && x->q && !auth;
    if (x->q && !auth) mcp_end_request(x->q, &r);
    if (gone) x->link->session[0] = 0;
    if (auth) mcp_auth(m, challenge, challenge.len ? challenge : buf_view(&words));
    else if (gone) mcp_lost(m, "its session ended");
    else if (doubt && m->state == MCP_READY && !m->oauth)
        mcp_list_soon(m); /* do our credentials still hold at all? */
    buf_done(&words);
    arena_done(&a);
    exchange_free(x);
}

static void ended(struct mcp_exchange *x, CURLcode code)
{
    if (!x->head_seen) look_at_head(x);
    if (x->is_events && code == CURLE_OK && sse_in_end(&x->events) != OK) code = CURLE_RECV_ERROR;
    if (!x->unwanted && x->status < 400 && (x->is_events || x->kind == GET) && resume(x)) return;
    if (!x->unwanted && x->kind == GET && x->status >= 500 && resume(x)) return;
    x->over = true;
    /* the stream is not offered */
    if (x->unwanted || (x->kind == GET && !x->q)) exchange_free(x);
    else if (x->status >= 400 && x->kind == GET)
        lose(x, "its stream could not be taken up again", false); /* the call itself was taken */
    else if (x->status >= 400) bad_status(x);
    else if (code != CURLE_OK)
        lose(x, x->check.refused ? "plain http is for this machine only" : curl_words(code),
             !x->check.sent);
    else if (x->is_events) lose(x, "its stream ended before the answer", false);
    else {
        if (x->body.len) mcp_receive(x->m, buf_view(&x->body), x->q);
        lose(x, "it answered with something else", false);
    }
}

static void on_done(struct curl_job *j, CURLcode code)
{
    struct mcp_exchange *x = LIST_ITEM(j, struct mcp_exchange, job);
    CURL                *easy = j->easy;
    x->running = false;
    ended(x, code); /* x may be gone after this */
    curl_easy_cleanup(easy);
}

/* --- transport -------------------------------------------------------------------------------- */

static enum err http_open(struct mcp *m)
{
    struct http *h = m->link;
    /* what it still asks in the session before does not reach us */
    if (h->had_session) mcp_calls_fresh(m);
    h->session[0] = 0;
    h->had_session = false;
    LIST_EACH (n, &h->exchanges) exchange_drop(LIST_ITEM(n, struct mcp_exchange, node));
    return OK;
}

static enum err http_send(struct mcp *m, struct mcp_request *q, struct str message,
                          struct curl_slist *extra)
{
    struct http         *h = m->link;
    struct mcp_exchange *x = exchange_new(m, POST);

    if (!x) {
        curl_slist_free_all(extra);
        return ERR_NOMEM;
    }
    x->headers = extra;
    x->q = q;
    x->answer = !q;
    h->answers += x->answer;
    if (q) {
        q->exchange = x;
        x->method = q->method;
        x->initialize = strcmp(q->method, "initialize") == 0;
    }
    buf_str(&x->message, message);
    make_headers(x);
    if (begin(x)) return OK;
    exchange_free(x);
    return ERR_NOMEM;
}

static bool http_busy(const struct mcp *m)
{
    return ((const struct http *)m->link)->answers >= ANSWERS_MAX;
}
static bool http_private(const struct mcp *m)
{
    return ((const struct http *)m->link)->session[0] != 0;
}

static void http_release(struct mcp *m, struct mcp_request *q)
{
    struct mcp_exchange *x = q->exchange;
    if (!x) return;
    x->q = NULL;
    q->exchange = NULL;
    /* An answer that came as plain JSON has just ended by itself; a stream is left here. */
    if (x->running) exchange_drop(x);
    else if (x->kind == GET && !x->unwanted) exchange_drop(x); /* waiting to resume */
}

static bool http_sent(const struct mcp_request *q)
{
    const struct mcp_exchange *x = q->exchange;
    return !x || x->kind != POST || x->check.sent;
}

static void http_opened(struct mcp *m)
{
    struct mcp_exchange *x = exchange_new(m, GET);
    if (!x) return;
    make_headers(x);
    if (!begin(x)) exchange_free(x);
}

static void http_close(struct mcp *m)
{
    struct http         *h = m->link;
    struct mcp_exchange *x;

    LIST_EACH (n, &h->exchanges) exchange_drop(LIST_ITEM(n, struct mcp_exchange, node));
    if (m->state == MCP_STOPPING && h->session[0] && (x = exchange_new(m, DELETE_SESSION))) {
        make_headers(x);
        if (!begin(x)) exchange_free(x);
    }
    h->session[0] = 0;
    if (m->state != MCP_STOPPING) return;
    h->closing = !list_empty(&h->exchanges);
    if (!h->closing) mcp_transport_closed(m);
}

static void http_free(struct mcp *m)
{
    struct http *h = m->link;
    curl_slist_free_all(h->headers);
    mem_free(h);
}

const struct mcp_transport mcp_http = {
    .open = http_open,
    .send = http_send,
    .busy = http_busy,
    .private_line = http_private,
    .release = http_release,
    .sent = http_sent,
    .opened = http_opened,
    .close = http_close,
    .free = http_free,
};

/* --- configuration ---------------------------------------------------------------------------- */

static enum err read_headers(struct mcp *m, struct http *h, const struct jv *headers,
                             struct buf *why)
{
    if (headers && !jv_is(headers, JSON_OBJECT)) {
        buf_lit(why, "\"headers\" must be an object");
        return ERR_TYPE;
    }
    JV_EACH (item, headers) {
        const char *line =
            http_header_read(&m->config, item->key, jv_str(item).ptr ? item->str : STR(""), why);
        struct curl_slist *next = line ? curl_slist_append(h->headers, line) : NULL;
        if (!next) return ERR_TYPE;
        h->headers = next;
    }
    return OK;
}

static enum err read_url(struct mcp *m, struct http *h, struct str url, struct buf *why)
{
    struct jv *loopback;

    m->url_host = h->host = egress_host(&m->config, url);
    if (!h->host.ptr) {
        buf_lit(why, "\"url\" must be an address that begins with https:// or http://");
        return ERR_TYPE;
    }
    h->url = arena_dup(&m->config, url).ptr;
    h->any_address = str_starts(url, STR("https:")) || str_starts(url, STR("HTTPS:"));
    if (h->any_address) return OK;
    if (!egress_is_loopback_host(h->host)) {
        buf_lit(why, "plain http is for servers on this machine only; use https");
        return ERR_TYPE;
    }
    if (json_parse(&m->config, STR("[\"127.0.0.0/8\",\"::1\"]"), &loopback, NULL) != OK)
        return ERR_NOMEM;
    return egress_read(&m->config, &h->egress, loopback, why);
}

enum err mcp_http_read(struct mcp *m, const struct jv *entry, struct buf *why)
{
    struct http *h = mem_alloc(sizeof *h);
    enum err     e;

    if (!h) return ERR_NOMEM;
    m->link = h;
    m->transport = &mcp_http;
    h->m = m;
    list_init(&h->exchanges);
    e = read_url(m, h, jv_str_at(entry, "url"), why);
    return e == OK ? read_headers(m, h, jv_get(entry, "headers"), why) : e;
}

enum err mcp_http_copy(struct mcp *line, const struct mcp *server)
{
    const struct http *from = server->link;
    struct http       *h = mem_alloc(sizeof *h);

    if (!h) return ERR_NOMEM;
    line->link = h;
    line->transport = &mcp_http;
    h->m = line;
    h->url = from->url;
    h->host = from->host;
    h->egress = from->egress;
    h->any_address = from->any_address;
    list_init(&h->exchanges);
    for (struct curl_slist *n = from->headers; n; n = n->next) {
        struct curl_slist *next = curl_slist_append(h->headers, n->data);
        if (!next) return ERR_NOMEM;
        h->headers = next;
    }
    return OK;
}
