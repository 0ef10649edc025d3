// lib.mjs -- what the families of faults stand on: cycles that are counted and judged,
// orders to a running server (src/base/fault.h), the ledger as judge.
//
// A family is a test whose parts are cycles; each has its own Context, which is closed
// whatever happens, and a cycle that throws is a violation of the promise.
// Everything drawn by chance comes from SEED.
import fs from 'node:fs';
import path from 'node:path';
import { ROOT, Skip, check, pause, same, settled, test, until } from '../live/lib.mjs';

export const LONG = !!process.env.LONG;
export const KILLS = Number(process.env.KILLS || (LONG ? 10000 : 120));      // kills at random instants, all families together
export const JOBS = Number(process.env.JOBS || 3);
export const SEED = Number(process.env.SEED || Date.now() % 1000000);

export { pause };
export const quiet = (p) => Promise.resolve(p).catch(() => null);

export function random(seed) {                    // mulberry32: the same seed, the same instants
    let a = seed >>> 0;
    return () => {
        a = (a + 0x6d2b79f5) >>> 0;
        let t = Math.imul(a ^ (a >>> 15), a | 1);
        t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
        return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
    };
}

// --- families --------------------------------------------------------------------------

export const sum = { cycles: 0, violations: 0, uncertain: 0 };

export function family(name, run) {
    test(name, async (t) => {
        const f = new Family(t), start = Date.now();
        try { await run(f); } catch (e) { f.violations++; f.cycles++; throw e; } finally {
            const notes = Object.entries(f.notes).sort().map(([k, v]) => `${k} ${v}`).join(', '), seconds = (Date.now() - start) / 1000;
            if (f.cycles) console.log(`  ${name}: ${f.cycles} cycles, ${f.violations} violations, ${f.uncertain} uncertain, ${seconds.toFixed(1)} s${notes && ` (${notes})`}`);
            for (const k of Object.keys(sum)) sum[k] += f[k];
        }
    }, { timeout_ms: 0, parts: 1000 });           // as many at once as the family wants
}

class Family {
    constructor(t) { Object.assign(this, { t, cycles: 0, violations: 0, uncertain: 0, notes: {} }); }
    note(what) { this.notes[what] = (this.notes[what] || 0) + 1; }
    // One cycle; false when it broke the promise.
    async cycle(name, work) {
        let skipped = false;
        const kept = await this.t.part(name, async (t) => {
            try { await work(t); } catch (e) { skipped = e instanceof Skip; throw e; }
        });
        if (!skipped) this.cycles++;
        if (!kept) this.violations++;
        return kept;
    }
    // A list of [name, work], `jobs` at once; work may add to it.
    async all(todo, jobs = JOBS) {
        let going = 0;
        const worker = async () => {
            for (;;) {
                const job = todo.shift();
                if (!job && !going) return;
                if (!job) { await pause(5); continue; }        // somebody may still add one
                going++;
                try { await this.cycle(job[0], job[1]); } finally { going--; }
            }
        };
        await Promise.all(Array.from({ length: jobs }, worker));
    }
}

// --- faults ------------------------------------------------------------------------------

