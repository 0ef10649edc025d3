/* sessionrow.c -- the rows behind the cookies: read for the guard, put when somebody signs in, kept
 * while they are used, ended when somebody signs out.
 *
 * Whoever comes with a cookie that was not read in the last two seconds (auth/sessions.h) waits for
 * its row, then their request begins anew (conn_again). Several who come with the same one wait for
 * one reading. A store that does not answer is told as such: nobody is signed out by it.
 *
 * Facts first, here too: a cookie is given once its row is there, and signing out is confirmed once
 * it is gone.
 */
#include "base/clock.h"
#include "base/log.h"
#include "door/app.h"

#define READINGS_MAX 1000 /* at once; strangers with invented cookies can cause them */

static int64_t now_s(void)
{
    return clock_wall_ms() / 1000;
}

static struct sessions *sessions_of(const struct app *a)
{
    return auth_sessions(a->auth);
}

/* --- a row that nobody waits for -------------------------------------------------------------- */

struct errand {
    struct store_session row;
    struct app          *app;
    struct arena         arena;
};

static struct errand *errand_new(struct app *a, void (*done)(struct store_session *, enum err))
{
    struct errand *k = mem_alloc(sizeof *k);

    if (!k) return NULL;
    k->app = a;
    arena_init(&k->arena, 0);
    k->row.done = done;
    return k;
}

static void errand_free(struct errand *k)
{
    arena_done(&k->arena);
    mem_free(k);
}

static struct errand *errand_of(struct store_session *x)
{
    return LIST_ITEM(x, struct errand, row);
}

static void not_written(const char *what, enum err e)
{
    log_line(LOG_WARN, "session.not_written", "what", what, "why", err_name(e), NULL);
}

static void on_kept(struct store_session *x, enum err e)
{
    struct errand *k = errand_of(x);
    uint64_t       now = clock_mono_ms();

    if (e == ERR_NOT_FOUND) (void)sessions_none(sessions_of(k->app), x->key, now, now);
    else if (e) not_written("it is used", e);
    errand_free(k);
}

static void keep(struct app *a, struct str key)
{
    struct errand     *k = errand_new(a, on_kept);
    struct session_row row;

    if (!k) return;
    if (sessions_row(sessions_of(a), key, &k->arena, &row) != OK) {
        errand_free(k);
        return;
    }
    k->row.op = SESSION_KEEP;
    k->row.key = row.key;
    k->row.body = row.body;
    k->row.ends_ms = row.ends_ms;
    hub_row(a->hub, &k->row);
}

static void on_gone(struct store_session *x, enum err e)
{
    if (e) not_written("it is over", e);
    errand_free(errand_of(x));
}

static void remove_row(struct app *a, struct str key)
{
    struct errand *k = errand_new(a, on_gone);

    if (!k) return;
    k->row.op = SESSION_END;
    k->row.key = arena_dup(&k->arena, key);
    if (k->row.key.ptr) hub_row(a->hub, &k->row);
    else errand_free(k);
}

/* --- reading ---------------------------------------------------------------------------------- */

struct reading {
    struct store_session row;
    struct app          *app;
    struct list          waiting;
    uint64_t             asked_ms;
    bool                 ended; /* here, since it was asked for */
    char                 key[SESSION_KEY_LEN + 1];
};

/* In the request's arena: it is there for as long as the connection can be held. */
struct waiter {
    struct conn_hold hold;
    struct list      node;
    struct conn     *conn;
};

enum session_is session_look(struct app *a, struct str id, struct session_seen *out)
{
    char            key[SESSION_KEY_LEN + 1];
    enum session_is is;

    if (!session_key(id, key)) return SESSION_IS_NONE;
    is = sessions_look(sessions_of(a), str_c(key), now_s(), clock_mono_ms(), out);
    if (out->write) keep(a, str_c(key));
    return is;
}

/* Does what they proved themselves with still count? */
static bool stands(struct app *a, struct arena *mem, struct principal *p)
{
    if (auth_on(a->auth)) return auth_stands(a->auth, mem, p);
    return a->token.needed && str_eq(p->proof, auth_proof(mem, "start", a->token.sha256));
}

static enum err learn(struct app *a, const struct session_row *row, uint64_t asked_ms)
{
    enum err         e;
    struct arena     mem;
    struct principal p;
    int64_t          told_s;
    uint64_t         now = clock_mono_ms();

    arena_init(&mem, 0);
    bool good = row->ends_ms > clock_wall_ms() && session_read(row->body, &mem, &p, &told_s) &&
                p.until_s > now_s() && stands(a, &mem, &p);
    if (mem.failed) e = ERR_NOMEM; /* which is no reason to sign anybody out */
    else if (good) e = sessions_learn(sessions_of(a), row, &p, told_s, asked_ms, now);
    else e = sessions_none(sessions_of(a), row->key, asked_ms, now);
    if (!good && !mem.failed) remove_row(a, row->key);
    arena_done(&mem);
    return e;
}

static void on_row(struct store_session *x, enum err e)
{
    struct reading *k = LIST_ITEM(x, struct reading, row);
    struct app     *a = k->app;
    struct list     waiting;

    map_remove(&sessions_of(a)->reading, str_c(k->key));
    if (e == ERR_NOT_FOUND || k->ended)
        e = sessions_none(sessions_of(a), str_c(k->key), k->asked_ms, clock_mono_ms());
    else if (!e)
        e = learn(a, &(struct session_row){ str_c(k->key), x->body, x->ends_ms }, k->asked_ms);
    list_init(&waiting);
    list_take(&waiting, &k->waiting);
    mem_free(k);
    while (!list_empty(&waiting)) {
        struct waiter *w = LIST_ITEM(waiting.next, struct waiter, node);
        list_remove(&w->node);
        if (e) guard_unavailable(conn_request(w->conn));
        else conn_again(w->conn);
    }
}

