// A word from the browser, when it was wished for and nobody looks.
import { equal, test } from './lib/test.mjs';

async function told(t, config) {
  const server = await t.server(config);
  const tab = await t.tab(server);
  await tab.page.evaluate(() => {
    window.told = [];
    class Told {
      static permission = 'default';
      static requestPermission = async () => (Told.permission = 'granted');
      constructor(title, { body }) {
        window.told.push([title, body]);
      }
      close() {}
    }
    window.Notification = Told;
  });
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
  await tab.page.waitForFunction(() => window.told.length > 0 && document.title.startsWith('(1) '));
  equal(await words(), [['Approval required', 'Send 50 USD to Hanako?']], 'once');
});

test('nothing is told by the browser to who looks, or did not wish it', async (t) => {
  const { tab, away, wish, words } = await told(t);
  await away(true);
  await tab.send('Send 50 dollars to Hanako');
  await tab.$('.ask').waitFor();
  await tab.page.waitForFunction(() => document.title.startsWith('(1) '));
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
