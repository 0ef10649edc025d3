/* bridge.c -- `parley mcp`: MCP over stdin and stdout, for clients that start a program.
 *
 *     a line of stdin ──> POST /mcp of a server ──> its answer, JSON or events ──> lines of stdout
 *
 * The server is the one at --url, or the one that the configuration would start; when nobody
 * listens there it is started, as a process of its own that ends with us, so that the page and its
 * links work. What HTTP has and stdio has not is this program's business: headers are made from the
 * messages, a legacy session is opened, kept and opened again after a restart, its stream of
 * notices is read, a stream that broke goes on, and taking a modern request back is closing its
 * response.
 *
 * stdout has MCP only. A request that cannot be brought to the server is answered with an error, so
 * that nobody waits for it.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/jsonw.h"
#include "base/log.h"
#include "base/sse_in.h"
#include "cli/cli.h"
#include "cli/trust.h"
#include "dialect/mcprpc.h"
#include "loop/curl.h"

#define LINE_MAX_LEN (16u << 20)
#define START_MS     15000 /* for a server of our own to listen */
#define END_MS       1500  /* for what is under way when stdin ends */
#define AGAIN_MS     1000  /* before a stream that broke is asked for again */
#define TRIES_MAX    5

struct bridge {
    struct loop       loop;
    struct curl_pool  pool;
    struct arena      arena;
    struct str        address;                   /* of /mcp, with the page */
    struct str        key;                       /* the header; STR_NONE: none */
    struct str        session, version, opening; /* opening: the client's own initialize */
    bool              opened;                    /* its answer came */
    pid_t             server;                    /* started by us; 0: none */
    struct list       calls;                     /* messages under way */
    struct list       waiting;                   /* lines that came before the session stood */
    struct buf        in;
    char              piece[65536];
    uv_fs_t           reading;
    struct loop_timer end, again;
    bool              ended, listening;
};

enum trip { TRIP_MESSAGE, TRIP_NOTICES, TRIP_REOPEN, TRIP_RESUME };

/* One exchange with the server. */
struct errand {
    struct list        node;
    struct bridge     *b;
    struct curl_job    job;
    struct curl_slist *headers;
    struct arena       arena;
    enum trip          trip;
    struct str         line; /* the message */
    struct mcprpc      rpc;
    struct buf         body;
    struct sse_in      events;
    bool               streams, answered, cancelled, again;
    unsigned           tries;
    char               why[CURL_ERROR_SIZE];
};

static void send_line(struct bridge *b, struct str line, bool again);
static void start(struct errand *c);
static void read_more(struct bridge *b);

/* --- what the client sees ----------------------------------------------------------------- */

static void say(struct str message)
{
    for (size_t i = 0; i < message.len; i++)
        if (message.ptr[i] == '\n' || message.ptr[i] == '\r') {
            char *copy = malloc(message.len);
            if (!copy) return;
            for (size_t k = 0; k < message.len; k++)
                copy[k] = message.ptr[k] == '\n' || message.ptr[k] == '\r' ? ' ' : message.ptr[k];
            fwrite(copy, 1, message.len, stdout);
            free(copy);
            putchar('\n');
            fflush(stdout);
            return;
        }
    fwrite(message.ptr, 1, message.len, stdout);
    putchar('\n');
    fflush(stdout);
}

static void fail(struct errand *c, const char *sentence)
{
    struct buf   b;
    struct jsonw w;
    if (c->answered || c->cancelled || c->trip == TRIP_NOTICES || c->rpc.kind != RPC_REQUEST)
        return;
    c->answered = true;
    buf_init(&b, 0);
    jsonw_init(&w, &b);
    mcprpc_error(&w, c->rpc.id, &(struct mcprpc_fault){ 0, RPC_INTERNAL, sentence, STR_NONE });
    if (!b.err) say(buf_view(&b));
    buf_done(&b);
}

/* --- what the server says ------------------------------------------------------------------- */

/* Of the answer to initialize: which version was agreed on. */
static void note_version(struct bridge *b, struct str message)
{
    struct arena a;
    struct jv   *v;
    arena_init(&a, 0);
    if (json_parse(&a, message, &v, NULL) == OK) {
        struct str version = jv_str_at(jv_get(v, "result"), "protocolVersion");
        if (version.len) b->version = arena_dup(&b->arena, version);
    }
    arena_done(&a);
}

