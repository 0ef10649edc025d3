/* Arguments.tsx -- the arguments of a call as a table: complete, and with nothing hidden in them. */
import { useLayoutEffect, useRef, useState, type RefObject } from 'react';
import { isObject } from '../protocol';
import { reveal } from './reveal';

/** The arguments as a table; what is nested stands as JSON. */
export function Arguments({ input }: { input: unknown }) {
  const entries = isObject(input) ? Object.entries(input) : input === undefined ? [] : [['value', input] as [string, unknown]];
  if (entries.length === 0) return <p className="meta">No arguments.</p>;
  return (
    <table className="args">
      <tbody>
        {entries.map(([name, value]) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td>
              <Shown
                text={typeof value === 'string' ? value : JSON.stringify(value, null, 2)}
                json={typeof value === 'object' && value !== null}
              />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
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
  const pieces = reveal(text);
  const body = pieces.map((p, i) =>
    p.hidden ? (
      <mark key={i} className="hidden-char" title={p.hidden}>
        {p.text} <small>({p.hidden})</small>
      </mark>
    ) : (
      p.text
    ),
  );
  const box = useRef<HTMLElement>(null);
  const long = useFold(box);
  return (
    <>
      {long && <small className="arg-long">{text.length.toLocaleString()} characters; scroll to read all of them</small>}
      {json ? (
        <pre ref={box as RefObject<HTMLPreElement>} className="wraps" tabIndex={long ? 0 : undefined}>
          {body}
        </pre>
      ) : (
        <span ref={box} className="arg" tabIndex={long ? 0 : undefined}>
          {text === '' ? <i className="meta">empty</i> : body}
        </span>
      )}
    </>
  );
}
