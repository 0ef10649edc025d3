/* ApproveAll.tsx -- two or more wait: each can be decided alone, or all at once after seeing what that covers. */
import { useEffect } from 'react';
import type { Call } from '../protocol';
import { askOf, RiskMark, useArmed } from './ApprovalCard';
import { Sentence } from './Arguments';
import { useChat } from './context';
import { t } from '../words';

interface Props {
  calls: Call[];
  /** The approvals that the open list covers; null while there is none. */
  listed: readonly string[] | null;
  onList: (ids: readonly string[] | null) => void;
}

export function ApproveAll({ calls, listed, onList }: Props) {
  if (listed) return <Listed calls={calls} ids={listed} onBack={() => onList(null)} />;
  if (calls.length < 2) return null;
  return (
    <p className="ask-all">
      {t.requestsWait(calls.length)}{' '}
      <button type="button" className="link" onClick={() => onList(calls.map((c) => c.approval!.id))}>
        {t.approveAllOpen}
      </button>
    </p>
  );
}

/* Covers what stood here when the list was opened and still waits; what came later is not in it. */
function Listed({ calls, ids, onBack }: { calls: Call[]; ids: readonly string[]; onBack: () => void }) {
  const chat = useChat();
  const armed = useArmed();
  const covered = calls.filter((c) => ids.includes(c.approval!.id));
  const later = calls.length - covered.length;
  useEffect(() => {
    if (covered.length === 0) onBack(); // all decided
  });
  return (
    <section className="ask-all listing" aria-label={t.approveAll} data-armed={armed}>
      <p>{t.thisApproves}</p>
      <ul>
        {covered.map((c) => (
          <li key={c.id}>
            <Sentence text={askOf(c)} input={c.input} /> {c.approval!.risk && <RiskMark risk={c.approval!.risk} />}
          </li>
        ))}
      </ul>
      {later > 0 && (
        <p className="meta">{t.cameSince(later)}</p>
      )}
      <div className="ask-buttons">
        <button
          type="button"
          className="button ask-yes"
          onClick={() => armed && covered.forEach((c) => chat.decide(c.approval!.id, true))}
        >
          {t.approveThese(covered.length)}
        </button>
        <button type="button" className="button outline" onClick={onBack}>
          {t.back}
        </button>
      </div>
    </section>
  );
}
