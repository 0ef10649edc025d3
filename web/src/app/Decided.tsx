/* Decided.tsx -- what became of requests: decided by whom, when, by which way, and what came of it. Newest first. */
import { useCallback, useEffect, useState } from 'react';
import { Arguments, Revealed, Sentence } from '../chat/Arguments';
import { called, useChat } from '../chat/context';
import { ChangedArguments } from '../chat/EditFields';
import { Icon, type IconName } from '../chat/icons';
import { seen } from '../chat/reveal';
import { fullTime, humanName, wayOf } from '../chat/words';
import type { ApprovalRecord } from '../protocol';
import { t } from '../words';
import { api, useLists } from './store';

const pageSize = 50;
const runs_ms = 2000;

export function Decided() {
  const { me } = useLists();
  const [list, setList] = useState<ApprovalRecord[] | null>(null);
  const [next, setNext] = useState<string | null>(null);
  const [failed, setFailed] = useState(false);
  const more = useCallback(async (before: string | null) => {
    setFailed(false);
    try {
      const page = await decidedAfter(before);
      setList((have) => [...(before ? (have ?? []) : []), ...page.approvals]);
      setNext(page.next);
    } catch {
      setFailed(true);
    }
  }, []);
  useEffect(() => void more(null), [more, me]);
  // What still runs is looked at again, as long as it stands on the first page.
  useEffect(() => {
    if (!list?.some((r) => r.status === 'approved' || r.status === 'running') || list.length > pageSize) return;
    const timer = setTimeout(() => void more(null), runs_ms);
    return () => clearTimeout(timer);
  }, [list, more]);
  return (
    <div className="inbox-list">
      {failed && (
        <p className="ask-error" role="alert">
          {t.decidedFailed}{' '}
          <button type="button" className="link" onClick={() => void more(list ? next : null)}>
            {t.tryAgain}
          </button>
        </p>
      )}
      {!list && !failed && <p className="inbox-none">{t.looking}</p>}
      {list?.length === 0 && <p className="inbox-none">{t.nothingDecidedYet}</p>}
      {list && list.length > 0 && (
        <ul>
          {list.map((r) => (
            <DecidedLine key={r.id} record={r} />
          ))}
        </ul>
      )}
      {next && (
        <button type="button" className="link" onClick={() => void more(next)}>
          {t.decidedEarlier}
        </button>
      )}
    </div>
  );
}

/* The list has what still waits in it, too: pages that hold nothing else are passed over. */
async function decidedAfter(before: string | null): Promise<{ approvals: ApprovalRecord[]; next: string | null }> {
  for (let from = before, pages = 0; ; pages++) {
    const page = await api.approvals({ limit: String(pages ? 500 : pageSize), ...(from ? { before: from } : {}) });
    const approvals = page.approvals.filter((a) => a.status !== 'pending');
    if (approvals.length > 0 || !page.next) return { approvals, next: page.next };
    from = page.next;
  }
}

export const outcomeSign: Record<string, IconName> = {
  done: 'check',
  approved: 'check',
  running: 'play',
  failed: 'warning',
  denied: 'cross',
  expired: 'hourglass',
  cancelled: 'stop',
  unknown: 'question',
  replaced: 'edit',
  duplicate: 'copy',
};

/** "Approved by ada, in the chat", "Nobody answered in time". */
export function verdictOf(record: ApprovalRecord, name: (who: string) => string | null): string {
  const verdict = t.verdict[verdictWord(record.status)];
  const who = record.decided_by ? name(record.decided_by) : null;
  return [who ? t.by(verdict, called({ name }, record.decided_by!)) : verdict, ...(record.decided_via ? [wayOf(record.decided_via)] : [])].reduce(t.joined);
}

function verdictWord(status: string): 'approved' | 'denied' | 'expired' | 'cancelled' | 'replaced' {
  return status === 'denied' || status === 'expired' || status === 'cancelled' || status === 'replaced' ? status : 'approved';
}

/** What came of it, in a word. */
export function outcomeOf(record: ApprovalRecord): string {
  return record.status === 'duplicate' ? t.doneBefore : (t.state[record.status as keyof typeof t.state] ?? t.verdict.approved);
}

function DecidedLine({ record }: { record: ApprovalRecord }) {
  const chat = useChat();
  const [open, setOpen] = useState(false);
  const first = record.duplicate_of;
  const settled = !!record.settled_by;
  return (
    <li className="inbox-row" data-decided={record.status}>
      <button type="button" className="inbox-line" aria-expanded={open} onClick={() => setOpen(!open)}>
        <Icon name={outcomeSign[record.status] ?? 'check'} size={16} />
        <span className="inbox-ask">
          {record.status === 'damaged' ? t.damagedEntry : <Sentence text={record.ask ?? t.runWhat(humanName(record.tool))} input={record.input} />}
        </span>
        <span className="inbox-facts meta">
          {record.owner && (
            <span>
              {t.forWhom} <Revealed text={record.owner} name />
            </span>
          )}
          {record.decided_at && <span>{verdictOf(record, chat.name)}</span>}
          {record.decided_at && <time dateTime={record.decided_at}>{fullTime(record.decided_at)}</time>}
          <span className="outcome" data-status={record.status}>
            {outcomeOf(record)}
          </span>
        </span>
        <Icon name="chevron" size={16} />
      </button>
      {open && (
        <div className="inbox-open">
          {record.reason && <p className="meta">{t.reasonWas(seen(record.reason))}</p>}
          {settled && <p className="meta">{t.settledBy(called(chat, record.settled_by!))}</p>}
          {first && (
            <p className="meta">
              <Revealed text={t.doneFirst(called(chat, first.by), fullTime(first.at))} part />
            </p>
          )}
          {record.replaces && <p className="meta">{t.changedFirst(called(chat, record.replaces.by))}</p>}
          {record.replaces ? <ChangedArguments input={record.input} was={record.replaces.input} /> : <Arguments input={record.input} />}
          <p className="meta">
            <code>
              <Revealed text={record.tool} name />
            </code>
          </p>
        </div>
      )}
    </li>
  );
}
