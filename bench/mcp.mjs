// mcp.mjs -- what the door at /mcp adds to one call of a tool that nobody is asked about.
//
//     node bench/mcp.mjs [PARLEY [ECHO [CALLS]]]
//
// One MCP server, bench/mcp.c over a pipe, is called one call after the other: directly, and by an
// HTTP client through parley, which checks, commits `started`, calls it, commits the outcome and
// answers. Printed are the medians and what lies between them; the store is a file in the system's
// folder for temporary files, and once more in memory, which leaves the disk out.
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

const median = (list) => list.sort((a, b) => a - b)[list.length >> 1];
const figures = (list) => ({ p50: median(list), p99: list[Math.floor(list.length * 0.99)] });
async function timed(call) {
    for (let i = 0; i < 200; i++) await call(i);          // until everything is warm
    const list = [];
    for (let i = 0; i < Number(calls); i++) {
        const began = process.hrtime.bigint();
        await call(i);
        list.push(Number(process.hrtime.bigint() - began) / 1e6);
    }
    return figures(list);
}

async function direct() {
    const child = spawn(echo, { stdio: ['pipe', 'pipe', 'inherit'] });
    const waiting = [];
    createInterface({ input: child.stdout }).on('line', (l) => waiting.shift()(l));
    const ask = (message) => new Promise((yes) => { waiting.push(yes); child.stdin.write(JSON.stringify(message) + '\n'); });
    const result = await timed((i) => ask({ jsonrpc: '2.0', id: i, method: 'tools/call', params: { name: 'echo', arguments: { i } } }));
    child.stdin.end();
    return result;
}

// HTTP over one connection that stays: what a client library adds is not to be measured.
function client(port) {
    const socket = net.connect(port, '127.0.0.1').setNoDelay(true);
    let text = '', wake;
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

async function through(store, more = {}) {
    const config = path.join(dir, 'parley.json');
    fs.writeFileSync(config, JSON.stringify({ listen: '127.0.0.1:0', store, mcpServers: { bench: { command: echo, confirm: 'never', ...more } } }));
    const child = spawn(bin, ['serve', '--config', config], { stdio: ['ignore', 'pipe', 'ignore'], cwd: dir });
    try {
        const port = await new Promise((yes) => { let said = ''; child.stdout.on('data', (d) => { said += d; const m = /:(\d+)\S*\n[^]*\n {2}data /.exec(said); if (m) yes(Number(m[1])); }); });
        const c = client(port);
        for (let r = ''; !/heard/.test(r);) r = await c.ask(0, 'bench__echo', { i: -1 });          // until it is listed
        const result = await timed((i) => c.ask(i, 'bench__echo', { i }));
        c.socket.destroy();
        return result;
    } finally { child.kill('SIGKILL'); }
}

const show = (name, f, base) => console.log(`${name.padEnd(34)} p50 ${f.p50.toFixed(3)} ms   p99 ${f.p99.toFixed(3)} ms${base ? `   added at p50 ${(f.p50 - base.p50).toFixed(3)} ms` : ''}`);
const alone = await direct();
show('direct, over a pipe', alone);
show('through parley, store in a file', await through(`sqlite:${path.join(dir, 'x.db')}`), alone);
show('through parley, store in memory', await through('sqlite::memory:'), alone);
fs.rmSync(dir, { recursive: true, force: true });
