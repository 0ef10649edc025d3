/* process_payment.c -- one line in a ledger, written and synced before the payment counts as made.
 *
 * The disk is slow, so the writing happens in libuv's thread pool, on copies; the
 * loop thread only starts it and takes the outcome. One payment writes at a time.
 * What can be said afterwards:
 *
 *     line written and synced               done
 *     nothing written, or taken back        failed: no payment
 *     written, but the sync failed          unknown: it may or may not be on the disk
 *     cancelled before a thread took it     cancelled: no payment
 *
 * It is not idempotent on purpose: a real payment would not be either.
 */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/file.h"
#include "tool/demo/demo_work.h"

struct payment {
    uv_work_t          req;
    struct tool_job   *job; /* loop thread only */
    struct demo_tools *all; /* the thread uses ledger and ledger_lock only */
    struct buf         line;
    struct buf         text, value; /* made at the start, told when it went well */
    enum tool_outcome  outcome;
    int                error; /* errno of what went wrong */
};

/* --- in the thread pool ------------------------------------------------------------- */

/* A new file is only safe when its folder is synced too. */
static int sync_folder(const char *path)
{
    char copy[4096];
    if (strlen(path) >= sizeof copy) return -1;
    strcpy(copy, path);
    int fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return -1;
    int e = fsync(fd);
    close(fd);
    return e;
}

/* How much was written: n unless the disk said no. */
static size_t write_all(int fd, const char *p, size_t n)
{
    size_t done = 0;
    while (done < n) {
        ssize_t k = write(fd, p + done, n - done);
        if (k < 0 && errno == EINTR) continue;
        if (k <= 0) break;
        done += (size_t)k;
    }
    return done;
}

/* A line that a crash cut short must not swallow the next one. */
static bool ends_cleanly(int fd, off_t size)
{
    char last = '\n';
    return size == 0 || (pread(fd, &last, 1, size - 1) == 1 && last == '\n');
}

static enum tool_outcome append(struct payment *p, int fd)
{
    struct stat st;
    if (fstat(fd, &st) != 0) return TOOL_FAILED;
    if (!ends_cleanly(fd, st.st_size) && write_all(fd, "\n", 1) != 1) return TOOL_FAILED;
    size_t done = write_all(fd, p->line.ptr, p->line.len);
    if (done < p->line.len) {
        p->error = errno; /* half a line is no payment, if it can be taken back */
        return done == 0 || ftruncate(fd, st.st_size) == 0 ? TOOL_FAILED : TOOL_UNKNOWN;
    }
    fault_hit("payment.written");
    bool synced = fsync(fd) == 0 && (st.st_size > 0 || sync_folder(p->all->ledger.ptr) == 0);
    fault_hit("payment.synced");
    return synced ? TOOL_DONE : TOOL_UNKNOWN;
}

static void pay(uv_work_t *req)
{
    struct payment *p = req->data;
    uv_mutex_lock(&p->all->ledger_lock);
    const char *why; /* errno says it, too */
    int         fd = file_open(p->all->ledger.ptr, O_RDWR | O_APPEND | O_CREAT, &why);
    p->outcome = fd < 0 ? TOOL_FAILED : append(p, fd);
    if (p->outcome != TOOL_DONE && !p->error) p->error = errno;
    if (fd >= 0) close(fd);
    uv_mutex_unlock(&p->all->ledger_lock);
}

/* --- on the loop thread ----------------------------------------------------------------- */

static void payment_free(struct payment *p)
{
    buf_done(&p->line);
    buf_done(&p->text);
    buf_done(&p->value);
    mem_free(p);
}

static struct tool_result result_of(struct payment *p)
{
    struct tool_result r = { .outcome = p->outcome };
    switch (p->outcome) {
    case TOOL_DONE:
        r.text = buf_view(&p->text);
        r.value = buf_view(&p->value);
        break;
    case TOOL_CANCELLED:
        r.text = STR("The payment was cancelled before it began; nothing was sent.");
        break;
    case TOOL_FAILED:
        r.text = STR("The ledger could not be written, so no payment was made.");
        break;
    case TOOL_UNKNOWN:
        r.text = STR("The ledger could not be synced: the payment may or may not have been made.");
        break;
    case TOOL_ASKS: break; /* it has its yes before it starts */
    }
    if (p->error) r.note = str_c(strerror(p->error));
    return r;
}

static void paid(uv_work_t *req, int status)
{
    struct payment *p = req->data;
    if (status == UV_ECANCELED) p->outcome = TOOL_CANCELLED;
    struct tool_result r = result_of(p);
    p->job->finish(p->job, &r);
    payment_free(p);
}

/* {"call_id","recipient","amount","currency","at"}: the amount as the person saw it. */
static void write_line(struct payment *p, const struct jv *args)
{
    char         at[CLOCK_RFC3339_LEN + 1];
    struct jsonw j;
    clock_rfc3339(clock_wall_ms(), at);
    jsonw_init(&j, &p->line);
    jw_obj(&j);
    jw_kstr(&j, "call_id", p->job->call_id);
    jw_kstr(&j, "recipient", jv_str_at(args, "recipient"));
    jw_key(&j, "amount");
    jw_jv(&j, jv_get(args, "amount"));
    jw_kstr(&j, "currency", jv_str_at(args, "currency"));
    jw_kstrz(&j, "at", at);
    jw_end_obj(&j);
    buf_str(&p->value, buf_view(&p->line));
    buf_chr(&p->line, '\n');
}

static void write_text(struct payment *p, const struct jv *args)
{
    buf_lit(&p->text, "Sent ");
    buf_str(&p->text, jv_get(args, "amount")->raw);
    buf_chr(&p->text, ' ');
    buf_str(&p->text, jv_str_at(args, "currency"));
    buf_lit(&p->text, " to ");
    buf_str(&p->text, jv_str_at(args, "recipient"));
    buf_chr(&p->text, '.');
}

static enum err start(struct tool *t, struct tool_job *job)
{
    struct demo_ctx *ctx = t->ctx;
    if (!jv_is(jv_get(job->args, "amount"), JSON_NUMBER)) return ERR_TYPE;
    struct payment *p = mem_alloc(sizeof *p);
    if (!p) return ERR_NOMEM;
    p->job = job;
    p->all = ctx->all;
    p->req.data = p;
    buf_init(&p->line, 0);
    buf_init(&p->text, 0);
    buf_init(&p->value, 0);
    write_line(p, job->args);
    write_text(p, job->args);
    bool built = !p->line.err && !p->text.err && !p->value.err;
    if (!built || uv_queue_work(&ctx->all->loop->uv, &p->req, pay, paid) != 0) {
        payment_free(p);
        return ERR_NOMEM;
    }
    job->runner = p;
    return OK;
}

/* Works while the payment waits for a thread; once one has it, what happened is told. */
static void cancel(struct tool_job *job)
{
    struct payment *p = job->runner;
    uv_cancel((uv_req_t *)&p->req);
}

const struct tool_ops payment_ops = { start, cancel, NULL, demo_tool_free };
