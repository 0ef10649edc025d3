// Ctrl or ⌘ + K: to a conversation or something to do, by keyboard alone.
import { readFileSync } from 'node:fs';
import { everyLook, fitsIn, shot } from './lib/look.mjs';
import { equal, ok, test } from './lib/test.mjs';

const chosen = (tab) => tab.$('.palette [aria-selected="true"] .palette-name').innerText();

test('the palette leads to a conversation and to what can be done, by keyboard alone', async (t) => {
  const server = await t.server();
  const tab = await t.tab(server);
  const { keyboard } = tab.page;
  await tab.ask('What is the weather in Tokyo?');
  const first = await tab.thread();
  await keyboard.press('Control+Shift+O');
  await tab.$('.starter').first().waitFor();
  await tab.ask('Find articles about CRISPR');
  await keyboard.press('Control+k');
  const box = tab.page.getByRole('combobox', { name: 'Go to' });
  await box.waitFor();
  equal(await chosen(tab), 'New conversation', 'what stands first');
  await keyboard.press('ArrowDown');
  await keyboard.press('ArrowUp');
  await keyboard.press('ArrowUp');
  equal(await chosen(tab), 'What is the weather in Tokyo?', 'from the first to the last');
  equal(await box.getAttribute('aria-activedescendant'), await tab.$('.palette [aria-selected="true"]').getAttribute('id'), 'told to screen readers');
  await keyboard.type('tokyo');
  equal(await tab.$('.palette [role="option"]').count(), 1, 'found');
  await keyboard.press('Enter');
  await tab.page.waitForURL(`**/t/${first}`);
  equal(await tab.$('.palette').count(), 0, 'the palette has left');
  await keyboard.press('Control+k');
  await keyboard.type('theme: dark');
  await keyboard.press('Enter');
  await tab.until(() => document.documentElement.dataset.theme === 'dark');
  await keyboard.press('Control+k');
  await keyboard.type('sett');
  await keyboard.press('Enter');
  await tab.page.getByRole('dialog', { name: 'Settings' }).waitFor();
  await keyboard.press('Escape');
  await keyboard.press('Control+k');
  await keyboard.type('nothing like this');
  await tab.page.getByText('Nothing is called that.').waitFor();
  await keyboard.press('Enter');
  equal(await tab.$('.palette').count(), 1, 'Enter takes nothing where there is nothing');
  await keyboard.press('Escape');
  await tab.$('.palette').waitFor({ state: 'detached' });
});

test('the palette, wide and narrow, in light and dark: readable, nothing sticks out', async (t) => {
  const tab = await t.tab(await t.server());
  await tab.ask('What is the weather in Tokyo?');
  await tab.page.keyboard.press('Control+k');
  await tab.$('.palette [role="option"]').first().waitFor();
  await fitsIn(tab, everyLook, 'the palette', (width, theme) => width === 1440 && shot(tab, `palette-${theme}`));
});

test('a conversation is saved as Markdown and as JSON, with what was decided', async (t) => {
  const tab = await t.tab(await t.server());
  await tab.send('Send 50 dollars to Hanako');
  await tab.approve();
  await tab.$('.tool[data-status="done"]').waitFor();
  await tab.idle();
  const saved = async (how) => {
    await tab.page.keyboard.press('Control+k');
    await tab.$('.palette [role="option"]').first().waitFor();
    await tab.page.keyboard.type(how);
    const [download] = await Promise.all([tab.page.waitForEvent('download'), tab.page.keyboard.press('Enter')]);
    return { name: download.suggestedFilename(), text: readFileSync(await download.path(), 'utf8') };
  };
  const markdown = await saved('markdown');
  equal(markdown.name, 'Send 50 dollars to Hanako.md', 'its name');
  ok(/^# Send 50 dollars to Hanako\n\n## You\n/.test(markdown.text), markdown.text);
  ok(/Tool `process_payment` \(Completed, Approved by .*\): `\{"recipient":"Hanako"|Tool `process_payment` \(Completed, Approved by .*\): `\{"amount":50/.test(markdown.text), markdown.text);
  const json = JSON.parse((await saved('json')).text);
  equal(json.messages.map((m) => m.role), ['user', 'assistant'], 'roles');
  const call = json.messages[1].parts.find((p) => p.type === 'call');
  equal([call.name, call.status, call.input.amount, call.approval.status], ['process_payment', 'done', 50, 'approved'], 'the call');
});
