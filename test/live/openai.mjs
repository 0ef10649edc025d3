// openai.mjs -- clients of OpenAI's shapes, as the tests drive them: Responses and Chat Completions.
import { check, same } from './lib.mjs';

export const KNOWN = new Set(['response.created', 'response.in_progress', 'response.completed', 'response.failed', 'response.incomplete',
    'response.output_item.added', 'response.output_item.done', 'response.content_part.added', 'response.content_part.done',
    'response.output_text.delta', 'response.output_text.done', 'response.function_call_arguments.delta', 'response.function_call_arguments.done',
    'response.mcp_call.in_progress', 'response.mcp_call.completed', 'response.mcp_call.failed', 'response.mcp_call_arguments.delta', 'response.mcp_call_arguments.done',
    'response.reasoning_summary_part.added', 'response.reasoning_summary_part.done', 'response.reasoning_summary_text.delta', 'response.reasoning_summary_text.done']);

// What a response and its items are made of: all members, always, each of its kind; null only where that is said. A shape is a
// predicate, a value, or an object of shapes.
const text = (v) => typeof v === 'string', int = Number.isInteger, number = (v) => typeof v === 'number', flag = (v) => typeof v === 'boolean';
const object = (v) => typeof v === 'object' && v !== null && !Array.isArray(v);
const fits = (shape, v) => !misfit(shape, v);
const or = (...shapes) => (v) => shapes.some((s) => fits(s, v));
const maybe = (shape) => or(null, shape), list = (shape) => (v) => Array.isArray(v) && v.every((x) => fits(shape, x));
function misfit(shape, v, at = '') {
    if (typeof shape === 'function') return shape(v) ? undefined : `${at} is ${JSON.stringify(v)}`;
    if (!object(shape)) return shape === v ? undefined : `${at} is ${JSON.stringify(v)} and not ${JSON.stringify(shape)}`;
    if (!object(v)) return `${at} is no object: ${JSON.stringify(v)}`;
    for (const [name, inner] of Object.entries(shape)) {
        const wrong = name in v ? misfit(inner, v[name], `${at}.${name}`) : `${at}.${name} is missing`;
        if (wrong) return wrong;
    }
    return undefined;
}

const STATUS = or('in_progress', 'completed', 'incomplete', 'failed'), NAMED = { name: text, arguments: text };
const RAN = { ...NAMED, id: text, status: STATUS, output: maybe(text), error: maybe(object), approval_request_id: maybe(text) };
const ITEMS = {
    message: { id: text, status: STATUS, role: 'assistant', content: list({ type: 'output_text', text, annotations: list(object), logprobs: list(object) }) },
    reasoning: { id: text, summary: list({ type: 'summary_text', text }) },
    function_call: { ...NAMED, id: text, call_id: text, status: STATUS },
    mcp_call: { ...RAN, server_label: text },
    mcp_approval_request: { ...NAMED, id: text, server_label: text },
    'parley:tool_call': { ...RAN, call_id: text },
    'parley:approval_request': { ...NAMED, id: text, status: 'completed', call_id: text, ask: text, risk: maybe(text), expires_at: maybe((v) => !Number.isNaN(Date.parse(v)) && text(v)),
        arguments_sha256: text, url: text, decision: null },
};
const RESPONSE = {
    id: (v) => /^resp_[\w-]{22}$/.test(v), object: 'response', created_at: int, completed_at: maybe(int), status: or('in_progress', 'completed', 'failed', 'incomplete', 'cancelled'),
    incomplete_details: maybe({ reason: text }), model: text, previous_response_id: maybe(text), instructions: maybe(text), output: Array.isArray,
    error: maybe({ type: text, code: text, message: text, param: maybe(text) }),
    tools: list({ type: 'function', name: text, description: maybe(text), parameters: maybe(object), strict: maybe(flag) }), tool_choice: or(text, object),
    usage: maybe({ input_tokens: int, output_tokens: int, total_tokens: int, input_tokens_details: { cached_tokens: int }, output_tokens_details: { reasoning_tokens: int } }),
    max_output_tokens: maybe(int), max_tool_calls: maybe(int), store: flag, background: flag, metadata: (v) => object(v) && Object.values(v).every(text),
    safety_identifier: maybe(text), prompt_cache_key: maybe(text), conversation: { id: text }, truncation: 'disabled', parallel_tool_calls: true,
    text: { format: { type: 'text' } }, top_p: number, temperature: number, presence_penalty: number, frequency_penalty: number, top_logprobs: 0,
    reasoning: { effort: maybe(text), summary: maybe(text) }, service_tier: 'default',
};

export function whole(r) {
    const wrong = misfit(RESPONSE, r, 'response') ?? r.output.map((x, i) => (ITEMS[x.type] ? misfit(ITEMS[x.type], x, `output[${i}]`) : `an item of no known type: ${x.type}`)).find(Boolean);
    check(!wrong, `${wrong}: ${JSON.stringify(r)}`);
    return r;
}

