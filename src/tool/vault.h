/* vault.h -- something small that must outlive the process, by name: what a runner may keep without
 * knowing the store. run/storevault.h makes one.
 *
 * Answers come on the loop, never from inside ask(). What is kept may be read by whoever can read
 * the database: secrets are sealed before (base/seal.h).
 */
#ifndef PARLEY_VAULT_H
#define PARLEY_VAULT_H

#include "base/err.h"
#include "base/str.h"

struct vault_job { /* the caller's, until done */
    enum vault_op { VAULT_PUT, VAULT_GET, VAULT_END, VAULT_KEEP } op;
    struct str key;  /* with a "/" in it */
    struct str body; /* in: put, keep; out: get, valid during done */
    /* keep, end: only what is still so; STR_NONE: whatever it is. Keep makes nothing new. */
    struct str was;
    /* get, keep: ERR_NOT_FOUND: there is none, or none that is as it was */
    void (*done)(struct vault_job *j, enum err e);
};

struct vault {
    bool shared; /* other processes may have it open, too */
    /* False: no memory, or the store is closed; then done is not called. */
    bool (*ask)(struct vault *k, struct vault_job *j);
};

#endif
