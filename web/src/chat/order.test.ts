// What turns text around is known, and the server knows the same.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { lists, mixes, stretches, turns } from './order';

const standing = (text: string) => stretches(text).map((s, i) => (i % 2 ? `[${s}]` : s)).join('');

test('words of Hebrew and Arabic are one stretch; digits, other letters and what parts things end it', () => {
  for (const [text, want] of [
    ['דני כהן', '[דני כהן]'],
    ['ש"ח', '[ש"ח]'],
    ['شكرا، يا سارة!', '[شكرا، يا سارة]!'],
    ['100א 5000', '100[א] 5000'],
    ['א5ב', '[א]5[ב]'],
    ['["א","ב"]', '["[א]","[ב]"]'],
    ['א -> ב', '[א] -> [ב]'],
    ['א\nב', '[א]\n[ב]'],
    ['م ٥٠ ١٠٠', '[م] ٥٠ ١٠٠'],
  ] as const)
    expect(standing(text)).toBe(want);
});

test('what would have been turned is known', () => {
  for (const text of ['100א', 'א 5', 'אb', 'א / ב', 'א привет', 'x\nא 1', 'م ٥٠']) expect([text, mixes(text)]).toEqual([text, true]);
  for (const text of ['', '100 USD', 'דני כהן', 'א!', '12\nא', '٥٠ ١٠٠']) expect([text, mixes(text)]).toEqual([text, false]);
  expect([turns('٥٠ ١٠٠'), turns('Straße 東京')]).toEqual([true, false]);
});

test('the server has the same lists', () => {
  const source = readFileSync(new URL('../../../src/base/order.c', import.meta.url), 'utf8');
  for (const name of ['block', 'digits'] as const) {
    const table = new RegExp(` ${name}\\[\\] = \\{([^;]*)\\};`).exec(source)![1]!;
    const spans = [...table.matchAll(/\{ 0x([0-9a-f]+), 0x([0-9a-f]+) \}/g)].map((m) => [parseInt(m[1]!, 16), parseInt(m[2]!, 16)] as const);
    const list = new RegExp(`[${lists[name]}]`, 'u');
    const differ = [];
    for (let code = 0; code < 0x20000; code++) if (list.test(String.fromCodePoint(code)) !== spans.some(([from, to]) => code >= from && code <= to)) differ.push(code.toString(16));
    expect([name, differ]).toEqual([name, []]);
  }
  expect(source).toContain(`"${/\[(-[^\]]*)\]\? \?/.exec(lists.gap)![1]!.replace('"', '\\"')}"`);
});

test('every letter and digit that Unicode writes from right to left by its script is known', () => {
  const scripts = /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Samaritan}\p{Script=Mandaic}\p{Script=Adlam}\p{Script=Phoenician}\p{Script=Old_South_Arabian}\p{Script=Yezidi}\p{Script=Hanifi_Rohingya}\p{Script=Mende_Kikakui}\p{Script=Cypriot}]/u;
  const missing = [];
  for (let code = 0; code < 0x110000; code++) {
    const c = String.fromCodePoint(code);
    if (scripts.test(c) && /[\p{L}\p{Nd}]/u.test(c) && !turns(c)) missing.push(code.toString(16));
  }
  expect(missing).toEqual([]);
});
