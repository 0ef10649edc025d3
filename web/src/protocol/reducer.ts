/* reducer.ts -- (state, event) -> state, for every door.
 *
 * Pure: no clock, no randomness, no I/O. The same events in the same order give
 * the same state, whatever transport brought them and however text was cut into
 * deltas. Events that make no sense in the present state change nothing.
 *
 *   user_message ─▶ open message ─(turn_end | complete)─▶ done
 *                        │   ▲
 *                  gate: parked ┘  (the same message goes on after the answer)
 */
import { callOfRecord, finished, onCall, started, statusOfError, withCall, withRecord } from './calls';
import type { ResponsePayload, ThreadEvent, ToolHistoryEntry } from './events';
import { parseMarkers, scanMarkers, type Segment } from './marker';
import { callsOf, newMessage, settled, withAnswer } from './state';
import type { Call, CallStatus, Message, Part, Payload, ThreadState } from './state';
import { t } from '../words';

export function reduce(s: ThreadState, e: ThreadEvent): ThreadState {
  switch (e.type) {
    case 'user_message':
      return addUser(caughtUp(s), e);
    case 'send_state':
      return sendState(s, e);
    case 'drop_message':
      return dropMessage(s, e.id);
    case 'cut_from':
      return cutFrom(caughtUp(s), e.id, e.as);
    case 'go_on':
      return goOn(caughtUp(s), e.after);
    case 'message_start':
      return startMessage(s, e.message_id, e.at, e.replay);
    case 'status':
      return { ...s, statusText: e.message, waitingSince: s.waitingSince ?? e.at ?? null };
    case 'stopping':
      return { ...s, stopping: true };
    case 'turn_end':
      return endTurn(caughtUp(s), e.at);
    case 'complete':
      return complete(caughtUp(s), e.payload, e.at);
    case 'error':
      return close(caughtUp(s), 'failed', e.at, { message: e.message, code: e.code, retryable: e.retryable ?? true });
    case 'cancelled':
      return close(caughtUp(s), 'stopped', e.at);
    case 'decision':
    case 'approval':
      return onApproval(s, e);
    case 'restarting': // the transport comes back by itself
    case 'unknown':
      return s;
    default:
      return intoOpen(s, e);
  }
}

export function reduceAll(s: ThreadState, events: readonly ThreadEvent[]): ThreadState {
  return events.reduce(reduce, s);
}

type Of<T extends ThreadEvent['type']> = Extract<ThreadEvent, { type: T }>;
type OpenEvent = Exclude<
  ThreadEvent,
  Of<
    | 'user_message'
    | 'send_state'
    | 'drop_message'
    | 'cut_from'
    | 'go_on'
    | 'message_start'
    | 'status'
    | 'stopping'
    | 'turn_end'
    | 'complete'
    | 'error'
    | 'cancelled'
    | 'decision'
    | 'approval'
    | 'restarting'
    | 'unknown'
  >
>;

/* ---- the open message ---------------------------------------------------- */

function intoOpen(s: ThreadState, e: OpenEvent): ThreadState {
  if (s.again) return intoReplay(s, s.again, e);
  const opened = s.open ? s : startMessage(s, undefined, e.at);
  const before = opened.open!;
  const after = applyToMessage(before, e);
  if (after === before) return opened;
  const open: Message = wakes(e) && after.status === 'parked' ? { ...after, status: 'open' } : after;
  return {
    ...opened,
    open,
    statusText: statusAfter(opened.statusText, e),
    waitingSince: speaks(e) ? null : (opened.waitingSince ?? e.at ?? null),
  };
}

/* What was said stays on the screen while it is said again. */
function intoReplay(s: ThreadState, before: Message, e: OpenEvent): ThreadState {
  const again = applyToMessage(before, e);
  const told = { ...s, again };
  return length(again) >= length(s.open!) && again.parts.length >= s.open!.parts.length ? caughtUp(told) : told;
}

function length(m: Message): number {
  return m.parts.reduce((n, p) => n + (p.type === 'text' ? p.text.length : 0), 0);
}

function caughtUp(s: ThreadState): ThreadState {
  return s.again ? { ...s, open: s.again, again: null } : s;
}

