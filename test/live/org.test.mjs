// The approvals of an organisation: yeses that are worth more than one call, several people who have
// to say yes, noes that stay. docs/approvals.md is what they hold to.
import { check, same, test, until } from './lib.mjs';
import { toolsOf } from './ai.mjs';
import { DOORS } from './doors.mjs';
import { BOT, LINKS, PAY, PEOPLE, RULES, SECRET, approval, approvals, as, auth, bank, decide, desk, grants, key, link, office, pathOf, payments, press, receiver, say, script, still } from './org.mjs';

// --- a yes that is worth more than one call ---------------------------------------------------------

const GRANT = { grant: { for: 3600, count: 5, sum: '/amount', max: 200, same: ['/recipient'] } };

test('a grant lets later calls run that fit, and asks about the others', async (t) => {
    const b = await bank(t), server = await t.serve({ config: payments(b, GRANT) });
    const s = await say(server, null, PAY(50));
    const row = await approval(server, null, s.ids[0]);
    same(row.grant, { for: 3600, count: 5, max: '200', sum: '/amount', amount: '50', same: { '/recipient': 'Hanako' } });
    const r = await decide(server, null, s.ids[0], true, { grant: { scope: 'me', count: 3, max: '150' } });
    same([r.status, r.json.grant.uses, r.json.grant.count, r.json.grant.amount], [200, 1, 3, '50']);
    await still(server, null, s.thread);
    const other = await say(server, null, PAY(10, 'Taro'));
    same(other.ids.length, 1, 'another recipient is asked about');
    const second = await say(server, null, PAY('25.50'));
    same(second.ids, [], 'it ran');
    same(b.books.map((x) => x.amount), [50, 25.5]);
    const [mine] = (await approvals(server, null)).filter((x) => x.decided_via === 'grant');
    same([mine.status, mine.granted.id, mine.granted.uses, mine.granted.amount], ['done', r.json.grant.id, 2, '75.5']);
    const [g] = await grants(server, null);
    same([g.uses, g.count, g.amount, g.max, g.status], [2, 3, '75.5', '150', 'open']);
    same((await say(server, null, PAY(80))).ids.length, 1, 'more than is left is asked about');
    same((await say(server, null, PAY('74.5'))).ids, [], 'exactly what is left is not');
    same((await grants(server, null))[0].status, 'used_up');
    same((await say(server, null, PAY(1))).ids.length, 1);
});

test('a grant is never wider than the tool allows, and says so when it is no grant', async (t) => {
    const b = await bank(t), server = await t.serve({ config: payments(b, GRANT) });
    const { ids: [id] } = await say(server, null, PAY(50));
    const code = async (grant) => (await decide(server, null, id, true, { grant })).json.error?.code;
    for (const [grant, want] of [[{ scope: 'me', count: 6 }, 'grant_too_wide'], [{ scope: 'me', for: 7200 }, 'grant_too_wide'], [{ scope: 'me', max: '200.01' }, 'grant_too_wide'],
        [{ scope: 'me', max: 1e12 }, 'grant_too_wide'], [{ scope: 'me', max: -5 }, 'grant_invalid'], [{ scope: 'me', max: '49.99' }, 'grant_invalid'], [{ scope: 'me', max: 'NaN' }, 'grant_invalid'],
        [{ scope: 'me', max: '1e400' }, 'grant_invalid'], [{ scope: 'me', count: 0 }, 'grant_invalid'], [{ scope: 'me', count: 1.5 }, 'grant_invalid'], [{ scope: 'all' }, 'grant_invalid'],
        [{ scope: 'me', tool: 'x' }, 'grant_invalid'], ['yes', 'grant_invalid'], [[], 'grant_invalid']]) same(await code(grant), want, JSON.stringify(grant));
    same((await approval(server, null, id)).status, 'pending');
    await until(() => server.log.some((l) => l.event === 'answer.refused' && l.why === 'grant_too_wide'), 'the log');
    same((await decide(server, null, id, true, { grant: { scope: 'thread', max: '0.2e3' } })).status, 200, 'the same number is fine');
    const plain = await t.serve({ config: payments(b) });
    const q = await say(plain, null, PAY(50));
    same((await decide(plain, null, q.ids[0], true, { grant: { scope: 'me' } })).json.error.code, 'grant_not_offered');
});

test('a grant of one conversation is not for another, and ends with it; a revoked one gives nothing', async (t) => {
    const b = await bank(t), server = await t.serve({ config: payments(b, GRANT) });
    const s = await say(server, null, PAY(10));
    await decide(server, null, s.ids[0], true, { grant: { scope: 'thread' } });
    await still(server, null, s.thread);
    same((await say(server, null, PAY(10))).ids.length, 1, 'another conversation');
    same((await say(server, null, PAY(10), s.thread)).ids, [], 'the same');
    const [g] = await grants(server, null);
    const gone = await server.request('DELETE', `/v1/grants/${g.id}`);
    same([gone.status, gone.json.status], [200, 'revoked']);
    same((await server.request('DELETE', `/v1/grants/${g.id}`)).json.status, 'revoked', 'again is the same');
    same((await say(server, null, PAY(10), s.thread)).ids.length, 1);
    same((await server.request('DELETE', '/v1/grants/g_nobody')).json.error.code, 'unknown_grant');
    same(b.books.length, 2);
});

test('a call that certainly did not happen gives back what it took, an unknown one does not', async (t) => {
    let how;
    const b = await bank(t, () => how), server = await t.serve({ config: payments(b, GRANT) });
    const s = await say(server, null, PAY(50));
    await decide(server, null, s.ids[0], true, { grant: { scope: 'me' } });
    await still(server, null, s.thread);
    const left = async () => { const [g] = await grants(server, null); return [g.uses, g.amount]; };
    how = { status: 400, body: { error: 'closed' } };
    same((await say(server, null, PAY(50))).ids, []);
    same(await left(), [1, '50'], 'given back');
    how = 'nothing';
    same((await say(server, null, PAY(60))).ids, []);
    same(await left(), [2, '110'], 'kept');
    const [open] = await approvals(server, null, '?status=unknown');
    await server.post(`/v1/approvals/${open.id}/settle`, { outcome: 'not_done' });
    same(await left(), [1, '50'], 'given back when somebody found out');
});

