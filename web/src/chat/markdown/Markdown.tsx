/* Markdown.tsx -- the tree as elements.
 *
 * Every unit is a memoised component of its nodes: a token that comes in draws
 * the last unit and nothing else. There is no way from text to HTML: tags are
 * shown as they were written, but for line breaks. What has no picture here (an
 * address that may not be followed, a definition) is shown as text, so that
 * nothing is lost. Characters that turn text around are shown by their number.
 */
import type { Definition, FootnoteDefinition, Heading, List, ListItem, Nodes, Paragraph, RootContent, Table, TableRow } from 'mdast';
import { Fragment, memo, useEffect, useLayoutEffect, useRef, useState, useSyncExternalStore, type ReactNode, type RefObject } from 'react';
import { CodeBlock } from './CodeBlock';
import { Diagram } from './Diagram';
import { Formula } from './Formula';
import { hostOf, safeHref, targetBeside } from './links';
import { unturned } from '../reveal';
import { waitForTurn } from './turns';
import type { GrowingText, Unit } from './units';
import { t } from '../../words';

/* The parser is a third of all the page's own code and is not needed for its first picture: it is asked for behind
 * it, by whoever writes a message or has an answer to show. An answer that is there earlier keeps its place until then, unseen, so that no
 * raw marks flash by; one that cannot be read, because the parser never comes, is shown as it was written. */
type Reader = new () => GrowingText;
let reader: Reader | 'comes' | 'missing' = 'comes';
const waiting = new Set<() => void>();
let loading: Promise<void> | null = null;

export function loadParser(): Promise<void> {
  loading ??= import('./units')
    .then(
      (m) => void (reader = m.GrowingText),
      () => void (reader = 'missing'),
    )
    .then(tellAll);
  return loading;
}

function tellAll(): void {
  for (const tell of [...waiting]) tell();
}

function watchReader(tell: () => void): () => void {
  waiting.add(tell);
  void loadParser();
  return () => waiting.delete(tell);
}

export const Markdown = memo(function Markdown({ text: written, growing = false }: { text: string; growing?: boolean }) {
  const text = unturned(written);
  const now = useSyncExternalStore(
    watchReader,
    () => reader,
    () => reader,
  );
  if (typeof now === 'function') return <Read reader={now} text={text} growing={growing} />;
  return (
    <div className={now === 'comes' ? 'md as-written unseen' : 'md as-written'} dir="auto">
      {text}
    </div>
  );
});

function Read({ reader: New, text, growing }: { reader: Reader; text: string; growing: boolean }) {
  const cache = useRef<GrowingText>(null);
  cache.current ??= new New();
  const paced = usePaced(text, growing);
  const units = cache.current.update(paced.text, growing || !paced.all);
  const box = useRef<HTMLDivElement>(null);
  useRoom(box, text, paced.unseen);
  return (
    <div ref={box} className={paced.unseen ? 'md coming' : 'md'} dir="auto">
      {groups(units).map((g) =>
        g[0]!.list !== undefined ? (
          <TopList key={g[0]!.list} units={g} />
        ) : isTable(g[0]!) ? (
          <TopTable key={g[0]!.table} units={g} />
        ) : (
          <UnitView key={g[0]!.from} nodes={g[0]!.nodes} end={endOf(g[0]!)} />
        ),
      )}
    </div>
  );
}

interface Paced {
  /** What is drawn of it by now. */
  text: string;
  all: boolean;
  /** Nobody shall watch it run by. */
  unseen: boolean;
}

/* A page that was starved may find half an answer waiting: it is drawn over some frames, so that no single one takes
 * long. What is finished when it is first seen (a thread that is opened) waits for its turn (turns.ts), and is not seen
 * before all of it is there. */
const frameMax = 1500; // characters; no model is faster than that

function usePaced(text: string, growing: boolean): Paced {
  const grows = useRef(growing);
  const shown = useRef(grows.current || typeof document !== 'undefined' ? 0 : text.length);
  const opened = useRef(false);
  const [, again] = useState(0);
  const rest = text.length - shown.current;
  if (grows.current) shown.current = rest > frameMax ? shown.current + frameMax : text.length;
  else if (opened.current) shown.current = text.length;
  const all = shown.current >= text.length;
  if (all) opened.current = true;
  useEffect(() => {
    if (all || !grows.current) return;
    const frame = requestAnimationFrame(() => again((n) => n + 1));
    return () => cancelAnimationFrame(frame);
  });
  useLayoutEffect(() => {
    if (all || grows.current) return;
    return waitForTurn((max) => {
      const from = shown.current;
      shown.current = endOfBlock(text, from + max);
      again((n) => n + 1);
      return { took: shown.current - from, more: shown.current < text.length };
    });
  }, [text, all]);
  return { text: all ? text : text.slice(0, shown.current), all, unseen: !all && !grows.current };
}

