/* test_route.c -- the router's patterns and its answers to other methods. */
#include "base/arena.h"
#include "door/app.h"
#include "http/route.h"
#include "test.h"

static struct str param[4];

TEST(a_plain_pattern_fits_its_path_only)
{
    CHECK(route_matches("/", STR("/"), NULL, param));
    CHECK(route_matches("/v1/tools", STR("/v1/tools"), NULL, param));
    CHECK(!route_matches("/v1/tools", STR("/v1/tools/"), NULL, param));
    CHECK(!route_matches("/v1/tools", STR("/v1/tool"), NULL, param));
    CHECK(!route_matches("/v1/tools", STR("/v1"), NULL, param));
    CHECK(!route_matches("/v1/tools", STR("//v1/tools"), NULL, param));
    CHECK(!route_matches("/", STR("*"), NULL, param));
}

TEST(braces_take_one_segment_that_is_not_empty)
{
    CHECK(route_matches("/threads/{}/events", STR("/threads/abc/events"), NULL, param));
    CHECK_STR(param[0], "abc");
    CHECK(param[1].ptr == NULL);
    CHECK(!route_matches("/threads/{}/events", STR("/threads//events"), NULL, param));
    CHECK(!route_matches("/threads/{}", STR("/threads/a/b"), NULL, param));
    CHECK(route_matches("/{a}/{b}/{c}/{d}", STR("/1/2/3/4"), NULL, param));
    CHECK_STR(param[0], "1");
    CHECK_STR(param[3], "4");
}

TEST(a_last_star_takes_the_rest)
{
    CHECK(route_matches("/assets/*", STR("/assets/js/app.js"), NULL, param));
    CHECK_STR(param[0], "js/app.js");
    CHECK(route_matches("/assets/*", STR("/assets/"), NULL, param));
    CHECK_STR(param[0], "");
    CHECK(!route_matches("/assets/*", STR("/assets"), NULL, param));
    CHECK(route_matches("/{}/*", STR("/a/b/c"), NULL, param));
    CHECK_STR(param[1], "b/c");
    CHECK(!route_matches("/*/x", STR("/a/x"), NULL, param)); /* only as the last one */
}

TEST(a_name_that_may_hold_anything_is_one_segment_and_is_decoded_once)
{
    static const struct {
        const char *path, *name;
    } names[] = {
        { "/people/corp%2Fann/erase", "corp/ann" },
        { "/people/%2E%2E/erase", ".." },
        { "/people/.%2e/erase", ".." },
        { "/people/%2e/erase", "." },
        { "/people/..%2F../erase", "../.." },
        { "/people/%2F/erase", "/" },
        { "/people/a%252Fb%2F/erase", "a%2Fb/" },
        { "/p%65ople/a%2F%C3%A9/erase", "a/\xc3\xa9" },
    };
    struct arena a;

    arena_init(&a, 0);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        CHECK(route_matches("/people/{*}/erase", str_c(names[i].path), &a, param));
        CHECK(str_is(param[0], names[i].name));
        CHECK(!route_matches("/people/{}/erase", str_c(names[i].path), &a, param));
    }
    CHECK(route_matches("/people/{*}/erase", STR("/people/ann/erase"), NULL, param));
    CHECK_STR(param[0], "ann");
    CHECK(!route_matches("/people/{*}/erase", STR("/people/%2E%2E/%2E/erase"), &a, param));
    CHECK(!route_matches("/people/{*}/erase", STR("/people%2Fann/x/erase"), &a, param));
    CHECK(!route_matches("/people/{*}/erase", STR("/people//erase%2F"), &a, param));
    CHECK(!route_matches("/people/{*}/{}", STR("/people/a%2Fb/c%2Fd"), &a, param));
    CHECK(!route_matches("/*", STR("/a%2Fb"), &a, param));
    arena_done(&a);
}

static const struct route table[] = {
    { "GET", "/a/new", NULL }, { "GET", "/a/{}", NULL }, { "POST", "/a/{}", NULL },
    { "GET", "/a/{}", NULL },  { "OPTIONS", "*", NULL }, { NULL },
};

static struct route_match find(struct arena *a, struct request *q, struct str method,
                               struct str path)
{
    *q = (struct request){ .method = method, .path = path, .arena = a };
    return route_find(table, q);
}

TEST(the_first_entry_that_fits_wins_and_others_are_listed)
{
    struct arena   a;
    struct request q;
    arena_init(&a, 0);
    CHECK(find(&a, &q, STR("GET"), STR("/a/new")).route == &table[0]);
    CHECK(find(&a, &q, STR("GET"), STR("/a/old")).route == &table[1]);
    CHECK_STR(q.param[0], "old");
    CHECK(find(&a, &q, STR("HEAD"), STR("/a/old")).route == &table[1]);
    CHECK(find(&a, &q, STR("POST"), STR("/a/old")).route == &table[2]);
    CHECK(find(&a, &q, STR("OPTIONS"), STR("*")).route == &table[4]);
    CHECK(find(&a, &q, STR("get"), STR("/a/old")).route == NULL);
    CHECK_STR(find(&a, &q, STR("PUT"), STR("/a/old")).allow, "GET, HEAD, POST");
    CHECK(find(&a, &q, STR("PUT"), STR("/b")).route == NULL);
    arena_done(&a);
}

