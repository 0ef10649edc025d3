// Signed links: one person decides one question on a page without script. docs/approvals.md, Links.
import path from 'node:path';
import { ROOT, check, listed, same, test, until } from './lib.mjs';
import { BOT, LINKS, PAY, RULES, approval, as, auth, bank, decide, desk, link, pathOf, payments, press, say, script, still } from './org.mjs';

test('a link lets one person decide one question, once; looking at it changes nothing', async (t) => {
    const b = await bank(t), server = await desk(t, b);
    const s = await say(server, 'ada', PAY(5000));
    const one = pathOf(await link(server, 'bot', s.ids[0], 'fay')), two = pathOf(await link(server, 'bot', s.ids[0], 'fin'));
    check(/^\/a\/k\./.test(one), one);
    for (let i = 0; i < 3; i++) {
        const page = await server.get(one);
        same(page.status, 200);
        check(/Hanako/.test(page.text) && /5000/.test(page.text) && /You decide as fay/.test(page.text) && !/<script/.test(page.text), 'the question, whole, without script');
    }
    same((await approval(server, 'fay', s.ids[0])).votes, [], 'looking is not deciding');
    same((await press(server, one, 'maybe')).status, 422);
    same((await press(server, one, 'approve')).status, 200);
    same((await press(server, one, 'approve')).status, 410, 'used');
    same((await server.get(one)).status, 410);
    same((await approval(server, 'fay', s.ids[0])).votes.map((v) => [v.by, v.via]), [['fay', 'link']]);
    same((await press(server, two, 'approve', '&reason=fine+by+me%21')).status, 200);
    await still(server, 'ada', s.thread);
    same(b.books.length, 1);
    const row = await approval(server, 'ada', s.ids[0]);
    same([row.decided_by, row.decided_via, row.reason], ['fin', 'link', 'fine by me!']);
});

const said = (page) => page.text.replace(/<style>.*?<\/style>/s, '').replace(/<[^>]+>/g, ' ').replace(/\s+/g, ' ');

test('the page behind a link says who decides, who has said yes, and what a yes of several came to', async (t) => {
    const b = await bank(t), clock = await import('./doors.mjs'), dir = t.folder(), config = (people) => payments(b, {}, { auth: auth({ ...BOT, ...people }), approvals: { rules: RULES }, ...LINKS });
    const server = await t.serve(clock.timed(t, { dir, config: config({}) })), s = await say(server, 'ada', PAY(5000)), [id] = s.ids;
    const [fay, fin, fox] = await Promise.all(['fay', 'fin', 'fox'].map(async (who) => pathOf(await link(server, 'bot', id, who))));
    const before = said(await server.get(fin));
    check(/Decided by 2 × finance Tool/.test(before) && !/said yes|still needed|cfo/.test(before), before);
    const first = await press(server, fay, 'approve');
    check(first.status === 200 && /You said yes Your yes is counted; others have to say yes, too\./.test(said(first)) && !/recorded/.test(said(first)), said(first));
    const next = said(await server.get(fin));
    check(/Decided by 2 × finance Has said yes fay Yeses still needed 1 Tool/.test(next), next);
    check(/Entscheidung durch 2 × finance Hat Ja gesagt fay Noch nötig 1 Werkzeug/.test(said(await server.get(fin, { 'accept-language': 'de' }))), 'in German');
    await server.end();
    const without = await t.serve(clock.timed(t, { dir, config: config({ fay: ['user'] }) })), lost = said(await without.get(fin));
    check(/Yes that does not count any more fay Yeses still needed 2/.test(lost), lost);
    check(/others have to say yes/.test(said(await press(without, fin, 'approve'))), 'it is one of two again');
    clock.later(without, 1801 * 1000);
    await until(async () => /Decided by 2 × finance \/ cfo /.test(said(await without.get(fox))), 'the page to name the next step');
    const last = said(await press(without, fox, 'approve'));
    check(/You said yes It is recorded under your name/.test(last), last);
    await still(without, 'ada', s.thread);
    same(b.books.length, 1);
});

