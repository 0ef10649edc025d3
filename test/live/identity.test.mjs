// Whose call it is: tools are told by the server on whose behalf they run, in every way a tool can be reached; what is
// for some roles does not exist for others.
import { spawnSync } from 'node:child_process';
import { createHash, createHmac, createPublicKey, createVerify, generateKeyPairSync, verify } from 'node:crypto';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { ROOT, check, parley, same, settled, test, until } from './lib.mjs';
import { Legacy } from './mcp.mjs';
import { STDIO, answerMcp } from './toldmcp.mjs';
import { serveModel, startUpstream, systemOf, toolNames } from './upstream.mjs';
import { Ws } from './ws.mjs';

const sha256 = (text) => createHash('sha256').update(text).digest('hex');
const b64 = (v) => Buffer.from(typeof v === 'string' ? v : JSON.stringify(v)).toString('base64url');
const SECRET = 'a secret of thirty-two bytes or more';
const call = (name, input = {}) => `{{call ${name} ${JSON.stringify(input)}}}`;

// Tokens of an identity provider.
const token = (sub, more = {}) => {
    const body = `${b64({ alg: 'HS256' })}.${b64({ iss: 'https://id', aud: 'parley', sub, exp: Math.floor(Date.now() / 1000) + 600, ...more })}`;
    return `${body}.${createHmac('sha256', SECRET).update(body).digest('base64url')}`;
};
const ADA = { email: 'ada@example.org', tenant: 'blue', roles: ['support'] };
const as = (sub, more) => ({ authorization: `Bearer ${token(sub, more)}` });
const ANN = { authorization: 'Bearer pk_ann_approver' };
const AUTH = { jwt: { issuer: 'https://id', audience: 'parley', keys_file: 'secret', algorithms: ['HS256'] },
    keys: [{ sha256: sha256('pk_ann_approver'), principal: 'ann', roles: ['approver'], claims: { email: 'ann@example.org' } },
        { sha256: sha256('pk_root'), principal: 'root', roles: ['admin'] }] };

async function serve(t, config, more = {}) {
    const up = await startUpstream(t), dir = t.folder();
    fs.writeFileSync(path.join(dir, 'secret'), SECRET);
    const server = await serveModel(t, up, 'openai', { dir, config: { auth: AUTH, demo: { tools: false }, actions: {}, ...config }, ...more });
    return Object.assign(server, { up });
}
const turn = async (server, message, headers, more = {}) => (await server.open('POST', '/v1/chat/stream', { message, ...more }, headers)).read();
const value = (s, i = 0) => s.payload.tool_history[i].value;
const sh = (script, more = {}) => ({ description: 'd', confirm: 'never', exec: { command: ['/bin/sh', '-c', script] }, ...more });
// Says its PARLEY_ variables, each on a line.
const SAYS = sh(`read x; printf '{"result":"'; env | grep ^PARLEY_ | sort | tr '\\n' ' '; echo '"}'`, { claims: ['email', 'tenant', 'phone'] });
const variables = (text) => Object.fromEntries(text.trim().split(' ').map((l) => l.split('=')));

// An endpoint that keeps the headers of its requests.
async function endpoint(t) {
    const heard = [];
    const s = http.createServer((q, r) => { heard.push(q.headers); q.resume(); r.setHeader('content-type', 'application/json').end('{"ok":true}'); });
    await new Promise((done) => s.listen(0, '127.0.0.1', done));
    t.defer(() => s.close());
    return { heard, tool: (more = {}) => ({ description: 'd', confirm: 'never', http: { url: `http://127.0.0.1:${s.address().port}/pay`, allow: ['127.0.0.1'] }, ...more }) };
}

// --- programs -------------------------------------------------------------------------------------

