// kill.test.mjs -- kill -9 at any instant loses nothing that was told, leaves no thread
// stuck, and never runs a payment twice.
//
// A search is killed at random instants, so is an approved payment; both at every
// passage of every named point; the payment also a second time, while it recovers.
// After the restart the log, the lists and the ledger are held against what the
// client had seen.
import { Context, check, same, settled, sound, until, within } from '../live/lib.mjs';
import { KILLS, LONG, SEED, Screen, audit, family, pause, points, quiet, random } from './lib.mjs';

const PASSAGES = LONG ? 100 : 6;           // of one point, at most

// Either this server dies by its fault point, or it has nothing more to do (`over` gives true), or it is killed
// after `ms`. True: it was the point.
async function die(server, how, over) {
    server.killed = true;
    const whole = how.fault ? await quiet(over()) : await pause(how.ms);
    if (how.fault && !whole) { await within(server.gone, `the end at ${how.fault}`); return true; }
    await server.kill();
    return false;
}

// --- a search ----------------------------------------------------------------------------

async function search(f, t, how, options) {
    const server = await t.serve({ ...options, env: how.fault && { PARLEY_FAULT: how.fault } });
    const screen = new Screen();
    const talk = quiet(server.say('Find articles about CRISPR'));
    const hit = await die(server, how, async () => { const x = await talk; await x?.ended('the search'); return x && !x.broken; });
    const s = await talk;
    if (s) { await s.ended('the broken stream'); screen.take(s.events); }

    const next = await t.serve({ dir: server.dir });
    const threads = (await next.get('/v1/threads')).json.threads;
    if (!s) { f.note('killed before an answer began'); check(threads.length <= 1, 'at most one thread'); } else same(threads.map((x) => x.id), [s.thread], 'the thread that was named');
    for (const x of threads) same((await settled(next, x.id)).state, 'idle', 'the state after the restart');
    if (!threads.length) return hit;
    const thread = threads[0].id, all = await next.events(thread, '0.0');
    const end = await all.must('complete');
    await all.close();
    same(end.data.payload.tool_history.map((h) => [h.tool_name, h.ok]), [['search_articles', true]], 'the one search');
    screen.kept(all.events);

    const before = screen.events.some((e) => e.data.type === 'complete');
    const later = await next.events(thread, screen.last ?? '0.0');
    if (!before) await later.must('complete');
    await later.close();
    f.note(!s ? 'no answer' : before ? 'after the end' : later.of('step_reset').length ? 'in a step: begun again' : 'between steps');
    screen.take(later.events);
    same(screen.text, end.data.payload.message, 'the text on the screen');
    const starts = screen.events.filter((e) => e.data.type === 'tool_start').map((e) => e.data.tool_use_id);
    same(starts, end.data.payload.tool_history.map((h) => h.tool_use_id), 'the starts on the screen');
    sound(await next.turn('hello', { thread_id: thread }));
    same((await next.get('/readyz')).json.runs, 0, 'runs that are counted');
    check(!next.log.some((l) => l.level === 'error'), `no error in the log: ${next.err}`);
    await next.kill();
    return hit;
}

// --- a payment ------------------------------------------------------------------------------

// To the end of the run that the yes continues.
async function toldEnd(server, thread) {
    const s = await server.events(thread, '0.0');
    const end = await s.next((e) => e.data.type === 'complete' && !e.data.payload.awaiting);
    await s.close();
    return end;
}

// The next process ends at a point of its own, or has recovered and answers what is asked of it.
async function dieAgain(t, fault, dir) {
    const server = await t.serve({ dir, env: { PARLEY_FAULT: fault } });
    return die(server, { fault }, async () => {
        const { threads } = (await server.get('/v1/threads')).json;
        for (const x of threads) await settled(server, x.id);
        return true;
    });
}

async function payment(f, t, how) {
    const server = await t.serve({ env: how.fault && { PARLEY_FAULT: how.fault } });
    const s = await quiet(server.turn('Send 50 dollars to Hanako'));
    const id = s?.payload?.awaiting?.[0];
    const yes = id ? quiet(server.post(`/v1/approvals/${id}`, { confirmed: true })) : null;
    const hit = await die(server, how, async () => id && toldEnd(server, s.thread));
    const answer = await yes;
    if (!id) { f.note('killed before it was asked'); same(server.ledger(), [], 'payments'); }
    const hitAgain = how.second && await dieAgain(t, how.second, server.dir);

    const next = await t.serve({ dir: server.dir });
    const [x] = (await next.get('/v1/threads')).json.threads;
    if (!x) { check(!s, 'nothing was told'); return how.second ? hitAgain : hit; }
    const shown = await settled(next, x.id);
    const [a] = (await next.get('/v1/approvals')).json.approvals;
    check(a, 'the question is there');
    const paid = next.ledger();
    check(paid.length <= 1, 'at most one line in the ledger');
    const all = await next.events(x.id, '0.0');
    await all.must(shown.state === 'waiting' ? 'complete' : (e) => e.data.type === 'complete' && !e.data.payload.awaiting);
    const started = all.of('tool_start').some((e) => e.tool_use_id === a.tool_use_id);
    const [done] = all.of('tool_complete');
    await all.close();
    if (s) new Screen(s.events).kept(all.events);
    if (answer?.status === 200) check(a.status !== 'pending', 'an approval that was acknowledged is kept');
    if (paid.length) { same(paid[0].call_id, a.tool_use_id, 'whose payment'); check(started, 'a payment that the log does not know as started'); }
    f.note(`${a.status}${paid.length ? ', paid' : ''}`);
    if (a.status === 'pending') await again(next, a, x);
    else if (a.status === 'unknown') { f.uncertain++; await uncertain(next, a, done, paid); } else same([a.status, paid.length, done?.ok], ['done', 1, true], 'status, ledger and outcome');
    await audit(next);
    same((await next.get('/readyz')).json.runs, 0, 'runs that are counted');
    await next.kill();
    return how.second ? hitAgain : hit;
}

