// The cable is pulled, the server restarts: no word is lost, none is told twice.
import { until } from '../lib/check.mjs';
import { squeeze } from './lib/page.mjs';
import { test, equal, ok } from './lib/test.mjs';

/* Words and numbers only: Markdown's marks are drawn, not written. */
const bare = (s) => squeeze(s.replace(/[^\p{L}\p{N}\s]/gu, ' '));

async function stored(server, thread) {
  const { messages } = await server.json(`/v1/threads/${thread}`);
  return bare(
    messages
      .at(-1)
      .parts.filter((p) => p.type === 'text')
      .map((p) => p.text)
      .join(' '),
  );
}

/* Everything that was said, in order. */
async function said(server, thread) {
  const { messages } = await server.json(`/v1/threads/${thread}`);
  return messages.map((m) =>
    m.parts
      .filter((p) => p.type === 'text')
      .map((p) => p.text.trim())
      .join(' '),
  );
}

/* And the person says so, unless the page was quicker. */
async function plug(tab, proxy) {
  const now = tab.page.getByRole('button', { name: 'Try now' });
  await now.waitFor();
  proxy.plug();
  await now.evaluateAll((buttons) => buttons.forEach((b) => b.click()));
}

for (const mode of ['direct', 'sse', 'bidi']) {
  test(`${mode}: lost in the middle of an answer and back, without a lost or doubled word`, async (t) => {
    const model = await t.model([Array.from({ length: 1000 }, (_, n) => `word${n}`).join(' ')], { pause_ms: 20 });
    const server = await t.server({ model: model.config });
    const proxy = await t.proxy(server);
    const tab = await t.tab(proxy, { mode });
    await tab.send('Tell me everything');
    for (let n = 0; n < 3; n++) {
      const before = (await tab.words()).length;
      await tab.until((l) => document.querySelector('.turn:last-child .md')?.innerText.length > l + 120, before);
      proxy.pull();
      proxy.plug();
    }
    model.pause_ms = 0; // enough of it
    await tab.idle();
    await tab.$('article.assistant').getByText(/word999$/).waitFor(); // it is shown a little behind
    equal(bare(await tab.words()), await stored(server, await tab.thread()), 'the words');
    equal(await tab.$('.failure').count(), 0, 'errors shown');
  });

  test(`${mode}: away through the whole answer, the finished answer is there`, async (t) => {
    const model = await t.model([Array.from({ length: 600 }, (_, n) => `word${n}`).join(' ')], { hold: true });
    const server = await t.server({ model: model.config });
    const proxy = await t.proxy(server);
    const tab = await t.tab(proxy, { mode });
    await tab.send('Tell me everything');
    await tab.$('article.assistant .growing').waitFor();
    const thread = await tab.thread();
    proxy.pull();
    await tab.page.getByText('No connection.').waitFor();
    model.release();
    await until(async () => (await server.json(`/v1/threads/${thread}`)).state === 'idle', 'the whole answer');
    await plug(tab, proxy);
    await tab.idle();
    await tab.until(() => !document.querySelector('.banner'));
    equal(bare(await tab.words()), await stored(server, thread), 'the words');
  });

  test(`${mode}: the server restarts in the middle of an answer`, async (t) => {
    const server = await t.server({ demo: { token_ms: 15 } });
    const tab = await t.tab(server, { mode });
    await tab.send('Tell me a long story');
    await tab.until(() => document.querySelector('.turn:last-child .md')?.innerText.length > 150);
    await server.restart('SIGTERM');
    await tab.until(() => document.querySelector('.round.stop'));
    await tab.until(() => !document.querySelector('.round.stop, .thinking, [aria-busy="true"]'));
    equal(bare(await tab.words()), await stored(server, await tab.thread()), 'the words');
    equal(await tab.$('article.user').count(), 1, 'questions');
  });

  test(`${mode}: a message written without a connection goes out once when it is back`, async (t) => {
    const server = await t.server();
    const proxy = await t.proxy(server);
    const tab = await t.tab(proxy, { mode });
    await tab.ask('What is the weather in Tokyo?');
    proxy.pull();
    await tab.send('What is the weather in Paris?');
    await tab.page.getByText('Not sent yet').waitFor();
    proxy.plug();
    await tab.until(() => document.querySelectorAll('.tool[data-status="done"]').length === 2);
    await tab.idle();
    const { messages } = await server.json(`/v1/threads/${await tab.thread()}`);
    equal(messages.filter((m) => m.role === 'user').length, 2, 'questions');
    equal(await tab.$('article.user').count(), 2, 'bubbles');
  });

  test(`${mode}: a message that went into a connection which then broke is said not to be sent, and goes out once`, async (t) => {
    const server = await t.server();
    const proxy = await t.proxy(server);
    const tab = await t.tab(proxy, { mode });
    await tab.ask('What is the weather in Tokyo?');
    proxy.freeze();
    await tab.send('What is the weather in Paris?');
    await tab.page.locator('.thinking').waitFor();
    proxy.pull();
    await tab.page.getByText('Not sent yet').waitFor();
    proxy.thaw();
    await plug(tab, proxy);
    await tab.until(() => document.querySelectorAll('.tool[data-status="done"]').length === 2);
    await tab.idle();
    const all = await said(server, await tab.thread());
    equal(all.filter((words) => words === 'What is the weather in Paris?').length, 1, 'questions');
  });

  test(`${mode}: two messages written without a connection are answered in the order in which they were written`, async (t) => {
    const model = await t.model(['Hello.', 'To the first.', 'To the second.']);
    const server = await t.server({ model: model.config });
    const proxy = await t.proxy(server);
    const tab = await t.tab(proxy, { mode });
    await tab.ask('hello');
    proxy.pull();
    await tab.send('first');
    await tab.page.getByText('Not sent yet').waitFor();
    equal(await tab.$('.thinking, .round.stop').count(), 0, 'nobody thinks about what was not sent');
    await tab.send('second');
    equal(await tab.$('.queue li').allInnerTexts(), ['second'], 'behind it');
    await tab.page.getByText('No connection.').waitFor();
    await plug(tab, proxy);
    await tab.page.getByText('To the second.', { exact: true }).waitFor();
    await tab.idle();
    equal(await tab.$('.bubble').allInnerTexts(), ['hello', 'first', 'second']);
    equal(await said(server, await tab.thread()), ['hello', 'Hello.', 'first', 'To the first.', 'second', 'To the second.']);
    equal(await tab.$('.ending, .failure').count(), 0, 'answers cut short');
  });

  test(`${mode}: what could not be sent is still sent after the page was left, once`, async (t) => {
    const model = await t.model(['Hello.', 'To the first.', 'To the second.']);
    const server = await t.server({ model: model.config });
    const proxy = await t.proxy(server);
    const tab = await t.tab(proxy, { mode });
    await tab.ask('hello');
    const thread = await tab.thread();
    proxy.pull();
    await tab.send('first');
    await tab.page.getByText('Not sent yet').waitFor();
    await tab.send('second');
    await tab.page.goto('about:blank');
    proxy.plug();
    await tab.page.goto(`${proxy.url}/t/${thread}`);
    await tab.page.getByText('To the second.', { exact: true }).waitFor();
    await tab.idle();
    equal(await said(server, thread), ['hello', 'Hello.', 'first', 'To the first.', 'second', 'To the second.']);
    equal(await tab.unsent(), [], 'kept no longer');
    await tab.page.reload();
    await tab.page.getByText('To the second.', { exact: true }).waitFor();
    equal((await said(server, thread)).length, 6, 'messages');
  });

  test(`${mode}: the first message of all is not lost when the page is left before it could be sent`, async (t) => {
    const model = await t.model(['To the first.']);
    const server = await t.server({ model: model.config });
    const proxy = await t.proxy(server);
    const tab = await t.tab(proxy, { mode });
    proxy.pull();
    await tab.send('first');
    await tab.page.getByText('Not sent yet').waitFor();
    const address = tab.page.url();
    await tab.page.goto('about:blank');
    proxy.plug();
    await tab.page.goto(address);
    await tab.page.getByText('To the first.', { exact: true }).waitFor();
    await tab.idle();
    equal(await said(server, await tab.thread()), ['first', 'To the first.']);
    equal((await server.json('/v1/threads')).threads.length, 1, 'conversations');
    equal(await tab.unsent(), [], 'kept no longer');
  });

  test(`${mode}: a message that arrived although nobody heard of it is not sent again after the page was left`, async (t) => {
    const model = await t.model(['To the first.', 'To the second.'], { hold: true, at: 0 });
    const server = await t.server({ model: model.config });
    const tab = await t.tab(server, { mode });
    await tab.send('first');
    const thread = await tab.thread();
    await until(() => model.asked, 'the model to be asked');
    const [kept] = await tab.unsent();
    if (kept) ok(kept.includes('first'), kept);
    const id = (await server.json(`/v1/threads/${thread}`)).messages[0].id;
    await tab.page.goto('about:blank');
    await tab.page.goto(server.url + '/v1/tools'); // the same storage, and no page
    await tab.page.evaluate(
      ([k, v]) => localStorage.setItem(k, v),
      [`parley.unsent.${thread}.${id}`, JSON.stringify({ id, requestId: id, text: 'first', at: Date.now(), back: false })],
    );
    await tab.page.goto(`${server.url}/t/${thread}`);
    await tab.$('.bubble').waitFor();
    model.release();
    await tab.page.getByText('To the first.', { exact: true }).waitFor();
    await tab.idle();
    equal(await tab.unsent(), [], 'kept no longer');
    equal(await said(server, thread), ['first', 'To the first.']);
    equal(model.asked, 1, 'asked');
  });

  test(`${mode}: the first message of all, written without a connection, makes the conversation when it is back`, async (t) => {
    const proxy = await t.proxy(await t.server());
    const tab = await t.tab(proxy, { mode });
    proxy.pull();
    await tab.send('What is the weather in Tokyo?');
    await tab.page.getByText('Not sent yet').waitFor();
    proxy.plug();
    await tab.$('.tool[data-status="done"]').waitFor();
    await tab.idle();
    equal(await tab.$('.bubble').allInnerTexts(), ['What is the weather in Tokyo?']);
  });

  test(`${mode}: a reload in the middle of an answer goes on with it`, async (t) => {
    const model = await t.model(['One two three four five six seven eight.'], { hold: true });
    const server = await t.server({ model: model.config });
    const tab = await t.tab(server, { mode });
    await tab.send('count');
    await tab.$('article.assistant .growing').waitFor();
    await tab.page.reload();
    await tab.$('article.assistant[aria-busy="true"]').waitFor();
    model.release();
    await tab.idle();
    equal(bare(await tab.words()), await stored(server, await tab.thread()), 'the words');
  });

  test(`${mode}: a second tab follows the same answer live`, async (t) => {
    const server = await t.server({ demo: { token_ms: 10 } });
    const one = await t.tab(server, { mode });
    await one.ask('What is the weather in Tokyo?');
    const two = await t.tab(server, { mode, path: `/t/${await one.thread()}` });
    await two.$('.tool').waitFor();
    await one.send('Tell me a long story');
    await two.until(() => [...document.querySelectorAll('.bubble')].at(-1)?.textContent === 'Tell me a long story');
    await two.$('.turn:last-child article.assistant[aria-busy="true"]').waitFor();
    await one.idle();
    await two.idle();
    equal(await two.words(), await one.words(), 'the same words in both');
    equal(await two.$('article.user').count(), 2, 'questions');
  });
}

