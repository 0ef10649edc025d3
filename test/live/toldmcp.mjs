// The least an MCP server must be: one tool, `who`, that says what it was told in `_meta`.
export function answerMcp(m) {
    const result = { initialize: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } },
        'tools/list': { tools: [{ name: 'who', description: 'd', inputSchema: { type: 'object' } }] },
        'tools/call': { content: [{ type: 'text', text: JSON.stringify(m.params?._meta ?? null) }] } }[m.method];
    return result ? { jsonrpc: '2.0', id: m.id, result } : { jsonrpc: '2.0', id: m.id, error: { code: -32601, message: 'no' } };
}
// The same as a program.
export const STDIO = `import { createInterface } from 'node:readline'; const answer = ${answerMcp.toString()};
createInterface({ input: process.stdin }).on('line', (l) => { const m = JSON.parse(l); if ('id' in m) console.log(JSON.stringify(answer(m))); });`;
