/* session.ts -- one open conversation: what comes in, and what a person can do in it.
 *
 *   conversation.ts   what is known, and who hears of it
 *   connection.ts     the way to the server and back
 *   outbox.ts         what was written and has not arrived
 *   decisions.ts      yes and no
 *   clientTools.ts    what runs in this browser
 *
 * This file joins them: events from the link go through the reducer, and what
 * follows from them is done.
 */
import {
  emptyThread,
  hydrate,
  prepend,
  type ApprovalRecord,
  type FilePart,
  type Message,
  type StoredThread,
  type ThreadEvent,
} from '../protocol';
import type { AnswerTerms } from '../protocol';
import type { Api } from './api';
import { ClientTools, type ClientToolOptions } from './clientTools';
import { Way, type ConnectionOptions } from './connection';
import { Conversation, newId, type Draft, type Snapshot, type Unsent } from './conversation';
import { Decisions } from './decisions';
import type { Connection, LinkHost } from './link';
import { Outbox, type OutboxOptions } from './outbox';
import type { Channel, Delivery, Mode } from './types';
import { t } from '../words';

export { newId, type Draft, type Snapshot, type Unsent } from './conversation';
export type { ClientTool } from './clientTools';
export type { Keeper } from './outbox';

export interface SessionOptions extends ConnectionOptions, ClientToolOptions, OutboxOptions {
  /** Titles, marks and the inbox may have changed. */
  changed: () => void;
  /** It began in this browser, and its words were taken back: what to do when the server has never heard of it. */
  neverBegan?: () => void;
}

const endings: ReadonlySet<ThreadEvent['type']> = new Set<ThreadEvent['type']>(['complete', 'error', 'cancelled']);

export class Session implements LinkHost {
  readonly api: Api;
  readonly subscribe: (f: () => void) => () => void;
  readonly get: () => Snapshot;
  private readonly c: Conversation;
  private readonly way: Way;
  private readonly outbox: Outbox;
  private readonly decisions: Decisions;
  private readonly tools: ClientTools;
  /** Another conversation is on the screen. */
  private away = false;
  /** How many answers have begun here. */
  private begun = 0;
  /** The server says that an answer is under way of which nothing has been told here yet. */
  private untold = false;
  /** Earlier messages are on their way. */
  private older: Promise<void> | null = null;

  constructor(
    private readonly options: SessionOptions,
    id: string | null,
  ) {
    const { api, notice, unsent = [] } = options;
    const idle = { title: null, state: emptyThread, connection: { state: 'idle' as const }, degraded: false };
    this.api = api;
    this.c = new Conversation({ ...idle, id, loaded: id === null, queue: unsent });
    this.subscribe = this.c.subscribe;
    this.get = this.c.get;
    this.way = new Way(options, this.c, this, (pending) => this.hello(pending));
    this.outbox = new Outbox(options, this.c, this.way, {
      taken: () => this.taken(),
      refused: () => void this.refresh(),
      signIn: () => this.connection({ state: 'signin' }),
      wasSent: () => notice(t.wasSent),
    });
    this.decisions = new Decisions(api, this.c, this.way, notice);
    this.tools = new ClientTools(options, api, this.c, this.way, (call) =>
      call.approval ? this.decisions.here.has(call.id) : this.outbox.wrote,
    );
  }

  /* ---- life ---- */

  open(): void {
    this.away = false;
    this.way.open();
  }

  /** Stops listening; the run goes on at the server. */
  close(): void {
    this.way.close();
  }

  /** Stops listening as soon as everything that was written here has gone out. */
  leave(): void {
    this.away = true;
    this.rest();
  }

  /** Something written here has yet to go out. */
  unsent(): boolean {
    return this.outbox.pending() || this.get().queue.length > 0;
  }

  private rest(): void {
    const { state, queue } = this.get();
    // Where a request waits for the person, the queue waits for the person too.
    if (this.away && !this.outbox.pending() && (queue.length === 0 || state.open?.status === 'parked')) this.close();
  }

  /** The page, the network or the key came back. */
  nudge(): void {
    this.signedIn();
    this.way.nudge();
    this.open(); // it may have dozed
  }

  /** Somebody signed in: goes on if that is what it waited for, whether it is on the screen or not. */
  signedIn(): void {
    if (this.get().connection.state !== 'signin') return;
    this.c.set({ connection: { state: 'connecting' } });
    this.way.nudge();
  }

