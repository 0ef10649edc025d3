/* test_config.c -- what a configuration means, and what is said about a bad one. */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/jsonw.h"
#include "config/config.h"
#include "test.h"

static struct config       c;
static struct config_error e;

/* No key of the machine the tests run on may decide them. */
static void quiet_env(void)
{
    static const char *const NAMES[] = {
        "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "ANTHROPIC_MODEL", "GEMINI_API_KEY",
        "GEMINI_BASE_URL",   "GEMINI_MODEL",       "OPENAI_API_KEY",  "OPENAI_BASE_URL",
        "OPENAI_MODEL",      "PARLEY_TEST_KEY",
    };
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) unsetenv(NAMES[i]);
}

static enum err load(const char *text)
{
    return config_load_text(&c, str_c(text), "t.json", NULL, &e);
}

/* Is there an error at `line` (0: any) that says `part`? */
static bool says(unsigned line, const char *part)
{
    for (size_t i = 0; i < e.count; i++)
        if ((!line || e.problem[i].line == line) && strstr(e.problem[i].text, part)) return true;
    config_error_print(&e, stdout);
    return false;
}

static bool warns(const char *part)
{
    for (size_t i = 0; i < c.warnings.count; i++)
        if (str_find(c.warnings.list[i], str_c(part)) >= 0) return true;
    return false;
}

/* Refused, once, at that line and with those words. */
static bool refused(const char *text, unsigned line, const char *part)
{
    quiet_env();
    if (load(text) == OK) {
        config_done(&c);
        return false;
    }
    return e.count == 1 ? says(line, part) : (config_error_print(&e, stdout), false);
}

static void good(const char *text)
{
    quiet_env();
    if (load(text) != OK) config_error_print(&e, stdout);
    REQUIRE(e.count == 0);
}

/* A path in the tests' folder; the newest call wins. */
static const char *at(const char *name)
{
    static char path[300];
    snprintf(path, sizeof path, "%s/%s", test_dir(), name);
    return path;
}

static const char *write_file(const char *name, const char *text)
{
    const char *path = at(name);
    FILE       *f = fopen(path, "w");
    REQUIRE(f != NULL);
    fputs(text, f);
    fclose(f);
    return path;
}

/* --- defaults --------------------------------------------------------------------- */

TEST(config_without_a_file_is_the_demo_on_loopback)
{
    good("{}");
    CHECK_STR(c.host, "127.0.0.1");
    CHECK(c.port == 8000);
    CHECK_STR(c.store, "parley.db");
    CHECK_STR(c.demo_ledger, "parley.db.ledger.jsonl");
    CHECK(c.max_iterations == 5 && c.demo_token_ms == 15 && c.log == LOG_INFO);
    CHECK(c.demo_model && c.demo_tools && !c.hold && c.expires_s == 86400);
    CHECK(c.model.count == 1);
    CHECK_STR(c.model.list[0]->provider, "demo");
    CHECK(str_find(c.model_why, STR("ANTHROPIC_API_KEY")) >= 0);
    CHECK(!config_is_public(&c) && !config_has_auth(&c));
    config_done(&c);
}

TEST(config_limits_have_the_promised_defaults)
{
    good("{}");
    CHECK(c.limits.head_max == 16 * 1024 && c.limits.body_max == 8u << 20 &&
          c.limits.bodies_max == 256u << 20);
    CHECK(c.limits.message_max == 1u << 20 && c.limits.connections == 10000 &&
          c.limits.per_address == 1000);
    CHECK(c.limits.head_ms == 10000 && c.limits.body_ms == 30000 && c.limits.idle_ms == 60000 &&
          c.limits.write_ms == 30000);
    CHECK(c.runs_max == 2000 && c.tool_output_max == 64 * 1024);
    config_done(&c);
}

TEST(config_default_page_of_the_demo_knows_its_payloads)
{
    good("{\"pages\":{\"articles\":{\"tools\":[\"search_articles\"]}}}");
    REQUIRE(c.page_count == 2);
    CHECK_STR(c.pages[0].name, "default");
    CHECK(c.pages[0].all_tools && c.pages[0].payload_count == 3);
    CHECK_STR(c.pages[0].payloads[0].type, "schema_proposal");
    CHECK(config_page(&c, STR_NONE) == &c.pages[0] && config_page(&c, STR("nothing")) == NULL);
    const struct config_page *p = config_page(&c, STR("articles"));
    CHECK(p && !p->all_tools && p->tool_count == 1 && p->payload_count == 0 &&
          p->models.count == 1);
    const struct config_action *a = config_action(&c, STR("apply_schema"));
    CHECK(a && str_is(a->tool, "apply_schema"));
    config_done(&c);
}

/* --- values ------------------------------------------------------------------------- */

TEST(config_reads_the_simple_keys)
{
    good("{\"listen\":\"[::1]:9000\",\"store\":\"sqlite:x.db\",\"log\":\"debug\",\"system\":\"Be "
         "kind.\",\"max_iterations\":7,"
         "\"approvals\":{\"on_new_message\":\"hold\",\"expires\":0},\"demo\":{\"token_ms\":0},"
         "\"limits\":{\"body\":2048,\"head_seconds\":0.5,\"tool_output\":1000},\"hosts\":[\"chat."
         "localhost\"],"
         "\"origins\":[\"https://localhost\"],\"cors\":[\"http://localhost:3000\"]}");
    CHECK_STR(c.host, "::1");
    CHECK(c.port == 9000 && c.log == LOG_DEBUG && c.max_iterations == 7 && c.hold &&
          c.expires_s == 0);
    CHECK_STR(c.demo_ledger, "x.db.ledger.jsonl");
    CHECK_STR(c.pages[0].system, "Be kind.");
    CHECK(c.demo_token_ms == 0 && c.limits.body_max == 2048 && c.limits.head_ms == 500 &&
          c.tool_output_max == 1000);
    CHECK(c.hosts.count == 1 && c.origins.count == 1 && c.cors.count == 1);
    config_done(&c);
}

/* 0 means "for ever": a time that is only short must not become it. */
TEST(config_rounds_the_time_of_a_question_up_to_whole_seconds)
{
    good(
        "{\"approvals\":{\"expires\":0.5},\"tools\":{\"a\":{\"description\":\"d\",\"client\":true},"
        "\"b\":{\"description\":\"d\",\"client\":true,\"expires\":0.001},\"c\":{\"description\":"
        "\"d\",\"client\":true,\"expires\":1.9},"
        "\"d\":{\"description\":\"d\",\"client\":true,\"expires\":0}}}");
    CHECK(c.expires_s == 1 && c.tools[0].expires_s == 1 && c.tools[1].expires_s == 1 &&
          c.tools[2].expires_s == 2 && c.tools[3].expires_s == 0);
    config_done(&c);
    good("{\"approvals\":{\"expires\":1.9}}");
    CHECK(c.expires_s == 2);
    config_done(&c);
}

