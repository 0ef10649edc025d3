// People's own accounts at MCP servers: connected by OAuth, asked for where a call needs one, kept
// encrypted, refreshed, and nobody's but theirs.
import fs from 'node:fs';
import path from 'node:path';
import { cluster } from '../cluster/lib.mjs';
import { check, parley, pause, same, test, until } from './lib.mjs';
import { Browser, Guarded, Issuer, KEYS, TOKEN_KEY, as, call, connect, names, organisation } from './accounts.mjs';
import { Modern, text } from './mcp.mjs';

const begin = (server, who, message) => server.open('POST', '/v1/chat/stream', { message }, as(who));
const turn = async (server, who, message) => (await begin(server, who, message)).read();
const pending = async (server, who) => (await server.get('/v1/approvals?status=pending', as(who))).json.approvals;
const asked = (server, who, n = 1) => until(async () => { const p = await pending(server, who); return p.length === n && p; }, `${n} questions of ${who}`);
const listed = async (server) => { for (const node of server.nodes ?? [server]) await until(async () => (await names(node)).includes('mail__whoami'), 'the tools to be listed'); };
// A thread that is at rest, with all its calls.
const done = (server, who, thread) => until(async () => {
    const r = await server.get(`/v1/threads/${thread}`, as(who));
    return r.json?.state === 'idle' && r.json;
}, `thread ${thread} to end`);
const results = (thread) => JSON.stringify(thread);
const link = (question) => /Open (\S+)$/.exec(question.ask)[1];
async function connected(t, who = 'ada', options) {
    const server = await organisation(t, options);
    await until(async () => (await names(server)).includes('mail__connect_account'), 'the server');
    await connect(server, who);
    await listed(server);
    return server;
}
// Nothing that is somebody's secret stands in the log, in what a person is told, or in the store.
async function keepsSecrets(server, ...texts) {
    const places = [['log', server.err], ['output', server.out], ...texts.map((x, i) => [`text ${i}`, x])];
    for (const f of fs.readdirSync(server.dir)) if (f.startsWith('x.db')) places.push([f, fs.readFileSync(path.join(server.dir, f), 'latin1')]);
    check(server.issuer.secrets.length > 0, 'there are secrets');
    for (const s of server.issuer.secrets) for (const [where, text] of places) check(!text.includes(s), `${where} has ${s}`);
}

test('who has not connected is asked, by a link of their own; then the call goes on as them', async (t) => {
    const server = await organisation(t);
    await until(async () => (await names(server)).includes('mail__connect_account'), 'the server');
    same(await names(server), ['mail__connect_account'], 'nothing else is known of it yet');
    // the first: by the tool that is there for it
    const first = await begin(server, 'ada', call('mail__connect_account'));
    const [question] = await asked(server, 'ada');
    check(/^Connect your account at mail to go on\? Open \/v1\/mcp\/mail\/connect$/.test(question.ask), question.ask);
    const ada = await connect(server, 'ada');
    check(results(await done(server, 'ada', first.thread)).includes('The account is connected'), 'it says so');
    await listed(server);
    // everybody sees the tools; each calls as themselves
    const mine = await turn(server, 'ada', call('mail__whoami'));
    check(mine.text.includes('you are ada'), mine.text);
    const his = await begin(server, 'bob', call('mail__whoami'));
    same(server.mcp.calls, [['ada', 'whoami']], 'nothing is called for him yet');
    same((await pending(server, 'ada')).length, 0, 'his question is not hers');
    const [asks] = await asked(server, 'bob');
    const bob = await connect(server, 'bob');
    check(results(await done(server, 'bob', his.thread)).includes('you are bob'), 'it went on as him');
    same(server.mcp.calls, [['ada', 'whoami'], ['bob', 'whoami']]);
    same((await server.get(`/v1/approvals/${asks.id}`, as('bob'))).json.decided_via, 'connect');
    await keepsSecrets(server, first.text, mine.text, his.text, (await server.get(`/v1/threads/${his.thread}`, as('bob'))).text);
    for (const v of [...ada.via, ...bob.via]) check(!/verifier/.test(v), v);
    same(server.issuer.heard.filter((x) => x === 'POST /register').length, 1, 'we register once');
});

