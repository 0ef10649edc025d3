// A plain Node relay: reads each event of the upstream as JSON, writes it as one event for the client, and
// nothing else. What a careful person writes by hand without a framework.
//     node relay.mjs PORT UPSTREAM_PORT
import http from 'node:http';

const [port, upstream] = process.argv.slice(2).map(Number);
const agent = new http.Agent({ keepAlive: true, maxFreeSockets: 8192, noDelay: true });
const up = { host: '127.0.0.1', port: upstream, path: '/v1/chat/completions', method: 'POST', agent };

const event = (value) => `data: ${JSON.stringify(value)}\n\n`;

function encode(line) {
  if (!line.startsWith('data: ')) return '';
  if (line === 'data: [DONE]') return 'data: [DONE]\n\n';
  const { delta, finish_reason: reason } = JSON.parse(line.slice(6)).choices[0];
  if (delta.content) return event({ type: 'text-delta', id: 't1', delta: delta.content });
  return reason ? event({ type: 'finish', finishReason: reason }) : '';
}

function relay(body, answer) {
  const headers = { 'content-type': 'application/json', 'content-length': body.length };
  const question = http.request({ ...up, headers }, (stream) => {
    let rest = '';
    stream.setEncoding('utf8');
    stream.on('data', (text) => {
      const lines = (rest + text).split('\n');
      rest = lines.pop();
      const out = lines.map(encode).join('');
      if (out) answer.write(out);
    });
    stream.on('end', () => answer.end());
  });
  question.on('error', () => answer.destroy());
  answer.on('close', () => answer.writableFinished || question.destroy());
  question.end(body);
}

http.createServer({ noDelay: true, keepAliveTimeout: 600_000, requestTimeout: 0 }, (request, answer) => {
  answer.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  if (request.method === 'GET') return answer.flushHeaders(); // held open, nothing to say
  const parts = [];
  request.on('data', (part) => parts.push(part)).on('end', () => relay(Buffer.concat(parts), answer));
}).listen({ port, host: '127.0.0.1', backlog: 8192 });
