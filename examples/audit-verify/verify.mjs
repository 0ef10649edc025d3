// verify.mjs -- is this export what parley recorded? Shares no code with parley: docs/audit.md has
// the format. `node verify.mjs EXPORT.jsonl AUDIT.PUB KEPT.jws`: KEPT holds one or more checkpoints
// that somebody else kept. Exit status 0: it is; 1: it is not, and why; 2: usage; 3: one of the files
// is not what it should be, so nothing can be said. "call" lines are told from the facts and are not
// compared: read the facts where it matters.
import crypto from 'node:crypto';
import fs from 'node:fs';

const leave = (status, text) => { console.error(text); process.exit(status); };
const attempt = (file, what, f) => { try { return f(fs.readFileSync(file, 'utf8')); } catch (e) { return leave(3, `${file} is no ${what}: ${e.message}`); } };
const [exportFile, keyFile, keptFile, ...more] = process.argv.slice(2);
if (!keptFile || more.length) leave(2, 'usage: node verify.mjs EXPORT.jsonl AUDIT.PUB KEPT.jws');

const problems = [], notes = new Set(), logs = new Map(), heads = [], lines = [];
const problem = (text) => problems.push(text);
const sha256 = (...parts) => parts.reduce((h, p) => h.update(p), crypto.createHash('sha256')).digest();
const int = (n) => { const b = Buffer.alloc(8); b.writeBigInt64BE(BigInt(n)); return b; };
const text = (s) => { const b = Buffer.from(s); return Buffer.concat([int(b.length), b]); };
const name = (o) => sha256(text(o.owner), text(o.thread), int(o.created_ms)).toString('hex').slice(0, 32);
const digest = (o, f) => sha256(text(o.owner), text(o.thread), int(f.seq), int(f.at_ms), text(f.kind),
    f.body);
const payload = (line) => JSON.parse(Buffer.from(line.split('.')[1] ?? '', 'base64url'));
const filled = (list) => { if (!list.length) throw new Error('it is empty'); return list; };

const publicKey = attempt(keyFile, 'public key', (pem) => crypto.createPublicKey(pem));
const kept = attempt(keptFile, 'list of checkpoints', (all) => filled(all.split('\n').map((l) => l.trim()).filter(Boolean)).filter(payload));
const record = attempt(exportFile, 'export of parley', (all) => filled(all.trimEnd().split('\n')).map((l) => JSON.parse(l)));
if (record.some((o) => !o?.type)) leave(3, `${exportFile} is no export of parley`);

function checkpoint(line) {                                 // JWS, RFC 7515: header.payload.signature
    const [head, body, signature] = line.split('.');
    if (!crypto.verify(null, `${head}.${body}`, publicKey, Buffer.from(signature ?? '', 'base64url')))
        problem('a checkpoint is not what was signed');
    const c = payload(line);
    heads.push(...c.heads.map((h) => [...h, c.number]));
    return c;
}
function tie(log, d, seq) {                                 // each link: the one before, and the fact
    log.head = sha256(log.head, d);
    log.links.set(seq, log.head.toString('hex'));
}
function stub(o) {                                          // all that is left: digests, and the last fact
    const log = { ...o, last: o.head, at: o.seq, head: Buffer.alloc(32), links: new Map() };
    o.digests.forEach((d, i) => tie(log, Buffer.from(d, 'hex'), o.seq - o.digests.length + 1 + i));
    if (digest(o, { ...o, at_ms: o.removed_ms }).toString('hex') !== o.digests.at(-1)) problem(`${o.thread}: its stub was changed`);
    logs.set(o.log, log);
    if (o.log === name(o)) return;
    const { created_ms: made } = JSON.parse(o.body);        // its owner was erased: the name cannot be computed any more
    if (o.kind !== 'erased' || o.thread !== o.log || (made ?? o.created_ms) !== o.created_ms) problem(`${o.thread}: its stub was changed`);
    if (made === undefined) notes.add(`${o.thread}: nothing says when this erased conversation was made`);
}
for (const o of record) {
    if (o.type === 'checkpoint') {
        const c = checkpoint(o.line), before = lines.at(-1);
        if (c.number !== lines.length + 1 || c.previous !== (before ? sha256(before).toString('hex') : null))
            problem(`checkpoint ${c.number} is not tied to the one before it`);
        lines.push(o.line);
    } else if (o.type === 'log') {
        if (o.log !== name(o)) problem(`${o.log} has another name`);
        logs.set(o.log, { ...o, last: o.head, at: 0, head: Buffer.alloc(32), links: new Map() });
    } else if (o.type === 'fact') {
        const log = logs.get(o.log);
        if (o.seq !== ++log.at) problem(`${log.thread}: facts are missing before ${o.seq}`);
        if (o.seq === 1 && o.at_ms !== log.created_ms) problem(`${log.thread}: it was made at another time`);
        if (o.link || log.links.size) tie(log, digest(log, o), o.seq);
        else notes.add(`${log.thread}: its first facts are older than the chain and were not compared`);
        if (log.links.get(o.seq) !== (o.link ?? undefined)) problem(`${log.thread}: fact ${o.seq} was changed`);
    } else if (o.type === 'stub') stub(o);
    else if (o.type === 'end' && o.logs + o.stubs !== logs.size) problem('conversations are missing');
}
if (record.at(-1).type !== 'end') problem('the export was cut off: its last line is not "end"');
for (const line of kept) {
    const c = checkpoint(line);
    if (lines[c.number - 1] !== line) problem(`checkpoint ${c.number} that was kept is not in the export`);
}
for (const l of logs.values())
    if (l.at !== l.seq || (l.links.get(l.seq) ?? null) !== l.last) problem(`${l.thread}: its end is missing or was changed`);
for (const [log, seq, head, number] of heads)
    if (logs.get(log)?.links.get(seq) !== head) problem(`${logs.get(log)?.thread ?? log}: checkpoint ${number} noted another fact ${seq}`);
for (const p of new Set(problems)) console.log(p);
for (const n of notes) console.log(`note: ${n}`);
console.log(`${logs.size} conversations, ${lines.length} checkpoints: ${problems.length ? 'not ' : ''}as they were recorded`);
process.exit(problems.length ? 1 : 0);
