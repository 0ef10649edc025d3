// The start token: a server without sign-in whose own programs can reach it takes answers only from who has it.
import fs from 'node:fs';
import path from 'node:path';
import { Live } from './ai.mjs';
import { DOORS, MCP_DOORS, ask, finish } from './doors.mjs';
import { ROOT, check, oneProcess, parley, same, settled, skip, test, until } from './lib.mjs';
import { Legacy, outcome } from './mcp.mjs';
import { LINKS, pathOf, press } from './org.mjs';
import { Ws } from './ws.mjs';

const TOKEN = 'a-token-of-this-test-0123456789';
const reach = (script, more = {}) => ({ input_schema: { type: 'object' }, confirm: 'never', exec: { command: ['/bin/sh', '-c', script], network: true, ...more } });
const REACHING = { demo: { tools: true }, tools: { reach: reach('echo \'{"result":1}\'') } };
const mcp = { asking: { command: process.execPath, args: [path.join(ROOT, 'test/mcp/asking.mjs')] } };

// A server as a program on this machine finds it: it knows the address and nothing else.
async function stranger(t, options = {}) {
    const server = await t.serve({ config: REACHING, ...options });
    const token = server.token;
    server.token = undefined;
    return { server, token, bearer: { authorization: `Bearer ${token}` } };
}
const payment = async (server) => {
    const s = await server.turn('Send 50 dollars to Hanako');
    return { thread: s.thread, id: s.payload.awaiting[0], call: s.payload.awaiting[0].replace('confirmation-', '') };
};
const needed = (r, what) => {
    same([what, r.status, r.json?.error.code ?? r.headers['parley-error']], [what, 403, 'token_needed']);
    check(/open the address that parley printed/.test(r.text) && /Authorization: Bearer/.test(r.text), `${what}: it says what to do: ${r.text}`);
};
const part = (thread, { id, call }, state, more) => ({ id: thread, messages: [
    { id: 'u1', role: 'user', parts: [{ type: 'text', text: 'Send 50 dollars to Hanako' }] },
    { id: 'a1', role: 'assistant', parts: [{ type: 'tool-process_payment', toolCallId: call, state, input: {}, approval: { id, approved: true }, ...more }] }] });

test('who does not have the start token answers nothing, on no door', async (t) => {
    const { server, bearer } = await stranger(t);
    const p = await payment(server), T = p.thread;
    const action = { action: 'approve', data: { confirmation_id: p.id } };
    for (const headers of [{}, { authorization: 'Bearer ' + 'x'.repeat(32) }, { cookie: 'parley=' + 'A'.repeat(43) }]) {
        needed(await server.post(`/v1/approvals/${p.id}`, { confirmed: true }, headers), 'rest');
        needed(await server.post(`/v1/approvals/${p.id}`, { confirmed: false }, headers), 'rest, no');
        needed(await server.post(`/v1/approvals/${p.id}/settle`, { outcome: 'done' }, headers), 'settle');
        needed(await server.post(`/v1/threads/${T}/actions`, action, headers), 'action');
        needed(await server.post('/v1/chat/stream', { thread_id: T, action }, headers), 'typed');
        needed(await server.post('/functions/v1/chat', { thread_id: T, action }, headers), 'seed 000');
        needed(await server.post('/api/chat', part(T, p, 'approval-responded'), headers), 'chat');
        needed(await server.post('/stream', part(T, p, 'approval-responded'), headers), 'stream');
    }
    const live = await Live.open(t, server, { thread: T });
    live.send('tool_result', { toolCallId: p.id, result: { confirmed: true } });
    same((await live.control('error')).code, 'token_needed', 'live');
    const ws = await Ws.open(t, server, '/api/chat/ws');
    ws.send(JSON.stringify({ type: 'send', requestId: 'r1', ...part(T, p, 'approval-responded') }));
    check(/the address that parley printed/.test(await ws.next()), 'the AI SDK socket');
    same(server.ledger(), [], 'nothing was paid');
    check(server.log.some((l) => l.level === 'security' && l.why === 'token_needed'), 'and it is in the log');
    same((await server.post(`/v1/approvals/${p.id}`, { confirmed: true }, bearer)).status, 200, 'with the token');
    await settled(server, T);
    same(server.ledger().length, 1);
});

