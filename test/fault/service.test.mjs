// service.test.mjs -- a model service that fails in the middle of a payment's turn: before the
// question, between the yes and the last words, on every wire, and with a kill -9 in between.
// The payment is made at most once, and trying again never makes it again.
import { check, same, settled, sound, until } from '../live/lib.mjs';
import { WIRES, serveModel, startUpstream } from '../live/upstream.mjs';
import { LONG, SEED, audit, family, pause, quiet, random } from './lib.mjs';

const FAULTS = ['500', '529', '429', 'cut', 'cut-early', 'drop', 'eof', 'error', 'badjson', 'stall', 'stall-late', 'silent', 'half-cut', 'whole-cut', 'html'];
const MODEL = { retries: 1, timeouts: { connect: 1, first_byte: 0.3, idle: 0.3, total: 5 } };
const CALL = '{{call process_payment {"amount":5,"currency":"USD","recipient":"Hanako"}}}';

// A call that never became one pays nothing, whoever tries again.
async function before(f, t, up, wire, fault) {
    const server = await serveModel(t, up, wire, { model: MODEL }), s = await server.turn(`{{scenario:${fault}}} ${CALL}`);
    same(s.events.at(-1).data.type, 'error', 'the end');
    same([s.of('tool_confirmation').length, server.ledger().length, (await settled(server, s.thread)).state], [0, 0, 'idle'], 'nothing was asked, nothing was paid');
    await audit(server);
    sound(await server.turn('hello', { thread_id: s.thread }));
    await server.kill();
}

// The yes is given, the payment is made, and the model fails to say so.
async function after(f, t, up, wire, fault, ms) {
    let server = await serveModel(t, up, wire, { model: MODEL });
    const s = await server.turn(`${CALL} {{then:${fault}-once}}`), id = s.payload.awaiting[0];
    const yes = await quiet(server.post(`/v1/approvals/${id}`, { confirmed: true }));
    if (ms !== undefined) {
        await pause(ms);
        await server.kill();
        server = await serveModel(t, up, wire, { model: MODEL, dir: server.dir });
    }
    await settled(server, s.thread);
    const a = (await server.get(`/v1/approvals/${id}`)).json, lines = server.ledger().length;
    check(yes?.status !== 200 || a.status !== 'pending', 'a yes that was acknowledged is kept');
    f.note(`${a.status}${lines ? ', paid' : ''}`);
    if (a.status === 'unknown') f.uncertain++;
    // Again and again, until the answer is there; what was paid stays paid once.
    await until(async () => {
        const x = await settled(server, s.thread);
        if (!x.messages.at(-1).metadata?.error) return true;
        const r = await server.post(`/v1/threads/${s.thread}/actions`, { action: 'retry' });
        same(r.status, 202, r.text);
        return false;
    }, 'an answer');
    if (a.status === 'pending') { same((await server.post(`/v1/approvals/${id}`, { confirmed: true })).status, 200, 'the yes again'); await settled(server, s.thread); }
    same(server.ledger().length, a.status === 'pending' ? 1 : lines, 'payments after all of it');
    await audit(server);
    await server.kill();
}

family('the model service fails in a turn that pays', async (f) => {
    const chance = random(SEED + 5), todo = [];
    for (const [w, wire] of WIRES.entries()) for (const [i, fault] of FAULTS.entries()) {
        if (!LONG && i % WIRES.length !== w) continue;        // every fault on one wire; on all of them when there is time
        todo.push([`${wire}: ${fault} before the question`, async (t) => before(f, t, await startUpstream(t), wire, fault)],
            [`${wire}: ${fault} after the yes`, async (t) => after(f, t, await startUpstream(t), wire, fault)],
            [`${wire}: ${fault} after the yes, and a kill`, async (t) => after(f, t, await startUpstream(t), wire, fault, chance() * 30)]);
    }
    await f.all(todo);
});
