// What was filled into a question stands off from its words.
import { expect, test } from 'vitest';
import { valuesIn, withChanges } from './sentence';

const filled = (sentence: string, input: unknown) => valuesIn(sentence, input).flatMap((s) => (s.value ? [s.text] : []));

test('numbers and plain words are found where they stand as a whole', () => {
  expect(filled('Send 50 USD to Hanako?', { amount: 50, currency: 'USD', recipient: 'Hanako' })).toEqual(['50', 'USD', 'Hanako']);
  expect(filled('Send 50 USD to Han?', { amount: 5, recipient: 'Ha' })).toEqual([]);
});

test('words that read like the sentence are one value', () => {
  const input = { amount: 50, currency: 'USD', recipient: 'Hanako and 20 USD to Taro' };
  expect(filled('Send 50 USD to Hanako and 20 USD to Taro?', input)).toEqual(['50', 'USD', 'Hanako and 20 USD to Taro']);
});

test('what stands in quotation marks is a value with them', () => {
  expect(filled('Say "well, \\"no\\"" to Ken?', { words: 'well, "no"', to: 'Ken' })).toEqual(['"well, \\"no\\""', 'Ken']);
});

test('nothing is left out', () => {
  const sentence = 'Send 50 USD to "x? y" now?';
  expect(
    valuesIn(sentence, { amount: 50, to: 'x? y' })
      .map((s) => s.text)
      .join(''),
  ).toBe(sentence);
});

test('a sentence says what was approved after a change, or nothing of it', () => {
  const was = { amount: 50, currency: 'USD', recipient: 'Ken' };
  expect(withChanges('Send 50 USD to Ken?', was, { ...was, amount: 45, memo: 'x' })).toBe('Send 45 USD to Ken?');
  expect(withChanges('Send 50 USD to Ken?', was, { ...was, recipient: 'Ann? No' })).toBe('Send 50 USD to "Ann? No"?');
  const twice = { amount: 50, fee: 50 };
  expect(withChanges('Send 50 and 50?', twice, { ...twice, amount: 45 })).toBe(null);
});
