// People whom tokens let in have the roles they were last seen with: for their votes, their grants and
// their links, over restarts and on every node. docs/approvals.md, Who is asked.
import path from 'node:path';
import { cluster } from '../cluster/lib.mjs';
import { check, same, test, until } from './lib.mjs';
import { STORES } from './record.mjs';
import { Live } from './ai.mjs';
import { Ws } from './ws.mjs';
import { later, timed } from './doors.mjs';
import { locker, python } from './locker.mjs';
import { LINKS, PAY, PEOPLE, RULES, approval, as, auth as keys, bank, decide, grants, link, payments, say, seen, still, tokens } from './org.mjs';

const GRANT = { grant: { for: 3600, count: 10, sum: '/amount', max: 500 } };
const ONE = [{ tool: '*', from: { role: 'finance', not_requester: true } }];

// A server of token people.
async function club(t, url, b, rules, tool = {}, more = {}) {
    const dir = t.folder(), { auth, person } = tokens(dir);
    const config = payments(b, tool, { auth, approvals: { rules }, ...more });
    const start = () => t.serve(url ? { dir, store: null, db: path.join(dir, 'x.db'), config: { ...config, store: url } } : { dir, config });
    return { start, ada: person('ada', 'user'), fay: person('fay', 'finance'), poor: person('fay', 'user'), bare: person('fay'), fin: person('fin', 'finance'), bot: person('bot', 'notifier') };
}

// Whose votes do not count any more: known at once, and within a second to other nodes.
async function lapsed(server, who, id, names) {
    const is = async (n) => JSON.stringify((await approval(n, who, id)).lapsed) === JSON.stringify(names);
    if (server.nodes) for (const n of server.nodes) await until(() => is(n), `${n.name} to know`);
    same((await approval(server, who, id)).lapsed, names);
}

for (const [where, store] of STORES) {
    test(`in ${where}: a vote of somebody who was seen without the role does not count after a restart either`, async (t) => {
        const b = await bank(t), c = await club(t, await store(), b, RULES), first = await c.start();
        const s = await say(first, c.ada, PAY(5000)), [id] = s.ids;
        same((await decide(first, c.fay, id, true)).json.status, 'pending');
        await seen(first, c.poor);
        await lapsed(first, c.ada, id, ['fay']);
        await first.restart();
        same((await approval(first, c.ada, id)).lapsed, ['fay'], 'lost stays lost');
        same((await decide(first, c.fin, id, true)).json.status, 'pending');
        await first.restart('SIGKILL');
        same((await approval(first, c.ada, id)).lapsed, ['fay'], 'also after a crash');
        same(b.books, []);
    });

    test(`in ${where}: a grant of somebody who was seen without the role is over, also after a restart`, async (t) => {
        const b = await bank(t), c = await club(t, await store(), b, ONE, GRANT), server = await c.start();
        const s = await say(server, c.ada, PAY(10));
        same((await decide(server, c.fay, s.ids[0], true, { grant: { scope: 'me' } })).status, 200);
        await still(server, c.ada, s.thread);
        same((await say(server, c.ada, PAY(11))).ids, [], 'it is given');
        await seen(server, c.bare); // nobody looks at the grant before the restart
        await server.restart();
        same((await say(server, c.ada, PAY(12))).ids.length, 1, 'it is asked');
        same((await grants(server, c.ada)).map((g) => [g.status, g.why]), [['ended', 'role']]);
        await seen(server, c.fay);
        await server.restart();
        same((await say(server, c.ada, PAY(13))).ids.length, 1, 'and does not open again');
        same(b.books.map((p) => p.amount), [10, 11]);
    });
}

