/* ApprovalInbox.tsx -- `<ApprovalInbox>`: everything that waits for this person, in any
 * conversation, to be answered here. */
import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { alone, ChatContext, type ChatActions } from '../../src/chat/context';
import { mayDecide, nameFor } from '../../src/chat/people';
import { Waiting } from '../../src/chat/Waiting';
import type { ApprovalRecord } from '../../src/protocol';
import {
  Refused,
  Unreachable,
  type Api,
  type TokenSource,
  type ToolInfo,
  type Whoami,
} from '../../src/transport/api';
import { whyLost } from '../../src/transport/general';
import { t } from '../../src/words';
import { usePage, type Look } from './page';
import { Shadow } from './Shadow';
import { useApi } from './useAssistant';

export interface ApprovalInboxProps extends Look {
  base?: string;
  token?: TokenSource;
  fetch?: typeof fetch;
  /** "Open conversation" beside what was asked in one's own. Left out: no such button. */
  onOpen?: (threadId: string) => void;
  /** How many wait, whenever that changes. */
  onCount?: (waiting: number) => void;
  className?: string;
}

const again_ms = 15_000;

interface State {
  records: ApprovalRecord[] | null;
  me: Whoami | null;
  tools: ToolInfo[];
  trouble: 'signin' | 'lost' | null;
}

export function ApprovalInbox({
  onOpen,
  onCount,
  className,
  theme,
  accent,
  lang,
  ...options
}: ApprovalInboxProps) {
  const api = useApi(options);
  const page = usePage(api, lang);
  const [state, setState] = useState<State>({ records: null, me: null, tools: [], trouble: null });
  const [said, setSaid] = useState('');
  const refresh = useRefresh(api, setState);
  const { records, me, tools, trouble } = state;
  const count = records?.length ?? null;
  const tell = useRef(onCount);
  tell.current = onCount;
  useEffect(() => {
    if (count !== null) tell.current?.(count);
  }, [count]);
  const done = useCallback(
    async (words: string | null) => {
      if (words) setSaid(words);
      await refresh();
    },
    [refresh],
  );
  const chat = useMemo<ChatActions>(
    () => ({
      ...alone,
      mayDecide: mayDecide(me),
      name: nameFor(me),
      tool: (name) => tools.find((tool) => tool.name === name),
    }),
    [me, tools],
  );
  return (
    <Shadow
      className={className}
      page={page}
      theme={theme}
      accent={accent}
      inner={{ className: 'piece' }}
    >
      <h2 className="sr">{t.waitingForYou}</h2>
      <p className="sr" role="status">
        {said}
      </p>
      {trouble && (
        <p className="ask-error" role="alert">
          {trouble === 'signin' ? t.signInToSee : t.waitingUnseen}{' '}
          <button type="button" className="link" onClick={() => (api.forget(), void refresh())}>
            {t.tryNow}
          </button>
        </p>
      )}
      {!trouble && count === 0 && <p className="app-note">{t.nothingWaits}</p>}
      {!trouble && count === null && <p className="app-note">{t.looking}</p>}
      <ChatContext value={chat}>
        {records?.map((r) => (
          <Waiting key={r.id} record={r} api={api} onDone={done} onOpen={onOpen} />
        ))}
      </ChatContext>
    </Shadow>
  );
}

/* Asked again now and then, and when the page comes back: other devices decide too. */
function useRefresh(api: Api, set: (f: (s: State) => State) => void): () => Promise<void> {
  const refresh = useCallback(async () => {
    try {
      const me = await api.whoami();
      const [pending, unknown, { tools }] = await Promise.all([
        api.approvals({ status: 'pending' }),
        api.approvals({ status: 'unknown' }),
        api.tools(),
      ]);
      const wait = mayDecide(me)
        ? [
            ...pending.approvals.filter((a) => a.status === 'pending'),
            ...unknown.approvals.filter((a) => a.status === 'unknown'),
          ]
        : [];
      set(() => ({ records: wait, me, tools, trouble: null }));
    } catch (e) {
      const signin = e instanceof Refused && e.status === 401;
      set((s) => ({ ...s, trouble: signin ? 'signin' : 'lost' }));
      if (e instanceof Unreachable) console.error(`parley: ${await whyLost({ base: api.base })}`);
    }
  }, [api, set]);
  useEffect(() => {
    const look = () => document.hidden || void refresh();
    const timer = setInterval(look, again_ms);
    document.addEventListener('visibilitychange', look);
    void refresh();
    return () => {
      clearInterval(timer);
      document.removeEventListener('visibilitychange', look);
    };
  }, [refresh]);
  return refresh;
}
