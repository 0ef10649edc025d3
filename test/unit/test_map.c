/* test_map.c -- the hash table. */
#include "base/map.h"

#include "base/arena.h"
#include "test.h"

struct thing {
    char name[16];
    int  n;
};
enum { COUNT = 5000 };
static struct thing things[COUNT];

static struct str name_of(int i)
{
    snprintf(things[i].name, sizeof things[i].name, "thing-%d", i);
    return str_c(things[i].name);
}

TEST(a_map_finds_what_was_put_and_nothing_else)
{
    struct map m;
    map_init(&m);
    CHECK(!map_get(&m, STR("x")) && !map_remove(&m, STR("x")));
    for (int i = 0; i < COUNT; i++) REQUIRE(map_put(&m, name_of(i), &things[i]) == OK);
    CHECK(m.count == COUNT);
    for (int i = 0; i < COUNT; i++) CHECK(map_get(&m, name_of(i)) == &things[i]);
    CHECK(!map_get(&m, STR("thing-")) && !map_get(&m, STR("thing-5000")) && !map_get(&m, STR_NONE));
    map_done(&m);
}

TEST(what_was_removed_is_gone_and_the_rest_stays)
{
    struct map m;
    map_init(&m);
    for (int i = 0; i < COUNT; i++) REQUIRE(map_put(&m, name_of(i), &things[i]) == OK);
    for (int i = 0; i < COUNT; i += 2) CHECK(map_remove(&m, name_of(i)) == &things[i]);
    for (int i = 0; i < COUNT; i++) CHECK(map_get(&m, name_of(i)) == (i % 2 ? &things[i] : NULL));
    CHECK(m.count == COUNT / 2 && !map_remove(&m, name_of(0)));
    map_done(&m);
}

TEST(coming_and_going_for_long_does_not_grow_the_map)
{
    struct map m;
    map_init(&m);
    for (int i = 0; i < 100000; i++) {
        REQUIRE(map_put(&m, name_of(i % COUNT), &things[i % COUNT]) == OK);
        if (i >= 8) CHECK(map_remove(&m, name_of((i - 8) % COUNT)));
    }
    CHECK(m.count == 8 && m.cap <= 16);
    map_done(&m);
}

TEST(putting_again_replaces_value_and_key)
{
    struct map m;
    char       old_key[] = "key", new_key[] = "key";
    int        a, b;
    map_init(&m);
    CHECK(map_put(&m, str_c(old_key), &a) == OK && map_put(&m, str_c(new_key), &b) == OK);
    old_key[0] = 'x'; /* its owner is gone */
    CHECK(m.count == 1 && map_get(&m, STR("key")) == &b);
    map_done(&m);
}

TEST(each_visits_every_value_once)
{
    struct map    m;
    struct thing *t;
    map_init(&m);
    for (int i = 0; i < 100; i++) {
        things[i].n = 0;
        REQUIRE(map_put(&m, name_of(i), &things[i]) == OK);
    }
    for (size_t i = 0; (t = map_each(&m, &i));) t->n++;
    for (int i = 0; i < 100; i++) CHECK(things[i].n == 1);
    map_done(&m);
    CHECK(!map_each(&m, &(size_t){ 0 }));
}

TEST(the_empty_key_and_keys_with_nul_are_keys)
{
    struct map m;
    int        a, b, c;
    map_init(&m);
    CHECK(map_put(&m, STR(""), &a) == OK && map_put(&m, STR("x"), &b) == OK &&
          map_put(&m, STR("x\0"), &c) == OK);
    CHECK(map_get(&m, STR_NONE) == &a && map_get(&m, STR("x")) == &b &&
          map_get(&m, STR("x\0")) == &c);
    map_done(&m);
}

TEST(a_map_without_memory_says_so_and_keeps_what_it_has)
{
    struct map m;
    int        i = 0;
    map_init(&m);
    mem_fail_at(1);
    while (i < 100 && map_put(&m, name_of(i), &things[i]) == OK) i++;
    mem_fail_at(-1);
    CHECK(i == 12);
    while (i--) CHECK(map_get(&m, name_of(i)) == &things[i]);
    map_done(&m);
}
