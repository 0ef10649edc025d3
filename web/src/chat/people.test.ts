// Nobody else is ever called what the page calls its reader.
import { expect, test } from 'vitest';
import { self } from '../protocol';
import { called } from './context';
import { nameFor } from './people';

const me = { principal: 'ada', roles: ['user'] } as never;
const shown = (who: string) => called({ name: nameFor(me) }, who);

test('whoever reads is "you", by name and by their own click', () => {
  expect([shown('ada'), shown(self)]).toEqual(['you', 'you']);
});

test('a person who is called "you" is not', () => {
  for (const who of ['you', 'You', 'YOU ', 'y\u043eu', 'yo\u200bu', '\uff59ou', 'Sie', 'あなた', 'me']) {
    expect(shown(who)).toContain('“');
    expect(shown(who)).not.toBe('you');
  }
  expect(called({ name: nameFor(null) }, 'you')).toBe('“you”');
});

test('names hide nothing', () => {
  expect([shown('fay'), shown('f\u202eay')]).toEqual(['fay', 'f⟨U+202E⟩ay']);
});
