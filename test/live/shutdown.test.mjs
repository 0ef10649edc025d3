// SIGTERM drains: no new runs, streams told, exit 0 within 5 s; what was cut goes
// on at the next start, and nothing that was told is lost.
//
// The 5 s are the program's own (an alarm before they are over, cli/serve.c). What is seen here is that
// the end comes where it would otherwise never come; the machine may be late in telling us.
import fs from 'node:fs';
import path from 'node:path';
import { check, parley, pause, same, settled, sound, test, told, until, within } from './lib.mjs';

const RESTARTING = 'The server is restarting; reconnect to continue.';
const SLOW = { config: { demo: { token_ms: 20 } } };

async function timed(server) {
    const start = Date.now();
    same(await server.term(), 0, 'the exit status');
    const ms = Date.now() - start;
    if (ms > 5000) console.log(`note: an end after SIGTERM was seen after ${ms} ms`);
}

test('SIGTERM ends an idle server with 0', async (t) => timed(await t.serve()));

test('SIGTERM tells every stream, each in its own form', async (t) => {
    const server = await t.serve(SLOW);
    const typed = await server.say('Tell me a long story');
    const seed = await server.open('POST', '/functions/v1/chat', { message: 'Tell me a long story' });
    const events = await server.events(typed.thread, '0.0');
    const idle = await server.events((await server.post('/v1/threads', {})).json.id, '0.0');
    await typed.must('text_delta');
    await seed.must((e) => e.data?.choices);
    await timed(server);
    for (const s of [typed, events, idle]) {
        same((await s.read()).events.slice(-2).map((e) => e.data), [{ type: 'restarting' }, { type: 'status', message: RESTARTING }], 'an event, and words');
        same(s.broken, false, 'a proper end');
    }
    same((await seed.read()).types().slice(-2), ['error', '[DONE]']);
    same(seed.events.at(-2).data, { type: 'error', error: RESTARTING, code: 'restarting' });
});

test('SIGTERM tells an AI SDK stream by a transient part, and people by an error', async (t) => {
    const server = await t.serve(SLOW);
    const s = await server.open('POST', '/api/chat', { id: 'chat-1', messages: [{ id: 'u', role: 'user', parts: [{ type: 'text', text: 'Tell me a long story' }] }] });
    await s.must((e) => e.data?.type === 'text-delta');
    await timed(server);
    same((await s.read()).events.slice(-3).map((e) => e.data), [{ type: 'data-restarting', data: {}, transient: true }, { type: 'error', errorText: RESTARTING }, undefined]);
});

test('a run cut by SIGTERM goes on at the next start, and a follower is told to begin the step again', async (t) => {
    const server = await t.serve(SLOW);
    const s = await server.say('Tell me a long story');
    for (let i = 0; i < 5; i++) await s.must('text_delta');
    await timed(server);
    await s.read();
    const next = await t.serve({ dir: server.dir });
    const f = await next.events(s.thread, s.lastId);
    const end = await f.must('complete');
    await f.close();
    same(f.types()[0], 'step_reset', 'the first event');
    same(f.of('step_reset')[0].message, '', 'the text before the step');
    same(f.words, end.data.payload.message, 'the step from its start');
    same((await next.get(`/v1/threads/${s.thread}`)).json.state, 'idle');
    same((await next.get('/readyz')).json.runs, 0, 'the runs that are counted');
    sound(await next.turn('hello', { thread_id: s.thread }));
});

test('words before a finished tool are not told again after a restart', async (t) => {
    const server = await t.serve(SLOW);
    const s = await server.say('Find articles about CRISPR');
    await s.must('tool_complete');
    await s.must((e) => e.data.type === 'text_delta' && /^\w/.test(e.data.text));
    await timed(server);
    await s.read();
    const next = await t.serve({ dir: server.dir });
    const f = await next.events(s.thread, s.lastId);
    const end = await f.must('complete');
    await f.close();
    const [reset] = f.of('step_reset');
    check(reset, 'a reset, because words were lost');
    same(reset.message, 'Let me search for that...\n\n[[tool:0]]', 'what stays');
    same(reset.message + f.words, end.data.payload.message);
    same(f.of('tool_start').length, 0, 'the search is not run again');
});

test('a tool that runs at SIGTERM may end, and its outcome is kept', async (t) => {
    const server = await t.serve(SLOW);
    const s = await server.say('Find articles about CRISPR');
    await s.must('tool_start');
    await timed(server);
    const next = await t.serve({ dir: server.dir });
    await settled(next, s.thread);
    const f = await next.events(s.thread, '0.0');
    await f.must('complete');
    await f.close();
    same(f.of('tool_start').length, 1);
    same(f.payload.tool_history.map((h) => h.ok), [true]);
});

test('while it drains, new work is refused and health is still told', async (t) => {
    const server = await t.serve(SLOW);
    const s = await server.say('Find articles about CRISPR');
    await s.must('tool_start');
    server.child.kill('SIGTERM');
    for (let h; (h = await server.get('/readyz').catch(() => null)) && h.status === 200;) ;      // until it has heard
    const r = await server.post('/v1/chat/stream', { message: 'hello' }).catch((e) => ({ refused: e.message }));
    check(r.refused || [503, 200].includes(r.status), `refused: ${JSON.stringify(r)}`);
    if (r.status === 503) same(r.json.error.code, 'restarting');
    check(r.status !== 200, 'no new run');
    same(await within(server.gone, 'the end'), 0);
});

