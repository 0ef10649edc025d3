// The seeds' conversations with a real model's wire: search, payment with approval,
// tools of the browser. Every body that was sent is looked at.
import { Chat } from './ai.mjs';
import { check, oneProcess, same, settled, sound, test, until } from './lib.mjs';
import { KEY, WIRES, keepsSecrets, mayCall, readBody, serveModel, soundBody, startUpstream, systemOf, toolNames } from './upstream.mjs';

const SEARCH = '{{call browser_search {"query":"React 19"}}}';
const PAY = (recipient, amount = 50) => `{{call process_payment {"amount":${amount},"currency":"USD","recipient":"${recipient}"}}}`;
const BGM = '{{call change_bgm {"track":1}}}';

// A server, the service behind it, and what must hold at the end: no body was refused, none had a flaw.
async function pair(t, wire, more) {
    const up = await startUpstream(t), server = await serveModel(t, up, wire, more);
    const bodies = async () => {
        const all = await up.requests();
        same(up.err, '', 'bodies the real service would refuse');
        for (const r of all) soundBody(wire, r);
        return all.map((r) => r.body);
    };
    return { up, server, bodies };
}

for (const wire of WIRES) {
    test(`${wire}: a search with a thought before it, and a second turn on top`, async (t) => {
        const { server, bodies } = await pair(t, wire);
        const s = sound(await server.turn(`{{think}} Find it ${SEARCH}`));
        same(s.of('tool_start')[0].tool, 'browser.search', 'the tool under its own name');
        same(s.of('intent_confirmation')[0].message, "I'll search for information about React 19...");
        check(s.payload.message.includes('[[tool:0]]') && s.payload.message.includes('The tools said: '), s.payload.message);
        check(s.payload.usage.input_tokens === 40 && s.payload.usage.output_tokens === 24, `usage: ${JSON.stringify(s.payload.usage)}`);
        sound(await server.turn('And now?', { thread_id: s.thread }));
        const [one, two, three] = await bodies(), read = readBody(wire, three);
        check(toolNames[wire](one).includes('browser_search'), `names as the wire takes them: ${toolNames[wire](one)}`);
        check(toolNames[wire](one).every((n) => /^[a-zA-Z0-9_-]{1,64}$/.test(n)), 'every name fits the wire');
        same(readBody(wire, two)[1].calls.map((c) => [c.name, c.input]), [['browser_search', { query: 'React 19' }]], 'the call as it came');
        const told = read[2].results[0].text;
        same(wire === 'gemini' ? JSON.parse(told).result : told, s.payload.tool_history[0].output, 'the result, whole');
        if (wire === 'anthropic') same(readBody(wire, two)[1].thoughts.length, 1, 'the thought goes back, signed');
        if (wire === 'gemini') check(readBody(wire, two)[1].calls[0].signature, 'signed');
        same(read.at(-1).texts.at(-1), 'And now?');
        same(JSON.stringify(readBody(wire, three).slice(0, 2)), JSON.stringify(readBody(wire, two).slice(0, 2)), 'a history only grows');
    });

    test(`${wire}: three calls at once, one of them gated, are answered together and in order`, async (t) => {
        const { server, bodies } = await pair(t, wire);
        const s = sound(await server.turn(`${SEARCH} ${PAY('Hanako')} {{call get_weather {"city":"Tokyo"}}}`));
        same(s.payload.awaiting.length, 1);
        same((await bodies()).length, 1, 'the model is not asked while a gate waits');
        const yes = await server.post(`/v1/approvals/${s.payload.awaiting[0]}`, { confirmed: true });
        same(yes.status, 200, yes.text);
        await settled(server, s.thread);
        const all = await bodies(), results = readBody(wire, all[1]).at(-1).results;
        same(all.length, 2, 'requests');
        same(results.length, 3, 'every call has its result');
        check(results[0].text.includes('React') && results[1].text.includes('Hanako') && results[2].text.includes('Tokyo'), `in order: ${JSON.stringify(results)}`);
        same(server.ledger().map((l) => [l.recipient, l.amount]), [['Hanako', 50]], 'the ledger');
    });

    test(`${wire}: a payment is denied through /v1/approvals, and the model is told in one form`, async (t) => {
        const { server, bodies } = await pair(t, wire);
        const s = sound(await server.turn(PAY('Hanako')));
        same((await server.post(`/v1/approvals/${s.payload.awaiting[0]}`, { confirmed: false, reason: 'Too much.' })).status, 200);
        const thread = await settled(server, s.thread);
        const all = await bodies(), result = readBody(wire, all[1]).at(-1).results[0];
        same(JSON.parse(result.text), { error: 'User denied execution', denied: true, reason: 'Too much.' }, 'what the model is told');
        if (wire === 'anthropic') same(result.error, true, 'marked as an error');
        same(server.ledger(), [], 'the ledger');
        same(thread.state, 'idle');
    });

    test(`${wire}: payments approved and denied through /stream go on in the same message`, async (t) => {
        const { server, bodies } = await pair(t, wire);
        const chat = new Chat(t, server, '/stream');
        await chat.say(`{{think}} ${PAY('Hanako')}`);
        same(chat.asked.map((a) => [a.tool, a.input]), [['process_payment', { amount: 50, currency: 'USD', recipient: 'Hanako' }]]);
        await chat.answer(chat.asked[0].id, true);
        same(chat.messages.length, 2, 'one message of each');
        await chat.say(PAY('Taro', 20));
        await chat.answer(chat.asked[0].id, false, 'No.');
        const all = await bodies(), last = readBody(wire, all.at(-1));
        same(all.length, 4, 'requests');
        same(JSON.parse(last.at(-1).results[0].text), { error: 'User denied execution', denied: true, reason: 'No.' });
        check(last[2].results[0].text.includes('Hanako'), 'the first payment is still told');
        same(server.ledger().map((l) => l.recipient), ['Hanako'], 'the ledger');
    });

    test(`${wire}: a gated tool of the browser runs there after the yes, and its result is told`, async (t) => {
        const { server, bodies } = await pair(t, wire);
        for (const door of ['/api/chat', '/stream']) {
            const chat = new Chat(t, server, door);
            chat.onTool = async (c) => { if (c.toolName === 'change_bgm' && chat.tool(c.toolCallId).state === 'input-available') await chat.result(c.toolCallId, { changed: true, track: c.input.track }); };
            await chat.say(BGM);
            same(chat.asked.length, 1, `${door}: it is asked`);
            await chat.answer(chat.asked[0].id, true);
            const last = readBody(wire, (await bodies()).at(-1));
            same(JSON.parse(last.at(-1).results[0].text), { changed: true, track: 1 }, `${door}: the result`);
        }
        const chat = new Chat(t, server, '/api/chat');
        await chat.say(BGM);
        await chat.answer(chat.asked[0].id, false);
        same(JSON.parse(readBody(wire, (await bodies()).at(-1)).at(-1).results[0].text), { error: 'User denied execution', denied: true });
    });

    test(`${wire}: images of the user's messages are sent, and stay in the history`, async (t) => {
        const { server, bodies } = await pair(t, wire);
        const data = 'iVBORw0KGgo=';
        const chat = new Chat(t, server);
        chat.messages.push({ id: 'u1', role: 'user', parts: [{ type: 'file', mediaType: 'image/png', filename: 'a.png', url: `data:image/png;base64,${data}` }, { type: 'text', text: 'What is this?' }] });
        await chat.send();
        await chat.say('Sure?');
        for (const b of await bodies()) same(readBody(wire, b)[0].files, [{ type: 'image/png', data }], 'the picture');
        same(readBody(wire, (await bodies())[0])[0].texts, ['What is this?']);
    });

    test(`${wire}: the closing call after the last round allows no tools`, async (t) => {
        const { server, bodies } = await pair(t, wire, { config: { max_iterations: 3 } });
        const s = sound(await server.turn('{{again}} keep going'));
        const all = await bodies();
        same(all.map(mayCall[wire]), [true, true, true, false], 'calls allowed');
        same(s.of('tool_complete').length, 3, 'rounds');
        check(s.payload.message.split('[[tool:2]]')[1].trim(), 'closing words');
        same(toolNames[wire](all[3]), toolNames[wire](all[0]), 'the tools are still described: the history speaks of them');
    });

    test(`${wire}: a call that does not fit its schema is answered with what is wrong, and nothing runs`, async (t) => {
        const { server, bodies } = await pair(t, wire);
        const s = sound(await server.turn('{{call process_payment {"amount":"much","currency":"USD","recipient":"Hanako"}}}'));
        same(s.of('tool_confirmation').length, 0, 'nobody is asked');
        const result = readBody(wire, (await bodies())[1]).at(-1).results[0];
        check(/amount/.test(result.text), `what is wrong: ${result.text}`);
        same(server.ledger(), []);
    });
}

