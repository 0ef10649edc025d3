// The assistant in other people's pages: the packed components in a fresh app, and one script tag
// on a plain site.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { until } from '../lib/check.mjs';
import { App } from './lib/app.mjs';
import { Site } from './lib/site.mjs';
import { test, equal, ok } from './lib/test.mjs';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
// SHOTS=folder keeps what the tests saw; SCREENS=1 renews the pictures of the documentation.
async function shot(tab, name, folder = process.env.SHOTS) {
  if (folder)
    await tab.page.screenshot({ path: join(folder, `${name}.png`), animations: 'disabled' });
}

/* Every violation, in what is ours: the shop's own style is bad on purpose. */
async function violations(tab, selector) {
  if (!(await tab.page.evaluate(() => 'axe' in window))) await tab.page.evaluate(axe);
  const within = await tab.page.evaluate(async (s) => {
    const roots = [...document.querySelectorAll('*')].filter((e) => e.shadowRoot);
    await Promise.all(
      roots.flatMap((e) =>
        e.shadowRoot
          .getAnimations()
          .filter((a) => a.effect?.getTiming().iterations !== Infinity)
          .map((a) => a.finished.catch(() => {})),
      ),
    );
    const found = [];
    for (const host of roots) {
      const at = host.shadowRoot.querySelector(s);
      if (!at) continue;
      const { violations } = await window.axe.run(at, { resultTypes: ['violations'] });
      found.push(
        ...violations.map(
          (v) =>
            `${v.id}: ${v.nodes
              .slice(0, 3)
              .map((n) => `${n.target.join(' ')} ${n.any?.[0]?.message ?? ''}`)
              .join(', ')}`,
        ),
      );
    }
    return found;
  }, selector);
  return within;
}

const at = (server, view, more = {}) =>
  `/?${new URLSearchParams({ view, server: server.url, ...more })}`;
const answered = (tab) => tab.$('article.assistant:not([aria-busy="true"])');

test('the packed <Chat> in a fresh app on another origin: a payment is approved by its card', async (t) => {
  const app = await App.make();
  const server = await t.server({ page: { embed: [app.url] } });
  const tab = await t.tab(app, { path: at(server, 'chat') });
  const head = await tab.page.evaluate(() => document.head.childElementCount);
  await tab.$('.chip', { hasText: 'Find articles about CRISPR' }).click();
  await tab.$('.tool[data-status="done"]').waitFor();
  await answered(tab).waitFor();
  await tab.send('Send 50 dollars to Hanako');
  await tab.$('.ask[data-armed="true"]').waitFor();
  equal(server.ledger().length, 0, 'payments before the yes');
  equal(await violations(tab, '.parley'), [], 'axe');
  await shot(tab, 'embed-chat');
  await tab.$('.ask .ask-yes').click();
  await tab.$('.tool[data-tool="process_payment"][data-status="done"]').waitFor();
  equal(server.ledger().length, 1, 'payments');
  ok((await tab.$('.record').innerText()).includes('Approved by you'), 'the record');
  // The conversation has an id that the app was told, and is there after a reload.
  const thread = await tab.$('main').first().getAttribute('data-thread');
  await tab.page.goto(app.url + at(server, 'chat', { thread }));
  await tab.$('.tool[data-tool="process_payment"][data-status="done"]').waitFor();
  equal(
    await tab.$('article.user .bubble').allInnerTexts(),
    ['Find articles about CRISPR', 'Send 50 dollars to Hanako'],
    'the history',
  );
  equal(
    await tab.page.evaluate(() => document.head.childElementCount),
    head,
    'what stands in the head of the page',
  );
});

test('the styles of an app and ours do not touch each other', async (t) => {
  const app = await App.make();
  const server = await t.server({ page: { embed: [app.url] } });
  const tab = await t.tab(app, { path: at(server, 'chat') });
  await tab.send('Find articles about CRISPR');
  await tab.$('.tool[data-status="done"]').waitFor();
  const style = (selector, ...names) =>
    tab
      .$(selector)
      .first()
      .evaluate((e, all) => all.map((n) => getComputedStyle(e).getPropertyValue(n)), names);
  equal(
    await style(
      '.bubble',
      'background-color',
      'font-size',
      'font-style',
      'letter-spacing',
      'font-variant',
    ),
    ['rgb(31, 94, 255)', '16px', 'normal', 'normal', 'normal'],
    'a bubble',
  );
  equal(
    await style('.tool-head', 'border-top-width', 'color'),
    ['0px', 'rgb(27, 29, 31)'],
    'a button of ours',
  );
  equal(
    await style('.column', 'max-width'),
    ['768px'],
    'a size that was in rem, where a rem is 10 px',
  );
  equal(
    await style('main > .button', 'outline-width', 'background-color', 'border-radius'),
    ['7px', 'rgb(255, 255, 0)', '0px'],
    "the app's button of the same name",
  );
});

