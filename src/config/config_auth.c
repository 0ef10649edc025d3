/* config_auth.c -- who may come in: bearer keys, tokens, browser origins, host names.
 *
 * Keys stand in the file as their SHA-256 only: whoever reads the file cannot use
 * them. Everything here is refused when in doubt; a wildcard is never meant.
 */
#include <uv.h>

#include "base/utf8.h"
#include "config/config_private.h"
#include "run/rules.h"

/* --- bearer keys -------------------------------------------------------------------- */

static int hex(char ch)
{
    if (ch >= '0' && ch <= '9') return ch - '0';
    if (ch >= 'a' && ch <= 'f') return ch - 'a' + 10;
    if (ch >= 'A' && ch <= 'F') return ch - 'A' + 10;
    return -1;
}

static bool read_digest(struct str s, uint8_t out[32])
{
    if (s.len != 64) return false;
    for (size_t i = 0; i < 32; i++) {
        int hi = hex(s.ptr[2 * i]), lo = hex(s.ptr[2 * i + 1]);
        if (hi < 0 || lo < 0) return false;
        out[i] = (uint8_t)(hi << 4 | lo);
    }
    return true;
}

/* Words of a list to bits; an unknown word is noted. */
struct bit {
    const char *word;
    unsigned    bit;
};

static unsigned read_bits(struct config_build *b, const struct jv *list, const struct bit *bits,
                          const char *what)
{
    unsigned all = 0;

    JV_EACH (v, list) {
        const struct bit *f = bits;
        if (v->type != JSON_STRING) continue;
        while (f->word && !str_is(v->str, f->word)) f++;
        if (!f->word)
            cfg_bad(b, v, "\"" STR_FMT "\" is not one of the %s", STR_ARG(str_cut(v->str, 60)),
                    what);
        all |= f->bit;
    }
    if (jv_is(list, JSON_ARRAY) && list->count == 0)
        cfg_bad(b, list, "the list is empty; name some of the %s, or leave it out", what);
    return all;
}

/* Beside the three with a meaning of their own a role is any word that some rule, tool or page
 * names. */
static bool is_named(const struct config_build *b, struct str word)
{
    return str_is(word, "notifier") || cfg_known_role(b->c, word) ||
           rules_concern(jv_get(jv_get(b->root, "approvals"), "rules"), word);
}

static unsigned read_roles(struct config_build *b, const struct jv *list, const struct bit *bits)
{
    unsigned all = 0;

    JV_EACH (v, list) {
        const struct bit *f = bits;
        if (v->type != JSON_STRING) continue;
        while (f->word && !str_is(v->str, f->word)) f++;
        all |= f->bit;
        if (!f->word && !is_named(b, v->str))
            cfg_bad(b, v,
                    "\"" STR_FMT
                    "\" is not one of the roles user, approver, admin, agent, notifier, nor "
                    "named by one of \"approvals\".\"rules\", a tool, a page or a budget",
                    STR_ARG(str_cut(v->str, 60)));
    }
    if (jv_is(list, JSON_ARRAY) && list->count == 0)
        cfg_bad(b, list, "the list is empty; name some of the roles, or leave it out");
    return all;
}

static struct str join_words(struct config_build *b, const struct jv *list)
{
    struct buf words;

    buf_init(&words, 0);
    JV_EACH (v, list)
        if (v->type == JSON_STRING)
            buf_printf(&words, "%s" STR_FMT, words.len ? " " : "", STR_ARG(v->str));
    struct str s = arena_dup(&b->c->arena, buf_view(&words));
    buf_done(&words);
    return s.ptr ? s : STR("");
}

/* It is part of the name of every log, and stands in log lines. */
bool config_principal_fits(struct str name)
{
    return utf8_is_name(name, PRINCIPAL_MAX);
}

struct str config_every_role(const struct config *c, struct arena *a)
{
    struct buf text;

    buf_init(&text, 0);
    buf_lit(&text, "user approver admin");
    for (size_t n = 0; n < c->role_names.count; n++)
        buf_printf(&text, " " STR_FMT, STR_ARG(c->role_names.list[n]));
    struct str s = text.err ? STR_NONE : arena_dup(a, buf_view(&text));
    buf_done(&text);
    return s;
}

static struct str read_key_claims(struct config_build *b, const struct jv *v)
{
    struct buf text;

