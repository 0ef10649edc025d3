// Connections that break at OpenAI's doors: what goes on, what stops, and what an SDK's second try is told.
import net from 'node:net';
import { once } from 'node:events';
import { check, raw, same, test, until } from './lib.mjs';
import { Chat, sound } from './openai.mjs';
import { bank, payments, script } from './org.mjs';

const CHAT = '/v1/chat/completions', RESPONSES = '/v1/responses';
const RETRY = { 'x-stainless-retry-count': '1' };
const user = (content) => ({ messages: [{ role: 'user', content }] });
const state = async (server, thread) => (await server.get(`/v1/threads/${thread}`)).json.state;
const stopped = (server, thread) => until(async () => await state(server, thread) === 'idle', 'the run to end');
const wordsOf = (s) => s.events.map((e) => e.data?.choices?.[0]?.delta?.content ?? '').join('');
const reasonOf = (s) => s.events.map((e) => e.data?.choices?.[0]?.finish_reason).find(Boolean);
async function cutAfterWords(server, at, body, headers) {
    const s = await server.open('POST', at, { ...body, stream: true }, headers);
    await s.wait(() => s.events.length > 4, 'some words');
    await s.close();
    return s;
}

test('the retry of a chat that was cut is told the whole answer, not what there was of it', async (t) => {
    const server = await t.serve({ config: { demo: { token_ms: 20 } } });
    const whole = (await server.post(CHAT, user('Tell me a story'))).json.choices[0].message.content;
    for (const headers of [RETRY, { 'idempotency-key': 'k-1' }]) {
        const body = { ...user('Tell me a story'), user: JSON.stringify(headers), stream: true }, first = await cutAfterWords(server, CHAT, body, headers);
        await stopped(server, first.thread);
        const again = await server.open('POST', CHAT, body, headers);
        await again.read();
        same([again.status, wordsOf(again), reasonOf(again)], [200, whole, 'stop'], body.user);
        same(again.thread, first.thread, 'in its thread');
        // and what follows goes on from there
        const next = await server.post(CHAT, { messages: [...body.messages, { role: 'assistant', content: whole }, { role: 'user', content: 'Thanks' }] });
        same(next.headers['parley-thread'], first.thread);
        same((await server.get(`/v1/threads/${first.thread}`)).json.messages.filter((m) => m.role === 'user').length, 2, 'one message, one more');
    }
    const body = { input: 'Tell me a story', store: false, stream: true }, cut = await cutAfterWords(server, RESPONSES, body);
    await stopped(server, cut.thread);
    const again = await server.open('POST', RESPONSES, body, RETRY);
    await again.read();
    same([sound(again.events).status, sound(again.events).output[0].content[0].text], ['completed', whole]);
});

test('a retry that comes while the first is still being told, or before anybody saw it leave, is attached', async (t) => {
    const server = await t.serve({ config: { demo: { token_ms: 20 } } });
    const body = { ...user('Tell me a story'), stream: true };
    const first = await server.open('POST', CHAT, body);
    await first.wait(() => first.events.length > 4, 'some words');
    const second = await server.open('POST', CHAT, body, RETRY);
    await first.close();
    await second.read();
    const ids = new Set([first, second].map((s) => s.events[0].data.id));
    same([ids.size, reasonOf(second), second.thread], [1, 'stop', first.thread]);
    same((await server.metrics())['parley_runs_total{outcome="cancelled"}'] ?? 0, 0);
});

