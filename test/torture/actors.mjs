// actors.mjs -- the people in front: what one of them does next, as data (draw), and doing it (perform).
//
// An operation is {n, who, at, op, ...}: number, actor, milliseconds since the beginning, name, arguments. It carries all
// that was drawn, the model's answers and the tools' behaviour included. What can only be known when it is done (which
// question waits, which run answered) is drawn as a share in [0, 1) of the list found then.
import { at, few, swarm } from './chance.mjs';
import { Deaf, Socket, events, send } from './client.mjs';
import * as adk from './doors/adk.mjs';
import * as agui from './doors/agui.mjs';
import * as mcp from './doors/mcp.mjs';
import * as openai from './doors/openai.mjs';
import { THREADS, reading, words } from './habits.mjs';
import { canonical } from './ledger.mjs';
import * as office from './office.mjs';
import { concerns } from './organisation.mjs';
import * as speech from './speech.mjs';
import { ANSWERS, OWNERS, memory, ownersOf, patience } from './world.mjs';

const ACK_MS = 4000;
const LASTS = 8, SLOW_MAX = 4;        // tenths of a second that a level lasts; a slow machine takes so much longer at most
const HURRIED_MAX = 12;               // questions that one person answers at once
const DEAF_MAX = 96 * 1024, DEAF_ROOM = 64 * 1048576;          // what a reader that takes nothing may cost beside limits.answers, and what others and the sanitizer's quarantine do meanwhile
const STEADY = ['pay', 'wire_money', 'loose', '2fast', 'either', 'locate', 'bank__pay', 'shop__buy', 'fair__buy'];       // tools whose definition never changes
const FILES = [['image/png', 'data:image/png;base64,iVBORw0KGgo='], ['image/gif', 'data:image/gif;base64,R0lGODlhAQABAAAAACw='], ['image/svg+xml', 'data:image/svg+xml;base64,PHN2Zy8+'],
    ['application/zip', 'data:application/zip;base64,UEsDBA=='], ['image/png', 'blob:http://x/1'], ['image/png', 'data:image/png;base64,%%%'], ['text/plain', 'data:text/plain,hello'], ['image/jpeg', 'https://example.org/a.jpg'], ['', 'x']];
const BAD = ['{', '', 'null', '[]', '"x"', '{"type":7}', '{"type":"message"}', '{"type":"message","text":7}', '{"type":"approval"}', '{"type":"tool_result"}', '{"type":"resume","after":"x"}', '{"type":"dance"}', '{"type":"message","messages":[]}', '\u0000', 'x'.repeat(70000)];

const ELSEWHERE = [office, openai, agui, adk, mcp];          // what has a file of its own

// --- drawing -------------------------------------------------------------------------------------------

const OPS = {
    say: 30, edit: 4, regenerate: 5, again: 5, decide: 18, foreign: 3, result: 6, claim: 2, settle: 3, stop: 4, remove: 3, rename: 1, look: 6, follow: 4, resume: 3, live: 10, chatws: 3, action: 4,
    silent: 0.5, garbage: 1, readers: 0.15, ...Object.assign({}, ...ELSEWHERE.map((x) => x.OPS)),
};

