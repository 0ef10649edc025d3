// adk.mjs -- front ends of ADK's API server: sessions, messages with and without partial events, and answers to questions and
// page tools as function responses, plain or wrapped, some of them twice or contradicting each other in one message.
import { at } from '../chance.mjs';
import { THREADS, reading, words } from '../habits.mjs';

export const OPS = { adk: 5, adkanswer: 4, session: 1 };

export const draw = {
    adk: (c, who, t) => ({ thread: c.maybe(0.2) ? 'new' : c.int(THREADS), ...words(c, who, t), door: c.pick(['/run_sse', '/run_sse', '/run']), streaming: c.maybe(0.5), read: reading(c) }),
    adkanswer: (c) => ({ which: c.share(), yes: c.maybe(0.8), all: c.maybe(0.5), wrapped: c.maybe(0.3), door: c.pick(['/run_sse', '/run']), read: reading(c), ...(c.maybe(0.1) && { both: true }), ...(c.maybe(0.1) && { odd: c.pick(['true', 1, null]) }) }),
    session: (c) => ({ thread: c.int(THREADS + 2), what: c.pick(['get', 'list', 'make', 'make_named', 'remove', 'apps']), read: reading(c) }),
};

const said = (session, parts, more) => ({ appName: 'default', userId: 'u', sessionId: session, newMessage: { role: 'user', parts }, ...more });

export const perform = {
    async adk(actor, op) {
        const { scene, who, world } = actor, thread = op.thread === 'new' ? `${who}-s${op.n}` : scene.thread(who, op.thread);
        world.model.script(op.n, op.script);
        scene.opThread.set(op.n, { who, thread });
        return actor.post(op, op.door, said(thread, [{ text: actor.text(op) }], { appName: op.page ?? 'default', streaming: op.streaming }), thread);
    },
    async adkanswer(actor, op) {
        const { scene, who, world } = actor, first = world.options.absent ? undefined : at(await actor.asked(who), op.which);
        if (!first) return { status: 'nothing' };
        const those = op.all ? scene.pending[who].filter((q) => q.thread === first.thread) : [first], confirmed = op.odd === undefined ? op.yes : op.odd;
        const part = (q, v) => ({ functionResponse: { id: q.id, name: 'adk_request_confirmation', response: op.wrapped ? { response: JSON.stringify({ confirmed: v }) } : { confirmed: v } } });
        if (confirmed === true || op.both) for (const q of those) scene.sayYes(q, who, op.n);
        const r = await actor.send('POST', op.door, said(first.thread, [...those.map((q) => part(q, confirmed)), ...(op.both ? [part(first, !confirmed)] : [])]), op.read);
        for (const q of those) scene.saidYes(q.id, op.n);
        return { status: r.status, note: r.json?.error?.code, id: first.id, tool: first.tool };
    },
    async session(actor, op) {
        const { scene, who } = actor, thread = scene.thread(who, op.thread), all = `/apps/default/users/${who}/sessions`;
        if (op.what === 'remove') return actor.remove({ n: op.n, thread: op.thread, path: `${all}/${thread}` });
        const [method, path] = { get: ['GET', `${all}/${thread}`], list: ['GET', all], make: ['POST', all], make_named: ['POST', `${all}/${thread}`], apps: ['GET', '/list-apps'] }[op.what];
        const r = await actor.send(method, path, method === 'POST' ? {} : undefined, op.read);
        return { status: op.what === 'get' ? actor.exists(op, thread, r.status) : r.status, thread };
    },
};
