/* ApprovalInbox.tsx -- `<ApprovalInbox>`: everything that waits for this person, in any
 * conversation, to be answered here. */
import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { ApprovalCard } from '../../src/chat/ApprovalCard';
import { Revealed } from '../../src/chat/Arguments';
import { ChatContext, type ChatActions } from '../../src/chat/context';
import { UnknownCard } from '../../src/chat/UnknownCard';
import { clock } from '../../src/chat/words';
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
import { newId } from '../../src/transport/session';
import { alone, callOf } from './cards';
import { mayDecide, nameFor } from './known';
import { Shadow, type Look } from './Shadow';
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
  /** In words for people. */
  trouble: string | null;
}

export function ApprovalInbox({
  onOpen,
  onCount,
  className,
  theme,
  accent,
  ...options
}: ApprovalInboxProps) {
  const api = useApi(options);
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
  return (
    <Shadow className={className} theme={theme} accent={accent} inner={{ className: 'piece' }}>
      <h2 className="sr">Waiting for you</h2>
      <p className="sr" role="status">
        {said}
      </p>
      {trouble && (
        <p className="ask-error" role="alert">
          {trouble}{' '}
          <button type="button" className="link" onClick={() => (api.forget(), void refresh())}>
            Try now
          </button>
        </p>
      )}
      {!trouble && count === 0 && <p className="app-note">Nothing waits for you.</p>}
      {!trouble && count === null && <p className="app-note">Looking…</p>}
      {records?.map((r) => (
        <div key={r.id} className="waiting">
          <Entry
            record={r}
            api={api}
            me={me}
            tools={tools}
            onDone={(words) => (setSaid(words), refresh())}
          />
          {onOpen && (!r.owner || r.owner === me?.principal) && (
            <button type="button" className="link" onClick={() => onOpen(r.thread)}>
              Open conversation
            </button>
          )}
        </div>
      ))}
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
      set((s) => ({
        ...s,
        trouble: signin
          ? 'Sign in on this site to see what waits for you.'
          : 'No connection. What waits for you cannot be shown now.',
      }));
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

interface EntryProps {
  record: ApprovalRecord;
  api: Api;
  me: Whoami | null;
  tools: ToolInfo[];
  onDone: (words: string) => Promise<void>;
}

function Entry({ record, api, me, tools, onDone }: EntryProps) {
  const [mine, setMine] = useState<{ sending?: 'approve' | 'deny'; error?: string }>({});
  const done = useRef(onDone);
  done.current = onDone;
  const chat = useMemo<ChatActions>(
    () => ({
      ...alone,
      mayDecide: mayDecide(me),
      name: nameFor(me),
      tool: (name) => tools.find((t) => t.name === name),
      decide: (id, confirmed, reason) => {
        setMine({ sending: confirmed ? 'approve' : 'deny' });
        void decide(api, id, confirmed, reason).then(async ({ words, error }) => {
          if (words) await done.current(words);
          setMine(error ? { error } : {});
        });
      },
      settle: async (id, outcome) => {
        await api.settle(id, outcome);
        await done.current('Settled.');
      },
    }),
    [api, me, tools],
  );
  const call = callOf(record);
  const who = record.owner ? chat.name(record.owner) : null;
  return (
    <ChatContext value={chat}>
      {record.status === 'unknown' ? (
        <UnknownCard call={call} />
      ) : (
        <ApprovalCard
          call={{ ...call, approval: { ...call.approval!, ...mine } }}
          from={<From record={record} who={who} />}
          forWhom={who || 'you'}
        />
      )}
    </ChatContext>
  );
}

/* Whoever decides for somebody else knows who asks, since when, and by which words. */
function From({ record, who }: { record: ApprovalRecord; who: string | null }) {
  if (!who && !record.said) return null;
  return (
    <p className="ask-from">
      {who && who !== 'you' ? (
        <>
          <b>
            <Revealed text={who} />
          </b>{' '}
          asks
        </>
      ) : (
        'You asked'
      )}
      {record.requested_at && `, ${clock(record.requested_at)}`}
      {record.said && (
        <>
          {': '}
          <q>
            <Revealed text={record.said} />
          </q>
        </>
      )}
    </p>
  );
}

/* Somebody who was faster is not an error. */
async function decide(
  api: Api,
  id: string,
  confirmed: boolean,
  reason?: string,
): Promise<{ words?: string; error?: string }> {
  try {
    await api.decide(id, { confirmed, ...(reason ? { reason } : {}), answer_id: newId('a') });
    return { words: confirmed ? 'Approved.' : 'Denied.' };
  } catch (e) {
    const found = e instanceof Refused && e.status === 409 ? await api.decided(id) : null;
    if (found) return { words: found.words };
    if (e instanceof Unreachable)
      return { error: 'The server cannot be reached. Nothing was decided; try again.' };
    return { error: e instanceof Error ? e.message : 'It failed.' };
  }
}
