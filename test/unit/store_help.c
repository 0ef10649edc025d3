/* store_help.c -- see store_help.h. */
#include "store_help.h"

#include <inttypes.h>
#include <stdio.h>

#include "pg_help.h"
#include "test.h"

void fix_init(struct fix *f)
{
    *f = (struct fix){ 0 };
    arena_init(&f->arena, 0);
    REQUIRE(loop_init(&f->loop) == OK);
}

static struct loop *loop_of(struct fix *f)
{
    return f->host ? &f->host->loop : &f->loop;
}

enum err fix_open_node(struct fix *f, const char *url, const char *node_url)
{
    return store_open(loop_of(f), str_c(url), &(struct store_place){ .url = str_c(node_url) },
                      &f->arena, &f->store, &f->why);
}

enum err fix_open(struct fix *f, const char *url)
{
    return fix_open_node(f, url, NULL);
}

void fix_done(struct fix *f)
{
    REQUIRE(store_close(f->store, 60000));
    loop_done(&f->loop);
    arena_done(&f->arena);
}

void fix_turn(struct fix *f)
{
    uv_run(&loop_of(f)->uv, UV_RUN_ONCE);
}

void fix_refused(const char *url, enum err want, const char *words)
{
    struct fix f;

    fix_init(&f);
    CHECK(fix_open(&f, url) == want);
    CHECK(f.store == NULL);
    CHECK(str_find(f.why, str_c(words)) >= 0);
    if (str_find(f.why, str_c(words)) < 0) printf("    why: " STR_FMT "\n", STR_ARG(f.why));
    fix_done(&f);
}

void fix_wait(struct fix *f)
{
    while (f->pending) fix_turn(f);
}

/* --- every store ---------------------------------------------------------------- */

static void sqlite_url(char *out, size_t size)
{
    static int n;
    snprintf(out, size, "sqlite:%s/suite-%d.db", test_dir(), n++);
}

/* urls of stores that have never been used */
static const struct {
    const char *name;
    void (*url)(char *out, size_t size);
} stores[] = {
    { "sqlite", sqlite_url },
    { "postgresql", pg_url },
};

char store_url[512];

void with_each_store(void (*run)(struct fix *))
{
    for (size_t i = 0; i < sizeof stores / sizeof *stores; i++) {
        struct fix f;
        stores[i].url(store_url, sizeof store_url);
        fix_init(&f);
        REQUIRE(fix_open(&f, store_url) == OK);
        test_place(stores[i].name);
        run(&f);
        test_place(NULL);
        fix_done(&f);
    }
}

/* --- appends ------------------------------------------------------------------ */

static void ap_done(struct store_append *a, enum err e)
{
    struct ap *p = LIST_ITEM(a, struct ap, a);

    CHECK(!p->done);
    p->e = e;
    p->done = true;
    p->f->pending--;
}

void ap_init(struct ap *p, const char *owner, const char *thread, uint64_t expected,
             const char *body)
{
    static int64_t clock = 1000;

    *p = (struct ap){ .fact = { .at_ms = clock++, .kind = STR("note"), .body = str_c(body) } };
    p->a.log = (struct log_name){ str_c(owner), str_c(thread) };
    p->a.expected = expected;
    p->a.facts = &p->fact;
    p->a.fact_count = 1;
    if (!expected) p->a.title = STR("");
    p->a.done = ap_done;
}

void ap_request(struct ap *p, const char *id, const char *run)
{
    p->a.request_id = str_c(id);
    p->a.run = str_c(run);
}

void ap_send(struct fix *f, struct ap *p)
{
    p->f = f;
    f->pending++;
    store_append(f->store, &p->a);
}

enum err ap_run(struct fix *f, struct ap *p)
{
    ap_send(f, p);
    CHECK(!p->done); /* never from inside the call */
    fix_wait(f);
    return p->e;
}

enum err fix_append(struct fix *f, const char *owner, const char *thread, uint64_t expected,
                    const char *body)
{
    struct ap p;
    ap_init(&p, owner, thread, expected, body);
    return ap_run(f, &p);
}

/* --- claims, sessions ----------------------------------------------------------- */

