// `/inbox`: what waits, by urgency and age; what was decided; and what an approver may read beside it.
import { createHash } from 'node:crypto';
import { until } from '../lib/check.mjs';
import { dress, everyLook, fitsIn, shot, sticksOut } from './lib/look.mjs';
import { squeeze } from './lib/page.mjs';
import { equal, ok, test } from './lib/test.mjs';

const key = (name, ...roles) => ({ sha256: createHash('sha256').update(name).digest('hex'), principal: name, roles });
const people = [key('ada', 'user'), key('bob', 'approver'), key('eve', 'user', 'approver')];
const organised = (approvals = {}) => ({ auth: { keys: people }, approvals: { who: 'approver', ...approvals } });

/* A message by the API, up to its question or its end. */
async function says(server, who, message, thread_id) {
  const headers = { 'content-type': 'application/json', ...(who ? { authorization: `Bearer ${who}` } : {}) };
  const r = await fetch(`${server.url}/v1/chat/stream`, { method: 'POST', headers, body: JSON.stringify({ message, ...(thread_id ? { thread_id } : {}) }) });
  await r.text();
  if (r.status !== 200) throw new Error(`${message}: ${r.status}`);
  return r.headers.get('parley-thread');
}

async function inbox(t, server, name, options) {
  const tab = await t.tab(server, { path: '/inbox', ready: 'dialog', ...options });
  await tab.signIn(name);
  await tab.$('.inbox-list').waitFor();
  return tab;
}

const asks = (tab) => tab.$('.inbox-ask').evaluateAll((all) => all.map((e) => e.textContent.replace(/\s+/g, ' ').trim()));

const short = { description: 'd', client: true, confirm: 'always', risk: 'low', ask: 'Water the plants?', expires: 600 };
const calm = { description: 'd', client: true, confirm: 'always', risk: 'low', ask: 'Dim the lights?' };

test('the inbox has an address: what ends soon first, then what is risky, then the rest, each oldest first', async (t) => {
  const model = await t.model([
    { calls: [{ name: 'dim', arguments: {} }] },
    { calls: [{ name: 'process_payment', arguments: { recipient: 'Hanako', amount: 50, currency: 'USD' } }] },
    { calls: [{ name: 'process_payment', arguments: { recipient: 'Ivo', amount: 9, currency: 'USD' } }] },
    { calls: [{ name: 'water', arguments: {} }] },
    { text: 'Paid.' },
  ]);
  const server = await t.server({ ...organised(), model: model.config, demo: { tools: true }, tools: { water: short, dim: calm } });
  for (const words of ['Dim', 'Pay Hanako', 'Pay Ivo', 'Water']) await says(server, 'ada', words);
  const bob = await inbox(t, server, 'bob');
  equal(await bob.page.title(), '(4) Waiting for you · parley', 'the tab');
  equal(await asks(bob), ['Water the plants?', 'Send 50 USD to Hanako?', 'Send 9 USD to Ivo?', 'Dim the lights?'], 'the order');
  equal(await bob.$('.inbox-list h2').allInnerTexts().then((all) => all.map(squeeze)), ['Ends within the hour 1', 'High risk 2', 'Others 1'], 'the groups');
  ok(/ada/.test(await bob.$('.inbox-line').nth(1).innerText()), 'who asks');
  ok(/Expires in 9 min/.test(await bob.$('.inbox-line').first().innerText()), 'until when');
  equal(await bob.$('.ask').count(), 0, 'of many, none is a card before it is opened');

  // By keyboard alone: open, decide, and on to the next.
  await bob.$('.inbox-line').nth(1).focus();
  await bob.page.keyboard.press('Enter');
  await bob.$('.ask[data-armed="true"]').waitFor();
  await bob.$('.ask .ask-yes').focus();
  await bob.page.keyboard.press('Enter');
  await bob.until(() => document.querySelectorAll('.inbox-row').length === 3);
  await bob.until(() => document.activeElement?.matches('.inbox-line, .inbox-row *'));
  ok(squeeze(await bob.page.evaluate(() => document.activeElement.closest('.inbox-row').textContent)).includes('Ivo'), 'the focus is on the next');
  await until(() => server.ledger().length, 'the payment');
  equal(server.ledger().map((l) => l.recipient), ['Hanako'], 'what was paid');

  await bob.page.getByRole('button', { name: 'Decided' }).click();
  const line = bob.$('[data-decided]').first();
  await bob.until(() => document.querySelector('[data-decided]')?.innerText.includes('Completed')); // drawn: until then its text is empty
  ok(/Send 50 USD to Hanako\? for ada Approved by you, on a page .*\d\d:\d\d Completed/.test(squeeze(await line.innerText())), `who, when, by which way, what came of it: ${squeeze(await line.innerText())}`);
  await line.getByRole('button').click();
  ok(squeeze(await line.innerText()).includes('recipient Hanako'), 'with its arguments');
});

