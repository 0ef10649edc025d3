/* hub.c -- all threads of the process. See hub.h.
 *
 * Threads are found by owner and id, loaded when somebody asks, and forgotten when
 * they are idle and more than `threads_max` are. Gates expire by one timer: the
 * store knows which is next; the timer is set to it and moved forward when a
 * nearer one is asked.
 */
#include "run/hub.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/id.h"
#include "base/log.h"
#include "run/codes.h"
#include "run/engine.h"
#include "run/people.h"

#define RETRY_MS      250 /* how often a thread whose append failed tries again */
#define EXPIRY_MAX_MS (3600 * 1000)
#define EXPIRY_BATCH  256
#define SWEEP_MS      1000
#define SWEEP_BATCH   100
#define RECOVER_AHEAD 64 /* conversations being read again at a time */
/* and how long before the next are begun, plus as much again by chance */
#define RECOVER_MS 20

static void on_expiry(struct loop_timer *t);
static void on_retry(struct loop_timer *t);
static void on_turn(struct loop_timer *t);
static void on_pace(struct loop_timer *t);
static void on_tools(void *ctx);
static void on_sweep(struct loop_timer *t);
static void on_lapse(void *ctx);
static void on_next_due(struct store_list *l, enum err e, const struct store_row *rows,
                        size_t count, struct str next);

struct hub *hub_new(const struct hub_setup *s)
{
    struct hub *h = mem_alloc(sizeof *h);
    if (!h) return NULL;
    h->setup = *s;
    id_letters(h->life, ID_LEN);
    map_init(&h->threads);
    map_init(&h->codes);
    list_init(&h->idle);
    list_init(&h->line);
    list_init(&h->judging);
    list_init(&h->titling);
    list_init(&h->feeds);
    arena_init(&h->recover.arena, 0);
    loop_timer_init(s->loop, &h->expiry, on_expiry);
    loop_timer_init(s->loop, &h->retry, on_retry);
    loop_timer_init(s->loop, &h->turn, on_turn);
    loop_timer_init(s->loop, &h->recover.pace, on_pace);
    loop_timer_init(s->loop, &h->sweep, on_sweep);
    store_on_lapse(s->store, on_lapse, h);
    s->registry->changed = on_tools;
    s->registry->changed_ctx = h;
    return h;
}

/* libuv does not say in which order they are closed. */
static void closed_one(struct hub *h)
{
    if (!--h->open_timers) mem_free(h);
}
static void expiry_closed(struct loop_timer *t)
{
    closed_one(LIST_ITEM(t, struct hub, expiry));
}
static void retry_closed(struct loop_timer *t)
{
    closed_one(LIST_ITEM(t, struct hub, retry));
}
static void turn_closed(struct loop_timer *t)
{
    closed_one(LIST_ITEM(t, struct hub, turn));
}
static void pace_closed(struct loop_timer *t)
{
    closed_one(LIST_ITEM(t, struct hub, recover.pace));
}
static void sweep_closed(struct loop_timer *t)
{
    closed_one(LIST_ITEM(t, struct hub, sweep));
}

void hub_free(struct hub *h)
{
    struct thread *t;
    h->setup.registry->changed = NULL;
    title_stop(h);
    for (size_t i = 0; (t = map_each(&h->threads, &i));) thread_free(t);
    map_done(&h->threads);
    codes_done(h);
    basis_free(h);
    arena_done(&h->recover.arena);
    h->open_timers = 5;
    loop_timer_close(&h->sweep, sweep_closed);
    loop_timer_close(&h->turn, turn_closed);
    loop_timer_close(&h->recover.pace, pace_closed);
    loop_timer_close(&h->retry, retry_closed);
    loop_timer_close(&h->expiry, expiry_closed);
}

void hub_list(struct hub *h, struct store_list *l)
{
    store_list(h->setup.store, l);
}

void hub_row(struct hub *h, struct store_session *x)
{
    store_session(h->setup.store, x);
}

bool hub_shared(const struct hub *h)
{
    return store_shared(h->setup.store);
}

struct hub_store hub_store(const struct hub *h)
{
    const struct store *s = h->setup.store;
    return (struct hub_store){ store_health(s), store_promise(s), store_problem(s),
                               store_log_bytes(s) };
}

void hub_change(struct hub *h, const struct hub_setup *s)
{
    h->setup = *s;
}

