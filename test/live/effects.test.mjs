// The same effect only once, whoever asks for it and however it is spelled. docs/approvals.md is what
// they hold to.
import { check, same, test, until } from './lib.mjs';
import { PAY, approval, approvals, auth, bank, decide, key, payments, say, script, still } from './org.mjs';

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

test('a call that is changed into an effect which is taken is its duplicate, and is answered', async (t) => {
    const b = await bank(t), server = await t.serve({ config: payments(b, { effect: 'pay:{recipient}', edit: ['/recipient'] }) });
    const first = await say(server, null, PAY(50));
    same((await decide(server, null, first.ids[0], true)).status, 200);
    await still(server, null, first.thread);
    const second = await say(server, null, PAY(70, 'Taro')), { input } = await approval(server, null, second.ids[0]);
    const r = await decide(server, null, second.ids[0], true, { input: { ...input, recipient: 'Hanako' } });
    same([r.status, r.json.status], [200, 'replaced']);
    await still(server, null, second.thread);
    same((await approval(server, null, r.json.replaced_by)).status, 'duplicate');
    same(b.books.length, 1);
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

for (const [what, reply, again] of [['is done', undefined, 0], ['certainly did not happen', { status: 422, body: { error: 'no' } }, 1]])
    test(`a conversation is deleted while its call is at work: the call comes to its end, and when it ${what} that counts`, async (t) => {
        let go, reached;
        const let_go = new Promise((yes) => { go = yes; }), there = new Promise((yes) => { reached = yes; });
        const b = await bank(t, async () => { reached(); await let_go; return reply; }), server = await t.serve({ config: payments(b, { effect: 'pay:{recipient}' }) });
        const s = await say(server, null, PAY(50));
        same((await decide(server, null, s.ids[0], true)).status, 200);
        await there;
        let gone = false;
        const deleting = server.request('DELETE', `/v1/threads/${s.thread}`).then((r) => { gone = true; return r; });
        same((await say(server, null, PAY(70))).ids, [], 'the same effect is under way');
        check(!gone, 'it waits for the outcome');
        go();
        check([200, 204].includes((await deleting).status), 'it is deleted');
        same((await server.get(`/v1/threads/${s.thread}`)).status, 404);
        const next = await say(server, null, PAY(80));
        same(next.ids.length, again);
        if (!again) check(/duplicate/.test(next.history[0].output), next.history[0].output);
        same(b.books.length, again ? 0 : 1);
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

test('names that look the same are one effect, or none', async (t) => {
    const to = (recipient) => [['process_payment', { recipient, amount: 5 }]], b = await bank(t), said = [];
    const m = await script(t, to('Jos\u00e9 A'), 'ok', to(' Jos\u00e9\u200b A\ufeff'), 'ok', to('Jos\u00e9\u00a0A\u2003'), 'ok', to('Jose\u0301 A'), 'ok', to('\u200b'), 'ok', to('jos\u00e9 a'), 'ok', to('Jose A'), 'ok');
    const server = await t.serve({ config: payments(b, { effect: 'pay:{recipient}', confirm: 'never' }, { model: m.model }) });
    for (let i = 0; i < 7; i++) said.push((await say(server, null, 'go')).history[0].output);
    same(said.map((text) => (/"duplicate":true/.test(text) ? 'the same' : /was not run/.test(text) ? 'no name' : 'paid')), ['paid', 'the same', 'the same', 'the same', 'no name', 'paid', 'paid']);
    same(b.books.map((p) => p.recipient), ['Jos\u00e9 A', 'jos\u00e9 a', 'Jose A']);
});

// Unicode's White_Space, all of it.
const BLANKS = [...'\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000'];

test('no blank around a name makes it another effect', async (t) => {
    const to = (recipient) => [['process_payment', { recipient, amount: 5 }]], b = await bank(t), names = ['A7', ...BLANKS.flatMap((x) => [`A7${x}`, `${x}A7`])];
    const m = await script(t, ...names.flatMap((x) => [to(x), 'ok']));
    const server = await t.serve({ config: payments(b, { effect: 'pay:{recipient}', confirm: 'never' }, { model: m.model }) });
    for (let i = 0; i < names.length; i++) await say(server, null, 'go');
    same(b.books.map((p) => p.recipient), ['A7']);
});

// What is one text to everybody who knows Unicode, in pairs: the Kelvin sign, Angstrom, kana with its
// mark, Hangul in parts, two marks in either order.
const SPELLINGS = [['\u212a1', 'K1'], ['\u212bse', '\u00c5se'], ['\u304b\u3099', '\u304c'], ['\u1112\u1161\u11ab', '\ud55c'], ['q\u0323\u0307', 'q\u0307\u0323']];

test('one text is one effect, one denied call and one recipient of a grant, however it is spelled', async (t) => {
    const to = (recipient) => [['process_payment', { recipient, amount: 5 }]], b = await bank(t);
    const one = await script(t, ...SPELLINGS.flat().flatMap((r) => [to(r), 'ok']));
    const once = await t.serve({ config: payments(b, { effect: 'pay:{recipient}', confirm: 'never' }, { model: one.model }) });
    for (let i = 0; i < SPELLINGS.length * 2; i++) await say(once, null, 'go');
    same(b.books.map((p) => p.recipient), SPELLINGS.map(([r]) => r), 'each once');
    const two = await script(t, ...SPELLINGS.flatMap(([x, y]) => [to(x), to(y), 'ok'])), denied = await t.serve({ config: payments(b, {}, { model: two.model }) });
    for (const [x] of SPELLINGS) {
        const s = await say(denied, null, 'go');
        same((await decide(denied, null, s.ids[0], false)).status, 200);
        same([(await still(denied, null, s.thread)).pending, JSON.parse(two.results().at(-1)).denied], [[], true], `${x}: not asked again`);
    }
    const three = await script(t, ...SPELLINGS.flatMap(([x, y]) => [to(x), 'ok', to(y), 'ok'])), granted = await t.serve({ config: payments(b, { grant: { for: 600, count: 5, same: ['/recipient'] } }, { model: three.model }) });
    for (const [x] of SPELLINGS) {
        const s = await say(granted, null, 'go');
        same((await decide(granted, null, s.ids[0], true, { grant: { scope: 'me' } })).status, 200);
        await still(granted, null, s.thread);
        same((await say(granted, null, 'go')).ids, [], `${x}: allowed`);
    }
    same(b.books.length, SPELLINGS.length * 3);
});

const LOOKS = [' K', 'K ', 'K\u200b', '\u3000K', 'K\u00ad\n'];
test('blanks around a text and what shows nothing make no other call of one that was denied or done, and none that a grant covers', async (t) => {
    const to = (recipient) => [['process_payment', { recipient, amount: 5 }]], b = await bank(t);
    const m = await script(t, ...LOOKS.flatMap((x) => [to('K'), to(x), 'ok'])), denied = await t.serve({ config: payments(b, {}, { model: m.model }) });
    for (const x of LOOKS) {
        const s = await say(denied, null, 'go');
        same((await decide(denied, null, s.ids[0], false)).status, 200);
        same([(await still(denied, null, s.thread)).pending, JSON.parse(m.results().at(-1)).denied], [[], true], `${JSON.stringify(x)}: not asked again`);
    }
    const again = await script(t, ...LOOKS.flatMap((x) => [to('K'), 'ok', to(x)])), free = await t.serve({ config: payments(b, { confirm: 'never' }, { model: again.model }) });
    const chat = (id, text, more = {}) => free.post('/api/chat', { id, messages: [{ id: 'm1', role: 'user', parts: [{ type: 'text', text }] }], trigger: 'submit-message', ...more });
    for (const [i, x] of LOOKS.entries()) {
        await chat(`c${i}`, 'go');
        same(b.books.length, i + 1);
        check(/"approvalId"/.test((await chat(`c${i}`, 'go on', { messageId: 'm1' })).text), `${JSON.stringify(x)}: done already, so it is asked`);
        same(b.books.length, i + 1);
    }
    const last = await script(t, to('K'), 'ok', to(' K'), 'ok'), granted = await t.serve({ config: payments(b, { grant: { for: 600, count: 5, same: ['/recipient'] } }, { model: last.model }) });
    const s = await say(granted, null, 'go');
    same((await decide(granted, null, s.ids[0], true, { grant: { scope: 'me' } })).status, 200);
    await still(granted, null, s.thread);
    same((await say(granted, null, 'go')).ids.length, 1, 'a yes covers what it was given for');
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
