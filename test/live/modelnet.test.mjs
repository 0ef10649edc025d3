// The way to a model service: TLS that is really checked, a proxy from the environment,
// and a process that ends in the middle of an answer.
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import path from 'node:path';
import { check, oneProcess, parley, same, settled, skip, sound, test, until } from './lib.mjs';
import { KEY, WIRES, keepsSecrets, readBody, serveModel, soundBody, startUpstream } from './upstream.mjs';

// --- TLS ------------------------------------------------------------------------------------

// A certificate that nobody has signed but itself, for this name.
function certificate(dir, name) {
    const at = (x) => path.join(dir, x);
    try {
        execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2', '-keyout', at('key.pem'), '-out', at('cert.pem'),
            '-subj', `/CN=${name}`, '-addext', `subjectAltName=${/^[\d.]+$/.test(name) ? 'IP' : 'DNS'}:${name}`], { stdio: 'pipe' });
    } catch (e) { if (e.code === 'ENOENT') skip('no openssl here'); throw e; }
    return { file: at('cert.pem'), key: fs.readFileSync(at('key.pem')), cert: fs.readFileSync(at('cert.pem')) };
}

// HTTPS in front of the scripted service: {port, seen}.
async function secured(t, up, pair) {
    const seen = [];
    const server = https.createServer(pair, (q, r) => {
        seen.push({ path: q.url, key: q.headers.authorization, version: q.httpVersion });
        const on = http.request({ host: '127.0.0.1', port: up.port, method: q.method, path: q.url, headers: q.headers }, (a) => { r.writeHead(a.statusCode, a.headers); a.pipe(r); });
        on.on('error', () => r.destroy());
        q.pipe(on);
    });
    server.on('tlsClientError', () => {});
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.defer(() => { server.closeAllConnections(); server.close(); });
    return { port: server.address().port, seen };
}

const NO_ENV = { HTTP_PROXY: '', HTTPS_PROXY: '', http_proxy: '', https_proxy: '', ALL_PROXY: '', all_proxy: '', NO_PROXY: '', no_proxy: '', SSL_CERT_FILE: '', CURL_CA_BUNDLE: '' };

test('a certificate that nobody signed is refused with a sentence, and accepted when its CA is given', async (t) => {
    const up = await startUpstream(t), pair = certificate(t.folder(), '127.0.0.1'), front = await secured(t, up, pair);
    const model = { base_url: `https://127.0.0.1:${front.port}/v1` };
    const refused = await serveModel(t, up, 'openai', { model, env: NO_ENV });
    const s = sound(await refused.turn('hello')), e = s.events.at(-1).data;
    same([e.type, e.code, e.retryable], ['error', 'model_tls', false]);
    check(/certificate was not accepted/.test(e.message), e.message);
    same(front.seen, [], 'not one byte of the request was sent');
    await keepsSecrets(refused, s.thread, s);
    for (const name of ['SSL_CERT_FILE', 'CURL_CA_BUNDLE']) {
        const server = await serveModel(t, up, 'openai', { model, env: { ...NO_ENV, [name]: pair.file } });
        same(sound(await server.turn('hello')).payload?.message, 'You said: hello', name);
        same(front.seen.at(-1).key, `Bearer ${KEY}`);
    }
});

test('a certificate for another name is refused although its CA is known', async (t) => {
    const up = await startUpstream(t), pair = certificate(t.folder(), 'model.example'), front = await secured(t, up, pair);
    const server = await serveModel(t, up, 'openai', { model: { base_url: `https://127.0.0.1:${front.port}/v1` }, env: { ...NO_ENV, SSL_CERT_FILE: pair.file, CURL_CA_BUNDLE: pair.file } });
    same((await server.turn('hello')).events.at(-1).data.code, 'model_tls');
    same(front.seen, []);
});

