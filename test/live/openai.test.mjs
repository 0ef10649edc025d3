// Clients of OpenAI's shapes: /v1/responses, /v1/chat/completions, /v1/models, /v1/conversations.
import { check, oneProcess, parley, same, settled, test, until } from './lib.mjs';
import { Chat, asksOf, callsOf, codeOf, respond, sound, stream, textOf, whole } from './openai.mjs';
import { as, auth, bank, decide, payments, say, script, still } from './org.mjs';

const PAY = 'Send 50 dollars to Hanako';
const refusal = async (promise) => { try { await promise; } catch (e) { return [e.status, e.error?.code, e.error?.param]; } throw new Error('it was not refused'); };

// --- models and errors ---------------------------------------------------------------------------

test('models are the default page, the others, and what they are also called', async (t) => {
    const server = await t.serve({ config: { pages: { articles: { system: 'x' } }, openai: { models: { 'gpt-4o': 'parley/articles' } } } });
    same((await server.get('/v1/models')).json.data.map((m) => m.id), ['parley', 'parley/articles', 'gpt-4o']);
    same((await server.get('/v1/models/gpt-4o')).json, { id: 'gpt-4o', object: 'model', created: 0, owned_by: 'parley' });
    same((await server.get('/v1/models/parley/articles')).json.id, 'parley/articles');
    const no = await server.get('/v1/models/gpt-5');
    same([no.status, no.json.error.code, Object.keys(no.json.error)], [404, 'model_not_found', ['message', 'type', 'param', 'code']]);
    same((await respond(server, { model: 'gpt-4o', input: 'Hello' })).model, 'gpt-4o');
});

test('what would change the meaning of an answer is refused by name', async (t) => {
    const server = await t.serve();
    const cases = [
        [{ input: 'x', n: 2 }, 'unsupported_value', 'n'], [{ input: 'x', stop: ['a'] }, 'unsupported_parameter', 'stop'],
        [{ input: 'x', text: { format: { type: 'json_schema' } } }, 'unsupported_value', 'text.format'],
        [{ input: 'x', modalities: ['text', 'audio'] }, 'unsupported_value', 'modalities'],
        [{ input: 'x', prompt: { id: 'p' } }, 'unsupported_parameter', 'prompt'], [{ input: 'x', temperature: 'hot' }, 'invalid_type', 'temperature'],
        [{ input: 'x', tools: [{ type: 'web_search' }] }, 'unsupported_value', 'tools[0].type'],
        [{ input: 'x', tools: [{ type: 'mcp', server_label: 'other', server_url: 'http://x' }] }, 'unsupported_value', 'tools[0].server_label'],
        [{ input: 'x', background: true, store: false }, 'unsupported_value', 'background'],
        [{ input: 'x', model: 'gpt-9' }, 'model_not_found', 'model'], [{}, 'missing_required_parameter', 'input'], [{ input: [] }, 'missing_required_parameter', 'input'],
        [{ input: [{ role: 'assistant', content: 'hi' }] }, 'missing_required_parameter', 'input'],
        [{ input: [{ role: 'user', content: [{ type: 'input_image', image_url: 'https://x/y.png' }] }] }, 'unsupported_value', 'input[0].content'],
        [{ input: [{ role: 'user', content: 'x' }, { type: 'computer_call_output', call_id: 'c' }] }, 'unsupported_value', 'input[1].type'],
        [{ input: 'x', previous_response_id: 'resp_a', conversation: 't_b' }, 'mutually_exclusive', 'previous_response_id'],
        [{ input: 'x', previous_response_id: 'resp_nobodys' }, 'previous_response_not_found', 'previous_response_id'],
        [{ input: 'x', conversation: 't_nobodys' }, 'conversation_not_found', 'conversation'],
        [{ input: [{ type: 'item_reference', id: 'rs_other' }, { role: 'user', content: 'x' }] }, 'item_not_found', 'input[0].id'],
        [{ input: 'x', metadata: { a: 1 } }, 'invalid_type', 'metadata'],
        [{ input: [{ type: 'function_call_output', call_id: 'call-nobodys', output: '1' }] }, 'unknown_call', null],
        [{ input: [{ type: 'mcp_approval_response', approval_request_id: 'confirmation-call-x', approve: true }] }, 'unknown_confirmation', null],
        [{ input: [{ type: 'mcp_approval_response', approval_request_id: 'confirmation-call-x', approve: 'true' }] }, 'malformed_answer', 'input[0].approve'],
        [{ input: 'x', tools: [{ type: 'function', name: 'process_payment' }] }, 'tool_name_reserved', 'tools'],
        [{ input: 'x', tools: [{ type: 'function', name: 'a b' }] }, 'invalid_value', 'tools[0]'],
    ];
    for (const [body, code, param] of cases) {
        const r = await server.post('/v1/responses', body);
        same([r.json.error.code, r.json.error.param], [code, param], JSON.stringify(body));
        same(Object.keys(r.json.error).sort(), ['code', 'message', 'param', 'type'], 'four members');
        check(r.status >= 400 && r.status < 500 && r.headers['x-request-id'], `${r.status}`);
    }
    const bad = await server.post('/v1/responses', '{"input":');
    same([bad.status, bad.json.error.code, bad.json.error.type], [400, 'bad_json', 'invalid_request_error']);
    same(server.ledger(), []);
});

// --- text ------------------------------------------------------------------------------------------

test('text, streamed and whole, is the same response', async (t) => {
    const server = await t.serve();
    const { s, response } = await stream(server, { input: 'Hello', metadata: { a: 'b' }, instructions: 'Be kind.' });
    same([response.status, response.output.length, response.metadata, response.instructions], ['completed', 1, { a: 'b' }, 'Be kind.']);
    check(s.thread && s.run && response.conversation.id === s.thread, 'its place');
    const got = await server.get(`/v1/responses/${response.id}`);
    same(got.json, response, 'fetched');
    const input = await server.get(`/v1/responses/${response.id}/input_items`);
    same([input.json.data[0].role, input.json.data[0].content[0].text, input.json.first_id, input.json.has_more], ['user', 'Hello', input.json.data[0].id, false]);
    const r = await respond(server, { input: 'Hello' });
    same(textOf(r), textOf(response), 'not streamed');
    check(r.conversation.id !== response.conversation.id, 'a thread of its own');
});

test('a chat goes on in its thread because of its words, streamed or not', async (t) => {
    const server = await t.serve();
    for (const streams of [false, true]) {
        const chat = new Chat(server, { streams });
        await chat.say(`Hello there ${streams}`);
        const thread = chat.thread;
        same(chat.last.finish_reason, 'stop');
        for (const text of ['Tell me a story', 'What is the weather in Tokyo?', 'Thanks']) {
            await chat.say(text);
            same(chat.thread, thread, text);
        }
        const shown = (await server.get(`/v1/threads/${thread}`)).json;
        same(shown.messages.filter((m) => m.role === 'user').length, 4);
    }
});