/* Events that mean the run goes on after a gate. */
function wakes(e: OpenEvent): boolean {
  return e.type !== 'claim' && e.type !== 'tool_confirmation' && e.type !== 'intent_confirmation';
}

function speaks(e: OpenEvent): boolean {
  return e.type === 'text_delta' || e.type === 'part_text' || e.type === 'reasoning_delta' || e.type === 'part_reasoning';
}

function statusAfter(now: string | null, e: OpenEvent): string | null {
  switch (e.type) {
    case 'tool_start':
      return t.runningTool(e.tool);
    case 'text_delta':
    case 'part_text':
    case 'tool_complete':
    case 'tool_output':
    case 'tool_error':
    case 'tool_denied':
      return null;
    default:
      return now;
  }
}

function applyToMessage(m: Message, e: OpenEvent): Message {
  switch (e.type) {
    case 'text_delta':
      return typedText(m, e.text);
    case 'part_text':
      return addText(m, e.part, e.text);
    case 'reasoning_delta':
      return addReasoning(m, 'r', e.text, false, e.at);
    case 'part_reasoning':
      return addReasoning(m, e.part, e.text, e.done ?? false, e.at);
    case 'part_file':
      return { ...m, parts: [...m.parts, { type: 'file', url: e.url, mediaType: e.media_type, filename: e.filename }] };
    case 'intent_confirmation':
      return intent(m, e);
    case 'tool_input':
      return withCall(m, e.tool_use_id, e.tool, (c) => (settled.has(c.status) ? c : { ...c, inputText: (c.inputText ?? '') + e.text }));
    case 'tool_announced':
      return withCall(m, e.tool_use_id, e.tool, (c) =>
        settled.has(c.status) ? c : { ...c, input: e.input, inputText: undefined, status: c.approval ? 'queued' : 'preparing' },
      );
    case 'tool_confirmation':
      return ask(m, e);
    case 'tool_start':
      return withCall(m, e.tool_use_id, e.tool, (c) => begin(c, e));
    case 'tool_progress':
      return progress(m, e);
    case 'tool_complete':
      return outcomeTold(m, e);
    case 'tool_output':
      return onCall(m, e.tool_use_id, (c) => (late(c) ? c : { ...finished(c, 'done', e.at), output: e.output }));
    case 'tool_error':
      return onCall(m, e.tool_use_id, (c) => (late(c) ? c : { ...finished(c, statusOfError(e.message), e.at), error: e.message }));
    case 'tool_denied':
      return onCall(m, e.tool_use_id, (c) => finished(c, 'denied', e.at));
    case 'payload':
      return { ...m, payload: mergePayload(m.payload, e.payload) };
    case 'usage':
      return { ...m, usage: e.usage };
    case 'summarised':
      return { ...m, summarised: true };
    case 'claim':
      return onCall(m, e.tool_use_id, (c) => ({ ...c, claim: e.mine ? 'mine' : 'other', startedAt: c.startedAt ?? e.at }));
    case 'step_reset':
      return rebuild({ ...m, raw: e.message, held: '' }, e.message);
  }
}

/* A replay tells an outcome again; the first one stands. What was replaced has none of its own. */
function late(c: Call): boolean {
  return c.status === 'done' || c.status === 'denied' || c.status === 'replaced';
}

function begin(c: Call, e: Of<'tool_start'>): Call {
  if (e.where === 'client')
    return settled.has(c.status) ? c : { ...started(c, undefined), input: e.input, where: 'client', status: 'offered' };
  return settled.has(c.status) ? c : started({ ...c, input: e.input ?? c.input, inputText: undefined }, e.at);
}

function intent(m: Message, e: Of<'intent_confirmation'>): Message {
  const name = e.tool ?? e.toolName ?? '';
  // Without an id the line belongs to the call that comes next; it gets a place of its own until then.
  if (!e.tool_use_id) return m;
  return withCall(m, e.tool_use_id, name, (c) => (settled.has(c.status) ? c : { ...c, intent: e.message }));
}

