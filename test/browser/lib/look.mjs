// What a page looks like: axe's findings, things that stick out, and the pictures for the documentation.
import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { same } from '../../lib/check.mjs';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const screens = join(import.meta.dirname, '../../../docs/screens');

/** What axe finds, as lines. */
export const violations = (tab, ...impacts) => found(tab, { resultTypes: ['violations'] }, impacts);

/** The same where all was looked at before and only the colours are others. */
export const unreadable = (tab) => found(tab, { resultTypes: ['violations'], runOnly: ['color-contrast', 'link-in-text-block'] });

async function found(tab, options, impacts = []) {
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
  if (!(await tab.page.evaluate(() => 'axe' in window))) await tab.page.evaluate(axe);
  const { violations } = await tab.page.evaluate((o) => window.axe.run(document, o), options);
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

/** With SCREENS=1 the pictures of the documentation are renewed; otherwise nobody would look at them. */
export async function shot(tab, name) {
  if (!process.env.SCREENS) return;
  mkdirSync(screens, { recursive: true });
  await tab.page.evaluate(() => document.fonts.ready);
  await tab.page.screenshot({ path: join(screens, `${name}.png`), animations: 'disabled' });
}

/** As wide as this, in the light or the dark that the system wishes. */
export async function dress(tab, [width, theme, height = 800]) {
  await tab.page.setViewportSize({ width, height });
  await tab.page.emulateMedia({ colorScheme: theme });
}

export const everyLook = [
  [375, 'light'],
  [375, 'dark'],
  [1440, 'light'],
  [1440, 'dark'],
];

/** The page as it stands, in each look (those of one width one after another): axe finds nothing and nothing sticks out. `more(width, theme)` is looked at there as well. */
export async function fitsIn(tab, looks, what, more) {
  for (const [n, look] of looks.entries()) {
    await dress(tab, look);
    same(await (look[0] === looks[n - 1]?.[0] ? unreadable : violations)(tab), [], `axe, ${what}, ${look.join(', ')}`);
    same(await sticksOut(tab), 0, `the width, ${what}, ${look.join(', ')}`);
    await more?.(...look);
  }
}

/** Whether the page is wider than the screen. */
export async function sticksOut(tab) {
  return tab.page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
}

/**
 * What lies beside the window; what goes on beside what is seen of it, and no key brings it into sight; cells whose words run
 * into the next one's; and the page itself when it is wider than the window.
 */
export async function beside(tab) {
  return tab.page.evaluate(() => {
    const reached = (e) => e && (e.matches('pre, input, textarea, [tabindex="0"]') || reached(e.parentElement));
    const shown = (e) => e.checkVisibility({ visibilityProperty: true }) && e.getClientRects().length > 0 && !e.closest('.sr, svg *');
    const goesOn = (e) => e.scrollWidth > e.clientWidth + 1 && (/auto|scroll/.test(getComputedStyle(e).overflowX) || e.matches('th, td'));
    const out = [...document.body.querySelectorAll('*')].filter((e) => {
      const { left, right, width } = e.getBoundingClientRect();
      const isOut = right > innerWidth + 1 || left < -1;
      return width > 0 && shown(e) && (e.matches('th, td') ? goesOn(e) : (isOut || goesOn(e)) && !reached(e));
    });
    const wide = document.scrollingElement.scrollWidth - innerWidth;
    return [...(wide > 0 ? [`the page, by ${wide} px`] : []), ...out.map((e) => `${e.localName}.${e.className} (${e.textContent.slice(0, 30)})`)];
  });
}
