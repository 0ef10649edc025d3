/* erase.c -- removing a thread, renaming it, and taking words out of it, in the order of its
 * mailbox. */
#include "base/clock.h"
#include "run/codes.h"
#include "run/engine.h"
#include "run/record.h"
#include "run/trim.h"
#include "store/links.h"

static void on_edit(struct store_edit *k, enum err e);

/* What is left of it, signed: else whoever can write the store could put a conversation away behind
 * a stub that says what they like. One whose facts cannot be read has no name to sign for. */
static struct str stub(struct thread *t, const struct command *c, int64_t at_ms)
{
    struct str body = record_stub(&t->batch, &t->fold, c->by, c->via);
    char       name[CHAIN_NAME + 1];
    if (!t->fold.count) return body;
    chain_name((struct log_name){ t->owner, t->id }, t->fold.facts[0]->at_ms, name);
    return vouch_stub(&t->hub->setup.vouch, &t->batch, name, at_ms, body, 0);
}

static enum err prepare(struct thread *t, const struct command *c)
{
    struct store_edit *x = &t->edit;
    switch (c->kind) {
    case CMD_DELETE:
        x->remove = true;
        x->at_ms = clock_wall_ms();
        x->stub = stub(t, c, x->at_ms);
        return x->stub.ptr ? OK : ERR_NOMEM;
    case CMD_TRIM: x->trim = &t->trim; return trim_thread(t, (unsigned)c->trim.kinds, &t->trim);
    default:
        x->title = c->title;
        x->title_was = c->title_was;
        return OK;
    }
}

/* In the mailbox's order like everything else: nothing is looked at until the store has
 * answered. */
void thread_edit(struct thread *t)
{
    hub_busy(t->hub, t);
    t->inflight = true;
    t->edit = (struct store_edit){ .log = { t->owner, t->id },
                                   .since_ns = t->editor->since_ns,
                                   .hold = t->hold,
                                   .done = on_edit };
    enum err e = prepare(t, t->editor);
    if (e) on_edit(&t->edit, e);
    else store_edit(t->hub->setup.store, &t->edit);
}

/* The log is gone: what is in memory goes with it, and whoever looks is told. Tools that still run
 * come home to nobody. */
void thread_wipe(struct thread *t)
{
    work_hang_up(t);
    jobs_orphan(t);
    step_clear(&t->step);
    t->over = false;
    fold_done(&t->fold);
    fold_init(&t->fold);
    codes_note(t);
    thread_leave_place(t);
    thread_retitle(t, STR(""));
    t->hold = (struct store_hold){ 0 };
    t->committed = 0;
    t->exists = t->fresh = false;
    thread_refuse(t, &t->parked, 404, "unknown_thread", "This conversation was deleted.");
    /* one connection may hold several, and lose all of them with the first */
    while (!list_empty(&t->followers)) {
        struct follower *f = LIST_ITEM(t->followers.next, struct follower, node);
        thread_unfollow(f);
        if (f->over) f->over(f);
    }
}

void thread_deleted(struct thread *t)
{
    thread_wipe(t);
    thread_lost(t, true);
}

static void refuse(struct thread *t, struct command *c, enum err e)
{
    const char *unsure =
        "The store did not answer while this was being done: it may have been done "
        "or not. Look again in a moment to find out.";
    if (e == ERR_NOT_FOUND)
        command_answer(t, c, 404, "unknown_thread", "There is no such conversation.");
    else if (e == ERR_CONFLICT && c->kind != CMD_TRIM)
        command_answer(t, c, 409, "renamed", "The conversation has another name already.");
    else
        command_answer(t, c, 503, "store_unavailable",
                       e == ERR_UNSURE ? unsure : thread_sentence(t, e));
}

/* What is not known to have happened is looked up before anything is told of the thread; and
 * whatever comes late of it finds another claim than its own. */
static void on_edit(struct store_edit *k, enum err e)
{
    struct thread  *t = LIST_ITEM(k, struct thread, edit);
    struct command *c = t->editor;
    t->editor = NULL;
    t->inflight = false;
    if (e == ERR_FENCED) { /* nothing was changed: its holder does it */
        list_push(&t->queue, &c->node);
        thread_lost(t, true);
        return;
    }
    t->busy = true;
    /* whatever came of it: the log knows */
    bool again = c->kind == CMD_TRIM || e == ERR_UNSURE;
    command_detach(c); /* it may name the run that it stopped */
    if (e) refuse(t, c, e);
    else if (c->kind == CMD_DELETE) thread_wipe(t);
    else if (c->kind == CMD_RENAME) thread_retitle(t, c->title);
    if (c->done) c->done(c, &c->receipt);
    t->busy = false;
    if (again) thread_reread(t);
    else thread_pump(t);
}
