/* people.ts -- who is here, and what they may do. */
import type { Whoami } from '../transport/api';

/** False where only approvers decide and this person is none. Not known is not "no": the server has
 * the last word. */
export function mayDecide(me: Whoami | null): boolean {
  return me?.decides !== 'approver' || me.roles.includes('approver');
}

/** "you", if it is; null while nobody knows who is here. */
export function nameFor(me: Whoami | null): (who: string) => string | null {
  return (who) => (who === 'you' || who === me?.principal ? 'you' : me ? who : null);
}
