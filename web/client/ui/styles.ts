/* styles.ts -- the page's own style sheets, made fit to live inside somebody else's page.
 *
 * They go into a shadow root as a constructed sheet: no policy of the host has to
 * allow it, its rules do not reach in and ours do not reach out. What they say of
 * the document is said of our outermost element; sizes that depend on the
 * document (rem, the window) depend on that element instead, so that a narrow
 * tray on a wide screen is laid out as narrow.
 */
import cards from '../../src/app/styles/cards.css?raw';
import chat from '../../src/app/styles/chat.css?raw';
import decision from '../../src/app/styles/decision.css?raw';
import inbox from '../../src/app/styles/inbox.css?raw';
import page from '../../src/app/styles/page.css?raw';
import panels from '../../src/app/styles/panels.css?raw';
import short from '../../src/app/styles/short.css?raw';
import text from '../../src/app/styles/text.css?raw';
import tokens from '../../src/app/styles/tokens.css?raw';
import touch from '../../src/app/styles/touch.css?raw';
import own from './own.css?raw';

/** In the order of the page itself. */
export const pageSheets = { tokens, page, chat, cards, decision, text, panels, inbox, touch, short };

const root_px = 16;

/** A sheet of the page, rewritten for an element `.parley`. */
export function enclose(css: string): string {
  return css
    .replace(/\/\*[^]*?\*\//g, '')
    .replace(/@media \((max|min)-(width|height): (\d+)px\)/g, '@container parley ($1-$2: $3px)')
    .replace(/:root\b/g, '.parley')
    .replace(/(^|[\s,}])(?:html|body|#root)(?=\s*[,{])/g, '$1.parley')
    .replace(/(\d*\.?\d+)rem\b/g, (_, n: string) => `${Number(n) * root_px}px`)
    .replace(/(\d+)dvh\b/g, '$1cqh')
    .replace(/\s+/g, ' ');
}

let made: CSSStyleSheet | null = null;

/** One for all that is shown, made with the first. */
export function sheet(): CSSStyleSheet {
  if (!made) {
    made = new CSSStyleSheet();
    made.replaceSync(
      ['.parley{all:initial}', ...Object.values(pageSheets).map(enclose), own].join('\n'),
    );
  }
  return made;
}
