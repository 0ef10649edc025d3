// accounts.mjs -- the other parties of an OAuth sign-in, as bare as can be and as bad as a test wants
// them: an authorization server, an MCP server that takes its tokens, and a person's browser.
import { createHash, randomBytes } from 'node:crypto';
import http from 'node:http';
import { check, same } from './lib.mjs';
import { serveModel, startUpstream } from './upstream.mjs';

const secret = (kind) => `${kind}-${randomBytes(18).toString('base64url')}`;
const body = async (q) => { let text = ''; for await (const b of q) text += b; return text; };
const reply = (r, status, v, headers = {}) => { r.writeHead(status, { 'content-type': 'application/json', ...headers }).end(v === undefined ? '' : JSON.stringify(v)); };
async function listen(t, answer, host = '127.0.0.1') {
    const server = http.createServer((q, r) => answer(q, r).catch((e) => { console.error(e); r.destroy(); }));
    await new Promise((yes) => server.listen(0, '127.0.0.1', yes));
    t.defer(() => { server.closeAllConnections(); server.close(); });
    return `http://${host}:${server.address().port}`;
}

// Everybody who comes to `authorize` agrees at once, as `user`. Tokens are good for `seconds`; every
// refresh token is good once. `spoil(metadata)` changes what it says of itself, `answer` what its
// token endpoint says, `iss` who it says it is on the way back.
export class Issuer {
    constructor(options = {}) {
        Object.assign(this, { seconds: 3600, user: 'ada', spoil: (m) => m, said: [], codes: new Map(), access: new Map(), refresh: new Map(), clients: new Map(), heard: [] }, options);
    }
    async start(t) {
        this.url = await listen(t, (q, r) => this.take(q, r), 'localhost');
        this.iss ??= this.url;
        return this;
    }
    get metadata() {
        return this.spoil({ issuer: this.url, authorization_endpoint: `${this.url}/authorize`, token_endpoint: `${this.url}/token`, registration_endpoint: `${this.url}/register`,
            code_challenge_methods_supported: ['S256'], response_types_supported: ['code'], authorization_response_iss_parameter_supported: true });
    }
    // All that must never be seen anywhere but with its owner.
    get secrets() { return [...this.said]; }
    make(kind) { const s = secret(kind); this.said.push(s); return s; }
    async take(q, r) {
        const url = new URL(q.url, this.url), text = await body(q);
        this.heard.push(`${q.method} ${url.pathname}`);
        if (this.away) return void r.destroy();
        if (url.pathname.startsWith('/.well-known/oauth-authorization-server')) return reply(r, 200, this.metadata);
        if (url.pathname === '/register') return this.register(JSON.parse(text), r);
        if (url.pathname === '/authorize') return this.authorize(url.searchParams, r);
        if (url.pathname === '/token') return this.token(new URLSearchParams(text), q, r);
        reply(r, 404, {});
    }
    register(wish, r) {
        const id = secret('client');
        this.clients.set(id, wish.redirect_uris);
        reply(r, 201, { ...wish, client_id: id });
    }
    authorize(p, r) {
        check(this.clients.get(p.get('client_id'))?.includes(p.get('redirect_uri')), `a client of this address: ${p}`);
        same([p.get('response_type'), p.get('code_challenge_method'), p.get('code_challenge').length], ['code', 'S256', 43]);
        check(p.get('resource') && p.get('state').length === 43, `${p}`);
        const back = new URL(p.get('redirect_uri'));
        back.searchParams.set('state', p.get('state'));
        if (this.iss) back.searchParams.set('iss', this.iss);
        if (this.refuses) back.searchParams.set('error', 'access_denied');
        else {
            const code = this.make('code');
            this.codes.set(code, { ...Object.fromEntries(p), user: this.user });
            back.searchParams.set('code', code);
        }
        r.writeHead(302, { location: back.href }).end();
    }
    give(r, user, client, resource, scope) {
        const access_token = this.make('access'), refresh_token = this.make('refresh');
        this.access.set(access_token, { user, resource, scope, ends: Date.now() + this.seconds * 1000 });
        this.refresh.set(refresh_token, { user, client, resource, scope });
        reply(r, 200, { access_token, refresh_token, token_type: 'Bearer', expires_in: this.seconds, ...this.answer });
    }
    token(p, q, r) {
        const no = (error) => reply(r, 400, { error });
        if (p.get('grant_type') === 'refresh_token') {
            const was = this.refresh.get(p.get('refresh_token'));
            if (!was || was.client !== p.get('client_id')) { this.misused = (this.misused ?? 0) + 1; return no('invalid_grant'); }
            this.refresh.delete(p.get('refresh_token'));
            this.refreshes = (this.refreshes ?? 0) + 1;
            return Promise.resolve(this.slow).then(() => this.give(r, was.user, was.client, was.resource, was.scope));
        }
        const code = this.codes.get(p.get('code'));
        this.codes.delete(p.get('code'));
        const digest = createHash('sha256').update(p.get('code_verifier') ?? '').digest('base64url');
        this.said.push(p.get('code_verifier'));
        if (!code || digest !== code.code_challenge || code.redirect_uri !== p.get('redirect_uri') || code.client_id !== p.get('client_id') || code.resource !== p.get('resource')) return no('invalid_grant');
        this.scopes = [...(this.scopes ?? []), code.scope];
        this.give(r, code.user, code.client_id, code.resource, code.scope);
    }
    // The owner takes it back there.
    revoke() { this.access.clear(); this.refresh.clear(); }
    // Access tokens alone are over.
    expire() { this.access.clear(); }
}