// A role that was lost is written down before anybody is answered by it: here nothing can be written for a while.
test('a lost role of which somebody was told is lost, also when the process dies the moment after', async (t) => {
    python();
    const b = await bank(t), c = await club(t, '', b, RULES), server = await c.start(), lock = await locker(t, server.db);
    const s = await say(server, c.ada, PAY(5000)), [id] = s.ids;
    same((await decide(server, c.fay, id, true)).json.status, 'pending');
    await lock.take();
    const answer = await server.get('/v1/session', c.poor), told = (await approval(server, c.ada, id)).lapsed;
    await server.kill();
    await lock.free();
    await server.start();
    const now = (await approval(server, c.ada, id)).lapsed;
    if (answer.status === 200) same(now, ['fay'], 'she was answered by the roles that are left');
    same(told, now, 'who looked meanwhile saw what is so');
    same([answer.status, answer.json?.error?.code], [503, 'store_unavailable']);
    await seen(server, c.poor);
    await server.restart('SIGKILL');
    same((await approval(server, c.ada, id)).lapsed, ['fay'], 'what could be written stays');
});

test('a socket whose first message brings other roles is let in when they are written, and what it said meanwhile is heard', async (t) => {
    python();
    const b = await bank(t), c = await club(t, '', b, RULES), server = await c.start(), lock = await locker(t, server.db), { person } = tokens(server.dir);
    const token = (...roles) => person('fay', ...roles).authorization.slice(7), message = (id, text) => ({ type: 'message', id, messages: [{ id: `m-${id}`, role: 'user', parts: [{ type: 'text', text }] }] });
    const knock = async (...roles) => { const ws = await Ws.open(t, server, '/live'); ws.send({ type: 'auth', token: token(...roles) }); return ws; };
    const first = await knock('user', 'finance');
    first.send(message('one', 'hello '.repeat(20000)));
    first.send({ type: 'ping', timestamp: 7 });
    await until(async () => (await server.get('/v1/threads/one', person('fay', 'user', 'finance'))).json.state === 'idle', 'it to be answered');
    for (let text; !/"pong"/.test(text);) check((text = await first.next()) !== undefined, 'a pong');
    await lock.take();
    const poor = await knock('user');
    poor.send(message('three', 'hello'));
    while (await poor.next() !== undefined);
    same(poor.code, 1013);
    await lock.free();
    const again = await knock('user');
    again.send(message('four', 'hello'));
    await until(async () => (await server.get('/v1/threads/four', person('fay', 'user'))).json.state === 'idle', 'it to come in');
    same((await server.get('/v1/threads/three', person('fay', 'user'))).status, 404, 'what was not let in did nothing');
    await server.restart('SIGKILL');
    same((await say(server, c.ada, PAY(5000))).ids.length, 1);
});

// A socket shows its token once, and stays: what was seen of them since counts.
for (const [role, approvals] of [['finance', { rules: [{ tool: '*', from: 'finance' }] }], ['approver', { who: 'approver' }]])
    test(`on a socket that was opened with the role ${role}, since lost, nothing is decided`, async (t) => {
        const b = await bank(t), dir = t.folder(), { auth, person } = tokens(dir), server = await t.serve({ dir, config: payments(b, {}, { auth, approvals }) });
        const rich = person('fay', 'user', role), poor = person('fay', 'user'), s = await say(server, rich, PAY(10)), [id] = s.ids;
        const live = await Live.open(t, server, { thread: s.thread, headers: rich }), ws = await Ws.open(t, server, '/api/chat/ws', { headers: rich });
        for (const n of server.nodes ?? [server]) await seen(n, poor);
        live.send('tool_result', { toolCallId: id, result: { confirmed: true } });
        same((await live.find((f) => ['ack', 'error'].includes(f.control?.type), 'an answer')).control.code, 'not_approver');
        const { input } = await approval(server, poor, id);
        ws.send(JSON.stringify({ type: 'send', requestId: 'r1', id: s.thread, messages: [{ id: 'u1', role: 'user', parts: [{ type: 'text', text: PAY(10) }] },
            { id: 'a1', role: 'assistant', parts: [{ type: 'tool-process_payment', toolCallId: id.replace('confirmation-', ''), state: 'approval-responded', input, approval: { id, approved: true } }] }] }));
        const told = await ws.next();
        check(/waits for somebody who may approve/.test(told), told);
        same([(await approval(server, poor, id)).status, b.books], ['pending', []], told);
        same((await decide(server, rich, id, true)).json.status, 'approved', 'who shows the role has it again');
    });

