// doors.mjs -- the same conversation through every door: say something, see what is
// asked, answer, hand in a browser's result. A refused answer throws {status, code}.
import fs from 'node:fs';
import path from 'node:path';
import { check, settled } from './lib.mjs';
import { Chat, Live, textOf, toolsOf } from './ai.mjs';
import { Legacy, Modern, outcome, text as resultText } from './mcp.mjs';
import { Chat as ChatProgram, textOf as responseText } from './openai.mjs';

const refused = (status, code, message) => Object.assign(new Error(`${status} ${code}: ${message}`), { status, code });
const STATUS = { already_decided: 409, expired: 409, superseded: 409, args_mismatch: 409, late_result: 409, claimed: 409, approval_pending: 409,
    unknown_confirmation: 404, unknown_call: 404, unknown_thread: 404, not_client_tool: 403, reserved_name: 403, malformed_answer: 422, tool_gone: 410 };

// --- POST /api/chat and POST /stream ---------------------------------------------------------

class PostDoor {
    constructor(t, server, path, id) { Object.assign(this, { t, server, path, chat: new Chat(t, server, path, id) }); }
    get thread() { return this.chat.id; }
    say(text) { return this.chat.say(text); }
    get asked() { return this.chat.asked; }
    answer(id, yes, reason) { return this.chat.answer(id, yes, reason); }
    get offered() { return toolsOf(this.chat.last).filter((p) => p.state === 'input-available' && !p.providerExecuted && p.type !== 'tool-adk_request_confirmation').map((p) => p.toolCallId); }
    result(call, value) { return this.chat.result(call, value); }
    get words() { return textOf(this.chat.last); }
    async leave() { await this.chat.current?.close(); }
    // Another browser that knows only the address of the conversation.
    async reload() {
        const d = new PostDoor(this.t, this.server, this.path, this.chat.id);
        d.chat.messages = (await this.server.get(`/v1/threads/${this.chat.id}${this.path === '/stream' ? '?approval=adk' : ''}`)).json.messages;
        return d;
    }
}

// --- /live ----------------------------------------------------------------------------------------

class LiveDoor {
    static async open(t, server, thread) {
        const d = new LiveDoor();
        Object.assign(d, { t, server, live: await Live.open(t, server, { thread, json: true }) });
        return d;
    }
    get thread() { return this.live.thread; }
    say(text) { return this.live.say(text); }
    get asked() {
        if (this.live.last) return this.live.asked;
        return this.live.hello.pending.map((p) => ({ id: p.id, call: p.tool_use_id, tool: p.tool, input: p.input }));
    }
    async outcome(id) {
        const f = (await this.live.find((x) => x.control && x.control.for === id && ['ack', 'error'].includes(x.control.type), `the ack of ${id}`)).control;
        if (f.type === 'error') throw refused(STATUS[f.code], f.code, f.message);
        if (!f.duplicate) await this.live.turn();
        return f;
    }
    answer(id, yes, reason) { this.live.answer(id, yes, { reason }); return this.outcome(id); }
    get offered() { return toolsOf(this.live.last).filter((p) => p.state === 'input-available' && !p.providerExecuted && p.type !== 'tool-adk_request_confirmation').map((p) => p.toolCallId); }
    result(call, value) { this.live.result(call, value); return this.outcome(call); }
    get words() { return textOf(this.live.last); }
    async leave() { this.live.drop(); }
    reload() { return LiveDoor.open(this.t, this.server, this.live.thread); }
}

// --- POST /v1/chat/stream ------------------------------------------------------------------------------

