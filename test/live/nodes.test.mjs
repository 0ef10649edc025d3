// What several nodes have in common beside conversations, and how a node is told who it is.
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { cluster, newStore, storeUrl } from '../cluster/lib.mjs';
import { ROOT, check, parley, same, settled, test, until, within } from './lib.mjs';
import { Ws } from '../lib/ws.mjs';
import { approval, bank, decide, payments, say, script } from './org.mjs';

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

test('a conversation that was asked for before it was there is found once another node made it', async (t) => {
    const c = await cluster(t, { nodes: 2 }), [a, b] = c.nodes;
    const stop = () => b.post('/v1/threads/later/stop', {});
    same((await stop()).status, 404);
    const messages = [{ id: 'm1', role: 'user', parts: [{ type: 'text', text: 'hello' }] }];
    await (await a.open('POST', '/api/chat', { id: 'later', trigger: 'submit-message', messages })).read();
    same((await stop()).status, 200);
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

const forwards = async (node) => (await node.metrics()).parley_forwards_total;

// Each request is the same one again, at another node: all of them look at one answer.
test('who leaves stops nothing that somebody looks at on another node; the last one does', async (t) => {
    const model = await script(t);
    const { nodes } = await cluster(t, { nodes: 3, config: { model: model.model } });
    let speak;
    model.thinks = new Promise((yes) => { speak = yes; });
    model.steps.push('The whole answer.', 'Nobody heard it.');
    const come = (input) => (node) => node.open('POST', '/v1/responses', { input, store: false, stream: true }, { 'idempotency-key': input });
    const all = async (input) => { const s = []; for (const node of nodes) s.push(await come(input)(node)); return s; };
    const leave = async (s, i) => {
        const before = await forwards(nodes[i]);
        await s[i].close();
        await until(async () => await forwards(nodes[i]) > before, 'the holder to be told');
    };
    const state = async (s) => (await nodes[0].get(`/v1/threads/${s[0].thread}`)).json.state;
    const heard = await all('one');
    same(new Set(heard.map((s) => s.thread)).size, 1, 'one conversation');
    await leave(heard, 1);
    await leave(heard, 2);
    same(await state(heard), 'running');
    speak();
    await heard[0].read();
    check(heard[0].text.includes('The whole answer.'), heard[0].text);

    model.thinks = new Promise((yes) => { speak = yes; });
    const left = await all('two');
    await left[0].close();
    await leave(left, 1);
    same(await state(left), 'running');
    await leave(left, 2);
    await until(async () => await state(left) === 'idle', 'the run to end with the last one');
    speak();
});

// A tool at work counts as running in the database: should its node die, somebody has to look. A person is told what
// it waits for all the same, at whichever node they ask.
test('the list says at every node of a tool that waits for its form that it waits', async (t) => {
    const model = await script(t, [['asking__ask', { amount: 12 }]], 'ok'), args = [path.join(ROOT, 'test/mcp/asking.mjs')];
    const c = await cluster(t, { nodes: 3, config: { demo: { tools: false }, actions: {}, model: model.model, mcpServers: { asking: { command: process.execPath, args, confirm: 'never' } } } });
    const { nodes } = c;
    for (const node of nodes) await until(async () => (await node.get('/v1/tools')).json.tools.some((x) => x.name === 'asking__ask'), 'the server to list its tool');
    const { thread } = await nodes[0].turn('go'), pending = async () => (await nodes[0].get('/v1/approvals?status=pending')).json.approvals;
    await until(async () => (await pending()).length === 1, 'the form');
    const states = (more = '') => Promise.all(nodes.map(async (node) => (await node.get(`/v1/threads${more}`)).json.threads.map((x) => [x.id, x.state])));
    same((await c.sql('SELECT state FROM parley_thread'))[0][0], 'running', 'what the others would have to look at');
    same(await states(), nodes.map(() => [[thread, 'waiting']]));
    const [form] = await pending();
    same((await nodes[1].post(`/v1/approvals/${form.id}`, { confirmed: true, payload: { account: 'main' } })).status, 200);
    await until(async () => JSON.stringify(await states()) === JSON.stringify(nodes.map(() => [[thread, 'idle']])), 'the answer');
});

// The first node holds it, everything is wanted of the second, and the third tells what came of it.
test('every kind of command is sent on to the node that holds the conversation', async (t) => {
    const books = await bank(t, () => 'nothing'), model = await script(t), id = 'all-kinds', at = `/v1/threads/${id}`;
    const lose = { description: 'Pays, and nobody hears of it.', input_schema: { type: 'object' }, confirm: 'never', http: { url: books.url, allow: ['127.0.0.1'] } };
    const c = await cluster(t, { nodes: 3, config: { demo: { tools: true }, model: model.model, tools: { lose }, actions: { lose: { tool: 'lose' } } } }), [a, b, third] = c.nodes;
    const chat = (trigger = 'submit-message') => (node) => node.open('POST', '/api/chat', { id, trigger, messages: [{ id: `m${model.heard.length}`, role: 'user', parts: [{ type: 'text', text: 'go on' }] }] });
    const shown = async () => (await third.get(at)).json;
    const record = async (status) => (await third.get(`/v1/approvals?status=${status}&thread=${id}`)).json.approvals[0];
    const kind = async (name, ask, told) => {
        const before = await forwards(b), r = await ask(b);
        check([200, 202, 204].includes(r.status), `${name}: ${r.status} ${r.text}`);
        await r.read?.();
        same(await forwards(b) - before, 1, `${name}: sent on`);
        await until(told, `the third to tell of ${name}`);
        return r;
    };
    await (await chat()(a)).read();
    const watched = await a.events(id, '0.0');          // so it stays there
    model.steps.push('A second answer.', 'A third answer.');
    await kind('a message', chat(), async () => (await shown()).messages.length === 4);
    await kind('a retry', chat('regenerate-message'), async () => JSON.stringify((await shown()).messages.at(-1)).includes('A third answer.'));
    await kind('an action', (n) => n.post(`${at}/actions`, { action: 'lose', data: {} }), () => record('unknown'));
    await settled(third, id);
    const lost = (await record('unknown')).id;
    const about = async () => (await third.get(`/v1/approvals/${lost}`)).json.status;
    await kind('what became of it', (n) => n.post(`/v1/approvals/${lost}/settle`, { outcome: 'done' }), async () => await about() === 'done');
    model.steps.push([['get_location', {}]], 'You are there.');
    await (await chat()(a)).read();
    const asked = await record('pending'), results = `${at}/results/${asked.tool_use_id}`;
    await kind('a yes', (n) => n.post(`/v1/approvals/${asked.id}`, { confirmed: true }), async () => await record('offered'));
    await kind('a claim', (n) => n.post(`${results}/claim`, { client: 'tab-1' }), async () => (await third.post(`${results}/claim`, { client: 'tab-2' })).json.error.code === 'claimed');
    await kind('a result', (n) => n.post(results, { result: { latitude: 35.6, longitude: 139.7 } }), async () => JSON.stringify((await shown()).messages.at(-1)).includes('You are there.'));
    await kind('a name', (n) => n.request('PATCH', at, { title: 'All kinds' }), async () => (await shown()).title === 'All kinds');
    let speak;
    model.thinks = new Promise((yes) => { speak = yes; });
    const spoken = await chat()(a);
    same((await kind('a stop', (n) => n.post(`${at}/stop`, {}), async () => (await shown()).state === 'idle')).json.stopped, true);
    speak();
    await spoken.close();
    same((await c.holder(id))?.name, a.name, 'held by the first all the time');
    const [holds, mirrors] = [await a.metrics(), await b.metrics()];
    same([holds.parley_threads_held, holds.parley_threads_mirrored, mirrors.parley_threads_held, mirrors.parley_threads_mirrored], [1, 0, 0, 1]);
    check(holds.parley_links_accepted > 0 && mirrors.parley_links_dialled > 0 && mirrors.parley_claims_total > 0, JSON.stringify([holds, mirrors]));
    await until(async () => (await b.metrics()).parley_link_seconds_count > 0, 'a sign of life on the link');
    await kind('its end', (n) => n.request('DELETE', at), async () => (await third.get(at)).status === 404);
    await watched.wait(() => watched.over, 'the stream of what is gone to end');
});

// Its tool was at work when it fell asleep, and is answered when it is awake again.
test('what a node tells of its tool after its lease stands beside the unknown outcome, on every node', async (t) => {
    let answer, reached = 0;
    const answered = new Promise((yes) => { answer = yes; });
    const books = await bank(t, () => { reached++; return answered; });
    const model = await script(t, [['process_payment', { recipient: 'Hanako', amount: 50, currency: 'USD' }]], 'Nobody knows.');
    const c = await cluster(t, { nodes: 2, config: payments(books, {}, { model: model.model }) }), [a, b] = c.nodes;
    const { thread, ids: [id] } = await say(a, undefined, 'Pay Hanako');
    same((await decide(a, undefined, id, true)).status, 200);
    await until(() => reached === 1, 'the bank to be asked');
    same((await c.holder(thread))?.name, a.name);
    a.sleep(true);
    t.defer(() => a.sleep(false));
    await until(async () => (await approval(b, undefined, id)).status === 'unknown', 'the other one to take over');
    a.sleep(false);
    answer();
    await until(async () => (await approval(b, undefined, id)).late_at, 'what it tells');
    for (const node of [a, b]) {
        const r = await approval(node, undefined, id);
        same([r.status, r.late_outcome], ['unknown', 'done'], node.name);
        check(/"paid":50/.test(r.late_text), r.late_text);
    }
    same([reached, books.books.length], [1, 1], 'asked and paid once');
});

// --- what is refused at the start, each with a sentence that says what to do ---------------------

// A node that is not let in: what it says, and that the others go on.
async function refused(c, node) {
    node.mayFail = true;
    node.spawn();
    check(await within(node.gone, 'its end') !== 0, 'it does not start');
    check(!/sesame/.test(node.err), 'no password in it');
    same((await c.nodes[0].turn('hello')).status, 200, 'the others go on');
    return node.err;
}

test('a node with another cluster key is told so at its start', async (t) => {
    const c = await cluster(t, { nodes: 2 });
    const other = await c.add({ env: { PARLEY_CLUSTER_KEY: 'a key that only this one has, and no other' } });
    const said = await refused(c, other);
    check(/have another cluster.key: give all of them the same/.test(said), said);
    check(!/that only this one has/.test(said), 'no key in it');
});

test('of two nodes that start with one url in the same moment one does', async (t) => {
    const c = await cluster(t, { nodes: 2 });
    const a = await c.add(), b = await c.add({ url: `http://127.0.0.1:${a.link.port}` });
    // Both have found nobody with that url when they are let go on.
    const between = "query LIKE 'UPDATE parley_thread t SET holder = NULL WHERE holder IS NOT NULL%' AND wait_event_type = 'Lock'";
    const held = c.sql('BEGIN; LOCK TABLE parley_thread IN SHARE MODE; SELECT pg_sleep(60)').catch(() => {});
    for (const n of [a, b]) { n.mayFail = true; n.spawn(); }
    await until(async () => (await c.sql(`SELECT count(*) FROM pg_stat_activity WHERE ${between}`))[0][0] === '2', 'both to come that far');
    await c.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(60)' AND pid <> pg_backend_pid()");
    await held;
    const second = await within(Promise.race([a, b].map((n) => n.gone.then(() => n))), 'one of them to end');
    const first = second === a ? b : a;
    await first.listening();
    same(first.status, null, 'the other stands');
    check(/another node with the url http:\S+ is alive.*give each node its own/.test(second.err), second.err);
});

// What a server of another version says when it is reached: enough of the protocol to be let in, and to tell libpq that
// it can be written to.
function oldServer(t, version) {
    const message = (type, ...parts) => { const body = Buffer.concat(parts.map((x) => Buffer.from(x))), head = Buffer.alloc(5); head.write(type); head.writeInt32BE(body.length + 4, 1); return Buffer.concat([head, body]); };
    const ready = message('Z', 'I'), row = message('T', [0, 1], 'transaction_read_only\0', [0, 0, 0, 0, 0, 0, 0, 0, 0, 25, 255, 255, 255, 255, 255, 255, 0, 0]);
    const server = net.createServer((s) => {
        s.on('error', () => {}).on('data', (d) => {
            if (d[0] === 0 && d.readInt32BE(4) === 80877103) s.write('N');
            else if (d[0] === 0) s.write(Buffer.concat([message('R', [0, 0, 0, 0]), message('S', `server_version\0${version}\0`), ready]));
            else if (d[0] === 0x51) s.write(Buffer.concat([row, message('D', [0, 1, 0, 0, 0, 3], 'off'), message('C', 'SHOW\0'), ready]));
        });
    }).listen(0, '127.0.0.1');
    t.defer(() => server.close());
    return new Promise((yes) => { server.on('listening', () => yes(server.address().port)); });
}

test('a database that will not do is named with what to do, and without its password', async (t) => {
    const store = await newStore(), good = storeUrl(store), [port] = store.pg.ports, old = await oldServer(t, '12.22');
    const sentences = [
        [good.replace('open%20sesame', 'close%20sesame'), /refuses the password of parley: check it in the store's address/],
        [good.replace('/parley?', '/nobody?'), /there is no database "nobody" at .*: make it with CREATE DATABASE, owned by parley/],
        [`${good}%20-cdefault_transaction_read_only%3Don`, /can only be read: name the primary, or all servers/],
        [good.replace(`:${port}/`, `:${old}/`), /is PostgreSQL 12; parley needs 13 or newer/],
        [good.replace('open%20sesame', 'open/sesame'), /cannot be read; write postgresql:.*%2F for \//],
    ];
    for (const [url, words] of sentences)
        for (const command of [['serve', '--listen', '127.0.0.1:0'], ['nodes']]) {
            const { code, out, err } = await parley([...command, '--store', url], { cwd: t.folder() });
            check(code !== 0 && words.test(err), `${command[0]} of ${words}: ${code} ${err}`);
            check(!/sesame/.test(out + err), 'no password in it');
        }
});

// --- strangers, clocks -----------------------------------------------------------------------------

test('a link from a stranger is turned away, and said on the log', async (t) => {
    const c = await cluster(t, { nodes: 2 }), [node] = c.nodes;
    for (const proof of ['0'.repeat(64), '', undefined]) {
        const ws = await Ws.open(t, node, '/node');
        const hello = JSON.parse(await ws.next());
        same([hello.m, typeof hello.nonce], ['hello', 'string']);
        ws.send({ m: 'hello', node: 'n_stranger', nonce: 'abcdefghijklmnopqrstuv', proof });
        await ws.ended();
        same([ws.code, ws.reason, ws.texts.length], [1008, 'the cluster key differs', 1]);
    }
    const told = node.log.filter((l) => l.event === 'node.refused');
    same(told.map((l) => [l.level, l.why]), Array(3).fill(['security', 'the cluster key differs']));
    const alone = await t.serve();
    if (!alone.nodes) same((await alone.get('/node')).status, 404, 'where there are no nodes there is no door for them');
});

test('a node whose clock is an hour off says so, and goes by the database\'s', async (t) => {
    const c = await cluster(t, { nodes: 2 });
    const late = await c.add({ env: { PARLEY_CLOCK_SHIFT_MS: '-3600000' } });
    await late.start();
    const s = await late.turn('hello');
    const told = late.log.find((l) => l.event === 'store.clock_differs');
    check(told && /not the database's, whose time is used; set it/.test(told.why), JSON.stringify(told));
    check(Math.abs(Math.abs(told.ms) - 3600000) < 60000, `${told.ms} ms`);
    const { threads } = (await c.nodes[0].get('/v1/threads')).json;
    check(Math.abs(Date.parse(threads.find((x) => x.id === s.thread).created_at) - Date.now()) < 1800000, 'what it writes has the time of all');
});

// --- a database that is silent for longer than anybody waits --------------------------------------

const silence = (node, held) => { for (const w of node.database) w.hold(held); };
const ready = (node) => until(async () => (await node.get('/readyz')).status === 200, `${node.name} to have its database`);

// What was sent is kept on its way and arrives when it is over: then a new name stands, and a conversation is gone. What
// still waited behind another statement of its connection was not sent, and is told as not done.
async function renamedInSilence(c) {
    const [a] = c.nodes, named = (await a.turn('a name')).thread, ended = (await a.turn('an end')).thread, watched = await a.events(ended, '0.0');
    const look = async (n, thread) => { const r = await n.get(`/v1/threads/${thread}`); return r.status === 503 ? undefined : r; };          // asked in time for the silence's last claim
    const told = () => Promise.all(c.nodes.map(async (n) => [(await until(() => look(n, named), 'the named')).json.title, (await until(() => look(n, ended), 'the ended')).status]));
    silence(a, true);
    const answers = await Promise.all([a.request('PATCH', `/v1/threads/${named}`, { title: 'another' }), a.request('DELETE', `/v1/threads/${ended}`)]);
    silence(a, false);
    for (const r of answers) same([r.status, r.json.error.code], [503, 'store_unavailable']);
    const unsure = answers.map((r) => /may have been done or not/.test(r.json.error.message));
    answers.forEach((r, i) => check(unsure[i] || /does not answer at the moment. Nothing was lost/.test(r.json.error.message), r.text));
    await ready(a);
    const first = (await told())[0];                     // whoever claims it to tell of it has ended what may come late
    const kept = await c.sql(`SELECT convert_from(title, 'UTF8') FROM parley_thread WHERE name = '${named}'`);
    const there = await c.sql(`SELECT name FROM parley_thread WHERE name = '${ended}'`);
    same(first, [kept[0][0], there.length ? 200 : 404], 'what the database has');
    same(await told(), c.nodes.map(() => first), 'every node');
    if (!unsure[0]) check(kept[0][0] !== 'another', 'it was told as not renamed');
    if (!unsure[1]) check(there.length, 'it was told as not deleted');
    if (!there.length) await watched.wait(() => watched.over, 'the stream of what is gone to end');
    await watched.close();
    return unsure;
}
test('a new name and an end that the database did not answer for are told as unsure, and as they are afterwards', async (t) => {
    const c = await cluster(t, { nodes: 3 });
    let unsure = [];
    for (let n = 0; n < 3 && !unsure.includes(true); n++) unsure = await renamedInSilence(c);
    check(unsure.includes(true), 'neither of them was ever on its way');
}, { timeout_ms: 120000 });

// Its sessions in the database live on, and have the rows that it was at: of the conversation, of the question.
test('a node whose machine went away in the middle of what it sent keeps nobody from its conversations', async (t) => {
    const c = await cluster(t, { nodes: 2 }), [a, b] = c.nodes;
    const asked = [];
    for (let i = 0; i < 8; i++) asked.push((await a.turn('Send 50 dollars to Hanako')).payload.awaiting[0]);
    for (const w of a.database) w.sticks = (data) => data.includes('decided');
    const answers = asked.map((id) => a.post(`/v1/approvals/${id}`, { confirmed: true }).catch(() => {}));
    await until(() => a.database.some((w) => w.stuck), 'an answer to be on its way');
    await a.kill();
    await Promise.all(answers);
    for (const id of asked) {
        const r = await until(async () => { const x = await b.post(`/v1/approvals/${id}`, { confirmed: true }); return x.status !== 503 && x; }, `an answer to ${id}`, 30000);
        same(r.status, 200, r.text);
        await until(async () => (await b.get(`/v1/approvals/${id}`)).json.status === 'done', `${id} to be paid`);
    }
    same(b.ledger().length, asked.length, 'payments');
});

// Whoever sees the 200 of the stream believes to be told what is asked from then on.
test('a stream of questions is answered when it is known from where on it tells, and not before', async (t) => {
    const c = await cluster(t, { nodes: 2 }), [a, b] = c.nodes;
    let here;
    silence(a, true);
    const opened = a.open('GET', '/v1/approvals/events').then((s) => { here = true; return s; });
    await b.turn('Send 50 dollars to Hanako');
    same(here, undefined, 'its database has not said where it is');
    silence(a, false);
    const s = await opened, asked = (await b.turn('Send 60 dollars to Hanako')).payload.awaiting[0];
    await s.wait(() => s.events.find((e) => e.data?.event === 'asked' && e.data.approval.id === asked), 'what is asked after it');
    await s.close();
});

// Of three the last is sent when the first is refused: were anybody made to wait twice, that one would come before them.
test('nobody waits twice for a database that is away, and what they are told is of a database', async (t) => {
    const c = await cluster(t, { nodes: 2 }), [a, b] = c.nodes;
    const threads = [], unread = (await b.turn('nobody holds it')).thread;
    await b.term();
    for (const name of ['with an id', 'without', 'later']) threads.push([name, (await a.turn(name)).thread]);
    const away = { cut: (yes) => (yes ? a.cutDatabase(false) : a.database.forEach((w) => w.heal())), silent: (yes) => silence(a, yes) };
    for (const [how, set] of Object.entries(away)) {
        const order = [], said = [];
        const told = async (name, asked) => {
            const r = await asked;
            order.push(name);
            said.push(`${r.status} ${r.json?.error.message}`);
        };
        const send = ([name, thread], more = {}) => told(name, a.post('/v1/chat/stream', { message: 'again', thread_id: thread, ...more }));
        for (const [, thread] of threads) await a.turn('held here', { thread_id: thread });
        set(true);
        const first = [send(threads[0], { request_id: `r-${how}` }), told('unread', a.post(`/v1/threads/${unread}/stop`, {}))];
        await send(threads[1]);
        await Promise.all([...first, send(threads[2])]);
        set(false);
        same(order.at(-1), 'later', `${how}: ${order}`);
        const words = /^503 (The database d\w+ not answer.*(Nothing was lost|may have been saved or not)|The conversation cannot be read at the moment)/;
        for (const x of said) check(words.test(x), `${how}: ${x}`);
        await ready(a);
    }
});

// --- links that are away while everybody has the database -------------------------------------------

// A silent link is noticed only after a while, and every attempt to make it anew takes its time as well.
test('nobody waits longer for a node behind a silent link than for one behind a link that is cut', async (t) => {
    const c = await cluster(t, { nodes: 3 }), [a, b, off] = c.nodes;
    const held = [(await a.turn('silent')).thread, (await b.turn('cut')).thread];
    const stop = async (thread) => { const r = await off.post(`/v1/threads/${thread}/stop`, {}); return `${r.status} ${r.json.error?.code} ${r.json.error?.message}`; };
    for (const thread of held) check(/^200/.test(await stop(thread)), 'the links stand');
    a.link.hold(true);
    b.link.cut(false);
    const silent = stop(held[0]), cut = await stop(held[1]);
    const both = [await within(silent, 'the other one to be told as well', 2400), cut];
    check(/^503 node_unreachable .*may have arrived there or not/.test(both[0]), both[0]);      // it had been sent
    check(/^503 node_unreachable .*Nothing was lost/.test(both[1]), both[1]);
    a.link.hold(false);
    b.link.heal();
    for (const thread of held) await until(async () => /^200/.test(await stop(thread)), 'the link to be made again');
});
