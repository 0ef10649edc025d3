// model.mjs -- a model that does as it is told: "call NAME {arguments}" is answered by that call, its result by "done".
// Serves OpenAI's form at 127.0.0.1; gives the port.
import http from 'node:http';

const wished = (last) => last.role === 'user' && /call (\S+) (\{.*\})/.exec(JSON.stringify(last.content).replaceAll('\\"', '"'));

export async function serveModel(port = 0) {
    const model = http.createServer(async (req, res) => {
        let body = '';
        for await (const chunk of req) body += chunk;
        const asked = JSON.parse(body), wish = wished(asked.messages.at(-1));
        const offered = (asked.tools ?? []).some((t) => t.function.name === wish?.[1]);
        const call = wish && offered && { index: 0, id: `c${Date.now()}`, type: 'function', function: { name: wish[1], arguments: wish[2] } };
        const delta = call ? { tool_calls: [call] } : { content: wish ? `I know no ${wish[1]}.` : 'done' };
        res.writeHead(200, { 'content-type': 'text/event-stream' });
        for (const choice of [{ delta: { role: 'assistant', ...delta } }, { delta: {}, finish_reason: call ? 'tool_calls' : 'stop' }])
            res.write(`data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', choices: [{ index: 0, ...choice }] })}\n\n`);
        res.end('data: [DONE]\n\n');
    });
    await new Promise((yes) => model.listen(port, '127.0.0.1', yes));
    return { port: model.address().port, close: () => { model.close(); model.closeAllConnections(); } };
}
