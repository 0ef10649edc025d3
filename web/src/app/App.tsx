/* App.tsx -- the page: list, conversation, composer, and what opens over them. */
import { lazy, Suspense, useCallback, useEffect, useMemo, useRef, useState, useSyncExternalStore, type RefObject } from 'react';
import { Announcer } from '../chat/Announcer';
import { Banner } from '../chat/Banner';
import type { ComposerHandle } from '../chat/Composer';
import { ArtifactPanel } from '../chat/ArtifactPanel';
import { BesideContext, ChatContext, useDrawers } from '../chat/context';
import { Dock } from '../chat/Dock';
import { Gone } from '../chat/Gone';
import { Icon } from '../chat/icons';
import { said } from '../chat/product';
import { visible } from '../chat/reveal';
import { Transcript } from '../chat/Transcript';
import { useConversation } from '../chat/useConversation';
import { textOf, type SuggestedAction, type ThreadState } from '../protocol';
import { newId, type Session } from '../transport/session';
import { save as saveAs, type Kind } from './export';
import { Inbox } from './Inbox';
import { notice } from './notices';
import { useNotify } from './notify';
import type { PaletteAction } from './Palette';
import { BgmIndicator, ModelChoice, Notices, Shortcuts, SignIn } from './Pieces';
import { addDraft, getDraft, getFiles, keptEdit, markRead, setDraft, setFiles, setPrefs, usePrefs } from './prefs';
import { chosenModel, cost, product, tabTitle } from './product';
import { go, useQuestion, useRoute, visit } from './router';
import { Settings } from './Settings';
import { useShortcuts } from './shortcuts';
import { Sidebar } from './Sidebar';
import { carryDraft, hasThreads, lookAgain, refreshSoon, sessionFor, startPage, useLists } from './store';
import { Welcome } from './Welcome';
import { t } from '../words';