static bool is_answer(struct errand *c, struct str message)
{
    struct arena a;
    struct jv   *v;
    bool         ours = false;
    arena_init(&a, 0);
    if (c->rpc.id.ptr && json_parse(&a, message, &v, NULL) == OK) {
        const struct jv *id = jv_get(v, "id");
        ours = id && !jv_get(v, "method") && str_eq(id->raw, c->rpc.id);
    }
    arena_done(&a);
    return ours;
}

static void take(struct errand *c, struct str message)
{
    if (c->cancelled) return;
    /* a line that has no id to be known by has one answer, and this is it */
    if (is_answer(c, message) || !c->rpc.id.ptr) c->answered = true;
    if (c->answered && str_is(c->rpc.method, "initialize")) note_version(c->b, message);
    if (c->trip != TRIP_REOPEN) say(message);
}

static void on_event(struct sse_in *s, struct str name, struct str data)
{
    (void)name;
    if (data.len) take(LIST_ITEM(s, struct errand, events), data);
}

static size_t on_head(char *bytes, size_t size, size_t count, void *ctx)
{
    struct errand *c = ctx;
    struct str     line = str_n(bytes, size * count), name = STR("mcp-session-id:");
    if (line.len > name.len && str_eq_nocase(str_cut(line, name.len), name))
        c->b->session = arena_dup(&c->b->arena, str_trim(str_from(line, name.len)));
    if (str_eq_nocase(str_cut(line, 31), STR("content-type: text/event-stream"))) c->streams = true;
    return size * count;
}

static size_t on_bytes(char *bytes, size_t size, size_t count, void *ctx)
{
    struct errand *c = ctx;
    struct str     s = str_n(bytes, size * count);
    if (!c->streams) buf_str(&c->body, s);
    else if (sse_in_feed(&c->events, s) != OK) return 0;
    return size * count;
}

/* --- ends ------------------------------------------------------------------------------------- */

static void call_free(struct errand *c)
{
    list_remove(&c->node);
    curl_easy_cleanup(c->job.easy);
    curl_slist_free_all(c->headers);
    sse_in_done(&c->events);
    buf_done(&c->body);
    arena_done(&c->arena);
    mem_free(c);
}

static void maybe_over(struct bridge *b)
{
    LIST_EACH (n, &b->calls)
        if (LIST_ITEM(n, struct errand, node)->trip != TRIP_NOTICES) return;
    if (b->ended) loop_stop(&b->loop);
}

static void send_waiting(struct bridge *b)
{
    struct list now;
    list_init(&now);
    list_take(&now, &b->waiting);
    LIST_EACH (n, &now) {
        struct errand *c = LIST_ITEM(n, struct errand, node);
        list_remove(n);
        send_line(b, c->line, c->again);
        call_free(c);
    }
}

/* Its session is over: it is opened again with the client's own words, and the message sent once
 * more. */
static void reopen(struct errand *c)
{
    struct bridge *b = c->b;
    b->session = STR_NONE;
    if (b->opened) {
        b->opened = false;
        struct errand *o = mem_alloc(sizeof *o);
        if (!o) return;
        o->b = b;
        o->trip = TRIP_REOPEN;
        arena_init(&o->arena, 0);
        o->line = arena_dup(&o->arena, b->opening);
        start(o);
    }
    send_line(b, c->line, true);
}

static void listen_in(struct bridge *b)
{
    struct errand *c = b->listening || b->ended ? NULL : mem_alloc(sizeof *c);
    if (!c) return;
    b->listening = true;
    c->b = b;
    c->trip = TRIP_NOTICES;
    arena_init(&c->arena, 0);
    c->line = STR("");
    start(c);
}

static void on_again(struct loop_timer *t)
{
    struct bridge *b = LIST_ITEM(t, struct bridge, again);
    if (b->opened) listen_in(b);
    LIST_EACH (n, &b->calls) {
        struct errand *c = LIST_ITEM(n, struct errand, node);
        if (c->trip == TRIP_RESUME && !c->job.easy) start(c);
    }
}

