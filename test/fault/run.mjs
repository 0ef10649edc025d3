// run.mjs -- every fault the promise must survive: one line per family, then how many
// cycles there were, how many broke the promise, and how many payments are uncertain
// (started, then nobody can know: told as unknown, settled by a person).
//
// node test/fault/run.mjs [WORD...]      only families whose name contains one of the words
// LONG=1: 10,000 kills, every allocation. KILLS, JOBS, SEED: see lib.mjs.
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { wanted } from '../live/lib.mjs';
import { SEED, families } from './lib.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
process.on('unhandledRejection', () => {});
for (const f of fs.readdirSync(here).sort()) if (f.endsWith('.mjs') && !['run.mjs', 'lib.mjs'].includes(f)) await import(`./${f}`);

const sum = { cycles: 0, violations: 0, uncertain: 0, skipped: 0 };
console.log(`SEED=${SEED}`);
for (const f of families.filter((x) => wanted(x.name))) {
    const start = Date.now();
    try { await f.run(f); } catch (e) { f.violations++; f.cycles++; console.log(`FAILED: ${f.name}\n${(e.stack || String(e)).replace(/^/gm, '    ')}`); }
    if (f.skipped) { sum.skipped++; console.log(`skipped: ${f.name}: ${f.skipped}`); }
    const notes = Object.entries(f.notes).sort().map(([k, v]) => `${k} ${v}`).join(', ');
    if (f.cycles) console.log(`  ${f.name}: ${f.cycles} cycles, ${f.violations} violations, ${f.uncertain} uncertain, ${((Date.now() - start) / 1000).toFixed(1)} s${notes && ` (${notes})`}`);
    for (const k of ['cycles', 'violations', 'uncertain']) sum[k] += f[k];
}
console.log(`cycles ${sum.cycles}, violations ${sum.violations}, uncertain ${sum.uncertain}`);
console.log(`${sum.cycles - sum.violations} passed, ${sum.violations} failed${sum.skipped ? `, ${sum.skipped} skipped` : ''}`);
process.exit(sum.violations ? 1 : 0);