test('a program learns whose call it is, and of the token what it asked for', async (t) => {
    const server = await serve(t, { tools: { who: SAYS } });
    const s = await turn(server, call('who'), as('ada', { ...ADA, phone: 'x\ny' }));
    const v = variables(value(s));
    same([v.PARLEY_PRINCIPAL, v.PARLEY_THREAD, v.PARLEY_TOOL, v.PARLEY_CLAIM_EMAIL, v.PARLEY_CLAIM_TENANT], ['ada', s.thread, 'who', 'ada@example.org', 'blue']);
    check(v.PARLEY_RUN.startsWith('run_') && v.PARLEY_CALL_ID.startsWith('call-'), JSON.stringify(v));
    check(!('PARLEY_CLAIM_PHONE' in v), 'a claim with a line break is not told');
    const bob = variables(value(await turn(server, call('who'), as('bob'))));
    same([bob.PARLEY_PRINCIPAL, bob.PARLEY_CLAIM_EMAIL], ['bob', undefined], 'nothing is left over from the one before');
});

test('after a restart and another\'s yes it is still the one who asked', async (t) => {
    const server = await serve(t, { approvals: { who: 'approver' }, tools: { who: { ...SAYS, confirm: 'always', ask: 'Ask for {principal} <{claim.email}>, {principal.x}?' } } });
    const s = await turn(server, call('who', { principal: 'mallory' }), as('ada', ADA));
    same(s.of('tool_confirmation')[0].ask, 'Ask for ada <ada@example.org>, ??', 'the question names the person, whatever the arguments say');
    const [id] = s.payload.awaiting;
    await server.restart('SIGKILL');
    same((await server.post(`/v1/approvals/${id}`, { confirmed: true }, ANN)).status, 200);
    const done = await until(async () => { const r = await server.get(`/v1/threads/${s.thread}`, as('ada')); return r.json.state === 'idle' && r.json; }, 'the call to run');
    const said = JSON.stringify(done.messages);
    check(said.includes('PARLEY_PRINCIPAL=ada') && said.includes('PARLEY_CLAIM_EMAIL=ada@example.org'), said);
    check(!said.includes('ann@example.org'), 'an approver\'s claims are nobody\'s business');
});

test('a socket and a browser\'s cookie carry the same person', async (t) => {
    const server = await serve(t, { tools: { who: SAYS } });
    const ws = await Ws.open(t, server, '/live');
    ws.send({ type: 'auth', token: token('ada', ADA) });
    ws.send({ type: 'message', id: 'by-socket', messages: [{ id: 'm1', role: 'user', parts: [{ type: 'text', text: call('who') }] }] });
    await until(async () => (await server.get('/v1/threads/by-socket', as('ada'))).text.includes('PARLEY_CLAIM_EMAIL=ada@example.org'), 'the socket\'s call');
    const signed = await server.post('/v1/session', { token: token('ada', ADA) }, { origin: server.url });
    same(signed.json.roles, ['user', 'support']);
    const cookie = signed.headers['set-cookie'][0].split(';')[0];
    const s = await turn(server, call('who'), { cookie, origin: server.url });
    same(variables(value(s)).PARLEY_CLAIM_TENANT, 'blue');
});

test('parley tools call --as runs a tool for somebody', async (t) => {
    const dir = t.folder(), file = path.join(dir, 'parley.json');
    fs.writeFileSync(path.join(dir, 'secret'), SECRET);
    const keys = [{ sha256: sha256('k'), principal: 'ada', roles: ['support'], claims: { email: 'ada@key' } }, ...AUTH.keys];
    fs.writeFileSync(file, JSON.stringify({ auth: { ...AUTH, keys }, tools: { who: SAYS, help: { ...SAYS, roles: ['support'] } } }));
    const run = (...args) => parley(['tools', 'call', ...args, '--config', file], { cwd: dir });
    same(variables(JSON.parse((await run('who', '{}', '--as', 'ada')).out)).PARLEY_CLAIM_EMAIL, 'ada@key');
    const told = variables(JSON.parse((await run('who', '{}', '--as', 'bob', '--claims', '{"tenant":"red"}')).out));
    same([told.PARLEY_PRINCIPAL, told.PARLEY_CLAIM_TENANT, told.PARLEY_CLAIM_EMAIL], ['bob', 'red', undefined]);
    same((await run('help', '{}', '--as', 'ada')).code, 0);
    const no = await run('help', '{}', '--as', 'bob');
    same([no.code, /for other roles/.test(no.err)], [1, true]);
    same((await run('help', '{}')).code, 0, 'whoever runs it by hand has every role');
    for (const bad of [['--as'], ['--as', ''], ['--as', 'a\tb'], ['--claims', '[]'], ['--claims', '{']]) same((await run('who', '{}', ...bad)).code, 2, bad.join(' '));
});

