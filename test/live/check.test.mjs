// Calls of unknown outcome that settle themselves: the tool's own check says what became of them, and
// nothing is ever run again to find out. docs/approvals.md is what they hold to.
import fs from 'node:fs';
import path from 'node:path';
import { ROOT, check, listed, same, test, until } from './lib.mjs';
import { STORES } from './record.mjs';
import { approval, approvals, bank, decide, payments, say, script, still } from './org.mjs';

const PAY = 'Send 50 dollars to Hanako';

// A bank whose answer to a payment is lost after it was booked; at /check it is asked what it knows.
// `knows(question, books)` is what it says there.
async function forgetful(t, knows, lose = () => 'nothing') {
    const asked = [];
    const b = await bank(t, (body, call, res, req) => {
        if (req.url !== '/check') { b.books.push({ ...body, call }); return lose(body); }
        asked.push({ ...body, key: call });
        return { body: {}, ...knows(body, b.books) };
    });
    return { ...b, asked, check: { http: { url: b.url.replace('/pay', '/check'), allow: ['127.0.0.1'] }, pause: 0.05, tries: 3 } };
}
const booked = ({ call }, books) => ({ body: books.some((x) => x.call === call) ? { happened: true, result: { found: call } } : { happened: false } });

async function paid(server, more) {
    const s = await say(server, null, PAY);
    same((await decide(server, null, s.ids[0], true, more)).status, 200);
    await still(server, null, s.thread);
    return s;
}

test('a lost answer is found by the check: settled as done, by the check, and never run again', async (t) => {
    const b = await forgetful(t, booked), server = await t.serve({ config: payments(b, { check: b.check, effect: 'pay:{recipient}' }) });
    const s = await paid(server), row = await approval(server, null, s.ids[0]);
    same([row.status, row.settled_by, row.settled_via, row.settled_result], ['done', 'check', 'check', { found: row.tool_use_id }]);
    same(b.books.length, 1);
    same(b.asked.map((q) => [q.call, q.tool, q.arguments.amount, q.key]), [[row.tool_use_id, 'process_payment', 50, undefined]], 'what it was asked');
    const again = await say(server, null, PAY);
    same(again.ids, [], 'the effect is there');
    check(/duplicate/.test(again.history[0].output) && again.history[0].output.includes(row.tool_use_id), again.history[0].output);
    same(b.books.length, 1);
});

test('what the check says did not happen is free again', async (t) => {
    const b = await forgetful(t, () => ({ body: { happened: false } })), server = await t.serve({ config: payments(b, { check: b.check, effect: 'pay:{recipient}' }) });
    const s = await paid(server);
    const row = await approval(server, null, s.ids[0]);
    same([row.status, row.settled_by], ['failed', 'check']);
    same((await say(server, null, PAY)).ids.length, 1, 'it is asked about anew');
});

test('kill -9 between the effect and its answer: the next process asks the check, and the model is told', async (t) => {
    let go;
    const reached = new Promise((yes) => { go = yes; });
    const b = await forgetful(t, booked, () => { go(); return new Promise(() => {}); });
    const model = await script(t, [['process_payment', { recipient: 'Hanako', amount: 50 }]], 'Paid.');
    const config = payments(b, { check: b.check, confirm: 'never' }, { model: model.model });
    const first = await t.serve({ config }), s = await first.say('pay');
    await s.must('tool_start');
    await reached;
    await first.kill();
    const server = await t.serve({ config, dir: first.dir });
    await still(server, null, s.thread);
    same([b.books.length, b.asked.length], [1, 1]);
    const [row] = await approvals(server, null);
    same([row.status, row.settled_via], ['done', 'check']);
    check(/check found out: it did happen.*found/.test(model.results()[0]), model.results()[0]);
});

test('programs: the tool ends without a word, its check knows', async (t) => {
    const model = await script(t, [['pay', { n: 7 }]], 'Done.');
    const sh = (text) => ({ exec: { command: ['/bin/sh', '-c', text] } });
    const server = await t.serve({ config: { model: model.model, demo: { tools: false }, actions: {}, tools: { pay: { description: 'Pays.', confirm: 'never', ...sh('read x; exit 3'),
        check: sh('read q; case "$q" in *\\"arguments\\":{\\"n\\":7}*) echo "{\\"happened\\":true,\\"result\\":\\"$PARLEY_CALL_ID\\"}";; esac') } } } });
    await (await server.say('pay')).read();
    const [row] = await approvals(server, null);
    same([row.status, row.settled_result], ['done', row.tool_use_id]);
});

