// Several people decide, and a yes that is worth more than one call: votes, grants, and their ends.
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { shot, sticksOut, violations } from './lib/look.mjs';
import { squeeze } from './lib/page.mjs';
import { equal, ok, test } from './lib/test.mjs';

const key = (name, ...roles) => ({ sha256: createHash('sha256').update(name).digest('hex'), principal: name, roles });
const paying = {
  description: 'Pays.',
  input_schema: { type: 'object', properties: { recipient: { type: 'string' }, amount: { type: 'number' } } },
  exec: { command: ['sh', '-c', 'cat > /dev/null; echo \'{"result":{"ok":true}}\''], sandbox: 'best_effort' },
  confirm: 'always',
  ask: 'Pay {amount} to {recipient}?',
  risk: 'high',
};
const pays = (amount) => ({ calls: [{ name: 'pay', arguments: { recipient: 'Hanako', amount } }] });

async function signedIn(t, server, name, options) {
  const tab = await t.tab(server, { ready: 'dialog', ...options });
  await tab.signIn(name);
  return tab;
}

const finance = {
  auth: { keys: [key('ada', 'user'), key('bob', 'finance'), key('eve', 'user', 'finance'), key('fay', 'finance')] },
  approvals: { rules: [{ tool: 'pay', from: { role: 'finance', count: 2, not_requester: true } }] },
};

for (const mode of ['direct', 'bidi']) {
  test(`${mode}: two of finance decide; who asks sees who has said yes, and a vote can be taken back`, async (t) => {
    const model = await t.model([pays(50), 'It is paid.']);
    const server = await t.server({ ...finance, model: model.config, tools: { pay: paying } });
    const ada = await signedIn(t, server, 'ada', { mode });
    await ada.send('Pay Hanako');
    await ada.$('.dock .ballot', { hasText: '2 of finance are needed.' }).waitFor();
    equal(await ada.$('.dock .ask-yes').count(), 0, 'no buttons for who asks');
    const bob = await signedIn(t, server, 'bob', { path: '/inbox' });
    await bob.$('.ask[data-armed="true"] .ask-yes').click();
    await bob.page.getByText('You have said yes; it waits for the others.').waitFor();
    await bob.page.getByRole('button', { name: 'Take it back' }).click();
    await bob.$('.ask[data-armed="true"] .ask-yes').click();
    await bob.page.getByText('You have said yes; it waits for the others.').waitFor();
    equal(await bob.$('.ask-yes').count(), 0, 'he has one vote');
    const eve = await signedIn(t, server, 'eve', { path: '/inbox' });
    await eve.$('.ask[data-armed="true"]').waitFor();
    ok(squeeze(await eve.$('.ballot').innerText()).includes('bob has said yes. One more of finance is needed.'), await eve.$('.ballot').innerText());
    equal(await violations(eve), [], 'axe');
    await shot(eve, 'votes');
    await eve.$('.ask .ask-yes').click();
    await ada.$('.record', { hasText: 'Approved by eve' }).waitFor();
    await ada.idle();
    equal(await ada.words(), 'It is paid.', 'it went on');
  });
}

test('a vote of somebody who has lost the role is named as void, and one more is needed', async (t) => {
  const model = await t.model([pays(50), 'It is paid.']);
  const config = { ...finance, model: model.config, tools: { pay: paying } };
  const server = await t.server(config);
  const ada = await signedIn(t, server, 'ada');
  await ada.send('Pay Hanako');
  await ada.$('.dock .ballot').waitFor();
  const bob = await signedIn(t, server, 'bob', { path: '/inbox' });
  await bob.$('.ask[data-armed="true"] .ask-yes').click();
  await bob.page.getByText('You have said yes; it waits for the others.').waitFor();
  const [a, b, ...rest] = finance.auth.keys;
  writeFileSync(join(server.dir, 'parley.json'), JSON.stringify({ ...config, auth: { keys: [a, { ...b, roles: ['user'] }, ...rest] } }));
  await server.restart();
  const eve = await signedIn(t, server, 'eve', { path: '/inbox' });
  await eve.$('.ask[data-armed="true"] .ask-yes').click();
  await eve.page.getByText('You have said yes; it waits for the others.').waitFor();
  equal(squeeze(await eve.$('.ballot').innerText()), 'The yes of bob does not count any more: they have lost the role. You have said yes. One more of finance is needed.', 'two have, and it is not enough');
  equal(await violations(eve), [], 'axe');
});

