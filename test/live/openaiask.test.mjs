// Questions at doors that answer and end: a tool at work that wants an account, and answers in words.
import { check, same, test, until } from './lib.mjs';
import { as, call, connect, names, organisation } from './accounts.mjs';
import { Chat, callsOf, respond, stream, textOf } from './openai.mjs';

// --- a tool that wants the person's account ---------------------------------------------------------

async function mail(t) {
    const server = await organisation(t);
    await until(async () => (await names(server)).includes('mail__connect_account'), 'the server');
    return server;
}
const WANT = call('mail__connect_account');
const ASKED = /\*\*Connect your account at mail to go on\? Open \/v1\/mcp\/mail\/connect\*\*\nmail__connect_account \{\}\nTo answer it open http:\/\/127\.0\.0\.1:\d+\/a\/confirmation-call-[\w-]+\. It waits until then\./;
const pending = async (server, who = 'ada') => (await server.get('/v1/approvals?status=pending', as(who))).json.approvals;
const idle = (server, thread) => until(async () => (await server.get(`/v1/threads/${thread}`, as('ada'))).json.state === 'idle', 'the run to end');

test('a chat ends where a tool wants an account, with the question and its link; what came of it is told with the next message', async (t) => {
    const server = await mail(t);
    for (const streams of [false, true]) {
        await server.request('DELETE', '/v1/mcp/mail/connect', undefined, as('ada'));
        const chat = new Chat(server, { headers: as('ada'), streams });
        await chat.say(`${WANT} ${streams}`);
        same([chat.last.finish_reason, ASKED.test(chat.text)], ['stop', true], chat.text);
        check(!/yes \d{4}/.test(chat.text), 'no word is worth anything here');
        same((await server.get(`/v1/threads/${chat.thread}`, as('ada'))).json.state, 'waiting');
        // words that look like an answer are none, and withdraw nothing
        await chat.say('yes');
        check(ASKED.test(chat.text), chat.text);
        await chat.say('yes 1234');
        check(/not the code of a question/.test(chat.text), chat.text);
        same((await pending(server)).length, 1);
        await connect(server, 'ada');
        await idle(server, chat.thread);
        await chat.say('And now?');
        check(/mail__connect_account: done/.test(chat.last.message.reasoning_content), JSON.stringify(chat.last));
    }
});

test('a response ends where a tool wants an account, in each form, streamed and whole; the answer goes on in the next', async (t) => {
    const server = await mail(t);
    const forms = { both: {}, items: { tools: [{ type: 'mcp', server_label: 'parley' }] }, extension: { tools: [{ type: 'parley:approvals' }] } };
    for (const [form, more] of Object.entries(forms)) for (const streams of [false, true]) {
        const ask = { input: `${WANT} ${form} ${streams}`, ...more };
        const r = streams ? (await stream(server, ask, as('ada'))).response : await respond(server, ask, as('ada'));
        const [question] = await pending(server);
        same([r.status, callsOf(r).map((x) => x.status)], ['completed', ['incomplete']], JSON.stringify(r));
        if (form === 'extension') {
            const item = r.output.find((x) => x.type === 'parley:approval_request');
            same([item.id, item.ask, item.url.endsWith(`/a/${question.id}`)], [question.id, question.ask, true]);
        } else check(ASKED.test(textOf(r)) && textOf(r).includes(question.id), `${form}: ${JSON.stringify(r)}`);
        same(r.output.some((x) => x.type === 'mcp_approval_request'), false, 'a yes alone is worth nothing');
        same((await server.get(`/v1/responses/${r.id}`, as('ada'))).json, r, 'fetched');
        const no = { previous_response_id: r.id, input: [{ type: 'mcp_approval_response', approval_request_id: question.id, approve: false }], ...more };
        const after = streams ? (await stream(server, no, as('ada'))).response : await respond(server, no, as('ada'));
        same([after.status, callsOf(after).map((x) => [x.status, /not connected/.test(JSON.stringify(x.error))])], ['completed', [['failed', true]]], JSON.stringify(after));
        check(textOf(after).length > 0, 'the words after it');
        same((await server.get(`/v1/responses/${after.id}`, as('ada'))).json, after, 'fetched');
        const again = await respond(server, { ...no, previous_response_id: r.id }, as('ada'));
        same(again.id, after.id, 'the same answer again');
    }
});

test('every door ends its answer where a tool asks, and says what it waits for', async (t) => {
    const server = await mail(t), text = WANT;
    const doors = {
        typed: () => ['/v1/chat/stream', { message: text }, (s, q) => s.payload.awaiting[0] === q.id],
        toolcalls: () => ['/functions/v1/chat', { message: text }, (s) => s.of('done').length === 1],
        chat: () => ['/api/chat', { id: 'c1', messages: [{ id: 'm1', role: 'user', parts: [{ type: 'text', text }] }] }, (s, q) => s.of('data-question')[0].data.id === q.id && s.of('finish').length === 1 && s.events.at(-1).raw === '[DONE]'],
        adkform: () => ['/stream', { id: 'c2', messages: [{ id: 'm2', role: 'user', parts: [{ type: 'text', text }] }] }, (s, q) => s.of('data-question')[0].data.id === q.id && s.events.at(-1).raw === '[DONE]'],
        agui: () => ['/ag-ui', { threadId: 'c3', runId: 'r3', state: {}, tools: [], context: [], forwardedProps: {}, messages: [{ id: 'm3', role: 'user', content: text }] }, (s, q) => s.of('RUN_FINISHED')[0].outcome.interrupts[0].id === q.id],
        adk: () => ['/run_sse', { appName: 'default', userId: 'ada', sessionId: 'c4', newMessage: { role: 'user', parts: [{ text }] } }, (s, q) => s.text.includes(q.id)],
    };
    for (const [name, door] of Object.entries(doors)) {
        const [at, body, ends] = door();
        const s = await (await server.open('POST', at, body, as('ada'))).read();
        const [question] = await pending(server);
        check(s.status === 200 && ends(s, question), `${name}: ${s.status} ${s.text}`);
        same((await server.post(`/v1/approvals/${question.id}`, { confirmed: false }, as('ada'))).status, 200);
        await until(async () => (await pending(server)).length === 0, 'nothing to wait');
    }
});
