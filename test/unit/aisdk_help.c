/* aisdk_help.c -- see aisdk_help.h. */
#include "aisdk_help.h"

struct stream_start aisdk_view(bool native, enum stream_mode mode, const char *run)
{
    return (
        struct stream_start){ .native = native, .mode = mode, .run = run ? str_c(run) : STR_NONE };
}

struct encoder aisdk_begin(struct tale *t, struct stream_start s, uint64_t seq)
{
    struct encoder e;
    s.seq = seq;
    encoder_start(&e, &dialect_aisdk, &carrier_sse, NULL, &t->thread, &s);
    return e;
}

enum encoded aisdk_pull_all(struct encoder *e, struct tale *t, struct buf *out)
{
    enum encoded r = ENCODED_ITEM;
    for (int guard = 0; guard < 10000 && (r == ENCODED_ITEM || r == ENCODED_CUT); guard++)
        r = encode_into(e, &t->thread, out, ROOM);
    CHECK(r == ENCODED_NOTHING || r == ENCODED_END);
    return r;
}
