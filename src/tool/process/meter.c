/* meter.c -- see meter.h. All of it reads /proc; what vanishes while it is read counts as
 * nothing. */
#include "tool/process/meter.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ENTRIES_MAX 50000 /* files and folders of one call */
#define DEPTH_MAX   200   /* one descriptor each */
#define CHAIN_MAX   1024  /* of parents; more than there can be */

/* --- the processes -------------------------------------------------------------------- */

static bool read_text(const char *path, char *text, size_t room)
{
    int     fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, room - 1);
    if (fd >= 0) close(fd);
    text[n > 0 ? n : 0] = 0;
    return n > 0;
}

static pid_t parent_of(const char *pid)
{
    char path[64], text[512], *p;
    int  parent = -1;

    snprintf(path, sizeof path, "/proc/%.20s/stat", pid);
    if (!read_text(path, text, sizeof text)) return -1;
    p = strrchr(text, ')'); /* the name in parentheses may contain anything, also ") 1" */
    return p && sscanf(p + 1, " %*c %d", &parent) == 1 ? parent : -1;
}

static int by_pid(const void *a, const void *b)
{
    const struct meter_process *x = a, *y = b;
    return (x->pid > y->pid) - (x->pid < y->pid);
}

static bool add(struct meter *m, struct meter_process p)
{
    if (m->count == m->room) {
        size_t room = m->room ? 2 * m->room : 256;
        void  *all = realloc(m->all, room * sizeof *m->all);
        if (!all) return false;
        m->all = all;
        m->room = room;
    }
    m->all[m->count++] = p;
    return true;
}

bool meter_scan(struct meter *m)
{
    DIR           *d = opendir("/proc");
    struct dirent *e;
    bool           ok = d != NULL;

    m->count = 0;
    while (ok && (e = readdir(d)))
        if (e->d_name[0] >= '1' && e->d_name[0] <= '9')
            ok = add(m, (struct meter_process){ atoi(e->d_name), parent_of(e->d_name) });
    if (d) closedir(d);
    if (m->count) qsort(m->all, m->count, sizeof *m->all, by_pid);
    return ok;
}

static bool is_below(const struct meter *m, struct meter_process p, pid_t root)
{
    for (int i = 0; i < CHAIN_MAX && p.parent > 0; i++) {
        if (p.parent == root) return true;
        const struct meter_process *up = bsearch(&(struct meter_process){ .pid = p.parent }, m->all,
                                                 m->count, sizeof *m->all, by_pid);
        if (!up) return false;
        p = *up;
    }
    return false;
}

/* --- memory ------------------------------------------------------------------------------- */

/* "Name:   123 kB" of a text of lines; 0 when it is not there. */
static uint64_t kilobytes(const char *text, const char *name, bool *found)
{
    unsigned long long n = 0;
    const char        *at = strstr(text, name);
    if (!at || sscanf(at + strlen(name), " %llu", &n) != 1) return 0;
    *found = true;
    return n * 1024;
}

static uint64_t memory_of(pid_t pid, bool exact)
{
    static const char *const        rough[] = { "\nRssAnon:", "\nRssShmem:", "\nVmSwap:" },
                             *const fine[] = { "\nPss_Anon:", "\nPss_Shmem:", "\nSwapPss:" };
    char                            path[64], text[4096];
    uint64_t                        sum = 0;
    bool                            found = false;

    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, exact ? "smaps_rollup" : "status");
    if (read_text(path, text, sizeof text))
        for (int i = 0; i < 3; i++) sum += kilobytes(text, exact ? fine[i] : rough[i], &found);
    return exact && !found ? memory_of(pid, false) : sum;
}

static uint64_t memory_below(const struct meter *m, pid_t root, bool exact)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < m->count; i++)
        if (is_below(m, m->all[i], root)) sum += memory_of(m->all[i].pid, exact);
    return sum;
}

uint64_t meter_memory(const struct meter *m, pid_t root, uint64_t limit)
{
    uint64_t sum = memory_below(m, root, false);
    return sum > limit ? memory_below(m, root, true) : sum;
}

/* --- the directory -------------------------------------------------------------------------- */

struct walk {
    uint64_t sum;
    unsigned entries;
    bool     lost;
};

/* Somebody may be moving folders about meanwhile: every step is relative to a folder that is held
 * open. */
static void walk(struct walk *w, int dir, int depth)
{
    DIR           *d = fdopendir(dir);
    struct dirent *e;
    struct stat    st;

    if (!d) {
        close(dir);
        return;
    }
    while (!w->lost && (e = readdir(d))) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
        if (fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW)) continue;
        w->sum += (uint64_t)st.st_blocks * 512;
        w->lost = ++w->entries > ENTRIES_MAX || (S_ISDIR(st.st_mode) && depth == DEPTH_MAX);
        if (!S_ISDIR(st.st_mode) || w->lost) continue;
        int fd = openat(dirfd(d), e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd >= 0) walk(w, fd, depth + 1);
        else w->lost = errno == EACCES; /* closed to us, to hide something */
    }
    closedir(d);
}

/* Several processes may have the same one open; it is counted for each of them, which errs on the
 * strict side. */
static void deleted(struct walk *w, pid_t pid)
{
    char           path[64];
    struct dirent *e;
    struct stat    st;
    DIR           *d;

    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    d = opendir(path);
    while (d && (e = readdir(d)))
        if (fstatat(dirfd(d), e->d_name, &st, 0) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 0)
            w->sum += (uint64_t)st.st_blocks * 512;
    if (d) closedir(d);
}

uint64_t meter_work(const struct meter *m, pid_t root, const char *dir, uint64_t limit)
{
    struct walk w = { 0 };
    int         fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd >= 0) walk(&w, fd, 0);
    for (size_t i = 0; i < m->count && w.sum <= limit; i++)
        if (is_below(m, m->all[i], root)) deleted(&w, m->all[i].pid);
    return w.lost ? UINT64_MAX : w.sum;
}
