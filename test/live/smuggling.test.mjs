// Requests made to be read in two ways, on the wire. Each must be refused with a 4xx or 5xx and the connection closed, and the
// second request hidden in it must never be answered; then the same question to Node's own parser, with generated requests:
// where both take one, both must have seen the same requests. And peers that send slowly, or never stop.
import { once } from 'node:events';
import fs from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import { check, raw, same, test, until, within } from './lib.mjs';

const HIDDEN = 'POST /v1/threads HTTP/1.1\r\nHost: localhost\r\nContent-Length: 19\r\n\r\n{"title":"smuggled"}'.replace('19', '20');
const POST = (headers, body = '') => `POST /v1/threads HTTP/1.1\r\nHost: localhost\r\n${headers}\r\n${body}`;
const chunked = (body) => POST('Transfer-Encoding: chunked\r\n', body);
const statuses = (text) => [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map((m) => Number(m[1])).filter((s) => s !== 100);

const FAMILIES = {
    'a length and an encoding': [
        POST(`Content-Length: 6\r\nTransfer-Encoding: chunked\r\n`, `0\r\n\r\n${HIDDEN}`),
        POST(`Transfer-Encoding: chunked\r\nContent-Length: ${HIDDEN.length + 5}\r\n`, `0\r\n\r\n${HIDDEN}`),
        POST(`Content-Length: 4\r\nTransfer-Encoding: chunked\r\n`, `54\r\n${HIDDEN}\r\n0\r\n\r\n`),
        POST(`Transfer-Encoding: identity\r\nContent-Length: 2\r\n`, `{}${HIDDEN}`),
        POST(`Content-Length: 2\r\nTransfer-Encoding: \r\n`, `{}${HIDDEN}`),
        POST(`Content-Length: 0\r\nTransfer-Encoding: chunked\r\n`, `0\r\n\r\n${HIDDEN}`),
    ],
    'spellings of chunked': ['xchunked', 'chunkedx', 'Chunked', 'CHUNKED', ' chunked', 'chunked ', '\tchunked', 'chunked\t', '"chunked"', "'chunked'", 'chunked;', 'chunked;q=0',
        'chunked, identity', 'identity, chunked', 'chunked, chunked', 'gzip, chunked', ',chunked', 'chunked,', 'chunk\u0000ed', 'chu nked', '\u000bchunked', '\u000cchunked', 'chunked\u007f', '\u0085chunked', 'chunked\u00a0', 'identity', 'cow', '']
        .map((te) => POST(`Transfer-Encoding:${te.startsWith('\t') ? '' : ' '}${te}\r\n`, `0\r\n\r\n${HIDDEN}`)),
    'names of the encoding': ['Transfer-Encoding ', 'Transfer-Encoding\t', ' Transfer-Encoding', 'Transfer_Encoding', 'Transfer Encoding', 'Transfer\u0000-Encoding', 'X: y\rTransfer-Encoding', 'X: y\nTransfer-Encoding', 'X:\r\n Transfer-Encoding', '\u000bTransfer-Encoding', 'Transfer-Encoding\r\n ', 'Transfer-Encoding:chunked\r\nTransfer-Encoding', 'Connection: Transfer-Encoding\r\nTransfer-Encoding']
        .map((name) => POST(`${name}: chunked\r\n`, `0\r\n\r\n${HIDDEN}`)),
    'spellings of a length': ['2, 2', '2,3', '+2', '-2', '-0', '0x2', '02', '2 2', '2;', '2.0', '2e0', '"2"', 'two', '', '2\u0000', '\u000b2', '2\u007f', '２', '18446744073709551618', '99999999999999999999', '9223372036854775810', '\t2', '2 ', '2\t']
        .map((n) => POST(`Content-Length: ${n}\r\n`, `{}${HIDDEN}`)),
    'names of a length': ['Content-Length ', 'Content-Length\t', ' Content-Length', 'Content_Length', 'Content Length', 'Content\u0000-Length', 'X: y\rContent-Length', 'X: y\nContent-Length', 'X:\r\n Content-Length', 'Content-Length: 2\r\nContent-Length', 'Content-Length: 99\r\ncontent-length', 'Connection: close, Content-Length\r\nContent-Length']
        .map((name) => POST(`${name}: 2\r\n`, `{}${HIDDEN}`)),
    chunks: ['2\n{}\r\n0\r\n\r\n', '2\r{}\r\n0\r\n\r\n', '2\r\n{}0\r\n\r\n', '2\r\n{}XX0\r\n\r\n', '2\r\n{}\n0\r\n\r\n', '0x2\r\n{}\r\n0\r\n\r\n', '+2\r\n{}\r\n0\r\n\r\n', '-2\r\n{}\r\n0\r\n\r\n', ' 2\r\n{}\r\n0\r\n\r\n', '2 \r\n{}\r\n0\r\n\r\n',
        '2 ;a\r\n{}\r\n0\r\n\r\n', '2;a\n\r\n{}\r\n0\r\n\r\n', '2;a\rb\r\n{}\r\n0\r\n\r\n', '2;\u0000\r\n{}\r\n0\r\n\r\n', '2;\u00ff\r\n{}\r\n0\r\n\r\n', '2_0\r\n{}\r\n0\r\n\r\n', '000000002\r\n{}\r\n0\r\n\r\n', '100000002\r\n{}\r\n0\r\n\r\n', 'fffffffffffffffe\r\n{}\r\n0\r\n\r\n', '10000000000000002\r\n{}\r\n0\r\n\r\n',
        '\r\n0\r\n\r\n', ';a\r\n\r\n', 'g\r\n\r\n', '0\n\r\n', '0\r\n\n', '0\r\n\rX', `0\r\n X: y\r\n\r\n`, '0\r\nX\r\n\r\n', '0\r\nX : y\r\n\r\n', '0\r\nX: y\n\r\n', '0\r\nX: y\r\n z\r\n\r\n', '2\r\n{}\r\n0\r\nContent-Length : 2\r\n\r\n']
        .map((body) => chunked(body + HIDDEN)),
    'line ends and folds': [
        `POST /v1/threads HTTP/1.1\nHost: localhost\nContent-Length: 2\n\n{}${HIDDEN}`,
        `POST /v1/threads HTTP/1.1\r\nHost: localhost\r\nX: y\n\n${HIDDEN}`,
        `POST /v1/threads HTTP/1.1\r\nHost: localhost\r\n\n${HIDDEN}`,
        `POST /v1/threads HTTP/1.1\r\nHost: localhost\r\r\n\r\n${HIDDEN}`,
        `POST /v1/threads HTTP/1.1\r\nHost: localhost\r\nX: y\r\n Content-Length: 2\r\n\r\n{}${HIDDEN}`,
        `POST /v1/threads HTTP/1.1\r\nHost: localhost\r\nContent-Length:\r\n 2\r\n\r\n{}${HIDDEN}`,
        `POST /v1/threads HTTP/1.1\r\n Host: localhost\r\n\r\n${HIDDEN}`,
        `\r\n\r\nPOST /v1/threads HTTP/1.1\r\nHost: localhost\r\n\r\n${HIDDEN}`,
        `\n${HIDDEN}`, ` ${HIDDEN}`, `\u0000${HIDDEN}`,
        POST('X\u0000Y: z\r\n') + HIDDEN, POST('X: \u0000\r\n') + HIDDEN, POST(': empty\r\n') + HIDDEN, POST('no colon\r\n') + HIDDEN, POST('X(: y\r\n') + HIDDEN,
    ],
    'request lines and hosts': [
        ['POST  /v1/threads HTTP/1.1', 'POST /v1/threads  HTTP/1.1', 'POST /v1/threads HTTP/1.1 ', 'POST /v1/threads\tHTTP/1.1', 'POST /v1/threads HTTP/1.1 HTTP/1.1', 'POST /v1/threads', 'POST /v1/threads http/1.1', 'POST /v1/threads HTTP/1.2', 'POST /v1/threads HTTP/2.0', 'POST /v1/threads HTTP/1.1\u0000', 'P(ST /v1/threads HTTP/1.1', '"POST" /v1/threads HTTP/1.1',
            'POST http://evil.example/v1/threads HTTP/1.1', 'POST http://localhost@evil.example/v1/threads HTTP/1.1', 'POST //evil.example\\v1 HTTP/1.1', 'POST localhost:80 HTTP/1.1', 'CONNECT localhost:80 HTTP/1.1', 'POST * HTTP/1.1', 'POST /v1/../v1/threads HTTP/1.1', 'POST /v1/%2e%2e/v1/threads HTTP/1.1', 'POST /v1%2fthreads HTTP/1.1', 'POST /v1/threads%00 HTTP/1.1', 'POST /v1/threads%0d%0aX:%20y HTTP/1.1', 'POST /v1/threads#x HTTP/1.1', 'POST /v1/\u00ff HTTP/1.1']
            .map((line) => `${line}\r\nHost: localhost\r\n\r\n${HIDDEN}`),
        ['', 'Host: localhost\r\nHost: localhost\r\n', 'Host: localhost\r\nHost: evil.example\r\n', 'Host: localhost, evil.example\r\n', 'Host: localhost evil\r\n', 'Host: a@localhost\r\n', 'Host: localhost/\r\n', 'Host: localhost:99999\r\n', 'Host: localhost:\r\n', 'Host : localhost\r\n', 'Host:\r\n', 'Host: [::1\r\n', 'Host: localhost\r\nHost : evil.example\r\n']
            .map((hosts) => `POST /v1/threads HTTP/1.1\r\n${hosts}\r\n${HIDDEN}`),
    ].flat(),
    'bodies of requests that have none': ['GET', 'HEAD'].flatMap((m) => [
        `${m} /v1/threads HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${HIDDEN.length}\r\n\r\n${HIDDEN}`,
        `${m} /v1/threads HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${HIDDEN}`,
        `${m} /live HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nContent-Length: ${HIDDEN.length}\r\n\r\n${HIDDEN}`,
    ]),
    'what HTTP/1.0 has not': [
        `POST /v1/threads HTTP/1.0\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${HIDDEN}`,
        `POST /v1/threads HTTP/1.0\r\nHost: localhost\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${HIDDEN}`,
        `POST /v1/threads HTTP/1.0\r\nHost: localhost\r\nHost: localhost\r\n\r\n${HIDDEN}`,
    ],
};

for (const [family, list] of Object.entries(FAMILIES))
    test(`${list.length} ways to hide a request: ${family}`, async (t) => {
        const server = await t.serve();
        for (const text of list) {
            const got = await raw(server, text, { half: false }), what = JSON.stringify(text.slice(0, 200));
            check(/^HTTP\/1\.1 [45]\d\d /.test(got), `${what}: ${got.slice(0, 60)}`);
            same([what, statuses(got).length], [what, 1], 'answers');
            check(/\r\nconnection: close\r\n/i.test(got), `${what}: closed, and says so`);
            check(!/\r\nx: y/i.test(got), `${what}: no header of the sender's`);
        }
        same((await server.get('/v1/threads')).json.threads, [], 'nothing was made');
        console.log(`note: ${list.length} hostile requests: ${family}`);
    });

test('what follows a closing or an upgraded request, and the body of a refused one, is not a request', async (t) => {
    const server = await t.serve();
    const last = [
        `GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n${HIDDEN}`,
        `GET /healthz HTTP/1.0\r\nHost: localhost\r\n\r\n${HIDDEN}`,
        `GET /healthz HTTP/1.0\r\nHost: localhost\r\nConnection: keep-alive\r\n\r\n${HIDDEN}`,
        `POST /v1/threads HTTP/1.1\r\nHost: evil.example\r\nContent-Length: ${HIDDEN.length}\r\n\r\n${HIDDEN}`,
        `POST /v1/threads HTTP/1.1\r\nHost: localhost\r\nOrigin: https://evil.example\r\nContent-Length: ${HIDDEN.length}\r\n\r\n${HIDDEN}`,
        `GET /live HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n${HIDDEN}`,
    ];
    for (const text of last) {
        const got = await raw(server, text);
        same([text, statuses(got).length], [text, 1]);
    }
    same((await server.get('/v1/threads')).json.threads, []);
    console.log(`note: ${last.length} hostile leftovers`);
});

// --- the same bytes to another parser -----------------------------------------------------------------

// What Node's strict parser makes of the bytes: the requests it saw, in order; undefined when it refused any.
async function nodeReads(t) {
    const seen = new Map();
    const server = http.createServer((q, r) => {
        const body = [];
        const list = seen.get(q.socket) ?? seen.set(q.socket, []).get(q.socket);
        const entry = { url: `${q.method} ${q.url}`, body: undefined };
        list.push(entry);
        q.on('data', (d) => body.push(d)).on('end', () => { entry.body = Buffer.concat(body).toString('latin1'); r.end('ok'); });
    });
    server.on('clientError', (e, socket) => { (seen.get(socket) ?? seen.set(socket, []).get(socket)).bad = true; socket.destroy(); });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.defer(() => new Promise((yes) => { server.close(yes); server.closeAllConnections(); }));
    return async (text) => {
        let mine;
        server.once('connection', (s) => { mine = s; });
        await raw({ port: server.address().port }, text);
        const list = seen.get(mine) ?? [];
        seen.delete(mine);
        return list.bad || list.some((e) => e.body === undefined) ? undefined : list;
    };
}

// A generator that is the same every time.
function dice(seed) {
    let x = seed;
    const next = (n) => { x = (Math.imul(x, 1664525) + 1013904223) >>> 0; return Math.floor(x / 4294967296 * n); };
    return { next, of: (list) => list[next(list.length)], chance: (n) => next(n) === 0 };
}

function generated(d, i) {
    const body = d.of(['', '{}', '{"title":"a"}', 'x\r\n\r\ny', `0\r\n\r\nPOST /v1/threads HTTP/1.1`, '\u0000\u00ff']);
    const eol = d.chance(25) ? '\n' : '\r\n';
    const colon = d.of([': ', ': ', ': ', ': ', ':', ' : ', ':\t', ':  ']);
    const lines = [`Host${d.chance(30) ? ' ' : ''}: localhost`];
    const size = body.length.toString(16);
    const coded = `${d.of(['', '', '', '0', '000'])}${size}${d.of(['', '', '', ';a=b', ';a="b"', ' ', ';', ';\t'])}\r\n${body}\r\n0${d.of(['', '', ';x'])}\r\n${d.of(['', '', '', 'X: y\r\n', 'Content-Length: 3\r\n', 'X\r\n'])}\r\n`;
    let sent = body;
    switch (d.next(5)) {
    case 0: sent = ''; break;
    case 1: case 2: lines.push(`${d.of(['Content-Length', 'Content-Length', 'content-length', 'CONTENT-LENGTH', 'Content_Length'])}${colon}${d.of(['', '', '', '', '+', '0', '-'])}${body.length}${d.of(['', '', '', '', ' ', ', ' + body.length])}`); break;
    default: lines.push(`Transfer-Encoding${colon}${d.of(['chunked', 'chunked', 'chunked', 'Chunked', 'chunked ', 'identity', 'gzip, chunked', 'chunked, identity', ', chunked'])}`); sent = body.length ? coded : `0\r\n\r\n`;
    }
    if (d.chance(12)) lines.push(d.of(['Content-Length: 0', `Content-Length: ${body.length}`, 'Transfer-Encoding: chunked', 'Content-Length: 4']));
    if (d.chance(10)) lines.push(d.of(['X: a\r\n b', 'X: a\tb', 'X:', ': x', 'X', 'X: \u00e9', 'X: \u0000', 'Connection: close', 'Connection: content-length', 'Connection: Transfer-Encoding', 'Expect: 100-continue', 'Upgrade: h2c']));
    if (d.chance(3)) lines.sort();
    return `${d.of(['', '', '', '', '\r\n', '\n', '\r\n\r\n'])}${d.of(['POST', 'POST', 'POST', 'PATCH', 'GET', 'DELETE'])} /v1/nothing${i} HTTP/1.${d.chance(15) ? 0 : 1}${eol}${lines.join(eol)}${eol}${eol}${sent}`;
}

test('600 generated pairs of requests: where Node takes both and parley takes both, they are the same two', async (t) => {
    const server = await t.serve(), other = await nodeReads(t);
    const d = dice(7);
    let both = 0, ours = 0, theirs = 0;
    for (let i = 0; i < 600; i++) {
        // Each is followed by one that is proper and asks us to close, so that a leftover byte would show.
        const text = generated(d, i) + 'GET /v1/end HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n';
        const told = statuses(await raw(server, text));
        const refused = told.some((s) => ![200, 401, 404, 405].includes(s));
        const seen = await other(text);
        if (!refused) ours++;
        if (seen) theirs++;
        if (refused || !seen) continue;
        both++;
        same([text, told.length], [text, seen.length], 'requests');
        check(seen.every((q, k) => q.url.endsWith(k ? '/v1/end' : `/v1/nothing${i}`)), `and these two: ${JSON.stringify([text, seen])}`);
    }
    check(both > 60, `enough that both take: ${both}`);
    console.log(`note: 600 generated requests, ${both} taken by both, ${ours} by parley, ${theirs} by Node`);
});

// --- slow and endless ---------------------------------------------------------------------------------------

// Sends `first`, then a byte whenever the server has had time to look; until it hangs up. What came back.
async function drip(server, first, more) {
    const socket = net.connect(server.port, '127.0.0.1');
    let got = '', sent = 0;
    socket.setEncoding('latin1').on('data', (d) => { got += d; }).on('error', () => {});
    const closed = new Promise((yes) => socket.on('close', yes));
    await within(once(socket, 'connect'), 'the connection');
    socket.write(first);
    const timer = setInterval(() => { if (!socket.destroyed && socket.writable) { socket.write(more); sent++; } }, 10);
    try { await within(closed, 'the server to hang up'); } finally { clearInterval(timer); socket.destroy(); }
    return { got, sent };
}

test('a deadline is for the request, not for the next byte: heads, bodies, chunks and trailers that drip are cut off with 408', async (t) => {
    const server = await t.serve({ config: { limits: { head_seconds: 1, body_seconds: 1.5, idle_seconds: 30 } } });
    const slow = {
        'a request line': ['GET /', 'a'],
        'a header': ['GET / HTTP/1.1\r\nHost: localhost\r\nX: ', 'a'],
        'many headers': ['GET / HTTP/1.1\r\nHost: localhost\r\n', 'X'],
        'a body with a length': [POST('Content-Length: 100000\r\n'), 'x'],
        'a body that continues after 100': [POST('Content-Length: 100000\r\nExpect: 100-continue\r\n'), 'x'],
        'a chunk': [chunked('10000\r\n'), 'x'],
        'chunks of one byte': [chunked(''), '1\r\nx\r\n'],
        'an extension': [chunked('5;'), 'x'],
        'trailers': [chunked('0\r\nX: '), 'x'],
    };
    await Promise.all(Object.entries(slow).map(async ([what, [first, more]]) => {
        const { got, sent } = await drip(server, first, more);
        check(/HTTP\/1\.1 408 /.test(got), `${what}: ${got.slice(0, 80)}`);
        check(sent > 2, `${what}: it was dripping all the time`);
    }));
    same((await server.get('/healthz')).status, 200);
    console.log(`note: ${Object.keys(slow).length} hostile slow requests`);
});

// Resident memory in KiB.
const resident = (server) => Number(fs.readFileSync(`/proc/${server.child.pid}/statm`, 'latin1').split(' ')[1]) * 4;
const SANITIZED = /asan/.test(process.env.PARLEY_BIN ?? '');      // their shadow memory says nothing about ours

async function unread(t, server) {
    const s = net.connect(server.port, '127.0.0.1');
    t.defer(() => s.destroy());
    s.on('error', () => {});
    await within(once(s, 'connect'), 'the connection');
    s.pause();
    return s;
}

// Sends until the other side takes no more: what we wrote stays with us although we look again and again. How many were sent.
async function flood(sockets, bytes) {
    let sent = 0, still = 0, left = -1;
    await until(() => {
        for (const s of sockets) if (s.writableLength === 0) { s.write(bytes); sent++; }
        const now = sockets.reduce((sum, s) => sum + s.writableLength, 0);
        still = now === left && sockets.every((s) => s.writableLength > 0) ? still + 1 : 0;
        left = now;
        return still >= 40;
    }, 'the server to stop reading');
    return sent;
}

test('thousands of pipelined requests whose answers nobody reads cost a buffer, not a queue', async (t) => {
    const server = await t.serve();
    for (let i = 0; i < 50; i++) await server.get('/v1/tools');
    const before = resident(server);
    const many = Buffer.from('GET /v1/tools HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(1000));
    const sockets = [];
    for (let n = 0; n < 5; n++) sockets.push(await unread(t, server));
    const sent = await flood(sockets, many);
    const grown = resident(server) - before;
    check(sent > 20, `thousands were sent: ${sent}`);
    check(grown < 4096 || SANITIZED, `${sent}000 requests on 5 sockets grew the server by ${grown} KiB`);
    same((await server.get('/healthz')).status, 200, 'others are served');
    console.log(`note: ${sent}000 pipelined requests, no answer read: ${grown} KiB`);
});
