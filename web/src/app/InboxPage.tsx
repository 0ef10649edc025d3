/* InboxPage.tsx -- `/inbox`: everything that waits for this person, by urgency and age, and what was decided.
 *
 * Five hundred may wait: each is a line, and only those that are opened are cards. `/approvals/<id>` is the same page with
 * that one opened. For somebody who only decides it is the whole page.
 */
import { memo, useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState, type FocusEvent, type RefObject } from 'react';
import { RiskMark, stateOf } from '../chat/ApprovalCard';
import { Revealed, Sentence } from '../chat/Arguments';
import { alone, ChatContext, useChat, useNow, type ChatActions } from '../chat/context';
import { Icon } from '../chat/icons';
import { mayDecide, nameFor } from '../chat/people';
import { byUrgency, type Urgency } from '../chat/urgency';
import { callOf, Waiting } from '../chat/Waiting';
import { ago, fullTime, humanName, left } from '../chat/words';
import type { ApprovalRecord } from '../protocol';
import { t } from '../words';
import type { Over } from './App';
import { Context } from './Context';
import { Decided } from './Decided';
import { Grants } from './Grants';
import { decided } from './Inbox';
import { Notices, SignIn } from './Pieces';
import { product } from './product';
import { addressOf, useNamed, visit } from './router';
import { Settings } from './Settings';
import { api, hasThreads, lookAgain, startPage, useLists } from './store';

type Tab = 'waiting' | 'decided' | 'grants';

export default function InboxPage({ over, setOver }: { over: Over; setOver: (over: Over) => void }) {
  const { me, inbox, tools, signIn } = useLists();
  const [tab, setTab] = useState<Tab>(() => (location.search === '?grants' ? 'grants' : 'waiting'));
  const chat = useMemo<ChatActions>(
    () => ({ ...alone, mayDecide: mayDecide(me), name: nameFor(me), tool: (name) => tools.find((x) => x.name === name) }),
    [me, tools],
  );
  useEffect(() => startPage(() => null), []);
  const heading = tab !== 'waiting' ? t.inboxTabs[tab] : t.waitingForYou;
  useEffect(() => {
    document.title = `${inbox.length ? `(${inbox.length}) ` : ''}${heading} · ${product.name}`;
  }, [inbox.length, heading]);
  return (
    <ChatContext value={chat}>
      <div className="app alone">
        <main className="main inbox-page">
          <header className="top">
            {hasThreads(me) && (
              <button type="button" className="quiet" aria-label={t.toConversations} title={t.toConversations} onClick={() => visit('/')}>
                <Icon name="back" />
              </button>
            )}
            <h1 className="top-title">{tab === 'waiting' && inbox.length > 0 ? t.waitingCount(inbox.length) : heading}</h1>
            <button type="button" className="quiet" aria-label={t.settings} onClick={() => setOver('settings')}>
              <Icon name="settings" />
            </button>
          </header>
          <div className="scroller">
            <div className="column">
              <p className="meta">
                {me && `${t.signedInAs(me.principal)} ${t.othersAppear}`}
              </p>
              <div className="tabs pages" role="group" aria-label={t.inboxShows}>
                {(['waiting', 'decided', 'grants'] as const).map((x) => (
                  <button key={x} type="button" aria-pressed={tab === x} onClick={() => setTab(x)}>
                    {t.inboxTabs[x]}
                    {x === 'waiting' && inbox.length > 0 && <span className="count">{inbox.length}</span>}
                  </button>
                ))}
              </div>
              {!me || tab === 'waiting' ? <WaitingList /> : tab === 'decided' ? <Decided /> : <Grants />}
            </div>
          </div>
          <Notices />
        </main>
        {over === 'settings' && <Settings onClose={() => setOver(null)} onSave={null} thread={null} />}
        {signIn && <SignIn onDone={lookAgain} />}
      </div>
    </ChatContext>
  );
}

/* Few are shown whole; of many each is opened when it is looked at. What was shown in one way stays so, until they are
 * far too many: nothing moves under the hand that decides. */
const wholeMax = 3;
const wholeEnd = 10;

function useWhole(count: number): boolean {
  const [whole, setWhole] = useState<boolean | null>(null);
  useEffect(() => {
    if (count > 0) setWhole((now) => (now === null ? count <= wholeMax : now && count <= wholeEnd));
  }, [count]);
  return whole ?? count <= wholeMax;
}