class TypedDoor {
    constructor(t, server, thread) { Object.assign(this, { t, server, thread, streams: [] }); }
    async read(body) {
        const s = await this.server.open('POST', '/v1/chat/stream', { ...(this.thread && { thread_id: this.thread }), ...body });
        if (s.status !== 200) throw refused(s.status, s.json.error.code, s.json.error.message);
        await s.read();
        this.thread = s.thread;
        this.streams.push(s);
        return s;
    }
    say(text) { this.streams = []; return this.read({ message: text }); }
    get asked() {
        if (this.pending) return this.pending.map((p) => ({ id: p.id, call: p.tool_use_id, tool: p.tool, input: p.input }));
        return this.streams.at(-1).of('tool_confirmation').map((c) => ({ id: c.confirmation_id, call: c.tool_use_id, tool: c.tool, input: c.input }));
    }
    answer(id, yes, reason) { return this.read({ action: { action: yes ? 'approve' : 'deny', data: { confirmation_id: id, ...(reason && { reason }) } } }); }
    get offered() { return this.streams.at(-1).of('tool_start').filter((e) => e.where === 'client').map((e) => e.tool_use_id); }
    async result(call, value) {
        const after = this.streams.at(-1).lastId;
        const r = await this.server.post(`/v1/threads/${this.thread}/results/${call}`, { result: value });
        if (r.status !== 200) throw refused(r.status, r.json.error.code, r.json.error.message);
        const f = await this.server.events(this.thread, after);
        await f.must((e) => e.data.type === 'complete');
        await f.close();
        this.streams.push(f);
    }
    get words() { return this.streams.map((s) => s.words).join(''); }
    async leave() { await this.streams.at(-1)?.close(); }
    async reload() {
        const d = new TypedDoor(this.t, this.server, this.thread);
        d.pending = (await this.server.get(`/v1/threads/${this.thread}`)).json.pending;
        return d;
    }
}

// --- POST /ag-ui ---------------------------------------------------------------------------------------

const some = () => Math.random().toString(36).slice(2);

class AguiDoor {
    constructor(t, server, thread = `ag-${some()}`) { Object.assign(this, { t, server, thread, messages: [], asked: [], offered: [] }); }
    async post(more = {}, at = '/ag-ui') {
        const s = this.stream = await this.server.open('POST', at, { threadId: this.thread, runId: some(), protocolVersion: '1.0', messages: this.messages, ...more });
        if (s.status !== 200) throw refused(s.status, s.json.error.code, s.json.error.message);
        await s.read();
        for (const e of s.events) this.take(e.data);
        const late = s.events.map((e) => e.data).find((d) => d.name === 'approval_resolved' && d.value.yours && d.value.yours !== d.value.decision);
        if (late) throw refused(409, 'already_decided', 'decided elsewhere');
        return s;
    }
    message(id, role) {
        let m = this.messages.find((x) => x.id === id);
        if (!m) this.messages.push(m = { id, role, ...(role === 'assistant' && { content: '' }) });
        return m;
    }
    call(id) { return this.messages.flatMap((m) => m.toolCalls ?? []).find((c) => c.id === id); }
    take(d) {
        if (d.type === 'MESSAGES_SNAPSHOT') this.messages = structuredClone(d.messages);
        if (d.type === 'TEXT_MESSAGE_START') this.message(d.messageId, d.role);
        if (d.type === 'TEXT_MESSAGE_CONTENT') this.message(d.messageId).content += d.delta;
        if (d.type === 'TOOL_CALL_START') (this.message(d.parentMessageId, 'assistant').toolCalls ??= []).push({ id: d.toolCallId, type: 'function', function: { name: d.toolCallName, arguments: '' } });
        if (d.type === 'TOOL_CALL_ARGS') this.call(d.toolCallId).function.arguments += d.delta;
        if (d.type === 'TOOL_CALL_RESULT') Object.assign(this.message(d.messageId, 'tool'), { toolCallId: d.toolCallId, content: d.content });
        if (d.type === 'RUN_ERROR') throw refused(STATUS[d.code], d.code, d.message);
        if (d.type !== 'RUN_FINISHED') return;
        this.asked = (d.outcome.interrupts ?? []).map((i) => ({ id: i.id, call: i.toolCallId, tool: i.metadata.parley.tool, input: JSON.parse(this.call(i.toolCallId).function.arguments) }));
        this.offered = d.outcome.pendingToolCallIds ?? [];
    }
    say(text) { this.from = this.messages.push({ id: some(), role: 'user', content: text }); return this.post(); }
    answer(id, yes, reason) { return this.post({ resume: [{ interruptId: id, status: 'resolved', payload: { approved: yes, ...(reason && { reason }) } }] }); }
    result(call, value) { this.messages.push({ id: some(), role: 'tool', toolCallId: call, content: JSON.stringify(value) }); return this.post(); }
    get words() { return this.messages.slice(this.from ?? 0).filter((m) => m.role === 'assistant').map((m) => m.content ?? '').join(''); }
    async leave() { await this.stream?.close(); }
    async reload() {
        const d = new AguiDoor(this.t, this.server, this.thread);
        await d.post({}, '/ag-ui/agent/default/connect');
        return d;
    }
}

