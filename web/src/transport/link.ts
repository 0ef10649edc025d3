/* link.ts -- keeps one thread connected.
 *
 * A loop that does one thing at a time; each step names the next one, so there
 * is never more than one feed of events and nothing can be told twice:
 *
 *        ┌────────────── sync ◀──────────────┐
 *        │   GET the thread: history, cursor │
 *   running?                                 │ ends, or breaks
 *    yes │            no                     │
 *     attach ────────▶ follow ──(send)──▶ stream
 *   replay the run    wait for news      our own turn
 *
 * What breaks is repeated after a pause that doubles, with some chance in it so
 * that a restarted server is not hit by everybody at once; `online`, focus and
 * becoming visible cut the pause short.
 */
import type { ApprovalRecord, StoredThread } from '../protocol';
import { Refused, Unreachable, type Api } from './api';
import type { Channel, Deliveries, Delivery } from './types';
import { t } from '../words';

export type Connection =
  | { state: 'idle' }
  | { state: 'connecting' }
  | { state: 'ok' }
  | { state: 'lost'; since: number; retryAt: number }
  | { state: 'signin' }
  | { state: 'gone' };

export interface LinkHost {
  readonly api: Api;
  channel(): Channel;
  loaded(thread: StoredThread, records: ApprovalRecord[]): void;
  /** Takes events; `true` asks for a fresh look at the whole thread. */
  deliver(d: Delivery, feed: 'stream' | 'attach' | 'follow'): boolean;
  connection(c: Connection): void;
  /** The socket cannot be opened although the server answers. */
  degrade(): void;
  /** The thread does not exist: whether a message that is here is about to make it, or one that a person has yet to send. */
  begins(): 'now' | 'later' | 'never';
}

type Step =
  | { do: 'sync' }
  | { do: 'attach' }
  | { do: 'follow' }
  | { do: 'stream'; open: (signal: AbortSignal) => Promise<Deliveries | null>; accepted: () => void; refused: (e: unknown) => void };

const backoffMin_ms = 400;
const backoffMax_ms = 15_000;
/* Three sockets in a row that fail while plain requests work: something between us does not let them through. */
const socketTries = 3;

export class Link {
  private step: Step;
  private abort = new AbortController();
  private started = false;
  private closed = false;
  private failures = 0;
  private followFailures = 0;
  private lostSince: number | null = null;
  private wake: (() => void) | null = null;
  /** The step under way was broken off in order to begin it anew. */
  private hurried = false;
  /** How far the thread was told; null: nothing of it is known. */
  private cursor: string | null = null;

  constructor(
    private readonly host: LinkHost,
    readonly thread: string,
    unborn: boolean,
  ) {
    // A thread that a message is about to make has nothing to load.
    this.step = { do: unborn ? 'follow' : 'sync' };
  }

  start(): void {
    if (!this.started) void this.loop();
    this.started = true;
  }

  close(): void {
    this.closed = true;
    this.abort.abort();
    this.wake?.();
  }

  /** The network or the page came back: do not wait any longer, nor for an attempt that began before. */
  nudge(): void {
    if (this.wake) return this.wake();
    if (this.lostSince === null || this.step.do === 'stream') return;
    this.hurried = true;
    this.abort.abort();
  }

  /** There is no network: what looks connected is not. */
  lose(): void {
    if (!this.wake) this.abort.abort();
  }

  busy(): boolean {
    return this.step.do === 'stream';
  }

  resync(): void {
    if (this.step.do !== 'stream') this.switchTo({ do: 'sync' });
  }

  /** Runs a turn of our own as the feed. Resolves when the server accepted it. */
  stream(open: (signal: AbortSignal) => Promise<Deliveries | null>): Promise<void> {
    return new Promise((accepted, refused) => {
      this.switchTo({ do: 'stream', open, accepted, refused });
      this.start();
    });
  }

  private switchTo(step: Step): void {
    if (this.step.do === 'stream') this.step.refused(new Unreachable(t.anotherFirst));
    this.step = step;
    this.abort.abort();
    this.wake?.();
  }

  private async loop(): Promise<void> {
    while (!this.closed) {
      const step = this.step;
      this.abort = new AbortController();
      this.hurried = false;
      try {
        const next = await this.perform(step, this.abort.signal);
        this.failures = 0;
        if (this.step === step) this.step = next;
      } catch (error) {
        if (this.closed || this.hurried || this.step !== step) continue; // on purpose
        if (error instanceof Refused && (await this.refusedBy(error, step))) continue;
        this.step = this.afterLoss(step);
        await this.pause();
      }
    }
  }

  private perform(step: Step, signal: AbortSignal): Promise<Step> {
    switch (step.do) {
      case 'sync':
        return this.sync(signal);
      case 'attach':
        return this.attach(signal);
      case 'follow':
        return this.follow(signal);
      case 'stream':
        return this.turn(step, signal);
    }
  }

