/* mend.ts -- the end of a text that grows, as if what is half written were finished.
 *
 * Raw marks must not flash by: a bold that has no end yet is closed, half a link
 * is its words, a line that consists of marks only (`#`, `- `, `|--`) waits for
 * what follows. Works on the source: the parser then reads it like any other.
 * Nothing but the very end is ever held back, and nothing once the text is over.
 */
import type { Nodes, RootContent } from 'mdast';

const lineMax = 200; // a longer line is no half-written mark
const labelMax = 200; // a bracket that stays open for longer is no link
const formulaMax = 400; // nor is a dollar a formula
const runsMax = 12; // more marks that wait for their end are noise

export interface Mended {
  src: string;
  /** The last thing in it is a formula whose end has not come. */
  formula: boolean;
}

/** `nodes` is what `src` was parsed to, `base` what their positions are ahead; `read` parses again, with `readBase`. */
export function mend(src: string, nodes: RootContent[], base: number, read: (src: string) => RootContent[], readBase = 0): Mended {
  const full = withoutHalfLine(src);
  const leaf = lastLeaf(full === src ? nodes : read(full));
  const end = full === src ? base : readBase;
  if (leaf?.type === 'math') return { src: full, formula: !/(?:\$\$|\\\])\s*$/.test(full) };
  if (leaf?.type !== 'paragraph' && leaf?.type !== 'heading' && leaf?.type !== 'tableCell') return { src: full, formula: false };
  const at = leaf.position!.start.offset! - end;
  const words = full.slice(at);
  if (/\n[ \t>]*\n/.test(words)) return { src: full, formula: false }; // it is over: marks that never closed are text
  if (leaf.type === 'tableCell') return /\|\s*$/.test(words) ? { src: full, formula: false } : inline(full.slice(0, at), words);
  return (leaf.type === 'paragraph' && halfTable(full, at)) || inline(full.slice(0, at), words);
}

function lastLeaf(nodes: RootContent[]): Nodes | undefined {
  let n: Nodes | undefined = nodes.at(-1);
  while (n && 'children' in n && n.type !== 'paragraph' && n.type !== 'heading' && n.type !== 'tableCell') n = n.children.at(-1) as Nodes;
  return n;
}

/* ---- lines ---- */

