// conversations.test.mjs -- what people do with a chat, held against both majors and all
// doors the AI SDK knows.
import { check, same, settled, test as register, until } from '../live/lib.mjs';
import { serveModel, startUpstream } from '../live/upstream.mjs';
import { MAJORS, chatOf } from './client.mjs';

// Each test runs for each major and door; the WebSocket transport is major 7's. {scripted}: the model is `up`, which says
// what it is told, and waits where it is told to.
const DOORS = [[6, '/api/chat'], [7, '/api/chat'], [6, '/stream'], [7, '/stream'], [7, 'ws']];
function test(name, run, { doors = DOORS, config, scripted } = {}) {
    for (const [major, door] of doors)
        register(`ai ${major} on ${door}: ${name}`, async (t) => {
            const up = scripted && await startUpstream(t);
            const server = await (up ? serveModel(t, up, 'openai', { config }) : t.serve({ config }));
            await run({ t, server, up, major, door, chat: (more) => chatOf(t, server, major, { door, ...more }) });
        });
}
const adk = (door) => door === '/stream';
const states = (c) => c.tools.map((p) => [p.type.slice(5), p.state]);
const PAY = 'Send 50 dollars to Hanako', PAY_TWO = 'Send 50 dollars to Hanako and 20 dollars to Taro';

function fine(c, posts) {
    same(c.count.errors.map(String), [], 'errors of the client');
    same(c.chat.status, 'ready', 'status');
    same(c.count.posts, posts, 'how often the client sent');
}

test('a text is one request', async ({ chat }) => {
    const c = chat();
    await c.say('hello');
    fine(c, 1);
    check(c.text.length > 20, 'the words');
    same(c.chat.messages.length, 2);
    check(c.last.parts.every((p) => p.type !== 'text' || p.state === 'done'), 'all texts are done');
});

test('a server tool is one request and never handed to onToolCall', async ({ chat }) => {
    const c = chat();
    await c.say('What is the weather in Tokyo?');
    fine(c, 1);
    same(states(c), [['get_weather', 'output-available']]);
    same(c.count.toolCalls, []);
    same(c.count.data.filter((d) => d.type === 'data-intent').map((d) => d.data.toolName), ['get_weather'], 'the intent');
    check(c.text.includes('Tokyo'), 'the words');
});

test('an approved payment is two requests and one line in the ledger', async ({ chat, server, door }) => {
    const c = chat();
    await c.say(PAY);
    same(c.asked.length, 1);
    fine(c, 1);
    await c.approve(c.asked[0], true);
    fine(c, 2);
    const payment = c.tool('process_payment');
    same([payment.state, payment.input.recipient, payment.output.recipient], ['output-available', 'Hanako', 'Hanako']);
    same(c.tools.length, adk(door) ? 2 : 1, 'no second part for the call');
    same(c.chat.messages.length, 2, 'one answer');
    same(server.ledger().map((l) => l.call_id), [payment.toolCallId]);
    check(c.text.includes('Hanako'), 'the words');
});

test('a denied payment is two requests, and the model speaks of it', async ({ chat, server, door }) => {
    const c = chat();
    await c.say(PAY);
    await c.approve(c.asked[0], false, 'too much');
    fine(c, 2);
    same(c.tool('process_payment').state, adk(door) ? 'output-error' : 'output-denied');
    same(server.ledger(), []);
    check(c.text.split('\n').at(-1).length > 20, 'the words');
});

test('two gates are answered together in one request', async ({ chat, server }) => {
    const c = chat();
    await c.say(PAY_TWO);
    same(c.asked.length, 2);
    const [a, b] = c.asked;
    await c.approve(b, false);
    same(c.count.posts, 1, 'nothing is sent before both are answered');
    await c.approve(a, true);
    fine(c, 2);
    same(server.ledger().map((l) => l.recipient), ['Hanako']);
    check(c.text.split('\n').at(-1).length > 20, 'the words');
});

test('a gate beside a free call', async ({ chat, server }) => {
    const c = chat();
    await c.say('Send 50 dollars to Hanako and tell me the weather in Tokyo');
    same(c.tool('get_weather').state, 'output-available', 'the free one is told before the stream ends');
    await c.approve(c.asked[0], true);
    fine(c, 2);
    same(server.ledger().length, 1);
});

