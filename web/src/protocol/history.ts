/* history.ts -- a thread as the server stores it, put beside what this page has.
 *
 * `GET /v1/threads/{T}` gives messages as AI SDK UIMessage parts. They replace
 * ours, except for what the server does not tell there: times measured here,
 * the intent line, who clicked, and messages that have not left yet. An answer
 * that is still being told is left out by the server, so ours stays.
 */
import { callOfRecord, statusOfError, withRecord } from './calls';
import { confirmationTool, isConfirmationInput } from './chunks';
import type { ApprovalRecord, PendingApproval, ResponsePayload } from './events';
import { isObject } from './events';
import { callsOf, lastOf, newMessage, settled, textOf, type Call, type CallStatus, type Message, type ThreadState } from './state';
import { t } from '../words';

export interface UIPart {
  type: string;
  [member: string]: unknown;
}

export interface UIMessage {
  id: string;
  role: string;
  parts: UIPart[];
  metadata?: unknown;
}

export interface StoredThread {
  id: string;
  title: string | null;
  state: 'idle' | 'running' | 'waiting';
  seq: number;
  messages: UIMessage[];
  /** These are the newest; the ones before them are asked for with this. */
  earlier?: string | null;
  pending: PendingApproval[];
  /** What was set aside, oldest first: each a tail of the conversation that begins with the question `of` stands for now. */
  versions?: { of: string; messages: UIMessage[] }[];
}

/** The state after loading `thread` (or its end), with what `before` knew on top. */
export function hydrate(before: ThreadState, thread: StoredThread, records: ApprovalRecord[] = []): ThreadState {
  const { older, newer, earlier } = cutAt(before, thread);
  const state = hydrateEnd({ ...before, messages: newer }, thread, records, older);
  const again = state.open === before.open ? before.again : null;
  return { ...state, messages: older.length ? [...older, ...state.messages] : state.messages, earlier, again };
}

/* Of what is here, the messages before those that were loaded stay: nothing before them can have changed. */
function cutAt({ messages, earlier }: ThreadState, thread: StoredThread) {
  const first = thread.earlier ? messages.findIndex((m) => m.id === thread.earlier) : 0;
  if (first <= 0) return { older: [], newer: messages, earlier: thread.earlier ?? null };
  return { older: messages.slice(0, first), newer: messages.slice(first), earlier };
}

/** The messages that stand before those that are here. */
export function prepend(s: ThreadState, page: StoredThread, records: ApprovalRecord[] = []): ThreadState {
  const here = new Set([...s.messages, ...(s.open ? [s.open] : [])].map((m) => m.id));
  const messages = fromPage(page.messages, records).filter((m) => !here.has(m.id));
  const versions = page.versions?.length ? { ...storedVersions({}, page.versions, records, new Set()), ...s.versions } : s.versions;
  return { ...s, messages: [...messages, ...s.messages], earlier: page.earlier ?? null, versions };
}

function fromPage(list: UIMessage[], records: (PendingApproval & { status: string })[], known?: Map<string, Message>): Message[] {
  return list
    .map((ui) => withRecords(merge(fromUI(ui), known?.get(ui.id)), records))
    .filter((m) => m.role === 'assistant' || m.parts.length > 0); // no empty "You"
}

function hydrateEnd(before: ThreadState, thread: StoredThread, records: ApprovalRecord[], older: Message[]): ThreadState {
  const known = new Map(before.messages.map((m) => [m.id, m]));
  if (before.open) known.set(before.open.id, before.open);
  const renamed = renamedQuestions(before.messages, thread.messages);
  renamed.forEach((ours, id) => known.set(id, { ...ours, id, key: ours.key ?? ours.id }));
  const all = [...thread.pending.map((p) => ({ ...p, status: 'pending' })), ...records];
  const stored = fromPage(thread.messages, all, known);
  const arrived = new Set([...stored.map((m) => m.id), ...[...renamed.values()].map((m) => m.id)]);
  const unsent = before.messages.filter((m) => m.role === 'user' && m.send && m.send !== 'sent' && !arrived.has(m.id));
  const messages = withoutReplaced(stored, unsent, before.versions);
  const state = settle(before, thread, [...messages, ...lostEnd(before, messages), ...unsent]);
  const ours = renamed.size ? renameVersions(before.versions, renamed) : before.versions;
  const versions = thread.versions ? storedVersions(ours, thread.versions, all, new Set([...older, ...unsent].map((m) => m.id))) : ours;
  return versions === before.versions ? state : { ...state, versions };
}

