// /live: one socket, many turns of one conversation. Greetings, framings, answers,
// broadcast, resume at every cut, and how a socket ends.
import { check, same, settled, test, until } from './lib.mjs';
import { Chat, Live, merged, textOf, toolsOf } from './ai.mjs';
import { Ws } from './ws.mjs';

const PAY = 'Send 50 dollars to Hanako', PAY_TWO = 'Send 50 dollars to Hanako and 20 dollars to Taro';
const decide = (server, id, confirmed) => server.post(`/v1/approvals/${id}`, { confirmed });

// --- hello and framings ----------------------------------------------------------------------------

test('hello comes first and names the thread, the protocol and the place', async (t) => {
    const server = await t.serve();
    for (const [protocols, want] of [[[], 'parley.sse.v1'], [['parley.sse.v1'], 'parley.sse.v1'], [['parley.json.v1'], 'parley.json.v1'], [['x', 'parley.json.v1'], 'parley.json.v1'], [['x'], 'parley.sse.v1']]) {
        const l = await Live.open(t, server, { protocols });
        same(l.hello.protocol, want);
        same(l.ws.protocol, protocols.find((p) => p.startsWith('parley')), 'the subprotocol that was chosen');
        same([l.hello.after, l.hello.pending, l.hello.offered], ['0.0', [], []]);
        check(/^t_/.test(l.hello.thread), 'a new thread is named');
        same((await server.get(`/v1/threads/${l.thread}`)).status, 404, 'and made by its first message');
        await l.say('hello');
        same((await server.get(`/v1/threads/${l.thread}`)).status, 200);
        same(l.frames.filter((f) => f.control?.type === 'hello').length, 1, 'one hello');
    }
});

test('hello of a waiting thread brings the buttons back', async (t) => {
    const server = await t.serve();
    const s = await server.turn(PAY_TWO);
    const l = await Live.open(t, server, { thread: s.thread });
    same(l.hello.pending.map((p) => p.id), s.payload.awaiting);
    for (const k of ['id', 'tool', 'tool_use_id', 'input', 'ask', 'risk', 'expires_at']) check(k in l.hello.pending[0], k);
    same([l.hello.pending[0].ask, l.hello.pending[0].risk], ['Send 50 USD to Hanako?', 'high']);
    same(l.hello.after, `${(await server.get(`/v1/threads/${s.thread}`)).json.seq}.0`);
});

test('messages flat and nested, with - and _, with text and with a history', async (t) => {
    const server = await t.serve();
    let chats = 0;
    for (const say of [(l) => l.send('message', { text: PAY }), (l) => l.send('message', { text: PAY }, true),
        (l) => l.send('message', { messages: [{ role: 'user', content: [{ type: 'text', text: PAY }] }] }, true),
        (l) => l.send('message', { id: `some-other-chat-${chats++}`, trigger: 'submit-message', messages: [{ id: 'u1', role: 'user', parts: [{ type: 'text', text: PAY }] }] })]) {
        for (const answer of [(l, id) => l.send('tool_result', { toolCallId: id, result: { confirmed: true } }), (l, id) => l.send('tool-result', { toolCallId: id, result: { confirmed: true } }, true),
            (l, id) => l.send('approval', { id, confirmed: true }), (l, id) => l.send('approval', { id, approved: true }, true)]) {
            const l = await Live.open(t, server);
            say(l);
            await l.turn();
            const q = l.asked[0];
            answer(l, q.id);
            const ack = await l.control('ack');
            same(ack, { type: 'ack', for: q.id, status: 'approved', duplicate: false });
            same((await l.turn()).finished, 'stop');
            await l.close();
        }
    }
    same(server.ledger().length, 16);
});

test('an answer inside a message over the socket is applied first, and acked with its answer id', async (t) => {
    const server = await t.serve();
    const l = await Live.open(t, server);
    await l.say(PAY);
    const part = toolsOf(l.last)[0];
    Object.assign(part, { state: 'output-available', output: { confirmed: true } });
    l.send('message', { messages: [{ role: 'user', parts: [{ type: 'text', text: PAY }] }, l.last], messageId: l.last.id, answer_id: 'click-1' });
    same(await l.control('ack'), { type: 'ack', for: 'click-1', status: 'recorded', duplicate: false });
    same((await l.turn()).finished, 'stop');
    same(server.ledger().length, 1);
});

