/* sqlite.c -- the store in one SQLite file: three threads, their queues, the answers.
 *
 *   loop thread                                        writer thread
 *   store_append, store_edit ─▶ gathered for a turn ─▶ queue ─▶ db_commit (a batch, one sync) ─┐
 *                                                      reader thread                           │
 *   store_read, store_list ─▶ gathered for a turn ───▶ queue ─▶ db_read, db_list ──────────────┤
 *                                                                                              │
 *   deliver ◀── answers ◀──────────────────────────────────────────────────────────────────────┘
 *
 * A request is in exactly one place: gathered, a queue, a worker's hands, `answers`, or
 * back with its caller. The queues and `answers` are all the threads share, and
 * `lock` guards them. Everything else belongs to the loop thread, or (each struct
 * db) to its worker.
 *
 * What a turn of the loop asks for is handed over at its end, in one go. The writer takes all that
 * is queued, commits it as one transaction and only then gives it to `answers`; while it waits for
 * the disk the next batch gathers.
 * Searches (lists with words to look for) go to a third thread, the finder: nobody's reading waits
 * for them. The readers' connections start a transaction per request, so they see every
 * commit that was answered before (WAL: readers and the writer do not wait for each other).
 */
#include <stdatomic.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "store/sqlite_db.h"

/* Enough to make the sync's share of an append small; a bound, so that a flood
 * does not let the first of a batch wait for thousands behind it. */
#define BATCH_MAX 512

/* A long turn hands over in between, so that the disk is not idle meanwhile. Handing over each
 * request at once made batches of ten under load, where these are of a hundred. */
#define GATHER_MAX 64

/* Answers told in one turn of the loop, so that sockets are not kept waiting. */
#define DELIVER_MAX 1024

/* How often the writer looks around by itself: are the files still there, does writing work
 * again? */
#define LOOK_NS 1000000000ull

/* What no append waits for (the index of what was said) is done when none came for so long, and
 * while they go on coming in one of so many parts of the time: under load each processor second is
 * theirs. */
#define QUIET_NS   50000000ull
#define SPARE_PART 10

/* When the write-ahead log is moved into the file: SQLite's own default. */
#define CHECKPOINT_PAGES 1000
/* Moving stops at what somebody still reads: another program with an old state open lets the log
 * grow without end. Beyond the first the file is cut as soon as it can be, beyond the second it is
 * said. It is also cut when words were deleted: what it has of them would stay there until the log
 * comes by that place again. */
#define LOG_FRAME  (4096 + 24)
#define CUT_PAGES  (16 * 1024 * 1024 / LOG_FRAME)
#define LONG_PAGES (64 * 1024 * 1024 / LOG_FRAME)

/* Callbacks may ask for more while being told that the store closes. */
#define CLOSE_ROUNDS 100

/* So many days of what was used are kept. */
#define USED_DAYS "31"

#define STACK_SIZE (256 * 1024)

struct worker { /* one worker thread and its queue */
    uv_thread_t thread;
    uv_cond_t   wake;
    /* the loop thread's: not handed over yet */
    struct list gathered;
    unsigned    gathered_count;
    struct list queue;
    struct db   db;
};

struct state {        /* what the writer knows of its disk */
    enum err trouble; /* writing fails with this */
    bool     low, log_long;
};

struct sqlite {
    struct store   base;
    struct db_file file;
    struct worker  writer, reader, finder;

    uv_mutex_t       lock; /* guards the queues and what follows, up to `closing` */
    struct list      answers;
    bool             posted; /* `post` is on its way */
    struct store_job news;   /* the writer's own answer: `state` has changed */
    struct state     state;
    unsigned         running; /* workers that have not ended */
    /* the writer has ended, and all of its log is in the file */
    bool             moved;
    uv_cond_t        all_ended;
    uint64_t         closing; /* 0, or until when the workers may go on (mono ns) */

    uint64_t cut_ns; /* the writer's: when it last tried to cut the log */

