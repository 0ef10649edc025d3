// A question that somebody was sent a link to: /a/<confirmation>.
import { createHash } from 'node:crypto';
import { shot, sticksOut } from './lib/look.mjs';
import { squeeze } from './lib/page.mjs';
import { equal, ok, test } from './lib/test.mjs';

const payment = { messages: [{ role: 'user', content: 'Send 50 dollars to Hanako' }] };
const linkIn = (answer) => new URL(/open (http\S+?)\.(?: |$)/m.exec(answer.choices[0].message.content)[1]).pathname;

async function asked(server, headers = {}) {
  const r = await fetch(`${server.url}/v1/chat/completions`, { method: 'POST', body: JSON.stringify(payment), headers });
  return linkIn(await r.json());
}

test('the link of a question in a chat shows just that question, and its button decides', async (t) => {
  const server = await t.server();
  const path = await asked(server);
  ok(path.startsWith('/a/confirmation-call-'), path);
  const tab = await t.tab(server, { path });
  const card = tab.$('dialog .ask[data-armed="true"]');
  await card.waitFor();
  ok(squeeze(await card.innerText()).includes('Send 50 USD to Hanako?'), 'the question');
  equal(server.ledger().length, 0, 'looking changes nothing');
  await card.getByRole('button', { name: 'Approve', exact: true }).click();
  await tab.$('dialog .meta', { hasText: /approved|done/i }).waitFor();
  equal(server.ledger().length, 1, 'payments');
  await tab.page.reload();
  await tab.$('dialog .meta').waitFor();
  equal(await tab.$('dialog .ask').count(), 0, 'no buttons for what was decided');
  equal(server.ledger().length, 1, 'payments');
});

test('somebody else who has the link sees nothing', async (t) => {
  const key = (name) => ({ sha256: createHash('sha256').update(name).digest('hex'), principal: name });
  const server = await t.server({ auth: { keys: [key('ada'), key('bob')] } });
  const path = await asked(server, { authorization: 'Bearer ada' });
  const bob = await t.tab(server, { path });
  await bob.signIn('bob');
  await bob.page.getByText('Nothing waits for you.').waitFor();
  equal(await bob.$('.ask').count(), 0, 'no card');
});

test('a signed link on a phone, without script: the question whole, a reason, a yes as that person, once', async (t) => {
  const key = (name, ...roles) => ({ sha256: createHash('sha256').update(name).digest('hex'), principal: name, roles });
  const server = await t.server({
    auth: { keys: [key('ada', 'user'), key('fay', 'finance'), key('bot', 'notifier')] },
    approvals: { rules: [{ tool: '*', from: { role: 'finance', not_requester: true } }] },
    public_url: 'http://127.0.0.1',
    links: { key: 'text:0123456789abcdef0123456789abcdef' },
  });
  const as = (name) => ({ authorization: `Bearer ${name}`, 'content-type': 'application/json' });
  await asked(server, as('ada'));
  const { approvals } = await (await fetch(`${server.url}/v1/approvals?status=pending`, { headers: as('fay') })).json();
  const made = await fetch(`${server.url}/v1/approvals/${approvals[0].id}/links`, { method: 'POST', headers: as('bot'), body: JSON.stringify({ for: 'fay' }) });
  const path = new URL((await made.json()).url).pathname;
  const phone = { viewport: { width: 375, height: 667 }, isMobile: true, hasTouch: true, javaScriptEnabled: false, ready: 'h1' };
  const tab = await t.tab(server, { path, ...phone });
  const words = squeeze(await tab.$('body').innerText());
  for (const part of ['Send 50 USD to Hanako?', 'process_payment', 'Hanako', 'Asked for by ada', 'Send 50 dollars to Hanako', 'Decided by finance', 'You decide as fay']) ok(words.includes(part), `${part}: ${words}`);
  equal(await sticksOut(tab), 0, 'width');
  const box = await tab.page.getByRole('button', { name: 'Approve' }).boundingBox();
  ok(box.height >= 44 && box.width >= 44, `a finger finds it: ${JSON.stringify(box)}`);
  await shot(tab, 'link-phone');
  equal(server.ledger().length, 0, 'looking changes nothing');
  await tab.page.getByLabel(/Reason/).fill('fine, for May');
  await tab.page.getByRole('button', { name: 'Approve' }).tap();
  await tab.page.getByText('You said yes').waitFor();
  await tab.page.goto(server.url + path);
  equal(await tab.page.getByRole('button', { name: 'Approve' }).count(), 0, 'used');
  const row = await (await fetch(`${server.url}/v1/approvals/${approvals[0].id}`, { headers: as('fay') })).json();
  equal([row.decided_by, row.decided_via, row.reason], ['fay', 'link', 'fine, for May'], 'the record');
});
