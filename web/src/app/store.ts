/* store.ts -- what the page shares: the server, open sessions, the list of threads, the inbox.
 *
 * Sessions of other threads stay in memory for a while, so that switching is
 * instant; only the one on the screen is connected. Lists are asked for again
 * when something here changed them, when the page comes back to the front, when
 * the server tells of a question (tidings.ts), and now and then, because other
 * devices change them too.
 */
import { useSyncExternalStore } from 'react';
import type { ApprovalRecord } from '../protocol';
import { mayDecide } from '../chat/people';
import { Api, Refused, type ThreadInfo, type ToolInfo, type Whoami } from '../transport/api';
import { newId, Session, type Draft } from '../transport/session';
import { WireLog } from '../transport/types';
import { clientTools } from './clientTools';
import { addDraft, belongTo, droppedUnsent, forgetPerson, forgetUnsent, getDraft, getFiles, getPrefs, hasWords, keeper, leftElsewhere, metAnother, putAway, setDraft, setFiles, takeUnsent, unsentThreads } from './prefs';
import { notice } from './notices';
import { chosenModel } from './product';
import { go } from './router';
import { Tidings } from './tidings';
import { t } from '../words';

export const log = new WireLog();
export const api = new Api({ unauthorized: () => lists.signIn || set({ signIn: true }) });
const client = newId('tab');

export interface Lists {
  threads: ThreadInfo[];
  next: string | null;
  loaded: boolean;
  inbox: ApprovalRecord[];
  tools: ToolInfo[];
  /** Deleted here a moment ago; gone for good when the undo time is over. */
  hidden: Set<string>;
  signIn: boolean;
  me: Whoami | null;
}

let lists: Lists = { threads: [], next: null, loaded: false, inbox: [], tools: [], hidden: new Set(), signIn: false, me: null };
const listeners = new Set<() => void>();

function set(change: Partial<Lists>): void {
  const before = here();
  lists = { ...lists, ...change };
  listeners.forEach((f) => f());
  if (here() !== before) met();
}

export function useLists(): Lists {
  return useSyncExternalStore(
    (f) => (listeners.add(f), () => listeners.delete(f)),
    () => lists,
  );
}

/* ---- sessions ---- */

const sessionsMax = 8;
const sessions = new Map<string, Session>();

function make(id: string | null): Session {
  const page = () => {
    const model = chosenModel(getPrefs().model);
    return model ? `default@${model.name}` : undefined;
  };
  const named = (thread: string) => {
    keep(thread, session);
    if (current() === session) go(thread, true);
  };
  const home = () => {
    if (id) sessions.delete(id);
    carryDraft(id, null);
    if (current() === session) go(null, true);
  };
  const { unsent, neverBegan } = id === null ? { unsent: [], neverBegan: false } : takeUnsent(id);
  const options = { page, api, log, client, mode: getPrefs().mode, tools: clientTools, notice, changed: refreshSoon, keeper, giveBack };
  const session: Session = new Session({ ...options, unsent, named, ...(neverBegan ? { neverBegan: home } : {}) }, id);
  return session;
}

/* The conversation is gone; the words go into the next one. */
function giveBack(drafts: Draft[]): void {
  if (drafts.length === 0) return;
  addDraft(null, ...drafts.map((d) => d.text));
  setFiles(null, [...getFiles(null), ...drafts.flatMap((d) => d.files)]);
  notice(t.keptForNew);
}

/** What is being written goes along: into a new conversation when its own is gone, or has just begun. */
export function carryDraft(from: string | null, to: string | null): void {
  const written = getDraft(to);
  setDraft(to, getDraft(from));
  addDraft(to, written);
  setFiles(to, [...getFiles(to), ...getFiles(from)]);
  setDraft(from, '');
  setFiles(from, []);
}

export function sessionFor(id: string | null): Session {
  if (id === null) return make(null);
  const known = sessions.get(id);
  const session = known ?? make(id);
  keep(id, session);
  session.setMode(getPrefs().mode);
  return session;
}

function keep(id: string, session: Session): void {
  sessions.delete(id);
  sessions.set(id, session);
  for (const [old, s] of sessions) {
    if (sessions.size <= sessionsMax) break;
    if (s === session || s === current() || s.unsent()) continue;
    s.close();
    sessions.delete(old);
  }
}

/* ---- what an earlier page left unsent ---- */

const unborn = new Set<string>();

