// nodes.mjs -- what it costs that a conversation is held by another node: three nodes on one PostgreSQL.
//
//     node bench/nodes.mjs PARLEY [ROUNDS]
//
// Prints one line of JSON, in microseconds: how much later a follower on another node hears the same words (follow), how
// much longer a message takes that goes through another node (command), and the longest silence a follower hears when the
// holder is killed (takeover) or restarted (restart). Client and all nodes share the machine.
import { Context } from '../test/lib/test.mjs';
import { cluster } from '../test/cluster/lib.mjs';

const [bin, rounds = 5] = process.argv.slice(2);
const now = () => Number(process.hrtime.bigint() / 1000n);
const at = (all, q) => [...all].sort((a, b) => a - b)[Math.min(all.length - 1, Math.floor(q * all.length))];

// When how much of the answer was heard.
function listen(stream) {
    const heard = [];
    stream.r.on('data', () => heard.push([now(), stream.words?.length ?? stream.text.length]));
    return heard;
}

async function holderOf(c, thread) {
    const holder = await c.holder(thread);
    return [holder, c.nodes.find((n) => n !== holder)];
}

// Two followers of one answer; for each piece that the holder's has, when the other had as much.
async function follow(c) {
    const late = [];
    for (let i = 0; i < rounds; i++) {
        const said = await c.nodes[i % c.nodes.length].say('Tell me a long story');
        await said.must('text_delta');
        const [holder, other] = await holderOf(c, said.thread);
        const streams = [await holder.events(said.thread, '0.0'), await other.events(said.thread, '0.0')];
        const [here, there] = streams.map(listen);
        await Promise.all(streams.map((s) => s.must('complete')));
        for (const [when, much] of here.slice(20)) {           // both stand by then
            const same = there.find((x) => x[1] >= much);
            if (same) late.push(same[0] - when);
        }
        await Promise.all([...streams, said].map((s) => s.close()));
    }
    return { follow_us: at(late, 0.5), follow_p99_us: at(late, 0.99) };
}

// A message into a conversation that a follower keeps where it is: by the holder, and by another node.
async function command(c) {
    const first = await c.nodes[0].turn('hello'), [holder, other] = await holderOf(c, first.thread);
    const keep = await holder.events(first.thread, '0.0'), took = [[], []];
    for (let i = 0; i < rounds * 20; i++) {
        const start = now(), s = await [holder, other][i % 2].say('hello', { thread_id: first.thread });
        await s.wait(() => s.events.length > 0 || s.over, 'the first event');
        took[i % 2].push(now() - start);
        await s.must('complete');
        await s.close();
    }
    await keep.close();
    return { command_here_us: at(took[0], 0.5), command_us: at(took[1], 0.5) - at(took[0], 0.5) };
}

async function silence(c, how) {
    const all = [];
    for (let i = 0; i < rounds; i++) {
        const said = await c.nodes[i % c.nodes.length].say('Tell me a long story');
        await said.must('text_delta');
        const [holder, other] = await holderOf(c, said.thread);
        const s = await other.events(said.thread, '0.0');
        await s.must('text_delta');
        const heard = listen(s);
        heard.push([now(), 0]);
        const over = how(holder);
        await s.must('complete');
        await over;
        all.push(Math.max(...heard.slice(1).map(([when], k) => when - heard[k][0])));
        await Promise.all([s.close(), said.close().catch(() => {})]);
        await holder.start();
    }
    return at(all, 0.5);
}

const t = new Context();
try {
    const c = await cluster(t, { nodes: 3, direct: true, bin, config: { demo: { token_ms: 5 }, log: 'error' } });
    const quick = await cluster(t, { nodes: 3, direct: true, bin, config: { log: 'error' } });
    const found = { ...await follow(c), ...await command(quick), restart_us: await silence(c, (n) => n.term()), takeover_us: await silence(c, (n) => n.kill()) };
    for (const n of [...c.nodes, ...quick.nodes]) n.mayFail = true;
    console.log(JSON.stringify(found));
} finally { await t.close(); }
process.exit(0);
