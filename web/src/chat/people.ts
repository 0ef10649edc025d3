/* people.ts -- who is here, and what they may do. */
import { self } from '../protocol';
import type { Whoami } from '../transport/api';
import { seen, skeleton } from './reveal';

/** False where only approvers decide and this person is none. Not known is not "no": the server has
 * the last word. */
export function mayDecide(me: Whoami | null): boolean {
  return me?.decides !== 'approver' || me.roles.includes('approver');
}

/** "you", if it is; null while nobody knows who is here. */
export function nameFor(me: Whoami | null): (who: string) => string | null {
  return (who) => (who === self || who === me?.principal ? 'you' : me ? nameOf(who) : null);
}

/* Every word by which the page speaks to whoever reads it. */
const readers = /^(?:you|yourself|me|i|du|sie|ihnen|ich|あなた|貴方|私|自分)$/;

/** Somebody else, as they are called: nothing is hidden in it, and it is never taken for the reader. */
export function nameOf(who: string): string {
  return readers.test(skeleton(who).trim()) ? `“${seen(who)}”` : seen(who);
}