test('the answer id comes back in the ack and in the record; a duplicate gets its ack and nothing else', async (t) => {
    const server = await t.serve();
    const l = await Live.open(t, server);
    await l.say(PAY);
    const q = l.asked[0];
    l.answer(q.id, true, { answer_id: 'a-1' });
    same((await l.control('ack')).for, 'a-1');
    await l.turn();
    const chunks = l.frames.filter((f) => f.chunk).length;
    l.answer(q.id, true, { answer_id: 'a-2' });
    same(await l.control('ack'), { type: 'ack', for: 'a-2', status: 'approved', duplicate: true });
    l.send('ping', { timestamp: 1 });
    await l.control('pong');
    same(l.frames.filter((f) => f.chunk).length, chunks, 'no chunk came of it');
    same(server.ledger().length, 1);
});

// --- small talk -----------------------------------------------------------------------------------------

test('the same message again is acked as a duplicate and asks the model nothing, on this socket and on the next', async (t) => {
    const server = await t.serve(), l = await Live.open(t, server);
    l.send('message', { text: 'hello', request_id: 'q1' });
    await l.turn();
    for (const socket of [l, await Live.open(t, server, { thread: l.thread })]) {
        socket.send('message', { text: 'hello', request_id: 'q1' });
        const ack = await socket.control('ack');
        same([ack.for, ack.duplicate], ['q1', true]);
    }
    same((await server.get(`/v1/threads/${l.thread}`)).json.messages.length, 2);
});

test('an interrupt right behind a message stops the run of that message, also when another was being told', async (t) => {
    const server = await t.serve({ config: { demo: { token_ms: 50 } } }), l = await Live.open(t, server);
    for (let told = 0; told < 2; told++) {
        if (told) {
            l.send('message', { text: 'Tell me a long story' });
            await until(async () => (await server.get(`/v1/threads/${l.thread}`)).json.state === 'running', 'the first to be told');
        }
        l.ws.socket.cork();                    // both in one packet: the server looks its request id up while it reads on
        l.send('message', { text: 'Tell me another story', request_id: `q${told}` });
        l.send('interrupt');
        l.ws.socket.uncork();
        same((await l.control('ack')).status, 'stopped');
        const shown = await settled(server, l.thread);
        same([shown.messages.at(-1).role, shown.messages.at(-1).metadata.outcome], ['assistant', 'cancelled']);
        same(shown.messages.filter((m) => m.role === 'user').length, told ? 3 : 1);
    }
});

test('ping is answered at once with the same timestamp, also while words stream', async (t) => {
    const server = await t.serve({ config: { demo: { token_ms: 5 } } });
    const l = await Live.open(t, server);
    l.send('ping', { timestamp: 1764000000123 });
    same(await l.control('pong'), { type: 'pong', timestamp: 1764000000123 });
    l.send('ping', { timestamp: 'x' }, true);
    same((await l.control('pong')).timestamp, 'x');
    l.send('message', { text: 'Tell me a long story' });
    await l.find((f) => f.chunk?.type === 'text-delta', 'the first words');
    l.send('ping', { timestamp: 2 });
    same((await l.control('pong')).timestamp, 2);
    check(!l.frames.some((f) => f.done), 'in the middle of the answer');
    l.ws.ping('x');
    await l.ws.wait(() => l.ws.pongs || undefined, 'the protocol\'s own pong');
    l.send('interrupt');
    await until(() => { l.pump(); return l.frames.some((f) => f.done); }, 'the end');
});

test('plain text goes on from an earlier answer by `after`, as messages do', async (t) => {
    const server = await t.serve(), first = new Chat(t, server, '/api/chat', 'versions');
    await first.say('What is the weather in Tokyo?');
    const tokyo = first.last.id;
    await first.edit(first.messages[0].id, 'What is the weather in Paris?');
    const l = await Live.open(t, server, { thread: 'versions' });
    l.send('message', { text: 'hello', after: 'run_nobody' });
    same((await l.control('error')).code, 'unknown_message');
    l.send('message', { text: 'hello', after: tokyo });
    await settled(server, 'versions');
    await until(async () => (await server.get('/v1/threads/versions')).json.messages.length === 4, 'the answer');
    const shown = (await server.get('/v1/threads/versions')).json;
    same([shown.messages[0].parts[0].text, shown.versions.map((v) => v.messages[0].parts[0].text)], ['What is the weather in Tokyo?', ['What is the weather in Paris?']]);
});

