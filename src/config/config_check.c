/* config_check.c -- the file against the table of keys: unknown ones with a guess, types,
 * ranges. */
#include "base/utf8.h"
#include "config/config_rows.h"
#include "model/provider.h"

#define J(t) (1u << (t))
static const struct {
    unsigned    json;
    const char *words, *hint;
} KINDS[] = {
    [K_TEXT] = { J(JSON_STRING), "text", "write it in double quotes" },
    [K_SECRET] = { J(JSON_STRING), "text, \"env:NAME\" or \"file:PATH\"",
                   "write \"env:NAME\", \"file:PATH\" or the text itself, in double quotes" },
    [K_WORD] = { J(JSON_STRING), "a word", "write one of the words, in double quotes" },
    [K_PROVIDER] = { J(JSON_STRING), "a word", "write one of the words, in double quotes" },
    [K_COUNT] = { J(JSON_NUMBER), "a whole number", "write a whole number without quotes" },
    [K_BYTES] = { J(JSON_NUMBER), "a number of bytes",
                  "write a whole number of bytes without quotes" },
    [K_SECONDS] = { J(JSON_NUMBER), "a number of seconds",
                    "write a number of seconds without quotes" },
    [K_BOOL] = { J(JSON_BOOL), "true or false", "write true or false without quotes" },
    [K_OBJECT] = { J(JSON_OBJECT), "an object", "write {...}" },
    [K_FREE] = { J(JSON_OBJECT), "an object", "write {...}" },
    [K_TEXTS] = { J(JSON_ARRAY), "a list of text", "write [\"one\", \"two\"]" },
    [K_OBJECTS] = { J(JSON_ARRAY), "a list of objects", "write [{...}, {...}]" },
    [K_MODEL] = { J(JSON_STRING) | J(JSON_ARRAY) | J(JSON_OBJECT),
                  "an object, a name or a list of names",
                  "write {\"provider\": ...}, or a name from \"models\"" },
    [K_NAMES] = { J(JSON_STRING) | J(JSON_ARRAY), "a name or a list of names",
                  "write a name from \"models\" or a list of them" },
    [K_POLICY] = { J(JSON_STRING) | J(JSON_OBJECT), "a policy",
                   "write \"never\", \"always\" or {\"when\": ...}" },
    [K_THINKING] = { J(JSON_BOOL) | J(JSON_NUMBER) | J(JSON_OBJECT),
                     "true, false, a number or an object",
                     "write true, false, a number of tokens, or what the provider takes" },
    [K_TRUE] = { J(JSON_BOOL), "true", "write true without quotes" },
    [K_SAID] = { J(JSON_STRING) | J(JSON_OBJECT), "text, or an object with one per language",
                 "write it in double quotes, or as {\"en\": \"...\", \"de\": \"...\"}" },
    [K_PRICE] = { J(JSON_NUMBER), "a number", "write a number without quotes" },
    [K_WHO] = { J(JSON_STRING) | J(JSON_OBJECT), "a role, or an object with one",
                "write \"finance\" or {\"role\": \"finance\", \"count\": 2}" },
    [K_WHEN] = { J(JSON_OBJECT) | J(JSON_ARRAY), "a condition, or a list of them",
                 "write {\"pointer\": \"/amount\", \"op\": \">\", \"value\": 100}" },
    [K_LIST] = { J(JSON_STRING) | J(JSON_ARRAY), "text or a list of text",
                 "write it in double quotes, or as [\"one\", \"two\"]" },
    [K_SAIDS] = { J(JSON_ARRAY), "a list of such texts", "write [\"one\", \"two\"]" },
};

const char *cfg_kind_words(enum kind kind)
{
    return KINDS[kind].words;
}

#define PATH_MAX_LEN 160

struct place {
    char pattern[PATH_MAX_LEN]; /* as in the table */
    char shown[PATH_MAX_LEN];   /* as the person wrote it */
};

static void check_value(struct config_build *b, struct jv *v, const struct key_row *r,
                        const struct place *at);

static const char *type_name(const struct jv *v)
{
    static const char *const NAMES[] = {
        [JSON_NULL] = "null",   [JSON_BOOL] = "true or false", [JSON_NUMBER] = "a number",
        [JSON_STRING] = "text", [JSON_ARRAY] = "a list",       [JSON_OBJECT] = "an object",
    };
    return NAMES[v->type];
}

/* A name with one of these could be mistaken for a path of the table. */
static bool plain_name(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (strchr(".*[]", s.ptr[i])) return false;
    return s.len > 0;
}