const DRAW = {
    say(c, who, t) {
        const o = { door: c.weighted({ chat: 7, stream: 4, typed: 7, fn: 2, live: 4 }), thread: few(c, THREADS - 1, 12), ...words(c, who, t), read: reading(c) };
        if (c.maybe(0.12)) o.thread = 'new';
        if (c.maybe(0.3)) o.request = c.maybe(0.3) ? c.int(5) : -1;          // one of a few, or its own
        if (c.maybe(0.6)) o.busy = c.pick(['queue', 'interrupt']);
        if (c.maybe(0.08)) o.files = c.int(FILES.length);
        return o;
    },
    edit: (c, who, t) => ({ door: c.pick(['chat', 'stream']), thread: c.int(THREADS), which: c.share(), named: c.maybe(0.7), ...words(c, who, t), read: reading(c) }),
    regenerate: (c, who, t) => ({ door: c.pick(['chat', 'stream']), thread: c.int(THREADS), which: c.maybe(0.3) ? c.share() : null, repeat: c.maybe(0.6), script: speech.draw(c, t, who), read: reading(c) }),
    again: (c) => ({ which: c.maybe(0.7) ? 0.999999 : c.share(), read: reading(c) }),
    decide: (c) => ({ door: c.weighted({ rest: 6, typed: 2, fn: 1, actions: 2, chat: 3, stream: 2, live: 3 }), which: c.share(), yes: c.maybe(0.75), ...(c.maybe(0.15) && { twice: c.pick(['rest', 'live', 'other']) }), read: reading(c),
        ...(c.maybe(0.05) && { odd: c.pick(['true', 1, null, 'args', 'payload']) }) }),
    foreign: (c) => ({ door: c.pick(['rest', 'rest', 'typed', 'chat', 'live', 'settle', 'result', 'stop', 'look', 'links', 'links', 'share', 'claim', 'agui', 'adk', 'responses']), whose: c.pick(OWNERS), which: c.share() }),
    result: (c) => ({ door: c.pick(['rest', 'rest', 'live', 'chat']), which: c.share(), value: c.pick([{ ok: true }, null, 'x', 5, [], 'x'.repeat(50000)]), ...(c.maybe(0.2) && { error: 'no' }), ...(c.maybe(0.2) && { twice: true }) }),
    claim: (c) => ({ which: c.share(), client: c.pick(['tab-1', 'tab-2', '']) }),
    settle: (c) => ({ which: c.share(), outcome: c.pick(['done', 'not_done', 'perhaps']), ...(c.maybe(0.3) && { result: { by: 'hand' } }) }),
    stop: (c) => ({ thread: c.int(THREADS + 2) }),
    remove: (c) => ({ thread: c.int(THREADS + 2), ...(c.maybe(0.4) && { burst: c.between(1, 3) }) }),
    rename: (c) => ({ thread: c.int(THREADS + 2), title: c.pick(['A title', '', 'é'.repeat(50), 'x'.repeat(5000)]) }),
    look: (c) => ({ what: c.pick(['thread', 'thread', 'adk', 'threads', 'search', 'approvals', 'pending', 'tools', 'approval', 'metrics', 'bogus']), thread: c.int(THREADS + 2), which: c.share(), read: reading(c) }),
    follow: (c) => ({ thread: c.int(THREADS + 2), after: c.pick(['0.0', 'seen', 'seen', 'seen', '1.5', '999999.0', '3.99999', 'x']), which: c.share(), read: c.maybe(0.5) ? reading(c) : { stay: c.pick([100, 1000, 3000]) } }),
    resume: (c) => ({ door: c.pick(['chat', 'stream']), thread: c.int(THREADS), read: reading(c) }),
    action: (c, who, t) => ({ door: c.pick(['typed', 'actions', 'fn']), thread: c.maybe(0.2) ? 'new' : c.int(THREADS), action: c.pick(['transfer', 'wire', 'draw', 'nothing']), data: speech.soundArgs(c, t, 'pay', who), request: c.maybe(0.3) ? c.int(5) : -1, busy: c.pick(['queue', 'interrupt']), read: reading(c),
        ...(c.maybe(0.2) && { data: c.pick(['null', '[]', '5000', '"x"', '{"amount":50,"Amount":5000}', '{"amount":"5000"}']) }) }),
    live(c, who, t) {
        const frames = Array.from({ length: 1 + few(c, 4, 10) }, () => frameOf(c, who, t));
        return { thread: c.maybe(0.1) ? 'new' : c.maybe(0.1) ? 'gone' : c.int(THREADS), protocol: c.pick(['', 'parley.sse.v1', 'parley.json.v1']), form: c.pick(['', 'native', 'adk']), auth: c.pick(['header', 'header', 'header', 'message', 'none']), frames, ...(c.maybe(0.3) && { early: true }), ...(c.maybe(0.1) && { deaf: true }),
            stay: c.pick([0, 20, 200, 1000]), end: c.pick(['drop', 'drop', 'bye']) };
    },
    chatws: (c, who, t) => ({ thread: c.int(THREADS), sends: Array.from({ length: c.between(1, 3) }, () => (c.maybe(0.7) ? words(c, who, t) : { what: c.pick(['resume', 'abort', 'bad']) })), stay: c.pick([20, 300, 1500]), end: c.pick(['drop', 'bye']) }),
    silent: (c) => ({ count: c.pick([5, 20, 60]), stay: c.pick([100, 1500]), half: c.maybe(0.5) }),
    readers: (c) => ({ count: c.pick([150, 300]), size: 1000000, stay: 4000 }),
    garbage: (c) => ({ what: c.pick(['body', 'path', 'method', 'head', 'chunk', 'nokey', 'badkey', 'type']) }),
    ...Object.assign({}, ...ELSEWHERE.map((x) => x.draw)),
};
const PERFORM = Object.assign({}, ...ELSEWHERE.map((x) => x.perform));

function frameOf(c, who, t) {
    const f = c.weighted({ message: 5, approval: 4, tool_result: 2, claim: 1, interrupt: 1, resume: 2, ping: 0.5, bad: 3, binary: 0.2, huge: 0.1, chat: 1 });
    if (f === 'message' || f === 'chat') return { f, ...words(c, who, t), ...(c.maybe(0.2) && { request: c.int(5) }) };
    if (f === 'approval' || f === 'tool_result') return { f, which: c.share(), yes: c.maybe(0.8), client: c.maybe(0.3) };
    if (f === 'resume') return { f, after: c.pick(['0.0', 'seen', '2.3', '99999.1', 'x']), which: c.share() };
    if (f === 'bad') return { f, text: c.pick(BAD) };
    return { f, which: c.share() };
}

// What this round likes to do: the same for all actors of a seed.
export const tables = (c) => ({ ...speech.tables(c), ops: swarm(c, OPS, ['say', 'decide']) });

export function draw(c, who, t) {
    const op = c.weighted(t.ops);
    return { op, ...DRAW[op](c, who, t) };
}

// An eye on one thread: typed events, cut and taken up again where it was.
export const watch = (c) => ({ op: 'watch', thread: c.int(THREADS), looks: Array.from({ length: c.between(2, 6) }, () => ({ ms: c.pick([30, 200, 700, 1500]), gap: c.pick([0, 0, 100, 500]) })) });

// Somebody who has no say in anything and tries.
export const stranger = (c) => ({ op: 'foreign', ...DRAW.foreign(c) });

// --- what the people remember -----------------------------------------------------------------------------

