/* mermaid.ts -- draws diagrams. Loaded when there is one.
 *
 * Mermaid writes style sheets into its pictures and has had holes; the page's
 * policy allows the one and must not suffer from the other. So it runs in a
 * frame without an origin that can load and send nothing (the one artifacts
 * have), and gives back a picture, which is shown as an image: no script of it
 * runs, nothing of it is part of the page.
 */
import { isObject } from '../../protocol';

export interface Picture {
  url: string;
  width: number;
  height: number;
}

const patience_ms = 60_000; // for the frame, mermaid and the drawing together

interface Waiting {
  done: (picture: Picture) => void;
  failed: (why: Error) => void;
}

interface Desk {
  frame: HTMLIFrameElement;
  ready: Promise<void>;
  waiting: Map<number, Waiting>;
}

let desk: Desk | null = null;
let count = 0;

/** Draws in the colours that hold at `here`, with the server's frame and script. */
export async function draw(code: string, here: Element, base: string): Promise<Picture> {
  if (desk && !desk.frame.isConnected) close(desk); // it went with the part of the page that it was in
  const d = (desk ??= open(here, base));
  const id = ++count;
  const drawn = new Promise<Picture>((done, failed) => d.waiting.set(id, { done, failed }));
  const late = setTimeout(() => close(d), patience_ms);
  try {
    await Promise.race([d.ready, drawn]);
    d.frame.contentWindow?.postMessage({ type: 'parley-draw', id, code, colours: coloursOf(here) }, '*');
    return await drawn;
  } finally {
    clearTimeout(late);
    d.waiting.delete(id);
  }
}

/* A frame that hangs is thrown away with all that wait for it. */
function close(d: Desk): void {
  if (desk === d) desk = null;
  d.frame.remove();
  for (const w of d.waiting.values()) w.failed(new Error('the diagram took too long'));
}

function open(here: Element, base: string): Desk {
  const frame = document.createElement('iframe');
  const waiting: Desk['waiting'] = new Map();
  const source = fetch(`${base}/mermaid.js`).then((r) => (r.ok ? r.text() : Promise.reject(new Error('mermaid is not there'))));
  const ready = new Promise<void>((done, failed) => {
    source.catch(failed);
    window.addEventListener('message', function hear(e) {
      if (!frame.isConnected) return window.removeEventListener('message', hear);
      if (e.source !== frame.contentWindow || !isObject(e.data)) return;
      const { type, id, svg } = e.data;
      if (type === 'parley-frame-ready')
        void source.then(
          (js) => frame.contentWindow?.postMessage({ type: 'parley-frame-show', html: pageOf(js) }, '*'),
          () => {},
        );
      else if (type === 'parley-draw-ready') done();
      else if (type === 'parley-drawn' && typeof id === 'number') {
        const picture = typeof svg === 'string' ? pictureOf(svg) : null;
        if (picture) waiting.get(id)?.done(picture);
        else waiting.get(id)?.failed(new Error('no diagram'));
      }
    });
  });
  const d = { frame, ready, waiting };
  ready.catch(() => close(d));
  frame.title = 'Drawing';
  frame.className = 'drawing-desk';
  frame.tabIndex = -1;
  frame.setAttribute('aria-hidden', 'true');
  frame.setAttribute('sandbox', 'allow-scripts');
  frame.src = `${base}/frame.html`;
  const root = here.getRootNode();
  (root instanceof ShadowRoot ? root : document.body).append(frame);
  return d;
}

/* The page's own colours, as they are now. */
function coloursOf(here: Element): Record<string, string | boolean> {
  const probe = here.appendChild(document.createElement('span'));
  const read = (value: string) => {
    probe.style.color = value;
    return getComputedStyle(probe).color;
  };
  const colour = (token: string) => read(`var(--${token})`);
  const found = {
    darkMode: read('light-dark(white, black)') === read('black'),
    fontFamily: 'system-ui, sans-serif',
    fontSize: '15px',
    background: colour('code-bg'),
    primaryColor: colour('panel'),
    primaryTextColor: colour('ink'),
    primaryBorderColor: colour('line-strong'),
    secondaryColor: colour('ask-bg'),
    tertiaryColor: colour('code-bg'),
    lineColor: colour('ink-soft'),
    textColor: colour('ink'),
    edgeLabelBackground: colour('code-bg'),
    noteBkgColor: colour('work-bg'),
    noteTextColor: colour('ink'),
    noteBorderColor: colour('line-strong'),
  };
  probe.remove();
  return found;
}

/* What runs in the frame. */
function pageOf(js: string): string {
  const drive = `
    mermaid.initialize({ startOnLoad: false });
    addEventListener('message', async (e) => {
      if (e.source !== parent || !e.data || e.data.type !== 'parley-draw') return;
      const { id, code, colours } = e.data;
      try {
        mermaid.initialize({ startOnLoad: false, securityLevel: 'strict', suppressErrorRendering: true, theme: 'base', themeVariables: colours,
          fontFamily: colours.fontFamily, htmlLabels: false, flowchart: { htmlLabels: false } });
        const { svg } = await mermaid.render('d' + id, code);
        parent.postMessage({ type: 'parley-drawn', id, svg }, '*');
      } catch (error) {
        parent.postMessage({ type: 'parley-drawn', id }, '*');
      }
    });
    parent.postMessage({ type: 'parley-draw-ready' }, '*');`;
  return `<!doctype html><meta charset="utf-8"><body><script>${js.replaceAll('</script', '<\\/script')}</script><script>${drive}</script>`;
}

/* As an image it needs a size of its own. */
function pictureOf(svg: string): Picture | null {
  const box = /^<svg[^>]*\sviewBox="[-\d.e]+[ ,]+[-\d.e]+[ ,]+([\d.]+)[ ,]+([\d.]+)"/.exec(svg);
  if (!box) return null;
  const [width, height] = [Math.ceil(Number(box[1])), Math.ceil(Number(box[2]))];
  if (!(width > 0 && height > 0)) return null;
  const sized = svg.replace(/^<svg([^>]*?)\swidth="[^"]*"/, '<svg$1').replace('<svg', `<svg width="${width}" height="${height}"`);
  return { url: `data:image/svg+xml;charset=utf-8,${encodeURIComponent(sized)}`, width, height };
}
