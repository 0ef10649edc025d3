// mcp.mjs -- MCP clients at /mcp, of both eras: with forms, links, tasks or nothing to ask by; a person's key or a program's,
// which decides nothing; requests that are named and made again; sessions that are ended, left, or never begun.
import { events } from '../client.mjs';
import { canonical } from '../ledger.mjs';
import { AGENT } from '../organisation.mjs';
import * as speech from '../speech.mjs';

export const OPS = { mcp: 7 };

const MODERN = '2026-07-28', LEGACY = ['2025-06-18', '2025-11-25'];
const CAN = { none: {}, form: { elicitation: { form: {} } }, url: { elicitation: { url: {} } }, both: { elicitation: { form: {}, url: {} } } };
const TASKS = { extensions: { 'io.modelcontextprotocol/tasks': {} } };
const CALLED = ['pay', 'wire_money', 'refund', 'order', 'reserve', 'mail', 'note', 'loose', 'bank__pay', 'shop__buy', 'fair__buy', 'apply_schema', 'no_such_tool'];
const MOMENT_MS = 5000;               // a call is followed so long

export const draw = {
    mcp(c, who, t) {
        const tool = c.pick(CALLED);
        return { era: c.pick(['modern', 'legacy', 'legacy']), version: c.pick(LEGACY), can: c.pick(Object.keys(CAN)), agent: c.maybe(0.3) && AGENT.startsWith(`${who}.`), tool, args: speech.soundArgs(c, t, tool, who), answer: c.weighted({ yes: 6, no: 1, decline: 1, cancel: 1, odd: 0.5, nothing: 1 }), ...(c.maybe(0.2) && { tasks: true }),
            ...(c.maybe(0.35) && { request: c.maybe(0.5) ? c.int(4) : -1 }), again: c.maybe(0.3), ...(c.maybe(0.1) && { cancel: true }), ...(c.maybe(0.15) && { cut: c.pick([20, 200, 800]) }), end: c.pick(['delete', 'leave']), ...(c.maybe(0.1) && { spoil: c.pick(['session', 'version', 'method', 'batch', 'rubbish']) }) };
    },
};

const ANSWERS = { yes: { action: 'accept', content: { approve: true } }, no: { action: 'accept', content: { approve: false } }, decline: { action: 'decline' }, cancel: { action: 'cancel' }, odd: { action: 'accept', content: { approve: 'yes' } } };

