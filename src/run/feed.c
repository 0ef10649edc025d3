/* feed.c -- see feed.h.
 *
 *   follow -> CMD_FOLLOW in the thread's mailbox -> a follower -> woken -> dirty -> feeds_next
 *
 * feeds_next takes the channels that were woken in turn and of each, in this order: facts, the open
 * step, progress, answers. A channel that has told everything leaves the list until it is woken.
 */
#include "run/feed.h"
#include "base/log.h"
#include "base/utf8.h"
#include "run/engine.h"
#include "run/nodewords.h"

#define FACTS_BYTES (256 * 1024) /* of one message, unless its first fact alone is longer */
#define STEP_BYTES  (64 * 1024)

struct answer {
    struct list node;
    struct buf  text;
};

struct channel {
    struct feeds   *feeds;
    struct list     dirty; /* linked while it may have something to tell */
    struct follower follower;
    struct list     answers; /* struct answer */
    struct log_name log;
    uint64_t        k, seq; /* told up to here */
    uint64_t        step_no, units, progress_no;
    unsigned        refs; /* the feeds', and commands under way */
    bool            left, joined, watch, want, moved, gone, head, thinking;
    char            title[TITLE_BYTES];
    char            names[];
};

struct feeds {
    struct hub *hub;
    void (*wake)(void *ctx);
    void       *ctx;
    struct map  channels; /* by k */
    struct list dirty;
    bool        sweep; /* to be told */
    struct list node;  /* of the hub's */
};

/* --- channels --------------------------------------------------------------------------------- */

static void mark(struct channel *c)
{
    if (c->left) return;
    if (!list_linked(&c->dirty)) list_add(&c->feeds->dirty, &c->dirty);
    c->feeds->wake(c->feeds->ctx);
}

static void on_wake(struct follower *f)
{
    mark(LIST_ITEM(f, struct channel, follower));
}

static void on_over(struct follower *f)
{
    struct channel *c = LIST_ITEM(f, struct channel, follower);
    c->gone = true;
    mark(c);
}

static void on_moved(struct follower *f)
{
    struct channel *c = LIST_ITEM(f, struct channel, follower);
    thread_unfollow(f);
    c->moved = true;
    mark(c);
}

static void unref(struct channel *c)
{
    if (--c->refs) return;
    LIST_EACH (n, &c->answers) {
        struct answer *a = LIST_ITEM(n, struct answer, node);
        list_remove(n);
        buf_done(&a->text);
        mem_free(a);
    }
    mem_free(c);
}

static struct str key_of(const uint64_t *k)
{
    return str_n((const char *)k, sizeof *k);
}

static void leave(struct channel *c)
{
    if (c->left) return;
    c->left = true;
    thread_unfollow(&c->follower);
    map_remove(&c->feeds->channels, key_of(&c->k));
    list_remove(&c->dirty);
    unref(c);
}

/* Behind the facts that are before it, like an answer. */
static void on_told(struct follower *f, struct str words)
{
    struct channel *c = LIST_ITEM(f, struct channel, follower);
    struct answer  *a = mem_alloc(sizeof *a);
    struct jsonw    w;
    if (!a) return;
    buf_init(&a->text, 0);
    node_begin(&w, &a->text, "told", c->k);
    jw_kstr(&w, "words", words);
    node_end(&w);
    list_add(&c->answers, &a->node);
    mark(c);
}

static struct channel *channel_of(const struct feeds *f, const struct jv *v)
{
    uint64_t k = (uint64_t)jv_int_at(v, "k", 0);
    return map_get(&f->channels, key_of(&k));
}

