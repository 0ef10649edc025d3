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

/* A table, and the store behind it with one row. */
struct desk {
    struct sessions    s;
    struct arena       mem;
    char               id[SESSION_ID_LEN + 1], key[SESSION_KEY_LEN + 1];
    struct session_row row;
    uint64_t           ms; /* the monotonic clock */
};

/* What a look at the row says goes into the table. */
static void desk_read(struct desk *d)
{
    struct principal p;
    int64_t          told;
    REQUIRE(session_read(d->row.body, &d->mem, &p, &told));
    REQUIRE(sessions_learn(&d->s, &d->row, &p, told, d->ms, d->ms) == OK);
}

static void desk_begin(struct desk *d, const struct principal *p, unsigned life_s, int64_t now_s)
{
    *d = (struct desk){ .ms = 5000 };
    arena_init(&d->mem, 0);
    sessions_init(&d->s, life_s);
    REQUIRE(sessions_begin(&d->s, p, now_s * 1000, d->id, &d->mem, &d->row) == OK);
    REQUIRE(session_key(str_c(d->id), d->key) && str_is(d->row.key, d->key));
    desk_read(d);
}

static void desk_end(struct desk *d)
{
    sessions_done(&d->s);
    arena_done(&d->mem);
}

/* A request, with the row read again where it has to be and written where it should be. */
static bool desk_use(struct desk *d, int64_t now_s, struct session_seen *seen)
{
    enum session_is is = sessions_look(&d->s, str_c(d->key), now_s, d->ms, seen);
    if (is == SESSION_IS_UNREAD) {
        desk_read(d);
        is = sessions_look(&d->s, str_c(d->key), now_s, d->ms, seen);
    }
    if (seen->write) REQUIRE(sessions_row(&d->s, str_c(d->key), &d->mem, &d->row) == OK);
    return is == SESSION_IS_KNOWN;
}

TEST(a_session_lives_while_it_is_used_and_not_longer)
{
    struct desk         d;
    struct session_seen seen;
    desk_begin(&d, &ADA, 100, 1000);
    CHECK(strlen(d.id) == SESSION_ID_LEN && d.row.ends_ms == 1100000);
    CHECK(desk_use(&d, 1004, &seen) && str_is(seen.who.name, "ada"));
    CHECK(seen.fresh_s == 0 && !seen.write); /* not a row for every request */
    CHECK(desk_use(&d, 1010, &seen) && seen.write && d.row.ends_ms == 1110000);
    /* the browser is told */
    CHECK(desk_use(&d, 1090, &seen) && seen.fresh_s == 100);
    CHECK(desk_use(&d, 1100, &seen) && seen.fresh_s == 0);
    CHECK(desk_use(&d, 1199, &seen));
    CHECK(!desk_use(&d, 1299, &seen));
    desk_end(&d);
}

TEST(a_session_goes_on_from_its_row_on_another_node)
{
    struct desk         d, other;
    struct session_seen seen;
    desk_begin(&d, &ADA, 100, 1000);
    CHECK(desk_use(&d, 1060, &seen) && seen.fresh_s == 100);
    desk_begin(&other, &ADA, 100, 1000);
    sessions_done(&other.s);
    sessions_init(&other.s, 100);
    other.row = d.row;
    memcpy(other.key, d.key, sizeof d.key);
    CHECK(desk_use(&other, 1062, &seen) && str_is(seen.who.name, "ada"));
    CHECK(seen.fresh_s == 0); /* the first has told the browser */
    CHECK(!desk_use(&other, 1262, &seen));
    desk_end(&other);
    desk_end(&d);
}

TEST(what_was_read_is_believed_for_two_seconds)
{
    struct desk         d;
    struct session_seen seen;
    desk_begin(&d, &ADA, 100, 1000);
    d.ms += SESSION_FRESH_MS - 1;
    CHECK(sessions_look(&d.s, str_c(d.key), 1001, d.ms, &seen) == SESSION_IS_KNOWN);
    d.ms++;
    CHECK(sessions_look(&d.s, str_c(d.key), 1001, d.ms, &seen) == SESSION_IS_UNREAD);
    /* a slow answer is good for a moment all the same */
    REQUIRE(sessions_none(&d.s, str_c(d.key), d.ms, d.ms + 60000) == OK);
    d.ms += 60000;
    CHECK(sessions_look(&d.s, str_c(d.key), 1001, d.ms, &seen) == SESSION_IS_NONE);
    d.ms += SESSION_FRESH_MS / 2;
    CHECK(sessions_look(&d.s, str_c(d.key), 1001, d.ms, &seen) == SESSION_IS_UNREAD);
    desk_end(&d);
}

