// client.test.mjs -- parley's MCP client against real servers and the conformance suite.
// Needs build-test/mcp-client and, for the conformance suite, the Node 22 of scripts/node.
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { check as must, same } from "../lib/check.mjs";
import { BIN, runToEnd } from "../lib/program.mjs";
import { test } from "../lib/test.mjs";
import { conformance } from "./conformance.mjs";

const here = import.meta.dirname;
const client = join(dirname(BIN), "mcp-client");
const modules = join(here, "node_modules");
const everything = join(modules, "@modelcontextprotocol/server-everything/dist/index.js");
const modern = join(here, "modern.mjs");

// --- the client on a command line ----------------------------------------------------
const CLIENT_MS = 60000;

async function run(entry, ...commands) {
    const { code, out, err } = await runToEnd(client, [JSON.stringify(entry), ...commands.map(String)], { ms: CLIENT_MS });
    const lines = out.split("\n").filter(Boolean).map((l) => JSON.parse(l));
    return {
        status: code, err, lines,
        results: lines.filter((l) => l.result).map((l) => l.result),
        progress: lines.filter((l) => "progress" in l).map((l) => l.progress),
        asks: lines.filter((l) => l.ask).map((l) => l.ask),
        states: lines.filter((l) => l.state).map((l) => l.state),
        tools: lines.findLast((l) => l.tools)?.tools ?? [],
    };
}

// A server that says its port when it listens.
async function listening(t, args, env = {}) {
    const p = t.program(process.execPath, args, { env: { ...process.env, ...env } });
    return (await p.says(/^(\d+)\n/m, args[0]))[1];
}

// --- tests ------------------------------------------------------------------------------
async function legacy(entry) {
    const r = await run(entry, "list", "call", "echo", '{"message":"hi"}', "call", "trigger-long-running-operation", '{"duration":1,"steps":4}',
        "cancel", "trigger-long-running-operation", '{"duration":30,"steps":200}', "call", "get-tiny-image", "{}",
        "call", "get-structured-content", '{"location":"New York"}', "call", "trigger-elicitation-request", "{}",
        "decline", "trigger-elicitation-request", "{}", "call", "get-sum", '{"a":"x"}');
    must(r.status === 0, `status ${r.status}\n${JSON.stringify(r.lines).slice(0, 2000)}\n${r.err.slice(0, 2000)}`);
    must(r.states[0].startsWith("ready (2025-11-25"), `state: ${r.states[0]}`);
    must(r.tools.length >= 10 && r.tools.every((t) => t.name.startsWith("test__")), "tools");
    must(!r.tools.some((t) => t.name.includes("simulate-research-query")), "a task-only tool is listed");
    must(r.tools.every((t) => t.confirm === "always"), "a tool does not ask by default");
    const [echo, slow, cancelled, image, structured, accepted, declined, wrong] = r.results;
    same(echo, { outcome: "done", text: "Echo: hi" });
    same(slow.outcome, "done");
    same(r.progress.filter((p) => p >= 0.25), [0.25, 0.5, 0.75, 1]);          // the one that is stopped is not so far
    same(cancelled.outcome, "unknown");             // it asks by default, and the server had it
    must(image.text.includes("[image image/png, ") && image.value.content.some((c) => c.type === "image"), "image");
    must(typeof structured.value.temperature === "number", "structured content");
    same(r.asks.length, 2);
    must(/^The server test asks(, perhaps for a call that was stopped before)?: /.test(r.asks[0]), `who asks: ${r.asks[0]}`);   // stdio: one was
    must(accepted.text.includes("User provided") && declined.text.toLowerCase().includes("decline"), `elicitation: ${declined.text}`);
    same(wrong.outcome, "failed");
}

