/* test_loop.c -- the order of a turn, timers, posts from other threads. */
#include <string.h>

#include "base/clock.h"
#include "loop/loop.h"
#include "test.h"

struct thing {
    struct loop_dirty dirty;
    struct loop_timer timer;
    struct loop_post  post;
    struct loop      *loop;
    struct thing     *other;
    int               flushed, fired, ran, turns;
    uint64_t          longest_ns;
};

static void count_flush(struct loop_dirty *d)
{
    LIST_ITEM(d, struct thing, dirty)->flushed++;
}

static void stop_on_fire(struct loop_timer *t)
{
    struct thing *x = LIST_ITEM(t, struct thing, timer);
    x->fired++;
    loop_stop(x->loop);
}

static void count_turn(void *ctx, uint64_t busy_ns)
{
    struct thing *x = ctx;
    x->turns++;
    if (busy_ns > x->longest_ns) x->longest_ns = busy_ns;
}

static void begin(struct loop *l, struct thing *x)
{
    *x = (struct thing){ .loop = l, .dirty.flush = count_flush };
    REQUIRE(loop_init(l) == OK);
    loop_timer_init(l, &x->timer, stop_on_fire);
}

static void end(struct loop *l, struct thing *x)
{
    loop_timer_close(&x->timer, NULL);
    loop_done(l);
}

TEST(an_object_marked_often_is_flushed_once)
{
    struct loop  l;
    struct thing x;

    begin(&l, &x);
    for (int i = 0; i < 5; i++) loop_mark(&l, &x.dirty);
    loop_timer_set(&x.timer, 1);
    loop_run(&l);
    CHECK(x.flushed == 1);
    CHECK(x.fired == 1);
    end(&l, &x);
}

TEST(an_object_taken_off_is_not_flushed)
{
    struct loop  l;
    struct thing x;

    begin(&l, &x);
    loop_mark(&l, &x.dirty);
    loop_undirty(&x.dirty);
    loop_undirty(&x.dirty);
    loop_timer_set(&x.timer, 0);
    loop_run(&l);
    CHECK(x.flushed == 0);
    end(&l, &x);
}

static void mark_other(struct loop_dirty *d)
{
    struct thing *x = LIST_ITEM(d, struct thing, dirty);
    x->flushed++;
    loop_mark(x->loop, &x->other->dirty);
}

static void undirty_other(struct loop_dirty *d)
{
    struct thing *x = LIST_ITEM(d, struct thing, dirty);
    x->flushed++;
    loop_undirty(&x->other->dirty);
}

TEST(what_a_flush_marks_is_flushed_before_the_loop_sleeps)
{
    struct loop  l;
    struct thing x, y = { .dirty.flush = count_flush };

    begin(&l, &x);
    x.dirty.flush = mark_other;
    x.other = &y;
    loop_mark(&l, &x.dirty);
    do uv_run(&l.uv, UV_RUN_NOWAIT);
    while (l.behind);
    CHECK(x.flushed == 1);
    CHECK(y.flushed == 1);
    end(&l, &x);
}

TEST(a_flush_may_take_another_off)
{
    struct loop  l;
    struct thing x, y = { .dirty.flush = count_flush };

    begin(&l, &x);
    x.dirty.flush = undirty_other;
    x.other = &y;
    loop_mark(&l, &x.dirty);
    loop_mark(&l, &y.dirty);
    uv_run(&l.uv, UV_RUN_NOWAIT);
    CHECK(x.flushed == 1);
    CHECK(y.flushed == 0);
    end(&l, &x);
}

/* The two mark each other for ever: one begins it. */
static void never_clean(struct loop *l, struct thing *x, struct thing *y)
{
    *y = (struct thing){ .loop = l, .other = x, .dirty.flush = mark_other };
    x->other = y;
    x->dirty.flush = mark_other;
    loop_mark(l, &x->dirty);
}

TEST(a_timer_comes_in_spite_of_two_that_mark_each_other_for_ever)
{
    struct loop  l;
    struct thing x, y;

    begin(&l, &x);
    never_clean(&l, &x, &y);
    loop_timer_set(&x.timer, 20);
    loop_run(&l);
    CHECK(x.fired == 1);
    loop_undirty(&x.dirty);
    loop_undirty(&y.dirty);
    end(&l, &x);
}

