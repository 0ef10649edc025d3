/* decimal.h -- amounts that are exact: a JSON number as a whole count of millionths.
 *
 * Sums of money must add up, and doubles do not. Millionths in 64 bits reach nine million millions
 * and every currency's smallest coin; both stores compare and subtract them without rounding. What
 * does not fit (finer, or larger) is no amount here: whoever counts with it asks a person instead.
 * 1000, 1e3, 1000.0 and "1000.00" are one amount.
 */
#ifndef PARLEY_DECIMAL_H
#define PARLEY_DECIMAL_H

#include "base/err.h"
#include "base/json.h"

#define DECIMAL_ONE  1000000
#define DECIMAL_MAX  INT64_MAX /* also what stands for "no limit" */
#define DECIMAL_TEXT 32

/* ERR_SYNTAX: no JSON number. ERR_RANGE: negative is fine, but not beyond DECIMAL_MAX - 1 or finer
 * than a millionth. */
MUST_CHECK enum err decimal_read(struct str number, int64_t *out);
/* Of a JSON number, or of a text that is one ("200"). ERR_TYPE: neither. */
MUST_CHECK enum err decimal_of(const struct jv *v, int64_t *out);
/* "150", "12.5": the shortest. Ends in NUL. */
void                decimal_write(int64_t units, char out[DECIMAL_TEXT]);

#endif