/* The stream of a legacy call broke before its answer: it goes on from its last event. */
static bool resumes(struct errand *c)
{
    if (c->answered || c->cancelled || c->rpc.modern || c->b->ended || !c->events.last_id.len ||
        c->tries >= TRIES_MAX)
        return false;
    c->tries++;
    c->trip = TRIP_RESUME;
    curl_easy_cleanup(c->job.easy);
    curl_slist_free_all(c->headers);
    c->job.easy = NULL;
    c->headers = NULL;
    loop_timer_set(&c->b->again, AGAIN_MS);
    return true;
}

static const char *sentence(long status)
{
    if (status == 401) return "The key in PARLEY_KEY is missing, or is not accepted.";
    if (status == 403) return "The key in PARLEY_KEY may not do this.";
    if (status == 404) return "There is no MCP door at that address.";
    return "The server did not answer as an MCP server does.";
}

static void finish_message(struct errand *c, CURLcode code, long status)
{
    struct bridge *b = c->b;
    struct str     text = str_trim(buf_view(&c->body));
    bool           rpc = text.len && text.ptr[0] == '{' && str_find(text, STR("\"jsonrpc\"")) >= 0;
    if (code != CURLE_OK && !c->cancelled) fail(c, "The server cannot be reached.");
    else if (!c->streams && rpc &&
             (status < 400 || status == 400 || status == 429 || status == 503))
        take(c, text);
    else if (status >= 400) fail(c, sentence(status));
    if (str_is(c->rpc.method, "initialize") && c->answered) {
        b->opened = b->session.len > 0;
        send_waiting(b);
    }
    if (b->opened && str_is(c->rpc.method, "notifications/initialized")) listen_in(b);
    /* nobody hears the end of what has no answer */
    if (c->rpc.kind == RPC_REQUEST && !c->answered) fail(c, "The answer was lost on its way.");
}

static void on_done(struct curl_job *job, CURLcode code)
{
    struct errand *c = LIST_ITEM(job, struct errand, job);
    struct bridge *b = c->b;
    long           status = 0;
    curl_easy_getinfo(job->easy, CURLINFO_RESPONSE_CODE, &status);
    if (c->streams && sse_in_end(&c->events) != OK) code = CURLE_WRITE_ERROR;
    if (c->trip == TRIP_NOTICES) {
        b->listening = false;
        if (status == 200 && !b->ended) loop_timer_set(&b->again, AGAIN_MS);
    } else if (c->trip == TRIP_REOPEN) {
        if (status == 200) note_version(b, buf_view(&c->body));
        b->opened = status == 200 && b->session.len;
        if (b->opened)
            send_line(b, STR("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}"),
                      true);
        send_waiting(b);
    } else if (c->streams && resumes(c)) return;
    else if (status == 404 && !c->rpc.modern && b->opening.ptr && !c->again && !c->cancelled)
        reopen(c);
    else finish_message(c, code, status);
    call_free(c);
    maybe_over(b);
}

/* --- requests --------------------------------------------------------------------------------- */

static void header(struct errand *c, const char *name, struct str value)
{
    struct str line = arena_printf(&c->arena, "%s: " STR_FMT, name, STR_ARG(value));
    if (line.ptr && value.len) c->headers = curl_slist_append(c->headers, line.ptr);
}

