// approve.test.mjs -- kill -9 around an approved payment, at random instants and at named
// points: never two lines in the ledger for one call, never a line that the log does
// not know as started, every uncertain one reported as unknown.
//
// Each store lives through many kills. The yes comes by REST, /live, POST /stream,
// POST /api/chat and an action in turn.
import { check, same, settled, until } from '../live/lib.mjs';
import { Chat, Live } from '../live/ai.mjs';
import { JOBS, KILLS, SEED, family, pause, points, quiet, random } from './lib.mjs';

const PASSAGES = 5;       // of a point since the start of that process; the commits are: the message, the question, yes and started, the outcome, ...

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

// What is asked of a server that dies gets no answer; its end is one.
const orDead = (server, work) => quiet(Promise.race([work, server.gone.then(() => null)]));

async function cycle(f, t, i, dir, server, chance) {
    const way = Object.keys(ways)[i % 5], all = points();
    const fault = chance() < 0.5 ? `${all[Math.floor(chance() * all.length)]}:${1 + Math.floor(chance() * PASSAGES)}` : undefined;
    if (fault) {
        if (server) await server.kill();
        server = await quiet(t.serve({ dir, env: { PARLEY_FAULT: fault } }));
    }
    server ??= await t.serve({ dir });
    server.mayFail = true;
    const q = await orDead(server, ways[way](server));
    const said = q && orDead(server, q.yes());
    if (fault) await Promise.race([server.gone, q ? quiet(said.then(() => settled(server, q.thread))) : server.gone]);
    else await pause(chance() * 12);
    const answer = said && await Promise.race([said, pause(0)]);
    await server.kill();
    q?.close?.();
    const next = await t.serve({ dir });
    next.mayFail = true;
    if (q) await judge(f, next, q, answer?.status === 200);
    else f.note('killed before the question');
    return next;
}

async function judge(f, server, q, acked) {
    await settled(server, q.thread);
    const a = (await server.get(`/v1/approvals/${q.id}`)).json;
    const lines = () => server.ledger().filter((l) => l.call_id === q.call).length;
    const s = await server.events(q.thread, '0.0');
    await s.must((e) => e.data.type === 'complete');
    await until(() => s.over || s.events.at(-1).data.type === 'complete', 'the end of what is told');
    const started = s.of('tool_start').some((e) => e.tool_use_id === q.call), [done] = s.of('tool_complete').filter((e) => e.tool_use_id === q.call);
    await s.close();
    const paid = lines();
    check(paid <= 1, `${paid} lines for ${q.call}`);
    check(!paid || started, `a payment that the log does not know as started: ${q.call}`);
    check(!acked || a.status !== 'pending', 'a yes that was acknowledged is kept');
    f.note(`${a.status}${paid ? ', paid' : ', not paid'}`);
    if (a.status === 'pending') {
        same([paid, started], [0, false], 'nothing happened before the yes');
        const r = await server.post(`/v1/approvals/${q.id}`, { confirmed: true });
        same(r.status, 200, 'the yes after the restart');
        await settled(server, q.thread);
        same([lines(), (await server.get(`/v1/approvals/${q.id}`)).json.status], [1, 'done'], 'paid once');
    } else if (a.status === 'unknown') {
        f.uncertain++;
        same([done?.ok, done?.outcome, started], [false, 'unknown', true], 'told as unknown');
        check((await server.get('/v1/approvals?status=unknown')).json.approvals.some((x) => x.id === q.id), 'listed as unknown');
        const again = await server.post(`/v1/approvals/${q.id}`, { confirmed: true });
        same([again.status, again.json.duplicate, lines()], [200, true, paid], 'nothing is run again');
        same((await server.post(`/v1/approvals/${q.id}/settle`, { outcome: paid ? 'done' : 'not_done' })).status, 200, 'settled by a person');
    } else same([a.status, paid, done?.ok], ['done', 1, true], 'status, ledger, outcome');
}

// --- all of them --------------------------------------------------------------------------------------------

family('kill -9 around a yes by every door', async (f) => {
    const kills = Math.ceil(KILLS * 0.2), chance = random(SEED + 2);
    let next = 0;
    // A store's whole life is one Context: its cycles are counted one by one, its ledger once more at the end.
    await Promise.all(Array.from({ length: JOBS }, () => f.cycle('one line per call', async (t) => {
        const dir = t.folder();
        let server;
        for (let i; (i = next++) < kills;)
            if (!await f.cycle(`cycle ${i}`, async () => { server = await cycle(f, t, i, dir, server, chance); })) server = undefined;
        if (!server) return;
        const all = server.ledger().map((l) => l.call_id);
        same(new Set(all).size, all.length, 'lines and calls');
        await server.kill();
    })));
});
