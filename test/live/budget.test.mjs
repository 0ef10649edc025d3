// Budgets: tokens and money per person, role, conversation and for all; a soft limit asks, a hard one stops in words; what
// was used is in the store, so a restart forgets nothing.
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { check, parley, same, test, until } from './lib.mjs';
import { cluster } from '../cluster/lib.mjs';
import { KEY, serveModel, startUpstream } from './upstream.mjs';

const sha256 = (text) => createHash('sha256').update(text).digest('hex');
const key = (principal, ...roles) => ({ sha256: sha256(`pk_${principal}`), principal, ...(roles.length && { roles }) });
const as = (who) => ({ authorization: `Bearer pk_${who}` });
const AUTH = { keys: [key('ada', 'user', 'intern'), key('bob', 'user', 'intern'), key('cy'), key('ann', 'approver'), key('root', 'admin', 'user')] };
// The scripted service counts 20 tokens in and 12 out for an answer: 20 * 3 + 12 * 15 = 240 millionths.
const PRICES = { input: 3, output: 15, currency: 'EUR' };

const serve = async (t, config, more = {}) => {
    const up = more.up ?? await startUpstream(t);
    return Object.assign(await serveModel(t, up, 'openai', { model: { prices: PRICES }, ...more, config: { auth: AUTH, approvals: { who: 'approver' }, demo: { tools: false }, actions: {}, pages: { desk: { roles: ['intern'] } }, ...config } }), { up });
};
const turn = async (server, who, thread) => (await server.open('POST', '/v1/chat/stream', { message: 'hi', ...(thread && { thread_id: thread }) }, as(who))).read();
const settledFor = (server, who, thread) => until(async () => { const r = await server.get(`/v1/threads/${thread}`, as(who)); return r.json.state === 'idle' && r.json; }, 'the answer');
const end = (s) => s.events.at(-1).data;
const usage = async (server, who, query = '') => (await server.get(`/v1/usage${query}`, as(who))).json;

test('what was used is counted exactly, per person and day, and a restart forgets nothing', async (t) => {
    const server = await serve(t, {});
    for (let i = 0; i < 3; i++) await turn(server, 'ada');
    await turn(server, 'bob');
    const day = new Date().toISOString().slice(0, 10);
    const mine = await usage(server, 'ada');
    same([mine.principal, mine.tokens, mine.cost_micro, mine.budgets], ['ada', 96, 720, []]);
    check(mine.day >= day, mine.day);
    await server.restart('SIGKILL');
    same((await usage(server, 'ada')).tokens, 96);
    same((await usage(server, 'bob')).cost_micro, 240);
    same((await usage(server, 'ada', '?day=2020-02-29')).tokens, 0);
    same((await usage(server, 'root', '?principal=ada')).tokens, 96);
    same((await server.get('/v1/usage?principal=ada', as('bob'))).status, 403);
    for (const bad of ['x', '2020-02-30', '2020-2-3', '20200203xx', '2020-13-01']) same([(await server.get(`/v1/usage?day=${bad}`, as('ada'))).status, bad], [422, bad]);
    same((await server.get('/v1/usage')).status, 401);
});

test('beyond a hard limit nothing more is said, in words; another person goes on', async (t) => {
    const server = await serve(t, { budgets: [{ for: 'principal', tokens: { hard: 60 } }] });
    same([end(await turn(server, 'ada')).type, end(await turn(server, 'ada')).type], ['complete', 'complete'], 'what began below is finished');
    const e = end(await turn(server, 'ada'));
    same([e.type, e.code, e.retryable], ['error', 'budget_used_up', false]);
    same(e.message, 'The budget of one person for a day is used up (64 tokens of 60 tokens). It begins anew at midnight (UTC).');
    same(end(await turn(server, 'bob')).type, 'complete');
    await server.restart('SIGKILL');
    same(end(await turn(server, 'ada')).code, 'budget_used_up', 'also after a crash');
    same((await server.up.requests()).length, 3, 'the model was not asked');
    same((await usage(server, 'ada')).budgets, [{ for: 'principal', role: null, tokens: { used: 64, soft: null, hard: 60 }, cost_micro: null }]);
});

