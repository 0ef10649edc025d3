/* config_model.c -- which models there are, and which one is used and why.
 *
 * "model" in the file wins. Without "model" and "models" the environment picks: the
 * first provider (model/providers.c) whose key is set there, or whose address, where that is
 * enough; with none of them the demo model. c->model_why says which and why.
 *
 * A key from the environment is never sent to an address that the file names:
 * a base_url without api_key goes without a key.
 */
#include <stdlib.h>

#include "config/config_private.h"
#include "model/provider.h"

static const char *env(const char *name)
{
    const char *v = name ? getenv(name) : NULL;
    return v && *v ? v : NULL;
}

static struct str env_copy(struct config_build *b, const char *name)
{
    return arena_dup(&b->c->arena, str_c(env(name)));
}

static struct str env_key(struct config_build *b, const char *name)
{
    struct str key = str_trim(env_copy(b, name));

    cfg_remember(b, key);
    for (size_t i = 0; i < key.len; i++)
        if ((unsigned char)key.ptr[i] <= ' ') {
            cfg_bad(b, NULL,
                    "the environment variable %s has a blank or a line break in it; set it to the "
                    "key alone",
                    name);
            break;
        }
    return key;
}

/* Two per provider at most: there are few of them. */
struct names {
    const char *list[32];
    size_t      count;
};

/* "a, b or c" */
static struct str joined(struct config_build *b, const struct names *n, const char *quote,
                         const char *last)
{
    struct buf text;

    buf_init(&text, 0);
    for (size_t i = 0; i < n->count; i++)
        buf_printf(&text, "%s%s%s%s%s%s",
                   i == 0             ? ""
                   : i + 1 < n->count ? ", "
                                      : " ",
                   i && i + 1 == n->count ? last : "", i && i + 1 == n->count ? " " : "", quote,
                   n->list[i], quote);
    struct str copy = arena_dup(&b->c->arena, buf_view(&text));
    buf_done(&text);
    return copy;
}

/* Tokens of a request and its answer, as the providers say: by how the name begins, the first that
 * fits. Too small is only early; too large is found out by the provider's own "too long". */
static const struct {
    const char *name;
    int64_t     tokens;
} WINDOWS[] = {
    { "claude-", 200000 }, { "gemini-", 1048576 }, { "gpt-4.1", 1047576 }, { "gpt-4o", 128000 },
    { "gpt-5", 400000 },   { "o3", 200000 },       { "o4-", 200000 },
};

static int64_t known_window(struct str model)
{
    for (size_t i = 0; i < sizeof WINDOWS / sizeof *WINDOWS; i++)
        if (str_starts(model, str_c(WINDOWS[i].name))) return WINDOWS[i].tokens;
    return 0;
}

/* What is left of it for the request. */
static void set_context(struct config_build *b, struct config_model *m, int64_t said)
{
    int64_t window = said                  ? said
                     : b->c->context_limit ? b->c->context_limit
                                           : known_window(m->model);
    m->context = window > 2 * m->max_tokens ? window - m->max_tokens : window / 2;
}

/* A model with everything that has a default. */
static struct config_model *add(struct config_build *b, struct str name, const struct provider *p)
{
    struct config_model *m = &b->c->models[b->c->model_count++];

    *m = (struct config_model){
        .name = name,
        .provider = str_c(p->name),
        .model = str_c(p->usual),
        .max_tokens = b->c->max_tokens,
        .connect_ms = cfg_ms("models.*.timeouts.connect", NULL),
        .first_byte_ms = cfg_ms("models.*.timeouts.first_byte", NULL),
        .idle_ms = cfg_ms("models.*.timeouts.idle", NULL),
        .total_ms = cfg_ms("models.*.timeouts.total", NULL),
        .wait_max_ms = cfg_ms("models.*.timeouts.wait", NULL),
        .retries = (unsigned)cfg_int("models.*.retries", NULL),
        .concurrent = (unsigned)cfg_int("models.*.concurrent", NULL),
    };
    return m;
}

/* --- one model of the file -------------------------------------------------------- */

static void read_key(struct config_build *b, struct config_model *m, const struct jv *def,
                     const struct provider *p)
{
    const struct jv *v = jv_get(def, "api_key");
    bool             literal;

    if (v) {
        if (!cfg_secret(b, v, "api_key", &m->api_key, &literal)) return;
        if (literal)
            cfg_warn(b, v,
                     "the key of model \"" STR_FMT
                     "\" stands in the file; better \"env:NAME\" or \"file:PATH\"",
                     STR_ARG(m->name));
        for (size_t i = 0; i < m->api_key.len; i++)
            if ((unsigned char)m->api_key.ptr[i] <= ' ') {
                cfg_bad(b, v, "api_key has a blank or a line break in it; take it out");
                return;
            }
    } else if (p->key && !jv_get(def, "base_url")) {
        if (env(p->key)) m->api_key = env_key(b, p->key);
        else
            cfg_bad(b, def,
                    "model \"" STR_FMT "\" has no key: set %s, or add \"api_key\": \"env:NAME\"",
                    STR_ARG(m->name), p->key);
    }
}

