/* sentence.ts -- which parts of a question were filled in.
 *
 * The server fills {members} into its sentence: numbers and plain words as they
 * are, everything else in quotation marks. "Hanako and 20 USD to Taro" is plain
 * words; it must be seen to be one value.
 */
import { Exact, isObject } from '../protocol';

export interface Span {
  text: string;
  /** Filled in, not the server's words. */
  value: boolean;
}

export function valuesIn(sentence: string, input: unknown): Span[] {
  const found = [...quoted(sentence), ...values(input).flatMap((v) => places(sentence, v))].sort((a, b) => b.to - b.from - (a.to - a.from));
  const kept: Place[] = [];
  for (const p of found) if (!kept.some((k) => p.from < k.to && k.from < p.to)) kept.push(p);
  return spans(
    sentence,
    kept.sort((a, b) => a.from - b.from),
  );
}

/**
 * The sentence with the arguments that were changed after it was made; null where it does not say which of its values
 * they are.
 */
export function withChanges(sentence: string, was: unknown, now: unknown): string | null {
  if (!isObject(was) || !isObject(now)) return null;
  const text = new Map<string, string>();
  for (const [name, before] of Object.entries(was)) {
    const becomes = filled(now[name]);
    const changed = JSON.stringify(before) !== JSON.stringify(now[name]);
    if (changed && (plain(before) === null || becomes === null)) return null; // nobody can tell where it stands
    for (const shown of [filled(before), plain(before)]) {
      if (shown === null || becomes === null) continue;
      if (text.has(shown) && text.get(shown) !== becomes) return null;
      text.set(shown, becomes);
    }
  }
  return valuesIn(sentence, was)
    .map((s) => (s.value ? (text.get(s.text) ?? s.text) : s.text))
    .join('');
}

function plain(v: unknown): string | null {
  return typeof v === 'string' || typeof v === 'number' || v instanceof Exact ? String(v) : null;
}

/* As the server fills it in. */
function filled(v: unknown): string | null {
  return typeof v === 'string' && !/^[\p{L}\p{N}](?:[\p{L}\p{N} .,'-]*[\p{L}\p{N}.])?$/u.test(v) ? JSON.stringify(v) : plain(v);
}

interface Place {
  from: number;
  to: number;
}

function quoted(sentence: string): Place[] {
  return [...sentence.matchAll(/"(?:[^"\\]|\\.)*"/g)].map((m) => ({ from: m.index, to: m.index + m[0].length }));
}

/** Every text and number of the arguments, however deep. */
export function values(input: unknown): string[] {
  if (typeof input === 'string') return input.trim() ? [input] : [];
  if (typeof input === 'number' || input instanceof Exact) return [String(input)];
  if (Array.isArray(input)) return input.flatMap(values);
  return isObject(input) ? Object.values(input).flatMap(values) : [];
}

/* Where it stands as a whole: "5" is not part of "50". */
function places(sentence: string, value: string): Place[] {
  const out: Place[] = [];
  for (let at = sentence.indexOf(value); at >= 0; at = sentence.indexOf(value, at + value.length)) {
    const to = at + value.length;
    const whole = !(inWord(sentence[at - 1]) && inWord(value[0])) && !(inWord(value.at(-1)) && inWord(sentence[to]));
    if (whole) out.push({ from: at, to });
  }
  return out;
}

function inWord(c: string | undefined): boolean {
  return c !== undefined && /[\p{L}\p{N}]/u.test(c);
}

function spans(text: string, places: Place[]): Span[] {
  const out: Span[] = [];
  let at = 0;
  for (const { from, to } of places) {
    if (from > at) out.push({ text: text.slice(at, from), value: false });
    out.push({ text: text.slice(from, to), value: true });
    at = to;
  }
  if (at < text.length) out.push({ text: text.slice(at), value: false });
  return out;
}
