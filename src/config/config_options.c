/* config_options.c -- how a model is to speak: temperature and the like, under one name for all
 * wires, and "options", which are the provider's own and passed on as they are.
 *
 * What a provider does not have is an error here, not a refused request later.
 */
#include "base/jsonw.h"
#include "config/config_private.h"

/* NULL: it has none */
static const struct option {
    const char *key, *anthropic, *openai, *gemini;
} OPTIONS[] = {
    { "temperature", "temperature", "temperature", "temperature" },
    { "top_p", "top_p", "top_p", "topP" },
    { "top_k", "top_k", NULL, "topK" },
    { "seed", NULL, "seed", "seed" },
    { "stop", "stop_sequences", "stop", "stopSequences" },
};
#define OPTION_COUNT (sizeof OPTIONS / sizeof *OPTIONS)
/* Anthropic's services of later versions answer these with 400. */
#define SAMPLING      3
#define SAMPLING_THEN "2023-06-01"

static const char *name_of(const struct option *o, struct str provider)
{
    if (str_is(provider, "anthropic")) return o->anthropic;
    return str_is(provider, "gemini") ? o->gemini : o->openai;
}

static bool write_own(struct config_build *b, struct config_model *m, const struct jv *def,
                      struct jsonw *w)
{
    bool later = str_is(m->provider, "anthropic") && !str_is(m->version, SAMPLING_THEN);
    bool any = false;

    for (size_t i = 0; i < OPTION_COUNT; i++) {
        const struct jv *v = jv_get(def, OPTIONS[i].key);
        const char      *name = name_of(&OPTIONS[i], m->provider);
        if (!v) continue;
        any = true;
        if (!name)
            cfg_bad(b, v, "models of " STR_FMT " have no \"%s\"; take it out", STR_ARG(m->provider),
                    OPTIONS[i].key);
        else if (later && i < SAMPLING)
            cfg_bad(b, v,
                    "\"%s\" is refused by this service since its later versions; take it out, or "
                    "set \"version\": \"" SAMPLING_THEN "\" for a model that still has it",
                    OPTIONS[i].key);
        else {
            jw_key(w, name);
            jw_jv(w, v);
        }
    }
    return any;
}

static void write_members(struct jsonw *w, const struct jv *obj, const char *but)
{
    JV_EACH (v, obj) {
        if (but && str_is(v->key, but)) continue;
        jw_key_str(w, v->key);
        jw_jv(w, v);
    }
}

void cfg_read_options(struct config_build *b, struct config_model *m, const struct jv *def)
{
    const struct jv *more = jv_get(def, "options");
    bool             gemini = str_is(m->provider, "gemini");
    struct buf       text;
    struct jsonw     w;
    struct jv       *v;

    buf_init(&text, 0);
    jsonw_init(&w, &text);
    jw_obj(&w);
    if (gemini) jw_key(&w, "generationConfig"), jw_obj(&w);
    bool any = write_own(b, m, def, &w);
    if (gemini) write_members(&w, jv_get(more, "generationConfig"), NULL), jw_end_obj(&w);
    write_members(&w, more, gemini ? "generationConfig" : NULL);
    jw_end_obj(&w);
    if (any || more) {
        if (!text.err &&
            json_parse(&b->c->arena, arena_dup(&b->c->arena, buf_view(&text)), &v, NULL) == OK)
            m->options = v;
        else if (!b->c->arena.failed)
            cfg_bad(b, more ? more : def,
                    "\"options\" says something that has a key of its own; "
                    "say it once");
    }
    buf_done(&text);
}
