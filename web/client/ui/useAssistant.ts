/* useAssistant.ts -- what a chat and a tray share: the conversation, who is here, short notices. */
import { useCallback, useEffect, useRef, useState } from 'react';
import { Api } from '../../src/transport/api';
import { GeneralChat, type GeneralChatOptions } from '../../src/transport/general';
import { useKnown } from './known';
import { usePage } from './page';
import { useSnapshot, type Desk } from './Panel';

export interface AssistantOptions extends GeneralChatOptions {
  /** A conversation got its id: give it back as `threadId` to go on with it later. */
  onThread?: (id: string | null) => void;
}

const notice_ms = 6000;

export function useAssistant({ onThread, ...options }: AssistantOptions, lang?: string) {
  const [notices, setNotices] = useState<string[]>([]);
  const timers = useRef(new Set<ReturnType<typeof setTimeout>>());
  const notice = useCallback((text: string) => {
    setNotices((all) => [...all.filter((t) => t !== text), text].slice(-2));
    const timer = setTimeout(
      () => (timers.current.delete(timer), setNotices((all) => all.filter((t) => t !== text))),
      notice_ms,
    );
    timers.current.add(timer);
  }, []);
  useEffect(() => () => timers.current.forEach(clearTimeout), []);

  // A conversation that was left on purpose is not gone back to because its id is still given.
  const [left, setLeft] = useState<string | null>(null);
  const wanted = options.threadId && options.threadId !== left ? options.threadId : null;
  const held = useRef<GeneralChat>(null);
  const other =
    held.current &&
    (held.current.api.base !== (options.base ?? '') ||
      (wanted && held.current.threadId !== wanted));
  const now = { ...options, threadId: wanted, notice };
  const serial = useRef(0);
  if (!held.current || other) {
    held.current = new GeneralChat(now);
    serial.current++;
  }
  const chat = held.current;
  chat.update(now);
  const desk = useRef<Desk>({ draft: '', files: [] });
  const [, redraw] = useState(0);
  const fresh = useCallback(() => {
    setLeft(held.current!.threadId);
    held.current!.close();
    held.current = null;
    redraw((n) => n + 1);
  }, []);
  useEffect(() => {
    chat.open();
    return () => chat.close();
  }, [chat]);
  useLife(chat);
  const snap = useSnapshot(chat);
  const tell = useRef(onThread);
  tell.current = onThread;
  useEffect(() => tell.current?.(snap.id), [snap.id]);
  const up = snap.connection.state === 'ok';
  const known = useKnown(chat.api, options, up);
  const page = usePage(chat.api, lang, up);
  return {
    chat,
    snap,
    known,
    page,
    notices,
    desk: desk.current,
    fresh,
    base: chat.api.base,
    serial: serial.current,
  };
}

/* The network and the page come and go. */
function useLife(chat: GeneralChat): void {
  useEffect(() => {
    const back = () => document.hidden || chat.session.nudge();
    const off = () => chat.session.offline();
    window.addEventListener('online', back);
    window.addEventListener('offline', off);
    document.addEventListener('visibilitychange', back);
    return () => {
      window.removeEventListener('online', back);
      window.removeEventListener('offline', off);
      document.removeEventListener('visibilitychange', back);
    };
  }, [chat]);
}

/** One `Api` per server and source of keys, for what stands alone. */
export function useApi(options: {
  base?: string;
  token?: AssistantOptions['token'];
  fetch?: typeof fetch;
}): Api {
  const latest = useRef(options);
  latest.current = options;
  const held = useRef<Api>(null);
  if (!held.current || held.current.base !== (options.base ?? ''))
    held.current = new Api({ ...options, token: () => latest.current.token?.() ?? null });
  return held.current;
}