/* Is `path` directly below `parent`? Then its last part, else NULL. */
static const char *child_of(const char *path, const char *parent)
{
    size_t n = strlen(parent);

    if (n > 0) {
        if (strncmp(path, parent, n) != 0 || path[n] != '.') return NULL;
        path += n + 1;
    }
    return strpbrk(path, ".[") ? NULL : path;
}

static void known_keys(struct buf *out, const char *parent)
{
    const char *sep = "";

    for (size_t i = 0; i < CFG_ROW_COUNT; i++) {
        const char *last = child_of(CFG_ROWS[i].path, parent);
        if (!last || last[0] == '*') continue;
        buf_printf(out, "%s%s", sep, last);
        sep = ", ";
    }
    buf_chr(out, '\0');
}

/* The only key of that name elsewhere: people forget which object a key stands in. */
static const char *elsewhere(struct str key)
{
    const char *found = NULL;

    for (size_t i = 0; i < CFG_ROW_COUNT; i++) {
        const char *path = CFG_ROWS[i].path, *dot = strrchr(path, '.');
        if (!str_is(key, path) && !(dot && str_is(key, dot + 1))) continue;
        if (found) return NULL;
        found = path;
    }
    return found;
}

/* Other clients' files carry keys of their own beside a server's; only what looks like a
 * slip of one of ours is an error there. */
static bool is_pasted(const char *parent)
{
    return strcmp(parent, "mcpServers.*") == 0;
}

static void unknown_key(struct config_build *b, const struct jv *v, const struct place *in)
{
    struct cfg_guess g = { .want = v->key };
    struct buf       known;

    for (size_t i = 0; i < CFG_ROW_COUNT; i++) {
        const char *last = child_of(CFG_ROWS[i].path, in->pattern);
        if (last && last[0] != '*') cfg_guess_add(&g, str_c(last));
    }
    const char *other = elsewhere(v->key), *guess = cfg_guess_text(b, &g);
    const char *where = in->shown[0] ? " in " : "";
    if (guess[0]) {
        cfg_bad(b, v, "unknown key \"" STR_FMT "\"%s%s%s", STR_ARG(v->key), where, in->shown,
                guess);
    } else if (is_pasted(in->pattern)) {
        cfg_warn(b, v, "\"" STR_FMT "\" in %s is not a key of this program and is ignored",
                 STR_ARG(v->key), in->shown);
    } else if (other) {
        cfg_bad(b, v, "unknown key \"" STR_FMT "\"%s%s (did you mean \"%s\"?)", STR_ARG(v->key),
                where, in->shown, other);
    } else {
        buf_init(&known, 0);
        known_keys(&known, in->pattern);
        cfg_bad(b, v, "unknown key \"" STR_FMT "\"%s%s; take it out, or use one of: %s",
                STR_ARG(v->key), where, in->shown,
                known.err ? "(see docs/configuration.md)" : known.ptr);
        buf_done(&known);
    }
}

/* "parent.name"; cut when it is too long: no path of the table is. */
static void join(char out[PATH_MAX_LEN], const char *parent, struct str name)
{
    size_t at = strnlen(parent, PATH_MAX_LEN - 1);

    memcpy(out, parent, at);
    if (at > 0 && at < PATH_MAX_LEN - 1) out[at++] = '.';
    size_t room = PATH_MAX_LEN - 1 - at, n = name.len < room ? name.len : room;
    if (n) memcpy(out + at, name.ptr, n);
    out[at + n] = '\0';
}

static const struct key_row *child_row(const struct place *in, struct str key, struct place *out)
{
    const struct key_row *r = NULL;

    join(out->shown, in->shown, str_cut(key, utf8_cut(key, 60)));
    if (plain_name(key)) {
        join(out->pattern, in->pattern, key);
        r = cfg_row(out->pattern);
    }
    if (!r) {
        join(out->pattern, in->pattern, STR("*"));
        r = cfg_row(out->pattern);
    }
    return r;
}

static void check_members(struct config_build *b, struct jv *obj, const struct place *in)
{
    struct place at;

    for (struct jv *v = obj->child; v; v = v->next) {
        const struct key_row *r = child_row(in, v->key, &at);
        if (!r) unknown_key(b, v, in);
        else if (v->key.len == 0) cfg_bad(b, v, "a name in %s is empty; give it one", in->shown);
        else check_value(b, v, r, &at);
    }
}