test('who was known before a restart can be sent a link after it, and who lost the role cannot', async (t) => {
    const b = await bank(t), c = await club(t, '', b, RULES, {}, LINKS), server = await c.start();
    await seen(server, c.fay);
    await seen(server, c.fin);
    await server.restart();
    const s = await say(server, c.ada, PAY(5000)), [id] = s.ids;
    same((await link(server, c.bot, id, 'fay')).status, 201);
    await seen(server, c.poor);
    await server.restart();
    same([(await link(server, c.bot, id, 'fay')).json.error?.code, (await link(server, c.bot, id, 'fin')).status], ['not_approver', 201]);
    same((await link(server, c.bot, id, 'zoe')).json.error.code, 'unknown_person');
});

test('what one node sees of somebody the others know, and whoever starts later', async (t) => {
    const b = await bank(t), dir = t.folder(), { auth, person } = tokens(dir);
    const c = await cluster(t, { nodes: 2, config: payments(b, {}, { auth, approvals: { rules: RULES } }) }), [one, two] = c.nodes;
    const ada = person('ada', 'user'), fay = person('fay', 'finance'), fin = person('fin', 'finance');
    const s = await say(one, ada, PAY(5000)), [id] = s.ids;
    same((await decide(one, fay, id, true)).json.status, 'pending');
    await seen(two, person('fay', 'user'));
    await until(async () => (await approval(one, ada, id)).lapsed?.includes('fay'), 'the other node to know');
    same((await decide(one, fin, id, true)).json.status, 'pending');
    await one.restart();
    same((await approval(one, ada, id)).lapsed, ['fay']);
    same(b.books, []);
});

for (const [where, store] of STORES) {
    test(`in ${where}: a vote that had lapsed does not count again when its voter is erased`, async (t) => {
        const b = await bank(t), c = await club(t, await store(), b, RULES, {}, LINKS), server = await c.start(), root = tokens(server.dir).person('root', 'admin');
        const s = await say(server, c.ada, PAY(5000)), [id] = s.ids;
        same((await decide(server, c.fay, id, true)).json.status, 'pending');
        await seen(server, c.poor);
        await lapsed(server, c.ada, id, ['fay']);
        same((await server.post('/v1/people/fay/erase', {}, root)).json.done, true);
        same((await decide(server, c.fin, id, true)).json.status, 'pending', 'one of two');
        same((await link(server, c.bot, id, 'fay')).json.error?.code, 'not_approver');
        await server.restart('SIGKILL');
        same((await approval(server, c.ada, id)).lapsed, ['fay'], 'the next process knows');
        same((await link(server, c.bot, id, 'fay')).json.error?.code, 'not_approver');
        same(b.books, []);
    });

    test(`in ${where}: a grant does not come back with its giver's role, although nobody looked meanwhile`, async (t) => {
        const b = await bank(t), c = await club(t, await store(), b, [RULES[0], ...ONE], GRANT), server = await c.start();
        const [other] = (await say(server, c.ada, PAY(5000))).ids, s = await say(server, c.ada, PAY(10));
        same((await decide(server, c.fay, other, true)).json.status, 'pending', 'one of two');
        same((await decide(server, c.fay, s.ids[0], true, { grant: { scope: 'me' } })).status, 200);
        await still(server, c.ada, s.thread);
        await seen(server, c.poor);
        await lapsed(server, c.ada, other, ['fay']);
        await seen(server, c.fay);
        await lapsed(server, c.ada, other, undefined);
        const asked = await say(server, c.ada, PAY(11));
        same(asked.ids.length, 1, 'it is asked');
        same((await grants(server, c.ada)).map((g) => [g.status, g.why]), [['ended', 'role']]);
        same((await decide(server, c.fay, asked.ids[0], true, { grant: { scope: 'me' } })).status, 200, 'she may give another');
        await still(server, c.ada, asked.thread);
        same((await say(server, c.ada, PAY(12))).ids, []);
        same(b.books.map((p) => p.amount), [10, 11, 12]);
    });

    test(`in ${where}: beside tokens, a key that is taken out of the configuration takes its votes and grants with it`, async (t) => {
        const b = await bank(t), dir = t.folder(), { auth, person } = tokens(dir), url = await store(), ada = person('ada', 'user');
        const start = (people, rules, tool) => t.serve({ dir, store: null, db: path.join(dir, 'x.db'), config: { ...payments(b, tool, { auth: { ...auth, ...keys(people) }, approvals: { rules } }), ...(url && { store: url }) } });
        const rules = [{ tool: '*', when: { pointer: '/amount', op: '>', value: 1000 }, from: { role: 'finance', count: 2 } }, ...ONE];
        let server = await start({ fay: ['finance'], fin: ['finance'] }, rules, GRANT);
        const small = await say(server, ada, PAY(10)), [id] = (await say(server, ada, PAY(5000))).ids;
        same((await decide(server, 'fay', small.ids[0], true, { grant: { scope: 'me' } })).status, 200);
        same((await decide(server, 'fay', id, true)).json.status, 'pending');
        await still(server, ada, small.thread);
        await server.kill();
        server = await start({ fin: ['finance'] }, rules, GRANT);
        same((await approval(server, ada, id)).lapsed, ['fay']);
        same((await decide(server, 'fin', id, true)).json.status, 'pending');
        same((await say(server, ada, PAY(11))).ids.length, 1, 'the grant is over');
        same(b.books.map((p) => p.amount), [10]);
    });
}

