// cluster.test.mjs -- several nodes on one database, and anything may die: nothing that was told is lost, no payment
// runs twice, nobody waits longer than a few seconds.
//
// Payments are made through a front that sends every connection to another node, while a node is killed, paused, cut
// off, or the database is. Each client goes on as a real one does: it tries again with the same request id, and follows
// from its cursor. Then every node is asked, and what they say is held against what the client was told and against the
// ledger, which the tool itself writes.
//
// In `make test` a part of it runs; `make faults T=cluster` runs more, LONG=1 the numbers of docs/cluster.md.
// NODES: how many (3, and in every second cluster of a family 2). JOBS: so many clusters at once, on one PostgreSQL. SECONDS: a family begins no cycle after so many.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { Context, check, same, skip, within } from '../live/lib.mjs';
import { Postgres, cluster, sameEverywhere, watchHolders } from '../cluster/lib.mjs';
import { JOBS, LONG, SEED, Screen, family, pause, points, quiet, random } from './lib.mjs';

const NODES = Number(process.env.NODES || 3);
const ALL = process.argv.slice(2).some((w) => w && 'cluster'.includes(w));
const much = (part, all, long) => (LONG ? long : ALL ? all : part);
const PATIENCE_MS = 30000;           // a client's, through every fault there is here
const ORPHAN_MS = 5000;              // so long a thread may run without a holder
const RENEW = 25;                    // cycles on one cluster, then a new one
const SECONDS = Number(process.env.SECONDS || 1e9);
const clock = () => { const end = Date.now() + SECONDS * 1000; return () => Date.now() < end; };

// --- a client -------------------------------------------------------------------------------

// Asks again until it is answered, as everybody does whose connection broke or who was told to come later.
async function insist(what, ask) {
    const end = Date.now() + PATIENCE_MS;
    for (let last = 'nothing'; ;) {
        const r = await quiet(within(ask(), what, 8000).catch((e) => { last = e.message; }));
        if (r && r.status !== 503 && r.status !== 502) return r;
        if (r) last = `${r.status} ${r.json?.error?.message ?? r.text?.slice(0, 200)}`;
        if (Date.now() > end) throw new Error(`${what}: not within ${PATIENCE_MS} ms; the last answer: ${last}`);
        await pause(50);
    }
}

let clients = 0;

