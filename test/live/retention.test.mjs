// Retention by kind: words go from a conversation that stays, in both stores; who was asked and who decided stays, and the
// record is as it was recorded, also for a stranger and against a checkpoint from before.
import fs from 'node:fs';
import path from 'node:path';
import { sql } from '../cluster/lib.mjs';
import { check, oneProcess, parley, runToEnd, same, settled, sound, test, until } from './lib.mjs';
import { STORES, audited, keys, lines, noted, paid, payload, stranger, trimmed, types, untouched, verifier } from './record.mjs';

// The events of a conversation, as a page reads them.
async function follow(t, server, thread) {
    const stop = new AbortController(), r = await fetch(`${server.url}/v1/threads/${thread}/events?after=0.0`, { signal: stop.signal });
    const got = { text: '', until: (pattern) => until(() => pattern.test(got.text), `${pattern} in ${got.text.slice(-500)}`) };
    same(r.status, 200);
    const read = (async () => { for await (const chunk of r.body.pipeThrough(new TextDecoderStream())) got.text += chunk; })().catch(() => {});
    t.defer(() => { stop.abort(); return read; });
    return got;
}

for (const [where, store] of STORES)
    test(`in ${where}: words go by their kind and age, decisions stay, and the record is as it was recorded`, async (t) => {
        const url = await store(), a = await audited(t, { url, config: { retention: { tools: 2, words: 2, files: 5000 } } });
        const thread = await paid(a.server);
        await noted(a.file, 1);
        const kept = await until(() => /"heads"/.test(Buffer.from(lines(a.file).at(-1)?.split('.')[1] ?? '', 'base64url')) && lines(a.file).at(-1), 'a checkpoint');
        await a.server.term();
        await untouched(a.server, url, 3);
        await a.server.start();
        const looking = await follow(t, a.server, thread);      // somebody has it open meanwhile
        await looking.until(/"complete"/);
        await trimmed(a.server);

        const shown = await settled(a.server, thread);
        check(!/Hanako|50 dollars/.test(JSON.stringify(shown.messages ?? shown)), JSON.stringify(shown));
        const { json: { approvals } } = await a.server.get(`/v1/approvals?thread=${thread}&status=all`);
        const row = (approvals ?? []).find((x) => x.thread === thread);
        if (row) same([row.input, row.said, row.decided_by], [{}, '[removed]', 'local']);
        const s = await stranger(t, a, kept);
        same([s.code, /lost words by their age, as the server signed/.test(s.out)], [0, true], s.out);
        const facts = types(s.export).filter((l) => l.type === 'fact');
        for (const f of facts) check(f.kind === 'asked' || !/Hanako/.test(f.body), `${f.kind} still has words: ${f.body}`);
        check(facts.some((f) => f.kind === 'trimmed') && facts.filter((f) => f.digest).length >= 3, 'nothing was trimmed');
        const call = types(s.export).find((l) => l.type === 'call');
        same([call.input, call.asked.shown, call.decided.by, call.finished.outcome], ['{}', 'Send 50 USD to Hanako?', 'local', 'done']);
        const v = await a.cli('verify', '--checkpoint', a.file);
        same([v.code, /lost words by their age \("retention"\), as the server signed/.test(v.out)], [0, true], v.out + v.err);

        // It goes on, and what went does not come back.
        const told = looking.text.length;
        sound(await a.server.turn('And now?', { thread_id: thread }));
        await until(() => /"complete"/.test(looking.text.slice(told)), 'the open stream to be told of it');
        const after = await a.cli('verify');
        same(after.code, 0, after.out);
        // With the public key alone; and without one nobody can know.
        const elsewhere = (...more) => parley(['audit', 'verify', '--store', 'env:THE_STORE', ...more], { cwd: t.folder(), env: { THE_STORE: url || a.server.db } });
        const known = await elsewhere('--public', a.pub), bare = await elsewhere(), other = await elsewhere('--public', keys(t.folder()).pub);
        same(known.code, 0, `${known.out}${known.err}`);
        same([bare.code, /no key was given to look at signatures.*cannot be known/.test(bare.out)], [4, true], bare.out);
        same([other.code, /that words of it went was signed by another key than those given/.test(other.out)], [1, true], other.out);

        // Other words in the place of those that went are found by both.
        const forged = s.export.replace('[removed]', '[Removed]');
        const out = `${t.folder()}/forged.jsonl`;
        fs.writeFileSync(out, forged);
        fs.writeFileSync(`${out}.kept`, kept);
        const r = await verifier(out, a.pub, `${out}.kept`);
        same([r.code, /neither what was appended nor what was left/.test(r.out)], [1, true], r.out);
        const resigned = await verifier(path.join(path.dirname(out), 'forged.jsonl'), keys(t.folder()).pub, `${out}.kept`);
        same([resigned.code, /is not what was signed/.test(resigned.out)], [1, true], resigned.out);
    }, { timeout_ms: 180000 });

