// lib.mjs -- what every live test stands on: a real server of its own on a free
// port, a raw HTTP client, a reader of event streams, and a tiny registry.
//
// Rules: nothing waits by sleeping, everything has a deadline (WAIT_MS), and
// whatever a test opens through `t` is closed when it ends, also when it fails.
// Without dependencies; Node 20.

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
export const BIN = process.env.PARLEY_BIN || path.join(ROOT, 'build-test/parley');
export const WAIT_MS = Number(process.env.WAIT_MS || 20000);      // a shared machine may be slow; a hang is longer

// --- tests -----------------------------------------------------------------------

export const tests = [];
let file = '';
export function inFile(name) { file = name; }

// The name is a sentence that is true. Options: {timeout_ms}.
export function test(name, run, options = {}) { tests.push({ name, run, file, ...options }); }

// What a runner runs: everything, or the tests whose name contains one of the words of its command line.
export function wanted(name, words = process.argv.slice(2)) { return !words.length || words.some((w) => name.includes(w)); }

export class Skip extends Error {}
export function skip(why) { throw new Skip(why); }

export function check(condition, what) { if (!condition) throw new Error(what || 'check failed'); }

export function same(got, want, what = 'value') {
    const a = typeof got === 'string' ? got : JSON.stringify(got), b = typeof want === 'string' ? want : JSON.stringify(want);
    if (a !== b) throw new Error(`${what} differs\n  got:  ${cut(a, b)}\n  want: ${cut(b, a)}`);
}

// Long texts are shown around the first difference.
function cut(a, b) {
    if (a === undefined || a.length < 400) return String(a);
    let i = 0;
    while (i < a.length && b !== undefined && a[i] === b[i]) i++;
    return `...${a.slice(Math.max(0, i - 120), i + 240)}... (at ${i} of ${a.length})`;
}

// Rejects when `promise` takes longer.
export async function within(promise, what, ms = WAIT_MS) {
    let timer;
    const late = new Promise((_, no) => { timer = setTimeout(() => no(new Error(`${what}: not within ${ms} ms`)), ms); });
    try { return await Promise.race([promise, late]); } finally { clearTimeout(timer); }
}

// Asks again until `ask` gives something true; for states that the outside can only look at.
export async function until(ask, what, ms = WAIT_MS) {
    const end = Date.now() + ms;
    for (;;) {
        const got = await ask();
        if (got) return got;
        if (Date.now() > end) throw new Error(`${what}: not within ${ms} ms`);
        await new Promise((r) => setTimeout(r, 5));
    }
}

export class Context {
    constructor() { this.closers = []; }
    defer(close) { this.closers.push(close); return close; }
    async close() {
        for (const close of this.closers.reverse()) {
            try { await close(); } catch (e) { this.trouble ??= e; }
        }
        if (this.trouble) throw this.trouble;
    }
    folder() {
        const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'parley-live-'));
        folders.add(dir);
        this.defer(() => removeFolder(dir));
        return dir;
    }
    serve(options) { return serve(this, options); }
}

// Whatever happens to this process, nothing is left behind.
const children = new Set(), folders = new Set();
function removeFolder(dir) { fs.rmSync(dir, { recursive: true, force: true }); folders.delete(dir); }
process.on('exit', () => {
    for (const c of children) c.kill('SIGKILL');
    for (const d of folders) removeFolder(d);
});
for (const s of ['SIGINT', 'SIGTERM']) process.on(s, () => process.exit(1));

// --- programs ----------------------------------------------------------------------

// Runs the program to its end: {code, out, err}.
export async function parley(args, { cwd, env, input } = {}) {
    const child = spawn(BIN, args, { cwd, env: { ...clean(), ...env }, stdio: ['pipe', 'pipe', 'pipe'] });
    children.add(child);
    let out = '', err = '';
    child.stdout.setEncoding('utf8').on('data', (d) => { out += d; });
    child.stderr.setEncoding('utf8').on('data', (d) => { err += d; });
    child.stdin.end(input);
    try {
        const [code, signal] = await within(once(child, 'close'), `parley ${args.join(' ')}`);
        return { code: signal || code, out, err };
    } finally { child.kill('SIGKILL'); children.delete(child); }
}

// The environment without keys that would choose another model.
function clean() {
    const env = { ...process.env };
    for (const k of Object.keys(env)) if (/^(ANTHROPIC|GEMINI|OPENAI|PARLEY)_/.test(k)) delete env[k];
    return env;
}

export const CONFIG = {
    listen: '127.0.0.1:0',
    demo: { token_ms: 0 },
    actions: { apply_schema: { tool: 'apply_schema' } },
};

