// Markdown as people see it: formulas and diagrams, drawn here and loaded from nowhere else; nothing lost, nothing run.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { dress, everyLook, sticksOut, violations } from './lib/look.mjs';
import { test, equal, ok } from './lib/test.mjs';

const picture = (name) => {
  const folder = join(import.meta.dirname, '../../docs/screens');
  mkdirSync(folder, { recursive: true });
  return join(folder, `${name}.png`);
};

/* Counts what the frame that draws has answered. */
const countDrawings = (tab) =>
  tab.page.evaluate(() => {
    window.drawings = 0;
    window.addEventListener('message', (e) => e.data?.type === 'parley-drawn' && window.drawings++);
  });

/* Mermaid is large; a busy machine takes its time with it. */
const patient = { timeout: 120_000 };

const prose = `# A heading of the first kind

A paragraph with **bold**, *emphasis*, \`code\`, ~~gone~~ and [a link](https://example.org/x).

## C# and other names

1. First, with a nested list
   - one
   - two, with src/**/*.ts in it
2. Second

- [x] a task that is done
- [ ] one that is open

> A quote that says something
> in two lines.
>
> - and has a list

| Name | Amount | Note |
|:-----|-------:|:----:|
| Apples | 12 | fresh |
| Pears | 1,204 | a *longer* note |

\`\`\`js
const answer = compute(6, 'by', 7); // 42
\`\`\`

See [the guide](docs/guide.md), a note[^1], and [the source][s].

[^1]: What the note says.

[s]: https://example.org/source
`;

const deep = Array.from({ length: 14 }, (_, n) => `${'  '.repeat(n)}- step ${n} of a list`).join('\n');

const drawn = `The mass $m$ gives \\(E = mc^2\\), for $5 or $10, and

$$
\\int_0^\\infty e^{-x^2}\\,dx = \\frac{\\sqrt{\\pi}}{2}
$$

\\[ \\begin{pmatrix} a & b \\\\ c & d \\end{pmatrix} \\]

\`\`\`mermaid
flowchart LR
  ask[A person asks] --> plan{Risky?}
  plan -- yes --> wait[Ask for a yes]
  plan -- no --> run[Run the tool]
  wait --> run
\`\`\`

\`\`\`mermaid
sequenceDiagram
  Person->>Parley: Send 50 USD
  Parley->>Person: Approve?
  Person-->>Parley: Yes
\`\`\`

Done.
`;

test('formulas and diagrams are drawn, by files of this server', async (t) => {
  const model = await t.model([drawn], { pieces: 2 });
  const tab = await t.tab(await t.server({ model: model.config }));
  await tab.ask('Draw');
  await tab.until(
    () => document.querySelectorAll('.formula.drawn').length === 4 && document.querySelectorAll('.diagram img').length === 2,
    null,
    patient,
  );
  const sizes = await tab
    .$('.diagram img')
    .evaluateAll((all) => Promise.all(all.map((i) => i.decode().then(() => [i.naturalWidth, i.naturalHeight]))));
  ok(
    sizes.every(([w, h]) => w > 100 && h > 50),
    `they have a size: ${sizes}`,
  );
  equal(await tab.page.evaluate(() => document.fonts.check('16px KaTeX_Main')), true, 'the font of formulas');
  const formulas = await tab.$('.formula').evaluateAll((all) => all.map((e) => [getComputedStyle(e).display, getComputedStyle(e).borderTopWidth]));
  equal(formulas, [['inline', '0px'], ['inline', '0px'], ['block', '0px'], ['block', '0px']], 'those within a line stay in it, and none has a frame');
  ok((await tab.words()).includes('for $5 or $10'), 'money is text');
  await tab.$('.diagram').first().getByRole('button', { name: 'Code', exact: true }).click();
  ok((await tab.$('.diagram pre').innerText()).includes('A person asks'), 'the code of the diagram');
});

test('until there is a formula or a diagram, nothing of what draws them is loaded', async (t) => {
  const model = await t.model(['Just **words** for $5.']);
  const tab = await t.tab(await t.server({ model: model.config }));
  await tab.ask('Talk');
  equal(
    tab.requests.filter((u) => /katex|mermaid|frame\.html/i.test(u)),
    [],
    'requests',
  );
});

test('what cannot be drawn stays as it was written', async (t) => {
  const model = await t.model([
    'A \\(\\frac{1\\) formula.\n\n```mermaid\nflowchart LR\n  a --> (((\n```\n\nAnd $\\href{javascript:alert(1)}{x}$ too.',
  ]);
  const tab = await t.tab(await t.server({ model: model.config }));
  await countDrawings(tab);
  await tab.ask('Draw');
  await tab.until(() => window.drawings && document.querySelector('.formula.drawn'), null, patient);
  const words = await tab.words();
  ok(words.includes('\\frac{1'), `the source of the formula: ${words}`);
  ok(words.includes('a --> ((('), `the code of the diagram: ${words}`);
  equal(await tab.$('.md a').count(), 0, 'links');
});

