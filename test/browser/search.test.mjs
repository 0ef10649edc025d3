// Words that were said are found, in the list and in the palette, with the line they stand in.
import { everyLook, fitsIn, shot } from './lib/look.mjs';
import { squeeze } from './lib/page.mjs';
import { equal, ok, test } from './lib/test.mjs';

test('what was said is found in the list and in the palette, with its line', async (t) => {
  const model = await t.model(['The night train to Köln leaves at ten.', 'A sonnet has fourteen lines.', 'Heute regnet es in 東京.']);
  const tab = await t.tab(await t.server({ model: model.config }));
  const threads = [];
  for (const words of ['When can I leave?', 'How long is a sonnet?', 'Wie ist das Wetter?']) {
    await tab.page.keyboard.press('Control+Shift+O');
    await tab.ask(words);
    threads.push(await tab.thread());
  }
  const search = tab.page.getByRole('searchbox', { name: 'Search conversations' });
  const found = () => tab.$('.side .row').evaluateAll((all) => all.map((e) => [e.dataset.thread, e.querySelector('.found')?.textContent ?? null]));
  await search.fill('NIGHT TRAIN');
  await tab.$('.side .found').waitFor();
  equal(await found(), [[threads[0], 'The night train to Köln leaves at ten.']], 'by the answer');
  equal(await tab.$('.side .found mark').innerText(), 'night train', 'the words stand off');
  await search.fill('東京');
  await tab.$('.side .found', { hasText: '東京' }).waitFor();
  equal((await found()).map(([id]) => id), [threads[2]], 'in any script');
  await search.fill('sonnet');
  await tab.until(() => document.querySelectorAll('.side .row').length === 1);
  equal(await found(), [[threads[1], null]], 'by its name: no line is needed');
  await search.fill('nobody said this');
  await tab.page.getByText('Nothing found.').waitFor();
  await search.fill('');
  await tab.until(() => document.querySelectorAll('.side .row').length === 3);

  await tab.page.keyboard.press('Control+k');
  await tab.$('.palette input').waitFor();
  await tab.page.keyboard.type('leaves at ten');
  await tab.$('.palette .found').waitFor();
  equal(squeeze(await tab.$('.palette [role="option"]').first().innerText()), 'When can I leave? now The night train to Köln leaves at ten.', 'in the palette');
  await shot(tab, 'search');
  await fitsIn(tab, everyLook, 'what was found');
  await tab.page.keyboard.press('Enter');
  await tab.page.waitForURL(`**/t/${threads[0]}`);
});

test('what others said is not found', async (t) => {
  const { createHash } = await import('node:crypto');
  const key = (name) => ({ sha256: createHash('sha256').update(name).digest('hex'), principal: name, roles: ['user'] });
  const server = await t.server({ auth: { keys: [key('ada'), key('eve')] } });
  const as = (name) => ({ authorization: `Bearer ${name}`, 'content-type': 'application/json' });
  await (await fetch(`${server.url}/v1/chat/stream`, { method: 'POST', headers: as('ada'), body: JSON.stringify({ message: 'The weather in Oslo?' }) })).text();
  const found = async (name) => (await (await fetch(`${server.url}/v1/threads?in=all&search=oslo`, { headers: as(name) })).json()).threads.length;
  equal([await found('ada'), await found('eve')], [1, 0], 'found');
  const tab = await t.tab(server, { ready: 'dialog' });
  await tab.signIn('eve');
  await tab.page.getByRole('searchbox', { name: 'Search conversations' }).fill('oslo');
  await tab.page.getByText('Nothing found.').waitFor();
  ok(!(await tab.$('.side').innerText()).includes('Oslo'), 'nothing of hers');
});
