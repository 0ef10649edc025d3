// http.mjs -- HTTP as a client sees it: whole answers, streams of events, and bytes as they are.
import { once } from 'node:events';
import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import tls from 'node:tls';
import { WAIT_MS, within } from './check.mjs';

const bytes = (body) => (body === undefined ? undefined : Buffer.isBuffer(body) || typeof body === 'string' ? Buffer.from(body) : Buffer.from(JSON.stringify(body)));

function send(server, method, at, body, headers) {
    const data = bytes(body);
    const q = (server.secure ? https : http).request({ host: '127.0.0.1', rejectUnauthorized: false, port: server.port, method, path: at, agent: false,
        headers: { ...(server.token && { authorization: `Bearer ${server.token}` }), ...(data && { 'content-type': 'application/json', 'content-length': data.length }), ...headers } });
    const answered = new Promise((yes, no) => {
        q.on('response', yes);
        q.on('error', (e) => no(new Error(`${method} ${at}: ${e.message}; the server: ${server.status ?? 'runs'} ${server.err?.slice(-1500)}`)));
    });
    answered.catch(() => {});          // whoever waits for it hears it
    q.end(data);
    return { q, answered };
}

// A connection; with a certificate, whichever it is, when the server has one.
export function connect(server) {
    const to = { port: server.port, host: '127.0.0.1' };
    return server.secure ? tls.connect({ ...to, rejectUnauthorized: false }) : net.connect(to);
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
        let id, raw, name;
        for (const line of text.split('\n')) {
            if (line.startsWith('id: ')) id = line.slice(4);
            else if (line.startsWith('data: ')) raw = (raw === undefined ? '' : raw + '\n') + line.slice(6);
            else if (line.startsWith('event: ')) name = line.slice(7);
            else if (line.startsWith(':')) this.comments++;
            else if (line) throw new Error(`not a line of an event stream: ${line}`);
        }
        if (raw === undefined) return;
        if (raw === '' && id) { this.primed = id; return; }          // only an id, as MCP begins its streams
        let data;
        try { data = JSON.parse(raw); } catch { if (raw !== '[DONE]') throw new Error(`an event that is no JSON: ${raw}`); }
        if (name !== undefined && name !== (data?.type ?? data?.event)) throw new Error(`an event that is called something else: ${name} ${raw}`);
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
    const socket = connect(server);
    let got = '';
    socket.setEncoding('latin1');
    socket.on('error', () => {});
    const closed = new Promise((yes) => socket.on('close', yes));
    const enough = new Promise((yes) => socket.on('data', (d) => { got += d; if (stop(got)) yes(); }));
    await within(once(socket, server.secure ? 'secureConnect' : 'connect'), 'the connection');
    socket.write(Buffer.isBuffer(text) ? text : Buffer.from(text, 'latin1'));
    if (half) socket.end();
    try { await within(Promise.race([closed, enough]), 'the raw answer'); } finally { socket.destroy(); }
    return got;
}

