// Configurations: `parley check` explains good ones and refuses bad ones with file,
// line and reason; `parley serve` refuses the same and what only a start can show.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { BIN, ROOT, check, parley, same, skip, test, until } from './lib.mjs';
import { keys } from './record.mjs';

function file(t, text) {
    const at = path.join(t.folder(), 'parley.json');
    fs.writeFileSync(at, typeof text === 'string' ? text : JSON.stringify(text));
    return at;
}

const BAD = [
    ['a missing brace', '{\n  "listen": "127.0.0.1:0"\n', 3, /brace|'\}'|ended|end of/i],
    ['an unknown key', '{\n  "log": "info",\n  "lisen": "127.0.0.1:0"\n}', 3, /"?listen"?/],
    ['an unknown key deep inside', '{\n  "demo": {\n    "token_mss": 3\n  }\n}', 3, /token_ms/],
    ['a wrong type', '{\n  "max_iterations": "five"\n}', 2, /max_iterations/],
    ['a number out of range', '{\n  "listen": "127.0.0.1:99999"\n}', 2, /listen|port/i],
    ['an action without its tool', '{\n  "actions": { "go": { } }\n}', 2, /tool/],
    ['a public address without auth', '{\n  "listen": "0.0.0.0:8000"\n}', 2, /auth/],
    ['a wildcard origin', '{\n  "origins": ["*"]\n}', 2, /origin|wildcard|\*/i],
];

for (const [what, text, line, reason] of BAD) {
    test(`${what} in a configuration is refused with file, line and reason`, async (t) => {
        const at = file(t, text);
        for (const command of ['check', 'serve']) {
            const r = await parley([command, '--config', at, ...(command === 'serve' ? ['--store', path.join(path.dirname(at), 'x.db')] : [])], { cwd: path.dirname(at) });
            same(r.code, 1, `${command}: ${r.err}${r.out}`);
            const said = r.err + r.out;
            check(said.includes(at), `${command} names the file: ${said}`);
            check(new RegExp(`[:, ](line )?${line}\\b`).test(said), `${command} names line ${line}: ${said}`);
            check(reason.test(said), `${command} says why: ${said}`);
        }
    });
}

// What only this machine can show: a program, a folder, a key. `check` looks as `serve` does.
const tool = (exec) => JSON.stringify({ tools: { t: { description: 'd', exec: { command: ['sh'], ...exec } } } }, null, 1);
const jwt = (more) => JSON.stringify({ auth: { jwt: { issuer: 'i', audience: 'a', ...more } } }, null, 1);
const key = (more) => JSON.stringify({ auth: { keys: [{ principal: 'p', sha256: '0'.repeat(64), ...more }] } }, null, 1);
const lineOf = (text, word) => text.split('\n').findIndex((l) => l.includes(word)) + 1;
const MISSING = [
    ['a program that is not installed', tool({ command: ['/nope/prog'] }), '"command"', /\/nope\/prog.*not installed/],
    ['a working directory that is not there', tool({ cwd: 'nope' }), '"cwd"', /nope.*not there/],
    ['a path to read that is not there', tool({ read: ['/nope'] }), '"read"', /\/nope.*not there/],
    ['a variable no environment can hold', tool({ env: { 'A=B': 'x' } }), '"env"', /environment/],
    ['an http header that is ours', JSON.stringify({ tools: { t: { description: 'd', http: { url: 'https://x.example', headers: { Host: 'y' } } } } }, null, 1), '"http"', /Host.*cannot be set/],
    ['an MCP server with a name nobody can type', JSON.stringify({ mcpServers: { 'a/b': { command: 'sh' } } }, null, 1), '"a/b"', /name must be/],
    ['a model header that cannot be sent', JSON.stringify({ model: { provider: 'openai', base_url: 'http://127.0.0.1:1/v1', headers: { 'x!y': 'v' } } }, null, 1), '"model"', /header/],
    ['a keys file that is not there', jwt({ keys_file: 'nope' }), '"keys_file"', /nope.*cannot be read/],
    ['a keys file without a fitting key', jwt({ keys_file: 'parley.json' }), '"keys_file"', /cannot be used: .*fits the configured algorithms/],
    ['a secret for tokens of people that is too short', key({ user_header: 'X-User', user_secret: 'text:short' }), '"user_secret"', /at least 32 bytes/],
    ['a secret for tokens and no header with one', key({ user_secret: `text:${'x'.repeat(32)}` }), '"user_secret"', /"user_header"/],
    ['an HS256 secret that is too short', jwt({ keys_file: 'short', algorithms: ['HS256'] }), '"keys_file"', /at least 32 bytes/],
];

