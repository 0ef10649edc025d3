/* inline.ts -- the marks inside a block: emphasis, code, links.
 *
 * A small recursive reader that gives a tree. With `open` the text is still
 * growing: what is half written (a bold that has no end yet, half a link) is
 * read as if its end had come, so that raw marks do not flash by. HTML is text,
 * but for a line break; entities are the characters they stand for, as text.
 */

export type Inline =
  | { type: 'text'; text: string }
  | { type: 'code'; text: string }
  | { type: 'break' }
  | { type: 'strong' | 'em' | 'strike'; children: Inline[] }
  | { type: 'link'; href: string; children: Inline[]; bare: boolean }
  | { type: 'image'; src: string; alt: string };

const depthMax = 8; // deeper nesting is noise, or an attack on the stack
const reachMax = 4000; // how far a mark looks for its end: hostile text must not cost n²
const labelMax = 200; // a bracket that stays open for longer is no link
const special = /[\\`*_~[\]!<&\n]|https?:\/\//g;

interface Reader {
  src: string;
  open: boolean;
}

export function parseInline(src: string, open = false, depth = 0): Inline[] {
  const r: Reader = { src, open };
  const out: Inline[] = [];
  let at = 0;
  while (at < src.length) {
    special.lastIndex = at;
    const m = special.exec(src);
    if (!m) {
      text(out, src.slice(at));
      break;
    }
    text(out, src.slice(at, m.index));
    at = m.index + readOne(r, m.index, out, depth);
  }
  return out;
}

function text(out: Inline[], s: string): void {
  if (!s) return;
  const last = out.at(-1);
  if (last?.type === 'text') last.text += s;
  else out.push({ type: 'text', text: s });
}

/* Reads what begins at `at`; gives how many characters it took. */
function readOne(r: Reader, at: number, out: Inline[], depth: number): number {
  const c = r.src[at]!;
  switch (c) {
    case '\\':
      return escape(r, at, out);
    case '`':
      return code(r, at, out);
    case '*':
    case '_':
    case '~':
      return (depth < depthMax && emphasis(r, at, out, depth)) || literal(r, at, out);
    case '[':
      return (depth < depthMax && link(r, at, out, depth)) || put(out, c);
    case '!':
      return image(r, at, out) || put(out, c);
    case '<':
      return autolink(r, at, out) || htmlBreak(r, at, out) || put(out, c);
    case '&':
      return entity(r, at, out) || put(out, c);
    case '\n':
      return lineBreak(r, at, out);
    case 'h':
      return bareLink(r, at, out) || put(out, c);
    default:
      return put(out, c);
  }
}

function put(out: Inline[], s: string): number {
  text(out, s);
  return s.length;
}

