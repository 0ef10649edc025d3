// Many at once: silent connections, strangers who send and send, readers who do not read.
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import net from 'node:net';
import { once } from 'node:events';
import { check, oneProcess, same, test, until, within } from './lib.mjs';
import { Ws } from './ws.mjs';

const sha256 = (text) => createHash('sha256').update(text).digest('hex');
const AUTH = { keys: [{ sha256: sha256('pk_ada_0123456789'), principal: 'ada' }] };
const ada = { authorization: 'Bearer pk_ada_0123456789' };
const rss = (server) => Number(/VmRSS:\s+(\d+)/.exec(fs.readFileSync(`/proc/${server.child.pid}/status`, 'utf8'))[1]) / 1024;

async function connect(t, server, say) {
    const socket = net.connect(server.port, '127.0.0.1');
    socket.on('error', () => {});
    t.defer(() => socket.destroy());
    await within(once(socket, 'connect'), 'the connection');
    if (say) socket.write(say);
    return socket;
}

test('silent connections, however many, keep nobody out', async (t) => {
    const server = await t.serve({ config: { limits: { connections: 20 } } });
    for (let i = 0; i < 200; i++) await connect(t, server);
    same((await server.get('/healthz')).status, 200);
    same((await server.get('/v1/threads')).status, 200);
    check((await server.turn('hello')).words.length > 0, 'a turn');
});

test('with every connection busy, health is still told and others hear 503', async (t) => {
    oneProcess('each counts its own connections');
    const server = await t.serve({ config: { limits: { connections: 5 } } });
    const T = (await server.post('/v1/threads', {})).json.id;
    const followers = [];
    for (let i = 0; i < 5; i++) followers.push(await server.events(T));
    for (let i = 0; i < 100; i++) await connect(t, server);
    for (const at of ['/healthz', '/readyz']) same((await server.get(at)).status, 200, at);
    const r = await server.get('/v1/threads');
    same([r.status, r.json.error.code, r.headers['retry-after']], [503, 'too_many_connections', '1']);
    for (const f of followers) await f.close();
    await until(async () => (await server.get('/v1/threads')).status === 200, 'room again');
});

test('strangers on /live cannot use up what people may send', async (t) => {
    const server = await t.serve({ config: { auth: AUTH, limits: { body: 65536, bodies: 200000 } } });
    const half = Buffer.concat([Buffer.from([0x01, 0x80 | 126, 15000 >> 8, 15000 & 255, 0, 0, 0, 0]), Buffer.alloc(15000, 0x78)]);
    for (let i = 0; i < 30; i++) (await Ws.open(t, server, '/live', { headers: { Origin: server.url } })).socket.write(half);      // 450 kB
    const r = await server.post('/v1/threads', { title: 'x', more: 'y'.repeat(50000) }, ada);
    same(r.status, 201);
});

test('a thousand readers of a long conversation who do not read cost no more than the limit', async (t) => {
    const server = await t.serve({ config: { limits: { answers: 16 * 1024 * 1024, message: 4 * 1024 * 1024 } } });
    const s = await server.turn('x'.repeat(900000));
    const before = rss(server), at = `/v1/threads/${s.thread}`;
    check((await server.get(at)).text.length > 900000, 'a long answer');
    const deaf = [];
    for (let i = 0; i < 1000; i++) {
        const socket = await connect(t, server);
        socket.pause();
        socket.write(`GET ${at} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
        deaf.push(socket);
    }
    same((await server.get('/healthz')).status, 200);
    const after = rss(server);
    console.log(`note: 1,000 readers who do not read 0.9 MB: ${Math.round(before)} MiB before, ${Math.round(after)} MiB then`);
    check(after - before < 400, `${before} MiB before, ${after} MiB then`);      // 900 of them without the limit; the sanitizers keep what was freed for a while
}, { timeout_ms: 120000 });