TEST(a_session_ends_with_the_token_it_was_made_with_and_after_half_a_day)
{
    struct desk         d;
    struct principal    short_one = { STR("ada"), ROLE_USER, 1050 };
    struct session_seen seen;
    int64_t             now = 1000, end = 1000 + SESSIONS_HOURS * 3600;
    desk_begin(&d, &short_one, 3600, 1000);
    CHECK(desk_use(&d, 1049, &seen) && seen.who.until_s == 1050);
    CHECK(!desk_use(&d, 1050, &seen));
    desk_end(&d);
    desk_begin(&d, &ADA, 3600, 1000);
    for (; now < end; now += 1800) CHECK(desk_use(&d, now, &seen));
    CHECK(!desk_use(&d, end, &seen));
    desk_end(&d);
}

TEST(an_invented_id_is_read_once_and_is_none_then)
{
    struct desk         d;
    struct session_seen seen;
    char                key[SESSION_KEY_LEN + 1];
    desk_begin(&d, &ADA, 100, 1000);
    CHECK(!strstr(d.row.body.ptr, d.id) && !strstr(d.key, d.id + SESSION_TAG_LEN));
    d.id[42] = d.id[42] == 'A' ? 'B' : 'A';
    REQUIRE(session_key(str_c(d.id), key) && strcmp(key, d.key) != 0);
    CHECK(sessions_look(&d.s, str_c(key), 1000, d.ms, &seen) == SESSION_IS_UNREAD);
    REQUIRE(sessions_none(&d.s, str_c(key), d.ms, d.ms) == OK);
    CHECK(sessions_look(&d.s, str_c(key), 1000, d.ms, &seen) == SESSION_IS_NONE);
    CHECK(sessions_look(&d.s, str_c(d.key), 1000, d.ms, &seen) == SESSION_IS_KNOWN);
    CHECK(!session_key(str_cut(str_c(d.id), 42), key) && !session_key(STR(""), key));
    d.id[20] = '/';
    CHECK(!session_key(str_c(d.id), key));
    desk_end(&d);
}

TEST(strangers_crowd_nobody_out_of_the_table_of_sessions)
{
    struct desk         d;
    struct session_seen seen;
    char                id[SESSION_ID_LEN + 1] = { 0 }, key[SESSION_KEY_LEN + 1];
    desk_begin(&d, &ADA, 100, 1000);
    for (unsigned i = 0; i < 2 * SESSIONS_NONE; i++) {
        snprintf(id, sizeof id, "%043u", i);
        REQUIRE(session_key(str_c(id), key) && sessions_none(&d.s, str_c(key), d.ms, d.ms) == OK);
    }
    CHECK(sessions_count(&d.s) == SESSIONS_NONE + 1);
    CHECK(sessions_look(&d.s, str_c(d.key), 1000, d.ms, &seen) == SESSION_IS_KNOWN);
    desk_end(&d);
}

TEST(the_rows_of_one_person_begin_alike_and_others_do_not)
{
    struct desk      ada, again, bob;
    struct principal other = { STR("bob"), ROLE_USER, 0 };
    size_t           same = SESSION_KEY_LEN - 64;
    desk_begin(&ada, &ADA, 100, 1000);
    desk_begin(&again, &ADA, 100, 1000);
    desk_begin(&bob, &other, 100, 1000);
    CHECK(memcmp(ada.key, again.key, same) == 0 && ada.key[same - 1] == '/');
    CHECK(memcmp(ada.key, bob.key, same) != 0 && strcmp(ada.key, again.key) != 0);
    desk_end(&ada);
    desk_end(&again);
    desk_end(&bob);
}

TEST(a_session_stands_while_what_it_was_made_with_does)
{
    struct auth_setup s = { .keys = KEYS, .key_count = 2 };
    struct principal  p;
    const char       *why;
    up(&s);
    REQUIRE(auth_token(a, STR("key of bob"), &mem, &p, &why) == AUTH_GOOD);
    CHECK(str_starts(p.proof, STR("key ")) && str_find(p.proof, STR("bob")) < 0);
    p.roles = ROLE_USER;
    p.until_s = 77;
    CHECK(auth_stands(a, &mem, &p));
    /* its roles are what the configuration says now, its end stays */
    CHECK(p.roles == (ROLE_APPROVER | ROLE_ADMIN) && p.until_s == 77);
    p.name = STR("ada");
    CHECK(!auth_stands(a, &mem, &p));
    p.name = STR("bob");
    s.key_count = 1;
    CHECK(!auth_stands(a, &mem, &p));
    p.proof = STR("jwt https://id.example");
    CHECK(!auth_stands(a, &mem, &p));
    s.jwt = true;
    s.issuer = STR("https://id.example");
    CHECK(auth_stands(a, &mem, &p));
    s.issuer = STR("https://other.example");
    CHECK(!auth_stands(a, &mem, &p));
    p.proof = STR_NONE;
    CHECK(!auth_stands(a, &mem, &p));
    s.jwt = false;
    down();
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
    quota_learn(&q, STR("ada"), 900, now);
    quota_learn(&q, STR("ada"), 990, now); /* the sum, not what is added to it */
    quota_tokens(&q, STR("ada"), 9, now);
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
