// Writing while a request waits: nothing is withdrawn, and nothing decided, by accident.
import { equal, ok, test } from './lib/test.mjs';

const payment = 'Send 50 dollars to Hanako';

async function waiting(t, mode = 'bidi', options = {}) {
  const server = await t.server(options.config);
  const tab = await t.tab(server, { mode });
  await tab.send(payment);
  await tab.card();
  return { server, tab };
}

async function stillWaits(server, what) {
  equal((await server.json('/v1/approvals?status=pending')).approvals.length, 1, `${what}: still waiting`);
  equal(server.ledger().length, 0, `${what}: payments`);
}

for (const mode of ['direct', 'sse', 'bidi']) {
  test(`${mode}: a typed yes asks whether it is the answer, and then it is`, async (t) => {
    const { server, tab } = await waiting(t, mode);
    await tab.send('Yes!');
    const choice = tab.$('.set-aside[data-armed="true"]');
    await choice.waitFor();
    await tab.page.keyboard.press('Enter');
    await tab.page.keyboard.press('Enter');
    await stillWaits(server, 'after Enter');
    equal(await tab.$('.bubble').count(), 1, 'nothing was sent');
    await choice.getByRole('button', { name: 'Approve “Send 50 USD to Hanako?”' }).click();
    await tab.$('.tool[data-status="done"]').waitFor();
    await tab.idle();
    equal(server.ledger().length, 1, 'payments');
    equal(await tab.$('.bubble').allInnerTexts(), [payment], 'the yes is no message');
    equal(await tab.$('.composer textarea').inputValue(), '', 'the composer is empty');
  });
}

test('a typed no denies by the button only', async (t) => {
  const { server, tab } = await waiting(t);
  await tab.send('いいえ');
  await tab.$('.set-aside[data-armed="true"]').getByRole('button', { name: 'Deny “Send 50 USD to Hanako?”' }).click();
  await tab.$('.tool[data-status="denied"]').waitFor();
  equal(server.ledger().length, 0, 'payments');
});

test('a typed yes can be a message after all', async (t) => {
  const { server, tab } = await waiting(t);
  await tab.send('yes');
  await tab.page.getByRole('button', { name: 'Send as a message' }).click();
  await tab.until(() => [...document.querySelectorAll('.bubble')].at(-1).textContent === 'yes');
  await tab.$('.record', { hasText: 'Set aside' }).waitFor();
  equal(server.ledger().length, 0, 'payments');
});

test('a question while something waits stays in the composer until the person has chosen', async (t) => {
  const { server, tab } = await waiting(t);
  await tab.send('Why so much?');
  await tab.page.getByText('This sets the request aside: send anyway, or answer it first?').waitFor();
  await stillWaits(server, 'a question');
  equal(await tab.$('.composer textarea').inputValue(), 'Why so much?', 'kept');
  // Changed, the choice is gone; sent again, it is back.
  await tab.$('.composer textarea').fill('Why so much? Tell me.');
  equal(await tab.$('.set-aside').count(), 0, 'while it is being changed');
  await tab.page.keyboard.press('Enter');
  await tab.page.getByRole('button', { name: 'Answer it first' }).click();
  await stillWaits(server, 'answer it first');
  equal(await tab.$('.composer textarea').inputValue(), 'Why so much? Tell me.', 'kept for afterwards');
  await tab.deny();
  await tab.$('.tool[data-status="denied"]').waitFor();
  await tab.idle();
  equal(await tab.$('.composer textarea').inputValue(), 'Why so much? Tell me.', 'and still there');
  await tab.page.keyboard.press('Tab');
  await tab.$('.composer .round').click();
  await tab.until(() => document.querySelectorAll('.bubble').length === 2);
});

test('sent anyway, the message goes and the request is set aside', async (t) => {
  const { server, tab } = await waiting(t);
  await tab.send('Forget it, what is the weather in Tokyo?');
  await tab.page.getByRole('button', { name: 'Send anyway' }).click();
  await tab.$('.record', { hasText: 'Set aside' }).waitFor();
  await tab.idle();
  equal(await tab.$('.bubble').count(), 2, 'messages');
  equal((await server.json('/v1/approvals?status=pending')).approvals.length, 0, 'waiting');
});

test('with two requests a yes is no answer to either', async (t) => {
  const calls = [5, 6].map((amount) => ({ name: 'process_payment', arguments: { amount, currency: 'USD', recipient: 'Ken' } }));
  const model = await t.model([{ calls }, 'Good.']);
  const server = await t.server({ model: model.config, demo: { token_ms: 0, tools: true } });
  const tab = await t.tab(server);
  await tab.send('pay twice');
  await tab.card();
  await tab.send('yes');
  await tab.page.getByText('This sets the 2 requests aside').waitFor();
  ok(!(await tab.$('.set-aside').innerText()).includes('Approve'), 'no yes here');
  await tab.$('.set-aside').getByRole('button', { name: 'Answer them first' }).waitFor();
  equal((await server.json('/v1/approvals?status=pending')).approvals.length, 2, 'still waiting');
});

