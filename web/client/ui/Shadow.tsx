/* Shadow.tsx -- an element of the host page with our part of the world in its shadow root. */
import {
  useLayoutEffect,
  useRef,
  useState,
  type CSSProperties,
  type HTMLAttributes,
  type ReactNode,
} from 'react';
import { createPortal } from 'react-dom';
import type { Look, Page } from './page';
import { sheet } from './styles';

interface Props extends Pick<Look, 'theme' | 'accent'> {
  /** null: nothing is drawn yet. Another language is drawn anew. */
  page: Page | null;
  /** Of the element in the host page: its place and size. */
  className?: string;
  style?: CSSProperties;
  /** Nothing that the host page says about its elements counts for this one. */
  guarded?: boolean;
  /** Of the outermost element inside. */
  inner?: HTMLAttributes<HTMLDivElement> & { [data: `data-${string}`]: unknown };
  children: ReactNode;
}

/* The host's shortcuts and drop zones must not hear what happens here: to them it would not seem to
 * come from a text field. */
const ours = ['keydown', 'keypress', 'keyup', 'paste', 'drop', 'dragover'] as const;

export function Shadow({ page, theme, accent, className, style, guarded, inner, children }: Props) {
  const host = useRef<HTMLDivElement>(null);
  const [root, setRoot] = useState<ShadowRoot | null>(null);
  useLayoutEffect(() => {
    const el = host.current!;
    if (guarded)
      el.style.cssText =
        'all: initial !important; display: block !important; color-scheme: inherit !important';
    const shadow = el.shadowRoot ?? el.attachShadow({ mode: 'open' });
    shadow.adoptedStyleSheets = [sheet()];
    const stop = (e: Event) => e.stopPropagation();
    ours.forEach((name) => shadow.addEventListener(name, stop));
    setRoot(shadow);
    return () => ours.forEach((name) => shadow.removeEventListener(name, stop));
  }, [guarded]);
  const content = page && (
    <div
      key={page.language}
      lang={page.language}
      {...inner}
      className={inner?.className ? `parley ${inner.className}` : 'parley'}
      style={{ ...accentStyle(accent, page.product?.accent), ...inner?.style }}
      data-theme={theme}
    >
      {children}
    </div>
  );
  return (
    <div ref={host} className={className} style={style}>
      {root && createPortal(content, root)}
    </div>
  );
}

/* Black or white upon it, whichever is easier to read. */
function accentStyle(accent: string | undefined, product?: [string, string] | null): CSSProperties {
  const hex = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})$/i.exec(accent ?? '');
  if (!hex)
    return product ? ({ '--mine': `light-dark(${product.join(', ')})` } as CSSProperties) : {};
  const light = (of: number[]) =>
    of
      .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
      .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i]!, 0);
  const on = (rgb: number[]) =>
    1.05 / (light(rgb) + 0.05) >= (light(rgb) + 0.05) / 0.05 ? '#fff' : '#000';
  const rgb = hex.slice(1).map((h) => parseInt(h, 16) / 255);
  const pale = rgb.map((v) => v + (1 - v) * 0.45);
  const css = (c: number[]) => `rgb(${c.map((v) => Math.round(v * 255)).join(' ')})`;
  return {
    '--mine': `light-dark(${css(rgb)}, ${css(pale)})`,
    '--on-mine': `light-dark(${on(rgb)}, ${on(pale)})`,
  } as CSSProperties;
}
