// documents.mjs -- clients that speak as the documents' own clients speak: what they send, where they stop
// reading, what they never send. Written from how those behave, not from their code.
//
//   Bidi  one socket to /live for many turns. A message opens a stream, [DONE] closes it, and nothing but the next
//         message opens another: an answer is a `tool_result` for the confirmation's id and brings no stream of its own.
//         With `id` it names its chat in every message and answers inside messages, as its newest release does.
//   Sse   POST /stream. Sends by itself when a confirmation was answered and no other tool of the message is over;
//         everything else is sent by hand, with an empty message behind the answer.
import { check } from './lib.mjs';
import { Chat, Reader, toolsOf } from './ai.mjs';
import { Ws } from './ws.mjs';

const CONFIRMATION = 'tool-adk_request_confirmation';
const asked = (m) => toolsOf(m).filter((p) => p.type === CONFIRMATION && p.state === 'input-available')
    .map((p) => ({ id: p.toolCallId, call: p.input.originalFunctionCall.id, tool: p.input.originalFunctionCall.name }));

let count = 0;
const user = (text) => ({ id: `u-${process.pid}-${++count}`, role: 'user', parts: [{ type: 'text', text }] });

export class Bidi {
    constructor(t, server, { id, native = false, tools = {} } = {}) {
        Object.assign(this, { t, server, id, native, tools, messages: [], controls: [], done: true });
    }
    get last() { return this.messages.at(-1); }
    get asked() { return asked(this.last); }
    tool(name) { return toolsOf(this.last).find((p) => p.type === `tool-${name}`); }
    event(type, body) { this.ws.send({ type, version: '1.0', timestamp: Date.now(), ...body }); }
    // A stream is opened by sending messages, on the socket that is there or on a new one.
    async send(more = {}) {
        if (!this.ws || this.ws.closed) this.ws = await Ws.open(this.t, this.server, `/live${this.native ? '?approval=native' : ''}`);
        const continued = this.last.role === 'assistant';
        this.reader = new Reader(continued ? this.last : undefined);
        this.event('message', this.id ? { id: this.id, messages: this.messages, trigger: 'submit-message', ...more } : { data: { messages: this.messages } });
        if (!continued) this.messages.push(this.reader.message);
        this.done = false;
    }
    async say(text, ready) { this.messages.push(user(text)); await this.send(); await this.read(ready); }
    // Reads the open stream until `ready` says so, it is closed, or the socket is.
    async read(ready = () => false) {
        while (!this.done && !ready()) {
            const text = await this.ws.next();
            if (text === undefined) break;
            this.take(text);
        }
        return this.reader;
    }
    take(text) {
        if (!text.startsWith('data: ')) { this.controls.push(JSON.parse(text)); return; }
        const raw = text.slice(6).trim();
        check(!this.done, `nothing is told to a closed stream: ${raw}`);
        if (raw === '[DONE]') { this.done = true; return; }
        const c = JSON.parse(raw);
        this.reader.take(c);
        if (c.type === 'tool-input-available' && this.tools[c.toolName]) this.toolResult(c.toolCallId, this.tools[c.toolName](c.input));
    }
    toolResult(toolCallId, result) { this.event('tool_result', { data: { toolCallId, result } }); }
    click(id, confirmed) { this.toolResult(id, { confirmed }); }
    interrupt() { this.event('interrupt', { reason: 'user_abort' }); }
    // Everything that was sent before has been answered when this comes back; a closed stream must have stayed silent.
    async settle() {
        const timestamp = Date.now() * 1000 + ++count;
        this.ws.send({ type: 'ping', version: '1.0', timestamp });
        while (!this.controls.some((c) => c.type === 'pong' && c.timestamp === timestamp)) this.take(await this.ws.next());
    }
    // The next control frame of that type, from now on.
    async control(type) {
        const seen = this.controls.length;
        for (let at = seen; ; ) {
            const hit = this.controls.findIndex((c, i) => i >= at && c.type === type);
            if (hit >= 0) return this.controls[hit];
            at = this.controls.length;
            this.take(await this.ws.next());
        }
    }
    cut() { this.ws.drop(); return this.ws.ended(); }
}

