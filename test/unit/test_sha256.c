/* test_sha256.c -- the published values (FIPS 180-4), in one piece and in many. */
#include "base/sha256.h"
#include "test.h"

static struct str hex_of(struct str t, size_t piece)
{
    static char   hex[SHA256_HEX + 1];
    struct sha256 h;
    uint8_t       out[SHA256_LEN];

    sha256_begin(&h);
    for (size_t i = 0; i < t.len; i += piece)
        sha256_add(&h, t.ptr + i, t.len - i < piece ? t.len - i : piece);
    sha256_end(&h, out);
    sha256_hex(out, sizeof out, hex);
    return str_c(hex);
}

TEST(the_hash_is_sha_256)
{
    struct str two = STR("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq");

    CHECK_STR(hex_of(STR(""), 1),
              "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    CHECK_STR(hex_of(STR("abc"), 8),
              "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    for (size_t piece = 1; piece < 60; piece += 7)
        CHECK_STR(hex_of(two, piece),
                  "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

TEST(members_cannot_move_into_each_other)
{
    struct sha256 a, b;
    uint8_t       x[SHA256_LEN], y[SHA256_LEN];

    sha256_begin(&a), sha256_begin(&b);
    sha256_text(&a, STR("ann")), sha256_text(&a, STR("a"));
    sha256_text(&b, STR("an")), sha256_text(&b, STR("na"));
    sha256_end(&a, x), sha256_end(&b, y);
    CHECK(memcmp(x, y, sizeof x) != 0);
}
