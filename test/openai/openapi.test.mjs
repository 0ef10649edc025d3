// docs/openapi.json against the server: every door of its table is documented or listed with a reason, every
// documented one answers as the document says, and with nothing that it does not say.
import fs from 'node:fs';
import path from 'node:path';
import Ajv from 'ajv/dist/2020.js';
import { ROOT, check, same, settled, test, until } from '../live/lib.mjs';
import { as, auth, bank, payments, say } from '../live/org.mjs';

const spec = JSON.parse(fs.readFileSync(path.join(ROOT, 'docs/openapi.json'), 'utf8'));
const METHODS = ['get', 'post', 'put', 'patch', 'delete'];
const shape = (at) => at.replace(/\{[^}]*\}/g, '{}');
const operations = Object.entries(spec.paths).flatMap(([at, item]) => METHODS.filter((m) => item[m]).map((m) => ({ door: `${m.toUpperCase()} ${shape(at)}`, at, ...item[m] })));
const routes = [...fs.readFileSync(path.join(ROOT, 'src/door/routes.c'), 'utf8').matchAll(/^ {4}\{ "([A-Z*]+)", "([^"]+)"/gm)].map(([, method, at]) => `${method} ${shape(at)}`);

// Clients pass over members they do not know; the document may not leave one out, so here objects are closed.
function closed(schema) {
    if (Array.isArray(schema)) return schema.map(closed);
    if (schema === null || typeof schema !== 'object') return schema;
    const out = Object.fromEntries(Object.entries(schema).map(([k, v]) => [k, k === 'properties' ? Object.fromEntries(Object.entries(v).map(([n, s]) => [n, closed(s)])) : closed(v)]));
    return out.properties && out.additionalProperties === undefined ? { ...out, additionalProperties: false } : out;
}
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const ajv = new Ajv({ allErrors: true, strict: false, discriminator: true, formats: { 'date-time': TIME, date: /^\d{4}-\d\d-\d\d$/ } });
ajv.addSchema({ $id: 'parley:doc', components: closed({ schemas: spec.components.schemas }) });
function fits(schema, value, what) {
    const validate = ajv.compile(JSON.parse(JSON.stringify(closed(schema)).replaceAll('"#/components/', '"parley:doc#/components/')));
    check(validate(value), `${what}: ${ajv.errorsText(validate.errors)}\n${JSON.stringify(value).slice(0, 1500)}`);
}

// Doors as the document names them; each notes that it was there and what it was answered.
class Caller {
    seen = new Set();
    operation(method, template) {
        const found = operations.find((o) => o.door === `${method} ${shape(template)}`);
        check(found, `${method} ${template} is documented`);
        return found;
    }
    answered(o, r, content, value) {
        const documented = o.responses[r.status] ?? (r.status >= 400 ? spec.components.responses.Error : undefined);
        check(documented, `${o.door} answers ${r.status}: ${r.text}`);
        if (r.status < 400) this.seen.add(o.door);
        if (!documented.content) { same(r.text, '', `${o.door} has no body`); return; }
        const schema = documented.content[content]?.schema;
        check(schema, `${o.door} answers ${r.status} with ${content}`);
        fits(schema, value, `${o.door} ${r.status}`);
    }
    async ask(server, method, template, names = [], body, headers) {
        const o = this.operation(method, template.split('?')[0]);
        if (body !== undefined && o.requestBody) fits(o.requestBody.content['application/json'].schema, body, `what ${o.door} is sent`);
        let i = 0;
        const r = await server.request(method, template.replace(/\{[^}]*\}/g, () => encodeURIComponent(names[i++])), body, headers);
        this.answered(o, r, (r.headers['content-type'] ?? '').split(';')[0], r.json ?? r.text);
        return r;
    }
    stream(method, template, s) {
        const o = this.operation(method, template);
        for (const e of s.events) this.answered(o, { status: s.status, text: e.raw }, s.headers['content-type'].split(';')[0], e.data);
    }
}

