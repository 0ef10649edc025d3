// approve.mjs -- kill -9 around an approved payment, at random instants and at named
// points: never two lines in the ledger for one call, never a line that the log does
// not know as started, every uncertain one reported as unknown.
//
// KILLS (40) cycles, JOBS (2) stores at once; each store lives through all its kills.
// The yes comes by REST, /live, POST /stream, POST /api/chat and an action in turn.
// SEED makes a run's instants the same again.
import { Context, check, same, settled, until } from '../live/lib.mjs';
import { Chat, Live } from '../live/ai.mjs';

const KILLS = Number(process.env.KILLS || 40), JOBS = Number(process.env.JOBS || 2);
const SEED = Number(process.env.SEED || Date.now() % 1000000);
// Passages since the start of that process; the commits are: the message, the question, yes and started, the outcome, ...
const POINTS = ['run.before_tool:1', 'run.in_tool:1', 'run.after_tool:1', ...[1, 2, 3, 4, 5].flatMap((n) => [`store.before_commit:${n}`, `store.after_commit:${n}`])];

let seed = SEED >>> 0;                 // mulberry32
function random() {
    seed = (seed + 0x6d2b79f5) >>> 0;
    let x = Math.imul(seed ^ (seed >>> 15), seed | 1);
    x ^= x + Math.imul(x ^ (x >>> 7), x | 61);
    return ((x ^ (x >>> 14)) >>> 0) / 4294967296;
}
const pause = (ms) => new Promise((yes) => setTimeout(yes, ms));
const stats = {}, note = (what) => { stats[what] = (stats[what] || 0) + 1; };
const quiet = (p) => Promise.resolve(p).catch(() => null);

// --- how the yes is said: each gives {q, thread} of the question, then says yes without waiting --------------

const ways = {
    rest: async (server) => {
        const s = await server.turn('Send 50 dollars to Hanako');
        const { confirmation_id: id, tool_use_id: call } = s.of('tool_confirmation')[0];
        return { id, call, thread: s.thread, yes: () => server.post(`/v1/approvals/${id}`, { confirmed: true }) };
    },
    action: async (server) => {
        const s = await server.turn('Send 50 dollars to Hanako');
        const { confirmation_id: id, tool_use_id: call } = s.of('tool_confirmation')[0];
        return { id, call, thread: s.thread, yes: () => server.post(`/v1/threads/${s.thread}/actions`, { action: 'approve', data: { confirmation_id: id } }) };
    },
    '/live': async (server) => {
        const l = await Live.open(null, server);
        await l.say('Send 50 dollars to Hanako');
        const q = l.asked[0];
        return { id: q.id, call: q.call, thread: l.thread, close: () => l.drop(), yes: async () => { l.answer(q.id, true); const a = await l.control('ack'); await l.turn(); return { status: 200, json: a }; } };
    },
};
for (const door of ['/stream', '/api/chat'])
    ways[door] = async (server) => {
        const c = new Chat(null, server, door);
        c.auto = false;
        await c.say('Send 50 dollars to Hanako');
        const q = c.asked[0];
        c.mark(q.id, true);
        return { id: q.id, call: q.call, thread: c.id, yes: async () => { const s = await c.open({ messageId: c.last.id }); return s; } };
    };

// --- one cycle ------------------------------------------------------------------------------------------

async function cycle(t, i, dir, server) {
    const way = Object.keys(ways)[i % 5], fault = random() < 0.5 ? POINTS[Math.floor(random() * POINTS.length)] : undefined;
    if (fault) {
        if (server) await server.kill();
        server = await t.serve({ dir, env: { PARLEY_FAULT: fault } });
    }
    server ??= await t.serve({ dir });
    server.mayFail = true;
    const q = await quiet(ways[way](server));
    const said = q && quiet(q.yes());
    if (fault) await Promise.race([server.gone, q ? quiet(said.then(() => settled(server, q.thread))) : server.gone]);
    else await pause(random() * 12);
    const answer = said && await Promise.race([said, server.gone.then(() => null), pause(0)]);
    await server.kill();
    q?.close?.();
    const next = await t.serve({ dir });
    next.mayFail = true;
    if (q) await judge(next, q, answer?.status === 200);
    else note('killed before the question');
    return next;
}

async function judge(server, q, acked) {
    await settled(server, q.thread);
    const a = (await server.get(`/v1/approvals/${q.id}`)).json;
    const lines = () => server.ledger().filter((l) => l.call_id === q.call).length;
    const f = await server.events(q.thread, '0.0');
    await f.must((e) => e.data.type === 'complete');
    await until(() => f.over || f.events.at(-1).data.type === 'complete', 'the end of what is told');
    const started = f.of('tool_start').some((e) => e.tool_use_id === q.call), [done] = f.of('tool_complete').filter((e) => e.tool_use_id === q.call);
    await f.close();
    const paid = lines();
    check(paid <= 1, `${paid} lines for ${q.call}`);
    check(!paid || started, `a payment that the log does not know as started: ${q.call}`);
    check(!acked || a.status !== 'pending', 'a yes that was acknowledged is kept');
    note(`${a.status}${paid ? ', paid' : ', not paid'}`);
    if (a.status === 'pending') {
        same([paid, started], [0, false], 'nothing happened before the yes');
        const r = await server.post(`/v1/approvals/${q.id}`, { confirmed: true });
        same(r.status, 200, 'the yes after the restart');
        await settled(server, q.thread);
        same([lines(), (await server.get(`/v1/approvals/${q.id}`)).json.status], [1, 'done'], 'paid once');
    } else if (a.status === 'unknown') {
        same([done?.ok, done?.outcome, started], [false, 'unknown', true], 'told as unknown');
        check((await server.get('/v1/approvals?status=unknown')).json.approvals.some((x) => x.id === q.id), 'listed as unknown');
        const again = await server.post(`/v1/approvals/${q.id}`, { confirmed: true });
        same([again.status, again.json.duplicate, lines()], [200, true, paid], 'nothing is run again');
        same((await server.post(`/v1/approvals/${q.id}/settle`, { outcome: paid ? 'done' : 'not_done' })).status, 200, 'settled by a person');
    } else same([a.status, paid, done?.ok], ['done', 1, true], 'status, ledger, outcome');
}

// --- all of them --------------------------------------------------------------------------------------------

const count = { passed: 0, failed: 0 };
process.on('unhandledRejection', () => {});
let next = 0;
async function store() {
    const t = new Context(), dir = t.folder();
    let server;
    for (let i; (i = next++) < KILLS;) {
        const place = seed;
        try { server = await cycle(t, i, dir, server); count.passed++; } catch (e) {
            count.failed++;
            console.log(`FAILED: cycle ${i} (SEED=${SEED}, at ${place})\n${(e.stack || String(e)).replace(/^/gm, '    ')}`);
            server = undefined;
        }
    }
    const all = server ? server.ledger().map((l) => l.call_id) : [];
    try { same(new Set(all).size, all.length, 'lines and calls'); } catch (e) { count.failed++; console.log(`FAILED: ${e.message}`); }
    if (server) await server.kill();
    await t.close();
}
await Promise.all(Array.from({ length: JOBS }, store));
console.log(`  SEED=${SEED}\n  ${Object.entries(stats).sort().map(([k, v]) => `${k}: ${v}`).join('\n  ')}`);
console.log(`${count.passed} passed, ${count.failed} failed`);
process.exit(count.failed ? 1 : 0);