static struct channel *channel_new(struct feeds *f, uint64_t k, struct str owner, struct str thread)
{
    struct channel *c = mem_alloc(sizeof *c + owner.len + thread.len);
    if (!c) return NULL;
    c->feeds = f;
    c->k = k;
    c->refs = 1;
    c->follower.wake = on_wake;
    c->follower.over = on_over;
    c->follower.moved = on_moved;
    c->follower.told = on_told;
    list_init(&c->answers);
    memcpy(c->names, owner.ptr, owner.len);
    memcpy(c->names + owner.len, thread.ptr, thread.len);
    c->log =
        (struct log_name){ str_n(c->names, owner.len), str_n(c->names + owner.len, thread.len) };
    if (map_put(&f->channels, key_of(&c->k), c) == OK) return c;
    mem_free(c);
    return NULL;
}

/* --- up: what the other node wants ------------------------------------------------------------ */

static void set_watch(struct channel *c, bool watch, bool want)
{
    c->watch = watch;
    c->want = want;
    thread_counts(&c->follower, watch);
    thread_wants(&c->follower, want);
}

static bool is_moved(const struct receipt *a)
{
    return a->status == 503 && a->code && strcmp(a->code, NODE_MOVED) == 0;
}

static void on_follow(struct command *cmd, const struct receipt *a)
{
    struct channel *c = cmd->ctx;
    if (c->left) {
        /* nobody waits for it */
    } else if (a->status < 400 && !c->follower.thread) {
        c->joined = true;
        thread_follow(a->thread, &c->follower);
        set_watch(c, c->watch, c->want);
    } else if (a->status == 404) c->gone = true;
    else if (a->status >= 400) c->moved = true;
    if (!c->left) mark(c);
    command_free(cmd);
    unref(c);
}

/* A command of ours for the channel's thread. */
static void post(struct channel *c, struct command                           *cmd,
                 void (*done)(struct command *, const struct receipt *), bool more)
{
    cmd->ctx = c;
    cmd->done = done;
    cmd->forwarded = true;
    cmd->log.owner = arena_dup(&cmd->arena, c->log.owner);
    cmd->log.thread = arena_dup(&cmd->arena, c->log.thread);
    c->refs++;
    hub_carry(c->feeds->hub, cmd, more);
}

static bool follow(struct feeds *f, const struct jv *v)
{
    struct str      owner = jv_str_at(v, "owner"), thread = jv_str_at(v, "thread");
    uint64_t        k = (uint64_t)jv_int_at(v, "k", 0);
    struct channel *c =
        owner.len && thread.len && !channel_of(f, v) ? channel_new(f, k, owner, thread) : NULL;
    struct command *cmd = c ? command_new(CMD_FOLLOW) : NULL;
    if (!cmd) return false;
    c->seq = (uint64_t)jv_int_at(v, "seq", 0);
    c->watch = jv_true(jv_get(v, "watch"));
    c->want = jv_true(jv_get(v, "want"));
    post(c, cmd, on_follow, false);
    return true;
}

static struct answer *write_answer(struct channel *c, const struct command *cmd,
                                   const struct receipt *r)
{
    struct answer *a = mem_alloc(sizeof *a);
    struct jsonw   w;
    if (!a) return NULL;
    buf_init(&a->text, 0);
    node_begin(&w, &a->text, "answer", c->k);
    jw_kint(&w, "n", (int64_t)cmd->number);
    jw_kbool(&w, "here", r->thread != NULL);
    if (r->call) jw_kstr(&w, "call", r->call->id);
    node_write_receipt(&w, r);
    node_end(&w);
    if (!a->text.err) return a;
    buf_done(&a->text);
    mem_free(a);
    return NULL;
}

/* An answer that cannot be written is lost like one on a link that breaks: it is asked for
 * again. */
static void on_command(struct command *cmd, const struct receipt *r)
{
    struct channel *c = cmd->ctx;
    struct answer  *a = c->left || is_moved(r) ? NULL : write_answer(c, cmd, r);
    if (a) list_add(&c->answers, &a->node);
    else c->moved = true;
    if (!c->left) mark(c);
    command_free(cmd);
    unref(c);
}

static bool commands(struct channel *c, const struct jv *v)
{
    JV_EACH (x, jv_get(v, "list")) {
        struct command *cmd = node_read_command(x);
        if (!cmd) return false;
        post(c, cmd, on_command, x->next != NULL);
    }
    return true;
}

