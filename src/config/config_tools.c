/* config_tools.c -- tools, MCP servers, the demo, pages and actions.
 *
 * Tools and servers are checked here as far as the file alone tells (keys, types,
 * policy, secrets) and kept as JSON for their runners. Names that pages and
 * actions mention are looked up here too, unless an MCP server could still bring them.
 */
#include "config/config_private.h"
#include "model/provider.h"
#include "tool/demo.h"
#include "tool/egress.h"
#include "tool/policy.h"
#include "tool/replytools.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

static bool is_in(const char *const *list, size_t count, struct str name)
{
    for (size_t i = 0; i < count; i++)
        if (str_is(name, list[i])) return true;
    return false;
}

static bool is_demo_tool(struct str name)
{
    for (size_t i = 0; demo_tool_name(i); i++)
        if (str_is(name, demo_tool_name(i))) return true;
    return false;
}

/* Clients of the AI SDK doors take a call of this name for our question to a person. */
#define RESERVED "adk_request_confirmation"

/* Also when only the name that models see is that: '.' becomes '_' in it. */
static bool is_reserved(struct str name)
{
    if (name.len != sizeof RESERVED - 1) return false;
    for (size_t i = 0; i < name.len; i++)
        if (name.ptr[i] != RESERVED[i] && !(name.ptr[i] == '.' && RESERVED[i] == '_')) return false;
    return true;
}

/* --- tools ------------------------------------------------------------------------ */

/* As people see them; the registry makes the models' names of them. */
static bool good_name(struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        char ch = s.ptr[i];
        bool ok = (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') ||
                  (ch >= '0' && ch <= '9') || ch == '_' || ch == '.' || ch == '-';
        if (!ok) return false;
    }
    return s.len > 0 && s.len <= 128;
}

static void check_policy(struct config_build *b, const struct jv *v)
{
    struct tool scratch = { .name = STR("") };
    const char *why = "it is not a policy";

    if (!v || (v->type != JSON_STRING && v->type != JSON_OBJECT)) return;
    if (policy_read(&scratch, v, &why) != OK) cfg_bad(b, v, "\"confirm\": %s", why);
}

static void check_exec(struct config_build *b, const struct jv *tool, const struct jv *run)
{
    const struct jv *command = jv_get(run, "command");

    if (!command || (command->type == JSON_ARRAY && command->count == 0))
        cfg_bad(b, run ? run : tool,
                "\"exec\" of tool \"" STR_FMT "\" needs \"command\": [\"program\", \"argument\"]",
                STR_ARG(tool->key));
    else if (jv_is(jv_at(command, 0), JSON_STRING) && jv_at(command, 0)->str.len == 0)
        cfg_bad(b, command,
                "\"command\" of tool \"" STR_FMT
                "\" begins with an empty name; write the program's",
                STR_ARG(tool->key));
}

static void resolve_headers(struct config_build *b, struct jv *headers)
{
    struct config_header h;

    if (!jv_is(headers, JSON_OBJECT)) return;
    for (struct jv *v = headers->child; v; v = v->next)
        if (cfg_header(b, v, &h)) v->str = h.value;
}

/* A name in "allow" is compared with the address's own host and nothing else. */
static void check_allow(struct config_build *b, const struct jv *allow, struct str url)
{
    struct str host = egress_host(&b->c->arena, url);

    if (jv_is(allow, JSON_ARRAY))
        JV_EACH (v, allow) {
            struct jv     one = { .type = JSON_ARRAY,
                                  .count = 1,
                                  .child =
                                      &(struct jv){ .type = v->type, .str = v->str, .raw = v->raw } };
            struct egress rules;
            struct buf    why;

            if (v->type != JSON_STRING) continue;
            buf_init(&why, 1024);
            if (egress_read(&b->c->arena, &rules, &one, &why) != OK)
                cfg_bad(b, v, STR_FMT "; write \"10.0.0.7\" or \"10.0.0.0/8\"",
                        STR_ARG(buf_view(&why)));
            else if (rules.rules[0].host.ptr && host.ptr &&
                     !str_eq_nocase(rules.rules[0].host, host))
                cfg_bad(b, v,
                        "\"" STR_FMT
                        "\" in \"allow\" is never asked for: the host of \"url\" is \"" STR_FMT
                        "\"; write that one, an address or a range such as \"10.0.0.0/8\"",
                        STR_ARG(str_cut(v->str, 60)), STR_ARG(str_cut(host, 60)));
            buf_done(&why);
        }
}

