// Whatever a model service does wrong has a defined end: a typed error with a code, whether trying again helps,
// and one plain sentence; nothing hangs, no tool runs from half a call, no words come twice, and a retry
// goes on without repeating tools.
import { Chat, textOf } from './ai.mjs';
import { check, same, settled, sound, test, until } from './lib.mjs';
import { WIRES, keepsSecrets, readBody, serveModel, startUpstream } from './upstream.mjs';

// requests: with one retry allowed ("more": libcurl itself asks again when a kept connection turns out dead). text: what was told before it failed. A list: one value per wire.
const FAULTS = {
    429: { code: 'model_rate_limit', retryable: true, requests: 2, says: /limiting how often.*in a moment\.$/ },
    '429-long': { code: 'model_rate_limit', retryable: true, requests: 1, says: /Trying again will help in 60 minutes\.$/ },
    quota: { code: 'model_quota', retryable: false, requests: 1, says: /no credit left/ },
    500: { code: 'model_error', retryable: true, requests: 2, says: /had an error of its own/ },
    '500-no': { code: 'model_error', retryable: true, requests: 1, says: /had an error of its own/ },
    529: { code: 'model_overloaded', retryable: true, requests: 2, says: /overloaded at the moment/ },
    400: { code: 'model_refused', retryable: false, requests: 1, says: /did not accept the request/ },
    401: { code: 'model_auth', retryable: false, requests: 1, says: /did not accept the API key/ },
    404: { code: 'model_not_found', retryable: false, requests: 1, says: /does not know the model m/ },
    redirect: { code: 'model_protocol', retryable: false, requests: 1, says: /no model service at this address/ },
    html: { code: 'model_protocol', retryable: false, requests: 1, says: /no model service at this address/ },
    gzip: { code: 'model_protocol', retryable: true, requests: 2, says: /not an answer of a model/ },
    silent: { code: 'model_timeout', retryable: true, requests: 2, says: /did not begin to answer in time/ },
    stall: { code: 'model_timeout', retryable: true, requests: 2, says: /stopped in the middle/ },
    'stall-late': { code: 'model_timeout', retryable: true, requests: 1, text: 'Half an', says: /stopped in the middle/ },
    drop: { code: 'model_cut', retryable: true, requests: 'more',
            says: /connection to the model broke/ },
    empty: { code: 'model_cut', retryable: true, requests: 2, says: /connection to the model broke/ },
    error: { code: ['model_overloaded', 'model_error', 'model_overloaded'], retryable: true, requests: 1, text: 'Half an', says: /overloaded|error of its own/ },
    'error-early': { code: ['model_overloaded', 'model_error', 'model_overloaded'], retryable: true, requests: 2, says: /overloaded|error of its own/ },
    badjson: { code: 'model_protocol', retryable: true, requests: 1, text: 'Half an', says: /not an answer of a model/ },
    'badjson-early': { code: 'model_protocol', retryable: true, requests: 2, says: /not an answer of a model/ },
    eof: { code: 'model_cut', retryable: true, requests: 1, text: 'Half an', says: /connection to the model broke/ },
    cut: { code: 'model_cut', retryable: true, requests: 1, text: 'Half an', says: /connection to the model broke/ },
    'cut-early': { code: 'model_cut', retryable: true, requests: 2, says: /connection to the model broke/ },
    'half-cut': { code: 'model_cut', retryable: true, requests: 1, says: /connection to the model broke/ },
    'whole-cut': { code: 'model_cut', retryable: true, requests: 1, says: /connection to the model broke/ },
    longline: { code: 'model_protocol', retryable: true, requests: 2, says: /not an answer of a model/ },
};
const TIMEOUTS = { connect: 5, first_byte: 2, idle: 2, total: 60 };

async function some(list, n, work) {
    const todo = [...list];
    await Promise.all(Array.from({ length: n }, async () => { for (let x; (x = todo.shift()) !== undefined;) await work(x); }));
}

// The error of a stream that must have one, at its end.
function errorOf(s, what) {
    sound(s);
    const e = s.events.at(-1).data;
    same(e.type, 'error', `${what}: the last event`);
    check(e.message.length < 250 && /^[A-Z1].*\.$/.test(e.message) && !/[{}<>]/.test(e.message), `${what}: a plain sentence: ${e.message}`);
    return e;
}

const requestsFor = async (up, mark) => (await up.requests()).filter((r) => JSON.stringify(r.body).includes(mark));

