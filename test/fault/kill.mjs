// kill.mjs -- kill -9 at any instant loses nothing that was told, leaves no thread
// stuck, and never runs a payment twice.
//
// A search is killed at KILLS (200) random instants, an approved payment at KILLS / 4,
// both at every passage of the named fault points around a commit. After each
// restart the log, the lists and the ledger are held against what the client had
// seen. JOBS servers at once (3). SEED makes a run's instants the same again.
import { Context, check, same, settled, sound, until } from '../live/lib.mjs';

const KILLS = Number(process.env.KILLS || 200), JOBS = Number(process.env.JOBS || 3);
const SEED = Number(process.env.SEED || Date.now() % 1000000);
const POINTS = ['store.before_commit', 'store.after_commit'];

function random(seed) {                    // mulberry32: the same seed, the same instants
    let a = seed >>> 0;
    return () => {
        a = (a + 0x6d2b79f5) >>> 0;
        let t = Math.imul(a ^ (a >>> 15), a | 1);
        t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
        return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
    };
}
const pause = (ms) => new Promise((yes) => setTimeout(yes, ms));
const stats = {};
const note = (what) => { stats[what] = (stats[what] || 0) + 1; };

// Either this server dies by its fault point (or has nothing more to commit), or it is killed after `ms`.
async function die(server, how, over) {
    if (how.fault) await Promise.race([server.gone, over()]);
    else await pause(how.ms);
    server.killed = true;
    if (server.status === null) await server.kill();
}

// --- a search ----------------------------------------------------------------------------

// What a client has on its screen: the text, and what each event of the log said.
class Screen {
    constructor() { this.text = ''; this.events = []; }
    take(events) {
        for (const { id, data } of events) {
            if (data.type === 'text_delta') this.text += data.text;
            if (data.type === 'step_reset') this.text = data.message;
            if (id) this.events.push({ id, data });
        }
    }
    get last() { return this.events.at(-1)?.id; }
}

const STEP = ['text_delta', 'intent_confirmation'];
const seqOf = (id) => Number(id.split('.')[0]);
const plain = (d) => { const { timestamp, ...rest } = d; return JSON.stringify(rest); };

// Everything told with an id is in the log: facts always; pieces of a step once something after it was told.
function kept(screen, whole) {
    if (!screen.last) return;
    const newest = seqOf(screen.last), there = new Map(whole.filter((e) => e.id).map((e) => [e.id, e.data]));
    for (const { id, data } of screen.events) {
        if (STEP.includes(data.type) && (data.type === 'text_delta' || seqOf(id) === newest)) continue;       // texts are compared as a whole
        check(there.has(id), `lost: ${id} ${JSON.stringify(data).slice(0, 200)}`);
        same(plain(there.get(id)), plain(data), `what was told as ${id}`);
    }
}

async function search(t, how, options) {
    const server = await t.serve({ ...options, env: how.fault && { PARLEY_FAULT: how.fault } });
    const screen = new Screen();
    const talk = server.say('Find articles about CRISPR').catch(() => null);
    await die(server, how, async () => (await talk)?.ended('the search'));
    const s = await talk;
    if (s) { await s.ended('the broken stream'); screen.take(s.events); }

    const next = await t.serve({ dir: server.dir });
    const threads = (await next.get('/v1/threads')).json.threads;
    if (!s) { note('killed before an answer began'); check(threads.length <= 1, 'at most one thread'); } else same(threads.map((x) => x.id), [s.thread], 'the thread that was named');
    for (const x of threads) same((await settled(next, x.id)).state, 'idle', 'the state after the restart');
    if (!threads.length) return;
    const thread = threads[0].id, whole = await next.events(thread, '0.0');
    const end = await whole.must('complete');
    await whole.close();
    same(end.data.payload.tool_history.map((h) => [h.tool_name, h.ok]), [['search_articles', true]], 'the one search');
    kept(screen, whole.events);

    const before = screen.events.some((e) => e.data.type === 'complete');
    const f = await next.events(thread, screen.last ?? '0.0');
    if (!before) await f.must('complete');
    await f.close();
    note(!s ? 'no answer' : before ? 'after the end' : f.of('step_reset').length ? 'in a step: begun again' : 'between steps');
    screen.take(f.events);
    same(screen.text, end.data.payload.message, 'the text on the screen');
    const starts = screen.events.filter((e) => e.data.type === 'tool_start').map((e) => e.data.tool_use_id);
    same(starts, end.data.payload.tool_history.map((h) => h.tool_use_id), 'the starts on the screen');
    sound(await next.turn('hello', { thread_id: thread }));
    same((await next.get('/readyz')).json.runs, 0, 'runs that are counted');
    check(!next.log.some((l) => l.level === 'error'), `no error in the log: ${next.err}`);
    await next.kill();
}

// --- a payment ------------------------------------------------------------------------------

