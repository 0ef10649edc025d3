/* Transcript.tsx -- the conversation, oldest first, in turns.
 *
 * A labelled log that is not a live region: a screen reader would read token by
 * token. Boundaries are announced elsewhere (Announcer). Only the newest
 * messages are loaded and drawn at first; older ones come before the reader
 * gets to them, and what is read stays where it is.
 */
import { memo, useEffect, useLayoutEffect, useMemo, useRef, useState, type RefObject } from 'react';
import { callsOf, readVersion, settled, unsentAt, type Message, type ThreadState } from '../protocol';
import { VersionContext, type VersionSwitcher } from './context';
import { Icon } from './icons';
import { MessageView, Silence, Thinking } from './Message';
import { useStick } from './useStick';
import { t } from '../words';

const page = 60; // messages

interface Props {
  thread: string | null;
  state: ThreadState;
  /** Counts messages sent from here: each one pins the view. */
  sent: number;
  waiting: boolean;
  /** An earlier version is on the screen: the answer that it ends with, which a message goes on from. */
  onOld: (after: string | null) => void;
  /** Loads the messages before the first one. */
  onOlder: () => Promise<void>;
}

export function Transcript({ thread, state, sent, waiting, onOld, onOlder }: Props) {
  const stick = useStick(thread);
  const { toEnd } = stick;
  useEffect(() => {
    if (sent > 0) toEnd();
  }, [sent, toEnd]);
  const [upTo, setUpTo] = useState<string | null>(null);
  useEffect(() => setUpTo(null), [thread]);
  const versions = useVersions(thread, sent, state);
  const all = versions.messages;
  const after = versions.old ? (all.findLast((m) => !m.id.startsWith('local-'))?.id ?? null) : null;
  useEffect(() => onOld(after), [onOld, after]);
  const from = firstShown(all, upTo);
  // At the end the oldest make room for the newest; under the eyes of a reader nothing goes away.
  useEffect(() => {
    if (!stick.pinned) setUpTo((held) => held ?? nameOf(all.at(-1)));
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [stick.pinned]);
  const turns = useMemo(() => turnsOf(all.slice(from)), [all, from]);
  // The turn that is being answered; behind it stand messages that have not left.
  const end = Math.max(0, (state.open ? unsentAt(turns.map((turn) => turn[0]!)) : turns.length) - 1);
  const first = nameOf(turns[0]?.[0]);
  useAnchor(stick.scroller, stick.content, first);
  const more = () => (from > 0 ? Promise.resolve() : onOlder()).then(() => setUpTo(first));
  const idle = !state.open && !waiting && !versions.old;
  const told = !versions.old && state.open && (state.open.parts.length > 0 || state.open.status === 'parked') ? state.open : null;
  const tail = versions.old ? <OldVersion onLeave={versions.leave} /> : tailOf(state, waiting);
  return (
    <VersionContext value={versions.switcher}>
      <div className="scroller" ref={stick.scroller} tabIndex={-1}>
        <div className="column" ref={stick.content} role="log" aria-live="off" aria-label={t.conversation} data-pinned={stick.pinned}>
          {(from > 0 || (state.earlier && !versions.old)) && <Older key={first} onSeen={more} />}
          {turns.map((turn, i) => {
            const last = i === end;
            return (
              <Turn
                key={nameOf(turn[0])}
                messages={turn}
                open={last ? told : null}
                last={last}
                idle={idle}
                fresh={i === turns.length - 1 && sent > 0}
                tail={last ? tail : null}
              />
            );
          })}
          {turns.length === 0 && told && <MessageView message={told} last={told.status === 'parked'} />}
          {turns.length === 0 && tail}
        </div>
        {!stick.pinned && stick.away && (
          <button type="button" className="jump" onClick={toEnd}>
            <Icon name="down" size={16} />
            {stick.news ? t.newBelow : t.toLatest}
          </button>
        )}
      </div>
    </VersionContext>
  );
}

function OldVersion({ onLeave }: { onLeave: () => void }) {
  return (
    <p className="ending old-version">
      {t.readingOld}{' '}
      <button type="button" className="link" onClick={onLeave}>
        {t.toNewest}
      </button>
    </p>
  );
}

/* The newest version of everything, unless the reader chose another. A message sent from here leads back to the newest. */
function useVersions(thread: string | null, sent: number, state: ThreadState) {
  const [chosen, setChosen] = useState<Record<string, number>>({});
  useEffect(() => setChosen({}), [thread, sent]);
  const read = useMemo(() => readVersion(state, chosen), [state.messages, state.versions, chosen]);
  const switcher = useMemo<VersionSwitcher>(
    () => ({ ...read, show: (of, index) => setChosen((c) => ({ ...c, [of]: index })) }),
    [read],
  );
  return { messages: read.messages, switcher, old: read.old.size > 0, leave: () => setChosen({}) };
}

interface TurnProps {
  messages: Message[];
  open: Message | null;
  last: boolean;
  idle: boolean;
  fresh: boolean;
  tail: React.ReactNode;
}

/*
 * A question and what answers it. The newest turn fills the screen, so that the
 * question stands at the top and the answer grows below it. The answer being
 * told stands in the same list as it will when it is finished: nothing is built
 * anew at the end.
 */
const Turn = memo(function Turn({ messages, open, last, idle, fresh, tail }: TurnProps) {
  const all = open ? [...messages, open] : messages;
  return (
    <section className={fresh ? 'turn fresh' : 'turn'}>
      {all.map((m, i) => (
        <MessageView key={m.key ?? m.id} message={m} last={last && i === all.length - 1 && (idle || m.status === 'parked')} />
      ))}
      {tail}
    </section>
  );
});

/* The bubble for the time when there is nothing to read and no card that moves. */
function tailOf(state: ThreadState, waiting: boolean): React.ReactNode {
  const { open } = state;
  const silent =
    waiting || (open?.status === 'open' && (state.statusText !== null || open.parts.length === 0 || state.waitingSince !== null));
  const running = open ? Object.values(open.calls).some((c) => c.status === 'running') : false;
  if (running || (!silent && open?.status !== 'open')) return null;
  if (!silent) return <Silence open={open!} />;
  const step = open ? callsOf(open).findLast((c) => settled.has(c.status)) : undefined;
  return <Thinking status={state.statusText} since={state.waitingSince} stopping={state.stopping} after={step?.name} />;
}

/*
 * What is read stays where it is when messages come in above it. (The browser does so by itself, but not at the very top,
 * where a reader who is faster than the network waits for them.)
 */
function useAnchor(scroller: RefObject<HTMLElement | null>, content: RefObject<HTMLElement | null>, first: string | null): void {
  const drawn = useRef(first);
  const turn = drawn.current === first ? null : content.current?.querySelector('.turn');
  const before = turn?.getBoundingClientRect().top ?? 0; // as it is on the screen, before it changes
  useLayoutEffect(() => {
    drawn.current = first;
    if (turn?.isConnected) scroller.current!.scrollTop += turn.getBoundingClientRect().top - before;
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [first]);
}

/* About two screens ahead of the reader. */
const ahead = '1600px';

/* Made anew with each page that came: if it is still within reach, the next one is asked for. */
function Older({ onSeen }: { onSeen: () => Promise<void> }) {
  const [state, setState] = useState<'idle' | 'loading' | 'failed'>('idle');
  const ref = useRef<HTMLButtonElement>(null);
  const load = () => {
    setState('loading');
    onSeen().then(
      () => setState('idle'),
      () => setState('failed'),
    );
  };
  const seen = useRef(load);
  seen.current = load;
  useEffect(() => {
    const watch = new IntersectionObserver((e) => e.some((x) => x.isIntersecting) && seen.current(), {
      root: ref.current!.closest('.scroller'),
      rootMargin: ahead,
    });
    watch.observe(ref.current!);
    return () => watch.disconnect();
  }, []);
  return (
    <button type="button" className="link older" ref={ref} onClick={load}>
      {t.older[state]}
    </button>
  );
}

/* What a message is called on the screen. */
function nameOf(m: Message | undefined): string | null {
  return m ? (m.key ?? m.id) : null;
}

/* A page before the message `upTo`, and everything after it; without one, the newest page. */
function firstShown(messages: Message[], upTo: string | null): number {
  const at = upTo === null ? -1 : messages.findIndex((m) => nameOf(m) === upTo);
  return turnAt(messages, (at < 0 ? messages.length : at + 1) - page);
}

/* No question is parted from its answer. */
function turnAt(messages: Message[], at: number): number {
  let from = Math.max(0, at);
  while (from > 0 && messages[from]!.role !== 'user') from--;
  return from;
}

function turnsOf(messages: Message[]): Message[][] {
  const out: Message[][] = [];
  for (const m of messages) {
    if (m.role === 'user' || out.length === 0) out.push([m]);
    else out.at(-1)!.push(m);
  }
  return out;
}
