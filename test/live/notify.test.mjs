// Webhooks beside the plain way (org.test.mjs): entries with one url, roles that are asked later, a
// receiver that never takes anything or never ends, and a sender that dies. docs/approvals.md, Where
// people are.
import http from 'node:http';
import { cluster } from '../cluster/lib.mjs';
import { check, same, test, until } from './lib.mjs';
import { later, timed } from './doors.mjs';
import { python, rows } from './locker.mjs';
import { BOT, LINKS, PAY, RULES, SECRET, approval, auth, bank, decide, payments, receiver, say } from './org.mjs';

const config = (b, notify, rules = RULES) => payments(b, {}, { auth: auth(BOT), approvals: { rules }, ...LINKS, notify });
const hook = (r, more = {}) => ({ url: r.url, secret: SECRET, allow: ['127.0.0.1'], ...more });
const types = (r) => r.got.map((g) => g.body.data.event);
const about = (r, id) => r.got.filter((g) => g.body.data.approval.id === id);

test('two entries with one url are two: each has its own place, also over a kill, and its own ids', async (t) => {
    const b = await bank(t), r = await receiver(t);
    const server = await t.serve(timed(t, { config: config(b, [hook(r, { events: ['asked'] }), hook(r, { events: ['asked'], after: 600 })]) }));
    const ids = [];
    for (const amount of [5000, 6000]) {
        ids.push((await say(server, 'ada', PAY(amount))).ids[0]);
        await until(() => about(r, ids.at(-1)).length === 1, `${amount} to be told at once`);
    }
    await server.kill();
    later(server, 601 * 1000);
    await server.start();
    await until(() => ids.every((id) => about(r, id).length >= 2), 'both to be told again, as a reminder', 30000);
    same(new Set(r.got.map((g) => g.id)).size, 4, 'one who drops ids that are known drops no reminder');
    for (const id of ids) same(about(r, id)[1].id, `${about(r, id)[0].id}.2`);
    check(r.got.every((g) => g.sound), 'signed');
});

test('an entry with roles is told of what is asked of them, and after an escalation of all that becomes of it', async (t) => {
    const b = await bank(t), [all, cfo, finance, owner] = [await receiver(t), await receiver(t), await receiver(t), await receiver(t)];
    const server = await t.serve(timed(t, { config: config(b, [hook(all), ...[[cfo, 'cfo'], [finance, 'finance'], [owner, 'owner']].map(([r, role]) => hook(r, { roles: [role] }))]) }));
    const early = (await say(server, 'ada', PAY(4000))).ids[0], small = (await say(server, 'ada', PAY(5))).ids[0], [id] = (await say(server, 'ada', PAY(5000))).ids;
    await decide(server, 'fay', early, false);
    await decide(server, 'ada', small, false);
    later(server, 1801 * 1000);
    await until(async () => (await approval(server, 'cleo', id)).needed === 1, 'the escalation');
    same((await decide(server, 'cleo', id, true)).json.status, 'approved');
    await until(() => about(all, id).length === 3 && about(finance, id).length === 3 && about(cfo, id).length === 2, 'all to be told', 30000);
    same(types(cfo), ['escalated', 'decided'], 'only what is theirs');
    same([types(finance), types(owner)], [['asked', 'asked', 'decided', 'escalated', 'decided'], ['asked', 'decided']]);
});

// Where it begins was once looked up while people were served: on a busy machine behind the first question, which nobody
// was told of then.
test('where a new address begins is kept before anybody is served: who dies at once has lost no question', async (t) => {
    python();
    const b = await bank(t), r = await receiver(t), server = await t.serve(timed(t, { config: config(b, [hook(r), hook(r)]) }));
    await server.kill();
    const places = rows(server.db, "SELECT body FROM session WHERE key LIKE 'notify:%'");
    same([places.length, new Set(places.map(([place]) => place)).size], [2, 1]);
});

