/* seccomp.c -- which system calls a tool cannot make.
 *
 * A list of what is refused, not of what is allowed: tools are programs in any
 * language, and a list of allowed calls would be wrong with the next libc. What
 * is refused answers EPERM, so that well-written programs go on without it
 * (libuv without io_uring, for example). Two answers differ: clone3 says ENOSYS, because its flags
 * lie in memory where a filter cannot look and libc then falls back to clone,
 * whose flags can be seen; another architecture's calls (int 0x80, x32) end the process.
 *
 * Handwritten BPF: load a word of struct seccomp_data, compare, jump.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "tool/sandbox_int.h"

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#else
#define ARCH 0
#endif

/* Younger than some headers we build with; the numbers are the same on all architectures. */
#define NR_IO_URING_SETUP 425
#define NR_OPEN_TREE      428      /* 428..433: open_tree, move_mount, fsopen, fsconfig, fsmount, fspick */
#define NR_FSPICK         433
#define NR_CLONE3         435
#define NR_PIDFD_GETFD    438
#define NR_MOUNT_SETATTR  442
#define NR_QUOTACTL_FD    443
#define NR_MEMFD_SECRET   447

#define NEW_NAMESPACES 0x7E020000u /* every CLONE_NEW* that clone takes */
#define X32_BIT        0x40000000u

static const unsigned refused[] = {
    SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_kcmp, NR_PIDFD_GETFD,
    SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot, NR_MOUNT_SETATTR,
    SYS_setns, SYS_unshare,
    SYS_init_module, SYS_finit_module, SYS_delete_module, SYS_kexec_load,
    SYS_bpf, SYS_perf_event_open, SYS_userfaultfd, SYS_fanotify_init, NR_MEMFD_SECRET,
    NR_IO_URING_SETUP, NR_IO_URING_SETUP + 1, NR_IO_URING_SETUP + 2,
    SYS_keyctl, SYS_add_key, SYS_request_key,
    SYS_open_by_handle_at, SYS_name_to_handle_at,
    SYS_swapon, SYS_swapoff, SYS_reboot, SYS_acct, SYS_quotactl, NR_QUOTACTL_FD,
    SYS_sethostname, SYS_setdomainname, SYS_settimeofday, SYS_clock_settime, SYS_clock_adjtime, SYS_adjtimex,
    SYS_syslog, SYS_vhangup, SYS_personality, SYS_move_pages, SYS_migrate_pages,
#if defined(__x86_64__)
    SYS_iopl, SYS_ioperm, SYS_kexec_file_load, SYS_modify_ldt, SYS_uselib, SYS_ustat, SYS_sysfs, SYS__sysctl,
    SYS_create_module, SYS_get_kernel_syms, SYS_query_module, SYS_nfsservctl,
#endif
};

#define PROGRAM_MAX 160

struct program {
    struct sock_filter code[PROGRAM_MAX];
    unsigned           len;
};

static void put(struct program *p, uint16_t op, uint32_t k, uint8_t yes, uint8_t no)
{
    must(p->len < PROGRAM_MAX);
    p->code[p->len++] = (struct sock_filter){ op, yes, no, k };
}

static void load(struct program *p, size_t at) { put(p, BPF_LD | BPF_W | BPF_ABS, (uint32_t)at, 0, 0); }
static void answer(struct program *p, uint32_t what) { put(p, BPF_RET | BPF_K, what, 0, 0); }

#define REFUSE SECCOMP_RET_ERRNO | EPERM
#define NR     offsetof(struct seccomp_data, nr)
#define ARG(n) (offsetof(struct seccomp_data, args) + 8 * (n))   /* the low half: both machines are little-endian */

static void if_is(struct program *p, uint32_t nr, uint32_t then)
{
    put(p, BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1);
    answer(p, then);
}

static void check_arch(struct program *p)
{
    load(p, offsetof(struct seccomp_data, arch));
    put(p, BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0);
    answer(p, SECCOMP_RET_KILL_PROCESS);
    load(p, NR);
    put(p, BPF_JMP | BPF_JGE | BPF_K, X32_BIT, 0, 1);
    answer(p, SECCOMP_RET_KILL_PROCESS);
}

/* clone, yes, but no new namespaces. */
static void check_clone(struct program *p)
{
    put(p, BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 4);
    load(p, ARG(0));
    put(p, BPF_JMP | BPF_JSET | BPF_K, NEW_NAMESPACES, 0, 1);
    answer(p, REFUSE);
    answer(p, SECCOMP_RET_ALLOW);
}

/* TIOCSTI types into the terminal of whoever started the server. */
static void check_ioctl(struct program *p)
{
    put(p, BPF_JMP | BPF_JEQ | BPF_K, SYS_ioctl, 0, 4);
    load(p, ARG(1));
    put(p, BPF_JMP | BPF_JEQ | BPF_K, TIOCSTI, 0, 1);
    answer(p, REFUSE);
    answer(p, SECCOMP_RET_ALLOW);
}

/* With network: IP, and netlink, which name lookups use. Never unix sockets
 * (docker.sock is root); socketpair stays, pipes between processes are made of it. */
static void check_socket(struct program *p, bool network)
{
    if (!network) {
        if_is(p, SYS_socket, SECCOMP_RET_ERRNO | EACCES);
        return;
    }
    put(p, BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 6);
    load(p, ARG(0));
    put(p, BPF_JMP | BPF_JEQ | BPF_K, AF_INET, 3, 0);
    put(p, BPF_JMP | BPF_JEQ | BPF_K, AF_INET6, 2, 0);
    put(p, BPF_JMP | BPF_JEQ | BPF_K, AF_NETLINK, 1, 0);
    answer(p, SECCOMP_RET_ERRNO | EACCES);
    answer(p, SECCOMP_RET_ALLOW);
}

static void build(struct program *p, bool network)
{
    check_arch(p);
    if_is(p, NR_CLONE3, SECCOMP_RET_ERRNO | ENOSYS);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) if_is(p, refused[i], REFUSE);
    for (uint32_t nr = NR_OPEN_TREE; nr <= NR_FSPICK; nr++) if_is(p, nr, REFUSE);
    check_clone(p);
    check_ioctl(p);
    check_socket(p, network);
    answer(p, SECCOMP_RET_ALLOW);
}

bool seccomp_known_arch(void) { return ARCH != 0; }

int seccomp_apply(bool network)
{
    struct program    p = { .len = 0 };
    struct sock_fprog prog;

    build(&p, network);
    prog = (struct sock_fprog){ (unsigned short)p.len, p.code };
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog, 0, 0);
}
