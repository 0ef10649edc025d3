/* landlock.c -- which files a tool can reach.
 *
 * Raw system calls: the wrappers are younger than the distributions we build
 * on, and so are the constants of the later versions of the interface.
 *
 * Readable: what programs of any language need to start, chosen so that no
 * secret lies there: of /usr and /usr/local only what packages fill (not src, etc, var),
 * of /etc only named files (not shadow, not ssh), of /proc
 * only the process itself and figures about the machine. All else is named by exec_read.c,
 * which also sees to it that nothing of the server's own lies in any of it.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tool/process/sandbox_int.h"

#define FS_EXECUTE    (1ULL << 0)
#define FS_WRITE_FILE (1ULL << 1)
#define FS_READ_FILE  (1ULL << 2)
#define FS_READ_DIR   (1ULL << 3)
#define FS_MAKE_CHAR  (1ULL << 6)
#define FS_MAKE_BLOCK (1ULL << 11)
#define FS_ALL_V1     ((1ULL << 13) - 1)
#define FS_REFER      (1ULL << 13) /* version 2 */
#define FS_TRUNCATE   (1ULL << 14) /* 3 */
#define FS_IOCTL_DEV  (1ULL << 15) /* 5 */
#define NET_TCP       3ULL         /* 4: bind and connect */
#define SCOPE_ALL     3ULL         /* 6: abstract unix sockets, signals */

#define READ_FILE_ONLY (FS_EXECUTE | FS_READ_FILE)
#define READ_TREE      (READ_FILE_ONLY | FS_READ_DIR)

/* linux/landlock.h as of version 6; the kernel takes a shorter struct by its size. */
struct ruleset_attr {
    uint64_t handled_fs, handled_net, scoped;
};

static const char *const system_paths[] = {
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/nix/store",
    "/gnu/store",
    "/usr/bin",
    "/usr/sbin",
    "/usr/lib",
    "/usr/lib32",
    "/usr/lib64",
    "/usr/libx32",
    "/usr/libexec",
    "/usr/share",
    "/usr/include",
    "/usr/games",
    "/usr/local/bin",
    "/usr/local/sbin",
    "/usr/local/lib",
    "/usr/local/lib64",
    "/usr/local/libexec",
    "/usr/local/share",
    "/usr/local/include",
    "/usr/local/games",
    "/etc/alternatives",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/ld.so.preload",
    "/etc/localtime",
    "/etc/timezone",
    "/etc/locale.alias",
    "/etc/mime.types",
    "/etc/magic",
    "/etc/passwd",
    "/etc/group",
    "/etc/nsswitch.conf",
    "/etc/hosts",
    "/etc/host.conf",
    "/etc/hostname",
    "/etc/resolv.conf",
    "/etc/gai.conf",
    "/etc/services",
    "/etc/protocols",
    "/etc/os-release",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/etc/pki/tls/certs",
    "/etc/pki/ca-trust",
    "/etc/ca-certificates",
    "/etc/python3",
    "/etc/python3.11",
    "/etc/python3.12",
    "/etc/python3.13",
    "/etc/perl",
    "/etc/ruby",
    "/etc/php",
    "/etc/java-17-openjdk",
    "/etc/java-21-openjdk",
    "/etc/fonts",
    "/etc/gitconfig",
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/proc/stat",
    "/proc/version",
    "/proc/loadavg",
    "/proc/uptime",
    "/proc/filesystems",
    "/proc/sys",
    "/proc/self",
    "/sys/devices/system/cpu",
    "/sys/kernel/mm/transparent_hugepage",
    "/run/systemd/resolve",
    "/var/lib/ca-certificates",
    "/dev/zero", /* to read only: mapped and written to it would be memory that nobody counts */
    NULL,
};
static const char *const devices[] = {
    "/dev/null", "/dev/full", "/dev/random", "/dev/urandom", NULL,
};

const char *const *landlock_system(void)
{
    return system_paths;
}

int landlock_version(void)
{
    long v = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    return v > 0 ? (int)v : 0;
}

static uint64_t rights_of(int abi)
{
    return FS_ALL_V1 | (abi >= 2 ? FS_REFER : 0) | (abi >= 3 ? FS_TRUNCATE : 0) |
           (abi >= 5 ? FS_IOCTL_DEV : 0);
}

/* A path that is not there needs no rule. */
static int allow(int ruleset, const char *path, uint64_t rights)
{
    struct landlock_path_beneath_attr rule = { .allowed_access = rights };
    struct stat                       st;
    int                               fd = open(path, O_PATH | O_CLOEXEC), r;

    if (fd < 0) return 0;
    if (fstat(fd, &st) == 0 && !S_ISDIR(st.st_mode))
        rule.allowed_access &= READ_FILE_ONLY | FS_WRITE_FILE | FS_TRUNCATE | FS_IOCTL_DEV;
    rule.parent_fd = fd;
    r = (int)syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
    close(fd);
    return r;
}

static int add_rules(int ruleset, int abi, const struct sandbox_spec *spec)
{
    uint64_t writable = rights_of(abi) & ~(FS_MAKE_CHAR | FS_MAKE_BLOCK);

    for (const char *const *p = system_paths; *p; p++)
        if (allow(ruleset, *p, READ_TREE)) return -1;
    for (const char *const *p = devices; *p; p++)
        if (allow(ruleset, *p,
                  (FS_READ_FILE | FS_WRITE_FILE | FS_TRUNCATE | FS_IOCTL_DEV) & rights_of(abi)))
            return -1;
    for (const char **p = spec->read; p && *p; p++)
        if (allow(ruleset, *p, READ_TREE)) return -1;
    return spec->work ? allow(ruleset, spec->work, writable) : 0;
}

int landlock_apply(int abi, const struct sandbox_spec *spec)
{
    struct ruleset_attr attr = {
        .handled_fs = rights_of(abi),
        .handled_net = abi >= 4 && !spec->network ? NET_TCP : 0,
        .scoped = abi >= 6 ? SCOPE_ALL : 0,
    };
    size_t size = abi >= 6 ? sizeof attr : abi >= 4 ? 16 : 8;
    int    ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr, size, 0);
    int    r = -1, saved;

    if (ruleset < 0) return -1;
    if (add_rules(ruleset, abi, spec) == 0)
        r = (int)syscall(SYS_landlock_restrict_self, ruleset, 0);
    saved = errno;
    close(ruleset);
    errno = saved;
    return r;
}
