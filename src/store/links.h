/* links.h -- each fact carries the hash of the one before: a log cannot be changed in the middle
 * without changing its end.
 *
 *     digest = SHA-256(owner, thread, seq, time, kind, body)
 *     link   = SHA-256(link of the fact before, digest)
 *
 * The link of a fact is stored beside it; that of the last one is the log's head. Before the first
 * there are 32 zero bytes. Numbers are eight bytes, the most significant first; texts have their
 * length in front of them (base/sha256.h), but for the body, which ends it. The digest stands
 * between, so that a conversation whose words were removed can still prove its order: its stub
 * keeps the digests.
 *
 * What is read while a server works is compared with its checksum (rows.h), which finds what a disk
 * does, at a fifth of the price; the links are for whoever walks the whole store (walk.h).
 *
 * Facts that were written before there were links have none, and the chain begins with the first
 * fact appended after that: it says nothing about those before it. Once begun it may not stop.
 *
 * A fact whose words were taken out later (store_trim) has the digest of what was appended beside
 * it, and by that the chain goes on. What stands there instead is covered by a later fact,
 * "trimmed", which names it by its own digest, and is signed (run/trim.h).
 *
 * Whoever can write the file can also write another chain. That is found against a head that was
 * noted elsewhere: audit/checkpoint.h.
 */
#ifndef PARLEY_LINKS_H
#define PARLEY_LINKS_H

#include "base/sha256.h"
#include "store/store.h"

#define CHAIN_LEN SHA256_LEN

void chain_digest(struct log_name log, const struct store_fact *f, uint8_t out[CHAIN_LEN]);
/* head := SHA-256(head, digest) */
void chain_link(uint8_t head[CHAIN_LEN], const uint8_t digest[CHAIN_LEN]);

/* By what a log is called where its owner's name must not stand: a name may be given again after a
 * removal, hence the time at which it was made. */
#define CHAIN_NAME 32
void chain_name(struct log_name log, int64_t created_ms, char out[CHAIN_NAME + 1]);

/* --- comparing what is read -------------------------------------------------------- */

struct chain_check {
    uint8_t  head[CHAIN_LEN]; /* of the last fact that was looked at */
    bool     begun;
    uint64_t before; /* facts that came before the chain did */
};
/* What is stored beside a fact: its link, unless it is older than the chain, and its checksum,
 * unless it is older still (so what has a link must have one); the digest of what it was, if words
 * of it are gone. */
struct chain_mark {
    struct str link;
    bool       summed;
    int64_t    sum;
    struct str digest;
};
/* The fact after those that were looked at so far. False: it is not what was appended. */
bool chain_follows(struct chain_check *c, struct log_name log, const struct store_fact *f,
                   struct chain_mark m);
/* Goes on behind a fact that is not looked at itself. */
bool chain_from(struct chain_check *c, struct chain_mark m);
/* Is `head` (STR_NONE: the log has none) that of the facts looked at? */
bool chain_ends(const struct chain_check *c, struct str head);

#endif
