// conformance.mjs -- the official conformance suite, by processes that run one scenario after another:
// to load the suite costs several times what a scenario does.
//
//     const { code, out } = await conformance(["server", "--url", ...], folder);
//
// The suite leaves its findings in the folder; what it said is in `out`.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { skip, within } from "../lib/check.mjs";
import { Program, ROOT } from "../lib/program.mjs";

const here = import.meta.dirname;
const suite = join(here, "node_modules/@modelcontextprotocol/conformance/dist/index.js");
const idle = [];
let runs = 0, found;
const node22 = () => (found ??= spawnSync(join(ROOT, "scripts/node"), ["22"], { encoding: "utf8" }).stdout.trim());

function host() {
    const env = { ...process.env, PATH: `${node22()}:${process.env.PATH}` };
    return new Program(join(node22(), "node"), [join(here, "conformance_host.mjs"), suite], { env, input: true }).spawn();
}

export async function conformance(args, cwd, ms = 100000) {
    if (!node22()) skip("the conformance suite needs Node 22");
    const h = idle.pop() ?? host(), n = ++runs, from = [h.out.length, h.err.length];
    h.child.stdin.write(`${JSON.stringify({ n, args, cwd })}\n`);
    try {
        const [, code] = await h.says(new RegExp(`^=== ${n} (\\d+)$`, "m"), `the conformance suite: ${args.join(" ")}`, ms);
        idle.push(h);
        return { code: Number(code), out: h.out.slice(from[0]) + h.err.slice(from[1]) };
    } catch (e) {
        await h.kill();
        throw e;
    }
}

// What they worked is counted when they have ended.
export const conformanceEnds = () => within(Promise.all(idle.splice(0).map((h) => (h.child.stdin.end(), h.gone))), "the conformance suite to end");
