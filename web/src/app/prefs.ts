/* prefs.ts -- what this browser remembers: theme, mode, drafts, what was read.
 *
 * A browser that forbids storage (private mode, embedded) gets a page that
 * forgets; it must not get a page that fails.
 */
import { useSyncExternalStore } from 'react';
import type { FilePart } from '../protocol';
import type { Mode } from '../transport/types';

export type Theme = 'system' | 'light' | 'dark';

export interface Prefs {
  theme: Theme;
  mode: Mode;
  developer: boolean;
  /** Enter makes a new line; Ctrl or Cmd + Enter sends. */
  enterIsLine: boolean;
}

function read(key: string): string | null {
  try {
    return localStorage.getItem(`parley.${key}`);
  } catch {
    return null;
  }
}

export function remember(key: string, value: string | null): void {
  try {
    if (value === null) localStorage.removeItem(`parley.${key}`);
    else localStorage.setItem(`parley.${key}`, value);
  } catch {
    // forgetful, not broken
  }
}

const modes: readonly string[] = ['direct', 'sse', 'bidi'];
const themes: readonly string[] = ['light', 'dark'];

function initial(): Prefs {
  const theme = read('theme') ?? '';
  const mode = read('mode') ?? '';
  return {
    theme: themes.includes(theme) ? (theme as Theme) : 'system',
    mode: modes.includes(mode) ? (mode as Mode) : 'bidi',
    developer: read('developer') === '1',
    enterIsLine: read('enter') === 'line',
  };
}

let prefs = initial();
const listeners = new Set<() => void>();

export function getPrefs(): Prefs {
  return prefs;
}

export function setPrefs(change: Partial<Prefs>): void {
  prefs = { ...prefs, ...change };
  remember('theme', prefs.theme === 'system' ? null : prefs.theme);
  remember('mode', prefs.mode);
  remember('developer', prefs.developer ? '1' : null);
  remember('enter', prefs.enterIsLine ? 'line' : null);
  if (prefs.theme === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = prefs.theme;
  listeners.forEach((f) => f());
}

export function usePrefs(): Prefs {
  return useSyncExternalStore(
    (f) => (listeners.add(f), () => listeners.delete(f)),
    () => prefs,
  );
}

/* ---- drafts, one per thread; "new" is the thread that does not exist yet ---- */

export function getDraft(thread: string | null): string {
  return read(`draft.${thread ?? 'new'}`) ?? '';
}

export function setDraft(thread: string | null, text: string): void {
  remember(`draft.${thread ?? 'new'}`, text || null);
}

/* Pictures are too large for the browser's storage: they stay as long as the page does. */
const files = new Map<string | null, FilePart[]>();

export function getFiles(thread: string | null): FilePart[] {
  return files.get(thread) ?? [];
}

export function setFiles(thread: string | null, list: FilePart[]): void {
  if (list.length) files.set(thread, list);
  else files.delete(thread);
}

/* ---- what was read: the thread's change time when it was last on the screen ---- */

export function lastRead(thread: string): string {
  return read(`read.${thread}`) ?? '';
}

export function markRead(thread: string, updatedAt: string): void {
  remember(`read.${thread}`, updatedAt);
}

/** What this browser knows of a person's conversations; how the page looks stays. */
export function forgetPerson(): void {
  try {
    Object.keys(localStorage)
      .filter((k) => k.startsWith('parley.draft.') || k.startsWith('parley.read.'))
      .forEach((k) => localStorage.removeItem(k));
  } catch {
    // nothing was kept
  }
}
