/* startToken.ts -- `#token=…` in the address that parley printed: exchanged for a cookie, and taken out of the address.
 *
 * It leaves the address before anything else happens, so that it is not in the history, a bookmark or a screenshot.
 * A fragment is never sent to a server by itself. See src/auth/starttoken.h for what it is good for.
 *
 * Anybody can make such a link. On a server with sign-in it would sign whoever opens it in as whoever made it: there the
 * server takes no token of an address, and nothing comes of it.
 */
import { Refused } from '../transport/api';
import { t } from '../words';

export interface Exchange {
  taken: boolean;
  /** A sentence for the person. */
  problem?: string;
}

export async function takeStartToken(
  at: Pick<Location, 'hash' | 'pathname' | 'search'>,
  history: Pick<History, 'replaceState'>,
  show: (token: string) => Promise<unknown>,
): Promise<Exchange> {
  const token = /^#token=([^&]+)$/.exec(at.hash)?.[1];
  if (!token) return { taken: false };
  history.replaceState(null, '', at.pathname + at.search);
  try {
    await show(token);
    return { taken: true };
  } catch (e) {
    if (e instanceof Refused && e.code === 'no_start_token') return { taken: false };
    if (e instanceof Refused) return { taken: false, problem: e.message };
    return { taken: false, problem: t.tokenUnreachable };
  }
}
