// Who signed in with a browser stays signed in: after a restart, on every node; and who signed out is out everywhere. The
// store has a row for each, and a store that does not answer signs nobody out.
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { cluster } from '../cluster/lib.mjs';
import { Server, check, configured, same, test, until } from './lib.mjs';
import { Ws } from './ws.mjs';

const sha256 = (text) => createHash('sha256').update(text).digest('hex');
const ADA = 'pk_ada_0123456789', BOB = 'pk_bob_0123456789';
const key = (text, principal, roles = ['user']) => ({ sha256: sha256(text), principal, roles });
const AUTH = { keys: [key(ADA, 'ada'), key(BOB, 'bob')], cookie_seconds: 900 };

// Always with a file, also where the others of this suite have a cluster.
const serveFile = (t, { dir = t.folder(), auth = AUTH, ...more } = {}) => t.start(new Server({ config: configured({ auth }), dir, ...more }));
const threeNodes = (t, more = {}) => cluster(t, { config: { auth: AUTH }, ...more });

const cookieOf = (r) => r.headers['set-cookie']?.[0].split(';')[0];
async function signIn(server, token = ADA) {
    const r = await server.post('/v1/session', { token }, { origin: server.url });
    same(r.status, 200, r.text);
    return cookieOf(r);
}
const who = async (server, cookie) => { const r = await server.get('/v1/session', { cookie }); return r.status === 200 ? r.json.principal : r.status; };
const signOut = (server, cookie) => server.request('DELETE', '/v1/session', undefined, { cookie, origin: server.url });
const out = (server, cookie) => until(async () => await who(server, cookie) === 401, 'the sign-out to hold');

// --- a restart ------------------------------------------------------------------------------------

test('a restart signs nobody out, nor does a kill', async (t) => {
    const server = await serveFile(t), cookie = await signIn(server), bob = await signIn(server, BOB);
    for (const signal of ['SIGTERM', 'SIGKILL']) {
        await server.restart(signal);
        same([await who(server, cookie), await who(server, bob)], ['ada', 'bob'], signal);
    }
    const ws = await Ws.open(t, server, '/live', { headers: { Cookie: cookie, Origin: server.url } });
    same(JSON.parse(await ws.next()).type, 'hello', 'a socket as the first thing after it');
    same((await signOut(server, cookie)).status, 204);
    await server.restart();
    same([await who(server, cookie), await who(server, bob)], [401, 'bob'], 'who signed out stays out');
});

test('the store has no cookie in it, and no key', async (t) => {
    const server = await serveFile(t), id = (await signIn(server)).split('=')[1];
    await server.term();
    const files = fs.readdirSync(server.dir).filter((f) => f.startsWith('x.db')).map((f) => fs.readFileSync(path.join(server.dir, f), 'latin1')).join('');
    check(files.includes('browser/'), 'a row');
    check(!files.includes(id) && !files.includes(id.slice(16)) && !files.includes(ADA) && !files.includes(sha256(ADA)), 'a hash alone');
});

test('a key that left the configuration takes its sessions along, and its roles are those of now', async (t) => {
    const server = await serveFile(t), ada = await signIn(server), bob = await signIn(server, BOB);
    await server.term();
    const later = await serveFile(t, { dir: server.dir, auth: { ...AUTH, keys: [key(BOB, 'bob', ['user', 'approver'])] } });
    same(await who(later, ada), 401);
    same((await later.get('/v1/session', { cookie: bob })).json.roles, ['user', 'approver']);
    await later.term();
    const back = await serveFile(t, { dir: server.dir });
    same([await who(back, ada), await who(back, bob)], [401, 'bob'], 'what was refused once is over');
});