/* What is not sent yet stands in the place of what it was written for, as long as that is there. */
function withoutReplaced(stored: Message[], unsent: Message[], versions: ThreadState['versions']): Message[] {
  const replaced = new Set(unsent.flatMap((m) => versions[m.id]?.at(-1)?.[0]?.id ?? []));
  const at = stored.findIndex((m) => replaced.has(m.id));
  return at < 0 ? stored : stored.slice(0, at);
}

/*
 * The server knows every version; ours stands in for it while an edit is on its way. Tails that were set aside do
 * not change, so those that are known keep their identity and what is on the screen stays as it is.
 */
function storedVersions(
  ours: ThreadState['versions'],
  stored: NonNullable<StoredThread['versions']>,
  records: (PendingApproval & { status: string })[],
  /** Questions whose versions only we know: on their way, or before what was loaded. */
  kept: Set<string>,
): ThreadState['versions'] {
  const out: ThreadState['versions'] = Object.fromEntries(Object.entries(ours).filter(([id]) => kept.has(id)));
  for (const { of, messages } of stored) {
    if (kept.has(of)) continue;
    const tail = messages.map((ui) => withRecords(fromUI(ui), records)).filter((m) => m.parts.length > 0);
    out[of] = [...(out[of] ?? []), tail];
  }
  return versionIds(out) === versionIds(ours) ? ours : out;
}

function versionIds(versions: ThreadState['versions']): string {
  return JSON.stringify(
    Object.keys(versions)
      .sort()
      .map((of) => [of, versions[of]!.map((tail) => tail.map((m) => m.id))]),
  );
}

/* An edited question keeps its id on our side and gets a new one in the log: the same words in the same place are the same question. */
function renamedQuestions(ours: Message[], stored: UIMessage[]): Map<string, Message> {
  const ids = new Set(ours.map((m) => m.id));
  const out = new Map<string, Message>();
  stored.forEach((ui, i) => {
    const mine = ours[i];
    if (ui.role !== 'user' || ids.has(ui.id) || mine?.role !== 'user') return;
    if (!stored.some((x) => x.id === mine.id) && same(fromUI(ui), mine)) out.set(ui.id, mine);
  });
  return out;
}

function renameVersions(versions: ThreadState['versions'], renamed: Map<string, Message>): ThreadState['versions'] {
  const out = { ...versions };
  for (const [id, mine] of renamed) {
    const kept = out[mine.id];
    if (!kept) continue;
    delete out[mine.id];
    out[id] = kept;
  }
  return out;
}

/* An answer that failed or was stopped before it had a word may be no message to the server; the person saw it, it stays. */
function lostEnd(before: ThreadState, stored: Message[]): Message[] {
  const end = before.messages.at(-1);
  const question = before.messages.at(-2);
  const last = stored.at(-1);
  if (!end || end.role !== 'assistant' || (end.status !== 'failed' && end.status !== 'stopped')) return [];
  if (stored.some((m) => m.id === end.id) || last?.role !== 'user' || !question || textOf(question) !== textOf(last)) return [];
  return [end];
}

function settle(before: ThreadState, thread: StoredThread, messages: Message[]): ThreadState {
  // A message of ours that the server has not seen yet is still waiting for its first word.
  const inFlight = messages.some((m) => m.role === 'user' && m.send === 'sending');
  const quiet = inFlight ? before : { ...before, statusText: null, waitingSince: null, stopping: false };
  if (thread.state === 'running') {
    const open = before.open && !before.open.id.startsWith('local-') ? before.open : null;
    return { ...before, messages: open ? messages.filter((m) => m.id !== open.id) : messages, open };
  }
  const last = lastOf(messages);
  if (thread.state === 'waiting' && last?.role === 'assistant' && callsOf(last).some((c) => !settled.has(c.status))) {
    return { ...quiet, messages: messages.filter((m) => m !== last), open: { ...last, status: 'parked' } };
  }
  return { ...quiet, messages, open: null };
}

