// The AI SDK doors over POST: requests as the real client makes them, the shapes it
// needs, resume, regenerate, edit, and bodies that are none.
import { check, same, settled, test, until } from './lib.mjs';
import { Chat, Live, Reader, merged, textOf, toolsOf } from './ai.mjs';
import { Ws } from './ws.mjs';

const PAY = 'Send 50 dollars to Hanako', PAY_TWO = 'Send 50 dollars to Hanako and 20 dollars to Taro';
const FORMS = { '/api/chat': 'native', '/stream': 'adk' };
const decide = (server, id, confirmed) => server.post(`/v1/approvals/${id}`, { confirmed });
const types = (r) => merged(r.chunks).map((c) => c.type);
const SLOW = { config: { demo: { token_ms: 5 } } };

function each(name, run, options) {
    for (const door of Object.keys(FORMS)) test(`${door}: ${name}`, async (t) => { const server = await t.serve(options); await run({ t, server, door, native: door === '/api/chat', chat: new Chat(t, server, door) }); });
}

// --- shapes -----------------------------------------------------------------------------------------

each('a text turn', async ({ chat }) => {
    await chat.say('hello');
    same(types(chat.streams[0]), ['start', 'start-step', 'text-start', 'text-delta', 'text-end', 'data-payload', 'finish-step', 'finish']);
    same([chat.streams[0].finished, chat.posts], ['stop', 1]);
});

each('a server tool: intent before its input, outcome in its step, words in the next', async ({ chat, native, server }) => {
    await chat.say('What is the weather in Tokyo?');
    const r = chat.streams[0];
    const input = native ? ['tool-input-start', 'tool-input-delta', 'data-intent', 'tool-input-available'] : ['tool-input-start', 'data-intent', 'tool-input-available'];
    same(types(r).filter((x, i) => !(x === 'tool-output-available' && r.chunks[i]?.preliminary)),
        ['start', 'start-step', 'text-start', 'text-delta', 'text-end', ...input, 'tool-output-available', 'finish-step', 'start-step', 'text-start', 'text-delta', 'text-end', 'data-payload', 'finish-step', 'finish']);
    for (const c of r.chunks) if (/^tool-(input-start|input-available|output)/.test(c.type)) same(c.providerExecuted, true, c.type);
    same(r.data.filter((d) => d.type === 'data-intent').map((d) => [d.transient, d.data.message]), [[true, 'I\'ll check the weather in Tokyo...']]);
    same(r.toolCalls, [], 'onToolCall is not called');
    same((await server.metrics()).parley_intent_seconds_count, 1, 'intents measured');
});

test('native approval: the call and its question in one step; the outcome before any new step', async (t) => {
    const server = await t.serve();
    for (const yes of [true, false]) {
        const c = new Chat(t, server);
        await c.say(PAY);
        same(types(c.streams[0]), ['start', 'start-step', 'text-start', 'text-delta', 'text-end', 'data-intent', 'tool-input-available', 'tool-approval-request', 'finish-step', 'finish']);
        same(c.streams[0].finished, 'tool-calls');
        const q = c.asked[0];
        same(q.id, `confirmation-${q.call}`);
        await c.answer(q.id, yes, yes ? undefined : 'too much');
        same(types(c.streams[1]), ['start', yes ? 'tool-output-available' : 'tool-output-denied', 'start-step', 'text-start', 'text-delta', 'text-end', 'data-payload', 'finish-step', 'finish']);
        check(c.streams.flatMap((r) => r.chunks).every((x) => !x.providerExecuted), 'the part stays answerable');
        same([c.posts, c.messages.length], [2, 2]);
    }
    same(server.ledger().length, 1);
});

