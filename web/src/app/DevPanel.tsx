/* DevPanel.tsx -- the raw events of this page: what went over the wire, when, and where it can be resumed.
 *
 * Loaded on demand. The export is what belongs into a bug report.
 */
import { useEffect, useMemo, useRef, useState, useSyncExternalStore } from 'react';
import { CopyButton } from '../chat/CopyButton';
import { Icon } from '../chat/icons';
import type { WireEntry } from '../transport/types';
import { log } from './store';

const shownMax = 400;

function useEntries(): readonly WireEntry[] {
  const cache = useRef<{ n: number; list: readonly WireEntry[] }>({ n: -1, list: [] });
  return useSyncExternalStore(log.subscribe.bind(log), () => {
    const all = log.all();
    const n = all.at(-1)?.n ?? 0;
    if (cache.current.n !== n) cache.current = { n, list: all.slice(-shownMax) };
    return cache.current.list;
  });
}

export default function DevPanel({ onClose }: { onClose: () => void }) {
  const entries = useEntries();
  const [filter, setFilter] = useState('');
  const [open, setOpen] = useState<number | null>(null);
  const list = useRef<HTMLOListElement>(null);
  const shown = useMemo(
    () => entries.filter((e) => !filter || summary(e).toLowerCase().includes(filter.toLowerCase()) || e.channel === filter),
    [entries, filter],
  );
  useEffect(() => {
    const el = list.current;
    if (el && open === null) el.scrollTop = el.scrollHeight;
  }, [shown, open]);
  return (
    <aside className="dev" aria-label="Raw events">
      <header>
        <h2>Raw events</h2>
        <input type="search" placeholder="Filter" aria-label="Filter events" value={filter} onChange={(e) => setFilter(e.target.value)} />
        <CopyButton text={exported} label="Copy all events as JSON lines" />
        <button type="button" className="quiet" aria-label="Save all events" title="Save all events" onClick={save}>
          <Icon name="export" size={16} />
        </button>
        <button type="button" className="quiet" aria-label="Clear events" title="Clear" onClick={() => log.clear()}>
          <Icon name="trash" size={16} />
        </button>
        <button type="button" className="quiet" aria-label="Close raw events" onClick={onClose}>
          <Icon name="close" size={16} />
        </button>
      </header>
      <ol ref={list} tabIndex={0} aria-label="Events">
        {shown.map((e, i) => (
          <li key={e.n} data-way={e.way}>
            <button type="button" aria-expanded={open === e.n} onClick={() => setOpen(open === e.n ? null : e.n)}>
              <span className="dev-n">{e.n}</span>
              <span className="dev-ms">+{i > 0 ? e.at - shown[i - 1]!.at : 0}</span>
              <span className="dev-way">{e.way === 'in' ? '←' : e.way === 'out' ? '→' : '·'}</span>
              <span className="dev-channel">{e.channel}</span>
              <span className="dev-text">{summary(e)}</span>
              {e.cursor && <span className="dev-cursor">{e.cursor}</span>}
            </button>
            {open === e.n && <pre className="wraps">{JSON.stringify(e.value, null, 2)}</pre>}
          </li>
        ))}
      </ol>
    </aside>
  );
}

function summary(e: WireEntry): string {
  return typeof e.value === 'string' ? e.value : JSON.stringify(e.value);
}

function exported(): string {
  return log
    .all()
    .map((e) => JSON.stringify(e))
    .join('\n');
}

function save(): void {
  const url = URL.createObjectURL(new Blob([exported()], { type: 'application/jsonl' }));
  const a = document.createElement('a');
  a.href = url;
  a.download = 'parley-events.jsonl';
  a.click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}