test('anthropic: cache marks stand on the system prompt and the last block, never more than four', async (t) => {
    const { server, bodies } = await pair(t, 'anthropic');
    const s = await server.turn(SEARCH);
    await server.turn('Go on', { thread_id: s.thread });
    for (const b of await bodies()) {
        same(b.system.at(-1).cache_control, { type: 'ephemeral' }, 'on the system prompt');
        same(b.messages.at(-1).content.at(-1).cache_control, { type: 'ephemeral' }, 'on the last block');
        check(JSON.stringify(b).split('"cache_control"').length - 1 <= 4, 'at most four');
    }
    const all = await bodies();
    same(JSON.stringify(all[0].tools), JSON.stringify(all[2].tools), 'tools are spelled the same each time');
});

test('every model attempt is one line in the log: model, status, first byte, tokens; no key, no words', async (t) => {
    for (const wire of WIRES) {
        const { server } = await pair(t, wire, { model: { retries: 1 } });
        await server.turn('hello, log');
        await server.turn('{{scenario:429}} limited');
        await server.turn('{{scenario:cut}} cut');
        const lines = await until(() => { const l = server.log.filter((x) => x.event.startsWith('model.')); return l.length >= 4 && l; }, 'four lines');
        same(lines.map((l) => [l.event, l.status, l.attempt]), [['model.answered', 200, 1], ['model.retry', 429, 1], ['model.failed', 429, 2], ['model.failed', 200, 1]], `${wire}: attempts`);
        for (const l of lines) {
            same([l.provider, l.request], [wire, 'req_1'], 'who and which request');
            check(l.first_byte_ms >= 0 && l.ms >= l.first_byte_ms, `times: ${JSON.stringify(l)}`);
        }
        same([lines[0].input_tokens, lines[0].output_tokens].map(Number), [20, 12], 'tokens');
        check(!server.err.includes('hello, log') && !server.err.includes('You said'), 'no words of the conversation');
        await keepsSecrets(server);
    }
});

