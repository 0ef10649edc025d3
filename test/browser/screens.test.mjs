// Screens that are seldom seen, in light and in dark: nothing is wider than the screen, axe finds nothing, what matters is in
// sight. SCREENS=1 makes their pictures.
import { createHash } from 'node:crypto';
import { shot, sticksOut, unreadable, violations } from './lib/look.mjs';
import { Site } from './lib/site.mjs';
import { equal, ok, test } from './lib/test.mjs';

const key = (name, ...roles) => ({ sha256: createHash('sha256').update(name).digest('hex'), principal: name, roles });

// Those of the documentation. LOOK=1 keeps all of them there, for whoever wants to look.
const kept = /^(seam|duplicate|tray-down|beside-1440)-light$|^(beside-375|link-de|zoom-200-request)-dark$|^zoom-400-request-light$/;
const keep = (tab, name) => (process.env.LOOK || kept.test(name) ? shot(tab, name) : undefined);

/* The same page in both colours; it follows the browser. */
async function both(tab, name) {
  for (const colorScheme of ['light', 'dark']) {
    await tab.page.emulateMedia({ colorScheme });
    equal(await (colorScheme === 'light' ? violations : unreadable)(tab), [], `axe, ${name} ${colorScheme}`);
    equal(await sticksOut(tab), 0, `width, ${name} ${colorScheme}`);
    await keep(tab, `${name}-${colorScheme}`);
  }
}

const inSight = (tab, selector) =>
  tab.$(selector).first().evaluate((e) => {
    const [box, seen] = [e.getBoundingClientRect(), { width: innerWidth, height: innerHeight }];
    return box.top >= 0 && box.left >= 0 && box.bottom <= seen.height + 1 && box.right <= seen.width + 1;
  });

const pays = { calls: [{ name: 'pay', arguments: { recipient: 'Hanako', amount: 50, currency: 'USD' } }] };
const pay = {
  description: 'Pays',
  exec: { command: ['sh', '-c', `cat > /dev/null; echo '{"result":{"receipt":"r-2041","ok":true}}'`] },
  input_schema: { type: 'object' },
  confirm: 'always',
  risk: 'high',
  ask: 'Send {amount} {currency} to {recipient}?',
};

test('the seam of a summary, on a desk and on a phone', async (t) => {
  const trip = [
    ['I have a week in Japan in April. Where should I go?', 'Tokyo for three days, then Kyoto for four: the cherries are in bloom in both.'],
    ['Which part of Tokyo is good to stay in?', 'Asakusa is quiet at night and close to the airport train.'],
    ['How do I get to Kyoto?', 'By the Shinkansen from Tokyo station: two hours and a quarter, a train every ten minutes.'],
    ['Do I need a rail pass?', 'Not for one journey there and back. Two single tickets cost less.'],
    ['What should I see on the first day in Kyoto?', 'Begin at Fushimi Inari before eight, while it is quiet, and walk on to Tofuku-ji. The afternoon is good for Gion.'],
    ['And if it rains?', 'Then the Nishiki market, which has a roof, and the museum of manga. Both are within ten minutes of each other on foot.'],
    ['Where can I eat without booking?', 'At the counters in Pontocho Alley: come at half past five, when they open, and there is a seat for two almost anywhere.'],
    ['Is a day in Nara too much?', 'No. It is three quarters of an hour by train, and the deer park, Todai-ji and the old town fit into six hours.'],
  ];
  const more = 'It is best to book early, as that week is the busiest of the year. ';
  const model = await t.model(trip.map(([, answer], i) => answer + (i < 4 ? ` ${more.repeat(60)}` : '')));
  const config = { model: { ...model.config, context: { limit: 6000 }, max_tokens: 500 }, context: { keep: 2 }, demo: { tools: false }, actions: {} };
  const tab = await t.tab(await t.server(config));
  for (let i = 0; i < trip.length && !(await tab.$('.seam').count()); i++) await tab.ask(trip[i][0]);
  await tab.$('.seam').first().evaluate((e) => e.scrollIntoView({ block: 'center' }));
  await both(tab, 'seam');
  await tab.page.setViewportSize({ width: 375, height: 700 });
  await tab.$('.seam').first().evaluate((e) => e.scrollIntoView({ block: 'center' }));
  await both(tab, 'seam-375');
});

