/* Ballot.tsx -- where a rule asks several people: who has said yes, who is still needed; and what this person may do. */
import type { Approval } from '../protocol';
import { t } from '../words';
import { useChat } from './context';
import { nameOf } from './people';
import { clock } from './words';

export function BallotLine({ approval }: { approval: Approval }) {
  const chat = useChat();
  const { who, votes = [], needed, lapsed } = approval;
  if (!who) return null;
  const name = (by: string) => (chat.name(by) === 'you' ? t.You : nameOf(by));
  // A vote counts only while its voter has the role. An older record does not say whose: what still waits needs one more.
  const counted = (votes?.length ?? 0) - (lapsed?.length ?? 0);
  const open = Math.max(approval.status === 'pending' ? 1 : 0, (needed ?? who.from.count) - counted);
  const levels = [who.from, ...(who.escalate ?? []).filter((e) => Date.parse(e.at) <= Date.now()).map((e) => e.to)];
  const roles = [...new Set(levels.map((l) => (l.role === 'owner' ? t.roleOwner : l.role)))].reduce(t.orElse);
  return (
    <p className="ballot">
      {(votes ?? []).map((v) => (
        <span key={v.by} title={clock(v.at)}>
          {(lapsed?.includes(v.by) ? t.saidYesOnce : t.saidYes)(name(v.by))}{' '}
        </span>
      ))}
      <span>{open > 0 ? t.stillNeeded(open, roles, counted <= 0) : null}</span>
    </p>
  );
}

/** May this person decide? What the server says of this request counts before what is true of all. */
export function mayAnswer(approval: Approval, mayDecide: boolean): boolean {
  return approval.who ? approval.may === true : (approval.may ?? mayDecide);
}

/** Instead of the buttons: why there are none. */
export function NotMine({ approval }: { approval: Approval }) {
  const chat = useChat();
  if (!approval.voted) return <p className="ask-waits">{approval.who ? t.othersDecide : t.somebodyDecides}</p>;
  return (
    <p className="ask-waits">
      {t.youVoted}{' '}
      {chat.unvote && (
        <button type="button" className="link" onClick={() => chat.unvote!(approval.id)}>
          {t.takeVoteBack}
        </button>
      )}
    </p>
  );
}
