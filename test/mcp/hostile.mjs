// hostile.mjs SEED [http] -- an MCP server that lists a tool and then does anything: lies, floods, hangs, dies.
// What it does follows from the seed. Every tools/call it gets is a line in the file HOSTILE_LOG.
// Over stdio, or on a port that is printed first.
import { appendFileSync } from "node:fs";
import { createServer } from "node:http";
import { createInterface } from "node:readline";

let state = Number(process.argv[2]) * 2654435761 >>> 0 || 1;
const random = (n) => { state ^= state << 13; state >>>= 0; state ^= state >>> 17; state ^= state << 5; state >>>= 0; return state % n; };
const one = (list) => list[random(list.length)];
const modern = random(3) === 0;
const rpc = (m) => JSON.stringify({ jsonrpc: "2.0", ...m });
const deep = (n) => "[".repeat(n) + "]".repeat(n);
const seen = [1, 2, 3];

const schema = () => one([{ type: "object" }, { type: "object", properties: { a: { type: "integer", default: 1 } } }, [], 7, null, { $ref: "#" }]);
const strange = () => one([null, 0, -1, "x", [], {}, true, 1e300, "\u0000\u001b[2J\u202e", "x".repeat(5000), { a: { a: { a: 1 } } }]);
const id = () => one([...seen, ...seen, ...seen, 0, -1, 1.5, 2 ** 53, "1", null, "q".repeat(2000), {}, [1]]);
const result = () => one([{ content: [{ type: "text", text: "ok" }] }, { content: [{ type: "text", text: "no" }], isError: true }, { content: strange() }, strange(),
    { content: [strange(), { type: "image", data: strange(), mimeType: strange() }, { type: "resource", resource: strange() }], structuredContent: strange() },
    { resultType: one(["complete", "mystery", 7]) }, { resultType: "input_required", inputRequests: one([{}, strange(), { k: { method: "elicitation/create", params: { message: strange(), requestedSchema: schema() } } },
        { k: { method: "sampling/createMessage" } }]), requestState: one([undefined, strange(), "s".repeat(one([1, 100000]))]) }]);
const error = () => ({ code: one([-32700, -32600, -32601, -32602, -32603, -32020, -32021, -32022, -32042, -32000, 0, "x", 1e99]), message: strange(), data: strange() });

/// One message, or something that is none.
function anything() {
    switch (random(12)) {
        case 0: return rpc({ id: id(), method: "ping" });
        case 1: case 2: return rpc({ id: id(), method: "elicitation/create", params: one([strange(), { message: strange(), requestedSchema: schema(), mode: one([undefined, "form", "url", 7]),
            _meta: one([undefined, strange(), { progressToken: id() }]) }]) });
        case 3: return rpc({ method: "notifications/progress", params: one([strange(), { progressToken: id(), progress: strange(), total: strange(), message: strange() }]) });
        case 4: return rpc({ method: "notifications/tools/list_changed" });
        case 5: return rpc({ id: id(), result: result() });
        case 6: return rpc({ id: id(), error: one([error(), strange()]) });
        case 7: return rpc({ id: id(), result: result(), error: error() });
        case 8: return rpc({ id: id(), method: one(["roots/list", "sampling/createMessage", "tools/call", "", "x".repeat(3000)]), params: strange() });
        case 9: return one(["", "{", "}", "{}", "[]", "null", deep(100), `{"a":${deep(5000)}}`, '{"jsonrpc":"2.0","id":1,"id":2,"result":{}}', "\u0000", "{\"id\":1,\"result\":", '{"method":7,"id":1}']);
        case 10: return rpc({ method: "notifications/cancelled", params: { requestId: id() } });
        default: return rpc({ id: one(seen), result: { padding: "x".repeat(one([10, 1000, 300000])) } });
    }
}

const tools = () => one([[], [], [{ name: "b__go", inputSchema: { type: "object" } }], [{ name: "go", inputSchema: schema() }], [strange()], Array.from({ length: 300 }, (_, i) => ({ name: `t${i}`, inputSchema: {} }))]);
let lists = 0;
/// The honest answer, so that it comes to calls at all; later lists may be anything.
function honest(m) {
    if (m.method === "server/discover") return modern ? rpc({ id: m.id, result: { capabilities: { tools: { listChanged: random(2) === 0 } } } }) : rpc({ id: m.id, error: { code: -32601, message: "?" } });
    if (m.method === "initialize") return rpc({ id: m.id, result: { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: { name: "h", version: "1" } } });
    if (m.method === "tools/list") return rpc({ id: m.id, result: { tools: [{ name: "go", inputSchema: { type: "object" }, outputSchema: one([undefined, schema()]), annotations: one([undefined, strange()]) },
        ...(lists++ ? tools() : [])], nextCursor: lists > 1 ? one([undefined, undefined, strange()]) : undefined } });
    return m.id === undefined ? null : rpc({ id: m.id, result: result() });
}

