/* nfc.h -- one spelling of a text: Unicode's Normalization Form C.
 *
 * U+212A is K, "e" and U+0301 are one letter, so are the parts of a Hangul syllable; marks stand in
 * one order. What looks alike but means another character (a Cyrillic "а", a wide "Ａ") stays what
 * it is. For comparing, never for what is passed on: a tool gets the text as it was written.
 *
 * By a table of our own (nfc_table.h, made by scripts/nfc): docs/decisions.md says why.
 */
#ifndef PARLEY_NFC_H
#define PARLEY_NFC_H

#include "base/buf.h"
#include "base/str.h"

/* Surely in that form already: told by its bytes alone. */
bool nfc_plain(struct str text);
/* Appends `text` in that form. In time and memory that grow with its length, whatever is in it. */
void nfc_add(struct buf *out, struct str text);

#endif
