/* child.c -- the server's end: packets to the keeper, pipes to the children.
 *
 * One start is three pipe2 (or two and a memfd), one sendmsg and some closes on the loop, about 40
 * microseconds; all the rest happens in other processes.
 */
#include "tool/process/child.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/log.h"
#include "tool/process/keeper.h"

#define READY_WAIT_MS 5000
#define STOP_WAIT_MS  2000
#define RESTART_MS    1000
#define DRAIN_MS      1000 /* for what is still in the pipes of a dead child */
#define READ_CHUNK    (64 * 1024)
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008u
#endif
#define ROOT_MAX 300 /* the keeper adds to it */

struct packet { /* waits for room in the socket */
    struct list node;
    size_t      len;
    int         fds[3]; /* -1: none */
    char        data[];
};

struct children {
    struct loop        *loop;
    char                root[2 * PATH_MAX];
    struct sandbox_caps caps;
    pid_t               keeper;
    int                 socket; /* -1: the keeper is gone */
    uv_poll_t          *poll;
    struct loop_timer   restart;
    struct list         waiting, living;
    size_t              count;
    uint64_t            next_id;
    bool                stopping;
    char                chunk[READ_CHUNK];
};

extern char **environ;

/* --- the keeper's life --------------------------------------------------------- */

static enum err spawn_keeper(struct children *c, int theirs)
{
    char                      *argv[] = { "parley", KEEPER_ARG, c->root, NULL };
    char                      *envp[] = { NULL };
    posix_spawn_file_actions_t files;
    posix_spawnattr_t          attr;
    int                        r;

    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attr);
    posix_spawn_file_actions_adddup2(&files, theirs, KEEPER_FD);
    /* A session of its own: Ctrl-C in the server's terminal is not for it. */
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSID);
    r = posix_spawn(&c->keeper, "/proc/self/exe", &files, &attr, argv, envp);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attr);
    return r == 0 ? OK : ERR_IO;
}

static enum err open_keeper(struct children *c)
{
    int ends[2], size = 1 << 20;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends)) return ERR_IO;
    (void)setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
    if (spawn_keeper(c, ends[1]) != OK) {
        close(ends[0]);
        close(ends[1]);
        return ERR_IO;
    }
    close(ends[1]);
    c->socket = ends[0];
    return OK;
}

static void on_socket(uv_poll_t *h, int status, int events);
static void poll_closed(uv_handle_t *h)
{
    mem_free(h);
}

static enum err watch_keeper(struct children *c)
{
    if (!(c->poll = mem_alloc(sizeof *c->poll))) return ERR_NOMEM;
    if (fcntl(c->socket, F_SETFL, O_NONBLOCK) || uv_poll_init(&c->loop->uv, c->poll, c->socket)) {
        mem_free(c->poll);
        c->poll = NULL;
        return ERR_IO;
    }
    c->poll->data = c;
    uv_poll_start(c->poll, UV_READABLE, on_socket);
    return OK;
}

static void close_keeper(struct children *c)
{
    if (c->poll) uv_close((uv_handle_t *)c->poll, poll_closed);
    c->poll = NULL;
    if (c->socket >= 0) close(c->socket);
    c->socket = -1;
}

static void reap_keeper(struct children *c, uint64_t wait_ms)
{
    uint64_t until = clock_mono_ms() + wait_ms;
    while (c->keeper > 0) {
        pid_t r = waitpid(c->keeper, NULL, WNOHANG);
        if (r != 0) c->keeper = 0;
        else if (clock_mono_ms() >= until) return;
        else uv_sleep(1);
    }
}

/* --- packets ---------------------------------------------------------------------- */

static void close_fds(const int fds[3])
{
    for (int i = 0; i < 3; i++)
        if (fds[i] >= 0) close(fds[i]);
}

