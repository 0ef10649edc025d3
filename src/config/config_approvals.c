/* config_approvals.c -- who is asked, what a yes may be worth, what may be changed before it.
 *
 * As with a tool's policy: what is not fully understood is refused, so that a typing error can
 * never let somebody decide who may not, or make a grant wider than it was meant.
 */
#include "config/config_private.h"
#include "run/effect.h"
#include "run/grant.h"

static bool is_pointer(struct str s)
{
    return !s.len || s.ptr[0] == '/';
}

static void check_edit(struct config_build *b, const struct jv *edit)
{
    JV_EACH (p, edit)
        if (p->type == JSON_STRING && !is_pointer(p->str))
            cfg_bad(b, p, "\"edit\" is a list of JSON pointers such as \"/amount\"");
}

void cfg_check_edits(struct config_build *b, const struct jv *edits)
{
    if (!jv_is(edits, JSON_OBJECT)) return;
    JV_EACH (edit, edits) check_edit(b, edit);
}

void cfg_check_terms(struct config_build *b, const struct jv *tool, bool client)
{
    const struct jv *grant = jv_get(tool, "grant"), *edit = jv_get(tool, "edit"),
                    *effect = jv_get(tool, "effect");
    const char *why = jv_is(grant, JSON_OBJECT) ? grant_terms_fault(grant) : NULL;

    if (why) cfg_bad(b, grant, "tool \"" STR_FMT "\": %s", STR_ARG(tool->key), why);
    check_edit(b, edit);
    why = jv_is(effect, JSON_STRING) ? effect_template_fault(effect->str) : NULL;
    if (why) cfg_bad(b, effect, "tool \"" STR_FMT "\": %s", STR_ARG(tool->key), why);
    if (effect && client)
        cfg_bad(b, effect,
                "\"effect\" is for tools that the server runs; a browser may do a thing "
                "twice whatever it is told");
    if (!effect && (jv_get(tool, "effect_scope") || jv_get(tool, "effect_days")))
        cfg_bad(b, tool,
                "tool \"" STR_FMT "\" has \"effect_scope\" or \"effect_days\" but no "
                "\"effect\"",
                STR_ARG(tool->key));
}

#define LINKS_KEY_MIN 32 /* characters: whoever guesses it decides as anybody */

static void read_links(struct config_build *b)
{
    const struct jv *key = jv_get(jv_get(b->root, "links"), "key");
    bool             literal;

    if (!jv_is(key, JSON_STRING) ||
        !cfg_secret(b, key, "\"links\".\"key\"", &b->c->links_key, &literal))
        return;
    if (b->c->links_key.len < LINKS_KEY_MIN)
        cfg_bad(b, key, "\"links\".\"key\" must have at least 32 characters: openssl rand -hex 32");
    if (!b->c->public_url.ptr)
        cfg_bad(b, key, "links need \"public_url\": what they are to begin with");
}

static void check_events(struct config_build *b, const struct jv *events)
{
    static const char *const WORDS[] = { "asked",   "voted",     "escalated", "decided",
                                         "expired", "cancelled", "unknown",   "settled" };

    JV_EACH (v, events) {
        bool known = v->type != JSON_STRING;
        for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++) known |= str_is(v->str, WORDS[i]);
        if (!known)
            cfg_bad(b, v,
                    "\"" STR_FMT "\" is no event; they are asked, voted, escalated, decided, "
                    "expired, cancelled, unknown and settled",
                    STR_ARG(str_cut(v->str, 60)));
    }
}

static void read_notify(struct config_build *b, const struct jv *def)
{
    struct config_notify *n = &b->c->notify[b->c->notify_count];
    const struct jv      *secret = jv_get(def, "secret");
    bool                  literal;

    *n = (struct config_notify){ .events = jv_get(def, "events"),
                                 .roles = jv_get(def, "roles"),
                                 .allow = jv_get(def, "allow"),
                                 .after_s = (unsigned)jv_int_at(def, "after", 0) };
    if (!jv_get(def, "url")) cfg_bad(b, def, "\"notify\" needs \"url\"");
    else if (!cfg_url(b, jv_get(def, "url"), "\"url\"", &n->url)) return;
    if (!secret) cfg_bad(b, def, "\"notify\" needs \"secret\": its receiver could not know us");
    else if (!cfg_secret(b, secret, "\"secret\"", &n->secret, &literal)) return;
    check_events(b, n->events);
    b->c->notify_count++;
}

static void read_all_notify(struct config_build *b)
{
    const struct jv *list = jv_get(b->root, "notify");

    if (!jv_is(list, JSON_ARRAY)) return;
    b->c->notify = cfg_array(b, list->count, sizeof *b->c->notify);
    if (!b->c->notify) return;
    JV_EACH (v, list)
        if (v->type == JSON_OBJECT) read_notify(b, v);
}

void cfg_read_approvals(struct config_build *b)
{
    const struct jv *rules = jv_get(jv_get(b->root, "approvals"), "rules");

    read_links(b);
    read_all_notify(b);
    if (!jv_is(rules, JSON_ARRAY)) return;
    cfg_check_rules(b, rules);
    if (rules->count) b->c->rules = rules;
}
