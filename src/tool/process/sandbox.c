/* sandbox.c -- identity, limits, capabilities, and the order of it all.
 *
 * The order matters: the uid goes first (it needs capabilities), then capabilities,
 * then landlock (it opens paths), then limits (RLIMIT_NPROC would make setuid
 * fail, RLIMIT_NOFILE the opening), and seccomp last, because it forbids half of the above.
 */
#include "tool/process/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tool/process/sandbox_int.h"

#define STACK_MAX  (64ull * 1024 * 1024)
#define MOUNT_TREE 0x8000

/* --- what there is -------------------------------------------------------- */

/* A child with these namespaces comes to life? */
static bool can_clone(unsigned long flags)
{
    int  status;
    long pid = syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0);
    if (pid == 0) _exit(0);
    return pid > 0 && waitpid((pid_t)pid, &status, 0) == pid && status == 0;
}

/* Since 5.14 RLIMIT_NPROC is counted per user namespace; before, one user's tools would share it
 * with all they run. */
static bool nproc_per_namespace(void)
{
    struct utsname u;
    unsigned       major = 0, minor = 0;
    if (uname(&u) || sscanf(u.release, "%u.%u", &major, &minor) != 2) return false;
    return major > 5 || (major == 5 && minor >= 14);
}

static int change_uid(uint32_t uid, bool may_read);

/* And would that uid get to its work directory? */
static bool can_change_uid(const char *work_root, bool may_read)
{
    int   status;
    pid_t pid;

    if (geteuid() != 0) return false;
    pid = fork();
    if (pid == 0) _exit(change_uid(SANDBOX_UID_FIRST, may_read) || chdir(work_root));
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

/* as the kernel has it; libc's is younger */
struct mount_attr_v1 {
    uint64_t set, clear, propagation, userns;
};
#define RDONLY 1ull

static int set_mount(const char *path, unsigned flags, struct mount_attr_v1 a)
{
    return (int)syscall(442 /* mount_setattr */, AT_FDCWD, path, flags, &a, sizeof a);
}

int sandbox_readonly(const char *work)
{
    if (mount(work, work, NULL, MS_BIND, NULL)) return -1;
    if (set_mount("/", MOUNT_TREE, (struct mount_attr_v1){ .set = RDONLY })) return -1;
    return set_mount(work, 0, (struct mount_attr_v1){ .clear = RDONLY });
}

void sandbox_readonly_end(const char *work)
{
    (void)umount2(work, MNT_DETACH);
}

/* Would all of that work? */
static bool can_mount(const char *work_root)
{
    int  status;
    long pid = syscall(SYS_clone, CLONE_NEWPID | CLONE_NEWUSER | CLONE_NEWNS | SIGCHLD, 0, 0, 0, 0);
    if (pid == 0) _exit(sandbox_readonly(work_root) != 0);
    return pid > 0 && waitpid((pid_t)pid, &status, 0) == pid && status == 0;
}

void sandbox_probe(struct sandbox_caps *caps, const char *work_root)
{
    *caps = (struct sandbox_caps){ 0 };
    caps->landlock = landlock_version();
    caps->seccomp = seccomp_build(caps);
    caps->own_uid = can_change_uid(work_root, caps->landlock && caps->seccomp);
    if (can_clone(CLONE_NEWPID)) caps->pidns = PIDNS_ROOT;
    else if (geteuid() != 0 && can_clone(CLONE_NEWPID | CLONE_NEWUSER)) caps->pidns = PIDNS_USER;
    caps->readonly = caps->pidns == PIDNS_USER && can_mount(work_root);
    caps->nproc = caps->own_uid || (caps->pidns == PIDNS_USER && nproc_per_namespace());
    caps->seccomp = seccomp_build(caps); /* again: now it is known what the rest leaves open */
}

const char *const *sandbox_system(void)
{
    return landlock_system();
}

void sandbox_report(const struct sandbox_caps *caps, bool all, struct buf *out)
{
    if (!caps->landlock)
        buf_lit(out,
                "no landlock: tools can read and write every file that the server's user can\n");
    if (!caps->seccomp)
        buf_lit(out, "no seccomp: tools can open network connections and use every system call\n");
    if (!caps->nproc)
        buf_lit(out,
                "no process limit: a tool may start as many processes as the server's user may\n");
    if (!caps->own_uid && caps->landlock < 6 && !caps->pidns)
        buf_lit(out, "no signal isolation: a tool can send signals to the server\n");
    if (geteuid() == 0 && !caps->own_uid)
        buf_lit(out, "no uids: the server is root and cannot give that up for its tools\n");
    if (all && !caps->own_uid && !caps->readonly)
        buf_lit(
            out,
            "no read-only mounts: a tool cannot change permissions, not even of its own files\n");
    if (all && !caps->pidns)
        buf_lit(
            out,
            "no PID namespace: a tool's left-over processes are searched and killed one by one\n");
}

/* --- identity --------------------------------------------------------------- */

/* `keep`: the one capability left, or -1. */
static int set_caps(int keep)
{
    struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct   data[2] = { { 0 } };

    if (keep >= 0) {
        uint32_t bit = 1u << keep; /* those we keep are below 32 */
        data[0].effective = data[0].permitted = data[0].inheritable = bit;
    }
    return (int)syscall(SYS_capset, &head, data);
}

static void drop_bounding(int keep)
{
    for (int c = 0; c < 64; c++) /* fails without CAP_SETPCAP: then there is little to drop */
        if (c != keep) (void)prctl(PR_CAPBSET_DROP, c, 0, 0, 0);
}

/* Containers often lack the first; within landlock the second opens no more than the first. */
static int reading_capability(void)
{
    if (prctl(PR_CAPBSET_READ, CAP_DAC_READ_SEARCH, 0, 0, 0) == 1) return CAP_DAC_READ_SEARCH;
    if (prctl(PR_CAPBSET_READ, CAP_DAC_OVERRIDE, 0, 0, 0) == 1) return CAP_DAC_OVERRIDE;
    return -1;
}

/* Root's tools become somebody else, who may still read what root may (within
 * landlock): people who run as root have their scripts in /root. */
static int change_uid(uint32_t uid, bool may_read)
{
    int keep = may_read ? reading_capability() : -1;

    drop_bounding(keep);
    if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0)) return -1;
    if (setgroups(0, NULL) || setresgid(uid, uid, uid) || setresuid(uid, uid, uid)) return -1;
    if (set_caps(keep)) return -1;
    if (keep >= 0 && prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, keep, 0, 0)) return -1;
    return 0;
}