test('the card of what was done before, on a desk and on a phone', async (t) => {
  const model = await t.model([pays, 'Paid.', pays, 'It was paid before, so I left it.']);
  const tab = await t.tab(await t.server({ model: model.config, tools: { pay: { ...pay, effect: 'to:{recipient}' } } }));
  await tab.send('Pay Hanako');
  await tab.approve();
  await tab.$('.tool[data-status="done"]').waitFor(); // before the yes is heard nothing is busy either
  await tab.idle();
  await tab.ask('Pay Hanako once more');
  await tab.$('[data-first]').waitFor();
  await both(tab, 'duplicate');
  await tab.page.setViewportSize({ width: 375, height: 700 });
  await both(tab, 'duplicate-375');
});

/* What a zoom does to a page of 1280 x 800: fewer, larger pixels. */
for (const zoom of [2, 4]) {
  test(`at ${zoom * 100} % a conversation, a request, the settings and the list fit the screen`, async (t) => {
    const model = await t.model(['An **answer** with a table:\n\n| Name | Amount |\n|---|--:|\n| Hanako | 50 |', pays, 'Paid.']);
    const viewport = { width: 1280 / zoom, height: 800 / zoom };
    const tab = await t.tab(await t.server({ model: model.config, tools: { pay } }), { viewport, deviceScaleFactor: zoom });
    await tab.ask('What is there to pay?');
    ok(await inSight(tab, '.composer textarea'), 'the composer');
    await both(tab, `zoom-${zoom}00-answer`);
    await tab.send('Pay Hanako');
    await tab.card();
    ok(await inSight(tab, '.composer textarea'), 'the composer beside a request');
    for (const name of ['.ask-title', '.ask-yes']) {
      await tab.$(`.dock ${name}`).evaluate((e) => e.scrollIntoView({ block: 'nearest' }));
      ok(await inSight(tab, `.dock ${name}`), `${name} can be brought into sight`);
    }
    await tab.$('.dock .ask').evaluate((e) => e.scrollTo(0, 0));
    await both(tab, `zoom-${zoom}00-request`);
    await tab.approve();
    await tab.$('.tool[data-status="done"]').waitFor();
    await tab.idle();
    await both(tab, `zoom-${zoom}00-record`);
    await tab.page.getByRole('button', { name: 'Settings' }).click();
    await tab.page.getByRole('dialog').waitFor();
    await both(tab, `zoom-${zoom}00-settings`);
    await tab.page.keyboard.press('Escape');
    await tab.page.keyboard.press('Control+k');
    await tab.$('.palette [role="option"]').first().waitFor();
    await both(tab, `zoom-${zoom}00-palette`);
  });
}

/* ---- on somebody else's site ---- */

const host = (tag, script = '') => `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>Shop</title>
<style>:root { color-scheme: light dark } body { font: 16px/1.5 system-ui; margin: 40px; max-width: 60ch } @media (prefers-color-scheme: dark) { body { background: #111; color: #eee } }</style>
<main><h1>Teapots</h1><p>Cast iron, enamelled, in four colours.</p></main><script>${script}</script>${tag}`;

async function shop(t, { config = {}, script, listed = true } = {}) {
  let server = { url: '' };
  const site = await Site.make({ page: () => host(`<script src="${server.url}/embed.js" data-open></script>`, script) });
  t.closing.push(() => site.close());
  server = await t.server({ page: listed ? { embed: [site.url] } : {}, ...config });
  return { site, server };
}

test('a tray whose key callback fails says what to do, and takes no word away', async (t) => {
  const script = `window.parley = { token: async () => { throw new Error('no key today'); } };`;
  const { site } = await shop(t, { script, config: { auth: { keys: [key('ada', 'user')] } } });
  const tab = await t.tab(site, { ready: '.composer' });
  await tab.page.getByText('Sign in on this site to go on.').waitFor();
  await tab.send('Do you have blue ones?');
  await tab.page.getByText('Not sent yet').waitFor();
  await both(tab, 'tray-no-key');
  tab.errors = []; // told to the developer
});

