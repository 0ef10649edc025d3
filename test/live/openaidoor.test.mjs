// The doors of OpenAI's shape when something is odd: a model that fails, a number inside a character, a
// response that was never kept, an address or a method that is none.
import { check, same, test } from './lib.mjs';
import { respond, stream, textOf } from './openai.mjs';
import { as, auth, script } from './org.mjs';

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
