// ai.mjs -- an AI SDK client without the SDK: builds the message from chunks as
// strictly as the real one (closed schemas, the lookups of its section 5), sends by
// itself when the stock helpers say so, and refuses to loop. The real clients are in
// test/ai; this one is fast, and says what was wrong.
import { WAIT_MS, check, within } from './lib.mjs';
import { Ws } from './ws.mjs';

// --- chunks: required and optional members of the baseline ---------------------------------

const S = 'string', O = 'object', B = 'boolean', ANY = 'any';
const CALL = { toolCallId: S, toolName: S };
const CHUNKS = {
    start: [{}, { messageId: S, messageMetadata: ANY }],
    finish: [{}, { finishReason: S, messageMetadata: ANY }],
    abort: [{}, {}],
    error: [{ errorText: S }, {}],
    'start-step': [{}, {}],
    'finish-step': [{}, {}],
    'text-start': [{ id: S }, {}],
    'text-delta': [{ id: S, delta: S }, {}],
    'text-end': [{ id: S }, {}],
    'reasoning-start': [{ id: S }, {}],
    'reasoning-delta': [{ id: S, delta: S }, {}],
    'reasoning-end': [{ id: S }, {}],
    'tool-input-start': [CALL, { providerExecuted: B, dynamic: B, title: S }],
    'tool-input-delta': [{ toolCallId: S, inputTextDelta: S }, {}],
    'tool-input-available': [{ ...CALL, input: ANY }, { providerExecuted: B, dynamic: B, title: S }],
    'tool-input-error': [{ ...CALL, input: ANY, errorText: S }, { providerExecuted: B, dynamic: B, title: S }],
    'tool-approval-request': [{ approvalId: S, toolCallId: S }, {}],
    'tool-output-available': [{ toolCallId: S, output: ANY }, { providerExecuted: B, dynamic: B, preliminary: B }],
    'tool-output-error': [{ toolCallId: S, errorText: S }, { providerExecuted: B, dynamic: B }],
    'tool-output-denied': [{ toolCallId: S }, {}],
};
const REASONS = ['stop', 'length', 'content-filter', 'tool-calls', 'error', 'other'];

function valid(c) {
    const [must, may] = c.type?.startsWith('data-') ? [{ data: ANY }, { id: S, transient: B }] : CHUNKS[c.type] ?? [];
    check(must, `a type the client does not know: ${JSON.stringify(c)}`);
    for (const [k, type] of Object.entries(must)) check(k in c && (type === ANY || typeof c[k] === type), `${k} of ${JSON.stringify(c)}`);
    for (const [k, v] of Object.entries(c)) {
        if (k === 'type' || k in must) continue;
        check(k in may, `an extra member ${k}: ${JSON.stringify(c)}`);
        check(may[k] === ANY || typeof v === may[k], `${k} of ${JSON.stringify(c)}`);
    }
    if (c.type === 'finish') check(REASONS.includes(c.finishReason), `a reason: ${JSON.stringify(c)}`);
}

// --- the message ---------------------------------------------------------------------------------

const isTool = (p) => p.type.startsWith('tool-');
const sinceStep = (parts) => parts.slice(parts.findLastIndex((p) => p.type === 'step-start') + 1);

export function completeToolCalls(m) {
    const own = sinceStep(m.parts).filter((p) => isTool(p) && !p.providerExecuted);
    return own.length > 0 && own.every((p) => (p.state === 'output-available' && !p.preliminary) || p.state === 'output-error');
}
export function completeApprovals(m) {
    const tools = sinceStep(m.parts).filter(isTool);
    return tools.some((p) => p.state === 'approval-responded')
        && tools.every((p) => p.state === 'approval-responded' || (p.state === 'output-available' && !p.preliminary) || p.state === 'output-error' || p.state === 'output-denied');
}

