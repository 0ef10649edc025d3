/* embed.tsx -- the tray on a page that has only our script tag.
 *
 * What the tag says (data-…) and what the page gives (window.parley) become the
 * properties of <ChatTray>; window.parley gets `open`, `close` and `signOut` back.
 * The conversation goes on from page to page of the same tab.
 */
import { createRoot } from 'react-dom/client';
import { ChatTray, type ChatTrayProps } from '../client/components';
import type { ClientTool, TokenSource } from '../client/index';
import { read, type Given } from './attributes';

interface Parley {
  /** Gives the key of whoever is signed in on this site; null for nobody. */
  token?: TokenSource;
  /** Tools that run in this page, by name. */
  tools?: Record<string, ClientTool>;
  /** Suggested actions with `handler: "client"`. */
  onAction?: ChatTrayProps['onClientAction'];
  open?: () => void;
  close?: () => void;
  signOut?: () => void;
}

declare global {
  interface Window {
    parley?: Parley;
  }
}

const page = () => (window.parley ??= {});

export function start(data: DOMStringMap, base: string): void {
  const given = read(data);
  given.unknown.forEach((name) => console.error(`parley: the script tag does not know ${name}.`));
  if (document.body) show(given, base);
  else document.addEventListener('DOMContentLoaded', () => show(given, base));
}

function show(given: Given, base: string): void {
  const host = document.body.appendChild(document.createElement('parley-tray'));
  const root = createRoot(host);
  let open = given.open;
  let generation = 0;
  const draw = () =>
    root.render(
      <Tray
        key={generation}
        given={given}
        base={base}
        open={open}
        onOpen={(next) => ((open = next), draw())}
      />,
    );
  Object.assign(page(), {
    open: () => ((open = true), draw()),
    close: () => ((open = false), draw()),
    // Nothing of the person stays: not the key, not the conversation.
    signOut: () => {
      remember(base, given.page, null);
      open = false;
      generation++;
      draw();
    },
  } satisfies Parley);
  draw();
}

function Tray({
  given,
  base,
  open,
  onOpen,
}: {
  given: Given;
  base: string;
  open: boolean;
  onOpen: (open: boolean) => void;
}) {
  const { page: name, tokenCallback, unknown: _, open: __, ...look } = given;
  // Asked for when they are needed: the page may set them after our script.
  const token: TokenSource = () => {
    const named = tokenCallback
      ? (window as unknown as Record<string, unknown>)[tokenCallback]
      : undefined;
    if (tokenCallback && typeof named !== 'function')
      console.error(
        `parley: data-token-callback names ${tokenCallback}, which is no function of this page.`,
      );
    return (typeof named === 'function' ? (named as TokenSource) : page().token)?.() ?? null;
  };
  return (
    <ChatTray
      {...look}
      base={base}
      page={name}
      token={token}
      tools={page().tools}
      onClientAction={(action) => page().onAction?.(action)}
      threadId={recall(base, name)}
      onThread={(id) => remember(base, name, id)}
      open={open}
      onOpen={onOpen}
    />
  );
}

/* ---- the conversation of this tab ---- */

const keyOf = (base: string, name: string | undefined) => `parley.tray.${base}.${name ?? ''}`;

function recall(base: string, name: string | undefined): string | null {
  try {
    return sessionStorage.getItem(keyOf(base, name));
  } catch {
    return null;
  }
}

function remember(base: string, name: string | undefined, id: string | null): void {
  try {
    if (id) sessionStorage.setItem(keyOf(base, name), id);
    else sessionStorage.removeItem(keyOf(base, name));
  } catch {
    // forgetful, not broken
  }
}
