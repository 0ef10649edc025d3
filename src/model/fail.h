/* fail.h -- the ways a model call can fail: what people are told, whether trying
 * again helps them, and whether we try again ourselves.
 *
 * Sentences are ours, never the provider's: a provider's text may repeat the
 * key or the conversation. Of what it said only its own word for the error
 * (`overloaded_error`) and its request id are kept, for the log.
 */
#ifndef PARLEY_FAIL_H
#define PARLEY_FAIL_H

#include "base/buf.h"
#include "base/json.h"
#include "model/model.h"

enum fail {
    FAIL_NONE,
    FAIL_AUTH,
    FAIL_FORBIDDEN,
    FAIL_MODEL,
    FAIL_QUOTA,
    FAIL_RATE,
    FAIL_OVERLOADED,
    FAIL_SERVER,
    FAIL_REQUEST,
    FAIL_CONTEXT,
    FAIL_TOO_LARGE,
    FAIL_SLOW,   /* no answer in time */
    FAIL_SILENT, /* the answer stopped coming */
    FAIL_TOTAL,  /* the answer took too long in all */
    FAIL_CONNECT,
    FAIL_NAME,
    FAIL_TLS,
    FAIL_PROXY,
    FAIL_CUT,       /* the connection ended in the middle */
    FAIL_PROTOCOL,  /* not the wire that was expected */
    FAIL_ADDRESS,   /* not an API at this address: a redirect, a web page */
    FAIL_BAD_CALL,  /* the model made a call that its own service refused */
    FAIL_SIGNATURE, /* Gemini: signatures of another model or key in the history */
    FAIL_BUSY,      /* we ask it as often at once as we may */
    FAIL_NOMEM,
    FAIL_COUNT
};

struct trouble {
    enum fail kind;
    bool      again;    /* the same request may be sent again (if nothing was told yet) */
    int64_t   after_ms; /* the provider asks for this wait; -1: it does not say */
    int       status;   /* HTTP, 0: none */
    char      word[48]; /* the provider's word for it, [A-Za-z0-9_.-] only */
    char      request_id[64];
};

void trouble_init(struct trouble *t);
/* Kind and `again` from an HTTP status; keeps the status. */
void trouble_status(struct trouble *t, int status);
void trouble_set(struct trouble *t, enum fail kind); /* kind, and its usual `again` */
/* keeps it, if it is a plain word */
void trouble_word(struct trouble *t, struct str word);

const char *fail_code(enum fail f);
bool        fail_retryable(enum fail f);
/* One sentence about model `name`; appended. `host` is for operators only; STR_NONE: for
 * everybody. */
void fail_sentence(struct buf *out, const struct trouble *t, struct str name, struct str host);

#endif
