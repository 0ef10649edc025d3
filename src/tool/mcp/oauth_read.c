/* oauth_read.c -- see oauth_read.h. */
#include "tool/mcp/oauth_read.h"

#include "base/oauthform.h"

#define WELL_RESOURCE "/.well-known/oauth-protected-resource"
#define WELL_SERVER   "/.well-known/oauth-authorization-server"
#define WELL_OPENID   "/.well-known/openid-configuration"
#define SCOPES_MAX    100
#define EXPIRES_MAX   (366 * 24 * 3600)

/* --- WWW-Authenticate (RFC 9110 11.6.1) ------------------------------------------------------- */

static void skip_blanks(struct str *s)
{
    while (s->len && (s->ptr[0] == ' ' || s->ptr[0] == '\t')) *s = str_from(*s, 1);
}

static struct str take_token(struct str *s)
{
    size_t n = 0;
    while (n < s->len && str_token_char((unsigned char)s->ptr[n])) n++;
    struct str word = str_cut(*s, n);
    *s = str_from(*s, n);
    return word;
}

/* Behind its first quote; STR_NONE: it has no second one, or no memory. */
static struct str take_quoted(struct arena *a, struct str *s)
{
    char  *out = arena_alloc(a, s->len + 1);
    size_t n = 0;
    for (*s = str_from(*s, 1); out && s->len && s->ptr[0] != '"'; *s = str_from(*s, 1)) {
        if (s->ptr[0] == '\\') *s = str_from(*s, 1);
        if (s->len) out[n++] = s->ptr[0];
    }
    if (!out || !s->len) return STR_NONE;
    *s = str_from(*s, 1);
    out[n] = 0;
    return str_n(out, n);
}

/* name = value, both; false: what comes is no parameter, and nothing was taken. */
static bool take_param(struct arena *a, struct str *s, struct str *name, struct str *value)
{
    struct str rest = *s;
    *name = take_token(&rest);
    skip_blanks(&rest);
    if (!name->len || !rest.len || rest.ptr[0] != '=') return false;
    rest = str_from(rest, 1);
    skip_blanks(&rest);
    if (rest.len && rest.ptr[0] == '"') *value = take_quoted(a, &rest);
    else *value = arena_dup(a, take_token(&rest));
    *s = rest;
    return value->ptr != NULL;
}

static void note_param(struct oauth_challenge *out, struct str name, struct str value)
{
    if (str_eq_nocase(name, STR("resource_metadata"))) {
        if (value.len <= OAUTH_URL_MAX) out->metadata = value;
    } else if (str_eq_nocase(name, STR("scope"))) {
        if (value.len <= OAUTH_SCOPE_MAX) out->scope = value;
    } else if (str_eq_nocase(name, STR("error"))) out->error = value;
}

void oauth_challenge_read(struct arena *a, struct str header, struct oauth_challenge *out)
{
    struct str rest = header, name, value;
    bool       bearer = false;

    *out = (struct oauth_challenge){ 0 };
    while (rest.len) {
        skip_blanks(&rest);
        if (rest.len && rest.ptr[0] == ',') {
            rest = str_from(rest, 1);
            continue;
        }
        if (take_param(a, &rest, &name, &value)) {
            if (bearer) note_param(out, name, value);
            continue;
        }
        name = take_token(&rest); /* another scheme, or what nobody can read */
        if (!name.len || bearer) return;
        bearer = str_eq_nocase(name, STR("Bearer"));
    }
}

/* --- scopes ----------------------------------------------------------------------------------- */

static bool good_scope(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.ptr[i] < 0x21 || s.ptr[i] > 0x7e || s.ptr[i] == '"' || s.ptr[i] == '\\') return false;
    return s.len > 0;
}

/* The next that is one; STR_NONE: there is no other. */
static struct str next_scope(struct str *rest)
{
    while (rest->len) {
        ptrdiff_t  at = str_find(*rest, STR(" "));
        struct str word = at < 0 ? *rest : str_cut(*rest, (size_t)at);
        *rest = str_from(*rest, at < 0 ? rest->len : (size_t)at + 1);
        if (good_scope(word)) return word;
    }
    return STR_NONE;
}

static bool has_scope(struct str all, struct str word)
{
    struct str s;
    while ((s = next_scope(&all)).ptr)
        if (str_eq(s, word)) return true;
    return false;
}

bool oauth_scope_lacks(struct str all, struct str words)
{
    struct str s;
    while ((s = next_scope(&words)).ptr)
        if (!has_scope(all, s)) return true;
    return false;
}

void oauth_scope_add(struct buf *out, struct str words)
{
    struct str s;
    while ((s = next_scope(&words)).ptr) {
        if (has_scope(buf_view(out), s) || out->len + s.len + 1 > OAUTH_SCOPE_MAX) continue;
        if (out->len) buf_chr(out, ' ');
        buf_str(out, s);
    }
}

/* --- addresses -------------------------------------------------------------------------------- */