static void check_http(struct config_build *b, const struct jv *tool, const struct jv *run)
{
    struct str url;

    if (jv_is(jv_get(run, "url"), JSON_STRING))
        check_allow(b, jv_get(run, "allow"), jv_get(run, "url")->str);

    if (!jv_get(run, "url"))
        cfg_bad(b, run, "\"http\" of tool \"" STR_FMT "\" needs \"url\"", STR_ARG(tool->key));
    else if (cfg_url(b, jv_get(run, "url"), "\"url\"", &url) && !cfg_url_is_loopback(url) &&
             str_starts(url, STR("http://")))
        cfg_warn(b, jv_get(run, "url"),
                 "tool \"" STR_FMT
                 "\" is called unencrypted; https:// keeps arguments and headers private",
                 STR_ARG(tool->key));
}

/* The members of subtrees are replaced by what they refer to: the tree is ours. */
static struct jv *mutable(const struct jv *v)
{
    return (struct jv *)(uintptr_t)v;
}

/* The members of a runner; `def` has its name. */
static void check_run(struct config_build *b, const struct jv *def, const struct jv *exec,
                      const struct jv *http)
{
    if (exec) check_exec(b, def, exec);
    if (exec) cfg_secret_members(b, mutable(jv_get(exec, "env")), "env");
    if (http) check_http(b, def, http);
    if (http) resolve_headers(b, mutable(jv_get(http, "headers")));
}

/* `def` has the name of the tool that it tells of. */
static struct config_check read_check(struct config_build *b, const struct jv *def,
                                      const struct jv *check)
{
    const struct jv    *exec = jv_get(check, "exec"), *http = jv_get(check, "http");
    struct config_check c = {
        .tool = def->key,
        .exec = exec != NULL,
        .timeout_ms = cfg_ms("tools.*.check.timeout", jv_get(check, "timeout")),
        .tries = (unsigned)cfg_int("tools.*.check.tries", jv_get(check, "tries")),
        .pause_ms = cfg_ms("tools.*.check.pause", jv_get(check, "pause")),
    };

    if (!jv_is(check, JSON_OBJECT)) return c;
    if ((exec != NULL) + (http != NULL) != 1)
        cfg_bad(b, check, "\"check\" of \"" STR_FMT "\" needs exactly one of \"exec\" and \"http\"",
                STR_ARG(def->key));
    else check_run(b, def, exec, http);
    c.run = exec ? exec : http;
    return c;
}

static bool read_runner(struct config_build *b, const struct jv *def, struct config_tool *t)
{
    const struct jv *exec = jv_get(def, "exec"), *http = jv_get(def, "http"),
                    *client = jv_get(def, "client");

    if ((exec != NULL) + (http != NULL) + (client != NULL) != 1) {
        cfg_bad(b, def,
                "tool \"" STR_FMT "\" needs exactly one of \"exec\", \"http\" and \"client\"",
                STR_ARG(def->key));
        return false;
    }
    t->runner = exec ? RUNNER_EXEC : http ? RUNNER_HTTP : RUNNER_CLIENT;
    t->run = exec ? exec : http;
    cfg_read_terms(b, def, jv_get(http, "headers"), &t->terms);
    if (t->terms.identity && !http)
        cfg_bad(b, t->terms.identity,
                "\"identity\" is for \"http\": a program of ours can believe its environment");
    if (client && t->terms.claims.count)
        cfg_bad(b, jv_get(def, "claims"),
                "\"claims\" are told to programs and endpoints; a browser's tool runs for whoever "
                "is signed in there");
    check_run(b, def, exec, http);
    t->check = read_check(b, def, jv_get(def, "check"));
    if (client && jv_get(def, "check"))
        cfg_bad(b, jv_get(def, "check"), "\"check\" is for tools that the server runs");
    return true;
}

