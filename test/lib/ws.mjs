// ws.mjs -- a WebSocket client for tests: enough of RFC 6455 to talk to /live and
// /api/chat/ws, and to see what a browser hides (frames, fragments, close codes).
import { createHash, randomBytes } from 'node:crypto';
import { WAIT_MS, within } from './check.mjs';
import { connect } from './http.mjs';

const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';

function frame(op, payload, fin = true) {
    const mask = randomBytes(4), n = payload.length;
    const head = n < 126 ? Buffer.from([0, 0x80 | n]) : n < 65536 ? Buffer.from([0, 0x80 | 126, n >> 8, n & 255])
        : Buffer.concat([Buffer.from([0, 0x80 | 127]), Buffer.from(BigInt(n).toString(16).padStart(16, '0'), 'hex')]);
    head[0] = (fin ? 0x80 : 0) | op;
    return Buffer.concat([head, mask, payload.map((b, i) => b ^ mask[i % 4])]);
}

const text = (value) => frame(1, Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)));

export class Ws {
    // Answers when the handshake is done; a refused one rejects with {status}.
    static async open(t, server, at, { protocols, headers = {}, behind } = {}) {
        const ws = new Ws(server);
        t?.defer(() => ws.socket.destroy());
        ws.ask(at, { ...(server.token && { Authorization: `Bearer ${server.token}` }), ...headers }, { protocols, behind });
        await within(ws.shaken, `the handshake of ${at}`);
        return ws;
    }
    constructor(server) {
        const socket = connect(server);
        Object.assign(this, { port: server.port, socket, rest: Buffer.alloc(0), texts: [], next_: 0, waiters: new Set(), closed: false, code: undefined, reason: '', pings: 0, pongs: 0, fragments: 0 });
        this.shaken = new Promise((yes, no) => { this.yes = yes; this.no = no; });
        this.shaken.catch(() => {});
        socket.on('data', (d) => { this.rest = Buffer.concat([this.rest, d]); this.read(); });
        socket.on('error', (e) => this.no(e));
        socket.on('close', () => { this.closed = true; this.no(new Error('closed')); this.wake(); });
    }
    // The handshake. `behind`: texts in the same packet.
    ask(at, headers, { protocols = [], behind = [] } = {}) {
        const key = randomBytes(16).toString('base64');
        this.accepted = createHash('sha1').update(key + GUID).digest('base64');
        const lines = { Host: `127.0.0.1:${this.port}`, Upgrade: 'websocket', Connection: 'Upgrade', 'Sec-WebSocket-Version': 13, 'Sec-WebSocket-Key': key, ...headers };
        if (protocols.length) lines['Sec-WebSocket-Protocol'] = protocols.join(', ');
        const head = `GET ${at} HTTP/1.1\r\n${Object.entries(lines).map(([k, v]) => `${k}: ${v}\r\n`).join('')}\r\n`;
        this.socket.write(Buffer.concat([Buffer.from(head), ...behind.map(text)]));
    }
    read() {
        if (!this.status) this.head();
        if (this.status !== 101) return;
        while (this.one()) ;
        this.wake();
    }
    head() {
        const end = this.rest.indexOf('\r\n\r\n');
        if (end < 0) return;
        const head = this.rest.subarray(0, end).toString('latin1');
        this.rest = this.rest.subarray(end + 4);
        this.status = Number(head.split(' ')[1]);
        this.protocol = /^sec-websocket-protocol: (.*)$/im.exec(head)?.[1];
        if (this.status !== 101) this.no(Object.assign(new Error(`not a WebSocket: ${this.status} ${this.rest}`), { status: this.status }));
        else if (/^sec-websocket-accept: (.*)$/im.exec(head)?.[1] !== this.accepted) this.no(new Error('a wrong Sec-WebSocket-Accept'));
        else this.yes();
    }
    one() {
        if (this.rest.length < 2) return false;
        const [a, b] = this.rest;
        let n = b & 127, at = 2;
        if (b & 128) throw new Error('a masked frame from the server');
        if (n === 126) { if (this.rest.length < 4) return false; n = this.rest.readUInt16BE(2); at = 4; }
        else if (n === 127) { if (this.rest.length < 10) return false; n = Number(this.rest.readBigUInt64BE(2)); at = 10; }
        if (this.rest.length < at + n) return false;
        const payload = this.rest.subarray(at, at + n);
        this.rest = this.rest.subarray(at + n);
        this.frame(a & 15, !!(a & 128), payload);
        return true;
    }
    frame(op, fin, payload) {
        if (op === 9) { this.pings++; this.socket.write(frame(10, payload)); return; }
        if (op === 10) { this.pongs++; return; }
        if (op === 8) {
            this.code = payload.length >= 2 ? payload.readUInt16BE(0) : 1005;
            this.reason = payload.subarray(2).toString();
            if (!this.closing) this.socket.end(frame(8, payload.subarray(0, 2)));
            return;
        }
        if ((op === 0) !== !!this.partial) throw new Error('a text frame between the fragments of another');
        if (!fin || op === 0) this.fragments++;
        this.partial = [...(this.partial ?? []), payload];
        if (!fin) return;
        this.texts.push(Buffer.concat(this.partial).toString('utf8'));
        this.partial = undefined;
    }
    wake() { for (const w of this.waiters) w(); }
    async wait(ready, what, ms = WAIT_MS) {
        let w;
        const p = new Promise((yes) => { w = () => { const got = ready(); if (got !== undefined && got !== false) yes(got); }; });
        this.waiters.add(w);
        w();
        try { return await within(p, `${what} (so far: ${this.texts.slice(-4).join(' ').slice(-600)})`, ms); } finally { this.waiters.delete(w); }
    }
    send(value) { this.socket.write(text(value)); }
    sendBytes(payload, op = 2) { this.socket.write(frame(op, Buffer.from(payload))); }
    ping(payload = '') { this.socket.write(frame(9, Buffer.from(payload))); }
    // The next text that nobody has taken yet; undefined when the socket is closed first.
    async next(ms) {
        const got = await this.wait(() => (this.next_ < this.texts.length ? { text: this.texts[this.next_++] } : this.closed ? {} : undefined), 'a text', ms);
        return got.text;
    }
    ended(ms) { return this.wait(() => this.closed || undefined, 'the socket to be closed', ms); }
    async close(code = 1000) {
        if (this.closed) return;
        this.closing = true;
        this.socket.end(frame(8, Buffer.from([code >> 8, code & 255])));
        await this.ended();
    }
    // Gone without a word, as a browser that lost its network.
    drop() { this.socket.destroy(); }
}
