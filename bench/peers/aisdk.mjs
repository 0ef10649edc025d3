// The AI SDK on Node, as its documentation shows it: streamText, told as a UI message stream.
//     node aisdk.mjs PORT UPSTREAM_PORT
//   POST /api/chat   the upstream's model
//   POST /tool       a model inside the process that calls a tool and then answers, as parley's demo model does
//   POST /approve    the same with a tool that asks first
// The model inside the process costs the SDK no network, as parley's own costs it none. Nothing is stored.
import http from 'node:http';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { convertToModelMessages, isStepCount, pipeUIMessageStreamToResponse, streamText, tool, toUIMessageStream } from 'ai';
import { z } from 'zod';

const [port, upstream] = process.argv.slice(2).map(Number);
const model = createOpenAICompatible({ name: 'mock', apiKey: 'x', baseURL: `http://127.0.0.1:${upstream}/v1` }).chatModel('mock');

/* --- a model that is already there ------------------------------------------------------------ */

const usage = {
  inputTokens: { total: 10, noCache: 10, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 10, text: 10, reasoning: undefined },
};
const say = (text) => [
  { type: 'text-start', id: '1' },
  ...text.split(/(?= )/).map((delta) => ({ type: 'text-delta', id: '1', delta })),
  { type: 'text-end', id: '1' },
];
const finish = (reason) => [{ type: 'finish', finishReason: { unified: reason, raw: reason }, usage }];

let calls = 0;
const call = (toolName, input) => {
  const toolCallId = `call-${++calls}`;
  return [
    { type: 'tool-input-start', id: toolCallId, toolName },
    { type: 'tool-input-delta', id: toolCallId, delta: input },
    { type: 'tool-input-end', id: toolCallId },
    { type: 'tool-call', toolCallId, toolName, input },
  ];
};

// Asked by a person it calls the tool, told the outcome it answers.
const scripted = (before, name, input, after) => ({
  specificationVersion: 'v4', provider: 'bench', modelId: 'scripted', supportedUrls: {},
  async doStream({ prompt }) {
    const told = prompt.at(-1).role === 'tool';
    const parts = [{ type: 'stream-start', warnings: [] },
      ...(told ? [...say(after), ...finish('stop')] : [...say(before), ...call(name, input), ...finish('tool-calls')])];
    return { stream: ReadableStream.from(parts) };
  },
});

const weather = scripted('Let me look at the sky there...', 'get_weather', '{"city":"Tokyo"}',
  'Tokyo: 0 °C, snow showers, wind 4 km/h, humidity 66 %. (The demo makes its weather from the name, so it never changes.)');
const payment = scripted('Let me prepare that payment.', 'process_payment', '{"amount":50,"currency":"USD","recipient":"Hanako"}',
  'Done: 50 USD went to Hanako.');

const tools = {
  get_weather: tool({
    inputSchema: z.object({ city: z.string() }),
    execute: async ({ city }) => ({ city, temperature_c: 0, condition: 'snow showers', wind_kmh: 4, humidity: 66 }),
  }),
  process_payment: tool({
    inputSchema: z.object({ amount: z.number(), currency: z.string(), recipient: z.string() }),
    execute: async ({ amount, currency, recipient }) => ({ paid: true, amount, currency, recipient }),
  }),
};

const doors = {
  '/api/chat': { model },
  '/tool': { model: weather, tools, stopWhen: isStepCount(5) },
  '/approve': { model: payment, tools, stopWhen: isStepCount(5), toolApproval: { process_payment: 'user-approval' } },
};

/* --- the server ------------------------------------------------------------------------------------ */

async function chat(door, body, response) {
  const { messages } = JSON.parse(body);
  const { stream } = streamText({ ...door, messages: await convertToModelMessages(messages) });
  await pipeUIMessageStreamToResponse({ response, stream: toUIMessageStream({ stream, originalMessages: messages }) });
}

http.createServer({ noDelay: true, keepAliveTimeout: 600_000, requestTimeout: 0 }, (request, response) => {
  if (request.method === 'GET') { // held open, nothing to say
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    return response.flushHeaders();
  }
  const parts = [];
  request.on('data', (part) => parts.push(part)).on('end', () => {
    chat(doors[request.url] ?? doors['/api/chat'], Buffer.concat(parts).toString(), response)
      .catch((e) => { console.error(e); response.destroy(); });
  });
}).listen({ port, host: '127.0.0.1', backlog: 8192 });
