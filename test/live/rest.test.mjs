// Threads over REST, tools, health, readiness, metrics.
import { check, same, settled, skip, sound, test, told, until } from './lib.mjs';

const ID = /^t_[A-Za-z0-9_-]{22}$/;

test('a thread is made, listed, shown, renamed and deleted', async (t) => {
    const server = await t.serve();
    const made = await server.post('/v1/threads', { title: 'Plans' });
    same([made.status, ID.test(made.json.id), made.headers['parley-thread']], [201, true, made.json.id]);
    const at = `/v1/threads/${made.json.id}`;
    const shown = (await server.get(at)).json;
    same([shown.id, shown.title, shown.state, shown.messages, shown.pending], [made.json.id, 'Plans', 'idle', [], []]);
    same((await server.get('/v1/threads')).json.threads.map((x) => [x.id, x.title, x.state]), [[made.json.id, 'Plans', 'idle']]);
    same((await server.request('PATCH', at, { title: 'Überarbeitet 旅' })).status, 200);
    same((await server.get(at)).json.title, 'Überarbeitet 旅');
    same((await server.get('/v1/threads')).json.threads[0].title, 'Überarbeitet 旅');
    const gone = await server.request('DELETE', at);
    same([gone.status, gone.text], [204, '']);
    for (const [method, path, body] of [['GET', at], ['PATCH', at, { title: 'x' }], ['DELETE', at], ['GET', at + '/events'], ['POST', at + '/stop']]) {
        const r = await server.request(method, path, body);
        same([method, r.status, r.json?.error?.code], [method, 404, 'unknown_thread']);
    }
    same((await server.get('/v1/threads')).json, { threads: [], next: null });
    same((await server.post('/v1/threads')).status, 201, 'a body is not needed');
});

test('a thread is named by its first words until somebody names it', async (t) => {
    const server = await t.serve();
    const { thread } = await server.turn('Find articles about CRISPR');
    same((await server.get(`/v1/threads/${thread}`)).json.title, 'Find articles about CRISPR');
    const long = await server.turn('長い話を聞かせて'.repeat(30));
    const title = (await server.get(`/v1/threads/${long.thread}`)).json.title;
    check([...title].length === 60, `cut at 60 characters: ${[...title].length}`);
    await server.request('PATCH', `/v1/threads/${thread}`, { title: 'Mine' });
    await server.turn('hello', { thread_id: thread });
    same((await server.get(`/v1/threads/${thread}`)).json.title, 'Mine', 'a later message does not rename');
});

test('the list has pages, newest change first, and can be searched by words of the title', async (t) => {
    const server = await t.serve();
    const ids = [];
    for (let i = 0; i < 7; i++) ids.push((await server.post('/v1/threads', { title: `Thread number ${i}` })).json.id);
    const seen = [];
    for (let next = '', n = 0; next !== null && n < 9; n++) {
        const r = (await server.get(`/v1/threads?limit=3${next && `&before=${encodeURIComponent(next)}`}`)).json;
        seen.push(...r.threads.map((x) => x.id));
        next = r.next;
    }
    same(seen, [...ids].reverse(), 'all, once, newest first');
    await server.turn('hello', { thread_id: ids[2] });
    same((await server.get('/v1/threads?limit=1')).json.threads[0].id, ids[2], 'a changed one comes first');
    same((await server.get('/v1/threads?search=NUMBER%205')).json.threads.map((x) => x.id), [ids[5]]);
    same((await server.get('/v1/threads?search=nothing%20of%20it')).json.threads, []);
    for (const q of ['limit=0', 'limit=201', 'limit=x', 'before=nonsense'])
        same([(await server.get('/v1/threads?' + q)).status, q], [422, q]);
});

test('a long conversation is read in pages, from its end to its beginning, and no question is parted from its answer', async (t) => {
    const server = await t.serve();
    const { thread } = await server.turn('Question 0');
    for (let i = 1; i < 9; i++) await server.turn(`Question ${i}`, { thread_id: thread });
    const at = `/v1/threads/${thread}`;
    const whole = (await server.get(at)).json;
    same([whole.messages.length, whole.earlier], [18, null], 'without a limit: everything');
    const pages = [];
    for (let before = '', n = 0; before !== null && n < 9; n++) {
        const page = (await server.get(`${at}?limit=5${before && `&before=${before}`}`)).json;
        same([page.messages[0].role, page.seq], ['user', whole.seq], 'how a page begins, and what it was taken from');
        pages.unshift(...page.messages);
        before = page.earlier;
    }
    same(pages, whole.messages, 'all of it, once');
    same((await server.get(`${at}?limit=18`)).json.earlier, null, 'nothing before the beginning');
    for (const q of ['limit=0', 'limit=201', 'limit=x', 'before=nonsense', `before=${whole.messages[1].id}`])
        same([(await server.get(`${at}?${q}`)).json.error.code, q], ['bad_field', q]);
});

