// judge.mjs -- holds what was promised against what happened. Three witnesses: the ledger (what the tools did), the
// people (which yes they gave, what they were told is saved), and the store of the stopped server. The server's own
// words count for nothing where one of these can speak.
//
//   guard      no guarded tool without its own yes of somebody who may give it, to what was shown and to where it was to run;
//              nothing runs with words that nobody said
//   once       at most one effect for a call, unless the tool is idempotent
//   outcome    nobody is told "failed" about what happened, or "done" about what did not
//   repeat     what a replaced version of the conversation did is not done again without asking
//   acked      what was acknowledged is there after a restart; what was removed is not
//   foreign    nobody else's yes is in the log; a tool's question goes to the person whose call it is
//   rest       every thread ends or waits for somebody, and can be read; what a model is asked at rest comes to something
//   left       what a process left unfinished, the next one finishes: it is not told that the model is busy
//   memory     at rest a server holds no more than what its limits say, and the same work again and again lets nothing grow
//   and those of an organisation: judge_office.mjs
import { execFile } from 'node:child_process';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { send } from './client.mjs';
import * as office from './judge_office.mjs';
import { canonical } from './ledger.mjs';
import { above } from './organisation.mjs';
import { POLICY, descriptors, memory, orphans, ownersOf, patience, policyOf } from './world.mjs';

const HERE = path.dirname(fileURLToPath(import.meta.url));
const REST_MS = 25000;              // a tool's timeout, a model's, and a slow machine
const TRIES = 6;                       // of one step: three models on a page, each asked twice
const BEGINS = ['message', 'action', 'retry'];
const WRITTEN = ['step', 'summary', 'ended'];
const HELD = 256 * 1048576;              // at rest: the program, idle conversations, the sanitizer's quarantine; some 90 MiB as a rule
const GROWTH = 10 * 1048576;            // each of the equal rounds moves 4 MB of words in and out several times
const pause = (ms) => new Promise((yes) => setTimeout(yes, ms));

// Must a person be asked about these arguments? The judge's own reading of the configuration.
export function guarded(policy, args) {
    if (!policy || policy.confirm === 'never') return false;
    if (policy.confirm === 'always') return true;
    return above(args, 100);
}

// A tool said itself that it failed.
const SAID_FAILED = { exec: ['error', 'refuse'], http: ['error', 'refuse'], mcp: ['error', 'refuse', 'broken', 'version_error'] };
const howOf = (l) => (l.args && typeof l.args === 'object' ? l.args.how : undefined) ?? 'ok';
const same = (c) => `${c.tool} ${canonical(c.args ?? c.text)}`;
const parse = (s) => { try { return JSON.parse(s); } catch { return undefined; } };
const QUESTION = /\(q-\w+-\d+\)/;           // of a tool, in the middle of its work: tools/mcp.mjs
const DUPLICATE_MEMBER = /"(\w+)"\s*:.*"\1"\s*:/i;

export class Judge {
    constructor(world, scene) {
        Object.assign(this, { world, scene, calls: new Map(), left: new Set() });
        world.onEffect = (l) => this.effect(l);
    }
    say(rule, text, more) { this.world.violation(rule, text, more); }
    get owners() { return ownersOf(this.world.options); }

    // --- at the effect ------------------------------------------------------------------------------------------

    // Who said yes to this call, and may?
    yes(call, owner, c) {
        const all = [...this.scene.yes].filter(([id]) => id === `confirmation-${call}` || id.startsWith(`confirmation-${call}-`)).flatMap(([, y]) => y);
        return all.some((y) => (owner ? this.scene.mayDecide(y.who, owner, c.tool, c.args) : true));
    }
    effect(l) {
        const policy = policyOf(l);
        if (l.call && guarded(policy, l.args) && !this.yes(l.call) && !office.wished(this, l) && !office.proposed(this, l)) this.say('guard', `${l.tool} ran although nobody said yes: ${l.call} ${l.raw.slice(0, 200)}`, { call: l.call, key: l.tool === 'pay' && DUPLICATE_MEMBER.test(l.raw) ? 'a second member' : l.kind });
        if (!this.world.model.words.has(canonical(l.args))) this.say('guard', `${l.tool} ran with words that nobody said: ${l.call} ${l.raw.slice(0, 200)}`, { call: l.call, key: 'words' });
        if (l.kind === 'mcp') return this.mcp(l);
        office.again(this, l, (x) => SAID_FAILED[x.kind].includes(howOf(x)));
        this.shown(l);
        if (l.call && !policy?.idempotent && this.world.ledger.of(l.call).length === 2) this.say('once', `${l.tool} had its effect twice for ${l.call} (${howOf(l)})`, { call: l.call, key: l.kind });
    }

