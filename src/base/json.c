/* json.c -- the pull reader: RFC 8259 and no more.
 *
 * `at` moves over the text once. depth, first[] and is_obj[] say where in the
 * value we are, so nothing here recurses and the nesting of the input costs no
 * C stack. A value may be followed only by what its container allows; this is
 * checked by whoever looks next (json_key, json_item, json_end), which is why
 * "01" or "truex" need no rule of their own.
 * On an error `at` stands where it was found.
 */
#include "base/json.h"

#include "base/jkeys.h"
#include "base/jnum.h"
#include "base/scan.h"
#include "base/utf8.h"

struct quoted {
    struct str raw;
    bool       escaped;
}; /* what stands between the quotes */

static bool fail(struct json *r, enum err e, const char *why)
{
    if (r->err == OK) {
        r->err = e;
        r->why = why;
    }
    return false;
}

static bool fail_at(struct json *r, const char *at, const char *why)
{
    r->at = at;
    return fail(r, ERR_SYNTAX, why);
}

void json_init(struct json *r, struct str text, struct arena *scratch)
{
    /* One by one: an initializer would clear the large arrays for every message. */
    r->start = r->at = text.ptr ? text.ptr : "";
    r->end = r->start + text.len;
    r->scratch = scratch;
    r->err = OK;
    r->why = NULL;
    r->depth = 0;
    r->depth_max = JSON_DEPTH_MAX;
    r->first[0] = true;
    r->is_obj[0] = false;
    r->keys = NULL;
    r->key_count = 0;
}