test('models --check says in words what TLS, a wrong key, an unknown model and a closed port are', async (t) => {
    const up = await startUpstream(t), dir = t.folder(), front = await secured(t, up, certificate(t.folder(), '127.0.0.1'));
    const closed = net.createServer().listen(0, '127.0.0.1');
    await once(closed, 'listening');
    const gone = closed.address().port;
    await new Promise((yes) => closed.close(yes));
    const models = {
        good: up.model('openai'), key: up.model('anthropic', { model: 'sc-401' }), name: up.model('gemini', { model: 'sc-404' }),
        tls: up.model('openai', { base_url: `https://127.0.0.1:${front.port}/v1` }), plain: up.model('openai', { base_url: `https://127.0.0.1:${up.port}/v1` }),
        gone: up.model('openai', { base_url: `http://127.0.0.1:${gone}/v1`, retries: 0 }), page: up.model('openai', { model: 'sc-html' }),
    };
    fs.writeFileSync(path.join(dir, 'parley.json'), JSON.stringify({ models, model: 'good' }));
    const r = await parley(['models', '--check'], { cwd: dir, env: { ...NO_ENV, TEST_MODEL_KEY: KEY } });
    const said = Object.fromEntries(r.out.split('\n').filter(Boolean).map((l) => [l.slice(0, l.indexOf(':')), l.slice(l.indexOf(':') + 2)]));
    check(/^ok/.test(said.good), said.good);
    check(/did not accept the API key/.test(said.key), said.key);
    check(/does not know the model sc-404/.test(said.name), said.name);
    check(/certificate was not accepted/.test(said.tls), said.tls);
    check(/does not speak TLS/.test(said.plain), said.plain);
    check(/no connection to 127\.0\.0\.1/.test(said.gone), said.gone);
    check(/no model service at this address/.test(said.page), said.page);
    same([r.code, r.err], [1, ''], 'a status for scripts, and nothing else on stderr');
    check(!r.out.includes(KEY) && !r.out.includes('sk-secret'), r.out);
});

// --- a proxy -------------------------------------------------------------------------------

