import { expect, test } from 'vitest';
import type { ApprovalRecord } from '../protocol';
import { byUrgency } from './urgency';

const now = Date.parse('2026-01-02T12:00:00Z');
const record = (id: string, more: Partial<ApprovalRecord>): ApprovalRecord => ({ id, thread: 't', tool: 'pay', tool_use_id: id, input: {}, status: 'pending', ...more });

test('what ends soon comes first, then what nobody knows, then what is risky; the oldest of each first', () => {
  const all = [
    record('new-low', { requested_at: '2026-01-02T11:59:00Z', risk: 'low', expires_at: '2026-01-03T12:00:00Z' }),
    record('old-low', { requested_at: '2026-01-02T09:00:00Z' }),
    record('new-high', { requested_at: '2026-01-02T11:00:00Z', risk: 'high' }),
    record('old-high', { requested_at: '2026-01-02T10:00:00Z', risk: 'high' }),
    record('lost', { status: 'unknown', risk: 'high' }),
    record('later', { requested_at: '2026-01-01T10:00:00Z', expires_at: '2026-01-02T12:50:00Z' }),
    record('sooner', { requested_at: '2026-01-02T10:00:00Z', expires_at: '2026-01-02T12:10:00Z' }),
  ];
  expect(byUrgency(all, now).map(([u, list]) => [u, list.map((a) => a.id)])).toEqual([
    ['soon', ['sooner', 'later']],
    ['unknown', ['lost']],
    ['high', ['old-high', 'new-high']],
    ['rest', ['old-low', 'new-low']],
  ]);
  expect(byUrgency([], now)).toEqual([]);
});

test('what one answer asked for in one moment stands in the order in which it was asked', () => {
  const requested_at = '2026-01-02T11:59:00Z';
  const newestFirst = ['third', 'second', 'first'].map((id) => record(id, { requested_at }));
  expect(byUrgency(newestFirst, now)).toEqual([['rest', [...newestFirst].reverse()]]);
});