static bool send_now(struct children *c, const void *data, size_t len, const int fds[3])
{
    union {
        struct cmsghdr head;
        char           room[CMSG_SPACE(3 * sizeof(int))];
    } control;
    struct iovec  v = { (void *)(uintptr_t)data, len };
    struct msghdr h = { .msg_iov = &v, .msg_iovlen = 1 };

    if (fds[0] >= 0) {
        h.msg_control = &control;
        h.msg_controllen = sizeof control;
        struct cmsghdr *m = CMSG_FIRSTHDR(&h);
        m->cmsg_level = SOL_SOCKET;
        m->cmsg_type = SCM_RIGHTS;
        m->cmsg_len = CMSG_LEN(3 * sizeof(int));
        memcpy(CMSG_DATA(m), fds, 3 * sizeof(int));
    }
    return sendmsg(c->socket, &h, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0;
}

/* Takes the descriptors, also on error. */
static enum err send_packet(struct children *c, const void *data, size_t len, const int fds[3])
{
    struct packet *p;

    if (c->socket < 0) goto gone;
    if (list_empty(&c->waiting)) {
        if (send_now(c, data, len, fds)) {
            close_fds(fds);
            return OK;
        }
        if (errno != EAGAIN && errno != EWOULDBLOCK && errno != ETOOMANYREFS) goto gone;
    }
    p = mem_alloc(sizeof *p + len);
    if (!p) goto gone;
    p->len = len;
    memcpy(p->fds, fds, sizeof p->fds);
    memcpy(p->data, data, len);
    list_add(&c->waiting, &p->node);
    uv_poll_start(c->poll, UV_READABLE | UV_WRITABLE, on_socket);
    return OK;
gone:
    close_fds(fds);
    return ERR_BUSY;
}

static void drop_packet(struct packet *p)
{
    list_remove(&p->node);
    close_fds(p->fds);
    mem_free(p);
}

static void send_waiting(struct children *c)
{
    while (!list_empty(&c->waiting)) {
        struct packet *p = LIST_ITEM(c->waiting.next, struct packet, node);
        if (!send_now(c, p->data, p->len, p->fds)) return;
        drop_packet(p);
    }
    uv_poll_start(c->poll, UV_READABLE, on_socket);
}

/* --- a child's end ---------------------------------------------------------------- */

static void all_closed(struct child *ch)
{
    if (--ch->open > 0) return;
    ch->all->count--;
    ch->on_exit(ch, ch->status);
}

static void pipe_closed(uv_handle_t *h)
{
    all_closed(h->data);
}
static void timer_closed(struct loop_timer *t)
{
    all_closed(LIST_ITEM(t, struct child, drain));
}

static void close_child(struct child *ch)
{
    if (ch->closing) return;
    ch->closing = true;
    list_remove(&ch->node);
    if (!ch->in_closed) uv_close((uv_handle_t *)&ch->in, pipe_closed);
    ch->in_closed = true;
    uv_close((uv_handle_t *)&ch->out, pipe_closed);
    uv_close((uv_handle_t *)&ch->err, pipe_closed);
    loop_timer_close(&ch->drain, timer_closed);
}

static void end_stream(struct child *ch, bool *ended, void (*tell)(struct child *, struct str))
{
    if (*ended) return;
    *ended = true;
    tell(ch, STR(""));
    if (ch->exited && ch->out_ended && ch->err_ended) close_child(ch);
}

static void on_drain(struct loop_timer *t)
{
    struct child *ch = LIST_ITEM(t, struct child, drain);
    end_stream(ch, &ch->out_ended, ch->on_out);
    end_stream(ch, &ch->err_ended, ch->on_err);
}

static void child_exited(struct child *ch, int status)
{
    if (ch->exited) return;
    ch->exited = true;
    ch->status = status;
    if (ch->out_ended && ch->err_ended) close_child(ch);
    else loop_timer_set(&ch->drain, DRAIN_MS);
}

static struct child *find(struct children *c, uint64_t id)
{
    LIST_EACH (n, &c->living) {
        struct child *ch = LIST_ITEM(n, struct child, node);
        if (ch->id == id) return ch;
    }
    return NULL;
}

/* --- what the keeper says ------------------------------------------------------------ */

static void on_restart(struct loop_timer *t)
{
    struct children *c = LIST_ITEM(t, struct children, restart);

    reap_keeper(c, 0);
    if (c->stopping) return;
    if (c->keeper > 0 || open_keeper(c) != OK) loop_timer_set(t, RESTART_MS);
    else if (watch_keeper(c) != OK) {
        close_keeper(c);
        loop_timer_set(t, RESTART_MS);
    }
}

static void keeper_lost(struct children *c)
{
    close_keeper(c);
    while (!list_empty(&c->waiting)) drop_packet(LIST_ITEM(c->waiting.next, struct packet, node));
    LIST_EACH (n, &c->living) child_exited(LIST_ITEM(n, struct child, node), CHILD_LOST);
    if (c->stopping) return;
    log_line(LOG_ERROR, "tool.keeper_lost", "what",
             "the process that starts tools is gone; starting another", NULL);
    loop_timer_set(&c->restart, RESTART_MS);
}

static void heard(struct children *c, const struct keeper_msg *m, size_t len)
{
    struct child *ch;

    if (len < sizeof *m) return;
    if (m->kind == KEEPER_READY && len == sizeof *m + sizeof c->caps)
        memcpy(&c->caps, m + 1, sizeof c->caps);
    if (m->kind != KEEPER_EXITED && m->kind != KEEPER_GONE && m->kind != KEEPER_OVER) return;
    if (!(ch = find(c, m->id))) return;
    if (m->kind == KEEPER_OVER) {
        ch->over = (enum child_over)m->status;
        return;
    }
    child_exited(ch, m->status == -1            ? CHILD_NOT_STARTED
                     : m->kind == KEEPER_EXITED ? m->status
                                                : CHILD_LOST);
}

/* At most 64 messages per turn: a thousand endings at once must not hold the loop. */
static void on_socket(uv_poll_t *h, int status, int events)
{
    struct children *c = h->data;
    union {
        struct keeper_msg msg;
        char              room[256];
    } in;

    if (events & UV_WRITABLE) send_waiting(c);
    for (int i = 0; i < 64; i++) {
        ssize_t n = recv(c->socket, &in, sizeof in, MSG_DONTWAIT);
        if (n > 0) heard(c, &in.msg, (size_t)n);
        else if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
        else {
            keeper_lost(c);
            return;
        }
    }
}

/* --- children ---------------------------------------------------------------------- */

static enum err wait_ready(struct children *c)
{
    union {
        struct keeper_msg msg;
        char              room[256];
    } in;
    struct pollfd p = { .fd = c->socket, .events = POLLIN };
    ssize_t       n;

    if (poll(&p, 1, READY_WAIT_MS) <= 0) return ERR_TIMEOUT;
    n = recv(c->socket, &in, sizeof in, 0);
    if (n <= 0) return ERR_IO;
    heard(c, &in.msg, (size_t)n);
    return in.msg.kind == KEEPER_READY ? OK : ERR_IO;
}

/* Absolute: tools start in other directories. */
static bool set_root(struct children *c, const char *root)
{
    char here[PATH_MAX];
    int  n;

    if (root[0] == '/') n = snprintf(c->root, sizeof c->root, "%s", root);
    else if (getcwd(here, sizeof here)) n = snprintf(c->root, sizeof c->root, "%s/%s", here, root);
    else return false;
    return n < ROOT_MAX;
}

enum err children_start(struct children **out, struct loop *l, const char *root)
{
    struct children *c = mem_alloc(sizeof *c);
    enum err         e = ERR_RANGE;

    if (!c) return ERR_NOMEM;
    signal(SIGPIPE, SIG_IGN); /* a child that does not read its stdin is not our end */
    c->loop = l;
    c->socket = -1;
    list_init(&c->waiting);
    list_init(&c->living);
    if (!set_root(c, root)) goto undo;
    if ((e = open_keeper(c)) != OK) goto undo;
    if ((e = wait_ready(c)) != OK) goto undo;
    if ((e = watch_keeper(c)) != OK) goto undo;
    loop_timer_init(l, &c->restart, on_restart);
    *out = c;
    return OK;
undo:
    close_keeper(c);
    reap_keeper(c, STOP_WAIT_MS);
    mem_free(c);
    return e;
}

static void restart_closed(struct loop_timer *t)
{
    mem_free(LIST_ITEM(t, struct children, restart));
}

void children_stop(struct children *c)
{
    c->stopping = true;
    keeper_lost(c);
    reap_keeper(c, STOP_WAIT_MS);
    loop_timer_close(&c->restart, restart_closed);
}

const struct sandbox_caps *children_caps(const struct children *c)
{
    return &c->caps;
}
size_t children_count(const struct children *c)
{
    return c->count;
}
pid_t children_keeper(const struct children *c)
{
    return c->keeper;
}

/* --- starting one -------------------------------------------------------------------- */

static void put_text(struct buf *b, const char *z)
{
    buf_add(b, z ? z : "", z ? strlen(z) + 1 : 1);
}

static uint32_t put_list(struct buf *b, const char **list)
{
    uint32_t n = 0;
    for (; list && list[n]; n++) put_text(b, list[n]);
    return n;
}

static enum err send_start(struct children *all, struct child *c, const struct child_spec *spec,
                           const int fds[3])
{
    struct keeper_start s = {
        .msg = { .id = c->id, .kind = KEEPER_START },
        .limits = spec->limits,
        .sandbox = spec->sandbox,
        .network = spec->network,
    };
    struct buf b;
    enum err   e;

    buf_init(&b, KEEPER_MSG_MAX);
    buf_add(&b, &s, sizeof s);
    put_text(&b, spec->cwd);
    put_text(&b, spec->program);
    s.argc = put_list(&b, spec->argv);
    s.envc = put_list(&b, spec->envp);
    s.readc = put_list(&b, spec->read);
    e = b.err == ERR_FULL ? ERR_RANGE : b.err;
    if (e == OK) {
        memcpy(b.ptr, &s, sizeof s);
        e = send_packet(all, b.ptr, b.len, fds);
    } else close_fds(fds);
    buf_done(&b);
    return e;
}

static void on_alloc(uv_handle_t *h, size_t size, uv_buf_t *b)
{
    struct child *c = h->data;
    *b = uv_buf_init(c->all->chunk, READ_CHUNK);
}

static void on_out(uv_stream_t *s, ssize_t n, const uv_buf_t *b)
{
    struct child *c = s->data;
    if (n > 0 && !c->out_ended) c->on_out(c, str_n(b->base, (size_t)n));
    else if (n < 0) {
        uv_read_stop(s);
        end_stream(c, &c->out_ended, c->on_out);
    }
}

static void on_err(uv_stream_t *s, ssize_t n, const uv_buf_t *b)
{
    struct child *c = s->data;
    if (n > 0 && !c->err_ended) c->on_err(c, str_n(b->base, (size_t)n));
    else if (n < 0) {
        uv_read_stop(s);
        end_stream(c, &c->err_ended, c->on_err);
    }
}

static void open_pipe(struct child *c, uv_pipe_t *p, int fd)
{
    must(uv_pipe_init(&c->all->loop->uv, p, 0) == 0);
    p->data = c;
    must(uv_pipe_open(p, fd) == 0);
}

/* A pipe that has the text and its end, for programs that insist on one. -1: it is too long. */
static int filled(struct str text)
{
    int fds[2];

    if (pipe2(fds, O_CLOEXEC)) return -1;
    bool fits = fcntl(fds[1], F_GETPIPE_SZ) >= (int64_t)text.len &&
                write(fds[1], text.ptr, text.len) == (ssize_t)text.len;
    close(fds[1]);
    if (fits) return fds[0];
    close(fds[0]);
    return -1;
}

/* Some hosts have files without a name only if nobody can run them; older kernels do not know. */
static int nameless(void)
{
    int fd = memfd_create("input", MFD_CLOEXEC | MFD_NOEXEC_SEAL);

    return fd < 0 && errno == EINVAL ? memfd_create("input", MFD_CLOEXEC | MFD_ALLOW_SEALING) : fd;
}

/* A file without a name that has the text, and never another. -1: there is no room. */
static int sealed(struct str text)
{
    int    fd = nameless();
    size_t done = 0;

    while (fd >= 0 && done < text.len) {
        ssize_t n = write(fd, text.ptr + done, text.len - done);
        if (n >= 0) done += (size_t)n;
        else if (errno != EINTR) break;
    }
    if (fd >= 0 && done == text.len && lseek(fd, 0, SEEK_SET) == 0 &&
        fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) == 0)
        return fd;
    if (fd >= 0) close(fd);
    return -1;
}

