/* test_auth.c -- keys, sessions, and what one principal may use. */
#include "auth/auth.h"
#include "base/id.h"
#include "run/quota.h"
#include "test.h"

#define FOO_KEY "foo"
static struct auth_key KEYS[] = {
    { { 0 }, { "ada", 3 }, ROLE_USER },
    { { 0 }, { "bob", 3 }, ROLE_APPROVER | ROLE_ADMIN },
};

static void digest_into(const char *key, uint8_t out[32])
{
    char hex[65];
    REQUIRE(auth_key_digest(str_c(key), hex));
    for (size_t i = 0; i < 32; i++) {
        unsigned v;
        sscanf(hex + 2 * i, "%2x", &v);
        out[i] = (uint8_t)v;
    }
}

static struct loop  loop;
static struct arena mem;
static struct auth *a;

static void up(const struct auth_setup *s)
{
    struct str why;
    digest_into("key of ada", KEYS[0].sha256);
    digest_into("key of bob", KEYS[1].sha256);
    arena_init(&mem, 0);
    REQUIRE(loop_init(&loop) == OK);
    REQUIRE(auth_new(&loop, s, &mem, &a, &why) == OK);
}

static void gone(void *ctx)
{
    (void)ctx;
}

static void down(void)
{
    auth_free(a, gone, NULL);
    loop_done(&loop);
    arena_done(&mem);
}

static enum auth_verdict ask(const char *token, struct principal *p)
{
    const char *why;
    return auth_token(a, str_c(token), &mem, p, &why);
}

TEST(a_key_is_known_by_its_digest)
{
    char hex[65];
    REQUIRE(auth_key_digest(STR("foo"), hex));
    CHECK_STR(str_c(hex), "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae");
}

TEST(a_bearer_key_gives_its_principal_and_nothing_else_does)
{
    struct auth_setup s = { .keys = KEYS, .key_count = 2, .cookie_s = 900 };
    struct principal  p = { 0 };
    up(&s);
    CHECK(auth_on(a));
    CHECK(ask("key of ada", &p) == AUTH_GOOD && str_is(p.name, "ada") && p.roles == ROLE_USER &&
          !p.until_s);
    CHECK(ask("key of bob", &p) == AUTH_GOOD && str_is(p.name, "bob") &&
          p.roles == (ROLE_APPROVER | ROLE_ADMIN));
    p = (struct principal){ 0 };
    CHECK(ask("key of eve", &p) == AUTH_BAD && !p.name.ptr);
    CHECK(ask("", &p) == AUTH_BAD);
    CHECK(ask("key of ad", &p) == AUTH_BAD && ask("key of ada ", &p) == AUTH_BAD);
    CHECK(ask("a.b.c", &p) == AUTH_BAD);
    down();
}

TEST(without_keys_and_tokens_there_is_nothing_to_prove)
{
    struct auth_setup s = { .cookie_s = 900 };
    up(&s);
    CHECK(!auth_on(a) && !auth_on(NULL));
    down();
}

TEST(a_keys_file_that_cannot_be_used_says_why)
{
    struct auth_setup s = {
        .jwt = true, .keys_file = STR("/nowhere/keys.pem"), .algorithms = ALG_RS256, .cookie_s = 900
    };
    struct auth *x = NULL;
    struct str   why = STR("");
    arena_init(&mem, 0);
    REQUIRE(loop_init(&loop) == OK);
    CHECK(auth_new(&loop, &s, &mem, &x, &why) == ERR_IO && !x &&
          str_find(why, STR("/nowhere/keys.pem")) >= 0);
    loop_done(&loop);
    arena_done(&mem);
}

/* --- sessions --------------------------------------------------------------------------------- */

static const struct principal ADA = { { "ada", 3 }, ROLE_USER, 0 };

TEST(a_session_lives_while_it_is_used_and_not_longer)
{
    struct sessions  s;
    struct principal p;
    char             id[SESSION_ID_LEN + 1];
    unsigned         fresh;
    sessions_init(&s, 100);
    REQUIRE(sessions_begin(&s, &ADA, 1000, id) == OK);
    CHECK(strlen(id) == SESSION_ID_LEN);
    CHECK(sessions_find(&s, str_c(id), 1010, &p, &fresh) && str_is(p.name, "ada") && fresh == 0);
    /* the browser is told */
    CHECK(sessions_find(&s, str_c(id), 1090, &p, &fresh) && fresh == 100);
    CHECK(sessions_find(&s, str_c(id), 1100, &p, &fresh) && fresh == 0);
    CHECK(sessions_find(&s, str_c(id), 1199, &p, &fresh));
    CHECK(!sessions_find(&s, str_c(id), 1299, &p, &fresh));
    CHECK(sessions_count(&s) == 0);
    sessions_done(&s);
}

TEST(a_session_ends_with_the_token_it_was_made_with_and_after_half_a_day)
{
    struct sessions  s;
    struct principal p, short_one = { STR("ada"), ROLE_USER, 1050 };
    char             id[SESSION_ID_LEN + 1], other[SESSION_ID_LEN + 1];
    unsigned         fresh;
    int64_t          now = 1000, end = 1000 + SESSIONS_HOURS * 3600;
    sessions_init(&s, 3600);
    REQUIRE(sessions_begin(&s, &short_one, 1000, id) == OK &&
            sessions_begin(&s, &ADA, 1000, other) == OK);
    CHECK(sessions_find(&s, str_c(id), 1049, &p, &fresh) && p.until_s == 1050);
    CHECK(!sessions_find(&s, str_c(id), 1050, &p, &fresh));
    for (; now < end; now += 1800) CHECK(sessions_find(&s, str_c(other), now, &p, &fresh));
    CHECK(!sessions_find(&s, str_c(other), end, &p, &fresh));
    sessions_done(&s);
}

