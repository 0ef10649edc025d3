/* rich.ts -- a sentence with something drawn in it: `rich(t.madeBy, { tool: <code>…</code> })`. */
import { Fragment, createElement, type ReactNode } from 'react';

export function rich(sentence: string, parts: Record<string, ReactNode>): ReactNode[] {
  return sentence
    .split(/\{(\w+)\}/)
    .map((piece, i) => (i % 2 ? createElement(Fragment, { key: i }, parts[piece]) : piece));
}
