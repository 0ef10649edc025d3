// A plain yes or no is told from a message.
import { expect, test } from 'vitest';
import { answerOf } from './answers';

test('plain answers are recognised, whatever their case and marks', () => {
  for (const text of ['yes', 'Yes!', ' YES. ', 'Ok', 'Go ahead', 'ja', 'はい。', 'y', 'Yes, please.']) expect([text, answerOf(text)]).toEqual([text, 'yes']);
  for (const text of ['no', 'No.', 'nein', 'いいえ', "Don't", 'No, thanks']) expect([text, answerOf(text)]).toEqual([text, 'no']);
});

test('everything else is a message', () => {
  for (const text of ['yes?', 'yes but only half', 'no idea', 'why', '', 'not now', 'yes and no']) expect([text, answerOf(text)]).toEqual([text, null]);
});
