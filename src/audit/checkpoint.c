/* checkpoint.c -- see checkpoint.h.
 *
 *   timer -> LAST -> HEADS -> signed, committed -> UNTOLD: file -> webhook -> told -> UNTOLD ...
 *
 * One thing is under way at a time (`busy`); the timer that finds it so comes round again. */
#include "audit/checkpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/jsonw.h"
#include "base/log.h"
#include "base/sha256.h"

#define HEADS_MAX  5000 /* in one line: about half a megabyte */
#define WEBHOOK_MS 10000
#define RETRY_MS   30000

struct checkpoints {
    struct checkpoint_setup setup;
    struct loop_timer       timer;
    struct store_list       list;
    struct store_checkpoint commit;
    struct arena            arena; /* of the one under way */
    uint64_t                number;
    struct str              last, line;
    bool                    busy, more, stopping;
    /* telling */
    uv_work_t               work;
    const char             *file_why; /* it could not be written; NULL: it is */
    struct curl_job         job;
    struct curl_slist      *headers;
    char                    problem[CURL_ERROR_SIZE];
    bool                    silent; /* that it cannot be told was said already */
    bool                    open;   /* work or a transfer is under way */
    void (*done)(void *ctx);
    void *done_ctx;
};

static void ask_heads(struct checkpoints *c);
static void ask_untold(struct checkpoints *c);
static void close_all(struct checkpoints *c);

/* Over, until the timer rings again. */
static void rest(struct checkpoints *c, uint64_t after_ms)
{
    c->busy = false;
    arena_reset(&c->arena);
    if (c->stopping) close_all(c);
    else loop_timer_set(&c->timer, after_ms);
}

static void trouble(struct checkpoints *c, const char *where, const char *why)
{
    if (!c->silent && !c->stopping)
        log_line(LOG_ERROR, "audit.untold", "where", where, "why", why, "checkpoint",
                 log_int((int64_t)c->number), NULL);
    c->silent = true;
    rest(c, RETRY_MS < c->setup.every_ms ? RETRY_MS : c->setup.every_ms);
}

/* --- making one ---------------------------------------------------------------------- */

static void write_head(struct jsonw *w, const struct store_row *h)
{
    char hex[SHA256_HEX + 1];

    sha256_hex((const uint8_t *)h->head.ptr, h->head.len < SHA256_LEN ? h->head.len : SHA256_LEN,
               hex);
    jw_arr(w);
    jw_strz(w, h->log);
    jw_int(w, (int64_t)h->seq);
    jw_strz(w, hex);
    jw_end_arr(w);
}

void checkpoint_write(struct buf *out, uint64_t number, int64_t at_ms, struct str last,
                      const struct store_row *heads, size_t count, bool all)
{
    struct jsonw w;
    uint8_t      hash[SHA256_LEN];
    char         hex[SHA256_HEX + 1], at[CLOCK_RFC3339_LEN + 1];

    sha256_of(last, hash);
    sha256_hex(hash, sizeof hash, hex);
    clock_rfc3339(at_ms, at);
    jsonw_init(&w, out);
    jw_obj(&w);
    jw_kstrz(&w, "type", "parley-checkpoint");
    jw_kint(&w, "number", (int64_t)number);
    jw_kstrz(&w, "at", at);
    jw_key(&w, "previous");
    jw_strz(&w, last.ptr ? hex : NULL);
    if (all) jw_kstrz(&w, "removals", "signed");
    jw_key(&w, "heads");
    jw_arr(&w);
    for (size_t i = 0; i < count; i++) write_head(&w, &heads[i]);
    jw_end_arr(&w);
    jw_end_obj(&w);
}

/* Of these the store said that more was noted than there is, which we never write: it would have
 * kept them out of every checkpoint until they had grown so long. They are in this one. */
static void tell_kept_out(const struct store_checkpoint *k)
{
    const struct store_row *first = NULL;
    int64_t                 count = 0;

    for (size_t i = 0; i < k->head_count; i++) {
        const struct store_row *h = &k->heads[i];
        if (h->noted <= h->seq) continue;
        if (!count++) first = h;
    }
    if (first)
        log_line(LOG_SECURITY, "audit.kept_out", "conversations", log_int(count), "first",
                 first->log, "facts", log_int((int64_t)first->seq), "said_noted",
                 log_int((int64_t)first->noted), "checkpoint", log_int((int64_t)k->number), NULL);
}

