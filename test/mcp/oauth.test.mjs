// oauth.test.mjs -- people's own accounts, with parties that others wrote: `oidc-provider` gives the tokens,
// the official SDK's server and its bearer middleware take them. What misbehaves is in test/live/accounts.test.mjs.
import { generateKeyPairSync, createHash, randomUUID } from 'node:crypto';
import http from 'node:http';
import express from 'express';
import { Provider } from 'oidc-provider';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { requireBearerAuth } from '@modelcontextprotocol/sdk/server/auth/middleware/bearerAuth.js';
import { InvalidTokenError } from '@modelcontextprotocol/sdk/server/auth/errors.js';
import { check, same, until } from '../lib/check.mjs';
import { test } from '../lib/test.mjs';
import { Browser } from '../live/accounts.mjs';
import { serveModel, startUpstream } from '../live/upstream.mjs';

const PEOPLE = ['ada', 'bob'], SECONDS = 3;
const sha256 = (text) => createHash('sha256').update(text).digest('hex');
const as = (who) => ({ authorization: `Bearer k-${who}` });
async function listen(t, server) {
    await new Promise((yes) => server.listen(0, '127.0.0.1', yes));
    t.defer(() => { server.closeAllConnections(); server.close(); });
    return server.address().port;
}

// Whoever comes is `provider.who`, and agrees to everything.
async function issuer(t, resource, seconds) {
    let provider;
    const granted = async (accountId, clientId) => {
        const grant = new provider.Grant({ accountId, clientId });
        grant.addOIDCScope('openid offline_access mail.read');
        grant.addResourceScope(resource.url, 'mail.read');
        return grant.save();
    };
    const answer = async (q, r) => {
        if (!q.url.startsWith('/sign-in/')) return provider.callback()(q, r);
        const { prompt, params, session } = await provider.interactionDetails(q, r);
        const result = prompt.name === 'login' ? { login: { accountId: provider.who } } : { consent: { grantId: await granted(session.accountId, params.client_id) } };
        await provider.interactionFinished(q, r, result, { mergeWithLastSubmission: true });
    };
    const url = `http://localhost:${await listen(t, http.createServer((q, r) => void answer(q, r)))}`;
    provider = new Provider(url, {
        scopes: ['openid', 'offline_access', 'mail.read'],
        cookies: { keys: ['of the test'] },
        jwks: { keys: [{ ...generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ format: 'jwk' }), kid: 'one' }] },
        features: { devInteractions: { enabled: false }, registration: { enabled: true }, revocation: { enabled: true },
            resourceIndicators: { enabled: true, defaultResource: () => resource.url, useGrantedResource: () => true,
                getResourceServerInfo: () => ({ scope: 'mail.read', audience: resource.url, accessTokenFormat: 'opaque', accessTokenTTL: seconds }) } },
        interactions: { url: (_, i) => `/sign-in/${i.uid}` },
        issueRefreshToken: () => true,
        rotateRefreshToken: () => true,
        ttl: Object.fromEntries(['AuthorizationCode', 'Grant', 'IdToken', 'Interaction', 'Session', 'RefreshToken'].map((kind) => [kind, 600])),
        findAccount: (_, id) => ({ accountId: id, claims: async () => ({ sub: id }) }),
    });
    const tokens = [];
    provider.on('grant.success', (ctx) => tokens.push(...[ctx.body.access_token, ctx.body.refresh_token].filter(Boolean)));
    return Object.assign(provider, { url, tokens });
}

// The SDK's server: a session per client, each call says as whom it came.
async function protectedServer(t, state) {
    const app = express(), sessions = new Map();
    app.use(express.json());
    const verifier = { verifyAccessToken: async (token) => {
        const found = await state.issuer.AccessToken.find(token);
        if (!found || found.isExpired || ![found.aud].flat().includes(state.url)) throw new InvalidTokenError('not a token of ours');
        return { token, clientId: found.clientId, scopes: found.scope?.split(' ') ?? [], expiresAt: found.exp, extra: { who: found.accountId } };
    } };
    const port = await listen(t, http.createServer(app));
    state.url = `http://127.0.0.1:${port}/mcp`;
    const metadata = `http://127.0.0.1:${port}/.well-known/oauth-protected-resource/mcp`;
    app.get('/.well-known/oauth-protected-resource/mcp', (_, r) => r.json({ resource: state.url, authorization_servers: [state.issuer.url], scopes_supported: ['mail.read'] }));
    app.all('/mcp', requireBearerAuth({ verifier, requiredScopes: ['mail.read'], resourceMetadataUrl: metadata }), async (q, r) => {
        let transport = sessions.get(q.headers['mcp-session-id']);
        if (!transport) {
            transport = new StreamableHTTPServerTransport({ sessionIdGenerator: randomUUID, onsessioninitialized: (id) => { sessions.set(id, transport); } });
            const server = new McpServer({ name: 'mail', version: '1' });
            server.registerTool('whoami', { description: 'Says who calls' }, (extra) => {
                state.calls.push(extra.authInfo.extra.who);
                return { content: [{ type: 'text', text: `you are ${extra.authInfo.extra.who}` }] };
            });
            await server.connect(transport);
        }
        await transport.handleRequest(q, r, q.body);
    });
}