export class Sse extends Chat {
    constructor(t, server, tools = {}) { super(t, server, '/stream'); this.auto = false; this.tools = tools; }
    get asked() { return asked(this.last); }
    async say(text) { this.messages.push(user(text)); await this.send(); }
    async click(id, confirmed) {
        this.mark(id, confirmed);
        const others = toolsOf(this.last).filter((p) => p.type !== CONFIRMATION);
        if (others.some((p) => p.state === 'output-available' || p.state === 'output-error')) return;
        await this.send({ messageId: this.last.id });
    }
    // An answer that its own rule does not send goes behind an empty message, which is no turn.
    async byHand() {
        const answered = this.last;
        this.messages.push({ id: `u-${process.pid}-${++count}`, role: 'user', parts: [{ type: 'text', text: '' }] });
        const s = await this.open();
        this.messages.pop();
        check(this.last === answered, 'the answered message is the last again');
        await this.read(s);
    }
    // What a browser runs: a call of ours that nobody else is running.
    async runTools() {
        for (const p of toolsOf(this.last))
            if (p.state === 'input-available' && !p.providerExecuted && this.tools[p.type.slice(5)])
                Object.assign(p, { state: 'output-available', output: this.tools[p.type.slice(5)](p.input) });
        await this.byHand();
    }
}

// Kh   POST /v1/chat/stream as the client of seed 001 does: the message with its context, the conversation it is in, and what was
//      pressed as `action_metadata`. It keeps `payload.message` of every `complete` as a message of its own.
export class Kh {
    constructor(server, context = { current_page: 'reports' }) { Object.assign(this, { server, context, conversation: null, shown: [] }); }
    open(message, interaction_type = 'text_input', action_metadata) {
        return this.server.open('POST', '/v1/chat/stream', { message, context: this.context, interaction_type, action_metadata, conversation_id: this.conversation }, { accept: 'text/event-stream' });
    }
    async read(s) {
        if (s.status !== 200) return s;
        await s.read();
        this.payload = s.of('complete').at(-1)?.payload;
        if (this.payload?.conversation_id) this.conversation = this.payload.conversation_id;
        if (this.payload) this.shown.push(this.payload.message);
        return s;
    }
    async say(message, interaction) { return this.read(await this.open(message, interaction)); }
    // A button of the last payload: what it says is its label, what it means stands beside it.
    async press(label) {
        const a = this.payload.suggested_actions.find((x) => x.label.startsWith(label));
        check(a?.handler === 'server', `a button ${label}: ${JSON.stringify(this.payload.suggested_actions)}`);
        return this.read(await this.open(a.label, 'action_executed', { action_identifier: a.action, action_data: a.data }));
    }
}

// Vana  POST /functions/v1/chat as the client of seed 000 does: the whole history as role and content, the session if somebody is
//       signed in; it stops reading at [DONE], keeps artifacts by their flat members and pictures by their address.
export class Vana {
    constructor(server, sessionId) { Object.assign(this, { server, sessionId, history: [] }); }
    async say(content) {
        this.history.push({ role: 'user', content });
        const s = await this.server.open('POST', '/functions/v1/chat', { messages: this.history, sessionId: this.sessionId, isGuest: !this.sessionId,
            toolChoice: 'auto', modeHint: 'auto', includeReasoning: true, assistantMessageId: 'b7c1' });
        await s.read();
        const all = s.events.map((e) => e.data).filter(Boolean);
        const of = (type) => all.filter((e) => e.type === type);
        const text = all.map((e) => e.choices?.[0]?.delta?.content ?? '').join('');
        this.history.push({ role: 'assistant', content: text });
        return Object.assign(s, { all, named: of, text, artifacts: of('artifact_complete').filter((e) => e.artifactCode), images: of('image_complete'), found: of('web_search') });
    }
}
