// HTTP/2 by the server itself: the page, REST and streams as clients of today ask for them, many on one connection; and
// peers who take without end, or give what nobody asked for.
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { check, runToEnd, same, skip, test, until } from './lib.mjs';
import { Live } from './ai.mjs';
import { GET, TYPE, Wire, answer, ask, events, fields, frame, int32, secured, session } from './h2.mjs';

const alive = async (server) => same((await server.get('/healthz')).status, 200, 'others are served');
// A conversation whose history is a quarter of a megabyte.
async function long(server) {
    const { json } = await server.post('/v1/threads', {});
    for (let i = 0; i < 3; i++) await server.post('/v1/chat/stream', { thread_id: json.id, message: `${'long '.repeat(18000)} ${i}` });
    return json.id;
}
const END = 5, HEADS = 4;                              // END_HEADERS with and without END_STREAM

test('the page, REST, a stream and a decision go by one connection; a WebSocket still has its own', async (t) => {
    const server = await secured(t), s = await session(t, server);
    same(s.alpnProtocol, 'h2');
    const page = await answer(s, 'GET', '/');
    same([page.status, /<html/.test(page.text), page.headers['transfer-encoding'], page.headers.connection], [200, true, undefined, undefined]);
    const turn = await answer(s, 'POST', '/v1/chat/stream', { message: 'Send 50 dollars to Hanako' });
    same([turn.status, turn.headers['content-type']], [200, 'text/event-stream']);
    const end = events(turn.text).at(-1);
    same(end.type, 'complete');
    same((await answer(s, 'POST', `/v1/approvals/${end.payload.awaiting[0]}`, { confirmed: true })).status, 200);
    await until(() => server.ledger().length === 1, 'the payment');
    same((await answer(s, 'GET', '/nowhere')).status, 404);
    same((await answer(s, 'DELETE', `/v1/threads/${end.payload.thread_id}`)).status, 204);
    const head = await answer(s, 'HEAD', '/healthz');
    same([head.status, head.text], [200, '']);
    const l = await Live.open(t, server);
    await l.say('hello');
    await l.close();
});

test('every file of the page comes whole, compressed or not, however large', async (t) => {
    const server = await secured(t), s = await session(t, server, { settings: { initialWindowSize: 70000 } });
    const { text } = await answer(s, 'GET', '/'), files = [...text.matchAll(/(?:src|href)="(\/[^"]+)"/g)].map((m) => m[1]);
    check(files.length > 1, text);
    for (const at of ['/', ...files]) {
        const two = await answer(s, 'GET', at), one = await server.get(at);
        same([two.status, two.text.length, two.text === one.text], [one.status, one.text.length, true], at);
    }
});

test('fifty conversations at once on one connection; one that is left disturbs no other', async (t) => {
    const server = await secured(t, { demo: { token_ms: 5 } }), s = await session(t, server);
    const all = Array.from({ length: 50 }, (_, i) => ask(s, 'POST', '/v1/chat/stream', { message: `Tell me a story about ${i}` }));
    await until(() => all.every((a) => a.text.includes('text_delta')), 'all of them to speak');
    all[7].q.close(8);
    await Promise.all(all.map((a) => a.end));
    for (const [i, a] of all.entries()) if (i !== 7) same([a.status, events(a.text).at(-1).type, a.code], [200, 'complete', 0], i);
    same((await server.metrics()).parley_streams ?? 0, 0, 'streams that are left over');
});

test('who may come in, from where and with what is asked as on any connection', async (t) => {
    const auth = { keys: [{ sha256: createHash('sha256').update('k'.repeat(32)).digest('hex'), principal: 'ada', roles: ['user'] }] };
    const server = await secured(t, { auth }), s = await session(t, server);
    s.heads = {};
    same((await answer(s, 'GET', '/v1/threads')).status, 401);
    same((await answer(s, 'POST', '/v1/chat/stream', 'x'.repeat(300000))).status, 401, 'before its body');
    const token = JSON.stringify({ token: 'k'.repeat(32) });
    same((await answer(s, 'POST', '/v1/session', token, { origin: server.url })).status, 413, 'strangers say how long it is');
    const signed = await answer(s, 'POST', '/v1/session', token, { origin: server.url, 'content-length': token.length });
    const cookie = signed.headers['set-cookie'][0];
    check(/^__Host-parley=.*; Secure/.test(cookie), cookie);
    same((await answer(s, 'GET', '/v1/session', undefined, { cookie: ['a=b', cookie.split(';')[0], 'c=d'] })).json.principal, 'ada', 'a cookie in pieces');
    same((await answer(s, 'GET', '/v1/threads', undefined, { ':authority': 'evil.example' })).status, 421);
    same((await answer(s, 'POST', '/v1/threads', {}, { cookie: cookie.split(';')[0], origin: 'https://evil.example' })).status, 403);
});

