/* live.ts -- BIDI mode: one WebSocket per thread, many turns.
 *
 * The socket is opened by `follow` and lives as long as that. Frames are
 * `{"id":"41.17","event":{…}}` (subprotocol parley.json.v1); control frames
 * (`hello`, `ack`, `error`, `pong`) are bare. What a socket that is down cannot
 * take is thrown as `SocketDown`; the session then goes by HTTP and says so.
 *
 * `hello` names the point from which the server tells: the beginning of the run
 * under way, which is then told once more, or the end of the thread. If
 * that is behind the point we had reached, something was missed that the socket
 * will not tell, and the thread is looked at as a whole (`gap`).
 *
 * A thread that is not there yet cannot be named when the socket is opened: its
 * first message names it, and a second `hello` says that it was made.
 */
import { decodeChunk, isObject, parseExact, type ApprovalRecord, type ThreadEvent } from '../protocol';
import { Refused, Unreachable, type Api } from './api';
import { replayed, userMessages } from './types';
import type { Channel, Deliveries, Delivery, OutgoingAnswer, OutgoingMessage, OutgoingResult, WireLog } from './types';
import { t } from '../words';

export class SocketDown extends Error {}

/* A laptop that slept, or a network that changed, leaves sockets that look open: now and then, and whenever there is a reason to
 * doubt it, the socket is asked. One that says nothing at all by then is dead. */
const pingEvery_ms = 20_000;
const pongWithin_ms = 8_000;
const proveWithin_ms = 3_000;
const helloWithin_ms = 10_000;
/* What was just sent must have left before the question can: no line is taken to be slower than this. */
const bytesPerMs = 20;
/* A frame the server does not acknowledge within this time was lost. */
const ackWithin_ms = 8_000;

/* The server closes a socket that brings more than `limits.message` (1 MiB) at once; its HTTP doors take eight times that. */
const frameMax = 1_000_000;

interface Waiting {
  resolve: () => void;
  reject: (e: Error) => void;
}

export class LiveChannel implements Channel {
  readonly mode = 'bidi' as const;
  private socket: WebSocket | null = null;
  private greeted = false;
  private waiting = new Map<string, Waiting>();
  /** When the socket last said something. */
  private heard = 0;
  private end: ((why: Error) => void) | null = null;
  /** How far the thread has been told, on this socket or before it. */
  private reached = '0.0';
  /** What comes before this need not be told. */
  private past = '0.0';
  /** The thread is not there yet: messages name it. */
  private unmade = false;

  constructor(
    private readonly api: Api,
    private readonly log: WireLog,
    /** The socket is up: the gates that wait, as `hello` lists them. */
    private readonly onHello: (pending: ApprovalRecord[]) => void,
    private readonly page?: () => string | undefined,
  ) {}

  ready(): boolean {
    return this.greeted && this.socket?.readyState === WebSocket.OPEN;
  }

  /** Whether a message is small enough for a socket. */
  takes(m: OutgoingMessage): boolean {
    return new TextEncoder().encode(JSON.stringify(userMessages(m))).length < frameMax;
  }

  /** Asks a socket that looks open whether it is (the page became visible, the network changed, a message must get through). */
  probe(within_ms = proveWithin_ms): void {
    if (!this.ready()) return;
    const socket = this.socket;
    const asked = Date.now();
    this.push({ type: 'ping', timestamp: asked });
    setTimeout(() => {
      if (this.socket === socket && this.heard < asked) this.lost();
    }, within_ms);
  }

  /** The socket counts as dead, whatever it looks like: nobody waits for a goodbye that cannot come. */
  lost(): void {
    this.end?.(new Unreachable(t.liveLost));
  }

  /** The thread is known up to here by other ways, and nothing is under way in it: what the socket has yet to tell of that is old. */
  known(seq: number): void {
    this.past = `${seq}.0`;
  }

