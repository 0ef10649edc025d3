// Three nodes behind one address are killed one after another while somebody talks: they see at most that there is no connection for a
// moment, nothing they were told is lost, they stay signed in, and what they approve is paid once.
import { createHash } from 'node:crypto';
import { cluster } from '../cluster/lib.mjs';
import { squeeze } from './lib/page.mjs';
import { test, equal, ok } from './lib/test.mjs';

const payment = 'Send 50 dollars to Hanako';
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

for (const mode of ['direct', 'sse', 'bidi']) {
  test(`${mode}: nodes are killed one after another, and the conversation goes on`, async (t) => {
    const c = await cluster(t, { config: { auth, demo: { token_ms: 10 } } });
    const tab = await t.tab(c, { mode });
    await tab.signIn(key);
    const told = await watch(tab);

    await tab.send('Tell me a long story');
    const thread = await tab.thread();
    const coming = [];
    for (let n = 0; n < 3; n++) {
      const before = (await tab.words()).length; // of the node before: the next goes beyond it
      await tab.page.waitForFunction((l) => document.querySelector('.turn:last-child .md')?.innerText.length > l + 40, before);
      coming.push((await kill(c, thread))());
    }
    await tab.idle();
    await Promise.all(coming);
    const story = await stored(c, thread);
    ok(story.last.length > 400, `a long story: ${story.last.length}`);
    equal(bare(await tab.words()), story.last, 'what is shown is what was kept');

    await tab.send(payment);
    await tab.card();
    const back = await kill(c, thread);
    await tab.approve(); // by whichever node; the one that asked is gone
    await tab.$('.tool[data-tool="process_payment"][data-status="done"]').waitFor({ timeout: 60_000 });
    await back();
    await tab.idle();
    await (await kill(c, thread))();
    await tab.send('And what did you do?');
    await tab.page.waitForFunction(() => document.querySelectorAll('article.assistant').length === 3);
    await tab.idle();

    equal(c.ledger().length, 1, 'payments');
    equal((await stored(c, thread)).said, ['Tell me a long story', payment, 'And what did you do?'], 'each message once');
    const seen = (await told()).filter((s) => !s.startsWith('No connection. Nothing is lost'));
    equal(seen, [], 'nothing but a connection that was away for a moment');
    const words = await tab.words();
    await tab.page.reload();
    await tab.page.waitForFunction(() => document.querySelectorAll('article.assistant').length === 3);
    await tab.idle();
    equal([await tab.words(), await tab.page.getByRole('dialog').count()], [words, 0], 'the same after a reload, and still signed in');
  });
}
