/* ToolCard.tsx -- a tool call in the text: first its intent, then its card.
 *
 * One line when folded: icon, name, summary, state, duration. While it runs an
 * amber bar along the top fills. Results that are meant to be seen (an
 * artifact, a picture) stand below the card and stay when it is folded.
 */
import { memo, useEffect, useId, useState } from 'react';
import { firstOf, inputOf, outputOf, type Call, type First } from '../protocol';
import { ApprovalRecordLine, hasRecord } from './ApprovalRecord';
import { Arguments, Revealed } from './Arguments';
import { mayAnswer } from './Ballot';
import { called, useChat, useNow } from './context';
import { Embed, useEmbeds } from './Embed';
import { Icon, toolIcon } from './icons';
import { ValueBlock } from './Json';
import { UnknownCard } from './UnknownCard';
import { duration, fullTime, seconds, stateIcon, summaryOf, wordOf } from './words';
import { t } from '../words';
import { rich } from '../words/rich';

export const ToolItem = memo(function ToolItem({ call }: { call: Call }) {
  const embeds = useEmbeds();
  if (call.status === 'asking') return <AskedBelow call={call} />;
  if (call.status === 'unknown') return <UnknownCard call={call} />;
  if (call.status === 'preparing' && call.intent) return <IntentLine call={call} />;
  return (
    <>
      <ToolCard call={call} />
      {embeds(call) && <Embed call={call} />}
    </>
  );
});

/* The words of a request are never part of the conversation, where a model could write the same. */
function AskedBelow({ call }: { call: Call }) {
  const chat = useChat();
  return (
    <p className="asked" data-call={call.id}>
      <Icon name="shield" size={16} />
      <span>
        {rich(mayAnswer(call.approval!, chat.mayDecide) ? t.waitsBelow : t.waitsApprover, { tool: <code><Revealed text={call.name} name /></code> })}
      </span>
    </p>
  );
}

/* Intent and start often come in the same millisecond; a person needs a moment to read what is about to happen. */
const announced_ms = 600;

function useAnnouncing(call: Call): boolean {
  const until = call.intent && !call.approval && call.startedAt ? call.startedAt + announced_ms : 0;
  const [, again] = useState(0);
  useEffect(() => {
    const rest = until - Date.now();
    if (rest <= 0) return;
    const timer = setTimeout(() => again((n) => n + 1), rest + 1);
    return () => clearTimeout(timer);
  }, [until]);
  return Date.now() < until;
}

function IntentLine({ call }: { call: Call }) {
  return (
    <p className="intent" data-call={call.id}>
      <Icon name={toolIcon(call.name)} size={16} />
      <span>
        <Revealed text={call.intent ?? ''} part />
      </span>
    </p>
  );
}

const busy = new Set(['preparing', 'queued', 'running', 'offered']);

function ToolCard({ call }: { call: Call }) {
  const [open, setOpen] = useState(false);
  const body = useId();
  const announcing = useAnnouncing(call);
  const running = busy.has(call.status);
  const first = firstOf(call);
  return (
    <section
      className="tool"
      data-status={call.status}
      data-call={call.id}
      data-tool={call.name}
      role="group" // not a landmark: the same tool may be used twice
      aria-label={t.toolState(call.name, wordOf(call))}
    >
      {running && <Bar call={call} />}
      <button type="button" className="tool-head" aria-expanded={open} aria-controls={body} onClick={() => setOpen(!open)}>
        <Icon name={toolIcon(call.name)} size={18} />
        <code className="tool-name">{call.name ? <Revealed text={call.name} name /> : t.tool}</code>
        <span className="tool-summary">
          <Revealed text={(announcing ? call.intent : undefined) ?? summaryOf(call)} part />
        </span>
        <State call={call} />
        <Icon name="chevron" size={16} />
      </button>
      {hasRecord(call) && <ApprovalRecordLine call={call} />}
      {call.approval?.settledBy && <SettledLine call={call} by={call.approval.settledBy} />}
      {first && <FirstLine first={first} />}
      <div id={body} className="tool-body" hidden={!open}>
        {open && <Details call={call} />}
      </div>
    </section>
  );
}

