// judge_proof.mjs -- the judge can find what he is to find: made-up logs, ledgers and people, each told once as it may be and
// once as it must not be. Nothing runs here; it is done in a moment, before anybody is tortured.
import { same } from '../lib/check.mjs';
import { Actor, Scene } from './actors.mjs';
import { perform as mcp } from './doors/mcp.mjs';
import { Judge } from './judge.mjs';
import { canonical } from './ledger.mjs';
import { perform as office } from './office.mjs';

const NOW = 1e12, S = 1000;
const args = (more) => JSON.stringify({ amount: 50, to: 'ann', who: 'ada', ...more });

// A world that is not there: `moved` is when the tools' addresses changed and fox lost a role.
class Tale {
    constructor(options = { org: 3 }) {
        const found = this.found = [], moved = this.moved = { at: Infinity };
        const world = this.world = { options, version: 0, starts: 1, restarts: 0, violation: (rule, text, more) => found.push(`${rule} ${more.key}`.trim()), versionAt: (ms) => (ms >= moved.at ? 1 : 0),
            ledger: { lines: [], of: (call) => world.ledger.lines.filter((l) => l.call === call) }, tools: { checked: new Map() }, model: { log: [], words: { has: () => true, add() {} }, spokenOf: () => 0, script() {}, spoken: new Map() } };
        Object.assign(this, { scene: new Scene(world), threads: [], facts: [], calls: 0 });
        this.judge = new Judge(world, this.scene);
    }
    thread(owner = 'ada') { this.threads.push({ id: this.threads.length + 1, owner, name: `t${this.threads.length + 1}` }); this.add('message', { run: 'r', id: 'u' }, NOW); return this; }
    add(kind, body, at_ms, thread = this.threads.length) { this.facts.push({ place: this.facts.length + 1, thread, seq: this.facts.filter((f) => f.thread === thread).length + 1, kind, at_ms, body: JSON.stringify(body) }); }
    // A step of a hundred tokens that only says something.
    say(thread = this.threads.length) { this.add('step', { run: 'r', parts: [], input_tokens: 60, output_tokens: 40 }, NOW + S, thread); return this; }
    // A call that is asked about at NOW.
    call(tool, text, asked = true) {
        const call = this.last = `call-${++this.calls}`;
        this.text = text;
        this.tool = tool;
        this.add('step', { run: 'r', parts: [{ type: 'call', call, tool, text, gate: 'ask', complete: true }], input_tokens: 60, output_tokens: 40 }, NOW);
        if (asked) this.add('asked', { call, id: `confirmation-${call}` }, NOW);
        return this;
    }
    yes(who, at = NOW + 10) { const id = `confirmation-${this.last}`; this.scene.sayYes({ id, input: JSON.parse(this.text) }, who, 1); Object.assign(this.scene.yes.get(id).at(-1), { from: at, to: at + 5 }); return this; }
    back(who, at) { this.scene.takenBack.push({ id: `confirmation-${this.last}`, who, from: at, to: at + 5 }); return this; }
    decided(by, at = NOW + S, more = {}) { this.add('decided', { call: this.last, id: `confirmation-${this.last}`, outcome: 'approved', by, via: 'rest', ...more }, at); return this.ran(at); }
    ran(at = NOW + S, outcome = 'done') {
        this.add('started', { call: this.last }, at);
        if (outcome) this.add('finished', { call: this.last, outcome }, at + 50);
        return this.did(at);
    }
    did(at = NOW + S) { this.world.ledger.lines.push({ kind: this.tool === 'reserve' ? 'exec' : 'http', tool: this.tool, call: this.last, raw: this.text, args: JSON.parse(this.text), at, version: undefined }); this.judge.effect(this.world.ledger.lines.at(-1)); return this; }
    // The grant that was given with the last call; a call by it.
    grant(wish, by = 'fay') { this.scene.wishes.set(`confirmation-${this.last}`, [{ by, wish, at: NOW }]); this.yes(by); return this.decided(by, NOW + S, { grant: 'g' }); }
    uses(text, at = NOW + 2 * S) { this.call('refund', text, false); this.add('decided', { call: this.last, outcome: 'approved', by: 'fay', via: 'grant', grant: 'g' }, at); return this.ran(at); }
    judged() { this.judge.read({ check: ['ok'], thread: this.threads, fact: this.facts, approval: [] }); return [...new Set(this.found)]; }
}
const of = (tool, text = args(), owner) => new Tale().thread(owner).call(tool, text);
const refund = (wish) => of('refund').grant(wish);
const BIG = args({ amount: 500 });

