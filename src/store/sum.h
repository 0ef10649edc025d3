/* sum.h -- a checksum over the members of a row: CRC-64/XZ (ECMA-182, reflected), the one in .xz
 * files.
 *
 * For bits that a disk, a cable or memory flipped, not against somebody who wants to forge: whoever
 * can write the file can write the sum. Every member goes in with its length, so that nothing can
 * move from one to the next.
 *
 *     struct sum s = SUM_BEGIN;
 *     sum_text(&s, owner);
 *     sum_int(&s, seq);
 *     ... (int64_t)sum_end(&s)
 */
#ifndef PARLEY_SUM_H
#define PARLEY_SUM_H

#include <stdint.h>

#include "base/str.h"

struct sum {
    uint64_t crc;
};
#define SUM_BEGIN ((struct sum){ ~UINT64_C(0) })

void                   sum_init(void); /* once, before the first use */
void                   sum_bytes(struct sum *s, const void *p, size_t len);
void                   sum_text(struct sum *s, struct str t); /* STR_NONE is "" */
void                   sum_int(struct sum *s, int64_t v);
static inline uint64_t sum_end(const struct sum *s)
{
    return ~s->crc;
}

#endif
