/* AskSheet.tsx -- on a phone the requests that wait stand above the composer, where the thumb is.
 *
 * One at a time; the conversation behind it can be read and written in. The arguments scroll, the buttons do not.
 */
import { useState } from 'react';
import type { Call } from '../protocol';
import { ApprovalCard } from './ApprovalCard';
import { Icon } from './icons';
import { humanName } from './words';

export function AskSheet({ calls }: { calls: Call[] }) {
  const [folded, setFolded] = useState(false);
  const [at, setAt] = useState(0);
  const index = Math.min(at, calls.length - 1);
  const call = calls[index];
  if (!call) return null;
  const step = (by: number, label: string, name: 'back' | 'next') => (
    <button type="button" className="quiet" aria-label={label} disabled={!calls[index + by]} onClick={() => setAt(index + by)}>
      <Icon name={name} size={16} />
    </button>
  );
  return (
    <section className="ask-sheet" aria-label="Waiting for your answer">
      <header>
        <button type="button" className="sheet-fold" aria-expanded={!folded} onClick={() => setFolded(!folded)}>
          <Icon name="chevron" size={16} />
          <span>{folded ? (call.approval?.ask ?? humanName(call.name)) : 'A message sets it aside'}</span>
        </button>
        {calls.length > 1 && (
          <>
            {step(-1, 'Previous request', 'back')}
            <span className="meta">
              {index + 1} / {calls.length}
            </span>
            {step(1, 'Next request', 'next')}
          </>
        )}
      </header>
      {!folded && <ApprovalCard key={call.id} call={call} />}
    </section>
  );
}
