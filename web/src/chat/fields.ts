/* fields.ts -- the arguments that a person may change before a yes, and what a tool at work asks for, as fields of a form.
 *
 * The request lists JSON pointers. The tool's schema says what kind of value stands there; where it says nothing, the
 * value does. What is typed stays text until it is sent, so that a number goes out with the digits of the field. The
 * server judges; refused here is only what could not be sent at all.
 */
import { Exact, isObject, isRounded, parseExact } from '../protocol';

export type Kind = 'text' | 'long' | 'number' | 'flag' | 'choice' | 'json';

export interface Field {
  pointer: string;
  /** The names on the way to it. */
  path: string[];
  kind: Kind;
  /** Of a text: what a browser has a keyboard or a calendar for. */
  input: 'text' | 'date' | 'email' | 'url';
  /** Of a choice, and what people are shown of each. */
  options: unknown[];
  names: readonly string[];
  required: boolean;
  /** As it was asked about; undefined: it is not there. */
  value: unknown;
  /** The same, as it stands in the field. */
  text: string;
  /** Of a form: what the tool calls it, and says of it. */
  title?: string | undefined;
  help?: string | undefined;
}

/** What was typed, by pointer. */
export type Texts = Readonly<Record<string, string>>;

/* Deeper than this, or with more in it, a value is changed as JSON. */
const depthMax = 4;
const longText = 60; // characters

export function fieldsOf(edit: readonly string[], input: unknown, schema: unknown): Field[] {
  const found = new Map<string, Field>();
  for (const pointer of edit) {
    const path = pathOf(pointer);
    const spot = path.reduce((s, name) => step(s, name, schema), { schema: plainSchema(schema, schema), value: input, required: true } as Spot);
    for (const f of fieldsAt(path, spot, schema)) found.set(f.pointer, f);
  }
  return [...found.values()];
}

/** What a tool's own question wants to know; none: a yes or no is all. */
export function formFields(schema: unknown): Field[] {
  const all = isObject(schema) && isObject(schema.properties) ? schema.properties : {};
  const given = Object.fromEntries(Object.entries(all).flatMap(([name, s]) => (isObject(s) && s.default !== undefined ? [[name, s.default]] : [])));
  const fields = fieldsOf(Object.keys(all).map((name) => pointerOf([name])), given, schema);
  return fields.map((f) => ({ ...f, ...wordsOf(f.path.length === 1 ? all[f.path[0]!] : undefined) }));
}

function wordsOf(schema: unknown): Pick<Field, 'title' | 'help'> {
  const word = (x: unknown) => (typeof x === 'string' && x !== '' ? x : undefined);
  return isObject(schema) ? { title: word(schema.title), help: word(schema.description) } : {};
}

/** A place in the arguments: what the schema says of it, and what stands there. */
interface Spot {
  schema: Record<string, unknown>;
  value: unknown;
  required: boolean;
}

function step(s: Spot, name: string, root: unknown): Spot {
  const list = Array.isArray(s.value);
  const inner = list ? s.schema.items : isObject(s.schema.properties) ? s.schema.properties[name] : undefined;
  const required = list || (Array.isArray(s.schema.required) && s.schema.required.includes(name));
  return { schema: plainSchema(inner, root), value: child(s.value, name), required };
}

