/* seccomp.c -- which system calls a tool cannot make.
 *
 * A list of what is refused, not of what is allowed: tools are programs in any
 * language, and a list of allowed calls would be wrong with the next libc. What
 * is refused answers EPERM, so that well-written programs go on without it
 * (libuv without io_uring, for example). Some answers differ: clone3 and openat2 say ENOSYS,
 * because their flags lie in memory where a filter cannot look and libc then falls back to
 * clone and openat, whose flags can be seen; another architecture's calls
 * (int 0x80, x32) end the process.
 *
 * Memory that no process has, or that is not counted as a process's data, is refused
 * too: RLIMIT_DATA and the keeper's count (meter.h) are whole only so.
 *
 * libseccomp writes the filters, once, in the keeper; its children only load them.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tool/process/sandbox_int.h"

#define PROGRAM_MAX           1024 /* instructions; they are about 300 */
#define LOW32                 0xffffffffu
#define PUT(ctx, answer, ...) (seccomp_rule_add(ctx, answer, __VA_ARGS__) == 0)

#ifndef MAP_GROWSDOWN
#define MAP_GROWSDOWN 0x100
#endif

struct program {
    struct sock_filter code[PROGRAM_MAX];
    unsigned short     len;
};
static struct program programs[2]; /* without and with network */

static const int refused[] = {
    SCMP_SYS(ptrace),
    SCMP_SYS(process_vm_readv),
    SCMP_SYS(process_vm_writev),
    SCMP_SYS(kcmp),
    SCMP_SYS(pidfd_getfd),
    SCMP_SYS(process_madvise),
    SCMP_SYS(mount),
    SCMP_SYS(umount2),
    SCMP_SYS(umount),
    SCMP_SYS(pivot_root),
    SCMP_SYS(chroot),
    SCMP_SYS(mount_setattr),
    SCMP_SYS(open_tree),
    SCMP_SYS(move_mount),
    SCMP_SYS(fsopen),
    SCMP_SYS(fsconfig),
    SCMP_SYS(fsmount),
    SCMP_SYS(fspick),
    SCMP_SYS(setns),
    SCMP_SYS(unshare),
    SCMP_SYS(init_module),
    SCMP_SYS(finit_module),
    SCMP_SYS(delete_module),
    SCMP_SYS(create_module),
    SCMP_SYS(get_kernel_syms),
    SCMP_SYS(query_module),
    SCMP_SYS(kexec_load),
    SCMP_SYS(kexec_file_load),
    SCMP_SYS(nfsservctl),
    SCMP_SYS(bpf),
    SCMP_SYS(perf_event_open),
    SCMP_SYS(userfaultfd),
    SCMP_SYS(fanotify_init),
    SCMP_SYS(lookup_dcookie),
    SCMP_SYS(io_uring_setup),
    SCMP_SYS(io_uring_enter),
    SCMP_SYS(io_uring_register),
    SCMP_SYS(keyctl),
    SCMP_SYS(add_key),
    SCMP_SYS(request_key),
    SCMP_SYS(open_by_handle_at),
    SCMP_SYS(name_to_handle_at),
    SCMP_SYS(swapon),
    SCMP_SYS(swapoff),
    SCMP_SYS(reboot),
    SCMP_SYS(acct),
    SCMP_SYS(quotactl),
    SCMP_SYS(quotactl_fd),
    SCMP_SYS(sethostname),
    SCMP_SYS(setdomainname),
    SCMP_SYS(settimeofday),
    SCMP_SYS(clock_settime),
    SCMP_SYS(clock_adjtime),
    SCMP_SYS(adjtimex),
    SCMP_SYS(stime),
    SCMP_SYS(syslog),
    SCMP_SYS(vhangup),
    SCMP_SYS(personality),
    SCMP_SYS(move_pages),
    SCMP_SYS(migrate_pages),
    SCMP_SYS(mbind),
    SCMP_SYS(iopl),
    SCMP_SYS(ioperm),
    SCMP_SYS(modify_ldt),
    SCMP_SYS(uselib),
    SCMP_SYS(ustat),
    SCMP_SYS(sysfs),
    SCMP_SYS(_sysctl),
    /* memory without a process, and what outlives the last one */
    SCMP_SYS(memfd_create),
    SCMP_SYS(memfd_secret),
    SCMP_SYS(remap_file_pages),
    SCMP_SYS(shmget),
    SCMP_SYS(shmat),
    SCMP_SYS(shmctl),
    SCMP_SYS(semget),
    SCMP_SYS(semop),
    SCMP_SYS(semtimedop),
    SCMP_SYS(semctl),
    SCMP_SYS(msgget),
    SCMP_SYS(msgsnd),
    SCMP_SYS(msgrcv),
    SCMP_SYS(msgctl),
    SCMP_SYS(mq_open),
    SCMP_SYS(mq_unlink),
};