// A server over stdio that dies in the middle of a call.
const DYING = `let text = '';
const say = (m) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...m }) + '\\n');
const tool = { name: 'pay', description: 'Pays.', inputSchema: { type: 'object', properties: { amount: { type: 'number' }, to: { type: 'string' } } } };
process.stdin.on('data', (d) => { text += d; for (let at; (at = text.indexOf('\\n')) >= 0; text = text.slice(at + 1)) {
    const m = JSON.parse(text.slice(0, at));
    if (m.method === 'initialize') say({ id: m.id, result: { protocolVersion: m.params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'x', version: '1' } } });
    else if (m.method === 'tools/list') say({ id: m.id, result: { tools: [tool] } });
    else if (m.method === 'tools/call' && m.params.arguments.amount === 13) process.exit(1);
    else if (m.method === 'tools/call') say({ id: m.id, result: { content: [{ type: 'text', text: 'paid ' + JSON.stringify(m.params.arguments) }] } });
    else if (m.id !== undefined) say({ id: m.id, error: { code: -32601, message: 'no' } });
} });`;
async function dying(t, b, entry, ...steps) {
    const file = path.join(t.folder(), 'dying.mjs'), model = await script(t, ...steps);
    fs.writeFileSync(file, DYING);
    const server = await t.serve({ config: { model: model.model, demo: { tools: false }, actions: {}, mcpServers: { bank: { command: process.execPath, args: [file], ...entry } } } });
    await listed(server, (tools) => tools.some((x) => x.name === 'bank__pay'));
    return { server, model };
}

test('a check goes to no address that is not allowed, carries no idempotency key, and what it cannot ask stays unknown', async (t) => {
    const b = await forgetful(t, booked), http = { url: b.check.http.url };
    const server = await t.serve({ config: payments(b, { check: { ...b.check, http } }) }), s = await paid(server);
    const row = await until(async () => { const r = await approval(server, null, s.ids[0]); return r.check?.tries === 3 && !r.check.next && r; }, 'the tries to be used up');
    same([row.status, b.asked], ['unknown', []], 'the bank never heard of it');
    const good = await t.serve({ config: payments(b, { check: b.check }) }), again = await paid(good);
    await until(async () => (await approval(good, null, again.ids[0])).status === 'done', 'the check');
    same(b.asked.map((q) => q.key), [undefined], 'it must not act');
});

test('MCP: a server that dies in the middle of a call has a check of its own', async (t) => {
    const b = await forgetful(t, () => ({ body: { happened: true, result: { number: 4 } } }));
    const { server, model } = await dying(t, b, { confirm: 'never', check: { pay: b.check } }, [['bank__pay', { amount: 13 }]], 'Done.');
    await (await server.say('pay')).read();
    const [row] = await approvals(server, null);
    same([row.status, row.settled_result, b.asked[0].tool], ['done', { number: 4 }, 'bank__pay']);
    check(/"number":4/.test(model.results()[0]), model.results()[0]);
});

test('MCP: what a person may change before the yes, as with other tools', async (t) => {
    const { server } = await dying(t, null, { edit: { pay: ['/amount'] } }, [['bank__pay', { amount: 5, to: 'Taro' }]], 'Done.');
    const s = await (await server.say('pay')).read(), [id] = s.payload.awaiting;
    same((await approval(server, null, id)).edit, ['/amount']);
    const r = await decide(server, null, id, true, { input: { amount: 5, to: 'Mallory' } });
    same([r.status, r.json.error.code], [422, 'edit_not_allowed']);
    const done = await decide(server, null, id, true, { input: { amount: 4, to: 'Taro' } });
    same(done.json.status, 'replaced');
    await still(server, null, s.thread);
    const row = await approval(server, null, done.json.replaced_by);
    same([row.status, row.input], ['done', { amount: 4, to: 'Taro' }]);
});