// A run that was under way when the server was stopped, if `restarted`, and how it ended.
function ended(code, restarted) {
    const t = new Tale().thread();
    if (restarted) t.judged();
    t.add('ended', { run: 'r', outcome: 'error', code }, NOW + S);
    return t;
}

const TALES = {
    'what was left behind is told that the model is busy': [() => ended('model_busy', true), ['left model_busy']],
    'whoever is there is told that the model is busy': [() => ended('model_busy', false), []],
    'what was left behind fails for another reason': [() => ended('model_auth', true), []],
    'two of finance said yes': [() => of('pay', BIG).yes('fay').yes('fin').decided('fin'), []],
    'one of two': [() => of('pay', BIG).yes('fay').decided('fay'), ['votes pay rest']],
    'a yes that was taken back': [() => of('pay', BIG).yes('fay').back('fay', NOW + 100).yes('fin', NOW + 200).decided('fin'), ['votes pay rest']],
    'taken back and given again': [() => of('pay', BIG).yes('fay').back('fay', NOW + 100).yes('fay', NOW + 150).yes('fin', NOW + 200).decided('fin'), []],
    'whoever asked for it': [() => of('pay', BIG, 'cyd').yes('cyd').yes('fin').decided('fin'), ['votes pay rest']],
    'the chief, too early': [() => of('pay', BIG).yes('cleo').decided('cleo', NOW + S), ['votes pay rest']],
    'the chief, in time': [() => of('pay', BIG).yes('cleo').decided('cleo', NOW + 4 * S), []],
    'somebody who lost the role since': [() => { const t = of('pay', BIG).yes('fox').yes('fay', NOW + 500); t.moved.at = NOW + 400; return t.decided('fay'); }, ['votes pay rest']],
    'the owner, where finance decides': [() => of('wire_money').yes('ada').decided('ada'), ['foreign rest', 'guard nobody who may']],
    'a yes nobody gave': [() => of('wire_money').decided('fay'), ['guard http', 'foreign invented', 'guard nobody who may']],
    'within a grant': [() => refund({ scope: 'me', count: 2, max: '100' }).uses(args()), []],
    'more calls than a grant has': [() => refund({ scope: 'me', count: 2 }).uses(args()).uses(args()), ['grant count']],
    'a larger sum than a grant has': [() => refund({ scope: 'me', max: '99.5' }).uses(args()), ['grant sum']],
    'what failed is given back': [() => { const t = refund({ scope: 'me', count: 2 }); t.call('refund', args({ how: 'error' }), false); t.add('decided', { call: t.last, outcome: 'approved', by: 'fay', via: 'grant', grant: 'g' }, NOW + S); return t.ran(NOW + S, 'failed').uses(args()); }, []],
    'a grant in another conversation': [() => refund({ scope: 'thread' }).thread().uses(args()), ['grant thread']],
    'a grant for another person': [() => refund({ scope: 'me' }).thread('bob').uses(args()), ['grant same']],
    'a grant for another recipient': [() => refund({ scope: 'me' }).uses(args({ to: 'bo' })), ['grant same']],
    'a grant after its time': [() => refund({ scope: 'me', for: 1 }).uses(args(), NOW + 9 * S), ['grant time']],
    'a revoked grant': [() => { const t = refund({ scope: 'me' }); t.scene.revoked.push({ id: 'g', at: NOW + 1500 }); return t.uses(args()); }, ['grant revoked']],
    'a grant for what the tool was': [() => { const t = refund({ scope: 'me' }); t.moved.at = NOW + 1500; return t.uses(args()); }, ['grant moved']],
    'a grant of somebody who lost the role': [() => { const t = of('refund').grant({ scope: 'me' }, 'fox'); t.moved.at = NOW + 1500; return t.uses(args()); }, ['grant moved', 'grant role']],
    'a grant nobody gave': [() => of('refund').yes('fay').decided('fay', NOW + S, { grant: 'g' }), ['grant invented']],
    'the same deed twice': [() => of('order', args({ item: 'a' }), 'ada').ran().call('order', args({ item: ' a\u200b' }), false).ran(), ['guard asked', 'effect order']],
    'the same deed after the first was refused': [() => of('order', args({ item: 'a', how: 'refuse' })).yes('ada').decided('ada').call('order', args({ item: 'a' }), false).ran(), []],
    'the same seat for another person': [() => new Tale().thread().call('reserve', args({ item: 'a' }), false).ran().thread('bob').call('reserve', args({ item: 'a', who: 'bob' }), false).ran(), []],
    'a duplicate that happened': [() => { const t = of('order', args({ item: 'a' })).yes('ada'); t.add('decided', { call: t.last, id: `confirmation-${t.last}`, outcome: 'approved', by: 'ada', via: 'rest' }, NOW + S); return t.ran(NOW + S, 'duplicate'); }, ['outcome http ok duplicate']],
    'an edit': [() => edited('fay', args({ amount: 49 })), []],
    'an edit of somebody else': [() => edited('bob', args({ amount: 49 })), ['edit alone']],
    'an edit nobody made': [() => edited('fay', args({ amount: 48 })), ['guard http', 'edit invented', 'guard nobody who may']],
    'a call that was edited and ran all the same': [() => { const t = edited('fay', args({ amount: 49 })); t.last = 'call-1'; t.text = args(); t.add('finished', { call: 'call-1', outcome: 'done' }, NOW + S); return t.did(); }, ['guard http', 'outcome http ok done']],
    'settled as the check said': [() => unknown(true, 'done'), []],
    'settled otherwise than the check said': [() => unknown(false, 'done'), ['check done']],
    'a check that is asked for ever': [() => { const t = unknown(true, 'done'); t.world.tools.checked.set(t.last, [true, ...Array(9).fill('unknown')]); return t; }, ['check tries']],
    'beyond a budget': [() => spent(250, (t) => t.thread().say()), ['budget']],
    'beyond a budget, in the same run': [() => spent(250, (t) => t.say()), ['budget']],
    'below a budget': [() => spent(350, (t) => t.thread().say()), []],
    'a step that began below its budget': [() => { const t = new Tale({ budget: { hard: 250 } }).thread().thread(); for (const of of [1, 1, 1, 2]) t.say(of); return t; }, []],
    'the budget of somebody else': [() => spent(250, (t) => t.thread('bob').say()), []],
    'a copy costs nothing': [() => { const t = new Tale({ budget: { hard: 250 } }).thread().say().say().thread(); t.say().say().add('forked', {}, NOW); t.add('message', { run: 'r', id: 'u' }, NOW); return t.say(); }, []],
    'the model is asked at rest, and it comes to something': [() => asked(9, 2), []],
    'the model is asked at rest for nothing': [() => asked(9, 0), ['rest model']],
};
// `by` changed what call-1 asks, to 49; the log has it as `text`.
function edited(by, text) {
    const t = of('refund').yes(by);
    t.scene.edits.push({ id: 'confirmation-call-1', by, tool: 'refund', input: canonical(JSON.parse(args({ amount: 49 }))) });
    t.add('decided', { call: 'call-1', id: 'confirmation-call-1', outcome: 'replaced', by, via: 'rest' }, NOW);
    Object.assign(t, { last: 'call-2', text });
    t.add('proposed', { call: 'call-2', of: 'call-1', by, parts: [{ type: 'call', call: 'call-2', tool: 'refund', text, gate: 'ask', complete: true }] }, NOW);
    t.add('decided', { call: 'call-2', outcome: 'approved', by, via: 'rest' }, NOW);
    return t.ran(NOW);
}
// Three steps of ada's, then what comes after.
const spent = (hard, then) => then(new Tale({ budget: { hard } }).thread().say().say().say());
// At rest, `times` requests for a message of which so many steps came.
function asked(times, steps) {
    const t = new Tale().thread();
    t.add('message', { run: 's', id: 'v', text: 'Please. [op 7]' }, NOW);
    t.judge.calm = { from: 1, at: NOW };
    t.world.model.log.push(...Array.from({ length: times + 1 }, () => ({ n: 7 })));
    for (let i = 0; i < steps; i++) t.say();
    return t;
}
function unknown(said, outcome) {
    const t = of('order', args({ item: 'a' })).yes('ada');
    t.add('decided', { call: t.last, id: `confirmation-${t.last}`, outcome: 'approved', by: 'ada', via: 'rest' }, NOW + S);
    t.ran(NOW + S, 'unknown').add('settled', { call: t.last, outcome, by: 'check', via: 'check' }, NOW + S);
    t.world.tools.checked.set(t.last, [said]);
    return t;
}

