/* store.c -- store.h's calls: they make a request ready and hand it to the store that was
 * opened. */
#include "base/address.h"
#include "base/clock.h"
#include "store/store_ops.h"

void store_init(struct store *s, const struct store_ops *ops, struct loop *l)
{
    s->ops = ops;
    s->loop = l;
    memcpy(s->node, "n_", 2);
    id_letters(s->node + 2, ID_LEN);
}

const char *store_address_fault(const char *url)
{
    return address_is_database(str_c(url)) ? pg_address_fault(url) : NULL;
}

enum err store_open(struct loop *l, struct str url, const struct store_place *place,
                    struct arena *a, struct store **out, struct str *why)
{
    *why = STR("not enough memory to open the store");
    return address_is_database(url) ? pg_open(l, url, place, a, out, why)
                                    : sqlite_open(l, url, a, out, why);
}

enum err store_restore(struct str url, struct str from, bool anyway, struct arena *a,
                       struct store_restored *out, struct str *why)
{
    if (!address_is_database(url)) return sqlite_restore(url, from, anyway, a, out, why);
    *why = STR("parley restore puts a file in the place of a file, and this store is a PostgreSQL "
               "database; restore it with pg_restore or psql, while no node runs");
    return ERR_UNSUPPORTED;
}

enum err store_backup(struct str url, struct str to, bool anyway, const struct store_watch *watch,
                      struct arena *a, struct store_backed_up *out, struct str *why)
{
    if (!address_is_database(url)) return sqlite_backup(url, to, anyway, watch, a, out, why);
    *why = STR("parley backup copies a file, and this store is a PostgreSQL database; back it up "
               "with pg_dump, or by archiving its log");
    return ERR_UNSUPPORTED;
}

enum err store_nodes_of(struct str url, struct arena *a, struct store_row **rows, size_t *count,
                        struct str *why)
{
    *why = STR("not enough memory to list the nodes");
    if (address_is_database(url)) return pg_nodes_of(url, a, rows, count, why);
    *why = STR("this store is a file, which one process works with; nodes share a PostgreSQL "
               "database (docs/cluster.md)");
    return ERR_UNSUPPORTED;
}

/* --- requests --------------------------------------------------------------------- */

static void ask_since(struct store *s, struct store_job *job, enum job_kind kind, uint64_t since_ns)
{
    uint64_t now = clock_mono_ns();
    *job =
        (struct store_job){ .kind = kind, .queued_ns = now, .since_ns = since_ns ? since_ns : now };
    s->ops->ask(s, job);
}

static void ask(struct store *s, struct store_job *job, enum job_kind kind)
{
    ask_since(s, job, kind, 0);
}

void store_append(struct store *s, struct store_append *a)
{
    must(a->fact_count >= 1);
    a->new_seq = 0;
    a->found_thread = a->found_run = STR_NONE;
    a->taken_at = 0;
    a->taken = (struct store_stock){ 0 };
    arena_init(&a->arena, 0);
    ask_since(s, &a->job, JOB_APPEND, a->since_ns);
}

void store_edit(struct store *s, struct store_edit *x)
{
    ask_since(s, &x->job, JOB_EDIT, x->since_ns);
}

void store_read(struct store *s, struct store_read *r)
{
    arena_init(&r->arena, 0);
    r->seq = 0;
    r->title = r->state = STR_NONE;
    r->created_ms = r->updated_ms = 0;
    r->facts = NULL;
    r->count = 0;
    ask(s, &r->job, JOB_READ);
}

void store_list(struct store *s, struct store_list *l)
{
    arena_init(&l->arena, 0);
    l->rows = NULL;
    l->count = l->room = 0;
    l->searched = l->whole = false;
    l->last_seq = l->last_log = l->last_num = 0;
    l->next = STR_NONE;
    ask_since(s, &l->job, JOB_LIST, l->since_ns);
}

void store_claim(struct store *s, struct store_claim *c)
{
    c->hold = (struct store_hold){ 0 };
    c->node = c->url = STR_NONE;
    c->alive = false;
    ask_since(s, &c->job, JOB_CLAIM, c->since_ns);
}

void store_release_all(struct store *s, struct store_release_all *r)
{
    ask(s, &r->job, JOB_RELEASE_ALL);
}

