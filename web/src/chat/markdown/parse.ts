/* parse.ts -- Markdown text as a tree: CommonMark and what GitHub adds to it.
 *
 * micromark reads, mdast is the tree. There is no way from text to HTML here:
 * tags come out as nodes of text. On top of the standard: formulas (math.ts),
 * and emphasis beside letters that are written without blanks, which CommonMark
 * takes for no emphasis ("**「太字」**です").
 */
import type { Definition, Nodes, Root, RootContent } from 'mdast';
import { fromMarkdown } from 'mdast-util-from-markdown';
import { gfmFromMarkdown } from 'mdast-util-gfm';
import { cjkFriendlyExtension } from 'micromark-extension-cjk-friendly';
import { gfmStrikethroughCjkFriendly } from 'micromark-extension-cjk-friendly-gfm-strikethrough';
import { gfm } from 'micromark-extension-gfm';
import { math, mathTree } from './math';

const strict = { singleTilde: false }; // "~5 km" is no strike
const options = {
  extensions: [gfm(strict), cjkFriendlyExtension(), gfmStrikethroughCjkFriendly(strict), math],
  mdastExtensions: [gfmFromMarkdown(), mathTree],
};

/** The blocks of `text`. References are links already; one without a definition is text. */
export function parse(text: string): RootContent[] {
  if (tooDeep.test(text)) return asWritten(text);
  try {
    const tree = fromMarkdown(text, options);
    if (text.includes(']:')) resolve(tree);
    return tree.children;
  } catch (error) {
    if (error instanceof RangeError) return asWritten(text); // the stack: marks within marks within marks
    throw error;
  }
}

/* Quotes and lists within one another in one line: each level costs as much as all above it. */
const tooDeep = /^[ \t]*(?:>[ \t]*|(?:[-*+]|\d{1,9}[.)])[ \t]+){60}/m;

function asWritten(value: string): RootContent[] {
  const position = { start: { line: 1, column: 1, offset: 0 }, end: { line: 1, column: 1, offset: value.length } };
  return [{ type: 'html', value, position }];
}

function resolve(tree: Root): void {
  const defined = new Map<string, Definition>();
  const collect = (n: Nodes) => {
    if (n.type === 'definition' && !defined.has(n.identifier)) defined.set(n.identifier, n);
    if ('children' in n) n.children.forEach(collect);
  };
  const replace = (n: Nodes) => {
    if (!('children' in n)) return;
    for (const [i, c] of (n.children as Nodes[]).entries()) {
      replace(c);
      const d = c.type === 'linkReference' || c.type === 'imageReference' ? defined.get(c.identifier) : undefined;
      if (!d) continue;
      const { url, title } = d;
      const { position } = c;
      if (c.type === 'linkReference') (n.children as Nodes[])[i] = { type: 'link', url, title, children: c.children, position };
      if (c.type === 'imageReference') (n.children as Nodes[])[i] = { type: 'image', url, title, alt: c.alt, position };
    }
  };
  collect(tree);
  replace(tree);
}
