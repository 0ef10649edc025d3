// The colours of tokens.css can be read: AA (4.5 to 1) wherever one is written on another, in both themes.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const css = readFileSync(new URL('styles/tokens.css', import.meta.url), 'utf8');
const tokens = new Map([...css.matchAll(/--([a-z-]+): light-dark\((#\w{6}), (#\w{6})\)/g)].map((m) => [m[1]!, [m[2]!, m[3]!] as const]));

/* Which letters stand on which ground. */
const written: [ground: string, letters: string[]][] = [
  ['bg', ['ink', 'ink-soft', 'mine', 'work', 'ask', 'ok', 'bad']],
  ['panel', ['ink', 'ink-soft', 'mine', 'work', 'ask', 'ok', 'bad']],
  ['mine', ['on-mine']],
  ['ask', ['on-ask']],
  ['work-bg', ['ink', 'work']],
  ['ask-bg', ['ink', 'ink-soft', 'ask', 'mine', 'bad']],
  ['bad-bg', ['ink', 'bad']],
  ['code-bg', ['ink', 'ink-soft', ...[...tokens.keys()].filter((name) => name.startsWith('tk-'))]],
];

function light(hex: string): number {
  const [r, g, b] = [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16) / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r! + 0.7152 * g! + 0.0722 * b!;
}

function contrast(a: string, b: string): number {
  const [low, high] = [light(a), light(b)].sort((x, y) => x - y);
  return (high! + 0.05) / (low! + 0.05);
}

test('black on white is 21 to 1', () => {
  expect(contrast('#000000', '#ffffff')).toBeCloseTo(21);
});

for (const [ground, letters] of written) {
  test(`what is written on --${ground} can be read, in both themes`, () => {
    const weak = letters.flatMap((name) => [0, 1].map((theme) => [name, theme, contrast(tokens.get(name)![theme]!, tokens.get(ground)![theme]!)] as const)).filter(([, , ratio]) => ratio < 4.5);
    expect(weak).toEqual([]);
  });
}
