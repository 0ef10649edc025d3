// race.test.mjs -- two answers at the same instant by two doors: exactly one decides.
//
// RACES (200) gates, half of them answered yes and yes, half yes and no, by REST and
// by one of /live, POST /stream, POST /api/chat in turn. Each must have exactly one
// decision; each approved payment exactly one line in the ledger, each denied one
// none. All on one server.
import { Context, check, same, settled } from '../live/lib.mjs';
import { Chat, Live } from '../live/ai.mjs';
import { LONG, audit, family } from './lib.mjs';

const RACES = Number(process.env.RACES || (LONG ? 2000 : 200)), JOBS = 4;

// Each carrier: asks, and answers {ok, duplicate?, code?}.
const carriers = {
    '/live': async (server) => {
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
    carriers[door] = async (server) => {
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
const rest = async (server, q, yes) => {
    const r = await server.post(`/v1/approvals/${q.id}`, { confirmed: yes });
    return r.status === 200 ? { ok: true, duplicate: r.json.duplicate } : { ok: false, code: r.json.error.code };
};

async function race(f, server, i) {
    const name = Object.keys(carriers)[i % 3], second = i % 2 === 0, c = await carriers[name](server);
    try {
        const [a, b] = await Promise.all(i % 4 < 2 ? [c.answer(true), rest(server, c.q, second)] : [rest(server, c.q, second), c.answer(true)].reverse());
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
            f.note(`${carrier.ok ? name : 'rest'} won`);
        }
        if (a.told !== undefined && a.ok) check(a.told, 'the stream ends with finish');
    } finally { c.close(); }
}

family('two answers at the same instant', async (f) => {
    const t = new Context(), server = await t.serve();
    await f.all(Array.from({ length: RACES }, (_, i) => [`race ${i}`, () => race(f, server, i)]), JOBS);
    await f.cycle('one line per call', () => audit(server));
    await t.close();
});
