// The record: signed checkpoints to a file and a webhook, deleted conversations that leave a stub, and
// what parley and a stranger's program find when somebody has changed something.
import { spawnSync } from 'node:child_process';
import crypto from 'node:crypto';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { Session, newStore, sql as ask, storeUrl } from '../cluster/lib.mjs';
import { check, oneProcess, parley, same, skip, sound, test, until } from './lib.mjs';
import { PAY, as, bank, decide, key, payments, say, sha256, still } from './org.mjs';
import { audited, keys, lines, noted, organisation, paid, payload, people, stranger, types } from './record.mjs';

const python = () => { if (spawnSync('python3', ['-c', 'import sqlite3']).status !== 0) skip('no python3 with sqlite3'); };
const sql = (db, text) => { const r = spawnSync('python3', ['-c', 'import sqlite3, sys; sqlite3.connect(sys.argv[1], isolation_level=None, timeout=10).execute(sys.argv[2])', db, text]); if (r.status !== 0) throw new Error(String(r.stderr)); };
// Whoever is told elsewhere; `status` is what it answers.
async function elsewhere(t) {
    const place = { told: [], status: 204 };
    const server = http.createServer(async (req, res) => {
        let body = '';
        for await (const chunk of req) body += chunk;
        if (place.status < 300) place.told.push([req.headers['content-type'], body]);
        res.writeHead(place.status).end();
    });
    await new Promise((yes) => server.listen(0, '127.0.0.1', yes));
    t.defer(() => server.close());
    place.url = `http://127.0.0.1:${server.address().port}/checkpoints`;
    return place;
}

test('checkpoints go to a file and to a webhook, signed, each tied to the one before', async (t) => {
    oneProcess('two may tell one checkpoint at the same moment');
    const place = await elsewhere(t), { server, file } = await audited(t, { webhook: place.url });
    await paid(server);
    await noted(file, 1);
    sound(await server.turn('hello'));
    const all = await noted(file, 2);
    const [one, two] = all.map(payload);
    same([one.number, one.previous, two.number, two.previous], [1, null, 2, crypto.createHash('sha256').update(all[0]).digest('hex')]);
    check(one.heads.every(([log, seq, head]) => /^[0-9a-f]{32}$/.test(log) && seq > 0 && /^[0-9a-f]{64}$/.test(head)), JSON.stringify(one));
    await until(() => place.told.length >= 2, 'the webhook');
    same(place.told[0], ['application/jose', all[0]]);
    check(!/local|Hanako/.test(JSON.stringify(all.map(payload))), 'no name of a person or of a conversation');
});

test('a conversation that somebody keeps out of checkpoints is in the next one, and the operator hears of it', async (t) => {
    oneProcess('the other one may be faster');
    python();
    const a = await audited(t), thread = await paid(a.server), { server, file } = a;
    const noted_up_to = (log) => Math.max(...lines(file).map(payload).flatMap((c) => c.heads).filter(([name]) => name === log).map(([, seq]) => seq));
    await noted(file, 1);
    const [log] = types((await a.cli('export', thread)).out);
    await until(() => noted_up_to(log.log) === log.seq, 'all of it to be noted');
    sql(server.db, 'UPDATE noted SET seq = seq + 1000');
    const event = await until(() => server.log.find((l) => l.event === 'audit.kept_out'), 'that it is said');
    same([event.level, event.conversations, event.first, event.facts, event.said_noted], ['security', 1, log.log, log.seq, log.seq + 1000]);
    sound(await server.turn('more', { thread_id: thread }));
    const now = types((await a.cli('export', thread)).out)[0];
    check(now.seq > log.seq, 'it went on');
    const known = await a.cli('verify', '--checkpoint', file);
    same([known.code, known.err], [0, ''], known.out);
    await until(() => noted_up_to(log.log) === now.seq, 'what is new to be noted');
    same(/went on since a checkpoint/.test((await a.cli('verify', '--checkpoint', file)).out), false);
});