TEST(a_loop_that_has_something_to_flush_does_not_sleep)
{
    struct loop  l;
    struct thing x, y;

    begin(&l, &x);
    never_clean(&l, &x, &y);
    loop_timer_set(&x.timer, 3600000); /* a loop that sleeps would do so until then */
    while (x.flushed < 1000) uv_run(&l.uv, UV_RUN_ONCE);
    CHECK(x.fired == 0);
    loop_undirty(&x.dirty);
    loop_undirty(&y.dirty);
    end(&l, &x);
}

/* Pieces of work, each longer than what a turn has for all of them. */
static char done[16];
struct piece {
    struct loop_dirty dirty;
    struct loop_post  post;
    struct loop      *loop;
    char              name;
    int               again; /* so often it is not through */
};

static void work_long(struct piece *p)
{
    uint64_t until = clock_mono_ns() + LOOP_SHARE_NS;
    while (clock_mono_ns() < until) {}
    done[strlen(done)] = p->name;
}

static void piece_flush(struct loop_dirty *d)
{
    struct piece *p = LIST_ITEM(d, struct piece, dirty);
    work_long(p);
    if (p->again-- > 0) loop_mark(p->loop, d);
}

static void piece_post(struct loop_post *post)
{
    work_long(LIST_ITEM(post, struct piece, post));
}

static void pieces(struct loop *l, struct piece p[3])
{
    memset(done, 0, sizeof done);
    for (int i = 0; i < 3; i++)
        p[i] = (struct piece){
            .loop = l, .name = (char)('a' + i), .dirty.flush = piece_flush, .post.run = piece_post
        };
}

TEST(what_takes_long_goes_on_in_the_next_turn_in_its_order)
{
    struct loop  l;
    struct thing x;
    struct piece p[3];

    begin(&l, &x);
    pieces(&l, p);
    p[0].again = 1;
    loop_mark(&l, &p[0].dirty);
    loop_mark(&l, &p[1].dirty);
    uv_run(&l.uv, UV_RUN_NOWAIT);
    CHECK(strcmp(done, "a") == 0 && l.behind);
    loop_mark(&l, &p[2].dirty); /* what a socket brought in between */
    uv_run(&l.uv, UV_RUN_NOWAIT);
    CHECK(strcmp(done, "ab") == 0 && l.behind);
    loop_timer_set(&x.timer, 3600000);
    uv_run(&l.uv, UV_RUN_ONCE); /* it does not sleep on them */
    CHECK(strcmp(done, "aba") == 0 && l.behind);
    uv_run(&l.uv, UV_RUN_NOWAIT);
    CHECK(strcmp(done, "abac") == 0 && !l.behind);
    end(&l, &x);
}

TEST(posts_that_take_long_go_on_in_the_next_turn_in_their_order)
{
    struct loop  l;
    struct thing x;
    struct piece p[3];

    begin(&l, &x);
    pieces(&l, p);
    for (int i = 0; i < 3; i++) loop_post(&l, &p[i].post);
    uv_run(&l.uv, UV_RUN_NOWAIT);
    CHECK(strcmp(done, "a") == 0);
    loop_unpost(&l, &p[1].post);
    loop_post(&l, &p[1].post);
    loop_timer_set(&x.timer, 3600000);
    while (strlen(done) < 3) uv_run(&l.uv, UV_RUN_ONCE);
    CHECK(strcmp(done, "acb") == 0 && x.fired == 0);
    end(&l, &x);
}

static void burn(struct loop_timer *t)
{
    uint64_t until = clock_mono_ns() + 20000000;
    while (clock_mono_ns() < until) {}
    loop_stop(LIST_ITEM(t, struct thing, timer)->loop);
}

