// client.mjs -- the two carriers as a hurried or hostile client uses them: HTTP that may stop reading, read slowly, be
// cut in the middle or send half a request; a WebSocket whose first frames may come in the handshake's own packet.
import http from 'node:http';
import net from 'node:net';
import { Ws } from '../lib/ws.mjs';
import { keyOf, patience } from './world.mjs';

const STAY_MS = 8000, SLOW_MAX = 4;       // how long a stream is followed, and at most how much longer on a slow machine
const KEPT = 1 << 20;               // of an answer

// {status, headers, text, json}; status 0: there was no answer, and `why`.
// how: {cut: bytes read, slow: true, stay: ms, half: share sent, kept: characters of the answer, hear: told what came so far}
export function send(world, who, method, at, body, how = {}) {
    const data = body === undefined ? undefined : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
    return new Promise((yes) => {
        const out = { status: 0, headers: {}, text: '' };
        let over = false, timer;
        const end = () => {
            if (over) return;
            over = true;
            clearTimeout(timer);
            q.destroy();
            try { out.json = JSON.parse(out.text); } catch { /* a stream, or nothing */ }
            yes(out);
        };
        const q = http.request({ host: '127.0.0.1', port: world.port, method, path: at, agent: false,
            headers: { ...(who && { authorization: `Bearer ${keyOf(who)}` }), ...(data && { 'content-type': 'application/json', 'content-length': data.length }), ...how.headers } });
        q.on('error', (e) => { out.why = e.message; end(); });
        q.on('close', end);
        q.on('response', (r) => {
            Object.assign(out, { status: r.statusCode, headers: r.headers });
            let seen = 0;
            r.setEncoding('utf8');
            r.on('data', (d) => {
                seen += d.length;
                if (out.text.length < (how.kept ?? KEPT)) out.text += d;
                how.hear?.(out.text);
                if (how.cut !== undefined && seen >= how.cut) return end();
                if (how.slow) { r.pause(); setTimeout(() => r.resume(), 150); }
            });
            r.on('end', () => { out.whole = true; end(); });
            r.on('error', end);
        });
        timer = setTimeout(() => { out.why = 'too long'; end(); }, how.stay ?? STAY_MS * Math.min(SLOW_MAX, patience()));
        if (how.half !== undefined && data) { q.write(data.subarray(0, Math.floor(data.length * how.half))); setTimeout(end, 30); } else q.end(data);
    });
}

// The events of a stream: [{id, data}].
export function events(text) {
    const out = [];
    for (const block of text.split('\n\n')) {
        const id = /^id: (.*)$/m.exec(block)?.[1], raw = /^data: (.*)$/m.exec(block)?.[1];
        try { if (raw) out.push({ id, data: JSON.parse(raw) }); } catch { /* [DONE], or cut */ }
    }
    return out;
}

// Asks and does not read.
export class Deaf {
    constructor(world, who, at) {
        this.socket = net.connect(world.port, '127.0.0.1');
        this.socket.on('error', () => {});
        this.socket.pause();
        this.socket.write(`GET ${at} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${keyOf(who)}\r\n\r\n`);
    }
    drop() { this.socket.destroy(); }
}

// `early`: what is said in the packet of the handshake; `auth`: by a header, or by the first message.
export class Socket extends Ws {
    constructor(world, who, at, { protocol, early = [], auth = 'header' } = {}) {
        super(world);
        const first = who && auth === 'message' ? [{ type: 'auth', token: keyOf(who) }] : [];
        this.ask(at, who && auth === 'header' ? { Authorization: `Bearer ${keyOf(who)}` } : {}, { protocols: protocol ? [protocol] : [], behind: [...first, ...early] });
    }
    // The first text that `pick` likes, parsed; undefined when time is over or the socket closed.
    async hear(pick, ms) {
        let at = 0;
        const look = () => {
            for (; at < this.texts.length; at++) { const v = parsed(this.texts[at]); if (v && pick(v)) return { v }; }
            return this.closed ? {} : undefined;
        };
        try { return (await this.wait(look, 'a text', ms)).v; } catch { return undefined; }
    }
    deaf() { this.socket.pause(); }
    bye() { this.close().catch(() => {}); setTimeout(() => this.drop(), 500).unref(); }
}
function parsed(t) { try { return JSON.parse(t.startsWith('data: ') ? t.slice(6) : t); } catch { return undefined; } }
