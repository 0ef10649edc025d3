// recorded.test.mjs -- recorded conversations, compared byte for byte apart from ids and times.
//
//     test/wire/<dialect>/<case>.in     requests, separated by blank lines: "METHOD path [until TYPE]", headers, then the body
//     test/wire/<dialect>/<case>.out    what must come back
//
//   node test/wire/run.mjs [WORD...]             compares the cases whose name contains one of the words
//   node test/wire/run.mjs --record [WORD...]    writes what comes back now; read the diff before you commit it
//   PARLEY_CLUSTER=3 node test/wire/run.mjs      ... by three nodes: each request goes to another than the one before
//
// In a request $thread, $run, $call, $confirmation, $session and $place stand for the newest of their
// kind that was seen ($call2, $confirmation2: the one before; $old...: the first); "until TYPE"
// leaves a stream that would not end by itself after that event.
// Ids are numbered in the order they appear, times become zero, and deltas of one
// text that follow each other are one, because how words are cut is the machine's affair.
// What is told only while it is true (a status, progress) stands after its stream as "live:" lines;
// a server that is kept waiting may leave some out, but tells nothing that was not recorded.
// A case may have a <case>.json beside it: configuration merged over the tests' own.
import fs from 'node:fs';
import path from 'node:path';
import { Finding } from '../lib/check.mjs';
import { Stream } from '../lib/http.mjs';
import { test } from '../lib/test.mjs';

const here = import.meta.dirname;
const record = process.argv.includes('--record');

// --- normal form ------------------------------------------------------------------------

const IDS = /\b(t_|run_|m_|call-|resp_|req_|chatcmpl-|msg_|rs_|mcp_|fc_|in_)[A-Za-z0-9_-]{22}(?![A-Za-z0-9-])|\b(run_)[A-Za-z0-9_-]{22}(?=-\d+")/g;
class Names {
    constructor() { this.of = new Map(); this.counts = {}; }
    name(id, prefix) {
        if (!this.of.has(id)) this.of.set(id, prefix + (this.counts[prefix] = (this.counts[prefix] || 0) + 1));
        return this.of.get(id);
    }
    apply(text) {
        return text.replace(IDS, (id, prefix, step) => this.name(id, prefix ?? step))
            .replace(/^Date: .*\r?\n/gm, '')
            .replace(/^Mcp-Session-Id: .*$/gm, 'Mcp-Session-Id: session').replace(/^(id: mcp_\d+\.\d+\.)[0-9a-f]{8}/gm, '$1session')
            .replace(/("name":"parley","version":)"[^"]*"/g, '$1"0"')
            .replace(/"(timestamp|ms|lastUpdateTime|created|created_at|completed_at|expires_at)":\d+(\.\d+)?/g, '"$1":0')
            .replace(/`(yes|no) \d{4}`/g, '`$1 0000`').replace(/http:\/\/127\.0\.0\.1:\d+/g, 'http://host')
            .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, '2000-01-01T00:00:00.000Z');
    }
}

// The text member of an event that is a delta, as [get, set, kind]: deltas of one kind in a row are one.
function delta(d) {
    if (d?.type === 'text_delta' || d?.type === 'reasoning_delta') return { key: d.type, get: d.text, set: (x) => ({ ...d, text: x }) };
    if (d?.choices?.[0]?.delta && typeof d.choices[0].delta.content === 'string')
        return { key: 'content', get: d.choices[0].delta.content, set: (x) => ({ choices: [{ delta: { content: x } }] }) };
    if (d?.type === 'response.output_text.delta') return { key: d.item_id, get: d.delta, set: (x) => ({ ...d, delta: x }) };
    if (/^(text|reasoning)-delta$/.test(d?.type)) return { key: d.type + d.id, get: d.delta, set: (x) => ({ ...d, delta: x }) };
    if (d?.type === 'tool-input-delta') return { key: d.type + d.toolCallId, get: d.inputTextDelta, set: (x) => ({ ...d, inputTextDelta: x }) };
    if (/^(TEXT_MESSAGE_CONTENT|REASONING_MESSAGE_CONTENT|TOOL_CALL_ARGS)$/.test(d?.type))
        return { key: d.type + (d.messageId ?? d.toolCallId), get: d.delta, set: (x) => ({ ...d, delta: x }) };
    if (d?.partial) return { key: 'partial', get: d.content.parts[0].text, set: (x) => ({ ...d, content: { ...d.content, parts: [{ ...d.content.parts[0], text: x }] } }) };
    return null;
}

const isLive = (e) => /^(status|status_update|tool_progress|ACTIVITY_SNAPSHOT)$/.test(e.data?.type) || (e.data?.type === 'CUSTOM' && e.data.name === 'status');

function events(list) {
    const out = [], live = list.filter((e, i) => i && isLive(e)).map((e) => `live: ${e.raw}\n`).join('');
    for (const e of list.filter((e, i) => !i || !isLive(e))) {
        const d = delta(e.data), last = out.at(-1);
        if (d && last?.delta?.key === d.key) { last.text += d.get; last.id = e.id; last.delta = d; }
        else out.push({ id: e.id, raw: e.raw, delta: d, text: d?.get });
    }
    return out.map((e) => `${e.id === undefined ? '' : `id: ${e.id}\n`}data: ${e.delta ? JSON.stringify(e.delta.set(e.text)) : e.raw}\n`).join('\n') + live;
}