test('bodies of any length and of none that was said; what is too much is refused in words', async (t) => {
    const server = await secured(t, { limits: { body: 1 << 20, head: 4096 } }), s = await session(t, server);
    const words = 'word '.repeat(120000);                     // more than a window
    for (const headers of [{}, { 'content-length': Buffer.byteLength(JSON.stringify({ message: words })) }])
        same(events((await answer(s, 'POST', '/v1/chat/stream', { message: words }, headers)).text).at(-1).type, 'complete');
    const long = await answer(s, 'POST', '/v1/chat/stream', 'x'.repeat(3 << 20));
    same([long.status, long.json.error.code], [413, 'body_too_large']);
    const head = await answer(s, 'GET', '/v1/tools', undefined, { 'x-long': 'y'.repeat(5000) });
    same([head.status, head.json.error.code], [431, 'head_too_large']);
    same((await answer(s, 'GET', `/${'z'.repeat(9000)}`)).status, 414);
    same((await answer(s, 'GET', '/v1/tools')).status, 200, 'the connection goes on');
});

test('curl, and its uploads, by HTTP/2', async (t) => {
    const server = await secured(t);
    const curl = (...args) => runToEnd('curl', ['-sk', '--http2', '--max-time', '20', '-H', `Authorization: Bearer ${server.token}`, '-w', '\n%{http_version} %{http_code}', ...args], { input: '{"message":"hello"}' });
    const last = async (...args) => { const r = await curl(...args); if (r.code === 'ENOENT') skip('no curl'); return r.out.split('\n').at(-1); };
    same(await last(`${server.url}/v1/tools`), '2 200');
    same(await last(`${server.url}/v1/chat/stream`, '-d', '{"message":"hello"}'), '2 200');
    same(await last(`${server.url}/v1/chat/stream`, '-X', 'POST', '-T', '-'), '2 200', 'a length that was not said');
    same(await last(`${server.url}/v1/chat/stream`, '-d', '{"message":"hello"}', '-H', 'Expect: 100-continue'), '2 200');
    const file = path.join(t.folder(), 'large');
    fs.writeFileSync(file, Buffer.alloc(9 << 20));
    same(await last(`${server.url}/v1/chat/stream`, '--data-binary', `@${file}`), '2 413', 'it hears the answer');
});

test('a window that is never opened costs that stream, and only after its time', async (t) => {
    const server = await secured(t, { limits: { write_seconds: 1 } });
    const w = await Wire.open(t, server, { settings: Buffer.from([0, 4, 0, 0, 0, 10]) });          // ten bytes for each stream
    w.send(frame(TYPE.HEADERS, END, 1, GET(server)), frame(TYPE.HEADERS, END, 3, GET(server, '/v1/tools')));
    await w.wait(TYPE.DATA, 'what fits', 1);
    same(Buffer.concat(w.of(TYPE.DATA, 1).map((f) => f.payload)).length, 10);
    w.send(frame(TYPE.WINDOW_UPDATE, 0, 3, int32(1 << 20)));
    await until(() => w.of(TYPE.DATA, 3).some((f) => f.flags & 1), 'the other one, whole');
    same((await w.wait(TYPE.RST_STREAM, 'the end of the shut one', 1)).payload.readUInt32BE(0), 8);
    w.send(frame(TYPE.HEADERS, END, 5, GET(server, '/healthz')), frame(TYPE.WINDOW_UPDATE, 0, 5, int32(1 << 20)));
    await until(() => w.of(TYPE.DATA, 5).some((f) => f.flags & 1), 'one that comes after it');
    check(!w.over && w.goaway === undefined, 'the connection goes on');
});

