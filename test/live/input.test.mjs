// Bad input: each with its status, its code and a sentence; and HTTP as it is
// spoken on the wire.
import { check, raw, same, sound, test } from './lib.mjs';

async function refused(server, method, at, body, status, code, headers) {
    const r = await server.request(method, at, body, headers);
    const what = `${method} ${at} ${typeof body === 'string' ? body.slice(0, 60) : JSON.stringify(body)?.slice(0, 60)}`;
    same([r.status, r.json?.error?.code], [status, code], what);
    check(r.json.error.message.length > 10 && /^[A-Z"]/.test(r.json.error.message), `a sentence: ${r.json.error.message}`);
    check(/^application\/json/.test(r.headers['content-type']), 'as JSON');
    return r.json.error.message;
}

for (const door of ['/v1/chat/stream', '/functions/v1/chat']) {
    test(`${door} refuses what is not JSON, is of the wrong type or says nothing`, async (t) => {
        const server = await t.serve();
        const bad = (body, status, code) => refused(server, 'POST', door, body, status, code);
        for (const body of ['', '{', 'hello', '{"message":"x",}', '{"message":"a"}x', "{'message':1}", '{"message":"a","message":"b"}']) await bad(body, 400, 'bad_json');
        for (const body of ['[]', '"x"', '1', 'null']) await bad(body, 422, 'bad_field');
        check((await bad({ message: 1 }, 422, 'bad_field')).includes('"message"'), 'names the field');
        check((await bad({ message: 'x', thread_id: {} }, 422, 'bad_field')).includes('"thread_id"'), 'names the field');
        for (const body of [{}, { message: '' }, { message: '  \n' }, { message: null }, { messages: [] }, { messages: 'x' }, { messages: [1] },
            { messages: [{ role: 'assistant', content: 'x' }] }, { messages: [{ role: 'user', content: 7 }] },
            { message: 'x', request_id: '' }, { message: 'x', request_id: 'r'.repeat(129) }, { message: 'x', when_busy: 'never' },
            { message: 'x', page: 7 }, { action: 'approve' }, { action: { action: 1 } }]) await bad(body, 422, 'bad_field');
        await bad({ message: 'x', page: 'nowhere' }, 422, 'unknown_page');
        await bad({ message: 'x', thread_id: 't_unknown' }, 404, 'unknown_thread');
        await bad({ action: { action: 'apply_nothing' }, thread_id: 't_unknown' }, 404, 'unknown_thread');
        await bad({ action: { action: 'approve', data: { confirmation_id: 'confirmation-x' } } }, 404, 'unknown_confirmation');
        same((await server.get('/v1/threads')).json.threads, [], 'nothing was made');
        sound(await server.turn('hello'));
    });
}

test('bad UTF-8 is refused, in the message and in the keys', async (t) => {
    const server = await t.serve();
    for (const bytes of ['ff', 'c080', 'eda080', 'f4908080', 'e282'])
        for (const [a, b] of [['{"message":"', '"}'], ['{"', '":1,"message":"x"}']])
            await refused(server, 'POST', '/v1/chat/stream', Buffer.concat([Buffer.from(a), Buffer.from(bytes, 'hex'), Buffer.from(b)]), 400, 'bad_json');
});

test('a NUL, a lone surrogate and every kind of character survive a conversation', async (t) => {
    const server = await t.serve();
    for (const text of ['a\u0000b', '日本語 🎉 Ünïcödé', '"\\\n\t\u0001', '[[tool:0]]']) {
        const s = sound(await server.turn(text));
        same((await server.get(`/v1/threads/${s.thread}`)).json.messages[0].parts, [{ type: 'text', text }]);
    }
    const s = await (await server.open('POST', '/v1/chat/stream', '{"message":"x\\ud800y"}')).read();
    check((await server.get(`/v1/threads/${s.thread}`)).text.includes('x\\ud800y'), 'a lone surrogate stays the same escape');
});

test('JSON that is nested too deeply is told so at every door, with the limit', async (t) => {
    const server = await t.serve(), deep = (n) => `{"message":"hello","x":${'['.repeat(n)}${']'.repeat(n)}}`;
    for (const at of ['/v1/chat/stream', '/functions/v1/chat', '/api/chat', '/ag-ui', '/run_sse', '/v1/responses', '/v1/chat/completions', '/v1/conversations', '/mcp']) {
        const r = await server.post(at, deep(200), { accept: 'application/json, text/event-stream' });
        check(r.status === 400 && /nested too deeply[:,] at most 128 levels are taken/.test(r.text), `${at}: ${r.status} ${r.text}`);
    }
    sound(await (await server.open('POST', '/v1/chat/stream', deep(127))).read());
});

test('a body over the limit is 413, told or not told in advance', async (t) => {
    const server = await t.serve({ config: { limits: { body: 100000 } } });
    const big = JSON.stringify({ message: 'x'.repeat(200000) });
    await refused(server, 'POST', '/v1/chat/stream', big, 413, 'body_too_large').catch((e) => { if (!/EPIPE|ECONNRESET|hang up/.test(e.message)) throw e; });
    const chunked = await raw(server, 'POST /v1/chat/stream HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n30d40\r\n' + 'x'.repeat(200000) + '\r\n0\r\n\r\n', { half: false });
    check(chunked.startsWith('HTTP/1.1 413 '), chunked.slice(0, 100));
    const deep = '{"message":' + '['.repeat(200) + ']'.repeat(200) + '}';
    await refused(server, 'POST', '/v1/chat/stream', deep, 400, 'bad_json');
    await refused(server, 'POST', '/v1/chat/stream', { message: 'y'.repeat(90000), page: 'z'.repeat(200) }, 422, 'bad_field');
});

test('a message of a megabyte is too long, one below it is taken', async (t) => {
    const server = await t.serve();
    await refused(server, 'POST', '/v1/chat/stream', { message: 'x'.repeat(1024 * 1024 + 1) }, 422, 'bad_field');
    sound(await server.turn('x'.repeat(500000)));
});

test('REST bodies are checked too', async (t) => {
    const server = await t.serve();
    const { thread } = await server.turn('hello');
    const at = `/v1/threads/${thread}`;
    await refused(server, 'POST', '/v1/threads', '{', 400, 'bad_json');
    await refused(server, 'POST', '/v1/threads', { title: 1 }, 422, 'bad_field');
    await refused(server, 'POST', '/v1/threads', { title: 'x'.repeat(300) }, 422, 'bad_field');
    await refused(server, 'PATCH', at, {}, 422, 'bad_field');
    await refused(server, 'PATCH', at, { title: [] }, 422, 'bad_field');
    await refused(server, 'POST', at + '/actions', {}, 422, 'bad_field');
    await refused(server, 'POST', at + '/actions', '', 400, 'bad_json');
    await refused(server, 'POST', at + '/results/call-x', {}, 422, 'bad_field');
    await refused(server, 'POST', at + '/results/call-x/claim', {}, 422, 'bad_field');
    await refused(server, 'POST', '/v1/approvals/x/settle', { outcome: 'maybe' }, 422, 'bad_field');
    await refused(server, 'POST', '/v1/approvals/x/settle', { outcome: 'done' }, 404, 'unknown_confirmation');
    await refused(server, 'GET', '/v1/approvals/x', undefined, 404, 'unknown_confirmation');
    for (const id of ['a%2fb', 'x'.repeat(129), '%00', 'ä']) same((await server.get(`/v1/threads/${encodeURI(id)}`)).status, 404, id);
});

test('a wrong method is 405 with Allow, an unknown door 404', async (t) => {
    const server = await t.serve();
    const r = await server.request('PUT', '/v1/chat/stream', {});
    same([r.status, /\bPOST\b/.test(r.headers.allow)], [405, true]);
    same((await server.request('DELETE', '/v1/approvals/x')).status, 405);
});

test('the page is at its own addresses and nowhere else; programs read JSON where there is nothing', async (t) => {
    const server = await t.serve();
    for (const at of ['/', '/t/t_some-thread', '/inbox', '/approvals/confirmation-call-x', '/a/token']) {
        const r = await server.get(at);
        same([at, r.status, r.headers['content-type']], [at, 200, 'text/html; charset=utf-8']);
    }
    for (const at of ['/nothing', '/index', '/t', '/t/', '/t/a/b', '/inbox/', '/inbox/x', '/approvals', '/a', '/apifoo', '/wp-login.php', '/assets/none.js', '/v1x']) {
        for (const method of ['GET', 'POST', 'DELETE', 'PUT']) {
            const r = await server.request(method, at, method === 'GET' ? undefined : {});
            same([method, at, r.status, r.headers['content-type'], r.text], [method, at, 404, 'text/plain; charset=utf-8', 'There is nothing at this address.\n']);
        }
    }
    for (const at of ['/v1', '/v1/nothing', '/v1/threads/x/y/z', '/api', '/api/nothing', '/functions/v1/nothing']) {
        for (const method of ['GET', 'POST']) {
            const r = await server.request(method, at, method === 'GET' ? undefined : {});
            same([method, at, r.status, r.json?.error.code], [method, at, 404, at.startsWith('/v1/') ? 'unknown_url' : 'not_found']);
        }
    }
    same((await server.post('/inbox', {})).status, 405);
});

test('every answer has its date, and those of the doors are not to be stored', async (t) => {
    const server = await t.serve();
    const T = (await server.post('/v1/threads', {})).json.id;
    for (const [at, cache] of [['/v1/threads', 'no-store'], [`/v1/threads/${T}`, 'no-store'], ['/v1/approvals', 'no-store'], ['/v1/none', 'no-store'], ['/healthz', 'no-store'], ['/metrics', 'no-store'], ['/', /no-cache|no-store/]]) {
        const r = await server.get(at);
        check(/^(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d [A-Z][a-z][a-z] \d{4} \d\d:\d\d:\d\d GMT$/.test(r.headers.date) && !Number.isNaN(Date.parse(r.headers.date)), `${at}: ${r.headers.date}`);
        check(cache.test ? cache.test(r.headers['cache-control']) : cache === r.headers['cache-control'], `${at}: ${r.headers['cache-control']}`);
    }
    const s = await server.turn('hello');
    check(s.headers.date && /no-store/.test(s.headers['cache-control']), 'a stream, too');
    check(/^HTTP\/1.1 400[^]*\r\nDate: /.test(await raw(server, 'GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n')), 'and a refusal');
});

// --- Host and Origin -----------------------------------------------------------------------

test('only known hosts are answered to', async (t) => {
    const server = await t.serve({ config: { hosts: ['chat.localhost'] } });
    const ask = async (host) => (await server.get('/healthz', { host })).status;
    for (const good of ['localhost', `localhost:${server.port}`, '127.0.0.1', '[::1]:80', 'chat.localhost', 'Chat.LocalHost:443']) same([await ask(good), good], [200, good]);
    for (const bad of ['evil.example', 'localhost.evil.example', 'chat.localhost.evil', '127.0.0.1.evil', 'x@localhost']) {
        const status = await ask(bad);
        check([421, 400].includes(status), `${bad}: ${status}`);
    }
    check(server.log.length >= 0, 'the log is JSON');
});

test('only the own page and listed origins may use a door', async (t) => {
    const server = await t.serve({ config: { origins: ['https://app.localhost'] } });
    const ask = async (origin, host = `127.0.0.1:${server.port}`) => (await server.post('/v1/threads', {}, { origin, host })).status;
    same(await ask(`http://127.0.0.1:${server.port}`), 201);
    same(await ask('https://app.localhost'), 201);
    same(await ask(`http://localhost:${server.port}`, `localhost:${server.port}`), 201);
    for (const bad of ['https://evil.example', 'http://127.0.0.1:1', 'null', 'https://app.localhost.evil', 'http://app.localhost', 'file://'])
        same([await ask(bad), bad], [403, bad]);
    same((await server.get('/v1/threads')).json.threads.length, 3);
});

// --- the wire ---------------------------------------------------------------------------------

const GET = (path, more = '') => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n${more}\r\n`;
const count = (text, what) => text.split(what).length - 1;

test('a connection is kept and pipelined requests are answered in order', async (t) => {
    const server = await t.serve();
    const got = await raw(server, GET('/healthz') + GET('/readyz') + GET('/v1/threads') + GET('/healthz', 'Connection: close\r\n'), { half: false });
    same(count(got, 'HTTP/1.1 200'), 4);
    const order = ['"status":"ok"', '"ready":true', '"threads":[', '"status":"ok"'].map((w, i, all) => got.indexOf(w, i === 3 ? got.indexOf(all[2]) : 0));
    check(order.every((x, i) => x > (order[i - 1] ?? -1)), 'in order');
});

test('a stream is followed by the next pipelined answer', async (t) => {
    const server = await t.serve();
    const body = JSON.stringify({ message: 'hello' });
    const post = `POST /v1/chat/stream HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    const got = await raw(server, post + GET('/healthz', 'Connection: close\r\n'), { half: false });
    same(count(got, 'HTTP/1.1 200'), 2);
    check(got.indexOf('"type":"complete"') < got.lastIndexOf('HTTP/1.1 200'), 'after the stream');
});

test('HTTP/1.0 and HEAD get what they can take', async (t) => {
    const server = await t.serve();
    const old = await raw(server, 'GET /healthz HTTP/1.0\r\nHost: localhost\r\n\r\n', { half: false });
    check(old.startsWith('HTTP/1.1 200') && /connection: close/i.test(old), old.slice(0, 200));
    const body = '{"message":"hello"}';
    const stream = await raw(server, `POST /v1/chat/stream HTTP/1.0\r\nHost: localhost\r\nContent-Length: ${body.length}\r\n\r\n${body}`, { half: false });
    check(!/transfer-encoding/i.test(stream) && stream.includes('"type":"complete"'), 'a stream without chunks');
});

test('malformed requests are refused and the connection is closed', async (t) => {
    const server = await t.serve();
    const bad = {
        'no host': 'GET /healthz HTTP/1.1\r\n\r\n',
        'two hosts': 'GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n',
        'both lengths': 'POST /v1/threads HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}',
        'two lengths': 'POST /v1/threads HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\n{}',
        'a folded header': 'GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: a\r\n b\r\n\r\n',
        'bare line feeds': 'GET /healthz HTTP/1.1\nHost: localhost\n\n',
        'a name with a blank': 'GET /healthz HTTP/1.1\r\nHost: localhost\r\nX : a\r\n\r\n',
        'no HTTP': 'hello\r\n\r\n',
        'a long head': `GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: ${'a'.repeat(20000)}\r\n\r\n`,
    };
    for (const [what, text] of Object.entries(bad)) {
        const got = await raw(server, text, { half: false });
        check(/^HTTP\/1\.1 4\d\d /.test(got), `${what}: ${got.slice(0, 60)}`);
        same(count(got, 'HTTP/1.1 '), 1, `answers to ${what}`);
    }
    same((await server.get('/healthz')).status, 200);
});

test('a client that leaves at any byte of its request costs nothing', async (t) => {
    const server = await t.serve();
    const body = '{"message":"What is the weather in Tokyo?"}';
    const text = `POST /v1/chat/stream HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    for (let i = 1; i < text.length; i += 3) await raw(server, text.slice(0, i));
    same((await server.get('/v1/threads')).json.threads, []);
    const most = 2 * (server.nodes?.length ?? 1);
    check((await server.metrics()).parley_connections <= most, 'no connection is left');
});