// --- endpoints ------------------------------------------------------------------------------------

test('an endpoint is told in headers, and nobody\'s text can make one', async (t) => {
    const { heard, tool } = await endpoint(t);
    const server = await serve(t, { tools: { pay: tool({ claims: ['email', 'name'] }) } });
    await turn(server, call('pay'), as('Zoë', { email: 'z@example.org', name: 'a\r\nParley-Principal: root' }));
    const [h] = heard;
    same([decodeURIComponent(h['parley-principal']), h['parley-tool'], h['parley-claim-email'], h['parley-claim-name']], ['Zoë', 'pay', 'z@example.org', undefined]);
    same(h['parley-call-id'], h['idempotency-key']);
    check(h['parley-thread'] && h['parley-run'].startsWith('run_'), JSON.stringify(h));
});

const KINDS = [
    ['HS256', 'env:SIGN', () => ({ sign: SECRET, fits: (input, sig) => createHmac('sha256', SECRET).update(input).digest('base64url') === sig })],
    ['ES256', 'file:sign.pem', () => pair('ec', { namedCurve: 'P-256' }, (key, input, sig) => createVerify('sha256').update(input).verify({ key, dsaEncoding: 'ieee-p1363' }, Buffer.from(sig, 'base64url')))],
    ['EdDSA', 'file:sign.pem', () => pair('ed25519', {}, (key, input, sig) => verify(null, Buffer.from(input), key, Buffer.from(sig, 'base64url')))],
];
function pair(kind, options, judge) {
    const { privateKey, publicKey } = generateKeyPairSync(kind, options);
    const key = createPublicKey(publicKey.export({ type: 'spki', format: 'pem' }));
    return { sign: privateKey.export({ type: 'pkcs8', format: 'pem' }), pub: publicKey.export({ type: 'spki', format: 'pem' }), fits: (input, sig) => judge(key, input, sig) };
}

test('an endpoint that has a key is told by a token, signed as the key says', async (t) => {
    for (const [alg, where, make] of KINDS) {
        const { heard, tool } = await endpoint(t), { sign, fits } = make();
        const dir = t.folder();
        fs.writeFileSync(path.join(dir, 'sign.pem'), sign);
        fs.writeFileSync(path.join(dir, 'secret'), SECRET);
        const up = await startUpstream(t);
        const server = await serveModel(t, up, 'openai', { dir, env: { SIGN: sign }, config: { auth: AUTH, demo: { tools: false }, actions: {},
            tools: { pay: tool({ claims: ['email'], identity: { sign: where, ...(alg === 'ES256' && { header: 'Authorization', seconds: 5, issuer: 'us', audience: 'them' }) } }) } } });
        await turn(server, call('pay'), as('ada', ADA));
        const [h] = heard, text = alg === 'ES256' ? h.authorization.replace(/^Bearer /, '') : h['parley-identity'];
        const [head, body, sig] = text.split('.'), claims = JSON.parse(Buffer.from(body, 'base64url'));
        same(JSON.parse(Buffer.from(head, 'base64url')), { alg, typ: 'JWT' });
        check(fits(`${head}.${body}`, sig), `${alg}: the signature`);
        same([claims.sub, claims.jti, claims.tool, claims.claims], ['ada', h['idempotency-key'], 'pay', { email: 'ada@example.org' }]);
        same([claims.iss, claims.aud, claims.exp - claims.iat], alg === 'ES256' ? ['us', 'them', 5] : ['parley', '127.0.0.1', 60]);
        check(Math.abs(claims.iat - Date.now() / 1000) < 60 && claims.thread && claims.run, body);
        same(h['parley-principal'], undefined, 'nothing beside it that nobody has signed');
        check(!server.err.includes(sign.slice(30, 60)), 'the key is not in the log');
    }
});