test('a grant ends with its time, and when another rule or policy asks', async (t) => {
    const clock = await import('./doors.mjs'), b = await bank(t), people = auth({ ada: ['user'], fay: ['finance'] });
    const config = (rules, tool = {}) => payments(b, { ...GRANT, ...tool }, { auth: people, approvals: { rules } }), owner = [{ tool: 'close', from: 'finance' }, { tool: '*', from: 'owner' }];
    const server = await t.serve(clock.timed(t, { config: config(owner) })), asked = async (at, n) => (await say(at, 'ada', PAY(n))).ids;
    const give = async (at, n) => { const s = await say(at, 'ada', PAY(n)); same((await decide(at, 'ada', s.ids[0], true, { grant: { scope: 'me', for: 3600 } })).status, 200); await still(at, 'ada', s.thread); };
    await give(server, 10);
    clock.later(server, 3599 * 1000);
    same(await asked(server, 11), [], 'within its time');
    clock.later(server, 2 * 1000);
    same((await asked(server, 12)).length, 1, 'its time is over');
    same((await grants(server, 'ada')).map((g) => [g.status, g.why]), [['ended', 'time']]);
    await give(server, 13);
    await server.end();
    const other = await t.serve(clock.timed(t, { dir: server.dir, config: config([{ tool: '*', from: { role: 'finance', not_requester: true } }]) }));
    same((await asked(other, 14)).length, 1, 'another rule asks others');
    await other.end();
    const stricter = await t.serve(clock.timed(t, { dir: server.dir, config: config(owner, { confirm: { when: { pointer: '/amount', op: '>', value: 1 } } }) }));
    same((await asked(stricter, 15)).length, 1, 'another policy');
    same((await grants(stricter, 'ada'))[0].why, 'definition');
    same(b.books.map((p) => p.amount), [10, 11, 13]);
});

// --- who is asked ------------------------------------------------------------------------------------


test('two of finance say yes, and only then it runs', async (t) => {
    const b = await bank(t), server = await office(t, b);
    const s = await say(server, 'ada', PAY(5000));
    const [id] = s.ids;
    same((await decide(server, 'ada', id, true)).json.error.code, 'not_approver', 'who asked for it is not finance');
    same((await decide(server, 'root', id, true)).status, 403, 'an administrator is not finance');
    same((await decide(server, 'cleo', id, true)).status, 404, 'not yet theirs');
    const mine = await approvals(server, 'fay', '?status=pending');
    same([mine.length, mine[0].owner, mine[0].may, mine[0].needed, mine[0].votes], [1, 'ada', true, 2, []]);
    same(mine[0].who.from, { role: 'finance', count: 2, not_requester: true });
    const first = await decide(server, 'fay', id, true);
    same([first.status, first.json.status, first.json.votes.map((v) => v.by), first.json.needed], [200, 'pending', ['fay'], 2]);
    same((await decide(server, 'fay', id, true)).json.duplicate, true, 'a vote twice is one');
    same(b.books, []);
    const seen = await approval(server, 'fay', id);
    same([seen.may, seen.voted, seen.votes.length, 'lapsed' in seen], [false, true, 1, false]);
    const last = await decide(server, 'fin', id, true);
    same([last.json.status, last.json.decided_by], ['approved', 'fin']);
    await still(server, 'ada', s.thread);
    same(b.books.length, 1);
    same((await approval(server, 'ada', id)).votes.map((v) => v.by), ['fay', 'fin']);
});

for (const [name, open] of Object.entries(DOORS))
    test(`${name}: a yes is one vote where two are needed, and says by which door`, async (t) => {
        const b = await bank(t), server = await t.serve({ config: payments(b, {}, { auth: auth({ ada: ['user', 'finance'], fay: ['finance'] }), approvals: { rules: [{ tool: '*', from: { role: 'finance', count: 2 } }] } }) });
        server.token = key('ada');                 // whoever comes by a door comes as her
        const door = await open(t, server);
        await door.say(PAY(50));
        const [{ id }] = door.asked;
        Promise.resolve(door.answer(id, true)).catch(() => {});      // it waits for the others: some doors say so, some wait along
        const [vote] = await until(async () => { const { votes } = await approval(server, 'fay', id); return votes.length > 0 && votes; }, 'the vote');
        same([vote.by, !!vote.via, b.books], ['ada', true, []]);
        same((await decide(server, 'fay', id, true)).json.status, 'approved');
        await until(() => b.books.length === 1, 'the payment');
        await door.leave?.();
    });

test('one no is a no; a vote can be taken back; whoever asked for it does not count', async (t) => {
    const b = await bank(t), server = await office(t, b);
    const s = await say(server, 'both', PAY(5000));
    same((await decide(server, 'both', s.ids[0], true)).json.error.code, 'requester');
    await until(() => server.log.some((l) => l.event === 'answer.refused' && l.why === 'requester'), 'the log');
    same((await decide(server, 'fay', s.ids[0], true)).json.votes.length, 1);
    const back = await server.request('DELETE', `/v1/approvals/${s.ids[0]}/vote`, undefined, as('fay'));
    same([back.status, back.json.votes], [200, []]);
    same((await server.request('DELETE', `/v1/approvals/${s.ids[0]}/vote`, undefined, as('fay'))).json.error.code, 'no_vote');
    same((await decide(server, 'fin', s.ids[0], true)).json.status, 'pending', 'the one taken back does not count');
    same((await decide(server, 'fox', s.ids[0], false, { reason: 'no budget' })).json.status, 'denied');
    same((await decide(server, 'fay', s.ids[0], true)).json.error.code, 'already_decided');
    await still(server, 'both', s.thread);
    same(b.books, []);
});