static bool open_in(int fds[2], struct str input)
{
    if (!input.ptr) return pipe2(fds, O_CLOEXEC) == 0;
    fds[0] = filled(input);
    if (fds[0] < 0) fds[0] = sealed(input);
    return fds[0] >= 0;
}

/* fds: in (theirs, ours or -1), out (ours, theirs), err (ours, theirs) */
static bool open_pipes(int fds[6], struct str input)
{
    for (int i = 0; i < 6; i++) fds[i] = -1;
    if (open_in(fds, input) && pipe2(fds + 2, O_CLOEXEC) == 0 && pipe2(fds + 4, O_CLOEXEC) == 0)
        return true;
    for (int i = 0; i < 6; i++)
        if (fds[i] >= 0) close(fds[i]);
    return false;
}

enum err child_start(struct children *all, struct child *c, const struct child_spec *spec)
{
    int      fds[6];
    enum err e;

    if (all->socket < 0) return ERR_BUSY;
    if (!open_pipes(fds, spec->input)) return ERR_IO;
    c->all = all;
    c->id = ++all->next_id;
    e = send_start(all, c, spec, (int[3]){ fds[0], fds[3], fds[5] });
    if (e != OK) {
        close_fds((int[3]){ fds[1], fds[2], fds[4] });
        return e;
    }
    c->exited = c->closing = c->out_ended = c->err_ended = false;
    c->in_closed = fds[1] < 0;
    c->status = CHILD_LOST;
    c->over = CHILD_WITHIN;
    c->open = c->in_closed ? 3 : 4; /* pipes and the timer */
    c->node = (struct list){ NULL, NULL };
    list_add(&all->living, &c->node);
    all->count++;
    loop_timer_init(all->loop, &c->drain, on_drain);
    if (!c->in_closed) open_pipe(c, &c->in, fds[1]);
    open_pipe(c, &c->out, fds[2]);
    open_pipe(c, &c->err, fds[4]);
    uv_read_start((uv_stream_t *)&c->out, on_alloc, on_out);
    uv_read_start((uv_stream_t *)&c->err, on_alloc, on_err);
    return OK;
}