function ask(m: Message, e: Of<'tool_confirmation'>): Message {
  return withCall(m, e.tool_use_id, e.tool, (c) => {
    // A tool's own question comes after the yes to its call; told again, it is known.
    const another = e.schema !== undefined && c.approval?.id !== e.confirmation_id;
    if (settled.has(c.status) || (c.approval && c.approval.status !== 'pending' && !another)) return c;
    const asked: Call = { ...c, input: e.input ?? c.input, inputText: undefined, ...(another ? { approval: undefined } : {}) };
    return withRecord(asked, { id: e.confirmation_id, status: 'pending', ask: e.ask, risk: e.risk, expires_at: e.expires_at, schema: e.schema });
  });
}

function progress(m: Message, e: Of<'tool_progress'>): Message {
  const id = e.tool_use_id ?? lastRunning(m, e.tool);
  if (!id) return m;
  return onCall(m, id, (c) =>
    settled.has(c.status)
      ? c
      : {
          ...started(c, e.at),
          updates: c.updates + 1,
          progress: {
            value: isShare(e.progress) ? Math.min(1, Math.max(0, Number(e.progress))) : null,
            ...(e.stage ? { stage: e.stage } : {}),
            ...(e.message ? { message: e.message } : {}),
            ...(e.data != null ? { data: e.data } : {}),
          },
        },
  );
}

/* A number, however it is written. */
function isShare(progress: unknown): boolean {
  return progress !== null && progress !== undefined && !Number.isNaN(Number(progress));
}

function lastRunning(m: Message, name: string): string | undefined {
  return m.parts
    .map((p) => (p.type === 'call' ? m.calls[p.id] : undefined))
    .filter((c): c is Call => !!c && c.name === name && !settled.has(c.status))
    .at(-1)?.id;
}

function outcomeTold(m: Message, e: Of<'tool_complete'>): Message {
  const id = e.tool_use_id ?? lastRunning(m, e.tool) ?? `#${e.index}`;
  return withCall(m, id, e.tool, (c) => {
    if (settled.has(c.status)) return { ...c, index: e.index };
    // Without a named outcome, "not ok" at a gate is a "no" of some kind; the approval's record says which.
    const guess = e.ok === false ? (c.status === 'asking' ? 'denied' : 'failed') : 'done';
    const status = settled.has(e.outcome as CallStatus) ? (e.outcome as CallStatus) : guess;
    return { ...finished(c, status, e.at), index: e.index };
  });
}

/* ---- text ---------------------------------------------------------------- */

function addText(m: Message, part: string, text: string): Message {
  if (!text) return m;
  const last = m.parts.at(-1);
  if (last?.type === 'text' && last.id === part) {
    return { ...m, parts: [...m.parts.slice(0, -1), { ...last, text: last.text + text }] };
  }
  return { ...m, parts: [...m.parts, { type: 'text', id: part, text }] };
}

function typedText(m: Message, delta: string): Message {
  const { segments, held } = scanMarkers(m.held, delta);
  return segments.reduce(addSegment, { ...m, raw: m.raw + delta, held });
}

/* After a card the text goes on in a new part; its name is its place. */
function addSegment(m: Message, s: Segment): Message {
  if (s.type === 'marker') return placeMarker(m, s.index);
  const last = m.parts.at(-1);
  if (last?.type === 'text') return addText(m, last.id, s.text);
  // The blank lines that set off a marker belong to neither side.
  return addText(m, `t${m.parts.length}`, s.text.trimStart());
}

/* The card usually stands already, since the call started before its outcome. */
function placeMarker(m: Message, index: number): Message {
  const known = Object.values(m.calls).find((c) => c.index === index);
  const id = known?.id ?? `#${index}`;
  if (m.parts.some((p) => p.type === 'call' && p.id === id)) return m;
  const calls = known ? m.calls : { ...m.calls, [id]: { id, name: '', status: 'done' as const, updates: 0, index } };
  return { ...m, calls, parts: [...m.parts, { type: 'call', id }] };
}