// Whoever reads along knows the question as well as the person does.
for (const [name, open] of Object.entries({ ...DOORS, ...MCP_DOORS })) {
    test(`${name}: a question and a browser's result are answered with the start token, and not without`, async (t) => {
        const { server, token } = await stranger(t, { config: { ...REACHING, mcp: { wait: 0 } } }), as = (shown) => { server.token = shown; return server; };
        for (const tool of name in DOORS ? ['process_payment', 'get_location'] : ['process_payment']) {
            let door = await open(t, as(token));
            const q = await ask(door, tool), paid = () => server.ledger().filter((l) => l.call_id === q.call).length;
            const refused = async (what) => {
                const e = await what().then(() => ({ code: 'words' }), (e) => e);
                same([tool, e.code], [tool, name === '/v1/chat/completions' ? 'words' : 'token_needed'], `${e}`);
            };
            as(undefined);
            const other = await door.reload();
            await refused(async () => other.answer(q.id, true));
            same([(await server.get(`/v1/approvals/${q.id}`)).json.status, paid()], ['pending', 0]);
            as(token);
            if (name === '/live') door = await door.reload();
            await door.answer(q.id, true);
            await finish(door, tool);
            same([(await server.get(`/v1/approvals/${q.id}`)).json.status, paid()], ['done', tool === 'process_payment' ? 1 : 0]);
        }
    });
}

test('/mcp: the form of a question is for who shows the start token, and an answer without it decides nothing', async (t) => {
    const note = { ...reach('echo \'{"result":1}\''), confirm: 'always', risk: 'low', input_schema: { type: 'object', properties: { what: { type: 'string' } } } };
    const { server, token } = await stranger(t, { config: { tools: { note } } });
    const open = (key) => new Legacy(server, { capabilities: { elicitation: { form: {} } }, key }).open();
    const isAsk = (e) => e.data?.method === 'elicitation/create', yes = { action: 'accept', content: { approve: true } };
    const theirs = await open(token), other = await open(), call = (what) => ['tools/call', { name: 'note', arguments: { what } }];
    const one = await theirs.send(...call('theirs')), ask = (await one.stream.must(isAsk)).data;
    const two = await other.send(...call('other'));
    const mine = await until(async () => (await server.get('/v1/approvals')).json.approvals.find((a) => a.input.what === 'other'), 'the question');
    for (const asked of [ask.id, mine.id]) await other.answer(asked, yes);
    same((await server.get('/v1/approvals?status=pending')).json.approvals.length, 2, 'both wait');
    check(!two.stream.events.some(isAsk), 'they are shown no form');
    await theirs.answer(ask.id, yes);
    same(outcome((await theirs.result(one.stream, one.id)).result), 'done');
});

test('without the start token no link is made that says yes, nothing is shared, taken back, accepted, erased or connected', async (t) => {
    const { server, bearer } = await stranger(t, { config: { ...REACHING, ...LINKS } });
    const p = await payment(server), links = `/v1/approvals/${p.id}/links`;
    for (const [method, at, body] of [['POST', links, { for: 'local' }], ['POST', links, {}], ['DELETE', `/v1/approvals/${p.id}/vote`],
        ['DELETE', '/v1/grants/g_1'], ['POST', `/v1/threads/${p.thread}/share`, {}], ['DELETE', `/v1/threads/${p.thread}/share`],
        ['POST', '/v1/tools/reach/accept', {}], ['POST', '/v1/people/nobody/erase', {}],
        ['GET', '/v1/mcp/x/connect'], ['GET', '/v1/mcp/x/back'], ['DELETE', '/v1/mcp/x/connect']]) {
        needed(await server.request(method, at, body), `${method} ${at}`);
        const told = await server.request(method, at, body, bearer);
        check(told.json?.error?.code !== 'token_needed', `${method} ${at} with the token: ${told.text}`);
    }
    same(server.ledger(), [], 'nothing was paid');
    const link = await server.post(links, { for: 'local' }, bearer);
    same((await press(server, pathOf(link), 'approve')).status, 200, 'a link that the person made is their answer');
    await settled(server, p.thread);
    same(server.ledger().length, 1);
});

