// The page says what happened, and nothing else.
import { equal, ok, test } from './lib/test.mjs';

for (const mode of ['direct', 'sse', 'bidi']) {
  test(`${mode}: a tool that was stopped is not called failed`, async (t) => {
    const slow = { description: 'Takes its time', exec: { command: ['sleep', '60'] }, confirm: 'never' };
    const model = await t.model([{ calls: [{ name: 'slow', arguments: { a: 1 } }] }]);
    const tab = await t.tab(await t.server({ model: model.config, tools: { slow } }), { mode });
    await tab.send('go');
    await tab.$('.tool[data-status="running"]').waitFor();
    await tab.$('.round.stop').click();
    await tab.$('.ending', { hasText: 'Stopped' }).waitFor();
    await tab.idle();
    await tab.$('.unknown').waitFor();
    const said = await tab.$('.unknown').innerText();
    ok(/It was stopped after it had begun/.test(said) && !/server stopped/.test(said), `who stopped it: ${said}`);
    ok(!(await tab.page.innerText('main')).includes('Failed'), 'the word');
  });
}

test('a message that could not be sent is not said to be sent', async (t) => {
  const server = await t.server();
  const proxy = await t.proxy(server);
  const tab = await t.tab(proxy, { mode: 'bidi' });
  await tab.ask('What is the weather in Tokyo?');
  await tab.page.evaluate(() => {
    window.said = [];
    new MutationObserver(() => window.said.push(document.querySelector('.notices').innerText)).observe(document.querySelector('.notices'), {
      childList: true,
      subtree: true,
    });
  });
  proxy.pull();
  await tab.send('What is the weather in Paris?');
  await tab.page.getByText('Not sent yet').waitFor();
  equal(
    (await tab.page.evaluate(() => window.said)).filter((s) => /over HTTP/.test(s)),
    [],
    'what was said',
  );
  proxy.plug();
  await tab.until(() => document.querySelectorAll('article.assistant').length === 2);
});

test('no address of the server’s neighbours is shown to people', async (t) => {
  const closed = 'http://127.0.0.1:9/x';
  const model = await t.model([{ calls: [{ name: 'fetch', arguments: {} }] }, 'Fine.']);
  const fetch = { description: 'Fetches', http: { url: closed, allow: ['127.0.0.1'] }, confirm: 'never' };
  const server = await t.server({ model: model.config, tools: { fetch } });
  const tab = await t.tab(server);
  await tab.ask('fetch');
  await tab.$('.tool[data-status="failed"]').waitFor();
  await tab.$('.tool-head').click();
  model.close();
  await tab.send('and now?');
  await tab.$('.failure').waitFor();
  for (const when of ['at once', 'after a reload']) {
    const text = await tab.page.innerText('body');
    ok(!/127\.0\.0\.1|localhost|:9\b/.test(text), `${when}: ${text}`);
    await tab.page.reload();
    await tab.$('.failure').waitFor();
  }
});
