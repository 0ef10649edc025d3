// Who may start a run, and when: request ids, busy threads, stop, approvals and
// client tools by the doors there are.
import { check, oneProcess, same, settled, sound, test, told, until } from './lib.mjs';

const SLOW = { config: { demo: { token_ms: 5 } } };
const runs = async (server) => Object.entries(await server.metrics()).filter(([k]) => k.startsWith('parley_runs_total')).reduce((n, [, v]) => n + v, 0);

// --- the same request again -------------------------------------------------------------------

for (const named of [false, true]) {
    test(`the same request_id twenty times at once starts one run, ${named ? 'in a thread that exists' : 'without a thread'}`, async (t) => {
        const server = await t.serve();
        const more = named ? { thread_id: (await server.post('/v1/threads', {})).json.id } : {};
        const all = await Promise.all(Array.from({ length: 20 }, () => server.turn('Find articles about CRISPR', { request_id: 'r-17', ...more })));
        for (const s of all) {
            same([s.status, s.run, s.thread], [200, all[0].run, all[0].thread], 'the run and the thread');
            sound(s);
            same(told(s.events), told(all[0].events), 'what is told');
        }
        same(await runs(server), 1, 'runs');
        same((await server.get('/v1/threads')).json.threads.length, 1, 'threads');
    });
}

test('a request_id used before re-attaches to its run, whatever the body says now and by whichever door', async (t) => {
    const server = await t.serve();
    const first = await server.turn('Find articles about CRISPR', { request_id: 'r-1' });
    const again = await server.turn('hello', { request_id: 'r-1' });
    same([again.run, again.thread], [first.run, first.thread]);
    same(told(again.events), told(first.events));
    check(!again.types().includes('status'), 'a replay leaves out status');
    const other = await (await server.open('POST', '/functions/v1/chat', { message: 'hello', request_id: 'r-1' })).read();
    same(other.run, first.run);
    same(other.of('tool_result')[0].toolName, 'search_articles');
    same(await runs(server), 1);
});

test('a request_id is remembered after a restart', async (t) => {
    const server = await t.serve();
    const first = await server.turn('Find articles about CRISPR', { request_id: 'r-1' });
    same(await server.term(), 0);
    const next = await t.serve({ dir: server.dir });
    same(told((await next.turn('hello', { request_id: 'r-1' })).events), told(first.events));
});

test('a message to a conversation that is not in memory continues it', async (t) => {
    const server = await t.serve();
    const first = await server.turn('Send 50 dollars to Hanako');
    const before = (await server.get(`/v1/threads/${first.thread}`)).json;
    same(await server.term(), 0);
    const next = await t.serve({ dir: server.dir });
    sound(await next.turn('hello', { thread_id: first.thread }));
    const after = (await next.get(`/v1/threads/${first.thread}`)).json;
    same(after.title, before.title);
    same((await next.get('/v1/approvals')).json.approvals.map((a) => a.status), ['cancelled'], 'the gate was seen');
    same(await runs(next), 2);
});

test('a replay of a gated run by its request_id leaves out the complete of the past gate', async (t) => {
    const server = await t.serve();
    const first = await server.turn('Send 50 dollars to Hanako', { request_id: 'r-1' });
    const atGate = await server.turn('Send 50 dollars to Hanako', { request_id: 'r-1' });
    same(told(atGate.events), told(first.events), 'while it waits');
    const id = first.payload.awaiting[0];
    same((await server.post(`/v1/approvals/${id}`, { confirmed: true })).status, 200);
    await settled(server, first.thread);
    const whole = sound(await server.turn('x', { request_id: 'r-1' }));
    same(whole.of('complete').length, 1, 'completes');
    same(server.ledger().length, 1, 'payments');
});

test('an action with a request_id runs once', async (t) => {
    const server = await t.serve();
    const { thread } = await server.turn('Propose a schema');
    const all = await Promise.all(Array.from({ length: 5 }, () => server.post(`/v1/threads/${thread}/actions`, { action: 'apply_schema', data: { schema_id: 123 }, request_id: 'a-1' })));
    same(new Set(all.map((r) => `${r.status} ${r.json.run_id}`)).size, 1, `one run: ${all.map((r) => r.text)}`);
    await settled(server, thread);
    same((await server.get('/v1/tools')).json.tools.find((x) => x.name === 'apply_schema').runs, 1);
});

// --- busy ---------------------------------------------------------------------------------------

