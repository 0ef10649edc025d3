// What Markdown must do while it streams, and what it must never do.
import type { Nodes } from 'mdast';
import { createElement } from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { expect, test } from 'vitest';
import { safeHref, targetBeside } from './links';
import { loadParser, Markdown } from './Markdown';
import { GrowingText, type Unit } from './units';

await loadParser();

const html = (text: string, growing = false) => renderToStaticMarkup(createElement(Markdown, { text, growing }));

/** What a reader sees of it. */
function words(markup: string): string {
  const plain = markup
    .replace(/<figcaption>.*?<\/figcaption>/gs, '')
    .replace(/<br\/>/g, ' ')
    .replace(/<[^>]*>/g, '');
  return plain.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&quot;', '"').replaceAll('&#x27;', "'").replaceAll('&amp;', '&');
}

const seen = (text: string, growing = false) => words(html(text, growing));

const everything = `# Title of **all** things

A paragraph with **bold**, *em*, ***both***, \`code\`, ~~old~~ and [a link](https://example.org/x).

- one
- two **bold**
  - nested [deep](https://example.org/y)

  more of two
- [ ] open task
- [x] done task

1. first
2. second with \`a * b\`

> quoted *text*
> goes on

| a | **b** |
|---|--:|
| 1 | two *em* |

\`\`\`js
const x = 1;

- not a list
\`\`\`

Setext
======

A formula $x^2 + y$ and \\(a_1\\) in a line, and one alone:

$$
\\frac{a}{b}
- c
$$

![a chart](https://example.org/p.png) &amp; <https://example.org/z> <br> AT&T

これは**「太字」**です。

---

The end.`;

const others = [
  '## C#\n\nUse `src/**/*.ts` or src/**/*.ts, and 2*3*4 = 24; snake_case_name.',
  'Costs $5 and $10, in $HOME or US$7.\n\nSee [the guide](docs/guide.md) and [this][1].\n\n[1]: https://example.org "Title"',
  '* a\n* b\n\n  c\n\n      code\n* d',
  '> - a\n>   b\n> - c\n>\n> d',
  'Text[^1] with a note.\n\n[^1]: The *note*.\n\nMore.',
  '1. Step\n   ```sh\n   make\n   ```\n2. Next\n   \\[\n   x\n   \\]\n3. Last',
  'a | b\n--|--\n1 | **2**\n\nafter',
  '<details>\n<summary>More</summary>\n\ninside **bold**\n\n</details>',
  `| a | b |\n|---|:-:|\n${'| 1 | **2** |\n'.repeat(25)}text right below\n\n- a list\n\n| c |\n|---|\n| d |`,
  'Hello.  \nA hard break, and \\*no\\* emphasis; 5 < 6 > 4 && done.',
];

/* ---- while it grows ---- */

test('finished units keep their nodes while the text grows', () => {
  const g = new GrowingText();
  const before = g.update('One.\n\n- a\n- b\n\nTwo.\n\nThr', true);
  const after = g.update('One.\n\n- a\n- b\n\nTwo.\n\nThree.', true);
  for (const i of [0, 1, 2]) expect(after[i]!.nodes).toBe(before[i]!.nodes);
  expect(after).toHaveLength(5);
});

test('rows that are finished are not parsed again while their table grows, and know what is defined elsewhere', () => {
  const g = new GrowingText();
  const rows = (n: number) => `| a |\n|---|\n${'| [x] |\n'.repeat(n)}`;
  const before = g.update(rows(30), true);
  const after = g.update(rows(31), true);
  expect(after[0]!.nodes).toBe(before[0]!.nodes);
  expect(after.every((u) => u.table === 0)).toBe(true);
  const links = (markup: string) => markup.match(/<td[^>]*><a href="https:\/\/example.org\/"/g)?.length;
  for (const growing of [false, true]) expect(links(html(`${rows(31)}\n[x]: https://example.org\n\nEnd`, growing))).toBe(31);
});

test('an item that is finished is not parsed again while its list grows', () => {
  const g = new GrowingText();
  const before = g.update('- a\n- b\n- c', true);
  const after = g.update('- a\n- b\n- c\n- d\n- e', true);
  expect(after[0]!.nodes).toBe(before[0]!.nodes);
  expect(after.every((u) => u.list === 0)).toBe(true);
});

