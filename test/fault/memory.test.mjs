// memory.test.mjs -- memory that is refused fails a request, never the process and never
// the promise: the Nth allocation of a conversation, and all from the Nth on; of a
// start that recovers what the last process left.
//
// One server lives through many refusals. After each it must be itself again: what was
// told is kept, no thread is stuck, nothing is paid twice, and the next turn is sound.
// LONG=1 refuses every single one, else every few; SEED says which.
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { Chat } from '../live/ai.mjs';
import { Context, check, same, settled, sound } from '../live/lib.mjs';
import { JOBS, LONG, SEED, Screen, audit, family, pause, quiet, random, serveOrders, whole } from './lib.mjs';

const CYCLES = LONG ? Infinity : 45;        // of one conversation with one kind of refusal
const HELD_MS = 100;                        // how long everything is refused before it is given again

// --- conversations: {threads, acked?} of what the client was told; none may throw ----------------------------

async function search(server) {
    const s = await quiet(server.turn('Find articles about CRISPR'));
    return { s, ok: s?.status === 200 && !s.broken && s.payload };
}

async function pay(server) {
    const s = await quiet(server.turn('Send 50 dollars to Hanako')), id = s?.payload?.awaiting?.[0];
    const yes = id && await quiet(server.post(`/v1/approvals/${id}`, { confirmed: true }));
    if (yes?.status === 200) await quiet(settled(server, s.thread));
    return { s, id, yes, ok: yes?.status === 200 };
}

// The same by a door of the AI SDK.
async function payByStream(server) {
    const c = new Chat(null, server, '/stream');
    c.auto = false;
    await quiet(c.say('Send 50 dollars to Hanako'));
    const q = c.asked[0];
    if (!q) return {};
    c.mark(q.id, true);
    const yes = await quiet(c.open({ messageId: c.last.id }));
    if (yes) await quiet(yes.read());
    return { id: q.id, thread: c.id, yes };
}

// --- one refusal -----------------------------------------------------------------------------------------------

// What a client sees of a refusal: an answer with a code, a connection that ends, or nothing at all.
function clean(s) {
    if (!s) return 'no answer';
    if (s.status !== 200) { check(s.status === 503 && s.json?.error?.code, `a clean refusal: ${s.status} ${s.text}`); return s.json.error.code; }
    const last = s.events.at(-1)?.data;
    if (last?.type === 'error') { check(last.code && last.retryable, `an error that says what to do: ${JSON.stringify(last)}`); return last.code; }
    return s.broken || !last ? 'cut' : 'complete';
}

async function refusal(f, server, talk, order) {
    await server.order(order);
    const talking = talk(server);
    await (order.endsWith('+') ? Promise.race([talking, pause(HELD_MS)]) : talking);
    const { hit, passed } = await server.order('');
    const told = await talking;
    same(server.status, null, `the server after ${order}; it said: ${server.err.slice(-1500)}`);
    f.note(hit ? talk === payByStream ? 'refused' : clean(told.s) : 'not reached');
    if (told.s?.thread) await after(f, server, told);
    else if (told.id) { await settled(server, told.thread); await paidOnce(f, server, told); }
    sound(await server.turn('hello'));
    same((await server.get('/readyz')).json.runs, 0, 'runs that are counted');
    return { hit, passed, screen: told.s?.thread && new Screen(told.s.events), thread: told.s?.thread };
}

// The thread has an end or waits, what was told is there, and the payment is what the list says it is.
async function after(f, server, told) {
    const r = await server.get(`/v1/threads/${told.s.thread}`);
    if (r.status === 404) { check(!told.s.lastId, 'a thread of which something was told is there'); return; }
    const all = await whole(server, told.s.thread);
    const screen = new Screen(told.s.events);
    screen.kept(all.events);
    if (screen.last && !told.s.broken) check(new Screen(all.events).text.startsWith(screen.text), `the words that were told: ${screen.text}`);
    if (told.id) await paidOnce(f, server, { ...told, thread: told.s.thread });
}

