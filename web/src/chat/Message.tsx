/* Message.tsx -- one message: the person's bubble, or the assistant's column.
 *
 * Memoised: a finished message is drawn once. Its tools stand in the text where
 * they happened.
 */
import { memo, useContext, useEffect, useMemo, useRef, useState, type PointerEvent } from 'react';
import { callsOf, filesOf, textOf, type Call, type Message, type Part, type Usage } from '../protocol';
import { useChat, useNow, VersionContext } from './context';
import { CopyButton } from './CopyButton';
import { Icon } from './icons';
import { Markdown } from './markdown/Markdown';
import { PayloadView } from './Payload';
import { FileView } from './Picture';
import { SetAside } from './SetAside';
import { ToolGroup } from './ToolCard';
import { ago, clock, duration, fullTime, languageOf, seconds } from './words';
import { number, t } from '../words';

export const MessageView = memo(function MessageView({ message, last }: { message: Message; last: boolean }) {
  return message.role === 'user' ? <UserMessage message={message} /> : <AssistantMessage message={message} last={last} />;
});

function named(who: string, message: Message): string {
  return message.at ? t.joined(who, clock(message.at)) : who;
}

/* ---- the person ---- */

function UserMessage({ message }: { message: Message }) {
  const chat = useChat();
  const kept = chat.keptEdit?.get(message.id); // half-written, before the page was loaded anew
  const [editing, setEditing] = useState(!!kept);
  const article = useRef<HTMLElement>(null);
  const old = useContext(VersionContext).old.has(message.id);
  const text = textOf(message);
  const files = filesOf(message);
  if (!text && message.parts.length === 0) return null; // no empty "You", ever
  const done = () => {
    setEditing(false);
    chat.keptEdit?.set(message.id, '');
  };
  return (
    <article ref={article} className="msg user" aria-label={named(t.You, message)} data-id={message.id} tabIndex={-1} {...usePress()}>
      <h2 className="sr">{t.You}</h2>
      {files.length > 0 && (
        <div className="attached">
          {files.map((f, i) => (
            <FileView key={i} part={f} />
          ))}
        </div>
      )}
      {editing ? (
        <EditBox
          text={text}
          kept={kept}
          bare={files.length > 0}
          ran={chat.ran(message.id)}
          onWrite={(written) => chat.keptEdit?.set(message.id, written === text ? '' : written)}
          onCancel={() => (done(), article.current?.focus())}
          onSave={(written) => (done(), chat.edit(message.id, written))}
        />
      ) : (
        text && (
          <div className="bubble" dir="auto" lang={languageOf(text)} title={message.at ? fullTime(message.at) : undefined}>
            {text}
          </div>
        )
      )}
      {!editing && <Versions id={message.id} />}
      {!editing && <SendState message={message} />}
      {!editing && (message.send === undefined || message.send === 'sent') && (
        <div className="msg-tools">
          {text && <CopyButton text={text} label={t.copyYours} />}
          {!old && !chat.reads && (
            <button
              type="button"
              className="quiet"
              data-edit
              aria-label={t.editYours}
              title={t.editAndAsk}
              onClick={() => setEditing(true)}
            >
              <Icon name="edit" size={16} />
            </button>
          )}
        </div>
      )}
    </article>
  );
}

const press_ms = 450;
const press_px = 10;

/* A long press brings the focus, and with it the message's tools. Before the browser's own long press, which selects. */
function usePress() {
  const press = useRef<{ timer: ReturnType<typeof setTimeout>; x: number; y: number }>(null);
  const end = () => {
    clearTimeout(press.current?.timer);
    press.current = null;
  };
  return {
    onPointerDown: (e: PointerEvent<HTMLElement>) => {
      if (e.pointerType !== 'touch') return;
      const article = e.currentTarget;
      press.current = { timer: setTimeout(() => article.focus({ preventScroll: true }), press_ms), x: e.clientX, y: e.clientY };
    },
    onPointerMove: (e: PointerEvent) => {
      const p = press.current;
      if (p && Math.hypot(e.clientX - p.x, e.clientY - p.y) > press_px) end();
    },
    onPointerUp: end,
    onPointerCancel: end,
  };
}

function Versions({ id }: { id: string }) {
  const versions = useContext(VersionContext);
  const now = versions.places.get(id);
  if (!now) return null;
  const step = (by: number, label: string, name: 'back' | 'next') => (
    <button
      type="button"
      className="quiet"
      aria-label={label}
      disabled={now.index + by < 0 || now.index + by >= now.total}
      onClick={() => versions.show(now.of, now.index + by)}
    >
      <Icon name={name} size={16} />
    </button>
  );
  return (
    <div className="versions" role="group" aria-label={t.versions}>
      {step(-1, t.earlierVersion, 'back')}
      <span>
        {now.index + 1} / {now.total}
      </span>
      {step(1, t.laterVersion, 'next')}
    </div>
  );
}