/* --- talking to one -------------------------------------------------------------------- */

struct write {
    uv_write_t req;
    char       data[];
};

static void written(uv_write_t *req, int status)
{
    mem_free(req);
}

void child_write(struct child *c, struct str bytes)
{
    uv_buf_t      b = uv_buf_init((char *)(uintptr_t)bytes.ptr, (unsigned)bytes.len);
    struct write *w;
    int           n;

    if (c->in_closed || bytes.len == 0) return;
    n = uv_try_write((uv_stream_t *)&c->in, &b, 1);
    if (n < 0 && n != UV_EAGAIN) return;
    if (n > 0) bytes = str_from(bytes, (size_t)n);
    if (bytes.len == 0) return;
    if (!(w = mem_alloc(sizeof *w + bytes.len))) return;
    memcpy(w->data, bytes.ptr, bytes.len);
    b = uv_buf_init(w->data, (unsigned)bytes.len);
    if (uv_write(&w->req, (uv_stream_t *)&c->in, &b, 1, written)) mem_free(w);
}

size_t child_unsent(const struct child *c)
{
    return c->in_closed ? 0 : uv_stream_get_write_queue_size((const uv_stream_t *)&c->in);
}

/* libuv can only shut down sockets properly; a pipe is closed when its queue is empty. */
static void shut(uv_write_t *req, int status)
{
    struct child *c = req->handle->data;
    mem_free(req);
    if (c->in_closed) return;
    c->in_closed = true;
    uv_close((uv_handle_t *)&c->in, pipe_closed);
}

