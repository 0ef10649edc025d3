// docs/guides: what stands there is taken out of the pages and run.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import tls from 'node:tls';
import { pathToFileURL } from 'node:url';
import { cluster, storeUrl } from '../cluster/lib.mjs';
import { ROOT, check, configured, parley, same, skip, test, until } from './lib.mjs';
import { approval, as, decide, key, say, script, sha256, still } from './org.mjs';
import { block, blocks, lines } from './written.mjs';

const page = (name) => `docs/guides/${name}.md`;
async function freePort() {
    const s = net.createServer();
    await new Promise((yes) => s.listen(0, '127.0.0.1', yes));
    const { port } = s.address();
    await new Promise((yes) => s.close(yes));
    return port;
}
// The page's configuration with keys of this test, as the tests serve it.
function config(name, more = {}) {
    const { listen, ...written } = JSON.parse(block(page(name), 'parley.json'));
    same(listen, '127.0.0.1:8000');
    for (const k of written.auth.keys ?? []) k.sha256 = sha256(key(k.principal));
    return { ...written, ...more };
}

test('guides are short, and are all listed', async () => {
    const names = fs.readdirSync(path.join(ROOT, 'docs/guides')).filter((n) => n !== 'README.md').sort();
    const index = fs.readFileSync(path.join(ROOT, 'docs/guides/README.md'), 'utf8');
    same([...index.matchAll(/\(([\w-]+\.md)\)/g)].map((m) => m[1]).sort(), names);
    for (const n of names) check(lines(`docs/guides/${n}`) <= 80, `${n} has ${lines(`docs/guides/${n}`)} lines`);
});

test('put it into a Next.js app: the handlers pass on who asks, the stream, the question and the answer', async (t) => {
    const app = t.folder(), dir = t.folder();
    for (const { name, text } of blocks(page('nextjs')).filter((b) => b.lang === 'js')) {
        fs.mkdirSync(path.join(app, path.dirname(name)), { recursive: true });
        fs.writeFileSync(path.join(app, name), text);
    }
    fs.writeFileSync(path.join(app, 'package.json'), '{"type":"module"}');
    const secret = spawnSync('openssl', ['rand', '-hex', '32'], { encoding: 'utf8' }).stdout;
    fs.writeFileSync(path.join(dir, 'parley.secret'), secret);
    const server = await t.serve({ dir, config: config('nextjs') });
    const before = { PARLEY_URL: process.env.PARLEY_URL, PARLEY_SECRET: process.env.PARLEY_SECRET };
    Object.assign(process.env, { PARLEY_URL: server.url, PARLEY_SECRET: secret.trim() });
    t.defer(() => { for (const [k, v] of Object.entries(before)) if (v === undefined) delete process.env[k]; else process.env[k] = v; });
    const load = (at) => import(pathToFileURL(path.join(app, at)));
    const { POST } = await load('app/api/chat/route.js'), { GET } = await load('app/api/chat/[id]/stream/route.js');

    const post = (who, messages) => POST(new Request('http://app/api/chat', { method: 'POST', headers: who ? { cookie: `theme=dark; user=${who}` } : {}, body: JSON.stringify({ id: 'first', messages, trigger: 'submit-message' }) }));
    const chunks = async (answer) => (await answer.text()).split('\n\n').filter((x) => x.startsWith('data: {')).map((x) => JSON.parse(x.slice(6)));
    const user = { id: 'm1', role: 'user', parts: [{ type: 'text', text: 'Send 50 dollars to Hanako' }] };
    same((await post(null, [user])).status, 401);
    const answer = await post('ada', [user]);
    same([answer.status, answer.headers.get('content-type'), answer.headers.get('x-vercel-ai-ui-message-stream')], [200, 'text/event-stream', 'v1']);
    const told = await chunks(answer), asked = told.find((c) => c.type === 'tool-approval-request');
    check(asked, JSON.stringify(told));
    same(server.ledger(), []);
    const part = { type: 'tool-process_payment', toolCallId: asked.toolCallId, state: 'approval-responded', input: told.find((c) => c.type === 'tool-input-available').input, approval: { id: asked.approvalId, approved: true } };
    const assistant = { id: told.find((c) => c.type === 'start').messageId, role: 'assistant', parts: [part] };
    const foreign = await post('bob', [user, assistant]);
    same([foreign.status, foreign.headers.get('parley-error')], [404, 'unknown_confirmation'], 'bob does not answer for ada');
    await foreign.text();
    const rest = await chunks(await post('ada', [user, assistant]));
    check(rest.some((c) => c.type === 'tool-output-available') && rest.at(-1).type === 'finish', JSON.stringify(rest));
    same(server.ledger().length, 1);
    const resumed = await GET(new Request('http://app/api/chat/first/stream', { headers: { cookie: 'user=ada' } }), { params: Promise.resolve({ id: 'first' }) });
    same(resumed.status, 204, 'nothing is being written');
});