function SendState({ message }: { message: Message }) {
  const chat = useChat();
  if (message.send === 'waiting') {
    return (
      <p className="send-state">
        {message.maybe ? t.maybeSent : t.notSentYet}{' '}
        {!message.maybe && (
          <button type="button" className="link" onClick={() => chat.discard(message.id)}>
            {t.takeBack}
          </button>
        )}
      </p>
    );
  }
  if (message.send !== 'failed') return null;
  return (
    <p className="send-state bad" role="alert">
      {t.notSent(message.sendError ?? t.refused)}{' '}
      <button type="button" className="link" onClick={() => chat.retrySend(message.id)}>
        {t.tryAgain}
      </button>{' '}
      <button type="button" className="link" onClick={() => chat.discard(message.id)}>
        {t.edit}
      </button>
    </p>
  );
}

interface EditProps {
  text: string;
  /** What was written of it before. */
  kept: string | undefined;
  onWrite: (text: string) => void;
  /** There are pictures: it may go without words. */
  bare: boolean;
  ran: string[];
  onSave: (text: string) => void;
  onCancel: () => void;
}

function EditBox({ text, kept, bare, ran, onWrite, onSave, onCancel }: EditProps) {
  const chat = useChat();
  const [value, setValue] = useState(kept || text);
  const [aside, setAside] = useState<Call[]>([]);
  const area = useRef<HTMLTextAreaElement>(null);
  const began = useRef(!kept); // here and now, not on an earlier page
  useEffect(() => {
    if (!began.current) return;
    area.current?.focus();
    area.current?.setSelectionRange(text.length, text.length);
  }, [text]);
  const send = () => onSave(value.trim());
  const save = () => {
    if (!value.trim() && !bare) return;
    const waiting = chat.asking?.() ?? [];
    setAside(waiting);
    if (waiting.length === 0) send();
  };
  return (
    <div className="edit">
      <textarea
        ref={area}
        value={value}
        rows={Math.min(8, value.split('\n').length + 1)}
        aria-label={t.editYours}
        onChange={(e) => {
          setValue(e.target.value);
          setAside([]);
          onWrite(e.target.value);
        }}
        onKeyDown={(e) => {
          if (e.key === 'Escape') onCancel();
          if (e.key === 'Enter' && !e.shiftKey && !e.nativeEvent.isComposing) {
            e.preventDefault();
            save();
          }
        }}
      />
      <p className="meta">
        {t.setAsideAfter}
        {ran.length > 0 && (
          <strong>
            {' '}
            {t.alreadyRanEdit(ran.join(', '))}
          </strong>
        )}
      </p>
      {aside.length > 0 ? (
        <SetAside text={null} calls={aside} onSend={send} onAnswered={onCancel} onBack={() => setAside([])} />
      ) : (
        <div className="edit-buttons">
          <button type="button" className="button outline" onClick={onCancel}>
            {t.cancel}
          </button>
          <button type="button" className="button primary" onClick={save}>
            {t.sendAgain}
          </button>
        </div>
      )}
    </div>
  );
}

/* ---- the assistant ---- */

function AssistantMessage({ message, last }: { message: Message; last: boolean }) {
  const streaming = message.status === 'open';
  return (
    <article
      className="msg assistant"
      aria-label={named(t.assistant, message)}
      aria-busy={streaming}
      data-id={message.id}
      data-status={message.status}
      tabIndex={-1}
      {...usePress()}
    >
      <h2 className="sr">{t.assistant}</h2>
      <span className="mark" aria-hidden="true" />
      <div className="said" lang={streaming ? undefined : languageOf(textOf(message))}>
        {message.summarised && <p className="seam">{t.summarised}</p>}
        <Parts message={message} streaming={streaming} />
        <Ending message={message} last={last} />
        {message.payload && !streaming && <PayloadView payload={message.payload} last={last} />}
        {!streaming && message.status !== 'parked' && <AnswerTools message={message} last={last} />}
      </div>
    </article>
  );
}

type Group =
  { type: 'calls'; calls: Call[]; key: string } | { type: 'part'; part: Exclude<Part, { type: 'call' }>; key: string; at: number };

function groupsOf(message: Message): Group[] {
  const out: Group[] = [];
  message.parts.forEach((part, at) => {
    if (part.type !== 'call') {
      if (part.type !== 'text' || part.text.trim()) out.push({ type: 'part', part, at, key: `p${at}` });
      return;
    }
    const call = message.calls[part.id];
    const prev = out.at(-1);
    if (!call) return;
    if (prev?.type === 'calls') prev.calls.push(call);
    else out.push({ type: 'calls', calls: [call], key: `c${part.id}` });
  });
  return out;
}

function Parts({ message, streaming }: { message: Message; streaming: boolean }) {
  const groups = groupsOf(message);
  return groups.map((g, i) => {
    if (g.type === 'calls')
      return (
        <div className="tools" key={g.key}>
          <ToolGroup calls={g.calls} />
        </div>
      );
    const growing = streaming && i === groups.length - 1;
    switch (g.part.type) {
      case 'text':
        return (
          <div key={g.key} className={growing ? 'text growing' : 'text'}>
            <Markdown text={g.part.text} growing={growing} />
          </div>
        );
      case 'reasoning':
        return <Reasoning key={g.key} part={g.part} alone={growing} />;
      case 'file':
        return <FileView key={g.key} part={g.part} />;
    }
  });
}

