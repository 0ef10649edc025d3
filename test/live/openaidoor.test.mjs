// The doors of OpenAI's shape when something is odd: a model that fails, a number inside a character, a
// response that was never kept, an address or a method that is none.
import { check, same, test } from './lib.mjs';
import { respond, stream, textOf } from './openai.mjs';
import { script } from './org.mjs';

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
