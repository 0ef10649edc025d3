/* CopyButton.tsx -- copies text and says so for a moment. */
import { useEffect, useState } from 'react';
import { Icon } from './icons';
import { t } from '../words';

export function CopyButton({ text, label, words = false }: { text: string | (() => string); label: string; words?: boolean }) {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), 1600);
    return () => clearTimeout(timer);
  }, [copied]);
  const copy = () => void copyText(typeof text === 'string' ? text : text()).then(() => setCopied(true));
  return (
    <button type="button" className="quiet" onClick={copy} aria-label={copied ? t.copiedWhat(label) : label} title={label}>
      <Icon name={copied ? 'check' : 'copy'} size={16} />
      {words && <span>{copied ? t.copied : t.copy}</span>}
    </button>
  );
}

/* Without a secure context there is no clipboard interface; a selection still works. */
export async function copyText(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = document.createElement('textarea');
    area.value = text;
    area.className = 'off-screen';
    document.body.append(area);
    area.select();
    document.execCommand('copy');
    area.remove();
  }
}