test('a tray whose server is gone says so, and keeps what was written', async (t) => {
  const { site, server } = await shop(t);
  const tab = await t.tab(site, { ready: '.composer' });
  await tab.send('Find articles about CRISPR');
  await tab.$('article.assistant:not([aria-busy="true"])').waitFor();
  await server.kill();
  await tab.send('And the newest of them?');
  await tab.$('.banner').waitFor();
  await both(tab, 'tray-down');
  await tab.page.setViewportSize({ width: 375, height: 700 });
  await both(tab, 'tray-down-375');
});

test('a site that is not listed keeps its page whole, and its visitors see nothing half', async (t) => {
  const { site } = await shop(t, { listed: false });
  const tab = await t.tab(site, { ready: 'h1' });
  for (let n = 0; n < 100 && !tab.errors.some((e) => e.includes('"embed"')); n++) await new Promise((done) => setTimeout(done, 50));
  equal(await tab.page.locator('body > :not(main, script)').count(), 0, 'what stands on the page besides its own');
  await keep(tab, 'site-not-listed');
  tab.errors = [];
});

/* ---- in Japanese: lines break between letters, and nothing is cut ---- */

const japanese = `東京の天気は晴れです。気温は二十二度で、午後から少し風が強くなる見込みです。傘は必要ありません。\n\n- **「太字」**の項目です\n- もう一つの項目は、とても長いので、狭い画面では次の行に折り返されます\n\n| 日付 | 天気 |\n|---|---|\n| 月曜日 | 晴れのち曇り |`;

for (const width of [375, 1440]) {
  test(`in Japanese at ${width} px lines break between letters, names keep their line, and nothing is cut`, async (t) => {
    const args = { 金額: 5000, 通貨: 'JPY', 受取人: '山田花子', 備考: '十一月分の家賃と共益費、ならびに駐車場の使用料' };
    const model = await t.model([japanese, { calls: [{ name: 'pay', arguments: args }] }, '支払いました。']);
    const tool = { ...pay, ask: '{受取人} に {金額} {通貨} を送金しますか？' };
    const tab = await t.tab(await t.server({ model: model.config, tools: { pay: tool } }), { locale: 'ja-JP', viewport: { width, height: 800 } });
    await both(tab, `ja-empty-${width}`);
    await tab.ask('明日の東京の天気を教えてください');
    await both(tab, `ja-answer-${width}`);
    await tab.send('家賃を払ってください');
    await tab.card();
    const names = await tab.$('.dock .args th').evaluateAll((all) => all.map((e) => [e.textContent, e.firstElementChild.getClientRects().length, e.firstElementChild.getBoundingClientRect().height]));
    for (const [name, , height] of names) ok(height <= 26, `${name} stands in one line: ${height} px`);
    await both(tab, `ja-request-${width}`);
    await tab.$('.dock .ask-yes').click();
    await tab.$('.tool[data-status="done"]').waitFor();
    await tab.idle();
    await both(tab, `ja-record-${width}`);
  });
}

/* ---- beside ---- */

test('an artifact beside the conversation, and over a phone', async (t) => {
  const look = '<style>body{font:16px system-ui;display:grid;place-content:center;justify-items:center;height:90vh;gap:16px}button{font-size:24px;padding:12px 24px}</style>';
  const counter = (more) => ({ type: 'html', title: 'A counter that counts', content: `${look}<button onclick="this.textContent=Number(this.textContent)+1">1</button>${more}` });
  const build = { description: 'Builds', exec: { command: ['sed', 's/^/{"result":/; s/$/}/'] }, input_schema: { type: 'object' }, confirm: 'never', shows: 'artifact' };
  const calls = ['', '<p>Press to count.</p>'].map((more) => ({ calls: [{ name: 'build', arguments: counter(more) }] }));
  const model = await t.model([calls[0], 'Here it is: press the button and it counts.', calls[1], 'Now it says what to do.']);
  const tab = await t.tab(await t.server({ model: model.config, tools: { build } }), { viewport: { width: 1440, height: 800 } });
  await tab.ask('Build me a counter');
  await tab.ask('Say what it is for');
  await tab.page.getByRole('button', { name: /^Open .* beside$/ }).last().click();
  await tab.$('.beside iframe').contentFrame().getByRole('button').waitFor();
  await both(tab, 'beside-1440');
  await tab.page.setViewportSize({ width: 375, height: 700 });
  await both(tab, 'beside-375');
  await tab.$('.beside').getByRole('button', { name: 'Code' }).click();
  await both(tab, 'beside-375-code');
});