test('per page model and prompt, and a list of models of which the next answers', async (t) => {
    const up = await startUpstream(t);
    const models = { broken: up.model('anthropic', { model: 'sc-500-no', retries: 0 }), spare: up.model('gemini'), other: up.model('openai', { model: 'other' }) };
    const server = await serveModel(t, up, 'anthropic', { config: { models, model: ['broken', 'spare'], pages: { shop: { model: 'other', system: 'You sell.' } } } });
    const s = sound(await server.turn(`{{think}} ${SEARCH}`));
    check(s.payload.message.includes('The tools said'), 'the spare answers');
    await server.turn('second', { thread_id: s.thread });
    const first = await up.requests();
    same(first.map((r) => (r.path.includes('/messages') ? 'anthropic' : 'gemini')), ['anthropic', 'gemini', 'gemini', 'gemini'], 'who was asked: the broken one is passed over for a while');
    for (const r of first) soundBodyOf(r);
    await up.forget();
    const shop = sound(await server.turn('a page', { page: 'shop' }));
    const [one] = await up.requests();
    same([one.path, one.body.model, systemOf.openai(one.body)], ['/v1/chat/completions', 'other', 'You sell.']);
    check(shop.payload.message.startsWith('You said'), 'it answers');
    same(up.err, '', 'bodies the real service would refuse');
    const lines = await until(() => { const l = server.log.filter((x) => x.event === 'model.fallback'); return l.length >= 3 && l; }, 'three lines');
    same(lines.map((l) => [l.model, l.why, l.next]), [['fallback', 'model_error', 'spare'], ['fallback', 'model_away', 'spare'], ['fallback', 'model_away', 'spare']]);
});