    struct loop_dirty end_of_turn;
    struct loop_post  post;
    struct state      known; /* the loop thread's copy of `state` */
    _Atomic uint64_t  log_bytes;
    char              promise[64];
    uint64_t          epoch; /* of the last claim */
};
#define OURS(store) LIST_ITEM(store, struct sqlite, base)

/* --- queues ---------------------------------------------------------------------- */

static void hand_over(struct sqlite *s, struct worker *to)
{
    if (list_empty(&to->gathered)) return;
    uv_mutex_lock(&s->lock);
    bool first = list_empty(&to->queue);
    list_take(&to->queue, &to->gathered);
    uv_mutex_unlock(&s->lock);
    to->gathered_count = 0;
    /* else it is awake, or about to be; not under the lock it would wait for */
    if (first) uv_cond_signal(&to->wake);
}

static void hand_over_all(struct loop_dirty *d)
{
    struct sqlite *s = LIST_ITEM(d, struct sqlite, end_of_turn);
    hand_over(s, &s->writer);
    hand_over(s, &s->reader);
    hand_over(s, &s->finder);
}

static void gather(struct sqlite *s, struct worker *to, struct store_job *job)
{
    list_add(&to->gathered, &job->node);
    if (++to->gathered_count == GATHER_MAX) hand_over(s, to);
    else loop_mark(s->base.loop, &s->end_of_turn);
}

/* From a worker: these jobs have their result. */
static void answer(struct sqlite *s, struct list *jobs)
{
    uv_mutex_lock(&s->lock);
    list_take(&s->answers, jobs);
    if (!s->posted) loop_post(s->base.loop, &s->post);
    s->posted = true;
    uv_mutex_unlock(&s->lock);
}

/* Waits for work and takes at most `max`. Nothing taken: `timeout_ns` is over
 * (0: never). False: closing, and the queue is empty or its time is up. */
static bool take(struct sqlite *s, struct worker *lane, size_t max, uint64_t timeout_ns,
                 struct list *out)
{
    bool go_on;

    list_init(out);
    uv_mutex_lock(&s->lock);
    while (list_empty(&lane->queue) && !s->closing) {
        if (!timeout_ns) uv_cond_wait(&lane->wake, &s->lock);
        else if (uv_cond_timedwait(&lane->wake, &s->lock, timeout_ns)) break;
    }
    go_on = !s->closing || (!list_empty(&lane->queue) && clock_mono_ns() < s->closing);
    for (; go_on && max && !list_empty(&lane->queue); max--) {
        struct list *n = lane->queue.next;
        list_remove(n);
        list_add(out, n);
    }
    uv_mutex_unlock(&s->lock);
    return go_on;
}

static void ended(struct sqlite *s)
{
    uv_mutex_lock(&s->lock);
    if (--s->running == 0) uv_cond_signal(&s->all_ended);
    uv_mutex_unlock(&s->lock);
}

/* --- the workers -------------------------------------------------------------------- */

static bool means_trouble(enum err e)
{
    return e == ERR_FULL || e == ERR_BUSY || e == ERR_IO || e == ERR_GONE || e == ERR_UNSURE;
}

/* What a batch says about the disk; `before` when it says nothing. */
static enum err trouble_of(const struct list *batch, enum err before)
{
    LIST_EACH (n, batch) {
        enum err e = JOB_AT(n)->result;
        if (e == OK || means_trouble(e)) before = e == ERR_UNSURE ? ERR_IO : e;
    }
    return before;
}

/* In front of the answers that come with it: whoever gets one finds the state that belongs to
 * it. */
static void tell_state(struct sqlite *s, const struct state *now)
{
    struct list one;

    list_init(&one);
    uv_mutex_lock(&s->lock);
    s->state = *now;
    if (!list_linked(&s->news.node)) list_add(&one, &s->news.node);
    uv_mutex_unlock(&s->lock);
    answer(s, &one);
}

