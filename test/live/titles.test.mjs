// Conversations get their names: from their first words, or from the model, and a person's own name wins.
import http from 'node:http';
import { check, same, settled, sound, test, until } from './lib.mjs';

// An OpenAI-compatible service that answers everything with "It is sunny.", and requests for a name with `name`:
// a text, a number (the status of a failure), or a promise of one of them.
async function service(t, name) {
    const heard = [];
    const server = http.createServer(async (q, r) => {
        let text = '';
        for await (const bytes of q) text += bytes;
        const body = JSON.parse(text), naming = /You name conversations/.test(body.messages[0].content);
        heard.push({ ...body, naming });
        const say = naming ? await name : 'It is sunny.';
        if (r.destroyed) return;
        if (typeof say === 'number') return void r.writeHead(say, { 'content-type': 'application/json' }).end('{"error":{"message":"No."}}');
        r.writeHead(200, { 'content-type': 'text/event-stream' });
        const piece = (delta, finish_reason = null) => r.write(`data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason }] })}\n\n`);
        piece({ role: 'assistant', content: say });
        piece({}, 'stop');
        r.end('data: [DONE]\n\n');
    });
    await new Promise((done) => server.listen(0, '127.0.0.1', done));
    t.defer(() => { server.closeAllConnections(); server.close(); });
    const model = { provider: 'openai', model: 'm', api_key: 'text:none', base_url: `http://127.0.0.1:${server.address().port}/v1`, retries: 0 };
    return { heard, model, namings: () => heard.filter((h) => h.naming) };
}

const titleOf = async (server, thread) => (await server.get('/v1/threads')).json.threads.find((x) => x.id === thread)?.title;
const named = (server, thread, title) => until(async () => await titleOf(server, thread) === title, `the name "${title}"`);

test('words: the first words of the first message are the name, and no model is asked for one', async (t) => {
    const up = await service(t, 'Never');
    const server = await t.serve({ config: { model: up.model } });
    const s = sound(await server.turn('What is the\nweather in Tokyo?'));
    same(await titleOf(server, s.thread), 'What is the weather in Tokyo?');
    sound(await server.turn('And in Paris?', { thread_id: s.thread }));
    same(up.namings().length, 0, 'requests for a name');
});

test('model: after the first answer the model names the conversation, once, without tools', async (t) => {
    const up = await service(t, '  "**Weather in Tokyo**."\nIs there anything else?');
    const server = await t.serve({ config: { model: up.model, titles: 'model', demo: { tools: true } } });
    const s = sound(await server.turn('What is the weather in Tokyo?'));
    await named(server, s.thread, 'Weather in Tokyo');
    const [ask] = up.namings();
    same(ask.tools ?? [], [], 'tools');
    check(/What is the weather in Tokyo\?[\s\S]*It is sunny\./.test(JSON.stringify(ask.messages).replaceAll('\\n', '\n')), `what it was shown: ${JSON.stringify(ask.messages)}`);
    sound(await server.turn('And in Paris?', { thread_id: s.thread }));
    same(up.namings().length, 1, 'requests for a name');
    const facts = (await server.get(`/v1/threads/${s.thread}`)).json;
    same([facts.title, facts.messages.length], ['Weather in Tokyo', 4], 'the conversation has nothing of it');
    await server.term();
    const again = await t.serve({ dir: server.dir, config: { model: up.model, titles: 'model' } });
    same(await titleOf(again, s.thread), 'Weather in Tokyo', 'after a restart');
});

test('model: a name that a person gave meanwhile stays', async (t) => {
    let free;
    const up = await service(t, new Promise((done) => { free = done; }));
    const server = await t.serve({ config: { model: up.model, titles: 'model' } });
    const s = sound(await server.turn('What is the weather in Tokyo?'));
    await until(() => up.namings().length === 1, 'the request for a name');
    same((await server.request('PATCH', `/v1/threads/${s.thread}`, { title: 'My trip' })).status, 200);
    free('Weather in Tokyo');
    const later = sound(await server.turn('And in Paris?'));
    await named(server, later.thread, 'Weather in Tokyo'); // a name that came after that one is there
    same(await titleOf(server, s.thread), 'My trip');
});

test('model: a name that a person gave stays also when it is made of the first words', async (t) => {
    let free;
    const up = await service(t, new Promise((done) => { free = done; }));
    const server = await t.serve({ config: { model: up.model, titles: 'model' } });
    const words = 'What is the weather in Tokyo?';
    const s = sound(await server.turn(words));
    await until(() => up.namings().length === 1, 'the request for a name');
    for (const title of ['My trip', words]) same((await server.request('PATCH', `/v1/threads/${s.thread}`, { title })).status, 200);
    free('Weather in Tokyo');
    const later = sound(await server.turn('And in Paris?'));
    await named(server, later.thread, 'Weather in Tokyo');
    same(await titleOf(server, s.thread), words);
});

test('model: a name that was given before the first message stays', async (t) => {
    const up = await service(t, 'Weather in Tokyo');
    const server = await t.serve({ config: { model: up.model, titles: 'model' } });
    const { id } = (await server.post('/v1/threads', { title: 'My trip' })).json;
    sound(await server.turn('What is the weather in Tokyo?', { thread_id: id }));
    const other = sound(await server.turn('And in Paris?'));
    await named(server, other.thread, 'Weather in Tokyo');
    same([await titleOf(server, id), up.namings().length], ['My trip', 1]);
});

test('model: when it cannot name, says nothing, or does not stop, the first words stay', async (t) => {
    for (const [how, name] of [['fails', 500], ['is silent', ' "" '], ['does not stop', 'word '.repeat(400)], ['hides', '\u200b\u202e']]) {
        const up = await service(t, name);
        const server = await t.serve({ config: { model: up.model, titles: 'model' } });
        const s = sound(await server.turn('What is the weather in Tokyo?'));
        await until(() => up.namings().length === 1, `${how}: the request for a name`);
        sound(await server.turn('And in Paris?', { thread_id: s.thread }));
        await settled(server, s.thread);
        same(await titleOf(server, s.thread), 'What is the weather in Tokyo?', how);
        await server.term();
    }
});

test('model: nobody waits for a name, and a stop of the server does not either', async (t) => {
    const up = await service(t, new Promise(() => {}));
    const server = await t.serve({ config: { model: up.model, titles: 'model' } });
    const s = sound(await server.turn('What is the weather in Tokyo?'));
    await until(() => up.namings().length === 1, 'the request for a name');
    sound(await server.turn('And in Paris?', { thread_id: s.thread }));
    await server.term();
});
