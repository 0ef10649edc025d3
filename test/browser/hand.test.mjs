// A hand that clicks too often decides one thing, and a yes to many shows all that it says yes to.
import { bank, payments } from '../live/org.mjs';
import { squeeze } from './lib/page.mjs';
import { equal, ok, test } from './lib/test.mjs';

const pay = (recipient, amount = 5) => ({ name: 'process_payment', arguments: { recipient, amount, currency: 'USD' } });

async function paying(t, turns, { tool = {}, ...options } = {}) {
  const books = await bank(t);
  const model = await t.model(turns);
  const server = await t.server(payments(books, tool, { model: model.config }));
  const tab = await t.tab(server, options);
  return { tab, server, paid: () => books.books.map((b) => b.recipient) };
}

async function place(button) {
  const { x, y, width, height } = await button.boundingBox();
  return [x + width / 2, y + height / 2];
}

/* Clicks on whatever stands there, from within the page: a busy machine slows the hand and the guard alike. */
async function impatient(tab, at, many) {
  await tab.page.mouse.move(...at);
  await tab.page.evaluate(
    async ([x, y, n]) => {
      for (; n > 0; n--) {
        document.elementFromPoint(x, y)?.click();
        await new Promise((done) => setTimeout(done, 160));
      }
    },
    [...at, many],
  );
}

test('impatient clicks approve one of two: the next card takes none until the hand has moved', async (t) => {
  const { tab, paid } = await paying(t, [{ calls: [pay('Hanako'), pay('Mallory')] }, 'Paid.']);
  await tab.send('Pay');
  await tab.card();
  await impatient(tab, await place(tab.$('.ask .ask-yes')), 12);
  await tab.$('.ask', { hasText: 'Mallory' }).waitFor();
  equal(paid(), ['Hanako'], 'paid');
  await tab.page.mouse.move(20, 20);
  await tab.approve();
  await tab.$('article.assistant', { hasText: 'Paid.' }).waitFor();
  equal(paid(), ['Hanako', 'Mallory'], 'the second was meant');
});

test('a hand that rests can go on without moving', async (t) => {
  const { tab, paid } = await paying(t, [{ calls: [pay('Hanako'), pay('Ivo')] }, 'Paid.']);
  await tab.send('Pay');
  await tab.approve();
  await tab.$('.ask', { hasText: 'Ivo' }).waitFor();
  await tab.approve();
  await tab.$('article.assistant', { hasText: 'Paid.' }).waitFor();
  equal(paid(), ['Hanako', 'Ivo'], 'paid');
});

test('a key that is held down decides once', async (t) => {
  const { tab, paid } = await paying(t, [{ calls: [pay('Hanako'), pay('Mallory')] }, 'Paid.']);
  await tab.send('Pay');
  await tab.card();
  await tab.$('.ask .ask-yes').focus();
  for (let n = 0; n < 10; n++) {
    await tab.page.keyboard.down('Enter');
    if (await tab.$('.ask', { hasText: 'Mallory' }).count()) await tab.$('.ask .ask-yes').focus(); // whatever brought it there
    await tab.page.waitForTimeout(100);
  }
  await tab.page.keyboard.up('Enter');
  equal(paid(), ['Hanako'], 'paid');
});

test('“Approve all” shows the arguments of each, not only the sentence', async (t) => {
  const tool = { ask: 'Pay somebody?' };
  const { tab, paid } = await paying(t, [{ calls: [pay('Hanako'), pay('Mallory', 1000000)] }, 'Paid.'], { tool });
  await tab.send('Pay');
  await tab.card();
  await tab.page.getByRole('button', { name: 'Approve all…' }).click();
  const list = tab.$('.listing[data-armed="true"]');
  await list.waitFor();
  const lines = (await list.locator('li').allInnerTexts()).map(squeeze);
  ok(lines[0].includes('recipient Hanako') && lines[0].includes('amount 5'), lines[0]);
  ok(lines[1].includes('recipient Mallory') && lines[1].includes('amount 1000000'), lines[1]);
  await list.getByRole('button', { name: 'Approve these 2 requests' }).click();
  await tab.$('article.assistant', { hasText: 'Paid.' }).waitFor();
  equal(paid().sort(), ['Hanako', 'Mallory'], 'paid');
});

test('“Approve all” has the focus when it opens, and Escape leads back to where it was opened', async (t) => {
  const { tab, paid } = await paying(t, [{ calls: [pay('Hanako'), pay('Ivo')] }, 'Paid.']);
  await tab.send('Pay');
  await tab.card();
  await tab.page.getByRole('button', { name: 'Approve all…' }).focus();
  await tab.page.keyboard.press('Enter');
  await tab.page.waitForFunction(() => document.activeElement?.matches('.listing'));
  await tab.page.keyboard.press('Escape');
  await tab.page.waitForFunction(() => document.activeElement?.textContent === 'Approve all…');
  equal([await tab.$('.listing').count(), paid().length], [0, 0], 'nothing was decided');
});

test('after a change the record says what was approved, not what was asked at first', async (t) => {
  const { tab } = await paying(t, [{ calls: [pay('Hanako', 50)] }, 'Paid.'], { tool: { edit: ['/amount'] } });
  await tab.send('Pay');
  const card = await tab.card();
  await card.getByRole('button', { name: 'Change it first…' }).click();
  await card.getByLabel('amount', { exact: true }).fill('45');
  await card.getByRole('button', { name: 'Approve with changes' }).click();
  await tab.$('.record', { hasText: 'with changes' }).waitFor();
  equal(squeeze(await tab.$('.record-ask').innerText()), 'Send 45 USD to Hanako?', 'the record');
});

test('no chip is called like a decision, and no action like an answer', async (t) => {
  const action = (label) => ({ label, action: 'close_chat', handler: 'client', style: 'primary' });
  const calls = [
    { name: 'suggest_actions', arguments: { actions: ['Yes', 'OK', 'はい', 'Yes, approve', 'Close'].map(action) } },
    { name: 'suggest_replies', arguments: { replies: [{ label: 'Approve', value: 'yes' }, { label: 'Tell me more', value: 'Tell me more' }] } },
  ];
  const tab = await t.tab(await t.server({ model: (await t.model([{ text: 'Choose.', calls }])).config }));
  await tab.ask('hello');
  await tab.$('.chip').first().waitFor();
  equal((await tab.$('.actions button, .chip').allInnerTexts()).map(squeeze), ['Close', 'Tell me more'], 'what is offered');
});
