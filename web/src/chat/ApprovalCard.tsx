/* ApprovalCard.tsx -- a person decides.
 *
 * The sentence is the server's, the arguments are the ones that will be used,
 * complete and with nothing hidden in them. A click that lands as the card
 * appears is not taken: it was meant for what stood there before.
 */
import { useEffect, useId, useLayoutEffect, useRef, useState, type KeyboardEvent, type RefObject } from 'react';
import { isObject, type Call } from '../protocol';
import type { ToolInfo } from '../transport/api';
import { useChat, useNow } from './context';
import { Icon, toolIcon } from './icons';
import { reveal } from './reveal';
import { clock, fullTime, humanName, left } from './words';

const guard_ms = 450;

export function ApprovalCard({ call }: { call: Call }) {
  const chat = useChat();
  const approval = call.approval!;
  const armed = useArmed();
  const [asksReason, setAsksReason] = useState(false);
  const [reason, setReason] = useState('');
  const title = useId();
  const card = useRef<HTMLElement>(null);
  useLeaveFocus(card, call.id);
  const busy = approval.sending !== undefined;
  const decide = (confirmed: boolean) => {
    if (armed && !busy) chat.decide(approval.id, confirmed, confirmed ? undefined : reason.trim() || undefined);
  };
  const keys = (e: KeyboardEvent) => {
    if (!e.altKey || busy || asksReason) return; // there Alt types letters
    if (e.code === 'KeyA') decide(true);
    else if (e.code === 'KeyD') decide(false);
    else return;
    e.preventDefault();
  };
  return (
    <section
      ref={card}
      className="ask"
      aria-labelledby={title}
      data-approval={approval.id}
      data-call={call.id}
      data-tool={call.name}
      data-armed={armed}
      onKeyDown={keys}
    >
      <h3 id={title} className="ask-title">
        <Icon name="shield" />
        <span>{approval.ask ?? `Run ${humanName(call.name)}?`}</span>
      </h3>
      <Arguments input={call.input} />
      <p className="ask-meta">
        <Icon name={toolIcon(call.name)} size={16} />
        <code>{call.name}</code>
        <span>{whereOf(chat.tool(call.name))}</span>
        {approval.risk && <RiskMark risk={approval.risk} />}
        {approval.expiresAt && <Countdown until={approval.expiresAt} />}
      </p>
      {approval.error && (
        <p className="ask-error" role="alert">
          {approval.error}
        </p>
      )}
      {asksReason && (
        <label className="ask-reason">
          <span>What should be different? The assistant reads this and can propose it anew.</span>
          <input
            type="text"
            value={reason}
            maxLength={500}
            placeholder="For example: half the amount"
            autoFocus
            onChange={(e) => setReason(e.target.value)}
            onKeyDown={(e) => e.key === 'Enter' && !e.nativeEvent.isComposing && decide(false)}
          />
        </label>
      )}
      <div className="ask-buttons">
        {/* With a wish in the box there is no yes: it would not be followed. */}
        {!asksReason && (
          <button type="button" className="button ask-yes" aria-disabled={busy} onClick={() => decide(true)}>
            {approval.sending === 'approve' ? 'Approving…' : 'Approve'}
          </button>
        )}
        <button type="button" className="button outline" aria-disabled={busy} onClick={() => decide(false)}>
          {approval.sending === 'deny' ? 'Denying…' : asksReason ? 'Deny and say so' : 'Deny'}
        </button>
        {asksReason ? (
          <button type="button" className="link" disabled={busy} onClick={() => (setAsksReason(false), setReason(''))}>
            Back
          </button>
        ) : (
          <button type="button" className="link" disabled={busy} onClick={() => setAsksReason(true)}>
            Deny, and say what to change…
          </button>
        )}
      </div>
    </section>
  );
}

/* The card goes away with the focus in it: its record, which stands in its place, takes it over. */
let leftFocus: string | null = null;

