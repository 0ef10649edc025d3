/* config.c -- reading the configuration: the file, the order of the parts, the errors.
 *
 * file -> text -> tree -> table (config_keys.c) -> parts -> whole. Each stage notes
 * what is wrong and the next one runs all the same, except that a text which is
 * no JSON has no further stages. Only a configuration without errors is handed out.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>

#include "base/address.h"
#include "base/file.h"
#include "base/glyph.h"
#include "base/utf8.h"
#include "config/config_private.h"
#include "node/link.h"

#define DEFAULT_FILE "parley.json"
/* Far above any real file; a path that leads to something else must not fill the memory. */
#define FILE_MAX (4 * 1024 * 1024)
/* Keeps a hostile or endless file from filling the list of warnings. */
#define WARNINGS_MAX 100

/* --- errors and warnings --------------------------------------------------------------- */

/* Keys and values are shown on a terminal: nothing in them may move its cursor, or turn a line. */
static void make_printable(char *z)
{
    uint32_t cp;

    for (size_t n; *z; z += n) {
        n = utf8_decode(str_c(z), &cp);
        /* half a character: text is cut by bytes */
        bool cut = n == 1 && (unsigned char)*z >= 0x80;
        if (cut || glyph_hidden(cp)) memset(z, '?', n);
    }
}

static void note(struct config_error *e, unsigned line, const char *fmt, va_list args)
{
    if (e->count == CONFIG_PROBLEMS_MAX) {
        e->more++;
        return;
    }
    struct config_problem *p = &e->problem[e->count++];
    p->line = line;
    vsnprintf(p->text, sizeof p->text, fmt, args);
    make_printable(p->text);
}

void config_error_add(struct config_error *e, const struct config *c, const struct jv *at,
                      const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    note(e, json_line(c->text, at), fmt, args);
    va_end(args);
}

void cfg_bad(struct config_build *b, const struct jv *at, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    note(b->e, json_line(b->c->text, at), fmt, args);
    va_end(args);
}

void cfg_warn(struct config_build *b, const struct jv *at, const char *fmt, ...)
{
    char                text[400];
    struct config_strs *w = &b->c->warnings;
    va_list             args;

    if (!w->list) w->list = arena_array(&b->c->arena, WARNINGS_MAX, sizeof *w->list);
    if (!w->list || w->count == WARNINGS_MAX) return;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    make_printable(text);
    unsigned line = json_line(b->c->text, at);
    w->list[w->count] = line ? arena_printf(&b->c->arena, "%s:%u: %s", b->e->file, line, text)
                             : arena_dup(&b->c->arena, str_c(text));
    if (w->list[w->count].ptr) w->count++;
}

static int by_line(const void *a, const void *b)
{
    const struct config_problem *x = a, *y = b;
    return x->line < y->line ? -1 : x->line > y->line;
}

void config_error_print(const struct config_error *e, FILE *out)
{
    for (size_t i = 0; i < e->count; i++) {
        const struct config_problem *p = &e->problem[i];
        if (p->line) fprintf(out, "%s:%u: %s\n", e->file, p->line, p->text);
        else fprintf(out, "%s: %s\n", e->file, p->text);
    }
    if (e->more) fprintf(out, "%s: and %zu more\n", e->file, e->more);
}

/* --- small helpers of the parts ----------------------------------------------------------- */

void *cfg_array(struct config_build *b, size_t count, size_t size)
{
    return arena_array(&b->c->arena, count ? count : 1, size);
}

struct config_strs cfg_strs(struct config_build *b, const struct jv *list)
{
    struct config_strs s = { NULL, 0 };

    if (!jv_is(list, JSON_ARRAY)) return s;
    s.list = cfg_array(b, list->count, sizeof *s.list);
    if (!s.list) return s;
    JV_EACH (v, list)
        if (v->type == JSON_STRING) s.list[s.count++] = v->str;
    return s;
}

void cfg_guess_add(struct cfg_guess *g, struct str candidate)
{
    unsigned d = str_distance(g->want, candidate);

    if (g->best.ptr && d >= g->distance) return;
    g->best = candidate;
    g->distance = d;
}

const char *cfg_guess_text(struct config_build *b, const struct cfg_guess *g)
{
    /* A third of the letters wrong is a slip; more is another word. */
    if (!g->best.ptr || g->distance > 1 + g->want.len / 3 || g->distance >= g->best.len) return "";
    struct str s = arena_printf(&b->c->arena, " (did you mean \"" STR_FMT "\"?)", STR_ARG(g->best));
    return s.ptr ? s.ptr : "";
}

