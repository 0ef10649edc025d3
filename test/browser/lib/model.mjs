// A model with a script: an OpenAI-compatible server that says exactly what a test wants.
// With `hold`, or from `hold()` on, it stops in the middle (or at the part `at`) of an answer until `release()`.
import http from 'node:http';

/** `turns`: what to answer to each request in order; the last one repeats. A string is text, an object `{text?, calls:[{name, arguments}], stop?}` (arguments: a value, or JSON as text) or `{fail: status}`. */
export class Model {
  constructor(turns, { pieces = 1, pause_ms = 0, hold = false, at = 0.5 } = {}) {
    this.turns = turns;
    this.pieces = pieces;
    this.pause_ms = pause_ms;
    this.at = at;
    this.asked = 0;
    this.heard = []; // what it was sent, request by request
    if (hold) this.hold();
    this.times = [];
    this.server = http.createServer((q, r) => this.answer(q, r));
  }

  hold() {
    this.held = new Promise((free) => (this.release = free));
  }

  async start() {
    await new Promise((done) => this.server.listen(0, '127.0.0.1', done));
    return this;
  }

  get config() {
    return { provider: 'openai', model: 'qwen3-32b', api_key: 'text:none', base_url: `http://127.0.0.1:${this.server.address().port}/v1` };
  }

  async answer(request, response) {
    let body = '';
    for await (const bytes of request) body += bytes;
    this.heard.push(body);
    this.times.push(Date.now());
    const turn = this.turns[Math.min(this.asked++, this.turns.length - 1)];
    const { text = '', calls = [], fail, stop = 'stop' } = typeof turn === 'string' ? { text: turn } : turn;
    if (fail) return response.writeHead(fail, { 'content-type': 'application/json' }).end('{"error":{"message":"No."}}');
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const send = (delta, finish_reason = null) =>
      response.write(
        `data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason }] })}\n\n`,
      );
    send({ role: 'assistant', content: '' });
    const words = text.match(/\s*\S+\s*/g) ?? [];
    for (let i = 0; i < words.length; i += this.pieces) {
      if (response.destroyed) return;
      if (this.held && i >= words.length * this.at) await this.held;
      send({ content: words.slice(i, i + this.pieces).join('') });
      if (this.pause_ms) await new Promise((done) => setTimeout(done, this.pause_ms));
      else if (i % 200 === 0) await new Promise((done) => setImmediate(done));
    }
    calls.forEach((c, index) =>
      send({
        tool_calls: [
          { index, id: `x${this.asked}-${index}`, type: 'function', function: { name: c.name, arguments: typeof c.arguments === 'string' ? c.arguments : JSON.stringify(c.arguments) } },
        ],
      }),
    );
    send({}, calls.length ? 'tool_calls' : stop);
    response.end('data: [DONE]\n\n');
  }

  close() {
    this.server.closeAllConnections();
    this.server.close();
  }
}