test('a head that does not end, a body that does not come and a peer that asks for nothing have their time', async (t) => {
    const server = await secured(t, { limits: { head_seconds: 1, body_seconds: 1, idle_seconds: 1 } });
    const drip = await Wire.open(t, server), late = await Wire.open(t, server), mute = await Wire.open(t, server, { preface: '' }), idle = await Wire.open(t, server);
    drip.send(frame(TYPE.HEADERS, 0, 1, GET(server)));          // no END_HEADERS
    late.send(frame(TYPE.HEADERS, HEADS, 1, fields([[':method', 'POST'], [':scheme', 'https'], [':authority', `127.0.0.1:${server.port}`], [':path', '/v1/threads'], ['authorization', `Bearer ${server.token}`]])));
    await Promise.all([drip.ended('the dripping one'), mute.ended('the silent one'), idle.ended('the idle one')]);
    same(idle.goaway, 0, 'it is told');
    check((await late.wait(TYPE.DATA, '408', 1)).payload.toString().includes('request_timeout'), 'in words');
});

// What a hostile peer sends after its preface, and the code with which it is told to go (undefined: it is just closed).
const many = (n, f) => Buffer.concat(Array.from({ length: n }, (_, i) => f(i)));
const HOSTILE = {
    'pings without end': [() => many(1500, () => frame(TYPE.PING, 0, 0, 'eightbit')), 11],
    'settings without end': [() => many(1500, () => frame(TYPE.SETTINGS)), 11],
    'priorities without end': [() => many(1500, () => frame(TYPE.PRIORITY, 0, 3, Buffer.alloc(5))), 11],
    'empty data without end': [(server) => Buffer.concat([frame(TYPE.HEADERS, HEADS, 1, fields([[':method', 'POST'], [':scheme', 'https'], [':authority', `127.0.0.1:${server.port}`], [':path', '/v1/threads'], ['authorization', `Bearer ${server.token}`]])), many(1500, () => frame(TYPE.DATA, 0, 1))]), 11],
    'frames of a kind that nobody knows, without end': [() => many(1500, () => frame(0xbe, 0, 0, 'x')), 11],
    'a window that is opened a byte at a time, without end': [() => many(1500, () => frame(TYPE.WINDOW_UPDATE, 0, 0, int32(1))), 11],
    'data that is nothing but padding': [(server) => Buffer.concat([frame(TYPE.HEADERS, HEADS, 1, fields([[':method', 'POST'], [':scheme', 'https'], [':authority', `127.0.0.1:${server.port}`], [':path', '/v1/threads'], ['authorization', `Bearer ${server.token}`]])), many(1500, () => frame(TYPE.DATA, 8, 1, Buffer.from([2, 0, 0])))]), 11],
    'windows of a stream that is over': [(server) => Buffer.concat([frame(TYPE.HEADERS, END, 1, GET(server, '/healthz')), frame(TYPE.RST_STREAM, 0, 1, int32(8)), many(1500, () => frame(TYPE.WINDOW_UPDATE, 0, 1, int32(1)))]), 11],
    'requests beyond what was agreed, without end': [(server) => many(1000, (i) => frame(TYPE.HEADERS, HEADS, 2 * i + 1, fields([[':method', 'POST'], [':scheme', 'https'], [':authority', `127.0.0.1:${server.port}`], [':path', '/v1/threads'], ['authorization', `Bearer ${server.token}`]]))), 11],
    'requests that are taken back at once': [(server) => many(400, (i) => Buffer.concat([frame(TYPE.HEADERS, END, 2 * i + 1, GET(server)), frame(TYPE.RST_STREAM, 0, 2 * i + 1, int32(8))])), 2],
    'a head in pieces without end': [(server) => Buffer.concat([frame(TYPE.HEADERS, 0, 1, GET(server)), many(2000, () => frame(TYPE.CONTINUATION, 0, 1))]), 'any'],
    'a head that unpacks to megabytes': [(server) => Buffer.concat([frame(TYPE.HEADERS, 0, 1, GET(server)), many(40, () => frame(TYPE.CONTINUATION, 0, 1, fields([['x', 'y'.repeat(16000)]])))]), 'any'],
    'data on a stream that nobody opened': [() => frame(TYPE.DATA, 1, 7, 'hello'), 1],
    'a window beyond all bounds': [() => many(3, () => frame(TYPE.WINDOW_UPDATE, 0, 0, int32(0x7fffffff))), 3],
    'a frame larger than agreed': [() => frame(TYPE.DATA, 0, 1, Buffer.alloc(20000)), 6],
    'no fields at all': [() => frame(TYPE.HEADERS, END, 1, Buffer.from([0xff, 0xff, 0xff, 0xff, 0xff])), 9],
};
for (const [what, [bytes, code]] of Object.entries(HOSTILE))
    test(`${what}: it is left, and nobody else notices`, async (t) => {
        const server = await secured(t), s = await session(t, server);
        const other = ask(s, 'POST', '/v1/chat/stream', { message: 'Tell me a long story' });
        const w = await Wire.open(t, server);
        w.send(bytes(server));
        await w.ended('its end');
        if (code !== 'any') same(w.goaway, code, 'what it was told');
        same(events((await other.end).text).at(-1).type, 'complete');
        await alive(server);
    });

