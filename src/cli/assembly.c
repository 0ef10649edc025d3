/* assembly.c -- see assembly.h. */
#include "cli/assembly.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "auth/starttoken.h"
#include "base/jsonw.h"
#include "cli/paths.h"
#include "model/provider.h"
#include "tool/demo.h"
#include "tool/http.h"
#include "tool/identity.h"
#include "tool/policy.h"
#include "tool/replytools.h"
#include "tool/text.h"

static bool no_memory(const struct assembly *k, struct config_error *e)
{
    config_error_add(e, k->config, NULL, "out of memory");
    return false;
}

/* --- models ----------------------------------------------------------------------------------- */

static const struct model_header *headers(struct arena *a, const struct config_model *m)
{
    struct model_header *list = arena_array(a, m->header_count + 1, sizeof *list);
    for (size_t i = 0; list && i < m->header_count; i++)
        list[i] = (struct model_header){ m->headers[i].name, m->headers[i].value };
    return list;
}

/* Where a model stands in the file. */
static const struct jv *model_place(const struct config *c, struct str name)
{
    const struct jv *own = jv_get_str(jv_get(c->root, "models"), name);
    return own ? own : jv_get(c->root, "model");
}

static bool make_model(struct assembly *k, struct assembly_model *m, struct config_error *e)
{
    const struct config_model *c = m->config;
    struct str                 why;
    if (provider_is_demo(c->provider)) {
        m->model = model_demo_new(k->loop, k->config->demo_token_ms);
        return m->model ? true : no_memory(k, e);
    }
    if (!k->upstream && !(k->upstream = upstream_new(k->loop))) return no_memory(k, e);
    const struct model_header *list = headers(&k->arena, c);
    if (!list) return no_memory(k, e);
    m->remote = (struct model_config){ .name = c->name,
                                       .provider = c->provider,
                                       .model = c->model,
                                       .api_key = c->api_key,
                                       .base_url = c->base_url,
                                       .version = c->version,
                                       .bearer = str_is(c->auth, "bearer"),
                                       .max_tokens = c->max_tokens,
                                       .thinking = c->thinking,
                                       .extra = c->options,
                                       .headers = list,
                                       .header_count = c->header_count,
                                       .connect_ms = c->connect_ms,
                                       .first_byte_ms = c->first_byte_ms,
                                       .idle_ms = c->idle_ms,
                                       .total_ms = c->total_ms,
                                       .wait_max_ms = c->wait_max_ms,
                                       .retries = c->retries,
                                       .concurrent = c->concurrent };
    m->model = model_remote_new(k->upstream, &m->remote, &why);
    if (m->model) {
        m->model->context = c->context;
        m->model->price_in = c->price_in;
        m->model->price_out = c->price_out;
    } else
        config_error_add(e, k->config, model_place(k->config, c->name),
                         "model \"" STR_FMT "\": " STR_FMT, STR_ARG(c->name), STR_ARG(why));
    return m->model != NULL;
}

bool assembly_models(struct assembly *k, const struct config *c, struct loop *l,
                     struct config_error *e)
{
    bool good = true;
    *k = (struct assembly){ .config = c, .loop = l };
    arena_init(&k->arena, 0);
    registry_init(&k->registry);
    curl_pool_init(&k->pool, l, 1);
    k->models = arena_array(&k->arena, c->model_count + 1, sizeof *k->models);
    k->lists = arena_array(&k->arena, c->page_count + 1, sizeof *k->lists);
    if (!k->models || !k->lists) return no_memory(k, e);
    for (size_t i = 0; i < c->model_count; i++) {
        k->models[k->model_count].config = &c->models[i];
        good &= make_model(k, &k->models[k->model_count++], e);
    }
    return good;
}

static struct model *find_model(struct assembly *k, const struct config_model *c)
{
    for (size_t i = 0; i < k->model_count; i++)
        if (k->models[i].config == c) return k->models[i].model;
    return NULL;
}