// What came, with the live lines of the recording that were not told.
function completed(want, got) {
    const b = got.split('\n');
    want.split('\n').forEach((line, i) => { if (line.startsWith('live: ') && b[i] !== line) b.splice(i, 0, line); });
    return b.join('\n');
}

// --- a conversation -----------------------------------------------------------------------

function parse(text) {
    return text.split(/\n\s*\n/).map((b) => b.replace(/^#.*\n?/gm, '').trim()).filter(Boolean).map((block) => {
        const [first, ...body] = block.split('\n');
        const [, method, at, , until] = /^(\S+) (\S+)( until (\S+))?$/.exec(first) ?? [];
        if (!method) throw new Error(`not a request: ${first}`);
        const headers = {};
        for (let h; (h = /^([A-Za-z-]+): (.*)$/.exec(body[0] ?? '')); body.shift()) headers[h[1]] = h[2];
        return { shown: block, method, at, until, headers, body: body.length ? body.join('\n') : undefined };
    });
}

// What later requests may name.
class Seen {
    constructor() { this.lists = { thread: [], run: [], call: [], confirmation: [], place: [], session: [] }; }
    add(kind, id) { const l = this.lists[kind]; if (id && !l.includes(id)) l.push(id); }
    take(s) {
        this.add('thread', s.thread);
        this.add('run', s.run);
        this.add('session', s.headers['mcp-session-id']);
        for (const [id, prefix] of s.text.matchAll(IDS)) if (prefix === 'call-') this.add('call', id);
        for (const [id] of s.text.matchAll(/confirmation-call-[A-Za-z0-9_-]{22}(-\d+)?/g)) this.add('confirmation', id);
        this.lists.place = s.lastId ? [s.lastId] : this.lists.place;
    }
    fill(text) {
        return text?.replace(/\$(old)?(thread|run|call|confirmation|place|session)(\d?)/g, (_, old, kind, n) => {
            const l = this.lists[kind];
            return (old ? l[n ? Number(n) - 1 : 0] : l.at(-(Number(n) || 1))) ?? `no-${kind}`;
        });
    }
}

async function answer(server, q, seen) {
    const headers = Object.fromEntries(Object.entries(q.headers).map(([k, v]) => [k, seen.fill(v)]));
    const s = await Stream.open(server, q.method, seen.fill(q.at), seen.fill(q.body), headers);
    const stream = /event-stream/.test(s.headers['content-type'] || '');
    if (stream && q.until) { await s.must(q.until); s.events.length = s.next_; await s.close(); }
    else await s.read();
    seen.take(s);
    const head = [`HTTP/1.1 ${s.status} ${s.r.statusMessage}`];
    for (let i = 0; i < s.r.rawHeaders.length; i += 2) head.push(`${s.r.rawHeaders[i]}: ${s.r.rawHeaders[i + 1]}`);
    const shown = head.filter((l) => !/^(connection|transfer-encoding|content-length):/i.test(l)).join('\n');
    return `${shown}\n\n${stream ? events(s.events) : s.text && s.text + '\n'}`;
}

async function converse(t, file) {
    const extra = file.replace(/\.in$/, '.json');
    const config = { demo: { token_ms: 1 }, ...(fs.existsSync(extra) ? JSON.parse(fs.readFileSync(extra, 'utf8')) : {}) };
    const server = await t.serve({ config });
    const seen = new Seen(), names = new Names();
    const parts = [];
    for (const q of parse(fs.readFileSync(file, 'utf8'))) {
        const got = await answer(server, q, seen);
        parts.push(`>>> ${q.shown.replace(/\n/g, '\n>>> ')}\n${names.apply(got)}`);
    }
    return parts.join('\n');
}

// --- all of them ------------------------------------------------------------------------------

function difference(want, got) {
    const a = want.split('\n'), b = got.split('\n');
    let i = 0;
    while (i < a.length && a[i] === b[i]) i++;
    let j = 0;
    while (a[i] !== undefined && b[i] !== undefined && a[i][j] === b[i][j]) j++;
    const from = Math.max(0, j - 80);
    return `line ${i + 1}, character ${j + 1}\nrecorded: ${a[i]?.slice(from, j + 200)}\nnow:      ${b[i]?.slice(from, j + 200)}`;
}

const cases = fs.readdirSync(here, { recursive: true }).filter((f) => f.endsWith('.in')).sort();
for (const file of cases) test(file.replace(/\.in$/, ''), async (t) => {
    const out = path.join(here, file.replace(/\.in$/, '.out')), got = await converse(t, path.join(here, file));
    if (record) return fs.writeFileSync(out, got);
    if (!fs.existsSync(out)) throw new Finding('there is no recording; node test/wire/run.mjs --record makes it');
    const want = fs.readFileSync(out, 'utf8'), whole = completed(want, got);
    if (whole !== want) throw new Finding(difference(want, whole));
});