test('who makes the server take requests back is left as who takes them back', async (t) => {
    const server = await secured(t), w = await Wire.open(t, server), post = fields([[':method', 'POST'], [':scheme', 'https'], [':authority', `127.0.0.1:${server.port}`], [':path', '/v1/threads'], ['authorization', `Bearer ${server.token}`]]);
    const begun = (i) => Buffer.concat([frame(TYPE.HEADERS, HEADS, 2 * i + 1, post), frame(TYPE.WINDOW_UPDATE, 0, 2 * i + 1, int32(0x7fffffff))]);
    for (let n = 0; n < 900 && w.goaway === undefined; n += 50) {
        w.send(many(50, (i) => begun(n + i)));
        await until(() => w.goaway !== undefined || w.of(TYPE.RST_STREAM).length >= n + 50, 'that they are taken back');
    }
    same(w.goaway, 11, 'told to calm down');
    await w.ended('its end');
    await alive(server);
});

test('bytes that are no HTTP/2 at all end it at once', async (t) => {
    const server = await secured(t);
    for (const preface of ['GET / HTTP/1.1\r\nHost: localhost\r\n\r\n', 'PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n', Buffer.alloc(3000, 255)])
        await (await Wire.open(t, server, { preface })).ended('its end');
    await alive(server);
});

test('a request that could be read in two ways is read in none', async (t) => {
    const server = await secured(t), w = await Wire.open(t, server);
    const bad = (list) => fields([[':method', 'GET'], [':scheme', 'https'], [':authority', `127.0.0.1:${server.port}`], [':path', '/healthz'], ...list]);
    const refused = [bad([['connection', 'close']]), bad([['transfer-encoding', 'chunked']]), bad([['X-Upper', '1']]), bad([['x', 'a\r\nhost: evil']]), bad([['x\r\ny', '1']]), bad([[':path', '/v1/threads']]),
        bad([['content-length', '5']]), fields([[':method', 'GET'], [':scheme', 'https'], [':authority', 'x']])];
    const words = [bad([['host', 'evil.example']]), fields([[':method', 'GET'], [':scheme', 'https'], [':authority', `127.0.0.1:${server.port}`], [':path', '/a b']]),
        fields([[':method', 'GET'], [':scheme', 'https'], [':authority', `127.0.0.1:${server.port}`], [':path', '/healthz HTTP/1.1']])];
    [...refused, ...words].forEach((f, i) => w.send(frame(TYPE.HEADERS, END, 2 * i + 1, f)));
    for (const [i] of refused.entries()) await w.wait(TYPE.RST_STREAM, `the refusal of ${i}`, 2 * i + 1);
    for (const [i] of words.entries()) {
        const id = 2 * (refused.length + i) + 1;
        await until(() => w.frames.some((f) => f.stream === id && (f.type === TYPE.RST_STREAM || f.type === TYPE.DATA)), `the answer to ${id}`);
        check(!w.of(TYPE.DATA, id).some((f) => /alive|"ok"|true/.test(f.payload)), `${i} was answered as if it were good`);
    }
    await alive(server);
});

