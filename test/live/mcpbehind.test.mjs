// What passes through the door at /mcp from servers behind us: their lists that change, and the
// questions that their tools ask; and how many streams of notices one may have.
import path from 'node:path';
import { ROOT, check, listed, oneProcess, same, test, until } from './lib.mjs';
import { FORM, Legacy, Modern, asked, bearer, each, isAsk, keys, outcome, text }
    from './mcp.mjs';

const SCRIPT = path.join(ROOT, 'test/mcp/asking.mjs');
const behind = { asking: { command: process.execPath, args: [SCRIPT], confirm: 'never' } };
const names = async (c) => (await c.ask('tools/list')).tools.map((x) => x.name);
const offered = (c, name) => until(async () => (await names(c)).includes(name), name);

// --- notices ------------------------------------------------------------------------------------

const CHANGED = 'notifications/tools/list_changed';
const SUBSCRIPTION = 'io.modelcontextprotocol/subscriptionId';
const isChanged = (e) => e.data.method === CHANGED;
const isAck = (e) => e.data.method === 'notifications/subscriptions/acknowledged';

// A stream of notices, and which `_meta` those have: GET tells unasked, listen what it is asked.
async function notices(c, notifications = { toolsListChanged: true }) {
    if (c.listen) return { stream: await c.listen() };
    const { stream, id } = await c.send('subscriptions/listen', { notifications });
    same((await stream.must(isAck)).data.params.notifications, notifications);
    return { stream, meta: { [SUBSCRIPTION]: id } };
}
// Told, and what is listed from then on has the tool.
async function told({ stream, meta }, c, name) {
    let e;
    do e = await stream.must(isChanged);
    while (!(await names(c)).includes(name));
    same(e.data.params?._meta, meta, 'whose notice it is');
}

each('a list behind us that changes is told, and only to who asked', async (t, open) => {
    oneProcess('each has its own servers behind it');
    const server = await t.serve({ config: { mcpServers: behind } }), c = await open(server);
    const other = new Modern(server);
    await offered(c, 'asking__grow');
    const stream = await notices(c), quiet = await notices(other, {});
    check(!(await names(c)).includes('asking__fruit'), 'it comes later');
    same(text(await c.call('asking__grow', {})), 'grown');
    await told(stream, c, 'asking__fruit');
    same(text(await c.call('asking__fruit', {})), 'an apple');
    await server.term();
    await quiet.stream.read();
    same(quiet.stream.events.filter(isChanged), [], 'who did not ask for it');
    same(quiet.stream.events.at(-1).data.result.resultType, 'complete', 'it was there to the end');
});

test('of each kind of stream one principal may have eight', async (t) => {
    oneProcess('each counts its own');
    const auth = keys(['a', 'ada', 'user'], ['b', 'bob', 'user']);
    const server = await t.serve({ config: { auth } });
    const legacy = (key) => new Legacy(server, { key }).open();
    const ada = await legacy('a'), again = await legacy('a'), bob = await legacy('b');
    const subscribe = { notifications: { toolsListChanged: true } };
    const modern = (key) => async () =>
        (await new Modern(server, { key }).send('subscriptions/listen', subscribe)).stream;
    const kinds = [[() => ada.listen(), () => again.listen(), () => bob.listen()],
        [modern('a'), modern('a'), modern('b')]];
    for (const [mine, alsoMine, theirs] of kinds) {
        const open = [];
        for (let i = 0; i < 8; i++) open.push(await (i % 2 ? alsoMine : mine)());
        same(open.map((s) => s.status), Array(8).fill(200));
        const { status, headers, json } = await alsoMine();
        same([status, json.error.code, json.error.data.code], [429, -32603, 'rate_limited']);
        check(Number(headers['retry-after']) > 0, 'when to come again');
        same((await theirs()).status, 200, 'another principal');
        await open[0].close();
        await until(async () => (await mine()).status === 200, 'the place of one that was closed');
    }
});

// --- a tool's own question ------------------------------------------------------------------------

const SCHEMA = { type: 'object', required: ['account'],
    properties: { account: { type: 'string' }, sure: { type: 'boolean' } } };
const accept = (account) => ({ action: 'accept', content: { account } });