export class Scene {
    constructor(world) {
        Object.assign(this, { world, said: new Map(), posts: new Map(), yes: new Map(), answered: new Map(), acks: [], removed: new Map(), cursors: new Map(), edited: new Set(), anew: [], rewritten: [], repeated: new Set(), opThread: new Map(), pending: {}, damaged: new Set(), takenBack: [], wishes: new Map(), edits: [], revoked: [], notDone: new Set(), responses: new Map(), chats: new Map(), named: new Map() });
        this.threads = Object.fromEntries(ownersOf(world.options).map((who) => [who, Array.from({ length: THREADS }, (_, i) => `${who}-${i}`)]));
    }
    thread(who, index) { const l = this.threads[who]; return l[index % l.length]; }
    met(who, id) { if (id && !this.threads[who].includes(id)) this.threads[who].push(id); }
    ack(a) { this.acks.push({ ...a, at: Date.now(), start: this.world.starts }); }
    // Somebody asked for its removal after `since`, or its log was damaged: what was in it may be gone.
    gone(who, thread, since) { return this.damaged.has(`${who}/${thread}`) || (this.removed.get(`${who}/${thread}`) ?? []).some((t) => t >= since - 15000); }
    sayYes(q, who, n) {
        if (!this.yes.has(q.id)) this.yes.set(q.id, []);
        this.yes.get(q.id).push({ who, n, ask: q.ask ?? '', from: Date.now(), to: Infinity });
        this.answered.set(q.id, { who, raw: canonical(q.input), ask: q.ask ?? '', asked: Date.parse(q.requested_at) });
    }
    // The server has answered to it.
    saidYes(id, n) { for (const y of this.yes.get(id) ?? []) if (y.n === n) y.to = Math.min(y.to, Date.now()); }
    // May this person have a say in such a call of that owner?
    mayDecide(who, owner, tool, args) { return [0, 1].some((v) => concerns(this.world.options, who, owner, tool, args, v)); }
    see(who, thread, text) {
        const ids = [...text.matchAll(/^id: (\d+\.\d+)$|"id":"(\d+\.\d+)"/gm)].map((m) => m[1] ?? m[2]);
        if (ids.length) this.cursors.set(`${who}/${thread}`, [...(this.cursors.get(`${who}/${thread}`) ?? []), ...ids].slice(-200));
    }
    cursor(who, thread, after, which) { return after === 'seen' ? at(this.cursors.get(`${who}/${thread}`) ?? ['0.0'], which) ?? '0.0' : after; }
}

// --- performing ------------------------------------------------------------------------------------------------

const DOOR = { chat: '/api/chat', stream: '/stream', typed: '/v1/chat/stream', fn: '/functions/v1/chat' };

export class Actor {
    constructor(world, scene, who) { Object.assign(this, { world, scene, who }); }
    send(method, path, body, how, as = this.who) { return send(this.world, as, method, path, body, how); }
    async perform(op) { return PERFORM[op.op] ? PERFORM[op.op](this, op) : this[op.op](op); }

    // A message's text names its operation: the model finds its answers by it.
    text(op, o = op) { return `${o.text ?? 'Please.'} [op ${op.n}]`; }
    request(op, o = op) { return o.request === undefined ? undefined : o.request < 0 ? `r-${op.n}` : `r-${this.who}-${o.request}`; }
    parts(op, o = op) { return [{ type: 'text', text: this.text(op, o) }, ...(o.files === undefined ? [] : [{ type: 'file', mediaType: FILES[o.files][0], url: FILES[o.files][1] }])]; }

