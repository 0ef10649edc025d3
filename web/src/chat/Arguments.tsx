/* Arguments.tsx -- what a call is about, in words and as a table: complete, with nothing hidden in it.
 *
 * Names and values are the model's. They wrap, and long ones scroll in a box of
 * their own that says so: none pushes another away. Numbers stand digit by digit
 * as they will be used, and everything in the order in which it is stored (order.ts).
 */
import { useLayoutEffect, useRef, useState, type CSSProperties, type ReactNode, type RefObject } from 'react';
import { Exact, isObject, isRounded } from '../protocol';
import { textOf } from './fields';
import { mixes, stretches, turns } from './order';
import { reveal } from './reveal';
import { values, valuesIn } from './sentence';
import { number, t } from '../words';

/** Text of others, in its order, with what is not what it seems made visible: `part` of a text of ours, or a `name`. */
export function Revealed({ text, part = false, name = false }: { text: string; part?: boolean; name?: boolean }) {
  const pieces = reveal(text, part ? 'part' : name ? 'name' : 'whole').map((p, i) =>
    p.hidden ? (
      <mark key={i} className="hidden-char" title={p.hidden}>
        <InOrder text={p.text} /> <small>({p.hidden})</small>
      </mark>
    ) : (
      <InOrder key={i} text={p.text} />
    ),
  );
  return turns(text) ? <bdo dir="ltr">{pieces}</bdo> : pieces;
}

/** Within a <bdo>: stretches of letters that are read from right to left in isolates of their own. */
export function InOrder({ text }: { text: string }) {
  return stretches(text).map((s, i) => (i % 2 ? <bdi key={i} dir="rtl">{s}</bdi> : s));
}

/** Said beside it where letters of both directions meet. */
export function OrderNote({ text }: { text: string }) {
  return mixes(text) && <small className="meta"> ({t.inOrder})</small>;
}

/** The server's sentence, the values that were filled in standing off from its words. */
export function Sentence({ text, input, now }: { text: string; input: unknown; /** What they become, where somebody changes them. */ now?: unknown }) {
  const left = now === undefined ? null : new Set(values(now));
  const spans = valuesIn(text, input).map((p, i) =>
    p.value ? (
      <bdi key={i} className="filled">
        {left && !left.has(p.text) ? (
          <del>
            <Revealed text={p.text} />
          </del>
        ) : (
          <Revealed text={p.text} />
        )}
      </bdi>
    ) : (
      <Revealed key={i} text={p.text} part />
    ),
  );
  return <bdo dir="ltr">{spans}</bdo>;
}

/** As rows of a table. */
export function entriesOf(input: unknown): [string, unknown][] {
  return isObject(input) ? Object.entries(input) : input === undefined ? [] : [['value', input]];
}

/** The arguments as a table; what is nested stands as JSON. */
export function Arguments({ input }: { input: unknown }) {
  const entries = entriesOf(input);
  if (entries.length === 0) return <p className="meta">{t.noArguments}</p>;
  return (
    <>
      {entries.length > many && <p className="arg-count">{t.argumentCount(entries.length)}</p>}
      <table className="args" style={{ '--names': namesWidth(entries.map(([name]) => name)) } as CSSProperties}>
        <tbody>
          {entries.map(([name, value]) => (
            <NamedRow key={name} name={name} value={value} />
          ))}
        </tbody>
      </table>
    </>
  );
}

/* More than are seen at a glance: how many there are is said first. */
const many = 12;

const wideName = 20; // digits; a longer one wraps

/** What the longest of them needs. */
export function namesWidth(names: readonly string[]): string {
  return `${Math.min(wideName, Math.max(...names.map(widthOf))) + 3}ch`;
}

/* In digits; letters of East Asia take two. */
function widthOf(name: string): number {
  return [...name].reduce((n, c) => n + (/[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\u{1f300}-\u{3fffd}]/u.test(c) ? 2 : 1), 0);
}

/** One argument; below it what else is to be said of it. */
export function NamedRow({ name, value, changed, children }: { name: string; value: unknown; changed?: boolean; children?: ReactNode }) {
  return (
    <tr data-changed={changed}>
      <th scope="row">{name === '' ? <i>{t.noName}</i> : <Shown text={name} kind="name" />}</th>
      <td>
        <Shown text={textOf(value)} kind={typeof value === 'object' && value !== null && !(value instanceof Exact) ? 'json' : 'value'} />
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

/* What is nested deeply stays within the card: from some depth on lines begin in the same place. Line breaks and blanks
 * of the model's are within quotation marks, so these are none of them. */
function withinCard(json: string): string {
  return json.replace(/^ {17,}/gm, ' '.repeat(16));
}

function Shown({ text, kind }: { text: string; kind: 'name' | 'value' | 'json' }) {
  const box = useRef<HTMLElement>(null);
  const long = useFold(box);
  return (
    <>
      {long && <small className="arg-long">{t.scrollAll(number(text.length))}</small>}
      {kind === 'json' ? (
        <pre ref={box as RefObject<HTMLPreElement>} className="wraps" tabIndex={long ? 0 : undefined}>
          <Revealed text={withinCard(text)} />
          <OrderNote text={text} />
        </pre>
      ) : (
        <bdi ref={box} className={kind === 'name' ? 'arg-name' : 'arg'} tabIndex={long ? 0 : undefined}>
          {text === '' ? <i className="meta">{t.empty}</i> : <Revealed text={text} name={kind === 'name'} />}
          <OrderNote text={text} />
        </bdi>
      )}
    </>
  );
}
