/* ChatTray.tsx -- `<ChatTray>`: a button in the corner, and the conversation that it opens.
 *
 * Not modal: the page goes on being used. Escape stops an answer, then closes;
 * the focus goes back to the button. Closed, the conversation is still followed:
 * what waits for the person is on the button.
 */
import { useCallback, useEffect, useLayoutEffect, useRef, useState, type RefObject } from 'react';
import type { ComposerHandle } from '../../src/chat/Composer';
import { Icon } from '../../src/chat/icons';
import { callsOf, type SuggestedAction } from '../../src/protocol';
import { t } from '../../src/words';
import type { Look } from './page';
import { Panel, type Words } from './Panel';
import { Shadow } from './Shadow';
import { useAssistant, type AssistantOptions } from './useAssistant';

export interface ChatTrayProps extends AssistantOptions, Words, Look {
  /** What it is called, on the button and above the conversation. Left out: the product's name. */
  title?: string;
  side?: 'left' | 'right';
  /** Open from outside; left out, it opens and closes by itself. */
  open?: boolean;
  defaultOpen?: boolean;
  onOpen?: (open: boolean) => void;
}

export function ChatTray({
  title: named,
  side = 'right',
  open: given,
  defaultOpen = false,
  onOpen,
  theme,
  accent,
  lang,
  greeting,
  starters,
  ...options
}: ChatTrayProps) {
  const a = useAssistant(options, lang);
  const title = named ?? a.page?.product?.name ?? t.assistant;
  const [chosen, setChosen] = useState(defaultOpen);
  const open = given ?? chosen;
  const button = useRef<HTMLButtonElement>(null);
  const panel = useRef<HTMLElement>(null);
  const composer = useRef<ComposerHandle>(null);
  const set = (next: boolean) => {
    setChosen(next);
    onOpen?.(next);
  };
  const news = useNews(a.snap, open);
  useFocus(open, composer, button);
  useSeen(panel, open);
  const client = options.onClientAction;
  const act = useCallback(
    (action: SuggestedAction) => {
      if (action.action === 'close_chat') set(false);
      else client?.(action);
    },
    // eslint-disable-next-line react-hooks/exhaustive-deps
    [client],
  );
  const escape = (e: { key: string; defaultPrevented: boolean; preventDefault: () => void }) => {
    if (e.key !== 'Escape' || e.defaultPrevented) return;
    e.preventDefault();
    set(false);
  };
  const fresh = () => {
    a.fresh();
    requestAnimationFrame(() => composer.current?.focus());
  };
  const head = (
    <div className="chat-top">
      <h2 dir="auto">{title}</h2>
      <button
        type="button"
        className="quiet"
        aria-label={t.newConversation}
        title={t.newConversation}
        onClick={fresh}
      >
        <Icon name="plus" />
      </button>
      <button
        type="button"
        className="quiet"
        aria-label={t.close(title)}
        title={t.closeEsc}
        onClick={() => set(false)}
      >
        <Icon name="close" />
      </button>
    </div>
  );
  return (
    <Shadow
      guarded
      page={a.page}
      theme={theme}
      accent={accent}
      inner={{ className: 'tray', 'data-open': open, 'data-side': side }}
    >
      {open && (
        <section
          ref={panel}
          className="tray-panel"
          role="dialog"
          aria-label={title}
          onKeyDown={escape}
        >
          <Panel
            key={a.serial}
            {...{ ...a, greeting, starters, head, composer }}
            onAction={act}
            onFresh={fresh}
          />
        </section>
      )}
      <button
        ref={button}
        type="button"
        className="launcher"
        aria-expanded={open}
        aria-label={labelOf(title, open, news)}
        onClick={() => set(!open)}
      >
        <Icon name={open ? 'chevron' : 'chat'} size={24} />
        {news && <span className="badge">{news.asks || ''}</span>}
      </button>
    </Shadow>
  );
}

interface News {
  /** How many questions wait for the person. */
  asks: number;
}

/* What happened while nobody looked: a question that waits, or an answer that is complete. */
function useNews(snap: ReturnType<typeof useAssistant>['snap'], open: boolean): News | null {
  const { state } = snap;
  const asks = state.open ? callsOf(state.open).filter((c) => c.status === 'asking').length : 0;
  const last = state.messages.at(-1);
  const seen = useRef<string | null | undefined>(null); // null: the history is not here yet
  if (open || (seen.current === null && snap.loaded)) seen.current = last?.id;
  if (open) return null;
  if (asks > 0) return { asks };
  return seen.current !== null && last?.role === 'assistant' && last.id !== seen.current
    ? { asks: 0 }
    : null;
}

function labelOf(title: string, open: boolean, news: News | null): string {
  if (open) return t.close(title);
  if (!news) return t.openWhat(title);
  return news.asks === 0 ? t.openAnswer(title) : t.openWaits(news.asks, title);
}

/* Into the conversation when it opens, back to the button when it closes; never when the page comes
 * up with it open. */
function useFocus(
  open: boolean,
  composer: RefObject<ComposerHandle | null>,
  button: RefObject<HTMLElement | null>,
): void {
  const before = useRef(open);
  useEffect(() => {
    if (before.current === open) return;
    before.current = open;
    if (open) composer.current?.focus();
    else button.current?.focus();
  }, [open, composer, button]);
}

/* Where the keyboard of a phone covers part of the window, the tray fills what is left. */
function useSeen(panel: RefObject<HTMLElement | null>, open: boolean): void {
  useLayoutEffect(() => {
    const seen = window.visualViewport;
    const el = panel.current;
    if (!seen || !el || !open) return;
    const fit = () => {
      el.style.setProperty('--seen', `${seen.height}px`);
      el.style.setProperty('--seen-top', `${seen.offsetTop}px`);
    };
    fit();
    seen.addEventListener('resize', fit);
    seen.addEventListener('scroll', fit);
    return () => {
      seen.removeEventListener('resize', fit);
      seen.removeEventListener('scroll', fit);
    };
  }, [panel, open]);
}
