/* config_explain.c -- what a configuration means, in plain words: `parley check`.
 *
 * Nothing secret is printed: not keys, not header values, not what "env:" or "file:" led to.
 */
#include "base/address.h"
#include "base/utf8.h"
#include "config/config_private.h"
#include "model/provider.h"
#include "run/trim.h"

void cfg_put(FILE *out, struct str s, size_t max)
{
    struct str rest = str_cut(s, utf8_cut(s, s.len < max ? s.len : max));
    uint32_t   cp;

    for (unsigned n; rest.len > 0; rest = str_from(rest, n)) {
        n = utf8_decode(rest, &cp);
        if (cp < ' ' || (cp >= 0x7F && cp < 0xA0) || (n == 1 && cp > 0x7F)) fputc('?', out);
        else fwrite(rest.ptr, 1, n, out);
    }
    if (s.len > max) fputs("...", out);
}

static void put_address(FILE *out, struct str address, size_t max)
{
    struct arena a;

    arena_init(&a, 0);
    cfg_put(out, address_shown(&a, address), max);
    arena_done(&a);
}

static void line(FILE *out, const char *label)
{
    fprintf(out, "%-10s ", label);
}

static void put_model(FILE *out, const struct config_model *m)
{
    if (provider_is_demo(m->provider)) {
        fputs("the demo model (scripted, no key, no network)", out);
        return;
    }
    cfg_put(out, m->model, 100);
    fputs(" of ", out);
    cfg_put(out, m->provider, 20);
    if (m->base_url.ptr) {
        fputs(" at ", out);
        put_address(out, m->base_url, 200);
    }
    if (!m->api_key.ptr) fputs(" (no key)", out);
}

void config_explain_model(const struct config *c, FILE *out)
{
    for (size_t i = 0; i < c->model.count; i++) {
        if (i) fputs(", then ", out);
        put_model(out, c->model.list[i]);
    }
    fputs(", because ", out);
    cfg_put(out, c->model_why, 300);
    fputc('\n', out);
}

static void explain_listen(const struct config *c, FILE *out)
{
    bool v6 = str_find(c->host, STR(":")) >= 0;

    line(out, "listen");
    fprintf(out, "%s://%s" STR_FMT "%s:%u, ", config_scheme(c), v6 ? "[" : "", STR_ARG(c->host),
            v6 ? "]" : "", c->port);
    fputs(config_is_public(c) ? "reachable from other machines" : "this machine only", out);
    if (c->auth.key_count)
        fprintf(out, ", %zu bearer key%s", c->auth.key_count, c->auth.key_count == 1 ? "" : "s");
    if (c->auth.jwt) {
        fputs(", tokens of ", out);
        put_address(out, c->auth.issuer, 100);
    }
    if (c->auth.oidc.issuer.ptr) {
        fputs(", browsers sign in at ", out);
        put_address(out, c->auth.oidc.issuer, 100);
    }
    fputs(config_has_auth(c) ? "\n" : ", no sign-in\n", out);
    if (!config_needs_token(c)) return;
    line(out, "answers");
    fputs("need the token that is printed at the start (or PARLEY_TOKEN): programs that it starts "
          "can reach the server\n",
          out);
}

static void explain_each(const struct config *c, FILE *out)
{
    const struct quota_limits *l = &c->each;

    if (!l->requests_per_minute && !l->runs && !l->tokens_per_day) return;
    line(out, "each");
    fputs("one principal has at most", out);
    if (l->requests_per_minute) fprintf(out, " %u requests per minute", l->requests_per_minute);
    if (l->runs) fprintf(out, "%s %u turns at once", l->requests_per_minute ? "," : "", l->runs);
    if (l->tokens_per_day)
        fprintf(out, "%s %lld tokens per day", l->requests_per_minute || l->runs ? "," : "",
                (long long)l->tokens_per_day);
    fputc('\n', out);
}

