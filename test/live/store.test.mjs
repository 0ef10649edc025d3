// Store trouble: the file locked by another process, taken away, restored over a crash; the disk full. New work gets
// 503 store_unavailable, reading goes on, and it heals by itself.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { BIN, check, oneProcess, parley, same, settled, skip, sound, test, told, until } from './lib.mjs';
import { locker, python } from './locker.mjs';

async function refused(server, body = { message: 'hello' }) {
    const r = await server.post('/v1/chat/stream', body);
    same([r.status, r.json?.error?.code], [503, 'store_unavailable'], 'new work');
    check(/Nothing was lost/.test(r.json.error.message), r.json.error.message);
}

test('while another program holds the file, new work is refused, reading goes on, and it heals', async (t) => {
    python();
    const server = await t.serve(), lock = await locker(t, server.db);
    const s = sound(await server.turn('Find articles about CRISPR'));
    await lock.take();
    await refused(server);
    await refused(server, { message: 'hello', thread_id: s.thread });
    const shown = await server.get(`/v1/threads/${s.thread}`);
    same([shown.status, shown.json.messages.length], [200, 2], 'reading');
    same((await server.get('/v1/threads')).json.threads.length, 1);
    const f = await server.events(s.thread, '0.0');
    await f.must('complete');
    await f.close();
    same(told(f.events), told(s.events));
    const ready = await server.get('/readyz');
    same([ready.status, ready.json.ready, typeof ready.json.problem], [503, false, 'string']);
    await lock.free();
    await until(async () => (await server.get('/readyz')).status === 200, 'it heals by itself');
    sound(await server.turn('hello', { thread_id: s.thread }));
    check(server.log.some((l) => l.event === 'store.unavailable') && server.log.some((l) => l.event === 'store.healed'), 'the log says so');
}, { timeout_ms: 90000 });

test('a run that is going when the file is locked goes on when it is free, and loses nothing', async (t) => {
    python();
    const server = await t.serve({ config: { demo: { token_ms: 20 } } }), lock = await locker(t, server.db);
    const s = await server.say('Find articles about CRISPR');
    await s.must('tool_start');
    await lock.take();
    await until(async () => (await server.get('/readyz')).status === 503, 'trouble to be seen');
    await lock.free();
    sound(await s.read());
    same(s.of('tool_start').length, 1);
    same(s.of('tool_complete').map((c) => c.ok), [true]);
    same((await settled(server, s.thread)).state, 'idle');
    const m = await server.metrics();
    same((await server.get('/v1/tools')).json.tools.find((x) => x.name === 'search_articles').runs, 1, 'how often it ran');
    same([m['parley_tool_runs_total{tool="search_articles",outcome="done"}'], m['parley_runs_total{outcome="complete"}']], [1, 1], 'what is counted');
}, { timeout_ms: 90000 });

test('a stop that could not be saved is refused, and the run is neither lost nor stuck', async (t) => {
    python();
    const server = await t.serve({ config: { demo: { token_ms: 10 } } }), lock = await locker(t, server.db);
    const s = await server.say('Tell me a long story');
    await s.must('text_delta');
    await lock.take();
    const r = await server.post(`/v1/threads/${s.thread}/stop`);
    same([r.status, r.json.error.code], [503, 'store_unavailable']);
    await lock.free();
    await settled(server, s.thread, 30000);
    await s.read();
    check(['complete', 'cancelled'].includes(s.types().at(-1)), `it ends: ${s.types().slice(-3)}`);
    const text = s.events.reduce((a, e) => (e.data.type === 'step_reset' ? e.data.message : e.data.type === 'text_delta' ? a + e.data.text : a), '');
    if (s.payload) same(text, s.payload.message);
    sound(await server.turn('hello', { thread_id: s.thread }));
}, { timeout_ms: 90000 });

test('an approval that could not be saved pays nothing, and pays once when it is given again', async (t) => {
    python();
    const server = await t.serve(), lock = await locker(t, server.db);
    const s = await server.turn('Send 50 dollars to Hanako');
    await lock.take();
    const r = await server.post(`/v1/approvals/${s.payload.awaiting[0]}`, { confirmed: true });
    same([r.status, r.json.error.code], [503, 'store_unavailable']);
    same(server.ledger(), []);
    await lock.free();
    await until(async () => (await server.get('/readyz')).status === 200, 'it heals');
    same(server.ledger(), [], 'not by itself');
    same((await server.post(`/v1/approvals/${s.payload.awaiting[0]}`, { confirmed: true })).status, 200);
    await settled(server, s.thread);
    same(server.ledger().length, 1);
}, { timeout_ms: 90000 });