// What is seen at the door itself: a server that answers so.
async function answered(op, perform, answers) {
    const t = new Tale(), q = { id: 'confirmation-call-1', tool: 'refund', thread: 't1', input: { amount: 50, to: 'ann' } };
    const actor = { world: t.world, scene: t.scene, who: 'ada', asked: async () => [q], send: async (method, path) => ({ headers: {}, text: '', ...answers(method, path) }) };
    for (const o of [op].flat()) await perform(actor, { n: 1, which: 0, voter: 0.5, ...o });
    return [...new Set(t.found)];
}
const OK = () => ({ status: 200, json: {} });
const LINK = (method, path) => (path.endsWith('/links') ? { status: 201, json: { url: 'http://x/a/k.abcdef.gh' } } : OK());
const heard = (owner, tool = 'note', input = {}) => () => ({ status: 200, text: `id: 1\ndata: ${JSON.stringify({ approval: { owner, tool, input } })}\n\n` });
const told = (...calls) => (_, path) => (path === '/mcp' ? { status: 200, json: { result: { _meta: { 'parley/call': calls.length > 1 ? calls.shift() : calls[0] } } } } : OK());
const CALL = { era: 'modern', can: 'none', tool: 'note', args: args(), answer: 'nothing', request: 1, end: 'leave' };
// A server at rest that has so many MiB, whenever one looks.
async function holds(...mib) {
    const t = new Tale();
    t.world.up = true;
    await t.judge.held(() => (mib.length > 1 ? mib.shift() : mib[0]) * 1048576, mib.length > 1 ? Infinity : 0);
    return t.found;
}
// A stranger where nobody signs in, at this door, and what they are told there.
async function tries(door, answers) {
    const t = new Tale({ open: true }), q = { id: 'confirmation-x', thread: 't', tool: 'pay', tool_use_id: 'x', input: {} };
    const actor = Object.assign(new Actor(t.world, t.scene, 'local'), { asked: async () => [q], send: async (method, path) => ({ headers: {}, text: '', ...answers(method, path) }) });
    await actor.foreign({ n: 1, door, whose: 'ada', which: 0 });
    return t.found;
}
const NEEDED = () => ({ status: 403, json: { error: { code: 'token_needed' } } });

