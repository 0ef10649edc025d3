// What `useGeneralChat` gives to those who build their own page: the conversation as a small state, over a server made of a few answers.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import { Api, emptyThread, generalChat, parseTyped, reduce, reduceAll, GeneralChat, type Around, type ThreadEvent } from './index';

const calm: Around = { waiting: false, queue: [], loaded: true, trouble: null, updates: [] };

const search: ThreadEvent[] = [
  { type: 'user_message', id: 'u1', text: 'Find articles', send: 'sent' },
  { type: 'status', message: 'Thinking...' },
  { type: 'text_delta', text: 'Let me search...' },
  { type: 'intent_confirmation', message: "I'll search…", tool: 'search_articles', tool_use_id: 'c1' },
  { type: 'tool_start', tool: 'search_articles', input: {}, tool_use_id: 'c1' },
  { type: 'tool_progress', tool: 'search_articles', progress: 0.5 },
];

const at = (events: ThreadEvent[], around: Partial<Around> = {}) => generalChat(reduceAll(emptyThread, events), { ...calm, ...around });

test('the state of the specification, event by event', () => {
  expect(at(search.slice(0, 2), { waiting: true })).toMatchObject({ isLoading: true, statusText: 'Thinking...', streamingText: '' });
  expect(at(search.slice(0, 4))).toMatchObject({ intentText: "I'll search…", streamingText: 'Let me search...' });
  expect(at(search, { updates: [{ value: 0.5 }] })).toMatchObject({
    isLoading: true,
    streamingText: 'Let me search...',
    statusText: 'Running search_articles...',
    activeToolProgress: { toolName: 'search_articles', updates: [{ progress: 0.5 }] },
    intentText: null,
    error: null,
  });
  const end: ThreadEvent[] = [
    { type: 'tool_complete', tool: 'search_articles', index: 0, tool_use_id: 'c1' },
    { type: 'text_delta', text: '\n\n[[tool:0]]\n\nDone.' },
    {
      type: 'complete',
      payload: { message: 'Let me search...\n\n[[tool:0]]\n\nDone.', suggested_values: [{ label: 'a', value: 'b' }] },
    },
  ];
  const s = at([...search, ...end]);
  expect(s).toMatchObject({ isLoading: false, streamingText: '', activeToolProgress: null });
  expect(s.messages[1]).toMatchObject({
    content: 'Let me search...\n\nDone.',
    parts: [{ text: 'Let me search...' }, { type: 'tool', index: 0 }, { text: 'Done.' }],
    toolHistory: [{ tool_name: 'search_articles', ok: true }],
    suggestedValues: [{ label: 'a' }],
  });
});

test('an error is shown and kept as a message', () => {
  const s = at([...search, { type: 'error', message: 'Rate limit' }]);
  expect(s).toMatchObject({ error: 'Rate limit', isLoading: false });
  expect(s.messages.at(-1)).toMatchObject({ role: 'assistant', failed: true, content: 'Let me search...' });
});

test('no marker is ever to be seen, however the recorded streams are cut', () => {
  const folder = join(new URL('.', import.meta.url).pathname, '../../test/wire/typed');
  for (const name of readdirSync(folder).filter((n) => n.endsWith('.out') && !n.includes('escape'))) {
    let s = emptyThread;
    const seen: string[] = [];
    const lines = readFileSync(join(folder, name), 'utf8').split('\n');
    for (const line of lines.filter((l) => l.startsWith('data:'))) {
      const e = parseTyped(JSON.parse(line.slice(5)));
      for (const piece of e.type === 'text_delta' ? [...e.text].map((text) => ({ ...e, text })) : [e]) {
        s = reduce(s, piece);
        const { messages, streamingText } = generalChat(s, calm);
        const shown = JSON.stringify([messages.at(-1)?.parts, streamingText]);
        if (shown.includes('[[tool:')) seen.push(shown);
      }
    }
    expect(seen).toEqual([]);
  }
});

/* ---- over a server ---- */

interface Asked {
  method: string;
  path: string;
  body: Record<string, unknown>;
}

function sse(chunks: object[]): Response {
  const text = [...chunks.map((c) => JSON.stringify(c)), '[DONE]'].map((d) => `data: ${d}\n\n`).join('');
  return new Response(text, { headers: { 'content-type': 'text/event-stream' } });
}

const says = (n: number, text: string) => [
  { type: 'start', messageId: `m${n}` },
  { type: 'text-delta', id: 't', delta: text },
  { type: 'finish' },
];