test('a request_id refused while the file was locked may be used again', async (t) => {
    python();
    const server = await t.serve(), lock = await locker(t, server.db);
    await lock.take();
    await refused(server, { message: 'hello', request_id: 'r-1' });
    await lock.free();
    await until(async () => (await server.get('/readyz')).status === 200, 'it heals');
    sound(await server.turn('hello', { request_id: 'r-1' }));
    same((await server.get('/v1/threads')).json.threads.length, 1);
}, { timeout_ms: 90000 });

test('a full disk refuses new work, keeps what there is, and heals when there is room', async (t) => {
    if (process.getuid() !== 0) skip('needs root for a small file system');
    const dir = t.folder(), disk = path.join(dir, 'disk');
    fs.mkdirSync(disk);
    if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', disk]).status !== 0) skip('tmpfs cannot be mounted here');
    t.defer(() => { spawnSync('umount', ['-l', disk]); });
    const server = await t.serve({ dir, store: path.join(disk, 'x.db') });
    const s = sound(await server.turn('Find articles about CRISPR'));
    const ballast = path.join(disk, 'ballast');
    const fd = fs.openSync(ballast, 'w');
    try { for (;;) fs.writeSync(fd, Buffer.alloc(4096)); } catch (e) { same(e.code, 'ENOSPC'); } finally { fs.closeSync(fd); }
    // The write-ahead log may have room left; what is asked for is more than that, so that the message itself fails and
    // not, later, its answer (which would wait until there is room).
    const r = await until(async () => { const x = await server.post('/v1/chat/stream', { message: 'x'.repeat(300000), thread_id: s.thread }); return x.status !== 200 && x; }, 'the disk to be full');
    same([r.status, r.json.error.code], [503, 'store_unavailable']);
    check(/disk is full/.test(r.json.error.message), r.json.error.message);
    same((await server.get(`/v1/threads/${s.thread}`)).status, 200, 'reading goes on');
    fs.rmSync(ballast);
    await until(async () => (await server.get('/readyz')).status === 200, 'it heals by itself');
    await settled(server, s.thread);
    sound(await server.turn('hello', { thread_id: s.thread }));
}, { timeout_ms: 90000 });