export function fromUI(ui: UIMessage): Message {
  const empty: Message = { ...newMessage(ui.id, ui.role === 'user' ? 'user' : 'assistant'), status: 'done' };
  const m = (ui.parts ?? []).reduce(addPart, empty);
  const meta = isObject(ui.metadata) ? ui.metadata : {};
  const calls = isObject(meta.toolMs) ? timed(m.calls, meta.toolMs) : m.calls;
  const at = Date.parse(typeof meta.createdAt === 'string' ? meta.createdAt : '');
  return {
    ...m,
    calls,
    ...(Number.isNaN(at) ? {} : { at }),
    ...(meta.outcome === 'cancelled' ? { status: 'stopped' as const } : {}),
    ...(meta.finishReason === 'length' || meta.finishReason === 'content-filter'
      ? { payload: { ...(m.payload ?? { suggestedValues: [], suggestedActions: [] }), cut: meta.finishReason } }
      : {}),
    ...(isObject(meta.usage)
      ? { usage: { input_tokens: Number(meta.usage.input_tokens ?? 0), output_tokens: Number(meta.usage.output_tokens ?? 0) } }
      : {}),
    ...(isObject(meta.error)
      ? {
          status: 'failed' as const,
          error: {
            message: String(meta.error.message ?? t.failed),
            code: String(meta.error.code ?? ''),
            retryable: meta.error.retryable !== false,
          },
        }
      : {}),
  };
}

/* How long each took, as the server measured it. */
function timed(calls: Message['calls'], took: Record<string, unknown>): Message['calls'] {
  return Object.fromEntries(Object.entries(calls).map(([id, c]) => [id, typeof took[id] === 'number' ? { ...c, ms: took[id] } : c]));
}

function addPart(m: Message, p: UIPart, n: number): Message {
  switch (p.type) {
    case 'text':
      return typeof p.text === 'string' && p.text ? { ...m, parts: [...m.parts, { type: 'text', id: `h${n}`, text: p.text }] } : m;
    case 'reasoning':
      return typeof p.text === 'string' && p.text
        ? { ...m, parts: [...m.parts, { type: 'reasoning', id: `h${n}`, text: p.text, done: true }] }
        : m;
    case 'file':
      return {
        ...m,
        parts: [
          ...m.parts,
          { type: 'file', url: String(p.url), mediaType: String(p.mediaType), filename: p.filename as string | undefined },
        ],
      };
    case 'data-summary':
      return { ...m, summarised: true };
    case 'data-payload':
      return isObject(p.data) ? { ...m, payload: payloadOf(p.data as Partial<ResponsePayload>) } : m;
    default:
      return p.type.startsWith('tool-') || p.type === 'dynamic-tool' ? addTool(m, p) : m;
  }
}

function payloadOf(p: Partial<ResponsePayload>) {
  return {
    suggestedValues: p.suggested_values ?? [],
    suggestedActions: (p.suggested_actions ?? []).filter((a) => a.action !== 'approve' && a.action !== 'deny'),
    ...(p.custom_payload ? { custom: p.custom_payload } : {}),
  };
}

function addTool(m: Message, p: UIPart): Message {
  const name = p.type === 'dynamic-tool' ? String(p.toolName) : p.type.slice('tool-'.length);
  if (name === confirmationTool) return addConfirmation(m, p);
  return put(m, callOf(String(p.toolCallId), name, p));
}

/* Several parts may speak of one call (the adk form announces it after the answer): one card. */
function put(m: Message, call: Call): Message {
  const seen = m.calls[call.id];
  const merged = seen ? { ...seen, ...call, approval: call.approval ?? seen.approval } : call;
  const parts = seen ? m.parts : [...m.parts, { type: 'call' as const, id: call.id }];
  return { ...m, parts, calls: { ...m.calls, [call.id]: merged } };
}

function addConfirmation(m: Message, p: UIPart): Message {
  if (!isConfirmationInput(p.input)) return m;
  const o = p.input.originalFunctionCall;
  const answer = isObject(p.output) ? p.output : undefined;
  const status = answer ? (answer.confirmed === true ? 'approved' : 'denied') : 'pending';
  const call: Call = {
    id: o.id,
    name: o.name,
    input: o.args,
    status: answer ? (answer.confirmed === true ? 'queued' : 'denied') : 'asking',
    updates: 0,
  };
  return put(
    m,
    withRecord(call, {
      id: String(p.toolCallId),
      status,
      ask: p.input.toolConfirmation?.hint,
      risk: p.input.risk,
      expires_at: p.input.expiresAt,
    }),
  );
}