    // What ran is what somebody said yes to, at the address that was meant; and what is run again is the same.
    shown(l) {
        const shown = l.call && this.scene.answered.get(`confirmation-${l.call}`), { ledger } = this.world;
        if (shown && shown.raw !== canonical(l.args)) this.say('guard', `${l.tool} ran with other arguments than were shown: ${l.raw.slice(0, 200)} for ${shown.raw.slice(0, 200)}`, { call: l.call, key: 'shown' });
        if (l.version === undefined) return;
        if (shown && this.world.versionAt(shown.asked) !== l.version) this.say('guard', `${l.tool} ran at another address than when it was asked: ${l.call}`, { call: l.call, key: 'moved' });
        if (l.call && ledger.of(l.call).some((x) => x.version !== l.version)) this.say('guard', `${l.tool} was run again at another address: ${l.call}`, { call: l.call, key: 'moved again' });
    }

    // MCP servers do not hear our call id: effects with these arguments against calls the model made with them.
    mcp(l) {
        const same = this.world.ledger.lines.filter((x) => x.kind === 'mcp' && x.raw === l.raw).length, spoken = this.world.model.spokenOf(l.raw);
        if (spoken && same > spoken) this.say('once', `${l.server}/${l.tool} had its effect ${same} times, the model asked ${spoken} times: ${l.raw} (${howOf(l)})`, { key: `mcp ${howOf(l)}` });
        const given = [...this.scene.answered.values()].filter((a) => a.raw === canonical(l.args) && !QUESTION.test(a.ask)).length;
        if (spoken && guarded(policyOf(l), l.args) && same > given) this.say('guard', `${l.server}/${l.tool} ran ${same} times, and ${given} times somebody said yes: ${l.raw}`, { key: `mcp ${l.server}` });
        // On a line of one person the server need not say for which call it asks: the question's own name tells what was accepted.
        for (const name of l.accepted ?? []) if (!this.accepted(name, l.args?.who)) this.say('guard', `${l.server}/${l.tool} was told "accept" to ${name}, and nobody who may did: ${l.raw.slice(0, 300)}`, { key: 'mcp question' });
    }
    accepted(name, owner) {
        return [...this.scene.yes.values()].flat().some((y) => y.ask.includes(`(${name})`) && (!this.owners.includes(owner) || this.scene.mayDecide(y.who, owner, '', {})));
    }

    // --- the store of a stopped server -----------------------------------------------------------------------------

    async dump() { return this.python('read_store.py'); }
    async python(script, ...args) {
        return new Promise((yes) => execFile('python3', [path.join(HERE, script), this.world.db, ...args], { maxBuffer: 1 << 30 }, (e, out, err) => {
            if (e) { this.say('store', `the store cannot be read: ${err.slice(-500)}`, { key: '' }); return yes(undefined); }
            yes(JSON.parse(out));
        }));
    }
    // A disk that changes an amount: nothing may run on it, and only that thread may suffer.
    async damage(which) {
        const hit = await this.python('damage_store.py', String(which));
        if (hit) this.scene.damaged.add(`${hit.owner}/${hit.name}`);
        return hit;
    }
    async store() {
        const d = await this.dump();
        if (d) this.read(d);
    }
    // What read_store.py found, or a proof made up (judge_proof.mjs).
    read(d) {
        if (d.check.join() !== 'ok') this.say('store', `the store is damaged: ${d.check.join('; ').slice(0, 300)}`, { key: '' });
        const threads = new Map(d.thread.map((t) => [t.id, { ...t, facts: [] }]));
        for (const f of d.fact.sort((a, b) => a.seq - b.seq)) threads.get(f.thread)?.facts.push({ ...parse(f.body), kind: f.kind, seq: f.seq, place: f.place, at_ms: f.at_ms });
        const calls = new Map();
        for (const t of threads.values()) if (!this.scene.damaged.has(`${t.owner}/${t.name}`)) this.thread(t, calls);
        for (const [id, c] of calls) this.calls.set(id, c);
        this.effects(calls);
        office.grants(this, calls);
        office.tries(this);
        office.budget(this, threads.values());
        this.inVain([...threads.values()]);
        this.leftBehind(threads.values());
        this.questions(d.approval, threads);
        this.acks([...threads.values()]);
    }

