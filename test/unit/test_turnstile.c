/* Long work in line: how much of it a turn does, whose turn it is, and that who left is out of it. */
#include "door/turnstile.h"
#include "test.h"

static struct loop      loop;
static struct turnstile line;
static char             order[64];

struct place {
    struct turnstile_place at;
    char                   name;
    size_t                 bytes; /* of its answer; 0: it is not answered yet */
};

static void go(struct turnstile_place *p)
{
    struct place *k = LIST_ITEM(p, struct place, at);
    size_t        n = strlen(order);
    order[n] = k->name;
    order[n + 1] = 0;
    turnstile_wrote(&line, k->bytes);
    if (k->bytes) turnstile_leave(p);
}

static void begin(unsigned at_once)
{
    REQUIRE(loop_init(&loop) == OK);
    turnstile_init(&line, &loop, at_once);
    order[0] = 0;
}

static void end(void)
{
    turnstile_done(&line);
    loop_done(&loop);
}

static void enter(struct place *k, char name, const char *who, size_t bytes)
{
    *k = (struct place){ .at.go = go, .name = name, .bytes = bytes };
    turnstile_enter(&line, &k->at, str_c(who));
}

TEST(a_turn_writes_so_much_and_the_rest_comes_in_the_next_ones)
{
    struct place k[4];
    begin(4);
    for (int i = 0; i < 4; i++) enter(&k[i], (char)('a' + i), "ann", TURNSTILE_BYTES / 2);
    CHECK(strcmp(order, "ab") == 0 && line.count == 2);
    for (int i = 0; i < 20 && line.count; i++) uv_run(&loop.uv, UV_RUN_NOWAIT);
    CHECK(strcmp(order, "abcd") == 0 && line.busy == 0 && line.begun == 4);
    end();
}

TEST(different_people_take_turns_and_who_left_is_passed_over)
{
    struct place k[5];
    begin(1);
    enter(&k[0], 'a', "ann", 0);
    enter(&k[1], 'b', "ann", 0);
    enter(&k[2], 'c', "ann", 1);
    enter(&k[3], 'd', "bob", 1);
    enter(&k[4], 'e', "bob", 1);
    CHECK(strcmp(order, "a") == 0 && turnstile_waits(&k[1].at) && !turnstile_waits(&k[0].at));
    turnstile_leave(&k[1].at); /* she went away */
    turnstile_leave(&k[0].at);
    CHECK(strcmp(order, "adce") == 0 && line.count == 0 && line.busy == 0);
    end();
}
