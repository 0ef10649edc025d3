/* notify.ts -- a word from the browser when nobody is looking: something waits, or a long answer is through.
 *
 * Only where the person wished it (Settings), and only while the page is out of sight.
 */
import { useEffect, useRef } from 'react';
import type { ApprovalRecord, ThreadState } from '../protocol';
import { callsOf } from '../protocol';
import type { ThreadInfo } from '../transport/api';
import { usePrefs } from './prefs';
import { notice } from './notices';
import { t } from '../words';

/* Shorter answers are waited for. */
const long_ms = 10_000;

export function canNotify(): boolean {
  return 'Notification' in window && Notification.permission !== 'denied';
}

/** Asks the browser, which asks the person. */
export async function allowNotices(): Promise<boolean> {
  const allowed = canNotify() && (await Notification.requestPermission()) === 'granted';
  if (!allowed) notice(t.notifyRefused);
  return allowed;
}

/* Who presses it comes to the conversation that it is about. */
function tell(title: string, body: string, tag: string, thread: string | null, open: (thread: string | null) => void): void {
  try {
    const n = new Notification(title, { body, tag });
    n.onclick = () => {
      window.focus();
      open(thread);
      n.close();
    };
  } catch {
    // Phones let only a service worker do this; it says what was pressed (public/sw.js).
    void navigator.serviceWorker?.ready.then((r) => r.showNotification(title, { body, tag, data: { thread } }));
  }
}

/* What was pressed on a phone. */
function usePressed(open: (thread: string | null) => void): void {
  useEffect(() => {
    const heard = (e: MessageEvent<{ open?: string | null }>) => e.data.open !== undefined && open(e.data.open);
    navigator.serviceWorker?.addEventListener('message', heard);
    return () => navigator.serviceWorker?.removeEventListener('message', heard);
  }, [open]);
}

interface Seen {
  state: ThreadState;
  inbox: readonly ApprovalRecord[];
  threads: readonly ThreadInfo[];
  thread: string | null;
  open: (thread: string | null) => void;
}

export function useNotify({ state, inbox, threads, thread, open }: Seen): void {
  const { notify } = usePrefs();
  const on = notify && canNotify() && Notification.permission === 'granted';
  const told = useRef(new Set<string>());
  const began = useRef(new Map<string, number>());
  usePressed(open);
  useEffect(() => {
    const waiting = [
      ...(state.open ? callsOf(state.open) : []).flatMap((c) =>
        c.status === 'asking' && c.approval ? [{ id: c.approval.id, ask: c.approval.ask ?? c.name, thread }] : [],
      ),
      ...inbox.map((a) => ({ id: a.id, ask: a.ask ?? a.tool, thread: a.thread })),
    ];
    for (const w of waiting) {
      if (told.current.has(w.id)) continue;
      told.current.add(w.id); // what was seen on the page needs no word either
      if (on && document.hidden) tell(t.notifyApproval, w.ask, w.id, w.thread, open);
    }
  }, [state.open, inbox, thread, on, open]);
  useEffect(() => {
    for (const x of threads.filter((x) => isThrough(x, began.current)))
      if (on && document.hidden) tell(t.notifyAnswer, x.title ?? t.untitled, `answer-${x.id}`, x.id, open);
  }, [threads, on, open]);
}

/* Whether an answer has ended that took long, by the server's clock: in any conversation, whichever is on the screen. */
function isThrough(x: ThreadInfo, began: Map<string, number>): boolean {
  const at = Date.parse(x.updated_at);
  const from = began.get(x.id) ?? at;
  if (x.state === 'running') began.set(x.id, from);
  else began.delete(x.id);
  return x.state === 'idle' && at - from > long_ms;
}
