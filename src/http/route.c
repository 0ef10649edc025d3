/* route.c -- the router; route.h is its manual. The table is short and in one
 * place, so a plain walk is as fast as the request line is to parse. */
#include "http/route.h"

#include "http/target.h"

static bool match_segment(struct str pattern, struct str piece, struct arena *odd,
                          struct str *param[])
{
    if (odd) piece = target_decode(odd, piece);
    if (odd && !str_is(pattern, "{*}") && (target_is_dots(piece) || str_find(piece, STR("/")) >= 0))
        return false;
    if (pattern.len < 2 || pattern.ptr[0] != '{') return str_eq(pattern, piece);
    *(*param)++ = piece;
    return piece.len > 0;
}

bool route_matches(const char *pattern, struct str path, struct arena *odd, struct str param[4])
{
    struct str want = str_c(pattern), piece, segment, rest;
    struct str taken[4 + 1] = { 0 }, *next = taken;

    if (odd && !strstr(pattern, "{*}")) return false;
    for (;;) {
        rest = path;
        bool more = str_split(&want, '/', &segment), have = str_split(&path, '/', &piece);
        if (!more || !have) {
            if (more != have) return false;
            break;
        }
        if (str_is(segment, "*") && !want.ptr) {
            *next++ = rest;
            break;
        }
        if (!match_segment(segment, piece, odd, &next)) return false;
        must(next <= taken + 4);
    }
    memcpy(param, taken, 4 * sizeof *param);
    return true;
}

static bool fits(const struct route *r, struct request *q, struct str param[4])
{
    return route_matches(r->pattern, q->path, q->odd ? q->arena : NULL, param);
}

static bool method_fits(const char *method, struct str asked)
{
    return strcmp(method, "*") == 0 || str_is(asked, method) ||
           (str_is(asked, "HEAD") && strcmp(method, "GET") == 0);
}

/* ", GET, HEAD" onto the list, unless it is there. */
static void allow_add(struct arena *a, struct str *allow, const char *method)
{
    struct str rest = *allow, piece;

    while (allow->len && str_split(&rest, ',', &piece))
        if (str_is(str_trim(piece), method)) return;
    *allow = arena_printf(a, STR_FMT "%s%s", STR_ARG(*allow), allow->len ? ", " : "", method);
    if (strcmp(method, "GET") == 0) allow_add(a, allow, "HEAD");
}

/* "/" + "*": takes what nobody else has. */
static bool takes_all(const struct route *r)
{
    return strcmp(r->pattern, "/*") == 0 || strcmp(r->pattern, "*") == 0;
}

/* By none of the routes: the methods that its path takes. */
static struct route_match allowed(const struct route *routes, struct request *q, bool rest)
{
    struct route_match m = { 0 };
    struct str         param[4];

    for (const struct route *r = routes; r->pattern; r++) {
        if (takes_all(r) != rest || !fits(r, q, param)) continue;
        allow_add(q->arena, &m.allow, r->method);
        if (!m.door) m.door = r->door;
    }
    return m;
}

static const struct route *fitting(const struct route *routes, struct request *q, bool rest)
{
    for (const struct route *r = routes; r->pattern; r++)
        if (takes_all(r) == rest && method_fits(r->method, q->method) && fits(r, q, q->param))
            return r;
    return NULL;
}

struct route_match route_find(const struct route *routes, struct request *q)
{
    const struct route *r = fitting(routes, q, false);
    struct route_match  m = r ? (struct route_match){ 0 } : allowed(routes, q, false);
    if (!r && m.allow.len) return m;
    if (!r) r = fitting(routes, q, true);
    return r ? (struct route_match){ r, STR_NONE, r->door } : allowed(routes, q, true);
}

/* Up to the first that takes more than itself. */
static struct str plain_segments(struct str pattern)
{
    size_t n = 0;
    while (n < pattern.len && pattern.ptr[n] != '{' && pattern.ptr[n] != '*') n++;
    if (n < pattern.len) n--; /* the slash before it */
    return str_cut(pattern, n);
}

const struct door *route_near(const struct route *routes, struct str path)
{
    const struct door *door = NULL;
    size_t             most = 0;

    for (const struct route *r = routes; r->pattern; r++) {
        struct str plain = plain_segments(str_c(r->pattern)), rest = str_from(path, plain.len);
        if (!r->door || plain.len <= most || !str_starts(path, plain)) continue;
        if (rest.len && rest.ptr[0] != '/') continue;
        most = plain.len;
        door = r->door;
    }
    return door;
}