static void commit(struct sqlite *s, struct list *batch)
{
    enum err e = db_file_check(&s->file, &s->writer.db);

    if (!e) {
        db_commit(&s->writer.db, batch);
        e = db_file_check(&s->file, &s->writer.db);
        if (!e || e == ERR_NOMEM) return; /* it was ours before */
        /* into files that were taken away meanwhile: the next start may not find it */
        e = ERR_UNSURE;
    }
    LIST_EACH (n, batch)
        if (e == ERR_GONE || JOB_AT(n)->result == OK) JOB_AT(n)->result = e;
}

/* Whoever reads an old state stops it: it is tried again, but no more often than once a second. */
static void cut_log(struct sqlite *s)
{
    struct db *d = &s->writer.db;
    uint64_t   now = clock_mono_ns();

    if ((!d->gone && d->wal_pages < CUT_PAGES) || now - s->cut_ns < LOOK_NS) return;
    s->cut_ns = now;
    db_cut_log(d);
}

/* Once a second, whether there is work or not. */
static void look_around(struct sqlite *s, struct state *now, bool idle)
{
    struct db *d = &s->writer.db;
    enum err   e = db_file_check(&s->file, d);

    if (e == ERR_NOMEM) return; /* no news */
    if (!e && idle && now->trouble) e = db_probe(d);
    if (e || idle) now->trouble = e == ERR_UNSURE ? ERR_IO : e;
    if (!now->trouble) cut_log(s);
    now->low = db_file_low(&s->file);
    now->log_long = d->wal_pages >= LONG_PAGES;
}

/* Never over a file that is not ours: then the log stays as it is, and the next start sees that
 * they do not fit. */
static bool move_log(struct sqlite *s, int least_pages)
{
    struct db *d = &s->writer.db;

    if (d->wal_pages < least_pages) return true;
    if (db_file_check(&s->file, d)) return false;
    db_checkpoint(d, least_pages);
    return db_file_check(&s->file, d) == OK; /* here nobody waits for the look into the file */
}

static bool same_state(const struct state *a, const struct state *b)
{
    return a->trouble == b->trouble && a->low == b->low && a->log_long == b->log_long;
}

/* What an append did not have to wait for. True: there is more of it. */
static bool catch_up(struct sqlite *s, struct state *now)
{
    bool     more = false;
    enum err e = now->trouble || now->low ? OK : db_index(&s->writer.db, &more);

    if (means_trouble(e)) now->trouble = e == ERR_UNSURE ? ERR_IO : e;
    if (more) move_log(s, CHECKPOINT_PAGES);
    return more;
}

/* How long the writer waits for an append: not at all before its first look, and when it was quiet
 * and there is more to catch up with. */
static uint64_t patience(bool first, bool more, bool quiet)
{
    if (first || (more && quiet)) return 1;
    return more ? QUIET_NS : LOOK_NS;
}

static void write_all(void *arg)
{
    struct sqlite *s = arg;
    struct list    batch;
    struct state   now = { 0 }, before = { 0 };
    uint64_t       looked = 0; /* at once, too: the disk may be full at the start */
    uint64_t       spare = 0;  /* when there is time again, whatever comes */
    bool           more = false, idle = false;

    while (take(s, &s->writer, BATCH_MAX, patience(!looked, more, idle), &batch)) {
        bool due = more && clock_mono_ns() >= spare;
        idle = list_empty(&batch);
        if (!idle) {
            commit(s, &batch);
            now.trouble = trouble_of(&batch, now.trouble);
        }
        if (idle || clock_mono_ns() - looked >= LOOK_NS) {
            look_around(s, &now, idle);
            looked = clock_mono_ns();
            due = true;
        }
        if (!same_state(&now, &before)) tell_state(s, &now);
        before = now;
        if (!idle) answer(s, &batch);
        /* after the answers: nobody waits for these */
        if (!idle) move_log(s, CHECKPOINT_PAGES);
        if (due) {
            uint64_t begun = clock_mono_ns(), ended_ns;
            more = catch_up(s, &now);
            ended_ns = clock_mono_ns();
            spare = ended_ns + (SPARE_PART - 1) * (ended_ns - begun);
        }
        atomic_store(&s->log_bytes, (uint64_t)s->writer.db.wal_pages * LOG_FRAME);
    }
    /* If the disk is too slow for it, the next start does. */
    s->moved = !now.trouble && move_log(s, 0) && s->writer.db.new_epoch;
    ended(s);
}

