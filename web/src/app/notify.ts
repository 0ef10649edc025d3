/* notify.ts -- a word from the browser when nobody is looking: something waits, or a long answer is through.
 *
 * Only where the person wished it (Settings), and only while the page is out of sight.
 */
import { useEffect, useRef } from 'react';
import type { ApprovalRecord, ThreadState } from '../protocol';
import { callsOf, lastOf, textOf } from '../protocol';
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

function tell(title: string, body: string, tag: string, open: () => void): void {
  try {
    const n = new Notification(title, { body, tag });
    n.onclick = () => {
      window.focus();
      open();
      n.close();
    };
  } catch {
    // phones let only a service worker do this
  }
}

interface Seen {
  state: ThreadState;
  inbox: readonly ApprovalRecord[];
  thread: string | null;
  open: (thread: string | null) => void;
}

export function useNotify({ state, inbox, thread, open }: Seen): void {
  const { notify } = usePrefs();
  const on = notify && canNotify() && Notification.permission === 'granted';
  const told = useRef(new Set<string>());
  const began = useRef(0);
  const answering = state.open?.status === 'open';
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
      if (on && document.hidden) tell(t.notifyApproval, w.ask, w.id, () => open(w.thread));
    }
  }, [state.open, inbox, thread, on, open]);
  useEffect(() => {
    if (answering) {
      began.current = Date.now();
      return;
    }
    const last = lastOf(state.messages);
    const long = began.current > 0 && Date.now() - began.current > long_ms;
    began.current = 0;
    if (on && long && document.hidden && !state.open && last?.role === 'assistant')
      tell(t.notifyAnswer, textOf(last).slice(0, 120), `answer-${last.id}`, () => open(thread));
    // Only the end of an answer is news.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [answering]);
}
