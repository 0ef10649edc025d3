/* Arguments.tsx -- what a call is about, in words and as a table: complete, with nothing hidden in it.
 *
 * Names and values are the model's. They wrap, so that no long one pushes
 * another away; numbers stand digit by digit as they will be used.
 */
import { useLayoutEffect, useRef, useState, type CSSProperties, type ReactNode, type RefObject } from 'react';
import { Exact, isObject, isRounded } from '../protocol';
import { textOf } from './fields';
import { reveal } from './reveal';
import { valuesIn } from './sentence';
import { number, t } from '../words';

/** Text of others, with what is not what it seems made visible. */
export function Revealed({ text, part = false }: { text: string; part?: boolean }) {
  return reveal(text, part).map((p, i) =>
    p.hidden ? (
      <mark key={i} className="hidden-char" title={p.hidden}>
        <bdi>{p.text}</bdi> <small>({p.hidden})</small>
      </mark>
    ) : (
      p.text
    ),
  );
}

/** The server's sentence, the values that were filled in standing off from its words. */
export function Sentence({ text, input }: { text: string; input: unknown }) {
  return valuesIn(text, input).map((p, i) =>
    p.value ? (
      <bdi key={i} className="filled">
        <Revealed text={p.text} />
      </bdi>
    ) : (
      <Revealed key={i} text={p.text} part />
    ),
  );
}

/** The arguments as a table; what is nested stands as JSON. */
export function Arguments({ input }: { input: unknown }) {
  const entries = isObject(input) ? Object.entries(input) : input === undefined ? [] : [['value', input] as [string, unknown]];
  if (entries.length === 0) return <p className="meta">{t.noArguments}</p>;
  return (
    <table className="args" style={{ '--names': namesWidth(entries.map(([name]) => name)) } as CSSProperties}>
      <tbody>
        {entries.map(([name, value]) => (
          <NamedRow key={name} name={name} value={value} />
        ))}
      </tbody>
    </table>
  );
}

/** In a fixed table a width is a length or a share, not the lesser of the two. */
export function namesWidth(names: readonly string[]): string {
  const longest = Math.max(...names.map((name) => name.length));
  return longest > 12 ? '40%' : `${longest + 3}ch`;
}

/** One argument; below it what else is to be said of it. */
export function NamedRow({ name, value, changed, children }: { name: string; value: unknown; changed?: boolean; children?: ReactNode }) {
  return (
    <tr data-changed={changed}>
      <th scope="row">{name === '' ? <i>{t.noName}</i> : <Revealed text={name} />}</th>
      <td>
        <Shown text={textOf(value)} json={typeof value === 'object' && value !== null && !(value instanceof Exact)} />
        {isRounded(value) && <small className="arg-long">{t.rounded}</small>}
        {children}
      </td>
    </tr>
  );
}

/** A value within a line. */
export function ValueOf({ value }: { value: unknown }) {
  return <Revealed text={textOf(value)} />;
}

/* What stands below the fold of its box is said to be there, since scrollbars hide. */
function useFold(box: RefObject<HTMLElement | null>): boolean {
  const [folds, setFolds] = useState(false);
  useLayoutEffect(() => {
    const el = box.current;
    if (!el) return;
    const measure = () => setFolds(el.scrollHeight > el.clientHeight);
    measure();
    const look = new ResizeObserver(measure);
    look.observe(el);
    return () => look.disconnect();
  }, [box]);
  return folds;
}

function Shown({ text, json = false }: { text: string; json?: boolean }) {
  const box = useRef<HTMLElement>(null);
  const long = useFold(box);
  return (
    <>
      {long && <small className="arg-long">{t.scrollAll(number(text.length))}</small>}
      {json ? (
        <pre ref={box as RefObject<HTMLPreElement>} className="wraps" tabIndex={long ? 0 : undefined}>
          <Revealed text={text} />
        </pre>
      ) : (
        <bdi ref={box} className="arg" tabIndex={long ? 0 : undefined}>
          {text === '' ? <i className="meta">{t.empty}</i> : <Revealed text={text} />}
        </bdi>
      )}
    </>
  );
}
