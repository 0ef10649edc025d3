// Why did it do that: the developer panel's steps, with the exact request to the model; and the seam where older turns were
// summarised.
import { violations } from './lib/look.mjs';
import { equal, ok, test } from './lib/test.mjs';

async function developer(tab) {
  await tab.page.getByRole('button', { name: 'Settings' }).click();
  await tab.page.getByText('Show the raw events').click();
  await tab.page.keyboard.press('Escape');
  await tab.$('.dev').getByRole('button', { name: 'Steps' }).click();
}

test('the developer panel tells every step: the request, what came back, who decided, what the tool was given and gave', async (t) => {
  const model = await t.model([{ text: 'Let me look.', calls: [{ name: 'lookup', arguments: { order: 'o-17' } }] }, 'It was sent on Monday.']);
  const lookup = { description: 'Looks an order up.', exec: { command: ['sh', '-c', 'cat > /dev/null; echo \'{"result":"sent on Monday"}\''] }, input_schema: { type: 'object' }, confirm: 'always' };
  const tab = await t.tab(await t.server({ system: 'You are a clerk.', model: model.config, tools: { lookup } }));
  await developer(tab);
  await tab.send('Where is order o-17?');
  await tab.approve();
  await tab.until(() => document.body.innerText.includes('It was sent on Monday.'));
  const steps = tab.$('.dev .steps > li');
  await tab.until(() => document.querySelectorAll('.dev .steps > li').length === 2);
  ok(/lookup \(done\) · Let me look\./.test(await steps.first().innerText()), await steps.first().innerText());
  await steps.first().getByRole('button').first().click();
  await tab.until(() => /You are a clerk/.test(document.querySelector('.dev .steps').innerText));
  const told = await steps.first().innerText();
  for (const words of ['Where is order o-17?', '"messages"', 'decided', 'approved', 'sent on Monday', 'o-17']) ok(told.includes(words), `${words} is not in: ${told}`);
  if (process.env.LOOK) await tab.page.screenshot({ path: `${process.env.LOOK}/steps.png` });
  equal(await violations(tab), [], 'axe');
});

test('where older turns were summarised the page shows a seam, also after a reload, and every message stays', async (t) => {
  const model = await t.model(Array.from({ length: 40 }, (_, i) => `Answer ${i}: ${'words '.repeat(600)}`));
  const tab = await t.tab(await t.server({ model: { ...model.config, context: { limit: 6000 }, max_tokens: 500 }, context: { keep: 2 }, demo: { tools: false }, actions: {} }));
  for (let i = 0; i < 10 && !(await tab.$('.seam').count()); i++) await tab.ask(`Question ${i}: and so on`);
  ok((await tab.$('.seam').count()) > 0, 'no seam was shown');
  ok(/Older messages were summarised/.test(await tab.$('.seam').first().innerText()), 'in words');
  if (process.env.LOOK) await tab.page.screenshot({ path: `${process.env.LOOK}/seam.png` });
  await tab.page.reload();
  await tab.$('.seam').first().waitFor();
  ok((await tab.page.locator('body').innerText()).includes('Question 0:'), 'the first message is gone');
});
