// judge_office.mjs -- the judge's rules where an organisation decides; organisation.mjs is his own reading of its configuration.
//
//   votes      a question is decided by as many of the right people as its rule wants: who still had the role, had not taken it
//              back, and was asked by then
//   grant      what runs by a grant is within what its giver chose: tool, person, conversation, recipient, number, sum and time;
//              not after it was revoked, the tool was changed or its giver lost the role
//   edit       what a person changed is another call, whose author they are; the one in whose place it stands never runs
//   effect     one deed once, unless the first certainly did not happen
//   check      an unknown call is settled by its check as the check said, and the check is not asked for ever
//   budget     who has used up their tokens gets no more answers
import { canonical } from './ledger.mjs';
import { CHECK_TRIES, GRANT, concerns, deed, fits, levels } from './organisation.mjs';

const SLACK_MS = 2500;           // between what is decided and what is written, on a slow machine
const SERVER = 'parley';         // who makes the step that asks whether more may be used
const LAG_MS = 1000;             // the server's clock is that of the turn of its loop
const number = (v, otherwise) => (v === undefined ? otherwise : Number(v));

// --- votes ---------------------------------------------------------------------------------------------------

// Whose yes to this question can have counted at that time: given by then, and not taken back since.
function standing(scene, id, ms) {
    const back = (y) => scene.takenBack.some((b) => b.id === id && b.who === y.who && b.from >= y.to && b.to < ms);
    return [...new Set((scene.yes.get(id) ?? []).filter((y) => y.from <= ms + LAG_MS && !back(y)).map((y) => y.who))];
}
// `decided` in the log: by enough of the right people?
export function votes(judge, t, c, f) {
    const { world, scene } = judge, since = c.asked ? f.at_ms - c.asked.at_ms : Infinity, version = world.versionAt(f.at_ms);
    const yes = standing(scene, f.id, f.at_ms), open = levels(world.options, c.tool, c.args).filter((l) => since >= l.after * 1000 - 100);
    const right = (l) => yes.filter((p) => fits(l, p, t.owner, version));
    if (open.some((l) => right(l).length >= l.count && right(l).includes(f.by))) return;
    judge.say('votes', `${f.id} of ${t.owner} (${c.tool} ${c.text.slice(0, 100)}) was decided by ${f.by}, and these had said yes: ${yes.join(', ') || 'nobody'}; wanted: ${JSON.stringify(open)}`, { who: t.owner, thread: t.name, call: c.id, key: `${c.tool} ${f.via}` });
}

// --- edits ---------------------------------------------------------------------------------------------------

// Somebody proposed this call in the place of another, with these very arguments.
export const amended = (judge, c) => judge.scene.edits.some((e) => e.by === c.proposed?.by && e.id === `confirmation-${c.proposed.of}` && e.input === canonical(c.args));
export function authored(judge, t, c, f) {
    const at = { who: t.owner, thread: t.name, call: c.id };
    if (!amended(judge, c)) judge.say('edit', `${f.by} is said to have made ${c.id} of ${c.proposed.of}, and never did: ${c.text.slice(0, 200)}`, { ...at, key: 'invented' });
    if (f.kind !== 'decided' || f.id) return;
    const alone = levels(judge.world.options, c.tool, c.args)[0];
    if (f.by !== c.proposed.by || alone.count > 1 || !concerns(judge.world.options, f.by, t.owner, c.tool, c.args, judge.world.versionAt(f.at_ms)))
        judge.say('edit', `${f.by} changed ${c.proposed.of} and it ran, though they alone may not decide it: ${c.text.slice(0, 200)}`, { ...at, key: 'alone' });
}
// At the effect nobody has read the log yet: did anybody make such a call?
export const proposed = (judge, l) => judge.scene.edits.some((e) => e.tool === l.tool && e.input === canonical(l.args));

// --- grants --------------------------------------------------------------------------------------------------

export const wished = (judge, l) => l.tool === 'refund' && [...judge.scene.wishes.values()].flat().some((w) => w.wish?.scope);
// It certainly did not happen, or somebody said so: then it gave back what it took.
const gaveBack = (c) => ['failed', 'cancelled', 'denied', 'expired', 'duplicate'].includes(c.outcome) || c.settled?.outcome === 'not_done';

