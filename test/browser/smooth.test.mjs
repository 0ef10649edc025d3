// A long answer costs what its words cost, and no task of it is long: while it comes, when it is opened, while it is read.
// What counts is the page's own processor time: a busy machine only makes it wait.
//
// With LONG=1, and where times are held to their limits (SPEED=1), the answers are as long as the
// promise is. Otherwise a quarter of that: the same kinds of text on the same way, and what costs
// the square of its length is still beside a straight line. Left out then is how 10,000 words feel.
import { ok, test } from './lib/test.mjs';

const code = (lines, n) => '```js\n' + Array.from({ length: lines }, (_, i) => `const value${i} = compute(${i}, "text"); // ${n}`).join('\n') + '\n```';
const table = (rows, n) => ['| Name | Amount | Note |', '|---|--:|---|', ...Array.from({ length: rows }, (_, i) => `| row ${i} of ${n} | **${i * 7}** | with \`code\` and [a link][there] |`)].join('\n');
const list = (items, n) => Array.from({ length: items }, (_, i) => `- item **${i}** of the list in part ${n}, with \`code\` in it\n  - and one below`).join('\n');
const prose = (n) => Array.from({ length: 80 }, (_, i) => (i % 19 === 7 ? `**word${(n + i) % 97}**` : `word${(n + i) % 97}`)).join(' ') + '.';
const long = (words) => (process.env.LONG || process.env.SPEED ? words : words / 4);
const named = (words) => words.toLocaleString('en');
const count = (text) => text.split(/\s+/).length;

/* Of everything that answers are made of; a definition that all of it can use stands at its beginning. */
function essay(words, first = code(300, 'long')) {
  const out = ['[there]: https://example.org/there', first];
  for (let n = 0, p = 0; n < words; p++) {
    const part = [() => `## Part ${p}`, prose, () => table(20, p), () => code(12, p), () => list(8, p), prose, prose][p % 7](p);
    out.push(part);
    n += count(part);
  }
  return out.join('\n\n');
}

const ended = (tab) => tab.until(() => !document.querySelector('.round.stop, .thinking, [aria-busy="true"], .md.coming'), null, { timeout: 120_000 });
const sum = (tasks) => tasks.reduce((a, b) => a + b, 0);

async function told(t, text) {
  const model = await t.model(['Hello.', `${text}\n\nThe end.`], { pieces: 4, pause_ms: 1 });
  const server = await t.server({ model: model.config });
  const tab = await t.tab(server);
  await tab.ask('Hello');
  const tasks = await tab.tasks(async () => {
    await tab.send('Tell me everything');
    await tab.$('.growing').waitFor();
    await tab.shows('The end.');
    await ended(tab);
  });
  ok((await tab.words()).split(' ').length > 0.8 * count(text), 'the words are there');
  return { tab, server, tasks };
}

const most = long(10_000);

test(`${named(most)} words of every kind: no task over 50 ms while they come, when they are opened, while they are read`, async (t) => {
  const { tab, server, tasks } = await told(t, essay(most));
  t.report.figure(`longest task while ${named(most)} words come`, Math.max(...tasks), 50);
  const path = `/t/${await tab.thread()}`;
  await tab.close();
  const again = await t.tab(server);
  const opening = await again.tasks(async () => {
    await again.$('.row-title').first().click();
    await again.$('.turn:nth-child(2) .md').first().waitFor();
    await ended(again);
    await again.$('.tk-keyword').last().waitFor(); // colours come last
  });
  ok(again.page.url().endsWith(path), 'the same conversation');
  t.report.figure(`longest task when ${named(most)} words are opened`, Math.max(...opening), 50);
  const reading = await again.tasks(() =>
    again.page.evaluate(
      () =>
        new Promise((done) => {
          const scroller = document.querySelector('.scroller');
          const frame = () => {
            scroller.scrollTop -= 500;
            if (scroller.scrollTop === 0) done();
            else requestAnimationFrame(frame);
          };
          frame();
        }),
    ),
  );
  t.report.figure(`longest task while ${named(most)} words are read`, Math.max(...reading), 50);
});

test('four times the words cost about four times as much, not sixteen times', async (t) => {
  const [few, many] = [long(3_000), long(12_000)];
  const [short, whole] = [await told(t, essay(few, '# Short')), await told(t, essay(many, '# Long'))];
  t.report.figure(`${named(many)} words beside ${named(few)}`, sum(whole.tasks) / sum(short.tasks), 7, 'times the work');
});
