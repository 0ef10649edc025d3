// Little room: a phone on its side, a page enlarged to 200 % and 400 %, a keyboard over half the screen.
import { equal, ok, test } from './lib/test.mjs';

const touch = { isMobile: true, hasTouch: true };
const rooms = [
  [touch, { 'a phone on its side': [667, 375], 'a small phone on its side': [568, 320], 'a phone with its keyboard up': [390, 400] }],
  [{}, { 'a page enlarged to 200 %': [640, 512], 'a page enlarged to 400 %': [320, 256], 'a laptop enlarged to 400 %': [320, 200] }],
];

/* In the view, and not under anything else. */
const seen = (tab, what) =>
  (typeof what === 'string' ? tab.$(what) : what).evaluate((e) => {
    const box = e.getBoundingClientRect();
    const inside = box.top >= -0.5 && box.left >= -0.5 && box.bottom <= innerHeight + 0.5 && box.right <= innerWidth + 0.5;
    const points = [
      [box.left + 2, box.top + 3],
      [box.left + box.width / 2, box.top + box.height / 2],
      [box.left + box.width / 2, box.bottom - 3],
    ];
    return inside && points.every(([x, y]) => ((hit) => hit && (e.contains(hit) || hit.contains(e)))(document.elementFromPoint(x, y)));
  });

const sentence = '.ask-sheet .ask-title';
const amount = '.ask-sheet .args tr:first-child td';
const yes = '.ask-sheet .ask-yes';
const no = '.ask-sheet .ask-buttons .button.outline';
const composer = '.composer textarea';

async function asked(t, viewport, options = {}) {
  const tab = await t.tab(await t.server(), { viewport, ...options });
  await tab.$(composer).fill('Send 50 dollars to Hanako');
  await tab.$('.composer .round').click();
  await tab.card();
  return tab;
}

for (const [options, sizes] of rooms) {
  test(`on ${Object.keys(sizes).join(', ')} the sentence, the amount and both buttons are seen together, and the composer with them`, async (t) => {
    const each = async (look) => {
      for (const [name, [width, height]] of Object.entries(sizes)) {
        await tab.page.setViewportSize({ width, height });
        await look(name);
      }
    };
    const tab = await asked(t, { width: 667, height: 375 }, options);
    await each(async (name) => {
      for (const part of [sentence, amount, yes, no, composer]) ok(await seen(tab, part), `${part} on ${name}`);
      equal(await tab.page.evaluate(() => document.documentElement.scrollWidth > innerWidth), false, `nothing scrolls sideways on ${name}`);
    });
    await tab.$(yes).click();
    await tab.$('.tool[data-status="done"]').waitFor();
    await each(async (name) => ok(await seen(tab, composer), `the composer stays on ${name}`));
  });
}

test('with a keyboard over a phone on its side everything is still to be reached, and the composer stays', async (t) => {
  const tab = await asked(t, { width: 667, height: 170 }, touch);
  ok(await seen(tab, composer), 'the composer');
  for (const part of [sentence, amount, yes, no]) {
    await tab.$(part).evaluate((e) => e.scrollIntoView({ block: 'nearest' }));
    ok(await seen(tab, part), part);
  }
});

test('in little room a choice before sending is to be reached, and the composer stays', async (t) => {
  const tab = await asked(t, { width: 320, height: 256 });
  await tab.$(composer).fill('yes');
  await tab.page.keyboard.press('Enter');
  const choice = '.set-aside .ask-yes';
  await tab.$(choice).evaluate((e) => e.scrollIntoView({ block: 'nearest' }));
  ok(await seen(tab, choice), 'the answer');
  ok(await seen(tab, composer), 'the composer');
});

/* A request that can be answered in five ways, two of them in words. */
const paying = {
  description: 'Pays',
  exec: { command: ['cat'] },
  input_schema: { type: 'object', properties: { recipient: { type: 'string' }, amount: { type: 'number' } } },
  confirm: 'always',
  risk: 'high',
  ask: 'Pay {amount} to {recipient}?',
  edit: ['/amount'],
  grant: { for: 28_800, count: 20, sum: '/amount', max: 500, same: ['/recipient'] },
};
const pays = { calls: [{ name: 'pay', arguments: { recipient: 'Hanako', amount: 50 } }] };

/* Every way to answer can be brought into view, and is then seen whole, with all its words. */
async function whole(tab, where) {
  const ways = tab.$('.ask :is(.ask-yes, .button, .link)');
  for (const way of await ways.all()) {
    const name = await way.innerText();
    await way.evaluate((e) => e.scrollIntoView({ block: 'nearest' }));
    ok(await seen(tab, way), `"${name}", ${where}`);
    equal(await way.evaluate((e) => e.scrollWidth > e.clientWidth || e.scrollHeight > e.clientHeight + 1), false, `the words of "${name}", ${where}`);
  }
  const sideways = await tab.$('.ask, .ask *').evaluateAll((all) => all.filter((e) => e.scrollWidth > e.clientWidth && /auto|scroll/.test(getComputedStyle(e).overflowX)).map((e) => e.className));
  equal(sideways, [], `what goes on beside what is seen, ${where}`);
  return ways.count();
}

for (const locale of ['en-GB', 'de-DE', 'ja-JP'])
  test(`at 320 px and at 400 % every way to answer is whole, ${locale}`, async (t) => {
    const model = await t.model([pays]);
    const tab = await t.tab(await t.server({ model: model.config, tools: { pay: paying } }), { viewport: { width: 320, height: 640 }, locale });
    await tab.send('Pay Hanako');
    await tab.card();
    const link = (n) => tab.$('.ask .link').nth(n);
    for (const height of [640, 256, 200]) {
      await tab.page.setViewportSize({ width: 320, height });
      equal(await whole(tab, `320 x ${height}`), 5, 'ways to answer');
      for (const [n, name] of [[0, 'a wish'], [1, 'changes'], [2, 'a grant']]) {
        await link(n).click();
        await tab.until(() => document.querySelectorAll('.ask .link').length < 3);
        await whole(tab, `320 x ${height}, with ${name}`);
        await link(n === 2 ? 1 : 0).click();
        await tab.until(() => document.querySelectorAll('.ask .link').length === 3);
      }
    }
    // The same card on a page of its own.
    await tab.page.setViewportSize({ width: 320, height: 640 });
    await tab.page.goto(`${tab.url}/inbox`);
    await tab.card();
    equal(await whole(tab, 'in the inbox'), 5, 'ways to answer there');
  });