test('a yes without an account is asked again, and a no ends the call in words', async (t) => {
    const server = await connected(t);
    const s = await begin(server, 'bob', call('mail__whoami'));
    const [first] = await asked(server, 'bob');
    same((await server.post(`/v1/approvals/${first.id}`, { confirmed: true }, as('bob'))).status, 200);
    const next = await until(async () => (await pending(server, 'bob')).find((x) => x.id !== first.id), 'another question');
    same((await server.post(`/v1/approvals/${next.id}`, { confirmed: true }, as('ada'))).status, 404, 'it is not hers to answer');
    same((await server.post(`/v1/approvals/${next.id}`, { confirmed: false }, as('bob'))).status, 200);
    check(/account was not connected/.test(results(await done(server, 'bob', s.thread))), 'the words');
    same(server.mcp.calls, []);
});

test('a call whose account was never connected never began: who goes on or stops is told so', async (t) => {
    const server = await connected(t), calls = async () => (await server.get('/v1/approvals', as('bob'))).json.approvals.map((a) => a.status);
    const first = await begin(server, 'bob', call('mail__whoami'));
    await asked(server, 'bob');
    await (await server.open('POST', '/v1/chat/stream', { thread_id: first.thread, message: 'Never mind.' }, as('bob'))).read();
    await asked(server, 'bob', 0);
    check(!results(await done(server, 'bob', first.thread)).includes('may or may not'), 'nobody doubts it');
    const next = await begin(server, 'bob', call('mail__whoami'));
    await asked(server, 'bob');
    same((await server.post(`/v1/threads/${next.thread}/stop`, {}, as('bob'))).status, 200);
    check(!results(await done(server, 'bob', next.thread)).includes('may or may not'), 'nor when it is stopped');
    same([...new Set(await calls())], ['cancelled']);
    same(server.mcp.calls, []);
});

test('a token is refreshed once, however many calls want it, and what comes back is used', async (t) => {
    const server = await connected(t, 'ada', { issuer: { seconds: 6 } });
    await until(() => [...server.issuer.access.values()].every((x) => x.ends < Date.now() + 1400), 'its last quarter');
    const before = server.issuer.refreshes ?? 0;
    const all = await Promise.all([1, 2, 3, 4].map((n) => turn(server, 'ada', call('mail__whoami', { n }))));
    for (const s of all) check(s.text.includes('you are ada'), s.text);
    same(server.mcp.calls.length, 4);
    same(server.issuer.refreshes, before + 1);
    await keepsSecrets(server, ...all.map((s) => s.text));
});

test('a token that the server does not take any more is refreshed, and the call is sent once more', async (t) => {
    const server = await connected(t);
    check((await turn(server, 'ada', call('mail__whoami'))).text.includes('you are ada'), 'it works');
    server.issuer.expire();
    const s = await turn(server, 'ada', call('mail__whoami'));
    check(s.text.includes('you are ada'), s.text);
    same([server.mcp.calls.length, server.issuer.refreshes], [2, 1]);
});

test('what was taken back there is asked for again, and the same call goes on', async (t) => {
    const server = await connected(t);
    check((await turn(server, 'ada', call('mail__whoami'))).text.includes('you are ada'), 'it works');
    server.issuer.revoke();
    const s = await begin(server, 'ada', call('mail__whoami'));
    await asked(server, 'ada');
    same(server.mcp.calls.length, 1);
    await connect(server, 'ada');
    check(results(await done(server, 'ada', s.thread)).includes('you are ada'), 'it went on');
    same(server.mcp.calls.length, 2);
});

test('a server that wants more than they allowed asks them for that, too, and the same call goes on', async (t) => {
    const server = await connected(t);
    await connect(server, 'bob');
    server.mcp.wanted = 'mail.send';
    const s = await begin(server, 'ada', call('mail__whoami'));
    const [question] = await asked(server, 'ada');
    check(/^Connect your account at mail again, and allow more there, to go on\? Open /.test(question.ask), question.ask);
    // what somebody else is told meanwhile does not change what she is asked for, nor does a restart
    await begin(server, 'bob', call('mail__connect_account'));
    await server.restart('SIGKILL');
    await listed(server);
    same(server.mcp.calls, []);
    await connect(server, 'ada');
    check(results(await done(server, 'ada', s.thread)).includes('you are ada'), 'it went on');
    same(server.issuer.scopes, ['mail.read', 'mail.read', 'mail.read mail.send']);
    same(server.mcp.calls, [['ada', 'whoami']]);
    check((await turn(server, 'ada', call('mail__whoami'))).text.includes('you are ada'), 'and needs no question again');
});

