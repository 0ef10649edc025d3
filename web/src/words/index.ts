/* index.ts -- the words of the page in the language of the person who reads it.
 *
 * `t` is the table in use: English, until another was loaded. It is looked up when something is drawn, so nothing may keep a
 * word of it in a constant; whoever changes the language draws everything anew (app/main.tsx, client/ui/page.ts).
 */
import { en, type Words } from './en';

export type { Words } from './en';
export { plural } from './plural';

/** Those the page has, in the order in which it offers them. */
export const languages = ['en', 'de', 'ja'] as const;
export type Language = (typeof languages)[number];

/** As they call themselves: whoever reads the wrong one must find their own. */
export const languageNames: Record<Language, string> = { en: 'English', de: 'Deutsch', ja: '日本語' };

const tables: Record<Language, () => Promise<Words>> = {
  en: () => Promise.resolve(en),
  de: () => import('./de').then((m) => m.de),
  ja: () => import('./ja').then((m) => m.ja),
};

export let t: Words = en;
export let language: Language = 'en';
/** For Intl: the language of the words, in the region of the browser if that is one of its own. */
export let locale: string = 'en';

let wanted: Language = 'en';

/** Of several that are asked for at once the last one counts. */
export async function speak(next: Language): Promise<void> {
  wanted = next;
  const table = await tables[next]();
  if (wanted !== next) return;
  t = table;
  language = next;
  locale = navigator.languages?.find((l) => baseOf(l) === next) ?? next;
}

function baseOf(tag: string): string {
  return tag.toLowerCase().split('-')[0]!;
}

/** The first of `wanted` that is offered; else the first offered. */
export function choose(offered: readonly Language[], wanted: readonly string[]): Language {
  for (const tag of wanted) {
    const found = offered.find((l) => l === baseOf(tag));
    if (found) return found;
  }
  return offered[0] ?? 'en';
}

export function isLanguage(value: unknown): value is Language {
  return (languages as readonly unknown[]).includes(value);
}

export function number(n: number, options?: Intl.NumberFormatOptions): string {
  return new Intl.NumberFormat(locale, options).format(n);
}
