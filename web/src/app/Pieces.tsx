/* Pieces.tsx -- small parts of the page: welcome, connection banner, notices, music, sign-in, shortcuts. */
import { useState } from 'react';
import { useNow } from '../chat/context';
import { Icon, type IconName } from '../chat/icons';
import type { Connection } from '../transport/link';
import { pause, play, useBgm } from './bgm';
import { Dialog } from './Dialog';
import { dismiss, useNotices } from './notices';
import { signIn } from './store';

const starters: { icon: IconName; verb: string; prompt: string }[] = [
  { icon: 'search', verb: 'Search', prompt: 'Find articles about CRISPR' },
  { icon: 'build', verb: 'Build', prompt: 'Build me a todo app' },
  { icon: 'pay', verb: 'Pay', prompt: 'Send 50 dollars to Hanako' },
  { icon: 'music', verb: 'Play', prompt: 'Change the BGM to track 1' },
];

export function Welcome({ onPick }: { onPick: (text: string) => void }) {
  return (
    <section className="welcome" aria-label="Welcome">
      <h1>parley</h1>
      <p>An assistant that says what it is about to do, and asks before anything risky.</p>
      <div className="starters">
        {starters.map((s) => (
          <button key={s.verb} type="button" className="starter" onClick={() => onPick(s.prompt)}>
            <Icon name={s.icon} />
            <strong>{s.verb}</strong>
            <span>{s.prompt}</span>
          </button>
        ))}
      </div>
    </section>
  );
}

/* A phone that was in the pocket reconnects within this time; nobody needs to hear of it. */
const quiet_ms = 2500;

export function Banner({ connection, onRetry }: { connection: Connection; onRetry: () => void }) {
  const lost = connection.state === 'lost';
  const now = useNow(500, lost);
  if (!lost || now - connection.since < quiet_ms) return null;
  const s = Math.max(0, Math.ceil((connection.retryAt - now) / 1000));
  return (
    <div className="banner" role="status">
      <Icon name="warning" size={16} />
      <span>No connection. Nothing is lost; you can go on writing. {s > 0 ? `Next try in ${s} s.` : 'Trying now…'}</span>
      <button type="button" className="link" onClick={onRetry}>
        Try now
      </button>
    </div>
  );
}

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
          <button type="button" className="quiet" aria-label="Dismiss" onClick={() => dismiss(n.id)}>
            <Icon name="close" size={16} />
          </button>
        </div>
      ))}
    </div>
  );
}

/** Shown once music was asked for. */
export function BgmIndicator() {
  const { track, playing } = useBgm();
  if (track === null) return null;
  const name = `BGM ${track + 1}`;
  return (
    <button
      type="button"
      className="bgm"
      data-track={track}
      onClick={playing ? pause : play}
      aria-label={`${name}, ${playing ? 'playing; pause' : 'paused; play'}`}
    >
      <Icon name="music" size={16} />
      <span>{name}</span>
      <Icon name={playing ? 'pause' : 'play'} size={16} />
    </button>
  );
}

/* The key is handed over once and kept nowhere; the cookie that comes back is out of reach of any script. */
export function SignIn({ onDone }: { onDone: () => void }) {
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
      setState({ why: e instanceof Error ? e.message : 'It failed.' });
    }
  };
  return (
    <Dialog title="Sign in" onClose={onDone}>
      <form
        onSubmit={(e) => {
          e.preventDefault();
          void submit();
        }}
      >
        <p>This server asks for an access key. What you have written is kept.</p>
        <label className="field">
          <span>Access key</span>
          <input type="password" autoComplete="current-password" value={key} onChange={(e) => setKey(e.target.value)} data-first />
        </label>
        {typeof state === 'object' && (
          <p className="ask-error" role="alert">
            {state.why}
          </p>
        )}
        <div className="edit-buttons">
          <button type="submit" className="button primary" disabled={state === 'busy'}>
            {state === 'busy' ? 'Signing in…' : 'Sign in'}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

const keys: [string, string][] = [
  ['Enter', 'Send'],
  ['Shift + Enter', 'New line'],
  ['Ctrl or ⌘ + Enter', 'Send, also where Enter makes a new line'],
  ['Esc', 'Stop the answer'],
  ['↑ in an empty message', 'Edit your last message'],
  ['/', 'Write a message'],
  ['Ctrl or ⌘ + K', 'Search conversations'],
  ['Ctrl or ⌘ + Shift + O', 'New conversation'],
  ['Ctrl or ⌘ + Shift + C', 'Copy the last answer'],
  ['Alt + ↑ / ↓', 'Previous / next message'],
  ['Alt + A / Alt + D in a request', 'Approve / deny it'],
  ['?', 'This list'],
];

export function Shortcuts({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title="Keyboard" onClose={onClose}>
      <table className="keys">
        <tbody>
          {keys.map(([key, does]) => (
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