test('adk form: the question in a step of its own, the call announced after the answer', async (t) => {
    const server = await t.serve();
    for (const yes of [true, false]) {
        const c = new Chat(t, server, '/stream');
        await c.say(PAY);
        same(types(c.streams[0]), ['start', 'start-step', 'text-start', 'text-delta', 'text-end', 'finish-step', 'start-step', 'data-intent', 'tool-input-start', 'tool-input-available', 'finish-step', 'finish']);
        const { input } = c.streams[0].chunks.find((x) => x.type === 'tool-input-available');
        same(Object.keys(input), ['originalFunctionCall', 'toolConfirmation', 'expiresAt', 'risk', 'argsSha256']);
        same(input.toolConfirmation, { hint: 'Send 50 USD to Hanako?', confirmed: false });
        same(input.originalFunctionCall.args, { amount: 50, currency: 'USD', recipient: 'Hanako' });
        await c.answer(c.asked[0].id, yes);
        same(types(c.streams[1]), ['start', 'start-step', 'tool-input-start', 'tool-input-available', yes ? 'tool-output-available' : 'tool-output-error', 'finish-step', 'start-step', 'text-start', 'text-delta', 'text-end', 'data-payload', 'finish-step', 'finish']);
        if (!yes) same(c.streams[1].chunks.find((x) => x.type === 'tool-output-error').errorText, 'User denied execution');
        same([c.posts, c.messages.length], [2, 2]);
    }
});

test('a gated client tool, native: the yes lets the browser run it, in a stream without a step', async (t) => {
    const server = await t.serve();
    const c = new Chat(t, server);
    await c.say('Where am I?');
    await c.answer(c.asked[0].id, true);
    same(types(c.streams[1]), ['start', 'tool-input-available', 'finish']);
    const [part] = toolsOf(c.last);
    same([part.state, part.providerExecuted, toolsOf(c.last).length], ['input-available', undefined, 1]);
    await c.result(part.toolCallId, { latitude: 35.6, longitude: 139.7 });
    same(types(c.streams[2]), ['start', 'tool-output-available', 'start-step', 'text-start', 'text-delta', 'text-end', 'data-payload', 'finish-step', 'finish']);
    same(c.posts, 3);
});

each('several tools in one step keep to their step, and the limit closes with words', async ({ chat }) => {
    await chat.say('Keep using tools');
    const r = chat.streams[0];
    same(r.finished, 'stop');
    same(r.chunks.filter((c) => c.type === 'start-step').length, 6, 'five rounds and the closing answer');
    same(toolsOf(chat.last).length, 5);
    same(chat.posts, 1);
});

each('the final payload is a part that stays, in a step without tools', async ({ chat }) => {
    await chat.say('Propose a schema');
    const payload = chat.last.parts.find((p) => p.type === 'data-payload');
    check(payload.data.custom_payload?.type && payload.data.suggested_actions.length === 2, JSON.stringify(payload).slice(0, 200));
    same(chat.posts, 1);
});

each('an error after some words ends the stream, and nothing loops', async ({ chat }) => {
    await chat.say('Simulate an error');
    check(chat.streams[0].error.length > 5, 'a sentence');
    same(chat.posts, 1);
    await chat.say('hello');
    same(chat.streams.at(-1).finished, 'stop');
});

test('the headers of the protocol', async (t) => {
    const server = await t.serve();
    const c = new Chat(t, server);
    c.messages.push({ id: 'u', role: 'user', parts: [{ type: 'text', text: 'hello' }] });
    const s = await (await c.open()).read();
    same([s.headers['content-type'], s.headers['x-vercel-ai-ui-message-stream'], s.headers['cache-control'], s.headers['x-accel-buffering']], ['text/event-stream', 'v1', 'no-cache, no-store', 'no']);
    same(s.thread, c.id);
    check(/^run_/.test(s.run), 'the run');
    same(s.events.at(-1).raw, '[DONE]');
    check(!s.text.includes('\nid:') && !s.text.startsWith('id:'), 'no id lines');
});

// --- the same answer again --------------------------------------------------------------------------------

each('the same answer again: outcome and words, in order, without running', async ({ server, chat }) => {
    chat.auto = false;
    await chat.say(PAY);
    const q = chat.asked[0];
    chat.mark(q.id, true);
    const before = structuredClone(chat.messages);
    await chat.send({ messageId: chat.last.id });
    const first = merged(chat.streams.at(-1).chunks);
    chat.messages = structuredClone(before);
    await chat.send({ messageId: chat.last.id });
    same(merged(chat.streams.at(-1).chunks), first, 'the same stream');
    same(server.ledger().length, 1);
});

