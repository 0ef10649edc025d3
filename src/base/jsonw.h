/* jsonw.h -- writing JSON onto a buf; commas are put by the writer.
 *
 * Errors are the buf's sticky ones. Strings may be any bytes: what is not valid
 * UTF-8 becomes U+FFFD, WTF-8 surrogates (see json.h) become their \ud8xx
 * escape, control characters, '"', '\\', and U+2028/U+2029 are escaped. So the
 * output is always valid, on one line, and safe inside an SSE data line.
 */
#ifndef PARLEY_JSONW_H
#define PARLEY_JSONW_H

#include "base/buf.h"
#include "base/json.h"

struct jsonw {
    struct buf *out;
    bool        need_comma; /* private */
};

void jsonw_init(struct jsonw *w, struct buf *out);
void jw_obj(struct jsonw *w);
void jw_end_obj(struct jsonw *w);
void jw_arr(struct jsonw *w);
void jw_end_arr(struct jsonw *w);
void jw_key(struct jsonw *w, const char *key); /* a plain literal: not escaped */
void jw_key_str(struct jsonw *w, struct str key);
void jw_str(struct jsonw *w, struct str s);
void jw_strz(struct jsonw *w, const char *z);       /* NULL writes null */
void jw_str_or_null(struct jsonw *w, struct str s); /* STR_NONE writes null */
void jw_int(struct jsonw *w, int64_t v);
/* shortest form that reads back; null for NaN/inf */
void jw_f64(struct jsonw *w, double v);
void jw_bool(struct jsonw *w, bool v);
void jw_null(struct jsonw *w);
/* a complete value, taken as it is but for line ends, which become blanks; empty writes null */
void jw_raw(struct jsonw *w, struct str json);
/* a tree, members in their order, numbers as written */
void jw_jv(struct jsonw *w, const struct jv *v);
/* Canonical: members sorted bytewise by key, no blanks, strings in one spelling. For digests. */
void jw_canonical(struct jsonw *w, const struct jv *v);

/* Shorthands: key and value. */
void jw_kstr(struct jsonw *w, const char *key, struct str s);
/* its text; an error in it is one here too */
void jw_kbuf(struct jsonw *w, const char *key, const struct buf *b);
void jw_kstrz(struct jsonw *w, const char *key, const char *z);
void jw_kint(struct jsonw *w, const char *key, int64_t v);
void jw_kbool(struct jsonw *w, const char *key, bool v);
void jw_kraw(struct jsonw *w, const char *key, struct str json);

/* Only the inside of a string (no quotes), for streaming slices. A slice must
 * end on a character boundary. */
void jw_escape(struct buf *out, struct str s);

#endif
