// A request that is nearly right: what its tool lets a person change is changed on the card, and that is what runs.
import { until } from '../lib/check.mjs';
import { auth, bank, key, payments } from '../live/org.mjs';
import { fitsIn, shot } from './lib/look.mjs';
import { squeeze } from './lib/page.mjs';
import { equal, ok, test } from './lib/test.mjs';

const pays = (more = {}) => ({ calls: [{ name: 'process_payment', arguments: { recipient: 'Hanako', amount: 50, currency: 'USD', ...more } }] });
const EDIT = { edit: ['/amount', '/memo'] };

/* A server where the amount and the memo may be changed, and a tab that was asked. */
async function asked(t, { mode = 'bidi', tool = EDIT, turns = [pays(), 'It is paid.'], ...options } = {}) {
  const books = await bank(t);
  const model = await t.model(turns);
  const server = await t.server({ ...payments(books, tool, { model: model.config }) });
  const tab = await t.tab(server, { mode, ...options });
  await tab.send('Pay Hanako');
  const card = await tab.card();
  return { tab, card, server, model, paid: () => books.books.map(({ recipient, amount, memo }) => [recipient, amount, memo]) };
}

const field = (card, name) => card.getByLabel(name, { exact: true });
const change = (card) => card.getByRole('button', { name: 'Change it first…' }).click();
const yes = (card) => card.getByRole('button', { name: 'Approve with changes' }).click();

for (const mode of ['direct', 'sse', 'bidi']) {
  test(`${mode}: a changed amount is what is paid, and the record says what it was`, async (t) => {
    const { tab, card, model, paid } = await asked(t, { mode });
    await change(card);
    await field(card, 'amount').fill('45');
    await field(card, 'memo').fill('for May');
    equal(await card.locator('.ask-title del').allInnerTexts(), ['50'], 'what the sentence says and does not hold any more');
    ok(squeeze(await card.locator('[data-field="/amount"]').innerText()).includes('before: 50'), 'what it was stands beside it');
    await yes(card);
    await tab.$('.tool[data-status="done"]').waitFor();
    await tab.idle();
    equal(paid(), [['Hanako', 45, 'for May']], 'paid');
    ok(model.heard.at(-1).includes('edited'), 'the model is told');
    const shown = async () => squeeze(await tab.$('.record').innerText());
    await tab.$('.record', { hasText: 'with changes' }).waitFor();
    ok(/Approved by you.* with changes/.test(await shown()) && /amount 45 before: 50/.test(await shown()), await shown());
    equal([await tab.$('.tool').count(), await tab.words()], [1, 'It is paid.'], 'one card, and the answer');
    await tab.page.reload();
    await tab.$('.record', { hasText: 'with changes' }).waitFor();
    ok(/amount 45 before: 50.* memo for May before: empty/.test(await shown()), await shown());
    equal(paid().length, 1, 'paid once');
  });
}

test('only what may be changed is a field, with the keyboard too, and nothing changed is a plain yes', async (t) => {
  const { tab, card, server, paid } = await asked(t);
  await card.getByRole('button', { name: 'Change it first…' }).focus();
  await tab.page.keyboard.press('Enter');
  await tab.until(() => document.activeElement?.closest('[data-field="/amount"]'));
  equal(await card.locator('[data-field]').evaluateAll((all) => all.map((e) => e.dataset.field)), ['/amount', '/memo'], 'fields');
  equal(await card.getByRole('textbox').count(), 2, 'no other can be typed in');
  ok(squeeze(await card.locator('.args').innerText()).includes('recipient Hanako'), 'the rest stands as it is');
  await tab.page.keyboard.press('Enter'); // in a field it sends nothing
  await tab.page.keyboard.type('7');
  await tab.page.keyboard.press('Tab');
  await tab.page.keyboard.press('Enter'); // "Undo", beside the field
  equal(await field(card, 'amount').inputValue(), '50', 'taken back');
  equal(paid(), [], 'nothing was sent');
  await card.getByRole('button', { name: 'Approve', exact: true }).click();
  await tab.$('.tool[data-status="done"]').waitFor();
  await tab.idle();
  const { approvals } = await server.json('/v1/approvals');
  equal([paid(), approvals.map((a) => a.status)], [[['Hanako', 50, undefined]], ['done']], 'one call, as it was asked about');
});