/* Until it is drawn it has about the room that it will need: what stands above is not taken for near. */
function useRoom(box: RefObject<HTMLDivElement | null>, text: string, unseen: boolean): void {
  useLayoutEffect(() => {
    const el = box.current;
    if (!el || !unseen) return;
    const perLine = Math.max(20, el.clientWidth / 8); // characters
    const lines = text.split('\n').reduce((n, line) => n + Math.ceil(line.length / perLine), 0);
    el.style.minHeight = `${lines * 26}px`;
    return () => void (el.style.minHeight = '');
  }, [box, text, unseen]);
}

const blockMax = 300; // characters

/* Behind a blank line, if one is near: what is cut in the middle is read twice. */
function endOfBlock(text: string, from: number): number {
  const at = text.indexOf('\n\n', from);
  return at < 0 || at - from > blockMax ? Math.min(from, text.length) : at + 2;
}

/* Is this the last thing of a growing text? A formula there may have no end yet. */
type End = 'no' | 'open' | 'formula';

function endOf(unit: Unit): End {
  return !unit.open ? 'no' : unit.formula ? 'formula' : 'open';
}

/* Items of one list stand together, and so do the rows of one table; every other unit stands alone. */
function groups(units: Unit[]): Unit[][] {
  const out: Unit[][] = [];
  const isOne = (a: Unit | undefined, b: Unit) => (b.list !== undefined && a?.list === b.list) || (b.table !== undefined && a?.table === b.table);
  for (const u of units) {
    if (isOne(out.at(-1)?.[0], u)) out.at(-1)!.push(u);
    else out.push([u]);
  }
  return out;
}

const UnitView = memo(function UnitView({ nodes, end }: { nodes: RootContent[]; end: End }): ReactNode {
  return blocks(nodes, end, 0);
});

/* ---- blocks ---- */

const depthMax = 30; // deeper nesting is noise, or an attack on the stack

function blocks(nodes: RootContent[], end: End, depth: number): ReactNode[] {
  return nodes.map((n, i) => <Fragment key={i}>{block(n, i === nodes.length - 1 ? end : 'no', depth)}</Fragment>);
}

function block(n: RootContent, end: End, depth: number): ReactNode {
  if (depth > depthMax) return <p>{plain(n)}</p>;
  switch (n.type) {
    case 'heading':
      return <HeadingView node={n} end={end} />;
    case 'code':
      return n.lang === 'mermaid' ? (
        <Diagram code={n.value} closed={end === 'no'} />
      ) : (
        <CodeBlock code={n.value} language={n.lang ?? ''} closed={end === 'no'} />
      );
    case 'list':
      return <ListView node={n} end={end} depth={depth + 1} />;
    case 'blockquote':
      return <blockquote dir={dirOf(n)}>{blocks(n.children, end, depth + 1)}</blockquote>;
    case 'table':
      return <TableView node={n} end={end} />;
    case 'thematicBreak':
      return <hr />;
    case 'paragraph':
      return <ParagraphView node={n} end={end} />;
    case 'math':
      return <Formula tex={n.value} display half={end === 'formula'} />;
    case 'html':
      return <p className="as-written">{n.value}</p>;
    case 'definition':
      return <DefinitionView node={n} />;
    case 'footnoteDefinition':
      return <FootnoteView node={n} end={end} depth={depth + 1} />;
    default:
      return <p>{inline([n], end)}</p>;
  }
}

function ParagraphView({ node, end }: { node: Paragraph; end: End }) {
  return (
    <p dir="auto" className={end === 'no' ? undefined : 'caret'}>
      {inline(node.children, end)}
    </p>
  );
}

/* Headings of an answer stand below the page's own: h1 of the model is our h3. */
function HeadingView({ node, end }: { node: Heading; end: End }) {
  const Tag = `h${Math.min(6, node.depth + 2)}` as 'h3';
  return (
    <Tag dir="auto" data-level={node.depth} className={end === 'no' ? undefined : 'caret'}>
      {inline(node.children, end)}
    </Tag>
  );
}

function TopList({ units }: { units: Unit[] }) {
  const list = (u: Unit) => u.nodes[0] as List;
  const loose = units.some((u, i) => (i > 0 && u.apart) || isSpread(list(u)));
  return (
    <ListFrame of={list(units[0]!)}>
      {units.map((u) => (
        <Item key={u.from} node={list(u).children[0]!} loose={loose} end={endOf(u)} depth={1} />
      ))}
    </ListFrame>
  );
}

function isSpread(list: List): boolean {
  return list.children.some((item) => item.spread);
}