/* One model, or a list that looks like one. */
static struct model *model_list(struct assembly *k, const struct config_models *list)
{
    struct model **m = arena_array(&k->arena, list->count, sizeof *m);
    if (!m) return NULL;
    for (size_t i = 0; i < list->count; i++)
        if (!(m[i] = find_model(k, list->list[i]))) return NULL;
    if (list->count == 1) return m[0];
    struct model *f = model_fallback_new(STR("fallback"), m, list->count);
    if (f) k->lists[k->list_count++] = f;
    return f;
}

/* --- tools ------------------------------------------------------------------------------------ */

static struct str config_dir(struct assembly *k)
{
    struct str path = k->config->path;
    for (size_t i = path.len; i-- > 0;)
        if (path.ptr[i] == '/') return arena_dup(&k->arena, str_cut(path, i ? i : 1));
    return STR_NONE;
}

static bool need_children(struct assembly *k, struct config_error *e)
{
    k->programs = true;
    if (k->children || k->trial) return true;
    struct str root = arena_dup(&k->arena, k->config->work);
    if (!root.ptr) return no_memory(k, e);
    if (children_start(&k->children, k->loop, root.ptr) == OK) return true;
    config_error_add(e, k->config, NULL,
                     "the process that runs tools could not be started; can the directory " STR_FMT
                     " be made and written?",
                     STR_ARG(root));
    return false;
}

/* The folder that a program's relative paths are seen from. */
static struct str real_dir(struct assembly *k)
{
    char       real[PATH_MAX];
    struct str dir = config_dir(k);
    return realpath(dir.ptr ? dir.ptr : ".", real) ? arena_dup(&k->arena, str_c(real)) : STR_NONE;
}

/* The server's own files, which no tool may read. NULL: no memory. */
static const char *const *own_files(struct assembly *k)
{
    const struct config *c = k->config;
    struct str           named[] = { c->store_file,     c->path,       c->demo_ledger,
                                     c->auth.keys_file, c->audit.file, c->tls_key };
    size_t               n = sizeof named / sizeof *named, used = 0;
    const char         **list;

    for (struct config_path *p = c->secret_files; p; p = p->next) n++;
    if (!(list = arena_array(&k->arena, n + 1, sizeof *list))) return NULL;
    for (size_t i = 0; i < sizeof named / sizeof *named; i++)
        if (named[i].len && !(list[used++] = paths_absolute(&k->arena, named[i]))) return NULL;
    for (struct config_path *p = c->secret_files; p; p = p->next)
        if (!(list[used++] = paths_absolute(&k->arena, p->path))) return NULL;
    return list;
}

/* What exec tools share, once the first of them is met. */
static bool need_exec(struct assembly *k, struct config_error *e)
{
    if (k->exec.loop) return true;
    if (!need_children(k, e)) return false;
    const char *const *own = own_files(k);
    if (!own) return no_memory(k, e);
    if (k->trial) sandbox_probe(&k->caps, "/");
    k->exec = (struct exec_host){ .loop = k->loop,
                                  .children = k->children,
                                  .secrets = own,
                                  .at_once = k->config->programs_max,
                                  .caps = k->trial ? &k->caps : children_caps(k->children) };
    return true;
}

static enum err read_runner(struct assembly *k, const struct config_tool *c, struct tool *t,
                            struct buf *why)
{
    if (c->run && !(t->runner = text_runner(&k->registry.arena, c->run,
                                            c->runner == RUNNER_EXEC ? real_dir(k) : STR_NONE))
                       .ptr)
        return ERR_NOMEM;
    switch (c->runner) {
    case RUNNER_EXEC: return exec_tool_read(&k->registry, t, c->run, &k->exec, config_dir(k), why);
    case RUNNER_HTTP: return http_tool_read(&k->registry, t, c->run, &k->pool, k->loop, why);
    case RUNNER_CLIENT:
        t->where = TOOL_CLIENT;
        t->source = STR("client");
        return OK;
    }
    return ERR_TYPE;
}

/* For whom, and what is told of them. */
static bool make_terms(struct assembly *k, const struct config_terms *c, struct tool_terms *out,
                       struct config_error *e)
{
    const char *why;

