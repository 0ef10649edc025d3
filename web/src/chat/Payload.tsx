/* Payload.tsx -- what an answer offers next: chips, actions, and things made for the page. */
import { useState } from 'react';
import { isObject, type CustomPayload, type Payload, type SuggestedAction } from '../protocol';
import { Revealed } from './Arguments';
import { useChat } from './context';
import { Icon } from './icons';
import { ValueBlock } from './Json';
import { soundsLikeAnswer, soundsLikeDecision } from './answers';
import { humanName } from './words';
import { t } from '../words';

export function PayloadView({ payload, last: newest }: { payload: Payload; last: boolean }) {
  const last = newest && !useChat().reads; // nothing to press in what is only read
  const { custom } = payload;
  const actions = payload.suggestedActions.filter((a) => !soundsLikeDecision(a.label) && !soundsLikeAnswer(a.label));
  const values = payload.suggestedValues.filter((v) => !soundsLikeDecision(v.label)); // a chip "Yes" says so, and no more
  return (
    <>
      {custom && <Custom payload={custom} />}
      {last && actions.length > 0 && (
        <div className="actions" role="group" aria-label={t.actions}>
          {actions.map((a, i) => (
            <ActionButton key={`${a.action}-${i}`} action={a} />
          ))}
        </div>
      )}
      {last && values.length > 0 && (
        <div className="chips" role="group" aria-label={t.suggested}>
          {values.map((v, i) => (
            <Chip key={i} label={v.label} value={v.value} />
          ))}
        </div>
      )}
    </>
  );
}

/* More than a chip can show is not sent unread: it goes into the composer. */
const shownMax = 160; // characters

/* A chip shows what it sends, where that is not what it is called. */
function Chip({ label, value }: { label: string; value: string }) {
  const chat = useChat();
  const long = value.length > shownMax;
  const other = value.trim() !== label.trim();
  return (
    <button
      type="button"
      className="chip"
      title={long ? t.chipFill : t.chipSend}
      onClick={(e) => (e.shiftKey || long ? chat.fill(value) : chat.send(value))}
    >
      <Revealed text={label} name />
      {other && (
        <small>
          <Revealed text={long ? `${value.slice(0, shownMax)}…` : value} />
        </small>
      )}
    </button>
  );
}

type Progress = { state: 'idle' | 'busy' | 'done' } | { state: 'failed'; why: string };

/* A double click acts once: only an idle or failed button takes a click. */
function ActionButton({ action }: { action: SuggestedAction }) {
  const chat = useChat();
  const [p, setP] = useState<Progress>({ state: 'idle' });
  const run = () => {
    if (p.state === 'busy' || p.state === 'done') return;
    setP({ state: 'busy' });
    chat.act(action).then(
      () => setP({ state: 'done' }),
      (e: unknown) => setP({ state: 'failed', why: e instanceof Error ? e.message : t.failed }),
    );
  };
  const style = action.style ?? 'secondary';
  return (
    <span className="action">
      <button
        type="button"
        className={`button act-${style}`}
        data-state={p.state}
        aria-busy={p.state === 'busy'}
        aria-disabled={p.state === 'busy' || p.state === 'done'}
        onClick={run}
      >
        {p.state === 'done' && <Icon name="check" size={16} />}
        {style === 'warning' && p.state !== 'done' && <Icon name="warning" size={16} />}
        <Revealed text={action.label} name />
        {p.state === 'busy' && '…'}
      </button>
      {p.state === 'failed' && (
        <span className="action-error" role="alert">
          {p.why}
        </span>
      )}
    </span>
  );
}

function Custom({ payload }: { payload: CustomPayload }) {
  switch (payload.type) {
    case 'tool_history':
      return null; // the cards show it
    case 'schema_proposal':
      return <Schema data={payload.data} />;
    case 'presentation_categories':
    case 'stream_suggestions':
      return <Listing title={humanName(payload.type)} data={payload.data} />;
    default:
      return (
        <details className="custom">
          <summary>{humanName(payload.type)}</summary>
          <ValueBlock label={t.data} value={payload.data} name={payload.type} />
        </details>
      );
  }
}

/* A proposed schema: tables with their columns, or whatever list of fields is there. */
function Schema({ data }: { data: unknown }) {
  const tables = tablesOf(data);
  if (tables.length === 0) return <Listing title={t.schema} data={data} />;
  return (
    <section className="custom" aria-label={t.schema}>
      <h3>{t.schema}</h3>
      {tables.map(({ name, columns }) => (
        <div key={name} className="table" tabIndex={0} role="group" aria-label={t.tableNamed(name)}>
          <table>
            <caption>{name}</caption>
            <thead>
              <tr>
                <th>{t.column}</th>
                <th>{t.type}</th>
                {columns.some((c) => c.notes) && <th>{t.notes}</th>}
              </tr>
            </thead>
            <tbody>
              {columns.map((c, i) => (
                <tr key={i}>
                  <td>
                    <code>{c.name}</code>
                  </td>
                  <td>{c.type}</td>
                  {columns.some((x) => x.notes) && <td>{c.notes}</td>}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      ))}
    </section>
  );
}

interface Column {
  name: string;
  type: string;
  notes: string;
}

function tablesOf(data: unknown): { name: string; columns: Column[] }[] {
  if (!isObject(data)) return [];
  const list = Array.isArray(data.tables) ? data.tables : [data];
  return list.filter(isObject).flatMap((x) => {
    const raw = x.columns ?? x.fields ?? (isObject(x.properties) ? x.properties : undefined);
    const columns = columnsOf(raw);
    return columns.length ? [{ name: String(x.name ?? x.table ?? x.title ?? t.table), columns }] : [];
  });
}

function columnsOf(raw: unknown): Column[] {
  const entries: [string, unknown][] = Array.isArray(raw)
    ? raw.map((c) => [isObject(c) ? String(c.name ?? '') : String(c), c])
    : isObject(raw)
      ? Object.entries(raw)
      : [];
  return entries.map(([name, c]) => {
    const o = isObject(c) ? c : {};
    const notes = ['description', 'notes', 'note'].map((k) => o[k]).find((x) => typeof x === 'string') as string | undefined;
    const flags = [
      o.primary_key || o.primary ? t.primaryKey : '',
      o.required || o.nullable === false ? t.required : '',
      o.unique ? t.unique : '',
    ].filter(Boolean);
    return { name, type: typeof c === 'string' ? c : String(o.type ?? ''), notes: [notes, ...flags].filter(Boolean).join(', ') };
  });
}

function Listing({ title, data }: { title: string; data: unknown }) {
  const list = Array.isArray(data) ? data : isObject(data) ? Object.values(data).find(Array.isArray) : undefined;
  if (!list) {
    return (
      <details className="custom" open>
        <summary>{title}</summary>
        <ValueBlock label={t.data} value={data} name={title} />
      </details>
    );
  }
  return (
    <section className="custom" aria-label={title}>
      <h3>{title}</h3>
      <ul>
        {list.map((x: unknown, i: number) => (
          <li key={i}>
            {isObject(x) ? String(x.label ?? x.title ?? x.name ?? JSON.stringify(x)) : String(x)}
            {isObject(x) && typeof x.description === 'string' && <span className="meta"> {x.description}</span>}
          </li>
        ))}
      </ul>
    </section>
  );
}
