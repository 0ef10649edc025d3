// A read-only link to a conversation: as it stood, for whom it is meant, until it is taken back.
import { createHash } from 'node:crypto';
import { everyLook, fitsIn, shot } from './lib/look.mjs';
import { squeeze } from './lib/page.mjs';
import { equal, ok, test } from './lib/test.mjs';

const key = (name, ...roles) => ({ sha256: createHash('sha256').update(name).digest('hex'), principal: name, roles });
const people = { auth: { keys: [key('ada', 'user'), key('eve', 'user')] } };

async function shareOf(tab) {
  await tab.page.getByRole('button', { name: 'Settings' }).click();
  const make = tab.page.getByRole('button', { name: 'Make a link' });
  await make.click();
  const field = tab.page.getByLabel('Link to read it');
  const link = await field.inputValue();
  ok((await field.boundingBox()).width > 240, 'it can be seen');
  await tab.page.keyboard.press('Escape');
  return new URL(link).pathname;
}

test('a conversation is shared as it stands: others read it, and nothing that comes later', async (t) => {
  const server = await t.server(people);
  const ada = await t.tab(server, { ready: 'dialog' });
  await ada.signIn('ada');
  await ada.ask('Find articles about CRISPR');
  const path = await shareOf(ada);
  await ada.ask('What is the weather in Tokyo?');

  const eve = await t.tab(server, { path, ready: 'dialog' });
  await eve.signIn('eve');
  await eve.page.getByText('Shared by ada, to be read only.').waitFor();
  await eve.$('article.assistant').waitFor();
  ok((await eve.$('article').count()) === 2, 'the question and its answer');
  const words = squeeze(await eve.$('.shared').innerText());
  ok(words.includes('Find articles about CRISPR') && words.includes('I found 5 relevant articles.'), words);
  ok(!words.includes('Tokyo'), 'what came later');
  equal(await eve.$('.tool').count(), 1, 'with its tool');
  for (const gone of ['.composer', '[data-edit]', '.chips', '.actions', '.dock']) equal(await eve.$(gone).count(), 0, gone);
  equal(await eve.page.getByRole('button', { name: 'Answer again' }).count(), 0, 'nothing to do');
  await shot(eve, 'shared');
  await fitsIn(eve, everyLook, 'a shared conversation');
  // It is still nobody's but ada's.
  const { status } = await fetch(`${server.url}/v1/threads/${await ada.thread()}`, { headers: { authorization: 'Bearer eve' } });
  equal(status, 404, 'the conversation itself');

  // Shared anew, and taken back.
  await ada.page.getByRole('button', { name: 'Settings' }).click();
  await fitsIn(ada, everyLook, 'the settings of what is shared');
  await ada.page.getByRole('button', { name: 'Share what came since' }).click();
  await eve.until(async (p) => JSON.stringify(await (await fetch(`/v1/shared/${p.slice(3)}`)).json()).includes('Tokyo'), path);
  await ada.page.getByRole('button', { name: 'Take the link back' }).click();
  await ada.page.getByRole('button', { name: 'Make a link' }).waitFor();
  await eve.page.reload();
  await eve.page.getByText('This link leads nowhere').waitFor();
});

test('a link that is only for who is signed in shows nothing to others; one for everybody does', async (t) => {
  for (const [share, status] of [['signed_in', 401], ['anyone', 200], ['off', 404]]) {
    const server = await t.server({ ...people, page: { share } });
    const as = { authorization: 'Bearer ada', 'content-type': 'application/json' };
    const r = await fetch(`${server.url}/v1/chat/stream`, { method: 'POST', headers: as, body: JSON.stringify({ message: 'The weather in Oslo?' }) });
    await r.text();
    const made = await fetch(`${server.url}/v1/threads/${r.headers.get('parley-thread')}/share`, { method: 'POST', headers: as, body: '{}' });
    const path = made.status === 201 ? (await made.json()).path : `/s/${'x'.repeat(43)}`;
    equal(made.status, share === 'off' ? 404 : 201, `${share}: made`);
    equal((await fetch(`${server.url}/v1/shared/${path.slice(3)}`)).status, status, `${share}: read by a stranger`);
    equal((await fetch(`${server.url}/v1/shared/${'y'.repeat(43)}`, { headers: as })).status, 404, `${share}: a made-up link`);
  }
});

test('a link outlives a restart and not its conversation, also when one of the same name is begun', async (t) => {
  const server = await t.server({});
  const say = (message) =>
    fetch(`${server.url}/api/chat`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ id: 'mine', messages: [{ id: message, role: 'user', parts: [{ type: 'text', text: message }] }] }) }).then((r) => r.text());
  await say('What is the weather in Oslo?');
  const { path } = await (await fetch(`${server.url}/v1/threads/mine/share`, { method: 'POST' })).json();
  await server.kill();
  await server.start();
  const read = () => fetch(`${server.url}/v1/shared/${path.slice(3)}`);
  equal((await read()).status, 200, 'after a restart');
  await fetch(`${server.url}/v1/threads/mine`, { method: 'DELETE' });
  equal((await read()).status, 404, 'after it was deleted');
  await say('What is the weather in Rome?');
  equal((await read()).status, 404, 'of another one by that name');
  const again = await (await fetch(`${server.url}/v1/threads/mine/share`)).json();
  equal(again, { path: null }, 'which was never shared');
});