// One conversation: what it was told is on its screen, what it was promised in `said` and `decided`.
class Client {
    constructor(c, what = 'Send 50 dollars to Hanako') {
        Object.assign(this, { c, what, screen: new Screen(), request: `r-${process.pid}-${++clients}`, gaps: [] });
    }
    // Reads a stream; true when `enough` was told on it. When it breaks what it said is kept.
    async read(s, enough) {
        let taken = 0, over = false;
        const take = () => { const more = s.events.slice(taken); taken = s.events.length; this.screen.take(more); if (more.length) this.heard = Date.now(); return more.some((e) => e.data && enough(e.data)); };
        try { await s.wait(() => (over = take()) || s.over, 'a stream', PATIENCE_MS); } catch { over ||= take(); }
        over ||= take();
        await quiet(s.close());
        return over;
    }
    // From the cursor on, by whichever node, until it is told.
    async follow(enough, what) {
        const end = Date.now() + PATIENCE_MS;
        for (;;) {
            const s = await quiet(within(this.c.events(this.thread, this.screen.last ?? '0.0'), 'events', 8000));
            if (s?.status === 200 && await this.read(s, enough)) return;
            if (s && s.status !== 200) await quiet(s.close?.());
            if (Date.now() > end) throw new Error(`${what}: not within ${PATIENCE_MS} ms; the last events: ${JSON.stringify(this.screen.events.slice(-3))}`);
            await pause(30);
        }
    }
    async ask() {
        const waits = (d) => ['complete', 'error', 'cancelled'].includes(d.type);
        const s = await insist('the message', () => this.c.say(this.what, { request_id: this.request }));
        same(s.status, 200, `the message (${JSON.stringify(s.json ?? '')})`);
        this.thread = s.thread;
        check(this.thread, 'an answer names its thread');
        this.said = true;
        if (!await this.read(s, waits)) await this.follow(waits, 'the question');
        this.end = this.screen.events.findLast((e) => waits(e.data)).data;
        [this.approval] = this.end.payload?.awaiting ?? [];
    }
    async say_yes() {
        const r = await insist('the yes', () => this.c.post(`/v1/approvals/${this.approval}`, { confirmed: true }));
        same(r.status, 200, `the yes (${r.text})`);
        this.decided = true;
        await this.follow((d) => (d.type === 'complete' && !d.payload.awaiting?.length) || d.type === 'error' || d.type === 'cancelled', 'the end');
    }
    async pay() {
        await this.ask();
        check(this.approval, `the question: ${JSON.stringify(this.end)}`);
        await this.say_yes();
    }
    // Everything it was told is in the log, on every node, and the ledger fits.
    async judge(f, pick) {
        const ended = (s) => s.events.filter((e) => e.data?.type === 'complete' && !e.data.payload.awaiting?.length).length >= 1 || s.events.some((e) => ['error', 'cancelled'].includes(e.data?.type));
        const told = await sameEverywhere(this.c, this.thread, ended, pick);
        this.screen.kept(told.map((l) => ({ id: l.slice(0, l.indexOf(' ')), data: JSON.parse(l.slice(l.indexOf(' ') + 1)) })));
        const read = async (path) => (await insist(path, () => this.c.get(path))).json;
        const shown = await read(`/v1/threads/${this.thread}`);
        same(shown.messages.filter((m) => m.role === 'user').length, 1, 'the acknowledged message, once');
        if (!this.approval) return;
        const a = await read(`/v1/approvals/${this.approval}`);
        const lines = this.c.ledger().filter((l) => l.call_id === a.tool_use_id).length;
        check(lines <= 1, `${lines} payments for ${a.tool_use_id}`);
        check(a.status !== 'pending', 'an acknowledged yes is kept');
        const starts = told.filter((l) => l.includes('"tool_start"') && l.includes(a.tool_use_id)).length;
        if (lines) check(starts === 1, `a payment whose start was told ${starts} times`);
        if (a.status === 'done') same(lines, 1, 'lines of a payment that is done');
        else if (a.status === 'failed') same(lines, 0, 'lines of a payment that was not begun: its node was cut off from the database');
        else { same(a.status, 'unknown', 'a payment is done, or nobody knows'); f.uncertain++; }
        f.note(`${a.status}${lines ? ', paid' : ''}`);
    }
}

// --- the harness ------------------------------------------------------------------------------

const times = {};                         // what: milliseconds, for the report
const timed = (what, ms) => (times[what] ??= []).push(ms);
function figures(what) {
    const all = (times[what] ?? []).sort((a, b) => a - b);
    if (!all.length) return;
    const at = (q) => Math.round(all[Math.min(all.length - 1, Math.floor(q * all.length))]);
    console.log(`cycles of ${what}: ${all.length}, median ${at(0.5)} ms, p99 ${at(0.99)} ms, longest ${at(1)} ms`);
}

// `count` cycles, each on a cluster that is whole again; a cluster serves RENEW of them.
async function cycles(f, count, { name, fault, options = {}, jobs = much(1, 2, JOBS), clients: many = 4, own, prepare }) {
    let next = 0, made = 0;
    const time = clock();
    const worker = async () => {
        let t, c, used = 0;
        const renew = async () => { await t?.close(); t = new Context(); c = await cluster(t, { nodes: process.env.NODES ? NODES : NODES - made++ % 2, ...options, pg: own && await own(t) }); await prepare?.(c); used = 0; };
        try {
            while (next < count && time()) {
                const i = next++, pick = random(SEED + i * 7919);
                const good = await f.cycle(`${name(i)} (seed ${SEED}, cycle ${i})`, async () => {
                    if (!c || used++ >= RENEW) await renew();
                    f.note(`with ${c.nodes.length} nodes`);
                    const watch = watchHolders(c), all = Array.from({ length: many }, () => new Client(c));
                    const work = Promise.all(all.map((x) => x.pay()));
                    work.catch(() => {});
                    try {
                        await fault({ c, i, pick, all, watch, work });
                        await work;
                    } finally { for (const n of c.nodes) n.stopped && n.sleep(false); }
                    await Promise.all(c.nodes.map((n) => n.back));
                    for (const x of all) await x.judge(f, pick);
                    const orphan = await watch.over();
                    f.worst = Math.max(f.worst ?? 0, orphan);
                    check(orphan <= ORPHAN_MS, `a thread ran without a holder for ${orphan} ms`);
                });
                if (!good) { c?.nodes.forEach((n) => { n.mayFail = true; }); await quiet(t?.close()); t = c = undefined; }
            }
            if (c) await f.cycle('one line per call in the ledger', () => audit(c));
        } finally { await t?.close(); }
    };
    await Promise.all(Array.from({ length: Math.min(jobs, count) }, worker));
    if (f.worst) f.note(`longest without a holder ${Math.round(f.worst / 100) / 10} s,`);
}