// What holds in every stream of a response, from its beginning: order, pairs, numbers, and that the closing object is the items.
export function sound(events) {
    same(events.at(-1).raw, '[DONE]', 'the end');
    const list = events.slice(0, -1).map((e) => e.data);
    const open = new Map(), done = [];
    let number = -1, next = 0;
    same([list[0].type, list[0].sequence_number, list[1].type], ['response.created', 0, 'response.in_progress'], 'the beginning');
    for (const d of list) {
        check(KNOWN.has(d.type), `a type that stock clients know: ${d.type}`);
        check(d.sequence_number > number, `numbers grow: ${number} then ${JSON.stringify(d)}`);
        number = d.sequence_number;
        if (d.response) whole(d.response);
        if (d.type === 'response.output_item.added') { same(d.output_index, next++, 'the next index'); open.set(d.output_index, { text: '', item: d.item }); }
        else if (d.output_index !== undefined) check(open.has(d.output_index), `an item that is open: ${JSON.stringify(d)}`);
        const x = open.get(d.output_index);
        if (d.item_id) same(d.item_id, x.item.id, 'the item');
        if (/(output_text|arguments|summary_text)\.delta$/.test(d.type)) x.text += d.delta;
        if (d.type === 'response.output_text.done') same(d.text, x.text, 'the text');
        if (/arguments\.done$/.test(d.type)) same(d.arguments, x.text, 'the arguments');
        if (d.type === 'response.output_item.done') { done[d.output_index] = d.item; open.delete(d.output_index); }
    }
    same(open.size, 0, 'items left open');
    const last = list.at(-1);
    check(/^response\.(completed|failed|incomplete)$/.test(last.type), `how it ended: ${last.type}`);
    same(last.response.output, done, 'the closing object and the items');
    return last.response;
}

// The words of a response, and what it asks.
export const textOf = (r) => r.output.filter((x) => x.type === 'message').map((x) => x.content.map((c) => c.text).join('')).join('\n\n');
export const asksOf = (r) => r.output.filter((x) => /approval_request$/.test(x.type));
export const callsOf = (r) => r.output.filter((x) => x.type === 'mcp_call' || x.type === 'parley:tool_call');
export const codeOf = (text) => /`yes (\d{4})`/.exec(text)?.[1];

export async function respond(server, body, headers) {
    const r = await server.post('/v1/responses', body, headers);
    if (r.status !== 200) throw Object.assign(new Error(`${r.status} ${r.text}`), { status: r.status, error: r.json?.error, headers: r.headers });
    return Object.assign(whole(r.json), {});
}

export async function stream(server, body, headers) {
    const s = await server.open('POST', '/v1/responses', { ...body, stream: true }, headers);
    same(s.status, 200, s.text);
    await s.read();
    return { s, response: sound(s.events) };
}

// A chat program: it keeps the messages, and sends all of them each time.
export class Chat {
    constructor(server, { headers, model = 'parley', streams = false, ...more } = {}) {
        Object.assign(this, { server, headers, model, streams, more, messages: [], last: undefined });
    }
    async send() {
        const body = { model: this.model, messages: this.messages, ...this.more };
        if (this.streams) return this.read(body);
        const r = await this.server.post('/v1/chat/completions', body, this.headers);
        if (r.status !== 200) throw Object.assign(new Error(`${r.status} ${r.text}`), { status: r.status, code: r.json?.error?.code, error: r.json?.error });
        this.thread = r.headers['parley-thread'];
        this.last = r.json.choices[0];
        this.messages.push({ role: 'assistant', content: this.last.message.content, ...(this.last.message.tool_calls && { tool_calls: this.last.message.tool_calls }) });
        return this.last;
    }
    async read(body) {
        const s = await this.server.open('POST', '/v1/chat/completions', { ...body, stream: true }, this.headers);
        if (s.status !== 200) throw Object.assign(new Error(`${s.status} ${s.text}`), { status: s.status, code: s.json?.error?.code, error: s.json?.error });
        await s.read();
        this.thread = s.thread;
        const message = { role: 'assistant', content: '', reasoning_content: '' };
        let reason;
        same(s.events.at(-1).raw, '[DONE]', 'the end');
        for (const { data } of s.events.slice(0, -1)) {
            check(data.object === 'chat.completion.chunk' && data.id.startsWith('chatcmpl-'), JSON.stringify(data));
            const c = data.choices[0];
            if (!c) continue;
            message.content += c.delta.content ?? '';
            message.reasoning_content += c.delta.reasoning_content ?? '';
            for (const call of c.delta.tool_calls ?? []) {
                message.tool_calls ??= [];
                const at = message.tool_calls[call.index] ??= { id: call.id, type: 'function', function: { name: call.function.name, arguments: '' } };
                at.function.arguments += call.function.arguments;
            }
            reason = c.finish_reason ?? reason;
        }
        this.last = { message, finish_reason: reason };
        this.messages.push({ role: 'assistant', content: message.content, ...(message.tool_calls && { tool_calls: message.tool_calls }) });
        return this.last;
    }
    say(content) { this.messages.push({ role: 'user', content }); return this.send(); }
    get text() { return this.last.message.content; }
    get code() { return codeOf(this.text); }
}