async function newEra(entry) {
    const r = await run(entry, "list", "call", "echo", '{"message":"hi"}', "call", "slow", '{"steps":3}', "cancel", "slow", '{"steps":100}',
        "call", "pay", '{"amount":5}', "decline", "pay", '{"amount":5}', "call", "weather", "{}", "call", "fail", "{}",
        "call", "grow", "{}", "listed", "fruit", "list", "call", "fruit", "{}");
    must(r.status === 0, `status ${r.status}\n${JSON.stringify(r.lines).slice(0, 2000)}\n${r.err.slice(0, 2000)}`);
    must(r.states[0].startsWith("ready (2026-07-28"), `state: ${r.states[0]}`);
    const [echo, slow, cancelled, paid, refused, weather, fail, , fruit] = r.results;
    same(echo, { outcome: "done", text: "Echo: hi" });
    same(slow.outcome, "done");
    must(r.progress.filter((p) => p > 0.3).length >= 3, "progress");
    same(cancelled.outcome, "unknown");             // it asks by default, and the server had it
    same(paid.text, 'accept {"sure":true} with state');
    same(refused.text, "decline null with state");
    same(weather.value, { t: 21 });
    same(fail, { outcome: "failed", text: "no luck" });
    must(r.tools.some((t) => t.name === "test__fruit"), "the new tool is not listed");
    same(fruit.text, "fruit");
}

test("server-everything over stdio", () => legacy({ command: process.execPath, args: [everything, "stdio"] }));
test("server-everything over HTTP", async (t) => {
    const port = await listening(t, ["-r", join(here, "port.cjs"), everything, "streamableHttp"], { PORT: "0" });
    await legacy({ url: `http://127.0.0.1:${port}/mcp` });
});
test("a server of the new era over stdio", () => newEra({ command: process.execPath, args: [modern, "stdio"] }));
test("a server of the new era over HTTP", async (t) => newEra({ url: `http://localhost:${await listening(t, [modern, "http"])}/mcp` }));
test("annotations of a trusted server may lower, of any other only raise", async () => {
    const entry = { command: process.execPath, args: [modern, "stdio"] };
    const find = (r, name) => r.tools.find((t) => t.name === `test__${name}`);
    let r = await run({ ...entry, trust_annotations: true }, "list");
    same(find(r, "weather").confirm, "never");
    same(find(r, "weather").idempotent, true);
    same(find(r, "echo").confirm, "always");
    r = await run({ ...entry, confirm: { echo: "never" } }, "list");
    same(find(r, "echo").confirm, "never");
    same(find(r, "weather").confirm, "always");
});
test("the example's entry of mcpServers works, without the download", async () => {
    const entry = JSON.parse(readFileSync(join(here, "../../examples/tools.json"), "utf8")).mcpServers.everything;
    same(entry.args[1], "@modelcontextprotocol/server-everything@2026.8.31");
    const r = await run({ ...entry, command: process.execPath, args: [everything, ...entry.args.slice(2)] }, "list", "call", "echo", '{"message":"hi"}');
    same(r.results, [{ outcome: "done", text: "Echo: hi" }]);
    same(r.tools.find((t) => t.name === "test__echo").confirm, "never");
    same(r.tools.find((t) => t.name === "test__get-env").confirm, "always");
});
test("a server that dies is started again", async () => {
    const script = `
        const fs = require("fs"), lines = require("readline").createInterface({ input: process.stdin });
        const say = (id, result) => console.log(JSON.stringify({ jsonrpc: "2.0", id, result }));
        lines.on("line", (l) => { const m = JSON.parse(l);
            if (m.method === "server/discover") console.log(JSON.stringify({ jsonrpc: "2.0", id: m.id, error: { code: -32601, message: "?" } }));
            if (m.method === "initialize") say(m.id, { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: { name: "x", version: "1" } });
            if (m.method === "tools/list") say(m.id, { tools: [{ name: "die", inputSchema: { type: "object" } }, { name: "live", inputSchema: { type: "object" } }] });
            if (m.method === "tools/call" && m.params.name === "die") process.exit(3);
            if (m.method === "tools/call") say(m.id, { content: [{ type: "text", text: "alive" }] }); });`;
    const r = await run({ command: process.execPath, args: ["-e", script] }, "call", "die", "{}", "call", "live", "{}", "ready", "call", "live", "{}");
    same(r.results.map((x) => x.outcome), ["unknown", "failed", "done"]);
    must(r.states.some((s) => s.includes("exit status 3")), "the reason is not told");
});