    // Sends what begins a run, and remembers what was acknowledged. more: {headers, same(answer): is it the same run when it is sent again, unlisted: its conversations are not listed at once, as: who sends it}
    async deliver(op, path, body, thread, more = {}) {
        const request = body.request_id, at = Date.now(), as = more.as ?? this.who, who = this.world.options.open ? this.who : as;          // where nobody signs in, all is one person's
        const r = await this.send('POST', path, body, { ...op.read, ...(more.headers && { headers: more.headers }) }, as);
        const id = r.headers['parley-thread'] ?? thread;
        if (r.status === 200 && id) { this.scene.met(who, id); this.scene.see(who, id, r.text); }
        if (r.status === 200 && r.headers['parley-run']) this.scene.ack({ kind: 'run', n: op.n, who, thread: id, run: r.headers['parley-run'], request, since: at, ...(more.unlisted && { unlisted: true }) });
        if ([422, 429, 503].includes(r.status) && thread) this.exists(op, thread, (await this.send('GET', `/v1/threads/${thread}`)).status, 'after a refusal');
        const posts = this.scene.posts.get(who) ?? [];
        if (!more.again) this.scene.posts.set(who, [...posts, { n: op.n, path, body, thread: id, run: r.headers['parley-run'], at, ...more, same: more.same?.(r) }].slice(-40));
        return r;
    }
    summary(r, thread) { return { status: r.status, run: r.headers['parley-run'], thread: r.headers['parley-thread'] ?? thread, note: r.headers['parley-error'] ?? r.json?.error?.code }; }
    async post(op, path, body, thread, more) { return this.summary(await this.deliver(op, path, body, thread, more), thread); }
    async say(op) {
        const { scene, world, who } = this;
        world.model.script(op.n, op.script);
        if (op.door === 'live') return this.live({ ...op, form: '', protocol: 'parley.sse.v1', auth: 'header', frames: [{ f: 'message', text: op.text, page: op.page, script: [] }], stay: op.read.stay ?? 1500, end: 'drop' });
        const ai = op.door === 'chat' || op.door === 'stream';
        const thread = op.thread === 'new' || (world.options.absent && op.n % 2) ? (ai ? `${who}-n${op.n}` : undefined) : scene.thread(who, op.thread);
        scene.opThread.set(op.n, { who, thread });
        const more = { ...(op.page && { page: op.page }), ...(this.request(op) && { request_id: this.request(op) }) };
        if (!ai) return this.post(op, DOOR[op.door], { message: this.text(op), ...(thread && { thread_id: thread }), ...(op.busy && { when_busy: op.busy }), ...more }, thread);
        const id = `u-${op.n}`, key = `${who}/${thread}`;
        scene.said.set(key, [...(scene.said.get(key) ?? []), { id, n: op.n }].slice(-30));
        return this.post(op, DOOR[op.door], { id: thread, messages: [{ id, role: 'user', parts: this.parts(op) }], trigger: 'submit-message', ...more }, thread, { message: id });
    }
    async edit(op) {
        const { scene, who } = this, thread = scene.thread(who, op.thread), old = at(scene.said.get(`${who}/${thread}`) ?? [], op.which);
        if (!old) return { status: 'nothing' };
        this.world.model.script(op.n, op.script);
        scene.opThread.set(op.n, { who, thread });
        scene.edited.add(`${who}/${thread}/${old.id}`);
        scene.rewritten.push({ key: `${who}/${thread}`, at: Date.now() });
        return this.post(op, DOOR[op.door], { id: thread, messages: [{ id: old.id, role: 'user', parts: this.parts(op) }], trigger: 'submit-message', ...(op.named && { messageId: old.id }), ...(op.page && { page: op.page }) }, thread, { edit: true });
    }
    async regenerate(op) {
        const { scene, who, world } = this, thread = scene.thread(who, op.thread), said = scene.said.get(`${who}/${thread}`) ?? [];
        const old = said.at(-1), begun = { key: `${who}/${thread}`, from: Date.now(), to: Infinity };
        scene.anew.push(begun);         // and whatever is said meanwhile may be what it answers
        // the last one there is: not one that was refused, or cut off before it was there
        const there = said.findLastIndex((m) => (scene.posts.get(who) ?? []).some((p) => p.n === m.n && p.run));
        for (const m of op.which === null ? said.slice(Math.max(there, 0)) : said) scene.edited.add(`${who}/${thread}/${m.id}`);       // another run answers it from now on
        if (old) world.model.script(old.n, op.repeat ? world.model.heard(old.n) : op.script);
        const body = { id: thread, messages: old ? [{ id: old.id, role: 'user', parts: [{ type: 'text', text: 'again' }] }] : [], trigger: 'regenerate-message' };
        if (op.which !== null) {
            const t = await this.send('GET', `/v1/threads/${thread}`);
            const m = at((t.json?.messages ?? []).filter((x) => x.role === 'assistant'), op.which);
            if (m) body.messageId = m.id;
        }
        try { return await this.post(op, DOOR[op.door], body, thread, { edit: true }); } finally { begun.to = Date.now(); }
    }
    // The same POST once more: a network that delivers twice.
    async again(op) {
        const { scene, who } = this, p = at(scene.posts.get(who) ?? [], op.which);
        if (!p) return { status: 'nothing' };
        scene.repeated.add(p.n);
        if (p.edit) scene.rewritten.push({ key: `${who}/${p.thread}`, at: Date.now() });
        if (p.edit) for (const m of scene.said.get(`${who}/${p.thread}`) ?? []) scene.edited.add(`${who}/${p.thread}/${m.id}`);       // whatever is the last by now is answered anew
        const r = await this.post(op, p.path, p.body, p.thread, { again: true, headers: p.headers, unlisted: p.unlisted });
        const anew = scene.anew.some((a) => a.key === `${who}/${p.thread}` && a.from <= p.at && p.at <= a.to);
        const replaced = scene.anew.some((a) => a.key === `${who}/${p.thread}` && a.to >= p.at)          // another run answers it by now
            || scene.rewritten.some((a) => a.key === `${who}/${p.thread}` && a.at >= p.at);
        const later = [...scene.opThread].some(([n, o]) => n !== p.n && o.who === who && o.thread === p.thread);     // AG-UI then shows what goes on now
        const same = (p.same && !replaced && !later) || p.body.request_id || (p.message && !p.edit && !anew && !scene.edited.has(`${who}/${p.thread}/${p.message}`));
        if (same && p.run && r.run && r.run !== p.run && !scene.gone(who, p.thread, p.at))
            this.world.violation('duplicate', `the POST of operation ${p.n} delivered again began another run: ${p.run}, ${r.run}`, { n: op.n, who, thread: p.thread, key: p.path });
        return r;
    }
    async action(op) {
        const { scene, who } = this, thread = op.thread === 'new' ? undefined : scene.thread(who, op.thread);
        let data;
        try { data = JSON.parse(op.data); } catch { data = op.data; }
        const raw = (o) => JSON.stringify(o).replace('"@data"', op.data);
        scene.opThread.set(op.n, { who, thread });
        this.world.model.words.add(canonical(data));
        if (op.door === 'actions') {
            if (!thread) return { status: 'nothing' };
            const r = await this.send('POST', `/v1/threads/${thread}/actions`, raw({ action: op.action, data: '@data', request_id: `r-${op.n}` }));
            if (r.status === 202) scene.ack({ kind: 'run', n: op.n, who, thread, run: r.json?.run_id, since: Date.now() });
            return { status: r.status, note: r.json?.error?.code };
        }
        const body = { action: { action: op.action, data }, ...(thread && { thread_id: thread }), request_id: this.request(op), when_busy: op.busy };
        return this.post(op, DOOR[op.door], body, thread);
    }

    // --- answers ------------------------------------------------------------------------------------------

