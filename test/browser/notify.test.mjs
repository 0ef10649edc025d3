// A word from the browser, when it was wished for and nobody looks.
import { equal, test } from './lib/test.mjs';

async function told(t, config, answer = 'granted', options = {}) {
  const server = await t.server(config);
  const tab = await t.tab(server, options);
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

/* As if what ends had taken so long, by the server's clock. */
const took = (tab, ms) =>
  tab.page.route(/\/v1\/threads\?/, async (r) => {
    const response = await r.fetch();
    const json = await response.json();
    const later = (x) => ({ ...x, updated_at: new Date(Date.parse(x.updated_at) + (x.state === 'idle' ? ms : 0)).toISOString() });
    await r.fulfill({ response, json: { ...json, threads: json.threads.map(later) } });
  });

for (const ms of [11_000, 5_000]) {
  test(`an answer that took ${ms / 1000} s is ${ms > 10_000 ? 'told' : 'not told'} by the browser when nobody looks, also that of another conversation`, async (t) => {
    const model = await t.model(['It is sunny.'], { hold: true });
    const { tab, away, wish, words } = await told(t, { model: model.config });
    await took(tab, ms);
    await wish();
    await tab.send('What is the weather?');
    await tab.$('.row .mark-run').waitFor();
    await tab.page.keyboard.press('Control+Shift+O'); // to a new conversation: this one goes on by itself
    await tab.$('.starter').first().waitFor();
    await away(true);
    model.release();
    await tab.$('.row .mark-run').waitFor({ state: 'detached' });
    const thread = await tab.page.evaluate(async () => (await (await fetch('/v1/threads?limit=1')).json()).threads[0].title);
    equal(await words(), ms > 10_000 ? [['The answer is there', thread]] : [], 'once, or not at all');
  });
}

test('where only a service worker may tell, it does, and what is pressed there opens its conversation', async (t) => {
  const { server, tab, away, wish, words } = await told(t, undefined, 'granted', { serviceWorkers: 'allow' });
  await tab.page.evaluate(() => {
    const { Notification } = window;
    window.Notification = class extends Notification {
      constructor() {
        throw new TypeError('Illegal constructor');
      }
      static get permission() {
        return Notification.permission;
      }
    };
    ServiceWorkerRegistration.prototype.showNotification = async (title, { body, data }) => void window.told.push([title, body, data]);
  });
  await tab.until(() => navigator.serviceWorker.controller);
  await wish();
  await away(true);
  await tab.send('Send 50 dollars to Hanako');
  await tab.until(() => window.told.length > 0);
  const thread = await tab.thread();
  equal(await words(), [['Approval required', 'Send 50 USD to Hanako?', { thread }]], 'once, and where it belongs');
  const { id } = await server.json('/v1/threads', { body: {} });
  const [worker] = tab.context.serviceWorkers();
  await worker.evaluate((open) => {
    const pressed = new Event('notificationclick');
    const notification = { data: { thread: open }, close() {} };
    // That a window may come to the front is the browser's to say, and for a real press only.
    self.dispatchEvent(Object.assign(pressed, { notification, waitUntil: (p) => p.catch(() => {}) }));
  }, id);
  await tab.page.waitForURL(`**/t/${id}`);
});

test('a question in another conversation is in the title and told without waiting for the next look', async (t) => {
  const { tab, away, wish, words } = await told(t);
  await tab.waitsForNews();
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
