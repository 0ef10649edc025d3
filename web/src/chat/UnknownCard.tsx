/* UnknownCard.tsx -- the server died between starting a tool and hearing its outcome.
 *
 * Nobody knows whether it happened. The card says exactly that, and a person
 * who has looked settles it; nothing is tried again by itself.
 */
import { useState } from 'react';
import type { Call } from '../protocol';
import { Arguments, Revealed, Sentence } from './Arguments';
import { useChat } from './context';
import { Icon } from './icons';
import { t } from '../words';
import { rich } from '../words/rich';

export function UnknownCard({ call }: { call: Call }) {
  const chat = useChat();
  const [state, setState] = useState<'idle' | 'busy' | string>('idle');
  const id = call.approval?.id;
  const settle = (outcome: 'done' | 'not_done') => {
    if (!id || state === 'busy') return;
    setState('busy');
    chat.settle(id, outcome).catch((e: unknown) => setState(e instanceof Error ? e.message : t.failed));
  };
  return (
    <section className="unknown" aria-label={t.unknownOutcome(call.name)} data-call={call.id} data-status="unknown">
      <h3>
        <Icon name="question" />
        <span>{t.unknownTitle}</span>
      </h3>
      <p>
        {rich(t.unknownBody, { tool: <code>{call.name}</code>, why: <Revealed text={call.error ?? t.unknownWhy} part /> })}
      </p>
      {call.approval?.ask && (
        <p className="record-ask">
          <Sentence text={call.approval.ask} input={call.input} />
        </p>
      )}
      <Arguments input={call.input} />
      {state !== 'idle' && state !== 'busy' && (
        <p className="ask-error" role="alert">
          {state}
        </p>
      )}
      <div className="ask-buttons">
        <button type="button" className="button outline" disabled={!id || state === 'busy'} onClick={() => settle('done')}>
          {t.happened}
        </button>
        <button type="button" className="button outline" disabled={!id || state === 'busy'} onClick={() => settle('not_done')}>
          {t.didNotHappen}
        </button>
      </div>
    </section>
  );
}