// It was not decided: nothing may have been paid, and a yes pays once.
async function again(next, a, x) {
    same(next.ledger(), [], 'payments before the yes');
    same((await next.post(`/v1/approvals/${a.id}`, { confirmed: true })).status, 200, 'the yes');
    await settled(next, x.id);
    same(next.ledger().map((l) => l.call_id), [a.tool_use_id], 'the payment');
    same((await next.get(`/v1/approvals/${a.id}`)).json.status, 'done');
}

// Nobody knows: it is said, listed, not run again whoever asks, and settled by a person.
async function uncertain(next, a, done, paid) {
    same([done?.ok, done?.outcome], [false, 'unknown'], 'the outcome that is told');
    same((await next.get('/v1/approvals?status=unknown')).json.approvals.map((y) => y.id), [a.id], 'the list of uncertain ones');
    same((await next.post(`/v1/approvals/${a.id}`, { confirmed: true })).json.duplicate, true, 'the same yes again');
    const outcome = paid.length ? 'done' : 'not_done';
    const settle = await next.post(`/v1/approvals/${a.id}/settle`, { outcome, note: 'looked into the ledger', result: { lines: paid.length } });
    same([settle.status, settle.json.status], [200, paid.length ? 'done' : 'failed'], 'settled');
    same([settle.json.settled_note, settle.json.settled_result], ['looked into the ledger', { lines: paid.length }], 'what the person found');
    same((await next.post(`/v1/approvals/${a.id}/settle`, { outcome })).json.error.code, 'already_settled');
    same(next.ledger().length, paid.length, 'nothing was run again');
}

// --- the families ---------------------------------------------------------------------------------

const slow = { config: { demo: { token_ms: 1 } } };

// How long they take when nobody kills them: the shortest of a few, because a kill after the end shows nothing.
let times;
async function measure() {
    if (times) return times;
    const t = new Context(), server = await t.serve(slow);
    let find = Infinity, pay = Infinity;
    for (let i = 0; i < 3; i++) {
        let start = Date.now();
        await server.turn('Find articles about CRISPR');
        find = Math.min(find, Date.now() - start);
        const s = await server.turn('Send 50 dollars to Hanako');
        start = Date.now();
        await server.post(`/v1/approvals/${s.payload.awaiting[0]}`, { confirmed: true });
        await until(() => server.ledger().length === i + 1, 'the payment');
        pay = Math.min(pay, Date.now() - start);
    }
    await t.close();
    return (times = { find, pay });
}

family('kill -9 during a search', async (f) => {
    const { find } = await measure(), pick = random(SEED);
    await f.all(Array.from({ length: Math.ceil(KILLS * 0.6) }, () => { const ms = pick() * find; return [`search killed after ${ms.toFixed(1)} ms`, (t) => search(f, t, { ms }, slow)]; }));
});

family('kill -9 during a payment', async (f) => {
    const { pay } = await measure(), pick = random(SEED + 1);
    await f.all(Array.from({ length: Math.ceil(KILLS * 0.2) }, () => { const ms = pick() * Math.max(pay * 3, 10); return [`payment killed ${ms.toFixed(1)} ms after the yes`, (t) => payment(f, t, { ms })]; }));
});

// Each point at its first, second, ... passage, until there is none left.
async function visit(f, run) {
    const todo = [], never = [];
    const add = (point, n) => todo.push([`${point}:${n}`, async (t) => {
        if (!(await run(t, `${point}:${n}`))) { if (n === 1) never.push(point); } else if (n < PASSAGES) add(point, n + 1);
    }]);
    for (const p of points()) add(p, 1);
    await f.all(todo);
    if (never.length) f.note(`never passed: ${never.sort().join(' ')},`);
}
family('kill -9 at every named point of a search', (f) => visit(f, (t, fault) => search(f, t, { fault }, {})));
family('kill -9 at every named point of a payment', (f) => visit(f, (t, fault) => payment(f, t, { fault })));
// One left in the middle of the payment, one while the model spoke for the first and for the last time.
for (const first of ['run.in_tool:1', 'model.started:1', 'model.started:2'])
    family(`kill -9 at ${first}, and at every named point while it recovers`, (f) => visit(f, (t, second) => payment(f, t, { fault: first, second })));
