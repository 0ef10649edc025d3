/* remote_new.c -- making a remote model from its configuration, and what is counted of all of
 * them. */
#include <stddef.h>

#include "base/clock.h"
#include "base/id.h"
#include "base/secret.h"
#include "model/remote.h"

static struct list models; /* all there are */

/* --- figures ---------------------------------------------------------------------------------- */

static void write_gauge(struct buf *out, const char *name, const char *help, size_t member)
{
    measure_head(out, name, "gauge", help);
    LIST_EACH (n, &models) {
        const struct remote *m = LIST_ITEM(n, struct remote, node);
        unsigned             v;
        memcpy(&v, (const char *)m + member, sizeof v);
        buf_printf(out, "%s{", name);
        measure_label(out, "model", m->model.name);
        buf_printf(out, "} %u\n", v);
    }
}

static void write_seconds(struct buf *out, const char *name, const char *help, size_t member)
{
    measure_head(out, name, "histogram", help);
    LIST_EACH (n, &models) {
        const struct remote *m = LIST_ITEM(n, struct remote, node);
        measure_seconds_write(out, name, "model", m->model.name,
                              (const struct measure_seconds *)((const char *)m + member));
    }
}

/* Several failures have one code: what can be done about them is the same. */
static void write_errors(struct buf *out, const struct remote *m)
{
    for (int f = FAIL_NONE + 1; f < FAIL_COUNT; f++) {
        uint64_t sum = 0;
        bool     first = true;
        for (int k = FAIL_NONE + 1; k < FAIL_COUNT; k++) {
            if (strcmp(fail_code((enum fail)k), fail_code((enum fail)f)) != 0) continue;
            if (k < f) first = false;
            sum += m->errors[k];
        }
        if (!first || !sum) continue;
        buf_lit(out, "parley_model_errors_total{");
        measure_label(out, "model", m->model.name);
        buf_printf(out, ",code=\"%s\"} %llu\n", fail_code((enum fail)f), (unsigned long long)sum);
    }
}

void model_metrics(struct buf *out)
{
    if (!models.next) return;
    write_gauge(out, "parley_model_calls", "Calls that a model is answering",
                offsetof(struct remote, calls));
    write_gauge(out, "parley_model_calls_waiting", "Calls that wait for a place",
                offsetof(struct remote, waiting));
    write_seconds(out, "parley_model_seconds", "How long answers took, from asking to their end",
                  offsetof(struct remote, answers));
    write_seconds(out, "parley_model_first_byte_seconds", "How long answers took to begin",
                  offsetof(struct remote, first_byte));
    measure_head(out, "parley_model_errors_total", "counter",
                 "Attempts that failed, by what it was");
    LIST_EACH (n, &models) write_errors(out, LIST_ITEM(n, struct remote, node));
}

/* --- making one ------------------------------------------------------------------------------- */

static void free_model(struct model *model)
{
    struct remote *m = LIST_ITEM(model, struct remote, model);
    list_remove(&m->node);
    upstream_wait_stop(&m->gate);
    headers_free(m->headers);
    arena_done(&m->arena);
    mem_free(m);
}

static uint64_t away_ms(const struct model *model)
{
    const struct remote *m = LIST_ITEM(model, struct remote, model);
    uint64_t             now = clock_mono_ms();
    return m->away_until_ms > now ? m->away_until_ms - now : 0;
}

static const struct model_ops ops = { remote_start, remote_cancel,   free_model,  away_ms,
                                      NULL,         remote_stripped, remote_waits };

static bool is_plain(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if ((unsigned char)s.ptr[i] < ' ' || s.ptr[i] == 127) return false;
    return true;
}

/* "Name: prefix value", wiped behind it: the value may be the key. */
static bool add_header(struct remote *m, struct str name, const char *prefix, struct str value)
{
    struct buf line;
    buf_init(&line, 16384);
    /* at once: growing would leave copies behind */
    buf_room(&line, name.len + strlen(prefix) + value.len + 8);
    buf_printf(&line, STR_FMT ": %s", STR_ARG(name), prefix);
    buf_str(&line, value);
    buf_chr(&line, '\0');
    bool ok = !line.err && headers_add(&m->headers, line.ptr);
    secret_wipe(line.ptr, line.cap);
    buf_done(&line);
    return ok;
}

static bool own_header(struct remote *m, const struct model_config *c, const char *name,
                       const char *prefix, struct str value)
{
    for (size_t i = 0; i < c->header_count; i++)
        if (str_eq_nocase(c->headers[i].name, str_c(name))) return true;
    return add_header(m, str_c(name), prefix, value);
}

