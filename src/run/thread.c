/* thread.c -- the mailbox of one conversation. See thread.h for the rule it keeps.
 *
 *   thread_post -> queue -> pump: handle commands, decide what follows -> batch
 *       -> store_append -> committed: wake followers, answer, act -> pump
 *
 * A failed append throws the fold away and reads the log again (fail_batch). What
 * came from a tool or a model is put back into the queue, because it cannot be
 * had twice; what came from outside is told 503 and may be sent again.
 */
#include "base/clock.h"
#include "base/fault.h"
#include "run/codes.h"
#include "run/effect.h"
#include "run/engine.h"
#include "run/grant.h"
#include "run/taking.h"
#include "run/tidings.h"

static void on_append(struct store_append *a, enum err e);

/* --- life ------------------------------------------------------------------------ */

struct command *command_new(enum command_kind kind)
{
    struct command *c = mem_alloc(sizeof *c);
    if (!c) return NULL;
    c->kind = kind;
    arena_init(&c->arena, 0);
    return c;
}

void command_free(struct command *c)
{
    if (!c) return;
    arena_done(&c->arena);
    mem_free(c);
}

void command_drop(struct command *c, const struct receipt *a)
{
    (void)a;
    command_free(c);
}

struct thread *thread_new(struct hub *h, struct log_name log)
{
    struct thread *t = mem_alloc(sizeof *t);
    char          *names = mem_alloc(log.owner.len + 1 + log.thread.len + 1);
    if (!t || !names) {
        mem_free(t);
        mem_free(names);
        return NULL;
    }
    memcpy(names, log.owner.ptr, log.owner.len);
    memcpy(names + log.owner.len + 1, log.thread.ptr, log.thread.len);
    t->hub = h;
    t->key = str_n(names, log.owner.len + 1 + log.thread.len);
    t->owner = str_cut(t->key, log.owner.len);
    t->id = str_from(t->key, log.owner.len + 1);
    fold_init(&t->fold);
    arena_init(&t->batch, 0);
    arena_init(&t->notes_mem, 0);
    list_init(&t->queue);
    list_init(&t->parked);
    list_init(&t->acting);
    list_init(&t->jobs);
    list_init(&t->followers);
    return t;
}

void command_turn_away(struct thread *t, struct command *c, int status, const char *code,
                       const char *message)
{
    list_remove(&c->node);
    c->receipt = (struct receipt){ 0 };
    command_answer(t, c, status, code, message);
    c->done(c, &c->receipt);
}

void thread_refuse(struct thread *t, struct list *waiting, int status, const char *code,
                   const char *message)
{
    LIST_EACH (n, waiting) {
        struct command *c = LIST_ITEM(n, struct command, node);
        if (c->kind < CMD_EXPIRE) command_turn_away(t, c, status, code, message);
    }
}

/* Those from outside are told, as thread_drain does; those from inside go. A step's and a job's own
 * command belong to these. */
static void let_go(struct thread *t, struct list *waiting)
{
    thread_refuse(t, waiting, 503, "restarting",
                  "The server is restarting; try again in a moment.");
    LIST_EACH (n, waiting) {
        struct command *c = LIST_ITEM(n, struct command, node);
        list_remove(n);
        if (c->kind == CMD_EXPIRE || c->kind == CMD_TOOL_ASKS) command_free(c);
    }
}

void thread_free(struct thread *t)
{
    let_go(t, &t->queue);
    let_go(t, &t->parked);
    let_go(t, &t->acting);
    if (t->editor) {
        list_add(&t->acting, &t->editor->node);
        let_go(t, &t->acting);
    }
    mirror_end(t);
    list_remove(&t->line);
    list_remove(&t->judging);
    work_hang_up(t);
    step_clear(&t->step);
    buf_done(&t->compact.text);
    fold_done(&t->fold);
    arena_done(&t->batch);
    arena_done(&t->notes_mem);
    lookup_free(t);
    command_free(t->step_done);
    mem_free(t->rows);
    mem_free((char *)(uintptr_t)t->title.ptr);
    mem_free((char *)(uintptr_t)t->match.ptr);
    mem_free((char *)(uintptr_t)t->key.ptr);
    mem_free(t);
}

