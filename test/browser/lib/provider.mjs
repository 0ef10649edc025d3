// An identity provider on this machine: `oidc-provider`, with a page of ours for signing in (its own loads fonts from elsewhere).
import { generateKeyPairSync } from 'node:crypto';
import http from 'node:http';
import { Provider } from 'oidc-provider';

const page =
  '<!doctype html><html lang="en"><meta charset="utf-8"><title>Example ID</title><form method="post"><label>Name <input name="login"></label> <button name="do" value="yes">Let me in</button> <button name="do" value="no">Cancel</button></form>';

/** Listens at once, and answers when it knows whom it is for: `serve(callback)`. `roles` of each name; `host` of its address. */
export async function startProvider({ roles = {}, host = '127.0.0.1', secret = 'a secret of the client: 100%' } = {}) {
  let provider;
  let known;
  const ready = new Promise((done) => (known = done));
  const server = http.createServer((q, r) => void ready.then(() => (q.url.startsWith('/sign-in/') ? signIn(provider, q, r) : provider.callback()(q, r))));
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  const issuer = `http://${host}:${server.address().port}`;
  const serve = (callback) => {
    provider = new Provider(issuer, {
      clients: [{ client_id: 'parley', client_secret: secret, redirect_uris: [callback], response_types: ['code'], grant_types: ['authorization_code'] }],
      claims: { openid: ['sub', 'roles'] },
      conformIdTokenClaims: false,
      cookies: { keys: ['of the test'] },
      jwks: { keys: [{ ...generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ format: 'jwk' }), kid: 'one' }] },
      features: { devInteractions: { enabled: false } },
      interactions: { url: (_, i) => `/sign-in/${i.uid}` },
      ttl: Object.fromEntries(['AccessToken', 'AuthorizationCode', 'Grant', 'IdToken', 'Interaction', 'Session'].map((kind) => [kind, 600])),
      findAccount: (_, id) => ({ accountId: id, claims: async () => ({ sub: id, roles: roles[id] ?? [] }) }),
      loadExistingGrant: agree,
    });
    known();
  };
  return { issuer, secret, serve, close: () => (server.closeAllConnections(), server.close()) };
}

/* Nobody is asked what parley may know of them. */
async function agree({ oidc }) {
  const grant = new oidc.provider.Grant({ clientId: oidc.client.clientId, accountId: oidc.session.accountId });
  grant.addOIDCScope('openid');
  await grant.save();
  return grant;
}

async function signIn(provider, q, r) {
  if (q.method === 'GET') return void r.writeHead(200, { 'content-type': 'text/html' }).end(page);
  let body = '';
  for await (const bytes of q) body += bytes;
  const form = new URLSearchParams(body);
  const result = form.get('do') === 'yes' ? { login: { accountId: form.get('login') } } : { error: 'access_denied' };
  await provider.interactionFinished(q, r, result, { mergeWithLastSubmission: false });
}
