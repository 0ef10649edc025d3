/* exec.h -- a tool that is a program: arguments on stdin, JSON lines on stdout.
 *
 *     "exec": {"command":["python3","pay.py"], "cwd":"tools", "env":{"KEY":"env:PAY_KEY"}, "network":false,
 *              "read":["/data/prices"], "limits":{"output":1048576,"memory":1073741824,"processes":64,
 *              "files":256,"file_size":268435456}}
 *
 * stdin     the arguments, one JSON object on one line without blanks between its parts, then the end
 * stdout    see exec_out.h
 * stderr    its last 8 KiB are shown on the card, never to the model
 * environment  PATH, LANG, PARLEY_CALL_ID (the idempotency key), PARLEY_TOOL,
 *           HOME and TMPDIR (the call's own directory, removed afterwards), and what `env`
 *           lists ("env:NAME": from the server's environment). Nothing else
 * files     sandbox.h. The system, `cwd` when it is given, the directories of the
 *           files named in `command` (a file directly in the server's own directory:
 *           only itself), and `read`
 *
 * Outcomes (docs/outcomes.md): a result line is TOOL_DONE; an error line, or a program that
 * certainly never began, is TOOL_FAILED; every other end, by itself or not, is
 * TOOL_UNKNOWN, because it may have paid already, also for idempotent tools: what may be repeated is
 * decided elsewhere. Stopped by a person: policy_stopped().
 * Whoever says a result and stays is given two seconds.
 */
#ifndef PARLEY_EXEC_H
#define PARLEY_EXEC_H

#include "tool/child.h"
#include "tool/registry.h"

/* Reads the "exec" object of a configured tool into t (ops, ctx, source), before
 * registry_add. `base`: directory that relative paths are taken from (the
 * configuration file's), STR_NONE: the current one. On error `why` has a plain sentence:
 * the command is not installed, a variable is not set ... `c` must outlive the registry's use. */
MUST_CHECK enum err exec_tool_read(struct registry *r, struct tool *t, const struct jv *exec, struct children *c,
                                   struct loop *l, struct str base, struct buf *why);

#endif
