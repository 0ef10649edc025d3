/* mcps_call.c -- tools/call: is it the same request as one before? Else it begins.
 *
 *     requestState ──────────────> that call, if it is the principal's, of this tool and arguments
 *     parley/request ────────────> the call that has this name already
 *     same tool and arguments ───> the newest such call, if it is asked, running, not handed out,
 *                                  unknown, or denied a moment ago
 *     else ──────────────────────> CMD_CALL: a new thread
 *
 * What is asked about has a thread whose name follows from its tool and arguments and from the call
 * before it: two that come at the same moment want the same log, and its first append decides.
 *
 * What nobody is asked about is not looked for beforehand: the append that begins it is refused
 * where an earlier one is open (thread_match), and only then is that one looked at. Calls with a
 * certain outcome leave nothing behind to be found.
 */
#include <openssl/evp.h>

#include "base/clock.h"
#include "base/id.h"
#include "base/jsame.h"
#include "base/log.h"
#include "door/mcp/mcps_int.h"
#include "tool/policy.h"

#define DENIED_MS    (10 * 60 * 1000) /* a no counts so long for the same again */
#define REQUEST_MAX  128
#define PENDING_LOOK 500 /* open questions of one principal that are looked at */
#define CALL_ID      "mcp_"

static void look_for_same(struct mcps_wait *w);
static void begin(struct mcps_wait *w);

/* --- names ------------------------------------------------------------------------------------ */