for (const [w, wire] of WIRES.entries()) {
    test(`${wire}: each fault has its end state, code and sentence`, async (t) => {
        const up = await startUpstream(t), server = await serveModel(t, up, wire, { model: { retries: 1, timeouts: TIMEOUTS } });
        await some(Object.keys(FAULTS), 4, async (fault) => {
            const want = FAULTS[fault], mark = `(${fault})`, what = `${wire} ${fault}`;
            const s = await (await server.say(`{{scenario:${fault}}} ${mark}`)).read(45000), e = errorOf(s, what);
            same([e.code, e.retryable], [Array.isArray(want.code) ? want.code[w] : want.code, want.retryable], what);
            check(want.says.test(e.message), `${what}: ${e.message}`);
            same(s.words, want.text ?? '', `${what}: what was told`);
            check(!s.of('tool_start').length && !s.of('tool_confirmation').length, `${what}: no tool`);
            const requests = (await requestsFor(up, mark)).length;
            check(want.requests === 'more' ? requests >= 2 && requests <= 4 : requests === want.requests, `${what}: ${requests} requests`);
            same((await settled(server, s.thread)).state, 'idle', `${what}: state`);
            await keepsSecrets(server, s.thread, s);
            const next = sound(await server.turn('{{scenario:none}} fine', { thread_id: s.thread }));
            check(/^You said: .*fine$/.test(next.payload.message), `${what}: the conversation goes on: ${next.payload.message}`);
        });
        same(server.ledger(), [], 'the ledger');
        same(up.err, '', 'bodies the real service would refuse');
        await until(async () => (await up.stats()).open < 40, 'connections to be let go');
    }, { timeout_ms: 150000 });

    test(`${wire}: half a call, a call beside a refusal and a call at the length limit never run`, async (t) => {
        const up = await startUpstream(t), server = await serveModel(t, up, wire, { model: { timeouts: TIMEOUTS } });
        for (const fault of ['half', 'length', 'refusal']) {
            const s = sound(await server.turn(`{{scenario:${fault}}}`));
            check(!s.of('tool_start').length && !s.of('tool_confirmation').length, `${fault}: ${s.types().join(' ')}`);
            same((await settled(server, s.thread)).pending, [], `${fault}: nothing waits`);
            if (fault === 'length') check(s.words.startsWith('Paying now'), s.words);
            if (fault === 'refusal') {
                same(s.payload.finish_reason, 'content-filter', 'a refusal is told as one');
                same((await settled(server, s.thread)).messages.at(-1).metadata.finishReason, 'content-filter', 'and kept');
            }
            if (fault === 'refusal') same(s.payload.message, 'I will not\n\n[[tool:0]]', 'a refusal is the last word');
            check(/fine$/.test(sound(await server.turn('{{scenario:none}} fine', { thread_id: s.thread })).payload.message), `${fault}: it goes on`);
        }
        same(server.ledger(), []);
        same(up.err, '', 'bodies the real service would refuse');
    });

    test(`${wire}: a failure before the first word is retried unseen, and no word comes twice`, async (t) => {
        const up = await startUpstream(t), server = await serveModel(t, up, wire, { model: { retries: 2, timeouts: TIMEOUTS } });
        await some(['429', '500', '529', 'error-early', 'cut-early', 'badjson-early', 'drop', 'stall'], 4, async (fault) => {
            const say = `{{scenario:${fault}-once}} (${fault})`, s = sound(await server.turn(say));
            same(s.payload.message, `You said: ${say}`, `${fault}: the words`);
            const all = await requestsFor(up, `(${fault})`);
            same(all.length, 2, `${fault}: requests`);
            same(JSON.stringify(all[0].body), JSON.stringify(all[1].body), `${fault}: the same request`);
        });
        await keepsSecrets(server);
    });

    test(`${wire}: a failed answer is tried again by the action and by regenerate, once and from the same history`, async (t) => {
        const up = await startUpstream(t), server = await serveModel(t, up, wire, { model: { timeouts: TIMEOUTS } });
        const faults = ['429', '500', '401', 'error', 'badjson', 'eof', 'cut', 'half-cut', 'longline', 'stall-late', 'html', 'redirect'];
        await some(faults.keys(), 3, async (i) => {
            const fault = faults[i], say = `{{scenario:${fault}-once}} (${fault})`;
            if (i % 2) await byAction(server, say, fault);
            else await byRegenerate(t, server, say, fault, i % 4 ? '/stream' : '/api/chat');
            const all = await requestsFor(up, `(${fault})`);
            same(all.length, 2, `${fault}: requests`);
            same(JSON.stringify(all[1].body), JSON.stringify(all[0].body), `${fault}: the history is the same`);
        });
        await keepsSecrets(server);
    }, { timeout_ms: 120000 });

    test(`${wire}: a retry after tools does not run them again, and sends their results`, async (t) => {
        const up = await startUpstream(t), server = await serveModel(t, up, wire, { model: { timeouts: TIMEOUTS } });
        await some(['500', 'cut', 'error'], 3, async (fault) => {
            const door = fault === 'cut' ? 'action' : 'regenerate', name = `N${fault}`;
            const say = `{{call process_payment {"amount":5,"currency":"USD","recipient":"${name}"}}}{{call get_weather {"city":"${name}"}}} {{then:${fault}-once}}`;
            const thread = door === 'action' ? await payAndRetry(server, say, fault) : await payAndRegenerate(t, server, say, fault);
            const all = await requestsFor(up, name);
            same(all.length, 3, `${fault}: requests`);
            same(JSON.stringify(all[2].body), JSON.stringify(all[1].body), `${fault}: the same history again`);
            same(readBody(wire, all[2].body).at(-1).results.length, 2, `${fault}: both results`);
            same(server.ledger().filter((l) => l.recipient === name).length, 1, `${fault}: paid once`);
            check(thread.messages.at(-1).parts.some((p) => p.type === 'text' && p.text.includes('The tools said')), `${fault}: ${JSON.stringify(thread.messages.at(-1))}`);
        });
        const tools = (await server.get('/v1/tools')).json.tools;
        same(tools.filter((x) => x.runs).map((x) => [x.name, x.runs]).sort(), [['get_weather', 3], ['process_payment', 3]], 'executions');
        same(up.err, '', 'bodies the real service would refuse');
    });
}