test('a webhook that is down loses nothing and stops nobody', async (t) => {
    const place = await elsewhere(t), { server, file } = await audited(t, { webhook: place.url });
    place.status = 503;
    await paid(server);
    await until(() => server.log.some((l) => l.event === 'audit.untold' && /503/.test(l.why)), 'that it is said');
    sound(await server.turn('hello'));
    place.status = 200;
    await until(() => place.told.length > 0 && payload(place.told[0][1]).number === 1, 'the first one');
    check(lines(file).length >= 1, 'the file has it');
});

// Somebody else's transaction is in the middle of it: what the server does at that moment stands before or after it.
const within = async (t, url, statement, work) => {
    const other = new Session(url);
    t.defer(() => other.end());
    await other.ask(`BEGIN; ${statement}`);
    await work();
    await other.ask('COMMIT');
};
test('in a database: a conversation that goes while a checkpoint is made is not noted', async (t) => {
    const url = storeUrl(await newStore()), { server, file } = await audited(t, { url });
    await paid(server);
    await noted(file, 1);
    const thread = await paid(server), had = lines(file).length;
    await within(t, url, `DELETE FROM parley_thread WHERE name = '${thread}'`, () => noted(file, had + 1));
    same((await ask(url, 'SELECT thread FROM parley_noted')).length, 1);
});
test('in a database: what is noted of a conversation while it waits to go, goes with it', async (t) => {
    const url = storeUrl(await newStore()), dir = t.folder(), { key: signs } = keys(dir);
    const { server } = await audited(t, { url, config: { audit: { key: signs, every: 3600, file: path.join(dir, 'c.jws') } } });
    const thread = await paid(server);
    let gone;
    await within(t, url, 'INSERT INTO parley_noted(thread, seq) SELECT id, seq FROM parley_thread FOR KEY SHARE', async () => {
        gone = server.request('DELETE', `/v1/threads/${thread}`);
        await until(async () => (await ask(url, 'SELECT 1 FROM pg_locks WHERE NOT granted')).length, 'that it waits');
    });
    same((await gone).status, 204);
    same((await ask(url, 'SELECT thread FROM parley_noted')).length, 0);
});

test('a checkpoint that a full disk cuts off is taken out again, and told when there is room', async (t) => {
    oneProcess('each writes into a file of its own');
    if (process.getuid() !== 0) skip('needs root for a small file system');
    const dir = t.folder(), disk = path.join(dir, 'disk'), file = path.join(disk, 'c.jws'), { key: signs, pub } = keys(dir);
    fs.mkdirSync(disk);
    if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=16k', 'tmpfs', disk]).status !== 0) skip('tmpfs cannot be mounted here');
    t.defer(() => { spawnSync('umount', ['-l', disk]); });
    const server = await t.serve({ dir, config: { audit: { key: signs, every: 1, file } } });
    await paid(server);
    await noted(file, 1);
    fs.writeFileSync(path.join(disk, 'ballast'), Buffer.alloc(12288));
    for (let i = 0; !server.log.some((l) => l.event === 'audit.untold'); i++) {           // to the end of its page
        await server.turn('hello');
        const n = lines(file).length;
        await until(() => lines(file).length > n || server.log.some((l) => l.event === 'audit.untold'), 'the next one');
    }
    const whole = fs.readFileSync(file, 'utf8');
    check(whole.endsWith('\n'), 'no half of a line is left');
    fs.rmSync(path.join(disk, 'ballast'));
    const [had] = [lines(file).length];
    await until(() => lines(file).length > had, 'the one that was cut off');
    same(lines(file).map((l) => payload(l).number), lines(file).map((_, i) => i + 1));
    const { code, out } = await parley(['audit', 'verify', '--checkpoint', file, '--public', pub, '--config', path.join(dir, 'parley.json'), '--store', server.db]);
    same(code, 0, out);
});

