// way.test.mjs -- the way of one gated message through the files, held against ARCHITECTURE.md.
//
// A build with -Dtrace=true, as build-test is, notes every function that the loop thread enters
// (hooks.c). This program starts it, writes "Send 50 dollars to Hanako", says yes, and reads the
// notes: the files that were visited, in the order of their first visit, and how often one file of
// a room was left for another room. Every `room/file.c` that ARCHITECTURE.md names in the chapters
// of the message's life must be there, and in that order.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { check, until } from '../lib/check.mjs';
import { BIN, ROOT } from '../lib/program.mjs';
import { test } from '../lib/test.mjs';

const OTHER = process.env.TRACE_BIN;
const PROGRAM = OTHER || BIN;
const CHAPTERS = ['In', 'The mailbox', 'The model', 'The gate', 'Out'];
// How often the way may go from one room to another and back: what it was when this was written
// (307 to 328), and a little for the moments at which the loop looks. More is a detour that
// somebody built. What it was before the rooms: docs/shape.md.
const CHANGES_MAX = 345;

// Runs the conversation, gives back the notes.
async function conversation(t) {
    const dir = t.folder(), notes = path.join(dir, 'notes');
    const server = await t.serve({ dir, bin: PROGRAM, env: { PARLEY_TRACE: notes } });
    const asked = await server.post('/v1/chat/stream', { message: 'Send 50 dollars to Hanako' });
    const confirmation = /"confirmation_id":"([^"]+)"/.exec(asked.text)?.[1];
    check(confirmation, `no question came:\n${asked.text}`);
    await server.post(`/v1/approvals/${confirmation}`, { confirmed: true });
    await until(() => server.ledger().length, 'the payment');
    await server.term();
    const bytes = fs.readFileSync(notes);
    return Array.from({ length: bytes.length / 8 }, (_, i) => Number(bytes.readBigUInt64LE(i * 8)));
}

// Addresses to {name, file}.
function names(addresses) {
    const distinct = [...new Set(addresses)];
    const input = distinct.map((a) => `0x${a.toString(16)}`).join('\n');
    const r = spawnSync('addr2line', ['-f', '-e', PROGRAM], { input, maxBuffer: 1 << 28 });
    const lines = r.stdout.toString().trim().split('\n');
    const of = new Map();
    distinct.forEach((a, i) => {
        const file = /(?:^|\/)src\/(.*\.[ch]):/.exec(lines[2 * i + 1])?.[1];
        of.set(a, { name: lines[2 * i], file });
    });
    return addresses.map((a) => of.get(a)).filter((f) => f.file?.endsWith('.c'));
}

// From the first byte of the first request to the payment's outcome: neither the start of the
// program nor what it may still say until it is ended is the message's way. (net/ is what http/ was
// called before there were rooms.)
function message(calls) {
    const in_ = (c, file) => c.file === `http/${file}` || c.file === `net/${file}`;
    const first = calls.findIndex((c) => in_(c, 'server.c') && /accept|connection/.test(c.name));
    const on = first < 0 ? calls.findIndex((c) => in_(c, 'conn.c')) : first;
    const paid = calls.findIndex((c) => /process_payment\.c$/.test(c.file) && c.name === 'paid');
    check(paid >= 0, 'the payment had no outcome');
    return calls.slice(on, paid + 1).filter((c) => !/^(base|loop)\//.test(c.file));
}

const OTHER_WAYS = new Set(['door/chathttp.c', 'door/live.c', 'door/chatws.c', 'model/remote.c',
    'model/upstream.c', 'tool/process/keeper.c', 'dialect/held.c',
    'store/sqlite_write.c']);   // the last: on its own thread

// What ARCHITECTURE.md names, in its order: the way in, and the way out beside it.
function told() {
    const text = fs.readFileSync(path.join(ROOT, 'ARCHITECTURE.md'), 'utf8');
    const life = text.split(/^# Where does X live/m)[0];
    const is_told = (c) => CHAPTERS.some((n) => c.startsWith(`${n}\n`));
    const chapters = life.split(/^## /m).filter(is_told);
    check(chapters.length === CHAPTERS.length, 'ARCHITECTURE.md lacks one of the chapters');
    const named = (c) => [...c.matchAll(/`([a-z_0-9]+\/[a-z_0-9/]+\.c)`/g)].map((m) => m[1]);
    const files = chapters.map(named);
    const lost = files.flat().find((f) => !fs.existsSync(path.join(ROOT, 'src', f)));
    check(!lost, `ARCHITECTURE.md names ${lost}, which is not there`);
    const ways = files.map((list) => list.filter((f) => !OTHER_WAYS.has(f)));
    return [ways.slice(0, -1).flat(), ways.at(-1)];
}

const room = (c) => path.dirname(c.file);
const changes = (way, of) => way.filter((c, i) => i && of(c) !== of(way[i - 1])).length;

function print(way) {
    way.forEach((c, i) => console.log(c.file === way[i - 1]?.file ? `    ${c.name}` : `${c.file}\n    ${c.name}`));
}

test('the way of a gated message is the one that ARCHITECTURE.md tells', async (t) => {
    const way = message(names(await conversation(t)));
    const visited = [...new Set(way.map((c) => c.file))], between = changes(way, room);
    if (process.env.PRINT) print(way);
    console.log(`note: ${way.length} functions entered in ${visited.length} files, `
        + `${changes(way, (c) => c.file)} changes of file, ${between} of room`);
    if (OTHER) return;
    for (const files of told()) {
        let at = 0, before = 'the beginning';
        for (const f of files) {
            const here = way.findIndex((c, i) => i >= at && c.file === f);
            check(here >= 0, `${f} was not visited after ${before}, where ARCHITECTURE.md tells it\n`
                + `visited: ${visited.join(' ')}`);
            [at, before] = [here, f];
        }
    }
    check(between <= CHANGES_MAX,
        `${between} changes of room, at most ${CHANGES_MAX}: somebody built a detour`);
}, { timeout_ms: 120000 });
