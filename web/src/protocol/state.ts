/* state.ts -- what a client knows of one thread.
 *
 * Finished messages stand in `messages` and keep their identity, so that a
 * token only ever touches `open`: the assistant's message that is being told or
 * waits at a gate. Everything is plain immutable data.
 */
import { isObject } from './events';
import type { Ballot, CustomPayload, FilePart, Risk, SuggestedAction, SuggestedValue, Usage } from './events';

export type CallStatus =
  | 'preparing' // its arguments are being spelled out, or only its intent is known
  | 'asking' // waits for a person
  | 'queued' // known, not started
  | 'running'
  | 'offered' // waits for this browser (client tool)
  | 'done'
  | 'failed'
  | 'denied'
  | 'cancelled'
  | 'expired'
  | 'replaced' // somebody changed it, and others are asked about that: a call of its own
  | 'unknown';

export type ApprovalStatus = 'pending' | 'approved' | 'denied' | 'expired' | 'cancelled' | 'replaced';

/** What a person made of a call that ran in its place: its arguments, and those that were asked about. */
export interface Edited {
  /** Under this confirmation id it is listed. */
  id: string;
  by: string;
  input: unknown;
  was: unknown;
}

/** Whoever decided in this very tab, before the server said who that is. No principal is called so: names have no
 * control characters. */
export const self = '\u0001';

export interface Approval extends Ballot {
  id: string;
  /** The server's record was seen: what a rule or a grant says of it is known. */
  known?: boolean;
  status: ApprovalStatus;
  ask?: string;
  risk?: Risk;
  expiresAt?: string;
  /** The form that a tool's own question wants filled in: a schema. */
  form?: unknown;
  decidedAt?: string;
  decidedBy?: string;
  decidedVia?: string;
  reason?: string;
  edited?: Edited;
  /** Who said how an unknown outcome turned out; "check": the tool's own check. */
  settledBy?: string;
  /** It stands in the place of another request: of these arguments, and who changed them. */
  instead?: { by: string; was: unknown };
  /** This tab's click on its way, or why it failed. */
  sending?: 'approve' | 'deny';
  error?: string;
}

export interface Progress {
  stage?: string;
  message?: string;
  value: number | null;
  data?: unknown;
}

export interface Call {
  id: string;
  name: string;
  status: CallStatus;
  input?: unknown;
  inputText?: string;
  intent?: string;
  progress?: Progress;
  updates: number;
  output?: unknown;
  error?: string;
  /** N of `[[tool:N]]`, known when the outcome is told in the typed dialect. */
  index?: number;
  where?: 'server' | 'client';
  claim?: 'mine' | 'other';
  approval?: Approval;
  startedAt?: number;
  endedAt?: number;
  ms?: number;
}

export type Part =
  | { type: 'text'; id: string; text: string }
  | { type: 'reasoning'; id: string; text: string; done: boolean; startedAt?: number; endedAt?: number }
  | { type: 'call'; id: string }
  | FilePart;

export interface Payload {
  suggestedValues: SuggestedValue[];
  suggestedActions: SuggestedAction[];
  custom?: CustomPayload;
  cut?: 'length' | 'content-filter';
}

export type MessageStatus = 'open' | 'parked' | 'done' | 'stopped' | 'failed';

export interface Message {
  id: string;
  /** What it is called on the screen, if the server gave it another id later: nothing is drawn anew for that. */
  key?: string;
  role: 'user' | 'assistant';
  parts: Part[];
  calls: Record<string, Call>;
  status: MessageStatus;
  at?: number;
  /** All typed text of the run as it stands on the wire, markers included. */
  raw: string;
  /** A possible beginning of a marker, not shown yet. */
  held: string;
  error?: { message: string; code?: string; retryable: boolean };
  payload?: Payload;
  /** Before it was made, older messages were summarised for the model. */
  summarised?: boolean;
  usage?: Usage;
  runId?: string;
  /** User messages only. */
  send?: 'sending' | 'waiting' | 'sent' | 'failed';
  sendError?: string;
  /** It waits to be sent, and may have arrived: the connection broke under it. */
  maybe?: boolean;
}