// One stream read into one message. `message` is the one being continued, or a new one.
export class Reader {
    constructor(message = { role: 'assistant', parts: [] }) {
        Object.assign(this, { message, open: new Map(), chunks: [], data: [], toolCalls: [], finished: undefined, error: undefined, aborted: false, kept: message.parts.length });
    }
    part(id, current) {
        const all = this.message.parts.filter((p) => p.toolCallId === id);
        return sinceStep(this.message.parts).find((p) => p.toolCallId === id) ?? (current ? undefined : all.at(-1));
    }
    put(p) { this.message.parts.push(p); this.kept = this.message.parts.length; return p; }
    tool(c, state, more) {
        let p = this.part(c.toolCallId, true);
        if (!p) p = this.put({ type: `tool-${c.toolName}`, toolCallId: c.toolCallId });
        check(p.type === `tool-${c.toolName}`, `one name for ${c.toolCallId}`);
        Object.assign(p, { state, ...more });
        if (c.providerExecuted !== undefined) p.providerExecuted = c.providerExecuted;
        this.kept = this.message.parts.length;
        return p;
    }
    outcome(c, state, more) {
        const p = this.part(c.toolCallId, false);
        check(p, `an outcome for a call without a part: ${JSON.stringify(c)}`);
        Object.assign(p, { state, preliminary: c.preliminary, ...more });
        if (c.providerExecuted !== undefined) p.providerExecuted = c.providerExecuted;
        return p;
    }
    words(kind, c) {
        const key = kind + c.id;
        if (c.type.endsWith('-start')) { check(!this.open.has(key), `${key} twice`); this.open.set(key, this.put({ type: kind, text: '', state: 'streaming' })); return; }
        const p = this.open.get(key);
        check(p, `${c.type} without a start: ${JSON.stringify(c)}`);
        if (c.type.endsWith('-delta')) p.text += c.delta;
        else { p.state = 'done'; this.open.delete(key); }
    }
    take(c) {
        valid(c);
        check(!this.finished && !this.error && !this.aborted, `after the end: ${JSON.stringify(c)}`);
        this.chunks.push(c);
        const kind = /^(text|reasoning)-/.exec(c.type)?.[1];
        if (kind) { check(this.inStep, 'words inside a step'); this.words(kind, c); return; }
        switch (c.type) {
        case 'start':
            check(!this.started, 'one start');
            this.started = true;
            check(c.messageId && (!this.message.id || this.message.id === c.messageId), `the same message id: ${this.message.id} and ${c.messageId}`);
            this.message.id = c.messageId;
            return;
        case 'start-step': check(!this.inStep, 'a step in a step'); this.inStep = true; this.message.parts.push({ type: 'step-start' }); return;
        case 'finish-step': check(this.inStep && !this.open.size, 'a step ends with its texts ended'); this.inStep = false; return;
        case 'finish': check(!this.inStep, 'finish outside steps'); this.finished = c.finishReason; return;
        case 'abort': this.aborted = true; return;
        case 'error': this.error = c.errorText; return;
        case 'tool-input-start': this.tool(c, 'input-streaming', { raw: '' }); return;
        case 'tool-input-delta': { const p = this.part(c.toolCallId, true); check(p?.state === 'input-streaming', 'a delta of a started input'); p.raw += c.inputTextDelta; return; }
        case 'tool-input-available': this.tool(c, 'input-available', { input: c.input }); if (!c.providerExecuted) this.toolCalls.push(c); return;
        case 'tool-input-error': this.tool(c, 'output-error', { input: c.input, errorText: c.errorText }); return;
        case 'tool-approval-request': { const p = this.part(c.toolCallId, false); check(p, 'a request for a known call'); p.state = 'approval-requested'; p.approval = { id: c.approvalId }; return; }
        case 'tool-output-available': this.outcome(c, 'output-available', { output: c.output }); return;
        case 'tool-output-error': this.outcome(c, 'output-error', { errorText: c.errorText }); return;
        case 'tool-output-denied': this.outcome(c, 'output-denied', {}); return;
        default: this.data.push(c); if (!c.transient) this.put({ type: c.type, data: c.data });
        }
    }
    // The stream is over. A step that nothing came into is not stored.
    end() {
        this.message.parts.length = Math.max(this.kept, 0);
        check(this.started, 'a stream begins with start');
        check(this.finished || this.error || this.aborted, `a stream has an end: ${this.chunks.map((c) => c.type).join(' ')}`);
        check(this.chunks.length > 2 || this.error, `no stream is empty: ${this.chunks.map((c) => c.type).join(' ')}`);
        return this;
    }
    get types() { return this.chunks.map((c) => c.type); }
    get words_() { return this.chunks.filter((c) => c.type === 'text-delta').map((c) => c.delta).join(''); }
}

export const textOf = (m) => m.parts.filter((p) => p.type === 'text').map((p) => p.text).join('');
export const toolsOf = (m) => m.parts.filter(isTool);