static void check_schema(struct config_build *b, const struct jv *schema, struct str tool)
{
    const struct jv *type = jv_get(schema, "type");

    if (jv_is(schema, JSON_OBJECT)) cfg_check_schema(b, schema);
    if (schema && type && !str_is(jv_str(type), "object"))
        cfg_bad(b, type,
                "\"input_schema\" of tool \"" STR_FMT
                "\" must have \"type\": \"object\"; models send arguments as an object",
                STR_ARG(tool));
}

static void read_tool(struct config_build *b, const struct jv *def)
{
    struct config_tool *t = &b->c->tools[b->c->tool_count];

    if (!jv_is(def, JSON_OBJECT)) return;
    if (!good_name(def->key)) {
        cfg_bad(b, def,
                "\"" STR_FMT
                "\" cannot be a tool's name; use letters, digits, '_', '-' and '.', at most 128",
                STR_ARG(str_cut(def->key, 60)));
        return;
    }
    if (reply_tool_of(def->key)) {
        cfg_bad(b, def, "\"" STR_FMT "\" is a built-in tool; choose another name",
                STR_ARG(def->key));
        return;
    }
    if (is_reserved(def->key)) {
        cfg_bad(b, def,
                "\"" STR_FMT
                "\" is reserved: clients take it for a question to a person; choose another name",
                STR_ARG(def->key));
        return;
    }
    *t = (struct config_tool){
        .name = def->key,
        .def = def,
        .description = jv_str_at(def, "description"),
        .input_schema = jv_get(def, "input_schema"),
        .confirm = jv_get(def, "confirm"),
        .risk = jv_str_at(def, "risk"),
        .intent = jv_str_at(def, "intent"),
        .ask = jv_str_at(def, "ask"),
        .idempotent = jv_true(jv_get(def, "idempotent")),
        .example = jv_str_at(def, "example"),
        .shows_artifact = str_is(jv_str_at(def, "shows"), "artifact"),
        .timeout_ms = cfg_ms("tools.*.timeout", jv_get(def, "timeout")),
        .expires_s = cfg_s("tools.*.expires", jv_get(def, "expires"), b->c->expires_s),
    };
    check_policy(b, t->confirm);
    check_schema(b, t->input_schema, t->name);
    cfg_check_terms(b, def, jv_get(def, "client") != NULL);
    if (t->description.len == 0)
        cfg_warn(b, def,
                 "tool \"" STR_FMT "\" has no description; the model cannot know what it is for",
                 STR_ARG(t->name));
    if (read_runner(b, def, t)) b->c->tool_count++;
}

void cfg_read_tools(struct config_build *b)
{
    const struct jv *tools = jv_get(b->root, "tools");

    if (!jv_is(tools, JSON_OBJECT)) return;
    b->c->tools = cfg_array(b, tools->count, sizeof *b->c->tools);
    if (!b->c->tools) return;
    JV_EACH (def, tools) read_tool(b, def);
}

/* --- MCP servers -------------------------------------------------------------------- */

static void check_mcp_policy(struct config_build *b, const struct jv *confirm)
{
    if (jv_is(confirm, JSON_OBJECT) && !jv_get(confirm, "when"))
        JV_EACH (v, confirm) {
            if (v->type != JSON_STRING && v->type != JSON_OBJECT)
                cfg_bad(b, v,
                        "\"confirm\" of \"" STR_FMT
                        "\" must be \"never\", \"always\" or {\"when\": ...}",
                        STR_ARG(v->key));
            else check_policy(b, v);
        }
    else {
        check_policy(b, confirm);
    }
}

