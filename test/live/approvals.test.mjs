// A person says yes, once, from anywhere: the table of edge rules and the acceptance
// list of the confirmation pattern, row by row.
import fs from 'node:fs';
import path from 'node:path';
import { check, same, settled, test, until } from './lib.mjs';
import { Chat, Live, toolsOf } from './ai.mjs';
import { DAY, DOORS, ask, executed, finish, later, timed } from './doors.mjs';

const PAY = 'Send 50 dollars to Hanako', PAY_TWO = 'Send 50 dollars to Hanako and 20 dollars to Taro';
const decide = (server, id, confirmed, more) => server.post(`/v1/approvals/${id}`, { confirmed, ...more });
const status = async (server, id) => (await server.get(`/v1/approvals/${id}`)).json.status;

// A server with one gated tool that runs until the file `go` is there: something to be interrupted in.
function slowTool(t, more = {}) {
    const dir = t.folder(), go = path.join(dir, 'go');
    const command = ['/bin/sh', '-c', 'read x; echo "{\\"progress\\":0.5,\\"stage\\":\\"working\\"}"; until [ -e "$GO" ]; do sleep 0.02; done; echo "{\\"result\\":{\\"found\\":1}}"'];
    const config = { actions: {}, demo: { tools: false }, tools: { search_articles: { exec: { command, env: { GO: go } }, confirm: 'always', ask: 'Search for {query}?', ...more } } };
    return { options: { dir, config }, go: () => fs.writeFileSync(go, '') };
}
const SEARCH = 'Find articles about CRISPR';

// --- denial ----------------------------------------------------------------------------------------

test('the card of a denied call says why, and the verdict is no message', async (t) => {
    const server = await t.serve();
    const s = await server.turn(PAY);
    await decide(server, s.payload.awaiting[0], false, { reason: 'too much' });
    const shown = await settled(server, s.thread);
    const f = await server.events(s.thread, s.lastId);
    const { payload } = (await f.must('complete')).data;
    await f.close();
    same(payload.tool_history[0].output, 'User denied execution: too much');
    same(shown.messages.map((m) => m.role), ['user', 'assistant'], 'the verdict is no message');
    same(server.ledger(), []);
});

// --- time ----------------------------------------------------------------------------------------------

test('a gate expires by the clock with a listener: the model speaks of it', async (t) => {
    const server = await t.serve({ config: { approvals: { expires: 1 } } });
    const l = await Live.open(t, server);
    await l.say(PAY);
    const q = l.asked[0];
    const turn = await l.turn();
    same((await l.control('data-approval')).data.status, 'expired');
    const part = toolsOf(l.last).find((p) => p.toolCallId === q.call);
    same([part.state, part.errorText, part.providerExecuted], ['output-error', 'Approval request timed out', true]);
    check(turn.words_.length > 20, 'the words');
    same(await status(server, q.id), 'expired');
});

test('a gate expires by the clock without a listener: the model is not called, the next visit shows it', async (t) => {
    const server = await t.serve({ config: { approvals: { expires: 1 } } });
    const c = new Chat(t, server);
    await c.say(PAY);
    await until(async () => (await status(server, c.asked[0].id)) === 'expired', 'the expiry');
    const shown = await settled(server, c.id);
    same([shown.state, shown.pending], ['idle', []]);
    const last = shown.messages.at(-1);
    same(last.parts.filter((p) => p.type === 'text').length, 1, 'no further words');
    same([last.metadata.outcome, last.metadata.reason], ['cancelled', 'expired']);
    const tool = last.parts.find((p) => p.type === 'tool-process_payment');
    same([tool.state, tool.errorText], ['output-error', 'Approval request timed out']);
    const next = await server.turn('hello', { thread_id: c.id });
    same(next.types().at(-1), 'complete');
});

test('two gates that expire together are one end', async (t) => {
    const server = await t.serve(timed(t));
    const l = await Live.open(t, server);
    await l.say(PAY_TWO);
    const [a, b] = l.asked;
    later(server, DAY + 1);
    same((await decide(server, a.id, true)).json.error.code, 'expired');
    await l.turn();
    await settled(server, l.thread);
    same([await status(server, a.id), await status(server, b.id)], ['expired', 'expired']);
    same(l.turns.length, 2, 'one turn after the question');
});

