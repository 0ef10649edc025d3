// Reading upwards in a long conversation: it comes by pages, nothing jumps, nothing sticks, nothing stays behind.
import { readFileSync } from 'node:fs';
import { test, equal, ok } from './lib/test.mjs';

const turns = 150;

function answer(n) {
  const lines = Array.from({ length: 1 + (n % 7) }, (_, i) => `Line ${i} of answer ${n}, with some words so that it has a length.`);
  return n % 5 === 0 ? '```js\n' + lines.join('\n') + '\n```' : lines.join('\n\n');
}

async function longThread(t, length = turns) {
  const model = await t.model(Array.from({ length }, (_, n) => answer(n)));
  const server = await t.server({ model: model.config });
  const { id } = await server.json('/v1/threads', { body: {} });
  for (let n = 0; n < length; n++) await ask(server, id, `Question ${n}`);
  return { server, id };
}

/* From elsewhere. */
async function ask(server, id, message) {
  await (await fetch(`${server.url}/v1/chat/stream`, { method: 'POST', body: JSON.stringify({ thread_id: id, message }) })).text();
}

async function atEnd(tab, length = turns) {
  await tab.until((q) => [...document.querySelectorAll('.bubble')].at(-1)?.textContent === q, `Question ${length - 1}`);
}

/* Frame by frame, faster than any hand, up to the first question. Gives how far what is read moved in a frame beyond what was scrolled. */
const readUp = (tab) =>
  tab.page.evaluate(
    () =>
      new Promise((done) => {
        const scroller = document.querySelector('.scroller');
        const seen = () => [...document.querySelectorAll('.bubble')].find((e) => e.getBoundingClientRect().bottom > 200);
        let worst = 0;
        let still = 0;
        const frame = () => {
          const what = seen();
          const [y, top] = [what.getBoundingClientRect().top, scroller.scrollTop];
          scroller.scrollTop -= 300;
          const scrolled = top - scroller.scrollTop;
          requestAnimationFrame(() => {
            if (what.isConnected) worst = Math.max(worst, Math.abs(what.getBoundingClientRect().top - y - scrolled));
            else worst = Infinity;
            still = scroller.scrollTop === 0 ? still + 1 : 0;
            const first = document.querySelector('.bubble').textContent === 'Question 0' && scroller.scrollTop === 0;
            if (first || still > 600) done({ worst, first });
            else requestAnimationFrame(frame);
          });
        };
        frame();
      }),
  );

test('300 messages are read upwards by pages: nothing jumps, nothing sticks, and nothing stays behind', async (t) => {
  const { server, id } = await longThread(t);
  const tab = await t.tab(server);
  const cdp = await tab.context.newCDPSession(tab.page);
  const nodes = async () => {
    for (let n = 0; n < 3; n++) await cdp.send('HeapProfiler.collectGarbage');
    return (await cdp.send('Memory.getDOMCounters')).nodes;
  };
  await tab.$('.starter').first().waitFor();
  await tab.$('.row-title').first().waitFor();
  const before = await nodes();
  await tab.$('.row-title').first().click();
  await atEnd(tab);
  equal(await tab.thread(), id, 'the conversation');
  ok((await tab.$('.bubble').count()) < 60, 'not all of it is loaded at first');
  const { worst, first } = await readUp(tab);
  ok(first, 'the first question was reached, without a click');
  ok(worst <= 2, `what is read moved by ${worst} px`);
  const questions = await tab.$('.bubble').allInnerTexts();
  equal(questions, Array.from({ length: turns }, (_, n) => `Question ${n}`), 'every question, once');
  ok(tab.requests.filter((u) => u.includes('before=')).length >= 4, 'by pages');
  equal(await tab.page.getByRole('button', { name: 'Jump to latest' }).count(), 1, 'what came in above is no news');
  // A new answer below changes nothing for the reader, and what was loaded stays.
  const top = () => tab.$('.scroller').evaluate((e) => e.scrollTop);
  const place = await top();
  await ask(server, id, 'One more');
  await tab.page.getByRole('button', { name: 'New text below' }).waitFor();
  equal(await top(), place, 'the place');
  equal(await tab.$('.bubble').count(), turns + 1, 'questions');
  await tab.page.keyboard.press('Control+Shift+O');
  await tab.$('.starter').first().waitFor();
  t.report.figure('nodes left behind by 300 messages, read and left', (await nodes()) - before, 300, 'nodes');
});

test('what is read stays when more than a page has been said since', async (t) => {
  const { server, id } = await longThread(t, 30); // a page, to the message
  const tab = await t.tab(server, { path: `/t/${id}` });
  await atEnd(tab, 30);
  await tab.$('.scroller').evaluate((e) => (e.scrollTop = 0));
  await tab.page.getByRole('button', { name: 'Jump to latest' }).waitFor();
  const first = await tab.$('.bubble').first().elementHandle();
  for (let n = 30; n < 33; n++) await ask(server, id, `Question ${n}`);
  await tab.$('.bubble', { hasText: 'Question 32' }).waitFor();
  await tab.page.getByRole('button', { name: 'New text below' }).waitFor();
  equal(await first.evaluate((e) => [e.isConnected, e.textContent]), [true, 'Question 0'], 'the same element');
  equal(await tab.$('.scroller').evaluate((e) => e.scrollTop), 0, 'the place');
  equal(await tab.$('.bubble').count(), 33, 'questions');
});

test('earlier messages that cannot be loaded are said to be so, and come when they can', async (t) => {
  const { server, id } = await longThread(t);
  const tab = await t.tab(server);
  await tab.page.route(/before=/, (r) => r.abort());
  await tab.$('.row-title').first().click();
  await atEnd(tab);
  equal(await tab.thread(), id, 'the conversation');
  await tab.page.evaluate(() => (document.querySelector('.scroller').scrollTop = 0));
  const again = tab.page.getByRole('button', { name: 'Earlier messages could not be loaded. Try again' });
  await again.waitFor();
  await tab.page.unroute(/before=/);
  const before = await tab.$('.bubble').count();
  await again.click();
  await tab.until((n) => document.querySelectorAll('.bubble').length > n, before);
  ok((await tab.$('.bubble').count()) < turns, 'not all of it is here');
  await tab.page.getByRole('button', { name: 'Settings' }).click();
  const [saved] = await Promise.all([tab.page.waitForEvent('download'), tab.page.getByRole('button', { name: 'Save as Markdown' }).click()]);
  equal(readFileSync(await saved.path(), 'utf8').match(/^Question \d+$/gm).length, turns, 'questions in the file');
});
