// The doors of OpenAI's shape when something is odd: a model that fails, a number inside a character, a
// response that was never kept, an address or a method that is none.
import { createHmac } from 'node:crypto';
import { Ws } from '../lib/ws.mjs';
import { check, raw, same, test } from './lib.mjs';
import { Chat, asksOf, respond, stream, textOf } from './openai.mjs';
import { as, auth, script, sha256 } from './org.mjs';

const chunks = (s) => s.events.filter((e) => e.raw !== '[DONE]').map((e) => e.data);

// --- a model that fails ------------------------------------------------------------------------------

const FAILURES = [
    [{ refuses: 400 }, { code: 'model_refused', message: "The model's service did not accept the request. Something in this turn is not to its liking, and it does not say what; writing again will help: what this turn brought is then told more plainly." }],
    [{ breaks: 'Half of ' }, { code: 'model_cut', message: 'The connection to the model broke in the middle of its answer. Trying again may help.' }],
];

test('a model that fails is told in each form of each door, in plain words and nothing of the log', async (t) => {
    for (const [step, want] of FAILURES) {
        const { model } = await script(t, step, step, step, step), server = await t.serve({ config: { model } });
        const messages = [{ role: 'user', content: 'Hello' }];
        const whole = await server.post('/v1/chat/completions', { messages });
        same([whole.status, whole.json, whole.headers['x-should-retry']],
            [502, { error: { message: want.message, type: 'server_error', param: null, code: want.code } }, 'false']);
        const told = await (await server.open('POST', '/v1/chat/completions', { messages: [{ role: 'user', content: 'Hi' }], stream: true })).read();
        same(chunks(told).at(-1), { error: { message: want.message, type: 'server_error', param: null, code: want.code } });
        check(chunks(told).slice(0, -1).every((c) => c.choices[0].finish_reason === null), 'no reason to end');
        const error = { type: 'server_error', code: want.code, message: want.message, param: null };
        const r = await respond(server, { input: 'Hello there' });
        same([r.status, r.error], ['failed', error]);
        const { s, response } = await stream(server, { input: 'Hi there' });
        same([chunks(s).at(-1).type, response.status, response.error], ['response.failed', 'failed', error]);
        same(response.output.map((x) => x.status), step.breaks ? ['incomplete'] : [], 'what was open');
    }
});

// --- what is not there -----------------------------------------------------------------------------------

test('what was not stored cannot be continued by its name; by its items it can', async (t) => {
    const server = await t.serve();
    const gone = await respond(server, { input: 'Hello', store: false });
    const r = await server.post('/v1/responses', { input: 'Thanks', previous_response_id: gone.id });
    same([r.status, r.json.error.code, r.json.error.param], [400, 'previous_response_not_found', 'previous_response_id']);
    same((await server.get(`/v1/responses/${gone.id}`)).status, 404);
    const on = await respond(server, { input: [{ role: 'user', content: 'Hello' }, gone.output[0], { role: 'user', content: 'Thanks' }] });
    same(on.conversation.id, gone.conversation.id);
});

test('a response is taken up again after any number, but not inside a character', async (t) => {
    const { model } = await script(t, { deltas: [{ reasoning_content: '考え中。' }, { content: '花子さん、' }, { content: 'hello 🙂!' }], finish: 'stop' });
    const server = await t.serve({ config: { model } });
    const { s, response } = await stream(server, { input: 'Hello', reasoning: { summary: 'auto' } });
    const last = chunks(s).at(-1).sequence_number, counts = {};
    for (let n = 0; n <= last; n++) {
        const r = await server.open('GET', `/v1/responses/${response.id}?stream=true&starting_after=${n}`);
        counts[r.status] = (counts[r.status] ?? 0) + 1;
        await r.read();
        if (r.status === 400) same([r.json.error.code, r.json.error.param], ['invalid_value', 'starting_after'], `${n}`);
        else check(r.status === 200 && !r.text.includes('\ufffd') && r.events.at(-1).raw === '[DONE]', `${n}: ${r.status} ${r.text}`);
    }
    const inside = [...'考え中。花子さん、hello 🙂!'].reduce((sum, c) => sum + Buffer.byteLength(c) - 1, 0);
    same(counts[400], inside, JSON.stringify(counts));
});

