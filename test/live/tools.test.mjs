// Tools as a developer gives them to the agent: programs, an endpoint, an MCP server, in a real server with a
// scripted model that calls what the message says: {{call NAME {json}}}.
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { Live } from './ai.mjs';
import { ROOT, check, listed, nodesOf, parley, same, settled, sound, test, until } from './lib.mjs';
import { auth } from './org.mjs';
import { readBody, serveModel, startUpstream } from './upstream.mjs';

const EXAMPLES = JSON.parse(fs.readFileSync(path.join(ROOT, 'examples/tools.json'), 'utf8')).tools;
const call = (name, input = {}) => `{{call ${name} ${JSON.stringify(input)}}}`;
const decide = (server, id, confirmed, more) => server.post(`/v1/approvals/${id}`, { confirmed, ...more });
const approval = async (server, id) => (await server.get(`/v1/approvals/${id}`)).json;
const pending = async (server) => (await server.get('/v1/approvals?status=pending')).json.approvals;
const outcome = (s, i = 0) => s.payload.tool_history[i];

// A tool that is a few lines of shell.
const shell = (script, more = {}) => ({ input_schema: { type: 'object' }, confirm: 'never', exec: { command: ['/bin/sh', '-c', script], ...more.exec }, ...more.tool });
const example = (name, more = {}) => ({ ...EXAMPLES[name], exec: { ...EXAMPLES[name].exec, cwd: path.join(ROOT, 'examples/tools') }, ...more });
const mcp = (more = {}) => ({ asking: { command: process.execPath, args: [path.join(ROOT, 'test/mcp/asking.mjs')], confirm: 'never', ...more } });

// Each is listed once it is known whether it says what it said at first.
const ASKING = ['echo', 'ask', 'slow', 'grow', 'rewrite'].map((n) => `asking__${n}`);

async function serveTools(t, config, more = {}) {
    const up = more.up ?? await startUpstream(t);
    const server = await serveModel(t, up, more.wire ?? 'openai', { config: { demo: { tools: false }, actions: {}, ...config }, ...more });
    server.up = up;
    if (config.mcpServers) await listed(server, (tools) => ASKING.every((n) => tools.some((x) => x.name === n)));
    return server;
}
const each = async (server, message) => { for (const n of nodesOf(server)) await n.turn(message); };
const names = async (server) => (await server.get('/v1/tools')).json.tools.map((x) => x.name);

// Processes that have `mark` among their arguments.
function processes(mark) {
    return fs.readdirSync('/proc').filter((p) => /^\d+$/.test(p)).filter((p) => {
        try { return fs.readFileSync(`/proc/${p}/cmdline`, 'utf8').includes(mark) && !/^State:\s+Z/m.test(fs.readFileSync(`/proc/${p}/status`, 'utf8')); } catch { return false; }
    });
}
let marks = 0;
const newMark = () => `mark-${process.pid}-${++marks}-${Date.now()}`;

// What the model was told of its calls, in the last request.
async function told(server) {
    const { body } = (await server.up.requests()).at(-1);
    return readBody('openai', body).flatMap((m) => m.results).map((r) => r.text);
}

// A program that says it is at work and goes on until the file `go` is there.
function patient(t, more = {}) {
    const dir = t.folder(), go = path.join(dir, 'go'), mark = newMark();
    const script = `: ${mark}; read x; echo '{"progress":0.5,"stage":"working","message":"half"}'; until [ -e "$GO" ]; do sleep 0.02; done; echo "{\\"result\\":\\"$PARLEY_CALL_ID\\"}"`;
    return { dir, mark, tool: shell(script, { exec: { env: { GO: go } }, tool: more }), go: () => fs.writeFileSync(go, '') };
}

// --- policies ---------------------------------------------------------------------------------------------

test('an exec tool asks by default, runs after the yes, and its result reaches the model and the card', async (t) => {
    const server = await serveTools(t, { tools: { word_count: example('word_count', { confirm: undefined }) } });
    const s = await server.turn(call('word_count', { text: 'one two three' }));
    const [id] = s.payload.awaiting;
    const asked = s.of('tool_confirmation')[0];
    same([asked.confirmation_id, asked.tool, asked.input], [id, 'word_count', { text: 'one two three' }]);
    same((await approval(server, id)).status, 'pending');
    same((await decide(server, id, true)).status, 200);
    await settled(server, s.thread);
    const f = await server.events(s.thread, s.lastId);
    const { payload } = (await f.must('complete')).data;
    await f.close();
    same([payload.tool_history[0].outcome, payload.tool_history[0].value], ['done', { words: 3 }]);
    same(await told(server), ['{"words":3}']);
    same((await approval(server, id)).status, 'done');
});

