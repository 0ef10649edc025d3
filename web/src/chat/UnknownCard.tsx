/* UnknownCard.tsx -- a tool was started, and what came of it was not heard: the server died, or the tool did.
 *
 * Nobody knows whether it happened. The card says exactly that, who approved it, what the tool's own check found so far,
 * what the tool itself told when it was too late, and a person who has looked settles it; nothing is tried again by itself.
 */
import { useEffect, useState } from 'react';
import { inputOf, type Call, type CallCheck } from '../protocol';
import { ApprovalRecordLine, hasRecord } from './ApprovalRecord';
import { Arguments, Revealed } from './Arguments';
import { useChat } from './context';
import { Icon } from './icons';
import { ValueBlock } from './Json';
import { clock } from './words';
import { t } from '../words';
import { rich } from '../words/rich';

export function UnknownCard({ call }: { call: Call }) {
  const chat = useChat();
  const [state, setState] = useState<'idle' | 'busy' | string>('idle');
  const id = call.approval?.edited?.id ?? call.approval?.id;
  const check = call.approval?.check;
  useLooking(check, id);
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
        {rich(t.unknownBody, { tool: <code><Revealed text={call.name} name /></code>, why: <Revealed text={call.error ?? t.unknownWhy} part /> })}
      </p>
      {hasRecord(call) ? <ApprovalRecordLine call={call} whole /> : <Arguments input={inputOf(call)} />}
      {check && <CheckLine check={check} />}
      <LateReport call={call} />
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

/* What the server found by itself, and whether it goes on asking. */
function CheckLine({ check }: { check: CallCheck }) {
  return (
    <p className="unknown-check" role="status">
      {t.checkAsked(check.tries, check.at ? clock(check.at) : '')}{' '}
      {check.note && rich(t.checkSaid, { note: <Revealed text={check.note} part /> })}{' '}
      {check.next ? t.checkNext(clock(check.next)) : check.note ? t.checkOver : t.checkNow}
    </p>
  );
}

/* The node that ran it was taken for dead and was not. What it told then settles nothing by itself. */
function LateReport({ call }: { call: Call }) {
  const { late_at: at, late_outcome: outcome, late_text: text } = call.approval ?? {};
  if (!at) return null;
  const done = outcome === 'done';
  return (
    <>
      <p className="unknown-late" role="status">
        {t.lateReport(clock(at), done)}
      </p>
      {text && <ValueBlock label={done ? t.output : t.error} value={text} name={call.name} />}
    </>
  );
}

/* At least so long between two looks, also at a check that is overdue. */
const look_ms = 3000;
/* And at most. */
const lookRarely_ms = 15_000;

/* A check may settle it meanwhile, its node still tell, or somebody say it elsewhere: the card is looked after, often only
 * while a check is under way or to come. */
function useLooking(check: CallCheck | null | undefined, id: string | undefined): void {
  const { look } = useChat();
  const going = Boolean(check && (check.next || !check.note));
  useEffect(() => {
    if (!id || !look) return;
    const due = check?.next ? Date.parse(check.next) - Date.now() : going ? 0 : lookRarely_ms;
    // Again and again: the server may be late.
    const timer = setInterval(() => look(id), Math.max(look_ms, Math.min(due, lookRarely_ms)));
    return () => clearInterval(timer);
  }, [going, check?.next, id, look]);
}
