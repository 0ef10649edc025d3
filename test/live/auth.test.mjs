// Who may come in: keys, tokens, cookies, sockets; whose things are whose; roles, limits; and what
// other sites' pages may not do (cross-site WebSocket, DNS rebinding, CSRF).
import { createHash, createHmac, generateKeyPairSync, sign } from 'node:crypto';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { check, oneProcess, parley, raw, same, test, until, within } from './lib.mjs';
import { Ws } from './ws.mjs';

const sha256 = (text) => createHash('sha256').update(text).digest('hex');
const KEYS = { ada: 'pk_ada_0123456789', bob: 'pk_bob_0123456789', ann: 'pk_ann_approver', root: 'pk_root_admin', both: 'pk_both' };
const ROLES = { ann: ['approver'], root: ['admin'], both: ['user', 'approver'] };
const AUTH = { keys: Object.entries(KEYS).map(([principal, key]) => ({ sha256: sha256(key), principal, roles: ROLES[principal] ?? ['user'] })), cookie_seconds: 900 };
const as = (who, more = {}) => ({ authorization: `Bearer ${KEYS[who]}`, ...more });
const signedIn = (t, config = {}, options = {}) => t.serve({ config: { auth: AUTH, ...config }, ...options });

// A message, read to its end.
async function turn(server, who, message, more = {}) {
    return (await server.open('POST', '/v1/chat/stream', { message, ...more }, as(who))).read();
}
const payment = (server, who) => turn(server, who, 'Send 50 dollars to Hanako');
const gate = (s) => s.of('tool_confirmation')[0].confirmation_id;

async function refusedSocket(t, server, at, options) {
    try { await Ws.open(t, server, at, options); } catch (e) { return e.status; }
    return 101;
}
const said = async (ws, type) => { for (let text; (text = await ws.next()) !== undefined;) if (JSON.parse(text.replace(/^data: /, '')).type === type) return JSON.parse(text); };

// --- the doors ------------------------------------------------------------------------------------

const DOORS = [
    ['POST', '/v1/chat/stream', { message: 'hello' }], ['POST', '/functions/v1/chat', { message: 'hello' }],
    ['POST', '/api/chat', { messages: [] }], ['GET', '/api/chat/x/stream'], ['POST', '/stream', { messages: [] }], ['GET', '/stream/x/stream'],
    ['POST', '/ag-ui', {}], ['POST', '/ag-ui/agent/default/run', {}], ['POST', '/ag-ui/agent/default/connect', {}], ['POST', '/ag-ui/agent/default/stop/x', {}],
    ['GET', '/ag-ui/info'], ['GET', '/ag-ui/capabilities'], ['POST', '/run_sse', {}], ['POST', '/run', {}], ['GET', '/list-apps'],
    ['GET', '/apps/default/users/u/sessions'], ['POST', '/apps/default/users/u/sessions', {}], ['POST', '/apps/default/users/u/sessions/x', {}],
    ['GET', '/apps/default/users/u/sessions/x'], ['DELETE', '/apps/default/users/u/sessions/x'],
    ['GET', '/v1/threads'], ['POST', '/v1/threads', {}], ['GET', '/v1/threads/x'], ['PATCH', '/v1/threads/x', { title: 'y' }],
    ['DELETE', '/v1/threads/x'], ['GET', '/v1/threads/x/events'], ['POST', '/v1/threads/x/stop'], ['POST', '/v1/threads/x/actions', { action: 'a' }],
    ['POST', '/v1/threads/x/results/y', { result: 1 }], ['POST', '/v1/threads/x/results/y/claim', { client: 'c' }],
    ['GET', '/v1/approvals'], ['GET', '/v1/approvals/x'], ['POST', '/v1/approvals/x', { confirmed: true }], ['POST', '/v1/approvals/x/settle', { outcome: 'done' }],
    ['GET', '/v1/tools'], ['GET', '/metrics'], ['GET', '/v1/session'], ['GET', '/api/chat/ws'], ['GET', '/live'],
];

test('with auth every door asks who is there, and says how to answer', async (t) => {
    const server = await signedIn(t);
    for (const [method, at, body] of DOORS) {
        for (const headers of [{}, { authorization: 'Bearer wrong' }, { authorization: 'Bearer' }, { authorization: `Basic ${KEYS.ada}` }, { cookie: 'parley=' + 'A'.repeat(43) }]) {
            const r = await server.request(method, at, body, headers);
            same([method, at, r.status, r.headers['parley-error']], [method, at, 401, 'unauthorized']);
            check(/^Bearer realm="parley"/.test(r.headers['www-authenticate']), 'WWW-Authenticate');
            if (!/^\/(api\/chat|stream)/.test(at)) same(r.json.error.code, 'unauthorized');
        }
    }
    for (const at of ['/', '/healthz', '/readyz', '/t/some-thread']) same([(await server.get(at)).status, at], [200, at]);
    same((await server.post('/no/such/door', {})).status, 401, 'a stranger does not learn which doors there are');
    same((await server.get('/v1/threads?token=' + KEYS.ada)).status, 401, 'a token in the address is not read');
    for (const [, key] of Object.entries(KEYS)) check(!server.err.includes(key) && !server.out.includes(key), 'no key in the log');
    const failed = server.log.filter((l) => l.event === 'auth.failed');
    check(failed.length > 0 && failed.every((l) => l.level === 'security' && l.peer === '127.0.0.1' && l.path), 'failures are in the log');
});

test('a key lets its principal in, on every door', async (t) => {
    const server = await signedIn(t);
    const s = await turn(server, 'ada', 'hello');
    same([s.status, s.payload !== undefined], [200, true]);
    same((await server.get('/v1/threads', as('ada'))).json.threads.map((x) => x.id), [s.thread]);
    same((await server.get('/v1/session', as('ada'))).json, { principal: 'ada', roles: ['user'], until: null, decides: 'owner', context: 'question', holds: false });
    const bearer = await server.get('/v1/threads', { authorization: `bearer  ${KEYS.ada} ` });
    same(bearer.status, 200, 'the scheme is written in any case');
});