test('a denied tool is not started', async (t) => {
    const mark = newMark(), dir = t.folder();
    const server = await serveTools(t, { tools: { touch: shell(`: ${mark}; echo '{"result":1}'`, { tool: { confirm: undefined } }) } }, { dir });
    const s = await server.turn(call('touch'));
    same((await decide(server, s.payload.awaiting[0], false)).status, 200);
    await settled(server, s.thread);
    same((await server.get('/v1/tools')).json.tools.find((x) => x.name === 'touch').runs, 0);
});

test('shell, Python and Node tools of the examples run, each with its policy', async (t) => {
    const server = await serveTools(t, { tools: { word_count: example('word_count'), split_bill: example('split_bill'), slugify: example('slugify') } });
    same(outcome(sound(await server.turn(call('word_count', { text: 'a b' })))).value, { words: 2 });
    same(outcome(await server.turn(call('slugify', { title: 'Hello, World' }))).value, 'hello-world');
    const small = await server.turn(call('split_bill', { total: 90, people: ['Ada', 'Bob'] }));
    same(outcome(small).value, { Ada: 45, Bob: 45 }, 'below the condition nobody is asked');
    const large = await server.turn(call('split_bill', { total: 501, people: ['Ada'] }));
    same(large.payload.awaiting?.length, 1, 'above it somebody is');
    const empty = await server.turn(call('split_bill', { total: 1, people: [] }), { thread_id: small.thread });
    same([outcome(empty).outcome, outcome(empty).output], ['failed', 'Nobody is there to pay.']);
}, { timeout_ms: 120000 });

test('arguments that do not fit the schema are refused and the program is not started', async (t) => {
    const server = await serveTools(t, { tools: { word_count: example('word_count') } });
    const s = await server.turn(call('word_count', { text: 3 }));
    same(outcome(s).outcome, 'failed');
    same((await server.get('/v1/tools')).json.tools.find((x) => x.name === 'word_count').runs, 0);
});

// --- what a program says -----------------------------------------------------------------------------------

test('progress of a program is told while it runs, and a reload sees where it is', async (t) => {
    const p = patient(t);
    const server = await serveTools(t, { tools: { work: p.tool } });
    const s = await server.say(call('work'));
    const { data } = await s.must('tool_progress');
    same([data.stage, data.message, data.progress], ['working', 'half', 0.5]);
    const other = await server.events(s.thread);
    same((await other.must('tool_progress')).data.stage, 'working');
    await other.close();
    p.go();
    await s.read();
    check(outcome(s).value.startsWith('call-'), 'the program knows the id of its call');
});

test('a long result is cut for the model with a note, and whole on the card', async (t) => {
    const server = await serveTools(t, { limits: { tool_output: 1000 }, tools: { long: shell(`printf '{"result":"'; head -c 5000 /dev/zero | tr '\\0' x; echo '"}'`) } });
    const s = await server.turn(call('long'));
    same(outcome(s).value.length, 5000);
    const [text] = await told(server);
    check(/^x{1000}\n\[cut: 1000 of 5000 bytes shown\]$/.test(text), text.slice(-60));
});

test('what a program writes to stderr stands on the card, and the model does not hear of it', async (t) => {
    const server = await serveTools(t, { tools: { grumble: shell(`echo 'disk nearly full' >&2; echo '{"result":"ok"}'`) } });
    const s = await server.turn(call('grumble'));
    check(outcome(s).note.includes('disk nearly full'), JSON.stringify(outcome(s)));
    same(await told(server), ['ok']);
});

test('a program that takes too long is ended, and a sentence says so', async (t) => {
    const mark = newMark();
    const server = await serveTools(t, { tools: { hang: shell(`: ${mark}; sleep 1000`, { tool: { timeout: 1 } }) } });
    const s = await server.turn(call('hang'));
    same([outcome(s).ok, outcome(s).outcome], [false, 'unknown']);
    check(/did not finish within 1 s and was ended/.test(outcome(s).output), outcome(s).output);
    same(processes(mark), []);
});

