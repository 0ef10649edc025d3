// What a page looks like: axe's findings, things that stick out, and the pictures for the documentation.
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
// SCREENS=1 renews the pictures of the documentation; otherwise a test run leaves the tree as it was.
const screens = process.env.SCREENS ? join(import.meta.dirname, '../../../docs/screens') : mkdtempSync(join(tmpdir(), 'parley-screens-'));
if (!process.env.SCREENS) process.on('exit', () => rmSync(screens, { recursive: true, force: true }));
mkdirSync(screens, { recursive: true });

/** What axe finds, as lines. */
export async function violations(tab, ...impacts) {
  // Something that fades in has no contrast yet.
  await tab.page.evaluate(() =>
    Promise.all(
      document
        .getAnimations()
        .filter((a) => a.effect?.getTiming().iterations !== Infinity)
        .map((a) => a.finished.catch(() => {})),
    ),
  );
  // Through the driver, not as a script of the page: its policy forbids that, as it should.
  await tab.page.evaluate(axe);
  const { violations } = await tab.page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
  return violations
    .filter((v) => impacts.length === 0 || impacts.includes(v.impact))
    .map(
      (v) =>
        `${v.id}: ${v.nodes
          .slice(0, 3)
          .map((n) => n.target.join(' '))
          .join(', ')}`,
    );
}

export async function shot(tab, name) {
  await tab.page.evaluate(() => document.fonts.ready);
  await tab.page.screenshot({ path: join(screens, `${name}.png`), animations: 'disabled' });
}

/** Whether the page is wider than the screen. */
export async function sticksOut(tab) {
  return tab.page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
}
