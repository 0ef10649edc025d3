// From a file into a database and back, by the program itself: what was said, what waits and who is signed in come along.
import fs from 'node:fs';
import path from 'node:path';
import { Cluster, newStore, storeUrl } from '../cluster/lib.mjs';
import { Server, check, configured, parley, same, settled, sound, test } from './lib.mjs';

const move = (from, to, ...more) => parley(['move', '--from', from, '--to', 'env:THERE', ...more], { env: { THERE: to } });
const nodes = async (url, ...more) => parley(['nodes', '--store', url, ...more]);

// Always with a file, also where the others of this suite have a cluster.
function serveFile(t, dir) { return t.start(new Server({ config: configured(), dir })); }

test('a conversation that waits is moved into a database, answered there, and moved back', async (t) => {
    const dir = t.folder(), file = path.join(dir, 'x.db'), store = await newStore(), url = storeUrl(store);
    const server = await serveFile(t, dir);
    const said = sound(await server.turn('Find articles about CRISPR')), asked = await server.turn('Send 50 dollars to Hanako');
    const busy = await move(`sqlite:${file}`, url);
    same([busy.code, /is used by another parley/.test(busy.err)], [1, true], busy.err);
    await server.term();

    const moved = await move(`sqlite:${file}`, url);
    same([moved.code, /^2 conversations of /.test(moved.out)], [0, true], moved.out + moved.err);
    check(/digest [0-9a-f]{32}/.test(moved.out) && !/sesame/.test(moved.out + moved.err), 'compared, and no password');
    const again = await move(`sqlite:${file}`, url);
    same([again.code, /as an earlier move left them/.test(again.out)], [0, true], again.out + again.err);

    const there = new Cluster({ nodes: 1, config: configured(), dir: t.folder() });
    there.store = store;
    await t.start(there);
    same((await there.get(`/v1/threads/${said.thread}`)).json.messages.length, 2, 'what was said');
    same((await there.post(`/v1/approvals/${asked.payload.awaiting[0]}`, { confirmed: true })).status, 200, 'the yes');
    await settled(there, asked.thread);
    same(there.ledger().length, 1, 'one payment');

    const list = await nodes(url, '--json'), [node] = JSON.parse(list.out).nodes;
    same([list.code, node.alive, node.running], [0, true, 0], list.out + list.err);
    check(node.lease_ms > 0 && node.lease_ms <= 3000 && node.version, 'its lease');
    check(/^NODE .* LEASE .* HELD .* RUNNING\nn_/.test((await nodes(url)).out), 'a table for people');
    const held = await move(url, path.join(dir, 'back.db'));
    same([held.code, /nodes work with/.test(held.err), /sesame/.test(held.err)], [1, true, false], held.err);
    await there.term();
    const other = await move(`sqlite:${file}`, url);
    same([other.code, /is not empty \(conversations: 2\)/.test(other.err)], [1, true], 'what came since is not written over');

    const back = await move(url, `sqlite:${path.join(dir, 'back.db')}`);
    same(back.code, 0, back.err);
    const home = await t.start(new Server({ config: configured(), dir: t.folder(), store: path.join(dir, 'back.db') }));
    same((await home.get(`/v1/approvals/${asked.payload.awaiting[0]}`)).json.status, 'done');
    sound(await home.turn('hello', { thread_id: said.thread }));
    check(!fs.existsSync(path.join(dir, 'back.db.moving')), 'nothing is left behind');
}, { timeout_ms: 120000 });

test('what cannot be moved or listed is said in a sentence, without a password', async (t) => {
    const url = storeUrl(await newStore()), wrong = url.replace('open%20sesame', 'sesame%20open');
    for (const [run, words, code = 1] of [
        [await nodes('sqlite:some.db'), /is a file, which one process works with/],
        [await nodes(wrong), /refuses the password of parley/],
        [await nodes(url), /has no tables of parley/],
        [await move('sqlite:none.db', url), /cannot open none\.db/],
        [await move('sqlite:none.db', wrong), /cannot open none\.db/],
        [await parley(['move', '--from', 'sqlite:x.db']), /needs --from and --to/, 2],
        [await parley(['move', '--from', 'sqlite:x.db', '--to', 'env:NOBODY']), /--to: the environment variable NOBODY is not set/, 2],
    ]) {
        same(run.code, code, run.err);
        check(words.test(run.err), run.err);
        check(!/sesame/.test(run.err + run.out), run.err);
    }
});