  /** The browser says that there is no network. */
  offline(): void {
    this.way.lose();
  }

  /**
   * The page is out of sight and nothing is under way: a browser has six HTTP
   * connections to a server for all its tabs, and a sleeping one must not keep
   * one of them. (A socket is not counted.)
   */
  doze(): void {
    if (!this.live() && !this.c.state.open && !this.occupied()) this.close();
  }

  setMode(mode: Mode): void {
    if (this.way.setMode(mode)) this.outbox.takeBack();
  }

  /* ---- LinkHost ---- */

  channel(): Channel {
    return this.way.channel();
  }

  private live(): boolean {
    return this.channel().mode === 'bidi';
  }

  loaded(thread: StoredThread, records: ApprovalRecord[]): void {
    this.c.set({ state: hydrate(this.c.state, thread, records), title: thread.title, loaded: true });
    this.untold = thread.state === 'running';
    this.outbox.arrived(thread);
    this.options.changed();
    if (!this.live()) this.outbox.flush(); // a socket says when it is there
    this.afterEvents();
  }

  deliver(d: Delivery, feed: 'stream' | 'attach' | 'follow'): boolean {
    const foreign = feed === 'follow' && d.events.length > 0 && this.isForeign(d.events);
    if (foreign && !this.live()) return true; // somebody else began a turn: load it with its question
    const restarting = d.events.some((e) => e.type === 'restarting');
    const error = d.events.find((e) => e.type === 'error');
    const ours = error && (restarting || this.outbox.refusedOnSocket(error));
    const events = ours ? d.events.filter((e) => e !== error) : d.events;
    const starts = events.some((e) => e.type === 'message_start');
    if (starts) this.begun++;
    if (d.gap) void this.refresh(true);
    if (d.done || events.length) this.untold = false;
    if (events.length) this.c.dispatch(...events);
    if (d.done) this.c.dispatch({ type: 'turn_end' });
    if (foreign) void this.refresh();
    this.outbox.answered(events);
    this.afterEvents();
    const ended = d.done || events.some((e) => endings.has(e.type));
    if (starts || ended) this.options.changed();
    if (!ended) return restarting;
    // Over HTTP the next step of the link is a fresh look anyway.
    if (feed === 'follow' && this.live()) void this.refresh();
    return feed === 'follow' && !this.live();
  }

  connection(c: Connection): void {
    const { connection: before, loaded } = this.get();
    if (before.state === c.state && c.state !== 'lost') return;
    this.c.set({ connection: c });
    if (c.state === 'lost') this.outbox.takeBack();
    if (c.state === 'ok' && before.state === 'lost') this.outbox.flush();
    if (c.state === 'gone') this.outbox.giveBack();
    if (c.state === 'gone' && !loaded) this.options.neverBegan?.();
  }

  degrade(): void {
    this.outbox.takeBack();
    this.way.degrade();
  }

  begins(): 'now' | 'later' | 'never' {
    const begins = this.outbox.begins();
    if (begins !== 'never') this.c.set({ loaded: true });
    return begins;
  }

  /* Events of a run that this tab neither sent nor has on the screen. */
  private isForeign(events: ThreadEvent[]): boolean {
    const { open, messages } = this.c.state;
    if (this.awaitsAnswer()) return false;
    if (open) return events.some((e) => e.type === 'message_start' && e.message_id && e.message_id !== open.id);
    const known = new Set(messages.map((m) => m.id));
    return events.some((e) =>
      e.type === 'message_start' ? !known.has(e.message_id ?? '') : e.type !== 'approval' && e.type !== 'unknown',
    );
  }

  private awaitsAnswer(): boolean {
    const last = this.c.state.messages.at(-1);
    return last?.role === 'user' && last.send !== undefined && last.send !== 'failed';
  }

  /* The whole thread once more, beside a socket that goes on. `missed`: what is told here is over, and its end will not be told. */
  private async refresh(missed = false): Promise<void> {
    const { id } = this.c;
    if (!id) return;
    const begun = this.begun;
    try {
      const [thread, list] = await Promise.all([this.api.thread(id), this.api.approvals({ thread: id }).catch(() => ({ approvals: [] }))]);
      if (this.c.id !== id || !this.way.isOpen()) return;
      // Something moved while we asked: this answer is old, the next end of turn asks again.
      const streaming = this.c.state.open?.status === 'open';
      const began = this.begun !== begun;
      if (streaming && thread.state !== 'running' && (began || !missed)) return;
      if (!streaming && began) return; // a whole turn went by, and asked anew when it ended
      if (!streaming && thread.state === 'running') return this.c.set({ title: thread.title });
      this.untold = false;
      if (thread.state !== 'running') this.way.known(thread.seq);
      this.c.set({ state: hydrate(this.c.state, thread, list.approvals), title: thread.title });
      this.outbox.arrived(thread);
      this.afterEvents();
    } catch {
      // the link notices by itself
    }
  }

