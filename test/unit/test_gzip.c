/* Packed answers: what comes out is what went in, and what would not shrink is left alone. */
#include <zlib.h>

#include "base/gzip.h"
#include "test.h"

static bool comes_back(struct str packed, struct str as)
{
    static char text[1 << 16];
    z_stream    z = { .next_in = (Bytef *)packed.ptr,
                      .avail_in = (uInt)packed.len,
                      .next_out = (Bytef *)text,
                      .avail_out = sizeof text };
    REQUIRE(inflateInit2(&z, 15 + 16) == Z_OK);
    bool whole = inflate(&z, Z_FINISH) == Z_STREAM_END;
    (void)inflateEnd(&z);
    return whole && str_eq(str_n(text, z.total_out), as);
}

TEST(a_packed_text_comes_back_as_it_was_and_is_smaller)
{
    struct buf in = { 0 }, out = { 0 };
    buf_lit(&out, "before");
    for (int i = 0; i < 1000; i++) buf_printf(&in, "{\"id\":\"m%d\",\"role\":\"user\"},", i);
    CHECK(gzip_pack(&out, buf_view(&in)));
    CHECK(out.len < in.len / 4);
    CHECK(comes_back(str_from(buf_view(&out), 6), buf_view(&in)));
    struct buf plain = { 0 };
    buf_lit(&plain, "<");
    CHECK(gzip_unpack(&plain, str_from(buf_view(&out), 6)));
    CHECK(str_eq(str_from(buf_view(&plain), 1), buf_view(&in)));
    CHECK(!gzip_unpack(&plain, buf_view(&out)) && plain.len == in.len + 1 && !plain.err);
    CHECK(!gzip_unpack(&plain, STR("no")));
    buf_done(&plain);
    buf_done(&in);
    buf_done(&out);
}

TEST(a_text_that_does_not_become_smaller_is_left_alone)
{
    struct buf out = { 0 };
    buf_lit(&out, "before");
    CHECK(!gzip_pack(&out, STR("q")));
    CHECK(str_is(buf_view(&out), "before"));
    CHECK(!out.err);
    buf_done(&out);
}
