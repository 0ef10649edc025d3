/* Dock.tsx -- below a conversation, and outside of it: what waits for a decision, what is held until
 * the person has chosen, what goes out later, and where one writes. */
import { useRef, type ReactNode } from 'react';
import type { FilePart } from '../protocol';
import type { Draft, Session, Snapshot } from '../transport/session';
import { t } from '../words';
import { AskSheet } from './AskSheet';
import { Composer } from './Composer';
import { Icon } from './icons';
import { SetAside } from './SetAside';
import type { Conversation } from './useConversation';

interface Props {
  talk: Conversation;
  /** What is being written. */
  draft: string;
  files: FilePart[];
  onDraft: (text: string) => void;
  onFiles: (files: FilePart[]) => void;
  enterIsLine: boolean;
  /** The model that answers reads PDF files. */
  readsPdf: boolean;
  /** One composer for each. */
  composerKey?: string;
  above: ReactNode;
  below?: ReactNode;
}

export function Dock({ talk, onDraft, composerKey, above, below, ...desk }: Props) {
  const { session, snap, composer, held, setHeld, asking } = talk;
  const dock = useRef<HTMLDivElement>(null);
  const send = () => held && (composer.current?.clear(), talk.transmit(held.text, held.files));
  return (
    <div ref={dock} className="dock">
      {above}
      <AskSheet key={snap.state.open?.id} calls={asking} />
      {held && asking.length > 0 && (
        <SetAside
          text={held.text}
          calls={asking}
          onSend={send}
          onAnswered={() => (composer.current?.clear(), setHeld(null))}
          onBack={() => setHeld(null)}
        />
      )}
      <Queue session={session} queue={snap.queue} onBack={talk.takeBack} />
      <Composer
        key={composerKey}
        ref={composer}
        {...desk}
        onDraft={(text) => (onDraft(text), setHeld(null))}
        streaming={talk.streaming}
        stopping={snap.state.stopping}
        onSend={talk.offer}
        onStop={() => void session.stop()}
        onEditLast={() => editLast(dock.current)}
      />
      {below}
    </div>
  );
}

function editLast(dock: HTMLElement | null): void {
  const all = dock?.parentElement?.querySelectorAll<HTMLElement>('article.user button[data-edit]');
  [...(all ?? [])].at(-1)?.click();
}

function Queue({
  session,
  queue,
  onBack,
}: {
  session: Session;
  queue: Snapshot['queue'];
  onBack: (d: Draft) => void;
}) {
  if (queue.length === 0) return null;
  return (
    <ul className="queue" aria-label={t.queue}>
      {queue.map(({ id, text, files }, i) => {
        const name = text || t.pictures(files.length);
        return (
          <li key={id}>
            {files.length > 0 && <Icon name="image" size={16} />}
            <span>{name}</span>
            <button
              type="button"
              className="quiet"
              aria-label={t.takeBackWhat(name)}
              onClick={() => onBack(session.unqueue(i)!)}
            >
              <Icon name="close" size={16} />
            </button>
          </li>
        );
      })}
    </ul>
  );
}