    async asked(owner, status = 'pending', as = owner) {
        const r = await this.send('GET', `/v1/approvals?status=${status}`, undefined, { stay: 3000 }, as);
        const list = (r.json?.approvals ?? []).filter((a) => (a.owner ?? owner) === owner);
        if (status === 'pending') this.scene.pending[owner] = list;
        return list;
    }
    async decide(op) {
        if (this.world.options.absent) return { status: 'nobody there' };          // questions pile up until a restart: hurry()
        const he = this.world.options.approver && !op.own ? 'max' : this.who, q = at(await this.asked(this.who, 'pending', he), op.which);
        if (!q) return { status: 'nothing' };
        const right = office.people(this, q), by = this.world.options.org && !right.includes(he) ? at(right, op.which) : he;
        const doors = [by === this.who ? op.door : 'rest'];
        if (op.twice) doors.push(op.twice === 'other' ? 'typed' : op.twice);
        const all = await Promise.all(doors.map((d) => this.answer({ ...op, door: d }, q, by)));
        return { ...all[0], id: q.id, tool: q.tool };
    }
    // Yes to all that waits, beginning somewhere.
    async hurry({ n, which }) {
        const by = this.world.options.approver ? 'max' : this.who, all = await this.asked(this.who, 'pending', by), from = Math.floor(which * all.length);
        const some = [...all.slice(from), ...all.slice(0, from)].slice(0, HURRIED_MAX);
        return office.answerAll(this, n, some);
    }
    async answer(op, q, by) { try { return await this.answerBy(op, q, by); } finally { this.scene.saidYes(q.id, op.n); } }
    async answerBy(op, q, by) {
        const { scene } = this, odd = op.odd === 'args' || op.odd === 'payload' ? undefined : op.odd, confirmed = odd === undefined ? op.yes : odd;
        if (confirmed === true) scene.sayYes(q, by, op.n);
        const data = { confirmation_id: q.id }, action = op.yes ? 'approve' : 'deny';
        if (op.yes && ['typed', 'fn', 'actions'].includes(op.door)) scene.sayYes(q, by, op.n);
        if (op.door === 'rest') {
            const r = await this.send('POST', `/v1/approvals/${q.id}`, { confirmed, ...(op.odd === 'payload' && { payload: { amount: 5 }, input: { amount: 5 } }) }, op.read, by);
            if (r.status === 410 && STEADY.includes(q.tool) && (q.tool.includes('__') || this.world.versionAt(Date.parse(q.requested_at)) === this.world.version)) this.world.violation('gone', `${q.tool} is told as gone, and was there all the time: ${r.text.slice(0, 200)}`, { n: op.n, who: this.who, thread: q.thread, key: q.tool.includes('__') ? 'mcp' : 'own' });
            if (r.status === 200 && !r.json?.duplicate) scene.ack({ kind: r.json?.status === 'pending' ? 'voted' : 'decided', n: op.n, who: by, owner: this.who, thread: q.thread, id: q.id, yes: op.yes });
            return { status: r.status, note: r.json?.error?.code };
        }
        if (op.door === 'actions') { const r = await this.send('POST', `/v1/threads/${q.thread}/actions`, { action, data }, op.read, by); return { status: r.status }; }
        if (op.door === 'typed' || op.door === 'fn') { const r = await this.send('POST', DOOR[op.door], { action: { action, data } }, op.read, by); return { status: r.status, note: r.json?.error?.code }; }
        if (op.door === 'live') return this.onSocket(q.thread, by, (s) => s.send(op.n % 2 ? { type: 'approval', id: q.id, confirmed } : { type: 'tool_result', toolCallId: q.id, result: { confirmed } }), q.id);
        return this.continued(op, q, by, confirmed);
    }
    // The AI SDK's way: the whole message back, with the part answered.
    async continued(op, q, by, confirmed) {
        const adk = op.door === 'stream', t = await this.send('GET', `/v1/threads/${q.thread}${adk ? '?approval=adk' : ''}`, undefined, {}, by), m = t.json?.messages?.at(-1);
        const p = m?.parts?.find((x) => x.approval?.id === q.id || x.toolCallId === q.id);
        if (!p) return { status: 'nothing' };
        if (p.toolCallId === q.id) Object.assign(p, { state: 'output-available', output: { confirmed } });
        else Object.assign(p, { state: 'approval-responded', approval: { id: q.id, approved: confirmed } });
        if (op.odd === 'args') p.input = { ...p.input, amount: 1 };
        const r = await this.send('POST', DOOR[op.door], { id: q.thread, messages: [m], trigger: 'submit-message', messageId: m.id }, op.read, by);
        return { status: r.status, note: r.headers['parley-error'] };
    }
    async onSocket(thread, by, act, id) {
        const s = new Socket(this.world, by, `/live?thread=${thread}`, {});
        try {
            if (!await s.hear((v) => v.type === 'hello', ACK_MS)) return { status: 'no hello' };
            act(s);
            const a = await s.hear((v) => ['ack', 'error'].includes(v.type) && v.for === id, ACK_MS);
            return { status: a?.type ?? 'silence', note: a?.code ?? a?.status };
        } finally { s.drop(); }
    }
    // Somebody else tries what is not his.
    async foreign(op) {
        const { open } = this.world.options, owner = open ? this.who : op.whose, by = open ? 'stranger' : this.who === owner ? (owner === 'ada' ? 'bob' : 'ada') : this.who;
        const waiting = this.world.options.approver ? await this.asked(owner, 'pending', 'max') : await this.asked(owner);
        const q = at(waiting, op.which), note = (r) => ({ status: r.status, by, note: r.json?.error?.code });
        if (!q) return { status: 'nothing' };
        // A name that nobody has may become somebody's own.
        const own = op.door === 'stop' && q.thread === 'never-was';
        if (open && ['stop', 'look'].includes(op.door)) return { status: 'not foreign' };
        if (this.world.options.org && this.scene.mayDecide(by, owner, q.tool, q.input)) return { status: 'not foreign' };
        const bad = (r, what) => { if ([200, 201].includes(r.status) && !own) this.world.violation('foreign', `${by} could ${what} of ${owner}: ${r.text.slice(0, 300)}`, { n: op.n, who: owner, thread: q.thread, key: op.door }); return note(r); };
        if (op.door === 'rest') return bad(await this.send('POST', `/v1/approvals/${q.id}`, { confirmed: true }, {}, by), 'decide a question');
        if (op.door === 'settle') return bad(await this.send('POST', `/v1/approvals/${q.id}/settle`, { outcome: 'done' }, {}, by), 'settle a call');
        if (op.door === 'look') return bad(await this.send('GET', `/v1/approvals/${q.id}`, undefined, {}, by), 'read a question');
        if (op.door === 'stop') return bad(await this.send('POST', `/v1/threads/${q.thread}/stop`, {}, {}, by), 'stop a run');
        if (op.door === 'result') return bad(await this.send('POST', `/v1/threads/${q.thread}/results/${q.tool_use_id}`, { result: 1 }, {}, by), 'hand in a result');
        if (op.door === 'claim') return bad(await this.send('POST', `/v1/threads/${q.thread}/results/${q.tool_use_id}/claim`, { client: 'tab' }, {}, by), 'claim a call');
        if (op.door === 'share') return bad(await this.send('POST', `/v1/threads/${q.thread}/share`, {}, {}, by), 'share a conversation');
        if (op.door === 'links') return bad(await this.linked(q, owner, by), 'make a link that decides a question');
        if (op.door === 'agui') return note(await this.send('POST', '/ag-ui', { threadId: q.thread, runId: `r-${op.n}`, messages: [], resume: [{ interruptId: q.id, status: 'resolved', payload: { approved: true } }] }, {}, by));
        if (op.door === 'adk') return note(await this.send('POST', '/run', { appName: 'default', userId: by, sessionId: q.thread, newMessage: { role: 'user', parts: [{ functionResponse: { id: q.id, name: 'adk_request_confirmation', response: { confirmed: true } } }] } }, {}, by));
        if (op.door === 'responses') return note(await this.send('POST', '/v1/responses', { input: [{ type: 'mcp_approval_response', approval_request_id: q.id, approve: true }] }, {}, by));
        if (op.door === 'live') return this.onSocket(q.thread, by, (s) => s.send({ type: 'approval', id: q.id, confirmed: true }), q.id);
        if (op.door === 'typed') return note(await this.send('POST', '/v1/chat/stream', { thread_id: q.thread, action: { action: 'approve', data: { confirmation_id: q.id } } }, {}, by));
        const part = { type: `tool-${q.tool}`, toolCallId: q.tool_use_id, state: 'approval-responded', input: q.input, approval: { id: q.id, approved: true } };
        return note(await this.send('POST', '/api/chat', { id: q.thread, messages: [{ id: 'm', role: 'assistant', parts: [part] }], trigger: 'submit-message', messageId: 'm' }, {}, by));
    }

