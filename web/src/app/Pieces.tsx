/* Pieces.tsx -- small parts of the page: notices, music, sign-in, shortcuts. */
import { useState } from 'react';
import { Icon } from '../chat/icons';
import { pause, play, useBgm } from './bgm';
import { Dialog } from './Dialog';
import { dismiss, useNotices } from './notices';
import { setPrefs, usePrefs } from './prefs';
import { chosenModel, product } from './product';
import { signIn } from './store';
import { t } from '../words';

export function Notices() {
  const notices = useNotices();
  return (
    <div className="notices" role="status" aria-live="polite">
      {notices.map((n) => (
        <div key={n.id} className="notice">
          <span>{n.text}</span>
          {n.action && (
            <button
              type="button"
              className="link"
              onClick={() => {
                n.action?.run();
                dismiss(n.id);
              }}
            >
              {n.action.label}
            </button>
          )}
          <button type="button" className="quiet" aria-label={t.dismiss} onClick={() => dismiss(n.id)}>
            <Icon name="close" size={16} />
          </button>
        </div>
      ))}
    </div>
  );
}

/** Which model answers from now on, where there are several. */
export function ModelChoice() {
  const { model } = usePrefs();
  if (product.models.length === 0) return null;
  return (
    <select className="select model-choice" aria-label={t.model} value={chosenModel(model)!.name} onChange={(e) => setPrefs({ model: e.target.value })}>
      {product.models.map((m) => (
        <option key={m.name} value={m.name}>
          {m.model}
        </option>
      ))}
    </select>
  );
}

/** Shown once music was asked for. */
export function BgmIndicator() {
  const { track, playing } = useBgm();
  if (track === null) return null;
  const name = t.bgm(track + 1);
  return (
    <button
      type="button"
      className="bgm"
      data-track={track}
      onClick={playing ? pause : play}
      aria-label={playing ? t.bgmPlaying(name) : t.bgmPaused(name)}
    >
      <Icon name="music" size={16} />
      <span>{name}</span>
      <Icon name={playing ? 'pause' : 'play'} size={16} />
    </button>
  );
}

/* What came of a sign-in at the provider, as the address says when it leads back here. It is said once. */
function takeOutcome(): string | null {
  const how = new URLSearchParams(location.search).get('signin');
  if (how === null) return null;
  history.replaceState(null, '', location.pathname);
  return t.signInOutcome[how] ?? t.failed;
}

/* The provider is asked in this same tab; what was written is kept by the browser. */
export function SignIn({ onDone }: { onDone: () => void }) {
  const [problem] = useState(takeOutcome);
  const at = product.signIn;
  return (
    <Dialog title={t.signIn} onClose={onDone}>
      <p>{at ? t.signInAtWhy : t.signInWhy}</p>
      {problem && (
        <p className="ask-error" role="alert">
          {problem}
        </p>
      )}
      {at && (
        <div className="edit-buttons">
          <a className="button primary" data-first href={`/v1/login?to=${encodeURIComponent(location.pathname)}`}>
            {at.provider ? t.signInWith(at.provider) : t.signIn}
          </a>
        </div>
      )}
      {at?.keys && (
        <details className="by-key">
          <summary>{t.signInByKey}</summary>
          <KeyForm onDone={onDone} />
        </details>
      )}
      {!at && <KeyForm onDone={onDone} />}
    </Dialog>
  );
}

/* The key is handed over once and kept nowhere; the cookie that comes back is out of reach of any script. */
function KeyForm({ onDone }: { onDone: () => void }) {
  const [key, setKey] = useState('');
  const [state, setState] = useState<'idle' | 'busy' | { why: string }>('idle');
  const submit = async () => {
    if (!key.trim() || state === 'busy') return;
    setState('busy');
    setKey('');
    try {
      await signIn(key.trim());
      onDone();
    } catch (e) {
      setState({ why: e instanceof Error ? e.message : t.failed });
    }
  };
  return (
    <form
      onSubmit={(e) => {
        e.preventDefault();
        void submit();
      }}
    >
      <label className="field">
        <span>{t.accessKey}</span>
        <input type="password" autoComplete="current-password" value={key} onChange={(e) => setKey(e.target.value)} data-first={!product.signIn || undefined} />
      </label>
      {typeof state === 'object' && (
        <p className="ask-error" role="alert">
          {state.why}
        </p>
      )}
      <div className="edit-buttons">
        <button type="submit" className={product.signIn ? 'button outline' : 'button primary'} disabled={state === 'busy'}>
          {state === 'busy' ? t.signingIn : t.signIn}
        </button>
      </div>
    </form>
  );
}

export function Shortcuts({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title={t.keyboard} onClose={onClose}>
      <table className="keys">
        <tbody>
          {Object.values(t.key).map(([key, does]) => (
            <tr key={key}>
              <th scope="row">
                <kbd>{key}</kbd>
              </th>
              <td>{does}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Dialog>
  );
}
