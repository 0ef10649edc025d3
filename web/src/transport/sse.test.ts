// text/event-stream, cut anywhere.
import { expect, test } from 'vitest';
import { readSse, SseParser } from './sse';

const text =
  ': hi\r\nid: 41.17\r\ndata: {"a":1}\r\n\r\ndata: one\ndata: two\n\nevent: x\ndata:no space\n\n: keep-alive\n\ndata: [DONE]\n\ndata: never closed';
const events = [
  { id: '41.17', data: '{"a":1}' },
  { id: '41.17', data: 'one\ntwo' },
  { id: '41.17', event: 'x', data: 'no space' },
  { id: '41.17', data: '[DONE]' },
];

test('whole text', () => {
  expect(new SseParser().push(text)).toEqual(events);
});

test('cut at every place', () => {
  for (let i = 0; i <= text.length; i++) {
    const p = new SseParser();
    expect([...p.push(text.slice(0, i)), ...p.push(text.slice(i))]).toEqual(events);
  }
});

test('bytes cut inside a character', async () => {
  const bytes = new TextEncoder().encode('data: 日本🙂\n\n');
  const body = new ReadableStream<Uint8Array>({
    start(c) {
      for (const b of bytes) c.enqueue(new Uint8Array([b]));
      c.close();
    },
  });
  const out = [];
  for await (const batch of readSse(body, new AbortController().signal)) out.push(...batch);
  expect(out).toEqual([{ data: '日本🙂' }]);
});