test('whitespace is nothing, a changed letter is another conversation', async (t) => {
    const server = await t.serve();
    const chat = new Chat(server);
    await chat.say('Hello');
    const thread = chat.thread, told = chat.messages[1].content;
    chat.messages[1].content = `  ${told.replaceAll(' ', '\n')}\n`;
    await chat.say('Thanks');
    same(chat.thread, thread);
    chat.messages = [{ role: 'user', content: 'Hello' }, { role: 'assistant', content: told.replace('H', 'J') }];
    await chat.say('Thanks');
    check(chat.thread !== thread, 'another');
    same((await server.get(`/v1/threads/${thread}`)).json.messages.filter((m) => m.role === 'user').length, 2);
});

test('regenerating forks: the first thread keeps its run and its question', async (t) => {
    const server = await t.serve();
    const chat = new Chat(server);
    await chat.say('Hello');
    await chat.say(PAY);
    const first = chat.thread, asked = (await server.get('/v1/approvals?status=pending')).json.approvals;
    chat.messages = chat.messages.slice(0, 2);
    await chat.say('Tell me a story');
    check(chat.thread !== first, 'a new thread');
    same((await server.get('/v1/approvals?status=pending')).json.approvals.map((a) => a.id), asked.map((a) => a.id), 'the question still waits');
    same((await server.get(`/v1/threads/${first}`)).json.state, 'waiting');
    const fork = (await server.get(`/v1/threads/${chat.thread}`)).json;
    same(fork.messages.filter((m) => m.role === 'user').map((m) => m.parts[0].text), ['Hello', 'Tell me a story']);
    await chat.say('Thanks');
    same((await server.get(`/v1/threads/${chat.thread}`)).json.messages.filter((m) => m.role === 'user').length, 3, 'it goes on by itself');
});

test('a chat program that cuts its history is known by the name it gives, and the last exchange', async (t) => {
    const server = await t.serve({ config: { openai: { chat_headers: ['X-OpenWebUI-Chat-Id'] } } });
    const named = (id) => ({ 'x-openwebui-chat-id': id });
    const chat = new Chat(server, { headers: named('c1') });
    for (const text of ['Hello', 'What is the weather in Tokyo?', 'Tell me a story']) await chat.say(text);
    const thread = chat.thread, cut = chat.messages.slice(-2);
    const again = async (headers, messages) => { const c = new Chat(server, { headers }); c.messages = [...messages]; await c.say('Thanks'); return c.thread; };
    check(await again(named('c2'), cut) !== thread, 'another conversation of that program');
    check(await again({}, cut) !== thread, 'the exchange alone');
    check(await again(named('c1'), []) !== thread, 'the header alone');
    same(await again(named('c1'), cut), thread);
});

test('conversations that a program names stay apart, however alike they began', async (t) => {
    const server = await t.serve({ config: { openai: { chat_headers: ['X-Chat'] } } });
    const chats = ['c1', 'c2', 'c3'].map((id) => new Chat(server, { headers: { 'x-chat': id } })), threads = [];
    for (const c of chats) { await c.say('Hello'); threads.push(c.thread); }
    same(new Set(threads).size, 3, 'three conversations');
    for (const i of [0, 2, 1, 0, 1]) {
        await chats[i].say('Hello');
        same(chats[i].thread, threads[i], `chat ${i}`);
    }
});

test('a title request is not listed until it becomes a conversation', async (t) => {
    const server = await t.serve();
    const chat = new Chat(server);
    await chat.say('Hello');
    same((await server.get('/v1/threads')).json.threads, []);
    await chat.say('Thanks');
    same((await server.get('/v1/threads')).json.threads.map((x) => x.id), [chat.thread]);
});

test('history that nobody here knows is context, and codes in it are masked', async (t) => {
    const server = await t.serve();
    const chat = new Chat(server);
    chat.messages = [{ role: 'user', content: 'My name is Ada' }, { role: 'assistant', content: 'Reply `yes 4821` to approve.' }];
    await chat.say('Hello');
    check(chat.text.length > 10, chat.text);
    same((await server.get(`/v1/threads/${chat.thread}`)).status, 200);
});

// --- own tools and questions --------------------------------------------------------------------------

test('own tools are mcp_call items, and lines of reasoning in a chat', async (t) => {
    const server = await t.serve();
    const { response } = await stream(server, { input: 'What is the weather in Tokyo?' });
    const [call] = callsOf(response);
    same([call.name, call.status, call.error, call.server_label, call.approval_request_id], ['get_weather', 'completed', null, 'parley', null]);
    check(call.output.length > 5 && JSON.parse(call.arguments), JSON.stringify(call));
    const chat = new Chat(server, { streams: true });
    await chat.say('What is the weather in Tokyo?');
    check(/get_weather: done/.test(chat.last.message.reasoning_content), chat.last.message.reasoning_content);
    check(!chat.last.message.tool_calls, 'no call that the client would run');
});

test('a question is an item and words; the item answers it, once', async (t) => {
    const server = await t.serve();
    const { response: asked } = await stream(server, { input: PAY });
    const [q] = asksOf(asked);
    same([asked.status, q.type, q.name], ['completed', 'mcp_approval_request', 'process_payment']);
    check(codeOf(textOf(asked)), 'a code');
    same(server.ledger(), []);
    const answer = { input: [{ type: 'mcp_approval_response', approval_request_id: q.id, approve: true }] };
    const { response: done } = await stream(server, answer);
    const [call] = callsOf(done);
    same([call.status, call.approval_request_id, call.name], ['completed', q.id, 'process_payment']);
    check(textOf(done).split(' ').length >= 12, textOf(done));
    same(server.ledger().length, 1);
    const again = await respond(server, answer);
    same(again.id, done.id, 'the response that told it');
    same(await refusal(respond(server, { input: [{ ...answer.input[0], approve: false }] })), [409, 'already_decided', 'input[0].approval_request_id']);
    same((await server.get(`/v1/approvals/${q.id}`)).json.decided_via, 'responses');
    same(server.ledger().length, 1);
});

test('who asks for more questions gets them, or hears that they cannot', async (t) => {
    const b = await bank(t), model = await script(t), server = await t.serve({ config: payments(b, { confirm: 'never' }, { model: model.model }) });
    const own = (require_approval) => [{ type: 'mcp', server_label: 'parley', require_approval }];
    for (const strict of ['always', { always: { tool_names: ['pay'] } }, { always: { read_only: false } }, { never: { tool_names: ['other'] } }]) {
        model.steps.push(pay(50));
        const r = await respond(server, { input: 'Pay', tools: own(strict) });
        check(r.output.some((x) => x.type === 'mcp_approval_request'), JSON.stringify([strict, r.output]));
    }
    for (const odd of ['Always', true, ['pay'], 5]) same(await refusal(respond(server, { input: 'Pay', tools: own(odd) })), [400, 'unsupported_value', 'tools[0].require_approval']);
    same(await refusal(respond(server, { input: 'Pay', max_tool_calls: 1 })), [400, 'unsupported_parameter', 'max_tool_calls']);
    same(await refusal(respond(server, { input: [{ type: 'note', role: 'user', content: 'Words' }] })), [400, 'unsupported_value', 'input[0].type']);
    same(paid(b), [], 'nothing was paid');
});