// --- what a failure says, and to whom ---------------------------------------------------------

test('people are never told a host or port; the log names it, and what the service said about a request it refused, without keys', async (t) => {
    const up = await startUpstream(t), where = `127.0.0.1:${up.port}`;
    for (const wire of WIRES) {
        const server = await serveModel(t, up, wire);
        for (const fault of ['400', '401', '404', '429', '500', 'html', 'redirect', 'gzip', 'drop', 'quota']) {
            const s = await server.turn(`{{scenario:${fault}}} x`), e = s.events.at(-1).data;
            same(e.type, 'error', fault);
            check(!s.text.includes('127.0.0.1') && !s.text.includes(String(up.port)), `${wire} ${fault}: ${e.message}`);
        }
        const lines = await until(() => { const l = server.log.filter((x) => x.event === 'model.failed'); return l.length >= 10 && l; }, 'the lines');
        same([...new Set(lines.map((l) => l.host))], [where], 'the log names it');
        const refused = server.log.find((l) => l.event === 'model.refused');
        check(Number(refused.status) === 400 && refused.body.includes("the provider's own words") && refused.host === where, JSON.stringify(refused));
        check(!server.err.includes('sk-secret') && !server.err.includes(KEY), 'no key in the log');
    }
});

test('an answer that is stopped before the service counted it is charged by what was said', async (t) => {
    for (const wire of WIRES) {
        const up = await startUpstream(t), server = await serveModel(t, up, wire, { config: { limits: { per_principal: { tokens_per_day: 25 } } } });
        const s = await server.say(`{{scenario:stall-late}} ${'many words '.repeat(20)}`);
        await s.must((e) => e.data?.type === 'text_delta' && e.data.text.includes('Half'));
        same((await server.post(`/v1/threads/${s.thread}/stop`)).json.stopped, true);
        await s.read();
        const line = await until(() => server.log.find((l) => l.event === 'model.cancelled'), 'the line');
        same([line.counted_by, line.output_tokens >= 2, line.input_tokens >= 20], ['estimate', true, true], JSON.stringify(line));
        if (wire !== 'openai') continue;                    /* the others count what they read at once: 20 */
        same((await server.post('/v1/chat/stream', { message: 'more' })).status, 429, 'the budget of the day is used up');
    }
});

test('calls beyond the limit of a model wait, a gauge and a line in the log tell of it', async (t) => {
    oneProcess('each keeps to the limit of a model for itself');
    const up = await startUpstream(t), server = await serveModel(t, up, 'openai', { model: { concurrent: 1 } });
    const first = await server.say('{{scenario:stall-late}} hello');
    await first.must((e) => e.data?.type === 'text_delta');
    const second = await server.say('me too');
    await until(async () => /parley_model_calls_waiting\{model="default"\} 1/.test((await server.get('/metrics')).text), 'one to wait');
    check(/parley_model_calls\{model="default"\} 1/.test((await server.get('/metrics')).text), 'one is answered');
    same((await up.requests()).length, 1, 'requests');
    await server.post(`/v1/threads/${first.thread}/stop`);
    await first.read();
    same(sound(await second.read()).payload.message, 'You said: me too');
    check(server.log.some((l) => l.event === 'model.limit' && l.model === 'default'), 'a line in the log');
});

// --- a thread stays usable, whatever is in it -----------------------------------------------