/* --- looking up ------------------------------------------------------------------------------ */

const struct config_page *config_page(const struct config *c, struct str name)
{
    if (name.len == 0) return &c->pages[0];
    for (size_t i = 0; i < c->page_count; i++)
        if (str_eq(c->pages[i].name, name)) return &c->pages[i];
    return NULL;
}

const struct config_model *config_model(const struct config *c, struct str name)
{
    for (size_t i = 0; i < c->model_count; i++)
        if (str_eq(c->models[i].name, name)) return &c->models[i];
    return NULL;
}

const struct config_action *config_action(const struct config *c, struct str name)
{
    for (size_t i = 0; i < c->action_count; i++)
        if (str_eq(c->actions[i].name, name)) return &c->actions[i];
    return NULL;
}

bool config_has_auth(const struct config *c)
{
    return c->auth.key_count > 0 || c->auth.jwt || c->auth.oidc.issuer.ptr;
}
const char *config_scheme(const struct config *c)
{
    return c->tls_cert.len ? "https" : "http";
}
struct str config_reach(const struct config *c, struct arena *a)
{
    bool all = str_is(c->host, "0.0.0.0") || str_is(c->host, "::");
    bool v6 = !all && str_find(c->host, STR(":")) >= 0;

    return arena_printf(a, "%s://%s" STR_FMT "%s:%u", config_scheme(c), v6 ? "[" : "",
                        STR_ARG(all ? STR("127.0.0.1") : c->host), v6 ? "]" : "", c->port);
}
bool config_is_public(const struct config *c)
{
    return !config_host_is_loopback(c->host);
}

/* A program of ours, its "exec" object, that can reach this server. */
static bool has_network(bool exec, const struct jv *run)
{
    return exec && jv_true(jv_get(run, "network"));
}

bool config_needs_token(const struct config *c)
{
    bool reaches = false;

    for (size_t i = 0; i < c->tool_count; i++) {
        const struct config_tool *t = &c->tools[i];
        reaches |= has_network(t->runner == RUNNER_EXEC, t->run);
        reaches |= has_network(t->check.exec, t->check.run);
    }
    for (size_t i = 0; i < c->mcp_count; i++) {
        const struct config_mcp *m = &c->mcp[i];
        reaches |= !m->http;
        for (size_t k = 0; k < m->check_count; k++)
            reaches |= has_network(m->checks[k].exec, m->checks[k].run);
    }
    return reaches && !config_has_auth(c);
}

/* --- the address to listen on ----------------------------------------------------------------- */

bool config_host_is_loopback(struct str host)
{
    char            z[64];
    struct in_addr  v4;
    struct in6_addr v6;

    if (str_eq_nocase(host, STR("localhost"))) return true;
    if (host.len == 0 || host.len >= sizeof z) return false;
    memcpy(z, host.ptr, host.len);
    z[host.len] = '\0';
    if (inet_pton(AF_INET, z, &v4) == 1) return ntohl(v4.s_addr) >> 24 == 127;
    if (inet_pton(AF_INET6, z, &v6) != 1) return false;
    return IN6_IS_ADDR_LOOPBACK(&v6) || (IN6_IS_ADDR_V4MAPPED(&v6) && v6.s6_addr[12] == 127);
}

static const char *host_fault(struct str host, bool bracketed)
{
    char            z[64];
    struct in6_addr v6;

    if (bracketed) {
        memcpy(z, host.ptr, host.len < sizeof z ? host.len : 0);
        z[host.len < sizeof z ? host.len : 0] = '\0';
        return inet_pton(AF_INET6, z, &v6) == 1
                   ? NULL
                   : "what stands in brackets is no IPv6 address; write [::1]:8000";
    }
    if (host.len > 253) return "the host name is too long";
    for (size_t i = 0; i < host.len; i++) {
        unsigned char ch = (unsigned char)host.ptr[i];
        if (ch == ':') return "an IPv6 address goes in brackets: [::1]:8000";
        if (ch <= ' ' || ch >= 127 || strchr("/[]@\"'\\", ch))
            return "the host has a character that no host has; write 127.0.0.1:8000";
    }
    return NULL;
}

enum err config_listen_parse(struct str text, struct str *host, unsigned *port, const char **why)
{
    struct str h = STR("127.0.0.1"), digits = text;
    uint64_t   n;
    bool       bracketed = str_starts(text, STR("["));
    size_t     cut = text.len;

