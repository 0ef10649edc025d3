/* units.ts -- a text that grows, cut into units that are parsed once.
 *
 * A unit is a block of the document, one item of a list that stands in it, or a
 * few rows of a long table (which are read behind the table's head).
 * Only the last unit whose first line is complete can still change: everything
 * before it is finished, keeps its nodes and is never parsed again. The cost of
 * a token is the cost of the last unit, whatever the length of the answer. Code
 * costs less still: an open fence is read line by line, without the parser.
 *
 * A link may be defined far from where it is used. Definitions are known to all
 * units: one that uses a label from elsewhere is parsed with that definition
 * before it.
 */
import type { Code, Nodes, RootContent, Table } from 'mdast';
import { mend } from './mend';
import { parse } from './parse';

export interface Unit {
  /** Where it begins in the text: its key on the screen. */
  from: number;
  nodes: RootContent[];
  /** Where the list begins that this item belongs to. */
  list: number | undefined;
  /** Where the table begins that these rows belong to; the first unit of it has the head. */
  table: number | undefined;
  /** A blank line stands before it. */
  apart: boolean;
  /** The last one of a growing text. */
  open: boolean;
  /** It ends with a formula whose end has not come. */
  formula: boolean;
}

interface Piece extends Unit {
  src: string;
  /** How far the positions of its nodes are ahead of its source. */
  base: number;
  /** Definitions in it, by label. */
  defines: Map<string, string>;
  /** Labels in it that may be defined elsewhere. */
  uses: string[];
  /** Definitions from elsewhere that it was parsed with. */
  known: string;
  /** Of further rows: the first two lines of their table. */
  head: string;
}

export class GrowingText {
  private text = '';
  private pieces: Piece[] = [];

  update(text: string, growing: boolean): Unit[] {
    if (text !== this.text) this.read(text);
    const last = this.pieces.at(-1);
    if (!growing || !last) return this.pieces;
    const half = halfOf(last);
    return half.nodes.length ? [...this.pieces.slice(0, -1), half] : this.pieces.slice(0, -1);
  }

  private read(text: string): void {
    const grows = text.length > this.text.length && text.startsWith(this.text);
    const lineStart = this.text.lastIndexOf('\n') + 1;
    let keep = grows ? this.pieces.length : 0;
    while (keep > 0 && this.pieces[keep - 1]!.from >= lineStart) keep--;
    const again = this.pieces[keep - 1];
    this.text = text;
    this.pieces = [...this.pieces.slice(0, Math.max(0, keep - 1)), ...cut(text, again?.from ?? 0, again)];
    define(this.pieces);
  }
}

/* What is half written is shown as if its end had come. */
function halfOf(p: Piece): Unit {
  const { src, formula } = mend(p.src, p.nodes, p.base, (text) => parseWith('', p.head, text), p.head.length);
  const nodes = src === p.src ? p.nodes : parseWith(p.known, p.head, src);
  return { from: p.from, nodes, list: p.list, table: p.table, apart: p.apart, open: true, formula };
}

function parseWith(known: string, head: string, src: string): RootContent[] {
  const fence = known || head ? null : openFence(src, 0);
  if (fence?.end === src.length) return [fence.node];
  const nodes = parse(known + head + src);
  const own = known ? nodes.filter((n) => n.position!.end.offset! > known.length) : nodes;
  return head ? withoutHead(own) : own;
}

/* What was read behind the head of a table: its first row is not part of it. */
function withoutHead([table, ...rest]: RootContent[]): RootContent[] {
  const rows = (table as Table).children.slice(1);
  return rows.length ? [{ ...(table as Table), children: rows }, ...rest] : rest;
}

/* ---- cutting ---- */

/* One unit of a text, where it begins in what was parsed. */
interface Start {
  at: number;
  nodes: RootContent[];
  list?: number;
  table?: number;
  head?: string;
}

/* From `from` on, where `again` is read once more and what follows for the first time. */
function cut(text: string, from: number, again?: Piece): Piece[] {
  const { list, head = '' } = again ?? {};
  const fence = list === undefined && !head ? openFence(text, from) : null;
  if (fence) return [piece(text, from, from, fence.end, { at: 0, nodes: [fence.node] }), ...(fence.end < text.length ? cut(text, fence.end) : [])];
  const src = head + text.slice(from);
  const parsedFrom = from - head.length;
  const starts: Start[] = [];
  let before: RootContent | undefined;
  for (const node of parse(src)) {
    const at = lineStart(src, node);
    if (node.type === 'list') {
      const id = before || list === undefined ? parsedFrom + at : list;
      for (const item of node.children) starts.push({ at: lineStart(src, item), nodes: [{ ...node, children: [item] }], list: id });
    } else if (node.type === 'table' && !before && head) {
      starts.push(...rowsOf(src, node, 1, again!.table!, head));
    } else if (node.type === 'table' && (!before || isCertain(src, at, node, before))) {
      starts.push(...rowsOf(src, node, 0, parsedFrom + at, headOf(src, at)));
    } else if (before && !isCertain(src, at, node, before)) {
      starts.at(-1)!.nodes.push(node);
    } else {
      starts.push({ at, nodes: [node] });
    }
    before = node;
  }
  return starts.map((s, i) => piece(text, parsedFrom, parsedFrom + s.at, parsedFrom + (starts[i + 1]?.at ?? src.length), s));
}

