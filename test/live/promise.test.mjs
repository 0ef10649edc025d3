// A hostile model on a real wire, and a hurried client: what may never happen, whatever they say.
import http from 'node:http';
import { once } from 'node:events';
import { check, same, settled, test, until } from './lib.mjs';
import { KEY } from './upstream.mjs';

// A model service that answers the first request with these chunks and every later one with a word.
async function modelOf(t, chunks, words) {
    let asked = 0;
    const service = http.createServer((req, res) => {
        req.resume().on('end', () => {
            res.writeHead(200, { 'content-type': 'text/event-stream' });
            res.end((asked++ ? words : chunks).join(''));
        });
    }).listen(0, '127.0.0.1');
    t.defer(() => service.close());
    await once(service, 'listening');
    return { port: service.address().port, asked: () => asked };
}

const sse = (v, event) => `${event ? `event: ${event}\n` : ''}data: ${JSON.stringify(v)}\n\n`;

// Two calls in one step; the first has these bytes for arguments.
const openai = {
    base: '/v1',
    calls: (one, two) => [
        sse({ choices: [{ delta: { tool_calls: [{ index: 0, id: 'c1', function: { name: one[0], arguments: one[1] } }] } }] }),
        sse({ choices: [{ delta: { tool_calls: [{ index: 1, id: 'c2', function: { name: two[0], arguments: two[1] } }] } }] }),
        sse({ choices: [{ delta: {}, finish_reason: 'tool_calls' }] }), 'data: [DONE]\n\n'],
    words: [sse({ choices: [{ delta: { content: 'As you see.' } }] }), sse({ choices: [{ delta: {}, finish_reason: 'stop' }] }), 'data: [DONE]\n\n'],
};
const block = (i, [name, input]) => [
    sse({ type: 'content_block_start', index: i, content_block: { type: 'tool_use', id: `toolu_${i}`, name, input: {} } }, 'content_block_start'),
    sse({ type: 'content_block_delta', index: i, delta: { type: 'input_json_delta', partial_json: input } }, 'content_block_delta')];
const message = (inside, stop) => [
    sse({ type: 'message_start', message: { id: 'm', role: 'assistant', content: [], usage: { input_tokens: 1, output_tokens: 1 } } }, 'message_start'),
    ...inside, sse({ type: 'message_delta', delta: { stop_reason: stop }, usage: { output_tokens: 2 } }, 'message_delta'),
    sse({ type: 'message_stop' }, 'message_stop')];
const anthropic = {
    base: '',
    calls: (one, two) => message([...block(0, one), ...block(1, two), sse({ type: 'content_block_stop', index: 1 }, 'content_block_stop')], 'tool_use'),
    words: message([sse({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }, 'content_block_start'),
        sse({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'As you see.' } }, 'content_block_delta'),
        sse({ type: 'content_block_stop', index: 0 }, 'content_block_stop')], 'end_turn'),
};

const serveHostile = async (t, wire, provider, one, two, more = {}) => {
    const model = await modelOf(t, wire.calls(one, two), wire.words);
    return t.serve({ ...more, env: { TEST_MODEL_KEY: KEY }, config: { demo: { tools: true },
        model: { provider, model: 'm', api_key: 'env:TEST_MODEL_KEY', base_url: `http://127.0.0.1:${model.port}${wire.base}`, retries: 0 }, ...more.config } });
};

// A guarded tool that would take any arguments; every request it gets is an effect.
async function till(t) {
    const got = [];
    const service = http.createServer((req, res) => {
        let body = '';
        req.on('data', (d) => { body += d; }).on('end', () => { got.push(body); res.writeHead(200, { 'content-type': 'application/json' }).end('{"ok":true}'); });
    }).listen(0, '127.0.0.1');
    t.defer(() => service.close());
    await once(service, 'listening');
    return { got, tools: { pay: { description: 'Pays.', input_schema: { type: 'object' }, confirm: 'always',
        http: { url: `http://127.0.0.1:${service.address().port}/pay`, allow: ['127.0.0.1'] } } } };
}