static size_t authority_at(struct str url)
{
    if (str_eq_nocase(str_cut(url, 8), STR("https://"))) return 8;
    return str_eq_nocase(str_cut(url, 7), STR("http://")) ? 7 : 0;
}

struct str oauth_origin(struct str url)
{
    size_t from = authority_at(url), at = from;
    if (!from || url.len > OAUTH_URL_MAX) return STR_NONE;
    while (at < url.len && !strchr("/?#", url.ptr[at])) {
        unsigned char c = (unsigned char)url.ptr[at];
        if (c <= ' ' || c >= 0x7f || c == '@' || c == '\\') return STR_NONE;
        at++;
    }
    return at > from ? str_cut(url, at) : STR_NONE;
}

bool oauth_same_origin(struct str a, struct str b)
{
    struct str x = oauth_origin(a), y = oauth_origin(b);
    return x.ptr && y.ptr && str_eq_nocase(x, y);
}

/* What follows the origin, without query and the slash at its end; "" for "/". */
static struct str path_of(struct str url)
{
    struct str path = str_from(url, oauth_origin(url).len);
    size_t     n = 0;
    while (n < path.len && path.ptr[n] != '?' && path.ptr[n] != '#') n++;
    path = str_cut(path, n);
    if (str_ends(path, STR("/"))) path.len--;
    return path;
}

static struct str place(struct arena *a, struct str url, struct str path, const char *well,
                        struct str behind)
{
    struct str at = arena_printf(a, STR_FMT STR_FMT "%s" STR_FMT, STR_ARG(oauth_origin(url)),
                                 STR_ARG(path), well, STR_ARG(behind));
    return at.len <= OAUTH_URL_MAX ? at : STR_NONE;
}

struct str oauth_resource_place(struct arena *a, struct str url, unsigned n)
{
    struct str path = path_of(url), none = STR("");
    if (!oauth_origin(url).ptr || n > (path.len ? 1u : 0u)) return STR_NONE;
    return place(a, url, none, WELL_RESOURCE, n ? none : path);
}

struct str oauth_server_place(struct arena *a, struct str issuer, unsigned n)
{
    struct str path = path_of(issuer), none = STR("");
    if (!oauth_origin(issuer).ptr) return STR_NONE;
    if (!path.len) n = n == 1 ? 2 : n == 0 ? 0 : 3; /* the two forms of OpenID are one */
    switch (n) {
    case 0: return place(a, issuer, none, WELL_SERVER, path);
    case 1: return place(a, issuer, none, WELL_OPENID, path);
    case 2: return place(a, issuer, path, WELL_OPENID, none);
    default: return STR_NONE;
    }
}

/* The same but for a slash at the end, which some write and some do not. */
static bool same_address(struct str a, struct str b)
{
    if (str_ends(a, STR("/"))) a.len--;
    if (str_ends(b, STR("/"))) b.len--;
    return str_eq(a, b);
}

/* The address that is configured, or one above it. */
static bool is_about(struct str resource, struct str url)
{
    struct str above = path_of(resource), path = path_of(url);
    if (!oauth_same_origin(resource, url) || !str_starts(path, above)) return false;
    return above.len == path.len || path.ptr[above.len] == '/';
}

/* --- metadata --------------------------------------------------------------------------------- */

/* Those that may be asked for, with blanks between. STR_NONE: none. */
static struct str join_scopes(struct arena *a, const struct jv *list)
{
    char    *out = arena_alloc(a, OAUTH_SCOPE_MAX + 1);
    size_t   n = 0;
    unsigned count = 0;
    if (!out || !jv_is(list, JSON_ARRAY)) return STR_NONE;
    JV_EACH (v, list) {
        struct str s = jv_str(v);
        if (!good_scope(s) || n + s.len + 1 > OAUTH_SCOPE_MAX || ++count > SCOPES_MAX) continue;
        if (n) out[n++] = ' ';
        memcpy(out + n, s.ptr, s.len);
        n += s.len;
    }
    out[n] = 0;
    return n ? str_n(out, n) : STR_NONE;
}

const char *oauth_resource_read(struct arena *a, const struct jv *doc, struct str url,
                                struct oauth_resource *out)
{
    struct str       resource = jv_str_at(doc, "resource");
    const struct jv *servers = jv_get(doc, "authorization_servers");

    *out = (struct oauth_resource){ 0 };
    if (!jv_is(doc, JSON_OBJECT)) return "the server's metadata is no JSON object";
    if (resource.len > OAUTH_URL_MAX || !is_about(resource, url))
        return "the server's metadata is about another address than its own";
    if (jv_is(servers, JSON_ARRAY) && servers->count) {
        struct str first = jv_str(jv_at(servers, 0));
        if (!oauth_origin(first).ptr) return "the authorization server it names has no address";
        out->issuer = arena_dup(a, first);
    }
    out->resource = arena_dup(a, resource);
    out->scopes = join_scopes(a, jv_get(doc, "scopes_supported"));
    return a->failed ? "out of memory" : NULL;
}