const struct hub_setup *hub_setup(const struct hub *h)
{
    return &h->setup;
}
bool hub_draining(const struct hub *h)
{
    return h->draining;
}
unsigned hub_runs(const struct hub *h)
{
    return h->runs;
}
struct hub_counts hub_counts(const struct hub *h)
{
    struct hub_counts    c = h->counts;
    const struct thread *t;
    for (size_t i = 0; (t = map_each(&h->threads, &i));) {
        c.held += !t->mirror && (t->hold.epoch || t->hold.life);
        c.mirrored += t->mirror != NULL;
    }
    return c;
}
unsigned hub_jobs(const struct hub *h)
{
    return h->jobs;
}

const struct hub_page *hub_page(const struct hub *h, struct str name)
{
    if (!name.len) return &h->setup.pages[0];
    for (size_t i = 0; i < h->setup.page_count; i++)
        if (str_eq(h->setup.pages[i].name, name)) return &h->setup.pages[i];
    return NULL;
}

bool hub_page_allows(const struct hub_page *page, const struct tool *tool)
{
    if (tool->reply) return !page->answer; /* nothing stands beside an answer that has a form */
    if (page->all_tools) return true;
    for (size_t i = 0; i < page->tool_count; i++)
        if (str_eq(page->tools[i], tool->name)) return true;
    return false;
}

/* --- finding and forgetting ------------------------------------------------------------- */

struct thread *hub_find(const struct hub *h, struct log_name log)
{
    char key[512];
    if (log.owner.len + 1 + log.thread.len > sizeof key) return NULL;
    memcpy(key, log.owner.ptr, log.owner.len);
    key[log.owner.len] = 0;
    memcpy(key + log.owner.len + 1, log.thread.ptr, log.thread.len);
    return map_get(&h->threads, str_n(key, log.owner.len + 1 + log.thread.len));
}

static struct thread *find_or_add(struct hub *h, struct log_name log)
{
    struct thread *t = hub_find(h, log);
    if (t) return t;
    if (!(t = thread_new(h, log))) return NULL;
    if (map_put(&h->threads, t->key, t) != OK) {
        thread_free(t);
        return NULL;
    }
    return t;
}

/* Whoever needs it next claims it. */
static void forget(struct hub *h, struct thread *t)
{
    must(!t->loading && !t->inflight); /* the store would answer into freed memory */
    hub_busy(h, t);
    thread_give_back(t);
    map_remove(&h->threads, t->key);
    thread_free(t);
}

void hub_busy(struct hub *h, struct thread *t)
{
    if (!list_linked(&t->lru)) return;
    list_remove(&t->lru);
    h->idle_count--;
    h->idle_bytes -= t->idle_bytes;
}

/* Called at the end of a pump, which may be deep in a callback that still uses the
 * thread; so only others are forgotten here, never `t` itself. */
void hub_idle(struct hub *h, struct thread *t)
{
    bool   known = list_linked(&t->lru);
    size_t bytes = t->fold.arena.used;
    /* Another node may make it at any moment: it is looked for again. */
    if (!t->exists && store_shared(h->setup.store)) t->loaded = false;
    while (!list_empty(&h->idle) && h->idle.next != &t->lru) {
        struct thread *first = LIST_ITEM(h->idle.next, struct thread, lru);
        bool           fits = h->idle_count + !known <= h->setup.threads_max &&
                    h->idle_bytes + (known ? 0 : bytes) <= h->setup.idle_bytes_max;
        if (first->exists && fits) break;
        forget(h, first);
    }
    if (known) return;
    t->idle_bytes = bytes;
    h->idle_bytes += bytes;
    /* One that only somebody asked about, of which the store has nothing, goes first. */
    if (t->exists) list_add(&h->idle, &t->lru);
    else list_push(&h->idle, &t->lru);
    h->idle_count++;
}

/* --- commands --------------------------------------------------------------------------------- */

static void no_memory(struct command *c)
{
    c->receipt =
        (struct receipt){ .status = 503,
                          .code = "out_of_memory",
                          .message = "The server is out of memory; try again in a moment." };
    c->done(c, &c->receipt);
}

/* A command that lost a word on its way here may mean something else: it is not looked at. */
static bool is_whole(const struct command *c)
{
    return !c->arena.failed && c->log.owner.ptr && c->log.thread.ptr;
}

void hub_post(struct hub *h, struct command *c)
{
    struct thread *t = is_whole(c) ? find_or_add(h, c->log) : NULL;
    if (!c->since_ns) c->since_ns = clock_mono_ns();
    if (t) thread_post(t, c);
    else no_memory(c);
}

