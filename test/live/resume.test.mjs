// Reconnecting misses nothing: at every cut, while it runs and afterwards, by
// `after` and by Last-Event-ID, for one follower and for many.
import { check, same, settled, sound, test, told } from './lib.mjs';

// A thread with several hundred events: a story, a search, a question that waits.
async function conversation(server) {
    const story = await server.turn('Tell me a long story');
    const thread = story.thread;
    const search = await server.turn('Find articles about CRISPR', { thread_id: thread });
    const pay = await server.turn('Send 50 dollars to Hanako and tell me the weather in Tokyo', { thread_id: thread });
    for (const s of [story, search, pay]) sound(s);
    return { thread, streams: [story, search, pay], events: [story, search, pay].flatMap((s) => s.events) };
}

const ends = (n) => (s) => s.of('complete').length >= n;
async function tail(server, thread, after, headers, completes) {
    const s = await server.events(thread, after, headers);
    same(s.status, 200, `events after ${after}`);
    await s.wait(() => ends(completes)(s) || undefined, `the tail after ${after}`);
    await s.close();
    return told(s.events);
}

test('resume at every cut of a long conversation gives the same tail', async (t) => {
    const server = await t.serve({ config: { demo: { token_ms: 1 } } });
    const { thread, events } = await conversation(server);
    const cuts = [...events.keys()].filter((i) => events[i].id);
    check(cuts.length >= 200, `200 events with a place: ${cuts.length}`);
    let n = 0;
    const worker = async () => {
        for (let i; (i = cuts[n++]) !== undefined;) {
            const want = told(events.slice(i + 1)), completes = want.filter((d) => d.type === 'complete').length;
            if (!completes) continue;
            const by = n % 2 ? [events[i].id, {}] : ['0.0', { 'last-event-id': events[i].id }];
            same(await tail(server, thread, ...by, completes), want, `the tail after ${events[i].id}`);
        }
    };
    await Promise.all(Array.from({ length: 8 }, worker));
    same(await tail(server, thread, '0.0', {}, 3), told(events), 'everything from the beginning');
}, { timeout_ms: 120000 });

test('places on the stream of a run and on the stream of the thread are the same', async (t) => {
    const server = await t.serve({ config: { demo: { token_ms: 1 } } });
    const s = await server.say('Find articles about CRISPR');
    const f = await server.events(s.thread, '0.0');
    await s.read();
    await f.must('complete');
    const places = (x) => x.events.filter((e) => e.id && e.data.type !== 'text_delta').map((e) => [e.id, e.data.type]);
    same(places(f), places(s));
    await f.close();
});

test('a follower that comes at any event of a running answer sees the rest, no more and no less', async (t) => {
    const server = await t.serve({ config: { demo: { token_ms: 8 } } });
    const s = await server.say('Tell me a long story');
    const followers = [];
    for (let e; (e = await s.next());) if (e.id) followers.push({ id: e.id, at: s.next_, stream: server.events(s.thread, e.id) });
    sound(s);
    check(followers.length >= 100, `many followers: ${followers.length}`);
    for (const f of followers) {
        const stream = await f.stream;
        if (s.events.slice(f.at).some((e) => e.data.type === 'complete')) await stream.must('complete');
        await stream.close();
        same(told(stream.events), told(s.events.slice(f.at)), `the tail after ${f.id}`);
    }
}, { timeout_ms: 90000 });

test('fifty followers of one run are told the same', async (t) => {
    const server = await t.serve({ config: { demo: { token_ms: 2 } } });
    const s = await server.say('Find articles about CRISPR');
    const all = await Promise.all(Array.from({ length: 50 }, () => server.events(s.thread, '0.0')));
    await s.read();
    for (const f of all) {
        await f.must('complete');
        same(told(f.events), told(s.events));
        await f.close();
    }
    const gone = await server.metrics();
    check(gone.parley_streams <= 50, 'streams are counted');
});

test('the stream of a thread goes on across runs until the client leaves', async (t) => {
    const server = await t.serve();
    const first = await server.turn('hello');
    const f = await server.events(first.thread, first.lastId);
    const more = [];
    for (const say of ['What is the weather in Tokyo?', 'Find articles about CRISPR']) more.push(...(await server.turn(say, { thread_id: first.thread })).events);
    await f.must('complete');
    await f.must('complete');
    same(told(f.events), told(more));
    check(!f.over, 'still open');
    await f.close();
});

test('a place that is none, or lies beyond the conversation, is refused with a sentence', async (t) => {
    const server = await t.serve();
    const { thread } = await server.turn('hello');
    for (const after of ['x', '1.x', '-1', '1.2.3', '99.0', '18446744073709551616.0']) {
        const r = await server.get(`/v1/threads/${thread}/events?after=${after}`);
        same([r.status, r.json?.error?.code], [422, 'bad_place'], after);
        check(r.json.error.message.length > 10, 'a sentence');
    }
    same((await server.get('/v1/threads/t_unknown/events')).status, 404);
});

test('leaving the page is not stopping', async (t) => {
    const server = await t.serve({ config: { demo: { token_ms: 2 } } });
    const s = await server.say('Tell me a long story');
    await s.must('text_delta');
    await s.close();
    await settled(server, s.thread);
    const f = await server.events(s.thread, '0.0');
    const end = await f.must('complete');
    check(end.data.payload.message.endsWith('kept.'), 'the whole story is there');
    await f.close();
});

test('a slow reader gets fewer and larger deltas, and all of the text', async (t) => {
    const server = await t.serve();
    const s = await server.say('say 20000 words');
    s.r.pause();
    await settled(server, s.thread);
    s.r.resume();
    sound(await s.read());
    check(s.of('text_delta').length < 4000, `few deltas: ${s.of('text_delta').length}`);
}, { timeout_ms: 90000 });

test('a client of the tool-calling door reconnects on the thread\'s stream at any of its places', async (t) => {
    const server = await t.serve({ config: { demo: { token_ms: 1 } } });
    const s = await (await server.open('POST', '/functions/v1/chat', { message: 'Build me a todo app' })).read();
    const content = (list) => list.filter((e) => e.data?.choices).map((e) => e.data.choices[0].delta.content).join('');
    const has = (list, type) => list.some((e) => e.data?.type === type);
    for (const [i, e] of s.events.entries()) {
        if (!e.id || e.data.type === 'done') continue;
        const before = s.events.slice(0, i + 1), f = await server.events(s.thread, e.id);
        await f.must('complete');
        await f.close();
        const kinds = (type, was) => same(f.of(type).length, has(before, was) ? 0 : 1, `${type} after ${e.id} (${e.data.type ?? 'content'})`);
        kinds('intent_confirmation', 'intent_confirmation');
        kinds('tool_start', 'tool_call_start');
        kinds('tool_complete', 'tool_result');
        same(f.words.replace(/\n*\[\[tool:0\]\]\n*/, '\n\n').trim(), content(s.events.slice(i + 1)).trim(), `the words after ${e.id}`);
    }
});