static void on_committed(struct store_checkpoint *k, enum err e)
{
    struct checkpoints *c = LIST_ITEM(k, struct checkpoints, commit);

    if (!e) tell_kept_out(k);
    if (!e)
        log_line(LOG_INFO, "audit.checkpoint", "number", log_int((int64_t)k->number), "heads",
                 log_int((int64_t)k->head_count), NULL);
    /* a conflict: another node was faster, and tells it */
    if (e && e != ERR_CONFLICT) rest(c, c->setup.every_ms);
    else ask_untold(c);
}

static enum err make(struct checkpoints *c, const struct store_row *rows, size_t count)
{
    struct store_row *heads = arena_array(&c->arena, count, sizeof *heads);
    int64_t           now = clock_wall_ms();
    struct buf        payload, line;

    if (!heads) return ERR_NOMEM;
    memcpy(heads, rows, count * sizeof *heads); /* their texts are not needed any more */
    buf_init(&payload, 0);
    buf_init(&line, 0);
    checkpoint_write(&payload, c->number + 1, now, c->last, rows, count, !c->more);
    enum err e = payload.err ? payload.err : sign_line(c->setup.keys, buf_view(&payload), &line);
    c->line = e ? STR_NONE : arena_dup(&c->arena, buf_view(&line));
    buf_done(&payload);
    buf_done(&line);
    if (!c->line.ptr) return ERR_NOMEM;
    c->commit = (struct store_checkpoint){ .number = c->number + 1,
                                           .line = c->line,
                                           .at_ms = now,
                                           .heads = heads,
                                           .head_count = count,
                                           .done = on_committed };
    return OK;
}

static void on_heads(struct store_list *l, enum err e, const struct store_row *rows, size_t count,
                     struct str next)
{
    struct checkpoints *c = LIST_ITEM(l, struct checkpoints, list);

    (void)next;
    c->more = count == HEADS_MAX;
    if (!e && count) e = make(c, rows, count);
    if (e) rest(c, c->setup.every_ms);
    else if (!count) ask_untold(c);
    else store_checkpoint(c->setup.store, &c->commit);
}

static void ask_heads(struct checkpoints *c)
{
    c->list = (struct store_list){ .kind = STORE_HEADS, .limit = HEADS_MAX, .done = on_heads };
    store_list(c->setup.store, &c->list);
}

static void on_last(struct store_list *l, enum err e, const struct store_row *rows, size_t count,
                    struct str next)
{
    struct checkpoints *c = LIST_ITEM(l, struct checkpoints, list);

    (void)next;
    c->number = count ? rows[0].number : 0;
    c->last = count ? arena_dup(&c->arena, rows[0].line) : STR_NONE;
    if (e || (count && !c->last.ptr)) rest(c, c->setup.every_ms);
    else ask_heads(c);
}

static void begin(struct checkpoints *c)
{
    if (c->busy || c->stopping) return;
    c->busy = true;
    c->list = (struct store_list){ .kind = STORE_LAST, .done = on_last };
    store_list(c->setup.store, &c->list);
}

/* --- telling it ---------------------------------------------------------------------- */

static void on_told(struct store_checkpoint *k, enum err e)
{
    struct checkpoints *c = LIST_ITEM(k, struct checkpoints, commit);

    c->silent = false;
    if (e) rest(c, c->setup.every_ms);
    else ask_untold(c);
}

static void tell_store(struct checkpoints *c)
{
    if (c->stopping) {
        rest(c, 0);
        return;
    }
    c->commit = (struct store_checkpoint){ .number = c->number, .done = on_told };
    store_checkpoint(c->setup.store, &c->commit);
}

