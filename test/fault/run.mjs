// run.mjs -- every fault the promise must survive: one line per family, then how many
// cycles there were, how many broke the promise, and how many payments are uncertain
// (started, then nobody can know: told as unknown, settled by a person).
//
// node test/fault/run.mjs [WORD...]
// LONG=1: 10,000 kills, every allocation. KILLS, JOBS, SEED: see lib.mjs.
import { suite } from '../lib/test.mjs';
import { SEED, sum } from './lib.mjs';

await suite(import.meta.dirname, {
    jobs: 1,
    before: () => console.log(`SEED=${SEED}`),
    after: () => console.log(Object.entries(sum).map(([what, n]) => `${what} ${n}`).join(', ')),
});
