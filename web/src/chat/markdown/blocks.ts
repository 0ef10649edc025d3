/* blocks.ts -- Markdown text cut into blocks, incrementally.
 *
 * Only the last block of a growing text can still change: everything before it
 * is finished, keeps its object and is never parsed again. The cost of a token
 * is the cost of the last block, whatever the length of the answer.
 */

export type BlockType = 'paragraph' | 'heading' | 'code' | 'list' | 'quote' | 'table' | 'rule';

export interface Block {
  type: BlockType;
  src: string;
  /** Where the block begins in the text: its key on the screen. */
  from: number;
}

const fence = /^ {0,3}(`{3,}|~{3,})([^`]*)$/;
const heading = /^ {0,3}#{1,6}(?:[ \t]|$)/;
const rule = /^ {0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})$/;
const item = /^ {0,3}(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)/;
const quote = /^ {0,3}>/;
const delimiter = /^ {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$/;

interface Line {
  text: string;
  from: number;
  to: number; // behind the line break
}

function linesFrom(text: string, start: number): Line[] {
  const out: Line[] = [];
  for (let from = start; from < text.length;) {
    const nl = text.indexOf('\n', from);
    const to = nl < 0 ? text.length : nl + 1;
    out.push({ text: text.slice(from, nl < 0 ? to : nl).replace(/\r$/, ''), from, to });
    from = to;
  }
  return out;
}

const blank = (l: Line | undefined) => !l || l.text.trim() === '';

function isTable(lines: Line[], i: number): boolean {
  const next = lines[i + 1];
  return (
    lines[i]!.text.includes('|') &&
    !!next &&
    next.text.includes('-') &&
    delimiter.test(next.text) &&
    (next.text.includes('|') || columns(lines[i]!.text) === 1)
  );
}

export function columns(row: string): number {
  return splitRow(row).length;
}

export function splitRow(row: string): string[] {
  const inner = row
    .trim()
    .replace(/^\|/, '')
    .replace(/(?<!\\)\|$/, '');
  return inner.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll('\\|', '|'));
}

function startsBlock(lines: Line[], i: number): boolean {
  const t = lines[i]!.text;
  return fence.test(t) || heading.test(t) || rule.test(t) || quote.test(t) || item.test(t) || isTable(lines, i);
}

/** Cuts `text` from `start` into blocks. */
export function splitBlocks(text: string, start = 0): Block[] {
  const lines = linesFrom(text, start);
  const out: Block[] = [];
  for (let i = 0; i < lines.length;) {
    if (blank(lines[i])) {
      i++;
      continue;
    }
    const [type, end] = blockAt(lines, i);
    const from = lines[i]!.from;
    out.push({ type, src: text.slice(from, lines[end - 1]!.to).replace(/\n+$/, ''), from });
    i = end;
  }
  return out;
}

function blockAt(lines: Line[], i: number): [BlockType, number] {
  const t = lines[i]!.text;
  const open = fence.exec(t);
  if (open) return ['code', endOfFence(lines, i, open[1]!)];
  if (heading.test(t)) return ['heading', i + 1];
  if (rule.test(t)) return ['rule', i + 1];
  if (quote.test(t)) return ['quote', endWhile(lines, i, (l) => quote.test(l.text))];
  if (item.test(t)) return ['list', endOfList(lines, i)];
  if (isTable(lines, i)) return ['table', endWhile(lines, i, (l) => !blank(l) && l.text.includes('|'))];
  let end = i + 1;
  while (end < lines.length && !blank(lines[end]) && !startsBlock(lines, end)) end++;
  return ['paragraph', end];
}

function endWhile(lines: Line[], i: number, holds: (l: Line) => boolean): number {
  let end = i + 1;
  while (end < lines.length && holds(lines[end]!)) end++;
  return end;
}

function endOfFence(lines: Line[], i: number, mark: string): number {
  const close = new RegExp(`^ {0,3}${mark[0] === '`' ? '`' : '~'}{${mark.length},}[ \\t]*$`);
  for (let end = i + 1; end < lines.length; end++) if (close.test(lines[end]!.text)) return end + 1;
  return lines.length;
}

