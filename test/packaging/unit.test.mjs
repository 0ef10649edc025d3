// The unit file and the image: what can be said of them without booting. deb.test.mjs boots the unit.
import fs from 'node:fs';
import path from 'node:path';
import { BIN, ROOT, check, same, test } from '../live/lib.mjs';
import { need, run } from './tools.mjs';

test('systemd understands every line of the unit, and finds little that it leaves open', async (t) => {
    need('systemd-analyze');
    const unit = path.join(t.folder(), 'parley.service');
    fs.writeFileSync(unit, fs.readFileSync(path.join(ROOT, 'packaging/parley.service'), 'utf8').replace('/usr/local/bin/parley', BIN));
    const said = run('systemd-analyze', ['verify', '--man=no', unit], { must: false });
    check(!/parley\.service/.test(said.out + said.err), said.out + said.err);
    const level = /Overall exposure level for \S+ ([\d.]+)/.exec(run('systemd-analyze', ['security', '--offline=true', unit], { must: false }).out.replace(/\x1b\[[\d;]*m/g, ''));
    check(Number(level?.[1]) <= 2, `exposure ${level?.[1]}`);
});

test('the unit leaves what exec tools and run-time compilers need', async () => {
    const unit = fs.readFileSync(path.join(ROOT, 'packaging/parley.service'), 'utf8').replace(/^#.*$/gm, '');
    check(!/^MemoryDenyWriteExecute=/m.test(unit), 'Node cannot run');
    const filter = [...unit.matchAll(/^SystemCallFilter=([^~].*)$/gm)].flatMap((m) => m[1].split(' '));
    for (const call of ['seccomp', 'landlock_create_ruleset', 'landlock_add_rule', 'landlock_restrict_self', 'unshare', 'mount']) check(filter.includes(call), `${call} is refused`);
});

test('a reload needs no program that a minimal system lacks', async () => {
    const unit = fs.readFileSync(path.join(ROOT, 'packaging/parley.service'), 'utf8');
    same([...unit.matchAll(/^Exec(?!Start=)\w+=(\S+)/gm)].map((m) => m[1]), ['/bin/sh']);     // all that is essential
});

test('the image runs parley health as its check, and every file it copies is there', async () => {
    const lines = fs.readFileSync(path.join(ROOT, 'packaging/Dockerfile'), 'utf8').replace(/\\\n/g, ' ').split('\n');
    const check_ = lines.find((l) => l.startsWith('HEALTHCHECK'));
    const serve = JSON.parse(/^CMD (\[.*\])/m.exec(lines.join('\n'))[1]);
    same(JSON.parse(/CMD (\[.*\])/.exec(check_)[1]), ['parley', 'health', ...serve.slice(1)], 'it asks where the server listens');
    for (const [, from] of lines.join('\n').matchAll(/^COPY (?!--from)(\S+) /gm)) check(from === '.' || fs.existsSync(path.join(ROOT, from)), `${from} is not there`);
    check(lines.some((l) => l.startsWith('USER parley')), 'it runs as root');
    same(run(BIN, ['health', 'http://127.0.0.1:1'], { must: false }).status, 1, 'a server that is not there');
});
