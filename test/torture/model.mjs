// model.mjs -- the model service: says the answers of speech.mjs on three wires, and refuses in its books
// what the real providers refuse (`complaints`), so that a thread made unusable is seen.
//
// Which answer is next? The newest "[op N]" among the user's texts names the operation; its answers are said
// one per request. When they are used up, or the world is calm, the model is well-behaved.
import http from 'node:http';
import { meaning } from './ledger.mjs';
import { complaints } from './provider.mjs';

const LOOP = 60;           // requests for one message beyond what a run can need: it is tried for ever

export class Model {
    constructor(world) {
        Object.assign(this, { world, answers: new Map(), asked: new Map(), told: new Map(), requests: 0, log: [], calm: false, hanging: new Set(), spoken: new Map(), busy: new Map(), unsigned: new Set(), words: new Set(['{}']) });
        this.server = http.createServer((q, r) => this.take(q, r).catch(() => r.destroy()));
        this.server.keepAliveTimeout = 60000;
    }
    async open() { await new Promise((yes) => this.server.listen(0, '127.0.0.1', yes)); this.port = this.server.address().port; }
    close() { this.server.close(); this.server.closeAllConnections(); }
    // The answers that a message with [op n] in it gets.
    script(n, answers) { this.answers.set(n, [...(this.answers.get(n) ?? []), ...answers]); }
    // How often it asked for a call with these arguments (of tools that do not hear our call id).
    spokenOf(raw) { return this.spoken.get(raw) ?? 0; }
    // What it has said for that message, to be said again.
    heard(n) { return this.told.get(n) ?? []; }
    rest(calm) { this.calm = calm; if (calm) for (const r of this.hanging) r.destroy(); }

    async take(q, r) {
        const chunks = [];
        for await (const c of q) chunks.push(c);
        const wire = /messages$/.test(q.url) ? 'anthropic' : /completions$/.test(q.url) ? 'openai' : 'gemini';
        const text = Buffer.concat(chunks).toString('utf8');
        let body;
        try { body = JSON.parse(text); } catch (e) { return this.world.violation('provider', `${wire}: a request that is no JSON: ${q.method} ${q.url}, ${text.length} of ${q.headers['content-length']} characters: ${e.message}; ${text.slice(0, 100)} ... ${text.slice(-100)}`, { key: `${wire} no JSON` }); }
        this.requests++;
        const n = Number([...texts(wire, body).matchAll(/\[op (\d+)\]/g)].at(-1)?.[1] ?? -1);
        const count = (this.asked.get(n) ?? 0) + 1;
        this.asked.set(n, count);
        if (count === LOOP) this.world.violation('loop', `the model was asked ${LOOP} times for one message`, { n });
        this.log.push({ n, at: Date.now(), who: this.world.ownerOf?.(n) });
        this.limits(n, r);
        for (const trouble of complaints(wire, body, this.unsigned)) this.world.violation('provider', `${wire}: ${trouble}`, { n, key: trouble.replace(/\d+/g, '#') });
        const left = this.calm ? [] : this.answers.get(n) ?? [], answer = left[0];
        if (answer && !answer.stay) left.shift();
        if (answer && !answer.status) this.told.set(n, [...this.heard(n), answer].slice(-4));
        if (answer?.stay) r.on('finish', () => { if (left[0] === answer) left.shift(); });          // it was heard to its end
        await this.say(wire, r, answer ?? { parts: [{ text: `Done with op ${n}.` }] });
    }

    // Never more requests at once than runs are allowed; one more may be on its way out.
    limits(n, r) {
        const { runs, allRuns } = this.world.options, who = this.world.ownerOf?.(n) ?? '?';
        this.busy.set(r, who);
        r.on('close', () => this.busy.delete(r));
        const his = [...this.busy.values()].filter((w) => w === who).length;
        if (runs && who !== '?' && his > runs + 1) this.world.violation('limits', `${his} model requests at once for ${who}, who may have ${runs} runs`, { n, key: 'person' });
        if (allRuns && this.busy.size > allRuns + 2) this.world.violation('limits', `${this.busy.size} model requests at once, where ${allRuns} runs are allowed`, { n, key: 'all' });
    }