/* A name that a header cannot carry is wrapped. */
static struct str wrapped(struct arena *a, struct str s)
{
    static const char LETTERS[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    struct buf b;
    bool       plain = s.len && s.ptr[0] != ' ' && s.ptr[s.len - 1] != ' ' && s.ptr[0] != '=';
    for (size_t i = 0; i < s.len; i++) plain = plain && s.ptr[i] >= ' ' && s.ptr[i] < 0x7f;
    if (plain) return s;
    buf_init(&b, 0);
    buf_lit(&b, "=?base64?");
    for (size_t i = 0; i < s.len; i += 3) {
        unsigned char x[3] = { 0 };
        memcpy(x, s.ptr + i, s.len - i < 3 ? s.len - i : 3);
        buf_chr(&b, LETTERS[x[0] >> 2]);
        buf_chr(&b, LETTERS[(x[0] & 3) << 4 | x[1] >> 4]);
        buf_chr(&b, i + 1 < s.len ? LETTERS[(x[1] & 15) << 2 | x[2] >> 6] : '=');
        buf_chr(&b, i + 2 < s.len ? LETTERS[x[2] & 63] : '=');
    }
    buf_lit(&b, "?=");
    struct str out = arena_dup(a, buf_view(&b));
    buf_done(&b);
    return out;
}

static void modern_headers(struct errand *c)
{
    const struct jv *p = c->rpc.params;
    struct str       name = jv_str_at(p, "name");
    if (!name.ptr) name = jv_str_at(p, "uri");
    if (!name.ptr) name = jv_str_at(p, "taskId");
    header(c, "MCP-Protocol-Version", jv_str_at(c->rpc.meta, MCP_META("protocolVersion")));
    header(c, "Mcp-Method", c->rpc.method);
    if (name.ptr) header(c, "Mcp-Name", wrapped(&c->arena, name));
}

static void legacy_headers(struct errand *c)
{
    struct bridge *b = c->b;
    bool           opens = c->trip == TRIP_REOPEN || str_is(c->rpc.method, "initialize");
    if (opens || !b->session.len) return;
    header(c, "Mcp-Session-Id", b->session);
    header(c, "MCP-Protocol-Version", b->version);
}

static void start(struct errand *c)
{
    struct bridge *b = c->b;
    CURL          *h = trust_curl();
    bool           gets = c->trip == TRIP_NOTICES || c->trip == TRIP_RESUME;
    if (!list_linked(&c->node)) {
        list_add(&b->calls, &c->node);
        buf_init(&c->body, LINE_MAX_LEN);
        sse_in_init(&c->events, LINE_MAX_LEN, on_event);
    } else sse_in_again(&c->events);
    c->streams = false;
    c->headers = curl_slist_append(NULL, "Content-Type: application/json");
    header(c, "Accept",
           gets ? STR("text/event-stream") : STR("application/json, text/event-stream"));
    header(c, "Authorization", b->key);
    header(c, "Expect", STR(""));
    if (c->rpc.modern) modern_headers(c);
    else legacy_headers(c);
    if (c->trip == TRIP_RESUME) header(c, "Last-Event-ID", buf_view(&c->events.last_id));
    if (!h || !c->headers) {
        curl_easy_cleanup(h);
        fail(c, "There is not enough memory.");
        call_free(c);
        return;
    }
    curl_easy_setopt(h, CURLOPT_URL, b->address.ptr);
    curl_easy_setopt(h, CURLOPT_HTTPHEADER, c->headers);
    curl_easy_setopt(h, CURLOPT_HEADERFUNCTION, on_head);
    curl_easy_setopt(h, CURLOPT_HEADERDATA, c);
    curl_easy_setopt(h, CURLOPT_WRITEFUNCTION, on_bytes);
    curl_easy_setopt(h, CURLOPT_WRITEDATA, c);
    curl_easy_setopt(h, CURLOPT_ERRORBUFFER, c->why);
    curl_easy_setopt(h, CURLOPT_CONNECTTIMEOUT_MS, 5000L);
    if (!gets) {
        curl_once(h); /* a call is sent once */
        curl_easy_setopt(h, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)c->line.len);
        curl_easy_setopt(h, CURLOPT_COPYPOSTFIELDS, c->line.ptr);
    }
    c->job.easy = h;
    c->job.done = on_done;
    curl_start(&b->pool, &c->job);
}

/* --- messages of the client ------------------------------------------------------------------- */

/* Over HTTP a modern request is taken back by closing its response. */
static bool is_cancelled(struct bridge *b, const struct mcprpc *m)
{
    const struct jv *id = jv_get(m->params, "requestId");
    if (m->kind != RPC_NOTICE || !str_is(m->method, "notifications/cancelled") || !id) return false;
    LIST_EACH (n, &b->calls) {
        struct errand *c = LIST_ITEM(n, struct errand, node);
        if (!c->rpc.modern || !str_eq(c->rpc.id, id->raw) || !c->job.easy) continue;
        c->cancelled = true;
        curl_cancel(&c->job);
        return true;
    }
    return false;
}