each('the same answer again while the run is going attaches to it', async ({ server, chat, t, door }) => {
    chat.auto = false;
    await chat.say(PAY);
    chat.mark(chat.asked[0].id, true);
    const tab = new Chat(t, server, door, chat.id);
    tab.auto = false;
    tab.messages = structuredClone(chat.messages);
    await Promise.all([chat.send({ messageId: chat.last.id }), tab.send({ messageId: tab.last.id })]);
    same(merged(tab.streams[0].chunks), merged(chat.streams[1].chunks));
    same(server.ledger().length, 1);
}, SLOW);

test('adk form: a message that shows the outcome already gets only the words, in a new step', async (t) => {
    const server = await t.serve();
    const c = new Chat(t, server, '/stream');
    await c.say(PAY);
    await c.answer(c.asked[0].id, true);
    const cut = c.last.parts.findLastIndex((p) => p.type === 'step-start');
    c.last.parts.length = cut;                       // the words were lost on the way
    await c.send({ messageId: c.last.id });
    same(types(c.streams.at(-1)), ['start', 'start-step', 'text-start', 'text-delta', 'text-end', 'data-payload', 'finish-step', 'finish']);
    same(toolsOf(c.last).map((p) => p.type), ['tool-adk_request_confirmation', 'tool-process_payment'], 'no second part');
    same(server.ledger().length, 1);
});

each('a client tool\'s result sent twice: the words follow again; another value comes too late', async ({ chat, server }) => {
    await chat.say('Where am I?');
    await chat.answer(chat.asked[0].id, true);
    const call = toolsOf(chat.last).find((p) => p.type === 'tool-get_location').toolCallId;
    await chat.result(call, { latitude: 35.6, longitude: 139.7 });
    const words = chat.streams.at(-1).words_;
    chat.auto = false;
    chat.last.parts.length = chat.last.parts.findLastIndex((p) => p.type === 'step-start');
    await chat.send({ messageId: chat.last.id });
    same(chat.streams.at(-1).words_, words);
    chat.last.parts.length = chat.last.parts.findLastIndex((p) => p.type === 'step-start');
    Object.assign(chat.tool(call), { output: { latitude: 0 } });
    const no = await server.post(chat.door, chat.body({ messageId: chat.last.id }));
    same([no.status, no.headers['parley-error']], [409, 'late_result']);
});

each('one gate answered and told, the other still open: sending again has nothing to continue', async ({ chat, server }) => {
    chat.auto = false;
    await chat.say(PAY_TWO);
    const [a] = chat.asked;
    chat.mark(a.id, true);
    await chat.send({ messageId: chat.last.id });
    same(chat.streams.at(-1).finished, 'tool-calls', 'the other waits');
    same(chat.tool(a.call).state, 'output-available');
    const no = await server.post(chat.door, chat.body({ messageId: chat.last.id }));
    same([no.status, no.headers['parley-error']], [409, 'nothing_to_continue']);
    same(server.ledger().length, 1);
});

each('a continuation that answers nothing is refused with a sentence', async ({ chat, server }) => {
    await chat.say('hello');
    for (const more of [{ messageId: chat.last.id }, {}]) {
        const r = await server.post(chat.door, chat.body(more));
        same([r.status, r.headers['parley-error'], r.headers['content-type'], r.text], [409, 'nothing_to_continue', 'text/plain; charset=utf-8', 'There is nothing to continue here.']);
    }
    await chat.say(PAY);
    const r = await server.post(chat.door, chat.body({ messageId: chat.last.id }));
    same([r.status, r.headers['parley-error']], [409, 'nothing_to_continue'], 'a question that was not answered');
});

each('the workarounds people use: an empty user message with an answer before it goes on', async ({ chat, server }) => {
    for (const empty of [{ role: 'user' }, { role: 'user', parts: [{ type: 'text', text: '' }] }, { role: 'user', parts: [] }]) {
        chat.auto = false;
        await chat.say(PAY);
        chat.mark(chat.asked[0].id, true);
        const s = await (await server.open('POST', chat.door, chat.body({ messages: [...chat.messages, { id: 'x', ...empty }] }))).read();
        same([s.status, s.of('finish')[0]?.finishReason], [200, 'stop']);
    }
    same(server.ledger().length, 3);
    same((await server.get(`/v1/threads/${chat.id}`)).json.messages.filter((m) => m.role === 'user').length, 3, 'empty messages are not stored');
});

