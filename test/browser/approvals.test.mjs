// Deciding: once, by the right click, from anywhere, after anything.
import { createHash } from 'node:crypto';
import { squeeze } from './lib/page.mjs';
import { test, equal, ok } from './lib/test.mjs';

const payment = 'Send 50 dollars to Hanako';

for (const mode of ['direct', 'sse', 'bidi']) {
  test(`${mode}: a double click on Approve pays once`, async (t) => {
    const server = await t.server();
    const tab = await t.tab(server, { mode });
    await tab.send(payment);
    await tab.card();
    await tab.$('.ask-yes').dblclick();
    await tab.$('.tool[data-status="done"]').waitFor();
    await tab.idle();
    equal(server.ledger().length, 1, 'payments');
  });

  test(`${mode}: a reload while it waits brings the buttons back`, async (t) => {
    const server = await t.server();
    const tab = await t.tab(server, { mode });
    await tab.send(payment);
    await tab.card();
    await tab.page.reload();
    await tab.approve();
    await tab.$('.tool[data-status="done"]').waitFor();
    await tab.idle();
    equal(server.ledger().length, 1, 'payments');
    equal(await tab.$('article.assistant').count(), 1, 'one answer');
    await tab.page.reload();
    await tab.$('.record', { hasText: 'Approved by you' }).waitFor();
  });

  test(`${mode}: a server restart while it waits changes nothing`, async (t) => {
    const server = await t.server();
    const tab = await t.tab(server, { mode });
    await tab.send(payment);
    await tab.card();
    await server.restart('SIGKILL');
    await tab.approve();
    await tab.$('.tool[data-status="done"]').waitFor();
    await tab.idle();
    equal(server.ledger().length, 1, 'payments');
  });

  test(`${mode}: decided in one tab, the other one shows it`, async (t) => {
    const server = await t.server();
    const one = await t.tab(server, { mode });
    await one.send(payment);
    await one.card();
    const two = await t.tab(server, { mode, path: `/t/${await one.thread()}` });
    await two.card();
    await one.approve();
    await two.$('.tool[data-tool="process_payment"][data-status="done"]').waitFor();
    await two.until(() => !document.querySelector('main .ask'));
    await one.idle();
    await two.idle();
    equal(await two.words(), await one.words(), 'the same words in both');
    equal(server.ledger().length, 1, 'payments');
  });

  test(`${mode}: music approved with two tabs open plays in exactly one`, async (t) => {
    const server = await t.server();
    const one = await t.tab(server, { mode });
    await one.send('Change the BGM to track 1');
    await one.card();
    const two = await t.tab(server, { mode, path: `/t/${await one.thread()}` });
    await two.card();
    await one.approve();
    await one.$('.tool[data-status="done"]').waitFor();
    await two.$('.tool[data-status="done"]').waitFor();
    await one.idle();
    await two.idle();
    equal([await one.$('.bgm').count(), await two.$('.bgm').count()], [1, 0], 'players');
  });
}

test('a click that lands as the card appears does not approve', async (t) => {
  const server = await t.server();
  const tab = await t.tab(server);
  await tab.page.evaluate(() => {
    new MutationObserver((_, me) => {
      const yes = document.querySelector('.ask-yes');
      if (!yes) return;
      me.disconnect();
      yes.click();
      yes.click();
    }).observe(document.body, { subtree: true, childList: true });
  });
  await tab.send(payment);
  await tab.card();
  equal((await server.json('/v1/approvals?status=pending')).approvals.length, 1, 'still waiting');
  equal(server.ledger().length, 0, 'payments');
});

test('arguments are changed by a no that says what should be different, and it stays in the record', async (t) => {
  const server = await t.server();
  const tab = await t.tab(server);
  await tab.send(payment);
  await tab.card();
  await tab.page.getByRole('button', { name: 'Deny, and say what to change…' }).click();
  await tab.page.getByLabel('What should be different?').fill('half of it');
  await tab.page.keyboard.press('Alt+a'); // a letter here, not a yes
  equal(await tab.page.getByRole('button', { name: 'Approve', exact: true }).count(), 0, 'a wish is no yes');
  await tab.page.keyboard.press('Enter');
  await tab.$('.tool[data-status="denied"]').waitFor();
  ok((await tab.$('.record').innerText()).includes('half of it'), 'the reason in the record');
  const [record] = (await server.json('/v1/approvals')).approvals;
  equal([record.status, record.reason], ['denied', 'half of it']);
});