void store_session(struct store *s, struct store_session *x)
{
    arena_init(&x->arena, 0);
    ask(s, &x->job, JOB_SESSION);
}

struct str store_session_family(const struct store_session *x)
{
    size_t len = x->key.len;
    while (len && x->key.ptr[len - 1] != '/') len--;
    return x->each && len ? str_cut(x->key, len - 1) : STR("");
}

void store_checkpoint(struct store *s, struct store_checkpoint *c)
{
    ask(s, &c->job, JOB_CHECKPOINT);
}

void store_erase(struct store *s, struct store_erase *x)
{
    ask(s, &x->job, JOB_ERASE);
}

/* --- answers ---------------------------------------------------------------------- */

static void tell_append(struct store *s, struct store_append *a, enum err e)
{
    struct arena arena = a->arena; /* `done` may free a */
    if (e == OK && s->seen) s->seen(s->seen_ctx, clock_mono_ns() - a->job.queued_ns);
    a->done(a, e);
    arena_done(&arena);
}

static void tell_read(struct store_read *r, enum err e)
{
    struct arena arena = r->arena; /* `done` may free r */
    r->done(r, e, r->facts, r->count);
    arena_done(&arena);
}

static void tell_list(struct store_list *l, enum err e)
{
    struct arena arena = l->arena;
    l->done(l, e, l->rows, e ? 0 : l->count, l->next);
    arena_done(&arena);
}

static void tell_session(struct store_session *x, enum err e)
{
    struct arena arena = x->arena;
    x->done(x, e);
    arena_done(&arena);
}

void store_tell(struct store *s, struct store_job *job)
{
    enum err e = job->result;

    switch ((enum job_kind)job->kind) {
    case JOB_APPEND: tell_append(s, JOB_OF(job, struct store_append), e); return;
    case JOB_EDIT: JOB_OF(job, struct store_edit)->done(JOB_OF(job, struct store_edit), e); return;
    case JOB_READ: tell_read(JOB_OF(job, struct store_read), e); return;
    case JOB_LIST: tell_list(JOB_OF(job, struct store_list), e); return;
    case JOB_CLAIM:
        JOB_OF(job, struct store_claim)->done(JOB_OF(job, struct store_claim), e);
        return;
    case JOB_RELEASE_ALL:
        JOB_OF(job, struct store_release_all)->done(JOB_OF(job, struct store_release_all), e);
        return;
    case JOB_SESSION: tell_session(JOB_OF(job, struct store_session), e); return;
    case JOB_ERASE:
        JOB_OF(job, struct store_erase)->done(JOB_OF(job, struct store_erase), e);
        return;
    case JOB_CHECKPOINT:
        JOB_OF(job, struct store_checkpoint)->done(JOB_OF(job, struct store_checkpoint), e);
        return;
    case JOB_RELEASE:
    case JOB_OWN: break;
    }
    must(!"job kind");
}

/* --- the rest ----------------------------------------------------------------------- */

void store_release(struct store *s, struct log_name log, struct store_hold hold)
{
    if (hold.epoch) s->ops->release(s, log, hold);
}

bool store_lease_ok(const struct store *s, struct store_hold hold)
{
    return s->ops->lease_ok(s, hold);
}

void store_on_lapse(struct store *s, void (*lapsed)(void *ctx), void *ctx)
{
    s->lapsed = lapsed;
    s->lapsed_ctx = ctx;
}

void store_on_commit(struct store *s, void (*seen)(void *ctx, uint64_t ns), void *ctx)
{
    s->seen = seen;
    s->seen_ctx = ctx;
}

struct str store_node(const struct store *s)
{
    return str_c(s->node);
}

bool store_shared(const struct store *s)
{
    return s->ops->shared;
}

enum err store_health(const struct store *s)
{
    return s->ops->health(s);
}

struct str store_problem(const struct store *s)
{
    return s->ops->problem(s);
}

uint64_t store_log_bytes(const struct store *s)
{
    return s->ops->log_bytes(s);
}

struct str store_promise(const struct store *s)
{
    return s->ops->promise(s);
}

bool store_close(struct store *s, uint64_t within_ms)
{
    return !s || s->ops->close(s, within_ms);
}
