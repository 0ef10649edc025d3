/* Embed.tsx -- results that are meant to be seen: artifacts and pictures.
 *
 * Only a tool that is declared to make them ("shows": "artifact") gets a frame;
 * any other result is text, whatever its shape. The caption above the frame is
 * the page's own and says who made what is below.
 *
 * An artifact is a page that a model wrote. It runs in a frame without an
 * origin: it can run its own script and nothing else, not even a request (see
 * Frame.tsx, public/frame.html and web/README.md). A picture is shown as an image, where
 * no script runs.
 */
import { useContext, useMemo, useState } from 'react';
import { isObject, outputOf, type Call } from '../protocol';
import { Revealed } from './Arguments';
import { BesideContext, useChat } from './context';
import { CopyButton } from './CopyButton';
import { Frame } from './Frame';
import { Icon } from './icons';
import { CodeBlock } from './markdown/CodeBlock';
import { t } from '../words';
import { rich } from '../words/rich';

export interface Artifact {
  id: string;
  type: string;
  title: string;
  content: string;
}

export function artifactOf(call: Call): Artifact | null {
  let v: unknown = outputOf(call);
  if (typeof v === 'string' && v.startsWith('{')) {
    try {
      v = JSON.parse(v);
    } catch {
      return null;
    }
  }
  if (isObject(v) && isObject(v.artifact)) v = v.artifact;
  if (!isObject(v) || typeof v.content !== 'string' || typeof v.type !== 'string') return null;
  return {
    id: String(v.id ?? call.id),
    type: v.type,
    title: typeof v.title === 'string' && v.title ? v.title : t.untitled,
    content: v.content,
  };
}

/** Whether a call's result is one. */
export function useEmbeds(): (call: Call) => boolean {
  const chat = useChat();
  return (call) => call.status === 'done' && chat.tool(call.name)?.shows === 'artifact' && artifactOf(call) !== null;
}

export function Embed({ call }: { call: Call }) {
  const artifact = useMemo(() => artifactOf(call), [call]);
  if (!artifact) return null;
  if (artifact.type === 'svg' || artifact.type.startsWith('image/')) return <Picture artifact={artifact} by={call.name} />;
  return <ArtifactFrame artifact={artifact} by={call.name} call={call.id} />;
}

/* Drawn by the page, outside the frame: nothing in the frame can look like it. */
export function Caption({ artifact, by }: { artifact: Artifact; by: string }) {
  return (
    <span className="made-by">
      <strong>
        <Revealed text={artifact.title.slice(0, 120)} name />
      </strong>
      <small>
        {rich(t.madeBy, { tool: <code><Revealed text={by} name /></code> })}
      </small>
    </span>
  );
}

function Picture({ artifact, by }: { artifact: Artifact; by: string }) {
  const url = useMemo(() => pictureUrl(artifact), [artifact]);
  return (
    <figure className="picture">
      <img src={url} alt={artifact.title} />
      <figcaption>
        <Caption artifact={artifact} by={by} />
        <a
          className="quiet"
          href={url}
          download={fileName(artifact, artifact.type === 'svg' ? 'svg' : 'png')}
        >
          {t.save}
        </a>
      </figcaption>
    </figure>
  );
}

/** What it is called on a disk. */
export function fileName(artifact: Artifact, ending: string): string {
  return `${artifact.title.replace(/[^\p{L}\p{N} -]/gu, '').trim().slice(0, 60) || 'artifact'}.${ending}`;
}

function pictureUrl(a: Artifact): string {
  if (a.content.startsWith('data:image/')) return a.content;
  const type = a.type === 'svg' ? 'image/svg+xml' : a.type;
  return a.type === 'svg' || a.type === 'image/svg+xml'
    ? `data:${type};charset=utf-8,${encodeURIComponent(a.content)}`
    : `data:${type};base64,${a.content}`;
}

function ArtifactFrame({ artifact, by, call }: { artifact: Artifact; by: string; call: string }) {
  const chat = useChat();
  const [tab, setTab] = useState<Tab>('preview');
  // Once on the screen is enough; hidden, not taken away, so that what was done in it is still there afterwards.
  const isBeside = useContext(BesideContext) === call;
  return (
    <figure className="artifact" data-beside={isBeside}>
      <figcaption>
        <Caption artifact={artifact} by={by} />
        {!isBeside && <Tabs artifact={artifact} tab={tab} onTab={setTab} />}
        <CopyButton text={artifact.content} label={t.copyWhat(artifact.title)} />
        <button type="button" className="quiet" aria-label={t.openWhatBeside(artifact.title)} title={t.openBeside} onClick={() => chat.beside(call)}>
          <Icon name="expand" size={16} />
        </button>
      </figcaption>
      <View artifact={artifact} tab={tab} />
    </figure>
  );
}

export type Tab = 'preview' | 'code';

export function Tabs({ artifact, tab, onTab }: { artifact: Artifact; tab: Tab; onTab: (tab: Tab) => void }) {
  return (
    <span className="tabs" role="group" aria-label={t.viewOf(artifact.title)}>
      <button type="button" aria-pressed={tab === 'preview'} onClick={() => onTab('preview')}>
        {t.preview}
      </button>
      <button type="button" aria-pressed={tab === 'code'} onClick={() => onTab('code')}>
        {t.code}
      </button>
    </span>
  );
}

export function View({ artifact, tab }: { artifact: Artifact; tab: Tab }) {
  return tab === 'preview' ? <Frame key={artifact.content} title={artifact.title} html={artifact.content} /> : <CodeBlock code={artifact.content} language="html" closed />;
}
