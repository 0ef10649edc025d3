// mcp.mjs -- an MCP client as bare as can be, of either era: what it sends is what a test says.
import { same, test, until } from './lib.mjs';
import { sha256 } from './org.mjs';

export const MODERN = '2026-07-28', LEGACY = '2025-11-25';
const BOTH = 'application/json, text/event-stream';
const meta = (name) => `io.modelcontextprotocol/${name}`;

// One message to the door: {status, headers, messages}. The messages are those of the answer, be it
// a stream or one object.
export class Mcp {
    constructor(server, { key, page, accept = BOTH, capabilities = {}, name = 'tests' } = {}) {
        Object.assign(this, { server, key, accept, capabilities, name, next: 1 });
        this.at = page ? `/mcp?page=${page}` : '/mcp';
    }
    headers(more) {
        const auth = this.key ? { authorization: `Bearer ${this.key}` } : {};
        return { accept: this.accept, ...auth, ...more };
    }
    post(body, headers) { return this.server.open('POST', this.at, body, this.headers(headers)); }
    async result(stream, id) {
        await stream.read();
        const all = stream.json ? [stream.json] : stream.events.map((e) => e.data).filter(Boolean);
        return all.find((m) => m.id === id && !m.method);
    }
    // The answer's result; an error is thrown with its code.
    async ask(method, params) {
        const { stream, id } = await this.send(method, params);
        const m = await this.result(stream, id);
        if (!m) throw new Error(`no answer to ${method}: ${stream.status} ${stream.text.slice(0, 300)}`);
        if (m.error) throw Object.assign(new Error(m.error.message), { ...m.error, status: stream.status });
        return m.result;
    }
    call(name, args, more) { return this.ask('tools/call', { name, arguments: args, ...more }); }
}

export class Modern extends Mcp {
    // The message and its headers, each of which a test may spoil.
    message(method, params = {}, { id = this.next++, headers = {}, spoil = {} } = {}) {
        const _meta = { [meta('protocolVersion')]: MODERN, [meta('clientCapabilities')]: this.capabilities,
            [meta('clientInfo')]: { name: this.name, version: '1' }, ...params._meta, ...spoil };
        const named = params.name ?? params.uri ?? params.taskId;
        return { id, body: { jsonrpc: '2.0', id, method, params: { ...params, _meta } },
            headers: { 'mcp-protocol-version': MODERN, 'mcp-method': method, ...(named && { 'mcp-name': named }), ...headers } };
    }
    async send(method, params, options) {
        const m = this.message(method, params, options);
        return { id: m.id, stream: await this.post(m.body, m.headers) };
    }
}

export class Legacy extends Mcp {
    async open(version = LEGACY) {
        const params = { protocolVersion: version, capabilities: this.capabilities, clientInfo: { name: this.name, version: '1' } };
        const s = await this.post({ jsonrpc: '2.0', id: 0, method: 'initialize', params });
        this.session = s.headers['mcp-session-id'];
        this.opened = s.json.result;
        this.version = this.opened.protocolVersion;
        same((await this.tell('notifications/initialized')).status, 202);
        return this;
    }
    // After a restart: as clients do that get a 404.
    async reopen() { return this.open(this.version); }
    get own() { return { 'mcp-session-id': this.session, 'mcp-protocol-version': this.version }; }
    async send(method, params, { id = this.next++ } = {}) {
        return { id, stream: await this.post({ jsonrpc: '2.0', id, method, params }, this.own) };
    }
    tell(method, params) { return this.post({ jsonrpc: '2.0', method, params }, this.own); }
    answer(id, result) { return this.post({ jsonrpc: '2.0', id, result }, this.own); }
    listen(headers) {
        return this.server.open('GET', this.at, undefined, this.headers({ accept: 'text/event-stream', ...this.own, ...headers }));
    }
}

export const outcome = (result) => result._meta['parley/outcome'];
export const text = (result) => result.content.map((c) => c.text).join('\n');

// --- what tests of the door share --------------------------------------------------------------------

export const FORM = { elicitation: { form: {} } };
export const isAsk = (e) => e.data?.method === 'elicitation/create';
export const keys = (...list) => ({
    keys: list.map(([key, principal, ...roles]) => ({ sha256: sha256(key), principal, roles })),
});
export const bearer = (key) => ({ authorization: `Bearer ${key}` });

// Both eras, opened.
const ERAS = {
    modern: async (server, o) => new Modern(server, o),
    legacy: (server, o) => new Legacy(server, o).open(),
};
export function each(name, work, eras = Object.keys(ERAS)) {
    for (const era of eras)
        test(`${era}: ${name}`, (t) => work(t, (server, o) => ERAS[era](server, o)));
}
export const pending = async (server, headers) =>
    (await server.get('/v1/approvals?status=pending', headers)).json.approvals;
export const asked = (server, n = 1, headers) => until(async () => {
    const p = await pending(server, headers);
    return p.length === n && p;
}, `${n} questions`);
export async function refusal(work, code) {
    try { await work(); } catch (e) { same(e.code, code, e.message); return e; }
    throw new Error(`not refused with ${code}`);
}