test('an edited question has its versions on the page where it stands', async (t) => {
    const server = await t.serve();
    const ask = (id, text, messageId) => server.post('/api/chat', { id: 'pages', messages: [{ id, role: 'user', parts: [{ type: 'text', text }] }], ...(messageId && { messageId, trigger: 'submit-message' }) });
    for (const [i, text] of ['One', 'Two', 'Three'].entries()) await ask(`q${i}`, text);
    await ask('q2', 'Three, changed', 'q2');
    const { messages } = (await server.get('/v1/threads/pages')).json;
    const [last, first] = await Promise.all(['limit=1', `before=${messages[4].id}`].map(async (q) => (await server.get(`/v1/threads/pages?${q}`)).json));
    same([last.messages[0].id, last.versions.map((v) => v.of)], [messages[4].id, [messages[4].id]], 'the page of the edited question');
    same([first.messages.map((m) => m.id), first.versions], [messages.slice(0, 4).map((m) => m.id), []], 'the page before');
});

test('a thread shows its messages as parts, and the question of a gate that waits', async (t) => {
    const server = await t.serve();
    const s = await server.turn('Find articles about CRISPR');
    await server.turn('Send 50 dollars to Hanako', { thread_id: s.thread });
    const shown = (await server.get(`/v1/threads/${s.thread}`)).json;
    same(shown.state, 'waiting');
    same(shown.messages.map((m) => m.role), ['user', 'assistant', 'user', 'assistant']);
    same(shown.messages[0].parts, [{ type: 'text', text: 'Find articles about CRISPR' }]);
    const tool = shown.messages[1].parts.find((p) => p.type === 'tool-search_articles');
    same([tool.state, tool.input], ['output-available', { query: 'CRISPR' }]);
    const asked = shown.messages[3].parts.find((p) => p.type === 'tool-process_payment');
    same([asked.state, asked.approval.id], ['approval-requested', shown.pending[0].id]);
    same(Object.keys(shown.pending[0]), ['id', 'tool', 'tool_use_id', 'input', 'ask', 'risk', 'expires_at']);
    const adk = (await server.get(`/v1/threads/${s.thread}?approval=adk`)).json;
    check(adk.messages[3].parts.some((p) => p.type === 'tool-adk_request_confirmation'), 'the adk form');
    for (const m of shown.messages) for (const p of m.parts) check(!JSON.stringify(p).includes('[[tool:'), 'no markers in parts');
});

test('a running answer is left out of the messages until it is over', async (t) => {
    const server = await t.serve({ config: { demo: { token_ms: 5 } } });
    const s = await server.say('Tell me a long story');
    await s.must('text_delta');
    const shown = (await server.get(`/v1/threads/${s.thread}`)).json;
    same([shown.state, shown.messages.map((m) => m.role)], ['running', ['user']]);
    same((await server.get('/v1/threads')).json.threads[0].state, 'running');
    await server.post(`/v1/threads/${s.thread}/stop`);
    await s.read();
});

test('deleting a thread ends its run, its gates and its streams', async (t) => {
    const server = await t.serve({ config: { demo: { token_ms: 5 } } });
    const s = await server.say('Tell me a long story');
    await s.must('text_delta');
    const f = await server.events(s.thread, '0.0');
    same((await server.request('DELETE', `/v1/threads/${s.thread}`)).status, 204);
    await s.read();
    await f.read();
    const gate = await server.turn('Send 50 dollars to Hanako');
    same((await server.request('DELETE', `/v1/threads/${gate.thread}`)).status, 204);
    same((await server.post(`/v1/approvals/${gate.payload.awaiting[0]}`, { confirmed: true })).status, 404);
    same((await server.get('/v1/approvals')).json.approvals, []);
    same(server.ledger(), []);
    await until(async () => (await server.get('/readyz')).json.runs === 0, 'no run is left');
});

