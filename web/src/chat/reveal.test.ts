// Nothing in what a person approves can hide.
import { expect, test } from 'vitest';
import { reveal, skeleton } from './reveal';

const marked = (text: string) => reveal(text).flatMap((p) => (p.hidden ? [p.text] : []));

test('ordinary text of many languages is left as it is', () => {
  for (const text of ['Hanako', 'Straße 5', 'привет, как дела?', 'он и она', '東京都 港区', 'مرحبا', 'naïve café', '👩‍👩‍👧 ❤️ 1️⃣', 'α, β und γ', 'ＡＢＣ', '1 000,50'])
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