static bool of_channel(struct channel *c, struct str m, const struct jv *v)
{
    if (str_is(m, "commands")) return commands(c, v);
    if (str_is(m, "watch")) set_watch(c, jv_true(jv_get(v, "watch")), jv_true(jv_get(v, "want")));
    else if (str_is(m, "leave")) leave(c);
    else if (str_is(m, "unclaim") && c->follower.thread)
        command_unclaim(c->follower.thread, jv_int_at(v, "tab", 0));
    return true; /* a word of a newer version is passed over */
}

bool feeds_message(struct feeds *f, struct str text)
{
    struct arena a;
    struct jv   *v;
    arena_init(&a, 0);
    bool ok = json_parse_own(&a, text, &v) == OK;
    if (ok) {
        struct str      m = jv_str_at(v, "m");
        struct channel *c = channel_of(f, v);
        if (str_is(m, "sweep")) hub_look(f->hub);
        else if (str_is(m, "follow")) ok = follow(f, v);
        else if (c) ok = of_channel(c, m, v);
    }
    arena_done(&a);
    return ok;
}

/* --- down: what there is to tell -------------------------------------------------------------- */

static bool tell_facts(struct channel *c, struct buf *out)
{
    struct thread *t = c->follower.thread;
    struct str     title = thread_title(t);
    bool           renamed = !str_eq(str_cut(title, sizeof c->title - 1), str_c(c->title));
    size_t         from = out->len;
    struct jsonw   w;
    if (c->seq >= t->committed && c->head && !renamed) return false;
    node_begin(&w, out, "facts", c->k);
    if (renamed || !c->head) jw_kstr(&w, "title", title);
    jw_key(&w, "facts");
    jw_arr(&w);
    while (c->seq < t->committed && out->len - from < FACTS_BYTES) {
        const struct fact *f = t->fold.facts[c->seq++];
        jw_obj(&w);
        jw_kint(&w, "seq", (int64_t)f->seq);
        jw_kint(&w, "at", f->at_ms);
        jw_kstrz(&w, "kind", fact_name(f->kind));
        jw_kraw(&w, "body", f->body);
        jw_end_obj(&w);
    }
    jw_end_arr(&w);
    c->head = c->seq >= t->committed;
    jw_kbool(&w, "head", c->head);
    node_end(&w);
    snprintf(c->title, sizeof c->title, STR_FMT, STR_ARG(title));
    return true;
}

/* Bytes on a character boundary, as JSON wants them; the rest of a character comes with the
 * next. */
static struct piece whole_characters(struct piece p)
{
    if (p.what != PIECE_BYTES) return p;
    size_t n = utf8_cut(p.bytes, p.bytes.len < STEP_BYTES ? p.bytes.len : STEP_BYTES);
    if (n < p.bytes.len || !p.last) p.bytes = str_cut(p.bytes, n);
    return p;
}

static bool tell_step(struct channel *c, struct buf *out)
{
    const struct thread    *t = c->follower.thread;
    const struct open_step *s = &t->step;
    struct parts            parts = { s->parts, s->count, true };
    bool                    thinking = thread_thinking(t), fresh = s->no != c->step_no;
    struct jsonw            w;
    if (fresh) c->units = 0;
    uint64_t had = c->units;
    size_t   from = out->len;
    node_begin(&w, out, "step", c->k);
    jw_kint(&w, "no", (int64_t)s->no);
    jw_kbool(&w, "active", s->active);
    jw_kbool(&w, "thinking", thinking);
    jw_key(&w, "pieces");
    jw_arr(&w);
    while (s->active && out->len - from < STEP_BYTES) {
        struct piece p = whole_characters(parts_at(parts, c->units));
        if (p.what == PIECE_NONE || (p.what == PIECE_BYTES && !p.bytes.len)) break;
        node_write_piece(&w, &p);
        c->units += p.what == PIECE_BYTES ? p.bytes.len : 1;
    }
    jw_end_arr(&w);
    node_end(&w);
    if (fresh || c->units != had || thinking != c->thinking) {
        c->step_no = s->no;
        c->thinking = thinking;
        return true;
    }
    buf_truncate(out, from);
    return false;
}