test('expires 0 waits for ever', async (t) => {
    const server = await t.serve(timed(t, { config: { approvals: { expires: 0 } } }));
    const s = await server.turn(PAY);
    same((await server.get(`/v1/approvals/${s.payload.awaiting[0]}`)).json.expires_at, null);
    later(server, 3000 * DAY);
    same((await decide(server, s.payload.awaiting[0], true)).status, 200);
    await settled(server, s.thread);
    same(server.ledger().length, 1);
});

test('an overdue question is gone from every list before its timer rings', async (t) => {
    const server = await t.serve(timed(t));
    const s = await server.turn(PAY);
    later(server, DAY + 1);
    same((await server.get('/v1/approvals?status=pending')).json.approvals, [], 'the list');
    await until(async () => (await status(server, s.payload.awaiting[0])) === 'expired', 'the record, because somebody looked');
    same((await server.get(`/v1/threads/${s.thread}`)).json.pending, [], 'the thread');
    const l = await Live.open(t, server, { thread: s.thread });
    same(l.hello.pending, []);
});

// --- where the client is -----------------------------------------------------------------------------------

test('leaving while the approved tool runs: it finishes, the model speaks, the client catches up', async (t) => {
    const slow = slowTool(t), server = await t.serve(slow.options);
    const c = new Chat(t, server);
    await c.say(SEARCH);
    c.auto = false;
    await c.answer(c.asked[0].id, true);
    const s = await c.open({ messageId: c.last.id });
    await s.must('tool-output-available');                        // the progress report: it runs
    await s.close();
    slow.go();
    const shown = await settled(server, c.id);
    same(shown.state, 'idle');
    const parts = shown.messages.at(-1).parts;
    same(parts.find((p) => p.type === 'tool-search_articles').state, 'output-available');
    check(parts.filter((p) => p.type === 'text').length === 2, 'the words after it');
});

test('progress of an approved tool comes as preliminary outputs, the last one is final', async (t) => {
    const slow = slowTool(t), server = await t.serve(slow.options);
    const c = new Chat(t, server);
    await c.say(SEARCH);
    c.auto = false;
    await c.answer(c.asked[0].id, true);
    const s = await c.open({ messageId: c.last.id });
    const first = (await s.must('tool-output-available')).data;
    same([first.preliminary, first.output.stage, first.output.progress], [true, 'working', 0.5]);
    slow.go();
    await s.read();
    const outputs = s.of('tool-output-available');
    same([outputs.at(-1).preliminary, outputs.at(-1).output], [undefined, { found: 1 }]);
});

// --- the same answer, another answer --------------------------------------------------------------------------

for (const [name, open] of Object.entries(DOORS))
    test(`${name}: the same answer again is told as before and runs nothing, another is refused`, async (t) => {
        const server = await t.serve();
        const door = await open(t, server);
        const q = await ask(door, 'process_payment');
        await door.answer(q.id, true);
        await finish(door, 'process_payment');
        const tab = await door.reload();
        if (name === '/live') same((await tab.answer(q.id, true)).duplicate, true);
        else if (name === 'typed') { await tab.answer(q.id, true); check(tab.streams.at(-1).payload.message.includes('Done'), 'the recorded words'); }
        else if (name === '/ag-ui' || name === '/run_sse') { await tab.answer(q.id, true); check(tab.words.includes('Done'), 'the recorded words'); }
        else if (door.chat) door.chat.messages.length = 2;
        const again = await decide(server, q.id, true);
        same([again.status, again.json.duplicate, again.json.status], [200, true, 'approved']);
        let no;
        if (name === '/live') await tab.answer(q.id, false).catch((e) => { no = e; });
        else if (name === 'typed' || name === '/ag-ui' || name === '/run_sse') await tab.answer(q.id, false).catch((e) => { no = e; });
        else no = await decide(server, q.id, false).then((r) => ({ status: r.status, code: r.json.error.code }));
        same([no.status, no.code], [409, 'already_decided']);
        same(server.ledger().length, 1);
        same((await server.metrics())['parley_runs_total{outcome="complete"}'], 1, 'no new model turn');
    });

// --- siblings ---------------------------------------------------------------------------------------------------

