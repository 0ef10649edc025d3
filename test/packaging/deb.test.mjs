// The Debian package: built, installed into a clean root, started there by systemd, upgraded, removed, purged; and beside
// the package "parley" of Debian, which has a program of that name.
import fs from 'node:fs';
import path from 'node:path';
import { ROOT, check, same } from '../live/lib.mjs';
import { long, need, runAside } from './tools.mjs';
import { boot, cleanRoot, inside, workedUnderTheUnit } from './root.mjs';

long('the package installs on a clean root, serves every kind of tool under its unit, and goes again', async (t) => {
    need('dpkg-buildpackage', 'lintian');
    await runAside('scripts/deb', []);                      // lintian's warnings are its failure
    const deb = fs.readdirSync(path.join(ROOT, 'build-deb')).find((f) => f.endsWith('.deb'));
    const root = await cleanRoot(t), in_ = (line, options) => inside(root, line, options).out.trim();
    fs.copyFileSync(path.join(ROOT, 'build-deb', deb), path.join(root, 'parley.deb'));
    in_('apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends /parley.deb');

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
