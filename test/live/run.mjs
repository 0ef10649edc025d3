// run.mjs -- runs test/live/*.test.mjs, a few tests at once, and ends with
// "N passed, N failed[, N skipped]".   node test/live/run.mjs [WORD...] runs the
// tests whose "file: name" contains one of the words. JOBS: how many at once (default 3).
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { Context, Skip, inFile, tests, wanted, within } from './lib.mjs';

const TEST_MS = 60000;
const here = path.dirname(fileURLToPath(import.meta.url));
const verbose = !!process.env.VERBOSE;

for (const name of fs.readdirSync(here).filter((n) => n.endsWith('.test.mjs')).sort()) {
    inFile(name.replace('.test.mjs', ''));
    await import(path.join(here, name));
}

// A promise nobody waits for any more must not end the others.
process.on('unhandledRejection', () => {});

const todo = tests.filter((t) => wanted(`${t.file}: ${t.name}`));
const count = { passed: 0, failed: 0, skipped: 0 };

// The test's own end and the end of what it opened both count.
async function one(t) {
    const context = new Context();
    const start = Date.now();
    let trouble;
    try { await within(t.run(context), 'the test', t.timeout_ms ?? TEST_MS); } catch (e) { trouble = e; }
    try { await context.close(); } catch (e) { trouble = trouble && !(trouble instanceof Skip) ? new AggregateError([trouble, e], `${trouble.stack}\n  and: ${e.message}`) : e; }
    if (trouble instanceof Skip) { count.skipped++; console.log(`skipped: ${t.file}: ${t.name} (${trouble.message})`); }
    else if (trouble) { count.failed++; console.log(`FAILED: ${t.file}: ${t.name}\n${(trouble.stack || trouble.message).replace(/^/gm, '    ')}`); }
    else { count.passed++; if (verbose) console.log(`ok ${Date.now() - start} ms ${t.file}: ${t.name}`); }
}

// The long ones first, so that none is left alone at the end.
todo.sort((a, b) => (b.timeout_ms ?? TEST_MS) - (a.timeout_ms ?? TEST_MS));
const worker = async () => { for (let t; (t = todo.shift());) await one(t); };
await Promise.all(Array.from({ length: Number(process.env.JOBS || 3) }, worker));

console.log(`${count.passed} passed, ${count.failed} failed${count.skipped ? `, ${count.skipped} skipped` : ''}`);
process.exit(count.failed ? 1 : 0);