test('a diagram cannot reach the page, nor anything else', async (t) => {
  const evil =
    '```mermaid\nflowchart LR\n  a["<img src=https://evil.example/x onerror=top.evil=1>"] --> b\n  click a "javascript:top.evil=1"\n```\n\nDone.';
  const model = await t.model([evil]);
  const tab = await t.tab(await t.server({ model: model.config }));
  await countDrawings(tab);
  await tab.ask('Draw');
  await tab.until(() => window.drawings, null, patient);
  equal(await tab.page.evaluate(() => window.evil ?? null), null, 'nothing ran');
  equal(
    tab.requests.filter((u) => u.includes('evil.example')),
    [],
    'nothing was asked for',
  );
  const drawing = decodeURIComponent(await tab.$('.diagram img').getAttribute('src'));
  ok(drawing.includes('&lt;img'), 'the tag is text');
  ok(!/<img|\son\w+=|javascript:/i.test(drawing), 'no code in the drawing');
  // Mermaid's own cleaning parses the tag in a document that runs nothing; there, too, the browser
  // says that the frame's policy forbids it.
  const blocked = /^Executing inline event handler violates [^]* The action has been blocked\.$/;
  tab.errors = tab.errors.filter((e) => !blocked.test(e));
});

const parser = /\/units-[^/]*\.js$/;

test('an answer that is there before the parser waits for it, and is never seen as raw marks', async (t) => {
  const model = await t.model(['Some **bold** words.']);
  const tab = await t.tab(await t.server({ model: model.config }));
  await tab.ask('Talk');
  let release;
  const held = new Promise((go) => (release = go));
  await tab.page.route(parser, (r) => held.then(() => r.continue()));
  await tab.page.reload();
  await tab.$('.md').waitFor({ state: 'attached' });
  equal(await tab.$('.md').isVisible(), false, 'seen before it was read');
  release();
  await tab.$('.md strong').waitFor();
});

test('a list of many levels can be read on a phone', async (t) => {
  const model = await t.model([deep]);
  const tab = await t.tab(await t.server({ model: model.config }), { viewport: { width: 375, height: 740 } });
  await tab.ask('Show me all levels');
  const narrow = await tab.$('.md li').evaluateAll((all) => Math.min(...all.map((li) => li.clientWidth)));
  ok(narrow > 180, `the narrowest: ${narrow} px`);
  equal(await violations(tab), [], 'axe');
});

test('when the parser cannot be loaded, an answer is shown as it was written', async (t) => {
  const model = await t.model(['Some **bold** words.']);
  const tab = await t.tab(await t.server({ model: model.config }));
  await tab.ask('Talk');
  await tab.page.route(parser, (r) => r.abort());
  await tab.page.reload();
  await tab.page.getByText('Some **bold** words.').waitFor();
});

test('everything Markdown has fits and is readable, wide and narrow, in light and dark', async (t) => {
  const model = await t.model([prose, drawn]);
  const tab = await t.tab(await t.server({ model: model.config }));
  await dress(tab, [375, 'light', 1600]);
  await tab.ask('Write');
  await tab.ask('Draw');
  for (const [width, theme] of everyLook) {
    await dress(tab, [width, theme, 1600]);
    await tab.until(
      () =>
        document.querySelectorAll('.diagram img').length === 2 &&
        document.querySelectorAll('.formula.drawn').length === 4 &&
        document.querySelector('.code .tk-keyword'),
      null,
      patient,
    );
    equal(await sticksOut(tab), 0, `nothing scrolls sideways at ${width} px`);
    await tab.$('.column[data-pinned="true"]').waitFor(); // at the end, although pictures came late
    equal(await violations(tab), [], `axe, ${width}, ${theme}`);
    if (!process.env.SCREENS) continue;
    await tab.$('.said > .msg-tools').evaluateAll((all) => all.forEach((e) => (e.style.visibility = 'hidden'))); // half of them would be in it
    for (const [n, md] of (await tab.$('.md').all()).entries()) {
      await tab.$('.scroller').evaluate((e, end) => (e.scrollTop = end ? e.scrollHeight : 0), n > 0); // at the end no button lies over it
      const { x, y, width: w, height: h } = await md.boundingBox();
      await tab.page.screenshot({ path: picture(`markdown-${n + 1}-${theme}-${width}`), clip: { x: x - 16, y: y - 16, width: w + 32, height: h + 32 } });
    }
  }
  ok((await tab.$('.md').first().innerText()).includes('C# and other names'), 'C#');
  ok((await tab.$('.md').first().innerText()).includes('the guide (docs/guide.md)'), 'a relative link');
});
