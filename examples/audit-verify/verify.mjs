// verify.mjs -- is this export what parley recorded? Shares no code with parley: docs/audit.md has
// the format. `node verify.mjs EXPORT.jsonl AUDIT.PUB KEPT.jws`: KEPT holds one or more checkpoints
// that somebody else kept. Exit status 0: it is; 1: it is not, and why; 2: usage; 3: one of the files
// is not what it should be, so nothing can be said; 4: nothing was found wrong, and words are gone of
// which nobody signed that parley took them out. AUDIT.PUB may hold several keys. A "call" line must
// say what the facts of its conversation say.
import crypto from 'node:crypto';
import fs from 'node:fs';
import { isDeepStrictEqual } from 'node:util';

const leave = (status, text) => { console.error(text); process.exit(status); };
const attempt = (file, what, f) => { try { return f(fs.readFileSync(file, 'utf8')); } catch (e) { return leave(3, `${file} is no ${what}: ${e.message}`); } };
const [exportFile, keyFile, keptFile, ...more] = process.argv.slice(2);
if (!keptFile || more.length) leave(2, 'usage: node verify.mjs EXPORT.jsonl AUDIT.PUB KEPT.jws');

// What each line has, and nothing else: what nothing speaks for may not stand beside what was recorded. "call" is compared
// as a whole. The lines stand in this order; the facts of a conversation follow its "log", its calls follow these.
const SHAPES = {
    checkpoint: { number: 'int', line: 'text' },
    log: { log: 'text', owner: 'text', thread: 'text', created_ms: 'int', seq: 'int', head: 'hash?' },
    fact: { log: 'text', seq: 'int', at_ms: 'int', kind: 'text', body: 'text', link: 'hash?', digest: 'hash' },
    call: null,
    stub: { log: 'text', owner: 'text', thread: 'text', created_ms: 'int', removed_ms: 'int', seq: 'int', kind: 'text', body: 'text', digests: 'hashes', head: 'hash' },
    end: { logs: 'int', stubs: 'int' },
};
const MAY_LACK = ['digest'];
const PLACES = { checkpoint: 0, log: 1, fact: 1, call: 1, stub: 2, end: 3 };
const isHash = (v) => typeof v === 'string' && /^[0-9a-f]{64}$/.test(v);
const IS = { int: Number.isSafeInteger, text: (v) => typeof v === 'string', hash: isHash, 'hash?': (v) => v === null || isHash(v),
    hashes: (v) => Array.isArray(v) && v.length > 0 && v.every(isHash) };

const problems = [], notes = new Set(), logs = new Map(), heads = [], lines = [];
let signs = Infinity, doubts = 0;                           // the first checkpoint after which removals are signed
const problem = (text) => problems.push(text);
const sha256 = (...parts) => parts.reduce((h, p) => h.update(p), crypto.createHash('sha256')).digest();
const int = (n) => { const b = Buffer.alloc(8); b.writeBigInt64BE(BigInt(n)); return b; };
const text = (s) => { const b = Buffer.from(s); return Buffer.concat([int(b.length), b]); };
const name = (o) => sha256(text(o.owner), text(o.thread), int(o.created_ms)).toString('hex').slice(0, 32);
const digest = (o, f) => sha256(text(o.owner), text(o.thread), int(f.seq), int(f.at_ms), text(f.kind),
    f.body);
const payload = (line) => JSON.parse(Buffer.from(line.split('.')[1] ?? '', 'base64url'));
const filled = (list) => { if (!list.length) throw new Error('it is empty'); return list; };

const publicKeys = attempt(keyFile, 'public key', (all) => filled(all.split(/(?=-----BEGIN )/)
    .filter((pem) => pem.startsWith('-----BEGIN '))).map((pem) => crypto.createPublicKey(pem)));
const kept = attempt(keptFile, 'list of checkpoints', (all) => filled(all.split('\n').map((l) => l.trim()).filter(Boolean)).filter(payload));
const told = attempt(exportFile, 'export of parley', (all) => filled(all.trimEnd().split('\n'))), record = attempt(exportFile, 'export of parley', () => told.map((l) => JSON.parse(l)));
if (record.some((o) => !o?.type)) leave(3, `${exportFile} is no export of parley`);
process.on('uncaughtException', (e) => leave(3, `${exportFile} is no export of parley: ${e.message}`));

