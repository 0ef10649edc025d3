// upstream.mjs -- the scripted model service (test/upstream) as a live test sees it:
// started on a free port, one configuration per wire, and the requests it got in one
// form, whatever the wire: [{role, texts, thoughts, calls, results, files}].
import path from 'node:path';
import { BIN, Program, check, request, same } from './lib.mjs';

export const KEY = 'sk-live-test-key-0123456789';
const SECRETS = [KEY, 'sk-secret', "the provider's own words"];

export const WIRES = ['anthropic', 'openai', 'gemini'];
const BASE = { anthropic: '', openai: '/v1', gemini: '/v1beta' };

export async function startUpstream(t) {
    const up = new Upstream(path.join(path.dirname(BIN), 'upstream'), ['0']).spawn();
    t.defer(() => up.kill());
    up.port = Number((await up.says(/^(\d+)\n/, 'the scripted service'))[1]);
    return up;
}

class Upstream extends Program {
    model(wire, more = {}) {
        return { provider: wire, model: 'm', api_key: 'env:TEST_MODEL_KEY', base_url: `http://127.0.0.1:${this.port}${BASE[wire]}`, ...more };
    }
    // Bodies as they came: {path, key, body}.
    async requests() { return (await request(this, 'GET', '/requests')).json; }
    async forget() { await request(this, 'DELETE', '/requests'); }
    async stats() { return (await request(this, 'GET', '/stats')).json; }
    // Answers of the scenarios held-N stop half way until this is asked for: what a test says about an answer under way does
    // not depend on who is faster.
    async go() { await request(this, 'GET', '/go'); }
}

// A server whose model is the scripted service on this wire.
export function serveModel(t, up, wire, { model, config, env, ...more } = {}) {
    return t.serve({ ...more, env: { TEST_MODEL_KEY: KEY, ...env },
        config: { system: 'You are the test.', demo: { tools: true }, model: up.model(wire, { retries: 0, ...model }), ...config } });
}

// No key leaves by any way there is, and nothing the provider said but into the log.
export async function keepsSecrets(server, thread, ...streams) {
    const places = { log: server.err, output: server.out };
    streams.forEach((s, i) => { places[`stream ${i}`] = typeof s === 'string' ? s : s.text; });
    if (thread) places.thread = (await server.get(`/v1/threads/${thread}`)).text;
    for (const [where, text] of Object.entries(places)) for (const s of where === 'log' ? SECRETS.slice(0, 2) : SECRETS) check(!text.includes(s), `${where} has "${s}": ${text.slice(Math.max(0, text.indexOf(s) - 200), text.indexOf(s) + 100)}`);
}

// --- bodies ---------------------------------------------------------------------------------

const clear = (role) => ({ role, texts: [], thoughts: [], calls: [], results: [], files: [] });

function fromAnthropic(m) {
    const out = clear(m.role);
    for (const b of typeof m.content === 'string' ? [{ type: 'text', text: m.content }] : m.content) {
        if (b.type === 'text') out.texts.push(b.text);
        else if (b.type === 'thinking') out.thoughts.push({ text: b.thinking, signature: b.signature });
        else if (b.type === 'tool_use') out.calls.push({ id: b.id, name: b.name, input: b.input });
        else if (b.type === 'tool_result') out.results.push({ id: b.tool_use_id, text: b.content, error: !!b.is_error });
        else if (b.type === 'image') out.files.push({ type: b.source.media_type, data: b.source.data });
        else throw new Error(`a block nobody knows: ${JSON.stringify(b)}`);
    }
    return out;
}

function fromOpenai(m) {
    const out = clear(m.role === 'tool' ? 'user' : m.role);
    if (m.role === 'tool') out.results.push({ id: m.tool_call_id, text: m.content });
    else if (typeof m.content === 'string') out.texts.push(m.content);
    else for (const p of m.content ?? []) {
        if (p.type === 'text') out.texts.push(p.text);
        else if (p.type === 'image_url') { const [, type, data] = /^data:([^;]+);base64,(.*)$/.exec(p.image_url.url); out.files.push({ type, data }); }
        else throw new Error(`a part nobody knows: ${JSON.stringify(p)}`);
    }
    for (const c of m.tool_calls ?? []) out.calls.push({ id: c.id, name: c.function.name, input: JSON.parse(c.function.arguments) });
    return out;
}