    buf_init(&text, 0);
    auth_claims(&text, b->c->claim_names.list, b->c->claim_names.count, v);
    struct str s = text.len ? arena_dup(&b->c->arena, buf_view(&text)) : STR_NONE;
    if (text.err) b->c->arena.failed = true;
    buf_done(&text);
    return s;
}

static void read_user_secret(struct config_build *b, const struct jv *v, struct auth_key *k)
{
    struct jwt_keys keys = { 0 };
    const char     *why;
    bool            literal;

    if (!v || !cfg_secret(b, v, "\"user_secret\"", &k->user_secret, &literal)) return;
    if (!k->user_header.len)
        cfg_bad(b, v, "\"user_secret\" checks the token in \"user_header\", and there is none");
    else if (jwt_keys_read(&keys, k->user_secret, ALG_HS256, &why) != OK)
        cfg_bad(b, v, "\"user_secret\" cannot be used: %s", why);
    jwt_keys_done(&keys);
}

static void read_bearer(struct config_build *b, const struct jv *v)
{
    static const struct bit ROLES[] = { { "user", ROLE_USER },
                                        { "approver", ROLE_APPROVER },
                                        { "admin", ROLE_ADMIN },
                                        { "agent", ROLE_AGENT },
                                        { NULL, 0 } };
    struct auth_setup      *a = &b->c->auth;
    struct auth_key         k = { .principal = jv_str_at(v, "principal"), .roles = ROLE_USER };

    if (!read_digest(jv_str_at(v, "sha256"), k.sha256)) {
        cfg_bad(b, jv_get(v, "sha256") ? jv_get(v, "sha256") : v,
                "a key needs \"sha256\" with 64 hex digits: printf %%s \"$KEY\" | sha256sum");
        return;
    }
    if (k.principal.len == 0)
        cfg_bad(b, v, "a key needs \"principal\": the name of the person or program it belongs to");
    else if (!config_principal_fits(k.principal))
        cfg_bad(b, v, "a principal's name may have at most %d bytes, and no control characters",
                PRINCIPAL_MAX);
    k.words = STR("user");
    if (jv_get(v, "roles")) {
        k.roles = read_roles(b, jv_get(v, "roles"), ROLES);
        k.words = join_words(b, jv_get(v, "roles"));
    }
    k.shared = jv_true(jv_get(v, "shared"));
    k.user_header = jv_str_at(v, "user_header");
    if (k.user_header.ptr && !str_is_token(k.user_header))
        cfg_bad(b, jv_get(v, "user_header"), "\"user_header\" must be the name of a header");
    read_user_secret(b, jv_get(v, "user_secret"), &k);
    k.claims = read_key_claims(b, jv_get(v, "claims"));
    for (size_t i = 0; i < a->key_count; i++)
        if (memcmp(a->keys[i].sha256, k.sha256, sizeof k.sha256) == 0) {
            cfg_bad(b, v, "this key is listed twice; a key belongs to one principal");
            return;
        }
    a->keys[a->key_count++] = k;
}

/* --- tokens ---------------------------------------------------------------------------- */

static void read_key_source(struct config_build *b, const struct jv *jwt)
{
    struct auth_setup *a = &b->c->auth;
    const struct jv   *url = jv_get(jwt, "jwks_url");

    a->keys_file = jv_str_at(jwt, "keys_file");
    if ((a->keys_file.ptr != NULL) + (url != NULL) != 1) {
        cfg_bad(b, jwt, "\"jwt\" needs either \"keys_file\" or \"jwks_url\"");
        return;
    }
    if (a->keys_file.ptr && a->keys_file.len == 0)
        cfg_bad(b, jv_get(jwt, "keys_file"), "\"keys_file\" is empty; write its path");
    if (!url || !cfg_url(b, url, "\"jwks_url\"", &a->jwks_url)) return;
    /* Whoever can change the keys on their way can be anybody. */
    if (str_starts(a->jwks_url, STR("http://")) && !cfg_url_is_loopback(a->jwks_url))
        cfg_bad(b, url,
                "\"jwks_url\" must begin with https://: keys fetched in the clear can be exchanged "
                "on their way");
}

