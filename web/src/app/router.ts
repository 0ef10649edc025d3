/* router.ts -- one address per thread: `/#/t/<id>`; `/` is a new conversation.
 *
 * Behind the hash, so that the server needs no rule for it and thread ids stay
 * out of its logs.
 */
import { useSyncExternalStore } from 'react';

const listeners = new Set<() => void>();
if (typeof window !== 'undefined') {
  const tell = () => listeners.forEach((f) => f());
  window.addEventListener('hashchange', tell);
  window.addEventListener('popstate', tell);
}

function current(): string | null {
  return /^#\/t\/([A-Za-z0-9_-]{1,128})$/.exec(location.hash)?.[1] ?? null;
}

export function go(thread: string | null, replace = false): void {
  if (thread === current() && (thread !== null || location.hash === '')) return;
  const url = thread ? `#/t/${thread}` : location.pathname + location.search;
  if (replace) history.replaceState(null, '', url);
  else history.pushState(null, '', url);
  listeners.forEach((f) => f());
}

export function useRoute(): string | null {
  return useSyncExternalStore((f) => (listeners.add(f), () => listeners.delete(f)), current);
}
