/* people.c -- see people.h.
 *
 * A row is put when somebody whose roles matter is here with others than are known, one put at a time
 * for each person: puts of one key at the same moment may come in either order. What it says counts
 * when it is committed, and not before, so nobody is told, and nothing is decided, what the next
 * process would not know; whoever brought it waits for that. When a row ends (never) also says when
 * it was put, so that other nodes find what is new. What a look at the rows found counts only when
 * nothing was put meanwhile; else the next look, a second later, finds it again.
 */
#include "run/people.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/map.h"

#define ROW      PEOPLE_ROWS "roles/"
#define FOR_EVER (INT64_MAX / 2) /* as an end that never comes; the time of the put is added */
#define LOOK_MS  1000
#define SKEW_MS  (3600 * 1000) /* so much later a node whose clock is behind may put a row */

struct person {
    struct str  name;
    struct str  roles; /* what counts; ptr NULL: nothing yet */
    struct str  seen;  /* what they were here with since, not committed yet; ptr NULL: nothing */
    struct list waiting;
    bool        certain;
    bool        kept; /* there is, or will be, a row */
    bool        saving;
    bool        forgotten; /* while a row was put: that one does not count */
    int64_t     seen_ms;   /* here, last; 0: only heard of */
    char        text[];
};

struct people {
    struct map        by_name;
    bool              whole;
    struct store     *store; /* NULL: nothing is kept */
    struct loop_timer look;
    struct store_list list;
    bool              looking, timed;
    bool              left;   /* what somebody was seen with is not saved */
    enum err          looked; /* how the last look ended */
    int64_t           newest; /* end of the newest row that was seen */
    unsigned          puts, puts_then;
    unsigned          saving;
    void (*gained)(void *ctx, struct str name);
    void *gained_ctx;
};

