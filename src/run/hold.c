/* hold.c -- whose a thread is, and its log in memory: claimed, read, lost, given back. */
#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "run/codes.h"
#include "run/engine.h"

static void on_claim(struct store_claim *c, enum err e);
static void drop_inside(struct thread *t, bool all);
static void unreadable(struct thread *t, enum err e);
static void on_read(struct store_read *r, enum err e, const struct store_fact *facts, size_t count);

/* --- loading --------------------------------------------------------------------------- */

static void read_log(struct thread *t)
{
    t->read =
        (struct store_read){ .log = { t->owner, t->id }, .after = t->fold.count, .done = on_read };
    store_read(t->hub->setup.store, &t->read);
}

/* Claimed first, then read: nobody else can append in between. Alone with its store a process holds
 * everything. */
void thread_load(struct thread *t)
{
    struct store *s = t->hub->setup.store;
    if (t->hub->draining && store_shared(s) && !t->claimed) {
        thread_refuse(t, &t->queue, 503, "restarting",
                      "The server is restarting; try again in a moment.");
        drop_inside(t, false);
        return;
    }
    /* An idle mirror of a run that goes on is not idle any more once its link is gone. It must not
     * be forgotten while the store has its claim. */
    hub_busy(t->hub, t);
    t->loading = true;
    if (t->claimed || !store_shared(s)) {
        read_log(t);
        return;
    }
    t->hub->counts.claims++;
    t->claim = (struct store_claim){ .log = { t->owner, t->id },
                                     .since_ns = thread_since(&t->queue),
                                     .done = on_claim };
    store_claim(s, &t->claim);
}

/* --- whose it is ------------------------------------------------------------------------------ */

static bool is_ours(const struct thread *t)
{
    return t->hold.epoch || t->hold.life;
}

static void on_claim(struct store_claim *c, enum err e)
{
    struct thread *t = LIST_ITEM(c, struct thread, claim);
    t->loading = false;
    bool theirs = e == ERR_BUSY && c->node.ptr; /* else the database did not answer */
    if (theirs && c->alive) {
        fault_hit("thread.held_elsewhere");
        mirror_begin(t, c->node, c->url);
        return;
    }
    if (theirs) { /* until just now */
        thread_lost(t, true);
        return;
    }
    if (e) {
        unreadable(t, e);
        return;
    }
    if (!is_ours(t)) step_clear(&t->step); /* somebody else's words, cut off */
    t->hold = c->hold;
    t->loading = true;
    fault_hit("thread.claimed");
    read_log(t);
}

/* Sent before, it may have arrived. */
static const char *unreachable(const struct command *c)
{
    if (c->repeated)
        return "The node that works on this conversation cannot be reached. What you sent may have "
               "arrived there or not: look at the conversation before you send it again.";
    return "The node that works on this conversation cannot be reached. Nothing was lost; try "
           "again "
           "in a moment.";
}

static bool is_overdue(const struct command *c)
{
    return c->since_ns && clock_mono_ns() - c->since_ns >= STRANDED_MS * 1000000ull;
}

bool thread_stranded(struct thread *t)
{
    bool all = t->stranded_ms && clock_mono_ms() - t->stranded_ms > STRANDED_MS;
    bool was = t->busy, any = false;
    t->busy = true;
    LIST_EACH (n, &t->queue) {
        struct command *c = LIST_ITEM(n, struct command, node);
        if (c->kind >= CMD_EXPIRE || !(all || is_overdue(c))) continue;
        any = true;
        command_turn_away(t, c, 503, "node_unreachable", unreachable(c));
    }
    if (all) drop_inside(t, false);
    t->busy = was;
    return any;
}

void thread_lost(struct thread *t, bool soon)
{
    t->known = t->committed;
    t->loaded = t->assumed = t->claimed = false;
    if (!t->stranded_ms) t->stranded_ms = clock_mono_ms();
    else soon = false; /* asked already, in vain */
    (void)thread_stranded(t);
    if (thread_idle(t)) hub_idle(t->hub, t);
    else if (t->loading) return;
    else if (soon) thread_load(t);
    else hub_stalled(t->hub, t);
}

void thread_drain(struct thread *t)
{
    thread_refuse(t, &t->parked, 503, "restarting",
                  "The server is restarting; try again in a moment.");
    thread_park(t);
}