    *out = (struct tool_terms){ .roles = c->roles.list,
                                .role_count = c->roles.count,
                                .claims = c->claims.list,
                                .claim_count = c->claims.count };
    if (!c->identity) return true;
    struct identity_way **to = &k->identities[k->identity_count];
    enum err              bad = identity_new(&k->arena, &c->sign, to, &why);
    if (bad) {
        const struct jv *at = jv_get(c->identity, "sign");
        config_error_add(e, k->config, at ? at : c->identity, "\"sign\": %s", why);
        return false;
    }
    out->identity = k->identities[k->identity_count++];
    return true;
}

static void fill_tool(const struct config_tool *c, struct tool *t)
{
    t->description = c->description;
    t->schema_text = c->input_schema ? c->input_schema->raw : STR("{\"type\":\"object\"}");
    t->risk = c->risk;
    t->intent = c->intent;
    t->ask = c->ask;
    t->idempotent = c->idempotent;
    t->makes_artifact = c->shows_artifact;
    t->example = c->example;
    t->timeout_ms = c->timeout_ms;
    t->expires_s = c->expires_s;
    t->grant = jv_get(c->def, "grant");
    t->edit = jv_get(c->def, "edit");
    t->effect = jv_str_at(c->def, "effect");
    t->effect_own = str_is(jv_str_at(c->def, "effect_scope"), "owner");
    t->effect_days = (unsigned)jv_int_at(c->def, "effect_days", 0);
    t->confirm = c->runner == RUNNER_CLIENT ? CONFIRM_NEVER : CONFIRM_ALWAYS;
    t->confirm_text = c->runner == RUNNER_CLIENT ? STR("\"never\"") : STR("\"always\"");
}

/* A runner's sentence names the member it is about, in quotes. */
static const struct jv *place(const struct jv *obj, struct str sentence)
{
    JV_EACH (v, obj) {
        for (struct str rest = sentence; rest.len;) {
            ptrdiff_t at = str_find(rest, STR("\""));
            if (at < 0) break;
            rest = str_from(rest, (size_t)at + 1);
            if (str_starts(rest, v->key) && str_starts(str_from(rest, v->key.len), STR("\"")))
                return v;
        }
    }
    return obj;
}

/* A runner that is in no list. NULL: what is wrong is in `e`. */
static const struct tool_check *make_check(struct assembly *k, const struct config_check *c,
                                           const struct tool_terms *terms, struct config_error *e)
{
    struct tool_check *check = arena_new(&k->registry.arena, struct tool_check);
    struct tool       *t = registry_tool(&k->registry, c->tool);
    struct buf         why;

    if (c->exec && !need_exec(k, e)) return NULL;
    if (!check || !t) {
        (void)no_memory(k, e);
        return NULL;
    }
    t->terms = *terms;
    t->timeout_ms = c->timeout_ms;
    *check = (struct tool_check){ t, c->tries, c->pause_ms };
    buf_init(&why, 4096);
    enum err bad = c->exec ? exec_tool_read(&k->registry, t, c->run, &k->exec, config_dir(k), &why)
                           : http_tool_read(&k->registry, t, c->run, &k->pool, k->loop, &why);
    if (!bad) bad = registry_keep(&k->registry, t);
    if (bad)
        config_error_add(e, k->config, place(c->run, buf_view(&why)),
                         "\"check\" of \"" STR_FMT "\": " STR_FMT, STR_ARG(c->tool),
                         STR_ARG(why.len ? buf_view(&why) : STR("out of memory")));
    buf_done(&why);
    return bad ? NULL : check;
}

/* OK, or why not in `text`. */
static enum err make_tool(struct assembly *k, const struct config_tool *c, struct tool *t,
                          struct buf *text)
{
    const char *policy = NULL;
    enum err    e = OK;
    fill_tool(c, t);
    if (c->confirm && (e = policy_read(t, c->confirm, &policy)))
        buf_lit(text, policy ? policy : "\"confirm\" is wrong");
    if (!e) e = read_runner(k, c, t, text);
    if (e) return e;
    if ((e = registry_add(&k->registry, t)) == OK) return OK;
    buf_lit(text, e == ERR_NOMEM    ? "out of memory"
                  : e == ERR_EXISTS ? "the name is taken"
                  : e == ERR_FULL   ? "\"input_schema\" is larger than 128 KiB"
                                    : "\"input_schema\" is not a JSON schema");
    if (t->ops && t->ops->free) t->ops->free(t);
    return e;
}

