/* verify_int.h -- private to verify.c and verify_trim.c: what both know of the log that is told. */
#ifndef PARLEY_VERIFY_INT_H
#define PARLEY_VERIFY_INT_H

#include "audit/verify.h"
#include "base/json.h"
#include "base/map.h"

struct point { /* a head that a checkpoint has noted */
    uint64_t      seq, number;
    uint8_t       head[CHAIN_LEN];
    struct point *next;
};
struct noted { /* all of one log, in the order in which they were noted */
    char          name[CHAIN_NAME + 1];
    struct point *first, *last;
    struct point *next; /* not reached yet */
    bool          seen;
};

struct loss { /* a fact that lost words */
    uint64_t    seq;
    uint8_t     was[CHAIN_LEN];  /* what was appended */
    uint8_t     now[CHAIN_LEN];  /* what stands there */
    uint8_t     left[CHAIN_LEN]; /* what was left of it, as far as facts said so */
    bool        said;
    uint64_t    unsigned_by; /* the last fact that said so and is not signed; 0: all are */
    const char *wrong;       /* with what was said; NULL: nothing */
};

struct told_line { /* a checkpoint of the store */
    uint8_t hash[SHA256_LEN];
};

struct verifying {
    struct store_walk  w;
    struct verify     *v;
    struct arena      *a; /* what is kept */
    struct arena       scratch;
    struct map         logs;
    struct map         told;  /* names of logs and stubs: each is there once */
    struct told_line  *lines; /* [number - 1] */
    size_t             line_cap;
    uint64_t           last; /* number of the store's last checkpoint */
    uint64_t           done;
    struct chain_check chain;
    struct noted      *noted; /* of the log that is told */
    uint64_t           seq;
    struct loss       *losses; /* of that log, in their order */
    size_t             loss_count, loss_cap;
    char               name[CHAIN_NAME + 1]; /* of that log */
    uint64_t           linked;               /* its first fact in the chain; 0: none yet */
    uint64_t           signs;  /* the first checkpoint after which removals are signed; 0: none */
    bool               broken; /* its first problem was told: the rest follows from it */
    bool               failed; /* out of memory */
};
#define WORK(walk) LIST_ITEM(walk, struct verifying, w)

/* Of a conversation only the first thing is told: the rest follows from it. */
void verify_broken(struct verifying *k, struct log_name log, const char *what, uint64_t seq);
bool verify_hex(struct str s, uint8_t *out, size_t len);
/* Was this fact there before removals were signed? */
bool verify_is_early(const struct verifying *k, uint64_t seq);

/* --- words that went (verify_trim.c) ----------------------------------------------------- */

/* A fact that lost words: `digest` is that of what was appended. */
void verify_lost(struct verifying *k, struct log_name log, const struct store_fact *f,
                 struct str digest);
void verify_forked(struct verifying *k);
void verify_trimmed(struct verifying *k, struct log_name log, const struct store_fact *f);
/* At the end of a log. */
void verify_losses(struct verifying *k, struct log_name log);

#endif