/* Answers by path; a stream that is followed says nothing and stays open. */
function server(answer: (q: Asked) => Response | Promise<Response> | undefined) {
  const asked: Asked[] = [];
  const fetch = (async (url: string, init: RequestInit = {}) => {
    const q: Asked = { method: init.method ?? 'GET', path: url, body: init.body ? JSON.parse(String(init.body)) : {} };
    asked.push(q);
    const given = await answer(q);
    if (given) return given;
    if (q.path.includes('/events')) return new Response(new ReadableStream());
    if (q.path.startsWith('/v1/approvals')) return Response.json({ approvals: [] });
    return new Response('{}', { status: 404 });
  }) as typeof globalThis.fetch;
  return { fetch, asked };
}

const thread = (messages: object[], more: object = {}) =>
  Response.json({ id: 't_1', title: null, state: 'idle', seq: 9, messages, versions: [], pending: [], ...more });
const text = (id: string, role: string, words: string) => ({ id, role, parts: [{ type: 'text', text: words }] });

let chat: GeneralChat | null = null;
afterEach(() => {
  chat?.close();
  vi.unstubAllGlobals();
});

/* A conversation with a payment that waits, and what is asked of the server besides. */
function paying(answer: (q: Asked) => Response | undefined = () => undefined) {
  const call = { type: 'tool-pay', toolCallId: 'c1', state: 'approval-requested', input: { amount: 50 }, approval: { id: 'confirmation-c1' } };
  const record = { id: 'confirmation-c1', tool: 'pay', tool_use_id: 'c1', input: { amount: 50 }, ask: 'Send 50?', risk: 'high', edit: ['/amount'] };
  return server((q) => {
    const given = answer(q);
    if (given) return given;
    if (q.path.startsWith('/v1/threads/t_1?')) return thread([text('u1', 'user', 'Pay'), { id: 'm1', role: 'assistant', parts: [call] }], { state: 'waiting', pending: [record] });
    return undefined;
  });
}

async function opened(fetch: typeof globalThis.fetch, more: object = {}): Promise<GeneralChat> {
  const it = (chat = new GeneralChat({ fetch, threadId: 't_1', ...more }));
  it.open();
  await vi.waitFor(() => expect(it.get().loaded).toBe(true));
  return it;
}

test('a no goes with its reason, a yes with other arguments where they may be changed', async () => {
  const no = paying();
  const first = await opened(no.fetch);
  void first.decide('confirmation-c1', false, 'too much');
  await vi.waitFor(() => expect(JSON.stringify(no.asked.filter((q) => q.method === 'POST'))).toContain('too much'));
  first.close();
  const yes = paying((q) => (q.method === 'POST' ? Response.json({ id: 'confirmation-c1', status: 'approved' }) : undefined));
  const second = await opened(yes.fetch);
  expect(second.get().pending[0]).toMatchObject({ edit: ['/amount'] });
  void second.decide('confirmation-c1', true, undefined, { amount: 45 });
  await vi.waitFor(() => expect(yes.asked.find((q) => q.method === 'POST')).toMatchObject({ path: '/v1/approvals/confirmation-c1', body: { confirmed: true, input: { amount: 45 } } }));
});

test('an answer that did not arrive is said beside its question, which still waits', async () => {
  let back = false;
  let looked = 0;
  const { fetch } = paying((q) => {
    if (q.path === '/v1/approvals/confirmation-c1' && q.method === 'GET') looked++;
    if (q.method === 'POST' || (q.path === '/v1/approvals/confirmation-c1' && !back)) throw new TypeError('Failed to fetch');
    return q.path === '/v1/approvals/confirmation-c1' ? Response.json({ id: 'confirmation-c1', status: 'pending', tool: 'pay', tool_use_id: 'c1' }) : undefined;
  });
  const it = await opened(fetch);
  void it.decide('confirmation-c1', true);
  await vi.waitFor(() => expect(looked).toBeGreaterThan(1), { timeout: 5000 });
  expect(it.get().pending).toEqual([]); // it may have been taken: nothing to decide until that is known
  back = true;
  await vi.waitFor(() => expect(it.get().pending).toMatchObject([{ error: expect.stringContaining('did not arrive') }]), { timeout: 5000 });
});