static bool add_tool(struct assembly *k, const struct config_tool *c, struct config_error *e)
{
    struct tool *t = registry_tool(&k->registry, c->name);
    struct buf   text;
    if (!t) return no_memory(k, e);
    if (c->runner == RUNNER_EXEC && !need_exec(k, e)) return false;
    if (!make_terms(k, &c->terms, &t->terms, e)) return false;
    if (c->check.run && !(t->check = make_check(k, &c->check, &t->terms, e))) return false;
    buf_init(&text, 4096);
    bool good = make_tool(k, c, t, &text) == OK;
    if (!good)
        config_error_add(e, k->config, place(c->run ? c->run : c->def, buf_view(&text)),
                         "tool \"" STR_FMT "\": " STR_FMT, STR_ARG(c->name),
                         STR_ARG(text.len ? buf_view(&text) : STR("out of memory")));
    buf_done(&text);
    return good;
}

static bool make_mcp_checks(struct assembly *k, const struct config_mcp *c, struct mcp_host *host,
                            struct config_error *e)
{
    struct mcp_check *list = arena_array(&k->arena, c->check_count + 1, sizeof *list);
    if (!list) return no_memory(k, e);
    host->checks = list;
    for (size_t i = 0; i < c->check_count; i++) {
        const struct tool_check *check = make_check(k, &c->checks[i], &host->terms, e);
        if (!check) return false;
        list[host->check_count++] = (struct mcp_check){ c->checks[i].tool, check };
    }
    return true;
}

static bool add_mcp(struct assembly *k, const struct config_mcp *c, struct config_error *e)
{
    struct buf text;
    if (!c->http && !need_children(k, e)) return false;
    struct mcp_host *host = arena_new(&k->arena, struct mcp_host);
    if (!host) return no_memory(k, e);
    *host = (struct mcp_host){
        .loop = k->loop,
        .registry = &k->registry,
        .children = k->children,
        .pool = &k->pool,
        .vault = k->vault,
        .seal = k->config->mcp_sealed ? &k->config->mcp_seal : NULL,
        .public_url = k->config->public_url,
    };
    if (!make_terms(k, &c->terms, &host->terms, e)) return false;
    host->edit = jv_get(c->def, "edit");
    if (!make_mcp_checks(k, c, host, e)) return false;
    buf_init(&text, 4096);
    bool good = mcp_read(&k->mcp[k->mcp_count], host, c->name, c->def, config_dir(k), &text) == OK;
    if (!good)
        config_error_add(e, k->config, place(c->def, buf_view(&text)),
                         "MCP server \"" STR_FMT "\": " STR_FMT, STR_ARG(c->name),
                         STR_ARG(text.len ? buf_view(&text) : STR("out of memory")));
    else if (k->trial) k->mcp_count++;
    else mcp_start(k->mcp[k->mcp_count++]);
    buf_done(&text);
    return good;
}

static bool add_demo(struct assembly *k)
{
    const struct config *c = k->config;
    bool                 asks = false;
    k->registry.expires_s = c->expires_s;
    if (reply_tools_add(&k->registry, c->reply_tools) != OK) return false;
    for (size_t i = 0; i < c->budget_count; i++)
        if (c->budgets[i].tokens.soft || c->budgets[i].cost.soft) asks = true;
    if (asks && spend_tool_add(&k->registry) != OK) return false;
    if (c->demo_tools && demo_tools_add(&k->registry, k->loop, c->demo_ledger,
                                        c->demo_token_ms ? DEMO_STAGE_MS : 0) != OK)
        return false;
    return true;
}

bool assembly_tools(struct assembly *k, struct config_error *e)
{
    const struct config *c = k->config;
    bool                 good = true;
    k->mcp = arena_array(&k->arena, c->mcp_count + 1, sizeof(struct mcp *));
    k->identities = arena_array(&k->arena, c->tool_count + c->mcp_count + 1, sizeof *k->identities);
    if (!k->mcp || !k->identities || !add_demo(k)) return no_memory(k, e);
    for (size_t i = 0; i < c->tool_count; i++) good &= add_tool(k, &c->tools[i], e);
    for (size_t i = 0; i < c->mcp_count; i++) good &= add_mcp(k, &c->mcp[i], e);
    return good;
}