static void on_posted(struct curl_job *j, CURLcode code)
{
    struct checkpoints *c = LIST_ITEM(j, struct checkpoints, job);
    long                status = 0;
    char                why[64];

    c->open = false;
    curl_easy_getinfo(j->easy, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_cleanup(j->easy);
    curl_slist_free_all(c->headers);
    c->headers = NULL;
    snprintf(why, sizeof why, "it answered %ld", status);
    if (code != CURLE_OK)
        trouble(c, "webhook", c->problem[0] ? c->problem : curl_easy_strerror(code));
    else if (status < 200 || status > 299) trouble(c, "webhook", why);
    else tell_store(c);
}

static size_t drop(char *p, size_t size, size_t count, void *ctx)
{
    (void)p, (void)ctx;
    return size * count;
}

static void post(struct checkpoints *c)
{
    CURL *h = curl_easy_new(false);

    c->headers = curl_slist_append(NULL, "Content-Type: application/jose");
    if (c->headers) curl_slist_append(c->headers, "Expect:");
    if (!h || !c->headers) {
        curl_easy_cleanup(h);
        curl_slist_free_all(c->headers);
        trouble(c, "webhook", "out of memory");
        return;
    }
    c->problem[0] = 0;
    curl_easy_setopt(h, CURLOPT_URL, c->setup.webhook);
    curl_easy_setopt(h, CURLOPT_HTTPHEADER, c->headers);
    curl_easy_setopt(h, CURLOPT_POSTFIELDSIZE, (long)c->line.len);
    curl_easy_setopt(h, CURLOPT_POSTFIELDS, c->line.ptr); /* in the arena until it is told */
    curl_easy_setopt(h, CURLOPT_TIMEOUT_MS, (long)WEBHOOK_MS);
    curl_easy_setopt(h, CURLOPT_WRITEFUNCTION, drop);
    curl_easy_setopt(h, CURLOPT_ERRORBUFFER, c->problem);
    c->job = (struct curl_job){ .easy = h, .done = on_posted };
    c->open = true;
    curl_start(c->setup.pool, &c->job);
}

/* Of libuv's pool: the disk may take its time. A line that a full disk cuts off is taken out again;
 * where not even that can be done it is ended, so that the next one is whole. */
static void write_file(uv_work_t *w)
{
    struct checkpoints *c = LIST_ITEM(w, struct checkpoints, work);
    const char         *why;
    int                 fd = file_open(c->setup.file, O_WRONLY | O_CREAT | O_APPEND, &why);
    size_t              done = 0;
    off_t               before = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);

    c->file_why = fd < 0 ? why : NULL;
    while (!c->file_why && done < c->line.len + 1) {
        const char *from = done < c->line.len ? c->line.ptr + done : "\n";
        ssize_t     n = write(fd, from, done < c->line.len ? c->line.len - done : 1);
        if (n >= 0) done += (size_t)n;
        else if (errno != EINTR) c->file_why = os_words(errno);
    }
    if (c->file_why && done && (before < 0 || ftruncate(fd, before))) (void)!write(fd, "\n", 1);
    if (!c->file_why && fsync(fd)) c->file_why = os_words(errno);
    if (fd >= 0) close(fd);
}

static void on_written(uv_work_t *w, int status)
{
    struct checkpoints *c = LIST_ITEM(w, struct checkpoints, work);

    c->open = false;
    if (status || c->file_why) trouble(c, c->setup.file, status ? "cancelled" : c->file_why);
    else if (c->setup.webhook && !c->stopping) post(c);
    else tell_store(c);
}

static void tell(struct checkpoints *c)
{
    if (c->stopping) rest(c, 0);
    else if (!c->setup.file) post(c);
    else if (uv_queue_work(&c->setup.loop->uv, &c->work, write_file, on_written))
        trouble(c, c->setup.file, "out of memory");
    else c->open = true;
}

static void on_untold(struct store_list *l, enum err e, const struct store_row *rows, size_t count,
                      struct str next)
{
    struct checkpoints *c = LIST_ITEM(l, struct checkpoints, list);

    (void)next;
    if (e || !count) {
        rest(c, !e && c->more ? 1 : c->setup.every_ms);
        return;
    }
    arena_reset(&c->arena);
    c->number = rows[0].number;
    c->line = arena_dup(&c->arena, rows[0].line);
    if (c->line.ptr) tell(c);
    else rest(c, c->setup.every_ms);
}

static void ask_untold(struct checkpoints *c)
{
    c->list = (struct store_list){ .kind = STORE_UNTOLD, .limit = 1, .done = on_untold };
    store_list(c->setup.store, &c->list);
}

/* --- life ---------------------------------------------------------------------------- */

static void on_timer(struct loop_timer *t)
{
    begin(LIST_ITEM(t, struct checkpoints, timer));
}

struct checkpoints *checkpoints_start(const struct checkpoint_setup *s)
{
    struct checkpoints *c = mem_alloc(sizeof *c);

    if (!c) return NULL;
    c->setup = *s;
    arena_init(&c->arena, 0);
    loop_timer_init(s->loop, &c->timer, on_timer);
    loop_timer_set(&c->timer, s->every_ms);
    return c;
}

static void on_closed(struct loop_timer *t)
{
    struct checkpoints *c = LIST_ITEM(t, struct checkpoints, timer);
    void (*done)(void *) = c->done;
    void *ctx = c->done_ctx;

    arena_done(&c->arena);
    mem_free(c);
    done(ctx);
}

static void close_all(struct checkpoints *c)
{
    if (c->done && !c->open) loop_timer_close(&c->timer, on_closed);
}

void checkpoints_stop(struct checkpoints *c, void (*done)(void *ctx), void *ctx)
{
    if (!c) {
        done(ctx);
        return;
    }
    c->stopping = true;
    c->done = done;
    c->done_ctx = ctx;
    if (c->open && c->job.easy && c->headers) curl_cancel(&c->job);
    if (!c->busy) close_all(c);
}
