// approve.mjs -- how long a yes takes: from the click to `started` on disk, and to the
// first byte and the first word of what follows. Prints figures; fails on nothing.
//
//     node bench/approve.mjs [N]        PARLEY_BIN: the program (build/parley)
//
// `started` is told to followers only after its commit: the time at which an open
// event stream hears tool_start is an upper bound for it (loopback included). One
// conversation at a time; the demo model without a pause between its words.
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
process.env.PARLEY_BIN ??= [path.join(root, 'build/parley'), path.join(root, 'build-test/parley')].find(fs.existsSync);
const { Context } = await import('../test/live/lib.mjs');
const { Chat, Live } = await import('../test/live/ai.mjs');

const N = Number(process.argv[2] || 300);
const now = () => Number(process.hrtime.bigint()) / 1e6;
const times = new Map();
const note = (what, ms) => { if (!times.has(what)) times.set(what, []); times.get(what).push(ms); };
const t = new Context(), server = await t.serve();
const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });

// On a connection that is open already, as a browser's is.
function decide(id) {
    return new Promise((yes, no) => {
        const body = JSON.stringify({ confirmed: true });
        const q = http.request({ host: '127.0.0.1', port: server.port, method: 'POST', path: `/v1/approvals/${id}`, agent, headers: { 'content-type': 'application/json', 'content-length': body.length } },
            (r) => { r.resume(); r.on('end', () => yes(now())); });
        q.on('error', no);
        q.end(body);
    });
}

async function byRest() {
    const s = await server.turn('Send 50 dollars to Hanako');
    const f = await server.events(s.thread, s.lastId);
    const started = f.must('tool_start').then(now), done = f.must('tool_complete').then(now), words = f.must((e) => e.data.type === 'text_delta' && !e.data.text.includes('[[')).then(now);
    const click = now();
    const answered = await decide(s.payload.awaiting[0]);
    note('REST: the answer, which waits for the commit', answered - click);
    note('REST: `started` committed and told', await started - click);
    note('REST: the payment is in the ledger and told', await done - click);
    note('REST: first word of the model', await words - click);
    await f.must('complete');
    await f.close();
}

async function byPost(door) {
    const c = new Chat(null, server, door);
    c.auto = false;
    await c.say('Send 50 dollars to Hanako');
    c.mark(c.asked[0].id, true);
    const click = now();
    const s = await c.open({ messageId: c.last.id });
    await s.must('start');
    note(`POST ${door}: first byte of the continuation`, now() - click);
    await s.must('tool-output-available');
    note(`POST ${door}: the payment is in the ledger and told`, now() - click);
    await s.must('text-delta');
    note(`POST ${door}: first word of the model`, now() - click);
    await s.read();
}

async function byLive(l) {
    l.pump();
    l.frames.length = 0;           // what was not looked at the last time
    await l.say('Send 50 dollars to Hanako');
    const id = l.asked[0].id, click = now();
    l.approve(id, true);
    await l.find((f) => f.chunk?.type === 'start', 'start');
    note('/live: first byte of the continuation', now() - click);
    await l.find((f) => f.chunk?.type === 'tool-input-available', 'the call');
    note('/live: `started` committed and told', now() - click);
    await l.find((f) => f.chunk?.type === 'text-delta', 'words');
    note('/live: first word of the model', now() - click);
    await l.find((f) => f.done, 'the end');
    const part = l.last.parts.find((p) => p.toolCallId === id);
    part.state = 'output-available';
}

const live = await Live.open(t, server);
for (let i = 0; i < N; i++) {
    await byRest();
    await byPost('/stream');
    await byPost('/api/chat');
    await byLive(live);
}
agent.destroy();
await live.close();
await t.close();

console.log(`approve, ${N} times each, ${path.relative(root, process.env.PARLEY_BIN)} (milliseconds; targets: started 5, first byte 10 at p50)`);
for (const [what, list] of times) {
    list.sort((a, b) => a - b);
    const at = (q) => list[Math.min(list.length - 1, Math.floor(list.length * q))].toFixed(2).padStart(8);
    console.log(`  p50 ${at(0.5)}  p90 ${at(0.9)}  p99 ${at(0.99)}   ${what}`);
}
