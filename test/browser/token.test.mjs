// A server without sign-in whose tools have the network: the page answers only with the token of the printed address.
import { auth, key } from '../live/org.mjs';
import { test, equal, ok } from './lib/test.mjs';

const payment = 'Send 50 dollars to Hanako';
const reaching = { demo: { token_ms: 5, tools: true }, tools: { reach: { confirm: 'never', exec: { command: ['/bin/true'], network: true } } } };
const tokenOf = (server) => /#token=(\S+)/.exec(server.output)[1];

for (const mode of ['direct', 'sse', 'bidi']) {
  test(`${mode}: a yes without the start token says which address to open; from there it pays`, async (t) => {
    const server = await t.server(reaching);
    const tab = await t.tab(server, { mode });
    await tab.send(payment);
    await tab.card();
    await tab.$('.ask-yes').click();
    await tab.page.getByText('open the address that parley printed').first().waitFor();
    equal(server.ledger().length, 0, 'payments');
    const here = tab.page.url();
    const loaded = tab.page.waitForEvent('load'); // the page is there already: only the fragment changes, and it loads itself again
    await tab.page.evaluate((token) => (location.hash = `token=${token}`), tokenOf(server));
    await loaded;
    equal(tab.page.url(), here, 'the address');
    await tab.approve();
    await tab.$('.tool[data-status="done"]').waitFor();
    await tab.idle();
    equal(server.ledger().length, 1, 'payments');
  });
}

test('the printed address works at the first visit, and the token is nowhere in the page', async (t) => {
  const server = await t.server(reaching);
  const token = tokenOf(server);
  const tab = await t.tab(server, { path: `/#token=${token}` });
  equal(tab.page.url(), `${server.url}/`, 'the address');
  await tab.send(payment);
  await tab.approve();
  await tab.$('.tool[data-status="done"]').waitFor();
  await tab.idle();
  const seen = await tab.page.evaluate(() => JSON.stringify([document.cookie, { ...localStorage }, { ...sessionStorage }, location.href]));
  ok(!seen.includes(token), `the token is kept: ${seen}`);
  equal(server.ledger().length, 1, 'payments');
});

test('the address of an earlier start says so', async (t) => {
  const server = await t.server(reaching);
  const tab = await t.tab(server, { path: '/#token=of-an-earlier-start-0123456789' });
  await tab.page.getByText('That is not the token of this start').waitFor();
  equal(tab.page.url(), `${server.url}/`, 'the address');
});

test('a link with the key of somebody else signs nobody in, neither at the first visit nor beside a session', async (t) => {
  const tab = await t.tab(await t.server({ auth: auth({ ada: ['user'], bob: ['user'] }) }), { path: `/#token=${key('bob')}` });
  equal(tab.page.url(), `${tab.url}/`, 'the address');
  await tab.signIn(key('ada'));
  const who = () => tab.page.evaluate(() => fetch('/v1/session').then((r) => r.json()).then((me) => me.principal));
  const answered = tab.page.waitForResponse((r) => r.url().endsWith('/v1/session') && r.request().method() === 'POST');
  await tab.page.evaluate((token) => (location.hash = `token=${token}`), key('bob'));
  equal([(await answered).status(), tab.page.url(), await who()], [422, `${tab.url}/`, 'ada'], 'put into the address of a tab');
  await tab.page.goto('about:blank');
  await tab.page.goto(`${tab.url}/#token=${key('bob')}`);
  await tab.$('.composer').waitFor();
  equal([tab.page.url(), await who(), await tab.$('.notice').count()], [`${tab.url}/`, 'ada', 0], 'opened');
});