/* It was not known whether it happened, until somebody said so. */
function SettledLine({ call, by }: { call: Call; by: string }) {
  const chat = useChat();
  const happened = call.status === 'done';
  return <p className="settled">{by === 'check' ? t.settledByCheck(happened) : t.settledAs(called(chat, by), happened)}</p>;
}

/* The same had been done: when, for whom, and what came of it then. */
function FirstLine({ first }: { first: First }) {
  const chat = useChat();
  return (
    <div className="settled" data-first>
      <p>
        <Revealed text={t.doneFirst(called(chat, first.by), fullTime(first.at))} part />
      </p>
      <Arguments input={{ [t.firstResult]: first.result }} />
    </div>
  );
}

/* The bar keeps its place and height whether or not the tool tells how far it is. */
function Bar({ call }: { call: Call }) {
  const value = call.progress?.value ?? null;
  return (
    <div
      className="bar"
      role="progressbar"
      aria-label={t.progressOf(call.name)}
      {...(value === null ? {} : { 'aria-valuenow': Math.round(value * 100), 'aria-valuemin': 0, 'aria-valuemax': 100 })}
    >
      <div
        className={value === null ? 'bar-fill endless' : 'bar-fill'}
        style={value === null ? undefined : { transform: `scaleX(${value})` }}
      />
    </div>
  );
}

function State({ call }: { call: Call }) {
  const running = busy.has(call.status);
  return (
    <span className="tool-state">
      {call.status === 'running' ? <span className="spin" aria-hidden="true" /> : <Icon name={firstOf(call) ? 'copy' : stateIcon[call.status]} size={16} />}
      <span className="tool-word">{wordOf(call)}</span>
      {call.ms !== undefined && call.ms >= 1 && <span className="tool-ms">{duration(call.ms)}</span>}
      {call.ms === undefined && running && call.startedAt && <Elapsed since={call.startedAt} />}
    </span>
  );
}

/* Short calls need no clock; long ones must not look stuck. */
function Elapsed({ since }: { since: number }) {
  const s = Math.floor((useNow(1000) - since) / 1000);
  return s >= 3 ? <span className="tool-ms">{seconds(s)}</span> : null;
}

function Details({ call }: { call: Call }) {
  return (
    <>
      {call.progress?.stage && <p className="meta"><Revealed text={t.stage(call.progress.stage)} part /></p>}
      <ValueBlock label={t.input} value={inputOf(call) ?? call.inputText ?? {}} name={call.name} />
      {call.error !== undefined && <ValueBlock label={t.error} value={call.error} name={call.name} />}
      {call.output !== undefined && <ValueBlock label={t.output} value={outputOf(call)} name={call.name} />}
      {call.output === undefined && call.error === undefined && (
        <p className="meta">{busy.has(call.status) ? t.noOutputYet : t.noOutput}</p>
      )}
    </>
  );
}

/** Several cards in a row; many finished ones fold into one line. */
export function ToolGroup({ calls }: { calls: Call[] }) {
  const embeds = useEmbeds();
  const quiet = calls.filter((c) => c.status === 'done' && !c.approval && !embeds(c));
  const [open, setOpen] = useState(false);
  const id = useId();
  if (quiet.length < 4) return calls.map((c) => <ToolItem key={c.id} call={c} />);
  const rest = calls.filter((c) => !quiet.includes(c));
  return (
    <>
      <section className="tool fold">
        <button type="button" className="tool-head" aria-expanded={open} aria-controls={id} onClick={() => setOpen(!open)}>
          <Icon name="tool" size={18} />
          <span className="tool-summary">
            <Revealed text={t.usedTools(quiet.length, [...new Set(quiet.map((c) => c.name))].join(', '))} part />
          </span>
          <Icon name="chevron" size={16} />
        </button>
      </section>
      <div id={id} className="fold-body" hidden={!open}>
        {open && quiet.map((c) => <ToolItem key={c.id} call={c} />)}
      </div>
      {rest.map((c) => (
        <ToolItem key={c.id} call={c} />
      ))}
    </>
  );
}
