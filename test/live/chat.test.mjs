// `parley chat`: a conversation in the terminal, with a y or n where one is asked; from a pipe the words alone.
import http from 'node:http';
import { createHash } from 'node:crypto';
import { BIN, check, parley, same, settled, sound, test } from './lib.mjs';
import { cutting } from './cutting.mjs';
import { terminal } from './terminal.mjs';

const ASKED = /yes or no\? \[y, n; s: later, q: end\] $/;
const READY = /\n(\x1b\[1m)?> (\x1b\[0m)?$/;
const plain = (text) => text.replace(/\x1b\[(0|1|2|31|0;31)m/g, '').replaceAll('\r', '');
const pending = async (server) => (await server.get('/v1/approvals?status=pending')).json.approvals;

// A door that tells these events to any message, has this approval, and notes what it is told.
async function stage(t, events, approval) {
    const told = [];
    const server = http.createServer(async (req, res) => {
        let body = '';
        for await (const chunk of req) body += chunk;
        if (req.method === 'POST') told.push([req.url, body]);
        const json = (value) => res.writeHead(200, { 'content-type': 'application/json' }).end(value);
        if (req.url === '/v1/session') json('{"principal":"ada","roles":["user"],"decides":"owner"}');
        else if (req.url === '/v1/chat/stream' || req.url.includes('/events')) {
            res.writeHead(200, { 'content-type': 'text/event-stream', 'parley-thread': 't_stage' });
            const last = req.method === 'GET' ? [{ type: 'complete', payload: {} }] : events;
            last.forEach((e, i) => res.write(`id: ${i + 1}.0\ndata: ${JSON.stringify(e)}\n\n`));
        } else json(req.method === 'POST' ? '{"status":"approved"}' : approval);
    });
    await new Promise((yes) => server.listen(0, '127.0.0.1', yes));
    t.defer(() => { server.closeAllConnections(); server.close(); });
    return { told, url: `http://127.0.0.1:${server.address().port}` };
}

test('a payment in the terminal: the sentence, all arguments, a y, and it is paid once', async (t) => {
    const server = await t.serve();
    const s = terminal(t, ['chat', server.url]);
    await s.shows(READY);
    s.type('Send 50 dollars to Hanako\n');
    await s.shows(ASKED);
    const card = plain(s.shown);
    check(/I'll send 50 USD to Hanako\.\.\.\n1 of 1 {2}process_payment {2}high risk\n {2}Send 50 USD to Hanako\?\n {2}input +\{"amount":50,"currency":"USD","recipient":"Hanako"\}\n/.test(card), card);
    same(server.ledger(), []);
    s.type('yes please\n');
    await s.shows(/yes please[^]*\] $/);
    same(server.ledger(), []);
    s.type('y\n');
    await s.shows(/now +approved[^]*> process_payment[^]*= process_payment: done[^]*Sent 50 USD to Hanako\.[^]*\n\x1b\[1m> /);
    s.type('\x04');
    same(await s.gone, 0, s.shown);
    same(server.ledger().map((l) => l.recipient), ['Hanako']);
    check(!plain(s.shown).includes('[[tool:'), s.shown);
});

test('a no pays nothing, and one left for later still waits', async (t) => {
    const server = await t.serve();
    const s = terminal(t, ['chat', server.url], { NO_COLOR: '1' });
    await s.shows(READY);
    s.type('Send 50 dollars to Hanako\n');
    await s.shows(ASKED);
    s.type('n\n');
    await s.shows(/now +denied[^]*= process_payment: denied[^]*\n> $/);
    s.type('/new\n');
    await s.shows(/a new conversation[^]*\n> $/);
    s.type('Send 20 dollars to Taro\n');
    await s.shows(/Taro\?[^]*\] $/);
    s.type('\x03');                                         // Ctrl-C at a question: later, not no
    await s.shows(/waits: Send 20 USD to Taro\?[^]*left for later[^]*\n> $/);
    s.type('/quit\n');
    same(await s.gone, 0, s.shown);
    same([server.ledger(), (await pending(server)).map((a) => a.ask)], [[], ['Send 20 USD to Taro?']]);
    check(!s.shown.includes('\x1b'), 'no colours with NO_COLOR');
});

test('a conversation is listed, opened again, and its question answered there', async (t) => {
    const server = await t.serve();
    const { thread } = sound(await server.turn('Send 50 dollars to Hanako'));
    const s = terminal(t, ['chat', `${server.url}/`]);
    await s.shows(READY);
    s.type('/threads\n');
    await s.shows(new RegExp(`${thread}  waiting  Send 50 dollars to Hanako[^]*> `));
    s.type('/open nothing/../like%20this\n');
    await s.shows(/which one\?/);
    s.type('/open t_unknown\n');
    await s.shows(/There is no such conversation\. \(404\)[^]*> /);
    s.type(`/open ${thread}\n`);
    await s.shows(/> Send 50 dollars to Hanako[^]*Let me prepare that payment\.[^]*yes or no[^]*\] $/);
    s.type('y\n');
    await s.shows(/= process_payment: done[^]*Done: 50 USD went to Hanako[^]*\n\x1b\[1m> /);
    s.type('\x04');
    same(await s.gone, 0, s.shown);
    same(server.ledger().length, 1);
});

test('from a pipe stdout has the words alone; a question is told, left open, and nothing is sent after it', async (t) => {
    const server = await t.serve();
    const r = await parley(['chat', server.url], { input: '\nFind articles about CRISPR\n  \n//slash is a message\n' });
    same(r.code, 0, r.err);
    const { json: { threads: [{ id }] } } = await server.get('/v1/threads');
    const messages = (await server.get(`/v1/threads/${id}`)).json.messages;
    same(messages.filter((m) => m.role === 'user').map((m) => m.parts[0].text), ['Find articles about CRISPR', '/slash is a message']);
    const words = messages.filter((m) => m.role === 'assistant').flatMap((m) => m.parts.filter((p) => p.type === 'text').map((p) => p.text.trim()));
    same(r.out.replace(/\s+/g, ' ').trim(), words.join(' ').replace(/\s+/g, ' '));
    check(/> search_articles \{"query":"CRISPR"\}\n {2}= search_articles: done\n/.test(r.err) && !/\x1b/.test(r.out + r.err), r.err);

    const asked = await parley(['chat', server.url], { input: 'Send 50 dollars to Hanako\ny\nSend 20 dollars to Taro\n' });
    same(asked.code, 1, asked.err);
    check(/waits: Send 50 USD to Hanako\?\n {2}no question is answered from a pipe[^]*this line and those after it were not sent\n$/.test(asked.err), asked.err);
    same([server.ledger(), (await pending(server)).map((a) => a.ask)], [[], ['Send 50 USD to Hanako?']]);
});

test('Ctrl-C stops the answer, a second one leaves', async (t) => {
    const server = await t.serve({ config: { demo: { token_ms: 200 } } });
    const s = terminal(t, ['chat', server.url]);
    await s.shows(READY);
    s.type('Tell me a long story about the sea\n');
    await s.shows(/story about the sea\r\n[^>]*\w+ \w+/);
    s.type('\x03');
    await s.shows(/stopping; Ctrl-C again leaves[^]*\(stopped\)[^]*\n\x1b\[1m> /);
    const { json: { threads: [{ id, state }] } } = await server.get('/v1/threads');
    same(state, 'idle');
    s.type('/threads\n');                                 // the one that stopped it does not also leave
    await s.shows(new RegExp(`/threads\r\n[^]*${id}[^]*\n\x1b\\[1m> `));
    s.type('\x03');
    same(await s.gone, 130, s.shown);
    check(s.shown.includes(`/open ${id} goes on`), s.shown);
});

// Words as they stand in the store and on stdout, without the lines they are broken into.
const run = (text) => text.replace(/\s+/g, ' ').trim();
async function stored(server) {
    const { json: { threads } } = await server.get('/v1/threads');
    same(threads.length, 1, 'conversations');
    const thread = await settled(server, threads[0].id);
    return run(thread.messages.at(-1).parts.filter((p) => p.type === 'text').map((p) => p.text).join(' '));
}

test('a connection that is cut again and again loses no word and says none twice', async (t) => {
    const server = await t.serve({ config: { demo: { token_ms: 5 } } });
    const way = await cutting(t, server, 900, 4);
    const said = await parley(['chat', way.url], { input: 'Find articles about CRISPR\n' });
    same(said.code, 0, said.err);
    check(way.cuts >= 2, `${way.cuts} cuts`);
    same(run(said.out), await stored(server));
    check(/the connection is lost; coming back/.test(said.err), said.err);
});

test('a server that is killed is come back to, and what was not saved is said again', async (t) => {
    const server = await t.serve({ config: { demo: { token_ms: 20 } } });
    const said = t.program(BIN, ['chat', server.url], { input: 'Find articles about CRISPR\n' });
    await said.says(/I found 5 relevant/);
    await server.restart('SIGKILL');
    same(await said.gone, 0, said.err);
    const words = await stored(server);
    check(run(said.out).endsWith(words.slice(words.indexOf('I found 5'))), said.out);
    check(/the connection is lost; coming back[^]*the last words were lost with the server; this part again/.test(said.err), said.err);
});

test('what waits for somebody else is told, not asked', async (t) => {
    const keys = ['key-of-ada-0123456789abcdef', 'key-of-max-0123456789abcdef'];
    const auth = { keys: keys.map((k, i) => ({ sha256: createHash('sha256').update(k).digest('hex'), principal: ['ada', 'max'][i], roles: [['user'], ['user', 'approver']][i] })) };
    const server = await t.serve({ config: { auth, approvals: { who: 'approver' } } });
    const without = await parley(['chat', server.url]);
    check(without.code === 1 && /\(401\) Set PARLEY_KEY to your key\.\n$/.test(without.err), without.err);
    const ada = terminal(t, ['chat', server.url], { PARLEY_KEY: keys[0] });
    await ada.shows(READY);
    ada.type('Send 50 dollars to Hanako\n');
    await ada.shows(/waits: Send 50 USD to Hanako\?[^]*it is not yours to decide[^]*\n\x1b\[1m> /);
    check(!/yes or no/.test(ada.shown), ada.shown);
    ada.type('\x04');
    same(await ada.gone, 0);
    const max = terminal(t, ['chat', server.url], { PARLEY_KEY: keys[1] });
    await max.shows(READY);
    max.type('Send 20 dollars to Taro\n');
    await max.shows(ASKED);
    max.type('y\n');
    await max.shows(/= process_payment: done[^]*\n\x1b\[1m> /);
    max.type('\x04');
    same(await max.gone, 0);
    same(server.ledger().map((l) => l.recipient), ['Taro']);
});

test('a tool of the browser is not done in the terminal, and the model is told so', async (t) => {
    const server = await t.serve();
    const s = terminal(t, ['chat', server.url]);
    await s.shows(READY);
    s.type('Where am I?\n');
    await s.shows(ASKED);
    s.type('y\n');
    await s.shows(/> get_location [^]*this needs a browser: it is not done here[^]*= get_location: failed[^]*\n\x1b\[1m> /);
    s.type('\x04');
    same(await s.gone, 0, s.shown);
});

test('every digit of an argument is shown, and words of strangers do nothing to the terminal', async (t) => {
    const evil = 'a\x1b[2J\x1b]0;title\x07\n\x9b31m\u202egnihtyreve';
    const said = { tool: evil, tool_use_id: 'c', message: evil, text: evil };
    const { told, url } = await stage(t, [
        { type: 'status', ...said }, { type: 'text_delta', ...said }, { type: 'intent_confirmation', ...said }, { type: evil },
        { type: 'tool_start', ...said, input: { [evil]: evil } }, { type: 'tool_progress', ...said, stage: evil },
        { type: 'tool_complete', ...said, ok: false, outcome: evil }, { type: 'step_reset', message: evil },
        { type: 'complete', payload: { awaiting: ['confirmation-1', '../../evil'], suggested_values: [evil, { label: evil }], finish_reason: 'length',
            tool_history: [{ tool_name: evil, output: evil.repeat(40) }] } },
    ], `{"id":"confirmation-1","status":"pending","tool":${JSON.stringify(evil)},"ask":${JSON.stringify(evil)},"input":{"amount":12345678901234567890.123456789000,"to":"\\u202eok"}}`);
    const s = terminal(t, ['chat', url]);
    await s.shows(READY);
    s.type('go\n');
    await s.shows(ASKED);
    check(s.shown.includes('{"amount":12345678901234567890.123456789000,"to":"\\u202eok"}'), s.shown);
    s.type('y\n');
    await s.shows(/now +approved[^]*\n\x1b\[1m> /);
    s.type('\x04');
    same(await s.gone, 0, s.shown);
    const text = plain(s.shown);
    check(!/[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]/.test(text), JSON.stringify(text));
    same(told.slice(1), [['/v1/approvals/confirmation-1', '{"confirmed":true}']]);
});