function escape(r: Reader, at: number, out: Inline[]): number {
  const next = r.src[at + 1];
  if (next === '\n') {
    out.push({ type: 'break' });
    return 2;
  }
  if (next && /[!-/:-@[-`{-~]/.test(next)) {
    text(out, next);
    return 2;
  }
  return put(out, '\\');
}

function lineBreak(_r: Reader, _at: number, out: Inline[]): number {
  const last = out.at(-1);
  if (last?.type === 'text' && / {2,}$/.test(last.text)) {
    last.text = last.text.trimEnd();
    out.push({ type: 'break' });
  } else text(out, '\n');
  return 1;
}

function htmlBreak(r: Reader, at: number, out: Inline[]): number {
  const m = /^<br[ \t]*\/?>/i.exec(r.src.slice(at, at + 12));
  if (m) {
    out.push({ type: 'break' });
    return m[0].length;
  }
  return r.open && /^<(?:b(?:r[ \t]*\/?)?)?$/i.test(r.src.slice(at, at + 12)) ? r.src.length - at : 0;
}

/* The ones that models write. */
const named: Record<string, string> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: '\u00a0',
  copy: '©',
  reg: '®',
  trade: '™',
  deg: '°',
  plusmn: '±',
  times: '×',
  divide: '÷',
  middot: '·',
  bull: '•',
  hellip: '…',
  ndash: '–',
  mdash: '—',
  lsquo: '‘',
  rsquo: '’',
  ldquo: '“',
  rdquo: '”',
  laquo: '«',
  raquo: '»',
  larr: '←',
  rarr: '→',
  le: '≤',
  ge: '≥',
  ne: '≠',
  euro: '€',
  pound: '£',
  sect: '§',
};

function entity(r: Reader, at: number, out: Inline[]): number {
  const ahead = r.src.slice(at, at + 12);
  const m = /^&(?:#(\d{1,7})|#[xX]([\da-fA-F]{1,6})|([a-z]{2,6}));/.exec(ahead);
  if (!m) return r.open && /^&#?\w{0,7}$/.test(ahead) && at + ahead.length === r.src.length ? ahead.length : 0;
  const c = m[3] ? (Object.hasOwn(named, m[3]) ? named[m[3]]! : '') : character(m[1] ? parseInt(m[1], 10) : parseInt(m[2]!, 16));
  text(out, c);
  return c ? m[0].length : 0;
}

function character(code: number): string {
  const none = code === 0 || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff);
  return none ? '\ufffd' : String.fromCodePoint(code);
}

function runLength(src: string, at: number): number {
  let n = 1;
  while (src[at + n] === src[at]) n++;
  return n;
}

function code(r: Reader, at: number, out: Inline[]): number {
  const n = runLength(r.src, at);
  for (let end = r.src.indexOf('`', at + n); end >= 0;) {
    const m = runLength(r.src, end);
    if (m === n) {
      out.push({ type: 'code', text: trimCode(r.src.slice(at + n, end)) });
      return end + n - at;
    }
    end = r.src.indexOf('`', end + m);
  }
  if (!r.open) return put(out, r.src.slice(at, at + n));
  const rest = r.src.slice(at + n);
  if (rest) out.push({ type: 'code', text: rest });
  return r.src.length - at;
}

function trimCode(s: string): string {
  const flat = s.replaceAll('\n', ' ');
  return flat.startsWith(' ') && flat.endsWith(' ') && flat.trim() ? flat.slice(1, -1) : flat;
}

/* A whole run of marks at once, so that `****` does not become nested nothings. */
function literal(r: Reader, at: number, out: Inline[]): number {
  const n = runLength(r.src, at);
  // The first half of a mark at the very end of growing text is not shown yet.
  if (r.open && at + n === r.src.length) return n;
  return put(out, r.src.slice(at, at + n));
}

const word = /[\p{L}\p{N}]/u;

function emphasis(r: Reader, at: number, out: Inline[], depth: number): number {
  const c = r.src[at]!;
  const n = Math.min(runLength(r.src, at), c === '~' ? 2 : 3);
  if (c === '~' && n !== 2) return 0;
  const after = r.src[at + n];
  if (!after || /\s/.test(after)) return 0;
  if (c === '_' && word.test(r.src[at - 1] ?? '')) return 0;
  const end = closer(r, at + n, c, n);
  if (end < 0 && !r.open) return n > 1 ? emphasisOf(r, at, out, depth, n) : 0;
  const inside = r.src.slice(at + n, end < 0 ? undefined : end);
  const children = parseInline(end < 0 ? trimHalf(inside, c) : inside, end < 0, depth + 1);
  if (children.length) out.push(wrap(c, n, children));
  return (end < 0 ? r.src.length : end + n) - at;
}

/* `***a** b*` and the like: try a shorter run. */
function emphasisOf(r: Reader, at: number, out: Inline[], depth: number, n: number): number {
  for (let m = n - 1; m > 0; m--) {
    const end = closer(r, at + n, r.src[at]!, m);
    if (end < 0) continue;
    text(out, r.src.slice(at, at + n - m));
    out.push(wrap(r.src[at]!, m, parseInline(r.src.slice(at + n, end), false, depth + 1)));
    return end + m - at;
  }
  return 0;
}

/* Half of a closing mark is not text. */
function trimHalf(s: string, c: string): string {
  return s.endsWith(c) ? s.replace(c === '*' ? /\*+$/ : c === '_' ? /_+$/ : /~+$/, '') : s;
}

function wrap(c: string, n: number, children: Inline[]): Inline {
  if (c === '~') return { type: 'strike', children };
  if (n === 1) return { type: 'em', children };
  if (n === 2) return { type: 'strong', children };
  return { type: 'strong', children: [{ type: 'em', children }] };
}

function closer(r: Reader, from: number, c: string, n: number): number {
  for (let at = from; at < Math.min(r.src.length, from + reachMax); at++) {
    const x = r.src[at];
    if (x === '\\') at++;
    else if (x === '`') at = skipCode(r.src, at);
    else if (x === c) {
      const m = runLength(r.src, at);
      const closes = m >= n && !/\s/.test(r.src[at - 1] ?? ' ') && (c !== '_' || !word.test(r.src[at + m] ?? ''));
      // `**` does not close a `*`; `***` closes both.
      if (closes && (m === n || m === 3 || n === 2)) return at + (m - n);
      at += m - 1;
    }
  }
  return -1;
}

function skipCode(src: string, at: number): number {
  const n = runLength(src, at);
  const end = src.indexOf('`'.repeat(n), at + n);
  return end < 0 ? at + n - 1 : end + n - 1;
}

/* ---- links ---- */

const destination = /^\(\s*<?([^\s<>()]*(?:\([^\s<>()]*\)[^\s<>()]*)*)>?(?:\s+(?:"[^"]*"|'[^']*'))?\s*\)/;

function labelEnd(src: string, at: number): number {
  let level = 0;
  for (let i = at; i < Math.min(src.length, at + reachMax); i++) {
    if (src[i] === '\\') i++;
    else if (src[i] === '[') level++;
    else if (src[i] === ']' && --level === 0) return i;
  }
  return -1;
}

function link(r: Reader, at: number, out: Inline[], depth: number): number {
  const end = labelEnd(r.src, at);
  if (end < 0) return half(r, at + 1, r.src.length, out, depth);
  if (end === r.src.length - 1 && half(r, at + 1, end, out, depth)) return r.src.length - at;
  const label = r.src.slice(at + 1, end);
  const rest = r.src.slice(end + 1);
  const m = destination.exec(rest);
  if (m) {
    out.push({ type: 'link', href: m[1]!, children: parseInline(label, false, depth + 1), bare: false });
    return end + 1 + m[0].length - at;
  }
  // A target that is still being written: show the words, not the address.
  if (r.open && /^\([^)\n]*$/.test(rest)) {
    out.push(...parseInline(label, false, depth + 1));
    return r.src.length - at;
  }
  return 0;
}

/* A label at the end of growing text, whose target has not come: its words. Gives 0 when it is none. */
function half(r: Reader, from: number, to: number, out: Inline[], depth: number): number {
  const label = r.src.slice(from, to);
  if (!r.open || label.length > labelMax || /\n|^\^?\d+$/.test(label)) return 0; // [1] is a note
  out.push(...parseInline(label, true, depth + 1));
  return label.length + 1;
}

function image(r: Reader, at: number, out: Inline[]): number {
  if (r.src[at + 1] !== '[') return 0;
  const end = labelEnd(r.src, at + 1);
  if (end < 0) return r.open && r.src.length - at <= labelMax ? r.src.length - at : 0;
  const m = destination.exec(r.src.slice(end + 1));
  if (!m) return r.open && /^(?:\([^)\n]*)?$/.test(r.src.slice(end + 1)) ? r.src.length - at : 0;
  out.push({ type: 'image', src: m[1]!, alt: r.src.slice(at + 2, end) });
  return end + 1 + m[0].length - at;
}

function autolink(r: Reader, at: number, out: Inline[]): number {
  const m = /^<((?:https?:\/\/|mailto:)[^\s<>]+)>/.exec(r.src.slice(at, at + 2048));
  if (!m) return 0;
  out.push({ type: 'link', href: m[1]!, children: [{ type: 'text', text: m[1]! }], bare: true });
  return m[0].length;
}

function bareLink(r: Reader, at: number, out: Inline[]): number {
  if (word.test(r.src[at - 1] ?? '')) return 0;
  const m = /^https?:\/\/[^\s<>`"]+/.exec(r.src.slice(at, at + 2048));
  if (!m) return 0;
  let href = m[0].replace(/[.,;:!?*_~'"]+$/, '');
  while (href.endsWith(')') && (href.match(/\(/g)?.length ?? 0) < (href.match(/\)/g)?.length ?? 0)) href = href.slice(0, -1);
  if (!/^https?:\/\/./.test(href)) return 0;
  out.push({ type: 'link', href, children: [{ type: 'text', text: href }], bare: true });
  return href.length;
}

/** Only addresses that a person may follow; everything else is shown as text. */
export function safeHref(href: string): string | null {
  if (!/^(?:https?:\/\/|mailto:)/i.test(href)) return null;
  try {
    const url = new URL(href);
    return ['http:', 'https:', 'mailto:'].includes(url.protocol) ? url.href : null;
  } catch {
    return null;
  }
}

export function hostOf(href: string): string {
  try {
    return new URL(href).host;
  } catch {
    return '';
  }
}