test('while something is being changed a typed yes does not pass the changes over', async (t) => {
  const { tab, card, paid } = await asked(t);
  await change(card);
  await field(card, 'amount').fill('45');
  await tab.send('yes');
  await tab.$('.set-aside').getByRole('button', { name: 'Answer it first' }).click();
  await yes(card);
  await tab.$('.tool[data-status="done"]').waitFor();
  equal(paid(), [['Hanako', 45, undefined]], 'paid');
});

test('a tool that allows no changes offers none', async (t) => {
  const { card } = await asked(t, { tool: {} });
  equal(await card.getByRole('button', { name: 'Change it first…' }).count(), 0, 'no way to change it');
});

test('what the server refuses is said at its field, and nothing is lost', async (t) => {
  const { tab, card, paid } = await asked(t, { mode: 'direct' });
  await change(card);
  const amount = field(card, 'amount');
  const said = () => card.locator('[data-field="/amount"] .field-error');
  await field(card, 'memo').fill('for May');
  await amount.fill('4,5');
  await yes(card);
  equal(await said().innerText(), 'Write a number, with a point before the decimals.', 'before it is sent');
  await amount.fill('-5');
  equal(await said().count(), 0, 'it stood there for what was there');
  await yes(card);
  await said().waitFor();
  ok(/^amount .*0/.test(await said().innerText()), await said().innerText());
  equal([await said().getAttribute('role'), await amount.getAttribute('aria-invalid'), await amount.getAttribute('aria-describedby')].map(Boolean), [true, true, true], 'for who does not see it');
  equal([await amount.inputValue(), await field(card, 'memo').inputValue(), await card.locator('.ask-error').count()], ['-5', 'for May', 0], 'what was typed is there');
  equal(paid(), [], 'nothing was paid');
  // Folded and opened again, it is still there.
  await tab.$('.sheet-fold').click();
  await tab.$('.sheet-fold').click();
  equal(await amount.inputValue(), '-5', 'kept');
  await amount.fill('9007199254740993.10'); // digit by digit
  await tab.card();
  await yes(card);
  await tab.$('.tool[data-status="done"]').waitFor();
  await tab.idle();
  ok(squeeze(await tab.$('.record').innerText()).includes('9007199254740993.10 before: 50'), await tab.$('.record').innerText());
});

test('in the inbox and under the link of one question it is changed in the same way', async (t) => {
  const { tab, server, paid } = await asked(t, { turns: [pays(), 'One.', pays(), 'Two.'] });
  const inbox = await t.tab(server, { path: '/inbox', ready: '.inbox-list', context: tab.context });
  const row = inbox.$('.ask[data-armed="true"]');
  await row.waitFor();
  await change(row);
  await field(row, 'amount').fill('-1');
  await yes(row);
  await row.locator('.field-error').waitFor();
  await field(row, 'amount').fill('40');
  await yes(row);
  await inbox.page.getByText('Approved with changes.').waitFor();
  await tab.$('.record', { hasText: 'with changes' }).waitFor();
  await tab.idle();
  await inbox.page.getByRole('button', { name: 'Decided' }).click();
  await inbox.$('[data-decided="replaced"]', { hasText: 'Changed' }).waitFor();
  await tab.send('Again');
  const { approvals } = await waiting(server);
  const question = await t.tab(server, { path: `/a/${approvals[0].id}`, context: tab.context });
  const card = question.$('dialog .ask[data-armed="true"]');
  await card.waitFor();
  await change(card);
  await field(card, 'memo').fill('by the link');
  await yes(card);
  await question.$('dialog .meta', { hasText: 'changed' }).waitFor();
  await tab.idle();
  equal(paid(), [['Hanako', 40, undefined], ['Hanako', 50, 'by the link']], 'paid');
});

const waiting = (server) =>
  until(async () => {
    const list = await server.json('/v1/approvals?status=pending');
    return list.approvals.length && list;
  }, 'a request');

