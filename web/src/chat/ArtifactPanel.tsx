/* ArtifactPanel.tsx -- an artifact beside the conversation: its versions, its code, to take away, over the whole page.
 *
 * The caption stays in every form: only the page can draw it.
 */
import { useEffect, useMemo, useRef, useState } from 'react';
import type { Call } from '../protocol';
import { CopyButton } from './CopyButton';
import { artifactOf, Caption, fileName, Tabs, View, type Artifact, type Tab } from './Embed';
import { Icon } from './icons';
import { t } from '../words';

interface Props {
  /** Every artifact of the conversation, oldest first. */
  calls: Call[];
  /** The call whose artifact is shown. */
  shown: string;
  onShow: (call: string) => void;
  onClose: () => void;
}

export function ArtifactPanel({ calls, shown, onShow, onClose }: Props) {
  const [tab, setTab] = useState<Tab>('preview');
  const [full, setFull] = useState(false);
  const panel = useRef<HTMLElement>(null);
  useEffect(() => panel.current?.focus(), [shown]);
  const versions = useMemo(() => versionsOf(calls, shown), [calls, shown]);
  const at = versions.findIndex((v) => v.call.id === shown);
  const now = versions[at];
  if (!now) return null;
  const step = (by: number, label: string, name: 'back' | 'next') => (
    <button type="button" className="quiet" aria-label={label} disabled={!versions[at + by]} onClick={() => onShow(versions[at + by]!.call.id)}>
      <Icon name={name} size={16} />
    </button>
  );
  return (
    <aside
      ref={panel}
      className={full ? 'artifact beside full' : 'artifact beside'}
      aria-label={t.artifactWhat(now.artifact.title)}
      tabIndex={-1}
      onKeyDown={(e) => {
        if (e.key !== 'Escape') return;
        e.preventDefault();
        if (full) setFull(false);
        else onClose();
      }}
    >
      <header>
        <Caption artifact={now.artifact} by={now.call.name} />
        <button type="button" className="quiet" aria-label={t.closeArtifact} onClick={onClose}>
          <Icon name="close" size={16} />
        </button>
        <span className="beside-tools">
          {versions.length > 1 && (
            <span className="versions" role="group" aria-label={t.artifactVersions}>
              {step(-1, t.artifactEarlier, 'back')}
              <span>
                {at + 1} / {versions.length}
              </span>
              {step(1, t.artifactLater, 'next')}
            </span>
          )}
          <Tabs artifact={now.artifact} tab={tab} onTab={setTab} />
          <CopyButton text={now.artifact.content} label={t.copyWhat(now.artifact.title)} />
          <Download artifact={now.artifact} />
          <button type="button" className="quiet" aria-pressed={full} aria-label={t.fullScreen} title={t.fullScreen} onClick={() => setFull(!full)}>
            <Icon name="expand" size={16} />
          </button>
        </span>
      </header>
      <View key={now.call.id} artifact={now.artifact} tab={tab} />
    </aside>
  );
}

/* The same title, or the same id, is the same thing at another time. */
function versionsOf(calls: Call[], shown: string): { call: Call; artifact: Artifact }[] {
  const all = calls.flatMap((call) => {
    const artifact = artifactOf(call);
    return artifact ? [{ call, artifact }] : [];
  });
  const now = all.find((v) => v.call.id === shown)?.artifact;
  return all.filter((v) => now && (v.artifact.id === now.id || v.artifact.title === now.title));
}

function Download({ artifact }: { artifact: Artifact }) {
  const url = useMemo(() => URL.createObjectURL(new Blob([artifact.content], { type: 'text/html' })), [artifact]);
  useEffect(() => () => URL.revokeObjectURL(url), [url]);
  return (
    <a className="quiet" href={url} download={fileName(artifact, 'html')} aria-label={t.downloadWhat(artifact.title)} title={t.download}>
      <Icon name="download" size={16} />
    </a>
  );
}