// Nodes have the database's clock, which no test can move: these are seconds.
test('escalation and expiry of a question go on when its node is gone', async (t) => {
    const over = { pointer: '/amount', op: '>', value: 5500 }, rules = [{ tool: '*', when: over, from: 'finance', expires: 5 }, { tool: '*', from: 'finance', expires: 3600, escalate: [{ after: 5, to: 'cfo' }] }];
    const b = await bank(t), c = await cluster(t, { nodes: 2, config: payments(b, {}, { auth: keys(PEOPLE), approvals: { rules } }) }), [one, two] = c.nodes;
    const first = (await say(one, 'ada', PAY(5000))).ids[0], second = (await say(one, 'ada', PAY(6000))).ids[0];
    await one.kill();
    const cleo = await two.open('GET', '/v1/approvals/events?after=0', undefined, as('cleo')), ada = await two.open('GET', '/v1/approvals/events?after=0', undefined, as('ada'));
    same((await cleo.must((e) => e.data?.approval)).data.event, 'escalated');
    await ada.must((e) => e.data?.event === 'expired' && e.data.approval.id === second);
    for (const s of [cleo, ada]) await s.close();
    same((await decide(two, 'cleo', first, true)).json.status, 'approved');
    await until(() => b.books.length === 1, 'the payment');
    same([(await approval(two, 'ada', second)).status, b.books.map((p) => p.amount)], ['expired', [5000]]);
});

// --- enough without another click --------------------------------------------------------------------

const done = (server, who, id) => until(async () => { const r = await approval(server, who, id); return r.status === 'done' && r; }, `${id} to be decided and done`);

