/* err.h -- the error codes, and the two rules about them.
 *
 * Zero is good. A function that can fail is MUST_CHECK, and leaves its out
 * parameters untouched when it does. Input is never trusted and never asserted;
 * must() is for invariants only and stays on in release builds: the log is the
 * state and a restart recovers it, so a process that would go on with a broken
 * invariant is the dangerous one.
 */
#ifndef PARLEY_ERR_H
#define PARLEY_ERR_H

#include <stdbool.h>

enum err {
    OK = 0,
    ERR_NOMEM,  /* an allocation failed */
    ERR_FULL,   /* a cap was reached: buffer, queue, disk */
    ERR_SYNTAX, /* the bytes are not what the format allows */
    ERR_TYPE,   /* well formed, but of another type than asked for */
    ERR_RANGE,  /* a number or a length outside its limits */
    ERR_NOT_FOUND,
    ERR_CONFLICT, /* compare-and-append lost: the log moved on */
    ERR_EXISTS,   /* the unique key is taken */
    ERR_DENIED,   /* not allowed for this principal */
    ERR_GONE,     /* was there once: answered, expired, superseded */
    ERR_BUSY,     /* somebody else holds it now; trying again may help */
    ERR_IO,       /* the system said no: disk, socket, process */
    ERR_TIMEOUT,
    ERR_CLOSED, /* shutting down, or the peer left */
    ERR_UNSUPPORTED,
    ERR_UNSURE,  /* it failed, and yet it may turn out to have happened */
    ERR_FENCED,  /* another node holds it, or this one's lease is over */
    ERR_DAMAGED, /* what was stored is not what is read: a flipped bit, a hole */
    ERR_TAKEN,   /* a condition of the append does not hold: the key is taken, too little is left */
};

#define MUST_CHECK             __attribute__((warn_unused_result))
#define PRINTF_LIKE(fmt, args) __attribute__((format(printf, fmt, args)))

/* The code's name in lower case ("not_found"), for logs. Never NULL. */
const char *err_name(enum err e);

/* What errno says, in words that say what to do where something can be done: "too many open files:
 * raise `ulimit -n`". */
const char *os_words(int error);
/* There is no room to write: the disk is full, or a quota or the limit of a file's size is
 * reached. */
bool        os_no_room(int error);

/* Ends the process with one line on stderr when `cond` does not hold. */
#define must(cond) ((cond) ? (void)0 : must_fail(#cond, __FILE__, __LINE__))
_Noreturn void must_fail(const char *what, const char *file, int line);

#endif