// Servers that do anything (hostile.mjs). Whatever it is: the client lives, every call has one outcome, and none is sent twice.
// HOSTILE=FROM-TO runs other seeds, or more of them.
const [from, to] = (process.env.HOSTILE ?? "1-2").split("-").map(Number);
async function hostile(t, seed, http) {
    const log = join(t.folder(), "calls"), env = { HOSTILE_LOG: log }, script = [join(here, "hostile.mjs"), String(seed)];
    const entry = http ? { url: `http://127.0.0.1:${await listening(t, [...script, "http"], env)}/` } : { command: process.execPath, args: script, env };
    const asked = ["many", "go", "{}", "12", "call", "go", '{"a":\n1}', "cancel_after", "go", "{}", "50", "many", "go", "{}", "12", "decline", "go", "{}"];
    const { code, out, err } = await runToEnd(client, [JSON.stringify({ ...entry, timeout: 1 }), ...asked], { ms: 90000 });
    must((code === 0 || code === 2) && !/Sanitizer|runtime error/.test(err), `seed ${seed}${http ? " http" : ""}: ${code}\n${err.slice(-3000)}`);
    const results = out.split("\n").filter((l) => l.startsWith('{"result"')).length, asks = out.split("\n").filter((l) => l.startsWith('{"ask"')).length;
    const got = existsSync(log) ? readFileSync(log, "utf8").split("\n").filter(Boolean) : [];
    must(new Set(got).size === got.length, `seed ${seed}: a call was sent twice: ${got}`);
    must(got.length <= results + asks + 10 * 27, `seed ${seed}: ${got.length} calls for ${results} outcomes`);
    must(!err.includes("exit status 77"), `seed ${seed}: a line that is no message`);
}
for (let seed = from; seed <= to; seed++) {
    test(`a hostile server over stdio, seed ${seed}`, (t) => hostile(t, seed, false));
    test(`a hostile server over HTTP, seed ${seed}`, (t) => hostile(t, seed, true));
}

const suite = [["initialize", "2025-11-25"], ["tools_call", "2025-11-25"], ["elicitation-sep1034-client-defaults", "2025-11-25"], ["sse-retry", "2025-11-25"],
    ["tools_call", "2026-07-28"], ["request-metadata", "2026-07-28"], ["sep-2322-client-request-state", "2026-07-28"], ["http-standard-headers", "2026-07-28"],
    ["http-custom-headers", "2026-07-28"], ["http-invalid-tool-headers", "2026-07-28"], ["json-schema-ref-no-deref", "2026-07-28"],
    ["json-schema-2020-12-preservation", "2026-07-28"]];
// Accounts: required of both revisions, and of the newer one alone.
const accounts = ["metadata-default", "metadata-var1", "metadata-var2", "metadata-var3", "basic-cimd", "scope-from-www-authenticate", "scope-from-scopes-supported",
    "scope-omitted-when-undefined", "scope-step-up", "scope-retry-limit", "token-endpoint-auth-basic", "token-endpoint-auth-post", "token-endpoint-auth-none", "pre-registration"];
const newer = ["resource-mismatch", "offline-access-scope", "offline-access-not-supported", "authorization-server-migration", "iss-supported", "iss-not-advertised",
    "iss-supported-missing", "iss-wrong-issuer", "iss-unexpected", "iss-normalized", "metadata-issuer-mismatch"];
const person = `${process.execPath} ${join(here, "person.mjs")}`;
for (const name of [...accounts, ...newer]) suite.push([`auth/${name}`, "2026-07-28", person]);
for (const name of process.env.LONG ? accounts : ["scope-step-up"]) suite.push([`auth/${name}`, "2025-11-25", person]);       // the same but for the opening
for (const [scenario, version, command = client] of suite) test(`conformance ${scenario} ${version}`, async (t) => {
    const cwd = t.folder();          // alpha releases of the suite leave result files behind
    const { code, out } = await conformance(["client", "--command", command, "--scenario", scenario, "--spec-version", version, "--timeout", "90000", "-o", cwd], cwd);
    must(code === 0, out.split("\n").filter((l) => /Failed|Error|FAIL|❌/.test(l)).join("\n") || `status ${code}`);
});
