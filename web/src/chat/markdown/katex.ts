/* katex.ts -- draws formulas. Loaded when there is one.
 *
 * KaTeX builds elements (no HTML text, no style attributes: the page's policy
 * allows neither), and nothing it draws may link or load.
 */
import katex from 'katex';

const texMax = 5000; // characters; longer is no formula

/** Draws into `host`, which shows the source as it is when that cannot be read. `plain`: without style and letters of its own. */
export function draw(tex: string, display: boolean, host: HTMLElement, plain: boolean): void {
  host.classList.remove('drawn');
  if (tex.length > texMax) return;
  try {
    katex.render(tex, host, { output: plain ? 'mathml' : 'htmlAndMathml', displayMode: display, throwOnError: true, strict: 'ignore', trust: false, maxSize: 20, maxExpand: 500 });
    host.classList.add('drawn');
  } catch {
    host.textContent = tex;
  }
}
