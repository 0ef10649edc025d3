// node test/browser/run.mjs [parts of names]: every test of this folder in a real browser against the real server.
// Two at a time, but for those that measure. Ends with "N passed, N failed"; exits 1 when a test failed.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { launch, quit } from './lib/page.mjs';
import { Report } from './lib/report.mjs';
import { Test, tests } from './lib/test.mjs';

const words = process.argv.slice(2);
const folder = import.meta.dirname;
for (const file of readdirSync(folder)
  .filter((n) => n.endsWith('.test.mjs'))
  .sort())
  await import(join(folder, file));

const report = new Report();
let passed = 0;
let failed = 0;
await launch();
const chosen = tests.filter((t) => !words.length || words.some((w) => t.name.includes(w)));
const measuring = chosen.filter((t) => /\d ms|quickly/.test(t.name));
const others = chosen.filter((t) => !measuring.includes(t));
for (const t of measuring) await run(t);
await Promise.all([worker(), worker()]);
await quit();
report.print();
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);

async function worker() {
  for (let t = others.shift(); t; t = others.shift()) await run(t);
}

async function run({ name, body }) {
  const test = new Test(name, report);
  const start = performance.now();
  try {
    await withDeadline(body(test), 180_000);
    await test.check();
    passed++;
    console.log(`ok    ${name} (${Math.round(performance.now() - start)} ms)`);
  } catch (error) {
    failed++;
    console.log(
      `FAILED: ${name}\n      ${String(error.stack ?? error)
        .split('\n')
        .slice(0, 12)
        .join('\n      ')}`,
    );
    await test.autopsy();
  } finally {
    await test.done();
  }
}

function withDeadline(promise, ms) {
  let timer;
  const late = new Promise((_, reject) => (timer = setTimeout(() => reject(new Error(`not finished within ${ms} ms`)), ms)));
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}
