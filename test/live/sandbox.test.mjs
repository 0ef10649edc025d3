// A hostile program as a tool of a real server: it tries to read, disturb, use up and leave behind, and the server goes on as before.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { ROOT, check, oneProcess, parley, same, skip, test, until } from './lib.mjs';
import { serveModel, startUpstream } from './upstream.mjs';

const call = (name, input = {}) => `{{call ${name} ${JSON.stringify(input)}}}`;
const outcome = (s, i = 0) => s.payload.tool_history[i];
const LIMITS = { memory: 100 << 20, processes: 40, work: 50 << 20 };

// The server's own things lie beside the tool's script, as people have it.
async function attacked(t, { command, limits = LIMITS, timeout = 20, ...more } = {}) {
    const dir = t.folder(), script = path.join(dir, 'hostile.py'), key = path.join(dir, 'key'), mark = String(60000 + Math.floor(Math.random() * 1e9));
    fs.copyFileSync(path.join(ROOT, 'test/live/hostile_tool.py'), script);
    fs.writeFileSync(key, 'sk-secret\n');
    fs.chmodSync(dir, 0o711);                       // tools of root are somebody else and must get to their directory
    const files = [path.join(dir, 'x.db'), path.join(dir, 'parley.json'), key];
    const up = await startUpstream(t);
    const tool = { input_schema: { type: 'object' }, confirm: 'never', timeout,
        exec: { command: command?.(dir) ?? ['python3', script], limits, env: { FILES: files.join(':'), MARK: mark, OTHER: 'file:' + key } } };
    const server = await serveModel(t, up, 'openai', { dir, env: { SECRET_OF_THE_SERVER: 'hunter2' }, config: { demo: { tools: false }, actions: {}, tools: { attack: tool }, ...more } });
    return { server, dir, mark, async attack(what) { return outcome(await server.turn(call('attack', { do: what, server: server.child.pid }))); } };
}

const alive = async (server) => same((await server.get('/healthz')).status, 200, 'healthz');
const running = (mark) => fs.readdirSync('/proc').filter((p) => /^\d+$/.test(p)).filter((p) => { try { return fs.readFileSync(`/proc/${p}/cmdline`, 'utf8').split('\0').includes(mark); } catch { return false; } });
const work = (dir) => fs.readdirSync(dir).filter((n) => n.endsWith('.work')).flatMap((n) => fs.readdirSync(path.join(dir, n)).flatMap((k) => fs.readdirSync(path.join(dir, n, k))));

for (const what of ['read', 'others']) test(`a hostile program cannot ${what === 'read' ? 'read or change what is the server\'s' : 'disturb another process'}`, async (t) => {
    const { server, attack } = await attacked(t);
    const r = await attack(what);
    check(r.success !== false, JSON.stringify(r));
    same(JSON.parse(r.output), [], 'what it could do');
    await alive(server);
});

test('a hostile program leaves no process, memory or file behind', async (t) => {
    const { server, dir, mark, attack } = await attacked(t);
    // Of tools alone: databases of other suites have some, too.
    const owners = (kind) => {
        const [head, ...rows] = fs.readFileSync(`/proc/sysvipc/${kind}`, 'utf8').trim().split('\n').map((l) => l.trim().split(/\s+/));
        return rows.map((r) => Number(r[head.indexOf('cuid')]));
    };
    const ofTool = (uid) => (process.getuid() === 0 ? uid >= 61184 && uid <= 65519 : uid === process.getuid());
    const shm = () => ['shm', 'sem'].flatMap(owners).filter(ofTool).length;
    const before = shm();
    same(JSON.parse((await attack('behind')).output), [], 'what it could do');
    same(running(mark), [], 'left-over processes');
    same(shm(), before, 'System V memory');
    await until(() => work(dir).length === 0, 'the work directory to be removed');
    await alive(server);
});

test('a fork bomb, a flood of memory and a flood of words end, as unknown, and the server answers meanwhile', async (t) => {
    const { server, dir, attack } = await attacked(t, { timeout: 4 });
    for (const what of ['bomb', 'memory', 'noise']) {
        const ended = attack(what);
        let over = false;
        ended.then(() => { over = true; }, () => { over = true; });
        while (!over) await alive(server);
        const r = await ended;
        check(/Whether it had an effect is not known/.test(r.output), `${what}: ${JSON.stringify(r)}`);
    }
    await until(() => work(dir).length === 0, 'the work directories to be removed');
}, { timeout_ms: 120000 });

test('a hostile program in machine code finds no other way', async (t) => {
    const { server, attack } = await attacked(t, { command: (dir) => {
        const at = path.join(dir, 'hostile');
        try { execFileSync('cc', ['-O1', '-o', at, path.join(ROOT, 'test/live/hostile_tool.c')], { stdio: 'ignore' }); } catch { skip('there is no C compiler'); }
        return [at];
    } });
    const r = await attack('all');
    same(JSON.parse(r.output), [], 'what it could do');
    await alive(server);
});

test('no more programs run at once than the configuration says', async (t) => {
    oneProcess('each counts the programs that it runs');
    const dir = t.folder(), script = 'sleep 0.2; echo "{\\"result\\":1}"';
    const up = await startUpstream(t);
    const server = await serveModel(t, up, 'openai', { dir, config: { demo: { tools: false }, actions: {}, limits: { programs: 3 },
        tools: { slow: { input_schema: { type: 'object' }, confirm: 'never', exec: { command: ['/bin/sh', '-c', script] } } } } });
    let most = 0, over = 0;
    const all = Array.from({ length: 9 }, async () => { const s = await server.turn(call('slow')); over++; return outcome(s).output; });
    while (over < all.length) { most = Math.max(most, work(dir).length); await alive(server); }
    same(await Promise.all(all), Array(9).fill('1'));
    check(most > 0 && most <= 4, `${most} at once`);        // one may be on its way out
});

test('a tool that could read the server\'s own files is refused by check as by serve', async (t) => {
    const dir = t.folder(), at = path.join(dir, 'parley.json');
    for (const [exec, reason] of [[{ cwd: '.' }, /of "cwd" it could read .*parley-test/], [{ read: ['.'] }, /of "read" it could read/], [{ command: ['cat', 'parley.json'] }, /of "command" it could read/],
        [{ read: ['keys'], env: { K: 'file:keys/k' } }, /it could read .*keys\/k/]]) {
        fs.mkdirSync(path.join(dir, 'keys'), { recursive: true });
        fs.writeFileSync(path.join(dir, 'keys/k'), 'sk-1');
        fs.writeFileSync(at, JSON.stringify({ listen: '127.0.0.1:0', tools: { t: { description: 'd', exec: { command: ['sh'], ...exec } } } }));
        for (const args of [['check'], ['serve', '--store', 'sqlite:' + path.join(dir, 'x.db')]]) {
            const r = await parley([...args, '--config', at], { cwd: dir });
            same(r.code, 1, `${args[0]}: ${r.out}`);
            check(reason.test(r.err), `${args[0]}: ${r.err}`);
        }
    }
});
