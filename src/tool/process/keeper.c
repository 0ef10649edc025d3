/* keeper.c -- takes orders from the server, forks inits, tells when they are gone.
 *
 * Single-threaded, small, with no secrets in it: it was executed anew with an
 * empty environment, so that its forks are cheap and nothing leaks through them.
 * It ends when the server's end of the socket closes; its inits see the same and kill what they
 * look after.
 */
#include "tool/process/keeper.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tool/process/child.h"
#include "tool/process/meter.h"

#define ARGS_MAX  256
#define INITS_MAX SANDBOX_UID_COUNT /* one uid each */

/* between two looks at what is used; the work directory every fifth time */
#define METER_MS 200

struct kept {
    uint64_t              id;
    pid_t                 pid; /* 0: free */
    bool                  metered, over;
    struct sandbox_limits limits;
};

struct keeper {
    struct sandbox_caps caps;
    /* work directories are made here: one folder per keeper, in the one we were given */
    char                root[400];
    int                 root_fd; /* locked, and open in every init */
    struct kept         slots[INITS_MAX];
    unsigned            used;           /* slots below this one have been used */
    unsigned            metered, looks; /* children to look at, times looked */
    struct meter        meter;
    char               *argv[ARGS_MAX + 1], *envp[ARGS_MAX + 3];
    const char         *read[ARGS_MAX + 1];
    char                work[512];
    char                packet[KEEPER_MSG_MAX];
};

static struct keeper self; /* the process is the object */

static void tell(uint64_t id, enum keeper_kind kind, int status)
{
    struct keeper_msg m = { .id = id, .kind = kind, .status = status };
    (void)send(KEEPER_FD, &m, sizeof m, MSG_NOSIGNAL);
}

/* --- taking a START apart --------------------------------------------------------- */

struct texts {
    char *at, *end;
    bool  bad;
};

static char *next_text(struct texts *t)
{
    char *s = t->at, *nul = t->bad ? NULL : memchr(s, 0, (size_t)(t->end - s));
    if (!nul) {
        t->bad = true;
        return NULL;
    }
    t->at = nul + 1;
    return s;
}

static bool take_apart(struct keeper_order *o, char *packet, size_t len)
{
    struct texts               t = { packet + sizeof *o->start, packet + len, false };
    const struct keeper_start *s = o->start = (const void *)packet;

    if (s->argc == 0 || s->argc > ARGS_MAX || s->envc > ARGS_MAX || s->readc > ARGS_MAX)
        return false;
    memset(self.envp, 0, sizeof self.envp);
    o->cwd = next_text(&t);
    o->program = next_text(&t);
    for (uint32_t i = 0; i < s->argc; i++) self.argv[i] = next_text(&t);
    for (uint32_t i = 0; i < s->envc; i++) self.envp[i] = next_text(&t);
    for (uint32_t i = 0; i < s->readc; i++) self.read[i] = next_text(&t);
    self.argv[s->argc] = NULL;
    self.read[s->readc] = NULL;
    o->argv = self.argv;
    o->envp = self.envp;
    o->read = self.read;
    return !t.bad;
}

/* --- starting ------------------------------------------------------------------------ */

static struct kept *free_slot(void)
{
    for (unsigned i = 0; i < INITS_MAX; i++)
        if (!self.slots[i].pid) {
            if (i >= self.used) self.used = i + 1;
            return &self.slots[i];
        }
    return NULL;
}

static void set_work(uint64_t id)
{
    snprintf(self.work, sizeof self.work, "%s/%llu", self.root, (unsigned long long)id);
}

static bool make_work(struct keeper_order *o)
{
    set_work(o->start->msg.id);
    if (mkdir(self.work, 0700)) return false;
    if (o->uid && chown(self.work, o->uid, o->uid)) return false;
    o->work = self.work;
    o->root = self.root_fd;
    return true;
}

static pid_t fork_init(const struct keeper_order *o)
{
    unsigned long flags = SIGCHLD;
    if (!o->start->sandbox || !self.caps.pidns) return fork();
    flags |= CLONE_NEWPID | (self.caps.pidns == PIDNS_USER ? CLONE_NEWUSER : 0) |
             (self.caps.readonly ? CLONE_NEWNS : 0);
    return (pid_t)syscall(SYS_clone, flags, 0, 0, 0, 0);
}