test('a change over the next limit asks those whom that rule names, who see what it was', async (t) => {
  const books = await bank(t);
  const model = await t.model([pays(), 'It is paid.']);
  const rules = [
    { tool: '*', when: { pointer: '/amount', op: '>=', value: 1000 }, from: { role: 'finance', count: 1, not_requester: true } },
    { tool: '*', from: 'owner' },
  ];
  const server = await t.server({ ...payments(books, EDIT, { model: model.config }), auth: auth({ ada: ['user'], fay: ['finance'] }), approvals: { rules } });
  const ada = await t.tab(server, { ready: 'dialog' });
  await ada.signIn(key('ada'));
  await ada.send('Pay Hanako');
  const card = await ada.card();
  await change(card);
  await field(card, 'amount').fill('5000');
  await yes(card);
  await ada.page.getByText('Changed. Others are asked about it now.').waitFor();
  await ada.$('.dock .ballot', { hasText: 'finance' }).waitFor();
  await ada.$('.tool[data-status="replaced"]').waitFor();
  const fay = await t.tab(server, { ready: 'dialog', path: '/inbox' });
  await fay.signIn(key('fay'));
  const asks = fay.$('.ask[data-armed="true"]');
  await asks.waitFor();
  ok(/Changed by ada.*amount 5000 before: 50/.test(squeeze(await asks.innerText())), await asks.innerText());
  equal(books.books.length, 0, 'not yet');
  await asks.locator('.ask-yes').click();
  await ada.$('.tool[data-status="done"]').waitFor();
  await ada.idle();
  equal([books.books.map((b) => b.amount), await ada.words()], [[5000], 'It is paid.'], 'paid');
});

const address = { type: 'object', properties: { city: { type: 'string' }, post_code: { type: 'string' } } };
const everything = {
  edit: [''],
  input_schema: {
    type: 'object',
    required: ['recipient', 'amount'],
    properties: {
      recipient: { type: 'string' },
      amount: { type: 'number' },
      currency: { enum: ['USD', 'EUR'] },
      urgent: { type: 'boolean' },
      due: { type: 'string', format: 'date' },
      memo: { type: 'string' },
      address,
      lines: { type: 'array' },
    },
  },
};

test('every kind of field can be seen and used, in light and dark, wide and narrow', async (t) => {
  const input = { urgent: false, due: '2026-05-01', address: { city: 'Kobe' }, lines: [1, 2], memo: 'a b\u200bc' };
  const { tab, card } = await asked(t, { tool: everything, turns: [pays(input), 'Paid.'] });
  await change(card);
  await field(card, 'amount').fill('45.50');
  await field(card, 'currency').selectOption('EUR');
  await field(card, 'urgent').check();
  ok(squeeze(await card.locator('[data-field="/memo"]').innerText()).includes('zero-width space'), await card.locator('[data-field="/memo"]').innerText());
  await field(card, 'address › post_code').fill('650-0001');
  const share = () => card.locator('.args').evaluate((e) => e.querySelector('th').offsetWidth / e.offsetWidth);
  ok((await share()) < 0.3, 'no more room for the names than they need');
  const looks = [[1200, 'light'], [1200, 'dark'], [375, 'light']];
  await fitsIn(tab, looks, 'a form', async (width, theme) => {
    await card.evaluate((e) => (e.scrollTop = 0));
    await shot(tab, `edit-${width === 375 ? 'narrow' : theme}`);
  });
  await yes(card);
  await tab.$('.tool[data-status="done"]').waitFor();
});

test('while fields are changed the headline says that it is asked as changed', async (t) => {
  const { card } = await asked(t);
  await change(card);
  const title = card.locator('.ask-title');
  equal(await title.locator('.ask-changed').count(), 0, 'nothing is changed yet');
  await field(card, 'amount').fill('5000');
  equal(squeeze(await title.innerText()), 'Send 50 USD to Hanako? As changed below.', 'the headline');
  await field(card, 'amount').fill('50');
  equal(squeeze(await title.innerText()), 'Send 50 USD to Hanako?', 'changed back');
});