TEST(a_session_that_was_ended_is_over_and_an_invented_id_never_was)
{
    struct sessions  s;
    struct principal p;
    char             id[SESSION_ID_LEN + 1];
    unsigned         fresh;
    sessions_init(&s, 100);
    REQUIRE(sessions_begin(&s, &ADA, 1000, id) == OK);
    char was = id[0];
    id[0] = was == 'A' ? 'B' : 'A';
    CHECK(!sessions_find(&s, str_c(id), 1000, &p, &fresh));
    sessions_end(&s, str_c(id));
    id[0] = was;
    CHECK(sessions_find(&s, str_c(id), 1000, &p, &fresh));
    CHECK(!sessions_find(&s, str_cut(str_c(id), 42), 1000, &p, &fresh) &&
          !sessions_find(&s, STR(""), 1000, &p, &fresh));
    sessions_end(&s, str_c(id));
    CHECK(!sessions_find(&s, str_c(id), 1000, &p, &fresh));
    sessions_done(&s);
}

TEST(one_principal_cannot_fill_the_table_of_sessions)
{
    struct sessions  s;
    struct principal p, bob = { STR("bob"), ROLE_USER, 0 };
    char             id[SESSION_ID_LEN + 1], first[SESSION_ID_LEN + 1], bobs[SESSION_ID_LEN + 1];
    unsigned         fresh;
    sessions_init(&s, 100);
    REQUIRE(sessions_begin(&s, &bob, 1000, bobs) == OK &&
            sessions_begin(&s, &ADA, 1000, first) == OK);
    for (int i = 0; i < SESSIONS_EACH; i++) REQUIRE(sessions_begin(&s, &ADA, 1000, id) == OK);
    CHECK(sessions_count(&s) == SESSIONS_EACH + 1);
    CHECK(!sessions_find(&s, str_c(first), 1000, &p, &fresh));
    CHECK(sessions_find(&s, str_c(bobs), 1000, &p, &fresh) &&
          sessions_find(&s, str_c(id), 1000, &p, &fresh));
    REQUIRE(sessions_begin(&s, &ADA, 2000, id) == OK); /* everything else is over by then */
    CHECK(sessions_count(&s) == 1);
    sessions_done(&s);
}

/* --- quotas ----------------------------------------------------------------------------------- */

TEST(requests_come_in_a_burst_and_then_at_their_pace)
{
    struct quota q;
    unsigned     retry = 0;
    quota_init(&q, &(struct quota_limits){ .requests_per_minute = 60 });
    for (int i = 0; i < 60; i++) CHECK(quota_request(&q, STR("ada"), 1000, &retry));
    CHECK(!quota_request(&q, STR("ada"), 1000, &retry) && retry >= 1 && retry <= 2);
    CHECK(quota_request(&q, STR("bob"), 1000, &retry));
    CHECK(quota_request(&q, STR("ada"), 2000, &retry));
    CHECK(!quota_request(&q, STR("ada"), 2000, &retry));
    CHECK(quota_request(&q, STR("ada"), 1000000, &retry));
    quota_done(&q);
}

TEST(runs_and_tokens_are_counted_for_each)
{
    struct quota q;
    unsigned     retry = 0;
    int64_t      day = 86400000, now = 100 * day + day / 2;
    quota_init(&q, &(struct quota_limits){ .runs = 2, .tokens_per_day = 1000 });
    CHECK(quota_admit(&q, STR("ada"), now, &retry) == QUOTA_FINE);
    quota_run(&q, STR("ada"), 1);
    quota_run(&q, STR("ada"), 1);
    CHECK(quota_admit(&q, STR("ada"), now, &retry) == QUOTA_RUNS && retry > 0);
    CHECK(quota_admit(&q, STR("bob"), now, &retry) == QUOTA_FINE);
    quota_run(&q, STR("ada"), -1);
    CHECK(quota_admit(&q, STR("ada"), now, &retry) == QUOTA_FINE);
    quota_tokens(&q, STR("ada"), 999, now);
    CHECK(quota_admit(&q, STR("ada"), now, &retry) == QUOTA_FINE);
    quota_tokens(&q, STR("ada"), 1, now);
    CHECK(quota_admit(&q, STR("ada"), now, &retry) == QUOTA_TOKENS && retry == 43201);
    CHECK(quota_admit(&q, STR("ada"), now + day, &retry) == QUOTA_FINE);
    quota_done(&q);
}

TEST(without_limits_nobody_is_remembered)
{
    struct quota q;
    unsigned     retry;
    quota_init(&q, &(struct quota_limits){ 0 });
    quota_run(&q, STR("ada"), 1);
    quota_tokens(&q, STR("ada"), 100, 1);
    CHECK(quota_request(&q, STR("ada"), 1, &retry) &&
          quota_admit(&q, STR("ada"), 1, &retry) == QUOTA_FINE);
    CHECK(quota_request(NULL, STR("ada"), 1, &retry) &&
          quota_admit(NULL, STR("ada"), 1, &retry) == QUOTA_FINE);
    quota_run(NULL, STR("ada"), 1);
    CHECK(q.people.count == 0);
    quota_done(&q);
}

TEST(a_million_names_do_not_stay_in_memory)
{
    struct quota q;
    unsigned     retry;
    char         name[32];
    quota_init(&q, &(struct quota_limits){ .requests_per_minute = 60 });
    for (unsigned i = 0; i < 200000; i++) {
        int n = snprintf(name, sizeof name, "person %u", i);
        quota_request(&q, str_n(name, (size_t)n), 1000 + i * 10, &retry);
    }
    CHECK(q.people.count < 5000);
    quota_done(&q);
}
