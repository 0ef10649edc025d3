// run.mjs -- the way of one gated message through the files, held against ARCHITECTURE.md.
//
// A build with -Dtrace=true, as build-test is, notes every function that the loop thread enters
// (hooks.c). This program starts it, writes "Send 50 dollars to Hanako", says yes, and reads the
// notes: the files that were visited, in the order of their first visit, and how often one file of
// a room was left for another room. Every `room/file.c` that ARCHITECTURE.md names in the chapters
// of the message's life must be there, and in that order.
//
// --print shows the way; --bin FILE traces another binary (an older one, to compare).
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
const args = process.argv.slice(2);
const option = (name) => { const i = args.indexOf(name); return i < 0 ? null : args[i + 1]; };
const BIN = option('--bin') || process.env.PARLEY_BIN || path.join(ROOT, 'build-test/parley');
const CHAPTERS = ['In', 'The mailbox', 'The model', 'The gate', 'Out'];
// How often the way may go from one room to another and back: what it was when this was written (371 to 403), and a
// little for the moments at which the loop looks. More is a detour that somebody built.
const CHANGES_MAX = 420;

if (!option('--bin') && !process.env.PARLEY_BIN) {
    const built = spawnSync(path.join(ROOT, 'scripts/build'), ['build-test'], { stdio: 'inherit' });
    if (built.status !== 0) { console.log('0 passed, 1 failed'); process.exit(1); }
}

function post(port, where, body) {
    return new Promise((yes, no) => {
        const q = http.request({ port, host: '127.0.0.1', path: where, method: 'POST', agent: false,
            headers: { 'content-type': 'application/json' } }, (r) => {
            let text = '';
            r.on('data', (d) => { text += d; });
            r.on('end', () => yes(text));
        });
        q.on('error', no);
        q.end(JSON.stringify(body));
    });
}

// Runs the conversation, gives back the notes.
async function conversation(dir) {
    const notes = path.join(dir, 'notes');
    fs.writeFileSync(path.join(dir, 'parley.json'), JSON.stringify({ demo: { token_ms: 0 } }));
    const server = spawn(BIN, ['serve', '--config', path.join(dir, 'parley.json'), '--listen', '127.0.0.1:0',
        '--store', path.join(dir, 'parley.db')], { cwd: dir, env: { PATH: process.env.PATH, PARLEY_TRACE: notes } });
    const ended = new Promise((yes) => server.once('exit', yes));
    try {
        const port = await new Promise((yes, no) => {
            let said = '';
            const look = (d) => {
                said += d;
                const m = /http:\/\/127\.0\.0\.1:(\d+)/.exec(said);
                if (m) yes(Number(m[1]));
            };
            server.stdout.on('data', look);
            server.stderr.on('data', look);
            ended.then(() => no(new Error(`the server ended:\n${said}`)));
        });
        const asked = await post(port, '/v1/chat/stream', { message: 'Send 50 dollars to Hanako' });
        const confirmation = /"confirmation_id":"([^"]+)"/.exec(asked)?.[1];
        if (!confirmation) throw new Error(`no question came:\n${asked}`);
        await post(port, `/v1/approvals/${confirmation}`, { confirmed: true });
        const ledger = path.join(dir, 'parley.db.ledger.jsonl');
        for (let i = 0; i < 400 && !fs.existsSync(ledger); i++) await new Promise((r) => setTimeout(r, 25));
        if (!fs.existsSync(ledger)) throw new Error('nothing was paid');
    } finally {
        server.kill('SIGTERM');
        await ended;
    }
    const bytes = fs.readFileSync(notes);
    return Array.from({ length: bytes.length / 8 }, (_, i) => Number(bytes.readBigUInt64LE(i * 8)));
}

