// SIGHUP reads the configuration anew: what takes effect at once, what waits for the next start and is
// named, what is refused; and no stream notices.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { configured, oneProcess, reload, same, check, sound, test, until } from './lib.mjs';
import { Live } from './ai.mjs';
import { KEY, startUpstream } from './upstream.mjs';

const key = (text, principal, roles = ['user']) => ({ sha256: createHash('sha256').update(text).digest('hex'), principal, roles });
const ADA = 'pk_ada_0123456789', BOB = 'pk_bob_0123456789';

const named = (said, event, member) => said.find((l) => l.event === event)?.[member];

test('a stream and a socket go on through a reload, and who comes next meets the new values', async (t) => {
    const config = { demo: { token_ms: 30 } };
    const server = await t.serve({ config });
    const s = await server.say('Tell me a long story'), l = await Live.open(t, server);
    await s.must('text_delta');
    same((await server.get('/', { host: 'new.localhost' })).status, 421, 'a name nobody knows');
    const said = await reload(server, { ...config, hosts: ['new.localhost'], limits: { per_principal: { runs: 3 } } });
    same(named(said, 'reload.done', 'changed'), 'hosts, limits.per_principal');
    same(named(said, 'reload.later', 'keys'), undefined);
    same((await server.get('/', { host: 'new.localhost' })).status, 200);
    await l.say('hello');
    await l.close();
    sound(await s.read());
    same(named(await reload(server, config), 'reload.done', 'changed'), 'hosts, limits.per_principal', 'and back');
    same((await server.get('/', { host: 'new.localhost' })).status, 421);
    same(named(await reload(server, config), 'reload.done', 'changed'), 'nothing');
});

test('what was built at the start stays, and is named', async (t) => {
    oneProcess('each listens at an address of its own');
    const server = await t.serve({ config: {} });
    const tools = { weigh: { description: 'Weighs.', http: { url: 'https://scales.example/' } } };
    const said = await reload(server, { tools, listen: '127.0.0.1:1', log: 'warn', system: 'Be kind.' });
    same(named(said, 'reload.later', 'keys').split(', ').sort(), ['listen', 'tools']);
    check(!(await server.get('/v1/tools')).text.includes('weigh'), 'the tools are those of the start');
    sound(await server.turn('hello'));
});

test('a configuration that does not check is refused whole, and the one before goes on', async (t) => {
    const server = await t.serve({ config: { hosts: ['old.localhost'] } });
    for (const [text, why] of [['{ "hosts": [', /./], [JSON.stringify(configured({ hosts: ['new.localhost'], lisen: 'x' })), /listen/],
        [JSON.stringify(configured({ hosts: ['new.localhost'], tools: { a: { description: 'd', exec: { command: ['/nope/a'] } } } })), /nope/]]) {
        const said = await reload(server, undefined, text);
        check(said.every((l) => l.event === 'reload.refused' && l.level === 'error') && why.test(said[0].why), JSON.stringify(said));
    }
    const open = await reload(server, { hosts: ['people.example'], auth: { keys: [key(ADA, 'ada')] } });
    check(open[0].event === 'reload.refused' && /sign-in cannot be turned on/.test(open[0].why), JSON.stringify(open));
    same((await server.get('/', { host: 'people.example' })).status, 421, 'nobody from elsewhere while nobody is asked who they are');
    same([(await server.get('/', { host: 'old.localhost' })).status, (await server.get('/', { host: 'new.localhost' })).status], [200, 421]);
});

const STAYS = 'the configuration before it stays; put it right and send SIGHUP again';

test('a configuration that was taken away is no wish for the defaults: what runs stays, and that is said', async (t) => {
    oneProcess('each of them has a file of its own');
    // By its usual name, in the working directory: without --config.
    const wrap = ['sh', '-c', 'bin=$1; shift 4; exec "$bin" serve "$@"', 'sh'];
    for (const how of [{}, { wrap }]) {
        const config = { hosts: ['here.localhost'] }, server = await t.serve({ config, ...how });
        const here = async () => (await server.get('/', { host: 'here.localhost' })).status;
        same(await here(), 200);
        const said = await reload(server, undefined, (file) => fs.rmSync(file));
        check(/cannot read it: No such file/.test(named(said, 'reload.refused', 'why')), JSON.stringify(said));
        same([said.at(-1).note, await here()], [STAYS, 200]);
        same(named(await reload(server, { ...config, hosts: [] }), 'reload.done', 'changed'), 'hosts', 'it is back');
        await reload(server, undefined, (file) => fs.rmSync(file));
        same(await here(), 421, 'what was read last stays');
    }
});

test('a name in the configuration that leads to a pipe is refused, and nobody waits for it', async (t) => {
    oneProcess('each of them has a file of its own');
    const dir = t.folder(), pipe = path.join(dir, 'pipe');
    spawnSync('mkfifo', [pipe]);
    const server = await t.serve({ dir, config: { hosts: ['here.localhost'] } });
    const refused = async (config, why, text) => {
        const said = await reload(server, config, text);
        check(why.test(named(said, 'reload.refused', 'why')), JSON.stringify(said));
        same((await server.get('/', { host: 'here.localhost' })).status, 200);
    };
    await refused({ page: { logo: pipe } }, /"page.logo": .*pipe: it is a pipe; name an ordinary file/);
    await refused({ cluster: { key: `file:${pipe}` } }, /cannot read the file .*pipe: it is a pipe/);
    await refused(undefined, /cannot read it: it is a pipe; name an ordinary file/, (file) => { fs.rmSync(file); spawnSync('mkfifo', [file]); });
    sound(await server.turn('hello'));
});

