/* App.tsx -- the page: list, conversation, composer, and what opens over them. */
import { lazy, Suspense, useCallback, useEffect, useMemo, useRef, useState, useSyncExternalStore, type RefObject } from 'react';
import { Announcer } from '../chat/Announcer';
import { Composer, type ComposerHandle } from '../chat/Composer';
import { ArtifactPanel } from '../chat/ArtifactPanel';
import { AskSheet } from '../chat/AskSheet';
import { ChatContext, useDrawers, type ChatActions } from '../chat/context';
import { Icon } from '../chat/icons';
import { Elsewhere, SetAside } from '../chat/SetAside';
import { Transcript } from '../chat/Transcript';
import { callsOf, filesOf, isStreaming, textOf, type Call, type FilePart, type SuggestedAction, type ThreadState } from '../protocol';
import type { ToolInfo } from '../transport/api';
import { newId, type Draft, type Session, type Unsent } from '../transport/session';
import { Approver } from './Approver';
import { save as saveAs, type Kind } from './export';
import { Inbox } from './Inbox';
import { notice } from './notices';
import { useNotify } from './notify';
import type { PaletteAction } from './Palette';
import { Banner, BgmIndicator, Notices, Shortcuts, SignIn } from './Pieces';
import { addDraft, getDraft, getFiles, markRead, setDraft, setFiles, setPrefs, usePrefs } from './prefs';
import { costOf, product, said } from './product';
import { go, useRoute } from './router';
import { Settings } from './Settings';
import { useShortcuts } from './shortcuts';
import { Sidebar } from './Sidebar';
import { carryDraft, hasThreads, keep, lookAgain, mayDecide, refreshSoon, sessionFor, startPage, useLists } from './store';
import { Welcome } from './Welcome';
import { t } from '../words';

const DevPanel = lazy(() => import('./DevPanel'));
const Palette = lazy(() => import('./Palette'));

/** What lies over the page. */
export type Over = 'inbox' | 'settings' | 'keys' | 'palette' | null;