test('earlier messages are there when they are asked for', async () => {
  const { fetch } = server((q) => {
    if (q.path.includes('before=u2')) return thread([text('u1', 'user', 'First'), text('m1', 'assistant', 'One.')]);
    return q.path.startsWith('/v1/threads/t_1?') ? thread([text('u2', 'user', 'Second'), text('m2', 'assistant', 'Two.')], { earlier: 'u2' }) : undefined;
  });
  const it = await opened(fetch);
  expect(it.get().hasEarlier).toBe(true);
  await it.loadEarlier();
  expect(it.get().messages.map((m) => m.content)).toEqual(['First', 'One.', 'Second', 'Two.']);
  expect(it.get().hasEarlier).toBe(false);
});

test('what waits can be taken back, what is answered can be stopped, at the server', async () => {
  let begun = false;
  const { fetch, asked } = server((q) => {
    if (q.path === '/stream') begun = true;
    if (q.path === '/stream') return new Response(new ReadableStream({ start: (c) => c.enqueue(new TextEncoder().encode('data: {"type":"start","messageId":"m1"}\n\n')) }), { headers: { 'content-type': 'text/event-stream' } });
    if (q.path.endsWith('/stop')) return Response.json({ stopped: true });
    return q.path.includes('limit') ? thread([]) : undefined;
  });
  const it = await opened(fetch);
  void it.sendMessage('one');
  void it.sendMessage('two');
  await vi.waitFor(() => expect([begun, it.get().queue]).toEqual([true, ['two']]));
  expect(it.unqueue(0)).toBe('two');
  expect(it.get().queue).toEqual([]);
  await vi.waitFor(() => expect(it.get().streaming).not.toBeNull());
  await it.cancel();
  expect(asked.filter((q) => q.path.endsWith('/stop')).map((q) => q.path)).toEqual(['/v1/threads/t_1/stop']);
});

test('an action of the page goes to the page, any other to the server', async () => {
  const { fetch, asked } = server((q) => (q.path.endsWith('/actions') ? Response.json({ run_id: 'r' }) : q.path.includes('limit') ? thread([]) : undefined));
  const heard: string[] = [];
  const it = await opened(fetch, { onClientAction: (a: { action: string }) => heard.push(a.action) });
  await it.runAction({ action: 'close_chat', label: 'Close', handler: 'client' });
  await it.runAction({ action: 'apply', label: 'Apply', handler: 'server', data: { id: 7 } });
  expect(heard).toEqual(['close_chat']);
  expect(asked.filter((q) => q.path.endsWith('/actions')).map((q) => q.body)).toMatchObject([{ action: 'apply', data: { id: 7 } }]);
});

test('a conversation that exists comes with its history and its open question', async () => {
  const call = { type: 'tool-pay', toolCallId: 'c1', state: 'approval-requested', input: { amount: 50 }, approval: { id: 'confirmation-c1' } };
  const pending = [{ id: 'confirmation-c1', tool: 'pay', tool_use_id: 'c1', input: { amount: 50 }, ask: 'Send 50?', risk: 'high' }];
  const { fetch } = server((q) =>
    q.path.startsWith('/v1/threads/t_1?')
      ? thread([text('u1', 'user', 'Pay'), { id: 'm1', role: 'assistant', parts: [call] }], { state: 'waiting', pending })
      : undefined,
  );
  chat = new GeneralChat({ fetch, threadId: 't_1' });
  expect(chat.get().loaded).toBe(false);
  chat.open();
  await vi.waitFor(() => expect(chat!.get().loaded).toBe(true));
  expect(chat.get().messages.map((m) => [m.role, m.content, m.awaiting])).toEqual([
    ['user', 'Pay', []],
    ['assistant', '', ['confirmation-c1']],
  ]);
  expect(chat.get().pending).toMatchObject([{ id: 'confirmation-c1', ask: 'Send 50?', input: { amount: 50 } }]);
});

