// round.mjs -- one world from its beginning to its judgement: actors act, drawn from a seed or replayed from a list, the
// server is killed and started, and then everything must come to rest.
import { pause } from '../lib/check.mjs';
import { Actor, Scene, draw, stranger, tables, watch } from './actors.mjs';
import { Chance } from './chance.mjs';
import { Judge } from './judge.mjs';
import { World, ownersOf, patience } from './world.mjs';

const TABS = 3;                        // of each owner
const OPS_MAX = 60;                    // of one actor, some 15 s: on a slow machine a round takes longer and is still the same round
const OP_MS = 30000;                   // an operation that takes longer is left behind
const SLOW_MAX = 4;                     // a replayed list is stretched at most so much
const ASKED_MS = 3000;                 // a restart waits at most so long for a question
const STARTS_MAX = 4;                  // in a row that fail: the store kills the server

export function drawOptions(seed) {
    const c = new Chance(seed, 'world');
    return { model: c.pick(['a', 'o', 'g']), hold: c.maybe(0.25), demo: c.maybe(0.3), approver: c.maybe(0.15), threads: c.pick([1, 2, 4, 1000]), ...(c.maybe(0.3) && { runs: c.pick([1, 2, 5]) }), ...(c.maybe(0.3) && { allRuns: c.pick([3, 6]) }), ...(c.maybe(0.15) && { expires: c.pick([1, 3]) }), restart_ms: c.pick([1500, 3000, 6000]), ...(c.maybe(0.25) && { absent: true }), ...office(c), ...narrow(c), ...alone(c) };
}

// An organisation's rules (in how many seconds the next are asked), and a budget of tokens for each.
function office(c) {
    const org = c.maybe(0.4) ? { org: c.pick([1, 3, 10]), approver: false } : {};
    return { ...org, ...(c.maybe(0.08) && { budget: { hard: c.pick([300, 900]), ...(c.maybe(0.5) && { soft: 200 }) } }) };
}

// A model that takes a few at once, so that what a crash left behind has to stand in line.
const narrow = (c) => (c.maybe(0.2) ? { concurrent: c.pick([1, 2, 4]) } : {});
// Nobody signs in: one person with the start token, and strangers on the same machine.
const alone = (c) => (c.maybe(0.15) ? { open: true, approver: false, org: undefined } : {});

// How a process ends, and whether the next one has a fault ordered: an end at a place where responsibility changes hands, or something that fails once.
const POINTS = ['store.before_commit', 'store.after_commit', 'thread.loaded', 'thread.before_append', 'thread.take', 'thread.before_answer', 'thread.answered', 'thread.committed',
    'model.started', 'model.step_ended', 'run.before_tool', 'run.in_tool', 'run.after_tool', 'run.tool_settled', 'hub.recover', 'net.before_write', 'net.after_write'];
function restart(c) {
    const op = { op: 'restart', how: c.pick(['kill', 'kill', 'term']) };
    if (c.maybe(0.4)) op.fault = `${c.pick(POINTS)}:${c.between(1, 40)}`;
    else if (c.maybe(0.15)) op.fault = c.pick([`mem:${c.between(1, 20000)}`, `write:${c.between(1, 60)}=ENOSPC`, `fsync:${c.between(1, 60)}=EIO`]);
    if (c.maybe(0.35)) op.move = true;
    if (c.maybe(0.25)) op.damage = c.share();
    if (c.maybe(0.6)) op.hurried = c.share();
    if (c.maybe(0.5)) op.asked = true;             // not before somebody is asked
    return op;
}
// What the operator's side does: mostly it restarts.
const operate = (c) => (c.maybe(0.12) ? { op: 'stall' } : restart(c));

export class Round {
    // {seed, seconds}, or {options, ops} to replay. keepGoing: a crashed server is started again, and all that is found is told.
    // wanted(rule, key): what counts as found; everything, unless one looks for something.
    constructor({ seed, seconds, name, options = drawOptions(seed), ops, keepGoing = false, seen = new Set(), wanted = () => true }) {
        Object.assign(this, { seed, seconds, name, options, replayed: ops, keepGoing, seen, wanted, ops: [], found: [], over: false });
        this.tables = tables(new Chance(seed, 'tables'));
        this.world = new World(options, (v) => this.report(v));
    }
    report(v) {
        const key = `${v.rule}: ${v.key ?? v.text}`;
        if (this.seen.has(key) || !this.wanted(v.rule, key)) return;
        this.seen.add(key);
        const op = this.scene?.opThread.get(v.n), at = { who: v.who ?? op?.who, thread: v.thread ?? op?.thread };
        this.found.push({ ...v, ...at, key, after: this.ops.length, n: v.n ?? this.ops.at(-1)?.n, ms: Date.now() - this.began, options: this.options });
        if (!this.keepGoing) this.over = true;
    }

