// What several nodes have in common beside conversations, and how a node is told who it is.
import fs from 'node:fs';
import path from 'node:path';
import { cluster } from '../cluster/lib.mjs';
import { check, parley, same, settled, test } from './lib.mjs';

const counts = async (server, name) => { const { runs, failed } = (await server.get('/v1/tools')).json.tools.find((x) => x.name === name); return [runs, failed]; };

test('what a tool did is counted for all nodes together', async (t) => {
    const c = await cluster(t, { nodes: 2 }), [a, b] = c.nodes;
    for (const node of [a, b, a]) {
        const s = await node.turn('Find articles about CRISPR');
        await settled(node, s.thread);
    }
    same([await counts(a, 'search_articles'), await counts(b, 'search_articles')], [[3, 0], [3, 0]]);
    same(await counts(b, 'process_payment'), [0, 0], 'one that nobody used');
    await b.restart();
    same(await counts(b, 'search_articles'), [3, 0], 'after a restart');
});

test('a node is told by its environment how others reach it', async (t) => {
    const c = await cluster(t, { nodes: 2 }), env = { NODE_URL: '' };
    const third = await c.add({ url: 'env:NODE_URL', env });
    third.options.env.NODE_URL = `http://127.0.0.1:${third.link.port}`;
    await third.start();
    const s = await third.turn('hello');
    same((await c.holder(s.thread))?.name, third.name);
    same((await c.nodes[0].get(`/v1/threads/${s.thread}`)).json.messages.length, 2);
});

test('a cluster.url that leads nowhere or is none is refused with a sentence', async (t) => {
    const at = path.join(t.folder(), 'parley.json');
    const told = async (url, env = {}) => {
        fs.writeFileSync(at, JSON.stringify({ store: 'postgresql://parley@127.0.0.1/parley', cluster: { url, key: 'a key of the tests that is long enough' } }));
        return parley(['check', '--config', at], { env });
    };
    const unset = await told('env:NOBODY_SETS_THIS');
    check(unset.code === 1 && /"cluster.url".*NOBODY_SETS_THIS is not set/.test(unset.err), unset.err);
    const none = await told('env:NODE_URL', { NODE_URL: 'ten zero zero one' });
    check(none.code === 1 && /"cluster.url" is not usable/.test(none.err), none.err);
});
