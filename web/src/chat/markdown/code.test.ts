// Long code in groups of lines, and its colours group by group: nothing is lost or moved between them.
import { expect, test } from 'vitest';
import { lineGroups, tokensByGroup } from './CodeBlock';
import { tokensOf } from './highlight';

const long = Array.from({ length: 500 }, (_, i) => (i % 7 === 3 ? '' : i % 41 === 0 ? '/* over' : i % 41 === 5 ? 'lines */' : `const v${i} = f("${i}"); // ${i}`)).join('\n');
const codes = ['', 'x', 'a\n', '\n\n', long, `${'\n'.repeat(100)}x`, `${'a\n'.repeat(40)}`, `${'a\n'.repeat(39)}\n\n\nb`];

test('the groups are the code, and none ends with an empty line', () => {
  for (const code of codes) {
    const groups = lineGroups(code);
    expect(groups.join('\n')).toBe(code);
    for (const g of groups.slice(0, -1)) expect(g.endsWith('\n')).toBe(false);
  }
  expect(lineGroups(long).length).toBeGreaterThan(5);
});

test('a group that is finished stays as it is while the code grows', () => {
  let before: string[] = [];
  for (let i = 0; i <= long.length; i += 13) {
    const now = lineGroups(long.slice(0, i));
    expect(now.slice(0, before.length - 1)).toEqual(before.slice(0, -1));
    before = now;
  }
});

test('the tokens of the groups are those of the code', () => {
  for (const code of codes) {
    const groups = lineGroups(code);
    const all = [...tokensByGroup(tokensOf(code, 'js')!, groups)];
    expect(all.map((g) => g.map((x) => x.text).join(''))).toEqual(groups);
  }
  const inside = [...tokensByGroup(tokensOf(`/*${'\nx'.repeat(90)}*/`, 'js')!, lineGroups(`/*${'\nx'.repeat(90)}*/`))];
  expect(inside.every((g) => g.every((x) => x.kind === 'comment'))).toBe(true);
  expect(tokensOf('x', 'unheard-of')).toBeNull();
});
