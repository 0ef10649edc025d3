/* units.ts -- a text that grows, cut into units that are parsed once.
 *
 * A unit is a block of the document, or one item of a list that stands in it.
 * Only the last unit whose first line is complete can still change: everything
 * before it is finished, keeps its nodes and is never parsed again. The cost of
 * a token is the cost of the last unit, whatever the length of the answer. Code
 * costs less still: an open fence is read line by line, without the parser.
 *
 * A link may be defined far from where it is used. Definitions are known to all
 * units: one that uses a label from elsewhere is parsed with that definition
 * before it.
 */
import type { Code, Nodes, RootContent } from 'mdast';
import { mend } from './mend';
import { parse } from './parse';

export interface Unit {
  /** Where it begins in the text: its key on the screen. */
  from: number;
  nodes: RootContent[];
  /** Where the list begins that this item belongs to. */
  list: number | undefined;
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
  /** Definitions from elsewhere that it was parsed with. */
  known: string;
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
    this.pieces = [...this.pieces.slice(0, Math.max(0, keep - 1)), ...cut(text, again?.from ?? 0, again?.list)];
    define(this.pieces);
  }
}

/* What is half written is shown as if its end had come. */
function halfOf(p: Piece): Unit {
  const { src, formula } = mend(p.src, p.nodes, p.base, parse);
  return { from: p.from, nodes: src === p.src ? p.nodes : parseWith(p.known, src), list: p.list, apart: p.apart, open: true, formula };
}

function parseWith(known: string, src: string): RootContent[] {
  const fence = known ? null : openFence(src, 0);
  if (fence?.end === src.length) return [fence.node];
  const nodes = parse(known + src);
  return known ? nodes.filter((n) => n.position!.end.offset! > known.length) : nodes;
}

/* ---- cutting ---- */

function cut(text: string, from: number, list: number | undefined): Piece[] {
  const fence = list === undefined ? openFence(text, from) : null;
  if (fence) return [piece(text, from, from, fence.end, [fence.node]), ...(fence.end < text.length ? cut(text, fence.end, undefined) : [])];
  const src = text.slice(from);
  const starts: { at: number; nodes: RootContent[]; list?: number }[] = [];
  let before: RootContent | undefined;
  for (const node of parse(src)) {
    const at = lineStart(src, node);
    if (node.type === 'list') {
      const id = before || list === undefined ? from + at : list;
      for (const item of node.children) starts.push({ at: lineStart(src, item), nodes: [{ ...node, children: [item] }], list: id });
    } else if (before && !isCertain(src, at, node, before)) {
      starts.at(-1)!.nodes.push(node);
    } else {
      starts.push({ at, nodes: [node] });
    }
    before = node;
  }
  return starts.map((s, i) => piece(text, from, from + s.at, from + (starts[i + 1]?.at ?? src.length), s.nodes, s.list));
}

function piece(text: string, parsedFrom: number, from: number, end: number, nodes: RootContent[], list?: number): Piece {
  const src = text.slice(from, end);
  const base = from - parsedFrom;
  const apart = blankBefore(text, from);
  return { from, nodes, list, apart, open: false, formula: false, src, base, defines: definitions(src, nodes, base), known: '' };
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
    const known = needs(p, all);
    if (known !== p.known) pieces[i] = { ...p, known, nodes: parseWith(known, p.src), base: known.length };
  }
}

function needs(p: Piece, all: Map<string, string>): string {
  const labels = new Set<string>();
  for (const m of p.src.matchAll(/\[((?:[^[\]\\]|\\.)+)\]/g)) {
    const label = normal(m[1]!);
    if (all.has(label) && !p.defines.has(label)) labels.add(label);
  }
  return [...labels].map((l) => `${all.get(l)}\n\n`).join('');
}
