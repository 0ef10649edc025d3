/* Banner.tsx -- why nothing goes on, and a way to try. */
import type { Connection } from '../transport/link';
import { t } from '../words';
import { useNow } from './context';
import { Icon } from './icons';

/* A phone that was in the pocket reconnects within this time; nobody needs to hear of it. */
const quiet_ms = 2500;

interface Props {
  connection: Connection;
  /** Something else that is in the way, in words. */
  trouble?: string | null;
  onRetry: () => void;
}

export function Banner({ connection, trouble, onRetry }: Props) {
  const lost = connection.state === 'lost';
  const now = useNow(500, lost);
  const words = trouble ?? (lost && now - connection.since >= quiet_ms ? away(connection.retryAt - now) : null);
  if (!words) return null;
  return (
    <div className="banner" role="status">
      <Icon name="warning" size={16} />
      <span>{words}</span>
      <button type="button" className="link" onClick={onRetry}>
        {t.tryNow}
      </button>
    </div>
  );
}

function away(rest_ms: number): string {
  const s = Math.max(0, Math.ceil(rest_ms / 1000));
  return `${t.noConnection} ${s > 0 ? t.nextTry(s) : t.tryingNow}`;
}