/* Where in its list an item stands is said by the list's first one. */
function tree(units: Unit[]): unknown {
  const bare = (n: Nodes): unknown => ({
    ...n,
    position: undefined,
    spread: undefined,
    start: undefined,
    children: 'children' in n ? n.children.map(bare) : undefined,
  });
  return units.map((u) => [u.from, u.list, u.apart, u.nodes.map(bare)]);
}

test('grown character by character, the units are those of the whole text', { timeout: 120_000 }, () => {
  for (const text of [everything, ...others]) {
    const g = new GrowingText();
    for (let i = 1; i <= text.length; i++) {
      const part = text.slice(0, i);
      const grown = g.update(part, false);
      if (i % 5 !== 0 && text[i] !== '\n' && text[i - 1] !== '\n') continue; // reading it all again is what takes time
      expect(tree(grown), JSON.stringify(part)).toEqual(tree(new GrowingText().update(part, false)));
    }
  }
});

/* The letters and digits of a text, in order: what may never be lost, whatever becomes of the marks around them. */
const letters = (s: string) => s.replace(/[^\p{L}\p{N}]/gu, '');

test('no letter that has come is ever missing, and none goes away again', { timeout: 120_000 }, () => {
  for (const text of [
    'Plain words, **bold words**, `code words` and *em words* go on.',
    ...others.slice(0, 1),
    others[2]!,
    others[3]!,
    others[5]!.replace(/\d\. /g, '- '),
    others[6]!,
    others[8]!,
  ]) {
    const g = new GrowingText();
    let before = '';
    for (let i = 1; i <= text.length; i++) {
      const now = letters(
        g
          .update(text.slice(0, i), true)
          .map((u) => u.nodes.map(textOf).join(' '))
          .join(' '),
      );
      expect(now.startsWith(before), `${JSON.stringify(text.slice(0, i))}: ${before} became ${now}`).toBe(true);
      before = now;
    }
  }
});

function textOf(n: Nodes): string {
  return n.type === 'html' && n.value === '<br>'
    ? ' '
    : 'value' in n
      ? n.value
      : 'children' in n
        ? n.children.map((c) => textOf(c)).join(' ')
        : '';
}

test('no half-written mark is seen while the text grows', { timeout: 120_000 }, () => {
  const marks = /\*\*|~~|`|(?<!\w)\*\S|\]\(|!\[|\|-|<br|&am|^#|\n#|\[[ x]?\]|\\[([]/;
  const text = everything.replace('- c\n', 'c\n').replace('`a * b`', '`a`');
  const g = new GrowingText();
  for (let i = 1; i <= text.length; i++) {
    const now = g
      .update(text.slice(0, i), true)
      .map((u) => u.nodes.map(textOf).join(' '))
      .join('\n');
    expect(now, JSON.stringify(text.slice(Math.max(0, i - 60), i))).not.toMatch(marks);
  }
});

test('what is half written is shown as if its end had come', () => {
  const growing = (s: string) =>
    html(s, true)
      .replace(/ (?:dir|class|tabindex|role|aria-label|target|rel|title)="[^"]*"/g, '')
      .replace(/^<div>|<\/div>$/g, '');
  expect(growing('**op')).toBe('<p><strong>op</strong></p>');
  expect(growing('**open*')).toBe('<p><strong>open</strong></p>');
  expect(growing('a *')).toBe('<p>a</p>');
  expect(growing('**a *b')).toBe('<p><strong>a <em>b</em></strong></p>');
  expect(growing('`co')).toBe('<p><code>co</code></p>');
  expect(growing('see [the docs](https://exa')).toBe('<p>see the docs</p>');
  expect(growing('see [the **docs')).toBe('<p>see the <strong>docs</strong></p>');
  expect(growing('see ![a chart](https://x')).toBe('<p>see</p>');
  expect(growing('as in [1]')).toBe('<p>as in [1]</p>');
  expect(growing('wow!')).toBe('<p>wow!</p>');
  expect(growing('AT&T')).toBe('<p>AT</p>');
  expect(growing('これは**太')).toBe('<p>これは<strong>太</strong></p>');
  expect(growing('src/**/*.t')).toBe('<p>src/**/*.t</p>');
  expect(growing('para\n-')).toBe('<p>para</p>');
  expect(growing('para\n#')).toBe('<p>para</p>');
  expect(growing('- a\n- [')).toBe('<ul><li>a</li></ul>');
  expect(growing('in $x^2 +')).toBe('<p>in <span>x^2 +</span></p>');
  expect(growing('for $5 or')).toBe('<p>for $5 or</p>');
  expect(seen('```py\nx = 1\n``', true)).toBe('x = 1');
  expect(growing('```')).toBe('');
});