test('behind a link stands what somebody changed; a change that others have to decide is told as that', async (t) => {
    const b = await bank(t), server = await t.serve({ config: payments(b, { edit: ['/amount', '/memo'] }, { auth: auth(BOT), approvals: { rules: RULES }, ...LINKS }) });
    const s = await say(server, 'ada', PAY(50)), row = await approval(server, 'ada', s.ids[0]);
    const { json: made } = await decide(server, 'ada', s.ids[0], true, { input: { ...row.input, amount: 7000, memo: 'a <b>' } });
    const here = pathOf(await link(server, 'bot', made.replaced_by, 'fay')), page = said(await server.get(here));
    check(/Their words Send 50 dollars to Hanako Changed by ada amount before 50 memo before – Decided by/.test(page), page);
    const answer = await press(server, here, 'approve', '&f.amount=8000&f.memo=');
    same(answer.status, 200, answer.text);
    check(/You changed it What you changed it to is asked about now/.test(said(answer)) && !/said yes|recorded/.test(said(answer)), said(answer));
    const old = await approval(server, 'fay', made.replaced_by), now = await approval(server, 'fay', old.replaced_by);
    same([old.status, now.status, now.votes, now.input.amount], ['replaced', 'pending', [], 8000]);
    check(/Changed by fay amount before 7000/.test(said(await server.get(pathOf(await link(server, 'bot', now.id, 'fin'))))), 'and what it was before that');
    same(b.books, []);
});

test('a link that was used stays used when its vote is taken back, and is none of theirs who lost the role', async (t) => {
    const b = await bank(t), dir = t.folder(), config = (people) => payments(b, {}, { auth: auth({ ...BOT, ...people }), approvals: { rules: RULES }, ...LINKS });
    const server = await t.serve({ dir, config: config({}) });
    const s = await say(server, 'ada', PAY(5000)), [id] = s.ids;
    const once = pathOf(await link(server, 'bot', id, 'fay')), other = pathOf(await link(server, 'bot', id, 'fox'));
    same((await press(server, once, 'approve')).status, 200);
    same((await server.request('DELETE', `/v1/approvals/${id}/vote`, undefined, as('fay'))).status, 200);
    const row = await approval(server, 'fay', id);
    same([row.votes, row.withdrawn.map((v) => v.by)], [[], ['fay']]);
    same([(await server.get(once)).status, (await press(server, once, 'approve')).status], [410, 410], 'used is used');
    const anew = pathOf(await link(server, 'bot', id, 'fay'));
    same((await press(server, anew, 'approve')).status, 200, 'a new one is another');
    same((await press(server, once, 'approve')).status, 410);
    await server.end();
    const later = await t.serve({ dir, config: config({ fox: ['user'] }) });
    const page = await later.get(other);
    same([page.status, page.text.includes('Hanako'), (await press(later, other, 'approve')).status], [403, false, 403], 'not theirs any more');
    same(b.books, []);
});

