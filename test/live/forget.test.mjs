// Whoever is erased: their name is looked for in every row of every table, in both kinds of store, and is nowhere but
// where docs/audit.md says that it stays.
import fs from 'node:fs';
import path from 'node:path';
import { check, same, test, until } from './lib.mjs';
import { approvals, as, auth, bank, decide, grants, key, payments, say, sha256, still } from './org.mjs';
import { STORES, keys, lines, noted, organisation, payload, stranger, types, verifier } from './record.mjs';

const ROLES = { adaline: ['user'], bobby: ['user'], fayola: ['approver'], root: ['admin'] };
const RULES = { rules: [{ tool: '*', from: { role: 'approver' } }] };

const GRANT = { for: 3600, count: 5, same: ['/recipient'] };

// Somebody wants a payment, and fayola says yes, also to those that come after it; gives the thread.
async function pays(server, who, to) {
    const { ids, thread, history } = await say(server, who, `Send 50 dollars to ${to}`);
    for (const id of ids) same((await decide(server, 'fayola', id, true, { grant: { scope: 'me' } })).status, 200);
    await still(server, who, thread);
    return { thread, history };
}
const naming = async (org, name) => (await org.rows()).filter((row) => row.includes(name));
const tables = (rows) => [...new Set(rows.map((row) => row.split(' ')[0].replace('parley_', '')))].sort();

for (const [where, newUrl] of STORES)
    test(`in ${where}: an erasing that a crash interrupted is gone on with by the same command`, async (t) => {
        const MANY = 230;                                  // one request works through 200
        const org = await organisation(t, {}, { url: await newUrl(), roles: ROLES });
        const { server, erase, audit } = org, hers = async () => tables(await naming(org, 'adaline'));
        const of = async () => (await naming(org, 'adaline')).filter((row) => /^(parley_)?thread /.test(row)).length;
        const each = Array.from({ length: MANY }, (_, i) => i), makers = Array.from({ length: 10 });
        await Promise.all(makers.map(async () => { while (each.pop() !== undefined) same((await server.post('/v1/threads', {}, as('adaline'))).status, 201); }));
        same(await of(), MANY);

        const cut = server.post('/v1/people/adaline/erase', {}, as('root')).catch(() => {});
        await until(async () => (await of()) < MANY, 'the first of them to go');
        await server.restart('SIGKILL');
        await cut;
        const left = await of();
        check(left > 0 && left < MANY, `${left} were left`);
        const r = await erase('adaline', 'root');
        same([r.code, r.out.startsWith(`${left} conversations deleted, `)], [0, true], r.out + r.err);
        same(await hers(), []);
        same(types((await audit('export')).out).filter((l) => l.type === 'stub').length, MANY, 'a stub of each');
        same((await audit('verify')).code, 0);
    });