async function payment(t, how) {
    const server = await t.serve({ env: how.fault && { PARLEY_FAULT: how.fault } });
    const s = await server.turn('Send 50 dollars to Hanako').catch(() => null);
    const id = s?.payload?.awaiting?.[0];
    const yes = id ? server.post(`/v1/approvals/${id}`, { confirmed: true }).catch(() => null) : null;
    await die(server, how, async () => s && settled(server, s.thread).catch(() => {}));
    const answer = await yes;
    if (!id) { note('payment: killed before it was asked'); same(server.ledger(), [], 'payments'); }

    const next = await t.serve({ dir: server.dir });
    const [x] = (await next.get('/v1/threads')).json.threads;
    if (!x) { check(!s, 'nothing was told'); return; }
    const shown = await settled(next, x.id);
    const [a] = (await next.get('/v1/approvals')).json.approvals;
    check(a, 'the question is there');
    const paid = next.ledger();
    check(paid.length <= 1, 'at most one line in the ledger');
    const f = await next.events(x.id, '0.0');
    await f.must(shown.state === 'waiting' ? 'complete' : (e) => e.data.type === 'complete' && !e.data.payload.awaiting);
    const started = f.of('tool_start').some((e) => e.tool_use_id === a.tool_use_id);
    const [done] = f.of('tool_complete');
    await f.close();
    if (answer?.status === 200) check(a.status !== 'pending', 'an approval that was acknowledged is kept');
    if (paid.length) { same(paid[0].call_id, a.tool_use_id, 'whose payment'); check(started, 'a payment that the log does not know as started'); }
    note(`payment: ${a.status}${paid.length ? ', paid' : ''}`);
    if (a.status === 'pending') await again(next, a, x);
    else if (a.status === 'unknown') await uncertain(next, a, done, paid);
    else { same([a.status, paid.length, done?.ok], ['done', 1, true], 'status, ledger and outcome'); }
    same((await next.get('/readyz')).json.runs, 0, 'runs that are counted');
    await next.kill();
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
    const settle = await next.post(`/v1/approvals/${a.id}/settle`, { outcome, note: 'looked into the ledger' });
    same([settle.status, settle.json.status], [200, paid.length ? 'done' : 'failed'], 'settled');
    same((await next.post(`/v1/approvals/${a.id}/settle`, { outcome })).json.error.code, 'already_settled');
    same(next.ledger().length, paid.length, 'nothing was run again');
}

// --- all of them ---------------------------------------------------------------------------------

// How long they take when nobody kills them: the shortest of a few, because a kill after the end shows nothing.
const slow = { config: { demo: { token_ms: 1 } } };
async function measure(t) {
    const server = await t.serve(slow);
    let search = Infinity, pay = Infinity;
    for (let i = 0; i < 3; i++) {
        let start = Date.now();
        await server.turn('Find articles about CRISPR');
        search = Math.min(search, Date.now() - start);
        const s = await server.turn('Send 50 dollars to Hanako');
        start = Date.now();
        await server.post(`/v1/approvals/${s.payload.awaiting[0]}`, { confirmed: true });
        await until(() => server.ledger().length === i + 1, 'the payment');
        pay = Math.min(pay, Date.now() - start);
    }
    return [search, pay];
}
const first = new Context();
const [searchMs, payMs] = await measure(first);
await first.close();

const pick = random(SEED), todo = [];
for (let i = 0; i < KILLS; i++) { const ms = pick() * searchMs; todo.push([`search killed after ${ms.toFixed(1)} ms`, (t) => search(t, { ms }, slow)]); }
for (let i = 0; i < KILLS / 4; i++) { const ms = pick() * Math.max(payMs * 3, 10); todo.push([`payment killed ${ms.toFixed(1)} ms after the yes`, (t) => payment(t, { ms })]); }
for (const point of POINTS)
    for (let n = 1; n <= 5; n++) {
        const fault = `${point}:${n}`;
        todo.push([`search, ${fault}`, (t) => search(t, { fault }, {})], [`payment, ${fault}`, (t) => payment(t, { fault })]);
    }

const count = { passed: 0, failed: 0 };
process.on('unhandledRejection', () => {});
async function worker() {
    for (let job; (job = todo.shift());) {
        const t = new Context();
        let trouble;
        try { await job[1](t); } catch (e) { trouble = e; }
        try { await t.close(); } catch (e) { trouble ??= e; }
        if (trouble) { count.failed++; console.log(`FAILED: ${job[0]} (SEED=${SEED})\n${(trouble.stack || String(trouble)).replace(/^/gm, '    ')}`); } else count.passed++;
    }
}
await Promise.all(Array.from({ length: JOBS }, worker));
console.log(`  a search takes ${searchMs} ms, a payment ${payMs} ms; SEED=${SEED}\n  ${Object.entries(stats).sort().map(([k, v]) => `${k}: ${v}`).join('\n  ')}`);
console.log(`${count.passed} passed, ${count.failed} failed`);
process.exit(count.failed ? 1 : 0);