test('somebody is given a key without a restart; one that is taken away waits for it, and that is said', async (t) => {
    const auth = (...keys) => ({ auth: { keys } });
    const server = await t.serve({ config: auth(key(ADA, 'ada')) });
    const as = async (token) => (await server.get('/v1/threads', { authorization: `Bearer ${token}` })).status;
    same([await as(ADA), await as(BOB)], [200, 401]);
    same(named(await reload(server, auth(key(ADA, 'ada'), key(BOB, 'bob'))), 'reload.done', 'changed'), 'auth.keys');
    same([await as(ADA), await as(BOB)], [200, 200]);
    const said = await reload(server, auth(key(BOB, 'bob')));
    same([named(said, 'reload.later', 'keys'), await as(ADA)], ['auth.keys', 200]);
    same(named(await reload(server, auth(key(ADA, 'ada'), key(BOB, 'bob', ['user', 'admin']))), 'reload.later', 'keys'), 'auth.keys', 'another role is another key');
});

test('a key that is added counts at once whatever else changed in the list; the rest waits', async (t) => {
    const auth = (...keys) => ({ auth: { keys } });
    const NEW = 'pk_ada_9876543210', EVE = 'pk_eve_0123456789', both = ['user', 'approver'];
    const server = await t.serve({ config: auth(key(ADA, 'ada', both), key(BOB, 'bob')) });
    const as = async (token) => (await server.get('/v1/threads', { authorization: `Bearer ${token}` })).status;
    const told = (said) => [named(said, 'reload.done', 'changed'), named(said, 'reload.later', 'keys')];
    const rotated = auth(key(BOB, 'bob'), key(NEW, 'ada', both));
    same(told(await reload(server, rotated)), ['auth.keys', 'auth.keys'], 'one for another');
    same([await as(ADA), await as(BOB), await as(NEW)], [200, 200, 200]);
    same(told(await reload(server, rotated)), ['nothing', 'auth.keys'], 'it still waits');

    // One that is known belongs to whom it belonged, with the roles it had, until the next start.
    const other = auth(key(NEW, 'bob', ['user', 'admin']), key(EVE, 'eve'));
    same(told(await reload(server, other)), ['auth.keys', 'auth.keys']);
    same([await as(ADA), await as(BOB), await as(NEW), await as(EVE)], [200, 200, 200, 200]);
    const bearer = (token) => ({ authorization: `Bearer ${token}` });
    same((await server.get('/v1/session', bearer(NEW))).json.principal, 'ada');
    same(told(await reload(server, auth(key(ADA, 'bob'), key(EVE, 'eve')))), ['nothing', 'auth.keys'], 'taken away once is not free');
    same((await server.get('/v1/session', bearer(ADA))).json.principal, 'ada');
});

test('the first key of all comes without a restart where people sign in by tokens', async (t) => {
    const dir = t.folder();
    fs.writeFileSync(path.join(dir, 'secret'), 'a secret of thirty-two bytes or more');
    const auth = (...keys) => ({ auth: { jwt: { issuer: 'https://id', audience: 'parley', algorithms: ['HS256'], keys_file: 'secret' }, keys } });
    const server = await t.serve({ dir, config: auth() });
    const status = async () => (await server.get('/v1/threads', { authorization: `Bearer ${ADA}` })).status;
    same(await status(), 401);
    same(named(await reload(server, auth(key(ADA, 'ada'))), 'reload.done', 'changed'), 'auth.keys');
    same(await status(), 200);
});

test('a question keeps the rule by which it was asked; the next one has the new rule', async (t) => {
    const auth = { keys: [key(ADA, 'ada', ['user', 'approver']), key(BOB, 'bob', ['approver'])] };
    const server = Object.assign(await t.serve({ config: { auth } }), { token: ADA });
    const ask = async () => (await server.turn('Send 50 dollars to Hanako')).payload.awaiting[0];
    const needed = async (id) => (await server.get(`/v1/approvals/${id}`)).json.needed ?? 1;
    const first = await ask();
    const rules = [{ tool: 'process_payment', from: { role: 'approver', count: 2 } }];
    same(named(await reload(server, { auth, approvals: { rules } }), 'reload.done', 'changed'), 'approvals.rules');
    const second = await ask();
    same([await needed(first), await needed(second)], [1, 2]);
    same((await server.post(`/v1/approvals/${first}`, { confirmed: true })).json.status, 'approved');
    await until(() => server.ledger().length === 1, 'the first payment');
    same((await server.post(`/v1/approvals/${second}`, { confirmed: true })).json.status, 'pending', 'one of two');
    same(server.ledger().length, 1);
});

test('a new prompt is said from the next request to the model on', async (t) => {
    const up = await startUpstream(t), config = (system) => ({ system, demo: { tools: true }, model: up.model('openai', { retries: 0 }) });
    const server = await t.serve({ config: config('You are the test.'), env: { TEST_MODEL_KEY: KEY } });
    const prompt = async () => JSON.stringify((await up.requests()).at(-1).body.messages[0]);
    await server.turn('hello');
    check(/You are the test\./.test(await prompt()), await prompt());
    same(named(await reload(server, config('You are another.')), 'reload.done', 'changed'), 'system');
    await server.turn('hello');
    check(/You are another\./.test(await prompt()), await prompt());
});
