// What components bring into somebody else's page: style sheets that stay where they are put, and a tag that is understood.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { read } from '../embed/attributes';
import { enclose, pageSheets } from './ui/styles';

test('every style sheet of the page is there, but for the administration, which nobody embeds', () => {
  const files = readdirSync(join(import.meta.dirname, '../src/app/styles'))
    .map((n) => n.replace('.css', ''))
    .filter((n) => n !== 'admin');
  expect(Object.keys(pageSheets).sort()).toEqual(files.sort());
});

test('nothing of them speaks of the document, its window or its letters', () => {
  for (const [name, css] of Object.entries(pageSheets)) {
    const made = enclose(css);
    const selectors = [...made.matchAll(/([^{}]+)\{/g)]
      .flatMap((m) => m[1]!.split(','))
      .map((s) => s.trim());
    const outside = selectors.filter(
      (s) => /^(html|body|:root|#root)\b/.test(s) || /@media[^{]*(width|height)/.test(s),
    );
    expect([name, outside]).toEqual([name, []]);
    expect([name, made.match(/\d(rem|dvh|svh|lvh)\b/g)]).toEqual([name, null]);
  }
});

test('a sheet means the same inside: the widest rule, the tokens, a size', () => {
  const css =
    ':root { --a: 1rem } html, body, #root { margin: 0 } body { top: 50dvh } @media (max-width: 560px) { .x { left: .5rem } } .body { top: 0 }';
  expect(enclose(css)).toBe(
    '.parley { --a: 16px } .parley, .parley, .parley { margin: 0 } .parley { top: 50cqh } @container parley (max-width: 560px) { .x { left: 8px } } .body { top: 0 }',
  );
});

test('a script tag is read, and what it says wrongly is named', () => {
  expect(
    read({
      page: 'articles',
      title: 'Help',
      theme: 'dark',
      lang: 'de',
      side: 'left',
      starters: 'One | Two |',
      open: '',
      tokenCallback: 'key',
    }),
  ).toMatchObject({
    page: 'articles',
    title: 'Help',
    theme: 'dark',
    lang: 'de',
    side: 'left',
    starters: ['One', 'Two'],
    open: true,
    tokenCallback: 'key',
    unknown: [],
  });
  expect(read({ them: 'dark', side: 'top', accent: 'red', lang: 'fr', openNow: 'x' }).unknown).toEqual([
    'data-them',
    'data-open-now',
    'data-lang="fr" (en, de, ja)',
    'data-accent="red" (six hex digits, such as #0b6b50)',
    'data-side="top" (left or right)',
  ]);
});
