/* reveal.ts -- what a person approves must be what they see.
 *
 * Characters that cannot be seen, that turn the direction of the text or that
 * only fill a place are shown by name; so are blanks at the ends and blanks
 * that are not a space. Words that could be taken for other words are marked:
 * letters of several alphabets in one word, a whole word of letters that look
 * like Latin ones, letters borrowed from mathematics. Nothing is left out and
 * nothing is reordered.
 */

export interface Piece {
  text: string;
  /** Why this piece is not what it seems. */
  hidden?: string;
}

const names: Record<number, string> = {
  0x0020: 'space at the end',
  0x00a0: 'no-break space',
  0x00ad: 'soft hyphen',
  0x034f: 'invisible joiner',
  0x061c: 'Arabic letter mark',
  0x115f: 'Hangul filler',
  0x1160: 'Hangul filler',
  0x180e: 'Mongolian vowel separator',
  0x200b: 'zero-width space',
  0x200c: 'zero-width non-joiner',
  0x200d: 'zero-width joiner',
  0x200e: 'left-to-right mark',
  0x200f: 'right-to-left mark',
  0x2028: 'line separator',
  0x2029: 'paragraph separator',
  0x202a: 'left-to-right embedding',
  0x202b: 'right-to-left embedding',
  0x202c: 'end of embedding',
  0x202d: 'left-to-right override',
  0x202e: 'right-to-left override',
  0x2060: 'word joiner',
  0x2066: 'left-to-right isolate',
  0x2067: 'right-to-left isolate',
  0x2068: 'first strong isolate',
  0x2069: 'end of isolate',
  0x2800: 'blank Braille pattern',
  0x3164: 'Hangul filler',
  0xfeff: 'zero-width no-break space',
  0xffa0: 'Hangul filler',
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
  if (names[code]) return names[code];
  if (/\p{Zs}/u.test(c)) return 'a blank that is not a space';
  if (/\p{Variation_Selector}/u.test(c)) return 'variation selector';
  return 'invisible character';
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
  if (cousins.test(word) && /\p{Script=Latin}/u.test(word)) return 'letters of different alphabets that look alike';
  const letters = word.replace(/[^\p{L}]/gu, '');
  if (!foreign && letters && twins.test(letters)) return 'not Latin letters, though they look like them';
  if (/[\u{1d400}-\u{1d7ff}\u2460-\u24ff\u{1f130}-\u{1f189}]/u.test(word)) return 'letters that are mathematical signs';
  if (/[\uff01-\uff5e]/u.test(word) && /[!-~]/.test(word)) return 'wide and narrow letters';
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