static struct reading *reading_of(struct app *a, const char *key)
{
    struct map     *all = &sessions_of(a)->reading;
    struct reading *k = map_get(all, str_c(key));

    if (k || all->count >= READINGS_MAX || !(k = mem_alloc(sizeof *k))) return k;
    k->app = a;
    k->asked_ms = clock_mono_ms();
    list_init(&k->waiting);
    memcpy(k->key, key, sizeof k->key);
    k->row = (struct store_session){ .op = SESSION_GET, .key = str_c(k->key), .done = on_row };
    if (map_put(all, str_c(k->key), k) != OK) {
        mem_free(k);
        return NULL;
    }
    hub_row(a->hub, &k->row);
    return k;
}

static void left(struct conn_hold *h)
{
    list_remove(&LIST_ITEM(h, struct waiter, hold)->node);
}

void session_wait(struct app *a, struct request *q, struct str id)
{
    char            key[SESSION_KEY_LEN + 1];
    struct waiter  *w = arena_new(q->arena, struct waiter);
    struct reading *k = w && session_key(id, key) ? reading_of(a, key) : NULL;

    if (!k) {
        guard_unavailable(q);
        return;
    }
    *w = (struct waiter){ .hold.cancelled = left, .conn = q->conn };
    list_add(&k->waiting, &w->node);
    conn_hold(q->conn, &w->hold);
}

/* --- signing in ------------------------------------------------------------------------------- */

struct giving {
    struct ask           ask; /* the waiting alone */
    struct store_session row;
    struct arena         arena;
    char                 id[SESSION_ID_LEN + 1];
    uint64_t             asked_ms;
    session_given        given;
    void                *ctx;
};

static void giving_end(struct giving *k, enum err e)
{
    struct conn        *c = k->ask.conn;
    struct session_seen seen;
    struct principal   *p = NULL;

    if (!e && session_look(k->ask.app, str_c(k->id), &seen) == SESSION_IS_KNOWN) p = &seen.who;
    if (c && p)
        identify_set_cookie(k->ask.app, conn_request(c), str_c(k->id),
                            sessions_of(k->ask.app)->life_s);
    k->given(k->ctx, c, p);
    arena_done(&k->arena);
    mem_free(k);
}

static void on_begun(struct store_session *x, enum err e)
{
    struct giving *k = LIST_ITEM(x, struct giving, row);

    if (!e)
        e = learn(k->ask.app, &(struct session_row){ x->key, x->body, x->ends_ms }, k->asked_ms);
    if (e) not_written("it begins", e);
    giving_end(k, e);
}

bool session_give(struct app *a, struct request *q, const struct principal *p, session_given given,
                  void *ctx)
{
    struct giving     *k = mem_alloc(sizeof *k);
    struct session_row row;

    if (!k) return false;
    ask_init(&k->ask, conn_server(q->conn), q);
    arena_init(&k->arena, 0);
    if (sessions_begin(sessions_of(a), p, clock_wall_ms(), k->id, &k->arena, &row) != OK) {
        arena_done(&k->arena);
        mem_free(k);
        return false;
    }
    k->given = given;
    k->ctx = ctx;
    k->asked_ms = clock_mono_ms();
    k->row = (struct store_session){ .op = SESSION_PUT,
                                     .key = row.key,
                                     .body = row.body,
                                     .ends_ms = row.ends_ms,
                                     .each = SESSIONS_EACH,
                                     .done = on_begun };
    conn_hold(q->conn, &k->ask.hold);
    hub_row(a->hub, &k->row);
    return true;
}

/* --- signing out ------------------------------------------------------------------------------ */

struct ending {
    struct ask    ask; /* the waiting alone */
    session_ended ended;
    unsigned      left;
    bool          failed;
    struct end_row {
        struct store_session row;
        struct ending       *of;
        char                 key[SESSION_KEY_LEN + 1];
    } rows[SESSION_COOKIES_MAX];
};

static void ending_end(struct ending *k)
{
    if (k->ask.conn) k->ended(k->ask.conn, !k->failed);
    mem_free(k);
}

static void on_ended(struct store_session *x, enum err e)
{
    struct end_row *r = LIST_ITEM(x, struct end_row, row);
    struct ending  *k = r->of;
    uint64_t        now = clock_mono_ms();

    if (e) not_written("it was ended", e);
    else {
        struct reading *late = map_get(&sessions_of(k->ask.app)->reading, str_c(r->key));
        if (late) late->ended = true; /* it may have seen the row */
        (void)sessions_none(sessions_of(k->ask.app), str_c(r->key), now, now);
    }
    k->failed |= e != OK;
    if (--k->left == 0) ending_end(k);
}

bool session_end_all(struct app *a, struct request *q, const struct str *ids, size_t count,
                     session_ended ended)
{
    struct ending *k = mem_alloc(sizeof *k);

    if (!k) return false;
    ask_init(&k->ask, conn_server(q->conn), q);
    k->ended = ended;
    if (!ended) k->ask.conn = NULL;
    k->left = 1;
    for (size_t i = 0; i < count && i < SESSION_COOKIES_MAX; i++) {
        struct end_row *r = &k->rows[i];
        if (!session_key(ids[i], r->key)) continue;
        r->of = k;
        r->row =
            (struct store_session){ .op = SESSION_END, .key = str_c(r->key), .done = on_ended };
        k->left++;
        hub_row(a->hub, &r->row);
    }
    if (--k->left == 0) ending_end(k);
    else if (ended) conn_hold(q->conn, &k->ask.hold);
    return true;
}