/* Folded, except while there is nothing else to look at. */
function Reasoning({ part, alone }: { part: Extract<Part, { type: 'reasoning' }>; alone: boolean }) {
  const [chosen, setChosen] = useState<boolean | null>(null);
  const open = chosen ?? (alone && !part.done);
  const thought = part.startedAt && part.endedAt ? t.thoughtFor(duration(part.endedAt - part.startedAt)) : t.thought;
  return (
    <section className="reasoning">
      <button type="button" className="link" aria-expanded={open} onClick={() => setChosen(!open)}>
        <Icon name="thought" size={16} />
        {part.done || !alone ? thought : t.thinking}
      </button>
      {open && <Markdown text={part.text} growing={!part.done} />}
    </section>
  );
}

function Ending({ message, last }: { message: Message; last: boolean }) {
  if (message.status === 'stopped') return <p className="ending">{t.stopped}</p>;
  if (message.payload?.cut === 'length') return <p className="ending">{t.cutLength}</p>;
  if (message.payload?.cut === 'content-filter') return <p className="ending">{t.cutFilter}</p>;
  if (message.status !== 'failed' || !message.error) return null;
  return (
    <div className="failure" role="alert">
      <Icon name="warning" />
      <p>
        <strong>{t.answerFailed}</strong> {message.error.message}{' '}
        {callsOf(message).length > 0 || textOf(message) ? t.keptBefore : t.keptYours}
      </p>
      {last && message.error.retryable && <Retry message={message} words={t.tryAgain} />}
    </div>
  );
}

function AnswerTools({ message, last }: { message: Message; last: boolean }) {
  const chat = useChat();
  const text = textOf(message);
  const cost = message.usage ? (chat.cost?.(message.usage) ?? null) : null;
  return (
    <div className="msg-tools">
      {text && <CopyButton text={text} label={t.copyAnswer} />}
      {last && message.status !== 'failed' && <Retry message={message} />}
      {message.at && <When at={message.at} />}
      {message.usage && <Took usage={message.usage} cost={cost} />}
    </div>
  );
}

/* One figure, and what it is made of for whoever asks. */
function Took({ usage: { input_tokens: read = 0, output_tokens: written = 0 }, cost }: { usage: Usage; cost: string | null }) {
  return (
    <span className="meta" title={t.tokensHow(number(read), number(written))}>
      {t.tokens(number(read + written))}
      {cost && ` · ${t.cost(cost)}`}
    </span>
  );
}

function When({ at }: { at: number }) {
  const now = useNow(60_000);
  return (
    <time className="meta" dateTime={new Date(at).toISOString()} title={fullTime(at)}>
      {ago(at, now)}
    </time>
  );
}

/* Tools that already did something are not run again silently: the person is told first. */
function Retry({ message, words }: { message: Message; words?: string }) {
  const chat = useChat();
  const [asks, setAsks] = useState(false);
  const ran = chat.ran(message.id);
  if (chat.reads) return null;
  if (asks) {
    return (
      <span className="retry-warning" role="alert">
        {t.alreadyRan(ran.join(', '))}{' '}
        <button type="button" className="link" onClick={() => chat.regenerate(message)}>
          {t.answerAgain}
        </button>{' '}
        <button type="button" className="link" onClick={() => setAsks(false)}>
          {t.leaveIt}
        </button>
      </span>
    );
  }
  return (
    <button
      type="button"
      className={words ? 'button outline' : 'quiet'}
      aria-label={words ?? t.answerAgain}
      title={t.answerAgain}
      onClick={() => (ran.length ? setAsks(true) : chat.regenerate(message))}
    >
      {words ?? <Icon name="retry" size={16} />}
    </button>
  );
}

/* Silences longer than this are explained. */
const silence_s = 5;

interface ThinkingProps {
  status: string | null;
  since: number | null;
  stopping: boolean;
  /** The last thing that is known to have happened. */
  after?: string;
}

/** Between sending and the first word: what is known, and since when nothing has been heard. */
export function Thinking({ status, since, stopping, after }: ThinkingProps) {
  const now = useNow(1000, since !== null);
  const s = since ? Math.floor((now - since) / 1000) : 0;
  return (
    <div className="thinking">
      <span className="dots" aria-hidden="true">
        <i />
        <i />
        <i />
      </span>
      <span>{stopping ? t.stopping : (status ?? t.thinkingDots)}</span>
      {s >= silence_s && (
        <span className="meta">{after ? t.after(seconds(s), after) : seconds(s)}</span>
      )}
    </div>
  );
}

/** In the middle of an answer: it goes on, but nothing has come for a while. */
export function Silence({ open }: { open: Message }) {
  const heard = useMemo(() => Date.now(), [open]);
  const s = Math.floor((useNow(1000) - heard) / 1000);
  return s >= silence_s ? <p className="ending silence">{t.silence(s)}</p> : null;
}
