/* jsame.h -- what counts as the same arguments.
 *
 * A call that was denied or done, an effect that was taken: asked about once means once, however it
 * is written the next time. Two values are the same when a person who looks at them takes them for
 * one: members in any order, numbers by their value, the names of members in one spelling (nfc.h),
 * texts as same_text says. jv_spelled_same is narrower, for what a yes is to cover later: there a
 * blank more is another text. jv_equal is the narrowest: it tells spellings of a text apart, as
 * schemas and conditions have to.
 */
#ifndef PARLEY_JSAME_H
#define PARLEY_JSAME_H

#include "base/json.h"
#include "base/jsonw.h"

/* The text as it looks, in one spelling: what shows nothing is passed over, what looks like a blank
 * is one and counts only between others, a letter and its mark are one letter. Case counts. */
void same_text(struct buf *out, struct str text);

/* Without memory for looking closely: false. */
bool jv_same(const struct jv *a, const struct jv *b);
bool jv_spelled_same(const struct jv *a, const struct jv *b);
/* Writes it so that values that are the same are the same bytes. For digests. (A number of more
 * digits than a double tells apart stands as it was written.) */
void jw_same(struct jsonw *w, const struct jv *v);

#endif
