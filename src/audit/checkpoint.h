/* checkpoint.h -- the heads of all logs, signed, and told to somebody who is not this machine.
 *
 * Whoever can write the store can write another chain into it (store/links.h). So every few minutes
 * what has changed since is noted: a line, signed (audit/sign.h), numbered and tied to the line
 * before it:
 *
 *   {"type":"parley-checkpoint","number":7,"at":"2026-11-17T10:00:00.000Z",
 *    "previous":"<SHA-256 of the line before, hex; null in the first>","removals":"signed",
 *    "heads":[["<log>",41,"<head, hex>"], ...]}
 *
 * A log that did not change is in an earlier line; since each holds the hash of the one before, the
 * newest alone, kept elsewhere, speaks for all. Logs are named by a hash (chain_name), because what
 * is kept elsewhere cannot be erased and must not name people.
 *
 * "removals" is there when the heads of all logs were noted by then: what goes from now on, words
 * or whole conversations, goes by something that is signed (run/vouch.h), so what is not, and what
 * no line up to the first of these has noted, is nobody's of ours.
 *
 * The order is that of facts: a line is committed before anybody is told. It goes to a file, to a
 * webhook, or to both, and is told again until they have taken it (so they may get one twice, after
 * a crash). Nothing waits for any of this: an audit that cannot be delivered is said on the log and
 * tried again.
 *
 * Loop thread only; the file is written by libuv's pool.
 */
#ifndef PARLEY_CHECKPOINT_H
#define PARLEY_CHECKPOINT_H

#include "audit/sign.h"
#include "loop/curl.h"
#include "store/store.h"

struct checkpoint_setup { /* all borrowed: outlives the checkpoints */
    struct loop            *loop;
    struct store           *store;
    const struct sign_keys *keys;
    struct curl_pool       *pool;
    uint64_t                every_ms;
    const char             *file;    /* NULL: none. Lines are appended */
    const char             *webhook; /* NULL: none. Each line is posted as application/jose */
};

struct checkpoints;
struct checkpoints *checkpoints_start(const struct checkpoint_setup *s); /* NULL: no memory */
/* After the store was closed. `done` on the loop, later; NULL for `c` calls it at once. */
void                checkpoints_stop(struct checkpoints *c, void (*done)(void *ctx), void *ctx);

/* The payload of a line; shared with whoever reads it. `last`: STR_NONE before the first. `all`: no
 * head is left to be noted. */
void checkpoint_write(struct buf *out, uint64_t number, int64_t at_ms, struct str last,
                      const struct store_row *heads, size_t count, bool all);

#endif
