/* sent.c -- a request as a model was sent it, written once more: for whoever asks why. */
#include "model/wire.h"

struct str model_how(struct arena *a, const struct model_config *c, struct str host)
{
    struct buf   b;
    struct jsonw w;
    buf_init(&b, 0);
    jsonw_init(&w, &b);
    jw_arr(&w);
    jw_obj(&w);
    jw_kstr(&w, "name", c->name);
    jw_kstr(&w, "provider", c->provider);
    jw_kstr(&w, "model", c->model);
    if (c->base_url.len) jw_kstr(&w, "host", host);
    if (c->version.len) jw_kstr(&w, "version", c->version);
    if (c->max_tokens) jw_kint(&w, "max_tokens", c->max_tokens);
    if (c->thinking) jw_kraw(&w, "thinking", c->thinking->raw);
    if (c->extra) jw_kraw(&w, "extra", c->extra->raw);
    if (c->no_cache_marks) jw_kbool(&w, "no_cache_marks", true);
    if (c->replay_reasoning) jw_kbool(&w, "replay_reasoning", true);
    jw_end_obj(&w);
    jw_end_arr(&w);
    return buf_into(&b, a);
}

/* The other way round; an address tells a wire only whether it is the vendor's own. */
static struct model_config read_how(struct arena *a, const struct jv *v)
{
    struct str host = jv_str_at(v, "host");
    return (struct model_config){
        .name = jv_str_at(v, "name"),
        .provider = jv_str_at(v, "provider"),
        .model = jv_str_at(v, "model"),
        .base_url = host.len ? arena_printf(a, "https://" STR_FMT, STR_ARG(host)) : STR_NONE,
        .version = jv_str_at(v, "version"),
        .max_tokens = jv_int_at(v, "max_tokens", 0),
        .thinking = jv_get(v, "thinking"),
        .extra = jv_get(v, "extra"),
        .no_cache_marks = jv_true(jv_get(v, "no_cache_marks")),
        .replay_reasoning = jv_true(jv_get(v, "replay_reasoning")),
    };
}

static const struct jv *find(const struct jv *how, struct str name)
{
    JV_EACH (v, how)
        if (!name.len || str_eq(jv_str_at(v, "name"), name)) return v;
    return NULL;
}

static bool is_mixed(const struct jv *how)
{
    JV_EACH (v, how)
        if (!str_eq(jv_str_at(v, "provider"), jv_str_at(how->child, "provider"))) return true;
    return false;
}

static void strip(struct arena *a, const struct wire *w, struct buf *body)
{
    struct jv *v = NULL;
    struct str signed_body = arena_dup(a, buf_view(body));
    buf_clear(body);
    if (!w->unsigned_body || json_parse(a, signed_body, &v, NULL)) body->err = ERR_NOMEM;
    else w->unsigned_body(body, v);
}

bool model_sent(struct buf *out, const struct jv *how, struct str name, bool stripped,
                const struct model_request *q)
{
    const struct jv     *v = find(how, name);
    const struct wire   *w = v ? wire_find(jv_str_at(v, "provider")) : NULL;
    bool                 sent = w != NULL;
    struct model_request shown = *q;
    int64_t              tokens;
    struct arena         a;
    if (!sent) w = &wire_openai;
    arena_init(&a, 0);
    struct model_config c = read_how(&a, v);
    if (is_mixed(how) && !fallback_show(&a, q, c.provider, &shown)) out->err = ERR_NOMEM;
    else wire_body(w, out, &c, &shown, &tokens);
    if (stripped && !out->err) strip(&a, w, out);
    if (a.failed) out->err = ERR_NOMEM;
    arena_done(&a);
    return sent;
}