test('the start token\'s sessions last as long as the token', async (t) => {
    const env = { PARLEY_TOKEN: 'a-token-of-my-own-0123456789' }, network = { tools: { x: { description: 'x', input_schema: { type: 'object' }, exec: { command: ['true'], network: true } } } };
    const serve = (dir, e) => t.start(new Server({ config: configured(network), dir, env: e }));
    const server = await serve(t.folder(), env), cookie = await signIn(server, env.PARLEY_TOKEN);
    const until_of = async (s) => { s.token = undefined; return (await s.get('/v1/session', { cookie, origin: s.url })).json.until; };
    const told = await until_of(server);
    check(told, 'a cookie that answers has an end');
    await server.restart();
    same(await until_of(server), told);
    await server.term();
    same(await until_of(await serve(server.dir, { PARLEY_TOKEN: 'another-token-0123456789' })), null, 'another token');
});

test('one person has fifty sessions, and the one unused for longest makes room', async (t) => {
    const server = await serveFile(t), first = await signIn(server), bob = await signIn(server, BOB), all = [];
    for (let i = 0; i < 50; i++) all.push(await signIn(server));
    await out(server, first);
    same([await who(server, all[0]), await who(server, all[49]), await who(server, bob)], ['ada', 'ada', 'bob']);
});

// --- several nodes --------------------------------------------------------------------------------

test('who signs in on one node is known on the others, and signing out on another holds everywhere', async (t) => {
    const c = await threeNodes(t), [a, b, d] = c.nodes;
    const cookie = await signIn(a), other = await signIn(c);
    for (const node of [b, d, a]) same([await who(node, cookie), await who(node, other)], ['ada', 'ada'], node.name);
    for (let i = 0; i < 6; i++) same(await who(c, cookie), 'ada', 'through the proxy, wherever it leads');
    same((await c.post('/v1/threads', {}, { cookie, origin: c.url })).status, 201, 'with a body behind the guard');
    const ws = await Ws.open(t, d, '/live', { headers: { Cookie: other, Origin: d.url } });
    same(JSON.parse(await ws.next()).type, 'hello');
    same((await signOut(b, cookie)).status, 204);
    same(await who(b, cookie), 401, 'at once where it was said');
    for (const node of [a, d]) await out(node, cookie);
    same(await who(c, other), 'ada', 'another of hers goes on');
    await a.kill();
    same(await who(c, other), 'ada', 'without the node it was made on');
});

test('a session whose row is gone is refused, wherever it was known', async (t) => {
    const c = await threeNodes(t, { nodes: 2 }), cookie = await signIn(c.nodes[0]);
    for (const node of c.nodes) same(await who(node, cookie), 'ada');
    await c.sql(`DELETE FROM parley_session WHERE convert_from(key, 'UTF8') LIKE 'browser/%'`);
    for (const node of c.nodes) await out(node, cookie);
});

test('a database that does not answer signs nobody out, and says so', async (t) => {
    const c = await threeNodes(t, { nodes: 2 }), [a] = c.nodes, cookie = await signIn(a);
    same(await who(a, cookie), 'ada');
    a.cutDatabase(false);
    const refused = await until(async () => { const r = await a.get('/v1/session', { cookie }); return r.status !== 200 && r; }, 'what was read to be too old');
    same([refused.status, refused.json.error.code], [503, 'store_unavailable'], refused.text);
    check(/You are still signed in; try again/.test(refused.json.error.message) && refused.headers['retry-after'], refused.text);
    check(!refused.headers['set-cookie'], 'the cookie is left alone');
    const other = await a.post('/v1/session', { token: BOB }, { origin: a.url });
    same([other.status, other.headers['set-cookie']], [503, undefined], 'nobody is signed in without a row');
    const stays = await signOut(a, cookie);
    same([stays.status, stays.headers['set-cookie'], /you are still signed in/.test(stays.text)], [503, undefined, true], stays.text);
    same((await a.get('/v1/threads', { authorization: `Bearer ${ADA}` })).status, 503, 'a key is known, its list is not there');
    for (const w of a.database) w.heal();
    await until(async () => await who(a, cookie) === 'ada', 'the sign-in to be there as before');
});