test('a vote does not outlive the role it was given by, and can be taken back without it', async (t) => {
    const b = await bank(t), dir = t.folder(), config = (people) => payments(b, {}, { auth: auth(people), approvals: { rules: RULES } });
    const before = await t.serve({ dir, config: config(PEOPLE) });
    const asked = [];
    for (const amount of [5000, 6000, 7000]) asked.push(await say(before, 'ada', PAY(amount)));
    for (const s of asked) same((await decide(before, 'fay', s.ids[0], true)).json.status, 'pending');
    await before.end();
    const { fay, ...rest } = PEOPLE, without = await t.serve({ dir, config: config({ ...rest, fay: ['user'] }) });
    same((await approval(without, 'fin', asked[0].ids[0])).lapsed, ['fay'], 'the card can name whose yes is void');
    same((await decide(without, 'fin', asked[0].ids[0], true)).json.status, 'pending', 'fay is not finance any more');
    const row = await approval(without, 'ada', asked[0].ids[0]);
    same([row.votes.map((v) => v.by), row.lapsed], [['fay', 'fin'], ['fay']]);
    same((await decide(without, 'fay', asked[0].ids[0], true)).status, 404);
    const vote = (who, s) => without.request('DELETE', `/v1/approvals/${s.ids[0]}/vote`, undefined, as(who));
    same((await vote('cleo', asked[0])).status, 404, 'they have none');
    const back = await vote('fay', asked[0]);
    same([back.status, back.json.votes.map((v) => v.by)], [200, ['fin']]);
    same((await vote('fay', asked[0])).status, 404);
    same((await decide(without, 'fox', asked[0].ids[0], true)).json.status, 'approved');
    await still(without, 'ada', asked[0].thread);
    await without.end();
    const gone = await t.serve({ dir, config: config(rest) });
    same((await decide(gone, 'fin', asked[1].ids[0], true)).json.status, 'pending', 'who has no key any more has no role');
    await gone.end();
    same(b.books.map((p) => p.amount), [5000]);
    const again = await t.serve({ dir, config: config(PEOPLE) });
    await until(async () => (await approval(again, 'ada', asked[1].ids[0])).status === 'done', 'the two votes to count again');
    same((await decide(again, 'fin', asked[2].ids[0], true)).json.status, 'approved', 'who has it has it');
    await still(again, 'ada', asked[2].thread);
    same(b.books.map((p) => p.amount), [5000, 6000, 7000]);
});

test('a small one is the owner\'s own, and nobody else sees it', async (t) => {
    const b = await bank(t), server = await office(t, b);
    const s = await say(server, 'ada', PAY(5));
    same(await approvals(server, 'fay', '?status=pending'), []);
    same((await decide(server, 'fay', s.ids[0], true)).json.error.code, 'unknown_confirmation');
    same((await server.get(`/v1/approvals/${s.ids[0]}`, as('fay'))).status, 404);
    same((await decide(server, 'ada', s.ids[0], true)).status, 200);
});

test('when nobody decides in time it goes further, also over a restart, and then it expires', async (t) => {
    const clock = (await import('./doors.mjs')), b = await bank(t);
    const server = await t.serve(clock.timed(t, { config: payments(b, {}, { auth: auth(PEOPLE), approvals: { rules: RULES, context: 'conversation' } }) }));
    const early = await say(server, 'ada', PAY(4000));
    const s = await say(server, 'ada', PAY(5000));
    const [id] = s.ids;
    await decide(server, 'fay', id, true);
    await decide(server, 'fay', early.ids[0], false);
    await server.restart();
    const cleo = await inbox(server, 'cleo');
    const look = async (at) => (await server.get(`/v1/approvals/${at}`, as('cleo'))).status, context = async (at) => (await server.get(`/v1/approvals/${at}/context`, as('cleo'))).status;
    same([await approvals(server, 'cleo'), await look(id), await context(id)], [[], 404, 404], 'not yet theirs');
    clock.later(server, 1801 * 1000);
    const row = await until(async () => { const r = await approval(server, 'cleo', id); return r.needed === 1 && r; }, 'the escalation');
    const first = await cleo.must((e) => e.data?.approval);
    same([first.data.event, first.data.approval.id, first.data.approval.may], ['escalated', id, true], 'the first they hear of it');
    same((await (await inbox(server, 'cleo', '?after=0')).must((e) => e.data?.approval)).data.event, 'escalated', 'also later');
    same([(await approvals(server, 'cleo')).map((r) => r.id), await look(early.ids[0]), await context(early.ids[0]), await context(id)], [[id], 404, 404, 200], 'what was decided before never was theirs');
    same([row.may, row.who.escalate.length], [true, 1]);
    same((await decide(server, 'cleo', id, true)).json.status, 'approved');
    await still(server, 'ada', s.thread);
    same(b.books.length, 1);
    const t2 = await say(server, 'ada', PAY(6000));
    clock.later(server, 7201 * 1000);
    same((await decide(server, 'cleo', t2.ids[0], true)).json.error.code, 'expired');
});

test('no grant is offered where several have to say yes, and one of the owner\'s is no use there', async (t) => {
    const b = await bank(t), server = await office(t, b, { grant: { for: 3600, count: 50, sum: '/amount', max: 100000 } });
    const small = await say(server, 'ada', PAY(5));
    same((await decide(server, 'ada', small.ids[0], true, { grant: { scope: 'me' } })).status, 200);
    await still(server, 'ada', small.thread);
    same((await say(server, 'ada', PAY(6))).ids, [], 'another small one');
    const large = await say(server, 'ada', PAY(5000));
    same(large.ids.length, 1, 'a large one is finance\'s');
    same((await approval(server, 'fay', large.ids[0])).grant, undefined);
    same((await decide(server, 'fay', large.ids[0], true, { grant: { scope: 'me' } })).json.error.code, 'grant_not_offered');
});

// --- a no that stays a no ------------------------------------------------------------------------------

const pay = (amount, more = {}) => ['process_payment', { recipient: 'Hanako', amount, ...more }];

