// disk.test.mjs -- a disk that says no: the store's Nth write or sync fails, once or for a
// while, with EIO or ENOSPC; a small file system is full and gets room again.
//
// A conversation that meets it is refused with a code or goes on when the disk does.
// Then the server is killed: what was told as saved must be there, and what was
// refused may be uncertain but is never done twice.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { Context, check, patience, same, settled, skip, sound, until } from '../live/lib.mjs';
import { JOBS, LONG, Screen, audit, family, pause, quiet, serveOrders, whole } from './lib.mjs';

const HELD_MS = 60;             // how long a disk that fails from the Nth on stays so

const ready = (server) => until(async () => (await quiet(server.get('/readyz')))?.status === 200, 'it heals by itself');

// A search, a question, a yes; nothing here may throw. `held` is called once it is under way.
async function talk(server) {
    const found = await quiet(server.turn('Find articles about CRISPR'));
    const s = await quiet(server.turn('Send 50 dollars to Hanako')), id = s?.payload?.awaiting?.[0];
    const yes = id && await quiet(server.post(`/v1/approvals/${id}`, { confirmed: true }));
    return { streams: [found, s].filter(Boolean), id, thread: s?.thread, yes };
}

// `killed`: it ends while the disk is still bad, so that what was refused may be found half written.
async function cycle(f, t, order, killed) {
    const server = await serveOrders(t), first = sound(await server.turn('hello'));
    await server.order(order);
    const talking = talk(server);
    await (order.includes('+') ? Promise.race([talking, pause(HELD_MS)]) : talking);
    const { hit } = await server.order(killed ? order : '');
    if (killed) await server.kill();
    const told = await talking;
    if (!killed) same(server.status, null, `the server after ${order}; it said: ${server.err.slice(-1500)}`);
    for (const s of told.streams) {
        if (s.status !== 200) { same([s.status, s.json?.error?.code], [503, 'store_unavailable'], 'a clean refusal'); f.note('refused'); }
        else check(s.broken || ['complete', 'error'].includes(s.events.at(-1)?.data.type), `a stream that ends: ${s.types().join(' ')}`);
    }
    if (told.yes && told.yes.status !== 200) same([told.yes.status, told.yes.json?.error?.code], [503, 'store_unavailable'], 'a yes that was refused');
    if (!killed) {
        await ready(server);
        await judge(server, [first, ...told.streams], told);
        f.note('healed');
        await server.kill();
    }
    const next = await t.serve({ dir: server.dir });
    f.uncertain += (await judge(next, [first, ...told.streams], told)).unknown.length;
    sound(await next.turn('hello', { thread_id: first.thread }));
    await next.kill();
    return hit;
}

async function judge(server, streams, told) {
    const all = await audit(server);
    for (const s of streams) if (s.status === 200 && s.lastId) new Screen(s.events).kept((await whole(server, s.thread)).events);
    const a = told.id && all.approvals.find((x) => x.id === told.id);
    if (told.id) check(a, 'the question that was told is there');
    if (told.yes?.status === 200) check(a.status !== 'pending', 'a yes that was acknowledged is kept');
    return all;
}

for (const [what, more, killed] of [['write', ''], ['write', '=ENOSPC'], ['write', '+=ENOSPC'], ['write', '+', true], ['fsync', ''], ['fsync', '+'], ['fsync', '+', true]])
    family(`the Nth ${what} fails${more.includes('+') ? ' and all after it' : ''}${killed ? ', then a kill' : ''} (${more.includes('ENOSPC') ? 'ENOSPC' : 'EIO'})`, async (f) => {
        const todo = [], most = LONG ? 100 : more.includes('+') && !killed ? 6 : 12;        // a disk that stays bad takes a second to be seen as healed
        const add = (n) => todo.push([`${what}:${n}${more}`, async (t) => { if (await cycle(f, t, `${what}:${n}${more}`, killed) && n + JOBS <= most) add(n + JOBS); }]);
        for (let n = 1; n <= JOBS; n++) add(n);
        await f.all(todo);
    });