function callOf(id: string, name: string, p: UIPart): Call {
  const call: Call = { id, name, input: p.input, status: stateOf(p), updates: 0 };
  const failed = p.state === 'output-error' ? String(p.errorText ?? t.failed) : undefined;
  const full: Call = {
    ...call,
    ...(p.state === 'output-available' ? { output: p.output } : {}),
    ...(failed !== undefined ? { error: failed } : {}),
    ...(p.state === 'input-available' && p.providerExecuted !== true ? { where: 'client' as const } : {}),
  };
  if (!isObject(p.approval) || typeof p.approval.id !== 'string') return full;
  const verdict =
    p.approval.approved === true
      ? 'approved'
      : p.approval.approved === false
        ? 'denied'
        : call.status === 'asking'
          ? 'pending'
          : 'approved';
  return withRecord(full, { id: p.approval.id, status: verdict, reason: typeof p.approval.reason === 'string' ? p.approval.reason : null });
}

function stateOf(p: UIPart): CallStatus {
  switch (p.state) {
    case 'output-available':
      return p.preliminary === true ? 'running' : 'done';
    case 'output-error':
      return statusOfError(String(p.errorText ?? ''));
    case 'output-denied':
      return 'denied';
    case 'approval-requested':
      return 'asking';
    case 'approval-responded':
      return 'running';
    case 'input-available':
      return p.providerExecuted === true ? 'running' : 'offered';
    default:
      return 'preparing';
  }
}

function merge(stored: Message, ours: Message | undefined): Message {
  if (!ours) return stored;
  const calls = Object.fromEntries(Object.entries(stored.calls).map(([id, c]) => [id, mergeCall(c, ours.calls[id])]));
  const keepsEnd = ours.status === 'stopped' || ours.status === 'failed';
  const merged: Message = {
    ...stored,
    calls,
    at: stored.at ?? ours.at,
    ...(ours.key ? { key: ours.key } : {}),
    ...(keepsEnd && stored.status === 'done' ? { status: ours.status, error: ours.error } : {}),
    ...(stored.payload ? {} : { payload: ours.payload }),
    ...(ours.usage ? { usage: ours.usage } : {}),
    ...(ours.runId ? { runId: ours.runId } : {}),
  };
  if (!same(merged, ours)) return merged;
  const kept = {
    ...ours,
    calls: merged.calls,
    status: merged.status,
    payload: merged.payload,
    usage: merged.usage,
    send: stored.role === 'user' ? ('sent' as const) : undefined,
  };
  return alike(kept, ours) ? ours : kept;
}

/* Identity is what keeps finished messages from being drawn again. */
function alike(a: Message, b: Message): boolean {
  return a.status === b.status && a.send === b.send && JSON.stringify([a.calls, a.payload, a.usage]) === JSON.stringify([b.calls, b.payload, b.usage]);
}

/* The same words in the same places: keep our part ids, so that nothing on the screen is built anew. */
function same(a: Message, b: Message): boolean {
  if (a.parts.length !== b.parts.length) return false;
  return a.parts.every((p, i) => {
    const q = b.parts[i]!;
    if (p.type === 'call') return q.type === 'call' && p.id === q.id;
    if (p.type === 'text' || p.type === 'reasoning') return q.type === p.type && q.text === p.text;
    return q.type === 'file' && p.url === q.url;
  });
}

function mergeCall(stored: Call, ours: Call | undefined): Call {
  if (!ours) return stored;
  const approval = stored.approval && ours.approval ? { ...ours.approval, ...stored.approval } : (stored.approval ?? ours.approval);
  return {
    ...stored,
    ...(ours.intent ? { intent: ours.intent } : {}),
    ...(ours.index !== undefined ? { index: ours.index } : {}),
    ...(ours.ms !== undefined ? { ms: ours.ms } : {}),
    ...(ours.startedAt !== undefined ? { startedAt: ours.startedAt } : {}),
    ...(ours.claim ? { claim: ours.claim } : {}),
    ...(approval ? { approval } : {}),
    updates: ours.updates,
  };
}

function withRecords(m: Message, records: (PendingApproval & Partial<ApprovalRecord>)[]): Message {
  const calls = { ...m.calls };
  // What stands in the place of another comes after that: by it, it is found.
  for (const r of [...records.filter((x) => !x.replaces), ...records.filter((x) => x.replaces)]) {
    const call = callOfRecord(calls, r);
    if (call) calls[call.id] = withRecord(call, r);
  }
  return JSON.stringify(calls) === JSON.stringify(m.calls) ? m : { ...m, calls };
}