test('links that are forged, cut, used, old, of another question or person are all the same: of no use', async (t) => {
    const clock = await import('./doors.mjs'), b = await bank(t);
    const server = await t.serve(clock.timed(t, { config: payments(b, {}, { auth: auth(BOT), approvals: { rules: RULES }, ...LINKS }) }));
    const s = await say(server, 'ada', PAY(5000)), other = await say(server, 'ada', PAY(6000));
    const good = pathOf(await link(server, 'bot', s.ids[0], 'fay')), [head, mac] = good.slice('/a/k.'.length).split('.');
    const elsewhere = pathOf(await link(server, 'bot', other.ids[0], 'fay')).slice('/a/k.'.length).split('.');
    const payload = JSON.parse(Buffer.from(head, 'base64url'));
    const forged = (change) => `/a/k.${Buffer.from(JSON.stringify({ ...payload, ...change })).toString('base64url')}.${mac}`;
    const n = 200, bad = [forged({ p: 'fin' }), forged({ i: other.ids[0] }), forged({ u: 9e9 }), forged({ o: 'fay' }), `/a/k.${head}.${elsewhere[1]}`, `/a/k.${elsewhere[0]}.${mac}`, '/a/k.', '/a/k..', `/a/k.${head}`, `/a/k.${head}.`];
    const used = await Promise.all([s, other].map(async ({ ids: [id] }) => pathOf(await link(server, 'bot', id, 'fin'))));
    for (const at of used) same((await press(server, at, 'approve')).status, 200);
    same((await server.request('DELETE', `/v1/approvals/${s.ids[0]}/vote`, undefined, as('fin'))).status, 200, 'and taken back');
    for (let i = 0; i < 40; i++) bad.push(used[i % used.length]);
    while (bad.length < n) { const at = 5 + Math.floor((bad.length * (good.length - 6)) / n); bad.push(good.slice(0, at) + (good[at] === 'A' ? 'B' : 'A') + good.slice(at + 1), good.slice(0, at)); }
    for (const at of bad) same([(await server.get(at)).status, (await press(server, at, 'approve')).status], [at.startsWith('/a/k.') ? 410 : 200, at.startsWith('/a/k.') ? 410 : 404], at);
    same((await approval(server, 'fay', s.ids[0])).votes, []);
    await until(() => server.log.some((l) => l.event === 'link.refused'), 'the log');
    check(!server.err.includes(mac), 'no token stands in the log');
    same((await link(server, 'fay', s.ids[0], 'fin')).json.error.code, 'not_notifier');
    same((await link(server, 'fay', s.ids[0], 'fay')).status, 201, 'for oneself');
    same((await link(server, 'bot', s.ids[0], 'nobody')).json.error.code, 'unknown_person');
    same((await link(server, 'bot', 'confirmation-x', 'fay')).status, 404);
    same((await decide(server, 'bot', s.ids[0], true)).status, 404, 'who tells others does not decide');
    for (const person of ['ada', 'bot', 'root', 'cleo']) same((await link(server, 'bot', s.ids[0], person)).json.error?.code, 'not_approver', `${person}: a link gives nobody a role`);
    clock.later(server, 8 * 24 * 3600 * 1000);
    same((await press(server, good, 'approve')).status, 410, 'old');
    const off = await t.serve({ config: payments(b, {}, { auth: auth(BOT), approvals: { rules: RULES } }) });
    const q = await say(off, 'ada', PAY(5000));
    same((await link(off, 'bot', q.ids[0], 'fay')).json.error.code, 'links_off');
});

test('a link is good for seven days, and never longer than its question waits', async (t) => {
    const b = await bank(t), day = 86400, rule = (more) => [{ tool: '*', from: { role: 'finance', not_requester: true }, ...more }];
    const seconds = (at) => Math.round((Date.parse(at) - Date.now()) / 1000), near = (at, want, what) => check(Math.abs(seconds(at) - want) < 60, `${what}: ${at}`);
    for (const [what, rules, tool, want] of [['the rule says how long', rule({ expires: 7200 }), {}, 7200],
        ['the tool does', rule({}), { expires: 3600 }, 3600], ['neither does', rule({}), {}, day],
        ['it waits for ever', rule({}), { expires: 0 }, 7 * day], ['an escalation comes before', rule({ expires: 7200, escalate: [{ after: 60, to: 'finance' }] }), {}, 7200]]) {
        const server = await t.serve({ config: payments(b, tool, { auth: auth({ ada: ['user'], fay: ['finance'], bot: ['notifier'] }), approvals: { rules }, ...LINKS }) });
        const s = await say(server, 'ada', PAY(5000)), made = await link(server, 'bot', s.ids[0], 'fay'), row = await approval(server, 'fay', s.ids[0]);
        near(made.json.until, want, what);
        check(!row.expires_at || made.json.until <= row.expires_at, `${what}: not after the question`);
        const page = await server.get(pathOf(made));
        check(page.text.includes(`<dt>This link is good until</dt><dd>${made.json.until.slice(0, 10)}, ${made.json.until.slice(11, 16)} UTC<`), `${what}: the page says it`);
        near((await link(server, 'bot', s.ids[0], 'fay', { until: new Date(Date.now() + 30 * day * 1000).toISOString() })).json.until, want, `${what}: no wish goes beyond it`);
        near((await link(server, 'bot', s.ids[0], 'fay', { until: new Date(Date.now() + 600 * 1000).toISOString() })).json.until, 600, `${what}: a shorter one counts`);
        await server.end();
    }
});

