// server.test.mjs -- the door at /mcp, tried by the clients that people have (both majors of the
// official SDK) and by the conformance suite in server mode.
import fs from "node:fs";
import { join } from "node:path";
import { check, pause, same, until } from "../lib/check.mjs";
import { BIN } from "../lib/program.mjs";
import { test } from "../lib/test.mjs";
import { as, auth, key } from "../live/org.mjs";
import { conformance } from "./conformance.mjs";

const PAY = { amount: 50, currency: "USD", recipient: "Hanako" };
const says = (result) => ["/bin/sh", "-c", `read x; echo '${JSON.stringify(result)}'`];
const tool = (command, more) => ({ description: "A tool of the suite.", exec: { command }, confirm: "never", ...more });

// --- the official clients -----------------------------------------------------------------------

const carried = (o) => ({ ...(o.fetch && { fetch: o.fetch }), ...(o.key && { requestInit: { headers: { authorization: `Bearer ${o.key}` } } }) });
const SDKS = {
    v1: async (url, o = {}) => {
        const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
        const { StreamableHTTPClientTransport } = await import("@modelcontextprotocol/sdk/client/streamableHttp.js");
        const { ElicitRequestSchema } = await import("@modelcontextprotocol/sdk/types.js");
        const client = new Client({ name: "sdk-one", version: "1" }, { capabilities: o.capabilities ?? {} });
        if (o.elicit) client.setRequestHandler(ElicitRequestSchema, (q) => o.elicit(q.params));
        await client.connect(o.transport ?? new StreamableHTTPClientTransport(new URL("/mcp", url), carried(o)));
        return client;
    },
    v2: async (url, o = {}) => {
        const { Client, StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
        const client = new Client({ name: "sdk-two", version: "1" }, { capabilities: o.capabilities ?? {},
            ...(o.modern && { versionNegotiation: { mode: { pin: "2026-07-28" } } }) });
        if (o.elicit) client.setRequestHandler("elicitation/create", (q) => o.elicit(q.params));
        await client.connect(o.transport ?? new StreamableHTTPClientTransport(new URL("/mcp", url), carried(o)));
        return client;
    },
    modern: (url, o = {}) => SDKS.v2(url, { ...o, modern: true }),
    // the same two over `parley mcp`
    "v1 stdio": async (url, o) => {
        const { StdioClientTransport } = await import("@modelcontextprotocol/sdk/client/stdio.js");
        return SDKS.v1(url, { ...o, transport: new StdioClientTransport(bridge(url, o?.key)) });
    },
    "modern stdio": async (url, o) => {
        const { StdioClientTransport } = await import("@modelcontextprotocol/client/stdio");
        return SDKS.modern(url, { ...o, transport: new StdioClientTransport(bridge(url, o?.key)) });
    },
};
const bridge = (url, key_) => ({ command: BIN, args: ["mcp", "--url", url], stderr: "ignore", ...(key_ && { env: { PARLEY_KEY: key_ } }) });
function each(name, work) {
    for (const sdk of Object.keys(SDKS)) test(`sdk ${sdk}: ${name}`, async (t) => {
        const open = async (server, o) => {
            const client = await SDKS[sdk](server.url, o);
            client.one = sdk.startsWith("v1");
            t.defer(() => client.close());
            return client;
        };
        await work(t, open, sdk);
    });
}
const pending = async (server) => (await server.get("/v1/approvals?status=pending")).json.approvals;
const asked = (server) => until(async () => (await pending(server))[0], "a question");
const decide = (server, id, confirmed, more) => server.post(`/v1/approvals/${id}`, { confirmed, ...more });
const call = (client, name, args, options) => client.callTool({ name, arguments: args }, ...(client.one ? [undefined] : []), ...(options ? [options] : []));
const outcome = (r) => r._meta["parley/outcome"];
const words = (r) => r.content.map((c) => c.text).join("\n");

each("lists, calls, and is told what is wrong", async (t, open) => {
    const server = await t.serve();
    const client = await open(server);
    const { tools } = await client.listTools();
    check(tools.some((x) => x.name === "get_weather"), "the demo's tools");
    const r = await call(client, "get_weather", { city: "Tokyo" });
    same([outcome(r), r.structuredContent.city], ["done", "Tokyo"]);
    check((await call(client, "get_weather", {})).isError, "what does not fit is a result");
    await call(client, "nobody", {}).then(() => { throw new Error("no error"); }, (e) => same(e.code, -32602));
});

each("approved, denied, twice, and after a kill: one payment", async (t, open) => {
    const server = await t.serve({ config: { mcp: { wait: 1 } } });
    let client = await open(server);
    // Decided while it waits; where that second was too short, it is asked for once more.
    const answered = async (args, ...verdict) => {
        const waiting = call(client, "process_payment", args);
        await decide(server, (await asked(server)).id, ...verdict);
        const r = await waiting;
        return outcome(r) === "pending" ? call(client, "process_payment", args) : r;
    };
    same(outcome(await answered(PAY, true)), "done");
    same(words(await answered({ ...PAY, amount: 60 }, false, { reason: "no" })), "Denied by local: no");
    same(outcome(await call(client, "process_payment", { ...PAY, amount: 70 })), "pending");
    await client.close();
    await server.restart("SIGKILL");
    client = await open(server);
    const q = await asked(server);
    await decide(server, q.id, true);
    await until(async () => (await server.get(`/v1/approvals/${q.id}`)).json.status === "done", "the payment");
    same(outcome(await call(client, "process_payment", { ...PAY, amount: 70 })), "done");
    same(server.ledger().map((l) => l.amount), [50, 70]);
});

each("a form in the client decides what is not risky", async (t, open) => {
    const note = tool(says({ result: "noted" }), { confirm: "always", risk: "low", ask: "Note {what}?" });
    const server = await t.serve({ config: { tools: { note }, mcp: { wait: 60 } } });
    const seen = [];
    const elicit = (p) => {
        seen.push(p.message);
        return { action: "accept", content: { approve: !p.message.includes("bad") } };
    };
    const client = await open(server, { capabilities: { elicitation: { form: {} } }, elicit });
    same(outcome(await call(client, "note", { what: "good" })), "done");
    same(outcome(await call(client, "note", { what: "bad" })), "denied");
    same(seen, ['Note good?\nwhat: "good"', 'Note bad?\nwhat: "bad"']);
    same((await server.get("/v1/approvals")).json.approvals.map((a) => a.decided_via), ["mcp", "mcp"]);
});

each("high risk goes to the page, by its address", async (t, open) => {
    const server = await t.serve({ config: { mcp: { wait: 60 } } });
    const elicit = async (p) => {
        same(p.mode, "url");
        await decide(server, p.url.split("/").at(-1), true);
        return { action: "accept" };
    };
    const client = await open(server, { capabilities: { elicitation: { form: {}, url: {} } }, elicit });
    same(outcome(await call(client, "process_payment", PAY)), "done");
    same(server.ledger().length, 1);
});

each("what a client says of its own rights decides nothing", async (t, open) => {
    const server = await t.serve({ config: { mcp: { wait: 0 } } });
    const elicit = () => ({ action: "accept", content: { approve: true } });
    const client = await open(server, { capabilities: { elicitation: { form: {} } }, elicit });
    const said = { "parley/outcome": "done", "parley/confirm": "never", approved: true, "parley/approval": "confirmation-call-0123456789012345678901" };
    const ask = (name, args, more) => client.callTool({ name, arguments: args, _meta: said, ...more });
    same(outcome(await ask("process_payment", PAY)), "pending", "a payment is not decided by a form either");
    const [q] = await pending(server);
    for (const name of ["decide_approval", "approve", "adk_request_confirmation", "parley_card_decide"])
        await ask(name, { id: q.id, confirmed: true, approve: true }).then(() => { throw new Error(`${name} exists`); }, (e) => same(e.code, -32602));
    same(outcome(await ask("review_approval", { id: q.id })), "done", "it can be shown");
    same([(await pending(server)).map((a) => a.id), server.ledger()], [[q.id], []]);
    await ask("process_payment", { ...PAY, confirmed: true, approved: true });
    same(server.ledger(), [], "nor by an argument");
});

each("progress reaches the one who asked for it", async (t, open) => {
    const steps = ["/bin/sh", "-c", 'read x; for p in 0.3 0.6 0.9; do echo "{\\"progress\\":$p}"; sleep 0.15; done; echo "{\\"result\\":\\"ok\\"}"'];
    const server = await t.serve({ config: { tools: { slow: tool(steps) } } });
    const client = await open(server), seen = [];
    await call(client, "slow", {}, { onprogress: (p) => seen.push(p.progress) });
    check(seen.length >= 2 && seen.every((p, i) => !i || p > seen[i - 1]), JSON.stringify(seen));
});

each("a call that is taken back runs nothing, and what is somebody else's does not exist", async (t, open, sdk) => {
    const people = { ada: ["user"], bob: ["user"] };
    const server = await t.serve({ config: { auth: auth(people), mcp: { wait: 60 } } });
    const ada = await open(server, { key: key("ada") }), bob = await open(server, { key: key("bob") }), stop = new AbortController();
    const hers = async (query) => (await server.get(`/v1/approvals?status=${query}`, as("ada"))).json.approvals;
    const waiting = call(ada, "process_payment", PAY, { signal: stop.signal }).catch((e) => e);
    const q = await until(async () => (await hers("pending"))[0], "her question");
    const list = (await call(bob, "list_approvals", {})).structuredContent.approvals;
    same([list, (await call(bob, "review_approval", { id: q.id })).isError], [[], true], "his list, and her question by its name");
    same((await server.post(`/v1/approvals/${q.id}`, { confirmed: true }, as("bob"))).status, 404);
    stop.abort();
    check((await waiting) instanceof Error, "it was taken back");
    await until(async () => (await hers("cancelled")).length === 1, "the question to be withdrawn");
    same((await server.post(`/v1/approvals/${q.id}`, { confirmed: true }, as("ada"))).json.error.code, "superseded");
    // his own call with her arguments is another one
    const his = call(bob, "process_payment", PAY);
    const other = await until(async () => (await server.get("/v1/approvals?status=pending", as("bob"))).json.approvals[0], "his question");
    check(other.id !== q.id, sdk);
    await server.post(`/v1/approvals/${other.id}`, { confirmed: true }, as("bob"));
    same([outcome(await his), server.ledger().length], ["done", 1]);
});

// The answer to the first call is cut before its n-th event.
function cutting(n) {
    const it = { hit: false, fetch: async (url, init) => {
        const r = await fetch(url, init);
        if (it.seen !== undefined || !r.body || !String(init?.body).includes('"tools/call"')) return r;
        it.seen = 0;
        const cut = new TransformStream({ transform(chunk, out) {
            for (const event of Buffer.from(chunk).toString().split(/(?<=\n\n)/)) {
                if (it.hit || it.seen++ === n) { if (!it.hit) out.error(new TypeError("cut")); it.hit = true; return; }
                out.enqueue(Buffer.from(event));
            }
        } });
        return new Response(r.body.pipeThrough(cut), { status: r.status, headers: r.headers });
    } };
    return it;
}
// Older clients go on by themselves where they had an event, or call again; a newer one has taken its call back by that,
// or, where its answer had left already, is asked anew: never run without another yes.
for (const sdk of ["v1", "v2", "modern"]) test(`sdk ${sdk}: a call that is cut at every event pays once, or was taken back`, async (t) => {
    const server = await t.serve({ config: { mcp: { wait: 5 } } });
    for (let n = 0, cut = { hit: true }; cut.hit; n++) {
        check(n < 10, "an end");
        cut = cutting(n);
        const args = { ...PAY, amount: n + 1 }, client = await SDKS[sdk](server.url, { fetch: cut.fetch });
        client.one = sdk === "v1";
        const first = call(client, "process_payment", args, { timeout: 10000, onprogress() {} }).catch((e) => e);
        const row = async () => (await server.get("/v1/approvals")).json.approvals.find((a) => a.input.amount === args.amount);
        const q = await until(row, "its question");
        await decide(server, q.id, true);
        let r = await first;
        const { status } = await until(async () => { const a = await row(); return ["done", "cancelled"].includes(a.status) && a; }, "an end");
        if (status === "done" && (r instanceof Error || outcome(r) === "pending")) r = await call(client, "process_payment", args);
        if (status === "done") check(outcome(r) === "done" || (sdk === "modern" && outcome(r) === "pending"), `cut before ${n}: ${words(r)}`);
        check(status === "done" || sdk === "modern", "a connection that breaks takes nothing back in the older era");
        same(server.ledger().filter((l) => l.amount === args.amount).length, status === "done" ? 1 : 0, `cut before ${n}`);
        await client.close();
    }
});

// --- a program that is started ------------------------------------------------------------------

const lines = (p) => p.out.split("\n").filter(Boolean).map((l) => JSON.parse(l));
const INIT = { jsonrpc: "2.0", id: 1, method: "initialize", params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "by hand", version: "1" } } };
const write = (p, ...messages) => p.child.stdin.write(messages.map((m) => JSON.stringify(m) + "\n").join(""));
const answer = (p, id) => until(() => lines(p).find((m) => m.id === id && !m.method), `the answer ${id}`);