void child_close_in(struct child *c)
{
    struct write *w;
    uv_buf_t      none = uv_buf_init("", 0);

    if (c->in_closed || c->closing) return;
    if (uv_stream_get_write_queue_size((uv_stream_t *)&c->in) == 0) {
        c->in_closed = true;
        uv_close((uv_handle_t *)&c->in, pipe_closed);
    } else if ((w = mem_alloc(sizeof *w))) {
        if (uv_write(&w->req, (uv_stream_t *)&c->in, &none, 1, shut)) mem_free(w);
    }
}

void child_mute(struct child *c)
{
    uv_read_stop((uv_stream_t *)&c->out);
    uv_read_stop((uv_stream_t *)&c->err);
    end_stream(c, &c->out_ended, c->on_out);
    end_stream(c, &c->err_ended, c->on_err);
}

static void send_signal(struct child *c, enum keeper_kind kind)
{
    struct keeper_msg m = { .id = c->id, .kind = kind };
    /* ERR: the keeper is gone, and so will be the child. */
    if (!c->exited && send_packet(c->all, &m, sizeof m, (int[3]){ -1, -1, -1 }) != OK) return;
}

void child_term(struct child *c)
{
    send_signal(c, KEEPER_TERM);
}
void child_kill(struct child *c)
{
    send_signal(c, KEEPER_KILL);
}

