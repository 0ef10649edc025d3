/* urgency.ts -- in which order things wait: what ends soon first, then what is risky, then the rest; the oldest of each first. */
import type { ApprovalRecord } from '../protocol';

export type Urgency = 'soon' | 'unknown' | 'high' | 'rest';

export const urgencies: readonly Urgency[] = ['soon', 'unknown', 'high', 'rest'];

const soon_ms = 3_600_000;

export function urgencyOf(a: ApprovalRecord, now: number): Urgency {
  if (a.status === 'unknown') return 'unknown';
  if (a.expires_at && Date.parse(a.expires_at) - now < soon_ms) return 'soon';
  return a.risk && a.risk !== 'low' ? 'high' : 'rest';
}

/** Each urgency that there is, with its requests in the order in which they are to be looked at. `all` is as the server lists
 * it, newest first: what was asked in one moment, by one answer, is so in the order in which it was asked. */
export function byUrgency(all: readonly ApprovalRecord[], now: number): [Urgency, ApprovalRecord[]][] {
  return urgencies
    .map((u): [Urgency, ApprovalRecord[]] => [u, all.filter((a) => urgencyOf(a, now) === u).reverse().sort((a, b) => placeOf(a, u) - placeOf(b, u))])
    .filter(([, list]) => list.length > 0);
}

function placeOf(a: ApprovalRecord, u: Urgency): number {
  return Date.parse((u === 'soon' ? a.expires_at : a.requested_at) ?? '') || 0;
}
