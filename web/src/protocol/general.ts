/* general.ts -- the chat state of the typed door, as its specification lists it.
 *
 * messages, isLoading, streamingText, statusText, activeToolProgress, error: a
 * second, smaller fold over the same typed events, for those who build their
 * own page on `useGeneralChat`. Texts keep their `[[tool:N]]` markers;
 * `parseMarkers` cuts them.
 */
import type {
  CustomPayload,
  PendingApproval,
  ResponsePayload,
  SuggestedAction,
  SuggestedValue,
  ToolHistoryEntry,
  TypedEvent,
  UnknownEvent,
} from './events';

export type ToolProgressEvent = Extract<TypedEvent, { type: 'tool_progress' }>;

export interface GeneralChatMessage {
  id: string;
  role: 'user' | 'assistant';
  /** May contain `[[tool:N]]`; N is an index into `toolHistory`. */
  content: string;
  toolHistory: ToolHistoryEntry[];
  suggestedValues: SuggestedValue[];
  suggestedActions: SuggestedAction[];
  customPayload?: CustomPayload;
  runId?: string;
  /** The run waits for these confirmations or client calls; it goes on in the same message. */
  awaiting: string[];
  failed?: boolean;
  stopped?: boolean;
}

export interface GeneralChatState {
  messages: GeneralChatMessage[];
  isLoading: boolean;
  streamingText: string;
  statusText: string | null;
  activeToolProgress: { toolName: string; updates: ToolProgressEvent[] } | null;
  error: string | null;
  /** "I'll search for …", until its tool starts. */
  intentText: string | null;
  /** Gates that wait for `approve` or `deny`. */
  pending: PendingApproval[];
}

export const emptyGeneralChat: GeneralChatState = {
  messages: [],
  isLoading: false,
  streamingText: '',
  statusText: null,
  activeToolProgress: null,
  error: null,
  intentText: null,
  pending: [],
};

export type GeneralChatEvent = TypedEvent | UnknownEvent | { type: 'asked'; id: string; text: string } | { type: 'answering' };

function message(id: string, role: GeneralChatMessage['role'], content: string): GeneralChatMessage {
  return { id, role, content, toolHistory: [], suggestedValues: [], suggestedActions: [], awaiting: [] };
}

export function reduceGeneral(s: GeneralChatState, e: GeneralChatEvent): GeneralChatState {
  switch (e.type) {
    case 'asked':
      return { ...begin(s), streamingText: '', messages: [...s.messages, message(e.id, 'user', e.text)], pending: [] };
    case 'answering':
      return begin(s);
    case 'status':
      return { ...s, statusText: e.message };
    case 'text_delta':
      return { ...s, statusText: null, streamingText: s.streamingText + e.text };
    case 'intent_confirmation':
      return { ...s, intentText: e.message };
    case 'tool_confirmation':
      return {
        ...s,
        pending: [
          ...s.pending.filter((p) => p.id !== e.confirmation_id),
          {
            id: e.confirmation_id,
            tool: e.tool,
            tool_use_id: e.tool_use_id,
            input: e.input,
            ask: e.ask,
            risk: e.risk,
            expires_at: e.expires_at,
          },
        ],
      };
    case 'tool_start':
      return {
        ...s,
        intentText: null,
        statusText: `Running ${e.tool}...`,
        activeToolProgress: { toolName: e.tool, updates: [] },
        pending: s.pending.filter((p) => p.tool_use_id !== e.tool_use_id),
      };
    case 'tool_progress': {
      const now = s.activeToolProgress ?? { toolName: e.tool, updates: [] };
      return { ...s, activeToolProgress: { ...now, updates: [...now.updates, e] } };
    }
    case 'tool_complete':
      return {
        ...s,
        intentText: null,
        statusText: null,
        activeToolProgress: null,
        pending: s.pending.filter((p) => p.tool_use_id !== e.tool_use_id),
      };
    case 'step_reset':
      return { ...s, streamingText: e.message };
    case 'complete':
      return complete(s, e.payload);
    case 'error':
      return end(s, { content: s.streamingText, failed: true }, e.message);
    case 'cancelled':
      return end(s, { content: s.streamingText, stopped: true }, null);
    case 'reasoning_delta':
    case 'restarting':
    case 'unknown':
      return s;
  }
}

/* After a gate the run goes on in the message it left: its text is the beginning of what follows. */
function begin(s: GeneralChatState): GeneralChatState {
  const last = s.messages.at(-1);
  return { ...s, isLoading: true, error: null, streamingText: last?.awaiting.length ? last.content : '' };
}

function complete(s: GeneralChatState, p: ResponsePayload): GeneralChatState {
  const quiet = end(
    s,
    {
      content: p.message,
      toolHistory: p.tool_history ?? [],
      suggestedValues: p.suggested_values ?? [],
      suggestedActions: p.suggested_actions ?? [],
      awaiting: p.awaiting ?? [],
      ...(p.custom_payload ? { customPayload: p.custom_payload } : {}),
      ...(p.run_id ? { runId: p.run_id } : {}),
    },
    null,
  );
  return { ...quiet, pending: p.awaiting?.length ? s.pending : [] };
}

function end(s: GeneralChatState, part: Partial<GeneralChatMessage>, error: string | null): GeneralChatState {
  const last = s.messages.at(-1);
  const goesOn = last?.role === 'assistant' && last.awaiting.length > 0;
  const id = goesOn ? last.id : `answer-${s.messages.length}`;
  const answer: GeneralChatMessage = { ...message(id, 'assistant', ''), ...part };
  const messages = goesOn ? [...s.messages.slice(0, -1), answer] : [...s.messages, answer];
  return { ...s, messages, isLoading: false, streamingText: '', statusText: null, activeToolProgress: null, intentText: null, error };
}