static void read_all(void *arg)
{
    struct sqlite *s = arg;
    struct list    one;

    while (take(s, &s->reader, 1, 0, &one)) {
        struct store_job *job = list_empty(&one) ? NULL : JOB_AT(one.next);
        if (!job) continue;
        if (job->kind == JOB_READ) db_read(&s->reader.db, JOB_OF(job, struct store_read));
        else if (job->kind == JOB_SESSION)
            db_session_get(&s->reader.db, JOB_OF(job, struct store_session));
        else db_list(&s->reader.db, JOB_OF(job, struct store_list));
        answer(s, &one);
    }
    ended(s);
}

static bool find(struct db *d, struct store_list *l)
{
    if (l->kind == STORE_THREADS) return db_find(d, l);
    db_list(d, l);
    return true;
}

/* Searches look at many rows: they have a thread of their own, and take turns there. */
static void find_all(void *arg)
{
    struct sqlite *s = arg;
    struct list    one;

    while (take(s, &s->finder, 1, 0, &one)) {
        if (list_empty(&one)) continue;
        if (find(&s->finder.db, JOB_OF(JOB_AT(one.next), struct store_list))) {
            answer(s, &one);
        } else {
            uv_mutex_lock(&s->lock);
            list_take(&s->finder.queue, &one);
            uv_mutex_unlock(&s->lock);
        }
    }
    ended(s);
}

/* --- answers, on the loop thread ------------------------------------------------------ */

#define LOW_WORDS "the disk is nearly full: new work will soon be refused"
#define LONG_WORDS                                                                              \
    "the write-ahead log is over 64 MiB: another program keeps an old state of the file open, " \
    "and until it ends the log grows"

static const char *trouble_words(enum err e)
{
    switch (e) {
    case OK: return NULL;
    case ERR_FULL: return "the disk is full, or a quota or the limit of a file's size is reached";
    case ERR_BUSY: return "the file is locked by another program";
    case ERR_GONE:
        return "the store's files were removed or replaced while the server ran: put them back "
               "(after they were written over in their place, with the server stopped), or stop "
               "the server and restore a backup";
    default: return "the store cannot be written";
    }
}

/* Says it once when something changes. */
static void set_state(struct sqlite *s)
{
    struct state was = s->known, now;
    const char  *path = s->file.path;

    uv_mutex_lock(&s->lock);
    now = s->known = s->state;
    uv_mutex_unlock(&s->lock);
    if (now.trouble && (!was.trouble || now.trouble == ERR_GONE) && now.trouble != was.trouble)
        log_line(LOG_ERROR, "store.unavailable", "error", err_name(now.trouble), "path", path,
                 "why", trouble_words(now.trouble), NULL);
    if (!now.trouble && was.trouble) log_line(LOG_INFO, "store.healed", "path", path, NULL);
    if (now.low != was.low)
        log_line(now.low ? LOG_ERROR : LOG_INFO, now.low ? "store.low" : "store.room", "path", path,
                 "why", now.low ? LOW_WORDS : "there is room again", NULL);
    if (now.log_long != was.log_long)
        log_line(now.log_long ? LOG_WARN : LOG_INFO,
                 now.log_long ? "store.log_long" : "store.log_cut", "path", path, "bytes",
                 log_int((int64_t)atomic_load(&s->log_bytes)), "why",
                 now.log_long ? LONG_WORDS : "it is short again", NULL);
}

/* One node, and nobody to lose a claim to: a number that grows is all there is to it. */
static void hold(struct sqlite *s, struct store_hold *h)
{
    h->life = 1;
    if (!h->epoch) h->epoch = ++s->epoch;
}