/* Not the uids of another server's tools: a limit of processes is one of all that a user has on the
 * machine, and a bomb in the one would leave none to the other. Keepers that were started one after
 * the other are so many uids apart; all of them are met before one comes again. */
#define UID_STRIDE 61

static uint32_t uid_of(const struct kept *s)
{
    uint32_t first = (uint32_t)getpid() % SANDBOX_UID_COUNT * UID_STRIDE;
    return SANDBOX_UID_FIRST + (first + (uint32_t)(s - self.slots)) % SANDBOX_UID_COUNT;
}

static bool start(struct keeper_order *o)
{
    struct kept *s = free_slot();

    if (!s) return false;
    o->own_uid = getuid();
    o->own_gid = getgid();
    if (o->start->sandbox && self.caps.own_uid) o->uid = uid_of(s);
    if (o->start->sandbox && !make_work(o)) return false;
    s->pid = fork_init(o);
    if (s->pid == 0) init_run(&self.caps, o, KEEPER_FD);
    if (s->pid < 0) {
        s->pid = 0;
        if (o->work) rmdir(o->work);
        return false;
    }
    s->id = o->start->msg.id;
    s->metered = o->start->sandbox && (o->start->limits.memory || o->start->limits.work);
    s->over = false;
    s->limits = o->start->limits;
    self.metered += s->metered;
    return true;
}

static void on_start(size_t len, const int fds[3])
{
    struct keeper_order o = { .fds = { fds[0], fds[1], fds[2] } };
    bool ok = len > sizeof *o.start && take_apart(&o, self.packet, len) && fds[2] >= 0 && start(&o);

    for (int i = 0; i < 3; i++)
        if (fds[i] >= 0) close(fds[i]);
    if (!ok) tell(((const struct keeper_msg *)(const void *)self.packet)->id, KEEPER_GONE, -1);
}

static void on_signal(uint64_t id, int sig)
{
    for (unsigned i = 0; i < self.used; i++)
        if (self.slots[i].pid && self.slots[i].id == id) kill(self.slots[i].pid, sig);
}

/* --- the loop --------------------------------------------------------------------------- */

static void take_fds(struct msghdr *h, int fds[3])
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(h); c; c = CMSG_NXTHDR(h, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
        if (c->cmsg_len == CMSG_LEN(3 * sizeof(int))) memcpy(fds, CMSG_DATA(c), 3 * sizeof(int));
    }
}

/* False: the server is gone. */
static bool receive(void)
{
    union {
        struct cmsghdr head;
        char           room[CMSG_SPACE(3 * sizeof(int))];
    } control;
    struct iovec  v = { self.packet, sizeof self.packet };
    struct msghdr h = {
        .msg_iov = &v, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control
    };
    int                      fds[3] = { -1, -1, -1 };
    ssize_t                  n = recvmsg(KEEPER_FD, &h, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    const struct keeper_msg *m = (const void *)self.packet;

    if (n < 0) return errno == EINTR || errno == EAGAIN;
    if (n == 0) return false;
    take_fds(&h, fds);
    if ((size_t)n < sizeof *m) return true;
    switch (m->kind) {
    case KEEPER_START: on_start((size_t)n, fds); break;
    case KEEPER_TERM: on_signal(m->id, SIGTERM); break;
    case KEEPER_KILL: on_signal(m->id, SIGUSR1); break;
    case KEEPER_READY:
    case KEEPER_EXITED:
    case KEEPER_OVER:
    case KEEPER_GONE: break;
    }
    return true;
}

static void reap(void)
{
    int   status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
        for (unsigned i = 0; i < self.used; i++)
            if (self.slots[i].pid == pid) {
                tell(self.slots[i].id, KEEPER_GONE, 0);
                self.metered -= self.slots[i].metered;
                self.slots[i].pid = 0;
            }
}

/* --- limits that are no rlimits ------------------------------------------------------------ */

static enum child_over look_at(const struct kept *s, bool work)
{
    if (s->limits.memory && meter_memory(&self.meter, s->pid, s->limits.memory) > s->limits.memory)
        return CHILD_OVER_MEMORY;
    if (!work || !s->limits.work) return CHILD_WITHIN;
    set_work(s->id);
    return meter_work(&self.meter, s->pid, self.work, s->limits.work) > s->limits.work
               ? CHILD_OVER_WORK
               : CHILD_WITHIN;
}

static void look(void)
{
    bool work = self.looks++ % 5 == 0;

    if (!meter_scan(&self.meter)) return;
    for (unsigned i = 0; i < self.used; i++) {
        struct kept *s = &self.slots[i];
        if (!s->pid || !s->metered || s->over) continue;
        enum child_over over = look_at(s, work);
        if (over == CHILD_WITHIN) continue;
        s->over = true;
        tell(s->id, KEEPER_OVER, (int)over);
        kill(s->pid, SIGUSR1);
    }
}

static uint64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* --- the folder of work directories ------------------------------------------------------- */

#define STALE_S 10 /* a folder just made may not be locked yet */

static void remove_unlocked(const char *parent)
{
    DIR           *d = opendir(parent);
    struct dirent *e;
    struct stat    st;
    char           path[400];

    while (d && (e = readdir(d))) {
        if (strncmp(e->d_name, "k-", 2) != 0) continue;
        if (snprintf(path, sizeof path, "%s/%s", parent, e->d_name) >= (int)sizeof path) continue;
        int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0) continue;
        if (fstat(fd, &st) == 0 && time(NULL) - st.st_mtime > STALE_S &&
            flock(fd, LOCK_EX | LOCK_NB) == 0)
            remove_tree(AT_FDCWD, path);
        close(fd);
    }
    if (d) closedir(d);
}

