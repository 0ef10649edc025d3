/* fuzz_http1.c -- requests one after the other on one connection, from any bytes, cut anywhere.
 * The first byte of the input is the seed of the cuts. Whole or cut, the same requests come out,
 * with the same refusal at the end; and what comes out is what the header promises.
 * dictionary: http */
#include <stdlib.h>

#include "base/utf8.h"
#include "fuzz_cut.h"
#include "http/http1.h"

static struct net_limits limits;

static void require(bool ok)
{
    if (!ok) abort();
}

static void describe(struct buf *out, const struct http1 *p, const struct request *q)
{
    buf_printf(out, "%d %d%d%d%d ", (int)p->status, p->head_done, p->http10, p->keep_alive,
               p->expect);
    if (p->status == HTTP1_REFUSED) {
        buf_printf(out, "%d %s\n", p->why.status, p->why.code);
        return;
    }
    if (p->head_done) {
        buf_printf(out, STR_FMT " " STR_FMT "?" STR_FMT, STR_ARG(q->method), STR_ARG(q->path),
                   STR_ARG(q->query));
        for (size_t i = 0; i < q->header_count; i++)
            buf_printf(out, "|" STR_FMT "=" STR_FMT, STR_ARG(q->headers[i].name),
                       STR_ARG(q->headers[i].value));
    }
    if (p->status == HTTP1_DONE) buf_printf(out, " body %zu ", q->body.len), buf_str(out, q->body);
    buf_chr(out, '\n');
}

static void check(const struct http1 *p, const struct request *q)
{
    if (p->status == HTTP1_REFUSED)
        require(p->why.status >= 400 && p->why.status < 600 && p->why.code[0] && p->why.text[0]);
    if (!p->head_done) return;
    require(q->method.len && q->path.len && q->header_count <= HTTP1_HEADERS_MAX &&
            utf8_valid(q->path));
    require(q->path.ptr[0] == '/' || str_is(q->path, "*"));
    require(str_find(q->path, STR("/../")) < 0 && !memchr(q->path.ptr, 0, q->path.len));
    for (size_t i = 0; i < q->header_count; i++)
        for (size_t k = 0; k < q->headers[i].value.len; k++) {
            unsigned char c = (unsigned char)q->headers[i].value.ptr[k];
            require(c == '\t' || (c >= 0x20 && c != 0x7f));
        }
    require(q->body.len <= limits.body_max);
}

/* One request; how many bytes it took. */
static size_t one(struct str bytes, unsigned *cuts, struct buf *seen, bool *on)
{
    struct arena   a;
    struct http1   p;
    struct request q;
    size_t         used = 0;

    arena_init(&a, 0);
    http1_init(&p, &limits, &q, &a);
    while (used < bytes.len && p.status == HTTP1_MORE) {
        size_t n = fuzz_cut(cuts, bytes.len - used);
        /* exactly as long: a look beyond it, or a pointer kept into it, is seen */
        char  *copy = malloc(n);
        memcpy(copy, bytes.ptr + used, n);
        size_t took = http1_feed(&p, copy, n);
        free(copy);
        require(took <= n && (took == n || p.status != HTTP1_MORE));
        used += took;
    }
    check(&p, &q);
    describe(seen, &p, &q);
    *on = p.status == HTTP1_DONE;
    http1_done(&p);
    arena_done(&a);
    return used;
}

static void all(struct str bytes, unsigned cuts, struct buf *seen)
{
    bool on = true;
    buf_init(seen, 0);
    while (on && bytes.len) bytes = str_from(bytes, one(bytes, &cuts, seen, &on));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf whole, cut;
    if (!size) return 0;
    limits = (struct net_limits){ .head_max = 2000, .body_max = 3000 };
    struct str bytes = str_from(str_n((const char *)data, size), 1);
    all(bytes, 0, &whole);
    all(bytes, data[0] + 1u, &cut);
    require(str_eq(buf_view(&whole), buf_view(&cut)));
    buf_done(&whole);
    buf_done(&cut);
    return 0;
}
