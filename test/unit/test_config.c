/* test_config.c -- what a configuration means, what is said about a bad one, and how it is
 * explained. Models, tools, people and the page have files of their own: test_config_NAME.c. */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config_help.h"

/* --- defaults --------------------------------------------------------------------- */

TEST(config_without_a_file_is_the_demo_on_loopback)
{
    config_good("{}");
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
    config_good("{}");
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
    config_good("{\"pages\":{\"articles\":{\"tools\":[\"search_articles\"]}}}");
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
    config_good(
        "{\"listen\":\"[::1]:9000\",\"store\":\"sqlite:x.db\",\"log\":\"debug\",\"system\":\"Be "
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
    config_good(
        "{\"approvals\":{\"expires\":0.5},\"tools\":{\"a\":{\"description\":\"d\",\"client\":true},"
        "\"b\":{\"description\":\"d\",\"client\":true,\"expires\":0.001},\"c\":{\"description\":"
        "\"d\",\"client\":true,\"expires\":1.9},"
        "\"d\":{\"description\":\"d\",\"client\":true,\"expires\":0}}}");
    CHECK(c.expires_s == 1 && c.tools[0].expires_s == 1 && c.tools[1].expires_s == 1 &&
          c.tools[2].expires_s == 2 && c.tools[3].expires_s == 0);
    config_done(&c);
    config_good("{\"approvals\":{\"expires\":1.9}}");
    CHECK(c.expires_s == 2);
    config_done(&c);
}

TEST(config_store_is_a_path_or_says_what_is_possible)
{
    static const char *const GOOD[] = { "sqlite:x.db", "a:b.db", "/tmp/x://y.db",
                                        "sqlite::memory:", "postgresql://ann@db/parley" };

    CHECK(config_refused("{\n\"store\":\"mysql://u:secret@localhost\"}", 2, "sqlite:PATH"));
    CHECK(!strstr(e.problem[0].text, "secret"));
    CHECK(config_refused("{\"store\":\"SQLite://x.db\"}", 1, "\"SQLite://\""));
    for (size_t i = 0; i < sizeof GOOD / sizeof *GOOD; i++) {
        struct config_flags f = { .store = GOOD[i] };
        CHECK(config_load_text(&c, STR("{}"), "t.json", &f, &e) == OK);
        config_done(&c);
    }
    struct config_flags f = { .store = "redis://localhost" };
    CHECK(config_load_text(&c, STR("{}"), "t.json", &f, &e) == ERR_SYNTAX &&
          config_says(0, "\"redis://\""));
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
    config_good("{\"store\":\"sqlite:/data/x.db\"}");
    CHECK_STR(c.store_file, "/data/x.db");
    CHECK_STR(c.work, "/data/x.db.work");
    config_done(&c);
    config_good("{\"work\":\"/scratch\"}");
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
    CHECK(config_load_text(&c, STR("{}"), "t.json", &f, &e) != OK && config_says(0, "--listen"));
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
    CHECK(config_refused("{\n\"listen\":\"0.0.0.0:8000\"}", 2, "add \"auth\""));
    config_good(
        "{\"listen\":\"0.0.0.0:8000\",\"auth\":{\"keys\":[{\"principal\":\"ada\",\"sha256\":"
        "\"2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae\"}]}}");
    CHECK(config_is_public(&c) && config_has_auth(&c) && c.auth.keys[0].sha256[0] == 0x2c &&
          c.auth.keys[0].roles == ROLE_USER);
    config_done(&c);
}

/* --- mistakes ---------------------------------------------------------------------------- */

TEST(config_says_where_a_brace_is_missing)
{
    CHECK(config_refused("{\n \"listen\": \"127.0.0.1:1\"\n", 3, "closing '}'"));
    CHECK(config_refused("", 1, "column 1"));
    CHECK(config_refused("{\n\"log\": \"info\",\n}", 3, "comma"));
    CHECK(config_refused("{\n// listen here\n}", 2, "no comments"));
    CHECK(config_refused("{ 'log': 1 }", 1, "double quotes"));
    CHECK(config_refused("[]", 1, "one object"));
}

TEST(config_signing_in_at_a_provider_wants_https_a_client_and_openid)
{
    CHECK(config_refused("{\"auth\":{\"oidc\":{\"client_id\":\"x\"}}}", 1, "needs \"issuer\""));
    CHECK(config_refused("{\"auth\":{\"oidc\":{\"issuer\":\"https://id.example\"}}}", 1,
                         "needs \"client_id\""));
    CHECK(config_refused(
        "{\"auth\":{\"oidc\":{\"issuer\":\"http://id.example\",\"client_id\":\"x\"}}}", 1,
        "must begin with https://"));
    CHECK(
        config_refused("{\"auth\":{\"oidc\":{\"issuer\":\"https://id.example\",\"client_id\":\"x\","
                       "\"scope\":\"profile\"}}}",
                       1, "the word openid"));
}

TEST(config_says_which_key_was_meant)
{
    CHECK(config_refused("{\n\n\"lisen\": \"127.0.0.1:1\"}", 3,
                         "unknown key \"lisen\" (did you mean \"listen\"?)"));
    CHECK(config_refused("{\"limits\":{\"conections\":5}}", 1, "did you mean \"connections\""));
    CHECK(config_refused("{\"token_ms\": 5}", 1, "did you mean \"demo.token_ms\""));
    CHECK(config_refused("{\"limits.body\": 5000}", 1, "did you mean \"limits.body\""));
    CHECK(config_refused("{\"approvals\":{\"colour\":1}}", 1,
                         "on_new_message, who, context, expires"));
    CHECK(config_refused("{\"model\":{\"provider\":\"demo\",\"modle\":\"x\"}}", 1,
                         "did you mean \"model\""));
    CHECK(config_refused("{\"*\":1}", 1, "unknown key"));
}

TEST(config_refuses_wrong_types_and_says_the_right_one)
{
    CHECK(config_refused("{\n\"listen\": 8000}", 2, "\"listen\" must be text, not a number"));
    CHECK(config_refused("{\"max_iterations\":\"5\"}", 1, "without quotes"));
    CHECK(config_refused("{\"demo\":{\"tools\":\"yes\"}}", 1, "true or false"));
    CHECK(config_refused("{\"limits\":[]}", 1, "must be an object"));
    CHECK(config_refused("{\"origins\":[\"https://a.localhost\",5]}", 1, "item 2 is a number"));
    CHECK(config_refused("{\"system\":null}", 1, "not null"));
    CHECK(config_refused("{\"log\":\"inf\"}", 1, "did you mean \"info\""));
    CHECK(config_refused("{\"auth\":{\"keys\":[1]}}", 1, "list of objects"));
}

TEST(config_refuses_numbers_out_of_range)
{
    CHECK(config_refused("{\"limits\":{\"body\":-1}}", 1, "not -1"));
    CHECK(config_refused("{\"max_iterations\":0}", 1, "between 1 and 1000"));
    CHECK(config_refused("{\"max_iterations\":2.5}", 1, "whole number"));
    CHECK(config_refused("{\"max_iterations\":1e99}", 1, "whole number"));
    CHECK(config_refused("{\"limits\":{\"idle_seconds\":-0.5}}", 1, "seconds, not -0.5"));
    CHECK(config_refused("{\"limits\":{\"runs\":99999999999999999999}}", 1, "limits.runs"));
    CHECK(config_refused("{\"listen\":\"127.0.0.1:70000\"}", 1, "0 to 65535"));
    CHECK(config_refused("{\"limits\":{\"body\":2000000,\"bodies\":1000000}}", 1, "larger than"));
}

TEST(config_refuses_a_key_that_stands_twice)
{
    CHECK(config_refused("{\"log\":\"info\",\n\"log\":\"warn\"}", 2, "take one of them out"));
}

TEST(config_tells_all_mistakes_at_once)
{
    quiet_env();
    CHECK(config_read(
              "{\"lisen\":1,\n\"log\":5,\n\"limits\":{\"body\":-1},\n\"models\":{},\n\"pages\":{"
              "\"p\":{\"tools\":[\"nope\"]}}}") != OK);
    CHECK(e.count == 5 && e.more == 0);
    CHECK(config_says(1, "lisen") && config_says(2, "log") && config_says(3, "limits.body") &&
          config_says(4, "no models") && config_says(5, "no tool is called \"nope\""));
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
    CHECK(config_read("{\"a\\u001b[2J\\u009b\\n\":1}") != OK);
    CHECK(!strpbrk(e.problem[0].text, "\033\n\x9b"));
}

/* --- the file ------------------------------------------------------------------------------ */

static enum err load_file(const char *path)
{
    return config_load_flags(&c, &(struct config_flags){ .path = path }, &e);
}

TEST(config_file_that_cannot_be_read_is_named)
{
    quiet_env();
    CHECK(load_file(config_path("none.json")) == ERR_NOT_FOUND && config_says(0, "No such file"));
    CHECK(strstr(e.file, "none.json"));
    CHECK(load_file(test_dir()) == ERR_IO && config_says(0, "folder"));
    const char *path = config_file("locked.json", "{}");
    CHECK(chmod(path, 0) == 0);
    if (geteuid() != 0) CHECK(load_file(path) == ERR_IO && config_says(0, "ermission"));
}

TEST(config_file_is_read_with_its_name_in_errors)
{
    quiet_env();
    CHECK(load_file(config_file("ok.json", "\xEF\xBB\xBF{\"max_iterations\": 3}\n")) == OK);
    CHECK(c.max_iterations == 3 && str_ends(c.path, STR("ok.json")));
    config_done(&c);
    CHECK(load_file(config_file("bad.json", "{\n\"x\": 1}")) == ERR_SYNTAX);
    CHECK(strstr(e.file, "bad.json") && e.problem[0].line == 2);
}

TEST(config_text_that_is_not_utf8_is_refused)
{
    CHECK(config_refused("{\"system\":\"\xff\"}", 1, "UTF-8"));
    CHECK(config_refused("{\"system\":\"a\\u0000b\"}", 1, "NUL"));
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
    config_good(
        "{\"model\":{\"provider\":\"openai\",\"model\":\"m-1\",\"api_key\":\"sk-secret\",\"base_"
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
    config_good("{" SIGNED_IN
                ",\"page\":{\"embed\":[\"https://shop.example\",\"https://b.example\"]}}");
    explain();
    CHECK(strstr(explained, "page.embed https://shop.example\n           https://b.example\n"));
    config_done(&c);
}

TEST(config_default_is_explained)
{
    config_good("{}");
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

static struct str documentation(void)
{
    static char page[200000];
    FILE       *f = fopen(root_file("docs/configuration.md"), "r");
    size_t      n = f ? fread(page, 1, sizeof page, f) : 0;

    if (f) fclose(f);
    return str_n(page, n);
}

TEST(config_every_key_is_in_the_documentation)
{
    struct str page = documentation();

    for (size_t i = 0; i < config_doc_count(); i++) {
        struct config_doc d = config_doc_at(i);
        if (str_ends(str_c(d.path), STR(".*"))) continue; /* a name, not a key */
        CHECK(mentions(page, d.path));
        if (!mentions(page, d.path)) printf("    %s\n", d.path);
        CHECK(d.help[0] && d.type[0]);
    }
}

/* The column of the default in "| `path` | type | default | words |"; STR_NONE: it has no row. */
static struct str documented_default(struct str page, const char *path)
{
    char       head[200];
    struct str column = STR_NONE;

    snprintf(head, sizeof head, "\n| `%s` |", path);
    ptrdiff_t at = str_find(page, str_c(head));
    if (at < 0) return STR_NONE;
    struct str rest = str_from(page, (size_t)at + strlen(head));
    for (int i = 0; i < 2; i++)
        if (!str_split(&rest, '|', &column)) return STR_NONE;
    return str_trim(column);
}

/* Values stand in `backticks` there, words about them in (parentheses) in the table. */
static void bare(struct str text, char *out, size_t room)
{
    size_t n = 0;
    bool   words = text.len > 1 && text.ptr[0] == '(';

    for (size_t i = words; i + words < text.len && n + 1 < room; i++)
        if (text.ptr[i] != '`') out[n++] = text.ptr[i];
    out[n] = '\0';
}

TEST(config_the_documented_defaults_are_the_ones_that_are_used)
{
    struct str page = documentation();
    char       told[200], used[200];
    int        rows = 0;

    for (size_t i = 0; i < config_doc_count(); i++) {
        struct config_doc d = config_doc_at(i);
        struct str        column = documented_default(page, d.path);
        if (!column.ptr) continue;
        bare(column, told, sizeof told);
        bare(str_c(d.otherwise), used, sizeof used);
        CHECK_STR(str_c(told), used);
        rows++;
    }
    CHECK(rows > 250);
}

TEST(config_example_is_good)
{
    quiet_env();
    CHECK(load_file(root_file("parley.json")) == OK);
    if (e.count) config_error_print(&e, stdout);
    CHECK(c.warnings.count == 0);
    if (!e.count) config_done(&c);
}

/* --- nodes ------------------------------------------------------------------------------------ */

static const char *node_at(const char *url)
{
    static char text[400];
    snprintf(text, sizeof text,
             "{\"store\":\"postgresql://p@db/p\",\"cluster\":{\"key\":\"" FOO
             "\",\n\"url\":\"%s\"}}",
             url);
    return text;
}

static bool node_is(const char *url, const char *plain)
{
    config_good(node_at(url));
    bool same = str_is(c.cluster_url, plain);
    if (!same) printf("%s: " STR_FMT "\n", url, STR_ARG(c.cluster_url));
    config_done(&c);
    return same;
}

TEST(config_a_node_is_the_same_however_its_url_is_written)
{
    CHECK(node_is("http://10.0.0.11:8000", "http://10.0.0.11:8000"));
    CHECK(node_is("http://10.0.0.11:8000/", "http://10.0.0.11:8000"));
    CHECK(node_is("HTTP://Node-1.Internal:8000/", "http://node-1.internal:8000"));
    CHECK(node_is("http://node-1:80/", "http://node-1"));
    CHECK(node_is("http://[FD00:0::01]:8000", "http://[fd00::1]:8000"));
}

TEST(config_a_url_by_which_no_node_can_be_reached_is_refused)
{
    static const char *const others[] = { "https://node-1",  "node-1:8000",
                                          "http://node-1/x", "http://",
                                          "http://node-1:0", "http://[node-1]:8000" };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        CHECK(config_refused(node_at(others[i]), 2, "must be like \"http://10.0.0.5:8000\""));
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
        err = config_read(TEXT);
        mem_fail_at(-1);
        if (err != OK && err != ERR_NOMEM) break;
    }
    CHECK(err == OK && n > 1);
    if (err == OK) config_done(&c);
    else config_error_print(&e, stdout);
}