// A tool that asks for this while it works; `press` fills in and presses.
const asking = async (t, schema, steps = 1) => {
    const m = await script(t, ...Array.from({ length: steps }, () => [['asking__ask', { amount: 12 }]]).flatMap((x) => [x, 'ok']));
    const args = [path.join(ROOT, 'test/mcp/asking.mjs')];
    const server = await t.serve({ config: { demo: { tools: false }, actions: {}, model: m.model, auth: auth({ ada: ['user'], bot: ['notifier'] }), ...LINKS,
        mcpServers: { asking: { command: process.execPath, args, env: { ASK_SCHEMA: JSON.stringify(schema) }, confirm: 'never' } } } });
    await listed(server, (tools) => tools.some((x) => x.name === 'asking__ask'), as('ada'));
    return { server, m };
};
const fields = (values) => Object.entries(values).flatMap(([k, v]) => [v].flat().map((x) => `&${encodeURIComponent(`f.${k}`)}=${encodeURIComponent(x)}`)).join('');
// The words at a field of the page.
const at = (page, name) => new RegExp(`name="f\\.${name}"[^>]*>(?:(?!</p>|</fieldset>).)*`, 's').exec(page.text)?.[0] ?? '';

test('a tool\'s form can be filled in behind a link: typed, judged by the server, the refusal at its field', async (t) => {
    const schema = { type: 'object', required: ['account', 'amount', 'kind'], properties: {
        account: { type: 'string', title: 'From <which> account?', description: 'As it is called at the bank', minLength: 3 }, amount: { type: 'number', maximum: 100 },
        sure: { type: 'boolean' }, kind: { type: 'string', enum: ['now', 'late"r'], enumNames: ['At once', 'Later'] }, tags: { type: 'array', items: { type: 'string', enum: ['a', 'b', 'c'] } }, when: { type: 'string', format: 'date', default: '2026-01-02' } } };
    const { server, m } = await asking(t, schema), s = await say(server, 'ada', 'go'), [id] = s.ids;
    const here = pathOf(await link(server, 'bot', id, 'ada')), page = await server.get(here);
    check(!/<script/.test(page.text) && /From &lt;which&gt; account\?/.test(page.text) && /As it is called at the bank/.test(page.text), 'its words, and no markup of theirs');
    check(/<input name="f.account" type="text"/.test(page.text) && /<input name="f.amount" type="number"/.test(page.text) && /<input name="f.when" type="date" value="2026-01-02"/.test(page.text), 'inputs of the schema\'s types');
    check(/<select name="f.kind" required>.*At once.*Later/.test(page.text) && /<select name="f.sure">/.test(page.text) && (page.text.match(/type="checkbox" name="f.tags"/g) ?? []).length === 3, 'choices');
    for (const [values, name, words] of [[{}, 'account', /lacks the required member/], [{ account: 'main', amount: 'a lot', kind: '0' }, 'amount', /must be a number/],
        [{ account: 'main', amount: '101', kind: '0' }, 'amount', /at most 100/], [{ account: 'ab', amount: '1', kind: '0' }, 'account', /at least 3/], [{ account: 'main', amount: '1', kind: 'other' }, 'kind', /must be one of/], [{ account: 'main', amount: '1', kind: '0', sure: 'maybe' }, 'sure', /boolean/]]) {
        const again = await press(server, here, 'approve', fields(values));
        same(again.status, 422, JSON.stringify(values));
        check(words.test(at(again, name)) && /aria-invalid="true"/.test(at(again, name)), `${JSON.stringify(values)}: ${at(again, name)}`);
        if (values.account) check(again.text.includes(`value="${values.account}"`), 'what was typed is still there');
    }
    same((await approval(server, 'ada', id)).status, 'pending', 'nothing was decided');
    const last = await press(server, here, 'approve', fields({ account: 'Mäin & "co"', amount: '12.50', sure: 'false', kind: '1', tags: ['0', '2'], when: '' }));
    same(last.status, 200, last.text);
    await still(server, 'ada', s.thread);
    const told = m.results().at(-1);
    same(JSON.parse(told.slice(told.indexOf('{'))), { account: 'Mäin & "co"', amount: 12.5, sure: false, kind: 'late"r', tags: ['a', 'c'] });
    same((await press(server, here, 'approve', fields({ account: 'other', amount: '1', kind: '0' }))).status, 410, 'used');
});