/* --- words ------------------------------------------------------------------------------- */

static bool is_program(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

static struct str try_path(struct arena *a, const char *dir, struct str name)
{
    struct str path = arena_printf(a, "%s%s" STR_FMT, dir, *dir ? "/" : "", STR_ARG(name));
    char      *real;

    if (!path.ptr || !is_program(path.ptr)) return STR_NONE;
    if (path.ptr[0] == '/') return path;
    if (!(real = realpath(path.ptr, NULL))) return STR_NONE;
    path = arena_dup(a, str_c(real));
    free(real);
    return path;
}

struct str child_find(struct arena *a, struct str name, const char *cwd)
{
    const char *path = getenv("PATH");
    struct str  rest = str_c(path ? path : "/usr/local/bin:/usr/bin:/bin"), dir, found;

    if (name.len == 0 || memchr(name.ptr, 0, name.len)) return STR_NONE;
    if (memchr(name.ptr, '/', name.len))
        return try_path(a, name.ptr[0] == '/' || !cwd ? "" : cwd, name);
    while (str_split(&rest, ':', &dir)) {
        struct str z = arena_dup(a, dir.len ? dir : STR("."));
        if (z.ptr && (found = try_path(a, z.ptr, name)).ptr) return found;
    }
    return STR_NONE;
}

void child_status_text(int status, struct buf *out)
{
    if (status == CHILD_NOT_STARTED) buf_lit(out, "it could not be started");
    else if (status == CHILD_LOST) buf_lit(out, "it was lost");
    else if (WIFSIGNALED(status))
        buf_printf(out, "signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else buf_printf(out, "exit status %d", WEXITSTATUS(status));
}
