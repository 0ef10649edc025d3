// Nothing in what a person approves can hide.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { lists, reveal, seen, skeleton, visible } from './reveal';

const marked = (text: string) => reveal(text).flatMap((p) => (p.hidden ? [p.text] : []));

test('ordinary text of many languages is left as it is', () => {
  for (const text of ['Hanako', 'Straße 5', 'привет, как дела?', 'он и она', '東京都 港区', 'مرحبا', 'naïve café', '👩‍👩‍👧 ❤️ 1️⃣', 'α, β und γ', 'ＡＢＣ', '1 000,50', 'Việt Nam', 'nu\u0302\u0301ng', 'สวัสดีครับ', 'नमस्ते', 'm², 20 ℃, №5, Acme™', 'ß ﬁ', 'ɔkyerɛwfoɔ', 'Işık', '‚so‘', '7:30', '1/2', 'ᏣᎳᎩ ᎦᏬᏂᎯᏍᏗ', 'ⲙⲛ̄ⲧϭⲟⲙ'])
    expect([text, marked(text)]).toEqual([text, []]);
});

test('what cannot be seen, turns or fills is named', () => {
  expect(marked('a\u200bb')).toEqual(['U+200B']);
  expect(marked('\u202eabc')).toEqual(['U+202E']);
  expect(marked('a\u3164b\u115f\uffa0\u2800')).toEqual(['U+3164', 'U+115F', 'U+FFA0', 'U+2800']);
  expect(marked('a\u00a0b\u2009c')).toEqual(['U+00A0', 'U+2009']);
  expect(marked('x\ufe0f')).toEqual(['U+FE0F']);
  expect(marked('pay \u{e0041}')).toEqual(['U+E0041']);
  expect(marked('Ken ')).toEqual(['U+0020']);
});

test('blanks that push what follows away are named, and indented lines are not', () => {
  expect(marked(`5${' '.repeat(300)}000000`)).toEqual(['U+0020 × 300']);
  expect(marked(`5${'\u3000'.repeat(120)}000000`)).toEqual(['U+3000 × 120']);
  expect(marked('Bob\t\tEvil')).toEqual(['U+0009 × 2']);
  expect(marked('Bob\u3000\u3000')).toEqual(['U+3000 × 2']);
  expect(marked('東京\u3000太郎')).toEqual([]);
  expect(marked('{\n    "a": 1,\n\t\t"b": 2\n}')).toEqual([]);
  expect(marked('An end.  A beginning.')).toEqual([]);
});

test('in a name ends of lines and tabs are hidden characters like others', () => {
  const named = (text: string) => reveal(text, 'name').flatMap((p) => (p.hidden ? [`${p.text} ${p.hidden}`] : []));
  expect(named('recipient\n\namount')).toEqual(['U+000A × 2 line break']);
  expect(named('a\r\n\tb\n c')).toEqual(['U+000D line break', 'U+000A line break', 'U+0009 tab', 'U+000A line break']);
  expect(named('a\n    b')).toEqual(['U+000A line break', 'U+0020 × 4 spaces in a row']);
  expect(named('first name, 東京\u3000太郎')).toEqual([]);
  expect(marked('recipient\n\namount')).toEqual([]);
});

test('a blank is named by where it stands', () => {
  const names = (text: string) => reveal(text).flatMap((p) => (p.hidden ? [p.hidden] : []));
  expect(names(' Ken')).toEqual(['space at the start']);
  expect(names('Ken ')).toEqual(['space at the end']);
  expect(names(' Ken   Evil ')).toEqual(['space at the start', 'spaces in a row', 'space at the end']);
});

test('digits of another script are named beside ours, or where nobody writes that script', () => {
  for (const text of ['5\u0660', '5\uff10', '\u0665\u0660', '5\u{1d7d8}']) expect([text, marked(text)]).toEqual([text, [text]]);
  expect(marked('المبلغ \u0665\u0660')).toEqual([]);
});

test('marks that pile up, hang on nothing or strike out are named', () => {
  expect(marked('a\u0301\u0302\u0303\u0304b')).toEqual(['U+0303', 'U+0304']);
  expect(marked('\u0301a')).toEqual(['U+0301']);
  expect(marked('x \u0315y')).toEqual(['U+0315']);
  expect(marked('5\u03360\u0336')).toEqual(['U+0336', 'U+0336']);
  expect(marked(`z${'\u0322'.repeat(40)}`)).toEqual(['U+0322 × 38']);
});

test('the same hidden character again is counted', () => {
  expect(marked('a\u200b\u200b\u200bb\u200b')).toEqual(['U+200B × 3', 'U+200B']);
  expect(marked('Ken   ')).toEqual(['U+0020 × 3']);
  expect(reveal('\u200b'.repeat(5000))).toHaveLength(1);
});

test('signs that are taken for letters, points or slashes are marked', () => {
  expect(marked('p\u0251ypal')).toEqual(['p\u0251ypal']);
  expect(marked('\u216cisa')).toEqual(['\u216cisa']);
  expect(marked('bank\u2024com')).toEqual(['bank\u2024com']);
  expect(marked('1\u201a000 USD')).toEqual(['1\u201a000']);
  expect(marked('https:\u2215\u2215bank.com')).toHaveLength(1);
  expect(marked('bank.com\u2044evil')).toEqual(['bank.com\u2044evil']);
});