test('a gated refund: small ones run, large ones wait for a lead, one order once', async (t) => {
    const dir = t.folder(), port = await freePort();
    fs.writeFileSync(path.join(dir, 'shop.mjs'), block(page('refund'), 'shop.mjs', { 9100: String(port) }));
    t.program(process.execPath, ['shop.mjs'], { cwd: dir });
    await until(() => new Promise((yes) => { const s = net.connect(port, '127.0.0.1', () => { s.destroy(); yes(true); }).on('error', () => yes(false)); }), 'the shop');
    const { model } = await script(t, [['refund', { order: 'A-6', amount: 5 }]], 'Done.', [['refund', { order: 'A-7', amount: 80 }]], 'Done.', [['refund', { order: 'A-7', amount: 10 }]], 'No.');
    const written = config('refund', { model, actions: {} });
    written.tools.refund.http.url = written.tools.refund.http.url.replace('9100', String(port));
    const file = path.join(dir, 'check.json');
    fs.writeFileSync(file, JSON.stringify({ ...written, listen: '127.0.0.1:0' }));
    const checked = await parley(['check', '--config', file], { cwd: dir });
    same(checked.code, 0, checked.err);
    const tried = await parley(['tools', 'call', 'refund', '{"order":"A-5","amount":5}', '--as', 'ada', '--config', file], { cwd: dir });
    check(tried.code !== 0 && /only a server knows what was done already/.test(tried.err), 'not past the server');

    const server = await t.serve({ config: written });
    const small = await say(server, 'ada', 'Refund 5 for A-6');
    same([small.ids, small.history[0].value], [[], { order: 'A-6', amount: 5, number: 1 }]);
    const large = await say(server, 'ada', 'Refund 80 for A-7, it came broken'), [id] = large.ids;
    same((await approval(server, 'max', id)).ask, 'Refund 80 for order A-7?');
    same((await decide(server, 'ada', id, true)).json.error.code, 'not_approver');
    same((await decide(server, 'max', id, true, { input: { order: 'A-9', amount: 80 } })).json.error.code, 'edit_not_allowed');
    const changed = await decide(server, 'max', id, true, { input: { order: 'A-7', amount: 60 } });
    same([changed.status, changed.json.status], [200, 'replaced']);
    await until(async () => (await approval(server, 'max', changed.json.replaced_by)).status === 'done', 'the refund');
    await still(server, 'ada', large.thread);
    const again = await say(server, 'ada', 'Refund 10 more for A-7');
    same([again.ids, again.history[0].outcome], [[], 'duplicate']);
});

function startNginx(t, dir, site) {
    const nginx = ['/usr/sbin/nginx', '/usr/bin/nginx'].find((p) => fs.existsSync(p));
    if (!nginx) skip('nginx is not installed');
    const temp = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((n) => `${n}_temp_path ${dir}/${n};`).join('\n');
    fs.writeFileSync(`${dir}/nginx.conf`, `daemon off; master_process off; pid ${dir}/pid; error_log ${dir}/error.log;\nevents {}\nhttp { access_log off;\n${temp}\n${site}\n}\n`);
    return t.program(nginx, ['-p', dir, '-c', `${dir}/nginx.conf`, '-e', `${dir}/error.log`]);
}

