/* auth.c -- see auth.h. */
#include "auth/auth.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdio.h>

#include "auth/jwks.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/jsonw.h"
#include "base/secret.h"
#include "base/utf8.h"

#define KEYS_FILE_MAX (1024 * 1024)

struct auth {
    const struct auth_setup *setup;
    struct jwt_rules         rules;
    struct jwt_keys          file_keys;
    struct jwks             *jwks; /* NULL: the keys are from the file */
    struct oidc             *oidc; /* NULL: not configured */
    struct sessions          sessions;
    /* while it is freed */
    void (*done)(void *ctx);
    void *done_ctx;
};

/* --- life --------------------------------------------------------------------------------- */

static enum err read_keys_file(struct auth *a, struct arena *mem, struct str *why)
{
    const struct auth_setup *s = a->setup;
    struct str               path = arena_dup(mem, s->keys_file);
    const char              *fault;
    struct buf               text;

    if (!path.ptr) return ERR_NOMEM;
    buf_init(&text, KEYS_FILE_MAX);
    fault = file_read(path.ptr, &text);
    bool     read = !fault;
    enum err e =
        read ? jwt_keys_read(&a->file_keys, buf_view(&text), s->algorithms, &fault) : ERR_IO;
    if (e)
        *why = arena_printf(mem, "the keys file " STR_FMT " cannot be %s: %s",
                            STR_ARG(s->keys_file), read ? "used" : "read", fault);
    secret_wipe(text.ptr, text.cap);
    buf_done(&text);
    return e;
}

static void no_matter(void *ctx)
{
    (void)ctx;
}

enum err auth_new(struct loop *l, const struct auth_setup *s, struct arena *mem, struct auth **out,
                  struct str *why)
{
    struct auth *a = mem_alloc(sizeof *a);
    enum err     e = OK;

    *why = STR("out of memory");
    if (!a) return ERR_NOMEM;
    a->setup = s;
    a->rules = (struct jwt_rules){ .algorithms = s->algorithms,
                                   .issuer = s->issuer,
                                   .audience = s->audience,
                                   .roles = s->roles_claim,
                                   .audiences = s->audiences,
                                   .audience_count = s->audience_count,
                                   .narrow = s->mcp_audience };
    sessions_init(&a->sessions, s->cookie_s);
    if (s->jwt && s->keys_file.ptr) e = read_keys_file(a, mem, why);
    else if (s->jwt && !(a->jwks = jwks_new(l, s->jwks_url, s->algorithms))) e = ERR_NOMEM;
    if (!e && s->oidc.issuer.ptr && !(a->oidc = oidc_new(l, &s->oidc))) e = ERR_NOMEM;
    if (e) auth_free(a, no_matter, NULL);
    else *out = a;
    return e;
}

/* One after the other: first whoever is being signed in, then the keys. */
static void oidc_gone(void *ctx)
{
    struct auth *a = ctx;
    struct jwks *jwks = a->jwks;
    void (*done)(void *) = a->done;
    void *done_ctx = a->done_ctx;
    jwt_keys_done(&a->file_keys);
    sessions_done(&a->sessions);
    mem_free(a);
    jwks_free(jwks, done, done_ctx);
}

void auth_free(struct auth *a, void (*done)(void *ctx), void *ctx)
{
    if (!a) {
        done(ctx);
        return;
    }
    a->done = done;
    a->done_ctx = ctx;
    oidc_free(a->oidc, oidc_gone, a);
}

bool auth_on(const struct auth *a)
{
    return a && (a->setup->key_count > 0 || a->setup->jwt || a->oidc);
}
struct sessions *auth_sessions(struct auth *a)
{
    return &a->sessions;
}
struct oidc *auth_oidc(struct auth *a)
{
    return a ? a->oidc : NULL;
}

/* --- bearer keys ------------------------------------------------------------------------------ */

bool auth_key_digest(struct str key, char hex[65])
{
    unsigned char hash[32];

    if (EVP_Digest(key.ptr ? key.ptr : "", key.len, hash, NULL, EVP_sha256(), NULL) != 1)
        return false;
    for (size_t i = 0; i < sizeof hash; i++) snprintf(hex + 2 * i, 3, "%02x", hash[i]);
    return true;
}

struct str auth_proof(struct arena *mem, const char *kind, const uint8_t sha256[32])
{
    char hex[65];
    bool ok = auth_key_digest(str_n((const char *)sha256, 32), hex);
    return ok ? arena_printf(mem, "%s %s", kind, hex) : STR_NONE;
}

static struct principal key_principal(const struct auth_key *k)
{
    return (struct principal){ .name = k->principal,
                               .roles = k->roles,
                               .may_answer = true,
                               .words = k->words,
                               .claims = k->claims,
                               .shared = k->shared,
                               .user_header = k->user_header };
}

