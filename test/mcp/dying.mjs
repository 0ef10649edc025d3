// dying.mjs -- an MCP server over stdio whose tool `buy` acts and then takes the whole server down
// before it can say so.
import fs from "node:fs";
import { createInterface } from "node:readline";

const answer = (id, result) => console.log(JSON.stringify({ jsonrpc: "2.0", id, result }));
for await (const line of createInterface({ input: process.stdin })) {
    const { id, method, params } = JSON.parse(line);
    if (method === "initialize") answer(id, { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "shop", version: "1" } });
    else if (method === "tools/list") answer(id, { tools: [{ name: "buy", description: "Buys it.", inputSchema: { type: "object" } }] });
    else if (method === "tools/call") {
        fs.appendFileSync(process.env.LEDGER, JSON.stringify(params.arguments) + "\n");
        process.kill(process.pid, "SIGKILL");
    } else if (id !== undefined) console.log(JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32601, message: "no" } }));
}
