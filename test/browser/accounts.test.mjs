// A tool that wants the person's own account at its server: the card is a link there, and back in the conversation the call goes on.
import { createHash } from 'node:crypto';
import { Guarded, Issuer } from '../live/accounts.mjs';
import { until } from '../lib/check.mjs';
import { violations } from './lib/look.mjs';
import { squeeze } from './lib/page.mjs';
import { equal, ok, test } from './lib/test.mjs';

const key = 'k-ada';
const auth = { keys: [{ sha256: createHash('sha256').update(key).digest('hex'), principal: 'ada', roles: ['user'] }] };

/* People agree by a click of theirs, on a page of its own: what that leads to is asked for by another site. */
class Consent extends Issuer {
  async take(q, r) {
    const url = new URL(q.url, this.url);
    if (url.pathname !== '/authorize' || url.searchParams.has('agreed')) return super.take(q, r);
    url.searchParams.set('agreed', 'yes');
    r.writeHead(200, { 'content-type': 'text/html' }).end(`<a href="${url.href.replace(/&/g, '&amp;')}">Go on</a>`);
  }
}

async function organisation(t, issuer = {}) {
  const at = await new Consent(issuer).start(t);
  const mcp = await new Guarded(at).start(t);
  const model = await t.model([{ calls: [{ name: 'mail__connect_account', arguments: {} }] }, 'You are connected.', { calls: [{ name: 'mail__whoami', arguments: {} }] }, 'It is you.']);
  const server = await t.server({
    auth,
    model: model.config,
    mcp: { token_key: 'text:' + 'ab'.repeat(32) },
    mcpServers: { mail: { url: mcp.url, confirm: 'never', oauth: {} } },
  });
  const headers = { authorization: `Bearer ${key}` };
  const knows = async (name) => (await server.get('/v1/tools', headers)).json.tools.some((x) => x.name === name);
  await until(() => knows('mail__connect_account'), 'the server to be there');
  return { server, at, mcp, knows };
}

for (const mode of ['direct', 'bidi']) {
  test(`${mode}: the card of an account is a link; back from there, the conversation has gone on`, async (t) => {
    const { server, at, mcp, knows } = await organisation(t);
    const tab = await t.tab(server, { mode, ready: 'dialog' });
    await tab.signIn(key);
    await tab.send('Connect my mail');
    const card = await tab.card();
    ok(squeeze(await card.innerText()).includes('Connect your account at mail to go on?'), await card.innerText());
    const link = card.getByRole('link', { name: 'Connect my account' });
    equal([await card.getByRole('button', { name: 'Approve' }).count(), await link.getAttribute('href')], [0, `/v1/mcp/mail/connect?to=${encodeURIComponent(`/t/${await tab.thread()}`)}`], 'no yes that would be worth nothing');
    equal(await violations(tab), [], 'axe');
    await tab.send('yes');
    await tab.$('.set-aside').getByRole('button', { name: 'Answer it first' }).click();
    const thread = await tab.thread();
    await link.click();
    await tab.page.getByRole('link', { name: 'Go on' }).click();
    await tab.page.waitForURL(`**/t/${thread}`);
    await tab.page.getByText('You are connected.', { exact: true }).waitFor();
    await tab.idle();
    ok(at.heard.includes('GET /authorize') && at.heard.includes('POST /token'), at.heard.join());
    await until(() => knows('mail__whoami'), 'its tools');
    await tab.ask('Who am I there?');
    equal([mcp.calls, await tab.words()], [[['ada', 'whoami']], 'It is you.'], 'called as them');
  });
}

test('somebody who says no over there is told so, and the request still waits', async (t) => {
  const { server } = await organisation(t, { refuses: true });
  const tab = await t.tab(server, { ready: 'dialog' });
  await tab.signIn(key);
  await tab.send('Connect my mail');
  const card = await tab.card();
  const thread = await tab.thread();
  await card.getByRole('link', { name: 'Connect my account' }).click();
  await tab.page.getByRole('link', { name: 'Go on' }).click();
  await tab.page.getByText('was not connected').waitFor();
  await tab.page.goto(`${server.url}/t/${thread}`);
  await (await tab.card()).getByRole('link', { name: 'Connect my account' }).waitFor();
});