// Whether programs can be isolated here as the configuration wants it by default; where they cannot (a container or a
// desktop without user namespaces), tests of other things run them with what there is.
let isolates;
function isolated() {
    if (isolates !== undefined) return isolates;
    const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'parley-live-')), file = path.join(dir, 'parley.json');
    fs.writeFileSync(file, JSON.stringify({ tools: { t: { description: 'd', exec: { command: ['sh'] } } } }));
    const r = spawnSync(BIN, ['check', '--config', file], { cwd: dir, env: clean(), encoding: 'utf8' });
    fs.rmSync(dir, { recursive: true, force: true });
    isolates = !/cannot isolate/.test(r.stderr);
    if (!isolates) console.log(`note: ${r.stderr.slice(r.stderr.indexOf('this machine')).trim()}`);
    return isolates;
}
function withTools(tools) {
    const all = Object.entries(tools ?? {}).map(([name, tool]) => [name, tool?.exec ? { ...tool, exec: { sandbox: 'best_effort', ...tool.exec } } : tool]);
    return all.some(([, tool]) => tool?.exec) && !isolated() ? { tools: Object.fromEntries(all) } : {};
}

// A running server. {config} is merged over CONFIG; {dir} an earlier server's folder: the same store again;
// {mayFail}: nobody minds how it ends; {wrap} a command that runs it, as ["prlimit", "--nofile=64"].
export async function serve(t, { config = {}, dir = t.folder(), env = {}, args = [], store, mayFail = false, wrap = [] } = {}) {
    const file = path.join(dir, 'parley.json');
    fs.writeFileSync(file, JSON.stringify({ ...CONFIG, ...config, ...withTools(config.tools), demo: { ...CONFIG.demo, ...config.demo } }));
    const db = store || path.join(dir, 'x.db');
    const [program, ...all] = [...wrap, BIN, 'serve', '--config', file, '--store', 'sqlite:' + db, ...args];
    const child = spawn(program, all,
        { cwd: dir, env: { ...clean(), ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
    const s = new Server(child, dir, db);
    s.mayFail = mayFail;
    t.defer(() => s.end());
    s.port = await s.listening();
    s.token = env.PARLEY_TOKEN ?? /#token=(\S+)/.exec(s.out)?.[1];       // whoever started it has it, and sends it
    return s;
}

class Server {
    constructor(child, dir, db) {
        children.add(child);
        Object.assign(this, { child, dir, db, out: '', err: '', status: null });
        this.gone = once(child, 'close').then(([code, signal]) => {
            children.delete(child);
            this.status = signal || code;
            return this.status;
        });
        child.stdout.setEncoding('utf8').on('data', (d) => { this.out += d; this.#announced?.(); });
        child.stderr.setEncoding('utf8').on('data', (d) => { this.err += d; });
    }
    #announced;
    async listening() {
        const port = () => Number(/http:\/\/(?:\S*):(\d+)\S*\n[^]*\n  data /.exec(this.out)?.[1] || 0); // all of its first words
        await within(Promise.race([new Promise((yes) => { this.#announced = () => { if (port()) yes(); }; this.#announced(); }), this.gone]), 'the server to start');
        if (!port()) throw new Error(`the server did not start (${this.status}): ${this.err}`);
        return port();
    }
    get url() { return `http://127.0.0.1:${this.port}`; }
    // The log: one JSON object per line.
    get log() { return this.err.split('\n').filter((l) => l.startsWith('{')).map((l) => JSON.parse(l)); }
    kill() { this.killed = true; this.child.kill('SIGKILL'); return within(this.gone, 'the killed server to be gone'); }
    term() { this.child.kill('SIGTERM'); return within(this.gone, 'the server to end after SIGTERM'); }
    // At the end of a test a server that nobody killed must end well and have nothing to complain about:
    // under the sanitizers this is where leaks are told.
    async end() {
        if (this.status === null) await this.term().catch(() => this.kill());
        if (this.killed || this.mayFail) return;
        const said = this.err.split('\n').filter((l) => l && !l.startsWith('{')).join('\n');
        if (this.status !== 0 || said) throw new Error(`the server ended with ${this.status}: ${said.slice(0, 4000) || this.err.slice(-2000)}`);
    }
    request(method, at, body, headers) { return request(this, method, at, body, headers); }
    get(at, headers) { return request(this, 'GET', at, undefined, headers); }
    post(at, body, headers) { return request(this, 'POST', at, body, headers); }
    open(method, at, body, headers) { return Stream.open(this, method, at, body, headers); }
    // A message to the typed door, as a stream.
    say(message, more = {}) { return this.open('POST', '/v1/chat/stream', { message, ...more }); }
    // The same, read to its end.
    async turn(message, more = {}) { return (await this.say(message, more)).read(); }
    events(thread, after = '0.0', headers) { return this.open('GET', `/v1/threads/${thread}/events?after=${after}`, undefined, headers); }
    ledger() {
        const at = this.db + '.ledger.jsonl';
        return fs.existsSync(at) ? fs.readFileSync(at, 'utf8').split('\n').filter(Boolean).map((l) => JSON.parse(l)) : [];
    }
    async metrics() {
        const r = await this.get('/metrics');
        return Object.fromEntries(r.text.split('\n').filter((l) => l && !l.startsWith('#')).map((l) => [l.slice(0, l.lastIndexOf(' ')), Number(l.slice(l.lastIndexOf(' ') + 1))]));
    }
}

// --- HTTP -----------------------------------------------------------------------------

const bytes = (body) => (body === undefined ? undefined : Buffer.isBuffer(body) || typeof body === 'string' ? Buffer.from(body) : Buffer.from(JSON.stringify(body)));

function send(server, method, at, body, headers) {
    const data = bytes(body);
    const q = http.request({ host: '127.0.0.1', port: server.port, method, path: at, agent: false,
        headers: { ...(server.token && { authorization: `Bearer ${server.token}` }), ...(data && { 'content-type': 'application/json', 'content-length': data.length }), ...headers } });
    const answered = new Promise((yes, no) => {
        q.on('response', yes);
        q.on('error', (e) => no(new Error(`${method} ${at}: ${e.message}; the server: ${server.status ?? 'runs'} ${server.err?.slice(-1500)}`)));
    });
    answered.catch(() => {});          // whoever waits for it hears it
    q.end(data);
    return { q, answered };
}

// A whole answer: {status, headers, text, json}. json is undefined when the text is none.
export async function request(server, method, at, body, headers) {
    const { q, answered } = send(server, method, at, body, headers);
    try {
        const r = await within(answered, `${method} ${at}`);
        let text = '';
        r.setEncoding('utf8').on('data', (d) => { text += d; });
        await within(once(r, 'end'), `the body of ${method} ${at}`);
        let json;
        try { json = JSON.parse(text); } catch { /* then it is none */ }
        return { status: r.statusCode, headers: r.headers, text, json };
    } finally { q.destroy(); }
}

// A stream of server-sent events. Each event: {id, raw, data}; data is the parsed JSON, or undefined ("[DONE]").
export class Stream {
    static async open(server, method, at, body, headers) {
        const { q, answered } = send(server, method, at, body, headers);
        const r = await within(answered, `${method} ${at}`);
        const s = new Stream(q, r);
        if (!/^text\/event-stream/.test(r.headers['content-type'] || '')) {
            await s.ended('the answer');
            try { s.json = JSON.parse(s.text); } catch { /* not JSON */ }
        }
        return s;
    }
    constructor(q, r) {
        Object.assign(this, { q, r, status: r.statusCode, headers: r.headers, thread: r.headers['parley-thread'], run: r.headers['parley-run'] });
        Object.assign(this, { events: [], text: '', rest: '', over: false, broken: false, waiters: new Set(), next_: 0, comments: 0 });
        r.setEncoding('utf8').on('data', (d) => this.take(d));
        r.on('end', () => this.finish(false));
        r.on('error', () => this.finish(true));
        r.on('close', () => this.finish(!r.complete));
    }
    take(d) {
        this.text += d;
        this.rest += d;
        for (let end; (end = this.rest.indexOf('\n\n')) >= 0; this.rest = this.rest.slice(end + 2)) this.block(this.rest.slice(0, end));
        this.wake();
    }
    block(text) {
        let id, raw;
        for (const line of text.split('\n')) {
            if (line.startsWith('id: ')) id = line.slice(4);
            else if (line.startsWith('data: ')) raw = (raw === undefined ? '' : raw + '\n') + line.slice(6);
            else if (line.startsWith(':')) this.comments++;
            else if (line) throw new Error(`not a line of an event stream: ${line}`);
        }
        if (raw === undefined) return;
        let data;
        try { data = JSON.parse(raw); } catch { if (raw !== '[DONE]') throw new Error(`an event that is no JSON: ${raw}`); }
        this.events.push({ id, raw, data });
    }
    finish(broken) {
        if (this.over) return;
        this.over = true;
        this.broken = broken || this.rest !== '';
        this.wake();
    }
    wake() { for (const w of this.waiters) w(); }
    async wait(ready, what, ms = WAIT_MS) {
        let w, done = false;           // several chunks may come in one turn: what was taken once is not taken again
        const p = new Promise((yes) => { w = () => { const got = done ? undefined : ready(); if (got !== undefined && got !== false) { done = true; yes(got); } }; });
        this.waiters.add(w);
        w();
        try { return await within(p, `${what} (so far: ${this.types().slice(-6).join(' ')})`, ms); } finally { this.waiters.delete(w); }
    }
    // The next event nobody has taken yet that `pick` likes (a type, or a function); undefined when the stream ends first.
    async next(pick = () => true, ms) {
        const likes = typeof pick === 'string' ? (e) => e.data?.type === pick : pick;
        const found = await this.wait(() => {
            while (this.next_ < this.events.length) {
                const e = this.events[this.next_++];
                if (likes(e)) return { e };
            }
            return this.over ? { e: undefined } : undefined;
        }, `the event ${typeof pick === 'string' ? pick : ''}`, ms);
        return found.e;
    }
    async must(pick, ms) {
        const e = await this.next(pick, ms);
        if (!e) throw new Error(`the stream ended without ${pick}: ${this.types().join(' ')} ${this.status} ${this.text.slice(0, 300)}`);
        return e;
    }
    // Reads to the end.
    async read(ms) { await this.ended('the stream to end', ms); return this; }
    ended(what, ms) { return this.wait(() => this.over || undefined, what, ms); }
    close() { this.r.destroy(); this.q.destroy(); return this.wait(() => this.over || undefined, 'the stream to be closed'); }
    types() { return this.events.map((e) => e.data?.type ?? (e.data ? 'content' : e.raw)); }
    of(type) { return this.events.filter((e) => e.data?.type === type).map((e) => e.data); }
    get words() { return this.of('text_delta').map((d) => d.text).join(''); }
    get payload() { return this.of('complete').at(-1)?.payload; }
    get lastId() { return this.events.map((e) => e.id).filter(Boolean).at(-1); }
}

// Bytes as they are, for what a proper client would never send: {text} of everything that came back.
export async function raw(server, text, { until: stop = () => false, half = true } = {}) {
    const socket = net.connect(server.port, '127.0.0.1');
    let got = '';
    socket.setEncoding('latin1');
    socket.on('error', () => {});
    const closed = new Promise((yes) => socket.on('close', yes));
    const enough = new Promise((yes) => socket.on('data', (d) => { got += d; if (stop(got)) yes(); }));
    await within(once(socket, 'connect'), 'the connection');
    socket.write(Buffer.isBuffer(text) ? text : Buffer.from(text, 'latin1'));
    if (half) socket.end();
    try { await within(Promise.race([closed, enough]), 'the raw answer'); } finally { socket.destroy(); }
    return got;
}

// --- conversations ------------------------------------------------------------------------

// Adjacent text deltas as one, without what a replay may leave out; volatile ids kept.
export function told(events, { drop = ['status', 'tool_progress'] } = {}) {
    const out = [];
    for (const e of events) {
        const d = e.data ?? e.raw;
        if (drop.includes(d.type)) continue;
        const last = out.at(-1);
        if (d.type === 'text_delta' && last?.type === 'text_delta') last.text += d.text;
        else out.push(d.type === 'text_delta' ? { ...d } : d);
    }
    return out;
}

// What holds in every conversation of the typed door.
export function sound(s) {
    const seen = new Set(), started = new Set();
    let index = 0;
    for (const e of s.events) {
        const d = e.data, call = d.tool_use_id;
        if (d.type === 'intent_confirmation') {
            check(!seen.has(call), `two intents for ${call}`);
            check(d.message && d.tool === d.toolName && Number.isInteger(d.timestamp), `an intent with its members: ${e.raw}`);
            seen.add(call);
        }
        if (d.type === 'tool_start' || d.type === 'tool_confirmation') {
            check(seen.has(call) || s.continued, `the intent of ${call} comes before its ${d.type}`);
            if (d.type === 'tool_start') { check(!started.has(call), `one start of ${call}`); started.add(call); }
        }
        if (d.type === 'tool_complete') same(d.index, (s.index ?? 0) + index++, 'index');
        check(!/^(status|tool_progress|step_reset)$/.test(d.type) === !!e.id, `an id on what can be resumed, and only there: ${e.raw}`);
    }
    check(!s.broken, 'the stream ends properly');
    const last = s.events.at(-1)?.data;
    check(['complete', 'error', 'cancelled'].includes(last?.type), `the last event ends it: ${s.types().join(' ')}`);
    if (last.type === 'complete') same((s.before ?? '') + s.words, last.payload.message, 'what was streamed and payload.message');
    return s;
}

// Waits until the thread's run is over or waits for somebody, and gives the thread.
export function settled(server, thread, ms) {
    return until(async () => {
        const r = await server.get(`/v1/threads/${thread}`);
        return r.status === 200 && r.json.state !== 'running' && r.json;
    }, `thread ${thread} to settle`, ms);
}
