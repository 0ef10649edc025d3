// client.mjs -- the two carriers as a hurried or hostile client uses them: HTTP that may stop reading, read slowly, be
// cut in the middle or send half a request; a WebSocket whose first frames may come in the handshake's own packet.
import { randomBytes } from 'node:crypto';
import http from 'node:http';
import net from 'node:net';
import { keyOf, patience } from './world.mjs';

const STAY_MS = 8000, SLOW_MAX = 4;       // how long a stream is followed, and at most how much longer on a slow machine
const KEPT = 1 << 20;               // of an answer

// {status, headers, text, json}; status 0: there was no answer.
// how: {cut: bytes read, slow: true, stay: ms, half: share sent, kept: characters of the answer}
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
        q.on('error', end);
        q.on('close', end);
        q.on('response', (r) => {
            Object.assign(out, { status: r.statusCode, headers: r.headers });
            let seen = 0;
            r.setEncoding('utf8');
            r.on('data', (d) => {
                seen += d.length;
                if (out.text.length < (how.kept ?? KEPT)) out.text += d;
                if (how.cut !== undefined && seen >= how.cut) return end();
                if (how.slow) { r.pause(); setTimeout(() => r.resume(), 150); }
            });
            r.on('end', () => { out.whole = true; end(); });
            r.on('error', end);
        });
        timer = setTimeout(end, how.stay ?? STAY_MS * Math.min(SLOW_MAX, patience()));
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

function frame(op, payload) {
    const mask = randomBytes(4), n = payload.length;
    const head = n < 126 ? Buffer.from([0x80 | op, 0x80 | n]) : n < 65536 ? Buffer.from([0x80 | op, 0xfe, n >> 8, n & 255])
        : Buffer.concat([Buffer.from([0x80 | op, 0xff]), Buffer.from(BigInt(n).toString(16).padStart(16, '0'), 'hex')]);
    return Buffer.concat([head, mask, Buffer.from(payload.map((b, i) => b ^ mask[i % 4]))]);
}
const text = (v) => frame(1, Buffer.from(typeof v === 'string' ? v : JSON.stringify(v)));

export class Socket {
    constructor(world, who, at, { protocol, early = [], auth = 'header' } = {}) {
        Object.assign(this, { texts: [], rest: Buffer.alloc(0), head: '', closed: false, waiters: new Set() });
        this.socket = net.connect(world.port, '127.0.0.1');
        this.socket.on('error', () => {});
        this.socket.on('close', () => { this.closed = true; this.wake(); });
        this.socket.on('data', (d) => { this.rest = Buffer.concat([this.rest, d]); this.read(); this.wake(); });
        const lines = ['Host: 127.0.0.1', 'Upgrade: websocket', 'Connection: Upgrade', 'Sec-WebSocket-Version: 13', `Sec-WebSocket-Key: ${randomBytes(16).toString('base64')}`];
        if (who && auth === 'header') lines.push(`Authorization: Bearer ${keyOf(who)}`);
        if (protocol) lines.push(`Sec-WebSocket-Protocol: ${protocol}`);
        const first = who && auth === 'message' ? [{ type: 'auth', token: keyOf(who) }] : [];
        this.socket.write(Buffer.concat([Buffer.from(`GET ${at} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`), ...[...first, ...early].map(text)]));
    }
    read() {
        if (!this.head) {
            const end = this.rest.indexOf('\r\n\r\n');
            if (end < 0) return;
            this.head = this.rest.subarray(0, end).toString('latin1');
            this.rest = this.rest.subarray(end + 4);
        }
        for (;;) {
            if (this.rest.length < 2) return;
            let n = this.rest[1] & 127, at = 2;
            if (n === 126) { if (this.rest.length < 4) return; n = this.rest.readUInt16BE(2); at = 4; }
            else if (n === 127) { if (this.rest.length < 10) return; n = Number(this.rest.readBigUInt64BE(2)); at = 10; }
            if (this.rest.length < at + n) return;
            const op = this.rest[0] & 15, payload = this.rest.subarray(at, at + n);
            this.rest = this.rest.subarray(at + n);
            if (op === 9) this.socket.write(frame(10, payload));
            if (op === 8) this.socket.end(frame(8, payload.subarray(0, 2)));
            if (op < 3 && this.texts.length < 5000) this.texts.push(payload.toString('utf8'));
        }
    }
    wake() { for (const w of this.waiters) w(); }
    // The next text (from the one numbered `from` on) that `pick` likes, parsed; undefined when time is over or the socket closed.
    wait(pick, ms) {
        let at = 0;
        return new Promise((yes) => {
            const done = (v) => { this.waiters.delete(look); clearTimeout(timer); yes(v); };
            const look = () => {
                for (; at < this.texts.length; at++) { const v = parsed(this.texts[at]); if (v && pick(v)) return done(v); }
                if (this.closed) done(undefined);
            };
            const timer = setTimeout(() => done(undefined), ms);
            this.waiters.add(look);
            look();
        });
    }
    send(v) { if (!this.closed) this.socket.write(text(v)); }
    raw(bytes) { if (!this.closed) this.socket.write(bytes); }
    deaf() { this.socket.pause(); }
    drop() { this.socket.destroy(); }
    bye() { if (!this.closed) this.socket.end(frame(8, Buffer.from([3, 232]))); setTimeout(() => this.socket.destroy(), 500).unref(); }
}
function parsed(t) { try { return JSON.parse(t.startsWith('data: ') ? t.slice(6) : t); } catch { return undefined; } }