const rowsMax = 10; // of a table in one unit

/* The rows of a table from `first` on, as units; only the very first has the head in it. */
function rowsOf(src: string, table: Table, first: number, id: number, head: string): Start[] {
  const out: Start[] = [];
  for (let i = first; i < table.children.length; i += rowsMax) {
    const children = table.children.slice(i, i + rowsMax);
    out.push({ at: i === 0 ? lineStart(src, table) : lineStart(src, children[0]!), nodes: [{ ...table, children }], table: id, head: i === 0 ? '' : head });
  }
  return out;
}

/* The line with the names of a table's columns, and the one below it. */
function headOf(src: string, at: number): string {
  return src.slice(at, src.indexOf('\n', src.indexOf('\n', at) + 1) + 1);
}

function piece(text: string, parsedFrom: number, from: number, end: number, { nodes, list, table, head = '' }: Start): Piece {
  const src = text.slice(from, end);
  const base = from - parsedFrom;
  const apart = blankBefore(text, from);
  const defines = definitions(src, nodes, base);
  return { from, nodes, list, table, apart, open: false, formula: false, src, base, defines, uses: labelsIn(src, defines), known: '', head };
}

function lineStart(src: string, node: Nodes): number {
  const at = node.position!.start.offset!;
  return at === 0 ? 0 : src.lastIndexOf('\n', at - 1) + 1;
}

function blankBefore(text: string, at: number): boolean {
  return /(?:^|\n)[ \t]*\r?\n$/.test(text.slice(Math.max(0, at - 200), at));
}

/* Lines below a paragraph may still change what it is (a table, a definition's title). Any other block says in its first line that it begins. */
function isCertain(src: string, at: number, node: RootContent, before: RootContent): boolean {
  const soft = (n: RootContent) =>
    n.type === 'paragraph' ||
    n.type === 'table' ||
    n.type === 'definition' ||
    (n.type === 'heading' && src[n.position!.start.offset!] !== '#');
  return !soft(node) || !soft(before) || blankBefore(src, at);
}

/* ---- code ---- */

/* The fenced code that begins at `from`, read without the parser but for its first line. */
function openFence(text: string, from: number): { node: Code; end: number } | null {
  const first = /( {0,3})(`{3,}(?=[^`\n]*\n)|~{3,})[^\n]*\n/y;
  first.lastIndex = from;
  const m = first.exec(text);
  if (!m) return null;
  const close = new RegExp(`^ {0,3}${m[2]![0]}{${m[2]!.length},}[ \\t]*\\r?(?:\\n|$(?![^]))`, 'gm');
  close.lastIndex = first.lastIndex;
  const end = close.exec(text);
  const body = text.slice(first.lastIndex, end?.index).replace(/\r?\n$/, '');
  const value = m[1] ? body.replace(new RegExp(`^ {1,${m[1].length}}`, 'gm'), '') : body;
  const [node] = parse(m[0]) as [Code];
  return { node: { ...node, value }, end: end ? close.lastIndex : text.length };
}

/* ---- definitions ---- */

function normal(label: string): string {
  return label.replace(/\s+/g, ' ').trim().toLowerCase().toUpperCase();
}

function definitions(src: string, nodes: RootContent[], base: number): Map<string, string> {
  const out = new Map<string, string>();
  if (!src.includes(']:')) return out;
  const put = (label: string, source: string) => out.has(normal(label)) || out.set(normal(label), source);
  const visit = (n: Nodes) => {
    if (n.type === 'footnoteDefinition') put(`^${n.identifier}`, `[^${n.identifier}]: -`);
    if (n.type === 'definition')
      put(n.identifier, src.slice(n.position!.start.offset! - base, n.position!.end.offset! - base).replace(/\n[ \t>]*/g, '\n'));
    if ('children' in n) for (const c of n.children) visit(c);
  };
  for (const n of nodes) visit(n);
  return out;
}

/* Tells every piece the definitions that it uses and does not hold itself. */
function define(pieces: Piece[]): void {
  const all = new Map<string, string>();
  for (const p of pieces) for (const [label, source] of p.defines) if (!all.has(label)) all.set(label, source);
  if (all.size === 0) return;
  for (const [i, p] of pieces.entries()) {
    const known = p.uses
      .filter((label) => all.has(label))
      .map((label) => `${all.get(label)}\n\n`)
      .join('');
    if (known !== p.known) pieces[i] = { ...p, known, nodes: parseWith(known, p.head, p.src), base: known.length + p.head.length };
  }
}

function labelsIn(src: string, defined: Map<string, string>): string[] {
  const labels = new Set<string>();
  for (const m of src.matchAll(/\[((?:[^[\]\\]|\\.)+)\]/g)) labels.add(normal(m[1]!));
  return [...labels].filter((label) => !defined.has(label));
}
