/* Formula.tsx -- a formula: its source until the drawing code has come, and when that cannot read it.
 *
 * The code, its style and its letters are files of this server, loaded with the
 * first formula that is complete. In somebody else's page (a shadow root, where no
 * style sheet brings letters) the browser's own mathematics is used.
 */
import { memo, useEffect, useLayoutEffect, useRef, useState } from 'react';
import { t } from '../../words';

type Draw = typeof import('./katex').draw;

let loaded: Draw | null = null;

function isApart(el: Element | null): boolean {
  return el?.getRootNode() instanceof ShadowRoot;
}

export const Formula = memo(function Formula({ tex, display, half }: { tex: string; display: boolean; half: boolean }) {
  const host = useRef<HTMLSpanElement>(null);
  const [draw, setDraw] = useState(() => loaded);
  useEffect(() => {
    if (half || draw) return;
    let stale = false;
    const style = isApart(host.current) ? null : import('katex/dist/katex.min.css');
    Promise.all([import('./katex'), style]).then(
      ([k]) => {
        loaded = k.draw;
        if (!stale) setDraw(() => k.draw);
      },
      () => {}, // not reachable: the source stays
    );
    return () => {
      stale = true;
    };
  }, [half, draw]);
  useLayoutEffect(() => {
    if (!half && draw && host.current) draw(tex, display, host.current, isApart(host.current));
  }, [tex, display, half, draw]);
  // One text child: React puts new text in place of whatever was drawn.
  return display ? (
    <span ref={host} className="formula display" tabIndex={0} role="group" aria-label={t.formula}>
      {tex}
    </span>
  ) : (
    <span ref={host} className="formula">
      {tex}
    </span>
  );
});
