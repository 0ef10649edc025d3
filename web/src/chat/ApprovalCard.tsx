/* ApprovalCard.tsx -- a person decides.
 *
 * The sentence is the server's, the arguments are the ones that will be used,
 * complete and with nothing hidden in them. A click that lands as the card
 * appears is not taken: it was meant for what stood there before.
 */
import { useEffect, useId, useRef, useState, type KeyboardEvent, type ReactNode, type RefObject } from 'react';
import type { AnswerTerms, Call, GrantWish } from '../protocol';
import type { ToolInfo } from '../transport/api';
import { useLeaveFocus } from './ApprovalRecord';
import { Arguments, Revealed, Sentence } from './Arguments';
import { BallotLine, mayAnswer, NotMine } from './Ballot';
import { connectLink } from './connect';
import { called, useChat, useNow } from './context';
import { ChangedArguments, EditFields, FormFields, useEdit, useForm } from './EditFields';
import { formFields } from './fields';
import { firstWish, GrantOfferBox } from './GrantOffer';
import { isHeld, useGuard } from './guard';
import { Icon, toolIcon } from './icons';
import { fullTime, humanName, left } from './words';
import { t } from '../words';

export function askOf(call: Call): string {
  return call.approval?.ask ?? t.runWhat(humanName(call.name));
}

/** A bare yes says all that it wants to know: there is no form to fill in, and no account to connect. */
export function takesYes(call: Call): boolean {
  return formFields(call.approval?.form).length === 0 && !connectLink(askOf(call), call.name, '');
}

/** Where a request stands, in the words of its card. */
export function stateOf(call: Call, mayDecide: boolean): string {
  if (call.approval?.sending) return t.processing;
  return call.approval && !mayAnswer(call.approval, mayDecide) ? t.waitsForApprover : t.approvalRequired;
}

interface Props {
  call: Call;
  /** The state stands above it already. */
  docked?: boolean;
  /** Whose conversation it is, and what they wrote, where somebody else decides. */
  from?: ReactNode;
  /** On whose behalf it runs. */
  forWhom?: string;
}

export function ApprovalCard({ call, docked = false, from, forWhom = t.you }: Props) {
  const chat = useChat();
  const approval = call.approval!;
  const guard = useGuard();
  const [asksReason, setAsksReason] = useState(false);
  const [reason, setReason] = useState('');
  const title = useId();
  const card = useRef<HTMLElement>(null);
  useLeaveFocus(card, call.id);
  const more = useMore(card);
  const busy = approval.sending !== undefined;
  const mine = mayAnswer(approval, chat.mayDecide);
  const [wish, setWish] = useState<GrantWish | null>(null);
  const connect = connectLink(askOf(call), call.name, location.pathname);
  const edit = useEdit(call, mine && !connect);
  const form = useForm(call, mine && !connect);
  const fills = form.fields.length > 0;
  const decide = (confirmed: boolean) => {
    if (busy || !mine || !guard.ready() || (confirmed && !(fills ? form : edit).attempt())) return;
    guard.decided();
    chat.decide(approval.id, confirmed, confirmed && fills ? { payload: form.input } : termsOf(confirmed, reason.trim(), wish, edit.input));
  };
  const startEdit = () => {
    setWish(null);
    edit.setTexts({});
    requestAnimationFrame(() => card.current?.querySelector<HTMLElement>('.editing :is(input, select, textarea)')?.focus());
  };
  const keys = (e: KeyboardEvent) => {
    if (isHeld(e)) return e.preventDefault();
    if (!e.altKey || e.repeat || busy || asksReason || edit.texts || fills) return; // there Alt types letters
    if (e.code === 'KeyA' && !connect) decide(true);
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
      data-armed={guard.armed}
      onKeyDown={keys}
    >
      {!docked && <p className="ask-state">{stateOf(call, chat.mayDecide)}</p>}
      <BallotLine approval={approval} />
      {from}
      <h3 id={title} className="ask-title" data-changed={edit.input !== undefined || undefined}>
        <Icon name="shield" />
        <span>
          <Sentence text={askOf(call)} input={call.input} now={edit.input} />
          {edit.input !== undefined && (
            <>
              {' '}
              <strong className="ask-changed">{t.askedChanged}</strong>
            </>
          )}
        </span>
      </h3>
      {edit.texts ? (
        <EditFields
          input={call.input}
          fields={edit.fields}
          texts={edit.texts}
          errors={edit.errors}
          onText={(pointer, text) => edit.setTexts({ ...edit.texts, [pointer]: text })}
        />
      ) : (
        <AskedArguments call={call} />
      )}
      {fills && <FormFields form={form} />}
      <p className="ask-meta">
        <span className="ask-where">
          <Icon name={toolIcon(call.name)} size={16} />
          <span>
            <code>
              <Revealed text={call.name} name />
            </code>{' '}
            {whereOf(chat.tool(call.name), forWhom)}
          </span>
        </span>
        {approval.risk && <RiskMark risk={approval.risk} />}
        {approval.expiresAt && <Countdown until={approval.expiresAt} />}
      </p>
      {approval.error && !edit.errorAt && !form.errorAt && (
        <p className="ask-error" role="alert">
          {approval.error}
        </p>
      )}
      {asksReason && (
        <label className="ask-reason">
          <span>{t.wish}</span>
          <input
            type="text"
            value={reason}
            maxLength={500}
            placeholder={t.wishExample}
            autoFocus
            onChange={(e) => setReason(e.target.value)}
            onKeyDown={(e) => e.key === 'Enter' && !e.nativeEvent.isComposing && decide(false)}
          />
        </label>
      )}
      {mine && approval.grant && wish && <GrantOfferBox offer={approval.grant} wish={wish} onWish={setWish} />}
      {mine ? (
        <div className="ask-answer">
          <div className="ask-buttons">
            {more && <small className="ask-more">{t.moreToRead}</small>}
            {/* With a wish in the box there is no yes: it would not be followed. */}
            {!asksReason && connect && (
              <a className="button ask-yes" href={connect}>
                {t.connectAccount}
              </a>
            )}
            {!asksReason && !connect && (
              <button type="button" className="button ask-yes" aria-disabled={busy} onClick={() => decide(true)}>
                {approval.sending === 'approve' ? t.approving : fills ? t.formSend : edit.input !== undefined ? t.approveChanged : wish ? t.approveAndAllow : t.approve}
              </button>
            )}
            <button type="button" className="button outline" aria-disabled={busy} onClick={() => decide(false)}>
              {approval.sending === 'deny' ? t.denying : asksReason ? t.denyAndSay : t.deny}
            </button>
          </div>
          <div className="ask-links">
            {asksReason ? (
              <button type="button" className="link" disabled={busy} onClick={() => (setAsksReason(false), setReason(''))}>
                {t.back}
              </button>
            ) : (
              !edit.texts && (
                <button type="button" className="link" disabled={busy} onClick={() => (setAsksReason(true), setWish(null))}>
                  {t.denyWish}
                </button>
              )
            )}
            {edit.fields.length > 0 && !asksReason && !wish && (
              <button type="button" className="link" disabled={busy} aria-expanded={edit.texts !== null} onClick={edit.texts ? () => edit.setTexts(null) : startEdit}>
                {edit.texts ? t.editNothing : t.editFirst}
              </button>
            )}
            {approval.grant && !asksReason && !edit.texts && (
              <button type="button" className="link" disabled={busy} aria-expanded={wish !== null} onClick={() => setWish(wish ? null : firstWish(approval.grant!))}>
                {wish ? t.grantOnce : t.grantMore}
              </button>
            )}
          </div>
        </div>
      ) : (
        <NotMine approval={approval} />
      )}
    </section>
  );
}