for (const [what, text, word, reason] of MISSING) {
    test(`${what} is refused by check as by serve, with file, line and reason`, async (t) => {
        const at = file(t, text), cwd = path.dirname(at);
        fs.writeFileSync(path.join(cwd, 'short'), 'abc');
        for (const command of ['check', 'serve', 'tools']) {
            if (command === 'tools' && (what.includes('key') || what.includes('secret'))) continue;
            const r = await parley([command, '--config', at], { cwd });
            same(r.code, 1, `${command}: ${r.err}${r.out}`);
            check(r.err.includes(`${at}:${lineOf(text, word)}: `), `${command} names line ${lineOf(text, word)}: ${r.err}`);
            check(reason.test(r.err), `${command} says why: ${r.err}`);
        }
    });
}

test('what is missing on this machine is told at once too', async (t) => {
    const r = await parley(['check', '--config', file(t, { tools: { a: { description: 'd', exec: { command: ['/nope/a'] } }, b: { description: 'd', exec: { command: ['/nope/b'] } } } })]);
    check(r.code === 1 && /nope\/a/.test(r.err) && /nope\/b/.test(r.err), r.err);
});

test('check leaves nothing behind and needs no server to be up', async (t) => {
    const at = file(t, { mcpServers: { a: { url: 'http://127.0.0.1:1/mcp' }, b: { command: '/nope/server' } }, tools: { c: { description: 'd', exec: { command: ['sh'] } } } });
    const r = await parley(['check', '--config', at], { cwd: path.dirname(at) });
    same([r.code, r.err], [0, '']);
    same(fs.readdirSync(path.dirname(at)), ['parley.json']);
});

test('every mistake is told at once', async (t) => {
    const r = await parley(['check', '--config', file(t, '{\n "logg": "info",\n "max_iterations": true\n}')]);
    check(/logg/.test(r.err + r.out) && /max_iterations/.test(r.err + r.out), r.err + r.out);
});

test('a configuration that cannot be read is refused by its name', async (t) => {
    const dir = t.folder();
    for (const [name, make] of [['absent.json', () => {}], ['folder', (p) => fs.mkdirSync(p)]]) {
        const at = path.join(dir, name);
        make(at);
        for (const command of ['check', 'serve']) {
            const r = await parley([command, '--config', at]);
            same(r.code, 1, `${command} ${name}: ${r.err}`);
            check((r.err + r.out).includes(at), `names it: ${r.err}`);
        }
    }
});

test('what is no file is refused wherever a file is named, and nobody waits for it', async (t) => {
    const dir = t.folder(), pipe = path.join(dir, 'pipe'), store = path.join(dir, 'x.db'), auth = { jwt: { issuer: 'i', audience: 'a', keys_file: pipe } };
    spawnSync('mkfifo', [pipe]);
    const at = (config) => file(t, { listen: '127.0.0.1:0', store, ...config }), { key } = keys(t.folder());
    for (const words of [
        ['check', '--config', pipe], ['serve', '--config', pipe],
        ...[{ auth }, { page: { logo: pipe } }, { store: `file:${pipe}` }, { tls: { cert: pipe, key: pipe } }, { audit: { key, file: pipe } }, { store: pipe }]
            .flatMap((config) => [['check', '--config', at(config)], ['serve', '--config', at(config)]]),
        ['restore', pipe, '--store', store], ['backup', path.join(dir, 'copy'), '--store', pipe], ['audit', 'export', '--store', pipe],
        ['audit', 'verify', '--store', store, '--checkpoint', pipe], ['audit', 'verify', '--store', store, '--public', pipe],
        ['move', '--from', `sqlite:${pipe}`, '--to', path.join(dir, 'y.db')]]) {
        const r = await parley(words, { cwd: dir });
        check(r.code > 0 && /pipe.* it is a pipe; name an ordinary file/.test(r.err), `${words.join(' ')}: ${r.code} ${r.err}${r.out}`);
    }
    same(fs.readdirSync(dir).filter((name) => !name.endsWith('-lock')), ['pipe'], 'and nothing is left behind');
});

