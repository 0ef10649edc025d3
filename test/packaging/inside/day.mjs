// day.mjs -- an operator's day, from the first configuration to an audit: three people of two roles sign in, each has a
// gated program run for them; a backup, a reload with a stream open, an upgrade with a question open; one person is
// erased; the record is verified from its export by a program that shares nothing with parley.
//
// The same day in two places: plain processes (day.test.mjs, in make test), and the installed package under its unit in a
// booted root (dayunder.mjs, by deb.test.mjs). `site` is the place:
//   home        a folder for keys and secrets that the server may read
//   desk        a folder of the operator's own: exports, what was kept elsewhere
//   tool        the command of the gated tool
//   url, store, model      where the server is, its store, the model's address
//   verifier    the independent verifier's file
//   configure(config), start(), reload(), upgrade()      what an operator does
//   own(file)   the file is the service's from now on
//   parley(args, env)      the program, run as docs/operations.md says: {status, out, err}
import { createHash, createHmac, generateKeyPairSync } from 'node:crypto';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { check, same, until } from '../../lib/check.mjs';

const sha256 = (text) => createHash('sha256').update(text).digest('hex');
const b64 = (v) => Buffer.from(JSON.stringify(v)).toString('base64url');

const SECRET = 'what the identity provider signs with';
const ROOT_KEY = 'pk_operator_0123456789';
const PEOPLE = { ada: ['support'], bob: ['support'], cleo: ['lead'] };
const mail = (who) => `${who}@example.org`;

function token(sub) {
    const claims = { iss: 'https://id.example.org', aud: 'parley', sub, email: mail(sub), roles: ['user', ...PEOPLE[sub]], exp: Math.floor(Date.now() / 1000) + 3600 };
    const body = `${b64({ alg: 'HS256' })}.${b64(claims)}`;
    return `${body}.${createHmac('sha256', SECRET).update(body).digest('base64url')}`;
}

// Keys and secrets of the place, and the configuration over them.
function prepare(site) {
    const at = (name) => path.join(site.home, name), pair = generateKeyPairSync('ed25519');
    const put = (name, text, mode = 0o600) => { fs.writeFileSync(at(name), text, { mode }); site.own(at(name)); };
    put('id.secret', SECRET);
    put('audit.key', pair.privateKey.export({ type: 'pkcs8', format: 'pem' }));
    fs.writeFileSync(path.join(site.desk, 'audit.pub'), pair.publicKey.export({ type: 'spki', format: 'pem' }));
    const gated = { description: 'Refunds an order.', input_schema: { type: 'object', properties: { order: { type: 'string' }, amount: { type: 'number' } }, required: ['order', 'amount'] },
        exec: site.tool, confirm: 'always', ask: 'Refund {amount} for order {order}, asked by {principal}?', roles: ['support', 'lead'], claims: ['email'] };
    return { store: site.store, model: { provider: 'openai', model: 'scripted', base_url: site.model, api_key: 'text:k' }, demo: { tools: false },
        auth: { jwt: { issuer: 'https://id.example.org', audience: 'parley', algorithms: ['HS256'], keys_file: at('id.secret') }, keys: [] },
        tools: { refund: gated, close_books: { ...gated, roles: ['lead'] } },
        approvals: { rules: [{ tool: '*', from: { role: 'lead' } }] },
        audit: { key: `file:${at('audit.key')}`, every: 1, file: path.join(path.dirname(site.store), 'checkpoints.jws') } };
}