static void tell(struct sqlite *s, struct store_job *job)
{
    if (job->kind == JOB_OWN) {
        set_state(s);
        return;
    }
    if (job->kind == JOB_APPEND && !job->result) hold(s, &JOB_OF(job, struct store_append)->hold);
    store_tell(&s->base, job);
}

static struct store_job *next_answer(struct sqlite *s)
{
    struct store_job *job = NULL;

    uv_mutex_lock(&s->lock);
    if (list_empty(&s->answers)) {
        s->posted = false;
    } else {
        job = JOB_AT(s->answers.next);
        list_remove(&job->node);
    }
    uv_mutex_unlock(&s->lock);
    return job;
}

static void deliver(struct loop_post *p)
{
    struct sqlite    *s = LIST_ITEM(p, struct sqlite, post);
    struct store_job *job;

    for (int i = 0; i < DELIVER_MAX; i++) {
        job = next_answer(s);
        if (!job) return;
        tell(s, job);
    }
    loop_post(s->base.loop, &s->post); /* `posted` is still true */
}

/* --- the calls -------------------------------------------------------------------------- */

static void answer_one(struct sqlite *s, struct store_job *job, enum err e)
{
    struct list one;

    list_init(&one);
    job->result = e;
    list_add(&one, &job->node);
    answer(s, &one);
}

/* Ourselves; what is held and runs only the caller knows. */
static enum err list_nodes(struct sqlite *s, struct store_list *l)
{
    struct store_row *row = row_new(l);

    if (!row) return ERR_NOMEM;
    row->node = str_c(s->base.node);
    row->url = STR("");
    row->version = STR(PARLEY_VERSION);
    row->lease_ms = STORE_LEASE_MS;
    l->count = 1;
    return OK;
}

/* Whatever looks at many rows: nobody's reading waits for it. */
static bool is_long(const struct store_list *l)
{
    return l->kind == STORE_HEADS || l->kind == STORE_OLD || l->kind == STORE_UNTRIMMED ||
           l->kind == STORE_STUBS || (l->kind == STORE_THREADS && l->search.len);
}

static void ask_list(struct sqlite *s, struct store_list *l)
{
    if (l->kind == STORE_NODES) answer_one(s, &l->job, list_nodes(s, l));
    else gather(s, is_long(l) ? &s->finder : &s->reader, &l->job);
}

static void ask(struct store *store, struct store_job *job)
{
    struct sqlite *s = OURS(store);

    switch ((enum job_kind)job->kind) {
    case JOB_APPEND:
    case JOB_EDIT:
    case JOB_ERASE:
    case JOB_CHECKPOINT: gather(s, &s->writer, job); return;
    case JOB_READ: gather(s, &s->reader, job); return;
    case JOB_LIST: ask_list(s, JOB_OF(job, struct store_list)); return;
    case JOB_CLAIM:
        hold(s, &JOB_OF(job, struct store_claim)->hold);
        answer_one(s, job, OK);
        return;
    case JOB_RELEASE_ALL: answer_one(s, job, OK); return;
    case JOB_SESSION:
        gather(s, JOB_OF(job, struct store_session)->op == SESSION_GET ? &s->reader : &s->writer,
               job);
        return;
    case JOB_RELEASE:
    case JOB_OWN: break;
    }
    must(!"job kind");
}

static void release(struct store *store, struct log_name log, struct store_hold h)
{
    (void)store, (void)log, (void)h; /* nobody else could take it */
}

static bool lease_ok(const struct store *store, struct store_hold h)
{
    (void)store;
    return h.life == 1;
}

static enum err health(const struct store *store)
{
    const struct sqlite *s = OURS(store);
    return s->known.trouble ? s->known.trouble : s->known.low ? ERR_FULL : OK;
}

