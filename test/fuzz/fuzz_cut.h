/* fuzz_cut.h -- for targets that must tell the same however their bytes are cut:
 * how long the next piece is, by a seed of the input's own. */
#ifndef PARLEY_FUZZ_CUT_H
#define PARLEY_FUZZ_CUT_H

#include <stddef.h>

/* *seed 0: everything at once. */
static size_t fuzz_cut(unsigned *seed, size_t left)
{
    if (!*seed) return left;
    *seed = *seed * 1103515245u + 12345u;
    size_t n = 1 + (*seed >> 16) % 23;
    return n < left ? n : left;
}

#endif
