// org.test.mjs -- an organisation's approvals in numbers: what a grant gives however many ask at once and whoever dies,
// votes and revocations that race, one payment for one invoice, and receivers of webhooks that fail.
//
// Each of them with a file as store, with a database, and with three nodes on one database, where every connection
// goes to another node. The judge is the bank of live/org.mjs, which keeps books of its own.
//
// In `make test` a small part runs; LONG=1 make faults T=org runs the numbers of docs/approvals.md.
import { check, same, until } from '../live/lib.mjs';
import { PAY, PEOPLE, RULES, SECRET, approval, as, auth, bank, decide, desk, grants, payments, receiver, say, still } from '../live/org.mjs';
import { Wire, cluster } from '../cluster/lib.mjs';
import { LONG, SEED, family, pause, quiet, random } from './lib.mjs';

const PLACES = [['file', (t, config) => t.serve({ config })], ['database', (t, config) => cluster(t, { nodes: 1, config })], ['three nodes', (t, config) => cluster(t, { nodes: 3, config })]];
const much = (part, long) => (LONG ? long : part);
const cents = (amount) => Math.round(amount * 100);

const figure = (text) => console.log(`  ${text}`);

// `count` times `work(i)`, `at_once` of them at any time.
async function crowd(count, at_once, work) {
    let next = 0;
    const one = async () => { while (next < count) await work(next++); };
    await Promise.all(Array.from({ length: at_once }, one));
}

// One place after another: a machine that is shared by all would only be slower.
const everywhere = (name, run) => family(name, async (f) => {
    for (const [where, serve] of PLACES) await f.cycle(`${name} (${where})`, (t) => run(t, serve, where));
});

// All rows of a list, page by page.
async function rows(server, at, of) {
    const all = [];
    for (let page, before = ''; !page || before; before = page.next ?? '') {
        page = (await server.get(`${at}${before && `&before=${encodeURIComponent(before)}`}`)).json;
        all.push(...page[of]);
    }
    return all;
}
const quietly = (server) => until(async () => (await rows(server, '/v1/threads?limit=200', 'threads')).every((x) => x.state !== 'running'), 'everything to stand still', much(60000, 300000));

// --- what a grant gives ----------------------------------------------------------------------------

// Kills the process, or of several the next one, and starts it again.
let kills = 0;
async function crash(server) {
    const victim = server.nodes ? server.nodes[kills++ % server.nodes.length] : server;
    await victim.kill();
    await victim.start();
    if (server.nodes) server.killed = true;
}

// Says it until it is answered to the end, as a client whose connection broke: the same request again.
async function insist(server, message, request_id) {
    let end;
    await until(async () => {
        const s = await quiet(server.say(message, { request_id }));
        end = s && (await quiet(s.read(60000)))?.payload;
        if (!end) await pause(50);
        return end;
    }, `an answer to ${request_id}`, 300000);
    return end;
}

// What nobody knows is looked up in the bank's books, as a person would.
async function settle(server, books) {
    for (const a of await rows(server, '/v1/approvals?status=unknown', 'approvals')) {
        const r = await server.post(`/v1/approvals/${a.id}/settle`, { outcome: books.some((x) => x.call === a.tool_use_id) ? 'done' : 'not_done' });
        same(r.status, 200, r.text);
    }
}

