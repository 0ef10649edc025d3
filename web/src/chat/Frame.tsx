/* Frame.tsx -- where an artifact runs: a frame without an origin, behind a button until a person goes in.
 *
 * The frame page says when it is ready, then gets the document by message: it has no origin, so nothing else reaches it.
 * Another document is another frame. One that is loaded says nothing a second time, so nothing may wait for it again.
 * One that goes away says so, too; if it loads itself anew it is ready once more. (Frames may go nowhere else: what is
 * left is an empty box.)
 *
 * Whoever presses the button over it has the keyboard and the pointer in the artifact, until the focus is elsewhere. One
 * that takes the keyboard by itself is taken down (keyboard.ts).
 */
import { useContext, useEffect, useLayoutEffect, useRef, useState } from 'react';
import { flushSync } from 'react-dom';
import { isObject } from '../protocol';
import { BaseContext } from './context';
import { goInto, watchKeyboard } from './keyboard';
import { t } from '../words';

interface Props {
  title: string;
  html: string;
}

export function Frame(props: Props) {
  const [stole, setStole] = useState(false);
  if (!stole) return <Running {...props} onStole={() => setStole(true)} />;
  return (
    <p className="meta" role="status">
      {t.previewStole}{' '}
      <button type="button" className="quiet" onClick={() => setStole(false)}>
        {t.runAgain}
      </button>
    </p>
  );
}

function Running({ title, html, onStole }: Props & { onStole: () => void }) {
  const base = useContext(BaseContext);
  const frame = useRef<HTMLIFrameElement>(null);
  const [failed, setFailed] = useState(false);
  const [gone, setGone] = useState(false);
  const [used, setUsed] = useState(false);
  useEffect(() => {
    const late = setTimeout(() => setFailed(true), 4000);
    const hear = (e: MessageEvent) => {
      if (e.source !== frame.current?.contentWindow || !isObject(e.data) || e.data.type !== 'parley-frame-ready') return;
      clearTimeout(late);
      setFailed(false);
      setGone(false);
      const channel = new MessageChannel();
      channel.port1.onmessage = () => setGone(true);
      frame.current?.contentWindow?.postMessage({ type: 'parley-frame-show', html }, '*', [channel.port2]);
    };
    window.addEventListener('message', hear);
    return () => {
      clearTimeout(late);
      window.removeEventListener('message', hear);
    };
  }, [html]);
  // Before it is drawn: no script of the frame has run by then.
  useLayoutEffect(() => watchKeyboard(frame.current!, { left: () => setUsed(false), down: () => flushSync(onStole) }), []);
  const goIn = () => {
    flushSync(() => setUsed(true));
    goInto(frame.current!);
  };
  return (
    <>
      <div className="stage" data-used={used} hidden={gone}>
        <iframe ref={frame} title={title} src={`${base}/frame.html`} sandbox="allow-scripts" referrerPolicy="no-referrer" inert={!used} tabIndex={used ? 0 : -1} />
        {!used && (
          <button type="button" className="go-in" aria-label={t.useWhat(title)} onClick={goIn}>
            <span>{t.use}</span>
          </button>
        )}
      </div>
      {gone && <p className="meta">{t.previewGone}</p>}
      {failed && <p className="meta">{t.previewFailed}</p>}
    </>
  );
}