test('more streams than agreed are put off, and streams count as connections do', async (t) => {
    const server = await secured(t), w = await Wire.open(t, server);
    const { json } = await server.post('/v1/threads', {});
    const follow = (i) => frame(TYPE.HEADERS, END, 2 * i + 1, GET(server, `/v1/threads/${json.id}/events?after=0.0`));
    w.send(many(105, follow));
    await until(() => w.of(TYPE.HEADERS).length === 100 && w.of(TYPE.RST_STREAM).length === 5, 'a hundred, and five that are refused');
    same([...new Set(w.of(TYPE.RST_STREAM).map((f) => f.payload.readUInt32BE(0)))], [7], 'to be asked again');
    const small = await secured(t, { limits: { connections: 3 } }), s = await session(t, small), thread = (await answer(s, 'POST', '/v1/threads', {})).json.id;
    const open = [1, 2, 3].map(() => ask(s, 'GET', `/v1/threads/${thread}/events?after=0.0`));
    await until(() => open.every((o) => o.status), 'an answer to each');
    same(open.map((o) => o.status).sort(), [200, 200, 200]);
    const more = ask(s, 'GET', `/v1/threads/${thread}/events?after=0.0`);
    await until(() => more.status, 'one too many');
    same([more.status, (await answer(s, 'GET', '/healthz')).status], [503, 200], 'and what is vital goes on');
});

// Everything in one write, so that it is read in one turn of the loop.
test('many readers of a long conversation keep nobody else waiting: they have their turns between others', async (t) => {
    const server = await secured(t), thread = await long(server), w = await Wire.open(t, server), N = 60, ids = Array.from({ length: N }, (_, i) => 2 * i + 1), health = 2 * N + 1;
    w.send(frame(TYPE.WINDOW_UPDATE, 0, 0, int32(1 << 30)), ...ids.map((id) => frame(TYPE.HEADERS, END, id, GET(server, `/v1/threads/${thread}`))), frame(TYPE.HEADERS, END, health, GET(server, '/healthz')));
    await until(() => w.of(TYPE.HEADERS).length === N + 1, 'an answer to each');
    const order = w.of(TYPE.HEADERS).map((f) => f.stream);
    check(order.indexOf(health) < 10, `after ${order.indexOf(health)} of them`);
    same([...order].sort((a, b) => a - b), [...ids, health], 'and each has one');
});

test('what was asked for and taken back is not looked for', async (t) => {
    const server = await secured(t), w = await Wire.open(t, server), N = 60;
    const asked = async () => Number((await server.metrics())['parley_searches_total'] ?? 0), before = await asked();
    const one = (i, path) => [frame(TYPE.HEADERS, END, 2 * i + 1, GET(server, path)), frame(TYPE.RST_STREAM, 0, 2 * i + 1, int32(8))];
    w.send(...Array.from({ length: N }, (_, i) => one(i, `/v1/threads?search=nothing${i}&in=all`)).flat(), frame(TYPE.HEADERS, END, 2 * N + 1, GET(server, '/v1/threads?search=last&in=all')));
    await w.wait(TYPE.HEADERS, 'the last one', 2 * N + 1);
    const begun = await asked() - before;
    check(begun >= 1 && begun <= 4, `${begun} searches for one who waits`);
});

test('a server that stops says so, and what it was saying is said to its end', async (t) => {
    const server = await secured(t, { demo: { token_ms: 20 } }), s = await session(t, server), quiet = await session(t, server);
    const left = Promise.all([once(s, 'goaway'), once(quiet, 'close')]);
    const story = ask(s, 'POST', '/v1/chat/stream', { message: 'Tell me a long story' });
    await until(() => story.text.includes('text_delta'), 'the first words');
    await server.term();
    await Promise.all([left, story.end]);
    check(/restarting|reconnect/.test(story.text), story.text.slice(-300));
    same(server.status, 0);
});