    // A link for the owner by somebody else; where there is one, it is used.
    async linked(q, owner, by) {
        const made = await this.send('POST', `/v1/approvals/${q.id}/links`, { for: owner }, {}, by);
        if (made.status === 201) await this.send('POST', new URL(made.json.url).pathname, 'decision=approve', { headers: { 'content-type': 'application/x-www-form-urlencoded' } }, null);
        return made;
    }

    // --- a browser's tools -----------------------------------------------------------------------------------

    async offered() {
        for (const thread of [...this.scene.threads[this.who]].slice(0, 6)) {
            const t = await this.send('GET', `/v1/threads/${thread}`, undefined, { stay: 3000 });
            const p = t.json?.messages?.at(-1)?.parts?.filter((x) => x.state === 'input-available' && !x.providerExecuted) ?? [];
            if (p.length) return p.map((x) => ({ thread, call: x.toolCallId, part: x, message: t.json.messages.at(-1) }));
        }
        return [];
    }
    async result(op) {
        const o = at(await this.offered(), op.which);
        if (!o) return { status: 'nothing' };
        const body = op.error ? { error: op.error } : { result: op.value };
        const one = async () => {
            if (op.door === 'live') return this.onSocket(o.thread, this.who, (s) => s.send({ type: 'tool_result', toolCallId: o.call, ...body }), o.call);
            if (op.door === 'chat') {
                Object.assign(o.part, op.error ? { state: 'output-error', errorText: op.error } : { state: 'output-available', output: op.value });
                return this.send('POST', '/api/chat', { id: o.thread, messages: [o.message], trigger: 'submit-message', messageId: o.message.id }, { stay: 2000 });
            }
            const r = await this.send('POST', `/v1/threads/${o.thread}/results/${o.call}`, body);
            if (r.status === 200 && !r.json?.duplicate) this.scene.ack({ kind: 'result', n: op.n, who: this.who, thread: o.thread, call: o.call });
            return r;
        };
        const [r] = await Promise.all([one(), ...(op.twice ? [one()] : [])]);
        return { status: r.status, note: r.note ?? r.json?.error?.code };
    }
    async claim(op) {
        const o = at(await this.offered(), op.which);
        return o ? { status: (await this.send('POST', `/v1/threads/${o.thread}/results/${o.call}/claim`, { client: op.client })).status } : { status: 'nothing' };
    }
    async settle(op) {
        const by = this.world.options.approver ? 'max' : this.who, q = at(await this.asked(this.who, 'unknown', by), op.which);
        if (!q) return { status: 'nothing' };
        if (op.outcome === 'not_done') this.scene.notDone.add(q.tool_use_id);
        const r = await this.send('POST', `/v1/approvals/${q.id}/settle`, { outcome: op.outcome, ...(op.result && { result: op.result }) }, {}, by);
        if (r.status === 200) this.scene.ack({ kind: 'settled', n: op.n, who: this.who, thread: q.thread, id: q.id, call: q.tool_use_id });
        return { status: r.status, note: r.json?.error?.code };
    }