test('two people, one click each: the other one sees who was first', async (t) => {
  const sha256 = (key) => createHash('sha256').update(key).digest('hex');
  const keys = ['ada', 'bob'].map((name) => ({ sha256: sha256(`${name}'s key`), principal: name, roles: ['user', 'approver'] }));
  const server = await t.server({ auth: { keys }, approvals: { who: 'approver' } });
  const asks = async (tab) => {
    await tab.signIn("ada's key");
    await tab.send(payment);
    const card = await tab.card();
    return card.getAttribute('data-approval');
  };
  const bobDecides = (id, confirmed) =>
    fetch(`${server.url}/v1/approvals/${id}`, {
      method: 'POST',
      headers: { authorization: "Bearer bob's key", 'content-type': 'application/json' },
      body: JSON.stringify({ confirmed }),
    });
  // She hears of it before she clicks.
  const ada = await t.tab(server);
  await bobDecides(await asks(ada), true);
  await ada.$('.record', { hasText: 'Approved by bob' }).waitFor();
  equal(await ada.$('.ask-yes').count(), 0, 'buttons');
  await ada.idle();
  equal(server.ledger().length, 1, 'payments');
  // In the inbox it is the same.
  const inbox = await t.tab(server);
  const listed = await asks(inbox);
  await inbox.page.getByRole('button', { name: /Waiting for you/ }).click();
  const entry = inbox.$(`dialog .ask[data-approval="${listed}"][data-armed="true"]`);
  await inbox.page.route(`**/v1/approvals/${listed}`, async (r) => {
    if (r.request().method() === 'POST') await bobDecides(listed, false);
    await r.continue();
  });
  await entry.getByRole('button', { name: 'Approve' }).click();
  await inbox.page.getByText('Decided already: denied by bob.').waitFor();
  // She does not hear of it: her click comes second.
  const deaf = await t.tab(server, { mode: 'direct' });
  const id = await asks(deaf);
  await deaf.page.route('**/events*', (r) => r.abort());
  await deaf.page.route('**/v1/threads/*', (r) => r.abort());
  await deaf.page.route('**/api/chat', async (r) => {
    await bobDecides(id, false);
    await r.continue();
  });
  await deaf.$('.ask-yes').click();
  await deaf.page.getByText('Decided already: denied by bob.').waitFor();
  await deaf.$('.record', { hasText: 'Denied by bob' }).waitFor();
  equal(server.ledger().length, 1, 'payments');
});

for (const mode of ['direct', 'sse', 'bidi']) {
  test(`${mode}: a request that nobody answers expires, says so, and can be asked again`, async (t) => {
    const server = await t.server({ approvals: { expires: 1 } });
    const tab = await t.tab(server, { mode });
    await tab.send(payment);
    await tab.$('.tool[data-status="expired"]').waitFor();
    ok(/Nobody answered in time/.test(await tab.$('.record').innerText()), 'what happened');
    ok(/It was not run/.test(await tab.$('.record').innerText()), 'what did not');
    equal(await tab.$('.ask').count(), 0, 'buttons');
    await tab.idle();
    await tab.page.getByRole('button', { name: 'Ask me again' }).click();
    await tab.until(() => document.querySelectorAll('.tool[data-status="expired"], .ask').length === 2);
    equal(await tab.$('.bubble').allInnerTexts(), [payment, payment], 'the same question once more');
    equal(server.ledger().length, 0, 'payments');
  });
}

const letter = {
  description: 'Sends a letter',
  exec: { command: ['sh', '-c', `read letter; echo '{"result":"sent"}'`] },
  input_schema: { type: 'object', properties: { words: { type: 'string' } } },
  confirm: 'always',
  ask: 'Send this letter?',
};

