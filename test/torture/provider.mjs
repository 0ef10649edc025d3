// provider.mjs -- what the real services answer with 400. Each rule is one of their own error messages, in short.
// complaints(): the first thing wrong with a request's tools, and the first with its messages.
const NAME = { anthropic: /^[a-zA-Z0-9_-]{1,128}$/, openai: /^[a-zA-Z0-9_-]{1,64}$/, gemini: /^[a-zA-Z_][a-zA-Z0-9_.-]{0,63}$/ };
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;
const PICTURES = { anthropic: ['image/jpeg', 'image/png', 'image/gif', 'image/webp'], openai: ['image/jpeg', 'image/png', 'image/gif', 'image/webp'],
    gemini: ['image/jpeg', 'image/png', 'image/webp', 'image/heic', 'image/heif', 'application/pdf', 'text/plain', 'audio/mpeg', 'audio/wav', 'video/mp4'] };
const isObject = (v) => v !== null && typeof v === 'object' && !Array.isArray(v);
const blank = (s) => typeof s !== 'string' || s.trim() === '';

class Bad extends Error {}
const must = (ok, what) => { if (!ok) throw new Bad(what); };

function tool(wire, name, schema) {
    must(NAME[wire].test(name), `a tool's name: ${JSON.stringify(name).slice(0, 80)}`);
    if (schema === undefined && wire !== 'anthropic') return;
    must(isObject(schema), `the schema of ${name} is no object`);
    must(schema.type === 'object' || (wire === 'gemini' && schema.type === 'OBJECT'), `the schema of ${name} has no type object`);
    if (wire !== 'gemini') for (const k of ['anyOf', 'oneOf', 'allOf']) must(!(k in schema), `the schema of ${name} has ${k} at its top`);
    if (wire === 'openai') must(isObject(schema.properties), `the schema of ${name} has no properties`);
}

function picture(wire, type, data) {
    must(PICTURES[wire].includes(type), `a file of type ${type}`);
    must(BASE64.test(data), `a file that is no base64 (${type})`);
}

const TOOLS = {
    anthropic: (b) => (b.tools ?? []).map((t) => [t.name, t.input_schema]),
    openai: (b) => (b.tools ?? []).map((t) => [t.function.name, t.function.parameters]),
    gemini: (b) => (b.tools ?? []).flatMap((t) => (t.functionDeclarations ?? []).map((f) => [f.name, f.parameters ?? f.parametersJsonSchema])),
};
function tools(wire, b) {
    const list = TOOLS[wire](b);
    for (const [name, schema] of list) tool(wire, name, schema);
    must(new Set(list.map(([name]) => name)).size === list.length, 'two tools of one name');
}

function anthropic(b) {
    must(b.messages.length, 'no messages');
    must(b.messages[0].role === 'user', 'the first message is not the user\'s');
    must(b.messages.at(-1).role === 'user', 'the last message is the assistant\'s (prefill)');
    if (b.thinking?.budget_tokens) must(b.thinking.budget_tokens < b.max_tokens, 'max_tokens is not above the thinking budget');
    b.messages.forEach((m, i) => {
        must(m.content.length, 'a message without content');
        const uses = i && b.messages[i - 1].role === 'assistant' ? b.messages[i - 1].content.filter((x) => x.type === 'tool_use').map((x) => x.id) : [];
        const results = m.content.filter((x) => x.type === 'tool_result').map((x) => x.tool_use_id);
        must(new Set(results).size === results.length, 'two results for one tool_use');
        for (const id of uses) must(results.includes(id), 'a tool_use without its tool_result in the next message');
        for (const id of results) must(uses.includes(id), 'a tool_result without its tool_use in the message before');
        for (const x of m.content) block(x, m.role);
        const ids = m.content.filter((x) => x.type === 'tool_use').map((x) => x.id);
        must(new Set(ids).size === ids.length, 'tool_use ids are not unique');
    });
    must(!b.messages.at(-1).content.some((x) => x.type === 'tool_use'), 'a tool_use at the end');
}
function block(x, role) {
    if (x.type === 'text') must(!blank(x.text), 'a text block without a visible character');
    else if (x.type === 'tool_use') { must(role === 'assistant' && isObject(x.input), 'the input of a tool_use is no object'); must(/^[a-zA-Z0-9_-]+$/.test(x.id), 'the id of a tool_use'); must(NAME.anthropic.test(x.name), `the name of a tool_use: ${JSON.stringify(x.name)}`); }
    else if (x.type === 'tool_result') must(typeof x.content === 'string' ? x.content !== '' : true, 'an empty tool_result');
    else if (x.type === 'thinking') must(typeof x.signature === 'string' && x.signature !== '', 'thinking without a signature');
    else if (x.type === 'image' && x.source.type === 'base64') picture('anthropic', x.source.media_type, x.source.data);
    else if (x.type === 'image') must(/^https?:/.test(x.source.url), `the address of a picture: ${String(x.source.url).slice(0, 40)}`);
}

