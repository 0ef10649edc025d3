/* threadlist.c -- the list of conversations over REST.
 *
 *     list ─▶ all known here? ─▶ answered
 *               └─ no: what waits for an answer ─▶ one look at each that seems to run ─▶ answered
 *
 * The store is told that a conversation runs while a tool at work waits for an answer
 * (fold_kept_state), because its work ends with the process. Whoever has the conversation in memory
 * knows better; of one that another node works on the log is read, if a question of it is open.
 */
#include "base/clock.h"
#include "door/app.h"

#define LIST_DEFAULT 50
#define LIST_MAX     200
#define ASKS_MAX     500 /* open questions that are looked at */

bool rest_limit(struct request *q, uint64_t *limit)
{
    struct str text = request_query(q, "limit");
    if (!text.ptr || (str_to_u64(text, limit) && *limit >= 1 && *limit <= LIST_MAX)) return true;
    conn_error(q->conn, 422, "bad_field", "\"limit\" must be a number from 1 to 200.");
    return false;
}

static void write_time(struct jsonw *w, const char *key, int64_t ms)
{
    char text[CLOCK_RFC3339_LEN + 1];
    clock_rfc3339(ms, text);
    jw_kstrz(w, key, text);
}

/* --- what is told ----------------------------------------------------------------------------- */

static const struct thread *in_memory(const struct hub *h, const struct store_row *row)
{
    const struct thread *t = hub_find(h, (struct log_name){ row->owner, row->thread });
    return t && !thread_away(t) ? t : NULL;
}

static struct str state_of(const struct hub *h, const struct store_row *row)
{
    const struct thread *t = str_is(row->state, "running") ? in_memory(h, row) : NULL;
    return t && strcmp(thread_state(t), "waiting") == 0 ? STR("waiting") : row->state;
}

static void write_thread(struct jsonw *w, const struct listing *k, const struct store_row *row)
{
    jw_obj(w);
    jw_kstr(w, "id", row->thread);
    jw_kstr(w, "title", row->title);
    if (k->list.everybody) jw_kstr(w, "owner", row->owner);
    write_time(w, "created_at", row->created_ms);
    write_time(w, "updated_at", row->updated_ms);
    jw_kstr(w, "state", state_of(k->ask.app->hub, row));
    if (row->source.ptr) {
        jw_kstr(w, "source", row->source);
        jw_key(w, "group");
        jw_str_or_null(w, row->group);
    }
    if (k->list.said) { /* what was found in it */
        jw_key(w, "line");
        jw_str_or_null(w, row->line);
    }
    jw_end_obj(w);
}

static void tell(struct listing *k, const struct store_row *rows, size_t count, struct str next)
{
    struct buf   b;
    struct jsonw w;
    json_reply_begin(&b, &w);
    jw_key(&w, "threads");
    jw_arr(&w);
    for (size_t i = 0; i < count; i++) write_thread(&w, k, &rows[i]);
    jw_end_arr(&w);
    jw_key(&w, "next");
    jw_str_or_null(&w, next.len ? next : STR_NONE);
    json_reply_end(k->ask.conn, 200, &b, &w);
}

/* --- those that another node works on --------------------------------------------------------- */

struct outlook {
    struct listing   *listing;
    struct store_row *rows; /* copies, in the listing's memory */
    size_t            count, at;
    struct str        next;
    struct store_list asks;
    bool              asked[LIST_MAX]; /* by row: it has an open question */
};

static bool is_elsewhere(const struct hub *h, const struct store_row *row)
{
    return str_is(row->state, "running") && !in_memory(h, row);
}

static bool any_elsewhere(const struct hub *h, const struct store_row *rows, size_t count)
{
    if (!hub_shared(h)) return false;
    for (size_t i = 0; i < count; i++)
        if (is_elsewhere(h, &rows[i])) return true;
    return false;
}

static void end_look(struct outlook *o)
{
    struct listing *k = o->listing;
    if (k->ask.conn) tell(k, o->rows, o->count, o->next);
    listing_free(k);
    mem_free(o);
}

static void look_on(struct outlook *o);

static void on_look(struct command *c, const struct receipt *a)
{
    struct outlook *o = c->ctx;
    if (a->status < 400 && a->thread) o->rows[o->at].state = str_c(thread_state(a->thread));
    command_free(c);
    o->at++;
    look_on(o);
}