async function organisation(t, { seconds = 600 } = {}) {
    const state = { calls: [] };
    await protectedServer(t, state);
    state.issuer = await issuer(t, state, seconds);
    const up = await startUpstream(t);
    const server = await serveModel(t, up, 'openai', { config: { demo: { tools: false }, actions: {}, mcp: { token_key: 'ab'.repeat(32) },
        auth: { keys: PEOPLE.map((who) => ({ sha256: sha256(`k-${who}`), principal: who, roles: ['user'] })) },
        mcpServers: { mail: { url: state.url, confirm: 'never', oauth: {} } } } });
    return Object.assign(server, { issuer: state.issuer, calls: state.calls });
}
const begin = (server, who, tool) => server.open('POST', '/v1/chat/stream', { message: `{{call ${tool} {}}}` }, as(who));
const names = async (server) => (await server.get('/v1/tools', as('ada'))).json.tools.map((x) => x.name);
const listed = (server, name) => until(async () => (await names(server)).includes(name), `${name} to be listed`);
const asked = (server, who) => until(async () => (await server.get('/v1/approvals?status=pending', as(who))).json.approvals[0], `a question of ${who}`);
// Its stream ends with the question; what came of it stands in the conversation.
async function whole(server, who, stream) {
    const { thread, text } = await stream.read();
    const rest = await until(async () => { const { json } = await server.get(`/v1/threads/${thread}`, as(who)); return json.state === 'idle' && json; }, `${who}'s conversation to be at rest`);
    return text + JSON.stringify(rest.messages);
}
async function connect(server, who) {
    server.issuer.who = who;
    const browser = await new Browser(server, `k-${who}`).signIn(), r = await browser.visit('/v1/mcp/mail/connect');
    check(r.home, `${who}: ${r.status} ${r.text.slice(0, 500)} ${r.via?.join(' ')}`);
}

test('connect, call, refresh and be asked again, with a real authorization server and a real MCP server', async (t) => {
    const server = await organisation(t, { seconds: SECONDS });
    await listed(server, 'mail__connect_account');
    const first = await begin(server, 'ada', 'mail__connect_account');
    await asked(server, 'ada');
    await connect(server, 'ada');
    const hello = await whole(server, 'ada', first);
    check(hello.includes('The account is connected'), hello);
    await listed(server, 'mail__whoami');
    // each as themselves
    const asks = await begin(server, 'bob', 'mail__whoami');
    await asked(server, 'bob');
    await connect(server, 'bob');
    const his = await whole(server, 'bob', asks);
    check(his.includes('you are bob'), his);
    const hers = await (await begin(server, 'ada', 'mail__whoami')).read();
    check(hers.text.includes('you are ada'), hers.text);
    // the token is over: it is refreshed, and the one before is used up
    const before = server.issuer.tokens.length, over = Date.now() + SECONDS * 1000;
    await until(() => Date.now() > over, 'the tokens to be over');
    const again = await (await begin(server, 'ada', 'mail__whoami')).read();
    check(again.text.includes('you are ada'), again.text);
    check(server.issuer.tokens.length > before, 'there was a refresh');
    // taken back there: asked again, and the same call goes on
    for (const token of server.issuer.tokens) {
        await (await server.issuer.RefreshToken.find(token))?.destroy();
        await (await server.issuer.AccessToken.find(token))?.destroy();
    }
    const lost = await begin(server, 'ada', 'mail__whoami');
    await asked(server, 'ada');
    same(server.calls, ['bob', 'ada', 'ada']);
    await connect(server, 'ada');
    const last = await whole(server, 'ada', lost);
    check(last.includes('you are ada'), last);
    same(server.calls, ['bob', 'ada', 'ada', 'ada']);
    for (const token of server.issuer.tokens) for (const text of [server.err, server.out, hello, his, last]) check(!text.includes(token), 'a token is told');
});