test('<ApprovalCard> and <ToolCallCard> beside the hook, answered by keyboard alone', async (t) => {
  const app = await App.make();
  const server = await t.server({ page: { embed: [app.url] } });
  for (const theme of ['light', 'dark']) {
    const tab = await t.tab(app, {
      path: at(server, 'cards', { theme }),
      ready: 'main > button',
      viewport: { width: 640, height: 720 },
    });
    await tab.page.getByRole('button', { name: 'Find' }).click();
    await tab.$('.tool[data-status="done"]').waitFor();
    await tab.page.getByRole('button', { name: 'Pay' }).click();
    await tab.$('.ask[data-armed="true"]').waitFor();
    await tab.$('.tool-head').first().press('Enter');
    ok(
      (await tab.$('.tool-body').first().innerText()).includes('CRISPR'),
      'what went in and came out',
    );
    equal(
      [...(await violations(tab, '.ask')), ...(await violations(tab, '.tool'))],
      [],
      `axe, ${theme}`,
    );
    await shot(tab, `embed-cards-${theme}`);
    const before = server.ledger().length;
    for (let n = 0; n < 20 && !(await tab.$('.ask-yes').evaluate((e) => e.matches(':focus'))); n++)
      await tab.page.keyboard.press('Tab');
    await tab.page.keyboard.press('Enter');
    await tab.$('.tool[data-tool="process_payment"][data-status="done"]').waitFor();
    equal(server.ledger().length, before + 1, 'payments');
    await tab.page.close();
  }
});

const sha256 = (text) => createHash('sha256').update(text).digest('hex');
const key = (principal, ...roles) => ({ sha256: sha256(`key of ${principal}`), principal, roles });

