// Whose it is: a request to decide, and the words that were written here.
import { createHash } from 'node:crypto';
import { squeeze } from './lib/page.mjs';
import { equal, ok, test } from './lib/test.mjs';

const key = (name, ...roles) => ({ sha256: createHash('sha256').update(name).digest('hex'), principal: name, roles });
const keys = [key('ada', 'user'), key('bob', 'approver'), key('eve', 'user'), key('fay', 'user', 'finance')];
const paying = {
  description: 'Pays.',
  input_schema: { type: 'object', properties: { recipient: { type: 'string' }, amount: { type: 'number' } } },
  exec: { command: ['sh', '-c', 'cat > /dev/null; echo \'{"result":{"ok":true}}\''], sandbox: 'best_effort' },
  confirm: 'always',
  ask: 'Pay {amount} to {recipient}?',
};
const pays = { calls: [{ name: 'pay', arguments: { recipient: 'Hanako', amount: 50 } }] };

async function signedIn(t, server, name, options) {
  const tab = await t.tab(server, { ready: 'dialog', ...options });
  await tab.signIn(name);
  return tab;
}

test('where approvers decide and a rule names others for one tool, these decide it on the page', async (t) => {
  const model = await t.model([pays, 'It is paid.']);
  const approvals = { who: 'approver', rules: [{ tool: 'pay', from: { role: 'finance', not_requester: true } }] };
  const server = await t.server({ auth: { keys }, approvals, model: model.config, tools: { pay: paying } });
  const ada = await signedIn(t, server, 'ada');
  await ada.send('Pay Hanako');
  await ada.$('.dock .ballot').waitFor();
  ok(!squeeze(await ada.$('main').innerText()).includes('waits for your answer'), 'it is not hers');
  equal(await ada.$('.badge').count(), 0, 'and she is told of none');
  const fay = await signedIn(t, server, 'fay', { path: '/inbox' });
  await fay.$('.ask[data-armed="true"] .ask-yes').click();
  await ada.$('.record', { hasText: 'Approved by fay' }).waitFor();
  await ada.$('article.assistant', { hasText: 'It is paid.' }).waitFor();
});

test('who asked and may not decide by a rule is not told that it waits for them', async (t) => {
  const model = await t.model([pays, 'It is paid.']);
  const approvals = { rules: [{ tool: 'pay', from: { role: 'finance', not_requester: true } }] };
  const server = await t.server({ auth: { keys }, approvals, model: model.config, tools: { pay: paying } });
  const ada = await signedIn(t, server, 'ada');
  await ada.send('Pay Hanako');
  await ada.$('.dock .ballot').waitFor();
  await ada.$('[role="log"]', { hasText: 'waits for an approver' }).waitFor();
  await ada.$('.mark-wait', { hasText: /^waits$/ }).waitFor();
  equal(await ada.$('.badge').count(), 0, 'the number beside the inbox');
});

test('what one person wrote is not shown to the next, and is there when the first comes back', async (t) => {
  const server = await t.server({ auth: { keys: keys.slice(0, 3) }, model: (await t.model(['Good.'])).config });
  const ada = await signedIn(t, server, 'ada');
  const words = 'fire Bob on Monday';
  await ada.$('.composer textarea').fill(words);
  const composer = () => ada.$('.composer textarea').inputValue();
  const comes = async (name) => {
    await ada.signedOutElsewhere();
    await ada.page.unrouteAll();
    await ada.page.reload();
    await ada.page.getByRole('dialog', { name: 'Sign in' }).waitFor();
    equal(await composer(), '', 'behind the sign-in');
    await ada.signIn(name);
  };
  await comes('eve');
  await ada.$('.composer').waitFor();
  equal(await composer(), '', 'of eve');
  await comes('ada');
  await ada.page.waitForFunction((text) => document.querySelector('.composer textarea')?.value === text, words);
});

test('a message of one person that did not leave is not sent by the next', async (t) => {
  const model = await t.model(['Good.']);
  const server = await t.server({ auth: { keys: keys.slice(0, 3) }, model: model.config });
  const proxy = await t.proxy(server);
  const ada = await signedIn(t, proxy, 'ada');
  await ada.ask('Hello');
  proxy.pull();
  await ada.page.getByText('No connection.').waitFor();
  await ada.send('my salary is 90000');
  await ada.page.getByText('Not sent yet').waitFor();
  proxy.plug();
  const [cookie] = await ada.context.cookies();
  await fetch(`${server.url}/v1/session`, { method: 'DELETE', headers: { cookie: `${cookie.name}=${cookie.value}`, origin: server.url } });
  await ada.context.clearCookies();
  const signed = await ada.context.request.post(`${proxy.url}/v1/session`, { data: { token: 'eve' }, headers: { origin: proxy.url } });
  equal(signed.status(), 200, 'eve signs in elsewhere');
  await ada.page.goto(proxy.url);
  await ada.$('.composer').waitFor();
  equal([await ada.$('.composer textarea').inputValue(), await ada.unsent()], ['', []], 'what eve has');
});
