/* Share.tsx -- a read-only link to the conversation, made and taken back here. */
import { useEffect, useState } from 'react';
import { Icon } from '../chat/icons';
import { t } from '../words';
import { product } from './product';
import { api } from './store';

type State = { path: string | null } | 'looking' | 'busy';

export function Share({ thread }: { thread: string }) {
  const [state, setState] = useState<State>('looking');
  const [problem, setProblem] = useState<string | null>(null);
  const [copied, setCopied] = useState(false);
  const after = (work: Promise<{ path: string | null }>) => {
    setProblem(null);
    setCopied(false);
    void work.then(setState, (e: unknown) => {
      setProblem(e instanceof Error ? e.message : t.failed);
      setState({ path: null });
    });
  };
  useEffect(() => after(api.shared(thread)), [thread]);
  const busy = typeof state === 'string';
  const link = !busy && state.path ? location.origin + state.path : null;
  const make = () => (setState('busy'), after(api.share(thread)));
  const copy = () => void navigator.clipboard?.writeText(link ?? '').then(() => setCopied(true), () => undefined);
  return (
    <section className="choices share" aria-label={t.share}>
      <h3>{t.share}</h3>
      <p className="meta">{product.share === 'anyone' ? t.shareAnyone : t.shareSignedIn}</p>
      {problem && (
        <p className="ask-error" role="alert">
          {problem}
        </p>
      )}
      {link && (
        <label className="field">
          <span>{t.shareLink}</span>
          <input type="text" readOnly value={link} onFocus={(e) => e.target.select()} />
        </label>
      )}
      <div className="save-buttons">
        {link ? (
          <>
            <button type="button" className="button outline" onClick={copy}>
              <Icon name="copy" size={16} />
              {copied ? t.copied : t.copy}
            </button>
            <button type="button" className="button outline" onClick={make}>
              {t.shareRenew}
            </button>
            <button type="button" className="button outline" onClick={() => (setState('busy'), after(api.unshare(thread).then(() => ({ path: null }))))}>
              {t.shareBack}
            </button>
          </>
        ) : (
          <button type="button" className="button outline" disabled={busy} onClick={make}>
            <Icon name="link" size={16} />
            {t.shareMake}
          </button>
        )}
      </div>
      <p className="sr" role="status">
        {copied && t.copiedWhat(t.shareLink)}
      </p>
    </section>
  );
}
