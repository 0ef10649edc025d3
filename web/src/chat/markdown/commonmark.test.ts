// The examples of the CommonMark specification, by the tree that is drawn. Tags are text here, so examples of raw HTML are left out.
import { tests } from 'commonmark-spec';
import type { List, ListItem, Nodes } from 'mdast';
import { expect, test } from 'vitest';
import { GrowingText, type Unit } from './units';

const share = 0.98;

const escaped = (s: string) => s.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
const address = (s: string) =>
  escaped(
    encodeURI(s.replace(/%(?![\da-fA-F]{2})/g, '%25'))
      .replace(/%25([\da-fA-F]{2})/g, '%$1')
      .replace('[', '%5B')
      .replace('\\', '%5C'),
  );

function text(n: Nodes): string {
  return 'value' in n ? n.value : 'alt' in n ? (n.alt ?? '') : 'children' in n ? n.children.map((c) => text(c)).join('') : '';
}

function item(n: ListItem, loose: boolean): string {
  let out = '';
  for (const c of n.children.filter((x) => x.type !== 'definition')) {
    const tight = c.type === 'paragraph' && !loose;
    if (!tight && !out.endsWith('\n')) out += '\n';
    out += tight ? html(c.children) : `${html([c])}\n`;
  }
  return `<li>${out}</li>`;
}

function list(n: List, items: ListItem[], loose: boolean): string {
  const tag = n.ordered ? 'ol' : 'ul';
  const start = n.ordered && n.start !== 1 ? ` start="${n.start}"` : '';
  return `<${tag}${start}>\n${items.map((i) => item(i, loose) + '\n').join('')}</${tag}>`;
}

function html(nodes: Nodes[]): string {
  return nodes.map(one).join('');
}

function lines(nodes: Nodes[]): string {
  return nodes.map((n) => (n.type === 'definition' ? '' : one(n) + '\n')).join('');
}

function one(n: Nodes): string {
  switch (n.type) {
    case 'text':
      return escaped(n.value);
    case 'html':
      return n.value;
    case 'paragraph':
      return `<p>${html(n.children)}</p>`;
    case 'heading':
      return `<h${n.depth}>${html(n.children)}</h${n.depth}>`;
    case 'thematicBreak':
      return '<hr />';
    case 'blockquote':
      return `<blockquote>\n${lines(n.children)}</blockquote>`;
    case 'code':
      return `<pre><code${n.lang ? ` class="language-${escaped(n.lang)}"` : ''}>${escaped(n.value)}${n.value ? '\n' : ''}</code></pre>`;
    case 'list':
      return list(n, n.children, n.spread || n.children.some((i) => i.spread === true));
    case 'emphasis':
      return `<em>${html(n.children)}</em>`;
    case 'strong':
      return `<strong>${html(n.children)}</strong>`;
    case 'inlineCode':
      return `<code>${escaped(n.value.replaceAll('\n', ' '))}</code>`;
    case 'break':
      return '<br />\n';
    case 'link':
      return `<a href="${address(n.url)}"${n.title ? ` title="${escaped(n.title)}"` : ''}>${html(n.children)}</a>`;
    case 'image':
      return `<img src="${address(n.url)}" alt="${escaped(n.alt ?? '')}"${n.title ? ` title="${escaped(n.title)}"` : ''} />`;
    default:
      return `<${n.type}>${escaped(text(n))}</${n.type}>`;
  }
}

/* Items of one list stand in units of their own, as they are drawn. */
function page(units: Unit[]): string {
  let out = '';
  for (let i = 0; i < units.length; i++) {
    const u = units[i]!;
    if (u.list === undefined) {
      out += lines(u.nodes);
      continue;
    }
    const mine = units.filter((x) => x.list === u.list);
    const items = mine.map((x) => (x.nodes[0] as List).children[0]!);
    const loose = mine.some((x, k) => (k > 0 && x.apart) || items[k]!.spread === true);
    out += list(u.nodes[0] as List, items, loose) + '\n';
    i += mine.length - 1;
  }
  return out;
}

/* An empty item or paragraph may be written with a line break in it or not. */
const even = (s: string) => s.replaceAll(/<li>\n<\/li>/g, '<li></li>').trim();

const raw = /^(?:HTML blocks|Raw HTML)$/;
const cases = tests
  .map((c) => ({ ...c, markdown: c.markdown.replaceAll('→', '\t'), html: c.html.replaceAll('→', '\t') }))
  .filter((c) => !raw.test(c.section));

test(`at least ${share * 100} of 100 examples of CommonMark come out as the specification says`, { timeout: 60_000 }, () => {
  const wrong = cases.filter((c) => even(page(new GrowingText().update(c.markdown, false))) !== even(c.html));
  expect(cases.length).toBeGreaterThan(580);
  expect(wrong.length, `not as specified: ${wrong.map((c) => c.number).join(', ')}`).toBeLessThanOrEqual(cases.length * (1 - share));
});

/* What stands in one paragraph cannot be cut wrongly. */
const cutting = /^(?:Tabs|Precedence|Thematic|ATX|Setext|Indented|Fenced|Link reference|Paragraphs|Blank|Block|List)/;

test('every example, grown character by character, is at every moment what it would be at once', { timeout: 120_000 }, () => {
  for (const c of cases.filter((x) => cutting.test(x.section))) {
    const grown = new GrowingText();
    for (let i = 1; i <= c.markdown.length; i++) {
      const part = c.markdown.slice(0, i);
      const now = grown.update(part, false);
      if (i % 3 !== 0 && c.markdown[i] !== '\n' && c.markdown[i - 1] !== '\n') continue; // reading it all again is what takes time
      expect(page(now), `${c.number}: ${JSON.stringify(part)}`).toBe(page(new GrowingText().update(part, false)));
    }
  }
});