TEST(config_store_is_a_path_or_says_what_is_possible)
{
    static const char *const GOOD[] = { "sqlite:x.db", "a:b.db", "/tmp/x://y.db",
                                        "sqlite::memory:", "postgresql://ann@db/parley" };

    CHECK(refused("{\n\"store\":\"mysql://u:secret@localhost\"}", 2, "sqlite:PATH"));
    CHECK(!strstr(e.problem[0].text, "secret"));
    CHECK(refused("{\"store\":\"SQLite://x.db\"}", 1, "\"SQLite://\""));
    for (size_t i = 0; i < sizeof GOOD / sizeof *GOOD; i++) {
        struct config_flags f = { .store = GOOD[i] };
        CHECK(config_load_text(&c, STR("{}"), "t.json", &f, &e) == OK);
        config_done(&c);
    }
    struct config_flags f = { .store = "redis://localhost" };
    CHECK(config_load_text(&c, STR("{}"), "t.json", &f, &e) == ERR_SYNTAX &&
          says(0, "\"redis://\""));
}

TEST(config_a_database_has_no_files_beside_it_and_its_password_is_not_shown)
{
    static const struct {
        const char *url, *shown;
    } CASES[] = {
        { "postgresql://ann:secret@db:5433/parley", "postgresql://ann@db:5433/parley" },
        { "postgresql://ann@a,b/parley?password=secret", "postgresql://ann@a,b/parley" },
        { "postgres:///parley?host=/run/secret", "postgres:///parley" },
        { "postgresql://db/parley", "postgresql://db/parley" },
        { "postgresql://ann:se/cret@db/parley", "postgresql://ann@db/parley" },
        { "postgresql://ann:se@cret@db/parley", "postgresql://ann@db/parley" },
        { "postgresql://", "postgresql://" },
    };

    quiet_env();
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        struct config_flags f = { .store = CASES[i].url };
        REQUIRE(config_load_text(&c, STR("{}"), "t.json", &f, &e) == OK);
        CHECK_STR(c.store, CASES[i].url);
        CHECK_STR(c.store_shown, CASES[i].shown);
        CHECK(!c.store_file.ptr);
        CHECK_STR(c.work, "parley.work");
        CHECK_STR(c.demo_ledger, "parley.ledger.jsonl");
        config_done(&c);
    }
    good("{\"store\":\"sqlite:/data/x.db\"}");
    CHECK_STR(c.store_file, "/data/x.db");
    CHECK_STR(c.work, "/data/x.db.work");
    config_done(&c);
    good("{\"work\":\"/scratch\"}");
    CHECK_STR(c.work, "/scratch");
    config_done(&c);
}

TEST(config_flags_win_over_the_file)
{
    struct config_flags f = { .listen = "127.0.0.1:0", .store = "sqlite::memory:" };

    quiet_env();
    REQUIRE(config_load_text(&c, STR("{\"listen\":\"0.0.0.0:80\",\"store\":\"a.db\"}"), "t.json",
                             &f, &e) == OK);
    CHECK_STR(c.host, "127.0.0.1");
    CHECK_STR(c.store, "sqlite::memory:");
    CHECK_STR(c.demo_ledger, "parley.ledger.jsonl");
    config_done(&c);

    f.listen = "127.0.0.1:70000";
    CHECK(config_load_text(&c, STR("{}"), "t.json", &f, &e) != OK && says(0, "--listen"));
}

/* --- the address to listen on ---------------------------------------------------------- */

static bool listens(const char *text, const char *host, unsigned port)
{
    struct str  h;
    unsigned    p;
    const char *why;
    return config_listen_parse(str_c(text), &h, &p, &why) == OK && str_is(h, host) && p == port;
}

static bool listens_not(const char *text)
{
    struct str  h;
    unsigned    p;
    const char *why = NULL;
    return config_listen_parse(str_c(text), &h, &p, &why) != OK && why;
}

TEST(config_listen_takes_host_and_port)
{
    CHECK(listens("127.0.0.1:8000", "127.0.0.1", 8000));
    CHECK(listens("[::1]:8000", "::1", 8000));
    CHECK(listens("localhost:0", "localhost", 0));
    CHECK(listens(":8001", "127.0.0.1", 8001));
    CHECK(listens("8002", "127.0.0.1", 8002));
    CHECK(listens("0.0.0.0:65535", "0.0.0.0", 65535));
}

TEST(config_listen_refuses_everything_else)
{
    static const char *const BAD[] = {
        "",
        ":",
        "localhost",
        "localhost:",
        "localhost:http",
        "1.2.3.4:70000",
        "1.2.3.4:-1",
        "1.2.3.4:+1",
        "1.2.3.4:08",
        "::1:8000",
        "[::1]",
        "[::1]8000",
        "[::1:8000",
        "[]:8000",
        "[localhost]:80",
        "http://localhost:80",
        "a b:80",
        "1.2.3.4:99999999999999999999",
        "[::1]:",
        "]:80",
        "[",
        "[]",
        "[]:",
    };
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
        CHECK(listens_not(BAD[i]));
        if (!listens_not(BAD[i])) printf("    %s\n", BAD[i]);
    }
}

TEST(config_knows_loopback_when_it_sees_it)
{
    CHECK(config_host_is_loopback(STR("127.0.0.1")) && config_host_is_loopback(STR("127.9.9.9")));
    CHECK(config_host_is_loopback(STR("::1")) && config_host_is_loopback(STR("LocalHost")));
    CHECK(config_host_is_loopback(STR("::ffff:127.0.0.1")));
    CHECK(!config_host_is_loopback(STR("0.0.0.0")) && !config_host_is_loopback(STR("::")) &&
          !config_host_is_loopback(STR("")));
    CHECK(!config_host_is_loopback(STR("127.0.0.1.example.org")) &&
          !config_host_is_loopback(STR("10.0.0.1")));
}

TEST(config_refuses_a_public_address_without_auth)
{
    CHECK(refused("{\n\"listen\":\"0.0.0.0:8000\"}", 2, "add \"auth\""));
    good("{\"listen\":\"0.0.0.0:8000\",\"auth\":{\"keys\":[{\"principal\":\"ada\",\"sha256\":"
         "\"2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae\"}]}}");
    CHECK(config_is_public(&c) && config_has_auth(&c) && c.auth.keys[0].sha256[0] == 0x2c &&
          c.auth.keys[0].roles == ROLE_USER);
    config_done(&c);
}

/* --- mistakes ---------------------------------------------------------------------------- */

TEST(config_says_where_a_brace_is_missing)
{
    CHECK(refused("{\n \"listen\": \"127.0.0.1:1\"\n", 3, "closing '}'"));
    CHECK(refused("", 1, "column 1"));
    CHECK(refused("{\n\"log\": \"info\",\n}", 3, "comma"));
    CHECK(refused("{\n// listen here\n}", 2, "no comments"));
    CHECK(refused("{ 'log': 1 }", 1, "double quotes"));
    CHECK(refused("[]", 1, "one object"));
}

TEST(config_signing_in_at_a_provider_wants_https_a_client_and_openid)
{
    CHECK(refused("{\"auth\":{\"oidc\":{\"client_id\":\"x\"}}}", 1, "needs \"issuer\""));
    CHECK(refused("{\"auth\":{\"oidc\":{\"issuer\":\"https://id.example\"}}}", 1,
                  "needs \"client_id\""));
    CHECK(refused("{\"auth\":{\"oidc\":{\"issuer\":\"http://id.example\",\"client_id\":\"x\"}}}", 1,
                  "must begin with https://"));
    CHECK(refused("{\"auth\":{\"oidc\":{\"issuer\":\"https://id.example\",\"client_id\":\"x\","
                  "\"scope\":\"profile\"}}}",
                  1, "the word openid"));
}

