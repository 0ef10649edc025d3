// peers.test.mjs -- peers that never read, and peers that are gone without a word: a slow one
// costs a cursor, not memory; deadlines clear them; all others get their words.
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import fs from 'node:fs';
import net from 'node:net';
import { check, same, settled, skip, sound, until, within } from '../live/lib.mjs';
import { LONG, audit, family } from './lib.mjs';
import { serveModel, startUpstream } from '../live/upstream.mjs';

const MANY = LONG ? 1000 : 100;
const EACH_MAX = 200 * 1024;            // what one that never reads may cost: its output (64 KiB), kept once more while it is encoded, and its structs (the sanitizers keep what is freed)

const memory = (server) => Number(/VmRSS:\s+(\d+)/.exec(fs.readFileSync(`/proc/${server.child.pid}/status`, 'utf8'))[1]) * 1024;
const connections = async (server, headers) => Number(/^parley_connections (\d+)/m.exec((await server.get('/metrics', headers)).text)?.[1]);

async function mute(t, server, at, upgrade = '') {
    const s = net.connect(server.port, '127.0.0.1');
    s.on('error', () => {});
    s.gone = new Promise((done) => s.on('close', done));
    t.defer(() => s.destroy());
    await within(once(s, 'connect'), 'a connection');
    s.pause();
    s.write(`GET ${at} HTTP/1.1\r\nHost: 127.0.0.1\r\n${upgrade}\r\n`);
    return s;
}
const UPGRADE = 'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n';

family('followers that never read', async (f) => {
    for (const [what, at, upgrade] of [['event streams', (x) => `/v1/threads/${x}/events?after=0.0`, ''], ['sockets', (x) => `/live?thread=${x}`, UPGRADE]])
        await f.cycle(what, async (t) => {
            const up = await startUpstream(t), server = await serveModel(t, up, 'openai', { config: { limits: { write_seconds: 2 } } });
            const thread = (await server.turn('hello')).thread;
            // It repeats what it is told: more than the kernel's buffers and ours take together.
            const much = (i) => server.turn(`x${i} `.repeat(60000).slice(0, 190000), { thread_id: thread });
            for (let i = 0; i < 4; i++) sound(await much(i));
            const before = memory(server), crowd = [];
            for (let i = 0; i < MANY; i++) crowd.push(await mute(t, server, at(thread), upgrade));
            await until(async () => await connections(server) >= MANY || crowd.some((c) => c.destroyed), 'all of them to be in');
            for (let i = 0; i < 4; i++) sound(await much(i));
            const s = sound(await server.turn('in another conversation')), mine = server.say('and in this one', { thread_id: thread });
            const q = await server.turn('{{call process_payment {"amount":5,"currency":"USD","recipient":"Hanako"}}}');
            same((await server.post(`/v1/approvals/${q.payload.awaiting[0]}`, { confirmed: true })).status, 200, 'a yes meanwhile');
            await settled(server, q.thread);
            await (await mine).must('complete');
            const grown = memory(server) - before;
            check(grown < MANY * EACH_MAX || process.env.ASAN_OPTIONS, `${MANY} of them cost ${grown} bytes`);
            f.note(`${what}: ${Math.round(grown / MANY / 1024)} KiB each,`);
            check(s.payload && server.ledger().length === 1, 'the others are served');
            await until(async () => await connections(server) < MANY / 10, 'their deadline');
            await audit(server);
            await server.kill();
        });
});

// Half a request, half a body, a request and then silence: none of them keeps its place.
family('peers that stop in the middle', async (f) => f.cycle('deadlines', async (t) => {
    const server = await t.serve({ config: { limits: { head_seconds: 0.3, body_seconds: 0.5, idle_seconds: 0.5, write_seconds: 0.5 } } });
    const pieces = ['', 'GET / HT', 'POST /v1/chat/stream HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\n{"message"', 'GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n'];
    const all = pieces.flatMap((p) => Array.from({ length: 10 }, () => p)).map((p) => {
        const s = net.connect(server.port, '127.0.0.1', () => s.write(p));
        s.on('error', () => {}).resume();
        t.defer(() => s.destroy());
        return new Promise((done) => s.on('close', done));
    });
    sound(await server.turn('hello'));
    await within(Promise.all(all), 'the deadlines');
    await until(async () => await connections(server) <= 1, 'their places');
    await server.kill();
}));

// --- gone without a word -------------------------------------------------------------------------------

const ip = (...args) => spawnSync('ip', args).status === 0;
const KEY = 'key-of-ann-0123456789abcdef', as = { authorization: `Bearer ${KEY}` };

// Another host: a network namespace whose cable is pulled. No FIN, no RST, nothing.
function host(t) {
    if (process.getuid() !== 0) skip('needs root for a network of its own');
    const name = `pf${process.pid}`, net3 = `10.213.${process.pid % 250}`;
    t.defer(() => { ip('link', 'del', `${name}a`); ip('netns', 'del', name); });
    const made = ip('netns', 'add', name) && ip('link', 'add', `${name}a`, 'type', 'veth', 'peer', 'name', `${name}b`) && ip('link', 'set', `${name}b`, 'netns', name)
        && ip('addr', 'add', `${net3}.1/24`, 'dev', `${name}a`) && ip('link', 'set', `${name}a`, 'up')
        && ip('-n', name, 'addr', 'add', `${net3}.2/24`, 'dev', `${name}b`) && ip('-n', name, 'link', 'set', `${name}b`, 'up');
    if (!made) skip('a network namespace cannot be made here');
    return { address: `${net3}.1`, name, pull: () => ip('-n', name, 'link', 'set', `${name}b`, 'down') };
}

family('peers that are gone without a word', async (f) => f.cycle('a cable that is pulled', async (t) => {
    const there = host(t);
    const auth = { keys: [{ sha256: createHash('sha256').update(KEY).digest('hex'), principal: 'ann', roles: ['user', 'admin'] }] };
    const server = await t.serve({ config: { listen: `${there.address}:0`, hosts: ['127.0.0.1', there.address], auth, demo: { token_ms: 20 }, limits: { write_seconds: 1, idle_seconds: 1 } } });
    const at = `http://${there.address}:${server.port}`, get = (where) => fetch(at + where, { headers: as });
    const count = async () => Number(/^parley_connections (\d+)/m.exec(await (await get('/metrics')).text())?.[1]);
    const before = await count();
    const children = Array.from({ length: 5 }, () => {
        const c = spawn('ip', ['netns', 'exec', there.name, 'curl', '-sN', '-H', `authorization: Bearer ${KEY}`, '-d', '{"message":"Tell me a long story"}', `${at}/v1/chat/stream`], { stdio: ['ignore', 'pipe', 'ignore'] });
        t.defer(() => c.kill('SIGKILL'));
        return new Promise((yes) => { let got = ''; c.stdout.on('data', (d) => { got += d; if (/text_delta/.test(got)) yes(); }); c.on('exit', yes); });
    });
    await within(Promise.all(children), 'words over there');
    check(await count() >= before + 5, 'five of them');
    check(there.pull(), 'the cable');
    await until(async () => await count() <= before, 'their places');
    // The answers they asked for were written all the same.
    const { threads } = await (await get('/v1/threads')).json();
    same(threads.length, 5, 'their conversations');
    for (const x of threads) await until(async () => (await (await get(`/v1/threads/${x.id}`)).json()).state === 'idle', 'its answer');
    f.note('cleared 5');
    await server.kill();
}));
