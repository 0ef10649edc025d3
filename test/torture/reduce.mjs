// reduce.mjs -- a failing list of operations made short: pieces of it are left out as long as the same thing is still found
// (delta debugging). What depends on the moment may not fail again every time, so each try counts twice.
import { Round } from './round.mjs';

const TRIES = 2;
const GAP_MS = 1500;           // what nobody does for longer than this is not waited for

async function fails(list, ops) {
    for (let i = 0; i < TRIES; i++) {
        const r = await new Round({ options: list.options, ops, wanted: (_, key) => key === list.key }).run();
        if (r.found.some((v) => v.key === list.key)) return true;
    }
    return false;
}
// Without the waits that nobody needs any more: an operation follows the one before it after at most `gap` ms.
function closer(ops, gap) {
    let last = 0, now = 0;
    return [...ops].sort((a, b) => a.at - b.at).map((o) => { now += Math.min(gap, o.at - last); last = o.at; const { result, ...rest } = o; return { ...rest, at: now }; });
}

// Where to begin: often what one person did is enough, and what came after the finding never matters. The first of these that fails again.
async function beginning(list, ops, keep) {
    const before = closer(list.ops.slice(0, list.after), GAP_MS), his = (o) => o.who === 'god' || o.who.startsWith(`${list.who}.`);
    const tries = [...(list.who ? [before.filter(his)] : []), before, ops];
    for (const t of tries) if (await fails(list, t)) { if (t !== ops) keep(t); return true; }
    return false;
}

// What the model says in what is left: answers and parts that do not matter are left out.
async function shorter(list, all, end, keep) {
    let ops = all;
    for (let i = 0; i < ops.length; i++) for (const path of paths(ops[i])) {
        if (Date.now() > end) return ops;
        const copy = structuredClone(ops), holder = path.slice(0, -1).reduce((o, k) => o?.[k], copy[i]);
        if (!Array.isArray(holder) || path.at(-1) >= holder.length) continue;
        holder.splice(path.at(-1), 1);
        if (await fails(list, copy)) { keep(copy); ops = copy; }
    }
    return ops;
}
// Places of answers, then of their parts, from the last to the first.
function paths(op) {
    const answers = (op.script ?? []).map((_, i) => ['script', i]), frames = (op.frames ?? []).map((_, i) => ['frames', i]);
    const parts = (op.script ?? []).flatMap((a, i) => a.parts.map((_, k) => ['script', i, 'parts', k]));
    return [...frames.reverse(), ...answers.reverse(), ...parts.reverse()];
}

export async function reduce(list, seconds) {
    const end = Date.now() + seconds * 1000;
    let ops = closer(list.ops, 1e9), small = false;
    const keep = (c) => { ops = c; small = true; };
    const start = await beginning(list, ops, keep);
    if (!start) { console.log('note: the recorded operations do not fail again; the moment matters'); return undefined; }
    for (let pieces = 2; ops.length > 1 && Date.now() < end;) {
        const size = Math.ceil(ops.length / pieces);
        let found = false;
        for (let i = ops.length - size; i > -size && Date.now() < end && !found; i -= size) {
            const without = closer([...ops.slice(0, Math.max(0, i)), ...ops.slice(Math.max(0, i) + Math.min(size, i + size))], GAP_MS);
            if (without.length < ops.length && await fails(list, without)) { keep(without); found = true; }
        }
        if (found) pieces = Math.max(2, pieces - 1);
        else if (size === 1) break;
        else pieces = Math.min(ops.length, pieces * 2);
        console.log(`note: ${ops.length} operations left`);
    }
    ops = await shorter(list, ops, end, keep);
    for (const gap of [20, 200]) { const c = closer(ops, gap); if (Date.now() < end && await fails(list, c)) { keep(c); break; } }
    return small ? { ...list, ops } : undefined;
}
