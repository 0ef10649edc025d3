// run.mjs -- make torture S=60 SEED=n: random but valid-looking behaviour from all sides against the real server, and a judge.
//
//   node test/torture/run.mjs [--seconds 60 | --rounds N] [--seed N] [--keep-going] [--no-reduce] [--round 15]
//                             [--only guard,once] [--not provider] [--brief] [--worlds 4] [--world '{"org":1}']
//   node test/torture/run.mjs --replay FILE [--times 3] [--reduce]
//
// --world: what is fixed of what a world's seed draws (drawOptions of round.mjs).
// Without --seed: the kept lists, then seed 1, then one by chance (printed). --kept: the lists before --seed N.
// --rounds: so many whole rounds, however long they take: the same operations on every machine. Last line: N passed, N failed.
import fs from 'node:fs';
import path from 'node:path';
import { Finding } from '../lib/check.mjs';
import { run } from '../lib/test.mjs';
import { Round, drawOptions } from './round.mjs';
import { prove } from './judge_proof.mjs';
import { reduce } from './reduce.mjs';
import { patience } from './world.mjs';

const HERE = import.meta.dirname, KEPT = path.join(HERE, 'kept');
const WORLDS = 4;              // at once, on two cores
const ROUND_MIN_S = 5, JUDGE_S = 15;          // the shortest round, and the judgement after it
const flag = (name) => process.argv.includes(`--${name}`);
const option = (name, otherwise) => { const i = process.argv.indexOf(`--${name}`); return i < 0 ? otherwise : process.argv[i + 1]; };
const seconds = Number(option('seconds', 60)), seed = option('seed'), keepGoing = flag('keep-going'), roundSeconds = Number(option('round', 15));
const sum = { rounds: 0, failed: 0, ops: 0, asked: 0, effects: 0, restarts: 0 }, seen = new Set(), running = new Set();
const only = option('only')?.split(','), not = option('not')?.split(',') ?? [];
const wanted = (rule, key) => (!only || only.some((w) => key.startsWith(w))) && !not.some((w) => key.startsWith(w));

function count(r) {
    sum.rounds++;
    sum.ops += r.ops.length;
    sum.asked += r.world.model.requests;
    sum.effects += r.world.ledger.lines.length;
    sum.restarts += r.world.restarts;
    if (r.found.length) sum.failed++;
}
// How often what was done came to what: "decide 200 12, nothing 3; ...".
function outcomes(ops) {
    const by = {};
    for (const o of ops) { const k = `${o.result?.status ?? '-'}${o.result?.note && o.result.status !== 200 ? ` ${o.result.note}` : ''}`, of = by[o.op] ??= {}; of[k] = (of[k] ?? 0) + 1; }
    return Object.entries(by).map(([op, of]) => `${op} ${Object.entries(of).map(([k, n]) => `${k}: ${n}`).join(', ')}`).join('\n      ');
}
// What was found, and the last operations of that thread before it.
function tell(r, v) {
    const head = `${v.rule}${r.name ? '' : ` (SEED=${r.seed})`} after ${v.after} operations, ${Math.round(v.ms / 1000)} s, at operation ${v.n}${v.thread ? ` in ${v.who}/${v.thread}` : ''}`;
    if (flag('brief')) return `${head}\n    ${v.key.slice(0, 200)}\n    ${v.text.slice(0, 200).replace(/\n/g, ' ')}`;
    const of = r.ops.filter((o) => !v.thread || o.result?.thread === v.thread || (r.scene.opThread.get(o.n)?.thread === v.thread) || o.op === 'restart').slice(-8);
    const shown = of.map((o) => `    op ${JSON.stringify(o).replace(/(.)\1{20,}/g, '$1$1$1...').slice(0, 400)}`);
    return [head, `    ${v.text.split('\n').slice(0, 40).join('\n    ')}`, ...shown].join('\n');
}
// One round is one test: it fails with all that was found.
function round(t, name, settings) {
    return t.part(name, async () => {
        const r = new Round({ keepGoing, seen, wanted, ...settings });
        running.add(r);
        await r.run();
        running.delete(r);
        count(r);
        if (flag('verbose')) console.log(`note: ${name}: ${r.ops.length} operations, at most ${Math.round(Math.max(0, ...r.world.rss) / 1048576)} MiB, equal rounds ${r.judge?.grown ?? '-'} MiB, ${Math.round((Date.now() - r.began) / 1000)} s, ${JSON.stringify(r.options)}\n      ${outcomes(r.ops)}`);
        if (!r.found.length) return;
        if (!keepGoing && !r.name) for (const other of running) other.over = true;          // one finding is enough
        if (!r.name) for (const v of keepGoing ? r.found : r.found.slice(0, 1)) await keep(r, v);
        throw new Finding(r.found.map((v) => tell(r, v)).join('\n'));
    });
}
// The operations that led to it, to be replayed: --replay FILE, and --replay FILE --reduce.
function record(r, v) {
    const file = path.join(HERE, `found-${r.seed}-${v.key.replace(/[^a-z0-9]+/gi, '-').slice(0, 50)}.json`);
    const list = { key: v.key, text: v.text.slice(0, 300), who: v.who, thread: v.thread, after: v.after, options: r.options, ops: r.ops };
    fs.writeFileSync(file, JSON.stringify(list));
    console.log(`note: recorded in ${path.relative(process.cwd(), file)} (${r.ops.length} operations)`);
    return { file, list };
}
async function keep(r, v) {
    const { file, list } = record(r, v);
    if (keepGoing || flag('no-reduce')) return;
    const small = await reduce(list, Number(option('reduce-seconds', 90)));
    if (small) { fs.writeFileSync(file, JSON.stringify(small, null, 1)); console.log(`note: reduced to ${small.ops.length} operations; keep it in test/torture/kept/ when it is mended`); }
}

