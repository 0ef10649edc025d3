// The Debian package: built, installed into a clean root, started there by systemd, upgraded, removed, purged; and beside
// the package "parley" of Debian, which has a program of that name. And an operator's whole day with it.
// PARLEY_DEB: the file of a package that was built already.
import fs from 'node:fs';
import path from 'node:path';
import { ROOT, check, same } from '../live/lib.mjs';
import { long, need, runAside } from './tools.mjs';
import { boot, cleanRoot, inside, workedUnderTheUnit } from './root.mjs';

// Built once; lintian's warnings are its failure.
let built;
async function theDeb() {
    need('dpkg-buildpackage', 'lintian');
    if (process.env.PARLEY_DEB) return process.env.PARLEY_DEB;
    await (built ??= runAside('scripts/deb', []));
    return path.join(ROOT, 'build-deb', fs.readdirSync(path.join(ROOT, 'build-deb')).find((f) => f.endsWith('.deb')));
}
const INSTALL = 'apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends /parley.deb';

// The same package with a higher version, as the next one has.
async function newer(t, deb, to) {
    const tree = path.join(t.folder(), 'tree'), control = path.join(tree, 'DEBIAN/control');
    await runAside('dpkg-deb', ['-R', deb, tree]);
    fs.writeFileSync(control, fs.readFileSync(control, 'utf8').replace(/^Version: .*$/m, (line) => `${line}+next`));
    await runAside('dpkg-deb', ['-b', '--root-owner-group', tree, to]);
}

long('an operator\'s day under the unit: three people, two roles, a backup, a reload, an upgrade, an erased name, a verified record', async (t) => {
    const deb = await theDeb(), root = await cleanRoot(t);
    fs.copyFileSync(deb, path.join(root, 'parley.deb'));
    await newer(t, deb, path.join(root, 'newer.deb'));
    inside(root, INSTALL);
    const o = await boot(root, 'dayunder.mjs');
    check(!o.error, `${o.error}\n${o.log}`);
    same(o.done.length, 7);
    check(o.versions[1] === `${o.versions[0]}+next`, `upgraded: ${o.versions}`);
    check(/^NoNewPrivs:\t1$/m.test(o.status) && /^Seccomp:\t2$/m.test(o.status) && /^CapBnd:\t0+$/m.test(o.status), o.status);
});

long('the package installs on a clean root, serves every kind of tool under its unit, and goes again', async (t) => {
    const deb = await theDeb(), root = await cleanRoot(t), in_ = (line, options) => inside(root, line, options).out.trim();
    fs.copyFileSync(deb, path.join(root, 'parley.deb'));
    in_(INSTALL);

    same(in_('command -v parley-server; readlink -f /usr/bin/parley; stat -c "%U %a" /var/lib/parley'), '/usr/bin/parley-server\n/usr/bin/parley-server\nparley 700');
    same(in_('dpkg-query -W -f "\\${Conffiles}" parley-server | sed "s/^ *//; s/ .*//" | sort').split('\n').filter(Boolean), ['/etc/parley/environment', '/etc/parley/parley.json']);
    same(in_('stat -c %a /etc/parley/environment'), '600');
    check(in_('parley check --config /etc/parley/parley.json').includes('the demo model'), 'the configuration that comes with it is not good');

    // Debian's own parley comes, keeps its name, and goes.
    in_('cd /tmp && apt-get download -qq parley && dpkg --unpack --force-depends parley_*.deb');
    check(in_('dpkg -S /usr/bin/parley; test -L /usr/bin/parley || echo a file').includes('a file'), 'the other parley lost its program');
    check(in_('parley-server --version').startsWith('parley '), 'parley-server is gone');
    in_('dpkg --remove parley');
    same(in_('readlink -f /usr/bin/parley'), '/usr/bin/parley-server', 'the name was not taken back');

    workedUnderTheUnit(await boot(root));
    fs.rmSync(path.join(root, 'etc/systemd/system/multi-user.target.wants/scenario.service'));

    // The same version once more, as an upgrade does: the configuration stays as it is, and so do conversations.
    const config = fs.readFileSync(path.join(root, 'etc/parley/parley.json'), 'utf8');
    in_('dpkg -i /parley.deb');
    same(fs.readFileSync(path.join(root, 'etc/parley/parley.json'), 'utf8'), config);
    in_('dpkg --remove parley-server');
    check(!fs.existsSync(path.join(root, 'usr/bin/parley-server')) && in_('test -e /usr/bin/parley -o -L /usr/bin/parley || echo free') === 'free', 'something is left of the program');
    check(fs.existsSync(path.join(root, 'etc/parley/parley.json')), 'remove took the configuration');
    check(in_('dpkg --purge parley-server').includes('/var/lib/parley are left'), 'purge does not say what stays');
    check(!fs.existsSync(path.join(root, 'etc/parley/parley.json')), 'purge left the configuration');
    check(fs.existsSync(path.join(root, 'var/lib/parley/parley.db')), 'purge threw conversations away');
});