function addReasoning(m: Message, part: string, text: string, done: boolean, at?: number): Message {
  const last = m.parts.at(-1);
  if (last?.type === 'reasoning' && last.id === part) {
    const next: Part = { ...last, text: last.text + text, done, ...(done ? { endedAt: at } : {}) };
    return { ...m, parts: [...m.parts.slice(0, -1), next] };
  }
  if (done || !text) return m;
  return { ...m, parts: [...m.parts, { type: 'reasoning', id: part, text, done, startedAt: at }] };
}

/** The parts as `text` with its markers tells them; calls that are not told yet keep their cards at the end. */
function rebuild(m: Message, text: string): Message {
  const kept = m.parts.filter((p) => p.type === 'file');
  const bare: Message = { ...m, parts: kept };
  const told = parseMarkers(text).reduce(addSegment, bare);
  const placed = new Set(told.parts.map((p) => (p.type === 'call' ? p.id : '')));
  const untold = m.parts.filter((p) => p.type === 'call' && !placed.has(p.id));
  return { ...told, parts: [...told.parts, ...untold] };
}

/* ---- beginnings and ends -------------------------------------------------- */

function addUser(s: ThreadState, e: Of<'user_message'>): ThreadState {
  if (s.messages.some((m) => m.id === e.id)) return onMessage(s, e.id, (m) => ({ ...m, send: e.send, sendError: undefined }));
  const base = s.open ? close(s, s.open.status === 'open' ? 'stopped' : 'done', e.at) : s;
  // In the order in which the server keeps them.
  const parts: Part[] = [...(e.files ?? []), ...(e.text ? [{ type: 'text' as const, id: 't', text: e.text }] : [])];
  const message: Message = { ...newMessage(e.id, 'user', e.at), parts, send: e.send };
  return { ...base, messages: [...base.messages, message], statusText: null, waitingSince: e.at ?? null, stopping: false };
}

/*
 * Waiting for an answer begins when the message leaves, and what waited before it is set aside;
 * one that cannot leave is not being answered.
 */
function sendState(before: ThreadState, e: Of<'send_state'>): ThreadState {
  const s = e.send === 'sending' && before.open?.status === 'parked' ? close(before, 'done', e.at) : before;
  const next = onMessage(s, e.id, (m) => ({ ...m, send: e.send, sendError: e.error, maybe: e.maybe }));
  if (s.open || e.send === 'sent') return next;
  if (e.send === 'sending') return { ...next, waitingSince: s.waitingSince ?? e.at ?? null };
  return { ...next, statusText: null, waitingSince: null, stopping: false };
}

/*
 * The same id again is the next part of the message: it goes on after a gate or
 * after a client tool's result. Whether it is told from its beginning instead
 * (the connection was lost, or the server repeats a step after a crash) only
 * the transport knows, which has the cursors.
 */
function startMessage(s: ThreadState, id: string | undefined, at?: number, replay = false): ThreadState {
  const { open } = s;
  if (open && (!id || open.id === id)) {
    const goesOn: Message = open.status === 'open' ? open : { ...open, status: 'open' };
    if (!replay) return { ...s, open: goesOn };
    return { ...s, open: goesOn, again: { ...goesOn, parts: [], raw: '', held: '', payload: undefined } };
  }
  const base = open ? close(caughtUp(s), open.status === 'parked' ? 'done' : 'stopped', at) : s;
  const known = id ? base.messages.find((m) => m.id === id) : undefined;
  const serial = base.serial + 1;
  const message = known ? { ...known, status: 'open' as const, error: undefined } : newMessage(id ?? `local-${serial}`, 'assistant', at);
  const messages = known ? base.messages.filter((m) => m !== known) : base.messages;
  return { ...base, messages, open: message, serial, waitingSince: base.waitingSince ?? at ?? null };
}

function endTurn(s: ThreadState, at?: number): ThreadState {
  if (!s.open) return { ...s, statusText: null, waitingSince: null, stopping: false };
  const open = flush(offerClientCalls(s.open));
  const waits = callsOf(open).some((c) => c.status === 'asking' || c.status === 'offered');
  if (!waits) return close({ ...s, open }, 'done', at);
  return { ...s, open: { ...open, status: 'parked' }, statusText: null, waitingSince: null, stopping: false };
}

