/* erase.c -- removing and renaming a thread, in the order of its mailbox. */
#include "base/clock.h"
#include "run/engine.h"
#include "run/record.h"

static void on_edit(struct store_edit *k, enum err e);

/* In the mailbox's order like everything else: nothing is looked at until the store has
 * answered. */
void thread_edit(struct thread *t)
{
    struct command *c = t->editor;
    t->inflight = true;
    t->edit = (struct store_edit){ .log = { t->owner, t->id }, .hold = t->hold, .done = on_edit };
    if (c->kind == CMD_DELETE) {
        t->edit.remove = true;
        t->edit.at_ms = clock_wall_ms();
        t->edit.stub = record_stub(&t->batch, &t->fold, c->by, c->via);
        if (!t->edit.stub.ptr) {
            on_edit(&t->edit, ERR_NOMEM);
            return;
        }
    } else {
        t->edit.title = c->title;
        t->edit.title_was = c->title_was;
    }
    store_edit(t->hub->setup.store, &t->edit);
}

/* The log is gone: what is in memory goes with it, and whoever looks is told. Tools that still run
 * come home to nobody. */
static void wipe(struct thread *t)
{
    work_hang_up(t);
    jobs_orphan(t);
    step_clear(&t->step);
    t->over = false;
    fold_done(&t->fold);
    fold_init(&t->fold);
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
    wipe(t);
    thread_lost(t, true);
}

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
    command_detach(c); /* it may name the run that it stopped */
    if (e == ERR_NOT_FOUND)
        command_answer(t, c, 404, "unknown_thread", "There is no such conversation.");
    else if (e == ERR_CONFLICT)
        command_answer(t, c, 409, "renamed", "The conversation has another name already.");
    else if (e)
        command_answer(t, c, 503, "store_unavailable",
                       "The store cannot be written at the moment. Nothing was changed; try again "
                       "in a moment.");
    else if (c->kind == CMD_DELETE) wipe(t);
    else thread_retitle(t, c->title);
    if (c->done) c->done(c, &c->receipt);
    t->busy = false;
    thread_pump(t);
}