/* Conversations that the server has not heard of are in the list, too. */
function withUnsent(threads: ThreadInfo[]): ThreadInfo[] {
  const kept = unsentThreads().filter(({ thread, first }) => first && !threads.some((x) => x.id === thread));
  const rows = kept.map(({ thread, text, at }): ThreadInfo => {
    const when = new Date(at).toISOString();
    unborn.add(thread);
    return { id: thread, title: text.slice(0, 80), state: 'idle', created_at: when, updated_at: when };
  });
  return [...rows.reverse(), ...threads];
}

let takenUp = false;

/* It goes out wherever the page is opened, as soon as it is known who is here. */
function takeUpUnsent(): void {
  if (takenUp || !hasThreads(lists.me)) return;
  takenUp = true;
  for (const { thread } of unsentThreads()) {
    if (sessions.has(thread)) continue;
    const session = sessionFor(thread);
    session.open();
    session.leave();
  }
}

/* ---- lists ---- */

let soon: ReturnType<typeof setTimeout> | null = null;

export function refreshSoon(): void {
  soon ??= setTimeout(() => {
    soon = null;
    void refresh();
  }, 120);
}

/* A list that was asked for before a name was changed has the old one; another follows the change. */
let renaming = 0;
let renamed = 0;

/* Looks are numbered: one that is answered after a later one would bring back what is decided. */
let looks = 0;
let shown = 0;

export async function refresh(): Promise<void> {
  const asked = renamed;
  const look = ++looks;
  try {
    if (!lists.me) await meet(await api.whoami());
    takeUpUnsent();
    const [page, pending, unknown, tools] = await Promise.all([
      hasThreads(lists.me) ? api.threads() : { threads: [], next: null },
      api.everyApproval({ status: 'pending' }),
      api.everyApproval({ status: 'unknown' }).catch((): ApprovalRecord[] => []),
      lists.tools.length > 0 ? lists.tools : api.tools().then((x) => x.tools, () => lists.tools),
    ]);
    if (renaming || asked !== renamed || look < shown) return;
    shown = look;
    const older = lists.threads
      .filter((x) => !unborn.has(x.id) && !page.threads.some((p) => p.id === x.id))
      .filter((x) => lists.next !== null || isOlder(x, page.threads));
    const inbox = [...pending, ...unknown].filter((a) => concerns(a, mayDecide(lists.me)));
    set({
      threads: withUnsent(lists.loaded && page.next ? [...page.threads, ...older] : page.threads),
      next: lists.loaded && older.length ? lists.next : page.next,
      loaded: true,
      inbox,
      tools,
      signIn: false,
    });
  } catch {
    // asked again soon; a server that wants a key has said so
  }
}

/* What this person may answer, or has a vote in. What the server says of a request counts before what is true of all. */
function concerns(a: ApprovalRecord, decides: boolean): boolean {
  if (a.status === 'unknown') return decides;
  return a.status === 'pending' && (a.voted === true || (a.may ?? (decides && !a.who)));
}

/* ---- who is here ---- */

/* Nobody while a key is asked for. Every sign-in makes it another object, also one of the same person: what was opened
 * before it ended with the session before. */
function here(): Whoami | null {
  return lists.signIn ? null : lists.me;
}

/* What is open was opened by whoever was here: it is opened anew, or goes on if it waited for this. */
function met(): void {
  listen();
  if (here()) sessions.forEach((s) => s.signedIn());
}

/** Gives the key to the server for a cookie, and forgets it. Throws with a sentence when it is not taken. */
export async function signIn(key: string): Promise<void> {
  const me = await api.signIn(key);
  // What the page holds belongs to the person before.
  if (lists.me && lists.me.principal !== me.principal) {
    belongTo(me.principal);
    return location.assign('/');
  }
  await meet(me);
}

/* The page is drawn anew where it shows what somebody else wrote, or nothing of what this person did: nothing follows. */
async function meet(me: Whoami): Promise<void> {
  if (belongTo(me.principal)) {
    location.reload();
    await new Promise(() => undefined);
  }
  set({ me });
}

const knownWithin_ms = 3000;

/** Before anything is drawn: what is kept here is shown to whoever wrote it. Without a network that is who was here last. */
export async function ownWords(): Promise<void> {
  if (!hasWords()) return;
  const asked = api.whoami().then(
    (me) => {
      belongTo(me.principal);
      set({ me });
    },
    (error: unknown) => {
      if (error instanceof Refused && error.status === 401) putAway();
    },
  );
  await Promise.race([asked, new Promise((late) => setTimeout(late, knownWithin_ms))]);
}

