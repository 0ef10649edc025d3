// How states and languages are told.
import { expect, test } from 'vitest';
import { t } from '../words';
import { languageOf, stateIcon } from './words';

test('no two states of a tool have the same word or the same sign', () => {
  expect(new Set(Object.values(t.state)).size).toBe(Object.keys(t.state).length);
  expect(new Set(Object.values(stateIcon)).size).toBe(Object.keys(stateIcon).length);
});

test('a language is named where the letters tell it, and only there', () => {
  expect(languageOf('東京は晴れです。')).toBe('ja');
  expect(languageOf('今天天气很好')).toBe('zh');
  expect(languageOf('오늘은 맑아요')).toBe('ko');
  expect(languageOf('The word 東京 means Tokyo')).toBeUndefined();
  expect(languageOf('Привет')).toBeUndefined(); // which of many?
  expect(languageOf('')).toBeUndefined();
});