test('every door is in docs/openapi.json, or listed there with a reason', async () => {
    const documented = new Set(operations.map((o) => o.door)), elsewhere = spec['x-elsewhere'].flatMap((x) => x.doors);
    const listed = (door) => elsewhere.some((e) => e === door || (e.startsWith('/') && (door.split(' ')[1] === e || door.split(' ')[1].startsWith(e.endsWith('/') ? e : `${e}/`))));
    check(routes.length > 60, `routes are found: ${routes.length}`);
    same(routes.filter((door) => !documented.has(door) && !listed(door)), [], 'doors nobody wrote down');
    same(routes.filter((door) => documented.has(door) && listed(door)), [], 'doors that are in both');
    same([...documented].filter((door) => !routes.includes(door)), [], 'documented doors that do not exist');
    same(elsewhere.filter((e) => !routes.some((door) => e === door || (e.startsWith('/') && door.split(' ')[1].startsWith(e)))), [], 'listed doors that do not exist');
});

test('the document holds together and is served', async (t) => {
    same(spec.openapi, '3.1.0');
    same(spec.info.version, /version: '([^']+)'/.exec(fs.readFileSync(path.join(ROOT, 'meson.build'), 'utf8'))[1]);
    const ids = operations.map((o) => o.operationId);
    same(new Set(ids).size, ids.length, 'operation ids');
    for (const o of operations) {
        const named = [...o.at.matchAll(/\{([^}]+)\}/g)].map((m) => m[1]), params = (o.parameters ?? []).filter((p) => p.in === 'path').map((p) => p.name);
        same(params, named, `the path's parameters of ${o.operationId}`);
    }
    for (const [, ref] of JSON.stringify(spec).matchAll(/"\$ref":"#([^"]+)"/g)) check(ref.slice(1).split('/').reduce((at, key) => at?.[key], spec), `${ref} is there`);
    const server = await t.serve(), r = await server.get('/openapi.json');
    same([r.status, r.headers['content-type']], [200, 'application/json']);
    same(r.json, spec);
});

test('every documented door answers as the document says', async (t) => {
    const api = new Caller();
    await conversations(t, api);
    await organisation(t, api);
    await tools(t, api);
    same(operations.map((o) => o.door).filter((door) => !api.seen.has(door)), [], 'documented and never tried');
});