/* A folder nobody holds a lock on is of a keeper that is no more. It may be large: nobody waits for
 * that. */
static void remove_stale(const char *parent)
{
    if (fork() != 0) return;
    remove_unlocked(parent);
    _exit(0);
}

/* The lock lives in the open descriptor, which the inits share: it is free when the last of them
 * has cleaned up. */
static bool make_root(const char *parent)
{
    if (mkdir(parent, 0711) && errno != EEXIST) return false;
    remove_stale(parent);
    if (snprintf(self.root, sizeof self.root, "%s/k-XXXXXX", parent) >= (int)sizeof self.root ||
        !mkdtemp(self.root))
        return false;
    self.root_fd = open(self.root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (self.root_fd < 0 || flock(self.root_fd, LOCK_EX | LOCK_NB)) return false;
    /* The uids of calls must be able to pass through to their own directory, and see nothing else
     * here. */
    return chmod(parent, 0711) == 0 && chmod(self.root, 0711) == 0;
}

static int open_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, NULL);
    /* Ctrl-C and a supervisor's SIGTERM are for the server; it tells us by going. */
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void send_ready(void)
{
    struct {
        struct keeper_msg   msg;
        struct sandbox_caps caps;
    } ready = { { .kind = KEEPER_READY }, self.caps };
    (void)send(KEEPER_FD, &ready, sizeof ready, MSG_NOSIGNAL);
}

bool keeper_is(int argc, char **argv)
{
    return argc == 3 && strcmp(argv[1], KEEPER_ARG) == 0;
}

int keeper_main(int argc, char **argv)
{
    struct pollfd           p[2] = { { .fd = KEEPER_FD, .events = POLLIN }, { .events = POLLIN } };
    struct signalfd_siginfo s;
    uint64_t                next = 0;

    must(keeper_is(argc, argv));
    prctl(PR_SET_NAME, "parley-keeper", 0, 0, 0);
    if (!make_root(argv[2])) return 1;
    /* before SIGCHLD is blocked: it waits for its own children */
    sandbox_probe(&self.caps, self.root);
    p[1].fd = open_signals();
    send_ready();
    for (bool more = true; more;) {
        uint64_t now = now_ms();
        if (self.metered && now >= next) {
            look();
            next = now_ms() + METER_MS;
        }
        if (poll(p, 2, self.metered ? METER_MS : -1) < 0 && errno != EINTR) break;
        while (read(p[1].fd, &s, sizeof s) == sizeof s) reap();
        if (p[0].revents) more = receive();
    }
    while (waitpid(-1, NULL, 0) > 0) {} /* the inits clean up; then nothing is left */
    rmdir(self.root);
    rmdir(argv[2]); /* stays while another keeper uses it */
    return 0;
}
