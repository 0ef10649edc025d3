// What stays of a decision: the sentence, the arguments, who, when, by which way, and what came of it.
import { createHash } from 'node:crypto';
import { squeeze } from './lib/page.mjs';
import { equal, ok, test } from './lib/test.mjs';

const payment = 'Send 50 dollars to Hanako';

for (const mode of ['direct', 'sse', 'bidi']) {
  test(`${mode}: the record of a yes keeps the sentence, the arguments, who, when, the way and the outcome`, async (t) => {
    const server = await t.server();
    const tab = await t.tab(server, { mode });
    await tab.send(payment);
    await tab.approve();
    await tab.$('.tool[data-status="done"]').waitFor();
    await tab.idle();
    for (const when of ['at once', 'after a reload']) {
      await tab.$('.record', { hasText: /by you, .* in the chat/ }).waitFor();
      const said = squeeze(await tab.$('.tool[data-tool="process_payment"]').innerText());
      ok(said.includes('Send 50 USD to Hanako?'), `the sentence, ${when}: ${said}`);
      ok(/amount 50 currency USD recipient Hanako/.test(said), `the arguments, ${when}: ${said}`);
      ok(/Approved by you, \d\d:\d\d, in the chat/.test(said), `who, when and how, ${when}: ${said}`);
      ok(/Completed/.test(said), `the outcome, ${when}: ${said}`);
      ok(!/call_id|call-/.test(said), `no word for machines, ${when}: ${said}`);
      await tab.page.reload();
    }
  });
}

for (const mode of ['direct', 'sse', 'bidi']) {
  test(`${mode}: also while nobody knows what came of it the card says who approved it, when and by which way`, async (t) => {
    const wire = { description: 'd', exec: { command: ['sh', '-c', 'exit 3'] }, ask: 'Wire it to {to}?', confirm: 'always' };
    const model = await t.model([{ calls: [{ name: 'wire', arguments: { to: 'Hanako' } }] }, 'I cannot tell.']);
    const tab = await t.tab(await t.server({ model: model.config, tools: { wire } }), { mode });
    await tab.send('Wire it');
    await tab.approve();
    await tab.$('.unknown').waitFor();
    await tab.idle();
    const says = async (card, when) => {
      await tab.$(`${card} .record`, { hasText: /by you, .* in the chat/ }).waitFor();
      const said = squeeze(await tab.$(`${card} .record`).innerText());
      ok(/^Wire it to Hanako\? Approved by you, \d\d:\d\d, in the chat to Hanako$/.test(said), `${when}: ${said}`);
    };
    await says('.unknown', 'at once');
    await tab.page.reload();
    await says('.unknown', 'after a reload');
    const thread = tab.page.url();
    await tab.page.goto(`${tab.url}/inbox`);
    await says('.unknown', 'in the inbox');
    await tab.page.goto(thread);
    await tab.page.getByRole('button', { name: 'It happened' }).click();
    await says('.tool[data-status="done"]', 'when it is settled');
  });
}

test('nothing of a record is cut off, on a phone and on a desk', async (t) => {
  const server = await t.server();
  const tab = await t.tab(server);
  await tab.send('Send 1234567 dollars to Bartholomew-Maximilian-von-und-zu-Hohenstaufen');
  await tab.approve();
  await tab.$('.tool[data-status="done"]').waitFor();
  for (const width of [375, 1440]) {
    await tab.page.setViewportSize({ width, height: 800 });
    for (const part of ['.record-ask', '.record-line', '.record .args']) {
      const cut = await tab.$(part).evaluate((e) => e.scrollWidth > e.clientWidth + 1 || getComputedStyle(e).textOverflow === 'ellipsis');
      equal(cut, false, `${part} is cut off at ${width} px`);
    }
  }
});