test('an argument that does not fit says how long it is', async (t) => {
  const words = `${'a very long letter '.repeat(60)}the end`;
  const model = await t.model([{ calls: [{ name: 'send_letter', arguments: { words } }] }]);
  const tab = await t.tab(await t.server({ model: model.config, tools: { send_letter: letter } }));
  await tab.send('write');
  const card = await tab.card();
  ok((await card.innerText()).includes(`${words.length.toLocaleString('en')} characters; scroll`), 'the hint');
  ok((await card.innerText()).includes('the end'), 'nothing is left out');
});

test('an argument that is long but fits has no hint', async (t) => {
  const words = 'a long letter '.repeat(25);
  const model = await t.model([{ calls: [{ name: 'send_letter', arguments: { words } }] }]);
  const tab = await t.tab(await t.server({ model: model.config, tools: { send_letter: letter } }));
  await tab.send('write');
  const card = await tab.card();
  equal(await card.locator('.arg-long').count(), 0, 'hints');
  await tab.page.setViewportSize({ width: 570, height: 800 });
  await tab.page.setViewportSize({ width: 360, height: 800 });
  await tab.$('.ask-sheet .arg-long').waitFor();
});

test('a click on a dead socket goes over HTTP, and says so', async (t) => {
  const server = await t.server();
  const proxy = await t.proxy(server);
  const tab = await t.tab(proxy, { mode: 'bidi' });
  await tab.send(payment);
  await tab.card();
  // The socket dies under the page, and the next one is never greeted: neither is it up, nor does the page give up on it.
  const mute = [];
  let back = false;
  await tab.page.routeWebSocket(/\/live/, (ws) => (back ? ws.connectToServer() : mute.push(ws)));
  proxy.pull();
  proxy.plug();
  await tab.$('.ask-yes').click();
  await tab.page.getByText('went over HTTP').waitFor();
  back = true;
  mute.forEach((ws) => ws.close({ code: 1011 }));
  await tab.$('.tool[data-status="done"]').waitFor();
  equal(server.ledger().length, 1, 'payments');
});

const twoPayments = {
  calls: [5, 6].map((amount) => ({ name: 'process_payment', arguments: { amount, currency: 'USD', recipient: 'Ken' } })),
};

async function twoGates(t, mode, prepare) {
  const model = await t.model([twoPayments, 'Both are done.']);
  const server = await t.server({ model: model.config, demo: { token_ms: 0, tools: true } });
  const tab = await t.tab(server, { mode });
  await prepare?.(tab);
  await tab.send('pay twice');
  await tab.page.getByText('2 requests wait for you.').waitFor();
  await tab.card();
  return { server, tab };
}

for (const mode of ['direct', 'sse', 'bidi']) {
  test(`${mode}: two gates at once, approved together after seeing what that covers`, async (t) => {
    const { server, tab } = await twoGates(t, mode);
    await tab.page.getByRole('button', { name: 'Approve all…' }).click();
    await tab.$('.ask-all[data-armed="true"]').waitFor();
    equal(
      (await tab.$('.ask-all li').allInnerTexts()).map(squeeze),
      [5, 6].map((n) => `Send ${n} USD to Ken? High risk amount ${n} currency USD recipient Ken`),
      'what it covers',
    );
    equal(server.ledger().length, 0, 'payments before the second step');
    await tab.page.getByRole('button', { name: 'Approve these 2 requests' }).click();
    await tab.until(() => document.querySelectorAll('.tool[data-status="done"]').length === 2);
    await tab.idle();
    equal(server.ledger().length, 2, 'payments');
    const { approvals } = await server.json('/v1/approvals');
    equal(
      approvals.map((a) => a.status),
      ['done', 'done'],
      'each decided on its own',
    );
  });
}