// A call of the tool that asks: what its client is shown, how one answers that with any client
// (which waits for nothing), and the result.
async function question(c, amount) {
    const params = { name: 'asking__ask', arguments: { amount } };
    const { stream, id } = await c.send('tools/call', params);
    if (c.answer) {
        const ask = (await stream.must(isAsk)).data;
        return { shown: ask.params, answer: (d, said) => d.answer(ask.id, said),
            result: async () => (await c.result(stream, id)).result };
    }
    const { result: first } = await c.result(stream, id);
    same([first.resultType, Object.keys(first.inputRequests)], ['input_required', ['question']]);
    let last;
    const answer = async (d, said) => {
        const more = { requestState: first.requestState, inputResponses: { question: said } };
        const sent = await d.send('tools/call', { ...params, ...more });
        last = async () => (await d.result(sent.stream, sent.id)).result;
        return sent.stream;
    };
    return { shown: first.inputRequests.question.params, answer, result: () => last() };
}

each('a tool that asks in the middle of its work is answered in the client', async (t, open) => {
    const server = await t.serve({ config: { mcpServers: behind } });
    const c = await open(server, { capabilities: FORM });
    await listed(server, (tools) => tools.some((x) => x.name === 'asking__ask'));
    const cases = [[accept('main'), 'accept {"account":"main"}'],
        [{ action: 'decline' }, 'decline null']];
    for (const [i, [said, want]] of cases.entries()) {
        const q = await question(c, i);
        same([q.shown.mode, q.shown.message],
            ['form', `The server asking asks: "Pay ${i} from which account?"`]);
        for (const member of Object.keys(SCHEMA))
            same(q.shown.requestedSchema[member], SCHEMA[member], member);
        await q.answer(c, said);
        const r = await q.result();
        same([outcome(r), text(r)], ['done', want]);
    }
    const rows = (await server.get('/v1/approvals')).json.approvals;
    same(rows.map((a) => [a.decided_by, a.decided_via]), Array(2).fill(['local', 'mcp']));
});

// A client shows the form that asks for our yes to whatever it is asked.
each('a plain no to its question is a no, also where the form insists on nothing', async (t, open) => {
    const loose = { type: 'object', properties: { account: { type: 'string' } } };
    const asking = { ...behind.asking, env: { ASK_SCHEMA: JSON.stringify(loose) } };
    const server = await t.serve({ config: { mcpServers: { asking } } });
    const c = await open(server, { capabilities: FORM });
    await listed(server, (tools) => tools.some((x) => x.name === 'asking__ask'));
    const cases = [[false, 'decline null'], [true, 'accept {"approve":true}']];
    for (const [i, [approve, want]] of cases.entries()) {
        const q = await question(c, i);
        await q.answer(c, { action: 'accept', content: { approve } });
        same(text(await q.result()), want);
    }
    const odd = await question(c, 7);
    await odd.answer(c, { action: 'accept', content: { approve: 'no' } });
    same(outcome(await odd.result()), 'pending', 'neither');
});

each('its question is answered by nobody else\'s key, and by no agent\'s', async (t, open) => {
    const auth = keys(['u', 'ada', 'user'], ['b', 'bob', 'user'], ['g', 'ada', 'agent']);
    const server = await t.serve({ config: { auth, mcpServers: behind } });
    const client = (key) => open(server, { capabilities: FORM, key });
    const ada = await client('u'), bob = await client('b'), agent = await client('g');
    await listed(server, (tools) => tools.some((x) => x.name === 'asking__ask'), bearer('u'));
    const q = await question(ada, 12);
    if (bob.answer) {
        await q.answer(bob, accept('of bob'));
        const stolen = Object.assign(await client('b'), { session: ada.session });
        same((await q.answer(stolen, accept('of bob'))).status, 404, 'in a session of hers');
    } else {
        const refused = await q.answer(bob, accept('of bob'));
        same(refused.json.error.code, -32602, 'a call that is not theirs');
    }
    await q.answer(agent, accept('of the agent'));
    const [row] = await asked(server, 1, bearer('u'));
    await q.answer(ada, accept('of ada'));
    same(text(await q.result()), 'accept {"account":"of ada"}');
    const { decided_by, decided_via } =
        (await server.get(`/v1/approvals/${row.id}`, bearer('u'))).json;
    same([decided_by, decided_via], ['ada', 'mcp']);
});

each('a client without forms waits for the page to answer it', async (t, open) => {
    const server = await t.serve({ config: { mcpServers: behind } }), c = await open(server);
    await listed(server, (tools) => tools.some((x) => x.name === 'asking__ask'));
    const { stream, id } = await c.send('tools/call',
        { name: 'asking__ask', arguments: { amount: 7 } });
    const [row] = await asked(server);
    const payload = { account: 'by hand' };
    same((await server.post(`/v1/approvals/${row.id}`, { confirmed: true, payload })).status, 200);
    same(text((await c.result(stream, id)).result), 'accept {"account":"by hand"}');
    check(!stream.events.some(isAsk), 'it was not asked itself');
});
