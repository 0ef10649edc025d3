// clients.test.mjs -- the documents' own clients against this server, row by row, over SSE and over the socket
// (seeds 002-004), then those of seed 001 and seed 000. Payments are counted in the ledger.
import { check, same, settled, test } from './lib.mjs';
import { Reader, textOf, toolsOf } from './ai.mjs';
import { Bidi, Kh, Sse, Vana } from './documents.mjs';
import { Ws } from './ws.mjs';

const PAY = '花子さんに50ドル送金してください';
const PAY_TWO = 'Send 50 dollars to Hanako and 20 dollars to Taro';
const BROWSER = {
    change_bgm: ({ track }) => ({ success: true, previous_track: 2, current_track: track, message: `BGM changed to track ${track}` }),
    get_location: () => ({ success: true, latitude: 35.6, longitude: 139.7, accuracy: 10, timestamp: 1 }),
};
const paid = (server) => server.ledger().length;
const states = (m) => toolsOf(m).map((p) => [p.type, p.state]);
const outputs = (m) => toolsOf(m).filter((p) => p.type === 'tool-adk_request_confirmation').map((p) => p.output);
const pending = async (server) => (await server.get('/v1/approvals?status=pending')).json.approvals;
const YES = ['tool-adk_request_confirmation', 'output-available'];
const PAID = ['tool-process_payment', 'output-available'], NOT_PAID = ['tool-process_payment', 'output-error'];

// --- BIDI: seed 004 -------------------------------------------------------------------------------------

// Says it and reads until it is asked; the stream is still open then.
async function asks(client, text, count = 1) {
    await client.say(text, () => client.asked.length === count && client.reader.chunks.at(-1).type === 'finish-step');
    check(!client.done, 'the turn does not end at the question');
    return client.asked;
}

for (const yes of [true, false])
    test(`BIDI, ${yes ? 'approve' : 'deny'}: one stream from the question to the words; the confirmation's own output comes first`, async (t) => {
        const server = await t.serve(), c = new Bidi(t, server);
        const [q] = await asks(c, PAY);
        const before = c.reader.chunks.length;
        c.click(q.id, yes);
        await c.read();
        same(c.reader.chunks[before], { type: 'tool-output-available', toolCallId: q.id, output: { confirmed: yes } });
        same(states(c.last), [YES, yes ? PAID : NOT_PAID]);
        if (!yes) same(c.tool('process_payment').errorText, 'User denied execution');
        check(textOf(c.last).length > 20, 'the words came');
        same([c.reader.finished, c.reader.types.filter((x) => x === 'start').length], ['stop', 1]);
        same(paid(server), yes ? 1 : 0);
        await c.settle();
    });

test('BIDI, approved twice: the second is a duplicate, tells nothing and pays nothing', async (t) => {
    const server = await t.serve(), c = new Bidi(t, server);
    const [q] = await asks(c, PAY);
    c.click(q.id, true);
    await c.read();
    c.click(q.id, true);
    same((await c.control('ack')).duplicate, true);
    c.click(q.id, false);
    same((await c.control('error')).code, 'already_decided');
    await c.settle();
    same(paid(server), 1);
});

test('BIDI, a double click pays once, and its turn ends once', async (t) => {
    const server = await t.serve(), c = new Bidi(t, server);
    const [q] = await asks(c, PAY);
    c.click(q.id, true);
    c.click(q.id, true);
    await c.read();
    await c.settle();
    same(c.controls.filter((x) => x.type === 'ack').map((x) => x.duplicate), [false, true]);
    same([states(c.last), paid(server)], [[YES, PAID], 1]);
});

for (const order of [[0, 1], [1, 0]])
    test(`BIDI, two in one message, the ${order[0] ? 'second' : 'first'} answered first: one stream, each gets its own outcome`, async (t) => {
        const server = await t.serve(), c = new Bidi(t, server);
        const q = await asks(c, PAY_TWO, 2);
        c.click(q[order[0]].id, true);
        await c.read(() => c.reader.chunks.some((x) => x.type === 'tool-output-available' && x.toolCallId === q[order[0]].call && !x.preliminary));
        same(c.done, false, 'the other question is still open');
        c.click(q[order[1]].id, false);
        await c.read();
        same(outputs(c.last), order[0] ? [{ confirmed: false }, { confirmed: true }] : [{ confirmed: true }, { confirmed: false }]);
        same([c.reader.finished, server.ledger().map((l) => l.call_id)], ['stop', [q[order[0]].call]]);
        await c.settle();
    });