function isSigned(line) {                                   // JWS, RFC 7515: header.payload.signature
    const [head, body, signature] = line.split('.'), by = Buffer.from(signature ?? '', 'base64url');
    return publicKeys.some((key) => crypto.verify(null, `${head}.${body}`, key, by));
}
function checkpoint(line) {
    let c = {};
    try { c = payload(line); } catch { /* it is not signed either */ }
    if (!isSigned(line) || c.type !== 'parley-checkpoint') problem('a checkpoint is not what was signed');
    heads.push(...(c.heads ?? []).map((h) => [...h, c.number]));
    if (c.removals === 'signed') signs = Math.min(signs, c.number);
    return c;
}
function tie(log, d, seq) {                                 // each link: the one before, and the fact
    log.head = sha256(log.head, d);
    log.links.set(seq, log.head.toString('hex'));
}
// Words that went by their age: the chain holds the digest of what was appended, and later facts "trimmed" lead from there
// to what is there now; the server signed them. Questions and decisions lose none.
const LOSE = ['message', 'action', 'step', 'summary', 'finished', 'result', 'late', 'proposed', 'brought', 'forked', 'response', 'labelled', 'ended'];
const parsed = (text) => { try { return JSON.parse(text) ?? {}; } catch { return {}; } };            // that it was changed is found otherwise
function lost(log, o) {
    if (!LOSE.includes(o.kind)) problem(`${log.thread}: fact ${o.seq} lost words, and may not`);
    log.lost.set(o.seq, { was: o.digest, left: o.digest, now: digest(log, o).toString('hex') });
}
function trimmed(log, o) {
    const { jws, note: kinds, data = [] } = parsed(o.body), said = jws && isSigned(jws) ? payload(jws) : {};
    const claim = { type: 'parley-trim', log: log.log, at: new Date(o.at_ms).toISOString(), kinds, data: sha256(JSON.stringify(data)).toString('hex') };
    if (said.type === claim.type && said.log !== log.log) return;                              // of the log that this is a copy of
    const forged = jws && JSON.stringify(said) !== JSON.stringify(claim);
    for (const [seq, left, was] of data) {
        const l = log.lost.get(seq);
        if (l) Object.assign(l, { left, said: true, torn: l.torn || (was ?? (jws ? '' : l.left)) !== l.left, forged: l.forged || forged, by: jws ? l.by : o.seq });
        else if (jws && !forged && log.links.has(seq)) problem(`${log.thread}: words of fact ${seq} that went are there again`);
    }
}
const early = (log, seq) => signs === Infinity || heads.some(([id, at, , number]) => id === log.log && number <= signs && at >= seq);
function check(log, seq, l) {
    if (l.forged) problem(`${log.thread}: what is said of the words that fact ${seq} lost is not what was signed`);
    else if (!l.said || l.torn || l.now !== l.left) problem(`${log.thread}: fact ${seq} is neither what was appended nor what was left of that`);
    else if (l.by && !early(log, l.by)) problem(`${log.thread}: fact ${seq} lost words, and nobody signed that`);
    else if (!l.by) notes.add('facts lost words by their age, as the server signed');
    else if (++doubts) notes.add(`${log.thread}: facts lost words, and nobody signed that: whether parley took them out cannot be known`);
}
function stub(o) {                                          // all that is left: digests, and the last fact
    const log = { ...o, last: o.head, at: o.seq, head: Buffer.alloc(32), links: new Map() };
    o.digests.forEach((d, i) => tie(log, Buffer.from(d, 'hex'), o.seq - o.digests.length + 1 + i));
    if (digest(o, { ...o, at_ms: o.removed_ms }).toString('hex') !== o.digests.at(-1)) problem(`${o.thread}: its stub was changed`);
    if (logs.has(o.log)) problem(`${o.thread}: it is told twice`);
    logs.set(o.log, log);
    if (o.log === name(o)) return;
    const { created_ms: made } = parsed(o.body);            // its owner was erased: the name cannot be computed any more
    if (o.kind !== 'erased' || o.thread !== o.log || (made ?? o.created_ms) !== o.created_ms) problem(`${o.thread}: its stub was changed`);
    if (made === undefined) notes.add(`${o.thread}: nothing says when this erased conversation was made`);
}
function checkStub(log) {                                   // signed without its last member, the signature
    const [, words, jws] = /^(.*),"jws":"([\w.-]+)"\}$/s.exec(log.body) ?? [], said = jws && isSigned(jws) ? payload(jws) : {};
    const claim = { type: 'parley-removal', log: log.log, at: new Date(log.removed_ms).toISOString(), body: sha256(`${words}}`).toString('hex'), unsigned: said.unsigned };
    if (jws ? JSON.stringify(said) !== JSON.stringify(claim) : !early(log, log.seq)) problem(`${log.thread}: its stub is not what was signed`);
    if (said.unsigned && !early(log, said.unsigned)) problem(`${log.thread}: nobody had signed its stub`);
}
function fact(o, log) {
    if (o.seq !== ++log.at) problem(`${log.thread}: facts are missing before ${o.seq}`);
    if (o.seq === 1 && o.at_ms !== log.created_ms) problem(`${log.thread}: it was made at another time`);
    if (o.digest) lost(log, o);
    if (o.kind === 'forked') for (const [seq, { was, now }] of log.lost) log.lost.set(seq, { was, left: was, now });
    if (o.kind === 'trimmed') trimmed(log, o);
    if (o.link || log.links.size) tie(log, o.digest ? Buffer.from(o.digest, 'hex') : digest(log, o), o.seq);
    else notes.add(`${log.thread}: its first facts are older than the chain and were not compared`);
    if (log.links.get(o.seq) !== (o.link ?? undefined)) problem(`${log.thread}: fact ${o.seq} was changed`);
}
// What the facts say of each call, as parley tells it in a "call" line.
const time = (ms) => (ms ? new Date(ms).toISOString() : undefined);
const RETELL = {
    asked(c, f, at) {
        c.is = true;
        if (c.started_at) { c.question = f.id; return; }    // by the tool, in the middle of its work
        const { id, digest, note: definition, ask: shown, risk, who: rule } = f;
        c.asked = { at, id, digest, definition, shown, risk, rule, expires_at: time(f.expires_ms) };
        c.votes = new Map();
    },
    voted(c, f, at) {
        if (f.id !== c.asked?.id) return;
        c.votes.delete(f.by);
        if (f.outcome === 'approved') c.votes.set(f.by, { by: f.by, at, roles: f.roles, via: f.via });
    },
    decided(c, f, at) {
        if (c.question && f.id === c.question) return;
        const { outcome, by, roles, via, grant, reason, note: definition, who: rule } = f;
        c.decided = { outcome, at, by, roles, via, grant, definition, rule, reason };
        c.digest = f.digest;
    },
    started: (c, f, at) => Object.assign(c, { is: true, started_at: at, grant: f.grant }),
    finished: (c, f, at) => { c.finished = { outcome: f.outcome, at, ms: f.ms }; },
    settled: (c, f, at) => { c.settled = { outcome: f.outcome, at, by: f.by, note: f.note }; },
};
function retell(o, log) {
    const f = parsed(o.body), c = log.calls.get(f.call);
    if (['message', 'action', 'retry'].includes(o.kind)) log.run = f.run;
    for (const { type, call: id, tool, text: input } of f.parts ?? [])
        if (type === 'call') log.calls.set(id, { run: log.calls.get(f.of)?.run ?? log.run, tool, input });
    if (c) RETELL[o.kind]?.(c, f, time(o.at_ms));
}
// Of the arguments with the members of each object in the order of their names. Numbers and letters are as they were written,
// and JavaScript does not tell how: where it would write them otherwise the input is compared, and the digest is not.
const canonical = (v) => (Array.isArray(v) ? `[${v.map(canonical)}]` : v && typeof v === 'object'
    ? `{${Object.keys(v).sort().map((k) => `${JSON.stringify(k)}:${canonical(v[k])}`)}}` : JSON.stringify(v));