for (const [where, store] of STORES)
    test(`in ${where}: votes that are enough because a role came back decide by themselves`, async (t) => {
        const b = await bank(t), c = await club(t, await store(), b, RULES), server = await c.start();
        const s = await say(server, c.ada, PAY(5000)), [id] = s.ids;
        same((await decide(server, c.fay, id, true)).json.status, 'pending');
        await seen(server, c.poor);
        await server.restart();
        same((await decide(server, c.fin, id, true)).json.status, 'pending');
        await seen(server, c.bare);
        same((await approval(server, c.ada, id)).lapsed, ['fay'], 'another change that gives nothing back');
        await seen(server, c.fay);
        const row = await done(server, c.ada, id);
        same([row.votes.map((v) => v.by), row.decided_by, row.decided_via, b.books.length], [['fay', 'fin'], 'fin', 'clock', 1]);
    });

test('votes that are enough because a configuration gave a role back decide at the start', async (t) => {
    const b = await bank(t), dir = t.folder(), config = (people) => payments(b, {}, { auth: keys({ ...PEOPLE, ...people }), approvals: { rules: RULES } });
    const serve = (people) => t.serve({ dir, config: config(people) }), before = await serve({}), [id] = (await say(before, 'ada', PAY(5000))).ids;
    same((await decide(before, 'fay', id, true)).json.status, 'pending');
    await before.end();
    const without = await serve({ fay: ['user'] });
    same((await decide(without, 'fin', id, true)).json.status, 'pending');
    await without.end();
    const again = await serve({}), row = await done(again, 'ada', id);
    same([row.decided_by, row.decided_via, b.books.length], ['fin', 'clock', 1]);
});

test('a role that comes back on one node decides what another node holds', async (t) => {
    const b = await bank(t), dir = t.folder(), { auth, person } = tokens(dir);
    const c = await cluster(t, { nodes: 2, config: payments(b, {}, { auth, approvals: { rules: RULES } }) }), [one, two] = c.nodes;
    const ada = person('ada', 'user'), fay = person('fay', 'finance'), fin = person('fin', 'finance');
    const s = await say(one, ada, PAY(5000)), [id] = s.ids;
    await decide(one, fay, id, true);
    await seen(one, person('fay', 'user'));
    same((await decide(one, fin, id, true)).json.status, 'pending');
    await until(async () => (await approval(two, ada, id)).lapsed?.includes('fay'), 'the other node to know');
    await seen(two, fay);
    await done(two, ada, id);
    same(b.books.length, 1);
});

test('a step of the escalation that needs fewer decides when its time comes, with nobody there', async (t) => {
    const b = await bank(t), rules = [{ tool: '*', from: { role: 'finance', count: 3 }, expires: 7200, escalate: [{ after: 600, to: { role: 'finance', count: 2, not_requester: true } }, { after: 1800, to: 'finance' }] }];
    const { cleo, ...people } = PEOPLE, server = await t.serve(timed(t, { config: payments(b, {}, { auth: keys(people), approvals: { rules } }) }));
    const two = (await say(server, 'ada', PAY(10))).ids[0], one = (await say(server, 'ada', PAY(20))).ids[0], none = (await say(server, 'ada', PAY(30))).ids[0], back = (await say(server, 'ada', PAY(40))).ids[0];
    for (const [id, who] of [[two, 'fay'], [two, 'fox'], [one, 'fay'], [back, 'fay'], [back, 'fox']]) same((await decide(server, who, id, true)).json.status, 'pending');
    same((await server.request('DELETE', `/v1/approvals/${back}/vote`, undefined, as('fox'))).status, 200);
    later(server, 601 * 1000);
    const row = await done(server, 'ada', two);
    same([row.votes.map((v) => [v.by, v.via]), row.decided_by, row.decided_via, row.needed], [[['fay', 'rest'], ['fox', 'rest']], 'fox', 'clock', 2]);
    same((await approval(server, 'ada', one)).status, 'pending');
    await server.restart();
    later(server, 1200 * 1000);
    same((await done(server, 'ada', one)).decided_by, 'fay');
    same((await done(server, 'ada', back)).decided_by, 'fay', 'by the vote that is left');
    same([(await approval(server, 'ada', none)).status, b.books.map((p) => p.amount).sort()], ['pending', [10, 20, 40]]);
});