for (const [what, before] of [
  ['before the server had it', true],
  ['after the server had it', false],
]) {
  test(`bidi: the socket breaks with a message on its way, ${what}: it is asked once and answered`, async (t) => {
    const server = await t.server();
    const tab = await t.tab(server, { mode: 'bidi' });
    let broken = false;
    await tab.page.routeWebSocket(/\/live/, (ws) => {
      const other = ws.connectToServer();
      let mute = false;
      other.onMessage((text) => mute || ws.send(text));
      ws.onMessage((text) => {
        const breaks = !broken && JSON.parse(text).type === 'message';
        if (!breaks) return other.send(text);
        broken = mute = true;
        if (!before) other.send(text);
        ws.close({ code: 1011 });
      });
    });
    await tab.send('What is the weather in Tokyo?');
    await tab.$('.tool[data-status="done"]').waitFor();
    await tab.idle();
    ok(broken, 'it broke');
    equal(await tab.$('.bubble').count(), 1, 'bubbles');
    const { messages } = await server.json(`/v1/threads/${await tab.thread()}`);
    equal(
      messages.map((m) => m.role),
      ['user', 'assistant'],
    );
  });
}

test('bidi: an answer that a look at the whole conversation tells before the socket does stands there once', async (t) => {
  const model = await t.model(['Hello.', 'To the first.', 'To the second.']);
  const server = await t.server({ model: model.config });
  const tab = await t.tab(server, { mode: 'bidi' });
  let slow = false; // the socket
  const frames = [];
  await tab.page.routeWebSocket(/\/live/, (here) => {
    const there = here.connectToServer();
    here.onMessage((m) => there.send(m));
    there.onMessage((m) => (slow ? frames.push(() => here.send(m)) : here.send(m)));
  });
  await tab.page.reload();
  await tab.ask('hello');
  const thread = await tab.thread();
  const looks = [];
  await tab.page.route(`**/v1/threads/${thread}?*`, (r) => looks.push(() => r.continue()));
  await tab.ask('first'); // its end makes the page look
  await until(() => looks.length, 'a look');
  slow = true;
  await tab.send('second');
  await until(async () => (await said(server, thread)).length === 6, 'the second answer');
  looks.shift()();
  await tab.page.getByText('To the second.', { exact: true }).waitFor();
  slow = false;
  frames.splice(0).forEach((tell) => tell());
  await until(() => looks.length, 'a look: what was told has ended');
  await tab.idle();
  equal(await tab.page.getByText('To the second.', { exact: true }).count(), 1, 'how often it stands there');
  looks.splice(0).forEach((look) => look());
  await tab.page.unrouteAll({ behavior: 'ignoreErrors' });
});