  private async sync(signal: AbortSignal): Promise<Step> {
    if (this.lostSince === null) this.host.connection({ state: 'connecting' });
    const [thread, list] = await Promise.all([
      this.host.api.thread(this.thread, { signal }),
      // Who decided what, and when: good to have, not worth failing for.
      this.host.api.approvals({ thread: this.thread }).catch(() => ({ approvals: [] })),
    ]);
    if (signal.aborted) throw new Unreachable('switched');
    this.cursor = `${thread.seq}.0`;
    this.host.loaded(thread, list.approvals);
    this.ok();
    // The socket replays the run under way by itself.
    return thread.state === 'running' && this.host.channel().mode !== 'bidi' ? { do: 'attach' } : { do: 'follow' };
  }

  private async attach(signal: AbortSignal): Promise<Step> {
    const stream = await this.host.channel().attach(this.thread, signal);
    if (stream) await this.read(stream, 'attach');
    else await sleep(200); // it ended between two requests, or is about to speak
    return { do: 'sync' };
  }

  private async turn(step: Extract<Step, { do: 'stream' }>, signal: AbortSignal): Promise<Step> {
    let stream: Deliveries | null;
    try {
      stream = await step.open(signal);
    } catch (error) {
      step.refused(error);
      if (error instanceof Refused) return { do: 'sync' };
      throw error;
    }
    step.accepted();
    this.ok();
    if (stream) await this.read(stream, 'stream');
    return { do: 'sync' };
  }

  private async read(stream: Deliveries, feed: 'stream' | 'attach'): Promise<void> {
    let done = false;
    for await (const d of inTurns(stream)) {
      this.ok();
      if (d.done) done = true;
      this.host.deliver(d, feed);
    }
    if (!done) throw new Unreachable(t.cutShort);
  }

  private async follow(signal: AbortSignal): Promise<Step> {
    for await (const d of inTurns(this.host.channel().follow(this.thread, this.cursor, signal))) {
      this.ok();
      this.followFailures = 0;
      this.failures = 0;
      if (d.cursor) this.cursor = d.cursor;
      if (this.host.deliver(d, 'follow')) return { do: 'sync' };
    }
    throw new Unreachable(t.streamEnded);
  }

  private ok(): void {
    this.lostSince = null;
    this.host.connection({ state: 'ok' });
  }

  /* A follower goes on exactly where it was; one that knows no place, and a turn, look first what became of it. */
  private afterLoss(step: Step): Step {
    if (step.do !== 'follow') {
      this.followFailures = 0; // plain requests do not work either
      return { do: 'sync' };
    }
    this.followFailures++;
    if (this.host.channel().mode === 'bidi' && this.followFailures >= socketTries) {
      this.followFailures = 0;
      this.host.degrade();
      return { do: 'sync' };
    }
    return this.followFailures > 1 || this.cursor === null ? { do: 'sync' } : { do: 'follow' };
  }

  private async refusedBy(error: Refused, step: Step): Promise<boolean> {
    if (error.status === 401) {
      this.host.connection({ state: 'signin' });
      await this.waitForWake(60_000);
      this.step = { do: 'sync' };
      return true;
    }
    if (error.status === 404 && step.do !== 'stream') {
      const begins = this.host.begins();
      // The socket is opened before the message that makes the thread.
      if (begins !== 'never' && this.step === step && this.host.channel().mode === 'bidi') {
        this.cursor = null;
        this.step = { do: 'follow' };
      } else if (begins === 'later') {
        this.host.connection({ state: 'ok' });
        await this.waitForWake(60_000);
      }
      if (begins !== 'never') return true;
      this.host.connection({ state: 'gone' });
      this.closed = true;
      return true;
    }
    return false;
  }

  private async pause(): Promise<void> {
    const n = this.failures++;
    this.lostSince ??= Date.now();
    if (n === 0) {
      // The first time at once: most losses are a single broken connection.
      this.host.connection({ state: 'lost', since: this.lostSince, retryAt: Date.now() });
      return;
    }
    const full = Math.min(backoffMax_ms, backoffMin_ms * 2 ** (n - 1));
    const wait = full / 2 + Math.random() * (full / 2);
    this.host.connection({ state: 'lost', since: this.lostSince, retryAt: Date.now() + wait });
    await this.waitForWake(wait);
  }

  private waitForWake(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        this.wake = null;
        resolve();
      };
      const timer = setTimeout(done, ms);
      this.wake = done;
    });
  }
}

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

const turnMax = 50; // deliveries

/* What has piled up meanwhile is taken a little at a time: the page draws and listens in between. (Not by a timer: a hidden
 * page has slow ones.) */
async function* inTurns(stream: Deliveries): Deliveries {
  let taken = 0;
  for await (const d of stream) {
    yield d;
    if (++taken % turnMax === 0) await breath();
  }
}

function breath(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => (port1.close(), resolve());
    port2.postMessage(null);
  });
}
