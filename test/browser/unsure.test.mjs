// The request arrived and its answer did not: the page does not claim what it cannot know, and looks.
import { bank, payments } from '../live/org.mjs';
import { lossy } from './lib/lossy.mjs';
import { squeeze } from './lib/page.mjs';
import { equal, ok, test } from './lib/test.mjs';

const pays = { calls: [{ name: 'process_payment', arguments: { recipient: 'Hanako', amount: 50, currency: 'USD' } }] };
const unknown = 'It is not known whether it was taken';

async function until(what) {
  while (!(await what())) await new Promise((done) => setTimeout(done, 20));
}

async function paying(t, path, options) {
  const books = await bank(t);
  const model = await t.model([pays, 'It is paid.']);
  const server = await t.server(payments(books, {}, { model: model.config }));
  const proxy = await lossy(t, server);
  if (path) await server.json('/v1/chat/stream', { body: { message: 'Pay Hanako' } }).catch(() => {}); // a stream, up to its question
  const tab = await t.tab(proxy, { ...(path ? { path, ready: '.ask' } : {}), ...options });
  if (!path) await tab.send('Pay Hanako');
  await tab.card();
  return { tab, proxy, server, paid: () => books.books.length };
}

/* An answer that is heard, and of which nothing is heard. */
async function approvesIntoNothing({ tab, proxy, paid }) {
  proxy.mute();
  await tab.$('.ask .ask-yes').click();
  await until(() => paid() === 1);
  proxy.pull();
  await tab.page.getByText(unknown).waitFor();
}

for (const mode of ['direct', 'sse', 'bidi']) {
  test(`${mode}: a yes whose answer was lost is not said to have failed; when the connection is back its record is there`, async (t) => {
    const it = await paying(t, null, { mode });
    const { tab, proxy, paid } = it;
    await approvesIntoNothing(it);
    equal(await tab.$('.ask .button[aria-disabled="true"]').count(), 2, 'nothing can be clicked meanwhile');
    await tab.$('.ask').getByRole('button', { name: 'Deny', exact: true }).click({ force: true });
    ok((await tab.$('.ask').innerText()).includes(unknown), 'a no into the dark is not taken');
    proxy.plug();
    await tab.$('.record', { hasText: 'Approved by' }).waitFor();
    equal([await tab.page.getByText(unknown).count(), await tab.page.getByText('did not arrive').count(), paid()], [0, 0, 1], 'said, and paid');
  });
}

test('in the inbox too: nothing is claimed, and the row goes when the connection is back', async (t) => {
  const it = await paying(t, '/inbox');
  await approvesIntoNothing(it);
  ok(!squeeze(await it.tab.$('.ask').innerText()).includes('Nothing was decided'), 'no such words');
  it.proxy.plug();
  await it.tab.page.getByText('Nothing waits for you.').waitFor();
  equal(it.paid(), 1, 'paid');
});

for (const path of [null, '/inbox']) {
  test(`a yes that did not arrive is found not to have, and can be given again (${path ?? 'in the conversation'})`, async (t) => {
    const { tab, proxy, paid } = await paying(t, path);
    proxy.pull();
    await tab.$('.ask .ask-yes').click();
    await tab.page.getByText(unknown).waitFor();
    proxy.plug();
    await tab.page.getByText('Your answer did not arrive').waitFor();
    equal(paid(), 0, 'paid');
    await tab.approve();
    await until(() => paid() === 1);
  });
}

test('a message that may have arrived cannot be taken back, and stands there once', async (t) => {
  const model = await t.model(['First.', 'Second.']);
  const server = await t.server({ model: model.config });
  const proxy = await lossy(t, server);
  const tab = await t.tab(proxy);
  await tab.ask('one');
  proxy.mute();
  await tab.send('two');
  await until(() => model.asked === 2);
  proxy.pull();
  await tab.page.getByText('as far as is known').waitFor();
  equal(await tab.page.getByRole('button', { name: 'Take back' }).count(), 0, 'nothing to take back');
  proxy.plug();
  await tab.$('article.assistant', { hasText: 'Second.' }).waitFor();
  await tab.idle();
  equal([await tab.$('article.user').count(), await tab.page.getByText('as far as is known').count()], [2, 0], 'once, and known');
});

test('what was taken back and had been sent all the same is said to stand in the conversation', async (t) => {
  const server = await t.server({ model: (await t.model(['First.', 'Second.'])).config });
  const proxy = await t.proxy(server);
  const tab = await t.tab(proxy);
  await tab.ask('one');
  const thread = await tab.thread();
  proxy.pull();
  await tab.page.getByText('No connection.').waitFor();
  await tab.send('two');
  await tab.page.getByText('Not sent yet').waitFor();
  // It arrives by a way of which the page hears nothing (a proxy that tries once more).
  const [kept] = (await tab.unsent()).map((x) => JSON.parse(x));
  const message = { id: kept.id, role: 'user', parts: [{ type: 'text', text: kept.text }] };
  await fetch(`${server.url}/api/chat`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ id: thread, messages: [message], trigger: 'submit-message', request_id: kept.requestId }) }).then((r) => r.text());
  await tab.page.getByRole('button', { name: 'Take back' }).click();
  proxy.plug();
  await tab.page.getByText('What you took back had been sent already').waitFor();
  await tab.$('article.user', { hasText: 'two' }).waitFor();
});