/* ---- a signed link, on a phone without script ---- */

const form = { type: 'object', properties: { amount: { type: 'number', title: 'Amount', description: 'In whole dollars' }, memo: { type: 'string' }, kind: { enum: ['now', 'later'] } }, required: ['amount', 'recipient'] };

test('the page behind a signed link speaks the languages of the page, and fits a phone', async (t) => {
  const words = { 'en-GB': ['Approve', 'You decide as fay.'], 'de-DE': ['Freigeben', 'Sie entscheiden als fay.'], 'ja-JP': ['承認', 'fay として回答します。'] };
  const model = await t.model([pays, 'Paid.']);
  const server = await t.server({
    model: model.config,
    tools: { pay: { ...pay, input_schema: form, edit: ['/amount', '/memo', '/kind'] } },
    auth: { keys: [key('ada', 'user'), key('fay', 'finance'), key('bot', 'notifier')] },
    approvals: { rules: [{ tool: '*', from: { role: 'finance', not_requester: true } }] },
    public_url: 'http://127.0.0.1',
    links: { key: 'text:0123456789abcdef0123456789abcdef' },
  });
  const as = (name) => ({ authorization: `Bearer ${name}`, 'content-type': 'application/json' });
  await (await fetch(`${server.url}/v1/chat/stream`, { method: 'POST', headers: as('ada'), body: JSON.stringify({ message: 'Please pay Hanako her fifty dollars' }) })).text();
  const { approvals } = await (await fetch(`${server.url}/v1/approvals?status=pending`, { headers: as('fay') })).json();
  const made = await fetch(`${server.url}/v1/approvals/${approvals[0].id}/links`, { method: 'POST', headers: as('bot'), body: JSON.stringify({ for: 'fay' }) });
  const path = new URL((await made.json()).url).pathname;
  for (const [locale, [yes, who]] of Object.entries(words)) {
    const phone = { viewport: { width: 375, height: 667 }, isMobile: true, hasTouch: true, javaScriptEnabled: false, ready: 'h1', locale };
    const tab = await t.tab(server, { path, ...phone });
    const code = locale.slice(0, 2);
    for (const colorScheme of ['light', 'dark']) {
      await tab.page.emulateMedia({ colorScheme });
      equal(await sticksOut(tab), 0, 'width');
      ok(await inSight(tab, 'button.yes'), 'the buttons are in sight at once');
      await keep(tab, `link-${code}-${colorScheme}`);
    }
    await tab.$('.as').evaluate((e) => e.scrollIntoView()).catch(() => {});
    equal([await tab.page.getByRole('button', { name: yes, exact: true }).count(), await tab.page.getByText(who).count()], [1, 1], locale);
    // What the browser itself finds wrong is said in its words; a no is not held up by it.
    await tab.page.locator('[name="f.amount"]').fill('');
    await tab.page.getByRole('button', { name: yes, exact: true }).tap();
    equal(new URL(tab.page.url()).pathname, path, 'still there');
    await tab.page.locator('[name="f.memo"]').scrollIntoViewIfNeeded();
    await keep(tab, `link-${code}-form`);
    await tab.close();
  }
  const last = await t.tab(server, { path, locale: 'de-DE', javaScriptEnabled: false, ready: 'h1', viewport: { width: 375, height: 667 } });
  await last.page.locator('[name="f.amount"]').fill('');
  await last.page.getByRole('button', { name: 'Ablehnen' }).click();
  await last.page.getByText('Sie haben abgelehnt').waitFor();
  await keep(last, 'link-de-said');
});
