// What may be changed becomes fields, and what was typed becomes arguments.
import { expect, test } from 'vitest';
import { parseExact } from '../protocol';
import { changesOf, fieldOfError, fieldsOf, filledOf, formFields, shownText } from './fields';

const schema = {
  type: 'object',
  required: ['recipient', 'amount'],
  properties: {
    recipient: { type: 'string' },
    amount: { type: 'number' },
    memo: { anyOf: [{ type: 'string' }, { type: 'null' }] },
    currency: { enum: ['USD', 'EUR'] },
    urgent: { type: 'boolean' },
    due: { type: 'string', format: 'date' },
    address: { $ref: '#/$defs/address' },
    lines: { type: 'array', items: { type: 'number' } },
  },
  $defs: { address: { type: 'object', properties: { city: { type: 'string' }, 'a/b': { type: 'integer' } } } },
};
const input = { recipient: 'Hanako', amount: 50, currency: 'USD', urgent: false, address: { city: 'Kobe' }, lines: [1, 2] };
const kinds = (edit: string[], value: unknown = input, of: unknown = schema) => fieldsOf(edit, value, of).map((f) => [f.pointer, f.kind]);
const typed = (edit: string[], texts: Record<string, string>, value: unknown = input) => {
  const { input: now, wrong } = changesOf(value, fieldsOf(edit, value, schema), texts);
  return { now: JSON.parse(JSON.stringify(now)) as unknown, wrong };
};

test('just what may be changed is a field, of the kind that the schema says', () => {
  expect(kinds(['/amount', '/memo'])).toEqual([['/amount', 'number'], ['/memo', 'text']]);
  expect(kinds(['/currency', '/urgent', '/due', '/lines'])).toEqual([['/currency', 'choice'], ['/urgent', 'flag'], ['/due', 'text'], ['/lines', 'json']]);
  expect(kinds(['/address'])).toEqual([['/address/city', 'text'], ['/address/a~1b', 'number']]);
  expect(kinds(['']).map(([p]) => p)).toEqual(['/recipient', '/amount', '/currency', '/urgent', '/address/city', '/address/a~1b', '/lines', '/memo', '/due']);
  expect(kinds(['/lines/1'])).toEqual([['/lines/1', 'number']]);
});

test('without a schema the value says what it is, and a value of another type is shown as it is', () => {
  expect(kinds(['/a', '/b', '/c', '/d'], { a: 'x', ...(parseExact('{"b":9007199254740993}') as object), c: true, d: [1] }, null)).toEqual([
    ['/a', 'text'],
    ['/b', 'number'],
    ['/c', 'flag'],
    ['/d', 'json'],
  ]);
  expect(kinds(['/amount'], { amount: 'fifty' })).toEqual([['/amount', 'json']]);
  expect(kinds(['/memo'], { memo: 'a\nb' })).toEqual([['/memo', 'long']]);
});

test('what is typed stands in its place, and nothing else changes', () => {
  const of = fieldsOf(['/amount'], input, schema);
  expect(typed(['/amount', '/memo'], { '/amount': '45', '/memo': 'for May' }).now).toEqual({ ...input, amount: 45, memo: 'for May' });
  expect(typed(['/currency'], { '/currency': '1' }).now).toEqual({ ...input, currency: 'EUR' });
  expect(typed(['/address', '/lines'], { '/address/city': 'Nara', '/address/a~1b': '3', '/lines': '[3]' }).now).toEqual({
    ...input,
    address: { city: 'Nara', 'a/b': 3 },
    lines: [3],
  });
  expect(changesOf(input, of, { '/amount': '50' })).toEqual({ input, changed: [], wrong: {} });
});

test('an empty field takes out what need not be there; what cannot be sent is named', () => {
  expect(typed(['/currency', '/lines'], { '/currency': '', '/lines': '' }).now).toEqual({ recipient: 'Hanako', amount: 50, urgent: false, address: { city: 'Kobe' } });
  expect(typed(['/amount', '/lines'], { '/amount': '4,5', '/lines': '[1' }).wrong).toEqual({ '/amount': 'number', '/lines': 'json' });
  expect(typed(['/amount'], { '/amount': '' }).wrong).toEqual({ '/amount': 'number' });
  // This Node reads JSON's numbers as JavaScript's; browsers that do not are tried in test/browser.
  expect(typed(['/amount'], { '/amount': '9007199254740993' }).wrong).toEqual({ '/amount': 'rounded' });
});

test('a sentence of the server belongs to the field that it begins with', () => {
  const fields = fieldsOf(['/amount', '/lines', '/address'], input, schema);
  const at = (words: string) => fieldOfError(fields, words)?.pointer;
  expect(at('/amount is less than 1')).toBe('/amount');
  expect(at('/lines/0 is not a number')).toBe('/lines');
  expect(at('"/address/city" may not be changed here')).toBe('/address/city');
  expect(at('/amounts is not a number')).toBeUndefined();
  expect(at('the input lacks "amount"')).toBeUndefined();
});

const form = {
  type: 'object',
  required: ['account', 'sure', 'n'],
  properties: {
    account: { type: 'string', title: 'Account', description: 'The one it is paid from.' },
    sure: { type: 'boolean' },
    n: { type: 'integer', default: 3 },
    way: { type: 'string', enum: ['a', 'b'], enumNames: ['By air', 'By boat'] },
    speed: { oneOf: [{ const: 1, title: 'slow' }, { const: 2, title: 'fast' }] },
    memo: { type: 'string' },
  },
};

test('what a tool asks for is a form: its titles, its choices in words, its defaults', () => {
  const fields = formFields(form);
  expect(fields.map((f) => [f.title ?? f.path[0], f.kind, f.text, f.required])).toEqual([
    ['Account', 'text', '', true],
    ['sure', 'flag', '', true],
    ['n', 'number', '3', true],
    ['way', 'choice', '', false],
    ['speed', 'choice', '', false],
    ['memo', 'text', '', false],
  ]);
  expect(fields[0]?.help).toBe('The one it is paid from.');
  expect(shownText(fields[3]!, '1')).toBe('By boat');
  expect(formFields(undefined)).toEqual([]);
  expect(formFields({ type: 'object', properties: {} })).toEqual([]);
});

test('a form is sent as it is filled in: what is empty is left out, or said', () => {
  const filled = (texts: Record<string, string>) => filledOf(formFields(form), texts);
  expect(filled({}).wrong).toEqual({ '/account': 'missing' });
  expect(JSON.parse(JSON.stringify(filled({ '/account': 'main', '/way': '1', '/speed': '0' }).input))).toEqual({ account: 'main', sure: false, n: 3, way: 'b', speed: 1 });
  expect(filled({ '/account': 'main', '/n': 'three' }).wrong).toEqual({ '/n': 'number' });
});