static void cl_done(struct store_claim *c, enum err e)
{
    struct cl *x = LIST_ITEM(c, struct cl, c);

    CHECK(!x->done);
    x->done = true;
    x->e = e;
    snprintf(x->node, sizeof x->node, STR_FMT, STR_ARG(c->node));
    x->f->pending--;
}

void cl_send(struct fix *f, struct cl *c, const char *owner, const char *thread)
{
    *c = (struct cl){ .f = f };
    c->c.log = (struct log_name){ str_c(owner), str_c(thread) };
    c->c.done = cl_done;
    f->pending++;
    store_claim(f->store, &c->c);
}

struct cl cl_run(struct fix *f, const char *owner, const char *thread)
{
    struct cl c;

    cl_send(f, &c, owner, thread);
    CHECK(!c.done);
    fix_wait(f);
    return c;
}

struct ra {
    struct store_release_all r;
    struct fix              *f;
    enum err                 e;
};

static void ra_done(struct store_release_all *r, enum err e)
{
    struct ra *x = LIST_ITEM(r, struct ra, r);
    x->e = e;
    x->f->pending--;
}

enum err fix_release_all(struct fix *f)
{
    struct ra x = { .r = { .done = ra_done }, .f = f };

    f->pending++;
    store_release_all(f->store, &x.r);
    fix_wait(f);
    return x.e;
}

struct se {
    struct store_session x;
    struct fix          *f;
    struct str           text;
};

static void se_done(struct store_session *x, enum err e)
{
    struct se *s = LIST_ITEM(x, struct se, x);

    if (e || x->op != SESSION_GET) s->text = str_c(err_name(e));
    else s->text = arena_printf(&s->f->arena, STR_FMT " %" PRId64, STR_ARG(x->body), x->ends_ms);
    s->f->pending--;
}

static struct str se_run(struct fix *f, const struct store_session *x)
{
    struct se s = { .f = f, .x = *x };

    s.x.done = se_done;
    f->pending++;
    store_session(f->store, &s.x);
    fix_wait(f);
    return s.text;
}

struct str fix_session(struct fix *f, enum store_session_op op, const char *key, const char *body,
                       int64_t ends_ms)
{
    return se_run(f, &(struct store_session){
                         .op = op, .key = str_c(key), .body = str_c(body), .ends_ms = ends_ms });
}

struct str fix_session_was(struct fix *f, enum store_session_op op, const char *body,
                           const char *was)
{
    return se_run(f, &(struct store_session){ .op = op,
                                              .key = STR("key"),
                                              .body = str_c(body),
                                              .was = str_c(was),
                                              .ends_ms = INT64_MAX });
}

struct str fix_session_each(struct fix *f, const char *key, int64_t ends_ms, unsigned each)
{
    return se_run(f, &(struct store_session){
                         .key = str_c(key), .body = STR("x"), .ends_ms = ends_ms, .each = each });
}

/* --- reads -------------------------------------------------------------------- */

static void rd_done(struct store_read *r, enum err e, const struct store_fact *facts, size_t count)
{
    struct rd *d = LIST_ITEM(r, struct rd, r);

    d->e = e;
    d->done = true;
    d->f->pending--;
    if (e) buf_lit(&d->text, err_name(e));
    for (size_t i = 0; i < count; i++) {
        buf_u64(&d->text, facts[i].seq);
        buf_chr(&d->text, ' ');
        buf_str(&d->text, facts[i].kind);
        buf_chr(&d->text, ' ');
        buf_str(&d->text, facts[i].body);
        buf_chr(&d->text, ';');
    }
    if (d->on_done) d->on_done(d);
}

void rd_send(struct fix *f, struct rd *d, const char *owner, const char *thread, uint64_t after)
{
    void (*on_done)(struct rd *) = d->on_done;

    *d = (struct rd){ .f = f, .on_done = on_done };
    buf_init(&d->text, 0);
    d->r.log = (struct log_name){ str_c(owner), str_c(thread) };
    d->r.after = after;
    d->r.done = rd_done;
    f->pending++;
    store_read(f->store, &d->r);
}

struct str fix_read(struct fix *f, const char *owner, const char *thread, uint64_t after)
{
    struct rd  d = { 0 };
    struct str text;

