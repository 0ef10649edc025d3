/* connection.ts -- the way between this conversation and the server.
 *
 * Its state is the mode and the link. It chooses for everything that goes out:
 * the socket where the mode wants one and it is up, HTTP otherwise, and says so
 * when that was not what the person had asked for.
 */
import type { ApprovalRecord } from '../protocol';
import type { Api } from './api';
import type { Conversation } from './conversation';
import { HttpChannel } from './http';
import { Link, sleep, type LinkHost } from './link';
import { LiveChannel, SocketDown } from './live';
import type { Channel, Mode, OutgoingAnswer, OutgoingMessage, OutgoingResult, WireLog } from './types';
import { t } from '../words';

export interface ConnectionOptions {
  api: Api;
  log: WireLog;
  mode: Mode;
  /** The page of the configuration that messages are written on. */
  page?: () => string | undefined;
  /** A short word to the person: what was done differently than asked. */
  notice: (text: string) => void;
}

/* How long a message waits for a socket that is being opened. */
const socketWithin_ms = 3000;

export class Way {
  private link: Link | null = null;
  private mode: Mode;
  private http!: HttpChannel;
  private live!: LiveChannel;

  constructor(
    private readonly options: ConnectionOptions,
    private readonly c: Conversation,
    private readonly host: LinkHost,
    /** A socket is up: the gates that wait, as the server lists them. */
    private readonly onHello: (pending: ApprovalRecord[]) => void,
  ) {
    this.mode = options.mode;
    this.makeChannels();
  }

  channel(): Channel {
    return this.mode === 'bidi' && !this.c.get().degraded ? this.live : this.http;
  }

  /** Follows the thread, once it has an id. */
  open(): void {
    if (!this.c.id || this.link) return;
    this.link = new Link(this.host, this.c.id, false);
    this.link.start();
  }

  /** Stops listening; the run goes on at the server. */
  close(): void {
    this.link?.close();
    this.link = null;
  }

  isOpen(): boolean {
    return this.link !== null;
  }

  /** Looks at once whether a connection that seems to be there is. */
  nudge(): void {
    this.live.probe();
    this.link?.nudge();
  }

  /** There is no network. */
  lose(): void {
    this.live.lost();
    this.link?.lose();
  }

  /** The thread was looked at as a whole, up to here, and rested. */
  known(seq: number): void {
    this.live.known(seq);
  }

  /** `false`: it is the one already. */
  setMode(mode: Mode): boolean {
    if (mode === this.mode) return false;
    this.mode = mode;
    this.c.set({ degraded: false });
    this.makeChannels();
    if (this.link) {
      this.close();
      this.open();
    }
    return true;
  }

  degrade(): void {
    this.c.set({ degraded: true });
    this.options.notice(t.socketRefused);
  }

  private makeChannels(): void {
    const { api, log, page } = this.options;
    this.http = new HttpChannel(this.mode === 'direct' ? 'direct' : 'sse', api, log, page);
    this.live = new LiveChannel(api, log, this.onHello, page);
  }

  /* ---- out ---- */

  /** A conversation that its first message is about to make. */
  begin(thread: string): void {
    this.link = new Link(this.host, thread, true);
    if (this.mode === 'bidi') this.link.start(); // over HTTP its first step is the message itself
  }

  /** Over HTTP the message is taken when this resolves; over the socket it is taken when its answer starts. */
  async send(thread: string, m: OutgoingMessage): Promise<'http' | 'socket'> {
    this.open();
    const wanted = this.channel() === this.live && this.live.takes(m);
    if (wanted && (await this.socketUp())) {
      await this.live.send(thread, m);
      return 'socket';
    }
    await this.link!.stream((signal) => this.http.send(thread, m, signal));
    if (wanted) this.options.notice(t.sentOverHttp);
    return 'http';
  }

  async answer(thread: string, a: OutgoingAnswer): Promise<void> {
    const { approvalId, confirmed, reason, answerId } = a;
    const direct = () => this.options.api.decide(approvalId, { confirmed, ...(reason ? { reason } : {}), answer_id: answerId });
    if (this.channel() === this.live) {
      try {
        return void (await this.live.answer(thread, a));
      } catch (error) {
        if (!(error instanceof SocketDown)) throw error;
      }
      await direct();
      return this.options.notice(t.answeredOverHttp);
    }
    // One feed at a time: while another turn is told, the answer goes beside it.
    const unknownMessage = a.messageId.startsWith('local-');
    if (!this.link || this.link.busy() || unknownMessage) await direct();
    else await this.link.stream((signal) => this.http.answer(thread, a, signal));
  }

  async result(thread: string, r: OutgoingResult): Promise<void> {
    const channel = this.channel();
    if (channel.ready()) await channel.result(thread, r);
    else await this.options.api.result(thread, r.callId, r.outcome);
  }

  async stop(thread: string): Promise<void> {
    const { api, notice } = this.options;
    await this.channel()
      .stop(thread)
      .catch(() => api.stop(thread))
      .catch(() => notice(t.notStopped));
  }

  private async socketUp(): Promise<boolean> {
    for (let waited = 0; waited < socketWithin_ms && this.channel() === this.live && !this.live.ready(); waited += 50) {
      const now = this.c.get().connection;
      if (now.state === 'lost' && now.retryAt > Date.now()) return false;
      await sleep(50);
    }
    return this.channel() === this.live && this.live.ready();
  }
}