/* An append that is under way will say whether it still is ours. */
void thread_lapsed(struct thread *t)
{
    if (t->mirror || !is_ours(t) || t->inflight) return;
    thread_lost(t, true);
}

void thread_moved(struct thread *t)
{
    if (is_ours(t)) {
        work_hang_up(t);
        step_clear(&t->step);
        t->hold = (struct store_hold){ 0 };
    }
    thread_quit_place(t);
    thread_put_back(t, &t->parked); /* the holder has them wait, or not */
    LIST_EACH (n, &t->followers) {
        struct follower *f = LIST_ITEM(n, struct follower, node);
        if (f->moved) f->moved(f);
    }
}

void thread_give_back(struct thread *t)
{
    if (t->mirror || !is_ours(t) || t->inflight || t->loading || !list_empty(&t->jobs)) return;
    if (store_shared(t->hub->setup.store))
        store_release(t->hub->setup.store, (struct log_name){ t->owner, t->id }, t->hold);
    thread_moved(t);
}

static void drop_inside(struct thread *t, bool all)
{
    LIST_EACH (n, &t->queue) {
        struct command *c = LIST_ITEM(n, struct command, node);
        if (c->kind != CMD_EXPIRE && !all) continue;
        list_remove(n);
        c->receipt = (struct receipt){ .status = 503, .code = "store_unavailable" };
        if (c->done) c->done(c, &c->receipt);
    }
}

/* Its log cannot be read. What is damaged stays so: it is told once to each who asks, and can only
 * be deleted. Anything else may pass: whoever asks next has it read again. */
static void unreadable(struct thread *t, enum err e)
{
    bool            damaged = e == ERR_DAMAGED;
    struct command *remove = NULL;
    log_line(LOG_ERROR, damaged ? "thread.damaged" : "thread.unreadable", "thread", log_str(t->id),
             "why", err_name(e), NULL);
    fold_done(&t->fold);
    fold_init(&t->fold);
    t->committed = 0;
    t->busy = true;
    LIST_EACH (n, &t->queue) {
        struct command *c = LIST_ITEM(n, struct command, node);
        if (!damaged || c->kind != CMD_DELETE || remove) continue;
        list_remove(n);
        remove = c;
    }
    if (damaged)
        thread_refuse(
            t, &t->queue, 409, "damaged",
            "This conversation is damaged on the server's disk: what is there is not what "
            "was saved, so none of it is shown. "
            "Delete it, or have it brought back from a backup.");
    else
        thread_refuse(t, &t->queue, 503, "store_unavailable",
                      "The conversation cannot be read at the moment. Try again in a moment.");
    drop_inside(t, damaged);
    t->busy = false;
    if (remove) {
        command_answer(t, remove, 200, NULL, NULL);
        t->editor = remove;
        thread_edit(t);
    } else if (thread_idle(t)) hub_idle(t->hub, t);
    else if (!damaged) hub_stalled(t->hub, t);
}

/* Somebody else has gone on with it since (or an append of ours that seemed to fail did not): what
 * the model says here is not the answer any more. */
static void drop_words(struct thread *t)
{
    if (t->fold.count <= t->known || !t->step.active) return;
    work_hang_up(t);
    step_clear(&t->step);
}

static void on_read(struct store_read *r, enum err e, const struct store_fact *facts, size_t count)
{
    struct thread *t = LIST_ITEM(r, struct thread, read);
    t->loading = t->claimed = false;
    t->stranded_ms = 0;
    if (e == ERR_NOT_FOUND && t->exists) thread_wipe(t); /* deleted meanwhile */
    t->exists = e == OK;
    for (size_t i = 0; i < count && !e; i++)
        e = fold_apply(&t->fold, &(struct stored_fact){ facts[i].seq, facts[i].at_ms, facts[i].kind,
                                                        facts[i].body });
    if (e && e != ERR_NOT_FOUND) {
        unreadable(t, e);
        return;
    }
    fault_hit("thread.loaded");
    if (e == OK) thread_retitle(t, r->title);
    drop_words(t);
    t->committed = t->fold.count;
    t->loaded = true;
    codes_note(t);
    t->fresh = t->exists && !t->step.active;
    t->revived |= t->fresh && run_live(t->fold.run);
    jobs_adopt(t);
    thread_wake(t);
    thread_pump(t);
}
