/* people.c -- see people.h.
 *
 * A row is "key" or "seen" (from the configuration, or from a token), then each role and since when
 * they have it again, in ms; 0: they have not been seen without it.
 *
 * A row is changed when somebody is here with other roles than are known: it is read, and put while
 * it is still what was read, one change at a time for each person. What it says counts when it is
 * committed, and not before, so nobody is told, and nothing is decided, what the next process would
 * not know; whoever brought it waits for that. When a row ends (never) also says when it was put,
 * so that other nodes find what is new. What a look at the rows found of somebody whose row was put
 * meanwhile does not count; the next look, a second later, finds it again. With others at the store
 * a stranger's row is read before they are answered: it may be newer than the last look.
 *
 * Only who is here brings a role. What is written by what is remembered of somebody (they were here
 * when it could not be, or when a row that others put was not known yet) takes roles away alone:
 * they may have lost the others since.
 */
#include "run/people.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/map.h"
#include "base/sha256.h"

#define ROW      "person/"
#define FOR_EVER (INT64_MAX / 2) /* as an end that never comes; the time of the put is added */
#define LOOK_MS  1000
#define SKEW_MS  (3600 * 1000) /* so much later a node whose clock is behind may put a row */

struct person {
    char        key[SHA256_HEX + 1];
    struct str  name;  /* ptr NULL: was not here since the start, or is erased */
    struct str  roles; /* what counts; ptr NULL: nothing yet */
    struct str  seen;  /* what is to be written; ptr NULL: nothing */
    struct str  row;   /* what is kept; ptr NULL: nothing, as far as is known */
    struct list waiting;
    bool        certain; /* by the configuration */
    bool        matters; /* a row is to be made, if there is none */
    bool        read;    /* in the store, or known from a look */
    bool        saving;
    unsigned    put;     /* during that look (people.looks) */
    int64_t     seen_ms; /* here, last; 0: only heard of */
};

struct people {
    struct map        by_key;
    bool              whole;
    struct store     *store; /* NULL: nothing is kept */
    struct loop_timer look;
    struct store_list list;
    bool              looking, timed;
    bool              left;   /* something to be written is not being written */
    enum err          kept;   /* how the last look, or change of a row, that failed did */
    int64_t           newest; /* end of the newest row that was seen */
    unsigned          looks, saving;
    void (*gained)(void *ctx, struct str name);
    void *gained_ctx;
};

struct people *people_new(void)
{
    struct people *p = mem_alloc(sizeof *p);
    if (p) map_init(&p->by_key);
    return p;
}

/* False: no memory, and it is what it was. */
static bool set_text(struct str *s, struct str to)
{
    char *copy = mem_alloc(to.len + 1);
    if (!copy) return false;
    if (to.len) memcpy(copy, to.ptr, to.len);
    mem_free((char *)(uintptr_t)s->ptr);
    *s = str_n(copy, to.len);
    return true;
}

static void clear_text(struct str *s)
{
    mem_free((char *)(uintptr_t)s->ptr);
    *s = STR_NONE;
}

static void person_free(struct person *x)
{
    clear_text(&x->name);
    clear_text(&x->roles);
    clear_text(&x->seen);
    clear_text(&x->row);
    mem_free(x);
}

static void closed(struct loop_timer *t)
{
    mem_free(LIST_ITEM(t, struct people, look));
}

void people_free(struct people *p)
{
    struct person *x;
    if (!p) return;
    for (size_t i = 0; (x = map_each(&p->by_key, &i));) person_free(x);
    map_done(&p->by_key);
    if (p->timed) loop_timer_close(&p->look, closed);
    else mem_free(p);
}

void people_on_gain(struct people *p, void (*gained)(void *ctx, struct str name), void *ctx)
{
    p->gained = gained;
    p->gained_ctx = ctx;
}

