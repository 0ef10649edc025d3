/* caller.c -- see caller.h. */
#include "run/caller.h"

#include "base/clock.h"
#include "base/jsonw.h"

#define DATE_LEN 10 /* 2026-11-17 */

struct caller caller_of(const struct run *r, struct str owner)
{
    const struct fact *f = r->first;
    return (struct caller){ .principal = f->by.len ? f->by : owner,
                            .roles = f->roles,
                            .claims = f->claims,
                            .at_ms = f->at_ms };
}

static const struct jv *tree(struct arena *a, struct str json)
{
    struct jv *v = NULL;
    return json.len && json_parse(a, json, &v, NULL) == OK ? v : NULL;
}

const struct jv *caller_claims(struct arena *a, const struct caller *c)
{
    const struct jv *v = tree(a, c->claims);
    return jv_is(v, JSON_OBJECT) ? v : NULL;
}

static void date_of(const struct caller *c, char out[CLOCK_RFC3339_LEN + 1])
{
    clock_rfc3339(c->at_ms, out);
    out[DATE_LEN] = 0;
}

/* --- prompts ---------------------------------------------------------------------------------- */

/* Writes what {name} stands for. False: it is none of ours. */
static bool add_named(struct buf *out, const struct caller *c, const struct jv *claims,
                      struct str name)
{
    char             date[CLOCK_RFC3339_LEN + 1];
    const struct jv *v;
    if (str_is(name, "principal")) buf_str(out, c->principal);
    else if (str_is(name, "date")) {
        date_of(c, date);
        buf_lit(out, date);
    } else if (str_starts(name, STR("claim."))) {
        v = jv_get_str(claims, str_from(name, sizeof "claim." - 1));
        buf_str(out, !v ? STR("unknown") : v->type == JSON_STRING ? v->str : v->raw);
    } else return false;
    return true;
}

static void fill(struct buf *out, const struct caller *c, const struct jv *claims, struct str text)
{
    for (ptrdiff_t open; (open = str_find(text, STR("{"))) >= 0;) {
        struct str rest = str_from(text, (size_t)open + 1);
        ptrdiff_t  end = str_find(rest, STR("}"));
        buf_str(out, str_cut(text, (size_t)open));
        if (end >= 0 && add_named(out, c, claims, str_cut(rest, (size_t)end)))
            text = str_from(rest, (size_t)end + 1);
        else {
            buf_chr(out, '{');
            text = rest;
        }
    }
    buf_str(out, text);
}

struct str caller_prompt(struct arena *a, const struct caller *c, struct str prompt)
{
    struct buf b;
    if (str_find(prompt, STR("{")) < 0) return prompt;
    buf_init(&b, 0);
    fill(&b, c, caller_claims(a, c), prompt);
    struct str s = b.err ? STR_NONE : arena_dup(a, buf_view(&b));
    if (!s.ptr) a->failed = true;
    buf_done(&b);
    return s;
}

/* --- what tools' templates may say ------------------------------------------------------------ */

const struct jv *caller_known(struct arena *a, const struct caller *c, const struct jv *schema)
{
    const struct jv *declared = jv_get(schema, "properties");
    char             date[CLOCK_RFC3339_LEN + 1];
    struct buf       b;
    struct jsonw     w;
    date_of(c, date);
    buf_init(&b, 0);
    jsonw_init(&w, &b);
    jw_obj(&w);
    if (!jv_get(declared, "principal")) jw_kstr(&w, "principal", c->principal);
    if (!jv_get(declared, "date")) jw_kstrz(&w, "date", date);
    if (!jv_get(declared, "claim")) jw_kraw(&w, "claim", c->claims.len ? c->claims : STR("{}"));
    jw_end_obj(&w);
    const struct jv *v = b.err ? NULL : tree(a, arena_dup(a, buf_view(&b)));
    buf_done(&b);
    return v;
}
