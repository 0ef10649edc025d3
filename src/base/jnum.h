/* jnum.h -- JSON numbers as they were written, and what they are worth.
 *
 * Every text here has passed the reader, so it is a well-formed number.
 * Private to base/.
 */
#ifndef PARLEY_JNUM_H
#define PARLEY_JNUM_H

#include "base/err.h"
#include "base/str.h"

/* Digits and a sign only: ERR_TYPE for a fraction or an exponent, ERR_RANGE beyond 64 bits. */
MUST_CHECK enum err jnum_int(struct str raw, int64_t *out);
/* The nearest double; ERR_RANGE when that is infinite, ERR_NOMEM. */
MUST_CHECK enum err jnum_f64(struct str raw, double *out);
/* The same number, exactly: 1.0 and 10e-1 are, 2^53 and 2^53 + 1 are not. */
bool                jnum_equal(struct str a, struct str b);
/* -1, 0 or 1 as a is less than, the same as or more than b, exactly. False: an exponent is too long
 * to tell. */
bool                jnum_compare(struct str a, struct str b, int *out);

/* No digits behind the point that count: 1.0, 1e3 and 1.5e1 are whole, 1.5 and 1e-3 are not. */
bool     jnum_whole(struct str raw);
/* The same for numbers that are jnum_equal; keyed per process. */
uint64_t jnum_hash(struct str raw);

#endif