TEST(config_says_which_key_was_meant)
{
    CHECK(refused("{\n\n\"lisen\": \"127.0.0.1:1\"}", 3,
                  "unknown key \"lisen\" (did you mean \"listen\"?)"));
    CHECK(refused("{\"limits\":{\"conections\":5}}", 1, "did you mean \"connections\""));
    CHECK(refused("{\"token_ms\": 5}", 1, "did you mean \"demo.token_ms\""));
    CHECK(refused("{\"limits.body\": 5000}", 1, "did you mean \"limits.body\""));
    CHECK(refused("{\"approvals\":{\"colour\":1}}", 1, "on_new_message, who, context, expires"));
    CHECK(refused("{\"model\":{\"provider\":\"demo\",\"modle\":\"x\"}}", 1,
                  "did you mean \"model\""));
    CHECK(refused("{\"*\":1}", 1, "unknown key"));
}

TEST(config_refuses_wrong_types_and_says_the_right_one)
{
    CHECK(refused("{\n\"listen\": 8000}", 2, "\"listen\" must be text, not a number"));
    CHECK(refused("{\"max_iterations\":\"5\"}", 1, "without quotes"));
    CHECK(refused("{\"demo\":{\"tools\":\"yes\"}}", 1, "true or false"));
    CHECK(refused("{\"limits\":[]}", 1, "must be an object"));
    CHECK(refused("{\"origins\":[\"https://a.localhost\",5]}", 1, "item 2 is a number"));
    CHECK(refused("{\"system\":null}", 1, "not null"));
    CHECK(refused("{\"log\":\"inf\"}", 1, "did you mean \"info\""));
    CHECK(refused("{\"auth\":{\"keys\":[1]}}", 1, "list of objects"));
}

TEST(config_refuses_numbers_out_of_range)
{
    CHECK(refused("{\"limits\":{\"body\":-1}}", 1, "not -1"));
    CHECK(refused("{\"max_iterations\":0}", 1, "between 1 and 1000"));
    CHECK(refused("{\"max_iterations\":2.5}", 1, "whole number"));
    CHECK(refused("{\"max_iterations\":1e99}", 1, "whole number"));
    CHECK(refused("{\"limits\":{\"idle_seconds\":-0.5}}", 1, "seconds, not -0.5"));
    CHECK(refused("{\"limits\":{\"runs\":99999999999999999999}}", 1, "limits.runs"));
    CHECK(refused("{\"listen\":\"127.0.0.1:70000\"}", 1, "0 to 65535"));
    CHECK(refused("{\"limits\":{\"body\":2000000,\"bodies\":1000000}}", 1, "larger than"));
}

TEST(config_refuses_a_key_that_stands_twice)
{
    CHECK(refused("{\"log\":\"info\",\n\"log\":\"warn\"}", 2, "take one of them out"));
}

TEST(config_tells_all_mistakes_at_once)
{
    quiet_env();
    CHECK(load("{\"lisen\":1,\n\"log\":5,\n\"limits\":{\"body\":-1},\n\"models\":{},\n\"pages\":{"
               "\"p\":{\"tools\":[\"nope\"]}}}") != OK);
    CHECK(e.count == 5 && e.more == 0);
    CHECK(says(1, "lisen") && says(2, "log") && says(3, "limits.body") && says(4, "no models") &&
          says(5, "no tool is called \"nope\""));
    CHECK(e.problem[0].line == 1 && e.problem[4].line == 5);
}

TEST(config_stops_listing_mistakes_at_twenty)
{
    struct buf b;

    quiet_env();
    buf_init(&b, 0);
    buf_chr(&b, '{');
    for (int i = 0; i < 30; i++) buf_printf(&b, "%s\"zzzzzzzz%d\":1", i ? "," : "", i);
    buf_lit(&b, "}");
    CHECK(config_load_text(&c, buf_view(&b), "t.json", NULL, &e) != OK);
    CHECK(e.count == CONFIG_PROBLEMS_MAX && e.more == 10);
    buf_done(&b);
}

TEST(config_errors_cannot_move_the_cursor)
{
    quiet_env();
    CHECK(load("{\"a\\u001b[2J\\u009b\\n\":1}") != OK);
    CHECK(!strpbrk(e.problem[0].text, "\033\n\x9b"));
}

/* --- the file ------------------------------------------------------------------------------ */

TEST(config_file_that_cannot_be_read_is_named)
{
    quiet_env();
    CHECK(config_load(&c, at("none.json"), &e) == ERR_NOT_FOUND && says(0, "No such file"));
    CHECK(strstr(e.file, "none.json"));
    CHECK(config_load(&c, test_dir(), &e) == ERR_IO && says(0, "directory"));
    const char *path = write_file("locked.json", "{}");
    CHECK(chmod(path, 0) == 0);
    if (geteuid() != 0) CHECK(config_load(&c, path, &e) == ERR_IO && says(0, "ermission"));
}

TEST(config_file_is_read_with_its_name_in_errors)
{
    quiet_env();
    CHECK(config_load(&c, write_file("ok.json", "\xEF\xBB\xBF{\"max_iterations\": 3}\n"), &e) ==
          OK);
    CHECK(c.max_iterations == 3 && str_ends(c.path, STR("ok.json")));
    config_done(&c);
    CHECK(config_load(&c, write_file("bad.json", "{\n\"x\": 1}"), &e) == ERR_SYNTAX);
    CHECK(strstr(e.file, "bad.json") && e.problem[0].line == 2);
}

TEST(config_text_that_is_not_utf8_is_refused)
{
    CHECK(refused("{\"system\":\"\xff\"}", 1, "UTF-8"));
    CHECK(refused("{\"system\":\"a\\u0000b\"}", 1, "NUL"));
}

/* --- models and secrets ----------------------------------------------------------------------- */

TEST(config_environment_picks_the_model)
{
    quiet_env();
    setenv("OPENAI_BASE_URL", "http://127.0.0.1:8080/v1/", 1);
    REQUIRE(load("{}") == OK);
    CHECK_STR(c.model.list[0]->provider, "openai");
    CHECK_STR(c.model.list[0]->base_url, "http://127.0.0.1:8080/v1");
    CHECK(!c.model.list[0]->api_key.ptr && !c.demo_model && c.demo_tools &&
          c.pages[0].payload_count == 0);
    CHECK(str_starts(c.model_why, STR("OPENAI_BASE_URL is set")));
    config_done(&c);

    setenv("ANTHROPIC_API_KEY", "sk-1", 1);
    setenv("ANTHROPIC_MODEL", "claude-x", 1);
    REQUIRE(load("{}") == OK);
    CHECK_STR(c.model.list[0]->provider, "anthropic");
    CHECK_STR(c.model.list[0]->model, "claude-x");
    CHECK_STR(c.model.list[0]->api_key, "sk-1");
    config_done(&c);

    REQUIRE(load("{\"model\":\"demo\"}") == OK); /* the file wins */
    CHECK(c.demo_model);
    config_done(&c);
}