function child(value: unknown, name: string): unknown {
  if (Array.isArray(value)) return value[Number(name)];
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

/* References within the schema, and "this or null", as what they mean. */
function plainSchema(schema: unknown, root: unknown, depth = 0): Record<string, unknown> {
  if (!isObject(schema) || depth > depthMax) return {};
  if (typeof schema.$ref === 'string' && schema.$ref.startsWith('#')) {
    return plainSchema(pathOf(schema.$ref.slice(1)).reduce(child, root), root, depth + 1);
  }
  const one = [schema.anyOf, schema.oneOf].find(Array.isArray)?.filter((x) => !isObject(x) || x.type !== 'null');
  return one?.length === 1 ? plainSchema(one[0], root, depth + 1) : schema;
}

function fieldsAt(path: string[], spot: Spot, root: unknown): Field[] {
  const properties = isObject(spot.schema.properties) ? Object.keys(spot.schema.properties) : [];
  const names = [...new Set([...(isObject(spot.value) ? Object.keys(spot.value) : []), ...properties])];
  const isGroup = names.length > 0 && path.length < depthMax && (spot.value === undefined || isObject(spot.value));
  if (isGroup) return names.flatMap((name) => fieldsAt([...path, name], step(spot, name, root), root));
  return path.length ? [field(path, spot)] : [];
}

function field(path: string[], { schema, value, required }: Spot): Field {
  const { options, names } = optionsOf(schema);
  const kind = kindOf(schema, value, options);
  const text = kind === 'choice' ? indexOf(options, value) : textOf(value, kind);
  return { pointer: pointerOf(path), path, kind, input: inputOf(schema, text), options, names, required, value, text };
}

function pointerOf(path: readonly string[]): string {
  return path.map((n) => `/${n.replace(/~/g, '~0').replace(/\//g, '~1')}`).join('');
}

/* One of a list, or of constants that have titles. */
function optionsOf(schema: Record<string, unknown>): Pick<Field, 'options' | 'names'> {
  const titled = [schema.oneOf, schema.anyOf].find((l): l is Record<string, unknown>[] => Array.isArray(l) && l.length > 0 && l.every((x) => isObject(x) && 'const' in x));
  const options: unknown[] = titled ? titled.map((x) => x.const) : Array.isArray(schema.enum) ? schema.enum : [];
  const said: unknown[] = titled ? titled.map((x) => x.title) : Array.isArray(schema.enumNames) ? schema.enumNames : [];
  return { options, names: options.map((o, i) => (typeof said[i] === 'string' ? said[i] : textOf(o))) };
}

function kindOf(schema: Record<string, unknown>, value: unknown, options: unknown[]): Kind {
  if (options.length && (value === undefined || indexOf(options, value) !== '')) return 'choice';
  const types = [schema.type].flat().filter((x) => typeof x === 'string' && x !== 'null');
  const type = types.length === 1 ? types[0] : typeOf(value);
  // What does not look like its type is shown as it is.
  if (value !== undefined && value !== null && type !== 'integer' && type !== typeOf(value)) return 'json';
  if (type === 'number' || type === 'integer') return 'number';
  if (type === 'boolean') return 'flag';
  if (type !== 'string') return 'json';
  return typeof value === 'string' && (value.includes('\n') || value.length > longText) ? 'long' : 'text';
}

function typeOf(value: unknown): string {
  if (value instanceof Exact) return 'number';
  return value === null ? 'null' : Array.isArray(value) ? 'array' : value === undefined ? 'string' : typeof value;
}

function indexOf(options: unknown[], value: unknown): string {
  const at = options.findIndex((o) => JSON.stringify(o) === JSON.stringify(value));
  return at < 0 ? '' : String(at);
}

/* A calendar shows nothing of what is no date. */
function inputOf(schema: Record<string, unknown>, text: string): Field['input'] {
  if (schema.format === 'date') return !text || /^\d{4}-\d\d-\d\d$/.test(text) ? 'date' : 'text';
  return schema.format === 'email' ? 'email' : schema.format === 'uri' ? 'url' : 'text';
}

/** A value as people read it. */
export function textOf(value: unknown, kind?: Kind): string {
  if (value === undefined || (value === null && kind !== 'json' && kind !== undefined)) return '';
  if (typeof value === 'string' && kind !== 'json') return value;
  return value instanceof Exact ? value.text : JSON.stringify(value, null, 2);
}

/** What stands in a field now, as people read it. */
export function shownText(f: Field, text: string): string {
  return f.kind === 'choice' && text !== '' ? (f.names[Number(text)] ?? '') : text;
}

export type Wrong = 'number' | 'rounded' | 'json' | 'missing';

export interface Changes {
  /** All arguments, with what was typed in its place. */
  input: unknown;
  changed: Field[];
  wrong: Record<string, Wrong>;
}

export function changesOf(input: unknown, fields: readonly Field[], texts: Texts): Changes {
  const out: Changes = { input, changed: [], wrong: {} };
  for (const f of fields) {
    const text = texts[f.pointer] ?? f.text;
    if (text === f.text) continue;
    out.changed.push(f);
    const value = read(f, text);
    if (value instanceof Error) out.wrong[f.pointer] = value.message as Wrong;
    else out.input = put(out.input, f.path, value);
  }
  return out;
}

/** A form as it was filled in: what is empty is left out, and said where it must not be. */
export function filledOf(fields: readonly Field[], texts: Texts): Changes {
  const out: Changes = { input: {}, changed: [], wrong: {} };
  for (const f of fields) {
    const text = texts[f.pointer] ?? f.text;
    if (text !== f.text) out.changed.push(f);
    const isLeft = text.trim() === '' && f.kind !== 'flag';
    const value = !isLeft ? read(f, text) : f.required ? new Error('missing') : undefined;
    if (value instanceof Error) out.wrong[f.pointer] = value.message as Wrong;
    else if (value !== undefined) out.input = put(out.input, f.path, value);
  }
  return out;
}

const jsonNumber = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;

/* undefined: it is taken out. */
function read(f: Field, text: string): unknown {
  if (f.kind === 'text' || f.kind === 'long') return text;
  if (f.kind === 'flag') return text === 'true';
  if (text.trim() === '' && !f.required) return undefined;
  if (f.kind === 'choice') return f.options[Number(text)];
  if (f.kind === 'number' && !jsonNumber.test(text.trim())) return new Error('number');
  try {
    const list = parseExact(`[${text}]`) as unknown[]; // a lone number would lose digits
    if (isRounded(list[0])) return new Error('rounded');
    return list.length === 1 ? list[0] : new Error('json');
  } catch {
    return new Error('json');
  }
}

function put(into: unknown, [name, ...rest]: string[], value: unknown): unknown {
  if (name === undefined) return value;
  if (Array.isArray(into)) return into.map((x, i) => (String(i) === name ? put(x, rest, value) : (x as unknown)));
  const { [name]: old, ...others } = isObject(into) ? into : {};
  const now = put(old, rest, value);
  if (now === undefined) return others;
  return isObject(into) && name in into ? { ...into, [name]: now } : { ...others, [name]: now };
}

/** The field that a sentence of the server begins with: `/amount is less than 1`, `"/amount" may not …`. */
export function fieldOfError(fields: readonly Field[], error: string): Field | undefined {
  const said = error.replace(/^"/, '');
  return fields
    .filter((f) => said.startsWith(f.pointer) && /^["/\s]/.test(said.slice(f.pointer.length)))
    .sort((a, b) => b.pointer.length - a.pointer.length)[0];
}

function pathOf(pointer: string): string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((n) => n.replace(/~1/g, '/').replace(/~0/g, '~'));
}