test('two gates at once, one denied alone: the other is still open', async (t) => {
  const { server, tab } = await twoGates(t, 'bidi');
  await tab.page.getByRole('button', { name: 'Approve all…' }).click();
  const [{ id }] = (await server.json('/v1/approvals?status=pending')).approvals;
  await server.json(`/v1/approvals/${id}`, { body: { confirmed: false } });
  await tab.page.getByRole('button', { name: 'Approve this request' }).waitFor(); // the list has only the other
  await tab.page.getByRole('button', { name: 'Back' }).click();
  await tab.approve();
  await tab.until(() => document.querySelectorAll('.tool[data-status="done"]').length === 1);
  await tab.idle();
  equal(server.ledger().length, 1, 'payments');
});

test('"approve all" never covers a request that came after its list was shown', async (t) => {
  const answered = [];
  let tell;
  const { server, tab } = await twoGates(t, 'bidi', ({ page }) =>
    page.routeWebSocket(/\/live/, (ws) => {
      const other = ws.connectToServer();
      ws.onMessage((text) => {
        const frame = JSON.parse(text);
        if (frame.type === 'approval') answered.push(frame.id);
        other.send(text);
      });
      tell = (event) => ws.send(JSON.stringify({ id: '999.0', event }));
    }),
  );
  const { approvals } = await server.json('/v1/approvals?status=pending');
  await tab.page.getByRole('button', { name: 'Approve all…' }).click();
  tell({
    type: 'tool-input-available',
    toolCallId: 'confirmation-late',
    toolName: 'adk_request_confirmation',
    input: {
      originalFunctionCall: { id: 'late', name: 'process_payment', args: { amount: 7000, currency: 'USD', recipient: 'Mallory' } },
      toolConfirmation: { hint: 'Send 7000 USD to Mallory?', confirmed: false },
      risk: 'high',
    },
  });
  await tab.page.getByText('One more came since. It is not covered.').waitFor();
  await tab.$('.ask-all[data-armed="true"]').waitFor();
  equal(await tab.$('.ask-all li').count(), 2, 'what it covers');
  await tab.page.getByRole('button', { name: 'Approve these 2 requests' }).click();
  await tab.until(() => document.querySelectorAll('.tool[data-status="done"]').length === 2);
  equal(answered.sort(), approvals.map((a) => a.id).sort(), 'what was answered');
  equal(server.ledger().length, 2, 'payments');
});

test('what waits is in the inbox, on the badge, in the title and in the list', async (t) => {
  const server = await t.server();
  const tab = await t.tab(server);
  await tab.send(payment);
  await tab.card();
  await tab.$('.badge').waitFor();
  equal(await tab.$('.badge').innerText(), '1', 'badge');
  await tab.until(() => document.title.startsWith('(1) '));
  await tab.$('.mark-wait').waitFor();
  await tab.page.getByRole('button', { name: 'New conversation', exact: true }).click();
  await tab.page.getByRole('button', { name: /Waiting for you/ }).click();
  await tab.$('dialog .ask[data-armed="true"]').getByRole('button', { name: 'Approve' }).click();
  await tab.page.getByText('Nothing waits for you.').waitFor();
  await tab.until(() => !document.title.startsWith('('));
  equal(server.ledger().length, 1, 'payments');
});

test('Enter in the composer never approves', async (t) => {
  const server = await t.server();
  const tab = await t.tab(server);
  await tab.send(payment);
  await tab.card();
  await tab.$('.composer textarea').focus();
  await tab.page.keyboard.press('Enter');
  await tab.page.keyboard.press('Enter');
  equal((await server.json('/v1/approvals?status=pending')).approvals.length, 1, 'still waiting');
});

test('hidden characters in an argument are made visible', async (t) => {
  const model = await t.model([
    { calls: [{ name: 'process_payment', arguments: { amount: 5, currency: 'USD', recipient: 'Han\u202eoka\u200b' } }] },
  ]);
  const tab = await t.tab(await t.server({ model: model.config, demo: { token_ms: 0, tools: true } }));
  await tab.send('pay');
  await tab.card();
  equal(await tab.$('.args .hidden-char').count(), 2, 'marked characters');
  ok((await tab.$('.ask').innerText()).includes('U+202E'), 'by name');
});
