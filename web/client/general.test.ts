// The state of `useGeneralChat`, over a server that breaks its stream in the middle.
import { expect, test } from 'vitest';
import { emptyGeneralChat, reduceGeneral, GeneralChat, type GeneralChatEvent } from './index';

const search: GeneralChatEvent[] = [
  { type: 'asked', id: 'u1', text: 'Find articles' },
  { type: 'status', message: 'Thinking...' },
  { type: 'text_delta', text: 'Let me search...' },
  { type: 'intent_confirmation', message: "I'll search…" },
  { type: 'tool_start', tool: 'search_articles', input: {}, tool_use_id: 'c1' },
  { type: 'tool_progress', tool: 'search_articles', progress: 0.5 },
];

test('the state of the specification, event by event', () => {
  let s = search.reduce(reduceGeneral, emptyGeneralChat);
  expect(s).toMatchObject({
    isLoading: true,
    streamingText: 'Let me search...',
    statusText: 'Running search_articles...',
    activeToolProgress: { toolName: 'search_articles', updates: [{ progress: 0.5 }] },
    error: null,
  });
  s = reduceGeneral(s, { type: 'tool_complete', tool: 'search_articles', index: 0, tool_use_id: 'c1' });
  expect(s).toMatchObject({ statusText: null, activeToolProgress: null });
  s = reduceGeneral(s, { type: 'complete', payload: { message: 'Done.', suggested_values: [{ label: 'a', value: 'b' }] } });
  expect(s).toMatchObject({ isLoading: false, streamingText: '' });
  expect(s.messages).toHaveLength(2);
});

test('an error is shown and kept as a message', () => {
  const s = [...search, { type: 'error', message: 'Rate limit' } as GeneralChatEvent].reduce(reduceGeneral, emptyGeneralChat);
  expect(s).toMatchObject({ error: 'Rate limit', isLoading: false });
  expect(s.messages.at(-1)).toMatchObject({ role: 'assistant', failed: true, content: 'Let me search...' });
});

function sse(events: [string, object][]): Response {
  const text = events.map(([id, e]) => `id: ${id}\ndata: ${JSON.stringify(e)}\n\n`).join('');
  return new Response(text, { headers: { 'parley-thread': 't_1', 'content-type': 'text/event-stream' } });
}

test('a broken stream goes on where it was, without a lost or doubled word', async () => {
  const asked: string[] = [];
  const fetch = (async (url: string, init: RequestInit) => {
    asked.push(`${init.method} ${url}`);
    if (asked.length === 1)
      return sse([
        ['1.0', { type: 'text_delta', text: 'One ' }],
        ['1.4', { type: 'text_delta', text: 'two ' }],
      ]);
    return sse([
      ['1.8', { type: 'text_delta', text: 'three.' }],
      ['2.0', { type: 'complete', payload: { message: 'One two three.' } }],
    ]);
  }) as unknown as typeof globalThis.fetch;
  const chat = new GeneralChat({ fetch });
  await chat.sendMessage('count');
  expect(asked).toEqual(['POST /v1/chat/stream', 'GET /v1/threads/t_1/events?after=1.4']);
  expect(chat.get().messages.at(-1)?.content).toBe('One two three.');
});

test('after a gate the same message goes on', async () => {
  const bodies: unknown[] = [];
  const fetch = (async (_: string, init: RequestInit) => {
    bodies.push(JSON.parse(String(init.body)));
    if (bodies.length === 1)
      return sse([
        [
          '1.0',
          {
            type: 'tool_confirmation',
            confirmation_id: 'confirmation-c1',
            tool: 'pay',
            tool_use_id: 'c1',
            input: { amount: 50 },
            ask: 'Send 50?',
          },
        ],
        ['2.0', { type: 'complete', payload: { message: '', run_id: 'r', awaiting: ['confirmation-c1'] } }],
      ]);
    return sse([
      ['3.0', { type: 'tool_start', tool: 'pay', tool_use_id: 'c1', input: {} }],
      ['4.0', { type: 'complete', payload: { message: '[[tool:0]]\n\nPaid.', run_id: 'r' } }],
    ]);
  }) as unknown as typeof globalThis.fetch;
  const chat = new GeneralChat({ fetch });
  await chat.sendMessage('pay');
  expect(chat.get().pending).toHaveLength(1);
  await chat.decide('confirmation-c1', true);
  expect(bodies[1]).toMatchObject({ thread_id: 't_1', action: { action: 'approve', data: { confirmation_id: 'confirmation-c1' } } });
  expect(chat.get().messages).toHaveLength(2);
  expect(chat.get().messages[1]).toMatchObject({ content: '[[tool:0]]\n\nPaid.', awaiting: [] });
  expect(chat.get().pending).toEqual([]);
});