function useLeaveFocus(card: RefObject<HTMLElement | null>, call: string): void {
  useLayoutEffect(() => {
    const el = card.current;
    return () => {
      if (el?.contains(document.activeElement)) leftFocus = call;
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

function whereOf(tool: ToolInfo | undefined): string {
  if (tool?.where === 'client') return 'runs in this browser';
  const mcp = /^mcp:(.+)/.exec(tool?.source ?? '')?.[1];
  return mcp ? `runs on ${mcp} (MCP server), for you` : 'runs on the server, for you';
}

/* Not at once: a click that lands on what has just appeared was meant for something else. */
function useArmed(): boolean {
  const [armed, setArmed] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setArmed(true), guard_ms);
    return () => clearTimeout(timer);
  }, []);
  return armed;
}

function RiskMark({ risk }: { risk: string }) {
  const high = risk !== 'low';
  return (
    <span className={high ? 'risk high' : 'risk'}>
      <Icon name={high ? 'warning' : 'check'} size={16} />
      {humanName(risk)} risk
    </span>
  );
}

function Countdown({ until }: { until: string }) {
  const soon = Date.parse(until) - Date.now() < 3_600_000;
  const rest = left(until, useNow(soon ? 1000 : 30_000));
  return (
    <span className="countdown" title={fullTime(until)}>
      <Icon name="clock" size={16} />
      {rest ? `Expires in ${rest}` : 'Expired'}
    </span>
  );
}

/** The arguments as a table; what is nested stands as JSON. */
export function Arguments({ input }: { input: unknown }) {
  const entries = isObject(input) ? Object.entries(input) : input === undefined ? [] : [['value', input] as [string, unknown]];
  if (entries.length === 0) return <p className="meta">No arguments.</p>;
  return (
    <table className="args">
      <tbody>
        {entries.map(([name, value]) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td>
              <Shown
                text={typeof value === 'string' ? value : JSON.stringify(value, null, 2)}
                json={typeof value === 'object' && value !== null}
              />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/* What stands below the fold of its box is said to be there, since scrollbars hide. */
function useFold(box: RefObject<HTMLElement | null>): boolean {
  const [folds, setFolds] = useState(false);
  useLayoutEffect(() => {
    const el = box.current;
    if (!el) return;
    const measure = () => setFolds(el.scrollHeight > el.clientHeight);
    measure();
    const look = new ResizeObserver(measure);
    look.observe(el);
    return () => look.disconnect();
  }, [box]);
  return folds;
}

function Shown({ text, json = false }: { text: string; json?: boolean }) {
  const pieces = reveal(text);
  const body = pieces.map((p, i) =>
    p.hidden ? (
      <mark key={i} className="hidden-char" title={p.hidden}>
        {p.text} <small>({p.hidden})</small>
      </mark>
    ) : (
      p.text
    ),
  );
  const box = useRef<HTMLElement>(null);
  const long = useFold(box);
  return (
    <>
      {long && <small className="arg-long">{text.length.toLocaleString()} characters; scroll to read all of them</small>}
      {json ? (
        <pre ref={box as RefObject<HTMLPreElement>} className="wraps" tabIndex={long ? 0 : undefined}>
          {body}
        </pre>
      ) : (
        <span ref={box} className="arg" tabIndex={long ? 0 : undefined}>
          {text === '' ? <i className="meta">empty</i> : body}
        </span>
      )}
    </>
  );
}

const verdict = {
  approved: 'Approved',
  denied: 'Denied',
  expired: 'Nobody answered in time',
  cancelled: 'Set aside',
  pending: '',
} as const;

/** What stays of the card after the decision: who, when, from where, and the arguments. */
export function ApprovalRecordLine({ call }: { call: Call }) {
  const chat = useChat();
  const [open, setOpen] = useState(false);
  const line = useRef<HTMLButtonElement>(null);
  useTakeFocus(line, call.id);
  const a = call.approval!;
  const who = a.decidedBy && (a.status === 'approved' || a.status === 'denied') ? ` by ${chat.name(a.decidedBy)}` : '';
  return (
    <div className="record" data-decision={a.status}>
      <button
        ref={line}
        type="button"
        className="record-line"
        aria-expanded={open}
        onClick={() => setOpen(!open)}
        title={a.decidedAt ? fullTime(a.decidedAt) : undefined}
      >
        <Icon name={a.status === 'approved' ? 'check' : a.status === 'denied' ? 'cross' : a.status === 'expired' ? 'hourglass' : 'stop'} size={16} />
        <span>
          {verdict[a.status]}
          {who}
          {a.decidedAt && `, ${clock(a.decidedAt)}`}
          {a.reason && `: “${a.reason}”`}
        </span>
      </button>
      {a.status === 'expired' && (
        <p className="record-again">
          It was not run.{' '}
          <button type="button" className="link" onClick={() => chat.again(call.id)}>
            Ask me again
          </button>
        </p>
      )}
      {open && (
        <div className="record-body">
          {a.ask && <p>{a.ask}</p>}
          <Arguments input={call.input} />
          {a.decidedVia && <p className="meta">Answered through {a.decidedVia}.</p>}
        </div>
      )}
    </div>
  );
}

/** Two or more wait: each can be decided alone, or all at once after seeing what that covers. */
export function ApproveAll({ calls }: { calls: Call[] }) {
  const [listed, setListed] = useState<readonly string[] | null>(null);
  if (listed) return <Listed calls={calls} ids={listed} onBack={() => setListed(null)} />;
  if (calls.length < 2) return null;
  return (
    <p className="ask-all">
      {calls.length} requests wait for you.{' '}
      <button type="button" className="link" onClick={() => setListed(calls.map((c) => c.approval!.id))}>
        Approve all…
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
  if (covered.length === 0) return null;
  return (
    <section className="ask-all listing" aria-label="Approve all" data-armed={armed}>
      <p>This approves:</p>
      <ul>
        {covered.map((c) => (
          <li key={c.id}>
            {c.approval!.ask ?? humanName(c.name)} {c.approval!.risk && <RiskMark risk={c.approval!.risk} />}
          </li>
        ))}
      </ul>
      {later > 0 && (
        <p className="meta">{later === 1 ? 'One more came since. It is' : `${later} more came since. They are`} not covered.</p>
      )}
      <div className="ask-buttons">
        <button
          type="button"
          className="button ask-yes"
          onClick={() => armed && covered.forEach((c) => chat.decide(c.approval!.id, true))}
        >
          Approve {covered.length === 1 ? 'this request' : `these ${covered.length} requests`}
        </button>
        <button type="button" className="button outline" onClick={onBack}>
          Back
        </button>
      </div>
    </section>
  );
}
