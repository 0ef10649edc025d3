// openai.mjs -- clients of OpenAI's shapes: Responses (streamed, whole, in the background, continued, retried) and chat programs
// that send all that was said each time, go back in it, and answer questions by items or in words.
import { at } from '../chance.mjs';
import { events } from '../client.mjs';
import { THREADS, reading, words } from '../habits.mjs';

export const OPS = { responses: 5, item: 4, fetch: 1.5, completions: 6, reply: 4 };

export const draw = {
    responses: (c, who, t) => ({ form: c.pick(['stream', 'stream', 'whole', 'background']), thread: c.pick(['new', 'previous', 'previous', c.int(THREADS)]), which: c.maybe(0.6) ? 0.999999 : c.share(), asks: c.pick(['', '', 'mcp', 'always', 'own']), ...words(c, who, t), read: reading(c),
        ...(c.maybe(0.35) && { key: c.maybe(0.3) ? c.int(4) : -1 }), ...(c.maybe(0.12) && { store: false }), ...(c.maybe(0.12) && { functions: c.pick(['look_up', 'pay', 'note']) }) }),
    item: (c) => ({ which: c.share(), yes: c.maybe(0.8), own: c.maybe(0.3), form: c.pick(['stream', 'whole']), read: reading(c), ...(c.maybe(0.15) && { odd: c.pick(['true', 1, null]) }), ...(c.maybe(0.15) && { twice: true }) }),
    fetch: (c) => ({ what: c.pick(['get', 'stream', 'after', 'cancel', 'delete', 'input_items', 'conversation', 'models']), which: c.share(), number: c.int(40), read: reading(c) }),
    completions: (c, who, t) => ({ chat: c.maybe(0.4) ? null : c.share(), back: c.maybe(0.2) ? c.between(1, 2) : 0, stream: c.maybe(0.6), ...words(c, who, t), read: reading(c), ...(c.maybe(0.25) && { key: -1 }), ...(c.maybe(0.1) && { functions: c.pick(['look_up', 'pay', 'note']) }) }),
    reply: (c) => ({ chat: c.share(), which: c.share(), say: c.weighted({ yes: 6, no: 1, but: 1, wrong: 1, bare: 0.5, foreign: 1 }), stream: c.maybe(0.5), read: reading(c) }),
};

const TOOLS = { mcp: [{ type: 'mcp', server_label: 'parley' }], always: [{ type: 'mcp', server_label: 'parley', require_approval: 'always' }], own: [{ type: 'parley:approvals' }] };
const model = (op) => (op.page ? `parley/${op.page}` : 'parley');
// What ends with its connection is made anew when its client left it and comes back.
const retries = (actor, op, stored) => (op.key === undefined ? {} : { headers: { 'idempotency-key': op.key < 0 ? `ik-${op.n}` : `ik-${actor.who}-${op.key}` }, same: (r) => op.key < 0 && (stored || !!r.whole) });
const functions = (name) => ({ type: 'function', name, description: 'Of the client.', parameters: { type: 'object', properties: {} } });
const memory = (map, who) => map.get(who) ?? map.set(who, []).get(who);

// The words of a chat's answer, however they came; undefined: it was not heard to its end.
function answer(r, stream) {
    if (r.status !== 200 || !r.whole) return undefined;
    return stream ? events(r.text).map((e) => e.data.choices?.[0]?.delta?.content ?? '').join('') : r.json?.choices?.[0]?.message?.content ?? '';
}
// A question in words names its code and, with its link, itself.
const asks = (text) => [...text.matchAll(/`yes (\d{4})`.*?\/a\/(confirmation-[\w-]+)/g)].map(([, code, id]) => ({ code, id }));
function retained(actor, r) {
    const id = /"id":\s*"(resp_[\w-]+)"/.exec(r.text)?.[1], list = memory(actor.scene.responses, actor.who);
    if (r.status === 200 && id && !list.some((x) => x.id === id)) list.push({ id, thread: r.headers['parley-thread'] });
}
async function chat(actor, op, who, messages, more = {}) {
    const body = { model: model(op), messages, stream: op.stream, ...(op.functions && { tools: [{ type: 'function', function: functions(op.functions) }] }) };
    const r = await actor.deliver(op, '/v1/chat/completions', body, undefined, { unlisted: true, as: who, ...retries(actor, op, false), ...more }), text = answer(r, op.stream);
    if (text !== undefined && who === actor.who) memory(actor.scene.chats, who).push({ messages: [...messages, { role: 'assistant', content: text }], asks: asks(text) });
    return actor.summary(r);
}

