// Every word that a person reads stands in the tables, and every table says everything.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseSync } from 'vite';
import { expect, test } from 'vitest';
import { choose, languages } from './index';
import { de } from './de';
import { en } from './en';
import { ja } from './ja';
import { wayOf } from '../chat/words';

const web = join(import.meta.dirname, '../..');

/* Not words of the page: for the model, for developers of other pages, or data that is compared and never shown. */
const others = [
  'src/app/clientTools.ts',
  'src/transport/general.ts',
  'src/chat/answers.ts',
  'src/chat/markdown/highlight.ts',
  'src/chat/markdown/mermaid.ts',
  'src/chat/icons.tsx',
  'embed/attributes.ts',
];

function sources(folder: string): string[] {
  return readdirSync(join(web, folder), { withFileTypes: true }).flatMap((e) =>
    e.isDirectory() ? sources(`${folder}/${e.name}`) : /\.tsx?$/.test(e.name) && !/\.test\./.test(e.name) ? [`${folder}/${e.name}`] : [],
  );
}

type Node = Record<string, unknown> & { type: string; start: number };

/* A sentence, or a word that begins like one. */
const spoken = /\p{L}{2,}[,;:]? \p{L}|^\p{Lu}\p{Ll}+[.!…?:]*$/u;
/* Attributes that people see or hear, of elements and of our own components. */
const seen = /^(aria-label|aria-description|title|alt|placeholder|label|words)$/;
/* Names of keys, of events, and the wire's own names. */
const names = new Set('Enter Escape Files Notification Direct Tab Home End'.split(' '));

function literals(file: string, code = readFileSync(join(web, file), 'utf8')): string[] {
  const { program, errors } = parseSync(file, code, { lang: file.endsWith('x') ? 'tsx' : 'ts' });
  expect(errors, file).toEqual([]);
  const found: string[] = [];
  const say = (n: Node, text: string) => found.push(`${file}:${code.slice(0, n.start).split('\n').length}: ${text.trim().slice(0, 60)}`);
  const visit = (v: unknown, attribute: string): void => {
    if (Array.isArray(v)) return v.forEach((x) => visit(x, attribute));
    if (!v || typeof v !== 'object') return;
    const n = v as Node;
    if (n.type === 'ImportDeclaration' || n.type?.startsWith('TSType') || n.type?.startsWith('TSInterface') || n.type === 'TSLiteralType') return;
    if (n.type === 'CallExpression' && isConsole(n.callee as Node)) return; // for whoever built the page
    if (n.type === 'JSXAttribute') return visit(n.value, (n.name as { name: string }).name);
    if (n.type === 'JSXText' && /\p{L}/u.test(n.value as string)) say(n, n.value as string);
    if (n.type === 'Literal' && typeof n.value === 'string' && !names.has(n.value)) {
      const hidden = attribute !== '' && !seen.test(attribute) && !/^on[A-Z]/.test(attribute);
      if ((seen.test(attribute) && /\p{L}{2,}/u.test(n.value)) || (!hidden && spoken.test(n.value) && !isCode(n.value))) say(n, n.value);
    }
    if (n.type === 'TemplateLiteral') {
      const texts = (n.quasis as { value: { cooked: string } }[]).map((q) => q.value.cooked);
      if (texts.some((s) => seen.test(attribute) ? /\p{L}{2,}/u.test(s) : spoken.test(s) && !isCode(s))) say(n, texts.join('…'));
    }
    for (const [key, child] of Object.entries(n)) if (key !== 'type') visit(child, attribute);
  };
  visit(program, '');
  return found;
}

function isConsole(callee: Node): boolean {
  const { object } = callee as Node & { object?: { name?: string } };
  return callee.type === 'MemberExpression' && object?.name === 'console';
}

/* Of programmers to programmers: a wrong use of a hook, and lines of the raw events. */
const notes = ['outside of a conversation', 'following from ', 'replaying the answer under way'];

