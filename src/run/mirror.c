/* mirror.c -- see mirror.h. */
#include "run/mirror.h"
#include "base/id.h"
#include "base/log.h"
#include "run/engine.h"
#include "run/nodewords.h"

#define REPORTS_MAX (1 << 20)

struct mirror {
    struct thread *thread;
    struct peer   *peer;
    uint64_t       k;
    struct list    sent; /* commands without an answer, in their order */
    uint64_t       last; /* command's number */
    uint64_t       step_no;
    bool           following, watching, wanting, thinking, stepped;
    /* what was said for it: kept, because it stands in the thread's calls */
    struct arena   reports;
};

/* --- sending ---------------------------------------------------------------------------------- */

static void transmit(struct peer *p, struct buf *text)
{
    /* what cannot be said makes the link useless, and everything on it is asked for again */
    if (!text->err) p->hub->setup.nodes->send(p, buf_view(text));
    buf_done(text);
}

static void say(struct mirror *m, const char *word)
{
    struct buf text;
    buf_init(&text, 0);
    node_word(&text, word, m->k);
    transmit(m->peer, &text);
}

static void write_watch(struct mirror *m, struct jsonw *w)
{
    m->watching = m->thread->watching > 0;
    m->wanting = m->thread->wanting > 0;
    jw_kbool(w, "watch", m->watching);
    jw_kbool(w, "want", m->wanting);
}

static void follow(struct mirror *m)
{
    struct buf   text;
    struct jsonw w;
    buf_init(&text, 0);
    node_begin(&w, &text, "follow", m->k);
    jw_kstr(&w, "owner", m->thread->owner);
    jw_kstr(&w, "thread", m->thread->id);
    jw_kint(&w, "seq", (int64_t)m->thread->fold.count);
    write_watch(m, &w);
    node_end(&w);
    m->following = true;
    transmit(m->peer, &text);
}

void mirror_watch(struct thread *t)
{
    struct mirror *m = t->mirror;
    struct buf     text;
    struct jsonw   w;
    if (!m->following || (m->watching == (t->watching > 0) && m->wanting == (t->wanting > 0)))
        return;
    buf_init(&text, 0);
    node_begin(&w, &text, "watch", m->k);
    write_watch(m, &w);
    node_end(&w);
    transmit(m->peer, &text);
}

void mirror_unclaim(struct thread *t, int64_t tab)
{
    struct buf   text;
    struct jsonw w;
    if (!t->mirror->following) return;
    buf_init(&text, 0);
    node_begin(&w, &text, "unclaim", t->mirror->k);
    jw_kint(&w, "tab", tab);
    node_end(&w);
    transmit(t->mirror->peer, &text);
}

/* --- commands --------------------------------------------------------------------------------- */

/* Sent twice it must happen once. */
static bool begins_run(const struct command *c)
{
    return c->kind == CMD_MESSAGE || c->kind == CMD_RETRY || c->kind == CMD_ACTION;
}

/* What only this process could do with it. True: it is dealt with, and not to be sent. */
static bool stays_here(struct thread *t, struct command *c)
{
    if (c->forwarded) {
        list_remove(&c->node);
        c->receipt = (struct receipt){ .status = 503, .code = NODE_MOVED };
        c->done(c, &c->receipt);
        return true;
    }
    if (c->kind < CMD_EXPIRE || c->kind == CMD_TOOL_DONE) return false;
    list_remove(&c->node);
    c->receipt = (struct receipt){ .status = 200 };
    if (c->done) c->done(c, &c->receipt); /* the holder has its own clock and model */
    return true;
}

/* A tool of ours ended, of which somebody else has said meanwhile that it is not known how. */
static struct command *late_of(struct command *c)
{
    struct command *late = command_new(CMD_LATE);
    if (!late) return NULL;
    late->id = arena_dup(&late->arena, c->id);
    jobs_late(c, late);
    late->done = command_drop;
    list_remove(&c->node);
    c->receipt = (struct receipt){ .status = 200 };
    c->done(c, &c->receipt);
    return late;
}

static void prepare(struct mirror *m, struct command *c)
{
    if (begins_run(c) && !c->request_id.len) c->request_id = id_new(&c->arena, "r_");
    c->number = ++m->last;
    m->thread->hub->counts.forwards++;
    list_remove(&c->node);
    list_add(&m->sent, &c->node);
}

void mirror_forward(struct thread *t)
{
    struct mirror *m = t->mirror;
    struct buf     text;
    struct jsonw   w;
    bool           any = false;
    if (!m->following || t->busy) return;
    buf_init(&text, 0);
    node_begin(&w, &text, "commands", m->k);
    jw_key(&w, "list");
    jw_arr(&w);
    t->busy = true; /* an answer may post again */
    LIST_EACH (n, &t->queue) {
        struct command *c = LIST_ITEM(n, struct command, node);
        if (stays_here(t, c) || (c->kind == CMD_TOOL_DONE && !(c = late_of(c)))) continue;
        prepare(m, c);
        node_write_command(&w, c);
        any = true;
    }
    t->busy = false;
    jw_end_arr(&w);
    node_end(&w);
    if (any) transmit(m->peer, &text);
    else buf_done(&text);
}