/* Where another's process can be named and nothing else forbids it. */
static const struct {
    int      call;
    unsigned arg;
} on_others[] = {
    { SCMP_SYS(sched_setaffinity), 0 }, { SCMP_SYS(sched_setscheduler), 0 },
    { SCMP_SYS(sched_setparam), 0 },    { SCMP_SYS(sched_setattr), 0 },
    { SCMP_SYS(setpriority), 1 },       { SCMP_SYS(ioprio_set), 1 },
    { SCMP_SYS(pidfd_open), 0 },
};

static const uint32_t REFUSE = SCMP_ACT_ERRNO(EPERM), NO_SOCKET = SCMP_ACT_ERRNO(EACCES),
                      ABSENT = SCMP_ACT_ERRNO(ENOSYS);

static bool put_refused(scmp_filter_ctx c)
{
    bool ok = true;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        int r = seccomp_rule_add(c, REFUSE, refused[i], 0);
        ok &= r == 0 || r == -EDOM; /* not a call of this machine */
    }
    return ok;
}

/* clone, yes, but no new namespaces: CLONE_NEWNS and the seven of CLONE_NEWCGROUP..CLONE_NEWNET. */
static bool put_clone(scmp_filter_ctx c)
{
    bool ok = PUT(c, ABSENT, SCMP_SYS(clone3), 0) &&
              PUT(c, REFUSE, SCMP_SYS(clone), 1, SCMP_A0_64(SCMP_CMP_MASKED_EQ, 0x20000, 0x20000));
    for (uint64_t bit = 0x02000000; bit <= 0x40000000; bit <<= 1)
        ok &= PUT(c, REFUSE, SCMP_SYS(clone), 1, SCMP_A0_64(SCMP_CMP_MASKED_EQ, bit, bit));
    return ok;
}

/* TIOCSTI types into the terminal of whoever started the server, TIOCLINUX pastes. */
static bool put_ioctl(scmp_filter_ctx c)
{
    return PUT(c, REFUSE, SCMP_SYS(ioctl), 1, SCMP_A1_64(SCMP_CMP_MASKED_EQ, LOW32, TIOCSTI)) &&
           PUT(c, REFUSE, SCMP_SYS(ioctl), 1, SCMP_A1_64(SCMP_CMP_MASKED_EQ, LOW32, TIOCLINUX));
}

/* Shared anonymous memory is a file of nobody: it stays when its pages are given back. A mapping
 * that grows down is no data. */
static bool put_mmap(scmp_filter_ctx c)
{
    return PUT(c, REFUSE, SCMP_SYS(mmap), 1,
               SCMP_A3_64(SCMP_CMP_MASKED_EQ, MAP_TYPE | MAP_ANONYMOUS,
                          MAP_SHARED | MAP_ANONYMOUS)) &&
           PUT(c, REFUSE, SCMP_SYS(mmap), 1,
               SCMP_A3_64(SCMP_CMP_MASKED_EQ, MAP_GROWSDOWN, MAP_GROWSDOWN));
}

/* With network: IP, and netlink, which name lookups use. Never unix sockets
 * (docker.sock is root); socketpair stays, pipes between processes are made of it. */
static bool put_socket(scmp_filter_ctx c, bool network)
{
    bool ok = true;
    if (!network) return PUT(c, NO_SOCKET, SCMP_SYS(socket), 0);
    for (unsigned family = 0; family < AF_NETLINK; family++)
        if (family != AF_INET && family != AF_INET6)
            ok &= PUT(c, NO_SOCKET, SCMP_SYS(socket), 1,
                      SCMP_A0_64(SCMP_CMP_MASKED_EQ, LOW32, family));
    return ok && PUT(c, NO_SOCKET, SCMP_SYS(socket), 1, SCMP_A0_64(SCMP_CMP_GT, AF_NETLINK));
}