TEST(lag_is_what_callbacks_took_and_not_what_the_loop_slept)
{
    struct loop  l;
    struct thing x;
    uint64_t     began = clock_mono_ns();

    begin(&l, &x);
    l.on_turn = count_turn;
    l.on_turn_ctx = &x;
    loop_timer_set(&x.timer, 100);
    loop_run(&l);                 /* sleeps 100 ms */
    uv_run(&l.uv, UV_RUN_NOWAIT); /* ends the turn in which loop_stop was called */
    CHECK(x.turns >= 2);
    CHECK(x.longest_ns + 90000000 <
          clock_mono_ns() - began); /* however long the machine let us wait */
    x.timer.fire = burn;
    loop_timer_set(&x.timer, 1);
    loop_run(&l);
    uv_run(&l.uv, UV_RUN_NOWAIT);
    CHECK(x.longest_ns >= 20000000);
    end(&l, &x);
}

static void set_after_burning(struct loop_timer *t)
{
    struct thing *x = LIST_ITEM(t, struct thing, timer);
    uint64_t      until = clock_mono_ns() + 20000000;

    while (clock_mono_ns() < until) {}
    t->fire = stop_on_fire;
    x->longest_ns = clock_mono_ns();
    loop_timer_set(t, 10);
}

TEST(a_timer_set_late_in_a_long_turn_does_not_fire_early)
{
    struct loop  l;
    struct thing x;

    begin(&l, &x);
    x.timer.fire = set_after_burning;
    loop_timer_set(&x.timer, 0);
    loop_run(&l);
    CHECK(clock_mono_ns() - x.longest_ns >= 9000000); /* libuv counts in whole ms */
    end(&l, &x);
}

TEST(a_stopped_timer_does_not_fire_and_setting_again_moves_it)
{
    struct loop  l;
    struct thing x, y;

    begin(&l, &x);
    y = (struct thing){ .loop = &l };
    loop_timer_init(&l, &y.timer, stop_on_fire);
    loop_timer_set(&y.timer, 1);
    loop_timer_stop(&y.timer);
    loop_timer_set(&x.timer, 60000);
    loop_timer_set(&x.timer, 5);
    loop_run(&l);
    CHECK(y.fired == 0);
    CHECK(x.fired == 1);
    loop_timer_close(&y.timer, NULL);
    end(&l, &x);
}

static void note_closed(struct loop_timer *t)
{
    LIST_ITEM(t, struct thing, timer)->ran++;
}

TEST(the_owner_hears_when_a_timer_s_memory_may_go)
{
    struct loop  l;
    struct thing x;

    begin(&l, &x);
    loop_timer_close(&x.timer, note_closed);
    CHECK(x.ran == 0);
    uv_run(&l.uv, UV_RUN_NOWAIT);
    CHECK(x.ran == 1);
    loop_done(&l);
}

/* --- posts from another thread ---------------------------------------------------- */

#define POSTS 10000

static struct {
    struct loop     *loop;
    struct loop_post post[POSTS];
    int              next;
    bool             in_order;
} many;

static void check_order(struct loop_post *p)
{
    if (p != &many.post[many.next++]) many.in_order = false;
    if (many.next == POSTS) loop_stop(many.loop);
}

static void post_many(void *arg)
{
    for (int i = 0; i < POSTS; i++) loop_post(many.loop, &many.post[i]);
}

TEST(posts_of_another_thread_run_on_the_loop_in_their_order)
{
    struct loop  l;
    struct thing x;
    uv_thread_t  t;

    begin(&l, &x);
    memset(&many, 0, sizeof many);
    many.loop = &l;
    many.in_order = true;
    for (int i = 0; i < POSTS; i++) many.post[i].run = check_order;
    REQUIRE(uv_thread_create(&t, post_many, NULL) == 0);
    loop_run(&l);
    uv_thread_join(&t);
    CHECK(many.next == POSTS);
    CHECK(many.in_order);
    end(&l, &x);
}

static void count_post(struct loop_post *p)
{
    LIST_ITEM(p, struct thing, post)->ran++;
}

TEST(a_post_taken_back_does_not_run)
{
    struct loop  l;
    struct thing x;

    begin(&l, &x);
    x.post.run = count_post;
    loop_post(&l, &x.post);
    loop_unpost(&l, &x.post);
    loop_unpost(&l, &x.post);
    uv_run(&l.uv, UV_RUN_NOWAIT);
    CHECK(x.ran == 0);
    loop_post(&l, &x.post);
    uv_run(&l.uv, UV_RUN_NOWAIT);
    CHECK(x.ran == 1);
    end(&l, &x);
}