bool roles_have(struct str roles, struct str word)
{
    struct str one;
    while (str_split(&roles, ' ', &one))
        if (one.len && str_eq(one, word)) return true;
    return false;
}

static bool has_more(struct str roles, struct str than)
{
    struct str one;
    while (str_split(&roles, ' ', &one))
        if (one.len && !roles_have(than, one)) return true;
    return false;
}

/* --- rows ------------------------------------------------------------------------------------- */

/* Since when they have that role; -1: they have not. */
static int64_t row_since(struct str row, struct str role)
{
    struct str word, since;
    uint64_t   ms = 0;
    (void)str_split(&row, ' ', &word);
    while (str_split(&row, ' ', &word) && str_split(&row, ' ', &since))
        if (str_eq(word, role)) return str_to_u64(since, &ms) ? (int64_t)ms : INT64_MAX;
    return -1;
}

static bool row_of_key(struct str row)
{
    return str_eq(row, STR("key")) || str_starts(row, STR("key "));
}

/* Those of the row that are among `of` (STR_NONE: all). STR_NONE: no memory. */
static struct str row_roles(struct arena *a, struct str row, struct str of)
{
    struct str word, since;
    struct buf b;
    buf_init(&b, 0);
    (void)str_split(&row, ' ', &word);
    while (str_split(&row, ' ', &word) && str_split(&row, ' ', &since))
        if (!of.ptr || roles_have(of, word))
            buf_printf(&b, b.len ? " " STR_FMT : STR_FMT, STR_ARG(word));
    return buf_into(&b, a);
}

/* What follows `before` (STR_NONE: nothing) for somebody with these roles; STR_NONE: no memory. */
static struct str row_next(struct arena *a, struct str before, bool key, struct str roles)
{
    struct str word, rest = roles;
    struct buf b;
    buf_init(&b, 0);
    buf_lit(&b, key ? "key" : "seen");
    while (str_split(&rest, ' ', &word)) {
        if (!word.len) continue;
        int64_t since = before.ptr ? row_since(before, word) : 0;
        buf_printf(&b, " " STR_FMT " %lld", STR_ARG(word),
                   (long long)(since < 0 ? clock_wall_ms() : since));
    }
    return buf_into(&b, a);
}

/* --- what is known ---------------------------------------------------------------------------- */

static struct str key_of(struct str name, char key[SHA256_HEX + 1])
{
    uint8_t digest[SHA256_LEN];
    sha256_of(name, digest);
    sha256_hex(digest, sizeof digest, key);
    return str_n(key, SHA256_HEX);
}

static struct person *find(const struct people *p, struct str name)
{
    char key[SHA256_HEX + 1];
    return p && name.len ? map_get(&p->by_key, key_of(name, key)) : NULL;
}

/* By its row; NULL: no memory. */
static struct person *person_of(struct people *p, struct str key)
{
    struct person *x = map_get(&p->by_key, key);
    if (x) return x;
    if (key.len != SHA256_HEX || !(x = mem_alloc(sizeof *x))) return NULL;
    memcpy(x->key, key.ptr, key.len);
    list_init(&x->waiting);
    if (map_put(&p->by_key, str_c(x->key), x) == OK) return x;
    mem_free(x);
    return NULL;
}

/* Who is here; NULL: no memory. */
static struct person *meet(struct people *p, struct str name)
{
    char           key[SHA256_HEX + 1];
    struct person *x = person_of(p, key_of(name, key));
    return x && (x->name.ptr || set_text(&x->name, name)) ? x : NULL;
}

/* Their roles are these now. */
static bool change(struct people *p, struct person *x, struct str roles)
{
    /* a stranger has what they had */
    bool gains = x->roles.ptr && has_more(roles, x->roles);
    if (!set_text(&x->roles, roles)) return false;
    if (gains && p->gained) p->gained(p->gained_ctx, x->name.ptr ? x->name : STR(""));
    return true;
}