test('a no runs nothing, and says so', async (t) => {
    const server = await t.serve();
    const asked = await respond(server, { input: PAY, tools: [{ type: 'mcp', server_label: 'parley' }] });
    const [q] = asksOf(asked);
    check(!codeOf(textOf(asked)), 'items alone');
    const no = await respond(server, { previous_response_id: asked.id, input: [{ type: 'mcp_approval_response', approval_request_id: q.id, approve: false, reason: 'not today' }] });
    const [call] = callsOf(no);
    same([call.status, call.output], ['failed', null]);
    check(/User denied execution/.test(call.error.content[0].text), JSON.stringify(call.error));
    same(server.ledger(), []);
});

test('the extension has items of its own', async (t) => {
    const server = await t.serve({ config: { public_url: 'https://chat.localhost' } });
    const { response: asked } = await stream(server, { input: PAY, tools: [{ type: 'parley:approvals' }] });
    const [q] = asksOf(asked);
    same([q.type, q.url, q.decision, q.ask], ['parley:approval_request', `https://chat.localhost/a/${q.id}`, null, 'Send 50 USD to Hanako?']);
    same(q.expires_at, (await server.get(`/v1/approvals/${q.id}`)).json.expires_at, 'a time as everywhere');
    const { response: done } = await stream(server, { tools: [{ type: 'parley:approvals' }], input: [{ type: 'parley:approval_response', approval_request_id: q.id, approve: true }] });
    same([callsOf(done)[0].type, callsOf(done)[0].status], ['parley:tool_call', 'completed']);
    same(server.ledger().length, 1);
});

test('where a question is found begins as the browser speaks, as a proxy that is believed says', async (t) => {
    const server = await t.serve(), tools = [{ type: 'parley:approvals' }];
    for (const [proto, scheme] of [['https', 'https'], ['https, http', 'https'], ['HTTPS', 'https'], ['http, https', 'http'], ['http', 'http']]) {
        const r = await server.post('/v1/responses', { input: PAY, tools }, { 'x-forwarded-proto': proto });
        same([proto, asksOf(r.json).map((q) => q.url)], [proto, asksOf(r.json).map((q) => `${scheme}://${new URL(server.url).host}/a/${q.id}`)]);
        same(asksOf(r.json).length, 1);
    }
});

test('require_approval always makes every own tool ask', async (t) => {
    const server = await t.serve();
    const r = await respond(server, { input: 'What is the weather in Tokyo?', tools: [{ type: 'mcp', server_label: 'parley', require_approval: 'always' }] });
    same(asksOf(r).map((q) => q.name), ['get_weather']);
});

// --- in words -------------------------------------------------------------------------------------------

