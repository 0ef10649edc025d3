/* Approver.tsx -- the page of somebody who only decides: what waits, who asks, and nothing to write in. */
import { Icon } from '../chat/icons';
import { mayDecide } from '../chat/people';
import { AllWaiting } from './Inbox';
import { Notices } from './Pieces';
import { useLists } from './store';
import { t } from '../words';

export function Approver({ onSettings }: { onSettings: () => void }) {
  const { me, inbox } = useLists();
  return (
    <main className="main">
      <header className="top">
        <h1 className="top-title">{inbox.length > 0 ? t.waitingCount(inbox.length) : t.waitingForYou}</h1>
        <button type="button" className="quiet" aria-label={t.settings} onClick={onSettings}>
          <Icon name="settings" />
        </button>
      </header>
      <div className="scroller">
        <div className="column approver" aria-live="polite">
          <p className="meta">
            {t.signedInAs(me?.principal ?? '')} {mayDecide(me) ? t.othersAppear : t.onlyLook}
          </p>
          <AllWaiting />
        </div>
      </div>
      <Notices />
    </main>
  );
}