/* A look at what another node may hold needs nobody's claim. */
static bool only_looks(const struct hub *h, const struct command *c)
{
    return c->kind == CMD_FOLLOW && c->follow.peek && is_whole(c) && store_shared(h->setup.store) &&
           !hub_find(h, c->log);
}

/* Whoever says it came in with these roles, on a socket perhaps long ago: those that they were seen
 * without since are gone. The node where they are knows that; others may not know yet what they
 * have, so what comes from there is not looked at again. */
static void drop_lost(struct hub *h, struct command *c)
{
    struct str had = c->roles, approver = STR("approver");
    c->roles = people_still(h->setup.people, &c->arena, c->by, had);
    if (h->setup.approvers && roles_have(had, approver) && !roles_have(c->roles, approver))
        c->may_decide = false;
}

void hub_submit(struct hub *h, struct command *c)
{
    drop_lost(h, c);
    c->since_ns = clock_mono_ns();
    if (only_looks(h, c)) lookup_thread(h, c);
    else if (c->log.thread.ptr || !c->id.len || c->arena.failed) hub_post(h, c);
    else lookup_confirmation(h, c);
}

/* Yes and no to one question: which of them is meant, nobody can say. */
static bool contradicts(struct command *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < i; k++)
            if (list[i]->kind == CMD_DECIDE && list[k]->kind == CMD_DECIDE &&
                str_eq(list[i]->id, list[k]->id) &&
                list[i]->decide.confirmed != list[k]->decide.confirmed)
                return true;
    return false;
}

static void contradiction(struct command *c)
{
    c->receipt = (struct receipt){ .status = 422,
                                   .code = "contradiction",
                                   .message = COMMAND_CONTRADICTION };
    c->done(c, &c->receipt);
}

void hub_submit_all(struct hub *h, struct command **list, size_t count)
{
    for (size_t i = 0; i < count; i++) drop_lost(h, list[i]);
    if (contradicts(list, count)) {
        for (size_t i = 0; i < count; i++) contradiction(list[i]);
        return;
    }
    struct thread *t = is_whole(list[0]) ? find_or_add(h, list[0]->log) : NULL;
    for (size_t i = 0; i + 1 < count; i++) {
        if (t && is_whole(list[i])) thread_queue(t, list[i]);
        else no_memory(list[i]);
    }
    hub_post(h, list[count - 1]);
}

void hub_carry(struct hub *h, struct command *c, bool more)
{
    struct thread *t = is_whole(c) ? find_or_add(h, c->log) : NULL;
    if (!t) no_memory(c);
    else if (more) thread_queue(t, c);
    else thread_post(t, c);
}

/* --- expiry ----------------------------------------------------------------------------------- */

static void ask_next_due(struct hub *h)
{
    if (h->expiry_busy) {
        h->expiry_again = true;
        return;
    }
    h->expiry_busy = true;
    h->list = (struct store_list){ .kind = STORE_NEXT_DUE, .limit = 1, .done = on_next_due };
    store_list(h->setup.store, &h->list);
}

void hub_due(struct hub *h, int64_t at_ms)
{
    int64_t  in = at_ms - clock_wall_ms();
    uint64_t wait = in < 1 ? 1 : in > EXPIRY_MAX_MS ? EXPIRY_MAX_MS : (uint64_t)in;
    if (uv_is_active((uv_handle_t *)&h->expiry.uv) && uv_timer_get_due_in(&h->expiry.uv) <= wait)
        return;
    loop_timer_set(&h->expiry, wait);
}

void hub_sweep(struct hub *h)
{
    hub_due(h, clock_wall_ms());
}

static void on_next_due(struct store_list *l, enum err e, const struct store_row *rows,
                        size_t count, struct str next)
{
    struct hub *h = LIST_ITEM(l, struct hub, list);
    h->expiry_busy = false;
    (void)next;
    if (e) hub_due(h, clock_wall_ms() + 1000);
    else if (count) hub_due(h, rows[0].approval.expires_ms);
    if (h->expiry_again) {
        h->expiry_again = false;
        ask_next_due(h);
    }
}

/* When the last of a batch is through, the next batch is looked for at once; if one failed, after a
 * pause. */