const file = (filename, mediaType, url) => ({ type: 'file', mediaType, filename, url });
const PNG = 'iVBORw0KGgo=', POISON = 'iVBORw0KGgpwb2lzb24=';

for (const wire of WIRES) {
    test(`${wire}: files nobody takes and texts of blanks are named or left out, and the thread goes on`, async (t) => {
        const { server, bodies } = await pair(t, wire);
        const chat = new Chat(t, server);
        chat.messages.push({ id: 'u1', role: 'user', parts: [file('a.svg', 'image/svg+xml', 'data:image/svg+xml;base64,PHN2Zy8+'), file('b.zip', 'application/zip', 'data:application/zip;base64,UEsDBA=='),
            file('c.png', 'image/png', 'blob:http://127.0.0.1/1'), file('d.png', 'image/png', 'data:image/png;base64,not-base64'), file('e.png', 'image/png', `data:image/png;base64,${PNG}`), { type: 'text', text: ' \u00a0 ' }] });
        await chat.send();
        await chat.say('And \ud800 now?');
        const all = await bodies(), read = readBody(wire, all.at(-1));
        same(all.length, 2, 'requests');
        same(read[0].files, [{ type: 'image/png', data: PNG }], 'what can be shown');
        for (const name of ['a.svg', 'b.zip', 'c.png', 'd.png']) check(read[0].texts.some((x) => x.includes(name)), `${name} is named: ${JSON.stringify(read[0].texts)}`);
        check(chat.messages.at(-1).parts.some((p) => p.text?.startsWith('You said: And')), JSON.stringify(chat.messages.at(-1)));
    });

    test(`${wire}: a turn the service refuses ends in words, is not repeated, and the next message works`, async (t) => {
        const up = await startUpstream(t), server = await serveModel(t, up, wire, { model: { retries: 2 } });
        const chat = new Chat(t, server);
        chat.messages.push({ id: 'u1', role: 'user', parts: [file('p.png', 'image/png', `data:image/png;base64,${POISON}`), { type: 'text', text: 'Look' }] });
        await chat.send().catch(() => {});
        const thread = await settled(server, chat.id);
        same(thread.messages.at(-1).metadata.error.code, 'model_refused');
        same((await up.requests()).length, 1, 'a refusal is not repeated');
        const s = sound(await server.turn('Hello?', { thread_id: chat.id }));
        check(s.payload.message.includes('Hello?'), s.payload.message);
        const read = readBody(wire, (await up.requests()).at(-1).body);
        check(read[0].texts.some((x) => x.includes('p.png')) && !JSON.stringify(read).includes(POISON), `named, not sent: ${JSON.stringify(read)}`);
        sound(await server.turn('And again', { thread_id: chat.id }));
        same((await up.requests()).length, 3);
    });
}

for (const wire of WIRES) {
    test(`${wire}: no tool's schema takes down the chat, and our own check keeps the original`, async (t) => {
        const tool = (input_schema, more) => ({ description: 'Does it.', input_schema, client: true, ...more });
        const tools = {
            '3d.render': tool({ anyOf: [{ type: 'object', properties: { file: { type: 'string' } }, required: ['file'] }, { type: 'object', properties: { url: { type: 'string', format: 'uri' } }, required: ['url'] }] }),
            nothing: tool({}), bare: tool({ type: 'object' }, { description: 'long '.repeat(1000) }),
            referred: tool({ $ref: '#/$defs/A', $defs: { A: { type: 'object', properties: { n: { $ref: '#/$defs/N' }, list: { type: 'array' } }, required: ['n', 'ghost'] }, N: { type: 'integer', exclusiveMinimum: 0 } } }),
        };
        const { server, bodies } = await pair(t, wire, { config: { tools } });
        const s = sound(await server.turn('{{call _3d_render {"neither":1}}}'));
        const all = await bodies();
        check(toolNames[wire](all[0]).includes('_3d_render'), `${toolNames[wire](all[0])}`);
        const result = readBody(wire, all[1]).at(-1).results[0];
        check(/file|url|anyOf|fit/i.test(result.text), `the original still holds: ${result.text}`);
        same(s.of('tool_start').length, 0, 'nothing ran');
    });
}