test('what a cut chat did stays done: its retry says what came of it, and pays nothing again', async (t) => {
    let pay;
    const at = await bank(t, () => new Promise((yes) => { pay = yes; }));
    const model = await script(t);
    const server = await t.serve({ config: { ...payments(at, { confirm: 'never' }), model: model.model } });
    for (const [to, early] of [['Hanako', true], ['Taro', false]]) {
        model.steps.splice(0, 9, [['process_payment', { recipient: to, amount: 50, currency: 'USD' }]], 'It is paid.');
        const body = { ...user(`Send 50 dollars to ${to}`), stream: true };
        const s = await server.open('POST', CHAT, body);
        await until(() => pay, 'the payment to be under way');
        await s.close();
        await until(async () => (await server.get(`/v1/threads/${s.thread}`)).json.seq > 4, 'that it was left');
        const retry = async () => (await server.open('POST', CHAT, body, RETRY)).read();
        const going = early && retry();
        pay();
        if (!early) await stopped(server, s.thread);
        const again = await (going || retry());
        pay = undefined;
        same([wordsOf(again), reasonOf(again), again.thread], ['It is paid.', 'stop', s.thread], again.text);
    }
    same(at.books.map((x) => x.recipient), ['Hanako', 'Taro'], 'each once');
    same(model.heard.at(-1).messages.filter((m) => m.role === 'tool').length, 1, 'the model knows what came of it');
});

test('a first message whose answer was cut is known, however the client goes on: what it paid asks, and the model knows', async (t) => {
    let pay;
    const paid = (to) => at.books.filter((x) => x.recipient === to).length;
    const at = await bank(t, (x) => (paid(x.recipient) ? undefined : new Promise((yes) => { pay = yes; }))), model = await script(t);
    const server = await t.serve({ config: { ...payments(at, { confirm: 'never' }), model: model.model, openai: { chat_headers: ['x-chat'] } } });
    const shapes = { empty: [{ content: '' }], null: [{ content: null }], blank: [{ content: '\n' }], other: [{ content: '[stopped]' }], missing: [] };
    const chat = (list) => ({ messages: list, stream: true }), response = (list) => ({ input: list, store: false, stream: true });
    const cases = [...Object.keys(shapes).map((x) => [CHAT, chat, x]), [RESPONSES, response, 'empty'], [RESPONSES, response, 'other'], [RESPONSES, response, 'missing'],
        [CHAT, chat, 'other', { 'x-chat': 'a' }], [CHAT, chat, 'missing', { 'x-chat': 'b' }], [CHAT, chat, 'empty', { 'x-chat': 'c' }]];
    for (const [i, [door, body, shape, headers]] of cases.entries()) for (const late of [false, true]) {
        const to = `${i} ${late}`, first = { role: 'user', content: `Pay ${to}` }, call = [['process_payment', { recipient: to, amount: 50, currency: 'USD' }]];
        const assistant = shapes[shape].map((x) => ({ role: 'assistant', ...x }));
        model.steps.splice(0, 9, call, 'It is paid.', call);
        let speak;
        const s = await server.open('POST', door, body([first]), headers);
        await until(() => pay, 'the payment to be under way');
        const heard = model.heard.length;
        if (late) {
            model.thinks = new Promise((yes) => { speak = yes; });
            pay();
            await until(() => model.heard.length > heard, 'the model to be told of the payment');
        }
        await s.close();
        if (!late) pay();
        await stopped(server, s.thread);
        model.thinks = pay = undefined;
        speak?.();
        if (!late) model.steps.shift(); // nobody was told that it is paid
        const next = await (await server.open('POST', door, body([first, ...assistant, { role: 'user', content: 'Did it work?' }]), headers)).read();
        const what = `${door} ${shape} ${JSON.stringify(headers)} ${late}`;
        same(paid(to), 1, what);
        check(/yes \d{4}/.test(next.text), `${what}: a person is asked: ${next.text}`);
        check(/A version of this conversation that was replaced has already run these tools/.test(JSON.stringify(model.heard.at(-1).messages)), `${what}: the model is told`);
    }
});

