/* init.c -- looks after one child from its first instruction to its last descendant.
 *
 * As init of a PID namespace it can signal "everything but me" (kill -1) and the
 * kernel kills the rest should it die itself. Without a namespace it is a
 * subreaper: whatever loses its parent becomes its child, so killing one's
 * children until there are none reaches every descendant.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tool/process/keeper.h"

struct init {
    bool  init; /* of a PID namespace */
    pid_t child;
    int   status;
    bool  child_ended;
    int   socket;
    /* its other end closes by itself when the program begins; a byte says that it never will */
    int   began;
};

/* --- the work directory -------------------------------------------------------- */

/* A folder that was closed even to its owner can be neither emptied nor moved. Never through a
 * link. */
static bool unlock(int dir, const char *name)
{
    struct stat st;
    return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode) &&
           fchmodat(dir, name, 0700, 0) == 0;
}

/* Empties `from`: files go, folders are moved up into `top`, so that no depth is ever met. False:
 * something stayed. */
static bool flatten(int from, int top, unsigned *moved)
{
    int            fd = dup(from);
    DIR           *d = fd >= 0 ? fdopendir(fd) : NULL;
    struct dirent *e;
    char           name[32];
    bool           ok = d != NULL;

    while (d && (e = readdir(d))) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
            unlinkat(from, e->d_name, 0) == 0)
            continue;
        do snprintf(name, sizeof name, "m-%u", (*moved)++);
        while (faccessat(top, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0);
        ok &= unlock(from, e->d_name) && renameat(from, e->d_name, top, name) == 0;
    }
    if (d) closedir(d);
    else if (fd >= 0) close(fd);
    return ok;
}

