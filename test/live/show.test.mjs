// Why did it do that? Every step of a conversation as it was; its request is built again from the facts and must be, byte for
// byte, what the service received.
import path from 'node:path';
import { check, parley, request, same, settled, test } from './lib.mjs';
import { as, auth, key } from './org.mjs';
import { WIRES, serveModel, startUpstream } from './upstream.mjs';

const PAY = (recipient) => `{{call process_payment {"amount":50,"currency":"USD","recipient":"${recipient}"}}}`;
const steps = (trace) => trace.runs.flatMap((r) => r.steps);
const ask = async (server, thread, more = '', headers) => { const r = await server.get(`/v1/threads/${thread}/trace${more}`, headers); same(r.status, 200, r.text); return r.json; };

// The bodies as they came, in their own spelling.
async function received(up) {
    const { text, json } = await request(up, 'GET', '/requests');
    let at = 0;
    return json.map((r, i) => {
        const head = `{"path":${JSON.stringify(r.path)},"key":${JSON.stringify(r.key)},"body":`, from = text.indexOf(head, at) + head.length;
        const next = i + 1 < json.length ? text.indexOf(`},{"path":${JSON.stringify(json[i + 1].path)}`, from) : text.length - 2;
        at = next;
        return text.slice(from, next);
    });
}
async function requests(server, thread) {
    const out = [];
    for (const s of steps(await ask(server, thread))) out.push((steps(await ask(server, thread, `?step=${s.step}`)))[0].request);
    return out;
}

for (const wire of WIRES) {
    test(`${wire}: what was sent is told byte for byte, also after a restart with another configuration`, async (t) => {
        const up = await startUpstream(t), server = await serveModel(t, up, wire, { model: { max_tokens: 500 }, config: { system: 'For {principal} on {date}. "Quoted".' } });
        const s = await server.turn(`{{think}} ${PAY('Hanako')} {{call get_weather {"city":"Tokyo"}}}`);
        same((await server.post(`/v1/approvals/${s.payload.awaiting[0]}`, { confirmed: false, reason: 'Too much.' })).status, 200);
        await settled(server, s.thread);
        await server.turn('{{call nonsense {"a":1}}} And ümlauts \u2028 too?', { thread_id: s.thread });
        const sent = await received(up);
        same(sent.length, 4, 'requests');
        const told = await requests(server, s.thread);
        same(told.map((q) => q.body), sent);
        check(told.every((q) => q.sent && q.provider === wire), 'to whom');
        const { config } = server;
        server.configure({ ...config, system: 'Another one.', max_iterations: 2, model: { ...config.model, max_tokens: 77 }, actions: {}, demo: { tools: false } });
        await server.restart();
        same((await requests(server, s.thread)).map((q) => q.body), sent, 'as they were');
        await server.turn('And now?', { thread_id: s.thread });
        same((await requests(server, s.thread)).at(-1).body, (await received(up)).at(-1), 'and as it is now');
    });
}

test('a list of models and signatures that are refused: the request of each step is what that model got', async (t) => {
    const up = await startUpstream(t);
    const server = await serveModel(t, up, 'gemini', { config: { model: ['dead', 'first', 'second'], models: { dead: up.model('openai', { model: 'sc-500-no', retries: 0 }), first: up.model('gemini', { model: 'sc-signature', retries: 0 }), second: up.model('anthropic', { retries: 0 }) } } });
    const s = await server.turn('{{call get_weather {"city":"Oslo"}}}');
    await server.turn('And {{call get_weather {"city":"Rome"}}}', { thread_id: s.thread });
    const sent = await received(up), told = await requests(server, s.thread);
    check(told.length >= 4 && told.every((q) => sent.includes(q.body)), `${told.length} steps, each as it was received`);
    const all = steps(await ask(server, s.thread));
    check(all.every((x) => x.via === 'first'), `who answered: ${JSON.stringify(all.map((x) => x.via))}`);
    check(!told.at(-1).body.includes('thoughtSignature') && sent.some((b) => b.includes('thoughtSignature')), 'the one that was answered went without them');
});