struct str thread_id(const struct thread *t)
{
    return t->id;
}
struct str thread_title(const struct thread *t)
{
    return t->title.ptr ? t->title : STR("");
}
const struct fold *thread_fold(const struct thread *t)
{
    return &t->fold;
}
uint64_t thread_committed(const struct thread *t)
{
    return t->committed;
}
bool thread_away(const struct thread *t)
{
    return !t->loaded;
}
bool thread_stuck(const struct thread *t)
{
    return t->stalled && t->gone;
}
const struct open_step *thread_step(const struct thread *t)
{
    return &t->step;
}
uint64_t thread_progress_no(const struct thread *t)
{
    return t->progress_no;
}
const char *thread_state(const struct thread *t)
{
    return fold_state(&t->fold);
}
bool thread_thinking(const struct thread *t)
{
    if (t->mirror) return mirror_thinking(t);
    return t->model && t->step.count == 0 && t->committed == t->fold.count;
}

struct thread_view thread_look(const struct thread *t)
{
    return (struct thread_view){ t, &t->fold, &t->step, t->committed, !t->loaded };
}

void thread_retitle(struct thread *t, struct str title)
{
    char *copy = mem_alloc(title.len + 1);
    if (!copy) return;
    if (title.len) memcpy(copy, title.ptr, title.len);
    mem_free((char *)(uintptr_t)t->title.ptr);
    t->title = str_n(copy, title.len);
}

bool thread_idle(const struct thread *t)
{
    bool still = !run_live(t->fold.run) || run_waiting(t->fold.run) || t->hub->draining;
    if (t->mirror) still = mirror_quiet(t);
    /* who waits to hear of tools is told where it is: in memory */
    return still && !t->awaiting && !lookup_busy(t) && !t->loading && !t->inflight && !t->model &&
           !t->stalled && list_empty(&t->queue) && list_empty(&t->parked) && list_empty(&t->jobs) &&
           list_empty(&t->followers);
}

/* --- followers ----------------------------------------------------------------------- */

void thread_follow(struct thread *t, struct follower *f)
{
    must(!f->thread); /* one at a time: the list it was in would keep it for ever */
    f->thread = t;
    list_add(&t->followers, &f->node);
    t->watching += f->counts;
    t->wanting += f->wants;
    hub_busy(t->hub, t);
    if (t->mirror) mirror_watch(t);
}

void thread_counts(struct follower *f, bool counts)
{
    if (f->thread && f->counts != counts) f->thread->watching += counts ? 1 : -1;
    f->counts = counts;
    if (f->thread && f->thread->mirror) mirror_watch(f->thread);
}

void thread_wants(struct follower *f, bool wants)
{
    if (f->thread && f->wants != wants) f->thread->wanting += wants ? 1 : -1;
    f->wants = wants;
    if (f->thread && f->thread->mirror) mirror_watch(f->thread);
}

void thread_tell(struct thread *t, struct str words)
{
    LIST_EACH (n, &t->followers) {
        struct follower *f = LIST_ITEM(n, struct follower, node);
        if (f->told) f->told(f, words);
    }
}

void thread_unfollow(struct follower *f)
{
    struct thread *t = f->thread;
    if (!t) return;
    f->thread = NULL;
    list_remove(&f->node);
    t->watching -= f->counts;
    t->wanting -= f->wants;
    if (t->mirror) mirror_watch(t);
    if (thread_idle(t)) hub_idle(t->hub, t);
}

void thread_wake(struct thread *t)
{
    LIST_EACH (n, &t->followers) {
        struct follower *f = LIST_ITEM(n, struct follower, node);
        f->wake(f);
    }
}

/* --- the batch ----------------------------------------------------------------------------- */

static struct store_key *new_key(struct thread *t, const char *kind, struct str name)
{
    if (!t->keys) t->keys = arena_array(&t->batch, BATCH_KEYS, sizeof *t->keys);
    if (!t->keys || t->key_count == BATCH_KEYS) return NULL;
    struct store_key *k = &t->keys[t->key_count++];
    *k = (struct store_key){ .key = arena_printf(&t->batch, "%s" STR_FMT, kind, STR_ARG(name)) };
    return k;
}

enum err thread_key(struct thread *t, const char *kind, struct str name, struct str value)
{
    struct store_key *k = new_key(t, kind, name); /* when they are too many: found by fewer */
    if (k) k->value = arena_dup(&t->batch, value);
    return t->batch.failed ? ERR_NOMEM : OK;
}

enum err thread_match(struct thread *t, struct str match, bool alone)
{
    struct store_key *k = new_key(t, "", match);
    char             *own = mem_alloc(match.len + 1);
    if (!k || !own) {
        mem_free(own);
        return ERR_NOMEM;
    }
    k->value = STR("");
    k->alone = alone;
    memcpy(own, match.ptr, match.len);
    mem_free((char *)(uintptr_t)t->match.ptr);
    t->match = str_n(own, match.len);
    return OK;
}