const PAYMENT = '{"amount":5000,"currency":"USD","recipient":"Mallory"}';
for (const [provider, wire] of Object.entries({ openai, anthropic })) {
    for (const args of ['null', '[]', '5000', `[${PAYMENT}]`, '{"amount":', ''])
        test(`${provider}: a payment with ${args || 'no'} arguments before another call is not made`, async (t) => {
            const { got, tools } = await till(t);
            const server = await serveHostile(t, wire, provider, ['pay', args], ['get_weather', '{"city":"Tokyo"}'], { config: { tools } });
            const s = await server.turn('hello');
            await settled(server, s.thread);
            same(got, [], 'payments');
            same((await server.get('/healthz')).status, 200);
        });

    test(`${provider}: an unknown tool with rubbish for arguments is an error for the model, also after a restart`, async (t) => {
        const server = await serveHostile(t, wire, provider, ['no_such_tool', 'null'], ['process_payment', '{']);
        const s = await server.turn('hello');
        await settled(server, s.thread);
        await server.kill();
        const next = await t.serve({ dir: server.dir });
        same((await next.get(`/v1/threads/${s.thread}`)).status, 200);
        same(next.ledger(), []);
    });
}

// The client sends the same request twice: a proxy's retry, a double click that got through.
test('the same AI SDK request delivered twice is one run, while it runs and after', async (t) => {
    const server = await t.serve({ config: { tools: {}, demo: { tools: true } } });
    const body = { id: 'twice', trigger: 'submit-message', messages: [{ id: 'u1', role: 'user', parts: [{ type: 'text', text: 'What is the weather in Tokyo?' }] }] };
    const [a, b] = await Promise.all([server.post('/api/chat', body), server.post('/api/chat', body)]);
    const c = await server.post('/api/chat', body);
    same([a.status, b.status, c.status], [200, 200, 200]);
    same(new Set([a, b, c].map((r) => r.headers['parley-run'])).size, 1, 'runs');
    const users = (await server.get('/v1/threads/twice')).json.messages.filter((m) => m.role === 'user');
    same(users.length, 1, 'messages of the person');
    same((await server.get('/v1/tools')).json.tools.find((x) => x.name === 'get_weather').runs, 1, 'runs of the tool');
});

test('a message that is refused leaves a conversation on disk as it was, with its question', async (t) => {
    const server = await t.serve();
    const s = await server.turn('Send 50 dollars to Hanako');
    const [id] = s.payload.awaiting;
    await server.kill();
    const next = await t.serve({ dir: server.dir });
    same((await next.post('/v1/chat/stream', { thread_id: s.thread, message: 'hi', page: 'no-such-page' })).status, 422);
    same((await next.get(`/v1/threads/${s.thread}`)).json.state, 'waiting');
    same((await next.post(`/v1/approvals/${id}`, { confirmed: true })).status, 200);
    await until(() => next.ledger().length === 1, 'the payment');
});

test('deleting while a tool runs: the words are gone for everybody, and the server goes on', async (t) => {
    const server = await t.serve({ config: { demo: { token_ms: 1 } } });
    for (let i = 0; i < 8; i++) {
        const id = `gone-${i}`;
        const turn = server.post('/api/chat', { id, trigger: 'submit-message', messages: [{ id: `u${i}`, role: 'user', parts: [{ type: 'text', text: 'Find articles about CRISPR' }] }] }).catch(() => null);
        await until(async () => (await server.get(`/v1/threads/${id}`)).status === 200, 'the thread');
        same((await server.request('DELETE', `/v1/threads/${id}`)).status, 204);
        same((await server.get(`/v1/threads/${id}`)).status, 404);
        await turn;
    }
    check((await server.get('/v1/threads')).json.threads.length === 0, 'nothing is listed');
    same((await server.get('/healthz')).status, 200);
});
