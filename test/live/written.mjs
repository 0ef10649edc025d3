// written.mjs -- code as it stands in the documentation, so that it cannot rot.
import fs from 'node:fs';
import path from 'node:path';
import { ROOT, check } from './lib.mjs';

// The blocks of a page: {lang, name, text}. A block's name is what stands behind its language: ```ts app/route.ts
export function blocks(page) {
    const text = fs.readFileSync(path.join(ROOT, page), 'utf8');
    return [...text.matchAll(/^```(\w*)[ \t]*(.*)\n([^]*?)^```$/gm)].map(([, lang, name, code]) => ({ lang, name, text: code }));
}
// The one block of that language or name, with what is to be replaced in it; each must stand there.
export function block(page, what, replace = {}) {
    const found = blocks(page).filter((b) => b.name === what || b.lang === what);
    check(found.length === 1, `${page} has one block ${what}, not ${found.length}`);
    let { text } = found[0];
    for (const [from, to] of Object.entries(replace)) {
        check(text.includes(from), `${page} ${what} says ${from}`);
        text = text.replaceAll(from, to);
    }
    return text;
}
export const lines = (page) => fs.readFileSync(path.join(ROOT, page), 'utf8').split('\n').length - 1;
