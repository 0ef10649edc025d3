/* Announcer.tsx -- the boundaries of a turn, said to screen readers.
 *
 * One polite line for what begins and ends, one assertive line for what needs a
 * person. Neither moves the focus, and nothing is read token by token.
 */
import { useEffect, useRef, useState } from 'react';
import { callsOf, lastOf, textOf, type Call, type ThreadState } from '../protocol';
import { t } from '../words';

/** What needs a person, and the call or the answer that it is about. */
interface Urgent {
  words: string;
  about: string | null;
}

const nothing: Urgent = { words: '', about: null };

/* Two at once: the second comes when the first was taken up. */
const apart_ms = 100;

export function Announcer({ state, loaded }: { state: ThreadState; loaded: boolean }) {
  const [polite, setPolite] = useState('');
  const [urgent, setUrgent] = useState('');
  const before = useRef<ThreadState | null>(null);
  const said = useRef<Urgent>(nothing);
  useEffect(() => {
    const was = before.current;
    before.current = state;
    if (!was || !loaded || was === state) return;
    politeNews(was, state).forEach((words, i) => (i ? setTimeout(() => setPolite(words), i * apart_ms) : setPolite(words)));
    const news = urgentNews(was, state) ?? (isOver(said.current, state) ? waitingNews(state) : null);
    if (!news) return;
    said.current = news;
    setUrgent(news.words);
  }, [state, loaded]);
  return (
    <>
      <p className="sr" role="status" aria-live="polite">
        {polite}
      </p>
      <p className="sr" role="alert" aria-live="assertive">
        {urgent}
      </p>
    </>
  );
}

function calls(s: ThreadState): Call[] {
  const last = s.open ?? lastOf(s.messages);
  return last ? callsOf(last) : [];
}

/* A quick tool begins and ends between two looks, and so may the answer: each is said. */
function politeNews(was: ThreadState, now: ThreadState): string[] {
  return [toolNews(was, now), endNews(was, now)].filter(Boolean);
}

function endNews(was: ThreadState, now: ThreadState): string {
  if (was.open?.status !== 'open' || now.open) return '';
  const last = lastOf(now.messages);
  if (last?.status === 'stopped') return t.answerStopped;
  // Once, at its end: the words themselves, as far as they can be listened to.
  return last?.role === 'assistant' && last.status === 'done' ? t.answerComplete(textOf(last).slice(0, 600)) : '';
}

function toolNews(was: ThreadState, now: ThreadState): string {
  const old = new Map(calls(was).map((c) => [c.id, c.status]));
  const changed = calls(now).find(
    (c) => old.get(c.id) !== c.status && c.status !== 'asking' && c.status !== 'queued' && c.status !== 'preparing',
  );
  if (changed) return t.toolIs(changed.name, t.state[changed.status]);
  if (!was.open && now.open?.status === 'open') return t.answerStarted;
  return '';
}

function asking(s: ThreadState): Call[] {
  return calls(s).filter((c) => c.status === 'asking');
}

function askNews(ask: Call): Urgent {
  return { words: t.approvalNeeded(ask.approval?.ask ?? ask.name), about: ask.id };
}

function urgentNews(was: ThreadState, now: ThreadState): Urgent | null {
  const asked = new Set(asking(was).map((c) => c.id));
  const ask = asking(now).find((c) => !asked.has(c.id));
  if (ask) return askNews(ask);
  const last = lastOf(now.messages);
  if (last?.status !== 'failed' || last === lastOf(was.messages)) return null;
  return { words: t.answerFailedSaid(last.error?.message ?? ''), about: last.id };
}

/* The request that was said does not wait any more, or something came after the answer that failed. */
function isOver({ about }: Urgent, now: ThreadState): boolean {
  return about !== null && lastOf(now.messages)?.id !== about && !asking(now).some((c) => c.id === about);
}

/* The next of several that were asked at once. */
function waitingNews(now: ThreadState): Urgent {
  const next = asking(now)[0];
  return next ? askNews(next) : nothing;
}
