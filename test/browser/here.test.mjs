// Who is here: what the page has open belongs to whoever opened it, and is opened anew by whoever signs in. Nothing is looked
// at now and then in these tests: what comes was told.
import { createHash } from 'node:crypto';
import { until } from '../lib/check.mjs';
import { equal, test } from './lib/test.mjs';

const key = (name, ...roles) => ({ sha256: createHash('sha256').update(name).digest('hex'), principal: name, roles });
const fourEyes = { auth: { keys: [key('ada', 'user'), key('bob', 'approver')] }, approvals: { who: 'approver' } };

async function asks(server, who) {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${who}` };
  await (await fetch(`${server.url}/v1/chat/stream`, { method: 'POST', headers, body: JSON.stringify({ message: 'Send 50 dollars to Hanako' }) })).text();
}

const dialog = (tab) => tab.page.getByRole('dialog', { name: 'Sign in' });
const streams = (tab) => tab.requests.filter((url) => url.includes('/v1/approvals/events')).length;

async function strange(t, server, options) {
  const tab = await t.tab(server, { ready: 'dialog', ...options });
  await tab.waitsForNews();
  return tab;
}

test('what is asked after the sign-in is in the inbox', async (t) => {
  const server = await t.server(fourEyes);
  const bob = await strange(t, server);
  await bob.signIn('bob');
  await bob.page.getByText('Nothing waits for you.').waitFor();
  await asks(server, 'ada');
  await bob.$('.ask', { hasText: 'Send 50 USD to Hanako?' }).waitFor();
});

test('what is asked while the stream is being opened is in the inbox', async (t) => {
  const server = await t.server(fourEyes);
  const bob = await strange(t, server);
  let open;
  const opened = new Promise((done) => (open = done));
  await bob.page.route('**/v1/approvals/events*', async (route) => (await opened, await route.continue()));
  await bob.signIn('bob');
  await bob.page.getByText('Nothing waits for you.').waitFor();
  await asks(server, 'ada');
  open();
  await bob.$('.ask', { hasText: 'Send 50 USD to Hanako?' }).waitFor();
});

test('whoever signs in anew is told anew', async (t) => {
  const server = await t.server(fourEyes);
  const bob = await strange(t, server);
  await bob.signIn('bob');
  await bob.page.getByText('Nothing waits for you.').waitFor();
  await until(() => streams(bob) === 1, 'the stream');
  await bob.signedOutElsewhere();
  await bob.page.unrouteAll();
  await bob.page.evaluate(() => window.dispatchEvent(new Event('focus')));
  await dialog(bob).waitFor();
  await asks(server, 'ada');
  await bob.signIn('bob');
  await until(() => streams(bob) === 2, 'a stream of this session');
  await bob.$('.ask').waitFor();
});

test('who signs out in one tab is gone in the others', async (t) => {
  const server = await t.server(fourEyes);
  const bob = await strange(t, server);
  await bob.signIn('bob');
  await bob.page.getByText('Nothing waits for you.').waitFor();
  const other = await t.tab(server, { context: bob.context, ready: '.inbox-page' });
  await other.waitsForNews();
  await bob.page.getByRole('button', { name: 'Settings' }).click();
  await bob.page.getByRole('button', { name: 'Sign out' }).click();
  await dialog(bob).waitFor();
  await dialog(other).waitFor();
});

test('a page of the inbox that was opened before the sign-in is asked for afterwards', async (t) => {
  for (const [path, empty] of [
    ['/inbox?grants', 'There are no grants: every yes was for one call.'],
    ['/inbox', 'Nothing waits for you.'],
  ]) {
    const bob = await strange(t, await t.server(fourEyes), { path });
    equal(await bob.page.getByRole('alert').count(), 0, `${path}: nothing has failed`);
    await bob.signIn('bob');
    await bob.page.getByText(empty).waitFor();
  }
});

test('a message of a conversation that was left waits for the sign-in, and goes out with it', async (t) => {
  const server = await t.server(fourEyes);
  const ada = await strange(t, server, { mode: 'sse' });
  await ada.signIn('ada');
  await ada.ask('What is the weather in Tokyo?');
  await ada.page.getByRole('button', { name: 'New conversation' }).click();
  await ada.ask('What is the weather in Oslo?');
  const thread = await ada.thread();
  await ada.signedOutElsewhere();
  await ada.send('What is the weather in Paris?');
  await dialog(ada).waitFor();
  await ada.page.goBack();
  await ada.page.getByRole('heading', { name: 'What is the weather in Tokyo?' }).waitFor();
  await ada.signIn('ada');
  const said = async () => {
    const r = await fetch(`${server.url}/v1/threads/${thread}`, { headers: { authorization: 'Bearer ada' } });
    return JSON.stringify((await r.json()).messages);
  };
  await until(async () => (await said()).includes('Paris'), 'the message to be there');
  await until(async () => !(await ada.unsent()).length, 'nothing to be left to be sent');
});