// Every line of the ledger belongs to a call of the log, and none to one that another line has.
async function audit(c) {
    const lines = {};
    for (const l of c.ledger()) lines[l.call_id] = (lines[l.call_id] ?? 0) + 1;
    const started = new Set((await c.sql("SELECT DISTINCT convert_from(body, 'UTF8')::json->>'call' FROM parley_fact WHERE kind = 'started'")).map((r) => r[0]));
    for (const [call, n] of Object.entries(lines)) {
        same(n, 1, `lines for ${call}`);
        check(started.has(call), `a payment that no committed fact began: ${call}`);
    }
    const decided = await c.sql("SELECT convert_from(body, 'UTF8')::json->>'call', count(*) FROM parley_fact WHERE kind = 'decided' GROUP BY 1 HAVING count(*) > 1");
    same(decided, [], 'decisions that were made twice');
    same(await c.sql('SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()'), [['0']], 'times that sessions waited for each other in a circle');
}

// Killed, and started again at once as a supervisor does: it waits for its own lease to end.
async function killed(node) {
    node.away = true;
    await node.kill();
    node.back = node.start().finally(() => { node.away = false; });
    node.back.catch(() => {});
}

// Stopped in order, and started again at once.
async function stopped(node) {
    node.away = true;
    const from = Date.now();
    same(await node.term(), 0, 'an orderly end');
    timed('an orderly stop', Date.now() - from);
    node.back = node.start().finally(() => { node.away = false; });
    node.back.catch(() => {});
}

// One that stands.
const someone = (c, pick) => { const all = c.alive.filter((n) => !n.away); return all[Math.floor(pick() * all.length)]; };
const slow = { config: { demo: { token_ms: 2 } } };

// --- nodes -----------------------------------------------------------------------------------------

family('kill -9 of a node at a random instant', async (f) => {
    await cycles(f, much(2, 5, 750), { name: () => 'a node is killed', options: slow, fault: async ({ c, pick }) => {
        for (let n = 0; n < (LONG ? 2 : 1); n++) {           // the second while others take over from the first
            await pause(pick() * 400);
            await killed(someone(c, pick));
            f.note('killed');
        }
    } });
});

family('kill -9 of a node at every named point', async (f) => {
    const all = points().filter((p) => !/^(sqlite|keeper|exec)/.test(p)), pick = random(SEED);
    const some = LONG ? Array.from({ length: 500 }, (_, i) => all[i % all.length]) : ALL ? all : all.sort(() => pick() - 0.5).slice(0, 4);
    const never = new Set(some);
    await cycles(f, some.length, { name: (i) => some[i], options: { orders: true }, jobs: much(2, 3, JOBS), fault: async ({ c, i, pick: p, work }) => {
        const order = `${some[i]}:${1 + Math.floor(p() * (LONG ? 12 : 3))}`;
        for (const n of c.nodes) { n.killed = true; await c.order(n, order); }        // if it comes to that
        await Promise.race([...c.nodes.map((n) => n.gone), quiet(work)]);
        for (const n of c.nodes) {                         // whoever comes first; the others live
            if (n.status === null) await c.order(n, '');
            if (n.status === null) { n.killed = false; continue; }
            never.delete(some[i]);
            await killed(n);
            f.note('killed');
        }
    } });
    if (never.size) f.note(`not passed: ${[...never].sort().join(' ')},`);
});