for (const [name, open] of Object.entries(DOORS))
    for (const order of ['first, then second', 'second, then first', 'one denied'])
        test(`${name}: two gates answered apart: ${order}; the model waits for both`, async (t) => {
            const server = await t.serve();
            const door = await open(t, server);
            await door.say(PAY_TWO);
            same(door.asked.map((q) => q.input.recipient), ['Hanako', 'Taro']);
            const [a, b] = order.startsWith('second') ? [...door.asked].reverse() : door.asked;
            const no = order === 'one denied';
            await decide(server, a.id, true);
            await until(() => server.ledger().length === 1, 'the first payment runs before the second is decided');
            const between = await settled(server, door.thread);
            same([between.state, between.pending.map((p) => p.id)], ['waiting', [b.id]]);
            await decide(server, b.id, !no);
            same((await settled(server, door.thread)).state, 'idle');
            same(server.ledger().map((l) => l.call_id), no ? [a.call] : [a.call, b.call]);
            same((await executed(server, b, 'process_payment')).status, no ? 'denied' : 'done');
        });

for (const door of ['/api/chat', '/stream'])
    test(`${door}: one gate decided elsewhere, the other here: the stream tells both outcomes`, async (t) => {
        const server = await t.serve();
        const c = new Chat(t, server, door);
        await c.say(PAY_TWO);
        const [a, b] = c.asked;
        await decide(server, a.id, true);
        await until(() => server.ledger().length === 1, 'the first payment');
        await settled(server, c.id);
        c.mark(a.id, true);
        await c.answer(b.id, true);
        same(c.posts, 2);
        same([c.tool(a.call).state, c.tool(b.call).state], ['output-available', 'output-available']);
        same(c.streams.at(-1).finished, 'stop');
    });

for (const [name, open] of Object.entries(DOORS))
    test(`${name}: a gated call beside a free one: the free outcome is told, then the question waits`, async (t) => {
        const server = await t.serve({ config: { demo: { token_ms: 2 } } });
        const door = await open(t, server);
        await door.say('Send 50 dollars to Hanako and tell me the weather in Tokyo');
        same(door.asked.map((q) => q.tool), ['process_payment']);
        const thread = (await server.get(`/v1/threads/${door.thread}`)).json;
        same(thread.messages.at(-1).parts.find((p) => p.type === 'tool-get_weather').state, 'output-available');
        await door.answer(door.asked[0].id, true);
        await finish(door, 'process_payment');
        same(server.ledger().length, 1);
    });

// --- the person goes on -------------------------------------------------------------------------------------------

for (const [name, open] of Object.entries(DOORS)) {
    if (name !== '/ag-ui') // its protocol wants the answer first: there a question always holds
    test(`${name}: a new message while a question waits withdraws it, and a late yes is refused`, async (t) => {
        const server = await t.serve();
        const door = await open(t, server);
        const q = await ask(door, 'process_payment');
        await door.say('hello');
        same(await status(server, q.id), 'cancelled');
        const late = await decide(server, q.id, true);
        same([late.status, late.json.error.code], [409, 'superseded']);
        same(server.ledger(), []);
        same((await settled(server, door.thread)).messages.map((m) => m.role), ['user', 'assistant', 'user', 'assistant']);
    });
    test(`${name}: with hold a new message is refused and names what waits; the answer still counts`, async (t) => {
        const server = await t.serve({ config: { approvals: { on_new_message: 'hold' } } });
        const door = await open(t, server);
        const q = await ask(door, 'process_payment');
        let no;
        if (name === '/live') { door.live.send('message', { text: 'hello' }); no = await door.live.control('error'); no.status = 409; }
        else await door.say('hello').catch((e) => { no = e; });
        same([no.status, no.code], [409, 'approval_pending']);
        check(no.message.includes(q.id), `the list: ${no.message}`);
        same((await decide(server, q.id, true)).status, 200);
        await settled(server, door.thread);
        same(server.ledger().length, 1);
    });
}

// --- stop, in each state ---------------------------------------------------------------------------------------------

test('stop at a gate: the sockets get abort and the end of the turn, the gate is cancelled', async (t) => {
    const server = await t.serve();
    const l = await Live.open(t, server), tab = await Live.open(t, server, { thread: l.thread }).catch(() => null);
    same(tab, null, 'the thread is not there before its first message');
    await l.say(PAY);
    const q = l.asked[0];
    l.send('interrupt', { reason: 'user_abort' });
    same((await l.control('ack')).status, 'stopped');
    same((await l.turn()).types, ['abort']);
    same(await status(server, q.id), 'cancelled');
    same((await decide(server, q.id, true)).json.error.code, 'superseded');
});

