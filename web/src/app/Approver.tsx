/* Approver.tsx -- the page of somebody who only decides: what waits, who asks, and nothing to write in. */
import { Icon } from '../chat/icons';
import { Waiting } from './Inbox';
import { Notices } from './Pieces';
import { mayDecide, useLists } from './store';

export function Approver({ onSettings }: { onSettings: () => void }) {
  const { me, inbox } = useLists();
  return (
    <main className="main">
      <header className="top">
        <h1 className="top-title">Waiting for you{inbox.length > 0 && `: ${inbox.length}`}</h1>
        <button type="button" className="quiet" aria-label="Settings" onClick={onSettings}>
          <Icon name="settings" />
        </button>
      </header>
      <div className="scroller">
        <div className="column approver" aria-live="polite">
          <p className="meta">
            Signed in as {me?.principal}. {mayDecide(me) ? 'Requests of others appear here by themselves.' : 'You may look, but not decide.'}
          </p>
          <Waiting />
        </div>
      </div>
      <Notices />
    </main>
  );
}