/* The folder `name` directly in `top`. */
static bool remove_folder(int top, const char *name, unsigned *moved)
{
    int fd;

    if (!unlock(top, name) ||
        (fd = openat(top, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) < 0)
        return false;
    bool emptied = flatten(fd, top, moved);
    close(fd);
    return emptied && unlinkat(top, name, AT_REMOVEDIR) == 0;
}

/* One pass: what is a folder now is gone afterwards, what was in it is in `top`. False: no pass
 * helps any more. */
static bool remove_level(int top, unsigned *moved)
{
    int            fd = openat(top, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR           *d = fd >= 0 ? fdopendir(fd) : NULL;
    struct dirent *e;
    bool           some = false;

    while (d && (e = readdir(d))) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
        some |= unlinkat(top, e->d_name, 0) == 0 || remove_folder(top, e->d_name, moved);
    }
    if (d) closedir(d);
    else if (fd >= 0) close(fd);
    return some;
}

void remove_tree(int dir, const char *name)
{
    unsigned moved = 0;
    int      top;

    if (!unlock(dir, name) ||
        (top = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) < 0)
        return;
    while (remove_level(top, &moved)) {}
    close(top);
    (void)unlinkat(dir, name, AT_REMOVEDIR);
}

/* --- the child, up to its exec ----------------------------------------------------- */

#define BEGAN_FD 3 /* in the child, up to its exec */

/* The exit status proves nothing: a shell says 127 after it has paid, too. That it did not begin is
 * said first, and all without allocating: its limits may leave no memory for words. */
_Noreturn static void cannot(const char *what, const char *name)
{
    const char *const words[] = { "cannot start ",        name, ": ", what, ": ",
                                  strerrordesc_np(errno), "\n" };

    (void)!write(BEGAN_FD, "", 1);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (words[i]) (void)!write(2, words[i], strlen(words[i]));
    _exit(127);
}

static void plain_signals(void)
{
    sigset_t none;
    for (int s = 1; s < NSIG; s++) signal(s, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* The three pipes become 0, 1, 2. They may lie there already in another order, so all move out of
 * the way first. */
static void take_stdio(const int fds[3], int began)
{
    const int from[4] = { fds[0], fds[1], fds[2], began };
    int       high[4];
    for (int i = 0; i < 4; i++) high[i] = fcntl(from[i], F_DUPFD_CLOEXEC, 10);
    for (int i = 0; i < 4; i++)
        if (high[i] < 0 || dup3(high[i], i, i == BEGAN_FD ? O_CLOEXEC : 0) < 0) _exit(126);
    (void)syscall(SYS_close_range, BEGAN_FD + 1u, ~0u, 0u);
    for (int i = BEGAN_FD + 1; i < 256; i++) close(i); /* where the kernel has no close_range */
}

static const char *find_env(char **envp, const char *name)
{
    size_t n = strlen(name);
    for (; *envp; envp++)
        if (strncmp(*envp, name, n) == 0 && (*envp)[n] == '=') return *envp + n + 1;
    return NULL;
}

static void add_env(char **envp, const char *name, const char *value)
{
    static char text[2][4096];
    static int  n;
    size_t      i = 0;
    if (find_env(envp, name)) return; /* the configuration says otherwise */
    while (envp[i]) i++;
    snprintf(text[n], sizeof text[n], "%s=%s", name, value);
    envp[i] = text[n++];
}

_Noreturn static void become(const struct sandbox_caps *caps, struct keeper_order *o, int began)
{
    const char         *step = "";
    struct sandbox_spec spec = {
        .network = o->start->network,
        .uid = o->uid,
        .limits = o->start->limits,
        .work = o->work,
        .read = o->read,
    };

    setsid();
    plain_signals();
    take_stdio(o->fds, began);
    if ((errno = o->unsafe)) cannot("mounts", o->argv[0]);
    if (o->cwd[0] && chdir(o->cwd)) cannot(o->cwd, o->argv[0]);
    if (o->work) {
        add_env(o->envp, "HOME", o->work);
        add_env(o->envp, "TMPDIR", o->work);
    }
    if (o->start->sandbox && sandbox_apply(caps, &spec, &step) != OK) cannot(step, o->argv[0]);
    execve(o->program, o->argv, o->envp);
    cannot(o->program, o->argv[0]);
}

/* --- ending ------------------------------------------------------------------------- */

static void reap(struct init *m)
{
    int   status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid != m->child) continue;
        m->child_ended = true;
        m->status = status;
    }
}

static bool have_children(void)
{
    siginfo_t info;
    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

static pid_t parent_of(const char *pid)
{
    char    path[64], text[512];
    int     fd, ppid = -1;
    ssize_t n;

    snprintf(path, sizeof path, "/proc/%.20s/stat", pid);
    if ((fd = open(path, O_RDONLY | O_CLOEXEC)) < 0) return -1;
    n = read(fd, text, sizeof text - 1);
    close(fd);
    if (n <= 0) return -1;
    text[n] = 0;
    /* The name in parentheses may contain anything, also ") 1". */
    char *p = strrchr(text, ')');
    return p && sscanf(p + 1, " %*c %d", &ppid) == 1 ? ppid : -1;
}

static void signal_children(int sig)
{
    DIR           *d = opendir("/proc");
    struct dirent *e;
    while (d && (e = readdir(d)))
        if (e->d_name[0] >= '1' && e->d_name[0] <= '9' && parent_of(e->d_name) == getpid())
            kill(atoi(e->d_name), sig);
    if (d) closedir(d);
}

static void signal_all(struct init *m, int sig)
{
    if (m->init) {
        kill(-1, sig);
        return;
    }
    kill(-m->child, sig); /* its session's first group */
    if (sig == SIGKILL) signal_children(sig);
}

static void kill_all(struct init *m)
{
    struct timespec pause = { 0, 1000000 };
    for (;;) {
        signal_all(m, SIGKILL);
        reap(m);
        if (!have_children()) return;
        nanosleep(&pause, NULL);
    }
}

static int open_signals(void)
{
    sigset_t set;
    sigfillset(&set);
    sigprocmask(SIG_SETMASK, &set, NULL);
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGUSR1);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* Until the child has ended or must end. SIGUSR1: kill. */
static void watch(struct init *m, int signals)
{
    struct pollfd p[2] = { { .fd = signals, .events = POLLIN }, { .fd = m->socket, .events = 0 } };
    struct signalfd_siginfo s;

    while (!m->child_ended) {
        if (poll(p, 2, -1) < 0 && errno != EINTR) return;
        if (p[1].revents & (POLLHUP | POLLERR | POLLNVAL)) return; /* the server is gone */
        while (read(signals, &s, sizeof s) == sizeof s) {
            if (s.ssi_signo == SIGTERM) signal_all(m, SIGTERM);
            if (s.ssi_signo == SIGUSR1) return;
        }
        reap(m);
    }
}

/* Asked when the child is gone. One that was killed on its way to the program counts as begun:
 * nobody can tell. */
static bool never_began(const struct init *m)
{
    char c;
    return m->child < 0 || read(m->began, &c, 1) == 1;
}

/* The one mapping an ordinary user may make: themselves. Should it fail, the exec will. */
static void map_user(const struct keeper_order *o)
{
    const char *const names[] = { "/proc/self/setgroups", "/proc/self/uid_map",
                                  "/proc/self/gid_map" };
    char              texts[3][64] = { "deny" };

    snprintf(texts[1], sizeof texts[1], "%u %u 1", o->own_uid, o->own_uid);
    snprintf(texts[2], sizeof texts[2], "%u %u 1", o->own_gid, o->own_gid);
    for (int i = 0; i < 3; i++) {
        int fd = open(names[i], O_WRONLY | O_CLOEXEC);
        if (fd < 0) continue;
        (void)!write(fd, texts[i], strlen(texts[i]));
        close(fd);
    }
}

_Noreturn void init_run(const struct sandbox_caps *caps, struct keeper_order *o, int socket)
{
    struct init m = { .init = caps->pidns && o->start->sandbox, .socket = socket, .child = -1 };
    int         signals = open_signals(), began[2];

    prctl(PR_SET_PDEATHSIG, SIGUSR1, 0, 0, 0);
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    if (m.init && caps->pidns == PIDNS_USER) map_user(o);
    if (o->work && caps->readonly && sandbox_readonly(o->work)) o->unsafe = errno;
    if (pipe2(began, O_CLOEXEC | O_NONBLOCK) == 0) {
        m.began = began[0];
        m.child = fork();
        if (m.child == 0) become(caps, o, began[1]);
        close(began[1]);
    }
    for (int i = 0; i < 3; i++) close(o->fds[i]);
    if (m.child > 0) {
        watch(&m, signals);
        kill_all(&m);
    }
    struct keeper_msg told = { .id = o->start->msg.id,
                               .kind = KEEPER_EXITED,
                               .status = never_began(&m) ? -1 : m.status };
    (void)send(socket, &told, sizeof told, MSG_NOSIGNAL);
    if (o->work && caps->readonly) sandbox_readonly_end(o->work);
    if (o->work) remove_tree(o->root, strrchr(o->work, '/') + 1);
    _exit(0);
}