test('behind nginx: TLS, a stream word by word, sockets, and the secure cookie', async (t) => {
    const dir = t.folder(), port = await freePort();
    const made = spawnSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '1', '-subj', '/CN=chat.example.org', '-addext', 'subjectAltName=DNS:chat.example.org', '-keyout', `${dir}/key`, '-out', `${dir}/crt`], { encoding: 'utf8' });
    same(made.status, 0, made.stderr);
    const server = await t.serve({ config: { ...config('nginx'), demo: { token_ms: 30 } } });
    const site = block(page('nginx'), '/etc/nginx/conf.d/parley.conf', { '127.0.0.1:8000': `127.0.0.1:${server.port}`, 'listen 443 ssl': `listen 127.0.0.1:${port} ssl`, '/etc/ssl/chat.example.org.crt': `${dir}/crt`, '/etc/ssl/chat.example.org.key': `${dir}/key` });
    const proxy = startNginx(t, dir, site);
    const ca = fs.readFileSync(`${dir}/crt`);
    const connect = () => new Promise((yes, no) => { const s = tls.connect({ port, host: '127.0.0.1', ca, servername: 'chat.example.org' }, () => yes(s)); s.on('error', no); });
    await until(() => connect().then((s) => { s.destroy(); return true; }, () => { if (proxy.status !== null) throw new Error(`nginx: ${proxy.err}`); return false; }), 'nginx');
    // One request by hand; what came so far is in `text`.
    const ask = async (head, body = '') => {
        const s = await connect(), got = { text: '' };
        t.defer(() => s.destroy());
        s.setEncoding('utf8').on('data', (d) => { got.text += d; }).on('error', () => {});
        s.write(`${head}\r\nHost: chat.example.org\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
        got.says = (pattern) => until(() => pattern.test(got.text), `${pattern} in ${got.text}`);
        return got;
    };
    const bearer = `Authorization: Bearer ${key('ada')}`;
    await (await ask('GET /readyz HTTP/1.1')).says(/^HTTP\/1\.1 200[^]*"ready":true/);
    const session = await ask(`POST /v1/session HTTP/1.1\r\n${bearer}`);
    await session.says(/set-cookie: __Host-parley=[^\r]*; Secure/i);
    const stream = await ask(`POST /v1/chat/stream HTTP/1.1\r\n${bearer}\r\nContent-Type: application/json`, '{"message":"Find articles about CRISPR"}');
    await stream.says(/"type":"text_delta"/);
    check(!/"type":"complete"/.test(stream.text), 'words come before the end');
    await stream.says(/"type":"complete"/);
    const socket = await ask(`GET /live HTTP/1.1\r\n${bearer}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nOrigin: https://chat.example.org`);
    await socket.says(/^HTTP\/1\.1 101[^]*"type":"hello"/);
});

test('sign in with your provider: there and back with a session, roles from the token', async (t) => {
    const { startProvider } = await import('../browser/lib/provider.mjs').catch(() => skip('the packages of test/browser, with a provider, are not installed'));
    const provider = await startProvider({ roles: { ada: ['user'], bob: ['user', 'approver'] } });
    t.defer(provider.close);
    const written = config('sign-in');
    Object.assign(written.auth.oidc, { issuer: provider.issuer });
    delete written.public_url;                              // here people reach it by its own address
    const dir = t.folder(), file = path.join(dir, 'check.json'), env = { PARLEY_OIDC_SECRET: provider.secret };
    fs.writeFileSync(file, JSON.stringify(configured(written)));
    const checked = await parley(['check', '--config', file], { cwd: dir, env });
    same(checked.code, 0, checked.err);
    const server = await t.serve({ config: written, env });
    provider.serve(`${server.url}/v1/login/callback`);
    await until(() => server.log.some((l) => l.event === 'oidc.found'), 'the provider');

    // A browser without a page: cookies by host, redirects by hand.
    const browser = (jar = new Map()) => async (url, options = {}) => {
        const { host, port } = new URL(url), mine = [...(jar.get(host + port) ?? new Map())].map(([k, v]) => `${k}=${v}`).join('; ');
        const r = await fetch(url, { ...options, redirect: 'manual', headers: { ...options.headers, ...(mine && { cookie: mine }) } });
        for (const line of r.headers.getSetCookie()) {
            const [, name, value] = /^([^=]+)=([^;]*)/.exec(line);
            if (!jar.has(host + port)) jar.set(host + port, new Map());
            jar.get(host + port).set(name, value);
        }
        return { status: r.status, text: await r.text(), to: r.headers.get('location') && new URL(r.headers.get('location'), url).href };
    };
    const signIn = async (go, name) => {
        let r = await go(`${server.url}/v1/login?to=/inbox`);
        for (let hops = 0; r.to && hops < 12 && !r.to.endsWith('/inbox'); hops++)
            r = r.to.includes('/sign-in/') ? await go(r.to, { method: 'POST', body: new URLSearchParams({ login: name, do: 'yes' }) }) : await go(r.to);
        return r;
    };
    const bob = browser(), back = await signIn(bob, 'bob');
    // the page that is come back to may stand in a page of its own: a strict cookie does not come with a redirect from elsewhere
    check(back.to === `${server.url}/inbox` || back.text.includes('/inbox'), JSON.stringify(back));
    const me = JSON.parse((await bob(`${server.url}/v1/session`)).text);
    same([me.principal, me.roles, me.decides], ['bob', ['user', 'approver'], 'approver']);
    const stranger = browser();
    same((await stranger(`${server.url}/v1/session`)).status, 401);
    same((await stranger(`${server.url}/v1/login/callback?code=stolen&state=made-up`)).to, `${server.url}/?signin=expired`);
});

