/* export.h -- the record of a store as JSON Lines, such that a stranger's program can verify it
 * (examples/audit-verify, 230 lines) and people can read it.
 *
 *   {"type":"checkpoint","number":1,"line":"<JWS>"}
 *   {"type":"log","log","owner","thread","created_ms","seq","head"}
 *   {"type":"fact","log","seq","at_ms","kind","body":"<the stored bytes>","link"}
 *   {"type":"call","log","owner","thread",...record.h, with words}      behind the log's facts
 *   {"type":"stub","log","owner","thread","created_ms","removed_ms","seq","kind","body",
 *    "digests":[],"head"}
 *   {"type":"end","logs","stubs"}                                       so that a cut is seen
 *
 * In this order: the verifier takes no other, and no members but these.
 *
 * Of one person (`person`): what is theirs as above, and of other people's conversations only
 *
 *   {"type":"decision","log",...record.h without words}                 what they decided there
 *
 * Hashes are hex. "link" is null in facts that are older than the chain.
 */
#ifndef PARLEY_EXPORT_H
#define PARLEY_EXPORT_H

#include "base/buf.h"
#include "store/walk.h"

struct export
{
    struct str thread; /* as in a walk: STR_NONE is all */
    struct str person; /* STR_NONE: of everybody, with the checkpoints */
    /* A line without its end. False: it could not be written, and nothing more is. */
    bool (*line)(void *ctx, struct str line);
    void (*far)(void *ctx, uint64_t done, uint64_t all); /* conversations; may be NULL */
    void    *ctx;
    uint64_t logs, stubs; /* out */
};

/* ERR_CLOSED: `line` said so. */
MUST_CHECK enum err export_store(struct export *x, struct str url, struct arena *a,
                                 struct str *why);

#endif