test('the composer has the focus from the start, and again after sending and after switching', async (t) => {
  const tab = await t.tab(await t.server());
  const focused = () => tab.until(() => document.activeElement?.matches('.composer textarea'));
  await focused();
  await tab.ask('What is the weather in Tokyo?');
  await focused();
  await tab.page.reload();
  await tab.$('article.assistant').waitFor();
  await focused();
  await tab.page.getByRole('button', { name: 'New conversation', exact: true }).click();
  await focused();
});

for (const mode of ['direct', 'sse', 'bidi']) {
  test(`${mode}: what is written under an earlier version goes on from there, and the newer one is kept`, async (t) => {
    const tab = await t.tab(await t.server(), { mode });
    await tab.ask('What is the weather in Tokyo?');
    await tab.edit('What is the weather in Paris?');
    await tab.until(() => document.querySelector('.bubble').textContent.includes('Paris'));
    await tab.idle();
    await tab.page.getByRole('button', { name: 'Earlier version' }).click();
    await tab.$('.bubble', { hasText: 'Tokyo' }).waitFor();
    await tab.page.getByText('What you send goes on from here.').waitFor();
    await tab.ask('What is the weather in Lima?');
    const there = ['What is the weather in Tokyo?', 'What is the weather in Lima?'];
    equal(await tab.$('.bubble').allInnerTexts(), there, 'where it went');
    equal(await tab.$('.old-version').count(), 0, 'it is the newest now');
    await tab.page.reload();
    await tab.$('.bubble', { hasText: 'Lima' }).waitFor();
    equal(await tab.$('.bubble').allInnerTexts(), there, 'after a reload');
    await tab.page.getByRole('button', { name: 'Earlier version' }).click();
    await tab.$('.bubble', { hasText: 'Paris' }).waitFor();
    equal(await tab.$('.bubble').allInnerTexts(), ['What is the weather in Paris?'], 'the other one is still to be read');
  });
}

test('a text file stands in the message, where it can be read and cut, and reaches the model', async (t) => {
  const model = await t.model(['Two people.']);
  const tab = await t.tab(await t.server({ model: model.config }));
  await tab.$('.composer textarea').fill('Who is here?');
  const csv = 'name,age\nKen,30\nYuki,40\n```\n';
  await tab.$('.attach input').setInputFiles({ name: 'people.csv', mimeType: 'text/csv', buffer: Buffer.from(csv) });
  await tab.until(() => document.querySelector('.composer textarea').value.includes('Yuki,40'));
  equal(await tab.$('.composer textarea').inputValue(), `Who is here?\npeople.csv:\n\`\`\`\`\n${csv.trimEnd()}\n\`\`\`\`\n`, 'in the composer');
  await tab.$('.attach input').setInputFiles({ name: 'long.log', mimeType: 'text/plain', buffer: Buffer.from('x'.repeat(100_001)) });
  await tab.page.getByText('long.log is too long (100,001 characters; up to 100,000 go into a message).').waitFor();
  await tab.$('.attach input').setInputFiles({ name: 'bytes.txt', mimeType: 'text/plain', buffer: Buffer.from([0xff, 0xfe, 0x00]) });
  await tab.page.getByText('bytes.txt could not be read as text (UTF-8).').waitFor();
  await tab.$('.composer .round').click();
  await tab.$('.said', { hasText: 'Two people.' }).waitFor();
  ok(model.heard[0].includes('Yuki,40'), 'the model read it');
});

for (const touch of [false, true])
  test(`an answer is stopped by a ${touch ? 'tap' : 'click'} also while the next message is being written, which stays`, async (t) => {
    const model = await t.model(['One two three four five six seven eight.'], { hold: true });
    const tab = await t.tab(await t.server({ model: model.config }), touch ? { isMobile: true, hasTouch: true, viewport: { width: 320, height: 640 } } : {});
    const press = (name) => tab.page.getByRole('button', { name, exact: true })[touch ? 'tap' : 'click']();
    await tab.$('.composer textarea').fill('count');
    await press('Send');
    await tab.$('article.assistant .growing').waitFor();
    await tab.$('.composer textarea').fill('And backwards?');
    await tab.page.getByRole('button', { name: 'Send after this answer' }).waitFor();
    await press('Stop the answer');
    await tab.$('.ending', { hasText: 'Stopped' }).waitFor();
    await tab.idle();
    equal(await tab.$('.composer textarea').inputValue(), 'And backwards?', 'what is being written');
    equal(await tab.$('.bubble').count(), 1, 'messages');
  });
