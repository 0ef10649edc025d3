/* Inbox.tsx -- everything, in any conversation, that waits for this person: the same cards, answered over HTTP. */
import { useMemo, useState } from 'react';
import { ApprovalCard } from '../chat/ApprovalCard';
import { Revealed } from '../chat/Arguments';
import { ChatContext, useChat, type ChatActions } from '../chat/context';
import { UnknownCard } from '../chat/UnknownCard';
import { clock } from '../chat/words';
import type { ApprovalRecord, Call } from '../protocol';
import { withRecord } from '../protocol/calls';
import { Refused } from '../transport/api';
import { newId } from '../transport/session';
import { Dialog } from './Dialog';
import { notice } from './notices';
import { api, refresh, useLists } from './store';
import { t } from '../words';
import { rich } from '../words/rich';

export function Inbox({ onClose, onOpen }: { onClose: () => void; onOpen: (thread: string) => void }) {
  return (
    <Dialog title={t.waitingForYou} onClose={onClose} side>
      <Waiting onOpen={onOpen} />
    </Dialog>
  );
}

/** What waits, newest first, with who asks and why. */
export function Waiting({ onOpen }: { onOpen?: (thread: string) => void }) {
  const { inbox, loaded, me } = useLists();
  if (inbox.length === 0) return <p className="meta">{loaded ? t.nothingWaits : t.looking}</p>;
  return inbox.map((a) => (
    <div key={a.id} className="waiting">
      <Entry record={a} />
      {onOpen && (!a.owner || a.owner === me?.principal) && (
        <button type="button" className="link" onClick={() => onOpen(a.thread)}>
          {t.openConversation}
        </button>
      )}
    </div>
  ));
}

/* Whoever decides for somebody else knows who asks, since when, and by which words. */
function From({ record }: { record: ApprovalRecord }) {
  const page = useChat();
  const who = record.owner ? page.name(record.owner) : null;
  if (!who && !record.said) return null;
  return (
    <p className="ask-from">
      {who === 'you' || !who
        ? t.youAsked
        : rich(t.asks, {
            who: (
              <b>
                <Revealed text={who} />
              </b>
            ),
          })}
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

function Entry({ record }: { record: ApprovalRecord }) {
  const page = useChat();
  const [mine, setMine] = useState<{ sending?: 'approve' | 'deny'; error?: string }>({});
  const chat = useMemo<ChatActions>(
    () => ({
      ...page,
      decide: (id, confirmed, reason) => {
        setMine({ sending: confirmed ? 'approve' : 'deny' });
        void decide(id, confirmed, reason).then((error) => setMine(error ? { error } : {}));
      },
      settle: async (id, outcome) => {
        await api.settle(id, outcome);
        await refresh();
      },
    }),
    [page],
  );
  const call = callOf(record);
  return (
    <ChatContext value={chat}>
      {record.status === 'unknown' ? (
        <UnknownCard call={call} />
      ) : (
        <ApprovalCard
          call={{ ...call, approval: { ...call.approval!, ...mine } }}
          from={<From record={record} />}
          forWhom={ownerOf(record, page)}
        />
      )}
    </ChatContext>
  );
}

function ownerOf(record: ApprovalRecord, page: ChatActions): string {
  const name = record.owner ? page.name(record.owner) : null;
  return !name || name === 'you' ? t.you : name;
}

function callOf(record: ApprovalRecord): Call {
  return withRecord({ id: record.tool_use_id, name: record.tool, input: record.input, status: 'asking', updates: 0 }, record);
}

/* Gives what went wrong as a sentence. Somebody who was faster is not an error. */
async function decide(id: string, confirmed: boolean, reason?: string): Promise<string | null> {
  let error: string | null = null;
  try {
    await api.decide(id, { confirmed, ...(reason ? { reason } : {}), answer_id: newId('a') });
    notice(confirmed ? t.approved : t.denied);
  } catch (e) {
    const found = e instanceof Refused && e.status === 409 ? await api.decided(id) : null;
    if (found) notice(found.words);
    else error = e instanceof Error ? e.message : t.failed;
  }
  await refresh();
  return error;
}
