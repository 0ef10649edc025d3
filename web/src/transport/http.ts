/* http.ts -- Direct and SSE mode: one POST per turn, one GET to follow.
 *
 *   Direct  POST /api/chat   native approval: the answered part goes back as
 *                            `approval-responded`
 *   SSE     POST /stream     adk form: the answer is the output of the
 *                            `adk_request_confirmation` call
 *
 * Both follow other people's turns, and everything that another connection set
 * in motion, by `GET /v1/threads/{T}/events?after=`, in the typed dialect.
 * Of the history only the last message is sent: the server's log is the history.
 */
import { confirmationTool, decodeChunk, parseExact, parseTyped } from '../protocol';
import type { Api } from './api';
import { readSse, type SseEvent } from './sse';
import { replayed, userMessages } from './types';
import type { Channel, Deliveries, Delivery, OutgoingAnswer, OutgoingMessage, OutgoingResult, WireLog } from './types';

export class HttpChannel implements Channel {
  private readonly door: string;

  constructor(
    readonly mode: 'direct' | 'sse',
    private readonly api: Api,
    private readonly log: WireLog,
    private readonly page?: () => string | undefined,
  ) {
    this.door = mode === 'direct' ? '/api/chat' : '/stream';
  }

  ready(): boolean {
    return true;
  }

  /* What is not there yet has nothing to tell: over HTTP its first message is its first feed. */
  async *follow(thread: string, after: string | null, signal: AbortSignal): Deliveries {
    const cursor = after ?? '0.0';
    const response = await this.api.open('GET', `/v1/threads/${thread}/events?after=${encodeURIComponent(cursor)}`, undefined, signal);
    this.log.add('note', 'events', `following from ${cursor}`);
    yield { events: [] }; // connected
    for await (const batch of readSse(response.body!, signal)) yield this.typed(batch);
  }

  async attach(thread: string, signal: AbortSignal): Promise<Deliveries | null> {
    const response = await this.api.open('GET', `${this.door}/${thread}/stream`, undefined, signal);
    if (response.status === 204) return null;
    this.log.add('note', this.mode, 'replaying the answer under way');
    return retold(this.chunks(response, signal), true);
  }

  send(thread: string, m: OutgoingMessage, signal: AbortSignal): Promise<Deliveries> {
    return this.post(thread, userMessages(m), m.trigger ?? 'submit-message', m.messageId, m.requestId, signal, m.after);
  }

  answer(thread: string, a: OutgoingAnswer, signal: AbortSignal): Promise<Deliveries> {
    const part = this.mode === 'direct' ? nativeAnswer(a) : adkAnswer(a);
    return this.post(thread, [{ id: a.messageId, role: 'assistant', parts: [part] }], 'submit-message', a.messageId, a.answerId, signal);
  }

  async result(thread: string, r: OutgoingResult): Promise<void> {
    this.log.add('out', this.mode, { result_for: r.callId, ...r.outcome });
    await this.api.result(thread, r.callId, r.outcome);
  }

  async stop(thread: string): Promise<void> {
    await this.api.stop(thread);
  }

  private async post(
    thread: string,
    messages: object[],
    trigger: string,
    messageId: string | undefined,
    requestId: string,
    signal: AbortSignal,
    after?: string,
  ): Promise<Deliveries> {
    const page = this.page?.();
    const body = {
      id: thread,
      messages,
      trigger,
      ...(messageId ? { messageId } : {}),
      ...(after ? { after } : {}),
      ...(page ? { page } : {}),
      request_id: requestId,
    };
    this.log.add('out', this.mode, body);
    return retold(this.chunks(await this.api.open('POST', this.door, body, signal), signal), false);
  }

  private async *chunks(response: Response, signal: AbortSignal): Deliveries {
    for await (const batch of readSse(response.body!, signal)) yield this.decode(batch);
  }

  private decode(batch: SseEvent[]): Delivery {
    const out: Delivery = { events: [] };
    for (const e of batch) {
      const value = e.data === '[DONE]' ? '[DONE]' : parse(e.data);
      this.log.add('in', this.mode, value, e.id);
      if (e.id) out.cursor = e.id;
      if (value === '[DONE]') out.done = true;
      else out.events.push(...decodeChunk(value));
    }
    return out;
  }

  private typed(batch: SseEvent[]): Delivery {
    const out: Delivery = { events: [] };
    for (const e of batch) {
      const value = parse(e.data);
      this.log.add('in', 'events', value, e.id);
      if (e.id) out.cursor = e.id;
      out.events.push(parseTyped(value));
    }
    return out;
  }
}

/* A message that was `begun` and begins is told from its beginning once more: here, or by a server that lost words of it. */
async function* retold(stream: Deliveries, begun: boolean): Deliveries {
  for await (const d of stream) {
    const first = begun ? -1 : d.events.findIndex((e) => e.type === 'message_start');
    begun ||= first >= 0;
    yield { ...d, events: [...d.events.slice(0, first + 1), ...replayed(d.events.slice(first + 1))] };
  }
}

function parse(text: string): unknown {
  try {
    return parseExact(text);
  } catch {
    return text;
  }
}

function nativeAnswer(a: OutgoingAnswer): object {
  return {
    type: `tool-${a.call.name}`,
    toolCallId: a.call.id,
    state: 'approval-responded',
    input: a.call.input ?? {},
    approval: { id: a.approvalId, approved: a.confirmed, ...(a.reason ? { reason: a.reason } : {}) },
  };
}

function adkAnswer(a: OutgoingAnswer): object {
  return {
    type: `tool-${confirmationTool}`,
    toolCallId: a.approvalId,
    state: 'output-available',
    input: { originalFunctionCall: { id: a.call.id, name: a.call.name, args: a.call.input ?? {} }, toolConfirmation: { confirmed: false } },
    output: { confirmed: a.confirmed, ...(a.reason ? { reason: a.reason } : {}) },
  };
}
