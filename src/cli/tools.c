/* tools.c -- `parley tools`: every tool there is, and running one by hand.
 *
 * Tool output is untrusted: what is printed has its control characters made
 * visible, so that it cannot move the cursor or colour the terminal.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/glyph.h"
#include "base/id.h"
#include "base/utf8.h"
#include "cli/assembly.h"
#include "cli/cli.h"
#include "cli/trust.h"
#include "run/caller.h"
#include "run/intent.h"
#include "run/rules.h"
#include "tool/policy.h"
#include "tool/schema.h"

#define MCP_WAIT_MS 20000 /* servers may take this long to list their tools */

struct bench {
    struct loop       loop;
    struct config     config;
    struct assembly   assembly;
    struct loop_timer poll;
    unsigned          waited_ms;
    struct tool_job   job;
    enum tool_outcome outcome;
    bool              finished;
};

/* What cannot be seen becomes '.', except newline and tab. */
static void print_safe(FILE *out, struct str s)
{
    while (s.len) {
        uint32_t cp;
        unsigned n = utf8_decode(s, &cp);
        bool     bad = glyph_hidden(cp) && cp != '\n' && cp != '\t';
        if (bad) fputc('.', out);
        else fwrite(s.ptr, 1, n, out);
        s = str_from(s, n);
    }
}

/* --- waiting for MCP servers ------------------------------------------------------------------ */

static bool all_settled(const struct bench *b)
{
    for (size_t i = 0; i < b->assembly.mcp_count; i++)
        if (!mcp_settled(b->assembly.mcp[i])) return false;
    return true;
}

static void on_poll(struct loop_timer *t)
{
    struct bench *b = LIST_ITEM(t, struct bench, poll);
    b->waited_ms += 50;
    if (all_settled(b) || b->waited_ms >= MCP_WAIT_MS) loop_stop(&b->loop);
    else loop_timer_set(t, 50);
}

static void wait_for_servers(struct bench *b)
{
    if (all_settled(b)) return;
    loop_timer_set(&b->poll, 50);
    loop_run(&b->loop);
}

/* --- listing ---------------------------------------------------------------------------------- */

static void list_tool(const struct tool *t)
{
    printf(STR_FMT "  (" STR_FMT "%s)\n  ", STR_ARG(t->name), STR_ARG(t->source),
           t->where == TOOL_CLIENT ? ", runs in the browser" : "");
    print_safe(stdout, t->description);
    printf("\n  confirm " STR_FMT "%s" STR_FMT "%s, timeout %g s\n  input " STR_FMT "\n",
           STR_ARG(t->confirm_text), t->risk.len ? ", risk " : "", STR_ARG(t->risk),
           t->idempotent ? ", idempotent" : "", t->timeout_ms / 1000.0, STR_ARG(t->schema_text));
}

static int list(struct bench *b)
{
    struct buf text;
    for (size_t i = 0; i < b->assembly.registry.count; i++)
        if (!b->assembly.registry.tools[i]->reply) list_tool(b->assembly.registry.tools[i]);
    buf_init(&text, 0);
    for (size_t i = 0; i < b->assembly.mcp_count; i++) {
        buf_clear(&text);
        mcp_state_text(b->assembly.mcp[i], &text);
        printf("MCP server " STR_FMT ": " STR_FMT "\n", STR_ARG(mcp_alias(b->assembly.mcp[i])),
               STR_ARG(buf_view(&text)));
    }
    buf_clear(&text);
    assembly_isolation(&b->assembly, &text);
    if (text.len) printf("Isolation: " STR_FMT "\n", STR_ARG(buf_view(&text)));
    buf_done(&text);
    return 0;
}

/* --- calling ---------------------------------------------------------------------------------- */

static void on_progress(struct tool_job *j, const struct tool_progress *p)
{
    (void)j;
    if (p->progress >= 0) fprintf(stderr, "%3d%% ", (int)(p->progress * 100));
    print_safe(stderr, p->stage);
    fputs(p->stage.len ? ": " : "", stderr);
    print_safe(stderr, p->message);
    fputc('\n', stderr);
}

static bool ask(const char *question)
{
    char line[16] = "";
    fprintf(stderr, "%s [yes/no] ", question);
    return fgets(line, sizeof line, stdin) && strcmp(line, "yes\n") == 0;
}

/* STR_NONE: no. */
static struct str answer_of(struct str message, struct str schema)
{
    static char line[4096];
    print_safe(stderr, message);
    fputs("\nIt wants an answer of this form: ", stderr);
    print_safe(stderr, schema);
    fputs("\nJSON (empty: decline): ", stderr);
    return fgets(line, sizeof line, stdin) && line[0] == '{' ? str_trim(str_c(line)) : STR_NONE;
}

static void on_ask(struct tool_job *j, struct str message, struct str schema)
{
    struct str content = answer_of(message, schema);
    j->tool->ops->answer(j, content.ptr != NULL, content);
}