const onlyMarks =
  /^(?:[\s>*+\-_=|:~#]|\d{1,9}[.)](?=\s))*(?:\d{1,3}|\d{1,9}[.)]|`{1,2}|`{3,}[^`]*|~{3,}.*|\${1,2}|\\\[?|\[[ xX]?\]?|<)?\s*$/;

function withoutHalfLine(src: string): string {
  const at = src.lastIndexOf('\n') + 1;
  return src.length - at <= lineMax && onlyMarks.test(src.slice(at)) ? src.slice(0, at) : src;
}

/* The first line of a table is a table already, before its second has come. */
function halfTable(src: string, at: number): Mended | null {
  const m = /(?:^|\n)([ \t>]*)(\|[^\n]*[^\n|\s][^\n]*)(?:\n[ \t>]*[|:\- \t]*)?$/.exec(src.slice(at));
  if (!m) return null;
  const head = at + m.index + m[0].indexOf('|');
  const before = src.slice(src.lastIndexOf('\n', head - 1) + 1, head);
  const row = src.slice(head, head + m[2]!.length).trimEnd();
  const cell = row.endsWith('|') ? row : inline('', row).src;
  const columns = cell
    .replace(/^\|/, '')
    .replace(/(?<!\\)\|$/, '')
    .split(/(?<!\\)\|/).length;
  return { src: `${src.slice(0, head)}${cell}\n${before.replace(/[^>\s]/g, ' ')}|${'-|'.repeat(columns)}`, formula: false };
}

/* ---- marks ---- */

interface Run {
  char: string;
  n: number;
  both: boolean;
  /** Not closed while it grows: more likely a glob or a product than emphasis. */
  doubtful: boolean;
}

interface Bracket {
  at: number;
  image: boolean;
  runs: number;
}

const special = /[\\`$<&![\]*_~]/g;
const space = /^\s?$/; // also the beginning and the end
const punctuation = /[\p{P}\p{S}]/u;
const spaceless = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}\u3000-\u303f\uff00-\uffef]/u;

function inline(before: string, text: string): Mended {
  let s = text.trimEnd();
  const runs: Run[] = [];
  const brackets: Bracket[] = [];
  const done = (body: string, closing = '', formula = false): Mended => ({ src: before + finish(body, runs, brackets, closing), formula });

  for (let i = 0; i < s.length;) {
    special.lastIndex = i;
    const found = special.exec(s);
    if (!found) break;
    i = found.index;
    const rest = s.slice(i);
    switch (s[i]) {
      case '\\': {
        const closer = s[i + 1] === '(' ? '\\)' : s[i + 1] === '[' ? '\\]' : '';
        if (rest.length === 1) return done(s.slice(0, i));
        if (!closer) i += 2;
        else if (rest.indexOf(closer, 2) > 0) i += rest.indexOf(closer, 2) + 2;
        else if (rest.length === 2) return done(s.slice(0, i));
        else return done(s.replace(/\\$/, ''), closer, true);
        break;
      }
      case '`': {
        const n = runLength(s, i);
        const end = codeEnd(s, i + n, n);
        if (end > 0) i = end;
        else {
          const code = s
            .slice(i + n)
            .replace(/`+$/, '')
            .trimEnd();
          return code ? done(s.slice(0, i + n) + code, '`'.repeat(n)) : done(s.slice(0, i));
        }
        break;
      }
      case '$': {
        const step = dollars(s, i);
        if (step > 0) i += step;
        else if (rest.length === -step) return done(s.slice(0, i));
        else return done(s.replace(/[\\$]$/, ''), '$'.repeat(-step), true);
        break;
      }
      case '<': {
        const tag = /^<[a-zA-Z/!?][^<>]*>/.exec(rest);
        if (tag) i += tag[0].length;
        else if (/^<(?:b|br\s*\/?)?$/i.test(rest) || /^<(?:h|ht|htt|https?:?\/?)$/.test(rest)) return done(s.slice(0, i));
        else if (/^<https?:\/\/[^\s<>]*$/.test(rest)) return rest.length > 8 ? done(s, '>') : done(s.slice(0, i));
        else i++;
        break;
      }
      case '&':
        if (/^&(?:#[xX]?)?\w{0,8}$/.test(rest)) return done(s.slice(0, i));
        i++;
        break;
      case '!':
        if (s[i + 1] === '[') brackets.push({ at: i++, image: true, runs: runs.length });
        i++;
        break;
      case '[':
        brackets.push({ at: i, image: false, runs: runs.length });
        i++;
        break;
      case ']': {
        const b = brackets.pop();
        const after = s.slice(i + 1);
        const target =
          /^\(\s*(?:<[^<>\n]*>|[^\s<>()]*(?:\([^\s<>()]*\)[^\s<>()]*)*)(?:\s+(?:"[^"]*"|'[^']*'|\([^)]*\)))?\s*\)|^\[[^\]]*\]/.exec(after);
        if (!b) i++;
        else if (target) {
          runs.length = b.runs;
          i += 1 + target[0].length;
        } else if (after === '' || /^(?:\([^)\n]*(?:\([^)\n]*\)[^)\n]*)?|\[[^\]\n]*)$/.test(after)) {
          // A target that has not come, or not all of it: the words, not the address.
          if (b.image) return done(s.slice(0, b.at));
          const label = s.slice(b.at + 1, i);
          if (after === '' && !isLabel(label)) i++;
          else return done(s.slice(0, b.at) + label);
        } else i++;
        break;
      }
      default: {
        const n = runLength(s, i);
        if (i + n === s.length) return done(s.slice(0, i));
        delimiter(runs, s, i, n);
        i += n;
      }
    }
  }
  return done(s);
}

function finish(body: string, runs: Run[], brackets: Bracket[], closing: string): string {
  for (let b = brackets.pop(); b; b = brackets.pop()) {
    if (b.at >= body.length) continue;
    if (b.image) {
      if (body.length - b.at > labelMax) continue;
      body = body.slice(0, b.at);
      runs.length = Math.min(runs.length, b.runs);
      closing = '';
    } else if (isLabel(body.slice(b.at + 1))) body = body.slice(0, b.at) + body.slice(b.at + 1);
  }
  if (closing) body += closing;
  else body = body.trimEnd();
  if (runs.length > runsMax) return body;
  for (let r = runs.pop(); r; r = runs.pop()) {
    const mark = r.char.repeat(r.n);
    if (body.endsWith(mark) && !closing) body = body.slice(0, -r.n).trimEnd();
    else if (!r.doubtful) {
      body += mark;
      closing = mark;
    }
  }
  return body;
}

function isLabel(label: string): boolean {
  return label.length <= labelMax && !/\n|^\^?\d*$/.test(label); // [1] is a note
}

function runLength(s: string, at: number): number {
  let n = 1;
  while (s[at + n] === s[at]) n++;
  return n;
}

/* Behind the end of the code that began before `at`; 0 if it has none. */
function codeEnd(s: string, at: number, n: number): number {
  for (let end = s.indexOf('`', at); end >= 0;) {
    const m = runLength(s, end);
    if (m === n) return end + n;
    end = s.indexOf('`', end + m);
  }
  return 0;
}

/* How many characters to pass over at a dollar; negative: so many marks open a formula that has no end yet. */
function dollars(s: string, at: number): number {
  const n = runLength(s, at);
  const rest = s.slice(at + n);
  if (n > 2 || /[\p{L}\p{N}$]/u.test(s[at - 1] ?? '')) return n;
  if (n === 2) {
    const end = rest.indexOf('$$');
    return end < 0 ? -2 : end + 4;
  }
  if (rest === '') return -1;
  const closed = /^(?!\s)(?:\\.|[^\\$\n])*?(?<!\s)\$(?![\d$])/.exec(rest);
  if (closed) return 1 + closed[0].length;
  return /^(?![\d\s]|[A-Z_]{2})[^$\n]+$/.test(rest) && rest.length <= formulaMax ? -1 : 1;
}

/* The rules of CommonMark for runs of * and _, as far as they matter at the end of a text. */
function delimiter(runs: Run[], s: string, at: number, n: number): void {
  const char = s[at]!;
  if (char === '~' && n !== 2) return;
  const prev = s[at - 1] ?? '';
  const next = s[at + n] ?? '';
  const opens = !space.test(next) && (!punctuation.test(next) || space.test(prev) || punctuation.test(prev) || spaceless.test(prev));
  const closes = !space.test(prev) && (!punctuation.test(prev) || space.test(next) || punctuation.test(next) || spaceless.test(next));
  const canOpen = char === '_' ? opens && (!closes || punctuation.test(prev)) : opens;
  const canClose = char === '_' ? closes && (!opens || punctuation.test(next)) : closes;
  let left = n;
  const fits = (r: Run) => {
    const odd = (r.both || (canOpen && canClose)) && (r.n + left) % 3 === 0 && (r.n % 3 !== 0 || left % 3 !== 0);
    return r.char === char && !odd;
  };
  while (canClose && left > 0) {
    const i = runs.findLastIndex(fits);
    if (i < 0) break;
    const used = Math.min(left, runs[i]!.n);
    left -= used;
    runs[i]!.n -= used;
    runs.length = runs[i]!.n > 0 ? i + 1 : i;
  }
  if (left > 0 && canOpen)
    runs.push({ char, n: left, both: canOpen && canClose, doubtful: /[\w/.\\:=]/.test(prev) || /[./,;:]/.test(next) });
}