// She alone is connected there: nobody else's token lists the tools after the start.
test('a question that a restart interrupted goes on after it, also when nobody can list the tools before it is answered', async (t) => {
    const server = await connected(t);
    const cases = { 'more is wanted': () => { server.mcp.wanted = 'mail.send'; }, 'it was taken back': () => server.issuer.revoke() };
    for (const [what, happens] of Object.entries(cases)) for (const signal of ['SIGKILL', 'SIGTERM']) {
        const before = server.mcp.calls.length;
        server.mcp.wanted = undefined;
        await connect(server, 'ada');
        await listed(server);
        happens();
        if (what === 'more is wanted') server.mcp.wanted = `mail.send.${signal}`;
        const s = await begin(server, 'ada', call('mail__whoami'));
        await asked(server, 'ada');
        await server.restart(signal);
        same([(await asked(server, 'ada')).length, server.mcp.calls.length], [1, before], `${what}, ${signal}: it waits`);
        await connect(server, 'ada');
        check(results(await done(server, 'ada', s.thread)).includes('you are ada'), `${what}, ${signal}: ${results(await done(server, 'ada', s.thread))}`);
        same(server.mcp.calls.length, before + 1, `${what}, ${signal}: once`);
    }
});

test('a server that wants what they allowed already is not believed: nobody is asked again', async (t) => {
    const server = await connected(t, 'ada', { guarded: { wanted: 'mail.read', never: true } });
    const s = await turn(server, 'ada', call('mail__whoami'));
    check(/does not let this account do it/.test(s.text), s.text);
    same([(await pending(server, 'ada')).length, server.issuer.scopes.length], [0, 1]);
});

test('who disconnects while their token is being refreshed stays disconnected', async (t) => {
    const server = await connected(t);
    check((await turn(server, 'ada', call('mail__whoami'))).text.includes('you are ada'), 'it works');
    let open;
    server.issuer.expire();
    server.issuer.slow = new Promise((yes) => { open = yes; });
    await begin(server, 'ada', call('mail__whoami'));
    await until(() => server.issuer.refreshes === 1, 'the refresh');
    same((await server.request('DELETE', '/v1/mcp/mail/connect', undefined, as('ada'))).status, 204);
    open();
    await asked(server, 'ada');
    same(server.mcp.calls.length, 1);
});

test('an authorization server that is away loses nobody their account', async (t) => {
    const server = await connected(t);
    server.issuer.expire();
    server.issuer.away = true;
    const s = await turn(server, 'ada', call('mail__whoami'));
    check(/sign-in service could not be asked/.test(s.text), s.text);
    server.issuer.away = false;
    check((await turn(server, 'ada', call('mail__whoami'))).text.includes('you are ada'), 'they still have it');
});

test('two nodes that want one token at the same moment refresh it once', async (t) => {
    const issuer = await new Issuer().start(t), mcp = await new Guarded(issuer).start(t);
    let refused = 0;
    mcp.challenge = (c, token) => { if (token) refused++; return c; };
    const { nodes } = await cluster(t, { nodes: 2, env: { TOKEN_KEY }, config: { auth: KEYS, demo: { tools: false }, actions: {},
        mcp: { token_key: 'env:TOKEN_KEY' }, mcpServers: { mail: { url: mcp.url, confirm: 'never', oauth: {} } } } });
    const whoami = async (node) => text(await new Modern(node, { key: 'k-ada' }).call('mail__whoami', { n: Math.random() }));
    await connect(Object.assign(nodes[0], { issuer }), 'ada');
    for (const node of nodes) {
        same(text(await new Modern(node, { key: 'k-ada' }).call('mail__connect_account', {})), 'The account is connected. Its tools can be used now: mail', 'also where nobody connected');
        await listed(node);
        same(await whoami(node), 'you are ada');
    }
    for (let i = 1; i <= 3; i++) {
        let open;
        issuer.slow = new Promise((yes) => { open = yes; });
        issuer.expire();
        const both = nodes.map(whoami), before = refused;
        await until(() => refused >= before + 2 && issuer.refreshes === i, 'both to be refused, and one to refresh');
        await pause(300);                         // the other would have done it, too
        open();
        same(await Promise.all(both), ['you are ada', 'you are ada']);
        same([issuer.refreshes, issuer.misused], [i, undefined]);
    }
});

