// The documents' conversations, recorded from the real server in all three modes (scripts/record.mjs): what a person
// sees after each event is the same in each, not only at the end.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { decodeChunk } from './chunks';
import { parseTyped, type ThreadEvent } from './events';
import { reduce } from './reducer';
import { emptyThread, textOf, type Call, type Message, type ThreadState } from './state';

type Step = { did: ThreadEvent } | { wire: 'direct' | 'sse' | 'live' | 'events'; id?: string; data: unknown };
type Recording = Record<'direct' | 'sse' | 'bidi', Step[]>;

const folder = join(new URL('.', import.meta.url).pathname, 'recorded');

function eventsOf(step: Step): ThreadEvent[] {
  if ('did' in step) return [step.did];
  if (step.data === '[DONE]') return [{ type: 'turn_end' }];
  return step.wire === 'events' ? [parseTyped(step.data)] : decodeChunk(step.data);
}

/* How a text is cut into deltas is the network's business: word by word for everybody. */
function wordByWord(e: ThreadEvent): ThreadEvent[] {
  if (e.type !== 'text_delta' && e.type !== 'part_text') return [e];
  return (e.text.match(/\s*\S+\s*|\s+/g) ?? []).map((text) => ({ ...e, text }));
}

/*
 * What is on the screen, a line for each message and card. The native form learns the
 * question's sentence by a request of its own, and the arguments of a call that is being prepared are told or not.
 */
function seen(s: ThreadState): string {
  const all = s.open ? [...s.messages, s.open] : s.messages;
  const lines = all.filter((m) => m.parts.length > 0 || m.error).flatMap(message);
  return [...lines, !s.open && s.waitingSince !== null ? 'waiting' : ''].join('\n');
}

function message(m: Message): string[] {
  const chips = m.status === 'done' ? (m.payload?.suggestedValues.map((v) => v.label) ?? []) : [];
  const parts = m.parts.map((p) => (p.type === 'call' ? card(m.calls[p.id]!) : p.type === 'text' ? `  ${p.text.trim()}` : p.type));
  return [`${m.role} ${m.status} ${m.error?.message ?? ''} ${chips.join()}`, ...parts];
}

function card({ name, status, input, intent, output, error, approval, claim, progress }: Call): string {
  const known = status === 'preparing' ? { intent } : { input, intent, output, error, claim, progress };
  return `  [${name} ${status}; ${approval?.status} by ${approval?.decidedBy}; ${JSON.stringify(known)}]`;
}

/* Every state that differs from the one before. */
function film(steps: Step[]): string[] {
  const frames: string[] = [];
  let s = emptyThread;
  for (const e of steps.flatMap(eventsOf).flatMap(wordByWord)) {
    s = reduce(s, { at: 1, ...e });
    const frame = seen(s);
    if (frame !== frames.at(-1)) frames.push(frame);
  }
  return frames;
}

for (const file of readdirSync(folder)) {
  const recording = JSON.parse(readFileSync(join(folder, file), 'utf8')) as Recording;
  test(`${file.replace('.json', '')}: every state is the same in Direct, SSE and BIDI`, () => {
    const [direct, sse, bidi] = [film(recording.direct), film(recording.sse), film(recording.bidi)];
    expect(sse).toEqual(direct);
    expect(bidi).toEqual(direct);
  });

  test(`${file.replace('.json', '')}: nothing that was said is ever taken away`, () => {
    for (const steps of Object.values(recording)) {
      let s = emptyThread;
      let before = '';
      for (const e of steps.flatMap(eventsOf)) {
        s = reduce(s, e);
        const said = (s.open ? [...s.messages, s.open] : s.messages).map((m) => textOf(m)).join('\n\n');
        expect(said.startsWith(before)).toBe(true);
        before = said;
      }
      expect(s.open).toBeNull();
    }
  });
}