test('each answer has a name, and each refusal four members, also where no handler is reached', async (t) => {
    const server = await t.serve({ config: { limits: { body: 4096 }, auth: auth({ ada: ['user'] }) } });
    const long = { input: 'x'.repeat(5000) }, ada = as('ada');
    const cases = [
        ['POST', '/v1/responses/compact', {}, ada, 404, 'unknown_url'], ['POST', '/v1/embeddings', {}, ada, 404, 'unknown_url'],
        ['GET', '/v1/responses', undefined, ada, 405, 'method_not_allowed'], ['PUT', '/v1/chat/completions', {}, ada, 405, 'method_not_allowed'],
        ['DELETE', '/v1/models/parley', undefined, ada, 405, 'method_not_allowed'], ['PUT', '/v1/conversations', {}, ada, 405, 'method_not_allowed'],
        ['POST', '/v1/responses', long, ada, 413, 'body_too_large'], ['POST', '/v1/conversations', long, ada, 413, 'body_too_large'],
        ['POST', '/v1/responses', {}, {}, 401, 'invalid_api_key'], ['GET', '/v1/models', undefined, {}, 401, 'invalid_api_key'],
        ['POST', '/v1/responses', {}, { ...ada, origin: 'https://evil.example' }, 403, 'foreign_origin'],
        ['GET', '/v1/responses/resp_x', undefined, ada, 404, 'response_not_found'], ['GET', '/v1/conversations/t_x', undefined, ada, 404, 'conversation_not_found'],
        ['GET', '/v1/models/x', undefined, ada, 404, 'model_not_found'],
    ];
    const named = (r) => check(/^req_[\w-]{22}$/.test(r.headers['x-request-id']), JSON.stringify(r.headers));
    for (const [method, at, body, headers, status, code] of cases) {
        const r = await server.request(method, at, body, headers);
        same([r.status, r.json?.error?.code, Object.keys(r.json?.error ?? {})], [status, code, ['message', 'type', 'param', 'code']], `${method} ${at}`);
        named(r);
    }
    named(await server.get('/v1/models', ada));
    const made = await server.post('/v1/conversations', {}, ada);
    named(made);
    same([made.headers['parley-thread'], (await server.get(`/v1/conversations/${made.json.id}`, ada)).headers['parley-thread']], [made.json.id, made.json.id]);
    const told = await server.post('/v1/responses', { input: 'Hello' }, ada), again = await server.get(`/v1/responses/${told.json.id}`, ada);
    for (const h of ['parley-thread', 'parley-run']) check(told.headers[h] && again.headers[h] === told.headers[h], h);
    same((await server.request('PUT', '/v1/threads', {}, ada)).json, { error: { code: 'method_not_allowed', message: 'This address does not take that method.' } });
});