// --- the guide ------------------------------------------------------------------------------------

test('the guide\'s lines of Python and Node take a token, and no other', async (t) => {
    const guide = fs.readFileSync(path.join(ROOT, 'docs/identity.md'), 'utf8'), dir = t.folder();
    const block = (kind) => new RegExp('```' + kind + '\n([^]*?)```').exec(guide)[1];
    fs.writeFileSync(path.join(dir, 'check.py'), `${block('python')}\nimport sys\nprint(whose_call(sys.argv[1], sys.argv[2].encode(), sys.argv[3])["sub"])\n`);
    fs.writeFileSync(path.join(dir, 'check.mjs'), `${block('js')}\nconsole.log(whoseCall(process.argv[2], process.argv[3], process.argv[4]).sub);\n`);
    for (const [alg, , make] of KINDS) {
        const { heard, tool } = await endpoint(t), { sign, pub = sign } = make();
        const server = await serve(t, { tools: { pay: tool({ identity: { sign: 'env:SIGN' } }) } }, { env: { SIGN: sign } });
        await turn(server, call('pay'), as('ada', ADA));
        const program = alg === 'HS256' ? ['python3', 'check.py'] : [process.execPath, 'check.mjs'];
        const asked = (text, host) => spawnSync(program[0], [path.join(dir, program[1]), text, pub, host], { encoding: 'utf8' });
        const text = heard[0]['parley-identity'], [head, body, sig] = text.split('.');
        same(asked(text, '127.0.0.1').stdout.trim(), 'ada', alg);
        const forged = b64({ ...JSON.parse(Buffer.from(body, 'base64url')), sub: 'root' });
        for (const [no, host] of [[text, 'other.example'], [`${head}.${forged}.${sig}`, '127.0.0.1']]) check(asked(no, host).status !== 0, `${alg}: ${no} for ${host}`);
    }
});

// --- MCP ------------------------------------------------------------------------------------------

async function mcpEndpoint(t) {
    const heard = [];
    const s = http.createServer((q, r) => {
        let text = '';
        q.on('data', (d) => { text += d; }).on('end', () => {
            const m = text ? JSON.parse(text) : {};
            if (m.method === 'tools/call') heard.push(q.headers);
            if (!('id' in m)) r.writeHead(q.method === 'POST' ? 202 : 405).end();
            else r.setHeader('content-type', 'application/json').end(JSON.stringify(answerMcp(m)));
        });
    });
    await new Promise((done) => s.listen(0, '127.0.0.1', done));
    t.defer(() => s.close());
    return { heard, url: `http://127.0.0.1:${s.address().port}/mcp` };
}