test('BIDI, pay again: the same socket, a question of its own, a second payment', async (t) => {
    const server = await t.serve(), c = new Bidi(t, server);
    for (const n of [1, 2]) {
        const [q] = await asks(c, PAY);
        c.click(q.id, true);
        await c.read();
        same([c.reader.finished, paid(server)], ['stop', n]);
    }
    same(new Set(server.ledger().map((l) => l.call_id)).size, 2);
    same(c.messages.length, 4);
});

for (const [tool, text] of [['change_bgm', 'Change the BGM to track 1'], ['get_location', 'Where am I?']]) {
    test(`BIDI, ${tool}: approved, run by the browser and answered in the stream that asked`, async (t) => {
        const server = await t.serve(), c = new Bidi(t, server, { tools: BROWSER });
        const [q] = await asks(c, text);
        c.click(q.id, true);
        await c.read();
        same(states(c.last), [YES, [`tool-${tool}`, 'output-available']]);
        same(c.tool(tool).output, BROWSER[tool]({ track: 1 }));
        check(c.reader.finished === 'stop' && textOf(c.last), 'words after it');
        await c.settle();
    });
    test(`BIDI, ${tool}: denied, the browser is not told to run it`, async (t) => {
        const server = await t.serve(), c = new Bidi(t, server, { tools: BROWSER });
        const [q] = await asks(c, text);
        c.click(q.id, false);
        await c.read();
        same(states(c.last), [YES, [`tool-${tool}`, 'output-error']]);
        same(c.reader.toolCalls.map((x) => x.toolName), ['adk_request_confirmation'], 'what onToolCall sees');
    });
}

test('BIDI, cut while pending: the question waits in the inbox, and a new socket without an id is a new conversation', async (t) => {
    const server = await t.serve(), c = new Bidi(t, server);
    const [q] = await asks(c, PAY);
    await c.cut();
    await c.say('hello');
    same([c.reader.finished, paid(server)], ['stop', 0]);
    same((await pending(server)).map((a) => a.id), [q.id]);
    same((await server.post(`/v1/approvals/${q.id}`, { confirmed: true })).status, 200);
    await settled(server, (await server.get(`/v1/approvals/${q.id}`)).json.thread);
    same(paid(server), 1);
});

for (const native of [false, true])
    test(`BIDI by its chat id, cut while pending (${native ? 'native' : 'adk'}): the answer on a new socket finds its question`, async (t) => {
        const server = await t.serve(), c = new Bidi(t, server, { id: 'chat-adk-bidi-ws---localhost-8000-live', native });
        if (native) await c.say(PAY);
        else await asks(c, PAY);
        await c.cut();
        const p = toolsOf(c.last)[0];
        if (native) Object.assign(p, { state: 'approval-responded', approval: { ...p.approval, approved: true } });
        else Object.assign(p, { state: 'output-available', output: { confirmed: true } });
        await c.send({ messageId: c.last.id });
        await c.read();
        same([c.reader.finished, paid(server), c.reader.types[0]], ['stop', 1, 'start']);
        same(states(c.last).at(-1), PAID);
        same(c.controls.findLast((x) => x.type === 'hello').thread, c.id, 'hello names the thread that was taken');
        await c.say('hello');
        same((await server.get(`/v1/threads/${c.id}`)).json.messages.map((m) => m.role), ['user', 'assistant', 'user', 'assistant'], 'one conversation');
    });

test('BIDI without an id: an answer inside a message on a new socket finds its question too', async (t) => {
    const server = await t.serve(), c = new Bidi(t, server);
    const [q] = await asks(c, PAY);
    await c.cut();
    c.mark = toolsOf(c.last).find((p) => p.toolCallId === q.id);
    Object.assign(c.mark, { state: 'output-available', output: { confirmed: true } });
    await c.send();
    await c.read();
    same([c.reader.finished, paid(server)], ['stop', 1]);
});

