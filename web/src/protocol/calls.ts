/* calls.ts -- how one tool call of a message changes.
 *
 * Helpers of the reducer: find or make a call, put its card where the call
 * happened, move it along its life. A call that already has an outcome is never
 * moved back by a late or repeated event (replays announce calls again).
 */
import { isObject, type ApprovalRecord, type Ballot, type Replaces } from './events';
import type { Approval, ApprovalStatus, Call, CallStatus, Message } from './state';
import { self, settled } from './state';

/**
 * Changes one call; the card appears at the end of the message if it has none yet.
 * (A replay takes the parts away and keeps the calls: the cards come again in
 * their places, with what only this client knew of them.)
 */
export function withCall(m: Message, id: string, name: string, change: (c: Call) => Call): Message {
  const known = m.calls[id];
  const call = change(known ?? { id, name, status: 'preparing', updates: 0 });
  const placed = m.parts.some((p) => p.type === 'call' && p.id === id);
  if (call === known && placed) return m;
  const calls = call === known ? m.calls : { ...m.calls, [id]: call };
  return placed ? { ...m, calls } : { ...m, calls, parts: [...m.parts, { type: 'call', id }] };
}

/** Changes a call only if it exists. */
export function onCall(m: Message, id: string, change: (c: Call) => Call): Message {
  return m.calls[id] ? withCall(m, id, '', change) : m;
}

export function started(c: Call, at?: number): Call {
  if (settled.has(c.status)) return c;
  const approval = c.approval && c.approval.status === 'pending' ? decided(c.approval, 'approved', at) : c.approval;
  return { ...c, status: 'running', startedAt: c.startedAt ?? at, ...(approval ? { approval } : {}) };
}

export function finished(c: Call, status: CallStatus, at?: number): Call {
  const ms = c.ms ?? (c.startedAt && at ? Math.max(0, at - c.startedAt) : undefined);
  const approval = c.approval?.status === 'pending' ? decided(c.approval, impliedDecision(status), at) : c.approval;
  return {
    ...c,
    status,
    endedAt: c.endedAt ?? at,
    progress: undefined,
    ...(ms !== undefined ? { ms } : {}),
    ...(approval ? { approval } : {}),
  };
}

/* A gate whose call has an outcome is not open any more, whoever closed it. */
function impliedDecision(status: CallStatus): ApprovalStatus {
  if (status === 'denied' || status === 'expired' || status === 'cancelled') return status;
  return 'approved';
}

function decided(a: Approval, status: ApprovalStatus, at?: number): Approval {
  const { sending, error: _, ...rest } = a;
  const mine = sending && (status === 'approved' || status === 'denied');
  return {
    ...rest,
    status,
    ...(mine && !a.decidedBy ? { decidedBy: self } : {}),
    ...(at && !a.decidedAt ? { decidedAt: new Date(at).toISOString() } : {}),
  };
}

/* What the server writes as a call's error when a person or the clock decided. */
export function statusOfError(text: string): CallStatus {
  if (/^user denied/i.test(text)) return 'denied';
  if (/timed out$|^approval (request )?(timed out|expired)/i.test(text)) return 'expired';
  if (/may or may not have|(outcome|effect) (is )?(not known|unknown)|unknown outcome|^the server went away while this/i.test(text)) return 'unknown';
  if (/^not decided|superseded|^(it was )?cancelled|^stopped/i.test(text)) return 'cancelled';
  return 'failed';
}

const recordStatus: Record<string, ApprovalStatus> = {
  pending: 'pending',
  approved: 'approved',
  running: 'approved',
  done: 'approved',
  failed: 'approved',
  unknown: 'approved',
  denied: 'denied',
  expired: 'expired',
  cancelled: 'cancelled',
  superseded: 'cancelled',
  replaced: 'replaced',
};