/* A list goes on through its items, their indented lines, and blank lines between them. */
function endOfList(lines: Line[], i: number): number {
  const ordered = /^ {0,3}\d/.test(lines[i]!.text);
  let end = i + 1;
  for (let at = i + 1; at < lines.length; at++) {
    const l = lines[at]!;
    if (blank(l)) continue;
    const indented = /^(?: {2,}|\t)/.test(l.text);
    const sibling = item.test(l.text) && /^ {0,3}\d/.test(l.text) === ordered && !rule.test(l.text);
    const lazy = at === end && !startsBlock(lines, at);
    if (!indented && !sibling && !lazy) break;
    end = at + 1;
  }
  return end;
}

/** Blocks of a text that grows at its end. */
export class GrowingBlocks {
  private text = '';
  private blocks: Block[] = [];

  update(text: string): Block[] {
    if (text === this.text) return this.blocks;
    const grows = text.length > this.text.length && text.startsWith(this.text);
    const kept = grows ? this.blocks.slice(0, -1) : [];
    const from = grows ? (this.blocks.at(-1)?.from ?? 0) : 0;
    this.text = text;
    this.blocks = [...kept, ...splitBlocks(text, from)];
    return this.blocks;
  }
}

/* ---- inside blocks ---- */

/** Where, in a paragraph that grows, a table begins whose second line has not come yet; its length if there is none. */
export function halfTable(src: string): number {
  const m = /(?:^|\n)( {0,3}\|[^\n]*(?:\n[|:\- \t]*)?)$/.exec(src);
  return m ? src.length - m[1]!.length : src.length;
}

export interface CodeSource {
  language: string;
  code: string;
  closed: boolean;
}

export function readFence(src: string): CodeSource {
  const nl = src.indexOf('\n');
  const first = nl < 0 ? src : src.slice(0, nl);
  const open = fence.exec(first);
  const body = nl < 0 ? '' : src.slice(nl + 1);
  const mark = open?.[1] ?? '```';
  const close = new RegExp(`(?:^|\\n) {0,3}${mark[0] === '`' ? '`' : '~'}{${mark.length},}[ \\t]*$`);
  const end = close.exec(body);
  const code = end ? body.slice(0, end.index) : body.replace(/\n? {0,3}(?:`{1,2}|~{1,2})$/, '');
  return { language: (open?.[2] ?? '').trim().split(/\s/)[0] ?? '', code, closed: end !== null };
}

export interface ListSource {
  ordered: boolean;
  start: number;
  loose: boolean;
  items: string[];
}

export function readList(src: string): ListSource {
  const lines = src.split('\n');
  const ordered = /^ {0,3}\d/.test(lines[0]!);
  const items: string[][] = [];
  let indent = 0;
  let loose = false;
  for (const [n, line] of lines.entries()) {
    const m = /^( {0,3})([-*+]|\d{1,9}[.)])([ \t]+|$)/.exec(line);
    const nested = items.length > 0 && m && m[1]!.length >= indent && indent > 0;
    if (m && !nested && /\d/.test(m[2]!) === ordered) {
      indent = m[0].length;
      items.push([line.slice(m[0].length)]);
      continue;
    }
    if (line.trim() === '' && n < lines.length - 1) loose = true;
    items.at(-1)!.push(dedent(line, indent));
  }
  return { ordered, start: Number(/\d+/.exec(lines[0]!)?.[0] ?? 1), loose, items: items.map((i) => i.join('\n').replace(/\s+$/, '')) };
}

function dedent(line: string, n: number): string {
  let i = 0;
  while (i < n && line[i] === ' ') i++;
  return line[0] === '\t' ? line.slice(1) : line.slice(i);
}

export interface TableSource {
  head: string[];
  align: ('left' | 'center' | 'right' | undefined)[];
  rows: string[][];
}

export function readTable(src: string): TableSource {
  const [head = '', marks = '', ...rows] = src.split('\n');
  const cols = splitRow(head);
  const align = splitRow(marks).map((m) => (/^:-*:$/.test(m) ? 'center' : /-:$/.test(m) ? 'right' : /^:-/.test(m) ? 'left' : undefined));
  return { head: cols, align, rows: rows.map((r) => splitRow(r)).map((r) => cols.map((_, i) => r[i] ?? '')) };
}