struct str people_roles(const struct people *p, struct str name)
{
    const struct person *x = find(p, name);
    return x ? x->roles : STR_NONE;
}

void people_whole(struct people *p)
{
    p->whole = true;
}

struct str people_still(const struct people *p, struct arena *a, struct str name, struct str roles)
{
    struct str now = people_roles(p, name), one;
    struct buf b;
    if ((!now.ptr && !(p && p->whole)) || !has_more(roles, now)) return roles;
    buf_init(&b, 0);
    while (str_split(&roles, ' ', &one))
        if (one.len && roles_have(now, one)) buf_printf(&b, STR_FMT " ", STR_ARG(one));
    struct str s = b.err ? STR_NONE : arena_dup(a, buf_view(&b));
    buf_done(&b);
    return s;
}

static bool rests_on_none(struct str role)
{
    return !role.len || str_is(role, "owner");
}

bool people_may(const struct people *p, struct str name, struct str role)
{
    struct str roles = people_roles(p, name);
    if (rests_on_none(role)) return true;
    if (!roles.ptr) return !p || !p->whole;
    return roles_have(roles, role);
}

bool people_kept(const struct people *p, struct str name, struct str role, int64_t since_ms)
{
    const struct person *x = find(p, name);
    if (!people_may(p, name, role)) return false;
    return rests_on_none(role) || !x || !x->row.ptr || row_since(x->row, role) <= since_ms;
}

/* --- keeping ---------------------------------------------------------------------------------- */

struct keep {
    struct store_session job;
    struct people       *people;
    struct person       *person;
    struct arena         arena;
    bool                 late;         /* they are not here any more */
    struct str           seen, roles;  /* roles: those of them that are to count */
    struct str           before, next; /* before: STR_NONE: there is no row */
};

static enum err save(struct people *p, struct person *x, bool late);

static void try_later(struct people *p)
{
    p->left = true;
    if (p->timed) loop_timer_set(&p->look, LOOK_MS);
}

/* They may be here again from inside. */
static void tell(struct person *x, enum err e)
{
    struct list waiting;
    list_init(&waiting);
    list_take(&waiting, &x->waiting);
    while (!list_empty(&waiting)) {
        struct people_wait *w = LIST_ITEM(waiting.next, struct people_wait, node);
        list_remove(&w->node);
        w->done(w, e);
    }
}

/* What is to be kept is there, or need not be: it counts. */
static enum err settle(struct people *p, const struct keep *k)
{
    struct person *x = k->person;
    if (k->next.ptr && !set_text(&x->row, k->next)) return ERR_NOMEM;
    if (!x->certain && !change(p, x, k->roles)) return ERR_NOMEM;
    x->read = true;
    if (str_eq(x->seen, k->seen)) clear_text(&x->seen);
    return OK;
}

static void end(struct keep *k, enum err e)
{
    struct people *p = k->people;
    struct person *x = k->person;
    p->saving--;
    x->saving = false;
    x->put = p->looks;
    if (!e) e = settle(p, k);
    if (e) {
        p->kept = e;
        log_line(LOG_ERROR, "people.not_kept", "who", log_str(x->name), "why", err_name(e), NULL);
    }
    if (e == ERR_CLOSED) p->store = NULL;
    tell(x, e);
    if (x->seen.ptr && !x->saving && p->store && (e || save(p, x, false))) try_later(p);
    arena_done(&k->arena);
    mem_free(k);
}

static void read_row(struct keep *k);

static void on_put(struct store_session *job, enum err e)
{
    struct keep *k = LIST_ITEM(job, struct keep, job);
    if (e == ERR_NOT_FOUND) read_row(k); /* another node was faster */
    else end(k, e);
}

