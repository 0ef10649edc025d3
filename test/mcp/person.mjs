// person.mjs URL -- the conformance suite's `auth/*` client: a real parley with an account's server at
// URL, and a person with a browser who connects wherever they are asked to and calls every tool once.
// Ends with 0 when each call had an answer. As the suite wants it, MCP_CONFORMANCE_* say the rest.
import { createHash } from 'node:crypto';
import { until } from '../lib/check.mjs';
import { newFolder, removeFolder } from '../lib/program.mjs';
import { Server, configured } from '../lib/server.mjs';
import { Browser } from '../live/accounts.mjs';
import { Modern, outcome } from '../live/mcp.mjs';

// A person has patience for so many questions, and for as long as the suite has (a loaded machine is slow).
const CONNECTS = 3, MS = 80000;
const url = process.argv.at(-1), { MCP_CONFORMANCE_SCENARIO: scenario, MCP_CONFORMANCE_PROTOCOL_VERSION: version } = process.env;
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}');
// An operator may give the address of a document that says who we are in place of an id.
const DOCUMENT = 'https://conformance-test.local/client-metadata.json';
const oauth = { ...(scenario === 'auth/basic-cimd' && { client_id: DOCUMENT }),
    ...(context.client_id && { client_id: context.client_id, client_secret: context.client_secret, issuer: context.issuer }) };

const dir = newFolder();
const server = new Server({ dir, config: configured({ demo: { tools: false }, actions: {}, mcp: { token_key: 'ab'.repeat(32), wait: 1 },
    auth: { keys: [{ sha256: createHash('sha256').update('k-ada').digest('hex'), principal: 'ada', roles: ['user'] }] },
    mcpServers: { test: { url, confirm: 'never', oauth, era: version >= '2026-07-28' ? 'modern' : 'legacy' } } }) });
const ADA = { authorization: 'Bearer k-ada' };
const names = async () => (await server.get('/v1/tools', ADA)).json.tools.map((x) => x.name);
const listed = async () => (await names()).filter((x) => x.startsWith('test__') && x !== 'test__connect_account');
const asked = async () => (await server.get('/v1/approvals?status=pending', ADA)).json.approvals.length > 0;
// Any other connection that is lost, the server makes anew by itself.
const lost = () => server.log.filter((l) => l.event === 'mcp.lost' && /^authorization needed/.test(l.why)).length;

let browser, connects = 0;
async function connect() {
    if (++connects > CONNECTS) throw new Error('asked too often');
    const r = await browser.visit('/v1/mcp/test/connect');
    if (!r.home) throw new Error(`not connected: ${r.status} ${r.text.replace(/<[^>]*>/g, ' ').trim()}`);
}
// The tools, once somebody's account lists them.
async function tools() {
    for (;;) {
        const before = lost();
        await connect();
        const found = await until(async () => { const all = await listed(); return (all.length || lost() > before) && all; }, 'the tools', MS);
        if (found.length) return found;
    }
}
async function call(name) {
    const client = new Modern(server, { key: 'k-ada' });
    for (;;) {
        const r = await client.call(name, {});
        if (outcome(r) !== 'pending') return console.log(name, outcome(r));
        if (await asked()) await connect();             // else the call is only slow
    }
}

try {
    await server.start();
    browser = await new Browser(server, 'k-ada').signIn();
    await until(async () => (await names()).includes('test__connect_account') && lost(), 'its 401', MS);
    for (const name of await tools()) await call(name);
} catch (e) {
    console.error(e.message, server.log.filter((l) => /^mcp/.test(l.event)));
    process.exitCode = 1;
} finally {
    await server.kill();
    removeFolder(dir);
}
