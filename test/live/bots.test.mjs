// The two programs under examples/ that carry questions to where people are, against local fakes.
import { createHmac } from 'node:crypto';
import http from 'node:http';
import net from 'node:net';
import path from 'node:path';
import { ROOT, check, same, test, until } from './lib.mjs';
import { approval, auth, bank, key, payments, say, still } from './org.mjs';

const PEOPLE = { ada: ['user'], fay: ['finance'], fin: ['finance'], bot: ['notifier'] };
const RULES = [{ tool: '*', from: { role: 'finance', count: 2, not_requester: true } }];
const SECRET = 'a secret for hooks';
const office = (t, b, more = {}) => t.serve({ config: payments(b, {}, { auth: auth(PEOPLE), approvals: { rules: RULES }, public_url: 'http://127.0.0.1', links: { key: 'text:0123456789abcdef0123456789abcdef' }, ...more }) });
const freePort = () => new Promise((done) => { const s = net.createServer().listen(0, '127.0.0.1', () => { const { port } = s.address(); s.close(() => done(port)); }); });

async function fake(t, take) {
    const got = [], server = http.createServer((req, res) => { let text = ''; req.on('data', (d) => { text += d; }).on('end', () => { got.push({ url: req.url, text }); res.setHeader('content-type', 'application/json'); res.end('{"ok":true}'); take?.(req, text); }); });
    await new Promise((done) => server.listen(0, '127.0.0.1', done));
    t.defer(() => { server.closeAllConnections(); server.close(); });
    return { got, url: `http://127.0.0.1:${server.address().port}` };
}

test('the chat bot: a message with buttons, and a press is that person\'s vote', async (t) => {
    const b = await bank(t), server = await office(t, b), slack = await fake(t), port = await freePort();
    const bot = t.program(process.execPath, [path.join(ROOT, 'examples/slack-bot/bot.mjs')], { env: { ...process.env, PARLEY_URL: server.url, PARLEY_KEY: key('bot'), SLACK_API: slack.url, SLACK_TOKEN: 'x', SLACK_SIGNING_SECRET: 'shh', CHANNEL: 'C1', PEOPLE: JSON.stringify({ U1: 'fay', U2: 'fin', U3: 'ada' }), PORT: String(port) } });
    await bot.says(/presses at/, 'the bot');
    await bot.says(/listening \(200\)/, 'its stream');
    const s = await say(server, 'ada', 'Send 50 dollars to Hanako');
    const sent = await until(() => slack.got.find((g) => g.url === '/chat.postMessage' && g.text.includes(s.ids[0])), 'the message');
    const shown = JSON.parse(sent.text);
    check(/Hanako/.test(shown.text) && /ada/.test(shown.text), shown.text);
    const press = async (user, action_id, secret = 'shh') => {
        const body = `payload=${encodeURIComponent(JSON.stringify({ user: { id: user }, actions: [{ action_id, value: s.ids[0] }], response_url: `${slack.url}/answer` }))}`, at = Math.floor(Date.now() / 1000), before = slack.got.length;
        const signature = `v0=${createHmac('sha256', secret).update(`v0:${at}:${body}`).digest('hex')}`;
        const r = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', headers: { 'x-slack-request-timestamp': String(at), 'x-slack-signature': signature }, body });
        return r.status === 401 ? 401 : (await until(() => slack.got.slice(before).find((g) => g.url === '/answer'), 'the answer')).text;
    };
    same(await press('U1', 'primary', 'forged'), 401);
    check(/do not know/.test(await press('U9', 'primary')), 'a stranger');
    check(/You said yes/.test(await press('U1', 'primary')), 'fay');
    check(/not for them to decide/.test(await press('U3', 'primary')), 'who asked for it');
    same((await approval(server, 'ada', s.ids[0])).votes.map((v) => v.by), ['fay']);
    check(/You said yes/.test(await press('U2', 'primary')), 'fin');
    await still(server, 'ada', s.thread);
    same(b.books.length, 1);
});

// Takes mail as a relay does, and keeps it.
async function relay(t) {
    const mails = [], server = net.createServer((s) => {
        let data = null, to, rest = '';
        s.write('220 here\r\n');
        s.on('error', () => undefined).on('data', (d) => {
            rest += d;
            for (let end; (end = rest.indexOf('\r\n')) >= 0;) {
                const line = rest.slice(0, end);
                rest = rest.slice(end + 2);
                if (data && line === '.') { mails.push({ to, text: data.join('\n') }); data = null; s.write('250 taken\r\n'); } else if (data) data.push(line);
                else if (/^RCPT/.test(line)) { to = /<(.*)>/.exec(line)[1]; s.write('250 ok\r\n'); } else if (line === 'DATA') { data = []; s.write('354 go\r\n'); } else if (line === 'QUIT') s.end('221 bye\r\n'); else s.write('250 ok\r\n');
            }
        });
    });
    await new Promise((done) => server.listen(0, '127.0.0.1', done));
    t.defer(() => server.close());
    return { mails, at: `127.0.0.1:${server.address().port}` };
}

test('the mailer: a mail with a link to each who may decide, once, and to nobody else', async (t) => {
    const b = await bank(t), post = await relay(t), port = await freePort();
    const server = await office(t, b, { notify: [{ url: `http://127.0.0.1:${port}/`, secret: `text:${SECRET}`, allow: ['127.0.0.1'] }] });
    const mailer = t.program(process.execPath, [path.join(ROOT, 'examples/mailer/mailer.mjs')], { env: { ...process.env, PARLEY_URL: server.url, PARLEY_KEY: key('bot'), HOOK_SECRET: SECRET, PORT: String(port), SMTP: post.at, PEOPLE: JSON.stringify({ ada: { mail: 'ada@x', roles: ['user'] }, fay: { mail: 'fay@x', roles: ['finance'] }, fin: { mail: 'fin@x', roles: ['finance'] } }) } });
    await mailer.says(/webhooks at/, 'the mailer');
    const s = await say(server, 'ada', 'Send 50 dollars to Hanako');
    await until(() => post.mails.length >= 2, 'the mails', 30000);
    same(post.mails.map((m) => m.to).sort(), ['fay@x', 'fin@x']);
    for (const m of post.mails) {
        const text = Buffer.from(m.text.split('\n\n')[1], 'base64').toString(), at = new URL(/http\S+\/a\/k\.\S+/.exec(text)[0]).pathname;
        const r = await server.request('POST', at, 'decision=approve', { 'content-type': 'application/x-www-form-urlencoded' });
        same(r.status, 200, m.to);
    }
    await still(server, 'ada', s.thread);
    same(b.books.length, 1);
    const forged = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', headers: { 'webhook-id': 'evt_1', 'webhook-timestamp': String(Math.floor(Date.now() / 1000)), 'webhook-signature': 'v1,AAAA' }, body: '{}' });
    same(forged.status, 401);
});