static void on_expired(struct command *c, const struct receipt *a)
{
    struct hub *h = c->ctx;
    h->expiry_failed |= a->status >= 400;
    command_free(c);
    if (--h->expiring) return;
    hub_due(h, clock_wall_ms() + (h->expiry_failed ? 1000 : 0));
    h->expiry_failed = false;
}

static void expire_row(struct hub *h, const struct store_row *row)
{
    struct command *c = command_new(CMD_EXPIRE);
    if (!c) {
        h->expiry_failed = true;
        return;
    }
    h->expiring++;
    bool offered = str_is(row->approval.status, "offered");
    c->log.owner = arena_dup(&c->arena, row->owner);
    c->log.thread = arena_dup(&c->arena, row->thread);
    c->id = arena_dup(&c->arena, offered ? row->approval.call : row->approval.id);
    c->ctx = h;
    c->done = on_expired;
    hub_post(h, c);
}

static void on_due(struct store_list *l, enum err e, const struct store_row *rows, size_t count,
                   struct str next)
{
    struct hub *h = LIST_ITEM(l, struct hub, list);
    h->expiry_busy = false;
    (void)next;
    h->expiring++; /* held by this loop, whose rows may be through before it is */
    for (size_t i = 0; !e && i < count; i++) expire_row(h, &rows[i]);
    h->expiring--;
    if (e || (count && !h->expiring)) hub_due(h, clock_wall_ms() + 1000);
    else if (!count) ask_next_due(h);
}

static void on_expiry(struct loop_timer *t)
{
    struct hub *h = LIST_ITEM(t, struct hub, expiry);
    if (h->expiring) return; /* the last of them comes here again */
    if (h->expiry_busy) {
        hub_due(h, clock_wall_ms() + 50);
        return;
    }
    h->expiry_busy = true;
    h->list = (struct store_list){
        .kind = STORE_DUE, .due_ms = clock_wall_ms(), .limit = EXPIRY_BATCH, .done = on_due
    };
    store_list(h->setup.store, &h->list);
}

/* --- trouble, recovery, shutdown -------------------------------------------------------------- */

void hub_stalled(struct hub *h, struct thread *t)
{
    t->stalled = true;
    hub_busy(h, t);
    if (!uv_is_active((uv_handle_t *)&h->retry.uv)) loop_timer_set(&h->retry, RETRY_MS);
}

static void recover_again(struct hub *h)
{
    h->unrecovered = true;
    if (!uv_is_active((uv_handle_t *)&h->retry.uv)) loop_timer_set(&h->retry, RETRY_MS);
}

/* Thousands may have been under way. They are read a few at a time, oldest first, with pauses that
 * are not the same on every server that comes back at this moment; the places for runs do the
 * rest. */
static void on_recovered(struct command *c, const struct receipt *a)
{
    struct hub *h = c->ctx;
    if (a->status == 503) recover_again(h);
    h->recover.open--;
    command_free(c);
}

/* The store has given it to us. If it is in memory, it was somebody else's until now (or ours by an
 * older claim). */
static bool take_over(struct hub *h, const struct log_name *log, struct store_hold hold)
{
    struct thread *t = store_shared(h->setup.store) ? find_or_add(h, *log) : NULL;
    if (!t || t->loading || t->inflight) return t == NULL || t->loading;
    if (t->loaded && !t->mirror) {
        t->hold = hold;
        return true;
    }
    mirror_end(t);
    step_clear(&t->step);
    t->hold = hold;
    t->loaded = false;
    t->claimed = true;
    return true;
}

static void recover_one(struct hub *h, const struct log_name *log, struct store_hold hold)
{
    struct command *c = command_new(CMD_FOLLOW);
    if (!c || !take_over(h, log, hold)) {
        command_free(c);
        recover_again(h);
        return;
    }
    c->log.owner = arena_dup(&c->arena, log->owner);
    c->log.thread = arena_dup(&c->arena, log->thread);
    c->ctx = h;
    c->done = on_recovered;
    h->recover.open++;
    fault_hit("hub.recover");
    hub_post(h, c);
}

static void recover_next(struct hub *h)
{
    size_t i = h->recover.next++;
    recover_one(h, &h->recover.logs[i], h->recover.holds[i]);
}

static void on_pace(struct loop_timer *timer)
{
    struct hub   *h = LIST_ITEM(timer, struct hub, recover.pace);
    unsigned char chance;
    while (h->recover.next < h->recover.count && h->recover.open < RECOVER_AHEAD && !h->draining)
        recover_next(h);
    if (h->recover.next < h->recover.count) {
        id_bytes(&chance, 1);
        loop_timer_set(timer, RECOVER_MS + chance % RECOVER_MS);
    }
}

