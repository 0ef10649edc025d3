/* outbox.ts -- what a person has written, until the server has it.
 *
 *   queue ──▶ leaving ──▶ (HTTP) taken
 *               │  ▲  └─▶ socket ──▶ taken, when its answer starts
 *               │  └── waiting ◀── the way is down, or the socket broke
 *               └─▶ refused: the server said no; the person decides
 *
 * A message is in one place at a time. It keeps its request id on all its ways,
 * so that the server takes it once, however often it is sent; and everything
 * here is kept beyond the life of the page. What is behind the answer under way
 * (the queue) goes out by itself when nothing else is.
 *
 * The first message gives its conversation the id, in this order: it is kept
 * under it, the address of the page names it, and only then it is sent. Wherever
 * the page ends, the next one finds the words where its address says.
 */
import { filesOf, isStreaming, textOf, type FilePart, type Message, type StoredThread, type ThreadEvent } from '../protocol';
import { Refused } from './api';
import type { Way } from './connection';
import { newId, type Conversation, type Draft, type Unsent } from './conversation';
import type { OutgoingMessage } from './types';

export interface Keeper {
  /** `refused`: the server said no, so it must not go out by itself. */
  put(thread: string, m: Unsent, refused?: boolean): void;
  drop(thread: string, id: string): void;
}

export interface OutboxOptions {
  /** Keeps what was sent and has not arrived, beyond the life of the page. */
  keeper?: Keeper;
  /** What was kept so: it goes out, in order, once the thread is there. */
  unsent?: Unsent[];
  /** The conversation has its id, and what begins it is kept: its address can be shown. */
  named?: (thread: string) => void;
  /** The conversation is gone, and these words with it. */
  giveBack?: (drafts: Draft[]) => void;
}

interface Letter {
  m: OutgoingMessage;
  at: 'leaving' | 'socket' | 'waiting' | 'refused';
}

export interface OutboxHost {
  /** The server has taken a message. */
  taken(): void;
  /** The server refused it on the socket: what it would have set aside is still there. */
  refused(): void;
  /** The server wants to know who is there. */
  signIn(): void;
  /** The server had what was taken back. */
  wasSent(): void;
}

export class Outbox {
  /** By message, in the order in which they were written. */
  private letters = new Map<string, Letter>();
  /** The server has not heard of this conversation. */
  private unborn: boolean;
  /** Taken back while the server could not be asked whether it has them. */
  private takenBack = new Set<string>();
  /** Something was asked from this tab. */
  wrote = false;

  constructor(
    private readonly options: OutboxOptions,
    private readonly c: Conversation,
    private readonly way: Way,
    private readonly host: OutboxHost,
  ) {
    this.unborn = c.id === null || c.get().queue.some((m) => m.first);
  }

  /* ---- what a person does ---- */

  async send(text: string, files: FilePart[], after?: string): Promise<void> {
    await this.launch(fresh(text, files, after));
  }

  /** Puts a message behind the one being answered. */
  enqueue(text: string, files: FilePart[], after?: string): void {
    const m = fresh(text, files, after);
    this.keep(m);
    this.c.set({ queue: [...this.c.get().queue, m] });
  }

  unqueue(index: number): Unsent | undefined {
    const m = this.c.get().queue[index];
    if (m) this.unkeep(m.id);
    this.forget(m?.id);
    return m;
  }

  /** Another tab sent it or took it back. */
  forget(id: string | undefined): void {
    const { queue } = this.c.get();
    if (queue.some((m) => m.id === id)) this.c.set({ queue: queue.filter((m) => m.id !== id) });
    if (!id || this.letters.get(id)?.at !== 'waiting') return;
    this.letters.delete(id);
    this.c.dispatch({ type: 'drop_message', id });
  }

  async retry(id: string): Promise<void> {
    const m = this.message(id);
    if (!m) return;
    this.c.dispatch({ type: 'send_state', id, send: 'sending' });
    await this.transmit(this.letters.get(id)?.m ?? { id, requestId: id, text: textOf(m), files: filesOf(m) });
  }

  /** Takes back a message that is not known to have left. */
  discard(id: string): Draft {
    const m = this.message(id);
    if (m?.send === 'waiting') this.takenBack.add(id);
    this.c.dispatch({ type: 'drop_message', id });
    this.drop(id);
    return { text: m ? textOf(m) : '', files: m ? filesOf(m) : [] };
  }

  /** Asks an earlier question differently, with the same files: what came after it is set aside. */
  async edit(id: string, text: string): Promise<void> {
    const m = this.message(id);
    await this.launch({ ...fresh(text, m ? filesOf(m) : []), messageId: id });
  }