test('without auth everybody is local, and nothing has to be proved', async (t) => {
    const server = await t.serve();
    same((await server.get('/v1/session')).json.principal, 'local');
    same((await server.post('/v1/session', { token: 'x' })).json.principal, 'local');
    same((await server.get('/metrics')).status, 200);
    const ws = await Ws.open(t, server, '/live');
    same(JSON.parse(await ws.next()).type, 'hello');
    ws.send({ type: 'auth', token: 'whatever' });
    ws.send({ type: 'ping', timestamp: 1 });
    same(JSON.parse(await ws.next()), { type: 'pong', timestamp: 1 });
});

test('a public address without auth is refused, and parley key makes what is needed', async (t) => {
    const dir = t.folder(), file = path.join(dir, 'p.json');
    fs.writeFileSync(file, JSON.stringify({ listen: '0.0.0.0:0' }));
    const no = await parley(['serve', '--config', file], { cwd: dir });
    same([no.code, /add "auth"/.test(no.err)], [1, true]);
    const { out } = await parley(['key', 'zoe', 'user', 'admin'], { cwd: dir });
    const key = out.split('\n')[0], entry = JSON.parse(out.split('\n').find((l) => l.includes('sha256')).trim());
    same([entry.principal, entry.roles, entry.sha256], ['zoe', ['user', 'admin'], sha256(key)]);
    check(/^pk_[A-Za-z0-9_-]{43}$/.test(key), key);
    same((await parley(['key', 'zoe', 'root'], { cwd: dir })).code, 2);
    const server = await t.serve({ config: { auth: { keys: [entry] } } });
    same((await server.get('/v1/session', { authorization: `Bearer ${key}` })).json.principal, 'zoe');
});

// --- whose is it --------------------------------------------------------------------------------------

test('what is somebody else\'s looks exactly like what does not exist, on every door', async (t) => {
    const server = await signedIn(t);
    const s = await payment(server, 'ada'), id = gate(s), T = s.thread;
    const call = s.of('tool_confirmation')[0].tool_use_id;
    const none = 't_' + 'A'.repeat(22), noCall = 'call-' + 'A'.repeat(22), noId = 'confirmation-' + noCall;
    const asked = (a, b, thread) => [
        ['GET', `/v1/threads/${thread}`], ['PATCH', `/v1/threads/${thread}`, { title: 'mine' }], ['DELETE', `/v1/threads/${thread}`],
        ['GET', `/v1/threads/${thread}/events`], ['POST', `/v1/threads/${thread}/stop`], ['POST', `/v1/threads/${thread}/actions`, { action: 'approve', data: { confirmation_id: a } }],
        ['POST', `/v1/threads/${thread}/results/${b}`, { result: 1 }], ['POST', `/v1/threads/${thread}/results/${b}/claim`, { client: 'x' }],
        ['GET', `/v1/approvals/${a}`], ['POST', `/v1/approvals/${a}`, { confirmed: true }], ['POST', `/v1/approvals/${a}/settle`, { outcome: 'done' }],
        ['GET', `/v1/approvals?thread=${thread}`], ['GET', `/api/chat/${thread}/stream`], ['GET', `/stream/${thread}/stream`],
        ['POST', '/v1/chat/stream', { thread_id: thread, message: 'hi' }],
        ['POST', '/v1/chat/stream', { thread_id: thread, action: { action: 'approve', data: { confirmation_id: a } } }],
        ['POST', '/v1/chat/stream', { action: { action: 'approve', data: { confirmation_id: a } } }],
        ['POST', '/functions/v1/chat', { thread_id: thread, message: 'hi' }],
        ['POST', '/api/chat', { messages: [{ id: 'm1', role: 'assistant', parts: [{ type: 'tool-process_payment', toolCallId: b, state: 'approval-responded', input: {}, approval: { id: a, approved: true } }] }] }],
        ['POST', '/stream', { messages: [{ id: 'm1', role: 'assistant', parts: [{ type: 'tool-adk_request_confirmation', toolCallId: a, state: 'output-available', input: {}, output: { confirmed: true } }] }] }],
    ];
    const theirs = asked(id, call, T), nothing = asked(noId, noCall, none);
    for (let i = 0; i < theirs.length; i++) {
        const x = await server.request(theirs[i][0], theirs[i][1], theirs[i][2], as('bob'));
        const y = await server.request(nothing[i][0], nothing[i][1], nothing[i][2], as('bob'));
        same([theirs[i][1], x.status, x.text, x.headers['parley-error']], [theirs[i][1], y.status, y.text, y.headers['parley-error']], 'the same answer');
        check(x.status !== 200 || x.text === '{"approvals":[],"next":null}', `${theirs[i][0]} ${theirs[i][1]}: ${x.text.slice(0, 200)}`);
        const plain = Object.keys(x.headers).filter((h) => !['parley-thread'].includes(h)).sort();
        same(plain, Object.keys(y.headers).filter((h) => !['parley-thread'].includes(h)).sort(), `headers of ${theirs[i][1]}`);
    }
    same((await server.get('/v1/threads', as('bob'))).json.threads, []);
    same((await server.get('/v1/approvals', as('bob'))).json.approvals, []);
    for (const [thread] of [[T], [none]]) {
        const ws = await Ws.open(t, server, `/live?thread=${thread}`, { headers: { Authorization: `Bearer ${KEYS.bob}` } });
        await ws.ended();
        same([ws.code, ws.texts], [4404, []]);
    }
    // The same id on a door where the client names its thread is another thread.
    const own = await server.open('POST', '/api/chat', { id: T, messages: [{ id: 'u1', role: 'user', parts: [{ type: 'text', text: 'hello' }] }] }, as('bob'));
    await own.read();
    same([own.status, own.thread], [200, T]);
    const [hers, his] = [(await server.get(`/v1/threads/${T}`, as('ada'))).json, (await server.get(`/v1/threads/${T}`, as('bob'))).json];
    same([hers.state, hers.messages.length > 0, his.state, his.title], ['waiting', true, 'idle', 'hello'], 'two threads of one name');
    same((await server.get('/v1/approvals?status=pending', as('ada'))).json.approvals.map((a) => a.id), [id]);
    const yes = await server.post(`/v1/approvals/${id}`, { confirmed: true }, as('ada'));
    same([yes.status, yes.json.decided_by], [200, 'ada']);
    await until(() => server.ledger().length === 1, 'the payment');
});