static void send_line(struct bridge *b, struct str line, bool again)
{
    struct mcprpc_heads none = { 0 };
    struct mcprpc_fault why;
    struct errand      *c = mem_alloc(sizeof *c);
    if (!c) return;
    c->b = b;
    c->again = again;
    arena_init(&c->arena, 0);
    c->line = arena_dup(&c->arena, line);
    /* what is wrong with it the server says; here only what it is must be known */
    (void)!mcprpc_read(&c->arena, c->line, &none, NULL, &c->rpc, &why);
    if (is_cancelled(b, &c->rpc)) {
        buf_init(&c->body, 0);
        call_free(c);
        return;
    }
    bool opens = str_is(c->rpc.method, "initialize");
    if (opens) b->opening = arena_dup(&b->arena, line);
    if (!opens && !c->rpc.modern && b->opening.ptr && !b->opened) {
        buf_init(&c->body, 0);
        list_add(&b->waiting, &c->node);
    } else start(c);
}

static void on_end(struct loop_timer *t)
{
    loop_stop(&LIST_ITEM(t, struct bridge, end)->loop);
}

static void over(struct bridge *b)
{
    b->ended = true;
    loop_timer_set(&b->end, END_MS);
    maybe_over(b);
}

static void on_read(uv_fs_t *q)
{
    struct bridge *b = LIST_ITEM(q, struct bridge, reading);
    ssize_t        n = q->result;
    uv_fs_req_cleanup(q);
    if (n > 0) buf_add(&b->in, b->piece, (size_t)n);
    for (char *end; b->in.len && (end = memchr(b->in.ptr, '\n', b->in.len));) {
        struct str line = str_trim(str_n(b->in.ptr, (size_t)(end - b->in.ptr)));
        if (line.len) send_line(b, line, false);
        buf_eat(&b->in, (size_t)(end - b->in.ptr) + 1);
    }
    if (n <= 0 || b->in.err) over(b); /* also a line that does not end */
    else read_more(b);
}

/* By libuv's pool: stdin may be a pipe, a terminal or a file. */
static void read_more(struct bridge *b)
{
    uv_buf_t room = uv_buf_init(b->piece, sizeof b->piece);
    uv_fs_read(&b->loop.uv, &b->reading, STDIN_FILENO, &room, 1, -1, on_read);
}

/* --- the server ------------------------------------------------------------------------------- */

static bool listens(const char *url)
{
    CURL *h = trust_curl();
    if (!h) return false;
    curl_easy_setopt(h, CURLOPT_URL, url);
    curl_easy_setopt(h, CURLOPT_CONNECT_ONLY, 1L);
    curl_easy_setopt(h, CURLOPT_CONNECTTIMEOUT_MS, 2000L);
    bool there = curl_easy_perform(h) == CURLE_OK;
    curl_easy_cleanup(h);
    return there;
}

/* Copies its first words to stderr until they name the address; what it says later goes there, too.
 */
static struct str address_of(struct bridge *b, int from)
{
    char   text[4096];
    size_t len = 0;
    for (ssize_t n;
         len < sizeof text - 1 && (n = read(from, text + len, sizeof text - 1 - len)) > 0;) {
        (void)!write(STDERR_FILENO, text + len, (size_t)n);
        len += (size_t)n;
        text[len] = '\0';
        char *at = strstr(text, "http"), *name = at ? strstr(at, "://") : NULL,
             *end = name ? strpbrk(name + 3, "/ \r\n") : NULL;
        if (end && strstr(text, "\n  data "))
            return arena_dup(&b->arena, str_n(at, (size_t)(end - at)));
    }
    return STR_NONE;
}