test('stop ends the program and all it started', async (t) => {
    const mark = newMark();
    const server = await serveTools(t, { tools: { nest: shell(`sh -c ': ${mark}; sleep 1000' & echo '{"progress":0.1,"stage":"up"}'; wait`) } });
    const s = await server.say(call('nest'));
    await s.must('tool_progress');
    await until(() => processes(mark).length > 0, 'the grandchild');
    same((await server.post(`/v1/threads/${s.thread}/stop`)).json.stopped, true);
    await s.read();
    same(s.types().at(-1), 'cancelled');
    await until(() => processes(mark).length === 0, 'everything to be gone');
});

// --- a server that dies ---------------------------------------------------------------------------------------

async function killWhileRunning(t, idempotent) {
    const p = patient(t, { idempotent });
    const up = await startUpstream(t), config = { tools: { work: p.tool } };
    const first = await serveTools(t, config, { up, dir: p.dir });
    const s = await first.say(call('work'));
    const started = (await s.must('tool_start')).data;
    await s.must('tool_progress');
    check(processes(p.mark).length > 0, 'it runs');
    await first.kill();
    await until(() => processes(p.mark).length === 0, 'the program to die with the server');
    p.go();
    const next = await serveTools(t, config, { up, dir: p.dir });
    await settled(next, s.thread);
    const f = await next.events(s.thread);
    const { payload } = (await f.must('complete')).data;
    await f.close();
    return { server: next, entry: payload.tool_history[0], started };
}

test('kill -9 leaves no program behind, and its call is unknown after the restart', async (t) => {
    const { server, entry, started } = await killWhileRunning(t, false);
    same([entry.tool_use_id, entry.outcome, entry.ok], [started.tool_use_id, 'unknown', false]);
    const { approvals } = (await server.get('/v1/approvals?status=unknown')).json;
    same(approvals.map((a) => a.tool_use_id), [started.tool_use_id], 'it is listed for somebody to settle');
});

test('an idempotent program is run again after kill -9, under the same call id', async (t) => {
    const { entry, started } = await killWhileRunning(t, true);
    same([entry.outcome, entry.value], ['done', started.tool_use_id]);
});

const other = (tool, more) => ({ tools: { pay: { ...tool, exec: { ...tool.exec, ...more } } } });
for (const [what, change] of [
    ['was removed', () => ({ tools: { other: shell('exit 0') } })],
    ['has another definition', (tool) => ({ tools: { pay: { ...tool, description: 'Pays twice' } } })],
    ['is another program', (tool) => other(tool, { command: [...tool.exec.command, 'mallory'] })],
    ['has the network', (tool) => other(tool, { network: !tool.exec.network })],
    ['has another variable', (tool) => other(tool, { env: { PAY_TO: 'mallory' } })],
]) {
    test(`a yes for a tool that ${what} meanwhile is 410 tool_gone and runs nothing`, async (t) => {
        const mark = newMark(), tool = shell(`: ${mark}; echo '{"result":1}'`, { tool: { confirm: 'always', description: 'Pays' } });
        const up = await startUpstream(t);
        const first = await serveTools(t, { tools: { pay: tool } }, { up });
        const s = await first.turn(call('pay'));
        same(await first.term(), 0);
        const next = await serveTools(t, change(tool), { up, dir: first.dir });
        const r = await decide(next, s.payload.awaiting[0], true);
        same([r.status, r.json?.error.code], [410, 'tool_gone']);
        await settled(next, s.thread);
        same(await pending(next), []);
    });
}

// --- an endpoint -------------------------------------------------------------------------------------------------

// A tiny shop: JSON or, when asked with stream:true, events.
async function shop(t) {
    const seen = [];
    const server = http.createServer(async (q, r) => {
        const parts = [];
        for await (const p of q) parts.push(p);
        const body = JSON.parse(Buffer.concat(parts));
        seen.push({ key: q.headers['idempotency-key'], secret: q.headers['x-shop'], body });
        if (body.hang) return;
        if (!body.stream) { r.setHeader('content-type', 'application/json').end(JSON.stringify({ price: 3 * (body.quantity ?? 1) })); return; }
        r.setHeader('content-type', 'text/event-stream');
        r.write('id: 1\nretry: 10\nevent: progress\ndata: {"progress":0.25,"stage":"asking"}\n\n');
        setTimeout(() => r.end('data: {"result":{"price":7}}\n\n'), 300);
    });
    await new Promise((yes) => server.listen(0, '127.0.0.1', yes));
    t.defer(() => { server.closeAllConnections(); server.close(); });
    return { seen, tool: (more = {}) => ({ input_schema: { type: 'object' }, confirm: 'never', ...more,
        http: { url: `http://127.0.0.1:${server.address().port}/quote`, allow: ['127.0.0.1'], headers: { 'X-Shop': 'env:SHOP_KEY' } } }) };
}

