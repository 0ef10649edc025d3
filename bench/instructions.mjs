// instructions.mjs -- what a turn costs, counted and not timed: the same figure on a busy machine as on a quiet one.
// Compare two commits with it. Prints figures; fails on nothing.
//
//     node bench/instructions.mjs [TURNS [FUNCTIONS [DOOR]]]       PARLEY_BIN: the program (build/parley)
//
// The server runs under callgrind; 20 turns come first and do not count. FUNCTIONS: so many of the most expensive.
// DOOR: typed (when none is named), responses, completions or ag-ui; there also what a token costs: what an answer of
// many words takes more than one of few, for each delta that it has more.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { newFolder } from '../test/lib/program.mjs';
import { Server, configured } from '../test/lib/server.mjs';

const bin = process.env.PARLEY_BIN ?? path.resolve(import.meta.dirname, '../build/parley');
const [turns = 100, functions = 0] = process.argv.slice(2, 4).map(Number), door = process.argv[4];
let asked = 0;
const DOORS = {
    typed: (message) => ['/v1/chat/stream', { message }],
    responses: (input) => ['/v1/responses', { input, stream: true }],
    completions: (content) => ['/v1/chat/completions', { messages: [{ role: 'user', content }], stream: true }],
    'ag-ui': (content) => ['/ag-ui', { threadId: `t${++asked}`, runId: `r${asked}`, protocolVersion: '1.0', messages: [{ id: `m${asked}`, role: 'user', content }] }],
};
const DELTA = /"text_delta"|"response.output_text.delta","|"delta":\{"content":|"TEXT_MESSAGE_CONTENT"/g;
const dir = newFolder();
const wrap = ['valgrind', '--tool=callgrind', `--callgrind-out-file=${dir}/out`, '--cache-sim=no'];
const server = new Server({ config: configured({ demo: { token_ms: door ? 5 : 0 } }), dir, bin, wrap }).spawn();
const port = await server.listening(120000);

const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
const ask = (method, where, body) => new Promise((yes, no) => {
    const q = http.request({ agent, method, port, host: '127.0.0.1', path: where, headers: body && { 'content-type': 'application/json' } }, (r) => {
        let text = '';
        r.on('data', (d) => { text += d; }).on('end', () => yes({ status: r.statusCode, text }));
    });
    q.on('error', no).end(body && JSON.stringify(body));
});
const control = (...args) => execFileSync('callgrind_control', [...args, String(server.child.pid)], { stdio: 'ignore' });

let dumps = 0;
async function count(name, message, warm = 20) {
    let deltas = 0;
    for (let i = -warm; i < turns; i++) {
        if (i === 0) control('-z');
        const { status, text } = await ask('POST', ...DOORS[door ?? 'typed'](message));
        if (status !== 200) throw new Error(`${status}: ${text}`);
        if (i >= 0) deltas += text.match(DELTA)?.length ?? 0;
    }
    control('-d', name);
    const out = `${dir}/out.${++dumps}`;
    while (!fs.existsSync(out) || !/^totals: \d/m.test(fs.readFileSync(out, 'utf8'))) await new Promise((r) => setTimeout(r, 50));
    const total = Number(/^totals: (\d+)/m.exec(fs.readFileSync(out, 'utf8'))[1]);
    console.log(`${name.padEnd(10)} ${Math.round(total / turns).toLocaleString('en')} instructions per turn`);
    for (const [where, n] of own(out).slice(0, functions)) console.log(`    ${String(Math.round(n / turns)).padStart(8)}  ${where}`);
    return { total, deltas };
}

// What each function costs by itself, most first. (callgrind_annotate is misled by a count that begins in the middle.)
function own(file) {
    const names = {}, cost = new Map();
    const name = (kind, v) => {
        const [, id, text] = /^\((\d+)\) ?(.*)/.exec(v);
        if (text) names[kind + id] = text;
        return names[kind + id];
    };
    let fn, ob, called = false;
    for (const line of fs.readFileSync(file, 'utf8').split('\n')) {
        const [, key, value] = /^(c?fn|c?ob|calls)=(.*)/.exec(line) ?? [];
        if (key === 'fn') fn = name('f', value);
        else if (key === 'ob') ob = path.basename(name('o', value));
        else if (key === 'cfn') name('f', value);
        else if (key === 'cob') name('o', value);
        else if (key === 'calls') called = true; // the next line is the callee's
        else if (/^[-+*\d]/.test(line) && called) called = false;
        else if (/^[-+*\d]/.test(line)) cost.set(`${fn} ${ob}`, (cost.get(`${fn} ${ob}`) ?? 0) + Number(line.split(' ').at(-1)));
    }
    return [...cost].sort((a, b) => b[1] - a[1]);
}

if (door) {
    const short = await count('few words', 'Hello', 3), long = await count('many words', 'Say 200 words', 3);
    console.log(`${door}: ${Math.round((long.total - short.total) / (long.deltas - short.deltas)).toLocaleString('en')} instructions per delta, of ${long.deltas - short.deltas}`);
} else {
    await count('text', 'Hello');
    await count('tool', 'What is the weather in Tokyo?');
}
process.exit(0);