test('a deleted conversation leaves who approved what, and none of its words', async (t) => {
    const a = await audited(t), thread = await paid(a.server);
    await noted(a.file, 1);
    same((await a.server.request('DELETE', `/v1/threads/${thread}`)).status, 204);
    same((await a.server.get(`/v1/threads/${thread}`)).status, 404);
    const shown = await a.cli('show', thread);
    check(/removed at .* by local/.test(shown.out) && /decided.by +local/.test(shown.out) && /decided.via +rest/.test(shown.out), shown.out);
    check(/asked.digest +[0-9a-f]{64}/.test(shown.out) && /finished.outcome +done/.test(shown.out), shown.out);
    const { out, code } = await a.cli('verify', '--checkpoint', a.file);
    same([code, /1 removed ones.*all is as it was recorded/.test(out)], [0, true], out);
    const r = await stranger(t, a, lines(a.file).at(-1));
    same(r.code, 0, r.out);
    check(!/Hanako/.test(r.export), 'its words are gone');
});

test('export tells the text shown, the bytes run, who and by which way; a stranger verifies it', async (t) => {
    const a = await audited(t), thread = await paid(a.server);
    const kept = (await noted(a.file, 1)).at(-1);
    const r = await stranger(t, a, kept);
    same(r.code, 0, r.out);
    const call = r.export.split('\n').filter(Boolean).map((l) => JSON.parse(l)).find((l) => l.type === 'call');
    same([call.thread, call.owner, call.tool, call.asked.shown, JSON.parse(call.input).amount, call.decided.outcome, call.decided.by, call.decided.via, call.finished.outcome],
        [thread, 'local', 'process_payment', 'Send 50 USD to Hanako?', 50, 'approved', 'local', 'rest', 'done']);
    check(/^[0-9a-f]{64}$/.test(call.asked.digest) && call.asked.definition, 'what was approved, and by which policy');
});

// A payment that ran without a question about it: what its line says, and what is left of it in the stub. A stranger verifies both.
async function unasked(t, tool, pays) {
    const b = await bank(t), dir = t.folder(), { key: signs, pub } = keys(dir), file = path.join(dir, 'c.jws');
    const config = { approvals: { rules: [{ tool: '*', from: { role: 'approver' } }] }, audit: { key: signs, every: 1, file } };
    const { server, audit } = await organisation(t, payments(b, tool, config), { dir });
    const thread = await pays(server), verified = async () => { const v = await stranger(t, { cli: audit, pub }, lines(file).at(-1)); same(v.code, 0, v.out); };
    await still(server, 'ann', thread);
    await noted(file, 1);
    await verified();
    const told = types((await audit('export', thread)).out).filter((l) => l.type === 'call').find((l) => l.started_at);
    same((await server.request('DELETE', `/v1/threads/${thread}`, undefined, as('ann'))).status, 204);
    const stub = types((await audit('export', thread)).out).find((l) => l.type === 'stub');
    const { input, type, log, owner, thread: of, run, ...without } = told;
    same(JSON.parse(stub.body).calls.find((c) => c.call === told.call), without, 'the stub');
    await verified();
    same(b.books.at(-1).call, told.call);
    const { amount, currency, recipient } = JSON.parse(input);
    same(told.digest, sha256(JSON.stringify({ amount, currency, recipient })), 'the digest of what ran');
    return told;
}

test('of a payment that somebody changed and approved so, the digest and the definition stay', async (t) => {
    const told = await unasked(t, { confirm: 'always', edit: ['/amount'] }, async (server) => {
        const s = await say(server, 'ann', PAY(50));
        same((await decide(server, 'fay', s.ids[0], true, { input: { amount: 40, currency: 'USD', recipient: 'Hanako' } })).status, 200);
        return s.thread;
    });
    same([JSON.parse(told.input).amount, told.decided.by, told.decided.roles, told.decided.outcome], [40, 'fay', 'approver', 'approved']);
    check(/^[0-9a-f]{32,}$/.test(told.decided.definition), JSON.stringify(told));
});