test('a second message waits for the first answer and is never sent beside it', async () => {
  const turns: { text: string; finish: (r: Response) => void }[] = [];
  const said: object[] = [];
  const { fetch } = server((q) => {
    if (q.path.startsWith('/v1/threads/t_') && q.path.includes('limit')) return thread(said);
    if (q.path !== '/stream') return undefined;
    const { id, parts } = (q.body.messages as { id: string; parts: { text: string }[] }[])[0]!;
    said.push(text(id, 'user', parts[0]!.text));
    return new Promise((finish) => turns.push({ text: parts[0]!.text, finish }));
  });
  const finish = (n: number, words: string) => {
    said.push(text(`m${n}`, 'assistant', words));
    turns[n]!.finish(sse(says(n, words)));
  };
  chat = new GeneralChat({ fetch, page: 'articles' });
  const first = chat.sendMessage('one');
  const second = chat.sendMessage('two');
  await vi.waitFor(() => expect(turns).toHaveLength(1));
  expect(chat.get()).toMatchObject({ isLoading: true, queue: ['two'] });
  finish(0, 'First.');
  await vi.waitFor(() => expect(turns).toHaveLength(2));
  expect(turns[1]!.text).toBe('two');
  finish(1, 'Second.');
  await Promise.all([first, second]);
  expect(chat.get().messages.map((m) => m.content)).toEqual(['one', 'First.', 'two', 'Second.']);
});

test('a tool that is registered runs here, and the answer goes on with its result', async () => {
  const call = { type: 'tool-input-available', toolCallId: 'c1', toolName: 'pick_color', input: { from: 'red' } };
  const { fetch, asked } = server((q) => {
    if (q.path === '/stream') return sse([{ type: 'start', messageId: 'm1' }, call, { type: 'finish' }]);
    if (q.path.includes('/results/')) return Response.json({ accepted: true, duplicate: false });
    if (!q.path.includes('limit')) return undefined;
    const offered = { ...call, type: 'tool-pick_color', state: 'input-available' };
    return thread([text('u1', 'user', 'Pick'), { id: 'm1', role: 'assistant', parts: [offered] }], { state: 'waiting' });
  });
  const tools = { pick_color: async (input: unknown) => ({ picked: (input as { from: string }).from }) };
  chat = new GeneralChat({ fetch, tools });
  void chat.sendMessage('Pick');
  const results = () => asked.filter((q) => q.path.includes('/results/')).map((q) => [q.path.split('/results/')[1], q.body.result]);
  await vi.waitFor(() => expect(results()).toEqual([['c1/claim', undefined], ['c1', { picked: 'red' }]]));
});

test('a server that does not let the page read its answers is told from one that is away, at once and in words', async () => {
  vi.stubGlobal('location', { href: 'https://shop.example/', origin: 'https://shop.example' });
  for (const [there, words] of [
    [true, 'add "https://shop.example" to "page": {"embed"'],
    [false, 'cannot be reached'],
  ] as const) {
    const fetch = (async (_: string, init: RequestInit = {}) => {
      if (init.mode === 'no-cors' && there) return new Response();
      throw new TypeError('Failed to fetch');
    }) as typeof globalThis.fetch;
    chat = new GeneralChat({ fetch, base: 'https://chat.example' });
    void chat.sendMessage('hello');
    await vi.waitFor(() => expect(chat!.get().error).toContain(words), 2000);
    chat.close();
  }
});

test('a key that a callback fetches is asked for once, and again when the server takes it no longer', async () => {
  const keys = ['first', 'second'];
  let good = 'first';
  let asked = 0;
  const used: (string | null)[] = [];
  const fetch = (async (_: string, init: RequestInit = {}) => {
    const key = new Headers(init.headers).get('authorization');
    used.push(key);
    return key === `Bearer ${good}` ? Response.json({ tools: [] }) : Response.json({ error: { code: 'unauthorized', message: 'No.' } }, { status: 401 });
  }) as typeof globalThis.fetch;
  const refused: string[] = [];
  const api = new Api({ fetch, token: async () => keys[asked++] ?? 'none', unauthorized: () => refused.push('401') });
  await Promise.all([api.tools(), api.tools()]);
  await api.tools();
  expect([asked, refused]).toEqual([1, []]);
  good = 'second';
  await api.tools();
  expect([asked, used.at(-1), refused]).toEqual([2, 'Bearer second', []]);
  // What the callback gives is not taken: said once, not tried for ever.
  good = 'third';
  await expect(api.tools()).rejects.toMatchObject({ status: 401 });
  expect([asked, refused]).toEqual([3, ['401']]);
});

test('a callback that fails is a sign-in that is missing, and is asked again', async () => {
  let works = false;
  const fetch = (async () => Response.json({ tools: [] })) as typeof globalThis.fetch;
  const api = new Api({ fetch, token: async () => (works ? 'key' : Promise.reject(new Error('offline'))) });
  await expect(api.tools()).rejects.toMatchObject({ status: 401, message: 'This page could not say who is there.' });
  works = true;
  await expect(api.tools()).resolves.toEqual({ tools: [] });
});