static bool has_word(const struct jv *list, const char *word)
{
    JV_EACH (v, list)
        if (str_is(jv_str(v), word)) return true;
    return false;
}

static bool may_send(struct str url, bool near)
{
    return url.len <= OAUTH_URL_MAX && oauth_origin(url).ptr && url_is_safe(url) &&
           (near || !url_is_loopback(url)) && str_find(url, STR("#")) < 0;
}

/* *missing: the member is not there. */
static bool take_address(struct arena *a, const struct jv *doc, const char *key, bool near,
                         struct str *out)
{
    struct str url = jv_str_at(doc, key);
    *out = STR_NONE;
    if (!url.ptr || !may_send(url, near)) return false;
    *out = arena_dup(a, url);
    return true;
}

const char *oauth_server_read(struct arena *a, const struct jv *doc, struct str issuer, bool near,
                              struct oauth_server *out)
{
    const struct jv *methods = jv_get(doc, "token_endpoint_auth_methods_supported");

    *out = (struct oauth_server){ 0 };
    if (!jv_is(doc, JSON_OBJECT)) return "the authorization server's metadata is no JSON object";
    if (!same_address(jv_str_at(doc, "issuer"), issuer))
        return "the authorization server's metadata is of another issuer";
    if (!may_send(issuer, near)) return "the authorization server is not reached over https";
    if (!take_address(a, doc, "authorization_endpoint", near, &out->authorize) ||
        !take_address(a, doc, "token_endpoint", near, &out->token))
        return "the authorization server lacks an address (authorization_endpoint, token_endpoint) "
               "that is https";
    if (!has_word(jv_get(doc, "code_challenge_methods_supported"), "S256"))
        return "the authorization server does not say that it supports PKCE with S256";
    if (jv_get(doc, "registration_endpoint") &&
        !take_address(a, doc, "registration_endpoint", near, &out->registration))
        return "the authorization server's registration_endpoint is not https";
    out->issuer = arena_dup(a, jv_str_at(doc, "issuer"));
    out->secret_posted = methods && has_word(methods, "client_secret_post") &&
                         !has_word(methods, "client_secret_basic");
    out->says_issuer = jv_true(jv_get(doc, "authorization_response_iss_parameter_supported"));
    out->offline = has_word(jv_get(doc, "scopes_supported"), "offline_access");
    return a->failed ? "out of memory" : NULL;
}

/* --- answers ---------------------------------------------------------------------------------- */

static bool printable(struct str s, size_t max)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.ptr[i] < 0x20 || s.ptr[i] > 0x7e) return false;
    return s.len > 0 && s.len <= max;
}

const char *oauth_client_read(struct arena *a, const struct jv *doc, struct oauth_client *out)
{
    struct str id = jv_str_at(doc, "client_id"), secret = jv_str_at(doc, "client_secret");
    bool       open = str_is(jv_str_at(doc, "token_endpoint_auth_method"), "none");

    *out = (struct oauth_client){ 0 };
    if (!printable(id, OAUTH_CLIENT_MAX)) return "the registration's answer has no client_id";
    if (secret.len && !printable(secret, OAUTH_CLIENT_MAX))
        return "the registration's client_secret cannot be used";
    out->id = arena_dup(a, id);
    if (secret.len && !open) out->secret = arena_dup(a, secret);
    return a->failed ? "out of memory" : NULL;
}

bool oauth_token_good(struct str token)
{
    for (size_t i = 0; i < token.len; i++)
        if (token.ptr[i] < 0x21 || token.ptr[i] > 0x7e) return false;
    return token.len > 0 && token.len <= OAUTH_TOKEN_MAX;
}

const char *oauth_grant_read(struct arena *a, const struct jv *doc, struct oauth_grant *out)
{
    struct str access = jv_str_at(doc, "access_token"), refresh = jv_str_at(doc, "refresh_token"),
               scope = jv_str_at(doc, "scope");
    double seconds = 0;

    *out = (struct oauth_grant){ 0 };
    if (!jv_is(doc, JSON_OBJECT) || !oauth_token_good(access))
        return "its answer has no access token that can be used";
    if (!str_eq_nocase(jv_str_at(doc, "token_type"), STR("Bearer")))
        return "its token is of a kind that is not known here (token_type is not Bearer)";
    if (refresh.ptr && !oauth_token_good(refresh)) return "its refresh token cannot be used";
    /* some write it as a string */
    const struct jv *e = jv_get(doc, "expires_in");
    uint64_t         whole;
    if (jv_is(e, JSON_STRING) && str_to_u64(e->str, &whole)) seconds = (double)whole;
    else if (e) (void)jv_f64(e, &seconds);
    if (seconds >= 1) out->expires_s = seconds > EXPIRES_MAX ? EXPIRES_MAX : (int64_t)seconds;
    out->access = arena_dup(a, access);
    if (refresh.ptr) out->refresh = arena_dup(a, refresh);
    if (scope.ptr && scope.len <= OAUTH_SCOPE_MAX) out->scope = arena_dup(a, scope);
    return a->failed ? "out of memory" : NULL;
}
