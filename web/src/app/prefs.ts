/* prefs.ts -- what this browser remembers: theme, language, mode, drafts, what was read.
 *
 * A browser that forbids storage (private mode, embedded) gets a page that
 * forgets; it must not get a page that fails.
 */
import { useSyncExternalStore } from 'react';
import type { FilePart } from '../protocol';
import type { Keeper, Unsent } from '../transport/session';
import type { Mode } from '../transport/types';
import { isLanguage, type Language } from '../words';

export type Theme = 'system' | 'light' | 'dark';

export interface Prefs {
  theme: Theme;
  /** null: as the browser wishes. */
  language: Language | null;
  /** How the page talks to the server; the developers' panel has the switch. */
  mode: Mode;
  developer: boolean;
  /** Enter makes a new line; Ctrl or Cmd + Enter sends. */
  enterIsLine: boolean;
  /** The model that was chosen, by its name; null: the first. */
  model: string | null;
  /** A word from the browser when something waits and nobody looks. */
  notify: boolean;
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
  const language = read('language');
  return {
    theme: themes.includes(theme) ? (theme as Theme) : 'system',
    language: isLanguage(language) ? language : null,
    mode: modes.includes(mode) ? (mode as Mode) : 'bidi',
    developer: read('developer') === '1',
    enterIsLine: read('enter') === 'line',
    notify: read('notify') === '1',
    model: read('model'),
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
  remember('language', prefs.language);
  remember('mode', prefs.mode);
  remember('developer', prefs.developer ? '1' : null);
  remember('enter', prefs.enterIsLine ? 'line' : null);
  remember('notify', prefs.notify ? '1' : null);
  remember('model', prefs.model);
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

/** Words that come back stand before what was being written. */
export function addDraft(thread: string | null, ...texts: string[]): string {
  const text = [...texts, getDraft(thread)].filter((t) => t.trim()).join('\n\n');
  setDraft(thread, text);
  return text;
}

/** Half-written changes of a message that was sent. */
export const keptEdit = {
  get: (message: string): string => read(`edit.${message}`) ?? '',
  set: (message: string, text: string): void => remember(`edit.${message}`, text || null),
};

/* ---- what was sent and has not arrived: one entry per message, because several tabs may keep some ---- */

interface Kept extends Omit<Unsent, 'files'> {
  at: number;
  /** Back to the composer instead of out: it was refused, or it had pictures, which are not kept. */
  back: boolean;
}

const unsentMax = 50;
const unsentFor_ms = 24 * 3600_000;
let lastKept = 0;

const unsentKey = (thread: string, id = '') => `unsent.${thread}.${id}`;

export const keeper: Keeper = {
  put(thread, { files, ...m }, refused = false) {
    const before = parseKept(read(unsentKey(thread, m.id)));
    lastKept = Math.max(Date.now(), lastKept + 1);
    const kept: Kept = { ...m, at: before?.at ?? lastKept, back: refused || files.length > 0 };
    remember(unsentKey(thread, m.id), JSON.stringify(kept));
    const all = keysOf('unsent.').map((key) => ({ key, at: parseKept(read(key))?.at ?? 0 }));
    all.sort((a, b) => b.at - a.at);
    all.slice(unsentMax).forEach(({ key }) => remember(key, null));
  },
  drop(thread, id) {
    remember(unsentKey(thread, id), null);
  },
};

/* In the order in which they were written. */
function keptIn(thread: string): Kept[] {
  return keysOf(unsentKey(thread)).flatMap((key) => parseKept(read(key)) ?? []).sort((a, b) => a.at - b.at);
}

/* It does not go out by itself. */
function stays(m: Kept): boolean {
  return m.back || Date.now() - m.at >= unsentFor_ms;
}

/**
 * The conversations in which all that an earlier page left can go out by itself; the words that
 * come first, and whether they begin it.
 */
export function unsentThreads(): { thread: string; text: string; at: number; first: boolean }[] {
  const ids = new Set(keysOf('unsent.').flatMap((key) => /^unsent\.(.+)\.[^.]+$/.exec(key)?.[1] ?? []));
  return [...ids].flatMap((thread) => {
    const all = keptIn(thread);
    return all[0] && !all.some(stays) ? [{ thread, text: all[0].text, at: all[0].at, first: all[0].first === true }] : [];
  });
}

/** The conversation was deleted. */
export function forgetUnsent(thread: string): void {
  keysOf(unsentKey(thread)).forEach((key) => remember(key, null));
}

/**
 * What an earlier page left unsent in this conversation. What should not go out by itself is put into the draft; where
 * that was to begin the conversation (`neverBegan`), what is behind it as well.
 */
export function takeUnsent(thread: string): { unsent: Unsent[]; neverBegan: boolean } {
  const all = keptIn(thread);
  const neverBegan = all.some((m) => m.first && stays(m));
  const back = all.filter((m) => neverBegan || stays(m));
  back.forEach((m) => keeper.drop(thread, m.id));
  if (back.length) addDraft(thread, ...back.map((m) => m.text));
  const unsent = all.filter((m) => !back.includes(m)).map(({ at: _at, back: _back, ...m }) => ({ ...m, files: [] }));
  return { unsent, neverBegan };
}

/** Another tab no longer keeps a message: which one. */
export function droppedUnsent(e: StorageEvent): { thread: string; id: string } | null {
  const [, thread, id] = /^parley\.unsent\.(.+)\.([^.]+)$/.exec(e.newValue === null ? (e.key ?? '') : '') ?? [];
  return thread && id ? { thread, id } : null;
}

function parseKept(text: string | null): Kept | null {
  try {
    const m = JSON.parse(text ?? 'null') as Kept | null;
    return m && typeof m.id === 'string' && typeof m.requestId === 'string' && typeof m.text === 'string' ? m : null;
  } catch {
    return null;
  }
}

function keysOf(prefix: string): string[] {
  try {
    return Object.keys(localStorage).flatMap((k) => (k.startsWith(`parley.${prefix}`) ? [k.slice('parley.'.length)] : []));
  } catch {
    return [];
  }
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

/* ---- whose words these are: one person's are put away while another is here ---- */

const personal = ['draft.', 'edit.', 'read.', 'unsent.'];
const awayOf = (who: string) => `away.${encodeURIComponent(who)}.`;

/** Whether anything that somebody wrote is kept here. */
export function hasWords(): boolean {
  return ['draft.', 'edit.', 'unsent.', 'away.'].some((k) => keysOf(k).length > 0);
}

function move(from: string, to: string): void {
  remember(to, read(from));
  remember(from, null);
}

/** Nobody is known to be here: what was written waits, unseen, for whoever wrote it. */
export function putAway(): void {
  const who = read('who');
  if (who !== null) personal.flatMap(keysOf).forEach((k) => move(k, awayOf(who) + k));
  remember('who', null);
}

/** This person is here. `true`: what is kept is not what it was. */
export function belongTo(who: string): boolean {
  if (read('who') === who) return false;
  const before = personal.flatMap(keysOf).length;
  putAway();
  const mine = awayOf(who);
  const back = keysOf(mine);
  back.forEach((k) => move(k, k.slice(mine.length)));
  remember('who', who);
  return back.length > 0 || personal.flatMap(keysOf).length !== before;
}

/** Another tab has met somebody else. */
export function metAnother(e: StorageEvent, who: string | undefined): boolean {
  return e.key === 'parley.who' && e.newValue !== null && who !== undefined && e.newValue !== who;
}

/** Another tab knows nobody any more: somebody signed out there, or was found to be gone. */
export function leftElsewhere(e: StorageEvent): boolean {
  return e.key === 'parley.who' && e.newValue === null;
}

/** What this browser knows of a person's conversations; how the page looks stays. */
export function forgetPerson(): void {
  [...personal.flatMap(keysOf), 'who'].forEach((k) => remember(k, null));
}