test('deleting a thread while its tool runs leaves nothing behind', async (t) => {
    const server = await t.serve({ config: { demo: { token_ms: 5 } } });
    for (let i = 0; i < 5; i++) {
        const s = await server.say('Find articles about CRISPR');
        await s.must('tool_start');
        same((await server.request('DELETE', `/v1/threads/${s.thread}`)).status, 204);
        await s.read();
        same((await server.get(`/v1/threads/${s.thread}`)).status, 404);
    }
    await until(async () => (await server.get('/readyz')).json.runs === 0, 'no run is left');
    same((await server.get('/v1/threads')).json.threads, []);
});

test('tools are listed with schema, policy and how often they ran, also after a restart', async (t) => {
    const server = await t.serve();
    await server.turn('Find articles about CRISPR');
    await server.turn('What is the weather in Tokyo?');
    const list = async (s) => Object.fromEntries((await s.get('/v1/tools')).json.tools.map((x) => [x.name, x]));
    const tools = await list(server);
    for (const name of ['search_articles', 'get_weather', 'process_payment', 'change_bgm', 'get_location', 'generate_artifact', 'generate_image', 'browser.search', 'apply_schema'])
        check(tools[name], `${name} is listed`);
    for (const x of Object.values(tools)) {
        for (const k of ['name', 'description', 'input_schema', 'where', 'confirm', 'risk', 'idempotent', 'source', 'runs', 'failed']) check(k in x, `${x.name} says ${k}`);
        same(x.input_schema.type, 'object', `the schema of ${x.name}`);
        check(x.description.length > 10, `${x.name} is described`);
    }
    same([tools.process_payment.confirm, tools.process_payment.where, tools.process_payment.idempotent, tools.process_payment.risk], ['always', 'server', false, 'high']);
    same([tools.change_bgm.where, tools.get_weather.confirm], ['client', 'never']);
    same([tools.search_articles.runs, tools.get_weather.runs, tools.process_payment.runs], [1, 1, 0]);
    check(!tools.present && !tools.suggest_replies, 'reply tools are not listed');
    same(await server.term(), 0);
    const next = await t.serve({ dir: server.dir });
    await until(async () => (await list(next)).search_articles.runs === 1, 'counts come back');
});

test('health says ok, readiness says what the store promises', async (t) => {
    const server = await t.serve();
    same([(await server.get('/healthz')).status, (await server.get('/healthz')).json], [200, { status: 'ok' }]);
    const r = await server.get('/readyz');
    same([r.status, r.json.ready, r.json.problem], [200, true, null]);
    const promise = server.nodes ? /^postgresql \d+.*synchronous_commit=on, no synchronous standby, / : /sqlite.*WAL.*FULL/;
    check(promise.test(r.json.store), r.json.store);
});

test('metrics have the names and labels of the specification and count what happened', async (t) => {
    const server = await t.serve();
    sound(await server.turn('Find articles about CRISPR'));
    await server.turn('Simulate a model error');
    const pay = await server.turn('Send 50 dollars to Hanako');
    await server.post(`/v1/approvals/${pay.payload.awaiting[0]}`, { confirmed: false });
    await settled(server, pay.thread);
    const text = (await server.get('/metrics')).text, m = await server.metrics();
    for (const name of ['parley_intent_seconds', 'parley_commit_seconds', 'parley_loop_lag_seconds']) {
        check(text.includes(`# TYPE ${name} histogram`), name);
        same(m[`${name}_bucket{le="+Inf"}`], m[`${name}_count`], `the last bucket of ${name}`);
    }
    same(m.parley_intent_seconds_count, 2, 'intents');
    same([m['parley_tool_runs_total{tool="search_articles",outcome="done"}'], m['parley_tool_runs_total{tool="process_payment",outcome="denied"}']], [1, 1]);
    same([m['parley_runs_total{outcome="complete"}'], m['parley_runs_total{outcome="error"}'], m['parley_runs_total{outcome="cancelled"}']], [2, 1, 0]);
    check(m['parley_tokens_total{direction="input",model="demo"}'] > 0 && m['parley_tokens_total{direction="output",model="demo"}'] > 0, 'tokens');
    check(m.parley_connections >= 1, 'connections');
    same(m.parley_streams, m.parley_links_accepted ?? 0, 'no streams but links of nodes');
    for (const line of text.split('\n').filter((l) => l && !l.startsWith('#'))) check(/^[a-z_]+(\{[^}]*\})? [0-9.e+-]+$/.test(line), `a line of metrics: ${line}`);
});

