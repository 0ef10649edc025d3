// The recipes of docs/approvals.md, as they stand there: each is a configuration that holds, and each is played with the
// people it names. Only the addresses are others: those of a bank and of a receiver of webhooks that are here.
import fs from 'node:fs';
import path from 'node:path';
import { later, timed } from './doors.mjs';
import { check, parley, same, test, until } from './lib.mjs';
import { SECRET, approval, approvals, as, auth, bank, decide, grants, receiver, say, script, still } from './org.mjs';

const text = fs.readFileSync(new URL('../../docs/approvals.md', import.meta.url), 'utf8');
const recipesOf = (part) => [...part.matchAll(/```json recipe\n([^]*?)```/g)].map((m) => JSON.parse(m[1]));
const ALL = recipesOf(text), RECIPES = recipesOf(text.slice(text.indexOf('## Ten recipes')));
const ROLES = { ada: ['user'], fay: ['finance'], fin: ['finance'], cleo: ['chief'], bea: ['board'], bob: ['board'] };
const ENV = { LINKS_KEY: 'x'.repeat(40), HOOK_SECRET: SECRET };

test('the recipes of docs/approvals.md are configurations that hold', async (t) => {
    same([RECIPES.length, ALL.length], [10, 11]);
    for (const [i, recipe] of ALL.entries()) {
        const named = JSON.stringify(recipe.approvals ?? {}), dir = t.folder(), file = path.join(dir, 'parley.json');
        const people = Object.fromEntries(Object.entries(ROLES).map(([who, own]) => [who, own.filter((r) => r === 'user' || named.includes(`"${r}"`))]).filter(([, own]) => own.length));
        fs.writeFileSync(file, JSON.stringify({ demo: { tools: false }, actions: {}, auth: auth(people), ...recipe }));
        const r = await parley(['check', '--config', file], { cwd: dir, env: ENV });
        same(r.code, 0, `recipe ${i + 1}: ${r.err}`);
    }
});

// Recipe `n` with people, a bank behind its tools (`pay_it` where it has none) and a model that calls what it is told to:
// go(who, tool, arguments) gives what say() gives.
async function played(t, n, people, more = {}) {
    const recipe = RECIPES[n - 1], b = await bank(t), m = await script(t), here = { http: { url: b.url, allow: ['127.0.0.1'] } };
    const tools = recipe.tools ?? { pay_it: { description: 'Pays.' } };
    const config = { demo: { tools: false }, actions: {}, ...recipe, ...more, auth: auth(people), model: m.model, tools: Object.fromEntries(Object.entries(tools).map(([name, tool]) => [name, { ...tool, ...here }])) };
    const server = await t.serve(timed(t, { config, env: ENV }));
    const go = (who, tool, args) => { m.steps.push([[tool, args]]); return say(server, who, 'go'); };
    const yes = async (who, s, terms) => { const r = await decide(server, who, s.ids[0], true, terms); if (r.json.status === 'approved') await still(server, 'ada', s.thread); return r.json.status ?? r.json.error.code; };
    return { server, b, go, yes };
}
const TWO = { ada: ['user'], pia: ['user'] };

test('recipe 1: a refund above 100 is asked about, a smaller one is not', async (t) => {
    const { b, go, yes } = await played(t, 1, TWO);
    same((await go('ada', 'refund', { amount: 100 })).ids, []);
    const s = await go('ada', 'refund', { amount: 100.01 });
    same([s.ids.length, b.books.length], [1, 1]);
    same(await yes('ada', s), 'approved');
    same(b.books.map((x) => x.amount), [100, 100.01]);
});

test('recipe 2: two of finance, and not who asked for it', async (t) => {
    const { server, b, go, yes } = await played(t, 2, { ada: ['user', 'finance'], fay: ['finance'], fin: ['finance'] });
    const s = await go('ada', 'pay_it', { amount: 10001 });
    same([await yes('ada', s), await yes('fay', s), await yes('fay', s), await yes('fin', s)], ['requester', 'pending', 'pending', 'approved']);
    const small = await go('ada', 'pay_it', { amount: 10000 });
    same([(await decide(server, 'fay', small.ids[0], true)).status, await yes('ada', small)], [404, 'approved']);
    same(b.books.map((x) => x.amount), [10001, 10000]);
});

test('recipe 3: reads are free, writes are asked about', async (t) => {
    const { b, go } = await played(t, 3, TWO);
    same((await go('ada', 'read_order', { order: 7 })).ids, []);
    same((await go('ada', 'change_order', { order: 7 })).ids.length, 1);
    same(b.books.length, 1, 'what reached the shop');
});

test('recipe 4: the night watch', async (t) => {
    const { server, b, go, yes } = await played(t, 4, { ada: ['user'], fay: ['finance'], cleo: ['chief'] });
    const first = await go('ada', 'pay_it', { amount: 1 }), second = await go('ada', 'pay_it', { amount: 2 });
    same(await yes('cleo', first), 'unknown_confirmation', 'not yet theirs');
    later(server, 1801 * 1000);
    same(await yes('cleo', first), 'approved');
    later(server, 5400 * 1000);
    same(await yes('fay', second), 'expired');
    same(b.books.map((x) => x.amount), [1]);
});