test('what goes on from a first message while that is still thought about waits for it: one payment, and a person is asked', async (t) => {
    const at = await bank(t), model = await script(t), server = await t.serve({ config: { ...payments(at, { confirm: 'never' }), model: model.model } });
    for (const [i, leaves] of [false, true].entries()) {
        const first = { role: 'user', content: `Pay ${i}` }, call = [['process_payment', { recipient: `${i}`, amount: 50, currency: 'USD' }]];
        let speak;
        model.steps.splice(0, 9, call, ...(leaves ? [] : ['It is paid.']), call, 'Paid.');
        model.thinks = new Promise((yes) => { speak = yes; });
        const heard = model.heard.length, s = await server.open('POST', CHAT, { messages: [first], stream: true });
        await until(() => model.heard.length > heard, 'the model to be asked');
        const going = server.post(CHAT, { messages: [first, { role: 'assistant', content: '' }, { role: 'user', content: 'Did it work?' }] });
        await until(async () => (await server.metrics()).parley_connections >= 3, 'it to be there');
        same(model.heard.length, heard + 1, 'it waits');
        if (leaves) {
            await s.close();
            await stopped(server, s.thread);
            model.steps.splice(0, 9, call, call, 'Paid.'); // the first is for who has left
        }
        model.thinks = undefined;
        speak();
        const next = await going;
        same([/yes \d{4}/.test(next.text), at.books.filter((x) => x.recipient === `${i}`).length], [!leaves, 1], next.text);
    }
});

test('the same yes in words, sent again after its connection was cut, is told what came of it; it pays once', async (t) => {
    let pay;
    const at = await bank(t, () => new Promise((yes) => { pay = yes; })), model = await script(t);
    const server = await t.serve({ config: { ...payments(at), model: model.model } });
    for (const [to, early] of [['Hanako', true], ['Taro', false]]) for (const stream of [true, false]) {
        model.steps.splice(0, 9, [['process_payment', { recipient: `${to} ${stream}`, amount: 50, currency: 'USD' }]], 'It is paid.');
        const chat = new Chat(server);
        await chat.say(`Send 50 dollars to ${to}, ${stream}`);
        const body = { messages: [...chat.messages, { role: 'user', content: `yes ${chat.code}` }], stream };
        const seq = async () => (await server.get(`/v1/threads/${chat.thread}`)).json.seq;
        let begun;
        await leaves(server, CHAT, body, async () => { await until(() => pay, 'the payment to be under way'); begun = await seq(); }, 'reset');
        await until(async () => await seq() > begun, 'that it was left');
        const again = async () => { const s = await (await server.open('POST', CHAT, { ...body, stream: true })).read(); return [wordsOf(s), reasonOf(s), s.thread]; };
        const going = early && again();
        pay();
        if (!early) await stopped(server, chat.thread);
        pay = undefined;
        for (const told of [await (going || again()), await again(), await again()]) same(told, ['It is paid.', 'stop', chat.thread], `${to} ${stream}`);
    }
    same(at.books.length, 4, 'each once');
});

test('the same yes in words, sent again after the server was killed, is told what came of it; it pays once', async (t) => {
    const at = await bank(t), model = await script(t);
    const server = await t.serve({ config: { ...payments(at), model: model.model } });
    model.steps.push([['process_payment', { recipient: 'Hanako', amount: 50, currency: 'USD' }]], 'It is paid.', 'It is paid.');
    const chat = new Chat(server);
    await chat.say('Send 50 dollars to Hanako');
    let speak;
    model.thinks = new Promise((yes) => { speak = yes; });
    const heard = model.heard.length, body = { messages: [...chat.messages, { role: 'user', content: `yes ${chat.code}` }] };
    await leaves(server, CHAT, body, () => until(() => model.heard.length > heard, 'the model to be told of the payment'), 'reset');
    await server.restart('SIGKILL');
    speak();
    for (let i = 0; i < 2; i++) same((await server.post(CHAT, body)).json.choices[0].message.content, 'It is paid.');
    same(at.books.length, 1);
});

test('a no in words that was cut is told again as the no it is', async (t) => {
    const at = await bank(t), model = await script(t);
    const server = await t.serve({ config: { ...payments(at), model: model.model } });
    model.steps.push([['process_payment', { recipient: 'Hanako', amount: 50, currency: 'USD' }]]);
    const chat = new Chat(server);
    await chat.say('Send 50 dollars to Hanako');
    let speak;
    model.thinks = new Promise((yes) => { speak = yes; });
    const heard = model.heard.length, body = { messages: [...chat.messages, { role: 'user', content: `no ${chat.code}` }] };
    await leaves(server, CHAT, body, () => until(() => model.heard.length > heard, 'the model to be asked'), 'reset');
    await stopped(server, chat.thread);
    speak();
    for (let i = 0; i < 2; i++) {
        const r = await server.post(CHAT, body);
        same(/already denied/.test(r.json.choices[0].message.content), true, r.text);
    }
    same([at.books, (await server.get('/v1/approvals?status=pending')).json.approvals.length], [[], 0]);
});