test('what is refused before its head was read to the end has all four members, too', async (t) => {
    const server = await t.serve(), line = (at) => `POST ${at} HTTP/1.1\r\n`, host = 'Host: localhost\r\n', long = `X-Long: ${'x'.repeat(20000)}\r\n`;
    const refused = async (text) => {
        const got = await raw(server, text), [head, body] = got.split('\r\n\r\n');
        return [Number(got.split(' ')[1]), JSON.parse(body).error, /^x-request-id: req_/mi.test(head)];
    };
    for (const at of ['/v1/chat/completions', '/v1/responses', '/v1/responses?a=b'])
        for (const [text, status, code] of [[line(at) + host + long, 431, 'head_too_large'], [line(at) + host + 'X: y\r\n'.repeat(120), 431, 'too_many_headers'],
            [line(at) + '\r\n', 400, 'bad_host'], [`${line(at)}${host}no colon\r\n\r\n`, 400, 'bad_header'], [`${line(at)}${host}X: \x01\r\n\r\n`, 400, 'control_character'],
            [line(`${at}${at.includes('?') ? '' : '?'}${'q'.repeat(9000)}`) + host + '\r\n', 414, 'uri_too_long'], [line(at).replace('/1.1', '/2.5') + '\r\n', 505, 'unsupported_version']]) {
            const [got, error, named] = await refused(text);
            same([got, Object.keys(error), error.code, error.param, error.type, named], [status, ['message', 'type', 'param', 'code'], code, null, status === 505 ? 'server_error' : 'invalid_request_error', true], `${code} ${at}`);
        }
    for (const at of ['/v1/responses/a%2Fb', '/v1/responses/%2E%2E', '/v1/conversations/a%2Fb', '/v1/chat/completions/..', '/v1/chat/completions/%00', '/v1/chat/completions/\xff', '/v1/chat/completions/a%2Fb'])
        for (const method of ['GET', 'POST']) {
            const [got, error, named] = await refused(`${method} ${at} HTTP/1.1\r\n${host}\r\n`);
            same([got, Object.keys(error), error.code, named], [400, ['message', 'type', 'param', 'code'], 'bad_target', true], `${method} ${at}`);
        }
    for (const at of ['/v1/threads', '/v1/chatter', '/v1/responsesx/..']) same(Object.keys((await refused(line(at) + host + long))[1]), ['code', 'message'], 'elsewhere as ever');
});

