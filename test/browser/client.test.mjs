// The packed @parley/client in somebody else's app, on another origin.
import { App } from './lib/app.mjs';
import { test, equal, ok } from './lib/test.mjs';

const at = (server, thread) => `/?server=${encodeURIComponent(server.url)}${thread ? `&thread=${thread}` : ''}`;
const quiet = (tab) => tab.$('main[data-loading="false"]').waitFor();

test('the packed client in a fresh app: words, tools, a yes, a queue, a reload, and no marker ever', async (t) => {
  const app = await App.make();
  const server = await t.server({ cors: [app.url], demo: { token_ms: 40 } });
  const tab = await t.tab(app, { path: at(server) });
  await tab.page.evaluate(() => {
    window.markers = 0;
    const watch = new MutationObserver(() => (window.markers += /\[\[/.test(document.body.innerText)));
    watch.observe(document.body, { subtree: true, childList: true, characterData: true });
  });
  await tab.send('Find articles about CRISPR');
  // Written before it has answered: it waits for its turn.
  await tab.send('Send 50 dollars to Hanako');
  await tab.$('.queued').waitFor();
  equal(await tab.$('article.user').count(), 1, 'questions');
  await tab.$('.tool[data-status="done"]').waitFor();
  await tab.$('.gate').waitFor();
  ok((await tab.$('.gate').innerText()).startsWith('Send 50 USD to Hanako?'), "the server's sentence");
  equal([await tab.$('article.user').count(), await tab.$('.queued').count()], [2, 0], 'questions, and what waits');
  // The question is still there after a reload, with what was said before.
  const thread = await tab.$('main').getAttribute('data-thread');
  await tab.page.goto(app.url + at(server, thread));
  await tab.$('.gate').waitFor();
  equal(await tab.$('article.user').allInnerTexts(), ['Find articles about CRISPR', 'Send 50 dollars to Hanako'], 'the history');
  equal(server.ledger().length, 0, 'payments before the yes');
  await tab.$('.gate button').click();
  await tab.$('article:last-of-type .tool[data-status="done"]').waitFor();
  await quiet(tab);
  equal(server.ledger().length, 1, 'payments');
  // A tool of the app itself.
  await tab.send('Change the BGM to track 1');
  await tab.$('.gate button').click();
  await tab.$('.track').waitFor();
  equal(await tab.$('.track').innerText(), 'Track 1', 'the tool that was registered');
  await tab.$('article.assistant').last().getByText('BGM changed to track 1').waitFor();
  equal(await tab.page.evaluate(() => window.markers ?? 0), 0, 'markers seen');
});

test('a server that does not list the page is told from one that is away, within 2000 ms', async (t) => {
  const app = await App.make();
  const deaf = await t.server();
  const tab = await t.tab(app, { path: at(deaf) });
  const start = Date.now();
  await tab.send('hello');
  await tab.$('[role="alert"]').waitFor();
  t.report.figure('until a missing entry is said', Date.now() - start, 2000);
  const words = await tab.$('[role="alert"]').innerText();
  ok(words.includes(`add "${app.url}" to "page": {"embed"`), 'what to do');
  await tab.page.close();
  tab.errors.length = 0; // the browser's own words on it
});
