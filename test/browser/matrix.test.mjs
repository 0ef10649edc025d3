// {Direct, SSE, BIDI} x {payment, music, location} x {approve, deny}: the same conversation in each.
import { test, equal, ok } from './lib/test.mjs';

const modes = ['direct', 'sse', 'bidi'];
const place = { geolocation: { latitude: 35.68, longitude: 139.76 }, permissions: ['geolocation'] };

for (const mode of modes) {
  test(`${mode}, payment, approve: paid once, and the words follow`, async (t) => {
    const server = await t.server();
    const tab = await t.tab(server, { mode });
    await tab.send('Send 50 dollars to Hanako');
    const card = await tab.card();
    ok((await card.innerText()).includes('Send 50 USD to Hanako?'), "the server's sentence");
    ok(/amount\s+50/.test(await card.innerText()) && /recipient\s+Hanako/.test(await card.innerText()), 'the arguments');
    ok((await card.innerText()).includes('High risk'), 'the risk');
    ok(/Expires in/.test(await card.innerText()), 'the countdown');
    equal(server.ledger().length, 0, 'payments before the yes');
    await tab.approve();
    await tab.$('.tool[data-tool="process_payment"][data-status="done"]').waitFor();
    await tab.idle();
    ok((await tab.words()).split(' ').length >= 12, 'the answer');
    equal(await tab.$('.record-ask').innerText(), 'Send 50 USD to Hanako?', 'the record: what was asked');
    ok((await tab.$('.record-line').innerText()).startsWith('Approved by you'), 'the record: what was answered');
    equal(server.ledger().length, 1, 'payments');
    equal(await tab.$('article.assistant').count(), 1, 'one answer');
  });

  test(`${mode}, payment, deny: nothing is paid, and the words follow`, async (t) => {
    const server = await t.server();
    const tab = await t.tab(server, { mode });
    await tab.send('Send 50 dollars to Hanako');
    await tab.deny();
    await tab.$('.tool[data-tool="process_payment"][data-status="denied"]').waitFor();
    await tab.idle();
    ok((await tab.words()).length > 10, 'the answer');
    equal(await tab.$('.record-ask').innerText(), 'Send 50 USD to Hanako?', 'the record: what was asked');
    ok((await tab.$('.record-line').innerText()).startsWith('Denied by you'), 'the record: what was answered');
    equal(server.ledger().length, 0, 'payments');
  });

  test(`${mode}, music, approve: it changes here, and the words follow`, async (t) => {
    const tab = await t.tab(await t.server(), { mode });
    await tab.send('Change the BGM to track 1');
    equal(await tab.$('.bgm').count(), 0, 'no music yet');
    await tab.approve();
    await tab.$('.bgm[data-track="1"]').waitFor();
    ok((await tab.$('.bgm').innerText()).includes('BGM 2'), 'the indicator');
    await tab.$('.tool[data-tool="change_bgm"][data-status="done"]').waitFor();
    await tab.until(() => document.querySelectorAll('.turn:last-child .text').length > 1);
    await tab.idle();
  });

  test(`${mode}, music, deny: it stays as it was, and the words follow`, async (t) => {
    const tab = await t.tab(await t.server(), { mode });
    await tab.send('Change the BGM to track 1');
    await tab.deny();
    await tab.$('.tool[data-tool="change_bgm"][data-status="denied"]').waitFor();
    await tab.until(() => document.querySelectorAll('.turn:last-child .text').length > 1);
    await tab.idle();
    equal(await tab.$('.bgm').count(), 0, 'no music');
  });

  test(`${mode}, location, approve: the place reaches the model`, async (t) => {
    const tab = await t.tab(await t.server(), { mode, ...place });
    await tab.send('Where am I?');
    await tab.approve();
    await tab.$('.tool[data-tool="get_location"][data-status="done"]').waitFor();
    await tab.until(() =>
      /35\.6|139\.7/.test([...document.querySelectorAll('.turn:last-child .text')].at(-1)?.textContent ?? ''),
    );
    await tab.idle();
  });

  test(`${mode}, location, deny: the browser is not even asked`, async (t) => {
    const tab = await t.tab(await t.server(), { mode });
    await tab.page.evaluate(() => {
      window.asked = 0;
      navigator.geolocation.getCurrentPosition = () => window.asked++;
    });
    await tab.send('Where am I?');
    await tab.deny();
    await tab.$('.tool[data-tool="get_location"][data-status="denied"]').waitFor();
    await tab.idle();
    equal(await tab.page.evaluate(() => window.asked), 0, 'questions to the browser');
  });
}

test('a permission that the browser refuses is told to the model', async (t) => {
  const tab = await t.tab(await t.server(), { permissions: [] });
  await tab.page.evaluate(() => (navigator.geolocation.getCurrentPosition = (_, no) => no({ code: 1, message: 'denied' })));
  await tab.send('Where am I?');
  await tab.approve();
  await tab.$('.tool[data-tool="get_location"][data-status="failed"]').waitFor();
  await tab.until(() => document.querySelectorAll('.turn:last-child .text').length > 1);
  await tab.idle();
});

test('a conversation begun in one mode goes on in the others', async (t) => {
  const server = await t.server();
  const tab = await t.tab(server, { mode: 'direct' });
  await tab.page.getByRole('button', { name: 'Settings' }).click();
  equal(await tab.page.getByRole('dialog').getByText(/BIDI|SSE|Direct/).count(), 0, 'how it is connected is no setting of everybody');
  await tab.page.getByText('Show the raw events').click();
  await tab.page.keyboard.press('Escape');
  await tab.send('Send 50 dollars to Hanako');
  await tab.card();
  for (const [mode, prompt] of [
    ['SSE', 'Send 20 euros to Ken'],
    ['BIDI', 'Send 30 dollars to Yuki'],
  ]) {
    await tab.page.getByRole('combobox', { name: 'Connection' }).selectOption(mode);
    await tab.approve();
    await tab.until(() => !document.querySelector('main .ask'));
    await tab.idle();
    await tab.send(prompt);
    await tab.card();
  }
  await tab.approve();
  await tab.until(() => document.querySelectorAll('.tool[data-status="done"]').length === 3);
  await tab.idle();
  equal(server.ledger().length, 3, 'payments');
  equal(await tab.$('article.user').count(), 3, 'questions');
});