    async say(wire, r, a) {
        if (a.status) return refuse(wire, r, a);
        for (const p of a.parts) if ('call' in p) this.words.add(meaning(input(p)));
        for (const p of a.parts) if (p.call?.includes('__') && p.args) this.spoken.set(p.args, (this.spoken.get(p.args) ?? 0) + 1);
        r.writeHead(200, { 'content-type': 'text/event-stream' });
        for (const event of WIRES[wire](a, this)) {
            if (a.pause && !this.calm) await new Promise((yes) => setTimeout(yes, a.pause));
            if (r.destroyed) return;
            r.write(event);
        }
        if (a.end === 'cut') return r.destroy();
        if (a.end === 'hang' && !this.calm) { this.hanging.add(r); r.on('close', () => this.hanging.delete(r)); return; }
        r.end();
    }
}

function refuse(wire, r, a) {
    const headers = { 'content-type': 'application/json', ...(a.retry && { 'retry-after': a.retry }), ...(a.status === 302 && { location: '/elsewhere' }) };
    const type = { 400: 'invalid_request_error', 401: 'authentication_error', 429: 'rate_limit_error', 529: 'overloaded_error' }[a.status] ?? 'api_error';
    r.writeHead(a.status, headers).end(a.status === 200 ? '{}' : JSON.stringify({ type: 'error', error: { type, code: a.status, status: 'X', message: 'no' } }));
}

// All texts of the user, oldest first.
function texts(wire, body) {
    const list = (wire === 'gemini' ? body.contents : body.messages) ?? [];
    return list.filter((m) => m.role === 'user').map((m) => (typeof m.content === 'string' ? m.content
        : (m.content ?? m.parts ?? []).map((p) => (p.functionResponse || p.type === 'tool_result' ? '' : p.text ?? '')).join(''))).join('\n');
}

// --- the wires -----------------------------------------------------------------------------------

const big = (n) => Array.from({ length: Math.ceil(n / 20) }, (_, i) => `word ${i} and more. `).join('').slice(0, n);
const input = (p) => p.args ?? (p.deep ? `{"amount":${'['.repeat(p.deep)}${']'.repeat(p.deep)}}` : `{"amount":50,"to":"${'x'.repeat(p.big)}"}`);
const words = (p) => p.text ?? big(p.big);
function pieces(s, n = 1) {
    const all = [...s], size = Math.max(1, Math.ceil(all.length / n)), out = [];
    for (let i = 0; i < all.length; i += size) out.push(all.slice(i, i + size).join(''));
    return out.length ? out : [''];
}
let made = 0;
const idOf = (p) => p.id ?? `toolu_${++made}`;
// What belongs to one part stays in order; with `mix` the parts' pieces take turns.
function woven(lists, mix) {
    if (!mix) return lists.flat();
    const out = [];
    for (const queues = lists.map((l) => [...l]); queues.some((q) => q.length);) for (const q of queues) if (q.length) out.push(q.shift());
    return out;
}

const STOPS = {
    anthropic: { length: 'max_tokens', refusal: 'refusal', stop: 'end_turn', calls: 'tool_use', strange: 'whatever' },
    openai: { length: 'length', refusal: 'content_filter', stop: 'stop', calls: 'tool_calls', strange: 'whatever' },
    gemini: { length: 'MAX_TOKENS', refusal: 'SAFETY', stop: 'STOP', calls: 'STOP', strange: 'OTHER' },
};
const stopOf = (wire, a) => (a.stop === null ? null : STOPS[wire][a.stop ?? (a.parts.some((p) => 'call' in p) ? 'calls' : 'stop')]);