for (const [where, newUrl] of STORES)
    test(`in ${where}: a name that was erased is in no row but in others' own conversations, and goes with them`, async (t) => {
        const b = await bank(t), org = await organisation(t, payments(b, { effect: 'pay:{recipient}', grant: GRANT }, { approvals: RULES }), { url: await newUrl(), roles: ROLES });
        const { server, erase, audit } = org;
        await pays(server, 'adaline', 'Hanako');
        const second = await pays(server, 'bobby', 'Hanako'), own = await pays(server, 'bobby', 'Kenji');
        same(b.books.length, 2, 'Hanako was paid once');
        const first = (await approvals(server, 'bobby', '?status=duplicate'))[0].duplicate_of;
        same([first.call, first.by, first.thread], [b.books[0].call, 'fayola', null]);

        same([(await grants(server, 'adaline')).length, (await grants(server, 'bobby')).length], [1, 1]);
        const given = async (name) => { const all = types((await org.cli('export', name)).out); return [[...new Set(all.map((l) => l.type))], JSON.stringify(all).includes('Hanako')]; };
        same([await given('adaline'), await given('fayola')], [[['log', 'fact', 'call', 'end'], true], [['decision', 'end'], false]]);

        same((await erase('adaline', 'root')).code, 0);
        same(await naming(org, 'adaline'), [], 'the one who paid');
        same((await erase('fayola', 'root')).code, 0);
        same(await grants(server, 'bobby'), [], 'what she allowed in advance');
        const left = await naming(org, 'fayola');
        same(tables(left), ['approval', 'fact'], left.join('\n'));

        for (const { thread } of [second, own]) same((await server.request('DELETE', `/v1/threads/${thread}`, undefined, as('bobby'))).status, 204);
        same((await erase('fayola', 'root')).code, 0);
        const rest = await naming(org, 'fayola');
        same(rest, [], 'when the others deleted theirs');
        const verified = await audit('verify');
        same(verified.code, 0, verified.out + verified.err);
        const stubs = types((await audit('export')).out).filter((l) => l.type === 'stub');
        same(stubs.length, 3);
        same(stubs.map((s) => JSON.parse(s.body).calls.map((c) => [/^erased-/.test(c.decided.by), c.finished.outcome])), [[[true, 'done']], [], [[true, 'done']]]);

        const again = await pays(server, 'bobby', 'Hanako');
        same(b.books.length, 2, 'and still once');
        const of = (await approvals(server, 'bobby', '?status=duplicate'))[0].duplicate_of;
        same([of.call, of.by, Date.parse(of.at) > 0], [b.books[0].call, 'erased', true], JSON.stringify(of));
        same(again.thread.length > 0, true);
    });

for (const [where, newUrl] of STORES)
    test(`in ${where}: what the payments of one person took ties nothing of theirs together`, async (t) => {
        const b = await bank(t), org = await organisation(t, payments(b, { effect: 'pay:{recipient}', grant: GRANT }, { approvals: RULES }), { url: await newUrl(), roles: ROLES });
        for (const [who, to] of [['adaline', 'Hanako'], ['adaline', 'Kenji'], ['bobby', 'Taro'], ['bobby', 'Mika']]) await pays(org.server, who, to);
        for (const name of ['adaline', 'fayola']) same((await org.erase(name, 'root')).code, 0);
        const random = (await org.rows()).flatMap((row) => [...new Set(row.match(/erased-[\w-]{12}/g))]);
        check(random.length >= 2 && new Set(random).size === random.length, `each stands in one row: ${random}`);
        await pays(org.server, 'bobby', 'Hanako');
        same([b.books.length, (await approvals(org.server, 'bobby', '?status=duplicate'))[0].duplicate_of.by], [4, 'erased'], 'still paid once');
    });