/* It has a certain outcome, and nobody had to be asked: the same again is another call. (In a
 * thread that was read since its call began the key stays, and whoever finds it looks closer.) */
static enum err unmatch(struct thread *t, const struct call *c, const struct fact *f)
{
    if (!t->match.ptr || c->asked || f->outcome == WORD_UNKNOWN) return OK;
    (void)new_key(t, "", t->match);
    return t->batch.failed ? ERR_NOMEM : OK;
}

/* A call that ran: it counts in the store's list, in the same transaction. */
static enum err count_tool(struct thread *t, const struct call *c)
{
    const struct tool *tool = call_tool(t, c);
    bool               ran = c->started != NULL && c->finished->outcome != WORD_CANCELLED;
    if (!tool || c->gate == GATE_REPLY || !ran || t->count_count == BATCH_APPROVALS) return OK;
    if (!t->counts && !(t->counts = arena_array(&t->batch, BATCH_APPROVALS, sizeof *t->counts)))
        return ERR_NOMEM;
    t->counts[t->count_count++] =
        (struct store_tool_count){ tool->name, 1, c->finished->outcome != WORD_DONE };
    return OK;
}

/* What a fact changes outside the log, committed together with it. */
static enum err side_effects(struct thread *t, const struct fact *f)
{
    if (f->kind == FACT_STEP || f->kind == FACT_SUMMARY) return spend_rows(t, f);
    struct call *c = f->call.ptr ? fold_call(&t->fold, f->call) : NULL;
    if (!c || c->step_seq < t->fold.copied) return OK; /* a copy is not in the lists */
    enum err e = f->kind == FACT_FINISHED ? count_tool(t, c) : OK;
    if (!e && f->kind == FACT_FINISHED) e = unmatch(t, c, f);
    if (!e) e = effect_follow(t, c, f);
    if (!e) e = grant_follow(t, c, f);
    if (!e) e = approval_row(t, c);
    return e ? e : approval_event(t, c, f);
}

enum err thread_add(struct thread *t, struct fact *f)
{
    f->seq = t->fold.count + 1;
    f->at_ms = clock_wall_ms();
    enum err e = fold_add(&t->fold, f);
    if (e) return e;
    if (!t->batch_from) t->batch_from = f->seq;
    return side_effects(t, t->fold.facts[f->seq - 1]);
}

static bool fill_rows(struct thread *t, size_t *count)
{
    size_t n = t->fold.count - (t->batch_from - 1);
    if (n > t->row_cap) {
        struct store_fact *rows = mem_realloc(t->rows, n * sizeof *rows);
        if (!rows) return false;
        t->rows = rows;
        t->row_cap = n;
    }
    for (size_t i = 0; i < n; i++) {
        const struct fact *f = t->fold.facts[t->batch_from - 1 + i];
        t->rows[i] = (struct store_fact){ f->seq, f->at_ms, str_c(fact_name(f->kind)), f->body };
    }
    *count = n;
    return true;
}

static void submit(struct thread *t)
{
    size_t count = 0;
    hub_busy(t->hub,
             t); /* whoever had it looked at: while the store is asked it may not be forgotten */
    t->inflight = true;
    bool ok = fill_rows(t, &count) && response_close(t) == OK;
    t->append = (struct store_append){
        .log = { t->owner, t->id },
        .since_ns = t->editor ? t->editor->since_ns : thread_since(&t->acting),
        .expected = t->batch_from - 1,
        .facts = t->rows,
        .fact_count = count,
        .hold = t->hold,
        .state = str_c(fold_kept_state(&t->fold)),
        .title = t->retitled || !t->exists ? t->title : STR_NONE,
        .request_id = t->request_id,
        .run = t->request_run,
        .origin = t->origin,
        .approvals = t->approvals,
        .approval_count = t->approval_count,
        .tools = t->counts,
        .tool_count = t->count_count,
        .takes = t->takes,
        .take_count = t->take_count,
        .events = t->events,
        .event_count = t->event_count,
        .now_ms = clock_wall_ms(),
        .keys = t->keys,
        .key_count = t->key_count,
        .listed = response_listed(t),
        .spent = t->spent,
        .spent_count = t->spent_count,
        .done = on_append,
    };
    if (!t->append.title.ptr && !t->exists) t->append.title = STR("");
    fault_hit("thread.before_append");
    t->hub->appends++;
    if (ok) store_append(t->hub->setup.store, &t->append);
    else on_append(&t->append, ERR_NOMEM);
}