test('who connects at one node can be worked for at all, and who disconnects there at none', async (t) => {
    const issuer = await new Issuer().start(t), mcp = await new Guarded(issuer).start(t);
    const { nodes } = await cluster(t, { nodes: 2, env: { TOKEN_KEY }, config: { auth: KEYS, demo: { tools: false }, actions: {},
        mcp: { token_key: 'env:TOKEN_KEY' }, mcpServers: { mail: { url: mcp.url, confirm: 'never', oauth: {} } } } });
    await connect(Object.assign(nodes[0], { issuer }), 'ada');
    await listed({ nodes });
    for (const node of nodes) same(text(await new Modern(node, { key: 'k-ada' }).call('mail__whoami', {})), 'you are ada');
    same((await nodes[0].request('DELETE', '/v1/mcp/mail/connect', undefined, as('ada'))).status, 204);
    void new Modern(nodes[1], { key: 'k-ada' }).call('mail__whoami', { n: 1 }).catch(() => {});
    await asked(nodes[1], 'ada');
    same(mcp.calls.length, 2, 'nothing more was called for her');
});

test('disconnecting forgets the tokens', async (t) => {
    const server = await connected(t);
    same((await server.request('DELETE', '/v1/mcp/mail/connect', undefined, as('ada'))).status, 204);
    await begin(server, 'ada', call('mail__whoami'));
    await asked(server, 'ada');
    same(server.mcp.calls, []);
});

test('whoever is erased has no account anywhere, also after a restart; others keep theirs', async (t) => {
    const server = await connected(t);
    await connect(server, 'bob');
    await connect(server, 'corp/ada');                   // whose name ends as hers does
    same((await server.post('/v1/people/ada/erase', {}, as('root'))).json, { conversations: 0, stubs: 0, done: true });
    await server.restart();
    await listed(server);
    await begin(server, 'ada', call('mail__whoami'));
    await asked(server, 'ada');
    same(server.mcp.calls, []);
    await turn(server, 'bob', call('mail__whoami'));
    await turn(server, 'corp/ada', call('mail__whoami'));
    same(server.mcp.calls, [['bob', 'whoami'], ['corp/ada', 'whoami']]);
});

// --- ways back that are not taken -------------------------------------------------------------------

// Up to the address the authorization server sends the browser back to.
async function begun(server, who) {
    const browser = await new Browser(server, `k-${who}`).signIn();
    server.issuer.user = who;
    const there = await browser.open('/v1/mcp/mail/connect');
    same(there.status, 302, there.text);
    const back = await browser.open(there.to);
    return { browser, back: new URL(back.to) };
}
const without = (url, name, value) => { const u = new URL(url); if (value === undefined) u.searchParams.delete(name); else u.searchParams.set(name, value); return u.href; };

