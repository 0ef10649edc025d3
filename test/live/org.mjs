// org.mjs -- people with roles, and a bank that keeps its books: what tests of organisations'
// approvals stand on. The demo model calls `process_payment`; here it is an http tool, so that what
// was really paid is in the bank's own list.
import { createHash, createHmac } from 'node:crypto';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { same, settled } from './lib.mjs';

export const sha256 = (text) => createHash('sha256').update(text).digest('hex');

// {ada: ['user'], fay: ['finance'], ...} as auth.keys; and the headers that show a key.
export const key = (name) => `pk_${name}_0123456789abcdef`;
export const auth = (people) => ({ keys: Object.entries(people).map(([principal, roles]) => ({ sha256: sha256(key(principal)), principal, roles })) });
export const as = (name, more = {}) => (!name || typeof name === 'object' ? { ...name, ...more } : { authorization: `Bearer ${key(name)}`, ...more });

// People whom tokens of a provider let in, with the roles that these name: `auth` is for a configuration,
// person(name, ...roles) stands wherever a name of auth.keys would.
const b64 = (x) => Buffer.from(JSON.stringify(x)).toString('base64url'), SHARED = 'a secret of the two of us, long enough';
export function tokens(dir) {
    const file = path.join(dir, 'provider-secret');
    fs.writeFileSync(file, SHARED + '\n');
    const person = (sub, ...roles) => {
        const input = `${b64({ alg: 'HS256' })}.${b64({ iss: 'https://id', aud: 'parley', sub, roles, exp: Math.floor(Date.now() / 1000) + 3600 })}`;
        return { authorization: `Bearer ${input}.${createHmac('sha256', SHARED).update(input).digest('base64url')}` };
    };
    return { auth: { jwt: { issuer: 'https://id', audience: 'parley', keys_file: file, algorithms: ['HS256'] } }, person };
}
// They were here with these roles, and did nothing.
export const seen = async (server, person) => same((await server.get('/v1/session', person)).status, 200);

// A bank: `books` has every payment that reached it. `reply` may decide otherwise about one.
export async function bank(t, reply = () => undefined) {
    const books = [];
    const server = http.createServer((req, res) => {
        let text = '';
        req.on('data', (d) => { text += d; });
        req.on('end', async () => {
            const body = JSON.parse(text), call = req.headers['idempotency-key'];
            const other = await reply(body, call, res, req);
            if (other === 'nothing') { res.destroy(); return; }
            if (!other || other.paid) books.push({ ...body, call });
            res.writeHead(other?.status ?? 200, { 'content-type': 'application/json' });
            res.end(JSON.stringify(other?.body ?? { paid: body.amount, to: body.recipient, number: books.length }));
        });
    });
    await new Promise((done) => server.listen(0, '127.0.0.1', done));
    t.defer(() => { server.closeAllConnections(); server.close(); });
    return { books, url: `http://127.0.0.1:${server.address().port}/pay` };
}

export const PAYMENT_SCHEMA = { type: 'object', properties: { recipient: { type: 'string' }, amount: { type: 'number', exclusiveMinimum: 0 }, currency: { type: 'string' }, memo: { type: 'string' } }, required: ['recipient', 'amount'] };

// A configuration with that bank's payment as a tool; `tool` is laid over it.
export const payments = (at, tool = {}, more = {}) => ({ actions: {}, demo: { tools: false }, ...more,
    tools: { process_payment: { description: 'Pays.', input_schema: PAYMENT_SCHEMA, http: { url: at.url, allow: ['127.0.0.1'] }, ask: 'Send {amount} {currency} to {recipient}?', ...tool } } });

// Says it and waits until nothing moves; what waits for a person then, and how the calls ended.
export async function say(server, who, message, thread) {
    const s = await (await server.open('POST', '/v1/chat/stream', { message, thread_id: thread }, as(who))).read();
    return { thread: s.thread ?? thread, events: s, ids: s.payload?.awaiting ?? [], history: s.payload?.tool_history ?? [] };
}
export const approvals = async (server, who, query = '') => (await server.get(`/v1/approvals${query}`, as(who))).json.approvals;
export const approval = async (server, who, id) => (await server.get(`/v1/approvals/${id}`, as(who))).json;
export const decide = (server, who, id, confirmed, more = {}) => server.post(`/v1/approvals/${id}`, { confirmed, ...more }, as(who));
export const grants = async (server, who) => (await server.get('/v1/grants', as(who))).json.grants;
export async function still(server, who, thread) {
    const asked = server.get;
    return settled({ get: (at) => asked.call(server, at, as(who)) }, thread);
}

