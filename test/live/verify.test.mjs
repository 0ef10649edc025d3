// `parley audit verify|export|show`, and the stranger's verifier, on both kinds of store: what is found, and that a check
// that did not happen is never told as one that did.
import fs from 'node:fs';
import path from 'node:path';
import { check, parley, same, sound, test } from './lib.mjs';
import { STORES, audited, keys, lines, noted, paid, payload, stranger, types, verifier } from './record.mjs';

const write = (t, text, name = 'x') => { const at = path.join(t.folder(), name); fs.writeFileSync(at, text); return at; };

test('a key or a checkpoint that was named and holds nothing is an error, not a check that was passed', async (t) => {
    const a = await audited(t), other = keys(t.folder()).pub;
    await paid(a.server);
    await noted(a.file, 1);
    const pem = fs.readFileSync(a.pub, 'utf8'), broken = pem.replace(/\n[A-Za-z0-9+/]{8}/, '\n????????');
    for (const [what, text, words] of [
        ['empty', '', /holds no key/], ['blank', '\n \n', /holds no key/], ['garbage', 'hello\n', /holds no key/],
        ['a cut key', pem.slice(0, 60), /cannot be read|holds no key/], ['a good and a broken one', pem + broken, /one of its keys cannot be read/],
        ['a certificate', pem.replaceAll('PUBLIC KEY', 'CERTIFICATE'), /cannot be read/]]) {
        const r = await a.cli('verify', '--public', write(t, text), '--checkpoint', a.file);
        same([r.code, r.out, words.test(r.err)], [3, '', true], `${what}: ${r.out}${r.err}`);
    }
    for (const option of ['--public', '--checkpoint']) {
        const r = await a.cli('verify', option, path.join(a.dir, 'nobody'));
        same([r.code, r.out, /cannot read .*nobody: No such file/.test(r.err)], [3, '', true], r.err);
        same((await a.cli('verify', option, '')).code, 3, 'no name');
        same((await a.cli('verify', option, a.dir)).code, 3, 'a folder');
    }
    for (const text of ['', '\n\n', 'hello\n', 'a.b.c\n', '\0\0'])
        same((await a.cli('verify', '--checkpoint', write(t, text))).code, 3, JSON.stringify(text));
    same((await a.cli('verify', '--public', other)).code, 1, 'somebody else\'s key');
    const both = await a.cli('verify', '--public', write(t, fs.readFileSync(other, 'utf8') + pem), '--checkpoint', a.file);
    same([both.code, both.err], [0, ''], both.out);
});

test('what was not looked at is said, and has an exit status of its own', async (t) => {
    const a = await audited(t), bare = (...args) => parley(['audit', 'verify', '--store', a.server.db, ...args], { cwd: t.folder() });
    const empty = await bare('--public', a.pub);
    same([empty.code, /no conversation in the store/.test(empty.out), /there is no checkpoint/.test(empty.out)], [4, true, true], empty.out);
    await paid(a.server);
    await noted(a.file, 1);
    const unsigned = await bare();
    same([unsigned.code, /no signature was looked at/.test(unsigned.out)], [4, true], unsigned.out);
    same((await bare('--public', a.pub)).code, 0);
});

test('a checkpoint of another store is found not to be of this one', async (t) => {
    const a = await audited(t), b = await audited(t);
    for (const x of [a, b]) { await paid(x.server); await noted(x.file, 1); }
    const both = write(t, fs.readFileSync(a.pub, 'utf8') + fs.readFileSync(b.pub, 'utf8'));
    const r = await a.cli('verify', '--public', both, '--checkpoint', b.file);
    same([r.code, /is not the one that was kept/.test(r.out)], [1, true], r.out);
});

test('the stranger says what it could not read, and sees an export that was cut off', async (t) => {
    const a = await audited(t);
    await paid(a.server);
    await noted(a.file, 1);
    const good = await stranger(t, a, fs.readFileSync(a.file));
    same(good.code, 0, good.out);
    const record = write(t, good.export), kept = write(t, fs.readFileSync(a.file));
    same((await verifier(record, a.pub)).code, 2, 'one file too few');
    same((await verifier(record, a.pub, path.join(a.dir, 'nobody'))).code, 3);
    for (const text of ['', 'hello\n', '-----BEGIN PUBLIC KEY-----\n'])
        same((await verifier(record, write(t, text), kept)).code, 3, `key ${JSON.stringify(text)}`);
    for (const text of ['', '\n', 'hello', 'a.b.c'])
        same((await verifier(record, a.pub, write(t, text))).code, 3, `kept ${JSON.stringify(text)}`);
    for (const text of ['', 'hello\n', '{}\n'])
        same((await verifier(write(t, text), a.pub, kept)).code, 3, `export ${JSON.stringify(text)}`);
    const all = good.export.trimEnd().split('\n');
    const cut = await verifier(write(t, all.slice(0, -1).join('\n') + '\n'), a.pub, kept);
    same([cut.code, /was cut off/.test(cut.out)], [1, true], cut.out);
    const lied = all.map((l) => (JSON.parse(l).type === 'log' ? JSON.stringify({ ...JSON.parse(l), created_ms: JSON.parse(l).created_ms + 1 }) : l));
    same((await verifier(write(t, lied.join('\n') + '\n'), a.pub, kept)).code, 1, 'when it was made');
});