// Chunks with adjacent deltas of one part as one: what "the same on two carriers" means.
export function merged(chunks) {
    const out = [];
    for (const c of chunks) {
        const last = out.at(-1), key = c.type === 'tool-input-delta' ? 'inputTextDelta' : 'delta';
        if (/-delta$/.test(c.type) && last?.type === c.type && (last.id ?? last.toolCallId) === (c.id ?? c.toolCallId)) last[key] += c[key];
        else out.push({ ...c });
    }
    return out;
}

// --- a chat over POST -------------------------------------------------------------------------------

export class Chat {
    // door: '/api/chat' or '/stream'.
    constructor(t, server, door = '/api/chat', id = `chat-${Math.random().toString(36).slice(2)}`) {
        Object.assign(this, { t, server, door, id, messages: [], posts: 0, streams: [], onTool: undefined, auto: true });
    }
    get last() { return this.messages.at(-1); }
    body(more) { return { id: this.id, messages: this.messages, trigger: 'submit-message', ...more }; }
    async open(more = {}) {
        this.posts++;
        check(this.posts <= 20, 'the client sends for ever');
        const s = await this.server.open('POST', this.door, this.body(more));
        this.current = s;
        return s;
    }
    // One POST and what follows from it by itself. Refusals throw {status, code}.
    async send(more = {}) {
        const s = await this.open(more);
        await this.read(s);
    }
    async read(s) {
        if (s.status !== 200) throw Object.assign(new Error(`${s.status} ${s.headers['parley-error']}: ${s.text}`), { status: s.status, code: s.headers['parley-error'], text: s.text });
        check(s.headers['x-vercel-ai-ui-message-stream'] === 'v1', 'the mark of the protocol');
        const continued = this.last?.role === 'assistant' ? this.last : undefined;
        const r = new Reader(continued);
        this.streams.push(r);
        if (!continued) this.messages.push(r.message);
        for (let e; (e = await s.next());) {
            if (e.raw === '[DONE]') { s.done = true; continue; }
            check(!s.done, 'nothing after [DONE]');
            r.take(e.data);
        }
        check(s.done && !s.broken, `ends with [DONE]: ${r.types.join(' ')}`);
        r.end();
        if (this.onTool) for (const c of r.toolCalls) await this.onTool(c);
        if (!r.error) await this.maybeSend();
    }
    async maybeSend() {
        const m = this.last;
        if (this.auto && m?.role === 'assistant' && (completeToolCalls(m) || completeApprovals(m))) await this.send({ messageId: m.id });
    }
    async say(text, more) {
        this.messages.push({ id: `u-${Math.random().toString(36).slice(2)}`, role: 'user', parts: [{ type: 'text', text }] });
        await this.send(more);
    }
    async regenerate(messageId) {
        const at = messageId ? this.messages.findIndex((m) => m.id === messageId) : this.messages.length - 1;
        this.messages = this.messages.slice(0, this.messages[at].role === 'assistant' ? at : at + 1);
        await this.send({ trigger: 'regenerate-message', ...(messageId && { messageId }) });
    }
    async edit(id, text) {
        const at = this.messages.findIndex((m) => m.id === id);
        this.messages = [...this.messages.slice(0, at), { id, role: 'user', parts: [{ type: 'text', text }] }];
        await this.send({ messageId: id });
    }
    tool(id) { return this.messages.flatMap((m) => m.parts ?? []).findLast((p) => p.toolCallId === id); }
    // What the person can click: {id, call, tool, input}.
    get asked() {
        return toolsOf(this.last).flatMap((p) => {
            if (p.state === 'approval-requested') return [{ id: p.approval.id, call: p.toolCallId, tool: p.type.slice(5), input: p.input }];
            if (p.type === 'tool-adk_request_confirmation' && p.state === 'input-available') { const o = p.input.originalFunctionCall; return [{ id: p.toolCallId, call: o.id, tool: o.name, input: o.args }]; }
            return [];
        });
    }
    // A click: the part is answered; sent when the helpers say so.
    mark(id, approved, reason) {
        const p = toolsOf(this.last).find((x) => x.approval?.id === id || x.toolCallId === id);
        check(p, `a part for ${id}`);
        if (p.toolCallId === id) Object.assign(p, { state: 'output-available', output: { confirmed: approved, ...(reason && { reason }) } });
        else Object.assign(p, { state: 'approval-responded', approval: { id, approved, ...(reason && { reason }) } });
    }
    async answer(id, approved, reason) { this.mark(id, approved, reason); await this.maybeSend(); }
    async result(call, value) {
        Object.assign(this.tool(call), { state: 'output-available', output: value });
        await this.maybeSend();
    }
    async fail(call, errorText) {
        Object.assign(this.tool(call), { state: 'output-error', errorText });
        await this.maybeSend();
    }
}