/* When the row that has the focus goes, the next one moves up and has it: not the top of the page. */
function useFocusGoesOn(list: RefObject<HTMLDivElement | null>, inbox: ApprovalRecord[]) {
  const last = useRef<{ row: Element; at: number } | null>(null);
  useLayoutEffect(() => {
    if (!last.current || !list.current) return;
    const rows = [...list.current.querySelectorAll('.inbox-row')];
    const at = rows.indexOf(last.current.row);
    if (at >= 0) last.current.at = at;
    else if (document.activeElement === document.body) rows[Math.min(last.current.at, rows.length - 1)]?.querySelector<HTMLElement>('.inbox-line')?.focus();
  }, [list, inbox]);
  return (e: FocusEvent<HTMLDivElement>) => {
    const rows = [...e.currentTarget.querySelectorAll('.inbox-row')];
    const at = rows.findIndex((r) => r.contains(e.target));
    last.current = at < 0 ? null : { row: rows[at]!, at };
  };
}

function WaitingList() {
  const { inbox, loaded, me } = useLists();
  const named = useNamed();
  const now = useNow(30_000);
  const whole = useWhole(inbox.length);
  const [opened, setOpened] = useState<ReadonlyMap<string, boolean>>(new Map());
  const list = useRef<HTMLDivElement>(null);
  const toggle = useCallback((id: string, open: boolean) => setOpened((all) => new Map(all).set(id, open)), []);
  useEffect(() => {
    if (named) list.current?.querySelector(`[data-request="${named}"]`)?.scrollIntoView({ block: 'start' });
  }, [named, loaded]);
  const remember = useFocusGoesOn(list, inbox);
  if (inbox.length === 0) return <p className="inbox-none">{loaded ? t.nothingWaits : t.looking}</p>;
  return (
    <div ref={list} className="inbox-list" onFocusCapture={remember}>
      {byUrgency(inbox, now).map(([urgency, records]) => (
        <section key={urgency} aria-label={t.urgency[urgency]}>
          <h2>
            {t.urgency[urgency]} <span className="count">{records.length}</span>
          </h2>
          <ul>
            {records.map((r) => (
              <Line
                key={r.id}
                record={r}
                me={me?.principal}
                urgency={urgency}
                now={now}
                whole={whole}
                open={opened.get(r.id) ?? r.id === named}
                toggle={toggle}
                onDone={decided}
              />
            ))}
          </ul>
        </section>
      ))}
    </div>
  );
}

interface LineProps {
  record: ApprovalRecord;
  me: string | undefined;
  urgency: Urgency;
  now: number;
  /** Nothing but the card: there are few. */
  whole: boolean;
  open: boolean;
  toggle: (id: string, open: boolean) => void;
  onDone: (words: string | null) => Promise<void>;
}

/* The list comes anew with every look at it; a line that says the same is not drawn again. */
const Line = memo(DrawnLine, (a, b) => a.open === b.open && a.whole === b.whole && a.now === b.now && a.me === b.me && JSON.stringify(a.record) === JSON.stringify(b.record));

function DrawnLine({ record, me, urgency, now, whole, open, toggle, onDone }: LineProps) {
  const chat = useChat();
  const who = record.owner && record.owner !== me ? record.owner : null;
  const rest = record.expires_at ? left(record.expires_at, now) : '';
  return (
    <li className="inbox-row" data-request={record.id} data-urgency={urgency}>
      {!whole && (
        <button type="button" className="inbox-line" aria-expanded={open} onClick={() => toggle(record.id, !open)}>
          <Icon name={record.status === 'unknown' ? 'question' : 'shield'} size={16} />
          {/* Opened, the card says it, and this says what the card would say first. */}
          <span className={open ? 'inbox-ask sr' : 'inbox-ask'}>
            <Sentence text={record.ask ?? t.runWhat(humanName(record.tool))} input={record.input} />
          </span>
          {open && <span className="ask-state">{record.status === 'unknown' ? t.state.unknown : stateOf(callOf(record), chat.mayDecide)}</span>}
          <span className="inbox-facts meta">
            {who && (
              <span>
                <Revealed text={who} name />
              </span>
            )}
            {record.requested_at && (
              <time dateTime={record.requested_at} title={fullTime(record.requested_at)}>
                {ago(Date.parse(record.requested_at), now)}
              </time>
            )}
            {urgency !== 'high' && record.risk && record.risk !== 'low' && <RiskMark risk={record.risk} />}
            {urgency === 'soon' && <span className="inbox-soon">{rest ? t.expiresIn(rest) : t.state.expired}</span>}
          </span>
          <Icon name="chevron" size={16} />
        </button>
      )}
      {(open || whole) && (
        <div className="inbox-open">
          <Waiting record={record} api={api} headed={!whole} onDone={onDone} onOpen={(thread) => visit(addressOf(thread))} />
          <Context record={record} />
        </div>
      )}
    </li>
  );
}
