/* json.h -- reading JSON: one strict parser, two ways to use it.
 *
 * Strict means RFC 8259 and no more: UTF-8 checked, duplicate keys refused,
 * depth at most JSON_DEPTH_MAX, nothing after the value, no NaN, no comments.
 * Strings come out as bytes with a length: \u0000 is a NUL byte inside, a lone
 * surrogate escape (\ud800) becomes its three WTF-8 bytes (ED A0 80), which
 * jsonw writes back as the same escape, so nothing is lost or cut. Literal
 * surrogate bytes in the input are bad UTF-8 and refused.
 * Numbers stay text (`raw`): they are passed through as written; json_int and
 * jv_f64 convert on demand.
 *
 * 1. The pull reader, for hot paths: no allocation unless a string has escapes
 *    (then it is decoded into `scratch`). Errors are sticky: after the first
 *    one every call returns its empty value; check json_end() once.
 *
 *        struct json r;
 *        json_init(&r, text, &scratch);
 *        json_object(&r);
 *        while (json_key(&r, &key)) {
 *            if (str_is(key, "delta")) delta = json_string(&r);
 *            else json_skip(&r);
 *        }
 *        if (json_end(&r) != OK) ...
 *
 * 2. The tree, for bodies, configuration and facts: json_parse() builds nodes in
 *    an arena; strings without escapes and raw texts point into `text`, which must live as
 *    long as the tree. Lookup functions accept NULL nodes and wrong types and
 *    answer "absent", so that optional members read in one line.
 */
#ifndef PARLEY_JSON_H
#define PARLEY_JSON_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

#define JSON_DEPTH_MAX 128
/* of facts: a value from outside with our own members around it */
#define JSON_DEPTH_OWN (JSON_DEPTH_MAX + 8)

enum json_type { JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

/* --- pull reader ------------------------------------------------------- */

struct json_keys; /* the keys seen in the open objects; private */
struct json {
    const char       *at, *end, *start;
    /* for strings with escapes; may be NULL when none are read */
    struct arena     *scratch;
    enum err          err;
    const char       *why; /* for people: "expected ',' or '}'"; static text */
    int               depth, depth_max;
    bool              first[JSON_DEPTH_OWN + 1];  /* private: no comma expected yet */
    bool              is_obj[JSON_DEPTH_OWN + 1]; /* private */
    struct json_keys *keys;                       /* private: for the duplicate check */
    uint32_t          key_hash[32]; /* private: same, without allocation for small objects */
    const char       *key_at[32];   /* private */
    uint8_t           key_depth[32];
    unsigned          key_count;
};

void                json_init(struct json *r, struct str text, struct arena *scratch);
/* type of the value that comes next (JSON_NULL on error) */
enum json_type      json_peek(struct json *r);
bool                json_object(struct json *r); /* enters; false on another type (error) */
/* false: the object has ended, and was left */
bool                json_key(struct json *r, struct str *key);
bool                json_array(struct json *r);
/* true: a value comes next; false: ended, and left */
bool                json_item(struct json *r);
struct str          json_string(struct json *r);
/* exact; ERR_RANGE beyond 64 bits, ERR_TYPE for fractions */
int64_t             json_int(struct json *r);
bool                json_bool(struct json *r);
void                json_null(struct json *r);
void                json_skip(struct json *r); /* any value, still checked fully */
struct str          json_raw(struct json *r);  /* any value as written, checked */
/* After the last value: nothing but white space left? Releases what the
 * duplicate check allocated: call it on every path, once. */
MUST_CHECK enum err json_end(struct json *r);

/* --- tree --------------------------------------------------------------- */

struct jv {
    enum json_type type;
    bool           boolean;
    uint32_t       count; /* items or members */
    struct str     key;   /* decoded; when this is a member of an object */
    struct str     str;   /* JSON_STRING: decoded */
    struct str     raw;   /* the value as written in the text */
    struct jv     *child; /* first item or member */
    struct jv     *next;  /* sibling */
};

struct json_error {           /* where and why, for people */
    size_t      pos;          /* byte offset in the text */
    unsigned    line, column; /* from 1; column in bytes */
    const char *why;
};

/* What is wrong with `what` ("The body"), as a sentence with its place. `error` is of json_parse,
 * after ERR_SYNTAX. Ends in a NUL; in `a`, or static where there is no memory. */
struct str        json_complaint(struct arena *a, const char *what, const struct json_error *error);
/* The `why` of what is valid JSON and has more than JSON_DEPTH_MAX levels. */
extern const char JSON_TOO_DEEP[];

/* `error` may be NULL. ERR_SYNTAX, ERR_NOMEM. */
MUST_CHECK enum err json_parse(struct arena *a, struct str text, struct jv **out,
                               struct json_error *error);
/* The same for what this program wrote itself: JSON_DEPTH_OWN. */
MUST_CHECK enum err json_parse_own(struct arena *a, struct str text, struct jv **out);
/* of a text that is valid JSON; 0: neither object nor array */
int                 json_depth(struct str text);
/* line where v stands, from 1; 0: it was not read from `text` */
unsigned            json_line(struct str text, const struct jv *v);

const struct jv  *jv_get(const struct jv *obj, const char *key);
const struct jv  *jv_get_str(const struct jv *obj, struct str key);
const struct jv  *jv_at(const struct jv *array, size_t i);
bool              jv_lists(const struct jv *array, struct str word); /* is it one of its texts? */
/* RFC 6901 pointer ("/a/0/b", "" is the value itself); NULL when absent. */
const struct jv  *jv_pointer(const struct jv *v, struct str pointer);
bool              jv_is(const struct jv *v, enum json_type t); /* false for NULL */
struct str        jv_str(const struct jv *v);                  /* STR_NONE when not a string */
struct str        jv_str_at(const struct jv *obj, const char *key);
/* exact integers only (1, -5, 1e3 is not) */
bool              jv_int(const struct jv *v, int64_t *out);
int64_t           jv_int_at(const struct jv *obj, const char *key, int64_t otherwise);
bool              jv_f64(const struct jv *v, double *out);
/* -1, 0 or 1, exactly, whatever the digits. False: one is no number, or its exponent is beyond
 * counting. */
bool              jv_compare(const struct jv *a, const struct jv *b, int *out);
bool              jv_true(const struct jv *v); /* JSON true, nothing else */
/* The members sorted bytewise by key: an array of obj->count pointers for mem_free(). NULL: no
 * memory. */
const struct jv **jv_sorted(const struct jv *obj);
/* Same value? Numbers by value (1.0 == 1), objects without regard to order, texts byte by byte: for
 * "the same arguments as before" there is jsame.h. */
bool              jv_equal(const struct jv *a, const struct jv *b);
/* the same for values that are jv_equal; keyed per process */
uint64_t          jv_hash(const struct jv *v);
/* a number without a fraction: 1, 1.0, 1e30 */
bool              jv_whole(const struct jv *v);

#define JV_EACH(item, parent) \
    for (const struct jv *item = (parent) ? (parent)->child : NULL; item; item = item->next)

#endif