test('a limit of the size of files is a full disk: new work is refused, and it heals when the limit is raised', async (t) => {
    oneProcess('it is about the file of its store');
    const server = await t.serve({ wrap: ['sh', '-c', 'ulimit -S -f 2048; exec "$@"', 'sh'] });          // 1 MiB
    const s = sound(await server.turn('Find articles about CRISPR'));
    const r = await until(async () => { const x = await server.post('/v1/chat/stream', { message: 'x'.repeat(300000), thread_id: s.thread }); return x.status !== 200 && x; }, 'the file to be as large as it may be');
    same([r.status, r.json.error.code], [503, 'store_unavailable']);
    const told = await until(() => server.log.find((l) => l.event === 'store.unavailable'), 'the word in the log');
    check(/limit of a file's size/.test(told.why), r.json.error.message);
    same((await server.get('/readyz')).json.problem, 'full');
    same((await server.get(`/v1/threads/${s.thread}`)).status, 200, 'reading goes on');
    same(spawnSync('prlimit', ['--pid', server.child.pid, '--fsize=unlimited']).status, 0);
    await until(async () => (await server.get('/readyz')).status === 200, 'it heals by itself');
    await settled(server, s.thread);
    sound(await server.turn('hello', { thread_id: s.thread }));
}, { timeout_ms: 90000 });

test('a backup that may not be as large as it is ends with a word, and leaves nothing', async (t) => {
    const dir = t.folder(), server = await t.serve({ dir }), to = path.join(dir, 'copy.db');
    await server.turn('hello');
    const r = spawnSync('sh', ['-c', 'ulimit -f 64; exec "$@"', 'sh', BIN, 'backup', to, '--store', server.db], { cwd: dir, encoding: 'utf8' });
    same([r.status, r.signal], [1, null], r.stderr);
    check(/cannot write .*copy\.db/.test(r.stderr) && !fs.readdirSync(dir).some((name) => name.startsWith('copy.db')), r.stderr);
});

test('a disk that is full is known at /readyz before the first write fails', async (t) => {
    if (process.getuid() !== 0) skip('needs root for a small file system');
    const dir = t.folder(), disk = path.join(dir, 'disk');
    fs.mkdirSync(disk);
    if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', disk]).status !== 0) skip('tmpfs cannot be mounted here');
    t.defer(() => { spawnSync('umount', ['-l', disk]); });
    const server = await t.serve({ dir, store: path.join(disk, 'x.db') });
    sound(await server.turn('hello'));
    same((await server.get('/readyz')).status, 200);
    const ballast = path.join(disk, 'ballast'), fd = fs.openSync(ballast, 'w');
    try { for (;;) fs.writeSync(fd, Buffer.alloc(4096)); } catch (e) { same(e.code, 'ENOSPC'); } finally { fs.closeSync(fd); }
    const ready = await until(async () => { const r = await server.get('/readyz'); return r.status === 503 && r.json; }, 'it to be known');
    same([ready.ready, ready.problem], [false, 'full']);
    check(/nearly full/.test(ready.message), ready.message);
    check(!server.log.some((l) => l.event === 'store.unavailable') && server.log.some((l) => l.event === 'store.low'), 'nothing has failed yet');
    fs.rmSync(ballast);
    await until(async () => (await server.get('/readyz')).status === 200, 'room again');
});

test('how long the write-ahead log is stands in the metrics', async (t) => {
    oneProcess('a database has a log of its own');
    const server = await t.serve();
    sound(await server.turn('hello'));
    await until(async () => (await server.metrics()).parley_store_log_bytes > 0, 'the metric');
});

// --- backups, and files that people move -----------------------------------------------------------

const sql = (db, text) => { const r = spawnSync('python3', ['-c', 'import sqlite3, sys; sqlite3.connect(sys.argv[1], isolation_level=None).execute(sys.argv[2])', db, text]); if (r.status !== 0) throw new Error(String(r.stderr)); };

// A server that was killed with words in its log, and a backup of the time before.
async function crashed(t) {
    python();
    const server = await t.serve(), first = sound(await server.turn('Find articles about CRISPR'));
    const backup = path.join(server.dir, 'backup.db');
    sql(server.db, `VACUUM INTO '${backup}'`);
    for (let i = 0; i < 20; i++) sound(await server.turn('Find articles about CRISPR'));
    await server.kill();
    return { server, first, backup };
}

test('a backup put over a crashed store by hand is not mixed with the log of the crash', async (t) => {
    const { server, backup } = await crashed(t), log = fs.statSync(server.db + '-wal').size;
    fs.copyFileSync(backup, server.db);
    const r = await parley(['serve', '--listen', '127.0.0.1:0', '--store', server.db], { cwd: t.folder() });
    same(r.code, 1);
    check(/do not belong together/.test(r.err) && /parley restore/.test(r.err), r.err);
    same(fs.statSync(server.db + '-wal').size, log, 'the log is left alone');
});

test('parley restore brings the backup after a crash, and what was there is kept and can be brought back', async (t) => {
    const { server, first, backup } = await crashed(t);
    const r = await parley(['restore', backup, '--store', server.db], { cwd: t.folder() });
    same(r.code, 0, r.err);
    check(/restored 1 conversations/.test(r.out), r.out);
    check(/Approvals .* pending again/.test(r.out) && /effects .* free again/.test(r.out) && /grants/.test(r.out), r.out);
    const next = await t.serve({ dir: server.dir });
    same((await next.get('/v1/threads')).json.threads.map((x) => x.id), [first.thread]);
    same((await next.get(`/v1/threads/${first.thread}`)).json.messages.length, 2);
    sound(await next.turn('hello', { thread_id: first.thread }));
    const kept = /kept as (\S+)/.exec(r.out)[1];
    same((await parley(['restore', kept, '--store', server.db], { cwd: t.folder() })).code, 1, 'not while a server runs');
    await next.term();
    same((await parley(['restore', kept, '--store', server.db], { cwd: t.folder() })).code, 0);
    const last = await t.serve({ dir: server.dir });
    const { threads } = (await last.get('/v1/threads?limit=200')).json;
    same(threads.length, 21, 'everything that was told as saved, the log of the crash included');
    for (const x of threads) same((await last.get(`/v1/threads/${x.id}`)).json.messages.length, 2);
}, { timeout_ms: 90000 });

test('parley backup copies one state of a store that is being written, and a restore brings all that was saved before', async (t) => {
    const server = await t.serve(), file = path.join(server.dir, 'backup.db'), before = [];
    for (let i = 0; i < 5; i++) before.push(sound(await server.turn('Find articles about CRISPR')).thread);
    let writing = true, more = 0;
    const writer = (async () => { while (writing && more < 150) { sound(await server.turn('Find articles about CRISPR')); more++; } })();
    await until(() => more > 0, 'somebody to write');
    const r = await parley(['backup', file, '--store', server.db], { cwd: t.folder() });
    writing = false;
    await writer;
    same(r.code, 0, r.err);
    same(r.err, '', 'how far it is, said to nobody who watches');
    same(fs.statSync(file).mode & 0o777, 0o600);
    same(fs.readdirSync(server.dir).filter((f) => f.startsWith('backup')), ['backup.db']);
    const said = Number(/^(\d+) conversations/.exec(r.out)[1]);
    check(said > 5 && said <= 5 + more + 1, r.out);
    await server.term();
    same((await parley(['restore', file, '--store', server.db], { cwd: t.folder() })).code, 0);
    const next = await t.serve({ dir: server.dir }), ids = (await next.get('/v1/threads?limit=200')).json.threads.map((x) => x.id);
    same(ids.length, said, 'what it said is in it');
    for (const id of before) {
        check(ids.includes(id), 'a conversation saved before the backup is not in it');
        same((await next.get(`/v1/threads/${id}`)).json.messages.length, 2);
    }
}, { timeout_ms: 90000 });

test('parley backup takes what a killed server left in its log, and changes nothing of it', async (t) => {
    const { server } = await crashed(t), file = path.join(server.dir, 'after.db'), log = fs.readFileSync(server.db + '-wal'), db = fs.readFileSync(server.db);
    const r = await parley(['backup', file, '--store', server.db], { cwd: t.folder() });
    same([r.code, /^21 conversations/.test(r.out)], [0, true], r.err + r.out);
    check(log.equals(fs.readFileSync(server.db + '-wal')) && db.equals(fs.readFileSync(server.db)), 'the store was touched');
    fs.copyFileSync(file, server.db);                       // put in place by hand, it does not fit the log that lies there
    check(/do not belong together/.test((await parley(['serve', '--listen', '127.0.0.1:0', '--store', server.db], { cwd: t.folder() })).err), 'mixed');
});

test('parley backup replaces nothing, leaves nothing when it fails, and says what to do', async (t) => {
    const server = await t.serve(), s = sound(await server.turn('Find articles about CRISPR')), at = (f) => path.join(server.dir, f);
    fs.writeFileSync(at('mine'), 'mine');
    fs.symlinkSync('nowhere', at('link'));
    fs.writeFileSync(at('cut.part'), '');
    fs.writeFileSync(at('junk.db'), 'no database, but long enough to be looked at'.repeat(100));
    const files = fs.readdirSync(server.dir).sort();
    for (const [args, words, code = 1] of [
        [[at('mine')], /mine is there already, and a backup replaces nothing/],
        [[at('link')], /link is there already/],
        [[at('cut')], /cut\.part is there: another backup is being written, or one was cut off; then remove it/],
        [[at('no/such/folder.db')], /cannot make \S*folder\.db\.part: No such file or directory/],
        [[server.db], /is there already/],
        [[`${server.db}-journal`], /choose a name that does not end in -journal, -wal or -shm/],
        [[at('new'), '--store', at('junk.db')], /junk\.db cannot be backed up: file is not a database/],
        [[at('new'), '--store', at('none.db')], /cannot read \S*none\.db/],
        [[], /backup needs the file to write/, 2],
    ]) {
        const r = await parley(['backup', ...(args.includes('--store') ? args : [...args, '--store', server.db])], { cwd: t.folder() });
        check(r.code === code && words.test(r.err) && r.out === '', `${args}: ${r.code} ${r.err}`);
    }
    same(fs.readdirSync(server.dir).sort(), files);
    // One fact that is not what was saved: it is named, and taken along only when that is said.
    await server.term();
    python();
    sql(server.db, "UPDATE fact SET body = replace(body, 'CRISPR', 'crispr') WHERE seq = 1");
    const r = await parley(['backup', at('new'), '--store', server.db], { cwd: t.folder() });
    check(r.code === 1 && r.err.includes(s.thread) && /--anyway/.test(r.err) && !fs.existsSync(at('new')) && !fs.existsSync(at('new.part')), r.err);
    const anyway = await parley(['backup', at('new'), '--anyway', '--store', server.db], { cwd: t.folder() });
    check(anyway.code === 0 && /damaged in it, as in the store: 1/.test(anyway.out), anyway.err + anyway.out);
});

test('a server whose file was removed takes no more work, says why, and lets no second one in', async (t) => {
    const server = await t.serve(), s = sound(await server.turn('hello'));
    for (const end of ['', '-wal', '-shm']) fs.rmSync(server.db + end);
    await until(async () => (await server.get('/readyz')).status === 503, 'it to be noticed');
    const ready = (await server.get('/readyz')).json;
    same([ready.ready, ready.problem], [false, 'gone']);
    check(/removed or replaced/.test(ready.message), ready.message);
    const r = await server.post('/v1/chat/stream', { message: 'hello' });
    same([r.status, r.json?.error?.code], [503, 'store_unavailable']);
    same((await server.get(`/v1/threads/${s.thread}`)).status, 200, 'reading goes on');
    check(server.log.some((l) => l.event === 'store.unavailable' && /removed or replaced/.test(l.why)), 'the log says so');
    const second = await parley(['serve', '--listen', '127.0.0.1:0', '--store', server.db], { cwd: t.folder() });
    same(second.code, 1);
    check(/used by another parley/.test(second.err), second.err);
});

test('while the files are away no stream and no answer hangs, and the runs go on when they are back', async (t) => {
    const server = await t.serve({ config: { demo: { token_ms: 20 } } }), ends = ['', '-wal', '-shm'];
    const typed = await server.say('Find articles about CRISPR'), ai = await server.open('POST', '/api/chat', { id: 'chat-1', messages: [{ id: 'u', role: 'user', parts: [{ type: 'text', text: 'Tell me a long story' }] }] });
    const response = server.post('/v1/responses', { model: 'parley', input: 'Tell me a long story' });
    await typed.must('text_delta');
    await until(async () => (await server.get('/v1/threads')).json.threads.length === 3, 'all to be under way');
    for (const end of ends) fs.renameSync(server.db + end, server.db + end + '.away');
    const last = (await typed.read()).events.at(-1).data;
    same([last.type, last.code, last.retryable], ['error', 'store_unavailable', true], JSON.stringify(last));
    check((await ai.read()).events.some((e) => e.data?.type === 'error' && /must bring the server's store back/.test(e.data.errorText)), 'the AI SDK is told');
    const r = await response;
    same([r.status, r.json.error.code], [503, 'store_unavailable'], r.text);
    for (const end of ends) fs.renameSync(server.db + end + '.away', server.db + end);
    await until(async () => (await server.get('/readyz')).status === 200, 'it heals');
    for (const x of (await server.get('/v1/threads')).json.threads) same((await settled(server, x.id, 30000)).state, 'idle');
    same((await server.get('/v1/tools')).json.tools.find((x) => x.name === 'search_articles').runs, 1, 'how often it ran');
}, { timeout_ms: 90000 });

// --- flipped bits ----------------------------------------------------------------------------------

test('a conversation with a flipped bit says so, can be deleted, and stops neither expiry nor others', async (t) => {
    python();
    const server = await t.serve({ config: { approvals: { expires: 3600 } } });
    const bad = await server.turn('Send 50 dollars to Hanako'), good = sound(await server.turn('hello'));
    await server.term();
    sql(server.db, `UPDATE fact SET body = replace(body, '50', '70') WHERE thread = 1`);
    sql(server.db, `UPDATE approval SET expires_ms = 5, sum = NULL WHERE id = '${bad.payload.awaiting[0]}'`);
    const next = await t.serve({ dir: server.dir });
    const r = await next.get(`/v1/threads/${bad.thread}`);
    same([r.status, r.json.error.code], [409, 'damaged']);
    check(/damaged/.test(r.json.error.message) && !/70|Hanako/.test(r.text), r.text);
    const yes = await next.post(`/v1/approvals/${bad.payload.awaiting[0]}`, { confirmed: true });
    same([yes.status, yes.json.error.code], [409, 'damaged']);
    same(next.ledger(), []);
    sound(await next.turn('hello', { thread_id: good.thread }));
    const asked = await next.turn('Send 20 dollars to Hanako');
    same((await next.post(`/v1/approvals/${asked.payload.awaiting[0]}`, { confirmed: true })).status, 200, 'others pay');
    await settled(next, asked.thread);
    same(next.ledger().map((l) => l.amount), [20]);
    same((await next.get('/readyz')).status, 200);
    same((await next.request('DELETE', `/v1/threads/${bad.thread}`)).status, 204);
    same((await next.get(`/v1/threads/${bad.thread}`)).status, 404);
    const lines = next.log.filter((l) => l.event === 'thread.damaged').length;
    check(lines >= 1 && lines < 20, `${lines} lines about it`);
});

test('an approval with a flipped bit is not shown as if it were true', async (t) => {
    python();
    const server = await t.serve(), s = await server.turn('Send 50 dollars to Hanako'), id = s.payload.awaiting[0];
    sql(server.db, `UPDATE approval SET body = replace(body, '50', '70')`);
    for (const a of [(await server.get(`/v1/approvals/${id}`)).json, ...(await server.get('/v1/approvals')).json.approvals])
        same([a.id, a.thread, a.status, a.input, a.ask], [id, s.thread, 'damaged', null, null]);
    same((await server.get(`/v1/threads/${s.thread}`)).json.pending[0].input.amount, 50, 'the conversation has it');
    same((await server.post(`/v1/approvals/${id}`, { confirmed: true })).status, 200);
    await settled(server, s.thread);
    same(server.ledger().map((l) => l.amount), [50]);
    same((await server.get(`/v1/approvals/${id}`)).json.status, 'done', 'written anew');
});

test('removing the lock file lets no second server in', async (t) => {
    const server = await t.serve();
    fs.rmSync(server.db + '-lock');
    const second = await parley(['serve', '--listen', '127.0.0.1:0', '--store', server.db], { cwd: t.folder() });
    same(second.code, 1);
    check(/used by another parley/.test(second.err), second.err);
    sound(await server.turn('hello'));
});

// --- lists ------------------------------------------------------------------------------------------

test('more approvals than one page holds are told page by page, each once, newest first', async (t) => {
    python();
    const server = await t.serve(), s = await server.turn('Send 50 dollars to Hanako');
    sql(server.db, `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1200) INSERT INTO approval(owner, id, thread, call, tool, status, body, requested_ms, expires_ms)
        SELECT 'local', 'c-' || i, 1, 'call-' || i, 'pay', iif(i % 100 = 0, 'offered', 'done'), '{"id":"c-' || i || '","status":"done"}', i / 3, 0 FROM n`);
    const pages = [];
    for (let at = '/v1/approvals'; at; at = pages.at(-1).next && `/v1/approvals?before=${pages.at(-1).next}`) pages.push((await server.get(at)).json);
    same(pages.map((p) => p.approvals.length), [500, 500, 189]);
    same(pages.at(-1).next, null);
    const ids = pages.flatMap((p) => p.approvals.map((a) => a.id));
    same([new Set(ids).size, ids[0], ids.at(-1)], [1189, s.payload.awaiting[0], 'c-1']);
    const three = (await server.get('/v1/approvals?status=done&limit=3')).json;
    same(three.approvals.map((a) => a.id), ['c-1199', 'c-1198', 'c-1197']);
    same((await server.get(`/v1/approvals?status=done&limit=2&before=${three.next}`)).json.approvals.map((a) => a.id), ['c-1196', 'c-1195']);
    same((await server.get('/v1/approvals?status=pending')).json.next, null);
});

test('a list of approvals asked for in words that mean nothing is refused with the words that do', async (t) => {
    const server = await t.serve();
    for (const [query, status, words] of [['status=bogus', 400, /pending, approved, .* unknown/], ['status=', 400, /pending/], ['limit=0', 422, /1 to 500/], ['limit=501', 422, /1 to 500/],
        ['limit=x', 422, /1 to 500/], ['before=yesterday', 422, /"next"/]]) {
        const r = await server.get(`/v1/approvals?${query}`);
        same([r.status, r.json?.error?.code], [status, 'bad_field'], query);
        check(words.test(r.json.error.message), r.json.error.message);
    }
    same((await server.get('/v1/approvals')).json, { approvals: [], next: null });
});