// --- POST /run_sse ---------------------------------------------------------------------------------------

const CONFIRMATION = 'adk_request_confirmation';

class AdkDoor {
    constructor(t, server, thread = `adk-${some()}`) { Object.assign(this, { t, server, thread, events: [] }); }
    async post(parts) {
        const s = this.stream = await this.server.open('POST', '/run_sse', { appName: 'default', userId: 'user', sessionId: this.thread, newMessage: { role: 'user', parts }, streaming: true });
        if (s.status !== 200) throw refused(s.status, s.json.error.code, s.json.error.message);
        await s.read();
        this.events.push({ content: { role: 'user', parts }, author: 'user' }, ...s.events.map((e) => e.data).filter((d) => !d.partial));
        return s;
    }
    parts(kind) { return this.events.flatMap((e) => e.content?.parts ?? []).map((p) => p[kind]).filter(Boolean); }
    get long() {
        const over = new Set(this.parts('functionResponse').map((r) => r.id)), ids = new Set(this.events.flatMap((e) => e.longRunningToolIds ?? []));
        return this.parts('functionCall').filter((c, i, all) => ids.has(c.id) && !over.has(c.id) && all.findLastIndex((x) => x.id === c.id) === i);
    }
    get asked() { return this.long.filter((c) => c.name === CONFIRMATION).map(({ id, args: { originalFunctionCall: o } }) => ({ id, call: o.id, tool: o.name, input: o.args })); }
    get offered() { return this.long.filter((c) => c.name !== CONFIRMATION).map((c) => c.id); }
    say(text) { this.from = this.events.length; return this.post([{ text }]); }
    answer(id, yes, reason) { return this.post([{ functionResponse: { id, name: CONFIRMATION, response: { confirmed: yes, ...(reason && { reason }) } } }]); }
    result(call, value) { return this.post([{ functionResponse: { id: call, name: 'tool', response: value } }]); }
    get words() { return this.events.slice(this.from ?? 0).filter((e) => e.author !== 'user').flatMap((e) => e.content?.parts ?? []).map((p) => p.text ?? '').join(''); }
    async leave() { await this.stream?.close(); }
    async reload() {
        const d = new AdkDoor(this.t, this.server, this.thread);
        d.events = (await this.server.get(`/apps/default/users/user/sessions/${this.thread}`)).json.events;
        return d;
    }
}

// --- POST /v1/responses ----------------------------------------------------------------------------------

class ResponsesDoor {
    constructor(t, server, last) { Object.assign(this, { t, server, last, told: [] }); }
    get thread() { return this.last.conversation.id; }
    async post(body) {
        const r = await this.server.post('/v1/responses', body);
        if (r.status !== 200) throw refused(r.status, r.json.error.code, r.json.error.message);
        this.last = r.json;
        this.told.push(r.json);
    }
    say(text) { this.told = []; return this.post({ input: text, ...(this.last && { previous_response_id: this.last.id }) }); }
    of(type) { return this.last.output.filter((x) => x.type === type); }
    get asked() { return this.of('mcp_approval_request').map((x) => ({ id: x.id, call: x.id.replace('confirmation-', ''), tool: x.name, input: JSON.parse(x.arguments) })); }
    answer(id, yes, reason) { return this.post({ input: [{ type: 'mcp_approval_response', approval_request_id: id, approve: yes, ...(reason && { reason }) }] }); }
    get offered() { return this.of('function_call').map((x) => x.call_id); }
    result(call, value) { return this.post({ input: [{ type: 'function_call_output', call_id: call, output: JSON.stringify(value) }] }); }
    get words() { return this.told.map(responseText).join('\n'); }
    async leave() {}
    async reload() { return new ResponsesDoor(this.t, this.server, (await this.server.get(`/v1/responses/${this.last.id}`)).json); }
}