async function paidOnce(f, server, told) {
    const a = (await server.get(`/v1/approvals/${told.id}`)).json, lines = () => server.ledger().filter((l) => l.call_id === a.tool_use_id).length;
    check(told.yes?.status !== 200 || a.status !== 'pending', 'a yes that was acknowledged is kept');
    if (a.status === 'unknown') f.uncertain++;
    if (a.status === 'pending') {
        same(lines(), 0, 'nothing before the yes');
        same((await server.post(`/v1/approvals/${told.id}`, { confirmed: true })).status, 200, 'the yes again');
        await settled(server, told.thread);
        same(lines(), 1, 'paid once');
    } else if (a.status !== 'unknown') same([a.status, lines()], a.status === 'failed' ? ['failed', 0] : ['done', 1], 'status and ledger');
}

// --- the families -------------------------------------------------------------------------------------------------

// Every Nth of `count`, some of them by chance when that is too many.
function chosen(count, most, chance) {
    const step = Math.max(1, count / most), out = [];
    for (let at = 1; at <= count; at += step) out.push(Math.min(count, Math.floor(at + chance() * (step - 1) + 0.5)));
    return out;
}

// One server, and one Nth after the other.
async function lane(f, talk, more, list) {
    let t = new Context(), server = await serveOrders(t), screens = [], ends = 0;
    // What all of them were told survives the end of that server: a kill, or a proper one, which under the sanitizers tells of leaks.
    const replace = async () => {
        if (server.status === null) await (ends++ % 2 ? server.kill() : server.end());
        const next = await t.serve({ dir: server.dir });
        for (const x of screens) x.screen.kept((await whole(next, x.thread)).events);
        await audit(next);
        await next.kill();
        await t.close();
        screens = [];
        t = new Context();
        server = await serveOrders(t);
    };
    await talk(server);                        // nothing is done for the first time
    for (const n of list) {
        const good = await f.cycle(`mem:${n}${more}`, async () => {
            const r = await refusal(f, server, talk, `mem:${n}${more}`);
            if (r.screen) screens.push(r);
        });
        if (!good || screens.length >= 50) await f.cycle('after a restart', replace);
    }
    await f.cycle('after a restart', replace);
    await server.kill();
    await t.close();
}

// How many allocations a conversation has.
async function count(talk) {
    const t = new Context(), server = await serveOrders(t);
    await talk(server);
    await server.order('mem:1000000');
    await talk(server);
    const { passed } = await server.order('');
    await t.close();
    return passed;
}

function conversations(name, talk, more) {
    family(`memory refused ${more ? 'from the Nth allocation on' : 'at the Nth allocation'}: ${name}`, async (f) => {
        const all = await count(talk), list = chosen(all, more ? CYCLES / 2 : CYCLES, random(SEED + 3));
        f.note(`of ${all}`);
        await Promise.all(Array.from({ length: JOBS }, (_, i) => lane(f, talk, more, list.filter((_, k) => k % JOBS === i))));
    });
}
for (const more of ['', '+']) {
    conversations('a search', search, more);
    conversations('an approved payment', pay, more);
    conversations('an approved payment by POST /stream', payByStream, more);
}

// --- a start that recovers ------------------------------------------------------------------------------------

// A store as a crash left it: one payment under way, one that waits, one answer that was being written.
async function leave(t) {
    const dir = t.folder();
    let server = await t.serve({ dir, env: { PARLEY_FAULT: 'run.in_tool:1' } });
    const asked = async (who) => { const s = await server.turn(`Send 50 dollars to ${who}`); return s.payload.awaiting[0]; };
    await asked('Hanako');
    await quiet(server.post(`/v1/approvals/${await asked('Yuki')}`, { confirmed: true }));
    await server.kill();
    server = await t.serve({ dir, env: { PARLEY_FAULT: 'model.started:2' } });       // the first is what the dead one left
    await quiet(server.turn('Find articles about CRISPR'));
    await server.kill();
    return dir;
}

function copy(t, from) {
    const dir = t.folder();
    for (const name of fs.readdirSync(from)) if (name.startsWith('x.db') && !name.endsWith('-lock')) fs.copyFileSync(path.join(from, name), path.join(dir, name));
    return dir;
}

