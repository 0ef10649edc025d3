// TLS by the server itself: every kind of door by https, clients that are slow, cut or no clients at
// all, a certificate that is renewed under an open stream, and the commands that talk to such a
// server. PARLEY_TLS=1 gives every server of the live tests a certificate, for a look by hand: tests that say
// http or bring other programs fail by that.
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import tls from 'node:tls';
import { certificate } from '../lib/certificate.mjs';
import { check, connect, parley, raw, same, sound, test, until, within } from './lib.mjs';
import { Live } from './ai.mjs';

const KEY = 'k'.repeat(32);

async function secured(t, config = {}, of = {}) {
    const dir = t.folder(), pair = certificate(dir, of);
    return Object.assign(await t.serve({ dir, config: { tls: pair, ...config } }), { pair });
}

// Whom the server shows to a new connection.
async function shown(server) {
    const socket = connect(server);
    await within(once(socket, 'secureConnect'), 'the handshake');
    const name = socket.getPeerCertificate().subject.CN;
    socket.destroy();
    return name;
}

test('with a certificate the page, the streams and the sockets are served by TLS', async (t) => {
    const server = await secured(t);
    check(/open {3}https:\/\/127\.0\.0\.1:\d+/.test(server.out), `the printed address: ${server.out}`);
    const page = await server.get('/');
    same([page.status, /<html/.test(page.text)], [200, true]);
    const s = sound(await server.turn('Send 50 dollars to Hanako'));
    same((await server.post(`/v1/approvals/${s.payload.awaiting[0]}`, { confirmed: true })).status, 200);
    await until(() => server.ledger().length === 1, 'the payment');
    const l = await Live.open(t, server);
    await l.say('hello');
    await l.close();
    const socket = tls.connect({ port: server.port, host: '127.0.0.1', rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] });
    await once(socket, 'secureConnect');
    same([socket.alpnProtocol, socket.getProtocol()], ['http/1.1', 'TLSv1.3']);
    socket.destroy();
});

test('a cookie that comes by TLS is Secure, also without a proxy to say so', async (t) => {
    const server = await secured(t, { auth: { keys: [{ sha256: createHash('sha256').update(KEY).digest('hex'), principal: 'ada', roles: ['user'] }] } });
    const r = await server.post('/v1/session', { token: KEY }, { origin: server.url });
    const [cookie] = r.headers['set-cookie'];
    check(/^__Host-parley=.*; Secure/.test(cookie), cookie);
    same((await server.get('/v1/session', { cookie: cookie.split(';')[0] })).json.principal, 'ada');
});