// --- POST /v1/chat/completions: questions and answers are words --------------------------------------------

// A sentence is all that such a client is told of an answer that came too late.
const SENTENCES = [[/expired/, 'expired'], [/already (approved|denied)/, 'already_decided'], [/withdrawn/, 'superseded']];

class CompletionsDoor {
    constructor(t, server, messages = []) { Object.assign(this, { t, server, chat: Object.assign(new ChatProgram(server), { messages }), from: 0 }); }
    get thread() { return this.chat.thread; }
    async send(message) {
        this.chat.server = this.server;
        this.chat.messages.push(message);
        await this.chat.send();
    }
    say(text) { this.from = this.chat.messages.length; return this.send({ role: 'user', content: text }); }
    get asked() {
        const text = this.chat.messages.at(-1).content;
        return [...text.matchAll(/\n(\S+) (\{.*\})\nReply `yes (\d{4})`.* open \S+\/a\/confirmation-(call-[\w-]{22})/g)]
            .map(([, tool, input, code, call]) => ({ id: `confirmation-${call}`, call, tool, input: JSON.parse(input), code }));
    }
    async answer(id, yes, reason) {
        const { code } = this.asked.find((q) => q.id === id);
        await this.send({ role: 'user', content: `${yes ? 'yes' : 'no'} ${code}${reason ? ` ${reason}` : ''}` });
        const late = SENTENCES.find(([words]) => words.test(this.chat.text));
        if (late) throw refused(409, late[1], this.chat.text);
    }
    get offered() { return (this.chat.last.message.tool_calls ?? []).map((c) => c.id); }
    result(call, value) { return this.send({ role: 'tool', tool_call_id: call, content: JSON.stringify(value) }); }
    get words() { return this.chat.messages.slice(this.from).filter((m) => m.role === 'assistant').map((m) => m.content).join('\n'); }
    async leave() {}
    async reload() {
        const d = new CompletionsDoor(this.t, this.server, [...this.chat.messages]);
        Object.assign(d.chat, { thread: this.chat.thread, last: this.chat.last });
        return d;
    }
}

// --- /mcp: a call in place of a message, and no model that speaks of it ------------------------------------

const CALLS = { 'Send 50 dollars to Hanako': ['process_payment', { amount: 50, currency: 'USD', recipient: 'Hanako' }] };
const TASKS = { extensions: { 'io.modelcontextprotocol/tasks': {} } };

// A question is answered where its link leads; the same call again, or its task, has the result.
class McpDoor {
    static async open(t, server, era) {
        const client = new (era === 'legacy' ? Legacy : Modern)(server, era === 'tasks' ? { capabilities: TASKS } : {});
        if (era === 'legacy') await client.open();
        return Object.assign(new McpDoor(), { t, server, era, client, silent: true, offered: [] });
    }
    async say(text) {
        this.call = CALLS[text];
        this.last = await this.client.call(...this.call);
        this.thread = this.last.taskId ?? this.last._meta['parley/call'];
        this.waiting = (await this.client.call('list_approvals', {})).structuredContent.approvals.filter((a) => a.thread === this.thread);
    }
    get asked() { return this.waiting.map((a) => ({ id: a.id, call: a.tool_use_id, tool: a.tool, input: a.input })); }
    async answer(id, yes, reason) {
        const r = await this.server.post(`/v1/approvals/${id}`, { confirmed: yes, ...(reason && { reason }) });
        if (r.status !== 200) throw refused(r.status, r.json.error.code, r.json.error.message);
        await settled(this.server, this.thread);
        await this.fetch();
    }
    async fetch() {
        if (this.era === 'tasks') this.last = (await this.client.ask('tasks/get', { taskId: this.thread })).result;
        else this.last = await this.client.call(...this.call);
    }
    get words() { return this.last.content && outcome(this.last) !== 'pending' ? resultText(this.last) : ''; }
    async leave() {}
    async reload() {
        const d = await McpDoor.open(this.t, this.server, this.era);
        await d.say(Object.keys(CALLS)[0]);
        return d;
    }
    // After the end of a question: the same call is told of it, once, and then it is another.
    async next() {
        const d = Object.assign(await McpDoor.open(this.t, this.server, this.era), { thread: this.thread, call: this.call });
        await d.fetch();
        check(outcome(d.last) === 'expired', `it is told how it ended: ${outcome(d.last)}`);
        return d;
    }
}

