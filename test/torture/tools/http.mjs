// http.mjs -- hostile HTTP tools, and the ledger that every tool writes to. POST /tool/NAME misbehaves as `how` in
// its arguments says; POST /ledger is how programs in other processes write a line.
import http from 'node:http';

const body = async (q) => { const c = []; for await (const d of q) c.push(d); return Buffer.concat(c).toString('utf8'); };
const json = (r, status, value, headers) => r.writeHead(status, { 'content-type': 'application/json', ...headers }).end(typeof value === 'string' ? value : JSON.stringify(value));
export function howOf(raw) { try { return JSON.parse(raw).how ?? 'ok'; } catch { return 'ok'; } }

const ENDS = {
    error: (r) => json(r, 200, { error: 'no money' }),
    refuse: (r) => json(r, 422, { message: 'not like this' }),
    redirect: (r) => json(r, 302, '', { location: '/tool/elsewhere' }),
    broken: (r) => json(r, 500, 'oops'),
    exit_after: (r) => json(r, 503, '{"error":"busy"}'),
    close: (r) => r.socket.destroy(), die_after: (r) => r.socket.destroy(), crash: (r) => r.socket.resetAndDestroy(),
    die_during: (r) => { r.writeHead(200, { 'content-type': 'application/json', 'content-length': 100 }); r.write('{"pa'); setTimeout(() => r.destroy(), 20); },
    half: (r) => { r.writeHead(200, { 'content-type': 'application/json', 'content-length': 10 }); r.write('{"paid":'); setTimeout(() => r.destroy(), 20); },
    rubbish: (r) => json(r, 200, 'paid, I think'),
    untyped: (r) => { r.sendDate = false; r.writeHead(200).end('{"paid":true}'); },
    empty: (r) => r.writeHead(204).end(),
    hang: () => {}, mute: () => {},
    slow: (r) => setTimeout(() => json(r, 200, { paid: true }), 500),
    flood_out: (r) => { r.writeHead(200, { 'content-type': 'application/json' }); r.end(`"${'x'.repeat(4 << 20)}"`); },
    twice: (r) => { r.writeHead(200, { 'content-type': 'text/event-stream' }); r.end('data: {"result":{"paid":1}}\n\ndata: {"result":{"paid":2}}\n\n'); },
    late_error: (r) => { r.writeHead(200, { 'content-type': 'text/event-stream' }); r.end('data: {"result":{"paid":1}}\n\ndata: {"error":"after all not"}\n\n'); },
    events: (r) => { r.writeHead(200, { 'content-type': 'text/event-stream' }); r.end('data: {"progress":0.5,"message":"half"}\n\ndata: {"result":{"paid":true}}\n\n'); },
    flood_progress: (r) => { r.writeHead(200, { 'content-type': 'text/event-stream' }); r.end('data: {"progress":0.5,"message":"m"}\n\n'.repeat(3000) + 'data: {"result":1}\n\n'); },
};

// How a check answers, in words of an argument `check`.
const CHECKS = {
    true: (r, happened) => json(r, 200, happened ? { happened, result: { found: true } } : { happened }),
    unknown: (r) => json(r, 200, { unknown: true }), both: (r) => json(r, 200, { happened: true, unknown: true }), more: (r) => json(r, 200, { happened: false, sure: true }),
    text: (r) => json(r, 200, 'false'), gone: (r) => json(r, 404, { happened: false }), broken: (r) => json(r, 500, { happened: false }), cut: (r) => r.socket.destroy(), silent: () => {},
};
export const CHECK_WORDS = Object.keys(CHECKS).filter((w) => w !== 'true');

export class HttpTools {
    constructor(world) {
        Object.assign(this, { world, checked: new Map() });
        this.server = http.createServer((q, r) => this.take(q, r).catch(() => r.destroy()));
        this.server.keepAliveTimeout = 60000;
    }
    async open() { await new Promise((yes) => this.server.listen(0, '127.0.0.1', yes)); this.port = this.server.address().port; }
    close() { this.server.close(); this.server.closeAllConnections(); }
    // What became of a call: the books know. `check` in its arguments says how the answer comes; `checked` keeps what was said.
    check({ call, arguments: args }, q, r) {
        const happened = this.world.ledger.of(call).length > 0, said = args?.check ?? 'true';
        this.checked.set(call, [...(this.checked.get(call) ?? []), said === 'true' ? happened : said]);
        if (q.headers['idempotency-key']) this.world.violation('check', 'a check was asked with the key of the call, as if it could act', { call, key: 'key' });
        (CHECKS[said] ?? CHECKS.true)(r, happened);
    }
    async take(q, r) {
        const raw = await body(q);
        if (q.url === '/ledger') { this.world.ledger.add(JSON.parse(raw)); r.end('ok'); return; }
        if (q.url.startsWith('/mcp/')) return this.world.mcp.take(q, r, raw);
        if (q.url === '/check') return this.check(JSON.parse(raw), q, r);
        const [, tool, version] = /^\/tool\/(\w+)\/(\d+)$/.exec(q.url) ?? [], how = howOf(raw);
        if (how === 'close_before' || how === 'die_before') return q.socket.destroy();
        if (how !== 'lie') this.world.ledger.add({ kind: 'http', tool, call: q.headers['idempotency-key'], version: Number(version), raw });
        (ENDS[how] ?? ((x) => json(x, 200, { paid: true })))(r);
    }
}
