// The list, the addresses, drafts, editing: the page around a conversation.
import { createHash } from 'node:crypto';
import { until } from '../lib/check.mjs';
import { test, equal, ok } from './lib/test.mjs';

test('a conversation has an address: reload, back and forward work', async (t) => {
  const tab = await t.tab(await t.server());
  await tab.ask('What is the weather in Tokyo?');
  const first = await tab.thread();
  await tab.page.getByRole('button', { name: 'New conversation', exact: true }).click();
  await tab.$('.starter').first().waitFor();
  await tab.ask('What is the weather in Paris?');
  await tab.page.goBack();
  await tab.until((id) => location.pathname === `/t/${id}`, first);
  await tab.until(() => document.querySelector('.bubble')?.textContent.includes('Tokyo'));
  await tab.page.reload();
  await tab.until(() => document.querySelector('.bubble')?.textContent.includes('Tokyo'));
  equal(await tab.$('.bubble').count(), 1, 'bubbles');
});

test('rename, search, delete, undo', async (t) => {
  const server = await t.server();
  const tab = await t.tab(server);
  await tab.ask('What is the weather in Tokyo?');
  await tab.page.getByRole('button', { name: 'New conversation', exact: true }).click();
  await tab.ask('What is the weather in Paris?');
  await tab.until(() => document.querySelectorAll('.row').length === 2);
  const row = tab.$('.row', { hasText: 'Tokyo' });
  await row.hover();
  await row.getByRole('button', { name: /Rename/ }).click();
  await tab.$('.rename').fill('Rain or shine');
  await tab.page.keyboard.press('Enter');
  await tab.$('.row', { hasText: 'Rain or shine' }).waitFor();
  await tab.until(async () => (await (await fetch('/v1/threads')).json()).threads.some((x) => x.title === 'Rain or shine'));
  await tab.page.getByRole('searchbox', { name: 'Search conversations' }).fill('rain');
  await tab.until(() => document.querySelectorAll('.row').length === 1);
  await tab.page.getByRole('searchbox', { name: 'Search conversations' }).fill('');
  const doomed = tab.$('.row', { hasText: 'Rain or shine' });
  await doomed.hover();
  await doomed.getByRole('button', { name: /Delete/ }).click();
  await tab.until(() => document.querySelectorAll('.row').length === 1);
  await tab.page.getByRole('button', { name: 'Undo' }).click();
  await tab.until(() => document.querySelectorAll('.row').length === 2);
  equal((await server.json('/v1/threads')).threads.length, 2, 'threads at the server');
  await doomed.hover();
  await doomed.getByRole('button', { name: /Delete/ }).click();
  await tab.page.goto(`${server.url}/`); // leaving ends the undo time
  await tab.until(async () => (await (await fetch('/v1/threads')).json()).threads.length === 1);
});

const sha256 = (key) => createHash('sha256').update(key).digest('hex');
const adas = { auth: { keys: [{ sha256: sha256('open sesame'), principal: 'ada', roles: ['user', 'approver'] }] } };

