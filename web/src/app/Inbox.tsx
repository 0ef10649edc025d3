/* Inbox.tsx -- everything, in any conversation, that waits for this person. */
import { useState } from 'react';
import { Arguments, RiskMark, useArmed } from '../chat/ApprovalCard';
import { useNow } from '../chat/context';
import { humanName, left } from '../chat/words';
import type { ApprovalRecord } from '../protocol';
import { Refused } from '../transport/api';
import { newId } from '../transport/session';
import { Dialog } from './Dialog';
import { notice } from './notices';
import { api, refresh, useLists } from './store';

export function Inbox({ onClose, onOpen }: { onClose: () => void; onOpen: (thread: string) => void }) {
  const { inbox } = useLists();
  return (
    <Dialog title="Waiting for you" onClose={onClose} side>
      {inbox.length === 0 && <p className="meta">Nothing waits for you.</p>}
      {inbox.map((a) => (
        <Entry key={a.id} record={a} onOpen={onOpen} />
      ))}
    </Dialog>
  );
}

function Entry({ record, onOpen }: { record: ApprovalRecord; onOpen: (thread: string) => void }) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const now = useNow(30_000);
  const unknown = record.status === 'unknown';
  const armed = useArmed();
  const run = (what: () => Promise<unknown>) => {
    if (busy || !armed) return;
    setBusy(true);
    setError(null);
    what()
      .catch(async (e: unknown) => {
        const found = e instanceof Refused && e.status === 409 ? await api.decided(record.id) : null;
        if (found) notice(found.words);
        else setError(e instanceof Error ? e.message : 'It failed.');
      })
      .finally(() => {
        setBusy(false);
        void refresh();
      });
  };
  const decide = (confirmed: boolean) =>
    run(() => api.decide(record.id, { confirmed, answer_id: newId('a') }).then(() => notice(confirmed ? 'Approved.' : 'Denied.')));
  return (
    <section className={unknown ? 'unknown' : 'ask'} aria-label={record.ask ?? record.tool} data-approval={record.id} data-armed={armed}>
      <h3 className="ask-title">
        {unknown ? `It is not known whether this happened: ${humanName(record.tool)}` : (record.ask ?? humanName(record.tool))}
      </h3>
      <Arguments input={record.input} />
      <p className="ask-meta">
        <code>{record.tool}</code>
        {record.risk && <RiskMark risk={record.risk} />}
        {!unknown && record.expires_at && <span className="countdown">Expires in {left(record.expires_at, now)}</span>}
        <button type="button" className="link" onClick={() => onOpen(record.thread)}>
          Open conversation
        </button>
      </p>
      {error && (
        <p className="ask-error" role="alert">
          {error}
        </p>
      )}
      <div className="ask-buttons">
        {unknown ? (
          <>
            <button type="button" className="button outline" disabled={busy} onClick={() => run(() => api.settle(record.id, 'done'))}>
              It happened
            </button>
            <button type="button" className="button outline" disabled={busy} onClick={() => run(() => api.settle(record.id, 'not_done'))}>
              It did not happen
            </button>
          </>
        ) : (
          <>
            <button type="button" className="button ask-yes" disabled={busy} onClick={() => decide(true)}>
              Approve
            </button>
            <button type="button" className="button outline" disabled={busy} onClick={() => decide(false)}>
              Deny
            </button>
          </>
        )}
      </div>
    </section>
  );
}
