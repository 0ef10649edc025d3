/* session.ts -- one open conversation: its state, its link, and what a person can do in it.
 *
 * The session owns the state. Events come from the link (or from an action of
 * the person), go through the reducer, and subscribers hear of it once per
 * frame. Components hold no copy of anything that is here.
 */
import {
  callsOf,
  emptyThread,
  filesOf,
  hydrate,
  isObject,
  isStreaming,
  plain,
  reduce,
  textOf,
  type ApprovalRecord,
  type Call,
  type FilePart,
  type Message,
  type StoredThread,
  type ThreadEvent,
  type ThreadState,
} from '../protocol';
import { Refused, Unreachable, type Api } from './api';
import { HttpChannel } from './http';
import { Link, sleep, type Connection, type LinkHost } from './link';
import { LiveChannel, SocketDown } from './live';
import type { Channel, Delivery, Mode, OutgoingMessage, WireLog } from './types';

export type ClientTool = (input: unknown) => Promise<unknown>;

export interface SessionOptions {
  api: Api;
  log: WireLog;
  mode: Mode;
  /** Names this tab when it claims a client tool. */
  client: string;
  tools: Record<string, ClientTool>;
  /** A short word to the person: what was done differently than asked. */
  notice: (text: string) => void;
  /** Titles, marks and the inbox may have changed. */
  changed: () => void;
  /** Keeps what was sent and has not arrived, beyond the life of the page. */
  keeper?: Keeper;
  /** What was kept so: it goes out, in order, once the thread is there. */
  unsent?: Unsent[];
  /** The conversation is gone, and these words with it. */
  giveBack?: (drafts: Draft[]) => void;
}

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
  /** It begins the conversation: the server does not know that yet. */
  first?: boolean;
}

export interface Keeper {
  /** `refused`: the server said no, so it must not go out by itself. */
  put(thread: string | null, m: Unsent, refused?: boolean): void;
  drop(thread: string | null, id: string): void;
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

/* The tab where the person clicked should make the music; the others wait this long before they offer themselves. */
const strangerDelay_ms = 1500;

export class Session implements LinkHost {
  readonly api: Api;
  private snap: Snapshot;
  private link: Link | null = null;
  private channels!: { http: HttpChannel; live: LiveChannel };
  private listeners = new Set<() => void>();
  private scheduled = false;
  private outbox: OutgoingMessage[] = [];
  /** Given to a socket, and nothing has been heard of it: if the socket breaks, nobody knows whether it arrived. */
  private onSocket: OutgoingMessage | null = null;
  /** Messages with words in them, until the server has them. */
  private going = new Map<string, OutgoingMessage>();
  /** The server has not heard of this conversation. */
  private unborn: boolean;
  private away = false;
  /** How many answers have begun here. */
  private begun = 0;
  /** Messages that no wire has taken yet. */
  private leaving = new Set<string>();
  /** Stop was pressed before there was anything to stop. */
  private stopWish = false;
  /** The server says that an answer is under way of which nothing has been told here yet. */
  private untold = false;
  private attempted = new Set<string>();
  private decidedHere = new Set<string>();
  private sentHere = false;
  private mode: Mode;

  constructor(
    private readonly options: SessionOptions,
    id: string | null,
  ) {
    this.api = options.api;
    this.mode = options.mode;
    const queue = options.unsent ?? [];
    this.unborn = id === null || queue.some((m) => m.first);
    this.snap = { id, title: null, state: emptyThread, connection: { state: 'idle' }, loaded: id === null, queue, degraded: false };
    this.makeChannels();
  }

  /* ---- for React ---- */

  subscribe = (f: () => void): (() => void) => {
    this.listeners.add(f);
    return () => this.listeners.delete(f);
  };

  get = (): Snapshot => this.snap;