test('a client tool is neither claimed nor answered without the start token', async (t) => {
    const { server, bearer } = await stranger(t);
    const s = await server.turn('Where am I?');
    const call = s.of('tool_confirmation')[0].tool_use_id, at = `/v1/threads/${s.thread}/results/${call}`;
    needed(await server.post(`${at}/claim`, { client: 'tab' }), 'claim');
    needed(await server.post(at, { result: { ok: true } }), 'result');
    same((await server.post(`/v1/approvals/${s.payload.awaiting[0]}`, { confirmed: true }, bearer)).status, 200);
    needed(await server.post(`${at}/claim`, { client: 'tab' }), 'claim of what is offered');
    same((await server.post(`${at}/claim`, { client: 'tab' }, bearer)).status, 200);
    same((await server.post(at, { result: { ok: true } }, bearer)).status, 200);
});

test('the page exchanges the start token for a cookie, and the cookie answers', async (t) => {
    const { server, token } = await stranger(t);
    const p = await payment(server), page = { origin: server.url };
    same((await server.post('/v1/session', { token: 'x'.repeat(32) }, page)).status, 401);
    const r = await server.post('/v1/session', { token }, page);
    same([r.status, r.json.principal], [200, 'local']);
    const cookie = r.headers['set-cookie'][0];
    check(/HttpOnly; SameSite=Strict/.test(cookie), cookie);
    const mine = { cookie: cookie.split(';')[0] };
    needed(await server.post(`/v1/approvals/${p.id}`, { confirmed: true }, mine), 'a cookie that no page of ours sent');
    const live = await Live.open(t, server, { thread: p.thread, headers: { ...mine, Origin: server.url } });
    live.send('tool_result', { toolCallId: p.id, result: { confirmed: true } });
    same((await live.control('ack')).status, 'approved');
    await settled(server, p.thread);
    const q = await payment(server);
    same((await server.post(`/v1/approvals/${q.id}`, { confirmed: false }, { ...mine, ...page })).status, 200);
    same((await server.request('DELETE', '/v1/session', undefined, { ...mine, ...page })).status, 204);
    const last = await payment(server), out = async (n) => (await n.request('DELETE', '/v1/grants/g_1', undefined, { authorization: '', ...mine, origin: n.url })).status === 403;
    if (server.nodes) for (const n of server.nodes) await until(() => out(n), `${n.name} to know`);     // within 2 s
    needed(await server.post(`/v1/approvals/${last.id}`, { confirmed: true }, { ...mine, ...page }), 'a cookie that was given back');
});

