/* audit_help.h -- a store with checkpoints, signed by a key of the test, and what verify says of it. */
#ifndef PARLEY_AUDIT_HELP_H
#define PARLEY_AUDIT_HELP_H

#include "audit/verify.h"
#include "store_help.h"
#include "store_suite.h"
#include "test.h"

struct str       audit_pem(struct arena *a, bool private);
struct sign_keys audit_key(struct arena *a);

extern struct sign_keys keys;
extern uint64_t         number; /* of the last checkpoint */
extern struct str       last;   /* the last checkpoint */
extern bool             signs;  /* its servers sign what they take out */

/* A new key; no checkpoint yet. */
void audit_begin(struct fix *f);
/* A checkpoint over all heads that are not noted yet. */
void audit_note(struct fix *f);
/* One more fact of a conversation of ann's. */
void audit_say(struct fix *f, const char *thread, uint64_t seq, const char *body, int64_t at_ms);
/* Three conversations of hers, t, u and v, and two checkpoints; the last one is `last`. */
void audit_prepare(struct fix *f);

/* How many problems verify finds, with `keys` and against `kept`; what it says is in `said`. */
uint64_t          audit_problems(struct fix *f, struct str kept);
void              audit_told(void *ctx, struct str sentence); /* ... by this; ctx: the fix */
extern struct str said;
extern uint64_t   unvouched;

#define SAYS(words)                                                                     \
    do {                                                                                \
        CHECK(str_find(said, STR(words)) >= 0);                                         \
        if (str_find(said, STR(words)) < 0) printf("    " STR_FMT "\n", STR_ARG(said)); \
    } while (0)

#endif