test('BIDI by its chat id: the socket stays with the first one it was told', async (t) => {
    const server = await t.serve(), c = new Bidi(t, server, { id: 'first' });
    await c.say('hello');
    c.id = 'second';
    await c.say('hello again');
    same((await server.get('/v1/threads/first')).json.messages.length, 4);
    same((await server.get('/v1/threads/second')).status, 404);
    const other = new Bidi(t, server, { id: 'no such/id' });
    await other.say('hello');
    same([other.reader.error !== undefined, other.controls.at(-1).code], [true, 'bad_id']);
});

test('BIDI, interrupt while words stream: abort and the end, and the next message is answered', async (t) => {
    const server = await t.serve({ config: { demo: { token_ms: 10 } } }), c = new Bidi(t, server);
    await c.say('Tell me a long story', () => c.reader.words_.length > 0);
    c.interrupt();
    await c.read();
    check(c.reader.aborted, 'aborted');
    await c.settle();
    await c.say('hello');
    same(c.reader.finished, 'stop');
});

test('BIDI, interrupt at the question: abort and the end; a late click is refused and pays nothing', async (t) => {
    const server = await t.serve(), c = new Bidi(t, server);
    const [q] = await asks(c, PAY);
    c.interrupt();
    await c.read();
    check(c.reader.aborted && c.done, 'aborted');
    c.click(q.id, true);
    same((await c.control('error')).code, 'superseded');
    await c.say('hello');
    same([c.reader.finished, paid(server)], ['stop', 0]);
});

test('BIDI, a refused message ends the waiting: the control frame, an error and [DONE]; the next one is taken', async (t) => {
    const server = await t.serve(), c = new Bidi(t, server);
    await c.say('');
    same([c.done, c.reader.chunks.length, c.controls.at(-1).code], [true, 1, 'malformed_message']);
    same(c.reader.error, c.controls.at(-1).message);
    c.messages.length = 0;
    await c.say('hello');
    same(c.reader.finished, 'stop');
});

test('BIDI, a second window on an open question is told the turn from its start, and both hear the answer', async (t) => {
    const server = await t.serve(), c = new Bidi(t, server, { id: 'two-windows' });
    const [q] = await asks(c, PAY);
    const other = new Bidi(t, server);
    other.messages.push({ role: 'assistant', parts: [] });
    Object.assign(other, { ws: await Ws.open(t, server, '/live?thread=two-windows'), reader: new Reader(other.last), done: false });
    await other.read(() => other.asked.length === 1 && other.reader.chunks.at(-1).type === 'finish-step');
    c.click(q.id, true);
    await Promise.all([c.read(), other.read()]);
    same([states(other.last), textOf(other.last)], [states(c.last), textOf(c.last)]);
    same(paid(server), 1);
});

// --- SSE: seeds 002 and 003 ---------------------------------------------------------------------------------

for (const yes of [true, false])
    test(`SSE, ${yes ? 'approve' : 'deny'}: two requests, one ${yes ? 'payment' : 'answer and no payment'}`, async (t) => {
        const server = await t.serve(), c = new Sse(t, server);
        await c.say(PAY);
        await c.click(c.asked[0].id, yes);
        same(states(c.last), [YES, yes ? PAID : NOT_PAID]);
        same([c.posts, paid(server), c.streams.at(-1).finished], [2, yes ? 1 : 0, 'stop']);
    });

test('SSE, approved twice and double clicked: the same request again brings the same outcome, and pays nothing', async (t) => {
    const server = await t.serve(), c = new Sse(t, server);
    await c.say(PAY);
    c.mark(c.asked[0].id, true);
    const answered = structuredClone(c.messages);
    const body = () => ({ id: c.id, messages: answered, trigger: 'submit-message', messageId: answered.at(-1).id });
    const both = await Promise.all([1, 2].map(() => server.open('POST', '/stream', body())));
    for (const s of both) await s.read();
    const again = await server.open('POST', '/stream', body());
    await again.read();
    for (const s of [...both, again]) same(s.events.filter((e) => e.data?.type === 'tool-output-available' && !e.data.preliminary).length, 1);
    same(paid(server), 1);
});

