// race.mjs -- two answers at the same instant by two doors: exactly one decides.
//
// RACES (200) gates, half of them answered yes and yes, half yes and no, by REST and
// by one of /live, POST /stream, POST /api/chat in turn. Each must have exactly one
// decision; each approved payment exactly one line in the ledger, each denied one
// none. JOBS (4) gates at once on one server.
import { Context, check, same, settled } from '../live/lib.mjs';
import { Chat, Live } from '../live/ai.mjs';

const RACES = Number(process.env.RACES || 200), JOBS = Number(process.env.JOBS || 4);
const t = new Context();
const server = await t.serve();
const count = { passed: 0, failed: 0 }, won = {};
process.on('unhandledRejection', () => {});

// Each carrier: asks, and answers {ok, duplicate?, code?}.
const carriers = {
    '/live': async () => {
        const l = await Live.open(null, server);
        await l.say('Send 50 dollars to Hanako');
        const q = l.asked[0];
        return { q, thread: l.thread, close: () => l.drop(), answer: async (yes) => {
            l.approve(q.id, yes);
            const f = (await l.find((x) => x.control?.for === q.id && x.control.type !== 'data-approval', 'an answer')).control;
            return f.type === 'ack' ? { ok: true, duplicate: f.duplicate } : { ok: false, code: f.code };
        } };
    },
};
for (const door of ['/stream', '/api/chat'])
    carriers[door] = async () => {
        const c = new Chat(null, server, door);
        c.auto = false;
        await c.say('Send 50 dollars to Hanako');
        const q = c.asked[0];
        return { q, thread: c.id, close: () => {}, answer: async (yes) => {
            c.mark(q.id, yes);
            const s = await c.open({ messageId: c.last.id });
            await s.read();
            return s.status === 200 ? { ok: true, told: s.of('finish').length === 1 } : { ok: false, code: s.headers['parley-error'] };
        } };
    };
const rest = async (q, yes) => {
    const r = await server.post(`/v1/approvals/${q.id}`, { confirmed: yes });
    return r.status === 200 ? { ok: true, duplicate: r.json.duplicate } : { ok: false, code: r.json.error.code };
};

async function race(i) {
    const name = Object.keys(carriers)[i % 3], second = i % 2 === 0, c = await carriers[name]();
    try {
        const [a, b] = await Promise.all(i % 4 < 2 ? [c.answer(true), rest(c.q, second)] : [rest(c.q, second), c.answer(true)].reverse());
        const row = (await settled(server, c.thread), (await server.get(`/v1/approvals/${c.q.id}`)).json);
        const lines = server.ledger().filter((l) => l.call_id === c.q.call).length;
        if (second) {
            check(a.ok && b.ok, `both say yes: ${JSON.stringify([a, b])}`);
            same([row.status, lines], ['done', 1], 'one payment');
        } else {
            const [carrier, byRest] = [a, b];
            check(carrier.ok !== byRest.ok, `one winner: ${JSON.stringify([a, b])}`);
            same((carrier.ok ? byRest : carrier).code, 'already_decided', 'the loser');
            same([row.status, lines], carrier.ok ? ['done', 1] : ['denied', 0], 'what the winner said');
            won[`${carrier.ok ? name : 'rest'} won`] = (won[`${carrier.ok ? name : 'rest'} won`] || 0) + 1;
        }
        if (a.told !== undefined && a.ok) check(a.told, 'the stream ends with finish');
    } finally { c.close(); }
}

let next = 0;
async function worker() {
    for (let i; (i = next++) < RACES;)
        try { await race(i); count.passed++; } catch (e) { count.failed++; console.log(`FAILED: race ${i}\n${(e.stack || String(e)).replace(/^/gm, '    ')}`); }
}
await Promise.all(Array.from({ length: JOBS }, worker));
const calls = server.ledger().map((l) => l.call_id);
try { same(new Set(calls).size, calls.length, 'one line per call'); } catch (e) { count.failed++; console.log(`FAILED: ${e.message}`); }
await t.close();
console.log(`  ${calls.length} payments for ${RACES} gates; ${Object.entries(won).sort().map(([k, v]) => `${k} ${v}`).join(', ')}`);
console.log(`${count.passed} passed, ${count.failed} failed`);
process.exit(count.failed ? 1 : 0);
