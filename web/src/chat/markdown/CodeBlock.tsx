/* CodeBlock.tsx -- code with its language, copy and wrap.
 *
 * Colours come when the block is finished, and change no sizes: the text is on
 * the screen at once and does not move.
 */
import { memo, useEffect, useState } from 'react';
import { CopyButton } from '../CopyButton';
import { Icon } from '../icons';
import type { Token } from './highlight';
import { t } from '../../words';

const colouredMax = 60_000; // characters; longer code stays plain rather than block the page

export const CodeBlock = memo(function CodeBlock({ code, language, closed }: { code: string; language: string; closed: boolean }) {
  const [wrap, setWrap] = useState(false);
  const tokens = useTokens(code, language, closed);
  const label = language || t.plainText;
  return (
    <figure className="code">
      <figcaption>
        <span className="code-lang">{label}</span>
        <button type="button" className="quiet" aria-pressed={wrap} onClick={() => setWrap(!wrap)} aria-label={t.wrapLines(label)}>
          <Icon name="wrap" size={16} />
        </button>
        <CopyButton text={code} label={t.copyCode(label)} words />
      </figcaption>
      <pre className={wrap ? 'wraps' : undefined} tabIndex={0} aria-label={t.codeIn(label)}>
        <code>
          {tokens
            ? tokens.map((t, i) =>
                t.kind === 'plain' ? (
                  t.text
                ) : (
                  <span key={i} className={`tk-${t.kind}`}>
                    {t.text}
                  </span>
                ),
              )
            : code}
        </code>
      </pre>
    </figure>
  );
});

function useTokens(code: string, language: string, closed: boolean): Token[] | null {
  const [tokens, setTokens] = useState<Token[] | null>(null);
  useEffect(() => {
    if (!closed || !language || code.length > colouredMax) return;
    let stale = false;
    void import('./highlight').then((h) => stale || setTokens(h.highlight(code, language)));
    return () => {
      stale = true;
    };
  }, [code, language, closed]);
  return tokens;
}
