/* Grants.tsx -- every yes that is worth more than one call: what it allows, what is left of it, and its end. */
import { useCallback, useEffect, useState } from 'react';
import { Revealed } from '../chat/Arguments';
import { called, useChat } from '../chat/context';
import { sameWords } from '../chat/GrantOffer';
import { clock, fullTime } from '../chat/words';
import type { Grant } from '../transport/api';
import { number, t } from '../words';
import { notice } from './notices';
import { api, useLists } from './store';

export function Grants() {
  const { me } = useLists();
  const [list, setList] = useState<Grant[] | 'failed' | null>(null);
  const load = useCallback(
    () =>
      void api.grants().then(
        ({ grants }) => setList(grants),
        () => setList('failed'),
      ),
    [],
  );
  useEffect(load, [load, me]);
  if (list === 'failed')
    return (
      <p className="ask-error" role="alert">
        {t.unreachable}{' '}
        <button type="button" className="link" onClick={load}>
          {t.tryAgain}
        </button>
      </p>
    );
  if (!list) return <p className="inbox-none">{t.looking}</p>;
  if (list.length === 0) return <p className="inbox-none">{t.grantsNone}</p>;
  const revoke = (id: string) =>
    void api.revoke(id).then(load, (e: unknown) => notice(e instanceof Error ? e.message : t.failed));
  return (
    <div className="inbox-list">
      <ul>
        {list.map((g) => (
          <GrantRow key={g.id} grant={g} onRevoke={revoke} />
        ))}
      </ul>
    </div>
  );
}

function GrantRow({ grant: g, onRevoke }: { grant: Grant; onRevoke: (id: string) => void }) {
  const chat = useChat();
  const by = called(chat, g.by);
  const says = [
    ...(g.count !== null ? [t.grantUses(number(g.uses), number(g.count))] : []),
    ...(g.max !== null ? [t.grantUses(g.amount ?? '0', g.max)] : []),
    ...sameWords(g.same),
    t.grantScope[g.scope],
  ];
  return (
    <li className="inbox-row grant-row" data-grant={g.status}>
      <p className="inbox-ask">
        <code>
          <Revealed text={g.tool} name />
        </code>
      </p>
      <p className="meta">
        <Revealed text={says.join(' · ')} part />
      </p>
      <p className="meta" title={fullTime(g.given_at)}>
        {t.grantGiven(by, clock(g.given_at))} · {g.status === 'open' ? t.grantUntil(fullTime(g.until)) : t.grantStatus[g.status]}
      </p>
      {g.status === 'open' && (
        <button type="button" className="button outline" onClick={() => onRevoke(g.id)}>
          {t.revoke}
        </button>
      )}
    </li>
  );
}