test('once the text is over, marks that never closed are text', () => {
  expect(seen('**open')).toBe('**open');
  expect(seen('[1] and [x](y')).toBe('[1] and [x](y');
  expect(seen('a $x')).toBe('a $x');
  expect(seen('AT&T #')).toBe('AT&T #');
  expect(seen('**open\n\nnext', true)).toBe('**opennext');
});

test('the first line of a table is a table already while it grows', () => {
  for (const half of ['| a', '| a | b |', '| a | b |\n', '| a | b |\n|', '| a | b |\n|:-']) {
    expect(html(half, true)).toContain('<table>');
    expect(html('Look:\n' + half, true)).toContain('<table>');
    expect(html('- item\n\n  ' + half.replace('\n', '\n  '), true)).toContain('<table>');
  }
  for (const none of ['a | b', '| a | b |\nand so on', 'Look:\nhere']) expect(html(none, true)).not.toContain('<table>');
});

/* ---- nothing is lost ---- */

test('headings, globs and addresses keep all of their text', () => {
  expect(seen('## C#')).toBe('C#');
  expect(seen('# F# #')).toBe('F#');
  expect(seen('#hash')).toBe('#hash');
  expect(seen('src/**/*.ts and *.ts, *.tsx')).toBe('src/**/*.ts and *.ts, *.tsx');
  expect(seen('**/*.ts')).toBe('**/*.ts');
  expect(seen('[guide](docs/guide.md)')).toBe('guide (docs/guide.md)');
  expect(seen('[part](#two "Two")')).toBe('part (#two Two)');
  expect(seen('[x](javascript:alert(1))')).toBe('x (javascript:alert(1))');
  expect(seen('![chart](img/a.png)')).toBe('chart (img/a.png)');
  expect(seen('a[^1]\n\n[^1]: note')).toBe('a11note');
  expect(seen('| a |\n|---|\n| 1 | 2 | 3 |')).toBe('a123');
  expect(seen('<div>\n*raw* <b>\n</div>')).toBe('<div>\n*raw* <b>\n</div>');
});

test('a link may be defined after it was used, and its definition stays in sight', () => {
  const text = 'See [the docs][d].\n\nMore.\n\n[d]: https://example.org/d';
  expect(html(text)).toContain('<a href="https://example.org/d"');
  expect(seen(text)).toBe('See the docs.More.[d]: https://example.org/d');
  expect(seen('See [the docs][d].\n\nMore.')).toBe('See [the docs][d].More.');
});

/* ---- nothing runs, nothing loads ---- */

test('HTML is text, but for line breaks', () => {
  for (const bad of [
    '<script>alert(1)</script>',
    '<img src=x onerror=y>',
    'a <b onclick="x">c</b>',
    '<iframe src="https://x.org">',
    '&lt;script&gt;',
  ]) {
    const out = html(bad);
    expect(out).not.toMatch(/<(?:script|img|iframe|b)\b/);
    expect(words(out)).toBe(bad.replace('&lt;', '<').replace('&gt;', '>'));
  }
  for (const br of ['<br>', '<br/>', '<br />', '<BR>']) expect(html(`a${br}b`)).toContain('a<br/>b');
  expect(html('a<br onload=x>b')).not.toContain('<br');
  expect(html('`<br>`')).toContain('<code>&lt;br&gt;</code>');
});

test('pictures from elsewhere are named, not loaded', () => {
  expect(html('![a](https://x.org/p.png)')).not.toContain('<img');
  expect(seen('![a](https://x.org/p.png)')).toBe('Image: a (x.org, not loaded)');
  expect(html('![a](data:image/png;base64,AAAA)')).toContain('<img src="data:image/png');
  expect(html('![a](data:text/html,x)')).not.toContain('<img');
});

