// Three nodes behind one address are killed one after another while somebody talks: they see at most that there is no connection for a
// moment, nothing they were told is lost, they stay signed in, and what they approve is paid once.
import { createHash } from 'node:crypto';
import http from 'node:http';
import { cluster } from '../cluster/lib.mjs';
import { until } from '../lib/check.mjs';
import { bank, payments } from '../live/org.mjs';
import { violations } from './lib/look.mjs';
import { squeeze } from './lib/page.mjs';
import { test, equal } from './lib/test.mjs';

const payment = 'Send 50 dollars to Hanako';
const story = 'Tell me a long story';
const key = "ada's key";
const auth = { keys: [{ sha256: createHash('sha256').update(key).digest('hex'), principal: 'ada', roles: ['user'] }] };
const asAda = { authorization: `Bearer ${key}` };

/* Words and numbers only: Markdown's marks are drawn, not written. */
const bare = (s) => squeeze(s.replace(/[^\p{L}\p{N}\s]/gu, ' '));

/* Everything that stood above the conversation, and every dialog, since now. */
async function watch(tab) {
  await tab.page.evaluate(() => {
    window.seen = new Set();
    new MutationObserver(() => {
      for (const e of document.querySelectorAll('.banner span, dialog[open], [role="dialog"], .failure')) window.seen.add(e.textContent.trim());
    }).observe(document.body, { subtree: true, childList: true, characterData: true });
  });
  return () => tab.page.evaluate(() => [...window.seen]);
}

/* Killed while it holds the conversation, or whoever is next when nobody does. What comes back starts it again. */
async function kill(c, thread) {
  const node = (await c.holder(thread)) ?? c.alive[0];
  await node.kill();
  return () => node.start();
}

async function stored(c, thread) {
  const { messages } = (await c.get(`/v1/threads/${thread}`, asAda)).json;
  const texts = (m) => m.parts.filter((p) => p.type === 'text').map((p) => p.text);
  return { last: bare(texts(messages.at(-1)).join(' ')), said: messages.filter((m) => m.role === 'user').map((m) => texts(m).join(' ').trim()) };
}

/* A model that waits in the midst of its story as often as somebody is to be killed there, each time a day later. What is said of words
   under way does not depend on who is faster. */
const KILLS = 3;
const DAYS = Array.from({ length: 4 * (KILLS + 1) }, (_, i) => `Day ${i + 1}: they walked on, and nothing was lost.`);
const lastDay = (n) => `Day ${4 * (n + 1)}:`; // that is told the nth time
async function teller(t) {
  let told = 0;
  const say = (res, delta, reason) => res.write(`data: ${JSON.stringify({ choices: [{ delta, ...(reason && { finish_reason: reason }) }] })}\n\n`);
  const answer = (last, res) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    if (last.role === 'user' && last.content === story) {
      say(res, { content: DAYS.slice(0, 4 * ++told).join(' ') });
      if (told <= KILLS) return; // whoever asked is killed
    } else if (last.role === 'user' && last.content === payment) {
      say(res, { tool_calls: [{ index: 0, id: 'c1', function: { name: 'process_payment', arguments: '{"recipient":"Hanako","amount":50,"currency":"USD"}' } }] });
    } else say(res, { content: 'It is paid.' });
    say(res, {}, last.content === payment ? 'tool_calls' : 'stop');
    res.end('data: [DONE]\n\n');
  };
  const service = http.createServer(async (req, res) => {
    let text = '';
    for await (const d of req) text += d;
    answer(JSON.parse(text).messages.at(-1), res);
  });
  await new Promise((done) => service.listen(0, '127.0.0.1', done));
  t.defer(() => { service.closeAllConnections(); service.close(); });
  return { provider: 'openai', model: 'm', api_key: 'text:k', base_url: `http://127.0.0.1:${service.address().port}/v1` };
}

for (const mode of ['direct', 'sse', 'bidi']) {
  test(`${mode}: nodes are killed one after another, and the conversation goes on`, async (t) => {
    const c = await cluster(t, { config: { auth, demo: { tools: true }, model: await teller(t) } });
    const tab = await t.tab(c, { mode });
    await tab.signIn(key);
    const told = await watch(tab);

    await tab.send(story);
    const thread = await tab.thread();
    const coming = [];
    for (let n = 0; n < KILLS; n++) {
      await tab.until((day) => document.querySelector('.turn:last-child .md')?.innerText.includes(day), lastDay(n));
      coming.push((await kill(c, thread))());
    }
    await tab.idle();
    await Promise.all(coming);
    equal([(await stored(c, thread)).last, bare(await tab.words())], [bare(DAYS.join(' ')), bare(DAYS.join(' '))], 'all of it is kept, and shown');

    await tab.send(payment);
    await tab.card();
    const back = await kill(c, thread);
    await tab.approve(); // by whichever node; the one that asked is gone
    await tab.$('.tool[data-tool="process_payment"][data-status="done"]').waitFor({ timeout: 60_000 });
    await back();
    await tab.idle();
    await (await kill(c, thread))();
    await tab.send('And what did you do?');
    await tab.until(() => document.querySelectorAll('article.assistant').length === 3);
    await tab.idle();

    equal(c.ledger().length, 1, 'payments');
    equal((await stored(c, thread)).said, [story, payment, 'And what did you do?'], 'each message once');
    const seen = (await told()).filter((s) => !s.startsWith('No connection. Nothing is lost'));
    equal(seen, [], 'nothing but a connection that was away for a moment');
    const words = await tab.words();
    await tab.page.reload();
    await tab.until(() => document.querySelectorAll('article.assistant').length === 3);
    await tab.idle();
    equal([await tab.words(), await tab.page.getByRole('dialog').count()], [words, 0], 'the same after a reload, and still signed in');
  });
}

test('what a node that was taken for dead tells of its tool is shown beside the unknown outcome', async (t) => {
  let answer, reached = 0;
  const answered = new Promise((yes) => (answer = yes));
  const books = await bank(t, () => (reached++, answered));
  const c = await cluster(t, { nodes: 2, config: payments(books, {}, { auth, model: await teller(t) }) });
  const tab = await t.tab(c);
  await tab.signIn(key);
  await tab.send(payment);
  await tab.approve();
  await until(() => reached, 'the bank to be asked');
  const holder = await c.holder(await tab.thread());
  holder.sleep(true);
  t.defer(() => holder.sleep(false));
  await tab.$('.unknown').waitFor();
  equal(await tab.$('.unknown-late').count(), 0, 'nothing yet');
  holder.sleep(false);
  answer();
  const told = async (at) => {
    await at.$('.unknown-late').waitFor();
    const words = squeeze(await at.$('.unknown').innerText());
    equal([/report came too late, at \d\d:\d\d: done\./.test(words), words.includes('"paid":50')], [true, true], words);
  };
  await told(tab); // by itself
  equal(await violations(tab), [], 'axe');
  await told(await t.tab(c, { path: '/inbox', ready: '.unknown', context: tab.context }));
  await tab.$('.unknown').getByRole('button', { name: 'It happened' }).click();
  await tab.$('.tool[data-status="done"]', { hasText: 'You said: it happened.' }).waitFor();
  equal([reached, books.books.length], [1, 1], 'asked and paid once');
});