export function grants(judge, present) {
    const all = [...judge.calls.values()].filter((c) => !judge.scene.damaged.has(`${c.owner}/${c.thread}`)), opened = new Map(all.filter((c) => c.opens).map((c) => [c.opens, c]));
    for (const [id, first] of opened) {
        const uses = all.filter((c) => c.grant === id && c.started && (present.has(c.id) || c.outcome));
        const wish = judge.scene.wishes.get(first.decided.id)?.findLast((w) => w.by === first.decided.by && w.at <= first.decided.at_ms)?.wish;
        const bad = (text, c, key) => judge.say('grant', `${text}: ${id} of ${first.decided.by} ${JSON.stringify(wish)}, ${c.id} ${c.text.slice(0, 150)}`, { who: c.owner, thread: c.thread, call: c.id, key });
        if (!wish) { bad('nobody gave this grant', first, 'invented'); continue; }
        for (const c of uses) within(judge, { id, first, wish }, c, bad);
        const took = [first, ...uses].filter((c) => !gaveBack(c)), sum = took.reduce((n, c) => n + Math.round(c.args.amount * 1e6), 0);
        if (took.length > number(wish.count, GRANT.count)) bad(`${took.length} calls by a grant of ${number(wish.count, GRANT.count)}`, took.at(-1), 'count');
        if (sum > number(wish.max, GRANT.max) * 1e6) bad(`${sum / 1e6} by a grant of ${number(wish.max, GRANT.max)}`, took.at(-1), 'sum');
    }
    for (const c of all) if (c.grant && !opened.has(c.grant) && present.has(c.id) && !judge.scene.removed.size) judge.say('grant', `${c.id} ran by a grant that nobody gave: ${c.grant}`, { who: c.owner, thread: c.thread, call: c.id, key: 'unknown' });
}
function within(judge, { id, first, wish }, c, bad) {
    const { world, scene } = judge, ms = c.started.at_ms, giver = first.decided.by;
    if (c.tool !== first.tool || c.owner !== first.owner || c.args?.to !== first.args?.to) bad('a grant was used for another tool, person or recipient', c, 'same');
    if (wish.scope === 'thread' && c.thread !== first.thread) bad('a grant of one conversation was used in another', c, 'thread');
    if (ms > first.decided.at_ms + number(wish.for, GRANT.for) * 1000 + SLACK_MS) bad('a grant was used after its time', c, 'time');
    if (scene.revoked.some((r) => r.id === id && ms > r.at + 5)) bad('a grant was used after it was revoked', c, 'revoked');
    if (world.versionAt(ms) !== world.versionAt(first.decided.at_ms)) bad('a grant was used after the tool was changed', c, 'moved');
    if (!concerns(world.options, giver, c.owner, c.tool, c.args, world.versionAt(ms))) bad('a grant was used after its giver lost the role', c, 'role');
}

// --- deeds ---------------------------------------------------------------------------------------------------

// The same deed of another call: only when the tool itself said no to the first, or somebody found that it never happened.
export function again(judge, l, saidFailed) {
    const owner = (x) => judge.calls.get(x.call)?.owner ?? x.args?.who, name = deed(l.tool, l.args, owner(l)), { ledger, tools } = judge.world;
    if (!name || !l.call) return;
    const free = (x) => saidFailed(x) || judge.scene.notDone.has(x.call) || tools.checked.get(x.call)?.includes(false);
    const first = ledger.lines.find((x) => x.call && x.call !== l.call && x.at <= l.at && deed(x.tool, x.args, owner(x)) === name && !free(x));
    if (first) judge.say('effect', `${name} was done twice: ${first.call} (${first.args.how ?? 'ok'}), ${l.call}`, { call: l.call, key: l.tool });
}

// --- checks ----------------------------------------------------------------------------------------------------

export function settled(judge, t, c, f) {
    const said = judge.world.tools.checked.get(c.id) ?? [], at = { who: t.owner, thread: t.name, call: c.id };
    if (f.via === 'check' && !said.includes(f.outcome === 'done')) judge.say('check', `${c.id} was settled as ${f.outcome} by its check, which said ${JSON.stringify(said)}`, { ...at, key: f.outcome });
}
export function tries(judge) {
    for (const [call, said] of judge.world.tools.checked) if (said.length > CHECK_TRIES + judge.world.starts) judge.say('check', `the check of ${call} was asked ${said.length} times`, { call, key: 'tries' });
}

// --- budgets ---------------------------------------------------------------------------------------------------

// What must have been there before the model was asked for a step. A step that began below the limit is finished.
const BEFORE = ['message', 'action', 'retry', 'resumed', 'step', 'finished'];

// By the order in which things were committed, not by clocks: what stood in the store when the step's own run came to it counts.
export function budget(judge, threads) {
    const hard = judge.world.options.budget?.hard, steps = [];
    if (!hard) return;
    for (const t of threads) {
        const after = new Map(), runOf = new Map();
        for (const f of t.facts.slice(t.facts.findLastIndex((x) => x.kind === 'forked') + 1)) {
            const run = f.run ?? runOf.get(f.call);
            for (const p of f.parts ?? []) runOf.set(p.call, run);
            if (f.kind === 'step') steps.push({ who: t.owner, thread: t.name, place: f.place, after: after.get(run) ?? 0, tokens: (f.input_tokens ?? 0) + (f.output_tokens ?? 0), asked: f.provider !== SERVER });
            if (run && BEFORE.includes(f.kind)) after.set(run, f.place);
        }
    }
    for (const s of steps.filter((x) => x.asked)) {
        const used = steps.filter((x) => x.who === s.who && x.place <= s.after).reduce((sum, x) => sum + x.tokens, 0);
        if (used >= hard) judge.say('budget', `${s.who} had used ${used} of ${hard} tokens, and the model was asked again`, { who: s.who, thread: s.thread, key: '' });
    }
}