    while (cut > 0 && text.ptr[cut - 1] != ':') cut--; /* after the last colon */
    if (bracketed) {
        ptrdiff_t end = str_find(text, STR("]"));
        if (end < 0 || (size_t)end + 2 != cut) {
            *why = "an IPv6 address is written [::1]:8000";
            return ERR_SYNTAX;
        }
        h = str_n(text.ptr + 1, (size_t)end - 1);
    } else if (cut > 1) {
        h = str_cut(text, cut - 1);
    }
    digits = str_from(text, cut);
    if ((*why = host_fault(h, bracketed)) != NULL) return ERR_SYNTAX;
    if (!str_to_u64(digits, &n)) {
        *why = "the port is missing or no number; write HOST:PORT, for example 127.0.0.1:8000";
        return ERR_SYNTAX;
    }
    if (n > 65535) {
        *why = "a port is a number from 0 to 65535";
        return ERR_RANGE;
    }
    *host = h;
    *port = (unsigned)n;
    return OK;
}

static void read_listen(struct config_build *b)
{
    const struct jv *v = jv_get(b->root, "listen");
    struct str       text = jv_is(v, JSON_STRING) ? v->str : str_c(config_doc_at(0).otherwise);
    const char      *why, *from = "\"listen\"";

    if (b->flags->listen) {
        text = arena_dup(&b->c->arena, str_c(b->flags->listen));
        v = NULL;
        from = "--listen";
    }
    if (config_listen_parse(text, &b->c->host, &b->c->port, &why) != OK)
        cfg_bad(b, v, "%s: \"" STR_FMT "\": %s", from, STR_ARG(str_cut(text, 80)), why);
}

/* --- the rest of the simple ones -------------------------------------------------------------- */

static void read_words(struct config_build *b)
{
    static const struct {
        const char    *word;
        enum log_level level;
    } LEVELS[] = {
        { "debug", LOG_DEBUG },
        { "info", LOG_INFO },
        { "warn", LOG_WARN },
        { "error", LOG_ERROR },
    };
    struct str log = jv_str_at(b->root, "log");

    b->c->log = LOG_INFO;
    for (size_t i = 0; i < sizeof LEVELS / sizeof *LEVELS; i++)
        if (str_is(log, LEVELS[i].word)) b->c->log = LEVELS[i].level;
    b->c->model_titles = str_is(jv_str_at(b->root, "titles"), "model");
    b->c->hold = str_is(jv_str_at(jv_get(b->root, "approvals"), "on_new_message"), "hold");
}

/* "postgres://" of "postgres://user:password@host"; empty when it is a path. Nothing behind it:
 * there may be a password. */
static struct str store_scheme(struct str url)
{
    ptrdiff_t at = str_find(url, STR("://"));

    for (ptrdiff_t i = 0; i < at; i++)
        if (url.ptr[i] == '/') return STR("");
    return at > 0 && !str_starts(url, STR("sqlite:")) ? str_cut(url, (size_t)at + 3) : STR("");
}

#define NO_STORE                                                                                   \
    "there is no store for \"" STR_FMT "\"; write a path such as \"parley.db\", \"sqlite:PATH\", " \
    "or \"postgresql://USER@HOST/DATABASE\""

/* What stands beside the store's file stands in the working directory when there is none. */
static void note_store(struct config *c)
{
    struct str path = str_starts(c->store, STR("sqlite:")) ? str_from(c->store, 7) : c->store;

    c->store_shown = address_shown(&c->arena, c->store);
    if (!address_is_database(c->store)) c->store_file = path;
    if (!c->work.len)
        c->work = arena_printf(&c->arena, STR_FMT ".work",
                               STR_ARG(c->store_file.ptr ? c->store_file : STR("parley")));
}

static void read_cluster(struct config_build *b)
{
    const struct jv *v = jv_get(b->root, "cluster"), *url = jv_get(v, "url"),
                    *key = jv_get(v, "key");
    struct config *c = b->c;
    struct str     given = STR_NONE;
    const char    *why = NULL;
    bool           literal;

    if (!v) return;
    if (url && cfg_secret(b, url, "\"cluster.url\"", &given, &literal))
        c->cluster_url = link_url_plain(&c->arena, given, &why);
    if (key) (void)cfg_secret(b, key, "\"cluster.key\"", &c->cluster_key, &literal);
    if (!address_is_database(c->store))
        cfg_bad(b, v,
                "\"cluster\" is for several processes on one PostgreSQL database, and the "
                "store is a file, which one process opens; name a database in \"store\"");
    else if (!url) cfg_bad(b, v, "\"cluster\" needs \"url\": how the other nodes reach this one");
    else if (given.ptr && !c->cluster_url.ptr)
        cfg_bad(b, url, "\"cluster.url\" is not usable: %s", why);
    else if (!key)
        cfg_bad(b, v,
                "\"cluster\" needs \"key\": a secret that all nodes share, \"env:NAME\" or "
                "\"file:PATH\"");
    else if (c->cluster_key.ptr && c->cluster_key.len < CLUSTER_KEY_MIN)
        cfg_bad(b, key,
                "\"cluster.key\" is too short: at least %d characters that nobody can guess, "
                "such as those that `openssl rand -hex 32` prints",
                CLUSTER_KEY_MIN);
}

