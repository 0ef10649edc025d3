// The seeds' matrix: every door, every gated tool of the demo, everything people do
// with a question.
import { check, same, settled, test } from './lib.mjs';
import { DAY, DOORS, MCP_DOORS, TOOLS, ask, executed, finish, later, timed } from './doors.mjs';

const WORDS = 12;
const AT_ONCE = { mcp: { wait: 0 } };          // no call of an MCP client waits for its answer
const wordCount = (text) => text.split(/\s+/).filter(Boolean).length;

function each(what, run, options) {
    const one = (name, open, tool) => test(`${name}, ${tool}: ${what}`, async (t) => {
        const server = await t.serve({ config: AT_ONCE, ...options?.(t) });
        await run({ t, server, door: await open(t, server), tool, name });
    });
    for (const [name, open] of Object.entries(DOORS)) for (const tool of Object.keys(TOOLS)) one(name, open, tool);
    for (const [name, open] of Object.entries(MCP_DOORS)) one(name, open, 'process_payment');
}

test('/mcp offers no tool that a browser runs', async (t) => {
    const { client } = await MCP_DOORS['/mcp'](t, await t.serve());
    const names = (await client.ask('tools/list', {})).tools.map((x) => x.name);
    same(Object.keys(TOOLS).filter((name) => names.includes(name)), ['process_payment']);
});

each('approve runs it once, and the model speaks of it', async ({ server, door, tool }) => {
    const q = await ask(door, tool);
    same(server.ledger(), [], 'nothing before the yes');
    await door.answer(q.id, true);
    await finish(door, tool);
    const a = await executed(server, q, tool);
    same([a.status, a.decided_by, a.tool], ['done', 'local', tool]);
    check(wordCount(door.words) >= 5, `words: ${door.words}`);
    if (tool === 'process_payment' && !door.silent) check(wordCount(door.words) >= WORDS, `words: ${door.words}`);
});

each('deny runs nothing, keeps the reason, and the model speaks of it', async ({ server, door, tool }) => {
    const q = await ask(door, tool);
    const before = door.words.length;
    await door.answer(q.id, false, 'not today');
    const shown = await settled(server, door.thread);
    same(shown.state, 'idle');
    const a = await executed(server, q, tool);
    same([a.status, a.reason], ['denied', 'not today']);
    same(door.offered, [], 'no browser is asked');
    check(door.words.length > before, 'words');
    same(server.ledger(), []);
});

each('approve twice in a row: two questions, two runs', async ({ server, door, tool }) => {
    const calls = [];
    for (let i = 0; i < 2; i++) {
        const q = await ask(door, tool);
        await door.answer(q.id, true);
        await finish(door, tool);
        same((await executed(server, q, tool)).status, 'done');
        calls.push(q.call);
    }
    same(new Set(calls).size, 2, 'two calls');
    if (tool === 'process_payment') same(server.ledger().map((l) => l.call_id), calls);
});

each('expire: a day later a yes is refused, and the conversation goes on', async ({ t, server, door, tool }) => {
    const q = await ask(door, tool);
    later(server, DAY + 1);
    let late;
    await door.answer(q.id, true).catch((e) => { late = e; });
    same([late?.status, late?.code], [409, 'expired'], 'the late yes');
    await settled(server, door.thread);
    same((await executed(server, q, tool)).status, 'expired');
    same(server.ledger(), []);
    const next = door.next ? await door.next() : Object.assign(await DOORS.typed(t, server), { thread: door.thread });
    const again = await ask(next, tool);
    check(again.call !== q.call, 'it can be asked again');
}, timed);

each('disconnect while pending changes nothing', async ({ server, door, tool }) => {
    const q = await ask(door, tool);
    await door.leave();
    same((await server.get(`/v1/approvals/${q.id}`)).json.status, 'pending');
    const back = await door.reload();
    await back.answer(q.id, true);
    await finish(back, tool);
    same((await executed(server, q, tool)).status, 'done');
});

each('reload brings the question back, also after a restart', async ({ t, server, door, tool }) => {
    const q = await ask(door, tool);
    await door.leave();
    same(await server.term(), 0, 'the end of the server');
    const next = await t.serve({ dir: server.dir, config: AT_ONCE });
    door.server = next;
    const back = await door.reload();
    same(back.asked.map((x) => [x.id, x.call, x.tool, x.input]), [[q.id, q.call, q.tool, q.input]], 'the same question');
    await back.answer(q.id, true);
    await finish(back, tool);
    same((await executed(next, q, tool)).status, 'done');
});

each('double click: both are told yes, one runs', async ({ server, door, tool }) => {
    const q = await ask(door, tool);
    const other = await door.reload();
    await Promise.all([door.answer(q.id, true), other.answer(q.id, true)]);
    const one = door.offered.length ? door : other;
    await finish(one, tool);
    same((await executed(server, q, tool)).status, 'done');
    if (tool === 'process_payment') same(server.ledger().length, 1);
});

each('approve and deny at once: one wins, the other is told so', async ({ server, door, tool }) => {
    const q = await ask(door, tool);
    const other = await door.reload();
    const refusals = [];
    await Promise.all([door.answer(q.id, true).catch((e) => refusals.push(e)), other.answer(q.id, false).catch((e) => refusals.push(e))]);
    same(refusals.map((e) => [e.status, e.code]), [[409, 'already_decided']], 'the loser');
    const status = (await server.get(`/v1/approvals/${q.id}`)).json.status;
    if (['approved', 'offered', 'running'].includes(status) && TOOLS[tool].client) await finish(door, tool);
    await settled(server, door.thread);
    const a = await executed(server, q, tool);
    check(['done', 'denied'].includes(a.status), `an end: ${a.status}`);
});