  /** Asks for another answer to the last question. */
  async regenerate(answer: Message): Promise<void> {
    const question = this.c.state.messages.findLast((m) => m.role === 'user');
    if (!question) return;
    this.wrote = true;
    const failedHere = answer.id.startsWith('local-');
    this.c.dispatch({ type: 'cut_from', id: answer.id }, { type: 'send_state', id: question.id, send: 'sending' });
    await this.transmit({
      id: question.id,
      requestId: newId('r'),
      text: textOf(question),
      trigger: 'regenerate-message',
      ...(failedHere ? {} : { messageId: answer.id }),
    });
  }

  /* ---- how it stands ---- */

  /** Nobody has taken it, or nobody has said so: the server cannot stop what has not begun. */
  onTheWay(): boolean {
    return this.has('leaving') || this.has('socket');
  }

  /** Something has yet to go out by itself. */
  pending(): boolean {
    return this.onTheWay() || this.has('waiting');
  }

  /** A message is on its way and nothing has come back yet. One that waits for the connection is not on its way. */
  awaitsFirstWord(): boolean {
    const { open, messages, waitingSince } = this.c.state;
    const last = messages.at(-1);
    if (open !== null || last?.role !== 'user' || waitingSince === null) return false;
    return last.send === 'sending' || last.send === 'sent';
  }

  /** Something is being answered or has yet to be asked: what is written now goes behind it. */
  occupied(): boolean {
    return (!this.c.state.open && this.c.get().queue.length > 0) || this.underWay();
  }

  private underWay(): boolean {
    return isStreaming(this.c.state) || this.awaitsFirstWord() || this.pending();
  }

  private has(place: Letter['at']): boolean {
    return [...this.letters.values()].some((l) => l.at === place);
  }

  private message(id: string): Message | undefined {
    return this.c.state.messages.find((m) => m.id === id);
  }

  /* ---- what happens to it ---- */

  /** Sends what comes next, if it is its turn. */
  next(): void {
    if (this.c.state.open !== null) return;
    // What waits was written before what is queued.
    if (this.has('waiting') && !this.onTheWay() && this.way.channel().ready()) return this.flush();
    if (this.underWay()) return;
    const next = this.unqueue(0);
    if (next) void this.launch(next);
  }

  /** The way is open (again): what waits goes out. */
  flush(): void {
    for (const [id, letter] of this.letters) {
      if (letter.at !== 'waiting') continue;
      if (this.message(id)?.send === 'sent') {
        this.drop(id);
        continue;
      }
      this.c.dispatch({ type: 'send_state', id, send: 'sending' });
      return void this.transmit(letter.m);
    }
  }

  /** The thread does not exist: whether a message is about to make it, or the next one will. */
  begins(): 'now' | 'later' | 'never' {
    if (this.has('waiting')) this.flush();
    else if (!this.unborn) return 'never';
    else if (this.has('refused')) return 'later';
    else this.next();
    if (this.pending()) return 'now';
    return this.unborn ? 'later' : 'never';
  }

  /** The socket broke: what was given to it goes out once more, with the same request id. */
  takeBack(): void {
    for (const [id, letter] of this.letters) {
      if (letter.at !== 'socket') continue;
      if (this.message(id)?.send !== 'sending') {
        this.drop(id);
        continue;
      }
      letter.at = 'waiting';
      this.c.dispatch({ type: 'send_state', id, send: 'waiting', maybe: true });
    }
  }

  /** An answer begins before it can fail: an error before that is the server's word on the message itself. `true`: it was. */
  refusedOnSocket(error: { message: string; code?: string }): boolean {
    const letter = [...this.letters.values()].find((l) => l.at === 'socket');
    if (!letter) return false;
    this.notSent(letter.m, new Refused(409, error.code ?? 'refused', error.message));
    this.host.refused();
    return true;
  }

  /** An answer has begun. */
  answered(events: ThreadEvent[]): void {
    if (!events.some((e) => e.type === 'message_start')) return;
    const last = this.c.state.messages.at(-1);
    if (last?.role === 'user' && last.send === 'sending') this.c.dispatch({ type: 'send_state', id: last.id, send: 'sent' });
    this.unborn = false;
    this.tidy();
    this.host.taken();
  }