TEST(an_entry_that_takes_every_address_says_nothing_about_those_that_have_their_own)
{
    static const struct route doors[] = {
        { "POST", "/chat", NULL },
        { "GET", "/", NULL },
        { "GET", "/*", NULL },
        { NULL },
    };
    struct arena       a;
    struct request     q;
    struct route_match m;
    arena_init(&a, 0);
    q = (struct request){ .method = STR("PUT"), .path = STR("/chat"), .arena = &a };
    m = route_find(doors, &q);
    CHECK(!m.route);
    CHECK_STR(m.allow, "POST");
    q.method = STR("GET");
    m = route_find(doors, &q);
    CHECK(!m.route);
    CHECK_STR(m.allow, "POST");
    q.path = STR("/page");
    CHECK(route_find(doors, &q).route == &doors[2]);
    q.method = STR("PUT");
    CHECK_STR(route_find(doors, &q).allow, "GET, HEAD");
    arena_done(&a);
}

TEST(an_entry_for_every_method_leaves_other_entries_their_own)
{
    static const struct route doors[] = {
        { "POST", "/chat", NULL },
        { "GET", "/*", NULL },
        { "*", "/*", NULL },
        { NULL },
    };
    struct arena   a;
    struct request q = { .method = STR("PUT"), .path = STR("/chat"), .arena = &a };
    arena_init(&a, 0);
    CHECK(!route_find(doors, &q).route);
    q.path = STR("/page");
    CHECK(route_find(doors, &q).route == &doors[2]);
    q.method = STR("HEAD");
    CHECK(route_find(doors, &q).route == &doors[1]);
    arena_done(&a);
}

/* What changes something and needs no start token: words for a model and what holds them, one's own
 * session, and doors whose body says what it is (command.c asks there). POST /a/{} has its proof in
 * the address. */
static const char *const open_doors[] = {
    "POST /v1/chat/stream",
    "POST /functions/v1/chat",
    "POST /api/chat",
    "POST /stream",
    "POST /ag-ui",
    "POST /ag-ui/agent/{*}/run",
    "POST /ag-ui/agent/{*}/connect",
    "POST /ag-ui/agent/{*}/stop/{}",
    "POST /run_sse",
    "POST /run",
    "POST /apps/{*}/users/{*}/sessions",
    "POST /apps/{*}/users/{*}/sessions/{}",
    "DELETE /apps/{*}/users/{*}/sessions/{}",
    "POST /v1/responses",
    "DELETE /v1/responses/{}",
    "POST /v1/responses/compact",
    "POST /v1/responses/{}/cancel",
    "POST /v1/chat/completions",
    "POST /v1/conversations",
    "POST /v1/conversations/{}",
    "DELETE /v1/conversations/{}",
    "POST /v1/threads",
    "PATCH /v1/threads/{}",
    "DELETE /v1/threads/{}",
    "POST /v1/threads/{}/stop",
    "POST /v1/threads/{}/actions",
    "POST /v1/session",
    "DELETE /v1/session",
    "POST /mcp",
    "DELETE /mcp",
    "POST /a/{}",
    "* /*",
};

TEST(a_door_that_changes_something_wants_the_start_token_or_is_known_to_need_none)
{
    size_t known = 0, answers = 0;
    for (const struct route *r = app_routes; r->method; r++) {
        bool open = false;
        char name[80];
        snprintf(name, sizeof name, "%s %s", r->method, r->pattern);
        for (size_t i = 0; i < sizeof open_doors / sizeof *open_doors; i++)
            open |= strcmp(name, open_doors[i]) == 0;
        if (!open && !(r->access & ANSWERS) && strcmp(r->method, "GET") != 0)
            test_failed(__FILE__, __LINE__, name);
        CHECK(!(open && (r->access & ANSWERS)));
        CHECK(!((r->access & ANSWERS) && (r->access & EVERYBODY))); /* nobody is looked for there */
        known += open;
        answers += (r->access & ANSWERS) != 0;
    }
    CHECK(known == sizeof open_doors / sizeof *open_doors);
    CHECK(answers >= 13);
}

TEST(what_is_nowhere_is_near_the_door_that_it_begins_like)
{
    CHECK(route_near(app_routes, STR("/v1/responses/a%2Fb")) ==
          route_near(app_routes, STR("/v1/responses")));
    CHECK(route_near(app_routes, STR("/v1/chat/completions/..")) !=
          route_near(app_routes, STR("/v1/chat/stream/..")));
    CHECK(route_near(app_routes, STR("/v1/chat/completions/..")) != NULL);
    CHECK(route_near(app_routes, STR("/v1/chat/completionsx")) == NULL);
    CHECK(route_near(app_routes, STR("/v1/chat")) == NULL);
    CHECK(route_near(app_routes, STR("/")) == NULL);
}
