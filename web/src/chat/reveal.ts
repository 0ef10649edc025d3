/* reveal.ts -- what a person approves must be what they see.
 *
 * Characters that cannot be seen, that turn the direction of the text or that
 * only fill a place are shown by name; so are blanks at the ends, blanks that
 * are not a space, and marks that strike a letter out or pile up on it. Words
 * that could be taken for other words are marked: letters of several alphabets
 * in one word, a whole word of letters that look like Latin ones, signs that
 * look like letters, dots and slashes that are none. Nothing is left out and
 * nothing is reordered: order.ts sees to how it is laid out. (Pages without
 * script: src/base/guise.h, with the same lists.)
 */
import { t, type Words } from '../words';

export interface Piece {
  text: string;
  /** Why this piece is not what it seems. */
  hidden?: string;
}

const names: Record<number, keyof Words['hidden']> = {
  0x0009: 'tab',
  0x000a: 'lineBreak',
  0x000d: 'lineBreak',
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

// Drawn onto the character before them. Two on one are language (Vietnamese); more, or one on nothing, cover what
// stands around them. Those that strike through or enclose say something else than the letter alone.
const marks = '[\\u0300-\\u036f\\u0483-\\u0489\\u1ab0-\\u1aff\\u1dc0-\\u1dff\\u20d0-\\u20ff\\u3099\\u309a\\ufe20-\\ufe2f]';
const strikes = '[\\u0334-\\u0338\\u0488\\u0489\\u20d2\\u20d3\\u20d8-\\u20da\\u20dd-\\u20e2\\u20e4-\\u20e6\\u20ea\\u20eb]';

// What Unicode lets a font pass over, blanks, controls, what is no character; and what is drawn as nothing though it is
// none of these: a Syriac mark, blank Braille, notes between lines, Egyptian joints, a Khitan filler, a note without a
// head. (The same on the server: glyph_hidden.) Joiners and selectors inside emoji are ordinary; alone they hide things.
const unseen =
  '[\\p{Default_Ignorable_Code_Point}\\p{Z}\\p{Cc}\\p{Cs}\\p{Noncharacter_Code_Point}\\u070f\\u2800\\ufff9-\\ufffb\\u{13430}-\\u{13442}\\u{16fe4}\\u{1d159}]';
const invisible = new RegExp(
  [
    '(?<!\\p{Extended_Pictographic}\\uFE0F?\\p{Emoji_Modifier}?)\\u200d|\\u200d(?!\\p{Extended_Pictographic})',
    '(?<!\\p{Extended_Pictographic}|[#*0-9](?=\\ufe0f\\u20e3))\\ufe0f',
    `(?![\\t\\n \\u200d\\u3000\\ufe0f])${unseen}`,
    `(?<=${marks}{2})${marks}|(?<![^\\s])${marks}|${strikes}`,
  ].join('|'),
  'gu',
);

/* Blanks that push what follows out of sight. One ideographic space is writing; lines may be indented. */
const gap = '(?:[ \\t\\u3000]{3,}|[ \\t]*\\t[ \\t]*|\\u3000{2,})';
const gaps = `(?<=\\S)${gap}`;
const within = new RegExp(`${invisible.source}|${gaps}`, 'gu');

/* Also what hangs over at the ends of a whole value. */
const hanging = new RegExp(`${invisible.source}|^[ \\u3000]+|[ \\u3000]+$|${gaps}`, 'gu');

/* What is called by it stands in one line: with lines of its own it would pass for several. */
const broken = new RegExp(`${invisible.source}|^[ \\u3000]+|[ \\u3000]+$|${gap}|\\n`, 'gu');

const patterns = { whole: hanging, part: within, name: broken };

/**
 * The text in pieces, those marked that are not what they seem. Blanks at its ends are ordinary when it is `part` of a
 * text; ends of lines and tabs are when it is no `name`.
 */
export function reveal(text: string, as: keyof typeof patterns = 'whole'): Piece[] {
  const out: Piece[] = [];
  const foreign = foreignWords(text);
  let at = 0;
  for (const m of text.matchAll(patterns[as])) {
    if (m.index > at) out.push(...words(text.slice(at, m.index), foreign));
    const space = m.index === 0 ? 'startSpace' : m.index + m[0].length === text.length ? 'endSpace' : 'spaces';
    for (const c of m[0]) hide(out, c, c === ' ' ? t.hidden[space] : nameOf(c));
    at = m.index + m[0].length;
  }
  if (at < text.length) out.push(...words(text.slice(at), foreign));
  return out;
}

/* The same one again is counted, not written again: a thousand of them are no thousand notes. */
function hide(out: Piece[], c: string, name: string): void {
  const text = `U+${c.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}`;
  const last = out.at(-1);
  const [before, times = '1'] = last?.hidden ? last.text.split(' × ') : [];
  if (before === text) last!.text = `${text} × ${Number(times) + 1}`;
  else out.push({ text, hidden: name });
}

function nameOf(c: string): string {
  const code = c.codePointAt(0)!;
  if (names[code]) return t.hidden[names[code]];
  if (/\p{Zs}/u.test(c)) return t.hidden.blank;
  if (/\p{Variation_Selector}/u.test(c)) return t.hidden.selector;
  if (/\p{M}/u.test(c)) return t.hidden.mark;
  return t.hidden.invisible;
}

// Letters of other alphabets that a reader takes for Latin ones.
const twins = /^[аеорсухіјѕһԁԛԝґАВЕКМНОРСТУХІЈЅԌԚԜαινορτυχΑΒΕΖΗΙΚΜΝΟΡΤΥΧսօոՕՍ]+$/u;
const cousins = /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Cherokee}\p{Script=Coptic}\p{Script=Lisu}]/u;