test('stop while an offered client tool waits: abort, and its result comes too late', async (t) => {
    const server = await t.serve();
    const l = await Live.open(t, server);
    await l.say('Where am I?');
    l.answer(l.asked[0].id, true);
    await l.turn();
    const [call] = toolsOf(l.last).filter((p) => p.type === 'tool-get_location').map((p) => p.toolCallId);
    await server.post(`/v1/threads/${l.thread}/stop`);
    same((await l.turn()).types, ['abort']);
    const late = await server.post(`/v1/threads/${l.thread}/results/${call}`, { result: 1 });
    same([late.status, late.json.error.code], [409, 'late_result']);
});

test('stop while the approved tool runs: it is told to stop, its outcome is kept, the model is not called', async (t) => {
    const slow = slowTool(t), server = await t.serve(slow.options);
    const c = new Chat(t, server);
    await c.say(SEARCH);
    c.auto = false;
    await c.answer(c.asked[0].id, true);
    const s = await c.open({ messageId: c.last.id });
    await s.must('tool-output-available');
    same((await server.post(`/v1/threads/${c.id}/stop`)).json.stopped, true);
    s.next_ = 0;
    await c.read(s);
    const r = c.streams.at(-1);
    check(r.aborted, `abort: ${r.types}`);
    same(r.words_, '', 'no words of the model');
    const shown = await settled(server, c.id);
    same(shown.messages.at(-1).parts.find((p) => p.type === 'tool-search_articles').state, 'output-error');
    await c.maybeSend();
    same(c.posts, 2, 'no loop after the abort');
});

// --- client tools ---------------------------------------------------------------------------------------------------------

async function location(t, options) {
    const server = await t.serve(options);
    const s = await server.turn('Where am I?');
    const id = s.payload.awaiting[0], call = s.of('tool_confirmation')[0].tool_use_id;
    const send = (body) => server.post(`/v1/threads/${s.thread}/results/${call}`, body);
    const claim = (client) => server.post(`/v1/threads/${s.thread}/results/${call}/claim`, { client });
    return { server, s, id, call, thread: s.thread, send, claim };
}
const HERE = { latitude: 35.6, longitude: 139.7 };

test('a result that comes before the yes is kept, and used when the yes comes: no browser is asked again', async (t) => {
    const { server, id, thread, send, call } = await location(t);
    same((await send({ result: HERE })).json, { accepted: true, duplicate: false });
    same((await server.get(`/v1/threads/${thread}`)).json.state, 'waiting');
    const l = await Live.open(t, server, { thread });
    await decide(server, id, true);
    const turn = await l.turn();
    const announced = turn.chunks.find((c) => c.type === 'tool-input-available');
    same([announced.toolCallId, announced.providerExecuted], [call, true], 'announced as done');
    same(turn.chunks.find((c) => c.type === 'tool-output-available').output, HERE);
    check(turn.words_.includes('35.6'), 'the words');
    same(turn.finished, 'stop');
});

test('a result that comes before a no is dropped', async (t) => {
    const { server, id, thread, send } = await location(t);
    await send({ result: HERE });
    await decide(server, id, false);
    const shown = await settled(server, thread);
    const part = shown.messages.at(-1).parts.find((p) => p.type === 'tool-get_location');
    same([part.state, part.output], ['output-denied', undefined]);
    check(!JSON.stringify(shown.messages).includes('latitude'), 'nowhere in the conversation');      // a number might be a time
    same((await send({ result: HERE })).json.error.code, 'late_result');
});

test('a call takes one result: the same again is a duplicate, another comes too late', async (t) => {
    const { server, id, thread, send } = await location(t);
    await decide(server, id, true);
    same((await send({ result: HERE })).json.duplicate, false);
    same((await send({ result: { longitude: 139.7, latitude: 35.6 } })).json, { accepted: true, duplicate: true }, 'however it is spelled');
    same((await send({ result: { latitude: 0 } })).json.error.code, 'late_result');
    same((await send({ error: 'no' })).json.error.code, 'late_result');
    await settled(server, thread);
    same((await send({ result: HERE })).json.duplicate, true, 'later too');
});

