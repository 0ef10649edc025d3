// What the reducer promises, told with small conversations.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { decodeChunk } from './chunks';
import { parseTyped, type ThreadEvent } from './events';
import { hydrate, prepend, type StoredThread } from './history';
import { reduce, reduceAll } from './reducer';
import { callsOf, emptyThread, readVersion, self, textOf, type Message, type ThreadState } from './state';

const search: ThreadEvent[] = [
  { type: 'user_message', id: 'u1', text: 'Find articles about CRISPR', send: 'sent' },
  { type: 'status', message: 'Thinking...' },
  { type: 'text_delta', text: 'Let me search for that...' },
  { type: 'intent_confirmation', message: "I'll search for articles about CRISPR...", tool: 'search_articles', tool_use_id: 'c1' },
  { type: 'tool_start', tool: 'search_articles', input: { query: 'CRISPR' }, tool_use_id: 'c1', at: 1000 },
  {
    type: 'tool_progress',
    tool: 'search_articles',
    stage: 'searching',
    message: 'Found 15 articles...',
    progress: 0.5,
    data: null,
    tool_use_id: 'c1',
  },
  { type: 'tool_complete', tool: 'search_articles', index: 0, tool_use_id: 'c1', ok: true, at: 1412 },
  { type: 'text_delta', text: '\n\n[[tool:0]]\n\n' },
  { type: 'text_delta', text: 'I found 5 relevant articles.' },
  {
    type: 'complete',
    payload: {
      message: 'Let me search for that...\n\n[[tool:0]]\n\nI found 5 relevant articles.',
      tool_history: [
        { tool_name: 'search_articles', input: { query: 'CRISPR' }, output: 'Found 5 articles: …', tool_use_id: 'c1', ok: true, ms: 412 },
      ],
      suggested_values: [{ label: 'Yes, proceed', value: 'yes' }],
    },
  },
];

function run(events: ThreadEvent[]): ThreadState {
  return reduceAll(emptyThread, events);
}

function last(s: ThreadState): Message {
  return s.open ?? s.messages.at(-1)!;
}

/* One delta per character: nothing may depend on how text was cut. */
function splitDeltas(events: ThreadEvent[]): ThreadEvent[] {
  return events.flatMap((e): ThreadEvent[] =>
    e.type === 'text_delta' || e.type === 'part_text' ? [...e.text].map((text) => ({ ...e, text })) : [e],
  );
}

test('a turn with a tool becomes text, card, text', () => {
  const m = last(run(search));
  expect(m.parts.map((p) => p.type)).toEqual(['text', 'call', 'text']);
  expect(callsOf(m)[0]).toMatchObject({ name: 'search_articles', status: 'done', index: 0, ms: 412, output: 'Found 5 articles: …' });
  expect(m.payload?.suggestedValues).toHaveLength(1);
  expect(m.status).toBe('done');
});

test('the concatenated deltas are the payload message', () => {
  expect(last(run(search)).raw).toBe('Let me search for that...\n\n[[tool:0]]\n\nI found 5 relevant articles.');
});

test('cut at every character, the state is the same', () => {
  expect(run(splitDeltas(search))).toEqual(run(search));
});