    async run() {
        const { world } = this;
        this.began = Date.now();
        await world.open();
        this.scene = new Scene(world);
        world.ownerOf = (n) => this.scene.opThread.get(n)?.who;
        this.judge = new Judge(world, this.scene);
        try {
            if (world.up) await this.drive();
            if (!this.over || this.keepGoing) await this.judgement();
        } catch (e) { this.report({ rule: 'machine', text: e.stack }); }
        await world.close();
        return this;
    }
    async drive() {
        this.began = Date.now();
        const owners = ownersOf(this.options), tabs = TABS * (this.options.open ? 3 : 1);
        const names = owners.flatMap((who) => Array.from({ length: tabs }, (_, i) => `${who}.${i}`));
        const actors = this.actors = [...names, ...owners.map((who) => `${who}.eye`), ...(this.options.open ? ['local.stranger'] : []), 'god'];
        this.acting = names.length;
        await Promise.all(actors.map((a) => (this.replayed ? this.replay(a) : this.act(a)).finally(() => { if (names.includes(a)) this.acting--; })));
    }
    now() { return Date.now() - this.began; }
    async act(name) {
        const c = new Chance(this.seed, name), who = name.split('.')[0], isTab = /\d$/.test(name);          // the others go on as long as a tab does
        let n = this.actors.indexOf(name);               // the same operation has the same number, however the actors interleave
        for (let i = 0; i < OPS_MAX && !this.over && this.now() < this.seconds * 1000 && (isTab || this.acting > 0); i++) {
            await pause(name === 'god' ? c.between(this.options.restart_ms / 2, this.options.restart_ms * 2) * patience() : c.int(c.maybe(0.5) ? 20 : 250));
            if (this.over || this.now() > this.seconds * 1000 || (!isTab && !this.acting)) return;
            const drawn = name === 'god' ? operate(c) : name.endsWith('.eye') ? watch(c) : name.endsWith('.stranger') ? stranger(c) : draw(c, who, this.tables);
            await this.do({ n: n += this.actors.length, who: name, at: this.now(), ...drawn });
        }
    }
    // A list's times are those of a machine that has time: on a slow one all of them are stretched alike.
    async replay(name) {
        const slow = this.slow ??= Math.min(SLOW_MAX, patience());
        for (const op of this.replayed.filter((o) => o.who === name)) {
            await pause(Math.max(0, op.at * slow - this.now()));
            if (this.over) return;
            await this.do(op.read?.stay ? { ...op, read: { ...op.read, stay: op.read.stay * slow } } : op);
        }
    }
    async do(op) {
        const { world } = this, log = { ...op };
        if (!await world.ready() && !await this.revive()) { this.over = true; return; }
        this.ops.push(log);
        const work = op.op === 'restart' ? this.restart(op) : op.op === 'stall' ? this.stall() : new Actor(world, this.scene, op.who.split('.')[0]).perform(op);
        let result;
        try { result = await Promise.race([work, pause(OP_MS).then(() => ({ status: 'left behind' }))]); }
        catch (e) { result = { status: e.message }; if (!/ECONN|EPIPE|closed/.test(e.message)) this.report({ rule: 'machine', text: e.stack, key: e.message }); }
        log.result = result;
    }
    async stall() { this.world.stall(); return { status: 'stalled' }; }
    async restart({ n, how, fault, move, damage, hurried, asked }) {
        const { world } = this;
        if (asked) await this.question();
        if (!world.up) return { status: 'down' };
        await (how === 'kill' ? world.kill() : world.term());
        if (move) world.move();
        const hit = damage === undefined ? undefined : await this.judge.damage(damage);
        const status = await this.startAgain(fault);
        // They sat in front of their questions all the time, and say yes in the very first moment.
        const yes = hurried === undefined || !status ? [] : (await Promise.all(ownersOf(this.options).map((who) => new Actor(world, this.scene, who).hurry({ n, which: hurried })))).flat();
        return { status, ...(hit && { hit }), ...(yes.length && { yes }) };
    }
    // Until a question waits for somebody, or it takes too long.
    async question() {
        for (const end = Date.now() + ASKED_MS * patience(); Date.now() < end && this.world.up && !this.over; await pause(50))
            for (const who of ownersOf(this.options)) if ((await new Actor(this.world, this.scene, who).asked(who, 'pending', this.world.options.approver ? 'max' : who)).length) return;
    }
    // Somebody has to start a server that crashed: whoever sees it first.
    revive() { return this.reviving ??= this.startAgain().finally(() => { this.reviving = undefined; }); }
    async startAgain(fault) {
        const { world } = this;
        if (this.starting) return this.starting;
        return this.starting = (async () => {
            await this.judge.store();
            for (let i = 0; i < STARTS_MAX; i++) {
                if (await world.start(i ? undefined : fault)) { world.restarts++; return true; }
            }
            this.report({ rule: 'start', text: `the server does not start any more: ${world.said.slice(-1000) || world.err.slice(-500)}`, key: 'again' });
            this.over = true;
            return false;
        })().finally(() => { this.starting = undefined; });
    }
    async judgement() {
        const { world, judge } = this;
        world.model.rest(true);
        world.child?.stderr.resume();           // the log is read again, so that what it says at rest is of that time
        if (world.up && world.fault) await world.kill();           // an order that has not come to pass does not count any more
        if (!world.up && !await this.startAgain()) return;
        await judge.rest();
        if (world.up) await world.term();
        await judge.store();
        if (!await world.start()) return this.report({ rule: 'start', text: `the server does not start on what it left: ${world.said.slice(-800) || world.err.slice(-500)}`, key: 'at the end' });
        await judge.rest();
        if (!this.replayed) await judge.memory();
        if (world.up) await world.term();
        await judge.store();
        judge.came();
    }
}