  /** The whole thread is known: what was kept because nobody knew whether it had arrived, and had, goes. */
  arrived(thread: StoredThread): void {
    this.unborn = false;
    const all = [...thread.messages, ...(thread.versions ?? []).flatMap((v) => v.messages)];
    const ids = new Set(all.map((m) => m.id));
    for (const m of this.c.get().queue.filter((q) => q.id !== q.messageId && ids.has(q.id))) {
      this.unkeep(m.id);
      this.forget(m.id);
    }
    if ([...this.takenBack].some((id) => ids.has(id))) this.host.wasSent();
    this.takenBack.clear();
  }

  /** What the state says has arrived, or has been taken back, is no longer kept. */
  tidy(): void {
    for (const [id, letter] of this.letters) {
      const send = this.message(id)?.send;
      if (letter.at !== 'waiting' && (send === undefined || send === 'sent')) this.drop(id);
    }
  }

  /** The conversation is gone. */
  giveBack(): void {
    const lost = this.c.state.messages.filter((m) => m.role === 'user' && m.send && m.send !== 'sent');
    const { queue } = this.c.get();
    const drafts = [...lost.map((m) => ({ text: textOf(m), files: filesOf(m) })), ...queue];
    [...queue.map((m) => m.id), ...this.letters.keys()].forEach((id) => this.drop(id));
    this.c.set({ queue: [] });
    this.c.dispatch(...lost.map((m) => ({ type: 'drop_message' as const, id: m.id })));
    this.options.giveBack?.(drafts);
  }

  /* ---- sending ---- */

  private async launch(m: Unsent): Promise<void> {
    const { id, requestId, text, files, messageId, after } = m;
    this.wrote = true;
    if (after) this.c.dispatch({ type: 'go_on', after });
    if (messageId) this.c.dispatch({ type: 'cut_from', id: messageId, as: id });
    this.c.dispatch({ type: 'user_message', id, text, files, send: 'sending' });
    await this.transmit({ id, requestId, text, files, ...(messageId ? { messageId } : {}), ...(after ? { after } : {}) });
  }

  private async transmit(m: OutgoingMessage): Promise<void> {
    const named = this.c.id;
    const thread = named ?? newId('t');
    if (!named) this.c.set({ id: thread, loaded: true });
    this.put(m, 'leaving');
    if (this.c.get().connection.state === 'gone') return this.giveBack();
    if (!named) {
      this.options.named?.(thread);
      this.way.begin(thread);
    }
    let left = false;
    try {
      left = this.c.get().connection.state === 'ok';
      const how = await this.way.send(thread, m);
      if (how === 'socket') return this.put(m, 'socket');
      this.unborn = false;
      this.c.dispatch({ type: 'send_state', id: m.id, send: 'sent' });
      this.drop(m.id);
      this.host.taken();
    } catch (error) {
      this.notSent(m, error, left);
    }
  }

  /* `left`: it was given to a connection that seemed to be there. */
  private notSent(m: OutgoingMessage, error: unknown, left = false): void {
    if (error instanceof Refused && error.status !== 401) {
      this.c.dispatch({ type: 'send_state', id: m.id, send: 'failed', error: error.message });
      this.put(m, 'refused');
      if (this.c.get().connection.state === 'gone') this.giveBack();
      return;
    }
    this.put(m, 'waiting');
    const maybe = left && !(error instanceof Refused);
    this.c.dispatch({ type: 'send_state', id: m.id, send: 'waiting', ...(maybe ? { maybe } : {}) });
    if (error instanceof Refused) this.host.signIn();
  }

  private put(m: OutgoingMessage, at: Letter['at']): void {
    const known = this.letters.get(m.id);
    this.letters.set(m.id, { m, at });
    if (known?.m === m && known.at !== 'refused' && at !== 'refused') return; // kept already
    if (m.trigger === 'regenerate-message') return; // its words are in the thread
    this.keep(this.kept(m), at === 'refused');
  }

  private drop(id: string): void {
    this.letters.delete(id);
    this.unkeep(id);
  }

  private keep(m: Unsent, refused = false): void {
    if (this.c.id) this.options.keeper?.put(this.c.id, m, refused);
  }

  private unkeep(id: string): void {
    if (this.c.id) this.options.keeper?.drop(this.c.id, id);
  }

  private kept(m: OutgoingMessage): Unsent {
    const { id, requestId, text, files = [], messageId, after } = m;
    return { id, requestId, text, files, ...(messageId ? { messageId } : {}), ...(after ? { after } : {}), ...(this.unborn ? { first: true } : {}) };
  }
}

function fresh(text: string, files: FilePart[], after?: string): Unsent {
  const id = newId('u');
  return { id, requestId: id, text, files, ...(after ? { after } : {}) };
}
