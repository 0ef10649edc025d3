// curve.mjs -- what a turn costs as its conversation grows, and what a large output costs a reader: both must be
// straight lines. Prints figures, and in its last line the ends of both lines and how much they grow (bench/run LONG=1).
//
//     node bench/curve.mjs [TURNS [turns|outputs]]       PARLEY_BIN: the program (build/parley)
//
// CPU time of the server, from /proc: a shared machine makes it later, not larger.
import fs from 'node:fs';
import http from 'node:http';
import { once } from 'node:events';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
process.env.PARLEY_BIN ??= [path.join(root, 'build/parley'), path.join(root, 'build-test/parley')].find(fs.existsSync);
const { Context } = await import('../test/live/lib.mjs');

const TURNS = Number(process.argv[2] || 2000);
const t = new Context(), found = {};

function cpuMs(server) {
    const f = fs.readFileSync(`/proc/${server.child.pid}/stat`, 'utf8').split(') ')[1].split(' ');
    return (Number(f[11]) + Number(f[12])) * 10;
}

function note(line, at, ms, width, digits) {
    line.push(ms);
    console.log(`${String(at).padStart(width)}   ${ms.toFixed(digits)}`);
}
// On a straight line what is so many times as long costs at most so many times as much.
function ends(name, line) {
    Object.assign(found, { [`${name}_first_us`]: line[0] * 1000, [`${name}_last_us`]: line.at(-1) * 1000, [`${name}_growth`]: line.at(-1) / line[0] });
}

async function turns() {
    const server = await t.serve({ config: { demo: { token_ms: 0 } } });
    let thread, said = 0;
    const line = [];
    console.log('turns so far   CPU ms per turn');
    for (let at = TURNS / 8; at <= TURNS; at *= 2) {
        for (; said < at - 50; said++) thread = (await server.turn('What is the weather in Tokyo?', thread && { thread_id: thread })).thread;
        const before = cpuMs(server);
        for (; said < at; said++) thread = (await server.turn('What is the weather in Tokyo?', thread && { thread_id: thread })).thread;
        note(line, at, (cpuMs(server) - before) / 50, 12, 2);
    }
    ends('turns', line);
}

async function outputs() {
    const line = [];
    let size = 0;
    const tool = http.createServer((q, r) => q.resume().on('end', () => r.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ text: 'x"'.repeat(size / 3) })))).listen(0, '127.0.0.1');
    t.defer(() => tool.close());
    await once(tool, 'listening');
    const server = await t.serve({ config: { demo: { token_ms: 0, tools: true }, actions: { fetch: { tool: 'fetch' } },
        tools: { fetch: { description: 'Fetches.', input_schema: { type: 'object' }, confirm: 'never', http: { url: `http://127.0.0.1:${tool.address().port}/`, allow: ['127.0.0.1'], response_max: 16777216 } } } } });
    console.log('output MB   CPU ms per reader');
    for (const mb of [0.25, 0.5, 1, 2, 4]) {
        size = mb * 1048576;
        const { id } = (await server.post('/v1/threads', {})).json;
        await server.post(`/v1/threads/${id}/actions`, { action: 'fetch' });
        for (let s = 'running'; s !== 'idle';) s = (await server.get('/v1/threads?limit=1')).json.threads[0].state;
        const before = cpuMs(server);
        for (let i = 0; i < 10; i++) {
            await new Promise((yes) => http.get({ host: '127.0.0.1', port: server.port, path: `/v1/threads/${id}/events?after=0.0` }, (r) => {
                let tail = '', last = false;
                r.on('data', (d) => {
                    tail = tail.slice(-64) + d;
                    last ||= tail.includes('"type":"complete"');
                    if (last && tail.endsWith('\n\n')) { r.destroy(); yes(); }
                });
            }));
        }
        note(line, mb, (cpuMs(server) - before) / 10, 9, 1);
    }
    ends('readers', line);
}

const parts = { turns, outputs };
try { for (const [name, run] of Object.entries(parts)) if (!process.argv[3] || process.argv[3] === name) await run(); } finally { await t.close(); }
console.log(JSON.stringify(found));