/** Finds the call that a record speaks of: its own; or, where somebody's edit ran at once, the one that it stands for. */
export function callOfRecord(calls: Record<string, Call>, r: Partial<ApprovalRecord> & { id: string }): Call | undefined {
  const own = (r.tool_use_id && calls[r.tool_use_id]) || Object.values(calls).find((c) => c.approval?.id === r.id);
  // Nobody was asked about it: it has no sentence.
  return own || !r.replaces || r.ask ? own : Object.values(calls).find((c) => c.approval?.id === r.replaces!.id);
}

/* What came to be known of a call of unknown outcome. */
const found = ['check', 'late_at', 'late_outcome', 'late_text'] as const;

const editStatus: Record<string, CallStatus> = { approved: 'running', running: 'running', done: 'done', failed: 'failed', unknown: 'unknown' };

function withEdit(c: Call, r: Partial<ApprovalRecord> & { id: string }, of: Replaces): Call {
  const edited = { id: r.id, by: of.by, input: r.input, was: of.input };
  const approval: Approval = {
    ...c.approval!,
    status: 'approved',
    edited,
    ...only(found, r),
    ...(r.settled_by ? { settledBy: r.settled_by } : {}),
  };
  delete approval.sending;
  delete approval.error;
  return { ...c, approval, status: editStatus[r.status ?? ''] ?? c.status };
}

/** Puts what `/v1/approvals` says onto the call it guards. The server's record wins. */
export function withRecord(c: Call, r: Partial<ApprovalRecord> & { id: string }): Call {
  const before = c.approval;
  if (r.replaces && before?.id === r.replaces.id) return withEdit(c, r, r.replaces);
  if (r.status === 'replaced' && before?.edited) return c; // what became of it is known
  const status = r.status ? (recordStatus[r.status] ?? before?.status ?? 'pending') : (before?.status ?? 'pending');
  const approval: Approval = {
    ...(before ?? {}),
    id: r.id,
    status,
    ...(r.ask ? { ask: r.ask } : {}),
    ...(r.risk ? { risk: r.risk } : {}),
    ...(r.expires_at ? { expiresAt: r.expires_at } : {}),
    ...(isObject(r.schema) ? { form: r.schema } : {}),
    ...(r.decided_at ? { decidedAt: r.decided_at } : {}),
    ...(r.decided_via ? { decidedVia: r.decided_via } : {}),
    ...(r.reason ? { reason: r.reason } : {}),
    ...(r.decided_by && before?.decidedBy !== self ? { decidedBy: r.decided_by } : {}),
    ...(r.settled_by ? { settledBy: r.settled_by } : {}),
    ...(r.requested_at ? { known: true } : {}),
    ...(r.replaces ? { instead: { by: r.replaces.by, was: r.replaces.input } } : {}),
    ...only(ballot, r),
  };
  if (status !== 'pending') {
    delete approval.sending;
    delete approval.error;
  }
  return { ...c, approval, status: statusFromRecord(c, r.status) };
}

const ballot = ['who', 'votes', 'lapsed', 'needed', 'may', 'voted', 'grant', 'granted', 'edit', ...found] as const;

function only(keys: readonly (keyof Ballot)[], r: Ballot): Ballot {
  return Object.fromEntries(keys.filter((k) => r[k] !== undefined && r[k] !== null).map((k) => [k, r[k]]));
}

function statusFromRecord(c: Call, status: string | undefined): CallStatus {
  switch (status) {
    case 'pending':
      return settled.has(c.status) ? c.status : 'asking';
    case 'denied':
    case 'expired':
    case 'cancelled':
    case 'replaced':
    case 'unknown':
      return status;
    case 'superseded':
      return 'cancelled';
    case 'done':
      return c.status === 'unknown' ? 'done' : c.status;
    case 'failed':
      return c.status === 'unknown' ? 'failed' : c.status;
    case 'approved':
    case 'running':
      return c.status === 'asking' ? (c.where === 'client' ? 'queued' : 'running') : c.status;
    default:
      return c.status;
  }
}
