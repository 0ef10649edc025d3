// An artifact beside the conversation.
import { readFileSync } from 'node:fs';
import { until } from '../lib/check.mjs';
import { squeeze } from './lib/page.mjs';
import { equal, ok, test } from './lib/test.mjs';

const page = (words) => ({ type: 'html', title: 'Counter', content: `<button>${words}</button>` });
const build = {
  description: 'Builds',
  exec: { command: ['sh', '-c', `read x; echo "{\\"result\\":$x}"`] },
  input_schema: { type: 'object' },
  confirm: 'never',
  shows: 'artifact',
};

for (const width of [375, 1440]) {
  test(`at ${width} px an artifact opens beside the conversation: versions, download, full screen, and its caption in all of them`, async (t) => {
    const calls = ['One', 'Two'].map((words) => ({ calls: [{ name: 'build', arguments: page(words) }] }));
    const model = await t.model([calls[0], 'First.', calls[1], 'Second.']);
    const tab = await t.tab(await t.server({ model: model.config, tools: { build } }), { viewport: { width, height: 800 } });
    await tab.ask('build');
    await tab.ask('better');
    const panel = tab.page.getByRole('complementary', { name: 'Artifact: Counter' });
    const button = (name) => panel.locator('iframe').contentFrame().getByRole('button', { name }).waitFor();
    await tab.page.getByRole('button', { name: 'Open Counter beside' }).last().click();
    await button('Two');
    const captioned = async (what) => ok(squeeze(await panel.innerText()).includes('Made by build. It is not part of this page'), what);
    await captioned('beside');
    equal(await tab.$('.said .artifact').evaluateAll((all) => all.map((e) => e.querySelector('iframe').offsetHeight > 0)), [true, false], 'it is not shown twice');
    await panel.getByRole('button', { name: 'Earlier version of the artifact' }).click();
    await button('One');
    ok((await panel.locator('.versions').innerText()).includes('1 / 2'), 'which of them');
    const [saved] = await Promise.all([tab.page.waitForEvent('download'), panel.getByRole('link', { name: 'Download Counter' }).click()]);
    equal([saved.suggestedFilename(), readFileSync(await saved.path(), 'utf8')], ['Counter.html', page('One').content], 'what was saved');
    await panel.getByRole('button', { name: 'Full screen' }).click();
    await captioned('full screen');
    const box = async () => Object.values((await panel.boundingBox()) ?? {});
    await until(async () => `${await box()}` === `${[0, 0, width, 800]}`, 'the whole page');
    // One step back at a time, by the keyboard.
    await tab.page.keyboard.press('Escape');
    if (width > 1100) await until(async () => (await box())[0] > 500, 'beside again');
    await tab.page.keyboard.press('Escape');
    await panel.waitFor({ state: 'detached' });
  });
}