family('a full disk, and room again', async (f) => {
    for (let i = 0; i < (LONG ? 10 : 2); i++)
        await f.cycle('a disk of eight megabytes', async (t) => {
            if (process.getuid() !== 0) skip('needs root for a small file system');
            const dir = t.folder(), disk = path.join(dir, 'disk');
            fs.mkdirSync(disk);
            if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=8m', 'tmpfs', disk]).status !== 0) skip('tmpfs cannot be mounted here');
            t.defer(() => { spawnSync('umount', ['-l', disk]); });
            const ledger = path.join(disk, 'ledger'), store = path.join(disk, 'x.db'), config = { demo: { ledger } };
            const server = await t.serve({ dir, store, config });
            server.ledger = () => (fs.existsSync(ledger) ? fs.readFileSync(ledger, 'utf8').split('\n').filter(Boolean).map((l) => JSON.parse(l)) : []);
            const streams = [sound(await server.turn('Find articles about CRISPR'))], asked = [];
            for (let k = 0; k < 6; k++) { const s = await server.turn('Send 50 dollars to Hanako'); streams.push(s); asked.push(s.payload.awaiting[0]); }
            fill(path.join(disk, 'ballast'));
            // The write-ahead log may have room left: yes to one after the other until one is refused.
            const said = [];
            for (const id of asked) said.push(await server.post(`/v1/approvals/${id}`, { confirmed: true }));
            await until(async () => (await server.post('/v1/chat/stream', { message: 'x'.repeat(20000) })).status === 503, 'the disk to be full');
            for (const s of await Promise.all([1, 2, 3].map(() => quiet(server.turn('hello'))))) check(s.status === 503 || !s.broken, 'refused, or told to its end');
            if (i % 2) await server.kill();
            fs.rmSync(path.join(disk, 'ballast'));
            const next = i % 2 ? Object.assign(await t.serve({ dir, store, config }), { ledger: server.ledger }) : server;
            await ready(next);
            const { approvals, unknown } = await audit(next);
            f.uncertain += unknown.length;
            for (const s of streams) new Screen(s.events).kept((await whole(next, s.thread)).events);
            for (const [k, r] of said.entries()) {
                const a = approvals.find((x) => x.id === asked[k]);
                f.note(`a yes: ${r.status}, ${a.status}`);
                if (r.status === 200) check(a.status !== 'pending', 'a yes that was acknowledged is kept');
                if (a.status === 'pending') { same((await next.post(`/v1/approvals/${a.id}`, { confirmed: true })).status, 200, 'the yes again'); await settled(next, a.thread); }
            }
            await audit(next);
            await next.kill();
        });
});

// What was told as saved is there although the server did not wait for the disk at its end.
family('SIGTERM keeps its five seconds on a disk that takes two for every sync', async (f) => {
    for (let i = 0; i < (LONG ? 10 : 2); i++)
        await f.cycle('a slow disk', async (t) => {
            const server = await serveOrders(t), first = sound(await server.turn('hello'));
            await server.order('slow_sync:1+');
            const under = [quiet(server.turn('Find articles about CRISPR')), quiet(server.turn('Send 50 dollars to Hanako'))];
            await pause(i * 700);
            const began = patience();
            server.child.kill('SIGTERM');
            same(await server.gone, 0, 'how it ended');
            check(patience() - began < 6000, `it took ${patience() - began} ms`);      // the promise is five, on a machine that has time
            const told = (await Promise.all(under)).filter((s) => s?.status === 200);
            const next = await t.serve({ dir: server.dir });
            await judge(next, [first, ...told], {});
            f.note('ended in time');
            await next.kill();
        });
});

function fill(file) {
    const fd = fs.openSync(file, 'w');
    try { for (;;) fs.writeSync(fd, Buffer.alloc(4096)); } catch (e) { same(e.code, 'ENOSPC'); } finally { fs.closeSync(fd); }
}