test('yes and its code approve, in a chat, once; again tells the same words', async (t) => {
    const server = await t.serve({ config: { public_url: 'https://chat.localhost' } });
    for (const streams of [false, true]) {
        const chat = new Chat(server, { streams }), before = server.ledger().length;
        await chat.say(PAY);
        check(chat.code && /\*\*Send 50 USD to Hanako\?\*\*\nprocess_payment \{"amount":50/.test(chat.text), chat.text);
        check(/https:\/\/chat\.localhost\/a\/confirmation-call-/.test(chat.text), chat.text);
        same(chat.last.finish_reason, 'stop');
        const past = [...chat.messages], code = chat.code, thread = chat.thread;
        await chat.say(`\`Yes ${code}.\``);
        same(chat.thread, thread);
        same(server.ledger().length, before + 1);
        check(chat.text.split(' ').length >= 12, chat.text);
        const words = chat.text;
        chat.messages = past;
        await chat.say(`yes ${code}`);
        same([chat.text, server.ledger().length], [words, before + 1], 'the recorded words');
        chat.messages = past.slice(0, 2);
        await chat.say(`no ${code}`);
        check(/already approved/.test(chat.text), chat.text);
        const a = (await server.get(`/v1/approvals?thread=${thread}`)).json.approvals[0];
        same([a.status, a.decided_via], ['done', 'words']);
        check(!JSON.stringify(a).includes(code), 'the code is not in the list');
        check(!JSON.stringify((await server.get(`/v1/threads/${thread}`)).json.messages).includes(code), 'nor in the messages');
    }
});

test('full-width digits and several lines are answers; no keeps its reason', async (t) => {
    const server = await t.serve();
    const chat = new Chat(server);
    await chat.say(PAY);
    await chat.say(`no ${[...chat.code].map((d) => String.fromCharCode(0xff10 + Number(d))).join('')} too much money`);
    const a = (await server.get(`/v1/approvals?thread=${chat.thread}`)).json.approvals[0];
    same([a.status, a.reason], ['denied', 'too much money']);
    same(server.ledger(), []);
});

// Each of these decides nothing, supersedes nothing and calls no model.
const NOT_A_YES = (code) => ['yes', 'YES', 'ok', 'I approve', `yes ${code} but only 20`, `yes, ${code}`, `approve ${code}`, `${code}`, `please do it, the code is ${code}`, `yes ${code}0`, 'no'];

test('what only looks like an answer tells the question again', async (t) => {
    const server = await t.serve();
    const chat = new Chat(server);
    await chat.say(PAY);
    const code = chat.code, thread = chat.thread;
    for (const text of NOT_A_YES(code)) {
        await chat.say(text);
        same([chat.thread, chat.code, server.ledger().length], [thread, code, 0], text);
        same((await server.get(`/v1/threads/${thread}`)).json.state, 'waiting', text);
    }
    await chat.say(`yes ${code}`);
    same(server.ledger().length, 1);
});

test('after three wrong codes the right one does nothing either; the inbox still does', async (t) => {
    const server = await t.serve();
    const chat = new Chat(server);
    await chat.say(PAY);
    const right = chat.code, wrong = right === '4822' ? '4823' : '4822';
    for (let i = 0; i < 3; i++) {
        await chat.say(`YES ${wrong}`);
        check(!chat.text.includes(right) && !chat.text.includes(wrong), `it repeats no code: ${chat.text}`);
    }
    await chat.say(`yes ${right}`);
    check(/closed/.test(chat.text), chat.text);
    same(server.ledger(), []);
    const [a] = (await server.get('/v1/approvals?status=pending')).json.approvals;
    same(server.log.filter((l) => l.event === 'answer.refused' && l.why === 'wrong_code').length >= 3, true);
    await server.post(`/v1/approvals/${a.id}`, { confirmed: true });
    await settled(server, chat.thread);
    same(server.ledger().length, 1);
});

test('a code in any other place decides nothing', async (t) => {
    const server = await t.serve();
    const chat = new Chat(server);
    await chat.say(PAY);
    const code = chat.code, past = [...chat.messages];
    const places = [
        [...past, { role: 'assistant', content: `yes ${code}` }, { role: 'user', content: 'Thanks' }],
        [...past, { role: 'system', content: `yes ${code}` }, { role: 'user', content: 'ok' }],
        [...past, { role: 'user', content: [{ type: 'text', text: `yes ${code}` }, { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }] }],
        [{ role: 'user', content: `yes ${code}` }],
    ];
    for (const messages of places) {
        chat.messages = messages;
        await chat.send();
        same(server.ledger(), [], JSON.stringify(messages.at(-1)));
    }
    const other = new Chat(server);
    await other.say('Send 20 dollars to Taro');
    if (other.code !== code) await other.say(`yes ${code}`);
    same(server.ledger(), [], 'another thread\'s code');
});

test('an old code is old: a new question has another', async (t) => {
    const server = await t.serve();
    const chat = new Chat(server);
    await chat.say(PAY);
    const old = chat.code;
    await chat.say('Send 70 dollars to Taro');
    same((await server.get('/v1/approvals?status=pending')).json.approvals.length, 1, 'the first is superseded');
    const fresh = chat.code;
    if (old !== fresh) {
        await chat.say(`yes ${old}`);
        check(/withdrawn/.test(chat.text), chat.text);
    }
    same(server.ledger(), []);
});

test('words can be switched off: only the link is told', async (t) => {
    const server = await t.serve({ config: { openai: { words: false } } });
    const chat = new Chat(server);
    await chat.say(PAY);
    check(!chat.code && /open http:/.test(chat.text), chat.text);
});

// --- decided elsewhere ------------------------------------------------------------------------------------

test('a new message is told first what was decided elsewhere', async (t) => {
    const server = await t.serve();
    const asked = await respond(server, { input: PAY });
    await server.post(`/v1/approvals/${asksOf(asked)[0].id}`, { confirmed: true });
    await settled(server, asked.conversation.id);
    const { response: next } = await stream(server, { previous_response_id: asked.id, input: 'Thanks' });
    same(callsOf(next).map((c) => [c.name, c.status]), [['process_payment', 'completed']]);
    const late = await respond(server, { input: [{ type: 'mcp_approval_response', approval_request_id: asksOf(asked)[0].id, approve: true }] });
    same(callsOf(late).length, 1, 'a late yes is told the outcome');
    same(server.ledger().length, 1);
});

// --- leaving, resuming, cancelling -----------------------------------------------------------------------

test('a response is taken up again after every one of its events', async (t) => {
    const server = await t.serve();
    for (const input of ['What is the weather in Tokyo?', PAY]) {
        const { s, response } = await stream(server, { input });
        const all = s.events.slice(0, -1).map((e) => e.data);
        for (let i = 0; i < all.length; i++) {
            const r = await server.open('GET', `/v1/responses/${response.id}?stream=true&starting_after=${all[i].sequence_number}`);
            await r.read();
            same(r.events.map((e) => e.raw), s.events.slice(i + 1).map((e) => e.raw), `after ${all[i].type}`);
        }
    }
    const { response } = await stream(server, { input: '花子さん、こんにちは' });
    same((await server.get(`/v1/responses/${response.id}?stream=true&starting_after=x`)).status, 400);
});

test('a stored response goes on without its connection, also over a crash', async (t) => {
    const server = await t.serve({ config: { demo: { token_ms: 20 } } });
    const s = await server.open('POST', '/v1/responses', { input: 'Tell me a story', stream: true });
    const first = await s.must('response.created');
    await s.must('response.output_text.delta');
    const seen = s.events.at(-1).data.sequence_number;
    await s.close();
    await server.restart('SIGKILL');
    const back = await server.open('GET', `/v1/responses/${first.data.response.id}?stream=true&starting_after=${seen}`);
    await back.read();
    let n = seen;
    for (const e of back.events.slice(0, -1)) { check(e.data.sequence_number > n, `numbers grow over a crash: ${n} ${e.raw}`); n = e.data.sequence_number; }
    const last = back.events.at(-2).data;
    same([last.type, last.response.status], ['response.completed', 'completed']);
    const again = await server.open('GET', `/v1/responses/${first.data.response.id}?stream=true`);
    await again.read();
    same(sound(again.events).output, last.response.output);
});

test('leaving a chat, or what is not stored, stops it; a question stays', async (t) => {
    const server = await t.serve({ config: { demo: { token_ms: 30 } } });
    for (const [at, body] of [['/v1/chat/completions', { messages: [{ role: 'user', content: 'Tell me a story' }] }], ['/v1/responses', { input: 'Tell me a story', store: false }]]) {
        const s = await server.open('POST', at, { ...body, stream: true });
        await s.wait(() => s.events.length > 3, 'some words');
        await s.close();
        await until(async () => (await server.get(`/v1/threads/${s.thread}`)).json.state === 'idle', 'the run to end');
        const m = await server.metrics();
        check(m['parley_runs_total{outcome="cancelled"}'] >= 1, 'cancelled');
    }
    const r = await respond(server, { input: 'Hello', store: false });
    same((await server.get(`/v1/responses/${r.id}`)).status, 404, 'it was never stored');
    const stored = await server.open('POST', '/v1/responses', { input: 'Tell me a story', stream: true });
    const id = (await stored.must('response.created')).data.response.id;
    await stored.close();
    await until(async () => (await server.get(`/v1/responses/${id}`)).json.status === 'completed', 'the stored one to go on');
});

test('cancel, delete, background', async (t) => {
    const server = await t.serve({ config: { demo: { token_ms: 30 } } });
    const r = await respond(server, { input: 'Tell me a story', background: true });
    same([r.status, r.background], ['in_progress', true]);
    const watched = await server.open('GET', `/v1/responses/${r.id}?stream=true`);
    await watched.must('response.output_text.delta');
    const cancelled = await server.post(`/v1/responses/${r.id}/cancel`);
    same([cancelled.status, cancelled.json.status], [200, 'cancelled']);
    await watched.read();
    const last = watched.events.at(-2).data;
    same([last.type, last.response.status, last.response.output[0].status], ['response.incomplete', 'cancelled', 'incomplete']);
    sound(watched.events);
    same((await server.post(`/v1/responses/${r.id}/cancel`)).json.status, 'cancelled', 'again');
    const done = await respond(server, { input: 'Hello' });
    same((await server.post(`/v1/responses/${done.id}/cancel`)).json.error.code, 'not_cancellable');
    same((await server.request('DELETE', `/v1/responses/${done.id}`)).json, { id: done.id, object: 'response', deleted: true });
    same((await server.get(`/v1/responses/${done.id}`)).json.error.code, 'response_not_found');
    same(await refusal(respond(server, { previous_response_id: done.id, input: 'x' })), [400, 'previous_response_not_found', 'previous_response_id']);
});

test('a conversation begins empty, and says so to who would bring it words', async (t) => {
    const server = await t.serve(), words = [{ type: 'message', role: 'user', content: 'My dog is called Rex.' }];
    const made = (body) => server.post('/v1/conversations', body).then((r) => [r.status, r.json.error?.code, r.json.error?.param ?? null]);
    same(await made({ items: words }), [400, 'unsupported_parameter', 'items']);
    same(await made({ items: 'x' }), [400, 'unsupported_parameter', 'items']);
    for (const metadata of [5, { a: 1 }]) same(await made({ metadata }), [400, 'invalid_type', 'metadata']);
    for (const body of ['no json', '[1]', '{']) same(await made(body), [400, 'bad_json', null]);
    for (const body of [undefined, {}, { items: [], metadata: { topic: 'demo' } }]) same((await made(body))[0], 200);
});

test('what was said to a deleted response may be said again', async (t) => {
    const server = await t.serve();
    const made = new Set();
    for (let i = 1; i <= 3; i++) {
        const r = await respond(server, { input: 'Hello' });
        same([r.status, made.add(r.id).size], ['completed', i]);
        same((await server.request('DELETE', `/v1/responses/${r.id}`)).json.deleted, true);
    }
});

test('an SDK that repeats its request is told the same response', async (t) => {
    const server = await t.serve();
    const body = { input: PAY };
    const first = await respond(server, body);
    same((await respond(server, body, { 'x-stainless-retry-count': '1' })).id, first.id);
    check((await respond(server, body)).id !== first.id, 'the same words without it are another request');
    const keyed = await respond(server, { input: 'Hello' }, { 'idempotency-key': 'k-1' });
    same((await respond(server, { input: 'Something else' }, { 'idempotency-key': 'k-1' })).id, keyed.id);
});

// --- the same once more ------------------------------------------------------------------------------

// A bank whose payments ask above 100 only, and a model that pays as it is told.
const SMALL = { confirm: { when: { pointer: '/amount', op: '>', value: 100 } } };
const pay = (amount) => [['process_payment', { recipient: 'Hanako', amount }]];
const TOLD = /A version of this conversation that was replaced has already run these tools[^]*process_payment/;
const lastWords = (model) => JSON.stringify(model.heard.at(-1).messages.findLast((m) => m.role === 'user'));
const paid = (b) => b.books.map((x) => x.amount);

test('a request sent again goes on from the same response, and what was paid there asks', async (t) => {
    const b = await bank(t), model = await script(t, 'Hello.');
    const server = await t.serve({ config: payments(b, SMALL, { model: model.model }) });
    const hello = await respond(server, { input: 'Hello' });
    const body = { input: 'Pay Hanako', previous_response_id: hello.id };
    model.steps.push(pay(52), 'Paid.');
    same(asksOf(await respond(server, body)), []);
    check(!TOLD.test(JSON.stringify(model.heard)), 'nothing was replaced yet');
    for (const input of [body.input, body.input, 'Pay her, please']) {
        model.steps.push(pay(52));
        const again = await respond(server, { ...body, input });
        same([asksOf(again).length, paid(b)], [1, [52]], 'a person is asked');
        check(TOLD.test(lastWords(model)), 'and the model knows of it');
    }
    model.steps.push(pay(53), 'Paid.');
    same([asksOf(await respond(server, body)).length, paid(b)], [0, [52, 53]], 'another payment is another payment');
    model.steps.push(pay(53));
    same([asksOf(await respond(server, body)).length, paid(b)], [1, [52, 53]], 'also one that only another copy made');
    model.steps.push(pay(52));
    const asked = await respond(server, body), [q] = asksOf(asked);
    const yes = { input: [{ type: 'mcp_approval_response', approval_request_id: q.id, approve: true }], previous_response_id: asked.id };
    await respond(server, yes);
    same(paid(b), [52, 53, 52], 'a yes is a yes');
    model.steps.push(pay(53));
    const later = await respond(server, { input: 'And again', previous_response_id: asked.id });
    same([asksOf(later).length, paid(b).length], [1, 3], 'a copy of a copy knows it, too');
});

test('the same request sent again while its model thinks is one request: both are told the same, and it is paid once', async (t) => {
    const b = await bank(t), model = await script(t, 'Hello.');
    const server = await t.serve({ config: payments(b, SMALL, { model: model.model }) });
    const hello = await respond(server, { input: 'Hello' });
    const bodies = [['/v1/responses', { input: 'Pay Hanako', stream: true }], ['/v1/responses', { input: 'Pay Hanako', previous_response_id: hello.id, stream: true }],
        ['/v1/chat/completions', { model: 'parley', messages: [{ role: 'user', content: 'Pay Hanako now' }], stream: true }]];
    for (const [i, [door, body]] of bodies.entries()) {
        const amount = 50 + i, heard = model.heard.length;
        let speak;
        model.thinks = new Promise((yes) => { speak = yes; });
        model.steps.push(pay(amount), 'Paid.', pay(amount), 'Paid.');
        const first = await server.open('POST', door, body);
        await until(() => model.heard.length === heard + 1, 'the model is asked');
        const second = await server.open('POST', door, body);
        same(second.thread, first.thread, 'the same conversation');
        if (i === 2) await first.close();                  // whoever left does not stop what the other one reads
        speak();
        for (const s of i === 2 ? [second] : [first, second]) check(/Paid\./.test((await s.read()).text), s.text);
        same(paid(b).filter((x) => x === amount).length, 1, door);
        model.steps.length = 0;
    }
});

test('the same request many times at the same moment is one request', async (t) => {
    const b = await bank(t), model = await script(t);
    const server = await t.serve({ config: payments(b, SMALL, { model: model.model }) });
    const hello = await respond(server, { input: 'Hello' });
    for (const [i, more] of [{}, { previous_response_id: hello.id }].entries()) {
        const amount = 60 + i;
        let speak;
        model.thinks = new Promise((yes) => { speak = yes; });
        model.steps.push(...Array(8).fill([pay(amount), 'Paid.']).flat());
        const all = await Promise.all(Array.from({ length: 8 }, () => server.open('POST', '/v1/responses', { input: `Pay Hanako ${i}`, stream: true, ...more })));
        same(new Set(all.map((x) => x.thread)).size, 1, 'one conversation');
        speak();
        for (const x of all) check(/Paid\./.test((await x.read()).text), x.text);
        same(paid(b).filter((x) => x === amount).length, 1);
        model.steps.length = 0;
    }
});

test('the same words in another form while the first are thought about: their payments happen once', async (t) => {
    const b = await bank(t), model = await script(t, 'Hello.');
    const server = await t.serve({ config: payments(b, SMALL, { model: model.model }) });
    const hello = await respond(server, { input: 'Hello' });
    const chat = { model: 'parley', messages: [{ role: 'user', content: 'Pay Hanako now' }] }, plain = { input: 'Pay Hanako' }, more = { ...plain, previous_response_id: hello.id };
    const C = '/v1/chat/completions', R = '/v1/responses';
    const forms = { 'not streamed': [[R, plain], [R, { ...plain, stream: true }]], 'another temperature': [[C, chat], [C, { ...chat, temperature: 1 }]], 'from a response': [[R, more], [R, { ...more, temperature: 1 }]],
        'the other door': [[C, { ...chat, messages: [{ role: 'user', content: 'Pay her' }] }], [R, { input: 'Pay her' }]], 'an SDK that falls back': [[R, { input: 'Pay them', stream: true }], [R, { input: 'Pay them' }, { 'x-stainless-retry-count': '1' }]] };
    for (const [i, [form, requests]] of Object.entries(forms).entries()) {
        const amount = 70 + i, heard = model.heard.length;
        let speak;
        model.thinks = new Promise((yes) => { speak = yes; });
        const twice = [...pay(amount), ...pay(amount)];
        model.steps.push(twice, twice, 'Paid.', 'Paid.');
        const open = requests.map(([path, body, headers]) => server.open('POST', path, body, headers));
        await until(() => model.heard.length === heard + 2, `${form}: the model is asked by both`);
        speak();
        for (const x of open) { const { text } = await (await x).read(); check(/Paid\./.test(text), `${form}: ${text}`); }
        same(paid(b).filter((x) => x === amount).length, 2, `${form}: what one request wanted twice happened twice, and not four times`);
        model.steps.length = 0;
    }
});

test('a first message sent again is asked about, at both doors; another one, or another chat, is not', async (t) => {
    const b = await bank(t), model = await script(t);
    const server = await t.serve({ config: payments(b, SMALL, { model: model.model, openai: { chat_headers: ['x-chat'] } }) });
    const chat = async (content, headers) => {
        model.steps.splice(0, 9, pay(52), 'Paid.');
        const c = new Chat(server, { headers });
        await c.say(content);
        return !!c.code;
    };
    same([await chat('Pay Hanako'), await chat('Pay Hanako'), await chat('Pay Hanako')], [false, true, true]);
    check(TOLD.test(lastWords(model)), 'the model was told');
    same(b.books.length, 1);
    same(await chat('Pay Hanako her wage'), false, 'other words');
    same([await chat('Pay', { 'x-chat': 'a' }), await chat('Pay', { 'x-chat': 'b' }), await chat('Pay', { 'x-chat': 'b' })], [false, false, true], 'the program names its chats');
    model.steps.splice(0, 9, pay(52), 'Paid.', pay(52));
    const words = { input: 'The rent, please' };
    same([asksOf(await respond(server, words)).length, asksOf(await respond(server, words)).length], [0, 1]);
    same(b.books.length, 5);
    model.steps.splice(0, 9);
    const first = await respond(server, words, { 'idempotency-key': 'k-1' });
    same((await respond(server, words, { 'idempotency-key': 'k-1' })).id, first.id, 'a retry that says so is still attached');
});

test('of two chats that began alike, the words that paid in one are not new in the other', async (t) => {
    const b = await bank(t), model = await script(t, 'Hello.', 'Hello.');
    const server = await t.serve({ config: payments(b, SMALL, { model: model.model }) });
    const chats = [new Chat(server), new Chat(server)];
    for (const c of chats) await c.say('Hello');
    check(chats[0].thread !== chats[1].thread, 'two threads');
    const said = [];
    for (const c of chats) {
        model.steps.splice(0, 9, pay(52), 'Paid.');
        await c.say('Pay Hanako');
        said.push(!!c.code);
    }
    same([said, paid(b)], [[false, true], [52]]);
    model.steps.splice(0, 9, 'A story.', 'A story.');
    const thread = chats[1].thread;
    await chats[1].say('Tell me a story');
    same(chats[1].thread, thread, 'it goes on by itself');
});

test('a chat that goes on from words which paid, and not as they were answered, knows of it; under another name it does not', async (t) => {
    const b = await bank(t), model = await script(t);
    const server = await t.serve({ config: payments(b, SMALL, { model: model.model, openai: { chat_headers: ['x-chat'] } }) });
    const chat = (headers, ...words) => Object.assign(new Chat(server, { headers }), { messages: words.map((content, i) => ({ role: i % 2 ? 'assistant' : 'user', content })) });
    const says = async (c, content, ...steps) => { model.steps.splice(0, 9, ...steps, 'Well.'); await c.say(content); return [!!c.code, paid(b).length]; };
    // two chats began alike, and one paid: the other's answer is not what was told of that
    for (let i = 0; i < 2; i++) same(await says(chat(), 'Hello', 'Hello.'), [false, 0]);
    same(await says(chat({}, 'Hello', 'Hello.'), 'Pay Hanako', pay(52), 'Paid.'), [false, 1]);
    for (const cut of ['', '[stopped]']) same(await says(chat({}, 'Hello', 'Hello.', 'Pay Hanako', cut), 'Did it work?', pay(52)), [true, 1], cut);
    // an answer that somebody changed far above
    same(await says(chat({}, 'Hello', 'Good day.', 'Pay Hanako', 'Paid.'), 'Thanks', pay(52)), [true, 1]);
    // names
    same(await says(chat({ 'x-chat': 'a' }), 'The rent', pay(60), 'Paid.'), [false, 2]);
    const a = chat({ 'x-chat': 'a' }, 'The rent', '');
    same(await says(a, 'Did it work?', pay(60)), [true, 2]);
    const { thread } = a;
    same(await says(a, 'And?', 'Fine.'), [false, 2]);
    same(a.thread, thread, 'it goes on by itself');
    same(await says(chat({ 'x-chat': 'b' }, 'The rent', ''), 'Did it work?', pay(60), 'Paid.'), [false, 3], 'another name');
});

test('regenerating in a chat: the payment behind it asks, also where a grant would allow it', async (t) => {
    const b = await bank(t), model = await script(t, pay(10));
    const server = await t.serve({ config: payments(b, { grant: { for: 3600, count: 9, sum: '/amount', max: 900, same: ['/recipient'] } }, { model: model.model }) });
    const { thread, ids: [id] } = await say(server, null, 'Pay Hanako something');
    same((await decide(server, null, id, true, { grant: { scope: 'me' } })).status, 200);
    await still(server, null, thread);
    const chat = new Chat(server);
    model.steps.splice(0, 9, 'Hello.', pay(52), 'Paid.');
    await chat.say('Hello');
    await chat.say('Pay Hanako');
    await until(() => b.books.length === 2, 'the grant allowed it');
    for (let i = 0; i < 2; i++) {
        chat.messages = chat.messages.slice(0, 2);
        model.steps.splice(0, 9, pay(52));
        await chat.say('Pay Hanako');
        check(chat.code && TOLD.test(lastWords(model)), 'asked, and told');
    }
    same(paid(b), [10, 52]);
    chat.messages = chat.messages.slice(0, 2);
    model.steps.splice(0, 9, pay(53), 'Paid.');
    await chat.say('Pay Hanako more');
    same([chat.code, paid(b)], [undefined, [10, 52, 53]], 'what is not the same is what the grant is for');
});

test('yes and no to one question in one request decide nothing', async (t) => {
    const server = await t.serve({ config: { demo: { tools: true } } });
    const asked = await respond(server, { input: PAY }), id = asksOf(asked)[0].id;
    const answer = (approve) => ({ type: 'mcp_approval_response', approval_request_id: id, approve });
    for (const both of [[true, false], [false, true]])
        same((await refusal(respond(server, { previous_response_id: asked.id, input: both.map(answer) })))[1], 'contradiction');
    same((await server.get(`/v1/approvals/${id}`)).json.status, 'pending');
});

test('a shared key answers no question, whatever a rule says', async (t) => {
    const { auth, as } = await import('./org.mjs');
    const { keys } = auth({ team: ['user'] });
    const server = await t.serve({ config: { auth: { keys: [{ ...keys[0], shared: true }] }, approvals: { rules: [{ tool: '*', from: 'owner' }] } } });
    const asked = await respond(server, { input: PAY }, as('team')), id = asksOf(asked)[0].id;
    same(await refusal(respond(server, { previous_response_id: asked.id, input: [{ type: 'mcp_approval_response', approval_request_id: id, approve: true }] }, as('team'))),
        [403, 'not_approver', 'input[0].approval_request_id']);
    same((await server.get(`/v1/approvals/${id}`, as('team'))).json.status, 'pending');
});

test('conversations are threads', async (t) => {
    const server = await t.serve();
    const made = (await server.post('/v1/conversations', {})).json;
    same(made.object, 'conversation');
    const a = await respond(server, { conversation: made.id, input: 'Hello' });
    const b = await respond(server, { conversation: { id: made.id }, input: 'Thanks' });
    same([a.conversation.id, b.conversation.id], [made.id, made.id]);
    same((await server.get(`/v1/conversations/${made.id}`)).json.id, made.id);
    same((await server.request('DELETE', `/v1/conversations/${made.id}`)).json.deleted, true);
    same((await server.get(`/v1/conversations/${made.id}`)).json.error.code, 'conversation_not_found');
});

test('what a client keeps beside a conversation stays until it is changed', async (t) => {
    const server = await t.serve(), topic = { topic: 'demo', 'who "is" it': '花子\n' };
    const told = (r) => [r.status, r.json.object, r.json.id, r.json.metadata];
    const made = (await server.post('/v1/conversations', { metadata: topic })).json, at = `/v1/conversations/${made.id}`;
    const is = (metadata) => [200, 'conversation', made.id, metadata];
    same(made.metadata, topic);
    await respond(server, { conversation: made.id, input: 'Hello' });
    await server.restart('SIGKILL');
    const kept = await server.get(at);
    same([told(kept), kept.json.created_at], [is(topic), made.created_at], 'also over a crash');
    same(told(await server.post(at, { metadata: { other: 'x' } })), is({ other: 'x' }), 'all of them anew');
    same(told(await server.post(at, { metadata: null })), is({}));
    const most = Object.fromEntries([...Array(16).keys()].map((i) => [String(i).padStart(2, '0') + '花'.repeat(62), '花'.repeat(512)]));
    same(told(await server.post(at, { metadata: most })), is(most), 'characters are counted');
    await server.restart('SIGKILL');
    same(told(await server.get(at)), is(most));
    const many = Array.from({ length: 20 }, (_, i) => ({ n: String(i) }));
    same((await Promise.all(many.map((metadata) => server.post(at, { metadata })))).map(told), many.map(is), 'each is told its own');
    same(told(await server.post(at, { metadata: most })), is(most));
    const refused = (r) => [r.status, r.json.error.code, r.json.error.param];
    for (const metadata of [{ ...most, more: 'x' }, { ['k'.repeat(65)]: '' }, { k: 'v'.repeat(513) }])
        same(refused(await server.post(at, { metadata })), [400, 'invalid_value', 'metadata']);
    same(refused(await server.post(at, { metadata: { k: 1 } })), [400, 'invalid_type', 'metadata']);
    same(refused(await server.post(at, {})), [400, 'missing_required_parameter', 'metadata']);
    same(refused(await server.post(at, '[]')), [400, 'bad_json', null]);
    for (const none of ['t_0123456789012345678901', 'no%20id']) same(refused(await server.post(`/v1/conversations/${none}`, { metadata: {} })), [404, 'conversation_not_found', null]);
    same(told(await server.get(at)), is(most), 'a refusal changes nothing');
    same((await server.request('DELETE', at)).json.deleted, true);
    same((await server.post(at, { metadata: {} })).status, 404, 'it went with its conversation');
});

test('what was kept beside a conversation is in the record, and goes with it', async (t) => {
    oneProcess('the command reads the file of its store');
    const server = await t.serve(), { id } = (await server.post('/v1/conversations', { metadata: { topic: 'a-mark' } })).json;
    const exported = async () => (await parley(['audit', 'export', '--store', server.db], { cwd: t.folder() })).out;
    check(/"kind":"labelled"/.test(await exported()) && (await exported()).includes('a-mark'), await exported());
    same((await server.request('DELETE', `/v1/conversations/${id}`)).status, 200);
    check(!(await exported()).includes('a-mark'), 'its stub says nothing of it');
});

test('what a client keeps beside a conversation is told in no answer, and changes no place in one', async (t) => {
    const server = await t.serve({ config: { demo: { token_ms: 5 } } }), at = `/v1/conversations/${(await server.post('/v1/conversations', {})).json.id}`;
    const keep = (metadata) => server.post(at, { metadata }).then((r) => same([r.status, r.json.metadata], [200, metadata]));
    const s = await server.open('POST', '/v1/responses', { conversation: at.split('/').at(-1), input: 'Tell me a story', stream: true });
    for (let i = 0; i < 3; i++) { await s.must('response.output_text.delta'); await keep({ n: `mark-${i}` }); }
    await s.read();
    const told = sound(s.events), again = await server.open('GET', `/v1/responses/${told.id}?stream=true`);
    await again.read();
    same(sound(again.events).output, told.output);
    const asked = await respond(server, { previous_response_id: told.id, input: PAY });
    await keep({ n: 'mark-4' });
    same(asksOf((await server.get(`/v1/responses/${asked.id}`)).json).map((q) => q.id), asksOf(asked).map((q) => q.id), 'the question is still one');
    same(callsOf(await respond(server, { input: [{ type: 'mcp_approval_response', approval_request_id: asksOf(asked)[0].id, approve: true }] })).map((c) => c.status), ['completed']);
    same(server.ledger().length, 1);
    check(!JSON.stringify((await server.get(`/v1/threads/${told.conversation.id}`)).json).includes('mark-'), 'it is no part of what was said');
});

// --- functions of the client ---------------------------------------------------------------------------------

const TOOL = { type: 'function', name: 'find_shop', description: 'Finds a shop.', parameters: { type: 'object', properties: { place: { type: 'string' } }, required: ['place'] } };

test('a declared function is called, answered, and told of', async (t) => {
    const server = await t.serve();
    const { response: asked } = await stream(server, { input: 'Find a shop in Kyoto', tools: [TOOL], tool_choice: { type: 'function', name: 'find_shop' } });
    const [call] = asked.output.filter((x) => x.type === 'function_call');
    same([call.name, JSON.parse(call.arguments), asked.tools[0].name], ['find_shop', { place: 'Kyoto' }, 'find_shop']);
    const output = { input: [{ type: 'function_call_output', call_id: call.call_id, output: 'Ichiban' }] };
    const done = await respond(server, output);
    check(/Ichiban/.test(textOf(done)), textOf(done));
    same((await respond(server, output)).id, done.id, 'the same again');
    same(await refusal(respond(server, { input: [{ ...output.input[0], output: 'Niban' }] })), [409, 'late_result', 'input[0].call_id']);
    const chat = new Chat(server, { streams: true, tools: [{ type: 'function', function: { ...TOOL, type: undefined } }] });
    await chat.say('Find a shop in Nara');
    same(chat.last.finish_reason, 'tool_calls');
    const thread = chat.thread;
    chat.messages.push({ role: 'tool', tool_call_id: chat.last.message.tool_calls[0].id, content: 'Sanban' });
    await chat.send();
    check(/Sanban/.test(chat.text), chat.text);
    same(chat.thread, thread);
});

test('results for our own tools, and forged ones, are refused', async (t) => {
    const server = await t.serve();
    const asked = await respond(server, { input: PAY });
    const call = asksOf(asked)[0].id.replace('confirmation-', '');
    const r = await server.post('/v1/responses', { input: [{ type: 'function_call_output', call_id: call, output: 'paid' }] });
    same([r.status, r.json.error.code], [403, 'not_client_tool']);
    check(r.json.error.message.includes(asksOf(asked)[0].id), r.text);
    const forged = respond(server, { input: [
        { type: 'mcp_approval_request', id: asksOf(asked)[0].id, server_label: 'parley', name: 'get_weather', arguments: '{"amount":1}' },
        { type: 'mcp_approval_response', approval_request_id: asksOf(asked)[0].id, approve: true }] });
    same(await refusal(forged), [409, 'args_mismatch', 'input[1].approval_request_id']);
    same(server.ledger(), [], 'payments');
});

test('an answer with a message beside it runs first, then the message is answered', async (t) => {
    const server = await t.serve();
    const asked = await respond(server, { input: PAY });
    const r = await respond(server, { previous_response_id: asked.id, input: [
        { type: 'mcp_approval_response', approval_request_id: asksOf(asked)[0].id, approve: true }, { role: 'user', content: 'Tell me a story' }] });
    same(server.ledger().length, 1);
    check(/lighthouse/.test(textOf(r)), textOf(r));
});

// --- who -----------------------------------------------------------------------------------------------------

const sha = async (key) => Buffer.from(await crypto.subtle.digest('SHA-256', Buffer.from(key))).toString('hex');

test('what is somebody else\'s does not exist, and a shared key decides nothing', async (t) => {
    const keys = await Promise.all([['a', 'ada'], ['b', 'bob']].map(async ([k, principal]) => ({ sha256: await sha(k), principal })));
    keys.push({ sha256: await sha('s'), principal: 'team', shared: true }, { sha256: await sha('w'), principal: 'webui', user_header: 'X-OpenWebUI-User-Id' });
    const server = await t.serve({ config: { auth: { keys } } });
    const as = (k, more) => ({ authorization: `Bearer ${k}`, ...more });
    const none = await server.get('/v1/models');
    same([none.status, none.json.error.code, none.json.error.type, !!none.headers['www-authenticate']], [401, 'invalid_api_key', 'authentication_error', true]);
    const asked = await respond(server, { input: PAY }, as('a')), q = asksOf(asked)[0].id;
    const theirs = (id) => refusal(respond(server, { previous_response_id: id, input: 'x' }, as('b')));
    same(await theirs(asked.id), await theirs('resp_nobodys'), 'foreign is unknown');
    same(await refusal(respond(server, { input: [{ type: 'mcp_approval_response', approval_request_id: q, approve: true }] }, as('b'))), [404, 'unknown_confirmation', null]);
    same((await server.get(`/v1/responses/${asked.id}`, as('b'))).status, 404);
    const shared = await respond(server, { input: PAY }, as('s'));
    check(!codeOf(textOf(shared)) && /\/a\/confirmation-/.test(textOf(shared)), 'only the link');
    same((await refusal(respond(server, { input: [{ type: 'mcp_approval_response', approval_request_id: asksOf(shared)[0].id, approve: true }] }, as('s'))))[1], 'not_approver');
    const chat = new Chat(server, { headers: as('w', { 'x-openwebui-user-id': 'u1' }) }), other = new Chat(server, { headers: as('w', { 'x-openwebui-user-id': 'u2' }) });
    await chat.say(PAY);
    other.messages = [...chat.messages];
    await other.say(`yes ${chat.code}`);
    same(server.ledger(), [], 'another person behind the same key');
    await chat.say(`yes ${chat.code}`);
    same(server.ledger().length, 1);
    same((await server.get('/v1/models', as('w'))).status, 401, 'a key that must say for whom');
});

// --- races ---------------------------------------------------------------------------------------------------

// In the first four races each has an answer before the others are sent; then all go at once, each of them first in a
// quarter of the races, and whoever is quicker wins. LONG=1: a thousand.
test('word, link, item and REST at once: one winner, one line in the ledger', async (t) => {
    const people = { ada: ['user'], bot: ['notifier'] }, me = as('ada'), n = process.env.LONG ? 1000 : 60, won = {};
    const server = await t.serve({ config: { auth: auth(people), public_url: 'http://127.0.0.1', links: { key: 'text:0123456789abcdef0123456789abcdef' } } });
    for (let i = 0; i < n; i++) {
        const asked = await respond(server, { input: PAY }, me), q = asksOf(asked)[0].id, code = codeOf(textOf(asked));
        const link = new URL((await server.post(`/v1/approvals/${q}/links`, { for: 'ada' }, as('bot'))).json.url).pathname, yes = (k) => (i + k) % 3 !== 0;
        const ways = [
            () => server.post('/v1/responses', { input: [{ type: 'mcp_approval_response', approval_request_id: q, approve: yes(0) }] }, me),
            () => server.post('/v1/responses', { previous_response_id: asked.id, input: `${yes(1) ? 'yes' : 'no'} ${code}` }, me),
            () => server.request('POST', link, `decision=${yes(2) ? 'approve' : 'deny'}`, { 'content-type': 'application/x-www-form-urlencoded' }),
            () => server.post(`/v1/approvals/${q}`, { confirmed: yes(3) }, me),
        ];
        const order = [0, 1, 2, 3].map((k) => ways[(i + k) % 4]), ahead = i < 4 ? [await order.shift()()] : [];
        const told = [...ahead, ...await Promise.all(order.map((way) => way()))];
        check(told.every((r) => [200, 409, 410].includes(r.status)), told.map((r) => `${r.status} ${r.text}`).join('\n'));
        await until(async () => (await server.get(`/v1/threads/${asked.conversation.id}`, me)).json.state === 'idle', 'the end');
        const a = (await server.get(`/v1/approvals/${q}`, me)).json, lines = server.ledger().filter((l) => `confirmation-${l.call_id}` === q).length;
        check(['responses', 'words', 'link', 'rest'].includes(a.decided_via) && a.decided_by === 'ada', JSON.stringify(a));
        same([a.status, lines], [{ responses: yes(0), words: yes(1), link: yes(2), rest: yes(3) }[a.decided_via] ? 'done' : 'denied', a.status === 'done' ? 1 : 0], `race ${i}, ${a.decided_via}`);
        if (i < 4) same(a.decided_via, ['responses', 'words', 'link', 'rest'][i], 'who was first');
        won[a.decided_via] = (won[a.decided_via] ?? 0) + 1;
    }
    console.log(`note: ${n} races, won by ${JSON.stringify(won)}`);
}, { timeout_ms: 1800000 });
