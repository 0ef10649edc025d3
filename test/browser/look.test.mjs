// Accessibility, widths, themes, keyboard; and the pictures for the documentation.
import { join } from 'node:path';
import { inflateSync } from 'node:zlib';
import { fitsIn, shot, violations } from './lib/look.mjs';
import { test, equal, ok } from './lib/test.mjs';

const bothThemes = ['light', 'dark'].map((theme) => [1200, theme]);

test('axe finds nothing, in light and dark, in whatever state', async (t) => {
  const tab = await t.tab(await t.server({ demo: { token_ms: 1 } })); // so that a tool takes its time, which is shown
  const looks = (what, picture) => fitsIn(tab, bothThemes, what, (_, theme) => picture && shot(tab, `${picture}-${theme}`));
  await looks('empty', 'empty');
  await tab.ask('Find articles about CRISPR');
  await tab.$('.tool-head').click();
  await looks('tool');
  await tab.$('.tool-head').click();
  await tab.page.mouse.move(0, 0);
  if (process.env.SCREENS) await looks('tool, folded', 'tool');
  await tab.send('Send 50 dollars to Hanako');
  await tab.card();
  await looks('approval', 'approval');
  await tab.page.getByRole('button', { name: /Waiting for you/ }).click();
  await looks('inbox');
  await tab.page.keyboard.press('Escape');
  await tab.deny();
  await tab.$('.tool[data-status="denied"]').waitFor();
  await tab.ask('Propose a schema');
  await looks('actions', 'actions');
  await tab.ask('Simulate a model error');
  await looks('failure');
  await tab.page.getByRole('button', { name: 'Settings' }).click();
  await tab.page.getByText('Show the raw events').click();
  await looks('settings and raw events');
});

test('a theme that a person has chosen is readable, whatever the system wishes', async (t) => {
  const server = await t.server();
  for (const [theme, colorScheme] of [['dark', 'light'], ['light', 'dark']]) {
    const tab = await t.tab(server, { theme, colorScheme });
    await tab.send('Send 50 dollars to Hanako');
    await tab.card();
    equal(await violations(tab), [], theme);
  }
});

test('a running tool shows how far it is; and pictures of it, of an artifact and of a phone', async (t) => {
  const progress = JSON.stringify({ progress: 0.6, stage: 'reading', message: 'Reading 9 of 15 articles...' });
  const archive = {
    description: 'A slow archive',
    exec: { command: ['sh', '-c', `echo '${progress}'; sleep 60`] },
    input_schema: { type: 'object' },
    confirm: 'never',
    timeout: 90,
  };
  const model = await t.model([
    { text: 'Let me look that up in the archive.', calls: [{ name: 'search_archive', arguments: { query: 'CRISPR' } }] },
  ]);
  const slow = await t.tab(await t.server({ model: model.config, tools: { search_archive: archive } }));
  await slow.send('What does the archive say about CRISPR?');
  await slow.$('.tool[data-status="running"] .bar[aria-valuenow="60"]').waitFor();
  await slow.page.getByText('Reading 9 of 15').waitFor();
  if (!process.env.SCREENS) return;
  await shot(slow, 'running');
  const server = await t.server({ demo: { token_ms: 10 } });
  const tab = await t.tab(server, { viewport: { width: 1200, height: 860 } }); // all of it
  await tab.ask('Build me a todo app');
  await tab.artifact();
  await shot(tab, 'artifact');
  const small = await t.tab(server, phone);
  await sendByThumb(small, 'Send 50 dollars to Hanako');
  await small.card();
  await shot(small, 'phone-approval');
});

