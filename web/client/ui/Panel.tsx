/* Panel.tsx -- one conversation with everything that belongs to it, made of the page's own parts.
 *
 * What the page has around it (a list, settings, an address) is the host's
 * business; what protects a decision (the dock, the armed card, setting aside
 * only on purpose) is the same.
 */
import {
  useCallback,
  useMemo,
  useRef,
  useState,
  useSyncExternalStore,
  type ReactNode,
  type Ref,
} from 'react';
import { Announcer } from '../../src/chat/Announcer';
import { ArtifactPanel } from '../../src/chat/ArtifactPanel';
import { AskSheet } from '../../src/chat/AskSheet';
import { Composer, type ComposerHandle } from '../../src/chat/Composer';
import { BaseContext, ChatContext, useNow, type ChatActions } from '../../src/chat/context';
import { Icon } from '../../src/chat/icons';
import { Elsewhere, SetAside } from '../../src/chat/SetAside';
import { Transcript } from '../../src/chat/Transcript';
import {
  callsOf,
  filesOf,
  isStreaming,
  textOf,
  type Call,
  type FilePart,
  type SuggestedAction,
} from '../../src/protocol';
import type { GeneralChat } from '../../src/transport/general';
import type { Draft, Session, Snapshot } from '../../src/transport/session';
import { mayDecide, nameFor, type Known } from './known';

/** What is being written, kept by whoever opens and closes the panel. */
export interface Desk {
  draft: string;
  files: FilePart[];
}

export interface Words {
  /** Above the first message. */
  greeting?: string;
  /** What one might ask; a click sends it. */
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
  composer: Ref<ComposerHandle>;
  onAction: (action: SuggestedAction) => void;
  /** Begins another conversation: this one is gone. */
  onFresh: () => void;
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
  starters = [],
}: Props) {
  const { session } = chat;
  const { state } = snap;
  const handle = useRef<ComposerHandle>(null);
  const main = useRef<HTMLDivElement>(null);
  const [sent, setSent] = useState(0);
  const [held, setHeld] = useState<Draft | null>(null);
  const [readsOld, setReadsOld] = useState(false);
  const [beside, setBeside] = useState<string | null>(null);
  const streaming = isStreaming(state) || session.awaitsFirstWord();
  const waiting = !state.open && session.awaitsFirstWord();

  const transmit = useCallback(
    (text: string, files: FilePart[]) => {
      setHeld(null);
      setSent((n) => n + 1);
      if (session.occupied()) session.enqueue(text, files);
      else void session.send(text, files);
    },
    [session],
  );
  // A message would set aside what waits: the person is asked first, and it stays in the composer.
  const offer = useCallback(
    (text: string, files: FilePart[]): boolean => {
      const aside = readsOld || (waitsIn(session) && !session.occupied());
      if (aside) setHeld({ text, files });
      else transmit(text, files);
      return !aside;
    },
    [session, transmit, readsOld],
  );
  const send = useCallback(
    (text: string, files: FilePart[] = []) => {
      if (offer(text, files)) return;
      handle.current?.fill(text, files);
      setHeld({ text, files });
    },
    [offer],
  );
  // Before what is being written, not instead of it.
  const takeBack = useCallback(
    ({ text, files }: Draft) =>
      handle.current?.fill([text, desk.draft].filter((t) => t.trim()).join('\n\n'), files),
    [desk],
  );

  const { me, tools } = known;
  const actions = useMemo<ChatActions>(
    () => ({
      mayDecide: mayDecide(me),
      decide: (id, confirmed, reason) => void session.decide(id, confirmed, reason),
      settle: (id, outcome) => session.settle(id, outcome),
      send,
      fill: (text) => handle.current?.fill(text),
      act: async (action) =>
        action.handler === 'server' ? session.act(action.action, action.data) : onAction(action),
      retrySend: (id) => void session.retrySend(id),
      discard: (id) => takeBack(session.discard(id)),
      edit: (id, text) => (setSent((n) => n + 1), void session.edit(id, text)),
      regenerate: (answer) => (setSent((n) => n + 1), void session.regenerate(answer)),
      ran: (from) => {
        const { messages } = session.get().state;
        const later = messages.slice(messages.findIndex((m) => m.id === from)).flatMap(callsOf);
        const did = (c: Call) =>
          c.status === 'done' &&
          (c.approval || tools.find((t) => t.name === c.name)?.idempotent === false);
        return [...new Set(later.filter(did).map((c) => c.name))];
      },
      again: (call) => {
        const { messages } = session.get().state;
        const answer = messages.findIndex((m) => m.calls[call]);
        const question = messages.slice(0, answer).findLast((m) => m.role === 'user');
        if (question) send(textOf(question), filesOf(question));
      },
      beside: setBeside,
      tool: (name) => tools.find((t) => t.name === name),
      name: nameFor(me),
    }),
    [session, send, takeBack, onAction, tools, me],
  );

  const asking = state.open ? callsOf(state.open).filter((c) => c.status === 'asking') : [];
  const artifacts = useMemo(() => {
    const makers = new Set(tools.filter((t) => t.shows === 'artifact').map((t) => t.name));
    return state.messages.flatMap(callsOf).filter((c) => c.status === 'done' && makers.has(c.name));
  }, [state.messages, tools]);
  const shown = artifacts.some((c) => c.id === beside) ? beside : null;
  const empty = state.messages.length === 0 && !state.open;
  return (
    <BaseContext value={base}>
      <ChatContext value={actions}>
        <div
          ref={main}
          className="main"
          onKeyDown={(e) =>
            e.key === 'Escape' && streaming && (e.preventDefault(), void session.stop())
          }
        >
          {head}
          {snap.connection.state === 'gone' ? (
            <Gone onFresh={onFresh} />
          ) : empty && snap.loaded && !waiting ? (
            <div className="scroller" tabIndex={-1}>
              <Welcome greeting={greeting} starters={starters} onPick={send} />
            </div>
          ) : (
            <Transcript
              thread={snap.id}
              state={state}
              sent={sent}
              waiting={waiting}
              onOld={setReadsOld}
              onOlder={() => session.loadOlder()}
            />
          )}
          <div className="dock">
            <Trouble chat={chat} snap={snap} known={known} />
            <AskSheet key={state.open?.id} calls={asking} />
            {held && readsOld && (
              <Elsewhere
                onSend={() => (handle.current?.clear(), transmit(held.text, held.files))}
                onBack={() => setHeld(null)}
              />
            )}
            {held && !readsOld && asking.length > 0 && (
              <SetAside
                text={held.text}
                calls={asking}
                onSend={() => (handle.current?.clear(), transmit(held.text, held.files))}
                onAnswered={() => (handle.current?.clear(), setHeld(null))}
                onBack={() => setHeld(null)}
              />
            )}
            <Queue session={session} queue={snap.queue} onBack={takeBack} />
            <Composer
              ref={useBoth(handle, composer)}
              draft={desk.draft}
              files={desk.files}
              onDraft={(t) => ((desk.draft = t), setHeld(null))}
              onFiles={(f) => (desk.files = f)}
              enterIsLine={false}
              streaming={streaming}
              stopping={state.stopping}
              onSend={offer}
              onStop={() => void session.stop()}
              onEditLast={() =>
                [
                  ...(main.current?.querySelectorAll<HTMLElement>(
                    '.msg.user .msg-tools > :last-child',
                  ) ?? []),
                ]
                  .at(-1)
                  ?.click()
              }
            />
          </div>
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
            onClose={() => (setBeside(null), handle.current?.focus())}
          />
        )}
      </ChatContext>
    </BaseContext>
  );
}