test('the stranger finds a line of a call that says something else than its facts, is missing or is there twice', async (t) => {
    const a = await audited(t);
    await paid(a.server);
    await noted(a.file, 1);
    const kept = write(t, fs.readFileSync(a.file)), good = await stranger(t, a, fs.readFileSync(a.file));
    same(good.code, 0, good.out);
    const all = types(good.export), [told] = all.filter((l) => l.type === 'call');
    const tried = async (what, calls) => {
        const forged = all.flatMap((l) => (l.type === 'call' ? calls : [l])).map((l) => JSON.stringify(l));
        const r = await verifier(write(t, forged.join('\n') + '\n'), a.pub, kept);
        same([r.code, /of call \S+ something else is told|is not told as it was/.test(r.out)], [1, true], `${what}: ${r.out}${r.err}`);
    };
    const other = (part, member) => [{ ...told, [part]: { ...told[part], [member]: 'x' } }];
    await Promise.all([tried('input', [{ ...told, input: '{"amount":9999}' }]), tried('shown', other('asked', 'shown')),
        tried('by', other('decided', 'by')), tried('outcome', other('finished', 'outcome')), tried('a vote', [{ ...told, votes: [{ by: 'x' }] }]),
        tried('missing', []), tried('twice', [told, told])]);
});

test('the stranger finds a conversation or what is left of one that is told twice', async (t) => {
    const a = await audited(t), gone = await paid(a.server);
    await paid(a.server);
    await noted(a.file, 1);
    same((await a.server.request('DELETE', `/v1/threads/${gone}`)).status, 204);
    const kept = write(t, fs.readFileSync(a.file)), good = await stranger(t, a, fs.readFileSync(a.file));
    same(good.code, 0, good.out);
    const all = good.export.trimEnd().split('\n'), stub = all.find((l) => JSON.parse(l).type === 'stub');
    const tried = async (what, each, of) => {
        const r = await verifier(write(t, all.flatMap(each).join('\n') + '\n'), a.pub, kept);
        same([r.code, r.out.includes(`${of}: it is told twice`)], [1, true], `${what}: ${r.out}${r.err}`);
    };
    const standing = all.map((l) => JSON.parse(l)).find((l) => l.type === 'log').thread;
    const { log, owner, thread, created_ms, seq, head } = JSON.parse(stub);
    await Promise.all([tried('a stub', (l) => (l === stub ? [l, l] : [l]), gone),
        tried('a log', (l) => (JSON.parse(l).type === 'log' ? [l, l] : [l]), standing),
        tried('both', (l) => (l === stub ? [JSON.stringify({ type: 'log', log, owner, thread, created_ms, seq, head }), l] : [l]), gone)]);
});

test('after a change of the key the stranger believes both, as parley does, and no third', async (t) => {
    const a = await audited(t), old = fs.readFileSync(a.pub, 'utf8'), at = (dir) => path.join(dir, 'audit.key');
    await paid(a.server);
    const before = (await noted(a.file, 1)).length, next = t.folder(), { pub } = keys(next);
    fs.writeFileSync(at(a.dir), fs.readFileSync(at(next), 'utf8') + old);
    fs.writeFileSync(a.pub, fs.readFileSync(pub, 'utf8') + old);
    await a.server.restart();
    sound(await a.server.turn('hello'));
    await noted(a.file, before + 1);
    same((await a.cli('verify', '--checkpoint', a.file, '--public', a.pub)).code, 0);
    const both = await stranger(t, a, fs.readFileSync(a.file));
    same(both.code, 0, both.out + both.err);
    const one = await stranger(t, { ...a, pub }, fs.readFileSync(a.file));
    same([one.code, /a checkpoint is not what was signed/.test(one.out)], [1, true], one.out);
});

for (const [where, newUrl] of STORES)
    test(`in ${where}: deleted, erased and standing conversations verify, and are exported and shown`, async (t) => {
        const a = await audited(t, { url: await newUrl() }), { server, cli, file } = a;
        const gone = await paid(server), stays = await paid(server);
        sound(await server.turn('hello'));
        await noted(file, 1);
        same((await server.request('DELETE', `/v1/threads/${gone}`)).status, 204);
        const heads = () => new Set(lines(file).map(payload).flatMap((c) => c.heads.map(([log, seq]) => `${log} ${seq}`)));
        const before = heads().size;
        await noted(file, lines(file).length + 1);
        check(heads().size > before, 'the stub was noted');

        const verified = await cli('verify', '--checkpoint', file, '--public', a.pub);
        same([verified.code, /2 conversations with .* 1 removed ones.*all is as it was recorded/.test(verified.out), verified.err], [0, true, ''], verified.out);
        const all = types((await cli('export')).out);
        same(all.filter((l) => l.type === 'stub').map((l) => l.thread), [gone]);
        same(all.filter((l) => l.type === 'call').map((l) => [l.thread, l.decided.by, l.finished.outcome]), [[stays, 'local', 'done']]);
        const one = types((await cli('export', stays)).out);
        same([...new Set(one.map((l) => l.type))], ['log', 'fact', 'call', 'end']);
        const shown = await cli('show', gone);
        same([shown.code, /removed at .* by local/.test(shown.out), /decided.by +local/.test(shown.out)], [0, true, true], shown.out);
        same((await cli('show', stays)).code, 0);
        for (const what of ['show', 'export']) {
            const r = await cli(what, 'nobody');
            same([r.code, /there is no conversation nobody/.test(r.err)], [1, true], r.err);
        }
        const r = await stranger(t, a, lines(file).at(-1));
        same(r.code, 0, r.out);

        await server.restart('SIGKILL');
        sound(await server.turn('and after a crash'));
        const again = await cli('verify', '--checkpoint', file);
        same(again.code, 0, again.out + again.err);
        same((await cli('verify', '--checkpoint', file, '--public', keys(t.folder()).pub)).code, 1, 'another key');
    });
