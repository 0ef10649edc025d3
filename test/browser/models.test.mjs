// Several models to choose from, and files that not every model reads.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { violations } from './lib/look.mjs';
import { equal, ok, test } from './lib/test.mjs';

for (const mode of ['direct', 'bidi']) {
  test(`${mode}: people choose the model; the next answer is its own, also after a reload`, async (t) => {
    const one = await t.model(['This is the first one.']);
    const two = await t.model(['This is the second one.']);
    const server = await t.server({
      models: { one: { ...one.config, model: 'first-model' }, two: { ...two.config, model: 'second-model' } },
      model: 'one',
      page: { models: ['one', 'two'] },
    });
    const tab = await t.tab(server, { mode });
    const choice = tab.page.getByRole('combobox', { name: 'Model' });
    equal(await choice.locator('option').allInnerTexts(), ['first-model', 'second-model'], 'what there is');
    await tab.ask('Who are you?');
    equal(await tab.words(), 'This is the first one.', 'nobody has chosen');
    await choice.selectOption({ label: 'second-model' });
    await tab.ask('And now?');
    equal(await tab.words(), 'This is the second one.', 'the one that was chosen');
    await tab.page.reload();
    await tab.ask('Still?');
    equal([one.asked, two.asked], [1, 2], 'how often each was asked');
    equal(await violations(tab), [], 'axe');
  });
}

test('a model that is not offered cannot be asked for', async (t) => {
  const one = await t.model(['One.']);
  const server = await t.server({ models: { one: one.config, dear: one.config, two: one.config }, model: 'one', page: { models: ['one', 'two'] } });
  const ask = (page) => fetch(`${server.url}/v1/chat/stream`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ message: 'x', page }) });
  equal((await ask('default@dear')).status, 422, 'not offered');
  equal((await ask('default@two')).status, 200, 'offered');
});

const pdf = '%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[]/Count 0>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n';

test('a PDF goes to a model that reads it; elsewhere the page says what to do', async (t) => {
  const folder = t.folder();
  const file = join(folder, 'report.pdf');
  writeFileSync(file, pdf);
  const server = await t.server({});
  const tab = await t.tab(server);
  await tab.$('.composer input[type=file]').setInputFiles(file);
  await tab.page.getByText('report.pdf was left out: the model that answers here does not read PDF files.').waitFor();
  equal(await tab.$('.pictures li').count(), 0, 'not taken');

  const reader = await t.server({ model: { provider: 'anthropic', model: 'reads', api_key: 'text:none', base_url: 'http://127.0.0.1:9', retries: 0 } });
  const other = await t.tab(reader);
  await other.$('.composer input[type=file]').setInputFiles(file);
  await other.$('.paper', { hasText: 'report.pdf' }).waitFor();
  equal(await violations(other), [], 'axe');
  await other.$('.composer textarea').fill('What does it say?');
  await other.page.keyboard.press('Enter');
  await other.$('article.user .file-name', { hasText: 'report.pdf' }).waitFor();
  const thread = await other.thread();
  await other.$('.failure').waitFor(); // nobody answers there
  const stored = (await reader.json(`/v1/threads/${thread}`)).messages[0].parts.find((p) => p.type === 'file');
  equal([stored.mediaType, stored.filename, stored.url.startsWith('data:application/pdf;base64,JVBERi0')], ['application/pdf', 'report.pdf', true], 'what went out');
});

test('dropped and pasted: a PDF among pictures and text', async (t) => {
  const server = await t.server({ model: { provider: 'gemini', model: 'reads', api_key: 'text:none', base_url: 'http://127.0.0.1:9', retries: 0 } });
  const tab = await t.tab(server);
  await tab.page.evaluate((words) => {
    const data = new DataTransfer();
    data.items.add(new File([words], 'a.pdf', { type: 'application/pdf' }));
    data.items.add(new File(['x,y\n1,2\n'], 'b.csv', { type: 'text/csv' }));
    window.dispatchEvent(new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true }));
  }, pdf);
  await tab.$('.paper', { hasText: 'a.pdf' }).waitFor();
  ok((await tab.$('.composer textarea').inputValue()).includes('x,y'), 'the table is text');
  await tab.$('.composer textarea').evaluate((area, words) => {
    const data = new DataTransfer();
    data.items.add(new File([words], 'pasted.pdf', { type: 'application/pdf' }));
    area.dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }));
  }, pdf);
  await tab.$('.paper', { hasText: 'pasted.pdf' }).waitFor();
});

test('where a request must be answered first, the page does not offer to set it aside', async (t) => {
  const server = await t.server({ approvals: { on_new_message: 'hold' } });
  const tab = await t.tab(server);
  await tab.send('Send 50 dollars to Hanako');
  await tab.card();
  await tab.send('what was that for?');
  await tab.page.getByText('Here a request is answered before anything else is said. What you wrote stays here.').waitFor();
  equal(await tab.page.getByRole('button', { name: 'Send anyway' }).count(), 0, 'no such offer');
  await tab.page.getByRole('button', { name: 'Answer it first' }).click();
  equal(await tab.$('.composer textarea').inputValue(), 'what was that for?', 'the words stay');
  await tab.approve();
  await tab.$('.tool[data-status="done"]').waitFor();
  equal(server.ledger().length, 1, 'payments');
});