test('a way back with another state, of another person, browser, issuer, or used before connects nobody', async (t) => {
    const server = await organisation(t);
    await until(async () => (await names(server)).includes('mail__connect_account'), 'the server');
    const refused = async (browser, address, why) => {
        const r = await browser.open(address);
        same([r.status, why.test(r.text)], [400, true], r.text);
    };
    let { browser, back } = await begun(server, 'ada');
    await refused(browser, without(back, 'iss', 'https://evil.example'), /another authorization server/);
    await refused(browser, back.href, /not begun in this browser/);             // the cookie was for one way back
    ({ browser, back } = await begun(server, 'ada'));
    await refused(browser, without(back, 'iss'), /another authorization server/);
    ({ browser, back } = await begun(server, 'ada'));
    await refused(browser, without(back, 'code'), /no code/);
    // somebody else's browser, with her link; and with her cookie, too
    ({ browser, back } = await begun(server, 'ada'));
    const bob = await new Browser(server, 'k-bob').signIn();
    await refused(bob, back.href, /not begun in this browser/);
    bob.jar.push(...browser.jar.filter((c) => c.name === 'parley-connect'));
    await refused(bob, back.href, /somebody else/);
    // what another site leads this browser to ends nothing that was begun here
    ({ browser, back } = await begun(server, 'ada'));
    await refused(browser, without(back, 'state', 'x'.repeat(43)), /not begun in this browser/);
    await refused(browser, without(back, 'state'), /not begun in this browser/);
    // a code is good once, and sent once: some authorization servers take back what was given for one that comes again
    const cookie = browser.jar.find((c) => c.name === 'parley-connect');
    check((await browser.open(back.href)).to === '/inbox', 'she is connected');
    browser.jar.push(cookie);
    const codes = () => server.issuer.heard.filter((x) => x === 'POST /token').length, before = codes();
    await refused(browser, back.href, /used before/);
    same(codes(), before, 'it is not sent again');
    check((await turn(server, 'ada', call('mail__connect_account'))).text.includes('The account is connected'), 'she still is');
    // refused there
    server.issuer.refuses = true;
    const eve = await begun(server, 'bob');
    await refused(eve.browser, eve.back.href, /cancelled or refused/);
    same((await server.get('/v1/mcp/mail/connect')).status, 401, 'strangers are told to sign in');
    same((await server.get('/v1/mcp/nothing/connect', as('ada'))).status, 404);
    await keepsSecrets(server);
});

// --- parties that say what they should not -----------------------------------------------------------

const BAD = {
    'metadata on another host': [(x) => ({ guarded: { challenge: () => `Bearer resource_metadata="${x.url}/.well-known/oauth-protected-resource/mcp"` } }), /another host/],
    'metadata by another scheme': [() => ({ guarded: { challenge: () => 'Bearer resource_metadata="file:///etc/passwd"' } }), /another host/],
    'metadata about another address': [(x) => ({ guarded: { spoil: (m) => ({ ...m, resource: `${x.url}/mcp` }) } }), /another address/],
    'an authorization server in the clear': [() => ({ guarded: { spoil: (m) => ({ ...m, authorization_servers: ['http://issuer.example'] }) } }), /not reached over https/],
    'an issuer that is another': [(x) => ({ issuer: { spoil: (m) => ({ ...m, issuer: x.url }) } }), /another issuer/],
    'a token endpoint in the clear': [() => ({ issuer: { spoil: (m) => ({ ...m, token_endpoint: 'http://evil.example/token' }) } }), /that is https/],
    'an authorization endpoint that is a script': [() => ({ issuer: { spoil: (m) => ({ ...m, authorization_endpoint: 'javascript:alert(1)' }) } }), /that is https/],
    'no PKCE': [() => ({ issuer: { spoil: (m) => ({ ...m, code_challenge_methods_supported: ['plain'] }) } }), /PKCE/],
    'no registration': [() => ({ issuer: { spoil: (m) => ({ ...m, registration_endpoint: undefined }) } }), /client_id/],
    'another issuer than the configured one': [() => ({ oauth: { issuer: 'https://issuer.example' } }), /configured/],
};
for (const [what, [options, why]] of Object.entries(BAD)) {
    test(`nobody is sent anywhere by ${what}`, async (t) => {
        const other = await new Issuer().start(t), server = await organisation(t, options(other));
        await until(async () => (await names(server)).includes('mail__connect_account'), 'the server');
        await until(() => server.log.some((l) => l.event === 'mcp.lost'), 'its 401');
        const browser = await new Browser(server, 'k-ada').signIn(), r = await browser.open('/v1/mcp/mail/connect');
        same([r.status, why.test(r.text)], [502, true], r.text);
        same(other.heard, [], 'nobody else was asked');
    });
}

test('tokens that no header can hold, or of another kind, are not kept', async (t) => {
    for (const answer of [{ access_token: 'a b' }, { access_token: 'a\r\nX-Evil: 1' }, { token_type: 'mac' }, { access_token: '' }]) {
        const server = await organisation(t, { issuer: { answer } });
        await until(async () => (await names(server)).includes('mail__connect_account'), 'the server');
        const browser = await new Browser(server, 'k-ada').signIn(), r = await browser.visit('/v1/mcp/mail/connect');
        same(r.status, 400, r.text);
    }
});

