/* target.c -- the address of a request; target.h is its manual. */
#include "http/target.h"

#include "base/utf8.h"

int hex_value(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/* The byte that %XX at s[at] stands for, or -1. */
static int escape_at(struct str s, size_t at)
{
    if (s.len - at < 3) return -1;
    int hi = hex_value(s.ptr[at + 1]), lo = hex_value(s.ptr[at + 2]);
    return hi < 0 || lo < 0 ? -1 : hi * 16 + lo;
}

/* Printable ASCII but what no client sends unescaped and some readers cut at.
 * (Browsers do send | ^ ` { } as they are.) */
static bool target_char(char c)
{
    return c > ' ' && c < 0x7f && c != '#' && c != '"' && c != '<' && c != '>' && c != '\\';
}

static const char *check_chars(struct str target)
{
    for (size_t i = 0; i < target.len; i++) {
        if (!target_char(target.ptr[i])) return "The address has a character that must be escaped.";
        if (target.ptr[i] == '%' && escape_at(target, i) < 0)
            return "The address has a bad percent escape.";
    }
    return NULL;
}

bool target_is_dots(struct str segment)
{
    return str_is(segment, ".") || str_is(segment, "..");
}

static bool has_dots(struct str path)
{
    struct str rest = path, piece;
    while (str_split(&rest, '/', &piece))
        if (target_is_dots(piece)) return true;
    return false;
}

static bool has_escaped_slash(struct str raw)
{
    for (size_t i = 0; i < raw.len; i++)
        if (raw.ptr[i] == '%' && escape_at(raw, i) == '/') return true;
    return false;
}

static const char *check_decoded(struct str path)
{
    for (size_t i = 0; i < path.len; i++)
        if ((unsigned char)path.ptr[i] < 0x20 || path.ptr[i] == 0x7f)
            return "The path has a control character in it.";
    return utf8_valid(path) ? NULL : "The path is not valid UTF-8.";
}

static enum err decode_path(struct request *q, struct str raw, const char **why)
{
    struct str path = target_decode(q->arena, raw);

    if (!path.ptr) return ERR_NOMEM;
    *why = has_dots(raw) ? "The path must not have dot segments." : check_decoded(path);
    if (*why) return ERR_SYNTAX;
    /* Decoded it would split a segment that the client meant to be one. */
    if (has_escaped_slash(raw)) q->odd = "The path must not have escaped slashes.";
    else if (has_dots(path)) q->odd = "The path must not have dot segments.";
    q->path = q->odd ? raw : path;
    return OK;
}

static enum err parse_origin(struct request *q, struct str target, const char **why)
{
    const char *mark = memchr(target.ptr, '?', target.len);
    struct str  path = mark ? str_n(target.ptr, (size_t)(mark - target.ptr)) : target;

    q->query = mark ? str_from(target, path.len + 1) : STR("");
    return decode_path(q, path, why);
}

/* http://host/path: what a proxy would get. RFC 9112 3.2.2 wants it taken; it is,
 * as long as it names the same host as the Host header that the guard checks. */
static enum err parse_absolute(struct request *q, struct str target, const char **why)
{
    size_t     skip = str_starts(target, STR("http://"))    ? 7
                      : str_starts(target, STR("https://")) ? 8
                                                            : 0;
    struct str rest = str_from(target, skip);
    size_t     n = 0;

    *why = "The address must begin with a slash.";
    if (!skip) return ERR_SYNTAX;
    while (n < rest.len && rest.ptr[n] != '/' && rest.ptr[n] != '?') n++;
    *why = "The host of the address is not the one in the Host header.";
    if (!str_eq_nocase(str_cut(rest, n), request_header(q, "Host"))) return ERR_SYNTAX;
    rest = str_from(rest, n);
    if (rest.len && rest.ptr[0] == '/') return parse_origin(q, rest, why);
    q->path = STR("/");
    q->query = str_from(rest, 1);
    return OK;
}

enum err target_parse(struct request *q, struct str target, const char **why)
{
    if (str_is(target, "*")) {
        *why = "Only OPTIONS can be asked of everything at once.";
        if (!str_is(q->method, "OPTIONS")) return ERR_SYNTAX;
        q->path = target;
        q->query = STR("");
        return OK;
    }
    *why = target.len ? check_chars(target) : "The request has no address.";
    if (*why) return ERR_SYNTAX;
    return target.ptr[0] == '/' ? parse_origin(q, target, why) : parse_absolute(q, target, why);
}

/* --- Host --------------------------------------------------------------------- */

static bool name_char(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '.' ||
           c == '-' || c == '_';
}

static bool valid_port(struct str port)
{
    uint64_t n;
    return str_to_u64(port, &n) && n <= 65535;
}

static bool valid_rest(struct str rest)
{
    return rest.len == 0 || (rest.ptr[0] == ':' && valid_port(str_from(rest, 1)));
}

static bool valid_ip6(struct str host)
{
    size_t n = 1;
    while (n < host.len &&
           (hex_value(host.ptr[n]) >= 0 || host.ptr[n] == ':' || host.ptr[n] == '.'))
        n++;
    return n > 2 && n < host.len && host.ptr[n] == ']' && valid_rest(str_from(host, n + 1));
}

bool target_host_valid(struct str host)
{
    size_t n = 0;

    if (host.len == 0 || host.len > 255 + 6) return false; /* a DNS name and a port */
    if (host.ptr[0] == '[') return valid_ip6(host);
    while (n < host.len && name_char(host.ptr[n])) n++;
    return n > 0 && valid_rest(str_from(host, n));
}

/* --- escapes -------------------------------------------------------------------- */

static struct str decode(struct arena *a, struct str s, bool form)
{
    if (s.len == 0 || (!memchr(s.ptr, '%', s.len) && !(form && memchr(s.ptr, '+', s.len))))
        return s;
    char  *out = arena_alloc(a, s.len);
    size_t n = 0;
    if (!out) return STR_NONE;
    for (size_t i = 0; i < s.len; i++) {
        int c = s.ptr[i] == '%' ? escape_at(s, i) : -1;
        if (c >= 0) i += 2;
        else c = form && s.ptr[i] == '+' ? ' ' : s.ptr[i];
        out[n++] = (char)c;
    }
    return str_n(out, n);
}

struct str target_decode(struct arena *a, struct str s)
{
    return decode(a, s, false);
}

struct str target_decode_form(struct arena *a, struct str s)
{
    return decode(a, s, true);
}