test('an endpoint gets the arguments, its secret header and the call id as Idempotency-Key', async (t) => {
    const { seen, tool } = await shop(t);
    const server = await serveTools(t, { tools: { quote: tool() } }, { env: { SHOP_KEY: 'open-sesame' } });
    const s = await server.turn(call('quote', { quantity: 2 }));
    same(outcome(s).value, { price: 6 });
    same(seen, [{ key: outcome(s).tool_use_id, secret: 'open-sesame', body: { quantity: 2 } }]);
    check(!server.err.includes('open-sesame') && !s.text.includes('open-sesame'), 'the secret stays inside');
});

for (const [what, moved, status] of [['stands elsewhere meanwhile is 410 tool_gone and sends nothing', true, 410], ['has a new key meanwhile is a yes', false, 200]]) {
    test(`a yes for an endpoint that ${what}`, async (t) => {
        const here = await shop(t), there = await shop(t), up = await startUpstream(t), env = { SHOP_KEY: 'x' };
        const at = (s) => ({ tools: { buy: s.tool({ confirm: 'always' }) } });
        const first = await serveTools(t, at(here), { up, env });
        const s = await first.turn(call('buy'));
        same(await first.term(), 0);
        const next = await serveTools(t, at(moved ? there : here), { up, dir: first.dir, env: { SHOP_KEY: moved ? 'x' : 'y' } });
        const r = await decide(next, s.payload.awaiting[0], true);
        same([r.status, r.json?.error?.code], [status, moved ? 'tool_gone' : undefined]);
        if (moved) check(/changed/.test(r.json.error.message), 'it says why');
        await settled(next, s.thread);
        same([here.seen.map((q) => q.secret), there.seen], [moved ? [] : ['y'], []]);
    });
}

test('an endpoint may answer with events, and they are progress', async (t) => {
    const { tool } = await shop(t);
    const server = await serveTools(t, { tools: { quote: tool() } }, { env: { SHOP_KEY: 'x' } });
    const s = await server.turn(call('quote', { stream: true }));
    same(s.of('tool_progress')[0]?.stage, 'asking');
    same(outcome(s).value, { price: 7 });
});

test('an endpoint that got the request and does not answer is an unknown outcome', async (t) => {
    const { seen, tool } = await shop(t);
    const server = await serveTools(t, { tools: { quote: tool({ timeout: 1 }) } }, { env: { SHOP_KEY: 'x' } });
    const s = await server.turn(call('quote', { hang: true }));
    same([seen.length, outcome(s).outcome], [1, 'unknown']);
    check(/did not answer within 1 s.*not known/.test(outcome(s).output), outcome(s).output);
});

for (const [what, more, status] of [['that asks', { confirm: 'always' }, 'unknown'], ['that nobody minds', { confirm: 'never' }, 'unknown'],
    ['that may be asked twice', { confirm: 'never', idempotent: true }, undefined]])
    test(`stop after an endpoint ${what} has the request: ${status ? 'unknown, and it waits to be settled' : 'cancelled'}`, async (t) => {
        const { seen, tool } = await shop(t);
        const server = await serveTools(t, { tools: { quote: tool(more) } }, { env: { SHOP_KEY: 'x' } });
        const s = await server.say(call('quote', { hang: true }));
        if (more.confirm === 'always') {
            await s.read();
            same((await decide(server, s.payload.awaiting[0], true)).status, 200);
        }
        await until(() => seen.length, 'the request');
        same((await server.post(`/v1/threads/${s.thread}/stop`)).json.stopped, true);
        await settled(server, s.thread);
        const { approvals } = (await server.get('/v1/approvals?status=unknown')).json;
        same(approvals.map((a) => a.tool), status ? ['quote'] : []);
        const end = (await (await server.events(s.thread)).must('tool_complete')).data;
        same([end.outcome, seen.length], [status ?? 'cancelled', 1]);
        if (status) same((await server.post(`/v1/approvals/${approvals[0].id}/settle`, { outcome: 'done' })).json.status, 'done');
    });