static void check_transport(struct config_build *b, const struct jv *def,
                            const struct config_mcp *m)
{
    const struct jv *command = jv_get(def, "command"), *url = jv_get(def, "url"),
                    *type = jv_get(def, "type");
    struct str ignored;

    if ((command != NULL) + (url != NULL) != 1)
        cfg_bad(b, def, "MCP server \"" STR_FMT "\" needs either \"command\" or \"url\"",
                STR_ARG(def->key));
    if (jv_is(command, JSON_STRING) && command->str.len == 0)
        cfg_bad(b, command, "\"command\" is empty; write the program's name");
    if (url) (void)cfg_url(b, url, "\"url\"", &ignored);
    if (type && m->http == str_is(jv_str(type), "stdio"))
        cfg_bad(b, type,
                "\"type\" does not fit: \"stdio\" goes with \"command\", \"http\" with \"url\"");
    if (m->http && (jv_get(def, "args") || jv_get(def, "env") || jv_get(def, "cwd")))
        cfg_bad(b, def,
                "MCP server \"" STR_FMT
                "\" has a \"url\": \"args\", \"env\" and \"cwd\" are for \"command\"",
                STR_ARG(def->key));
    if (!m->http && jv_get(def, "headers"))
        cfg_bad(b, def, "MCP server \"" STR_FMT "\" has no \"url\": \"headers\" are for \"url\"",
                STR_ARG(def->key));
}

static void resolve_secret(struct config_build *b, struct jv *v)
{
    bool       literal;
    struct str value;
    if (v && cfg_secret(b, v, "\"oauth\".\"client_secret\"", &value, &literal)) v->str = value;
}

static void read_checks(struct config_build *b, const struct jv *list, struct config_mcp *m)
{
    if (!jv_is(list, JSON_OBJECT)) return;
    m->checks = cfg_array(b, list->count + 1, sizeof *m->checks);
    if (!m->checks) return;
    JV_EACH (v, list) m->checks[m->check_count++] = read_check(b, v, v);
}

static void read_server(struct config_build *b, const struct jv *def)
{
    struct config_mcp *m = &b->c->mcp[b->c->mcp_count];

    if (!jv_is(def, JSON_OBJECT)) return;
    *m = (struct config_mcp){
        .name = def->key,
        .def = def,
        .http = jv_get(def, "url") != NULL,
        .trust_annotations = jv_true(jv_get(def, "trust_annotations")),
        .timeout_ms = cfg_ms("mcpServers.*.timeout", jv_get(def, "timeout")),
    };
    if (def->key.len > 64) cfg_bad(b, def, "an MCP server's name has at most 64 characters");
    check_transport(b, def, m);
    check_mcp_policy(b, jv_get(def, "confirm"));
    cfg_check_edits(b, jv_get(def, "edit"));
    cfg_read_terms(b, def, jv_get(def, "headers"), &m->terms);
    if (jv_true(jv_get(def, "disabled"))) return; /* its secrets may be missing */
    cfg_secret_members(b, mutable(jv_get(def, "env")), "env");
    resolve_headers(b, mutable(jv_get(def, "headers")));
    resolve_secret(b, mutable(jv_get(jv_get(def, "oauth"), "client_secret")));
    read_checks(b, jv_get(def, "check"), m);
    b->c->mcp_count++;
}

void cfg_read_mcp(struct config_build *b)
{
    const struct jv *servers = jv_get(b->root, "mcpServers");

    if (!jv_is(servers, JSON_OBJECT)) return;
    b->c->mcp = cfg_array(b, servers->count, sizeof *b->c->mcp);
    if (!b->c->mcp) return;
    JV_EACH (def, servers) read_server(b, def);
}

/* --- the demo --------------------------------------------------------------------------- */

static struct str default_ledger(struct config *c)
{
    struct str path = c->store_file;

    /* No file beside which it could stand. */
    if (!path.ptr || str_is(path, ":memory:")) path = STR("parley");
    return arena_printf(&c->arena, STR_FMT ".ledger.jsonl", STR_ARG(path));
}

void cfg_read_demo(struct config_build *b)
{
    struct config   *c = b->c;
    const struct jv *said = jv_get(jv_get(b->root, "demo"), "tools");
    bool             own = jv_get(b->root, "tools") || jv_get(b->root, "mcpServers");

    if (c->demo_ledger.len == 0) c->demo_ledger = default_ledger(c);
    c->demo_tools = jv_is(said, JSON_BOOL) ? said->boolean : c->demo_model || !own;
    for (size_t i = 0; c->demo_tools && i < c->tool_count; i++)
        if (is_demo_tool(c->tools[i].name))
            cfg_bad(b, c->tools[i].def,
                    "\"" STR_FMT
                    "\" is a demo tool too; rename yours or set \"demo\": {\"tools\": false}",
                    STR_ARG(c->tools[i].name));
}