test('<ApprovalInbox>: an approver answers there what others asked for', async (t) => {
  const app = await App.make();
  const server = await t.server({
    page: { embed: [app.url] },
    auth: { keys: [key('ada', 'user'), key('bob', 'approver')] },
    approvals: { who: 'approver' },
  });
  const ask = await fetch(`${server.url}/v1/chat/stream`, {
    method: 'POST',
    headers: { authorization: 'Bearer key of ada', 'content-type': 'application/json' },
    body: JSON.stringify({ message: 'Send 50 dollars to Hanako' }),
  });
  await ask.text();
  const tab = await t.tab(app, {
    path: at(server, 'inbox', { key: 'key of bob' }),
    ready: '.ask',
    viewport: { width: 560, height: 640 },
  });
  equal(await tab.$('.count').innerText(), '1', 'how many wait');
  ok(
    /ada asks, .*: ?“?Send 50 dollars to Hanako/.test(
      (await tab.$('.ask-from').innerText()).replace(/["”“]/g, ''),
    ),
    'who asks, and by which words',
  );
  await tab.$('.ask[data-armed="true"]').waitFor();
  equal(await violations(tab, '.parley'), [], 'axe');
  await shot(tab, 'embed-inbox');
  await tab.$('.ask-yes').click();
  await tab.page.getByText('Nothing waits for you.').waitFor();
  equal(
    [await tab.$('.count').innerText(), server.ledger().length],
    ['0', 1],
    'what waits, and what was paid',
  );
  // A key that is not good is said in words, not as an empty list.
  const stranger = await t.tab(app, {
    path: at(server, 'inbox', { key: 'no key' }),
    ready: '[role="alert"]',
  });
  ok(
    (await stranger.$('[role="alert"]').innerText()).startsWith('Sign in on this site'),
    'what to do',
  );
});

/* ---- one script tag ---- */

// What a careful site allows: itself, and the assistant's server by name.
const strict = (server) =>
  [
    `default-src 'none'; script-src 'self' ${server}; connect-src ${server}; frame-src ${server}`,
    `style-src 'self'; img-src 'self' data: blob:; base-uri 'none'; form-action 'none'`,
    `require-trusted-types-for 'script'`,
  ].join('; ');

const keys = `
window.asked = 0;
window.parley = { token: async () => (window.asked++, sessionStorage.who ?? null) };
window.pressed = [];
addEventListener('keydown', (e) => window.pressed.push(e.key));
const refused = (e) => console.error('policy: ' + e.violatedDirective + ' ' + e.blockedURI);
addEventListener('securitypolicyviolation', refused);
`;

const siteStyle = `
html { font-size: 10px; }
body { font: italic 20px serif; margin: 40px; color: #333; }
div, button, section, article {
  opacity: 0.3 !important;
  transform: rotate(3deg) !important;
  background: yellow !important;
}`;

const sitePage = (path, tag) => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Shop</title>
<link rel="stylesheet" href="/site.css">
<script src="/keys.js"></script>
<h1>Page ${path}</h1>
<p>Buy things.</p>
<a href="/other">Other</a>
${tag}`;

/* A site under a strict policy with nothing but our tag, and the server that it names. */
async function pair(t, attributes, config = {}) {
  let server = { url: '' };
  const site = await Site.make({
    files: { '/keys.js': keys, '/site.css': siteStyle },
    policy: () => strict(server.url),
    page: (path) => sitePage(path, `<script src="${server.url}/embed.js" ${attributes}></script>`),
  });
  t.closing.push(() => site.close());
  const auth = { keys: [key('ada', 'user')] };
  server = await t.server({ page: { embed: [site.url] }, auth, ...config });
  return { site, server };
}

/* Somebody who is signed in on the site. */
async function visitor(t, site, options = {}) {
  const tab = await t.tab(site, { ready: '.launcher', ...options });
  await tab.page.evaluate(() => (sessionStorage.who = 'key of ada'));
  await tab.page.reload();
  await tab.$(options.ready ?? '.launcher').waitFor();
  return tab;
}

test('one script tag shows the tray under a strict policy; a payment is approved by keyboard alone', async (t) => {
  const { site, server } = await pair(t, 'data-page="articles" data-title="Help"', {
    pages: { articles: {} },
  });
  const tab = await visitor(t, site);
  equal(
    await tab.page.evaluate(() => document.activeElement === document.body),
    true,
    'the focus stays with the page',
  );
  const launcher = tab.page.getByRole('button', { name: 'Open Help' });
  // Behind the page's own link comes the button.
  await tab.page.keyboard.press('Tab');
  await tab.page.keyboard.press('Tab');
  await tab.page.keyboard.press('Enter');
  await tab.page.getByRole('dialog', { name: 'Help' }).waitFor();
  await tab.page.keyboard.type('Send 50 dollars to Hanako');
  equal(
    await tab.page.evaluate(() => window.pressed.filter((k) => k === 's')),
    [],
    "keys that the site's shortcuts heard",
  );
  await tab.page.keyboard.press('Enter');
  await tab.$('.ask[data-armed="true"]').waitFor();
  equal(server.ledger().length, 0, 'payments before the yes');
  for (let n = 0; n < 30 && !(await tab.$('.ask-yes').evaluate((e) => e.matches(':focus'))); n++)
    await tab.page.keyboard.press('Shift+Tab');
  await tab.page.keyboard.press('Enter');
  await tab.$('.tool[data-tool="process_payment"][data-status="done"]').waitFor();
  equal(server.ledger().length, 1, 'payments');
  equal(await tab.page.evaluate(() => window.asked), 1, 'how often the key was asked for');
  // Escape closes, and the focus is on the button again.
  await answered(tab).last().waitFor();
  await tab.$('.composer textarea').focus();
  await tab.page.keyboard.press('Escape');
  await tab.page.getByRole('dialog').waitFor({ state: 'detached' });
  equal(await launcher.evaluate((e) => e.matches(':focus')), true, 'the button has the focus');
  // On the next page of the site the conversation goes on.
  await tab.page.getByRole('link', { name: 'Other' }).click();
  await tab.page.waitForURL('**/other');
  await launcher.click();
  await tab.$('.record', { hasText: 'Approved by you' }).waitFor();
  // Nothing of it was told to anybody else, and nothing of the site's style came in.
  const hosts = new Set(tab.requests.map((u) => new URL(u).origin));
  equal([...hosts].sort(), [site.url, server.url].sort(), 'who was asked for anything');
  equal(
    await tab
      .$('.bubble')
      .evaluate((e) => [
        getComputedStyle(e).opacity,
        getComputedStyle(e).fontStyle,
        getComputedStyle(e).transform,
      ]),
    ['1', 'normal', 'none'],
    'a bubble',
  );
});

test('the tray waits for a sign-in, follows a new key, and forgets on signing out', async (t) => {
  const { site, server } = await pair(t, 'data-open');
  const tab = await t.tab(site, { ready: '.composer' });
  await tab.page.getByText('Sign in on this site to go on.').waitFor();
  await tab.send('hello there');
  await tab.page.getByText('Not sent yet').waitFor();
  await tab.page.evaluate(() => (sessionStorage.who = 'key of ada'));
  await tab.page.getByRole('button', { name: 'Try now' }).click();
  await answered(tab).waitFor();
  equal(
    await tab.$('.bubble').allInnerTexts(),
    ['hello there'],
    'what was written meanwhile was sent, once',
  );
  ok(
    await tab.page.evaluate(() =>
      Object.keys(sessionStorage).some((k) => k.startsWith('parley.tray.')),
    ),
    'the conversation is kept for this tab',
  );
  await tab.page.evaluate(() => (delete sessionStorage.who, window.parley.signOut()));
  await tab.page.getByRole('dialog').waitFor({ state: 'detached' });
  await tab.page.evaluate(() => window.parley.open());
  await tab.page.getByText('Sign in on this site to go on.').waitFor();
  equal(
    [
      await tab.$('.bubble').count(),
      await tab.page.evaluate(
        () => Object.keys(sessionStorage).filter((k) => k.startsWith('parley.')).length,
      ),
    ],
    [0, 0],
    'what is left of the person',
  );
  const { threads } = await (
    await fetch(`${server.url}/v1/threads`, { headers: { authorization: 'Bearer key of ada' } })
  ).json();
  equal(threads.length, 1, 'conversations');
});

test('a site that is not listed is told what to add, where its developer looks', async (t) => {
  const { site } = await pair(t, '', { page: {} });
  const tab = await t.tab(site, { ready: 'h1' });
  const told = () => tab.errors.some((e) => e.includes(`"page": {"embed": ["${site.url}"]}`));
  await until(told, 'what to add');
  tab.errors.length = 0;
});

test('formulas, diagrams and artifacts are drawn in a tray on another origin', async (t) => {
  const diagram = '```mermaid\nflowchart LR\n  A[Ask] --> B[Answer]\n```';
  const model = await t.model([
    { text: `It is $a^2 + b^2$.\n\n${diagram}\n`, calls: [{ name: 'draw', arguments: {} }] },
    'There.',
  ]);
  const artifact = {
    type: 'html',
    title: 'Counter',
    content: '<button onclick="this.textContent++">0</button>',
  };
  const draw = {
    description: 'Draws',
    exec: { command: ['sh', '-c', `printf '%s' '${JSON.stringify({ result: artifact })}'`] },
    input_schema: { type: 'object' },
    confirm: 'never',
    shows: 'artifact',
  };
  const { site } = await pair(t, 'data-open', { model: model.config, tools: { draw } });
  const tab = await visitor(t, site, { ready: '.composer' });
  await tab.send('draw');
  await tab.$('.formula.drawn math').waitFor();
  await tab.$('.diagram img').waitFor();
  const button = tab.$('.artifact iframe').contentFrame().locator('button');
  await tab.goInto('Counter');
  await button.click();
  equal(await button.innerText(), '1', 'the artifact counts');
  // Opened, it covers the conversation, and nothing else; Escape brings the conversation back.
  await tab.page.getByRole('button', { name: 'Open Counter beside' }).click();
  const over = await box(tab, '.beside');
  const panel = await box(tab, '.tray-panel');
  equal([over.x, over.y, over.width, over.height].map(Math.round), inside(panel), 'the artifact');
  equal(await violations(tab, '.beside'), [], 'axe');
  await shot(tab, 'tray-artifact');
  await tab.page.getByRole('button', { name: 'Full screen' }).click();
  const full = await box(tab, '.beside');
  equal([full.x, full.y, full.width, full.height], [0, 0, 1200, 800], 'the whole window');
  await tab.page.keyboard.press('Escape');
  await tab.page.keyboard.press('Escape');
  await tab.$('.beside').waitFor({ state: 'detached' });
  ok(await tab.$('.composer').isVisible(), 'the conversation');
  const link = await tab.page.evaluate(() => [...document.querySelectorAll('link, style')].length);
  equal(link, 1, 'style sheets of the page: its own');
});

/* ---- every state of the tray ---- */

const box = (tab, selector) => tab.$(selector).first().boundingBox();
const inside = (b) => [b.x + 1, b.y + 1, b.width - 2, b.height - 2].map(Math.round); // its border
const colour = (tab, selector, name = 'background-color') =>
  tab
    .$(selector)
    .first()
    .evaluate((e, n) => getComputedStyle(e).getPropertyValue(n), name);

test('the tray: welcome, thinking, tool progress, answer with cards and chips, failure', async (t) => {
  const app = await App.make();
  const go = `${t.folder()}/go`;
  const report = JSON.stringify({
    progress: 0.6,
    stage: 'reading',
    message: 'Reading 9 of 15 articles...',
  });
  const result = JSON.stringify({ result: { articles: ['One', 'Two'] } });
  const search = {
    description: 'Searches',
    exec: {
      command: [
        'sh',
        '-c',
        `echo '${report}'; while [ ! -e ${go} ]; do sleep 0.1; done; echo '${result}'`,
      ],
      network: true,
    },
    input_schema: { type: 'object' },
    confirm: 'never',
  };
  const replies = {
    name: 'suggest_replies',
    arguments: { replies: [{ label: 'Tell me more', value: 'Tell me more' }] },
  };
  const actions = [
    { label: 'Apply changes', action: 'apply', handler: 'server', style: 'primary' },
    { label: 'Close chat', action: 'close_chat', handler: 'client', style: 'secondary' },
  ];
  const turns = [
    {
      text: 'Let me search for that.',
      calls: [{ name: 'search', arguments: { query: 'CRISPR' } }],
    },
    {
      text: 'I found **two** articles.',
      calls: [replies, { name: 'suggest_actions', arguments: { actions } }],
    },
    'One two three four five six seven eight nine ten.',
    { fail: 400 },
  ];
  const model = await t.model(turns, { hold: true, at: 0 });
  const server = await t.server({
    page: { embed: [app.url] },
    model: model.config,
    tools: { search },
  });
  const tab = await t.tab(app, { path: at(server, 'tray'), ready: '.launcher' });
  await tab.page.getByRole('button', { name: 'Open Help' }).click();
  // 1. Nothing said yet.
  await tab.page.getByText('How can I help?').waitFor();
  await tab.send('Find articles about CRISPR');
  // 2. The person on the right, in blue. 5. Thinking, in grey, before the first word.
  await tab.$('.thinking', { hasText: 'Thinking...' }).waitFor();
  const panel = await box(tab, '.tray-panel');
  const mine = await box(tab, '.bubble');
  ok(mine.x + mine.width > panel.x + panel.width - 30, 'on the right');
  equal(await colour(tab, '.bubble'), 'rgb(31, 94, 255)', 'blue');
  const thinking = await box(tab, '.thinking');
  ok(thinking.x < panel.x + 30, 'thinking on the left');
  model.release();
  // 4. The tool runs: an amber card with a spinner and its name.
  await tab.$('.tool[data-status="running"]', { hasText: 'Reading 9 of 15' }).waitFor();
  equal(await colour(tab, '.tool'), 'rgb(255, 244, 224)', 'amber');
  ok(await tab.$('.tool .spin').isVisible(), 'a spinner');
  equal(await tab.$('.tool-name').innerText(), 'search', 'its name');
  await shot(tab, 'tray-tool');
  t.touch(go);
  // 6. The answer: a white bubble, the card in its place, folded; chips and buttons below.
  await tab.$('.chip', { hasText: 'Tell me more' }).waitFor();
  const order = await tab
    .$('.said > *')
    .evaluateAll((all) => all.map((e) => e.className.split(' ')[0]));
  equal(order.slice(0, 3), ['text', 'tools', 'text'], 'text, card, text');
  equal(await colour(tab, '.said > .text'), 'rgb(255, 255, 255)', 'white');
  ok((await box(tab, '.said > .text')).x < panel.x + 30, 'on the left');
  equal(await tab.$('.tool-body').isVisible(), false, 'folded at first');
  equal(await tab.$('.said strong').innerText(), 'two', 'Markdown');
  equal(await tab.$('.actions button').allInnerTexts(), ['Apply changes', 'Close chat'], 'buttons');
  await shot(tab, 'tray-answer');
  await tab.$('.chip', { hasText: 'Tell me more' }).click();
  await tab.$('.turn:last-child .said', { hasText: 'ten.' }).waitFor();
  equal(await tab.$('.chip').count(), 0, 'chips of an answer that is not the last');
  // An error is said, with what can be done.
  await tab.send('once more');
  await tab.$('.failure').waitFor();
  equal(await violations(tab, '.tray'), [], 'axe');
  await shot(tab, 'tray-failure');
});

test('the tray streams with pulsing dots, stops on Escape, and a second Escape closes it', async (t) => {
  const app = await App.make();
  const words = Array.from({ length: 40 }, (_, n) => `word${n}`).join(' ');
  const model = await t.model([words], { hold: true, at: 0.5 });
  const server = await t.server({ page: { embed: [app.url] }, model: model.config });
  const tab = await t.tab(app, { path: at(server, 'tray'), ready: '.launcher', reducedMotion: 'no-preference' });
  await tab.page.getByRole('button', { name: 'Open Help' }).click();
  await tab.send('count');
  // 3. White, on the left, with dots that pulse.
  await tab.$('.growing', { hasText: 'word19' }).waitFor();
  const dots = await tab
    .$('.growing')
    .evaluate((e) => [
      getComputedStyle(e, '::after').animationName,
      getComputedStyle(e, '::after').backgroundImage.split('radial').length - 1,
    ]);
  equal(dots, ['fade', 3], 'dots');
  await shot(tab, 'tray-streaming');
  // Closed meanwhile, the button says when something has come.
  await tab.page.getByRole('button', { name: 'Close Help' }).last().click();
  model.release();
  await tab.page.getByRole('button', { name: 'Open Help: a new answer' }).click();
  await tab.$('.said', { hasText: 'word39' }).waitFor();
  const held = await t.model([words], { hold: true, at: 0.5 });
  const other = await t.server({ page: { embed: [app.url] }, model: held.config });
  const second = await t.tab(app, { path: at(other, 'tray'), ready: '.launcher' });
  await second.page.getByRole('button', { name: 'Open Help' }).click();
  await second.send('count');
  await second.$('.growing', { hasText: 'word19' }).waitFor();
  await second.page.keyboard.press('Escape');
  await second.page.getByText('Stopped. What was said so far is kept.').waitFor();
  held.release();
  await second.page.keyboard.press('Escape');
  await second.page.getByRole('dialog').waitFor({ state: 'detached' });
});

for (const theme of ['light', 'dark'])
  test(`a request in the tray is whole on a desk, a phone and its side, ${theme}`, async (t) => {
    const app = await App.make();
    const server = await t.server({ page: { embed: [app.url] } });
    const tab = await t.tab(app, {
      path: at(server, 'tray', { theme }),
      ready: '.launcher',
      colorScheme: theme,
    });
    await tab.page.getByRole('button', { name: 'Open Help' }).click();
    await tab.send('Send 50 dollars to Hanako');
    await tab.$('.ask[data-armed="true"]').waitFor();
    for (const [name, viewport] of [
      ['desk', { width: 1200, height: 800 }],
      ['phone', { width: 375, height: 667 }],
      ['side', { width: 667, height: 375 }],
    ]) {
      await tab.page.setViewportSize(viewport);
      for (const what of ['.ask-title', '.args tr >> nth=0', '.ask-yes', '.composer textarea']) {
        const b = await box(tab, what);
        ok(
          b &&
            b.y >= 0 &&
            b.y + b.height <= viewport.height &&
            b.x >= 0 &&
            b.x + b.width <= viewport.width,
          `${name}: ${what} is on the screen: ${JSON.stringify(b)}`,
        );
      }
      ok(
        await tab.$('.ask').getByRole('button', { name: 'Deny', exact: true }).isVisible(),
        'deny',
      );
      equal(await violations(tab, '.tray'), [], `axe, ${name}`);
      await shot(tab, `tray-request-${name}-${theme}`);
    }
  });

test('the whole page stands in a frame of a site that is listed, and of no other', async (t) => {
  let server = '';
  const site = await Site.make({
    page: () =>
      `<!doctype html><title>Shop</title><iframe src="${server}/" width="900" height="600"></iframe>`,
  });
  t.closing.push(() => site.close());
  for (const [embed, shown] of [
    [[site.url], true],
    [[], false],
  ]) {
    server = (await t.server({ page: { embed } })).url;
    const tab = await t.tab(site, { ready: 'iframe' });
    const frame = tab.$('iframe').contentFrame();
    if (shown) await frame.locator('.composer').waitFor();
    // What the browser shows instead is a page of its own, out of reach.
    else await tab.until(() => !document.querySelector('iframe').contentDocument);
    equal(await frame.locator('.composer').count(), shown ? 1 : 0, `listed: ${shown}`);
    equal(
      tab.errors.some((e) => e.includes('frame-ancestors')),
      !shown,
      `the browser's word: ${tab.errors}`,
    );
    tab.errors.length = 0;
  }
});