test('a step tells who was asked by which rule, who decided, what the tool was given and gave, stderr, times and tokens', async (t) => {
    const exec = { command: ['sh', '-c', 'cat >/dev/null; echo "to stderr \u001b[31mred" >&2; echo \'{"result":{"ok":true}}\''] };
    const up = await startUpstream(t);
    const server = await serveModel(t, up, 'openai', { config: { approvals: { rules: [{ tool: 'dep*', from: 'owner' }] }, actions: {}, demo: { tools: false }, tools: { deploy: { description: 'Deploys.', confirm: 'always', exec } } } });
    const s = await server.turn('{{call deploy {}}}');
    same((await server.post(`/v1/approvals/${s.payload.awaiting[0]}`, { confirmed: true })).status, 200);
    await settled(server, s.thread);
    const trace = await ask(server, s.thread), [run] = trace.runs, [one, two] = run.steps, [call] = one.calls;
    same([trace.id, run.by, run.message, run.ended.outcome, run.steps.length], [s.thread, 'local', '{{call deploy {}}}', 'complete', 2]);
    same([one.step, one.stop, one.provider, one.model, one.input_tokens, one.output_tokens, two.stop], [1, 'calls', 'openai', 'm', 20, 12, 'end']);
    check(one.ms >= 0 && one.first_ms <= one.ms && /^[0-9a-f]{32}$/.test(one.basis) && one.basis === two.basis, JSON.stringify(one));
    same([call.tool, call.input, call.gate, call.decided.outcome, call.decided.by, call.finished.outcome, call.value], ['deploy', '{}', 'ask', 'approved', 'local', 'done', { ok: true }]);
    same(call.asked.rule.from.role, 'owner');
    check(call.asked.digest && call.asked.definition && call.started_at && call.note.includes('to stderr'), JSON.stringify(call));
    const config = ['--config', path.join(server.dir, 'parley.json'), '--store', server.db];
    const env = { TEST_MODEL_KEY: 'x' };
    const shown = await parley(['show', s.thread, ...config], { env }), second = await parley(['show', s.thread, '2', ...config], { env });
    for (const r of [shown, second]) same([r.code, r.out.includes('\u001b')], [0, false], `${r.err} ${r.out}`);
    check(/decided\.by +local/.test(shown.out) && /to stderr/.test(shown.out) && /input_tokens +20/.test(shown.out), shown.out);
    check(second.out.includes((await received(up))[1]), `the request itself: ${second.out}`);
    const there = await parley(['show', s.thread, '2', server.url, '--json'], { env: { PARLEY_KEY: server.token } });
    same(JSON.parse(there.out), await ask(server, s.thread, '?step=2'));
    for (const [args, code, words] of [[['show'], 2, /THREAD/], [['show', 'nobody', ...config], 1, /no conversation nobody/], [['show', s.thread, '9', ...config], 1, /no such step/]]) {
        const r = await parley(args, { env });
        same([r.code, words.test(r.err)], [code, true], r.err);
    }
});

test('a request that failed is told, too', async (t) => {
    const up = await startUpstream(t), server = await serveModel(t, up, 'anthropic', { model: { model: 'sc-401' } });
    const s = await server.turn('hi'), [one] = steps(await ask(server, s.thread, '?step=1'));
    same([one.failed, one.said, one.request.body], ['model_auth', [], (await received(up))[0]]);
});

test('whose it is sees the steps; the requests, and other people\'s, are an administrator\'s', async (t) => {
    const server = await t.serve({ config: { auth: auth({ ada: ['user'], bob: ['user'], root: ['admin'] }), system: 'The operator\'s own words.' } });
    const s = await (await server.open('POST', '/v1/chat/stream', { message: 'Hello' }, as('ada'))).read(), at = `/v1/threads/${s.thread}/trace`;
    const get = async (who, more = '') => (await server.get(`${at}${more}`, as(who)));
    same((await get('ada')).status, 200);
    check(!(await get('ada')).text.includes('own words'), 'not the prompt');
    const answers = [['ada', '?step=1', 403], ['ada', '?owner=ada', 403], ['bob', '', 404], ['bob', '?owner=ada', 403], ['root', '', 403], ['root', '?owner=ada', 200], ['root', '?owner=bob', 404], ['root', '?owner=ada&step=9', 404], ['root', '?owner=ada&step=x', 422], ['root', '?owner=ada&step=0', 422]];
    for (const [who, more, status] of answers) same([who, more, (await get(who, more)).status], [who, more, status]);
    const [one] = steps((await get('root', '?owner=ada&step=1')).json);
    check(!one.request.sent && one.request.body.includes('own words'), 'the demo model\'s, in a form that can be read');
    same((await server.get(at)).status, 401);
    const r = await parley(['show', s.thread, server.url], { env: { PARLEY_KEY: key('ada') } });
    same([r.code, /step/.test(r.out)], [0, true], r.err);
});
