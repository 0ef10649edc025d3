/* ApproveAll.tsx -- two or more wait: each can be decided alone, or all at once after seeing what that covers. */
import { useEffect, useLayoutEffect, useRef, type KeyboardEvent } from 'react';
import type { Call } from '../protocol';
import { AskedArguments, askOf, RiskMark, useMore } from './ApprovalCard';
import { Sentence } from './Arguments';
import { useChat } from './context';
import { isHeld, useGuard } from './guard';
import { t } from '../words';

interface Props {
  /** Those that this person may decide with nothing but a yes. */
  calls: Call[];
  /** The approvals that the open list covers; null while there is none. */
  listed: readonly string[] | null;
  onList: (ids: readonly string[] | null) => void;
}

export function ApproveAll({ calls, listed, onList }: Props) {
  const opener = useRef<HTMLButtonElement>(null);
  const left = useRef(false);
  useLayoutEffect(() => {
    if (left.current && !listed) opener.current?.focus({ preventScroll: true });
    left.current = false;
  }, [listed]);
  if (listed) return <Listed calls={calls} ids={listed} onBack={() => ((left.current = true), onList(null))} />;
  if (calls.length < 2) return null;
  return (
    <p className="ask-all">
      {t.requestsWait(calls.length)}{' '}
      <button ref={opener} type="button" className="link" onClick={() => onList(calls.map((c) => c.approval!.id))}>
        {t.approveAllOpen}
      </button>
    </p>
  );
}

/* Covers what stood here when the list was opened and still waits; what came later is not in it. */
function Listed({ calls, ids, onBack }: { calls: Call[]; ids: readonly string[]; onBack: () => void }) {
  const chat = useChat();
  const guard = useGuard();
  const list = useRef<HTMLElement>(null);
  const more = useMore(list);
  const covered = calls.filter((c) => ids.includes(c.approval!.id));
  const later = calls.length - covered.length;
  useEffect(() => list.current?.focus({ preventScroll: true }), []);
  useEffect(() => {
    if (covered.length === 0) onBack(); // all decided
  });
  const keys = (e: KeyboardEvent) => {
    if (isHeld(e)) e.preventDefault();
    if (e.key !== 'Escape') return;
    e.preventDefault();
    e.stopPropagation(); // it closes this, and stops nothing
    onBack();
  };
  const approve = () => {
    if (!guard.ready()) return;
    guard.decided();
    covered.forEach((c) => chat.decide(c.approval!.id, true));
  };
  return (
    <section ref={list} className="ask-all listing" aria-label={t.approveAll} data-armed={guard.armed} tabIndex={-1} onKeyDown={keys}>
      <p>{t.thisApproves}</p>
      <ul>
        {covered.map((c) => (
          <li key={c.id}>
            <Sentence text={askOf(c)} input={c.input} /> {c.approval!.risk && <RiskMark risk={c.approval!.risk} />}
            <AskedArguments call={c} />
          </li>
        ))}
      </ul>
      {later > 0 && <p className="meta">{t.cameSince(later)}</p>}
      <div className="ask-buttons">
        {more && <small className="ask-more">{t.moreToRead}</small>}
        <button type="button" className="button ask-yes" onClick={approve}>
          {t.approveThese(covered.length)}
        </button>
        <button type="button" className="button outline" onClick={onBack}>
          {t.back}
        </button>
      </div>
    </section>
  );
}