static int by_age(const void *a, const void *b)
{
    const struct store_row *x = *(const struct store_row *const *)a,
                           *y = *(const struct store_row *const *)b;
    if (x->updated_ms != y->updated_ms) return x->updated_ms < y->updated_ms ? -1 : 1;
    return x < y ? -1 : x > y;
}

/* Those that waited longest come first, in whatever order the store lists them. */
static void keep_unfinished(struct hub *h, const struct store_row *rows, size_t count)
{
    struct arena            *a = &h->recover.arena;
    const struct store_row **sorted;
    arena_reset(a);
    h->recover.next = h->recover.count = 0;
    h->recover.logs = arena_array(a, count ? count : 1, sizeof *h->recover.logs);
    h->recover.holds = arena_array(a, count ? count : 1, sizeof *h->recover.holds);
    sorted = arena_array(a, count ? count : 1, sizeof *sorted);
    if (!h->recover.logs || !h->recover.holds || !sorted) {
        recover_again(h);
        return;
    }
    for (size_t i = 0; i < count; i++) sorted[i] = &rows[i];
    qsort(sorted, count, sizeof *sorted, by_age);
    for (size_t i = 0; i < count; i++) {
        /* what waits for a person needs nothing from us */
        if (!str_is(sorted[i]->state, "running")) continue;
        h->recover.holds[h->recover.count] = sorted[i]->hold;
        h->recover.logs[h->recover.count++] =
            (struct log_name){ arena_dup(a, sorted[i]->owner), arena_dup(a, sorted[i]->thread) };
    }
    if (a->failed) {
        h->recover.count = 0;
        recover_again(h);
    }
    on_pace(&h->recover.pace);
}

static void on_unfinished(struct store_list *l, enum err e, const struct store_row *rows,
                          size_t count, struct str next)
{
    struct hub *h = LIST_ITEM(l, struct hub, recover.list);
    h->recover.busy = false;
    (void)next;
    if (e) {
        log_line(LOG_ERROR, "recover.failed", "why", err_name(e), NULL);
        recover_again(h);
    } else keep_unfinished(h, rows, count);
    ask_next_due(h);
    if (!h->recover.again) return;
    h->recover.again = false;
    hub_look(h);
}

static bool is_recovering(const struct hub *h)
{
    return h->recover.busy || h->recover.open || h->recover.next < h->recover.count;
}

void hub_recover(struct hub *h)
{
    bool shared = store_shared(h->setup.store);
    h->recover.busy = true;
    h->recover.list = (struct store_list){ .kind = STORE_UNFINISHED,
                                           .limit = shared ? SWEEP_BATCH : 0,
                                           .done = on_unfinished };
    store_list(h->setup.store, &h->recover.list);
    if (shared) loop_timer_set(&h->sweep, SWEEP_MS);
}

/* Those that were found before may still be on their way into memory, which can take as long as a
 * link to a node that died takes to be given up: nobody else waits for them. */
void hub_look(struct hub *h)
{
    if (h->draining) return;
    if (h->recover.busy) h->recover.again = true;
    else if (h->recover.next == h->recover.count) hub_recover(h);
}

/* What runs and whose node is dead is taken over; what falls due in threads that nobody holds is
 * looked at, because whoever knew of it may be gone. */
static void on_sweep(struct loop_timer *t)
{
    struct hub *h = LIST_ITEM(t, struct hub, sweep);
    loop_timer_set(&h->sweep, SWEEP_MS);
    hub_look(h);
}

/* The lease was interrupted and stands again. What nobody looks at is left to others. */
static void on_lapse(void *ctx)
{
    struct hub    *h = ctx;
    struct thread *t;
    h->counts.lapses++;
    while (!list_empty(&h->idle)) forget(h, LIST_ITEM(h->idle.next, struct thread, lru));
    for (size_t i = 0; (t = map_each(&h->threads, &i));) thread_lapsed(t);
}

static void on_retry(struct loop_timer *timer)
{
    struct hub    *h = LIST_ITEM(timer, struct hub, retry);
    struct thread *t;
    for (size_t i = 0; (t = map_each(&h->threads, &i));) {
        if (!t->stalled) continue;
        t->stalled = false;
        if (!t->loaded && !t->loading) thread_load(t);
    }
    if (!h->unrecovered) return;
    /* one at a time */
    if (is_recovering(h)) {
        recover_again(h);
        return;
    }
    h->unrecovered = false;
    hub_recover(h);
}