static enum auth_verdict check_key(const struct auth_setup *s, struct str token, struct arena *mem,
                                   struct principal *out, const char **why)
{
    unsigned char          hash[32];
    const struct auth_key *found = NULL;

    *why = "unknown key";
    if (EVP_Digest(token.ptr, token.len, hash, NULL, EVP_sha256(), NULL) != 1) return AUTH_BAD;
    for (size_t i = 0; i < s->key_count; i++)
        if (CRYPTO_memcmp(hash, s->keys[i].sha256, sizeof hash) == 0) found = &s->keys[i];
    if (!found) return AUTH_BAD;
    *out = key_principal(found);
    out->proof = auth_proof(mem, "key", found->sha256);
    return AUTH_GOOD;
}

/* The one that they showed; NULL: it is not in the configuration any more. */
static const struct auth_key *key_of(const struct auth_setup *s, struct arena *mem,
                                     const struct principal *p)
{
    for (size_t i = 0; i < s->key_count; i++) {
        struct str proof = auth_proof(mem, "key", s->keys[i].sha256);
        if (proof.ptr && str_eq(proof, p->proof) && str_eq(s->keys[i].principal, p->name))
            return &s->keys[i];
    }
    return NULL;
}

/* A key that is still in the configuration, with what is said of it there now. */
static bool key_stands(const struct auth_setup *s, struct arena *mem, struct principal *p)
{
    int64_t                until_s = p->until_s;
    struct str             proof = p->proof;
    const struct auth_key *k = key_of(s, mem, p);

    if (!k) return false;
    *p = key_principal(k);
    p->proof = proof;
    p->until_s = until_s;
    return true;
}

static struct str jwt_proof(const struct auth_setup *s, struct arena *mem)
{
    return s->jwt ? arena_printf(mem, "jwt " STR_FMT, STR_ARG(s->issuer)) : STR_NONE;
}

bool auth_stands(const struct auth *a, struct arena *mem, struct principal *p)
{
    struct str jwt = jwt_proof(a->setup, mem);

    if (str_starts(p->proof, STR("key "))) return key_stands(a->setup, mem, p);
    if (jwt.ptr && str_eq(p->proof, jwt)) return true;
    return a->oidc && str_eq(p->proof, oidc_proof(a->oidc, mem));
}

/* --- for whom a key asks ---------------------------------------------------------------------- */

static struct str signed_user(struct str secret, struct arena *mem, struct principal *p,
                              struct str token, const char **why)
{
    struct jwt_keys   keys = { 0 };
    struct jwt_rules  rules = { .algorithms = ALG_HS256, .sole = true };
    struct jwt_claims claims = { 0 };
    bool              good =
        jwt_keys_read(&keys, secret, ALG_HS256, why) == OK &&
        jwt_check(&keys, &rules, token, clock_wall_ms() / 1000, mem, &claims, why) == JWT_GOOD;
    jwt_keys_done(&keys);
    if (good) p->until_s = claims.expires_s;
    return good ? claims.subject : STR_NONE;
}

struct str auth_user(const struct auth *a, struct arena *mem, struct principal *p, struct str value,
                     const char **why)
{
    const struct auth_key *k = key_of(a->setup, mem, p);

    *why = "unknown key";
    if (!k) return STR_NONE;
    if (k->user_secret.len) return signed_user(k->user_secret, mem, p, value, why);
    /* It would be another name with each token, and one that looks as if somebody had checked
     * it. */
    *why = "a signed token in place of a name, and no \"user_secret\" to check it with";
    return str_starts(value, STR("eyJ")) && jwt_looks_like(value) ? STR_NONE : value;
}

/* --- signed tokens ---------------------------------------------------------------------------- */

static unsigned role_of(struct str word)
{
    if (str_is(word, "user")) return ROLE_USER;
    if (str_is(word, "approver")) return ROLE_APPROVER;
    if (str_is(word, "admin")) return ROLE_ADMIN;
    if (str_is(word, "agent")) return ROLE_AGENT;
    return 0; /* the provider's lists have many others in them */
}

/* A list of text, or words with blanks between them, as `scope` has it. None of ours in it: a
 * user, or what a token for /mcp is for. */
static unsigned roles_from(const struct jv *v, bool narrow)
{
    unsigned   roles = 0;
    struct str rest = jv_str(v), word;

    while (str_split(&rest, ' ', &word)) roles |= role_of(word);
    if (jv_is(v, JSON_ARRAY))
        JV_EACH (item, v) roles |= role_of(jv_str(item));
    return roles ? roles : narrow ? ROLE_AGENT : ROLE_USER;
}

