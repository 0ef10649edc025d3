/* vouch.c -- see vouch.h. */
#include "run/vouch.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/jsonw.h"
#include "base/sha256.h"

#define JWS ",\"jws\":\""

static void put_hash(struct jsonw *w, const char *key, struct str text)
{
    uint8_t hash[SHA256_LEN];
    char    hex[SHA256_HEX + 1];
    sha256_of(text, hash);
    sha256_hex(hash, sizeof hash, hex);
    jw_kstrz(w, key, hex);
}

static struct jsonw begin(struct buf *out, const char *type, const char *log, int64_t at_ms)
{
    struct jsonw w;
    char         at[CLOCK_RFC3339_LEN + 1];
    clock_rfc3339(at_ms, at);
    jsonw_init(&w, out);
    jw_obj(&w);
    jw_kstrz(&w, "type", type);
    jw_kstrz(&w, "log", log);
    jw_kstrz(&w, "at", at);
    return w;
}

void vouch_trim_claim(struct buf *out, const char *log, int64_t at_ms, struct str kinds,
                      struct str data)
{
    struct jsonw w = begin(out, "parley-trim", log, at_ms);
    jw_kstr(&w, "kinds", kinds);
    put_hash(&w, "data", data);
    jw_end_obj(&w);
}

void vouch_stub_claim(struct buf *out, const char *log, int64_t at_ms, struct str body,
                      uint64_t from)
{
    struct jsonw w = begin(out, "parley-removal", log, at_ms);
    put_hash(&w, "body", body);
    if (from) jw_kint(&w, "unsigned", (int64_t)from);
    jw_end_obj(&w);
}

struct str vouch_sign(const struct vouch *v, struct arena *a, struct buf *claim)
{
    struct buf jws;
    buf_init(&jws, 0);
    bool       good = v->sign && !claim->err && v->sign(v->ctx, buf_view(claim), &jws) == OK;
    struct str s = good ? arena_dup(a, buf_view(&jws)) : STR_NONE;
    buf_done(&jws);
    buf_done(claim);
    return s;
}

struct str vouch_stub(const struct vouch *v, struct arena *a, const char *log, int64_t at_ms,
                      struct str body, uint64_t from)
{
    struct buf claim;
    if (!v->sign || !body.ptr) return body;
    buf_init(&claim, 0);
    vouch_stub_claim(&claim, log, at_ms, body, from);
    struct str jws = vouch_sign(v, a, &claim);
    if (!jws.ptr) return STR_NONE;
    return arena_printf(a, STR_FMT JWS STR_FMT "\"}", STR_ARG(str_cut(body, body.len - 1)),
                        STR_ARG(jws));
}

static bool is_jws(struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
              c == '-' || c == '_' || c == '.'))
            return false;
    }
    return s.len > 0;
}

/* Where the last member begins, if it is a signature; -1: it is none. */
static ptrdiff_t find_jws(struct str body)
{
    size_t key = sizeof JWS - 1;
    if (!str_ends(body, STR("\"}"))) return -1;
    for (size_t i = body.len - 2; i >= key; i--)
        if (body.ptr[i - 1] == '"')
            return str_ends(str_cut(body, i), STR(JWS)) &&
                           is_jws(str_n(body.ptr + i, body.len - 2 - i))
                       ? (ptrdiff_t)(i - key)
                       : -1;
    return -1;
}

enum err vouch_open(struct arena *a, struct str body, struct str *bare, struct str *jws)
{
    ptrdiff_t at = find_jws(body);
    *bare = body;
    *jws = STR_NONE;
    if (at < 0) return OK;
    size_t from = (size_t)at + sizeof JWS - 1;
    *jws = str_n(body.ptr + from, body.len - 2 - from);
    *bare = arena_printf(a, STR_FMT "}", STR_ARG(str_cut(body, (size_t)at)));
    return bare->ptr ? OK : ERR_NOMEM;
}

enum err vouch_since(const struct vouch *v, struct arena *a, const char *log, uint64_t seq,
                     struct str body, struct str *bare, uint64_t *from)
{
    struct str jws, payload;
    struct jv *said = NULL;
    uint8_t    hash[SHA256_LEN];
    char       hex[SHA256_HEX + 1];
    enum err   e = vouch_open(a, body, bare, &jws);
    *from = seq;
    if (e || !jws.ptr || !v->check || v->check(v->ctx, jws, a, &payload))
        return a->failed ? ERR_NOMEM : e;
    if ((e = json_parse(a, payload, &said, NULL))) return e == ERR_NOMEM ? e : OK;
    sha256_of(*bare, hash);
    sha256_hex(hash, sizeof hash, hex);
    if (str_is(jv_str_at(said, "type"), "parley-removal") && str_is(jv_str_at(said, "log"), log) &&
        str_is(jv_str_at(said, "body"), hex))
        *from = (uint64_t)jv_int_at(said, "unsigned", 0);
    return OK;
}