/* The next byte that is not white space, -1 at the end. */
static inline int ahead(struct json *r)
{
    const char *p = r->at;
    while (p < r->end && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t')) p++;
    r->at = p;
    return p < r->end ? (unsigned char)*p : -1;
}

/* The first byte of the value that comes next; -1 after an error. */
static int value_ahead(struct json *r)
{
    if (r->err) return -1;
    int c = ahead(r);
    if (c < 0) fail(r, ERR_SYNTAX, "the text ends where a value is expected");
    else if (r->depth == 0 && !r->first[0]) fail(r, ERR_SYNTAX, "more text after the value");
    return r->err ? -1 : c;
}

/* --- scalars ------------------------------------------------------------- */

static bool is_digit(const struct json *r, const char *p)
{
    return p < r->end && *p >= '0' && *p <= '9';
}

static bool is_hex(char c)
{
    return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
}

/* Length of the escape at p, 0 when it is none. */
static size_t escape_len(const char *p, const char *end)
{
    if (end - p < 2) return 0;
    if (p[1] != 'u') return p[1] && strchr("\"\\/bfnrt", p[1]) ? 2 : 0;
    if (end - p < 6) return 0;
    return is_hex(p[2]) && is_hex(p[3]) && is_hex(p[4]) && is_hex(p[5]) ? 6 : 0;
}

/* Length of the character at p, 0 when it is not strict UTF-8. */
static size_t char_len(const char *p, const char *end)
{
    uint32_t cp;
    unsigned n = utf8_decode(str_n(p, (size_t)(end - p)), &cp);
    return n == 1 || (cp >= 0xD800 && cp <= 0xDFFF) ? 0 : n;
}

/* `at` stands on the opening quote, and is left behind the closing one. */
static bool take_string(struct json *r, struct quoted *t)
{
    const char *p = r->at + 1;
    size_t      n;
    bool        escaped = false;
    for (;; p += n) {
        p = scan_plain(p, r->end);
        if (p == r->end) return fail_at(r, p, "the text ends inside a string");
        if (*p == '"') break;
        if (*p == '\\') {
            escaped = true;
            if (!(n = escape_len(p, r->end))) return fail_at(r, p, "bad escape in a string");
        } else if ((unsigned char)*p < 0x80) {
            return fail_at(r, p, "control character in a string");
        } else if (!(n = char_len(p, r->end))) {
            return fail_at(r, p, "not UTF-8");
        }
    }
    *t = (struct quoted){ str_n(r->at + 1, (size_t)(p - r->at - 1)), escaped };
    r->at = p + 1;
    return true;
}

static const char *take_digits(const struct json *r, const char *p)
{
    while (is_digit(r, p)) p++;
    return p;
}

static bool take_number(struct json *r, struct str *raw)
{
    const char *p = r->at;
    if (*p == '-') p++;
    if (!is_digit(r, p)) return fail_at(r, p, p == r->at ? "expected a value" : "expected a digit");
    p = *p == '0' ? p + 1 : take_digits(r, p);
    if (p < r->end && *p == '.') {
        if (!is_digit(r, ++p)) return fail_at(r, p, "expected a digit");
        p = take_digits(r, p);
    }
    if (p < r->end && (*p | 0x20) == 'e') {
        p++;
        if (p < r->end && (*p == '+' || *p == '-')) p++;
        if (!is_digit(r, p)) return fail_at(r, p, "expected a digit");
        p = take_digits(r, p);
    }
    *raw = str_n(r->at, (size_t)(p - r->at));
    r->at = p;
    return true;
}

static bool take_word(struct json *r, const char *word)
{
    size_t n = strlen(word);
    if ((size_t)(r->end - r->at) < n || memcmp(r->at, word, n) != 0)
        return fail(r, ERR_SYNTAX, "expected a value");
    r->at += n;
    return true;
}

static struct str decode(struct json *r, const struct quoted *t)
{
    if (!t->escaped) return t->raw;
    char *p = r->scratch ? arena_alloc(r->scratch, t->raw.len) : NULL;
    if (!p) {
        fail(r, ERR_NOMEM, "no memory for a string");
        return STR_NONE;
    }
    return str_n(p, jkeys_unescape(t->raw, p));
}

/* --- containers ----------------------------------------------------------- */

const char JSON_TOO_DEEP[] = "nested too deeply";

static bool enter(struct json *r, bool is_obj)
{
    if (r->depth == r->depth_max) return fail(r, ERR_SYNTAX, JSON_TOO_DEEP);
    r->first[r->depth] = false;
    r->at++;
    r->depth++;
    r->first[r->depth] = true;
    r->is_obj[r->depth] = is_obj;
    return true;
}

/* Moves to the next member or item; false when the container has ended. */
static bool more(struct json *r, char close, const char *why)
{
    int c = ahead(r);
    if (c == close) {
        r->at++;
        return false;
    }
    if (r->first[r->depth]) {
        r->first[r->depth] = false;
        return c >= 0 || fail(r, ERR_SYNTAX, why);
    }
    if (c != ',') return fail(r, ERR_SYNTAX, why);
    r->at++;
    return true;
}

static bool add_key(struct json *r, const struct quoted *t)
{
    enum err e = jkeys_add(r, t->raw, t->escaped);
    if (e == ERR_NOMEM) return fail(r, e, "no memory for the keys");
    return e == OK || fail_at(r, t->raw.ptr - 1, "duplicate key");
}

static bool next_key(struct json *r, struct quoted *t)
{
    if (r->err) return false;
    if (!r->is_obj[r->depth]) return fail(r, ERR_TYPE, "not inside an object");
    if (!more(r, '}', "expected ',' or '}'")) {
        if (r->err) return false;
        jkeys_leave(r);
        r->depth--;
        return false;
    }
    if (ahead(r) != '"') return fail(r, ERR_SYNTAX, "expected a key in quotes");
    if (!take_string(r, t) || !add_key(r, t)) return false;
    if (ahead(r) != ':') return fail(r, ERR_SYNTAX, "expected ':'");
    r->at++;
    return true;
}

bool json_object(struct json *r)
{
    if (json_peek(r) == JSON_OBJECT && !r->err) return enter(r, true);
    return fail(r, ERR_TYPE, "expected an object");
}

bool json_array(struct json *r)
{
    if (json_peek(r) == JSON_ARRAY && !r->err) return enter(r, false);
    return fail(r, ERR_TYPE, "expected an array");
}

bool json_key(struct json *r, struct str *key)
{
    struct quoted t;
    if (!next_key(r, &t)) return false;
    struct str s = decode(r, &t);
    if (r->err) return false;
    *key = s;
    return true;
}

bool json_item(struct json *r)
{
    if (r->err) return false;
    if (r->depth == 0 || r->is_obj[r->depth]) return fail(r, ERR_TYPE, "not inside an array");
    if (more(r, ']', "expected ',' or ']'")) return true;
    if (!r->err) r->depth--;
    return false;
}

/* --- values ---------------------------------------------------------------- */

enum json_type json_peek(struct json *r)
{
    int c = value_ahead(r);
    switch (c) {
    case -1: return JSON_NULL;
    case 'n': return JSON_NULL;
    case 't':
    case 'f': return JSON_BOOL;
    case '"': return JSON_STRING;
    case '[': return JSON_ARRAY;
    case '{': return JSON_OBJECT;
    }
    if (c == '-' || (c >= '0' && c <= '9')) return JSON_NUMBER;
    fail(r, ERR_SYNTAX, "expected a value");
    return JSON_NULL;
}

/* Is a scalar of this type next? Then the place it stands in is taken. */
static bool expect(struct json *r, enum json_type type, const char *why)
{
    if (json_peek(r) != type || r->err) return fail(r, ERR_TYPE, why);
    r->first[r->depth] = false;
    return true;
}

struct str json_string(struct json *r)
{
    struct quoted t;
    if (!expect(r, JSON_STRING, "expected a string") || !take_string(r, &t)) return STR_NONE;
    return decode(r, &t);
}

int64_t json_int(struct json *r)
{
    struct str raw;
    int64_t    v = 0;
    if (!expect(r, JSON_NUMBER, "expected a number") || !take_number(r, &raw)) return 0;
    enum err e = jnum_int(raw, &v);
    if (e) fail(r, e, e == ERR_RANGE ? "number out of range" : "expected a whole number");
    return v;
}

bool json_bool(struct json *r)
{
    if (!expect(r, JSON_BOOL, "expected true or false")) return false;
    bool is_true = *r->at == 't';
    return take_word(r, is_true ? "true" : "false") && is_true;
}

void json_null(struct json *r)
{
    if (expect(r, JSON_NULL, "expected null")) take_word(r, "null");
}

/* A scalar to its end, or into a container. */
static void take_any(struct json *r)
{
    struct quoted t;
    struct str    raw;
    int           c = value_ahead(r);
    if (c < 0) return;
    r->first[r->depth] = false;
    switch (c) {
    case '{': enter(r, true); return;
    case '[': enter(r, false); return;
    case '"': take_string(r, &t); return;
    case 't': take_word(r, "true"); return;
    case 'f': take_word(r, "false"); return;
    case 'n': take_word(r, "null"); return;
    }
    take_number(r, &raw);
}

void json_skip(struct json *r)
{
    struct quoted key;
    int           depth = r->depth;
    take_any(r);
    while (!r->err && r->depth > depth)
        if (r->is_obj[r->depth] ? next_key(r, &key) : json_item(r)) take_any(r);
}

struct str json_raw(struct json *r)
{
    if (value_ahead(r) < 0) return STR_NONE;
    const char *from = r->at;
    json_skip(r);
    return r->err ? STR_NONE : str_n(from, (size_t)(r->at - from));
}

enum err json_end(struct json *r)
{
    jkeys_done(r);
    if (r->err) return r->err;
    if (r->depth > 0) fail(r, ERR_SYNTAX, "the value was not read to its end");
    else if (ahead(r) >= 0) fail(r, ERR_SYNTAX, "more text after the value");
    else if (r->first[0]) fail(r, ERR_SYNTAX, "no value in the text");
    return r->err;
}
