// conformance.mjs -- the official conformance suite, by processes that run one scenario after another:
// to load the suite costs several times what a scenario does.
//
//     const { code, out } = await conformance(["server", "--url", ...], folder);
//
// The suite leaves its findings in the folder; what it said is in `out`.
import { join } from "node:path";
import { skip, within } from "../lib/check.mjs";
import { Program, ROOT, runToEnd } from "../lib/program.mjs";

const here = import.meta.dirname;
const suite = join(here, "node_modules/@modelcontextprotocol/conformance/dist/index.js");
const idle = [];
let runs = 0, found;
// It may have to be installed first, which takes half a minute: the tests beside this one go on meanwhile.
const node22 = () => (found ??= runToEnd(join(ROOT, "scripts/node"), ["22"], { ms: 170000 }).then((r) => r.out.trim()));

function host(bin) {
    const env = { ...process.env, PATH: `${bin}:${process.env.PATH}` };
    return new Program(join(bin, "node"), [join(here, "conformance_host.mjs"), suite], { env, input: true }).spawn();
}

export async function conformance(args, cwd, ms = 100000) {
    const bin = await node22();
    if (!bin) skip("the conformance suite needs Node 22");
    const h = idle.pop() ?? host(bin), n = ++runs, from = [h.out.length, h.err.length];
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
