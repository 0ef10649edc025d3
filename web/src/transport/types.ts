/* types.ts -- one interface for every way of talking about a thread.
 *
 * A channel can follow a thread from a cursor, and can take a message or an
 * answer. Over HTTP those bring a stream of their own; over the socket what
 * follows comes through the socket that is followed already (`null`).
 */
import type { FilePart, ThreadEvent } from '../protocol';

export type Mode = 'direct' | 'sse' | 'bidi';

/** What one read of the wire brought. */
export interface Delivery {
  events: ThreadEvent[];
  /** The resume point after these events, where the wire names one. */
  cursor?: string;
  /** The turn is over ([DONE]). */
  done?: boolean;
  /** Something was missed that will not be told: look at the whole thread. */
  gap?: boolean;
}

/** The events of a message that is told from its beginning once more. */
export function replayed(events: ThreadEvent[]): ThreadEvent[] {
  return events.map((e) => (e.type === 'message_start' ? { ...e, replay: true } : e));
}

export interface OutgoingMessage {
  id: string;
  /** Idempotency key of this sending, so that a retry never sends twice. */
  requestId: string;
  text: string;
  files?: FilePart[];
  trigger?: 'submit-message' | 'regenerate-message';
  /** The message that is edited (user) or answered anew (assistant). */
  messageId?: string;
  /** The answer of an earlier version that it goes on from. */
  after?: string;
}

/** A message as the AI SDK doors take it; before it the one that it stands in for, by its id. */
export function userMessages(m: OutgoingMessage): object[] {
  const message = { id: m.id, role: 'user', parts: [...(m.files ?? []), { type: 'text', text: m.text }] };
  return m.messageId && m.trigger !== 'regenerate-message' ? [{ id: m.messageId, role: 'user', parts: [] }, message] : [message];
}

export interface OutgoingAnswer {
  approvalId: string;
  confirmed: boolean;
  reason?: string;
  answerId: string;
  /** The call as it was shown: echoed, so that the server can refuse if it is not the one it asked about. */
  call: { id: string; name: string; input?: unknown };
  messageId: string;
}

export interface OutgoingResult {
  callId: string;
  name: string;
  outcome: { result: unknown } | { error: string };
}

export type Deliveries = AsyncIterable<Delivery>;

export interface Channel {
  readonly mode: Mode;
  /**
   * Follows the thread from `cursor` until the signal fires; null: it is not there yet, and the first message makes it.
   * Throws when the connection is lost.
   */
  follow(thread: string, cursor: string | null, signal: AbortSignal): Deliveries;
  /** Replays and follows the run under way, or `null` if there is none (or `follow` does that by itself). */
  attach(thread: string, signal: AbortSignal): Promise<Deliveries | null>;
  /** `null`: accepted, and what follows comes through `follow`. */
  send(thread: string, message: OutgoingMessage, signal: AbortSignal): Promise<Deliveries | null>;
  answer(thread: string, answer: OutgoingAnswer, signal: AbortSignal): Promise<Deliveries | null>;
  result(thread: string, result: OutgoingResult): Promise<void>;
  stop(thread: string): Promise<void>;
  /** A socket that is up; HTTP always is. */
  ready(): boolean;
}

/** One line of the developer panel. */
export interface WireEntry {
  n: number;
  at: number;
  way: 'in' | 'out' | 'note';
  channel: string;
  cursor?: string;
  value: unknown;
}

/** The newest wire traffic, for the developer panel and bug reports. A ring: a page that is open for days must not grow. */
export class WireLog {
  private entries: WireEntry[] = [];
  private n = 0;
  private listeners = new Set<() => void>();

  constructor(private readonly max = 2000) {}

  add(way: WireEntry['way'], channel: string, value: unknown, cursor?: string): void {
    const kept = way === 'out' ? withoutFiles(value) : value;
    this.entries.push({ n: ++this.n, at: Date.now(), way, channel, value: kept, ...(cursor ? { cursor } : {}) });
    if (this.entries.length > this.max * 1.25) this.entries = this.entries.slice(-this.max);
    this.listeners.forEach((f) => f());
  }

  all(): readonly WireEntry[] {
    return this.entries;
  }

  clear(): void {
    this.entries = [];
    this.listeners.forEach((f) => f());
  }

  subscribe(f: () => void): () => void {
    this.listeners.add(f);
    return () => this.listeners.delete(f);
  }
}

/* A picture's bytes say nothing to a reader, and megabytes of them must not stay. */
function withoutFiles(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value), (_, v: unknown) =>
    typeof v === 'string' && v.startsWith('data:') ? `${v.slice(0, 40)}… (${v.length} characters)` : v,
  );
}