test("stdio: where nobody listens it serves itself, until stdin ends", async (t) => {
    const dir = t.folder(), config = join(dir, "parley.json");
    fs.writeFileSync(config, JSON.stringify({ listen: "127.0.0.1:0", demo: { token_ms: 0 }, mcp: { wait: 0 } }));
    const p = t.program(BIN, ["mcp", "--config", config, "--store", `sqlite:${join(dir, "x.db")}`], { cwd: dir, input: true });
    write(p, INIT, { jsonrpc: "2.0", method: "notifications/initialized" }, { jsonrpc: "2.0", id: "two", method: "tools/call", params: { name: "process_payment", arguments: PAY } });
    const link = (await answer(p, "two")).result._meta["parley/link"];
    same((await fetch(link.replace(/\/approvals\/.*/, "/healthz"))).status, 200);
    same((await fetch(link)).status, 200, "the page is there");
    p.child.stdin.end();
    await until(() => p.status !== null, "its end");
    same(p.status, 0);
    await fetch(link).then(() => { throw new Error("the server is still there"); }, () => {});
});

test("stdio: a restart of the server is noticed by nobody", async (t) => {
    const server = await t.serve();
    const p = t.program(BIN, ["mcp", "--url", server.url], { input: true });
    write(p, INIT);
    await answer(p, 1);
    await server.restart();
    write(p, { jsonrpc: "2.0", id: 2, method: "tools/call", params: { name: "get_weather", arguments: { city: "Rome" } } });
    same(outcome((await answer(p, 2)).result), "done");
    p.child.stdin.end();
    await until(() => p.status !== null, "its end");
});