test('bidi: a socket that died silently is given up when a message gets no sign of life, and the message is asked once', async (t) => {
  const server = await t.server();
  const proxy = await t.proxy(server);
  const tab = await t.tab(proxy, { mode: 'bidi' });
  await tab.ask('What is the weather in Tokyo?');
  proxy.freeze();
  proxy.thaw();
  await tab.send('What is the weather in Paris?');
  await tab.until(() => document.querySelectorAll('.tool[data-status="done"]').length === 2);
  await tab.idle();
  equal(await tab.$('.bubble').allInnerTexts(), ['What is the weather in Tokyo?', 'What is the weather in Paris?']);
  equal((await server.json(`/v1/threads/${await tab.thread()}`)).messages.length, 4, 'messages');
});

test('bidi: a network that swallows everything is noticed when the page is looked at, said, and left at once when it is back', async (t) => {
  const proxy = await t.proxy(await t.server());
  const tab = await t.tab(proxy, { mode: 'bidi' });
  await tab.ask('What is the weather in Tokyo?');
  proxy.freeze();
  await tab.page.evaluate(() => window.dispatchEvent(new Event('focus')));
  await tab.page.getByText('No connection.').waitFor();
  proxy.thaw();
  await tab.page.evaluate(() => window.dispatchEvent(new Event('online')));
  await tab.$('.banner').waitFor({ state: 'detached' });
  await tab.ask('What is the weather in Paris?');
  equal(await tab.$('.tool[data-status="done"]').count(), 2, 'answers');
});

