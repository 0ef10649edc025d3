// The sentences that must stay true of `[[tool:N]]`.
import { expect, test } from 'vitest';
import { parseMarkers, scanMarkers, withoutMarkers, type Segment } from './marker';

function stream(pieces: string[]): Segment[] {
  let held = '';
  const out: Segment[] = [];
  const add = (s: Segment) => {
    const last = out.at(-1);
    if (s.type === 'text' && last?.type === 'text') last.text += s.text;
    else out.push({ ...s });
  };
  for (const piece of pieces) {
    const step = scanMarkers(held, piece);
    held = step.held;
    step.segments.forEach(add);
  }
  if (held) add({ type: 'text', text: held });
  return out;
}

const samples = [
  '',
  'plain',
  'Let me search for that...\n\n[[tool:0]]\n\nI found 5 relevant articles.',
  '[[tool:0]][[tool:1]]',
  '[[tool:12]] and [\\[tool:0]] and [[tool:]] and [[tool:x]]',
  '[[[tool:3]]]',
  '[\\[[tool:3]]',
  'a [ b [[ c [[t d [[tool:1 e [[tool:1] f',
  'ends with [[tool:7',
  'ends with [\\',
  '日本 [[tool:4]] 🙂[[tool:5]]',
  '[[tool:1234567]] is no index',
];

test('a marker is found in whole text', () => {
  expect(parseMarkers(samples[2]!)).toEqual([
    { type: 'text', text: 'Let me search for that...\n\n' },
    { type: 'marker', index: 0 },
    { type: 'text', text: '\n\nI found 5 relevant articles.' },
  ]);
});

test('an escaped marker is text, without its backslash', () => {
  expect(parseMarkers('[\\[tool:0]]')).toEqual([{ type: 'text', text: '[[tool:0]]' }]);
});

test('cut at every character, the segments are the same', () => {
  for (const s of samples) expect(stream([...s])).toEqual(parseMarkers(s));
});

test('cut in two at every place, the segments are the same', () => {
  for (const s of samples) for (let i = 0; i <= s.length; i++) expect(stream([s.slice(0, i), s.slice(i)])).toEqual(parseMarkers(s));
});

test('no prefix of a marker is ever handed out before it is decided', () => {
  const s = 'x[[tool:0]]y';
  for (let i = 2; i < s.indexOf('y'); i++) {
    const { segments } = scanMarkers('', s.slice(0, i));
    expect(segments.map((x) => (x.type === 'text' ? x.text : '#')).join('')).toBe(i < s.indexOf('y') ? 'x' : 'x#');
  }
});

test('withoutMarkers leaves words only', () => {
  expect(withoutMarkers(samples[2]!)).toBe('Let me search for that...\n\nI found 5 relevant articles.');
});
