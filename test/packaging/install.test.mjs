// What `make install` puts there, and that the manual and the completion say what the program says.
import fs from 'node:fs';
import path from 'node:path';
import { BIN, ROOT, check, same, test } from '../live/lib.mjs';
import { BUILD, filesIn, need, offered, run, runAside } from './tools.mjs';

const HERE = path.join(ROOT, 'test/packaging');

function install(t, env = {}) {
    const root = t.folder();
    run('scripts/install', [BUILD], { env: { ...process.env, DESTDIR: root, ...env } });
    return root;
}

test('install puts the program, its manual, completion, unit and example where PREFIX says', async (t) => {
    const root = install(t, { PREFIX: '/opt/parley' });
    for (const file of ['opt/parley/bin/parley', 'opt/parley/share/man/man1/parley.1', 'opt/parley/share/man/man5/parley.json.5',
        'opt/parley/share/bash-completion/completions/parley', 'opt/parley/share/zsh/site-functions/_parley',
        'opt/parley/share/fish/vendor_completions.d/parley.fish', 'opt/parley/lib/systemd/system/parley.service',
        'opt/parley/lib/sysusers.d/parley.conf', 'opt/parley/share/doc/parley/docs/operations.md', 'etc/parley/parley.json'])
        check(filesIn(root).includes(file), `${file} is missing`);
    same(run(path.join(root, 'opt/parley/bin/parley'), ['--version']).out, run(BIN, ['--version']).out);
    const unit = fs.readFileSync(path.join(root, 'opt/parley/lib/systemd/system/parley.service'), 'utf8');
    check(unit.includes('ExecStart=/opt/parley/bin/parley serve'), 'the unit starts another program');
    same(fs.statSync(path.join(root, 'etc/parley/environment')).mode & 0o777, 0o600, 'mode of the secrets');
    const config = path.join(root, 'parley.json');          // the same, where this machine has a folder for the store
    fs.writeFileSync(config, fs.readFileSync(path.join(root, 'etc/parley/parley.json'), 'utf8').replace('/var/lib/parley', root));
    check(run(BIN, ['check', '--config', config]).out.includes(`store      ${root}/parley.db`), 'the example is not understood');
});

