/* glyph.h -- what a person sees of a character, and which names a careless program takes for one.
 *
 * Both are for deciding in doubt, so both lean to one side: a character that may show nothing is
 * hidden, and two names that any common reader of JSON treats as one are alike. No locale, no
 * tables of Unicode's size: Latin, Greek, Cyrillic and Armenian letters without their case, Latin
 * ones without their marks, the wide, mathematical and circled forms as the letters they show, and
 * "_", "-", blanks and everything hidden passed over.
 */
#ifndef PARLEY_GLYPH_H
#define PARLEY_GLYPH_H

#include "base/buf.h"
#include "base/str.h"

/* Shows nothing, breaks the line, turns the direction around, or looks like a blank and is none. */
bool glyph_hidden(uint32_t cp);
#define GLYPH_MARKS 2 /* on one character: Vietnamese needs them */
/* A mark that is drawn onto the character before it. */
bool glyph_mark(uint32_t cp);
/* 0 to 9: a digit of any script, wide, raised, lowered, circled or mathematical; -1: it is none. */
int  glyph_digit(uint32_t cp);
/* Appends `s` so that all of it is seen: what is hidden as \u{061C}, and a mark with nothing to
 * stand on or a third one on the same character, too. LINE: on one line, line breaks and tabs as
 * blanks. QUOTED: in quotation marks; those inside and \ with a \ before them, \n, \r, \t. TEXT:
 * for words to be read, not judged, piece by piece: lines stay lines, special blanks are blanks,
 * and what only joins or dresses letters and pictures is left out. The result is always valid
 * UTF-8. */
enum glyph_way { GLYPH_LINE, GLYPH_QUOTED, GLYPH_TEXT };
void glyph_show(struct buf *out, struct str s, enum glyph_way way);

/* "amount" and "Amount", "AMOUNT", "a_mount", "ａｍｏｕｎｔ". Case and spelling only, not looks: a
 * Cyrillic "а" is no Latin "a". */
bool glyph_alike(struct str a, struct str b);

#endif