test('who speaks plain HTTP is told to say https', async (t) => {
    const server = await secured(t);
    const got = await raw({ port: server.port }, 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n');
    check(/^HTTP\/1\.1 400 /.test(got) && /text\/plain/.test(got) && /write https:\/\/ in front/.test(got), got);
});

test('garbage, cut handshakes and handshakes by the byte disturb nobody', async (t) => {
    const server = await secured(t, { demo: { token_ms: 5 } });
    const s = await server.say('Tell me a long story');
    await s.must('text_delta');
    const hello = await new Promise((yes) => {          // what a client says first
        const listener = net.createServer((c) => c.once('data', (d) => { c.destroy(); listener.close(); yes(d); }));
        listener.listen(0, '127.0.0.1', () => tls.connect(listener.address().port, '127.0.0.1', { rejectUnauthorized: false }).on('error', () => {}));
    });
    for (const bytes of [Buffer.from([1, 2, 3]), Buffer.concat([Buffer.from([0x16, 3, 1, 0, 9]), Buffer.alloc(9, 7)]), Buffer.alloc(40000, 0x16), hello.subarray(0, 50), hello])
        await raw({ port: server.port }, bytes);
    for (let n = 1; n < hello.length; n += 97) {
        const c = net.connect(server.port, '127.0.0.1').on('error', () => {});
        await once(c, 'connect');
        c.write(hello.subarray(0, n));
        c.resetAndDestroy();
    }
    // A road on which each byte travels alone.
    const road = net.createServer((near) => {
        const far = net.connect({ port: server.port, host: '127.0.0.1', noDelay: true });
        near.on('data', (d) => { for (const b of d) far.write(Buffer.from([b])); }).on('error', () => far.destroy());
        far.on('data', (d) => near.write(d)).on('error', () => near.destroy()).on('close', () => near.destroy());
    });
    await new Promise((yes) => road.listen(0, '127.0.0.1', yes));
    t.defer(() => road.close());
    const slow = { port: road.address().port, secure: true };
    check(/\r\n\r\n\{/.test(await raw(slow, 'GET /v1/tools HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n', { half: false })), 'an answer by the slow road');
    sound(await s.read());
});

test('a reader that stops for a while gets everything, and others do not wait for it', async (t) => {
    const server = await secured(t);
    const thread = (await server.post('/v1/threads', {})).json.id;
    const words = 'long words '.repeat(20000);
    const socket = connect(server);
    t.defer(() => socket.destroy());
    await once(socket, 'secureConnect');
    let got = '';
    socket.setEncoding('utf8').on('data', (d) => { got += d; });
    socket.pause();
    socket.write(`GET /v1/threads/${thread}/events?after=0.0 HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    for (let i = 0; i < 12; i++) sound(await server.turn(`${i} ${words}`, { thread_id: thread }));
    socket.resume();
    await until(() => (got.match(/"type":"complete"/g) ?? []).length === 12, 'all of it');
});

test('a renewed certificate is shown to who comes next, and an open stream goes on', async (t) => {
    const server = await secured(t, { demo: { token_ms: 60 } }, { host: 'before.example' });
    same(await shown(server), 'before.example');
    const s = await server.say('Tell me a long story');
    await s.must('text_delta');
    certificate(server.dir, { host: 'after.example' });
    await until(async () => await shown(server) === 'after.example', 'the new certificate');
    fs.writeFileSync(server.pair.cert, 'nothing of the kind');
    await until(() => server.log.some((l) => l.event === 'tls.refused' && /is no certificate in PEM form/.test(l.why)), 'the complaint');
    same(await shown(server), 'after.example', 'the one before stays');
    sound(await s.read());
});

test('parley check says what is wrong with a certificate, and what soon will be', async (t) => {
    const dir = t.folder(), at = path.join(dir, 'parley.json');
    const good = certificate(dir), other = certificate(dir, { name: 'other' }), old = certificate(dir, { name: 'old', days: 5 });
    const says = async (pair, more) => {
        fs.writeFileSync(at, JSON.stringify({ tls: pair, ...more }));
        const r = await parley(['check', '--config', at]);
        return `${r.code} ${r.out}${r.err}`;
    };
    check(/^0 [^]*https:\/\/127\.0\.0\.1:8000/.test(await says(good)), 'a good one');
    check(!/warning/.test(await says(good)), 'nothing to say about it');
    check(/^1 .*parley\.json:1: .*other\.key is the key of another certificate/.test(await says({ ...good, key: other.key })), 'another key');
    check(/^1 .*nowhere\.crt: No such file/.test(await says({ ...good, cert: path.join(dir, 'nowhere.crt') })), 'no file');
    check(/^1 .*needs both/.test(await says({ cert: good.cert })), 'only one of them');
    check(/^0 [^]*warning +.*the certificate ends on \d{4}-\d\d-\d\d: renew it/.test(await says(old)), 'soon');
    fs.chmodSync(good.key, 0o644);
    check(/^0 [^]*warning +.*others on this machine may read or change .*server\.key/.test(await says(good)), 'others may read it');
    fs.chmodSync(good.key, 0o600);
    check(/^1 .*let the balancer in front/.test(await says(good, { store: 'postgresql://x@127.0.0.1/x', cluster: { url: 'http://127.0.0.1:8000', key: 'text:' + KEY } })), 'a cluster');
});

test('the commands talk to a server with a certificate', async (t) => {
    const server = await secured(t), CA = { PARLEY_CA: server.pair.cert };
    same((await parley(['health', server.url])).out, 'alive\n');
    same((await parley(['approvals', server.url], { env: CA })).out, 'nothing waits\n');
    const without = await parley(['approvals', server.url]);
    check(without.code === 1 && /does not answer: .*certificate/i.test(without.err), `${without.code} ${without.err}`);
    const chat = await parley(['chat', server.url], { env: CA, input: 'hello\n' });
    check(chat.code === 0 && chat.out.length > 20, `${chat.code} ${chat.out} ${chat.err}`);
    // parley mcp has the configuration and finds the server by it
    const at = path.join(server.dir, 'mcp.json');
    fs.writeFileSync(at, JSON.stringify({ listen: `127.0.0.1:${server.port}`, tls: server.pair }));
    const health = await parley(['health', '--config', at]);           // and so does parley health
    same([health.code, health.out], [0, 'alive\n'], health.err);
    const init = { jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'x', version: '1' } } };
    const mcp = await parley(['mcp', '--config', at], { input: JSON.stringify(init) + '\n' });
    check(/"serverInfo"/.test(mcp.out), `${mcp.code} ${mcp.out} ${mcp.err}`);
});