test('audio, unknown types and bytes are refused with a code, the socket stays', async (t) => {
    const server = await t.serve();
    const l = await Live.open(t, server);
    l.send('audio_control', { action: 'start' });
    same((await l.control('error')).code, 'unsupported');
    l.send('audio_chunk', { chunk: 'AAAA' }, true);
    same((await l.control('error')).code, 'unsupported');
    l.ws.sendBytes([1, 2, 3]);
    same((await l.control('error')).code, 'unsupported');
    l.send('dance');
    same((await l.control('error')).code, 'unknown_type');
    l.send('resume', { after: 'x' });
    same((await l.control('error')).code, 'bad_place');
    await l.say('hello');
    l.send('resume', { after: '999.0' });
    same((await l.control('error')).code, 'bad_place');
    same((await l.say('hello')).finished, 'stop');
});

test('the third text that is no JSON closes with 1007, a too large one with 1009', async (t) => {
    const server = await t.serve();
    const l = await Live.open(t, server);
    for (const text of ['{', '[]']) { l.ws.send(text); same((await l.control('error')).code, 'bad_json'); }
    l.ws.send('"x"');
    await l.ws.ended();
    same(l.ws.code, 1007);
    const big = await Live.open(t, server);
    big.send('message', { text: 'x'.repeat(1024 * 1024 + 1) });
    await big.ws.ended();
    same(big.ws.code, 1009);
});

test('a message behind the handshake makes the thread that is not there, and the socket is told of it', async (t) => {
    const server = await t.serve();
    for (const thread of ['new-1', 'new-2', 'new-3']) {
        const ws = await Ws.open(t, server, `/live?thread=${thread}`, { protocols: ['parley.json.v1'], behind: [{ type: 'message', text: 'What is the weather in Tokyo?' }] });
        await until(() => ws.texts.some((x) => /"type":"finish"/.test(x)) || ws.closed, 'the answer');
        same([ws.code, ws.texts.filter((x) => /"type":"hello"/.test(x)).length], [undefined, 1]);
        same((await server.get(`/v1/threads/${thread}`)).json.messages.map((m) => m.role), ['user', 'assistant']);
    }
    const refused = await Ws.open(t, server, '/live?thread=new-4', { protocols: ['parley.json.v1'], behind: [{ type: 'message', text: ' ' }] });
    await until(() => refused.closed, 'its end');
    same([refused.code, (await server.get('/v1/threads/new-4')).status], [4404, 404]);
});

test('a thread that is not there closes with 4404, so does one that is deleted', async (t) => {
    const server = await t.serve();
    for (const thread of ['t_nobody', 'not%20valid', 'x'.repeat(129)]) {
        const ws = await Ws.open(t, server, `/live?thread=${thread}`);
        await ws.ended();
        same([ws.code, ws.texts], [4404, []], thread);
    }
    const l = await Live.open(t, server);
    await l.say('hello');
    same((await server.request('DELETE', `/v1/threads/${l.thread}`)).status, 204);
    await l.ws.ended();
    same(l.ws.code, 4404);
});

test('a page of another origin does not get a socket', async (t) => {
    const server = await t.serve();
    for (const at of ['/live', '/api/chat/ws']) {
        const no = await Ws.open(t, server, at, { headers: { Origin: 'https://evil.example' } }).catch((e) => e);
        same(no.status, 403, at);
        const yes = await Ws.open(t, server, at, { headers: { Origin: server.url } });
        await yes.close();
    }
});

test('SIGTERM closes sockets with 1012; the next server goes on from the place', async (t) => {
    const server = await t.serve({ config: { demo: { token_ms: 10 } } });
    const l = await Live.open(t, server, { json: true }), idle = await Live.open(t, server), ws = await Ws.open(t, server, '/api/chat/ws');
    l.send('message', { text: 'Tell me a long story' });
    await l.find((f) => f.chunk?.type === 'text-delta', 'the first words');
    same(await server.term(), 0);
    await Promise.all([l.ws.ended(), idle.ws.ended(), ws.ended()]);
    same([l.ws.code, idle.ws.code, ws.code], [1012, 1012, 1012]);
    l.pump();
    const place = l.frames.filter((f) => f.id).at(-1).id;
    const next = await t.serve({ dir: server.dir });
    const back = await Live.open(t, next, { thread: l.thread, json: true });
    await settled(next, l.thread);
    back.send('resume', { after: place });
    const turn = await back.turn();
    same(turn.chunks[0].type, 'start', 'the lost step is told from the beginning of its message');
    same(turn.finished, 'stop');
});

