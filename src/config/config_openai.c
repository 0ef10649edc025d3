/* config_openai.c -- the doors for clients of OpenAI's shapes: other names of models, and what may
 * be said there. */
#include "config/config_private.h"

static bool is_page(const struct config *c, struct str name)
{
    for (size_t i = 0; i < c->page_count; i++)
        if (str_eq(c->pages[i].name, name)) return true;
    return false;
}

/* "parley" or "parley/PAGE". */
static void read_alias(struct config_build *b, const struct jv *v)
{
    struct config_alias x = { .name = v->key, .page = STR("") };
    struct str          prefix = STR("parley/");
    if (str_starts(v->str, prefix)) x.page = str_from(v->str, prefix.len);
    else if (!str_is(v->str, "parley")) {
        cfg_bad(b, v, "a model is \"parley\" or \"parley/PAGE\" with one of the pages");
        return;
    }
    if (x.page.len && !is_page(b->c, x.page)) {
        cfg_bad(b, v, "there is no page \"" STR_FMT "\" under \"pages\"",
                STR_ARG(str_cut(x.page, 60)));
        return;
    }
    b->c->aliases[b->c->alias_count++] = x;
}

static bool said(const struct jv *openai, const char *key, bool otherwise)
{
    const struct jv *v = jv_get(openai, key);
    return jv_is(v, JSON_BOOL) ? v->boolean : otherwise;
}

void cfg_read_openai(struct config_build *b)
{
    const struct jv *openai = jv_get(b->root, "openai"), *models = jv_get(openai, "models");
    b->c->words = said(openai, "words", true);
    b->c->functions = said(openai, "functions", true);
    b->c->chat_headers = cfg_strs(b, jv_get(openai, "chat_headers"));
    if (!jv_is(models, JSON_OBJECT)) return;
    b->c->aliases = cfg_array(b, models->count, sizeof *b->c->aliases);
    if (!b->c->aliases) return;
    JV_EACH (v, models)
        if (v->type == JSON_STRING) read_alias(b, v);
}