test('a folder in the place of a backup is called a folder', async (t) => {
    const dir = t.folder(), r = await parley(['restore', dir, '--store', path.join(dir, 'x.db')]);
    same(r.code, 1);
    check(r.err.includes(`cannot read ${dir}: it is a folder; name a file`), r.err);
});

test('a configuration without permission is refused by its name', async (t) => {
    if (process.getuid() === 0) skip('root may read everything');
    const at = file(t, {});
    fs.chmodSync(at, 0);
    const r = await parley(['check', '--config', at]);
    same(r.code, 1);
    check(/permission/i.test(r.err + r.out), r.err);
});

test('the example configuration is good, and check explains it', async (t) => {
    const r = await parley(['check', '--config', path.join(ROOT, 'parley.json')], { cwd: t.folder() });
    same([r.code, r.err], [0, '']);
    check(/127\.0\.0\.1:8000/.test(r.out) && /demo/.test(r.out) && /parley\.db/.test(r.out), r.out);
    same((await parley(['check'], { cwd: t.folder() })).code, 0, 'no file at all');
});

test('a port in use is told, and exit is 1', async (t) => {
    const other = net.createServer().listen(0, '127.0.0.1');
    await new Promise((yes) => other.on('listening', yes));
    t.defer(() => other.close());
    const dir = t.folder(), { port } = other.address();
    const r = await parley(['serve', '--listen', `127.0.0.1:${port}`, '--store', path.join(dir, 'x.db')], { cwd: dir });
    same(r.code, 1, r.err);
    check(/in use/.test(r.err) && r.err.includes(String(port)), `says so: ${r.err}`);
});

test('a store that cannot be written is told, and exit is 1', async (t) => {
    const dir = t.folder();
    fs.mkdirSync(path.join(dir, 'folder.db'));
    fs.writeFileSync(path.join(dir, 'text.db'), 'this is not a database, but long enough to be looked at as if it were one\n'.repeat(20));
    const stores = [path.join(dir, 'a/b/c/x.db'), path.join(dir, 'folder.db'), path.join(dir, 'text.db'), '/proc/parley.db', 'mysql://somewhere/x'];
    for (const store of stores) {
        const r = await parley(['serve', '--listen', '127.0.0.1:0', '--store', store], { cwd: dir });
        same(r.code, 1, `${store}: ${r.err}`);
        check(r.err.includes(store.replace(/^(mysql:\/\/).*/, '$1')) || r.err.includes(path.dirname(store)), `names it: ${r.err}`);
    }
});

test('every command takes the address of its store from the environment or a file, so that no password is seen', async (t) => {
    const dir = t.folder(), server = await t.serve({ dir }), thread = (await server.turn('hello')).events.at(-1).data.payload.thread_id, at = path.join(dir, 'where');
    fs.writeFileSync(at, `sqlite:${server.db}\n`);
    const commands = [['check'], ['audit', 'verify'], ['audit', 'export'], ['audit', 'show', thread], ['show', thread], ['people', 'export', 'local'], ['backup', path.join(dir, 'copy.db')]];
    for (const [i, store] of ['env:THE_STORE', `file:${at}`].entries()) for (const words of commands) {
        if (words[0] === 'backup') words[1] += i;
        const r = await parley([...words, '--store', store], { cwd: t.folder(), env: { THE_STORE: server.db } });
        same(r.code, 0, `${words.join(' ')}: ${r.err}${r.out}`);
    }
    await server.term();
    const restored = await parley(['restore', path.join(dir, 'copy.db0'), '--store', 'env:THE_STORE'], { cwd: t.folder(), env: { THE_STORE: server.db } });
    same(restored.code, 0, restored.err);
    for (const words of [...commands, ['nodes'], ['serve']]) {
        const r = await parley([...words, '--store', 'env:NOBODY'], { cwd: t.folder() });
        check(r.code !== 0 && /--store: the environment variable NOBODY is not set/.test(r.err), `${words.join(' ')}: ${r.err}`);
    }
});

