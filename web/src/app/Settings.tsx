/* Settings.tsx -- how the page talks to the server, how it looks, and what tools there are. */
import { Icon } from '../chat/icons';
import type { Message } from '../protocol';
import type { Mode } from '../transport/types';
import { Dialog } from './Dialog';
import { saveMarkdown } from './export';
import { notice } from './notices';
import { allowNotices, canNotify } from './notify';
import { setPrefs, usePrefs, type Theme } from './prefs';
import { signOut, useLists } from './store';

const modes: { id: Mode; name: string; says: string }[] = [
  { id: 'direct', name: 'Direct', says: 'AI SDK stream with its own tool approval. One request per turn.' },
  { id: 'sse', name: 'SSE', says: 'Server-sent events; approvals as a confirmation call.' },
  { id: 'bidi', name: 'BIDI', says: 'One WebSocket in both directions. Falls back to HTTP when it is down.' },
];

const themes: { id: Theme; name: string }[] = [
  { id: 'system', name: 'System' },
  { id: 'light', name: 'Light' },
  { id: 'dark', name: 'Dark' },
];

interface Props {
  onClose: () => void;
  /** All of the conversation; null: there is none. */
  messages: (() => Promise<Message[]>) | null;
  title: string | null;
}

export function Settings({ onClose, messages, title }: Props) {
  const save = () =>
    messages?.().then(
      (all) => saveMarkdown(all, title),
      () => notice('Earlier messages could not be loaded. Try again.'),
    );
  const prefs = usePrefs();
  const { tools, me } = useLists();
  return (
    <Dialog title="Settings" onClose={onClose} side>
      <fieldset className="choices">
        <legend>Connection</legend>
        {modes.map((m) => (
          <label key={m.id}>
            <input type="radio" name="mode" value={m.id} checked={prefs.mode === m.id} onChange={() => setPrefs({ mode: m.id })} />
            <span>
              <strong>{m.name}</strong>
              <small>{m.says}</small>
            </span>
          </label>
        ))}
        <p className="meta">The conversation is the same in each.</p>
      </fieldset>
      <fieldset className="choices inline">
        <legend>Theme</legend>
        {themes.map((t) => (
          <label key={t.id}>
            <input type="radio" name="theme" value={t.id} checked={prefs.theme === t.id} onChange={() => setPrefs({ theme: t.id })} />
            <span>{t.name}</span>
          </label>
        ))}
      </fieldset>
      <fieldset className="choices">
        <legend>Writing</legend>
        <label>
          <input type="checkbox" checked={prefs.enterIsLine} onChange={(e) => setPrefs({ enterIsLine: e.target.checked })} />
          <span>
            <strong>Enter makes a new line</strong>
            <small>Ctrl or ⌘ + Enter sends.</small>
          </span>
        </label>
      </fieldset>
      {canNotify() && (
        <fieldset className="choices">
          <legend>Notices</legend>
          <label>
            <input
              type="checkbox"
              checked={prefs.notify}
              onChange={(e) => (e.target.checked ? void allowNotices().then((notify) => setPrefs({ notify })) : setPrefs({ notify: false }))}
            />
            <span>
              <strong>Notify me while I look elsewhere</strong>
              <small>When something waits for you, and when a long answer is through.</small>
            </span>
          </label>
        </fieldset>
      )}
      <fieldset className="choices">
        <legend>For developers</legend>
        <label>
          <input type="checkbox" checked={prefs.developer} onChange={(e) => setPrefs({ developer: e.target.checked })} />
          <span>
            <strong>Show the raw events</strong>
            <small>What went over the wire, with resume points and times.</small>
          </span>
        </label>
      </fieldset>
      {messages && (
        <section className="choices" aria-label="This conversation">
          <h3>This conversation</h3>
          <button type="button" className="button outline" onClick={() => void save()}>
            <Icon name="export" size={16} />
            Save as Markdown
          </button>
        </section>
      )}
      {me?.until && (
        <section className="choices" aria-label="You">
          <h3>You</h3>
          <p className="meta">Signed in as {me.principal}.</p>
          <button
            type="button"
            className="button outline"
            onClick={() => void signOut().catch(() => notice('You could not be signed out.'))}
          >
            Sign out
          </button>
        </section>
      )}
      {tools.length > 0 && (
        <section className="toollist" aria-label="Tools">
          <h3>Tools</h3>
          <ul>
            {tools.map((t) => (
              <li key={t.name}>
                <code>{t.name}</code>
                {t.where === 'client' && (
                  <span className="meta">
                    <Icon name="browser" size={16} /> in the browser
                  </span>
                )}
                <span className="meta">{asks(t.confirm) ? 'asks first' : 'runs by itself'}</span>
                <span className="meta">
                  {t.runs ?? 0} runs{t.failed ? `, ${t.failed} failed` : ''}
                </span>
                {t.description && <small>{t.description}</small>}
              </li>
            ))}
          </ul>
        </section>
      )}
    </Dialog>
  );
}

function asks(confirm: unknown): boolean {
  return confirm !== undefined && confirm !== null && confirm !== false && confirm !== 'never';
}
