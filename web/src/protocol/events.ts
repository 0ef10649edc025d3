/* events.ts -- what a thread can tell a client.
 *
 * Two families in one union, told apart by `type`:
 *
 *   typed events   as they stand on the wire of `POST /v1/chat/stream` and
 *                  `GET /v1/threads/{T}/events`;
 *   local events   what the AI SDK decoder and the session make of everything
 *                  else, so that one reducer serves every door.
 *
 * An event type that this client does not know is kept as `unknown` and
 * ignored by the reducer: a newer server must not break an older page.
 */

import { Exact } from './exact';

/** What comes with a message, or is made for one: `url` is a data URL. */
export interface FilePart {
  type: 'file';
  url: string;
  mediaType: string;
  filename?: string;
}

export type Risk = 'low' | 'high' | (string & {});
export type ActionStyle = 'primary' | 'secondary' | 'warning';

export interface SuggestedValue {
  label: string;
  value: string;
}

export interface SuggestedAction {
  label: string;
  action: string;
  handler: 'client' | 'server';
  data?: unknown;
  style?: ActionStyle;
}

export interface CustomPayload {
  type: string;
  data: unknown;
}

export interface ToolHistoryEntry {
  tool_name: string;
  input: unknown;
  output: unknown;
  /** What the tool gave, where `output` is that as text. */
  value?: unknown;
  tool_use_id?: string;
  ok?: boolean;
  ms?: number;
}

export interface Usage {
  input_tokens?: number;
  output_tokens?: number;
}

/** The payload of `complete`: what a finished turn (or a turn at a gate) carries. */
export interface ResponsePayload {
  message: string;
  thread_id?: string;
  run_id?: string;
  awaiting?: string[];
  tool_history?: ToolHistoryEntry[];
  suggested_values?: SuggestedValue[];
  suggested_actions?: SuggestedAction[];
  custom_payload?: CustomPayload;
  usage?: Usage;
  /** The answer did not end by itself: cut at the length limit, or refused by the model. */
  finish_reason?: 'length' | 'content-filter';
}

/** A pending gate as `hello` and `GET /v1/threads/{T}` list it. */
export interface PendingApproval {
  id: string;
  tool: string;
  tool_use_id: string;
  input: unknown;
  ask?: string | null;
  risk?: Risk | null;
  expires_at?: string | null;
  /** A tool's own question: the form that it wants filled in. */
  schema?: unknown;
}

/** Who a rule asks: a role, how many of them. */
export interface Level {
  role: string;
  count: number;
  not_requester?: boolean;
}

/** The widest grant that may be given with a yes; amounts are texts in plain decimal. */
export interface GrantOffer {
  for: number;
  count: number | null;
  max: string | null;
  sum?: string | null;
  amount?: string | null;
  same: Record<string, unknown>;
}

/** What a yes is to be worth beside this call. */
export interface GrantWish {
  scope: 'thread' | 'me';
  for?: number;
  count?: number;
  max?: string;
}

/** What goes with a yes or no. */
export interface AnswerTerms {
  reason?: string;
  grant?: GrantWish;
  /** Other arguments than were asked about, all of them: another call is made of it. */
  input?: unknown;
  /** What a tool's own question wanted to know. */
  payload?: unknown;
}

/** What an edit stands in the place of, and where it differs. */
export interface Replaces {
  id: string;
  by: string;
  changed: string[];
  input: unknown;
}

/** How often the tool's own check was asked what became of an unknown call, when last, and what came of it. */
export interface CallCheck {
  tries: number;
  at: string | null;
  note: string | null;
  next: string | null;
}

/** The grant that allowed a call, as it stood with this call in it. */
export interface Granted {
  id: string;
  by: string;
  at: string;
  uses: number;
  count: number | null;
  amount: string | null;
  max: string | null;
  until: string;
}

/** How a rule's question stands. */
export interface Ballot {
  who?: { from: Level; escalate?: { at: string; to: Level }[] } | null;
  votes?: { by: string; at: string; via?: string }[] | null;
  /** Whose yes does not count any more. */
  lapsed?: string[] | null;
  needed?: number | null;
  /** What this person may do now. */
  may?: boolean | null;
  voted?: boolean | null;
  grant?: GrantOffer | null;
  granted?: Granted | null;
  /** Pointers to the arguments that may be changed before a yes. */
  edit?: string[] | null;
  check?: CallCheck | null;
  /** What the node that ran an unknown call told of it when it was taken for dead. */
  late_at?: string | null;
  late_outcome?: string | null;
  late_text?: string | null;
}

/** One record of `/v1/approvals`. */
export interface ApprovalRecord extends PendingApproval, Ballot {
  thread: string;
  /** Whose conversation it is, where it may be somebody else's. */
  owner?: string;
  /** The words that led to it. */
  said?: string | null;
  status: string;
  requested_at?: string | null;
  decided_at?: string | null;
  decided_by?: string | null;
  decided_via?: string | null;
  reason?: string | null;
  /** Who said how an unknown outcome turned out. */
  settled_by?: string | null;
  replaces?: Replaces | null;
  /** The confirmation id of what an edit made of it. */
  replaced_by?: string | null;
  /** The first call of the same effect. */
  duplicate_of?: { call: string; at: string; by: string; thread: string | null } | null;
}

