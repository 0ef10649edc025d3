/* Markdown.tsx -- blocks and marks as elements.
 *
 * Every block is a memoised component of its source text: a token that comes in
 * draws the last block and nothing else. There is no way from text to HTML.
 */
import { Fragment, memo, useEffect, useRef, useState, type ReactNode } from 'react';
import { GrowingBlocks, halfTable, readFence, readList, readTable, splitBlocks, type Block } from './blocks';
import { CodeBlock } from './CodeBlock';
import { hostOf, parseInline, safeHref, type Inline } from './inline';

export const Markdown = memo(function Markdown({ text, growing = false }: { text: string; growing?: boolean }) {
  const cache = useRef<GrowingBlocks>(null);
  cache.current ??= new GrowingBlocks();
  const paced = usePaced(text, growing);
  const blocks = cache.current.update(paced);
  const open = growing || paced.length < text.length;
  return (
    <div className="md" dir="auto">
      {blocks.map((b, i) => (
        <BlockView key={b.from} type={b.type} src={b.src} open={open && i === blocks.length - 1} />
      ))}
    </div>
  );
});

/* A page that was starved may find half an answer waiting. It is drawn over some
 * frames, so that no single one takes long; what is finished when it is first
 * seen (a thread that is opened) is drawn at once. */
const frameMax = 4000; // characters

function usePaced(text: string, growing: boolean): string {
  const grows = useRef(growing);
  const shown = useRef(growing ? 0 : text.length);
  const [, again] = useState(0);
  const rest = text.length - shown.current;
  shown.current = grows.current && rest > frameMax ? shown.current + frameMax : text.length;
  const behind = shown.current < text.length;
  useEffect(() => {
    if (!behind) return;
    const frame = requestAnimationFrame(() => again((n) => n + 1));
    return () => cancelAnimationFrame(frame);
  });
  return behind ? text.slice(0, shown.current) : text;
}

interface BlockProps {
  type: Block['type'];
  src: string;
  open: boolean;
}

const BlockView = memo(function BlockView({ type, src, open }: BlockProps): ReactNode {
  switch (type) {
    case 'heading':
      return <Heading src={src} open={open} />;
    case 'code': {
      const { code, language, closed } = readFence(src);
      return <CodeBlock code={code} language={language} closed={closed || !open} />;
    }
    case 'list':
      return <List src={src} open={open} />;
    case 'quote':
      return <blockquote dir={dirOf(src)}>{nested(src.replace(/^ {0,3}> ?/gm, ''), open)}</blockquote>;
    case 'table':
      return <Table src={src} open={open} />;
    case 'rule':
      return <hr />;
    case 'paragraph': {
      const half = open ? halfTable(src) : src.length;
      return (
        <>
          {half > 0 && (
            <p dir="auto" className={open ? 'caret' : undefined}>
              {inline(src.slice(0, half), open)}
            </p>
          )}
          {half < src.length && <Table src={src.slice(half)} open />}
        </>
      );
    }
  }
});

function nested(src: string, open: boolean): ReactNode {
  const blocks = splitBlocks(src);
  return blocks.map((b, i) => <BlockView key={b.from} type={b.type} src={b.src} open={open && i === blocks.length - 1} />);
}