for (const mode of ['direct', 'sse', 'bidi']) {
  test(`${mode}: a server with keys asks for one, once, and the page forgets it`, async (t) => {
    const server = await t.server(adas);
    const tab = await t.tab(server, { mode });
    const dialog = tab.page.getByRole('dialog', { name: 'Sign in' });
    await dialog.waitFor();
    await tab.page.keyboard.type('wrong'); // the field has the focus
    await tab.page.keyboard.press('Enter');
    await dialog.getByText('not accepted').waitFor();
    await tab.signIn('open sesame');
    await tab.send('Send 50 dollars to Hanako');
    await tab.approve();
    await tab.$('.tool[data-status="done"]').waitFor();
    await tab.idle();
    equal(server.ledger().length, 1, 'payments');
    await tab.page.reload();
    await tab.$('.tool[data-status="done"]').waitFor();
    equal(await dialog.count(), 0, 'asked once');
    const kept = await tab.page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie]));
    ok(!/sesame/.test(kept), 'the key is kept nowhere');
    equal(await tab.page.evaluate(() => document.cookie), '', 'the cookie is out of reach');
  });

  test(`${mode}: a login that ends keeps what was written, and the thread goes on after it`, async (t) => {
    const server = await t.server(adas);
    const tab = await t.tab(server, { mode });
    await tab.signIn('open sesame');
    await tab.ask('What is the weather in Tokyo?');
    await tab.$('.composer textarea').fill('half a thought');
    await tab.signedOutElsewhere();
    await tab.page.reload();
    await tab.page.getByRole('dialog', { name: 'Sign in' }).waitFor();
    equal(await tab.$('.composer textarea').inputValue(), '', 'not for whoever comes next');
    await tab.signIn('open sesame');
    await tab.$('.tool[data-status="done"]').waitFor();
    equal(await tab.$('.composer textarea').inputValue(), 'half a thought', 'the draft');
    if (mode === 'bidi') {
      await tab.signedOutElsewhere();
      await server.restart(); // the socket ends with the process; the sign-in would not
      await tab.signIn('open sesame');
      equal(await tab.$('.composer textarea').inputValue(), 'half a thought', 'the draft');
      await tab.send('What is the weather in Paris?');
    } else {
      await tab.signedOutElsewhere();
      await tab.send('What is the weather in Paris?'); // meets the refusal, and waits
      await tab.signIn('open sesame');
    }
    await tab.until(() => document.querySelectorAll('.tool[data-status="done"]').length === 2);
    await tab.idle();
    equal(await tab.$('.bubble').allInnerTexts(), ['What is the weather in Tokyo?', 'What is the weather in Paris?']);
  });
}

test('the first message of all waits for the sign-in and then goes out', async (t) => {
  for (const mode of ['sse', 'bidi']) {
    const tab = await t.tab(await t.server(adas), { mode });
    const dialog = tab.page.getByRole('dialog', { name: 'Sign in' });
    await dialog.waitFor();
    await tab.page.evaluate(() => document.querySelector('dialog').close());
    await dialog.waitFor(); // it comes back with the next refusal
    await tab.signIn('open sesame');
    await tab.signedOutElsewhere();
    await tab.send('What is the weather in Tokyo?');
    await tab.signIn('open sesame');
    await tab.$('.tool[data-status="done"]').waitFor();
    await tab.idle();
    equal(await tab.$('.bubble').count(), 1, 'questions');
  }
});

test('sign out leaves nothing of the person behind', async (t) => {
  const server = await t.server(adas);
  const tab = await t.tab(server);
  await tab.signIn('open sesame');
  await tab.ask('What is the weather in Tokyo?');
  await tab.$('.composer textarea').fill('a secret thought');
  await tab.page.getByRole('button', { name: 'Settings' }).click();
  await tab.page.getByText('Signed in as ada.').waitFor();
  await tab.page.getByRole('button', { name: 'Sign out' }).click();
  await tab.page.getByRole('dialog', { name: 'Sign in' }).waitFor();
  equal(new URL(tab.page.url()).pathname, '/');
  equal([await tab.$('.bubble').count(), await tab.$('.row').count()], [0, 0], 'what was said');
  ok(!(await tab.page.evaluate(() => JSON.stringify({ ...localStorage }))).includes('secret'), 'the draft');
});

test('an address that does not exist says so', async (t) => {
  const tab = await t.tab(await t.server(), { path: '/t/t_nobody' });
  await tab.page.getByText('This conversation is not here').waitFor();
});

test('drafts are kept per conversation, over reload and switch', async (t) => {
  const tab = await t.tab(await t.server());
  await tab.ask('What is the weather in Tokyo?');
  const box = tab.$('.composer textarea');
  await box.fill('half a thou');
  await tab.page.getByRole('button', { name: 'New conversation', exact: true }).click();
  await tab.until(() => document.querySelector('.composer textarea').value === '');
  await box.fill('another');
  await tab.$('.row').first().locator('a').click();
  await tab.until(() => document.querySelector('.composer textarea').value === 'half a thou');
  await tab.page.reload();
  await tab.until(() => document.querySelector('.composer textarea')?.value === 'half a thou');
});

