// node web/scripts/record.mjs: the documents' conversations, each in all three modes, from the real server (PARLEY_BIN)
// into src/protocol/recorded. A recording is what one tab saw, in order: what came over which wire, and what the tab
// did itself (`did`, an event as the session dispatches it; the socket's word on an answer of ours is kept back by its channel).
// modes.test.ts compares what a person sees.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newFolder, removeFolder } from '../../test/lib/program.mjs';
import { Server, configured } from '../../test/lib/server.mjs';
import { Ws } from '../../test/live/ws.mjs';

const into = join(import.meta.dirname, '../src/protocol/recorded');
const asks = {
  payment: { text: 'Send 50 dollars to Hanako' },
  music: { text: 'Change the BGM to track 1', outcome: { result: { success: true, track: 1, message: 'BGM changed to track 1' } } },
  location: { text: 'Where am I?', outcome: { result: { latitude: 35.68, longitude: 139.76, accuracy_m: 20 } } },
  refused: { text: 'Where am I?', outcome: { error: 'The user refused the permission to read the location.' } },
};
const conversations = [
  ...['payment', 'music', 'location'].flatMap((name) => [
    { ...asks[name], yes: true, name: `${name}-approve` },
    { ...asks[name], yes: false, name: `${name}-deny` },
  ]),
  { ...asks.refused, yes: true, name: 'location-refused-by-the-browser' },
  { text: 'Find articles about CRISPR', name: 'search' },
  { text: 'What is the weather in Tokyo?', name: 'weather' },
  { text: 'Simulate a model error', name: 'error' },
];

class Recording {
  steps = [];

  did(event) {
    this.steps.push({ did: event });
  }

  heard(wire, data, id) {
    this.steps.push({ wire, ...(id ? { id } : {}), data });
  }

  /* The question and the call it is about, as the adk form or the native one tells them. */
  get asked() {
    const adk = this.find((d) => d.toolName === 'adk_request_confirmation' && d.type === 'tool-input-available');
    if (adk) return { id: adk.toolCallId, call: adk.input.originalFunctionCall };
    const native = this.find((d) => d.type === 'tool-approval-request');
    const call = native && this.find((d) => d.type === 'tool-input-available' && d.toolCallId === native.toolCallId);
    return native && { id: native.approvalId, call: { id: call.toolCallId, name: call.toolName, args: call.input } };
  }

  get messageId() {
    return this.find((d) => d.type === 'start').messageId;
  }

  find(which) {
    return this.steps.find((s) => s.data && which(s.data))?.data;
  }
}

const post = (body) => ({ method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });

async function readSse(response, each) {
  let text = '';
  const utf8 = new TextDecoder();
  for await (const bytes of response.body) {
    text += utf8.decode(bytes, { stream: true });
    const blocks = text.split('\n\n');
    text = blocks.pop();
    for (const block of blocks) {
      const data = /^data: (.*)$/m.exec(block)?.[1];
      if (data && each(data === '[DONE]' ? data : JSON.parse(data), /^id: (.*)$/m.exec(block)?.[1])) return;
    }
  }
}

function answered({ id, call }, yes) {
  return { type: 'approval', record: { id, tool_use_id: call.id, status: yes ? 'approved' : 'denied', decided_by: 'you' } };
}

function reported(call, outcome) {
  return 'error' in outcome
    ? { type: 'tool_error', tool_use_id: call.id, message: outcome.error }
    : { type: 'tool_output', tool_use_id: call.id, output: outcome.result };
}