// --- an MCP server ---------------------------------------------------------------------------------------------------

test('tools of an MCP server ask by default and run after the yes', async (t) => {
    const server = await serveTools(t, { mcpServers: mcp({ confirm: undefined }) });
    const s = await server.turn(call('asking__echo', { message: 'hi' }));
    same((await decide(server, s.payload.awaiting[0], true)).status, 200);
    await settled(server, s.thread);
    same(await told(server), ['Echo: hi']);
});

test('an MCP tool tells its progress, and stop cancels it at the server', async (t) => {
    const server = await serveTools(t, { mcpServers: mcp() });
    const s = await server.say(call('asking__slow'));
    check(/^round \d+$/.test((await s.must('tool_progress')).data.message), 'the message');
    same((await server.post(`/v1/threads/${s.thread}/stop`)).json.stopped, true);
    await s.read();
    same(s.types().at(-1), 'cancelled');
    same(outcome(await server.turn(call('asking__echo', { message: 'still here' }))).output, 'Echo: still here');
});

test('a tool that an MCP server adds later can be called', async (t) => {
    const server = await serveTools(t, { mcpServers: mcp() });
    await each(server, call('asking__grow'));
    await listed(server, (tools) => tools.some((x) => x.name === 'asking__fruit'));
    same(outcome(await server.turn(call('asking__fruit'))).output, 'an apple');
});

test('a yes for an MCP tool whose definition changed meanwhile is 410 tool_gone', async (t) => {
    const server = await serveTools(t, { mcpServers: mcp({ confirm: { echo: 'always', '*': 'never' } }) });
    const s = await server.turn(call('asking__echo', { message: 'hi' }));
    await each(server, call('asking__rewrite'));
    await listed(server, (tools) => tools.some((x) => x.description === 'Says something else'));
    const r = await decide(server, s.payload.awaiting[0], true);
    same([r.status, r.json?.error.code], [410, 'tool_gone']);
});

// --- questions in the middle of a call ----------------------------------------------------------------------------------

// A call that has asked its question: with a gate before it, or without.
async function atQuestion(t, { gated = false, up, ...config } = {}) {
    const server = await serveTools(t, { mcpServers: mcp({ confirm: gated ? 'always' : 'never' }), ...config }, { up });
    const s = await server.say(call('asking__ask', { amount: 50 }));
    if (gated) {
        same((await decide(server, (await s.must('tool_confirmation')).data.confirmation_id, true)).status, 200);
        await s.read();
    }
    const [question] = await until(async () => { const p = await pending(server); return p.length && p; }, 'the question');
    return { server, s, question };
}
const said = async (server, thread) => {
    await settled(server, thread);
    const f = await server.events(thread);
    const last = (await f.must((e) => e.data?.type === 'complete' && e.data.payload.tool_history?.length)).data.payload.tool_history[0];
    await f.close();
    return last;
};

for (const gated of [false, true]) {
    const which = gated ? 'of a call that had a gate' : 'of a call without a gate';
    test(`a question ${which} is an approval with a schema, and its answer reaches the tool`, async (t) => {
        const { server, s, question } = await atQuestion(t, { gated });
        same([question.tool, question.schema.required, question.ask.includes('Pay 50 from which account?')], ['asking__ask', ['account'], true]);
        const f = await server.events(s.thread);
        const shown = (await f.must((e) => e.data?.type === 'tool_confirmation' && e.data.confirmation_id === question.id)).data;
        same(shown.schema, question.schema, 'the typed door shows the same');
        await f.close();
        const r = await decide(server, question.id, true, { payload: { account: 'savings', sure: true } });
        same([r.status, r.json.status, r.json.duplicate], [200, 'approved', false]);
        same((await said(server, s.thread)).output, 'accept {"account":"savings","sure":true}');
        same(await pending(server), []);
        const row = await approval(server, question.id);
        same([row.status, !!row.decided_by], [gated ? 'approved' : 'done', true]);
        const again = await decide(server, question.id, true);
        same([again.status, again.json.duplicate], [200, true], 'the same answer again');
        const other = await decide(server, question.id, false);
        same([other.status, other.json.error.code], [409, 'already_decided'], 'another answer');
        const whole = await server.events(s.thread);
        await whole.must('complete');
        await whole.close();
    });
}