each('a body without an id: an answer finds its thread, a message gets a new one', async ({ chat, server }) => {
    chat.auto = false;
    await chat.say(PAY);
    chat.mark(chat.asked[0].id, true);
    const s = await (await server.open('POST', chat.door, { messages: chat.messages, messageId: chat.last.id })).read();
    same([s.status, s.thread, s.of('finish')[0].finishReason], [200, chat.id, 'stop']);
    const fresh = await (await server.open('POST', chat.door, { messages: [{ id: 'u', role: 'user', parts: [{ type: 'text', text: 'hello' }] }] })).read();
    check(/^t_[\w-]{22}$/.test(fresh.thread), fresh.thread);
});

each('an answer to an older message is refused once the person went on', async ({ chat, server }) => {
    chat.auto = false;
    await chat.say(PAY);
    const q = chat.asked[0], old = chat.last;
    await chat.say('hello');
    const part = old.parts.findLast((p) => p.type.startsWith('tool-'));
    if (part.approval) Object.assign(part, { state: 'approval-responded', approval: { id: q.id, approved: true } });
    else Object.assign(part, { state: 'output-available', output: { confirmed: true } });
    const r = await server.post(chat.door, chat.body({ messageId: old.id }));
    same([r.status, r.headers['parley-error']], [409, 'superseded']);
});

each('a request_id makes a message idempotent', async ({ chat, server, t, door }) => {
    const body = { id: chat.id, messages: [{ id: 'u', role: 'user', parts: [{ type: 'text', text: PAY }] }], request_id: 'r-1' };
    const all = await Promise.all([1, 2, 3].map(async () => (await server.open('POST', door, body)).read()));
    same(new Set(all.map((s) => s.run)).size, 1, 'one run');
    for (const s of all) same(s.of('finish')[0].finishReason, 'tool-calls');
    const id = all[0].of('tool-approval-request')[0]?.approvalId ?? all[0].of('tool-input-available').at(-1).toolCallId;
    await decide(server, id, true);
    await settled(server, chat.id);
    const whole = await (await server.open('POST', door, { ...body, messages: [] })).read().catch((e) => e);
    check(whole.status === 422 || whole.of('finish').length === 1, 'a body without messages is no message');
    const again = await (await server.open('POST', door, body)).read();
    const r = new Reader();
    for (const e of again.events) if (e.data) r.take(e.data);
    same(r.end().finished, 'stop', 'the whole run as one message');
    same(again.of('start').length, 1);
    check(t, 'alive');
});

// --- resume -----------------------------------------------------------------------------------------------------

each('resume: 204 when nothing is under way', async ({ chat, server }) => {
    const at = `${chat.door}/${chat.id}/stream`;
    same((await server.get(at)).status, 204, 'unknown');
    same((await server.get(`${chat.door}/not%20valid/stream`)).status, 204);
    await chat.say('hello');
    same((await server.get(at)).status, 204, 'idle');
    await chat.say(PAY);
    const r = await server.get(at);
    same([r.status, r.text], [204, ''], 'waiting');
});

each('resume at any moment of an answer replays the whole message, then goes on live', async ({ chat, server }) => {
    chat.messages.push({ id: 'u', role: 'user', parts: [{ type: 'text', text: 'Find articles about CRISPR' }] });
    const s = await chat.open(), readers = [];
    let over = false;            // the server may be done before we have read it
    for (let n = 0, e; (e = await s.next());) {
        if (n++ % 7) continue;
        const r = await server.open('GET', `${chat.door}/${chat.id}/stream`);
        over ||= r.status === 204;
        if (over) { same(r.status, 204, 'after the end'); continue; }
        readers.push(r.read());
    }
    const whole = merged(s.events.filter((e) => e.data && !e.data.preliminary).map((e) => e.data));
    for (const r of await Promise.all(readers)) {
        same(merged(r.events.filter((e) => e.data && !e.data.preliminary).map((e) => e.data)), whole);
        same(r.events.at(-1).raw, '[DONE]');
    }
    check(readers.length > 3, `readers: ${readers.length}`);
}, SLOW);