test('at 320 px nothing is cut off and nothing scrolls sideways', async (t) => {
  const tab = await t.tab(await t.server(), { viewport: { width: 320, height: 640 } });
  const fits = async (where) =>
    ok(
      await tab.page.evaluate(
        () =>
          document.scrollingElement.scrollWidth <= innerWidth &&
          [...document.querySelectorAll('main button, main article, main textarea')].every(
            (e) => e.getBoundingClientRect().right <= innerWidth + 1,
          ),
      ),
      `${where} fits`,
    );
  await fits('empty');
  await tab.ask('Find articles about CRISPR');
  await tab.$('.tool-head').click();
  await fits('tool');
  await tab.send('Send 50 dollars to Hanako');
  await tab.card();
  await fits('approval');
  await tab.deny();
  await tab.$('.tool[data-status="denied"]').waitFor();
  await tab.ask('Propose a schema');
  await fits('actions');
  await tab.page.getByRole('button', { name: 'Conversations' }).click();
  await tab.$('.side-wrap.open .side').waitFor(); // the list as a drawer
  await tab.$('.row a').first().click();
});

const phone = { viewport: { width: 390, height: 780 }, isMobile: true, hasTouch: true, deviceScaleFactor: 2 };

async function sendByThumb(tab, text) {
  await tab.$('.composer textarea').fill(text);
  await tab.$('.round').tap();
}

test('on a phone a request stands above the composer, its buttons within reach of the thumb', async (t) => {
  const letter = {
    description: 'Sends a letter',
    exec: { command: ['sh', '-c', `read letter; echo '{"result":"sent"}'`] },
    input_schema: { type: 'object', properties: { to: { type: 'string' }, words: { type: 'string' } } },
    confirm: 'always',
    ask: 'Send this letter to {to}?',
  };
  const send = (to) => ({ name: 'send_letter', arguments: { to, words: 'You must know that nothing here is short. '.repeat(30) } });
  const model = await t.model([{ text: 'Two letters.', calls: [send('Ken'), send('Yuki')] }, 'Done.']);
  const server = await t.server({ model: model.config, tools: { send_letter: letter } });
  const tab = await t.tab(server, phone);
  await sendByThumb(tab, 'write twice');
  await tab.card();
  const place = async (name) => tab.$('.ask-sheet').getByRole('button', { name, exact: true }).boundingBox();
  for (const name of ['Approve', 'Deny']) {
    const box = await place(name);
    ok(box.y > 390 && box.y + box.height < 780, `${name} is in the lower half (${box.y})`);
    ok(box.height >= 44, `${name} is large enough (${box.height})`);
  }
  ok((await tab.$('.scroller').boundingBox()).height > 150, 'the conversation can still be read');
  equal(await tab.$('.asked').count(), 2, 'their places in the text');
  // Put away to read and write, and back.
  await tab.$('.sheet-fold').tap();
  equal(await tab.$('.ask-sheet .ask').count(), 0, 'folded');
  ok((await tab.$('.sheet-fold').innerText()).includes('Send this letter to Ken'), 'what it is about');
  await tab.$('.sheet-fold').tap();
  await tab.page.getByRole('button', { name: 'Next request' }).tap();
  await tab.until(() => document.querySelector('.ask-sheet .ask[data-armed="true"]')?.innerText.includes('letter to Yuki'));
  await tab.$('.ask-sheet .ask-yes').tap();
  await tab.until(() => document.querySelector('.ask-sheet .ask[data-armed="true"]')?.innerText.includes('letter to Ken'));
  await tab.$('.ask-sheet').getByRole('button', { name: 'Deny', exact: true }).tap();
  await tab.$('.tool[data-status="denied"]').waitFor();
  await tab.idle();
  equal(await tab.$('.ask-sheet').count(), 0, 'the sheet is gone');
  equal(await tab.$('.tool').evaluateAll((all) => all.map((e) => e.dataset.status)), ['denied', 'done']);
});