    rd_send(f, &d, owner, thread, after);
    CHECK(!d.done);
    fix_wait(f);
    text = arena_dup(&f->arena, buf_view(&d.text));
    buf_done(&d.text);
    return text;
}

/* --- lists and edits ------------------------------------------------------------ */

struct li {
    struct store_list l;
    struct fix       *f;
    struct buf        text;
    struct str        next;
};

static void render(struct buf *b, enum store_list_kind kind, const struct store_row *r)
{
    switch (kind) {
    case STORE_THREADS:
        buf_printf(b, STR_FMT " '" STR_FMT "' " STR_FMT, STR_ARG(r->thread), STR_ARG(r->title),
                   STR_ARG(r->state));
        if (r->source.ptr)
            buf_printf(b, " of " STR_FMT ", " STR_FMT, STR_ARG(r->source), STR_ARG(r->group));
        if (r->line.ptr) buf_printf(b, " \"" STR_FMT "\"", STR_ARG(r->line));
        buf_chr(b, ';');
        return;
    case STORE_OLD:
    case STORE_UNTRIMMED:
    case STORE_LOGS:
    case STORE_UNFINISHED:
        buf_printf(b, STR_FMT "/" STR_FMT " " STR_FMT ";", STR_ARG(r->owner), STR_ARG(r->thread),
                   STR_ARG(r->state));
        return;
    case STORE_APPROVALS:
    case STORE_DUE:
    case STORE_NEXT_DUE:
        buf_printf(b,
                   STR_FMT "/" STR_FMT "/" STR_FMT " " STR_FMT " " STR_FMT " " STR_FMT " " STR_FMT
                           " %" PRId64 " %" PRId64 ";",
                   STR_ARG(r->owner), STR_ARG(r->thread), STR_ARG(r->approval.id),
                   STR_ARG(r->approval.call), STR_ARG(r->approval.tool),
                   STR_ARG(r->approval.status), STR_ARG(r->approval.body), r->approval.requested_ms,
                   r->approval.expires_ms);
        return;
    case STORE_TOOLS:
        buf_printf(b, STR_FMT " %" PRIu64 " %" PRIu64 ";", STR_ARG(r->tool), r->runs, r->failed);
        return;
    case STORE_USED: buf_printf(b, "%" PRId64 ";", r->amount); return;
    case STORE_STOCK:
        buf_printf(b,
                   STR_FMT "/" STR_FMT "/" STR_FMT " " STR_FMT " " STR_FMT " " STR_FMT " %" PRId64
                           " %" PRId64 ";",
                   STR_ARG(r->stock.owner), STR_ARG(r->stock.thread), STR_ARG(r->stock.key),
                   STR_ARG(r->stock.holder), STR_ARG(r->stock.state), STR_ARG(r->stock.body),
                   r->stock.uses, r->stock.amount);
        return;
    case STORE_EVENTS:
        buf_printf(b, STR_FMT " " STR_FMT " " STR_FMT " " STR_FMT ";", STR_ARG(r->owner),
                   STR_ARG(r->event.kind), STR_ARG(r->event.id), STR_ARG(r->event.body));
        return;
    case STORE_EVENT_HEAD: return;
    case STORE_WAITING:
        buf_printf(b, "%" PRId64 " since %" PRId64 ";", r->amount, r->created_ms);
        return;
    case STORE_NODES:
        buf_printf(b, STR_FMT " '" STR_FMT "' " STR_FMT " %s %" PRIu64 " %" PRIu64 ";",
                   STR_ARG(r->node), STR_ARG(r->url), STR_ARG(r->version),
                   r->lease_ms > 0 ? "alive" : "dead", r->held, r->running);
        return;
    case STORE_KEYS:
        buf_printf(b, STR_FMT "/" STR_FMT " " STR_FMT ";", STR_ARG(r->owner), STR_ARG(r->thread),
                   STR_ARG(r->value));
        return;
    case STORE_REQUEST:
        buf_printf(b, STR_FMT "/" STR_FMT " " STR_FMT ";", STR_ARG(r->owner), STR_ARG(r->thread),
                   STR_ARG(r->run));
        return;
    case STORE_HEADS:
        buf_printf(b, "%s %" PRIu64 " %s;", r->stub ? "stub" : "log", r->seq, r->log);
        return;
    case STORE_STUBS:
        buf_printf(b, STR_FMT "/" STR_FMT " %" PRIu64 " " STR_FMT ";", STR_ARG(r->owner),
                   STR_ARG(r->thread), r->seq, STR_ARG(r->line));
        return;
    case STORE_LAST:
    case STORE_UNTOLD:
        buf_printf(b, "%" PRIu64 " " STR_FMT ";", r->number, STR_ARG(r->line));
        return;
    case STORE_SESSIONS:
        buf_printf(b, STR_FMT " " STR_FMT " %" PRId64 ";", STR_ARG(r->owner), STR_ARG(r->value),
                   r->updated_ms);
        return;
    }
}