test('the token is new at each start, unless PARLEY_TOKEN says which; that one is not printed', async (t) => {
    oneProcess('all nodes are given the same one');
    const { server, token } = await stranger(t);
    const p = await payment(server);
    await server.term();
    const again = await stranger(t, { dir: server.dir });
    check(again.token && again.token !== token, 'another one');
    needed(await again.server.post(`/v1/approvals/${p.id}`, { confirmed: true }, { authorization: `Bearer ${token}` }), 'the old one');
    await again.server.term();
    const own = await stranger(t, { dir: server.dir, env: { PARLEY_TOKEN: TOKEN } });
    check(/\/#token=\$PARLEY_TOKEN\n/.test(own.server.out) && !(own.server.out + own.server.err).includes(TOKEN), own.server.out);
    same((await own.server.post(`/v1/approvals/${p.id}`, { confirmed: false }, own.bearer)).status, 200);
});

test('a program that parley starts finds the start token nowhere', async (t) => {
    const dir = t.folder(), out = path.join(dir, 'found');
    // As an MCP server it runs with all rights of the user: environment, arguments, and what /proc shows of its parents.
    const spy = `const fs = require('fs'); let text = JSON.stringify([process.env, process.argv]);
        for (let pid = process.pid; pid > 1;) {
            for (const f of ['environ', 'cmdline']) try { text += fs.readFileSync('/proc/' + pid + '/' + f, 'latin1'); } catch (e) { text += e.code; }
            pid = Number(/PPid:\\s+(\\d+)/.exec(fs.readFileSync('/proc/' + pid + '/status', 'utf8'))[1]);
            if (fs.readFileSync('/proc/' + pid + '/cmdline', 'latin1').includes('run.mjs')) break;
        }
        fs.writeFileSync(${JSON.stringify(out + '.new')}, text); fs.renameSync(${JSON.stringify(out + '.new')}, ${JSON.stringify(out)}); setInterval(() => {}, 1000);`;
    const script = `env > "$HOME/env"; echo "{\\"result\\":\\"$(base64 -w0 < "$HOME/env")\\"}"`;
    const { server } = await stranger(t, { env: { PARLEY_TOKEN: TOKEN }, config: { demo: { tools: true }, actions: { look: { tool: 'reach' } },
        tools: { reach: reach(script) }, mcpServers: { spy: { command: process.execPath, args: ['-e', spy] } } } });
    await until(() => fs.existsSync(out), 'the spy to look');
    check(fs.readFileSync(out, 'utf8').includes('PATH'), 'it saw something');
    check(!fs.readFileSync(out, 'utf8').includes(TOKEN), 'the token is not in its environment, arguments or parents');
    const T = (await server.post('/v1/threads', {})).json.id;
    same((await server.post(`/v1/threads/${T}/actions`, { action: 'look' })).status, 202);
    const thread = await until(async () => { const x = await settled(server, T); return JSON.stringify(x).includes('output') && x; }, 'the tool to look');
    const env = Buffer.from(/"output":"([A-Za-z0-9+/=]+)"/.exec(JSON.stringify(thread))[1], 'base64').toString();
    check(/PARLEY_CALL_ID=/.test(env) && !env.includes(TOKEN), env);
    for (const pid of fs.readdirSync('/proc').filter((x) => x === String(server.child.pid)))
        check(!fs.readFileSync(`/proc/${pid}/environ`, 'latin1').includes(TOKEN), 'nor in what /proc shows of the server');
    const named = await parley(['check', '--config', write(t, { tools: { x: reach('true', { env: { T: 'env:PARLEY_TOKEN' } }) } })], { env: { PARLEY_TOKEN: TOKEN } });
    check(named.code === 1 && /PARLEY_TOKEN is not set/.test(named.err), `nor can a tool be given it: ${named.err}`);
});

function write(t, config) {
    const file = path.join(t.folder(), 'parley.json');
    fs.writeFileSync(file, JSON.stringify(config));
    return file;
}

test('an MCP server on stdio and a check with the network make the token needed, one behind an address and a program without network do not', async (t) => {
    const { server } = await stranger(t, { config: { demo: { tools: true }, mcpServers: mcp } });
    needed(await server.post(`/v1/approvals/${(await payment(server)).id}`, { confirmed: true }), 'stdio');
    const without = { demo: { tools: true }, tools: { x: { ...reach('true'), exec: { command: ['/bin/sh', '-c', 'true'] } } } };
    for (const config of [{}, without]) {
        const plain = await t.serve({ config, env: { PARLEY_TOKEN: '' } });
        check(!plain.out.includes('#token'), plain.out);
        plain.token = undefined;
        const { id, thread } = await payment(plain);
        same((await plain.post(`/v1/approvals/${id}`, { confirmed: false }, { authorization: 'Bearer unneeded' })).status, 200, 'an unneeded token is ignored');
        same((await plain.post('/v1/session', { token: 'unneeded' })).json.principal, 'local');
        await settled(plain, thread);
    }
    const command = ['/bin/sh', '-c', 'true'], tool = (check) => ({ input_schema: { type: 'object' }, http: { url: 'https://pay.example/x' }, check });
    const there = (check) => ({ mcpServers: { there: { url: 'https://there.example/mcp', check: { pay: check } } } });
    for (const [config, needs] of [[{ mcpServers: mcp }, true],
        ...[true, false].flatMap((network) => [[{ tools: { x: tool({ exec: { command, network } }) } }, network], [there({ exec: { command, network } }), network]]),
        [{ tools: { x: tool({ http: { url: 'https://pay.example/y' } }) } }, false]]) {
        const told = await parley(['check', '--config', write(t, config)]);
        same([JSON.stringify(config), told.code, /answers +need the token/.test(told.out)], [JSON.stringify(config), 0, needs], told.err);
    }
});

test('a PARLEY_TOKEN that anybody could guess is refused with a sentence, by the check too, and nothing is written', async (t) => {
    for (const bad of ['', 'short', 'has a blank in the middle', 'x'.repeat(257)]) {
        const file = write(t, { listen: '127.0.0.1:0', ...REACHING }), cwd = path.dirname(file);
        for (const command of ['check', 'serve']) {
            const r = await parley([command, '--config', file], { cwd, env: { PARLEY_TOKEN: bad } });
            check(r.code === 1 && /PARLEY_TOKEN must be 16 to 256/.test(r.err), `${command} ${bad.slice(0, 20)}: ${r.code} ${r.err}`);
        }
        same(fs.readdirSync(cwd), ['parley.json']);
    }
    same((await parley(['check', '--config', write(t, {})], { env: { PARLEY_TOKEN: 'short' } })).code, 0, 'where none is needed none is looked at');
});

// How often a text stands in the memory of a process.
function inMemory(pid, text) {
    const maps = fs.readFileSync(`/proc/${pid}/maps`, 'latin1').split('\n').map((l) => /^(\w+)-(\w+) rw/.exec(l)).filter(Boolean);
    const mem = fs.openSync(`/proc/${pid}/mem`, 'r'), step = 1 << 20, buffer = Buffer.alloc(step + text.length);
    let count = 0, bytes = 0;
    for (const [, from, to] of maps.map((m) => m.map((x) => parseInt(x, 16)))) {
        for (let at = from; at < to; at += step) {
            let n;
            try { n = fs.readSync(mem, buffer, 0, Math.min(buffer.length, to - at), at); } catch { break; }      // reserved, not there
            bytes += n;
            if (buffer.subarray(0, n).includes(text)) count++;
        }
    }
    fs.closeSync(mem);
    check(bytes > step, 'it was looked into');
    return count;
}

test('the start token stands nowhere in the memory of the server once it is printed', async (t) => {
    if (process.getuid() !== 0) skip('only root may look into a server that has a token');
    for (const env of [{}, { PARLEY_TOKEN: TOKEN }]) {
        const { server, token } = await stranger(t, { env });
        await server.get('/healthz');
        const pid = server.child.pid;
        if (/lib[au]san/.test(fs.readFileSync(`/proc/${pid}/maps`, 'latin1'))) skip('the sanitizers keep a copy of the environment');
        try { fs.closeSync(fs.openSync(`/proc/${pid}/mem`, 'r')); } catch (e) { skip(`no process may look into another here: ${e.code}`); }
        same([inMemory(pid, token), inMemory(pid, token.slice(0, 16))], [0, 0], env.PARLEY_TOKEN ? 'PARLEY_TOKEN' : 'a random one');
        check(inMemory(pid, path.basename(server.dir)) > 0, 'what is there is found');
    }
});