// One client: what it sends, and what it does when it is asked.
class Client {
    constructor(actor, op) { Object.assign(this, { actor, op, key: op.agent ? AGENT : actor.who, next: 1 }); }
    post(body, headers, more = {}) { return this.actor.send('POST', '/mcp', body, { stay: this.op.cut ?? MOMENT_MS, ...more, headers: { accept: 'application/json, text/event-stream', ...headers } }, this.key); }
    // His own yes, when the key is a person's: to the question that is asked, as the list has it.
    async yes(id) {
        if (this.op.answer !== 'yes' || this.op.agent) return;
        const q = (await this.actor.send('GET', `/v1/approvals/${id}`)).json;
        if (q?.status === 'pending') this.actor.scene.sayYes(q, this.actor.who, this.op.n);
    }
    get params() {
        const { op, actor } = this, request = op.request === undefined ? {} : { _meta: { 'parley/request': op.request < 0 ? `mr-${op.n}` : `mr-${actor.who}-${op.request}` } };
        return { name: op.tool, arguments: JSON.parse(op.args), ...request };
    }
}
class Legacy extends Client {
    get own() { return { 'mcp-session-id': this.op.spoil === 'session' ? 'nobody' : this.session ?? '', 'mcp-protocol-version': this.op.spoil === 'version' ? '1999-01-01' : this.op.version }; }
    async open() {
        const r = await this.post({ jsonrpc: '2.0', id: 0, method: 'initialize', params: { protocolVersion: this.op.version, capabilities: CAN[this.op.can], clientInfo: { name: 'torture', version: '1' } } });
        this.session = r.headers['mcp-session-id'];
        await this.post({ jsonrpc: '2.0', method: 'notifications/initialized' }, this.own);
        return r.status;
    }
    async call() {
        const id = this.next++, heard = new Set();
        const hear = (text) => { for (const { data } of events(text)) if (data.method === 'elicitation/create' && !heard.has(data.id)) { heard.add(data.id); this.asked(data); } };
        const sent = this.post({ jsonrpc: '2.0', id, method: 'tools/call', params: this.params }, this.own, { hear });
        if (this.op.cancel) setTimeout(() => this.post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id } }, this.own), 50);
        const r = await sent;
        return { r, m: r.json ?? events(r.text).map((e) => e.data).find((d) => d.id === id && !d.method) };
    }
    async asked(ask) {
        if (!ANSWERS[this.op.answer]) return;
        if (ask.params?.mode !== 'url') await this.yes(ask.id);
        await this.post({ jsonrpc: '2.0', id: ask.id, result: ANSWERS[this.op.answer] }, this.own);
    }
    end() { return this.actor.send('DELETE', '/mcp', undefined, { headers: this.own }, this.key); }
}
class Modern extends Client {
    async open() { return (await this.ask('tools/list', {})).r.status; }
    async ask(method, params, spoil = {}) {
        const id = this.next++, io = (name) => `io.modelcontextprotocol/${name}`, named = params.name ?? params.taskId;
        const _meta = { [io('protocolVersion')]: MODERN, [io('clientCapabilities')]: { ...CAN[this.op.can], ...(this.op.tasks && TASKS) }, [io('clientInfo')]: { name: 'torture', version: '1' }, ...params._meta };
        const r = await this.post({ jsonrpc: '2.0', id, method, params: { ...params, _meta } }, { 'mcp-protocol-version': MODERN, 'mcp-method': method, ...(named && { 'mcp-name': named }), ...spoil });
        return { r, m: r.json ?? events(r.text).map((e) => e.data).find((d) => d.id === id && !d.method) };
    }
    async call() {
        let last = await this.ask('tools/call', this.params, this.op.spoil === 'method' ? { 'mcp-method': 'tools/list' } : {});
        const result = last.m?.result, answer = ANSWERS[this.op.answer], ids = result?.inputRequests?.approval && answer ? await this.questions() : [];
        for (const id of ids) await this.yes(id);
        if (ids.length && result.resultType === 'task') await this.ask('tasks/update', { taskId: result.taskId, inputResponses: { approval: answer } });
        else if (ids.length) last = await this.ask('tools/call', { ...this.params, requestState: result.requestState, inputResponses: { approval: answer } });
        if (result?.taskId) await this.ask(this.op.cancel ? 'tasks/cancel' : 'tasks/get', { taskId: result.taskId });
        return last;
    }
    // The form names no question: it can be any of these arguments.
    async questions() { return (await this.actor.asked(this.actor.who)).filter((q) => canonical(q.input) === canonical(JSON.parse(this.op.args))).map((q) => q.id); }
    async end() { /* there is nothing to end */ }
}

// A named request is one call for ever, however often it is made.
function named(actor, op, call) {
    const { scene, who, world } = actor, name = op.request === undefined || !call ? undefined : `${who} ${op.request < 0 ? op.n : `#${op.request}`}`, before = scene.named.get(name);
    if (name && before && before !== call && !scene.removed.size) world.violation('duplicate', `the named request "${name}" was told as two calls: ${before}, ${call}`, { n: op.n, who, key: 'mcp' });
    if (name) scene.named.set(name, call);
}

export const perform = {
    async mcp(actor, op) {
        const { world } = actor, client = op.era === 'modern' ? new Modern(actor, op) : new Legacy(actor, op);
        if (op.spoil === 'rubbish') return { status: (await client.post('[{"jsonrpc":"2.0","id":{},"method":')).status };
        if (op.spoil === 'batch') return { status: (await client.post([{ jsonrpc: '2.0', id: 1, method: 'tools/list' }])).status };
        world.model.words.add(canonical(JSON.parse(op.args)));
        if (op.tool.includes('__')) world.model.spoken.set(op.args, (world.model.spoken.get(op.args) ?? 0) + (op.again ? 2 : 1));
        await client.open();
        const { r, m } = await client.call();
        named(actor, op, m?.result?._meta?.['parley/call']);
        if (op.again) named(actor, op, (await client.call()).m?.result?._meta?.['parley/call']);
        if (op.end === 'delete') await client.end();
        return { status: r.status, note: m?.result?._meta?.['parley/outcome'] ?? m?.error?.code };
    },
};