export interface ThreadState {
  messages: Message[];
  /** The open message as it is told from its beginning once more, until that has come as far as what is shown. */
  again: Message | null;
  /** The server has messages before these: what to ask for them with. */
  earlier: string | null;
  open: Message | null;
  /** "Thinking...", "Running search...": what the server says it is doing. */
  statusText: string | null;
  /** When the present wait began: the page explains long silences. */
  waitingSince: number | null;
  stopping: boolean;
  serial: number;
  /** What was set aside by editing a question or answering it anew, by the id of the question in its place now, oldest first. */
  versions: Record<string, Message[][]>;
}

export const emptyThread: ThreadState = {
  messages: [],
  again: null,
  earlier: null,
  open: null,
  statusText: null,
  waitingSince: null,
  stopping: false,
  serial: 0,
  versions: {},
};

export function newMessage(id: string, role: Message['role'], at?: number): Message {
  return { id, role, parts: [], calls: {}, status: role === 'user' ? 'done' : 'open', raw: '', held: '', ...(at ? { at } : {}) };
}

export function textOf(message: Message): string {
  return message.parts.flatMap((p) => (p.type === 'text' && p.text.trim() ? [p.text.trim()] : [])).join('\n\n');
}

export function filesOf(message: Message): FilePart[] {
  return message.parts.filter((p) => p.type === 'file');
}

/** Where the messages begin that have not left: refused, or without a connection. What is answered stands before them. */
export function unsentAt(messages: readonly Message[]): number {
  return 1 + messages.findLastIndex((m) => m.send !== 'failed' && m.send !== 'waiting');
}

/** The last message that is part of the conversation. */
export function lastOf(messages: readonly Message[]): Message | undefined {
  return messages[unsentAt(messages) - 1];
}

/** `messages` with an answer in its place. */
export function withAnswer(messages: readonly Message[], answer: Message): Message[] {
  return messages.toSpliced(unsentAt(messages), 0, answer);
}

/** A run is being told right now (not: it waits for a person). */
export function isStreaming(state: ThreadState): boolean {
  return state.open?.status === 'open';
}

export function callsOf(message: Message): Call[] {
  return message.parts.flatMap((p) => {
    const call = p.type === 'call' ? message.calls[p.id] : undefined;
    return call ? [call] : [];
  });
}

export const settled: ReadonlySet<CallStatus> = new Set<CallStatus>(['done', 'failed', 'denied', 'cancelled', 'expired', 'replaced', 'unknown']);

/** The arguments that a call ran with, whoever had the last word on them. */
export function inputOf(call: Call): unknown {
  return call.approval?.edited ? call.approval.edited.input : call.input;
}

/** What it gave. Of a call that was changed the model is told more than that. */
export function outputOf(call: Call): unknown {
  return call.approval?.edited && isObject(call.output) && 'result' in call.output ? call.output.result : call.output;
}

/** Of a call that was not run because the same had been done before: the first one. */
export interface First {
  at: string;
  by: string;
  result: unknown;
}

/** null: it is no duplicate. */
export function firstOf(call: Call): First | null {
  const out = outputOf(call);
  const first = isObject(out) && out.duplicate === true && isObject(out.first) ? out.first : null;
  if (!first || call.status !== 'done' || typeof first.at !== 'string' || typeof first.by !== 'string') return null;
  return { at: first.at, by: first.by, result: (out as { result?: unknown }).result };
}

export interface VersionOf {
  /** The question that stands in this place now: the key of `versions`. */
  of: string;
  index: number;
  total: number;
}

/**
 * The conversation with the versions a reader chose (`of` -> index) in place of the newest ones. `places` names every
 * question on it that has versions; `old` are the messages that are no longer part of the conversation.
 */
export function readVersion(s: ThreadState, chosen: Readonly<Record<string, number>>) {
  const messages: Message[] = [];
  const places = new Map<string, VersionOf>();
  const old = new Set<string>();
  const walk = (tail: Message[], head: VersionOf | null, aside: boolean): void => {
    for (const [i, m] of tail.entries()) {
      const tails = s.versions[m.id];
      const place = i === 0 && head ? head : tails && { of: m.id, index: chosen[m.id] ?? tails.length, total: tails.length + 1 };
      const other = place !== head && place && tails![place.index];
      if (other) return walk(other, place, true);
      if (place) places.set(m.id, place);
      if (aside) old.add(m.id);
      messages.push(m);
    }
  };
  walk(s.messages, null, false);
  return { messages: old.size ? messages : s.messages, places, old };
}