/* By path: an open file can still be changed, and only what is readable can be opened. */
static const int attributes[] = {
    SCMP_SYS(chmod),     SCMP_SYS(fchmodat),    SCMP_SYS(chown),
    SCMP_SYS(lchown),    SCMP_SYS(fchownat),    SCMP_SYS(setxattr),
    SCMP_SYS(lsetxattr), SCMP_SYS(removexattr), SCMP_SYS(lremovexattr),
};
#define NR_FCHMODAT2  452 /* younger than libseccomp 2.5; the same on all machines */
#define NR_SETXATTRAT 463 /* and removexattrat, 466 */

/* Landlock does not know of them, and the store belongs to the tool's uid: it could be closed to
 * the server itself. */
static bool put_attributes(scmp_filter_ctx c, const struct sandbox_caps *caps)
{
    bool ok = true;
    if (caps->own_uid || caps->readonly) return true;
    for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++) {
        int r = seccomp_rule_add(c, REFUSE, attributes[i], 0);
        ok &= r == 0 || r == -EDOM;
    }
    return ok && PUT(c, REFUSE, NR_FCHMODAT2, 0) && PUT(c, REFUSE, NR_SETXATTRAT, 0) &&
           PUT(c, REFUSE, NR_SETXATTRAT + 3, 0);
}

/* A tool has no business with the limits or priorities of another process; without a PID
 * namespace, and with the server's uid, it could reach those of the server. */
static bool put_others(scmp_filter_ctx c, const struct sandbox_caps *caps)
{
    bool ok = PUT(c, REFUSE, SCMP_SYS(prlimit64), 1, SCMP_A0_64(SCMP_CMP_NE, 0));
    if (caps->pidns || caps->own_uid) return ok;
    for (size_t i = 0; i < sizeof on_others / sizeof *on_others; i++)
        ok &= PUT(c, REFUSE, on_others[i].call, 1, SCMP_CMP64(on_others[i].arg, SCMP_CMP_NE, 0));
    return ok && PUT(c, REFUSE, SCMP_SYS(pidfd_send_signal), 0);
}

/* Landlock does not know of truncation before its version 3: an open for reading could empty the
 * store. */
static bool put_truncate(scmp_filter_ctx c, int landlock)
{
    /* 3: no access at all, and yet it truncates */
    static const uint64_t access[] = { O_RDONLY, O_ACCMODE };
    bool                  ok = true;

    if (landlock >= 3) return true;
    for (int i = 0; i < 2; i++) {
        uint64_t mask = O_TRUNC | O_ACCMODE, flags = O_TRUNC | access[i];
        int      r = seccomp_rule_add(c, REFUSE, SCMP_SYS(open), 1,
                                      SCMP_A1_64(SCMP_CMP_MASKED_EQ, mask, flags));
        ok &= (r == 0 || r == -EDOM) &&
              PUT(c, REFUSE, SCMP_SYS(openat), 1, SCMP_A2_64(SCMP_CMP_MASKED_EQ, mask, flags));
    }
    return ok && PUT(c, REFUSE, SCMP_SYS(truncate), 0) && PUT(c, ABSENT, SCMP_SYS(openat2), 0);
}

/* libseccomp writes to a descriptor only; a pipe holds all of it. */
static bool export(scmp_filter_ctx c, struct program *p)
{
    int     ends[2];
    ssize_t n = -1;

    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK)) return false;
    if (seccomp_export_bpf(c, ends[1]) == 0) n = read(ends[0], p->code, sizeof p->code);
    close(ends[0]);
    close(ends[1]);
    p->len =
        n > 0 && (size_t)n < sizeof p->code ? (unsigned short)((size_t)n / sizeof *p->code) : 0;
    return p->len > 0;
}

static bool build(const struct sandbox_caps *caps, bool network, struct program *p)
{
    scmp_filter_ctx c = seccomp_init(SCMP_ACT_ALLOW);
    bool ok = c && seccomp_attr_set(c, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS) == 0 &&
              put_refused(c) && put_clone(c) && put_ioctl(c) && put_mmap(c) &&
              put_socket(c, network) && put_others(c, caps) && put_attributes(c, caps) &&
              put_truncate(c, caps->landlock) && export(c, p);
    if (c) seccomp_release(c);
    return ok;
}

bool seccomp_build(const struct sandbox_caps *caps)
{
    uint32_t action = SECCOMP_RET_ERRNO;
    return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0 &&
           build(caps, false, &programs[0]) && build(caps, true, &programs[1]);
}

int seccomp_install(bool network)
{
    struct program   *p = &programs[network];
    struct sock_fprog prog = { p->len, p->code };
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog, 0, 0);
}
