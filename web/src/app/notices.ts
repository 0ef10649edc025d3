/* notices.ts -- short words to the person, at the bottom of the page, gone after a while. */
import { useSyncExternalStore } from 'react';

export interface Notice {
  id: number;
  text: string;
  action?: { label: string; run: () => void };
}

let notices: Notice[] = [];
let serial = 0;
const listeners = new Set<() => void>();

function set(next: Notice[]): void {
  notices = next;
  listeners.forEach((f) => f());
}

export function notice(text: string, action?: Notice['action'], for_ms = 6000): void {
  const id = ++serial;
  set([...notices.filter((n) => n.text !== text), { id, text, ...(action ? { action } : {}) }].slice(-3));
  setTimeout(() => dismiss(id), for_ms);
}

export function dismiss(id: number): void {
  set(notices.filter((n) => n.id !== id));
}

export function useNotices(): Notice[] {
  return useSyncExternalStore(
    (f) => (listeners.add(f), () => listeners.delete(f)),
    () => notices,
  );
}
