// What was said stays on the screen in every mode, at every moment, not only at the end.
import { until } from '../lib/check.mjs';
import { test, equal } from './lib/test.mjs';

const before = 'Let me change the music.';

for (const mode of ['direct', 'sse', 'bidi']) {
  test(`${mode}: what was said before a client tool's card stays while the answer goes on`, async (t) => {
    const tab = await t.tab(await t.server({ demo: { token_ms: 20 } }), { mode });
    await tab.send('Change the BGM to track 1');
    await tab.card();
    await tab.page.evaluate((words) => {
      window.gone = 0;
      new MutationObserver(() => {
        if (!document.querySelector('.column').innerText.includes(words)) window.gone++;
      }).observe(document.querySelector('.column'), { subtree: true, childList: true, characterData: true });
    }, before);
    await tab.approve();
    await tab.$('.tool[data-tool="change_bgm"][data-status="done"]').waitFor();
    await tab.until(() => document.querySelectorAll('.turn:last-child .text').length > 1);
    await tab.idle();
    equal(await tab.page.evaluate(() => window.gone), 0, 'moments without the first words');
    equal(await tab.$('.turn:last-child .text').first().innerText(), before, 'the first words');
  });
}

test('an answer that ended behind a dead socket is whole as soon as there is another one', async (t) => {
  const model = await t.model(['One two three four five six seven eight.'], { hold: true });
  const server = await t.server({ model: model.config });
  const proxy = await t.proxy(server);
  const tab = await t.tab(proxy, { mode: 'bidi' });
  await tab.send('count');
  await tab.$('article.assistant .growing').waitFor();
  const id = await tab.thread();
  proxy.freeze();
  model.release();
  await until(async () => (await server.json(`/v1/threads/${id}`)).state !== 'running', 'the whole answer');
  proxy.thaw();
  for (const s of proxy.sockets) s.destroy();
  await tab.idle();
  equal(await tab.words(), 'One two three four five six seven eight.', 'the whole answer');
});

for (const mode of ['direct', 'sse', 'bidi']) {
  test(`${mode}: a connection that breaks in the middle of an answer takes no word off the screen`, async (t) => {
    const words = Array.from({ length: 3000 }, (_, n) => (n % 40 ? `word${n}` : `\n\npart${n}`));
    const model = await t.model([words.join(' ')], { hold: true, pieces: 20 });
    const server = await t.server({ model: model.config });
    const proxy = await t.proxy(server);
    const tab = await t.tab(proxy, { mode });
    await tab.send('count');
    await tab.$('article.assistant .growing').getByText('word1479').waitFor();
    await tab.page.evaluate(() => {
      window.gone = 0;
      const said = () => document.querySelector('article.assistant .said').textContent;
      const watch = new MutationObserver(() => (window.gone += !said().includes('word1479')));
      watch.observe(document.querySelector('.column'), { subtree: true, childList: true, characterData: true });
    });
    for (let n = 0; n < 3; n++) {
      // A socket that has said nothing yet may not be there to be broken.
      const back =
        mode === 'bidi'
          ? tab.page.waitForEvent('websocket').then((socket) => socket.waitForEvent('framereceived'))
          : tab.page.waitForEvent('response', (r) => r.url().endsWith('/stream'));
      for (const s of proxy.sockets) s.destroy();
      await back;
    }
    model.release();
    await tab.$('article.assistant').getByText('word2999').waitFor();
    await tab.idle();
    equal(await tab.page.evaluate(() => window.gone), 0, 'moments without the words');
  });
}