/* One text, or a list of them. */
static void read_audience(struct config_build *b, const struct jv *v)
{
    struct auth_setup *a = &b->c->auth;
    struct config_strs list = cfg_strs(b, v);
    if (!jv_is(v, JSON_ARRAY)) {
        a->audience = jv_str(v);
        return;
    }
    JV_EACH (x, v)
        if (!jv_str(x).len) cfg_bad(b, x, "an audience must be text, and not empty");
    if (list.count) a->audience = list.list[0];
    a->audiences = list.list;
    a->audience_count = list.count;
}

static void read_jwt(struct config_build *b, const struct jv *jwt)
{
    static const struct bit ALGS[] = {
        { "HS256", ALG_HS256 }, { "RS256", ALG_RS256 }, { "ES256", ALG_ES256 }, { NULL, 0 }
    };
    struct auth_setup *a = &b->c->auth;
    const struct jv   *algs = jv_get(jwt, "algorithms");

    if (!jv_is(jwt, JSON_OBJECT)) return;
    a->jwt = true;
    a->issuer = jv_str_at(jwt, "issuer");
    read_audience(b, jv_get(jwt, "audience"));
    a->roles_claim = jv_get(jwt, "roles_claim") ? jv_str_at(jwt, "roles_claim") : STR("roles");
    a->algorithms =
        algs ? read_bits(b, algs, ALGS, "algorithms HS256, RS256, ES256") : ALG_RS256 | ALG_ES256;
    if (a->issuer.len == 0) cfg_bad(b, jwt, "\"jwt\" needs \"issuer\": the tokens' iss");
    if (a->audience.len == 0)
        cfg_bad(b, jwt,
                "\"jwt\" needs \"audience\": the tokens' aud; without it tokens for other services "
                "would be taken");
    read_key_source(b, jwt);
    if ((a->algorithms & ALG_HS256) && a->jwks_url.ptr)
        cfg_bad(b, algs,
                "HS256 needs \"keys_file\" with the shared secret; a \"jwks_url\" is public");
    /* The classic confusion: a public RSA key taken as an HMAC secret. */
    if ((a->algorithms & ALG_HS256) && (a->algorithms & (ALG_RS256 | ALG_ES256)))
        cfg_bad(b, algs,
                "HS256 cannot be mixed with RS256 or ES256: a public key would be taken for a "
                "secret; choose one kind");
}

/* --- signing in at a provider ---------------------------------------------------------------- */

static void read_oidc(struct config_build *b, const struct jv *v)
{
    struct oidc_setup *o = &b->c->auth.oidc;
    const struct jv   *issuer = jv_get(v, "issuer"), *secret = jv_get(v, "client_secret");
    struct str         rest, word;
    bool               literal, openid = false;

    if (!jv_is(v, JSON_OBJECT)) return;
    o->client_id = jv_str_at(v, "client_id");
    o->scope = jv_get(v, "scope") ? jv_str_at(v, "scope") : STR("openid");
    o->roles_claim = jv_get(v, "roles_claim") ? jv_str_at(v, "roles_claim") : STR("roles");
    o->name = jv_str_at(v, "name");
    if (!issuer) cfg_bad(b, v, "\"oidc\" needs \"issuer\": the provider's address");
    else if (cfg_url(b, issuer, "\"issuer\"", &o->issuer) &&
             str_starts(o->issuer, STR("http://")) && !cfg_url_is_loopback(o->issuer))
        cfg_bad(
            b, issuer,
            "\"issuer\" must begin with https://: what is fetched in the clear can be exchanged "
            "on its way");
    if (o->client_id.len == 0)
        cfg_bad(b, v, "\"oidc\" needs \"client_id\": what the provider calls this server");
    if (secret) (void)cfg_secret(b, secret, "client_secret", &o->client_secret, &literal);
    for (rest = o->scope; str_split(&rest, ' ', &word);) openid |= str_is(word, "openid");
    if (!openid) cfg_bad(b, jv_get(v, "scope"), "\"scope\" must have the word openid in it");
}

static int64_t limit_of(const struct config_build *b, const char *key, int64_t with_auth)
{
    const struct jv *v = jv_get(jv_get(jv_get(b->root, "limits"), "per_principal"), key);
    return jv_int_at(jv_get(jv_get(b->root, "limits"), "per_principal"), key,
                     v || !config_has_auth(b->c) ? 0 : with_auth);
}

static void read_each(struct config_build *b)
{
    b->c->each = (struct quota_limits){ .requests_per_minute = (unsigned)limit_of(
                                            b, "requests_per_minute", QUOTA_USUAL_REQUESTS),
                                        .runs = (unsigned)limit_of(b, "runs", QUOTA_USUAL_RUNS),
                                        .tokens_per_day = limit_of(b, "tokens_per_day", 0) };
}