// What others see of it: the longest silence that a follower of a long answer hears on another node.
async function takeover(f, t, how, what) {
    if (NODES < 2) return;
    const c = await cluster(t, { nodes: NODES, config: { demo: { token_ms: 10 } } });
    const time = clock();
    for (let i = 0; i < much(1, 4, 100) && time(); i++) {
        const s = await c.nodes[i % NODES].say('Tell me a long story');
        await s.must('text_delta');
        const holder = await c.holder(s.thread), other = c.nodes.find((n) => n !== holder);
        check(holder, 'a thread that runs has a holder');
        const follower = await other.events(s.thread, '0.0'), heard = [Date.now()];
        follower.r.on('data', () => heard.push(Date.now()));
        await follower.must('text_delta');
        const over = how(holder);
        await follower.must('complete');
        await follower.close();
        await over;
        timed(what, Math.max(...heard.slice(1).map((at, k) => at - heard[k])));
        await quiet(s.close());
        if (holder.status !== null) await holder.start();
        f.cycles++;
    }
}
family('how long others wait for a holder that was killed', async (f) => {
    const t = new Context();
    try { await takeover(f, t, (node) => node.kill(), 'takeover after kill -9'); } finally { await t.close(); }
    figures('takeover after kill -9');
});
family('how long others wait for a holder that is restarted', async (f) => {
    const t = new Context();
    try { await takeover(f, t, (node) => node.term(), 'planned restart'); } finally { await t.close(); }
    figures('planned restart');
});

// Everything it holds is given back while all the others append, claim and take over.
family('stopped in order while many pay', async (f) => {
    await cycles(f, much(1, 3, 100), { name: () => 'nodes are stopped', options: slow, clients: 16, fault: async ({ c, pick }) => {
        for (let n = 0; n < 3; n++) {
            await pause(pick() * 200);
            await stopped(someone(c, pick));
            f.note('stopped');
        }
    } });
    figures('an orderly stop');
});

family('paused for longer than the lease, and going on', async (f) => {
    await cycles(f, much(1, 3, 250), { name: () => 'a node is stopped', options: slow, fault: async ({ c, pick }) => {
        const one = async () => {
            await pause(pick() * 300);
            const node = someone(c, pick);
            node.sleep(true);
            await pause(3200 + pick() * 1500);               // not for luck: longer than the lease
            node.sleep(false);
            f.note('paused');
        };
        await Promise.all(LONG && c.nodes.length > 2 ? [one(), one()] : [one()]);
    } });
});

// --- links ---------------------------------------------------------------------------------------------

family('links between nodes are cut', async (f) => {
    await cycles(f, much(1, 6, 100), { name: (i) => (i % 3 === 2 ? 'for a second' : 'and come back at once'), options: slow, fault: async ({ c, i, pick }) => {
        for (let n = 0; n < 3; n++) {
            await pause(pick() * 150);
            const node = someone(c, pick);
            node.link.cut(i % 3 !== 2);
            f.note('cut');
            if (i % 3 === 2) { await pause(1000); node.link.heal(); }
        }
    } });
});

// --- the database ------------------------------------------------------------------------------------------

family('database connections are cut in every phase of an append', async (f) => {
    await cycles(f, much(3, 12, 250), { name: (i) => (i % 2 ? 'before its answer' : 'before its end'), clients: 3, fault: async ({ c, i, pick, work }) => {
        const wires = LONG ? c.nodes.map((n) => n.database[0]) : [someone(c, pick).database[0]];
        for (const wire of wires) { wire.hits = 0; wire.cutAfter(Math.floor(pick() * (i % 2 ? 6000 : 20000)), i % 2); }
        await quiet(work);
        for (const wire of wires) { f.note(wire.hits ? 'cut' : 'not reached'); wire.limit = undefined; }
    } });
});

family('the database ends and is there again', async (f) => {
    await cycles(f, much(1, 2, 30), { name: () => 'restarted', own: () => Postgres.start(), jobs: 1, options: { ...slow, direct: true }, fault: async ({ c, pick, watch }) => {
        await pause(pick() * 200);
        await c.store.pg.order('stop');
        await pause(pick() * 1500);
        await c.store.pg.order('start');
        watch.reset();
    } });
});

