// modern.mjs -- a small server of the 2026-07-28 era: `node modern.mjs stdio` or `node modern.mjs http` (prints its port).
import { createServer } from "node:http";
import { Readable } from "node:stream";
import { McpServer, createMcpHandler, fromJsonSchema, inputRequired } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";

const sleep = (ms, signal) => new Promise((ok, no) => {
    const t = setTimeout(ok, ms);
    signal?.addEventListener("abort", () => { clearTimeout(t); no(new Error("aborted")); });
});
const object = (properties, required = []) => fromJsonSchema({ type: "object", properties, required });
const text = (t) => ({ content: [{ type: "text", text: t }] });
let extra = false; // a tool that comes later

function build() {
    const server = new McpServer({ name: "modern", version: "1" }, { capabilities: { tools: { listChanged: true } } });
    server.registerTool("echo", { description: "Says it again", inputSchema: object({ message: { type: "string" } }, ["message"]) },
        async ({ message }) => text(`Echo: ${message}`));
    server.registerTool("slow", { description: "Takes its time", inputSchema: object({ steps: { type: "integer" } }, ["steps"]) },
        async ({ steps }, ctx) => {
            const progressToken = ctx.mcpReq._meta?.progressToken;
            for (let i = 1; i <= steps; i++) {
                await sleep(150, ctx.mcpReq.signal);
                await ctx.mcpReq.notify({ method: "notifications/progress", params: { progressToken, progress: i, total: steps } });
            }
            return text("slow, but here");
        });
    server.registerTool("pay", { description: "Asks first", inputSchema: object({ amount: { type: "number" } }, ["amount"]) },
        async ({ amount }, ctx) => {
            const answer = ctx.mcpReq.inputResponses?.confirm;
            if (!answer) return inputRequired({
                inputRequests: { confirm: inputRequired.elicit({ message: `Pay ${amount}?`,
                    requestedSchema: { type: "object", properties: { sure: { type: "boolean", default: true } }, required: ["sure"] } }) },
                requestState: JSON.stringify({ amount, "é": "\"quoted\"" }),
            });
            const state = typeof ctx.mcpReq.requestState === "function" ? ctx.mcpReq.requestState() : ctx.mcpReq.requestState;
            return text(`${answer.action} ${JSON.stringify(answer.content ?? null)} ${state ? "with state" : "without state"}`);
        });
    server.registerTool("weather", {
        description: "Structured", inputSchema: object({}),
        outputSchema: fromJsonSchema({ type: "object", properties: { t: { type: "number" } }, required: ["t"] }),
        annotations: { readOnlyHint: true },
    }, async () => ({ content: [], structuredContent: { t: 21 } }));
    server.registerTool("fail", { description: "Fails", inputSchema: object({}) }, async () => ({ ...text("no luck"), isError: true }));
    server.registerTool("grow", { description: "Adds a tool", inputSchema: object({}) }, async () => {
        extra = true;
        setTimeout(changed, 50);
        return text("grown");
    });
    if (extra) server.registerTool("fruit", { description: "Was not there before", inputSchema: object({}) }, async () => text("fruit"));
    return server;
}

let changed = () => {};
if (process.argv[2] === "stdio") {
    let last;
    serveStdio(() => (last = build()));
    changed = () => {
        last.registerTool("fruit", { description: "Was not there before", inputSchema: object({}) }, async () => text("fruit"));
        last.sendToolListChanged?.();
    };
} else {
    const handler = createMcpHandler(build, { legacy: "reject" });
    changed = () => handler.notify.toolsChanged();
    const http = createServer(async (req, res) => {
        const chunks = [];
        for await (const c of req) chunks.push(c);
        const abort = new AbortController();
        res.on("close", () => abort.abort());
        const response = await handler.fetch(new Request(`http://${req.headers.host}${req.url}`, {
            method: req.method, headers: req.headers, signal: abort.signal, body: chunks.length ? Buffer.concat(chunks) : undefined }));
        res.writeHead(response.status, Object.fromEntries(response.headers));
        if (response.body) Readable.fromWeb(response.body).on("error", () => res.destroy()).pipe(res);
        else res.end();
    });
    http.listen(0, "127.0.0.1", () => console.log(http.address().port));
}