/* Class names, selectors, media queries, JSON lines: words that are no language of people. */
function isCode(text: string): boolean {
  if (notes.includes(text)) return true;
  return /^[a-z0-9-]+( [a-z0-9-]+)*$/.test(text) ? !/ (is|are|was|the|a|to|for|in|by|of) /.test(` ${text} `) : /^[([.#@]|!important|\[[a-z]|=|&|\/\//.test(text);
}

test('no part of the page has a word of its own', () => {
  const folders = ['src/app', 'src/chat', 'src/transport', 'src/protocol', 'client/ui', 'embed'];
  const all = folders.flatMap(sources).filter((f) => !others.includes(f));
  expect(all.length).toBeGreaterThan(80);
  expect(all.flatMap((f) => literals(f))).toEqual([]);
});

test('the check above sees what it is there for', () => {
  const sample = (code: string) => literals('sample.tsx', code).length;
  expect(sample('const a = <p>Hello</p>;')).toBe(1);
  expect(sample('const a = <p title="go" aria-label={open ? "shut" : t.open} />;')).toBe(2);
  expect(sample('const a = <p>{late ? "Nobody answered" : t.x}</p>;')).toBe(1);
  expect(sample('notice(`Sent to ${who}`); throw new Error("It failed.");')).toBe(2);
  expect(sample('console.error(`parley: not known: ${what}`); page.error("No such thing");')).toBe(1);
  expect(sample('const a = <p className="button outline" role="status">{t.x}</p>; if (e.key === "Enter") f("t1");')).toBe(0);
});

/* Every text of a table with its path; functions are called, so that a missing part shows. */
function texts(table: object, path = ''): [string, string][] {
  return Object.entries(table).flatMap(([key, v]): [string, string][] => {
    const at = path ? `${path}.${key}` : key;
    if (typeof v === 'string') return [[at, v]];
    if (typeof v === 'function') return [1, 5].map((n) => [`${at}(${n})`, called(v as (...a: unknown[]) => string, n)]);
    return texts(v as object, at);
  });
}

function called(f: (...a: unknown[]) => string, n: number): string {
  try {
    return f(n, '<2>', '<3>');
  } catch {
    return f('<1>', '<2>', '<3>'); // it takes no number
  }
}

test('each language says everything, and nothing in the words of another', () => {
  // Names, signs and what is written alike in both.
  const alike = /^(unit\.(ms|s|mb)|bgm|key\.(write|help|step|stop|send\.0|line\.0)|themes\.system|code|codeIn|joined|verdict\.pending|chat|via\.cli|Image|saved|modes|nothing|decision|.*\(\d\))/;
  for (const table of [de, ja]) {
    const english = new Map(texts(en));
    const mine = texts(table);
    expect(mine.map(([k]) => k)).toEqual(texts(en).map(([k]) => k));
    const same = mine.filter(([k, v]) => v === english.get(k) && !alike.test(k) && /\p{L}/u.test(v));
    expect(same).toEqual([]);
  }
});

test('what stands in braces in one language stands in the others', () => {
  const holes = (table: object) => texts(table).map(([k, v]) => [k, [...v.matchAll(/\{\w+\}/g)].map((m) => m[0]).sort()]);
  expect(holes(de)).toEqual(holes(en));
  expect(holes(ja)).toEqual(holes(en));
});

test('numbers have their plural as the language has it', () => {
  expect([en.days(1), en.days(2), de.days(1), de.days(2), ja.days(1)]).toEqual(['1 day', '2 days', '1 Tag', '2 Tage', '1 日']);
  expect(en.approveThese(1)).toBe('Approve this request');
  expect(de.requestsWait(3)).toBe('3 Anfragen warten auf Sie.');
});

test('the words that documents look for stand in English as they are', () => {
  expect([en.approvalRequired, en.processing, en.state.done]).toEqual(['Approval Required', 'Processing Approval…', 'Completed']);
});

test('every way by which a decision can come has its words', () => {
  const doors = readFileSync(new URL('../../../docs/doors.md', import.meta.url), 'utf8');
  const [, list] = /`decided_via` is ([^.]*)\./.exec(doors)!;
  const ways = [...list!.replace(/\([^()]*\)/g, '').matchAll(/`([a-z-]+)`/g)].map((m) => m[1]!);
  expect(ways).toContain('page');
  expect(ways.filter((way) => wayOf(way) === en.viaOther(way))).toEqual([]);
  for (const table of [de, ja]) expect(Object.keys(table.via)).toEqual(Object.keys(en.via));
});

test('the language is the first that the browser wishes and the page has', () => {
  expect(choose(languages, ['fr-FR', 'de-AT', 'en'])).toBe('de');
  expect(choose(['ja', 'en'], ['de'])).toBe('ja');
  expect(choose(['en'], [])).toBe('en');
});

test('the pages behind signed links call things as the page does', () => {
  const table = readFileSync(new URL('../../../src/door/linkwords.h', import.meta.url), 'utf8');
  const line = (name: string) => [...new RegExp(`W\\(${name}, ([^)]*)\\)`).exec(table)![1]!.matchAll(/"([^"]*)"/g)].map((m) => m[1]);
  expect(line('approve')).toEqual([en.approve, de.approve, ja.approve]);
  expect(line('deny')).toEqual([en.deny, de.deny, ja.deny]);
});