static struct str problem(const struct store *store)
{
    const struct sqlite *s = OURS(store);
    if (s->known.trouble) return str_c(trouble_words(s->known.trouble));
    return s->known.low ? STR(LOW_WORDS) : s->known.log_long ? STR(LONG_WORDS) : STR_NONE;
}

static uint64_t log_bytes(const struct store *store)
{
    const struct sqlite *s = OURS(store);
    return atomic_load(&s->log_bytes);
}

static struct str promise(const struct store *store)
{
    const struct sqlite *s = OURS(store);
    return str_c(s->promise);
}

/* --- life --------------------------------------------------------------------------------- */

static enum err open_reader(struct db *d, const char *path, bool durable)
{
    enum err e = db_open(d, path, db_read_sql, durable);
    return e ? e : db_exec(d, "PRAGMA query_only=ON");
}

static enum err open_connections(struct sqlite *s, struct arena *a, struct str *why)
{
    bool          durable = !s->file.temporary;
    struct db    *d = &s->writer.db;
    struct db_raw raw;
    enum err      e = db_pair_look(&s->file, &raw, a, why);

    if (e) return e;
    e = db_open(d, s->file.path, db_write_sql, durable);
    if (e) goto fail;
    e = db_upgrade(d, &raw, s->file.path, a, why);
    if (e) return e;
    db_checkpoint(d, 0); /* what a crash left */
    d->gone = raw.has_log;
    e = db_prepare(d, DB_WRITE_SQL_COUNT);
    if (!e) e = db_exec(d, "DELETE FROM used WHERE day < (SELECT max(day) FROM used) - " USED_DAYS);
    if (e) goto fail;
    d = &s->reader.db;
    e = open_reader(d, s->file.path, durable);
    if (e) goto fail;
    d = &s->finder.db;
    e = open_reader(d, s->file.path, durable);
    if (!e) e = db_int(&s->writer.db, "SELECT epoch FROM store", &s->writer.db.epoch);
    if (!e) e = db_int(&s->writer.db, "SELECT base FROM store", &s->writer.db.base);
    if (!e) e = db_int(&s->writer.db, "SELECT titled FROM store", &s->writer.db.titled);
    if (!e) e = db_index_check(&s->writer.db);
    if (!e && db_file_note(&s->file) == OK) return OK;
    if (!e) {
        *why =
            arena_printf(a, "%s was replaced while it was being opened; try again", s->file.path);
        return ERR_GONE;
    }
fail:
    return db_refuse(
        why, arena_printf(a, "cannot open %s: %s", s->file.path, sqlite3_errmsg(d->sql)), e);
}

/* What is queued has until then to get onto the disk. */
static void stop_taking(struct sqlite *s, uint64_t until_ns)
{
    uv_mutex_lock(&s->lock);
    s->closing = until_ns;
    uv_cond_signal(&s->writer.wake);
    uv_cond_signal(&s->reader.wake);
    uv_cond_signal(&s->finder.wake);
    uv_mutex_unlock(&s->lock);
}

static enum err start_threads(struct sqlite *s)
{
    uv_thread_options_t o = { .flags = UV_THREAD_HAS_STACK_SIZE, .stack_size = STACK_SIZE };

    s->running = 3;
    if (uv_thread_create_ex(&s->writer.thread, &o, write_all, s)) return ERR_NOMEM;
    if (uv_thread_create_ex(&s->reader.thread, &o, read_all, s)) goto writer;
    if (uv_thread_create_ex(&s->finder.thread, &o, find_all, s) == 0) return OK;
    stop_taking(s, 1);
    uv_thread_join(&s->reader.thread);
writer:
    stop_taking(s, 1);
    uv_thread_join(&s->writer.thread);
    return ERR_NOMEM;
}

static void lane_init(struct worker *l)
{
    list_init(&l->gathered);
    list_init(&l->queue);
    must(uv_cond_init(&l->wake) == 0);
}

static const struct store_ops ops;

static struct sqlite *new_store(struct loop *l)
{
    struct sqlite *s = mem_alloc(sizeof *s);