test('an MCP server is told with each call, in _meta, and in headers where its entry says so', async (t) => {
    const { heard, url } = await mcpEndpoint(t), dir = t.folder();
    fs.writeFileSync(path.join(dir, 'server.mjs'), STDIO);
    const server = await serve(t, { mcpServers: {
        near: { command: process.execPath, args: [path.join(dir, 'server.mjs')], confirm: 'never', claims: ['email'] },
        quiet: { url, confirm: 'never' }, plain: { url, confirm: 'never', identity: {} },
        far: { url, confirm: 'never', claims: ['tenant'], identity: { sign: `text:${SECRET}` } },
        staff: { url, confirm: 'never', roles: ['support'] } } });
    const names = async (who) => (await server.get('/v1/tools', who)).json.tools.map((x) => x.name).sort();
    await until(async () => (await names(as('ada', ADA))).length === 5, 'the servers to list their tools');
    same(await names(as('bob')), ['far__who', 'near__who', 'plain__who', 'quiet__who']);
    const told = async (name) => JSON.parse((await turn(server, call(name), as('ada', ADA))).payload.tool_history[0].output);
    const near = await told('near__who');
    same([near['parley/identity'].principal, near['parley/identity'].claims, near['parley/token']], ['ada', { email: 'ada@example.org' }, undefined]);
    same((await told('quiet__who'))['parley/identity'].tool, 'quiet__who');
    same([heard[0]['parley-principal'], heard[0]['parley-identity']], [undefined, undefined]);
    await told('plain__who');
    same([heard[1]['parley-principal'], heard[1]['parley-tool']], ['ada', 'plain__who']);
    const far = await told('far__who');
    for (const text of [far['parley/token'], heard[2]['parley-identity']]) {
        const [head, body, sig] = text.split('.');
        same(createHmac('sha256', SECRET).update(`${head}.${body}`).digest('base64url'), sig);
        const c = JSON.parse(Buffer.from(body, 'base64url'));
        same([c.sub, c.aud, c.jti, c.claims], ['ada', '127.0.0.1', far['parley/identity'].call_id, { tenant: 'blue' }]);
    }
});

// --- roles ----------------------------------------------------------------------------------------

test('what is for other roles does not exist: for the model, for buttons, for lists', async (t) => {
    const server = await serve(t, { system: 'You are the test.', actions: { help: { tool: 'help' } },
        tools: { who: SAYS, help: { ...SAYS, roles: ['support', 'boss'] }, gated: { ...SAYS, confirm: 'always', roles: ['support'] } } });
    const ada = as('ada', ADA), bob = as('bob', { roles: ['other'] }), root = { authorization: 'Bearer pk_root' };
    const listed = async (who) => (await server.get('/v1/tools', who)).json.tools.map((x) => x.name);
    same([await listed(ada), await listed(bob), await listed(root)], [['who', 'help', 'gated'], ['who'], ['who', 'help', 'gated']]);
    const s = await turn(server, call('help'), bob), none = await turn(server, call('nothing'), bob);
    same([s.payload.tool_history[0].outcome, s.payload.tool_history[0].output], ['failed', none.payload.tool_history[0].output], 'as if there were none');
    same((await turn(server, call('gated'), bob)).payload.awaiting ?? [], [], 'nobody is asked about it');
    const bodies = await server.up.requests();
    check(bodies.every(({ body }) => { const n = toolNames.openai(body); return n.includes('who') && !n.includes('help') && !n.includes('gated'); }), 'the model is not told');
    const press = async (who) => {
        const { thread } = await turn(server, 'hi', who);
        same((await server.post(`/v1/threads/${thread}/actions`, { action: 'help' }, who)).status, 202);
        return JSON.stringify(await settled({ get: (at) => server.get(at, who) }, thread));
    };
    check((await press(bob)).includes('There is no tool of this name'), 'the button leads nowhere');
    check((await press(ada)).includes('PARLEY_PRINCIPAL=ada'), 'the button works');
    same(variables(value(await turn(server, call('help'), ada))).PARLEY_TOOL, 'help');
    same((await server.get('/v1/session', ada)).json.roles, ['user', 'support']);
});

