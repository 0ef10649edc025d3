/* DevPanel.tsx -- the raw events of this page: what went over the wire, when, and where it can be resumed; or the
 * conversation's steps as the server tells them (Steps.tsx).
 *
 * Loaded on demand. The export is what belongs into a bug report.
 */
import { useEffect, useMemo, useRef, useState, useSyncExternalStore } from 'react';
import { CopyButton } from '../chat/CopyButton';
import { Icon } from '../chat/icons';
import type { Mode, WireEntry } from '../transport/types';
import { saveText } from './export';
import { setPrefs, usePrefs } from './prefs';
import { useRoute } from './router';
import { Steps } from './Steps';
import { log } from './store';
import { t } from '../words';

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
  const [steps, setSteps] = useState(false);
  const thread = useRoute();
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
    <aside className="dev" aria-label={t.rawEvents}>
      <header>
        <h2>{t.rawEvents}</h2>
        <Transport />
        <button type="button" className="quiet" aria-pressed={steps} onClick={() => setSteps(!steps)}>
          {t.steps}
        </button>
        {!steps && <input type="search" placeholder={t.filter} aria-label={t.filterEvents} value={filter} onChange={(e) => setFilter(e.target.value)} />}
        <span className="dev-rest" />
        <CopyButton text={exported} label={t.copyEvents} />
        <button type="button" className="quiet" aria-label={t.saveEvents} title={t.saveEvents} onClick={save}>
          <Icon name="download" size={16} />
        </button>
        <button type="button" className="quiet" aria-label={t.clearEvents} title={t.clear} onClick={() => log.clear()}>
          <Icon name="trash" size={16} />
        </button>
        <button type="button" className="quiet" aria-label={t.closeRaw} onClick={onClose}>
          <Icon name="close" size={16} />
        </button>
      </header>
      {steps && <Steps thread={thread} news={entries.at(-1)?.n ?? 0} />}
      <ol ref={list} hidden={steps} tabIndex={0} aria-label={t.events}>
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

const modes: Mode[] = ['direct', 'sse', 'bidi'];

/* The conversation is the same over each; which one is nobody's business but a developer's. */
function Transport() {
  const { mode } = usePrefs();
  return (
    <select aria-label={t.transport} title={t.modes[mode]} value={mode} onChange={(e) => setPrefs({ mode: e.target.value as Mode })}>
      {modes.map((m) => (
        <option key={m} value={m} title={t.modes[m]}>
          {m === 'direct' ? 'Direct' : m.toUpperCase()}
        </option>
      ))}
    </select>
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
  saveText('parley-events.jsonl', 'application/jsonl', exported());
}
