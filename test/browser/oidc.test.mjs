// Signing in at an identity provider: a real one, on this machine.
import { until } from '../lib/check.mjs';
import { everyLook, fitsIn, shot } from './lib/look.mjs';
import { startProvider } from './lib/provider.mjs';
import { equal, ok, test } from './lib/test.mjs';

/* To a browser the provider is another site: only then is it seen which cookies come along. */
async function organisation(t, { roles, config = {} } = {}) {
  const provider = await startProvider({ roles, host: 'localhost' });
  t.closing.push(provider.close);
  const oidc = { issuer: provider.issuer, client_id: 'parley', client_secret: `text:${provider.secret}`, name: 'Example ID' };
  const server = await t.server({ ...config, auth: { oidc, ...config.auth } });
  provider.serve(`${server.url}/v1/login/callback`);
  await until(() => server.output.includes('oidc.found'), 'the provider to be found');
  return { provider, server };
}

async function signInAt(tab, name) {
  await tab.page.getByRole('link', { name: 'Sign in with Example ID' }).click();
  await tab.page.getByLabel('Name').fill(name);
  await tab.page.getByRole('button', { name: 'Let me in' }).click();
}

test('people sign in at the provider and come back to where they were, as themselves', async (t) => {
  const { server } = await organisation(t, { roles: { ada: ['user'], bob: ['approver'] }, config: { approvals: { who: 'approver' } } });
  const tab = await t.tab(server, { path: '/t/not-mine', ready: 'dialog' });
  await shot(tab, 'sign-in');
  await fitsIn(tab, everyLook, 'the sign-in');
  await signInAt(tab, 'ada');
  await tab.page.waitForURL('**/t/not-mine');
  await tab.page.getByRole('heading', { name: 'This conversation is not here' }).waitFor();
  const me = await tab.page.evaluate(() => fetch('/v1/session').then((r) => r.json()));
  equal([me.principal, me.roles], ['ada', ['user']], 'who');
  await tab.page.getByRole('button', { name: 'New conversation' }).first().click();
  await tab.send('Send 50 dollars to Hanako');
  await tab.page.getByText('Waits for an approver', { exact: true }).waitFor();
  const seen = await tab.page.evaluate(() => JSON.stringify([document.cookie, { ...localStorage }, location.href]));
  ok(!/code=|eyJ/.test(seen), `no code and no token is in the page: ${seen}`);
  // Somebody else, with another role.
  const bob = await t.tab(server, { path: '/inbox', ready: 'dialog' });
  await signInAt(bob, 'bob');
  await bob.page.waitForURL('**/inbox');
  await bob.$('.ask[data-armed="true"]').getByRole('button', { name: 'Approve', exact: true }).click();
  await tab.$('.record', { hasText: 'Approved by bob' }).waitFor();
  // Signed out is signed out.
  await bob.page.getByRole('button', { name: 'Settings' }).click();
  await bob.page.getByRole('button', { name: 'Sign out' }).click();
  await bob.page.getByRole('dialog', { name: 'Sign in' }).waitFor();
});

test('who turns round at the provider is told so, and may try again', async (t) => {
  const { server } = await organisation(t);
  const tab = await t.tab(server, { ready: 'dialog' });
  await tab.page.getByRole('link', { name: 'Sign in with Example ID' }).click();
  await tab.page.getByRole('button', { name: 'Cancel' }).click();
  await tab.page.getByText('You were not signed in: the sign-in was cancelled or refused there.').waitFor();
  await signInAt(tab, 'ada');
  await tab.ask('What is the weather in Tokyo?');
});

test('a way back that did not begin in this browser signs nobody in', async (t) => {
  const { server } = await organisation(t);
  const tab = await t.tab(server, { path: '/v1/login/callback?code=stolen&state=made-up', ready: 'dialog' });
  await tab.page.getByText('You were not signed in: the sign-in took too long').waitFor();
  equal(new URL(tab.page.url()).search, '', 'it is said once');
  equal(await tab.page.evaluate(() => fetch('/v1/session').then((r) => r.status)), 401, 'who');
  ok(server.output.includes('a sign-in that did not begin in this browser'), 'the log says why');
});

test('a code that is not the provider’s, a refusal there, and an address of another host lead nowhere', async (t) => {
  const { server } = await organisation(t);
  const begin = async (to) => {
    const r = await fetch(`${server.url}/v1/login?to=${encodeURIComponent(to)}`, { redirect: 'manual' });
    const cookie = r.headers.get('set-cookie');
    ok(/^parley-login=[^;]+; Path=\/v1\/login; Max-Age=600; HttpOnly; SameSite=Lax$/.test(cookie), cookie);
    const url = new URL(r.headers.get('location'));
    return { state: url.searchParams.get('state'), url, cookie: cookie.split(';')[0] };
  };
  const back = async (query, cookie) => {
    const r = await fetch(`${server.url}/v1/login/callback?${query}`, { redirect: 'manual', headers: { cookie } });
    return [r.status, r.headers.get('location'), /^parley=/m.test(r.headers.getSetCookie().join('\n'))];
  };
  const { state, url, cookie } = await begin('/inbox');
  equal([url.searchParams.get('code_challenge_method'), url.searchParams.get('code_challenge').length, url.searchParams.get('response_type')], ['S256', 43, 'code'], 'PKCE');
  ok(!url.search.includes(cookie.split('.')[2]), 'the verifier stays in the browser');
  equal(await back(`code=forged&state=${state}`, cookie), [302, '/?signin=failed', false], 'a forged code');
  equal(await back(`error=access_denied&state=${state}`, cookie), [302, '/?signin=denied', false], 'a refusal');
  equal(await back(`code=forged&state=${state.slice(1)}x`, cookie), [302, '/?signin=expired', false], 'another state');
  equal(await back(`code=forged&state=${state}`, cookie.replace(/\/inbox$/, '//evil.example')), [302, '/?signin=expired', false], 'a cookie that leads elsewhere');
  for (const to of ['//evil.example', '/\\evil.example', 'https://evil.example', '/%0d%0aset-cookie:x', '']) {
    const there = await begin(to);
    ok(there.cookie.endsWith('./'), `${to}: ${there.cookie}`);
  }
});

test('keys go on working beside the provider, and a provider that is away is said', async (t) => {
  const { createHash } = await import('node:crypto');
  const keys = [{ sha256: createHash('sha256').update('a key').digest('hex'), principal: 'eve', roles: ['user'] }];
  const oidc = { issuer: 'http://127.0.0.1:9', client_id: 'parley', name: 'Example ID' };
  const server = await t.server({ auth: { oidc, keys } });
  const tab = await t.tab(server, { ready: 'dialog' });
  await tab.page.getByRole('link', { name: 'Sign in with Example ID' }).click();
  await tab.page.getByText('The sign-in page cannot be reached at the moment.').waitFor();
  await tab.page.getByText('With an access key instead').click();
  await tab.signIn('a key');
  await tab.ask('What is the weather in Tokyo?');
});