/* One after the other: there are hardly ever two of them. */
static void look_on(struct outlook *o)
{
    struct hub *h = o->listing->ask.app->hub;
    while (o->at < o->count && !(o->asked[o->at] && is_elsewhere(h, &o->rows[o->at]))) o->at++;
    struct command *c = o->at < o->count && o->listing->ask.conn ? command_new(CMD_FOLLOW) : NULL;
    if (!c) {
        end_look(o);
        return;
    }
    c->log.owner = arena_dup(&c->arena, o->rows[o->at].owner);
    c->log.thread = arena_dup(&c->arena, o->rows[o->at].thread);
    c->follow.peek = true;
    c->ctx = o;
    c->done = on_look;
    hub_submit(h, c);
}

static void on_asks(struct store_list *l, enum err e, const struct store_row *rows, size_t count,
                    struct str next)
{
    struct outlook *o = LIST_ITEM(l, struct outlook, asks);
    (void)next;
    for (size_t i = 0; !e && i < count; i++)
        for (size_t k = 0; k < o->count; k++)
            o->asked[k] |= str_eq(rows[i].thread, o->rows[k].thread) &&
                           str_eq(rows[i].owner, o->rows[k].owner);
    look_on(o);
}

static struct store_row copy(struct arena *a, const struct store_row *row)
{
    return (struct store_row){ .owner = arena_dup(a, row->owner),
                               .thread = arena_dup(a, row->thread),
                               .title = arena_dup(a, row->title),
                               .state = arena_dup(a, row->state),
                               .source = arena_dup(a, row->source),
                               .group = arena_dup(a, row->group),
                               .line = arena_dup(a, row->line),
                               .created_ms = row->created_ms,
                               .updated_ms = row->updated_ms };
}

/* False: without memory they are told as the store has them. */
static bool begin_look(struct listing *k, const struct store_row *rows, size_t count,
                       struct str next)
{
    struct outlook *o = count <= LIST_MAX ? mem_alloc(sizeof *o) : NULL;
    if (!o) return false;
    o->listing = k;
    o->rows = arena_array(&k->arena, count, sizeof *o->rows);
    for (size_t i = 0; o->rows && i < count; i++) o->rows[i] = copy(&k->arena, &rows[i]);
    o->count = count;
    o->next = arena_dup(&k->arena, next);
    if (k->arena.failed) {
        mem_free(o);
        return false;
    }
    o->asks = (struct store_list){ .kind = STORE_APPROVALS,
                                   .owner = k->list.owner,
                                   .everybody = k->list.everybody,
                                   .status = STR("pending"),
                                   .limit = ASKS_MAX,
                                   .done = on_asks };
    hub_list(k->ask.app->hub, &o->asks);
    return true;
}

/* --- the request ------------------------------------------------------------------------------ */

static void on_threads(struct store_list *l, enum err e, const struct store_row *rows, size_t count,
                       struct str next)
{
    struct listing *k = LIST_ITEM(l, struct listing, list);
    if (k->ask.conn && !listing_failed(k, e)) {
        if (any_elsewhere(k->ask.app->hub, rows, count) && begin_look(k, rows, count, next)) return;
        tell(k, rows, count, next);
    }
    listing_free(k);
}

void rest_threads(struct server *s, struct request *q)
{
    uint64_t   limit = LIST_DEFAULT;
    struct str before = request_query(q, "before"), search = request_query(q, "search");
    bool       all = str_is(request_query(q, "all"), "true");
    if (!(q->principal->roles & (all ? ROLE_ADMIN : ROLE_USER))) {
        conn_error(q->conn, 403, "forbidden",
                   all ? "Only an administrator sees everybody's conversations."
                       : "You have no conversations; ?all=true lists everybody's.");
        return;
    }
    bool said = str_is(request_query(q, "in"), "all") && str_trim(search).len;
    if (said && all) {
        conn_error(q->conn, 403, "forbidden",
                   "What others said is not searched: leave out \"in=all\" or \"all=true\".");
        return;
    }
    if (!rest_limit(q, &limit)) return;
    struct listing *k = listing_new(s, q, STORE_THREADS);
    if (!k) return;
    k->list.said = said;
    k->list.limit = (unsigned)limit;
    k->list.before = arena_dup(&k->arena, before);
    k->list.search = arena_dup(&k->arena, search);
    k->list.source = arena_dup(&k->arena, request_query(q, "source"));
    k->list.everybody = all;
    k->list.done = on_threads;
    listing_send(k);
}