test('a gated client tool is approved, run by the page, and answered: three requests', async ({ chat }) => {
    const c = chat({ tools: { get_location: async () => ({ latitude: 35.6, longitude: 139.7 }) } });
    await c.say('Where am I?');
    const before = c.count.toolCalls.filter((n) => n === 'get_location').length;
    await c.approve(c.asked[0], true);
    fine(c, 3);
    check(c.count.toolCalls.filter((n) => n === 'get_location').length > before, 'the page ran it after the yes');
    same(c.tool('get_location').state, 'output-available');
    check(c.text.includes('35.6'), 'the words speak of the place');
}, { doors: [[6, '/stream'], [7, '/stream']] });

// In the native form onToolCall fires with the question too; a page runs the tool when the state says so.
test('a gated client tool by its state: approved, run by the page, answered: three requests', async ({ chat }) => {
    const c = chat();
    await c.say('Where am I?');
    await c.approve(c.asked[0], true);
    const part = c.tool('get_location');
    same(part.state, 'input-available', 'it may be run');
    await c.chat.addToolOutput({ tool: 'get_location', toolCallId: part.toolCallId, output: { latitude: 35.6, longitude: 139.7 } });
    await c.quiet();
    fine(c, 3);
    same(c.tool('get_location').state, 'output-available');
    check(c.text.includes('35.6'), 'the words speak of the place');
}, { doors: [[6, '/api/chat'], [7, '/api/chat'], [7, 'ws']] });

test('a denied client tool is not run by the page', async ({ chat, door }) => {
    const c = chat({ tools: {} });
    await c.say('Change the BGM to track 1');
    const before = c.count.toolCalls.length;
    await c.approve(c.asked[0], false);
    fine(c, 2);
    same(c.count.toolCalls.length, before, 'onToolCall after the no');
    same(c.tool('change_bgm').state, adk(door) ? 'output-error' : 'output-denied');
});

test('a free client tool: two requests', async ({ chat }) => {
    const c = chat({ tools: { change_bgm: async ({ track }) => ({ playing: track }) } });
    await c.say('Change the BGM to track 1');
    fine(c, 2);
    same(c.tool('change_bgm').output, { playing: 1 });
    check(c.text.length > 20, 'the words');
}, { config: { tools: { change_bgm: { client: true, description: 'Changes the music' } }, actions: {}, demo: { tools: false } } });

test('a client tool that fails in the page', async ({ chat }) => {
    const c = chat();
    await c.say('Where am I?');
    await c.approve(c.asked[0], true);
    await c.chat.addToolOutput({ tool: 'get_location', toolCallId: c.tool('get_location').toolCallId, state: 'output-error', errorText: 'permission refused' });
    await c.quiet();
    fine(c, 3);
    check(c.text.split('\n').at(-1).length > 10, 'the words');
});

test('an ignored gate is withdrawn by the next message', async ({ chat, server, door }) => {
    const c = chat();
    await c.say(PAY);
    const old = c.asked[0];
    await c.say('hello');
    fine(c, 2);
    same(c.chat.messages.map((m) => m.role), ['user', 'assistant', 'user', 'assistant']);
    const id = adk(door) ? old.toolCallId : old.approval.id;
    same((await server.get(`/v1/approvals/${id}`)).json.status, 'cancelled');
    await c.approve({ ...old }, true).catch(() => {});       // a click on the old button
    await c.quiet();
    same(server.ledger(), []);
});

test('stop leaves the page, the stop endpoint ends the run, the next message works', async ({ chat, server }) => {
    const c = chat();
    const talk = c.chat.sendMessage({ text: 'Tell me a long story' });
    await until(() => c.last?.role === 'assistant' && c.text.length > 10, 'the first words');
    await c.chat.stop();
    await talk;
    same((await server.get(`/v1/threads/${c.id}`)).json.state, 'running', 'leaving is not stopping');
    same((await server.post(`/v1/threads/${c.id}/stop`)).json.stopped, true);
    await settled(server, c.id);
    await c.say('hello');
    fine(c, 2);
}, { config: { demo: { token_ms: 10 } } });