// --- all sockets of a thread ---------------------------------------------------------------------------------

test('every tab sees every word, and every decision at once, whoever made it', async (t) => {
    const server = await t.serve();
    const first = await Live.open(t, server);
    await first.say(PAY);
    const tabs = [first, ...await Promise.all([1, 2, 3].map(() => Live.open(t, server, { thread: first.thread })))];
    const q = first.asked[0];
    let deaf = tabs.length, asked = 0;
    const heard = tabs.map((l) => l.control('data-approval').then((d) => (deaf--, d)));
    const r = await decide(server, q.id, true);
    same(r.status, 200);
    // Not by a clock, which goes on when the machine does not: so many requests later everybody must have heard it.
    for (; deaf && asked < 200; asked++) await server.get('/healthz');
    same(deaf, 0, 'tabs that have heard nothing');
    for (const d of await Promise.all(heard)) same(d, { type: 'data-approval', id: q.id, data: { status: 'approved', decided_by: 'local' } });
    const told = await Promise.all(tabs.map((l) => l.turn()));
    for (const turn of told) same(merged(turn.chunks), merged(told[0].chunks), 'what each tab was told');
});

test('a tab that comes while words stream is told the message from its start', async (t) => {
    const server = await t.serve({ config: { demo: { token_ms: 3 } } });
    const l = await Live.open(t, server);
    l.send('message', { text: 'Tell me a long story' });
    await l.find((f) => f.chunk?.type === 'text-delta', 'the first words');
    l.frames.forEach((f) => { f.taken = false; });
    const late = await Live.open(t, server, { thread: l.thread });
    const [a, b] = await Promise.all([l.turn(), late.turn()]);
    same(merged(b.chunks), merged(a.chunks));
});

test('a tab that comes in the continuation of a gate is told one whole message', async (t) => {
    const server = await t.serve({ config: { demo: { token_ms: 10 } } });
    const l = await Live.open(t, server);
    await l.say(PAY);
    l.answer(l.asked[0].id, true);
    await l.find((f) => f.chunk?.type === 'text-delta' && f.chunk.delta, 'the words after the payment');
    const late = await Live.open(t, server, { thread: l.thread });
    const turn = await late.turn();
    same(turn.chunks.filter((c) => c.type === 'start').length, 1);
    same(toolsOf(late.last).map((p) => [p.type, p.state]), [['tool-process_payment', 'output-available']]);
    same(turn.finished, 'stop');
    const shown = (await settled(server, l.thread)).messages.at(-1);
    same(textOf(late.last), textOf(shown));
});

test('a new message replaces an answer that still streams', async (t) => {
    const server = await t.serve({ config: { demo: { token_ms: 10 } } });
    const l = await Live.open(t, server);
    l.send('message', { text: 'Tell me a long story' });
    await l.find((f) => f.chunk?.type === 'text-delta', 'the first words');
    l.frames.forEach((f) => { if (f.chunk) f.taken = false; });
    l.send('message', { text: 'hello' });
    const old = await l.turn();
    check(old.aborted, 'the old one ends with abort');
    same((await l.turn()).finished, 'stop', 'the new one is told');
});

test('what a superseded question leaves behind is shown to nobody', async (t) => {
    const server = await t.serve();
    const l = await Live.open(t, server);
    await l.say(PAY);
    const turn = await l.say('hello');
    same(turn.types[0], 'start');
    same(l.turns.length, 2, 'no turn between');
    same((await l.control('data-approval')).data.status, 'cancelled');
});

test('the flat form of a message names its page too', async (t) => {
    const server = await t.serve({ config: { pages: { weather: { tools: ['get_weather'] } } } });
    const l = await Live.open(t, server);
    const on = await l.say('Find articles about CRISPR', { page: 'weather' });
    check(!on.chunks.some((c) => c.type === 'tool-output-available'), 'that page has no such tool');
    const off = await l.say('Find articles about CRISPR');
    check(off.chunks.some((c) => c.type === 'tool-output-available'), 'the default page has');
    l.send('message', { text: 'hello', page: 'nowhere' });
    same((await l.control('error')).code, 'unknown_page');
});

test('a socket that is closed for its bad texts while its thread is being read joins nothing any more', async (t) => {
    const before = await t.serve(), { thread } = await before.turn('hello');
    await before.term();
    const server = await t.serve({ dir: before.dir });
    for (let i = 0; i < 5; i++) {
        const ws = Ws.open(t, server, `/live?thread=${thread}`, { behind: ['no JSON', '{', '[1,2'] });
        await (await ws).ended();
        same((await ws).code, 1007);
    }
    const l = await Live.open(t, server, { thread });
    same((await l.say('hello')).finished, 'stop');
});