/* Questions that nobody may answer would be a mistake found too late. */
static void check_approvers(struct config_build *b)
{
    const struct auth_setup *a = &b->c->auth;
    const struct jv         *who = jv_get(jv_get(b->root, "approvals"), "who");
    bool                     any = a->jwt || a->oidc.issuer.ptr;

    if (!b->c->approvers) return;
    for (size_t i = 0; i < a->key_count; i++) any |= (a->keys[i].roles & ROLE_APPROVER) != 0;
    if (!config_has_auth(b->c))
        cfg_bad(b, who, "\"approver\" needs \"auth\": without it nobody has a role");
    else if (!any)
        cfg_bad(b, who,
                "nobody under \"auth\" has the role approver, so nothing could ever be approved");
}

void cfg_read_auth(struct config_build *b)
{
    const struct jv *auth = jv_get(b->root, "auth"), *keys = jv_get(auth, "keys");

    if (jv_is(keys, JSON_ARRAY)) {
        b->c->auth.keys = cfg_array(b, keys->count, sizeof *b->c->auth.keys);
        if (b->c->auth.keys)
            JV_EACH (v, keys)
                if (v->type == JSON_OBJECT) read_bearer(b, v);
    }
    b->c->auth.claims = b->c->claim_names.list;
    b->c->auth.claim_count = b->c->claim_names.count;
    read_jwt(b, jv_get(auth, "jwt"));
    read_oidc(b, jv_get(auth, "oidc"));
    b->c->auth.oidc.claims = b->c->auth.claims;
    b->c->auth.oidc.claim_count = b->c->auth.claim_count;
    bool tokens = jv_get(auth, "jwt") || jv_get(auth, "oidc");
    /* An empty list must not pass for "no auth": that lets everybody in, as everything. */
    if (jv_is(keys, JSON_ARRAY) && keys->count == 0 && !tokens)
        cfg_bad(b, keys,
                "\"auth\" lets nobody in: \"keys\" is empty; add what `parley key NAME` prints, or "
                "take \"auth\" out");
    else if (jv_is(auth, JSON_OBJECT) && !keys && !tokens)
        cfg_bad(b, auth,
                "\"auth\" lets nobody in; add \"keys\", \"jwt\" or \"oidc\", or take it out");
    struct str context = jv_str_at(jv_get(b->root, "approvals"), "context");
    b->c->context = str_is(context, "none") ? 0 : str_is(context, "conversation") ? 2 : 1;
    b->c->approvers = str_is(jv_str_at(jv_get(b->root, "approvals"), "who"), "approver");
    check_approvers(b);
    read_each(b);
}

/* --- origins and hosts -------------------------------------------------------------------- */

#define EMBED_MAX 64 /* all of them are told with every page */

static const char *origin_fault(struct str o)
{
    struct str rest = str_from(o, str_starts(o, STR("https://")) ? 8 : 7);

    if (str_is(o, "*")) return "would let every web site in; list the sites";
    if (!str_starts(o, STR("http://")) && !str_starts(o, STR("https://")))
        return "must begin with http:// or https://";
    if (rest.len == 0) return "has no host";
    if (str_ends(o, str_starts(o, STR("https://")) ? STR(":443") : STR(":80")))
        return "must be without the port that goes without saying: browsers leave it out";
    for (size_t i = 0; i < rest.len; i++) {
        unsigned char ch = (unsigned char)rest.ptr[i];
        if (ch == '/')
            return "must end after the host and port: browsers send \"https://example.org\", "
                   "without a path or '/'";
        if (ch >= 'A' && ch <= 'Z') return "must be in lower case, as browsers send it";
        if (ch <= ' ' || ch >= 127 || strchr("*?#@\\;,'\"<>", ch)) /* it stands in policies, too */
            return "has a character that no origin has; wildcards are not understood";
    }
    return NULL;
}

static const char *host_fault(struct str h)
{
    if (h.len == 0) return "is empty";
    if (str_find(h, STR("/")) >= 0) return "must be a host name alone, without http:// and path";
    if (str_find(h, STR("*")) >= 0) return "has a wildcard; list the names";
    if (h.ptr[0] != '[' && str_find(h, STR(":")) >= 0)
        return "must be without a port (IPv6 addresses in brackets)";
    for (size_t i = 0; i < h.len; i++) {
        unsigned char ch = (unsigned char)h.ptr[i];
        if (ch <= ' ' || ch >= 127) return "has a character that no host name has";
        if (ch >= 'A' && ch <= 'Z') return "must be in lower case";
    }
    return NULL;
}