// --- several nodes: docs/cluster.md, examples/cluster ------------------------------------------------

test('several nodes: the configurations hold with a key that parley made, and not without one', async (t) => {
    const dir = t.folder(), file = path.join(dir, 'parley.json'), secret = path.join(dir, 'cluster.key');
    const line = JSON.parse((await parley(['key', 'ann'])).out.match(/^ *(\{.*\})$/m)[1]);
    fs.writeFileSync(secret, spawnSync('openssl', ['rand', '-hex', '32']).stdout);
    const env = { PARLEY_STORE: 'postgresql://parley:secret@db1,db2/parley', PARLEY_CLUSTER_KEY: fs.readFileSync(secret, 'utf8').trim() };
    const checked = async (config) => { fs.writeFileSync(file, JSON.stringify(config)); return parley(['check', '--config', file], { cwd: dir, env }); };
    const ten = JSON.parse(block('docs/cluster.md', 'json', { '/etc/parley/cluster.key': secret }));
    const example = JSON.parse(fs.readFileSync(path.join(ROOT, 'examples/cluster/parley.json'), 'utf8').replace('NODE', 'node1'));
    for (const config of [ten, example]) {
        const without = await checked(config);
        check(without.code === 1 && /auth/.test(without.err), `what is to be put in is asked for: ${without.err}`);
        config.auth.keys = [line];
        const r = await checked(config);
        same(r.code, 0, r.err);
        check(!/secret@/.test(r.out + r.err), 'no password in it');
    }
});

test("several nodes: nginx of the example sends requests to each of them, and nobody to the nodes' own door", async (t) => {
    const c = await cluster(t, { nodes: 3 }), dir = t.folder(), port = await freePort();
    let site = fs.readFileSync(path.join(ROOT, 'examples/cluster/nginx.conf'), 'utf8');
    const put = (from, to) => { check(site.includes(from), from); site = site.replace(from, to); };
    put('listen 80;', `listen 127.0.0.1:${port};`);
    c.nodes.forEach((n, i) => put(`node${i + 1}:8000`, `127.0.0.1:${n.port}`));
    const proxy = startNginx(t, dir, site), front = Object.create(c, { port: { value: port } });
    await until(() => front.get('/healthz').then((r) => r.status === 200, () => { if (proxy.status !== null) throw new Error(`nginx: ${proxy.err}`); return false; }), 'nginx');
    const asked = () => Promise.all(c.nodes.map(async (n) => (await n.metrics()).parley_claims_total + (await n.metrics()).parley_forwards_total));
    const s = await front.turn('Find articles about CRISPR'), before = await asked();
    for (const _ of c.nodes) same((await front.post(`/v1/threads/${s.thread}/stop`, {})).status, 200);
    const after = await asked();
    same(after.filter((n, i) => n > before[i]).length, 2, 'all but the holder sent it on');
    same((await front.get('/node')).status, 404);
    same((await c.nodes[0].get('/node')).status === 404, false, 'which is there');
});

// Somebody else owns the tables.
test('several nodes: a role with the rights of docs/configuration.md, and no others, is enough', async (t) => {
    const c = await cluster(t, { nodes: 2 });
    const text = fs.readFileSync(path.join(ROOT, 'docs/configuration.md'), 'utf8');
    const grants = text.match(/^ +GRANT [^]*?;$/gm).join('\n').replaceAll('SCHEMA public', `SCHEMA ${c.store.schema}`).replaceAll('TO parley;', 'TO guest;');
    await c.sql(grants);
    const least = await c.add({ env: { PARLEY_STORE: storeUrl(c.store).replace('parley:open', 'guest:open') } });
    await least.start();
    const s = await least.turn('Send 50 dollars to Hanako');
    same((await least.post(`/v1/approvals/${s.payload.awaiting[0]}`, { confirmed: true })).status, 200);
    await until(() => c.ledger().length === 1, 'the payment');
    same((await least.request('DELETE', `/v1/threads/${(await least.turn('hello')).thread}`)).status, 204);
});
