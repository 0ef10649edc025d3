/* shortcuts.ts -- keys that work anywhere on the page. */
import { useEffect, useRef } from 'react';
import { copyText } from '../chat/CopyButton';
import { textOf, type ThreadState } from '../protocol';

export interface Shortcuts {
  /** Closes what lies over the page, if anything does. */
  close(): boolean;
  stop(): boolean;
  compose(): void;
  palette(): void;
  fresh(): void;
  help(): void;
  state(): ThreadState;
  copied(): void;
}

function typing(e: KeyboardEvent): boolean {
  const t = e.target as HTMLElement | null;
  return !!t && (t.tagName === 'INPUT' || t.tagName === 'TEXTAREA' || t.isContentEditable);
}

function composing(e: KeyboardEvent): boolean {
  return !!(e.target as HTMLElement).closest('.composer');
}

export function useShortcuts(shortcuts: Shortcuts): void {
  const latest = useRef(shortcuts);
  latest.current = shortcuts;
  useEffect(() => {
    const press = (e: KeyboardEvent) => {
      if (e.isComposing || e.defaultPrevented || document.querySelector('dialog[open]')) return;
      if (handle(e, latest.current)) e.preventDefault();
    };
    window.addEventListener('keydown', press);
    return () => window.removeEventListener('keydown', press);
  }, []);
}

function handle(e: KeyboardEvent, s: Shortcuts): boolean {
  const mod = e.ctrlKey || e.metaKey;
  // Other fields have their own Escape: what they do with it is all that it does.
  if (e.key === 'Escape') return s.close() || ((!typing(e) || composing(e)) && s.stop());
  if (mod && !e.shiftKey && e.key.toLowerCase() === 'k') return (s.palette(), true);
  if (mod && e.shiftKey && e.key.toLowerCase() === 'o') return (s.fresh(), true);
  if (mod && e.shiftKey && e.key.toLowerCase() === 'c') return copyLast(s);
  if (e.altKey && (e.key === 'ArrowUp' || e.key === 'ArrowDown')) return step(e.key === 'ArrowUp' ? -1 : 1);
  if (typing(e) || mod || e.altKey) return false;
  if (e.key === '/') return (s.compose(), true);
  if (e.key === '?') return (s.help(), true);
  return false;
}

function copyLast(s: Shortcuts): boolean {
  const answer = s
    .state()
    .messages.filter((m) => m.role === 'assistant')
    .at(-1);
  if (!answer) return false;
  void copyText(textOf(answer)).then(() => s.copied());
  return true;
}

/* From message to message, by focus, so that a screen reader says which one. */
function step(by: -1 | 1): boolean {
  const all = [...document.querySelectorAll<HTMLElement>('article.msg')];
  if (all.length === 0) return false;
  const here = all.findIndex((m) => m.contains(document.activeElement));
  const next = here < 0 ? (by < 0 ? all.length - 1 : 0) : Math.min(all.length - 1, Math.max(0, here + by));
  all[next]!.focus();
  all[next]!.scrollIntoView({ block: 'nearest' });
  return true;
}