static void read_headers(struct config_build *b, struct config_model *m, const struct jv *headers)
{
    if (!jv_is(headers, JSON_OBJECT)) return;
    m->headers = cfg_array(b, headers->count, sizeof *m->headers);
    if (!m->headers) return;
    JV_EACH (v, headers)
        if (cfg_header(b, v, &m->headers[m->header_count])) m->header_count++;
}

static void read_timeouts(struct config_model *m, const struct jv *t)
{
    m->connect_ms = cfg_ms("models.*.timeouts.connect", jv_get(t, "connect"));
    m->first_byte_ms = cfg_ms("models.*.timeouts.first_byte", jv_get(t, "first_byte"));
    m->idle_ms = cfg_ms("models.*.timeouts.idle", jv_get(t, "idle"));
    m->total_ms = cfg_ms("models.*.timeouts.total", jv_get(t, "total"));
    m->wait_max_ms = cfg_ms("models.*.timeouts.wait", jv_get(t, "wait"));
}

static void read_prices(struct config_build *b, struct config_model *m, const struct jv *v)
{
    const struct jv *currency = jv_get(v, "currency");
    bool             good = jv_str(currency).len == 3;

    if (jv_is(v, JSON_OBJECT)) m->prices = v;
    m->price_in = cfg_micro(jv_get(v, "input"));
    m->price_out = cfg_micro(jv_get(v, "output"));
    if (!jv_is(currency, JSON_STRING)) return;
    for (size_t i = 0; good && i < 3; i++)
        good = currency->str.ptr[i] >= 'A' && currency->str.ptr[i] <= 'Z';
    if (!good)
        cfg_bad(b, currency, "\"currency\" is written with its three letters, such as \"EUR\"");
}

static void read_thinking(struct config_build *b, struct config_model *m, const struct jv *v)
{
    int64_t n;

    if (!v) return;
    if (v->type == JSON_NUMBER && (!jv_int(v, &n) || n < 0 || n > 10000000)) {
        cfg_bad(b, v, "\"thinking\" as a number is a count of tokens: a whole number from 0");
        return;
    }
    m->thinking = v;
}

static void check_address(struct config_build *b, const struct config_model *m, const struct jv *at)
{
    if (m->api_key.ptr && str_starts(m->base_url, STR("http://")) &&
        !cfg_url_is_loopback(m->base_url))
        cfg_warn(b, at,
                 "the key of model \"" STR_FMT
                 "\" travels unencrypted; use https:// in \"base_url\"",
                 STR_ARG(m->name));
}

static void no_provider(struct config_build *b, struct str name, const struct jv *def)
{
    struct names all = { 0 };

    for (size_t i = 0; i < provider_count(); i++) all.list[all.count++] = provider_at(i)->name;
    cfg_bad(b, def, "model \"" STR_FMT "\" has no provider: add \"provider\": " STR_FMT,
            STR_ARG(name), STR_ARG(joined(b, &all, "\"", "or")));
}

static void read_model(struct config_build *b, struct str name, const struct jv *def)
{
    struct str             word = jv_str_at(def, "provider"), own = jv_str_at(def, "model");
    const struct provider *p = provider_find(word);

    if (!jv_is(def, JSON_OBJECT)) return;
    if (!p) {
        if (!jv_get(def, "provider")) no_provider(b, name, def);
        p = provider_demo(); /* goes on, so that names bind and further mistakes are found */
    }
    struct config_model *m = add(b, name, p);
    if (own.len) m->model = own;
    else if (own.ptr)
        cfg_bad(b, jv_get(def, "model"),
                "\"model\" is empty; write the provider's name for the model");
    m->version = jv_str_at(def, "version");
    m->auth = jv_str_at(def, "auth");
    if (jv_get(def, "max_tokens"))
        m->max_tokens = cfg_int("models.*.max_tokens", jv_get(def, "max_tokens"));
    if (jv_get(def, "retries"))
        m->retries = (unsigned)cfg_int("models.*.retries", jv_get(def, "retries"));
    if (jv_get(def, "concurrent"))
        m->concurrent = (unsigned)cfg_int("models.*.concurrent", jv_get(def, "concurrent"));
    if (jv_get(def, "base_url") &&
        cfg_url(b, jv_get(def, "base_url"), "\"base_url\"", &m->base_url) &&
        str_find(m->base_url, STR("?")) >= 0)
        cfg_bad(b, jv_get(def, "base_url"), "\"base_url\" has a query; end it before the '?'");
    set_context(b, m, jv_int_at(jv_get(def, "context"), "limit", 0));
    read_timeouts(m, jv_get(def, "timeouts"));
    read_thinking(b, m, jv_get(def, "thinking"));
    read_prices(b, m, jv_get(def, "prices"));
    cfg_read_options(b, m, def);
    read_key(b, m, def, p);
    read_headers(b, m, jv_get(def, "headers"));
    check_address(b, m, jv_get(def, "base_url"));
}

/* --- lists -------------------------------------------------------------------------- */