const promised = async (c) => { for (const n of c.nodes) { const { store } = (await n.get('/readyz')).json; check(/fsync=on, synchronous_commit=on, synchronous standby,/.test(store), store); } };
family('the primary dies and its synchronous standby takes over', async (f) => {
    await cycles(f, much(0, 2, 100), { prepare: promised, name: () => 'failover', own: async () => (await Postgres.start('fsync=on')).addStandby(), jobs: much(1, 1, 2), options: { ...slow, direct: true }, fault: async ({ c, pick, watch, work }) => {
        await pause(pick() * 300);
        await c.store.pg.order('failover');
        watch.reset();
        await quiet(work);
        await c.store.pg.order('standby');
    } });
});

// A file system of its own, so small that it can be filled.
async function smallDisk(t) {
    if (process.getuid() !== 0) skip('needs root for a small file system');
    const disk = t.folder();
    if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=96m,mode=755', 'tmpfs', disk]).status !== 0) skip('tmpfs cannot be mounted here');
    t.defer(() => { spawnSync('umount', ['-l', disk]); });
    const pg = await Postgres.startIn(path.join(disk, 'pg'), 'fsync=on');
    t.defer(() => pg.stop());
    return Object.assign(pg, { ballast: path.join(disk, 'ballast') });
}
function fill(file) {
    const fd = fs.openSync(file, 'w');
    try { for (;;) fs.writeSync(fd, Buffer.alloc(4096)); } catch (e) { same(e.code, 'ENOSPC'); } finally { fs.closeSync(fd); }
}

// PostgreSQL refuses, or falls: both happen. Somebody makes room and starts it again.
family('the disk of the database is full, and has room again', async (f) => {
    await cycles(f, much(0, 2, 20), { name: () => 'full', own: smallDisk, jobs: 1, options: { ...slow, direct: true }, fault: async ({ c, pick, watch }) => {
        const { pg } = c.store;
        await pause(pick() * 300);
        fill(pg.ballast);
        await pause(1000 + pick() * 2000);
        fs.rmSync(pg.ballast);
        await pg.order('stop');
        await pg.order('start');
        watch.reset();
        f.note(c.log.some((l) => /^(53100|store.full)$/.test(l.code ?? l.event)) ? 'refused' : 'fell');
    } });
});

// --- clocks, names ---------------------------------------------------------------------------------------------

family('the clocks of two nodes are an hour apart', async (f) => {
    const t = new Context();
    try {
        if (NODES < 2) return;
        const c = await cluster(t, { nodes: NODES });
        const late = await c.add({ env: { PARLEY_CLOCK_SHIFT_MS: '-3600000' } }), early = await c.add({ env: { PARLEY_CLOCK_SHIFT_MS: '3600000' } });
        await late.start();
        await early.start();
        for (let i = 0; i < much(1, 3, 20); i++)
            await f.cycle(`an hour apart ${i}`, async () => {
                const all = Array.from({ length: 4 }, () => new Client(c)), watch = watchHolders(c);
                const work = Promise.all(all.map((x) => x.pay()));
                work.catch(() => {});
                await pause(50);
                await killed(late);
                await work;
                await late.back;
                for (const x of all) await x.judge(f, random(SEED + i));
                check(await watch.over() <= ORPHAN_MS, 'no thread without a holder');
            });
        await f.cycle('one line per call in the ledger', () => audit(c));
    } finally { await t.close(); }
});

family('two nodes are started with one url', async (f) => {
    if (NODES < 2) return;
    const t = new Context();
    try {
        const c = await cluster(t, { nodes: NODES });
        await f.cycle('the second is told so, and the others go on', async () => {
            const twin = await c.add({ url: `http://127.0.0.1:${c.nodes[0].link.port}` });
            twin.spawn();
            const status = await within(twin.gone, 'the end of the second');
            check(status !== 0, 'it does not start');
            check(/another node with the url/.test(twin.err) && !/sesame/.test(twin.err), `a sentence that says why: ${twin.err}`);
            twin.mayFail = true;
            c.nodes.pop();
            const x = new Client(c);
            await x.pay();
            await x.judge(f, random(SEED));
        });
    } finally { await t.close(); }
});