/* The first message stays on its way until what comes back is called. */
async function heldUp(tab) {
  let make;
  const held = new Promise((go) => (make = go));
  await tab.page.route(/\/(api\/chat|stream)$/, (r) => held.then(() => r.continue()));
  await tab.page.routeWebSocket(/\/live/, (here) => {
    const there = here.connectToServer();
    here.onMessage((m) => (JSON.parse(m).type === 'message' ? held.then(() => there.send(m)) : there.send(m)));
  });
  return make;
}

test('what is written while the first message makes its conversation stays, and so does the focus', async (t) => {
  const tab = await t.tab(await t.server());
  const make = await heldUp(tab);
  await tab.send('What is the weather in Tokyo?');
  await tab.page.keyboard.type('And after that');
  make();
  await tab.$('.tool[data-status="done"]').waitFor();
  await tab.page.keyboard.type('?');
  equal(await tab.$('.composer textarea').inputValue(), 'And after that?');
  await tab.idle();
  await tab.page.reload();
  await tab.until(() => document.querySelector('.composer textarea')?.value === 'And after that?');
});

for (const mode of ['direct', 'sse', 'bidi']) {
  test(`${mode}: stop is heard while the first message makes its conversation`, async (t) => {
    const model = await t.model(['word '.repeat(60)], { hold: true });
    const server = await t.server({ model: model.config });
    const tab = await t.tab(server, { mode });
    const make = await heldUp(tab);
    await tab.send('first');
    await tab.$('.round.stop').click();
    await tab.page.getByText('Stopping…').waitFor();
    make();
    await tab.idle();
    const thread = await tab.thread();
    await until(async () => (await server.json(`/v1/threads/${thread}`)).state === 'idle', 'the stop');
    equal(await tab.$('.bubble').allInnerTexts(), ['first']);
    model.release();
    await tab.ask('second'); // the next one is answered whole
    equal((await tab.words()).split(' ').length, 60, 'words');
    equal(await tab.$('.notice').count(), 0, 'notices');
  });

  test(`${mode}: where a request comes first, what was written meanwhile stays, and goes when it is answered`, async (t) => {
    const server = await t.server({ approvals: { on_new_message: 'hold' } });
    const tab = await t.tab(server, { mode });
    await tab.send('Send 50 dollars to Hanako');
    await tab.card();
    await tab.send('What is the weather in Tokyo?');
    await tab.page.getByText('Here a request is answered before anything else is said.').waitFor();
    equal(await tab.page.getByRole('button', { name: 'Send anyway' }).count(), 0, 'nothing that the server would refuse is offered');
    equal(await tab.$('.composer textarea').inputValue(), 'What is the weather in Tokyo?', 'what was written');
    await tab.deny();
    await tab.$('.tool[data-status="denied"]').waitFor();
    await tab.until(() => !document.querySelector('.round.stop'));
    await tab.$('.composer textarea').press('Enter');
    await tab.$('.tool[data-tool="get_weather"][data-status="done"]').waitFor();
    await tab.idle();
    equal(await tab.$('.bubble').allInnerTexts(), ['Send 50 dollars to Hanako', 'What is the weather in Tokyo?']);
    equal(await tab.$('.failure').count(), 0, 'failed answers');
  });
}

test('Enter sends, or makes a new line where that is wished', async (t) => {
  const tab = await t.tab(await t.server());
  const box = tab.$('.composer textarea');
  await box.fill('one');
  await box.press('Shift+Enter');
  equal(await box.inputValue(), 'one\n');
  await tab.page.getByRole('button', { name: 'Settings' }).click();
  await tab.page.getByText('Enter makes a new line').click();
  await tab.page.keyboard.press('Escape');
  await box.fill('one');
  await box.press('Enter');
  equal([await box.inputValue(), await tab.$('.bubble').count()], ['one\n', 0]);
  await box.press('Control+Enter');
  await tab.$('.bubble').waitFor();
  await tab.idle();
});

test('Enter that confirms a composition does not send', async (t) => {
  const tab = await t.tab(await t.server());
  const box = tab.$('.composer textarea');
  await box.fill('にほん');
  await box.evaluate((el) =>
    el.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true, cancelable: true, isComposing: true })),
  );
  equal(await box.inputValue(), 'にほん', 'the text');
  equal(await tab.$('article').count(), 0, 'messages');
});