/* Headings of an answer stand below the page's own: h1 of the model is our h3. */
function Heading({ src, open }: { src: string; open: boolean }) {
  const m = /^ {0,3}(#{1,6})[ \t]*(.*?)[ \t]*#*$/.exec(src);
  const level = m?.[1]?.length ?? 1;
  const Tag = `h${Math.min(6, level + 2)}` as 'h3';
  return (
    <Tag dir="auto" data-level={level} className={open ? 'caret' : undefined}>
      {inline(m?.[2] ?? src, open)}
    </Tag>
  );
}

function List({ src, open }: { src: string; open: boolean }) {
  const { ordered, start, loose, items } = readList(src);
  const children = items.map((item, i) => <Item key={i} src={item} loose={loose} open={open && i === items.length - 1} />);
  const dir = dirOf(src);
  return ordered ? (
    <ol start={start} dir={dir}>
      {children}
    </ol>
  ) : (
    <ul dir={dir}>{children}</ul>
  );
}

/* dir="auto" does not look into children that have a direction of their own. The first letter decides here too. */
const rightToLeft = /^(?:\[[xX]\]|\P{L})*[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/u;

function dirOf(src: string): 'rtl' | 'ltr' {
  return rightToLeft.test(src) ? 'rtl' : 'ltr';
}

const Item = memo(function Item({ src, loose, open }: { src: string; loose: boolean; open: boolean }) {
  const task = /^\[([ xX])\] /.exec(src);
  const body = task ? src.slice(4) : src;
  const blocks = splitBlocks(body);
  const [first, ...rest] = blocks;
  const tight = !loose && first?.type === 'paragraph';
  return (
    <li dir="auto" className={task ? 'task' : open && tight && rest.length === 0 ? 'caret' : undefined}>
      {task && <input type="checkbox" checked={task[1] !== ' '} readOnly disabled aria-label={task[1] !== ' ' ? 'done' : 'open'} />}
      {tight ? inline(first.src, open && rest.length === 0) : first && <BlockView {...first} open={open && rest.length === 0} />}
      {rest.map((b, i) => (
        <BlockView key={b.from} type={b.type} src={b.src} open={open && i === rest.length - 1} />
      ))}
    </li>
  );
});

function Table({ src, open }: { src: string; open: boolean }) {
  const { head, align, rows } = readTable(src);
  const cell = (text: string, i: number, Tag: 'th' | 'td', last: boolean) => (
    <Tag key={i} className={align[i] ? `to-${align[i]}` : undefined} dir="auto">
      {inline(text, open && last)}
    </Tag>
  );
  return (
    <div className="table" tabIndex={0} role="group" aria-label="Table, scrolls sideways">
      <table>
        <thead>
          <tr>{head.map((c, i) => cell(c, i, 'th', rows.length === 0))}</tr>
        </thead>
        <tbody>
          {rows.map((r, n) => (
            <tr key={n}>{r.map((c, i) => cell(c, i, 'td', n === rows.length - 1))}</tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function inline(src: string, open: boolean): ReactNode {
  return parseInline(src, open).map(node);
}

function node(n: Inline, key: number): ReactNode {
  switch (n.type) {
    case 'text':
      return n.text;
    case 'break':
      return <br key={key} />;
    case 'code':
      return <code key={key}>{n.text}</code>;
    case 'strong':
      return <strong key={key}>{n.children.map(node)}</strong>;
    case 'em':
      return <em key={key}>{n.children.map(node)}</em>;
    case 'strike':
      return <s key={key}>{n.children.map(node)}</s>;
    case 'link':
      return (
        <SafeLink key={key} href={n.href} text={plain(n.children)} bare={n.bare}>
          {n.children.map(node)}
        </SafeLink>
      );
    case 'image':
      return <SafeImage key={key} src={n.src} alt={n.alt} />;
  }
}

function plain(nodes: Inline[]): string {
  return nodes.map((n) => ('text' in n ? n.text : 'children' in n ? plain(n.children) : '')).join('');
}

/* Text that names another host than the target is a trap: the real host is written beside it. */
function SafeLink({ href, text, bare, children }: { href: string; text: string; bare: boolean; children: ReactNode }) {
  const safe = safeHref(href);
  if (!safe) return <Fragment>{children}</Fragment>;
  const host = hostOf(safe);
  const named = /([a-z0-9-]+\.)+[a-z]{2,}/i.exec(text)?.[0].toLowerCase();
  const misleading = !bare && named !== undefined && named !== host && `www.${named}` !== host;
  return (
    <a href={safe} target="_blank" rel="noopener noreferrer nofollow" title={safe}>
      {children}
      {misleading && <span className="host"> ({host})</span>}
    </a>
  );
}

/* A picture from elsewhere would tell that elsewhere what was read here: it is never loaded, only linked. */
function SafeImage({ src, alt }: { src: string; alt: string }) {
  if (/^data:image\/(?:png|jpeg|gif|webp|svg\+xml)[;,]/i.test(src)) return <img src={src} alt={alt} />;
  const safe = safeHref(src);
  if (!safe) return <span className="no-image">{alt || 'image'}</span>;
  return (
    <a className="no-image" href={safe} target="_blank" rel="noopener noreferrer nofollow" title={safe}>
      Image{alt ? `: ${alt}` : ''} <span className="host">({hostOf(safe)}, not loaded)</span>
    </a>
  );
}