test('only addresses a person may follow are links', () => {
  expect(safeHref('https://example.org')).toBe('https://example.org/');
  const bad = [
    'javascript:alert(1)',
    'JAVASCRIPT:alert(1)',
    'javascript&#58;alert(1)',
    'data:text/html,x',
    'vbscript:x',
    '//evil',
    '/local',
    'file:///etc/passwd',
  ];
  for (const href of bad) {
    expect(safeHref(href)).toBeNull();
    expect(html(`[x](${href}) <${href}>`)).not.toContain('<a ');
  }
  expect(seen('[https://bank.example](https://evil.example)')).toBe('https://bank.example (evil.example)');
});

test('where a link leads is written beside it wherever its text could deceive', () => {
  const beside = (text: string, href: string) => targetBeside(safeHref(href)!, text);
  for (const [text, href] of [
    ['the report', 'https://example.org/x'],
    ['https://example.org/a.b/c.d', 'https://example.org/a.b/c.d'],
    ['example.org', 'https://www.example.org/'],
    ['http://127.0.0.1:8000/x', 'http://127.0.0.1:8000/x'],
    ['write to ada@example.org', 'mailto:ada@example.org'],
    ['write to Ada@example.org.', 'mailto:ada@example.org'],
    ['docs', 'https://example.com'],
    ['docs', 'http://localhost:8000/docs'],
    ['see (https://example.org), please', 'https://example.org/x'],
    ['https://example.org:443', 'https://example.org/'],
    ['http://localhost:8000', 'http://localhost:8000/x'],
    ['localhost:8000', 'http://localhost:8000/x'],
    ['http://[::1]:8000/x', 'http://[::1]:8000/x'],
    ['[::1]:8000', 'http://[::1]:8000/x'],
    ['10.0.0.1', 'https://10.0.0.1/'],
    ['https://intranet/a.b', 'https://intranet/a.b'],
    ['https://example.org/a@b.example/c?d=e.example', 'https://example.org/'],
    ['src/chat/links.ts', 'https://example.org/'],
    ['@ada', 'https://example.org/ada'],
    ['react@18.2.0, at 10:30', 'https://example.org/'],
    ['東京。', 'https://example.org/'],
  ] as const)
    expect([text, beside(text, href)]).toEqual([text, null]);
  for (const [text, href, told] of [
    ['https://bank.example', 'https://evil.example', 'evil.example'],
    ['https://bank.example@evil.example/login', 'https://bank.example@evil.example/login', 'evil.example'],
    ['https://bank.example@evil.example', 'https://evil.example', 'evil.example'],
    ['log in', 'https://bank.example:pw@evil.example/', 'evil.example'],
    ['https://\u0430\u0440\u0440\u04cf\u0435.com', 'https://\u0430\u0440\u0440\u04cf\u0435.com', 'xn--80ak6aa92e.com'],
    ['b\u0430nk.example', 'https://evil.example', 'evil.example'],
    ['\u0440\u0430\u0443.\u0441\u043e\u043c', 'https://evil.example', 'evil.example'],
    ['bank\u2024example', 'https://evil.example', 'evil.example'],
    ['ba\u200bnk.exa\u00admple', 'https://evil.example', 'evil.example'],
    ['\uff42\uff41\uff4e\uff4b\uff0e\uff43\uff4f\uff4d', 'https://evil.example', 'evil.example'],
    ['Approve', 'https://evil.example/yes', 'evil.example'],
    ['support@bank.example', 'mailto:mallory@evil.example', 'mallory@evil.example'],
    ['support@bank.example, not mallory@evil.example', 'mailto:mallory@evil.example', 'mallory@evil.example'],
    ['https://bank.example', 'mailto:mallory@evil.example', 'mallory@evil.example'],
    ['a@bank.example', 'mailto:%ff@evil.example', '%ff@evil.example'],
    ['a@bank.example', 'https://evil.example', 'evil.example'],
    ['a@bank.example', 'https://bank.example', 'bank.example'],
    ['http://127.0.0.1:18770/inbox', 'http://127.0.0.1:18773/inbox', '127.0.0.1:18773'],
    ['https://bank.example', 'https://bank.example:444/', 'bank.example:444'],
    ['bank.example', 'https://bank.example:444/', 'bank.example:444'],
    ['bank.example:444', 'https://bank.example/', 'bank.example'],
    ['https://bank.example', 'http://bank.example', 'http://bank.example'],
    ['ftp://bank.example', 'https://bank.example', 'https://bank.example'],
    ['見てhttps://bank.example', 'http://bank.example', 'http://bank.example'],
    ['bank\u3002example', 'https://evil.example', 'evil.example'],
    ['bank\uff61example', 'https://evil.example', 'evil.example'],
    ['https://bank\uff0eexample', 'https://evil.example', 'evil.example'],
    ['127.0.0.1', 'https://evil.example', 'evil.example'],
    ['10.0.0.1:80', 'https://10.0.0.1', '10.0.0.1'],
    ['[::1]:8000', 'https://evil.example', 'evil.example'],
    ['http://[::1]:8000', 'http://[::1]:8001', '[::1]:8001'],
    ['::1', 'https://evil.example', 'evil.example'],
    ['http://localhost:8000', 'http://evil.example', 'evil.example'],
    ['localhost', 'https://evil.example', 'evil.example'],
    ['bank:8000', 'https://evil.example', 'evil.example'],
    ['https://intranet/', 'https://evil.example', 'evil.example'],
    ['//intranet', 'https://evil.example', 'evil.example'],
    ['https:///bank.example', 'https://evil.example', 'evil.example'],
    ['https:\\\\bank.example', 'https://evil.example', 'evil.example'],
    ['https:bank.example', 'https://evil.example', 'evil.example'],
    ['my_bank.example', 'https://evil.example', 'evil.example'],
    ['@bank.example', 'https://evil.example', 'evil.example'],
    ['/bank.example', 'https://evil.example', 'evil.example'],
    ['evil.example or bank.example', 'https://evil.example', 'evil.example'],
  ] as const)
    expect([text, beside(text, href)]).toEqual([text, told]);
});

