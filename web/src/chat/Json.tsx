/* Json.tsx -- a value, readable: text as text, the rest as coloured JSON, in its order; long ones cut with "Show all". */
import { memo, useState } from 'react';
import { InOrder } from './Arguments';
import { CopyButton } from './CopyButton';
import { turns } from './order';
import { unturned } from './reveal';
import { number, t } from '../words';

const shownMax = 4000; // characters on first sight

export const ValueBlock = memo(function ValueBlock({ label, value, name }: { label: string; value: unknown; name: string }) {
  const [all, setAll] = useState(false);
  const isText = typeof value === 'string';
  const full = isText ? value : (JSON.stringify(value, null, 2) ?? t.nothing);
  const cut = !all && full.length > shownMax;
  const shown = unturned(cut ? full.slice(0, shownMax) : full);
  return (
    <section className="value">
      <header>
        <h3>{label}</h3>
        <CopyButton text={full} label={t.copyValue(label, name)} />
      </header>
      <pre tabIndex={0} aria-label={t.valueOf(label, name)} className="wraps" dir={isText ? 'auto' : undefined}>
        {isText ? shown : turns(shown) ? <bdo dir="ltr">{colour(shown)}</bdo> : colour(shown)}
        {cut && '…'}
      </pre>
      {cut && (
        <button type="button" className="link" onClick={() => setAll(true)}>
          {t.showAll(number(full.length))}
        </button>
      )}
    </section>
  );
});

const token = /("(?:\\.|[^"\\])*")(\s*:)?|\b(?:true|false|null)\b|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

function colour(json: string) {
  const out = [];
  let at = 0;
  for (const m of json.matchAll(token)) {
    if (m.index > at) out.push(json.slice(at, m.index));
    const kind = m[2] !== undefined ? 'name' : m[1] !== undefined ? 'string' : 'number';
    out.push(
      <span key={m.index} className={`tk-${kind}`}>
        <InOrder text={m[1] ?? m[0]} />
      </span>,
    );
    if (m[2]) out.push(m[2]);
    at = m.index + m[0].length;
  }
  out.push(json.slice(at));
  return out;
}
