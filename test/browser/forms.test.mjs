// A tool at work asks for something: its form stands on the card, in the conversation and in the inbox.
import { join } from 'node:path';
import { until } from '../lib/check.mjs';
import { ROOT } from '../lib/program.mjs';
import { shot, sticksOut, violations } from './lib/look.mjs';
import { squeeze } from './lib/page.mjs';
import { equal, ok, test } from './lib/test.mjs';

async function asking(t) {
  const model = await t.model([{ calls: [{ name: 'bank__ask', arguments: { amount: 12 } }] }, 'It is done.']);
  const server = await t.server({ model: model.config, mcpServers: { bank: { command: process.execPath, args: [join(ROOT, 'test/mcp/asking.mjs')], confirm: 'never' } } });
  await until(async () => (await server.json('/v1/tools')).tools.some((x) => x.name === 'bank__ask'), 'the server to be there');
  const results = () => JSON.parse(model.heard.at(-1)).messages.filter((m) => m.role === 'tool').map((m) => m.content).join();
  const token = /#token=(\S+)/.exec(server.output)?.[1]; // the tools are a program's: who answers shows the token of the start
  return { server, results, path: (at) => `${at}#token=${token}` };
}

for (const mode of ['direct', 'bidi']) {
  test(`${mode}: what a tool asks for at work is filled in on its card, and goes to the tool`, async (t) => {
    const { server, results, path } = await asking(t);
    const tab = await t.tab(server, { mode, path: path('/') });
    await tab.send('Pay it');
    const card = await tab.card();
    ok(squeeze(await card.innerText()).includes('Pay 12 from which account?'), await card.innerText());
    equal(await violations(tab), [], 'axe');
    equal(await sticksOut(tab), 0, 'width');
    equal(await card.getByRole('button', { name: 'Approve' }).count(), 0, 'a bare yes would say nothing');
    await card.getByRole('button', { name: 'Send', exact: true }).click();
    await card.getByText('This is needed.').waitFor();
    await card.getByRole('textbox', { name: 'account' }).fill('Savings');
    await card.getByLabel('sure').check();
    await shot(tab, 'form');
    await card.getByRole('button', { name: 'Send', exact: true }).click();
    await tab.page.getByText('It is done.', { exact: true }).waitFor();
    await tab.idle();
    ok(results().includes('accept') && results().includes('Savings') && results().includes('true'), results());
  });
}

test('a typed yes is no answer to a form, and stays in the composer; a typed no is one', async (t) => {
  const { server, path } = await asking(t);
  const tab = await t.tab(server, { path: path('/') });
  await tab.send('Pay it');
  await tab.card();
  await tab.send('yes');
  await tab.page.getByText('This sets the request aside: send anyway, or answer it first?').waitFor();
  equal(await tab.$('.set-aside button').allInnerTexts(), ['Send anyway', 'Answer it first'], 'what is offered');
  await tab.$('.set-aside').getByRole('button', { name: 'Answer it first' }).click();
  equal(await tab.$('.composer textarea').inputValue(), 'yes', 'kept');
  await tab.send('no');
  await tab.$('.set-aside[data-armed="true"]').getByRole('button', { name: /^Deny/ }).click();
  await tab.$('.ask').waitFor({ state: 'detached' });
});

test('in the inbox it is filled in the same way', async (t) => {
  const { server, results, path } = await asking(t);
  await (await fetch(`${server.url}/v1/chat/stream`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ message: 'Pay it' }) })).text();
  const tab = await t.tab(server, { path: path('/inbox'), ready: '.inbox-list' });
  await tab.$('.ask[data-armed="true"]').waitFor();
  await tab.page.getByRole('textbox', { name: 'account' }).fill('main "2"');
  await tab.page.getByRole('button', { name: 'Send', exact: true }).click();
  await tab.page.getByText('Nothing waits for you.').waitFor();
  await until(() => results().includes('accept'), 'the tool to hear it');
  ok(results().includes('main') && results().includes('false'), results());
});
