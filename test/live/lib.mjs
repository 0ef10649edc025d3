// lib.mjs -- what every live test stands on: test/lib, and what holds in a conversation of the typed door.
import fs from 'node:fs';
import { check, same, until } from '../lib/check.mjs';
import { configured } from '../lib/server.mjs';

export * from '../lib/check.mjs';
export * from '../lib/http.mjs';
export * from '../lib/program.mjs';
export * from '../lib/server.mjs';
export * from '../lib/test.mjs';

// Each node has MCP servers of its own (docs/cluster.md): `has` is to hold for what each of them lists.
export const nodesOf = (server) => server.nodes ?? [server];
export const listed = (server, has, headers, what = 'the tools to be listed') => Promise.all(nodesOf(server).map((n) => until(async () => has((await n.get('/v1/tools', headers)).json.tools), what)));

// Adjacent text deltas as one, without what a replay may leave out; volatile ids kept.
export function told(events, { drop = ['status', 'tool_progress'] } = {}) {
    const out = [];
    for (const e of events) {
        const d = e.data ?? e.raw;
        if (drop.includes(d.type)) continue;
        const last = out.at(-1);
        if (d.type === 'text_delta' && last?.type === 'text_delta') last.text += d.text;
        else out.push(d.type === 'text_delta' ? { ...d } : d);
    }
    return out;
}

// What holds in every conversation of the typed door.
export function sound(s) {
    const seen = new Set(), started = new Set();
    let index = 0;
    for (const e of s.events) {
        const d = e.data, call = d.tool_use_id;
        if (d.type === 'intent_confirmation') {
            check(!seen.has(call), `two intents for ${call}`);
            check(d.message && d.tool === d.toolName && Number.isInteger(d.timestamp), `an intent with its members: ${e.raw}`);
            seen.add(call);
        }
        if (d.type === 'tool_start' || d.type === 'tool_confirmation') {
            check(seen.has(call) || s.continued, `the intent of ${call} comes before its ${d.type}`);
            if (d.type === 'tool_start') { check(!started.has(call), `one start of ${call}`); started.add(call); }
        }
        if (d.type === 'tool_complete') same(d.index, (s.index ?? 0) + index++, 'index');
        check(!/^(status|tool_progress|step_reset)$/.test(d.type) === !!e.id, `an id on what can be resumed, and only there: ${e.raw}`);
    }
    check(!s.broken, 'the stream ends properly');
    const last = s.events.at(-1)?.data;
    check(['complete', 'error', 'cancelled'].includes(last?.type), `the last event ends it: ${s.types().join(' ')}`);
    if (last.type === 'complete') same((s.before ?? '') + s.words, last.payload.message, 'what was streamed and payload.message');
    return s;
}

// Waits until the thread's run is over or waits for somebody, and gives the thread.
export function settled(server, thread, ms) {
    return until(async () => {
        const r = await server.get(`/v1/threads/${thread}`);
        return r.status === 200 && r.json.state !== 'running' && r.json;
    }, `thread ${thread} to settle`, ms);
}

// Writes the file (or has `text` do something to it) and sends the signal, to each node; answers with what the log says
// about it.
export async function reload(server, config, text) {
    const nodes = server.nodes ?? [server], before = nodes.map((n) => n.log.length);
    if (text === undefined) server.configure(configured(config));
    else for (const n of nodes) typeof text === 'function' ? text(n.file) : fs.writeFileSync(n.file, text);
    for (const n of nodes) n.child.kill('SIGHUP');
    const said = (n) => n.log.slice(before[nodes.indexOf(n)]).filter((l) => l.event.startsWith('reload.'));
    const over = (n) => said(n).some((l) => l.event === 'reload.done' || l.note?.includes('stays'));
    for (const n of nodes) {
        await until(() => over(n), 'the reload');
        await n.get('/healthz');          // a turn of the loop: everything is said
    }
    return said(nodes[0]);          // all say the same
}