function fromGemini(m) {
    const out = clear(m.role === 'model' ? 'assistant' : m.role);
    for (const p of m.parts) {
        if (p.functionCall) out.calls.push({ id: p.functionCall.id, name: p.functionCall.name, input: p.functionCall.args, ...(p.thoughtSignature && { signature: p.thoughtSignature }) });
        else if (p.functionResponse) out.results.push({ id: p.functionResponse.id, name: p.functionResponse.name, text: JSON.stringify(p.functionResponse.response) });
        else if (p.inlineData) out.files.push({ type: p.inlineData.mimeType, data: p.inlineData.data });
        else if (p.thought) out.thoughts.push({ text: p.text });
        else if ('text' in p) out.texts.push(p.text);
        else throw new Error(`a part nobody knows: ${JSON.stringify(p)}`);
    }
    return out;
}

const READERS = { anthropic: [(b) => b.messages, fromAnthropic], openai: [(b) => b.messages.filter((m) => m.role !== 'system' && m.role !== 'developer'), fromOpenai], gemini: [(b) => b.contents, fromGemini] };

// One form for all wires; results in messages of their own (OpenAI) become one message.
export function readBody(wire, body) {
    const [list, read] = READERS[wire], out = [];
    for (const m of list(body).map(read)) {
        const last = out.at(-1);
        if (last && last.role === 'user' && last.results.length && m.results.length) last.results.push(...m.results);
        else out.push(m);
    }
    return out;
}

export const systemOf = {
    anthropic: (b) => (typeof b.system === 'string' ? b.system : b.system.map((x) => x.text).join('')),
    openai: (b) => b.messages[0].content,
    gemini: (b) => b.systemInstruction.parts.map((p) => p.text).join(''),
};
export const toolNames = {
    anthropic: (b) => (b.tools ?? []).map((x) => x.name),
    openai: (b) => (b.tools ?? []).map((x) => x.function.name),
    gemini: (b) => (b.tools ?? []).flatMap((x) => x.functionDeclarations.map((f) => f.name)),
};
export const mayCall = {
    anthropic: (b) => !!b.tools && b.tool_choice?.type !== 'none',
    openai: (b) => !!b.tools && b.tool_choice !== 'none',
    gemini: (b) => !!b.tools && b.toolConfig?.functionCallingConfig?.mode !== 'NONE',
};
// The provider's own ids, as the scripted service makes them.
export const ID = { anthropic: /^toolu_\d+$/, openai: /^call_\d+$/, gemini: /^fc\d+$/ };

// What is true of every history we send: each call answered once, in its order, by the provider's own
// id; and nothing of how we show it to people.
export function soundBody(wire, { body, key }) {
    const messages = readBody(wire, body), whole = JSON.stringify(body);
    check(key.includes(KEY), 'the key travels in its header');
    check(!/\[\[tool:\d/.test(whole), `no markers: ${whole}`);
    check(!/confirmation|approv/i.test(JSON.stringify(messages)), `no approval chatter: ${whole}`);
    messages.forEach((m, i) => {
        if (m.results.length) same(m.results.map((r) => r.id), messages[i - 1].calls.map((c) => c.id), 'results in the order of the calls');
        else if (i && messages[i - 1].calls.length) throw new Error(`calls without results: ${whole}`);
        for (const c of m.calls) {
            check(ID[wire].test(c.id), `the provider's id: ${c.id}`);
            check(!('confirmed' in c.input), 'the input is the model\'s');
        }
    });
    if (wire === 'gemini') for (const m of messages) if (m.calls.length) same(m.calls.map((c) => c.signature), ['c2lnLWc=', ...m.calls.slice(1).map(() => undefined)], 'signatures');
    if (wire === 'anthropic') for (const m of messages) for (const x of m.thoughts) same(x, { text: 'Let me see.', signature: 'c2lnLWE=' }, 'a thought');
    if (wire === 'openai') for (const m of messages) same(m.thoughts, [], 'thoughts are not sent back');
    same(systemOf[wire](body), 'You are the test.', 'the system prompt');
    return messages;
}