/* --- names of tools ------------------------------------------------------------------------ */

static bool known_tool(const struct config *c, struct str name, struct cfg_guess *g)
{
    for (size_t i = 0; i < c->tool_count; i++) {
        if (str_eq(c->tools[i].name, name)) return true;
        cfg_guess_add(g, c->tools[i].name);
    }
    for (size_t i = 0; c->demo_tools && demo_tool_name(i); i++) {
        if (str_is(name, demo_tool_name(i))) return true;
        cfg_guess_add(g, str_c(demo_tool_name(i)));
    }
    return reply_tool_of(name) != REPLY_NONE;
}

static void check_tool_name(struct config_build *b, const struct jv *v)
{
    struct cfg_guess g = { .want = jv_str(v) };

    if (!jv_is(v, JSON_STRING) || known_tool(b->c, v->str, &g)) return;
    if (b->c->mcp_count > 0) return; /* a server may bring it */
    /* it is there; what is wrong with it was noted */
    if (jv_get_str(jv_get(b->root, "tools"), v->str)) return;
    cfg_bad(b, v, "no tool is called \"" STR_FMT "\"%s", STR_ARG(v->str), cfg_guess_text(b, &g));
}

/* --- pages ------------------------------------------------------------------------------------ */

/* What the demo model presents. The data may be any object or list: the demo is a tour, not a
 * contract. */
static const char *const DEMO_PAYLOADS[] = { "schema_proposal", "presentation_categories",
                                             "stream_suggestions" };
#define DEMO_SCHEMA "{\"type\":[\"object\",\"array\"]}"

static bool uses_demo(const struct config_models *m)
{
    for (size_t i = 0; i < m->count; i++)
        if (provider_is_demo(m->list[i]->provider)) return true;
    return false;
}

static void add_payload(struct config_page *p, struct str type, const struct jv *schema)
{
    for (size_t i = 0; i < p->payload_count; i++)
        if (str_eq(p->payloads[i].type, type)) return; /* the file's own wins */
    p->payloads[p->payload_count++] = (struct config_payload){ type, schema, schema->raw };
}

static void read_payloads(struct config_build *b, struct config_page *p, const struct jv *def,
                          bool with_demo)
{
    struct jv       *any;
    const struct jv *own = jv_get(def, "payloads");

    p->payloads = cfg_array(b, (jv_is(own, JSON_OBJECT) ? own->count : 0) + COUNT(DEMO_PAYLOADS),
                            sizeof *p->payloads);
    if (!p->payloads) return;
    if (jv_is(own, JSON_OBJECT))
        JV_EACH (v, own)
            if (v->type == JSON_OBJECT) {
                cfg_check_schema(b, v);
                add_payload(p, v->key, v);
            }
    if (!with_demo || json_parse(&b->c->arena, STR(DEMO_SCHEMA), &any, NULL) != OK) return;
    for (size_t i = 0; i < COUNT(DEMO_PAYLOADS); i++) add_payload(p, str_c(DEMO_PAYLOADS[i]), any);
}

static void read_page(struct config_build *b, struct config_page *p, struct str name,
                      const struct jv *def)
{
    const struct jv *model = jv_get(def, "model"), *tools = jv_get(def, "tools");

    *p = (struct config_page){
        .name = name, .system = b->c->system, .models = b->c->model, .all_tools = !tools
    };
    if (jv_get(def, "system")) p->system = jv_str_at(def, "system");
    cfg_gather_template(b, p->system, jv_get(def, "system"));
    cfg_read_roles(b, jv_get(def, "roles"), &p->roles);
    p->answer_schema = jv_get(def, "answer_schema");
    if (jv_is(p->answer_schema, JSON_OBJECT)) cfg_check_schema(b, p->answer_schema);
    if (model && (model->type == JSON_STRING || model->type == JSON_ARRAY))
        cfg_model_list(b, model, &p->models);
    struct config_strs names = cfg_strs(b, tools);
    p->tools = names.list;
    p->tool_count = names.count;
    read_payloads(b, p, def, str_is(name, "default") && uses_demo(&p->models));
}

