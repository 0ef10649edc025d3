/* Palette.tsx -- Ctrl or ⌘ + K: type to get to a conversation, or to something that can be done.
 *
 * A combobox over one list: the focus stays in the field, the arrows move the choice, Enter takes it. What is typed is
 * looked for in every conversation there is, like in the list on the left.
 */
import { useEffect, useId, useMemo, useRef, useState, type KeyboardEvent } from 'react';
import { Found } from '../chat/Found';
import { Icon, type IconName } from '../chat/icons';
import { ago } from '../chat/words';
import { t } from '../words';
import { useSearch } from './search';

export interface PaletteAction {
  name: string;
  icon: IconName;
  run: () => void;
}

interface Props {
  actions: PaletteAction[];
  onOpen: (thread: string) => void;
  onClose: () => void;
}

interface Entry {
  key: string;
  group: string;
  name: string;
  icon: IconName | null;
  note?: string;
  /** What was said there. */
  line?: string | null;
  run: () => void;
}

const recent = 6; // conversations, while nothing is typed
const foundMax = 30;

export default function Palette({ actions, onOpen, onClose }: Props) {
  const [query, setQuery] = useState('');
  const [at, setAt] = useState(0);
  const box = useRef<HTMLDialogElement>(null);
  const id = useId();
  const wanted = query.trim().toLowerCase();
  const found = useSearch(query);
  useEffect(() => {
    if (!box.current?.open) box.current?.showModal();
  }, []);
  const entries = useMemo<Entry[]>(() => {
    const has = (name: string) => name.toLowerCase().includes(wanted);
    const threads = found.threads
      .slice(0, wanted ? foundMax : recent)
      .map((x) => ({
        key: x.id,
        group: t.conversations,
        name: x.title || t.untitled,
        icon: null,
        note: ago(Date.parse(x.updated_at), Date.now()),
        line: x.line,
        run: () => onOpen(x.id),
      }));
    const doings = actions.filter((a) => has(a.name)).map((a) => ({ key: a.name, group: t.paletteActions, ...a }));
    return wanted ? [...threads, ...doings] : [...doings, ...threads];
  }, [found.threads, actions, wanted, onOpen]);
  const chosen = Math.min(at, entries.length - 1);
  useEffect(() => {
    box.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: 'nearest' });
  }, [chosen, wanted]);

  /* Gone at once: the browser tells of it later, and by then it may have been called again. (Escape is of the palette, not of
   * an answer below it, so there it is the browser that tells.) */
  const leave = () => {
    box.current?.close();
    onClose();
  };
  const take = (entry: Entry | undefined) => {
    if (!entry) return;
    leave();
    entry.run();
  };
  const keys = (e: KeyboardEvent) => {
    if (e.nativeEvent.isComposing) return;
    const to: Record<string, number> = {
      ArrowDown: (chosen + 1) % entries.length,
      ArrowUp: (chosen - 1 + entries.length) % entries.length,
      PageDown: Math.min(entries.length - 1, chosen + 8),
      PageUp: Math.max(0, chosen - 8),
    };
    if (e.key === 'Escape') box.current?.close(); // the browser would empty the field first
    else if (e.key === 'Enter') take(entries[chosen]);
    else if (e.key in to && entries.length > 0) setAt(to[e.key]!);
    else return;
    e.preventDefault();
  };
  const option = (entry: Entry, i: number) => (
    <div
      key={entry.key}
      id={`${id}-${i}`}
      role="option"
      aria-selected={i === chosen}
      onClick={() => take(entry)}
      onPointerMove={() => setAt(i)}
    >
      {entry.icon && <Icon name={entry.icon} size={16} />}
      <span className="palette-name" dir="auto">
        {entry.name}
      </span>
      {entry.note && <span className="meta">{entry.note}</span>}
      {entry.line && <Found line={entry.line} words={query.trim()} />}
    </div>
  );
  const groups = [...new Set(entries.map((e) => e.group))];
  return (
    <dialog
      ref={box}
      className="palette"
      aria-label={t.palette}
      onClose={onClose}
      onClick={(e) => e.target === box.current && leave()} // the backdrop
    >
      <label className="search">
        <Icon name="search" size={18} />
        <input
          type="search"
          role="combobox"
          aria-label={t.palette}
          aria-expanded="true"
          aria-controls={`${id}-list`}
          aria-activedescendant={entries.length > 0 ? `${id}-${chosen}` : undefined}
          aria-autocomplete="list"
          placeholder={t.paletteHint}
          autoComplete="off"
          value={query}
          onChange={(e) => (setQuery(e.target.value), setAt(0))}
          onKeyDown={keys}
        />
      </label>
      <div id={`${id}-list`} className="palette-list" role="listbox" aria-label={t.palette} tabIndex={-1}>
        {groups.map((g, n) => (
          <div key={g} role="group" aria-labelledby={`${id}-g${n}`}>
            <div id={`${id}-g${n}`} className="palette-group">
              {g}
            </div>
            {entries.map((e, i) => e.group === g && option(e, i))}
          </div>
        ))}
        {entries.length === 0 && (
          <div className="palette-none" role="option" aria-selected="false" aria-disabled="true">
            {found.busy ? t.looking : t.paletteNothing}
          </div>
        )}
      </div>
      <p className="sr" role="status">
        {wanted && t.paletteCount(entries.length)}
      </p>
    </dialog>
  );
}
