// A question that somebody was sent a link to: /a/<confirmation>.
import { createHash } from 'node:crypto';
import { squeeze } from './lib/page.mjs';
import { equal, ok, test } from './lib/test.mjs';

const payment = { messages: [{ role: 'user', content: 'Send 50 dollars to Hanako' }] };
const linkIn = (answer) => new URL(/open (http\S+?)\. Nothing/.exec(answer.choices[0].message.content)[1]).pathname;

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
