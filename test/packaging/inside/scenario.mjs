// Runs inside a booted root, beside parley.service: plays a model that calls the tool it is told to, has each kind of tool
// called through the running server, and writes what came of it to /outcome.json.
import fs from 'node:fs';
import { execFileSync } from 'node:child_process';
import { serveModel } from './model.mjs';

const sh = (line) => { try { return execFileSync('sh', ['-c', line + ' 2>&1'], { encoding: 'utf8' }).trim(); } catch (e) { return `${e.stdout ?? ''} (status ${e.status})`; } };

await serveModel(9000);

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