static const char *address_fault(struct str a)
{
    struct sockaddr_in6 six;
    struct sockaddr_in  four;
    char                z[64] = "";

    if (a.len < sizeof z) memcpy(z, a.ptr, a.len);
    if (uv_ip4_addr(z, 0, &four) == 0 || uv_ip6_addr(z, 0, &six) == 0) return NULL;
    return "must be an address such as 10.0.0.7 or fd00::7, without a port or a mask";
}

/* "https://app.example.org:8443/chat", "[::1]", "app.localhost" -> the host alone, without port and
 * brackets. */
static struct str bare_host(struct str s)
{
    ptrdiff_t scheme = str_find(s, STR("://")), end;

    if (scheme >= 0) s = str_from(s, (size_t)scheme + 3);
    if ((end = str_find(s, STR("/"))) >= 0) s = str_cut(s, (size_t)end);
    if (str_starts(s, STR("["))) {
        end = str_find(s, STR("]"));
        return end < 0 ? s : str_n(s.ptr + 1, (size_t)end - 1);
    }
    end = str_find(s, STR(":"));
    return end < 0 || str_find(str_from(s, (size_t)end + 1), STR(":")) >= 0
               ? s
               : str_cut(s, (size_t)end);
}

static bool is_here(struct str host)
{
    struct str under = STR(".localhost"); /* browsers look these up nowhere else */
    bool sub = host.len > under.len && str_eq_nocase(str_from(host, host.len - under.len), under);
    return sub || config_host_is_loopback(host);
}

/* Listening on loopback is no protection when a proxy or a page elsewhere brings everybody in. An
 * "auth" with a mistake in it is told of already. */
static bool lets_others_in(const struct config_build *b, struct str name)
{
    return !jv_get(b->root, "auth") && !is_here(bare_host(name));
}

static void check_others(struct config_build *b, const struct jv *v, const char *key,
                         const char *what)
{
    if (!jv_is(v, JSON_STRING) || !lets_others_in(b, v->str)) return;
    cfg_bad(b, v,
            "\"" STR_FMT "\" in \"%s\" is %s, and nobody has to say who they are: add \"auth\", or "
            "take it out",
            STR_ARG(str_cut(v->str, 80)), key, what);
}

static struct config_strs read_list(struct config_build *b, const struct jv *list, const char *key,
                                    const char *(*fault)(struct str), const char *what)
{
    JV_EACH (v, list) {
        const char *why = v->type == JSON_STRING ? fault(v->str) : NULL;
        if (why)
            cfg_bad(b, v, "\"" STR_FMT "\" in \"%s\" %s", STR_ARG(str_cut(v->str, 80)), key, why);
        else check_others(b, v, key, what);
    }
    return cfg_strs(b, list);
}

/* Who gives out such an address has something in front that brings people here by it. */
static void read_public_url(struct config_build *b, const struct jv *v)
{
    if (v && cfg_url(b, v, "\"public_url\"", &b->c->public_url))
        check_others(b, v, "public_url", "an address for people on other machines");
}

void cfg_read_origins(struct config_build *b)
{
    static const char page[] = "a page of another machine";
    const struct jv  *root = b->root, *embed = jv_get(jv_get(root, "page"), "embed");

    b->c->origins = read_list(b, jv_get(root, "origins"), "origins", origin_fault, page);
    b->c->cors = read_list(b, jv_get(root, "cors"), "cors", origin_fault, page);
    b->c->embed = read_list(b, embed, "page.embed", origin_fault, page);
    b->c->hosts = read_list(b, jv_get(root, "hosts"), "hosts", host_fault,
                            "a name for people on other machines");
    b->c->proxies = read_list(b, jv_get(root, "proxies"), "proxies", address_fault,
                              "another machine that passes people on");
    read_public_url(b, jv_get(root, "public_url"));
    if (b->c->embed.count > EMBED_MAX)
        cfg_bad(b, embed, "\"page.embed\" lists %zu sites; %d fit into a header", b->c->embed.count,
                EMBED_MAX);
}