test('a page for other roles is an unknown page, at every door', async (t) => {
    const server = await serve(t, { pages: { staff: { roles: ['support'], system: 'For {principal}.' }, open: {} } });
    const ada = as('ada', ADA), bob = as('bob');
    const message = { id: 'm1', role: 'user', parts: [{ type: 'text', text: 'hi' }] }, ag = { threadId: 'a', runId: 'r', state: {}, tools: [], context: [], messages: [{ id: 'm', role: 'user', content: 'hi' }] };
    const adk = (page) => ({ appName: page, userId: 'bob', sessionId: 's', newMessage: { role: 'user', parts: [{ text: 'hi' }] } });
    const doors = [['/v1/chat/stream', (page) => ({ message: 'hi', page })], ['/functions/v1/chat', (page) => ({ message: 'hi', page })],
        ['/api/chat', (page) => ({ id: 'x', messages: [message], page })], ['/stream', (page) => ({ id: 'y', messages: [message], page })],
        ['/v1/chat/completions', (page) => ({ model: `parley/${page}`, messages: [{ role: 'user', content: 'hi' }] })], ['/v1/responses', (page) => ({ model: `parley/${page}`, input: 'hi' })],
        ['/ag-ui', (page) => ({ ...ag, forwardedProps: { page } })], ['/run', adk], ['/run_sse', adk]];
    for (const [at, body] of doors) {
        const no = await server.post(at, body('staff'), bob), never = await server.post(at, body('nowhere'), bob);
        same([no.status, no.text.replaceAll('staff', 'nowhere'), no.headers['parley-error']], [never.status, never.text, never.headers['parley-error']], at);
        check([404, 422].includes(no.status), `${at}: ${no.status} ${no.text}`);
    }
    same((await turn(server, 'hi', ada, { page: 'staff' })).status, 200);
    const pages = async (who) => (await server.get('/v1/page', who)).json.pages;
    same([await pages(ada), await pages(bob), await pages({})], [['default', 'staff', 'open'], ['default', 'open'], ['default', 'open']]);
});

test('the lists of every door leave out what is for other roles', async (t) => {
    const server = await serve(t, { tools: { who: SAYS, help: { ...SAYS, roles: ['support'] } }, pages: { staff: { roles: ['support'] } } });
    const lists = async (who) => [(await server.get('/list-apps', who)).json.includes('staff'),
        (await server.get('/v1/models', who)).json.data.some((m) => m.id === 'parley/staff'),
        (await server.get('/ag-ui/capabilities?page=staff', who)).status,
        (await server.get('/ag-ui/capabilities', who)).json.tools.items.map((x) => x.name).filter((n) => n === 'who' || n === 'help').sort()];
    same(await lists(as('ada', ADA)), [true, true, 200, ['help', 'who']]);
    same(await lists(as('bob')), [false, false, 422, ['who']]);
});

test('an MCP client has the tools of its principal, and they learn whose call it is', async (t) => {
    const server = await serve(t, { tools: { who: SAYS, help: { ...SAYS, roles: ['support'] } } });
    const names = async (c) => (await c.ask('tools/list')).tools.map((x) => x.name).filter((n) => n === 'who' || n === 'help').sort();
    const ada = await new Legacy(server, { key: token('ada', ADA) }).open(), bob = await new Legacy(server, { key: token('bob') }).open();
    same([await names(ada), await names(bob)], [['help', 'who'], ['who']]);
    check(/PARLEY_PRINCIPAL=ada/.test(JSON.stringify(await ada.call('help', {}))), 'told for whom');
    same(await bob.call('help', {}).catch((e) => e.message), 'Unknown tool: help');
});

test('an answer on a page that is not theirs any more cannot be tried again', async (t) => {
    const server = await serve(t, { pages: { staff: { roles: ['support'] } } });
    const s = await turn(server, 'hi', as('ada', ADA), { page: 'staff' });
    const again = (who) => server.post(`/v1/threads/${s.thread}/actions`, { action: 'retry' }, who);
    same((await again(as('ada'))).status, 422);
    same((await again(as('ada', ADA))).status, 202);
    await settled({ get: (at) => server.get(at, as('ada')) }, s.thread);
});

test('without sign-in everybody has every role', async (t) => {
    const server = await t.serve({ config: { tools: { help: { ...SAYS, roles: ['support'] } }, pages: { staff: { roles: ['support'] } } } });
    check((await server.get('/v1/tools')).json.tools.some((x) => x.name === 'help'), 'the tool is there');
    same((await server.get('/v1/session')).json.roles, ['user', 'approver', 'admin', 'support']);
    same((await server.turn('hi', { page: 'staff' })).status, 200);
});

// --- prompts --------------------------------------------------------------------------------------