static void put_row(struct keep *k)
{
    bool certain = k->person->certain;
    bool less = k->late && k->before.ptr && !certain;
    k->roles = less ? row_roles(&k->arena, k->before, k->seen) : k->seen;
    k->next = k->roles.ptr ? row_next(&k->arena, k->before, certain, k->roles) : STR_NONE;
    if (!k->next.ptr) end(k, ERR_NOMEM);
    else if (k->before.ptr && str_eq(k->before, k->next)) end(k, OK);
    else {
        k->job.op = k->before.ptr ? SESSION_KEEP : SESSION_PUT;
        k->job.body = k->next;
        k->job.was = k->before;
        k->job.ends_ms = FOR_EVER + clock_wall_ms();
        k->job.done = on_put;
        store_session(k->people->store, &k->job);
    }
}

static void on_read(struct store_session *job, enum err e)
{
    struct keep *k = LIST_ITEM(job, struct keep, job);
    k->before = e ? STR_NONE : arena_dup(&k->arena, job->body);
    if (e && e != ERR_NOT_FOUND) end(k, e);
    else if (k->arena.failed) end(k, ERR_NOMEM);
    else if (!k->people->store) end(k, ERR_CLOSED);
    else if (e && !k->person->matters) end(k, OK);
    else put_row(k);
}

static void read_row(struct keep *k)
{
    k->job.op = SESSION_GET;
    k->job.was = k->job.body = STR_NONE;
    k->job.done = on_read;
    store_session(k->people->store, &k->job);
}

/* Writes what is to be written, unless that is under way: then it comes after that one. */
static enum err save(struct people *p, struct person *x, bool late)
{
    struct keep *k = x->saving ? NULL : mem_alloc(sizeof *k);
    if (x->saving || !k) return x->saving ? OK : ERR_NOMEM;
    arena_init(&k->arena, 0);
    k->people = p;
    k->person = x;
    k->late = late;
    k->seen = k->roles = arena_dup(&k->arena, x->seen);
    k->job.key = arena_printf(&k->arena, ROW "%s", x->key);
    if (k->arena.failed) {
        arena_done(&k->arena);
        mem_free(k);
        return ERR_NOMEM;
    }
    x->saving = true;
    p->saving++;
    read_row(k);
    return OK;
}

/* That is to be kept of them. */
static enum err keep(struct people *p, struct person *x, struct str roles)
{
    if (!x->seen.ptr && x->roles.ptr && str_eq(x->roles, roles) && (x->row.ptr || !x->matters))
        return OK;
    if (!str_eq(x->seen, roles) || !x->seen.ptr)
        if (!set_text(&x->seen, roles)) return ERR_NOMEM;
    enum err e = save(p, x, false);
    if (e) try_later(p);
    return e ? e : ERR_BUSY;
}

void people_know(struct people *p, struct str name, struct str roles)
{
    struct person *x = p && name.len ? meet(p, name) : NULL;
    if (!x || !set_text(&x->roles, roles) || !set_text(&x->seen, roles)) return;
    x->certain = x->matters = true;
    if (p->store && save(p, x, false)) try_later(p);
}

/* Is there a row of theirs, or may there be one? */
static bool has_row(const struct people *p, const struct person *x)
{
    return p->store && ((x && x->row.ptr) || (!(x && x->read) && store_shared(p->store)));
}

enum err people_saw(struct people *p, struct str name, struct str roles, bool matters)
{
    struct person *x = find(p, name);
    if (!p || !name.len) return OK;
    if (x && x->certain) return p->store && x->seen.ptr ? keep(p, x, x->roles) : OK;
    bool kept = p->store && (matters || (x && x->matters) || has_row(p, x));
    if (!x && !matters && p->by_key.count >= PEOPLE_MAX) return OK;
    if (!(x = meet(p, name))) return kept ? ERR_NOMEM : OK;
    x->seen_ms = clock_wall_ms();
    x->matters |= matters;
    if (kept) return keep(p, x, roles);
    if (!x->roles.ptr || !str_eq(x->roles, roles)) (void)change(p, x, roles);
    return OK;
}

