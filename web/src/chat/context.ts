/* context.ts -- what the parts of a conversation can ask of the page around them. */
import { createContext, useContext, useEffect, useState, useSyncExternalStore } from 'react';
import { self, type AnswerTerms, type Call, type Message, type SuggestedAction, type Usage, type VersionOf } from '../protocol';
import type { ToolInfo } from '../transport/api';
import { t } from '../words';
import { nameOf } from './people';

export interface ChatActions {
  /** False where somebody else decides what this person asks for. */
  mayDecide: boolean;
  /** While a request waits nothing else is taken: it is not set aside by a message. */
  holds?: boolean;
  /** Nothing can be said or done here: it is somebody else's conversation. */
  reads?: boolean;
  decide(approvalId: string, confirmed: boolean, terms?: AnswerTerms): void;
  /** A yes may carry other arguments, where the request allows it. */
  edits?: boolean;
  /** Takes a vote back. */
  unvote?(approvalId: string): void;
  settle(approvalId: string, outcome: 'done' | 'not_done'): Promise<void>;
  /** Asks the server how it stands. */
  look?(approvalId: string): void;
  send(text: string): void;
  fill(text: string): void;
  act(action: SuggestedAction): Promise<void>;
  retrySend(id: string): void;
  discard(id: string): void;
  edit(id: string, text: string): void;
  /** What waits for an answer and would be set aside by a message. */
  asking?(): Call[];
  /** Where half-written changes of a message are kept: "" is none. */
  keptEdit?: { get(id: string): string; set(id: string, text: string): void };
  regenerate(answer: Message): void;
  /** The tools that did something, from this message on, which asking again does not undo. */
  ran(from: string): string[];
  /** Sends once more the question that led to this call. */
  again(callId: string): void;
  /** What an answer cost, as people write it; null where nobody said what tokens cost. */
  cost?(usage: Usage): string | null;
  /** Shows the artifact of a call beside the conversation. */
  beside(callId: string): void;
  tool(name: string): ToolInfo | undefined;
  /** "you", if it is; null while nobody knows who is here. */
  name(who: string): string | null;
}

/** What a card can ask of the page around it: nothing, unless it is given. */
export const alone: ChatActions = {
  mayDecide: true,
  decide: () => undefined,
  settle: async () => undefined,
  send: () => undefined,
  fill: () => undefined,
  act: async () => undefined,
  retrySend: () => undefined,
  discard: () => undefined,
  edit: () => undefined,
  regenerate: () => undefined,
  ran: () => [],
  again: () => undefined,
  beside: () => undefined,
  tool: () => undefined,
  name: (who) => (who === self ? 'you' : nameOf(who)),
};

export const ChatContext = createContext<ChatActions | null>(null);

export function useChat(): ChatActions {
  const chat = useContext(ChatContext);
  if (!chat) throw new Error('outside of a conversation');
  return chat;
}

/** Somebody within a sentence: "you", or what they are called. */
export function called(chat: Pick<ChatActions, 'name'>, who: string): string {
  const name = chat.name(who);
  return name === 'you' ? t.you : (name ?? nameOf(who));
}

/** The server's address, "" on its own page: frames and what is loaded late come from there. */
export const BaseContext = createContext('');

/** The call whose artifact stands beside the conversation. */
export const BesideContext = createContext<string | null>(null);

/** Which version of a question is shown, and how to see another. */
export interface VersionSwitcher {
  places: ReadonlyMap<string, VersionOf>;
  /** Messages that are no longer part of the conversation. */
  old: ReadonlySet<string>;
  show(of: string, index: number): void;
}

export const VersionContext = createContext<VersionSwitcher>({ places: new Map(), old: new Set(), show: () => undefined });

/* The list of conversations is a drawer there (page.css). */
const drawers = media('(max-width: 899px)');

export const useDrawers = () => useMedia(drawers);

function media(query: string): MediaQueryList | null {
  return typeof matchMedia === 'function' ? matchMedia(query) : null;
}

function useMedia(list: MediaQueryList | null): boolean {
  return useSyncExternalStore(
    (f) => (list?.addEventListener('change', f), () => list?.removeEventListener('change', f)),
    () => list?.matches ?? false,
  );
}

/** The time, again every `every_ms` while `on`. One timer per user; cards are few. */
export function useNow(every_ms: number, on = true): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    if (!on) return;
    setNow(Date.now());
    const timer = setInterval(() => setNow(Date.now()), every_ms);
    return () => clearInterval(timer);
  }, [every_ms, on]);
  return now;
}