async function conversations(t, api) {
    const server = await t.serve({ config: { page: { share: 'anyone' }, budgets: [{ for: 'principal', tokens: { soft: 1e9, hard: 2e9 } }] } });
    for (const at of ['/healthz', '/readyz', '/metrics', '/v1/page', '/v1/session', '/v1/usage', '/v1/tools', '/v1/grants']) await api.ask(server, 'GET', at);
    await api.ask(server, 'POST', '/v1/session', [], {});
    await api.ask(server, 'DELETE', '/v1/session');
    const made = (await api.ask(server, 'POST', '/v1/threads', [], { title: 'Plans' })).json.id;
    await api.ask(server, 'PATCH', '/v1/threads/{thread}', [made], { title: 'Other plans' });
    api.stream('POST', '/v1/chat/stream', await server.turn('Find articles about CRISPR', { thread_id: made, reasoning: true }));
    const asked = await server.turn('Send 50 dollars to Hanako');
    api.stream('POST', '/v1/chat/stream', asked);
    const [id] = asked.payload.awaiting;
    await api.ask(server, 'GET', '/v1/threads/{thread}', [asked.thread]);
    await api.ask(server, 'GET', '/v1/approvals/{id}/context', [id]);
    await api.ask(server, 'GET', '/v1/approvals/{id}', [id]);
    const inbox = await server.open('GET', '/v1/approvals/events?after=0');
    await api.ask(server, 'POST', '/v1/approvals/{id}', [id], { confirmed: true });
    await api.ask(server, 'POST', '/v1/approvals/{id}', [id], { confirmed: false });
    await inbox.must((e) => e.data?.event === 'decided');
    await inbox.close();
    api.stream('GET', '/v1/approvals/events', inbox);
    await settled(server, asked.thread);
    const all = await server.events(asked.thread);
    await all.must((e) => e.data?.type === 'complete' && !e.data.payload.awaiting);
    await all.close();
    api.stream('GET', '/v1/threads/{thread}/events', all);
    for (const query of ['', '?search=send&in=all', '?all=true', '?limit=1']) await api.ask(server, 'GET', `/v1/threads${query}`);
    for (const query of ['', '?status=pending', '?all=true']) await api.ask(server, 'GET', `/v1/approvals${query}`);
    const token = (await api.ask(server, 'POST', '/v1/threads/{thread}/share', [asked.thread])).json.path.split('/').at(-1);
    await api.ask(server, 'GET', '/v1/threads/{thread}/share', [asked.thread]);
    await api.ask(server, 'GET', '/v1/shared/{token}', [token]);
    await api.ask(server, 'DELETE', '/v1/threads/{thread}/share', [asked.thread]);
    await api.ask(server, 'GET', '/v1/shared/{token}', [token]);
    await api.ask(server, 'POST', '/v1/threads/{thread}/actions', [made], { action: 'apply_schema', data: { schema: 'orders' } });
    await api.ask(server, 'POST', '/v1/threads/{thread}/actions', [made], { action: 'nothing' });
    await settled(server, made);
    await api.ask(server, 'GET', '/v1/threads/{thread}?limit=2', [made]);
    for (const query of ['', '?step=1', '?step=99']) await api.ask(server, 'GET', `/v1/threads/{thread}/trace${query}`, [asked.thread]);
    await api.ask(server, 'POST', '/v1/threads/{thread}/stop', [made]);
    const where = await server.turn('Where am I?'), call = where.of('tool_confirmation')[0].tool_use_id;
    await api.ask(server, 'POST', '/v1/approvals/{id}', [where.payload.awaiting[0]], { confirmed: true });
    await api.ask(server, 'POST', '/v1/threads/{thread}/results/{call}/claim', [where.thread, call], { client: 'one' });
    await api.ask(server, 'POST', '/v1/threads/{thread}/results/{call}/claim', [where.thread, call], { client: 'two' });
    await api.ask(server, 'POST', '/v1/threads/{thread}/results/{call}', [where.thread, call], { result: { latitude: 35.6, longitude: 139.7 } });
    await settled(server, where.thread);
    await api.ask(server, 'DELETE', '/v1/threads/{thread}', [made]);
    await api.ask(server, 'GET', '/v1/threads/{thread}', [made]);
    await api.ask(server, 'POST', '/v1/threads', [], { title: 'x'.repeat(9000) });
    await api.ask(server, 'GET', '/v1/usage');
    await api.ask(server, 'GET', '/v1/usage?all=true');
}

const PEOPLE = { ada: ['user'], fay: ['finance'], fin: ['finance'], root: ['admin'], bot: ['notifier'], cleo: ['cfo'] };
const RULES = [{ tool: 'process_*', when: { pointer: '/amount', op: '>', value: 1000 }, from: { role: 'finance', count: 2, not_requester: true }, expires: 7200, escalate: [{ after: 1800, to: { role: 'cfo' } }] },
    { tool: '*', from: 'owner' }];

