// node test/packaging/run.mjs [WORD...]: what is installed, the manual, completion, the unit.
// With ALL=1 also what builds packages and installs them into roots of its own. One after the other.
import { suite } from '../lib/test.mjs';

await suite(import.meta.dirname, { jobs: 1 });