test('recipe 5: one invoice once, whoever proposes it', async (t) => {
    const { b, go, yes } = await played(t, 5, TWO);
    same(await yes('ada', await go('ada', 'pay_invoice', { invoice: 'A7', amount: 10 })), 'approved');
    const again = await go('pia', 'pay_invoice', { invoice: ' A7', amount: 11 });
    check(again.ids.length === 0 && /duplicate/.test(again.history[0].output), again.history[0]?.output);
    same((await go('pia', 'pay_invoice', { invoice: 'A8', amount: 12 })).ids.length, 1, 'another one is another');
    same(b.books.map((x) => x.amount), [10]);
});

test('recipe 6: one reminder a day to each customer, for each clerk', async (t) => {
    const { server, b, go } = await played(t, 6, TWO), remind = async (who) => { const s = await go(who, 'remind', { customer: 'Kim' }); if (s.ids.length) await decide(server, who, s.ids[0], true); await still(server, who, s.thread); return b.books.length; };
    same([await remind('ada'), await remind('ada'), await remind('pia')], [1, 1, 2]);
    later(server, 25 * 3600 * 1000);
    same([await remind('ada'), await remind('ada')], [3, 3]);
});

test('recipe 7: a morning of small payments to one recipient with one yes', async (t) => {
    const { server, b, go, yes } = await played(t, 7, TWO), pay = (amount, recipient = 'Kim', currency = 'EUR') => go('ada', 'pay', { amount, recipient, currency });
    same(await yes('ada', await pay(10), { grant: { scope: 'me' } }), 'approved');
    same([(await pay(400)).ids.length, (await pay(5, 'Lee')).ids.length, (await pay(5, 'Kim', 'USD')).ids.length, (await pay(90.01)).ids.length, (await pay('90')).ids.length], [0, 1, 1, 1, 1], 'a text is no amount');
    same((await pay(90)).ids.length, 0, 'to the last');
    const [g] = await grants(server, 'ada');
    same([g.amount, g.status, b.books.map((x) => x.amount)], ['500', 'used_up', [10, 400, 90]]);
    later(server, 4 * 3600 * 1000 + 1000);
    same((await pay(1)).ids.length, 1);
});

test('recipe 8: the amount and the memo may be mended, the recipient may not', async (t) => {
    const { server, b, go } = await played(t, 8, TWO), s = await go('ada', 'pay', { amount: 50, recipient: 'Kim' });
    const edit = async (input) => { const { json } = await decide(server, 'ada', s.ids[0], true, { input }); return json.status ?? json.error.code; };
    same(await edit({ amount: 50, recipient: 'Mallory' }), 'edit_not_allowed');
    same(await edit({ amount: 45, recipient: 'Kim', memo: 'May' }), 'replaced');
    await still(server, 'ada', s.thread);
    same(b.books.map(({ amount, recipient, memo }) => [amount, recipient, memo]), [[45, 'Kim', 'May']]);
});

test('recipe 9: a ladder', async (t) => {
    const { server, b, go, yes } = await played(t, 9, { ada: ['user'], fay: ['finance'], bea: ['board'], bob: ['board'] });
    same(await yes('ada', await go('ada', 'pay_it', { amount: 999.99 })), 'approved');
    const middle = await go('ada', 'pay_it', { amount: 1000 });
    same([await yes('ada', middle), await yes('bea', middle), await yes('fay', middle)], ['not_approver', 'unknown_confirmation', 'approved']);
    const top = await go('ada', 'pay_it', { amount: 50000 });
    same([await yes('fay', top), await yes('bea', top), await yes('bob', top)], ['unknown_confirmation', 'pending', 'approved']);
    same([b.books.map((x) => x.amount), (await approvals(server, 'ada', '?status=pending')).length], [[999.99, 1000, 50000], 0]);
});

test('recipe 10: a bot is told what waits for ten minutes, and sends links', async (t) => {
    const hook = await receiver(t), [notify] = RECIPES[9].notify;
    const { server, b, go, yes } = await played(t, 10, { ...TWO, bot: ['notifier'] }, { notify: [{ ...notify, url: hook.url, allow: ['127.0.0.1'] }] });
    const soon = await go('ada', 'pay_it', { amount: 1 }), waits = await go('ada', 'pay_it', { amount: 2 });
    same(await yes('ada', soon), 'approved');
    later(server, 601 * 1000);
    await go('ada', 'pay_it', { amount: 3 });
    await until(() => hook.got.length > 0, 'the message');
    same(hook.got.map((g) => [g.sound, g.body.type, g.body.data.approval.id]), [[true, 'approval.asked', waits.ids[0]]], 'what was decided before is not told, what is new not yet');
    const r = await server.post(`/v1/approvals/${waits.ids[0]}/links`, { for: 'ada' }, as('bot'));
    check(r.json.url.startsWith('https://assistant.example/a/k.'), r.text);
    same((await server.request('POST', new URL(r.json.url).pathname, 'decision=approve', { 'content-type': 'application/x-www-form-urlencoded' })).status, 200);
    await still(server, 'ada', waits.thread);
    const row = await approval(server, 'ada', waits.ids[0]);
    same([row.decided_by, row.decided_via, b.books.map((x) => x.amount)], ['ada', 'link', [1, 2]]);
});