function openai(b) {
    let open = [];
    for (const m of b.messages) {
        if (m.role === 'tool') { must(open.includes(m.tool_call_id), 'a tool message without its call'); open = open.filter((x) => x !== m.tool_call_id); continue; }
        must(!open.length, 'calls without an answer');
        if (m.role === 'assistant') {
            must(m.content || m.tool_calls?.length, 'an assistant message without content and calls');
            open = (m.tool_calls ?? []).map((c) => c.id);
            must(new Set(open).size === open.length, 'tool call ids are not unique');
            for (const c of m.tool_calls ?? []) must(NAME.openai.test(c.function.name) && typeof c.function.arguments === 'string', `the name of a call: ${JSON.stringify(c.function.name)}`);
        }
        if (Array.isArray(m.content)) for (const p of m.content) if (p.type === 'image_url' && !/^https?:/.test(p.image_url.url)) {
            const [, type, data] = /^data:([^;,]*);base64,(.*)$/s.exec(p.image_url.url) ?? [];
            must(type, `the address of a picture: ${p.image_url.url.slice(0, 40)}`);
            picture('openai', type, data);
        }
    }
    must(!open.length, 'calls without an answer at the end');
    must(b.messages.some((m) => m.role === 'user'), 'no user message');
}

function gemini(b, unsigned) {
    must(b.contents.length, 'no contents');
    const turn = b.contents.findLastIndex((c) => c.role === 'user' && c.parts.some((p) => 'text' in p));
    b.contents.forEach((c, i) => {
        must(c.parts.length, 'a content without parts');
        const calls = c.parts.filter((p) => p.functionCall), before = i ? b.contents[i - 1].parts.filter((p) => p.functionCall).length : 0;
        const answers = c.parts.filter((p) => p.functionResponse).length;
        must(!answers || answers === before, 'function responses that do not match the calls before them');
        must(!before || answers, 'calls without their responses');
        if (calls.length) must(i && b.contents[i - 1].role === 'user', 'calls that do not follow a user turn or a function response');
        if (calls.length && i > turn) must(calls[0].thoughtSignature || unsigned.has(calls[0].functionCall.id), 'a call of this turn without its signature');
        for (const p of calls) must(NAME.gemini.test(p.functionCall.name) && (p.functionCall.args === undefined || isObject(p.functionCall.args)), `a call: ${JSON.stringify(p.functionCall.name)}`);
        for (const p of c.parts) if (p.inlineData) picture('gemini', p.inlineData.mimeType, p.inlineData.data);
        for (const p of c.parts) must(Object.keys(p).length, 'an empty part');
    });
}

const RULES = { anthropic, openai, gemini };
function first(check) {
    try { check(); } catch (e) { return e instanceof Bad ? e.message : `it could not be read: ${e.message}`; }
    return undefined;
}
export function complaints(wire, body, unsigned) { return [first(() => tools(wire, body)), first(() => RULES[wire](body, unsigned))].filter(Boolean); }
