/* gzip.h -- a whole text, packed quickly: for answers, where the wire is slower than zlib's first
 * level. */
#ifndef PARLEY_GZIP_H
#define PARLEY_GZIP_H

#include "base/buf.h"

/* `in` as a gzip member, onto the end of `out`. False, and nothing added: it did not become
 * smaller, or there is no memory. */
bool gzip_pack(struct buf *out, struct str in);
/* The text of a gzip member that this program made or brought along, onto the end of `out`. False:
 * it is not one, or there is no memory; `out` is as it was. */
bool gzip_unpack(struct buf *out, struct str in);

#endif
