/* @parley/client/react: `useGeneralChat`, a conversation as the state of a component. */
import { useEffect, useRef, useSyncExternalStore } from 'react';
import type { SuggestedAction } from '../src/protocol';
import type { GeneralChatState } from '../src/protocol/general';
import { GeneralChat, type GeneralChatOptions } from '../src/transport/general';

export interface GeneralChatHandle extends GeneralChatState {
  threadId: string | null;
  sendMessage: (text: string) => Promise<void>;
  unqueue: (index: number) => string | undefined;
  loadEarlier: () => Promise<void>;
  cancel: () => Promise<void>;
  /** `input`: other arguments than were asked about, all of them, where the tool lets a person change them. */
  approve: (confirmationId: string, input?: unknown) => Promise<void>;
  deny: (confirmationId: string, reason?: string) => Promise<void>;
  runAction: (action: SuggestedAction) => Promise<void>;
}

/** One conversation: that of `threadId`, or a new one, which keeps its place when it is given its own id back. */
export function useGeneralChat(options: GeneralChatOptions = {}): GeneralChatHandle {
  const held = useRef<GeneralChat>(null);
  const another = options.threadId && held.current?.threadId !== options.threadId;
  if (!held.current || another) held.current = new GeneralChat(options);
  const chat = held.current;
  chat.update(options);
  const state = useSyncExternalStore(chat.subscribe, chat.get, chat.get);
  useEffect(() => {
    chat.open();
    return () => chat.close();
  }, [chat]);
  return {
    ...state,
    threadId: chat.threadId,
    sendMessage: (text) => chat.sendMessage(text),
    unqueue: (index) => chat.unqueue(index),
    loadEarlier: () => chat.loadEarlier(),
    cancel: () => chat.cancel(),
    approve: (id, input) => chat.decide(id, true, undefined, input),
    deny: (id, reason) => chat.decide(id, false, reason),
    runAction: (action) => chat.runAction(action),
  };
}