function argumentsDigest(input) {
    const args = parsed(input);
    return /^\{[ -~]*$/.test(input) && JSON.stringify(args) === input ? sha256(canonical(args)).toString('hex') : undefined;
}
function call(o, log) {
    const { is, told, question, votes, ...c } = log.calls.get(o.call) ?? {};
    const others = [...(votes?.values() ?? [])].filter((v) => v.by !== c.decided?.by);
    const said = { type: 'call', log: log.log, owner: log.owner, thread: log.thread, call: o.call, ...c,
        votes: others.length ? others : undefined, digest: c.asked ? undefined : c.digest ?? argumentsDigest(c.input) ?? o.digest };
    const next = [...log.calls].find(([, x]) => x.is && !x.told)?.[0];
    if (!is || told || next !== o.call || !isDeepStrictEqual(o, JSON.parse(JSON.stringify(said))))
        problem(`${log.thread}: of call ${o.call} something else is told than its facts say`);
    else log.calls.get(o.call).told = true;
}
function namesIn(line) {                                    // how many: texts with a colon behind them, whatever blank is between
    const colon = /\s*:/y;
    let names = 0, open = false;
    for (let i = 0; i < line.length; i++)
        if (line[i] === '\\') i++;
        else if (line[i] === '"' && (open = !open) === false && (colon.lastIndex = i + 1, colon.test(line))) names++;
    return names;
}
const members = (v) => (v && typeof v === 'object' ? Object.values(v).reduce((n, x) => n + members(x), Array.isArray(v) ? 0 : Object.keys(v).length) : 0);
function place(o, before, line) {
    const shape = Object.hasOwn(SHAPES, o.type) ? SHAPES[o.type] : undefined, names = Object.keys(o).filter((n) => n !== 'type');
    if (shape === undefined) problem(`a line of a kind that is not known: ${o.type}`);
    else if (namesIn(line) !== members(o)) problem(`a "${o.type}" line has a member twice`);     // who reads the other one reads something else
    else if (before && (PLACES[before.type] > PLACES[o.type] || before.type === 'end' || (before.type === 'call' && o.type === 'fact')))
        problem(`a "${o.type}" line behind a "${before.type}" line`);
    const good = shape !== undefined && (!shape || (names.every((n) => IS[shape[n]]?.(o[n])) && Object.keys(shape).every((n) => n in o || MAY_LACK.includes(n))));
    if (!good && shape !== undefined) problem(`a "${o.type}" line has other members than such a line`);
    return good;
}
let open, before;                                           // the conversation that is told, and the line before
const count = (type) => [...logs.values()].filter((l) => l.type === type).length;
for (const [i, o] of record.entries()) {
    const good = place(o, before, told[i]);
    before = o;
    if (!good) continue;
    if (o.type === 'checkpoint') {
        const c = checkpoint(o.line), last = lines.at(-1);
        if (c.number !== lines.length + 1 || c.number !== o.number || c.previous !== (last ? sha256(last).toString('hex') : null))
            problem(`checkpoint ${c.number}, told as ${o.number}, is not tied to the one before it`);
        lines.push(o.line);
    } else if (o.type === 'log') {
        if (o.log !== name(o)) problem(`${o.log} has another name`);
        if (logs.has(o.log)) problem(`${o.thread}: it is told twice`);
        logs.set(o.log, open = { ...o, last: o.head, at: 0, head: Buffer.alloc(32), links: new Map(), lost: new Map(), calls: new Map() });
    } else if (o.type === 'fact' || o.type === 'call') {
        if (open?.log !== o.log) problem(`a "${o.type}" line of ${o.log} stands with no conversation, or with another`);
        else if (o.type === 'call') call(o, open);
        else { fact(o, open); retell(o, open); }
    } else if (o.type === 'stub') stub(o);
    else if (o.logs !== count('log') || o.stubs !== count('stub')) problem('conversations are missing');
}
if (before.type !== 'end') problem('the export was cut off: its last line is not "end"');
for (const line of kept) {
    const c = checkpoint(line);
    if (lines[c.number - 1] !== line) problem(`checkpoint ${c.number} that was kept is not in the export`);
}
for (const l of logs.values())
    if (l.at !== l.seq || (l.links.get(l.seq) ?? null) !== l.last) problem(`${l.thread}: its end is missing or was changed`);
for (const log of logs.values()) {
    for (const [seq, l] of log.lost ?? []) check(log, seq, l);
    for (const [id, c] of log.calls ?? []) if (c.is && !c.told) problem(`${log.thread}: call ${id} is not told as it was`);
    if (log.type === 'stub') checkStub(log);
}
for (const [log, seq, head, number] of heads)
    if (logs.get(log)?.links.get(seq) !== head) problem(`${logs.get(log)?.thread ?? log}: checkpoint ${number} noted another fact ${seq}`);
for (const p of new Set(problems)) console.log(p);
for (const n of notes) console.log(`note: ${n}`);
console.log(`${logs.size} conversations, ${lines.length} checkpoints: ${problems.length ? 'not ' : ''}as they were recorded`);
process.exit(problems.length ? 1 : doubts ? 4 : 0);