function noted(m) {
    if (typeof m.id === "number") seen.push(m.id);
    if (m.method === "tools/call" && process.env.HOSTILE_LOG) appendFileSync(process.env.HOSTILE_LOG, `${m.id}\n`);
}
const opening = (m) => ["server/discover", "initialize", "notifications/initialized"].includes(m.method) || (m.method === "tools/list" && !lists);

if (process.argv[3] !== "http") {
    const out = (text) => process.stdout.write(text);
    createInterface({ input: process.stdin }).on("line", (line) => {
        let m;
        try { m = JSON.parse(line); } catch { process.exit(77); }             // a line of the client's that is no message
        noted(m);
        if (opening(m)) { const a = honest(m); if (a) out(`${a}\n`); return; }
        for (let i = random(4); i > 0; i--) out(`${anything()}\n`);
        switch (random(14)) {
            case 0: return process.exit(random(3));
            case 1: return out(anything().slice(0, 20));                      // half a line
            case 2: return;                                                   // nothing
            case 3: for (let i = 0; i < 3000; i++) out(`${rpc({ id: i, method: "ping" })}\n`); return;
            case 4: process.stderr.write("x".repeat(300000)); break;
            case 5: return void process.stdin.pause();                        // deaf
        }
        const a = honest(m);
        if (a) out(`${a}\n`);
        for (let i = random(3); i > 0; i--) out(`${anything()}\n`);
    }).on("close", () => process.exit(0));
} else {
    const server = createServer((req, res) => {
        let body = "";
        const event = (text) => res.write(`${one(["", `id: ${random(99)}\n`, "retry: 0\n", ": hi\n"])}data: ${text.replaceAll("\n", " ")}\n\n`);
        req.on("data", (d) => (body += d)).on("error", () => {});
        res.on("error", () => {});
        req.on("end", () => {
            let m = {};
            try { m = JSON.parse(body); } catch { /* GET, DELETE */ }
            noted(m);
            if (opening(m) && req.method === "POST") {
                const a = honest(m);
                res.writeHead(a ? 200 : 202, { "content-type": "application/json", ...(m.method === "initialize" && random(2) ? { "mcp-session-id": "abc" } : {}) });
                return void res.end(a ?? "");
            }
            switch (random(14)) {
                case 0: return void req.socket.destroy();
                case 1: res.writeHead(one([202, 204, 301, 307, 400, 401, 403, 404, 405, 408, 421, 425, 429, 500, 502, 503, 504]), { location: "http://127.0.0.1:1/" }); return void res.end(one(["", anything(), rpc({ id: null, error: error() })]));
                case 2: return;                                               // silence
                case 3: res.writeHead(200, { "content-type": one(["text/html", "application/json", "text/event-stream; x", ""]), "content-length": "100" }); res.write(anything().slice(0, 50)); return void setTimeout(() => req.socket.destroy(), 20);
                case 4: res.writeHead(200, { "content-type": "application/json" }); return void res.end(anything());
                case 5:
                    res.writeHead(200, { "content-type": "text/event-stream" });
                    for (let i = 0; i < 2000; i++) event(rpc({ id: i, method: "ping" }));
                    break;
                default: res.writeHead(200, { "content-type": "text/event-stream" });
            }
            for (let i = random(5); i > 0; i--) event(anything());
            if (random(4) === 0) return void setTimeout(() => req.socket.destroy(), 10);
            const a = honest(m);
            if (a && req.method === "POST") event(a);
            for (let i = random(3); i > 0; i--) event(anything());
            if (req.method === "POST" || random(2)) res.end();
        });
    }).listen(0, "127.0.0.1", () => console.log(server.address().port));
    server.on("clientError", () => {});
    server.keepAliveTimeout = one([1, 5000]);
    process.on("uncaughtException", () => {});
}