static void clear_batch(struct thread *t)
{
    t->batch_from = 0;
    t->approval_count = t->count_count = t->spent_count = 0;
    t->approvals = NULL;
    t->counts = NULL;
    t->take_count = t->event_count = 0;
    t->takes = NULL;
    t->keys = NULL;
    t->key_count = 0;
    t->events = NULL;
    t->spent = NULL;
    t->retitled = false;
    t->request_id = t->request_run = STR_NONE;
    t->origin = (struct store_origin){ 0 };
    arena_reset(&t->batch);
}

/* --- the pump --------------------------------------------------------------------------------- */

void command_answer(struct thread *t, struct command *c, int status, const char *code,
                    const char *message)
{
    c->receipt.status = status;
    c->receipt.code = code;
    c->receipt.message = message;
    c->receipt.thread = t;
}

/* The thread may be gone before the answer is told: it may not point into it. */
void command_detach(struct command *c)
{
    c->receipt.run = arena_dup(&c->arena, c->receipt.run);
    c->receipt.id = arena_dup(&c->arena, c->receipt.id);
    c->receipt.call = NULL;
    c->receipt.thread = NULL;
}

/* Answers what is in `acting`; a batch that failed has set the answers before. What would be
 * refused may have been done long ago, under the same request id: only then is the store asked
 * about it. */
static void answer_all(struct thread *t)
{
    struct list now;
    list_init(&now);
    list_take(&now, &t->acting);
    LIST_EACH (n, &now) {
        struct command *c = LIST_ITEM(n, struct command, node);
        list_remove(n);
        if (c->receipt.status >= 400 && c->request_id.len) {
            command_detach(c);
            lookup_request(t->hub, c);
        } else if (c->done) c->done(c, &c->receipt);
    }
}

static void take(struct thread *t, struct command *c, enum err *e)
{
    list_remove(&c->node);
    /* it may have been looked at before, in a fold that is gone */
    c->receipt = (struct receipt){ 0 };
    fault_hit("thread.take");
    if (!command_handle(t, c, e)) list_add(&t->parked, &c->node);
    else if (c != t->editor) list_add(&t->acting, &c->node);
}

uint64_t thread_since(const struct list *commands)
{
    LIST_EACH (n, commands) {
        const struct command *c = LIST_ITEM(n, struct command, node);
        if (c->kind < CMD_EXPIRE) return c->since_ns;
    }
    return 0;
}

/* Back to the front of the queue, in their order: they are looked at again when the log has been
 * read. */
void thread_put_back(struct thread *t, struct list *commands)
{
    while (!list_empty(commands)) {
        struct list *n = commands->prev;
        list_remove(n);
        list_push(&t->queue, n);
    }
}

static void put_all_back(struct thread *t)
{
    if (t->editor) list_add(&t->acting, &t->editor->node);
    t->editor = NULL;
    thread_put_back(t, &t->acting);
}

static void fail_batch(struct thread *t, enum err e);

/* Commands in, facts that follow, until something must be committed or nothing is left. */
static enum err gather(struct thread *t)
{
    bool     fresh = t->fresh;
    enum err e = decide_fresh(t);
    /* an answer to what died with the last process comes too late */
    while (fresh && !e && decide_once(t, &e))
        ;
    while (!list_empty(&t->queue) && !e && !t->request_id.ptr && !t->editor)
        take(t, LIST_ITEM(t->queue.next, struct command, node), &e);
    while (!e && decide_once(t, &e))
        ;
    if (!e && (!run_live(t->fold.run) || run_waiting(t->fold.run)) && !list_empty(&t->parked) &&
        !t->batch_from) {
        struct command *c = LIST_ITEM(t->parked.next, struct command, node);
        c->since_ns = clock_mono_ns();
        take(t, c, &e);
    }
    while (!e && decide_once(t, &e))
        ;
    return e;
}

/* Everything in the fold is on disk: begins the tools that were waiting for that, and tells who
 * asked. Either may post again before it returns; were that looked at here, facts that are not
 * saved yet would be acted on with the rest. */
static void act(struct thread *t, bool stopped)
{
    t->busy = true;
    jobs_start(t);
    if (stopped) jobs_cancel(t);
    fault_hit("thread.before_answer");
    answer_all(t);
    fault_hit("thread.answered");
    t->busy = false;
}

/* Taken as new, and nothing was appended that would have shown whether it is. A refusal must not be
 * told from a log that nobody has read, and an empty fold must not stay as the truth. */