function termsOf(confirmed: boolean, reason: string, wish: GrantWish | null, input: unknown): AnswerTerms {
  if (!confirmed) return reason ? { reason } : {};
  return input !== undefined ? { input } : wish ? { grant: wish } : {};
}

/** All that the call would be made with. */
export function AskedArguments({ call }: { call: Call }) {
  const { instead } = call.approval!;
  return instead ? <Instead input={call.input} {...instead} /> : <Arguments input={call.input} />;
}

/* Somebody changed what was asked about first, and that is asked about now. */
function Instead({ input, by, was }: { input: unknown; by: string; was: unknown }) {
  const chat = useChat();
  return (
    <>
      <p className="ask-from">
        <Revealed text={t.changedBy(called(chat, by))} part />
      </p>
      <ChangedArguments input={input} was={was} />
    </>
  );
}

function whereOf(tool: ToolInfo | undefined, who: string): string {
  if (tool?.where === 'client') return t.runsInBrowser;
  const mcp = /^mcp:(.+)/.exec(tool?.source ?? '')?.[1];
  return mcp ? t.runsOnMcp(mcp, who) : t.runsOnServer(who);
}

/** Something of it stands below the fold: said in words, since scrollbars hide. */
export function useMore(card: RefObject<HTMLElement | null>): boolean {
  const [more, setMore] = useState(false);
  useEffect(() => {
    const el = card.current;
    if (!el) return;
    const measure = () => setMore(el.scrollHeight - el.clientHeight - el.scrollTop > 4);
    measure();
    const look = new ResizeObserver(measure);
    look.observe(el);
    el.addEventListener('scroll', measure, { passive: true });
    return () => {
      look.disconnect();
      el.removeEventListener('scroll', measure);
    };
  }, [card]);
  return more;
}

export function RiskMark({ risk }: { risk: string }) {
  const high = risk !== 'low';
  return (
    <span className={high ? 'risk high' : 'risk'}>
      <Icon name={high ? 'warning' : 'check'} size={16} />
      {t.risk[risk] ?? humanName(risk)}
    </span>
  );
}

function Countdown({ until }: { until: string }) {
  const soon = Date.parse(until) - Date.now() < 3_600_000;
  const rest = left(until, useNow(soon ? 1000 : 30_000));
  return (
    <span className="countdown" title={fullTime(until)}>
      <Icon name="clock" size={16} />
      {rest ? t.expiresIn(rest) : t.state.expired}
    </span>
  );
}
