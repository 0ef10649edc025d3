/* child.h -- a process on the loop: started without blocking, read as it speaks, ended for certain.
 *
 *     struct children: the server's end of the keeper (see keeper.h). One per program.
 *     struct child:    one process with its stdin, stdout and stderr. Embed it.
 *
 * After child_start returned OK, on_exit is called exactly once, on the loop, when
 * the process and everything that came of it is dead and its pipes are drained and
 * closed; the memory is the owner's again then. on_out and on_err get bytes as
 * they come, an empty text once at the end of the stream, and nothing afterwards.
 *
 * Should the keeper die (it does not, but people kill things), its children die
 * with it and are told as CHILD_LOST; a new keeper is started after a second.
 */
#ifndef PARLEY_CHILD_H
#define PARLEY_CHILD_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/map.h"
#include "loop/loop.h"
#include "tool/process/sandbox.h"

struct children;

/* Starts the keeper and waits for its greeting (start-up only: this blocks).
 * `root`: where work directories are made, e.g. DATA/work (at most 300 bytes, may be
 * relative, is made and removed; several programs may share one; what a killed one left there is
 * removed). It must not be writable by others. ERR_IO, ERR_TIMEOUT, ERR_RANGE, ERR_NOMEM. */
MUST_CHECK enum err        children_start(struct children **out, struct loop *l, const char *root);
/* Everything is killed. No child may be left unless the process ends now;
 * waits up to 2 s for the keeper. `c` is freed on the loop, later. */
void                       children_stop(struct children *c);
const struct sandbox_caps *children_caps(const struct children *c);
size_t                     children_count(const struct children *c);  /* living ones */
pid_t                      children_keeper(const struct children *c); /* for tests that kill it */

struct child_spec {
    const char           *program;      /* absolute path, see child_find */
    const char          **argv, **envp; /* NULL-ended; at most 256 each */
    const char           *cwd;          /* NULL: the server's */
    bool                  sandbox;      /* false: only looked after, not restricted (MCP servers) */
    bool                  network;
    const char          **read; /* see sandbox.h; NULL: none */
    /* All that it reads, whole before it begins: whoever dies in between leaves no half of it. In a
     * pipe, or, where that has no room, in a file without a name. STR_NONE: what child_write
     * brings. */
    struct str            input;
    struct sandbox_limits limits;
};

#define CHILD_NOT_STARTED (-1) /* in place of a wait status: the program certainly never began */
#define CHILD_LOST        (-2)

/* the limit it was killed for */
enum child_over { CHILD_WITHIN, CHILD_OVER_MEMORY, CHILD_OVER_WORK };

struct child {
    void (*on_out)(struct child *c, struct str bytes);
    void (*on_err)(struct child *c, struct str bytes);
    void (*on_exit)(struct child *c, int status); /* as of waitpid, or the two above */
    enum child_over   over;                       /* to look at in on_exit */
    /* private */
    struct children  *all;
    struct list       node;
    uint64_t          id;
    uv_pipe_t         in, out, err;
    struct loop_timer drain;
    int               status;
    unsigned          open; /* handles not yet closed */
    bool              exited, closing, out_ended, err_ended, in_closed;
};

/* ERR_BUSY: no keeper right now. ERR_RANGE: the command and environment are too
 * long. ERR_IO: no descriptors left. */
MUST_CHECK enum err child_start(struct children *all, struct child *c,
                                const struct child_spec *spec);
/* Copies. Nothing happens when the child does not read any more. */
void                child_write(struct child *c, struct str bytes);
/* bytes written to it that its pipe has not taken yet */
size_t              child_unsent(const struct child *c);
void                child_close_in(struct child *c); /* after what was written */
void                child_mute(struct child *c);     /* what it says from now on is thrown away */
void                child_term(struct child *c);     /* SIGTERM to all of it */
void                child_kill(struct child *c);     /* SIGKILL to all of it */

/* The program a command means: a name is searched in PATH, a path is taken from
 * `cwd` (NULL: the current directory). Absolute, with NUL; STR_NONE: there is none. */
struct str child_find(struct arena *a, struct str name, const char *cwd);
/* "exit status 3", "signal 9 (Killed)", "it could not be started" ... */
void       child_status_text(int status, struct buf *out);

#endif
