// What a growing answer costs: counted in characters that are parsed, so that no machine's mood is in it.
import { expect, test, vi } from 'vitest';

const cost = vi.hoisted(() => ({ parsed: 0 }));
vi.mock('./parse', async (original) => {
  const { parse } = await original<typeof import('./parse')>();
  return { parse: (text: string) => ((cost.parsed += text.length), parse(text)) };
});
const { GrowingText } = await import('./units');

const paragraph = `${'word '.repeat(40)}with **marks** and a [link][there].`;
const part = (n: number) => [`## Part ${n}`, paragraph, '- one\n- two\n- three', '| a | b |\n|---|---|\n| 1 | 2 |', '```js\nlet x = 1;\n```', paragraph].join('\n\n');
const answer = (parts: number) => ['[there]: https://example.org', ...Array.from({ length: parts }, (_, n) => part(n))].join('\n\n');

/* Told a few words at a time. */
function costOf(text: string): number {
  const g = new GrowingText();
  cost.parsed = 0;
  let told = '';
  for (const word of text.match(/(?:\S+\s*){1,4}/g)!) g.update((told += word), true);
  return cost.parsed / text.length;
}

test('a word costs the same at the end of a long answer as at the beginning', { timeout: 120_000 }, () => {
  const [short, long] = [costOf(answer(4)), costOf(answer(24))];
  expect(long).toBeLessThan(short * 1.3);
});

test('a row costs the same at the end of a long table as at the beginning', { timeout: 120_000 }, () => {
  const rows = (n: number) => `| a | b | c |\n|---|---|---|\n${'| some words | **and** more | of them |\n'.repeat(n)}`;
  expect(costOf(rows(150))).toBeLessThan(costOf(rows(30)) * 1.3);
});

test('a finished answer that is read in one go is read about once', () => {
  const text = answer(40);
  cost.parsed = 0;
  new GrowingText().update(text, false);
  expect(cost.parsed / text.length).toBeLessThan(3);
});