bool assembly_auth(const struct config *c, struct loop *l, struct arena *a, struct auth **out,
                   struct config_error *e)
{
    struct str why;
    if (auth_new(l, &c->auth, a, out, &why) == OK) return true;
    config_error_add(e, c, jv_get(jv_get(jv_get(c->root, "auth"), "jwt"), "keys_file"), STR_FMT,
                     STR_ARG(why));
    return false;
}

bool assembly_know(struct people *p, const struct auth_key *key, struct arena *a)
{
    struct str before = people_roles(p, key->principal), all = key->words;

    if (before.ptr)
        all = arena_printf(a, STR_FMT " " STR_FMT, STR_ARG(before), STR_ARG(key->words));
    if (!all.ptr) return false;
    people_know(p, key->principal, all);
    return true;
}

static void no_matter(void *ctx)
{
    (void)ctx;
}

bool assembly_audit(const struct config *c, struct sign_keys *out, struct config_error *e)
{
    const struct jv *at = jv_get(jv_get(c->root, "audit"), "key");
    const char      *why = "it is a public key; the private one signs";

    if (!c->audit.key.len) return true;
    if (sign_keys_read(out, c->audit.key, &why) == OK && out->list[0].private) return true;
    config_error_add(e, c, at, "\"audit.key\" cannot be used: %s", why);
    sign_keys_done(out);
    return false;
}

static void try_all(struct assembly *k, const struct config *c, struct loop *l,
                    struct config_error *e)
{
    struct sign_keys keys = { 0 };
    struct auth     *auth;
    bool             models = assembly_models(k, c, l, e);
    struct str       store = arena_dup(&k->arena, c->store);
    const char      *fault = store.ptr ? store_address_fault(store.ptr) : NULL;
    k->trial = true;
    if (store.ptr) explicit_bzero((char *)(uintptr_t)store.ptr, store.len);
    if (fault) config_error_add(e, c, NULL, "%s", fault);
    if (config_needs_token(c) && !start_token_good())
        config_error_add(e, c, NULL, START_TOKEN_RULE);
    if (assembly_audit(c, &keys, e)) sign_keys_done(&keys);
    (void)(assembly_tools(k, e) && models); /* what is wrong is in `e` */
    paths_try(c, k->programs, &k->arena, e);
    if (!c->auth.keys_file.ptr) return; /* keys at an address are fetched when it is up */
    if (assembly_auth(c, l, &k->arena, &auth, e)) auth_free(auth, no_matter, NULL);
}

static void tried(void *ctx)
{
    loop_stop(ctx);
}

bool assembly_try(const struct config *c, struct config_error *e, struct buf *lacks)
{
    static struct assembly assembly;
    struct loop            loop;

    if (loop_init(&loop)) {
        config_error_add(e, c, NULL, "out of memory");
        return false;
    }
    try_all(&assembly, c, &loop, e);
    if (lacks) assembly_isolation(&assembly, lacks);
    assembly_free(&assembly, tried, &loop);
    loop_run(&loop);
    loop_done(&loop);
    return e->count == 0;
}

/* An MCP server that cannot be started now may be there later: it is tried again, and nobody else
 * waits for it. */
