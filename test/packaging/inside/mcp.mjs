// A stdio MCP server in Node without packages: one tool that compiles code while it runs and counts its calls.
import readline from 'node:readline';
import fs from 'node:fs';

let calls = 0;
const say = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\n');
readline.createInterface({ input: process.stdin }).on('line', (line) => {
    const { id, method, params } = JSON.parse(line);
    if (method === 'initialize')
        say({ id, result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'inside', version: '1' } } });
    else if (method === 'tools/list')
        say({ id, result: { tools: [{ name: 'square', description: 'Squares a number.', inputSchema: { type: 'object', properties: { n: { type: 'number' } } } }] } });
    else if (method === 'tools/call') {
        const square = new Function('n', 'let s = 0; for (let i = 0; i < n * n * 1000; i++) s += i & 1; return n * n;');
        fs.writeFileSync(`${process.env.HOME}/mcp-calls`, String(++calls));      // as a server does that keeps a cache
        say({ id, result: { content: [{ type: 'text', text: `${square(params.arguments.n)}, call ${calls}` }] } });
    } else if (id !== undefined) say({ id, error: { code: -32601, message: 'no such method' } });
});