everywhere('a grant of 100 calls and 500.00 gives no more, whoever asks at once and whoever dies', async (t, serve, where) => {
    const pick = random(SEED), calls = much(120, 10000), phases = much(3, 8), count = much(20, 100), max = much(60, 500);
    let refused = 0, lost = 0, refuses = much(0.6, 0.97);
    // The bank refuses nearly everything until the last phase, which gives back what was taken: so all of them take from the
    // same grant, and few keep it.
    const b = await bank(t, () => {
        const x = pick();
        if (x < refuses) { refused++; return { status: 422, body: { error: 'not now' } }; }
        if (x < refuses + 0.005) { lost++; return 'nothing'; }
        if (x < refuses + 0.01) { lost++; return { paid: true, status: 500, body: {} }; }
        return undefined;
    });
    const server = await serve(t, payments(b, { grant: { for: 36000, count, sum: '/amount', max } }));
    for (let given = false; !given;) {         // the bank may refuse the first one, too
        const s = await say(server, null, PAY('1.01'));
        same((await decide(server, null, s.ids[0], true, { grant: { scope: 'me' } })).status, 200);
        await still(server, null, s.thread);
        await settle(server, b.books);
        given = b.books.length > 0 || (await grants(server, null)).some((g) => g.status === 'open');
    }
    const before = b.books.length;
    let asked = 0, ran = 0;
    for (let phase = 0; phase < phases; phase++) {
        if (phase === phases - 1) refuses = 0;
        const before = asked + ran, when = Math.floor(pick() * 0.8 * (calls / phases));
        const burst = crowd(calls / phases, much(24, 250), async (i) => {
            const end = await insist(server, PAY((cents(pick() * 9.98 + 0.01) / 100).toFixed(2)), `r-${phase}-${i}`);
            if (end.awaiting?.length) asked++; else ran++;
        });
        await until(() => asked + ran - before >= when, 'some to have been answered', 300000);
        await crash(server);
        await burst;
        await quietly(server);
        await settle(server, b.books);
        const open = (await grants(server, null)).find((g) => g.uses), total = b.books.reduce((n, x) => n + cents(x.amount), 0);
        check(b.books.length <= count && total <= max * 100, `${b.books.length} of ${count}, ${total / 100} of ${max}`);
        same([open.uses, cents(Number(open.amount))], [b.books.length, total], 'what was taken is what was paid');
    }
    const total = b.books.reduce((n, x) => n + cents(x.amount), 0);
    check(b.books.length > before, 'it gave something');
    const doubles = b.books.length - new Set(b.books.map((x) => x.call)).size;
    same(doubles, 0, 'calls paid twice');
    figure(`${where}: ${calls} calls and ${phases} kills, ${b.books.length} of ${count} and ${(total / 100).toFixed(2)} of ${max}.00 paid (${ran} ran, ${asked} were asked, ${refused} refused by the bank, ${lost} lost on the way)`);
});

everywhere('a revocation among starts: what is in the log before it ran, nothing after', async (t, serve, where) => {
    const b = await bank(t), server = await serve(t, payments(b, { grant: { for: 3600, count: 1000 } })), rounds = much(3, 200);
    let before = 0, after = 0;
    for (let round = 0; round < rounds; round++) {
        const s = await say(server, null, PAY(1));
        await decide(server, null, s.ids[0], true, { grant: { scope: 'me' } });
        await still(server, null, s.thread);
        const [g] = (await grants(server, null)).filter((x) => x.status === 'open'), had = b.books.length;
        const calls = Array.from({ length: 8 }, () => say(server, null, PAY(2)));
        if (round % 2) await until(() => b.books.length > had, 'one to have run');
        const r = await server.request('DELETE', `/v1/grants/${g.id}`);
        const all = await Promise.all(calls), ran = all.filter((c) => !c.ids.length).length;
        const [now] = (await grants(server, null)).filter((x) => x.id === g.id);
        same([r.json.status, now.status, now.uses, b.books.length - had], ['revoked', 'revoked', 1 + ran, ran], 'exactly those that started took from it');
        same((await say(server, null, PAY(3))).ids.length, 1, 'a later one asks');
        before += ran;
        after += 8 - ran;
    }
    figure(`${where}: ${rounds} revocations, ${before} calls before theirs ran, ${after} after it were asked`);
});

// --- two of three ----------------------------------------------------------------------------------

const FINANCE = ['fay', 'fin', 'fox'];