    // --- the rest ----------------------------------------------------------------------------------------------

    async stop(op) {
        const thread = this.scene.thread(this.who, op.thread), r = await this.send('POST', `/v1/threads/${thread}/stop`, {});
        return { status: this.exists(op, thread, r.status), note: r.json?.stopped, thread };
    }
    async remove(op) {
        const { scene, who } = this, thread = scene.thread(who, op.thread), key = `${who}/${thread}`;
        const since = Date.now();
        scene.removed.set(key, [...(scene.removed.get(key) ?? []), since]);
        const burst = Array.from({ length: op.burst ?? 0 }, (_, i) => this.send('POST', '/api/chat', { id: thread, messages: [{ id: `u-${op.n}-${i}`, role: 'user', parts: [{ type: 'text', text: `Quick. [op ${op.n}]` }] }], trigger: 'submit-message' }, { stay: 500 }));
        const r = await this.send('DELETE', op.path ?? `/v1/threads/${thread}`);
        await Promise.all(burst);
        scene.removed.get(key).push(Date.now());
        if ([200, 204].includes(r.status)) scene.ack({ kind: 'removed', n: op.n, who, thread, since });
        return { status: r.status, thread };
    }
    async rename(op) {
        const { scene, who } = this, thread = scene.thread(who, op.thread), r = await this.send('PATCH', `/v1/threads/${thread}`, { title: op.title });
        return { status: r.status };
    }
    async look(op) {
        const { scene, who } = this, thread = scene.thread(who, op.thread), q = at(scene.pending[who] ?? [], op.which);
        const path = { thread: `/v1/threads/${thread}`, adk: `/v1/threads/${thread}?approval=adk`, threads: '/v1/threads?limit=3', search: '/v1/threads?search=Please', approvals: '/v1/approvals', pending: '/v1/approvals?status=pending', tools: '/v1/tools',
            approval: `/v1/approvals/${q?.id ?? 'x'}`, metrics: '/metrics', bogus: '/v1/approvals?status=bogus' }[op.what];
        const r = await this.send('GET', path, undefined, op.read, op.what === 'metrics' ? 'root' : who);
        return { status: ['thread', 'adk'].includes(op.what) ? this.exists(op, thread, r.status) : r.status, thread };
    }
    async follow(op) {
        const { scene, who } = this, thread = scene.thread(who, op.thread);
        const r = await this.send('GET', `/v1/threads/${thread}/events?after=${scene.cursor(who, thread, op.after, op.which)}`, undefined, op.read);
        scene.see(who, thread, r.text);
        return { status: this.exists(op, thread, r.status), note: events(r.text).length, thread };
    }
    // What somebody has on the screen who loses the line now and then: at the end of a run it must be what the run said.
    async watch(op) {
        const { scene, who, world } = this, thread = scene.thread(who, op.thread), since = Date.now();
        let after = '0.0', screen = '', first = true, status = 0;
        for (const look of op.looks) {
            if (!await world.ready()) break;
            const r = await this.send('GET', `/v1/threads/${thread}/events?after=${after}`, undefined, { stay: look.ms });
            status = r.status || status;
            if (r.status && r.status !== 200) break;
            for (const { id, data } of events(r.text)) {
                if (id) after = id;
                if (data.type === 'text_delta') screen += data.text;
                if (data.type === 'step_reset') screen = data.message;
                const over = ['error', 'cancelled'].includes(data.type) || (data.type === 'complete' && !data.payload?.awaiting?.length);
                if (data.type === 'complete' && screen !== data.payload.message && !scene.gone(who, thread, since))
                    world.violation('screen', `${who}/${thread}: somebody who lost the line has other words than the run: ${JSON.stringify(screen.slice(-300))} for ${JSON.stringify(data.payload.message.slice(-300))} at ${id}`, { n: op.n, who, thread, key: first ? 'one look' : 'taken up' });
                if (over) screen = '';
            }
            first = false;
            await new Promise((yes) => setTimeout(yes, look.gap));
        }
        return { status, thread };
    }
    async resume(op) { const r = await this.send('GET', `${DOOR[op.door]}/${this.scene.thread(this.who, op.thread)}/stream`, undefined, op.read); return { status: r.status }; }

    // It was acknowledged and nobody removed it: it cannot be unknown.
    exists(op, thread, status, when = op.op) {
        const { scene, who } = this, a = scene.acks.findLast((x) => x.kind === 'run' && x.who === who && x.thread === thread);
        if (status === 404 && a && !scene.gone(who, thread, a.since)) this.world.violation('acked', `${who}/${thread} was written to (operation ${a.n}) and is unknown: ${when}`, { n: op.n, who, thread, key: `404 ${when}` });
        return status;
    }

    // --- sockets ---------------------------------------------------------------------------------------------------