test("stdio: without a server, and without a key, every request is told so", async (t) => {
    const server = await t.serve({ config: { auth: { keys: [{ sha256: "0".repeat(64), principal: "ada", roles: ["user"] }] } } });
    for (const [url, says_] of [[server.url, /PARLEY_KEY/], ["http://127.0.0.1:9", /cannot be reached/]]) {
        const p = t.program(BIN, ["mcp", "--url", url], { input: true });
        write(p, INIT, { jsonrpc: "2.0", id: 2, method: "tools/list" });
        const { error } = await answer(p, 1);
        same(error.code, -32603);
        check(says_.test(error.message), error.message);
        p.child.stdin.end();
        await until(() => p.status !== null, "its end");
    }
});

// The SDK's client knows no tasks yet (`Unsupported result type 'task'`), its transport does: messages as they are.
const MODERN = "2026-07-28", meta = (name) => `io.modelcontextprotocol/${name}`;
async function wired(t, server, capabilities) {
    const { StdioClientTransport } = await import("@modelcontextprotocol/client/stdio");
    const wire = new StdioClientTransport(bridge(server.url)), told = [];
    let next = 1;
    wire.onmessage = (m) => { told.push(m); };
    await wire.start();
    t.defer(() => wire.close());
    const _meta = { [meta("protocolVersion")]: MODERN, [meta("clientCapabilities")]: capabilities, [meta("clientInfo")]: { name: "by hand", version: "1" } };
    const send = async (method, params, id = next++) => { await wire.send({ jsonrpc: "2.0", id, method, params: { ...params, _meta } }); return id; };
    const ask = async (method, params) => {
        const id = await send(method, params);
        const m = await until(() => told.find((x) => x.id === id), `the answer to ${method}`);
        if (m.error) throw Object.assign(new Error(m.error.message), m.error);
        return m.result;
    };
    return { send, ask, close: () => wire.close(), call: (name, args) => ask("tools/call", { name, arguments: args }), get: (taskId) => ask("tasks/get", { taskId }), told };
}
const EXTENSION = { extensions: { [meta("tasks")]: {} } };
const ended = (client, id) => until(async () => { const x = await client.get(id); return !["working", "input_required"].includes(x.status) && x; }, "the task's end");