test('a form behind a link can be declined without filling it in', async (t) => {
    const { server, m } = await asking(t, { type: 'object', required: ['account'], properties: { account: { type: 'string' } } });
    const s = await say(server, 'ada', 'go'), here = pathOf(await link(server, 'bot', s.ids[0], 'ada'));
    same((await press(server, here, 'deny', fields({ account: '' }))).status, 200);
    await still(server, 'ada', s.thread);
    check(/decline/.test(m.results().at(-1)), m.results().at(-1));
});

test('arguments that may be changed are fields behind a link, too, and a change is an edit', async (t) => {
    const b = await bank(t), edit = ['/amount', '/memo', '/deep/er'];
    const server = await t.serve({ config: payments(b, { edit }, { auth: auth({ ada: ['user'], fay: ['finance'], bot: ['notifier'] }), approvals: { rules: [{ tool: '*', from: { role: 'finance', not_requester: true } }] }, ...LINKS }) });
    const ask = async () => { const s = await say(server, 'ada', PAY(50)); return [s, pathOf(await link(server, 'bot', s.ids[0], 'fay'))]; };
    const [s, here] = await ask(), page = await server.get(here);
    check(/name="f.amount" type="number" step="any" value="50"/.test(page.text) && /name="f.memo"/.test(page.text) && !/f.recipient|f.deep/.test(page.text), 'what is listed, and nothing else');
    const wrong = await press(server, here, 'approve', fields({ amount: '-5', memo: '' }));
    check(wrong.status === 422 && /more than 0|greater/.test(at(wrong, 'amount')), at(wrong, 'amount'));
    same((await press(server, here, 'approve', fields({ amount: '45', memo: 'for May' }))).status, 200);
    await still(server, 'ada', s.thread);
    same(b.books.map((x) => [x.amount, x.memo, x.recipient]), [[45, 'for May', 'Hanako']]);
    same((await approval(server, 'ada', s.ids[0])).status, 'replaced');
    const [plain, there] = await ask();
    same((await press(server, there, 'approve', fields({ amount: '50', memo: '' }))).status, 200);
    await still(server, 'ada', plain.thread);
    same([(await approval(server, 'ada', plain.ids[0])).status, b.books.length], ['done', 2], 'unchanged is a plain yes');
});