test('what was denied in a turn is not asked again in it, and the model is told by whom and why', async (t) => {
    const b = await bank(t), m = await script(t, [pay(50)], [['process_payment', '{ "amount": 5e1, "recipient": "Hanako" }']], [pay(40)]);
    const server = await t.serve({ config: payments(b, {}, { model: m.model }) });
    const s = await say(server, null, 'go');
    await decide(server, null, s.ids[0], false, { reason: 'not today' });
    const shown = await until(async () => { const r = await still(server, null, s.thread); return r.pending.length === 1 && r; }, 'the question about 40');
    same(shown.pending[0].input.amount, 40, 'the same call, spelled otherwise, is not asked again');
    const told = JSON.parse(m.results().at(-1));
    same([told.denied, told.by, told.reason], [true, 'local', 'not today']);
    same(b.books, []);
});

test('after three noes in a turn nothing more is asked in it', async (t) => {
    const b = await bank(t), m = await script(t, [pay(1), pay(2), pay(3)], [pay(4)], 'I give up.');
    const server = await t.serve({ config: payments(b, {}, { model: m.model }) });
    const s = await say(server, null, 'go');
    same(s.ids.length, 3);
    for (const id of s.ids) await decide(server, null, id, false);
    const shown = await until(async () => { const r = await still(server, null, s.thread); return r.state === 'idle' && r; }, 'the end');
    same(shown.pending, []);
    check(/Too much was denied/.test(m.results().at(-1)), 'the model is told');
    m.steps.push([pay(5)]);
    const next = await say(server, null, 'once more', s.thread);
    same(next.ids.length, 1, 'another turn asks again');
});

test('how many noes are enough is the configuration\'s to say; 0: never', async (t) => {
    const b = await bank(t), noes = [1, 2, 3, 4];
    for (const [deny_limit, asked] of [[1, 1], [0, noes.length]]) {
        const m = await script(t, ...noes.map((n) => [pay(n)]), 'I give up.'), server = await t.serve({ config: payments(b, {}, { model: m.model, approvals: { deny_limit } }) });
        const s = await say(server, null, 'go'), said = [];
        for (let r; (r = await still(server, null, s.thread)).pending.length;) {
            said.push(r.pending[0].id);
            await decide(server, null, said.at(-1), false);
            await until(async () => !(await still(server, null, s.thread)).pending.some((p) => p.id === said.at(-1)), 'the no');
        }
        same([said.length, m.results().some((x) => /Too much was denied/.test(x))], [asked, asked < noes.length], `deny_limit ${deny_limit}`);
        await server.end();
    }
    same(b.books, []);
});

test('old rules ask as they always did', async (t) => {
    const server = await t.serve();
    const s = await server.turn('Send 50 dollars to Hanako');
    const row = (await server.get(`/v1/approvals/${s.payload.awaiting[0]}`)).json;
    for (const member of ['who', 'votes', 'needed', 'may', 'grant', 'edit', 'granted']) check(!(member in row), member);
});

// --- an edit is a new proposal ---------------------------------------------------------------------------

const EDIT = { edit: ['/amount', '/memo'] };

test('a person changes what they may, and that is what runs; the model is told what was made of it', async (t) => {
    const b = await bank(t), m = await script(t, [pay(50)], 'Done.'), server = await t.serve({ config: payments(b, EDIT, { model: m.model }) });
    const s = await say(server, null, 'go');
    same((await approval(server, null, s.ids[0])).edit, ['/amount', '/memo']);
    const r = await decide(server, null, s.ids[0], true, { input: { recipient: 'Hanako', amount: 45, memo: 'for May' } });
    same([r.status, r.json.status], [200, 'replaced']);
    const shown = await still(server, null, s.thread);
    same(b.books.map((x) => [x.amount, x.memo]), [[45, 'for May']]);
    const old = await approval(server, null, s.ids[0]), now = await approval(server, null, r.json.replaced_by);
    same([old.status, old.replaced_by], ['replaced', now.id]);
    same([now.status, now.decided_by, now.input.amount, now.replaces.id, now.replaces.input.amount], ['done', 'local', 45, s.ids[0], 50]);
    same(now.replaces.changed, ['/amount', '/memo']);
    const told = JSON.parse(m.results().at(-1));
    same([told.edited.by, told.edited.arguments.amount, told.result.paid], ['local', 45, 45]);
    const tools = shown.messages.at(-1).parts.filter((p) => p.type === 'tool-process_payment');
    same(tools.map((p) => [p.state, p.output.edited.changed]), [['output-available', ['/amount', '/memo']]], 'one call throughout');
    same((await decide(server, null, s.ids[0], true)).json.error.code, 'already_decided');
});

test('the same edit again is told as before, another one or a plain answer is refused, and nothing runs twice', async (t) => {
    const b = await bank(t), server = await t.serve({ config: payments(b, EDIT) });
    const s = await say(server, null, PAY(50)), [id] = s.ids, { input } = await approval(server, null, id);
    const edit = (amount) => decide(server, null, id, true, { input: { ...input, amount } });
    const first = (await edit(45)).json, again = await edit(45);
    same([again.status, again.json], [200, { ...first, duplicate: true }]);
    await still(server, null, s.thread);
    same((await edit(45)).json, { ...first, duplicate: true }, 'also when it is done');
    for (const r of [await edit(46), await decide(server, null, id, true), await decide(server, null, id, false)]) same(r.json.error?.code, 'already_decided');
    same(b.books.map((x) => x.amount), [45]);
});

