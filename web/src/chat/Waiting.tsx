/* Waiting.tsx -- one request of any conversation, outside of it: the same card, answered over HTTP. */
import { useMemo, useState } from 'react';
import type { AnswerTerms, ApprovalRecord, Call, PendingApproval } from '../protocol';
import { withRecord } from '../protocol/calls';
import { decidedWords, Refused, Unreachable, type Api } from '../transport/api';
import { tookAnswer } from '../transport/decisions';
import { newId } from '../transport/session';
import { t } from '../words';
import { rich } from '../words/rich';
import { ApprovalCard } from './ApprovalCard';
import { Revealed } from './Arguments';
import { ChatContext, useChat, type ChatActions } from './context';
import { UnknownCard } from './UnknownCard';
import { clock } from './words';

interface Props {
  record: ApprovalRecord;
  api: Api;
  /** Something was decided, here or elsewhere, and what is to be said of it; the list is old now. */
  /** The state stands above it already. */
  headed?: boolean;
  onDone: (words: string | null) => Promise<void>;
  /** Shows its conversation. Only whoever asked has it. */
  onOpen?: (thread: string) => void;
}

export function Waiting({ record, api, headed = false, onDone, onOpen }: Props) {
  const page = useChat();
  const [mine, setMine] = useState<{ sending?: 'approve' | 'deny'; error?: string }>({});
  const chat = useMemo<ChatActions>(
    () => ({
      ...page,
      unvote: (id) => void api.unvote(id).then(
        () => onDone(null),
        () => onDone(null),
      ),
      edits: true,
      look: () => void onDone(null),
      decide: (id, confirmed, terms) => {
        setMine({ sending: confirmed ? 'approve' : 'deny' });
        const unsure = () => setMine({ sending: confirmed ? 'approve' : 'deny', error: t.notKnownYet });
        void decide(api, id, confirmed, terms, unsure).then(async ({ words, error }) => {
          await onDone(words ?? null);
          setMine(error ? { error } : {});
        });
      },
      settle: async (id, outcome) => {
        await api.settle(id, outcome);
        await onDone(null);
      },
    }),
    [page, api, onDone],
  );
  const call = callOf(record);
  const who = record.owner ? page.name(record.owner) : null;
  return (
    <div className="waiting">
      <ChatContext value={chat}>
        {record.status === 'unknown' ? (
          <UnknownCard call={call} />
        ) : (
          <ApprovalCard
            call={{ ...call, approval: { ...call.approval!, ...mine } }}
            docked={headed}
            from={<From record={record} who={who} />}
            forWhom={!who || who === 'you' ? t.you : who}
          />
        )}
      </ChatContext>
      {onOpen && (!record.owner || who === 'you') && (
        <button type="button" className="link" onClick={() => onOpen(record.thread)}>
          {t.openConversation}
        </button>
      )}
    </div>
  );
}

/* Whoever decides for somebody else knows who asks, since when, and by which words. */
function From({ record, who }: { record: ApprovalRecord; who: string | null }) {
  if (!who && !record.said) return null;
  const name = (
    <b>
      <Revealed text={who ?? ''} name />
    </b>
  );
  return (
    <p className="ask-from">
      {!who || who === 'you' ? t.youAsked : rich(t.asks, { who: name })}
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

/** A record as the call that it guards. */
export function callOf(record: PendingApproval): Call {
  return withRecord(
    { id: record.tool_use_id, name: record.tool, input: record.input, status: 'asking', updates: 0 },
    record,
  );
}

/* A yes with changes runs at once, or others are asked about it. */
async function changedInto(api: Api, id: string): Promise<string> {
  const record = await api.approval(id).catch(() => null);
  return record?.status === 'pending' ? t.changedAsks : t.approvedChanged;
}

interface Came {
  words?: string;
  error?: string;
}

/* Somebody who was faster is not an error. */
async function decide(api: Api, id: string, confirmed: boolean, terms: AnswerTerms | undefined, unsure: () => void): Promise<Came> {
  try {
    const { status, replaced_by } = await api.decide(id, { confirmed, ...terms, answer_id: newId('a') });
    if (replaced_by) return { words: await changedInto(api, replaced_by) };
    return { words: status === 'pending' ? t.voteTaken : confirmed ? t.approved : t.denied };
  } catch (e) {
    if (e instanceof Unreachable) return lookedUp(api, id, unsure);
    const found = e instanceof Refused && e.status === 409 ? await api.decided(id) : null;
    if (found) return { words: found.words };
    return { error: e instanceof Error ? e.message : t.failed };
  }
}

/* It may have arrived, and only its answer was lost. */
async function lookedUp(api: Api, id: string, unsure: () => void): Promise<Came> {
  unsure();
  const record = await api.approvalInTime(id, () => true);
  if (!record) return { error: t.nothingWaits };
  if (!tookAnswer(record)) return { error: t.notArrived };
  return { words: record.status === 'pending' ? t.voteTaken : decidedWords(record) };
}