test('a declined question is declined to the tool', async (t) => {
    const { server, s, question } = await atQuestion(t);
    same((await decide(server, question.id, false)).json.status, 'denied');
    same((await said(server, s.thread)).output, 'decline null');
    same(await pending(server), []);
});

test('a question survives a reload of the page', async (t) => {
    const { server, s, question } = await atQuestion(t, { gated: true });
    const shown = (await server.get(`/v1/threads/${s.thread}`)).json;
    same([shown.state, shown.pending.map((p) => [p.id, p.schema])], ['waiting', [[question.id, question.schema]]]);
    const live = await Live.open(t, server, { thread: s.thread });
    same(live.hello.pending.map((p) => p.id), [question.id]);
    same((await decide(server, question.id, true, { payload: { account: 'a' } })).status, 200);
    same((await said(server, s.thread)).output, 'accept {"account":"a"}');
});

test('a question that nobody answers in time expires, and the tool goes on without it', async (t) => {
    const { server, s, question } = await atQuestion(t, { approvals: { expires: 1 } });
    const end = await said(server, s.thread);
    check(/^(decline|cancel) null$/.test(end.output), end.output);
    same([(await pending(server)).length, (await decide(server, question.id, true)).json.error.code], [0, 'expired']);
});

test('stop while a question waits withdraws it', async (t) => {
    const { server, s, question } = await atQuestion(t, { gated: true });
    same((await server.post(`/v1/threads/${s.thread}/stop`)).json.stopped, true);
    await settled(server, s.thread);
    same([await pending(server), (await approval(server, question.id)).status], [[], 'cancelled']);
    const late = await decide(server, question.id, true);
    same([late.status, late.json.error.code], [409, 'superseded']);
});

test('a new message while a question waits withdraws it and ends the call', async (t) => {
    const { server, s, question } = await atQuestion(t, { gated: true });
    const next = sound(await server.turn('never mind', { thread_id: s.thread }));
    same(next.payload.message.includes('never mind'), true);
    same([await pending(server), (await approval(server, question.id)).status], [[], 'cancelled']);
});

// A newer server ends its call with its questions and is called again with the answers: nothing of it has to live meanwhile.
const modern = (more = {}) => mcp({ args: [...mcp().asking.args, 'modern'], ...more });

test('a newer server that asks twice gets both answers and what it gave to carry, in one call', async (t) => {
    const { server, s, question } = await atQuestion(t, { mcpServers: modern() });
    same([question.schema.required, question.ask.includes('Pay 50 from which account?')], [['account'], true]);
    same((await decide(server, question.id, true, { payload: { account: 'savings' } })).status, 200);
    const [second] = await until(async () => { const p = await pending(server); return p.length && p; }, 'the second question');
    check(second.id !== question.id && second.ask.includes('And when?'), second.ask);
    same((await decide(server, second.id, false)).json.status, 'denied');
    same((await said(server, s.thread)).output, 'accept {"account":"savings"} decline carry "50"');
});

for (const gated of [false, true])
    test(`the answer to an earlier question again, of a call ${gated ? 'with' : 'without'} a gate: a duplicate while the next one waits and when all is over`, async (t) => {
        const { server, s, question } = await atQuestion(t, { gated, mcpServers: modern({ confirm: gated ? 'always' : 'never' }) });
        const once = await decide(server, question.id, true, { payload: { account: 'savings' }, answer_id: 'a1' });
        const [second] = await until(async () => { const p = await pending(server); return p.length && p; }, 'the second question');
        const again = async () => {
            const yes = await decide(server, question.id, true, { answer_id: 'a1' }), other = await decide(server, question.id, false);
            same([yes.status, yes.json], [200, { ...once.json, duplicate: true }], 'the same answer again');
            same([other.status, other.json.error.code], [409, 'already_decided'], 'another answer');
            const row = await approval(server, question.id);
            same([row.ask, row.decided_at, row.decided_by], [question.ask, once.json.decided_at, once.json.decided_by], 'what is listed of it');
        };
        await again();
        same((await pending(server)).map((p) => p.id), [second.id], 'the second waits as before');
        const live = await Live.open(t, server, { thread: s.thread });
        live.send('tool_result', { toolCallId: question.id, result: { confirmed: true }, answer_id: 'a1' });
        same((await live.control('ack')).duplicate, true, 'on /live');
        same((await decide(server, second.id, false)).json.status, 'denied');
        same((await said(server, s.thread)).output, 'accept {"account":"savings"} decline carry "50"');
        await again();
    });