test('a nonce on the tag is enough for a policy that names no host', async (t) => {
  let server = { url: '' };
  const site = await Site.make({
    policy: () => `default-src 'none'; script-src 'nonce-1a2b'; connect-src ${server.url}`,
    page: () =>
      `<!doctype html><title>Shop</title><body><script nonce="1a2b" src="${server.url}/embed.js"></script>`,
  });
  t.closing.push(() => site.close());
  server = await t.server({ page: { embed: [site.url] } });
  const tab = await t.tab(site, { ready: '.launcher' });
  await tab.$('.launcher').click();
  await tab.send('hello');
  await answered(tab).waitFor();
});

/* ---- whose assistant it is, and in which language ---- */

const acme = {
  name: 'Acme Garden Help',
  accent: '#0b6e4f',
  languages: ['de', 'en'],
  greeting: { de: 'Fragen Sie uns alles.', en: 'Ask us anything.' },
  starters: [{ de: 'Wann schneide ich Rosen?', en: 'When do I prune roses?' }],
};

/* A site in some language, with nothing said on the tag but what is given. */
async function garden(t, lang, attributes = '') {
  let server = { url: '' };
  const tag = () => `<script src="${server.url}/embed.js" ${attributes}></script>`;
  const site = await Site.make({
    page: () => `<!doctype html><html lang="${lang}"><title>Garden</title><body>${tag()}`,
  });
  t.closing.push(() => site.close());
  server = await t.server({ page: { ...acme, embed: [site.url] } });
  return t.tab(site, { ready: '.launcher', locale: 'ja' });
}

