/* known.ts -- what a part of somebody else's page must know of the server: who is here, and which
 * tools there are. */
import { useCallback, useEffect, useState } from 'react';
import {
  Refused,
  Unreachable,
  type Api,
  type ApiOptions,
  type ToolInfo,
  type Whoami,
} from '../../src/transport/api';
import { whyLost } from '../../src/transport/general';

export interface Known {
  me: Whoami | null;
  tools: ToolInfo[];
  /** Why there is nothing to know: nobody is signed in, or there is no way to the server. */
  trouble: 'signin' | 'lost' | null;
  again: () => void;
}

/** `up`: the server was just heard of; what is not known yet is asked for again. */
export function useKnown(api: Api, options: ApiOptions, up: boolean): Known {
  const [known, setKnown] = useState<Omit<Known, 'again'>>({ me: null, tools: [], trouble: null });
  const [tries, setTries] = useState(0);
  const again = useCallback(() => setTries((n) => n + 1), []);
  useEffect(() => {
    let stale = false;
    Promise.all([api.whoami(), api.tools()]).then(
      ([me, { tools }]) => stale || setKnown({ me, tools, trouble: null }),
      (error: unknown) => {
        if (stale) return;
        setKnown((k) => ({
          ...k,
          trouble: error instanceof Refused && error.status === 401 ? 'signin' : 'lost',
        }));
        // People are told that it does not work; whoever built the page is told why.
        if (error instanceof Unreachable)
          void whyLost(options).then((why) => console.error(`parley: ${why}`));
      },
    );
    return () => {
      stale = true;
    };
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [api, tries, up && known.trouble !== null]);
  return { ...known, again };
}