    // The facts of one thread as calls with their lives.
    thread(t, calls) {
        let run, replaced = new Map();
        const copied = t.facts.findLastIndex((f) => f.kind === 'forked'), mine = new Map();          // what stands before it happened elsewhere
        const seen = [];                 // the runs that are still to be seen; ids: those tried for the same message
        t.facts.forEach((f, i) => {
            if (f.seq !== i + 1) this.say('store', `${t.owner}/${t.name}: fact ${f.seq} stands where ${i + 1} should`, { who: t.owner, thread: t.name, key: 'gap' });
            if (i <= copied) return;
            if (BEGINS.includes(f.kind)) {
                // What is not to be seen any more cannot be replaced: then the conversation goes on as it is.
                const goesOn = f.kind === 'retry' && f.from_end && seen.find((r) => r.ids.includes(f.of))?.outcome === 'error';
                const of = goesOn ? -1 : f.kind === 'retry' ? seen.findIndex((r) => r.ids.includes(f.of)) : f.replaces ? seen.findIndex((r) => r.message === f.replaces) : -1;
                const old = of < 0 ? [] : seen.splice(of), again = f.kind === 'retry' ? old[0] : undefined;
                for (const c of old.flatMap((r) => r.calls)) if (c.begun) replaced.set(same(c), [...(replaced.get(same(c)) ?? []), c]);
                seen.push(run = { ids: [...(again?.ids ?? []), f.run], message: again?.message ?? f.id, page: f.page, action: f.kind === 'action', calls: [] });
            }
            for (const p of f.parts ?? []) if (p.type === 'call' && run) {
                const c = { id: p.call, tool: p.tool, text: p.text, args: parse(p.text), gate: p.gate, complete: p.complete, owner: t.owner, thread: t.name, seq: f.seq, yes: false, client: p.client, page: run.page, action: f.kind === 'action', ...(f.kind === 'proposed' && { proposed: f }) };
                mine.set(p.call, c);
                calls.set(p.call, c);
                run.calls.push(c);
            }
            if (f.kind === 'stop' && this.world.options.hold && ['chat', 'ws'].includes(f.via)) for (const c of run?.calls ?? []) if (c.asked && !c.decided && !c.outcome) this.say('hold', `a message of ${f.by} withdrew the question ${c.asked.id}, which it should not`, { who: t.owner, thread: t.name, call: c.id, key: f.via });
            if (f.kind === 'ended' && run) run.outcome = f.outcome;
            const c = f.call && mine.get(f.call);
            if (c) this.life(t, c, f, replaced);
        });
    }
    life(t, c, f, replaced) {
        const at = { who: t.owner, thread: t.name, call: c.id }, policy = POLICY[c.tool];
        if (f.kind === 'asked') c.asked = f;
        if (f.kind === 'proposed') office.authored(this, t, c, f);
        if (f.kind === 'decided') c.decided = f;
        if (f.kind === 'decided' && f.outcome === 'approved') {
            c.yes = true;
            if (f.via === 'grant') { c.yes = false; c.grant = f.grant; }
            else if (c.proposed && !f.id) office.authored(this, t, c, f);
            else if (!this.scene.mayDecide(f.by, t.owner, c.tool, c.args)) this.say('foreign', `${f.by} decided ${f.id} of ${t.owner}`, { ...at, key: f.via });
            else if (!(this.scene.yes.get(f.id) ?? []).some((y) => y.who === f.by)) this.say('foreign', `the log has a yes of ${f.by} to ${f.id} that he never gave`, { ...at, key: 'invented' });
            else office.votes(this, t, c, f);
            if (f.via !== 'grant' && f.grant) c.opens = f.grant;
        }
        if (f.kind === 'started') {
            if (c.started) this.say('once', `${c.tool} was started twice: ${c.id}`, { ...at, key: 'started' });
            c.started = f;
            if (!c.client && !c.yes && !c.grant && (guarded(policy, c.args) || c.asked)) this.say('guard', `${c.tool} was started without a yes in the log: ${c.id} ${c.text.slice(0, 200)}`, { ...at, key: c.asked ? 'asked' : DUPLICATE_MEMBER.test(c.text) ? 'a second member' : c.args !== null && typeof c.args === 'object' && !Array.isArray(c.args) ? 'object' : 'no object' });
            if (!c.client && !c.complete) this.say('guard', `${c.tool} was started although its end was never seen: ${c.id}`, { ...at, key: 'unfinished' });
            if (!c.action && c.tool === 'apply_schema') this.say('guard', `the model called a tool that is not offered to it: ${c.tool} ${c.id}`, { ...at, key: 'hidden' });
            if (!c.action && c.page === 'few' && !FEW.includes(c.tool)) this.say('guard', `${c.tool} ran on a page that does not have it: ${c.id}`, { ...at, key: 'page' });
            const before = replaced.get(same(c))?.find((x) => x.settled?.outcome !== 'not_done');          // somebody looked: it never happened
            if (before && !c.yes && !c.client && !policy?.idempotent) this.say('repeat', `${c.tool} ran again with the same arguments after a regenerate or edit, without asking: ${before.id}, ${c.id}`, { ...at, key: '' });
        }
        if (f.kind === 'finished') {
            c.outcome = f.outcome;
            c.begun = c.started && !c.client && ['done', 'unknown'].includes(f.outcome) && !policy?.idempotent;
        }
        if (f.kind === 'settled') { c.settled = f; office.settled(this, t, c, f); }
    }
    // At the very end: every yes came to something.
    came() {
        for (const c of this.calls.values()) if (c.yes && !c.started && !c.outcome && !this.scene.gone(c.owner, c.thread, 0)) this.say('rest', `a yes to ${c.tool} came to nothing: ${c.id}`, { who: c.owner, thread: c.thread, key: 'yes' });
    }

