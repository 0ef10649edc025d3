// Several models to choose from, and files that not every model reads.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { everyLook, fitsIn, violations } from './lib/look.mjs';
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
    await fitsIn(tab, mode === 'bidi' ? everyLook : [], 'the choice of a model');
  });
}

test('a model that is not offered cannot be asked for', async (t) => {
  const one = await t.model(['One.']);
  const server = await t.server({ models: { one: one.config, dear: one.config, two: one.config }, model: 'one', page: { models: ['one', 'two'] } });
  const ask = (page) => fetch(`${server.url}/v1/chat/stream`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ message: 'x', page }) });
  equal((await ask('default@dear')).status, 422, 'not offered');
  equal((await ask('default@two')).status, 200, 'offered');
});

/* A page of each text; of null one without words, on which there is something to see. */
function paper(...pages) {
  const objects = pages.flatMap((text, i) => {
    const content = text === '' ? '' : text === null ? '0.2 0.4 0.8 rg 100 100 300 400 re f' : `BT /F1 ${text.includes('\n') ? 4 : 24} Tf 8 TL 30 830 Td ${text.split('\n').map((line) => `(${line}) Tj T*`).join('\n')} ET`;
    return [
      `${10 + 2 * i} 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents ${11 + 2 * i} 0 R/Resources<</Font<</F1 3 0 R>>>>>>endobj`,
      `${11 + 2 * i} 0 obj<</Length ${content.length}>>stream\n${content}\nendstream endobj`,
    ];
  });
  return [
    '%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj',
    `2 0 obj<</Type/Pages/Kids[${pages.map((_, i) => `${10 + 2 * i} 0 R`).join(' ')}]/Count ${pages.length}>>endobj`,
    '3 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>endobj',
    ...objects,
    'trailer<</Root 1 0 R>>\n%%EOF\n',
  ].join('\n');
}

const file = (name, content) => ({ name, mimeType: 'application/pdf', buffer: Buffer.from(content) });

/* Encrypted with a password that nobody has. */
const locked = paper('secret').replace('trailer<</Root 1 0 R>>', `trailer<</Root 1 0 R/ID[<00><00>]/Encrypt<</Filter/Standard/V 1/R 2/P -4/O<${'00'.repeat(32)}>/U<${'00'.repeat(32)}>>>>>`);

const pdf = '%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[]/Count 0>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n';

test('a model that reads no PDF gets its words, and pages without words as pictures', async (t) => {
  const model = await t.model(['A report and a drawing.']);
  const tab = await t.tab(await t.server({ model: model.config }));
  const add = (...files) => tab.$('.composer input[type=file]').setInputFiles(files);
  ok(!tab.requests.some((u) => u.includes('/pdf/')), 'nothing that reads a PDF is loaded before there is one');
  await add(file('report.pdf', paper('Sales rose by a third.', null)));
  await tab.$('.pictures img[alt="report-2.jpg"]').waitFor();
  equal(await tab.$('.composer textarea').inputValue(), 'report.pdf:\n```\nSales rose by a third.\n```\n', 'its words');
  await fitsIn(tab, everyLook, 'files to be sent');
  await tab.page.keyboard.press('Enter');
  await tab.$('.said', { hasText: 'A report and a drawing.' }).waitFor();
  ok(model.heard[0].includes('Sales rose by a third.') && model.heard[0].includes('data:image/jpeg;base64,'), 'both reached the model');
  ok(tab.requests.every((u) => !/^https?:/.test(u) || u.startsWith(tab.url)), 'nothing from elsewhere');

  await add(file('scan.pdf', paper(null, null, null, null, null, null, null)));
  await tab.page.getByText('scan.pdf: 2 pages were left out, from page 6 on.').waitFor();
  equal(await tab.$('.pictures img').count(), 5, 'as many as go with a message');
  const wide = await tab.$('.pictures img').first().evaluate((img) => [img.naturalWidth, img.naturalHeight]);
  equal(wide, [1131, 1600], 'large enough to be read');
});

test('a PDF from which nothing can be taken is left out, and why is said', async (t) => {
  const tab = await t.tab(await t.server());
  const add = (name, content) => tab.$('.composer input[type=file]').setInputFiles([file(name, content)]);
  await add('empty.pdf', paper(''));
  await tab.page.getByText('empty.pdf was left out: there is nothing to read in it.').waitFor();
  await add('broken.pdf', 'no such thing');
  await tab.page.getByText('broken.pdf could not be read.').waitFor();
  await add('book.pdf', paper(...Array(6).fill(Array(100).fill('word '.repeat(40)).join('\n'))));
  await tab.page.getByText('book.pdf is too long: its text does not fit into a message (up to 100,000 characters).').waitFor();
  await add('secret.pdf', locked);
  await tab.page.getByText('secret.pdf is locked with a password.').waitFor();
  equal([await tab.$('.pictures li').count(), await tab.$('.composer textarea').inputValue()], [0, ''], 'nothing was taken');
});

test('a PDF goes as it is to a model that reads it', async (t) => {
  const folder = t.folder();
  const file = join(folder, 'report.pdf');
  writeFileSync(file, pdf);
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