test('what the server itself refuses has the form of its door', async (t) => {
    const server = await t.serve(), host = 'Host: localhost\r\n', long = `X-Long: ${'x'.repeat(20000)}\r\n`;
    for (const [head, status, code] of [['PUT AT HTTP/1.1\r\n' + host + '\r\n', 405, 'method_not_allowed'], ['POST AT HTTP/1.1\r\n' + host + long, 431, 'head_too_large'],
        ['POST AT HTTP/1.1\r\n' + host + 'Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n', 400, 'bad_framing'], ['POST AT HTTP/1.1\r\n' + host + 'Transfer-Encoding: chunked\r\n\r\nzz\r\n', 400, 'bad_chunk'],
        ['POST AT HTTP/1.1\r\n' + host + 'Transfer-Encoding: gzip\r\n\r\n', 501, 'unsupported_encoding'], ['POST AT HTTP/1.1\r\n' + host + 'Content-Length: 1\r\nExpect: tea\r\n\r\n', 417, 'expectation_failed']]) {
        const refused = async (at) => {
            const [lines, body] = (await raw(server, head.replace('AT', at))).split('\r\n\r\n');
            return { got: Number(lines.split(' ')[1]), lines, body };
        };
        for (const at of ['/api/chat', '/stream']) {
            const { got, lines, body } = await refused(at);
            same([got, /^parley-error: (.*)$/mi.exec(lines)?.[1], /^content-type: text\/plain/mi.test(lines), /^[A-Z][^{]*\.$/.test(body)], [status, code, true, true], `${at} ${code}: ${body}`);
        }
        const { got, body } = await refused('/mcp'), { jsonrpc, id, error } = JSON.parse(body);
        same([got, jsonrpc, id, error.code, error.data, typeof error.message], [status, '2.0', null, status < 500 ? -32600 : -32603, { code }, 'string'], code);
    }
});

// --- functions, and which tools there are -------------------------------------------------------------------

const FUNCTION = (name) => ({ type: 'function', name, parameters: { type: 'object', properties: { place: { type: 'string' } }, required: ['place'] } });
const PAYMENT = ['process_payment', { recipient: 'Hanako', amount: 5, currency: 'USD' }];
const ALL = [['find_shop', { place: 'A' }], ['get_weather', { city: 'B' }], PAYMENT];
const output = (call, text) => ({ type: 'function_call_output', call_id: call.call_id, output: text });
const functions = (r) => r.output.filter((x) => x.type === 'function_call');
const shape = (r) => r.output.map((x) => [x.type, x.name, x.status]);
const refused = (r) => [r.status, r.json.error?.code, r.json.error?.param ?? null, r.headers['x-should-retry']];

async function scripted(t, steps, config) {
    const m = await script(t, ...steps);
    return { m, server: await t.serve({ config: { model: m.model, demo: { tools: true }, ...config } }) };
}

test('of several functions each is answered; one alone is not enough, and what was said stays said', async (t) => {
    const { server } = await scripted(t, [[['find_shop', { place: 'A' }], ['find_bank', { place: 'B' }]]]);
    const asked = await respond(server, { input: 'Both', tools: [FUNCTION('find_shop'), FUNCTION('find_bank')] });
    const [a, b] = functions(asked), send = (...input) => server.post('/v1/responses', { input });
    same(refused(await send(output(a, '1'))), [400, 'missing_tool_output', 'input', undefined]);
    same((await send(output(a, '1'), output(b, '2'))).json.status, 'completed');
    same(refused(await send(output(a, 'other'))), [409, 'late_result', 'input[0].call_id', 'false']);
});

test('a step of a function, a free tool and a guarded one: the free one runs, the others end the response together', async (t) => {
    const { server } = await scripted(t, [ALL]);
    const asked = await respond(server, { input: 'All', tools: [FUNCTION('find_shop')] });
    same(shape(asked).filter(([type]) => type !== 'message').sort(), [['function_call', 'find_shop', 'completed'], ['mcp_approval_request', 'process_payment', undefined],
        ['mcp_call', 'get_weather', 'completed']]);
    const id = asksOf(asked)[0].id, answer = (approve) => ({ type: 'mcp_approval_response', approval_request_id: id, approve });
    const done = await respond(server, { input: [output(functions(asked)[0], '1'), answer(true)] });
    same([shape(done)[0], textOf(done), server.ledger().length], [['mcp_call', 'process_payment', 'completed'], 'As you see.', 1]);
    same(refused(await server.post('/v1/responses', { input: [answer(false)] })), [409, 'already_decided', 'input[0].approval_request_id', 'false']);
});

test('tool_choice and allowed tools hold also for a model that calls what it was not offered', async (t) => {
    const { m, server } = await scripted(t, [ALL, 'Well.', ALL, 'Well.', ALL, 'Well.', 'Well.']);
    const offered = (body) => body.tools.map((x) => x.function.name).filter((n) => !/^(suggest_|present)/.test(n));
    const only = (type, name) => ({ type: 'allowed_tools', mode: 'auto', tools: [{ type, name }] });
    const cases = [
        [{ tool_choice: 'none', tools: [FUNCTION('find_shop')] }, undefined, []],
        [{ tool_choice: only('function', 'find_shop'), tools: [FUNCTION('find_shop')] }, ['find_shop'], ['find_shop']],
        [{ tools: [{ type: 'mcp', server_label: 'parley', allowed_tools: ['get_weather'] }] }, ['get_weather'], ['get_weather']],
    ];
    for (const [i, [more, names, ran]] of cases.entries()) {
        const before = m.heard.length, r = await respond(server, { input: `Case ${i}`, ...more });
        if (names) same(offered(m.heard[before]), names, JSON.stringify(more));
        else same(m.heard[before].tool_choice, 'none', 'it sees them, and is told to call none');
        same(r.output.filter((x) => x.status === 'completed' && x.name).map((x) => x.name), ran, JSON.stringify(r.output));
        same([asksOf(r), server.ledger()], [[], []]);
        m.steps.splice(0, m.steps.length, ALL, 'Well.');
    }
    m.steps.splice(0);
    await respond(server, { input: 'Now', tools: [FUNCTION('find_shop')], tool_choice: 'required' });
    same(m.heard.at(-1).tool_choice, 'required');
    check(['find_shop', 'process_payment'].every((n) => offered(m.heard.at(-1)).includes(n)), offered(m.heard.at(-1)).join());
});

test('functions of clients can be switched off', async (t) => {
    const server = await t.serve({ config: { openai: { functions: false } } });
    same(refused(await server.post('/v1/responses', { input: 'x', tools: [FUNCTION('find_shop')] })), [400, 'unsupported_parameter', 'tools', undefined]);
    same((await respond(server, { input: 'Hello' })).status, 'completed');
});

// --- how an answer ends ------------------------------------------------------------------------------------

test('an answer that was cut or filtered says so, whole, streamed and in a chat', async (t) => {
    for (const [finish, reason] of [['length', 'max_output_tokens'], ['content_filter', 'content_filter']]) {
        const step = { deltas: [{ content: 'Some of' }], finish }, { m, server } = await scripted(t, [step, step, step]);
        const r = await respond(server, { input: 'One', max_output_tokens: 20 });
        same([r.status, r.incomplete_details, r.max_output_tokens, textOf(r)], ['incomplete', { reason }, 20, 'Some of']);
        same(m.heard[0].max_tokens ?? m.heard[0].max_completion_tokens, 20, 'the model is told');
        const { s, response } = await stream(server, { input: 'Two' });
        same([chunks(s).at(-1).type, response.incomplete_details], ['response.incomplete', { reason }]);
        const chat = new Chat(server);
        await chat.say('Three');
        same(chat.last.finish_reason, finish);
    }
});

test('reasoning is told to who asks for it, and to nobody else', async (t) => {
    const step = { deltas: [{ reasoning_content: 'Hm, ' }, { reasoning_content: 'well.' }, { content: 'Yes.' }], finish: 'stop' };
    const { server } = await scripted(t, [step, step]);
    const { s, response } = await stream(server, { input: 'One', reasoning: { summary: 'auto' } });
    same(response.output.map((x) => [x.type, x.summary?.map((p) => p.text).join('') ?? x.content[0].text]), [['reasoning', 'Hm, well.'], ['message', 'Yes.']]);
    const kinds = chunks(s).map((c) => c.type).filter((x) => x.includes('reasoning'));
    same([...new Set(kinds)], ['part.added', 'text.delta', 'text.done', 'part.done'].map((x) => `response.reasoning_summary_${x}`));
    same((await respond(server, { input: 'Two' })).output.map((x) => x.type), ['message']);
});

test('a question that holds its conversation refuses a new message, and no client repeats it', async (t) => {
    const server = await t.serve({ config: { approvals: { on_new_message: 'hold' } } });
    const asked = await respond(server, { input: 'Send 50 dollars to Hanako' });
    const r = await server.post('/v1/responses', { input: 'Something else entirely, please', previous_response_id: asked.id });
    same(refused(r), [409, 'approval_pending', null, 'false']);
    same((await server.get('/v1/approvals?status=pending')).json.approvals.length, 1);
});

// --- for whom a chat program asks ----------------------------------------------------------------------------

const SECRET = 'a secret of the chat program, 0123456789';
const base64 = (v) => Buffer.from(typeof v === 'string' ? v : JSON.stringify(v)).toString('base64url');
function token(claims, { secret = SECRET, alg = 'HS256' } = {}) {
    const text = `${base64({ alg, typ: 'JWT' })}.${base64(claims)}`;
    return `${text}.${alg === 'none' ? '' : createHmac('sha256', secret).update(text).digest('base64url')}`;
}

test('a chat program that signs whom it asks for is believed by its signature alone', async (t) => {
    const keys = [{ sha256: sha256('w'), principal: 'webui', user_header: 'X-User', user_secret: 'env:CHAT_SECRET' }, { sha256: sha256('p'), principal: 'plain', user_header: 'X-User' }];
    const server = await t.serve({ config: { auth: { keys } }, env: { CHAT_SECRET: SECRET } });
    const soon = Math.floor(Date.now() / 1000) + 600, said = (user, bearer = 'w') => ({ authorization: `Bearer ${bearer}`, 'x-user': user });
    const status = async (...who) => (await server.get('/v1/models', said(...who))).status;
    for (const iss of [undefined, 'open-webui']) same(await status(token({ sub: 'u1', exp: soon, iss })), 200);
    const wrong = { 'a plain name': 'u1', 'another secret': token({ sub: 'u1', exp: soon }, { secret: `${SECRET}!` }), 'no signature': token({ sub: 'u1', exp: soon }, { alg: 'none' }),
        'no end': token({ sub: 'u1' }), 'over': token({ sub: 'u1', exp: soon - 1200 }), 'nobody': token({ exp: soon }), 'a path': token({ sub: 'a/b', exp: soon }), 'nothing': '' };
    for (const [why, value] of Object.entries(wrong)) same(await status(value), 401, why);
    const made = await respond(server, { input: 'Hello' }, said(token({ sub: 'u1', exp: soon })));
    const seen = async (user) => (await server.get(`/v1/responses/${made.id}`, said(user))).status;
    same([await seen(token({ sub: 'u1', exp: soon + 60 })), await seen(token({ sub: 'u2', exp: soon }))], [200, 404], 'a renewed token is the same person');
    same([await status('u1', 'p'), await status(token({ sub: 'u1', exp: soon }), 'p')], [200, 401], 'a token is no name');
    check(!server.err.includes(SECRET), 'the secret is not logged');
});

test('nobody is a chat program by itself, and whom it asks for is so for as long as its token', async (t) => {
    const keys = [{ sha256: sha256('w'), principal: 'webui', user_header: 'X-User', user_secret: 'env:CHAT_SECRET' }, { sha256: sha256('p'), principal: 'plain', user_header: 'X-User' }];
    const server = await t.serve({ config: { auth: { keys } }, env: { CHAT_SECRET: SECRET } });
    for (const key of ['w', 'p']) {
        const ws = await Ws.open(t, server, '/live', { headers: { 'X-User': 'kim' } });
        ws.send(JSON.stringify({ type: 'auth', token: key }));
        await ws.ended();
        same([ws.code, ws.texts], [4401, []], 'a first message names no person');
        const session = await server.post('/v1/session', { token: key }, { 'x-user': 'kim' });
        same([session.status, session.headers['set-cookie']], [401, undefined]);
    }
    const both = await server.get('/v1/models', { authorization: 'Bearer p', 'x-user': ['ceo', 'mallory'] });
    same(both.status, 401, 'two names are none');
    const exp = Math.floor(Date.now() / 1000) + 600, who = { authorization: 'Bearer w', 'x-user': token({ sub: 'u1', exp }) };
    same(Date.parse((await server.get('/v1/session', who)).json.until), exp * 1000);
});

test('an answer that says yes and no decides nothing', async (t) => {
    const server = await t.serve({});
    const [q] = asksOf(await respond(server, { input: 'Send 50 dollars to Hanako' }));
    const item = (more) => ({ type: 'mcp_approval_response', approval_request_id: q.id, approve: true, ...more });
    for (const more of [{ approved: false }, { confirmed: false }, { response: '{"confirmed":false}' }])
        same((await server.post('/v1/responses', { input: [item(more)] })).status, 422, JSON.stringify(more));
    for (const body of [{ confirmed: true, response: '{"confirmed":false}' }, { confirmed: true, approve: false }])
        same((await server.post(`/v1/approvals/${q.id}`, body)).status, 422, JSON.stringify(body));
    same([(await server.get(`/v1/approvals/${q.id}`)).json.status, server.ledger().length], ['pending', 0]);
});