    // The ledger against the log; of a thread that was removed since, the log is as it was last seen.
    effects(calls) {
        const { ledger } = this.world;
        for (const l of ledger.lines) {
            const c = this.calls.get(l.call);
            if (!l.call || !c) continue;
            const at = { who: c.owner, thread: c.thread, call: c.id };
            if (guarded(policyOf(l), l.args) && !c.yes && !c.grant && calls.has(l.call)) this.say('guard', `${l.tool} ran without a yes in the log: ${l.call} ${l.raw.slice(0, 200)}`, { ...at, key: l.kind });
            if (guarded(policyOf(l), l.args) && !c.grant && !(c.proposed && office.amended(this, c)) && !this.yes(l.call, c.owner, c)) this.say('guard', `${l.tool} ran although nobody who may said yes: ${l.call}`, { ...at, key: 'nobody who may' });
            this.outcome(l, c, at);
        }
        for (const l of ledger.lines) if (l.kind === 'mcp' && l.args?.ref !== undefined) {
            const those = [...this.calls.values()].filter((c) => c.args?.ref === l.args.ref && canonical(c.args) === canonical(l.args));
            // Of a conversation that was removed since, others of the same words may have been there.
            if (those.length === 1 && calls.has(those[0].id)) this.outcome(l, those[0], { who: those[0].owner, thread: those[0].thread, call: those[0].id });
        }
        for (const c of calls.values()) if (c.outcome === 'done' && !c.client && !c.settled && c.decided?.outcome !== 'replaced' && ['exec', 'http'].includes(KIND[c.tool]) && !ledger.of(c.id).length && !['lie'].includes(c.args?.how))
            this.say('outcome', `${c.tool} is told as done and never happened: ${c.id} (${c.args?.how})`, { who: c.owner, thread: c.thread, call: c.id, key: 'invented' });
    }
    outcome(l, c, at) {
        const how = howOf(l), policy = policyOf(l);
        if (!c.outcome || c.settled) return;
        const wrong = ['denied', 'expired', 'duplicate'].includes(c.outcome) || c.decided?.outcome === 'replaced' || (c.outcome === 'failed' && !policy.idempotent && !SAID_FAILED[l.kind].includes(how)) || (c.outcome === 'cancelled' && !policy.low && !policy.idempotent);
        if (wrong) this.say('outcome', `${l.tool} happened (${how}) and is told as ${c.outcome}: ${c.id}`, { ...at, key: `${l.kind} ${how} ${c.outcome}` });
    }
    // Nobody is there to try again what a process left behind.
    leftBehind(threads) {
        for (const t of threads) {
            const over = new Map(t.facts.filter((f) => f.kind === 'ended').map((f) => [f.run, f])), last = t.facts.findLast((f) => BEGINS.includes(f.kind));
            for (const [run, f] of over) if (this.left.has(run) && f.code === 'model_busy') this.say('left', `${t.owner}/${t.name}: a run that a restart interrupted ended as ${f.code}: ${run}`, { who: t.owner, thread: t.name, key: f.code });
            if (last && !over.has(last.run)) this.left.add(last.run);
        }
    }
    // A tool's question names whose call it was.
    questions(rows, threads) {
        for (const a of rows) {
            const whose = /for \((\w+)\)/.exec(a.body)?.[1], t = threads.get(a.thread);
            if (whose && this.owners.includes(whose) && whose !== a.owner) this.say('foreign', `a question about ${whose}'s call was put to ${a.owner}: ${a.body.slice(0, 200)}`, { who: a.owner, thread: t?.name, key: 'question' });
        }
    }
    acks(threads) {
        const by = new Map(threads.map((t) => [`${t.owner}/${t.name}`, t]));
        for (const a of this.scene.acks) {
            const owner = a.owner ?? a.who, t = by.get(`${owner}/${a.thread}`), at = { n: a.n, who: owner, thread: a.thread };
            if (a.kind === 'removed') {
                const left = t?.facts.find((f) => f.at_ms < a.since - 1000);
                if (left) this.say('acked', `${owner}/${a.thread} was removed and its words are there: fact ${left.seq} ${left.kind}`, { ...at, key: 'removed' });
                continue;
            }
            if (this.scene.gone(owner, a.thread, a.since ?? a.at)) continue;
            const found = !t ? false : { run: () => t.facts.some((f) => f.run === a.run), decided: () => t.facts.some((f) => f.kind === 'decided' && f.id === a.id && f.outcome === (a.yes ? 'approved' : 'denied')),
                voted: () => t.facts.some((f) => f.kind === 'voted' && f.id === a.id && f.by === a.who), result: () => t.facts.some((f) => ['result', 'finished'].includes(f.kind) && f.call === a.call), settled: () => t.facts.some((f) => f.kind === 'settled' && (f.call === a.call || f.id === a.id)) }[a.kind]();
            if (!found) this.say('acked', `${a.kind} was acknowledged and is not in the store: ${JSON.stringify(a)}`, { ...at, key: a.kind });
        }
    }