unsigned auth_roles(const struct jv *claim)
{
    return roles_from(claim, false);
}

#define WORDS_MAX 4096 /* bytes of all roles of a token; what is beyond them does not count */
#define WORD_MAX  64

static void add_word(struct buf *out, struct str word)
{
    for (size_t i = 0; i < word.len; i++)
        if (word.ptr[i] <= ' ' || word.ptr[i] >= 0x7f) return;
    if (!word.len || word.len > WORD_MAX || out->len + word.len + 1 > WORDS_MAX) return;
    if (out->len) buf_chr(out, ' ');
    buf_str(out, word);
}

/* All of them, as words: rules may name any. */
struct str auth_words(struct arena *mem, const struct jv *v)
{
    struct str rest = jv_str(v), word;
    struct buf b;

    buf_init(&b, 0);
    while (str_split(&rest, ' ', &word)) add_word(&b, word);
    if (jv_is(v, JSON_ARRAY))
        JV_EACH (item, v) add_word(&b, jv_str(item));
    if (!b.len) buf_lit(&b, "user");
    struct str words = b.err ? STR_NONE : arena_dup(mem, buf_view(&b));
    buf_done(&b);
    return words;
}

/* Texts without control characters, numbers, lists and objects; each of them short. What does not
 * fit is left out rather than changed: half a name is another one. */
static bool is_kept(const struct jv *v)
{
    if (!v || v->type == JSON_NULL || v->raw.len > AUTH_CLAIM_MAX) return false;
    return v->type != JSON_STRING || utf8_is_name(v->str, AUTH_CLAIM_MAX);
}

void auth_claims(struct buf *out, const struct str *names, size_t count, const struct jv *claims)
{
    struct jsonw w;
    size_t       kept = 0;

    jsonw_init(&w, out);
    jw_obj(&w);
    for (size_t i = 0; i < count; i++) {
        const struct jv *v = jwt_claim(claims, names[i]);
        if (!is_kept(v)) continue;
        jw_key_str(&w, names[i]);
        jw_jv(&w, v);
        kept++;
    }
    jw_end_obj(&w);
    if (!kept) buf_clear(out);
}

struct str auth_claims_of(struct arena *mem, const struct str *names, size_t count,
                          const struct jv *all)
{
    struct buf text;

    buf_init(&text, 0);
    auth_claims(&text, names, count, all);
    struct str claims = text.len ? arena_dup(mem, buf_view(&text)) : STR_NONE;
    if (text.err) mem->failed = true;
    buf_done(&text);
    return claims;
}

struct principal principal_copy(struct arena *a, const struct principal *p)
{
    struct principal q = *p;

    q.name = arena_dup(a, p->name);
    q.words = arena_dup(a, p->words);
    q.claims = arena_dup(a, p->claims);
    q.proof = arena_dup(a, p->proof);
    return q;
}

static enum auth_verdict check_jwt(struct auth *a, struct str token, struct arena *mem,
                                   struct principal *out, const char **why)
{
    struct jwt_claims      c;
    const struct jwt_keys *keys = a->jwks ? jwks_keys(a->jwks) : &a->file_keys;

    switch (jwt_check(keys, &a->rules, token, clock_wall_ms() / 1000, mem, &c, why)) {
    case JWT_GOOD:
        *out = (struct principal){ .name = c.subject,
                                   .roles = roles_from(c.roles, c.narrow),
                                   .until_s = c.expires_s,
                                   .may_answer = true,
                                   .words = auth_words(mem, c.roles),
                                   .claims = auth_claims_of(mem, a->setup->claims,
                                                            a->setup->claim_count, c.all),
                                   .mcp_only = c.narrow,
                                   .proof = jwt_proof(a->setup, mem) };
        *why = "out of memory";
        return mem->failed ? AUTH_BAD : AUTH_GOOD;
    case JWT_BAD: return AUTH_BAD;
    case JWT_NO_KEY: return a->jwks && jwks_refresh(a->jwks) ? AUTH_LATER : AUTH_BAD;
    }
    return AUTH_BAD;
}

enum auth_verdict auth_token(struct auth *a, struct str token, struct arena *mem,
                             struct principal *out, const char **why)
{
    struct principal  p;
    enum auth_verdict v;

    *why = "no token";
    if (!token.len || token.len > JWT_MAX) return AUTH_BAD;
    v = a->setup->jwt && jwt_looks_like(token) ? check_jwt(a, token, mem, &p, why)
                                               : check_key(a->setup, token, mem, &p, why);
    if (v != AUTH_GOOD) return v;
    *why = "out of memory";
    p.name = arena_dup(mem, p.name);
    if (!p.name.ptr) return AUTH_BAD;
    *out = p;
    return AUTH_GOOD;
}
