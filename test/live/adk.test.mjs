// The addresses of ADK's API server: what its front ends see beyond the matrix of doors.
import { check, same, settled, test, until } from './lib.mjs';

const body = (session, parts, more) => ({ appName: 'default', userId: 'user', sessionId: session, newMessage: { role: 'user', parts }, ...more });
const say = async (server, session, text, more, headers) => { const s = await server.open('POST', '/run_sse', body(session, [{ text }], more), headers); await s.read(); return s; };
const confirm = (id, response) => [{ functionResponse: { id, name: 'adk_request_confirmation', response } }];
const texts = (events) => events.flatMap((e) => e.content?.parts ?? []).map((p) => p.text ?? '').join('');
const gate = (events) => events.find((e) => Object.keys(e.actions?.requestedToolConfirmations ?? {}).length);
const PAY = 'Send 50 dollars to Hanako';
// What a reader without a clock and without our ids sees.
const plain = (events) => JSON.parse(JSON.stringify(events).replace(/(call-|run_)[\w-]{22}/g, '$1').replace(/"(timestamp|at)":("[^"]*"|[\d.]+)/g, '"$1":0'));

test('partial words are the beginning of the whole ones, and come only when they are wanted', async (t) => {
    const server = await t.serve({ config: { demo: { token_ms: 1 } } });
    const s = await say(server, 's1', 'Say 50 words', { streaming: true });
    const all = s.events.map((e) => e.data), partial = all.filter((e) => e.partial), whole = all.filter((e) => !e.partial);
    check(partial.length > 1, 'several pieces');
    same(texts(partial), texts(whole));
    check(new Set(all.map((e) => e.id)).size === all.length, 'every event has an id of its own');
    const quiet = await say(server, 's2', 'Say 50 words');
    same(quiet.events.map((e) => e.data.partial), [undefined]);
});

test('/run tells the same events as /run_sse, as one list', async (t) => {
    const server = await t.serve();
    for (const text of ['hello', 'What is the weather in Tokyo?', PAY]) {
        const a = (await say(server, `a${text.length}`, text)).events.map((e) => e.data);
        const b = (await server.post('/run', body(`b${text.length}`, [{ text }]))).json;
        const ids = (list) => plain(list).map((e) => ({ ...e, actions: undefined, content: e.content }));
        same(JSON.stringify(ids(b)).replace(/2026[^"]*|[0-9a-f]{64}/g, ''), JSON.stringify(ids(a)).replace(/2026[^"]*|[0-9a-f]{64}/g, ''));
    }
});

test('the same request twice is one run, also over a restart', async (t) => {
    const server = await t.serve();
    const once = await say(server, 's', 'What is the weather in Tokyo?', { request_id: 'r-1' });
    const again = async (door) => { const r = await server.post(door, body('s', [{ text: 'something else' }], { request_id: 'r-1' })); return [r.status, r.headers['parley-run']]; };
    same(await again('/run_sse'), [200, once.headers['parley-run']]);
    await server.restart('SIGKILL');
    same(await again('/run'), [200, once.headers['parley-run']]);
    same((await server.get('/v1/threads/s')).json.messages.filter((m) => m.role === 'user').length, 1);
});

test('sessions are made, listed, shown and removed, and a question is still one after a restart', async (t) => {
    const server = await t.serve();
    same((await server.get('/list-apps')).json, ['default']);
    const made = (await server.post('/apps/default/users/u/sessions', {})).json;
    check(/^t_/.test(made.id) && made.events.length === 0, 'made');
    same((await server.post('/apps/default/users/u/sessions/mine', { state: { a: 1 } })).json.state, {});
    same((await server.post('/apps/default/users/u/sessions/mine', {})).status, 409);
    await say(server, 'mine', PAY);
    same((await server.get('/apps/default/users/u/sessions')).json.map((s) => s.id).sort(), ['mine', made.id].sort());
    await server.restart('SIGKILL');
    const events = (await server.get('/apps/default/users/u/sessions/mine')).json.events;
    same(events.map((e) => e.author), ['user', 'parley', 'parley']);
    const id = gate(events).longRunningToolIds[0];
    const r = await server.post('/run', body('mine', confirm(id, { confirmed: true })));
    same([r.status, server.ledger().length], [200, 1]);
    check(texts(r.json).includes('Hanako'), 'the words');
    const again = await server.post('/run', body('mine', confirm(id, { confirmed: true })));
    same([again.status, server.ledger().length], [200, 1], 'the same answer again');
    check(texts(again.json).includes('Hanako'), 'and the same words');
    same((await server.request('DELETE', '/apps/default/users/u/sessions/mine')).status, 200);
    same((await server.get('/apps/default/users/u/sessions/mine')).status, 404);
});

test('a page may have any name: what is listed is found under it', async (t) => {
    const server = await t.serve({ config: { pages: { 'we/ird': {}, '..': {}, 'plain': {} } } });
    const names = (await server.get('/list-apps')).json;
    same([...names].sort(), ['..', 'default', 'plain', 'we/ird']);
    for (const [i, name] of names.entries()) {
        const app = name === '..' ? '%2E%2E' : encodeURIComponent(name), at = `/apps/${app}/users/u/sessions`;
        same((await server.post(`${at}/s${i}`, {})).json.appName, name);
        same([(await server.get(`${at}/s${i}`)).json.id, (await server.get(at)).status, (await server.request('DELETE', `${at}/s${i}`)).status], [`s${i}`, 200, 200], name);
        const s = await server.open('POST', `/ag-ui/agent/${app}/run`, { threadId: `g${i}`, runId: 'r', state: {}, messages: [{ id: 'm', role: 'user', content: 'Hello' }], tools: [], context: [], forwardedProps: {} });
        await s.read();
        same([s.status, s.events.at(-1).data.type], [200, 'RUN_FINISHED'], name);
        same((await server.post(`/ag-ui/agent/${app}/stop/g${i}`, {})).json.stopped, false, name);
    }
    same((await server.get('/apps/no%2Fpage/users/u/sessions')).status, 404);
});

test('a session tells the conversation as it stands: an edited message and a regenerated answer once', async (t) => {
    const server = await t.serve();
    const users = async () => (await server.get('/apps/default/users/u/sessions/s')).json.events;
    const ui = (id, text, more = {}) => ({ id: 's', messages: [{ id, role: 'user', parts: [{ type: 'text', text }] }], trigger: 'submit-message', ...more });
    await (await server.open('POST', '/api/chat', ui('m1', 'Say 5 words'))).read();
    await (await server.open('POST', '/api/chat', ui('m1', 'Say 7 words', { messageId: 'm1' }))).read();
    const edited = await users();
    same(edited.filter((e) => e.author === 'user').map((e) => texts([e])), ['Say 7 words']);
    same(texts(edited.filter((e) => e.author !== 'user')).split(' ').length, 7, 'the answer that counts');
    await (await server.open('POST', '/api/chat', ui('m1', 'Say 7 words', { trigger: 'regenerate-message' }))).read();
    const again = await users();
    same([again.map((e) => e.author), texts(again)], [['user', 'parley'], texts(edited)], 'one answer');
    check(again[1].id !== edited[1].id, 'the newer one');
});

test('two questions are answered in one message', async (t) => {
    const server = await t.serve();
    const s = await say(server, 's', 'Send 50 dollars to Hanako and 20 dollars to Taro');
    const [a, b] = s.events.map((e) => e.data).filter((e) => Object.keys(e.actions?.requestedToolConfirmations ?? {}).length).map((e) => e.longRunningToolIds[0]);
    const r = await server.post('/run', body('s', [...confirm(b, { confirmed: false }), ...confirm(a, { confirmed: true })]));
    same([r.status, server.ledger().map((l) => l.recipient)], [200, ['Hanako']]);
});

test('only the server asks for confirmations', async (t) => {
    const server = await t.serve(), call = (name) => [{ functionCall: { id: 'x', name, args: {} } }];
    const told = async (parts) => { const r = await server.post('/run', body('s', parts)); return [r.status, r.json.error.code]; };
    same(await told(call('adk_request_confirmation')), [403, 'reserved_name']);
    same(await told([{ function_call: call('adk_request_confirmation')[0].functionCall }]), [403, 'reserved_name']);
    same(await told(call('process_payment')), [422, 'bad_field'], 'and calls are the model\'s');
});

test('stopping is told, and leaving is not stopping', async (t) => {
    const server = await t.serve({ config: { demo: { token_ms: 2 } } });
    const s = await server.open('POST', '/run_sse', body('s', [{ text: 'Say 3000 words' }], { streaming: true }));
    await s.must((e) => e.data.partial);
    same((await server.post('/v1/threads/s/stop')).json.stopped, true);
    await s.read();
    same(s.events.at(-1).data.interrupted, true);
    const left = await server.open('POST', '/run_sse', body('l', [{ text: 'Say 200 words' }], { streaming: true }));
    await left.must((e) => e.data.partial);
    await left.close();
    await settled(server, 'l');
    check(texts((await server.get('/apps/default/users/u/sessions/l')).json.events).endsWith('word200'), 'it went on');
});

test('whose session it is says the sign-in, not the address; and who may say yes, their role', async (t) => {
    const server = await t.serve({ config: {
        auth: { keys: [
            { principal: 'ann', sha256: '6ca13d52ca70c883e0f0bb101e425a89e8624de51db2d2392593af6a84118090', roles: ['user', 'finance'] }, // abc123
            { principal: 'bob', sha256: 'ed4d9437294706c60027d39427f6f5850870625544bb77722aac19f97495b2b7', roles: ['user'] }, // bob456
        ] },
        approvals: { rules: [{ tool: 'process_payment', from: { role: 'finance', count: 1 } }] },
    } });
    const as = (key) => ({ authorization: `Bearer ${key}` });
    const s = await say(server, 's', PAY, {}, as('abc123')), id = gate(s.events.map((e) => e.data)).longRunningToolIds[0];
    same((await server.get('/apps/default/users/ann/sessions/s', as('bob456'))).status, 404, "another person's session does not exist");
    same((await server.post('/run', body('s', confirm(id, { confirmed: true })), as('bob456'))).status, 404);
    const own = await say(server, 's', PAY, {}, as('bob456')), other = gate(own.events.map((e) => e.data)).longRunningToolIds[0];
    const no = await server.post('/run', body('s', confirm(other, { confirmed: true })), as('bob456'));
    same([no.status, no.json.error.code, server.ledger()], [403, 'not_approver', []], 'bob has no role for it');
    same((await server.post('/run', body('s', confirm(id, { confirmed: true })), as('abc123'))).status, 200);
    await until(() => server.ledger().length === 1, 'the payment');
});
