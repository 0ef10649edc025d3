// A real export, and everything that somebody could do to one line of it: each kind of line that there is, and each kind of
// fact, is taken away, doubled, moved, and each of its members changed, taken away and added to. What is not found must be
// listed here, and be told in docs/audit.md.
import fs from 'node:fs';
import { check, same, sound, test } from './lib.mjs';
import { audited, judged, lines, noted, paid, stranger, trimmed, types, untouched } from './record.mjs';

const NOT_FOUND = [
    /^stub: changed places with the next of its kind$/,                // nothing says in which order they went
];

// As many kinds as a server makes in a few seconds.
async function rich(t) {
    const a = await audited(t, { config: { retention: { tools: 2, words: 2 } } }), { server } = a;
    await paid(server);
    await server.term();
    await untouched(server, '', 3);
    await server.start();
    await trimmed(server);
    const thread = await paid(server), gone = [await paid(server), await paid(server)];
    await paid(server, { thread_id: thread });
    sound(await server.turn('What is the weather in Tokyo?', { thread_id: thread }));
    sound(await server.turn('hello'));
    await noted(a.file, 2);
    for (const id of gone) same((await server.request('DELETE', `/v1/threads/${id}`)).status, 204);
    await noted(a.file, lines(a.file).length + 1);
    return a;
}

// --- what can be done to a value ---------------------------------------------------------------------

const changedText = (s) => [s === '' ? 'x' : (s[0] === 'a' ? 'b' : 'a') + s.slice(1), `${s}x`, s.slice(0, -1)].filter((x) => x !== s);
function* values(v, at) {
    if (typeof v === 'string') for (const [i, x] of changedText(v).entries()) yield [`${at} changed (${i})`, x];
    else if (typeof v === 'number') { yield [`${at} one more`, v + 1]; yield [`${at} one less`, v - 1]; yield [`${at} as text`, String(v)]; }
    else if (typeof v === 'boolean') yield [`${at} the other way`, !v];
    else if (v === null) { yield [`${at} 0`, 0]; yield [`${at} ""`, '']; }
    else yield* Array.isArray(v) ? elements(v, at) : members(v, at);
    if (v !== null) yield [`${at} null`, null];
}
function* members(o, at) {
    yield [`${at}: one more member`, { ...o, by_whom: 'eve' }];
    for (const [k, v] of Object.entries(o)) {
        const { [k]: _, ...rest } = o;
        yield [`${at}.${k} taken away`, rest];
        for (const [what, x] of values(v, `${at}.${k}`)) yield [what, { ...o, [k]: x }];
    }
}
function* elements(list, at) {
    yield [`${at}: one less`, list.slice(0, -1)];
    yield [`${at}: one twice`, [...list, list.at(-1)]];
    if (list.length > 1) yield [`${at}: swapped`, [list[1], list[0], ...list.slice(2)]];
    for (const [i, v] of list.slice(0, 1).entries()) for (const [what, x] of values(v, `${at}[${i}]`)) yield [what, list.with(i, x)];
}

// --- what can be done to a line ----------------------------------------------------------------------

const kind = (l) => (l.type === 'fact' ? `fact ${l.kind}${l.digest ? ' that lost words' : ''}` : l.type === 'call' ? `call${l.asked ? '' : ' nobody was asked about'}` : l.type);
function* forgeries(all) {
    const kinds = new Map(), text = all.map((l) => JSON.stringify(l));
    for (const [i, l] of all.entries()) kinds.set(kind(l), [...(kinds.get(kind(l)) ?? []), i]);
    const swap = (i, j) => text.with(i, text[j]).with(j, text[i]);
    for (const [name, at] of kinds)
        for (const i of new Set([at[0], at.at(-1)])) {
            const next = at[at.indexOf(i) + 1];
            yield [`${name}: taken away`, text.toSpliced(i, 1)];
            yield [`${name}: there twice`, text.toSpliced(i, 0, text[i])];
            yield [`${name}: there twice, far from each other`, text.toSpliced(i ? 0 : text.length, 0, text[i])];
            if (next) yield [`${name}: changed places with the next of its kind`, swap(i, next)];
            if (i + 1 < all.length && kind(all[i + 1]) !== name) yield [`${name}: changed places with the next`, swap(i, i + 1)];
            for (const gap of ['', ' ', '\t', '\r', '  \t '])
                yield [`${name}: with a member twice, ${JSON.stringify(gap)} before its colon`, text.with(i, `{"type"${gap}:"x",${text[i].slice(1)}`)];
            if (i === at[0]) for (const [what, x] of members(all[i], name)) yield [what, text.with(i, JSON.stringify(x))];
        }
    yield ['a line of no kind', text.toSpliced(1, 0, '{"type":"note","text":"all is well"}')];
    yield ['a line of a kind that every object has', text.toSpliced(1, 0, '{"type":"constructor"}')];
}

test('whatever is done to a line of an export is found by the stranger', async (t) => {
    const a = await rich(t), kept = fs.readFileSync(a.file, 'utf8'), good = await stranger(t, a, kept);
    same([good.code, good.err], [0, ''], good.out);
    const all = types(good.export), there = new Set(all.map(kind));
    for (const type of ['checkpoint', 'log', 'fact trimmed', 'fact decided', 'fact message that lost words', 'call', 'call nobody was asked about', 'stub', 'end']) check(there.has(type), `no ${type} among ${[...there]}`);
    const files = [fs.readFileSync(a.pub, 'utf8'), kept], work = [...forgeries(all)];
    same(judged(good.export, ...files).code, 0);

    const verdicts = work.map(([what, text]) => [what, judged(`${text.join('\n')}\n`, ...files)]);
    const found = (what, code) => code === 1 || (code === 3 && /\.type (taken away|null)$/.test(what));
    const missed = verdicts.filter(([what, r]) => !found(what, r.code)).map(([what, r]) => [what, r.code, r.out.slice(0, 200)]);
    console.log(`note: ${work.length} forgeries of ${there.size} kinds of lines`);
    same(missed.filter(([what]) => !NOT_FOUND.some((x) => x.test(what))), []);
    for (const x of NOT_FOUND) check(missed.some(([what, code]) => x.test(what) && code === 0), `${x} is found, and listed as not`);
});