// The least a proxy is: absolute addresses passed on, CONNECT tunnelled. {port, seen, refuse}.
async function proxy(t) {
    const p = { seen: [], refuse: 0 };
    const server = http.createServer((q, r) => {
        p.seen.push(`${q.method} ${q.url}`);
        if (p.refuse) { r.writeHead(p.refuse).end('<html>sk-secret: ask your administrator</html>'); return; }
        if (!/^http:/.test(q.url)) { r.writeHead(400).end(); return; }
        const on = http.request(q.url, { method: q.method, headers: q.headers }, (a) => { r.writeHead(a.statusCode, a.headers); a.pipe(r); });
        on.on('error', () => r.destroy());
        q.pipe(on);
    });
    const tunnels = new Set();
    server.on('connect', (q, socket, head) => {
        p.seen.push(`CONNECT ${q.url}`);
        tunnels.add(socket);
        socket.on('error', () => {});
        if (p.refuse) { socket.end(`HTTP/1.1 ${p.refuse} No\r\n\r\n`); return; }
        const [host, port] = q.url.split(':'), on = net.connect(Number(port), host, () => { socket.write('HTTP/1.1 200 OK\r\n\r\n'); on.write(head); socket.pipe(on).pipe(socket); });
        on.on('error', () => socket.destroy());
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.defer(() => { for (const s of tunnels) s.destroy(); server.closeAllConnections(); server.close(); });
    p.port = server.address().port;
    return p;
}

test('a proxy of the environment is used, for plain addresses and through a tunnel for TLS; NO_PROXY goes around it', async (t) => {
    const up = await startUpstream(t), pair = certificate(t.folder(), '127.0.0.1'), front = await secured(t, up, pair), p = await proxy(t);
    const url = `http://127.0.0.1:${p.port}`, env = { ...NO_ENV, http_proxy: url, https_proxy: url };
    const plain = await serveModel(t, up, 'openai', { env });
    same(sound(await plain.turn('hello')).payload?.message, 'You said: hello');
    same(p.seen, [`POST http://127.0.0.1:${up.port}/v1/chat/completions`]);
    const tls = await serveModel(t, up, 'openai', { model: { base_url: `https://127.0.0.1:${front.port}/v1` }, env: { ...env, SSL_CERT_FILE: pair.file, CURL_CA_BUNDLE: pair.file } });
    same(sound(await tls.turn('hello')).payload?.message, 'You said: hello');
    same(p.seen.at(-1), `CONNECT 127.0.0.1:${front.port}`);
    const count = p.seen.length, around = await serveModel(t, up, 'openai', { env: { ...env, no_proxy: '127.0.0.1' } });
    same(sound(await around.turn('hello')).payload?.message, 'You said: hello');
    same(p.seen.length, count, 'the proxy was not asked');
});

test('a proxy that refuses is told as such', async (t) => {
    const up = await startUpstream(t), front = await secured(t, up, certificate(t.folder(), '127.0.0.1')), p = await proxy(t);
    p.refuse = 407;
    const url = `http://127.0.0.1:${p.port}`;
    for (const model of [{}, { base_url: `https://127.0.0.1:${front.port}/v1` }]) {
        const server = await serveModel(t, up, 'openai', { model, env: { ...NO_ENV, http_proxy: url, https_proxy: url } });
        const s = await server.turn('hello'), e = s.events.at(-1).data;
        same([e.code, e.retryable], ['model_unreachable', true], e.message);
        check(/proxy/i.test(e.message), e.message);
        await keepsSecrets(server, s.thread, s);
    }
    same((await up.requests()).length, 0);
});

// --- a restart -----------------------------------------------------------------------------------

for (const wire of WIRES) {
    test(`${wire}: a process that dies in the middle of a step asks again with the same history, and no tool runs twice`, async (t) => {
        const up = await startUpstream(t), dir = t.folder();
        const one = await serveModel(t, up, wire, { dir });
        const s = await one.say('{{think}} {{call get_weather {"city":"Oslo"}}} {{then:stall-late-once}}');
        await s.must((e) => e.data?.type === 'text_delta' && e.data.text.includes('Half'));
        await one.kill();
        await s.read();
        const two = await serveModel(t, up, wire, { dir });
        const thread = await settled(two, s.thread), last = thread.messages.at(-1);
        const words = last.parts.filter((p) => p.type === 'text').map((p) => p.text);
        check(words.at(-1).startsWith('The tools said: '), `it goes on: ${JSON.stringify(last)}`);
        check(!JSON.stringify(thread.messages).includes('Half an'), 'words of the lost step are gone');
        const all = await up.requests();
        same(all.length, 3, 'requests');
        for (const r of all) soundBody(wire, r);
        same(JSON.stringify(all[2].body), JSON.stringify(all[1].body), 'the same history, byte for byte');
        same(readBody(wire, all[2].body).at(-1).results.length, 1);
        same((await two.get('/v1/tools')).json.tools.find((x) => x.name === 'get_weather').runs, 1, 'executions');
        await until(async () => (await up.stats()).cancelled >= 1, 'the old stream to be closed');
        const replay = await two.events(s.thread, s.lastId);
        await replay.must('complete');
        check(replay.of('step_reset').length === 1, `a follower is told: ${replay.types().join(' ')}`);
        await replay.close();
        same(up.err, '', 'bodies the real service would refuse');
    });

    test(`${wire}: SIGTERM in the middle of a step parks the run; the next start goes on`, async (t) => {
        const up = await startUpstream(t), dir = t.folder();
        const one = await serveModel(t, up, wire, { dir });
        const s = await one.say('{{scenario:stall-late-once}} hello');
        await s.must((e) => e.data?.type === 'text_delta' && e.data.text.includes('Half'));
        same(await one.term(), 0, 'it ends well');
        await s.read();
        same(s.events.at(-1).data.type, 'status', 'told that it restarts');
        const two = await serveModel(t, up, wire, { dir });
        const thread = await settled(two, s.thread);
        check(JSON.stringify(thread.messages.at(-1)).includes('You said: {{scenario:stall-late-once}} hello'), JSON.stringify(thread.messages.at(-1)));
        const all = await up.requests();
        same([all.length, JSON.stringify(all[0].body)], [2, JSON.stringify(all[1].body)], 'the same request');
    });

    test(`${wire}: stop closes the transfer at once`, async (t) => {
        const up = await startUpstream(t), server = await serveModel(t, up, wire);
        const s = await server.say('{{scenario:stall-late}} hello');
        await s.must((e) => e.data?.type === 'text_delta' && e.data.text.includes('Half'));
        same((await server.post(`/v1/threads/${s.thread}/stop`)).json.stopped, true);
        await s.read();
        same(s.events.at(-1).data.type, 'cancelled');
        await until(async () => (await up.stats()).cancelled === 1, 'the transfer to be closed');
        await until(() => server.log.filter((l) => l.event === 'model.cancelled').length === 1, 'one line in the log');
        const next = sound(await server.turn('{{scenario:none}} go on', { thread_id: s.thread }));
        check(next.payload.message.includes('go on'), next.payload.message);
        const last = readBody(wire, (await up.requests()).at(-1).body);
        same(last.map((m) => m.role), ['user', 'assistant', 'user'], 'what was said before the stop is told');
        same(last[1].texts, ['Half an']);
    });
}

// --- many runs at once, after a crash ----------------------------------------------------------------

const CALLS = '{"tool_calls":[{"index":0,"id":"c1","function":{"name":"slow","arguments":"{}"}}]}';
const said = (delta, stop) => `data: {"choices":[{"delta":${delta}}]}\n\n` + (stop ? `data: {"choices":[{"delta":{},"finish_reason":"${stop}"}]}\n\ndata: [DONE]\n\n` : '');

// A service of OpenAI's shape that counts: `answer(r, open)` says what it does, `asked` whose turn it was.
async function counting(t) {
    const s = { open: 0, most: 0, asked: [] };
    const server = http.createServer(async (q, r) => {
        let body = '';
        for await (const piece of q) body += piece;
        s.most = Math.max(s.most, ++s.open);
        r.on('close', () => s.open--);
        s.asked.push(Number(/turn-(\d+)/.exec(body)?.[1]));
        s.answer(r, s.open);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.defer(() => { server.closeAllConnections(); server.close(); });
    s.model = (more) => ({ provider: 'openai', model: 'm', api_key: 'text:k', base_url: `http://127.0.0.1:${server.address().port}/v1`, ...more });
    s.url = `http://127.0.0.1:${server.address().port}/`;
    return s;
}
const stream = (r, text) => { r.writeHead(200, { 'content-type': 'text/event-stream' }); r.write(text); };
const whole = (r, text) => { stream(r, text); r.end(); };
const inTime = (r) => setTimeout(() => whole(r, said('{"content":"ok"}', 'stop')), 20);     // as models do; so several are open at once

// How the runs of these threads ended, counted.
async function ends(server, threads) {
    const out = {};
    for (const id of threads) {
        const last = JSON.stringify((await settled(server, id)).messages.at(-1)), how = last.includes('"ok"') ? 'answered' : last;
        out[how] = (out[how] ?? 0) + 1;
    }
    return out;
}

test('runs that a crash left behind go on in their order, within the limits of the server and of the model, and none ends in an error', async (t) => {
    oneProcess('each keeps to the limits for itself');
    const s = await counting(t), tool = await counting(t), dir = t.folder(), N = 24;
    tool.answer = () => {};                                                                   // it never does
    s.answer = (r) => whole(r, said(CALLS, 'tool_calls'));
    const config = { demo: { tools: true }, model: s.model({ concurrent: 1, retries: 0 }), limits: { runs: N },
        tools: { slow: { description: 'd', confirm: 'never', input_schema: { type: 'object' }, timeout: 600, http: { url: tool.url, allow: ['127.0.0.1'] } } } };
    const one = await t.serve({ dir, config }), threads = [];
    for (let i = 0; i < N; i++) {
        threads.push((await one.say(`turn-${i}`)).thread);
        await until(() => tool.asked.length > i, 'the tool to be asked');
    }
    await one.kill();
    Object.assign(s, { answer: inTime, most: 0, asked: [] });
    const two = await t.serve({ dir, config: { ...config, limits: { runs: 20 } } });
    same(await ends(two, threads), { answered: N });
    same(s.asked, threads.map((_, i) => i), 'in the order in which they were asked');
    same(s.most, 1, 'at once');
});

test('runs that a crash left behind outlast a service that has room for a few of them', async (t) => {
    const s = await counting(t), dir = t.folder(), N = 12, room = 3;
    s.answer = (r) => stream(r, said('{"content":"Half"}'));
    const config = { demo: { tools: true }, model: s.model({ retries: 0 }) };
    const one = await t.serve({ dir, config }), threads = [];
    for (let i = 0; i < N; i++) threads.push((await one.say(`turn-${i}`)).thread);
    await until(() => s.open === N, 'all to be under way');
    await one.kill();
    await until(() => s.open === 0, 'the service to see it');
    let refused = 0;
    s.answer = (r, open) => {
        if (open <= room) return inTime(r);
        refused++;
        r.writeHead(429, { 'content-type': 'application/json', 'retry-after': '0' });
        r.end('{"error":{"message":"slow down","type":"rate_limit"}}');
    };
    const two = await t.serve({ dir, config });
    same(await ends(two, threads), { answered: N });
    check(refused > 0, 'it had no room for all at once');
    s.answer = (r) => { r.writeHead(429, { 'retry-after': '0' }); r.end(); };
    same((await two.turn('turn-99')).events.at(-1).data.code, 'model_rate_limit', 'who is there is told, and may try again');
});