void assembly_absent(const struct config *c, FILE *out)
{
    struct assembly k = { .config = c };

    arena_init(&k.arena, 0);
    struct str base = config_dir(&k);
    for (size_t i = 0; i < c->mcp_count; i++) {
        const struct config_mcp *m = &c->mcp[i];
        struct str command = jv_str_at(m->def, "command"), cwd = jv_str_at(m->def, "cwd"),
                   dir = cwd.len ? cwd : base;
        if (m->http) continue;
        if (cwd.len && cwd.ptr[0] != '/' && base.len)
            dir = arena_printf(&k.arena, STR_FMT "/" STR_FMT, STR_ARG(base), STR_ARG(cwd));
        const char *from = dir.len ? arena_dup(&k.arena, dir).ptr : NULL;
        if (cwd.len && from && !paths_is_folder(from))
            fprintf(out,
                    "%-10s MCP server \"" STR_FMT "\": the directory " STR_FMT
                    " of \"cwd\" is not there\n",
                    "warning", STR_ARG(m->name), STR_ARG(cwd));
        if (!child_find(&k.arena, command, from).ptr)
            fprintf(out,
                    "%-10s MCP server \"" STR_FMT "\": the program " STR_FMT " is not installed\n",
                    "warning", STR_ARG(m->name), STR_ARG(command));
    }
    arena_done(&k.arena);
}

void assembly_isolation(const struct assembly *k, struct buf *out)
{
    /* A trial has no work directory to try mounts with: it says what tools must not be without. */
    if (k->exec.loop) sandbox_report(k->exec.caps, !k->trial, out);
}

/* --- pages ------------------------------------------------------------------------------------ */

static bool make_page(struct assembly *k, const struct config_page *in, struct hub_page *out)
{
    *out = (struct hub_page){ .name = in->name,
                              .system = in->system,
                              .all_tools = in->all_tools,
                              .tools = in->tools,
                              .tool_count = in->tool_count,
                              .answer = in->answer_schema,
                              .roles = in->roles.list,
                              .role_count = in->roles.count,
                              .model = model_list(k, &in->models) };
    out->payloads = arena_array(&k->arena, in->payload_count + 1, sizeof *out->payloads);
    for (size_t i = 0; out->payloads && i < in->payload_count; i++)
        out->payloads[out->payload_count++] =
            (struct hub_payload){ in->payloads[i].type, in->payloads[i].schema };
    return out->model && out->payloads;
}

bool assembly_pages(struct assembly *k)
{
    const struct config *c = k->config;
    k->pages = arena_array(&k->arena, c->page_count, sizeof *k->pages);
    k->actions = arena_array(&k->arena, c->action_count + 1, sizeof *k->actions);
    if (!k->pages || !k->actions) return false;
    for (size_t i = 0; i < c->page_count; i++)
        if (!make_page(k, &c->pages[i], &k->pages[k->page_count++])) return false;
    for (size_t i = 0; i < c->action_count; i++)
        k->actions[k->action_count++] =
            (struct hub_action){ c->actions[i].name, c->actions[i].tool };
    return true;
}

/* --- the end ---------------------------------------------------------------------------------- */

/* What the loop must still turn for is gone; the rest follows at once. */
static void closed_one(struct assembly *k)
{
    if (--k->closing) return;
    for (size_t i = 0; i < k->list_count; i++) k->lists[i]->ops->free(k->lists[i]);
    for (size_t i = 0; i < k->model_count; i++) {
        if (k->models[i].model) k->models[i].model->ops->free(k->models[i].model);
    }
    if (k->children) children_stop(k->children);
    registry_done(&k->registry);
    for (size_t i = 0; i < k->identity_count; i++) identity_done(k->identities[i]);
    arena_done(&k->arena);
    k->done(k->done_ctx);
}

/* mcp_stop and curl_pool_close tell only of themselves; there is one assembly in a program */
static struct assembly *the_kit;

static void mcp_closed(struct mcp *m)
{
    (void)m;
    closed_one(the_kit);
}
static void pool_closed(struct curl_pool *p)
{
    closed_one(LIST_ITEM(p, struct assembly, pool));
}
static void upstream_closed(void *ctx)
{
    closed_one(ctx);
}

void assembly_free(struct assembly *k, void (*done)(void *ctx), void *ctx)
{
    the_kit = k;
    k->done = done;
    k->done_ctx = ctx;
    k->closing = 2 + (unsigned)k->mcp_count + (k->upstream != NULL);
    for (size_t i = 0; i < k->mcp_count; i++) mcp_stop(k->mcp[i], mcp_closed);
    curl_pool_close(&k->pool, pool_closed);
    if (k->upstream) upstream_free(k->upstream, upstream_closed, k);
    closed_one(k);
}