    // --- a server at rest ---------------------------------------------------------------------------------------------

    // A server that is going away right now gives no answer, and is not known to be down yet: once more.
    async get(who, at) {
        const ask = () => send(this.world, who, 'GET', at, undefined, { stay: 10000 * patience(), kept: 1 << 26 }), r = await ask();
        if (r.status) return r;
        await pause(500);
        const again = this.world.up ? await ask() : r;
        return again.status ? again : { ...again, text: `${r.why}, ${again.why}` };
    }
    async threads(who) {
        const out = [];
        for (let next = '', i = 0; i < 20; i++) {
            const r = await this.get(who, `/v1/threads?limit=200${next ? `&before=${encodeURIComponent(next)}` : ''}`);
            if (r.status !== 200) return undefined;
            out.push(...r.json.threads);
            if (!(next = r.json.next)) break;
        }
        return out;
    }
    // Everything ends or waits for somebody. The model is well-behaved now.
    async rest() {
        const end = Date.now() + REST_MS * patience();
        let busy;
        do {
            if (!this.world.up) return;
            busy = [];
            for (const who of this.owners) for (const t of await this.threads(who) ?? []) if (t.state === 'running' && !this.scene.damaged.has(`${who}/${t.id}`)) busy.push(`${who}/${t.id}`);
            if (!busy.length) break;
            await pause(300);
        } while (Date.now() < end);
        for (const b of busy) {
            const who = b.split('/')[0], thread = b.slice(b.indexOf('/') + 1);
            this.say('rest', `${b} still runs ${Math.round(REST_MS * patience() / 1000)} s after everybody left; ${await this.doing(who, thread)}`, { who, thread, key: 'running' });
        }
        const lines = this.world.lines;
        this.calm = busy.length ? undefined : { from: this.world.model.log.length, at: Date.now() };
        await this.readable();
        if (!busy.length) await this.held();
        if (this.world.lines > lines + 200) this.say('log', `${this.world.lines - lines} log lines at rest`, { key: 'rest' });
    }
    // What a thread is at that does not come to rest: its newest messages, its steps, and what there is of everything.
    async doing(who, thread) {
        const shown = await this.get(who, `/v1/threads/${thread}`), steps = await this.get(who, `/v1/threads/${thread}/trace`), metrics = await this.get(who, '/metrics');
        const counts = metrics.text?.split('\n').filter((l) => l && !/^#|_(bucket|sum|count|total)[ {]/.test(l)).join(', ');
        return `shown ${JSON.stringify(shown.json?.messages?.slice(-2)).slice(-2000)}; steps ${steps.text?.slice(-1500)}; ${counts?.slice(0, 2000)}`;
    }
    // What is needed for work is given back when there is none, by the sanitizer some time later.
    async held(read = () => memory(this.world.child.pid), ms = REST_MS * patience()) {
        const end = Date.now() + ms;
        let rss = read();
        for (; rss > HELD && this.world.up && Date.now() < end; rss = read()) await pause(500);
        if (rss > HELD && this.world.up) this.say('memory', `the server holds ${Math.round(rss / 1048576)} MiB at rest`, { key: 'at rest' });
    }
    // A run that waited may go on by itself at any time (a browser's tool, a question that ran out), and then a well-behaved
    // model's answer is written. What is asked and never written is tried for ever.
    inVain(threads) {
        const { calm, scene, world } = this, count = new Map();
        this.calm = undefined;
        if (!calm) return;
        for (const { n } of world.model.log.slice(calm.from)) if (n >= 0) count.set(n, (count.get(n) ?? 0) + 1);
        for (const [n, asked] of count) if (asked > TRIES) {
            const those = threads.filter((t) => t.facts.some((f) => JSON.stringify(f).includes(`[op ${n}]`)));
            const written = those.flatMap((t) => t.facts).filter((f) => WRITTEN.includes(f.kind) && f.at_ms >= calm.at - 1000).length;
            if (asked > TRIES * (written + 1) && !those.some((t) => scene.damaged.has(`${t.owner}/${t.name}`))) this.say('rest', `the model is asked although nothing runs: ${asked} requests, and ${written} times something came of it`, { n, who: those[0]?.owner, thread: those[0]?.name, key: 'model' });
        }
    }
    // Words of a removed thread are not told by the next one of its name.
    async forgotten(a) {
        const old = this.scene.acks.filter((x) => x.kind === 'run' && x.who === a.who && x.thread === a.thread && x.at < a.since - 1000 && !this.scene.repeated.has(x.n));
        if (!old.length) return;
        const g = await this.get(a.who, `/v1/threads/${a.thread}`), told = old.find((x) => g.text.includes(`[op ${x.n}]`));
        if (g.status === 200 && told) this.say('acked', `${a.who}/${a.thread} was removed (operation ${a.n}) and still says the words of operation ${told.n}: ${g.text.slice(Math.max(0, g.text.indexOf(`[op ${told.n}]`) - 200), g.text.indexOf(`[op ${told.n}]`) + 100)}`, { n: a.n, who: a.who, thread: a.thread, key: 'removed words' });
    }
    // The same work three times: what a server keeps after it must not grow each time.
    async memory() {
        const { world } = this, rss = [], fds = [];
        for (let i = 0; i < 3 && world.up; i++) {
            for (let k = 0; k < 8; k++) {
                const text = `${'word '.repeat(100000)} [op -1]`, who = this.owners[k % this.owners.length], thread = `same-${k}`;
                await send(world, who, 'POST', '/api/chat', { id: thread, messages: [{ id: `m-${i}-${k}`, role: 'user', parts: [{ type: 'text', text }] }], trigger: 'submit-message' });
                await send(world, who, 'GET', `/v1/threads/${thread}`);
                await send(world, who, 'DELETE', `/v1/threads/${thread}`);
            }
            await pause(1200);
            rss.push(memory(world.child.pid));
            fds.push(descriptors(world.child.pid));
        }
        this.grown = rss.map((b) => Math.round(b / 1048576));
        if (rss.length < 3 || !rss[2]) return;
        if (rss[2] - rss[1] > GROWTH && rss[1] - rss[0] > GROWTH) this.say('memory', `it grows with each of three equal rounds: ${this.grown.join(', ')} MiB`, { key: 'grows' });
        if (fds[2] > fds[0] + 10) this.say('memory', `descriptors stay open: ${fds.join(', ')}`, { key: 'descriptors' });
        const left = orphans(world);
        if (left.length) this.say('unbounded', `${left.length} programs of tools still run`, { key: 'programs' });
    }
    async readable() {
        const approver = this.world.options.approver;
        for (const who of this.owners) {
            const list = await this.threads(who), r = await this.get(approver ? 'max' : who, '/v1/approvals?status=pending');
            if (!list || r.status !== 200) { if (this.world.up) this.say('rest', `the lists of ${who} cannot be read: ${r.status} ${r.text.slice(0, 100)}`, { who, key: 'list' }); continue; }
            const pending = r.json.approvals.filter((a) => !a.owner || a.owner === who);
            for (const t of list) if (!this.scene.damaged.has(`${who}/${t.id}`)) {
                const at = { who, thread: t.id }, g = await this.get(who, `/v1/threads/${t.id}`);
                if (g.status !== 200) { if (this.world.up) this.say('rest', `${who}/${t.id} is listed and cannot be read: ${g.status} ${g.text.slice(0, 100)}`, { ...at, key: `read ${g.status}` }); continue; }
                if (t.state === 'waiting' && g.json?.state === 'waiting' && !pending.some((a) => a.thread === t.id) && !g.json.messages.at(-1)?.parts.some((p) => p.state === 'input-available'))
                    this.say('rest', `${who}/${t.id} waits, and nobody is asked`, { ...at, key: 'waits for nobody' });
            }
            for (const a of pending) if (!this.scene.damaged.has(`${who}/${a.thread}`)) {
                const g = await this.get(approver ? 'max' : who, `/v1/approvals/${a.id}`);
                if (g.status !== 200 && this.world.up) this.say('rest', `the question ${a.id} is listed and cannot be read: ${g.status}`, { who, thread: a.thread, key: 'approval' });
            }
            for (const a of this.scene.acks) if (a.kind === 'removed' && a.who === who) await this.forgotten(a);
            const there = new Set(list.map((t) => t.id));
            for (const a of this.scene.acks) if (a.kind === 'run' && !a.unlisted && a.who === who && !there.has(a.thread) && !this.scene.gone(who, a.thread, a.since)) this.say('acked', `${who}/${a.thread} was written to (operation ${a.n}) and is not listed`, { n: a.n, who, thread: a.thread, key: 'listed' });
        }
    }
}

const FEW = ['note', 'pay', 'paint', 'suggest_replies', 'suggest_actions', 'present'];
const KIND = { pay: 'exec', note: 'exec', wire_money: 'http', mail: 'http', tick: 'http', loose: 'http', '2fast': 'http', either: 'http', refund: 'http', order: 'http', reserve: 'exec' };