// One question by chance: votes, noes, take-backs, alone and two at once, until it is decided or enough was tried. What the
// server answered each is held against who has said yes.
async function ballot(server, pick, id) {
    const yes = new Set(), one = () => FINANCE[Math.floor(pick() * 3)], other = (p) => FINANCE[(FINANCE.indexOf(p) + 1 + Math.floor(pick() * 2)) % 3];
    const say_yes = async (p) => (await decide(server, p, id, true)).json, say_no = async (p) => (await decide(server, p, id, false)).json;
    const back = (p) => server.request('DELETE', `/v1/approvals/${id}/vote`, undefined, as(p));
    for (let i = 0; i < 12; i++) {
        const p = one(), q = other(p), act = pick();
        if (act < 0.15) {
            same((await back(p)).status, yes.has(p) ? 200 : 404, 'a vote taken back');
            yes.delete(p);
        } else if (act < 0.2) {
            same((await say_no(p)).status, 'denied');
            return 'denied';
        } else if (act < 0.35) {               // two yeses at once
            const both = await Promise.all([say_yes(p), say_yes(q)]);
            check(both.some((r) => r.status === 'approved'), `two at once are two: ${JSON.stringify(both)}`);
            return 'approved';
        } else if (act < 0.45) {               // a yes and a no at once: who is first in the log counts
            const [r, n] = await Promise.all([say_yes(p), say_no(q)]);
            const enough = new Set([...yes, p]).size >= 2, won = r.status === 'approved' ? 'approved' : 'denied';
            check(won === 'denied' || enough, 'one yes was not enough');
            check(won === 'approved' ? n.error?.code === 'already_decided' : n.status === 'denied', JSON.stringify([r, n]));
            return won;
        } else if (act < 0.55 && yes.has(p)) { // a yes, while another is taken back
            const [r, n] = await Promise.all([say_yes(q), back(p)]);
            if (r.status === 'approved') { same(n.status, 409, 'decided before it was taken back'); return 'approved'; }
            same([r.status, n.status], ['pending', 200]);
            yes.delete(p);
            yes.add(q);
        } else {
            const r = await say_yes(p);
            yes.add(p);
            same(r.status, yes.size >= 2 ? 'approved' : 'pending', 'after a yes');
            if (yes.size >= 2) return 'approved';
        }
    }
    return 'pending';
}

everywhere('two of three in random orders, with races, take-backs and noes: it runs exactly when two said yes', async (t, serve, where) => {
    const b = await bank(t), server = await serve(t, payments(b, {}, { auth: auth(PEOPLE), limits: { per_principal: { requests_per_minute: 0 } }, approvals: { rules: RULES } })), ends = { approved: 0, denied: 0, pending: 0 };
    await crowd(much(12, 1000), much(3, 8), async (i) => {
        const to = `Payee${i}`, pick = random(SEED + i), s = await say(server, 'ada', PAY(2000 + i, to));
        same(s.ids.length, 1, `questions about ${to}: ${s.events.text.slice(-600)}`);
        const verdict = await ballot(server, pick, s.ids[0]);
        if (verdict !== 'pending') await still(server, 'ada', s.thread);
        same(b.books.filter((x) => x.recipient === to).length, verdict === 'approved' ? 1 : 0, `${to}, ${verdict}`);
        same((await approval(server, 'ada', s.ids[0])).status, { approved: 'done' }[verdict] ?? verdict, to);
        ends[verdict]++;
    });
    same(b.books.length, ends.approved, 'what was paid in all');
    figure(`${where}: ${ends.approved} approved and paid, ${ends.denied} denied, ${ends.pending} left open`);
});

// --- one effect --------------------------------------------------------------------------------------