test('a second message while a run is going is refused with run_active and the run\'s id', async (t) => {
    const server = await t.serve(SLOW);
    const s = await server.say('Tell me a long story');
    await s.must('text_delta');
    for (const door of ['/v1/chat/stream', '/functions/v1/chat']) {
        const r = await server.post(door, { message: 'hello', thread_id: s.thread });
        same([r.status, r.json.error.code, r.json.error.run_id], [409, 'run_active', s.run]);
    }
    await server.post(`/v1/threads/${s.thread}/stop`);
    await s.read();
});

test('when_busy queue waits for its turn', async (t) => {
    const server = await t.serve({ config: { demo: { token_ms: 1 } } });
    const s = await server.say('Tell me a long story');
    await s.must('text_delta');
    const queued = server.turn('What is the weather in Tokyo?', { thread_id: s.thread, when_busy: 'queue' });
    sound(await s.read());
    check(s.payload.message.endsWith('kept.'), 'the first is whole');
    const second = sound(await queued);
    same(second.of('tool_start')[0].tool, 'get_weather');
    check(Number(second.events.find((e) => e.id).id.split('.')[0]) > Number(s.lastId.split('.')[0]), 'after it in the log');
});

test('when_busy interrupt stops what is going and takes its place', async (t) => {
    const server = await t.serve(SLOW);
    const s = await server.say('Tell me a long story');
    await s.must('text_delta');
    const next = server.turn('hello', { thread_id: s.thread, when_busy: 'interrupt' });
    same((await s.read()).events.at(-1).data.type, 'cancelled');
    same(sound(await next).thread, s.thread);
    const bad = await server.post('/v1/chat/stream', { message: 'x', when_busy: 'later' });
    same([bad.status, bad.json.error.code], [422, 'bad_field']);
});

test('stop ends a run at once with cancelled, and the words so far stay', async (t) => {
    const server = await t.serve(SLOW);
    const s = await server.say('Tell me a long story');
    await s.must('text_delta');
    const r = await server.post(`/v1/threads/${s.thread}/stop`);
    same([r.status, r.json], [200, { stopped: true, run_id: s.run }]);
    sound(await s.read());
    same(s.events.at(-1).data, { type: 'cancelled' });
    same((await server.post(`/v1/threads/${s.thread}/stop`)).json, { stopped: false, run_id: null });
    const shown = (await server.get(`/v1/threads/${s.thread}`)).json;
    same(shown.state, 'idle');
    const text = shown.messages.at(-1).parts.filter((p) => p.type === 'text').map((p) => p.text).join('');
    same(text, s.words, 'what was told is what is kept');
    sound(await server.turn('hello', { thread_id: s.thread }));
    same((await server.post('/v1/threads/t_unknown/stop')).status, 404);
});

test('stop while a tool runs lets it report, then ends the run', async (t) => {
    const server = await t.serve(SLOW);
    const s = await server.say('Find articles about CRISPR');
    await s.must('tool_start');
    same((await server.post(`/v1/threads/${s.thread}/stop`)).json.stopped, true);
    await s.read();
    same(s.events.at(-1).data, { type: 'cancelled' });
    same(s.of('tool_complete').length, 1, 'the call has its outcome');
});

test('stop before the first word ends the run too', async (t) => {
    const server = await t.serve({ config: { demo: { token_ms: 300 } } });
    const s = await server.say('Tell me a long story');
    same((await server.post(`/v1/threads/${s.thread}/stop`)).json.stopped, true);
    same((await s.read()).events.at(-1).data, { type: 'cancelled' });
    same((await server.get(`/v1/threads/${s.thread}`)).json.state, 'idle');
});

// --- approvals -------------------------------------------------------------------------------------

async function asked(t, say = 'Send 50 dollars to Hanako', options) {
    const server = await t.serve(options);
    const s = sound(await server.turn(say));
    return { server, s, thread: s.thread, ids: s.payload.awaiting };
}

// The continuation of a run is held against the whole run.
function continued(first, next) {
    next.continued = true;
    next.before = first.map((f) => f.words).join('');
    next.index = first.reduce((n, f) => n + f.of('tool_complete').length, 0);
    return sound(next);
}