// A model that does as it is told: each request is answered by the next of `steps`, a text, a list
// of [tool, arguments], or an object: {deltas, finish}, {breaks: a text that it ends in the middle of},
// {refuses: a status}; when they are used up, by a word. `heard` has the requests' bodies. It thinks
// for as long as `thinks` says (a promise).
const sse = (v) => `data: ${JSON.stringify(v)}\n\n`;
export async function script(t, ...steps) {
    const heard = [], it = { heard, steps, thinks: undefined };
    const spoken = (step) => (typeof step === 'string' ? [{ content: step }] : step.breaks ? [{ content: step.breaks }] : step.deltas
        ?? step.map(([name, args], index) => ({ tool_calls: [{ index, id: `c${heard.length}_${index}`, function: { name, arguments: typeof args === 'string' ? args : JSON.stringify(args) } }] })));
    const service = http.createServer((req, res) => {
        let text = '';
        req.on('data', (d) => { text += d; });
        req.on('end', async () => {
            heard.push(JSON.parse(text));
            await it.thinks;
            const step = steps.shift() ?? 'As you see.';
            if (step.refuses) {
                res.writeHead(step.refuses, { 'content-type': 'application/json' }).end('{"error":{"message":"see http://internal:99"}}');
                return;
            }
            const words = spoken(step).map((delta) => sse({ choices: [{ delta }] })), finish_reason = step.finish ?? (typeof step === 'string' ? 'stop' : 'tool_calls');
            res.writeHead(200, { 'content-type': 'text/event-stream' });
            if (step.breaks) res.write(words.join(''), () => res.destroy());
            else res.end([...words, sse({ choices: [{ delta: {}, finish_reason }] }), 'data: [DONE]\n\n'].join(''));
        });
    });
    await new Promise((done) => service.listen(0, '127.0.0.1', done));
    t.defer(() => { service.closeAllConnections(); service.close(); });
    return Object.assign(it, { results: () => heard.at(-1).messages.filter((m) => m.role === 'tool').map((m) => m.content),
        model: { provider: 'openai', model: 'm', api_key: 'text:k', base_url: `http://127.0.0.1:${service.address().port}/v1`, retries: 0 } });
}

// --- an office: who may say yes to what, and who is told ----------------------------------------------

export const PAY = (n, to = 'Hanako') => `Send ${n} dollars to ${to}`;
export const PEOPLE = { ada: ['user'], fay: ['finance'], fin: ['finance', 'user'], fox: ['finance'], cleo: ['cfo'], root: ['admin'], both: ['user', 'finance', 'admin'] };
export const RULES = [{ tool: 'process_*', when: { pointer: '/amount', op: '>', value: 1000 }, from: { role: 'finance', count: 2, not_requester: true }, expires: 7200, escalate: [{ after: 1800, to: { role: 'cfo' } }] },
    { tool: '*', from: 'owner' }];
export const office = (t, b, tool = {}, rules = RULES, more = {}) => t.serve({ config: payments(b, tool, { auth: auth(PEOPLE), approvals: { rules } }), ...more });
export const LINKS = { public_url: 'http://127.0.0.1', links: { key: 'text:0123456789abcdef0123456789abcdef' } };
export const BOT = { ...PEOPLE, bot: ['notifier'] };
export const desk = (t, b, more = {}) => t.serve({ config: payments(b, {}, { auth: auth(BOT), approvals: { rules: RULES }, ...LINKS, ...more }) });

// Links: made by whom for whom, where one leads, and a press of one of its buttons.
export const link = (server, who, id, person, more = {}) => server.post(`/v1/approvals/${id}/links`, { for: person, ...more }, as(who));
export const pathOf = (r) => new URL(r.json.url).pathname;
export const press = (server, at, decision, more = '', headers = {}) => server.request('POST', at, `decision=${decision}${more}`, { 'content-type': 'application/x-www-form-urlencoded', ...headers });

// A receiver of webhooks: what it got, checked against its secret; `answer` says how it replies.
export const SECRET = `whsec_${Buffer.from('a secret of twenty-four b').toString('base64')}`;
export async function receiver(t, answer = () => 200) {
    const got = [];
    const server = http.createServer((req, res) => {
        let text = '';
        req.on('data', (d) => { text += d; });
        req.on('end', async () => {
            const h = req.headers, mac = createHmac('sha256', Buffer.from(SECRET.slice(6), 'base64')).update(`${h['webhook-id']}.${h['webhook-timestamp']}.${text}`).digest('base64');
            const status = await answer(got.filter((g) => g.id === h['webhook-id']).length, got.length);
            got.push({ id: h['webhook-id'], at: Number(h['webhook-timestamp']), sound: h['webhook-signature'] === `v1,${mac}`, body: JSON.parse(text), status });
            if (status === 'nothing') res.destroy();
            else res.writeHead(status, status === 302 ? { location: 'http://127.0.0.1:1/' } : {}).end();
        });
    });
    await new Promise((done) => server.listen(0, '127.0.0.1', done));
    t.defer(() => { server.closeAllConnections(); server.close(); });
    return { got, url: `http://127.0.0.1:${server.address().port}/hook`, taken: () => [...new Map(got.filter((g) => g.status === 200).map((g) => [g.id, g.body.data.event])).values()] };
}
