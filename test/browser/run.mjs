// node test/browser/run.mjs [WORD...]: the page in a real browser against the real server. Two
// tests at a time, but for those that measure.
import { suite } from '../lib/test.mjs';
import { launch, quit } from './lib/page.mjs';
import { Test, report } from './lib/test.mjs';

await suite(import.meta.dirname, {
  jobs: 2,
  timeout_ms: 180_000,
  context: Test,
  alone: (x) => /\d ms|quickly/.test(x.name),
  before: launch,
  after: () => quit().then(() => report.print()),
});