test('approve by an action on the chat door goes on with the same run and pays once', async (t) => {
    const { server, s, ids } = await asked(t);
    const action = s.payload.suggested_actions[0];
    const next = continued([s], await (await server.open('POST', '/v1/chat/stream', { action: { action: action.action, data: action.data } })).read());
    same([next.run, next.thread], [s.run, s.thread]);
    same(next.types()[0], 'status');
    same(next.of('tool_start').length, 1);
    same(next.of('intent_confirmation').length, 0, 'the intent is not told again');
    check(next.payload.message.split(/\s+/).length >= 12, 'at least 12 words');
    same(server.ledger().map((l) => [l.call_id, l.recipient, l.amount, l.currency]), [[ids[0].replace('confirmation-', ''), 'Hanako', 50, 'USD']]);
    const again = await (await server.open('POST', '/v1/chat/stream', { thread_id: s.thread, action: { action: 'approve', data: { confirmation_id: ids[0] } } })).read();
    same(again.status, 200, 'the same answer again');
    same(server.ledger().length, 1);
    const no = await server.post('/v1/chat/stream', { thread_id: s.thread, action: { action: 'deny', data: { confirmation_id: ids[0] } } });
    same([no.status, no.json.error.code], [409, 'already_decided']);
});

test('deny tells the model, and nothing is paid', async (t) => {
    const { server, s, ids, thread } = await asked(t);
    const r = await server.post(`/v1/threads/${thread}/actions`, { action: 'deny', data: { confirmation_id: ids[0], reason: 'too much' } });
    same([r.status, r.json.run_id], [202, s.run]);
    await settled(server, thread);
    const f = await server.events(thread, s.lastId);
    await f.must('complete');
    await f.close();
    same(f.of('tool_complete')[0].ok, false);
    same(f.of('tool_start').length, 0, 'never started');
    same(f.payload.tool_history[0].outcome, 'denied');
    same(server.ledger(), []);
    const a = (await server.get(`/v1/approvals/${ids[0]}`)).json;
    same([a.status, a.reason, a.decided_via, a.decided_by], ['denied', 'too much', 'action', 'local']);
});

test('approvals are listed while they wait, decided once, and shown with who decided', async (t) => {
    const { server, ids, thread } = await asked(t, 'Send 50 dollars to Hanako and 20 dollars to Taro');
    const pending = (await server.get('/v1/approvals?status=pending')).json.approvals;
    same(pending.map((a) => a.id).sort(), [...ids].sort());
    for (const k of ['id', 'thread', 'tool', 'tool_use_id', 'input', 'ask', 'risk', 'status', 'requested_at', 'expires_at', 'decided_at', 'decided_by', 'decided_via', 'reason'])
        check(k in pending[0], `${k} is there`);
    same([pending[0].decided_at, pending[0].reason, pending[0].thread], [null, null, thread]);
    const yes = await server.post(`/v1/approvals/${ids[0]}`, { confirmed: true });
    same([yes.status, yes.json.status, yes.json.duplicate, yes.json.decided_by], [200, 'approved', false, 'local']);
    same((await server.get(`/v1/threads/${thread}`)).json.pending.map((p) => p.id), [ids[1]], 'still pending');
    const twice = await server.post(`/v1/approvals/${ids[0]}`, { confirmed: true });
    same([twice.status, twice.json.duplicate], [200, true]);
    same((await server.post(`/v1/approvals/${ids[1]}`, { confirmed: false })).json.status, 'denied');
    await settled(server, thread);
    same(server.ledger().map((l) => l.recipient), ['Hanako']);
    same((await server.get('/v1/approvals?status=pending')).json.approvals, []);
    same((await server.get(`/v1/approvals?thread=${thread}`)).json.approvals.length, 2);
});

test('a hundred answers at once run a payment once', async (t) => {
    const { server, ids, thread } = await asked(t);
    const all = await Promise.all(Array.from({ length: 100 }, (_, i) => server.post(`/v1/approvals/${ids[0]}`, { confirmed: i % 2 === 0 })));
    const statuses = new Set(all.map((r) => r.status));
    check([...statuses].every((x) => [200, 409].includes(x)), `200 or 409: ${[...statuses]}`);
    same(all.filter((r) => r.status === 200 && !r.json.duplicate).length, 1, 'answers that were the first');
    await settled(server, thread);
    check(server.ledger().length <= 1, 'at most one payment');
});

test('malformed and foreign answers are refused and change nothing', async (t) => {
    const { server, ids } = await asked(t);
    for (const body of [{}, { confirmed: 'yes' }, { confirmed: 1 }, { confirmed: true, approved: false }, [], 'true'])
        same((await server.post(`/v1/approvals/${ids[0]}`, JSON.stringify(body))).status, 422, JSON.stringify(body));
    const unknown = await server.post('/v1/approvals/confirmation-call-nobody', { confirmed: true });
    same([unknown.status, unknown.json.error.code], [404, 'unknown_confirmation']);
    const flat = await server.post('/v1/chat/stream', { action: { action: 'approve', data: {} } });
    same([flat.status, flat.json.error.code], [422, 'malformed_answer']);
    same((await server.get(`/v1/approvals/${ids[0]}`)).json.status, 'pending');
    same(server.ledger(), []);
});

