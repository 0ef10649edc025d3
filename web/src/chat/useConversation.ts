/* useConversation.ts -- what a person can do in a conversation, wherever it is shown: on the page or
 * in a part of somebody else's.
 *
 * A message would set aside what waits for an answer: it is held, and the person is asked first
 * (Dock.tsx). Everything that leaves goes through `offer`.
 */
import { useCallback, useMemo, useState, type RefObject } from 'react';
import {
  callsOf,
  filesOf,
  isStreaming,
  textOf,
  type Call,
  type FilePart,
  type SuggestedAction,
  type ThreadState,
  type Usage,
} from '../protocol';
import type { ToolInfo, Whoami } from '../transport/api';
import type { Draft, Session, Snapshot } from '../transport/session';
import type { ComposerHandle } from './Composer';
import type { ChatActions } from './context';
import { mayDecide, nameFor } from './people';

export interface Around {
  session: Session;
  snap: Snapshot;
  me: Whoami | null;
  tools: ToolInfo[];
  composer: RefObject<ComposerHandle | null>;
  /** The text before what is being written, not instead of it. */
  before: (text: string) => string;
  /** Actions of the page itself; the server's go to the server. */
  onAction: (action: SuggestedAction) => void;
  cost: (usage: Usage) => string | null;
  keptEdit?: ChatActions['keptEdit'];
}

export type Conversation = ReturnType<typeof useConversation>;

export function useConversation({
  session,
  snap,
  me,
  tools,
  composer,
  before,
  onAction,
  cost,
  keptEdit,
}: Around) {
  const { state } = snap;
  const [sent, setSent] = useState(0);
  const [held, setHeld] = useState<Draft | null>(null);
  const [readsOld, setReadsOld] = useState<string | null>(null);
  const [beside, setBeside] = useState<string | null>(null);

  const transmit = useCallback(
    (text: string, files: FilePart[]) => {
      setHeld(null);
      setSent((n) => n + 1);
      if (session.occupied()) session.enqueue(text, files, readsOld ?? undefined);
      else void session.send(text, files, readsOld ?? undefined);
    },
    [session, readsOld],
  );
  /** False: it is held, and stays in the composer. */
  const offer = useCallback(
    (text: string, files: FilePart[]): boolean => {
      const aside = waits(session.get().state).length > 0 && !session.occupied();
      if (aside) setHeld({ text, files });
      else transmit(text, files);
      return !aside;
    },
    [session, transmit],
  );
  const send = useCallback(
    (text: string, files: FilePart[] = []) => {
      if (offer(text, files)) return;
      composer.current?.fill(text, files);
      setHeld({ text, files });
    },
    [offer, composer],
  );
  const takeBack = useCallback(
    ({ text, files }: Draft) => composer.current?.fill(before(text), files),
    [before, composer],
  );

  const actions = useMemo<ChatActions>(
    () => ({
      mayDecide: mayDecide(me),
      holds: me?.holds ?? false,
      edits: true,
      look: (id) => void session.look(id),
      decide: (id, confirmed, terms) => void session.decide(id, confirmed, terms),
      unvote: (id) => void session.unvote(id),
      settle: (id, outcome) => session.settle(id, outcome),
      send,
      fill: (text) => composer.current?.fill(text),
      act: async (action) =>
        action.handler === 'server' ? session.act(action.action, action.data) : onAction(action),
      retrySend: (id) => void session.retrySend(id),
      discard: (id) => takeBack(session.discard(id)),
      asking: () => (session.occupied() ? [] : waits(session.get().state)),
      keptEdit,
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
      cost,
      tool: (name) => tools.find((t) => t.name === name),
      name: nameFor(me),
    }),
    [session, send, takeBack, onAction, composer, tools, me, cost, keptEdit],
  );

  const artifacts = useArtifacts(state, tools);
  return {
    session,
    snap,
    composer,
    actions,
    sent,
    /** Counts from nothing: another conversation is shown. */
    unsend: useCallback(() => setSent(0), []),
    held,
    setHeld,
    setReadsOld,
    beside: artifacts.some((c) => c.id === beside) ? beside : null,
    setBeside,
    artifacts,
    asking: waits(state),
    streaming: isStreaming(state) || session.awaitsFirstWord(),
    waiting: !state.open && session.awaitsFirstWord(),
    empty: state.messages.length === 0 && !state.open,
    transmit,
    offer,
    send,
    takeBack,
  };
}

/* The conversation's artifacts, oldest first. */
function useArtifacts(state: ThreadState, tools: ToolInfo[]): Call[] {
  return useMemo(() => {
    const makers = new Set(tools.filter((t) => t.shows === 'artifact').map((t) => t.name));
    return state.messages.flatMap(callsOf).filter((c) => c.status === 'done' && makers.has(c.name));
  }, [state.messages, tools]);
}

function waits({ open }: ThreadState): Call[] {
  return open ? callsOf(open).filter((c) => c.status === 'asking') : [];
}