async function byAction(server, say, fault) {
    const s = await server.turn(say);
    errorOf(s, fault);
    const a = await server.post(`/v1/threads/${s.thread}/actions`, { action: 'retry' });
    same(a.status, 202, a.text);
    const thread = await settled(server, s.thread);
    const words = thread.messages.filter((m) => m.role === 'assistant').map(textOf);
    same(words.at(-1), `You said: ${say}`, `${fault}: the answer`);
    same(words.join('').split('You said:').length, 2, `${fault}: the answer is there once`);
    const f = await server.events(s.thread, s.lastId);
    await f.must('complete');
    same(f.words, `You said: ${say}`, `${fault}: what a follower sees after the error`);
    await f.close();
}

async function byRegenerate(t, server, say, fault, door) {
    const chat = new Chat(t, server, door);
    await chat.say(say);
    check(chat.streams[0].error && !/[{}]/.test(chat.streams[0].error), `${fault}: an error for people: ${chat.streams[0].error}`);
    await chat.regenerate();
    same(textOf(chat.last), `You said: ${say}`, `${fault}: the answer`);
    same(chat.messages.map((m) => m.role), ['user', 'assistant'], `${fault}: messages`);
}

async function payAndRetry(server, say, fault) {
    const s = sound(await server.turn(say));
    const yes = await server.open('POST', '/v1/chat/stream', { thread_id: s.thread, action: { action: 'approve', data: { confirmation_id: s.payload.awaiting[0] } } });
    const e = (await yes.read()).events.at(-1).data;
    same([e.type, e.retryable], ['error', true], fault);
    same((await server.post(`/v1/threads/${s.thread}/actions`, { action: 'retry' })).status, 202);
    return settled(server, s.thread);
}

async function payAndRegenerate(t, server, say, fault) {
    const chat = new Chat(t, server, '/api/chat');
    await chat.say(say);
    await chat.answer(chat.asked[0].id, true);
    check(chat.streams.at(-1).error, `${fault}: it failed`);
    await chat.regenerate(chat.last.id);
    return settled(server, chat.id);
}

test('regenerate of an older answer that failed begins at its question, not behind what came later', async (t) => {
    const up = await startUpstream(t), server = await serveModel(t, up, 'openai');
    const chat = new Chat(t, server);
    await chat.say('{{scenario:cut-once}} first');
    const failed = chat.last.id;
    await chat.say('second');
    await chat.regenerate(failed);
    same(textOf(chat.last), 'You said: {{scenario:cut-once}} first');
    same(readBody('openai', (await up.requests()).at(-1).body).map((m) => m.texts), [['{{scenario:cut-once}} first']], 'what the model saw');
    await chat.say('third');
    same(readBody('openai', (await up.requests()).at(-1).body).length, 3, 'and from there it goes on');
    same(up.err, '');
});

test('an answer that fails twice is tried a third time from where it failed first', async (t) => {
    const up = await startUpstream(t), server = await serveModel(t, up, 'anthropic');
    const s = await server.turn('{{call get_weather {"city":"Oslo"}}} {{then:500}}');
    for (let i = 0; i < 2; i++) {
        same((await server.post(`/v1/threads/${s.thread}/actions`, { action: 'retry' })).status, 202);
        same((await settled(server, s.thread)).messages.at(-1).metadata.error.code, 'model_error', 'fails again');
    }
    const bodies = (await up.requests()).slice(1).map((r) => JSON.stringify(r.body));
    same([bodies.length, new Set(bodies).size], [3, 1], 'the same request each time');
    same((await server.get('/v1/tools')).json.tools.find((x) => x.name === 'get_weather').runs, 1, 'executions');
    const other = await server.post(`/v1/threads/${s.thread}/actions`, { action: 'retry', data: { run_id: 'run_none' } });
    same(other.status, 409, other.text);
});

test('a retry of a conversation that has nothing to retry is refused', async (t) => {
    const server = await t.serve();
    const { json } = await server.post('/v1/threads', { title: 'empty' });
    const r = await server.post(`/v1/threads/${json.id}/actions`, { action: 'retry' });
    same([r.status, r.json.error.code], [409, 'nothing_to_continue']);
});
