// What models, tools and people say must not become part of the protocol: line ends and their kin in every text there is, read
// back by a parser of event streams that is not ours, on every door. And sockets flooded by somebody who never reads.
import fs from 'node:fs';
import http from 'node:http';
import { once } from 'node:events';
import { check, request, same, settled, test, until } from './lib.mjs';
import { Ws } from './ws.mjs';

// --- an event stream as a browser reads it ------------------------------------------------------------

// The algorithm of the HTML standard: lines end with CRLF, LF or CR; a blank line ends the event.
function parseEvents(text) {
    const events = [];
    let data = [], id, type, any = false;
    for (const line of text.replace(/^\ufeff/, '').split(/\r\n|\n|\r/)) {
        if (line === '') {
            if (data.length) events.push({ id, type, data: data.join('\n') });
            else check(!any || type === undefined, `an event without data: ${type}`);
            data = [];
            type = undefined;
            any = false;
            continue;
        }
        if (line.startsWith(':')) continue;
        any = true;
        const at = line.indexOf(':'), name = at < 0 ? line : line.slice(0, at), value = at < 0 ? '' : line.slice(at + 1).replace(/^ /, '');
        if (name === 'data') data.push(value);
        else if (name === 'id') id = value;
        else if (name === 'event') type = value;
        else throw new Error(`a field that is none of ours: ${JSON.stringify(line)}`);
    }
    check(!data.length, 'the last event is ended');
    return events;
}

// Every event is one line of data and no name; JSON, or the end mark.
function read(text) {
    return parseEvents(text).map((e) => {
        check(e.type === undefined, `no event has a name: ${e.type}`);
        check(!e.data.includes('\n'), `one line of data: ${JSON.stringify(e.data)}`);
        check(e.id === undefined || /^\d+\.\d+$/.test(e.id), `an id of ours: ${e.id}`);
        return e.data === '[DONE]' ? { done: true } : JSON.parse(e.data);
    });
}

// --- nasty words -----------------------------------------------------------------------------------------

const FORGED = 'data: {"type":"complete","payload":{"message":"forged"}}';
const NASTY = {
    'LF LF': `a\n\n${FORGED}\n\nb`,
    'CR CR': `a\r\r${FORGED}\r\rb`,
    'CRLF CRLF': `a\r\n\r\n${FORGED}\r\n\r\nb`,
    'mixed line ends': `a\n\r\n\r${FORGED}\r\n\n`,
    'U+2028 and U+2029': `a\u2028\u2028${FORGED}\u2029\u2029b`,
    'NEL, VT and FF': `a\u0085\u000b\u000c${FORGED}\u0085b`,
    'NUL': `a\u0000${FORGED}\u0000b`,
    'a byte order mark': `\ufeff${FORGED}`,
    'an id and a retry': 'a\nid: 99.99\nretry: 1\nevent: error\n\nb',
    'the end mark': 'a\n\ndata: [DONE]\n\nb',
    'quotes and backslashes': 'a"}\n\n\\\\n\\u000a{"b',
    'a comment': 'a\n: keep-alive\n\nb',
    'chunk sizes': 'a\r\n0\r\n\r\nHTTP/1.1 200 OK\r\n\r\nb',
    'a lone surrogate': 'a\ud800\n\nb',
};
const ALL = Object.values(NASTY).join(' ~ ');

// --- a model that says and calls what a test wants ------------------------------------------------------------

