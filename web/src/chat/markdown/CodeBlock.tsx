/* CodeBlock.tsx -- code with its language, copy and wrap.
 *
 * Colours come when the block is finished, and change no sizes: the text is on
 * the screen at once and does not move. Long code stands in groups of lines: what
 * grows, and what gets its colours, is one group and not the whole.
 */
import { memo, useEffect, useMemo, useState } from 'react';
import { CopyButton } from '../CopyButton';
import { Icon } from '../icons';
import type { Token } from './highlight';
import { whenIdle } from './idle';
import { t } from '../../words';

const colouredMax = 60_000; // characters; longer code stays plain rather than keep the page busy
const groupLines = 40;
const groupsAtOnce = 2; // are coloured, and drawn again, in one task

export const CodeBlock = memo(function CodeBlock({ code, language, closed }: { code: string; language: string; closed: boolean }) {
  const [wrap, setWrap] = useState(false);
  const groups = useMemo(() => lineGroups(code), [code]);
  const tokens = useTokens(groups, language, closed && code.length <= colouredMax);
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
          {groups.length === 1 ? (
            <Lines text={code} tokens={tokens[0]} />
          ) : (
            groups.map((text, i) => (
              <span key={i} className="lines">
                <Lines text={text} tokens={tokens[i]} />
              </span>
            ))
          )}
        </code>
      </pre>
    </figure>
  );
});

const Lines = memo(function Lines({ text, tokens }: { text: string; tokens: Token[] | undefined }) {
  if (!tokens) return text;
  return tokens.map((t, i) =>
    t.kind === 'plain' ? (
      t.text
    ) : (
      <span key={i} className={`tk-${t.kind}`}>
        {t.text}
      </span>
    ),
  );
});

/** The code in groups of lines, the line breaks between them left out: each is a block of its own. A group ends with a
 * line that is not empty, since an empty last line of a block has no height; where the next begins does not change when
 * the code grows. */
export function lineGroups(code: string): string[] {
  const lines = code.split('\n');
  const out: string[] = [];
  let from = 0;
  for (let i = groupLines; i < lines.length; i++) {
    if (i - from < groupLines || lines[i - 1] === '') continue;
    out.push(lines.slice(from, i).join('\n'));
    from = i;
  }
  return [...out, lines.slice(from).join('\n')];
}

/** The tokens of the whole as those of its groups. */
export function* tokensByGroup(tokens: Iterable<Token>, groups: readonly string[]): Generator<Token[]> {
  let at = 0;
  let left = groups[0]!.length;
  let out: Token[] = [];
  for (const { kind, text } of tokens) {
    let rest = text;
    while (rest.length > left) {
      if (left > 0) out.push({ kind, text: rest.slice(0, left) });
      yield out;
      rest = rest.slice(left + 1); // the line break between two groups
      out = [];
      left = groups[++at]!.length;
    }
    if (rest) out.push({ kind, text: rest });
    left -= rest.length;
  }
  yield out;
}

const none: Token[][] = [];

function useTokens(groups: readonly string[], language: string, wanted: boolean): Token[][] {
  const [found, setFound] = useState<{ groups: readonly string[]; tokens: Token[][] } | null>(null);
  useEffect(() => {
    if (!wanted || !language) return;
    let stale = false;
    void import('./highlight').then(({ tokensOf }) => {
      const all = tokensOf(groups.join('\n'), language);
      if (!all || stale) return;
      const each = tokensByGroup(all, groups);
      const tokens: Token[][] = [];
      whenIdle(() => {
        let done = stale;
        for (let n = 0; n < groupsAtOnce && !done; n++) {
          const next = each.next();
          if (next.done) done = true;
          else tokens.push(next.value);
        }
        if (!stale) setFound({ groups, tokens: [...tokens] });
        return !done;
      });
    });
    return () => {
      stale = true;
    };
  }, [groups, language, wanted]);
  return found?.groups === groups ? found.tokens : none;
}