static bool add_headers(struct remote *m, const struct model_config *c)
{
    const char        *name, *prefix;
    const struct wire *w = m->wire;
    /* no "100-continue": it costs a round trip */
    bool               ok = headers_add(&m->headers, "Expect:") &&
              own_header(m, c, "Content-Type", "", STR("application/json")) &&
              own_header(m, c, "Accept", "", STR("text/event-stream")) &&
              own_header(m, c, "User-Agent", "parley/", STR(PARLEY_VERSION));
    if (w->version_header)
        ok = ok && own_header(m, c, w->version_header, "",
                              c->version.len ? c->version : str_c(w->version));
    w->key_header(c, &name, &prefix);
    if (c->api_key.len) ok = ok && own_header(m, c, name, prefix, c->api_key);
    for (size_t i = 0; i < c->header_count; i++)
        ok = ok && add_header(m, c->headers[i].name, "", c->headers[i].value);
    return ok;
}

static const char *check_config(const struct model_config *c, const struct wire *w)
{
    if (!w) return "The provider is not known, or no remote one.";
    if (!c->model.len) return "The model has no name (\"model\").";
    if (!is_plain(c->model) || !is_plain(c->base_url) || !is_plain(c->version))
        return "The model's name, version or base_url has a character that cannot be sent.";
    if (c->base_url.len && !str_starts(c->base_url, STR("http://")) &&
        !str_starts(c->base_url, STR("https://")))
        return "base_url must begin with http:// or https://.";
    if (!is_plain(c->api_key))
        return "The API key has a character that cannot be sent, such as a line break.";
    if (c->extra && c->extra->type != JSON_OBJECT) return "\"extra\" must be an object.";
    if (jv_is(c->thinking, JSON_NULL) || jv_is(c->thinking, JSON_ARRAY))
        return "\"thinking\" must be true, false, a number of tokens, a word or an object.";
    for (size_t i = 0; i < c->header_count; i++)
        if (!id_valid(c->headers[i].name, 128) || !is_plain(c->headers[i].value))
            return "A header has a name or value that cannot be sent.";
    return NULL;
}

static void fill_defaults(struct model_config *c)
{
    if (!c->connect_ms) c->connect_ms = MODEL_CONNECT_S * 1000;
    if (!c->first_byte_ms) c->first_byte_ms = MODEL_FIRST_BYTE_S * 1000;
    if (!c->idle_ms) c->idle_ms = MODEL_IDLE_S * 1000;
    if (!c->total_ms) c->total_ms = MODEL_TOTAL_S * 1000;
    if (!c->response_max) c->response_max = MODEL_RESPONSE_MAX;
    if (!c->concurrent) c->concurrent = MODEL_CONCURRENT;
}

static const struct jv *copy_tree(struct arena *a, const struct jv *v)
{
    struct jv *copy = NULL;
    if (v && json_parse(a, arena_dup(a, v->raw), &copy, NULL) != OK) a->failed = true;
    return copy;
}

static void copy_config(struct remote *m, const struct model_config *c)
{
    struct model_config *to = &m->config;
    struct arena        *a = &m->arena;
    *to = *c;
    to->name = arena_dup(a, c->name.len ? c->name : c->model);
    to->provider = str_c(provider_find(c->provider)->name);
    to->model = arena_dup(a, c->model);
    to->base_url = arena_dup(a, c->base_url);
    to->thinking = copy_tree(a, c->thinking);
    to->extra = copy_tree(a, c->extra);
    to->version = arena_dup(a, c->version);
    to->api_key = STR_NONE;
    to->headers = NULL;
    to->header_count = 0;
    fill_defaults(to);
}

static void write_url(struct remote *m, struct str base)
{
    struct buf url;
    if (!base.len) base = str_c(m->wire->base_url);
    while (str_ends(base, STR("/"))) base = str_cut(base, base.len - 1);
    buf_init(&url, 8192);
    m->wire->url(&url, base, m->config.model);
    if (url.err) m->arena.failed = true;
    m->url = arena_dup(&m->arena, buf_view(&url));
    buf_done(&url);

    ptrdiff_t  at = str_find(m->url, STR("://"));
    struct str rest = str_from(m->url, at < 0 ? 0 : (size_t)at + 3);
    if (!str_split(&rest, '/', &m->host)) m->host = STR("the model service");
    at = str_find(m->host, STR("@")); /* user:password@ is not for people */
    if (at >= 0) m->host = str_from(m->host, (size_t)at + 1);
}

struct model *model_remote_new(struct upstream *up, const struct model_config *c, struct str *why)
{
    const struct wire *w = wire_find(c->provider);
    const char        *wrong = check_config(c, w);
    struct remote     *m = wrong ? NULL : mem_alloc(sizeof *m);
    if (!m) {
        *why = str_c(wrong ? wrong : "Out of memory.");
        return NULL;
    }
    m->up = up;
    m->wire = w;
    if (!models.next) list_init(&models);
    list_add(&models, &m->node);
    list_init(&m->line);
    arena_init(&m->arena, 0);
    copy_config(m, c);
    write_url(m, c->base_url);
    m->model = (struct model){ &ops, m->config.name, m->config.provider, m->config.model };
    m->model.how = model_how(&m->arena, &m->config, m->host);
    if (add_headers(m, c) && !m->arena.failed) return &m->model;
    *why = STR("Out of memory.");
    free_model(&m->model);
    return NULL;
}