test('a message written during an answer waits behind it and can be taken back', async (t) => {
  const model = await t.model(['word '.repeat(60), 'Second answer.', 'Third answer.'], { hold: true });
  const tab = await t.tab(await t.server({ model: model.config }));
  await tab.send('first');
  await tab.$('.growing').waitFor();
  await tab.send('second');
  await tab.send('third');
  equal(await tab.$('.queue li').count(), 2, 'waiting');
  await tab.page.getByRole('button', { name: 'Take back: third' }).click();
  equal(await tab.$('.composer textarea').inputValue(), 'third', 'in the composer again');
  await tab.page.getByRole('button', { name: 'Take back: second' }).click();
  equal(await tab.$('.composer textarea').inputValue(), 'second\n\nthird', 'before what is being written');
  await tab.send('second');
  model.release();
  await tab.until(() => document.querySelectorAll('.bubble').length === 2);
  await tab.until(() => document.body.innerText.includes('Second answer.'));
  await tab.idle();
  equal(await tab.$('.bubble').allInnerTexts(), ['first', 'second']);
});

for (const mode of ['sse', 'bidi']) {
  test(`${mode}: a message that waits behind an answer survives a reload`, async (t) => {
    const model = await t.model(['word '.repeat(60), 'Second answer.'], { hold: true });
    const tab = await t.tab(await t.server({ model: model.config }), { mode });
    await tab.send('first');
    await tab.$('.growing').waitFor();
    await tab.send('second');
    await tab.$('.queue li').waitFor();
    await tab.page.reload();
    await tab.$('article.assistant[aria-busy="true"]').waitFor();
    equal(await tab.$('.queue li').allInnerTexts(), ['second'], 'it waits');
    model.release();
    await tab.page.getByText('Second answer.', { exact: true }).waitFor();
    await tab.idle();
    equal(await tab.$('.bubble').allInnerTexts(), ['first', 'second']);
    equal([model.asked, await tab.unsent()], [2, []]);
  });

  test(`${mode}: a message that waits behind an answer goes out while another conversation is open`, async (t) => {
    const model = await t.model(['word '.repeat(60), 'Second answer.'], { hold: true });
    const server = await t.server({ model: model.config });
    const tab = await t.tab(server, { mode });
    await tab.send('first');
    await tab.$('.growing').waitFor();
    await tab.send('second');
    await tab.$('.queue li').waitFor();
    const thread = await tab.thread();
    await tab.page.getByRole('button', { name: 'New conversation', exact: true }).click();
    await tab.$('.starter').first().waitFor();
    model.release();
    await until(async () => (await server.json(`/v1/threads/${thread}`)).messages.length === 4, 'the second answer');
    equal(await tab.$('.bubble').count(), 0, 'the other conversation');
    await tab.$('.row').first().locator('a').click();
    await tab.page.getByText('Second answer.', { exact: true }).waitFor();
    await tab.idle();
    equal(await tab.$('.bubble').allInnerTexts(), ['first', 'second']);
    equal([model.asked, await tab.unsent()], [2, []]);
  });

  test(`${mode}: what is sent to a conversation that was deleted elsewhere is not lost`, async (t) => {
    const server = await t.server();
    const tab = await t.tab(server, { mode });
    await tab.ask('What is the weather in Tokyo?');
    const thread = await tab.thread();
    await fetch(`${server.url}/v1/threads/${thread}`, { method: 'DELETE' });
    await tab.send('What is the weather in Paris?');
    await tab.page.getByText('This conversation is not here').waitFor();
    await tab.$('.welcome').getByRole('button', { name: 'New conversation' }).click();
    await tab.until(() => document.querySelector('.composer textarea')?.value === 'What is the weather in Paris?');
    await tab.page.getByRole('button', { name: 'Send', exact: true }).click();
    await tab.$('.tool[data-status="done"]').waitFor();
    await tab.idle();
    equal(await tab.$('.bubble').allInnerTexts(), ['What is the weather in Paris?']);
    equal(await tab.unsent(), [], 'kept no longer');
  });
}

