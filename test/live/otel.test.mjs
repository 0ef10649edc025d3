// Spans of runs, at a collector: OTLP over HTTP with the GenAI names, traceparent in and out, and a collector that is away or
// slow is in nobody's way.
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { check, oneProcess, same, settled, test, until } from './lib.mjs';
import { bank, payments } from './org.mjs';
import { STDIO } from './toldmcp.mjs';
import { serveModel, startUpstream } from './upstream.mjs';

// A collector: what it was told, and with which headers. `answer` may do otherwise.
async function collector(t, answer = (res) => res.writeHead(200, { 'content-type': 'application/json' }).end('{}')) {
    const place = { spans: [], headers: [], asked: 0 };
    const server = http.createServer(async (req, res) => {
        let body = '';
        for await (const chunk of req) body += chunk;
        place.asked++;
        place.headers.push({ ...req.headers, url: req.url });
        for (const r of JSON.parse(body).resourceSpans) for (const s of r.scopeSpans) place.spans.push(...s.spans);
        answer(res);
    });
    await new Promise((yes) => server.listen(0, '127.0.0.1', yes));
    t.defer(() => { server.closeAllConnections(); server.close(); });
    place.url = `http://127.0.0.1:${server.address().port}`;
    return place;
}
const attributes = (span) => Object.fromEntries(span.attributes.map(({ key, value }) => [key, value.stringValue ?? Number(value.intValue)]));
const value = (text, result) => Number(new RegExp(`parley_otel_spans_total\\{result="${result}"\\} (\\d+)`).exec(text)?.[1]);
const PAY = '{{call process_payment {"amount":50,"currency":"USD","recipient":"Hanako"}}}';
const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736', PARENT = '00f067aa0ba902b7';

test('a run, its model requests and its calls are spans of the trace that the client began, also a denied one', async (t) => {
    const place = await collector(t), seen = [], at = await bank(t, (body, call, res, req) => { seen.push(req.headers.traceparent); });
    const up = await startUpstream(t);
    const server = await serveModel(t, up, 'openai', { env: { COLLECTOR_KEY: 'secret-key' }, config: payments(at, { confirm: 'always' }, { otel: { endpoint: place.url, headers: { 'x-key': 'env:COLLECTOR_KEY' } } }) });
    const first = await (await server.open('POST', '/v1/chat/stream', { message: PAY }, { traceparent: `00-${TRACE}-${PARENT}-01` })).read();
    same((await server.post(`/v1/approvals/${first.payload.awaiting[0]}`, { confirmed: true })).status, 200);
    await settled(server, first.thread);
    const second = await server.turn(PAY, { thread_id: first.thread });
    same((await server.post(`/v1/approvals/${second.payload.awaiting[0]}`, { confirmed: false })).status, 200);
    await settled(server, first.thread);
    const all = await until(() => place.spans.filter((s) => s.name.startsWith('invoke_agent')).length === 2 && place.spans, 'both runs');
    const ours = all.filter((s) => s.traceId === TRACE), other = all.filter((s) => s.traceId !== TRACE);
    same([ours.map((s) => s.name).sort(), other.map((s) => s.name).sort()], [['chat m', 'chat m', 'execute_tool process_payment', 'invoke_agent parley'], ['chat m', 'chat m', 'execute_tool process_payment', 'invoke_agent parley']]);
    const root = ours.find((s) => s.name === 'invoke_agent parley'), call = ours.find((s) => s.name.startsWith('execute_tool')), chat = ours.filter((s) => s.name === 'chat m');
    same([root.parentSpanId, call.parentSpanId, ...chat.map((s) => s.parentSpanId)], [PARENT, root.spanId, root.spanId, root.spanId]);
    same(seen, [`00-${TRACE}-${call.spanId}-01`], 'the tool is told its span');
    same([attributes(chat[0])['gen_ai.provider.name'], attributes(chat[0])['gen_ai.request.model'], attributes(chat[0])['gen_ai.usage.input_tokens'], attributes(root)['gen_ai.conversation.id'], attributes(call)['gen_ai.tool.name'], attributes(call)['parley.outcome'], chat[0].kind], ['openai', 'm', 20, first.thread, 'process_payment', 'done', 3]);
    const denied = other.find((s) => s.name.startsWith('execute_tool'));
    same([attributes(denied)['parley.outcome'], attributes(denied)['error.type'], denied.status.code], ['denied', 'denied', 2]);
    for (const s of all) check(/^[0-9a-f]{16}$/.test(s.spanId) && /^\d+000000$/.test(s.startTimeUnixNano) && BigInt(s.endTimeUnixNano) >= BigInt(s.startTimeUnixNano), JSON.stringify(s));
    same(new Set(all.map((s) => s.spanId)).size, all.length, 'ids of their own');
    check(place.headers.every((h) => h['x-key'] === 'secret-key' && h['content-type'] === 'application/json' && h.url === '/v1/traces'), JSON.stringify(place.headers));
    check(!JSON.stringify(all).includes('Hanako') && !server.err.includes('secret-key'), 'no words, no keys');
    await until(async () => value((await server.get('/metrics')).text, 'sent') === all.length, 'they are counted');
});