each('resume in the continuation of an answered gate is one message, without the question', async ({ chat, server, native }) => {
    chat.auto = false;
    await chat.say(PAY);
    chat.mark(chat.asked[0].id, true);
    const s = await chat.open({ messageId: chat.last.id });
    await s.must((e) => e.data?.type === 'text-delta');
    const r = await (await server.open('GET', `${chat.door}/${chat.id}/stream`)).read();
    const m = new Reader();
    for (const e of r.events) if (e.data) m.take(e.data);
    m.end();
    same([m.finished, m.types.filter((x) => x === 'start').length, m.types.filter((x) => x === 'finish').length], ['stop', 1, 1]);
    same(toolsOf(m.message).map((p) => [p.type, p.state]), [['tool-process_payment', 'output-available']]);
    check(!m.types.includes('tool-approval-request'), 'granted, so not asked');
    await s.read();
    same(textOf(m.message), textOf((await settled(server, chat.id)).messages.at(-1)));
    check(native !== undefined, 'form');
}, { config: { demo: { token_ms: 15 } } });

// --- regenerate, edit, stop, replace --------------------------------------------------------------------------------

each('regenerate: a new run for the same question; the old one stays in the log', async ({ chat, server }) => {
    await chat.say('What is the weather in Tokyo?');
    const old = chat.last.id;
    await chat.regenerate();
    check(chat.last.id !== old, 'another answer');
    same(chat.streams.at(-1).finished, 'stop');
    const id = chat.last.id;
    await chat.regenerate(id);
    const shown = (await server.get(`/v1/threads/${chat.id}`)).json;
    same(shown.messages.map((m) => [m.role, m.id]), [['user', chat.messages[0].id], ['assistant', chat.last.id]]);
    const f = await server.events(chat.id, '0.0');
    for (let i = 0; i < 3; i++) await f.must('complete');
    await f.close();
    same(shown.versions.map((v) => [v.of, v.messages.map((m) => m.id)]), [old, id].map((answer) => [chat.messages[0].id, [chat.messages[0].id, answer]]));
    const none = await server.post(chat.door, { id: 'chat-empty', messages: [], trigger: 'regenerate-message' });
    same([none.status, none.headers['parley-error']], [404, 'unknown_thread']);
});

each('regenerate an earlier answer cuts what came after it', async ({ chat, server }) => {
    await chat.say('What is the weather in Tokyo?');
    const first = chat.last.id;
    await chat.say('hello');
    await chat.regenerate(first);
    same((await server.get(`/v1/threads/${chat.id}`)).json.messages.map((m) => m.role), ['user', 'assistant']);
});

each('regenerate at a gate withdraws the question and asks anew', async ({ chat, server }) => {
    await chat.say(PAY);
    const q = chat.asked[0];
    await chat.regenerate(chat.last.id);
    same((await server.get(`/v1/approvals/${q.id}`)).json.status, 'cancelled');
    check(chat.asked[0].id !== q.id, 'a new question');
    await chat.answer(chat.asked[0].id, true);
    same(server.ledger().length, 1);
});

each('edit: a branch from that message, the old one stays in the log', async ({ chat, server }) => {
    await chat.say('What is the weather in Tokyo?');
    await chat.say('hello');
    await chat.edit(chat.messages[0].id, 'What is the weather in Paris?');
    check(textOf(chat.last).includes('Paris'), textOf(chat.last));
    const shown = (await server.get(`/v1/threads/${chat.id}`)).json;
    same(shown.messages.map((m) => m.role), ['user', 'assistant']);
    same(shown.messages[0].parts[0].text, 'What is the weather in Paris?');
    same(shown.versions.map((v) => [v.of, v.messages.map((m) => m.role)]), [[shown.messages[0].id, ['user', 'assistant', 'user', 'assistant']]]);
    same(shown.versions[0].messages[0].parts[0].text, 'What is the weather in Tokyo?');
    const f = await server.events(chat.id, '0.0');
    for (let i = 0; i < 3; i++) await f.must('complete');
    await f.close();
    await chat.say('hello');
    same((await server.get(`/v1/threads/${chat.id}`)).json.messages.length, 4);
});

