/* config_identity.c -- who may use what, and what tools are told of them: "roles", "claims" and
 * "identity" of tools, MCP servers and pages.
 *
 * A configuration's own roles are those that something asks for; the claims that are kept of a
 * token are those that a tool or a template names. Both lists are gathered here: nothing else of a
 * token is ever written down.
 */
#include "base/utf8.h"
#include "config/config_private.h"

#define ROLE_LEN_MAX 64
#define NAMES_MAX    64 /* roles, and claims, of the whole file: each run remembers its own */

static bool has(const struct config_strs *s, struct str name)
{
    for (size_t i = 0; i < s->count; i++)
        if (str_eq(s->list[i], name)) return true;
    return false;
}

/* One more name of the whole file. */
static void gather(struct config_build *b, struct config_strs *all, struct str name,
                   const struct jv *at, const char *what)
{
    if (has(all, name)) return;
    if (!all->list) all->list = cfg_array(b, NAMES_MAX, sizeof *all->list);
    if (!all->list) return;
    if (all->count == NAMES_MAX)
        cfg_bad(b, at, "the configuration names more than %d %s; use fewer", NAMES_MAX, what);
    else all->list[all->count++] = name;
}

static bool is_built_in(struct str role)
{
    return str_is(role, "user") || str_is(role, "approver") || str_is(role, "admin");
}

/* As tokens' roles are taken: auth.c. */
static bool is_word(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.ptr[i] <= ' ' || s.ptr[i] >= 0x7f) return false;
    return s.len > 0 && s.len <= ROLE_LEN_MAX;
}

void cfg_read_role(struct config_build *b, const struct jv *v)
{
    if (!jv_is(v, JSON_STRING)) return;
    if (!is_word(v->str))
        cfg_bad(b, v, "a role's name has 1 to %d letters, digits and signs, and no blanks",
                ROLE_LEN_MAX);
    else if (!is_built_in(v->str)) gather(b, &b->c->role_names, v->str, v, "roles");
}

void cfg_read_roles(struct config_build *b, const struct jv *list, struct config_strs *out)
{
    *out = cfg_strs(b, list);
    if (jv_is(list, JSON_ARRAY) && list->count == 0)
        cfg_bad(b, list,
                "\"roles\" is empty, so it would be for nobody; name a role, or leave it "
                "out for everybody");
    JV_EACH (v, list) cfg_read_role(b, v);
}

bool cfg_known_role(const struct config *c, struct str role)
{
    return is_built_in(role) || has(&c->role_names, role);
}

/* --- claims ----------------------------------------------------------------------------------- */

/* Two that a program could not tell apart: "a.b" and "a_b" are the same variable. */
static const struct jv *twin_of(const struct jv *list, const struct jv *claim)
{
    char mine[sizeof "Claim-" + IDENTITY_NAME_MAX], other[sizeof mine];
    (void)identity_label(claim->str, mine);
    JV_EACH (v, list) {
        if (v == claim) return NULL;
        if (v->type == JSON_STRING && identity_label(v->str, other) &&
            str_eq_nocase(str_c(mine), str_c(other)))
            return v;
    }
    return NULL;
}

static void read_claims(struct config_build *b, const struct jv *list, struct config_strs *out)
{
    char label[sizeof "Claim-" + IDENTITY_NAME_MAX];

    *out = cfg_strs(b, list);
    if (out->count > IDENTITY_CLAIMS_MAX)
        cfg_bad(b, list, "\"claims\" names %zu; a tool is told at most %d", out->count,
                IDENTITY_CLAIMS_MAX);
    JV_EACH (v, list) {
        if (v->type != JSON_STRING) continue;
        const struct jv *twin = twin_of(list, v);
        if (!utf8_is_name(v->str, IDENTITY_NAME_MAX) || !identity_label(v->str, label))
            cfg_bad(b, v,
                    "a claim is its name in the token, or a JSON pointer, of at most %d bytes and "
                    "with a letter or digit in it",
                    IDENTITY_NAME_MAX);
        else if (twin)
            cfg_bad(b, v,
                    "\"" STR_FMT "\" and \"" STR_FMT
                    "\" would be told under one name; take one of them out",
                    STR_ARG(twin->str), STR_ARG(v->str));
        else gather(b, &b->c->claim_names, v->str, v, "claims");
    }
}

void cfg_gather_template(struct config_build *b, struct str text, const struct jv *at)
{
    struct str open = STR("{claim.");
    ptrdiff_t  i, end;

    while ((i = str_find(text, open)) >= 0) {
        text = str_from(text, (size_t)i + open.len);
        end = str_find(text, STR("}"));
        if (end < 0) return;
        struct str name = str_cut(text, (size_t)end);
        if (!utf8_is_name(name, IDENTITY_NAME_MAX))
            cfg_bad(b, at, "\"{claim.NAME}\" needs the name of a claim, of at most %d bytes",
                    IDENTITY_NAME_MAX);
        else gather(b, &b->c->claim_names, name, at, "claims");
    }
}

/* --- how it is told over HTTP ----------------------------------------------------------------- */

/* The transfer's own, or what says whose call it is in plain words. */
static bool is_taken(struct str header)
{
    static const char *const names[] = { "Host",          "Content-Length", "Transfer-Encoding",
                                         "Connection",    "Content-Type",   "Accept",
                                         "Expect",        "Upgrade",        "Idempotency-Key",
                                         "Mcp-Session-Id" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (str_eq_nocase(header, str_c(names[i]))) return true;
    return false;
}

static void check_header(struct config_build *b, const struct jv *v, const struct jv *headers)
{
    if (!jv_is(v, JSON_STRING)) return;
    if (!str_is_token(v->str) || is_taken(v->str))
        cfg_bad(b, v, "\"" STR_FMT "\" cannot be the header of the token; choose another name",
                STR_ARG(str_cut(v->str, 60)));
    JV_EACH (h, headers)
        if (str_eq_nocase(h->key, v->str))
            cfg_bad(b, v, "\"headers\" sets \"" STR_FMT "\" already; take one of them out",
                    STR_ARG(str_cut(v->str, 60)));
}

static void read_identity(struct config_build *b, const struct jv *v, const struct jv *headers,
                          struct config_terms *t)
{
    const struct jv *key = jv_get(v, "sign");
    bool             literal = false;

    if (!jv_is(v, JSON_OBJECT)) return;
    t->identity = v;
    t->sign = (struct identity_setup){ .issuer = jv_str_at(v, "issuer"),
                                       .audience = jv_str_at(v, "audience"),
                                       .header = jv_str_at(v, "header"),
                                       .seconds = cfg_s("tools.*.identity.seconds",
                                                        jv_get(v, "seconds"), 0) };
    if (key) (void)cfg_secret(b, key, "\"sign\"", &t->sign.key, &literal);
    else if (v->count)
        cfg_bad(b, v,
                "\"identity\" says how a token is made, but not with which key: add \"sign\"");
    if (literal)
        cfg_warn(b, key,
                 "the key that signs stands in the file; better \"env:NAME\" or \"file:PATH\"");
    check_header(b, jv_get(v, "header"), headers);
}

void cfg_read_terms(struct config_build *b, const struct jv *def, const struct jv *headers,
                    struct config_terms *t)
{
    cfg_read_roles(b, jv_get(def, "roles"), &t->roles);
    read_claims(b, jv_get(def, "claims"), &t->claims);
    read_identity(b, jv_get(def, "identity"), headers, t);
    cfg_gather_template(b, jv_str_at(def, "ask"), jv_get(def, "ask"));
    cfg_gather_template(b, jv_str_at(def, "intent"), jv_get(def, "intent"));
}