test('a new message replaces an answer that still streams', async ({ chat, server }) => {
    const c = chat();
    const talk = c.chat.sendMessage({ text: 'Tell me a long story' });
    await until(() => c.last?.role === 'assistant' && c.text.length > 10, 'the first words');
    await c.chat.stop();
    await talk;
    await c.say('hello');
    fine(c, 2);
    same((await server.get(`/v1/threads/${c.id}`)).json.state, 'idle');
}, { config: { demo: { token_ms: 10 } } });

test('another tab that stops a run: this one ends without a loop', async ({ chat, server }) => {
    const c = chat();
    const talk = c.chat.sendMessage({ text: 'Tell me a long story' });
    await until(() => c.last?.role === 'assistant' && c.text.length > 10, 'the first words');
    await server.post(`/v1/threads/${c.id}/stop`);
    await talk;
    await c.quiet();
    fine(c, 1);
}, { config: { demo: { token_ms: 10 } } });

// Somebody comes back to an answer that is being told: `history` is what the page was told, `told` how much of the
// answer it is told again before the model goes on.
async function comeBack({ t, server, up, major, door }, c, talk, history, told) {
    const reloaded = chatOf(t, server, major, { door, id: c.id, messages: history });
    const resumed = reloaded.chat.resumeStream();
    await until(() => reloaded.last?.role === 'assistant' && reloaded.text.length > told, 'the words so far');
    await up.go();
    await resumed;
    await reloaded.quiet();
    await talk;
    fine(reloaded, 0);
    return reloaded;
}

test('resume after a reload shows the whole message once', async (o) => {
    const c = o.chat();
    const talk = c.chat.sendMessage({ text: '{{scenario:held-60}} Tell me a long story' });
    await until(() => c.last?.role === 'assistant' && c.text.length > 10, 'the first words');
    const history = (await o.server.get(`/v1/threads/${c.id}`)).json.messages;
    same(history.map((m) => m.role), ['user'], 'the unfinished answer is left out');
    const reloaded = await comeBack(o, c, talk, history, 10);
    same(reloaded.chat.messages.map((m) => m.role), ['user', 'assistant']);
    same(reloaded.text, c.text);
    same(reloaded.last.id, c.last.id);
}, { scripted: true });

test('resume in the continuation of an approved payment replays both halves as one message', async (o) => {
    const c = o.chat();
    await c.say('{{call process_payment {"amount":50,"currency":"USD","recipient":"Hanako"}}} {{then:held-60}}');
    const history = (await o.server.get(`/v1/threads/${c.id}`)).json.messages.slice(0, 1), first = c.text.length;
    const talk = c.approve(c.asked[0], true);
    await until(() => o.server.ledger().length, 'the payment');
    await until(() => c.text.length > first + 10, 'the continuation');
    const reloaded = await comeBack(o, c, talk, history, first + 10);
    same(reloaded.chat.messages.length, 2);
    same(reloaded.tool('process_payment').state, 'output-available');
    same(reloaded.text, c.text);
}, { scripted: true });

test('resume when nothing runs is no error', async ({ chat, server }) => {
    const c = chat();
    await c.chat.resumeStream();
    await c.quiet();
    fine(c, 0);
    same(c.chat.messages.length, 0);
    await c.say(PAY);
    await c.chat.resumeStream();
    await c.quiet();
    same(c.asked.length, 1, 'the question still stands');
    check(server, 'alive');
});

test('a reloaded page has its buttons back and its click works', async ({ t, server, major, door, chat }) => {
    const c = chat();
    await c.say(PAY);
    const history = (await server.get(`/v1/threads/${c.id}${adk(door) ? '?approval=adk' : ''}`)).json.messages;
    const again = chatOf(t, server, major, { door, id: c.id, messages: history });
    same(again.asked.length, 1, 'the question is there');
    await again.approve(again.asked[0], true);
    fine(again, 1);
    same(again.tool('process_payment').state, 'output-available');
    same(server.ledger().length, 1);
});