export const perform = {
    async responses(actor, op) {
        const { scene, who, world } = actor, before = op.thread === 'previous' ? at(memory(scene.responses, who), op.which) : undefined, thread = typeof op.thread === 'number' ? scene.thread(who, op.thread) : undefined;
        world.model.script(op.n, op.script);
        scene.opThread.set(op.n, { who, thread: thread ?? before?.thread });
        const body = { model: model(op), input: op.n % 2 ? actor.text(op) : [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: actor.text(op) }] }], ...(op.form === 'stream' && { stream: true }), ...(op.form === 'background' && { background: true }),
            ...(op.store === false && op.form !== 'background' && { store: false }), ...(before && { previous_response_id: before.id }), ...(thread && { conversation: thread }), ...((op.asks || op.functions) && { tools: [...(TOOLS[op.asks] ?? []), ...(op.functions ? [functions(op.functions)] : [])] }) };
        const r = await actor.deliver(op, '/v1/responses', body, thread, retries(actor, op, op.store !== false));
        retained(actor, r);
        return actor.summary(r);
    },
    async item(actor, op) {
        const q = actor.world.options.absent ? undefined : at(await actor.asked(actor.who), op.which), { scene, who } = actor;
        if (!q) return { status: 'nothing' };
        const approve = op.odd === undefined ? op.yes : op.odd;
        if (approve === true) scene.sayYes(q, who, op.n);
        const item = op.own ? { type: 'parley:approval_response', approval_request_id: q.id, approve } : { type: 'mcp_approval_response', approval_request_id: q.id, approve };
        const one = () => actor.send('POST', '/v1/responses', { model: 'parley', input: [item], stream: op.form === 'stream' }, op.read);
        const [r] = await Promise.all([one(), ...(op.twice ? [one()] : [])]);
        scene.saidYes(q.id, op.n);
        retained(actor, r);
        return { status: r.status, note: r.json?.error?.code, id: q.id, tool: q.tool };
    },
    async fetch(actor, op) {
        const x = at(memory(actor.scene.responses, actor.who), op.which), path = `/v1/responses/${x?.id ?? 'resp_x'}`;
        const [method, where] = { get: ['GET', path], stream: ['GET', `${path}?stream=true`], after: ['GET', `${path}?stream=true&starting_after=${op.number}`], cancel: ['POST', `${path}/cancel`], delete: ['DELETE', path], input_items: ['GET', `${path}/input_items`],
            conversation: ['GET', `/v1/conversations/${x?.thread ?? 'x'}`], models: ['GET', '/v1/models'] }[op.what];
        const r = await actor.send(method, where, method === 'POST' ? {} : undefined, op.read);
        return { status: r.status, note: r.json?.error?.code };
    },
    async completions(actor, op) {
        const { scene, who, world } = actor, old = op.chat === null ? [] : at(memory(scene.chats, who), op.chat)?.messages ?? [];
        world.model.script(op.n, op.script);
        scene.opThread.set(op.n, { who });
        return chat(actor, op, who, [...old.slice(0, Math.max(0, old.length - 2 * op.back)), { role: 'user', content: actor.text(op) }]);
    },
    // In words: what is a yes and nothing else, what only looks like one, and what somebody else says who saw the code.
    async reply(actor, op) {
        const { scene, who, world } = actor, talk = at(memory(scene.chats, who).filter((x) => x.asks.length), op.chat), a = talk && at(talk.asks, op.which);
        if (!a || world.options.absent) return { status: 'nothing' };
        const q = (await actor.send('GET', `/v1/approvals/${a.id}`)).json, wrong = String((Number(a.code) + 1) % 10000).padStart(4, '0');
        if (op.say === 'yes' && q?.status === 'pending') scene.sayYes(q, who, op.n);
        const content = { yes: `yes ${a.code}`, foreign: `yes ${a.code}`, no: `no ${a.code} not now`, but: `yes ${a.code} but only 20`, wrong: `yes ${wrong}`, bare: 'yes' }[op.say];
        const result = await chat(actor, op, op.say === 'foreign' ? (who === 'ada' ? 'bob' : 'ada') : who, [...talk.messages, { role: 'user', content }]);
        scene.saidYes(a.id, op.n);
        return { ...result, id: a.id, tool: q?.tool };
    },
};