static const struct config_model *named(struct config_build *b, const struct jv *v)
{
    const struct config_model *m = config_model(b->c, jv_str(v));
    struct cfg_guess           g = { .want = jv_str(v) };

    if (m || !jv_is(v, JSON_STRING) || !b->c->models) return m;
    if (provider_is_demo(v->str)) return add(b, v->str, provider_demo()); /* needs no entry */
    for (size_t i = 0; i < b->c->model_count; i++) cfg_guess_add(&g, b->c->models[i].name);
    cfg_bad(b, v, "no model is called \"" STR_FMT "\"%s; describe it under \"models\"",
            STR_ARG(v->str), cfg_guess_text(b, &g));
    return NULL;
}

static void append(struct config_build *b, struct config_models *out, const struct jv *v)
{
    const struct config_model *m = named(b, v);

    if (!m) return;
    for (size_t i = 0; i < out->count; i++)
        if (out->list[i] == m) {
            cfg_bad(b, v, "model \"" STR_FMT "\" is listed twice; take one out", STR_ARG(m->name));
            return;
        }
    out->list[out->count++] = m;
    if (provider_is_demo(m->provider)) b->c->demo_model = true;
}

void cfg_model_list(struct config_build *b, const struct jv *v, struct config_models *out)
{
    *out =
        (struct config_models){ cfg_array(b, v->type == JSON_ARRAY ? v->count : 1, sizeof(void *)),
                                0 };
    if (!out->list) return;
    if (v->type == JSON_STRING) append(b, out, v);
    if (v->type != JSON_ARRAY) return;
    JV_EACH (item, v) append(b, out, item);
    if (v->count == 0)
        cfg_bad(b, v, "the list of models is empty; name at least one, or leave \"model\" out");
}

/* --- which one ------------------------------------------------------------------------ */

static void use(struct config_build *b, const struct config_model *m)
{
    b->c->model.list = cfg_array(b, 1, sizeof(void *));
    if (!b->c->model.list) return;
    b->c->model.list[0] = m;
    b->c->model.count = 1;
    if (provider_is_demo(m->provider)) b->c->demo_model = true;
}

static const char *found_in_env(const struct provider *p)
{
    if (env(p->key)) return p->key;
    return p->keyless && env(p->base_url) ? p->base_url : NULL;
}

static void from_env(struct config_build *b, const struct provider *p, const char *reason)
{
    struct config_model *m = add(b, STR("default"), p);

    if (env(p->key)) m->api_key = env_key(b, p->key);
    if (env(p->model)) m->model = env_copy(b, p->model);
    set_context(b, m, 0);
    if (env(p->base_url)) {
        struct jv v = { .type = JSON_STRING, .str = env_copy(b, p->base_url) };
        if (cfg_url(b, &v, p->base_url, &m->base_url)) check_address(b, m, NULL);
    }
    b->c->model_why = arena_printf(
        &b->c->arena, "%s is set and the configuration names no model (%s)", reason,
        env(p->model) ? "the name is from the environment too"
                      : "another one: \"model\" in the configuration, or the *_MODEL variable");
    use(b, m);
}

static void choose(struct config_build *b)
{
    struct names searched = { 0 };

    for (size_t i = 0; i < provider_count(); i++) {
        const struct provider *p = provider_at(i);
        const char            *reason = found_in_env(p);
        if (reason) {
            from_env(b, p, reason);
            return;
        }
        if (p->key) searched.list[searched.count++] = p->key;
        if (p->keyless) searched.list[searched.count++] = p->base_url;
    }
    b->c->model_why = arena_printf(
        &b->c->arena, "the configuration names no model, and none of " STR_FMT " is set",
        STR_ARG(joined(b, &searched, "", "and")));
    use(b, add(b, str_c(provider_demo()->name), provider_demo()));
}

static void only_named(struct config_build *b, const struct jv *models)
{
    if (b->c->model_count == 1) {
        b->c->model_why = STR("it is the only one under \"models\"");
        use(b, &b->c->models[0]);
    } else if (models->count > 1) {
        cfg_bad(b, models,
                "\"models\" has several models; add \"model\" with the name of the one to use, or "
                "a list of names");
    } else {
        cfg_bad(b, models, "\"models\" has no models; add one or take it out");
    }
}

void cfg_read_models(struct config_build *b)
{
    const struct jv *model = jv_get(b->root, "model"), *models = jv_get(b->root, "models");
    struct config   *c = b->c;

    /* One more for "model" as an object, one for the demo model that needs no entry. */
    c->models =
        cfg_array(b, (jv_is(models, JSON_OBJECT) ? models->count : 0) + 2, sizeof *c->models);
    if (!c->models) return;
    if (jv_is(models, JSON_OBJECT))
        JV_EACH (v, models) read_model(b, v->key, v);
    if (!model) {
        if (models) only_named(b, models);
        else choose(b);
        return;
    }
    c->model_why = STR("the configuration says so");
    if (model->type != JSON_OBJECT) {
        cfg_model_list(b, model, &c->model);
    } else if (config_model(c, STR("default"))) {
        cfg_bad(b, model,
                "\"model\" describes a model although \"models\" has one called \"default\"; "
                "rename that one");
    } else {
        read_model(b, STR("default"), model);
        use(b, &c->models[c->model_count - 1]);
    }
}
