/* general.ts -- a conversation for those who build their own page, without React.
 *
 * A session seen as `GeneralChatState`: history and open questions are loaded,
 * client tools are run, a second message goes behind the first, and what breaks
 * is taken up again where it was. What a developer meets first on another host
 * is a server that does not know the page's origin; a browser says nothing of
 * that, so it is found out here and said.
 */
import { generalChat, type GeneralChatState } from '../protocol/general';
import type { SuggestedAction } from '../protocol/events';
import type { Progress } from '../protocol/state';
import { Api, type ApiOptions } from './api';
import type { ClientTool } from './clientTools';
import { newId, type Snapshot } from './conversation';
import { Session } from './session';
import { WireLog } from './types';

export interface GeneralChatOptions extends ApiOptions {
  /** A conversation to go on with: its history and its open questions are loaded. */
  threadId?: string | null;
  page?: string;
  /** Tools that run in this browser, by name. What one throws goes to the model as a sentence. */
  tools?: Record<string, ClientTool>;
  /** Suggested actions with `handler:"client"`. */
  onClientAction?: (action: SuggestedAction) => void;
  /** A short word to the person: what was done differently than asked. */
  notice?: (text: string) => void;
}

/* How long the server may take to show that it is there at all. */
const probeWithin_ms = 1500;

/**
 * Why nothing comes through, as a sentence. A request that a browser may not read looks like one that never arrived; one
 * that it need not read tells them apart.
 */
export async function whyLost({ base = '', fetch: get = (...args) => globalThis.fetch(...args) }: ApiOptions): Promise<string> {
  const signal = AbortSignal.timeout(probeWithin_ms);
  const there = await get(`${base}/healthz`, { mode: 'no-cors', cache: 'no-store', signal }).then(
    () => true,
    () => false,
  );
  const foreign = typeof location !== 'undefined' && base !== '' && new URL(base, location.href).origin !== location.origin;
  if (!there) return `The server ${base ? `at ${base} ` : ''}cannot be reached.`;
  if (!foreign) return 'The connection was lost.';
  return `The server at ${base} does not let this page read its answers: add ${JSON.stringify(location.origin)} to "page": {"embed": […]} in its parley.json.`;
}

export class GeneralChat {
  readonly api: Api;
  readonly session: Session;
  private readonly listeners = new Set<() => void>();
  private trouble: string | null = null;
  private seen: { snap: Snapshot; trouble: string | null; state: GeneralChatState } | null = null;
  private progress: { call: string; updates: Progress[] } = { call: '', updates: [] };
  private probing = false;

  constructor(private options: GeneralChatOptions = {}) {
    const now = () => this.options;
    this.api = new Api({ ...options, token: () => this.options.token?.() ?? null, unauthorized: () => this.options.unauthorized?.() });
    this.session = new Session(
      {
        api: this.api,
        log: new WireLog(200),
        mode: 'sse',
        page: () => options.page,
        client: newId('tab'),
        get tools() {
          return now().tools ?? {};
        },
        notice: (text) => this.options.notice?.(text),
        changed: () => undefined,
      },
      options.threadId ?? null,
    );
    this.session.subscribe(() => this.changed());
  }

  get threadId(): string | null {
    return this.session.get().id;
  }

  get = (): GeneralChatState => {
    const snap = this.session.get();
    if (this.seen?.snap !== snap || this.seen.trouble !== this.trouble) this.seen = { snap, trouble: this.trouble, state: this.view(snap) };
    return this.seen.state;
  };

  subscribe = (f: () => void): (() => void) => {
    this.listeners.add(f);
    return () => this.listeners.delete(f);
  };

  /** Connects; a conversation that exists is loaded. */
  open(): void {
    this.session.open();
  }

  /** Stops listening. The run goes on. */
  close(): void {
    this.session.leave();
  }

  /** Tools and callbacks may change with each rendering; the rest counts once. */
  update(options: GeneralChatOptions): void {
    this.options = options;
  }

  /** Asks; behind what is being answered, if something is. Resolves when everything asked has been answered, or waits at a gate. */
  async sendMessage(text: string): Promise<void> {
    if (this.session.occupied()) this.session.enqueue(text);
    else await this.session.send(text);
    await this.quiet();
  }

  /** Loads the messages before the first one. */
  loadEarlier(): Promise<void> {
    return this.session.loadOlder();
  }

  /** Takes back a message that has not been sent. */
  unqueue(index: number): string | undefined {
    return this.session.unqueue(index)?.text;
  }

  /** Answers a gate. `input`: other arguments, all of them, where the tool lets a person change them. */
  async decide(confirmationId: string, confirmed: boolean, reason?: string, input?: unknown): Promise<void> {
    await this.session.decide(confirmationId, confirmed, { ...(reason ? { reason } : {}), ...(input !== undefined ? { input } : {}) });
    await this.quiet();
  }

  async runAction(action: SuggestedAction): Promise<void> {
    if (action.handler === 'client') this.options.onClientAction?.(action);
    else await this.session.act(action.action, action.data);
  }

  /** Stops the run at the server; the partial answer stays. */
  cancel(): Promise<void> {
    return this.session.stop();
  }

  private view(snap: Snapshot): GeneralChatState {
    return generalChat(snap.state, {
      waiting: this.session.awaitsFirstWord(),
      queue: snap.queue.map((m) => m.text),
      loaded: snap.loaded,
      trouble: this.trouble,
      updates: this.progress.updates,
    });
  }

  private changed(): void {
    this.collect();
    const { connection } = this.session.get();
    if (connection.state === 'gone') this.trouble = 'This conversation does not exist.';
    else if (connection.state === 'signin') this.trouble = 'The server wants to know who is there: give it a token.';
    else if (this.isLost()) void this.probe();
    else this.trouble = null;
    this.listeners.forEach((f) => f());
  }

  private isLost(): boolean {
    const { connection, state } = this.session.get();
    return connection.state === 'lost' || state.messages.some((m) => m.send === 'waiting');
  }

  /* The state has the newest word of a running tool; a page may want all of them. */
  private collect(): void {
    const { open } = this.session.get().state;
    const call = open && Object.values(open.calls).findLast((c) => c.status === 'running');
    if (!call) return;
    if (call.id !== this.progress.call) this.progress = { call: call.id, updates: [] };
    const { updates } = this.progress;
    if (call.progress && updates.at(-1) !== call.progress) this.progress = { call: call.id, updates: [...updates, call.progress] };
  }

  private async probe(): Promise<void> {
    if (this.probing) return;
    this.probing = true;
    const why = await whyLost(this.options);
    this.probing = false;
    if (!this.isLost()) return;
    this.trouble = why;
    this.listeners.forEach((f) => f());
  }

  private quiet(): Promise<void> {
    return new Promise((resolve) => {
      const look = () => {
        const { isLoading, queue } = this.get();
        if (isLoading || queue.length > 0) return;
        stop();
        resolve();
      };
      const stop = this.subscribe(look);
      look();
    });
  }
}
