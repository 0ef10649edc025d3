// The self-contained program, the package for npx made from it, and the list of what is inside.
import fs from 'node:fs';
import path from 'node:path';
import { spawn } from 'node:child_process';
import { BIN, ROOT, check, same, test, until } from '../live/lib.mjs';
import { BUILD, long, need, run, runAside } from './tools.mjs';

const STATIC = path.join(ROOT, 'build-static');
let built;
const build = () => (built ??= runAside('scripts/static', []).then(() => runAside('scripts/npm', [])));

const linked = (bom, how) => bom.components.filter((c) => c.properties.some((p) => p.name === 'parley:linked' && p.value === how));
const filesOf = (components) => components.flatMap((c) => c.properties.filter((p) => p.name === 'parley:file').map((p) => p.value)).sort();
// What the loader really maps, by the name of the file.
const loaded = (program) => [...run('ldd', [program]).out.matchAll(/(?:=> )?(\/\S+) \(0x/g)].map((m) => path.basename(m[1])).sort();

test('the list of what is inside names every library the program loads, and the packages of the page', async () => {
    const bom = JSON.parse(run('scripts/sbom', [BUILD]).out);
    same([bom.bomFormat, bom.specVersion], ['CycloneDX', '1.5']);
    same(bom.metadata.component.hashes[0].content, run('sha256sum', [BIN]).out.split(' ')[0], 'it is about another program');
    same(filesOf(linked(bom, 'shared')), loaded(BIN));
    const page = linked(bom, 'page').map((c) => c.name);
    check(page.includes('react-dom') && page.includes('katex') && !page.includes('vite') && !page.includes('typescript'), page.join(' '));
    const react = JSON.parse(fs.readFileSync(path.join(ROOT, 'web/node_modules/react/package.json'), 'utf8'));
    same(linked(bom, 'page').find((c) => c.name === 'react').version, react.version);
    const curl = bom.components.find((c) => c.name.startsWith('libcurl'));
    same(curl.version, run('dpkg-query', ['-W', '-f', '${Version}', curl.name]).out);
});

long('the self-contained program loads libc and its libm only, and its list names what was linked instead', async () => {
    need('dpkg-source', 'readelf');
    await build();
    const needed = [...run('readelf', ['-d', path.join(STATIC, 'parley')]).out.matchAll(/\(NEEDED\).*\[(.*)\]/g)].map((m) => m[1]);
    check(needed.every((n) => /^(libc\.so\.6|libm\.so\.6|ld-linux.*)$/.test(n)), needed.join(' '));
    const bom = JSON.parse(fs.readFileSync(path.join(STATIC, 'parley.cdx.json'), 'utf8'));
    same(linked(bom, 'shared').map((c) => c.name), ['libc6']);
    const archives = filesOf(linked(bom, 'archive'));
    for (const a of ['libcrypto.a', 'libcurl.a', 'libnghttp2.a', 'libseccomp.a', 'libsqlite3.a', 'libssl.a', 'libuv_a.a', 'libz.a']) check(archives.includes(a), `${a} is not in the list: ${archives}`);
});

long('TLS and HTTP/2 to both sides, the sandbox, the store and the demonstration work in the self-contained program', async (t) => {
    await build();
    const dir = t.folder();                                 // the live tests look for their scripted model beside the program
    fs.copyFileSync(path.join(STATIC, 'parley'), path.join(dir, 'parley'));
    fs.symlinkSync(path.join(BUILD, 'upstream'), path.join(dir, 'upstream'));
    const said = await runAside('node', ['test/live/run.mjs', 'modelnet:', 'sandbox:', 'demo:', 'tls:', 'h2:'], { env: { ...process.env, PARLEY_BIN: path.join(dir, 'parley') } });
    check(/^[1-9]\d+ passed, 0 failed/m.test(said), said.slice(-2000));
});

long('npx runs the packed tarball in a fresh folder: the page and an answer', async (t) => {
    need('npm');
    await build();
    const dir = t.folder(), tarball = path.join(ROOT, 'build-npm', fs.readdirSync(path.join(ROOT, 'build-npm')).find((f) => f.endsWith('.tgz')));
    fs.writeFileSync(path.join(dir, 'parley.json'), JSON.stringify({ listen: '127.0.0.1:0', demo: { token_ms: 0 } }));
    const child = spawn('npx', ['--offline', '-y', `--package=${tarball}`, 'parley', 'serve'], { cwd: dir, detached: true, env: { ...process.env, npm_config_cache: path.join(dir, 'cache') } });
    t.defer(() => { process.kill(-child.pid, 'SIGTERM'); return new Promise((yes) => child.once('close', yes)); });
    let out = '';
    child.stdout.setEncoding('utf8').on('data', (d) => { out += d; });
    const url = await until(() => /http:\/\/127\.0\.0\.1:\d+/.exec(out)?.[0], `npx to start parley: ${out}`, 120000);
    check((await (await fetch(url)).text()).startsWith('<!doctype html>'), 'no page');
    const answer = await (await fetch(`${url}/v1/chat/stream`, { method: 'POST', body: '{"message":"Hello"}' })).text();
    check(answer.includes('"type":"complete"'), answer.slice(0, 500));
    check(fs.existsSync(path.join(dir, 'parley.db')), 'the store is not where it was started');
});