test('a newer server is told what is asked of it once: kill -9 between its questions, then the answers', async (t) => {
    const up = await startUpstream(t);
    const { server, s, question } = await atQuestion(t, { up, mcpServers: modern() });
    await server.kill();
    const next = await serveTools(t, { mcpServers: modern() }, { up, dir: server.dir });
    same((await pending(next)).map((p) => p.id), [question.id], 'it waits as if nothing had been');
    same((await decide(next, question.id, true, { payload: { account: 'savings' } })).status, 200);
    const [second] = await until(async () => { const p = await pending(next); return p.length && p; }, 'the second question');
    await next.kill();
    const last = await serveTools(t, { mcpServers: modern() }, { up, dir: server.dir });
    same((await decide(last, second.id, true, { payload: { day: 'today' } })).status, 200);
    const end = await said(last, s.thread);
    same([end.outcome, end.output], ['done', 'accept {"account":"savings"} accept carry "50"']);
    same(await pending(last), []);
});

test('stop while a newer server\'s question waits: the call had begun, so it is unknown, and nothing is sent', async (t) => {
    const { server, s, question } = await atQuestion(t, { mcpServers: modern() });
    same((await server.post(`/v1/threads/${s.thread}/stop`)).json.stopped, true);
    await settled(server, s.thread);
    same([await pending(server), (await approval(server, question.id)).status], [[], 'unknown']);
    same((await decide(server, question.id, true)).json.error.code, 'superseded');
});

test('a restart while a question waits: the call is unknown, and no question stays pending', async (t) => {
    const up = await startUpstream(t);
    const { server, s, question } = await atQuestion(t, { up, gated: true });
    await server.kill();
    const next = await serveTools(t, { mcpServers: mcp({ confirm: 'always' }) }, { up, dir: server.dir });
    same((await said(next, s.thread)).outcome, 'unknown');
    same([await pending(next), (await approval(next, question.id)).status], [[], 'cancelled']);
    const late = await decide(next, question.id, true, { payload: { account: 'a' } });
    same([late.status, late.json.error.code], [409, 'superseded']);
    const { approvals } = (await next.get('/v1/approvals?status=unknown')).json;
    same(approvals.length, 1, 'the call itself waits to be settled');
    same((await next.post(`/v1/approvals/${approvals[0].id}/settle`, { outcome: 'not_done' })).status, 200);
});

// --- the terminal ------------------------------------------------------------------------------------------------------------

function configFile(t, config) {
    const dir = t.folder(), file = path.join(dir, 'parley.json');
    fs.writeFileSync(file, JSON.stringify({ demo: { tools: false }, ...config }));
    return { cwd: dir, flags: ['--config', file] };
}