struct people *people_new(void)
{
    struct people *p = mem_alloc(sizeof *p);
    if (p) map_init(&p->by_name);
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
    clear_text(&x->roles);
    clear_text(&x->seen);
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
    for (size_t i = 0; (x = map_each(&p->by_name, &i));) person_free(x);
    map_done(&p->by_name);
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

/* --- what is known ------------------------------------------------------------------------------ */

/* NULL: no memory. */
static struct person *person_of(struct people *p, struct str name)
{
    struct person *x = map_get(&p->by_name, name);
    if (x) return x;
    if (!(x = mem_alloc(sizeof *x + name.len + 1))) return NULL;
    memcpy(x->text, name.ptr, name.len);
    x->name = str_n(x->text, name.len);
    list_init(&x->waiting);
    if (map_put(&p->by_name, x->name, x) == OK) return x;
    mem_free(x);
    return NULL;
}

void people_know(struct people *p, struct str name, struct str roles)
{
    struct person *x = p && name.len ? person_of(p, name) : NULL;
    if (x && set_text(&x->roles, roles)) x->certain = true;
}

/* Their roles are these now. */
static bool change(struct people *p, struct person *x, struct str roles)
{
    /* a stranger has what they had */
    bool gains = x->roles.ptr && has_more(roles, x->roles);
    if (!set_text(&x->roles, roles)) return false;
    if (gains && p->gained) p->gained(p->gained_ctx, x->name);
    return true;
}

struct str people_roles(const struct people *p, struct str name)
{
    const struct person *x = p ? map_get(&p->by_name, name) : NULL;
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
    if (!now.ptr && !(p && p->whole)) return roles;
    buf_init(&b, 0);
    while (str_split(&roles, ' ', &one))
        if (one.len && roles_have(now, one)) buf_printf(&b, STR_FMT " ", STR_ARG(one));
    struct str s = b.err ? STR_NONE : arena_dup(a, buf_view(&b));
    buf_done(&b);
    return s;
}

bool people_may(const struct people *p, struct str name, struct str role)
{
    struct str roles = people_roles(p, name);
    if (!role.len || str_is(role, "owner")) return true;
    if (!roles.ptr) return !p || !p->whole;
    return roles_have(roles, role);
}

/* --- keeping ------------------------------------------------------------------------------------ */

struct keep {
    struct store_session row;
    struct people       *people;
    struct arena         arena;
    struct str           name;
};

static enum err save(struct people *p, struct person *x);

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

/* What was put is there: it counts. */
static enum err settle(struct people *p, struct person *x, struct str roles)
{
    if (x->forgotten) return OK;
    if (x->certain) clear_text(&x->seen);
    else if (!change(p, x, roles)) return ERR_NOMEM;
    if (str_eq(x->seen, roles)) clear_text(&x->seen);
    return OK;
}

static void on_saved(struct store_session *row, enum err e)
{
    struct keep   *k = LIST_ITEM(row, struct keep, row);
    struct people *p = k->people;
    struct person *x = map_get(&p->by_name, k->name); /* is there while it is saved */
    p->puts++;
    p->saving--;
    x->saving = false;
    if (!e) e = settle(p, x, k->row.body);
    x->forgotten = false;
    if (e)
        log_line(LOG_ERROR, "people.not_kept", "who", log_str(k->name), "why", err_name(e), NULL);
    if (e == ERR_CLOSED) p->store = NULL;
    tell(x, e);
    x = map_get(&p->by_name, k->name); /* unless one of these had them erased */
    if (x && x->seen.ptr && !x->saving && p->store && (e || save(p, x))) try_later(p);
    if (x && !x->roles.ptr && !x->seen.ptr && !x->saving) people_forget(p, k->name);
    arena_done(&k->arena);
    mem_free(k);
}

/* Puts what they were seen with, unless a put is under way: then it comes after that one. */
static enum err save(struct people *p, struct person *x)
{
    struct keep *k = x->saving ? NULL : mem_alloc(sizeof *k);
    x->kept = true;
    if (x->saving || !k) return x->saving ? OK : ERR_NOMEM;
    arena_init(&k->arena, 0);
    k->people = p;
    k->name = arena_dup(&k->arena, x->name);
    k->row = (struct store_session){ .op = SESSION_PUT,
                                     .key = arena_printf(&k->arena, ROW STR_FMT, STR_ARG(x->name)),
                                     .body = arena_dup(&k->arena, x->seen),
                                     .ends_ms = FOR_EVER + clock_wall_ms(),
                                     .done = on_saved };
    if (k->arena.failed) {
        arena_done(&k->arena);
        mem_free(k);
        return ERR_NOMEM;
    }
    x->saving = true;
    p->puts++;
    p->saving++;
    store_session(p->store, &k->row);
    return OK;
}

/* What they are here with is to be kept. */
static enum err keep(struct people *p, struct person *x, struct str roles)
{
    if (x->kept && !x->seen.ptr && x->roles.ptr && str_eq(x->roles, roles)) return OK;
    if (!str_eq(x->seen, roles) || !x->seen.ptr)
        if (!set_text(&x->seen, roles)) return ERR_NOMEM;
    enum err e = save(p, x);
    if (e) try_later(p);
    return e ? e : ERR_BUSY;
}

enum err people_saw(struct people *p, struct str name, struct str roles, bool matters)
{
    struct person *x = p && name.len ? map_get(&p->by_name, name) : NULL;
    if (!p || !name.len || (x && x->certain)) return OK;
    bool kept = p->store && (matters || (x && x->kept));
    if (!x && !kept && p->by_name.count >= PEOPLE_MAX) return OK;
    if (!x && !(x = person_of(p, name))) return kept ? ERR_NOMEM : OK;
    x->seen_ms = clock_wall_ms();
    if (kept) return keep(p, x, roles);
    if (!x->roles.ptr || !str_eq(x->roles, roles)) (void)change(p, x, roles);
    return OK;
}

void people_wait(struct people *p, struct str name, struct people_wait *w)
{
    struct person *x = map_get(&p->by_name, name);
    must(x && x->saving);
    list_add(&x->waiting, &w->node);
}

void people_forget(struct people *p, struct str name)
{
    struct person *x = p ? map_get(&p->by_name, name) : NULL;
    if (!x || x->certain) return;
    clear_text(&x->roles);
    clear_text(&x->seen);
    x->kept = false;
    x->forgotten = x->saving;
    if (x->saving) return; /* on_saved takes it away, unless they come back before */
    map_remove(&p->by_name, name);
    person_free(x);
}

/* --- looking ------------------------------------------------------------------------------------ */

static void learn(struct people *p, const struct store_row *row)
{
    struct str     name = str_from(row->owner, sizeof ROW - 1);
    struct person *x = name.len ? person_of(p, name) : NULL;
    if (row->updated_ms > p->newest) p->newest = row->updated_ms;
    if (!x || x->certain || x->seen.ptr) return;
    bool same = x->roles.ptr && str_eq(x->roles, row->value);
    x->kept = true;
    /* seen here after that, when nobody knew yet that it matters */
    if (x->roles.ptr && !same && x->seen_ms > row->updated_ms - FOR_EVER) {
        if (!set_text(&x->seen, x->roles) || save(p, x)) try_later(p);
    } else if (!same) (void)change(p, x, row->value);
}

static void save_left(struct people *p)
{
    struct person *x;
    if (!p->left || !p->store) return;
    p->left = false;
    for (size_t i = 0; (x = map_each(&p->by_name, &i));)
        if (x->seen.ptr && save(p, x)) try_later(p);
}

static void on_rows(struct store_list *l, enum err e, const struct store_row *rows, size_t count,
                    struct str next)
{
    struct people *p = LIST_ITEM(l, struct people, list);
    (void)next;
    p->looking = false;
    p->looked = e;
    if (e == ERR_CLOSED) p->store = NULL;
    for (size_t i = 0; !e && !p->saving && p->puts == p->puts_then && i < count; i++)
        learn(p, &rows[i]);
}

static void look(struct people *p)
{
    int64_t from = p->newest - SKEW_MS;
    p->looking = true;
    p->puts_then = p->puts;
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

enum err people_keep(struct people *p, struct loop *l, struct store *s)
{
    p->store = s;
    look(p);
    while (p->looking) uv_run(&l->uv, UV_RUN_ONCE);
    if (p->looked) return p->looked;
    loop_timer_init(l, &p->look, on_timer);
    p->timed = true;
    if (store_shared(s)) loop_timer_set(&p->look, LOOK_MS);
    return OK;
}
