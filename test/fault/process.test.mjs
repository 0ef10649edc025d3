// process.test.mjs -- what may happen to a process that is not killed: its clock jumps, it is
// stopped and goes on, it has no descriptors left.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import { once } from 'node:events';
import { check, same, settled, skip, sound, until, within } from '../live/lib.mjs';
import { DAY, later, timed } from '../live/doors.mjs';
import { LONG, Screen, audit, family, pause, quiet, whole } from './lib.mjs';

const ask = async (server) => { const s = await server.turn('Send 50 dollars to Hanako'); return { s, thread: s.thread, id: s.payload.awaiting[0] }; };
const yes = (server, q) => server.post(`/v1/approvals/${q.id}`, { confirmed: true });
const status = async (server, q) => (await server.get(`/v1/approvals/${q.id}`)).json.status;

// --- the clock -----------------------------------------------------------------------------

// The clock jumps between any two things that happen; then back, then the process is killed.
const JUMPS = { 'an hour on': DAY / 24, 'a year back': -365 * DAY, 'an hour back': -DAY / 24, 'three days on': 3 * DAY };
family('the clock jumps', async (f) => {
    const todo = [];
    for (const [how, ms] of Object.entries(JUMPS)) for (const when of ['before the yes', 'in an answer', 'before a restart'])
        todo.push([`${how}, ${when}`, async (t) => {
            let server = await t.serve(timed(t, { config: { demo: { token_ms: 2 } } }));
            const q = await ask(server), s = await server.say('Find articles about CRISPR');
            await s.must('tool_start');
            if (when === 'in an answer') later(server, ms);
            sound(await s.read());
            for (const h of s.payload.tool_history) check(h.ms >= 0, `how long it took: ${h.ms}`);
            if (when === 'before a restart') { await server.kill(); }
            if (when !== 'in an answer') later(server, ms);
            if (server.killed) server = await t.serve(timed(t, { dir: server.dir }));
            // Gates last a day: those that are still open pay once, those that are over never.
            const r = await yes(server, q), open = ms < DAY;
            same([r.status, r.json.error?.code], open ? [200, undefined] : [409, 'expired'], 'the yes');
            await settled(server, q.thread);
            later(server, -ms);
            same([(await yes(server, q)).status, server.ledger().length], open ? [200, 1] : [409, 0], 'and again, with the clock set right');
            same(await status(server, q), open ? 'done' : 'expired', 'status');
            new Screen(s.events).kept((await whole(server, s.thread)).events);
            sound(await server.turn('hello', { thread_id: q.thread }));
            await audit(server);
            await server.kill();
        }]);
    await f.all(todo);
});

// --- stopped ----------------------------------------------------------------------------------

// Stopped for longer than the deadlines of its peers: whoever is cut comes back by his cursor.
family('stopped in the middle, and going on', async (f) => {
    const todo = [];
    for (const [what, limits] of Object.entries({ 'usual deadlines': {}, 'deadlines that pass meanwhile': { write_seconds: 0.5, idle_seconds: 0.5, head_seconds: 0.5, body_seconds: 0.5 } }))
        todo.push([what, async (t) => {
            const server = await t.serve({ config: { demo: { token_ms: 5 }, limits } }), q = await ask(server);
            const said = await server.say('Tell me a long story'), follower = await server.events(said.thread, '0.0');
            await said.must('text_delta');
            server.child.kill('SIGSTOP');
            const answer = quiet(yes(server, q));
            await pause(1500);                         // not for luck: this is how long it is stopped
            server.child.kill('SIGCONT');
            await answer;
            for (const s of [said, follower]) {
                const screen = new Screen();
                await Promise.race([s.must('complete'), s.ended('a stream that goes on or is cut')]);
                screen.take(s.events);
                if (!s.payload) {
                    f.note('cut');
                    const more = await server.events(said.thread, screen.last);
                    await more.must('complete');
                    screen.take(more.events);
                    await more.close();
                } else f.note('went on');
                same(screen.text, screen.events.at(-1).data.payload.message, 'every word');
                await s.close();
            }
            if (await status(server, q) === 'pending') same((await yes(server, q)).status, 200, 'the yes again');
            await settled(server, q.thread);
            same(server.ledger().length, 1, 'paid once');
            await audit(server);
            await server.kill();
        }]);
    await f.all(todo);
});

// --- descriptors ------------------------------------------------------------------------------------

function socket(t, server) {
    const s = net.connect(server.port, '127.0.0.1');
    s.over = new Promise((done) => { s.on('error', () => {}); s.on('close', done); });
    t.defer(() => s.destroy());
    return s;
}
// A line of its own for a request, so that it can be kept open.
async function lineOf(t, server) {
    const s = socket(t, server);
    await within(once(s, 'connect'), 'a connection');
    let got = '';
    s.setEncoding('utf8').on('data', (d) => { got += d; });
    s.ask = async (method, at, body = '') => {
        got = '';
        s.write(`${method} ${at} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
        await until(() => /\r\n\r\n/.test(got) && got.length >= got.indexOf('\r\n\r\n') + 4 + Number(/content-length: (\d+)/i.exec(got)?.[1] ?? 0), `the answer to ${at}`);
        return { status: Number(got.slice(9, 12)), json: JSON.parse(got.slice(got.indexOf('\r\n\r\n') + 4)) };
    };
    return s;
}

// Those who are in go on, those outside wait or are refused, and afterwards all is as before.
family('no descriptors left', async (f) => {
    for (let i = 0; i < (LONG ? 10 : 2); i++)
        await f.cycle('a process without descriptors', async (t) => {
            if (spawnSync('prlimit', ['--version']).status !== 0) skip('needs prlimit');
            const server = await t.serve({ config: { demo: { token_ms: 2 } }, wrap: ['prlimit', '--nofile=256:256'] });
            const q = await ask(server), line = await lineOf(t, server), s = await server.say('Tell me a long story');
            await s.must('text_delta');
            same((await line.ask('GET', '/readyz')).status, 200, 'before');
            const used = fs.readdirSync(`/proc/${server.child.pid}/fd`).length;
            same(spawnSync('prlimit', ['--pid', String(server.child.pid), `--nofile=${used + 4}:256`]).status, 0, 'prlimit');
            const crowd = Array.from({ length: 60 }, () => socket(t, server));
            await until(() => server.log.some((l) => l.event === 'net.accept') || crowd.filter((c) => c.destroyed).length > 0, 'the end of the descriptors');
            sound(await s.read());                     // a follower goes on
            // The ledger cannot be opened: nothing is paid, and that is said.
            const r = await line.ask('POST', `/v1/approvals/${q.id}`, JSON.stringify({ confirmed: true }));
            same(r.status, 200, 'a yes on a connection that stands');
            await until(async () => !['pending', 'approved', 'running'].includes((await line.ask('GET', `/v1/approvals/${q.id}`)).json.status), 'the outcome');
            const a = (await line.ask('GET', `/v1/approvals/${q.id}`)).json;
            f.note(`the payment: ${a.status}`);
            if (a.status === 'unknown') f.uncertain++;
            for (const c of crowd) c.destroy();
            same(spawnSync('prlimit', ['--pid', String(server.child.pid), '--nofile=256:256']).status, 0, 'prlimit');
            await until(async () => (await quiet(server.get('/healthz')))?.status === 200, 'new connections again');
            await audit(server);
            const again = await ask(server);
            same((await yes(server, again)).status, 200, 'the next yes');
            await settled(server, again.thread);
            same(await status(server, again), 'done', 'the next payment');
            await audit(server);
            await server.kill();
        });
});