test('what may not be changed, or would not fit, leaves the question open and nothing recorded', async (t) => {
    const b = await bank(t), server = await t.serve({ config: payments(b, EDIT) });
    const s = await say(server, null, PAY(50));
    const seq = (await still(server, null, s.thread)).seq, row = await approval(server, null, s.ids[0]);
    const code = async (input) => (await decide(server, null, s.ids[0], true, { input })).json.error?.code;
    for (const [input, want] of [[{ ...row.input, recipient: 'Mallory' }, 'edit_not_allowed'], [{ ...row.input, Amount: 5 }, 'edit_not_allowed'], [{ amount: 50 }, 'edit_not_allowed'],
        [{ ...row.input, amount: -5 }, 'edit_invalid'], [{ ...row.input, amount: 'all of it' }, 'edit_invalid'], [[1], 'malformed_answer'], ['x', 'malformed_answer']]) same(await code(input), want, JSON.stringify(input));
    same((await still(server, null, s.thread)).seq, seq, 'nothing recorded');
    await until(() => server.log.some((l) => l.why === 'edit_not_allowed'), 'the log');
    same((await decide(server, null, s.ids[0], true, { input: row.input })).json.status, 'approved', 'the same is a plain yes');
});

test('an edit over the next rule\'s limit is asked of those whom that rule names', async (t) => {
    const b = await bank(t), server = await office(t, b, EDIT);
    const s = await say(server, 'ada', PAY(50));
    const row = await approval(server, 'ada', s.ids[0]);
    const r = await decide(server, 'ada', s.ids[0], true, { input: { ...row.input, amount: 5000 } });
    same(r.json.status, 'replaced');
    const next = await approval(server, 'fay', r.json.replaced_by);
    same([next.status, next.may, next.replaces.by, next.input.amount], ['pending', true, 'ada', 5000]);
    same((await still(server, 'ada', s.thread)).pending.map((p) => p.id), [next.id]);
    const old = await approval(server, 'ada', s.ids[0]);
    same([old.status, old.replaced_by], ['replaced', next.id], 'also while the new one waits');
    await decide(server, 'fay', next.id, true);
    await decide(server, 'fin', next.id, true);
    await still(server, 'ada', s.thread);
    same(b.books.map((x) => x.amount), [5000]);
    const t2 = await say(server, 'ada', PAY(60));
    const e2 = await decide(server, 'ada', t2.ids[0], true, { input: { ...row.input, amount: 7000 } });
    await decide(server, 'fox', e2.json.replaced_by, false);
    await still(server, 'ada', t2.thread);
    same([(await approval(server, 'ada', t2.ids[0])).status, b.books.length], ['replaced', 1], 'a no to the new question ends both');
});

test('who changed a call of somebody else sees what became of it, and others of other roles do not', async (t) => {
    const b = await bank(t), rules = [{ tool: 'close_*', from: 'cfo' }, { tool: '*', from: { role: 'finance', count: 1, not_requester: true } }], server = await office(t, b, EDIT, rules);
    const s = await say(server, 'ada', PAY(50)), row = await approval(server, 'fay', s.ids[0]);
    const r = await decide(server, 'fay', s.ids[0], true, { input: { ...row.input, amount: 45 } });
    same(r.json.status, 'replaced');
    await still(server, 'ada', s.thread);
    const now = await approval(server, 'fay', r.json.replaced_by);
    same([now.status, now.owner, now.decided_by, now.input.amount], ['done', 'ada', 'fay', 45]);
    check((await approvals(server, 'fay')).some((x) => x.id === now.id), 'it is in the list, too');
    same((await server.get(`/v1/approvals/${now.id}`, as('cleo'))).status, 404);
    same(b.books.map((x) => x.amount), [45]);
});

// A yes with more in it, by the doors that can carry it: `terms` as REST has them.
const click = async ({ chat }, id, terms) => {
    chat.mark(id, true);
    const part = toolsOf(chat.last).find((p) => p.approval?.id === id || p.toolCallId === id);
    Object.assign(part.toolCallId === id ? part.output : part.approval, terms);
    const s = await chat.maybeSend();
    for (const k of Object.keys(terms)) delete (part.toolCallId === id ? part.output : part.approval)[k];
    return s;
};
const CARRY = {
    '/api/chat': click,
    '/stream': click,
    '/run_sse': (door, id, terms) => door.post([{ functionResponse: { id, name: 'adk_request_confirmation', response: { confirmed: true, ...terms } } }]),
    '/live': (door, id, terms) => { door.live.approve(id, true, terms); return door.outcome(id); },
    '/live, as ADK has it': (door, id, terms) => { door.live.send('tool_result', { toolCallId: id, toolName: 'adk_request_confirmation', result: { confirmed: true, ...terms } }, true); return door.outcome(id); },
    typed: (door, id, terms) => door.read({ action: { action: 'approve', data: { confirmation_id: id, ...terms } } }),
    '/ag-ui': (door, id, { grant, input }) => door.post({ resume: [{ interruptId: id, status: 'resolved', payload: { approved: true, ...(grant && { grant }), ...(input && { editedArgs: input }) } }] }),
};
for (const [name, yes] of Object.entries(CARRY))
    test(`${name}: a grant and an edit come with a yes, and are judged as by REST`, async (t) => {
        const b = await bank(t), server = await t.serve({ config: payments(b, { ...GRANT, ...EDIT }) }), open = DOORS[name.split(',')[0]];
        const first = await open(t, server);
        await first.say(PAY(50));
        const [{ id }] = first.asked;
        await Promise.resolve(yes(first, id, { grant: { scope: 'me', count: 99 } })).then(() => check(false, 'too wide'), () => {});
        same(await grants(server, null), [], 'a wider one is none');
        await yes(first, id, { grant: { scope: 'me', count: 2 } });
        await until(() => b.books.length === 1, 'the payment');
        const [g] = await until(async () => { const all = await grants(server, null); return all.length && all; }, 'the grant');
        same([g.count, g.uses, g.status], [2, 1, 'open']);
        same((await server.request('DELETE', `/v1/grants/${g.id}`)).json.status, 'revoked');
        const second = await open(t, server);
        await second.say(PAY(60));
        const [q] = second.asked;
        await yes(second, q.id, { input: { ...q.input, amount: 55, memo: 'less' } });
        await until(() => b.books.length === 2, 'the changed payment');
        same([b.books[1].amount, b.books[1].memo, (await approval(server, null, q.id)).status], [55, 'less', 'replaced']);
        await first.leave();
        await second.leave();
    });

