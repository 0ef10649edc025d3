/* @parley/client/react: `useGeneralChat`, the hook of the typed door. */
import { useEffect, useRef, useSyncExternalStore } from 'react';
import type { SuggestedAction } from '../src/protocol';
import type { GeneralChatState } from '../src/protocol/general';
import { GeneralChat, type GeneralChatOptions } from '../src/transport/general';

export interface GeneralChatHandle extends GeneralChatState {
  threadId: string | null;
  sendMessage: (text: string) => Promise<void>;
  cancel: () => Promise<void>;
  approve: (confirmationId: string) => Promise<void>;
  deny: (confirmationId: string, reason?: string) => Promise<void>;
  runAction: (action: SuggestedAction) => Promise<void>;
}

/** One conversation for the life of the component. The options of the first call count. */
export function useGeneralChat(options: GeneralChatOptions = {}): GeneralChatHandle {
  const held = useRef<GeneralChat>(null);
  held.current ??= new GeneralChat(options);
  const chat = held.current;
  const state = useSyncExternalStore(chat.subscribe, chat.get, chat.get);
  useEffect(() => () => chat.close(), [chat]);
  return {
    ...state,
    threadId: chat.threadId,
    sendMessage: (text) => chat.sendMessage(text),
    cancel: () => chat.cancel(),
    approve: (id) => chat.decide(id, true),
    deny: (id, reason) => chat.decide(id, false, reason),
    runAction: (action) => chat.runAction(action),
  };
}