everywhere('pairs of different calls for one invoice, some after an unknown one was settled: one line in the books', async (t, serve, where) => {
    const lost = new Map(), pairs = much(12, 1000);
    const b = await bank(t, (body) => { const how = lost.get(body.recipient); lost.delete(body.recipient); return how; });
    const server = await serve(t, payments(b, { effect: 'invoice:{recipient}' }));
    const pay = async (n, to) => { const s = await say(server, null, PAY(n, to)); for (const id of s.ids) await decide(server, null, id, true); await still(server, null, s.thread); return s; };
    let settled = 0;
    await crowd(pairs, much(3, 8), async (i) => {
        const to = `Invoice${i}`, lines = () => b.books.filter((x) => x.recipient === to).length, happened = i % 6 === 5;
        if (i % 3 === 2) {
            lost.set(to, happened ? { paid: true, status: 500, body: {} } : 'nothing');
            const s = await pay(10 + i, to);
            await pay(11 + i, to);
            same(lines(), happened ? 1 : 0, 'refused while nobody knows');
            same((await server.post(`/v1/approvals/${s.ids[0]}/settle`, { outcome: happened ? 'done' : 'not_done' })).status, 200);
            settled++;
        }
        await Promise.all([pay(20 + i, to), pay(21 + i, to)]);
        same(lines(), 1, to);
    });
    same(b.books.length, pairs, 'lines in all');
    figure(`${where}: ${pairs} invoices, ${settled} of them unknown and settled first, ${b.books.length} lines`);
});

// --- who is told ---------------------------------------------------------------------------------------

family('webhooks: every event arrives under one id at receivers that are dead, slow, or fail half of the time', (f) => f.cycle('webhooks', async (t) => {
    const b = await bank(t), questions = much(4, 40), dead_ms = much(0, 600000), slow_ms = much(300, 30000), pick = random(SEED), began = Date.now();
    const fine = await receiver(t), later = await receiver(t), wire = await new Wire(() => Number(new URL(later.url).port)).listen();
    const slow = await receiver(t, () => new Promise((yes) => setTimeout(() => yes(200), slow_ms))), half = await receiver(t, (before) => (before < 5 && pick() < 0.5 ? 500 : 200));
    t.defer(() => wire.close());
    wire.cut(false);
    const hook = (url) => ({ url, secret: SECRET, allow: ['127.0.0.1'] });
    const server = await desk(t, b, { notify: [hook(fine.url), hook(`http://127.0.0.1:${wire.port}/hook`), hook(slow.url), hook(half.url)] });
    for (let i = 0; i < questions; i++) {
        const s = await say(server, 'ada', PAY(5000 + i));
        same((await decide(server, 'fay', s.ids[0], true)).status, 200);
        same((await decide(server, 'fin', s.ids[0], i % 2 === 0)).status, 200);
        if (i === 1) await server.restart('SIGKILL');
    }
    const events = 3 * questions, took = {}, all = [['fine', fine], ['half', half], ['slow', slow], ['dead', later]];
    const arrived = async (name, r, ms) => { await until(() => r.taken().length >= events, `everything at ${name}`, ms); took[name] = (Date.now() - began) / 1000; };
    const others = Promise.all(all.slice(1).map(([name, r]) => arrived(name, r, much(120000, 2100000))));
    others.catch(() => {});            // whoever waits for it hears it
    await arrived('fine', fine, 60000);
    check(later.got.length === 0, 'the dead one has nothing yet');
    await until(() => server.log.some((l) => l.event === 'notify.failed') && Date.now() - began >= dead_ms, 'the dead one to be tried', dead_ms + 60000);
    wire.heal();
    await others;
    const ids = (r) => [...new Set(r.got.map((g) => g.id))].sort();
    for (const [name, r] of all) {
        check(r.got.every((g) => g.sound), `${name}: signed`);
        same(ids(r), ids(fine), `${name}: the same ids`);
        same(r.taken().length, events, `${name}: every event`);
        for (const g of r.got) same(g.body, fine.got.find((x) => x.id === g.id).body, `${name}: one id, one message`);
    }
    check(!server.err.includes(SECRET) && !server.err.includes(SECRET.slice(6)), 'no secret in the log');
    figure(`${events} events, dead for ${Math.max(dead_ms / 1000, 0)} s, slow by ${slow_ms / 1000} s: ${all.map(([name, r]) => `${name} all after ${took[name].toFixed(0)} s in ${r.got.length} requests`).join(', ')}`);
}));