static int drop_caps(void)
{
    drop_bounding(-1);
    (void)prctl(PR_SET_SECUREBITS, SECBIT_NOROOT | SECBIT_NOROOT_LOCKED, 0, 0, 0);
    return set_caps(-1);
}

/* --- limits -------------------------------------------------------------------- */

static int limit(int what, uint64_t value)
{
    struct rlimit r = { value, value }, now;
    if (value == 0) return 0;
    if (getrlimit(what, &now)) return -1;
    if (now.rlim_max != RLIM_INFINITY && now.rlim_max < value)
        r.rlim_cur = r.rlim_max = now.rlim_max;
    return setrlimit(what, &r);
}

/* The stack is not counted as data; a program may ask for more than the usual 8 MiB, not for all
 * there is. */
static int limit_stack(void)
{
    struct rlimit r;
    if (getrlimit(RLIMIT_STACK, &r)) return -1;
    if (r.rlim_max > STACK_MAX) r.rlim_max = STACK_MAX;
    if (r.rlim_cur > r.rlim_max) r.rlim_cur = r.rlim_max;
    return setrlimit(RLIMIT_STACK, &r);
}

static int set_limits(const struct sandbox_caps *caps, const struct sandbox_limits *l)
{
    struct rlimit none = { 0, 0 };
    /* In a user namespace the init is counted with them; uids of their own they do not share. */
    uint64_t      processes = l->processes ? l->processes + !caps->own_uid : 0;

    /* RLIMIT_DATA, not RLIMIT_AS: V8, Go and Java reserve far more addresses than they use. */
    if (limit(RLIMIT_DATA, l->memory) || limit_stack()) return -1;
    if (limit(RLIMIT_NOFILE, l->files)) return -1;
    if (limit(RLIMIT_FSIZE, l->file_size)) return -1;
    if (caps->nproc && limit(RLIMIT_NPROC, processes)) return -1;
    return setrlimit(RLIMIT_CORE, &none);
}

/* --- all of it -------------------------------------------------------------------- */

enum err sandbox_apply(const struct sandbox_caps *caps, const struct sandbox_spec *spec,
                       const char **step)
{
    *step = "user";
    if (spec->uid && change_uid(spec->uid, caps->landlock && caps->seccomp)) return ERR_IO;
    *step = "capabilities";
    if (!spec->uid && drop_caps()) return ERR_IO;
    *step = "no_new_privs";
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) return ERR_IO;
    *step = "landlock";
    if (caps->landlock && landlock_apply(caps->landlock, spec)) return ERR_IO;
    *step = "limits";
    if (set_limits(caps, &spec->limits)) return ERR_IO;
    *step = "seccomp";
    if (caps->seccomp && seccomp_install(spec->network)) return ERR_IO;
    return OK;
}