export const DOORS = {
    '/api/chat': async (t, server) => new PostDoor(t, server, '/api/chat'),
    '/stream': async (t, server) => new PostDoor(t, server, '/stream'),
    '/live': (t, server) => LiveDoor.open(t, server),
    typed: async (t, server) => new TypedDoor(t, server),
    '/ag-ui': async (t, server) => new AguiDoor(t, server),
    '/run_sse': async (t, server) => new AdkDoor(t, server),
    '/v1/responses': async (t, server) => new ResponsesDoor(t, server),
    '/v1/chat/completions': async (t, server) => new CompletionsDoor(t, server),
};

// Doors of programs that call tools themselves: those that the server runs.
export const MCP_DOORS = {
    '/mcp': (t, server) => McpDoor.open(t, server, 'modern'),
    '/mcp of 2025': (t, server) => McpDoor.open(t, server, 'legacy'),
    '/mcp with tasks': (t, server) => McpDoor.open(t, server, 'tasks'),
};

export const TOOLS = {
    process_payment: { ask: 'Send 50 dollars to Hanako', client: false },
    change_bgm: { ask: 'Change the BGM to track 1', client: true, result: { playing: 1 } },
    get_location: { ask: 'Where am I?', client: true, result: { latitude: 35.6, longitude: 139.7 } },
};

// A server whose clock can be moved: t.serve(timed(t)), then later(server, ms).
export function timed(t, options = {}) {
    const dir = options.dir ?? t.folder(), clock = path.join(dir, 'clock');
    if (!fs.existsSync(clock)) fs.writeFileSync(clock, '0');
    return { ...options, dir, env: { ...options.env, PARLEY_CLOCK_FILE: clock } };
}
export function later(server, ms) {
    const clock = path.join(server.dir, 'clock');
    fs.writeFileSync(clock + '.new', String(Number(fs.readFileSync(clock, 'utf8')) + ms));
    fs.renameSync(clock + '.new', clock);
}
export const DAY = 24 * 3600 * 1000;

// The one question of a turn.
export async function ask(door, tool) {
    await door.say(TOOLS[tool].ask);
    check(door.asked.length === 1 && door.asked[0].tool === tool, `one question about ${tool}: ${JSON.stringify(door.asked)}`);
    return door.asked[0];
}

// After a yes: what a browser does if it is its turn, until the run is over.
export async function finish(door, tool) {
    if (TOOLS[tool].client) {
        check(door.offered.length === 1, `the call is offered: ${door.offered}`);
        await door.result(door.offered[0], TOOLS[tool].result);
    }
    const t = await settled(door.server, door.thread);
    check(t.state === 'idle', `idle: ${t.state}`);
    return t;
}

// The ledger line is the proof for a payment; for a browser's tool it is the record of the approval.
export async function executed(server, q, tool) {
    const a = (await server.get(`/v1/approvals/${q.id}`)).json;
    const lines = server.ledger().filter((l) => l.call_id === q.call).length;
    check(lines <= 1, `one line for one call: ${lines}`);
    if (tool === 'process_payment') check((lines === 1) === (a.status === 'done'), `ledger and record agree: ${lines} ${a.status}`);
    return a;
}
export { refused };