// An MCP server of the older era whose sessions are one person's. `calls`: who called what, in order.
export class Guarded {
    constructor(issuer, options = {}) { Object.assign(this, { issuer, calls: [], sessions: new Map(), spoil: (m) => m, challenge: (c) => c, next: 1 }, options); }
    async start(t) { this.origin = await listen(t, (q, r) => this.take(q, r)); return this; }
    get url() { return `${this.origin}/mcp`; }
    async take(q, r) {
        const path = new URL(q.url, this.origin).pathname, text = await body(q);
        if (path === '/.well-known/oauth-protected-resource/mcp') return reply(r, 200, this.spoil({ resource: this.url, authorization_servers: [this.issuer.url], scopes_supported: ['mail.read'] }));
        if (path !== '/mcp') return reply(r, 404, {});
        const token = /^Bearer (.+)$/.exec(q.headers.authorization ?? '')?.[1], who = this.issuer.access.get(token);
        if (!who || who.ends < Date.now() || who.resource !== this.url) {
            const c = this.challenge(`Bearer error="invalid_token", resource_metadata="${this.origin}/.well-known/oauth-protected-resource/mcp"`, token);
            return reply(r, 401, { error: 'unauthorized' }, { 'www-authenticate': c });
        }
        if (q.method !== 'POST') return reply(r, 405, {});
        const m = JSON.parse(text), wanted = m.method === 'tools/call' && this.wanted;
        if (wanted && (this.never || !who.scope?.split(' ').includes(wanted)))
            return reply(r, 403, { error: 'insufficient_scope' }, { 'www-authenticate': `Bearer error="insufficient_scope", scope="${wanted}"` });
        return this.message(m, q, r, who.user, token);
    }
    async message(m, q, r, user, token) {
        const say = (result, headers) => reply(r, 200, { jsonrpc: '2.0', id: m.id, result }, headers);
        const session = q.headers['mcp-session-id'];
        if (m.method === 'server/discover') return reply(r, 200, { jsonrpc: '2.0', id: m.id, error: { code: -32601, message: 'unknown' } });
        if (m.method === 'initialize') {
            await this.gate;
            const id = `s-${this.next++}`;
            this.sessions.set(id, user);
            return say({ protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'guarded', version: '1' } }, { 'mcp-session-id': id });
        }
        if (this.sessions.get(session) !== user) return reply(r, 403, { jsonrpc: '2.0', id: m.id, error: { code: -32600, message: 'a session of somebody else' } });
        if (m.method === 'tools/list') return say({ tools: [{ name: 'whoami', description: 'Says who calls', inputSchema: { type: 'object', properties: { n: { type: 'number' } } } }] });
        if (m.method !== 'tools/call') return reply(r, 202);
        this.calls.push([user, m.params.name]);
        say({ content: [{ type: 'text', text: this.echo ? `your token is ${token}` : `you are ${user}` }] });
    }
}