test('SSE, two in one message: the first is sent by its click, the second by hand', async (t) => {
    const server = await t.serve(), c = new Sse(t, server);
    await c.say(PAY_TWO);
    const q = c.asked;
    await c.click(q[0].id, true);
    same([paid(server), c.streams.at(-1).finished], [1, 'tool-calls']);
    await c.click(q[1].id, true);
    same(c.posts, 2, 'its own rule does not send the second');
    await c.byHand();
    same([paid(server), c.streams.at(-1).finished], [2, 'stop']);
    same(new Set(server.ledger().map((l) => l.call_id)).size, 2);
});

test('SSE, pay again: a question of its own, a second payment', async (t) => {
    const server = await t.serve(), c = new Sse(t, server);
    for (const n of [1, 2]) {
        await c.say(PAY);
        await c.click(c.asked[0].id, true);
        same(paid(server), n);
    }
});

for (const [tool, text] of [['change_bgm', 'Change the BGM to track 1'], ['get_location', 'Where am I?']])
    test(`SSE, ${tool}: approved, run by the browser, its result sent by hand`, async (t) => {
        const server = await t.serve(), c = new Sse(t, server, BROWSER);
        await c.say(text);
        await c.click(c.asked[0].id, true);
        await c.runTools();
        same(states(c.last), [YES, [`tool-${tool}`, 'output-available']]);
        check(c.streams.at(-1).finished === 'stop' && textOf(c.last), 'words after it');
    });

test('SSE, a rule that sends the same answer again while the browser has not run its tool: 409, and no endless loop', async (t) => {
    const server = await t.serve(), c = new Sse(t, server);
    await c.say('Where am I?');
    await c.click(c.asked[0].id, true);
    same(states(c.last), [YES, ['tool-get_location', 'input-available']]);
    await c.send({ messageId: c.last.id }).then(() => check(false, 'refused'), (e) => same([e.status, e.code], [409, 'nothing_to_continue']));
    c.tools = BROWSER;
    await c.runTools();
    check(c.streams.at(-1).finished === 'stop' && textOf(c.last), 'the result is still taken');
});

test('SSE, cut while pending: the answer from a new connection goes on, once', async (t) => {
    const server = await t.serve(), c = new Sse(t, server);
    await c.say(PAY);
    await c.current.close();
    await c.click(c.asked[0].id, true);
    same([states(c.last), paid(server)], [[YES, PAID], 1]);
});

test('SSE, stop while words stream, and at the question: the next message is answered, a late click is refused', async (t) => {
    const server = await t.serve({ config: { demo: { token_ms: 5 } } }), c = new Sse(t, server);
    c.messages.push({ id: 'u-0', role: 'user', parts: [{ type: 'text', text: 'Tell me a long story' }] });
    const s = await c.open();
    await s.must((e) => e.data?.type === 'text-delta');
    await s.close();
    await c.say(PAY);
    const q = c.asked[0], at = c.last;
    await c.say('hello');
    same(c.streams.at(-1).finished, 'stop');
    c.messages.push(at);
    await c.click(q.id, true).then(() => check(false, 'refused'), (e) => same([e.status, e.code], [409, 'superseded']));
    same(paid(server), 0);
});

// --- seed 001's client ------------------------------------------------------------------------------------------

test('kh: the second message stays in the conversation, whatever page the client is on', async (t) => {
    const server = await t.serve(), c = new Kh(server);
    await c.say('Find articles about CRISPR');
    check(c.conversation && c.conversation === c.payload.thread_id, 'named in the payload');
    const first = c.conversation;
    await c.say('hello', 'value_selected');
    same(c.conversation, first);
    same((await server.get(`/v1/threads/${first}`)).json.messages.map((m) => m.role), ['user', 'assistant', 'user', 'assistant']);
});

test('kh: the page it is on counts when there is one of that name', async (t) => {
    const server = await t.serve({ config: { pages: { reports: { tools: ['get_weather'] } } } });
    const tools = async (current_page) => {
        const c = new Kh(server, { current_page });
        const s = await c.say('Find articles about CRISPR');
        return s.of('tool_complete').map((e) => e.ok);
    };
    same(await tools('elsewhere'), [true]);
    check(!(await tools('reports')).includes(true), 'that page has no such tool');
});