test('no marker is visible after any event, however the text is cut', () => {
  let s = emptyThread;
  for (const e of splitDeltas(search)) {
    s = reduce(s, e);
    expect(JSON.stringify(last(s).parts)).not.toMatch(/\[\[|\[\[?t/);
  }
});

test('the reducer does not change the state it was given', () => {
  let s = emptyThread;
  for (const e of search) {
    const before = structuredClone(s);
    const next = reduce(s, e);
    expect(s).toEqual(before);
    s = next;
  }
});

test('a token leaves finished messages untouched', () => {
  const done = run(search);
  const more = reduceAll(done, [
    { type: 'user_message', id: 'u2', text: 'more', send: 'sent' },
    { type: 'text_delta', text: 'a' },
  ]);
  const after = reduce(more, { type: 'text_delta', text: 'b' });
  expect(after.messages).toBe(more.messages);
});

test('an unknown event changes nothing', () => {
  const s = run(search.slice(0, 4));
  expect(reduce(s, parseTyped({ type: 'from_the_future', x: 1 }))).toBe(s);
  expect(reduce(s, parseTyped({ type: 'text_delta' }))).toBe(s);
  expect(reduce(s, parseTyped(17))).toBe(s);
});

test('a lost delta is repaired by the payload', () => {
  const gap = search.filter((e) => !(e.type === 'text_delta' && e.text.startsWith('I found')));
  expect(textOf(last(run(gap)))).toBe(textOf(last(run(search))));
});

test('an error keeps what was said', () => {
  const s = run([...search.slice(0, 3), { type: 'error', message: 'API rate limit exceeded', retryable: true }]);
  expect(last(s)).toMatchObject({ status: 'failed', error: { message: 'API rate limit exceeded' } });
  expect(textOf(last(s))).toBe('Let me search for that...');
});

test('a stop keeps what was said and cancels what ran', () => {
  const s = run([...search.slice(0, 6), { type: 'cancelled' }]);
  expect(last(s).status).toBe('stopped');
  expect(callsOf(last(s))[0]!.status).toBe('cancelled');
  expect(s.open).toBeNull();
});

test('step_reset puts back the text before the lost step and keeps the cards', () => {
  const s = run([
    ...search.slice(0, 9),
    { type: 'step_reset', message: 'Let me search for that...\n\n[[tool:0]]\n\n' },
    { type: 'text_delta', text: 'I found six.' },
  ]);
  expect(textOf(last(s))).toBe('Let me search for that...\n\nI found six.');
  expect(callsOf(last(s))).toHaveLength(1);
});

/* ---- approvals ---- */

const gate: ThreadEvent[] = [
  { type: 'user_message', id: 'u1', text: 'Send 50 dollars to Hanako', send: 'sent' },
  { type: 'intent_confirmation', message: "I'll send 50 USD to Hanako...", tool: 'process_payment', tool_use_id: 'c1' },
  {
    type: 'tool_confirmation',
    confirmation_id: 'confirmation-c1',
    tool: 'process_payment',
    tool_use_id: 'c1',
    input: { amount: 50 },
    ask: 'Send 50 USD to Hanako?',
    risk: 'high',
    expires_at: '2030-01-01T00:00:00Z',
  },
  {
    type: 'complete',
    payload: {
      message: '',
      awaiting: ['confirmation-c1'],
      suggested_actions: [{ label: 'Approve', action: 'approve', handler: 'server' }],
    },
  },
];

test('a gate parks the message with its question', () => {
  const s = run(gate);
  expect(s.open?.status).toBe('parked');
  expect(callsOf(s.open!)[0]).toMatchObject({
    status: 'asking',
    approval: { status: 'pending', ask: 'Send 50 USD to Hanako?', risk: 'high' },
  });
  expect(s.open?.payload?.suggestedActions).toEqual([]);
});

test('approved, the same message goes on', () => {
  const s = run([
    ...gate,
    { type: 'decision', id: 'confirmation-c1', state: 'sending', confirmed: true },
    { type: 'tool_start', tool: 'process_payment', input: { amount: 50 }, tool_use_id: 'c1', at: 5 },
    { type: 'tool_complete', tool: 'process_payment', index: 0, tool_use_id: 'c1', ok: true, at: 9 },
    { type: 'text_delta', text: '[[tool:0]]\n\nPaid.' },
    { type: 'complete', payload: { message: '[[tool:0]]\n\nPaid.' } },
  ]);
  expect(s.messages).toHaveLength(2);
  expect(callsOf(last(s))[0]).toMatchObject({ status: 'done', approval: { status: 'approved', decidedBy: self } });
});

test('denied elsewhere, the card closes by itself', () => {
  const s = run([...gate, { type: 'tool_complete', tool: 'process_payment', index: 0, tool_use_id: 'c1', ok: false }]);
  expect(callsOf(last(s))[0]).toMatchObject({ status: 'denied', approval: { status: 'denied' } });
});

test('a record of the server wins over a guess', () => {
  const s = run([
    ...gate,
    { type: 'tool_complete', tool: 'process_payment', index: 0, tool_use_id: 'c1', ok: false },
    { type: 'approval', record: { id: 'confirmation-c1', status: 'expired', decided_by: null } },
  ]);
  expect(callsOf(last(s))[0]!.status).toBe('expired');
});

test('a decision that failed leaves the gate open and says why', () => {
  const s = run([
    ...gate,
    { type: 'decision', id: 'confirmation-c1', state: 'sending', confirmed: true },
    { type: 'decision', id: 'confirmation-c1', state: 'failed', confirmed: true, error: 'No connection' },
  ]);
  expect(callsOf(last(s))[0]).toMatchObject({ status: 'asking', approval: { status: 'pending', error: 'No connection' } });
  expect(callsOf(last(s))[0]!.approval).not.toHaveProperty('sending');
});

test('a client tool is offered at the end of its stream, not before', () => {
  const chunks = [
    { type: 'start', messageId: 'm1' },
    { type: 'start-step' },
    { type: 'tool-input-available', toolCallId: 'c1', toolName: 'change_bgm', input: { track: 1 } },
  ];
  const before = run(chunks.flatMap(decodeChunk));
  expect(callsOf(last(before))[0]!.status).toBe('preparing');
  const after = reduce(before, { type: 'turn_end' });
  expect(callsOf(last(after))[0]!.status).toBe('offered');
  expect(after.open?.status).toBe('parked');
});

/* ---- AI SDK chunks ---- */

const nativeGate = [
  { type: 'start', messageId: 'm1' },
  { type: 'start-step' },
  { type: 'tool-input-start', toolCallId: 'c1', toolName: 'process_payment' },
  { type: 'tool-input-delta', toolCallId: 'c1', inputTextDelta: '{"amount":' },
  { type: 'data-intent', data: { toolCallId: 'c1', toolName: 'process_payment', message: "I'll send 50…" }, transient: true },
  { type: 'tool-input-available', toolCallId: 'c1', toolName: 'process_payment', input: { amount: 50 } },
  { type: 'tool-approval-request', approvalId: 'confirmation-c1', toolCallId: 'c1' },
  { type: 'finish-step' },
  { type: 'finish', finishReason: 'tool-calls' },
];
const nativeYes = [
  { type: 'start', messageId: 'm1' },
  { type: 'tool-output-available', toolCallId: 'c1', output: { receipt: 'r' } },
  { type: 'start-step' },
  { type: 'text-start', id: 't1' },
  { type: 'text-delta', id: 't1', delta: 'Paid.' },
  { type: 'text-end', id: 't1' },
  { type: 'finish-step' },
  { type: 'finish' },
];
const adkGate = [
  { type: 'start', messageId: 'm1' },
  { type: 'start-step' },
  { type: 'data-intent', data: { toolCallId: 'c1', toolName: 'process_payment', message: "I'll send 50…" }, transient: true },
  { type: 'tool-input-start', toolCallId: 'confirmation-c1', toolName: 'adk_request_confirmation' },
  {
    type: 'tool-input-available',
    toolCallId: 'confirmation-c1',
    toolName: 'adk_request_confirmation',
    input: {
      originalFunctionCall: { id: 'c1', name: 'process_payment', args: { amount: 50 } },
      toolConfirmation: { hint: 'Send 50?', confirmed: false },
      risk: 'high',
    },
  },
  { type: 'finish-step' },
  { type: 'finish' },
];
const adkYes = [
  { type: 'start', messageId: 'm1' },
  { type: 'start-step' },
  { type: 'tool-input-available', toolCallId: 'c1', toolName: 'process_payment', input: { amount: 50 }, providerExecuted: true },
  { type: 'tool-output-available', toolCallId: 'c1', output: { receipt: 'r' }, providerExecuted: true },
  { type: 'finish-step' },
  { type: 'start-step' },
  { type: 'text-start', id: 't1' },
  { type: 'text-delta', id: 't1', delta: 'Paid.' },
  { type: 'text-end', id: 't1' },
  { type: 'finish-step' },
  { type: 'finish' },
];

function turns(...streams: object[][]): ThreadState {
  return run(streams.flatMap((s) => [...s.flatMap(decodeChunk), { type: 'turn_end' as const }]));
}

test('native and adk form end in the same card and words', () => {
  for (const s of [turns(nativeGate, nativeYes), turns(adkGate, adkYes)]) {
    expect(s.messages).toHaveLength(1);
    expect(last(s).parts.map((p) => p.type)).toEqual(['call', 'text']);
    expect(callsOf(last(s))[0]).toMatchObject({
      id: 'c1',
      name: 'process_payment',
      status: 'done',
      output: { receipt: 'r' },
      approval: { id: 'confirmation-c1', status: 'approved' },
    });
  }
});

test('both forms wait at the gate with the arguments shown', () => {
  for (const s of [turns(nativeGate), turns(adkGate)]) {
    expect(s.open?.status).toBe('parked');
    expect(callsOf(s.open!)[0]).toMatchObject({ status: 'asking', input: { amount: 50 } });
  }
});

test('a refusal in the adk form is a denial, not a failure', () => {
  const no = [
    adkYes[0]!,
    adkYes[1]!,
    adkYes[2]!,
    { type: 'tool-output-error', toolCallId: 'c1', errorText: 'User denied execution' },
    ...adkYes.slice(4),
  ];
  expect(callsOf(last(turns(adkGate, no)))[0]!.status).toBe('denied');
});

test('a replay of the whole message while it is told doubles nothing', () => {
  const half = adkYes.slice(0, 8);
  const s = run([
    ...adkGate.flatMap(decodeChunk),
    { type: 'turn_end' },
    ...half.flatMap(decodeChunk),
    { type: 'message_start', message_id: 'm1', replay: true },
    ...[...adkGate.slice(1, -1), ...adkYes.slice(1)].flatMap(decodeChunk),
    { type: 'turn_end' },
  ]);
  expect(textOf(last(s))).toBe('Paid.');
  expect(callsOf(last(s))).toHaveLength(1);
  expect(s.messages).toHaveLength(1);
});

test('what was said stays on the screen while it is told once more', () => {
  let s = run([...adkGate.flatMap(decodeChunk), { type: 'turn_end' }, ...adkYes.slice(0, 8).flatMap(decodeChunk)]);
  const replay: ThreadEvent[] = [
    { type: 'message_start', message_id: 'm1', replay: true },
    ...[...adkGate.slice(1, -1), ...adkYes.slice(1, 7)].flatMap(decodeChunk),
    { type: 'part_text', part: 't1', text: 'Pa' },
    { type: 'part_text', part: 't1', text: 'id. And more.' },
  ];
  for (const e of replay) {
    s = reduce(s, e);
    expect(textOf(last(s))).toMatch(/^Paid\./);
    expect(callsOf(last(s))).toMatchObject([{ status: 'done' }]);
  }
  expect(textOf(last(s))).toBe('Paid. And more.');
  expect(s.again).toBeNull();
});

test('a tool that asks in the middle of its work waits for the answer, also after the yes to its call', () => {
  const asks = { type: 'data-question', data: { id: 'confirmation-c-2', toolCallId: 'c', message: 'Connect?', schema: {} }, transient: true };
  const chunks = [
    { type: 'start', messageId: 'm' },
    { type: 'tool-input-available', toolCallId: 'c', toolName: 'mail', input: {}, providerExecuted: true },
    asks,
  ];
  const waits = run(chunks.flatMap(decodeChunk));
  expect(callsOf(waits.open!)).toMatchObject([{ status: 'asking', approval: { id: 'confirmation-c-2', ask: 'Connect?', status: 'pending' } }]);
  const yes: ThreadEvent = { type: 'approval', record: { id: 'confirmation-c-2', status: 'approved', decided_by: 'ada' } };
  const goesOn = [yes, ...decodeChunk(asks)].reduce(reduce, waits);
  expect(callsOf(goesOn.open!)).toMatchObject([{ status: 'running', approval: { status: 'approved' } }]);
  const gated = run([
    ...decodeChunk(chunks[0]),
    { type: 'tool_confirmation', confirmation_id: 'confirmation-c', tool: 'mail', tool_use_id: 'c', input: {} },
    { type: 'approval', record: { id: 'confirmation-c', status: 'approved', decided_by: 'ada' } },
    ...decodeChunk(asks),
  ]);
  expect(callsOf(gated.open!)).toMatchObject([{ status: 'asking', approval: { id: 'confirmation-c-2', status: 'pending' } }]);
  expect(callsOf(gated.open!)[0]!.approval!.decidedBy).toBeUndefined();
});

test('a preliminary output is progress', () => {
  const s = run(
    [
      { type: 'start', messageId: 'm' },
      { type: 'tool-input-available', toolCallId: 'c', toolName: 'search', input: {}, providerExecuted: true },
      {
        type: 'tool-output-available',
        toolCallId: 'c',
        output: { stage: 'searching', progress: 0.5 },
        preliminary: true,
        providerExecuted: true,
      },
    ].flatMap(decodeChunk),
  );
  expect(callsOf(last(s))[0]).toMatchObject({ status: 'running', progress: { value: 0.5, stage: 'searching' } });
});

/* ---- history ---- */

const stored: StoredThread = {
  id: 't',
  title: 'Pay',
  state: 'waiting',
  seq: 4,
  messages: [
    { id: 'u1', role: 'user', parts: [{ type: 'text', text: 'Send 50' }] },
    { id: 'u1b', role: 'user', parts: [{ type: 'text', text: '' }] },
    {
      id: 'm1',
      role: 'assistant',
      parts: [
        { type: 'step-start' },
        {
          type: 'tool-process_payment',
          toolCallId: 'c1',
          state: 'approval-requested',
          input: { amount: 50 },
          approval: { id: 'confirmation-c1' },
        },
      ],
    },
  ],
  pending: [
    {
      id: 'confirmation-c1',
      tool: 'process_payment',
      tool_use_id: 'c1',
      input: { amount: 50 },
      ask: 'Send 50 USD?',
      risk: 'high',
      expires_at: null,
    },
  ],
};

test('a reloaded page gets its buttons back, and no empty "You"', () => {
  const s = hydrate(emptyThread, stored);
  expect(s.messages.map((m) => m.id)).toEqual(['u1']);
  expect(s.open?.status).toBe('parked');
  expect(callsOf(s.open!)[0]).toMatchObject({ status: 'asking', approval: { ask: 'Send 50 USD?', status: 'pending' } });
});

test('a message that the server refused does not take the request away', () => {
  const refused = reduceAll(hydrate(emptyThread, stored), [
    { type: 'user_message', id: 'u2', text: 'And the weather?', send: 'sending' },
    { type: 'send_state', id: 'u2', send: 'failed', error: 'A decision is waiting.' },
  ]);
  const s = hydrate(refused, stored);
  const asked = s.open!;
  expect(asked.status).toBe('parked');
  expect(callsOf(asked)[0]).toMatchObject({ status: 'asking', approval: { status: 'pending' } });
  expect(s.messages).toMatchObject([{ id: 'u1' }, { id: 'u2', send: 'failed' }]);
  // Answered, it stands before what was not sent; sent after all, that comes after it.
  const answered = reduceAll(s, [
    { type: 'message_start', message_id: asked.id },
    { type: 'tool_denied', tool_use_id: 'c1' },
    { type: 'turn_end' },
  ]);
  expect(answered.messages.map((m) => m.id)).toEqual(['u1', asked.id, 'u2']);
  const again = reduce(s, { type: 'send_state', id: 'u2', send: 'sending' });
  expect(again.messages.map((m) => m.id)).toEqual(['u1', asked.id, 'u2']);
  expect(again.open).toBe(null);
});

test('loading the same thread again keeps the identity of finished messages', () => {
  const idle: StoredThread = {
    ...stored,
    state: 'idle',
    pending: [],
    messages: [stored.messages[0]!, { id: 'm2', role: 'assistant', parts: [{ type: 'text', text: 'Hi' }] }],
  };
  const once = hydrate(emptyThread, idle);
  const twice = hydrate(once, idle);
  expect(twice.messages[1]).toBe(once.messages[1]);
});

test('while a run goes on, the message being told here is kept', () => {
  const live = run([
    { type: 'user_message', id: 'u1', text: 'Send 50', send: 'sent' },
    ...decodeChunk({ type: 'start', messageId: 'm9' }),
    { type: 'part_text', part: 't', text: 'Wor' },
  ]);
  const s = hydrate(live, { ...stored, state: 'running', pending: [], messages: [stored.messages[0]!] });
  expect(textOf(s.open!)).toBe('Wor');
});

test('loading a thread does not forget a message that is on its way', () => {
  const sent = run([{ type: 'user_message', id: 'u9', text: 'Hello?', send: 'sending', at: 7 }]);
  const s = hydrate(sent, { ...stored, state: 'idle', pending: [], messages: [] });
  expect(s.messages.map((m) => m.id)).toEqual(['u9']);
  expect(s.waitingSince).toBe(7);
});

test('an edited question leaves its old version reachable', () => {
  const done = run(search);
  const s = reduceAll(done, [
    { type: 'cut_from', id: 'u1' },
    { type: 'user_message', id: 'u1', text: 'Find articles about sleep', send: 'sending' },
  ]);
  expect(s.messages.map(textOf)).toEqual(['Find articles about sleep']);
  expect(s.versions.u1![0]!.map((m) => m.role)).toEqual(['user', 'assistant']);
  // The server knows the new question by another id.
  const later = hydrate(s, {
    ...stored,
    state: 'idle',
    pending: [],
    messages: [{ id: 'm7', role: 'user', parts: [{ type: 'text', text: 'Find articles about sleep' }] }],
  });
  expect(later.messages).toMatchObject([{ id: 'm7', key: 'u1' }]);
  expect(later.versions.m7).toHaveLength(1);
});

test('an answer set aside is kept with its question', () => {
  const done = run(search);
  const s = reduce(done, { type: 'cut_from', id: done.messages[1]!.id });
  expect(s.messages).toHaveLength(1);
  expect(s.versions.u1![0]).toEqual(done.messages);
});

/* ---- versions, as the server tells them ---- */

function says(id: string, role: string, text: string) {
  return { id, role, parts: [{ type: 'text', text }] };
}

/* Tokyo was asked, its follow-up edited (Paris -> Rome), then Tokyo itself was edited (-> Lima); Lima was answered twice. */
const edited: StoredThread = {
  id: 't_1',
  title: null,
  state: 'idle',
  seq: 40,
  pending: [],
  messages: [says('lima', 'user', 'Lima?'), says('a5', 'assistant', 'Fog, still.')],
  versions: [
    { of: 'rome', messages: [says('paris', 'user', 'Paris?'), says('a2', 'assistant', 'Rain.')] },
    {
      of: 'lima',
      messages: [
        says('tokyo', 'user', 'Tokyo?'),
        says('a1', 'assistant', 'Sun.'),
        says('rome', 'user', 'Rome?'),
        says('a3', 'assistant', 'Wind.'),
      ],
    },
    { of: 'lima', messages: [says('lima', 'user', 'Lima?'), says('a4', 'assistant', 'Fog.')] },
  ],
};

function reading(s: ThreadState, chosen: Record<string, number>) {
  const { messages, places } = readVersion(s, chosen);
  return messages.map((m) => {
    const place = places.get(m.id);
    return place ? `${textOf(m)} ${place.index + 1}/${place.total}` : textOf(m);
  });
}

test('after a reload every version of a question is there, also one inside another', () => {
  const s = hydrate(emptyThread, edited);
  expect(reading(s, {})).toEqual(['Lima? 3/3', 'Fog, still.']);
  expect(reading(s, { lima: 1 })).toEqual(['Lima? 2/3', 'Fog.']);
  expect(reading(s, { lima: 0 })).toEqual(['Tokyo? 1/3', 'Sun.', 'Rome? 2/2', 'Wind.']);
  expect(reading(s, { lima: 0, rome: 0 })).toEqual(['Tokyo? 1/3', 'Sun.', 'Paris? 1/2', 'Rain.']);
  expect([...readVersion(s, { lima: 0 }).old]).toEqual(['tokyo', 'a1', 'rome', 'a3']);
});

test('loading the same versions again changes nothing for the reader', () => {
  const once = hydrate(emptyThread, edited);
  expect(hydrate(once, edited).versions).toBe(once.versions);
});

test('an earlier version is gone on with, also one inside another, and what stood there is kept', () => {
  const s = hydrate(emptyThread, edited);
  const tokyo = reduce(s, { type: 'go_on', after: 'a3' });
  expect(tokyo.messages.map((m) => m.id)).toEqual(['tokyo', 'a1', 'rome', 'a3']);
  expect(tokyo.versions.tokyo!.map((tail) => tail.map((m) => m.id))).toEqual([['lima', 'a4'], ['lima', 'a5']]);
  const paris = reduce(s, { type: 'go_on', after: 'a2' });
  expect(paris.messages.map((m) => m.id)).toEqual(['tokyo', 'a1', 'paris', 'a2']);
  expect(paris.versions.paris!.map((tail) => tail.map((m) => m.id))).toEqual([['rome', 'a3']]);
  const again = reduce(s, { type: 'go_on', after: 'a4' });
  expect(again.messages.map((m) => m.id)).toEqual(['lima', 'a4']);
  expect(again.versions.lima!.map((tail) => tail.at(-1)!.id)).toEqual(['a3', 'a5']);
  expect(reduce(s, { type: 'go_on', after: 'nobody' })).toBe(s);
});

test('a server that tells no versions leaves those of this page', () => {
  const here = reduce(run(search), { type: 'cut_from', id: 'u1' });
  const s = hydrate(here, { ...stored, state: 'idle', pending: [], messages: [] });
  expect(s.versions).toBe(here.versions);
});

test('a version that is on its way is not forgotten by a load', () => {
  const before = hydrate(emptyThread, { ...edited, messages: [says('q', 'user', 'One?'), says('a', 'assistant', '1.')], versions: [] });
  const sending = reduceAll(before, [
    { type: 'cut_from', id: 'q' },
    { type: 'user_message', id: 'q', text: 'Two?', send: 'sending' },
  ]);
  const s = hydrate(sending, { ...edited, messages: [], versions: [] });
  expect(reading(s, { q: 0 })).toEqual(['One? 1/2', '1.']);
});

/* ---- pages ---- */

const long: StoredThread = { ...edited, messages: [says('q3', 'user', 'Three?'), says('a3', 'assistant', '3.')], earlier: 'q3', versions: [] };
const before: StoredThread = {
  ...edited,
  messages: [says('q2', 'user', 'Two?'), says('a2', 'assistant', '2.')],
  earlier: 'q2',
  versions: [{ of: 'q2', messages: [says('q2', 'user', 'Zwei?')] }],
};
const more: StoredThread = { ...long, messages: [...long.messages, says('q4', 'user', 'Four?'), says('a4', 'assistant', '4.')] };

test('a page of earlier messages stands before those that are here, with its versions', () => {
  const s = prepend(hydrate(emptyThread, long), before);
  expect(s.messages.map((m) => m.id)).toEqual(['q2', 'a2', 'q3', 'a3']);
  expect([s.earlier, Object.keys(s.versions)]).toEqual(['q2', ['q2']]);
  expect(prepend(s, before).messages).toHaveLength(4);
});

test('loading the end again keeps the pages that were loaded, as they are', () => {
  const s = prepend(hydrate(emptyThread, long), before);
  const later = hydrate(s, more);
  expect(later.messages.map((m) => m.id)).toEqual(['q2', 'a2', 'q3', 'a3', 'q4', 'a4']);
  expect(later.messages[0]).toBe(s.messages[0]);
  expect([later.earlier, Object.keys(later.versions)]).toEqual(['q2', ['q2']]);
});

test('an end that does not join what is here takes its place', () => {
  const s = hydrate(hydrate(emptyThread, before), { ...long, earlier: 'q3' });
  expect(s.messages.map((m) => m.id)).toEqual(['q3', 'a3']);
  expect(s.earlier).toBe('q3');
});

/* ---- recorded conversations ---- */

const wire = join(new URL('.', import.meta.url).pathname, '../../../test/wire/typed');

function recorded(): [string, ThreadEvent[]][] {
  let names: string[] = [];
  try {
    names = readdirSync(wire).filter((n) => n.endsWith('.out'));
  } catch {
    return []; // a source archive without the recordings
  }
  return names.map((n) => [n, readEvents(readFileSync(join(wire, n), 'utf8'))]);
}

function readEvents(text: string): ThreadEvent[] {
  return text
    .split(/\r?\n/)
    .filter((line) => line.startsWith('data:'))
    .flatMap((line) => {
      try {
        return [parseTyped(JSON.parse(line.slice(5)))];
      } catch {
        return [];
      }
    });
}

for (const [name, events] of recorded()) {
  test(`recorded ${name}: cut at every character, the same state and no marker seen`, () => {
    const whole = run(events);
    let s = emptyThread;
    for (const e of splitDeltas(events)) {
      s = reduce(s, e);
      const shown = JSON.stringify((s.open ? [...s.messages, s.open] : s.messages).flatMap((m) => m.parts));
      expect(shown).not.toMatch(/(?<!\\)\[\[tool:\d+\]\]/);
    }
    expect(s).toEqual(whole);
  });
}