test('a look at the list that was answered late does not bring back what is decided', async (t) => {
  const server = await t.server(organised());
  for (const name of ['Hanako', 'Ivo', 'Jun', 'Kim']) await says(server, 'ada', `Send 50 dollars to ${name}`);
  const bob = await inbox(t, server, 'bob');
  await bob.$('.inbox-row').nth(3).waitFor();

  // A look begins, and its answer is on the way for long; a decision and the look after it pass it by.
  let arrive, begun;
  let held = null;
  const begins = new Promise((r) => (begun = r));
  const late = new Promise((r) => (arrive = r));
  await bob.page.route('**/v1/approvals?status=pending*', async (route) => {
    if (held) return route.continue();
    held = route.request();
    begun();
    const answer = await route.fetch();
    await late;
    await route.fulfill({ response: answer });
  });
  await bob.page.evaluate(() => window.dispatchEvent(new Event('focus')));
  await begins;
  await bob.$('.inbox-line').first().click();
  await bob.$('.ask[data-armed="true"] .ask-yes').click();
  await bob.until(() => document.querySelectorAll('.inbox-row').length === 3);
  const arrived = bob.page.waitForEvent('requestfinished', (r) => r === held);
  arrive();
  await arrived;
  await bob.page.evaluate(() => new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r))));
  equal(await bob.$('.inbox-row').count(), 3, 'what waits');
});

test('a request has an address, which opens it in the inbox', async (t) => {
  const server = await t.server(organised());
  for (const name of ['Hanako', 'Ivo', 'Jun', 'Kim']) await says(server, 'ada', `Send 50 dollars to ${name}`);
  const { approvals } = await (await fetch(`${server.url}/v1/approvals`, { headers: { authorization: 'Bearer bob' } })).json();
  const ivo = approvals.find((a) => a.input.recipient === 'Ivo');
  const bob = await inbox(t, server, 'bob', { path: `/approvals/${ivo.id}` });
  await bob.$('.ask').waitFor();
  equal(await bob.$('.ask').count(), 1, 'cards');
  ok(squeeze(await bob.$('.ask').innerText()).includes('Send 50 USD to Ivo?'), 'the one that the address names');
});

for (const context of ['none', 'question', 'conversation']) {
  test(`an approver reads ${context === 'none' ? 'nothing' : `the ${context}`} beside a request, as approvals.context says`, async (t) => {
    const server = await t.server(organised({ context }));
    const thread = await says(server, 'ada', 'What is the weather in Tokyo?');
    await says(server, 'ada', 'Send 50 dollars to Hanako', thread);
    const bob = await inbox(t, server, 'bob');
    await bob.$('.ask').waitFor();
    if (context === 'conversation') {
      const said = bob.$('.inbox-context');
      await said.waitFor();
      const words = squeeze(await said.innerText());
      ok(/^What was said last ada What is the weather in Tokyo\? Assistant .* ada Send 50 dollars to Hanako Assistant Let me prepare that payment\.$/.test(words), words);
    }
    const card = squeeze(await bob.$('.inbox-open').innerText());
    equal(card.includes('Send 50 dollars to Hanako'), context !== 'none', 'the words that led to it');
    equal(card.includes('Tokyo'), context === 'conversation', 'what was said before');
    const { approvals } = await (await fetch(`${server.url}/v1/approvals`, { headers: { authorization: 'Bearer bob' } })).json();
    equal(approvals[0].said, context === 'none' ? null : 'Send 50 dollars to Hanako', 'what the server tells');
    const { status } = await fetch(`${server.url}/v1/approvals/${approvals[0].id}/context`, { headers: { authorization: 'Bearer bob' } });
    equal(status, context === 'conversation' ? 200 : 403, 'and refuses');
  });
}

test('whoever has conversations comes from one to the inbox and back; the sheet shows the most urgent', async (t) => {
  const server = await t.server({});
  for (let i = 0; i < 12; i++) await says(server, null, `Send ${i + 1} dollars to Hanako`);
  const tab = await t.tab(server);
  await tab.page.getByRole('button', { name: 'Waiting for you: 12' }).click();
  equal(await tab.$('dialog .ask').count(), 10, 'cards in the sheet');
  await tab.page.getByRole('link', { name: '2 more wait: open the inbox' }).click();
  await tab.$('.inbox-line').nth(11).waitFor();
  equal(new URL(tab.page.url()).pathname, '/inbox', 'its address');
  await tab.$('.inbox-line').first().click();
  await tab.page.getByRole('button', { name: 'Open conversation' }).click();
  await tab.$('.dock .ask').waitFor();
  await tab.page.goBack();
  await tab.$('.inbox-line').first().waitFor();
  await tab.page.getByRole('button', { name: 'To the conversations' }).click();
  await tab.$('.composer').waitFor();
});

