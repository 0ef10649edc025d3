/* Inbox.tsx -- everything, in any conversation, that waits for this person. */
import { Waiting } from '../chat/Waiting';
import { t } from '../words';
import { Dialog } from './Dialog';
import { notice } from './notices';
import { api, refresh, useLists } from './store';

export function Inbox({ onClose, onOpen }: { onClose: () => void; onOpen: (thread: string) => void }) {
  return (
    <Dialog title={t.waitingForYou} onClose={onClose} side>
      <AllWaiting onOpen={onOpen} />
    </Dialog>
  );
}

/** What waits, newest first, with who asks and why. */
export function AllWaiting({ onOpen }: { onOpen?: (thread: string) => void }) {
  const { inbox, loaded } = useLists();
  if (inbox.length === 0) return <p className="meta">{loaded ? t.nothingWaits : t.looking}</p>;
  return inbox.map((a) => <Waiting key={a.id} record={a} api={api} onDone={decided} onOpen={onOpen} />);
}

async function decided(words: string | null): Promise<void> {
  if (words) notice(words);
  await refresh();
}