function ListView({ node, end, depth }: { node: List; end: End; depth: number }) {
  const loose = node.spread || isSpread(node);
  return (
    <ListFrame of={node}>
      {node.children.map((item, i) => (
        <Item key={i} node={item} loose={loose} end={i === node.children.length - 1 ? end : 'no'} depth={depth} />
      ))}
    </ListFrame>
  );
}

function ListFrame({ of, children }: { of: List; children: ReactNode }) {
  const dir = dirOf(of);
  return of.ordered ? (
    <ol start={of.start ?? 1} dir={dir}>
      {children}
    </ol>
  ) : (
    <ul dir={dir}>{children}</ul>
  );
}

/* dir="auto" does not look into children that have a direction of their own. The first letter decides here too. */
const rightToLeft = /^\P{L}*[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/u;

function dirOf(n: Nodes): 'rtl' | 'ltr' {
  return rightToLeft.test(plain(n)) ? 'rtl' : 'ltr';
}

const Item = memo(function Item({ node, loose, end, depth }: { node: ListItem; loose: boolean; end: End; depth: number }) {
  const last = node.children.length - 1;
  const task = typeof node.checked === 'boolean';
  const caret = end !== 'no' && !loose && node.children[last]?.type === 'paragraph';
  const names = [task && 'task', caret && 'caret'].filter(Boolean).join(' ');
  return (
    <li dir="auto" className={names || undefined}>
      {task && <input type="checkbox" checked={node.checked!} readOnly disabled aria-label={node.checked ? t.taskDone : t.taskOpen} />}
      {node.children.map((c, i) => (
        <Fragment key={i}>
          {c.type === 'paragraph' && !loose ? inline(c.children, i === last ? end : 'no') : block(c, i === last ? end : 'no', depth)}
        </Fragment>
      ))}
    </li>
  );
});

function TableView({ node, end }: { node: Table; end: End }) {
  const [head, ...rows] = node.children;
  return (
    <TableFrame>
      <TableHead row={head!} align={node.align} end={rows.length ? 'no' : end} />
      <TableRows rows={rows} align={node.align} columns={head!.children.length} end={end} />
    </TableFrame>
  );
}

/* A long one: rows that are finished are not drawn again. What stands right below the last row, and may still become one,
 * stands below the table. */
function TopTable({ units }: { units: Unit[] }) {
  const { align, children } = units[0]!.nodes[0] as Table;
  const below = units.at(-1)!.nodes.slice(isTable(units.at(-1)!) ? 1 : 0);
  return (
    <>
      <TableFrame>
        <TableHead row={children[0]!} align={align} end="no" />
        {units.filter(isTable).map((u, i) => (
          <TableRows
            key={u.from}
            rows={(u.nodes[0] as Table).children}
            first={i === 0 ? 1 : 0}
            align={align}
            columns={children[0]!.children.length}
            end={below.length ? 'no' : endOf(u)}
          />
        ))}
      </TableFrame>
      {below.length > 0 && blocks(below, endOf(units.at(-1)!), 0)}
    </>
  );
}

function isTable(u: Unit): boolean {
  return u.table !== undefined && u.nodes[0]?.type === 'table';
}

function TableFrame({ children }: { children: ReactNode }) {
  return (
    <div className="table" tabIndex={0} role="group" aria-label={t.tableView}>
      <table>{children}</table>
    </div>
  );
}

function TableHead({ row, align, end }: { row: TableRow; align: Table['align']; end: End }) {
  return (
    <thead>
      <tr>{cells(row, align, row.children.length, 'th', end)}</tr>
    </thead>
  );
}

interface RowsProps {
  rows: TableRow[];
  first?: number;
  align: Table['align'];
  columns: number;
  end: End;
}

const TableRows = memo(function TableRows({ rows, first = 0, align, columns, end }: RowsProps) {
  return (
    <tbody>
      {rows.slice(first).map((r, i) => (
        <tr key={i}>{cells(r, align, columns, 'td', i === rows.length - first - 1 ? end : 'no')}</tr>
      ))}
    </tbody>
  );
});

function cells(row: TableRow, align: Table['align'], columns: number, Tag: 'th' | 'td', end: End): ReactNode[] {
  return Array.from({ length: Math.max(row.children.length, columns) }, (_, i) => (
    <Tag key={i} className={align?.[i] ? `to-${align[i]}` : undefined} dir="auto">
      {inline(row.children[i]?.children ?? [], i === row.children.length - 1 ? end : 'no')}
    </Tag>
  ));
}

/* Where links lead that are named elsewhere: a person may want to see it, so it stays in sight. */
function DefinitionView({ node }: { node: Definition }) {
  return (
    <p className="definition" dir="auto">
      [{node.label}]: <SafeLink href={node.url} text={node.url} title={null} />
      {node.title && ` "${node.title}"`}
    </p>
  );
}

function FootnoteView({ node, end, depth }: { node: FootnoteDefinition; end: End; depth: number }) {
  return (
    <div className="footnote" dir="auto">
      <sup>{node.label}</sup>
      <div>{blocks(node.children, end, depth)}</div>
    </div>
  );
}

/* ---- in a line ---- */

function inline(nodes: Nodes[], end: End, depth = 0): ReactNode[] {
  return nodes.map((n, i) => mark(n, i, i === nodes.length - 1 ? end : 'no', depth));
}

function mark(n: Nodes, key: number, end: End, depth: number): ReactNode {
  if (depth > depthMax) return plain(n);
  const inside = () => ('children' in n ? inline(n.children, end, depth + 1) : null);
  switch (n.type) {
    case 'break':
      return <br key={key} />;
    case 'inlineCode':
      return <code key={key}>{n.value.replaceAll('\n', ' ')}</code>;
    case 'strong':
      return <strong key={key}>{inside()}</strong>;
    case 'emphasis':
      return <em key={key}>{inside()}</em>;
    case 'delete':
      return <s key={key}>{inside()}</s>;
    case 'link':
      return (
        <SafeLink key={key} href={n.url} text={plain(n)} title={n.title} pictured={hasPicture(n)}>
          {inside()}
        </SafeLink>
      );
    case 'image':
      return <SafeImage key={key} src={n.url} alt={n.alt ?? ''} title={n.title} />;
    case 'inlineMath':
      return <Formula key={key} tex={n.value} display={n.display} half={end === 'formula'} />;
    case 'footnoteReference':
      return <sup key={key}>{n.label}</sup>;
    case 'html':
      return /^<br\s*\/?>$/i.test(n.value) ? <br key={key} /> : n.value;
    default:
      return plain(n);
  }
}

function hasPicture(n: Nodes): boolean {
  const rest: Nodes[] = [n];
  for (let at = rest.pop(); at; at = rest.pop()) {
    if (at.type === 'image') return true;
    if ('children' in at) rest.push(...(at.children as Nodes[]));
  }
  return false;
}

/* Without recursion: this is what is left when something is nested too deeply. */
function plain(n: Nodes): string {
  const rest: Nodes[] = [n];
  let out = '';
  for (let at = rest.pop(); at; at = rest.pop()) {
    if ('value' in at) out += at.value;
    else if ('alt' in at) out += at.alt ?? '';
    else if ('children' in at) rest.push(...(at.children as Nodes[]).toReversed());
  }
  return out;
}

interface LinkProps {
  href: string;
  text: string;
  title?: string | null;
  /** There is a picture in it, which may show any words. */
  pictured?: boolean;
  children?: ReactNode;
}

/* Where something leads, in the page's words: nothing around it turns it or takes it elsewhere. */
function Beside({ place }: { place: string }) {
  return (
    <bdi dir="ltr" className="host">
      ({place})
    </bdi>
  );
}

/* Text that names another place than the target is a trap: the real one is written beside it. An address that may not
 * be followed is written beside the words. Both stand together (an isolate): beside another link they would be its own. */
function SafeLink({ href, text, title, pictured = false, children = text }: LinkProps) {
  const safe = safeHref(href);
  if (!safe) {
    const more = [href === text ? '' : href, title ?? ''].filter(Boolean).join(' ');
    return (
      <span className="no-link">
        {children}
        {more && <> <Beside place={more} /></>}
      </span>
    );
  }
  const beside = pictured ? hostOf(safe) || safe : targetBeside(safe, text);
  return (
    <a href={safe} target="_blank" rel="noopener noreferrer nofollow" title={title ? `${title} (${safe})` : safe}>
      {children}
      {beside && <> <Beside place={beside} /></>}
    </a>
  );
}

/* A picture from elsewhere would tell that elsewhere what was read here: it is never loaded, only linked. One that came
 * with the answer may look like anything, also like this page: it has a frame, and below it stands what it is. */
function SafeImage({ src, alt, title }: { src: string; alt: string; title?: string | null }) {
  if (/^data:image\/(?:png|jpeg|gif|webp|svg\+xml)[;,]/i.test(src))
    return (
      <span className="pictured">
        <img src={src} alt={alt} title={title ?? undefined} />
        <small>{t.drawn}</small>
      </span>
    );
  const safe = safeHref(src);
  const named = [alt, title ?? ''].filter(Boolean).join(', ');
  if (!safe) {
    return (
      <span className="no-image">
        {named || t.image} {src && <Beside place={src} />}
      </span>
    );
  }
  return (
    <a className="no-image" href={safe} target="_blank" rel="noopener noreferrer nofollow" title={safe}>
      {named ? `${t.Image}: ${named}` : t.Image} <bdi className="host">{t.notLoadedFrom(hostOf(safe))}</bdi>
    </a>
  );
}
