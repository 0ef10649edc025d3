/* pg_param.c -- parameters and results in PostgreSQL's binary form: numbers in network order,
 * arrays as (dimensions, has nulls, type, length, first index) and (length, bytes) of each
 * element. */
#include <string.h>

#include "store/pg.h"

static void put_u32(struct buf *b, uint32_t v)
{
    unsigned char o[4] = { (unsigned char)(v >> 24), (unsigned char)(v >> 16),
                           (unsigned char)(v >> 8), (unsigned char)v };
    buf_add(b, o, 4);
}

static void put_u64(struct buf *b, uint64_t v)
{
    put_u32(b, (uint32_t)(v >> 32));
    put_u32(b, (uint32_t)v);
}

void params_init(struct params *p)
{
    *p = (struct params){ 0 };
    buf_init(&p->bytes, 0);
}

void params_done(struct params *p)
{
    buf_done(&p->bytes);
}

void params_clear(struct params *p)
{
    buf_clear(&p->bytes);
    buf_shrink(&p->bytes, PG_BATCH_LEN);
    p->count = 0;
}

static int begin(struct params *p, bool null)
{
    must(p->count < PG_PARAMS_MAX);
    p->null[p->count] = null;
    p->at[p->count] = p->bytes.len;
    p->len[p->count] = 0;
    return p->count++;
}

void param_int(struct params *p, int64_t v)
{
    int i = begin(p, false);
    put_u64(&p->bytes, (uint64_t)v);
    p->len[i] = 8;
}

void param_bytes(struct params *p, struct str s)
{
    int i = begin(p, !s.ptr);
    buf_str(&p->bytes, s);
    p->len[i] = s.len;
}

void param_array(struct params *p, unsigned element_type)
{
    begin(p, false);
    p->array_at = p->bytes.len;
    p->array_count = 0;
    put_u32(&p->bytes, 1); /* one dimension */
    put_u32(&p->bytes, 1); /* there may be nulls */
    put_u32(&p->bytes, element_type);
    put_u32(&p->bytes, 0); /* how many: when it ends */
    put_u32(&p->bytes, 1); /* counted from */
}

void param_array_int(struct params *p, int64_t v)
{
    p->array_count++;
    put_u32(&p->bytes, 8);
    put_u64(&p->bytes, (uint64_t)v);
}

void param_array_bytes(struct params *p, struct str s)
{
    p->array_count++;
    put_u32(&p->bytes, s.ptr ? (uint32_t)s.len : UINT32_MAX);
    buf_str(&p->bytes, s);
}

void param_array_end(struct params *p)
{
    size_t   at = p->array_at + 12;
    uint32_t n = p->array_count;

    p->len[p->count - 1] = p->bytes.len - p->array_at;
    if (p->bytes.err) return;
    for (int i = 0; i < 4; i++) p->bytes.ptr[at + (size_t)i] = (char)(n >> (24 - 8 * i));
}

int64_t res_int(const PGresult *r, int row, int col)
{
    const unsigned char *p = (const unsigned char *)PQgetvalue(r, row, col);
    int                  len = PQgetlength(r, row, col);
    uint64_t             v = 0;

    if (PQgetisnull(r, row, col)) return 0;
    for (int i = 0; i < len && i < 8; i++) v = v << 8 | p[i];
    return (int64_t)v;
}

struct str res_str(const PGresult *r, int row, int col)
{
    if (PQgetisnull(r, row, col)) return STR_NONE;
    return str_n(PQgetvalue(r, row, col), (size_t)PQgetlength(r, row, col));
}

bool res_bool(const PGresult *r, int row, int col)
{
    return !PQgetisnull(r, row, col) && PQgetvalue(r, row, col)[0] != 0;
}