test('a new message while a gate waits supersedes it: followers see its end, a late yes is refused', async (t) => {
    const { server, s, ids, thread } = await asked(t);
    const f = await server.events(thread, s.lastId);
    sound(await server.turn('hello', { thread_id: thread }));
    const end = await f.must('cancelled');
    check(end, 'cancelled');
    await f.must('complete');
    await f.close();
    same(f.types().slice(0, 4), ['tool_complete', 'text_delta', 'text_delta', 'cancelled'], 'what followers see: the outcome, a blank line, its marker, the end');
    same(f.of('tool_complete')[0].ok, false);
    const late = await server.post(`/v1/approvals/${ids[0]}`, { confirmed: true });
    same([late.status, late.json.error.code], [409, 'superseded']);
    same(server.ledger(), []);
});

test('with approvals.on_new_message hold a new message is refused while a gate waits', async (t) => {
    const { server, ids, thread } = await asked(t, undefined, { config: { approvals: { on_new_message: 'hold' } } });
    const r = await server.post('/v1/chat/stream', { message: 'hello', thread_id: thread });
    same([r.status, r.json.error.code], [409, 'approval_pending']);
    check(r.json.error.message.includes(ids[0]), 'the list is told');
});

test('hold is for people: a call that waits only for a browser holds nobody up', async (t) => {
    const server = await t.serve({ config: { approvals: { on_new_message: 'hold' }, tools: { place: { description: 'Where?', client: true } }, actions: { go: { tool: 'place' } } } });
    const { thread } = await server.turn('hello');
    same((await server.post(`/v1/threads/${thread}/actions`, { action: 'go' })).status, 202);
    await until(async () => (await server.get(`/v1/threads/${thread}`)).json.state === 'waiting', 'the browser is asked');
    const s = sound(await server.turn('hello again', { thread_id: thread }));
    check(s.payload.message.length > 0, 'the words');
});

test('a risk that nobody named is told as none, not as low', async (t) => {
    const server = await t.serve({ config: { tools: { mail: { description: 'Sends a letter.', confirm: 'always', exec: { command: ['true'] } } }, actions: { go: { tool: 'mail' } } } });
    same((await server.get('/v1/tools')).json.tools.find((x) => x.name === 'mail').risk, null);
    const { thread } = await server.turn('hello');
    await server.post(`/v1/threads/${thread}/actions`, { action: 'go' });
    const f = await server.events(thread, '0.0');
    same((await f.must('tool_confirmation')).data.risk, null);
    await f.close();
    same((await server.get('/v1/approvals')).json.approvals[0].risk, null);
});

test('a browser has as long as its tool is given', async (t) => {
    const server = await t.serve({ config: { tools: { place: { description: 'Where?', client: true, timeout: 0.05 } }, actions: { go: { tool: 'place' } } } });
    const { thread } = await server.turn('hello');
    await server.post(`/v1/threads/${thread}/actions`, { action: 'go' });
    const f = await server.events(thread, '0.0');
    const { data } = await f.must('tool_complete');
    same([data.tool, data.outcome], ['place', 'failed']);
    await f.close();
    const late = await server.post(`/v1/threads/${thread}/results/${data.tool_use_id}`, { result: 1 });
    same([late.status, late.json.error.code], [409, 'late_result']);
});

test('a queued message does not wait for the question of the run ahead of it', async (t) => {
    const server = await t.serve({ config: { demo: { token_ms: 5 } } });
    const s = await server.say('Send 50 dollars to Hanako');
    const queued = server.turn('What is the weather in Tokyo?', { thread_id: s.thread, when_busy: 'queue' });
    const second = sound(await queued);
    same(second.of('tool_start')[0].tool, 'get_weather');
    await s.read();
    same((await server.get('/v1/approvals')).json.approvals.map((a) => a.status), ['cancelled'], 'the conversation went on');
    same(server.ledger(), []);
});

test('a gate survives a restart, and the yes of the next day runs the payment once', async (t) => {
    const { server, s, ids, thread } = await asked(t);
    same(await server.term(), 0);
    const next = await t.serve({ dir: server.dir });
    same((await next.get(`/v1/threads/${thread}`)).json.pending.map((p) => p.id), ids);
    same((await next.post(`/v1/approvals/${ids[0]}`, { confirmed: true })).status, 200);
    const f = await next.events(thread, s.lastId);
    await f.must('complete');
    await f.close();
    same((s.words + f.words), f.payload.message, 'the whole run');
    same(next.ledger().length, 1);
});