each('an earlier version is gone on with, and what came instead is kept as a version', async ({ chat, server }) => {
    await chat.say('What is the weather in Tokyo?');
    const tokyo = chat.last.id;
    await chat.edit(chat.messages[0].id, PAY);
    await chat.answer(chat.asked[0].id, true);
    same(server.ledger().length, 1);
    await chat.say('hello', { after: tokyo });
    let shown = (await server.get(`/v1/threads/${chat.id}`)).json;
    same(shown.messages.map((m) => m.parts.find((p) => p.type === 'text')?.text)[0], 'What is the weather in Tokyo?');
    same([shown.messages.length, shown.versions.map((v) => [v.of, v.messages[0].parts[0].text])], [4, [[shown.messages[0].id, PAY]]]);
    await chat.edit(shown.messages[0].id, 'What is the weather in Lima?');
    shown = (await server.get(`/v1/threads/${chat.id}`)).json;
    same([shown.messages[0].parts[0].text, shown.versions.length], ['What is the weather in Lima?', 2], 'what counts now is what an edit replaces');
    same(await chat.say('hello', { after: 'run_nobody' }).catch((e) => [e.status, e.code]), [422, 'unknown_message']);
});

each('edit: the same message again and again, each time in place of the last', async ({ chat, server }) => {
    await chat.say('What is the weather in Tokyo?');
    for (const city of ['Paris', 'Lima', 'Oslo']) await chat.edit(chat.messages[0].id, `What is the weather in ${city}?`);
    const shown = (await server.get(`/v1/threads/${chat.id}`)).json;
    same(shown.messages.map((m) => m.role), ['user', 'assistant']);
    same(shown.messages[0].parts[0].text, 'What is the weather in Oslo?');
    same(shown.versions.length, 3, 'the others are kept');
    same(new Set(shown.versions.map((v) => v.of)).size, 1, 'as versions of one message');
});

each('stop as its own endpoint: abort, then [DONE]; leaving is not stopping', async ({ chat, server }) => {
    chat.messages.push({ id: 'u', role: 'user', parts: [{ type: 'text', text: 'Tell me a long story' }] });
    const left = await chat.open();
    await left.must('text-delta');
    await left.close();
    const s = await server.open('GET', `${chat.door}/${chat.id}/stream`);
    await s.must('text-delta');
    same((await server.post(`/v1/threads/${chat.id}/stop`)).json.stopped, true);
    await s.read();
    same(s.types().slice(-4), ['text-end', 'finish-step', 'abort', '[DONE]']);
    same((await settled(server, chat.id)).state, 'idle');
}, SLOW);

each('stop after a tool has run leaves no shape that loops', async ({ chat, server }) => {
    chat.messages.push({ id: 'u', role: 'user', parts: [{ type: 'text', text: 'Find articles about CRISPR' }] });
    const s = await chat.open();
    await s.must((e) => e.data?.type === 'tool-output-available' && !e.data.preliminary);
    await server.post(`/v1/threads/${chat.id}/stop`);
    s.next_ = 0;
    await chat.read(s);
    check(chat.streams[0].aborted || chat.streams[0].finished, 'an end');
    same(chat.posts, 1, 'sent once');
}, SLOW);

each('a new message replaces a run that streams', async ({ chat, server }) => {
    chat.messages.push({ id: 'u', role: 'user', parts: [{ type: 'text', text: 'Tell me a long story' }] });
    const s = await chat.open();
    await s.must('text-delta');
    const other = await (await server.open('POST', chat.door, chat.body({ messages: [{ id: 'u2', role: 'user', parts: [{ type: 'text', text: 'hello' }] }] }))).read();
    same([other.status, other.of('finish')[0].finishReason], [200, 'stop']);
    await s.read();
    check(s.types().includes('abort'), `the old one ends: ${s.types().slice(-3)}`);
    same((await server.get(`/v1/threads/${chat.id}`)).json.messages.length, 4);
}, SLOW);

// --- bodies that are none ------------------------------------------------------------------------------------------------

