// A call of unknown outcome that has a check: the card says what the server found by itself, and what a person can do.
import { bank, payments } from '../live/org.mjs';
import { shot, violations } from './lib/look.mjs';
import { squeeze } from './lib/page.mjs';
import { equal, ok, test } from './lib/test.mjs';

const pays = { calls: [{ name: 'process_payment', arguments: { recipient: 'Hanako', amount: 50, currency: 'USD' } }] };

/* The bank books the payment and says nothing; `knows()` is what it says when it is asked. */
async function unknown(t, knows, check, options = {}) {
  const books = await bank(t, (body, call, res, req) => {
    if (req.url === '/check') return { body: knows() };
    books.books.push(body);
    return 'nothing';
  });
  const asks = { http: { url: books.url.replace('/pay', '/check'), allow: ['127.0.0.1'] }, ...check };
  const model = await t.model([pays, 'That is all I know.']);
  const server = await t.server(payments(books, { check: asks }, { model: model.config }));
  const tab = await t.tab(server, options);
  await tab.send('Pay Hanako');
  await tab.approve();
  await tab.$('.unknown').waitFor();
  await tab.idle();
  return { tab, server, said: async () => squeeze(await tab.$('.unknown-check').innerText()) };
}

for (const mode of ['direct', 'bidi']) {
  test(`${mode}: what the check does not know yet is said, and what it finds out settles the card`, async (t) => {
    let answer = { unknown: true };
    const { tab, said } = await unknown(t, () => answer, { pause: 1, tries: 8 }, { mode });
    await tab.$('.unknown-check', { hasText: 'It does not know yet.' }).waitFor();
    ok(/^The server asked the other side itself .*at \d\d:\d\d\. What came of it: It does not know yet\. It asks again at \d\d:\d\d; you can settle it before/.test(await said()), await said());
    equal(await violations(tab), [], 'axe');
    answer = { happened: true, result: { paid: 50 } };
    await tab.$('.tool[data-status="done"]', { hasText: 'The server asked the other side: it happened.' }).waitFor();
    equal(await tab.$('.unknown').count(), 0, 'nobody has to settle it');
    await tab.page.reload();
    await tab.$('.tool[data-status="done"]', { hasText: 'it happened' }).waitFor();
  });
}

test('when the check gives up a person can tell, and that is said', async (t) => {
  const { tab, server, said } = await unknown(t, () => ({ unknown: true }), { pause: 0.01, tries: 1 });
  await tab.$('.unknown-check', { hasText: 'It does not ask again: only a person can tell now.' }).waitFor();
  ok((await said()).startsWith('The server asked the other side itself at '), await said());
  await shot(tab, 'unknown');
  const inbox = await t.tab(server, { path: '/inbox', ready: '.unknown', context: tab.context });
  ok(squeeze(await inbox.$('.unknown').innerText()).includes('only a person can tell now'), 'the same in the inbox');
  await tab.$('.unknown').getByRole('button', { name: 'It did not happen' }).click();
  await tab.$('.tool[data-status="failed"]', { hasText: 'You said: it did not happen.' }).waitFor();
});