test('edit an earlier question and ask again', async (t) => {
  const server = await t.server();
  const tab = await t.tab(server, { mode: 'sse' });
  await tab.ask('What is the weather in Tokyo?');
  await tab.ask('What is the weather in Paris?');
  await tab.edit('What is the weather in Lima?');
  await tab.until(
    () => document.querySelectorAll('.bubble').length === 1 && document.querySelector('.tool[data-status="done"]'),
  );
  await tab.idle();
  ok((await tab.words()).includes('Lima'), 'the new answer');
  await tab.page.getByRole('button', { name: 'Earlier version' }).click();
  equal(await tab.$('.bubble').allInnerTexts(), ['What is the weather in Tokyo?', 'What is the weather in Paris?'], 'the old version');
  await tab.page.getByRole('button', { name: 'Go to the newest' }).click();
  equal(await tab.$('.bubble').allInnerTexts(), ['What is the weather in Lima?'], 'the newest version');
});

for (const mode of ['direct', 'sse', 'bidi']) {
  test(`${mode}: the versions of an edited question survive a reload`, async (t) => {
    const tab = await t.tab(await t.server(), { mode });
    await tab.ask('What is the weather in Tokyo?');
    for (const city of ['Paris', 'Lima']) {
      await tab.edit(`What is the weather in ${city}?`);
      await tab.until((c) => document.querySelector('.said')?.innerText.includes(c), city);
      await tab.idle();
    }
    await tab.page.reload();
    await tab.$('.versions').waitFor();
    equal(await tab.version(), '3 / 3');
    for (const [place, city] of [
      ['2 / 3', 'Paris'],
      ['1 / 3', 'Tokyo'],
    ]) {
      await tab.page.getByRole('button', { name: 'Earlier version' }).click();
      equal([await tab.version(), await tab.$('.bubble').allInnerTexts()], [place, [`What is the weather in ${city}?`]]);
      ok((await tab.words()).includes(city), `its answer: ${city}`);
    }
    equal(await tab.page.getByRole('button', { name: 'Edit your message' }).count(), 0, 'what is past is read, not edited');
    await tab.page.getByRole('button', { name: 'Go to the newest' }).click();
    equal(await tab.$('.bubble').allInnerTexts(), ['What is the weather in Lima?'], 'the newest version');
  });

  test(`${mode}: the versions of an answer survive a reload`, async (t) => {
    const model = await t.model(['The first answer.', 'The second answer.', 'The third answer.']);
    const tab = await t.tab(await t.server({ model: model.config }), { mode });
    await tab.ask('Say something');
    await tab.page.getByRole('button', { name: 'Answer again' }).click();
    await tab.until(() => document.querySelector('.said')?.innerText.includes('second'));
    await tab.idle();
    await tab.page.reload();
    await tab.$('.versions').waitFor();
    equal([await tab.version(), await tab.words()], ['2 / 2', 'The second answer.']);
    await tab.page.getByRole('button', { name: 'Earlier version' }).click();
    equal([await tab.version(), await tab.words()], ['1 / 2', 'The first answer.']);
    equal(await tab.$('.bubble').allInnerTexts(), ['Say something'], 'one question');
    await tab.page.getByRole('button', { name: 'Go to the newest' }).click();
    await tab.edit('Say something else');
    await tab.until(() => document.querySelector('.said')?.innerText.includes('third'));
    await tab.idle();
    await tab.page.reload();
    await tab.$('.versions').waitFor();
    const seen = [];
    for (let n = 0; n < 3; n++) {
      seen.push([await tab.version(), await tab.words()]);
      if (n < 2) await tab.page.getByRole('button', { name: 'Earlier version' }).click();
    }
    equal(seen, [
      ['3 / 3', 'The third answer.'],
      ['2 / 3', 'The second answer.'],
      ['1 / 3', 'The first answer.'],
    ]);
  });
}