export function useSnapshot(chat: GeneralChat): Snapshot {
  return useSyncExternalStore(chat.session.subscribe, chat.session.get, chat.session.get);
}

export function waitsIn(session: Session): boolean {
  const { open } = session.get().state;
  return open !== null && callsOf(open).some((c) => c.status === 'asking');
}

/* One handle for the panel, one for whoever opened it. */
function useBoth(a: { current: ComposerHandle | null }, b: Ref<ComposerHandle>) {
  return useCallback(
    (h: ComposerHandle | null) => {
      a.current = h;
      if (typeof b === 'function') b(h);
      else if (b) b.current = h;
    },
    [a, b],
  );
}

function Welcome({
  greeting,
  starters,
  onPick,
}: Required<Pick<Words, 'starters'>> & Words & { onPick: (text: string) => void }) {
  return (
    <section className="welcome" aria-label="Welcome">
      <h2>How can I help?</h2>
      <p>{greeting ?? 'Ask a question. Before anything risky is done, you are asked.'}</p>
      {starters.length > 0 && (
        <div className="chips" role="group" aria-label="Suggestions">
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

function Gone({ onFresh }: { onFresh: () => void }) {
  return (
    <section className="welcome">
      <h2>This conversation is not here</h2>
      <p>It was deleted, or it belongs to somebody else.</p>
      <button type="button" className="button primary" onClick={onFresh}>
        New conversation
      </button>
    </section>
  );
}

/* A phone that was in the pocket reconnects within this time; nobody needs to hear of it. */
const quiet_ms = 2500;

/* Never with the server's address: whoever reads this did not build the page. */
function Trouble({ chat, snap, known }: { chat: GeneralChat; snap: Snapshot; known: Known }) {
  const { connection } = snap;
  const lost = connection.state === 'lost';
  const now = useNow(500, lost);
  const retry = () => {
    chat.api.forget();
    known.again();
    chat.session.nudge();
  };
  const signin =
    connection.state === 'signin' || (connection.state === 'idle' && known.trouble === 'signin');
  const away = lost
    ? now - connection.since >= quiet_ms
    : connection.state === 'idle' && known.trouble === 'lost';
  if (!signin && !away) return null;
  return (
    <div className="banner" role="status">
      <Icon name="warning" size={16} />
      <span>
        {signin
          ? 'Sign in on this site to go on. What you write is kept.'
          : 'No connection. Nothing is lost; you can go on writing.'}
      </span>
      <button type="button" className="link" onClick={retry}>
        Try now
      </button>
    </div>
  );
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
    <ul className="queue" aria-label="Messages sent after this answer">
      {queue.map(({ id, text, files }, i) => {
        const name = text || (files.length === 1 ? 'A picture' : `${files.length} pictures`);
        return (
          <li key={id}>
            <span>{name}</span>
            <button
              type="button"
              className="quiet"
              aria-label={`Take back: ${name}`}
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