  private set(part: Partial<Snapshot>): void {
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

  /* ---- life ---- */

  open(): void {
    this.away = false;
    if (!this.snap.id || this.link) return;
    this.link = new Link(this, this.snap.id, null);
    this.link.start();
  }

  /** Stops listening; the run goes on at the server. */
  close(): void {
    this.link?.close();
    this.link = null;
  }

  /** Another conversation is on the screen: stops listening as soon as everything that was written here has gone out. */
  leave(): void {
    this.away = true;
    this.rest();
  }

  private rest(): void {
    if (!this.away) return;
    const { state, queue } = this.snap;
    const leaving = this.outbox.length > 0 || this.onSocket !== null || state.messages.some((m) => m.send === 'sending' || m.send === 'waiting');
    // Where a request waits for the person, the queue waits for the person too.
    if (!leaving && (queue.length === 0 || state.open?.status === 'parked')) this.close();
  }

  /** The page, the network or the key came back. */
  nudge(): void {
    if (this.snap.connection.state === 'signin') this.set({ connection: { state: 'connecting' } });
    this.channels.live.probe();
    this.link?.nudge();
    this.open(); // it may have dozed
    if (!this.link) this.flushOutbox(); // the first message of a conversation has no link yet
  }

  /** The browser says that there is no network. */
  offline(): void {
    this.channels.live.lost();
    this.link?.lose();
  }

  /**
   * The page is out of sight and nothing is under way: a browser has six HTTP
   * connections to a server for all its tabs, and a sleeping one must not keep
   * one of them. (A socket is not counted.)
   */
  doze(): void {
    const resting = this.channel().mode !== 'bidi' && !this.snap.state.open && !this.occupied();
    if (resting) this.close();
  }

  setMode(mode: Mode): void {
    if (mode === this.mode) return;
    this.mode = mode;
    this.takeBack();
    this.set({ degraded: false });
    this.makeChannels();
    if (this.link && this.snap.id) {
      this.close();
      this.open();
    }
  }

  private makeChannels(): void {
    const http = new HttpChannel(this.mode === 'direct' ? 'direct' : 'sse', this.api, this.options.log);
    this.channels = { http, live: new LiveChannel(this.api, this.options.log, (hello) => this.hello(hello)) };
  }

  /* ---- LinkHost ---- */

  channel(): Channel {
    return this.mode === 'bidi' && !this.snap.degraded ? this.channels.live : this.channels.http;
  }

  loaded(thread: StoredThread, records: ApprovalRecord[]): void {
    this.set({ state: hydrate(this.snap.state, thread, records), title: thread.title, loaded: true });
    this.unborn = false;
    this.untold = thread.state === 'running';
    this.unqueueArrived(thread);
    this.options.changed();
    if (this.channel().mode !== 'bidi') this.flushOutbox(); // a socket says when it is there
    this.afterEvents();
  }

  deliver(d: Delivery, feed: 'stream' | 'attach' | 'follow'): boolean {
    const foreign = feed === 'follow' && d.events.length > 0 && this.isForeign(d.events);
    if (foreign && this.channel().mode !== 'bidi') return true; // somebody else began a turn: load it with its question
    const restarting = d.events.some((e) => e.type === 'restarting');
    const refused = !restarting && this.onSocket ? d.events.find((e) => e.type === 'error') : undefined;
    const events = restarting || refused ? d.events.filter((e) => e.type !== 'error') : d.events;
    if (refused) this.refusedOnSocket(refused.message, refused.code);
    if (events.some((e) => e.type === 'message_start')) this.begun++;
    if (d.gap) void this.refresh();
    if (d.done || events.length) this.untold = false;
    if (events.length) this.dispatch(...events);
    if (d.done) this.dispatch({ type: 'turn_end' });
    if (foreign) void this.refresh();
    if (events.some((e) => e.type === 'message_start')) this.options.changed();
    this.markSent(events);
    this.afterEvents();
    const ended = d.done || events.some((e) => e.type === 'complete' || e.type === 'error' || e.type === 'cancelled');
    if (!ended) return restarting;
    this.options.changed();
    // Over HTTP the next step of the link is a fresh look anyway.
    if (feed === 'follow' && this.channel().mode === 'bidi') void this.refresh();
    return feed === 'follow' && this.channel().mode !== 'bidi';
  }

  connection(c: Connection): void {
    const before = this.snap.connection;
    if (before.state === c.state && c.state !== 'lost') return;
    this.set({ connection: c });
    if (c.state === 'ok' && before.state === 'lost') this.flushOutbox();
    if (c.state === 'gone') this.giveBack();
  }

  private giveBack(): void {
    const lost = this.snap.state.messages.filter((m) => m.role === 'user' && m.send && m.send !== 'sent');
    const drafts = [...lost.map((m) => ({ text: textOf(m), files: filesOf(m) })), ...this.snap.queue];
    this.snap.queue.forEach((m) => this.options.keeper?.drop(this.snap.id, m.id));
    this.outbox = [];
    this.onSocket = null;
    this.set({ queue: [] });
    this.dispatch(...lost.map((m) => ({ type: 'drop_message' as const, id: m.id })));
    this.tidy();
    this.options.giveBack?.(drafts);
  }

  degrade(): void {
    this.takeBack();
    this.set({ degraded: true });
    this.options.notice('The live connection cannot be opened here. Going on over HTTP.');
  }

  begins(): boolean {
    const waits = this.outbox.length > 0 || (this.unborn && this.snap.queue.length > 0);
    if (this.outbox.length > 0) this.flushOutbox();
    else if (waits) this.sendQueued();
    return waits;
  }

  /* Events of a run that this tab neither sent nor has on the screen. */
  private isForeign(events: ThreadEvent[]): boolean {
    const { open, messages } = this.snap.state;
    if (open) return events.some((e) => e.type === 'message_start' && e.message_id && e.message_id !== open.id) && !this.awaitsAnswer();
    if (this.awaitsAnswer()) return false;
    const known = new Set(messages.map((m) => m.id));
    return events.some((e) =>
      e.type === 'message_start' ? !known.has(e.message_id ?? '') : e.type !== 'approval' && e.type !== 'unknown',
    );
  }

  private awaitsAnswer(): boolean {
    const last = this.snap.state.messages.at(-1);
    return last?.role === 'user' && last.send !== undefined && last.send !== 'failed';
  }

  /* The whole thread once more, beside a socket that goes on. */
  private async refresh(): Promise<void> {
    const id = this.snap.id;
    if (!id) return;
    const begun = this.begun;
    try {
      const [thread, list] = await Promise.all([this.api.thread(id), this.api.approvals({ thread: id }).catch(() => ({ approvals: [] }))]);
      if (this.snap.id !== id || !this.link) return;
      // Something moved while we asked: this answer is old, the next end of turn asks again.
      const streaming = this.snap.state.open?.status === 'open';
      if (streaming && thread.state !== 'running') return;
      if (!streaming && this.begun !== begun) return; // a whole turn went by, and asked anew when it ended
      if (!streaming && thread.state === 'running') return this.set({ title: thread.title });
      this.untold = false;
      this.set({ state: hydrate(this.snap.state, thread, list.approvals), title: thread.title });
      this.afterEvents();
    } catch {
      // the link notices by itself
    }
  }

  private hello(hello: Record<string, unknown>): void {
    const pending = Array.isArray(hello.pending) ? hello.pending.filter(isObject) : [];
    for (const p of pending) this.dispatch({ type: 'approval', record: { ...(p as object), id: String(p.id), status: 'pending' } });
    this.takeBack();
    this.flushOutbox();
  }

  /* Once more, with the same request id: the server takes it once. */
  private takeBack(): void {
    const m = this.onSocket;
    this.onSocket = null;
    if (m && this.snap.state.messages.some((x) => x.id === m.id && x.send === 'sending')) this.outbox = [m, ...this.outbox];
  }

  /* ---- sending ---- */

  async send(text: string, files: FilePart[] = []): Promise<void> {
    const id = newId('u');
    await this.launch({ id, requestId: id, text, files });
  }

  private async launch(m: Unsent): Promise<void> {
    const { id, requestId, text, files, messageId } = m;
    this.sentHere = true;
    this.stopWish = false;
    if (messageId) this.dispatch({ type: 'cut_from', id });
    this.dispatch({ type: 'user_message', id, text, files, send: 'sending' });
    await this.transmit({ id, requestId, text, files, ...(messageId ? { messageId } : {}) });
  }

  /** Puts a message behind the one being answered. */
  enqueue(text: string, files: FilePart[] = []): void {
    const id = newId('u');
    const m: Unsent = { id, requestId: id, text, files };
    this.options.keeper?.put(this.snap.id, m);
    this.set({ queue: [...this.snap.queue, m] });
  }

  unqueue(index: number): Unsent | undefined {
    const m = this.snap.queue[index];
    if (m) this.options.keeper?.drop(this.snap.id, m.id);
    this.forget(m?.id);
    return m;
  }

  /** Another tab sent it or took it back. */
  forget(id: string | undefined): void {
    if (this.snap.queue.some((m) => m.id === id)) this.set({ queue: this.snap.queue.filter((m) => m.id !== id) });
  }

  /* What was kept because nobody knew whether it had arrived, and had. */
  private unqueueArrived(thread: StoredThread): void {
    const all = [...thread.messages, ...(thread.versions ?? []).flatMap((v) => v.messages)];
    const ids = new Set(all.map((m) => m.id));
    for (const m of this.snap.queue.filter((q) => !q.messageId && ids.has(q.id))) {
      this.options.keeper?.drop(this.snap.id, m.id);
      this.forget(m.id);
    }
  }

  private hold(m: OutgoingMessage, refused = false): void {
    if (m.trigger === 'regenerate-message') return; // its words are in the thread
    this.going.set(m.id, m);
    this.options.keeper?.put(this.snap.id, this.kept(m), refused);
  }

  private kept(m: OutgoingMessage): Unsent {
    const { id, requestId, text, files = [], messageId } = m;
    return { id, requestId, text, files, ...(messageId ? { messageId } : {}), ...(this.unborn ? { first: true } : {}) };
  }

  /* What has arrived or was taken back is no longer kept. */
  private tidy(): void {
    const stays = new Set(this.snap.state.messages.flatMap((m) => (m.send && m.send !== 'sent' ? [m.id] : [])));
    const socketed = this.snap.state.messages.find((m) => m.id === this.onSocket?.id);
    if (!socketed || socketed.send === 'sent') this.onSocket = null;
    for (const [id, m] of this.going) {
      if (stays.has(id) || this.outbox.includes(m) || this.onSocket === m) continue;
      this.going.delete(id);
      this.options.keeper?.drop(this.snap.id, id);
    }
  }

  async retrySend(id: string): Promise<void> {
    const m = this.snap.state.messages.find((x) => x.id === id);
    if (!m) return;
    this.dispatch({ type: 'send_state', id, send: 'sending' });
    await this.transmit(this.going.get(id) ?? { id, requestId: id, text: textOf(m), files: filesOf(m) });
  }

  /** Takes back a message that never left. */
  discard(id: string): Draft {
    const m = this.snap.state.messages.find((x) => x.id === id);
    this.outbox = this.outbox.filter((o) => o.id !== id);
    this.dispatch({ type: 'drop_message', id });
    this.tidy();
    return { text: m ? textOf(m) : '', files: m ? filesOf(m) : [] };
  }

  /** Asks an earlier question differently, with the same files: what came after it is set aside. */
  async edit(id: string, text: string): Promise<void> {
    const m = this.snap.state.messages.find((x) => x.id === id);
    await this.launch({ id, requestId: newId('r'), text, files: m ? filesOf(m) : [], messageId: id });
  }

  /** Asks for another answer to the last question. */
  async regenerate(answer: Message): Promise<void> {
    const question = this.snap.state.messages.filter((m) => m.role === 'user').at(-1);
    if (!question) return;
    this.sentHere = true;
    const failedHere = answer.id.startsWith('local-');
    this.dispatch({ type: 'cut_from', id: answer.id }, { type: 'send_state', id: question.id, send: 'sending' });
    await this.transmit({
      id: question.id,
      requestId: newId('r'),
      text: textOf(question),
      trigger: 'regenerate-message',
      ...(failedHere ? {} : { messageId: answer.id }),
    });
  }

  private async transmit(m: OutgoingMessage): Promise<void> {
    this.hold(m);
    if (this.snap.connection.state === 'gone') return this.giveBack();
    this.leaving.add(m.id);
    try {
      const thread = await this.ensureThread(m.text || (m.files?.[0]?.filename ?? ''));
      const live = this.channels.live;
      const fits = live.takes(m);
      if (this.channel() === live && fits && (live.ready() || (await this.socketUp()))) {
        await live.send(thread, m); // accepted when its answer starts
        this.onSocket = m;
        this.leaving.delete(m.id);
        return;
      }
      const instead = this.channel() === live && fits;
      await this.link!.stream((signal) => this.channels.http.send(thread, m, signal));
      if (instead) this.options.notice('The live connection is down. Sent over HTTP instead.');
      this.unborn = false;
      this.dispatch({ type: 'send_state', id: m.id, send: 'sent' });
      this.tidy();
      this.leaving.delete(m.id);
      this.stopWished();
      this.rest();
    } catch (error) {
      this.leaving.delete(m.id);
      this.notSent(m, error);
    }
  }

  private stopWished(): void {
    if (this.stopWish) void this.stop();
    this.stopWish = false;
  }

  /* An answer begins before it can fail: an error before that is the server's word on the message itself. */
  private refusedOnSocket(message: string, code = 'refused'): void {
    const m = this.onSocket!;
    this.onSocket = null;
    this.notSent(m, new Refused(409, code, message));
    void this.refresh(); // what the message would have set aside is still there
  }

  private notSent(m: OutgoingMessage, error: unknown): void {
    this.stopWish = false;
    if (error instanceof Refused && error.status !== 401) {
      this.dispatch({ type: 'send_state', id: m.id, send: 'failed', error: error.message });
      if (this.snap.connection.state === 'gone') this.giveBack();
      else this.hold(m, true);
      return;
    }
    this.outbox = [...this.outbox.filter((o) => o.id !== m.id), m];
    this.dispatch({ type: 'send_state', id: m.id, send: 'waiting' });
    if (error instanceof Refused) this.connection({ state: 'signin' });
    else if (!this.link && !this.snap.id) void sleep(2000).then(() => this.flushOutbox());
  }

  private flushOutbox(): void {
    const [next, ...rest] = this.outbox;
    if (!next) return;
    this.outbox = rest;
    if (this.snap.state.messages.some((m) => m.id === next.id && m.send === 'sent')) return this.flushOutbox();
    this.dispatch({ type: 'send_state', id: next.id, send: 'sending' });
    void this.transmit(next);
  }

  private async ensureThread(text: string): Promise<string> {
    if (this.snap.id && this.link) return this.snap.id;
    // The socket cannot name a thread that does not exist; the HTTP doors make it on first use.
    const id = this.snap.id ?? (this.mode === 'bidi' ? (await this.api.createThread(text.trim().slice(0, 80))).id : newId('t'));
    if (this.snap.id === null) this.moveKept(id);
    this.set({ id, loaded: true });
    this.link = new Link(this, id, '0.0');
    if (this.mode === 'bidi') this.link.start(); // over HTTP its first step is the message itself
    return id;
  }

  private moveKept(to: string): void {
    const keeper = this.options.keeper;
    for (const m of [...[...this.going.values()].map((o) => this.kept(o)), ...this.snap.queue]) {
      keeper?.put(to, m);
      keeper?.drop(null, m.id);
    }
  }

  private async socketUp(): Promise<boolean> {
    for (let waited = 0; waited < 3000 && this.channel() === this.channels.live; waited += 50) {
      if (this.channels.live.ready()) return true;
      const c = this.snap.connection;
      if (c.state === 'lost' && c.retryAt > Date.now()) return false;
      await sleep(50);
    }
    return this.channels.live.ready();
  }

  private markSent(events: ThreadEvent[]): void {
    if (!events.some((e) => e.type === 'message_start')) return;
    const last = this.snap.state.messages.at(-1);
    if (last?.role === 'user' && last.send === 'sending') this.dispatch({ type: 'send_state', id: last.id, send: 'sent' });
    this.onSocket = null;
    this.stopWished();
  }

  /* ---- stopping ---- */

  async stop(): Promise<void> {
    const id = this.snap.id;
    this.dispatch({ type: 'stopping' });
    // The server cannot stop what has not begun, and would begin it afterwards: as soon as it has, then.
    if (!id || this.leaving.size > 0 || this.onSocket) {
      this.stopWish = true;
      return;
    }
    try {
      await this.channel().stop(id);
    } catch {
      await this.api.stop(id).catch(() => this.options.notice('Stop could not be sent. The answer may go on.'));
    }
  }

  /* ---- approvals ---- */

  async decide(approvalId: string, confirmed: boolean, reason?: string): Promise<void> {
    const found = this.findApproval(approvalId);
    if (!found || found.call.approval?.status !== 'pending' || found.call.approval.sending) return; // a second click
    this.dispatch({ type: 'decision', id: approvalId, state: 'sending', confirmed });
    this.decidedHere.add(found.call.id);
    try {
      await this.sendAnswer(found, approvalId, confirmed, reason);
      const record = {
        id: approvalId,
        status: confirmed ? 'approved' : 'denied',
        decided_by: 'you',
        decided_at: new Date().toISOString(),
        reason: reason ?? null,
      };
      this.dispatch({ type: 'approval', record });
    } catch (error) {
      await this.answerFailed(approvalId, confirmed, error);
    }
    this.options.changed();
  }

  private async sendAnswer(
    found: { call: Call; message: Message },
    approvalId: string,
    confirmed: boolean,
    reason?: string,
  ): Promise<void> {
    const thread = this.snap.id!;
    const answerId = newId('a');
    const answer = { approvalId, confirmed, reason, answerId, call: found.call, messageId: found.message.id };
    const direct = () => this.api.decide(approvalId, { confirmed, ...(reason ? { reason } : {}), answer_id: answerId });
    const channel = this.channel();
    if (channel === this.channels.live) {
      try {
        if (!channel.ready()) throw new SocketDown('down');
        await channel.answer(thread, answer, new AbortController().signal);
      } catch (error) {
        if (!(error instanceof SocketDown)) throw error;
        await direct();
        this.options.notice('The live connection is down. Your answer went over HTTP.');
      }
      return;
    }
    // One feed at a time: while another turn is told, the answer goes beside it.
    const unknownMessage = found.message.id.startsWith('local-');
    if (!this.link || this.link.busy() || unknownMessage) await direct();
    else await this.link.stream((signal) => channel.answer(thread, answer, signal));
  }

  private async answerFailed(id: string, confirmed: boolean, error: unknown): Promise<void> {
    if (error instanceof Refused && error.status === 409) {
      const found = await this.api.decided(id);
      if (found) {
        this.dispatch({ type: 'approval', record: found.record });
        this.options.notice(found.words);
        return;
      }
    }
    const message =
      error instanceof Refused && error.status === 401
        ? 'Nothing was decided. Sign in, then try again.'
        : error instanceof Unreachable
          ? 'The server cannot be reached. Nothing was decided; try again.'
          : error instanceof Error
            ? error.message
            : 'It failed.';
    this.dispatch({ type: 'decision', id, state: 'failed', confirmed, error: message });
  }

  async settle(approvalId: string, outcome: 'done' | 'not_done'): Promise<void> {
    const record = await this.api.settle(approvalId, outcome);
    this.dispatch({ type: 'approval', record });
    this.options.changed();
  }

  private findApproval(id: string): { call: Call; message: Message } | null {
    const { open, messages } = this.snap.state;
    for (const message of open ? [open, ...messages] : messages) {
      const call = callsOf(message).find((c) => c.approval?.id === id);
      if (call) return { call, message };
    }
    return null;
  }

  /* ---- actions ---- */

  async act(action: string, data: unknown): Promise<void> {
    if (!this.snap.id) return;
    await this.api.action(this.snap.id, action, data, newId('r'));
  }

  /* ---- what follows from events ---- */

  private afterEvents(): void {
    this.runOffered();
    this.tidy();
    this.sendQueued();
    this.rest();
    void this.learnOutcomes();
  }

  private sendQueued(): void {
    const { open, messages } = this.snap.state;
    if (open !== null || this.untold) return;
    // What waits in the outbox was written first.
    const leaving = this.onSocket !== null || messages.some((m) => m.send === 'sending');
    if (this.outbox.length > 0 && !leaving && this.channel().ready()) return this.flushOutbox();
    if (this.underWay()) return;
    const next = this.unqueue(0);
    if (next) void this.launch(next);
  }

  /** A message is on its way and nothing has come back yet. One that waits for the connection is not on its way. */
  awaitsFirstWord(): boolean {
    const { state } = this.snap;
    const last = state.messages.at(-1);
    if (state.open !== null || last?.role !== 'user' || state.waitingSince === null) return false;
    return last.send === 'sending' || last.send === 'sent';
  }

  /** Something is being answered or has yet to be asked: what is written now goes behind it. */
  occupied(): boolean {
    const { state } = this.snap;
    if (!state.open && this.snap.queue.length > 0) return true;
    return this.underWay();
  }

  private underWay(): boolean {
    const { state } = this.snap;
    if (isStreaming(state) || this.awaitsFirstWord() || this.outbox.length > 0 || this.onSocket) return true;
    return state.messages.some((m) => m.role === 'user' && (m.send === 'sending' || m.send === 'waiting'));
  }

  private runOffered(): void {
    const { open } = this.snap.state;
    if (!open) return;
    for (const call of callsOf(open)) {
      if (call.status !== 'offered' || this.attempted.has(call.id) || !this.options.tools[call.name]) continue;
      this.attempted.add(call.id);
      void this.runClientTool(call);
    }
  }

  private async runClientTool(call: Call): Promise<void> {
    const thread = this.snap.id!;
    const here = this.decidedHere.has(call.id) || (this.sentHere && !call.approval);
    if (!here) await sleep(strangerDelay_ms);
    if (this.callNow(call.id)?.status !== 'offered') return; // another tab did it
    try {
      await this.api.claim(thread, call.id, this.options.client);
    } catch (error) {
      if (error instanceof Refused && error.code === 'token_needed') this.options.notice(error.message);
      if (error instanceof Refused) this.dispatch({ type: 'claim', tool_use_id: call.id, mine: false });
      else this.attempted.delete(call.id); // not reached: the next load tries again
      return;
    }
    this.dispatch({ type: 'claim', tool_use_id: call.id, mine: true });
    const outcome = await this.execute(call);
    await this.report(call, outcome);
  }

  private async execute(call: Call): Promise<{ result: unknown } | { error: string }> {
    try {
      return { result: await this.options.tools[call.name]!(plain(call.input)) };
    } catch (error) {
      return { error: error instanceof Error ? error.message : String(error) };
    }
  }

  private async report(call: Call, outcome: { result: unknown } | { error: string }): Promise<void> {
    const thread = this.snap.id!;
    for (let n = 0; n < 5; n++) {
      try {
        const channel = this.channel();
        if (channel.ready()) await channel.result(thread, { callId: call.id, name: call.name, outcome });
        else await this.api.result(thread, call.id, outcome);
        this.dispatch(
          'error' in outcome
            ? { type: 'tool_error', tool_use_id: call.id, message: outcome.error }
            : { type: 'tool_output', tool_use_id: call.id, output: outcome.result },
        );
        return;
      } catch (error) {
        if (error instanceof Refused) return; // decided without us; the stream says how
        await sleep(500 * 2 ** n);
      }
    }
  }

  private callNow(id: string): Call | undefined {
    const { open, messages } = this.snap.state;
    return open?.calls[id] ?? messages.at(-1)?.calls[id];
  }

  private asked = new Set<string>();

  /*
   * The typed dialect says that a gated call did not happen, not why; the native
   * form asks without the server's sentence. The record knows both.
   */
  private async learnOutcomes(): Promise<void> {
    const { open } = this.snap.state;
    for (const { approval, status } of open ? callsOf(open) : []) {
      if (!approval) continue;
      const wants = (approval.status === 'pending' && !approval.ask) || (status === 'denied' && !approval.decidedBy);
      const key = `${approval.id}:${approval.status}`;
      if (!wants || approval.sending || this.asked.has(key)) continue;
      this.asked.add(key);
      const record = await this.api.approval(approval.id).catch(() => null);
      if (record) this.dispatch({ type: 'approval', record });
    }
  }
}

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-';

/** 22 characters of 6 random bits: as many as the server's own ids. */
export function newId(prefix: string): string {
  const bytes = crypto.getRandomValues(new Uint8Array(22));
  return `${prefix}_${Array.from(bytes, (b) => alphabet[b & 63]).join('')}`;
}
