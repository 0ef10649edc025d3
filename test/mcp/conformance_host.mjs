// conformance_host.mjs SUITE -- runs the conformance suite's command line again and again: a line {n, args, cwd} on stdin is
// a run, "=== n STATUS" on stdout its end. The suite ends its process when it is done; here that ends a run.
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const suite = pathToFileURL(process.argv[2]);
class Ended extends Error {}
let end = () => {};

const { exit } = process;
process.exit = (code = process.exitCode) => {
    end(code ?? 0);
    throw new Ended();
};
// What is left of a run that has ended (its servers, a client that was cut off) is nobody's trouble; of the one that runs it is.
function trouble(e) {
    if (e instanceof Ended) return;
    console.error(e);
    end(1);
}
process.on("uncaughtException", trouble).on("unhandledRejection", trouble);

async function run({ n, args, cwd }) {
    process.chdir(cwd);
    process.exitCode = undefined;
    process.argv = [process.argv[0], suite.pathname, ...args];
    const code = await new Promise((yes) => {
        end = yes;
        import(`${suite}?run=${n}`).catch(trouble);          // what it imports is loaded once, itself each time
    });
    console.log(`\n=== ${n} ${code}`);
}

for await (const line of createInterface({ input: process.stdin })) await run(JSON.parse(line));
exit(0);