test('a gate expires by the clock, and a yes after that is refused', async (t) => {
    const { server, s, ids, thread } = await asked(t, undefined, { config: { approvals: { expires: 1 } } });
    const f = await server.events(thread, s.lastId);
    await f.must('tool_complete');
    const late = await server.post(`/v1/approvals/${ids[0]}`, { confirmed: true });
    same([late.status, late.json.error.code], [409, 'expired']);
    await f.must('complete');
    await f.close();
    same((await server.get(`/v1/approvals/${ids[0]}`)).json.status, 'expired');
    same(server.ledger(), []);
});

test('stop at a gate cancels it', async (t) => {
    const { server, ids, s, thread } = await asked(t);
    same((await server.post(`/v1/threads/${thread}/stop`)).json, { stopped: true, run_id: s.run });
    same((await settled(server, thread)).state, 'idle');
    same((await server.get(`/v1/approvals/${ids[0]}`)).json.status, 'cancelled');
    same((await server.post(`/v1/approvals/${ids[0]}`, { confirmed: true })).json.error.code, 'superseded');
});

test('a gate beside a free call tells the free outcome before the stream ends', async (t) => {
    const { s } = await asked(t, 'Send 50 dollars to Hanako and tell me the weather in Tokyo', SLOW);
    same(s.of('tool_complete').map((c) => [c.tool, c.index]), [['get_weather', 0]]);
    same(s.types().filter((x) => x === 'complete').length, 1);
    same(s.types().at(-1), 'complete');
});

// --- client tools ----------------------------------------------------------------------------------

test('a client tool is asked about, offered to the browser, and goes on with its result', async (t) => {
    const { server, s, ids, thread } = await asked(t, 'Where am I?');
    const offered = await (await server.open('POST', '/v1/chat/stream', { thread_id: thread, action: { action: 'approve', data: { confirmation_id: ids[0] } } })).read();
    const start = offered.of('tool_start')[0];
    same([start.where, start.tool], ['client', 'get_location']);
    same(offered.payload.awaiting, [start.tool_use_id], 'the call is awaited');
    const at = `/v1/threads/${thread}/results/${start.tool_use_id}`;
    same((await server.post(at + '/claim', { client: 'tab-1' })).status, 200);
    same((await server.post(at + '/claim', { client: 'tab-2' })).json.error.code, 'claimed');
    same((await server.post(at, { result: { latitude: 1, longitude: 2 } })).json, { accepted: true, duplicate: false });
    same((await server.post(at, { result: { latitude: 1, longitude: 2 } })).json, { accepted: true, duplicate: true });
    same((await server.post(at, { result: 'elsewhere' })).json.error.code, 'late_result');
    await settled(server, thread);
    const f = await server.events(thread, offered.lastId);
    await f.must('complete');
    await f.close();
    same(f.payload.message, s.words + offered.words + f.words, 'the whole run');
    same(f.payload.tool_history[0].ok, true);
});

test('a result for a server tool is refused and names the confirmation to answer', async (t) => {
    const { server, ids, thread } = await asked(t);
    const r = await server.post(`/v1/threads/${thread}/results/${ids[0].replace('confirmation-', '')}`, { result: { paid: true } });
    same([r.status, r.json.error.code], [403, 'not_client_tool']);
    check(r.json.error.message.includes(ids[0]), 'names it');
    await until(() => server.log.some((l) => l.level === 'security' && l.event === 'answer.refused'), 'a line in the security log');
    same((await server.post(`/v1/threads/${thread}/results/call-nobody`, { result: 1 })).json.error.code, 'unknown_call');
});

test('runs beyond the limit get 503 and a sentence, and room is made when one ends', async (t) => {
    oneProcess('each counts the runs that it holds');
    const server = await t.serve({ config: { demo: { token_ms: 5 }, limits: { runs: 1 } } });
    const s = await server.say('Tell me a long story');
    await s.must('text_delta');
    const r = await server.post('/v1/chat/stream', { message: 'hello' });
    same([r.status, r.json.error.code], [503, 'too_many_runs']);
    await server.post(`/v1/threads/${s.thread}/stop`);
    await s.read();
    await until(async () => (await server.get('/readyz')).json.runs === 0, 'no run');
    sound(await server.turn('hello'));
});