test('gemini: a call made by a button, or by another model of the list, has no signature and is told in words', async (t) => {
    const up = await startUpstream(t), server = await serveModel(t, up, 'gemini', { config: { actions: { weather: { tool: 'get_weather' } } } });
    const s = sound(await server.turn('hello'));
    same((await server.post(`/v1/threads/${s.thread}/actions`, { action: 'weather', data: { city: 'Oslo' } })).status, 202);
    const thread = await settled(server, s.thread);
    check(JSON.stringify(thread.messages.at(-1)).includes('(The tool get_weather was called with'), JSON.stringify(thread.messages.at(-1)));
    sound(await server.turn('Thanks', { thread_id: s.thread }));
    same((await up.requests()).length, 3);

    const models = { first: up.model('anthropic', { retries: 0 }), spare: up.model('gemini') };
    const two = await serveModel(t, up, 'anthropic', { config: { models, model: ['first', 'spare'] } });
    const r = sound(await two.turn(`${SEARCH} {{then:500-no-once}}`));
    check(r.payload.message.includes('The tool browser_search was called'), r.payload.message);
    same(up.err, '', 'bodies the real service would refuse');
});

// After a change of provider ids and signatures of the other one must not be shown.
function soundBodyOf({ path, body }) {
    const wire = path.includes('/messages') ? 'anthropic' : 'gemini', messages = readBody(wire, body);
    messages.forEach((m, i) => { if (m.results.length) same(m.results.map((r) => r.id), messages[i - 1].calls.map((c) => c.id), 'results follow their calls'); });
    if (wire === 'anthropic') check(!JSON.stringify(body).includes('c2lnLWc='), 'no foreign signatures');
    else for (const m of messages) if (m.calls.length) same(m.calls[0].signature, 'c2lnLWc=', 'its own signature, also inside a list');
}

test('a fallback does not follow when words were told already', async (t) => {
    const up = await startUpstream(t);
    const models = { cut: up.model('openai', { model: 'sc-cut' }), spare: up.model('openai') };
    const server = await serveModel(t, up, 'openai', { config: { models, model: ['cut', 'spare'] } });
    const s = await server.turn('hello');
    same([s.words, s.events.at(-1).data.type, s.events.at(-1).data.code], ['Half an', 'error', 'model_cut']);
    same((await up.requests()).length, 1, 'requests');
});

test('the environment picks the provider, and serve says which and why, without the key', async (t) => {
    const up = await startUpstream(t);
    const env = { anthropic: ['ANTHROPIC', ''], gemini: ['GEMINI', '/v1beta'], openai: ['OPENAI', '/v1'] };
    for (const wire of WIRES) {
        const [name, base] = env[wire], key = 'sk-from-the-environment';
        const server = await t.serve({ env: { [`${name}_API_KEY`]: key, [`${name}_BASE_URL`]: `http://127.0.0.1:${up.port}${base}`, [`${name}_MODEL`]: 'picked' } });
        const line = server.out.split('\n').find((l) => l.startsWith('  model'));
        check(line.includes(wire) && line.includes('picked') && line.includes(`because ${name}_API_KEY is set`), line);
        const s = sound(await server.turn('hello'));
        check(s.payload.message.startsWith('You said: hello'), s.payload.message);
        const [r] = await up.requests();
        check(r.key.includes(key) && (r.body.model === 'picked' || r.path.includes('/picked:')), JSON.stringify(r).slice(0, 300));
        check(!server.out.includes(key) && !server.err.includes(key), 'the key is nowhere');
        await up.forget();
    }
    const local = await t.serve({ env: { OPENAI_BASE_URL: `http://127.0.0.1:${up.port}/v1` } });
    check(/because OPENAI_BASE_URL is set/.test(local.out), local.out);
    same((await t.serve()).out.includes('demo'), true, 'none of them: the demo');
});
