/* sandbox.h -- what a tool's process may do: less than the server, by as many means as the kernel
 * has.
 *
 *   who it is      root's tools run as a uid of their own per call (61184..65519),
 *                  others keep the server's uid inside a user namespace, where all but the work
 *                  directory is mounted read-only: landlock does not know of chmod, and the store
 *                  is
 *                  that uid's; no_new_privs, no capabilities
 *   what it sees   landlock: the system (/usr/bin, /usr/lib, part of /etc ...) and what
 *                  exec_read.c lists, all read-only; one work directory to write.
 *                  Not the server's memory, environment, store, configuration or secrets
 *   what it calls  seccomp: no mounts, modules, namespaces, ptrace, bpf, keys, clocks,
 *                  io_uring ..., no memory that belongs to no process; no sockets at all unless
 *                  `network`, then IP only
 *   how much       rlimits: memory (RLIMIT_DATA, per process), processes, open files,
 *                  size of a file, no core. All of its memory and its directory: meter.h. Time and
 *                  output: exec.c
 *   how it ends    a PID namespace per call: its init (see keeper.c) kills all of it at once
 *
 * RLIMIT_NPROC does not bind uid 0, hence the uids; in a user namespace it
 * counts per namespace since Linux 5.14, hence per call.
 *
 * Everything here runs in the child between fork and exec, or in the keeper;
 * never on the loop.
 */
#ifndef PARLEY_SANDBOX_H
#define PARLEY_SANDBOX_H

#include "base/buf.h"
#include "base/err.h"

enum sandbox_pidns { PIDNS_NONE, PIDNS_ROOT, PIDNS_USER };

struct sandbox_caps {            /* what this kernel and this user can do */
    int                landlock; /* ABI version, 0: none */
    bool               seccomp;
    enum sandbox_pidns pidns;
    bool               own_uid; /* root: calls get a uid of their own */
    bool               nproc;   /* the process limit is enforced */
    /* the server's own uid: all but the work directory can be mounted read-only */
    bool               readonly;
};

struct sandbox_limits {
    uint64_t memory, processes, files, file_size, work; /* 0: no limit */
};

struct sandbox_spec {
    bool                  network;
    uint32_t              uid; /* 0: keep */
    struct sandbox_limits limits;
    const char           *work; /* the one writable directory */
    const char          **read; /* more to read; NULL-ended */
};

#define SANDBOX_UID_FIRST 61184 /* systemd's range for such uids: nothing else uses it */
#define SANDBOX_UID_COUNT 4336

/* Tries each means in a child of its own. Takes a few milliseconds. `work_root`:
 * where work directories are made; a uid that could not get there is of no use. */
void sandbox_probe(struct sandbox_caps *caps, const char *work_root);

/* Which isolations are missing, one sentence per line; empty when none is. `all`: also what one can
 * do without, for printing at start; else only what "sandbox": "required" insists on. */
void               sandbox_report(const struct sandbox_caps *caps, bool all, struct buf *out);
/* What every tool may read; NULL-ended. */
const char *const *sandbox_system(void);

/* In the init of a tool with the server's uid, in its own mount namespace: nothing but `work` can
 * be changed, not even a file's permissions. And back, so that `work` can be removed. 0 or -1 with
 * errno. */
MUST_CHECK int sandbox_readonly(const char *work);
void           sandbox_readonly_end(const char *work);

/* In the child: gives up everything but what `spec` leaves. On failure *step
 * names what failed, errno is set, and the child must not go on. */
MUST_CHECK enum err sandbox_apply(const struct sandbox_caps *caps, const struct sandbox_spec *spec,
                                  const char **step);

#endif
