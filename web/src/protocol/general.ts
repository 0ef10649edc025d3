/* general.ts -- a conversation as those see it who build their own page on `useGeneralChat`.
 *
 * messages, isLoading, streamingText, statusText, activeToolProgress, error: a
 * view of the thread's state, pure. `[[tool:N]]` is the wire's business: texts
 * have none, and `parts` says where the cards stand.
 */
import type { CustomPayload, FilePart, PendingApproval, SuggestedAction, SuggestedValue, ToolHistoryEntry } from './events';
import { callsOf, isStreaming, textOf, withAnswer } from './state';
import type { Call, CallStatus, Message, Progress, ThreadState } from './state';
import { t } from '../words';

export interface GeneralToolCall extends ToolHistoryEntry {
  tool_use_id: string;
  status: CallStatus;
}

export interface ToolProgress {
  stage?: string;
  message?: string;
  /** 0 to 1, or unknown. */
  progress: number | null;
  data?: unknown;
}

/** What a message is made of, in order. `index` is one of `toolHistory`. */
export type GeneralPart = { type: 'text'; text: string } | { type: 'tool'; index: number } | FilePart;

export interface GeneralChatMessage {
  id: string;
  role: 'user' | 'assistant';
  /** The words alone. */
  content: string;
  parts: GeneralPart[];
  toolHistory: GeneralToolCall[];
  suggestedValues: SuggestedValue[];
  suggestedActions: SuggestedAction[];
  customPayload?: CustomPayload;
  /** The run waits for these confirmations or client calls; it goes on in the same message. */
  awaiting: string[];
  failed?: boolean;
  stopped?: boolean;
}

export interface GeneralApproval extends PendingApproval {
  /** Pointers to the arguments that may be changed before a yes; none: nothing may. */
  edit?: string[];
  /** Why the last answer to it did not arrive. */
  error?: string;
}

export interface GeneralChatState {
  messages: GeneralChatMessage[];
  isLoading: boolean;
  /** The answer as far as it has come: its words, and the whole of it. */
  streamingText: string;
  streaming: GeneralChatMessage | null;
  statusText: string | null;
  activeToolProgress: { toolName: string; updates: ToolProgress[] } | null;
  error: string | null;
  /** "I'll search for …", until its tool starts. */
  intentText: string | null;
  /** Gates that wait for `approve` or `deny`. */
  pending: GeneralApproval[];
  /** Written while something was being answered: they go out, one after the other, when it is. */
  queue: string[];
  /** The history is here (a new conversation has none). */
  loaded: boolean;
  /** There are messages before these: `loadEarlier()`. */
  hasEarlier: boolean;
}

export interface Around {
  /** A message is on its way and nothing has come back yet. */
  waiting: boolean;
  queue: string[];
  loaded: boolean;
  /** Why there is no connection. */
  trouble: string | null;
  /** What the running tool has reported so far. */
  updates: Progress[];
}

export function generalChat(s: ThreadState, around: Around): GeneralChatState {
  const { open } = s;
  const told = isStreaming(s) && open ? general(open) : null;
  const all = open && !told ? withAnswer(s.messages, open) : s.messages;
  const calls = open ? callsOf(open) : [];
  const running = calls.findLast((c) => c.status === 'running');
  const loading = told !== null || around.waiting;
  const last = s.messages.at(-1);
  return {
    messages: all.map(general),
    isLoading: loading,
    streamingText: told?.content ?? '',
    streaming: told,
    statusText: running ? t.runningTool(running.name) : (s.statusText ?? (loading && !told?.content ? t.thinkingDots : null)),
    activeToolProgress: running ? { toolName: running.name, updates: around.updates.map(progress) } : null,
    error: around.trouble ?? (last?.sendError ?? (open ? null : (last?.error?.message ?? null))),
    intentText: calls.findLast((c) => c.status === 'preparing')?.intent ?? null,
    pending: calls.flatMap(gate),
    queue: around.queue,
    loaded: around.loaded,
    hasEarlier: s.earlier !== null,
  };
}

function general(m: Message): GeneralChatMessage {
  const calls = callsOf(m);
  return {
    id: m.key ?? m.id,
    role: m.role,
    content: textOf(m),
    parts: m.parts.flatMap((p): GeneralPart[] => {
      if (p.type === 'call') return [{ type: 'tool', index: calls.findIndex((c) => c.id === p.id) }];
      if (p.type === 'file') return [p];
      return p.type === 'text' && p.text.trim() ? [{ type: 'text', text: p.text.trim() }] : [];
    }),
    toolHistory: calls.map(entry),
    suggestedValues: m.payload?.suggestedValues ?? [],
    suggestedActions: m.payload?.suggestedActions ?? [],
    awaiting: calls.flatMap((c) => (c.status === 'asking' ? [c.approval!.id] : c.status === 'offered' ? [c.id] : [])),
    ...(m.payload?.custom ? { customPayload: m.payload.custom } : {}),
    ...(m.status === 'failed' || m.send === 'failed' ? { failed: true } : {}),
    ...(m.status === 'stopped' ? { stopped: true } : {}),
  };
}

function progress({ value, ...rest }: Progress): ToolProgress {
  return { ...rest, progress: value };
}

function entry(c: Call): GeneralToolCall {
  const over = c.status === 'done' || c.error !== undefined;
  return {
    tool_name: c.name,
    tool_use_id: c.id,
    input: c.input,
    output: c.output ?? c.error,
    status: c.status,
    ...(over ? { ok: c.status === 'done' } : {}),
    ...(c.ms !== undefined ? { ms: c.ms } : {}),
  };
}

function gate({ id, name, input, status, approval }: Call): GeneralApproval[] {
  if (status !== 'asking' || !approval || approval.sending) return [];
  const { ask, risk, expiresAt, edit, error } = approval;
  return [{ id: approval.id, tool: name, tool_use_id: id, input, ask, risk, expires_at: expiresAt, ...(edit ? { edit } : {}), ...(error ? { error } : {}) }];
}
