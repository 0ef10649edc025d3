/* general.ts -- a conversation over the typed door, without React.
 *
 * One POST per turn. If its stream breaks, the thread is followed by
 * `GET …/events?after=` from the last event that came, so that no word is lost
 * or doubled; if it broke before the first event, the same request (same
 * request_id) is sent again and attaches to the same run.
 */
import { emptyGeneralChat, reduceGeneral, type GeneralChatEvent, type GeneralChatState } from '../protocol/general';
import { parseTyped, type SuggestedAction } from '../protocol/events';
import { Api, Refused, type ApiOptions } from './api';
import { sleep } from './link';
import { newId } from './conversation';
import { readSse } from './sse';

export interface GeneralChatOptions extends ApiOptions {
  threadId?: string;
  page?: string;
  /** Suggested actions with `handler:"client"`. */
  onClientAction?: (action: SuggestedAction) => void;
}

const triesMax = 8;
const ends = new Set(['complete', 'error', 'cancelled']);

export class GeneralChat {
  private state = emptyGeneralChat;
  private listeners = new Set<() => void>();
  private api: Api;
  private abort: AbortController | null = null;
  threadId: string | null;

  constructor(private readonly options: GeneralChatOptions = {}) {
    this.api = new Api(options);
    this.threadId = options.threadId ?? null;
  }

  get = (): GeneralChatState => this.state;

  subscribe = (f: () => void): (() => void) => {
    this.listeners.add(f);
    return () => this.listeners.delete(f);
  };

  /** Asks; resolves when the answer is complete or waits at a gate. */
  async sendMessage(text: string): Promise<void> {
    const id = newId('u');
    this.apply({ type: 'asked', id, text });
    await this.turn({ message: text, request_id: id });
  }

  /** Answers a gate. */
  async decide(confirmationId: string, confirmed: boolean, reason?: string): Promise<void> {
    this.apply({ type: 'answering' });
    const data = { confirmation_id: confirmationId, ...(reason ? { reason } : {}) };
    await this.turn({ action: { action: confirmed ? 'approve' : 'deny', data }, request_id: newId('a') });
  }

  async runAction(action: SuggestedAction): Promise<void> {
    if (action.handler === 'client') {
      this.options.onClientAction?.(action);
      return;
    }
    this.apply({ type: 'answering' });
    await this.turn({
      action: { action: action.action, ...(action.data !== undefined ? { data: action.data } : {}) },
      request_id: newId('r'),
    });
  }

  /** Stops the run at the server; the partial answer stays. */
  async cancel(): Promise<void> {
    if (this.threadId) await this.api.stop(this.threadId);
  }

  /** Stops listening. The run goes on. */
  close(): void {
    this.abort?.abort();
  }

  private apply(event: GeneralChatEvent): void {
    this.state = reduceGeneral(this.state, event);
    this.listeners.forEach((f) => f());
  }

  private async turn(body: object): Promise<void> {
    const abort = (this.abort = new AbortController());
    const before = this.state;
    let cursor: string | null = null;
    for (let n = 0; n < triesMax && !abort.signal.aborted; n++) {
      try {
        if (n > 0) await sleep(Math.min(8000, 250 * 2 ** n));
        if (cursor === null) this.state = before; // from the beginning once more
        const result = await this.read(await this.request(body, cursor, abort.signal), cursor, abort.signal);
        if (result.ended) return;
        cursor = result.cursor;
      } catch (error) {
        if (error instanceof Refused) {
          this.apply({ type: 'error', message: error.message, code: error.code });
          return;
        }
      }
    }
    if (!abort.signal.aborted) this.apply({ type: 'error', message: 'The connection was lost.', retryable: true });
  }

  private request(body: object, cursor: string | null, signal: AbortSignal): Promise<Response> {
    if (cursor !== null && this.threadId)
      return this.api.open('GET', `/v1/threads/${this.threadId}/events?after=${encodeURIComponent(cursor)}`, undefined, signal);
    const thread = this.threadId ? { thread_id: this.threadId } : {};
    const page = this.options.page ? { page: this.options.page } : {};
    return this.api.open('POST', '/v1/chat/stream', { ...body, ...thread, ...page }, signal);
  }

  private async read(response: Response, from: string | null, signal: AbortSignal): Promise<{ ended: boolean; cursor: string | null }> {
    this.threadId = response.headers.get('parley-thread') ?? this.threadId;
    let cursor = from;
    try {
      for await (const batch of readSse(response.body!, signal)) {
        for (const e of batch) {
          const event = parseTyped(JSON.parse(e.data));
          this.apply(event);
          if (e.id) cursor = e.id;
          if (ends.has(event.type)) return { ended: true, cursor };
        }
      }
    } catch {
      // broken: the caller goes on from the cursor
    }
    return { ended: signal.aborted, cursor };
  }
}