void people_wait(struct people *p, struct str name, struct people_wait *w)
{
    struct person *x = find(p, name);
    must(x && x->saving);
    list_add(&x->waiting, &w->node);
}

enum err people_forget(struct people *p, struct str name)
{
    struct person *x = find(p, name);
    if (!p || (x && x->certain) || (!x && !has_row(p, x))) return OK;
    enum err e = people_saw(p, name, STR(""), false);
    if ((x = find(p, name))) clear_text(&x->name);
    return e;
}

/* --- looking ---------------------------------------------------------------------------------- */

/* A row that another process put. */
static void learn(struct people *p, const struct store_row *row)
{
    struct person *x = person_of(p, str_from(row->owner, sizeof ROW - 1));
    struct arena   a;
    if (row->updated_ms > p->newest) p->newest = row->updated_ms;
    if (!x || x->seen.ptr || x->saving || x->put == p->looks || !set_text(&x->row, row->value))
        return;
    x->read = true;
    if (x->certain) return;
    arena_init(&a, 0);
    struct str roles = row_roles(&a, row->value, STR_NONE);
    /* seen here after that, and answered by what was known here */
    bool       later = x->roles.ptr && x->seen_ms > row->updated_ms - FOR_EVER;
    if (later && has_more(roles, x->roles)) {
        if (!set_text(&x->seen, x->roles) || save(p, x, true)) try_later(p);
    } else if (roles.ptr && !(x->roles.ptr && str_eq(x->roles, roles))) (void)change(p, x, roles);
    arena_done(&a);
}

static void save_left(struct people *p)
{
    struct person *x;
    if (!p->left || !p->store) return;
    p->left = false;
    for (size_t i = 0; (x = map_each(&p->by_key, &i));)
        if (x->seen.ptr && save(p, x, true)) try_later(p);
}

static void on_rows(struct store_list *l, enum err e, const struct store_row *rows, size_t count,
                    struct str next)
{
    struct people *p = LIST_ITEM(l, struct people, list);
    (void)next;
    p->looking = false;
    if (e) p->kept = e;
    if (e == ERR_CLOSED) p->store = NULL;
    for (size_t i = 0; !e && i < count; i++) learn(p, &rows[i]);
}

static void look(struct people *p)
{
    int64_t from = p->newest - SKEW_MS;
    p->looking = true;
    p->looks++;
    p->list = (struct store_list){ .kind = STORE_SESSIONS,
                                   .id = STR(ROW),
                                   .due_ms = from > FOR_EVER ? from : FOR_EVER,
                                   .done = on_rows };
    store_list(p->store, &p->list);
}

static void on_timer(struct loop_timer *t)
{
    struct people *p = LIST_ITEM(t, struct people, look);
    bool           shared = p->store && store_shared(p->store);
    if (shared) loop_timer_set(t, LOOK_MS);
    save_left(p);
    if (shared && !p->looking) look(p);
}

/* Who has a key now, and who has none any more. */
static enum err keep_keys(struct people *p)
{
    struct person *x;
    for (size_t i = 0; (x = map_each(&p->by_key, &i));) {
        bool     gone = !x->certain && x->row.ptr && row_of_key(x->row);
        enum err e = x->certain ? save(p, x, false) : gone ? keep(p, x, STR("")) : OK;
        if (e && e != ERR_BUSY) return e;
    }
    return OK;
}

enum err people_keep(struct people *p, struct loop *l, struct store *s)
{
    p->store = s;
    look(p);
    while (p->looking) uv_run(&l->uv, UV_RUN_ONCE);
    enum err e = p->kept ? p->kept : keep_keys(p);
    while (p->saving) uv_run(&l->uv, UV_RUN_ONCE);
    if (e || p->kept) return e ? e : p->kept;
    loop_timer_init(l, &p->look, on_timer);
    p->timed = true;
    if (store_shared(s)) loop_timer_set(&p->look, LOOK_MS);
    return OK;
}