test('a system prompt knows who asks and which day it is', async (t) => {
    const server = await serve(t, { system: 'You help {principal} <{claim.email}> on {date}. Say {"x": 1}.' });
    await turn(server, 'hi', as('ada', ADA));
    await turn(server, 'hi', as('bob'));
    const [ada, bob] = (await server.up.requests()).map(({ body }) => systemOf.openai(body));
    const day = new Date().toISOString().slice(0, 10);
    check(ada.startsWith(`You help ada <ada@example.org> on ${day}. Say {"x": 1}.`) || !ada.includes(day), ada);
    check(bob.startsWith('You help bob <unknown> on 20'), bob);
});

// --- the configuration ----------------------------------------------------------------------------

test('mistakes are told with their place, and what to do', async (t) => {
    const dir = t.folder(), file = path.join(dir, 'p.json');
    const tool = { description: 'd', exec: { command: ['/bin/true'] } }, web = { description: 'd', http: { url: 'https://x.example/y' } };
    const MISTAKES = [
        [{ tools: { a: { ...tool, roles: [] } } }, /for nobody/],
        [{ tools: { a: { ...tool, roles: ['a\nb'] } } }, /role's name/],
        [{ tools: { a: { ...tool, claims: ['a.b', 'a_b'] } } }, /under one name/],
        [{ tools: { a: { ...tool, claims: ['//'] } } }, /a claim is its name/],
        [{ tools: { a: { ...tool, claims: Array.from({ length: 17 }, (_, i) => `c${i}`) } } }, /at most 16/],
        [{ tools: { a: { ...tool, identity: { sign: `text:${SECRET}` } } } }, /"identity" is for "http"/],
        [{ tools: { a: { ...web, identity: { sign: 'text:short' } } } }, /at least 32 bytes/],
        [{ tools: { a: { ...web, identity: { sign: 'file:nowhere' } } } }, /cannot read the file nowhere/],
        [{ tools: { a: { ...web, identity: { issuer: 'me' } } } }, /add "sign"/],
        [{ tools: { a: { ...web, identity: { sign: `text:${SECRET}`, header: 'Host' } } } }, /cannot be the header/],
        [{ tools: { a: { ...web, http: { ...web.http, headers: { 'Parley-Principal': 'root' } } } } }, /cannot be set here/],
        [{ tools: { a: { ...tool, exec: { ...tool.exec, env: { PARLEY_PRINCIPAL: 'root' } } } } }, /its value is the call's/],
        [{ tools: { a: { ...tool, exec: { ...tool.exec, env: { PARLEY_CLAIM_EMAIL: 'root' } } } } }, /its value is the call's/],
        [{ tools: { a: { description: 'd', client: true, claims: ['email'] } } }, /a browser's tool/],
        [{ auth: { keys: [{ sha256: sha256('x'), principal: 'x', roles: ['suport'] }] }, pages: { p: { roles: ['support'] } } }, /"suport" is not one of the roles/],
        [{ system: 'Hello {claim.}' }, /needs the name of a claim/],
    ];
    for (const [config, why] of MISTAKES) {
        fs.writeFileSync(file, JSON.stringify(config));
        const r = await parley(['check', '--config', file], { cwd: dir });
        check(r.code === 1 && why.test(r.err), `${JSON.stringify(config)}: ${r.err}`);
    }
});

test('who carries the word owner as a role is shown nobody else\'s question', async (t) => {
    const server = await serve(t, { demo: {}, approvals: { rules: [{ tool: '*', from: 'owner' }] } }), pay = call('process_payment', { amount: 50, currency: 'USD', recipient: 'Hanako' });
    const [id] = (await turn(server, pay, as('ada', { roles: ['user'] }))).payload.awaiting, eve = as('eve', { roles: ['user', 'owner'] });
    same([(await server.get(`/v1/approvals/${id}`, eve)).status, (await server.get('/v1/approvals', eve)).json.approvals], [404, []]);
    same((await server.get(`/v1/approvals/${id}`, as('ada', { roles: ['user'] }))).json.status, 'pending');
});
