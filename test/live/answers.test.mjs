// How a model is to speak: options for every wire, answers that have a form, reply tools that are switched off, and a dead
// model that is passed over.
import fs from 'node:fs';
import path from 'node:path';
import { check, oneProcess, parley, same, settled, test, until } from './lib.mjs';
import { WIRES, readBody, serveModel, startUpstream, systemOf, toolNames } from './upstream.mjs';

const end = (s) => s.events.at(-1).data;

test('temperature and the like reach every provider under its own names', async (t) => {
    const up = await startUpstream(t);
    const said = {
        anthropic: [{ stop: ['END'], options: { metadata: { user_id: 'u' } } }, (b) => [b.stop_sequences, b.metadata.user_id], [['END'], 'u']],
        openai: [{ temperature: 0, top_p: 1, seed: 7, stop: ['END'], options: { presence_penalty: 0.5 } }, (b) => [b.temperature, b.top_p, b.seed, b.stop, b.presence_penalty], [0, 1, 7, ['END'], 0.5]],
        gemini: [{ temperature: 1.5, top_p: 0.9, top_k: 40, seed: 7, stop: ['END'], options: { generationConfig: { candidateCount: 1 }, labels: { team: 'a' } } }, (b) => [b.generationConfig.temperature, b.generationConfig.topP, b.generationConfig.topK, b.generationConfig.seed, b.generationConfig.stopSequences, b.generationConfig.candidateCount, b.labels], [1.5, 0.9, 40, 7, ['END'], 1, { team: 'a' }]],
    };
    for (const wire of WIRES) {
        await up.forget();
        const [model, read, want] = said[wire];
        const server = await serveModel(t, up, wire, { model, config: { demo: { tools: false }, actions: {} } });
        same(end(await server.turn('hi')).type, 'complete', wire);
        same(read((await up.requests())[0].body), want, wire);
    }
});

test('what a provider does not have is said before the start', async (t) => {
    const dir = t.folder(), file = path.join(dir, 'p.json');
    const model = (provider, more) => ({ model: { provider, base_url: 'http://127.0.0.1:1', ...more } });
    for (const [config, why] of [
        [model('anthropic', { temperature: 1 }), /since its later versions/], [model('anthropic', { seed: 1 }), /have no "seed"/], [model('openai', { top_k: 1 }), /have no "top_k"/],
        [model('openai', { temperature: 3 }), /between 0 and 2/], [model('openai', { temperature: 1, options: { temperature: 2 } }), /say it once/],
        [{ reply_tools: ['suggest'] }, /none of suggest_replies, suggest_actions and present/],
    ]) {
        fs.writeFileSync(file, JSON.stringify(config));
        const r = await parley(['check', '--config', file], { cwd: dir });
        check(r.code === 1 && why.test(r.err), `${JSON.stringify(config)}: ${r.err}`);
    }
    fs.writeFileSync(file, JSON.stringify(model('anthropic', { version: '2023-06-01', temperature: 1, top_p: 0.5, top_k: 4 })));
    same((await parley(['check', '--config', file], { cwd: dir })).code, 0, 'a version that still has it');
});

test('reply tools are there, some of them, or none', async (t) => {
    const up = await startUpstream(t);
    for (const [reply_tools, want] of [[undefined, ['suggest_replies', 'suggest_actions']], [['suggest_replies'], ['suggest_replies']], [[], []]]) {
        await up.forget();
        const server = await serveModel(t, up, 'openai', { config: { demo: { tools: false }, actions: {}, reply_tools } });
        await server.turn('hi');
        same(toolNames.openai((await up.requests())[0].body), want);
    }
});

// The service says "You said: …", which is no JSON; {{call}} makes nothing of it. What fits is asked for by a schema of text.
const FORM = { type: 'object', properties: { total: { type: 'number' } }, required: ['total'] };

test('an answer that fits the page\'s schema is the payload, whatever is around it', async (t) => {
    const up = await startUpstream(t);
    const server = await serveModel(t, up, 'openai', { config: { demo: { tools: false }, actions: {}, pages: { form: { answer_schema: FORM } } } });
    const s = await server.turn('{{say ```json\n{"total": 3}\n```}}', { page: 'form' });
    same(end(s).type, 'complete', s.text);
    same(s.payload.custom_payload, { type: 'answer', data: { total: 3 } });
    const [{ body }] = await up.requests();
    check(systemOf.openai(body).endsWith(JSON.stringify(FORM)), 'the model knows the schema');
    same(toolNames.openai(body), [], 'and has nothing to put beside the answer');
});

test('one that does not fit is asked for once more, with what is wrong; then it ends in words', async (t) => {
    const up = await startUpstream(t);
    const server = await serveModel(t, up, 'openai', { config: { demo: { tools: false }, actions: {}, pages: { form: { answer_schema: FORM } } } });
    const s = await server.turn('{{say {"total": "three"}}}{{then-say {"total": 3}}}', { page: 'form' });
    same([end(s).type, s.payload?.custom_payload], ['complete', { type: 'answer', data: { total: 3 } }], s.text);
    const bodies = (await up.requests()).map((r) => readBody('openai', r.body));
    same(bodies.length, 2);
    check(/does not fit the schema: .*total/.test(bodies[1].at(-1).texts.at(-1)), JSON.stringify(bodies[1].at(-1)));
    const no = end(await server.turn('hi', { page: 'form' }));
    same([no.type, no.code], ['error', 'answer_misfit']);
    same((await up.requests()).length, 4, 'asked twice, not for ever');
    await server.restart('SIGKILL');
    same((await settled(server, s.thread)).messages.at(-1).metadata.outcome, 'complete');
});

test('a dead first model is passed over for a while', async (t) => {
    oneProcess('each node finds out for itself which model is away');
    const up = await startUpstream(t);
    const server = await serveModel(t, up, 'openai', { model: undefined, config: { demo: { tools: false }, actions: {}, model: ['dead', 'good'], models: { dead: { provider: 'openai', base_url: 'http://127.0.0.1:1/v1', retries: 0 }, good: up.model('openai', { retries: 0 }) } } });
    for (let i = 0; i < 4; i++) same(end(await server.turn('hi')).type, 'complete');
    const why = await until(() => { const lines = server.log.filter((l) => l.event === 'model.fallback'); return lines.length === 4 && lines.map((l) => l.why); }, 'the log to say it four times');
    check(why.filter((w) => w === 'model_away').length >= 2, `it is tried at first, then not: ${why}`);
});