test('a request id of one is not a request id of another', async (t) => {
    const server = await signedIn(t);
    const a = await turn(server, 'ada', 'my secret plan', { request_id: 'r-1' });
    const b = await turn(server, 'bob', 'hello', { request_id: 'r-1' });
    check(a.thread !== b.thread && a.run !== b.run && !b.text.includes('secret'), 'two runs');
});

// --- roles ------------------------------------------------------------------------------------------------

test('where only approvers decide, they see and decide everybody\'s, and nobody else does', async (t) => {
    const server = await signedIn(t, { approvals: { who: 'approver' } });
    const s = await payment(server, 'ada'), id = gate(s), T = s.thread;
    const no = await server.post(`/v1/approvals/${id}`, { confirmed: true }, as('ada'));
    same([no.status, no.json.error.code], [403, 'not_approver']);
    const typed = await server.post('/v1/chat/stream', { thread_id: T, action: { action: 'approve', data: { confirmation_id: id } } }, as('ada'));
    same([typed.status, typed.json.error.code], [403, 'not_approver']);
    const chat = await server.post('/stream', { id: T, messages: [{ id: 'm1', role: 'assistant', parts: [{ type: 'tool-adk_request_confirmation', toolCallId: id, state: 'output-available', input: {}, output: { confirmed: true } }] }] }, as('ada'));
    same([chat.status, chat.headers['parley-error']], [403, 'not_approver']);
    const ws = await Ws.open(t, server, `/live?thread=${T}`, { headers: { Authorization: `Bearer ${KEYS.ada}` } });
    same((await said(ws, 'hello')).pending.length, 1);
    ws.send({ type: 'approval', id, confirmed: true });
    same((await said(ws, 'error')).code, 'not_approver');
    for (const who of ['bob', 'root']) same([(await server.post(`/v1/approvals/${id}`, { confirmed: true }, as(who))).status, who], [who === 'root' ? 403 : 404, who]);
    same(server.ledger().length, 0);

    const list = (await server.get('/v1/approvals?status=pending', as('ann'))).json.approvals;
    same(list.map((a) => [a.id, a.owner, a.thread]), [[id, 'ada', T]]);
    same((await server.get(`/v1/approvals/${id}`, as('ann'))).json.owner, 'ada');
    same((await server.get(`/v1/threads/${T}`, as('ann'))).status, 403, 'an approver reads no conversations');
    same((await server.get(`/v1/threads/${T}`, as('both'))).status, 404);
    const yes = await server.post(`/v1/approvals/${id}`, { confirmed: true, reason: 'fine' }, as('ann'));
    same([yes.status, yes.json.status, yes.json.decided_by], [200, 'approved', 'ann']);
    const told = await said(ws, 'data-approval');
    same([told.id, told.data.decided_by], [id, 'ann'], 'the owner hears who decided');
    await until(() => server.ledger().length === 1, 'the payment');
    same((await server.get(`/v1/approvals/${id}`, as('ada'))).json.decided_by, 'ann');
    const other = await server.post(`/v1/approvals/${id}`, { confirmed: false }, as('both'));
    same([other.status, other.json.error.code], [409, 'already_decided']);
});

test('an administrator sees the lists and the metrics, and that is all', async (t) => {
    const server = await signedIn(t);
    const s = await payment(server, 'ada');
    await turn(server, 'bob', 'hello');
    for (const [who, status] of [['ada', 403], ['ann', 403], ['root', 200]]) {
        same([(await server.get('/metrics', as(who))).status, who], [status, who]);
        same([(await server.get('/v1/threads?all=true', as(who))).status, who], [status, who]);
        same([(await server.get('/v1/tools', as(who))).status, who], [200, who]);
    }
    const all = (await server.get('/v1/threads?all=true', as('root'))).json.threads;
    same(all.map((x) => x.owner).sort(), ['ada', 'bob']);
    const page = (await server.get('/v1/threads?all=true&limit=1', as('root'))).json;
    same((await server.get(`/v1/threads?all=true&limit=1&before=${encodeURIComponent(page.next)}`, as('root'))).json.threads.length, 1);
    same((await server.get('/v1/approvals?all=true', as('root'))).json.approvals.map((a) => a.owner), ['ada']);
    same((await server.get('/v1/approvals?all=true', as('bob'))).json.approvals, [], 'all means his own to a user');
    same((await server.get('/v1/approvals', as('ann'))).json.approvals, [], 'an approver has nothing to say where the owner decides');
    for (const [method, at, body] of [['GET', `/v1/threads/${s.thread}`], ['POST', '/v1/chat/stream', { message: 'x' }], ['POST', `/v1/approvals/${gate(s)}`, { confirmed: true }], ['GET', '/v1/threads']])
        same([(await server.request(method, at, body, as('root'))).status, at], [403, at]);
});

// --- browsers ------------------------------------------------------------------------------------------------

const cookieOf = (r) => r.headers['set-cookie']?.[0].split(';')[0];

test('whoever asks what the page looks like with a cookie that was not read yet is told their pages, and nothing breaks', async (t) => {
    const server = await signedIn(t, { pages: { all: {}, desk: { roles: ['support'] } }, auth: { keys: [...AUTH.keys, { sha256: sha256('pk_sue'), principal: 'sue', roles: ['user', 'support'] }] } });
    const cookie = cookieOf(await server.post('/v1/session', {}, { authorization: 'Bearer pk_sue' }));
    await server.restart();
    const made = (i) => ({ cookie: `parley=${String(i).padStart(43, 'A')}` });
    const [sue, ...others] = await Promise.all([server.get('/v1/page', { cookie }), ...Array.from({ length: 20 }, (_, i) => server.get('/v1/page', made(i)))]);
    same(sue.json.pages, ['default', 'all', 'desk']);
    for (const r of others) same([r.status, r.json.pages], [200, ['default', 'all']]);
    same((await server.get('/v1/session', { cookie })).json.principal, 'sue');
});