test('the same effect twice: the card says that it was done before, when, and what came of it then', async (t) => {
  const model = await t.model([pays(50), 'Paid.', pays(50), 'It was paid before.']);
  const server = await t.server({ model: model.config, tools: { pay: { ...paying, effect: 'to:{recipient}' } } });
  const tab = await t.tab(server);
  await tab.send('Pay Hanako');
  await tab.approve();
  await tab.$('.tool[data-status="done"]').waitFor();
  await tab.idle();
  await tab.ask('Pay Hanako once more');
  equal(await tab.words(), 'It was paid before.', 'without a question');
  const card = tab.$('.tool').last();
  await card.getByText(/^The same was done for you on .+\. This one was not run\.$/).waitFor();
  const shown = squeeze(await card.innerText());
  ok(shown.includes('Done before') && !shown.includes('Completed') && /What came of it then .*"ok": ?true/.test(shown), shown);
  equal(await violations(tab), [], 'axe');
  equal(await sticksOut(tab), 0, 'width');
  const list = await t.tab(server, { path: '/inbox', ready: '.inbox-none', context: tab.context });
  await list.page.getByRole('button', { name: 'Decided' }).click();
  const row = list.$('[data-decided="duplicate"]');
  await row.getByText('Done before').waitFor();
  const told = await row.innerText();
  ok(!told.includes('Approved'), told);
  await row.getByRole('button').click();
  await row.getByText(/The same was done for you on/).waitFor();
});

test('a yes that is worth more than one call: offered as a sentence, used, listed, revoked', async (t) => {
  const model = await t.model([pays(50), 'Paid once.', pays(30), 'Paid again.', pays(20), 'And again.']);
  const grant = { for: 28_800, count: 20, sum: '/amount', max: 500, same: ['/recipient'] };
  const server = await t.server({ model: model.config, tools: { pay: { ...paying, grant } } });
  const tab = await t.tab(server);
  await tab.send('Pay Hanako 50');
  await tab.card();
  await tab.page.getByRole('button', { name: 'Allow more than this once…' }).click();
  await tab.page.getByText('Allows for 1 h, up to 10 times, 500 in all, with recipient Hanako. Anything beyond that asks again.').waitFor();
  await tab.page.getByLabel('In all (up to 500)').fill('200');
  await tab.page.getByLabel('How often (up to 20)').fill('3');
  await tab.page.getByText('Allows for 1 h, up to 3 times, 200 in all, with recipient Hanako.').waitFor();
  equal(await violations(tab), [], 'axe');
  equal(await sticksOut(tab), 0, 'width');
  await shot(tab, 'grant');
  await tab.page.getByRole('button', { name: 'Approve and allow' }).click();
  await tab.$('.tool[data-status="done"]').waitFor();
  await tab.idle();
  // The next one runs by it, and says so.
  await tab.ask('Pay Hanako 30');
  equal(await tab.words(), 'Paid again.', 'without a question');
  const record = () => tab.$('.record', { hasText: 'Allowed by the grant that you gave at' }).last().waitFor();
  await record();
  await tab.page.reload();
  await record();
  ok(/2 of 3 · 80 of 200/.test(squeeze(await tab.$('.record').last().innerText())), await tab.$('.record').last().innerText());
  await tab.page.getByRole('link', { name: 'See and revoke' }).last().click();
  const row = tab.$('[data-grant="open"]');
  await row.waitFor();
  ok(/pay 2 of 3 · 80 of 200 · with recipient Hanako · in this conversation/.test(squeeze(await row.innerText())), await row.innerText());
  equal(await violations(tab), [], 'axe, grants');
  await row.getByRole('button', { name: 'Revoke' }).click();
  await tab.$('[data-grant="revoked"]').waitFor();
  await tab.page.goBack();
  await tab.$('.composer').waitFor();
  await tab.send('Pay Hanako 20');
  await tab.card();
});

test('before the first yes of a rule that needs one person nothing says "more"', async (t) => {
  const one = { approvals: { rules: [{ tool: 'pay', from: { role: 'finance', not_requester: true } }] } };
  const model = await t.model([pays(50), 'It is paid.']);
  const server = await t.server({ ...finance, ...one, model: model.config, tools: { pay: paying } });
  const ada = await signedIn(t, server, 'ada');
  await ada.send('Pay Hanako');
  await ada.$('.dock .ballot').waitFor();
  equal(squeeze(await ada.$('.dock .ballot').innerText()), 'One of finance is needed.', 'who is asked');
});
