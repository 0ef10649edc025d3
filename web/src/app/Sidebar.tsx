/* Sidebar.tsx -- the list of conversations: new, search, rename, delete; what runs, what waits, what is unread. */
import { useEffect, useRef, useState } from 'react';
import { useNow } from '../chat/context';
import { Found } from '../chat/Found';
import { Icon } from '../chat/icons';
import { visible } from '../chat/reveal';
import { ago, fullTime } from '../chat/words';
import type { FoundThread, ThreadInfo } from '../transport/api';
import { lastRead } from './prefs';
import { product } from './product';
import { addressOf } from './router';
import { useSearch } from './search';
import { loadMore, remove, rename, useLists } from './store';
import { t } from '../words';

interface Props {
  current: string | null;
  onOpen: (id: string | null) => void;
  searchRef: React.RefObject<HTMLInputElement | null>;
}

export function Sidebar({ current, onOpen, searchRef }: Props) {
  const lists = useLists();
  const [query, setQuery] = useState('');
  const now = useNow(30_000);
  const wanted = query.trim();
  const { threads: found, busy, more } = useSearch(query);
  return (
    <nav className="side" aria-label={t.conversations}>
      <div className="side-top">
        <span className="brand">
          {product.logo && <img src="/logo" alt="" />}
          <span dir="auto">{product.name}</span>
        </span>
        <button type="button" className="button outline new" onClick={() => onOpen(null)}>
          <Icon name="plus" size={16} />
          {t.newConversation}
        </button>
        <label className="search">
          <Icon name="search" size={16} />
          <input
            ref={searchRef}
            type="search"
            placeholder={t.search}
            aria-label={t.searchConversations}
            value={query}
            onChange={(e) => setQuery(e.target.value)}
            onKeyDown={(e) => {
              if (e.key !== 'Escape' || !query) return;
              e.preventDefault();
              setQuery('');
            }}
          />
        </label>
      </div>
      <ul className="threads">
        {groups(found, now).map(([day, threads]) => (
          <li key={day}>
            <h3>{day}</h3>
            <ul>
              {threads.map((thread) => (
                <Row
                  key={thread.id}
                  thread={thread}
                  now={now}
                  current={thread.id === current}
                  words={wanted}
                  waiting={lists.inbox.some((a) => a.thread === thread.id)}
                  onOpen={onOpen}
                />
              ))}
            </ul>
          </li>
        ))}
        {lists.loaded && found.length === 0 && <li className="meta none">{busy ? t.looking : wanted ? t.nothingFound : t.noConversations}</li>}
        {more && (
          <li>
            <button type="button" className="link more" onClick={more}>
              {t.moreFound}
            </button>
          </li>
        )}
        {lists.next && !wanted && (
          <li>
            <button type="button" className="link more" onClick={() => void loadMore()}>
              {t.earlierConversations}
            </button>
          </li>
        )}
      </ul>
    </nav>
  );
}

function groups(threads: FoundThread[], now: number): [string, FoundThread[]][] {
  const out = new Map<string, FoundThread[]>();
  for (const thread of threads) {
    const day = dayOf(Date.parse(thread.updated_at), now);
    out.set(day, [...(out.get(day) ?? []), thread]);
  }
  return [...out];
}

function dayOf(at: number, now: number): string {
  const midnight = new Date(now).setHours(0, 0, 0, 0);
  if (at >= midnight) return t.today;
  if (at >= midnight - 86_400_000) return t.yesterday;
  if (at >= midnight - 6 * 86_400_000) return t.thisWeek;
  return t.earlier;
}

function Row({
  thread,
  now,
  current,
  words,
  waiting,
  onOpen,
}: {
  thread: FoundThread;
  now: number;
  current: boolean;
  /** What is looked for. */
  words: string;
  waiting: boolean;
  onOpen: (id: string | null) => void;
}) {
  const [editing, setEditing] = useState(false);
  const link = useRef<HTMLAnchorElement>(null);
  const title = visible(thread.title ?? '') || t.untitled;
  const done = (byKey: boolean) => {
    setEditing(false);
    if (byKey) requestAnimationFrame(() => link.current?.focus());
  };
  if (editing) return <RenameBox thread={thread} title={title} onDone={done} />;
  return (
    <li className={current ? 'row current' : 'row'} data-thread={thread.id}>
      <a
        ref={link}
        href={addressOf(thread.id)}
        aria-current={current ? 'page' : undefined}
        onClick={(e) => {
          if (e.metaKey || e.ctrlKey || e.shiftKey) return;
          e.preventDefault();
          onOpen(thread.id);
        }}
      >
        <span className="row-title" dir="auto">
          {title}
        </span>
        {markOf(thread, current, waiting) ?? (
          <time className="meta" dateTime={thread.updated_at} title={fullTime(thread.updated_at)}>
            {ago(Date.parse(thread.updated_at), now)}
          </time>
        )}
        {thread.line && <Found line={thread.line} words={words} />}
      </a>
      <span className="row-tools">
        <button type="button" className="quiet" aria-label={t.renameWhat(title)} title={t.rename} onClick={() => setEditing(true)}>
          <Icon name="edit" size={16} />
        </button>
        <button
          type="button"
          className="quiet"
          aria-label={t.deleteWhat(title)}
          title={t.delete}
          onClick={() => {
            remove(thread.id);
            if (current) onOpen(null);
          }}
        >
          <Icon name="trash" size={16} />
        </button>
      </span>
    </li>
  );
}

function markOf(thread: ThreadInfo, current: boolean, mine: boolean): React.ReactNode {
  if (mine || thread.state === 'waiting') return <span className="mark-wait">{mine ? t.markWaitsForYou : t.markWaits}</span>;
  if (thread.state === 'running') return <span className="mark-run">{t.markRunning}</span>;
  const read = lastRead(thread.id);
  if (!current && read && thread.updated_at > read) return <span className="mark-new">{t.markNew}</span>;
  return null;
}

function RenameBox({ thread, title, onDone }: { thread: ThreadInfo; title: string; onDone: (byKey: boolean) => void }) {
  const [value, setValue] = useState(title);
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => input.current?.select(), []);
  const save = (byKey: boolean) => {
    const name = value.trim();
    if (name && name !== title) void rename(thread.id, name);
    onDone(byKey);
  };
  return (
    <li className="row">
      <input
        ref={input}
        className="rename"
        value={value}
        maxLength={200}
        aria-label={t.newNameOf(title)}
        onChange={(e) => setValue(e.target.value)}
        onBlur={() => save(false)}
        onKeyDown={(e) => {
          if (e.nativeEvent.isComposing) return;
          if (e.key === 'Enter') save(true);
          if (e.key !== 'Escape') return;
          e.preventDefault(); // the drawer stays
          onDone(true);
        }}
      />
    </li>
  );
}