/* Back to the front, as they stood: the next holder gets them. */
static void take_back(struct mirror *m)
{
    while (!list_empty(&m->sent)) {
        struct command *c = LIST_ITEM(m->sent.prev, struct command, node);
        list_remove(&c->node);
        c->repeated = true;
        list_push(&m->thread->queue, &c->node);
    }
}

static void on_answer(struct mirror *m, const struct jv *v)
{
    struct thread  *t = m->thread;
    struct command *c = NULL;
    uint64_t        n = (uint64_t)jv_int_at(v, "n", 0);
    LIST_EACH (x, &m->sent)
        if (LIST_ITEM(x, struct command, node)->number == n) c = LIST_ITEM(x, struct command, node);
    if (!c) return;
    list_remove(&c->node);
    node_read_receipt(&c->arena, v, &c->receipt);
    if (jv_true(jv_get(v, "here"))) c->receipt.thread = t;
    c->receipt.call = fold_call(&t->fold, jv_str_at(v, "call"));
    c->done(c, &c->receipt);
}

/* --- what the holder tells -------------------------------------------------------------------- */

static bool on_facts(struct mirror *m, const struct jv *v)
{
    struct thread   *t = m->thread;
    const struct jv *title = jv_get(v, "title");
    bool             closed = false;
    JV_EACH (x, jv_get(v, "facts")) {
        struct stored_fact f = { (uint64_t)jv_int_at(x, "seq", 0), jv_int_at(x, "at", 0),
                                 jv_str_at(x, "kind"), STR_NONE };
        const struct jv   *body = jv_get(x, "body");
        if (!body || f.seq != t->fold.count + 1) return false;
        f.body = body->raw;
        if (fold_apply(&t->fold, &f) != OK) return false;
        enum fact_kind k = t->fold.facts[t->fold.count - 1]->kind;
        closed |=
            k == FACT_STEP || k == FACT_ENDED || fact_restarts(t->fold.facts[t->fold.count - 1]);
    }
    if (title) thread_retitle(t, jv_str(title));
    t->committed = t->fold.count;
    t->exists = true;
    /* the step that these facts close is told by them */
    if (closed) step_clear(&t->step);
    if (jv_true(jv_get(v, "head"))) {
        t->loaded = true;
        t->stranded_ms = 0;
    }
    if (t->loaded) thread_wake(t);
    return true;
}

static bool on_step(struct mirror *m, const struct jv *v)
{
    struct thread *t = m->thread;
    uint64_t       no = (uint64_t)jv_int_at(v, "no", 0);
    bool           active = jv_true(jv_get(v, "active"));
    if (!m->stepped || no != m->step_no) {
        if (active) step_begin(&t->step);
        else step_clear(&t->step);
    }
    m->stepped = true;
    m->step_no = no;
    m->thinking = jv_true(jv_get(v, "thinking"));
    JV_EACH (x, jv_get(v, "pieces"))
        if (!t->step.active || node_read_piece(&t->step, x) != OK) return false;
    thread_wake(t);
    return true;
}

static struct str keep(struct mirror *m, const struct jv *v, const char *key)
{
    return arena_dup(&m->reports, jv_str_at(v, key));
}

/* A tool that reports for hours must not fill the memory: only the newest words are kept. */
static void tidy_reports(struct mirror *m)
{
    const struct run *r = m->thread->fold.run;
    struct arena      fresh;
    if (m->reports.used < REPORTS_MAX) return;
    arena_init(&fresh, 0);
    for (size_t i = 0; r && i < r->call_count; i++) {
        struct call *c = r->calls[i];
        c->stage = arena_dup(&fresh, c->stage);
        c->message = arena_dup(&fresh, c->message);
        c->progress_data = arena_dup(&fresh, c->progress_data);
    }
    arena_done(&m->reports);
    m->reports = fresh;
}

static void on_progress(struct mirror *m, const struct jv *v)
{
    struct thread *t = m->thread;
    struct call   *c = fold_call(&t->fold, jv_str_at(v, "call"));
    double         progress = 0;
    if (!c) return;
    tidy_reports(m);
    c->stage = keep(m, v, "stage");
    c->message = keep(m, v, "message");
    c->progress_data = keep(m, v, "data");
    if (jv_f64(jv_get(v, "progress"), &progress)) c->progress = progress;
    c->progress_no = ++t->progress_no;
    thread_wake(t);
}