test('money, roles and everybody have budgets of their own', async (t) => {
    const server = await serve(t, { budgets: [{ for: 'role', role: 'intern', cost: { hard: 0.0004 } }, { for: 'everybody', tokens: { hard: 120 } }] });
    same([end(await turn(server, 'ada')).type, end(await turn(server, 'bob')).type], ['complete', 'complete']);
    same(end(await turn(server, 'bob')).message, 'The budget of the role intern for a day is used up (0.000480 EUR of 0.000400 EUR). It begins anew at midnight (UTC).');
    same([end(await turn(server, 'cy')).type, end(await turn(server, 'cy')).type], ['complete', 'complete'], 'who is no intern goes on');
    same(end(await turn(server, 'cy')).message, 'The budget of everybody for a day is used up (128 tokens of 120 tokens). It begins anew at midnight (UTC).');
    const b = (await usage(server, 'ada')).budgets;
    same(b.map((x) => [x.for, x.role, x.cost_micro?.used ?? x.tokens.used]), [['role', 'intern', 480], ['everybody', null, 128]]);
    same((await usage(server, 'cy')).budgets.map((x) => x.for), ['everybody']);
});

test('a conversation has a budget of its own', async (t) => {
    const server = await serve(t, { budgets: [{ for: 'thread', tokens: { hard: 50 } }] });
    const s = await turn(server, 'ada');
    await turn(server, 'ada', s.thread);
    const e = end(await turn(server, 'ada', s.thread));
    same([e.code, e.message], ['budget_used_up', 'The budget of one conversation is used up (64 tokens of 50 tokens). A new conversation has its own.']);
    same(end(await turn(server, 'ada')).type, 'complete');
});

test('a rule for every tool does not let the one who spends say yes at a soft limit', async (t) => {
    const server = await serve(t, { budgets: [{ for: 'principal', tokens: { soft: 30, hard: 1000 } }], approvals: { who: 'approver', rules: [{ tool: '*', from: 'owner' }] } });
    const { thread } = await turn(server, 'ada'), [id] = (await turn(server, 'ada', thread)).payload.awaiting;
    same((await server.post(`/v1/approvals/${id}`, { confirmed: true }, as('ada'))).status, 403);
    same((await server.post(`/v1/approvals/${id}`, { confirmed: true }, as('ann'))).status, 200);
    await settledFor(server, 'ada', thread);
});

test('at a soft limit an approver is asked; a yes is good for the conversation today, also after a crash', async (t) => {
    const server = await serve(t, { budgets: [{ for: 'principal', tokens: { soft: 30, hard: 1000 } }] });
    const first = await turn(server, 'ada');
    const s = await turn(server, 'ada', first.thread), [id] = s.payload.awaiting;
    const asked = s.of('tool_confirmation')[0];
    same([asked.tool, asked.ask], ['exceed_budget', 'The budget of one person for a day is used up: 32 tokens of 30 tokens. Go on in this conversation today?']);
    const inbox = (await server.get('/v1/approvals?status=pending', as('ann'))).json.approvals;
    same(inbox.map((a) => [a.id, a.owner]), [[id, 'ada']]);
    same((await server.post(`/v1/approvals/${id}`, { confirmed: true }, as('ada'))).status, 403, 'not by the one who spends');
    await server.restart('SIGKILL');
    same((await server.post(`/v1/approvals/${id}`, { confirmed: true }, as('ann'))).status, 200);
    const done = await settledFor(server, 'ada', first.thread);
    check(done.messages.at(-1).parts.some((p) => p.type === 'text' && p.text.includes('You said: hi')), JSON.stringify(done.messages.at(-1)));
    same(end(await turn(server, 'ada', first.thread)).type, 'complete', 'it is not asked again here');
    check((await turn(server, 'ada')).payload.awaiting.length === 1, 'but in another conversation');
    const bodies = (await server.up.requests()).map((r) => JSON.stringify(r.body));
    check(bodies.every((b) => !b.includes('exceed_budget')), 'models are not told of it');
});

test('a no ends it in words, and the next message asks again', async (t) => {
    const server = await serve(t, { budgets: [{ for: 'principal', cost: { soft: 0.0001 } }] });
    const { thread } = await turn(server, 'ada');
    const s = await turn(server, 'ada', thread);
    same((await server.post(`/v1/approvals/${s.payload.awaiting[0]}`, { confirmed: false }, as('ann'))).status, 200);
    const last = await until(async () => { const r = await server.get(`/v1/threads/${thread}`, as('ada')); return r.json.state === 'idle' && r.json.messages.at(-1).metadata; }, 'the end');
    same([last.error.code, last.error.message], ['budget_denied', 'The budget of one person for a day is used up (0.000240 EUR of 0.000100 EUR), and nobody allowed more.']);
    check((await turn(server, 'ada', thread)).payload.awaiting.length === 1);
});

test('of several models the one that answered is paid', async (t) => {
    const up = await startUpstream(t);
    const server = await serve(t, { model: ['dead', 'good'], models: { dead: up.model('openai', { model: 'sc-500-no', retries: 0, prices: { input: 1000, output: 1000, currency: 'EUR' } }), good: up.model('openai', { retries: 0, prices: PRICES }) } }, { up, model: undefined });
    await turn(server, 'ada');
    same((await usage(server, 'ada')).cost_micro, 240);
});