for (const [label, yes] of [['Approve', true], ['Deny', false]])
    test(`kh: ${label} is an action, says what it is about, and is never a chat message`, async (t) => {
        const server = await t.serve(), c = new Kh(server);
        await c.say(PAY);
        same(c.payload.suggested_actions.map((a) => a.label), ['Approve: Send 50 USD to 花子?', 'Deny: Send 50 USD to 花子?']);
        const before = c.payload.message, button = c.payload.suggested_actions[yes ? 0 : 1];
        const s = await c.press(label);
        same([paid(server), s.of('tool_complete').map((e) => e.ok)], [yes ? 1 : 0, [yes]]);
        same((await server.get(`/v1/threads/${c.conversation}`)).json.messages.map((m) => m.role), ['user', 'assistant'], 'no message was made of it');
        same([c.payload.continues, before + c.payload.new_message], [true, c.payload.message], 'a client need not show words twice');
        same(c.payload.new_message, s.words, 'the words of this stream');
        await c.read(await c.open(button.label, 'action_executed', { action_identifier: button.action, action_data: button.data }));
        same(paid(server), yes ? 1 : 0, 'pressed again');
    });

test('kh: a double click on Approve pays once; two questions have two pairs of buttons', async (t) => {
    const server = await t.serve(), c = new Kh(server);
    await c.say(PAY_TWO);
    same(c.payload.suggested_actions.map((a) => a.label), ['Approve: Send 50 USD to Hanako?', 'Deny: Send 50 USD to Hanako?', 'Approve: Send 20 USD to Taro?', 'Deny: Send 20 USD to Taro?']);
    const a = c.payload.suggested_actions[0];
    const both = await Promise.all([1, 2].map(() => c.open(a.label, 'action_executed', { action_identifier: a.action, action_data: a.data })));
    for (const s of both) await c.read(s);
    same(both.map((s) => s.status), [200, 200]);
    await c.press('Deny: Send 20');
    same(server.ledger().map((l) => [l.recipient, l.amount]), [['Hanako', 50]]);
});

test('kh: Apply is an action too', async (t) => {
    const server = await t.serve(), c = new Kh(server);
    await c.say('Propose a schema');
    const s = await c.press('Apply');
    same([s.status, s.of('tool_complete').length > 0 || s.of('tool_confirmation').length > 0], [200, true]);
    check(!(await server.get(`/v1/threads/${c.conversation}`)).json.messages.some((m) => m.role === 'user' && m.parts.some((p) => /^Apply/.test(p.text))), 'no message was made of it');
});

test('kh: a button without what it means is refused, and is no message either', async (t) => {
    const server = await t.serve(), c = new Kh(server);
    const s = await c.read(await c.open('Approve', 'action_executed'));
    same([s.status, s.json.error.code], [422, 'bad_field']);
    same((await server.get('/v1/threads')).json.threads.length, 0);
});

test('kh: it stops reading and goes on; the old answer gives way', async (t) => {
    const server = await t.serve({ config: { demo: { token_ms: 10 } } }), c = new Kh(server);
    await c.say('hello');
    const s = await c.open('Tell me a long story');
    await s.must('text_delta');
    await s.close();
    await c.say('hello again');
    check(c.payload.message.length > 0 && c.shown.length === 2, 'answered');
});

test('kh: every marker is a delta of its own, and the deltas are the message', async (t) => {
    const server = await t.serve(), c = new Kh(server);
    const s = await c.say('What is the weather in Tokyo and Paris?');
    const deltas = s.of('text_delta').map((e) => e.text);
    same(deltas.filter((d) => d.includes('[[tool:')), ['[[tool:0]]', '[[tool:1]]']);
    for (const i of [0, 1]) { const at = deltas.indexOf(`[[tool:${i}]]`); same([deltas[at - 1], deltas[at + 1]], ['\n\n', '\n\n']); }
    same(deltas.join(''), c.payload.message);
});

// --- seed 000's client ------------------------------------------------------------------------------------------

const SESSION = '7e6f0d52-0c1f-4b0e-9d3a-1f2e3d4c5b6a';

test('vana: the session is the conversation; a guest has a new one each time', async (t) => {
    const server = await t.serve(), c = new Vana(server, SESSION);
    same([(await c.say('hello')).thread, (await c.say('hello again')).thread], [SESSION, SESSION]);
    same((await server.get(`/v1/threads/${SESSION}`)).json.messages.length, 4);
    const guest = new Vana(server);
    check((await guest.say('hello')).thread !== (await guest.say('hello')).thread, 'nothing names it');
});