export type TypedEvent =
  | { type: 'status'; message: string }
  | { type: 'text_delta'; text: string }
  | { type: 'reasoning_delta'; text: string }
  | { type: 'intent_confirmation'; message: string; tool?: string; toolName?: string; tool_use_id?: string; timestamp?: number }
  | {
      type: 'tool_confirmation';
      confirmation_id: string;
      tool: string;
      tool_use_id: string;
      input: unknown;
      ask?: string | null;
      risk?: Risk | null;
      expires_at?: string | null;
      /** The tool asks in the middle of its work. */
      schema?: unknown;
    }
  | { type: 'tool_start'; tool: string; input: unknown; tool_use_id: string; where?: 'server' | 'client' }
  | {
      type: 'tool_progress';
      tool: string;
      stage?: string | null;
      message?: string | null;
      progress?: number | null;
      data?: unknown;
      tool_use_id?: string;
    }
  | { type: 'tool_complete'; tool: string; index: number; tool_use_id?: string; ok?: boolean; outcome?: string }
  | { type: 'complete'; payload: ResponsePayload }
  | { type: 'error'; message: string; code?: string; retryable?: boolean }
  | { type: 'cancelled' }
  | { type: 'step_reset'; message: string }
  | { type: 'restarting' };

/** Events made on this side of the wire. */
export type LocalEvent =
  | { type: 'user_message'; id: string; text: string; files?: FilePart[]; send: 'sending' | 'sent' }
  | { type: 'send_state'; id: string; send: 'sending' | 'waiting' | 'sent' | 'failed'; error?: string; maybe?: boolean }
  /** It is taken back: what it was to stand in for is there again. */
  | { type: 'drop_message'; id: string }
  /** `as`: the message that comes in its place. */
  | { type: 'cut_from'; id: string; as?: string }
  /** The version that ends with this message is gone on with. */
  | { type: 'go_on'; after: string }
  /** `replay`: the connection tells the message from its beginning once more; otherwise the same id means that it goes on. */
  | { type: 'message_start'; message_id?: string; replay?: boolean }
  | { type: 'part_text'; part: string; text: string }
  | { type: 'part_reasoning'; part: string; text: string; done?: boolean }
  | { type: 'part_file'; url: string; media_type: string; filename?: string }
  | { type: 'tool_input'; tool: string; tool_use_id: string; text: string }
  | { type: 'tool_announced'; tool: string; tool_use_id: string; input: unknown }
  | { type: 'tool_output'; tool_use_id: string; output: unknown }
  | { type: 'tool_error'; tool_use_id: string; message: string }
  | { type: 'tool_denied'; tool_use_id: string }
  | { type: 'payload'; payload: Partial<ResponsePayload> }
  | { type: 'usage'; usage: Usage }
  | { type: 'summarised' }
  | { type: 'turn_end' }
  | { type: 'decision'; id: string; state: 'sending' | 'unsure' | 'failed'; confirmed: boolean; error?: string }
  | { type: 'approval'; record: Partial<ApprovalRecord> & { id: string } }
  | { type: 'claim'; tool_use_id: string; mine: boolean }
  | { type: 'stopping' };

export type UnknownEvent = { type: 'unknown'; name: string; raw: unknown };

/** Everything the reducer takes. `at` is the time of receipt in ms; the reducer never reads a clock. */
export type ThreadEvent = (TypedEvent | LocalEvent | UnknownEvent) & { at?: number };

const typedNames: ReadonlySet<string> = new Set<TypedEvent['type']>([
  'status',
  'text_delta',
  'reasoning_delta',
  'intent_confirmation',
  'tool_confirmation',
  'tool_start',
  'tool_progress',
  'tool_complete',
  'complete',
  'error',
  'cancelled',
  'step_reset',
  'restarting',
]);

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Exact);
}

/** Reads one JSON value of the typed dialect. Never throws: what does not fit is kept as unknown. */
export function parseTyped(value: unknown): TypedEvent | UnknownEvent {
  if (!isObject(value) || typeof value.type !== 'string') return { type: 'unknown', name: '', raw: value };
  if (!typedNames.has(value.type) || !fits(value)) return { type: 'unknown', name: value.type, raw: value };
  return value as unknown as TypedEvent;
}

/* The members the reducer relies on. A known name with wrong members is as
 * unknown as an unknown name. */
function fits(e: Record<string, unknown>): boolean {
  switch (e.type) {
    case 'text_delta':
    case 'reasoning_delta':
      return typeof e.text === 'string';
    case 'status':
    case 'error':
    case 'step_reset':
    case 'intent_confirmation':
      return typeof e.message === 'string';
    case 'tool_confirmation':
      return typeof e.confirmation_id === 'string' && typeof e.tool_use_id === 'string' && typeof e.tool === 'string';
    case 'tool_start':
      return typeof e.tool === 'string' && typeof e.tool_use_id === 'string';
    case 'tool_progress':
      return typeof e.tool === 'string';
    case 'tool_complete':
      return typeof e.tool === 'string' && typeof e.index === 'number';
    case 'complete':
      return isObject(e.payload) && typeof e.payload.message === 'string';
    default:
      return true;
  }
}