// A browser in which somebody is signed in: cookies by origin and path, redirects followed one by one.
export class Browser {
    constructor(server, key) { Object.assign(this, { server, key, jar: [] }); }
    async signIn() {
        const r = await this.server.post('/v1/session', { token: this.key }, { origin: this.server.url });
        same(r.status, 200, r.text);
        this.keep(this.server.url, r.headers['set-cookie']);
        return this;
    }
    keep(origin, lines) {
        for (const line of [lines ?? []].flat()) {
            const [, name, value] = /^([^=]+)=([^;]*)/.exec(line), path = /Path=([^;]+)/i.exec(line)?.[1] ?? '/';
            this.jar = this.jar.filter((c) => c.origin !== origin || c.name !== name || c.path !== path);
            if (value) this.jar.push({ origin, name, value, path });
        }
    }
    cookies(url) { return this.jar.filter((c) => c.origin === url.origin && url.pathname.startsWith(c.path)).map((c) => `${c.name}=${c.value}`).join('; '); }
    async open(address) {
        const url = new URL(address, this.server.url);
        const r = await fetch(url, { redirect: 'manual', headers: { cookie: this.cookies(url) } });
        this.keep(url.origin, r.headers.getSetCookie());
        const next = /^0; url=(.+)/.exec(r.headers.get('refresh') ?? '');
        if (next) return this.open(new URL(next[1], url).href);
        return { status: r.status, to: r.headers.get('location'), text: await r.text(), url };
    }
    // From the first address to the last; all of them are in `via`.
    async visit(address) {
        const via = [];
        for (let at = address; via.length < 10;) {
            const r = await this.open(at);
            via.push(r.url.href);
            if (r.status !== 302 && r.status !== 303) return { ...r, via };
            if (new URL(r.to, r.url).pathname === '/inbox') return { ...r, via, home: true };
            at = new URL(r.to, r.url).href;
        }
        throw new Error(`round in circles: ${via}`);
    }
}

// --- an organisation -----------------------------------------------------------------------------------

export const KEYS = { keys: [['ada', 'user'], ['bob', 'user'], ['corp/ada', 'user'], ['root', 'admin']].map(([who, role]) => ({ sha256: createHash('sha256').update(`k-${who}`).digest('hex'), principal: who, roles: [role] })) };
export const as = (who) => ({ authorization: `Bearer k-${who}` });
export const call = (name, input = {}) => `{{call ${name} ${JSON.stringify(input)}}}`;
export const TOKEN_KEY = 'ab'.repeat(32);

// An organisation: the two others, and a parley behind which they stand.
export async function organisation(t, { issuer = {}, guarded = {}, oauth = {}, config = {}, ...more } = {}) {
    const as = await new Issuer(issuer).start(t), mcp = await new Guarded(as, guarded).start(t);
    const up = await startUpstream(t);
    const server = await serveModel(t, up, 'openai', { env: { TOKEN_KEY }, ...more, config: { auth: KEYS, demo: { tools: false }, actions: {}, mcp: { token_key: 'env:TOKEN_KEY' },
        mcpServers: { mail: { url: mcp.url, confirm: 'never', oauth } }, ...config } });
    return Object.assign(server, { issuer: as, mcp, up });
}
export const names = async (server, who = 'ada') => (await server.get('/v1/tools', as(who))).json.tools.map((x) => x.name);
// Somebody goes through all of it, in a browser.
export async function connect(server, who) {
    const browser = await new Browser(server, `k-${who}`).signIn();
    server.issuer.user = who;
    const r = await browser.visit('/v1/mcp/mail/connect');
    check(r.home, `${who} comes home: ${r.status} ${r.text}`);
    return { browser, ...r };
}
