// asking.mjs -- a small MCP server of the older era over stdio, without dependencies: node asking.mjs
// With `modern` as its argument it is one of the newer era: `ask` ends its call with two questions.
//   echo {message}   says it again            ask {amount}   asks the person in between, and says what came back
//   slow {}          progress until cancelled     grow {}    adds the tool `fruit` and says that the list has changed
//   rewrite {}       changes the description of `echo`
import { createInterface } from 'node:readline';

const object = (properties = {}, required = []) => ({ type: 'object', properties, required });
const tools = [
    { name: 'echo', description: 'Says it again', inputSchema: object({ message: { type: 'string' } }, ['message']) },
    { name: 'ask', description: 'Asks in between', inputSchema: object({ amount: { type: 'number' } }, ['amount']) },
    { name: 'slow', description: 'Until it is stopped', inputSchema: object() },
    { name: 'grow', description: 'Adds a tool', inputSchema: object() },
    { name: 'rewrite', description: 'Changes a tool', inputSchema: object() },
];
const modern = process.argv[2] === 'modern';
const form = (message, requestedSchema) => ({ message, requestedSchema });
// what `ask` asks for; ASK_SCHEMA: something else
const ACCOUNT = process.env.ASK_SCHEMA ? JSON.parse(process.env.ASK_SCHEMA) : object({ account: { type: 'string' }, sure: { type: 'boolean' } }, ['account']);
const send = (m) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...m }) + '\n');
const answer = (id, text) => send({ id, result: { content: [{ type: 'text', text }] } });
const changed = () => send({ method: 'notifications/tools/list_changed' });
const questions = new Map();       // our request id: what to do with the answer
const running = new Map();         // a call's id: its timer
let asked = 0;

const CALLS = {
    echo: (id, { message }) => answer(id, `Echo: ${message}`),
    ask(id, { amount }) {
        const question = `q-${++asked}`;
        questions.set(question, (r) => answer(id, `${r.action} ${JSON.stringify(r.content ?? null)}`));
        send({ id: question, method: 'elicitation/create', params: form(`Pay ${amount} from which account?`, ACCOUNT) });
    },
    slow(id, _, progressToken) {
        let n = 0;
        running.set(id, setInterval(() => send({ method: 'notifications/progress', params: { progressToken, progress: ++n, message: `round ${n}` } }), 50));
    },
    grow(id) {
        tools.push({ name: 'fruit', description: 'Was not there before', inputSchema: object() });
        changed();
        answer(id, 'grown');
    },
    rewrite(id) {
        tools[0] = { ...tools[0], description: 'Says something else' };
        changed();
        answer(id, 'rewritten');
    },
    fruit: (id) => answer(id, 'an apple'),
};

function askModern(id, { amount }, responses, state) {
    const elicit = (message, schema) => ({ method: 'elicitation/create', params: { mode: 'form', ...form(message, schema) } });
    if (responses) return answer(id, `${responses.account.action} ${JSON.stringify(responses.account.content ?? null)} ${responses.when.action} ${state}`);
    send({ id, result: { resultType: 'input_required', requestState: `carry "${amount}"`, inputRequests: {
        account: elicit(`Pay ${amount} from which account?`, ACCOUNT), when: elicit('And when?', object({ day: { type: 'string' } })) } } });
}

function takeModern(m) {
    if (m.method === 'server/discover') send({ id: m.id, result: { supportedVersions: ['2026-07-28'], capabilities: { tools: {} }, serverInfo: { name: 'asking', version: '1' } } });
    else if (m.method === 'tools/call' && m.params.name === 'ask') askModern(m.id, m.params.arguments, m.params.inputResponses, m.params.requestState);
    else return false;
    return true;
}

function take(m) {
    if (modern && takeModern(m)) return;
    if (m.method === 'initialize') send({ id: m.id, result: { protocolVersion: '2025-11-25', capabilities: { tools: { listChanged: true } }, serverInfo: { name: 'asking', version: '1' } } });
    else if (m.method === 'tools/list') send({ id: m.id, result: { tools } });
    else if (m.method === 'tools/call') CALLS[m.params.name](m.id, m.params.arguments, m.params._meta?.progressToken);
    else if (m.method === 'notifications/cancelled') {
        clearInterval(running.get(m.params.requestId));
        process.stderr.write('cancelled\n');
    } else if (m.method && m.id !== undefined) send({ id: m.id, error: { code: -32601, message: 'no such method' } });
    else if (m.id !== undefined && questions.has(m.id)) { questions.get(m.id)(m.result ?? { action: 'error' }); questions.delete(m.id); }
}
createInterface({ input: process.stdin }).on('line', (line) => take(JSON.parse(line))).on('close', () => process.exit(0));
