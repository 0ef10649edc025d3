/* fuzz_sse_in.c -- the event parser tells the same however its bytes are cut.
 * The first byte of the input is the seed of the cuts. */
#include <stdlib.h>

#include "base/sse_in.h"

static struct buf seen;

static void on_event(struct sse_in *s, struct str name, struct str data)
{
    buf_chr(&seen, '[');
    buf_str(&seen, name);
    buf_chr(&seen, '|');
    buf_str(&seen, data);
    buf_chr(&seen, ']');
}

static enum err parse(struct str bytes, unsigned cuts)
{
    struct sse_in s;
    enum err      e = OK;
    sse_in_init(&s, 4096, on_event);
    s.error_field = true;
    while (bytes.len && !e) {
        size_t n = bytes.len; /* 0: whole */
        if (cuts) {
            cuts = cuts * 1103515245u + 12345u;
            n = 1 + (cuts >> 16) % 9;
        }
        if (n > bytes.len) n = bytes.len;
        char *copy = malloc(n); /* exactly as long: a read past it is seen */
        memcpy(copy, bytes.ptr, n);
        e = sse_in_feed(&s, str_n(copy, n));
        free(copy);
        bytes = str_from(bytes, n);
    }
    if (!e) e = sse_in_end(&s);
    buf_printf(&seen, "%d ", s.retry_ms);
    buf_str(&seen, buf_view(&s.last_id));
    sse_in_done(&s);
    return e;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf whole;
    struct str bytes = str_from(str_n((const char *)data, size), 1);
    /* below the limit: an overlong event may be told from one cut and not from another */
    if (!size || size > 4000) return 0;
    buf_clear(&seen);
    if (parse(bytes, 0) != OK) abort();
    whole = seen;
    buf_init(&seen, 0);
    if (parse(bytes, data[0] + 1u) != OK || !str_eq(buf_view(&whole), buf_view(&seen))) abort();
    buf_done(&whole);
    return 0;
}