/* A server of our own, as a process: it must not share stdout with us. */
static struct str serve(struct bridge *b, const struct cli_line *line)
{
    int pipe_[2];
    if (pipe2(pipe_, O_CLOEXEC) < 0) return STR_NONE;
    b->server = fork();
    if (b->server == 0) {
        const char *args[8] = { "parley", "serve" };
        int         n = 2, quiet = open("/dev/null", O_RDONLY);
        if (line->flags.path) args[n++] = "--config", args[n++] = line->flags.path;
        if (line->flags.store) args[n++] = "--store", args[n++] = line->flags.store;
        if (quiet >= 0) dup2(quiet, STDIN_FILENO);
        dup2(pipe_[1], STDOUT_FILENO);
        execv("/proc/self/exe", (char **)(uintptr_t)args);
        _exit(127);
    }
    close(pipe_[1]);
    struct str at = b->server > 0 ? address_of(b, pipe_[0]) : STR_NONE;
    /* left open: it may say more, and must not be ended by that */
    return at;
}

static void end_server(struct bridge *b)
{
    if (b->server <= 0) return;
    kill(b->server, SIGTERM);
    while (waitpid(b->server, NULL, 0) < 0 && errno == EINTR)
        ;
}

static struct str base_of(struct bridge *b, const struct cli_line *line)
{
    static struct config       c;
    static struct config_error e;
    if (line->url) {
        struct str url = str_c(line->url);
        while (str_ends(url, STR("/"))) url.len--;
        if (str_ends(url, STR("/mcp"))) url.len -= 4;
        return url;
    }
    if (config_load_flags(&c, &line->flags, &e)) {
        config_error_print(&e, stderr);
        return STR_NONE;
    }
    struct str at = config_reach(&c, &b->arena);
    trust_own(&c);
    bool there = c.port && at.ptr && listens(at.ptr);
    config_done(&c);
    return there ? at : serve(b, line);
}

/* --- the command ------------------------------------------------------------------------------ */

static void stop(struct bridge *b)
{
    LIST_EACH (n, &b->calls) {
        struct errand *c = LIST_ITEM(n, struct errand, node);
        c->cancelled = true;
        if (c->job.easy) curl_cancel(&c->job);
    }
}

/* The server is told that nobody comes back; if it does not hear it, an hour tells it. */
static void end_session(struct bridge *b)
{
    struct errand c = { .b = b };
    CURL         *h = b->session.len ? trust_curl() : NULL;
    if (!h) return;
    arena_init(&c.arena, 0);
    header(&c, "Authorization", b->key);
    header(&c, "Mcp-Session-Id", b->session);
    curl_easy_setopt(h, CURLOPT_URL, b->address.ptr);
    curl_easy_setopt(h, CURLOPT_CUSTOMREQUEST, "DELETE");
    curl_easy_setopt(h, CURLOPT_HTTPHEADER, c.headers);
    curl_easy_setopt(h, CURLOPT_TIMEOUT_MS, 500L);
    (void)!curl_easy_perform(h);
    curl_easy_cleanup(h);
    curl_slist_free_all(c.headers);
    arena_done(&c.arena);
}

static int run(struct bridge *b)
{
    if (loop_init(&b->loop)) return 1;
    curl_pool_init(&b->pool, &b->loop, 1);
    list_init(&b->calls);
    list_init(&b->waiting);
    buf_init(&b->in, LINE_MAX_LEN);
    loop_timer_init(&b->loop, &b->end, on_end);
    loop_timer_init(&b->loop, &b->again, on_again);
    read_more(b);
    loop_run(&b->loop);
    stop(b);
    end_session(b);
    end_server(b);
    return 0; /* the process ends: nothing is left to be given back */
}

int cli_mcp(int argc, char **argv)
{
    static struct bridge b;
    struct cli_line      line;
    const char          *key = getenv("PARLEY_KEY");
    if (!cli_read(argc, argv, "csup", 0, &line)) return 2;
    signal(SIGPIPE, SIG_IGN);
    arena_init(&b.arena, 0);
    struct str base = base_of(&b, &line);
    if (!base.ptr) {
        fprintf(stderr, "parley: there is no server to talk to; parley serve starts one, and --url "
                        "names another.\n");
        base = STR("http://127.0.0.1:9"); /* every request is told so */
    }
    b.address = arena_printf(&b.arena, STR_FMT "/mcp%s%s", STR_ARG(base), line.page ? "?page=" : "",
                             line.page ? line.page : "");
    if (key && *key) b.key = arena_printf(&b.arena, "Bearer %s", key);
    return b.address.ptr ? run(&b) : 1;
}