// Addresses to {name, file}.
function names(addresses) {
    const distinct = [...new Set(addresses)];
    const r = spawnSync('addr2line', ['-f', '-e', BIN], { input: distinct.map((a) => `0x${a.toString(16)}`).join('\n'), maxBuffer: 1 << 28 });
    const lines = r.stdout.toString().trim().split('\n');
    const of = new Map();
    distinct.forEach((a, i) => {
        const file = /(?:^|\/)src\/(.*\.[ch]):/.exec(lines[2 * i + 1])?.[1];
        of.set(a, { name: lines[2 * i], file });
    });
    return addresses.map((a) => of.get(a)).filter((f) => f.file?.endsWith('.c'));
}

// From the first byte of the first request to the payment's outcome: neither the start of the program nor what it may
// still say until it is ended is the message's way.
function message(calls) {
    const first = calls.findIndex((c) => c.file === 'http/server.c' && /accept|connection/.test(c.name));
    const on = first < 0 ? calls.findIndex((c) => c.file === 'http/conn.c') : first;
    const paid = calls.findIndex((c) => c.file === 'tool/demo/process_payment.c' && c.name === 'paid');
    if (paid < 0) throw new Error('the payment had no outcome');
    return calls.slice(on, paid + 1).filter((c) => !c.file.startsWith('base/') && !c.file.startsWith('loop/'));
}

const OTHER_WAYS = new Set(['door/chathttp.c', 'door/live.c', 'door/chatws.c', 'model/remote.c', 'model/upstream.c',
    'tool/process/keeper.c', 'dialect/held.c', 'store/sqlite_write.c']);   // the last: on its own thread

// What ARCHITECTURE.md names, in its order: the way in, and the way out beside it.
function told() {
    const text = fs.readFileSync(path.join(ROOT, 'ARCHITECTURE.md'), 'utf8');
    const life = text.split(/^# Where does X live/m)[0];
    const chapters = life.split(/^## /m).filter((c) => CHAPTERS.some((n) => c.startsWith(`${n}\n`)));
    if (chapters.length !== CHAPTERS.length) throw new Error('ARCHITECTURE.md lacks one of the chapters');
    const files = chapters.map((c) => [...c.matchAll(/`([a-z_0-9]+\/[a-z_0-9/]+\.c)`/g)].map((m) => m[1]));
    const lost = files.flat().find((f) => !fs.existsSync(path.join(ROOT, 'src', f)));
    if (lost) throw new Error(`ARCHITECTURE.md names ${lost}, which is not there`);
    const ways = files.map((list) => list.filter((f) => !OTHER_WAYS.has(f)));
    return [ways.slice(0, -1).flat(), ways.at(-1)];
}

const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'parley-trace-'));
let problems = [];
try {
    const way = message(names(await conversation(dir)));
    const room = (f) => f.slice(0, f.lastIndexOf('/'));
    const visited = [...new Set(way.map((c) => c.file))];
    let changes = 0;
    for (let i = 1; i < way.length; i++) if (room(way[i].file) !== room(way[i - 1].file)) changes++;
    if (args.includes('--print')) {
        let last = '';
        for (const c of way) { if (c.file !== last) console.log(`${c.file}`); last = c.file; console.log(`    ${c.name}`); }
    }
    console.log(`note: ${way.length} functions entered in ${visited.length} files, ${changes} changes of room`);
    if (!option('--bin')) {
        for (const files of told()) {
            let at = 0, before = 'the beginning';
            for (const f of files) {
                const here = way.findIndex((c, i) => i >= at && c.file === f);
                if (here < 0) problems.push(`${f} was not visited after ${before}, where ARCHITECTURE.md tells it`);
                else { at = here; before = f; }
            }
        }
        if (changes > CHANGES_MAX) problems.push(`${changes} changes of room, at most ${CHANGES_MAX}: somebody built a detour`);
        if (problems.length) console.log(`visited: ${visited.join(' ')}`);
    }
} catch (e) { problems.push(e.stack); }
fs.rmSync(dir, { recursive: true, force: true });
for (const p of problems) console.log(`    ${p}`);
if (problems.length) console.log('FAILED: the way of a gated message is the one that ARCHITECTURE.md tells');
console.log(problems.length ? '0 passed, 1 failed' : '1 passed, 0 failed');
process.exit(problems.length ? 1 : 0);