test('what nobody takes for a day is given up and said, counted from when it was due; the next is still tried', async (t) => {
    let status = 500;
    const day = 86400, rules = [{ tool: '*', from: 'finance', expires: 10 * day, escalate: [{ after: 9 * day, to: 'cfo' }] }], b = await bank(t), r = await receiver(t, () => status), reminder = await receiver(t, () => status);
    const server = await t.serve(timed(t, { config: config(b, [hook(r, { events: ['asked'] }), hook(reminder, { events: ['asked'], after: day + 600 })], rules) }));
    const [first] = (await say(server, 'ada', PAY(5000))).ids, given = () => server.log.filter((l) => l.event === 'notify.given_up');
    await until(() => r.got.length > 0, 'the first attempt');
    await server.kill();
    later(server, (day + 601) * 1000);
    await server.start();
    const [next] = (await say(server, 'ada', PAY(6000))).ids;
    await until(() => given().length && about(reminder, first).length, 'it to be given up, and the reminder tried', 30000);
    status = 200;
    await until(() => about(r, next).some((g) => g.status === 200), 'the next', 30000);
    await until(() => about(reminder, first).some((g) => g.status === 200), 'the reminder, whose day begins', 30000);
    same([given().map((l) => `evt_${l.id}`), about(r, first).some((g) => g.status === 200)], [[about(r, first)[0].id], false]);
});

// 200, and then words without end.
async function liar(t) {
    const it = { cut: 0 }, server = http.createServer((req, res) => {
        const words = Buffer.alloc(65536, 'x'), go = () => { while (!res.destroyed && res.write(words)); };
        res.on('drain', go).on('error', () => {}).on('close', () => { it.cut++; });
        req.resume().on('end', () => { res.writeHead(200); go(); });
    });
    await new Promise((done) => server.listen(0, '127.0.0.1', done));
    t.defer(() => { server.closeAllConnections(); server.close(); });
    return Object.assign(it, { url: `http://127.0.0.1:${server.address().port}/hook` });
}

test('an answer without end is cut off, tried again later, and keeps nobody else waiting', async (t) => {
    const b = await bank(t), fine = await receiver(t), endless = await liar(t);
    const server = await t.serve({ config: config(b, [hook(endless), hook(fine)]) });
    for (const amount of [5000, 6000, 7000]) await say(server, 'ada', PAY(amount));
    await until(() => fine.taken().length === 3, 'all at the one that is fine', 30000);
    await until(() => endless.cut > 3, 'the other to be cut off, and tried again', 30000);
    await until(() => server.log.some((l) => l.event === 'notify.failed'), 'the log');
});

test('when the node that sends is gone another goes on from its place, also when that cannot be read at once', async (t) => {
    let status = 500;
    const b = await bank(t), r = await receiver(t, () => status), c = await cluster(t, { nodes: 2, config: config(b, [hook(r, { events: ['asked'] })]) });
    for (const [i, amount] of [5000, 6000, 7000].entries()) await say(c.nodes[i % 2], 'ada', PAY(amount));
    await until(() => new Set(r.got.map((g) => g.id)).size === 3, 'all to be tried', 30000);
    const sender = c.nodes.find((n) => n.log.some((l) => l.event === 'notify.failed')), other = c.nodes.find((n) => n !== sender);
    await c.sql('ALTER TABLE parley_session RENAME TO away');
    await sender.kill();
    await until(() => other.log.some((l) => l.event === 'notify.waits'), 'the other to say that it waits', 60000);
    await c.sql('ALTER TABLE away RENAME TO parley_session');
    status = 200;
    await until(() => r.taken().length === 3, 'all that was not taken', 60000);
    same([new Set(r.got.map((g) => g.id)).size, r.got.every((g) => g.sound)], [3, true], 'under the ids that they had');
    await say(other, 'ada', PAY(8000));
    await until(() => r.taken().length === 4, 'the next');
}, { timeout_ms: 200000 });
