/* SharedPage.tsx -- `/s/<token>`: a conversation that somebody shared, to be read and nothing else. */
import { useEffect, useMemo, useState } from 'react';
import { alone, ChatContext, type ChatActions } from '../chat/context';
import { Icon } from '../chat/icons';
import { Transcript } from '../chat/Transcript';
import { emptyThread, hydrate, type ThreadState } from '../protocol';
import { Refused } from '../transport/api';
import { t } from '../words';
import type { Over } from './App';
import { SignIn } from './Pieces';
import { product, tabTitle } from './product';
import { useShared } from './router';
import { Settings } from './Settings';
import { api, lookAgain, useLists } from './store';

type Loaded = { title: string; owner: string; state: ThreadState } | 'gone' | 'away' | null;

export default function SharedPage({ over, setOver }: { over: Over; setOver: (over: Over) => void }) {
  const token = useShared();
  const { signIn } = useLists();
  const [shown, setShown] = useState<Loaded>(null);
  const chat = useMemo<ChatActions>(() => ({ ...alone, mayDecide: false, reads: true }), []);
  const load = () =>
    void api.sharedThread(token).then(
      ({ title, owner, messages }) => setShown({ title, owner, state: hydrate(emptyThread, { id: 'shared', title, state: 'idle', seq: 0, messages, pending: [] }) }),
      (e: unknown) => setShown(e instanceof Refused && e.status === 404 ? 'gone' : e instanceof Refused ? null : 'away'),
    );
  useEffect(load, [token]);
  const known = shown && typeof shown === 'object' ? shown : null;
  useEffect(() => {
    document.title = tabTitle(known?.title ?? null);
  }, [known]);
  return (
    <ChatContext value={chat}>
      <div className="app alone">
        <main className="main shared">
          <header className="top">
            <h1 className="top-title" dir="auto">
              {known ? known.title || t.untitled : product.name}
            </h1>
            <button type="button" className="quiet" aria-label={t.settings} onClick={() => setOver('settings')}>
              <Icon name="settings" />
            </button>
          </header>
          {known && <p className="shared-by">{t.sharedBy(known.owner)}</p>}
          {known && <Transcript thread={token} state={known.state} sent={0} waiting={false} onOld={() => undefined} onOlder={async () => undefined} />}
          {shown === 'gone' && <p className="shared-none">{t.shareGone}</p>}
          {shown === 'away' && (
            <p className="shared-none" role="alert">
              {t.unreachable}{' '}
              <button type="button" className="link" onClick={load}>
                {t.tryAgain}
              </button>
            </p>
          )}
        </main>
        {over === 'settings' && <Settings onClose={() => setOver(null)} onSave={null} thread={null} />}
        {signIn && <SignIn onDone={() => (lookAgain(), load())} />}
      </div>
    </ChatContext>
  );
}