TEST(config_describes_one_model)
{
    quiet_env();
    setenv("PARLEY_TEST_KEY", "sk-2", 1);
    REQUIRE(load("{\"max_tokens\":99,\"model\":{\"provider\":\"anthropic\",\"model\":\"m\",\"api_"
                 "key\":\"env:PARLEY_TEST_KEY\","
                 "\"thinking\":{\"type\":\"adaptive\"},\"headers\":{\"X-A\":\"Bearer "
                 "env:PARLEY_TEST_KEY\"},"
                 "\"timeouts\":{\"idle\":1.5},\"retries\":0}}") == OK);
    const struct config_model *m = c.model.list[0];
    CHECK_STR(m->name, "default");
    CHECK_STR(m->api_key, "sk-2");
    CHECK_STR(m->headers[0].value, "Bearer sk-2");
    CHECK(m->max_tokens == 99 && m->thinking && m->idle_ms == 1500 && m->connect_ms == 10000 &&
          m->retries == 0);
    CHECK(c.warnings.count == 0);
    config_done(&c);
}

TEST(config_fallback_list_keeps_its_order)
{
    good("{\"models\":{\"a\":{\"provider\":\"openai\",\"base_url\":\"http://localhost:1/"
         "v1\"},\"b\":{\"provider\":\"demo\"}},"
         "\"model\":[\"b\",\"a\"],\"pages\":{\"p\":{\"model\":\"a\"}}}");
    CHECK(c.model.count == 2 && str_is(c.model.list[0]->name, "b") &&
          str_is(c.model.list[1]->name, "a"));
    CHECK(config_page(&c, STR("p"))->models.count == 1 && c.demo_model);
    config_done(&c);
}

TEST(config_page_that_uses_the_demo_model_brings_its_tools)
{
    good("{\"model\":{\"provider\":\"openai\",\"base_url\":\"http://localhost:1/v1\"},"
         "\"tools\":{\"t\":{\"description\":\"d\",\"client\":true}},"
         "\"pages\":{\"tour\":{\"model\":[\"demo\"],\"tools\":[\"get_weather\",\"t\"]}}}");
    CHECK(c.demo_model && c.demo_tools && c.pages[0].payload_count == 0);
    config_done(&c);
}

TEST(config_refuses_models_that_lead_nowhere)
{
    CHECK(refused("{\"model\":\"x\"}", 1, "no model is called \"x\""));
    CHECK(refused("{\"model\":{\"model\":\"x\"}}", 1, "has no provider"));
    CHECK(refused("{\"model\":{\"provider\":\"antropic\"}}", 1, "did you mean \"anthropic\""));
    CHECK(refused("{\"model\":{\"provider\":\"anthropic\"}}", 1, "set ANTHROPIC_API_KEY"));
    CHECK(refused("{\"model\":[]}", 1, "empty"));
    CHECK(refused("{\"model\":[\"demo\",\"demo\"]}", 1, "twice"));
    CHECK(refused("{\"models\":{\"a\":{\"provider\":\"demo\"},\"b\":{\"provider\":\"demo\"}}}", 1,
                  "has several"));
    CHECK(
        refused("{\"model\":{\"provider\":\"openai\",\"base_url\":\"localhost\"}}", 1, "http://"));
    CHECK(refused("{\"model\":{\"provider\":\"openai\",\"base_url\":\"http://u:p@h/\"}}", 1,
                  "password"));
    CHECK(refused("{\"model\":{\"provider\":\"demo\",\"headers\":{\"A B\":\"c\"}}}", 1,
                  "header's name"));
    CHECK(refused("{\"model\":{\"provider\":\"demo\",\"headers\":{\"A\":\"c\\r\\nd\"}}}", 1,
                  "line break"));
}

TEST(config_secret_references_must_lead_somewhere)
{
    CHECK(refused("{\n\"model\":{\"provider\":\"openai\",\n\"api_key\":\"env:PARLEY_TEST_KEY\"}}",
                  3, "PARLEY_TEST_KEY is not set"));
    CHECK(refused("{\"model\":{\"provider\":\"openai\",\"api_key\":\"env:\"}}", 1, "not set"));
    CHECK(refused("{\"model\":{\"provider\":\"openai\",\"api_key\":\"file:/nowhere/key\"}}", 1,
                  "/nowhere/key"));
    CHECK(refused("{\"model\":{\"provider\":\"openai\",\"api_key\":\"file:/\"}}", 1, "directory"));
}

TEST(config_key_comes_from_a_file_without_its_newline)
{
    char text[500];

    snprintf(text, sizeof text, "{\"model\":{\"provider\":\"openai\",\"api_key\":\"file:%s\"}}",
             write_file("key", "sk-3\n"));
    good(text);
    CHECK_STR(c.model.list[0]->api_key, "sk-3");
    config_done(&c);
    write_file("key", "\n");
    CHECK(refused(text, 1, "empty"));
}

TEST(config_warns_of_a_key_in_the_file)
{
    good("{\"model\":{\"provider\":\"openai\",\"api_key\":\"sk-4\",\"base_url\":\"http://"
         "example.org/v1\"}}");
    CHECK(warns("stands in the file") && warns("unencrypted"));
    CHECK(!warns("sk-4"));
    config_done(&c);
}

TEST(config_sends_no_environment_key_to_an_address_of_the_file)
{
    quiet_env();
    setenv("OPENAI_API_KEY", "sk-5", 1);
    REQUIRE(load("{\"model\":{\"provider\":\"openai\",\"base_url\":\"https://example.org/v1\"}}") ==
            OK);
    CHECK(!c.model.list[0]->api_key.ptr);
    config_done(&c);
}

/* --- tools ------------------------------------------------------------------------------------ */

TEST(config_keeps_tools_for_their_runners)
{
    quiet_env();
    setenv("PARLEY_TEST_KEY", "sk-6", 1);
    REQUIRE(load("{\"tools\":{\"pay\":{\"description\":\"Pays\",\"input_schema\":{\"type\":"
                 "\"object\"},\"confirm\":\"always\",\"risk\":\"high\","
                 "\"timeout\":5,\"expires\":60,\"intent\":\"I'll pay "
                 "{x}\",\"exec\":{\"command\":[\"pay\"],\"env\":{\"K\":\"env:PARLEY_TEST_KEY\","
                 "\"U\":\"text:file:x\"}}},"
                 "\"look.up\":{\"description\":\"Looks\",\"http\":{\"url\":\"https://e.org/"
                 "x\",\"headers\":{\"Authorization\":\"Bearer env:PARLEY_TEST_KEY\"}}},"
                 "\"beep\":{\"description\":\"Beeps\",\"client\":true}},\"actions\":{\"go\":{"
                 "\"tool\":\"pay\"}}}") == OK);
    REQUIRE(c.tool_count == 3);
    const struct config_tool *t = &c.tools[0];
    CHECK(t->runner == RUNNER_EXEC && t->timeout_ms == 5000 && t->expires_s == 60 &&
          !t->idempotent);
    CHECK_STR(jv_str(jv_get(jv_get(t->run, "env"), "K")), "sk-6");
    CHECK_STR(jv_get(jv_get(t->run, "env"), "K")->raw, "\"env:PARLEY_TEST_KEY\"");
    CHECK_STR(jv_str(jv_get(jv_get(t->run, "env"), "U")), "file:x");
    CHECK_STR(jv_str(jv_get(jv_get(c.tools[1].run, "headers"), "Authorization")), "Bearer sk-6");
    CHECK(c.tools[1].timeout_ms == 60000 && c.tools[2].runner == RUNNER_CLIENT && !c.tools[2].run);
    CHECK(c.demo_tools); /* the demo model needs them */
    CHECK_STR(config_action(&c, STR("go"))->tool, "pay");
    config_done(&c);
}

