/* Settings.tsx -- how the page looks and speaks, and what tools there are. */
import { useEffect, useRef } from 'react';
import { Icon } from '../chat/icons';
import { Dialog } from './Dialog';
import type { Kind } from './export';
import { notice } from './notices';
import { allowNotices, canNotify } from './notify';
import { ModelChoice } from './Pieces';
import { setPrefs, usePrefs, type Theme } from './prefs';
import { product } from './product';
import { Share } from './Share';
import { signOut, useLists } from './store';
import { isLanguage, languageNames, t } from '../words';

const themes: Theme[] = ['system', 'light', 'dark'];

interface Props {
  onClose: () => void;
  /** Saves the conversation; null: there is none. */
  onSave: ((kind: Kind) => void) | null;
  /** The conversation that can be shared. */
  thread: string | null;
}

export function Settings({ onClose, onSave, thread }: Props) {
  const prefs = usePrefs();
  const { tools, me } = useLists();
  return (
    <Dialog title={t.settings} onClose={onClose} side>
      <fieldset className="choices inline">
        <legend>{t.theme}</legend>
        {themes.map((theme) => (
          <label key={theme}>
            <input type="radio" name="theme" value={theme} checked={prefs.theme === theme} onChange={() => setPrefs({ theme })} />
            <span>{t.themes[theme]}</span>
          </label>
        ))}
      </fieldset>
      {product.languages.length > 1 && <LanguageChoice />}
      <fieldset className="choices">
        <legend>{t.writing}</legend>
        <label>
          <input type="checkbox" checked={prefs.enterIsLine} onChange={(e) => setPrefs({ enterIsLine: e.target.checked })} />
          <span>
            <strong>{t.enterIsLine}</strong>
            <small>{t.enterIsLineHow}</small>
          </span>
        </label>
      </fieldset>
      {canNotify() && (
        <fieldset className="choices">
          <legend>{t.notices}</legend>
          <label>
            <input
              type="checkbox"
              checked={prefs.notify}
              onChange={(e) => (e.target.checked ? void allowNotices().then((notify) => setPrefs({ notify })) : setPrefs({ notify: false }))}
            />
            <span>
              <strong>{t.notifyMe}</strong>
              <small>{t.notifyWhen}</small>
            </span>
          </label>
        </fieldset>
      )}
      <fieldset className="choices">
        <legend>{t.developers}</legend>
        <label>
          <input type="checkbox" checked={prefs.developer} onChange={(e) => setPrefs({ developer: e.target.checked })} />
          <span>
            <strong>{t.showRaw}</strong>
            <small>{t.showRawWhat}</small>
          </span>
        </label>
      </fieldset>
      {onSave && (
        <section className="choices" aria-label={t.thisConversation}>
          <h3>{t.thisConversation}</h3>
          <div className="save-buttons">
            <button type="button" className="button outline" onClick={() => onSave('markdown')}>
              <Icon name="download" size={16} />
              {t.saveMarkdown}
            </button>
            <button type="button" className="button outline" onClick={() => onSave('json')}>
              <Icon name="download" size={16} />
              {t.saveJson}
            </button>
          </div>
        </section>
      )}
      {thread && onSave && product.share && <Share thread={thread} />}
      {product.model && (
        <section className="choices" aria-label={t.model}>
          <h3>{t.model}</h3>
          {product.models.length === 0 ? <p className="meta">{t.answersWith(product.model)}</p> : <ModelChoice />}
        </section>
      )}
      {me?.roles.includes('admin') && me.until && (
        <section className="choices" aria-label={t.admin}>
          <h3>{t.admin}</h3>
          <a className="button outline" href="/admin">
            {t.adminTabs.approvals}
          </a>
        </section>
      )}
      {me?.until && (
        <section className="choices" aria-label={t.You}>
          <h3>{t.You}</h3>
          <p className="meta">{t.signedInAs(me.principal)}</p>
          <button
            type="button"
            className="button outline"
            onClick={() => void signOut().catch(() => notice(t.notSignedOut))}
          >
            {t.signOut}
          </button>
        </section>
      )}
      {tools.length > 0 && (
        <section className="toollist" aria-label={t.tools}>
          <h3>{t.tools}</h3>
          <ul>
            {tools.map((tool) => (
              <li key={tool.name}>
                <code>{tool.name}</code>
                {tool.where === 'client' && (
                  <span className="meta">
                    <Icon name="browser" size={16} /> {t.inBrowser}
                  </span>
                )}
                <span className="meta">{asks(tool.confirm) ? t.asksFirst : t.runsItself}</span>
                <span className="meta">
                  {t.runs(tool.runs ?? 0, tool.failed ?? 0)}
                </span>
                {tool.description && <small>{tool.description}</small>}
              </li>
            ))}
          </ul>
        </section>
      )}
    </Dialog>
  );
}

/* The page is drawn anew in the other language; the focus comes back to where it was. */
let changed = false;

function LanguageChoice() {
  const { language } = usePrefs();
  const select = useRef<HTMLSelectElement>(null);
  useEffect(() => {
    if (changed) setTimeout(() => select.current?.focus()); // after the dialog has put it elsewhere
    changed = false;
  }, []);
  const choose = (value: string) => {
    changed = true;
    setPrefs({ language: isLanguage(value) ? value : null });
  };
  return (
    <fieldset className="choices">
      <legend>{t.languageTitle}</legend>
      <select ref={select} className="select" aria-label={t.languageTitle} value={language ?? ''} onChange={(e) => choose(e.target.value)}>
        <option value="">{t.languageBrowser}</option>
        {product.languages.map((l) => (
          <option key={l} value={l} lang={l}>
            {languageNames[l]}
          </option>
        ))}
      </select>
    </fieldset>
  );
}

function asks(confirm: unknown): boolean {
  return confirm !== undefined && confirm !== null && confirm !== false && confirm !== 'never';
}
