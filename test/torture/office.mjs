// office.mjs -- what people of an organisation do about each other's questions: vote and take it back, give grants and revoke
// them, change what is asked before they say yes, decide by links, listen to what is asked. As in actors.mjs: `draw` says it as
// data, `perform` does it. Where no rules are, the same is tried by whoever decides there.
import { at } from './chance.mjs';
import { events } from './client.mjs';
import { canonical } from './ledger.mjs';
import { DECIDERS, EDITABLE, concerns, editAllowed, levels, mayHear } from './organisation.mjs';
import { OWNERS } from './world.mjs';

export const OPS = { vote: 10, unvote: 2, grant: 5, revoke: 1, amend: 3, link: 3, hear: 1 };

export const draw = {
    vote: (c) => ({ which: c.share(), voter: c.share(), wrong: c.maybe(0.2), yes: c.maybe(0.88), ...(c.maybe(0.2) && { twice: true }) }),
    unvote: (c) => ({ which: c.maybe(0.6) ? 0.999999 : c.share() }),
    grant: (c) => ({ which: c.share(), voter: c.share(), wish: c.maybe(0.12) ? c.pick(['yes', [], {}, { scope: 'all' }, { scope: 'me', count: 5 }, { scope: 'me', max: '300.01' }, { scope: 'me', max: '1e400' }, { scope: 'me', count: 0 }])
        : { scope: c.pick(['thread', 'me', 'me']), ...(c.maybe(0.5) && { count: c.between(1, 4) }), ...(c.maybe(0.4) && { max: c.pick(['55', '100', '150.5', '0.2e3']) }), ...(c.maybe(0.3) && { for: c.pick([1, 5, 20]) }) } }),
    revoke: (c) => ({ which: c.share() }),
    amend: (c) => ({ which: c.share(), voter: c.share(), member: c.pick(['amount', 'amount', 'note', 'to', 'who', 'how']), value: c.pick([1, 49, 500, 'cy', '', null]), ...(c.maybe(0.1) && { input: c.pick(['null', '[]', '"x"', '{}']) }) }),
    link: (c) => ({ which: c.share(), voter: c.share(), wrong: c.maybe(0.2), own: c.maybe(0.3), yes: c.maybe(0.85), uses: c.pick([1, 1, 2, 3]), look: c.maybe(0.5), ...(c.maybe(0.15) && { spoil: c.pick(['cut', 'end', 'person']) }) }),
    hear: (c) => ({ ear: c.pick([...OWNERS, 'fay', 'cleo']), after: c.pick(['0', 'seen', '', '99999999', 'x']), stay: c.pick([50, 400, 1500]) }),
};

// Those who may have a say in a question, as things stand.
export function people(actor, q) {
    const { options, version } = actor.world;
    if (options.approver) return ['max'];
    return [...new Set([actor.who, ...DECIDERS])].filter((p) => concerns(options, p, actor.who, q.tool, q.input, version));
}
// One question that waits, and who is to answer it.
async function chosen(actor, op, pick = () => true) {
    if (actor.world.options.absent) return {};
    const by = actor.world.options.approver ? 'max' : actor.who, q = at((await actor.asked(actor.who, 'pending', by)).filter(pick), op.which);
    return q ? { q, voter: at(op.wrong ? ['ada', 'bob', 'root', 'bot', ...DECIDERS] : people(actor, q), op.voter) } : {};
}
const code = (r) => r.json?.error?.code;