/* The session of the address; a new conversation keeps its session when it gets its address. */
function useSession(route: string | null): Session {
  const held = useRef<Session | null>(null);
  const [fresh, setFresh] = useState(0);
  const { mode } = usePrefs();
  const session = useMemo(() => {
    const now = held.current;
    if (now && route !== null && now.get().id === route) return now;
    const next = sessionFor(route);
    if (now && now !== next) now.leave();
    return next;
    // `fresh` asks for another empty conversation at the same address.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [route, fresh]);
  held.current = session;
  useEffect(() => session.open(), [session]);
  useEffect(() => session.setMode(mode), [session, mode]);
  useEffect(() => startPage(() => held.current), []);
  const leave = useCallback(() => setFresh((n) => n + 1), []);
  useEffect(() => {
    if (route === null && session.get().id !== null) leave();
  }, [route, session, leave]);
  return session;
}

export function App({ over, setOver }: { over: Over; setOver: (over: Over) => void }) {
  const route = useRoute();
  const session = useSession(route);
  const snap = useSyncExternalStore(session.subscribe, session.get);
  const lists = useLists();
  const prefs = usePrefs();
  const composer = useRef<ComposerHandle>(null);
  const search = useRef<HTMLInputElement>(null);
  const [drawer, setDrawer, closeDrawer, menu] = useDrawer(search);
  const [sent, setSent] = useState(0);
  const [held, setHeld] = useState<Draft | null>(null);
  const [readsOld, setReadsOld] = useState(false);
  const [beside, setBeside] = useState<string | null>(null);
  const { state } = snap;
  const streaming = isStreaming(state) || session.awaitsFirstWord();
  const waiting = !state.open && session.awaitsFirstWord();

  const open = useCallback((id: string | null) => {
    setDrawer(false);
    setOver(null);
    go(id);
    requestAnimationFrame(() => composer.current?.focus());
  }, []);

  // The first message of a conversation gives it its address.
  useEffect(() => {
    if (snap.id && route === null) {
      keep(snap.id, session);
      // What was written meanwhile goes along.
      setDraft(snap.id, getDraft(null));
      setFiles(snap.id, getFiles(null));
      setDraft(null, '');
      setFiles(null, []);
      go(snap.id, true);
    }
  }, [snap.id, route, session]);
  useEffect(() => setBeside(null), [session]);
  useEffect(() => setSent(0), [route === snap.id ? null : route]);

  const transmit = useCallback(
    (text: string, files: FilePart[]) => {
      setHeld(null);
      setSent((n) => n + 1);
      if (session.occupied()) session.enqueue(text, files);
      else void session.send(text, files);
    },
    [session],
  );

  // A message would set aside what waits: the person is asked first, and it stays in the composer.
  const offer = useCallback(
    (text: string, files: FilePart[]): boolean => {
      const aside = readsOld || (waits(session) && !session.occupied());
      if (aside) setHeld({ text, files });
      else transmit(text, files);
      return !aside;
    },
    [session, transmit, readsOld],
  );

  const send = useCallback(
    (text: string, files: FilePart[] = []) => {
      if (offer(text, files)) return;
      composer.current?.fill(text, files);
      setHeld({ text, files });
    },
    [offer],
  );

  // Before what is being written, not instead of it.
  const takeBack = useCallback(
    ({ text, files }: Draft) => composer.current?.fill(addDraft(session.get().id, text), files),
    [session],
  );

  const actions = useMemo<ChatActions>(
    () => ({
      mayDecide: mayDecide(lists.me),
      decide: (id, confirmed, reason) => void session.decide(id, confirmed, reason),
      settle: (id, outcome) => session.settle(id, outcome),
      send,
      fill: (text) => composer.current?.fill(text),
      act: (action) => act(session, action, () => open(null)),
      retrySend: (id) => void session.retrySend(id),
      discard: (id) => takeBack(session.discard(id)),
      edit: (id, text) => (setSent((n) => n + 1), void session.edit(id, text)),
      regenerate: (answer) => (setSent((n) => n + 1), void session.regenerate(answer)),
      ran: (from) => {
        const { messages } = session.get().state;
        const later = messages.slice(messages.findIndex((m) => m.id === from)).flatMap(callsOf);
        const did = (c: Call) => c.status === 'done' && (c.approval || lists.tools.find((t) => t.name === c.name)?.idempotent === false);
        return [...new Set(later.filter(did).map((c) => c.name))];
      },
      again: (call) => {
        const { messages } = session.get().state;
        const answer = messages.findIndex((m) => m.calls[call]);
        const question = messages.slice(0, answer).findLast((m) => m.role === 'user');
        if (question) send(textOf(question), filesOf(question));
      },
      beside: setBeside,
      cost: costOf,
      tool: (name) => lists.tools.find((t) => t.name === name),
      name: (who) => (who === 'you' || who === lists.me?.principal ? 'you' : lists.me ? who : null),
    }),
    [session, send, takeBack, open, lists.tools, lists.me],
  );

  useShortcuts({
    close: () => (drawer ? (closeDrawer(), true) : false),
    stop: () => (streaming ? (void session.stop(), true) : false),
    compose: () => composer.current?.focus(),
    palette: () => setOver('palette'),
    fresh: () => open(null),
    help: () => setOver('keys'),
    state: () => session.get().state,
    copied: () => notice(t.answerCopied),
  });

  // Until the server has named it, a conversation is called by its first question.
  const listed = lists.threads.find((x) => x.id === snap.id);
  const title = listed?.title || snap.title || (state.messages[0] ? textOf(state.messages[0]).slice(0, 80) : null);
  useTitle(lists.inbox.length, title);
  useNotify({ state, inbox: lists.inbox, thread: snap.id, open });
  useReadMarks(snap.id, listed?.updated_at);
  useNewName(state);

  const empty = state.messages.length === 0 && !state.open;
  const asking = state.open ? callsOf(state.open).filter((c) => c.status === 'asking') : [];
  const artifacts = useArtifacts(state, lists.tools);
  const shown = artifacts.some((c) => c.id === beside) ? beside : null;
  const gone = snap.connection.state === 'gone';
  const draftKey = snap.id ?? route;
  const save = (kind: Kind) =>
    void session.whole().then(
      (all) => saveAs(kind, all, title),
      () => notice(t.notLoaded),
    );
  const doings: PaletteAction[] = [
    { name: t.newConversation, icon: 'plus', run: () => open(null) },
    { name: t.waitingForYou, icon: 'inbox', run: () => later(() => setOver('inbox')) },
    { name: t.settings, icon: 'settings', run: () => later(() => setOver('settings')) },
    { name: t.keyboard, icon: 'question', run: () => later(() => setOver('keys')) },
    ...(streaming ? [{ name: t.stopAnswer, icon: 'stop' as const, run: () => void session.stop() }] : []),
    ...(empty
      ? []
      : [
          { name: t.saveMarkdown, icon: 'export' as const, run: () => save('markdown') },
          { name: t.saveJson, icon: 'export' as const, run: () => save('json') },
        ]),
    ...(['system', 'light', 'dark'] as const)
      .filter((theme) => theme !== prefs.theme)
      .map((theme) => ({ name: t.themeTo(t.themes[theme]), icon: 'theme' as const, run: () => setPrefs({ theme }) })),
  ];
  if (!hasThreads(lists.me)) {
    return (
      <ChatContext value={actions}>
        <div className="app alone">
          <Approver onSettings={() => setOver('settings')} />
          {over === 'settings' && <Settings onClose={() => setOver(null)} onSave={null} />}
          {lists.signIn && <SignIn onDone={lookAgain} />}
        </div>
      </ChatContext>
    );
  }
  return (
    <ChatContext value={actions}>
      <div className={['app', ...(prefs.developer ? ['with-dev'] : []), ...(shown ? ['with-artifact'] : [])].join(' ')}>
        <div className={drawer ? 'side-wrap open' : 'side-wrap'}>
          <Sidebar current={snap.id} onOpen={open} searchRef={search} />
          <button type="button" className="scrim" aria-label={t.closeList} tabIndex={drawer ? 0 : -1} onClick={closeDrawer} />
        </div>
        <main className="main" inert={drawer}>
          <header className="top">
            <button
              ref={menu}
              type="button"
              className="quiet menu"
              aria-label={t.conversations}
              aria-expanded={drawer}
              onClick={() => setDrawer(true)}
            >
              <Icon name="menu" />
            </button>
            {title ? (
              <h1 className="top-title" dir="auto">
                {title}
              </h1>
            ) : (
              <span className="top-title" />
            )}
            {product.model && (
              <span className="model-name" title={t.answersWith(product.model)}>
                <span className="sr">{t.model}: </span>
                {product.model}
              </span>
            )}
            <BgmIndicator />
            <button
              type="button"
              className="quiet inbox-button"
              aria-label={t.waitingCount(lists.inbox.length)}
              onClick={() => setOver('inbox')}
            >
              <Icon name="inbox" />
              {lists.inbox.length > 0 && <span className="badge">{lists.inbox.length}</span>}
            </button>
            <button type="button" className="quiet" aria-label={t.settings} onClick={() => setOver('settings')}>
              <Icon name="settings" />
            </button>
          </header>
          {gone ? (
            <section className="welcome">
              <h1>{t.gone}</h1>
              <p>{t.goneWhy}</p>
              <button type="button" className="button primary" onClick={() => (carryDraft(draftKey), open(null))}>
                {t.newConversation}
              </button>
            </section>
          ) : empty && snap.loaded ? (
            <div className="scroller">
              <Welcome onPick={send} />
            </div>
          ) : (
            <Transcript
              thread={route ?? snap.id}
              state={state}
              sent={sent}
              waiting={waiting}
              onOld={setReadsOld}
              onOlder={() => session.loadOlder()}
            />
          )}
          <div className="dock">
            <Banner connection={snap.connection} onRetry={() => session.nudge()} />
            <AskSheet key={state.open?.id} calls={asking} />
            {held && readsOld && (
              <Elsewhere
                onSend={() => (composer.current?.clear(), transmit(held.text, held.files))}
                onBack={() => setHeld(null)}
              />
            )}
            {held && !readsOld && asking.length > 0 && (
              <SetAside
                text={held.text}
                calls={asking}
                onSend={() => (composer.current?.clear(), transmit(held.text, held.files))}
                onAnswered={() => (composer.current?.clear(), setHeld(null))}
                onBack={() => setHeld(null)}
              />
            )}
            <Queue session={session} queue={snap.queue} onBack={takeBack} />
            <Composer
              key={composerKey(session)}
              ref={composer}
              draft={getDraft(draftKey)}
              files={getFiles(draftKey)}
              onDraft={(t) => (setDraft(draftKey, t), setHeld(null))}
              onFiles={(f) => setFiles(draftKey, f)}
              enterIsLine={prefs.enterIsLine}
              streaming={streaming}
              stopping={state.stopping}
              onSend={offer}
              onStop={() => void session.stop()}
              onEditLast={() => editLast()}
            />
            {product.footer && <p className="footer">{said(product.footer)}</p>}
          </div>
          <Notices />
          <Announcer state={state} loaded={snap.loaded} />
        </main>
        {shown && <ArtifactPanel calls={artifacts} shown={shown} onShow={setBeside} onClose={() => (setBeside(null), composer.current?.focus())} />}
        {prefs.developer && (
          <Suspense fallback={null}>
            <DevPanel onClose={() => setPrefs({ developer: false })} />
          </Suspense>
        )}
        {over === 'inbox' && <Inbox onClose={() => setOver(null)} onOpen={open} />}
        {over === 'settings' && <Settings onClose={() => setOver(null)} onSave={empty ? null : save} />}
        {over === 'keys' && <Shortcuts onClose={() => setOver(null)} />}
        {over === 'palette' && (
          <Suspense fallback={null}>
            <Palette actions={doings} onOpen={open} onClose={() => setOver(null)} />
          </Suspense>
        )}
        {(lists.signIn || snap.connection.state === 'signin') && (
          <SignIn onDone={() => (lookAgain(), session.nudge())} />
        )}
      </div>
    </ChatContext>
  );
}

/* The conversation's artifacts, oldest first. */
function useArtifacts(state: ThreadState, tools: ToolInfo[]): Call[] {
  return useMemo(() => {
    const makers = new Set(tools.filter((t) => t.shows === 'artifact').map((t) => t.name));
    return state.messages.flatMap(callsOf).filter((c) => c.status === 'done' && makers.has(c.name));
  }, [state.messages, tools]);
}

function waits(session: Session): boolean {
  const { open } = session.get().state;
  return open !== null && callsOf(open).some((c) => c.status === 'asking');
}

function Queue({ session, queue, onBack }: { session: Session; queue: Unsent[]; onBack: (d: Draft) => void }) {
  if (queue.length === 0) return null;
  return (
    <ul className="queue" aria-label={t.queue}>
      {queue.map(({ id, text, files }, i) => {
        const name = text || t.pictures(files.length);
        return (
          <li key={id}>
            {files.length > 0 && <Icon name="image" size={16} />}
            <span>{name}</span>
            <button type="button" className="quiet" aria-label={t.takeBackWhat(name)} onClick={() => onBack(session.unqueue(i)!)}>
              <Icon name="close" size={16} />
            </button>
          </li>
        );
      })}
    </ul>
  );
}

/* One composer per conversation: it stays when a new conversation gets its id, with the focus and what is being written. */
const composerKeys = new WeakMap<Session, string>();

function composerKey(session: Session): string {
  const key = composerKeys.get(session) ?? newId('c');
  composerKeys.set(session, key);
  return key;
}

/* Actions of the page itself; everything else belongs to the server. */
async function act(session: Session, action: SuggestedAction, leave: () => void): Promise<void> {
  if (action.handler === 'server') return session.act(action.action, action.data);
  if (action.action === 'close_chat') return leave();
  throw new Error(t.unknownAction(action.action));
}

/* Something that lies over the page is opened when the palette has left. */
function later(open: () => void): void {
  setTimeout(open);
}

function editLast(): void {
  [...document.querySelectorAll<HTMLButtonElement>('article.user button[data-edit]')].at(-1)?.click();
}

/* On a small screen the list lies over the page, which is out of reach meanwhile: the focus goes into it, and back to the button. */
function useDrawer(search: RefObject<HTMLInputElement | null>) {
  const [wanted, setWanted] = useState(false);
  const small = useDrawers();
  const open = small && wanted;
  const menu = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (!small) setWanted(false);
  }, [small, wanted]);
  useEffect(() => {
    if (open) search.current?.closest('nav')?.querySelector('button')?.focus();
  }, [open, search]);
  const close = () => {
    setWanted(false);
    requestAnimationFrame(() => menu.current?.focus());
  };
  return [open, setWanted, close, menu] as const;
}

function useTitle(waiting: number, title: string | null): void {
  useEffect(() => {
    document.title = `${waiting ? `(${waiting}) ` : ''}${title ? `${title} · ` : ''}${product.name}`;
  }, [waiting, title]);
}

/* A model names the conversation after its first answer; nothing tells us, so the list is looked at again. */
const namedWithin_ms = [1000, 3000, 7000];

function useNewName(state: ThreadState): void {
  const first = product.titles === 'model' && !state.open && state.messages.length === 2;
  useEffect(() => {
    if (!first) return;
    const timers = namedWithin_ms.map((ms) => setTimeout(refreshSoon, ms));
    return () => timers.forEach(clearTimeout);
  }, [first]);
}

function useReadMarks(id: string | null, updatedAt: string | undefined): void {
  useEffect(() => {
    if (id && updatedAt && !document.hidden) markRead(id, updatedAt);
  }, [id, updatedAt]);
}