test('a browser that fails gives an error result, and the model speaks', async (t) => {
    const { server, id, thread, send } = await location(t);
    await decide(server, id, true);
    same((await send({ error: 'permission refused' })).status, 200);
    same((await send({ error: 'permission refused' })).json.duplicate, true);
    const shown = await settled(server, thread);
    const part = shown.messages.at(-1).parts.find((p) => p.type === 'tool-get_location');
    same([part.state, part.errorText, shown.state], ['output-error', 'permission refused', 'idle']);
});

test('a browser that never answers: after 60 s an error result, and what comes later is late', async (t) => {
    const { server, id, thread, send } = await location(t, timed(t));
    await decide(server, id, true);
    later(server, 59000);
    same((await server.get(`/v1/threads/${thread}`)).json.state, 'waiting');
    later(server, 2000);
    const late = await send({ result: HERE });
    same([late.status, late.json.error.code], [409, 'late_result']);
    const part = (await settled(server, thread)).messages.at(-1).parts.find((p) => p.type === 'tool-get_location');
    same([part.state, part.errorText], ['output-error', 'No browser answered in time.']);
});

test('one tab executes: a claim holds 60 s or until its socket leaves', async (t) => {
    const { server, id, thread, send, claim, call } = await location(t, timed(t));
    same((await claim('tab-1')).status, 409, 'nothing is offered before the yes');
    await decide(server, id, true);
    same((await claim('tab-1')).status, 200);
    same((await claim('tab-1')).status, 200, 'the same tab again');
    const other = await claim('tab-2');
    same([other.status, other.json.error.code], [409, 'claimed']);
    later(server, 30000);
    same((await claim('tab-2')).status, 409, 'still held');
    const l = await Live.open(t, server, { thread });
    same(l.hello.offered.map((o) => [o.tool_use_id, o.tool]), [[call, 'get_location']]);
    l.send('claim', { toolCallId: call, client: 'tab-3' });
    same((await l.control('error')).code, 'claimed');
    same((await send({ result: HERE })).json.accepted, true, 'a result without a claim is taken');
});

test('a claim made on a socket is free again when the socket leaves', async (t) => {
    const { server, id, thread, claim, call } = await location(t);
    await decide(server, id, true);
    const l = await Live.open(t, server, { thread });
    l.send('claim', { toolCallId: call, client: 'tab-1' });
    same((await l.control('ack')).status, 'claimed');
    same((await claim('tab-2')).status, 409);
    l.drop();
    await until(async () => (await claim('tab-2')).status === 200, 'the claim to be free');
});

test('result and approval in one request are both taken', async (t) => {
    const server = await t.serve();
    const c = new Chat(t, server, '/stream');
    await c.say('Where am I?');
    const q = c.asked[0];
    c.mark(q.id, true);
    c.last.parts.push({ type: 'tool-get_location', toolCallId: q.call, state: 'output-available', input: {}, output: HERE });
    await c.send({ messageId: c.last.id });
    same(c.streams.at(-1).finished, 'stop');
    check(c.streams.at(-1).words_.includes('35.6'), 'the words');
    same(await status(server, q.id), 'done');
});

// --- the tool is gone ------------------------------------------------------------------------------------------------------

for (const [what, config] of [['removed', { actions: {}, demo: { tools: false } }],
    ['changed', { actions: {}, demo: { tools: false }, tools: { process_payment: { client: true, description: 'other', confirm: 'always' } } }]])
    test(`a yes to a tool that was ${what} since is refused, the gate is cancelled, the model is told`, async (t) => {
        const server = await t.serve();
        const s = await server.turn(PAY), id = s.payload.awaiting[0];
        await server.term();
        const next = await t.serve({ dir: server.dir, config });
        const r = await decide(next, id, true);
        same([r.status, r.json.error.code], [410, 'tool_gone']);
        const shown = await settled(next, s.thread);
        same(await status(next, id), 'cancelled');
        same(shown.messages.at(-1).parts.find((p) => p.type === 'tool-process_payment').state, 'output-error');
        check(shown.messages.at(-1).parts.at(-1).type !== 'tool-process_payment', 'the model spoke');
        same(next.ledger(), []);
        same((await decide(next, id, true)).json.error.code, 'superseded', 'again');
    });

// --- policy -----------------------------------------------------------------------------------------------------------------

