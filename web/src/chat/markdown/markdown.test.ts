// What Markdown must do while it streams, and what it must never do.
import { expect, test } from 'vitest';
import { GrowingBlocks, halfTable, readFence, readList, readTable, splitBlocks } from './blocks';
import { parseInline, safeHref, type Inline } from './inline';

const document = `# Title

A paragraph with **bold**, *em*, \`code\` and [a link](https://example.org/x).

- one
- two
  - nested

  more of two
- three

1. first
2. second

> quoted
> text

| a | b |
|---|--:|
| 1 | 2 |

\`\`\`js
const x = 1;

- not a list
\`\`\`

---

The end.`;

test('blocks are recognised', () => {
  expect(splitBlocks(document).map((b) => b.type)).toEqual([
    'heading',
    'paragraph',
    'list',
    'list',
    'quote',
    'table',
    'code',
    'rule',
    'paragraph',
  ]);
});

test('grown character by character, the blocks are those of the whole text', () => {
  const g = new GrowingBlocks();
  for (let i = 1; i <= document.length; i++) expect(g.update(document.slice(0, i))).toEqual(splitBlocks(document.slice(0, i)));
});

test('finished blocks keep their identity while the text grows', () => {
  const g = new GrowingBlocks();
  const before = g.update('One.\n\nTwo.\n\nThr');
  const after = g.update('One.\n\nTwo.\n\nThree.');
  expect(after[0]).toBe(before[0]);
  expect(after[1]).toBe(before[1]);
});

test('an open fence is code already, and half of its end is not shown', () => {
  expect(readFence('```py\nx = 1\n``')).toEqual({ language: 'py', code: 'x = 1', closed: false });
  expect(readFence('```py\nx = 1\n```')).toEqual({ language: 'py', code: 'x = 1', closed: true });
});

test('lists know their items and their first number', () => {
  expect(readList('3. a\n4. b\n   more')).toMatchObject({ ordered: true, start: 3, items: ['a', 'b\nmore'] });
  expect(readList('- a\n  - b\n- c').items).toEqual(['a\n- b', 'c']);
});

test('a table has as many cells in every row', () => {
  expect(readTable('| a | b |\n|---|--:|\n| 1 |')).toEqual({ head: ['a', 'b'], align: [undefined, 'right'], rows: [['1', '']] });
});

function flat(nodes: Inline[]): string {
  return nodes
    .map((n) =>
      n.type === 'text'
        ? n.text
        : n.type === 'code'
          ? `<code ${n.text}>`
          : n.type === 'break'
            ? '<br>'
            : n.type === 'image'
              ? `<img ${n.alt}>`
              : `<${n.type} ${flat(n.children)}>`,
    )
    .join('');
}

test('inline marks', () => {
  expect(flat(parseInline('a **b** c'))).toBe('a <strong b> c');
  expect(flat(parseInline('a *b* _c_ ~~d~~'))).toBe('a <em b> <em c> <strike d>');
  expect(flat(parseInline('**a *b* c**'))).toBe('<strong a <em b> c>');
  expect(flat(parseInline('***x***'))).toBe('<strong <em x>>');
  expect(flat(parseInline('snake_case_name 2*3*4'))).toBe('snake_case_name 2<em 3>4');
  expect(flat(parseInline('`a*b*`'))).toBe('<code a*b*>');
  expect(flat(parseInline('\\*no\\*'))).toBe('*no*');
  expect(flat(parseInline('see https://x.org/a_(b), ok'))).toBe('see <link https://x.org/a_(b)>, ok');
  expect(flat(parseInline('[t](https://x.org)'))).toBe('<link t>');
  expect(flat(parseInline('a * b * c'))).toBe('a * b * c');
});

test('finished text keeps marks that never closed', () => {
  expect(flat(parseInline('**open'))).toBe('**open');
  expect(flat(parseInline('[1] and [x](y'))).toBe('[1] and [x](y');
});

test('growing text shows no raw marks', () => {
  expect(flat(parseInline('**op', true))).toBe('<strong op>');
  expect(flat(parseInline('**open*', true))).toBe('<strong open>');
  expect(flat(parseInline('a *', true))).toBe('a ');
  expect(flat(parseInline('`co', true))).toBe('<code co>');
  expect(flat(parseInline('see [the docs](https://exa', true))).toBe('see the docs');
});

