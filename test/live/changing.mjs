// changing.mjs -- an MCP server over stdio with one tool, `read`, whose description stands in a file.
import fs from 'node:fs';
import { createInterface } from 'node:readline';

const answer = (id, result) => console.log(JSON.stringify({ jsonrpc: '2.0', id, result }));
for await (const line of createInterface({ input: process.stdin })) {
    const { id, method } = JSON.parse(line);
    if (method === 'initialize') answer(id, { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'files', version: '1' } });
    else if (method === 'tools/list') answer(id, { tools: [{ name: 'read', description: fs.readFileSync(process.env.WORDS, 'utf8'), inputSchema: { type: 'object' } }] });
    else if (method === 'tools/call') answer(id, { content: [{ type: 'text', text: 'read' }] });
    else if (id !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32601, message: 'no' } }));
}