test('of a payment that a grant allowed, its digest, definition, rule and the role that gave it stay', async (t) => {
    const told = await unasked(t, { confirm: 'always', grant: { for: 3600, count: 5, same: ['/recipient'] } }, async (server) => {
        const s = await say(server, 'ann', PAY(50));
        same((await decide(server, 'fay', s.ids[0], true, { grant: { scope: 'me' } })).status, 200);
        await still(server, 'ann', s.thread);
        return (await say(server, 'ann', PAY(50))).thread;
    });
    same([told.asked, told.decided.by, told.decided.roles, told.decided.via, told.decided.rule.from.role], [undefined, 'fay', 'approver', 'grant', 'approver']);
    check(/^[0-9a-f]{32,}$/.test(told.decided.definition) && told.decided.grant, JSON.stringify(told));
});

test('of a payment that nobody had to be asked about, the digest stays', async (t) => {
    const told = await unasked(t, { confirm: 'never' }, async (server) => (await say(server, 'ann', PAY(50))).thread);
    same([told.asked, told.decided, told.finished.outcome], [undefined, undefined, 'done']);
});

test('a changed amount, a cut end and a lost conversation are found by parley and by the stranger', async (t) => {
    python();
    const a = await audited(t);
    await paid(a.server);
    sound(await a.server.turn('hello'));
    await noted(a.file, 1);
    await until(async () => /"number"/.test(JSON.stringify(lines(a.file).map(payload))) && lines(a.file).map(payload).flatMap((c) => c.heads).length >= 2, 'both conversations');
    await a.server.term();
    const kept = fs.readFileSync(a.file, 'utf8'), clean = fs.readFileSync(a.server.db);
    for (const [what, change, words] of [
        ['one digit', "UPDATE fact SET body = replace(body, '\"amount\\\":50', '\"amount\\\":90') WHERE body LIKE '%amount%50%'", /is not what was appended/],
        ['the end', 'UPDATE thread SET seq = seq - 1, links = (SELECT link FROM fact f WHERE f.thread = 1 AND f.seq = thread.seq - 1) WHERE id = 1', /facts|its head|ends at fact|its end/],
        ['a conversation', 'DELETE FROM thread WHERE id = 2', /is gone without a stub/]]) {
        fs.writeFileSync(a.server.db, clean);
        sql(a.server.db, change.replaceAll('\\\\"', '\\"'));
        if (what === 'the end') sql(a.server.db, 'DELETE FROM fact WHERE thread = 1 AND seq > (SELECT seq FROM thread WHERE id = 1)');
        const r = await a.cli('verify', '--checkpoint', a.file);
        same(r.code, 1, `${what}: ${r.out}${r.err}`);
        check(words.test(r.out), `${what}: ${r.out}`);
        const s = await stranger(t, a, kept);
        same(s.code, 1, `${what}: ${s.out}`);
    }
    fs.writeFileSync(a.server.db, clean);
    same((await a.cli('verify', '--checkpoint', a.file)).code, 0);
});

test('what cannot be verified is said in words, with an exit status of its own', async (t) => {
    const dir = t.folder(), { key } = keys(dir);
    const run = (...args) => parley(['audit', ...args], { cwd: dir });
    same((await run()).code, 2);
    same((await run('verify', 'more')).code, 2);
    same((await run('show')).code, 2);
    const r = await run('verify', '--store', 'nothing.db');
    same(r.code, 3);
    check(/could not be read: cannot read nothing.db/.test(r.err), r.err);
    same((await run('verify', '--store', 'nothing.db', '--public', 'nobody.pub')).code, 3);
    for (const [audit, words] of [[{ file: 'x' }, /need a key/], [{ key }, /nobody is told/], [{ key: 'text:junk', file: 'x' }, /openssl genpkey/], [{ key, file: 'x', webhook: 'ftp://x' }, /webhook/]]) {
        fs.writeFileSync(path.join(dir, 'parley.json'), JSON.stringify({ audit }));
        const c = await parley(['check'], { cwd: dir });
        check(c.code === 1 && words.test(c.err), `${JSON.stringify(audit)}: ${c.err}`);
    }
});

// --- people -------------------------------------------------------------------------------------