function anthropic(a) {
    const e = (type, more) => `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`;
    const usage = 'usage' in a ? a.usage : { input_tokens: 10, output_tokens: 5 };
    const blocks = a.parts.map((p, index) => {
        const start = (b) => e('content_block_start', { index, content_block: b }), delta = (d) => e('content_block_delta', { index, delta: d }), stop = e('content_block_stop', { index });
        if ('call' in p) return [start({ type: 'tool_use', id: idOf(p), name: p.call, input: {} }), ...pieces(input(p), p.cut).map((s) => delta({ type: 'input_json_delta', partial_json: s })), ...(p.open ? [] : [stop])];
        if ('think' in p) return [start({ type: 'thinking', thinking: '' }), delta({ type: 'thinking_delta', thinking: p.think }), ...(p.sig === undefined ? [] : [delta({ type: 'signature_delta', signature: p.sig })]), stop];
        return [start({ type: 'text', text: '' }), ...pieces(words(p), 3).map((s) => delta({ type: 'text_delta', text: s })), stop];
    });
    const out = [e('message_start', { message: { id: 'msg', role: 'assistant', content: [], usage } }), ...woven(blocks, a.mix)];
    if (a.end === 'error') out.push(e('error', { error: { type: 'overloaded_error', message: 'no' } }));
    else if (!['half', 'cut', 'hang'].includes(a.end)) out.push(e('message_delta', { delta: { stop_reason: stopOf('anthropic', a) }, usage }), e('message_stop', {}));
    return out;
}

function openai(a) {
    const e = (o) => `data: ${typeof o === 'string' ? o : JSON.stringify({ id: 'c', object: 'chat.completion.chunk', ...o })}\n\n`;
    const d = (delta, finish_reason = null) => e({ choices: [{ index: 0, delta, finish_reason }] });
    let index = -1;
    const blocks = a.parts.map((p) => {
        if ('call' in p) {
            index++;
            const i = index, [first, ...rest] = pieces(input(p), p.cut);
            return [d({ tool_calls: [{ index: i, id: idOf(p), type: 'function', function: { name: p.call, arguments: first } }] }),
                ...(p.open ? rest.slice(0, -1) : rest).map((s) => d({ tool_calls: [{ index: i, function: { arguments: s } }] }))];
        }
        if ('think' in p) return [d({ reasoning_content: p.think })];
        return pieces(words(p), 3).map((s) => d({ content: s }));
    });
    const out = [d({ role: 'assistant', content: '' }), ...woven(blocks, a.mix)];
    if (a.end === 'error') out.push(e({ error: { message: 'no', code: 500 } }));
    else if (!['half', 'cut', 'hang'].includes(a.end)) out.push(d({}, stopOf('openai', a)), e({ choices: [], usage: 'usage' in a ? a.usage : { prompt_tokens: 10, completion_tokens: 5 } }), e('[DONE]'));
    return out;
}

function gemini(a, model) {
    const e = (parts, finishReason) => `data: {"candidates":[{"content":{"role":"model","parts":[${parts.join(',')}]}${finishReason ? `,"finishReason":"${finishReason}"` : ''}}],"usageMetadata":${JSON.stringify('usage' in a ? a.usage : { promptTokenCount: 10, candidatesTokenCount: 5 })}}\n\n`;
    const json = (s) => { try { JSON.parse(s); return s; } catch { return '{}'; } };
    let signed = false;
    const blocks = a.parts.flatMap((p) => {
        if ('call' in p) {
            // The first call of a step is signed, or never was: then it has an id to be known by (names are spelled anew on the way).
            const first = p.call && !signed, sig = first && !p.open ? ',"thoughtSignature":"c2lnLWc="' : '', id = first && p.open ? p.id || idOf({}) : p.id;
            if (first && p.open) model.unsigned.add(id);
            if (sig) signed = true;
            return [e([`{"functionCall":{"name":${JSON.stringify(p.call)}${id === undefined ? '' : `,"id":${JSON.stringify(id)}`},"args":${json(input(p))}}${sig}}`])];
        }
        if ('think' in p) return [e([JSON.stringify({ text: p.think, thought: true, ...(p.sig !== undefined && { thoughtSignature: p.sig }) })])];
        return pieces(words(p), 3).map((s) => e([JSON.stringify({ text: s })]));
    });
    if (a.end === 'error') blocks.push('data: {"error":{"code":503,"status":"UNAVAILABLE","message":"no"}}\n\n');
    else if (!['half', 'cut', 'hang'].includes(a.end)) blocks.push(e([], stopOf('gemini', a)));
    return blocks;
}

const WIRES = { anthropic, openai, gemini };
