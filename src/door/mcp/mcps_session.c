/* mcps_session.c -- what legacy clients open with `initialize` and name in a header since.
 *
 * A session is a few hundred bytes in memory: who opened it, what its client can do, and the
 * requests and questions of its latest calls. Its id is no credential: it is good only for the
 * principal that opened it. An hour without use ends it; so does a restart, and the client opens
 * another.
 */
#include "base/clock.h"
#include "base/id.h"
#include "door/mcp/mcps_int.h"

#define IDLE_MS     (3600 * 1000)
#define EACH_MAX    100 /* sessions of one principal */
#define ALL_MAX     10000
#define RECORDS_MAX 256 /* calls, and questions, that one session remembers */

/* --- records ---------------------------------------------------------------------------------- */

static struct str put(char **at, struct str s)
{
    if (!s.ptr) return STR_NONE;
    memcpy(*at, s.ptr, s.len);
    struct str kept = str_n(*at, s.len);
    *at += s.len;
    return kept;
}

static void remember(struct list *records, unsigned *count, const struct mcps_record *r)
{
    struct mcps_record *x =
        mem_alloc(sizeof *x + r->id.len + r->token.len + r->owner.len + r->thread.len);
    if (!x) return;
    char *at = (char *)(x + 1);
    x->id = put(&at, r->id);
    x->token = put(&at, r->token);
    x->owner = put(&at, r->owner);
    x->thread = put(&at, r->thread);
    x->ask = r->ask;
    x->tools = r->tools;
    list_add(records, &x->node);
    if (++*count <= RECORDS_MAX) return;
    struct mcps_record *first = LIST_ITEM(records->next, struct mcps_record, node);
    list_remove(&first->node);
    mem_free(first);
    --*count;
}

void mcps_remember_call(struct mcps_session *s, const struct mcps_record *r)
{
    remember(&s->calls, &s->call_count, r);
}

void mcps_remember_question(struct mcps_session *s, const struct mcps_record *r)
{
    remember(&s->questions, &s->question_count, r);
}

/* The newest that has this id, or (id absent) is of this thread. */
struct mcps_record *mcps_recall(struct list *records, struct str id, struct str thread)
{
    for (struct list *n = records->prev; n != records; n = n->prev) {
        struct mcps_record *r = LIST_ITEM(n, struct mcps_record, node);
        if (id.ptr ? str_eq(r->id, id) : str_eq(r->thread, thread)) return r;
    }
    return NULL;
}

static void forget_all(struct list *records)
{
    LIST_EACH (n, records) mem_free(LIST_ITEM(n, struct mcps_record, node));
    list_init(records);
}

/* --- sessions --------------------------------------------------------------------------------- */

void mcps_session_end(struct mcps *m, struct mcps_session *s)
{
    map_remove(&m->sessions, s->id);
    list_remove(&s->node);
    forget_all(&s->calls);
    forget_all(&s->questions);
    arena_done(&s->arena);
    mem_free(s);
}

static bool is_over(const struct mcps_session *s)
{
    return clock_mono_ms() - s->used_ms > IDLE_MS;
}

/* The list is in the order of use: what is over stands first. */
static void make_room(struct mcps *m, struct str owner)
{
    unsigned             all = 0, his = 0;
    struct mcps_session *oldest = NULL;
    LIST_EACH (n, &m->oldest) {
        struct mcps_session *s = LIST_ITEM(n, struct mcps_session, node);
        if (is_over(s)) {
            mcps_session_end(m, s);
            continue;
        }
        all++;
        if (!str_eq(s->owner, owner)) continue;
        his++;
        if (!oldest) oldest = s;
    }
    if (his >= EACH_MAX) mcps_session_end(m, oldest);
    else if (all >= ALL_MAX)
        mcps_session_end(m, LIST_ITEM(m->oldest.next, struct mcps_session, node));
}

struct mcps_session *mcps_session_new(struct mcps *m, struct str owner, const struct jv *params,
                                      struct str version)
{
    make_room(m, owner);
    struct mcps_session *s = mem_alloc(sizeof *s);
    if (!s) return NULL;
    arena_init(&s->arena, 0);
    list_init(&s->calls);
    list_init(&s->questions);
    s->id = id_new(&s->arena, "");
    s->owner = arena_dup(&s->arena, owner);
    s->version = arena_dup(&s->arena, version);
    s->client = mcprpc_client(&s->arena, jv_get(params, "clientInfo"));
    s->can = mcprpc_abilities(jv_get(params, "capabilities"));
    s->can.tasks = false; /* those of this era were another thing */
    if (str_is(version, MCP_OLDEST_LEGACY)) s->can.url = false;
    s->used_ms = clock_mono_ms();
    if (s->arena.failed || map_put(&m->sessions, s->id, s) != OK) {
        arena_done(&s->arena);
        mem_free(s);
        return NULL;
    }
    list_add(&m->oldest, &s->node);
    return s;
}

struct mcps_session *mcps_session_find(struct mcps *m, struct str id, struct str owner)
{
    struct mcps_session *s = id.len ? map_get(&m->sessions, id) : NULL;
    if (!s || !str_eq(s->owner, owner)) return NULL;
    if (!is_over(s)) return s;
    mcps_session_end(m, s);
    return NULL;
}

struct mcps_session *mcps_session_of(struct mcps *m, struct request *q, struct str id)
{
    struct str name = request_header(q, "mcp-session-id"),
               version = request_header(q, "mcp-protocol-version");
    struct mcps_session *s = mcps_session_find(m, name, owner_of(q));
    struct mcprpc_fault  why = { 400, RPC_INVALID, NULL, STR_NONE };
    if (!name.len) why.message = "The header Mcp-Session-Id is missing; send initialize first.";
    else if (!s) {
        why.status = 404;
        why.message = "There is no such session; send initialize again.";
    } else if (version.ptr && !str_eq(version, s->version))
        why.message = "MCP-Protocol-Version is not the one that was agreed on.";
    if (why.message) {
        mcps_fault(q->conn, id, &why);
        return NULL;
    }
    s->used_ms = clock_mono_ms();
    list_remove(&s->node);
    list_add(&m->oldest, &s->node);
    return s;
}