// --- the same on both carriers ------------------------------------------------------------------------------------

const scrub = (chunks) => {
    const names = new Map(), name = (v, kind) => { if (!names.has(v)) names.set(v, `${kind}-${names.size}`); return names.get(v); };
    return JSON.parse(JSON.stringify(merged(chunks)).replace(/run_[\w-]{22}/g, (v) => name(v, 'run')).replace(/call-[\w-]{22}/g, (v) => name(v, 'call'))
        .replace(/"\d{4}-\d\d-\d\dT[\d:.]+Z"/g, '"time"'));
};
const CONVERSATIONS = {
    text: ['hello'],
    'a server tool': ['Find articles about CRISPR'],
    'two tools': ['What is the weather in Tokyo and Paris?'],
    approve: [PAY, [true]],
    deny: [PAY, [false]],
    'two gates': [PAY_TWO, [true, false]],
    'a gate beside a free call': ['Send 50 dollars to Hanako and tell me the weather in Tokyo', [true]],
    'a client tool': ['Where am I?', [true], { latitude: 35.6, longitude: 139.7 }],
    'a denied client tool': ['Change the BGM to track 1', [false]],
    'an artifact': ['Build me a todo app'],
    'a schema': ['Propose a schema'],
    'the iteration limit': ['Keep using tools'],
    'a model error': ['Simulate an error'],
};
async function overPost(t, server, door, [text, answers = [], result]) {
    const c = new Chat(t, server, door);
    await c.say(text);
    for (const yes of answers) c.mark(c.asked[0].id, yes);
    if (answers.length) await c.maybeSend();
    if (result) await c.result(toolsOf(c.last).find((p) => p.state === 'input-available' && p.type !== 'tool-adk_request_confirmation').toolCallId, result);
    return c.streams.flatMap((r) => r.chunks);
}
async function overLive(t, server, approval, json, [text, answers = [], result]) {
    const l = await Live.open(t, server, { approval, json });
    await l.say(text);
    if (answers.length) {          // as a page of this dialect does: both clicks in one message
        const parts = toolsOf(l.last).filter((p) => p.state === 'approval-requested' || (p.type === 'tool-adk_request_confirmation' && p.state === 'input-available'));
        for (const [i, p] of parts.entries())
            if (p.approval) Object.assign(p, { state: 'approval-responded', approval: { ...p.approval, approved: answers[i] } });
            else Object.assign(p, { state: 'output-available', output: { confirmed: answers[i] } });
        l.send('message', { messages: [l.last], messageId: l.last.id });
        await l.turn();
    }
    if (result) { l.result(toolsOf(l.last).find((p) => p.state === 'input-available' && p.type !== 'tool-adk_request_confirmation').toolCallId, result); await l.turn(); }
    return l.chunks;
}
for (const [name, conversation] of Object.entries(CONVERSATIONS))
    test(`the same over POST and over the socket, in both forms and framings: ${name}`, async (t) => {
        const server = await t.serve();
        for (const [door, approval] of [['/stream', 'adk'], ['/api/chat', 'native']]) {
            const posted = scrub(await overPost(t, server, door, conversation));
            // One turn is one run in the adk form over parley.sse.v1, so a question does not end it (clients.test.mjs).
            const gated = conversation.length > 1;
            for (const json of approval === 'adk' && gated ? [true] : [false, true]) same(scrub(await overLive(t, server, approval, json, conversation)), posted, `${door} ${json ? 'json' : 'sse'}`);
            const other = scrub(await overPost(t, server, `${door === '/stream' ? '/api/chat' : '/stream'}?approval=${approval}`, conversation));
            same(other, posted, `?approval=${approval} on the other door`);
        }
    });

// --- resume ------------------------------------------------------------------------------------------------------------