static void read_store(struct config_build *b)
{
    const struct jv *v = jv_get(b->root, "store");
    bool             literal;

    if (b->flags->store) (void)cfg_secret_word(b, b->flags->store, "--store", &b->c->store);
    else if (v) (void)cfg_secret(b, v, "\"store\"", &b->c->store, &literal);
    const char *fault = address_fault(b->c->store);
    struct str  scheme =
        fault || address_is_database(b->c->store) ? STR("") : store_scheme(b->c->store);
    if (b->flags->store) v = NULL;
    if (fault) cfg_bad(b, v, "the store's address cannot be used: %s", fault);
    if (b->c->store.len == 0)
        cfg_bad(b, v, "the store is empty; write a path such as \"parley.db\"");
    if (scheme.len) cfg_bad(b, v, NO_STORE, STR_ARG(str_cut(scheme, 40)));
    note_store(b->c);
}

/* What no single key can tell. */
static void check_whole(struct config_build *b)
{
    const struct config *c = b->c;

    if (c->host.ptr && config_is_public(c) && !config_has_auth(c))
        cfg_bad(b, b->flags->listen ? NULL : jv_get(b->root, "listen"),
                "listening on " STR_FMT " lets others in, and nobody has to say who they are: add "
                "\"auth\", or listen on 127.0.0.1",
                STR_ARG(c->host));
    if (c->host.ptr && (str_is(c->host, "0.0.0.0") || str_is(c->host, "::")) && !c->hosts.count)
        cfg_warn(b, jv_get(b->root, "listen"),
                 "listening on every address, but \"hosts\" is empty: only requests to localhost "
                 "are answered; list the names people use");
    if (c->limits.body_max > c->limits.bodies_max)
        cfg_bad(b, jv_get(jv_get(b->root, "limits"), "body"),
                "\"limits.body\" is larger than \"limits.bodies\", which all bodies share; raise "
                "that one");
    if (c->limits.head_ms > c->limits.body_ms)
        cfg_bad(b, jv_get(jv_get(b->root, "limits"), "head_seconds"),
                "\"limits.head_seconds\" is longer than \"limits.body_seconds\", which counts from "
                "the same moment");
}

/* --- loading ---------------------------------------------------------------------------------- */

static const char *syntax_hint(struct str text, const struct json_error *je)
{
    struct str rest = str_from(text, je->pos);

    if (je->why && strcmp(je->why, "duplicate key") == 0)
        return "; the same key stands above in this object, take one of them out";
    if (rest.len == 0) return "; the file ends too early: a closing '}' or ']' is missing";
    if (str_starts(rest, STR("//")) || str_starts(rest, STR("/*")) || str_starts(rest, STR("#")))
        return "; JSON has no comments, take it out";
    if (rest.ptr[0] == '\'') return "; JSON wants double quotes";
    if (rest.ptr[0] == '}' || rest.ptr[0] == ']') return "; is there a comma too many before it?";
    if (rest.ptr[0] == '"') return "; is a comma or colon missing before it?";
    return "";
}

static enum err parse(struct config_build *b)
{
    struct json_error je = { 0 };
    struct str        text = b->c->text;

    if (str_starts(text, STR("\xEF\xBB\xBF"))) { /* some editors put a mark in front */
        memset((char *)(uintptr_t)text.ptr, ' ', 3);
    }
    enum err err = json_parse(&b->c->arena, text, &b->root, &je);
    if (err == ERR_NOMEM) return err;
    if (err != OK) {
        cfg_bad(b, NULL, "column %u: %s%s", je.column, je.why ? je.why : "this is no JSON",
                syntax_hint(text, &je));
        b->e->problem[b->e->count - 1].line = je.line;
        return ERR_SYNTAX;
    }
    if (b->root->type == JSON_OBJECT) return OK;
    cfg_bad(b, b->root, "the configuration must be one object: { ... }");
    return ERR_SYNTAX;
}