test('names within sentences are plain text, and hide nothing', () => {
  expect(seen('ada')).toBe('ada');
  expect(seen('ad\u200ba')).toBe('ad⟨U+200B⟩a');
  expect(seen('\u202efay')).toBe('⟨U+202E⟩fay');
  expect(seen('ada\n\nfay')).toBe('ada⟨U+000A × 2⟩fay');
});

test('words that look like other words are marked', () => {
  expect(marked('p\u0430ypal')).toEqual(['p\u0430ypal']);
  expect(marked('\u0440\u0430\u0443')).toEqual(['\u0440\u0430\u0443']); // all Cyrillic: "pay"
  expect(marked('send to \u{1d407}\u{1d41a}\u{1d427}')).toEqual(['\u{1d407}\u{1d41a}\u{1d427}']);
  expect(marked('\uff22ob')).toEqual(['\uff22ob']);
});

test('a label is judged by how it looks', () => {
  expect(skeleton('\u0410pprove')).toBe('approve');
  expect(skeleton('Ap\u200bprove')).toBe('approve');
  expect(skeleton('\uff21llow')).toBe('allow');
});

test('nothing is left out', () => {
  const text = 'a\u200bb \u0440\u0430\u0443 c';
  const all = reveal(text).map((p) => (p.text.startsWith('U+') ? String.fromCodePoint(parseInt(p.text.slice(2), 16)) : p.text));
  expect(all.join('')).toBe(text);
});

test('words wholly of letters of rare alphabets that look like Latin ones are marked', () => {
  for (const text of ['\ua4e7\ua4ee\ua4e0\ua4ee\ua4d7\ua4f3', '\u13da\u13bb\u13ac', '\u2c9f\u2ca3', '\u{10404}', '\u2d54x', '\u0131nvoice', 'Mar\u0131a', 'Hanako\u01c3', '\u0966\u0967'])
    expect([text, marked(text)]).toEqual([text, [text]]);
  expect(marked('привет \u13da\u13bb')).toEqual(['\u13da\u13bb']);
  expect(marked('\u0917\u0932\u0940 g\u0966gle')).toEqual(['g\u0966gle']);
});

const anything = Array.from({ length: 0x110000 }, (_, code) => code);

test('whatever Unicode lets pass unseen is named, here and by the server, and both name the same', () => {
  const source = readFileSync(new URL('../../../src/base/glyph.c', import.meta.url), 'utf8');
  const table = / hidden\[\] = \{([^;]*)\};/.exec(source)![1]!;
  const server = new Set(anything.filter((code) => (code & 0xfffe) === 0xfffe));
  for (const [, from, to] of table.matchAll(/\{ 0x([0-9a-f]+), 0x([0-9a-f]+) \}/g)) for (let code = parseInt(from!, 16); code <= parseInt(to!, 16); code++) server.add(code);

  const unseen = /(?![ \u3000])[\p{Default_Ignorable_Code_Point}\p{Z}\p{Cc}\p{Bidi_Control}\p{Noncharacter_Code_Point}\u2800]/u;
  const named = (code: number) => visible(`a${String.fromCodePoint(code)}b`) === 'ab';
  const differ = { passed: [] as string[], server: [] as string[], page: [] as string[] };
  for (const code of anything) {
    const text = String.fromCodePoint(code);
    if (unseen.test(text) && !server.has(code)) differ.passed.push(code.toString(16));
    if (code === 9 || code === 10 || (/\p{M}/u.test(text) && !server.has(code))) continue; // text; and marks have rules of their own
    if (server.has(code) !== named(code)) differ[server.has(code) ? 'page' : 'server'].push(code.toString(16));
  }
  expect(differ).toEqual({ passed: [], server: [], page: [] });
});

test('what chooses how a sign is drawn is ordinary where it does', () => {
  for (const text of ['1\ufe0f\u20e3 ☎\ufe0f', '👨\u200d👩\u200d👧', '🏳\ufe0f\u200d🌈']) expect(marked(text)).toEqual([]);
  for (const [text, hidden] of [['5\ufe0f0', 'U+FE0F'], ['☎\ufe0e', 'U+FE0E'], ['👨\u200dx', 'U+200D'], ['葛\u{e0100}', 'U+E0100']] as const) expect(marked(text)).toEqual([hidden]);
});

test('pages without script have the same lists', () => {
  const source = readFileSync(new URL('../../../src/base/guise.c', import.meta.url), 'utf8');
  const plain = { ...lists, dots: new RegExp(/\[\\u02d0[^\]]*\]/.exec(lists.dots.source)![0], 'u') };
  for (const name of ['strays', 'signs', 'dots', 'strikes'] as const) {
    const table = new RegExp(` ${name}\\[\\] = \\{([^;]*)\\};`).exec(source)![1]!;
    const spans = [...table.matchAll(/\{ 0x([0-9a-f]+), 0x([0-9a-f]+) \}/g)].map((m) => [parseInt(m[1]!, 16), parseInt(m[2]!, 16)] as const);
    const differ = [];
    for (let code = 0; code < 0x20000; code++)
      if (plain[name].test(String.fromCodePoint(code)) !== spans.some(([from, to]) => code >= from && code <= to)) differ.push(code.toString(16));
    expect([name, differ]).toEqual([name, []]);
  }
  expect(lists.twins.source).toContain(`[${/TWINS\[\] = "([^"]*)"/.exec(source)![1]!}]`);
});