test('a picture in an answer says what it is, and leads nowhere without saying where', () => {
  expect(seen('![Approve](data:image/png;base64,AAAA)')).toBe('A picture in this answer. It is not part of the page.');
  for (const inside of ['![Approve](data:image/png;base64,AAAA)', '**![Approve](data:image/png;base64,AAAA)**'])
    expect(seen(`[${inside}](https://evil.example/yes)`)).toContain('(evil.example)');
});

/* ---- formulas ---- */

test('formulas are found in all four spellings, and money is none', () => {
  const formula = (tex: string) => `<span class="formula">${tex}</span>`;
  for (const s of ['$x^2$', '\\(x^2\\)']) expect(html(`a ${s} b`)).toContain(`a ${formula('x^2')} b`);
  for (const s of ['$$x^2$$', '\\[x^2\\]', '$$\nx^2\n$$', '\\[\nx^2\n\\]', '> $$\n> x^2\n> $$', '- a\n  $$\n  x^2\n  $$'])
    expect(html(s)).toMatch(/class="formula display"[^>]*>x\^2</);
  expect(html('$$\na\n- b\n\n# c\n$$')).toMatch(/display"[^>]*>a\n- b\n\n# c</);
  for (const s of ['$5 and $10', 'US$5 or 6$', '$HOME and $PATH', 'a $ b $ c', '\\$5$', '`$x$`', '$$$', '\\(\\)', '5$ to 6$'])
    expect(html(s), s).not.toContain('class="formula');
});

/* ---- hostile text ---- */

test('hostile text breaks nothing, and is read before the test is out of time', { timeout: 120_000 }, () => {
  const hostile = ['*_', '[', '&', '<', '`', '> ', '- ', '1. ', '**a *b ', '![', '$a ', '\\(', '\\[a', '[a](<b', '|', '[a]: b\n', '<a b="'];
  for (const s of hostile) for (const growing of [false, true]) expect(html(s.repeat(300), growing)).toContain('class="md"');
  expect(seen('> '.repeat(3000))).toBe('> '.repeat(3000));
  expect(seen('- '.repeat(3000) + 'a')).toBe('- '.repeat(3000) + 'a');
});