/* 22 letters that follow from these texts. */
static struct str name_of(struct arena *a, const char *prefix, struct str one, struct str two)
{
    static const char LETTERS[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    unsigned char hash[32];
    char          text[ID_LEN];
    EVP_MD_CTX   *x = EVP_MD_CTX_new();
    bool          ok = x && EVP_DigestInit_ex(x, EVP_sha256(), NULL) == 1 &&
              EVP_DigestUpdate(x, one.ptr ? one.ptr : "", one.len) == 1 &&
              EVP_DigestUpdate(x, "\n", 1) == 1 &&
              EVP_DigestUpdate(x, two.ptr ? two.ptr : "", two.len) == 1 &&
              EVP_DigestFinal_ex(x, hash, NULL) == 1;
    EVP_MD_CTX_free(x);
    if (!ok) {
        a->failed = true;
        return STR_NONE;
    }
    for (size_t i = 0; i < ID_LEN; i++) text[i] = LETTERS[hash[i] & 63];
    return arena_printf(a, "%s%.*s", prefix, ID_LEN, text);
}

static struct str match_of(struct mcps_wait *w)
{
    struct buf   b;
    struct jsonw j;
    buf_init(&b, 0);
    jsonw_init(&j, &b);
    jw_same(&j, w->args);
    if (b.err) w->arena.failed = true;
    struct str s = name_of(&w->arena, "mcp/", w->tool, buf_view(&b));
    buf_done(&b);
    return s;
}

/* --- what comes back -------------------------------------------------------------------------- */

/* The step that `w` waited for is here. True: nobody is interested any more. A legacy client that
 * is gone may come back for its result; a modern one has taken its request back. */
static bool is_moot(struct mcps_wait *w)
{
    w->under_way--;
    if (!w->arena.failed && (!w->left || !w->modern)) return false;
    if (w->arena.failed && !w->left) {
        mcps_wait_unavailable(w, &(struct receipt){ .status = 503,
                                                    .code = "out_of_memory",
                                                    .message = "The server is out of memory; try "
                                                               "again in a moment." });
        return true;
    }
    mcps_wait_free(w);
    return true;
}

static void dispatch(struct mcps_wait *w, struct command *c,
                     void (*done)(struct command *, const struct receipt *))
{
    w->under_way++;
    if (!c || w->arena.failed) {
        command_free(c);
        w->arena.failed = true;
        (void)is_moot(w);
        return;
    }
    c->ctx = w;
    c->done = done;
    hub_submit(w->door->app->hub, c);
}

static void follow(struct mcps_wait *w, struct str thread,
                   void (*done)(struct command *, const struct receipt *))
{
    dispatch(w, mcps_command(w->door, CMD_FOLLOW, w->owner, thread), done);
}

static void look_up(struct mcps_wait *w, struct store_list list)
{
    w->under_way++;
    w->list = list;
    w->list.owner = w->owner;
    hub_list(w->door->app->hub, &w->list);
}

/* --- a call that is named --------------------------------------------------------------------- */

static const struct call *call_of(const struct receipt *a)
{
    return a->status < 400 && a->thread ? fold_program_call(thread_fold(a->thread)) : NULL;
}

static bool is_this(const struct mcps_wait *w, const struct call *c)
{
    return str_eq(c->tool, w->tool) && jv_same(c->args, w->args);
}

static void on_named(struct command *c, const struct receipt *a)
{
    struct mcps_wait  *w = c->ctx;
    const struct call *call = call_of(a);
    if (is_moot(w)) {
        command_free(c);
        return;
    }
    if (a->status >= 500) mcps_wait_unavailable(w, a);
    else if (!call || !is_this(w, call))
        mcps_wait_error(w, RPC_PARAMS,
                        w->state.ptr ? "requestState is not of a call of this tool with these "
                                       "arguments."
                                     : "parley/request was used for another call.");
    else {
        w->thread = arena_dup(&w->arena, thread_id(a->thread));
        if (w->state.ptr) {
            w->put_approval = true; /* one is asked once in one call */
            mcps_take_inputs(w, thread_fold(a->thread));
        }
        mcps_attach(w, a->thread);
    }
    command_free(c);
}

/* The store could not be asked. */
static bool has_failed(struct mcps_wait *w, enum err e)
{
    if (!e) return false;
    mcps_wait_unavailable(w, &(struct receipt){ .status = 503,
                                                .code = "store_unavailable",
                                                .message = "The store cannot be read at the "
                                                           "moment. Try again in a moment." });
    return true;
}

static void on_request(struct store_list *l, enum err e, const struct store_row *rows, size_t count,
                       struct str next)
{
    struct mcps_wait *w = LIST_ITEM(l, struct mcps_wait, list);
    (void)next;
    if (is_moot(w) || has_failed(w, e)) return;
    if (count) follow(w, arena_dup(&w->arena, rows[0].thread), on_named);
    else look_for_same(w);
}

/* --- the same as before ----------------------------------------------------------------------- */

static bool was_denied(const struct call *c)
{
    return c->decided && c->decided->outcome == WORD_DENIED &&
           clock_wall_ms() - c->decided->at_ms < DENIED_MS;
}

/* Is the new request this earlier call? */
static bool is_same_still(const struct call *c)
{
    if (!c->finished) return c->asked != NULL; /* waits or runs */
    return mcp_is_unknown(c) || was_denied(c) || mcp_is_unclaimed(c);
}

static void on_joined(struct command *c, const struct receipt *a)
{
    struct mcps_wait *w = c->ctx;
    if (is_moot(w)) {
        command_free(c);
        return;
    }
    if (a->status >= 400) mcps_wait_unavailable(w, a);
    else if (!a->thread) follow(w, a->id, on_named); /* another log has its name by now */
    else mcps_attach(w, a->thread);
    command_free(c);
}

/* It is there already. A request that has a name is for it from now on, whatever becomes of it. */
static void join(struct mcps_wait *w, struct thread *at)
{
    w->thread = arena_dup(&w->arena, thread_id(at));
    if (!w->request_id.ptr) {
        mcps_attach(w, at);
        return;
    }
    struct command *c = mcps_command(w->door, CMD_NAMED, w->owner, w->thread);
    if (c) c->request_id = arena_dup(&c->arena, w->request_id);
    dispatch(w, c, on_joined);
}

static void on_earlier(struct command *c, const struct receipt *a)
{
    struct mcps_wait  *w = c->ctx;
    const struct call *call = call_of(a);
    if (is_moot(w)) {
        command_free(c);
        return;
    }
    if (a->status >= 500) mcps_wait_unavailable(w, a);
    else if (call && is_this(w, call) && is_same_still(call)) join(w, a->thread);
    else {
        w->looked = true;
        begin(w);
    }
    command_free(c);
}

static void on_match(struct store_list *l, enum err e, const struct store_row *rows, size_t count,
                     struct str next)
{
    struct mcps_wait *w = LIST_ITEM(l, struct mcps_wait, list);
    (void)next;
    if (is_moot(w) || has_failed(w, e)) return;
    w->thread = name_of(&w->arena, CALL_ID, w->match, count ? rows[0].thread : STR(""));
    if (count) follow(w, arena_dup(&w->arena, rows[0].thread), on_earlier);
    else begin(w);
}

/* What runs freely and may run again is always a new call: nobody looks for it. */
static void look_for_same(struct mcps_wait *w)
{
    const struct tool *tool = registry_find(w->door->app->registry, w->tool);
    if (w->asks || !tool || !tool->idempotent) w->match = match_of(w);
    if (!w->asks) begin(w);
    else
        look_up(w, (struct store_list){
                       .kind = STORE_KEYS, .id = w->match, .limit = 1, .done = on_match });
}

/* --- a new call ------------------------------------------------------------------------------- */

static struct str group_of(struct mcps_wait *w)
{
    char day[CLOCK_RFC3339_LEN + 1];
    clock_rfc3339(clock_wall_ms(), day);
    return arena_printf(&w->arena, STR_FMT " %.10s",
                        STR_ARG(w->client.len ? w->client : STR("MCP client")), day);
}

static void on_called(struct command *c, const struct receipt *a)
{
    struct mcps_wait *w = c->ctx;
    struct mcps      *m = w->door;
    if (is_moot(w)) { /* taken back while it was being saved */
        if (a->thread) mcps_withdraw(m, c->log.owner, c->log.thread, STR_NONE);
        command_free(c);
        return;
    }
    if (a->duplicate && a->thread && !is_this(w, call_of(a)))
        mcps_wait_error(w, RPC_INTERNAL, "Another call was faster; try again.");
    else if (a->status == 422) mcps_wait_refuse(w, str_c(a->message));
    else if (a->status >= 400) mcps_wait_unavailable(w, a);
    else if (!a->thread) /* another log has its name, or is open with the same call */
        follow(w, a->id, a->run.ptr ? on_named : on_earlier);
    else if (a->duplicate) join(w, a->thread);
    else {
        w->thread = arena_dup(&w->arena, thread_id(a->thread));
        mcps_attach(w, a->thread);
    }
    command_free(c);
}

static void submit(struct mcps_wait *w)
{
    struct command *c = mcps_command(w->door, CMD_CALL, w->owner, w->thread);
    if (c) {
        c->create = true;
        c->page = arena_dup(&c->arena, w->page);
        c->roles = arena_dup(&c->arena, w->roles);
        c->claims = arena_dup(&c->arena, w->claims);
        c->request_id = arena_dup(&c->arena, w->request_id);
        c->call.tool = arena_dup(&c->arena, w->tool);
        c->call.args = arena_dup(&c->arena, w->args_text);
        c->call.client = arena_dup(&c->arena, w->client);
        if (w->session.len)
            c->call.about = arena_printf(&c->arena, "{\"session\":\"" STR_FMT "\"}",
                                         STR_ARG(str_cut(w->session, 8)));
        c->call.group = arena_dup(&c->arena, group_of(w));
        c->call.match = arena_dup(&c->arena, w->match);
        c->call.alone = !w->asks && !w->looked;
        c->call.asked_as = arena_dup(&c->arena, w->asked_as);
    }
    dispatch(w, c, on_called);
}

static void on_pending(struct store_list *l, enum err e, const struct store_row *rows, size_t count,
                       struct str next)
{
    struct mcps_wait *w = LIST_ITEM(l, struct mcps_wait, list);
    unsigned          ours = 0;
    (void)next;
    if (is_moot(w) || has_failed(w, e)) return;
    for (size_t i = 0; i < count; i++) ours += str_starts(rows[i].thread, STR(CALL_ID));
    if (ours >= w->door->setup.pending_max)
        mcps_wait_refuse(w, STR("Too many questions are waiting."));
    else submit(w);
}

static void begin(struct mcps_wait *w)
{
    if (!w->asks) w->thread = id_new(&w->arena, CALL_ID);
    if (!w->asks) submit(w);
    else
        look_up(w, (struct store_list){ .kind = STORE_APPROVALS,
                                        .status = STR("pending"),
                                        .limit = PENDING_LOOK,
                                        .done = on_pending });
}

/* --- the request ------------------------------------------------------------------------------ */

/* False: answered. */
static bool read_meta(struct mcps_wait *w, struct request *q, const struct mcprpc *rpc)
{
    const struct jv *token = jv_get(rpc->meta, "progressToken"),
                    *name = jv_get(rpc->meta, "parley/request"),
                    *state = jv_get(rpc->params, "requestState"),
                    *inputs = jv_get(rpc->params, "inputResponses");
    if (token) w->token = arena_dup(&w->arena, token->raw);
    if (name && (!name->str.len || name->str.len > REQUEST_MAX)) {
        mcps_error(q->conn, rpc->id, RPC_PARAMS, "parley/request must be text of 1 to 128 bytes.");
        return false;
    }
    if (name) w->request_id = arena_dup(&w->arena, name->str);
    if (!rpc->modern) return true;
    if (state) w->state = arena_dup(&w->arena, jv_str(state).ptr ? jv_str(state) : STR(""));
    struct jv *copy = NULL;
    if (inputs && json_parse(&w->arena, arena_dup(&w->arena, inputs->raw), &copy, NULL) == OK)
        w->inputs = copy;
    return true;
}

static const struct tool *tool_of(struct mcps *m, struct request *q, const struct mcprpc *rpc,
                                  const struct hub_page *page)
{
    struct str         name = jv_str_at(rpc->params, "name");
    const struct tool *t = name.len ? registry_find_wire(m->app->registry, name) : NULL;
    if (t && mcps_offers(m, q, page, t)) return t;
    struct str why = arena_printf(q->arena, "Unknown tool: " STR_FMT, STR_ARG(str_cut(name, 200)));
    mcps_error(q->conn, rpc->id, RPC_PARAMS, why.ptr ? why.ptr : "Unknown tool");
    return NULL;
}

static bool read_arguments(struct mcps_wait *w, struct request *q, const struct mcprpc *rpc)
{
    const struct jv *args = jv_get(rpc->params, "arguments");
    struct jv       *copy = NULL;
    if (args && !jv_is(args, JSON_OBJECT)) {
        mcps_error(q->conn, rpc->id, RPC_PARAMS, "\"arguments\" must be an object.");
        return false;
    }
    w->args_text = arena_dup(&w->arena, args ? args->raw : STR("{}"));
    if (!w->args_text.ptr || json_parse(&w->arena, w->args_text, &copy, NULL) != OK)
        w->arena.failed = true;
    w->args = copy;
    return true;
}

void mcps_call(struct mcps *m, struct request *q, const struct mcprpc *rpc,
               const struct mcps_session *s, const struct hub_page *page)
{
    if (mcps_own_call(m, q, rpc, s)) return;
    const struct tool *tool = tool_of(m, q, rpc, page);
    struct mcps_wait  *w = tool ? mcps_wait_new(m, q, rpc, s) : NULL;
    if (!w) return;
    w->tool = arena_dup(&w->arena, tool->name);
    w->page = arena_dup(&w->arena, page->name);
    if (!read_arguments(w, q, rpc) || !read_meta(w, q, rpc)) {
        mcps_wait_free(w);
        return;
    }
    conn_hold(q->conn, &w->hold);
    w->asks = w->args && policy_asks(tool, w->args, NULL);
    if (w->state.ptr) follow(w, id_valid(w->state, 128) ? w->state : STR("-"), on_named);
    else if (w->request_id.ptr)
        look_up(w,
                (struct store_list){
                    .kind = STORE_REQUEST, .id = w->request_id, .limit = 1, .done = on_request });
    else if (w->arena.failed) {
        w->under_way++;
        (void)is_moot(w);
    } else look_for_same(w);
}

/* --- a stream that broke ---------------------------------------------------------------------- */

static void on_resumed(struct command *c, const struct receipt *a)
{
    struct mcps_wait *w = c->ctx;
    if (is_moot(w)) {
        command_free(c);
        return;
    }
    if (a->status >= 500) mcps_wait_unavailable(w, a);
    else if (!call_of(a)) mcps_wait_error(w, RPC_INVALID, "There is no such event.");
    else mcps_attach(w, a->thread);
    command_free(c);
}

static bool is_json_text(struct arena *a, struct str s)
{
    struct jv *v;
    return s.len && json_parse(a, arena_dup(a, s), &v, NULL) == OK;
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* NONE: it is not hexadecimal. */
static struct str read_hex(struct arena *a, struct str s)
{
    struct str out = { arena_alloc(a, s.len / 2 + 1), s.len / 2 };
    char      *to = (char *)(uintptr_t)out.ptr;
    if (!to || s.len % 2) return STR_NONE;
    for (size_t i = 0; i < out.len; i++) {
        int high = hex_digit(s.ptr[2 * i]), low = hex_digit(s.ptr[2 * i + 1]);
        if (high < 0 || low < 0) return STR_NONE;
        to[i] = (char)(high << 4 | low);
    }
    return out;
}

/* "<call>.<n>.<session>.<request>[.<token>]", as mcps_wait.c writes it. */
static bool read_place(struct mcps_wait *w, struct str place)
{
    struct str part = STR_NONE, id = STR_NONE;
    uint64_t   n = 0;
    if (!str_split(&place, '.', &part) || !id_valid(part, 128)) return false;
    w->thread = arena_dup(&w->arena, part);
    if (!str_split(&place, '.', &part) || !str_to_u64(part, &n) || n >= 1000000) return false;
    w->events = (unsigned)n + 1;
    if (!str_split(&place, '.', &part) || !str_eq(part, w->tag)) return false;
    if (!str_split(&place, '.', &part)) return false;
    id = read_hex(&w->arena, part);
    if (str_split(&place, '.', &part)) w->token = read_hex(&w->arena, part);
    w->id = id;
    return is_json_text(&w->arena, id) && (!w->token.ptr || is_json_text(&w->arena, w->token));
}

void mcps_resume(struct mcps *m, struct request *q, const struct mcps_session *s,
                 struct str last_id)
{
    struct mcprpc     rpc = { .kind = RPC_REQUEST };
    struct mcps_wait *w = mcps_wait_new(m, q, &rpc, s);
    if (!w) return;
    if (!read_place(w, last_id)) {
        conn_error(q->conn, 404, "unknown_event", "There is no such event in this session.");
        mcps_wait_free(w);
        return;
    }
    w->asked_as = mcps_request_name(&w->arena, s->id, w->id);
    w->sse = true;
    conn_hold(q->conn, &w->hold);
    follow(w, w->thread, on_resumed);
}