// Two nodes on one database: each question goes to the node it is sent to, in a conversation of its own.
const nodes = async (t, config) => {
    const up = await startUpstream(t);
    const c = await cluster(t, { nodes: 2, env: { TEST_MODEL_KEY: KEY }, config: { auth: AUTH, approvals: { who: 'approver' }, demo: { tools: false }, actions: {}, pages: { desk: { roles: ['intern'] } }, model: up.model('openai', { retries: 0, prices: PRICES }), ...config } });
    return Object.assign(c, { up });
};

test('what one node spent counts at the other: budgets, and the limit of a person\'s day', async (t) => {
    const c = await nodes(t, { budgets: [{ for: 'principal', tokens: { hard: 60 } }, { for: 'everybody', cost: { soft: 0.0007 } }], limits: { per_principal: { tokens_per_day: 100 } } });
    const [a, b] = c.nodes;
    same([end(await turn(a, 'ada')).type, end(await turn(b, 'ada')).type], ['complete', 'complete']);
    same([end(await turn(a, 'ada')).code, end(await turn(b, 'ada')).code], ['budget_used_up', 'budget_used_up'], '64 of 60, on either node');
    same((await Promise.all([a, b].map((n) => usage(n, 'ada')))).map((u) => [u.tokens, u.cost_micro]), [[64, 480], [64, 480]]);
    same(end(await turn(a, 'bob')).type, 'complete', '480 millionths, below the soft limit of all');
    const asked = await turn(b, 'bob'), [id] = asked.payload.awaiting;
    same(asked.of('tool_confirmation')[0].tool, 'exceed_budget', '720: the other node asks');
    same((await a.get('/v1/approvals?status=pending', as('ann'))).json.approvals.map((x) => x.id), [id], 'and it is in the inbox of this one');
    same((await a.post(`/v1/approvals/${id}`, { confirmed: true }, as('ann'))).status, 200);
    await settledFor(b, 'bob', asked.thread);
    same((await usage(a, 'root', '?all=true')).usage.map((u) => [u.who, u.tokens, u.cost_micro]), [['ada', 64, 480], ['bob', 64, 480]]);
    same((await c.up.requests()).length, 4, 'nobody else asked the model');
});

test('a day\'s tokens are counted for all nodes, and after a crash', async (t) => {
    const c = await nodes(t, { limits: { per_principal: { tokens_per_day: 60 } } });
    const [a, b] = c.nodes;
    same([end(await turn(a, 'ada')).type, end(await turn(b, 'ada')).type], ['complete', 'complete']);
    const refused = async (n) => { const r = await n.post('/v1/chat/stream', { message: 'hi' }, as('ada')); return [r.status, r.json?.error.code, Number(r.headers['retry-after']) > 0]; };
    same([await refused(a), await refused(b)], [[429, 'tokens_used_up', true], [429, 'tokens_used_up', true]]);
    same(end(await turn(b, 'bob')).type, 'complete');
    await c.restart('SIGKILL');
    same(await refused(c.nodes[0]), [429, 'tokens_used_up', true]);
});

test('mistakes in budgets are told', async (t) => {
    const dir = t.folder(), file = path.join(dir, 'p.json');
    const model = (currency) => ({ provider: 'openai', base_url: 'http://127.0.0.1:1/v1', prices: { input: 1, currency } });
    const MISTAKES = [
        [{ budgets: [{ tokens: { hard: 1 } }] }, /needs "for"/],
        [{ budgets: [{ for: 'role', tokens: { hard: 1 } }] }, /needs "role"/],
        [{ budgets: [{ for: 'thread', role: 'x', tokens: { hard: 1 } }] }, /"role" goes with/],
        [{ budgets: [{ for: 'principal' }] }, /needs "tokens" or "cost"/],
        [{ budgets: [{ for: 'principal', tokens: { soft: 2, hard: 2 } }] }, /not below "hard"/],
        [{ budgets: [{ for: 'nobody', tokens: { hard: 1 } }] }, /must be one of principal\|role\|thread\|everybody/],
        [{ budgets: Array(13).fill({ for: 'thread', tokens: { hard: 1 } }) }, /at most 12/],
        [{ models: { a: model('EUR'), b: model('USD') }, model: 'a', budgets: [{ for: 'thread', cost: { hard: 1 } }] }, /one currency/],
    ];
    for (const [config, why] of MISTAKES) {
        fs.writeFileSync(file, JSON.stringify(config));
        const r = await parley(['check', '--config', file], { cwd: dir });
        check(r.code === 1 && why.test(r.err), `${JSON.stringify(config)}: ${r.err}`);
    }
});