static void put_list(FILE *out, const char *label, const struct config_strs *s)
{
    for (size_t i = 0; i < s->count; i++) {
        line(out, i ? "" : label);
        cfg_put(out, s->list[i], 100);
        fputc('\n', out);
    }
}

/* --- tools ----------------------------------------------------------------------------- */

static void put_policy(FILE *out, const struct jv *confirm, const char *otherwise)
{
    struct str word = jv_str(confirm);

    if (!confirm) word = str_c(otherwise);
    if (str_is(word, "always")) fputs("a person is always asked", out);
    else if (str_is(word, "never")) fputs("nobody is asked", out);
    else {
        fputs("a person is asked when ", out);
        cfg_put(out, jv_get(confirm, "when") ? jv_get(confirm, "when")->raw : confirm->raw, 120);
    }
}

static void explain_tool(const struct config_tool *t, FILE *out)
{
    static const char *const WHERE[] = {
        [RUNNER_EXEC] = "program", [RUNNER_HTTP] = "http", [RUNNER_CLIENT] = "browser"
    };

    line(out, "tool");
    cfg_put(out, t->name, 128);
    fprintf(out, " (%s): ", WHERE[t->runner]);
    put_policy(out, t->confirm, t->runner == RUNNER_CLIENT ? "never" : "always");
    if (t->risk.ptr) fprintf(out, ", risk " STR_FMT, STR_ARG(t->risk));
    fprintf(out, ", at most %g s%s\n", t->timeout_ms / 1000.0,
            t->idempotent ? ", run again after a crash" : ", never run twice");
}

static void explain_server(const struct config_mcp *m, FILE *out)
{
    const struct jv *confirm = jv_get(m->def, "confirm");
    bool             per_tool = jv_is(confirm, JSON_OBJECT) && !jv_get(confirm, "when");

    line(out, "mcp");
    cfg_put(out, m->name, 64);
    fputs(": ", out);
    if (m->http) put_address(out, jv_str_at(m->def, "url"), 120);
    else cfg_put(out, jv_str_at(m->def, "command"), 120);
    fputs(", ", out);
    if (per_tool) {
        const struct jv *others = jv_get(confirm, "*");
        unsigned         own = confirm->count - (others != NULL);
        fprintf(out, "%u tool%s with a policy of %s own, for the others ", own, own == 1 ? "" : "s",
                own == 1 ? "its" : "their");
        confirm = others;
    }
    put_policy(out, confirm, "always");
    if (m->trust_annotations) fputs(", its annotations are trusted", out);
    /* the one kind of program that has no sandbox */
    if (!m->http) fputs("; not isolated: its program may do what the server's user may", out);
    fputc('\n', out);
}

static void explain_tools(const struct config *c, FILE *out)
{
    for (size_t i = 0; i < c->tool_count; i++) explain_tool(&c->tools[i], out);
    for (size_t i = 0; i < c->mcp_count; i++) explain_server(&c->mcp[i], out);
    line(out, "demo");
    fputs(c->demo_tools ? "the demo tools are offered; payments are written to "
                        : "the demo tools are not offered",
          out);
    if (c->demo_tools) cfg_put(out, c->demo_ledger, 200);
    fputc('\n', out);
}

/* --- pages and the rest ------------------------------------------------------------------ */

static void explain_page(const struct config_page *p, FILE *out)
{
    line(out, "page");
    cfg_put(out, p->name, 64);
    fputs(": ", out);
    if (p->all_tools) fputs("every tool", out);
    else if (p->tool_count == 0) fputs("no tools", out);
    for (size_t i = 0; i < p->tool_count; i++) {
        fputs(i ? ", " : "tools ", out);
        cfg_put(out, p->tools[i], 128);
    }
    for (size_t i = 0; i < p->models.count; i++) {
        fputs(i ? ", then " : "; ", out);
        put_model(out, p->models.list[i]);
    }
    for (size_t i = 0; i < p->payload_count; i++) {
        fputs(i ? ", " : "; payloads ", out);
        cfg_put(out, p->payloads[i].type, 64);
    }
    fputc('\n', out);
}