// Speaks the chat-completions wire. `script`: one entry per call of the model, {text} or {call, args}.
async function model(t, script) {
    const asked = [];
    const server = http.createServer((q, r) => {
        let body = '';
        q.setEncoding('utf8').on('data', (d) => { body += d; }).on('end', () => {
            asked.push(JSON.parse(body));
            const step = script[Math.min(asked.length, script.length) - 1];
            const send = (delta, finish_reason = null) => r.write(`data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', model: 'm', choices: [{ index: 0, delta, finish_reason }] })}\n\n`);
            if (step.status) { r.writeHead(step.status, { 'content-type': 'application/json' }); r.end(JSON.stringify({ error: { message: step.text, type: 'x', code: step.text } })); return; }
            r.writeHead(200, { 'content-type': 'text/event-stream' });
            if (step.reasoning) send({ reasoning_content: step.reasoning });
            if (step.text) for (let i = 0; i < step.text.length; i += 7) send({ content: step.text.slice(i, i + 7) });
            if (step.call) send({ tool_calls: [{ index: 0, id: 'p1', type: 'function', function: { name: step.call, arguments: step.args } }] });
            send({}, step.call ? 'tool_calls' : 'stop');
            r.end('data: [DONE]\n\n');
        });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.defer(() => new Promise((yes) => { server.close(yes); server.closeAllConnections(); }));
    return { asked, config: { provider: 'openai', model: 'm', api_key: 'env:TEST_KEY', base_url: `http://127.0.0.1:${server.address().port}/v1`, retries: 0 } };
}
const serveWith = (t, m, config = {}) => t.serve({ env: { TEST_KEY: 'k' }, config: { model: m.config, actions: {}, demo: { tools: false }, ...config } });

// The bytes of an answer, whole.
const wire = async (server, method, at, body) => (await request(server, method, at, body)).text;

const message = (text) => [{ id: 'u1', role: 'user', parts: [{ type: 'text', text }] }];
// Every door that streams, as {events, text}: its events and the words it told. `say` may be sent by each.
const DOORS = {
    typed: async (server, say) => {
        const events = read(await wire(server, 'POST', '/v1/chat/stream', { message: say, reasoning: true }));
        return { events, text: events.filter((e) => e.type === 'text_delta').map((e) => e.text).join('') };
    },
    'tool-calling': async (server, say) => {
        const events = read(await wire(server, 'POST', '/functions/v1/chat', { message: say }));
        return { events, text: events.flatMap((e) => e.choices ?? []).map((c) => c.delta.content ?? '').join('') };
    },
    '/ag-ui': async (server, say) => {
        const events = read(await wire(server, 'POST', '/ag-ui', { threadId: 't' + Math.random().toString(36).slice(2), runId: 'r', messages: [{ id: 'u', role: 'user', content: say }] }));
        check(/^RUN_(FINISHED|ERROR)$/.test(events.at(-1).type), 'ends with its mark');
        return { events, text: events.filter((e) => e.type === 'TEXT_MESSAGE_CONTENT').map((e) => e.delta).join('') };
    },
    '/run_sse': async (server, say) => {
        const events = read(await wire(server, 'POST', '/run_sse', { appName: 'default', userId: 'u', sessionId: 's' + Math.random().toString(36).slice(2), newMessage: { role: 'user', parts: [{ text: say }] }, streaming: true }));
        return { events, text: events.filter((e) => !e.partial).flatMap((e) => e.content?.parts ?? []).map((p) => (p.thought ? '' : p.text ?? '')).join('') };
    },
    '/api/chat': (server, say) => chat(server, '/api/chat', say),
    '/stream': (server, say) => chat(server, '/stream', say),
    events: async (server, say) => {
        const first = await server.turn(say), stream = await server.events(first.thread, '0.0');
        await stream.must((e) => ['complete', 'error'].includes(e.data?.type));
        await stream.close();
        const events = read(stream.text);
        return { events, text: events.filter((e) => e.type === 'text_delta').map((e) => e.text).join('') };
    },
    'the history': async (server, say) => {
        const { thread } = await server.turn(say);
        await settled(server, thread);
        const r = await request(server, 'GET', `/v1/threads/${thread}`);
        return { events: [{ done: true }], text: r.json.messages.at(-1).parts.filter((p) => p.type === 'text').map((p) => p.text).join('') };
    },
    '/live in parley.sse.v1': (server, say, t) => live(t, server, say, 'parley.sse.v1', (x) => { const [e, ...more] = read(x); check(!more.length, 'one event per frame'); return e; }),
    '/live in parley.json.v1': (server, say, t) => live(t, server, say, 'parley.json.v1', (x) => { const m = JSON.parse(x); return m.event ?? m; }),
    '/api/chat/ws': async (server, say, t) => {
        const ws = await Ws.open(t, server, '/api/chat/ws');
        ws.send({ type: 'send', requestId: 'r', id: 'c_' + Math.random().toString(36).slice(2), messages: message(say) });
        const events = [];
        for (let x; (x = JSON.parse(await ws.next())).type !== 'end';) events.push(x.chunk ?? x);
        ws.drop();
        return { events, text: events.filter((e) => e.type === 'text-delta').map((e) => e.delta).join('') };
    },
};

async function chat(server, door, say) {
    const events = read(await wire(server, 'POST', door, { id: 'c_' + Math.random().toString(36).slice(2), messages: message(say) }));
    check(events.at(-1).done, 'ends with its mark');
    return { events, text: events.filter((e) => e.type === 'text-delta').map((e) => e.delta).join('') };
}

async function live(t, server, say, protocol, decode) {
    const ws = await Ws.open(t, server, '/live', { protocols: [protocol] });
    const events = [];
    ws.send({ type: 'message', text: say });
    for (let x; (x = await ws.next()) !== undefined;) {
        const e = /^\{"type":/.test(x) ? JSON.parse(x) : decode(x);
        if (e.done) break;
        if (!['hello', 'ack', 'data-approval'].includes(e.type)) events.push(e);
    }
    ws.drop();
    return { events, text: events.filter((e) => e.type === 'text-delta').map((e) => e.delta).join('') };
}

// Nobody but the server ends a run, names an event or says complete.
function unforged(events, what) {
    check(!JSON.stringify(events.filter((e) => e.type === 'complete').map((e) => e.payload?.message === 'forged')).includes('true'), `${what}: forged`);
    check(events.filter((e) => ['complete', 'finish', 'error', 'cancelled'].includes(e.type)).length <= 1, `${what}: one end: ${events.map((e) => e.type).join(' ')}`);
}

const withoutMarkers = (text) => text.replace(/\n*\[\[tool:\d+\]\]\n*/g, '');
// Blank lines at the edges are the dialects' own business; what cannot be in UTF-8 is a replacement character on the model's own wire already.
const plain = (text) => text.replace(/^\n+|\n+$/g, '').replace(/[\ud800-\udfff]/g, '\ufffd');

for (const [door, listen] of Object.entries(DOORS))
    test(`${Object.keys(NASTY).length} texts with line ends of every kind stay words of the model on ${door}`, async (t) => {
        const texts = [...Object.values(NASTY), ALL];
        const m = await model(t, texts.map((text) => ({ text, reasoning: text })));
        const server = await serveWith(t, m);
        for (const text of texts) {
            const { events, text: told } = await listen(server, 'go', t);
            unforged(events, door);
            same(plain(told), plain(text), JSON.stringify(text));
        }
        console.log(`note: ${texts.length} hostile texts on ${door}`);
    });

// --- tools --------------------------------------------------------------------------------------------------

// A program that says what its argument `how` asks it to, with the nasty text in every place it has.
const TOOL = (text) => ({
    result: `printf '%s\\n' '${JSON.stringify({ result: { text, [text.slice(0, 40)]: [text] } }).replaceAll("'", "'\\''")}'`,
    pretty: `printf '{"progress":0.5,"message":"x","data":{\\r"a":\\r\\r1}}\\n{"result":{\\r"a":\\r\\r1,"t":\\r%s}\\r}\\n' '${JSON.stringify(text).replaceAll("'", "'\\''").replaceAll('%', '%%')}'`,
    error: `printf '%s\\n' '${JSON.stringify({ error: text }).replaceAll("'", "'\\''")}'`,
    progress: `printf '%s\\n' '${JSON.stringify({ progress: 0.5, stage: text, message: text, data: { [text.slice(0, 40)]: text } }).replaceAll("'", "'\\''")}'; printf '{"result":1}\\n'`,
    stderr: `printf '%s' '${text.replaceAll('\u0000', '').replaceAll('\ud800', '').replaceAll("'", "'\\''")}' >&2; printf '{"result":1}\\n'`,
    junk: `printf '%s' '${text.replaceAll('\u0000', '').replaceAll('\ud800', '').replaceAll("'", "'\\''")}'`,
});

for (const kind of Object.keys(TOOL('')))
    test(`a tool whose ${kind} has line ends of every kind tells no event of its own, on ${Object.keys(DOORS).length} doors`, async (t) => {
        const doors = Object.entries(DOORS);
        // Arguments as some models spell them: with line ends between the tokens.
        const args = `{\r\n\n"q":\r${JSON.stringify(ALL)}\n\n}\r\n`;
        const m = await model(t, doors.flatMap(() => [{ call: 'work', args }, { text: 'Done.' }]));
        const server = await serveWith(t, m, { tools: { work: { confirm: 'never', intent: 'Working on {q}', exec: { command: ['/bin/sh', '-c', `cat > /dev/null; ${TOOL(ALL)[kind]}`] },
            input_schema: { type: 'object', properties: { q: { type: 'string' } } } } } });
        for (const [door, listen] of doors) {
            const { events, text } = await listen(server, 'go', t);
            unforged(events, door);
            same([door, withoutMarkers(text)], [door, 'Done.']);
            if (kind !== 'result' || !events.some((e) => e.type === 'tool_complete' || e.type === 'tool-output-available')) continue;
            const out = events.find((e) => e.type === 'tool-output-available' && !e.preliminary)?.output ?? events.find((e) => e.type === 'complete')?.payload.tool_history[0].output;
            const value = typeof out === 'string' ? JSON.parse(out) : out;      // the typed door shows the text the model got
            same([door, JSON.stringify(value ?? null)], [door, JSON.stringify({ text: ALL, [ALL.slice(0, 40)]: [ALL] })]);
        }
        console.log(`note: ${doors.length} doors told a hostile ${kind}`);
    });

test('names of tools that a model makes up stay names', async (t) => {
    const doors = Object.entries(DOORS), names = [NASTY['LF LF'], NASTY['CR CR'], NASTY.NUL];
    for (const name of names) {
        const m = await model(t, doors.flatMap(() => [{ call: name, args: '{}' }, { text: 'Done.' }]));
        const server = await serveWith(t, m);
        for (const [door, listen] of doors) {
            const { events, text } = await listen(server, 'go', t);
            unforged(events, door);
            same([door, withoutMarkers(text)], [door, 'Done.']);
        }
    }
    console.log(`note: ${names.length * doors.length} hostile names of tools`);
});

test('what a provider says in an error stays inside the event, or is not said at all', async (t) => {
    const doors = Object.entries(DOORS).filter(([d]) => d !== 'the history');
    const m = await model(t, [{ status: 400, text: ALL }]);
    const server = await serveWith(t, m);
    for (const [door, listen] of doors) {
        const { events } = await listen(server, 'go', t).catch((e) => { throw new Error(`${door}: ${e.message}`); });
        check(events.filter((e) => e.type === 'error' || e.type === 'RUN_ERROR' || (!e.type && typeof e.error === 'string')).length === 1, `${door}: ${JSON.stringify(events.map((e) => e.type))}`);
        check(!JSON.stringify(events).includes('forged'), `${door}: the provider's words are not told`);
    }
    console.log(`note: ${doors.length} doors told a hostile error`);
});

test('JSON of a browser that is spelled over several lines is one line of an event', async (t) => {
    const server = await t.serve();
    for (const how of ['result', 'error']) {
        const s = await server.turn('Where am I?');
        const id = s.of('tool_confirmation')[0]?.confirmation_id;
        if (id) { await server.post(`/v1/approvals/${id}`, { confirmed: true, reason: ALL }); }
        const call = await until(async () => (await server.get(`/v1/threads/${s.thread}`)).json.messages.at(-1).parts.find((p) => p.type === 'tool-get_location' && p.state === 'input-available')?.toolCallId, 'the offer');
        const body = how === 'result' ? `{\r\n"result":\n\n{\r\r"latitude": 1,\n\n"x": ${JSON.stringify(ALL)}}\r\n}` : JSON.stringify({ error: ALL });
        same((await server.post(`/v1/threads/${s.thread}/results/${call}`, body)).status, 200);
        await settled(server, s.thread);
        const stream = await server.events(s.thread, '0.0');
        await stream.must((e) => e.data?.type === 'complete' && !e.data.payload.awaiting?.length);
        await stream.close();
        const events = read(stream.text), said = JSON.stringify(events.findLast((e) => e.type === 'complete').payload.tool_history);
        check(said.includes(JSON.stringify(ALL).slice(1, 200)), `${how}: told as it is: ${said.slice(0, 300)}`);
        for (const door of ['/api/chat', '/stream']) {
            const r = await server.get(`/v1/threads/${s.thread}${door === '/stream' ? '?approval=adk' : ''}`);
            check(r.json.messages.length === 2, 'the thread reads as JSON');
        }
    }
});

// --- headers ---------------------------------------------------------------------------------------------------

test('no id, title or request id becomes a header or a line of one', async (t) => {
    const server = await t.serve();
    const bad = ['a\r\nX-Evil: 1', 'a\nX-Evil: 1', 'a\rX-Evil: 1', 'a\u0000', 'a\u0085b', 'é', '日本', 'a b', 'a;b', '..', '', 'x'.repeat(129), 'a\r\n\r\nHTTP/1.1 200 OK'];
    let tried = 0;
    const clean = (r, what) => { tried++; check(!Object.keys(r.headers).includes('x-evil') && !/evil/i.test(r.headers['parley-thread'] ?? ''), `${what}: ${JSON.stringify(r.headers)}`); return r; };
    for (const id of bad) {
        for (const door of ['/api/chat', '/stream']) {
            const r = clean(await server.post(door, { id, messages: message('hello') }), door);
            check([422, 200].includes(r.status) && (r.status === 422 || id === ''), `${door} ${JSON.stringify(id)}: ${r.status}`);
        }
        check([404, 422].includes(clean(await server.post('/v1/chat/stream', { thread_id: id, message: 'hello' }), 'typed').status) || id === '', JSON.stringify(id));
        const path = encodeURIComponent(id);
        if (path) for (const at of [`/v1/threads/${path}`, `/v1/threads/${path}/events`, `/api/chat/${path}/stream`, `/v1/approvals/${path}`]) {
            const r = clean(await server.get(at), at);
            check([204, 400, 404, 405, 422].includes(r.status), `${at}: ${r.status}`);
        }
        const named = clean(await server.post('/v1/threads', { title: id }), 'title');
        if (named.status === 201) {
            clean(await server.get(`/v1/threads/${named.json.id}`), 'shown');
            const { title } = (await server.get(`/v1/threads/${named.json.id}`)).json;
            check(!/[\u0000-\u001f\u007f]/.test(title), `one line: ${JSON.stringify(title)}`);
        }
        if (id && id.length <= 128) for (let i = 0; i < 2; i++) clean(await server.post('/v1/chat/stream', { message: 'hello', request_id: id }), 'request id');
        const after = clean(await request(server, 'GET', `/v1/threads/x/events?after=${path}`), 'after');
        check(after.status >= 400, 'no such place');
    }
    for (const [protocols, want] of [[['x, parley.sse.v1'], 'parley.sse.v1'], [['parley.json.v1'], 'parley.json.v1'], [['evil'], undefined]]) {
        const ws = await Ws.open(t, server, '/live', { protocols });
        same(ws.protocol, want);
        ws.drop();
        tried++;
    }
    console.log(`note: ${tried} hostile ids, titles and places`);
});

test('a place inside a character is refused, by REST and by the socket', async (t) => {
    const m = await model(t, [{ text: 'a花z' }]);
    const server = await serveWith(t, m);
    const s = await server.turn('go');
    const seq = Number(/^(\d+)\./.exec(s.events.find((e) => e.data.type === 'text_delta').id)[1]);
    const ws = await Ws.open(t, server, `/live?thread=${s.thread}`, { protocols: ['parley.json.v1'] });
    same(JSON.parse(await ws.next()).type, 'hello');
    const told = [];
    for (let units = 0; units < 9; units++) {
        const stream = await server.events(s.thread, `${seq}.${units}`);
        if (stream.status === 200) { await stream.must('complete'); await stream.close(); check(!stream.text.includes('\ufffd'), `whole at ${units}`); }
        else same(stream.json.error.code, 'bad_place');
        ws.send({ type: 'resume', after: `${seq}.${units}` });
        ws.send({ type: 'ping', timestamp: units });
        let refused = false;
        for (let x; (x = JSON.parse(await ws.next())).type !== 'pong';) { refused ||= x.code === 'bad_place'; check(!JSON.stringify(x).includes('\ufffd'), `whole at ${units}`); }
        told.push([stream.status === 200, !refused]);
    }
    same(told.map((x) => x.map(Number).join('')).join(' '), '11 11 11 11 00 00 11 11 11');
});

// --- floods -------------------------------------------------------------------------------------------------------

const resident = (server) => Number(fs.readFileSync(`/proc/${server.child.pid}/statm`, 'latin1').split(' ')[1]) * 4;
const SANITIZED = /asan/.test(process.env.PARLEY_BIN ?? '');

for (const door of ['/live', '/api/chat/ws'])
    test(`a million pings by somebody who reads no pong cost less than 4 MiB on ${door}`, async (t) => {
        const server = await t.serve();
        const ws = await Ws.open(t, server, door);
        await server.get('/healthz');
        const before = resident(server);
        ws.socket.removeAllListeners('data');
        ws.socket.pause();
        const ping = Buffer.from([0x89, 0x80 | 8, 1, 2, 3, 4, ...Buffer.from('12345678').map((b, i) => b ^ (i % 4 + 1))]);
        const many = Buffer.alloc(ping.length * 10000, ping);
        let sent = 0, most = 0;
        for (; sent < 100; sent++) {
            const all = ws.socket.write(many);
            most = Math.max(most, resident(server) - before);
            if (!all) await Promise.race([once(ws.socket, 'drain'), once(ws.socket, 'close')]);
            if (ws.socket.destroyed) break;
        }
        check(sent === 100, `all were taken: ${sent}0000`);
        // It answers others, so what came was looked at.
        same((await server.get('/healthz')).status, 200);
        most = Math.max(most, resident(server) - before);
        check(most < 4096 || SANITIZED, `a million pings grew the server by ${most} KiB`);
        console.log(`note: 1000000 pings on ${door}, no pong read: ${most} KiB`);
    });

test('half messages on many sockets count together, and those beyond the limit are told to try later', async (t) => {
    const server = await t.serve({ config: { limits: { message: 1024 * 1024, body: 1024 * 1024, bodies: 4 * 1024 * 1024 } } });
    const sockets = [];
    for (let i = 0; i < 40; i++) sockets.push(await Ws.open(t, server, '/live'));
    const before = resident(server), piece = Buffer.alloc(400 * 1024, 0x20);
    for (const ws of sockets) {
        ws.socket.write(Buffer.concat([Buffer.from([0x01, 0xff, 0, 0, 0, 0, 0, 6, 0x40, 0, 0, 0, 0, 0]), piece]));
        await until(() => ws.socket.writableLength === 0 || ws.closed, 'the bytes to be sent');
    }
    await until(() => sockets.filter((s) => s.closed).length >= 20, 'those beyond the limit to be closed');
    check(sockets.filter((s) => s.code !== undefined).every((s) => s.code === 1013), `try again later: ${[...new Set(sockets.map((s) => s.code))]}`);
    check(resident(server) - before < 12 * 1024 || SANITIZED, `bounded: ${resident(server) - before} KiB`);
    same((await server.get('/healthz')).status, 200);
});

// Messages that come while an answer is written wait until it is over: on one socket so many of them, and no more.
const UNDER_WAY = 64, TEXT = 'x'.repeat(95_000);
const FLOODS = {
    '/live': { message: (i, text) => ({ type: 'message', text, answer_id: `a${i}` }), refused: (m) => m.code === 'rate_limited' && /^a\d+$/.test(m.for) },
    '/api/chat/ws': { message: (i, text) => ({ type: 'send', requestId: `q${i}`, id: 'flood', trigger: 'submit-message', messages: [{ id: `m${i}`, role: 'user', parts: [{ type: 'text', text }] }] }),
                      refused: (m) => m.type === 'error' && /^q\d+$/.test(m.requestId) && /at once on this socket/.test(m.errorText) },
};
for (const [door, { message, refused }] of Object.entries(FLOODS)) {
    test(`${door}: of messages that come faster than they are taken, those beyond ${UNDER_WAY} are refused and the socket lives`, async (t) => {
        const server = await t.serve();
        const ws = await Ws.open(t, server, door), many = 5 * UNDER_WAY;
        const parsed = () => ws.texts.map((x) => (x.startsWith('data: ') ? {} : JSON.parse(x)));
        ws.socket.cork();                                // all in one packet: nothing is answered between them
        for (let i = 0; i < many; i++) ws.send(message(i, 'hello'));
        ws.socket.uncork();
        await ws.wait(() => parsed().some(refused) || undefined, 'a refusal');
        let n = many;
        const taken = async () => {
            const before = ws.texts.length, after = () => parsed().slice(before);
            ws.send(message(n++, 'hello again'));
            await ws.wait(() => after().some(refused) || ws.texts.slice(before).some((x) => /"finish"/.test(x)) || undefined, 'an answer');
            return !after().some(refused);
        };
        await until(taken, 'a message to be taken again');
        const early = parsed().filter(refused).filter((m) => Number((m.for ?? m.requestId).slice(1)) < many);
        check(early.length <= many - UNDER_WAY && !ws.closed, `as many as may be under way were taken, and the socket lives: ${early.length} refused`);
    });

    test(`${door}: 600 messages of 95 kB while an answer is written cost less than 64 MiB`, async (t) => {
        const server = await t.serve({ config: { demo: { token_ms: 300 } } });
        const ws = await Ws.open(t, server, door);
        ws.send(message(0, 'Tell me everything you can do'));
        await ws.wait(() => ws.texts.some((x) => /"text-delta"/.test(x)) || undefined, 'words');
        const before = resident(server);
        let most = 0;
        for (let i = 1; i <= 600; i++) {
            if (!ws.socket.write('')) await Promise.race([once(ws.socket, 'drain'), once(ws.socket, 'close')]);
            ws.send(message(i, `${i} ${TEXT}`));
            if (i % 20 === 0) { same((await server.get('/healthz')).status, 200); most = Math.max(most, resident(server) - before); }
        }
        check(most < 64 * 1024 || SANITIZED, `it grew by ${most} KiB`);
        check(!ws.closed, 'the socket lives');
        console.log(`note: 600 messages of 95 kB on ${door}: ${most} KiB`);
    });
}