test("stdio: a task is approved, denied and taken back, and outlives the program that asked", async (t) => {
    const server = await t.serve(), first = await wired(t, server, EXTENSION);
    const tasks = [];
    for (const amount of [50, 60, 70]) tasks.push(await first.call("process_payment", { ...PAY, amount }));
    same(tasks.map((x) => [x.resultType, x.status]), tasks.map(() => ["task", "working"]));
    same((await first.get(tasks[0].taskId)).status, "working");
    await first.close();
    const client = await wired(t, server, EXTENSION), rows = await pending(server);
    const question = (task) => rows.find((a) => a.thread === task.taskId).id;
    await decide(server, question(tasks[0]), true);
    await decide(server, question(tasks[1]), false, { reason: "no" });
    await client.ask("tasks/cancel", { taskId: tasks[2].taskId });
    const ends = [];
    for (const { taskId } of tasks) ends.push(await ended(client, taskId));
    same(ends.map((x) => x.status), ["completed", "completed", "cancelled"]);
    same(ends.slice(0, 2).map((x) => [outcome(x.result), words(x.result)]), [["done", "Sent 50 USD to Hanako."], ["denied", "Denied by local: no"]]);
    same((await decide(server, question(tasks[2]), true)).json.error.code, "superseded");
    same(server.ledger().map((l) => l.amount), [50]);
    await client.get("mcp_0123456789012345678901").then(() => { throw new Error("no error"); }, (e) => same(e.code, -32602));
});