test('regenerate answers the same question again', async ({ chat, server }) => {
    const c = chat();
    await c.say('What is the weather in Tokyo?');
    const first = c.last.id;
    await c.chat.regenerate();
    await c.quiet();
    fine(c, 2);
    check(c.last.id !== first, 'a new answer');
    same(c.chat.messages.length, 2);
    same((await server.get(`/v1/threads/${c.id}`)).json.messages.map((m) => m.role), ['user', 'assistant'], 'the log shows the branch');
});

test('an edited message begins a branch', async ({ chat, server }) => {
    const c = chat();
    await c.say('What is the weather in Tokyo?');
    const id = c.chat.messages[0].id;
    await c.chat.sendMessage({ text: 'What is the weather in Paris?', messageId: id });
    await c.quiet();
    fine(c, 2);
    check(c.text.includes('Paris') && !c.text.includes('Tokyo'), 'the new answer');
    const shown = (await server.get(`/v1/threads/${c.id}`)).json.messages;
    same(shown.map((m) => m.parts.find((p) => p.type === 'text').text)[0], 'What is the weather in Paris?');
    same(shown.length, 2);
});

test('a model that fails is an error and no loop', async ({ chat }) => {
    const c = chat();
    await c.say('Simulate an error');
    same(c.chat.status, 'error');
    same(c.count.posts, 1);
    check(c.chat.error.message.length > 5, 'a sentence');
});

test('a refused answer is shown as its sentence, once', async ({ chat, server, door }) => {
    const c = chat();
    await c.say(PAY);
    const part = c.asked[0], id = adk(door) ? part.toolCallId : part.approval.id;
    same((await server.post(`/v1/approvals/${id}`, { confirmed: false })).status, 200);
    await settled(server, c.id);
    await c.approve(part, true);
    same(c.count.posts, 2);
    same(c.chat.status, 'error');
    same(c.chat.error.message, 'This was already denied.');
    same(server.ledger(), []);
});

test('an answer given elsewhere and the same click here: the outcome and the words follow', async ({ chat, server, door }) => {
    const c = chat();
    await c.say(PAY);
    const part = c.asked[0], id = adk(door) ? part.toolCallId : part.approval.id;
    same((await server.post(`/v1/approvals/${id}`, { confirmed: true })).status, 200);
    await settled(server, c.id);
    await c.approve(part, true);
    fine(c, 2);
    same(c.tool('process_payment').state, 'output-available');
    check(c.text.includes('Done'), 'the words');
    same(server.ledger().length, 1);
});

test('ten turns in one chat', async ({ chat, server }) => {
    const c = chat();
    let posts = 0;
    for (let i = 0; i < 5; i++) {
        await c.say(PAY);
        await c.approve(c.asked[0], i % 2 === 0);
        await c.say('hello');
        posts += 3;
        fine(c, posts);
    }
    same(server.ledger().length, 3);
    same(c.chat.messages.length, 20);
});

// --- the history endpoint, held against the SDK's own validation ------------------------------------

for (const [major, ai] of Object.entries(MAJORS))
    register(`ai ${major}: the history of every state passes validateUIMessages, in both forms`, async (t) => {
        const server = await t.serve();
        const valid = async (id) => {
            for (const form of ['native', 'adk']) {
                const { messages } = (await server.get(`/v1/threads/${id}?approval=${form}`)).json;
                await ai.validateUIMessages({ messages });
            }
        };
        const c = chatOf(t, server, major);
        await c.say(PAY_TWO);
        await valid(c.id);
        const [a, b] = c.asked;
        await server.post(`/v1/approvals/${a.approval.id}`, { confirmed: true });
        await valid(c.id);
        await server.post(`/v1/approvals/${b.approval.id}`, { confirmed: false, reason: 'no' });
        await settled(server, c.id);
        await valid(c.id);
        await c.say('Where am I?');
        await server.post(`/v1/approvals/${c.asked[0].approval.id}`, { confirmed: true });
        await settled(server, c.id);
        await valid(c.id);
        await c.say('Find articles about CRISPR');
        await c.say(PAY);
        await c.say('Propose a schema');
        await valid(c.id);
    });