// --- where people are ------------------------------------------------------------------------------------

async function inbox(server, who, query = '') {
    const s = await server.open('GET', `/v1/approvals/events${query}`, undefined, as(who));
    s.told = (event) => s.must((e) => e.data.event === event);
    return s;
}

test('who may see a question is told of everything that becomes of it, from any place on', async (t) => {
    const b = await bank(t), server = await office(t, b);
    const fay = await inbox(server, 'fay'), cleo = await inbox(server, 'cleo'), ada = await inbox(server, 'ada');
    const small = await say(server, 'ada', PAY(5)), large = await say(server, 'ada', PAY(5000));
    const asked = (await fay.told('asked')).data;
    same([asked.approval.id, asked.approval.owner, asked.approval.may], [large.ids[0], 'ada', true], 'the small one is not finance\'s');
    await decide(server, 'fay', large.ids[0], true);
    same((await fay.told('voted')).data.approval.votes.length, 1);
    await decide(server, 'fin', large.ids[0], true);
    const last = await fay.told('decided');
    same(last.data.approval.decided_by, 'fin');
    same((await ada.told('asked')).data.approval.id, small.ids[0], 'their own, both');
    await fay.close();
    await server.restart('SIGKILL');
    const again = await inbox(server, 'fay', `?after=${asked && fay.events[0].id}`);
    same([(await again.told('voted')).data.event, (await again.told('decided')).data.event], ['voted', 'decided'], 'after a restart it goes on');
    const all = await inbox(server, 'fay', '?after=0');
    same((await all.told('asked')).data.approval.id, large.ids[0]);
    same((await server.get('/v1/approvals/events?after=x', as('fay'))).json.error.code, 'bad_place');
    check(!cleo.events.some((e) => e.data?.approval?.id === small.ids[0]), 'not theirs');
});

test('each thing that can become of a question has its event: expired, cancelled, unknown, settled', async (t) => {
    const clock = await import('./doors.mjs'), b = await bank(t, () => 'nothing'), rules = [{ tool: '*', from: 'finance', expires: 7200 }];
    const server = await t.serve(clock.timed(t, { config: payments(b, {}, { auth: auth({ ada: ['user'], fay: ['finance'] }), approvals: { rules } }) })), fay = await inbox(server, 'fay');
    const lost = await say(server, 'ada', PAY(5)), stopped = await say(server, 'ada', PAY(6)), late = await say(server, 'ada', PAY(7));
    await decide(server, 'fay', lost.ids[0], true);
    await still(server, 'ada', lost.thread);
    same((await server.post(`/v1/approvals/${lost.ids[0]}/settle`, { outcome: 'not_done' }, as('fay'))).status, 200);
    same((await say(server, 'ada', 'Never mind', stopped.thread)).ids, [], 'going on takes it back');
    clock.later(server, 7201 * 1000);
    await approvals(server, 'fay');
    const last = await fay.told('expired');
    same(last.data.approval.id, late.ids[0]);
    const of = (id) => fay.events.filter((e) => e.data?.approval?.id === id).map((e) => [e.data.event, e.data.approval.status]);
    same(of(lost.ids[0]).map(([event]) => event), ['asked', 'decided', 'unknown', 'settled']);
    same(of(stopped.ids[0]), [['asked', 'pending'], ['cancelled', 'cancelled']]);
    same(of(late.ids[0]), [['asked', 'pending'], ['expired', 'expired']]);
});

test('webhooks: every event arrives signed, at least once and under one id, whatever the receiver does', async (t) => {
    const b = await bank(t), n = 4;
    const fine = await receiver(t), rough = await receiver(t, (tries, all) => (tries === 0 ? 500 : tries === 1 ? ['nothing', 302][all % 2] : 200)), notFinance = await receiver(t);
    const hook = (r, more = {}) => ({ url: r.url, secret: SECRET, allow: ['127.0.0.1'], ...more });
    const server = await desk(t, b, { notify: [hook(fine), hook(rough, { events: ['asked', 'decided'] }), hook(notFinance, { roles: ['cfo'] })] });
    const ids = [];
    for (let i = 0; i < n; i++) {
        const s = await say(server, 'ada', PAY(5000 + i));
        await decide(server, 'fay', s.ids[0], true);
        await decide(server, 'fin', s.ids[0], i % 2 === 0);
        ids.push(s.ids[0]);
        if (i === 1) await server.restart('SIGKILL');
    }
    await until(() => fine.taken().length === 3 * n, 'all at the one that is fine', 30000);
    await until(() => rough.taken().length === 2 * n, 'all at the one that is not', 60000);
    check(fine.got.every((g) => g.sound) && rough.got.every((g) => g.sound), 'signed');
    for (const id of ids) same(fine.got.filter((g) => g.body.data.approval.id === id && g.body.type === 'approval.asked').map((g) => g.id).filter((x, i, a) => a.indexOf(x) === i).length, 1, 'one id for one event');
    same(notFinance.got, [], 'not asked of them');
    check(!server.err.includes(SECRET) && !server.err.includes(SECRET.slice(6)), 'no secret in the log');
}, { timeout_ms: 200000 });

test('a webhook goes to no private address that is not allowed, and after a while only of what still waits', async (t) => {
    const b = await bank(t), secret = await receiver(t), late = await receiver(t);
    const server = await desk(t, b, { notify: [{ url: secret.url, secret: SECRET }, { url: late.url, secret: SECRET, allow: ['127.0.0.1'], events: ['asked'], after: 1 }] });
    const gone = await say(server, 'ada', PAY(5000));
    await decide(server, 'fay', gone.ids[0], false);
    const waits = await say(server, 'ada', PAY(6000));
    await until(() => late.got.length > 0, 'the one that still waits', 30000);
    same(late.got.map((g) => g.body.data.approval.id), [waits.ids[0]]);
    await until(() => server.log.some((l) => l.event === 'notify.failed'), 'the log');
    same(secret.got, []);
});

