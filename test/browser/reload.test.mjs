// A person presses Enter in a new conversation and the page is loaded again at once: what they wrote is there, and is asked once.
import { until } from '../lib/check.mjs';
import { test, equal, ok } from './lib/test.mjs';

const doors = /\/(api\/chat|stream)$/;

/* What carries a message is handed to `heard`, with a way to send it on, and nothing of an answer is told; until it is called off. */
async function between(tab, heard) {
  let on = true;
  await tab.page.route(doors, (r) => (on && r.request().method() === 'POST' ? void heard(() => r.fetch().catch(() => {})) : r.continue()));
  await tab.page.routeWebSocket(/\/live/, (here) => {
    const there = here.connectToServer();
    let deaf = false;
    there.onMessage((m) => deaf || here.send(m));
    here.onMessage((m) => {
      if (!on || JSON.parse(m).type !== 'message') return there.send(m);
      deaf = true;
      heard(() => there.send(m));
    });
  });
  return () => (on = false);
}

const asked = (server) => until(async () => (await server.json('/v1/threads')).threads.length === 1, 'the conversation');

/* When the page ends: what is done until then. */
const moments = {
  'in the task of the key itself': async (tab) => {
    await tab.page.evaluate(() => addEventListener('keydown', () => location.reload()));
    const again = tab.page.waitForEvent('load');
    await tab.send('first');
    await again;
  },
  'before its request has left': async (tab) => {
    let left;
    const leaves = new Promise((yes) => (left = yes));
    const free = await between(tab, left);
    await tab.send('first');
    await leaves;
    free();
    await tab.page.reload();
  },
  'between its request and the answer': async (tab, server) => {
    const free = await between(tab, (send) => send());
    await tab.send('first');
    await asked(server);
    free();
    await tab.page.reload();
  },
  'while the server takes its time': async (tab, server) => {
    await tab.send('first');
    await asked(server);
    await tab.page.reload();
  },
};

for (const mode of ['direct', 'sse', 'bidi'])
  for (const [when, end] of Object.entries(moments))
    test(`${mode}: the first message of all is there after a reload ${when}, and is asked once`, async (t) => {
      const model = await t.model(['To the first.'], { hold: true, at: 0 });
      const server = await t.server({ model: model.config });
      const tab = await t.tab(server, { mode });
      // The page comes to draw nothing of it.
      await tab.page.evaluate(() => (window.requestAnimationFrame = () => 0));
      await end(tab, server);
      await tab.$('.bubble').getByText('first', { exact: true }).waitFor();
      model.release();
      await tab.page.getByText('To the first.', { exact: true }).waitFor();
      await tab.idle();
      const { threads } = await server.json('/v1/threads');
      equal(threads.map((x) => x.id), [await tab.thread()], 'conversations');
      const { messages } = await server.json(`/v1/threads/${threads[0].id}`);
      equal(messages.map((m) => m.role), ['user', 'assistant'], 'what was said');
      equal([model.asked, await tab.unsent(), await tab.$('.queue').count()], [1, [], 0], 'asked once, and kept no longer');
    });

for (const mode of ['direct', 'sse', 'bidi']) {
  test(`${mode}: a first message with a picture, which is not kept, is in the composer of a new conversation after a reload`, async (t) => {
    const model = await t.model(['Here.']);
    const server = await t.server({ model: model.config });
    const tab = await t.tab(server, { mode });
    const buffer = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64');
    await tab.page.setInputFiles('input[type=file]', { name: 'dot.png', mimeType: 'image/png', buffer });
    await tab.$('.pictures img').waitFor();
    await moments['before its request has left'](tab);
    await tab.until(() => location.pathname === '/' && document.querySelector('.composer textarea')?.value === 'first');
    equal(await tab.page.getByText('This conversation is not here').count(), 0, 'a conversation that is missing');
    await tab.$('.round').click();
    await tab.page.getByText('Here.', { exact: true }).waitFor();
    await tab.idle();
    equal((await server.json('/v1/threads')).threads.length, 1, 'conversations');
    equal(await tab.unsent(), [], 'kept no longer');
  });

  test(`${mode}: a first message that was refused and taken back waits for its person, however often the server is asked`, async (t) => {
    const model = await t.model(['The first answer, which takes its time.', 'The second answer.'], { hold: true });
    const server = await t.server({ model: model.config, limits: { per_principal: { runs: 1 } } });
    const busy = await t.tab(server, { mode });
    await busy.send('Take your time');
    await busy.$('article.assistant .growing').waitFor();
    const tab = await t.tab(server, { mode, context: busy.context });
    await tab.send('And another one');
    await tab.$('.send-state.bad').getByRole('button', { name: 'Edit' }).click();
    const looked = tab.page.waitForResponse((r) => r.status() === 404).catch(() => null);
    await tab.page.evaluate(() => window.dispatchEvent(new Event('online')));
    if (mode !== 'bidi') ok(await looked, 'it was looked for');
    model.release();
    await busy.idle();
    equal(await tab.$('.composer textarea').inputValue(), 'And another one', 'in the composer');
    await tab.$('.round').click();
    await tab.page.getByText('The second answer.', { exact: true }).waitFor();
    await tab.idle();
    equal((await server.json('/v1/threads')).threads.length, 2, 'conversations');
  });
}

for (const mode of ['direct', 'sse', 'bidi'])
  test(`${mode}: a first message that has not gone out goes out, once, when the page is opened at another address`, async (t) => {
    const model = await t.model(['To the first.']);
    const server = await t.server({ model: model.config });
    const tab = await t.tab(server, { mode });
    let left;
    const leaves = new Promise((yes) => (left = yes));
    await between(tab, left);
    await tab.send('first');
    await leaves;
    const thread = await tab.thread();
    await tab.page.close();
    const other = await t.tab(server, { mode, context: tab.context });
    await other.$(`.row[data-thread="${thread}"]`).waitFor();
    await other.until(() => !Object.keys(localStorage).some((k) => k.startsWith('parley.unsent.')));
    equal([new URL(other.page.url()).pathname, await other.$('.composer textarea').inputValue()], ['/', ''], 'the page stays where it is');
    await other.$(`.row[data-thread="${thread}"] a`).click();
    await other.page.getByText('To the first.', { exact: true }).waitFor();
    await other.idle();
    const { messages } = await server.json(`/v1/threads/${thread}`);
    equal([messages.map((m) => m.role), model.asked], [['user', 'assistant'], 1], 'asked once');
  });

test('while the server cannot be reached, a first message that has not gone out is in the list, and goes out afterwards', async (t) => {
  const model = await t.model(['To the first.']);
  const server = await t.server({ model: model.config });
  const tab = await t.tab(server, { mode: 'sse' });
  await tab.page.route(/\/(v1|stream)(\/|$)/, (r) => r.abort());
  await tab.send('first');
  const thread = await tab.thread();
  await tab.page.goto(server.url);
  await tab.$(`.row[data-thread="${thread}"]`, { hasText: 'first' }).waitFor();
  await tab.page.unroute(/\/(v1|stream)(\/|$)/);
  await tab.page.evaluate(() => window.dispatchEvent(new Event('online')));
  await tab.until(() => !Object.keys(localStorage).some((k) => k.startsWith('parley.unsent.')));
  await tab.$(`.row[data-thread="${thread}"]`).waitFor();
  equal((await server.json('/v1/threads')).threads.map((x) => x.id), [thread], 'conversations');
});