  /** The messages before those that are here. Throws when they cannot be had now. */
  loadOlder(): Promise<void> {
    this.older ??= this.readOlder().finally(() => (this.older = null));
    return this.older;
  }

  /** All messages there are. */
  async whole(): Promise<Message[]> {
    while (this.c.state.earlier) await this.loadOlder();
    return this.c.state.messages;
  }

  private async readOlder(): Promise<void> {
    const { id, state } = this.c;
    if (!id || !state.earlier) return;
    const [page, list] = await Promise.all([
      this.api.thread(id, { before: state.earlier }),
      this.api.approvals({ thread: id }).catch(() => ({ approvals: [] })),
    ]);
    // An edit in another tab may have changed what stands before.
    if (this.c.state.earlier === state.earlier) this.c.set({ state: prepend(this.c.state, page, list.approvals) });
  }

  private hello(pending: ApprovalRecord[]): void {
    this.c.dispatch(...pending.map((record) => ({ type: 'approval' as const, record })));
    this.outbox.takeBack();
    this.outbox.flush();
  }

  private afterEvents(): void {
    this.tools.runOffered();
    this.outbox.tidy();
    if (!this.untold) this.outbox.next();
    this.rest();
    void this.decisions.learn();
  }

  /* The server cannot stop what has not begun, and would begin it afterwards: now it has. */
  private taken(): void {
    if (this.c.state.stopping) void this.stop();
    this.rest();
  }

  /* ---- what a person does ---- */

  /** `after`: the answer of an earlier version that it goes on from. */
  send(text: string, files: FilePart[] = [], after?: string): Promise<void> {
    return this.outbox.send(text, files, after);
  }

  /** Puts a message behind the one being answered. */
  enqueue(text: string, files: FilePart[] = [], after?: string): void {
    this.outbox.enqueue(text, files, after);
  }

  unqueue(index: number): Unsent | undefined {
    return this.outbox.unqueue(index);
  }

  /** Another tab sent it or took it back. */
  forget(id: string): void {
    this.outbox.forget(id);
  }

  retrySend(id: string): Promise<void> {
    return this.outbox.retry(id);
  }

  /** Takes back a message that never left. */
  discard(id: string): Draft {
    return this.outbox.discard(id);
  }

  /** Asks an earlier question differently, with the same files: what came after it is set aside. */
  edit(id: string, text: string): Promise<void> {
    return this.outbox.edit(id, text);
  }

  /** Asks for another answer to the last question. */
  regenerate(answer: Message): Promise<void> {
    return this.outbox.regenerate(answer);
  }

  async stop(): Promise<void> {
    this.c.dispatch({ type: 'stopping' });
    if (this.c.id && !this.outbox.onTheWay()) await this.way.stop(this.c.id);
  }

  async unvote(approvalId: string): Promise<void> {
    await this.decisions.unvote(approvalId);
  }

  async decide(approvalId: string, confirmed: boolean, terms?: AnswerTerms): Promise<void> {
    await this.decisions.decide(approvalId, confirmed, terms);
    this.options.changed();
  }

  async settle(approvalId: string, outcome: 'done' | 'not_done'): Promise<void> {
    await this.decisions.settle(approvalId, outcome);
    this.options.changed();
  }

  /** How a request stands now. */
  look(approvalId: string): Promise<void> {
    return this.decisions.learnOf(approvalId);
  }

  async act(action: string, data: unknown): Promise<void> {
    if (this.c.id) await this.api.action(this.c.id, action, data, newId('r'));
  }

  /** A message is on its way and nothing has come back yet. */
  awaitsFirstWord(): boolean {
    return this.outbox.awaitsFirstWord();
  }

  /** Something is being answered or has yet to be asked: what is written now goes behind it. */
  occupied(): boolean {
    return this.outbox.occupied();
  }
}
