/* verify.h -- is the store what was recorded? Every fact against its link, every head against every
 * checkpoint, and all that against checkpoints that were kept elsewhere.
 *
 * A fact that lost words (run/trim.h) is compared by the digest of what it was; and from that on
 * each trim must begin where the one before it ended, and the last end at what is there now.
 * Whoever can write the store could write such facts as well, so only those are believed that the
 * server signed. One that nobody signed is told as such (`doubt`), because versions before signed
 * none, and so does a server without a key; it is a problem when a checkpoint says that they were
 * signed by then. So are the stubs of removed conversations: each is signed, or from before that.
 *
 * What is found:
 *   - a fact, a stub or a checkpoint that is not what was written (one bit is enough);
 *   - when a conversation was made, whose it was, how it is called;
 *   - a conversation whose last facts are gone, or that is gone without a stub;
 *   - a conversation or a stub that is there twice, or both of the same one;
 *   - facts of no conversation;
 *   - what stands in a file, and a server would not find: a name that is a blob, an index that
 *     lacks it, a schema that is not this program's; what works on the tables of a database;
 *   - one that the store says is noted by a checkpoint, and is not: that would keep it from all
 *     that come;
 *   - a conversation or a whole store whose chain was made anew: only against a checkpoint that
 *     somebody else kept, because whoever made it anew can have signed it anew as well.
 * What is not: a change since the last checkpoint, by somebody who computes new links for it; and
 * what was written before the chain began, which has a checksum and nothing more.
 *
 * Blocks; holds all heads that were ever noted, and the names of conversations and stubs, in memory
 * (about 100 bytes each).
 */
#ifndef PARLEY_VERIFY_H
#define PARLEY_VERIFY_H

#include "audit/sign.h"
#include "store/walk.h"

struct verify {
    const struct sign_keys *keys; /* without any, signatures are not looked at */
    struct str              kept; /* lines of checkpoints from elsewhere; STR_NONE: none */
    /* A sentence per thing found wrong; it may quote names: not safe for a terminal. */
    void (*found)(void *ctx, struct str sentence);
    /* Likewise of a conversation of which it cannot be told who took words out; may be NULL. */
    void (*doubt)(void *ctx, struct str sentence);
    void (*far)(void *ctx, uint64_t done, uint64_t all); /* conversations; may be NULL */
    void    *ctx;
    /* out */
    uint64_t logs, facts, before, stubs, checkpoints, kept_count, heads, problems;
    /* facts that lost words; those of them for which no signature (that was looked at) vouches */
    uint64_t trimmed, unvouched;
    uint64_t ahead;   /* conversations and stubs that no checkpoint has as they are now */
    uint64_t undated; /* erased by an earlier version: when they were made is not covered */
};

/* OK: all of it was looked at; v->problems says what came of it. */
MUST_CHECK enum err verify_store(struct verify *v, struct str url, struct arena *a,
                                 struct str *why);

#endif