/* Announced, not gated, not run by the server, and the stream is over: it is for us. */
function offerClientCalls(m: Message): Message {
  return callsOf(m)
    .filter((c) => c.status === 'queued' || (c.status === 'preparing' && c.input !== undefined))
    .reduce((acc, c) => onCall(acc, c.id, (x) => ({ ...x, status: 'offered', where: 'client' })), m);
}

/* A tail that never became a marker is text after all. */
function flush(m: Message): Message {
  if (!m.held) return m;
  return addSegment({ ...m, held: '' }, { type: 'text', text: m.held });
}

function complete(s: ThreadState, payload: ResponsePayload, at?: number): ThreadState {
  const opened = s.open ? s : startMessage(s, undefined, at);
  let open = flush(opened.open!);
  // The payload is the authority: a gap or a lost delta shows as a difference.
  if (open.raw !== payload.message) open = rebuild({ ...open, raw: payload.message }, payload.message);
  open = (payload.tool_history ?? []).reduce((m, entry, n) => fromHistory(m, entry, n, at), open);
  open = {
    ...open,
    payload: mergePayload(open.payload, payload),
    ...(payload.usage ? { usage: payload.usage } : {}),
    ...(payload.run_id ? { runId: payload.run_id } : {}),
  };
  if (payload.awaiting?.length) {
    return { ...opened, open: { ...open, status: 'parked' }, statusText: null, waitingSince: null, stopping: false };
  }
  return close({ ...opened, open }, 'done', at);
}

function fromHistory(m: Message, entry: ToolHistoryEntry, index: number, at?: number): Message {
  const placeholder = `#${index}`;
  const id = entry.tool_use_id ?? Object.values(m.calls).find((c) => c.index === index)?.id ?? placeholder;
  const moved = id !== placeholder && m.calls[placeholder] ? rename(m, placeholder, id) : m;
  return withCall(moved, id, entry.tool_name, (c) => {
    const ok = entry.ok !== false;
    const text = ok ? '' : errorText(entry.output);
    const status = ok ? 'done' : statusOfError(text);
    const base = settled.has(c.status) && (ok || status === 'failed') ? c : finished(c, status, at);
    return {
      ...base,
      name: entry.tool_name,
      index,
      input: entry.input ?? c.input,
      ...(ok ? { output: entry.value ?? entry.output } : { error: text }),
      ...(entry.ms !== undefined ? { ms: entry.ms } : {}),
    };
  });
}

export function errorText(output: unknown): string {
  if (typeof output === 'string') return output;
  if (output && typeof output === 'object' && 'error' in output && typeof output.error === 'string') return output.error;
  return JSON.stringify(output ?? null);
}

function rename(m: Message, from: string, to: string): Message {
  const { [from]: call, ...rest } = m.calls;
  const calls = call && !rest[to] ? { ...rest, [to]: { ...call, id: to } } : rest;
  const seen = m.parts.some((p) => p.type === 'call' && p.id === to);
  const parts = m.parts.flatMap((p): Part[] => (p.type !== 'call' || p.id !== from ? [p] : seen ? [] : [{ type: 'call', id: to }]));
  return { ...m, calls, parts };
}

function mergePayload(before: Payload | undefined, p: Partial<ResponsePayload>): Payload {
  return {
    suggestedValues: p.suggested_values ?? before?.suggestedValues ?? [],
    // The approval card asks this question already.
    suggestedActions: (p.suggested_actions ?? before?.suggestedActions ?? []).filter((a) => a.action !== 'approve' && a.action !== 'deny'),
    ...(p.custom_payload ? { custom: p.custom_payload } : before?.custom ? { custom: before.custom } : {}),
    ...(p.finish_reason ? { cut: p.finish_reason } : {}),
  };
}

function close(s: ThreadState, status: Message['status'], at?: number, error?: Message['error']): ThreadState {
  const base = { ...s, statusText: null, waitingSince: null, stopping: false };
  const opened = error && !s.open ? startMessage(base, undefined, at).open : s.open;
  if (!opened) return base;
  const cut = callsOf(opened)
    .filter((c) => !settled.has(c.status))
    .reduce((m, c) => onCall(m, c.id, (x) => finished(x, 'cancelled', at)), flush(opened));
  const parts = cut.parts.map((p) => (p.type === 'reasoning' && !p.done ? { ...p, done: true, endedAt: at } : p));
  const message: Message = { ...cut, parts, status, ...(error ? { error } : {}) };
  const empty = parts.length === 0 && !error && status === 'done' && !message.payload;
  return { ...base, open: null, messages: empty ? s.messages : withAnswer(s.messages, message) };
}