test('a browser gets a cookie for its key, and loses it by signing out', async (t) => {
    const server = await signedIn(t);
    const own = { origin: server.url };
    for (const headers of [own, { ...own, ...as('ada') }]) {
        const r = await server.post('/v1/session', headers.authorization ? undefined : { token: KEYS.ada }, headers);
        same([r.status, r.json.principal, r.json.roles], [200, 'ada', ['user']]);
        same(r.headers['cache-control'], 'no-store');
        check(/^parley=[A-Za-z0-9_-]{43}; Path=\/; Max-Age=900; HttpOnly; SameSite=Strict$/.test(r.headers['set-cookie'][0]), r.headers['set-cookie'][0]);
        const cookie = cookieOf(r);
        check(!cookie.includes(KEYS.ada), 'the key is not in it');
        same((await server.get('/v1/session', { cookie: `x=1; ${cookie}; y=2` })).json.principal, 'ada');
        same((await server.get('/v1/session', { cookie: `parley=wrong; ${cookie}` })).json.principal, 'ada', 'beside one that somebody else put there');
        same((await server.post('/v1/threads', {}, { cookie, ...own })).status, 201);
        const ws = await Ws.open(t, server, '/live', { headers: { Cookie: cookie, Origin: server.url } });
        same((await said(ws, 'hello')).type, 'hello');
        same(await refusedSocket(t, server, '/api/chat/ws', { headers: { Cookie: cookie, Origin: server.url } }), 101);
        const out = await server.request('DELETE', '/v1/session', undefined, { cookie, ...own });
        same([out.status, /parley=; .*Max-Age=0/.test(out.headers['set-cookie'][0])], [204, true]);
        const over = async (node) => (await node.get('/v1/session', { cookie })).status === 401;
        for (const node of server.nodes ?? []) await until(() => over(node), `it to be over on ${node.name}`);
        check(await over(server), 'it is over at once');
    }
    for (const body of [{ token: 'wrong' }, { token: '' }]) same((await server.post('/v1/session', body, own)).status, 401);
    for (const body of [{}, 'x', { token: 5 }]) same((await server.post('/v1/session', body, own)).status, 422);
    same((await server.get('/v1/session', { cookie: 'parley=x', authorization: 'Bearer wrong' })).status, 401);
    same((await server.post('/v1/session', { token: 'x'.repeat(20000) }, own)).status, 413, 'strangers bring no more than a token');
});

test('what stood in an address is no key: it signs nobody in, and who is signed in stays so', async (t) => {
    const server = await signedIn(t);
    const cookie = cookieOf(await server.post('/v1/session', { token: KEYS.ada }, { origin: server.url }));
    for (const headers of [{ cookie }, {}, as('ada')]) {
        for (const body of [{ start_token: KEYS.bob }, { start_token: KEYS.bob, token: KEYS.bob }, { start_token: '' }]) {
            const r = await server.post('/v1/session', body, { ...headers, origin: server.url });
            same([r.status, r.json.error.code, r.headers['set-cookie']], [422, 'no_start_token', undefined]);
        }
    }
    same((await server.get('/v1/session', { cookie })).json.principal, 'ada');
});

test('a cookie is Secure when a proxy that is believed says https, and then only its own name counts', async (t) => {
    const server = await signedIn(t, { hosts: ['chat.example.org'] });
    const https = { host: 'chat.example.org', origin: 'https://chat.example.org', 'x-forwarded-proto': 'https' };
    const r = await server.post('/v1/session', { token: KEYS.ada }, https);
    check(/^__Host-parley=.*; Secure$/.test(r.headers['set-cookie'][0]), r.headers['set-cookie'][0]);
    const cookie = cookieOf(r);
    same((await server.get('/v1/session', { ...https, cookie })).status, 200);
    same((await server.get('/v1/session', { ...https, cookie: cookie.replace('__Host-', '') })).status, 401, 'what a subdomain could set');
    for (const [proto, secure] of [['https, http', true], ['HTTPS,http,http', true], ['http, https', false], ['http', false], ['', false], [', https', false]]) {
        const got = await server.post('/v1/session', { token: KEYS.ada }, { ...https, 'x-forwarded-proto': proto });
        same([proto, /; Secure$/.test(got.headers['set-cookie'][0])], [proto, secure], 'of several proxies the one before the browser counts');
    }
});

test('a session goes on while it is used, and then ends', async (t) => {
    const clock = path.join(t.folder(), 'clock');
    fs.writeFileSync(clock, '0');
    const server = await signedIn(t, { auth: { ...AUTH, cookie_seconds: 100 } }, { env: { PARLEY_CLOCK_FILE: clock } });
    const cookie = cookieOf(await server.post('/v1/session', { token: KEYS.ada }, { origin: server.url }));
    fs.writeFileSync(clock, '80000');
    const told = await until(async () => (await server.get('/v1/session', { cookie })).headers['set-cookie']?.[0], 'to be told anew');
    check(/Max-Age=(100|99)/.test(told), told);
    fs.writeFileSync(clock, '181000');
    await until(async () => (await server.get('/v1/session', { cookie })).status === 401, 'the end of a session that nobody used');
});

// --- sockets -----------------------------------------------------------------------------------------------------