test('two conversations, a gate and a story survive a restart as they were', async (t) => {
    const server = await t.serve();
    const a = sound(await server.turn('Tell me a long story')), b = sound(await server.turn('Send 50 dollars to Hanako'));
    const before = await Promise.all([a, b].map((s) => server.get(`/v1/threads/${s.thread}`)));
    await timed(server);
    const next = await t.serve({ dir: server.dir });
    const after = await Promise.all([a, b].map((s) => next.get(`/v1/threads/${s.thread}`)));
    same(after.map((r) => r.text), before.map((r) => r.text));
    const f = await next.events(a.thread, '0.0');
    await f.must('complete');
    same(told(f.events), told(a.events));
    await f.close();
});

test('a kept connection does not hold up the end', async (t) => {
    const server = await t.serve();
    const { default: net } = await import('node:net');
    const socket = net.connect(server.port, '127.0.0.1');
    socket.on('error', () => {});
    await new Promise((yes) => socket.on('connect', yes));
    socket.write('GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await new Promise((yes) => socket.once('data', yes));
    await timed(server);
    socket.destroy();
});

test('a message that waits for its turn is told that it will not come', async (t) => {
    const server = await t.serve(SLOW);
    const s = await server.say('Tell me a long story');
    await s.must('text_delta');
    const queued = server.post('/v1/chat/stream', { message: 'hello', thread_id: s.thread, when_busy: 'queue' });
    await until(async () => (await server.metrics()).parley_connections >= 3, 'the second message to be there');
    server.child.kill('SIGTERM');
    const r = await queued;
    same([r.status, r.json.error.code], [503, 'restarting']);
    same(await within(server.gone, 'the end'), 0);
});

test('SIGHUP ends nothing: it reads the configuration anew, and says so', async (t) => {
    const server = await t.serve();
    server.child.kill('SIGHUP');
    await until(() => server.log.some((l) => l.event === 'reload.done' && l.changed === 'nothing'), 'a word about it');
    same((await server.get('/healthz')).status, 200);
});

test('parley health asks the server that runs, and fails when there is none', async (t) => {
    const server = await t.serve();
    const good = await parley(['health', server.url]);
    same([good.code, good.out], [0, 'alive\n']);
    same((await parley(['health', server.url + '/'])).code, 0, 'the address as a browser writes it');
    // without an address: where this configuration listens, or --listen says; also one that was spoilt since the start
    const here = new URL(server.url).host, at = path.join(t.folder(), 'parley.json');
    fs.writeFileSync(at, JSON.stringify({ listen: here.replace('127.0.0.1', '0.0.0.0'), auth: { keys: [{ sha256: '0'.repeat(64), principal: 'x' }] } }));
    same((await parley(['health', '--config', at])).out, 'alive\n');
    fs.writeFileSync(at, '{ "listen": ');
    const spoilt = await parley(['health', '--config', at, '--listen', here]);
    check(spoilt.code === 0 && /parley\.json:1: /.test(spoilt.err), spoilt.err);
    await server.term();
    const gone = await parley(['health', server.url]);
    check(gone.code === 1 && /does not answer/.test(gone.err), gone.err);
    same((await parley(['health', 'file:///etc'])).code, 1);
});

test('nobody who stops reading the log holds up the server, and it ends when it is told to', async (t) => {
    const server = await t.serve();
    server.child.stderr.pause();
    for (let i = 0; i < 3000; i++) same((await server.post(`/v1/approvals/${'x'.repeat(400)}`, { confirmed: true })).status, 404);      // each is a security line
    same((await server.get('/healthz')).status, 200);
    server.child.kill('SIGTERM');
    await within(new Promise((yes) => server.child.once('exit', yes)), 'the end');
    server.child.stderr.resume();
}, { timeout_ms: 120000 });

// One thread after the other until the disk takes its time, and then ten at once: {said}, all that were told to be there.
async function saysOn(server) {
    const said = [], note = (r) => { if (r?.status === 201) said.push(r.json.id); return r; };
    for (let r = {}, i = 0; r && i < 12; i++)
        r = note(await Promise.race([server.post('/v1/threads', { title: `t${i}` }).catch(() => undefined), pause(1000)]));
    for (let i = 0; i < 10; i++) server.post('/v1/threads', { title: 'more' }).then(note, () => {});
    return said;
}
for (const [how, order] of [['takes two seconds for every commit', 'fsync:26+=SLOW'], ['never answers again', 'fsync:26+=STALL']])
    test(`SIGTERM ends it on a disk that ${how}, and nothing that was told is lost`, async (t) => {
        const server = await t.serve({ env: { PARLEY_FAULT: order } }), said = await saysOn(server);
        await timed(server);
        const next = await t.serve({ dir: server.dir });
        for (const id of said) same((await next.get(`/v1/threads/${id}`)).status, 200, id);
    }, { timeout_ms: 120000 });

test('without descriptors the start says so in words', async (t) => {
    const r = await t.serve({ wrap: ['prlimit', '--nofile=5'], mayFail: true }).then(() => null, (e) => e.message);
    check(/too many open files: raise/.test(r), r);
});
