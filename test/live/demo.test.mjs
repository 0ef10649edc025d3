// Every row of the demo's table, through the typed door (seed 001) and the
// tool-calling door (seed 000). One server for each group; every conversation
// must also be sound: see lib.mjs.
import { check, same, sound, test } from './lib.mjs';

const PAYMENT = (recipient, amount = 50) => ({ amount, currency: 'USD', recipient });

// What a person writes; the calls that must be seen, with their input; `gated`: it ends at a gate.
const ROWS = [
    { say: 'hello' },
    { say: 'an entirely unknown sentence, about nothing!' },
    { say: 'Find articles about CRISPR', calls: [['search_articles', { query: 'CRISPR' }]], text: /^Let me search for that\.\.\.\n\n\[\[tool:0\]\]\n\nI found \d+ relevant articles\./ },
    { say: 'please, find articles about crispr!!', calls: [['search_articles', { query: 'crispr' }]] },
    { say: 'What is the weather in Tokyo?', calls: [['get_weather', { city: 'Tokyo' }]] },
    { say: 'WHAT IS THE WEATHER IN TOKYO', calls: [['get_weather', { city: 'TOKYO' }]] },
    { say: 'Build me a todo app', calls: [['generate_artifact', { prompt: 'todo app', artifactType: 'html' }]], intent: "I'll build a todo app for you..." },
    { say: 'Generate an image of a sunset over mountains', calls: [['generate_image', { prompt: 'a sunset over mountains' }]], intent: "I'll create an image of a sunset over mountains for you..." },
    { say: 'Search for the latest React 19 features', calls: [['browser.search', { query: 'latest React 19 features' }]], intent: "I'll search for information about latest React 19 features..." },
    { say: 'Send 50 dollars to Hanako', gated: true, calls: [['process_payment', PAYMENT('Hanako')]] },
    { say: '花子さんに50ドル送金してください', gated: true, calls: [['process_payment', PAYMENT('花子')]] },
    { say: 'Send 50 dollars to Hanako and 20 dollars to Taro', gated: true, calls: [['process_payment', PAYMENT('Hanako')], ['process_payment', PAYMENT('Taro', 20)]] },
    { say: 'Send 50 dollars to Hanako and tell me the weather in Tokyo', gated: true, calls: [['process_payment', PAYMENT('Hanako')], ['get_weather', { city: 'Tokyo' }, 'free']] },
    { say: 'Change the BGM to track 1', gated: true, calls: [['change_bgm', { track: 1 }]] },
    { say: 'Where am I?', gated: true, calls: [['get_location', {}]] },
    { say: 'Propose a schema' },
    { say: 'Tell me a long story' },
    { say: 'Keep using tools', calls: Array.from({ length: 5 }, () => ['get_weather']) },
];

for (const row of ROWS) {
    test(`"${row.say}" does what the demo's table says`, async (t) => {
        const server = await t.serve();
        const s = sound(await server.turn(row.say));
        same(s.types()[0], 'status', 'the first event');
        same(s.events[0].data.message, 'Thinking...');
        const intents = s.of('intent_confirmation');
        same(intents.map((i) => i.tool), (row.calls ?? []).map(([tool]) => tool), 'the tools announced');
        if (row.intent) same(intents[0].message, row.intent, 'the intent');
        for (const [i, [tool, input, free]] of (row.calls ?? []).entries()) {
            const event = row.gated && !free ? s.of('tool_confirmation') : s.of('tool_start');
            const of = event.find((e) => e.tool_use_id === intents[i].tool_use_id);
            check(of, `${tool} is told as ${row.gated && !free ? 'a question' : 'started'}`);
            if (input) same(of.input, input, `the input of ${tool}`);
        }
        if (row.text) check(row.text.test(s.payload.message), `the text: ${s.payload.message}`);
        if (!row.gated) {
            check(!s.payload.awaiting, 'nothing is awaited');
            same(s.of('tool_complete').every((c) => c.ok), true, 'every tool is well');
            same((s.payload.tool_history ?? []).length, (row.calls ?? []).length, 'the entries of the history');
        } else gate(s, row);
        same(server.ledger(), [], 'payments that nobody approved');
    });
}