test('left while its model speaks of an outcome, a run is over with its words: what is said next has an answer of its own', async (t) => {
    const server = await t.serve({ config: { demo: { token_ms: 30 } } }), chat = new Chat(server);
    await chat.say('Send 50 dollars to Hanako');
    const messages = [...chat.messages, { role: 'user', content: `yes ${chat.code}` }];
    const s = await server.open('POST', '/v1/chat/completions', { messages, stream: true });
    let heard = '';
    await s.must((e) => (heard += e.data?.choices?.[0]?.delta.content ?? '').includes('USD went'));
    await s.close();
    const shown = async () => (await server.get(`/v1/threads/${s.thread}`)).json;
    await until(async () => (await shown()).state === 'idle', 'the end');
    check(JSON.stringify(await shown()).includes('USD went'), 'what was told of it is kept');
    const next = await server.turn('What is the weather in Tokyo?', { thread_id: s.thread });
    check(/Tokyo/.test(next.payload.message) && !/Hanako/.test(next.payload.message), next.payload.message);
    same(server.ledger().length, 1);
});

test('a retry of what a person stopped is not begun anew', async (t) => {
    const server = await t.serve({ config: { demo: { token_ms: 20 } } });
    const body = { ...user('Tell me a story'), stream: true };
    const s = await server.open('POST', CHAT, body);
    await s.wait(() => s.events.length > 4, 'some words');
    same((await server.post(`/v1/threads/${s.thread}/stop`, {})).json.stopped, true);
    await s.read();
    const again = await server.open('POST', CHAT, body, RETRY);
    await again.read();
    same(wordsOf(again), wordsOf(s));
});

// A request as bytes, and an orderly close: half (it still reads) or whole.
const bytesOf = (at, body) => { const text = JSON.stringify(body); return `POST ${at} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: ${text.length}\r\n\r\n${text}`; };
async function leaves(server, at, body, going, how) {
    const socket = net.connect(server.port, '127.0.0.1');
    socket.on('error', () => {});
    await once(socket, 'connect');
    socket.write(bytesOf(at, body));
    await going();
    if (how === 'reset') socket.resetAndDestroy();
    else if (how === 'half') socket.end();
    else socket.destroy();
    return socket;
}

test('a client that closes before its answer has left a chat, politely or not; a stored response goes on', async (t) => {
    const model = await script(t), at = await bank(t);
    const server = await t.serve({ config: { ...payments(at, { confirm: 'never' }), model: model.model } });
    const cases = [[CHAT, (x) => user(x), true], [RESPONSES, (x) => ({ input: x, store: false }), true], [RESPONSES, (x) => ({ input: x }), false]];
    for (const [door, ask, stops] of cases) for (const how of ['close', 'reset', 'half']) {
        let speak;
        const heard = model.heard.length, paid = at.books.length, ended = async () => Object.entries(await server.metrics()).filter(([k]) => k.startsWith('parley_runs_total')).reduce((n, [, v]) => n + v, 0), before = await ended();
        model.thinks = new Promise((yes) => { speak = yes; });
        model.steps.splice(0, 9, [['process_payment', { recipient: `${door} ${how} ${stops}`, amount: 1, currency: 'USD' }]], 'Paid.');
        const socket = await leaves(server, door, ask(`Pay ${how} ${stops}`), () => until(() => model.heard.length > heard, 'the model to be asked'), how);
        if (stops) await until(async () => await ended() > before, 'the run to end');
        speak();
        await until(async () => await ended() > before, 'the run to end');
        socket.destroy();
        same(at.books.length - paid, stops ? 0 : 1, `${door} ${how}`);
    }
    // elsewhere a half-close is none
    model.thinks = undefined;
    const text = await raw(server, bytesOf(RESPONSES, { input: 'Hello' }));
    same(/^HTTP\/1.1 200/.test(text), true, text);
});