TEST(config_refuses_tools_that_cannot_run)
{
    CHECK(refused("{\"tools\":{\"t\":{\"description\":\"d\"}}}", 1, "exactly one of"));
    CHECK(refused("{\"tools\":{\"t\":{\"description\":\"d\",\"client\":true,\"http\":{\"url\":"
                  "\"http://localhost\"}}}}",
                  1, "exactly one of"));
    CHECK(refused("{\"tools\":{\"t\":{\"client\":false}}}", 1, "only be true"));
    CHECK(refused("{\"tools\":{\"t\":{\"exec\":{}}}}", 1, "command"));
    CHECK(refused("{\"tools\":{\"t\":{\"exec\":{\"command\":\"ls -l\"}}}}", 1,
                  "must be a list of text"));
    CHECK(refused("{\"tools\":{\"t\":{\"http\":{}}}}", 1, "url"));
    CHECK(refused("{\"tools\":{\"a b\":{\"client\":true}}}", 1, "tool's name"));
    CHECK(refused("{\"tools\":{\"present\":{\"client\":true}}}", 1, "built-in"));
    CHECK(refused("{\"tools\":{\"get_weather\":{\"client\":true}}}", 1, "demo tool"));
    CHECK(refused("{\"tools\":{\"t\":{\"client\":true,\"input_schema\":{\"type\":\"string\"}}}}", 1,
                  "\"type\": \"object\""));
    CHECK(refused("{\"tools\":{\"t\":{\"client\":true,\"confirm\":\"sometimes\"}}}", 1,
                  "\"confirm\""));
    CHECK(refused("{\"actions\":{\"a\":{\"tool\":\"get_wether\"}}}", 1,
                  "did you mean \"get_weather\""));
    CHECK(refused("{\"actions\":{\"a\":{}}}", 1, "needs \"tool\""));
}

#define CLIENT(name, more) \
    "{\"tools\":{\"" name "\":{\"description\":\"d\",\"client\":true" more "}}}"

/* Clients take it for our question to a person. */
TEST(config_refuses_names_that_mean_something_else_to_clients)
{
    CHECK(refused(CLIENT("adk_request_confirmation", ""), 1, "reserved"));
    CHECK(refused(CLIENT("adk.request_confirmation", ""), 1, "reserved"));
    CHECK(
        refused("{\"actions\":{\n\"approve\":{\"tool\":\"get_weather\"}}}", 2, "never be reached"));
    CHECK(refused("{\"actions\":{\"deny\":{\"tool\":\"get_weather\"}}}", 1, "never be reached"));
    CHECK(refused("{\"actions\":{\"retry\":{\"tool\":\"get_weather\"}}}", 1, "never be reached"));
}

/* What schema_check would pass over in silence. */
TEST(config_refuses_schemas_that_would_check_nothing)
{
#define SCHEMA(text) CLIENT("t", ",\n\"input_schema\":{" text "}")
    CHECK(refused(SCHEMA("\"required\":\"a\""), 2,
                  "\"required\" of a JSON schema must be a list of text"));
    CHECK(refused(SCHEMA("\"required\":[1]"), 2, "a list of text"));
    CHECK(refused(SCHEMA("\"properties\":{\"a\":{\n\"pattern\":\"(\"}}"), 3, "pattern \"(\""));
    CHECK(refused(SCHEMA("\"properties\":{\"a\":{\"type\":\"strng\"}}"), 2, "\"strng\""));
    CHECK(refused(SCHEMA("\"properties\":{\"a\":3}"), 2, "an object of schemas"));
    CHECK(refused(SCHEMA("\"properties\":{\"a\":{\"minimum\":\"1\"}}"), 2, "a number"));
    CHECK(refused(SCHEMA("\"properties\":{\"a\":{\"maxLength\":-1}}"), 2, "a whole number from 0"));
    CHECK(refused(SCHEMA("\"properties\":{\"a\":{\"enum\":\"x\"}}"), 2, "a list"));
    CHECK(refused(SCHEMA("\"patternProperties\":{\"[\":{}}"), 2, "pattern \"[\""));
    CHECK(refused(SCHEMA("\"anyOf\":{}"), 2, "a list of schemas"));
    CHECK(refused("{\"pages\":{\"p\":{\"payloads\":{\"x\":{\"required\":\"a\"}}}}}", 1,
                  "a list of text"));
    good(SCHEMA(
        "\"type\":\"object\",\"required\":[\"a\"],\"title\":\"x\",\"x-own\":1,\"$defs\":{\"n\":{"
        "\"type\":[\"string\",\"null\"]}},"
        "\"properties\":{\"a\":{\"$ref\":\"#/$defs/"
        "n\"},\"pattern\":{\"pattern\":\"^a+$\"},\"required\":true,\"e\":{\"enum\":[1,{\"type\":3}]"
        ",\"default\":{\"type\":7}},"
        "\"l\":{\"items\":{\"type\":\"integer\"},\"minItems\":1}},\"additionalProperties\":false"));
    config_done(&c);
    /* Good in ECMA, but outside what is checked here. */
    good(SCHEMA("\"properties\":{\"a\":{\"pattern\":\"(?=a)b\"}}"));
    CHECK(warns("is not checked"));
    config_done(&c);
}

/* A name there is compared with the address's host alone: another one would be written in vain. */
TEST(config_refuses_an_allowed_host_that_is_never_asked_for)
{
#define ALLOW(list)                                                                         \
    "{\"tools\":{\"t\":{\"description\":\"d\",\"http\":{\"url\":\"https://billing.example/" \
    "x\",\n\"allow\":[" list "]}}}}"
    CHECK(refused(ALLOW("\"zz\""), 2, "\"zz\" in \"allow\""));
    CHECK(refused(ALLOW("\"10.0.0.0/99\""), 2, "10.0.0.0/99"));
    good(ALLOW("\"10.0.0.0/8\",\"127.0.0.1\",\"fd00::1\",\"Billing.example\""));
    config_done(&c);
}

TEST(config_takes_mcp_servers_as_other_clients_write_them)
{
    good("{\"mcpServers\":{\"fs\":{\"command\":\"npx\",\"args\":[\"-y\",\"x\"],\"autoApprove\":[],"
         "\"confirm\":{\"read\":\"never\"}},"
         "\"web\":{\"type\":\"http\",\"url\":\"https://e.org/mcp\",\"timeout\":30},"
         "\"off\":{\"command\":\"x\",\"env\":{\"K\":\"env:PARLEY_TEST_KEY\"},\"disabled\":true}},"
         "\"pages\":{\"p\":{\"tools\":[\"fs__read\"]}}}");
    REQUIRE(c.mcp_count == 2);
    CHECK(!c.mcp[0].http && c.mcp[0].timeout_ms == 60000 && c.mcp[1].http &&
          c.mcp[1].timeout_ms == 30000);
    CHECK(warns("autoApprove"));
    config_done(&c);
}