    frame(op, f, i, thread) {
        const { scene, who, world } = this, n = op.n * 1000 + i + 1, q = at(scene.pending[who] ?? [], f.which ?? 0), o = { n };
        if (f.f === 'message' || f.f === 'chat') {
            if (f.script.length) world.model.script(n, f.script); else if (op.op === 'say') o.n = op.n;
            scene.opThread.set(o.n, { who, thread });
            const page = f.page ? { page: f.page } : {};
            if (f.f === 'chat') return { type: 'message', messages: [{ id: `u-${o.n}`, role: 'user', parts: [{ type: 'text', text: this.text(o, f) }] }], ...page };
            return { type: 'message', text: this.text(o, f), ...page, ...(f.request !== undefined && { request_id: `r-${who}-${f.request}` }) };
        }
        if (f.f === 'approval' || f.f === 'tool_result') {
            const id = q?.id ?? 'confirmation-call-x', yes = f.yes && !world.options.approver;
            if (q && yes) scene.sayYes(q, who, op.n);
            return f.f === 'approval' ? { type: 'approval', id, confirmed: yes } : { type: 'tool_result', toolCallId: id, result: { confirmed: yes } };
        }
        if (f.f === 'claim') return { type: 'claim', toolCallId: q?.tool_use_id ?? 'x', client: 'tab' };
        if (f.f === 'resume') return { type: 'resume', after: scene.cursor(who, thread, f.after, f.which) };
        if (f.f === 'bad') return f.text;
        if (f.f === 'huge') return 'x'.repeat(1100000);
        return { type: f.f === 'binary' ? 'ping' : f.f, timestamp: 1 };
    }
    async live(op) {
        const { scene, who, world } = this, thread = op.thread === 'new' ? undefined : op.thread === 'gone' ? 'never-was' : scene.thread(who, op.thread);
        const query = [thread && `thread=${thread}`, op.form && `approval=${op.form}`].filter(Boolean).join('&'), at = `/live${query ? `?${query}` : ''}`;
        const frames = op.frames.map((f, i) => this.frame(op, f, i, thread));
        const s = new Socket(world, who, at, { protocol: op.protocol, auth: op.auth, early: op.early ? frames : [] });
        if (op.deaf) s.deaf();
        if (!op.early) {
            if (!op.deaf) await s.hear((v) => v.type === 'hello', 1500);
            frames.forEach((f) => s.send(f));
        }
        await s.hear(() => false, op.stay);
        if (thread) scene.see(who, thread, s.texts.join('\n'));
        if (op.end === 'drop') s.drop(); else s.bye();
        return { status: s.status ?? 0, note: s.texts.length };
    }
    async chatws(op) {
        const { scene, who, world } = this, thread = scene.thread(who, op.thread), s = new Socket(world, who, '/api/chat/ws', {});
        op.sends.forEach((o, i) => {
            const n = op.n * 1000 + i + 1, requestId = `q${i}`;
            if (o.what === 'bad') return s.send(BAD[op.n % BAD.length]);
            if (o.what) return s.send({ type: o.what, requestId: `q${Math.max(0, i - 1)}`, id: thread });
            world.model.script(n, o.script);
            scene.opThread.set(n, { who, thread });
            s.send({ type: 'send', requestId, id: thread, trigger: 'submit-message', messages: [{ id: `u-${n}`, role: 'user', parts: [{ type: 'text', text: this.text({ n }, o) }] }], headers: {}, body: o.page ? { page: o.page } : {} });
        });
        await s.hear(() => false, op.stay);
        if (op.end === 'drop') s.drop(); else s.bye();
        return { status: s.status ?? 0, note: s.texts.length };
    }
    // Connections that say nothing, or stop in the middle of their head.
    async silent(op) {
        const all = Array.from({ length: op.count }, () => new Socket(this.world, undefined, op.half ? '/live' : '/api/chat/ws', {}));
        await new Promise((yes) => setTimeout(yes, op.stay));
        for (const s of all) s.drop();
        return { status: 'left' };
    }
    // Many ask for something large and take nothing of it.
    async readers(op) {
        const thread = `${this.who}-large`;
        await this.send('POST', '/api/chat', { id: thread, messages: [{ id: `u-${op.n}`, role: 'user', parts: [{ type: 'text', text: `${'x'.repeat(op.size)} [op ${op.n}]` }] }], trigger: 'submit-message' }, { stay: 3000 });
        const { child } = this.world, before = memory(child.pid), all = Array.from({ length: op.count }, () => new Deaf(this.world, this.who, `/v1/threads/${thread}`));
        // What is held stays; what was only needed to make the answers is given back, under a sanitizer after half a second: the highest level that lasted for longer.
        const levels = [];
        for (const end = Date.now() + op.stay * Math.min(SLOW_MAX, patience()); Date.now() < end; levels.push(memory(child.pid) - before)) await new Promise((yes) => setTimeout(yes, 100));
        const held = Math.max(0, ...levels.slice(LASTS).map((_, i) => Math.min(...levels.slice(i, i + LASTS + 1))));
        if (child === this.world.child && before && held > ANSWERS + op.count * DEAF_MAX + DEAF_ROOM) this.world.violation('memory', `${op.count} readers that take nothing hold ${Math.round(held / 1048576)} MiB`, { n: op.n, who: this.who, thread, key: 'readers' });
        for (const d of all) d.drop();
        return { status: 'left', thread };
    }
    async garbage(op) {
        const GARBAGE = {
            body: () => this.send('POST', '/api/chat', '{"id":"ada-0","messages":[{"role":"user","parts":'), path: () => this.send('GET', '/v1/threads/%00%ff/../x'), method: () => this.send('BREW', '/v1/threads'),
            head: () => this.send('GET', '/healthz', undefined, { headers: { 'x-long': 'x'.repeat(20000) } }), chunk: () => this.send('POST', '/v1/chat/stream', 'x', { headers: { 'transfer-encoding': 'chunked' } }),
            nokey: () => send(this.world, undefined, 'GET', '/v1/threads'), badkey: () => send(this.world, undefined, 'GET', '/v1/threads', undefined, { headers: { authorization: 'Bearer nobody' } }), type: () => this.send('POST', '/v1/chat/stream', '[]'),
        };
        return { status: (await GARBAGE[op.what]()).status };
    }
}