test('on a phone a long press brings the tools of a message', async (t) => {
  const tab = await t.tab(await t.server(), phone);
  for (const city of ['Tokyo', 'Paris']) {
    await sendByThumb(tab, `What is the weather in ${city}?`);
    await tab.until((c) => [...document.querySelectorAll('.said')].at(-1)?.innerText.includes(c), city);
    await tab.idle();
  }
  const cdp = await tab.context.newCDPSession(tab.page);
  const press = async (what) => {
    await what.scrollIntoViewIfNeeded();
    const box = await what.boundingBox();
    const touchPoints = [{ x: box.x + 20, y: box.y + box.height / 2 }];
    await cdp.send('Input.dispatchTouchEvent', { type: 'touchStart', touchPoints });
    return () => cdp.send('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [] });
  };
  const shown = (selector) =>
    tab.until((s) => {
      const tools = document.querySelector(s);
      return tools?.checkVisibility({ opacityProperty: true }) && getComputedStyle(tools).opacity === '1';
    }, selector);
  equal(await tab.$('article.user .msg-tools').first().isVisible(), false, 'hidden at first');
  const release = await press(tab.$('.bubble').first());
  await shown('.turn:first-child article.user .msg-tools');
  await release();
  await (await press(tab.$('.turn:first-child .text').last()))();
  await shown('.turn:first-child .said > .msg-tools');
  await tab.$('.turn:first-child').getByRole('button', { name: 'Copy answer' }).tap();
});

test('axe finds nothing on a phone, with a request and with pictures', async (t) => {
  const tab = await t.tab(await t.server(), phone);
  await tab.$('.attach input').setInputFiles(join(import.meta.dirname, '../../docs/screens/phone-approval.png'));
  await tab.$('.pictures img').waitFor();
  equal(await violations(tab), [], 'pictures to send');
  await sendByThumb(tab, 'Send 50 dollars to Hanako');
  await tab.card();
  equal(await violations(tab), [], 'request');
  await tab.page.getByRole('button', { name: /what to change/ }).tap();
  equal(await violations(tab), [], 'request with a wish');
});

test('on a phone everything that is pressed is at least 44 px high', async (t) => {
  const tab = await t.tab(await t.server(), phone);
  const small = () =>
    tab.page.evaluate(() =>
      [...document.querySelectorAll('button, a[href], input, textarea, [role="button"]')]
        .filter((e) => e.checkVisibility({ opacityProperty: true, visibilityProperty: true }))
        // Words in a sentence and crosses on a picture catch more than they show; a choice and the message have a larger frame.
        .filter((e) => !e.matches('.link, .pictures .quiet, .md a, .choices input, .composer textarea, .scrim'))
        .map((e) => [e.getAttribute('aria-label') ?? e.textContent, Math.round(e.getBoundingClientRect().height)])
        .filter(([, height]) => height < 44),
    );
  equal(await small(), [], 'empty');
  await sendByThumb(tab, 'Find articles about CRISPR');
  await tab.$('.chip').first().waitFor();
  await tab.$('.tool-head').first().tap();
  equal(await small(), [], 'tool');
  await sendByThumb(tab, 'Send 50 dollars to Hanako');
  await tab.card();
  equal(await small(), [], 'request');
  await tab.deny();
  await tab.$('.tool[data-status="denied"]').waitFor();
  await tab.idle();
  equal(await small(), [], 'record');
  await tab.page.getByRole('button', { name: 'Conversations' }).tap();
  await tab.$('.row a').first().waitFor();
  equal(await small(), [], 'list');
  await tab.$('.row a').first().tap();
  await tab.page.getByRole('button', { name: 'Settings' }).tap();
  equal(await small(), [], 'settings');
});

test('with reduced motion nothing moves by itself', async (t) => {
  const model = await t.model(['One two three four.'], { hold: true, at: 0 });
  const tab = await t.tab(await t.server({ model: model.config }), { reducedMotion: 'reduce' });
  await tab.send('count');
  await tab.$('.thinking').waitFor();
  equal(await tab.page.evaluate(() => document.getAnimations().length), 0, 'animations');
  model.release();
  await tab.idle();
});

test('a message says its language where its letters tell it', async (t) => {
  const model = await t.model(['東京は晴れです。', 'It is sunny in Tokyo.']);
  const tab = await t.tab(await t.server({ model: model.config }));
  await tab.ask('東京の天気は?');
  await tab.ask('And in English?');
  const languages = (selector) => tab.$(selector).evaluateAll((all) => all.map((e) => e.getAttribute('lang')));
  equal(await languages('.said'), ['ja', null], 'answers');
  equal(await languages('.bubble'), ['ja', null], 'questions');
  equal(await tab.$('html').getAttribute('lang'), 'en', 'the page');
});

test('a dark page is dark from its first paint', async (t) => {
  const tab = await t.tab(await t.server(), { theme: 'dark', colorScheme: 'light' });
  await tab.page.route('**/assets/*.js', () => {}); // the page's own script never comes
  await tab.page.goto(tab.url, { waitUntil: 'commit' });
  await tab.until(() => document.documentElement.dataset.theme === 'dark');
  await tab.page.unroute('**/assets/*.js');
  await tab.page.goto(tab.url);
  await tab.page.waitForSelector('.composer');
});

test('everything without a mouse: ask, decide, copy, switch', async (t) => {
  const server = await t.server();
  const tab = await t.tab(server);
  const { keyboard } = tab.page;
  await keyboard.press('/');
  await keyboard.type('Send 50 dollars to Hanako');
  await keyboard.press('Enter');
  await tab.card();
  // Backwards from the composer: the last thing in the card comes first.
  const reach = async (name) => {
    for (let n = 0; n < 30; n++) {
      await keyboard.press('Shift+Tab');
      if ((await tab.page.evaluate(() => document.activeElement?.textContent)) === name) return;
    }
    throw new Error(`${name} cannot be reached`);
  };
  await reach('Approve');
  ok(await tab.page.evaluate(() => document.activeElement.matches(':focus-visible')), 'the focus is seen');
  await keyboard.press('Enter');
  await tab.$('.tool[data-status="done"]').waitFor();
  await tab.idle();
  await keyboard.press('Alt+ArrowUp');
  ok(await tab.page.evaluate(() => document.activeElement?.matches('article')), 'from message to message');
  await keyboard.press('?');
  await tab.page.getByRole('dialog', { name: 'Keyboard' }).waitFor();
  await keyboard.press('Escape');
  await keyboard.press('Control+Shift+O');
  await tab.$('.starter').first().waitFor();
  await keyboard.press('Control+k');
  await tab.until(() => document.activeElement?.matches('input[type=search]'));
  equal(server.ledger().length, 1, 'payments');
});

test('screen readers hear boundaries, not tokens', async (t) => {
  const call = (name, args) => ({ calls: [{ name, arguments: args }] });
  const turns = [call('search_articles', { query: 'CRISPR' }), 'There are two.', call('process_payment', { amount: 50, currency: 'USD', recipient: 'Hanako' })];
  const model = await t.model(turns, { hold: true, at: 0 });
  const tab = await t.tab(await t.server({ model: model.config, demo: { tools: true } }));
  await tab.page.evaluate(() => {
    window.heard = [];
    for (const el of document.querySelectorAll('main > .sr[aria-live]'))
      new MutationObserver(() => window.heard.push(el.textContent)).observe(el, { childList: true, characterData: true, subtree: true });
  });
  await tab.send('Find articles about CRISPR');
  await tab.until(() => window.heard.some((h) => h.startsWith('Tool search_articles')));
  model.release();
  await tab.until(() => window.heard.some((h) => h.startsWith('Answer complete')));
  await tab.send('Send 50 dollars to Hanako');
  await tab.card();
  const heard = await tab.page.evaluate(() => window.heard);
  ok(
    heard.some((h) => h.startsWith('Approval needed: Send 50 USD')),
    'approvals',
  );
  ok(heard.length < 14, `few words (${heard.length})`);
  equal(await tab.$('[role="log"]').getAttribute('aria-live'), 'off', 'the log is not live');
});

test('the alert for screen readers is about the request that waits, and empty when none does', async (t) => {
  const calls = [5, 6].map((amount) => ({ name: 'process_payment', arguments: { amount, currency: 'USD', recipient: 'Ken' } }));
  const model = await t.model([{ calls }, 'Good.']);
  const tab = await t.tab(await t.server({ model: model.config, demo: { token_ms: 0, tools: true } }));
  const said = (words) => tab.until((w) => document.querySelector('main > .sr[role="alert"]').textContent === w, words);
  await tab.send('pay twice');
  await said('Approval needed: Send 5 USD to Ken?');
  await tab.approve();
  await said('Approval needed: Send 6 USD to Ken?');
  await tab.approve();
  await said('');
});

/* The colour of one point of the screen, as numbers. */
async function colourAt(tab, x, y) {
  const png = await tab.page.screenshot({ clip: { x, y, width: 1, height: 1 }, animations: 'disabled' });
  const data = [];
  for (let at = 8; at < png.length; at += 12 + png.readUInt32BE(at))
    if (png.toString('latin1', at + 4, at + 8) === 'IDAT') data.push(png.subarray(at + 8, at + 8 + png.readUInt32BE(at)));
  return [...inflateSync(Buffer.concat(data)).subarray(1, 4)]; // behind the row's filter, which does nothing to a first pixel
}

const pages = {
  'knows dark': ['<style>:root{color-scheme:light dark}</style><button>Words</button>', { light: [255, 255, 255], dark: [29, 32, 36] }],
  'knows no dark': ['<button>Words</button>', { light: [255, 255, 255], dark: [255, 255, 255] }],
};

for (const [what, [content, colours]] of Object.entries(pages)) {
  test(`an artifact that ${what} stands on the colour it is written for`, async (t) => {
    const output = JSON.stringify({ result: { artifact: { type: 'html', title: 'Page', content } } });
    const build = {
      description: 'Builds',
      exec: { command: ['sh', '-c', `echo '${output}'`] },
      input_schema: { type: 'object' },
      confirm: 'never',
      shows: 'artifact',
    };
    const model = await t.model([{ calls: [{ name: 'build_page', arguments: {} }] }, 'Done.']);
    const server = await t.server({ model: model.config, tools: { build_page: build } });
    for (const theme of ['light', 'dark']) {
      model.asked = 0;
      const tab = await t.tab(server, { theme, colorScheme: theme });
      await tab.ask('build');
      await tab.artifact();
      const box = await tab.$('.artifact iframe').boundingBox();
      equal(await colourAt(tab, box.x + box.width / 2, box.y + box.height / 2), colours[theme], theme);
    }
  });
}

test('a list in a right-to-left language has its marks and its indent on the right', async (t) => {
  const model = await t.model(['- واحد\n- اثنان\n\nThen:\n\n1. one\n2. two\n\n> שלום']);
  const tab = await t.tab(await t.server({ model: model.config }));
  await tab.ask('count');
  const indents = (selector) =>
    tab.$(selector).evaluate((e) => {
      const { paddingLeft, paddingRight } = getComputedStyle(e);
      return [paddingLeft, paddingRight];
    });
  equal(await indents('.md ul'), ['0px', '24px'], 'Arabic');
  equal(await indents('.md ol'), ['24px', '0px'], 'English');
  equal(await indents('.md blockquote'), ['0px', '16px'], 'Hebrew');
});

test('at 320 px the settings fit, and so do the raw events below the composer', async (t) => {
  const tab = await t.tab(await t.server(), { viewport: { width: 320, height: 640 } });
  await tab.page.getByRole('button', { name: 'Settings' }).click();
  const cut = await tab.$('dialog').evaluate((d) =>
    [...d.querySelectorAll('label, label *')]
      .filter((e) => e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 0)
      .map((e) => e.textContent),
  );
  equal(cut, [], 'what is wider than its frame');
  await tab.page.getByText('Show the raw events').click();
  await tab.page.keyboard.press('Escape');
  await tab.$('.dev').waitFor();
  const [dev, composer] = [await tab.$('.dev').boundingBox(), await tab.$('.composer').boundingBox()];
  ok(dev.y >= composer.y + composer.height, 'the composer is above them');
  ok(
    await tab.$('.dev header').evaluate((h) => [...h.children].every((e) => e.getBoundingClientRect().right <= innerWidth)),
    'their buttons are on the screen',
  );
});

const focused = (tab, selector) => tab.until((s) => document.activeElement?.matches(s), selector);

test('the focus stays where something was done: decided, renamed', async (t) => {
  const tab = await t.tab(await t.server());
  const { keyboard } = tab.page;
  await tab.send('Send 50 dollars to Hanako');
  await tab.card();
  await tab.$('.ask-yes').focus();
  await keyboard.press('Enter');
  await focused(tab, '.record-line');
  await tab.idle();
  await tab.page.getByRole('button', { name: /^Rename/ }).focus();
  await keyboard.press('Enter');
  await tab.$('.rename').fill('Rent');
  await keyboard.press('Enter');
  await focused(tab, '.row a');
  equal(await tab.$('.row-title').innerText(), 'Rent', 'the list');
  // One name everywhere.
  await tab.until(() => document.querySelector('.top-title').textContent === 'Rent' && document.title === 'Rent · parley');
});

test('the drawer takes the focus, keeps the page out of reach, and gives it back', async (t) => {
  const tab = await t.tab(await t.server(), { viewport: { width: 390, height: 780 } });
  const { keyboard } = tab.page;
  await tab.page.getByRole('button', { name: 'Conversations' }).focus();
  await keyboard.press('Enter');
  await focused(tab, '.side button');
  for (let n = 0; n < 12; n++) {
    await keyboard.press('Tab');
    ok(!(await tab.page.evaluate(() => document.activeElement.closest('main'))), 'not behind the drawer');
  }
  await tab.page.evaluate(() => document.activeElement.blur());
  await keyboard.press('Escape');
  await focused(tab, '.quiet.menu');
  equal(await tab.$('.side-wrap.open').count(), 0, 'closed');
  await keyboard.press('Control+k');
  await focused(tab, 'input[type=search]');
  await keyboard.press('Escape');
  await focused(tab, '.quiet.menu');
});

test('the composer fits its words at every width', async (t) => {
  const tab = await t.tab(await t.server());
  await tab.$('.composer textarea').fill('A message of some length that has to be broken. '.repeat(4));
  const wide = await tab.$('.composer textarea').evaluate((e) => e.clientHeight);
  await tab.page.setViewportSize({ width: 390, height: 800 });
  await tab.until((h) => {
    const { scrollHeight, clientHeight } = document.querySelector('.composer textarea');
    return clientHeight > h && clientHeight === scrollHeight;
  }, wide);
  await tab.page.setViewportSize({ width: 1200, height: 800 });
  await tab.until((h) => document.querySelector('.composer textarea').clientHeight === h, wide);
});

test('on a small phone risk and expiry are seen at once, and the wish is not under the buttons', async (t) => {
  const tab = await t.tab(await t.server(), { ...phone, viewport: { width: 320, height: 640 } });
  await sendByThumb(tab, 'Send 50 dollars to Hanako');
  await tab.card();
  const above = (selector) =>
    tab.until((s) => {
      const [box, what, buttons] = ['.ask-sheet .ask', s, '.ask-sheet .ask-buttons'].map((q) =>
        document.querySelector(q).getBoundingClientRect(),
      );
      return what.top >= box.top && what.bottom <= buttons.top;
    }, selector);
  await above('.ask-sheet .risk');
  await above('.ask-sheet .countdown');
  await tab.page.getByRole('button', { name: /what to change/ }).tap();
  await focused(tab, '.ask-reason input');
  await above('.ask-reason input');
});