TEST(config_refuses_mcp_servers_that_cannot_be_reached)
{
    CHECK(refused("{\"mcpServers\":{\"a\":{}}}", 1, "either \"command\" or \"url\""));
    CHECK(refused("{\"mcpServers\":{\"a\":{\"comand\":\"x\",\"url\":\"http://localhost/\"}}}", 1,
                  "did you mean \"command\""));
    CHECK(refused("{\"mcpServers\":{\"a\":{\"command\":\"x\",\"type\":\"http\"}}}", 1,
                  "does not fit"));
    CHECK(refused("{\"mcpServers\":{\"a\":{\"command\":\"x\",\"timeout\":60000}}}", 1,
                  "1800 seconds"));
    CHECK(refused("{\"mcpServers\":{\"a\":{\"command\":\"x\",\"confirm\":{\"t\":\"no\"}}}}", 1,
                  "\"confirm\""));
    CHECK(refused(
        "{\"mcpServers\":{\"a\":{\"command\":\"x\",\"env\":{\"K\":\"env:PARLEY_TEST_KEY\"}}}}", 1,
        "not set"));
}

/* --- who may come in -------------------------------------------------------------------------- */

#define FOO "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"

TEST(config_reads_keys_and_tokens)
{
    good("{\"auth\":{\"keys\":[{\"sha256\":\"" FOO
         "\",\"principal\":\"ada\",\"roles\":[\"user\",\"admin\"]}],"
         "\"jwt\":{\"issuer\":\"https://i\",\"audience\":\"parley\",\"jwks_url\":\"https://i/"
         "keys\"},\"cookie_seconds\":60}}");
    CHECK(c.auth.key_count == 1 && c.auth.keys[0].roles == (ROLE_USER | ROLE_ADMIN));
    CHECK(c.auth.jwt && c.auth.algorithms == (ALG_RS256 | ALG_ES256) && c.auth.cookie_s == 60);
    config_done(&c);
}

TEST(config_limits_each_principal_when_people_sign_in)
{
    good("{}");
    CHECK(!c.each.requests_per_minute && !c.each.runs && !c.each.tokens_per_day && !c.approvers);
    config_done(&c);
    good("{\"auth\":{\"keys\":[{\"sha256\":\"" FOO
         "\",\"principal\":\"ada\",\"roles\":[\"approver\"]}]},\"approvals\":{\"who\":\"approver\"}"
         "}");
    CHECK(c.each.requests_per_minute == 1200 && c.each.runs == 50 && !c.each.tokens_per_day &&
          c.approvers);
    config_done(&c);
    good("{\"limits\":{\"per_principal\":{\"runs\":2,\"requests_per_minute\":0,\"tokens_per_day\":"
         "9000000000}},\"proxies\":[\"127.0.0.1\",\"::1\"]}");
    CHECK(c.each.runs == 2 && !c.each.requests_per_minute && c.each.tokens_per_day == 9000000000 &&
          c.proxies.count == 2);
    config_done(&c);
    good("{\"listen\":\"0.0.0.0:1\",\"auth\":{\"keys\":[{\"sha256\":\"" FOO
         "\",\"principal\":\"ada\"}]}}");
    CHECK(warns("\"hosts\" is empty"));
    config_done(&c);
}

TEST(config_knows_the_address_that_people_reach_it_by)
{
    good("{}");
    CHECK(!c.public_url.ptr);
    config_done(&c);
    good("{\"public_url\":\"https://chat.example.org/parley/\"}");
    CHECK_STR(c.public_url, "https://chat.example.org/parley");
    config_done(&c);
    CHECK(refused("{\"public_url\":\"chat.example.org\"}", 1, "must begin with http"));
}

TEST(config_refuses_approvers_that_are_not_there)
{
    CHECK(refused("{\"approvals\":{\"who\":\"approver\"}}", 1, "needs \"auth\""));
    CHECK(refused("{\"approvals\":{\"who\":\"approver\"},\"auth\":{\"keys\":[{\"sha256\":\"" FOO
                  "\",\"principal\":\"a\"}]}}",
                  1, "nobody under \"auth\""));
    CHECK(refused("{\"approvals\":{\"who\":\"anybody\"}}", 1, "owner|approver"));
}

TEST(config_refuses_auth_that_is_no_auth)
{
    CHECK(refused("{\"auth\":{\"keys\":[{\"sha256\":\"" FOO "\",\"principal\":\"a\\nb\"}]}}", 1,
                  "control characters"));
    CHECK(refused("{\"proxies\":[\"10.0.0.0/8\"]}", 1, "an address such as"));
    CHECK(refused("{\"limits\":{\"per_principal\":{\"runs\":-1}}}", 1, "between 0"));
    CHECK(refused("{\"auth\":{}}", 1, "lets nobody in"));
    CHECK(refused("{\"auth\":{\n\"keys\":[]}}", 2, "lets nobody in"));
    CHECK(refused("{\"auth\":{\"cookie_seconds\":60}}", 1, "lets nobody in"));
    CHECK(refused("{\"auth\":{\"keys\":[{\"sha256\":\"abc\",\"principal\":\"a\"}]}}", 1,
                  "64 hex digits"));
    CHECK(refused("{\"auth\":{\"keys\":[{\"sha256\":\"" FOO "\"}]}}", 1, "principal"));
    CHECK(refused("{\"auth\":{\"keys\":[{\"sha256\":\"" FOO
                  "\",\"principal\":\"a\",\"roles\":[\"root\"]}]}}",
                  1, "user, approver, admin"));
    CHECK(refused("{\"auth\":{\"keys\":[{\"sha256\":\"" FOO
                  "\",\"principal\":\"a\"},{\"sha256\":\"" FOO "\",\"principal\":\"b\"}]}}",
                  1, "twice"));
    CHECK(refused("{\"auth\":{\"jwt\":{\"issuer\":\"i\",\"keys_file\":\"k\"}}}", 1, "audience"));
    CHECK(refused("{\"auth\":{\"jwt\":{\"issuer\":\"i\",\"audience\":\"a\"}}}", 1, "keys_file"));
    CHECK(refused("{\"auth\":{\"jwt\":{\"issuer\":\"i\",\"audience\":\"a\",\"keys_file\":\"k\","
                  "\"algorithms\":[\"none\"]}}}",
                  1, "\"none\" is not"));
    CHECK(refused("{\"auth\":{\"jwt\":{\"issuer\":\"i\",\"audience\":\"a\",\"keys_file\":\"k\","
                  "\"algorithms\":[\"HS256\",\"RS256\"]}}}",
                  1, "cannot be mixed"));
    CHECK(refused(
        "{\"auth\":{\"jwt\":{\"issuer\":\"i\",\"audience\":\"a\",\"jwks_url\":\"http://i/k\"}}}", 1,
        "https://"));
    CHECK(refused("{\"origins\":[\"*\"]}", 1, "every web site"));
    CHECK(refused("{\"origins\":[\"https://example.org/\"]}", 1, "without a path"));
    CHECK(refused("{\"cors\":[\"example.org\"]}", 1, "must begin"));
    CHECK(refused("{\"hosts\":[\"http://a\"]}", 1, "host name alone"));
    CHECK(refused("{\"hosts\":[\"a:80\"]}", 1, "without a port"));
}

#define SIGNED_IN "\"auth\":{\"keys\":[{\"sha256\":\"" FOO "\",\"principal\":\"ada\"}]}"

