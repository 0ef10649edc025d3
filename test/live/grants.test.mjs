// What ends a grant, and that it stays ended. docs/approvals.md, A yes worth more than one call.
import { reload, same, test, until } from './lib.mjs';
import { PAY, as, auth, bank, decide, grants, payments, say, still } from './org.mjs';

const GRANT = { for: 3600, count: 50, sum: '/amount', max: 1000 };
const PEOPLE = { ada: ['user'], fay: ['finance', 'approver'] };
const CLOSE = { tool: 'close', from: 'finance' }, OWNER = { rules: [{ tool: 'process_payment', from: 'owner' }, CLOSE] };
const config = (b, tool = {}, approvals = OWNER) => payments(b, { grant: GRANT, ...tool }, { auth: auth(PEOPLE), approvals });

async function give(server) {
    const s = await say(server, 'ada', PAY(10));
    same((await decide(server, 'ada', s.ids[0], true, { grant: { scope: 'me' } })).status, 200);
    await still(server, 'ada', s.thread);
    same((await say(server, 'ada', PAY(10))).ids, [], 'it is given');
    return { thread: s.thread, seq: await seq(server, s.thread) };
}
const seq = async (server, thread) => (await server.get(`/v1/threads/${thread}`, as('ada'))).json.seq;
const state = async (server) => (await grants(server, 'ada')).map((g) => [g.status, g.why]);
const ENDED = [['ended', 'definition']];

// Who finds it: the server itself, a call, somebody who looks. Then it is in the log.
const FINDERS = {
    'the server': async (server, at) => until(async () => (await seq(server, at.thread)) > at.seq, 'the fact'),
    'a call': async (server) => same((await say(server, 'ada', PAY(11))).ids.length, 1, 'it is asked'),
    'whoever looks': async (server) => same(await state(server), ENDED),
};
const RULES = {
    'others are asked': { rules: [{ tool: 'process_payment', from: 'finance' }] },
    'a step more': { rules: [{ tool: 'process_payment', from: 'owner', escalate: [{ after: 60, to: 'finance' }] }] },
    'another rule before it': { rules: [{ tool: 'process_*', when: { pointer: '/amount', op: '>', value: 10 }, from: 'finance' }, ...OWNER.rules] },
    'no rule': { who: 'approver', rules: [CLOSE] },
};
for (const [what, approvals] of Object.entries(RULES))
    for (const [who, find] of Object.entries(FINDERS))
        test(`a grant that another rule ended stays ended when the first is back: ${what}, found by ${who}`, async (t) => {
            const b = await bank(t), server = await t.serve({ config: config(b) }), at = await give(server);
            await reload(server, config(b, {}, approvals));
            await find(server, at);
            await reload(server, config(b));
            same((await say(server, 'ada', PAY(12))).ids.length, 1, 'it is asked');
            same(await state(server), ENDED);
            same(b.books.length, 2);
        });

const TOOLS = { 'other words': { description: 'Pays otherwise.' }, 'another policy': { confirm: { when: { pointer: '/amount', op: '>', value: 1 } } }, 'other limits': { grant: { ...GRANT, count: 3 } }, 'no grants': { grant: undefined }, 'no tool': null };
for (const [what, tool] of Object.entries(TOOLS))
    test(`a grant that another tool ended stays ended when the first is back: ${what}`, async (t) => {
        const b = await bank(t), dir = t.folder(), server = await t.serve({ dir, config: config(b) }), at = await give(server);
        await server.end();
        const other = config(b, tool ?? {}), changed = await t.serve({ dir, config: tool ? other : { ...other, tools: {} } });
        await FINDERS['the server'](changed, at);
        same(await state(changed), ENDED);
        await changed.end();
        const again = await t.serve({ dir, config: config(b) });
        same((await say(again, 'ada', PAY(12))).ids.length, 1, 'it is asked');
        same(await state(again), ENDED);
        same(b.books.length, 2);
    });

test('a grant stays when only the time changes for which its rule\'s questions wait, or rules of other tools do', async (t) => {
    const b = await bank(t), server = await t.serve({ config: config(b) });
    await give(server);
    await reload(server, config(b, {}, { rules: [{ tool: 'close', from: { role: 'finance', count: 1, not_requester: true } }, { tool: 'process_*', from: { role: 'owner' }, expires: 60 }] }));
    same((await say(server, 'ada', PAY(12))).ids, []);
    same(await state(server), [['open', null]]);
});

test('with a question that was asked by a rule which is gone no grant is given', async (t) => {
    const b = await bank(t), server = await t.serve({ config: config(b) }), s = await say(server, 'ada', PAY(10));
    await reload(server, config(b, {}, RULES['a step more']));
    same((await decide(server, 'ada', s.ids[0], true, { grant: { scope: 'me' } })).json.error.code, 'grant_not_offered');
    same((await decide(server, 'ada', s.ids[0], true)).status, 200, 'the question itself keeps its rule');
    await still(server, 'ada', s.thread);
    same(b.books.length, 1);
});

for (const [how, find] of [['a call', async (server) => same((await say(server, 'ada', PAY(20))).ids.length, 1, 'it is asked')],
    ['whoever looks', async (server, thread, before) => {
        same((await grants(server, 'ada')).map((g) => [g.status, g.why]), [['ended', 'role']]);
        await until(async () => (await seq(server, thread)) > before, 'the fact');
    }]])
    test(`a grant whose giver lost the role stays ended when they have it again, found so by ${how}`, async (t) => {
        const b = await bank(t), dir = t.folder(), rules = [{ tool: '*', from: { role: 'finance', not_requester: true } }];
        const people = { ada: ['user'], fay: ['finance'], fin: ['finance'] }, config = (who) => payments(b, { grant: GRANT }, { auth: auth(who), approvals: { rules } });
        const before = await t.serve({ dir, config: config(people) });
        const s = await say(before, 'ada', PAY(10));
        same((await decide(before, 'fay', s.ids[0], true, { grant: { scope: 'me' } })).status, 200);
        await still(before, 'ada', s.thread);
        same((await say(before, 'ada', PAY(11))).ids, [], 'it is given');
        const at = await seq(before, s.thread);
        await before.end();
        const without = await t.serve({ dir, config: config({ ...people, fay: ['user'] }) });
        await find(without, s.thread, at);
        await without.end();
        const again = await t.serve({ dir, config: config(people) });
        same((await say(again, 'ada', PAY(30))).ids.length, 1, 'it is asked');
        same((await grants(again, 'ada')).map((g) => [g.status, g.why]), [['ended', 'role']]);
        same(b.books.map((p) => p.amount), [10, 11]);
    });

test('a grant ends when the tool is another, and lives over a restart', async (t) => {
    const b = await bank(t), dir = t.folder(), server = await t.serve({ dir, config: payments(b, { grant: GRANT }) });
    const s = await say(server, null, PAY(10));
    await decide(server, null, s.ids[0], true, { grant: { scope: 'me' } });
    await still(server, null, s.thread);
    await server.restart('SIGKILL');
    same((await say(server, null, PAY(10))).ids, [], 'after a crash it is still there');
    await server.end();
    const other = await t.serve({ dir, config: payments(b, { grant: GRANT, description: 'Pays in another way.' }) });
    same((await say(other, null, PAY(10))).ids.length, 1);
    const [g] = await grants(other, null);
    same([g.status, g.why], ['ended', 'definition']);
});
