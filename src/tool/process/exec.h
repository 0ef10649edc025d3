/* exec.h -- a tool that is a program: arguments on stdin, JSON lines on stdout.
 *
 *     "exec": {"command":["python3","pay.py"], "cwd":"tools", "env":{"KEY":"env:PAY_KEY"},
 *     "network":false,
 *              "read":["/data/prices"], "sandbox":"required",
 *              "limits":{"output":1048576,"memory":1073741824,
 *              "processes":64,"files":256,"file_size":268435456,"work":1073741824}}
 *
 * stdin     the arguments, one JSON object on one line without blanks between its parts, then the
 * end stdout    see exec_out.h
 * stderr    its last 8 KiB are shown on the card, never to the model; 16 MiB are too many
 * environment  PATH, LANG, PARLEY_CALL_ID (the idempotency key), PARLEY_TOOL,
 *           HOME and TMPDIR (the call's own directory, removed afterwards), and what `env`
 *           lists, as the configuration resolved it. Nothing else
 * files     the system (sandbox.h); `cwd` when it is given; the files named in `command`,
 *           not their neighbours; `read`; and of directories of PATH called bin or sbin
 *           themselves and the lib, lib64, libexec and pyvenv.cfg beside them. None of it may hold
 *           one of the host's `secrets`: that is refused here, not hoped for later
 *
 * Outcomes (docs/outcomes.md): a result line is TOOL_DONE; an error line, or a program that
 * certainly never began, is TOOL_FAILED; every other end, by itself or not, is
 * TOOL_UNKNOWN, because it may have paid already, also for idempotent tools: what may be repeated
 * is decided elsewhere. Stopped by a person: policy_stopped().
 * Whoever says a result and stays is given two seconds.
 */
#ifndef PARLEY_EXEC_H
#define PARLEY_EXEC_H

#include "tool/process/child.h"
#include "tool/registry.h"

/* What all exec tools share. Owned by whoever builds the tools; outlives the registry's use.
 * Fill in the first part; the queue begins as zeros. */
struct exec_host {
    struct loop               *loop;
    struct children           *children; /* NULL: a trial, nothing is ever started */
    /* what this machine has; "required" is measured against it */
    const struct sandbox_caps *caps;
    /* the server's own files, absolute; NULL-ended. No tool can read them: see covers.h */
    const char *const         *secrets;
    /* programs running at once; 0: as many as come */
    unsigned                   at_once;
    /* private */
    unsigned                   running;
    /* calls whose turn has not come, in their order */
    struct list                waiting;
};

/* Reads the "exec" object of a configured tool into t (ops, ctx, source), before
 * registry_add. `base`: directory that relative paths are taken from (the
 * configuration file's), STR_NONE: the current one. On error `why` has a plain sentence:
 * the command is not installed, the store lies where the tool could read it, this machine has no
 * sandbox ... */
MUST_CHECK enum err exec_tool_read(struct registry *r, struct tool *t, const struct jv *exec,
                                   struct exec_host *h, struct str base, struct buf *why);

#endif