TEST(config_a_site_that_embeds_is_named_as_browsers_name_it)
{
    static const struct {
        const char *origin, *why;
    } BAD[] = {
        { "*", "in \"page.embed\" would let every web site in; list the sites" },
        { "shop.example", "must begin with http:// or https://" },
        { "https://shop.example/", "without a path or '/'" },
        { "https://Shop.example", "lower case" },
        { "https://*.shop.example", "wildcards are not understood" },
        { "https://shop.example:443", "browsers leave it out" },
        { "http://shop.example:80", "browsers leave it out" },
        { "https://shop.example;script-src", "a character that no origin has" },
        { "https://shop.example'self'", "a character that no origin has" },
    };
    char text[400], many[8000] = "{" SIGNED_IN ",\"page\":{\"embed\":[\"https://a.example\"";

    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
        snprintf(text, sizeof text, "{" SIGNED_IN ",\"page\":{\"embed\":[\"%s\"]}}", BAD[i].origin);
        CHECK(refused(text, 1, BAD[i].why));
    }
    for (int i = 0; i < 64; i++) strcat(many, ",\"https://b.example\"");
    CHECK(refused(strcat(many, "]}}"), 1, "lists 65 sites; 64 fit into a header"));
    CHECK(refused("{\"page\":{\"embed\":\"https://shop.example\"}}", 1, "list of text"));
    good("{" SIGNED_IN
         ",\"page\":{\"embed\":[\"https://shop.example\",\"http://localhost:5173\"]}}");
    CHECK(c.embed.count == 2 && c.cors.count == 0);
    config_done(&c);
    good("{\"page\":{\"embed\":[\"http://127.0.0.1:5173\"]}}");
    CHECK(c.embed.count == 1);
    config_done(&c);
}

TEST(config_refuses_a_public_name_while_nobody_has_to_say_who_they_are)
{
    CHECK(refused("{\n\"hosts\":[\"localhost\",\"chat.example.org\"]}", 2,
                  "\"chat.example.org\" in \"hosts\" is a name for people on other machines"));
    CHECK(refused("{\"hosts\":[\"notlocalhost\"]}", 1, "add \"auth\""));
    CHECK(refused("{\"hosts\":[\"[fd00::7]\"]}", 1, "add \"auth\""));
    CHECK(refused("{\"origins\":[\"https://app.example.org\"]}", 1,
                  "\"origins\" is a page of another machine"));
    CHECK(refused("{\"origins\":[\"http://localhost.example.org:3000\"]}", 1, "add \"auth\""));
    CHECK(refused("{\"cors\":[\"http://192.168.0.7:3000\"]}", 1,
                  "\"cors\" is a page of another machine"));
    CHECK(refused("{\"page\":{\"embed\":[\"https://shop.example\"]}}", 1,
                  "\"https://shop.example\" in \"page.embed\" is a page of another machine"));
    CHECK(refused("{\"proxies\":[\"10.0.0.7\"]}", 1, "another machine that passes people on"));
    CHECK(refused("{\"proxies\":[\"fd00::7\"]}", 1, "add \"auth\""));
    good("{\"hosts\":[\"app.localhost\",\"127.0.0.2\",\"[::1]\"],\"origins\":[\"http://"
         "[::1]:3000\",\"http://127.0.0.1:3000\"],"
         "\"cors\":[\"http://localhost:3000\",\"https://"
         "x.localhost\"],\"proxies\":[\"127.0.0.1\",\"::1\"]}");
    config_done(&c);
    good("{\"hosts\":[\"chat.example.org\"],\"origins\":[\"https://"
         "app.example.org\"],\"cors\":[\"https://app.example.org\"],\"proxies\":[\"10.0.0.7\"],"
         "\"auth\":{\"keys\":[{\"sha256\":\"" FOO "\",\"principal\":\"ada\"}]}}");
    config_done(&c);
}

/* --- explaining ------------------------------------------------------------------------------- */

static char explained[20000];

static void explain(void)
{
    FILE *f = tmpfile();

    REQUIRE(f != NULL);
    config_explain(&c, f);
    rewind(f);
    explained[fread(explained, 1, sizeof explained - 1, f)] = '\0';
    fclose(f);
}

TEST(config_is_explained_in_words_and_without_secrets)
{
    good("{\"model\":{\"provider\":\"openai\",\"model\":\"m-1\",\"api_key\":\"sk-secret\",\"base_"
         "url\":\"https://e.org/v1\","
         "\"headers\":{\"X\":\"hush-hush\"}},\"store\":\"sqlite:x.db\",\"limits\":{\"body\":2048},"
         "\"tools\":{\"pay\":{\"description\":\"d\",\"exec\":{\"command\":[\"p\"]},\"confirm\":{"
         "\"when\":{\"pointer\":\"/amount\",\"op\":\">\",\"value\":100}}}}}");
    explain();
    CHECK(strstr(explained, "http://127.0.0.1:8000, this machine only"));
    CHECK(
        strstr(explained, "m-1 of openai at https://e.org/v1, because the configuration says so"));
    CHECK(strstr(explained, "limits.body is 2048 (usually 8388608)"));
    CHECK(strstr(explained, "pay (program): a person is asked when {\"pointer\":\"/amount\""));
    CHECK(strstr(explained, "warning"));
    CHECK(!strstr(explained, "secret") && !strstr(explained, "hush"));
    config_done(&c);
}

TEST(config_says_which_sites_embed)
{
    good("{" SIGNED_IN ",\"page\":{\"embed\":[\"https://shop.example\",\"https://b.example\"]}}");
    explain();
    CHECK(strstr(explained, "page.embed https://shop.example\n           https://b.example\n"));
    config_done(&c);
}

TEST(config_default_is_explained)
{
    good("{}");
    explain();
    CHECK(strstr(
        explained,
        "the demo model (scripted, no key, no network), because the configuration names no model"));
    CHECK(!strstr(explained, "changed") && !strstr(explained, "warning"));
    config_done(&c);
}

/* --- the page and the example ----------------------------------------------------------------- */

static const char *root_file(const char *name)
{
    static char path[4096];
    /* Beside this file: test/unit/../../NAME, wherever the tests are started. */
    const char *slash = strrchr(__FILE__, '/');

    snprintf(path, sizeof path, "%s", name);
    if (access(path, R_OK) != 0)
        snprintf(path, sizeof path, "%.*s/../../%s", (int)(slash - __FILE__), __FILE__, name);
    if (access(path, R_OK) != 0) snprintf(path, sizeof path, "../%s", name);
    return path;
}

static bool mentions(struct str page, const char *key)
{
    char quoted[200];

    snprintf(quoted, sizeof quoted, "`%s`", key);
    return str_find(page, str_c(quoted)) >= 0;
}

TEST(config_every_key_is_in_the_documentation)
{
    static char page[200000];
    FILE       *f = fopen(root_file("docs/configuration.md"), "r");

    REQUIRE(f != NULL);
    size_t n = fread(page, 1, sizeof page, f);
    fclose(f);
    for (size_t i = 0; i < config_doc_count(); i++) {
        struct config_doc d = config_doc_at(i);
        if (str_ends(str_c(d.path), STR(".*"))) continue; /* a name, not a key */
        CHECK(mentions(str_n(page, n), d.path));
        if (!mentions(str_n(page, n), d.path)) printf("    %s\n", d.path);
        CHECK(d.help[0] && d.type[0]);
    }
}