/* It rests until there is an answer, and is started again with it. */
static bool goes_on(struct bench *b, const struct tool_result *r)
{
    struct tool_job *j = &b->job;
    j->content = arena_dup(&b->assembly.arena, answer_of(r->text, r->value));
    j->accepted = j->content.ptr != NULL;
    j->resume = arena_dup(&b->assembly.arena, r->resume);
    return j->resume.ptr && j->tool->ops->start(j->tool, j) == OK;
}

static void on_finish(struct tool_job *j, const struct tool_result *r)
{
    static const char *const WORDS[] = { "", "failed: ", "cancelled: ", "outcome unknown: ",
                                         "it could not go on: " };
    struct bench            *b = LIST_ITEM(j, struct bench, job);
    if (r->outcome == TOOL_ASKS && goes_on(b, r)) return;
    b->finished = true;
    b->outcome = r->outcome;
    fputs(WORDS[r->outcome], r->outcome == TOOL_DONE ? stdout : stderr);
    print_safe(r->outcome == TOOL_DONE ? stdout : stderr,
               r->value.len && r->outcome == TOOL_DONE ? r->value : r->text);
    fputc('\n', r->outcome == TOOL_DONE ? stdout : stderr);
    if (r->note.len) {
        fputs("stderr: ", stderr);
        print_safe(stderr, r->note);
        fputc('\n', stderr);
    }
    loop_stop(&b->loop);
}

/* On whose behalf: --as NAME, with the roles and claims of their key where they have one in the
 * configuration. What a token would say of them, --claims says. */
static struct caller somebody(struct bench *b, const struct cli_line *l)
{
    const struct auth_setup *a = &b->config.auth;
    struct caller            who = { .principal = l->as ? str_c(l->as) : STR("local"),
                                     .roles = l->as ? STR("user")
                                                    : config_every_role(&b->config, &b->assembly.arena),
                                     .at_ms = clock_wall_ms() };
    for (size_t i = 0; l->as && i < a->key_count; i++) {
        if (!str_is(a->keys[i].principal, l->as)) continue;
        who.roles = a->keys[i].words;
        who.claims = a->keys[i].claims;
    }
    if (l->claims) who.claims = str_c(l->claims);
    return who;
}

/* The policy is obeyed here too: a person is asked, and only "yes" is a yes. */
static bool allowed(struct bench *k, const struct tool *t, const struct jv *args,
                    const struct caller *who)
{
    struct buf b;
    if (!policy_asks(t, args, NULL)) return true;
    buf_init(&b, 0);
    intent_ask(&b, t->name, t->ask, args, caller_known(&k->assembly.arena, who, t->schema));
    print_safe(stderr, buf_view(&b));
    buf_done(&b);
    fputs("\n  ", stderr);
    print_safe(stderr, args->raw);
    fputc('\n', stderr);
    return ask("Run it?");
}

/* What only a server can hold to: who else is asked, and what was done already. NULL: nothing. */
static const char *needs_server(const struct bench *b, const struct tool *t, const struct jv *args)
{
    if (t->effect.len)
        return "it has an \"effect\", and only a server knows what was done already; let a "
               "conversation or a program call it there: ";
    if (policy_asks(t, args, NULL) &&
        !rules_owners(b->config.rules, t->name, args, !b->config.approvers))
        return "others have to say yes to this, and only a server can ask them; let a conversation "
               "or a program call it there: ";
    return NULL;
}

static int complain(const char *what, struct str detail)
{
    fprintf(stderr, "parley: %s", what);
    print_safe(stderr, detail);
    fputc('\n', stderr);
    return 1;
}

static int call(struct bench *b, const struct cli_line *l)
{
    const char   *name = l->words[1], *input = l->words[2];
    struct caller who = somebody(b, l);
    struct tool  *t = registry_find(&b->assembly.registry, str_c(name));
    struct jv    *args;
    struct buf    why;
    if (!t) return complain("there is no tool named ", str_c(name));
    if (!caller_may_use(&who, t))
        return complain("this tool is for other roles than theirs: ", t->name);
    if (!t->ops) return complain("this tool runs in the browser: ", t->name);
    if (json_parse(&b->assembly.arena, str_c(input), &args, NULL) != OK ||
        args->type != JSON_OBJECT)
        return complain("the input must be a JSON object: ", str_c(input));
    buf_init(&why, 4096);
    bool fits = schema_check(t->schema, args, NULL, &why) == OK;
    if (!fits) complain("the input does not fit the schema: ", buf_view(&why));
    buf_done(&why);
    if (!fits) return 1;
    const char *barred = needs_server(b, t, args);
    if (barred) return complain(barred, t->name);
    if (!allowed(b, t, args, &who)) return complain("not run.", STR(""));
    b->job = (struct tool_job){ .tool = t,
                                .call_id = id_new(&b->assembly.arena, "call-"),
                                .thread = STR("cli"),
                                .owner = who.principal,
                                .run = STR("cli"),
                                .principal = who.principal,
                                .claims = caller_claims(&b->assembly.arena, &who),
                                .input = str_c(input),
                                .args = args,
                                .progress = on_progress,
                                .finish = on_finish,
                                .ask = on_ask };
    if (t->ops->start(t, &b->job) != OK) return complain("it could not be started: ", t->name);
    if (!b->finished) loop_run(&b->loop);
    return b->outcome == TOOL_DONE ? 0 : 1;
}