test('a person gets all that is theirs, and of others only what they decided', async (t) => {
    const { cli } = await people(t);
    const ann = types((await cli('export', 'ann')).out), bob = types((await cli('export', 'bob')).out);
    same([...new Set(ann.map((l) => l.type))], ['log', 'fact', 'call', 'end']);
    check(ann.some((l) => /Hanako/.test(l.body ?? '')), 'her words');
    same(bob.map((l) => l.type), ['decision', 'end']);
    same([bob[0].decided.by, bob[0].decided.outcome, bob[0].finished.outcome], ['bob', 'approved', 'done']);
    check(!/Hanako|ann/.test(JSON.stringify(bob)), 'nothing of hers');
    same(types((await cli('export', 'nobody')).out), [{ type: 'end', logs: 0, stubs: 0 }]);
});

test('where two must say yes the record has both, and each gets their own part of it', async (t) => {
    const rules = [{ tool: '*', from: { role: 'approver', count: 2 } }];
    const dir = t.folder(), { key: signs, pub } = keys(dir), file = path.join(dir, 'c.jws');
    const { server, cli, as, erase } = await people(t, { approvals: { rules }, audit: { key: signs, every: 1, file } }, ['fay', 'fin']);
    const audit = (...args) => parley(['audit', ...args, '--store', server.db], { cwd: t.folder() }), all = async () => types((await audit('export')).out);
    const v = await stranger(t, { cli: audit, pub }, (await noted(file, 1)).at(-1));
    same(v.code, 0, v.out);
    const [call] = (await all()).filter((l) => l.type === 'call');
    same(call.asked.rule.from, { ...rules[0].from, not_requester: false });
    same([call.votes.map((v) => v.by), call.votes[0].roles, call.decided.by, call.decided.roles], [['fay'], 'approver', 'fin', 'approver']);
    const own = async (who) => types((await cli('export', who)).out).filter((l) => l.type === 'decision');
    const [mine] = await own('fay');
    same([mine.votes[0].by, mine.decided.outcome, mine.decided.by], ['fay', 'approved', undefined]);
    same((await server.request('DELETE', `/v1/threads/${call.thread}`, undefined, as('ann'))).status, 204);
    const [left] = await own('fay');
    same([left.votes[0].by, left.decided.outcome, left.decided.by], ['fay', 'approved', undefined]);
    same((await erase('fay', 'root')).out, '0 conversations deleted, the name taken out of 1 stubs\n');
    const stub = (await all()).find((l) => l.type === 'stub');
    check(!stub.body.includes('fay') && stub.body.includes('"by":"fin"'), stub.body);
    same(await own('fay'), []);
});

test('whoever is erased is gone, what they approved is not; only an administrator may', async (t) => {
    const { server, as, cli, erase } = await people(t);
    const r0 = await server.post('/v1/session', { token: key('ann') }, { origin: server.url });
    const cookie = r0.headers['set-cookie'][0].split(';')[0];
    same((await server.get('/v1/threads', { cookie })).status, 200);
    const no = await erase('ann', 'bob');
    check(no.code === 1 && /\(403\)/.test(no.err), no.err);
    same((await erase('ann', 'root')).out, '1 conversations deleted, the name taken out of 1 stubs\n');
    same((await server.get('/v1/threads', as('ann'))).json.threads, []);
    await until(async () => (await server.get('/v1/threads', { cookie })).status === 401, 'the end of her sign-in');
    same(types((await cli('export', 'ann')).out).map((l) => l.type), ['end']);
    same(types((await cli('export', 'bob')).out).map((l) => l.type), ['decision', 'end']);
    same((await erase('bob', 'root')).out, '0 conversations deleted, the name taken out of 1 stubs\n');
    const r = await parley(['audit', 'verify', '--store', server.db], { cwd: t.folder() });
    same(r.code, 0, r.out);
    const all = await parley(['audit', 'export', '--store', server.db], { cwd: t.folder() });
    check(!/"ann"|bob|Hanako/.test(all.out) && /erased-/.test(all.out), all.out);
    same((await parley(['people', 'erase'])).code, 2);
});