test('malformed bodies are refused with a sentence and a code, and the server lives', async (t) => {
    const server = await t.serve();
    const user = { id: 'u', role: 'user', parts: [{ type: 'text', text: 'hello' }] };
    const cases = [['{', 400, 'bad_json'], ['', 400, 'bad_json'], ['[]', 422, 'bad_field'], ['"x"', 422, 'bad_field'], ['{}', 422, 'bad_field'], [{ messages: [] }, 422, 'bad_field'],
        [{ messages: {} }, 422, 'bad_field'], [{ messages: [7] }, 422, 'bad_field'], [{ messages: [user], id: 7 }, 422, 'bad_field'], [{ messages: [user], id: 'a b' }, 422, 'bad_id'],
        [{ messages: [user], id: 'x'.repeat(129) }, 422, 'bad_id'], [{ messages: [user], id: '' }, 422, 'bad_id'], [{ messages: [user], trigger: {} }, 422, 'bad_field'],
        [{ messages: [user], messageId: [] }, 422, 'bad_field'], [{ messages: [user], request_id: 'x'.repeat(129) }, 422, 'bad_field'], [{ messages: [user], page: 'nowhere' }, 422, 'unknown_page'],
        [{ id: 'c', messages: [{ role: 'user', parts: [] }] }, 422, 'malformed_message'], [{ id: 'c', messages: [{ role: 'assistant', parts: 'x' }] }, 404, 'unknown_confirmation'],
        [{ messages: [{ role: 'assistant', parts: [{ type: 'tool-x', state: 'output-available' }] }] }, 409, 'nothing_to_continue'],
        [{ id: 'c', trigger: 'regenerate-message', messageId: 'run_x' }, 404, 'unknown_thread'], ['['.repeat(5000), 400, 'bad_json']];
    for (const door of Object.keys(FORMS))
        for (const [body, status, code] of cases) {
            const r = await server.post(door, typeof body === 'string' ? body : JSON.stringify(body), { 'content-type': 'application/json' });
            same([r.status, r.headers['parley-error']], [status, code], `${JSON.stringify(body).slice(0, 120)}: ${r.text}`);
            check(/^[A-Z"]/.test(r.text) && r.text.length < 200, `a sentence: ${r.text}`);
        }
    same((await server.get('/healthz')).status, 200);
});

test('files come with a message and are kept', async (t) => {
    const server = await t.serve();
    const c = new Chat(t, server);
    const file = { type: 'file', mediaType: 'image/png', url: 'data:image/png;base64,iVBORw0KGgo=', filename: 'x.png' };
    c.messages.push({ id: 'u', role: 'user', parts: [file, { type: 'text', text: 'hello' }] });
    await c.send();
    same((await server.get(`/v1/threads/${c.id}`)).json.messages[0].parts[0], file);
});

// --- the WebSocket transport of AI SDK 7 ------------------------------------------------------------------------------------

async function frames(ws, requestId) {
    const out = [];
    for (;;) {
        const f = JSON.parse(await ws.next());
        if (f.requestId !== requestId) continue;
        if (f.type !== 'chunk') { out.push(f); return out; }
        same(f.sequence, out.length, 'sequence');
        out.push(f);
    }
}
const user = (text) => ({ id: `u${Math.random()}`, role: 'user', parts: [{ type: 'text', text }] });

test('/api/chat/ws: many requests on one socket, numbered from 0, each with its end', async (t) => {
    const server = await t.serve();
    const ws = await Ws.open(t, server, '/api/chat/ws');
    for (let i = 0; i < 5; i++) ws.send({ type: 'send', requestId: `r${i}`, id: `chat-${i}`, trigger: 'submit-message', messages: [user('What is the weather in Tokyo?')], headers: {}, body: {} });
    const open = new Map([0, 1, 2, 3, 4].map((i) => [`r${i}`, []]));
    while ([...open.values()].some((l) => l.at(-1)?.type !== 'end')) {
        const f = JSON.parse(await ws.next());
        if (f.type === 'chunk') same(f.sequence, open.get(f.requestId).length, 'sequence');
        open.get(f.requestId).push(f);
    }
    for (const list of open.values()) {
        const r = new Reader();
        for (const f of list.slice(0, -1)) r.take(f.chunk);
        same(r.end().finished, 'stop');
    }
});

test('/api/chat/ws: approve, duplicate, refuse, resume, abort', async (t) => {
    const server = await t.serve({ config: { demo: { token_ms: 3 } } });
    const ws = await Ws.open(t, server, '/api/chat/ws');
    ws.send({ type: 'resume', requestId: 'r0', id: 'chat-1', headers: {}, body: {} });
    same((await frames(ws, 'r0')), [{ type: 'no-active', requestId: 'r0' }]);
    const message = user(PAY);
    ws.send({ type: 'send', requestId: 'r1', id: 'chat-1', trigger: 'submit-message', messages: [message], headers: {}, body: {} });
    const asked = await frames(ws, 'r1');
    const m = new Reader();
    for (const f of asked.slice(0, -1)) m.take(f.chunk);
    same(m.end().finished, 'tool-calls');
    const part = toolsOf(m.message)[0];
    ws.send({ type: 'resume', requestId: 'r2', id: 'chat-1', headers: {}, body: {} });
    same((await frames(ws, 'r2')).at(-1).type, 'no-active', 'waiting');
    Object.assign(part, { state: 'approval-responded', approval: { ...part.approval, approved: 'true' } });
    const answer = (requestId) => ws.send({ type: 'send', requestId, id: 'chat-1', trigger: 'submit-message', messageId: m.message.id, messages: [message, m.message], headers: {}, body: {} });
    answer('r3');
    const no = await frames(ws, 'r3');
    same([no.length, no[0].type], [1, 'error']);
    part.approval.approved = true;
    answer('r4');
    const first = JSON.parse(await ws.next());
    same([first.requestId, first.sequence, first.chunk.type], ['r4', 0, 'start']);
    ws.send({ type: 'abort', requestId: 'r4' });
    ws.send({ type: 'resume', requestId: 'r5', id: 'chat-1', headers: {}, body: {} });
    const rest = await frames(ws, 'r5').catch(() => null);
    check(rest, 'resume after abort');
    await settled(server, 'chat-1');
    same(server.ledger().length, 1);
    answer('r6');
    const again = await frames(ws, 'r6');
    same(again.filter((f) => f.chunk?.type === 'tool-output-available').length, 1, 'the recorded outcome');
    same(again.at(-1).type, 'end');
    same(server.ledger().length, 1);
});

test('/api/chat/ws: a leaving client leaves its run, SIGTERM says so and closes with 1012', async (t) => {
    const server = await t.serve({ config: { demo: { token_ms: 10 } } });
    const ws = await Ws.open(t, server, '/api/chat/ws'), gone = await Ws.open(t, server, '/api/chat/ws');
    gone.send({ type: 'send', requestId: 'r', id: 'chat-gone', trigger: 'submit-message', messages: [user('hello')], headers: {}, body: {} });
    await gone.next();
    gone.drop();
    await until(async () => (await server.get('/v1/threads/chat-gone')).json?.state === 'idle', 'the run of the one that left');
    ws.send({ type: 'send', requestId: 'r', id: 'chat-1', trigger: 'submit-message', messages: [user('Tell me a long story')], headers: {}, body: {} });
    await ws.next();
    same(await server.term(), 0);
    await ws.ended();
    same(ws.code, 1012);
    const last = JSON.parse(ws.texts.at(-1));
    same([last.type, last.errorText], ['error', 'The server is restarting; reconnect to continue.']);
});

test('/api/chat/ws: bad frames and request ids', async (t) => {
    const server = await t.serve();
    const ws = await Ws.open(t, server, '/api/chat/ws');
    for (const [frame, requestId] of [[{}, ''], [{ type: 'dance' }, ''], [{ type: 7, requestId: 'r' }, 'r'], [{ type: 'dance', requestId: 'r' }, 'r']]) {
        ws.send(frame);
        same(JSON.parse(await ws.next()), { type: 'error', requestId, errorText: 'This type of message is not known here.' });
    }
    ws.send({ type: 'abort', requestId: 'nobody' });
    ws.send({ type: 'send', requestId: 'x'.repeat(201), id: 'c', messages: [user('hello')] });
    check(/too long/.test(JSON.parse(await ws.next()).errorText), 'its id');
    ws.send({ type: 'send', requestId: '\u0001'.repeat(200), id: 'c', messages: [user('Find articles about CRISPR')] });
    const all = await frames(ws, '\u0001'.repeat(200));
    same(all.at(-1).type, 'end', 'an id that must be escaped');
    ws.send('{');
    await ws.ended();
    same(ws.code, 1007);
    const l = await Live.open(t, server);
    check(l.hello, 'alive');
});