// Another configuration for the same store.
const change = (a, more) => { const file = path.join(a.dir, 'parley.json'); fs.writeFileSync(file, JSON.stringify({ ...JSON.parse(fs.readFileSync(file)), ...more })); };

for (const [where, store] of STORES)
    test(`in ${where}: what went without a signature is told where there were none, and found where there are`, async (t) => {
        oneProcess('it changes the configuration file of one');
        const url = await store(), a = await audited(t, { url }), { server } = a, { audit } = JSON.parse(fs.readFileSync(path.join(a.dir, 'parley.json')));
        const trims = async () => {
            await server.term();
            await untouched(server, url, 3);
            change(a, { audit: undefined, retention: { words: 2 } });
            await server.start();
            await trimmed(server);
            await server.term();
            change(a, { audit, retention: undefined });
        };
        const cli = () => a.cli('verify', '--checkpoint', a.file), says = /nobody signed that/;
        await server.term();
        change(a, { audit: undefined });
        await server.start();
        const before = await paid(server);                      // by a server that has no key yet
        await trims();
        const old = await a.cli('verify');
        same([old.code, old.out.includes(`${before} of local: `) && says.test(old.out)], [4, true], old.out);
        await server.start();
        await noted(a.file, 1);
        check(payload(lines(a.file)[0]).removals === 'signed', lines(a.file)[0]);
        const known = await cli(), s = await stranger(t, a, lines(a.file).at(-1));
        same([known.code, says.test(known.out), /no signature says so/.test(known.out)], [4, true, true], known.out);
        same([s.code, s.out.includes(`${before}: facts lost words, and nobody signed that`)], [4, true], s.out);

        const since = await paid(server);
        await noted(a.file, 2);
        await trims();
        const found = await cli(), too = await stranger(t, a, lines(a.file).at(-1));
        same([found.code, new RegExp(`^conversation ${since} of local: it lost words, and nobody signed that`, 'm').test(found.out)], [1, true], found.out);
        same([too.code, new RegExp(`^${since}: fact \\d+ lost words, and nobody signed that`, 'm').test(too.out)], [1, true], too.out);
        check(!new RegExp(`^conversation ${before}`, 'm').test(found.out), found.out);
    }, { timeout_ms: 180000 });

test('signatures of what went are moved with the rest, from a file to a database and back', async (t) => {
    const a = await audited(t, { config: { retention: { tools: 2, words: 2 } } }), there = await STORES[1][1](), back = path.join(t.folder(), 'back.db');
    await paid(a.server);
    await a.server.term();
    await untouched(a.server, '', 3);
    await a.server.start();
    await trimmed(a.server);
    await a.server.term();
    for (const [from, to] of [[a.server.db, there], [there, back]]) {
        const moved = await parley(['move', '--from', 'env:FROM', '--to', 'env:TO'], { env: { FROM: from, TO: to } });
        same(moved.code, 0, moved.err);
        const v = await parley(['audit', 'verify', '--store', 'env:TO', '--public', a.pub, '--checkpoint', a.file], { cwd: t.folder(), env: { TO: to } });
        same([v.code, /as the server signed/.test(v.out)], [0, true], v.out + v.err);
    }
}, { timeout_ms: 120000 });

test('what is configured to go is told by check, and an age that is none is refused in words', async (t) => {
    const dir = t.folder(), file = `${dir}/parley.json`;
    fs.writeFileSync(file, JSON.stringify({ retention: { tools: 30, prompts: 90 } }));
    const good = await parley(['check', '--config', file], { cwd: dir });
    check(/^retention +tools 30 days, in conversations that stay$/m.test(good.out) && /^retention +prompts 90 days after their last use$/m.test(good.out), good.out);
    fs.writeFileSync(file, JSON.stringify({ retention: { tools: 'a month' } }));
    const bad = await parley(['check', '--config', file], { cwd: dir });
    check(bad.code !== 0 && /retention\.tools/.test(bad.err + bad.out), bad.err + bad.out);
});
