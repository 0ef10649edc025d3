// Conversations that outgrow their model: older turns become a summary, nothing is lost, and a provider that says
// "too long" is not the end.
import { check, same, settled, test, until } from './lib.mjs';
import { WIRES, readBody, serveModel, startUpstream } from './upstream.mjs';

const long = (n, size = 2000) => `message ${n} ${'word '.repeat(size / 5)}`;
const texts = (wire, body) => readBody(wire, body).flatMap((m) => m.texts);
const asksForSummary = (wire, body) => texts(wire, body).at(-1).includes('Write the summary');
const summaries = async (server, thread) => (await server.get(`/v1/threads/${thread}`)).json.messages.flatMap((m) => m.parts).filter((p) => p.type === 'data-summary');

async function talk(server, count, size) {
    let thread;
    for (let i = 1; i <= count; i++) {
        const s = await server.turn(long(i, size), thread ? { thread_id: thread } : {});
        same([s.events.at(-1).data.type, i], ['complete', i], s.text?.slice(-500));
        thread ??= s.thread;
    }
    return thread;
}

test('a conversation past the limit goes on from a summary, on every wire, and is shown whole', async (t) => {
    const up = await startUpstream(t);
    for (const wire of WIRES) {
        await up.forget();
        const server = await serveModel(t, up, wire, { model: { context: { limit: 6000 }, max_tokens: 500 }, config: { context: { keep: 2 }, demo: { tools: false }, actions: {} } });
        const thread = await talk(server, 12);
        const bodies = (await up.requests()).map((r) => r.body);
        const asked = bodies.filter((b) => asksForSummary(wire, b)), spoken = bodies.filter((b) => !asksForSummary(wire, b));
        check(asked.length >= 2, `${wire}: summarised more than once: ${asked.length}`);
        check(bodies.every((b) => JSON.stringify(b).length < 6000 * 6), `${wire}: no request is too long`);
        const last = texts(wire, spoken.at(-1));
        check(last[0].includes('summarised:') && last[0].includes('You said:'), `${wire}: ${last[0].slice(0, 200)}`);
        check(last.at(-1).startsWith('message 12'), 'the newest turn is told as it is');
        check(texts(wire, asked[1])[0].includes('summarised:'), 'the second is made from the first');
        const all = (await server.get(`/v1/threads/${thread}`)).json.messages;
        same(all.filter((m) => m.role === 'user').length, 12, 'people see everything');
        const seams = await summaries(server, thread);
        same(seams.length, asked.length);
        check(seams.every((p) => p.data.text && p.data.from === 1 && p.data.upto > 1), JSON.stringify(seams));
    }
});

test('a summary outlives a crash: the model is told the same afterwards', async (t) => {
    const up = await startUpstream(t);
    const server = await serveModel(t, up, 'openai', { model: { context: { limit: 6000 }, max_tokens: 500 }, config: { context: { keep: 2 }, demo: { tools: false }, actions: {} } });
    const thread = await talk(server, 8), before = (await up.requests()).length, made = (await summaries(server, thread)).length;
    await server.restart('SIGKILL');
    await server.turn('short', { thread_id: thread });
    const [body] = (await up.requests()).slice(before).map((r) => r.body);
    check(texts('openai', body)[0].includes('summarised:'), 'it begins with the summary');
    same((await summaries(server, thread)).length, made, 'none is made twice');
});

test('a provider\'s own "too long" is caught: summarised once, and answered', async (t) => {
    const up = await startUpstream(t);
    for (const wire of WIRES) {
        await up.forget();
        const server = await serveModel(t, up, wire, { model: { model: 'sc-limit-14000' }, config: { demo: { tools: false }, actions: {}, system: 'x' } });
        const thread = await talk(server, 10);
        check((await summaries(server, thread)).length >= 1, `${wire}: there is a summary`);
        check(server.log.some((l) => l.event === 'thread.compacts' && l.why === 'refused'), 'and the log says why');
    }
});

test('what is too long even to be summarised at once is summarised in pieces', async (t) => {
    const up = await startUpstream(t);
    const server = await serveModel(t, up, 'openai', { config: { models: { big: up.model('openai', { retries: 0 }), small: up.model('openai', { model: 'sc-limit-9000', retries: 0 }) }, model: 'big', pages: { small: { model: 'small' } }, demo: { tools: false }, actions: {}, system: 'x' } });
    const thread = await talk(server, 12);
    const s = await server.turn('and now?', { thread_id: thread, page: 'small' });
    same(s.events.at(-1).data.type, 'complete', s.text?.slice(-500));
    check((await summaries(server, thread)).length >= 1);
});

test('what cannot be summarised is shortened, and the conversation lives', async (t) => {
    const up = await startUpstream(t);
    const server = await serveModel(t, up, 'openai', { config: { models: { big: up.model('openai', { retries: 0 }), tiny: up.model('openai', { model: 'sc-limit-6000', retries: 0 }) }, model: 'big', pages: { tiny: { model: 'tiny' } }, demo: { tools: false }, actions: {}, system: 'x' } });
    const thread = await talk(server, 6, 6000);
    const s = await server.turn('and now?', { thread_id: thread, page: 'tiny' });
    same(s.events.at(-1).data.type, 'complete', s.text?.slice(-500));
    const [seam] = await summaries(server, thread);
    check(seam.data.text.startsWith('(No summary could be made.'), seam.data.text.slice(0, 80));
});

test('a stop while it summarises stops, and the next message is answered', async (t) => {
    const up = await startUpstream(t);
    const server = await serveModel(t, up, 'openai', { config: { models: { big: up.model('openai', { retries: 0 }), slow: up.model('openai', { model: 'sc-silent', retries: 0, context: { limit: 2000 }, max_tokens: 100 }) }, model: 'big', pages: { slow: { model: 'slow' } }, demo: { tools: false }, actions: {} } });
    const thread = await talk(server, 6);
    const s = await server.say('and now?', { thread_id: thread, page: 'slow' });
    await until(() => server.log.some((l) => l.event === 'thread.compacts'), 'it to summarise');
    same((await server.post(`/v1/threads/${thread}/stop`)).json.stopped, true);
    await s.read();
    await settled(server, thread);
    same((await summaries(server, thread)).length, 0);
    same((await server.turn('hello', { thread_id: thread })).events.at(-1).data.type, 'complete');
});

test('an AI SDK stream carries the seam as data that other clients pass over', async (t) => {
    const up = await startUpstream(t);
    const server = await serveModel(t, up, 'openai', { model: { context: { limit: 4000 }, max_tokens: 500 }, config: { context: { keep: 1 }, demo: { tools: false }, actions: {} } });
    let seen = '';
    for (let i = 1; i <= 8 && !seen.includes('data-summary'); i++)
        seen = (await server.post('/api/chat', { id: 'long', messages: [{ id: `m${i}`, role: 'user', parts: [{ type: 'text', text: long(i) }] }] })).text;
    const chunk = JSON.parse(seen.split('\n').find((l) => l.includes('data-summary')).slice(6));
    same([chunk.type, Object.keys(chunk.data)], ['data-summary', ['text', 'from', 'upto']]);
});
