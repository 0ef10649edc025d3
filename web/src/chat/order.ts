/* order.ts -- text of others stands in the order in which it is stored, from left to right.
 *
 * Letters that are written from right to left turn around what stands beside and between them: "100א 5000" is seen as
 * "5000 א100", an account number with one of them in its middle as another number. So where somebody decides by a text
 * nothing turns anything (a <bdo>), and only a stretch of such letters, in an isolate of its own, is read from right to
 * left: words of Hebrew and Arabic stay words, a text wholly of them is as it was written, and every digit and every
 * Latin letter stands where it is stored. What is put together so says that it is to be read from left to right.
 * (Pages without script: src/base/order.h, by the same rule.)
 */

/* Unicode's classes R and AL with what stands among them; not their digits, which run from left to right like ours. */
const block = '\\u0590-\\u08ff\\ufb1d-\\ufdff\\ufe70-\\ufefe\\u{10800}-\\u{10fff}\\u{1e800}-\\u{1efff}';
const digits = '\\u0600-\\u0605\\u0660-\\u0669\\u066b\\u066c\\u06dd\\u06f0-\\u06f9\\u0890\\u0891\\u08e2\\u{10d30}-\\u{10d39}\\u{10d40}-\\u{10d49}\\u{10e60}-\\u{10e7e}';
const letter = `(?![${digits}])[${block}]`;

/* One sign and one blank between two words are of the same stretch; more than that is put between things, not words. */
const gap = `[-,.;:!?'"]? ?`;
const stretch = new RegExp(`(${letter}(?:${gap}${letter})*)`, 'u');
const any = new RegExp(`[${block}]`, 'u');
const other = /[0-9A-Za-z\u0080-\u{10ffff}]/u;

/** Whether its order is to be looked after at all. */
export function turns(text: string): boolean {
  return any.test(text);
}

/** In turns what stands from left to right and what is read from right to left, the former first; either may be empty. */
export function stretches(text: string): string[] {
  return text.split(stretch);
}

/** Whether in one of its lines something stands beside such letters that they would have turned around. */
export function mixes(text: string): boolean {
  return turns(text) && text.split('\n').map(stretches).some((parts) => parts.length > 3 || (parts.length > 1 && parts.some((p, i) => i % 2 === 0 && other.test(p))));
}

/** What the server has, too. */
export const lists = { block, digits, gap };