test('an MCP server is told its span with the call, in _meta', async (t) => {
    const place = await collector(t), dir = t.folder(), up = await startUpstream(t);
    fs.writeFileSync(path.join(dir, 'server.mjs'), STDIO);
    const server = await serveModel(t, up, 'openai', { config: { otel: { endpoint: place.url }, mcpServers: { near: { command: process.execPath, args: [path.join(dir, 'server.mjs')], confirm: 'never' } } } });
    await until(async () => (await server.get('/v1/tools')).json.tools.some((x) => x.name === 'near__who'), 'the server to list its tool');
    const s = await server.turn('{{call near__who {}}}');
    const meta = JSON.parse(s.payload.tool_history[0].output);
    const span = await until(() => place.spans.find((x) => x.name === 'execute_tool near__who'), 'the span');
    same(meta.traceparent, `00-${span.traceId}-${span.spanId}-01`);
    same(meta['parley/identity'].tool, 'near__who');
});

test('the model is told its span, and whoever does not want to be followed is not', async (t) => {
    const told = [], model = http.createServer((req, res) => {
        told.push(req.headers.traceparent);
        req.resume().on('end', () => res.writeHead(200, { 'content-type': 'text/event-stream' }).end('data: {"choices":[{"delta":{"content":"Yes."},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'));
    });
    await new Promise((yes) => model.listen(0, '127.0.0.1', yes));
    t.defer(() => { model.closeAllConnections(); model.close(); });
    const place = await collector(t);
    const server = await t.serve({ config: { otel: { endpoint: place.url }, model: { provider: 'openai', model: 'm', base_url: `http://127.0.0.1:${model.address().port}/v1` } } });
    const say = async (traceparent) => (await server.open('POST', '/v1/chat/stream', { message: 'hi' }, traceparent ? { traceparent } : {})).read();
    await say(`00-${TRACE}-${PARENT}-00`);
    await say(`00-${TRACE}-${PARENT}-01`);
    await say(`00-${'0'.repeat(32)}-${PARENT}-01`);
    await until(() => place.spans.filter((s) => s.name === 'chat m').length >= 2, 'the runs that are followed');
    const chats = place.spans.filter((s) => s.name === 'chat m');
    same(chats.length, 2);
    same([told[0].slice(0, 36), told[0].slice(-3)], [`00-${TRACE}-`, '-00'], 'it is passed on that nobody wants it');
    same(told.slice(1), chats.map((s) => `00-${s.traceId}-${s.spanId}-01`));
    same([chats[0].traceId === TRACE, /^0+$/.test(chats[1].traceId)], [true, false], 'one that cannot be is not followed');
});

test('a collector that is not there, or refuses, delays nobody; what is lost is counted', async (t) => {
    oneProcess('each counts what it could not tell');
    const closed = await collector(t, (res) => res.writeHead(400).end()), gone = 'http://127.0.0.1:1';
    for (const endpoint of [closed.url, gone]) {
        const server = await t.serve({ config: { otel: { endpoint } } });
        for (let i = 0; i < 3; i++) check((await server.turn('Hello')).payload, 'it answers');
        if (endpoint === gone) continue; // it is tried again for a while
        await until(async () => value((await server.get('/metrics')).text, 'dropped') >= 6, 'they are counted');
        same(value((await server.get('/metrics')).text, 'sent'), 0);
        check(server.log.filter((l) => l.event === 'otel.dropped').length === 1, 'and it is said once');
    }
});

test('a collector that never answers holds up nobody, also not the end', async (t) => {
    const silent = await collector(t, () => undefined), server = await t.serve({ config: { otel: { endpoint: silent.url } } });
    await server.turn('Hello');
    await until(() => silent.asked > 0, 'it is asked');
    for (let i = 0; i < 3; i++) check((await server.turn('Hello')).payload, 'it answers');
    same(silent.asked, 1, 'one request at a time');
    await server.term();
});