// A person in their browser.
class Person {
    constructor(site, name) { Object.assign(this, { site, name }); }
    ask(method, at, body, headers) {
        return fetch(this.site.url + at, { method, body: body && JSON.stringify(body), signal: AbortSignal.timeout(60000),
            headers: { origin: this.site.url, ...(this.cookie && { cookie: this.cookie }), ...headers } });
    }
    async signIn() {
        const r = await this.ask('POST', '/v1/session', { token: token(this.name) });
        same(r.status, 200, `the sign-in of ${this.name}`);
        this.cookie = r.headers.get('set-cookie').split(';')[0];
        same((await r.json()).roles, ['user', ...PEOPLE[this.name]], `roles of ${this.name}`);
    }
    // Says it; what came of it by type of event.
    async say(message) {
        const r = await this.ask('POST', '/v1/chat/stream', { message });
        this.thread = r.headers.get('parley-thread');
        const events = (await r.text()).split('\n').filter((l) => l.startsWith('data: {')).map((l) => JSON.parse(l.slice(6)));
        return (type) => events.find((e) => e.type === type);
    }
    // Wants a refund; the question's id.
    async wants(order) {
        const of = await this.say(`call refund ${JSON.stringify({ order, amount: 20 })}`), question = of('tool_confirmation');
        check(question, `${this.name} was not asked about: ${JSON.stringify(of('complete') ?? of('error'))}`);
        same(question.ask, `Refund 20 for order ${order}, asked by ${this.name}?`, 'the question');
        return question.confirmation_id;
    }
    async decides(id) { return (await this.ask('POST', `/v1/approvals/${id}`, { confirmed: true })).status; }
    // What the program said that ran for them.
    async got() {
        const thread = await until(async () => { const t = await (await this.ask('GET', `/v1/threads/${this.thread}`)).json(); return t.state === 'idle' && t; }, `the end of what ${this.name} asked for`);
        return /refunded [^"\\]*/.exec(JSON.stringify(thread.messages))?.[0];
    }
}

async function aRefundFor(person, lead, order) {
    const id = await person.wants(order);
    same(await lead.decides(id), 200, `the yes to ${person.name}`);
    same(await person.got(), `refunded ${order} for ${person.name} ${mail(person.name)}`, 'the program');
}

// A yes that is not theirs, a tool that is not theirs.
async function notTheirs(ada, bob) {
    const id = await ada.wants('o-0');
    check((await bob.decides(id)) >= 400 && (await ada.decides(id)) >= 400, 'somebody said yes who may not');
    const of = await bob.say('call close_books {"order":"x","amount":1}');
    same(of('complete').payload.message, 'I know no close_books.', 'a tool for other roles');
}

async function backedUp(site) {
    const file = path.join(path.dirname(site.store), 'backup.db');
    const r = await site.parley(['backup', file]);
    same([r.status, /conversations of .* are in/.test(r.out)], [0, true], `the backup (${r.out}${r.err})`);
    const v = await site.parley(['audit', 'verify', '--store', file]);
    same(v.status, 0, `the record in the backup (${v.out}${v.err})`);
}

// The operator's own key comes with a reload; who reads meanwhile does not notice.
async function reloaded(site, config, reader) {
    const stop = new AbortController();
    const r = await fetch(`${site.url}/v1/threads/${reader.thread}/events?after=0.0`, { headers: { cookie: reader.cookie, origin: site.url }, signal: stop.signal });
    const stream = r.body.getReader();
    await stream.read();
    let over = false;
    const rest = (async () => { while (!(await stream.read()).done); over = true; })().catch(() => {});
    const root = new Person(site, 'root'), key = { authorization: `Bearer ${ROOT_KEY}` };
    same((await root.ask('GET', '/v1/threads', undefined, key)).status, 401, 'a key nobody has given');
    await site.configure({ ...config, auth: { ...config.auth, keys: [{ sha256: sha256(ROOT_KEY), principal: 'root', roles: ['admin'] }] } });
    await site.reload();
    await until(async () => (await root.ask('GET', '/v1/threads', undefined, key)).status !== 401, 'the new key');
    check(!over, 'the reload ended a stream');
    stop.abort();
    await rest;
}

const checkpoints = (config) => (fs.existsSync(config.audit.file) ? fs.readFileSync(config.audit.file, 'utf8').split('\n').filter(Boolean) : []);
const payload = (line) => JSON.parse(Buffer.from(line.split('.')[1], 'base64url'));

// Keeps the newest checkpoint where the server cannot write, once all the conversations are in one.
async function kept(site, config, count) {
    const all = await until(() => { const c = checkpoints(config); return new Set(c.flatMap((l) => payload(l).heads.map(([log]) => log))).size >= count && c; }, 'a checkpoint of all');
    fs.writeFileSync(path.join(site.desk, 'kept.jws'), all.at(-1) + '\n');
}

async function verified(site) {
    const file = path.join(site.desk, 'record.jsonl'), own = (name) => path.join(site.desk, name);
    const x = await site.parley(['audit', 'export']);
    same(x.status, 0, `the export (${x.err})`);
    const verify = (text) => {
        fs.writeFileSync(file, text);
        const r = spawnSync(process.execPath, [site.verifier, file, own('audit.pub'), own('kept.jws')], { encoding: 'utf8' });
        return [r.status, r.stdout + r.stderr];
    };
    const [good, said] = verify(x.out);
    same(good, 0, `the export (${said})`);
    check(x.out.includes('o-2'), 'the export tells nothing of bob\'s refund');
    same(verify(x.out.replace('o-2', 'o-9'))[0], 1, 'one changed letter');
    return x.out;
}

function tellsWhatItShould(record) {
    check(!/\bada\b|o-1/.test(record), 'ada is still in the record');
    const lines = record.split('\n').filter(Boolean).map((l) => JSON.parse(l));
    const calls = lines.filter((l) => l.type === 'call' && l.decided?.outcome === 'approved');
    same(calls.map((c) => [c.owner, c.decided.by, c.decided.roles.includes('lead'), c.finished.outcome]).sort(), [['bob', 'cleo', true, 'done'], ['cleo', 'cleo', true, 'done']], 'the refunds on record');
    const stubs = lines.filter((l) => l.type === 'stub');
    check(stubs.length === 2 && stubs.some((s) => /"by":"cleo"/.test(s.body) && /"outcome":"done"/.test(s.body)), `ada's stubs: ${JSON.stringify(stubs)}`);
}

// The whole day; what was done, in its order. Throws with a sentence.
export async function day(site) {
    const config = prepare(site), done = [], [ada, bob, cleo] = Object.keys(PEOPLE).map((name) => new Person(site, name));
    await site.configure(config);
    const c = await site.parley(['check']);
    same(c.status, 0, `parley check (${c.out}${c.err})`);
    await site.start();
    done.push('configured, checked and started');
    for (const p of [ada, bob, cleo]) await p.signIn();
    await notTheirs(ada, bob);
    await aRefundFor(ada, cleo, 'o-1');
    await aRefundFor(cleo, cleo, 'o-3');
    done.push('signed in; each tool run for whom it was asked, by the right yes');
    await kept(site, config, 4);                              // what is not in a checkpoint yet is not verified
    await backedUp(site);
    done.push('backed up, and the backup verified');
    const open = await bob.wants('o-2');
    await reloaded(site, config, bob);
    done.push('reloaded with a stream open');
    await site.upgrade();
    same(await cleo.decides(open), 200, 'a yes to what was asked before the upgrade');
    same(await bob.got(), `refunded o-2 for bob ${mail('bob')}`, 'the program after the upgrade');
    done.push('upgraded with a question open, and everybody still signed in');
    await kept(site, config, 5);
    const e = await site.parley(['people', 'erase', 'ada', site.url], { PARLEY_KEY: ROOT_KEY });
    same([e.status, e.out.trim()], [0, '2 conversations deleted, the name taken out of 2 stubs'], `erasing (${e.err})`);
    same((await ada.ask('GET', '/v1/threads')).status, 401, 'the erased one\'s sign-in');
    done.push('erased one person');
    tellsWhatItShould(await verified(site));
    done.push('verified from the export, against a checkpoint from before');
    return done;
}