for (const [where, newUrl] of STORES)
    test(`in ${where}: what a conversation leaves is signed, also when somebody is erased from it`, async (t) => {
        const dir = t.folder(), { key, pub } = keys(dir), file = path.join(dir, 'checkpoints.jws'), b = await bank(t);
        const org = await organisation(t, payments(b, { grant: GRANT }, { approvals: RULES, audit: { key, every: 1, file } }), { url: await newUrl(), roles: ROLES }), { server } = org;
        const { thread } = await pays(server, 'adaline', 'Hanako');
        await noted(file, 1);
        same((await server.request('DELETE', `/v1/threads/${thread}`, undefined, as('adaline'))).status, 204);
        const signed = async (what) => {
            const v = await org.audit('verify', '--checkpoint', file), s = await stranger(t, { cli: org.audit, pub }, lines(file).at(-1));
            same([v.code, s.code], [0, 0], `${what}: ${v.out}${s.out}`);
            const [stub] = types(s.export).filter((l) => l.type === 'stub'), { jws, calls } = JSON.parse(stub.body);
            same([payload(jws).type, payload(jws).log, payload(jws).unsigned, calls.length], ['parley-removal', stub.log, undefined, 1], what);
            return s.export;
        };
        await signed('removed');
        same((await org.erase('adaline', 'root')).code, 0);
        await signed('erased');
        same((await org.erase('fayola', 'root')).code, 0);
        const out = path.join(t.folder(), 'forged.jsonl'), all = await signed('erased twice');
        fs.writeFileSync(out, all.replace(/\\"jws\\":\\"[\w.-]+/, (jws) => jws.slice(0, -9) + 'AAAAAAAAA'));
        fs.writeFileSync(`${out}.kept`, lines(file).at(-1));
        const r = await verifier(out, pub, `${out}.kept`);
        same([r.code, /its stub is not what was signed/.test(r.out)], [1, true], r.out);
    });

// Each of them read in another way is another of them, or an address of something else.
const NAMES = ['ann', 'corp', 'corp/ann', 'corp/ann/', '/corp/ann', 'a/../ann', '.', '..', '../..', '%', '%2F', 'corp%2Fann', 'corp%252Fann',
    '?', 'ann?x=1', '#', 'ann#x', ' ', 'corp ann', '+', 'corp+ann', 'https://id.example/users?sub=1', 'a;b', 'a\\b', '"ann"', 'Zoë', '花子', 'Zoe\u0308', '😀/😀', '~'.repeat(128)];

test('people are exported and erased by whatever name they have, and nobody else is', async (t) => {
    const keys = NAMES.map((principal, i) => ({ sha256: sha256(key(`nr${i}`)), principal, roles: ['user'] }));
    const org = await organisation(t, { auth: { keys: [...keys, ...auth({ root: ['admin'] }).keys] } }), { server } = org;
    const threads = await Promise.all(NAMES.map(async (_, i) => (await server.post('/v1/threads', {}, as(`nr${i}`))).json.id));
    const standing = async () => types((await org.audit('export')).out).filter((l) => l.type === 'log').map((l) => l.owner).sort();
    same(await standing(), NAMES.toSorted());
    for (const [i, name] of NAMES.entries())
        same(types((await org.cli('export', name)).out).map((l) => [l.type, l.owner ?? '', l.thread ?? '']).filter(([type]) => type !== 'fact'),
            [['log', name, threads[i]], ['end', '', '']], name);

    const left = [...NAMES];
    for (const [i, name] of NAMES.entries()) {                                 // by the command, and by the address itself
        const path = `/v1/people/${encodeURIComponent(name).replaceAll('.', '%2E')}/erase`;
        if (i % 2) same((await server.post(path, {}, as('root'))).json, { conversations: 1, stubs: 1, done: true }, name);
        else same([(await org.erase(name, 'root')).out], ['1 conversations deleted, the name taken out of 1 stubs\n'], name);
        left.shift();
        if (i % 5 === 0) same(await standing(), left.toSorted(), name);
    }
    same(await standing(), []);
    same((await org.audit('verify')).code, 0);
});

test('a name that nobody can have is refused in a sentence, and nothing is erased', async (t) => {
    const org = await organisation(t, {}, { roles: ROLES }), { server } = org;
    same((await server.post('/v1/threads', {}, as('adaline'))).status, 201);
    for (const name of ['', 'x'.repeat(129), 'a\nb', '\u0085'])
        for (const r of [await org.erase(name, 'root'), await org.cli('export', name)])
            same([r.code, r.out, /^parley: nobody can be called that: /.test(r.err)], [2, '', true], JSON.stringify(name) + r.err);
    const at = (name) => server.post(`/v1/people/${name}/erase`, {}, as('root'));
    for (const [name, status, code] of [['', 403, 'forbidden'], ['x'.repeat(129), 404, 'unknown_person'], ['%00', 400, 'bad_target'], ['a%0Ab', 400, 'bad_target'],
        ['%FF', 400, 'bad_target'], ['..', 400, 'bad_target'], ['a%2Fb/c', 400, 'bad_target'], ['%2E%2E/x', 400, 'bad_target']]) {
        const r = await at(name);
        same([r.status, r.json?.error?.code ?? r.json?.error?.type], [status, code], name);
    }
    same((await server.get('/v1/people/a%2Fb/erase', as('adaline'))).status, 405);
    same((await server.post('/v1/people/a%2Fb/erase', {}, as('adaline'))).status, 403);
    same((await server.post('/v1/people/a%2Fb/erase', {})).status, 401);
    same((await server.get('/v1/threads', as('adaline'))).json.threads.length, 1);
});