test('a socket says who it is by header, cookie or first message, and nothing before that', async (t) => {
    const server = await signedIn(t);
    const s = await turn(server, 'ada', 'hello');
    const at = `/live?thread=${s.thread}`, Origin = server.url;
    const first = await Ws.open(t, server, at, { headers: { Origin } });
    first.send({ type: 'auth', token: KEYS.ada });
    same(JSON.parse(await first.next()).thread, s.thread);
    const nested = await Ws.open(t, server, at, { headers: { Origin } });
    nested.send({ type: 'auth', version: '1.0', data: { token: KEYS.ada } });
    same(JSON.parse(await nested.next()).type, 'hello');
    for (const frame of [{ type: 'auth', token: 'wrong' }, { type: 'auth' }, { type: 'message', text: 'hello' }, { type: 'ping', timestamp: 1 }, { type: 'auth', token: KEYS.ann }, 'no json', '[]', 'x'.repeat(20000)]) {
        const ws = await Ws.open(t, server, at, { headers: { Origin } });
        ws.send(frame);
        await ws.ended();
        same([ws.code, ws.texts], [frame.token === KEYS.ann ? 1008 : frame.length === 20000 ? 1009 : 4401, []]);
    }
    const foreign = await Ws.open(t, server, at, { headers: { Origin } });
    foreign.send({ type: 'auth', token: KEYS.bob });
    await foreign.ended();
    same([foreign.code, foreign.texts], [4404, []]);
    same(await refusedSocket(t, server, at, { headers: { Authorization: 'Bearer wrong' } }), 401, 'who can send headers is told by status');
    same(await refusedSocket(t, server, '/api/chat/ws', { headers: { Origin } }), 401);
    same(await refusedSocket(t, server, '/api/chat/ws?token=' + KEYS.ada), 401);
    const dead = await Ws.open(t, server, at, { headers: { Origin, Cookie: 'parley=' + 'A'.repeat(43) } });
    dead.send({ type: 'auth', token: KEYS.ada });
    same(JSON.parse(await dead.next()).type, 'hello', 'an old cookie does not stand in the way');
    const began = Date.now();
    const silent = await Ws.open(t, server, at, { headers: { Origin } });
    await silent.ended();
    same([silent.code, silent.texts], [4401, []]);
    check(Date.now() - began > 3000, 'not before five seconds');
    check(server.log.some((l) => l.event === 'auth.failed' && l.path === '/live'), 'told in the log');
    for (let i = 0; i < 150; i++) await server.get('/v1/threads', { authorization: 'Bearer wrong' });
    for (const node of server.nodes ?? [server]) check(node.log.filter((l) => l.event === 'auth.failed').length <= 101, 'but not without end');
});

test('a cross-site WebSocket is refused, whatever it carries', async (t) => {
    const server = await signedIn(t);
    const cookie = cookieOf(await server.post('/v1/session', { token: KEYS.ada }, { origin: server.url }));
    for (const at of ['/live', '/api/chat/ws'])
        for (const Origin of ['https://evil.example', 'null', `http://localhost:${server.port + 1}`, `http://127.0.0.1:${server.port}.evil.example`, `https://evil.example:${server.port}`, 'file://'])
            same([await refusedSocket(t, server, at, { headers: { Origin, Cookie: cookie } }), Origin], [403, Origin]);
    // A cookie on a handshake without Origin: no browser sends that.
    same(await refusedSocket(t, server, '/api/chat/ws', { headers: { Cookie: cookie } }), 403);
    const ws = await Ws.open(t, server, '/live', { headers: { Cookie: cookie } });
    ws.send({ type: 'ping', timestamp: 1 });
    await ws.ended();
    same([ws.code, ws.texts], [4401, []], 'the cookie does not count there');
    const open = await t.serve();
    same(await refusedSocket(t, open, '/live', { headers: { Origin: 'https://evil.example' } }), 403, 'without auth just as well');
});

// --- other sites ------------------------------------------------------------------------------------------------------

test('a name that was made to point here is not answered', async (t) => {
    const server = await t.serve({ config: { hosts: ['chat.localhost'] } });
    for (const host of ['evil.example', `evil.example:${server.port}`, 'localhost.evil.example', '127.0.0.1.evil.example', '[::2]', '0.0.0.0', '2130706433']) {
        const r = await server.get('/v1/threads', { host });
        same([r.status, r.json.error.code, host], [421, 'unknown_host', host]);
        same([(await server.get('/', { host })).status, host], [421, host], 'the page neither');
        // Rebinding makes the page same-origin with itself.
        same((await server.post('/v1/chat/stream', { message: 'x' }, { host, origin: `http://${host}` })).status, 421);
    }
    for (const host of ['localhost', `localhost:${server.port}`, 'LOCALHOST:1', '127.0.0.1', '[::1]:80', 'chat.localhost', 'Chat.LocalHost:443'])
        same([(await server.get('/v1/threads', { host })).status, host], [200, host]);
    same(server.log.filter((l) => l.event === 'request.refused' && l.why === 'unknown_host').length >= 21, true, 'told in the log');
    check(/^HTTP\/1.1 400/.test(await raw(server, 'GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n')), 'two names are none');
});

test('a page of another site can change nothing: not by fetch, not by form, not without Origin', async (t) => {
    const server = await signedIn(t), open = await t.serve();
    const cookie = cookieOf(await server.post('/v1/session', { token: KEYS.ada }, { origin: server.url }));
    const body = JSON.stringify({ message: 'hello' });
    const unsafe = [['POST', '/v1/chat/stream'], ['POST', '/v1/threads'], ['POST', '/api/chat'], ['PATCH', '/v1/threads/x'], ['DELETE', '/v1/threads/x'], ['POST', '/v1/approvals/x'], ['POST', '/v1/session']];
    for (const [who, more] of [[server, { cookie }], [open, {}]]) {
        for (const [method, at] of unsafe) {
            for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', 'application/json']) {
                for (const headers of [{ origin: 'https://evil.example' }, { origin: 'null' }, { 'sec-fetch-site': 'cross-site' }, { 'sec-fetch-site': 'same-site' }]) {
                    const r = await who.request(method, at, body, { 'content-type': type, ...headers, ...more });
                    same([method, at, type, headers, r.status, r.headers['parley-error']], [method, at, type, headers, 403, 'foreign_origin']);
                }
            }
        }
        same((await who.get('/v1/threads', who === server ? as('ada') : {})).json.threads, [], 'nothing was made');
    }
    // The cookie alone, without a word about where the request is from: reads, but changes nothing.
    same((await server.post('/v1/threads', {}, { cookie })).status, 403);
    same((await server.get('/v1/threads', { cookie })).status, 200);
    same((await server.get('/v1/threads', { cookie, 'sec-fetch-site': 'cross-site' })).status, 403);
    same((await server.get('/v1/threads', { cookie, 'sec-fetch-site': 'same-origin' })).status, 200);
    same((await server.post('/v1/threads', {}, { cookie, 'sec-fetch-site': 'same-origin' })).status, 201);
    same((await server.post('/v1/threads', {}, as('ada'))).status, 201, 'a bearer token is sent on purpose');
});

