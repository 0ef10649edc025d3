/* Question.tsx -- one question, under the address that was told with it: `/a/<confirmation>`. Looking
 * changes nothing; the buttons of its card decide, as in the inbox. */
import { useCallback, useEffect, useState } from 'react';
import { Waiting } from '../chat/Waiting';
import type { ApprovalRecord } from '../protocol';
import { t } from '../words';
import { Dialog } from './Dialog';
import { notice } from './notices';
import { leaveQuestion } from './router';
import { api, refresh, useLists } from './store';

export function Question({ id }: { id: string }) {
  const { me } = useLists();
  const [record, setRecord] = useState<ApprovalRecord | null | undefined>();
  const look = useCallback(() => api.approval(id).then(setRecord, () => setRecord(null)), [id]);
  useEffect(() => void look(), [look, me]); // and again when somebody has signed in
  const decided = async (words: string | null) => {
    if (words) notice(words);
    await Promise.all([look(), refresh()]);
  };
  const waits = record?.status === 'pending' || record?.status === 'unknown';
  return (
    <Dialog title={t.waitingForYou} onClose={() => leaveQuestion(null)}>
      {record === undefined && <p className="meta">{t.looking}</p>}
      {(record === null || (record && !waits)) && <p className="meta">{outcome(record)}</p>}
      {record && waits && <Waiting record={record} api={api} onDone={decided} onOpen={leaveQuestion} />}
    </Dialog>
  );
}

/** What became of it, or that there is nothing of this name for whoever looks. What runs, has run or failed was approved. */
function outcome(record: ApprovalRecord | null): string {
  return record ? t.decidedAlready(t.decision[record.status] ?? t.decision.approved!, record.decided_by ?? '') : t.nothingWaits;
}
