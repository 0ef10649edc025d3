// `/admin`: who approved what, for everybody; searched and saved; and what was used.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { until } from '../lib/check.mjs';
import { fitsIn, shot } from './lib/look.mjs';
import { squeeze } from './lib/page.mjs';
import { equal, ok, test } from './lib/test.mjs';

const key = (name, ...roles) => ({ sha256: createHash('sha256').update(name).digest('hex'), principal: name, roles });
const people = { auth: { keys: [key('ada', 'user'), key('ben', 'user'), key('cara', 'user'), key('bob', 'approver'), key('root', 'admin')] }, approvals: { who: 'approver' } };

async function busy(t) {
  const server = await t.server(people);
  const as = (name) => ({ authorization: `Bearer ${name}`, 'content-type': 'application/json' });
  const post = (name, path, body) => fetch(server.url + path, { method: 'POST', headers: { ...as(name), origin: server.url }, body: JSON.stringify(body) }).then((r) => r.text());
  const say = (name, message) => post(name, '/v1/chat/stream', { message });
  const list = async () => (await (await fetch(`${server.url}/v1/approvals`, { headers: as('bob') })).json()).approvals;
  const decided = async (name, message, answer) => {
    await say(name, message);
    const [{ id }] = (await list()).filter((a) => a.status === 'pending');
    await post('bob', `/v1/approvals/${id}`, answer);
    await until(async () => !['pending', 'approved', 'running'].includes((await list()).find((a) => a.id === id).status), 'what comes of it');
  };
  await decided('cara', 'Send 120 dollars to Kenji', { confirmed: true });
  await decided('ada', 'Send 50 dollars to Hanako', { confirmed: true });
  await decided('ben', 'Send 7 dollars to Ivo', { confirmed: false, reason: '=1+1' });
  for (const message of ['What is the weather in Tokyo?', 'Find articles about CRISPR', 'Build me a todo list']) await say('ada', message);
  await say('cara', 'Find articles about bees');
  return server;
}

const rows = (tab) => tab.$('.admin-table tbody tr').evaluateAll((all) => all.map((r) => [...r.cells].map((c) => c.innerText.replace(/\s+/g, ' ').trim())));

const looks = [[1440, 'light'], [375, 'dark']];

test('an administrator sees who approved what, searches and saves it, and what was used, on a desk and on a phone', async (t) => {
  const server = await busy(t);
  const tab = await t.tab(server, { path: '/admin', ready: 'dialog' });
  await tab.signIn('root');
  await tab.$('.admin-table tbody tr').nth(2).waitFor();
  const all = await rows(tab);
  equal(all.map(([, who, what, by, , outcome]) => [who, what, by, outcome]), [
    ['ben', 'Send 7 USD to Ivo?', 'bob on a page', 'Denied'],
    ['ada', 'Send 50 USD to Hanako?', 'bob on a page', 'Completed'],
    ['cara', 'Send 120 USD to Kenji?', 'bob on a page', 'Completed'],
  ], 'who, what, by whom, what came of it');
  await fitsIn(tab, looks, 'approvals', (width, theme) => shot(tab, `admin-${theme}-${width}`));
  await tab.page.getByRole('searchbox').fill('hanako');
  await tab.until(() => document.querySelectorAll('.admin-table tbody tr').length === 1);
  const saved = async (name) => {
    const [download] = await Promise.all([tab.page.waitForEvent('download'), tab.page.getByRole('button', { name }).click()]);
    return readFileSync(await download.path(), 'utf8');
  };
  equal(JSON.parse(await saved('Save as JSON')).map((r) => r.owner), ['ada'], 'what was found is saved');
  await tab.page.getByRole('searchbox').fill('');
  const csv = await saved('Save as CSV');
  equal(csv.split('\r\n').length, 5, csv);
  ok(csv.includes(`"'=1+1"`), `no formula of somebody else: ${csv}`);
  await tab.page.getByRole('button', { name: 'Usage' }).click();
  await tab.$('.figures tr').first().waitFor();
  const used = squeeze(await tab.$('.inbox-list').innerText());
  ok(/Tokens by person, last 31 days ada [\d,]+ (?:(?:ben|cara) [\d,]+ ){2}Tokens by day \d{1,2} \w+ \d{4} [\d,]+ Tools/.test(used), used);
  await fitsIn(tab, looks, 'usage', async (width, theme) => {
    const within = await tab.$('.figures tr').first().evaluate((row) => {
      const [outer, bar] = [row, row.querySelector('.used')].map((x) => x.getBoundingClientRect());
      return bar.width > 0 && bar.top >= outer.top && bar.bottom <= outer.bottom;
    });
    ok(within, `a bar stands in its own row at ${width} px`);
    await shot(tab, `usage-${theme}-${width}`);
  });
});

test('who is no administrator sees nothing there, and is told nothing by the server', async (t) => {
  const server = await busy(t);
  const tab = await t.tab(server, { path: '/admin', ready: 'dialog' });
  await tab.signIn('ada');
  await tab.page.getByText('This page is for administrators.').waitFor();
  const status = (path) => fetch(server.url + path, { headers: { authorization: 'Bearer ada' } }).then((r) => r.status);
  equal(await status('/v1/usage?all=true'), 403, 'usage');
  const { approvals } = await (await fetch(`${server.url}/v1/approvals?all=true`, { headers: { authorization: 'Bearer ada' } })).json();
  equal(approvals.map((a) => a.input.recipient), ['Hanako'], 'only hers');
});
