/* Question.tsx -- one question, under the address that was told with it: `/a/<confirmation>`. Looking
 * changes nothing; the buttons of its card decide, as in the inbox. */
import { useCallback, useEffect, useState } from 'react';
import { Sentence } from '../chat/Arguments';
import { useChat } from '../chat/context';
import { Waiting } from '../chat/Waiting';
import { humanName } from '../chat/words';
import type { ApprovalRecord } from '../protocol';
import { t } from '../words';
import { outcomeOf, verdictOf } from './Decided';
import { Dialog } from './Dialog';
import { notice } from './notices';
import { leaveQuestion } from './router';
import { api, refresh, useLists } from './store';

export default function Question({ id }: { id: string }) {
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
    <Dialog title={record && !waits ? t.inboxTabs.decided : t.waitingForYou} onClose={() => leaveQuestion(null)}>
      {record === undefined && <p className="meta">{t.looking}</p>}
      {record === null && <p className="meta">{t.nothingWaits}</p>}
      {record && !waits && <Answered record={record} />}
      {record && waits && <Waiting record={record} api={api} onDone={decided} onOpen={leaveQuestion} />}
    </Dialog>
  );
}

/* What was asked, and what became of it. */
function Answered({ record }: { record: ApprovalRecord }) {
  const chat = useChat();
  return (
    <div>
      <p>
        <b>
          <Sentence text={record.ask ?? t.runWhat(humanName(record.tool))} input={record.input} />
        </b>
      </p>
      <p className="meta">{record.decided_at ? verdictOf(record, chat.name) : outcomeOf(record)}</p>
    </div>
  );
}