test('a server that says our token aloud is not heard', async (t) => {
    const server = await connected(t, 'ada', { guarded: { echo: true } });
    const s = await turn(server, 'ada', call('mail__whoami'));
    check(s.text.includes('your token is [token]'), s.text);
    server.mcp.challenge = (c, token) => `Bearer error="invalid_token", error_description="${token}"`;
    server.issuer.revoke();
    await begin(server, 'ada', call('mail__whoami'));
    await asked(server, 'ada');
    await keepsSecrets(server, s.text);
});

// --- restarts ----------------------------------------------------------------------------------------

test('tokens outlive the process; with another key they are asked for again', async (t) => {
    const server = await connected(t);
    await server.restart('SIGKILL');
    await listed(server);
    check((await turn(server, 'ada', call('mail__whoami'))).text.includes('you are ada'), 'after a crash');
    for (const node of server.nodes ?? [server]) node.options.env.TOKEN_KEY = 'cd'.repeat(32);
    await server.restart();
    await until(async () => (await names(server)).includes('mail__connect_account'), 'the server');
    const s = await begin(server, 'ada', call('mail__connect_account'));
    await asked(server, 'ada');
    await connect(server, 'ada');
    check(results(await done(server, 'ada', s.thread)).includes('The account is connected'), 'again');
});

test('killed while somebody is away to connect: another process takes the way back, and the call runs once', async (t) => {
    const server = await connected(t);
    const s = await begin(server, 'bob', call('mail__whoami'));
    await asked(server, 'bob');
    const { browser, back } = await begun(server, 'bob');
    await server.restart('SIGKILL');
    await listed(server);
    await browser.signIn();
    same((await browser.open(back.href)).to, '/inbox');
    check(results(await done(server, 'bob', s.thread)).includes('you are bob'), 'it went on');
    same(server.mcp.calls, [['bob', 'whoami']]);
});

test('killed between the way back and the call: nothing is sent by itself, and they are connected', async (t) => {
    const server = await connected(t);
    const s = await begin(server, 'bob', call('mail__whoami'));
    await asked(server, 'bob');
    let open;
    server.mcp.gate = new Promise((yes) => { open = yes; });      // the server does not let his call begin yet
    await connect(server, 'bob');
    await until(async () => (await pending(server, 'bob')).length === 0, 'the yes');
    await server.restart('SIGKILL');
    open();
    server.mcp.gate = undefined;
    check(/may or may not have happened/.test(results(await done(server, 'bob', s.thread))), 'as any call that was cut off');
    same(server.mcp.calls, []);
    await listed(server);
    check((await turn(server, 'bob', call('mail__whoami'))).text.includes('you are bob'), 'the next one needs no question');
});

// --- configuration -----------------------------------------------------------------------------------

test('without a key nothing starts, and it is said what to do', async (t) => {
    const check1 = async (config) => {
        const dir = t.folder(), file = path.join(dir, 'parley.json');
        fs.writeFileSync(file, JSON.stringify(config));
        return parley(['check', '--config', file], { cwd: dir });
    };
    const mcpServers = { mail: { url: 'https://mail.example/mcp', oauth: {} } };
    let r = await check1({ mcpServers });
    check(r.code !== 0 && /"oauth" needs "mcp": \{"token_key"/.test(r.err + r.out) && /openssl rand -hex 32/.test(r.err + r.out), r.err + r.out);
    r = await check1({ mcpServers, mcp: { token_key: 'short' } });
    check(r.code !== 0 && /32 bytes in hex or base64/.test(r.err + r.out), r.err + r.out);
    r = await check1({ mcpServers: { mail: { url: 'https://mail.example/mcp', headers: { Authorization: 'Bearer x' }, oauth: {} } }, mcp: { token_key: TOKEN_KEY } });
    check(r.code !== 0 && /do not go together/.test(r.err + r.out), r.err + r.out);
    r = await check1({ mcpServers: { files: { command: 'x', oauth: {} } }, mcp: { token_key: TOKEN_KEY } });
    check(r.code !== 0 && /for servers with a "url"/.test(r.err + r.out), r.err + r.out);
});