test('the intent is told within 2 ms of the call being complete', async (t) => {
    const server = await t.serve({ config: { demo: { token_ms: 1 } } });
    for (let i = 0; i < 20; i++) await server.turn('What is the weather in Tokyo?');
    const m = await server.metrics();
    const bound = Object.entries(m).filter(([k]) => k.startsWith('parley_intent_seconds_bucket')).map(([k, v]) => [Number(/le="([^"]+)"/.exec(k)[1]), v]);
    const fast = Math.max(...bound.filter(([le]) => le <= 0.002).map(([, v]) => v));
    same(m.parley_intent_seconds_count, 20);
    check(fast >= 12, `within 2 ms: ${fast} of 20`);        // some may meet a busy machine
});

test('the page comes packed to those who take that, and not at all to those who have it', async (t) => {
    const server = await t.serve();
    const page = await server.get('/');
    const script = /src="(\/assets\/[^"]+\.js)"/.exec(page.text)?.[1];
    if (!script) skip('this build has no page inside');
    // The document is made at the start, for this configuration, where there is no brotli.
    for (const [path, best] of [['/', 'gzip'], [script, 'br']]) {
        const at = (headers) => server.get(path, headers), { etag } = (await at()).headers;
        for (const [takes, packed] of [['gzip', 'gzip'], ['gzip, deflate, br, zstd', best], ['br;q=0, gzip', 'gzip'], ['gzip;q=0', undefined], ['gzip; q=0.000, *', undefined], ['identity', undefined]])
            same((await at({ 'accept-encoding': takes })).headers['content-encoding'], packed, `${path}, ${takes}`);
        for (const [has, status] of [[etag, 304], [`W/${etag}`, 304], [`"x", W/${etag}`, 304], ['*', 304], ['"x"', 200], ['', 200]])
            same((await at({ 'if-none-match': has })).status, status, `${path}, ${has}`);
    }
});

test('a long JSON answer comes packed to those who take that, and is the same', async (t) => {
    const server = await t.serve();
    const { thread } = await server.turn('Find articles about CRISPR');
    const get = (path, takes) => fetch(server.url + path, { headers: { 'accept-encoding': takes } });
    const [packed, plain, short] = await Promise.all([get(`/v1/threads/${thread}`, 'gzip'), get(`/v1/threads/${thread}`, 'identity'), get('/v1/threads', 'gzip')]);
    same([packed, plain, short].map((r) => r.headers.get('content-encoding')), ['gzip', null, null]);
    const texts = await Promise.all([packed, plain].map((r) => r.text()));
    same(texts[0], texts[1], 'what it says');
    check(Number(packed.headers.get('content-length')) < texts[1].length / 2, 'it is smaller');
});

test('conversations that are not kept in memory are read again when somebody comes', async (t) => {
    const server = await t.serve({ config: { limits: { threads_in_memory: 1 } } });
    const all = [];
    for (let i = 0; i < 6; i++) all.push(await server.turn(i % 2 ? 'Send 50 dollars to Hanako' : 'Find articles about CRISPR'));
    for (const s of all) {
        const f = await server.events(s.thread, '0.0');
        await f.must('complete');
        await f.close();
        same(told(f.events), told(s.events));
    }
    for (const [i, s] of all.entries()) {
        if (i % 2) same((await server.post(`/v1/approvals/${s.payload.awaiting[0]}`, { confirmed: true })).status, 200);
        else sound(await server.turn('hello', { thread_id: s.thread }));
    }
    for (const s of all) same((await settled(server, s.thread)).state, 'idle');
    same(server.ledger().length, 3);
});

test('a conversation that waits for a person is shared when the answer is there, and that is said', async (t) => {
    const server = await t.serve(), asked = await server.turn('Send 50 dollars to Hanako'), at = `/v1/threads/${asked.thread}/share`;
    const r = await server.post(at, {});
    same([r.status, r.json.error], [409, { code: 'approval_pending', message: "The conversation waits for a person's answer; share it when that is given." }]);
    same((await server.get(at)).json, { path: null });
    same((await server.post(`/v1/approvals/${asked.payload.awaiting[0]}`, { confirmed: true })).status, 200);
    await settled(server, asked.thread);
    same((await server.post(at, {})).status, 201);
});