for (const mode of ['sse', 'bidi']) {
  test(`${mode}: when the browser says that it is offline, the page says so, and goes on by itself afterwards`, async (t) => {
    const tab = await t.tab(await t.server(), { mode, alone: true });
    await tab.ask('What is the weather in Tokyo?');
    await tab.context.setOffline(true);
    await tab.page.getByText('No connection.').waitFor();
    await tab.context.setOffline(false);
    await tab.$('.banner').waitFor({ state: 'detached' });
    await tab.ask('What is the weather in Paris?');
    equal(await tab.$('.tool[data-status="done"]').count(), 2, 'answers');
  });
}

test('when no socket can be opened, the page goes on over HTTP and says so', async (t) => {
  const server = await t.server();
  const tab = await t.tab(server);
  await tab.page.routeWebSocket(/\/live/, (ws) => ws.close({ code: 1011 }));
  await tab.send('What is the weather in Tokyo?');
  await tab.$('.tool[data-status="done"]').waitFor();
  await tab.idle();
  ok(/HTTP/.test(await tab.$('.notices').innerText()), 'it says so');
  equal(await tab.$('article.user').count(), 1, 'questions');
});

for (const mode of ['direct', 'sse', 'bidi']) {
  test(`${mode}: a message that was refused is kept, and can be sent again or taken back into the composer`, async (t) => {
    const model = await t.model(['The first answer, which takes its time.', 'The second answer.'], { hold: true });
    const server = await t.server({ model: model.config, limits: { per_principal: { runs: 1 } } });
    const busy = await t.tab(server, { mode });
    await busy.send('Take your time');
    await busy.$('article.assistant .growing').waitFor();
    const tab = await t.tab(server, { mode, context: busy.context });
    await tab.send('And another one');
    const refused = tab.$('.send-state.bad');
    await refused.waitFor();
    ok(/^Not sent: .+ Try again Edit$/.test(squeeze(await refused.innerText())), await refused.innerText());
    // Taken back it can be changed; refused again it is still there.
    await refused.getByRole('button', { name: 'Edit' }).click();
    equal([await tab.$('.composer textarea').inputValue(), await tab.$('article.user').count()], ['And another one', 0], 'in the composer');
    await tab.send('And another one, please');
    await refused.waitFor();
    // The first refusal stands until the page has heard the click: only another one is the word on the second try.
    await refused.evaluate((e) => e.setAttribute('data-first', ''));
    await refused.getByRole('button', { name: 'Try again' }).click();
    await tab.$('.send-state.bad:not([data-first])').waitFor();
    equal(await tab.$('article.user .bubble').allInnerTexts(), ['And another one, please'], 'once');
    model.release();
    await busy.idle();
    await refused.getByRole('button', { name: 'Try again' }).click();
    await tab.page.getByText('The second answer.', { exact: true }).waitFor();
    await tab.idle();
    const { messages } = await server.json(`/v1/threads/${await tab.thread()}`);
    equal(messages.filter((m) => m.role === 'user').map((m) => m.parts.at(-1).text), ['And another one, please'], 'sent once');
    equal(await refused.count(), 0, 'nothing is said of it any more');
  });
}
