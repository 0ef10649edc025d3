/* SetAside.tsx -- a message written while a request waits would withdraw the request: nobody means that by "yes".
 *
 * The message stays in the composer until the person has chosen. Nothing here
 * takes the focus, so that Enter, pressed once more, decides nothing.
 */
import type { Call } from '../protocol';
import { askOf, takesYes } from './ApprovalCard';
import { Revealed } from './Arguments';
import { answerOf } from './answers';
import { mayAnswer } from './Ballot';
import { useChat } from './context';
import { isChanging } from './EditFields';
import { useGuard } from './guard';
import { t } from '../words';
import { rich } from '../words/rich';

interface Props {
  /** null: it is no answer, whatever it says (an earlier message that was changed). */
  text: string | null;
  /** What waits, and would be set aside. */
  calls: Call[];
  onSend: () => void;
  /** Answered: the words are not needed any more. */
  onAnswered: () => void;
  /** The request first; the words stay where they are. */
  onBack: () => void;
}

export function SetAside({ text, calls, onSend, onAnswered, onBack }: Props) {
  const chat = useChat();
  const guard = useGuard();
  const mine = calls.some((c) => mayAnswer(c.approval!, chat.mayDecide));
  const only = calls.length === 1 && !calls[0]!.approval?.sending ? calls[0]! : null;
  const answer = only && mine && text !== null ? answerOf(text) : null;
  // A yes that could only be refused, or would not mean what is being written on the card, is not offered.
  const fits = only && (answer === 'no' || (takesYes(only) && !isChanging(only.approval!.id)));
  if (only && answer && fits) {
    const decide = () => {
      if (!guard.ready()) return;
      guard.decided();
      chat.decide(only.approval!.id, answer === 'yes');
      onAnswered();
    };
    return (
      <section className="set-aside" role="alert" data-armed={guard.armed}>
        <p>{chat.holds ? t.answerIt : t.answerOrMessage}</p>
        <div className="ask-buttons">
          <button type="button" className={answer === 'yes' ? 'button ask-yes' : 'button outline'} onClick={decide}>
            <span>
              {rich(answer === 'yes' ? t.approveWhat : t.denyWhat, { ask: <Revealed text={askOf(only)} /> })}
            </span>
          </button>
          {!chat.holds && (
            <button type="button" className="button outline" onClick={onSend}>
              {t.sendAsMessage}
            </button>
          )}
        </div>
      </section>
    );
  }
  return (
    <section className="set-aside" role="alert">
      <p>{chat.holds ? (mine ? t.holds : t.holdsApprover) : mine ? t.setsAside(calls.length) : t.setsAsideApprover(calls.length)}</p>
      <div className="ask-buttons">
        {!chat.holds && (
          <button type="button" className="button outline" onClick={onSend}>
            {t.sendAnyway}
          </button>
        )}
        <button type="button" className="button outline" onClick={onBack}>
          {mine ? t.answerFirst(calls.length) : t.wait}
        </button>
      </div>
    </section>
  );
}
