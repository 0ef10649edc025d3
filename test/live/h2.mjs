// h2.mjs -- HTTP/2 as clients speak it: Node's own, and frames by hand for those who do not keep to it.
import { once } from 'node:events';
import http2 from 'node:http2';
import tls from 'node:tls';
import { certificate } from '../lib/certificate.mjs';
import { until, within } from './lib.mjs';

export async function secured(t, config = {}) {
    const dir = t.folder();
    return t.serve({ dir, config: { tls: certificate(dir), ...config } });
}

// One connection of Node's client.
export async function session(t, server, options = {}) {
    const s = http2.connect(server.url, { rejectUnauthorized: false, ...options });
    s.on('error', () => {});
    t.defer(() => s.destroy());
    await within(once(s, 'connect'), 'the connection');
    s.heads = { authorization: `Bearer ${server.token}` };
    return s;
}

// A stream of it: {status, headers, text, over, code}, as it comes; `end` is kept when it has ended.
export function ask(s, method, path, body, headers = {}) {
    const q = s.request({ ':method': method, ':path': path, ...s.heads, ...headers }, { endStream: body === undefined });
    const got = { q, text: '', over: false, get json() { return JSON.parse(got.text); } };
    q.setEncoding('utf8').on('data', (d) => { got.text += d; });
    q.on('response', (h) => { got.status = h[':status']; got.headers = h; });
    q.on('error', () => {});
    got.end = new Promise((yes) => q.on('close', () => { got.over = true; got.code = q.rstCode; yes(got); }));
    if (body !== undefined) q.end(typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body));
    return got;
}
export const answer = (s, method, path, body, headers) => within(ask(s, method, path, body, headers).end, `${method} ${path}`);
export const events = (text) => text.split('\n').filter((l) => l.startsWith('data: {')).map((l) => JSON.parse(l.slice(6)));

// --- by hand ----------------------------------------------------------------------------------

export const TYPE = { DATA: 0, HEADERS: 1, PRIORITY: 2, RST_STREAM: 3, SETTINGS: 4, PING: 6, GOAWAY: 7, WINDOW_UPDATE: 8, CONTINUATION: 9 };
const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';
export function frame(type, flags = 0, stream = 0, payload = '') {
    const body = Buffer.from(payload), head = Buffer.alloc(9);
    head.writeUIntBE(body.length, 0, 3);
    head.writeUInt8(type, 3);
    head.writeUInt8(flags, 4);
    head.writeUInt32BE(stream, 5);
    return Buffer.concat([head, body]);
}
export const int32 = (n) => { const b = Buffer.alloc(4); b.writeUInt32BE(n); return b; };
// Fields without compression (RFC 7541 6.2.2); names and values shorter than 127 bytes, or long ones in two bytes more.
const length = (n) => (n < 127 ? Buffer.from([n]) : Buffer.from([127, ...leb(n - 127)]));
function leb(n) { const out = []; for (; n >= 128; n >>= 7) out.push((n & 127) | 128); out.push(n); return out; }
const text = (s) => { const b = Buffer.from(s, 'latin1'); return Buffer.concat([length(b.length), b]); };
export const fields = (list) => Buffer.concat(list.map(([name, value]) => Buffer.concat([Buffer.from([0]), text(name), text(value)])));
export const GET = (server, path = '/v1/tools', more = []) => fields([[':method', 'GET'], [':scheme', 'https'], [':authority', `127.0.0.1:${server.port}`], [':path', path], ['authorization', `Bearer ${server.token}`], ...more]);

export class Wire {
    static async open(t, server, { preface = PREFACE, settings = '' } = {}) {
        const w = new Wire();
        w.socket = tls.connect({ port: server.port, host: '127.0.0.1', rejectUnauthorized: false, ALPNProtocols: ['h2'] });
        Object.assign(w, { bytes: Buffer.alloc(0), frames: [], over: false });
        w.socket.on('data', (d) => w.take(d)).on('close', () => { w.over = true; }).on('error', () => {});
        t.defer(() => w.socket.destroy());
        await within(once(w.socket, 'secureConnect'), 'the handshake');
        if (preface) w.socket.write(preface);
        if (preface === PREFACE) w.send(frame(TYPE.SETTINGS, 0, 0, settings));
        return w;
    }
    take(d) {
        this.bytes = Buffer.concat([this.bytes, d]);
        while (this.bytes.length >= 9 && this.bytes.length >= 9 + this.bytes.readUIntBE(0, 3)) {
            const n = this.bytes.readUIntBE(0, 3);
            this.frames.push({ type: this.bytes[3], flags: this.bytes[4], stream: this.bytes.readUInt32BE(5), payload: this.bytes.subarray(9, 9 + n) });
            this.bytes = this.bytes.subarray(9 + n);
        }
    }
    send(...frames) { this.socket.write(Buffer.concat(frames)); }
    of(type, stream) { return this.frames.filter((f) => f.type === type && (stream === undefined || f.stream === stream)); }
    wait(type, what, stream) { return until(() => this.of(type, stream)[0], what); }
    // The code with which the whole connection was ended; undefined: it is open.
    get goaway() { return this.of(TYPE.GOAWAY)[0]?.payload.readUInt32BE(4); }
    ended(what) { return until(() => this.over, what); }
}