/** Who only approves has no conversations. */
export function hasThreads(me: Whoami | null): boolean {
  return !me || me.roles.includes('user');
}

/** The sign-in was closed: it comes back with the next refusal. */
export function lookAgain(): void {
  set({ signIn: false });
  void refresh();
}

/** Nothing of the person stays: not the cookie, not the drafts, not what is on the screen. */
export async function signOut(): Promise<void> {
  await api.signOut();
  forgetPerson();
  location.assign('/');
}

/* Pages loaded earlier by scrolling stay, as long as they are behind the first page. */
function isOlder(thread: ThreadInfo, page: ThreadInfo[]): boolean {
  const end = page.at(-1);
  return end !== undefined && thread.updated_at < end.updated_at;
}

export async function loadMore(): Promise<void> {
  if (!lists.next) return;
  const page = await api.threads(lists.next).catch(() => null);
  if (!page) return;
  const fresh = page.threads.filter((p) => !lists.threads.some((x) => x.id === p.id));
  set({ threads: [...lists.threads, ...fresh], next: page.next });
}

export async function rename(id: string, title: string): Promise<void> {
  const before = lists.threads;
  set({ threads: before.map((x) => (x.id === id ? { ...x, title } : x)) });
  renaming++;
  try {
    await api.rename(id, title);
  } catch {
    set({ threads: before });
    notice(t.notRenamed);
  }
  renaming--;
  renamed++;
  refreshSoon();
}

const undo_ms = 6000;
const doomed = new Map<string, ReturnType<typeof setTimeout>>();

/** Takes a thread out of the list and deletes it when nobody has called it back. */
export function remove(id: string): void {
  set({ hidden: new Set(lists.hidden).add(id) });
  doomed.set(
    id,
    setTimeout(() => void destroy(id), undo_ms),
  );
  notice(t.deleted, { label: t.undo, run: () => restore(id) }, undo_ms);
}

function restore(id: string): void {
  clearTimeout(doomed.get(id));
  doomed.delete(id);
  const hidden = new Set(lists.hidden);
  hidden.delete(id);
  set({ hidden });
}

async function destroy(id: string, leaving = false): Promise<void> {
  if (!doomed.delete(id)) return;
  sessions.get(id)?.close();
  sessions.delete(id);
  if (leaving) forgetUnsent(id);
  try {
    await api.remove(id, leaving);
    forgetUnsent(id);
    set({ threads: lists.threads.filter((x) => x.id !== id) });
    refreshSoon();
  } catch (error) {
    if (error instanceof Refused && error.status === 404) return forgetUnsent(id);
    restore(id);
    notice(t.notDeleted);
  }
}

/* ---- the page's life ---- */

const dozeAfter_ms = 30_000;
const tidings = new Tidings(api, refreshSoon);

/* A page that nobody sees and that may not say anything needs no connection. */
function listen(): void {
  tidings.listenFor(started && (!document.hidden || getPrefs().notify) ? here() : null);
}

let current: () => Session | null = () => null;
let started = false;

/** Once; a page that is drawn anew (in another language) only says again what it shows. */
export function startPage(shown: () => Session | null): void {
  current = shown;
  if (started) return;
  started = true;
  let dozing: ReturnType<typeof setTimeout> | undefined;
  const back = () => {
    clearTimeout(dozing);
    listen();
    if (document.hidden) {
      dozing = setTimeout(() => current()?.doze(), dozeAfter_ms);
      return;
    }
    current()?.nudge();
    refreshSoon();
  };
  window.addEventListener('storage', (e) => {
    const gone = droppedUnsent(e);
    if (gone) sessions.get(gone.thread)?.forget(gone.id);
    if (metAnother(e, lists.me?.principal)) location.assign('/');
    else if (leftElsewhere(e)) refreshSoon();
  });
  window.addEventListener('online', back);
  window.addEventListener('offline', () => current()?.offline());
  window.addEventListener('focus', back);
  document.addEventListener('visibilitychange', back);
  // Leaving the page is the end of the undo time.
  window.addEventListener('pagehide', () => [...doomed.keys()].forEach((id) => void destroy(id, true)));
  setInterval(() => {
    listen();
    if ((!document.hidden || getPrefs().notify) && !lists.signIn) refreshSoon();
  }, 15_000);
  set({ threads: withUnsent(lists.threads) });
  listen();
  void refresh();
}
