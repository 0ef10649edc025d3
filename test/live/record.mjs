// record.mjs -- a server whose record is signed, in a file or in a database, and what one does with it:
// the program's own commands, and a stranger's verifier.
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { newStore, sql, storeUrl } from '../cluster/lib.mjs';
import { ROOT, parley, runToEnd, same, settled, skip, sound, until } from './lib.mjs';
import { as, auth, key } from './org.mjs';

export const lines = (file) => (fs.existsSync(file) ? fs.readFileSync(file, 'utf8').split('\n').filter(Boolean) : []);
export const payload = (line) => JSON.parse(Buffer.from(line.split('.')[1], 'base64url'));
export const types = (out) => out.split('\n').filter(Boolean).map((l) => JSON.parse(l));

export function keys(dir) {
    const { privateKey, publicKey } = crypto.generateKeyPairSync('ed25519');
    fs.writeFileSync(path.join(dir, 'audit.key'), privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
    fs.writeFileSync(path.join(dir, 'audit.pub'), publicKey.export({ type: 'spki', format: 'pem' }));
    return { key: `file:${path.join(dir, 'audit.key')}`, pub: path.join(dir, 'audit.pub') };
}

// Both kinds of store, for whoever tries the same with each: its name, and a url of a new one ('': the server's file).
export const STORES = [['a file', async () => ''], ['a database', async () => storeUrl(await newStore())]];

// {config} as for any server, on the database at {url}; without one on a file.
async function serve(t, dir, config, url, more = {}) {
    if (!url) return t.serve({ ...more, dir, config });
    const db = path.join(dir, 'x.db');
    return t.serve({ ...more, dir, store: null, db, config: { ...config, store: url, demo: { ...config.demo, ledger: `${db}.ledger.jsonl` } } });
}
const about = (dir, server, url) => ['--config', path.join(dir, 'parley.json'), ...(url ? [] : ['--store', server.db])];

export async function audited(t, { webhook, url, config = {} } = {}) {
    const dir = t.folder(), { key, pub } = keys(dir), file = path.join(dir, 'checkpoints.jws');
    const server = await serve(t, dir, { audit: { key, every: 1, file, ...(webhook && { webhook }) }, ...config }, url);
    const cli = (...args) => parley(['audit', ...args, ...about(dir, server, url)]);
    return { server, dir, file, pub, cli };
}

// A payment that was approved and made; gives its thread.
export async function paid(server, more = {}) {
    const s = sound(await server.turn('Send 50 dollars to Hanako', more));
    const id = s.events.find((e) => e.data.type === 'tool_confirmation').data.confirmation_id;
    const thread = s.events.at(-1).data.payload.thread_id;
    same((await server.post(`/v1/approvals/${id}`, { confirmed: true })).status, 200);
    await settled(server, thread);
    return thread;
}
export const noted = (file, count) => until(() => lines(file).length >= count && lines(file), `${count} checkpoints in the file`);

const DAY = 86400000;
// Nobody has touched any of it for so many days.
export async function untouched(server, url, days) {
    const set = `updated_ms = updated_ms - ${days * DAY}`;
    if (url) return sql(url, `UPDATE parley_thread SET ${set}`);
    const r = await runToEnd('python3', ['-c', 'import sqlite3, sys; sqlite3.connect(sys.argv[1], isolation_level=None, timeout=10).execute(sys.argv[2])', server.db, `UPDATE thread SET ${set}`]);
    return same(r.code, 0, r.err);
}
export const trimmed = (server) => until(() => server.log.some((l) => l.event === 'retention.trimmed'), 'the words to go', 60000);

// The verifier that shares no code with parley, over three files.
export const verifier = (...files) => runToEnd(process.execPath, [path.join(ROOT, 'examples/audit-verify/verify.mjs'), ...files]);
// The same as a function of the files' texts, for who asks it a thousand times: processes would cost minutes.
const AS_IT_IS = new Function('fs', 'process', 'console', 'crypto', 'isDeepStrictEqual',
    fs.readFileSync(path.join(ROOT, 'examples/audit-verify/verify.mjs'), 'utf8').replace(/^import .*$/gm, ''));
export function judged(...texts) {
    const said = [], say = (text) => said.push(text), left = {};
    const process = { argv: ['', '', ...texts.keys()].map(String), on: () => {}, exit: (code) => { left.code = code; throw left; } };
    try { AS_IT_IS({ readFileSync: (i) => texts[i] }, process, { log: say, error: say }, crypto, isDeepStrictEqual); } catch (e) { if (e !== left) said.push(e.stack); }
    return { code: left.code ?? 3, out: said.join('\n') };
}
export async function stranger(t, { cli, pub }, kept, ...more) {
    const out = path.join(t.folder(), 'export.jsonl');
    const r = await cli('export');
    same([r.code, r.err], [0, '']);
    fs.writeFileSync(out, r.out);
    fs.writeFileSync(`${out}.kept`, kept);
    return { export: r.out, ...(await verifier(out, pub, `${out}.kept`, ...more)) };
}

// --- people --------------------------------------------------------------------------------------

const ROLES = { ann: ['user'], bob: ['user', 'approver'], fay: ['approver'], fin: ['approver'], root: ['admin'] };
// A server that knows them.
export async function organisation(t, config = {}, { url, roles = ROLES, ...more } = {}) {
    const dir = more.dir ?? t.folder(), server = await serve(t, dir, { auth: auth(roles), ...config }, url, more);
    const cli = (...args) => parley(['people', ...args, ...about(dir, server, url)]);
    const audit = (...args) => parley(['audit', ...args, ...about(dir, server, url)]);
    const erase = (name, who) => parley(['people', 'erase', name, server.url], { env: { ...process.env, PARLEY_KEY: key(who) } });
    return { server, dir, cli, audit, erase, rows: () => rows(server.db, url) };
}
// Every row of every table, as one text each, with the table's name before it.
async function rows(file, url) {
    if (!url) return inFile(file);
    const tables = await sql(url, "SELECT c.relname FROM pg_class c WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace");
    const each = await Promise.all(tables.map(async ([name]) => (await sql(url, `SELECT to_json(x)::text FROM ${name} x`)).map(([row]) => `${name} ${row}`)));
    return each.flat().map((row) => row.replace(/\\\\x([0-9a-f]+)/g, (all, hex) => Buffer.from(hex, 'hex').toString()));
}
const IN_FILE = `import sqlite3, sys
db = sqlite3.connect(sys.argv[1], timeout=10)
for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'title_gram%' AND name NOT LIKE 'said_gram%'").fetchall():
    for row in db.execute(f'SELECT * FROM "{name}"'): print(name, repr(row))`;
async function inFile(file) {
    const r = await runToEnd('python3', ['-c', IN_FILE, file]);
    if (/No module named/.test(r.err) || r.code === 127) skip('no python3 with sqlite3');
    same(r.code, 0, r.err);
    return r.out.split('\n').filter(Boolean);
}
// ... in which ann wanted to pay and others said yes.
export async function people(t, config = { approvals: { who: 'approver' } }, deciders = ['bob']) {
    const { server, cli, erase } = await organisation(t, config);
    const s = await (await server.open('POST', '/v1/chat/stream', { message: 'Send 50 dollars to Hanako' }, as('ann'))).read();
    const id = s.events.find((e) => e.data.type === 'tool_confirmation').data.confirmation_id;
    for (const who of deciders) same((await server.post(`/v1/approvals/${id}`, { confirmed: true }, as(who))).status < 300, true);
    await until(() => server.ledger().length === 1, 'the payment');
    await until(async () => (await server.get('/v1/threads', as('ann'))).json.threads[0].state === 'idle', 'the end');
    return { server, as, cli, erase };
}