const launcher = (tab) => tab.$('.launcher').getAttribute('aria-label');

test('the tray has the name, the words and the colour of the product, in the language of the site', async (t) => {
  const tab = await garden(t, 'de-AT');
  equal(await launcher(tab), 'Acme Garden Help öffnen', 'the button');
  await tab.$('.launcher').click();
  await tab.page.getByRole('dialog', { name: 'Acme Garden Help' }).waitFor();
  equal(await tab.$('.chat-top h2').innerText(), 'Acme Garden Help', 'the head');
  equal(await tab.$('.welcome p').innerText(), 'Fragen Sie uns alles.', 'the greeting');
  equal(await tab.$('.welcome .chip').allInnerTexts(), ['Wann schneide ich Rosen?'], 'starters');
  await tab.send('Send 50 dollars to Hanako');
  await tab.$('.ask[data-armed="true"]').waitFor();
  equal(await tab.$('.ask-yes').innerText(), 'Freigeben', 'the yes');
  equal(await colour(tab, '.bubble'), 'rgb(11, 110, 79)', 'the colour');
  equal(await tab.$('.parley').getAttribute('lang'), 'de', 'for who reads aloud');
  equal(await tab.page.getAttribute('html', 'lang'), 'de-AT', "the site's own word");
  equal(await violations(tab, '.tray'), [], 'axe');
  // A site that changes its language takes the tray along; what is being written stays.
  await tab.$('.composer textarea').fill('half a sen');
  await tab.page.evaluate(() => (document.documentElement.lang = 'en'));
  await tab.$('.ask-yes', { hasText: 'Approve' }).waitFor();
  equal(await tab.$('.composer textarea').inputValue(), 'half a sen', 'what is being written');
});

