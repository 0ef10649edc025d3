/* katex.ts -- draws formulas. Loaded when there is one.
 *
 * KaTeX builds elements (no HTML text, no style attributes: the page's policy
 * allows neither), and nothing it draws may link or load.
 */
import katex from 'katex';
import 'katex/dist/katex.min.css';

const texMax = 5000; // characters; longer is no formula

/** Draws into `host`, which shows the source as it is when that cannot be read. */
export function draw(tex: string, display: boolean, host: HTMLElement): void {
  host.classList.remove('drawn');
  if (tex.length > texMax) return;
  try {
    katex.render(tex, host, { displayMode: display, throwOnError: true, strict: 'ignore', trust: false, maxSize: 20, maxExpand: 500 });
    host.classList.add('drawn');
  } catch {
    host.textContent = tex;
  }
}