test('parley tools lists every tool with its source, its policy and its schema', async (t) => {
    const { cwd, flags } = configFile(t, { tools: { split_bill: example('split_bill'), word_count: example('word_count') }, mcpServers: mcp({ confirm: { echo: 'never', '*': 'always' } }) });
    const r = await parley(['tools', ...flags], { cwd });
    same(r.code, 0, r.err);
    const of = (name) => r.out.slice(r.out.indexOf(`${name}  (`)).split('\n').slice(0, 4).join('\n');
    check(/^split_bill {2}\(exec\)\n {2}Splits a bill.*\n {2}confirm .*total.*\n {2}input \{/.test(of('split_bill')), of('split_bill'));
    check(/confirm "never".*idempotent/.test(of('word_count')), of('word_count'));
    check(/^asking__echo {2}\(mcp:asking\)[^]*confirm "never"/.test(of('asking__echo')), of('asking__echo'));
    check(/confirm "always"/.test(of('asking__ask')), of('asking__ask'));
    check(/MCP server asking: /.test(r.out), 'the state of the server');
});

test('parley tools call runs a tool with live progress, and asks on the terminal where its policy says so', async (t) => {
    const { cwd, flags } = configFile(t, { tools: { word_count: example('word_count'), split_bill: example('split_bill', { confirm: 'always' }) } });
    const free = await parley(['tools', 'call', 'word_count', '{"text":"a b c"}', ...flags], { cwd });
    same([free.code, free.out], [0, '{"words":3}\n'], free.err);
    check(free.err.includes('50%') && free.err.includes('counting'), free.err);
    const bill = ['tools', 'call', 'split_bill', '{"total":10,"people":["Ada"]}', ...flags];
    const no = await parley(bill, { cwd, input: 'no\n' });
    check(no.code === 1 && no.out === '' && no.err.includes('[yes/no]') && no.err.includes('not run'), no.err);
    const silent = await parley(bill, { cwd, input: '' });
    check(silent.code === 1 && silent.out === '', 'no answer is no yes');
    const yes = await parley(bill, { cwd, input: 'yes\n' });
    same([yes.code, JSON.parse(yes.out)], [0, { Ada: 10 }], yes.err);
    const bad = await parley(['tools', 'call', 'word_count', '{"text":1}', ...flags], { cwd });
    check(bad.code === 1 && bad.err.includes('does not fit the schema'), bad.err);
}, { timeout_ms: 120000 });

test('parley tools call does not run what others have to say yes to, nor what may be done only once', async (t) => {
    const bill = (more) => example('split_bill', { confirm: 'always', ...more }), args = '{"total":10,"people":["Ada"]}';
    const small = { pointer: '/total', op: '<', value: 5 };
    const { cwd, flags } = configFile(t, { auth: auth({ fay: ['finance'], fin: ['finance'] }), tools: { split_bill: bill(), free: bill({ confirm: 'never' }), once: bill({ confirm: 'never', effect: 'bill:{total}' }) },
        approvals: { rules: [{ tool: '*', when: small, from: 'owner' }, { tool: '*', from: { role: 'finance', count: 2 } }] } });
    const run = (tool, input, more = []) => parley(['tools', 'call', tool, input, ...more, ...flags], { cwd, input: 'yes\n' });
    for (const more of [[], ['--as', 'fay']]) {
        const others = await run('split_bill', args, more);
        check(others.code === 1 && others.out === '' && /others have to say yes.*split_bill/.test(others.err) && !others.err.includes('[yes/no]'), others.err);
    }
    const once = await run('once', args);
    check(once.code === 1 && once.out === '' && /"effect"/.test(once.err), once.err);
    same((await run('split_bill', '{"total":4,"people":["Ada"]}')).code, 0, 'a small one is the owner\'s');
    same((await run('free', args)).code, 0, 'nobody is asked about it');
}, { timeout_ms: 120000 });

test('parley tools call puts the question of an MCP tool to the terminal', async (t) => {
    const { cwd, flags } = configFile(t, { mcpServers: mcp() });
    const ask = ['tools', 'call', 'asking__ask', '{"amount":5}', ...flags];
    const yes = await parley(ask, { cwd, input: '{"account":"x"}\n' });
    same([yes.code, yes.out], [0, 'accept {"account":"x"}\n'], yes.err);
    check(yes.err.includes('Pay 5 from which account?'), yes.err);
    same((await parley(ask, { cwd, input: '\n' })).out, 'decline null\n');
});

// --- the loop -------------------------------------------------------------------------------------------------------------------

test('200 programs at work do not hold up the loop', async (t) => {
    const server = await serveTools(t, { tools: { quick: shell(`read x; echo '{"progress":0.5}'; echo '{"result":"ok"}'`) } });
    const before = { all: 0, late: 0 };
    const run = async (what, one) => {
        let left = 200;
        await Promise.all(Array.from({ length: 20 }, async () => { while (left-- > 0) await one(); }));
        const m = await server.metrics(), all = m['parley_loop_lag_seconds_count'], late = all - m['parley_loop_lag_seconds_bucket{le="0.005"}'];
        console.log(`note: 200 ${what}: ${late - before.late} of ${all - before.all} turns of the loop took longer than 5 ms`);
        check(all > before.all && late >= 0, 'the histogram is there');
        Object.assign(before, { all, late });
    };
    await run('turns without tools', () => server.turn('hi'));       // what a busy machine costs by itself
    await run('exec calls', async () => same(outcome(await server.turn(call('quick'))).output, 'ok'));
}, { timeout_ms: 180000 });
