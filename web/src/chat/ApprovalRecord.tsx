/* ApprovalRecord.tsx -- what stays of a request after the decision: the sentence, the arguments, who, when, by which way.
 *
 * What came of it stands in the head of the card that this is part of.
 */
import { useLayoutEffect, useRef, useState, type RefObject } from 'react';
import { inputOf, type Approval, type Call, type Granted } from '../protocol';
import { Arguments, entriesOf, Sentence } from './Arguments';
import { called, useChat } from './context';
import { ChangedArguments } from './EditFields';
import { Icon, type IconName } from './icons';
import { seen } from './reveal';
import { withChanges } from './sentence';
import { clock, fullTime, humanName, wayOf } from './words';
import { t } from '../words';

const sign: Record<Approval['status'], IconName> = { approved: 'check', denied: 'cross', expired: 'hourglass', cancelled: 'stop', replaced: 'edit', pending: 'clock' };

/** Somebody was asked, and it is decided. (The server also lists calls that needed no answer.) */
export function hasRecord(call: Call): boolean {
  const a = call.approval;
  return !!a && a.status !== 'pending' && !!(a.ask || a.decidedBy);
}

/* What was said yes to: after a change not what was asked at first. */
function approvedAsk(call: Call): string {
  const { ask, edited } = call.approval!;
  return edited ? (withChanges(ask!, edited.was, edited.input) ?? t.runWhat(humanName(call.name))) : ask!;
}

/* Arguments that take a few lines are there at once; longer ones are one click away. */
const brief = 300; // characters

/** `whole`: the arguments are there at once, however long. */
export function ApprovalRecordLine({ call, whole = false }: { call: Call; whole?: boolean }) {
  const chat = useChat();
  const [open, setOpen] = useState(() => whole || (JSON.stringify(call.input) ?? '').length <= brief);
  const line = useRef<HTMLButtonElement>(null);
  useTakeFocus(line, call.id);
  const a = call.approval!;
  const decided = a.status === 'approved' || a.status === 'denied' || a.status === 'replaced';
  const who = decided && a.decidedBy ? chat.name(a.decidedBy) : null;
  return (
    <div className="record" data-decision={a.status}>
      {a.ask && (
        <p className="record-ask">
          <Sentence text={approvedAsk(call)} input={inputOf(call)} />
        </p>
      )}
      <button
        ref={line}
        type="button"
        className="record-line"
        aria-expanded={open}
        onClick={() => setOpen(!open)}
        title={a.decidedAt ? fullTime(a.decidedAt) : undefined}
      >
        <Icon name={sign[a.status]} size={16} />
        <span>
          {[
            who ? t.by(t.verdict[a.status], called(chat, a.decidedBy!)) : t.verdict[a.status],
            ...(a.edited ? [t.withChanges] : []),
            ...(a.decidedAt ? [clock(a.decidedAt)] : []),
            ...(decided && a.decidedVia ? [wayOf(a.decidedVia)] : []),
          ].reduce(t.joined)}
          {a.reason && <bdi>{t.reason(seen(a.reason))}</bdi>}
          {!open && ` · ${t.argumentCount(entriesOf(inputOf(call)).length)}`}
        </span>
      </button>
      {a.granted && <GrantedLine granted={a.granted} />}
      {a.status === 'expired' && (
        <p className="record-again">
          {t.notRun}{' '}
          <button type="button" className="link" onClick={() => chat.again(call.id)}>
            {t.askAgain}
          </button>
        </p>
      )}
      {open && (
        <div className="record-body">
          {a.edited ? <ChangedArguments input={a.edited.input} was={a.edited.was} /> : <Arguments input={call.input} />}
        </div>
      )}
    </div>
  );
}

/* By a yes that was worth more than one call. */
function GrantedLine({ granted: g }: { granted: Granted }) {
  const chat = useChat();
  const by = called(chat, g.by);
  const parts = [
    t.grantedBy(by, clock(g.at)),
    ...(g.count !== null ? [t.grantUses(String(g.uses), String(g.count))] : []),
    ...(g.max !== null && g.amount !== null ? [t.grantUses(g.amount, g.max)] : []),
  ];
  return (
    <p className="record-again">
      {parts.join(' · ')} <a className="link" href="/inbox?grants">
        {t.grantSee}
      </a>
    </p>
  );
}

/* The card goes away with the focus in it: its record, which stands in its place, takes it over. */
let leftFocus: string | null = null;

export function useLeaveFocus(card: RefObject<HTMLElement | null>, call: string): void {
  useLayoutEffect(() => {
    const el = card.current;
    return () => {
      if (el?.matches(':focus-within')) leftFocus = call;
    };
  }, [card, call]);
}

function useTakeFocus(record: RefObject<HTMLElement | null>, call: string): void {
  useLayoutEffect(() => {
    if (leftFocus !== call) return;
    leftFocus = null;
    if (document.activeElement === document.body) record.current?.focus({ preventScroll: true });
  }, [record, call]);
}
