/* Inbox.tsx -- what waits for this person, over the conversation; all of it has a page of its own (InboxPage.tsx). */
import { byUrgency } from '../chat/urgency';
import { Waiting } from '../chat/Waiting';
import { t } from '../words';
import { Dialog } from './Dialog';
import { notice } from './notices';
import { visit } from './router';
import { api, refresh, useLists } from './store';

const shownMax = 10;

export function Inbox({ onClose, onOpen }: { onClose: () => void; onOpen: (thread: string) => void }) {
  const { inbox, loaded } = useLists();
  const ordered = byUrgency(inbox, Date.now()).flatMap(([, records]) => records);
  return (
    <Dialog title={t.waitingForYou} onClose={onClose} side>
      {inbox.length === 0 && <p className="meta">{loaded ? t.nothingWaits : t.looking}</p>}
      {ordered.slice(0, shownMax).map((a) => (
        <Waiting key={a.id} record={a} api={api} onDone={decided} onOpen={onOpen} />
      ))}
      <p>
        <a
          className="link"
          href="/inbox"
          onClick={(e) => {
            if (e.metaKey || e.ctrlKey || e.shiftKey) return;
            e.preventDefault();
            onClose();
            visit('/inbox');
          }}
        >
          {inbox.length > shownMax ? t.inboxMore(inbox.length - shownMax) : t.inboxAll}
        </a>
      </p>
    </Dialog>
  );
}

/** Something of the list was decided: says it, and looks again. */
export async function decided(words: string | null): Promise<void> {
  if (words) notice(words);
  await refresh();
}
