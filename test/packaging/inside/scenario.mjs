// Runs inside a booted root, beside parley.service: plays a model that calls the tool it is told to, has each kind of tool
// called through the running server, and writes what came of it to /run/outcome.json.
import fs from 'node:fs';
import http from 'node:http';
import { execFileSync } from 'node:child_process';

const sh = (line) => { try { return execFileSync('sh', ['-c', line + ' 2>&1'], { encoding: 'utf8' }).trim(); } catch (e) { return `${e.stdout ?? ''} (status ${e.status})`; } };

// "call NAME {arguments}" is answered by that call; its result by "done".
const model = http.createServer(async (req, res) => {
    let body = '';
    for await (const chunk of req) body += chunk;
    const { messages } = JSON.parse(body), last = messages.at(-1);
    const wish = last.role === 'user' && /call (\S+) (\{.*\})/.exec(JSON.stringify(last.content).replaceAll('\\"', '"'));
    const delta = wish ? { tool_calls: [{ index: 0, id: `c${Date.now()}`, type: 'function', function: { name: wish[1], arguments: wish[2] } }] } : { content: 'done' };
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const choice of [{ delta: { role: 'assistant', ...delta } }, { delta: {}, finish_reason: wish ? 'tool_calls' : 'stop' }])
        res.write(`data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', choices: [{ index: 0, ...choice }] })}\n\n`);
    res.end('data: [DONE]\n\n');
});
await new Promise((yes) => model.listen(9000, '127.0.0.1', yes));

const URL_ = 'http://127.0.0.1:8000';
// Until the server answers, or is seen to have given up.
async function ready() {
    for (let i = 0; i < 300 && sh('systemctl is-failed parley') !== 'failed'; i++) {
        try { if ((await fetch(`${URL_}/readyz`)).status === 200) return; } catch {}
        await new Promise((r) => setTimeout(r, 200));
    }
}
await ready();

async function call(tool, input) {
    try {
        const answer = await fetch(`${URL_}/v1/chat/stream`, { method: 'POST', headers: { authorization: `Bearer ${process.env.PARLEY_TOKEN}` }, body: JSON.stringify({ message: `call ${tool} ${JSON.stringify(input)}` }), signal: AbortSignal.timeout(60000) });
        const text = await answer.text();
        const events = text.split('\n').filter((l) => l.startsWith('data: {')).map((l) => JSON.parse(l.slice(6)));
        const end = events.find((e) => e.type === 'complete')?.payload.tool_history?.[0];
        return end ? { outcome: end.outcome, output: end.output, note: end.note } : text.slice(0, 2000);
    } catch (e) { return String(e.cause ?? e); }
}

const outcome = { calls: {} };
for (const [tool, input] of [['shell', {}], ['node', { n: 21 }], ['inside__square', { n: 12 }]]) outcome.calls[tool] = await call(tool, input);
outcome.health = sh('parley health || parley-server health');
outcome.page = (await fetch(URL_).then((r) => r.text(), String)).slice(0, 200);
outcome.main = sh('systemctl show parley -p MainPID --value');
outcome.status = sh('grep -E "^(NoNewPrivs|Seccomp|CapBnd|Uid)" /proc/$(systemctl show parley -p MainPID --value)/status');
outcome.state = sh('stat -c "%U %a" /var/lib/parley; stat -c "%U %a" /var/lib/parley/parley.db');
outcome.log = sh('journalctl -u parley --no-pager -o cat | tail -n 60');
// What docs/operations.md says for commands beside the service: as its user, with its secrets.
const asService = (command) => sh(`systemd-run --quiet --pipe --wait -p User=parley -p EnvironmentFile=/etc/parley/environment ${command} --config /etc/parley/parley.json`);
outcome.check = asService('parley check');
outcome.backup = asService('parley backup /var/lib/parley/backup.db');
sh('systemctl kill -s KILL parley');
await ready();
outcome.again = await call('shell', {});
outcome.which = sh('command -v parley; readlink -f "$(command -v parley)"; id parley');
sh('systemctl stop parley');
outcome.stopped = sh('systemctl show parley -p Result -p ExecMainStatus');
fs.writeFileSync('/outcome.json', JSON.stringify(outcome, null, 1));
process.exit(0);