// One payment with these arguments behind links of `edit`: the server, and how to ask for one.
const paying = async (t, edit, args, { tags = {}, count = 1, times = 1 } = {}) => {
    const b = await bank(t), properties = { recipient: { type: 'string' }, amount: { type: 'number' }, deep: { type: 'object' }, tags: { type: 'array', items: { enum: ['x', 'y', 'z'] }, ...tags } };
    const m = await script(t, ...Array.from({ length: times }, () => [[['process_payment', args]], 'ok']).flat());
    const people = { ada: ['user'], fay: ['finance'], fin: ['finance'], bot: ['notifier'] };
    const server = await t.serve({ config: payments(b, { edit, input_schema: { type: 'object', properties, required: ['recipient', 'amount'] } },
        { model: m.model, auth: auth(people), approvals: { rules: [{ tool: '*', from: { role: 'finance', count, not_requester: true } }] }, ...LINKS }) });
    const ask = async () => { const s = await say(server, 'ada', 'go'); return { ...s, id: s.ids[0], here: pathOf(await link(server, 'bot', s.ids[0], 'fay')) }; };
    return { b, server, ask };
};
// What a browser sends of that page when nobody touches it.
const untouched = (page) => [...page.text.matchAll(/<input type="(hidden|checkbox)"[^>]*>|<input name="f[^>]*>/g)].map(([tag, box]) => [/name="([^"]*)"/.exec(tag)[1], /value="([^"]*)"/.exec(tag)[1], box !== 'checkbox' || / checked/.test(tag)])
    .filter(([, , sent]) => sent).map(([k, v]) => `&${k}=${encodeURIComponent(v)}`).join('');

test('a plain yes behind a link changes no argument, with choices that are not there or in their own order', async (t) => {
    const base = { recipient: 'Hanako', amount: 50 };
    for (const [args, more] of [[base, {}], [base, { tags: { minItems: 1 } }], [base, { count: 2 }], [{ ...base, tags: ['z', 'x'] }, {}]]) {
        const { b, server, ask } = await paying(t, ['/tags'], args, { ...more, times: 2 });
        for (const whole of [false, true]) {
            const s = await ask(), done = b.books.length;
            const yes = await press(server, s.here, 'approve', whole ? untouched(await server.get(s.here)) : '');
            same(yes.status, 200, yes.text);
            if (more.count) {
                same((await approval(server, 'fay', s.id)).votes.map((v) => v.by), ['fay'], 'the vote counts');
                same((await press(server, pathOf(await link(server, 'bot', s.id, 'fin')), 'approve')).status, 200);
            }
            await still(server, 'ada', s.thread);
            same([(await approval(server, 'ada', s.id)).status, b.books.length], ['done', done + 1], JSON.stringify([args, more, whole]));
            same(b.books.at(-1).tags, args.tags);
        }
        await server.end();
    }
});

test('choices behind a link can be added, and all of them taken away', async (t) => {
    for (const [tags, typed, want] of [[undefined, ['', '1'], ['y']], [['z', 'x'], [''], []], [['z', 'x'], ['', '0', '1', '2'], ['x', 'y', 'z']]]) {
        const { b, server, ask } = await paying(t, ['/tags', '/tags'], { recipient: 'Hanako', amount: 50, tags });
        const s = await ask();
        same((await press(server, s.here, 'approve', fields({ tags: typed }))).status, 200);
        await still(server, 'ada', s.thread);
        same([(await approval(server, 'ada', s.id)).status, b.books.map((x) => x.tags)], ['replaced', [want]]);
        await server.end();
    }
});

test('a yes behind a link with a field that is not offered, or one that stands there twice, is none', async (t) => {
    for (const [edit, typed, words] of [[['/amount'], { recipient: 'Mallory' }, /&quot;\/recipient&quot; may not be changed here/], [['/amount'], { amount: '50', zzz: '1' }, /\/zzz/],
        [['/amount'], { amount: ['50', '900'] }, /\/amount was given more values/], [['/deep/er'], { recipient: 'Mallory' }, /\/recipient/], [undefined, { amount: '1' }, /\/amount/], [['/tags'], { tags: ['0', '0', '1', '1', '2'] }, /\/tags was given more values/]]) {
        const { b, server, ask } = await paying(t, edit, { recipient: 'Hanako', amount: 50 }), s = await ask();
        const no = await press(server, s.here, 'approve', fields(typed));
        same(no.status, 422, JSON.stringify(typed));
        check(words.test(no.text) && /name="decision"/.test(no.text), 'the page says so, and can be used again');
        const row = await approval(server, 'fay', s.id);
        same([row.status, row.votes ?? [], b.books], ['pending', [], []], 'nothing is recorded');
        await until(() => server.log.some((l) => l.event === 'link.refused' && l.why === 'edit_not_allowed'), 'the log');
        same((await press(server, s.here, 'deny', fields(typed))).status, 200, 'a no changes nothing, so it is one');
        await server.end();
    }
});

test('where all arguments may be changed, each of the schema is a field behind a link', async (t) => {
    const { b, server, ask } = await paying(t, [''], { recipient: 'Hanako', amount: 50 }, { times: 2 }), s = await ask(), page = await server.get(s.here);
    for (const name of ['recipient', 'amount', 'deep', 'tags']) check(page.text.includes(`name="f.${name}"`), name);
    same((await press(server, s.here, 'approve', fields({ recipient: 'Kenji', deep: '{"a":\r\n\r\n1}' }))).status, 200);
    await still(server, 'ada', s.thread);
    same([(await approval(server, 'ada', s.id)).status, b.books.map((x) => [x.recipient, x.amount, x.deep])], ['replaced', [['Kenji', 50, { a: 1 }]]]);
    const plain = await ask();
    same((await press(server, plain.here, 'approve', untouched(await server.get(plain.here)))).status, 200);
    await still(server, 'ada', plain.thread);
    same((await approval(server, 'ada', plain.id)).status, 'done');
});

test('the line breaks that a browser takes out of a field, or spells its own way, are no change', async (t) => {
    const recipient = 'Hanako\nTokyo', { b, server, ask } = await paying(t, ['/recipient'], { recipient, amount: 50 }, { times: 2 });
    for (const sent of ['HanakoTokyo', 'Hanako\r\nTokyo']) {
        const s = await ask();
        same((await press(server, s.here, 'approve', fields({ recipient: sent }))).status, 200);
        await still(server, 'ada', s.thread);
        same([(await approval(server, 'ada', s.id)).status, b.books.at(-1).recipient], ['done', recipient]);
    }
});

test('the page behind a link speaks the language that the browser asks for, of those the page has', async (t) => {
    const { server, ask } = await paying(t, ['/amount', '/tags'], { recipient: 'Hanako', amount: 50 }), s = await ask();
    const lang = (tag) => ({ 'accept-language': tag });
    for (const [tag, code, words] of [['de-CH,de;q=0.9', 'de', ['Eine Entscheidung wartet', 'Angefragt von', 'Freigeben', 'Ablehnen', 'Sie entscheiden als fay.']],
        ['ja', 'ja', ['承認を待っている依頼', '承認', '拒否', 'fay として回答します。']], ['fr', 'en', ['A decision is waiting', 'Approve', 'Deny', 'You decide as fay.']]]) {
        const page = await server.get(s.here, lang(tag));
        same([page.status, page.headers.vary], [200, 'Accept-Language']);
        check(page.text.includes(`<html lang="${code}">`), tag);
        for (const w of words) check(page.text.includes(w), `${tag}: ${w}`);
        check(code === 'en' || !/Approve|Deny|Asked|Their words|decide as f/.test(page.text), `${tag}: nothing is left in English`);
    }
    const misfit = await press(server, s.here, 'approve', fields({ amount: 'viel' }), lang('de'));
    check(misfit.status === 422 && /Das passt nicht: <span lang="en">\/amount must be/.test(at(misfit, 'amount')), at(misfit, 'amount'));
    const stray = await press(server, s.here, 'approve', fields({ amount: ['1', '2'] }), lang('ja'));
    check(stray.status === 422 && at(stray, 'amount').includes('/amount の値が多すぎます。'), at(stray, 'amount'));
    check((await press(server, s.here, 'maybe', '', lang('de'))).text.includes('Drücken Sie „Freigeben“ oder „Ablehnen“.'), 'neither yes nor no');
    check((await press(server, s.here, 'deny', '', lang('de'))).text.includes('Sie haben abgelehnt'), 'the answer');
    check((await server.get(s.here, lang('ja'))).text.includes('このリンクは使えません'), 'used');
    check((await server.get('/a/k.x', lang('de'))).text.includes('Dieser Link ist nicht gültig'), 'forged');
});

test('letters that look like others are spelled out behind a link, in names, values and the sentence', async (t) => {
    const { server, ask } = await paying(t, undefined, { recipient: 'p\u0430ypal', 'am\u043eunt': 1, amount: 50, note: 'a\u200bb' }), s = await ask();
    const page = await server.get(s.here);
    same((page.text.match(/p\\u\{0430\}ypal/g) ?? []).length, 2, 'in the value and in the sentence');
    check(page.text.includes('<dt>am\\u{043E}unt</dt>') && page.text.includes('<dd>a\\u{200B}b</dd>'), page.text);
});

test('letters that are written from right to left turn nothing around behind a link, neither in words nor in choices', async (t) => {
    const schema = { type: 'object', required: [], properties: { kind: { type: 'string', enum: ['a'], enumNames: ['7\u05d0 8'] }, name: { type: 'string', title: '\u05e9\u05dd', default: '1\u05d1 2' }, plain: { type: 'string', default: 'x\u200by' } } };
    const { server } = await asking(t, schema), { ids: [id] } = await say(server, 'ada', 'go');
    const page = await server.get(pathOf(await link(server, 'bot', id, 'ada')));
    for (const part of ['>&#x202d;7&#x2067;\u05d0&#x2069; 8&#x202c;</option>', '<label><bdo dir="ltr"><bdi dir="rtl">\u05e9\u05dd</bdi></bdo><br>',
        '<small><bdo dir="ltr">1<bdi dir="rtl">\u05d1</bdi> 2</bdo> (to be read from left to right)</small>', '<small>x\\u{200B}y</small>'])
        check(page.text.includes(part), `${part} in ${page.text}`);
});

test('a line break in a name makes no row behind a link: of an argument, a field, a choice, what a field was before', async (t) => {
    const { server, ask } = await paying(t, undefined, { memo: 'Rent', 'recipient\n\namount': 'Hanako\n\n50', recipient: 'Mallory', amount: 5000 }), s = await ask();
    const page = await server.get(s.here), styles = /<style>(.*?)<\/style>/s.exec(page.text)[1];
    check(page.text.includes('<dt>recipient\\u{000A × 2}amount</dt><dd>Hanako\n\n50</dd>'), page.text);
    check(/dt~dt,dt~dt\+dd\{border-top:1px solid/.test(styles), 'a line between rows');
    const choices = { type: 'array', title: 'one\n\ntwo', items: { type: 'string', enum: ['x'] }, enumNames: ['yes\n\nrecipient'] };
    const schema = { type: 'object', properties: { choices, kind: { type: 'string', enum: ['a'], enumNames: ['no\ttab'] }, 'x\n\ny': { type: 'string' } } };
    const form = await asking(t, schema), { ids: [id] } = await say(form.server, 'ada', 'go');
    const { text } = await form.server.get(pathOf(await link(form.server, 'bot', id, 'ada')));
    for (const part of ['<legend>one\\u{000A × 2}two</legend>', '> yes\\u{000A × 2}recipient</label>', '>no\\u{0009}tab</option>', '<label>x\\u{000A × 2}y<br>']) check(text.includes(part), `${part} in ${text}`);
});

test('what the card spells out is spelled out behind a link, too: look-alikes, strokes, digits, blanks and names', async (t) => {
    const values = { amount: 50, recipient: `Hanako${' '.repeat(400)}Mallory`, 'name ': 'H\u0251nako', '': 'paypa\u217c', struck: '5\u0335000', host: 'bank.com\u2044evil', point: 'a\u0589b',
        digits: '\u0660\u0665', whole: '\u13da\u13bb\u13ac', lines: 'one\ntwo', none: '' };
    const { server, ask } = await paying(t, undefined, values), s = await ask();
    const page = await server.get(s.here);
    for (const [name, value] of [['recipient', 'Hanako\\u{0020 × 400}Mallory'], ['name\\u{0020}', 'H\\u{0251}nako'], ['<i>no name</i>', 'paypa\\u{217C}'], ['struck', '5\\u{0335}000'],
        ['host', 'bank.com\\u{2044}evil'], ['point', 'a\\u{0589}b'], ['digits', '\\u{0660}\\u{0665}'], ['whole', '\\u{13DA}\\u{13BB}\\u{13AC}'], ['lines', 'one\ntwo'], ['none', '<i>empty</i>']])
        check(page.text.includes(`<dt>${name}</dt><dd>${value}</dd>`), `${name}: ${page.text}`);
    check(/main\{white-space:pre-wrap\}/.test(page.text), 'line breaks are seen');
});
