/* reveal.ts -- what a person approves must be what they see.
 *
 * Characters that cannot be seen, that turn the direction of the text or that
 * only fill a place are shown by name; so are blanks at the ends and blanks
 * that are not a space. Words that could be taken for other words are marked:
 * letters of several alphabets in one word, a whole word of letters that look
 * like Latin ones, letters borrowed from mathematics. Nothing is left out and
 * nothing is reordered.
 */
import { t, type Words } from '../words';

export interface Piece {
  text: string;
  /** Why this piece is not what it seems. */
  hidden?: string;
}

const names: Record<number, keyof Words['hidden']> = {
  0x0020: 'endSpace',
  0x00a0: 'nbsp',
  0x00ad: 'softHyphen',
  0x034f: 'joiner',
  0x061c: 'arabicMark',
  0x115f: 'filler',
  0x1160: 'filler',
  0x180e: 'mongolian',
  0x200b: 'zwsp',
  0x200c: 'zwnj',
  0x200d: 'zwj',
  0x200e: 'lrm',
  0x200f: 'rlm',
  0x2028: 'lineSeparator',
  0x2029: 'paragraphSeparator',
  0x202a: 'lre',
  0x202b: 'rle',
  0x202c: 'pdf',
  0x202d: 'lro',
  0x202e: 'rlo',
  0x2060: 'wordJoiner',
  0x2066: 'lri',
  0x2067: 'rli',
  0x2068: 'fsi',
  0x2069: 'pdi',
  0x2800: 'braille',
  0x3164: 'filler',
  0xfeff: 'zwnbsp',
  0xffa0: 'filler',
};

// Joiners and selectors inside emoji are ordinary; alone they hide things.
const invisible = new RegExp(
  [
    '(?<!\\p{Extended_Pictographic}\\uFE0F?\\p{Emoji_Modifier}?)\\u200d|\\u200d(?!\\p{Extended_Pictographic})',
    '(?<![\\p{Extended_Pictographic}#*0-9])\\ufe0f',
    '[\\ufe00-\\ufe0e\\u{e0100}-\\u{e01ef}]',
    '[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u00a0\\u00ad\\u034f\\u061c\\u115f\\u1160\\u1680\\u17b4\\u17b5\\u180b-\\u180f]',
    '[\\u2000-\\u200c\\u200e\\u200f\\u2028-\\u202f\\u205f-\\u206f\\u2800\\u3164\\ufeff\\uffa0\\ufff0-\\ufffb\\u{1d159}\\u{1d173}-\\u{1d17a}]',
    '[\\u{e0000}-\\u{e007f}]',
  ].join('|'),
  'gu',
);

/* Also what hangs over at the ends of a whole value. */
const hanging = new RegExp(`${invisible.source}|^ +| +$`, 'gu');

/** The text in pieces, those marked that are not what they seem. Blanks at its ends are ordinary when it is `part` of a text. */
export function reveal(text: string, part = false): Piece[] {
  const out: Piece[] = [];
  const foreign = foreignWords(text);
  let at = 0;
  for (const m of text.matchAll(part ? invisible : hanging)) {
    if (m.index > at) out.push(...words(text.slice(at, m.index), foreign));
    for (const c of m[0]) out.push({ text: `U+${c.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}`, hidden: nameOf(c) });
    at = m.index + m[0].length;
  }
  if (at < text.length) out.push(...words(text.slice(at), foreign));
  return out;
}

function nameOf(c: string): string {
  const code = c.codePointAt(0)!;
  if (names[code]) return t.hidden[names[code]];
  if (/\p{Zs}/u.test(c)) return t.hidden.blank;
  if (/\p{Variation_Selector}/u.test(c)) return t.hidden.selector;
  return t.hidden.invisible;
}

// Letters of other alphabets that a reader takes for Latin ones.
const twins = /^[аеорсухіјѕһԁԛԝґАВЕКМНОРСТУХІЈЅԌԚԜαινορτυχΑΒΕΖΗΙΚΜΝΟΡΤΥΧսօոՕՍ]+$/u;
const cousins = /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Cherokee}\p{Script=Coptic}\p{Script=Lisu}]/u;

/* Whether the text is written in another alphabet anyway: some word has letters that nobody would take for Latin. */
function foreignWords(text: string): boolean {
  return text.split(/[^\p{L}]+/u).some((w) => cousins.test(w) && !twins.test(w) && !/\p{Script=Latin}/u.test(w));
}

function words(text: string, foreign: boolean): Piece[] {
  const out: Piece[] = [];
  for (const piece of text.split(/(\s+)/)) {
    const why = disguise(piece, foreign);
    const last = out.at(-1);
    if (why) out.push({ text: piece, hidden: why });
    else if (last && !last.hidden) last.text += piece;
    else if (piece) out.push({ text: piece });
  }
  return out;
}

function disguise(word: string, foreign: boolean): string | undefined {
  if (cousins.test(word) && /\p{Script=Latin}/u.test(word)) return t.hidden.mixed;
  const letters = word.replace(/[^\p{L}]/gu, '');
  if (!foreign && letters && twins.test(letters)) return t.hidden.twins;
  if (/[\u{1d400}-\u{1d7ff}\u2460-\u24ff\u{1f130}-\u{1f189}]/u.test(word)) return t.hidden.signs;
  if (/[\uff01-\uff5e]/u.test(word) && /[!-~]/.test(word)) return t.hidden.widths;
  return undefined;
}

/** The text as it looks: without what cannot be seen, and look-alikes as the Latin letters they are taken for. */
export function skeleton(text: string): string {
  const seen = text.normalize('NFKC').replace(invisible, '').toLowerCase();
  return seen.replace(/./gu, (c) => latin[c] ?? c);
}

const latin: Record<string, string> = Object.fromEntries(
  [...'аеорсухіјѕһԁԛԝαινορτυχսօո'].map((c, i) => [c, 'aeopcyxijshdqwaivoptuxuon'[i]!]),
);
