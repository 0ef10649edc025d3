// A word from the browser, when it was wished for and nobody looks.
import { equal, test } from './lib/test.mjs';

async function told(t, config, answer = 'granted') {
  const server = await t.server(config);
  const tab = await t.tab(server);
  await tab.page.evaluate((says) => {
    window.told = [];
    class Told {
      static permission = 'default';
      static requestPermission = async () => (Told.permission = says);
      constructor(title, { body }) {
        window.told.push([title, body]);
      }
      close() {}
    }
    window.Notification = Told;
  }, answer);
  const away = (hidden) => tab.page.evaluate((h) => Object.defineProperty(document, 'hidden', { configurable: true, get: () => h }), hidden);
  const wish = async () => {
    await tab.page.getByRole('button', { name: 'Settings' }).click();
    await tab.page.getByLabel('Notify me while I look elsewhere').check();
    await tab.page.keyboard.press('Escape');
  };
  return { server, tab, away, wish, words: () => tab.page.evaluate(() => window.told) };
}

test('a request that comes while nobody looks is told by the browser, once, if that was wished', async (t) => {
  const { tab, away, wish, words } = await told(t);
  await wish();
  await away(true);
  await tab.send('Send 50 dollars to Hanako');
  await tab.$('.ask').waitFor();
  await tab.until(() => window.told.length > 0 && document.title.startsWith('(1) '));
  equal(await words(), [['Approval required', 'Send 50 USD to Hanako?']], 'once');
});

test('nothing is told by the browser to who looks, or did not wish it', async (t) => {
  const { tab, away, wish, words } = await told(t);
  await away(true);
  await tab.send('Send 50 dollars to Hanako');
  await tab.$('.ask').waitFor();
  await tab.until(() => document.title.startsWith('(1) '));
  equal(await words(), [], 'not wished');
  await away(false);
  await wish();
  await tab.deny();
  await tab.$('.tool[data-status="denied"]').waitFor();
  await tab.idle();
  await tab.send('Send 60 dollars to Hanako');
  await tab.card();
  equal(await words(), [], 'seen');
});

test('who does not let the browser notify is told so, it is not offered again, and the title still tells', async (t) => {
  const { tab, away, words } = await told(t, undefined, 'denied');
  await tab.page.getByRole('button', { name: 'Settings' }).click();
  const wish = tab.page.getByLabel('Notify me while I look elsewhere');
  await wish.click();
  await tab.page.getByText('This browser does not let the page notify you.').waitFor();
  await tab.page.keyboard.press('Escape');
  await tab.page.getByRole('button', { name: 'Settings' }).click();
  await tab.page.getByRole('dialog').waitFor();
  equal(await wish.count(), 0, 'what the browser would refuse');
  await tab.page.keyboard.press('Escape');
  await away(true);
  await tab.send('Send 50 dollars to Hanako');
  await tab.$('.ask').waitFor();
  await tab.until(() => document.title.startsWith('(1) '));
  equal(await words(), [], 'nothing is tried');
});

test('a question in another conversation is in the title and told without waiting for the next look', async (t) => {
  const { tab, away, wish, words } = await told(t);
  await tab.page.evaluate(() => { for (let i = setInterval(() => {}, 1e6); i > 0; i--) clearInterval(i); }); // no looks now and then
  await wish();
  await away(true);
  // as another device of the same person would
  await tab.page.evaluate(() => void fetch('/v1/chat/stream', { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ message: 'Send 50 dollars to Hanako' }) }));
  await tab.until(() => window.told.length > 0 && document.title.startsWith('(1) '));
  equal(await words(), [['Approval required', 'Send 50 USD to Hanako?']], 'once');
  const { approvals } = await tab.page.evaluate(async () => (await fetch('/v1/approvals?status=pending')).json());
  await tab.page.evaluate((id) => void fetch(`/v1/approvals/${id}`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"confirmed":false}' }), approvals[0].id);
  await tab.until(() => !document.title.startsWith('('));
});