test('what the installed documentation links to is installed, the verifier among it', async (t) => {
    const root = install(t), doc = path.join(root, 'usr/local/share/doc/parley'), missing = [];
    for (const file of filesIn(doc).filter((f) => f.endsWith('.md')))
        for (const [, to] of fs.readFileSync(path.join(doc, file), 'utf8').matchAll(/\]\(([^)#\s]+)[^)]*\)/g)) {
            const at = path.join(path.dirname(file), to);
            if (/^\w+:/.test(to) || /^(web|test)\//.test(at)) continue;      // elsewhere; of the sources alone
            if (!fs.existsSync(path.join(doc, at))) missing.push(`${file}: ${to}`);
        }
    same(missing, []);
    const r = run(process.execPath, [path.join(doc, 'examples/audit-verify/verify.mjs')], { must: false });
    same([r.status, r.err], [2, 'usage: node verify.mjs EXPORT.jsonl AUDIT.PUB KEPT.jws\n']);
});

test('a second install keeps the configuration, and uninstall takes away only what install brought', async (t) => {
    const root = install(t), config = path.join(root, 'etc/parley/parley.json');
    fs.writeFileSync(config, '{"listen":"127.0.0.1:9000"}\n');
    fs.writeFileSync(path.join(root, 'usr/local/share/doc/parley/mine.txt'), 'mine');
    run('scripts/install', [BUILD], { env: { ...process.env, DESTDIR: root } });
    same(fs.readFileSync(config, 'utf8'), '{"listen":"127.0.0.1:9000"}\n');
    run('scripts/install', ['remove'], { env: { ...process.env, DESTDIR: root } });
    same(filesIn(root), ['etc/parley/environment', 'etc/parley/parley.json', 'usr/local/share/doc/parley/mine.txt']);
});

test('a PREFIX that is no absolute path is refused in words', async (t) => {
    const r = run('scripts/install', [BUILD], { must: false, env: { ...process.env, DESTDIR: t.folder(), PREFIX: 'opt' } });
    same([r.status, r.err], [1, 'PREFIX must be an absolute path, not "opt"\n']);
});

test('the manual pages are well formed and name every command, option and key there is', async (t) => {
    const dir = t.folder();
    run('scripts/manual', [BUILD, dir]);
    const said = (page) => run('mandoc', ['-T', 'utf8', '-O', 'width=500', path.join(dir, page)]).out.replace(/.\x08/g, '').replaceAll('‐', '-');
    need('mandoc');
    for (const page of ['parley.1', 'parley.json.5']) same(run('mandoc', ['-T', 'lint', '-W', 'warning', path.join(dir, page)], { must: false }).out, '', page);
    const page = said('parley.1');
    const { commands, globals } = offered();
    check(Object.keys(commands).length >= 7, 'the help was not understood');
    for (const [name, { options }] of Object.entries(commands)) {
        const lines = page.split('\n').filter((l) => l.trimStart().startsWith(`parley ${name}`)).join('\n');
        for (const option of options) check(lines.includes(option), `parley ${name} ${option} is not in the manual`);
        check(lines, `parley ${name} is not in the manual`);
    }
    for (const g of globals) check(page.includes(`parley ${g}`), g);
    const keys = said('parley.json.5');
    const tables = fs.readFileSync(path.join(ROOT, 'docs/configuration.md'), 'utf8').split('\n\n').filter((p) => p.startsWith('| key |'));
    const documented = tables.flatMap((table) => [...table.matchAll(/^\| `([^`]+)` \|/gm)].map((m) => m[1]));
    check(documented.length > 100, 'docs/configuration.md was not understood');
    for (const key of documented.filter((k) => !k.endsWith('.*'))) check(keys.includes(`\n     ${key}`) || keys.includes(`\n       ${key}`), `${key} is not in parley.json(5)`);
});

// --- completion: three real shells are asked, and must offer exactly what --help does -----------------------------

const words = (text) => [...new Set(text.split('\n').map((l) => l.replace(/\t.*/, '').replace(/^OFFER /, '').trim()).filter(Boolean))].sort();

const shells = {
    bash: (dir, line) => runAside('bash', ['--norc', '-c',
        '. "$0/parley.bash"; read -ra COMP_WORDS <<< "$1"; [[ $1 == *" " ]] && COMP_WORDS+=(""); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _parley; printf "%s\\n" "${COMPREPLY[@]}"', dir, line]),
    zsh: (dir, line) => runAside('zsh', ['-f', path.join(HERE, 'offers.zsh'), dir, fs.mkdtempSync(path.join(dir, 'zsh-')), line]),
    fish: (dir, line) => runAside('fish', ['--no-config', '-c', 'source $argv[1]/parley.fish; complete -C "$argv[2]"', dir, line], { cwd: dir, env: { ...process.env, HOME: dir } }),
};

for (const [shell, offers] of Object.entries(shells)) {
    test(`${shell} offers the commands and options that --help does, and no others`, async (t) => {
        need(shell);
        const dir = t.folder();
        run('scripts/manual', [BUILD, dir]);
        const { commands, globals } = offered();
        const lines = ['parley ', 'parley --', ...Object.keys(commands).flatMap((c) => [`parley ${c} `, `parley ${c} --`])];
        const said = Object.fromEntries(await Promise.all(lines.map(async (line) => [line, words(await offers(dir, line))])));
        same([...new Set([...said['parley '], ...said['parley --']])].sort(), [...Object.keys(commands), ...globals].sort(), 'commands');
        for (const [name, { options, words: more }] of Object.entries(commands)) {
            if (options.length) same(said[`parley ${name} --`], [...options].sort(), `options of ${name}`);
            if (more.length) check(said[`parley ${name} `].includes(more[0]), `parley ${name} ${more[0]} is not offered`);
        }
    });
}
