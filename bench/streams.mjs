#!/usr/bin/env node
// streams.mjs -- what one active stream costs one parley process: STREAMS people at once, each reading a
// paced answer of the scripted service over the OpenAI wire, plain HTTP on both sides.
//
//     bench/streams.mjs [STREAMS [TOKENS [MS_PER_TOKEN]]]        default 1000 100 100
//
// Prints one JSON line. rss_per_stream: growth of the process's resident memory from the quiet server to the most while
// all speak, divided by STREAMS: connection, conversation, open step, transfer and libcurl's handles together. At worst: also
// while they come and end.
// Status 1 when a stream failed or the figure is over the budget. BIN: another parley (default build/parley).
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { ROOT } from '../test/lib/program.mjs';
import { Server } from '../test/lib/server.mjs';
import { Context } from '../test/lib/test.mjs';

const BUDGET = 24 * 1024;
const SPREAD_MS = Number(process.env.SPREAD_MS ?? 2000);        // people come within this, not in one salvo
const [STREAMS, TOKENS, MS] = [1000, 100, 100].map((d, i) => Number(process.argv[2 + i] || d));
const BIN = process.env.BIN || ['build/parley', 'build-test/parley'].map((b) => path.join(ROOT, b)).find((b) => fs.existsSync(b));
const t = new Context(), dir = t.folder();

const rss = (pid) => Number(/VmRSS:\s+(\d+)/.exec(fs.readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) * 1024;
const cpu = (pid) => { const f = fs.readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' '); return (Number(f[11]) + Number(f[12])) / 100; };

// One person: asks, reads to the end. Resolves to 'ok' or to what was wrong.
function person(port, tokens, ms, onFirst) {
    return new Promise((yes) => {
        const body = JSON.stringify({ message: `{{scenario:pace-${tokens}-${ms * 1000}}}` });
        const s = net.connect(port, '127.0.0.1');
        let text = '', first = true;
        s.setEncoding('latin1');
        s.write(`POST /v1/chat/stream HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
        s.on('data', (d) => {
            text += d;
            if (first && text.includes('text_delta')) { first = false; onFirst(); }
            if (!text.endsWith('0\r\n\r\n')) return;
            s.destroy();
            const last = String(tokens - 1).padStart(6, '0');
            yes(text.includes('"type":"complete"') && text.includes(last) && !text.includes('"type":"error"') ? 'ok' : `ended with ${text.slice(-300)}`);
        });
        s.on('error', (e) => yes(e.message));
        s.on('close', () => yes(`closed after ${text.slice(-300)}`));
    });
}

const upstream = t.program(path.join(ROOT, 'build-test/upstream'), ['0']), [, model] = await upstream.says(/^(\d+)\n/);
const parley = await t.start(new Server({ bin: BIN, dir, mayFail: true, config: {
    listen: '127.0.0.1:0', log: 'error', limits: { connections: STREAMS + 100, runs: STREAMS + 100 },
    model: { provider: 'openai', model: 'm', base_url: `http://127.0.0.1:${model}/v1`, api_key: 'text:none', concurrent: STREAMS + 100 },
} })), pid = parley.child.pid;
if (await person(parley.port, 3, 1, () => {}) !== 'ok') throw new Error('the first turn failed');

const before = rss(pid), cpuBefore = cpu(pid), began = Date.now();
let speaking = 0, peak = 0, active = 0, all = 0, most = 0, over = 0;
const watch = setInterval(() => {
    peak = Math.max(peak, rss(pid));
    if (speaking === STREAMS && !over) active = Math.max(active, rss(pid));
    most = Math.max(most, speaking - over);
    if (speaking === STREAMS && !all) all = Date.now() - began;
}, 50);
const came = async (i) => { await new Promise((yes) => setTimeout(yes, SPREAD_MS * i / STREAMS)); return person(parley.port, TOKENS, MS, () => { speaking++; }); };
const ends = await Promise.all(Array.from({ length: STREAMS }, (_, i) => came(i).then((r) => { over++; return r; })));
clearInterval(watch);
const wrong = ends.filter((e) => e !== 'ok'), each = Math.round((active - before) / STREAMS);
if (!active) console.error('the streams never all spoke at once: the machine is too busy, or TOKENS too few');
for (const w of [...new Set(wrong)].slice(0, 3)) console.error(w);
const seconds = (Date.now() - began) / 1000;
console.log(JSON.stringify({ streams: STREAMS, failed: wrong.length, speaking_at_once: most, all_speaking_ms: all, tokens: STREAMS * TOKENS, seconds, rss_per_stream: each, budget: BUDGET,
    rss_per_stream_at_worst: Math.round((peak - before) / STREAMS), rss_before: before, cpu_us_per_token: Number(((cpu(pid) - cpuBefore) * 1e6 / (STREAMS * TOKENS)).toFixed(1)) }));
process.exit(wrong.length || most < STREAMS || each > BUDGET ? 1 : 0);