test('an outcome that nobody knows is settled in the inbox', async (t) => {
  const server = await t.server({ demo: { token_ms: 1 }, tools: { wire: { description: 'd', exec: { command: ['sh', '-c', 'exit 3'] }, ask: 'Wire it?', confirm: 'always' } }, ...(await scripted(t)) });
  await says(server, null, 'Wire it');
  const first = (await server.json('/v1/approvals')).approvals[0];
  await server.json(`/v1/approvals/${first.id}`, { body: { confirmed: true } });
  await until(async () => (await server.json(`/v1/approvals/${first.id}`)).status === 'unknown', 'nobody to know');
  const tab = await t.tab(server, { path: '/inbox', ready: '.inbox-list' });
  await tab.page.getByText('It is not known whether this happened').waitFor();
  await tab.page.getByText('wire was begun. What came of it was not heard. It was not run again.').waitFor(); // not why
  await tab.page.getByRole('button', { name: 'It did not happen' }).click();
  await tab.page.getByText('Nothing waits for you.').waitFor();
  await tab.page.getByRole('button', { name: 'Decided' }).click();
  await tab.$('[data-decided="failed"]').click();
  await tab.page.getByText('Settled by you').waitFor();
});

const scripted = async (t) => ({ model: (await t.model([{ calls: [{ name: 'wire', arguments: {} }] }, 'Done.'])).config });

test('500 requests: the inbox shows them quickly, on a phone in lines that can be read, and a decision costs no more than with few', async (t) => {
  const server = await t.server(organised());
  const names = ['Hanako', 'Bartholomew-Maximilian', 'Ivo'];
  for (let i = 0; i < 500; i += 10) await Promise.all(Array.from({ length: 10 }, (_, k) => says(server, 'ada', `Send ${i + k + 1} dollars to ${names[(i + k) % 3]}`)));
  const bob = await inbox(t, server, 'bob', { viewport: { width: 375, height: 700 } });
  await bob.until(() => document.querySelectorAll('.inbox-row').length === 500);
  const laidOut = (n) => bob.page.evaluate((k) => getComputedStyle(document.querySelectorAll('.inbox-row')[k]).contentVisibility, n);
  await bob.$('.inbox-line').last().click();
  equal([await laidOut(0), await laidOut(499)], ['auto', 'visible'], 'lines out of sight are not laid out, what is opened is');
  await bob.$('.inbox-line').last().click();
  for (const theme of ['light', 'dark']) {
    await dress(bob, [375, theme, 700]);
    equal(await sticksOut(bob), 0, `the width, ${theme}`);
  }
  await shot(bob, 'inbox-500-dark');
  await bob.$('.inbox-line').nth(1).click();
  await bob.$('.ask[data-armed="true"]').waitFor();
  await bob.$('.inbox-line').nth(1).click();
  await bob.$('.ask').waitFor({ state: 'detached' });

  await dress(bob, [1200, 'light']);
  const tasks = await bob.tasks(async () => {
    await bob.$('.inbox-line').first().click();
    await bob.$('.ask[data-armed="true"]').waitFor();
    await bob.$('.ask .ask-yes').click();
    await bob.until(() => document.querySelectorAll('.inbox-row').length === 499);
  });
  t.report.figure('longest task of a decision among 500', Math.max(...tasks), 200);
});

test('the inbox, wide and narrow, in light and dark: readable, nothing sticks out', async (t) => {
  const server = await t.server(organised({ context: 'conversation' }));
  for (const name of ['Hanako', 'Ivo', 'Jun', 'Kim']) await says(server, 'ada', `Send 50 dollars to ${name}`);
  const bob = await inbox(t, server, 'bob');
  const picture = (name) => (width, theme) => (width === 1440) === (theme === 'light') && shot(bob, `${name}-${theme}-${width}`); // one of each
  await bob.$('.inbox-line').first().click();
  await bob.$('.inbox-context').waitFor();
  const row = bob.$('.inbox-row').first();
  equal([await row.locator('.inbox-line .ask-state').innerText(), await row.getByText('Approval Required').count()], ['Approval Required', 1], 'the line says where it stands, and the card not once more');
  await bob.page.mouse.move(0, 0);
  await fitsIn(bob, everyLook, 'what waits', picture('inbox'));
  await bob.$('.ask[data-armed="true"]').waitFor();
  await bob.$('.ask .ask-yes').click();
  await bob.until(() => document.querySelectorAll('.inbox-row').length === 3);
  await bob.page.getByRole('button', { name: 'Decided' }).click();
  await bob.$('[data-decided] .inbox-line').first().click();
  await bob.page.getByRole('heading', { name: 'Decided', level: 1 }).waitFor();
  await bob.page.mouse.move(0, 0);
  await fitsIn(bob, everyLook, 'what was decided', picture('decided'));
});