// All is as the log says: one uncertain payment, one that waits and can still be made, one search that was answered.
async function recovered(f, server) {
    // The refusal may come while it is asked: a clean one, once.
    const { approvals, unknown } = await audit({ ...view(server), get: (at) => twice(() => server.get(at), (r) => r.status === 200 && r) });
    same(approvals.map((a) => a.status).sort(), ['pending', 'unknown'], 'the two payments');
    f.uncertain += unknown.length;
    const pending = approvals.find((a) => a.status === 'pending'), before = server.ledger().length;
    await twice(() => server.post(`/v1/approvals/${pending.id}`, { confirmed: true }), (r) => r.status === 200);
    await settled(server, pending.thread);
    same(server.ledger().length, before + 1, 'paid once');
    await twice(() => server.get('/readyz'), (r) => r.json?.runs === 0);
    await twice(() => server.turn('hello'), (s) => s.payload && sound(s));
}

const view = (server) => ({ ledger: () => server.ledger() });

async function twice(ask, good) {
    const first = await quiet(ask()), got = first && await good(first);
    if (got) return got;
    const second = await ask();
    return await good(second) || check(false, `asked twice: ${second.status} ${second.text}`);
}

family('memory refused at the Nth allocation: a start that recovers', async (f) => {
    const t = new Context(), left = await leave(t), probe = await serveOrders(t, { dir: copy(t, left), env: { PARLEY_FAULT: 'mem:1000000' } });
    await audit(probe);
    const count = (await probe.order('')).passed;
    f.note(`of ${count}`);
    await f.all(chosen(count, LONG ? 2500 : 45, random(SEED + 4)).map((n) => [`mem:${n}`, async (c) => {
        const dir = copy(c, left);
        let next;
        try { next = await c.serve({ dir, env: { PARLEY_FAULT: `mem:${n}` }, mayFail: true }); } catch (e) {
            check(/did not start \(1\): .*memory/.test(e.message), e.message); // of the store, or of the configuration
            f.note('did not start');
            next = await c.serve({ dir });
        }
        await recovered(f, next);
        same(next.status, null, 'it is still there');
        await next.kill();
    }]));
    await t.close();
});

// --- somebody else -------------------------------------------------------------------------------------------------

const sha256 = (s) => createHash('sha256').update(s).digest('hex');
const KEYS = { ann: 'key-of-ann-0123456789abcdef', bob: 'key-of-bob-0123456789abcdef' };
const as = (who) => ({ authorization: `Bearer ${KEYS[who]}` });

// Whatever allocation fails while bob asks for what is ann's, he neither sees it nor decides it.
const ASKED = {
    'a yes by REST': (s, q) => s.post(`/v1/approvals/${q.id}`, { confirmed: true }, as('bob')),
    'a yes as an action': (s, q) => s.post('/v1/chat/stream', { action: { action: 'approve', data: { confirmation_id: q.id } } }, as('bob')),
    'the approval': (s, q) => s.get(`/v1/approvals/${q.id}`, as('bob')),
    'the inbox': (s) => s.get('/v1/approvals?status=pending', as('bob')),
    'the threads': (s) => s.get('/v1/threads?search=Hanako', as('bob')),
    'the thread': (s, q) => s.get(`/v1/threads/${q.thread}`, as('bob')),
};
family('memory refused at every allocation: what belongs to somebody else', async (f) => {
    const t = new Context();
    const server = await serveOrders(t, { config: { auth: { keys: Object.entries(KEYS).map(([principal, key]) => ({ sha256: sha256(key), principal, roles: ['user'] })) } } });
    const s = await (await server.open('POST', '/v1/chat/stream', { message: 'Send 50 dollars to Hanako' }, as('ann'))).read();
    const q = { id: s.payload.awaiting[0], thread: s.thread };
    for (const ask of Object.values(ASKED)) await ask(server, q);        // nothing is done for the first time
    for (const [what, ask] of Object.entries(ASKED))
        for (let n = 1, hit = true; hit; n++)
            await f.cycle(`${what}, mem:${n}`, async () => {
                await server.order(`mem:${n}`);
                const r = await quiet(ask(server, q));
                ({ hit } = await server.order(''));
                same(server.status, null, `the server; it said ${server.err.slice(-1500)}`);
                if (r) check(!r.text.includes(q.thread) && !/Hanako/.test(r.text.replace(/"search".*/, '')), `told to bob: ${r.text.slice(0, 300)}`);
                f.note(r ? `${r.status}` : 'no answer');
                same((await server.get(`/v1/approvals/${q.id}`, as('ann'))).json.status, 'pending', 'the approval');
            });
    same(server.ledger(), [], 'the ledger');
    await server.kill();
    await t.close();
});