async function organisation(t, api) {
    let how;
    const b = await bank(t, () => how), offer = { grant: { for: 3600, count: 5, sum: '/amount', max: 200, same: ['/recipient'] }, edit: ['/amount'] };
    const server = await t.serve({ config: payments(b, offer, { auth: auth(PEOPLE), approvals: { rules: RULES }, public_url: 'http://127.0.0.1', links: { key: 'text:0123456789abcdef0123456789abcdef' } }) });
    const pay = async (amount) => { const s = await say(server, 'ada', `Send ${amount} dollars to Hanako`); api.stream('POST', '/v1/chat/stream', s.events); return s; };
    const large = await pay(5000), [id] = large.ids;
    await api.ask(server, 'GET', '/v1/approvals?status=pending', [], undefined, as('fay'));
    await api.ask(server, 'POST', '/v1/approvals/{id}', [id], { confirmed: true }, as('ada'));
    await api.ask(server, 'POST', '/v1/approvals/{id}', [id], { confirmed: true }, as('fay'));
    await api.ask(server, 'GET', '/v1/approvals/{id}', [id], undefined, as('fay'));
    await api.ask(server, 'DELETE', '/v1/approvals/{id}/vote', [id], undefined, as('fay'));
    await api.ask(server, 'POST', '/v1/approvals/{id}/links', [id], { for: 'fay' }, as('bot'));
    await api.ask(server, 'GET', '/v1/threads/{thread}', [large.thread], undefined, as('ada'));
    for (const who of ['fay', 'fin']) await api.ask(server, 'POST', '/v1/approvals/{id}', [id], { confirmed: true, reason: 'fine' }, as(who));
    await api.ask(server, 'GET', '/v1/approvals/{id}', [id], undefined, as('ada'));

    const small = await pay(50);
    const grant = (await api.ask(server, 'POST', '/v1/approvals/{id}', [small.ids[0]], { confirmed: true, grant: { scope: 'me', count: 3, max: '150' } }, as('ada'))).json.grant.id;
    await until(() => b.books.length === 2, 'both payments');
    same((await pay(20)).ids, [], 'granted');
    await api.ask(server, 'GET', '/v1/grants', [], undefined, as('ada'));
    await api.ask(server, 'DELETE', '/v1/grants/{id}', [grant], undefined, as('ada'));
    const edited = await pay(30);
    await api.ask(server, 'POST', '/v1/approvals/{id}', [edited.ids[0]], { confirmed: true, input: { recipient: 'Hanako', amount: 25, currency: 'USD' } }, as('ada'));
    how = 'nothing';
    const lost = await pay(40);
    await api.ask(server, 'POST', '/v1/approvals/{id}', [lost.ids[0]], { confirmed: true }, as('ada'));
    await until(async () => (await api.ask(server, 'GET', '/v1/approvals/{id}', [lost.ids[0]], undefined, as('ada'))).json.status === 'unknown', 'the unknown outcome');
    await api.ask(server, 'POST', '/v1/approvals/{id}/settle', [lost.ids[0]], { outcome: 'not_done', note: 'The bank says so.' }, as('ada'));
    await api.ask(server, 'GET', '/v1/approvals', [], undefined, as('ada'));
    await api.ask(server, 'GET', '/v1/threads', [], undefined, {});
    await api.ask(server, 'GET', '/v1/session', [], undefined, as('root'));
    await api.ask(server, 'POST', '/v1/people/{name}/erase', ['ada'], undefined, as('ada'));
    same((await api.ask(server, 'POST', '/v1/people/{name}/erase', ['ada'], undefined, as('root'))).json.done, true);
}

async function tools(t, api) {
    const dir = t.folder(), words = path.join(dir, 'words');
    fs.writeFileSync(words, 'Reads a file.');
    const server = await t.serve({ dir, config: { mcp: { token_key: 'ab'.repeat(32) }, mcpServers: { mail: { url: 'http://127.0.0.1:1/mcp', oauth: {} }, files: { command: process.execPath, args: [path.join(ROOT, 'test/live/changing.mjs')], env: { WORDS: words }, confirm: 'never' } } } });
    const listed = () => until(async () => (await api.ask(server, 'GET', '/v1/tools')).json.tools.find((x) => x.name === 'files__read'), 'the tool');
    await listed();
    await api.ask(server, 'POST', '/v1/tools/{name}/accept', ['nothing']);
    await api.ask(server, 'POST', '/v1/tools/{name}/accept', ['files__read']);
    await api.ask(server, 'DELETE', '/v1/mcp/{server}/connect', ['nobody']);
    await api.ask(server, 'DELETE', '/v1/mcp/{server}/connect', ['mail']);
}