test('half a link, picture, break or entity is not seen while it grows', () => {
  const grown = (src: string) => [...src].map((_, i) => flat(parseInline(src.slice(0, i + 1), true)));
  const raw = /[[\]()!<&]/;
  for (const src of ['see [the **docs**](https://x.org/a', 'see ![a chart](https://x.org/a', 'a<br', 'a&am', 'a&#12'])
    for (const shown of grown(src)) expect(shown.replace(/<(strong) (.*?)>/, '$2').replace(/!$/, '')).not.toMatch(raw);
  expect(flat(parseInline('as in [1', true))).toBe('as in [1');
  expect(flat(parseInline('as in [1]', true))).toBe('as in [1]');
  expect(flat(parseInline('wow!', true))).toBe('wow!');
  expect(flat(parseInline('AT&T', true))).toBe('AT');
  expect(flat(parseInline('AT&T', false))).toBe('AT&T');
  expect(flat(parseInline(`[${'long '.repeat(60)}`, true))).toBe(`[${'long '.repeat(60)}`);
});

test('the first line of a table is a table already while it grows', () => {
  const first = 'Look:\n';
  for (const half of ['|', '| a', '| a | b |', '| a | b |\n', '| a | b |\n|', '| a | b |\n|:-'])
    expect(halfTable(first + half)).toBe(first.length);
  for (const none of ['a | b', '| a | b |\nand so on', 'Look:\nhere']) expect(halfTable(none)).toBe(none.length);
});

test('<br> is a line break, in every spelling', () => {
  for (const br of ['<br>', '<br/>', '<br />', '<BR>']) expect(flat(parseInline(`a${br}b`))).toBe('a<br>b');
  expect(parseInline('a<br onload=x>b')).toEqual([{ type: 'text', text: 'a<br onload=x>b' }]);
  expect(parseInline('`<br>`')).toEqual([{ type: 'code', text: '<br>' }]);
});

test('entities are the characters they stand for, and never more than text', () => {
  expect(flat(parseInline('a &amp; b &lt; c &gt; d &quot;e&quot; &copy; &#169; &#xA9; &#x1F600;'))).toBe('a & b < c > d "e" © © © 😀');
  expect(flat(parseInline('10&nbsp;km'))).toBe('10\u00a0km');
  expect(flat(parseInline('&#0; &#xD800; &#x110000;'))).toBe('\ufffd \ufffd \ufffd');
  const kept = '&unheard; &constructor; &; &#; AT&T;';
  expect(flat(parseInline(`${kept} \\&amp; \`&amp;\``))).toBe(`${kept} &amp; <code &amp;>`);
  // What they give is not read again.
  expect(parseInline('&lt;br&gt; &#42;&#42;x&#42;&#42; &#91;a](https://x) &amp;lt;')).toEqual([
    { type: 'text', text: '<br> **x** [a](' },
    { type: 'link', href: 'https://x', children: [{ type: 'text', text: 'https://x' }], bare: true },
    { type: 'text', text: ') &lt;' },
  ]);
  expect(parseInline('&lt;script&gt;alert(1)&lt;/script&gt;')).toEqual([{ type: 'text', text: '<script>alert(1)</script>' }]);
  expect(safeHref('javascript&#58;alert(1)')).toBeNull();
});

test('HTML is text', () => {
  expect(parseInline('<script>alert(1)</script><img src=x onerror=y>')).toEqual([
    { type: 'text', text: '<script>alert(1)</script><img src=x onerror=y>' },
  ]);
});

test('only addresses a person may follow are links', () => {
  expect(safeHref('https://example.org')).toBe('https://example.org/');
  for (const bad of [
    'javascript:alert(1)',
    'JAVASCRIPT:alert(1)',
    'data:text/html,x',
    'vbscript:x',
    '//evil',
    '/local',
    'file:///etc/passwd',
  ])
    expect(safeHref(bad)).toBeNull();
});

test('hostile nesting costs no time', () => {
  const start = performance.now();
  parseInline('*_'.repeat(5000));
  parseInline('['.repeat(5000));
  parseInline('['.repeat(5000), true);
  parseInline('&'.repeat(5000), true);
  parseInline('<'.repeat(5000), true);
  halfTable('\n|'.repeat(5000) + 'a\nb');
  parseInline('`'.repeat(4999) + 'a');
  splitBlocks('> '.repeat(3000));
  expect(performance.now() - start).toBeLessThan(1500);
});