// Deltas of the part that was cut may come in other pieces; a browser's call that is over by now says so.
const tail = (frames, at) => JSON.stringify(merged(frames.slice(at).filter((f) => f.chunk).map(({ chunk }) => {
    if (chunk.toolName !== 'get_location' && chunk.toolName !== 'change_bgm') return chunk;
    const { providerExecuted, ...rest } = chunk;
    return rest;
})));
for (const [name, conversation] of Object.entries(CONVERSATIONS))
    for (const approval of ['adk', 'native'])
        test(`resume at every cut gives exactly the rest (${approval}): ${name}`, async (t) => {
            const server = await t.serve();
            const l = await Live.open(t, server, { json: true, approval });
            await l.say(conversation[0]);
            for (const yes of conversation[1] ?? []) {          // one after the other: more gates to be cut at
                const parts = toolsOf(l.last), q = parts.find((p) => p.state === 'approval-requested')?.approval.id ?? parts.find((p) => p.type === 'tool-adk_request_confirmation' && p.state === 'input-available').toolCallId;
                l.approve(q, yes);
                await l.control('ack', (a) => a.for === q);
                await l.turn();
                const c = toolsOf(l.last).find((p) => p.toolCallId === q);
                if (c) c.state = 'output-available';
            }
            if (conversation[2]) { l.result(toolsOf(l.last).find((p) => p.state === 'input-available' && p.type !== 'tool-adk_request_confirmation').toolCallId, conversation[2]); await l.turn(); }
            await settled(server, l.thread);
            const frames = l.frames.filter((f) => f.chunk || f.done);
            check(frames.at(-1).done, 'the conversation is over');
            const tab = await Live.open(t, server, { thread: l.thread, json: true, approval });
            for (let at = 0; at < frames.length; at++) {
                if (!frames[at].id) continue;
                const from = tab.frames.length;
                tab.pump();
                tab.send('resume', { after: frames[at].id });
                tab.send('ping', { timestamp: at });
                const want = frames.slice(at + 1).filter((f) => f.done).length;
                await until(() => { tab.pump(); return tab.frames.slice(from).filter((f) => f.done).length >= want; }, `the rest after ${frames[at].id}`);
                await tab.control('pong', (p) => p.timestamp === at);
                same(tail(tab.frames, from), tail(frames, at + 1), `after ${frames[at].id} (${frames[at].chunk.type})`);
                const calls = tab.frames.filter((f) => f.chunk?.type === 'tool-input-available' && ['get_location', 'change_bgm'].includes(f.chunk.toolName));
                check(calls.every((f) => f.chunk.providerExecuted), 'no browser acts on a replay');
                tab.frames.length = 0;
            }
        });

test('resume in the middle of a streaming answer gives the rest, live', async (t) => {
    const server = await t.serve({ config: { demo: { token_ms: 2 } } });
    const l = await Live.open(t, server, { json: true });
    l.send('message', { text: 'Tell me a long story' });
    const some = await l.find((f) => f.chunk?.type === 'text-delta', 'words');
    const tab = await Live.open(t, server, { thread: l.thread, json: true });
    tab.send('resume', { after: some.id });
    await Promise.all([l, tab].map((x) => until(() => { x.pump(); return x.frames.some((f) => f.done); }, 'the end')));
    const words = (x, from = 0) => x.frames.slice(from).filter((f) => f.chunk?.type === 'text-delta').map((f) => f.chunk.delta).join('');
    const all = words(l), had = l.frames.slice(0, l.frames.indexOf(some) + 1).filter((f) => f.chunk?.type === 'text-delta').map((f) => f.chunk.delta).join('');
    check(words(tab).endsWith(all.slice(had.length)), 'the rest of the words');
});

// --- large things ------------------------------------------------------------------------------------------------------------

test('an output larger than a connection\'s buffer comes whole, in fragments, to every carrier', async (t) => {
    const size = 400000;
    const server = await t.serve({ config: { actions: {}, demo: { tools: false }, tools: { search_articles: {
        exec: { command: ['/bin/sh', '-c', `read x; printf '{"result":"'; head -c ${size} /dev/zero | tr '\\0' 'a'; printf '"}\\n'`] }, confirm: 'always' } } } });
    const l = await Live.open(t, server);
    await l.say('Find articles about CRISPR');
    l.answer(l.asked[0].id, true);
    for (let i = 0; i < 20; i++) l.send('ping', { timestamp: i });
    const turn = await l.turn();
    same(turn.chunks.find((c) => c.type === 'tool-output-available').output.length, size);
    check(l.ws.fragments > 1, 'in fragments');
    for (let i = 0; i < 20; i++) await l.control('pong', (p) => p.timestamp === i);
    const c = new Chat(t, server);
    await c.say('Find articles about CRISPR');
    await c.answer(c.asked[0].id, true);
    same(toolsOf(c.last)[0].output.length, size);
});