const worlds = Number(option('worlds', WORLDS));          // one mostly waits: a few of them at once

// Recorded lists. A list stands for what its name says, so each is judged on its own.
function replays(t, files) {
    const todo = files.flatMap((f) => Array.from({ length: Number(option('times', 1)) }, () => f));
    return Promise.all(todo.map((f) => {
        const { options, ops } = JSON.parse(fs.readFileSync(f, 'utf8')), name = path.basename(f, '.json');
        return round(t, name, { options, ops, name, seen: new Set() });
    }));
}
async function seeds(t, list) {
    const end = Date.now() + seconds * 1000, counted = Number(option('rounds', 0));
    let i = 0;
    const more = () => (counted ? i < counted : !i || (end - Date.now()) / 1000 > ROUND_MIN_S + JUDGE_S);
    const length = () => (counted ? Infinity : Math.min(roundSeconds * patience(), Math.max(ROUND_MIN_S, (end - Date.now()) / 1000 - JUDGE_S)));
    await Promise.all(Array.from({ length: worlds }, async () => {
        while (more() && (!sum.failed || keepGoing)) {
            // Rounds of one seed: n, n + 1000003 ... each a world of its own, so that one alone can be repeated.
            const k = i++, s = list[Math.min(k, list.length - 1)] + 1000003 * Math.max(0, k - list.length + 1);
            await round(t, `seed ${s}`, { seed: s, seconds: length(), options: { ...drawOptions(s), ...JSON.parse(option('world', '{}')) } });
        }
    }));
}
async function shorten(file) {
    const small = await reduce(JSON.parse(fs.readFileSync(file, 'utf8')), Number(option('reduce-seconds', 90)));
    if (small) fs.writeFileSync(file, JSON.stringify(small, null, 1));
}

await run('torture', worlds, async (t) => {
    process.on('unhandledRejection', (e) => { console.log(`note: ${e?.stack ?? e}`); });
    const replay = option('replay'), chance = Date.now() % 1000000;
    await t.part('the judge finds what he is to find', prove);
    if (replay && flag('reduce')) await t.part(`reduce ${replay}`, () => shorten(replay));
    else if (replay) await replays(t, [replay]);
    else {
        if (seed === undefined || flag('kept')) await replays(t, fs.readdirSync(KEPT).filter((f) => f.endsWith('.json')).sort().map((f) => path.join(KEPT, f)));
        console.log(seed === undefined ? `SEED=1, then SEED=${chance}` : `SEED=${seed}`);
        await seeds(t, seed === undefined ? [1, chance] : [Number(seed)]);
    }
    console.log(`torture: ${sum.rounds} rounds, ${sum.ops} operations, ${sum.asked} model requests, ${sum.effects} effects, ${sum.restarts} restarts`);
});