test('a language that is not offered becomes the first that is; the tag has the last word', async (t) => {
  equal(await launcher(await garden(t, 'fr')), 'Acme Garden Help öffnen', 'not offered');
  const given = await garden(t, 'de', 'data-lang="en" data-title="Help" data-accent="#aa0044"');
  equal(await launcher(given), 'Open Help', 'told on the tag');
  await given.$('.launcher').click();
  await given.send('hello');
  await given.$('.bubble').waitFor();
  equal(await colour(given, '.bubble'), 'rgb(170, 0, 68)', 'its colour');
});

test('components speak the language that they are given', async (t) => {
  const app = await App.make();
  const auth = { keys: [key('ada', 'user')] };
  const page = { accent: acme.accent, languages: ['en', 'ja'], embed: [app.url] };
  const server = await t.server({ page, auth });
  const look = { lang: 'ja', key: 'key of ada' };
  const chat = await t.tab(app, { path: at(server, 'chat', look) });
  equal(await chat.$('.welcome h2').innerText(), 'ご用件をお聞かせください', 'the welcome');
  await chat.send('Send 50 dollars to Hanako');
  await chat.$('.ask[data-armed="true"]').waitFor();
  equal(await chat.$('.ask-yes').innerText(), '承認', 'the yes');
  equal(await colour(chat, '.bubble'), 'rgb(11, 110, 79)', 'the colour of the product');
  const inbox = await t.tab(app, { path: at(server, 'inbox', look), ready: '.ask' });
  equal(await inbox.$('h2.sr').innerText(), 'あなたの対応待ち', 'the inbox');
  ok((await inbox.$('.ask-from').innerText()).startsWith('あなたの依頼'), 'who asks');
});