// --- forgeries, all in one place ---------------------------------------------------------------------------

test('every forgery is refused and stands in the log, by whom and why; no secret does', async (t) => {
    const b = await bank(t), tool = { grant: { for: 3600, count: 5, sum: '/amount', max: 200 }, edit: ['/memo'] };
    const server = await t.serve({ config: payments(b, tool, { auth: auth(BOT), approvals: { rules: RULES }, ...LINKS, notify: [{ url: (await receiver(t)).url, secret: SECRET, allow: ['127.0.0.1'] }] }) });
    const small = await say(server, 'ada', PAY(50)), large = await say(server, 'both', PAY(5000)), [mine] = small.ids, [theirs] = large.ids, row = await approval(server, 'ada', mine);
    const logged = (why, by, event = 'answer.refused') => until(() => server.log.some((l) => l.event === event && l.level === 'security' && l.why === why && (!by || l.by === by)), `the log to say ${why}`);
    const refused = async (what, r, status, why, by) => { same(r.status, status, `${what}: ${r.text}`); await logged(why, by); };
    const grant = (who, id, more) => decide(server, who, id, true, { grant: { scope: 'me', ...more } });

    await refused('a grant for another\'s call', await grant('fin', mine, {}), 404, 'unknown_confirmation', 'fin');
    await refused('a grant for another tool', await grant('ada', mine, { tool: 'close_account' }), 422, 'grant_invalid', 'ada');
    await refused('a grant wider than the tool allows', await grant('ada', mine, { count: 6 }), 422, 'grant_too_wide', 'ada');
    for (const max of [-5, '-0.01', '1e400', '0', 'NaN', '49.999999', true]) await refused(`a grant of ${max}`, await grant('ada', mine, { max }), 422, 'grant_invalid', 'ada');
    await refused('a grant of an absurd amount', await grant('ada', mine, { max: 9e15 }), 422, 'grant_too_wide', 'ada');
    await refused('a grant where several decide', await grant('fay', theirs, {}), 422, 'grant_not_offered', 'fay');
    await refused('a vote by the requester', await decide(server, 'both', theirs, true), 403, 'requester', 'both');
    same((await decide(server, 'fay', theirs, true)).json.votes.length, 1);
    const twice = await decide(server, 'fay', theirs, true);
    same([twice.json.status, twice.json.duplicate, twice.json.votes.length], ['pending', true, 1], 'a vote twice is one');
    await logged('voted_before', 'fay');
    await refused('an edit of what is not listed', await decide(server, 'ada', mine, true, { input: { ...row.input, recipient: 'Mallory' } }), 422, 'edit_not_allowed', 'ada');
    const other = pathOf(await link(server, 'bot', theirs, 'fin')), payload = JSON.parse(Buffer.from(other.slice(5).split('.')[0], 'base64url'));
    same((await press(server, `/a/k.${Buffer.from(JSON.stringify({ ...payload, i: mine, o: 'ada' })).toString('base64url')}.${other.split('.')[2]}`, 'approve')).status, 410, 'a link for another approval');
    await logged('forged_or_old', undefined, 'link.refused');
    same([(await press(server, other, 'deny')).status, (await press(server, other, 'approve')).status], [200, 410], 'a link twice');
    await logged('used_or_over', 'fin', 'link.refused');

    same([b.books, (await approval(server, 'ada', mine)).status, (await approval(server, 'both', theirs)).status, await grants(server, 'ada')], [[], 'pending', 'denied', []], 'nothing came of any of it');
    for (const secret of [SECRET, SECRET.slice(6), 'a secret of twenty-four b', LINKS.links.key.slice(5), other.split('.')[2]]) check(!server.err.includes(secret), 'no secret stands in the log');
});

test('"1e3", 1000 and 1000.0 are one amount, wherever one is meant', async (t) => {
    const b = await bank(t), to = (amount) => [['process_payment', `{"recipient":"Hanako","amount":${amount}}`]];
    const m = await script(t, to('1000'), 'ok', to('1e3'), 'ok', to('1000.0'), 'ok', to('10.0E2'), 'ok', to('0.001e6'), 'ok', to('1'), 'ok');
    const server = await t.serve({ config: payments(b, { grant: { for: 3600, count: 50, sum: '/amount', max: 5000, same: ['/amount'] } }, { model: m.model }) });
    const s = await say(server, null, 'go');
    same((await decide(server, null, s.ids[0], true, { grant: { scope: 'me', max: '5e3' } })).json.grant?.max, '5000');
    await still(server, null, s.thread);
    for (let i = 0; i < 4; i++) same((await say(server, null, 'go')).ids, [], 'the same amount');
    const [g] = await grants(server, null);
    same([g.uses, g.amount, g.status], [5, '5000', 'used_up']);
    same((await say(server, null, 'go')).ids.length, 1, 'another amount, and nothing is left');
    same(b.books.map((x) => x.amount), [1000, 1000, 1000, 1000, 1000]);
});

test('amounts that are negative, absurd or none at all take nothing of a grant, and are asked about', async (t) => {
    const b = await bank(t), odd = ['-5', '-0.01', '0.0000001', '"1e3"', '"1000"', '9223372036855', 'null', '[5]', undefined];
    const to = (amount) => [['process_payment', `{"recipient":"Hanako"${amount === undefined ? '' : `,"amount":${amount}`}}`]], m = await script(t, to('10'), 'ok', ...odd.map(to));
    const server = await t.serve({ config: payments(b, { confirm: 'always', input_schema: { type: 'object' }, grant: { for: 3600, count: 50, sum: '/amount', max: 5000 } }, { model: m.model }) });
    const s = await say(server, null, 'go'), left = async () => (await grants(server, null)).map((g) => [g.uses, g.amount]);
    same((await decide(server, null, s.ids[0], true, { grant: { scope: 'me' } })).status, 200);
    await still(server, null, s.thread);
    for (const amount of odd) same([(await say(server, null, 'go')).ids.length, await left()], [1, [[1, '10']]], `${amount}`);
    m.steps.push(to('1e400'), 'ok', to('4990'), 'ok');
    await say(server, null, 'go');
    same([b.books.length, await left()], [1, [[1, '10']]], 'no number at all does not run');
    same((await say(server, null, 'go')).ids, [], 'what is left is left');
    same([b.books.length, await left()], [2, [[2, '5000']]]);
});