    if (!s) return NULL;
    store_init(&s->base, &ops, l);
    s->file.lock_fd = s->file.file_fd = -1;
    s->post.run = deliver;
    s->end_of_turn.flush = hand_over_all;
    s->news.kind = JOB_OWN;
    list_init(&s->answers);
    lane_init(&s->writer);
    lane_init(&s->reader);
    lane_init(&s->finder);
    /* Cannot fail on Linux; libuv allocates nothing for them. */
    must(uv_mutex_init(&s->lock) == 0 && uv_cond_init(&s->all_ended) == 0);
    return s;
}

static void free_store(struct sqlite *s)
{
    db_close(&s->finder.db);
    db_close(&s->reader.db);
    db_close(&s->writer.db);
    db_file_close(&s->file);
    uv_cond_destroy(&s->writer.wake);
    uv_cond_destroy(&s->reader.wake);
    uv_cond_destroy(&s->finder.wake);
    uv_cond_destroy(&s->all_ended);
    uv_mutex_destroy(&s->lock);
    mem_free(s);
}

enum err sqlite_open(struct loop *l, struct str url, struct arena *a, struct store **out,
                     struct str *why)
{
    struct sqlite *s = new_store(l);
    enum err       e = ERR_NOMEM;

    if (!s) return e;
#ifdef PARLEY_TEST
    db_faults();
#endif
    e = db_file_open(&s->file, url, a, why);
    if (!e) e = open_connections(s, a, why);
    if (!e) e = start_threads(s);
    if (e) {
        free_store(s);
        return e;
    }
    snprintf(s->promise, sizeof s->promise, "sqlite, WAL, synchronous=%s, schema %d",
             s->file.temporary ? "OFF (temporary)" : "FULL", DB_SCHEMA);
    *out = &s->base;
    return OK;
}

/* The workers are gone; what they did not come to is told so. */
static void close_queue(struct list *queue, struct list *answers)
{
    while (!list_empty(queue)) {
        struct list *n = queue->next;
        list_remove(n);
        JOB_AT(n)->result = ERR_CLOSED;
        list_add(answers, n);
    }
}

/* False: the time is over. */
static bool wait_for_workers(struct sqlite *s, uint64_t until_ns)
{
    bool all;

    uv_mutex_lock(&s->lock);
    for (uint64_t now; s->running && (now = clock_mono_ns()) < until_ns;)
        uv_cond_timedwait(&s->all_ended, &s->lock, until_ns - now);
    all = !s->running;
    uv_mutex_unlock(&s->lock);
    return all;
}

static bool close_store(struct store *store, uint64_t within_ms)
{
    struct sqlite    *s = OURS(store);
    uint64_t          until = clock_mono_ns() + within_ms * 1000000;
    struct store_job *job;

    hand_over_all(&s->end_of_turn);
    stop_taking(s, until);
    if (!wait_for_workers(s, until)) return false;
    uv_thread_join(&s->writer.thread);
    uv_thread_join(&s->reader.thread);
    uv_thread_join(&s->finder.thread);
    loop_unpost(s->base.loop, &s->post);
    s->posted = true; /* nothing wakes the loop for us any more */

    for (int i = 0; i < CLOSE_ROUNDS; i++) {
        while ((job = next_answer(s))) tell(s, job);
        hand_over_all(&s->end_of_turn);
        close_queue(&s->writer.queue, &s->answers);
        close_queue(&s->reader.queue, &s->answers);
        close_queue(&s->finder.queue, &s->answers);
        if (list_empty(&s->answers)) break;
    }
    loop_undirty(&s->end_of_turn);
    if (s->moved) db_checkpoint_on_close(&s->writer.db);
    free_store(s);
    return true;
}

static const struct store_ops ops = {
    .ask = ask,
    .release = release,
    .lease_ok = lease_ok,
    .health = health,
    .problem = problem,
    .log_bytes = log_bytes,
    .promise = promise,
    .close = close_store,
};