const DevPanel = lazy(() => import('./DevPanel'));
const Palette = lazy(() => import('./Palette'));
const InboxPage = lazy(() => import('./InboxPage'));
const Question = lazy(() => import('./Question'));

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
  const question = useQuestion();
  const session = useSession(route);
  const snap = useSyncExternalStore(session.subscribe, session.get);
  const lists = useLists();
  const prefs = usePrefs();
  const composer = useRef<ComposerHandle>(null);
  const search = useRef<HTMLInputElement>(null);
  const [drawer, setDrawer, closeDrawer, menu] = useDrawer(search);
  const { state } = snap;

  const open = useCallback((id: string | null) => {
    setDrawer(false);
    setOver(null);
    go(id);
    requestAnimationFrame(() => composer.current?.focus());
  }, []);

  // The first message gave the conversation its id: what is being written meanwhile goes along.
  const nameless = useRef<Session | null>(null);
  useEffect(() => {
    if (snap.id && nameless.current === session) carryDraft(null, snap.id);
    nameless.current = snap.id ? null : session;
  }, [snap.id, session]);

  const before = useCallback((text: string) => addDraft(session.get().id, text), [session]);
  const onAction = useCallback((action: SuggestedAction) => act(action, () => open(null)), [open]);
  const talk = useConversation({ session, snap, me: lists.me, tools: lists.tools, composer, before, onAction, cost, keptEdit });
  const { actions, artifacts, beside: shown, setBeside, empty, streaming, unsend } = talk;
  useEffect(() => setBeside(null), [session, setBeside]);
  useEffect(unsend, [route === snap.id ? null : route]);

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
  const title = visible(listed?.title || snap.title || (state.messages[0] ? textOf(state.messages[0]).slice(0, 80) : '')) || null;
  useTitle(lists.inbox.length, title);
  useNotify({ state, inbox: lists.inbox, threads: lists.threads, thread: snap.id, open });
  useReadMarks(snap.id, listed?.updated_at);
  useNewName(state);

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
    { name: t.inboxAll, icon: 'inbox', run: () => visit('/inbox') },
    { name: t.settings, icon: 'settings', run: () => later(() => setOver('settings')) },
    { name: t.keyboard, icon: 'question', run: () => later(() => setOver('keys')) },
    ...(streaming ? [{ name: t.stopAnswer, icon: 'stop' as const, run: () => void session.stop() }] : []),
    ...(empty
      ? []
      : [
          ...(product.share ? [{ name: t.share, icon: 'link' as const, run: () => later(() => setOver('settings')) }] : []),
          { name: t.saveMarkdown, icon: 'download' as const, run: () => save('markdown') },
          { name: t.saveJson, icon: 'download' as const, run: () => save('json') },
        ]),
    ...(['system', 'light', 'dark'] as const)
      .filter((theme) => theme !== prefs.theme)
      .map((theme) => ({ name: t.themeTo(t.themes[theme]), icon: 'theme' as const, run: () => setPrefs({ theme }) })),
  ];
  // Who only decides has no conversations.
  if (!hasThreads(lists.me))
    return (
      <ChatContext value={actions}>
        <Suspense fallback={null}>
          <InboxPage over={over} setOver={setOver} />
        </Suspense>
        {question && !lists.signIn && (
          <Suspense fallback={null}>
            <Question key={question} id={question} />
          </Suspense>
        )}
      </ChatContext>
    );
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
            <ModelChoice />
            {product.model && product.models.length === 0 && (
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
            <Gone heading="h1" onFresh={() => (carryDraft(draftKey, null), open(null))} />
          ) : empty && snap.loaded ? (
            <div className="scroller">
              <Welcome onPick={talk.send} />
            </div>
          ) : (
            <BesideContext value={shown}>
              <Transcript
                thread={route ?? snap.id}
                state={state}
                sent={talk.sent}
                waiting={talk.waiting}
                onOld={talk.setReadsOld}
                onOlder={() => session.loadOlder()}
              />
            </BesideContext>
          )}
          <Dock
            talk={talk}
            composerKey={composerKey(session)}
            draft={getDraft(draftKey)}
            files={getFiles(draftKey)}
            onDraft={(text) => setDraft(draftKey, text)}
            onFiles={(files) => setFiles(draftKey, files)}
            enterIsLine={prefs.enterIsLine}
            readsPdf={chosenModel(prefs.model)?.pdf ?? product.pdf}
            above={<Banner connection={snap.connection} onRetry={() => session.nudge()} />}
            below={product.footer && <p className="footer">{said(product.footer)}</p>}
          />
          <Notices />
          <Announcer state={state} loaded={snap.loaded} />
        </main>
        {shown && <ArtifactPanel calls={artifacts} shown={shown} onShow={setBeside} onClose={() => (setBeside(null), composer.current?.focus())} />}
        {prefs.developer && (
          <Suspense fallback={null}>
            <DevPanel onClose={() => setPrefs({ developer: false })} />
          </Suspense>
        )}
        {question && !lists.signIn && (
          <Suspense fallback={null}>
            <Question key={question} id={question} />
          </Suspense>
        )}
        {over === 'inbox' && <Inbox onClose={() => setOver(null)} onOpen={open} />}
        {over === 'settings' && <Settings onClose={() => setOver(null)} onSave={empty ? null : save} thread={snap.id} />}
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

/* One composer per conversation: it stays when a new conversation gets its id, with the focus and what is being written. */
const composerKeys = new WeakMap<Session, string>();

function composerKey(session: Session): string {
  const key = composerKeys.get(session) ?? newId('c');
  composerKeys.set(session, key);
  return key;
}

/* Actions of the page itself. */
function act(action: SuggestedAction, leave: () => void): void {
  if (action.action !== 'close_chat') throw new Error(t.unknownAction(action.action));
  leave();
}

/* Something that lies over the page is opened when the palette has left. */
function later(open: () => void): void {
  setTimeout(open);
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
    document.title = tabTitle(title, waiting);
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