/* What is cut off stays reachable, under the question it began with. */
function cutFrom(s: ThreadState, id: string, as?: string): ThreadState {
  const all = s.open ? [...s.messages, s.open] : s.messages;
  const at = all.findIndex((m) => m.id === id);
  if (at < 0) return s;
  const rest = { ...s, messages: all.slice(0, at), open: null };
  const question = all.slice(0, at + 1).findLast((m) => m.role === 'user');
  if (!question) return rest;
  const { [question.id]: earlier = [], ...others } = s.versions;
  return { ...rest, versions: { ...others, [as ?? question.id]: [...earlier, all.slice(all.indexOf(question))] } };
}

function dropMessage(s: ThreadState, id: string): ThreadState {
  const { [id]: tails = [], ...others } = s.versions;
  const tail = tails.at(-1) ?? [];
  const earlier = tails.slice(0, -1);
  const versions = tail[0] && earlier.length ? { ...others, [tail[0].id]: earlier } : others;
  const messages = s.messages.flatMap((m) => (m.id === id ? tail : [m]));
  return { ...s, messages, versions, statusText: null, waitingSince: null };
}

/* The version that ends with `after` takes the place of what is there, which becomes a version of it. One that lies within another comes after that. */
function goOn(s: ThreadState, after: string): ThreadState {
  return restore(s, (tail) => tail.at(-1)?.id === after);
}

function restore(s: ThreadState, wanted: (tail: Message[]) => boolean): ThreadState {
  const of = Object.keys(s.versions).find((id) => s.versions[id]!.some(wanted));
  if (of === undefined) return s;
  const here = (m: Message) => m.id === of;
  const outer = s.messages.some(here) ? s : restore(s, (tail) => tail.some(here) && tail[0]!.id !== of);
  return outer.messages.some(here) ? swap(outer, of, wanted) : s;
}

function swap(s: ThreadState, of: string, wanted: (tail: Message[]) => boolean): ThreadState {
  const all = s.open ? [...s.messages, s.open] : s.messages;
  const at = all.findIndex((m) => m.id === of);
  const { [of]: tails = [], ...others } = s.versions;
  const tail = tails.find(wanted)!;
  const versions = { ...others, [tail[0]!.id]: [...tails.filter((x) => x !== tail), all.slice(at)] };
  return { ...s, messages: [...all.slice(0, at), ...tail], versions, open: null };
}

/* ---- approvals ------------------------------------------------------------ */

function onApproval(s: ThreadState, e: Of<'decision'> | Of<'approval'>): ThreadState {
  const record = e.type === 'decision' ? { id: e.id } : e.record;
  const touch = (m: Message): Message => {
    const call = callOfRecord(m.calls, record);
    return call ? onCall(m, call.id, (c) => decide(c, e)) : m;
  };
  const open = s.open ? touch(s.open) : null;
  if (open !== s.open) return { ...s, open, again: s.again && touch(s.again) };
  const messages = s.messages.map(touch);
  return messages.some((m, i) => m !== s.messages[i]) ? { ...s, messages } : s;
}

function decide(c: Call, e: Of<'decision'> | Of<'approval'>): Call {
  if (e.type === 'approval') return withRecord(c, e.record);
  if (!c.approval || c.approval.status !== 'pending') return c;
  const { sending: _s, error: _e, ...rest } = c.approval;
  if (e.state === 'failed') return { ...c, approval: { ...rest, error: e.error } };
  return { ...c, approval: { ...rest, sending: e.confirmed ? 'approve' : 'deny', ...(e.state === 'unsure' ? { error: e.error } : {}) } };
}

function onMessage(s: ThreadState, id: string, change: (m: Message) => Message): ThreadState {
  return { ...s, messages: s.messages.map((m) => (m.id === id ? change(m) : m)) };
}
