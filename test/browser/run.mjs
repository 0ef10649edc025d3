// node test/browser/run.mjs [WORD...]: the page in a real browser against the real server. Four
// tests at a time; with SPEED=1 those that measure run alone, and are held to their limits.
import { suite } from '../lib/test.mjs';
import { launch, quit } from './lib/page.mjs';
import { Test, report } from './lib/test.mjs';

await suite(import.meta.dirname, {
  jobs: Number(process.env.JOBS || 4),
  timeout_ms: 180_000,
  context: Test,
  alone: (x) => process.env.SPEED && /\d ms|quickly/.test(x.name),
  before: launch,
  after: () => quit().then(() => report.print()),
});