  async *follow(thread: string, cursor: string | null, signal: AbortSignal): Deliveries {
    const queue = new Queue<Delivery>();
    this.reached = cursor ?? '0.0';
    this.past = '0.0';
    this.unmade = cursor === null;
    const end = this.dial(this.unmade ? '' : `?thread=${encodeURIComponent(thread)}`, queue);
    const left = () => end(new Unreachable('left'));
    signal.addEventListener('abort', left);
    try {
      yield* queue;
    } finally {
      signal.removeEventListener('abort', left);
      left();
    }
  }

  /* Never asked for: the socket begins with the run under way. */
  attach(): Promise<null> {
    return Promise.resolve(null);
  }

  async send(thread: string, m: OutgoingMessage): Promise<null> {
    const page = this.page?.();
    this.push({
      type: 'message',
      version: '1.0',
      ...(this.unmade ? { id: thread } : {}),
      messages: userMessages(m),
      trigger: m.trigger ?? 'submit-message',
      ...(m.messageId ? { messageId: m.messageId } : {}),
      ...(m.after ? { after: m.after } : {}),
      ...(page ? { page } : {}),
      request_id: m.requestId,
      answer_id: m.requestId,
    });
    this.probe(proveWithin_ms + JSON.stringify(userMessages(m)).length / bytesPerMs);
    return null;
  }

  async answer(_thread: string, a: OutgoingAnswer): Promise<null> {
    this.push({
      type: 'approval',
      version: '1.0',
      id: a.approvalId,
      confirmed: a.confirmed,
      ...(a.reason ? { reason: a.reason } : {}),
      answer_id: a.answerId,
    });
    await this.expect(a.approvalId, a.answerId);
    return null;
  }

  async result(_thread: string, r: OutgoingResult): Promise<void> {
    this.push({
      type: 'tool_result',
      version: '1.0',
      toolCallId: r.callId,
      toolName: r.name,
      ...('result' in r.outcome ? { result: r.outcome.result } : { error: r.outcome.error }),
    });
    await this.expect(r.callId);
  }

  async stop(thread: string): Promise<void> {
    if (this.ready()) this.push({ type: 'interrupt', version: '1.0', reason: 'user_abort' });
    else await this.api.stop(thread);
  }

  /* ---- the socket ---- */

  /* Opens a socket; what comes back ends it at once. */
  private dial(query: string, queue: Queue<Delivery>): (why: Error) => void {
    const url = new URL(`${this.api.base || location.origin}/live${query}`, location.href);
    url.protocol = url.protocol.replace('http', 'ws');
    const socket = new WebSocket(url, ['parley.json.v1']);
    const beat = setInterval(() => this.probe(pongWithin_ms), pingEvery_ms);
    const greeting = setTimeout(() => this.greeted || end(new Unreachable(t.liveSilent)), helloWithin_ms);
    const end = (why: Error) => {
      clearInterval(beat);
      clearTimeout(greeting);
      this.drop(socket, new SocketDown(t.liveDown));
      queue.fail(why);
      socket.close(1000);
    };
    socket.onopen = () => {
      this.api.bearer().then(
        (token) => token && socket.readyState === WebSocket.OPEN && socket.send(JSON.stringify({ type: 'auth', token })),
        () => socket.close(1000), // a plain request says who is asked for
      );
    };
    socket.onmessage = (e) => {
      if (this.socket !== socket) return; // given up
      this.heard = Date.now();
      this.take(String(e.data), socket, queue);
    };
    socket.onclose = (e) => {
      this.log.add('note', 'live', `closed ${e.code} ${e.reason}`.trim());
      end(closeReason(e.code));
    };
    this.socket = socket;
    this.greeted = false;
    this.end = end;
    return end;
  }

  private take(text: string, socket: WebSocket, queue: Queue<Delivery>): void {
    let frame: unknown;
    try {
      frame = parseExact(text);
    } catch {
      return;
    }
    if (!isObject(frame)) return;
    const id = typeof frame.id === 'string' && 'event' in frame ? frame.id : undefined;
    this.log.add('in', 'live', id ? frame.event : frame, id);
    if (frame.type === 'hello') {
      if (this.greeted) return; // the thread was made
      this.greeted = this.socket === socket;
      this.onHello(gates(frame.pending));
      const gap = typeof frame.after === 'string' && later(frame.after, this.reached);
      queue.put({ events: [], ...(gap ? { gap } : {}) }); // connected
    } else if (frame.done === true) queue.put({ events: [], done: true });
    else if ('event' in frame) queue.put(this.told(decodeChunk(frame.event), id));
    else this.control(frame, queue);
  }