function gate(s, row) {
    const asked = s.of('tool_confirmation');
    same(asked.length, row.calls.filter((c) => !c[2]).length, 'questions');
    same(s.payload.awaiting, asked.map((a) => a.confirmation_id), 'awaiting');
    for (const a of asked) {
        same(a.confirmation_id, 'confirmation-' + a.tool_use_id, 'the confirmation id');
        check(typeof a.ask === 'string' && a.ask.endsWith('?'), `a question: ${a.ask}`);
        check(/^\d{4}-\d\d-\d\dT/.test(a.expires_at), 'expires_at is a time');
        check(['low', 'high'].includes(a.risk), `risk: ${a.risk}`);
        check(!('hint' in a), 'no hint');
    }
    same(s.payload.suggested_actions.map((x) => [x.action, x.data.confirmation_id]),
        asked.flatMap((a) => [['approve', a.confirmation_id], ['deny', a.confirmation_id]]), 'the buttons');
}

test('suggested replies show what can be tried', async (t) => {
    const s = await (await t.serve()).turn('hello');
    check(s.payload.suggested_values.length >= 3, 'some replies');
    for (const v of s.payload.suggested_values) check(v.label && v.value, 'each has a label and a value');
    check(!('suggested_actions' in s.payload), 'empty lists are left out');
    check(!('custom_payload' in s.payload), 'no payload without tools');
});

test('the schema proposal is presented with its two actions, without cards and without another model call', async (t) => {
    const s = sound(await (await t.serve()).turn('Propose a schema'));
    same(s.payload.custom_payload.type, 'schema_proposal');
    same(s.payload.suggested_actions.map((a) => [a.action, a.handler, a.style]), [['apply_schema', 'server', 'primary'], ['close_chat', 'client', 'secondary']]);
    same(s.types().filter((x) => x !== 'text_delta'), ['status', 'complete'], 'the events');
    check(!s.payload.tool_history, 'reply tools are not in the history');
});

test('a long story has at least 120 words and streams word by word', async (t) => {
    const server = await t.serve({ config: { demo: { token_ms: 1 } } });
    const s = sound(await server.turn('Tell me a long story'));
    check(s.payload.message.split(/\s+/).length >= 120, 'enough words');
    check(s.of('text_delta').length > 60, `many deltas: ${s.of('text_delta').length}`);
});

test('the iteration limit gives five rounds of tools and a closing answer', async (t) => {
    const server = await t.serve();
    const s = sound(await server.turn('Keep using tools'));
    same(s.of('tool_complete').length, 5, 'rounds');
    same(s.events.at(-1).data.type, 'complete');
    check(s.payload.message.split('[[tool:4]]')[1].trim().length > 20, 'words after the last tool');
    const two = await t.serve({ config: { max_iterations: 2 } });
    same(sound(await two.turn('Keep using tools')).of('tool_complete').length, 2, 'rounds with max_iterations 2');
});

test('a model error ends the run with an error that may be tried again, and the thread goes on', async (t) => {
    const server = await t.serve();
    const s = sound(await server.turn('Simulate a model error'));
    const e = s.events.at(-1).data;
    same([e.type, typeof e.code, e.retryable], ['error', 'string', true]);
    check(s.words.length > 0, 'a few words came first');
    check(!s.of('complete').length, 'no complete');
    const next = sound(await server.turn('hello', { thread_id: s.thread }));
    same(next.thread, s.thread);
});