static void look_up(struct thread *t)
{
    put_all_back(t);
    t->assumed = t->loaded = false;
    thread_load(t);
}

void thread_pump(struct thread *t)
{
    if (t->busy) return;
    if (t->mirror) {
        mirror_forward(t);
        return;
    }
    while (t->loaded && !t->inflight && !t->stalled) {
        bool had = !list_empty(&t->queue);
        if (spend_first(t)) return;
        t->busy = true;
        enum err e = gather(t);
        t->busy = t->spend.known = false;
        thread_leave_place(t);
        if (e) {
            fail_batch(t, e);
            return;
        }
        if (t->batch_from) {
            submit(t);
            return;
        }
        if (t->assumed) {
            look_up(t);
            return;
        }
        act(t, false);
        if (t->editor) {
            thread_edit(t);
            return;
        }
        if (!had && list_empty(&t->queue)) break;
    }
    if (t->loaded && thread_idle(t)) hub_idle(t->hub, t);
}

/* A message or a call to a thread that is not in memory begins a new one, nearly always. It is
 * taken as such without asking the store first; if the log is not empty, the append says so
 * (ERR_CONFLICT) and the message waits for the reading. */
static bool looks_new(const struct thread *t, const struct command *c)
{
    return (c->kind == CMD_MESSAGE || c->kind == CMD_CALL) && c->create && !t->busy &&
           !t->loading && !t->stalled && !t->exists && !t->fold.count && !t->mirror &&
           !t->hub->draining && list_empty(&t->queue);
}

/* Nothing else is looked at: a pump may forget other threads, and all are being gone through. Where
 * an append is under way the pump does it when that is through. */
void thread_park(struct thread *t)
{
    bool rests = t->loaded && !t->busy && !t->inflight && !t->stalled && !t->mirror;
    if (!rests || !list_empty(&t->queue) || !decide_parks(t)) return;
    enum err e = decide_park(t);
    if (e) fail_batch(t, e);
    else submit(t);
}

void thread_queue(struct thread *t, struct command *c)
{
    if (!t->loaded && looks_new(t, c)) t->loaded = t->assumed = true;
    list_add(&t->queue, &c->node);
    hub_busy(t->hub, t);
    if (!t->busy && !t->loaded && !t->loading && !t->stalled && !t->mirror) thread_load(t);
}

void thread_post(struct thread *t, struct command *c)
{
    thread_queue(t, c);
    thread_pump(t);
}

/* --- after the store answered ----------------------------------------------------------------- */

/* Only now can they be found in the store: a clock that was set before the commit may ring too
 * early, find nothing and stand still. */
static void tell_due(struct thread *t)
{
    for (size_t i = 0; i < t->approval_count; i++)
        if (t->approvals[i].expires_ms) hub_due(t->hub, t->approvals[i].expires_ms);
}

static void appended(struct thread *t, enum err e)
{
    const struct store_append *a = &t->append;
    t->inflight = false;
    if (e == ERR_TAKEN) {
        const struct store_take *k = &t->takes[a->taken_at];
        taking_note(t, k->holder, k->key, &a->taken);
    }
    if (e) {
        fail_batch(t, e);
        return;
    }
    fault_hit("thread.committed");
    taking_forget(t);
    if (a->event_count) tidings_happened(t->hub->setup.tidings);
    t->hold = a->hold;
    t->committed = t->fold.count;
    t->exists = true;
    t->assumed = false;
    bool closed = false, stopped = false, ended = false;
    for (uint64_t s = t->batch_from; s <= t->committed; s++) {
        enum fact_kind k = t->fold.facts[s - 1]->kind;
        closed |= k == FACT_STEP || k == FACT_ENDED || fact_restarts(t->fold.facts[s - 1]);
        ended |= k == FACT_ENDED;
        /* a superseded run may leave a tool behind that asks */
        stopped |= k == FACT_STOP || k == FACT_ENDED;
    }
    if (ended) work_hang_up(t); /* no model speaks on into the next run */
    if (closed && !t->model) step_clear(&t->step);
    journal_committed(t);
    codes_note(t);
    tell_due(t);
    clear_batch(t);
    thread_wake(t);
    if (stopped) title_consider(t);
    act(t, stopped);
    if (t->editor) thread_edit(t);
    else thread_pump(t);
}

static void on_append(struct store_append *a, enum err e)
{
    struct thread *t = LIST_ITEM(a, struct thread, append);
    struct hub    *h = t->hub;
    appended(t, e);
    hub_append_ended(h);
}