  /* What begins behind the point that was reached is told once more. */
  private told(events: ThreadEvent[], id: string | undefined): Delivery {
    if (id === undefined) return { events };
    const again = !later(id, this.reached);
    this.reached = id;
    if (!later(id, this.past)) return { events: [], cursor: id };
    return { events: again ? replayed(events) : events, cursor: id };
  }

  private control(frame: Record<string, unknown>, queue: Queue<Delivery>): void {
    const key = String(frame.for ?? '');
    if (frame.type === 'ack') this.settle(key)?.resolve();
    else if (frame.type === 'error') {
      const refused = new Refused(409, String(frame.code ?? 'error'), String(frame.message ?? t.refusedIt));
      const waiting = this.settle(key) ?? (key ? undefined : this.settleOnly());
      if (waiting) waiting.reject(refused);
      else queue.put({ events: [liveError(refused)] });
    } else if (frame.type === 'data-approval' && !this.waiting.has(String(frame.id))) {
      queue.put({ events: decodeChunk(frame) }); // of an answer of ours its ack tells
    }
  }

  private push(frame: object): void {
    if (!this.ready()) throw new SocketDown(t.liveDown);
    this.log.add('out', 'live', frame);
    this.socket!.send(JSON.stringify(frame));
  }

  private expect(...keys: string[]): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => this.settle(keys[0]!)?.reject(new SocketDown(t.liveNoAnswer)),
        ackWithin_ms,
      );
      const forget = () => {
        clearTimeout(timer);
        keys.forEach((k) => this.waiting.delete(k));
      };
      const entry: Waiting = {
        resolve: () => (forget(), resolve()),
        reject: (e) => (forget(), reject(e)),
      };
      keys.forEach((k) => this.waiting.set(k, entry));
    });
  }

  private settle(key: string): Waiting | undefined {
    return this.waiting.get(key);
  }

  private settleOnly(): Waiting | undefined {
    const all = new Set(this.waiting.values());
    return all.size === 1 ? [...all][0] : undefined;
  }

  private drop(socket: WebSocket, why: Error): void {
    if (this.socket !== socket) return;
    this.socket = null;
    this.greeted = false;
    this.end = null;
    new Set(this.waiting.values()).forEach((w) => w.reject(why));
  }
}

/** Whether cursor `a` ("seq.offset") is behind `b` in the thread. */
export function later(a: string, b: string): boolean {
  const [x = 0, p = 0] = a.split('.').map(Number);
  const [y = 0, q = 0] = b.split('.').map(Number);
  return x > y || (x === y && p > q);
}

function liveError(e: Refused): ThreadEvent {
  return { type: 'error', message: e.message, code: e.code, retryable: false };
}

function gates(list: unknown): ApprovalRecord[] {
  return Array.isArray(list) ? list.filter(isObject).map((p) => ({ ...p, id: String(p.id), status: 'pending' }) as ApprovalRecord) : [];
}

function closeReason(code: number): Error {
  if (code === 4401) return new Refused(401, 'unauthorized', t.signInToGoOn);
  if (code === 4404) return new Refused(404, 'unknown_thread', t.noSuchConversation);
  return new Unreachable(t.liveLost);
}

/* What the socket's callbacks bring, pulled by the loop that follows. */
class Queue<T> implements AsyncIterable<T> {
  private items: T[] = [];
  private wake: (() => void) | null = null;
  private error: Error | null = null;

  put(item: T): void {
    this.items.push(item);
    this.wake?.();
  }

  fail(error: Error): void {
    this.error ??= error;
    this.wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    for (;;) {
      while (this.items.length) yield this.items.shift()!;
      if (this.error) throw this.error;
      await new Promise<void>((resolve) => (this.wake = resolve));
    }
  }
}
