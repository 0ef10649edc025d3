/* gzip.c -- see gzip.h. */
#include "base/gzip.h"

#include <zlib.h>

#include "base/arena.h"

#define GZIP_WRAPPER 16 /* added to the window's bits: zlib then writes gzip's head and tail */

static void *take(void *ctx, unsigned items, unsigned size)
{
    (void)ctx;
    return mem_alloc((size_t)items * size);
}

static void give(void *ctx, void *p)
{
    (void)ctx;
    mem_free(p);
}

bool gzip_pack(struct buf *out, struct str in)
{
    z_stream z = { .zalloc = take, .zfree = give };
    char    *room = in.len <= UINT32_MAX ? buf_room(out, in.len) : NULL;

    if (!room || deflateInit2(&z, 1, Z_DEFLATED, MAX_WBITS + GZIP_WRAPPER, MAX_MEM_LEVEL - 1,
                              Z_DEFAULT_STRATEGY) != Z_OK)
        return false;
    z.next_in = (Bytef *)in.ptr;
    z.avail_in = (uInt)in.len;
    z.next_out = (Bytef *)room;
    z.avail_out = (uInt)in.len; /* more than it was is no gain */
    bool packed = deflate(&z, Z_FINISH) == Z_STREAM_END;
    if (packed) buf_grew(out, z.total_out);
    (void)deflateEnd(&z); /* says that something was left over, when it was not finished */
    return packed;
}

/* The length stands at the end of a member: one allocation, and no guessing. */
static size_t length_of(struct str in)
{
    const unsigned char *p = (const unsigned char *)in.ptr + in.len - 4;
    if (in.len < 18) return 0;
    return (size_t)p[0] | (size_t)p[1] << 8 | (size_t)p[2] << 16 | (size_t)p[3] << 24;
}

bool gzip_unpack(struct buf *out, struct str in)
{
    z_stream z = { .zalloc = take, .zfree = give };
    size_t   len = length_of(in);
    char    *room = len && in.len <= UINT32_MAX ? buf_room(out, len) : NULL;

    if (!room || inflateInit2(&z, MAX_WBITS + GZIP_WRAPPER) != Z_OK) return false;
    z.next_in = (Bytef *)in.ptr;
    z.avail_in = (uInt)in.len;
    z.next_out = (Bytef *)room;
    z.avail_out = (uInt)len;
    bool whole = inflate(&z, Z_FINISH) == Z_STREAM_END && z.total_out == len;
    if (whole) buf_grew(out, len);
    (void)inflateEnd(&z);
    return whole;
}
