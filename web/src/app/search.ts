/* search.ts -- conversations by their words: the server looks into everything this person said and was told.
 *
 * What is typed is looked for when the typing pauses; until the answer is here, the names that are known already are shown.
 */
import { useEffect, useState } from 'react';
import type { FoundThread } from '../transport/api';
import { api, useLists } from './store';

const pause_ms = 200;

export interface Found {
  threads: FoundThread[];
  /** The server is being asked. */
  busy: boolean;
  more: (() => void) | null;
}

export function useSearch(query: string): Found {
  const lists = useLists();
  const wanted = query.trim();
  const [answer, setAnswer] = useState<{ of: string; threads: FoundThread[]; next: string | null } | null>(null);
  useEffect(() => {
    if (!wanted) return;
    const gone = new AbortController();
    const ask = () =>
      void api.search(wanted, undefined, gone.signal).then(
        (page) => setAnswer({ of: wanted, ...page }),
        () => undefined, // the names are there
      );
    const timer = setTimeout(ask, pause_ms);
    return () => {
      clearTimeout(timer);
      gone.abort();
    };
  }, [wanted]);
  const shown = lists.threads.filter((x) => !lists.hidden.has(x.id));
  if (!wanted) return { threads: shown, busy: false, more: null };
  const named = shown.filter((x) => (x.title ?? '').toLowerCase().includes(wanted.toLowerCase()));
  if (answer?.of !== wanted) return { threads: named, busy: true, more: null };
  const more = () =>
    void api.search(wanted, answer.next ?? undefined, new AbortController().signal).then(
      (page) => setAnswer((now) => (now?.of === wanted ? { of: wanted, threads: [...now.threads, ...page.threads], next: page.next } : now)),
      () => undefined,
    );
  return { threads: answer.threads.filter((x) => !lists.hidden.has(x.id)), busy: false, more: answer.next ? more : null };
}