const pay = (confirm, more = {}) => ({ config: { actions: {}, demo: { tools: false }, tools: { process_payment: {
    exec: { command: ['/bin/sh', '-c', 'read x; echo "{\\"result\\":{\\"ok\\":true}}"'] }, confirm, ...more } } } });

test('confirm when: the condition on the arguments decides who is asked', async (t) => {
    const server = await t.serve(pay({ when: { pointer: '/amount', op: '>', value: 100 } }));
    const small = await server.turn('Send 50 dollars to Hanako');
    same([small.of('tool_confirmation').length, small.of('tool_complete').length], [0, 1], 'fifty is free');
    const large = await server.turn('Send 500 dollars to Hanako');
    same([large.of('tool_confirmation').length, large.of('tool_complete').length], [1, 0], 'five hundred is asked');
});

test('confirm when: a list means any of them', async (t) => {
    const server = await t.serve(pay({ when: [{ pointer: '/amount', op: '>', value: 100 }, { pointer: '/recipient', op: '==', value: 'Mallory' }] }));
    same((await server.turn('Send 50 dollars to Mallory')).of('tool_confirmation').length, 1);
    same((await server.turn('Send 50 dollars to Hanako')).of('tool_confirmation').length, 0);
});

test('ask, risk and expires come from the configuration, and are what every door shows', async (t) => {
    const server = await t.serve(pay('always', { ask: 'Really {amount} {currency} for {recipient}?', risk: 'high', expires: 60 }));
    const before = Date.now(), s = await server.turn(PAY), after = Date.now();
    const q = s.of('tool_confirmation')[0];
    same([q.ask, q.risk], ['Really 50 USD for Hanako?', 'high']);
    const asked = Date.parse(q.expires_at) - 60000;
    check(asked >= before - 1000 && asked <= after + 1000, `a minute: ${q.expires_at}`);
    const row = (await server.get(`/v1/approvals/${q.confirmation_id}`)).json;
    same([row.ask, row.risk, row.expires_at], [q.ask, q.risk, q.expires_at]);
    const part = (await server.get(`/v1/threads/${s.thread}?approval=adk`)).json.messages.at(-1).parts.at(-1);
    same([part.input.toolConfirmation.hint, part.input.risk, part.input.expiresAt], [q.ask, 'high', q.expires_at]);
    same(part.input.argsSha256.length, 64);
});

// --- the record ------------------------------------------------------------------------------------------------------------

test('who, when and by which door is kept with every decision', async (t) => {
    const server = await t.serve();
    const via = {};
    const record = async (name, run) => {
        const d = await DOORS[DOORS[name] ? name : 'typed'](t, server);
        const q = await ask(d, 'process_payment');
        await run(d, q);
        await settled(server, d.thread);
        const a = (await server.get(`/v1/approvals/${q.id}`)).json;
        same([a.status, a.decided_by], ['done', 'local'], name);
        check(Date.parse(a.decided_at) >= Date.parse(a.requested_at), 'times');
        via[name] = a.decided_via;
    };
    for (const name of Object.keys(DOORS)) await record(name, (d, q) => d.answer(q.id, true));
    await record('rest', (d, q) => decide(server, q.id, true));
    await record('page', (d, q) => server.post(`/v1/approvals/${q.id}`, { confirmed: true }, { origin: server.url }));
    await record('action', (d, q) => server.post(`/v1/threads/${d.thread}/actions`, { action: 'approve', data: { confirmation_id: q.id } }));
    await record('toolcalls', async (d, q) => (await server.open('POST', '/functions/v1/chat', { action: { action: 'approve', data: { confirmation_id: q.id } } })).read());
    same(via, { '/api/chat': 'chat', '/stream': 'chat', '/live': 'live', typed: 'typed', '/ag-ui': 'ag-ui', '/run_sse': 'adk', '/v1/responses': 'responses', '/v1/chat/completions': 'words', rest: 'rest', page: 'page', action: 'action', toolcalls: 'toolcalls' });
});

test('an answer by REST moves the run at once with nobody connected', async (t) => {
    const server = await t.serve();
    const c = new Chat(t, server);
    await c.say(PAY);
    await decide(server, c.asked[0].id, true);
    await until(() => server.ledger().length === 1, 'the payment');
    same((await settled(server, c.id)).state, 'idle');
});
