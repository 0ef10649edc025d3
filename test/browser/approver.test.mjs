// Somebody else decides: what the one who asks sees, and what the one who decides.
import { createHash } from 'node:crypto';
import { squeeze } from './lib/page.mjs';
import { equal, ok, test } from './lib/test.mjs';

const payment = 'Send 50 dollars to Hanako';

const key = (name, ...roles) => ({ sha256: createHash('sha256').update(name).digest('hex'), principal: name, roles });
const fourEyes = { auth: { keys: [key('ada', 'user'), key('bob', 'approver'), key('eve', 'user', 'approver')] }, approvals: { who: 'approver' } };

async function signedIn(t, server, name, options) {
  const tab = await t.tab(server, options);
  await tab.signIn(name);
  return tab;
}

for (const mode of ['direct', 'sse', 'bidi']) {
  test(`${mode}: who asks sees what waits and for whom, without buttons; who approves sees who asks for what, and why`, async (t) => {
    const server = await t.server(fourEyes);
    const bob = await signedIn(t, server, 'bob');
    await bob.page.getByText('Nothing waits for you.').waitFor();
    equal(await bob.$('.composer').count(), 0, 'nothing to write in');
    const ada = await signedIn(t, server, 'ada', { mode });
    await ada.send(payment);
    await ada.page.getByText('Waits for an approver', { exact: true }).waitFor();
    await ada.page.locator('.dock .ask', { hasText: 'Send' }).waitFor();      // the sentence comes from the list, a moment later
    const waits = squeeze(await ada.$('.dock .ask').innerText());
    ok(waits.includes('Send 50 USD to Hanako?') && waits.includes('amount 50'), `what waits: ${waits}`);
    equal(await ada.$('.ask button').count(), 0, 'buttons of who asks');
    equal(await ada.$('.badge').count(), 0, 'nothing waits for her');
    await ada.page.locator('.mark-wait').waitFor();        // the list of conversations, too
    equal(await ada.$('.mark-wait').allInnerTexts(), ['waits'], 'in the list');
    // A yes of hers is a message, and nothing else.
    await ada.send('yes');
    await ada.page.getByText('send anyway, or wait for the approver?').waitFor();
    await ada.page.getByRole('button', { name: 'Wait', exact: true }).click();

    await bob.page.evaluate(() => window.dispatchEvent(new Event('focus')));
    const entry = bob.$('.ask[data-armed="true"]');
    await entry.waitFor();
    const asked = squeeze(await entry.innerText());
    ok(/ada asks, \d\d:\d\d: .?Send 50 dollars to Hanako/.test(asked), `who asks, when, with which words: ${asked}`);
    ok(asked.includes('Send 50 USD to Hanako?'), `for what: ${asked}`);
    equal(await bob.page.getByText('Open conversation').count(), 0, 'it is not his to read');
    await entry.getByRole('button', { name: 'Approve', exact: true }).click();
    await bob.page.getByText('Nothing waits for you.').waitFor();
    await ada.$('.record', { hasText: /Approved by bob, \d\d:\d\d, on a page/ }).waitFor();
    await ada.idle();
    equal(server.ledger().length, 1, 'payments');
    for (const tab of [ada, bob]) ok(!(await tab.page.innerText('body')).includes('Decided already'), 'no such words');
  });
}

test('who asks and approves has both: a conversation, and everybody’s requests', async (t) => {
  const server = await t.server(fourEyes);
  const ada = await signedIn(t, server, 'ada');
  await ada.send(payment);
  await ada.page.getByText('Waits for an approver', { exact: true }).waitFor();
  const eve = await signedIn(t, server, 'eve');
  await eve.page.getByRole('button', { name: 'Waiting for you: 1' }).click();
  ok(squeeze(await eve.$('dialog .ask').innerText()).includes('ada asks'), 'who asks');
  await eve.$('dialog .ask[data-armed="true"]').getByRole('button', { name: 'Deny', exact: true }).click();
  await ada.$('.record', { hasText: 'Denied by eve' }).waitFor();
});