// --- a chat over /live ---------------------------------------------------------------------------------

const CONTROL = ['hello', 'ack', 'pong', 'error', 'data-approval'];

export class Live {
    static async open(t, server, { thread, json = true, approval, protocols, headers } = {}) {
        const query = new URLSearchParams({ ...(thread && { thread }), ...(approval && { approval }) }).toString();
        const ws = await Ws.open(t, server, `/live${query ? `?${query}` : ''}`, { protocols: protocols ?? (json ? ['parley.json.v1'] : []), headers });
        const l = new Live(ws, ws.protocol === 'parley.json.v1');
        l.hello = await l.control('hello');
        l.thread = l.hello.thread;
        return l;
    }
    constructor(ws, json) { Object.assign(this, { ws, json, frames: [], seen: 0, next_: 0, turns: [], messages: [], chunks: [] }); }
    parse(text) {
        if (text.startsWith('data: ')) {
            check(!this.json && text.endsWith('\n\n'), `framing: ${text}`);
            const raw = text.slice(6, -2);
            return raw === '[DONE]' ? { done: true } : { chunk: JSON.parse(raw) };
        }
        const v = JSON.parse(text);
        if (v.done) { check(this.json, `framing: ${text}`); return { done: true }; }
        if (v.event) { check(this.json && /^\d+\.\d+$/.test(v.id), `framing: ${text}`); return { chunk: v.event, id: v.id }; }
        check(CONTROL.includes(v.type), `a frame nobody knows: ${text}`);
        return { control: v };
    }
    pump() { while (this.seen < this.ws.texts.length) this.frames.push(this.parse(this.ws.texts[this.seen++])); }
    async find(pick, what, ms = WAIT_MS) {
        return this.ws.wait(() => { this.pump(); const at = this.frames.findIndex((f) => !f.taken && pick(f)); if (at < 0) return undefined; this.frames[at].taken = true; return this.frames[at]; }, what, ms);
    }
    async control(type, pick = () => true, ms) { return (await this.find((f) => f.control?.type === type && pick(f.control), type, ms)).control; }
    send(type, body = {}, nested = false) { this.ws.send(nested ? { type, version: '1.0', data: body } : { type, version: '1.0', ...body }); }
    // Reads one turn, from start to the end-of-turn mark, into the last message (a continuation) or a new one.
    async turn() {
        const chunks = [];
        for (;;) {
            const f = await this.find((x) => x.chunk || x.done, 'a chunk');
            if (f.done) break;
            chunks.push(f.chunk);
        }
        this.chunks.push(...chunks);
        const id = chunks.find((c) => c.type === 'start')?.messageId;
        if (!id) { this.turns.push({ types: chunks.map((c) => c.type), chunks }); return this.turns.at(-1); }
        let m = this.messages.find((x) => x.id === id);
        if (!m) this.messages.push(m = { id, role: 'assistant', parts: [] });
        const r = new Reader(m);
        for (const c of chunks) r.take(c);
        this.turns.push(r.end());
        return r;
    }
    get last() { return this.messages.at(-1); }
    async say(text, more = {}) { this.send('message', { text, ...more }); return this.turn(); }
    get asked() {
        return toolsOf(this.last).filter((p) => p.type === 'tool-adk_request_confirmation' && p.state === 'input-available')
            .map((p) => ({ id: p.toolCallId, call: p.input.originalFunctionCall.id, tool: p.input.originalFunctionCall.name, input: p.input.originalFunctionCall.args }));
    }
    answer(id, confirmed, { reason, nested = true, answer_id } = {}) {
        this.send('tool_result', { toolCallId: id, toolName: 'adk_request_confirmation', result: { confirmed, ...(reason && { reason }) }, ...(answer_id && { answer_id }) }, nested);
    }
    approve(id, confirmed, more = {}) { this.send('approval', { id, confirmed, ...more }); }
    result(call, value) { this.send('tool_result', { toolCallId: call, result: value }); }
    async close() { await this.ws.close(); }
    drop() { this.ws.drop(); }
}

export { within };
