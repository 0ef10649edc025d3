/* keeper.h -- the process that starts and ends all other processes, and how the server talks to it.
 *
 * The server never forks on its loop: forking a large process copies its page
 * tables, and vfork stops the loop until the child has executed. Instead one small
 * helper, the keeper, is started first: the program itself, run again as
 * `parley __keeper`. main() must begin with
 *
 *     if (keeper_is(argc, argv)) return keeper_main(argc, argv);
 *
 * The server asks over a unix socket (SOCK_SEQPACKET, one message per packet,
 * the child's three standard descriptors attached); the keeper forks.
 *
 *     server ──socket── keeper ──▶ init (one per child) ──▶ the program
 *
 * The init is what makes ending reliable. It is init of the child's PID
 * namespace where there is one, else a subreaper: when the program exits, or on
 * request, or when the server or the keeper is gone (the socket hangs up, the parent
 * dies), it kills everything that came of the program, setsid or not, says so to the
 * server, and removes the work directory.
 *
 * The keeper also counts, five times a second, what the processes of a sandboxed child use
 * together (meter.h), and ends one that is over its limits.
 *
 * child.h is the server's side of this; nothing else needs this file but main().
 */
#ifndef PARLEY_KEEPER_H
#define PARLEY_KEEPER_H

#include <sys/types.h>

#include "base/str.h"
#include "tool/process/sandbox.h"

bool keeper_is(int argc, char **argv);
int  keeper_main(int argc, char **argv);

/* --- the messages; private to keeper.c, init.c and child.c --------------------- */

#define KEEPER_ARG     "__keeper"
#define KEEPER_FD      3            /* the socket, in the keeper */
#define KEEPER_MSG_MAX (128 * 1024) /* command, environment and paths of one child */

enum keeper_kind {
    KEEPER_START, /* server: struct keeper_start follows; three descriptors attached */
    KEEPER_TERM,  /* server: SIGTERM to everything that came of it */
    KEEPER_KILL,  /* server: SIGKILL */
    KEEPER_READY, /* keeper: struct sandbox_caps follows */
    /* init: `status` as of waitpid, -1: the program never began; all of it is dead */
    KEEPER_EXITED,
    KEEPER_OVER, /* keeper: it is being killed for a limit; `status`: enum child_over */
    KEEPER_GONE, /* keeper: the init is gone too. status -1: it could not be started */
};

struct keeper_msg {
    uint64_t         id;
    enum keeper_kind kind;
    int              status;
};

/* Followed by `counts` texts, each with its NUL: cwd ("" keeps the server's),
 * program, arguments, environment, readable paths. */
struct keeper_start {
    struct keeper_msg     msg;
    struct sandbox_limits limits;
    uint32_t              argc, envc, readc;
    bool                  sandbox, network;
};

struct keeper_order { /* a START taken apart; pointers into the packet */
    const struct keeper_start *start;
    const char                *cwd, *program;
    char                     **argv, **envp; /* envp has room for two more */
    const char               **read;
    int                        fds[3];
    const char                *work;   /* the call's directory; NULL: none */
    int                        root;   /* the folder it lies in, opened before any mount of ours */
    uint32_t                   uid;    /* the call's own; 0: none */
    int                        unsafe; /* errno: its mounts failed; it must not begin */
    /* the server's, which a new user namespace does not know */
    uint32_t                   own_uid, own_gid;
};

/* The init's life, in the child of the keeper; never returns. */
_Noreturn void init_run(const struct sandbox_caps *caps, struct keeper_order *o, int socket);

/* Removes the directory `name` of `dir` and all in it, however deep, without following links.
 * Nobody may be at work in it. */
void remove_tree(int dir, const char *name);

#endif
