/* Context.tsx -- the last lines of the conversation that led to a request, for who decides it and may read them.
 *
 * `approvals.context` says whether: the server gives them or does not.
 */
import { useEffect, useRef, useState } from 'react';
import { Revealed } from '../chat/Arguments';
import type { ApprovalRecord } from '../protocol';
import type { ContextLine } from '../transport/api';
import { t } from '../words';
import { api, useLists } from './store';

export function Context({ record }: { record: ApprovalRecord }) {
  const { me } = useLists();
  const [lines, setLines] = useState<ContextLine[] | 'failed' | null>(null);
  const others = !!record.owner && record.owner !== me?.principal && me?.context === 'conversation';
  useEffect(() => {
    if (!others) return;
    let here = true;
    void api.context(record.id).then(
      ({ lines }) => here && setLines(lines),
      () => here && setLines('failed'),
    );
    return () => void (here = false);
  }, [record.id, others, me]);
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (box.current) box.current.scrollTop = box.current.scrollHeight; // the last ones count
  }, [lines]);
  if (!others || lines === null) return null;
  if (lines === 'failed') return <p className="meta">{t.contextFailed}</p>;
  if (lines.length === 0) return null;
  return (
    <section className="inbox-context" aria-label={t.contextOf}>
      <h3>{t.contextOf}</h3>
      <div ref={box} className="inbox-said" role="group" aria-label={t.contextOf} tabIndex={0}>
        {lines.map((line, i) => (
          <p key={i}>
            <b>{line.role === 'user' ? <Revealed text={record.owner ?? ''} name /> : t.assistant}</b>
            <span dir="auto">
              <Revealed text={line.text} />
              {line.cut && '…'}
            </span>
          </p>
        ))}
      </div>
    </section>
  );
}