// --- what an outsider found -----------------------------------------------------------------------

test('arguments that leave open which rule applies are asked about by the strictest of those that may', async (t) => {
    const b = await bank(t), odd = ['{"recipient":"Hanako","amount":"5000"}', '{"recipient":"Hanako","AMOUNT":5000}', '{"recipient":"Hanako","amount":50,"Amount":5000}', '{"recipient":"Hanako"}'];
    const m = await script(t, [['process_payment', '{"recipient":"Hanako","amount":50}']], 'ok', ...odd.flatMap((args) => [[['process_payment', args]]]));
    const rules = [{ tool: 'process_*', when: { pointer: '/amount', op: '<=', value: 100 }, from: 'owner' }, { tool: '*', from: { role: 'finance', count: 2 } }];
    const server = await t.serve({ config: payments(b, { confirm: 'always', input_schema: { type: 'object' }, grant: { for: 600, count: 5 } }, { model: m.model, auth: auth({ ada: ['user'], fay: ['finance'], fin: ['finance'] }), approvals: { rules } }) });
    const plain = await say(server, 'ada', 'go');
    same((await approval(server, 'ada', plain.ids[0])).who.from.role, 'owner');
    same((await decide(server, 'ada', plain.ids[0], true, { grant: { scope: 'me' } })).json.status, 'approved');
    await still(server, 'ada', plain.thread);
    for (const args of odd) {
        const s = await say(server, 'ada', 'go');
        same([s.ids.length, (await approval(server, 'ada', s.ids[0])).who.from.count], [1, 2], args);
        same((await decide(server, 'ada', s.ids[0], true)).status, 403, 'not the one who asked');
    }
    same(b.books.length, 1);
});

test('a yes to other arguments, or worth more, after a plain yes is told as another answer', async (t) => {
    const b = await bank(t), server = await t.serve({ config: payments(b, { edit: ['/amount'], grant: { for: 600, count: 5 } }) });
    const s = await say(server, null, PAY(50)), row = await approval(server, null, s.ids[0]);
    same((await decide(server, null, s.ids[0], true)).json.status, 'approved');
    for (const more of [{ input: { ...row.input, amount: 77 } }, { grant: { scope: 'me' } }])
        same([(await decide(server, null, s.ids[0], true, more)).json.error?.code], ['already_decided'], JSON.stringify(more));
    same((await decide(server, null, s.ids[0], true, { input: row.input })).json.duplicate, true, 'the same again');
    await still(server, null, s.thread);
    same([b.books.map((x) => x.amount), await grants(server, null)], [[50], []]);
});

test('several calls of one step that a grant allows all run by it, each once', async (t) => {
    const b = await bank(t), pay = (amount, recipient) => ['process_payment', { amount, recipient, currency: 'USD' }];
    const m = await script(t, [pay(1, 'Hanako')], 'Paid.', [pay(2, 'Hanako'), pay(3, 'Hanako'), pay(4, 'Hanako')], 'Paid.');
    const server = await t.serve({ config: payments(b, { grant: { for: 3600, count: 10, sum: '/amount', max: 100, same: ['/recipient'] } }, { model: m.model }) });
    const first = await say(server, null, 'Pay Hanako');
    same((await decide(server, null, first.ids[0], true, { grant: { scope: 'me' } })).status, 200);
    await still(server, null, first.thread);
    const more = await say(server, null, 'And three more', first.thread);
    same(more.ids, [], 'nobody is asked');
    same(b.books.map((p) => p.amount), [1, 2, 3, 4]);
    const [g] = await grants(server, null);
    same([g.uses, g.amount], [4, '10'], 'what was taken of it');
});

test('whoever asked for it does not get a grant of others back by saying that nothing happened', async (t) => {
    const b = await bank(t, () => 'nothing'), pay = ['process_payment', { amount: 60, recipient: 'Hanako', currency: 'USD' }];
    const m = await script(t, [['process_payment', { amount: 1, recipient: 'Hanako', currency: 'USD' }]], 'Paid.', [pay], 'Who knows.');
    const server = await t.serve({ config: payments(b, { grant: { for: 3600, count: 10, sum: '/amount', max: 100 } }, { model: m.model,
        auth: auth({ ada: ['user'], fay: ['finance'], gus: ['finance'] }), approvals: { rules: [{ tool: 'process_payment', from: { role: 'finance', count: 1, not_requester: true } }] } }) });
    const first = await say(server, 'ada', 'Pay Hanako');
    same((await decide(server, 'fay', first.ids[0], true, { grant: { scope: 'me' } })).status, 200);
    await still(server, 'ada', first.thread);
    await say(server, 'ada', 'Pay once more', first.thread);
    await still(server, 'ada', first.thread);
    const unknown = (await approvals(server, 'ada', '?status=unknown')).find((a) => a.input.amount === 60);
    const settle = (who) => server.post(`/v1/approvals/${unknown.id}/settle`, { outcome: 'not_done' }, as(who));
    const left = async () => (await grants(server, 'ada')).map((g) => [g.uses, g.amount]);
    const before = await left();
    same((await settle('ada')).status, 403);
    same(await left(), before, 'nothing came back');
    same((await approvals(server, 'gus', '?status=unknown')).map((r) => r.id).includes(unknown.id), true, 'who would have been asked sees it');
    const settled = await settle('fay');
    same([settled.status, settled.json.status, settled.json.settled_by], [200, 'failed', 'fay'], 'and is told how it stands');
    same(await left(), [[1, '1']], 'whoever gave it may say so');
});