// What a check must not get away with: none of it settles anything.
const LONG = 'x'.repeat(2000);
for (const [what, reply] of [
    ['an error', () => ({ status: 500, body: { happened: true } })],
    ['a refusal', () => ({ status: 404, body: { happened: false } })],
    ['a redirect', () => ({ status: 302, body: { happened: false } })],
    ['silence', () => 'nothing'],
    ['two answers in one', () => ({ body: { happened: true, unknown: true } })],
    ['words', () => ({ body: `it happened ${LONG}` })],
    ['a list', () => ({ body: [{ happened: true }] })],
    ['markup', () => ({ status: 400, body: { error: `<img src=x onerror=alert(1)>\u202e${LONG}` } })],
]) test(`a check that answers with ${what} settles nothing, is asked so often, and a person can`, async (t) => {
    let n = 0;
    const b = await bank(t, (body, call, res, req) => {
        if (req.url !== '/check') return 'nothing';
        n++;
        return reply();
    });
    const server = await t.serve({ config: payments(b, { check: { http: { url: b.url.replace('/pay', '/check'), allow: ['127.0.0.1'] }, tries: 2, pause: 0.01 } }) });
    const s = await paid(server);
    await until(async () => { const { check: c } = await approval(server, null, s.ids[0]); return c?.tries === 2 && c.note && !c.next; }, 'the last try');
    const row = await approval(server, null, s.ids[0]);
    same([row.status, n], ['unknown', 2]);
    check(row.check.note.length > 0 && row.check.note.length <= 400, row.check.note);
    same((await server.post(`/v1/approvals/${s.ids[0]}/settle`, { outcome: 'done' })).json.status, 'done');
});

test('a check that does not know yet is asked again after a pause, also by the next process', async (t) => {
    let knows = false;
    const b = await forgetful(t, (q, books) => (knows ? booked(q, books) : { body: { unknown: true } }));
    const config = payments(b, { check: { ...b.check, pause: 1, tries: 8 } });
    const first = await t.serve({ config }), s = await paid(first);
    const row = await approval(first, null, s.ids[0]);
    same([row.status, row.check.tries, row.check.note], ['unknown', 1, 'It does not know yet.']);
    knows = true;
    await first.kill();
    const server = await t.serve({ config, dir: first.dir });
    await until(async () => (await approval(server, null, s.ids[0])).status === 'done', 'the check');
    same(b.books.length, 1);
    const kinds = (await server.get('/v1/approvals?status=done')).json.approvals.map((x) => x.settled_via);
    same(kinds, ['check']);
});

for (const [where, store] of STORES)
    test(`in ${where}: after a crash a form of a tool that is gone waits for nobody, though nobody opens its conversation`, async (t) => {
        const dir = t.folder(), url = await store(), m = await script(t, [['asking__ask', { amount: 12 }]], 'ok'), args = [path.join(ROOT, 'test/mcp/asking.mjs')];
        const config = { demo: { tools: false }, actions: {}, model: m.model, mcpServers: { asking: { command: process.execPath, args, confirm: 'never' } }, ...(url && { store: url }) };
        const server = await t.serve(url ? { dir, store: null, db: path.join(dir, 'x.db'), config } : { dir, config });
        await until(async () => (await server.get('/v1/tools')).json.tools.some((x) => x.name === 'asking__ask'), 'the server to list its tool');
        const s = await say(server, null, 'go'), waiting = () => approvals(server, null, '?status=pending');
        same([(await waiting()).map((r) => r.id), (await server.get(`/v1/threads/${s.thread}`)).json.state], [s.ids, 'waiting']);
        same((await server.get('/v1/threads')).json.threads.map((x) => x.state), ['waiting'], 'and the list says so');
        await server.restart('SIGKILL');
        await until(async () => (await waiting()).length === 0, 'nothing to wait');
        same((await approvals(server, null, '?status=unknown')).map((r) => r.tool), ['asking__ask'], 'how far it came, a person has to say');
        same((await decide(server, null, s.ids[0], true, { payload: { account: 'main' } })).status, 409);
    });