static void on_freed(void *ctx)
{
    loop_stop(ctx);
}

/* --- accept ----------------------------------------------------------------------------------- */

static size_t keep_answer(char *bytes, size_t size, size_t count, void *ctx)
{
    buf_add(ctx, bytes, size * count);
    return size * count;
}

/* Told to the server that runs with this configuration: it has the store, and the tool as its MCP
 * server says it now. */
static int accept_tool(struct bench *b, const char *name)
{
    CURL              *h = trust_curl();
    const char        *key = getenv("PARLEY_KEY");
    struct arena      *a = &b->config.arena;
    struct curl_slist *headers = curl_slist_append(NULL, "Content-Type: application/json");
    char              *path = h ? curl_easy_escape(h, name, 0) : NULL;
    struct buf         answer;
    long               status = 0;
    struct str         at = config_reach(&b->config, a);
    struct str url = arena_printf(a, STR_FMT "/v1/tools/%s/accept", STR_ARG(at), path ? path : "");
    struct str line = arena_printf(a, "Authorization: Bearer %s", key ? key : "");
    if (!h || !path || !at.ptr || !url.ptr || !line.ptr) return complain("out of memory.", STR(""));
    if (key && *key) headers = curl_slist_append(headers, line.ptr);
    buf_init(&answer, 64 * 1024);
    curl_easy_setopt(h, CURLOPT_URL, url.ptr);
    curl_easy_setopt(h, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(h, CURLOPT_COPYPOSTFIELDS, "{}");
    curl_easy_setopt(h, CURLOPT_WRITEFUNCTION, keep_answer);
    curl_easy_setopt(h, CURLOPT_WRITEDATA, &answer);
    curl_easy_setopt(h, CURLOPT_TIMEOUT_MS, 10000L);
    CURLcode e = curl_easy_perform(h);
    curl_easy_getinfo(h, CURLINFO_RESPONSE_CODE, &status);
    curl_slist_free_all(headers);
    curl_free(path);
    curl_easy_cleanup(h);
    if (e) complain("the server is to run while a tool is accepted; it does not answer at ", url);
    else if (status == 200) puts("accepted: its policy holds again");
    else complain("not accepted: ", buf_view(&answer));
    buf_done(&answer);
    return e || status != 200;
}

static bool is_object(const char *json)
{
    struct arena a;
    struct jv   *v = NULL;
    arena_init(&a, 0);
    bool yes = json_parse(&a, str_c(json), &v, NULL) == OK && v->type == JSON_OBJECT;
    arena_done(&a);
    return yes;
}

/* The words are "call NAME {...}", "accept NAME", or there are none. */
static bool understood(const struct cli_line *l)
{
    const char *wrong = NULL;
    bool        calls = l->count == 3 && strcmp(l->words[0], "call") == 0;
    bool        accepts = l->count == 2 && strcmp(l->words[0], "accept") == 0;
    if (l->count && !calls && !accepts)
        wrong = "say parley tools, parley tools accept NAME, or parley tools call NAME '{...}' "
                "with a JSON object.";
    else if ((l->as || l->claims) && !calls) wrong = "--as and --claims go with parley tools call.";
    else if (l->as && !config_principal_fits(str_c(l->as)))
        wrong = "--as takes a name of at most 128 bytes, without control characters.";
    else if (l->claims && !is_object(l->claims))
        wrong = "--claims takes a JSON object, such as '{\"email\":\"ada@example.org\"}'.";
    if (wrong) fprintf(stderr, "parley: %s\n", wrong);
    return !wrong;
}

int cli_tools(int argc, char **argv)
{
    static struct bench b;
    struct cli_line     line;
    struct config_error e = { 0 };
    if (!cli_read(argc, argv, "clw", 3, &line) || !understood(&line)) return 2;
    if (config_load_flags(&b.config, &line.flags, &e)) {
        config_error_print(&e, stderr);
        return 1;
    }
    if (line.count == 2) {
        trust_own(&b.config);
        int status = accept_tool(&b, line.words[1]);
        config_done(&b.config);
        return status;
    }
    if (loop_init(&b.loop)) return complain("out of memory.", STR(""));
    if (!assembly_models(&b.assembly, &b.config, &b.loop, &e) || !assembly_tools(&b.assembly, &e)) {
        config_error_print(&e, stderr);
        return 1;
    }
    loop_timer_init(&b.loop, &b.poll, on_poll);
    wait_for_servers(&b);
    int status = line.count ? call(&b, &line) : list(&b);
    loop_timer_close(&b.poll, NULL);
    assembly_free(&b.assembly, on_freed, &b.loop);
    loop_run(&b.loop);
    loop_done(&b.loop);
    config_done(&b.config);
    return status;
}