static enum err build(struct config_build *b)
{
    if (b->c->text.ptr) {
        enum err err = parse(b);
        if (err) return err;
        b->c->root = b->root;
    }
    cfg_defaults(b->c);
    cfg_check_keys(b);
    read_listen(b);
    read_words(b);
    read_store(b);
    read_cluster(b);
    cfg_read_models(b);
    cfg_read_tools(b);
    cfg_read_mcp(b);
    cfg_read_pages(b);
    cfg_read_demo(b); /* a page may have brought the demo model in, and that its tools */
    cfg_check_pages(b);
    cfg_read_look(b);
    cfg_read_actions(b);
    cfg_read_budgets(b);
    cfg_read_auth(b);
    cfg_read_origins(b);
    cfg_read_openai(b);
    cfg_read_door(b);
    cfg_read_approvals(b);
    cfg_read_audit(b);
    cfg_read_otel(b);
    cfg_read_tls(b);
    check_whole(b);
    if (b->c->arena.failed) return ERR_NOMEM;
    return b->e->count ? ERR_SYNTAX : OK;
}

static void start(struct config *c, struct config_error *e, const char *name)
{
    memset(c, 0, sizeof *c);
    arena_init(&c->arena, 0);
    e->count = e->more = 0;
    snprintf(e->file, sizeof e->file, "%s", name);
    make_printable(e->file);
}

static enum err finish(struct config_build *b, enum err err)
{
    if (err == OK) return OK;
    if (err == ERR_NOMEM) cfg_bad(b, NULL, "there is not enough memory to read it");
    qsort(b->e->problem, b->e->count, sizeof *b->e->problem, by_line);
    config_done(b->c);
    return err;
}

static const struct config_flags NO_FLAGS;

enum err config_load_text(struct config *c, struct str text, const char *name,
                          const struct config_flags *f, struct config_error *e)
{
    struct config_build b = { .c = c, .e = e, .flags = f ? f : &NO_FLAGS };

    start(c, e, name);
    c->path = arena_dup(&c->arena, str_c(name));
    c->text = arena_dup(&c->arena, text.ptr ? text : STR(""));
    return finish(&b, c->text.ptr && c->path.ptr ? build(&b) : ERR_NOMEM);
}

static enum err unreadable(struct config *c, struct config_error *e, const char *path,
                           const char *why, enum err err)
{
    struct config_build b = { .c = c, .e = e, .flags = &NO_FLAGS };

    start(c, e, path);
    cfg_bad(&b, NULL, "cannot read it: %s", why);
    return finish(&b, err);
}

enum err config_load_flags(struct config *c, const struct config_flags *f, struct config_error *e)
{
    const char *path = f->path ? f->path : DEFAULT_FILE;
    struct buf  text;

    buf_init(&text, FILE_MAX);
    const char *why = file_read(path, &text);
    bool        absent = why && errno == ENOENT;
    enum err    err;
    if (absent && !f->path) {
        struct config_build b = { .c = c, .e = e, .flags = f };
        start(c, e, "parley");
        err = finish(&b, build(&b));
    } else if (why) {
        err = unreadable(c, e, path, why, absent ? ERR_NOT_FOUND : ERR_IO);
    } else {
        err = config_load_text(c, buf_view(&text), path, f, e);
    }
    if (text.ptr) explicit_bzero(text.ptr, text.cap);
    buf_done(&text);
    return err;
}

enum err config_address(struct config *c, const char *option, const char *word, struct str *out,
                        struct config_error *e)
{
    struct config_build b = { .c = c, .e = e, .flags = &NO_FLAGS };

    start(c, e, "parley");
    if (cfg_secret_word(&b, word, option, out)) {
        const char *fault = address_fault(*out);
        struct str  scheme = address_is_database(*out) ? STR("") : store_scheme(*out);
        if (!fault && !scheme.len) return OK;
        if (fault) cfg_bad(&b, NULL, "%s: the address cannot be used: %s", option, fault);
        else cfg_bad(&b, NULL, "%s: " NO_STORE, option, STR_ARG(str_cut(scheme, 40)));
    }
    return finish(&b, c->arena.failed ? ERR_NOMEM : ERR_SYNTAX);
}

void config_done(struct config *c)
{
    for (struct config_secret *s = c->secrets; s; s = s->next)
        if (s->text.ptr) explicit_bzero((char *)(uintptr_t)s->text.ptr, s->text.len);
    if (c->text.ptr) explicit_bzero((char *)(uintptr_t)c->text.ptr, c->text.len);
    arena_done(&c->arena);
    memset(c, 0, sizeof *c);
}