test('what is known of the page is known to everybody, also where people sign in', async (t) => {
  const server = await t.server({ page: acme, auth: { keys: [key('ada', 'user')] } });
  const response = await fetch(`${server.url}/v1/page`);
  const { name, accent, languages, greeting } = await response.json();
  equal([response.status, name, languages], [200, acme.name, acme.languages], 'what is told');
  equal([accent[0], greeting], [acme.accent, acme.greeting], 'its colour and words');
});

const shop = (tag) => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Rivet & Loom</title>
<link rel="stylesheet" href="/shop.css">
<header><b>Rivet &amp; Loom</b><nav>Orders &nbsp; Suppliers &nbsp; Payments</nav></header>
<h1>Open payments</h1>
<table>
<tr><th>Payee</th><th>For</th><th>Amount</th></tr>
<tr><td>Hanako</td><td>Weaving, 12 m</td><td>50 USD</td></tr>
<tr><td>Taro</td><td>Dyes</td><td>120 USD</td></tr>
<tr><td>Amina</td><td>Freight</td><td>340 USD</td></tr>
</table>
${tag}`;

const shopStyle = `
html { color-scheme: light dark; font: 16px/1.6 Georgia, serif; }
body { margin: 0 64px; background: light-dark(#fdfaf4, #1c1a17); color: light-dark(#2a2520, #efe9df); }
header { display: flex; gap: 48px; padding: 24px 0; border-bottom: 1px solid #8886; }
h1 { font-weight: 400; }
table { border-collapse: collapse; }
th, td { padding: 10px 48px 10px 0; text-align: left; border-bottom: 1px solid #8884; }`;

for (const theme of ['light', 'dark'])
  test(`a picture of the tray in a shop, ${theme}, in the colours of its page`, async (t) => {
    let server = { url: '' };
    const site = await Site.make({
      files: { '/shop.css': shopStyle },
      page: () =>
        shop(
          `<script src="${server.url}/embed.js" data-title="Rivet & Loom help" data-accent="#0b6b50"></script>`,
        ),
    });
    t.closing.push(() => site.close());
    server = await t.server({ page: { embed: [site.url] } });
    const tab = await t.tab(site, { ready: '.launcher', colorScheme: theme });
    await tab.$('.launcher').click();
    await tab.send('Send 50 dollars to Hanako');
    await tab.$('.ask[data-armed="true"]').waitFor();
    const panel = await colour(tab, '.chat-top');
    equal(panel, theme === 'dark' ? 'rgb(29, 32, 36)' : 'rgb(255, 255, 255)', 'the colours');
    equal(await violations(tab, '.tray'), [], 'axe');
    await shot(
      tab,
      `tray-${theme}`,
      process.env.SCREENS && join(import.meta.dirname, '../../docs/screens'),
    );
  });
