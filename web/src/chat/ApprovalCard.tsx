/* ApprovalCard.tsx -- a person decides.
 *
 * The sentence is the server's, the arguments are the ones that will be used,
 * complete and with nothing hidden in them. A click that lands as the card
 * appears is not taken: it was meant for what stood there before.
 */
import { useEffect, useId, useRef, useState, type KeyboardEvent } from 'react';
import type { Call } from '../protocol';
import type { ToolInfo } from '../transport/api';
import { useLeaveFocus } from './ApprovalRecord';
import { Arguments } from './Arguments';
import { useChat, useNow } from './context';
import { Icon, toolIcon } from './icons';
import { fullTime, humanName, left } from './words';

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
      <p className="ask-state" role={busy ? 'status' : undefined}>
        {busy ? 'Processing Approval…' : 'Approval Required'}
      </p>
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