static const struct call *next_report(const struct channel *c)
{
    const struct run  *r = c->follower.thread->fold.run;
    const struct call *next = NULL;
    for (size_t i = 0; r && i < r->call_count; i++) {
        const struct call *x = r->calls[i];
        if (x->progress_no > c->progress_no && (!next || x->progress_no < next->progress_no))
            next = x;
    }
    return next;
}

static bool tell_progress(struct channel *c, struct buf *out)
{
    const struct call *x = next_report(c);
    struct jsonw       w;
    if (!x) return false;
    c->progress_no = x->progress_no;
    node_begin(&w, out, "progress", c->k);
    jw_kint(&w, "no", (int64_t)x->progress_no);
    jw_kstr(&w, "call", x->id);
    if (x->stage.ptr) jw_kstr(&w, "stage", x->stage);
    if (x->message.ptr) jw_kstr(&w, "message", x->message);
    if (x->progress_data.ptr) jw_kstr(&w, "data", x->progress_data);
    jw_key(&w, "progress");
    jw_f64(&w, x->progress);
    node_end(&w);
    return true;
}

static bool tell_answer(struct channel *c, struct buf *out)
{
    if (list_empty(&c->answers)) return false;
    struct answer *a = LIST_ITEM(c->answers.next, struct answer, node);
    list_remove(&a->node);
    buf_str(out, buf_view(&a->text));
    buf_done(&a->text);
    mem_free(a);
    return true;
}

/* Facts first: whatever follows may speak of them. */
static bool tell(struct channel *c, struct buf *out)
{
    const struct thread *t = c->follower.thread;
    if (t && thread_away(t)) return false; /* being read again; wakes when it is back */
    if (t && (tell_facts(c, out) || tell_step(c, out) || tell_progress(c, out))) return true;
    if ((c->joined || c->moved || c->gone) && tell_answer(c, out)) return true;
    if (!c->moved && !c->gone) return false;
    node_word(out, c->gone ? "gone" : "moved", c->k);
    leave(c);
    return true;
}

bool feeds_next(struct feeds *f, struct buf *text)
{
    buf_clear(text);
    if (f->sweep) {
        f->sweep = false;
        node_word(text, "sweep", 0);
        return true;
    }
    while (!list_empty(&f->dirty)) {
        struct channel *c = LIST_ITEM(f->dirty.next, struct channel, dirty);
        list_remove(&c->dirty);
        c->refs++;
        bool told = tell(c, text);
        /* there may be more of it: behind the others */
        if (told && !c->left && !list_linked(&c->dirty)) list_add(&f->dirty, &c->dirty);
        unref(c);
        if (told) return true;
    }
    return false;
}

/* --- life ------------------------------------------------------------------------------------- */

struct feeds *feeds_new(struct hub *h, void (*wake)(void *ctx), void *ctx)
{
    struct feeds *f = mem_alloc(sizeof *f);
    if (!f) return NULL;
    f->hub = h;
    f->wake = wake;
    f->ctx = ctx;
    map_init(&f->channels);
    list_init(&f->dirty);
    list_add(&h->feeds, &f->node);
    return f;
}

void feeds_free(struct feeds *f)
{
    list_remove(&f->node);
    struct channel *c;
    for (size_t i = 0; (c = map_each(&f->channels, &i)); i = 0) leave(c);
    map_done(&f->channels);
    mem_free(f);
}

void feeds_sweep(struct hub *h)
{
    LIST_EACH (n, &h->feeds) {
        struct feeds *f = LIST_ITEM(n, struct feeds, node);
        f->sweep = true;
        f->wake(f->ctx);
    }
}
