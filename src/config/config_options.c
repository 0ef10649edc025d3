/* config_options.c -- how a model is to speak: temperature and the like, under one name for all
 * wires (the wires' own are in model/providers.c), and "options", which are the provider's own and
 * passed on as they are.
 *
 * What a provider does not have is an error here, not a refused request later.
 */
#include "base/jsonw.h"
#include "config/config_private.h"
#include "model/provider.h"

static const char *const KEYS[OPTION_COUNT] = {
    [OPTION_TEMPERATURE] = "temperature",
    [OPTION_TOP_P] = "top_p",
    [OPTION_TOP_K] = "top_k",
    [OPTION_SEED] = "seed",
    [OPTION_STOP] = "stop",
};

/* Later versions of such a service answer these with 400. */
static bool is_refused(const struct provider *p, const struct config_model *m, size_t option)
{
    return option <= OPTION_TOP_K && p->sampled && !str_is(m->version, p->sampled);
}

static bool write_own(struct config_build *b, struct config_model *m, const struct jv *def,
                      struct jsonw *w)
{
    const struct provider *p = provider_find(m->provider);
    bool                   any = false;

    for (size_t i = 0; i < OPTION_COUNT; i++) {
        const struct jv *v = jv_get(def, KEYS[i]);
        if (!v) continue;
        any = true;
        if (!p->options[i])
            cfg_bad(b, v, "models of " STR_FMT " have no \"%s\"; take it out", STR_ARG(m->provider),
                    KEYS[i]);
        else if (is_refused(p, m, i))
            cfg_bad(b, v,
                    "\"%s\" is refused by this service since its later versions; take it out, or "
                    "set \"version\": \"%s\" for a model that still has it",
                    KEYS[i], p->sampled);
        else {
            jw_key(w, p->options[i]);
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
    const char      *within = provider_find(m->provider)->options_in;
    struct buf       text;
    struct jsonw     w;
    struct jv       *v;

    buf_init(&text, 0);
    jsonw_init(&w, &text);
    jw_obj(&w);
    if (within) jw_key(&w, within), jw_obj(&w);
    bool any = write_own(b, m, def, &w);
    if (within) write_members(&w, jv_get(more, within), NULL), jw_end_obj(&w);
    write_members(&w, more, within);
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
