/* AskSheet.tsx -- the requests that wait stand above the composer: outside the conversation, where only the page can draw.
 *
 * One at a time; the conversation behind it can be read and written in. The arguments scroll, the buttons do not.
 */
import { useState } from 'react';
import type { Call } from '../protocol';
import { ApprovalCard, askOf, stateOf, takesYes } from './ApprovalCard';
import { ApproveAll } from './ApproveAll';
import { mayAnswer } from './Ballot';
import { useChat } from './context';
import { Icon } from './icons';
import { t } from '../words';

export function AskSheet({ calls }: { calls: Call[] }) {
  const chat = useChat();
  const [folded, setFolded] = useState(false);
  const [listing, setListing] = useState<readonly string[] | null>(null);
  const [at, setAt] = useState(0);
  const index = Math.min(at, calls.length - 1);
  const call = calls[index];
  if (!call) return null;
  const step = (by: number, label: string, name: 'back' | 'next') => (
    <button type="button" className="quiet" aria-label={label} disabled={!calls[index + by]} onClick={() => setAt(index + by)}>
      <Icon name={name} size={16} />
    </button>
  );
  const mine = (c: Call) => mayAnswer(c.approval!, chat.mayDecide);
  const open = calls.filter((c) => mine(c) && !c.approval?.sending && takesYes(c));
  return (
    <section className={folded ? 'ask-sheet folded' : 'ask-sheet'} aria-label={mine(call) ? t.yourAnswer : t.waitsForApprover}>
      <header>
        <button type="button" className="sheet-fold" aria-expanded={!folded} onClick={() => setFolded(!folded)}>
          <Icon name="chevron" size={16} />
          <span className="ask-state">{stateOf(call, chat.mayDecide)}</span>
          {folded && <span className="sheet-ask">{askOf(call)}</span>}
        </button>
        {calls.length > 1 && !listing && (
          <>
            {step(-1, t.previousRequest, 'back')}
            <span className="meta">
              {index + 1} / {calls.length}
            </span>
            {step(1, t.nextRequest, 'next')}
          </>
        )}
      </header>
      {!folded && !listing && <ApprovalCard key={call.id} call={call} docked />}
      {!folded && <ApproveAll calls={open} listed={listing} onList={setListing} />}
    </section>
  );
}
