/* Diagram.tsx -- a mermaid block: its code while it grows, then the picture it describes. */
import { memo, useContext, useEffect, useRef, useState, useSyncExternalStore } from 'react';
import { BaseContext } from '../context';
import { CopyButton } from '../CopyButton';
import { CodeBlock } from './CodeBlock';
import type { Picture } from './mermaid';
import { t } from '../../words';

const codeMax = 20_000; // characters; longer ones stay code

export const Diagram = memo(function Diagram({ code, closed }: { code: string; closed: boolean }) {
  const dark = useDark();
  const base = useContext(BaseContext);
  const here = useRef<HTMLSpanElement>(null);
  const [picture, setPicture] = useState<Picture | null>(null);
  useEffect(() => {
    if (!closed || code.length > codeMax) return;
    let stale = false;
    import('./mermaid')
      .then((m) => (here.current ? m.draw(code, here.current, base) : null))
      .then(
        (p) => stale || setPicture(p),
        () => stale || setPicture(null), // it stays code
      );
    return () => {
      stale = true;
    };
  }, [code, closed, dark, base]);
  return (
    <>
      {picture ? <Drawn picture={picture} code={code} /> : <CodeBlock code={code} language="mermaid" closed={closed} />}
      <span ref={here} hidden />
    </>
  );
});

function Drawn({ picture, code }: { picture: Picture; code: string }) {
  const [asCode, setAsCode] = useState(false);
  return (
    <figure className="code diagram">
      <figcaption>
        <span className="code-lang">{t.diagram}</span>
        <button type="button" className="quiet" aria-pressed={asCode} onClick={() => setAsCode(!asCode)}>
          {t.code}
        </button>
        <CopyButton text={code} label={t.copyCode(t.diagram)} words />
      </figcaption>
      {asCode ? (
        <pre tabIndex={0} aria-label={t.codeIn(t.diagram)}>
          <code>{code}</code>
        </pre>
      ) : (
        <div className="diagram-view" tabIndex={0} role="group" aria-label={t.diagramView}>
          <img src={picture.url} width={picture.width} height={picture.height} alt={t.diagramAlt} />
        </div>
      )}
    </figure>
  );
}

/* Dark by choice or by the system: what the page's colours follow. */
const darkSystem = typeof matchMedia === 'function' ? matchMedia('(prefers-color-scheme: dark)') : null;

function useDark(): boolean {
  return useSyncExternalStore(watchTheme, isDark, () => false);
}

function isDark(): boolean {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === 'dark' : (darkSystem?.matches ?? false);
}

function watchTheme(changed: () => void): () => void {
  const seen = new MutationObserver(changed);
  seen.observe(document.documentElement, { attributeFilter: ['data-theme'] });
  darkSystem?.addEventListener('change', changed);
  return () => {
    seen.disconnect();
    darkSystem?.removeEventListener('change', changed);
  };
}