test('a yes given on another way says which', async (t) => {
  const key = createHash('sha256').update('k').digest('hex');
  const server = await t.server({ auth: { keys: [{ sha256: key, principal: 'ada', roles: ['user'] }] } });
  const tab = await t.tab(server);
  await tab.signIn('k');
  await tab.send(payment);
  const id = await (await tab.card()).getAttribute('data-approval');
  await fetch(`${server.url}/v1/approvals/${id}`, {
    method: 'POST',
    headers: { authorization: 'Bearer k', 'content-type': 'application/json' },
    body: '{"confirmed":true}',
  });
  await tab.$('.tool[data-status="done"]').waitFor();
  await tab.$('.record', { hasText: /Approved by you, \d\d:\d\d, through the API/ }).waitFor();
});

test('a no keeps its sentence, its arguments and its reason', async (t) => {
  const tab = await t.tab(await t.server());
  await tab.send(payment);
  await tab.card();
  await tab.page.getByRole('button', { name: 'Deny, and say what to change…' }).click();
  await tab.page.getByLabel('What should be different?').fill('half of it');
  await tab.page.keyboard.press('Enter');
  await tab.$('.tool[data-status="denied"]').waitFor();
  const said = squeeze(await tab.$('.record').innerText());
  for (const words of ['Send 50 USD to Hanako?', 'amount 50', 'Denied by you', '“half of it”']) ok(said.includes(words), `${words} in: ${said}`);
});

test('a tool that nobody was asked about has no record of a yes', async (t) => {
  const tools = { show_place: { description: 'Shows a place.', client: true, input_schema: { type: 'object' } } };
  const model = await t.model([{ calls: [{ name: 'get_location', arguments: {} }] }, 'There you are.']);
  const server = await t.server({ model: model.config, tools: { get_location: tools.show_place } });
  const tab = await t.tab(server, { permissions: ['geolocation'], geolocation: { latitude: 1, longitude: 2 } });
  await tab.ask('where am I?');
  await tab.$('.tool[data-status="done"]').waitFor();
  await tab.page.reload();
  await tab.$('.tool[data-status="done"]').waitFor();
  equal(await tab.$('.record').count(), 0, 'records');
});

/* Seed 003's tests look for these words. */
for (const mode of ['direct', 'sse', 'bidi']) {
  test(`${mode}: "Approval Required", "Processing Approval…" and "Completed" stand where seed 003 looks`, async (t) => {
    const tab = await t.tab(await t.server(), { mode });
    await tab.page.evaluate(() => {
      window.seen = new Set();
      new MutationObserver(() => /Processing Approval/.test(document.body.innerText) && window.seen.add('processing')).observe(document.body, {
        subtree: true,
        childList: true,
        characterData: true,
      });
    });
    await tab.send('Change the BGM to track 1');
    await tab.card();
    ok(await tab.page.getByText('Approval Required', { exact: true }).isVisible(), 'Approval Required');
    await tab.page.getByText('Approve', { exact: true }).click();
    await tab.page.getByText('Completed', { exact: true }).waitFor();
    await tab.page.getByText(/BGM changed/).first().waitFor();
    ok(await tab.page.evaluate(() => window.seen.has('processing')), 'Processing Approval…');
  });
}

test('the record of many arguments keeps all of them: folded it says how many there are', async (t) => {
  const args = Object.fromEntries(Array.from({ length: 154 }, (_, i) => [`argument_${i}`, i]));
  const model = await t.model([{ calls: [{ name: 'pay', arguments: args }] }, 'Good.']);
  const pay = { description: 'Pays', exec: { command: ['sed', 's/^/{"result":/; s/$/}/'] }, input_schema: { type: 'object' }, confirm: 'always', ask: 'Pay?' };
  const tab = await t.tab(await t.server({ model: model.config, tools: { pay } }));
  await tab.send('pay');
  await tab.approve();
  await tab.$('.tool[data-status="done"]').waitFor();
  for (const when of ['at once', 'after a reload']) {
    await tab.$('.record-line', { hasText: '154 arguments' }).waitFor();
    equal(await tab.$('.record .args tr').count(), 0, `folded, ${when}`);
    await tab.$('.record-line').click();
    equal(await tab.$('.record .args tr').count(), 154, `rows, ${when}`);
    await tab.page.reload();
  }
});
