/* SetAside.tsx -- a message written while a request waits would withdraw the request: nobody means that by "yes".
 *
 * The message stays in the composer until the person has chosen. Nothing here
 * takes the focus, so that Enter, pressed once more, decides nothing.
 */
import type { Call } from '../protocol';
import { askOf, useArmed } from './ApprovalCard';
import { Revealed } from './Arguments';
import { answerOf } from './answers';
import { useChat } from './context';

interface Props {
  text: string;
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
  const armed = useArmed();
  const only = calls.length === 1 && !calls[0]!.approval?.sending ? calls[0]! : null;
  const answer = chat.mayDecide && only ? answerOf(text) : null;
  if (only && answer) {
    const decide = () => {
      if (!armed) return;
      chat.decide(only.approval!.id, answer === 'yes');
      onAnswered();
    };
    return (
      <section className="set-aside" role="alert" data-armed={armed}>
        <p>Is this your answer to the request above, or a message?</p>
        <div className="ask-buttons">
          <button type="button" className={answer === 'yes' ? 'button ask-yes' : 'button outline'} onClick={decide}>
            <span>
              {answer === 'yes' ? 'Approve' : 'Deny'} “<Revealed text={askOf(only)} />”
            </span>
          </button>
          <button type="button" className="button outline" onClick={onSend}>
            Send as a message
          </button>
        </div>
      </section>
    );
  }
  return (
    <section className="set-aside" role="alert">
      <p>
        {calls.length > 1 ? `This sets the ${calls.length} requests aside` : 'This sets the request aside'}: send anyway, or{' '}
        {chat.mayDecide ? 'answer it first' : 'wait for the approver'}?
      </p>
      <div className="ask-buttons">
        <button type="button" className="button outline" onClick={onSend}>
          Send anyway
        </button>
        <button type="button" className="button outline" onClick={onBack}>
          {chat.mayDecide ? 'Answer it first' : 'Wait'}
        </button>
      </div>
    </section>
  );
}

/** An earlier version is on the screen, and the conversation goes on with the newest: said before anything goes there. */
export function Elsewhere({ onSend, onBack }: { onSend: () => void; onBack: () => void }) {
  return (
    <section className="set-aside" role="alert">
      <p>You are reading an earlier version. What you send goes on with the newest one, not with this.</p>
      <div className="ask-buttons">
        <button type="button" className="button outline" onClick={onSend}>
          Go to the newest and send
        </button>
        <button type="button" className="button outline" onClick={onBack}>
          Stay here
        </button>
      </div>
    </section>
  );
}
