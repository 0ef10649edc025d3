// root.mjs -- a clean Debian of one's own in a folder: made once by mmdebstrap (build-packaging/*.tar), unpacked per test,
// entered by systemd-nspawn, also booted with a real systemd as its first process. Needs root and a Debian mirror.
import fs from 'node:fs';
import path from 'node:path';
import { ROOT, check, skip } from '../live/lib.mjs';
import { need, run, runAside } from './tools.mjs';

const HERE = path.join(ROOT, 'test/packaging'), ROOTS = path.join(ROOT, 'build-packaging');
const OURS = () => /^VERSION_CODENAME=(.*)$/m.exec(fs.readFileSync('/etc/os-release', 'utf8'))[1];
const BOOTS = ['systemd', 'systemd-sysv', 'dbus', 'nodejs', 'ca-certificates'];
export const TOKEN = 'a-token-for-the-tests';

// Of the release that is named, with these packages beside what every system has; by default of this machine's, to boot.
export async function cleanRoot(t, { suite = OURS(), packages = BOOTS } = {}) {
    need('mmdebstrap', 'systemd-nspawn');
    if (process.getuid() !== 0) skip('only root can make a root');
    const tar = path.join(ROOTS, `${[suite, ...packages].join('-')}.tar`);
    if (!fs.existsSync(tar)) {
        fs.mkdirSync(ROOTS, { recursive: true });
        await runAside('mmdebstrap', ['--format=tar', '--variant=minbase', ...(packages.length ? [`--include=${packages}`] : []), suite, tar + '.new']);
        fs.renameSync(tar + '.new', tar);
    }
    const root = path.join(t.folder(), 'root');
    fs.mkdirSync(root);
    run('tar', ['-C', root, '-xf', tar]);
    return root;
}

export const NSPAWN = (root) => ['-q', '-D', root, '--register=no', '--keep-unit', '--console=pipe'];

// A command in it, with the machine's network: {status, out, err}.
export function inside(root, line, options) {
    return run('systemd-nspawn', [...NSPAWN(root), 'sh', '-c', line], { ...options, input: '' });
}

// Boots it with parley.service as it is installed there and the configuration of inside/, and gives what the scenario (a
// program of inside/) found. nspawn's own filter of system calls is opened, so that only the unit's counts.
export async function boot(root, scenario = 'scenario.mjs') {
    const from = path.join(HERE, 'inside'), to = path.join(root, 'opt/test/packaging/inside');
    fs.rmSync(path.join(root, 'outcome.json'), { force: true });
    fs.cpSync(from, to, { recursive: true });
    for (const f of fs.readdirSync(to)) fs.chmodSync(path.join(to, f), 0o755);
    fs.cpSync(path.join(ROOT, 'test/lib'), path.join(root, 'opt/test/lib'), { recursive: true });
    fs.writeFileSync(path.join(root, 'etc/scenario'), `SCENARIO=${scenario}\n`);
    fs.copyFileSync(path.join(from, 'parley.json'), path.join(root, 'etc/parley/parley.json'));
    fs.writeFileSync(path.join(root, 'etc/parley/environment'), `MODEL_KEY=k\nPARLEY_TOKEN=${TOKEN}\n`, { mode: 0o600 });
    fs.copyFileSync(path.join(from, 'scenario.service'), path.join(root, 'etc/systemd/system/scenario.service'));
    const wants = path.join(root, 'etc/systemd/system/multi-user.target.wants');
    fs.mkdirSync(wants, { recursive: true });
    fs.rmSync(path.join(wants, 'scenario.service'), { force: true });
    fs.symlinkSync('/etc/systemd/system/scenario.service', path.join(wants, 'scenario.service'));
    await runAside('timeout', ['-k', '5', '600', 'systemd-nspawn', ...NSPAWN(root), '--private-network', '--system-call-filter=@known', '--boot'], { stdio: ['ignore', 'pipe', 'pipe'] })
        .catch((e) => e);                                   // how it ends says nothing: the outcome does
    const file = path.join(root, 'outcome.json');
    check(fs.existsSync(file), 'the root did not boot, or the scenario did not end');
    return JSON.parse(fs.readFileSync(file, 'utf8'));
}

// Every kind of tool worked under the unit's limits, and reached nothing it should not.
export function workedUnderTheUnit(o) {
    const want = { shell: 'own:yes seen:', node: '42', inside__square: '144, call 1' };
    for (const [tool, output] of Object.entries(want))
        check(o.calls[tool]?.outcome === 'done' && o.calls[tool].output === output, `${tool}: ${JSON.stringify(o.calls[tool])}\n${o.log}`);
    check(o.health === 'alive', o.health);
    check(o.page.startsWith('<!doctype html>'), o.page);
    check(/^NoNewPrivs:\t1$/m.test(o.status) && /^Seccomp:\t2$/m.test(o.status) && /^CapBnd:\t0+$/m.test(o.status), o.status);
    check(o.state === 'parley 700\nparley 600', `owner and mode of the state: ${o.state}`);
    check(/^mcp +inside: node, .*; not isolated: /m.test(o.check) && !/^warning/m.test(o.check), `check as the service: ${o.check}`);
    check(/^\d+ conversations of \/var\/lib\/parley\/parley\.db are in/.test(o.backup), `backup as the service: ${o.backup}`);
    check(o.again.outcome === 'done', `after a kill: ${JSON.stringify(o.again)}`);
    check(o.stopped.includes('Result=success') && o.stopped.includes('ExecMainStatus=0'), o.stopped);
    check(!/Unknown system call|Unknown key|ignoring/i.test(o.log), o.log);
}
