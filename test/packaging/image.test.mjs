// The image, without a daemon: the Dockerfile is followed line by line in clean roots of the release
// that it names, then the program runs as its user, from its folder, by its words, and so does the
// health check. Needs root and a Debian mirror.
import fs from 'node:fs';
import path from 'node:path';
import { certificate } from '../lib/certificate.mjs';
import { ROOT, check, same } from '../live/lib.mjs';
import { sha256 } from '../live/org.mjs';
import { long, run, runAside } from './tools.mjs';
import { NSPAWN, cleanRoot } from './root.mjs';

const SUITES = { 'debian:12-slim': 'bookworm', 'debian:13-slim': 'trixie' };
const lines = fs.readFileSync(path.join(ROOT, 'packaging/Dockerfile'), 'utf8').replace(/^#.*\n/gm, '').replace(/\\\n/g, ' ')
    .split('\n').filter(Boolean).map((l) => /^([A-Z]+) +(.*)$/.exec(l).slice(1));

// What `docker build` has of this folder: what is committed or staged; and the page as it was built
// here, as the Debian package has it, so that npm's registry is not needed.
function copyAll(to) {
    run('sh', ['-c', '(git ls-files; find web/dist web/.bundled.json -type f) | tar -T - -cf - | tar -C "$0" -xf -', to]);
}

// A line of the file, in the root of its stage.
async function follow(t, stage, stages, word, rest) {
    const [from, to] = rest.replace(/^--from=\w+ /, '').split(' ');
    if (word === 'WORKDIR') fs.mkdirSync(path.join(stage.root, stage.dir = rest), { recursive: true });
    else if (word === 'RUN') await runAside('systemd-nspawn', [...NSPAWN(stage.root), `--chdir=${stage.dir}`, 'sh', '-c', rest], { stdio: ['ignore', 'pipe', 'pipe'] });
    else if (word === 'COPY' && rest === '. .') copyAll(path.join(stage.root, stage.dir));
    else if (word === 'COPY') run('cp', ['-aT', path.join(stages[/^--from=(\w+)/.exec(rest)[1]].root, from), path.join(stage.root, to)]);
    else if (word === 'USER') stage.user = rest;
    else if (word === 'HEALTHCHECK') stage.health = JSON.parse(/CMD (\[.*\])/.exec(rest)[1]);
    else if (word === 'ENTRYPOINT' || word === 'CMD') stage[word] = JSON.parse(rest);
    else check(['VOLUME', 'EXPOSE'].includes(word), `this test does not know ${word}`);
}

async function built(t) {
    const stages = {};
    let stage;
    for (const [word, rest] of lines) {
        const [image, , name = 'last'] = rest.split(' ');
        if (word === 'FROM') stage = stages[name] = { root: await cleanRoot(t, { suite: SUITES[image], packages: [] }), dir: '/' };
        else await follow(t, stage, stages, word, rest);
    }
    return stages.last;
}

// The server, its check until that is content, the server's end, and the check once more.
const LIFE = (serve, health) => `id -un; ${serve} > log 2>&1 & pid=$!
n=0; until ${health}; do n=$((n + 1)); [ $n -lt 300 ] && kill -0 $pid || { cat log; exit 1; }; sleep 0.2; done 2> /dev/null
kill $pid; wait $pid; echo "ended $?"; ${health} 2>&1; echo "dead $?"`;

long('the image is built as its file says, and its check tells a server that lives from one that does not', async (t) => {
    const image = await built(t), data = path.join(image.root, image.dir);
    const auth = { keys: [{ sha256: sha256('k'), principal: 'ada' }] };
    certificate(data);
    const owner = fs.statSync(data);
    for (const tls of [undefined, { cert: 'server.crt', key: 'server.key' }]) {
        fs.writeFileSync(path.join(data, 'parley.json'), JSON.stringify({ auth, tls }));
        for (const name of fs.readdirSync(data)) fs.chownSync(path.join(data, name), owner.uid, owner.gid);
        const said = run('systemd-nspawn', [...NSPAWN(image.root), '--private-network', `--user=${image.user}`, `--chdir=${image.dir}`,
            'sh', '-c', LIFE([...image.ENTRYPOINT, ...image.CMD].join(' '), image.health.join(' '))], { input: '', must: false }).out;
        same(said.replace(/^parley: http(s?):\S+ does not answer: .*$/m, 'no answer$1'), `parley\nalive\nended 0\nno answer${tls ? 's' : ''}\ndead 1\n`);
    }
});
