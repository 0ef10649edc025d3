// A plain yes or no is told from a message.
import { expect, test } from 'vitest';
import { answerOf, soundsLikeAnswer, soundsLikeDecision } from './answers';

test('plain answers are recognised, whatever their case and marks', () => {
  for (const text of ['yes', 'Yes!', ' YES. ', 'Ok', 'Go ahead', 'ja', 'はい。', 'y', 'Yes, please.']) expect([text, answerOf(text)]).toEqual([text, 'yes']);
  for (const text of ['no', 'No.', 'nein', 'いいえ', "Don't", 'No, thanks']) expect([text, answerOf(text)]).toEqual([text, 'no']);
});

test('everything else is a message', () => {
  for (const text of ['yes?', 'yes but only half', 'no idea', 'why', '', 'not now', 'yes and no']) expect([text, answerOf(text)]).toEqual([text, null]);
});

test('no label may read like a decision', () => {
  for (const label of ['Approve', 'approve all', 'Please approve', 'Yes, approve', 'Approval', 'Ja, genehmigen', 'Genehmigt', '✓ Approve', 'A p p r o v e', 'A.l.l.o.w', '\u0410llow', 'Ap\u200bprove', '\uff21pprove', 'Ápprove', 'Appr0ve', 'A11ow', 'D3ny it', 'Deny', 'Freigeben', 'Zahlung freigeben', '承認する', 'これを許可', '批准'])
    expect([label, soundsLikeDecision(label)]).toEqual([label, true]);
  for (const label of ['Close', 'Show the disallowed words', 'Send the report', 'Open 1 file', 'Go on', 'Swallow', 'Improve it', 'Granted permissions', '保存', 'Weiter'])
    expect([label, soundsLikeDecision(label)]).toEqual([label, false]);
});

test('a button that acts is not called like a plain answer', () => {
  for (const label of ['Yes', 'OK', '✅ Yes!', 'Okay', 'はい', 'Ja', 'Nein.', 'No', 'Y\u0435s']) expect([label, soundsLikeAnswer(label)]).toEqual([label, true]);
  for (const label of ['Close', 'Pay now', 'Next', '保存', 'Yes, tell me more']) expect([label, soundsLikeAnswer(label)]).toEqual([label, false]);
});