test("stdio: a task asks by a form what is not risky, and a subscription tells how it ended", async (t) => {
    const note = tool(says({ result: "noted" }), { confirm: "always", risk: "low", ask: "Note {what}?" });
    const server = await t.serve({ config: { tools: { note } } });
    const client = await wired(t, server, { ...EXTENSION, elicitation: { form: {} } });
    const task = await client.call("note", { what: "x" });
    same([task.status, task.inputRequests.approval.params.message], ["input_required", 'Note x?\nwhat: "x"']);
    await client.send("subscriptions/listen", { notifications: { taskIds: [task.taskId] } });
    await until(() => client.told.some((m) => m.method === "notifications/subscriptions/acknowledged"), "the subscription");
    await client.ask("tasks/update", { taskId: task.taskId, inputResponses: { approval: { action: "accept", content: { approve: true } } } });
    const { params } = await until(() => client.told.find((m) => m.method === "notifications/tasks" && m.params.status === "completed"), "the notice");
    same([outcome(params.result), (await server.get("/v1/approvals")).json.approvals[0].decided_via], ["done", "mcp"]);
});

// --- a server behind us that dies after acting ----------------------------------------------------

each("an MCP server that dies after it acted gives unknown, and no second call", async (t, open) => {
    const dir = t.folder();
    const dies = { command: process.execPath, args: [join(import.meta.dirname, "dying.mjs")], env: { LEDGER: join(dir, "acts") }, confirm: "never" };
    const server = await t.serve({ dir, config: { mcpServers: { shop: dies } } });
    await until(async () => (await server.get("/v1/tools")).json.tools.some((x) => x.name === "shop__buy"), "the tool behind us");
    const client = await open(server);
    const acts = () => fs.readFileSync(join(dir, "acts"), "utf8").split("\n").filter(Boolean).length;
    for (let i = 0; i < 3; i++) {
        const r = await call(client, "shop__buy", { what: "tea" });
        same([r.isError, outcome(r)], [true, "unknown"]);
        check(/Do not call it again/.test(words(r)), words(r));
    }
    same(acts(), 1);
});

// --- the conformance suite ------------------------------------------------------------------------

