// run.mjs -- runs test/packaging/*.test.mjs one after the other and ends with "N passed, N failed[, N skipped]".
//   node test/packaging/run.mjs [WORD...]       the quick ones: what is installed, the manual, completion, the unit
//   ALL=1 node test/packaging/run.mjs [WORD...] also what builds packages and installs them into roots of its own
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { Context, Skip, inFile, tests, wanted, within } from '../live/lib.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
for (const name of fs.readdirSync(here).filter((n) => n.endsWith('.test.mjs')).sort()) {
    inFile(name.replace('.test.mjs', ''));
    await import(path.join(here, name));
}

const count = { passed: 0, failed: 0, skipped: 0 };
for (const t of tests.filter((x) => (process.env.ALL || !x.long) && wanted(`${x.file}: ${x.name}`))) {
    const context = new Context();
    const start = Date.now();
    let trouble;
    try { await within(t.run(context), 'the test', t.long ? 1800000 : 60000); } catch (e) { trouble = e; }
    try { await context.close(); } catch (e) { trouble ??= e; }
    if (trouble instanceof Skip) { count.skipped++; console.log(`skipped: ${t.file}: ${t.name} (${trouble.message})`); }
    else if (trouble) { count.failed++; console.log(`FAILED: ${t.file}: ${t.name}\n${(trouble.stack || trouble.message).replace(/^/gm, '    ')}`); }
    else { count.passed++; if (process.env.VERBOSE) console.log(`ok ${Date.now() - start} ms ${t.file}: ${t.name}`); }
}
console.log(`${count.passed} passed, ${count.failed} failed${count.skipped ? `, ${count.skipped} skipped` : ''}`);
process.exit(count.failed ? 1 : 0);