static void li_done(struct store_list *l, enum err e, const struct store_row *rows, size_t count,
                    struct str next)
{
    struct li *x = LIST_ITEM(l, struct li, l);

    x->f->pending--;
    if (e) buf_lit(&x->text, err_name(e));
    for (size_t i = 0; i < count; i++) render(&x->text, l->kind, &rows[i]);
    x->next = arena_dup(&x->f->arena, next);
}

struct str fix_list(struct fix *f, struct store_list l, struct str *next)
{
    struct li  x = { .l = l, .f = f };
    struct str text;

    buf_init(&x.text, 0);
    x.l.done = li_done;
    f->pending++;
    store_list(f->store, &x.l);
    fix_wait(f);
    text = arena_dup(&f->arena, buf_view(&x.text));
    buf_done(&x.text);
    if (next) *next = x.next;
    f->looked = x.l.looked;
    return text;
}

void fix_said_indexed(struct fix *f, const char *owner, uint64_t few)
{
    struct store_list l = { .kind = STORE_THREADS,
                            .owner = str_c(owner),
                            .search = STR("a word that nobody said"),
                            .said = true };

    for (fix_list(f, l, NULL); f->looked > few; fix_list(f, l, NULL)) {
        uv_run(&loop_of(f)->uv, UV_RUN_NOWAIT); /* with nothing to do, which a store waits for */
        uv_sleep(20);
    }
}

struct ed {
    struct store_edit x;
    struct fix       *f;
    enum err          e;
};

static void ed_done(struct store_edit *x, enum err e)
{
    struct ed *d = LIST_ITEM(x, struct ed, x);
    d->e = e;
    d->f->pending--;
}

static enum err do_edit(struct fix *f, struct store_edit x)
{
    struct ed d = { .f = f, .x = x };

    d.x.done = ed_done;
    f->pending++;
    store_edit(f->store, &d.x);
    fix_wait(f);
    return d.e;
}

enum err fix_edit(struct fix *f, const char *owner, const char *thread, const char *title,
                  bool remove)
{
    return do_edit(f, (struct store_edit){ .log = { str_c(owner), str_c(thread) },
                                           .title = str_c(title),
                                           .remove = remove });
}

struct er {
    struct store_erase x;
    struct fix        *f;
    enum err           e;
};

static void on_erase(struct store_erase *x, enum err e)
{
    struct er *r = LIST_ITEM(x, struct er, x);
    r->e = e;
    r->f->pending--;
}

enum err fix_erase(struct fix *f, struct store_erase x)
{
    struct er r = { .f = f, .x = x };

    r.x.done = on_erase;
    f->pending++;
    store_erase(f->store, &r.x);
    fix_wait(f);
    return r.e;
}

enum err fix_retitle(struct fix *f, const char *owner, const char *thread, const char *title,
                     const char *was)
{
    return do_edit(f, (struct store_edit){ .log = { str_c(owner), str_c(thread) },
                                           .title = str_c(title),
                                           .title_was = str_c(was) });
}

enum err fix_remove(struct fix *f, const char *owner, const char *thread, const char *stub,
                    int64_t at_ms)
{
    return do_edit(f, (struct store_edit){ .log = { str_c(owner), str_c(thread) },
                                           .remove = true,
                                           .stub = str_c(stub),
                                           .at_ms = at_ms });
}

enum err fix_trim(struct fix *f, const char *owner, const char *thread, struct store_trim t)
{
    return do_edit(f, (struct store_edit){ .log = { str_c(owner), str_c(thread) }, .trim = &t });
}
