// dayunder.mjs -- the operator's day (day.mjs) inside a booted root: parley as the package installed it, under its unit, with
// what docs/operations.md tells an operator to type. Writes what was done, or why not, to /outcome.json.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { until } from '../../lib/check.mjs';
import { day } from './day.mjs';
import { serveModel } from './model.mjs';

const URL_ = 'http://127.0.0.1:8000', CONFIG = '/etc/parley/parley.json', HERE = '/opt/test/packaging/inside';
function sh(command, ...args) {
    const r = spawnSync(command, args, { encoding: 'utf8' });
    if (r.status !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${r.status}: ${r.stdout}${r.stderr}`);
    return r.stdout.trim();
}
const ready = () => until(async () => { try { return (await fetch(`${URL_}/readyz`)).status === 200; } catch { return false; } }, 'the server', 60000);
const version = () => sh('dpkg-query', '-W', '-f', '${Version}', 'parley-server');
const property = (name) => sh('systemctl', 'show', 'parley', '-p', name, '--value');

const site = { home: '/etc/parley', desk: '/srv/desk', store: '/var/lib/parley/parley.db', url: URL_, tool: { command: ['sh', 'refund.sh'], cwd: HERE },
    verifier: '/usr/share/doc/parley-server/examples/audit-verify/verify.mjs', own: (file) => sh('chown', 'parley:', file),
    configure: async (config) => fs.writeFileSync(CONFIG, JSON.stringify({ listen: '127.0.0.1:8000', ...config })),
    start: async () => { sh('systemctl', 'restart', 'parley'); await ready(); },
    reload: async () => sh('systemctl', 'reload', 'parley'),
    async upgrade() {                                         // a package of a higher version: its own scripts restart the service
        const before = [version(), property('MainPID')];
        sh('dpkg', '--force-confold', '-i', '/newer.deb');
        await until(() => property('MainPID') !== before[1], 'the package to restart the service', 60000);
        await ready();
        site.versions = [before[0], version()];
    },
    // beside the service: as its user, with its secrets
    parley: async (args, env = {}) => {
        const r = spawnSync('systemd-run', ['--quiet', '--pipe', '--wait', '-p', 'User=parley', '-p', 'EnvironmentFile=/etc/parley/environment', '-p', 'WorkingDirectory=/var/lib/parley',
            ...Object.entries(env).map(([k, v]) => `--setenv=${k}=${v}`), 'parley', ...args, ...(args[1] === 'erase' ? [] : ['--config', CONFIG])], { encoding: 'utf8', maxBuffer: 64 << 20 });
        return { status: r.status, out: r.stdout, err: r.stderr };
    } };

const outcome = {};
try {
    fs.mkdirSync(site.desk, { recursive: true });
    site.model = `http://127.0.0.1:${(await serveModel()).port}/v1`;
    outcome.done = await day(site);
    outcome.versions = site.versions;
    outcome.status = sh('grep', '-E', '^(NoNewPrivs|Seccomp|CapBnd|Uid)', `/proc/${property('MainPID')}/status`);
} catch (e) { outcome.error = String(e.stack ?? e); }
outcome.log = spawnSync('journalctl', ['-u', 'parley', '--no-pager', '-o', 'cat', '-n', '60'], { encoding: 'utf8' }).stdout;
fs.writeFileSync('/outcome.json', JSON.stringify(outcome, null, 1));
process.exit(0);