test('the arrow up in an empty message edits the last one', async (t) => {
  const tab = await t.tab(await t.server());
  await tab.ask('What is the weather in Tokyo?');
  await tab.$('.composer textarea').press('ArrowUp');
  const box = tab.page.getByRole('textbox', { name: 'Edit your message' });
  equal(await box.inputValue(), 'What is the weather in Tokyo?');
  await tab.page.keyboard.press('Escape');
  await tab.$('.composer textarea').fill('half a thought');
  await tab.$('.composer textarea').press('ArrowUp');
  equal(await box.count(), 0, 'not while something is written');
});

test('answer again replaces the answer, and warns when a tool already did something', async (t) => {
  const server = await t.server();
  const tab = await t.tab(server, { mode: 'sse' });
  await tab.send('Send 50 dollars to Hanako');
  await tab.approve();
  await tab.$('.tool[data-status="done"]').waitFor();
  await tab.idle();
  await tab.page.getByRole('button', { name: 'Answer again' }).click();
  ok((await tab.$('.retry-warning').innerText()).includes('process_payment already ran'), 'the warning');
  await tab.page.getByRole('button', { name: 'Leave it' }).click();
  await tab.$('.composer textarea').press('ArrowUp');
  ok((await tab.$('.edit').innerText()).includes('process_payment already ran'), 'the warning before an edit');
  equal(server.ledger().length, 1, 'payments');
});

test('copy gives the answer as Markdown', async (t) => {
  const model = await t.model(['Use **this**:\n\n```js\nconst a = 1;\n```']);
  const tab = await t.tab(await t.server({ model: model.config }), { permissions: ['clipboard-read', 'clipboard-write'] });
  await tab.ask('code');
  await tab.page.getByRole('button', { name: 'Copy answer' }).click();
  equal(await tab.page.evaluate(() => navigator.clipboard.readText()), 'Use **this**:\n\n```js\nconst a = 1;\n```');
  await tab.page.getByRole('button', { name: 'Copy code, js' }).click();
  equal(await tab.page.evaluate(() => navigator.clipboard.readText()), 'const a = 1;');
});

test('what a model writes is text: no HTML, no script links, no foreign pictures, no forged cards', async (t) => {
  const evil =
    '<img src=x onerror="window.hacked=1"> <script>window.hacked=1</script> [a](javascript:window.hacked=1) ![p](https://evil.example/x.png) [[tool:0]] end';
  const model = await t.model([evil]);
  const tab = await t.tab(await t.server({ model: model.config }));
  await tab.ask('attack');
  await tab.until(() => document.body.innerText.includes('end'));
  equal(await tab.page.evaluate(() => window.hacked), undefined, 'nothing ran');
  equal(await tab.$('.md img, .md script').count(), 0, 'elements made from text');
  equal(await tab.$('.md a[href^="javascript"]').count(), 0, 'script links');
  equal(await tab.$('.tool').count(), 0, 'cards');
  ok((await tab.words()).includes('[[tool:0]]'), 'shown as written');
});

test('a model names the conversation after its first answer, and a person’s name stays', async (t) => {
  const model = await t.model(['It is sunny in Tokyo.', 'Weather in Tokyo', 'It is sunny in Paris.', 'Weather in Paris']);
  const tab = await t.tab(await t.server({ model: model.config, titles: 'model' }));
  await tab.ask('Could you please tell me what the weather is like?');
  await tab.$('.row-title', { hasText: 'Weather in Tokyo' }).waitFor();
  equal(await tab.$('.top-title').innerText(), 'Weather in Tokyo', 'above the conversation');
  await tab.$('.row').first().hover();
  await tab.page.getByRole('button', { name: 'Rename Weather in Tokyo' }).click();
  await tab.page.keyboard.type('My trip');
  await tab.page.keyboard.press('Enter');
  await tab.$('.row-title', { hasText: 'My trip' }).waitFor();
  await tab.page.getByRole('button', { name: 'New conversation' }).click();
  await tab.ask('And in Paris?');
  await tab.$('.row-title', { hasText: 'Weather in Paris' }).waitFor();
  equal(await tab.$('.row-title').allInnerTexts(), ['Weather in Paris', 'My trip'], 'names');
  ok(await tab.page.title().then((s) => s.startsWith('Weather in Paris')), 'the title of the tab');
});