// What is misspelt has its password anywhere; a name that is taken for a file's begins an empty store.
test('an address that is no store is refused by every command: no password is told, no file is made', async (t) => {
    const commands = [['check'], ['serve', '--listen', '127.0.0.1:0'], ['audit', 'verify'], ['audit', 'export'], ['show', 't_1'], ['people', 'export', 'local'], ['backup', 'copy.db'], ['restore', 'copy.db'], ['nodes']];
    const stores = ['host=127.0.0.1 password=SESAME dbname=x', 'postgresql:/u:SESAME@h/d', 'postgres:/u:SESAME@h/d', 'postgresql:u:SESAME@h/d', 'u:SESAME@h/d', 'sqlite:postgresql://u:SESAME@h/d'];
    const refused = async (words, dir, S, why) => {
        const r = await parley(words, { cwd: dir, env: { S } });
        check(r.code > 0 && why.test(r.err) && !/SESAME/.test(r.out + r.err), `${words.join(' ')} of ${S}: ${r.code} ${r.err}${r.out}`);
        same(fs.readdirSync(dir).filter((name) => name !== 'copy.db' && name !== 'c.json'), [], `${words.join(' ')} of ${S} made something`);
    };
    const dir = t.folder();
    for (const S of stores) for (const words of commands) await refused([...words, '--store', 'env:S'], dir, S, /write postgresql:\/\/USER:PASSWORD@HOST/);
    for (const S of stores) for (const sides of [['--from', 'env:S', '--to', 'copy.db'], ['--from', 'copy.db', '--to', 'env:S']]) await refused(['move', ...sides], dir, S, /write postgresql:\/\/USER/);
    fs.writeFileSync(path.join(dir, 'c.json'), JSON.stringify({ store: stores[1] }));
    await refused(['check', '--config', 'c.json'], dir, '', /write postgresql:\/\/USER/);
    // What serve finds wrong with a database's address check finds, too, without a word of it.
    for (const S of ['postgresql://u:SESAME@h:abc/d', 'postgresql://u:SESAME@h:70000/d', 'postgresql://u:SESAME@h/d?prot=1', 'postgresql://u:SES/AME@h/d', 'postgresql://u@h/d?SESAME'])
        for (const words of commands.filter(([word]) => !/^(backup|restore)$/.test(word)))
            await refused([...words, '--store', 'env:S'], dir, S, /the store's address cannot be read; write postgresql:/);
});

test("a token in a server's address is sent there, and told nowhere else", async (t) => {
    const dir = t.folder(), url = 'http://127.0.0.1:1/mcp?token=SESAME', file = path.join(dir, 'c.json');
    fs.writeFileSync(file, JSON.stringify({ mcpServers: { crm: { url } } }));
    const r = await parley(['check', '--config', file], { cwd: dir });
    check(r.code === 0 && r.out.includes('crm: http://127.0.0.1:1/mcp,') && !/SESAME/.test(r.out + r.err), r.out + r.err);
    const server = await t.serve({ config: { mcpServers: { crm: { url } } } });
    await until(() => server.log.some((l) => l.event.startsWith('mcp.')), 'the log tells of it');
    check(!/SESAME/.test(JSON.stringify(server.log) + (await server.get('/metrics')).text + (await server.get('/v1/tools')).text), 'told');
});

test('a store that another server has open is told, and exit is 1', async (t) => {
    const server = await t.serve();
    const r = await parley(['serve', '--listen', '127.0.0.1:0', '--store', server.db], { cwd: server.dir });
    same(r.code, 1, r.err);
    check(r.err.includes(server.db), r.err);
    same((await server.get('/readyz')).status, 200, 'the first goes on');
});

test('the command line helps', async (t) => {
    const v = await parley(['--version']);
    same([v.code, /^parley \d+\.\d+\.\d+\n$/.test(v.out)], [0, true]);
    const h = await parley(['--help']);
    check(h.code === 0 && /serve/.test(h.out) && /check/.test(h.out), h.out);
    for (const args of [['serv'], ['serve', '--confg', 'x'], ['check', '--config'], ['serve', '--listen']]) {
        const r = await parley(args, { cwd: t.folder() });
        same([args.join(' '), r.code], [args.join(' '), 2]);
        check(r.err.length > 10, 'says why');
    }
});

test('what stands in an argument does nothing to the terminal that is told of it', async (t) => {
    const evil = 'a\x1b[2J\u202eb\x9bc', dir = t.folder(), store = path.join(dir, 'x.db');
    for (const words of [[evil], ['check', `--${evil}`], ['check', '--config', evil], ['check', '--store', `mysql${evil}://x`], ['health', `http://127.0.0.1:1/${evil}`],
        ['approvals', `http://127.0.0.1:1/${evil}`], ['key', 'ada', evil], ['restore', evil, '--store', store], ['backup', evil, '--store', path.join(dir, evil)],
        ['audit', 'verify', '--store', store, '--checkpoint', evil], ['nodes', '--store', evil], ['move', '--from', evil, '--to', store]]) {
        const r = await parley(words, { cwd: dir });
        check(r.code > 0 && r.err.length > 10 && !/[\x1b\u202e\x9b\ufffd]/.test(r.err), `${words[0]}: ${r.code} ${JSON.stringify(r.err)}`);
    }
});

// Through a shell, which can close what a program expects to find open.
async function shell(t, script, cwd = t.folder()) {
    const child = spawn('sh', ['-c', script, 'sh', BIN], { cwd, env: { PATH: process.env.PATH }, stdio: ['pipe', 'pipe', 'pipe'] });
    let out = '', err = '';
    child.stdout.setEncoding('utf8').on('data', (d) => { out += d; });
    child.stderr.setEncoding('utf8').on('data', (d) => { err += d; });
    child.stdin.end();
    const [code, signal] = await once(child, 'close');
    return { code: signal ?? code, out, err };
}

test('a closed stdin, stdout or stderr is no reason to abort', async (t) => {
    for (const [script, code] of [
        ['"$1" tools <&-', 0], ['"$1" tools call get_weather \'{"city":"Oslo"}\' <&-', 0], ['"$1" models --check 2>&-', 0],
        ['"$1" tools 2>&-', 0], ['"$1" tools <&- 2>&-', 0], ['"$1" check <&- 2>&-', 0], ['"$1" tools >&-', 1], ['"$1" tools <&- >&- 2>&-', 1]]) {
        const r = await shell(t, script);
        same([script, r.code], [script, code], r.err);
    }
});

test('output that could not be written is told, and exit is 1', async (t) => {
    for (const script of ['"$1" key ada >/dev/full', '"$1" key ada >&-', '"$1" check >/dev/full', '"$1" --help >/dev/full', '"$1" tools >/dev/full']) {
        const r = await shell(t, script);
        same([script, r.code], [script, 1], r.err);
        check(/output could not be written/.test(r.err), `${script}: ${r.err}`);
    }
});

test('options may stand anywhere among the words', async (t) => {
    const at = file(t, { tools: {}, demo: { tools: true } });
    const weather = ['get_weather', '{"city":"Oslo"}'];
    for (const args of [['models', '--check', '--config', at], ['models', '--config', at, '--check'], ['tools', 'call', '--config', at, ...weather],
        ['tools', '--config', at, 'call', ...weather], ['tools', 'call', weather[0], '--config', at, weather[1]], ['tools', 'call', ...weather, '--config', at]]) {
        const r = await parley(args);
        same([args.join(' '), r.code], [args.join(' '), 0], r.err);
    }
    for (const args of [['tools', 'cal', ...weather], ['tools', 'call', 'get_weather'], ['tools', 'call', ...weather, 'more'], ['models', 'x'], ['check', at], ['check', '--check'],
        ['check', '--config', at, '--config', at], ['serve', 'x']]) {
        const r = await parley(args, { cwd: t.folder() });
        same([args.join(' '), r.code], [args.join(' '), 2], r.err);
        check(r.err.length > 10, 'says why');
    }
});

test('every command helps when asked', async () => {
    for (const command of ['serve', 'check', 'models', 'tools', 'key']) for (const word of ['--help', '-h']) {
        const r = await parley([command, word]);
        same([command, r.code, r.err], [command, 0, '']);
        check(/parley serve/.test(r.out), r.out);
    }
    same((await parley(['tools', 'call', '--help'])).code, 0);
});

test('a key is made only for a name that check takes', async (t) => {
    for (const name of ['', 'a\nb', 'x'.repeat(2000), '\x7f']) {
        const r = await parley(['key', name]);
        same([JSON.stringify(name.slice(0, 9)), r.code, r.out], [JSON.stringify(name.slice(0, 9)), 2, '']);
        check(/name/.test(r.err) && !/\n./.test(r.err), r.err);
    }
    same((await shell(t, '"$1" key "$(printf \'\\377\')"')).code, 2, 'no UTF-8');
    for (const name of ['ada', 'Zo\u00eb "z"']) {
        const r = await parley(['key', name, 'admin']), entry = JSON.parse(r.out.trim().split('\n').at(-1));
        same([r.code, entry.principal], [0, name]);
        same((await parley(['check', '--config', file(t, { auth: { keys: [entry] } })])).code, 0);
    }
    same((await parley(['key', 'ada', 'root'])).code, 2);
});

test('check counts the tools of an MCP server that have a policy of their own, and says what the others have', async (t) => {
    const r = await parley(['check', '--config', file(t, { mcpServers: { s: { url: 'https://x.example/mcp', confirm: { read: 'never', '*': 'never' } } } })]);
    same(r.code, 0, r.err);
    check(/1 tool with a policy of its own, for the others nobody is asked/.test(r.out), r.out);
});

test('a tool whose risk is not said is not called low, and half a second is not none', async (t) => {
    const at = file(t, { demo: { tools: false }, tools: { a: { description: 'd', client: true, timeout: 0.5 }, b: { description: 'd', client: true, risk: 'high' } } });
    const r = await parley(['tools', '--config', at]);
    same(r.code, 0, r.err);
    check(/a {2}\(client[^]*?confirm "never", timeout 0\.5 s\n[^]*?b {2}\(client[^]*?risk high, timeout 60 s\n/.test(r.out), r.out);
});

test('check says what cannot be isolated here, and which programs never are', async (t) => {
    const dir = t.folder(), file = path.join(dir, 'parley.json');
    fs.writeFileSync(file, JSON.stringify({ tools: { t: { exec: { command: ['true'], sandbox: 'best_effort' } } }, mcpServers: { m: { command: 'cat' }, far: { url: 'https://example.org/mcp' } } }));
    const env = { ...process.env, PARLEY_TOKEN: 'a-token-of-this-test' };
    // A root that has no other uid to give: a user namespace with one of them.
    const r = spawnSync('unshare', ['-Ur', BIN, 'check', '--config', file], { cwd: dir, env, encoding: 'utf8' });
    if (/unshare failed/.test(r.stderr)) skip('no user namespaces here');
    same(r.status, 0, r.stderr);
    check(/^warning +no uids: the server is root/m.test(r.stdout), r.stdout);
    check(/^mcp +m: cat, .*; not isolated: its program may do what the server's user may$/m.test(r.stdout), r.stdout);
    check(/^mcp +far: https:.*$/m.exec(r.stdout)?.[0].includes('not isolated') === false, r.stdout);
});

test('what a start refuses the check refuses, and neither leaves a file behind', async (t) => {
    const exec = (more) => ({ tools: { t: { exec: { command: ['true'], sandbox: 'best_effort', ...more } } } });
    const { key } = keys(t.folder()), noting = (at) => ({ audit: { key, file: at } });
    const paying = (ledger) => ({ demo: { ledger } });
    for (const [config, reason] of [
        [exec({ command: ['cat', 'parley.db'] }), /it could read \S*parley\.db, which is the server's own/],
        [exec({ command: ['cat', 'sub/../parley.db-wal'] }), /it could read \S*parley\.db, which is the server's own/],
        [{ store: 'sub' }, /the store sub is a folder/],
        [{ store: 'nowhere/x.db' }, /the folder \S*nowhere of the store is not there/],
        [noting('sub'), /"audit.file" sub is a folder; name a file in it/],
        [noting('nowhere/c.jws'), /the folder \S*nowhere of "audit.file" is not there; make it/],
        ...(process.getuid() ? [[noting('/c.jws'), /"audit.file" \/c.jws cannot be written here: permission denied/i]] : []),   // root may
        [exec({ command: ['no-such-program-here'] }), /no-such-program-here/],
        ...['plain', 'pipe', 'loop', '/dev/null'].flatMap((work) => [{ ...exec({}), work }, { mcpServers: { a: { command: 'cat' } }, work }])
            .map((config) => [config, new RegExp(`"work" ${config.work} is no folder; name one`)]),
        [{ ...exec({}), work: 'nowhere/work' }, /the folder \S*nowhere of "work" is not there; make it/],
        [{ ...exec({}), work: 'plain/files/' }, /the folder \S*plain of "work" is not there; make it/],
        [paying('pipe'), /"demo.ledger" pipe cannot be used: it is a pipe/],
        [paying('/dev/null'), /"demo.ledger" \/dev\/null cannot be used: it is a device/],
        [paying('loop'), /"demo.ledger" loop cannot be used: too many levels of symbolic links/i],
        [paying('sub'), /"demo.ledger" sub is a folder; name a file in it/],
        [paying('nowhere/l.jsonl'), /the folder \S*nowhere of "demo.ledger" is not there; make it/],
    ]) {
        const at = file(t, { listen: '127.0.0.1:0', ...config }), cwd = path.dirname(at);
        fs.mkdirSync(path.join(cwd, 'sub'));
        fs.writeFileSync(path.join(cwd, 'plain'), '');
        fs.symlinkSync('loop', path.join(cwd, 'loop'));
        same(spawnSync('mkfifo', [path.join(cwd, 'pipe')]).status, 0);
        for (const command of ['check', 'serve']) {
            const r = await parley([command, '--config', at], { cwd });
            check(r.code === 1 && reason.test(r.err), `${command} ${JSON.stringify(config)}: ${r.code} ${r.err}`);
        }
        same(fs.readdirSync(cwd).sort(), ['loop', 'parley.json', 'pipe', 'plain', 'sub'], JSON.stringify(config));
    }
});

test('a path that nobody will write to is no reason not to start', async (t) => {
    const tools = { t: { http: { url: 'http://127.0.0.1:9/' } } };
    for (const config of [{ tools, work: 'parley.json' }, { demo: { tools: false, ledger: 'nowhere/l.jsonl' } }]) {
        const at = file(t, config), r = await parley(['check', '--config', at], { cwd: path.dirname(at) });
        same(r.code, 0, r.err);
    }
});

test('an MCP server whose program or directory is not there is warned of, and is no reason not to start', async (t) => {
    const at = file(t, { mcpServers: { a: { command: 'no-such-program-here' }, b: { command: 'cat', cwd: 'nowhere' }, c: { command: 'cat' }, d: { command: 'gone', disabled: true } } });
    const r = await parley(['check', '--config', at], { cwd: path.dirname(at) });
    same(r.code, 0, r.err);
    same(r.out.split('\n').filter((l) => /^warning/.test(l)).map((l) => l.replace(/^warning +/, '')), [
        'MCP server "a": the program no-such-program-here is not installed', 'MCP server "b": the directory nowhere of "cwd" is not there']);
});