/* Ask the store again, if anybody needs it. */
static void on_moved(struct mirror *m)
{
    struct thread *t = m->thread;
    m->following = false;
    mirror_end(t);
    thread_lost(t, true);
}

static bool of_mirror(struct mirror *m, struct str word, const struct jv *v)
{
    if (str_is(word, "facts")) return on_facts(m, v);
    if (str_is(word, "step")) return on_step(m, v);
    if (str_is(word, "progress")) on_progress(m, v);
    else if (str_is(word, "told")) thread_tell(m->thread, jv_str_at(v, "words"));
    else if (str_is(word, "answer")) on_answer(m, v);
    else if (str_is(word, "moved")) on_moved(m);
    else if (str_is(word, "gone")) {
        struct thread *t = m->thread;
        m->following = false;
        mirror_end(t);
        thread_deleted(t);
    }
    return true; /* a word of a newer version is passed over */
}

/* --- links ------------------------------------------------------------------------------------ */

static struct str key_of(const uint64_t *k)
{
    return str_n((const char *)k, sizeof *k);
}

void peer_init(struct peer *p, struct hub *h)
{
    p->hub = h;
    map_init(&p->mirrors);
}

bool peer_message(struct peer *p, struct str text)
{
    struct arena a;
    struct jv   *v;
    arena_init(&a, 0);
    bool ok = json_parse_own(&a, text, &v) == OK;
    if (ok) {
        uint64_t       k = (uint64_t)jv_int_at(v, "k", 0);
        struct mirror *m = map_get(&p->mirrors, key_of(&k));
        struct thread *t = m ? m->thread : NULL;
        if (str_is(jv_str_at(v, "m"), "sweep")) hub_look(p->hub);
        else if (m) ok = of_mirror(m, jv_str_at(v, "m"), v);
        if (t && thread_idle(t)) hub_idle(t->hub, t);
    }
    arena_done(&a);
    return ok;
}

static void join(struct mirror *m)
{
    follow(m);
    mirror_forward(m->thread);
}

void peer_up(struct peer *p)
{
    struct mirror *m;
    p->up = true;
    if (p->sweep) {
        struct buf text;
        buf_init(&text, 0);
        node_word(&text, "sweep", 0);
        p->sweep = false;
        transmit(p, &text);
    }
    for (size_t i = 0; (m = map_each(&p->mirrors, &i));)
        if (!m->following) join(m);
}

void peer_waits(struct peer *p)
{
    struct mirror *m;
    for (size_t i = 0; (m = map_each(&p->mirrors, &i));) {
        struct thread *t = m->thread;
        if (m->following || !thread_stranded(t)) continue;
        if (thread_idle(t)) hub_idle(t->hub, t);
        i = 0; /* who was told may have changed what is mirrored */
    }
}

void peer_down(struct peer *p)
{
    struct mirror *m;
    bool           was_up = p->up;
    p->up = false;
    for (size_t i = 0; (m = map_each(&p->mirrors, &i)); i = 0) {
        struct thread *t = m->thread;
        m->following = false;
        mirror_end(t);
        thread_lost(t, was_up); /* one that cannot be reached is not asked for at once again */
    }
    map_done(&p->mirrors);
    map_init(&p->mirrors);
}

/* --- life ------------------------------------------------------------------------------------- */

void mirror_begin(struct thread *t, struct str node, struct str url)
{
    struct nodes  *n = t->hub->setup.nodes;
    struct mirror *m = n && url.len ? mem_alloc(sizeof *m) : NULL;
    struct peer   *p = m ? n->reach(n, node, url) : NULL;
    if (!p) {
        mem_free(m);
        thread_lost(t, false);
        return;
    }
    m->thread = t;
    m->peer = p;
    m->k = ++p->last;
    list_init(&m->sent);
    arena_init(&m->reports, 0);
    if (map_put(&p->mirrors, key_of(&m->k), m) != OK) {
        mem_free(m);
        thread_lost(t, false);
        return;
    }
    t->mirror = m;
    thread_moved(t);
    if (p->up) join(m);
}

void mirror_end(struct thread *t)
{
    struct mirror *m = t->mirror;
    if (!m) return;
    if (m->following && m->peer->up) say(m, "leave");
    map_remove(&m->peer->mirrors, key_of(&m->k));
    take_back(m);
    t->mirror = NULL;
    for (size_t i = 0; t->fold.run && i < t->fold.run->call_count; i++) {
        struct call *c = t->fold.run->calls[i];
        c->stage = c->message = c->progress_data = STR_NONE;
    }
    arena_done(&m->reports);
    mem_free(m);
}

bool mirror_thinking(const struct thread *t)
{
    return t->mirror->thinking && t->step.count == 0;
}

bool mirror_quiet(const struct thread *t)
{
    return list_empty(&t->mirror->sent);
}
