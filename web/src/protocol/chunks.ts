/* chunks.ts -- the AI SDK UI message stream, decoded into thread events.
 *
 * Used for Direct mode (native tool approval), SSE mode and the live socket
 * (both with the `adk_request_confirmation` call). The decoder keeps nothing:
 * one chunk in, some events out. Chunks it does not know become `unknown`.
 */
import type { LocalEvent, ResponsePayload, ThreadEvent, TypedEvent, UnknownEvent } from './events';
import { isObject } from './events';
import { t } from '../words';

export const confirmationTool = 'adk_request_confirmation';

export interface ConfirmationInput {
  originalFunctionCall: { id: string; name: string; args: unknown };
  toolConfirmation: { hint?: string; confirmed: boolean; payload?: unknown };
  expiresAt?: string;
  risk?: string;
  argsSha256?: string;
}

export function isConfirmationInput(v: unknown): v is ConfirmationInput {
  return (
    isObject(v) &&
    isObject(v.originalFunctionCall) &&
    typeof v.originalFunctionCall.id === 'string' &&
    typeof v.originalFunctionCall.name === 'string'
  );
}

type Chunk = Record<string, unknown> & { type: string };

function str(v: unknown): string {
  return typeof v === 'string' ? v : '';
}

/** Decodes one chunk. `[DONE]` is not a chunk: the transport turns it into `turn_end`. */
export function decodeChunk(value: unknown): ThreadEvent[] {
  if (!isObject(value) || typeof value.type !== 'string') return [{ type: 'unknown', name: '', raw: value }];
  const chunk = value as Chunk;
  return decoders[chunk.type]?.(chunk) ?? other(chunk);
}

type Decoder = (c: Chunk) => (TypedEvent | LocalEvent | UnknownEvent)[];

const decoders: Record<string, Decoder> = {
  start: (c) => [{ type: 'message_start', message_id: str(c.messageId) || undefined }],
  // A turn also ends without `finish`; the transport says when it is over.
  finish: (c) => {
    const out: ReturnType<Decoder> = [];
    if (c.finishReason === 'length' || c.finishReason === 'content-filter') out.push({ type: 'payload', payload: { finish_reason: c.finishReason } });
    if (isObject(c.messageMetadata) && isObject(c.messageMetadata.usage)) out.push({ type: 'usage', usage: c.messageMetadata.usage });
    return out;
  },
  'start-step': () => [],
  'finish-step': () => [],
  abort: () => [{ type: 'cancelled' }],
  error: (c) => [{ type: 'error', message: str(c.errorText) || t.answerFailed }],
  'text-start': () => [],
  'text-delta': (c) => [{ type: 'part_text', part: str(c.id), text: str(c.delta) }],
  'text-end': () => [],
  'reasoning-start': () => [],
  'reasoning-delta': (c) => [{ type: 'part_reasoning', part: str(c.id), text: str(c.delta) }],
  'reasoning-end': (c) => [{ type: 'part_reasoning', part: str(c.id), text: '', done: true }],
  'tool-input-start': (c) =>
    c.toolName === confirmationTool ? [] : [{ type: 'tool_input', tool: str(c.toolName), tool_use_id: str(c.toolCallId), text: '' }],
  'tool-input-delta': (c) => [{ type: 'tool_input', tool: '', tool_use_id: str(c.toolCallId), text: str(c.inputTextDelta) }],
  'tool-input-available': inputAvailable,
  'tool-input-error': (c) => [
    { type: 'tool_announced', tool: str(c.toolName), tool_use_id: str(c.toolCallId), input: c.input },
    { type: 'tool_error', tool_use_id: str(c.toolCallId), message: str(c.errorText) },
  ],
  'tool-approval-request': (c) => [
    { type: 'tool_confirmation', confirmation_id: str(c.approvalId), tool: '', tool_use_id: str(c.toolCallId), input: undefined },
  ],
  'tool-output-available': outputAvailable,
  'tool-output-error': (c) => [{ type: 'tool_error', tool_use_id: str(c.toolCallId), message: str(c.errorText) }],
  'tool-output-denied': (c) => [{ type: 'tool_denied', tool_use_id: str(c.toolCallId) }],
  file: (c) => [{ type: 'part_file', url: str(c.url), media_type: str(c.mediaType) }],
  'data-intent': (c) => (isObject(c.data) ? [intent(c.data)] : []),
  'data-question': (c) => (isObject(c.data) ? [question(c.data)] : []),
  'data-restarting': () => [{ type: 'restarting' }],
  'data-status': (c) => (isObject(c.data) && typeof c.data.message === 'string' ? [{ type: 'status', message: c.data.message }] : []),
  'data-summary': () => [{ type: 'summarised' }],
  'data-payload': (c) => (isObject(c.data) ? [{ type: 'payload', payload: c.data as Partial<ResponsePayload> }] : []),
  'data-approval': (c) =>
    isObject(c.data)
      ? [{ type: 'approval', record: { id: str(c.id), status: str(c.data.status), decided_by: str(c.data.decided_by) || null } }]
      : [],
};

function other(c: Chunk): UnknownEvent[] {
  return [{ type: 'unknown', name: c.type, raw: c }];
}

function intent(d: Record<string, unknown>): TypedEvent {
  return { type: 'intent_confirmation', message: str(d.message), tool: str(d.toolName), tool_use_id: str(d.toolCallId) };
}

function question(d: Record<string, unknown>): TypedEvent {
  return { type: 'tool_confirmation', confirmation_id: str(d.id), tool: '', tool_use_id: str(d.toolCallId), input: undefined, ask: str(d.message), schema: d.schema };
}

function inputAvailable(c: Chunk): (TypedEvent | LocalEvent)[] {
  const id = str(c.toolCallId);
  const tool = str(c.toolName);
  if (tool === confirmationTool) return isConfirmationInput(c.input) ? [confirmation(id, c.input)] : [];
  // Run by the server: it is under way. Otherwise it waits, for a person or for this browser.
  if (c.providerExecuted === true) return [{ type: 'tool_start', tool, tool_use_id: id, input: c.input }];
  return [{ type: 'tool_announced', tool, tool_use_id: id, input: c.input }];
}

export function confirmation(id: string, input: ConfirmationInput): TypedEvent {
  const call = input.originalFunctionCall;
  return {
    type: 'tool_confirmation',
    confirmation_id: id,
    tool: call.name,
    tool_use_id: call.id,
    input: call.args,
    ask: input.toolConfirmation?.hint ?? null,
    risk: input.risk ?? null,
    expires_at: input.expiresAt ?? null,
  };
}

/* An interim output is progress; its members are those of `tool_progress`. */
function outputAvailable(c: Chunk): (TypedEvent | LocalEvent)[] {
  const id = str(c.toolCallId);
  if (c.preliminary !== true) return [{ type: 'tool_output', tool_use_id: id, output: c.output }];
  const o = isObject(c.output) ? c.output : {};
  return [
    {
      type: 'tool_progress',
      tool: '',
      tool_use_id: id,
      stage: str(o.stage) || null,
      message: str(o.message) || null,
      progress: o.progress === undefined || o.progress === null ? null : Number(o.progress),
      data: o.data,
    },
  ];
}