static void explain_look(const struct config *c, FILE *out)
{
    const struct config_look *look = &c->look;

    line(out, "look");
    fputs("the page is called ", out);
    cfg_put(out, look->name, 100);
    if (look->logo_type) fprintf(out, ", with its logo (%s)", look->logo_type);
    if (look->has_accent)
        fprintf(out, ", in #%06x (#%06x on dark)", look->accent, look->accent_dark);
    fputs(", and speaks ", out);
    for (size_t i = 0; i < look->languages.count; i++) {
        if (i) fputs(", ", out);
        cfg_put(out, look->languages.list[i], 10);
    }
    fputc('\n', out);
}

static void explain_limit(void *ctx, const char *path, double now, double otherwise)
{
    FILE *out = ctx;

    line(out, "changed");
    fprintf(out, "%s is %.15g (usually %.15g)\n", path, now, otherwise);
}

static void explain_kinds(FILE *out, const struct config *c)
{
    for (int i = 0; i < STORE_TRIM_KINDS; i++) {
        if (!c->retain_kind_days[i]) continue;
        line(out, "retention");
        fprintf(out, "%s %u days, in conversations that stay\n", trim_names[i],
                c->retain_kind_days[i]);
    }
    if (c->retain_prompt_days) {
        line(out, "retention");
        fprintf(out, "prompts %u days after their last use\n", c->retain_prompt_days);
    }
}

void config_explain(const struct config *c, FILE *out)
{
    line(out, "file");
    cfg_put(out, c->path.ptr ? c->path : STR("none: everything is at its default"), 300);
    fputc('\n', out);
    explain_listen(c, out);
    line(out, "model");
    config_explain_model(c, out);
    line(out, "store");
    cfg_put(out, c->store_shown, 300);
    fputc('\n', out);
    explain_tools(c, out);
    explain_look(c, out);
    for (size_t i = 0; i < c->page_count; i++) explain_page(&c->pages[i], out);
    for (size_t i = 0; i < c->action_count; i++)
        fprintf(out, "%-10s " STR_FMT " runs " STR_FMT "\n", "action", STR_ARG(c->actions[i].name),
                STR_ARG(c->actions[i].tool));
    line(out, "approvals");
    fprintf(out, "%s; a new message %s",
            c->approvers ? "approvers decide, for everybody" : "everybody decides their own",
            c->hold ? "is refused while a question waits" : "cancels a waiting question");
    if (c->expires_s && c->expires_s < 3600)
        fprintf(out, "; questions wait %u seconds\n", c->expires_s);
    else if (c->expires_s) fprintf(out, "; questions wait %g hours\n", c->expires_s / 3600.0);
    else fputs("; questions wait for ever\n", out);
    cfg_explain_rules(c, out);
    if (c->audit.key.len) {
        line(out, "audit");
        fprintf(out, "a signed checkpoint every %g seconds, to ", c->audit.every_ms / 1000.0);
        if (c->audit.file.len) cfg_put(out, c->audit.file, 300);
        if (c->audit.file.len && c->audit.webhook.len) fputs(" and ", out);
        if (c->audit.webhook.len) put_address(out, c->audit.webhook, 300);
        fputc('\n', out);
    }
    if (c->retain_plain_days || c->retain_asked_days) {
        line(out, "retention");
        fprintf(out, "conversations %u days, with decisions %u days (0: for ever)\n",
                c->retain_plain_days, c->retain_asked_days);
    }
    explain_kinds(out, c);
    put_list(out, "origins", &c->origins);
    put_list(out, "hosts", &c->hosts);
    put_list(out, "cors", &c->cors);
    put_list(out, "page.embed", &c->embed);
    put_list(out, "proxies", &c->proxies);
    explain_each(c, out);
    cfg_changed(c, explain_limit, out);
    for (size_t i = 0; i < c->warnings.count; i++) {
        line(out, "warning");
        cfg_put(out, c->warnings.list[i], 400);
        fputc('\n', out);
    }
}
