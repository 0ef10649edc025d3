/* router.ts -- one address per thread: `/t/<id>`; `/` is a new conversation; `/inbox` and `/approvals/<id>` are what
 * waits.
 *
 * `/a/<confirmation>` is a question that somebody was sent a link to; it opens over a new
 * conversation. The server gives the page at all of them (src/door/routes.c),
 * so an address can be reloaded and shared.
 */
import { useSyncExternalStore } from 'react';

const listeners = new Set<() => void>();
if (typeof window !== 'undefined') {
  const tell = () => listeners.forEach((f) => f());
  window.addEventListener('popstate', tell);
}

function current(): string | null {
  return /^\/t\/([A-Za-z0-9_-]{1,128})$/.exec(location.pathname)?.[1] ?? null;
}

export function addressOf(thread: string | null): string {
  return thread ? `/t/${thread}` : '/';
}

export function go(thread: string | null, replace = false): void {
  if (thread === current() && viewOf() === 'chat') return;
  const url = addressOf(thread);
  if (replace) history.replaceState(null, '', url);
  else history.pushState(null, '', url);
  listeners.forEach((f) => f());
}

export function useRoute(): string | null {
  return useSyncExternalStore(listen, current);
}

/** Which page it is: the conversation, or one of those that have an address of their own. */
export type View = 'chat' | 'inbox' | 'shared' | 'admin';

export function useView(): View {
  return useSyncExternalStore(listen, viewOf);
}

function viewOf(): View {
  if (/^\/s\//.test(location.pathname)) return 'shared';
  if (location.pathname === '/admin') return 'admin';
  return /^\/(inbox$|approvals\/)/.test(location.pathname) ? 'inbox' : 'chat';
}

/** The word of a link to a shared conversation. */
export function useShared(): string {
  return useSyncExternalStore(listen, () => location.pathname.slice(3));
}

/** The request that the address names. */
export function useNamed(): string | null {
  return useSyncExternalStore(listen, () => /^\/approvals\/([A-Za-z0-9_-]+)$/.exec(location.pathname)?.[1] ?? null);
}

export function visit(path: string): void {
  if (path === location.pathname) return;
  history.pushState(null, '', path);
  listeners.forEach((f) => f());
}

function listen(f: () => void): () => void {
  listeners.add(f);
  return () => listeners.delete(f);
}

/** The question that this address is about. */
export function useQuestion(): string | null {
  const asked = () => /^\/a\/(confirmation-[A-Za-z0-9_-]{1,160})$/.exec(location.pathname)?.[1] ?? null;
  return useSyncExternalStore((f) => (listeners.add(f), () => listeners.delete(f)), asked);
}

/** The question was looked at: the address is that of its conversation, or of a new one. */
export function leaveQuestion(thread: string | null): void {
  history.replaceState(null, '', addressOf(thread));
  listeners.forEach((f) => f());
}
