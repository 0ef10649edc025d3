// An earlier message is changed: not without a word to a request that waits, not lost with the connection, not lost on reload.
import { bank, payments } from '../live/org.mjs';
import { equal, ok, test } from './lib/test.mjs';

const pays = { calls: [{ name: 'process_payment', arguments: { recipient: 'Hanako', amount: 50, currency: 'USD' } }] };

test('an edit that would set a request aside is asked about first, as a new message is', async (t) => {
  const books = await bank(t);
  const model = await t.model([pays, 'Something else.']);
  const server = await t.server(payments(books, {}, { model: model.config }));
  const tab = await t.tab(server);
  await tab.send('Pay Hanako');
  await tab.card();
  const waits = async () => (await server.json('/v1/approvals?status=pending')).approvals.length;
  await tab.edit('Do something else');
  const asks = tab.$('.edit .set-aside');
  await asks.waitFor();
  ok((await asks.innerText()).includes('sets the request aside'), await asks.innerText());
  equal(await waits(), 1, 'it waits');
  await asks.getByRole('button', { name: 'Answer it first' }).click();
  equal([await waits(), await tab.page.getByRole('textbox', { name: 'Edit your message' }).inputValue()], [1, 'Do something else'], 'nothing was lost');
  await tab.page.getByRole('button', { name: 'Send again' }).click();
  await asks.getByRole('button', { name: 'Send anyway' }).click();
  await tab.$('article.assistant', { hasText: 'Something else.' }).waitFor();
  equal([await waits(), books.books.length], [0, 0], 'set aside, and nothing paid');
});

const ways = {
  'the connection': async (t, server, tab, proxy) => {
    proxy.pull();
    return () => proxy.plug();
  },
  'the server': async (t, server) => {
    await server.kill();
    return () => server.start();
  },
};

for (const [what, lose] of Object.entries(ways))
  for (const mode of ['sse', 'bidi'])
    for (const reload of [false, true])
      test(`${mode}: an edit made without ${what} goes out once${reload ? ', after a reload' : ''}, and the conversation goes on`, async (t) => {
        const model = await t.model(['First.', 'Second.', 'Third.']);
        const server = await t.server({ model: model.config });
        const proxy = await t.proxy(server);
        const tab = await t.tab(proxy, { mode });
        await tab.ask('one');
        const thread = await tab.thread();
        const back = await lose(t, server, tab, proxy);
        await tab.edit('another one');
        await tab.page.getByText('Not sent yet').waitFor();
        await back();
        if (reload) await tab.page.reload();
        await tab.$('article.assistant', { hasText: 'Second.' }).waitFor();
        await tab.idle();
        equal([await tab.$('article.user').allInnerTexts().then((all) => all.length), await tab.unsent()], [1, []], 'one question, nothing kept');
        equal(await tab.version(), '2 / 2', 'what stood there is a version of it');
        await tab.ask('two');
        const { messages } = await server.json(`/v1/threads/${thread}`);
        const said = messages.map((m) => m.parts.filter((p) => p.type === 'text').map((p) => p.text).join(''));
        equal(said, ['another one', 'Second.', 'two', 'Third.'], 'the conversation');
        equal(model.asked, 3, 'asked once each');
      });

test('an edit that is taken back leaves what stood there', async (t) => {
  const server = await t.server({ model: (await t.model(['First.'])).config });
  const proxy = await t.proxy(server);
  const tab = await t.tab(proxy);
  await tab.ask('one');
  proxy.pull();
  await tab.page.getByText('No connection.').waitFor();
  await tab.edit('another one');
  await tab.page.getByRole('button', { name: 'Take back' }).click();
  await tab.$('article.user .bubble', { hasText: /^one$/ }).waitFor();
  await tab.$('article.assistant', { hasText: 'First.' }).waitFor();
  equal(await tab.$('.composer textarea').inputValue(), 'another one', 'the words');
});

test('a half-written edit is there after a reload, until it is sent or left', async (t) => {
  const server = await t.server({ model: (await t.model(['First.', 'Second.'])).config });
  const tab = await t.tab(server);
  await tab.ask('one');
  const box = tab.page.getByRole('textbox', { name: 'Edit your message' });
  const open = () => tab.$('article.user').first().getByRole('button', { name: 'Edit your message' }).click({ force: true });
  await open();
  await box.fill('half of anoth');
  await tab.page.reload();
  await box.waitFor();
  equal(await box.inputValue(), 'half of anoth', 'kept');
  await tab.page.getByRole('button', { name: 'Cancel' }).click();
  await tab.page.reload();
  await tab.$('article.assistant', { hasText: 'First.' }).waitFor();
  equal(await box.count(), 0, 'left');
});