/* Models that people may choose from: each makes a page like the default one, but for its model.
 * "default@NAME" is what a request says, and what stands in the log, so that a run goes on with the
 * model it began with. */
static void add_choices(struct config_build *b, const struct jv *names)
{
    struct config_models offered;

    if (!jv_is(names, JSON_ARRAY)) return;
    cfg_model_list(b, names, &offered);
    for (size_t i = 0; offered.list && i < offered.count; i++) {
        struct config_page p = b->c->pages[0];
        p.name = arena_printf(&b->c->arena, "default@" STR_FMT, STR_ARG(offered.list[i]->name));
        p.models = (struct config_models){ &offered.list[i], 1 };
        if (p.name.ptr) b->c->pages[b->c->page_count++] = p;
    }
    b->c->look.models = offered;
}

void cfg_read_pages(struct config_build *b)
{
    const struct jv *pages = jv_get(b->root, "pages"), *first = jv_get(pages, "default");
    const struct jv *choices = jv_get(jv_get(b->root, "page"), "models");
    size_t           count = jv_is(pages, JSON_OBJECT) ? pages->count : 0;

    b->c->pages = cfg_array(b, count + 1 + (jv_is(choices, JSON_ARRAY) ? choices->count : 0),
                            sizeof *b->c->pages);
    if (!b->c->pages) return;
    read_page(b, &b->c->pages[b->c->page_count++], STR("default"),
              jv_is(first, JSON_OBJECT) ? first : NULL);
    if (count)
        JV_EACH (v, pages)
            if (v != first && v->type == JSON_OBJECT)
                read_page(b, &b->c->pages[b->c->page_count++], v->key, v);
    add_choices(b, choices);
}

void cfg_check_pages(struct config_build *b)
{
    const struct jv *pages = jv_get(b->root, "pages");

    JV_EACH (page, pages) {
        const struct jv *tools = jv_get(page, "tools");
        JV_EACH (v, tools) check_tool_name(b, v);
    }
}

/* --- actions ---------------------------------------------------------------------------------- */

/* What requests of these names mean already, before any configuration is asked. */
static const char *const OWN_ACTIONS[] = { "approve", "deny", "retry" };

static void read_reply_tools(struct config_build *b)
{
    const struct jv *list = jv_get(b->root, "reply_tools");

    b->c->reply_tools = list ? 0 : REPLY_ALL;
    JV_EACH (v, list) {
        enum reply_tool which = reply_tool_of(jv_str(v));
        if (v->type == JSON_STRING && !which)
            cfg_bad(b, v, "\"" STR_FMT "\" is none of suggest_replies, suggest_actions and present",
                    STR_ARG(str_cut(v->str, 60)));
        b->c->reply_tools |= 1u << which;
    }
}

void cfg_read_actions(struct config_build *b)
{
    const struct jv *actions = jv_get(b->root, "actions");
    struct config   *c = b->c;

    read_reply_tools(b);

    c->actions =
        cfg_array(b, (jv_is(actions, JSON_OBJECT) ? actions->count : 0) + 1, sizeof *c->actions);
    if (!c->actions) return;
    if (jv_is(actions, JSON_OBJECT))
        JV_EACH (v, actions) {
            const struct jv *tool = jv_get(v, "tool");
            if (!tool && v->type == JSON_OBJECT)
                cfg_bad(b, v, "action \"" STR_FMT "\" needs \"tool\": the name of the tool it runs",
                        STR_ARG(v->key));
            if (is_in(OWN_ACTIONS, COUNT(OWN_ACTIONS), v->key))
                cfg_bad(b, v,
                        "action \"" STR_FMT "\" would never be reached: approve, deny and retry "
                        "have a meaning of their own; rename it",
                        STR_ARG(v->key));
            check_tool_name(b, tool);
            if (jv_is(tool, JSON_STRING))
                c->actions[c->action_count++] = (struct config_action){ v->key, tool->str };
        }
    /* What the demo model suggests must lead somewhere. */
    if (c->demo_tools && !config_action(c, STR("apply_schema")))
        c->actions[c->action_count++] =
            (struct config_action){ STR("apply_schema"), STR("apply_schema") };
}