// Every named point there is in the source.
export function points() {
    const found = new Set();
    for (const f of fs.readdirSync(path.join(ROOT, 'src'), { recursive: true }))
        if (f.endsWith('.c')) for (const m of fs.readFileSync(path.join(ROOT, 'src', f), 'utf8').matchAll(/fault_hit\("([^"]+)"\)/g)) found.add(m[1]);
    check(found.size > 10, 'the points are found');
    return [...found].sort();
}

// A server that takes orders: order(text) gives how the last one went, {passed, hit}.
export async function serveOrders(t, options = {}) {
    const dir = options.dir ?? t.folder(), file = path.join(dir, 'order');
    const server = await t.serve({ ...options, dir, env: { ...options.env, PARLEY_FAULT_FILE: file } });
    const lines = () => server.err.split('\n').slice(0, -1).filter((l) => l.includes('"fault.order"'));
    server.order = async (text) => {
        const before = lines().length;
        fs.writeFileSync(file, text);
        server.child.kill('SIGUSR2');
        await until(() => server.status !== null || lines().length > before, `the order "${text}" to be taken`);
        return server.status === null ? JSON.parse(lines().at(-1)) : { hit: true, died: server.status };
    };
    return server;
}

// --- what was told -------------------------------------------------------------------------

const STEP = ['text_delta', 'intent_confirmation'];
const seqOf = (id) => Number(id.split('.')[0]);
const plain = (d) => { const { timestamp, ...rest } = d; return JSON.stringify(rest); };

// What a client has on its screen: the text, and what each event of the log said.
export class Screen {
    constructor(events = []) { this.text = ''; this.events = []; this.take(events); }
    take(events) {
        for (const { id, data } of events) {
            if (data?.type === 'text_delta') this.text += data.text;
            if (data?.type === 'step_reset') this.text = data.message;
            if (id) this.events.push({ id, data });
        }
    }
    get last() { return this.events.at(-1)?.id; }
    // Everything told with an id is in the log: facts always; pieces of a step once something after it was told. An intent is a
    // notice, told before its step is kept: it counts when its call came to something.
    kept(whole) {
        if (!this.last) return;
        const calls = new Set(this.events.filter((e) => /^tool_(start|confirmation)$/.test(e.data.type)).map((e) => e.data.tool_use_id));
        const newest = seqOf(this.last), there = new Map(whole.filter((e) => e.id).map((e) => [e.id, e.data]));
        for (const { id, data } of this.events) {
            if (STEP.includes(data.type) && (data.type === 'text_delta' || seqOf(id) === newest || !calls.has(data.tool_use_id))) continue;       // texts are compared as a whole
            check(there.has(id), `lost: ${id} ${JSON.stringify(data).slice(0, 200)}`);
            same(plain(there.get(id)), plain(data), `what was told as ${id}`);
        }
    }
}

// Everything a follower is told from the beginning, up to the end of the last run (or to where it waits).
export async function whole(server, thread) {
    const shown = await settled(server, thread), f = await server.events(thread, '0.0');
    const runs = shown.messages.filter((m) => m.role === 'user').length;
    if (runs) await f.wait(() => f.events.filter((e) => ['complete', 'error', 'cancelled'].includes(e.data?.type)).length >= runs || f.over, 'the end of what is told');
    await f.close();
    return f;
}

// --- the ledger as judge ----------------------------------------------------------------------

// Holds all approvals against the ledger: {approvals, unknown}. Every line belongs to a call that the log knows as
// started, no call has two, and what a status says is true. Every thread is idle or waits.
export async function audit(server) {
    for (const x of (await server.get('/v1/threads?limit=200')).json.threads) await settled(server, x.id);
    const approvals = [];
    for (let page, before = ''; !page || before; before = page.next) {
        page = (await server.get(`/v1/approvals${before && `?before=${before}`}`)).json;
        approvals.push(...page.approvals);
    }
    const lines = {};
    for (const l of server.ledger()) lines[l.call_id] = (lines[l.call_id] || 0) + 1;
    for (const [call, n] of Object.entries(lines)) {
        same(n, 1, `lines for ${call}`);
        check(approvals.some((a) => a.tool_use_id === call), `a line that belongs to no call: ${call}`);
    }
    for (const a of approvals) {
        const paid = lines[a.tool_use_id] || 0;
        if (a.status === 'done') same(paid, 1, `lines for ${a.tool_use_id}, which is done`);
        else if (a.status !== 'unknown' && a.tool === 'process_payment') same(paid, 0, `lines for ${a.tool_use_id}, which is ${a.status}`);
    }
    return { approvals, unknown: approvals.filter((a) => a.status === 'unknown') };
}