// Letters of alphabets that hardly anybody writes, each of which looks like a Latin one: Lisu with its tones, Cherokee,
// Coptic, Deseret, Tifinagh, Runic and more.
const strays =
  /[\u13a0-\u13a2\u13a5\u13a9-\u13ac\u13b3\u13b7\u13bb\u13bd\u13c0\u13c2\u13c3\u13ce\u13cf\u13d2\u13d4\u13d5\u13d9\u13da\u13de\u13df\u13e2\u13e6\u13e7\u13ee\u13f3\u13f4\u13fb\u13fc\u142f\u144c\u146d\u146f\u1472\u148d\u14aa\u1541\u157c\u1587\u15af\u15b4\u15c5\u15de\u15ea\u15f0\u15f7\u16a0\u16b1\u16b7\u16c1\u16d2\u16d6\u2c80-\u2c85\u2c88\u2c89\u2c8c-\u2c8f\u2c92-\u2c95\u2c98-\u2c9b\u2c9e\u2c9f\u2ca2-\u2ca9\u2cac\u2cad\u2cb0\u2cb1\u2cbc\u2cbd\u2cd0\u2cd1\u2d38-\u2d3a\u2d4f\u2d51\u2d54\u2d55\u2d5d\ua4d0\ua4d1\ua4d3\ua4d4\ua4d6\ua4d7\ua4d9\ua4da\ua4dc\ua4dd\ua4df-\ua4e3\ua4e6\ua4e7\ua4ea-\ua4ec\ua4ee\ua4f0\ua4f2-\ua4f4\ua4f8-\ua4fd\uab70-\uab72\uab75\uab79-\uab7c\uab83\uab87\uab8b\uab8d\uab90\uab92\uab93\uab9e\uab9f\uaba2\uaba4\uaba5\uaba9\uabaa\uabae\uabaf\uabb2\uabb6\uabb7\uabbe\u{10282}\u{10286}\u{10287}\u{1028a}\u{10290}\u{10292}\u{10295}-\u{10297}\u{102a0}-\u{102a2}\u{102a5}\u{102ab}\u{102b0}-\u{102b2}\u{102b4}\u{102cf}\u{10300}-\u{10302}\u{10309}\u{10311}\u{10315}\u{10317}\u{1031a}\u{10404}\u{10415}\u{1041b}\u{10420}\u{1042c}\u{1043d}\u{10443}\u{10448}\u{104b4}\u{104c2}\u{104ce}\u{104ea}\u{104f6}\u{10513}\u{10516}\u{10518}\u{1051c}\u{1051d}\u{10525}-\u{10527}\u{118a0}\u{118a2}-\u{118a4}\u{118a6}\u{118a9}\u{118ae}\u{118b2}\u{118b5}\u{118b8}\u{118bc}\u{118c0}-\u{118c4}\u{118c8}\u{118d7}\u{118d8}\u{118dc}\u{16f08}\u{16f0a}\u{16f16}\u{16f28}\u{16f35}\u{16f3a}\u{16f40}\u{16f42}\u{16f43}]/u;

/* Whether the text is written in another alphabet anyway: some word has letters that nobody would take for Latin. */
function foreignWords(text: string): boolean {
  return text.split(/[^\p{L}]+/u).some((w) => cousins.test(w) && !twins.test(w) && !/\p{Script=Latin}/u.test(w));
}