TEST(config_example_is_good)
{
    quiet_env();
    CHECK(config_load(&c, root_file("parley.json"), &e) == OK);
    if (e.count) config_error_print(&e, stdout);
    CHECK(c.warnings.count == 0);
    if (!e.count) config_done(&c);
}

/* --- the look of the page --------------------------------------------------------------------- */

#define SVG "<svg xmlns='http://www.w3.org/2000/svg'/>"

static const char *look_with(const char *key, const char *value)
{
    static char text[600];
    snprintf(text, sizeof text, "{\n\"page\": {\"%s\": %s}}", key, value);
    return text;
}

static struct str look_told(void)
{
    static struct buf b;
    struct jsonw      w;
    buf_done(&b);
    buf_init(&b, 0);
    jsonw_init(&w, &b);
    config_look_write(&c, &w);
    REQUIRE(!b.err);
    return buf_view(&b);
}

TEST(config_page_is_parley_in_three_languages_when_nothing_is_said)
{
    good("{}");
    CHECK(str_is(look_told(), "{\"name\":\"parley\",\"logo\":false,\"model\":\"demo\","
                              "\"languages\":[\"en\",\"de\",\"ja\"]}"));
    config_done(&c);
}

TEST(config_page_is_told_as_it_was_written)
{
    char text[900];
    snprintf(text, sizeof text,
             "{\"page\":{\"name\":\" Acme \",\"logo\":\"%s\",\"accent\":\"#0b6e4f\",\"languages\":"
             "[\"de\"],\"greeting\":{\"de\":\"Hallo\"},\"starters\":[\"Eins\",{\"de\":\"Zwei\"}],"
             "\"footer\":\"Acme Ltd.\"}}",
             write_file("logo.svg", SVG));
    good(text);
    CHECK(str_is(look_told(),
                 "{\"name\":\"Acme\",\"logo\":true,\"accent\":[\"#0b6e4f\",\"#4c957e\"],"
                 "\"model\":\"demo\",\"languages\":[\"de\"],\"greeting\":{\"de\":\"Hallo\"},"
                 "\"footer\":\"Acme Ltd.\","
                 "\"starters\":[\"Eins\",{\"de\":\"Zwei\"}]}"));
    CHECK(str_is(c.look.logo, SVG) && strcmp(c.look.logo_type, "image/svg+xml") == 0);
    config_done(&c);
}

TEST(config_a_logo_is_known_by_its_content)
{
    good(look_with("logo", "\"data:image/png;base64,iVBORw0KGgoAAA==\""));
    CHECK(strcmp(c.look.logo_type, "image/png") == 0 && c.look.logo.len == 10);
    config_done(&c);
    CHECK(refused(look_with("logo", "\"data:image/png;base64,SGVsbG8=\""), 2, "is no picture"));
    CHECK(refused(look_with("logo", "\"data:image/png;base64,***=\""), 2, "not base64"));
    CHECK(refused(look_with("logo", "\"data:image/png,x\""), 2, "or the path of a file"));
    CHECK(refused(look_with("logo", "\"/nowhere/logo.svg\""), 2, "/nowhere/logo.svg: "));
    CHECK(refused(look_with("logo", "\"/tmp\""), 2, "directory"));
}

TEST(config_a_colour_that_cannot_be_read_is_refused_with_one_that_can)
{
    CHECK(refused(look_with("accent", "\"#ffcc00\""), 2,
                  "cannot be read on a light page (contrast 1.4:1, 4.5:1 is needed); the nearest "
                  "that can is \"#"));
    CHECK(refused(look_with("accent", "\"tomato\""), 2, "is no colour; write \"#1f5eff\""));
    CHECK(refused(look_with("accent", "\"#12345g\""), 2, "is no colour"));
    good(look_with("accent", "\"#000000\""));
    CHECK(c.look.accent == 0 && c.look.accent_dark > 0x707070);
    config_done(&c);
}

TEST(config_the_page_says_everything_in_every_language_it_speaks)
{
    CHECK(refused(look_with("languages", "[\"en\", \"fr\"]"), 2,
                  "does not speak \"fr\"; it speaks en, de and ja"));
    CHECK(refused(look_with("languages", "[]"), 2, "list at least one"));
    CHECK(refused(look_with("languages", "[\"en\", \"en\"]"), 2, "twice"));
    CHECK(refused(look_with("greeting", "{\"en\": \"Hi\", \"de\": \"Hallo\"}"), 2,
                  "says nothing in \"ja\"; add it, or take that language out"));
    CHECK(refused(
        look_with("greeting", "{\"en\": \"Hi\", \"de\": \"Hallo\", \"ja\": \"x\", \"fr\": \"y\"}"),
        2, "\"fr\" is none of the page's languages"));
    CHECK(refused(look_with("footer", "\" \""), 2, "is empty"));
    CHECK(refused(look_with("footer", "7"), 2, "must be text, or an object with one per language"));
    CHECK(refused(look_with("starters", "[7]"), 2, "write each as text"));
    CHECK(refused(look_with("starters", "[\"1\",\"2\",\"3\",\"4\",\"5\",\"6\",\"7\"]"), 2,
                  "are a list, not a start"));
    CHECK(refused(look_with("name", "\"\""), 2, "1 to 60 characters"));
}

TEST(config_the_page_is_told_what_its_model_costs)
{
    good("{\"model\":{\"provider\":\"openai\",\"model\":\"m-1\",\"api_key\":\"k\",\"prices\":{"
         "\"input\":2.5,\"output\":10,\"currency\":\"EUR\"}}}");
    CHECK(str_find(look_told(), STR("\"model\":\"m-1\",\"prices\":{\"input\":2.5,\"output\":10,"
                                    "\"currency\":\"EUR\"}")) > 0);
    config_done(&c);
    CHECK(refused("{\"model\":{\"provider\":\"demo\",\"prices\":{\"input\":-1}}}", 1,
                  "must be between 0 and 1000000, not -1"));
    CHECK(refused("{\"model\":{\"provider\":\"demo\",\"prices\":{\"currency\":\"euro\"}}}", 1,
                  "its three letters, such as \"EUR\""));
}

/* --- memory ----------------------------------------------------------------------------------- */

TEST(config_out_of_memory_is_an_error_like_others)
{
    static const char TEXT[] =
        "{\"model\":[\"a\",\"demo\"],\"models\":{\"a\":{\"provider\":\"openai\",\"api_key\":\"k\","
        "\"headers\":{\"X\":\"y\"}}},"
        "\"tools\":{\"t\":{\"exec\":{\"command\":[\"x\"],\"env\":{\"A\":\"b\"}}}},\"mcpServers\":{"
        "\"m\":{\"command\":\"c\"}},"
        "\"pages\":{\"p\":{\"model\":[\"demo\"],\"payloads\":{\"a\":{}}}},\"auth\":{\"keys\":[{"
        "\"sha256\":\"" FOO "\",\"principal\":\"a\"}]}}";
    enum err err = ERR_NOMEM;
    int      n = 0;

    quiet_env();
    for (; err != OK && n < 10000; n++) {
        mem_fail_at(n);
        err = load(TEXT);
        mem_fail_at(-1);
        if (err != OK && err != ERR_NOMEM) break;
    }
    CHECK(err == OK && n > 1);
    if (err == OK) config_done(&c);
    else config_error_print(&e, stdout);
}
