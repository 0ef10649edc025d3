// /v1/conversations: they are threads, and what a client keeps beside one (metadata).
import { check, oneProcess, parley, same, test } from './lib.mjs';
import { asksOf, callsOf, respond, sound } from './openai.mjs';

const PAY = 'Send 50 dollars to Hanako';

test('a conversation begins empty, and says so to who would bring it words', async (t) => {
    const server = await t.serve(), words = [{ type: 'message', role: 'user', content: 'My dog is called Rex.' }];
    const made = (body) => server.post('/v1/conversations', body).then((r) => [r.status, r.json.error?.code, r.json.error?.param ?? null]);
    same(await made({ items: words }), [400, 'unsupported_parameter', 'items']);
    same(await made({ items: 'x' }), [400, 'unsupported_parameter', 'items']);
    for (const metadata of [5, { a: 1 }]) same(await made({ metadata }), [400, 'invalid_type', 'metadata']);
    for (const body of ['no json', '[1]', '{']) same(await made(body), [400, 'bad_json', null]);
    for (const body of [undefined, {}, { items: [], metadata: { topic: 'demo' } }]) same((await made(body))[0], 200);
});

test('conversations are threads', async (t) => {
    const server = await t.serve();
    const made = (await server.post('/v1/conversations', {})).json;
    same(made.object, 'conversation');
    const a = await respond(server, { conversation: made.id, input: 'Hello' });
    const b = await respond(server, { conversation: { id: made.id }, input: 'Thanks' });
    same([a.conversation.id, b.conversation.id], [made.id, made.id]);
    same((await server.get(`/v1/conversations/${made.id}`)).json.id, made.id);
    same((await server.request('DELETE', `/v1/conversations/${made.id}`)).json.deleted, true);
    same((await server.get(`/v1/conversations/${made.id}`)).json.error.code, 'conversation_not_found');
});

test('what a client keeps beside a conversation stays until it is changed', async (t) => {
    const server = await t.serve(), topic = { topic: 'demo', 'who "is" it': '花子\n' };
    const told = (r) => [r.status, r.json.object, r.json.id, r.json.metadata];
    const made = (await server.post('/v1/conversations', { metadata: topic })).json, at = `/v1/conversations/${made.id}`;
    const is = (metadata) => [200, 'conversation', made.id, metadata];
    same(made.metadata, topic);
    await respond(server, { conversation: made.id, input: 'Hello' });
    await server.restart('SIGKILL');
    const kept = await server.get(at);
    same([told(kept), kept.json.created_at], [is(topic), made.created_at], 'also over a crash');
    same(told(await server.post(at, { metadata: { other: 'x' } })), is({ other: 'x' }), 'all of them anew');
    same(told(await server.post(at, { metadata: null })), is({}));
    const most = Object.fromEntries([...Array(16).keys()].map((i) => [String(i).padStart(2, '0') + '花'.repeat(62), '花'.repeat(512)]));
    same(told(await server.post(at, { metadata: most })), is(most), 'characters are counted');
    await server.restart('SIGKILL');
    same(told(await server.get(at)), is(most));
    const many = Array.from({ length: 20 }, (_, i) => ({ n: String(i) }));
    same((await Promise.all(many.map((metadata) => server.post(at, { metadata })))).map(told), many.map(is), 'each is told its own');
    same(told(await server.post(at, { metadata: most })), is(most));
    const refused = (r) => [r.status, r.json.error.code, r.json.error.param];
    for (const metadata of [{ ...most, more: 'x' }, { ['k'.repeat(65)]: '' }, { k: 'v'.repeat(513) }])
        same(refused(await server.post(at, { metadata })), [400, 'invalid_value', 'metadata']);
    same(refused(await server.post(at, { metadata: { k: 1 } })), [400, 'invalid_type', 'metadata']);
    same(refused(await server.post(at, {})), [400, 'missing_required_parameter', 'metadata']);
    same(refused(await server.post(at, '[]')), [400, 'bad_json', null]);
    for (const none of ['t_0123456789012345678901', 'no%20id']) same(refused(await server.post(`/v1/conversations/${none}`, { metadata: {} })), [404, 'conversation_not_found', null]);
    same(told(await server.get(at)), is(most), 'a refusal changes nothing');
    same((await server.request('DELETE', at)).json.deleted, true);
    same((await server.post(at, { metadata: {} })).status, 404, 'it went with its conversation');
});

test('what was kept beside a conversation is in the record, and goes with it', async (t) => {
    oneProcess('the command reads the file of its store');
    const server = await t.serve(), { id } = (await server.post('/v1/conversations', { metadata: { topic: 'a-mark' } })).json;
    const exported = async () => (await parley(['audit', 'export', '--store', server.db], { cwd: t.folder() })).out;
    check(/"kind":"labelled"/.test(await exported()) && (await exported()).includes('a-mark'), await exported());
    same((await server.request('DELETE', `/v1/conversations/${id}`)).status, 200);
    check(!(await exported()).includes('a-mark'), 'its stub says nothing of it');
});

test('what a client keeps beside a conversation is told in no answer, and changes no place in one', async (t) => {
    const server = await t.serve({ config: { demo: { token_ms: 5 } } }), at = `/v1/conversations/${(await server.post('/v1/conversations', {})).json.id}`;
    const keep = (metadata) => server.post(at, { metadata }).then((r) => same([r.status, r.json.metadata], [200, metadata]));
    const s = await server.open('POST', '/v1/responses', { conversation: at.split('/').at(-1), input: 'Tell me a story', stream: true });
    for (let i = 0; i < 3; i++) { await s.must('response.output_text.delta'); await keep({ n: `mark-${i}` }); }
    await s.read();
    const told = sound(s.events), again = await server.open('GET', `/v1/responses/${told.id}?stream=true`);
    await again.read();
    same(sound(again.events).output, told.output);
    const asked = await respond(server, { previous_response_id: told.id, input: PAY });
    await keep({ n: 'mark-4' });
    same(asksOf((await server.get(`/v1/responses/${asked.id}`)).json).map((q) => q.id), asksOf(asked).map((q) => q.id), 'the question is still one');
    same(callsOf(await respond(server, { input: [{ type: 'mcp_approval_response', approval_request_id: asksOf(asked)[0].id, approve: true }] })).map((c) => c.status), ['completed']);
    same(server.ledger().length, 1);
    check(!JSON.stringify((await server.get(`/v1/threads/${told.conversation.id}`)).json).includes('mark-'), 'it is no part of what was said');
});