// Its Stop only closes the connection; the answer goes on being written.
test('vana: after a stop the next message is answered', async (t) => {
    const server = await t.serve({ config: { demo: { token_ms: 50 } } }), c = new Vana(server, SESSION);
    const s = await server.open('POST', '/functions/v1/chat', { sessionId: SESSION, messages: [{ role: 'user', content: 'Tell me a long story' }] });
    await s.must((e) => e.data.choices);
    await s.close();
    check((await c.say('hello')).text.length > 0, 'words');
});

test('vana: an artifact comes with flat members, after its intent and before its result', async (t) => {
    const server = await t.serve(), c = new Vana(server, SESSION);
    const s = await c.say('Build me a todo app');
    const [a] = s.artifacts;
    same([s.artifacts.length, a.artifactType, a.artifactTitle, a.artifactCode === a.artifact.content, a.artifactId === a.artifact.id], [1, 'html', 'Todo app', true, true]);
    const order = s.all.map((e) => e.type).filter((x) => /^(intent_confirmation|tool_call_start|artifact_complete|tool_result|done)$/.test(x));
    same(order, ['intent_confirmation', 'tool_call_start', 'artifact_complete', 'tool_result', 'done']);
    same(s.images.length, 0);
});

test('vana: a picture comes as an address that shows it, and is not taken for code', async (t) => {
    const server = await t.serve(), c = new Vana(server, SESSION);
    const s = await c.say('Generate an image of a sunset over mountains');
    same([s.images.length, s.artifacts.length], [1, 0]);
    const svg = decodeURIComponent(s.images[0].imageUrl.replace(/^data:image\/svg\+xml,/, ''));
    same(svg, s.named('artifact_complete')[0].artifact.content);
    check(s.images[0].artifactId, 'it has an id');
});

test('vana: a search tells its sources', async (t) => {
    const server = await t.serve(), c = new Vana(server, SESSION);
    const [found] = (await c.say('Search for the latest React 19 features')).found;
    same(found.data.query, 'latest React 19 features');
    check(found.data.sources.length >= 1, 'sources');
    for (const x of found.data.sources) check(x.title && new URL(x.url) && x.snippet, JSON.stringify(x));
});

test('vana: the texts of two steps are set apart by one blank line', async (t) => {
    const server = await t.serve(), c = new Vana(server, SESSION);
    const s = await c.say('What is the weather in Tokyo?');
    check(/\S\n\n\S/.test(s.text) && !/\n\n\n/.test(s.text) && !/^\n/.test(s.text), JSON.stringify(s.text));
    const deltas = s.all.flatMap((e) => e.choices ?? []).map((x) => x.delta.content);
    same(deltas.filter((d) => d === '\n\n').length, 1, 'a delta of its own');
});

test('vana: a payment is asked for, and pays once when its action comes', async (t) => {
    const server = await t.serve(), c = new Vana(server, SESSION);
    const s = await c.say(PAY);
    const [q] = s.named('tool_confirmation');
    same([paid(server), s.named('done').length], [0, 1]);
    for (const n of [1, 2]) {
        const r = await server.open('POST', '/functions/v1/chat', { sessionId: SESSION, action: { action: 'approve', data: { confirmation_id: q.confirmation_id } } });
        await r.read();
        same([r.status, paid(server)], [200, 1], `press ${n}`);
    }
});

test('the preflights of these clients are answered for origins under cors', async (t) => {
    const server = await t.serve({ config: { cors: ['http://localhost:3000'] } });
    for (const at of ['/functions/v1/chat', '/v1/chat/stream', '/stream']) {
        const r = await server.request('OPTIONS', at, undefined, { origin: 'http://localhost:3000', 'access-control-request-method': 'POST',
            'access-control-request-headers': 'authorization,x-client-info,apikey,x-api-key,content-type' });
        const allowed = r.headers['access-control-allow-headers'].split(', ');
        for (const h of ['authorization', 'x-client-info', 'apikey', 'x-api-key', 'content-type']) check(allowed.includes(h), h);
    }
});