/* --- places, and what goes on in the next turn ------------------------------------------------ */

bool hub_has_place(const struct hub *h)
{
    return h->runs < h->setup.runs_max;
}

/* One millisecond: libuv would call a timer of none again in this very turn. */
static void next_turn(struct hub *h)
{
    if (!uv_is_active((uv_handle_t *)&h->turn.uv)) loop_timer_set(&h->turn, 1);
}

void hub_place_free(struct hub *h)
{
    if (!list_empty(&h->line)) next_turn(h);
}

void hub_wait_place(struct hub *h, struct thread *t)
{
    if (!list_linked(&t->line)) list_add(&h->line, &t->line);
}

bool hub_may_judge(struct hub *h)
{
    if (h->judge_turn != h->setup.loop->turn_ns) {
        h->judge_turn = h->setup.loop->turn_ns;
        h->judge = (struct budget){ BUDGET_TURN };
    }
    return h->judge.left > 0;
}

void hub_judge_later(struct hub *h, struct thread *t)
{
    if (!list_linked(&t->judging)) list_add(&h->judging, &t->judging);
    next_turn(h);
}

/* Each that stands in line looks once: one whose owner has too many runs stays, and does not hold
 * up those behind. */
static void call_line(struct hub *h)
{
    struct list now;
    list_init(&now);
    list_take(&now, &h->line);
    while (!list_empty(&now)) {
        struct list *n = now.next;
        list_remove(n);
        list_add(&h->line, n);
        if (!hub_has_place(h)) continue;
        list_remove(n);
        thread_pump(LIST_ITEM(n, struct thread, line));
    }
}

static void on_turn(struct loop_timer *timer)
{
    struct hub *h = LIST_ITEM(timer, struct hub, turn);
    struct list now;
    list_init(&now);
    list_take(&now, &h->judging);
    while (!list_empty(&now)) {
        struct thread *t = LIST_ITEM(now.next, struct thread, judging);
        list_remove(&t->judging);
        work_judge_on(t);
    }
    call_line(h);
}

/* A server listed its tools, or will not. Those that wait are only marked here: a pump may forget
 * threads. */
static void on_tools(void *ctx)
{
    struct hub    *h = ctx;
    struct thread *t;
    seen_check(h);
    hub_lapse(h);
    for (size_t i = 0; (t = map_each(&h->threads, &i));)
        if (t->awaiting) hub_wait_place(h, t);
    hub_place_free(h);
}

/* Those who are linked to us, and those to whom we are. */
static void farewell(struct hub *h)
{
    if (!h->setup.nodes) return;
    feeds_sweep(h);
    h->setup.nodes->farewell(h->setup.nodes);
}

static void on_released(struct store_release_all *r, enum err e)
{
    struct hub *h = LIST_ITEM(r, struct hub, release);
    void (*done)(void *) = h->drained;
    (void)e; /* then the end of the lease gives them back */
    h->drained = NULL;
    farewell(h);
    done(h->drained_ctx);
}

/* Every tool has its outcome, and what was to be saved is: what is still ours is given back, and
 * the others are told to look. */
static void check_drained(struct hub *h)
{
    if (!h->draining || h->jobs || h->appends || !h->drained || h->release.done) return;
    h->release.done = on_released;
    if (store_shared(h->setup.store)) store_release_all(h->setup.store, &h->release);
    else on_released(&h->release, OK);
}

void hub_job_ended(struct hub *h)
{
    must(h->jobs > 0);
    h->jobs--;
    check_drained(h);
}

void hub_append_ended(struct hub *h)
{
    must(h->appends > 0);
    h->appends--;
    check_drained(h);
}

void hub_drain(struct hub *h, void (*done)(void *ctx), void *ctx)
{
    struct thread *t;
    h->draining = true;
    title_stop(h);
    for (size_t i = 0; (t = map_each(&h->threads, &i));) {
        work_hang_up(t);
        jobs_cancel_checks(t); /* the next process asks again */
        thread_drain(t);
        if (store_shared(h->setup.store)) thread_give_back(t);
        thread_wake(t);
    }
    h->drained = done; /* only now: not while some are still to be told */
    h->drained_ctx = ctx;
    check_drained(h);
}
