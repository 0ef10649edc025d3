// What a tool at work asks is a form: only what fills it in answers it.
import path from 'node:path';
import { ROOT, check, listed, same, test } from './lib.mjs';
import { as, auth, decide, say, script, still } from './org.mjs';

// Somebody's call of a tool that asks for this form; {server, said}, and what the model heard in the end.
async function asked(t, schema) {
    const model = await script(t, [['asking__ask', { amount: 12 }]], 'ok');
    const asking = { command: process.execPath, args: [path.join(ROOT, 'test/mcp/asking.mjs')], confirm: 'never', ...(schema && { env: { ASK_SCHEMA: JSON.stringify(schema) } }) };
    const server = await t.serve({ config: { demo: { tools: false }, actions: {}, model: model.model, auth: auth({ ada: ['user'] }), mcpServers: { asking } } });
    await listed(server, (tools) => tools.some((x) => x.name === 'asking__ask'), as('ada'));
    const said = await say(server, 'ada', 'go');
    const answer = (payload) => decide(server, 'ada', said.ids[0], true, payload === undefined ? {} : { payload });
    return { answer, heard: async () => { await still(server, 'ada', said.thread); return JSON.stringify(model.heard.at(-1).messages.at(-1)); } };
}

test('a bare yes does not fill in a form that insists on something', async (t) => {
    const { answer, heard } = await asked(t);
    for (const payload of [undefined, null, {}, { account: 7, sure: true }])
        same((await answer(payload)).json.error?.code, 'malformed_answer', JSON.stringify(payload));
    same((await answer({ account: 'main', sure: true })).status, 200);
    check((await heard()).includes('main'), 'what was filled in reaches the tool');
});

test('nor one that insists on nothing: who leaves it empty says so', async (t) => {
    const { answer, heard } = await asked(t, { type: 'object', properties: { pin: { type: 'string' }, approved: { type: 'boolean' } } });
    for (const payload of [undefined, null]) same((await answer(payload)).json.error?.code, 'malformed_answer', JSON.stringify(payload));
    same((await answer({})).status, 200);
    check(/accept \{\}/.test(await heard()), 'an empty form');
});

test('a question without anything to fill in is answered by a yes', async (t) => {
    const { answer, heard } = await asked(t, { type: 'object', properties: {} });
    same((await answer()).status, 200);
    check(/accept/.test(await heard()), 'a yes');
});
