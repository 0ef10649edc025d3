/* Panel.tsx -- one conversation with everything that belongs to it, made of the page's own parts.
 *
 * What the page has around it (a list, settings, an address) is the host's
 * business; what protects a decision (the dock, the armed card, setting aside
 * only on purpose) is the same.
 */
import { useCallback, useSyncExternalStore, type ReactNode, type RefObject } from 'react';
import { Announcer } from '../../src/chat/Announcer';
import { ArtifactPanel } from '../../src/chat/ArtifactPanel';
import { Banner } from '../../src/chat/Banner';
import type { ComposerHandle } from '../../src/chat/Composer';
import { BaseContext, ChatContext } from '../../src/chat/context';
import { Dock } from '../../src/chat/Dock';
import { Gone } from '../../src/chat/Gone';
import { costOf, said } from '../../src/chat/product';
import { Transcript } from '../../src/chat/Transcript';
import { useConversation } from '../../src/chat/useConversation';
import type { FilePart, SuggestedAction, Usage } from '../../src/protocol';
import type { GeneralChat } from '../../src/transport/general';
import type { Snapshot } from '../../src/transport/session';
import { t } from '../../src/words';
import type { Known } from './known';
import type { Page } from './page';

/** What is being written, kept by whoever opens and closes the panel. */
export interface Desk {
  draft: string;
  files: FilePart[];
}

export interface Words {
  /** Above the first message. Left out: the product's. */
  greeting?: string;
  /** What one might ask; a click sends it. Left out: the product's. */
  starters?: string[];
}

interface Props extends Words {
  chat: GeneralChat;
  snap: Snapshot;
  known: Known;
  base: string;
  notices: readonly string[];
  desk: Desk;
  head?: ReactNode;
  composer: RefObject<ComposerHandle | null>;
  onAction: (action: SuggestedAction) => void;
  /** Begins another conversation: this one is gone. */
  onFresh: () => void;
  page: Page | null;
}

export function Panel({
  chat,
  snap,
  known,
  base,
  notices,
  desk,
  head,
  composer,
  onAction,
  onFresh,
  greeting,
  starters,
  page,
}: Props) {
  const { session } = chat;
  const { state } = snap;
  const { me, tools } = known;
  const before = useCallback(
    (text: string) => [text, desk.draft].filter((part) => part.trim()).join('\n\n'),
    [desk],
  );
  const product = page?.product;
  const cost = useCallback(
    (usage: Usage) => (product ? costOf(product, usage) : null),
    [product],
  );
  const talk = useConversation({ session, snap, me, tools, composer, before, onAction, cost });
  const { artifacts, beside: shown, setBeside } = talk;
  const retry = () => {
    chat.api.forget();
    known.again();
    session.nudge();
  };
  return (
    <BaseContext value={base}>
      <ChatContext value={talk.actions}>
        <div
          className="main"
          onKeyDown={(e) =>
            e.key === 'Escape' && talk.streaming && (e.preventDefault(), void session.stop())
          }
        >
          {head}
          {snap.connection.state === 'gone' ? (
            <Gone heading="h2" onFresh={onFresh} />
          ) : talk.empty && snap.loaded && !talk.waiting ? (
            <div className="scroller" tabIndex={-1}>
              <Welcome
                greeting={greeting ?? (product?.greeting ? said(product.greeting) : t.greetingHere)}
                starters={starters ?? product?.starters?.map(said) ?? []}
                onPick={talk.send}
              />
            </div>
          ) : (
            <Transcript
              thread={snap.id}
              state={state}
              sent={talk.sent}
              waiting={talk.waiting}
              onOld={talk.setReadsOld}
              onOlder={() => session.loadOlder()}
            />
          )}
          <Dock
            talk={talk}
            draft={desk.draft}
            files={desk.files}
            onDraft={(text) => (desk.draft = text)}
            onFiles={(files) => (desk.files = files)}
            enterIsLine={false}
            readsPdf={product?.pdf ?? false}
            above={
              <Banner connection={snap.connection} trouble={troubleOf(snap, known)} onRetry={retry} />
            }
          />
          <div className="notices" role="status" aria-live="polite">
            {notices.map((text) => (
              <div key={text} className="notice">
                <span>{text}</span>
              </div>
            ))}
          </div>
          <Announcer state={state} loaded={snap.loaded} />
        </div>
        {shown && (
          <ArtifactPanel
            calls={artifacts}
            shown={shown}
            onShow={setBeside}
            onClose={() => (setBeside(null), composer.current?.focus())}
          />
        )}
      </ChatContext>
    </BaseContext>
  );
}

export function useSnapshot(chat: GeneralChat): Snapshot {
  return useSyncExternalStore(chat.session.subscribe, chat.session.get, chat.session.get);
}

/* Never with the server's address: whoever reads this did not build the page. */
function troubleOf({ connection }: Snapshot, known: Known): string | null {
  const idle = connection.state === 'idle';
  if (connection.state === 'signin' || (idle && known.trouble === 'signin')) return t.signInHere;
  return idle && known.trouble === 'lost' ? t.noConnection : null;
}

function Welcome({
  greeting,
  starters,
  onPick,
}: Required<Words> & { onPick: (text: string) => void }) {
  return (
    <section className="welcome" aria-label={t.welcome}>
      <h2>{t.howHelp}</h2>
      <p>{greeting}</p>
      {starters.length > 0 && (
        <div className="chips" role="group" aria-label={t.suggestions}>
          {starters.map((s) => (
            <button key={s} type="button" className="chip" onClick={() => onPick(s)}>
              {s}
            </button>
          ))}
        </div>
      )}
    </section>
  );
}
