// Every state a conversation can be in, as a person sees it.
import { test, equal, ok } from './lib/test.mjs';

test('an empty page welcomes with four starters, and a starter starts', async (t) => {
  const tab = await t.tab(await t.server());
  await tab.$('.starter').first().waitFor();
  equal(await tab.$('.starter').count(), 4, 'starters');
  await tab.$('.starter').first().click();
  await tab.$('article.user .bubble').waitFor();
  await tab.idle();
  equal(await tab.$('.starter').count(), 0, 'starters after the first message');
});

test('on a phone nothing of the first page moves when its starters come', async (t) => {
  const tab = await t.tab(await t.server(), { viewport: { width: 375, height: 740 } });
  await tab.page.addInitScript(() => {
    window.moved = [];
    new PerformanceObserver((list) => window.moved.push(...list.getEntries().map((e) => e.value))).observe({ type: 'layout-shift', buffered: true });
  });
  let release;
  const held = new Promise((go) => (release = go));
  await tab.page.route('**/v1/tools', (r) => held.then(() => r.continue()));
  await tab.page.reload();
  await tab.$('.welcome').waitFor();
  release();
  await tab.$('.starter').nth(3).waitFor();
  await tab.page.evaluate(() => new Promise((next) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(next)))));
  equal(await tab.page.evaluate(() => window.moved), [], 'what moved');
});

test('sent, streaming, done: each is shown', async (t) => {
  const model = await t.model(['One two three four five six seven eight nine ten eleven twelve.'], { hold: true });
  const tab = await t.tab(await t.server({ model: model.config }));
  await tab.send('count');
  await tab.$('article.user .bubble').waitFor();
  await tab.$('article.assistant[aria-busy="true"] .growing').waitFor();
  ok(await tab.$('.round.stop').isVisible(), 'the button stops while an answer streams');
  model.release();
  await tab.idle();
  equal(await tab.words(), 'One two three four five six seven eight nine ten eleven twelve.', 'the answer');
  const user = await tab.$('.bubble').boundingBox();
  const answer = await tab.$('.said').boundingBox();
  ok(user.x > answer.x + 200, 'the person is on the right');
});