test('a server action runs its tool under the policy and tells what came of it', async (t) => {
    const server = await t.serve();
    const s = await server.turn('Propose a schema');
    const a = s.payload.suggested_actions[0];
    const done = sound(await (await server.open('POST', '/v1/chat/stream', { thread_id: s.thread, action: { action: a.action, data: a.data } })).read());
    same(done.of('tool_start')[0].tool, 'apply_schema');
    same(done.of('tool_start')[0].input, a.data);
    same(done.payload.tool_history[0].ok, true);
    check(!/[.!?]["')]?\.(?!\.)/.test(done.words.replaceAll('...', '')), `one full stop is enough: ${done.words}`);
    const flat = await server.post(`/v1/threads/${s.thread}/actions`, { action: a.action, data: a.data });
    same([flat.status, typeof flat.json.run_id], [202, 'string']);
    const unknown = await server.post(`/v1/threads/${s.thread}/actions`, { action: 'no_such_action' });
    same([unknown.status, unknown.json.error.code], [404, 'unknown_action']);
});

test('the payload of a search is the one of seed 001', async (t) => {
    const s = sound(await (await t.serve()).turn('Find articles about CRISPR'));
    const p = s.payload, h = p.tool_history[0];
    same([p.thread_id, p.run_id], [s.thread, s.run]);
    same([h.tool_name, h.input, h.ok, h.tool_use_id], ['search_articles', { query: 'CRISPR' }, true, s.of('tool_start')[0].tool_use_id]);
    check(/^Found \d+ articles:/.test(h.output), `output: ${h.output}`);
    check(Number.isInteger(h.ms), 'ms');
    same(p.custom_payload, { type: 'tool_history', data: p.tool_history }, 'custom_payload');
    check(p.usage.input_tokens > 0 && p.usage.output_tokens > 0, 'usage');
    for (const e of s.of('tool_progress')) same(Object.keys(e), ['type', 'tool', 'stage', 'message', 'progress', 'data', 'tool_use_id'], 'progress');
});

test('a search shows three stages of progress when it has time', async (t) => {
    const server = await t.serve({ config: { demo: { token_ms: 25 } } });
    const s = sound(await server.turn('Find articles about CRISPR'));
    const stages = s.of('tool_progress');
    check(new Set(stages.map((p) => p.stage)).size >= 3, `stages: ${stages.map((p) => p.stage)}`);
    for (const p of stages) check(p.progress === null || (p.progress >= 0 && p.progress <= 1), 'from 0 to 1');
    same(s.of('status').length, 2, 'status before each model call');
});

// --- seed 000 ----------------------------------------------------------------------------

const door = async (server, body) => (await server.open('POST', '/functions/v1/chat', body)).read();
const order = (s) => s.types().filter((x, i, all) => x !== all[i - 1]);

for (const [say, tool, made] of [['Build me a todo app', 'generate_artifact', 'html'],
    ['Generate an image of a sunset over mountains', 'generate_image', 'svg']]) {
    test(`the tool-calling door tells ${tool} in the order of seed 000`, async (t) => {
        const s = await door(await t.serve(), { messages: [{ role: 'user', content: say }] });
        same(order(s).filter((x) => x !== 'content'), ['intent_confirmation', 'status_update', 'tool_call_start', 'artifact_complete', ...(tool === 'generate_image' ? ['image_complete'] : []), 'tool_result', 'done', '[DONE]'], 'the order');
        const [intent] = s.of('intent_confirmation'), [start] = s.of('tool_call_start'), [art] = s.of('artifact_complete'), [result] = s.of('tool_result');
        same(Object.keys(intent), ['type', 'message', 'toolName', 'timestamp']);
        same([start.toolName, start.toolCallId], [tool, result.toolCallId]);
        check(start.arguments.prompt, 'arguments');
        same(result.success, true);
        check(art.artifact.id && art.artifact.title && art.artifact.content && art.artifact.type.includes(made), `the artifact: ${art.artifact.type}`);
        for (const e of s.events) if (e.data?.type && e.data.type !== 'done') check(Number.isInteger(e.data.timestamp), `a timestamp on ${e.raw.slice(0, 80)}`);
    });
}

test('the tool-calling door streams text as choices and takes the seed\'s list of messages', async (t) => {
    const server = await t.serve();
    const s = await door(server, { messages: [{ role: 'user', content: 'Tell me a long story' }, { role: 'assistant', content: 'x' },
        { role: 'user', content: [{ type: 'text', text: 'What is the ' }, { type: 'text', text: 'weather in Tokyo?' }] }] });
    const text = s.events.filter((e) => e.data?.choices).map((e) => e.data.choices[0].delta.content).join('');
    check(text.includes('Tokyo') && !text.includes('lighthouse'), `only the last user message counts: ${text}`);
    same(s.types().slice(-2), ['done', '[DONE]']);
    check(!text.includes('[[tool:'), 'no markers on this door');
});

test('the tool-calling door ends a gated call with its question, then done', async (t) => {
    const s = await door(await t.serve(), { message: 'Send 50 dollars to Hanako' });
    same(order(s).slice(-4), ['intent_confirmation', 'tool_confirmation', 'done', '[DONE]']);
    const q = s.of('tool_confirmation')[0];
    same(q.input, PAYMENT('Hanako'));
    same(q.confirmation_id, 'confirmation-' + q.tool_use_id);
});

test('every call of a step gets its intent line on the tool-calling door', async (t) => {
    const s = await door(await t.serve(), { message: 'Send 50 dollars to Hanako and tell me the weather in Tokyo' });
    same(s.of('intent_confirmation').map((i) => i.toolName), ['process_payment', 'get_weather']);
    check(s.types().indexOf('tool_call_start') > s.types().lastIndexOf('intent_confirmation'), 'before any start');
    same(s.types().slice(-2), ['done', '[DONE]']);
    same(s.of('tool_result').map((r) => r.toolName), ['get_weather'], 'the free call is over before the stream ends');
});

test('the tool-calling door tells a model error as error, then [DONE]', async (t) => {
    const s = await door(await t.serve(), { message: 'Simulate a model error' });
    same(s.types().slice(-2), ['error', '[DONE]']);
    check(s.of('error')[0].error && s.of('error')[0].code, 'what and which');
});