test('origins under cors may read the answers, others may not', async (t) => {
    const server = await signedIn(t, { cors: ['https://app.example.org'], origins: ['https://send.example.org'] });
    const origin = 'https://app.example.org';
    const ask = { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization,content-type' };
    for (const at of ['/api/chat', '/v1/threads', '/v1/nothing']) {
        const r = await server.request('OPTIONS', at, undefined, ask);
        same([r.status, r.headers['access-control-allow-origin'], r.headers['access-control-allow-credentials']], [204, origin, 'true']);
        check(/POST/.test(r.headers['access-control-allow-methods']) && /authorization/.test(r.headers['access-control-allow-headers']) && r.headers.vary === 'Origin', 'methods and headers');
    }
    const got = await server.get('/v1/threads', as('ada', { origin }));
    same([got.status, got.headers['access-control-allow-origin'], /Parley-Thread/.test(got.headers['access-control-expose-headers'])], [200, origin, true]);
    const stream = await (await server.open('POST', '/v1/chat/stream', { message: 'hello' }, as('ada', { origin }))).read();
    same([stream.status, stream.headers['access-control-allow-origin']], [200, origin]);
    same((await server.get('/v1/threads', { origin })).headers['access-control-allow-origin'], origin, 'a 401 can be read, too');
    const sent = await server.get('/v1/threads', as('ada', { origin: 'https://send.example.org' }));
    same([sent.status, sent.headers['access-control-allow-origin']], [200, undefined]);
    for (const bad of ['https://evil.example', 'https://app.example.org.evil.example', 'http://app.example.org', 'https://app.example.org:444', 'null', '*']) {
        const r = await server.request('OPTIONS', '/api/chat', undefined, { ...ask, origin: bad });
        same([r.status, r.headers['access-control-allow-origin'], bad], [403, undefined, bad]);
    }
});

test('one key lets a site embed: it may read, and its pages may frame ours', async (t) => {
    const origin = 'https://shop.example';
    const framers = (r) => /frame-ancestors (.*)$/.exec(r.headers['content-security-policy'])[1];
    const server = await signedIn(t, { page: { embed: [origin, 'https://blog.example'] } });
    const ask = { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization,content-type' };
    const flight = await server.request('OPTIONS', '/stream', undefined, ask);
    same([flight.status, flight.headers['access-control-allow-origin']], [204, origin]);
    same((await server.get('/v1/threads', as('ada', { origin }))).headers['access-control-allow-origin'], origin);
    same(framers(await server.get('/')), `${origin} https://blog.example`);
    same(framers(await server.get('/frame.html')), `'self' ${origin} https://blog.example`);
    same((await server.get('/v1/threads', as('ada', { origin: 'https://evil.example' }))).status, 403);
    const alone = await signedIn(t, {});
    same([framers(await alone.get('/')), framers(await alone.get('/frame.html'))], ["'none'", "'self'"]);
});

test('the script for other sites is revalidated, compressed, and names nobody else', async (t) => {
    const server = await signedIn(t, { page: { embed: ['https://shop.example'] } });
    const got = await server.get('/embed.js');
    same([got.status, got.headers['content-type'], got.headers['cache-control']], [200, 'text/javascript; charset=utf-8', 'no-cache']);
    check(!/https?:\/\/\w/.test(got.text), 'an address in it');
    same((await server.get('/embed.js', { 'if-none-match': got.headers.etag })).status, 304);
    for (const coding of ['br', 'gzip']) same((await server.get('/embed.js', { 'accept-encoding': coding })).headers['content-encoding'], coding);
    const [part] = /assets\/embed-[\w-]+\.js/.exec(got.text);
    const module = await server.get(`/${part}`, { origin: 'https://shop.example' });
    same([module.status, module.headers['access-control-allow-origin']], [200, 'https://shop.example'], 'a module is read by the other page');
    check(/Origin/.test(String(module.headers.vary)), 'and kept apart in caches');
});

// --- limits -----------------------------------------------------------------------------------------------------------

test('requests beyond a principal\'s pace get 429 and when to come back', async (t) => {
    oneProcess('each counts the requests of a minute that came to it');
    const server = await signedIn(t, { limits: { per_principal: { requests_per_minute: 20 } } });
    const all = await Promise.all(Array.from({ length: 30 }, () => server.get('/v1/threads', as('ada'))));
    const late = all.filter((r) => r.status === 429);
    check(late.length >= 9 && late.length <= 10, `${late.length} of 30`);
    check(late.every((r) => r.json.error.code === 'rate_limited' && Number(r.headers['retry-after']) >= 1), 'Retry-After');
    const chat = await server.post('/api/chat', { messages: [] }, as('ada'));
    same([chat.status, chat.headers['parley-error'], chat.json], [429, 'rate_limited', undefined], 'a sentence where people read it');
    same((await server.get('/v1/threads', as('bob'))).status, 200);
    check(server.log.some((l) => l.event === 'request.limited' && l.by === 'ada' && l.level === 'security'), 'told in the log');
    const ws = await Ws.open(t, server, '/live', { headers: { Authorization: `Bearer ${KEYS.bob}` } });
    await said(ws, 'hello');
    for (let i = 0; i < 30; i++) ws.send({ type: 'interrupt' });
    for (let frame; (frame = JSON.parse(await ws.next())).code !== 'rate_limited';) check(frame.type === 'error', frame.type);
});

test('whatever comes on a socket counts, and who sends on and on all the same is closed', async (t) => {
    oneProcess('each counts the requests of a minute that came to it');
    const FLOODS = {
        ada: ['/live', (ws) => ws.send({ type: 'ping', timestamp: 1 })],
        bob: ['/live', (ws) => ws.sendBytes([1, 2, 3])],
        both: ['/api/chat/ws', (ws, i) => ws.send({ type: i % 2 ? 'abort' : 'nothing', requestId: 'none' })],
    };
    const server = await signedIn(t, { limits: { per_principal: { requests_per_minute: 20 } } });
    const open = (who, at) => Ws.open(t, server, at, { headers: { Authorization: `Bearer ${KEYS[who]}` } });
    for (const [who, [at, send]] of Object.entries(FLOODS)) {
        const ws = await open(who, at);
        for (let i = 0; i < 200; i++) send(ws, i);
        await ws.ended();
        same([who, ws.code], [who, 1008]);
        check(ws.texts.filter((x) => /"pong"|"unsupported"/.test(x)).length < 30, `${who}: ${ws.texts.length} answers`);
        same((await server.get('/v1/threads', as(who))).status, 429, `${who} has used up what requests are taken from, too`);
    }
});

test('a sign of life is answered also when no more messages are taken', async (t) => {
    const server = await signedIn(t, { limits: { per_principal: { requests_per_minute: 20 } } });
    const ws = await Ws.open(t, server, '/live', { headers: { Authorization: `Bearer ${KEYS.bob}` } });
    await said(ws, 'hello');
    for (let i = 0; i < 30; i++) ws.send({ type: 'interrupt' });
    ws.send({ type: 'ping', timestamp: 7 });
    same((await said(ws, 'pong')).timestamp, 7);
});

test('runs at once are limited for each, and so are tokens of a day', async (t) => {
    oneProcess('each counts the runs that it holds');
    const server = await signedIn(t, { demo: { token_ms: 40 }, limits: { per_principal: { runs: 2 } } });
    const open = [];
    for (let i = 0; i < 2; i++) open.push(await server.open('POST', '/v1/chat/stream', { message: 'Find articles about CRISPR' }, as('ada')));
    for (const s of open) await s.must('status');
    const third = await server.post('/v1/chat/stream', { message: 'hello' }, as('ada'));
    same([third.status, third.json.error.code, Number(third.headers['retry-after']) >= 1], [429, 'too_many_runs', true]);
    const ai = await server.post('/api/chat', { id: 'x', messages: [{ id: 'u', role: 'user', parts: [{ type: 'text', text: 'hi' }] }] }, as('ada'));
    same([ai.status, ai.headers['parley-error'], Number(ai.headers['retry-after']) >= 1], [429, 'too_many_runs', true]);
    same((await turn(server, 'bob', 'hello')).status, 200);
    for (const s of open) await s.read();
    same((await turn(server, 'ada', 'hello')).status, 200, 'when they have ended there is room again');
    const poor = await signedIn(t, { limits: { per_principal: { tokens_per_day: 1 } } });
    same((await turn(poor, 'ada', 'hello')).status, 200);
    const none = await poor.post('/v1/chat/stream', { message: 'hello' }, as('ada'));
    same([none.status, none.json.error.code], [429, 'tokens_used_up']);
    await poor.restart('SIGKILL');
    same((await poor.post('/v1/chat/stream', { message: 'hello' }, as('ada'))).status, 429, 'a crash forgets nothing of it');
    check(Number(none.headers['retry-after']) <= 86401, none.headers['retry-after']);
});

// --- tokens -------------------------------------------------------------------------------------------------------------

const b64 = (x) => Buffer.from(typeof x === 'string' ? x : JSON.stringify(x)).toString('base64url');
const claims = (more = {}) => ({ iss: 'https://id', aud: 'parley', sub: 'ada', exp: Math.floor(Date.now() / 1000) + 600, ...more });
const SECRET = 'a secret of the two of us, long enough';
const hs = (payload, header = { alg: 'HS256' }) => {
    const input = `${b64(header)}.${b64(payload)}`;
    return `${input}.${createHmac('sha256', SECRET).update(input).digest('base64url')}`;
};
const signed = (alg, key, payload, kid) => {
    const input = `${b64({ alg, kid })}.${b64(payload)}`;
    return `${input}.${sign('sha256', Buffer.from(input), { key, dsaEncoding: 'ieee-p1363' }).toString('base64url')}`;
};
const bearer = (token) => ({ authorization: `Bearer ${token}` });
const jwt = (more) => ({ auth: { jwt: { issuer: 'https://id', audience: 'parley', ...more } } });

test('a token made for /mcp opens that door alone, and a 401 there says who makes them', async (t) => {
    const dir = t.folder(), link = 'https://parley.example';
    fs.writeFileSync(path.join(dir, 'secret'), SECRET + '\n');
    const server = await t.serve({ dir, config: { ...jwt({ keys_file: 'secret', algorithms: ['HS256'], audience: ['parley', `${link}/mcp`] }), mcp: { link } } });
    const init = { jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25' } };
    const opens = async (token) => [(await server.post('/mcp', init, { accept: '*/*', ...bearer(token) })).status, (await server.get('/v1/threads', bearer(token))).status];
    same(await opens(hs(claims({ aud: `${link}/mcp` }))), [200, 403]);
    same(await opens(hs(claims({ aud: [`${link}/mcp`], roles: ['user'] }))), [200, 403], 'whatever its roles');
    same(await opens(hs(claims({ aud: ['parley', `${link}/mcp`] }))), [200, 200]);
    same(await opens(hs(claims({ aud: 'other' }))), [401, 401]);
    const said = (await server.post('/mcp', init, { accept: '*/*' })).headers['www-authenticate'];
    same(said, `Bearer resource_metadata="${link}/.well-known/oauth-protected-resource/mcp"`);
    for (const at of ['/.well-known/oauth-protected-resource', '/.well-known/oauth-protected-resource/mcp'])
        same((await server.get(at)).json, { resource: `${link}/mcp`, authorization_servers: ['https://id'], bearer_methods_supported: ['header'], resource_name: 'parley' });
    same((await (await t.serve()).get('/.well-known/oauth-protected-resource')).status, 404);
});

test('tokens with a shared secret are taken, and bent ones are not', async (t) => {
    const dir = t.folder();
    fs.writeFileSync(path.join(dir, 'secret'), SECRET + '\n');
    const server = await t.serve({ dir, config: jwt({ keys_file: 'secret', algorithms: ['HS256'], roles_claim: '/realm/roles' }) });
    const who = async (token) => { const r = await server.get('/v1/session', bearer(token)); return r.status === 200 ? [r.json.principal, r.json.roles] : r.status; };
    same(await who(hs(claims())), ['ada', ['user']]);
    same(await who(hs(claims({ aud: ['x', 'parley'], realm: { roles: ['x', 'admin', 'approver'] } }))), ['ada', ['approver', 'admin', 'x']]);
    for (const bad of [{ exp: 1 }, { aud: 'other' }, { iss: 'x' }, { sub: '' }, { sub: 'a\u0000b' }, { nbf: 9999999999 }, { exp: undefined }])
        same([await who(hs(claims(bad))), bad], [401, bad]);
    same(await who(hs(claims(), { alg: 'none' })), 401);
    same(await who(`${b64({ alg: 'none' })}.${b64(claims())}.`), 401);
    same(await who(hs(claims()) + '='), 401);
    same(await who(hs(claims()).slice(0, -1)), 401);
    const made = await server.post('/v1/threads', {}, bearer(hs(claims())));
    same(made.status, 201);
    same((await server.get(`/v1/threads/${made.json.id}`, bearer(hs(claims({ sub: 'bob' }))))).status, 404);
});

test('streams and sockets end when the token does', async (t) => {
    const dir = t.folder();
    fs.writeFileSync(path.join(dir, 'secret'), SECRET);
    const server = await t.serve({ dir, config: jwt({ keys_file: 'secret', algorithms: ['HS256'] }) });
    const soon = bearer(hs(claims({ exp: Math.floor(Date.now() / 1000) + 8 })));
    const { id } = (await server.post('/v1/threads', {}, soon)).json;
    const stream = await server.open('GET', `/v1/threads/${id}/events?after=0.0`, undefined, soon);
    const ws = await Ws.open(t, server, `/live?thread=${id}`, { headers: { Authorization: soon.authorization } });
    const later = await Ws.open(t, server, `/live?thread=${id}`);
    later.send({ type: 'auth', token: soon.authorization.slice(7) });
    for (const w of [ws, later]) { await said(w, 'hello'); await w.ended(); same(w.code, 4401); }
    await stream.read();
    check(stream.broken, 'the stream is cut');
});

test('keys from an address are fetched beside the loop, and again when a token names a new one', async (t) => {
    oneProcess('each asks for the keys itself');
    const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }), ec = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const jwk = (pair, kid) => ({ ...pair.publicKey.export({ format: 'jwk' }), kid, use: 'sig' });
    let keys = [jwk(rsa, 'r1')], asked = 0, hold;
    const provider = http.createServer(async (q, r) => { asked++; await hold; r.end(JSON.stringify({ keys })); });
    await new Promise((yes) => provider.listen(0, '127.0.0.1', yes));
    t.defer(() => { provider.closeAllConnections(); provider.close(); });
    let go;
    hold = new Promise((yes) => { go = yes; });
    const server = await t.serve({ config: jwt({ jwks_url: `http://127.0.0.1:${provider.address().port}/keys` }) });
    const token = signed('RS256', rsa.privateKey, claims(), 'r1');
    const early = await server.get('/v1/session', bearer(token));
    same([early.status, early.json.error.code, early.headers['retry-after']], [503, 'keys_unavailable', '2']);
    same((await server.get('/healthz')).status, 200, 'nothing waits for the provider');
    go();
    hold = undefined;
    await until(async () => (await server.get('/v1/session', bearer(token))).status === 200, 'the keys');
    same(asked, 1);
    keys = [jwk(rsa, 'r1'), jwk(ec, 'e1')];
    const fresh = signed('ES256', ec.privateKey, claims(), 'e1');
    same((await server.get('/v1/session', bearer(fresh))).status, 401, 'asked a moment ago: not again within the minute');
    same(asked, 1);
    // The public key as a secret: the classic confusion.
    const input = `${b64({ alg: 'HS256', kid: 'r1' })}.${b64(claims())}`;
    const pem = rsa.publicKey.export({ type: 'spki', format: 'pem' });
    same((await server.get('/v1/session', bearer(`${input}.${createHmac('sha256', pem).update(input).digest('base64url')}`))).status, 401);
});

test('a keys file that cannot be used stops the start and says why', async (t) => {
    const dir = t.folder(), file = path.join(dir, 'p.json');
    for (const [text, why] of [['short', 'at least 32 bytes'], [undefined, 'cannot be read']]) {
        fs.rmSync(path.join(dir, 'k'), { force: true });
        if (text) fs.writeFileSync(path.join(dir, 'k'), text);
        fs.writeFileSync(file, JSON.stringify({ listen: '127.0.0.1:0', ...jwt({ keys_file: 'k', algorithms: ['HS256'] }) }));
        const temporary = path.join(dir, 'tmp');
        fs.mkdirSync(temporary, { recursive: true });
        const r = await parley(['serve', '--config', file, '--store', 'sqlite::memory:'], { cwd: dir, env: { TMPDIR: temporary } });
        same([r.code, r.err.includes(why)], [1, true], r.err);
        same(fs.readdirSync(temporary), [], 'what is left behind');
    }
});