/* The same of a file and of a database: what keeps either from working is not the same. */
static const char *of_database(enum err e)
{
    switch (e) {
    case ERR_FULL:
        return "The database has no room left, so nothing new can be saved. Nothing was lost; try "
               "again when there is room.";
    case ERR_BUSY:
        return "The database does not answer at the moment. Nothing was lost; try again in a "
               "moment.";
    case ERR_UNSURE:
        return "The database did not answer while this was being saved: it may have been saved or "
               "not. Send the same request again, with the same request id, to find out.";
    default: return NULL;
    }
}

const char *thread_sentence(const struct thread *t, enum err e)
{
    const char *database = store_shared(t->hub->setup.store) ? of_database(e) : NULL;
    if (database) return database;
    switch (e) {
    case ERR_FULL:
        return "The disk is full, so nothing new can be saved. Nothing was lost; try again when "
               "there is room.";
    case ERR_BUSY:
        return "The store is locked by another program. Nothing was lost; try again in a moment.";
    case ERR_UNSURE:
        return "The disk failed while this was being saved: it may have been saved or not. Send "
               "the same request again, with the same request id, to find out.";
    case ERR_GONE:
        return "The store's files were removed or replaced while the server ran, so nothing can be "
               "saved; the operator must put them back.";
    case ERR_NOMEM:
        return "The server is out of memory at the moment. Nothing was lost; try again in a "
               "moment.";
    default:
        return "The store cannot be written at the moment. Nothing was lost; try again in a "
               "moment.";
    }
}

/* The request id was used before: the run it made is the answer. Or it is a call that may be made
 * only once, and another one of it is there: that is. */
static void answer_exists(struct thread *t, struct command *c)
{
    c->receipt = (struct receipt){ .status = 200, .duplicate = true };
    c->receipt.run = arena_dup(&c->arena, t->append.found_run);
    c->receipt.id = arena_dup(&c->arena, t->append.found_thread);
}

/* The model was hung up for a stop that could not be saved: the words so far are
 * lost, and the step begins anew when the log has been read again. */
static void drop_cut_step(struct thread *t)
{
    bool done = t->step_done && list_linked(&t->step_done->node);
    if (t->step.active && !t->model && !done && !t->over) step_clear(&t->step);
}

static void refuse_batch(struct thread *t, struct command *c, enum err e)
{
    if (c->receipt.status >= 400) {
        command_detach(c);
        return;
    }
    c->receipt = (struct receipt){ 0 };
    command_answer(t, c, 503, "store_unavailable", thread_sentence(t, e));
}

/* Is it the command whose name, or whose call, another log has? */
static bool is_found(const struct thread *t, const struct command *c)
{
    if (c->kind == CMD_CALL && c->call.alone && !t->append.found_run.ptr) return true;
    return c->request_id.ptr && c->request_id.ptr == t->request_id.ptr;
}

static void drop_fold(struct thread *t)
{
    fold_done(&t->fold);
    fold_init(&t->fold);
    thread_leave_place(t);
    t->known = t->committed;
    t->committed = 0;
    t->loaded = t->assumed = false;
    clear_batch(t);
}

void thread_reread(struct thread *t)
{
    drop_fold(t);
    thread_load(t);
}

/* Nothing of the batch happened. Outside commands learn why, inside ones are kept. */
static void fail_batch(struct thread *t, enum err e)
{
    struct list back;
    /* the others in it are as good as before */
    bool        again = e == ERR_CONFLICT || e == ERR_EXISTS || e == ERR_FENCED || e == ERR_TAKEN;
    list_init(&back);
    if (t->editor) list_add(&t->acting, &t->editor->node);
    t->editor = NULL;
    LIST_EACH (n, &t->acting) {
        struct command *c = LIST_ITEM(n, struct command, node);
        if (e == ERR_EXISTS && is_found(t, c)) answer_exists(t, c);
        else if (c->kind >= CMD_EXPIRE || again) {
            list_remove(n);
            list_add(&back, n);
        } else refuse_batch(t, c, e);
    }
    thread_put_back(t, &back);
    jobs_drop_unstarted(t);
    t->step_closed = false;
    drop_cut_step(t);
    drop_fold(t);
    t->busy = true;
    answer_all(t);
    t->busy = false;
    t->gone = e == ERR_GONE;
    if (again) thread_load(t);
    else hub_stalled(t->hub, t);
    if (thread_stuck(t)) thread_wake(t);
}
