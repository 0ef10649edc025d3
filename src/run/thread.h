/* thread.h -- a conversation in memory: its fold, its open step, its followers,
 * and the mailbox that puts everything that happens to it into one order.
 *
 * One rule: handle a command or a decision -> facts -> append -> committed -> tell
 * followers, answer the command, act (call the model, start the tool). While an
 * append is under way nothing else is looked at; so every decision is made on a
 * state that is on disk or goes to disk together with it. If an append fails, the
 * fold is thrown away and read again from the log: the same path as after a crash.
 *
 * With several nodes on one database a thread is held by one of them (this rule is its), and
 * mirrored by those that show it meanwhile: mirror.h.
 *
 * A thread lives in its hub; idle ones without followers may be forgotten at any
 * time. Nothing outside run/ keeps a pointer without being a follower.
 */
#ifndef PARLEY_THREAD_H
#define PARLEY_THREAD_H

#include "run/command.h"
#include "run/fold.h"
#include "run/step.h"

struct hub;
struct thread;

/* Whoever wants to know when there is more to tell. wake() may be called often and must be
 * cheap. */
struct follower {
    struct list node;
    void (*wake)(struct follower *f);
    /* The thread is deleted: nothing more will come. May be NULL. */
    void (*over)(struct follower *f);
    /* It is not held by this node any more. NULL: that makes no difference. */
    void (*moved)(struct follower *f);
    /* Words that somebody sent (command.h). NULL: they are for others. May unfollow. */
    void (*told)(struct follower *f, struct str words);
    struct thread *thread;
    /* a person looks: an expired gate may call the model; CMD_STOP's `unwatched` */
    bool           counts;
    bool           wants; /* a program waits for the outcome: CMD_STOP's `unwanted` */
};
void thread_follow(struct thread *t, struct follower *f);
void thread_unfollow(struct follower *f);
/* Says of a follower that it counts, or does not any more. */
void thread_counts(struct follower *f, bool counts);
/* The same of who wants it. */
void thread_wants(struct follower *f, bool wants);

struct str              thread_id(const struct thread *t);
struct str              thread_title(const struct thread *t);
const struct fold      *thread_fold(const struct thread *t);
uint64_t                thread_committed(const struct thread *t); /* facts up to here may be told */
/* being read again after a failed append: nothing can be told now; wakes when it is back */
bool                    thread_away(const struct thread *t);
/* ... and not before somebody has put the store's files back: who waits is not kept waiting */
bool                    thread_stuck(const struct thread *t);
/* the step being spoken, active or not */
const struct open_step *thread_step(const struct thread *t);
/* the model was called and has not said anything yet */
bool                    thread_thinking(const struct thread *t);
/* grows with every progress report */
uint64_t                thread_progress_no(const struct thread *t);
const char             *thread_state(const struct thread *t);

/* The same for who tells of it, asked once: good until the loop takes up something else. */
struct thread_view {
    const struct thread    *thread;
    const struct fold      *fold;
    const struct open_step *step;
    uint64_t                committed;
    bool                    away;
};
struct thread_view thread_look(const struct thread *t);

#endif