const ANSWERED = {
    'a stranger has a link made': [() => tries('links', LINK), ['foreign links']],
    'a stranger decides': [() => tries('rest', OK), ['foreign rest']],
    'a stranger is refused': [async () => [...await tries('links', NEEDED), ...await tries('rest', NEEDED)], []],
    'a stranger looks': [() => tries('look', OK), []],
    'a link that is taken twice': [() => answered({ yes: true, uses: 2 }, office.link, LINK), ['link twice']],
    'a link that was changed': [() => answered({ yes: true, uses: 1, spoil: 'cut' }, office.link, LINK), ['link cut']],
    'an edit of what may not be': [() => answered({ member: 'to', value: 'cy' }, office.amend, OK), ['edit to']],
    'an edit of what may be': [() => answered({ member: 'amount', value: 5 }, office.amend, OK), []],
    'a grant that is none': [() => answered({ wish: 'yes' }, office.grant, OK), ['grant no grant']],
    'a question of somebody else is heard': [() => answered({ ear: 'ada', after: '' }, office.hear, heard('bob')), ['foreign event']],
    'a small payment is none of the chief\'s': [() => answered({ ear: 'cleo', after: '' }, office.hear, heard('bob', 'pay', { amount: 50 })), ['foreign event']],
    'a payment whose amount is spelled twice may be': [() => answered({ ear: 'cleo', after: '' }, office.hear, heard('bob', 'pay', { amount: 50, AMOUNT: 1 })), []],
    'one\'s own question is heard': [() => answered({ ear: 'ada', after: '' }, office.hear, heard('ada')), []],
    'a named request that is two calls': [() => answered([CALL, CALL], mcp.mcp, told('x', 'x', 'y')), ['duplicate mcp']],
    'memory that is given back': [() => holds(400, 90), []],
    'memory that is held': [() => holds(400), ['memory at rest']],
    'a named request': [() => answered([CALL, CALL], mcp.mcp, told('x')), []],
};

export async function prove() {
    for (const [name, [tale, want]] of Object.entries(TALES)) same(tale().judged().sort(), [...want].sort(), name);
    for (const [name, [done, want]] of Object.entries(ANSWERED)) same(await done(), want, name);
    return Object.keys(TALES).length + Object.keys(ANSWERED).length;
}