const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const WAV = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=";
const RESOURCE = { type: "resource", resource: { uri: "test://example-resource", mimeType: "text/plain", text: "This is an embedded resource." } };
const content = (...items) => says({ result: { content: items } });
const SCHEMA = {
    $schema: "https://json-schema.org/draft/2020-12/schema", type: "object",
    $defs: { address: { $anchor: "addressDef", type: "object", properties: { street: { type: "string" }, city: { type: "string" } } } },
    properties: { name: { type: "string" }, address: { $ref: "#/$defs/address" }, contactMethod: { type: "string", enum: ["phone", "email"] }, phone: { type: "string" }, email: { type: "string" } },
    allOf: [{ anyOf: [{ required: ["phone"] }, { required: ["email"] }] }],
    if: { properties: { contactMethod: { const: "phone" } }, required: ["contactMethod"] }, then: { required: ["phone"] }, else: { required: ["email"] },
    additionalProperties: false,
};
const sleeps = ["/bin/sh", "-c", 'read x; n=$(echo "$x" | sed -n \'s/.*"seconds": *\\([0-9.]*\\).*/\\1/p\'); sleep "${n:-1}"; echo "{\\"result\\":\\"computed\\"}"'];
const slow = { confirm: "always", risk: "high", idempotent: true };
const TOOLS = {
    test_simple_text: tool(content({ type: "text", text: "This is a simple text response for testing." })),
    test_image_content: tool(content({ type: "image", data: PIXEL, mimeType: "image/png" })),
    test_audio_content: tool(content({ type: "audio", data: WAV, mimeType: "audio/wav" })),
    test_embedded_resource: tool(content(RESOURCE)),
    test_multiple_content_types: tool(content({ type: "text", text: "Multiple content types test:" }, { type: "image", data: PIXEL, mimeType: "image/png" }, RESOURCE)),
    test_error_handling: tool(says({ error: "This tool intentionally returns an error for testing" })),
    test_tool_with_progress: tool(["/bin/sh", "-c", 'read x; for p in 0.1 0.5 1; do echo "{\\"progress\\":$p}"; sleep 0.15; done; echo "{\\"result\\":\\"done\\"}"']),
    json_schema_2020_12_tool: tool(says({ result: "ok" }), { input_schema: SCHEMA }),
    greet: tool(["/bin/sh", "-c", 'read x; n=$(echo "$x" | sed -n \'s/.*"name": *"\\([^"]*\\)".*/\\1/p\'); echo "{\\"result\\":\\"Hello, $n!\\"}"']),
    confirm_delete: tool(says({ result: "deleted" }), slow),
    slow_compute: tool(sleeps, slow),
    failing_job: tool(says({ error: "it failed" }), slow),
};
const ALSO = ["tools-list", "tools-call-simple-text", "tools-call-image", "tools-call-audio", "tools-call-embedded-resource", "tools-call-mixed-content",
    "tools-call-error", "tools-call-with-progress", "json-schema-2020-12", "server-sse-multiple-streams", "dns-rebinding-protection"];
const SUITE = [
    ...["server-initialize", "server-session-lifecycle", "ping", ...ALSO].map((s) => [s, "2025-11-25"]),
    ...["server-stateless", ...ALSO, "caching", "http-header-validation", "input-required-result-unsupported-methods",
        "tasks-lifecycle", "tasks-wire-fields", "tasks-request-headers", "tasks-capability-negotiation", "tasks-dispatch-and-envelope",
        "tasks-request-state-removal", "tasks-status-notifications"].map((s) => [s, "2026-07-28"]),
];
// Single checks that need what this server does not have: tools of the suite that ask by
// themselves, a task that fails as a protocol error, prompts, resources, logging.
// ...-sends-tools-list-changed-on-subscription wants a tool `test_trigger_tool_change` that changes
// the list. Ours changes when a server behind us lists other tools, whose names carry its alias: the
// suite never finds one of that name. That the notice comes is shown by live/mcpbehind.
const NOT_OURS = ["sep-2575-server-rejects-undeclared-capability", "sep-2575-missing-capability-http-400", "sep-2575-http-server-no-independent-requests-on-stream",
    "sep-2575-server-no-log-without-loglevel", "sep-2575-server-sends-tools-list-changed-on-subscription", "sep-2549-prompts-list-caching-hints",
    "sep-2549-resources-list-caching-hints", "sep-2549-resources-templates-list-caching-hints", "sep-2549-resources-read-caching-hints", "sep-2663-tasks-get-status-failed"];

async function approving(server, until_) {
    while (!until_.over) {
        for (const q of await pending(server).catch(() => [])) await decide(server, q.id, true).catch(() => {});
        await pause(50);
    }
}

for (const [scenario, version] of SUITE) test(`conformance ${scenario} ${version}`, async (t) => {
    const server = await t.serve({ config: { tools: TOOLS, demo: { tools: false }, actions: {} } });
    const end = { over: false }, yes = approving(server, end), cwd = t.folder();
    const extension = scenario.startsWith("tasks-");
    const args = ["server", "--url", `${server.url}/mcp`, "--scenario", scenario, ...(extension ? [] : ["--spec-version", version]), "-o", cwd];
    const { code, out } = await conformance(args, cwd);
    end.over = true;
    await yes;
    const found = fs.readdirSync(cwd, { recursive: true }).filter((f) => f.endsWith("checks.json"));
    same(found.length, 1, `the suite's findings (status ${code}): ${out.slice(-1500)}`);
    const checks = JSON.parse(fs.readFileSync(join(cwd, found[0]), "utf8"));
    const bad = checks.filter((c) => ["FAILURE", "WARNING"].includes(c.status) && !NOT_OURS.includes(c.id));
    check(checks.some((c) => /SUCCESS|SKIPPED/.test(c.status)), "something was looked at"); // one waits for the suite itself
    same(bad.map((c) => `${c.id}: ${c.errorMessage}`), []);
});