static void check_items(struct config_build *b, struct jv *list, const struct key_row *r,
                        const struct place *at)
{
    struct place item;
    unsigned     i = 0;

    /* config_look.c knows the languages, config_approvals.c the conditions */
    if (r->kind == K_SAIDS || r->kind == K_WHEN) return;
    for (struct jv *v = list->child; v; v = v->next, i++) {
        bool want_object = r->kind == K_OBJECTS;
        if (!jv_is(v, want_object ? JSON_OBJECT : JSON_STRING)) {
            cfg_bad(b, v, "\"%s\" must be %s, but item %u is %s", at->shown,
                    KINDS[want_object ? K_OBJECTS : K_TEXTS].words, i + 1, type_name(v));
        } else if (want_object) {
            snprintf(item.pattern, sizeof item.pattern, "%.*s[]", PATH_MAX_LEN - 3, at->pattern);
            snprintf(item.shown, sizeof item.shown, "%.*s[%u]", PATH_MAX_LEN - 13, at->shown, i);
            check_members(b, v, &item);
        }
    }
}

static void check_number(struct config_build *b, const struct jv *v, const struct key_row *r,
                         const struct place *at)
{
    double  d;
    int64_t n;
    bool    whole = r->kind != K_SECONDS && r->kind != K_PRICE;

    if (whole && !jv_int(v, &n)) {
        cfg_bad(b, v, "\"%s\" must be a whole number, not " STR_FMT, at->shown,
                STR_ARG(str_cut(v->raw, 40)));
        return;
    }
    if (!jv_f64(v, &d) || !(d >= r->min && d <= r->max)) {
        cfg_bad(b, v, "\"%s\" must be between %.10g and %.15g%s, not " STR_FMT, at->shown, r->min,
                r->max,
                r->kind == K_BYTES     ? " bytes"
                : r->kind == K_SECONDS ? " seconds"
                                       : "",
                STR_ARG(str_cut(v->raw, 40)));
        return;
    }
    cfg_keep_number(r, b->c, d);
}

/* "a|b|c" */
static const char *words_of(struct config_build *b, const struct key_row *r)
{
    struct str all = STR_NONE;

    if (r->kind == K_WORD) return r->words;
    for (size_t i = 0; i < provider_count(); i++)
        all = arena_printf(&b->c->arena, STR_FMT "%s%s", STR_ARG(all), i ? "|" : "",
                           provider_at(i)->name);
    return all.ptr ? all.ptr : "";
}

static void check_word(struct config_build *b, const struct jv *v, const struct key_row *r,
                       const struct place *at)
{
    const char      *words = words_of(b, r);
    struct str       rest = str_c(words), word;
    struct cfg_guess g = { .want = v->str };

    while (str_split(&rest, '|', &word)) {
        if (str_eq(word, v->str)) return;
        cfg_guess_add(&g, word);
    }
    cfg_bad(b, v, "\"%s\" must be one of %s, not \"" STR_FMT "\"%s", at->shown, words,
            STR_ARG(str_cut(v->str, 60)), cfg_guess_text(b, &g));
}

static void check_text(struct config_build *b, const struct jv *v, const struct key_row *r,
                       const struct place *at)
{
    if (v->str.len && memchr(v->str.ptr, 0, v->str.len))
        cfg_bad(b, v, "\"%s\" has a NUL character in it; take it out", at->shown);
    else if (r->kind == K_WORD || r->kind == K_PROVIDER) check_word(b, v, r, at);
    else if (r->keep == KEEP_STR) *(struct str *)(void *)((char *)b->c + r->at) = v->str;
}

static void check_value(struct config_build *b, struct jv *v, const struct key_row *r,
                        const struct place *at)
{
    struct place like = { .pattern = "models.*" };

    if (!(KINDS[r->kind].json & J(v->type))) {
        cfg_bad(b, v, "\"%s\" must be %s, not %s: %s", at->shown, KINDS[r->kind].words,
                type_name(v), KINDS[r->kind].hint);
        return;
    }
    switch (v->type) {
    case JSON_STRING: check_text(b, v, r, at); return;
    case JSON_ARRAY: check_items(b, v, r, at); return;
    case JSON_OBJECT:
        memcpy(like.shown, at->shown, sizeof like.shown);
        if (r->words) snprintf(like.pattern, sizeof like.pattern, "%s", r->words);
        if (r->kind == K_OBJECT) check_members(b, v, r->words ? &like : at);
        else if (r->kind == K_MODEL) check_members(b, v, &like);
        return;
    case JSON_NUMBER:
        if (r->kind != K_THINKING) check_number(b, v, r, at);
        return;
    case JSON_BOOL:
        if (r->kind == K_TRUE && !v->boolean)
            cfg_bad(b, v, "\"%s\" can only be true; leave it out otherwise", at->shown);
        return;
    case JSON_NULL: return;
    }
}

void cfg_check_keys(struct config_build *b)
{
    struct place top = { .pattern = "" };

    if (b->root) check_members(b, b->root, &top);
}