async function overHttp(server, mode, { text, yes, outcome }) {
  const r = new Recording();
  const door = mode === 'direct' ? '/api/chat' : '/stream';
  const thread = `t_${mode}${Math.random().toString(36).slice(2)}`;
  const turn = async (message, accepted) => {
    const response = await fetch(server.url + door, post({ id: thread, messages: [message], trigger: 'submit-message' }));
    accepted();
    await readSse(response, (data, id) => void r.heard(mode, data, id));
  };
  r.did({ type: 'user_message', id: 'u1', text, send: 'sending' });
  await turn({ id: 'u1', role: 'user', parts: [{ type: 'text', text }] }, () => r.did({ type: 'send_state', id: 'u1', send: 'sent' }));
  const ask = r.asked;
  if (!ask) return r.steps;
  r.did({ type: 'decision', id: ask.id, state: 'sending', confirmed: yes });
  const { id: toolCallId, name, args } = ask.call;
  const part =
    mode === 'direct'
      ? { type: `tool-${name}`, toolCallId, state: 'approval-responded', input: args, approval: { id: ask.id, approved: yes } }
      : {
          type: 'tool-adk_request_confirmation',
          toolCallId: ask.id,
          state: 'output-available',
          input: { originalFunctionCall: ask.call, toolConfirmation: { confirmed: false } },
          output: { confirmed: yes },
        };
  await turn({ id: r.messageId, role: 'assistant', parts: [part] }, () => r.did(answered(ask, yes)));
  if (!yes || !outcome) return r.steps;
  // The client tool: what follows is told to whoever follows the thread.
  const { seq } = (await server.get(`/v1/threads/${thread}`)).json;
  const events = await fetch(`${server.url}/v1/threads/${thread}/events?after=${seq}.0`);
  r.did({ type: 'claim', tool_use_id: toolCallId, mine: true });
  await server.post(`/v1/threads/${thread}/results/${toolCallId}`, outcome);
  r.did(reported(ask.call, outcome));
  await readSse(events, (data, id) => (r.heard('events', data, id), data.type === 'complete'));
  return r.steps;
}

async function overSocket(server, { text, yes, outcome }) {
  const r = new Recording();
  const { id: thread } = (await server.post('/v1/threads', {})).json;
  const socket = await Ws.open(null, server, `/live?thread=${thread}`, { protocols: ['parley.json.v1'] });
  const until = async (last) => {
    for (;;) {
      const frame = JSON.parse(await socket.next());
      if (frame.done) r.heard('live', '[DONE]');
      else if (frame.event) r.heard('live', frame.event, frame.id);
      if (last(frame)) return;
    }
  };
  const done = (f) => f.done === true;
  await until((f) => f.type === 'hello');
  r.did({ type: 'user_message', id: 'u1', text, send: 'sending' });
  const message = { id: 'u1', role: 'user', parts: [{ type: 'text', text }] };
  socket.send({ type: 'message', version: '1.0', messages: [message], trigger: 'submit-message' });
  await until((f) => f.event?.type === 'start');
  r.did({ type: 'send_state', id: 'u1', send: 'sent' });
  await until(done);
  const ask = r.asked;
  if (ask) {
    r.did({ type: 'decision', id: ask.id, state: 'sending', confirmed: yes });
    socket.send({ type: 'approval', version: '1.0', id: ask.id, confirmed: yes, answer_id: 'a' });
    await until((f) => f.type === 'ack');
    r.did(answered(ask, yes));
    await until(done);
  }
  if (ask && yes && outcome) {
    r.did({ type: 'claim', tool_use_id: ask.call.id, mine: true });
    socket.send({ type: 'tool_result', version: '1.0', toolCallId: ask.call.id, toolName: ask.call.name, ...outcome });
    await until((f) => f.type === 'ack');
    r.did(reported(ask.call, outcome));
    await until(done);
  }
  socket.drop();
  return r.steps;
}

/* One call, one run, no clock: a recording made again is the same recording. */
function plain(step) {
  return JSON.stringify(step)
    .replace(/\bcall-[\w-]{22}/g, 'call-1')
    .replace(/\b(run|t)_\w[\w-]+/g, '$1_1')
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '2030-01-01T00:00:00Z')
    .replace(/"(ms|timestamp)":\d+/g, '"$1":1');
}

const dir = newFolder();
const server = await new Server({ config: configured(), dir }).start();
try {
  for (const { name, ...c } of conversations) {
    const modes = {};
    for (const mode of ['direct', 'sse']) modes[mode] = await overHttp(server, mode, c);
    modes.bidi = await overSocket(server, c);
    const lines = Object.entries(modes).map(([mode, steps]) => `"${mode}":[\n${steps.map(plain).join(',\n')}\n]`);
    writeFileSync(join(into, `${name}.json`), `{${lines.join(',\n')}}\n`);
    console.log(name, Object.values(modes).map((s) => s.length).join(' '));
  }
} finally {
  await server.kill();
  removeFolder(dir);
}