function words(text: string, foreign: boolean): Piece[] {
  const out: Piece[] = [];
  for (const piece of text.split(/(\s+)/)) {
    const why = disguise(piece, foreign, text);
    const last = out.at(-1);
    if (why) out.push({ text: piece, hidden: why });
    else if (last && !last.hidden) last.text += piece;
    else if (piece) out.push({ text: piece });
  }
  return out;
}

// Mathematical and circled letters; small capitals and others of phonetics that no language writes; clicks; Roman numerals.
const signs =
  /[\u01c0-\u01c3\u{1d400}-\u{1d7ff}\u2460-\u24ff\u{1f130}-\u{1f189}\u0251\u0261\u0262\u026a\u0274\u0280\u0299\u029c\u029f\u1d00-\u1d2b\ua730\ua731\u2102\u2107\u210a-\u2113\u2115\u2118-\u211d\u2124\u2128\u212c-\u2134\u2145-\u2149\u2160-\u217f]|\u2139(?!\ufe0f)/u;
// Inside a word or a number: what is taken for a point, a comma, a colon, a semicolon or a slash.
const dots = /(?<=[\p{L}\p{N}/:])[\u02d0\u037e\u0589\u05c3\u066b\u066c\u06d4\u0701\u0702\u201a\u2024\u2044\u2215\u2236\u29f8\ua4f8\ua4fa\ua789]+(?=[\p{L}\p{N}/])/u;

// Digits of other scripts: ordinary where that script is written, and not beside ours.
const digits = /(?![0-9\uff10-\uff19\u{1d7ce}-\u{1d7ff}])\p{Nd}/u;

function disguise(word: string, foreign: boolean, text: string): string | undefined {
  if ((cousins.test(word) || strays.test(word)) && /\p{Script=Latin}/u.test(word)) return t.hidden.mixed;
  const letters = word.replace(/[^\p{L}]/gu, '');
  const others = letters.replace(new RegExp(strays, 'gu'), '');
  if (letters && (others === '' || twins.test(others)) && (!foreign || others !== letters)) return t.hidden.twins;
  if (dotless(word)) return t.hidden.mixed;
  if (signs.test(word)) return t.hidden.signs;
  if (dots.test(word)) return t.hidden.dots;
  if (/[\uff01-\uff5e]/u.test(word) && /[!-~]/.test(word)) return t.hidden.widths;
  if (digits.test(word) && (/[0-9\uff10-\uff19\p{Script=Latin}]/u.test(word) || !/(?!\p{Script=Latin})\p{L}/u.test(text))) return t.hidden.digits;
  return undefined;
}

/* Turkish has words whose only letter of its own is the dotless i; they are rarer than "ınvoice" is dangerous. */
function dotless(word: string): boolean {
  return (word.match(/[\p{L}\p{M}]+/gu) ?? []).some((w) => w.includes('ı') && /^[A-Za-zı]+$/.test(w) && /[A-Za-z]/.test(w));
}

/** The lists that pages without script have, too. */
export const lists = { strays, signs, dots, strikes: new RegExp(strikes, 'u'), twins };

/** The same in one line of plain text, for names within sentences. */
export function seen(text: string): string {
  return reveal(text, 'name').map((p) => (p.hidden && p.text.startsWith('U+') ? `⟨${p.text}⟩` : p.hidden ? `${p.text} (${p.hidden})` : p.text)).join('');
}

/** With what turns text around by its number: for answers, where much that is hidden belongs to some language. */
export function unturned(text: string): string {
  return text.replace(/[\u202a-\u202e\u2066-\u2069]/g, (c) => `⟨U+${c.charCodeAt(0).toString(16).toUpperCase()}⟩`);
}

/** Without what cannot be seen or turns the text around: for names that nobody decides by. */
export function visible(text: string): string {
  return text.replace(invisible, '');
}

/** The text as it looks: without what cannot be seen, and look-alikes as the Latin letters they are taken for. */
export function skeleton(text: string): string {
  const seen = visible(text.normalize('NFKC')).toLowerCase();
  return seen.replace(/./gu, (c) => latin[c] ?? c);
}

const latin: Record<string, string> = Object.fromEntries(
  [...'аеорсухіјѕһԁԛԝαινορτυχսօո'].map((c, i) => [c, 'aeopcyxijshdqwaivoptuxuon'[i]!]),
);
