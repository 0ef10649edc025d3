// The approvals of an organisation: effects once, yeses that are worth more than one call, several
// people who have to say yes, noes that stay. docs/approvals.md is what they hold to.
import { check, same, test, until } from './lib.mjs';
import { approval, approvals, as, auth, bank, decide, grants, payments, say, script, still } from './org.mjs';

const PAY = (n, to = 'Hanako') => `Send ${n} dollars to ${to}`;

// --- the same effect only once ------------------------------------------------------------------

test('the same effect is carried out once, and the second call gets the first one\'s result', async (t) => {
    const b = await bank(t), server = await t.serve({ config: payments(b, { effect: 'pay:{recipient}' }) });
    const first = await say(server, null, PAY(50));
    same((await decide(server, null, first.ids[0], true)).status, 200);
    await still(server, null, first.thread);
    const second = await say(server, null, PAY(70));
    same(second.ids, [], 'nobody is asked about what would not run');
    const card = second.history[0];
    check(/duplicate/.test(card.output), card.output);
    check(/"paid":50/.test(card.output), 'the first one\'s result');
    same(b.books.length, 1);
    const row = (await approvals(server, null, '?status=duplicate'))[0];
    same([row.status, row.duplicate_of.call], ['duplicate', b.books[0].call]);
});

test('two calls of one turn for the same effect: one is asked and runs, the other is its duplicate', async (t) => {
    const b = await bank(t), server = await t.serve({ config: payments(b, { effect: 'to:{currency}' }) });
    const s = await say(server, null, 'Send 50 dollars to Hanako and 20 dollars to Taro');
    same(s.ids.length, 2);
    const answers = await Promise.all(s.ids.map((id) => decide(server, null, id, true)));
    same(answers.map((r) => r.status), [200, 200]);
    await still(server, null, s.thread);
    same(b.books.length, 1);
    const rows = await approvals(server, null);
    check(rows.some((r) => r.status === 'done'), 'one is done');
    check(rows.some((r) => ['duplicate', 'failed'].includes(r.status)), 'the other is not');
});

test('an effect that certainly did not happen is free again; an unknown one is not, until it is settled', async (t) => {
    let how = { status: 422, body: { error: 'no such account' } };
    const b = await bank(t, () => how), server = await t.serve({ config: payments(b, { effect: 'pay:{recipient}' }) });
    const pay = async () => { const s = await say(server, null, PAY(50)); if (s.ids.length) await decide(server, null, s.ids[0], true); await still(server, null, s.thread); return s; };
    const failed = await pay();
    same((await approval(server, null, failed.ids[0])).status, 'failed');
    how = 'nothing';
    const unknown = await pay();
    same((await approval(server, null, unknown.ids[0])).status, 'unknown', 'the key was free, and now nobody knows');
    how = undefined;
    const refused = await pay();
    same(refused.ids, []);
    check(/settle/.test(refused.history[0].output), refused.history[0].output);
    same(b.books, []);
    same((await server.post(`/v1/approvals/${unknown.ids[0]}/settle`, { outcome: 'not_done' })).status, 200);
    await pay();
    same(b.books.length, 1);
    const again = await pay();
    check(/duplicate/.test(again.history[0].output), 'now it is done');
    same(b.books.length, 1);
});

test('one amount is one effect, however it is written; without its member there is none', async (t) => {
    const b = await bank(t), server = await t.serve({ config: payments(b, { effect: 'sum:{amount}', confirm: 'never' }) });
    await say(server, null, PAY(50));
    same((await say(server, null, PAY('50.00'))).history[0].output.includes('duplicate'), true);
    same(b.books.length, 1);
    const none = await t.serve({ config: payments(b, { effect: 'iban:{iban}', confirm: 'never' }) });
    check(/was not run/.test((await say(none, null, PAY(60))).history[0].output), 'no key, no payment');
    same(b.books.length, 1);
});

test('an effect belongs to everybody, or to each by themselves', async (t) => {
    const b = await bank(t), people = { ada: ['user'], bob: ['user'] };
    const all = await t.serve({ config: payments(b, { effect: 'pay:{recipient}', confirm: 'never' }, { auth: auth(people) }) });
    await say(all, 'ada', PAY(50));
    const second = await say(all, 'bob', PAY(50));
    check(/duplicate/.test(second.history[0].output), 'bob\'s is ada\'s');
    check(!second.history[0].output.includes(`"thread":"t_`), 'whose conversation it was is not told');
    same(b.books.length, 1);
    const own = await t.serve({ config: payments(b, { effect: 'pay:{recipient}', effect_scope: 'owner', confirm: 'never' }, { auth: auth(people) }) });
    await say(own, 'ada', PAY(50));
    await say(own, 'bob', PAY(50));
    await say(own, 'bob', PAY(50));
    same(b.books.length, 3);
});

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

test('a grant ends when the tool is another, and lives over a restart', async (t) => {
    const b = await bank(t), dir = t.folder(), server = await t.serve({ dir, config: payments(b, GRANT) });
    const s = await say(server, null, PAY(10));
    await decide(server, null, s.ids[0], true, { grant: { scope: 'me' } });
    await still(server, null, s.thread);
    await server.restart('SIGKILL');
    same((await say(server, null, PAY(10))).ids, [], 'after a crash it is still there');
    await server.end();
    const other = await t.serve({ dir, config: payments(b, { ...GRANT, description: 'Pays in another way.' }) });
    same((await say(other, null, PAY(10))).ids.length, 1);
    const [g] = await grants(other, null);
    same([g.status, g.why], ['ended', 'definition']);
});

// --- who is asked ------------------------------------------------------------------------------------

const PEOPLE = { ada: ['user'], fay: ['finance'], fin: ['finance', 'user'], fox: ['finance'], cleo: ['cfo'], root: ['admin'], both: ['user', 'finance', 'admin'] };
const RULES = [{ tool: 'process_*', when: { pointer: '/amount', op: '>', value: 1000 }, from: { role: 'finance', count: 2, not_requester: true }, expires: 7200, escalate: [{ after: 1800, to: { role: 'cfo' } }] },
    { tool: '*', from: 'owner' }];
const office = (t, b, tool = {}, rules = RULES, more = {}) => t.serve({ config: payments(b, tool, { auth: auth(PEOPLE), approvals: { rules } }), ...more });

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
    same([seen.may, seen.voted, seen.votes.length], [false, true, 1]);
    const last = await decide(server, 'fin', id, true);
    same([last.json.status, last.json.decided_by], ['approved', 'fin']);
    await still(server, 'ada', s.thread);
    same(b.books.length, 1);
    same((await approval(server, 'ada', id)).votes.map((v) => v.by), ['fay', 'fin']);
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
    const server = await t.serve(clock.timed(t, { config: payments(b, {}, { auth: auth(PEOPLE), approvals: { rules: RULES } }) }));
    const s = await say(server, 'ada', PAY(5000));
    const [id] = s.ids;
    await decide(server, 'fay', id, true);
    clock.later(server, 1801 * 1000);
    const row = await until(async () => { const r = await approval(server, 'cleo', id); return r.needed === 1 && r; }, 'the escalation');
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
