// mcp.mjs -- what the door at /mcp adds to one call of a tool that nobody is asked about.
//
//     node bench/mcp.mjs [PARLEY [ECHO [CALLS]]]
//
// One MCP server, bench/mcp.c over a pipe, is called one call after the other: directly, and by an
// HTTP client through parley, which checks, commits `started`, calls it, commits the outcome and
// answers. The ways take turns, so that a machine that is busy for a moment is busy for all of them.
//
//     a file            the store is a file in the system's folder for temporary files; each call has
//                       other arguments
//     ... the same      likewise, with the same arguments each time
//     ... may repeat    likewise, of a tool that says it may run again: nothing is kept to find it by
//     memory            a store without a disk
//
// Printed are the medians, what lies between each of them and the direct one, and how much of that is
// the disk's: two syncs, measured between the calls with as many bytes as the server wrote for each
// (/proc/PID/io), in a file beside its own. What is left is ours, on any disk. The last line is JSON, in
// µs, for bench/run.
import { execFileSync, spawn } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';

const root = path.resolve(import.meta.dirname, '..');
const [bin = path.join(root, 'build/parley'), given, calls = '2000'] = process.argv.slice(2);
const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'parley-bench-'));
const echo = given ?? path.join(dir, 'echo');
if (!given) execFileSync('cc', ['-O2', '-o', echo, path.join(root, 'bench/mcp.c')]);

const ROUNDS = 10, WARM = 200;
const median = (list) => list.sort((a, b) => a - b)[list.length >> 1];
const figures = (list) => ({ p50: median(list), p99: list[Math.floor(list.length * 0.99)] });
const since = (began) => Number(process.hrtime.bigint() - began) / 1e6;
async function timed(way, count, between = () => {}) {
    for (let i = 0; i < count; i++) {
        const began = process.hrtime.bigint();
        await way.call(way.n++);
        way.list.push(since(began));
        between();
    }
}

async function direct() {
    const child = spawn(echo, { stdio: ['pipe', 'pipe', 'inherit'] });
    const waiting = [];
    createInterface({ input: child.stdout }).on('line', (l) => waiting.shift()(l));
    const ask = (message) => new Promise((yes) => { waiting.push(yes); child.stdin.write(JSON.stringify(message) + '\n'); });
    return { call: (i) => ask({ jsonrpc: '2.0', id: i, method: 'tools/call', params: { name: 'echo', arguments: { i } } }), end: () => child.stdin.end() };
}

// HTTP over one connection that stays: what a client library adds is not to be measured.
function client(port) {
    const socket = net.connect(port, '127.0.0.1').setNoDelay(true);
    let text = '', wake;
    socket.on('close', (broken) => { if (broken || !socket.destroyed) throw new Error('the server closed the connection'); });
    socket.setEncoding('utf8').on('data', (d) => {
        text += d;
        const head = text.indexOf('\r\n\r\n'), length = Number(/content-length: (\d+)/i.exec(text)?.[1]);
        if (head < 0 || text.length < head + 4 + length) return;
        const body = text.slice(head + 4);
        text = '';
        wake(body);
    });
    const meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {} };
    return { socket, ask: (id, name, args) => new Promise((yes) => {
        wake = yes;
        const body = JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: args, _meta: meta } });
        socket.write(`POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nContent-Type: application/json\r\nAccept: application/json\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: ${name}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
    }) };
}

async function through(name, store, args, more = {}) {
    const config = path.join(dir, `${name}.json`);
    fs.writeFileSync(config, JSON.stringify({ listen: '127.0.0.1:0', store, mcpServers: { bench: { command: echo, confirm: 'never', ...more } } }));
    const child = spawn(path.resolve(root, bin), ['serve', '--config', config], { stdio: ['ignore', 'pipe', 'ignore'], cwd: dir });
    const port = await new Promise((yes) => { let said = ''; child.stdout.on('data', (d) => { said += d; const m = /:(\d+)\S*\n[^]*\n {2}data /.exec(said); if (m) yes(Number(m[1])); }); });
    const c = client(port);
    while (!/heard/.test(await c.ask(0, 'bench__echo', { i: -1 }))) await new Promise((yes) => setTimeout(yes, 20));          // until it is listed
    const wrote = () => Number(/wchar: (\d+)/.exec(fs.readFileSync(`/proc/${child.pid}/io`, 'utf8'))[1]);
    return { call: (i) => c.ask(i, 'bench__echo', args(i)), wrote, end: () => { c.socket.destroy(); child.kill('SIGKILL'); } };
}

// As a write-ahead log is written: over what was there before, from its beginning again when it is long.
function disk(bytes) {
    const at = path.join(dir, 'disk'), size = 4 << 20, data = Buffer.alloc(bytes, 1), list = [];
    fs.writeFileSync(at, Buffer.alloc(size));
    const fd = fs.openSync(at, 'r+');
    fs.fsyncSync(fd);
    let place = 0;
    return { list, call: () => {
        if (place + bytes > size) place = 0;
        const began = process.hrtime.bigint();
        fs.writeSync(fd, data, 0, bytes, place);
        fs.fdatasyncSync(fd);
        list.push(since(began));
        place += bytes;
    } };
}

const db = (name) => `sqlite:${path.join(dir, `${name}.db`)}`;
const ways = {
    'direct, over a pipe': await direct(),
    'a file': await through('file', db('file'), (i) => ({ i })),
    '... the same': await through('same', db('same'), () => ({ i: 0 })),
    '... may repeat': await through('repeat', db('repeat'), (i) => ({ i }), { trust_annotations: true }),
    memory: await through('memory', 'sqlite::memory:', (i) => ({ i })),
};
try {
    for (const way of Object.values(ways)) {
        Object.assign(way, { n: 0, list: [] });
        await timed(way, WARM);                          // until everything is warm
        const before = way.wrote?.();
        await timed(way, 100);
        way.bytes = way.wrote && (way.wrote() - before) / 100;
        way.list.length = 0;
    }
    const sync = disk(Math.round(ways['a file'].bytes / 2));
    for (let r = 0; r < ROUNDS; r++)
        for (const [name, way] of Object.entries(ways)) await timed(way, Math.ceil(Number(calls) / ROUNDS), name === 'a file' ? sync.call : undefined);
    const one = figures(sync.list), alone = figures(ways['direct, over a pipe'].list);
    console.log(`a sync of ${Math.round(ways['a file'].bytes / 2)} bytes`.padEnd(26) + `p50 ${one.p50.toFixed(3)} ms   p99 ${one.p99.toFixed(3)} ms`);
    const told = {};
    for (const [name, way] of Object.entries(ways)) {
        const f = figures(way.list), added = f.p50 - alone.p50, theirs = name === 'memory' ? 0 : 2 * one.p50;
        told[name] = Math.round(added * 1000);
        console.log(`${name.padEnd(26)}p50 ${f.p50.toFixed(3)} ms   p99 ${f.p99.toFixed(3)} ms` + (way.bytes ? `   added ${added.toFixed(3)} ms: the disk's ${theirs.toFixed(3)}, ours ${(added - theirs).toFixed(3)}` : ''));
    }
    console.log(JSON.stringify({ added_us: told['a file'], disk_us: Math.round(2000 * one.p50), memory_us: told.memory }));
} finally {
    for (const way of Object.values(ways)) way.end();
    fs.rmSync(dir, { recursive: true, force: true });
}