export const perform = {
    async vote(actor, op) {
        const { q, voter } = await chosen(actor, op);
        if (!voter) return { status: 'nothing' };
        const one = () => actor.answer({ n: op.n, door: 'rest', yes: op.yes, read: {} }, q, voter);
        const [r] = await Promise.all([one(), ...(op.twice ? [one()] : [])]);
        return { ...r, id: q.id, voter };
    },
    // The last that somebody said yes to, as a rule: who gave it takes it back.
    async unvote(actor, op) {
        const { scene } = actor, given = [...scene.yes].flatMap(([id, all]) => all.map((y) => ({ id, y }))).slice(-20), v = at(given, op.which);
        if (!v) return { status: 'nothing' };
        const from = Date.now(), r = await actor.send('DELETE', `/v1/approvals/${v.id}/vote`, undefined, {}, v.y.who);
        if (r.status === 200) scene.takenBack.push({ id: v.id, who: v.y.who, from, to: Date.now() });
        return { status: r.status, note: code(r), id: v.id };
    },
    async grant(actor, op) {
        const { scene, world } = actor, { q, voter } = await chosen(actor, op, (x) => x.tool === 'refund');
        if (!voter) return { status: 'nothing' };
        const wish = typeof op.wish === 'object' ? { ...op.wish } : op.wish;
        scene.wishes.set(q.id, [...(scene.wishes.get(q.id) ?? []), { by: voter, wish, at: Date.now() }]);
        scene.sayYes(q, voter, op.n);
        const r = await actor.send('POST', `/v1/approvals/${q.id}`, { confirmed: true, grant: wish }, {}, voter);
        scene.saidYes(q.id, op.n);
        if (r.status === 200 && !wish?.scope) world.violation('grant', `a grant was given for ${JSON.stringify(wish)}`, { n: op.n, who: actor.who, thread: q.thread, key: 'no grant' });
        return { status: r.status, note: code(r), id: q.id, grant: r.json?.grant?.id };
    },
    async revoke(actor, op) {
        const { scene, who } = actor, list = (await actor.send('GET', '/v1/grants')).json?.grants ?? [], g = at(list.filter((x) => x.status === 'open'), op.which);
        if (!g) return { status: 'nothing' };
        const r = await actor.send('DELETE', `/v1/grants/${g.id}`);
        if (r.status === 200) scene.revoked.push({ id: g.id, who, at: Date.now() });
        return { status: r.status, id: g.id };
    },
    // A yes to something else: what may be edited, and what may not.
    async amend(actor, op) {
        const { scene, world } = actor, { q, voter } = await chosen(actor, op, (x) => ['refund', 'order'].includes(x.tool) && x.input && typeof x.input === 'object' && !Array.isArray(x.input));
        if (!voter) return { status: 'nothing' };
        const input = op.input === undefined ? { ...q.input, [op.member]: op.value } : JSON.parse(op.input);
        scene.sayYes(q, voter, op.n);
        scene.edits.push({ id: q.id, by: voter, tool: q.tool, input: canonical(input) });
        world.model.words.add(canonical(input));
        const r = await actor.send('POST', `/v1/approvals/${q.id}`, { confirmed: true, input }, {}, voter);
        scene.saidYes(q.id, op.n);
        const allowed = input === null       // none: a plain yes
            || (typeof input === 'object' && !Array.isArray(input) && editAllowed(q.input, input) && (q.tool === 'refund' || canonical(input) === canonical(q.input)));
        if (r.status === 200 && !r.json?.duplicate && !allowed) world.violation('edit', `${voter} could change ${op.member} of ${q.tool}, where only ${EDITABLE.join(', ')} may be: ${r.text.slice(0, 200)}`, { n: op.n, who: actor.who, thread: q.thread, key: op.member });
        return { status: r.status, note: code(r) ?? r.json?.status, id: q.id };
    },
    // A link is for one person, one question and one use; whoever has it is that person.
    async link(actor, op) {
        const { world } = actor, { q, voter } = await chosen(actor, op);
        if (!voter) return { status: 'nothing' };
        const made = await actor.send('POST', `/v1/approvals/${q.id}/links`, { for: voter }, {}, op.own ? voter : 'bot');
        if (made.status !== 201) return { status: made.status, note: code(made) };
        const path = spoiled(new URL(made.json.url).pathname, op.spoil), form = { headers: { 'content-type': 'application/x-www-form-urlencoded' } };
        if (op.look) await actor.send('GET', path, undefined, {}, null);
        if (op.yes && !op.spoil) actor.scene.sayYes(q, voter, op.n);
        const all = await Promise.all(Array.from({ length: op.uses }, () => actor.send('POST', path, `decision=${op.yes ? 'approve' : 'deny'}`, form, null)));
        actor.scene.saidYes(q.id, op.n);
        const used = all.filter((r) => r.status === 200).length;
        if (used > 1 || (used && op.spoil)) world.violation('link', `a link ${op.spoil ? 'that was changed' : ''} was taken ${used} times`, { n: op.n, who: actor.who, thread: q.thread, key: op.spoil ?? 'twice' });
        return { status: all[0].status, id: q.id, voter };
    },
    // Nobody hears of what is neither theirs nor for them to decide.
    async hear(actor, op) {
        const { scene, world } = actor, { options, version } = world, after = op.after === 'seen' ? scene.heard ?? '0' : op.after;
        const r = await actor.send('GET', `/v1/approvals/events${after ? `?after=${after}` : ''}`, undefined, { stay: op.stay }, op.ear);
        for (const { id, data } of events(r.text)) {
            if (id) scene.heard = id;
            const a = data.approval, mine = a && (options.open || !a.owner || a.owner === op.ear || (options.org && [0, 1].some((v) => mayHear(options, op.ear, a.owner, a.tool, a.input, version + v))));
            if (a && !mine) world.violation('foreign', `${op.ear} heard of a question of ${a.owner} that is not theirs: ${JSON.stringify(a).slice(0, 200)}`, { n: op.n, who: a.owner, thread: a.thread, key: 'event' });
        }
        return { status: r.status };
    },
};
function spoiled(path, how) {
    if (how === 'cut') return path.slice(0, -3);
    if (how === 'end') return path.slice(0, -1) + (path.endsWith('A') ? 'B' : 'A');
    return how === 'person' ? path.replace(/k\.(.)/, (_, x) => `k.${x === 'x' ? 'y' : 'x'}`) : path;
}

// All that waits is answered by those who may, as many as are needed.
export async function answerAll(actor, n, questions) {
    return Promise.all(questions.map(async (q) => {
        const need = levels(actor.world.options, q.tool, q.input)[0].count;
        const all = await Promise.all(people(actor, q).slice(0, need).map((p) => actor.answer({ n, door: 'rest', yes: true, read: {} }, q, p)));
        return { id: q.id, tool: q.tool, ...all[0] };
    }));
}