test('a tool: intent, amber card with bar and stage, then folded card in the text, chips', async (t) => {
  const tab = await t.tab(await t.server({ demo: { token_ms: 5 } }));
  // Everything that was ever on the screen, since the steps are fast.
  await tab.page.evaluate(() => {
    window.seen = new Set();
    new MutationObserver(() => {
      document.querySelectorAll('.intent, .tool-summary').forEach((e) => window.seen.add(e.textContent));
      document.querySelectorAll('.tool').forEach((e) => window.seen.add(e.dataset.status));
      document.querySelectorAll('.bar[aria-valuenow]').forEach((e) => window.seen.add(`bar ${e.getAttribute('aria-valuenow')}`));
      if (/\[\[tool/.test(document.body.innerText)) window.seen.add('MARKER');
    }).observe(document.body, { subtree: true, childList: true, attributes: true, characterData: true });
  });
  await tab.ask('Find articles about CRISPR');
  const seen = await tab.page.evaluate(() => [...window.seen]);
  ok(
    seen.some((s) => s.startsWith("I'll search")),
    `the intent was shown: ${seen}`,
  );
  ok(seen.includes('running'), 'the card ran');
  ok(
    seen.some((s) => s.startsWith('bar ')),
    'the bar moved',
  );
  ok(!seen.includes('MARKER'), 'no marker was ever visible');
  const card = tab.$('.tool[data-tool="search_articles"]');
  equal(await card.getAttribute('data-status'), 'done');
  ok(/ms|s/.test(await card.locator('.tool-ms').innerText()), 'a duration');
  equal(await card.locator('.tool-body').isVisible(), false, 'folded at first');
  await card.locator('.tool-head').click();
  ok((await card.locator('.tool-body').innerText()).includes('CRISPR'), 'input');
  ok(await card.getByText('Output', { exact: true }).isVisible(), 'output');
  equal(await tab.$('.intent').count(), 0, 'the intent does not stay behind');
  // The card stands where the call happened.
  const order = await tab.$('.said > *').evaluateAll((all) => all.map((e) => e.className.split(' ')[0]));
  equal(order.slice(0, 3), ['text', 'tools', 'text'], 'text, card, text');
  await tab.page.reload();
  ok(/\d m?s/.test(await card.locator('.tool-ms').innerText()), 'a duration, also for who comes later');
});

test('chips stand under the last answer only, and a click sends', async (t) => {
  const model = await t.model([
    {
      text: 'Shall I?',
      calls: [
        {
          name: 'suggest_replies',
          arguments: {
            replies: [
              { label: 'Yes, proceed', value: 'yes' },
              { label: 'No', value: 'no' },
            ],
          },
        },
      ],
    },
    'Good.',
  ]);
  const tab = await t.tab(await t.server({ model: model.config }));
  await tab.ask('hello');
  await tab.$('.chip').first().waitFor();
  await tab.$('.chip').first().click();
  await tab.until(() => [...document.querySelectorAll('.bubble')].at(-1)?.textContent === 'yes');
  await tab.idle();
  equal(await tab.$('.chip').count(), 0, 'old chips are gone');
});

test('actions have three styles, told apart by more than colour', async (t) => {
  const actions = ['primary', 'secondary', 'warning'].map((style) => ({
    label: `A ${style} action`,
    action: 'close_chat',
    handler: 'client',
    style,
  }));
  const model = await t.model([{ text: 'Choose.', calls: [{ name: 'suggest_actions', arguments: { actions } }] }]);
  const tab = await t.tab(await t.server({ model: model.config }));
  await tab.ask('hello');
  for (const style of ['primary', 'secondary', 'warning']) await tab.$(`.act-${style}`).waitFor();
  equal(await tab.$('.act-warning .icon').count(), 1, 'a warning has its sign');
});

test('actions: a server action runs once, a client action leaves', async (t) => {
  const server = await t.server();
  const tab = await t.tab(server);
  await tab.ask('Propose a schema');
  await tab.$('.actions .button').first().waitFor();
  ok((await tab.$('.custom').innerText()).includes('schema'), 'the proposal is shown');
  ok(await tab.$('.act-primary').isVisible(), 'a primary action');
  ok(await tab.$('.act-secondary').isVisible(), 'a secondary action');
  const requests = [];
  tab.page.on('request', (r) => r.url().endsWith('/actions') && requests.push(r));
  await tab.$('.act-primary').dblclick();
  await tab.until(() => document.querySelectorAll('.tool[data-tool="apply_schema"], .ask').length > 0);
  equal(requests.length, 1, 'a double click acts once');
});

test('a client action closes the conversation', async (t) => {
  const tab = await t.tab(await t.server());
  await tab.ask('Propose a schema');
  await tab.$('.act-secondary').click();
  await tab.$('.starter').first().waitFor();
  equal(new URL(tab.page.url()).pathname, '/');
});

test('an artifact runs its own script in a frame without an origin', async (t) => {
  const tab = await t.tab(await t.server());
  await tab.ask('Build me a todo app');
  const body = await tab.artifact();
  equal(await body.evaluate(() => window.origin), 'null', 'its origin');
  equal(
    await body.evaluate(() =>
      fetch('/v1/threads').then(
        () => 'reached',
        () => 'blocked',
      ),
    ),
    'blocked',
    'a request from inside',
  );
  tab.errors.length = 0; // the browser reports what it blocked
  await tab.$('.tabs button', { hasText: 'Code' }).last().click();
  ok((await tab.$('.artifact .code').innerText()).includes('<'), 'its code');
});

/* The page's patience with a frame is over at once, and `window.patience` says how many such waits there are. */
function impatient() {
  const { setTimeout: set, clearTimeout: clear } = window;
  window.patience = new Set();
  window.setTimeout = (f, ms, ...more) => {
    if (ms !== 4000) return set(f, ms, ...more);
    const id = set(() => (window.patience.delete(id), f()), 1);
    window.patience.add(id);
    return id;
  };
  window.clearTimeout = (id) => (window.patience.delete(id), clear(id));
}

test('of a preview that is there nobody says that it did not start', async (t) => {
  const tab = await t.tab(await t.server());
  await tab.page.addInitScript(impatient);
  await tab.page.reload();
  await tab.$('.composer').waitFor();
  await tab.ask('Build me a todo app');
  await tab.artifact();
  await tab.until(() => window.patience.size === 0);
  equal(await tab.page.getByText('The preview did not start').count(), 0, 'false words');
});

test('an image is shown', async (t) => {
  const tab = await t.tab(await t.server());
  await tab.ask('Generate an image of a sunset over mountains');
  const image = tab.$('.picture img');
  await image.waitFor();
  ok(await image.evaluate((i) => i.complete && i.naturalWidth > 0), 'it loaded');
});

test('many calls in a row fold into one line', async (t) => {
  const calls = ['Tokyo', 'Paris', 'Lima', 'Oslo'].map((city) => ({ name: 'get_weather', arguments: { city } }));
  const model = await t.model([{ calls }, 'All four.']);
  const tab = await t.tab(await t.server({ model: model.config, demo: { token_ms: 0, tools: true } }));
  await tab.ask('weather everywhere');
  await tab.$('.tool.fold').waitFor();
  ok((await tab.$('.tool.fold').innerText()).includes('Used 4 tools'), 'one line');
  await tab.$('.tool.fold .tool-head').click();
  equal(await tab.$('.tool[data-tool="get_weather"]').count(), 4, 'cards inside');
});

test('an error keeps what was said and offers another try', async (t) => {
  const tab = await t.tab(await t.server());
  await tab.ask('Simulate a model error');
  await tab.$('.failure').waitFor();
  ok((await tab.words()).length > 0, 'the words before it');
  await tab.page.reload();
  await tab.$('.failure').waitFor();
  await tab.$('.failure').getByRole('button', { name: 'Try again' }).click();
  await tab.until(() => document.querySelector('.round.stop') || document.querySelector('.failure'));
  await tab.idle();
  equal(await tab.$('article.user').count(), 1, 'one question');
});

test('an answer that was cut off or refused says so, also after a reload', async (t) => {
  for (const mode of ['direct', 'sse', 'bidi']) {
    const model = await t.model([
      { text: 'A long st', stop: 'length' },
      { text: 'I would rather', stop: 'content_filter' },
    ]);
    const tab = await t.tab(await t.server({ model: model.config }), { mode });
    await tab.ask('tell');
    await tab.page.getByText('it reached the model’s length limit').waitFor();
    await tab.ask('more');
    await tab.page.getByText('The model declined to go on').waitFor();
    await tab.page.reload();
    await tab.page.getByText('The model declined to go on').waitFor();
    equal(await tab.$('.ending').count(), 2, `${mode}: both are told`);
  }
});

test('stop, by click and by Escape, keeps the partial answer and stops the server', async (t) => {
  const server = await t.server({ demo: { token_ms: 20 } });
  for (const [mode, how] of [
    ['bidi', 'click'],
    ['sse', 'escape'],
    ['direct', 'click'],
  ]) {
    const tab = await t.tab(server, { mode });
    await tab.send('Tell me a long story');
    await tab.$('article.assistant .growing').waitFor();
    if (how === 'click') await tab.$('.round.stop').click();
    else await tab.page.keyboard.press('Escape');
    await tab.$('.ending').waitFor();
    await tab.idle();
    ok((await tab.words()).length > 0, 'the part is kept');
    equal((await server.json(`/v1/threads/${await tab.thread()}`)).state, 'idle', `${mode}: the server stopped`);
    await tab.page.reload();
    await tab.$('.ending').waitFor();
  }
});

test('a long silence is explained: since when, and what came before', async (t) => {
  const hold = { hold: true };
  const before = await t.model(['One two three four.'], { ...hold, at: 0 });
  const tab = await t.tab(await t.server({ model: before.config }));
  await tab.send('count');
  await tab.until(() => /Thinking.*\d s/s.test(document.querySelector('.thinking')?.innerText));
  before.release();
  await tab.idle();
  const amid = await t.model(['One two three four.'], hold);
  const other = await t.tab(await t.server({ model: amid.config }));
  await other.send('count');
  await other.page.getByText(/Nothing new for \d+ s; the answer is not finished yet/).waitFor();
  amid.release();
  await other.idle();
  equal(await other.$('.silence').count(), 0, 'it is gone with the answer');
});

test('another try after a failure warns when a tool already did something', async (t) => {
  const model = await t.model([
    { calls: [{ name: 'process_payment', arguments: { amount: 5, currency: 'USD', recipient: 'Ken' } }] },
    { fail: 400 },
  ]);
  const server = await t.server({ model: { ...model.config, retries: 0 }, demo: { token_ms: 0, tools: true } });
  const tab = await t.tab(server);
  await tab.send('pay');
  await tab.approve();
  await tab.$('.failure').getByRole('button', { name: 'Try again' }).click();
  ok((await tab.$('.retry-warning').innerText()).includes('process_payment already ran'), 'the warning');
  equal([model.asked, server.ledger().length], [2, 1], 'nothing was done yet');
});

test('an outcome nobody knows is said plainly and settled by a person', async (t) => {
  const model = await t.model([{ calls: [{ name: 'slow_pay', arguments: { amount: 5 } }] }, 'I see.']);
  const tools = {
    slow_pay: {
      description: 'Pays slowly',
      exec: { command: ['sleep', '60'] },
      input_schema: { type: 'object', properties: { amount: { type: 'number' } } },
      confirm: 'never',
      timeout: 90,
    },
  };
  const server = await t.server({ model: model.config, tools });
  const tab = await t.tab(server);
  await tab.send('pay slowly');
  await tab.$('.tool[data-status="running"]').waitFor();
  await server.restart('SIGKILL');
  await tab.$('.unknown').waitFor();
  await tab.$('.unknown').getByRole('button', { name: 'It did not happen' }).click();
  await tab.until(() => !document.querySelector('.unknown'));
});

test('the raw events are shown to developers', async (t) => {
  const tab = await t.tab(await t.server());
  await tab.page.getByRole('button', { name: 'Settings' }).click();
  await tab.page.getByText('Show the raw events').click();
  await tab.page.keyboard.press('Escape');
  await tab.ask('What is the weather in Tokyo?');
  ok((await tab.$('.dev li').count()) > 5, 'events are listed');
  ok(/get_weather/.test(await tab.$('.dev ol').innerText()), 'with their content');
});

const sleeper = {
  description: 'Takes its time and says nothing',
  exec: { command: ['sh', '-c', 'sleep 60'] },
  input_schema: { type: 'object' },
  confirm: 'never',
  timeout: 90,
};

test('a tool that runs without telling how far it is has a thin bar and nothing over its words', async (t) => {
  const model = await t.model([{ text: 'One moment.', calls: [{ name: 'wait_long', arguments: {} }] }]);
  const tab = await t.tab(await t.server({ model: model.config, tools: { wait_long: sleeper } }));
  await tab.send('wait');
  await tab.$('.tool[data-status="running"] .bar-fill.endless').waitFor();
  const look = await tab.$('.bar-fill').evaluate((e) => {
    const s = getComputedStyle(e);
    return [e.offsetHeight, s.borderTopWidth, s.paddingTop];
  });
  equal(look, [2, '0px', '0px'], 'height, border, padding');
});

test('a double click on Send sends once and stops nothing', async (t) => {
  const model = await t.model(['One two three four five six seven eight.'], { hold: true });
  const tab = await t.tab(await t.server({ model: model.config }));
  await tab.$('.composer textarea').fill('count');
  const { mouse } = tab.page;
  const box = await tab.$('.round').boundingBox();
  await mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  await mouse.down();
  await mouse.up();
  await tab.$('article.assistant .growing').waitFor(); // now it is Stop that lies under the pointer
  await mouse.down({ clickCount: 2 });
  await mouse.up({ clickCount: 2 });
  model.release();
  await tab.idle();
  equal(await tab.words(), 'One two three four five six seven eight.', 'the whole answer');
  equal(await tab.$('.bubble').count(), 1, 'questions');
});

test('Escape in a field does what it does there, and the answer goes on', async (t) => {
  const model = await t.model(['Good.', 'One two three four five six seven eight.'], { at: 0.5 });
  const server = await t.server({ model: model.config });
  const tab = await t.tab(server);
  await tab.ask('hello');
  model.held = new Promise((free) => (model.release = free));
  await tab.send('count');
  await tab.$('article.assistant .growing').waitFor();
  const { keyboard } = tab.page;
  await tab.$('article.user').first().hover();
  await tab.$('article.user').first().getByRole('button', { name: 'Edit your message' }).click();
  await tab.$('.edit textarea').waitFor();
  await keyboard.press('Escape');
  await tab.$('.edit').waitFor({ state: 'detached' });
  ok(await tab.page.evaluate(() => document.activeElement.matches('article.user')), 'the focus is at the message');
  await tab.$('.row').hover();
  await tab.page.getByRole('button', { name: /^Rename/ }).click();
  await tab.$('.rename').fill('never');
  await keyboard.press('Escape');
  await tab.$('.rename').waitFor({ state: 'detached' });
  const search = tab.page.getByRole('searchbox', { name: 'Search conversations' });
  await search.fill('hello');
  await keyboard.press('Escape');
  equal(await search.inputValue(), '', 'the search is empty again');
  await keyboard.press('Escape');
  await tab.page.setViewportSize({ width: 390, height: 780 });
  await tab.page.getByRole('button', { name: 'Conversations' }).click();
  await tab.$('.side-wrap.open').waitFor();
  await keyboard.press('Escape');
  await tab.until(() => !document.querySelector('.side-wrap.open'));
  model.release();
  await tab.idle();
  equal(await tab.words(), 'One two three four five six seven eight.', 'the whole answer');
  ok(!(await tab.$('.row-title').allInnerTexts()).includes('never'), 'the name is the old one');
});
