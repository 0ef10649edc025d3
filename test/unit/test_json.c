/* test_json.c -- the pull reader: strict, sticky, and without allocation where it counts. */
#include "base/json.h"
#include "base/clock.h"
#include "test.h"

#include <stdlib.h>

static struct arena scratch;
static struct json  r;

static void begin(const char *text)
{
    arena_reset(&scratch);
    json_init(&r, str_c(text), &scratch);
}

static enum err skip_all(const char *text)
{
    begin(text);
    json_skip(&r);
    return json_end(&r);
}

TEST(the_reader_walks_objects_and_arrays_in_order)
{
    struct str key;
    begin(" { \"a\" : [ 1 , -2 , true , null ] , \"b\" : \"x\" } ");
    CHECK(json_peek(&r) == JSON_OBJECT);
    CHECK(json_object(&r));
    REQUIRE(json_key(&r, &key));
    CHECK_STR(key, "a");
    CHECK(json_array(&r));
    CHECK(json_item(&r) && json_int(&r) == 1);
    CHECK(json_item(&r) && json_int(&r) == -2);
    CHECK(json_item(&r) && json_peek(&r) == JSON_BOOL && json_bool(&r));
    CHECK(json_item(&r));
    json_null(&r);
    CHECK(!json_item(&r));
    REQUIRE(json_key(&r, &key));
    CHECK_STR(key, "b");
    CHECK_STR(json_string(&r), "x");
    CHECK(!json_key(&r, &key));
    CHECK(json_end(&r) == OK);
}

TEST(a_stream_delta_is_read_without_allocation_in_well_under_a_microsecond)
{
    struct str text = STR("{\"type\":\"content_block_delta\",\"index\":0,"
                          "\"delta\":{\"type\":\"text_delta\",\"text\":\" hello\"}}");
    long     before = mem_count();
    uint64_t best = UINT64_MAX;
    size_t   found = 0;
    for (int round = 0; round < 50; round++) {
        uint64_t t = clock_mono_ns();
        for (int i = 0; i < 1000; i++) {
            struct str key, inner, got = STR_NONE;
            json_init(&r, text, NULL);
            json_object(&r);
            while (json_key(&r, &key)) {
                if (!str_is(key, "delta")) {
                    json_skip(&r);
                    continue;
                }
                json_object(&r);
                while (json_key(&r, &inner))
                    if (str_is(inner, "text")) got = json_string(&r);
                    else json_skip(&r);
            }
            found += json_end(&r) == OK && str_is(got, " hello");
        }
        t = clock_mono_ns() - t;
        if (t < best) best = t;
    }
    CHECK(found == 50 * 1000);
    CHECK(mem_count() == before);
    if (getenv("PARLEY_BENCH")) printf("note: one delta in %llu ns\n", (unsigned long long)best / 1000);
}

TEST(a_hundred_thousand_open_brackets_are_a_clean_error)
{
    static char text[100001];
    memset(text, '[', 100000);
    CHECK(skip_all(text) == ERR_SYNTAX);
    CHECK(strcmp(r.why, "nested too deeply") == 0);
}
