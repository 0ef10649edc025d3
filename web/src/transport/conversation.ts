/* conversation.ts -- what is known of one open conversation, and who wants to hear of it.
 *
 * Everything that changes the state is an event for the reducer. Subscribers
 * hear of changes once per frame; components hold no copy of anything here.
 */
import { reduce, type FilePart, type ThreadEvent, type ThreadState } from '../protocol';
import type { Connection } from './link';

/** What a person wrote and has not sent. */
export interface Draft {
  text: string;
  files: FilePart[];
}

/** What a person has sent and nobody has taken yet. The request id stays with it: sent twice, it is taken once. */
export interface Unsent extends Draft {
  id: string;
  requestId: string;
  /** The question that it stands in for. */
  messageId?: string;
  /** The answer of an earlier version that it goes on from. */
  after?: string;
  /** It begins the conversation: the server does not know that yet. */
  first?: boolean;
}

export interface Snapshot {
  id: string | null;
  title: string | null;
  state: ThreadState;
  connection: Connection;
  loaded: boolean;
  queue: Unsent[];
  degraded: boolean;
}

export class Conversation {
  private listeners = new Set<() => void>();
  private scheduled = false;

  constructor(private snap: Snapshot) {}

  subscribe = (f: () => void): (() => void) => {
    this.listeners.add(f);
    return () => this.listeners.delete(f);
  };

  get = (): Snapshot => this.snap;

  get id(): string | null {
    return this.snap.id;
  }

  get state(): ThreadState {
    return this.snap.state;
  }

  set(part: Partial<Snapshot>): void {
    this.snap = { ...this.snap, ...part };
    if (this.scheduled) return;
    this.scheduled = true;
    const tell = () => {
      this.scheduled = false;
      this.listeners.forEach((f) => f());
    };
    // A hidden page gets no frames; it still wants its title and its sounds.
    if (typeof document !== 'undefined' && !document.hidden) requestAnimationFrame(tell);
    else setTimeout(tell, 100);
  }

  dispatch(...events: ThreadEvent[]): void {
    const at = Date.now();
    this.set({ state: events.reduce((s, e) => reduce(s, { at, ...e }), this.snap.state) });
  }
}

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-';

/** 22 characters of 6 random bits: as many as the server's own ids. */
export function newId(prefix: string): string {
  const bytes = crypto.getRandomValues(new Uint8Array(22));
  return `${prefix}_${Array.from(bytes, (b) => alphabet[b & 63]).join('')}`;
}
