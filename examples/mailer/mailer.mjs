// A mail with a link to everybody who may decide: receives parley's webhooks and hands mails to an
// SMTP relay. No dependencies; Node 18 or newer.
//
//   PARLEY_URL, PARLEY_KEY   where parley is, and a key with the role "notifier"
//   HOOK_SECRET, PORT        the secret of its entry under "notify", and where the webhooks arrive
//   SMTP                     host:port of a relay that takes mail from here without signing in
//   FROM, PEOPLE             {"fay": {"mail": "fay@example.org", "roles": ["finance"]}}
import { createHmac, timingSafeEqual } from 'node:crypto';
import http from 'node:http';
import net from 'node:net';

const { PARLEY_URL, PARLEY_KEY, HOOK_SECRET, PORT = '3001', SMTP = '127.0.0.1:25', FROM = 'parley@localhost', PEOPLE = '{}' } = process.env;
const people = Object.entries(JSON.parse(PEOPLE)), done = new Set();

// Standard Webhooks: HMAC over "id.timestamp.body"; the same id again is the same message.
function genuine(headers, body) {
    const key = HOOK_SECRET.startsWith('whsec_') ? Buffer.from(HOOK_SECRET.slice(6), 'base64') : HOOK_SECRET, at = headers['webhook-timestamp'];
    const want = Buffer.from(`v1,${createHmac('sha256', key).update(`${headers['webhook-id']}.${at}.${body}`).digest('base64')}`), given = Buffer.from(headers['webhook-signature'] ?? '');
    return Math.abs(Date.now() / 1000 - Number(at)) < 300 && given.length === want.length && timingSafeEqual(given, want);
}

// Of the levels of a question those that are asked now; without a rule its owner alone.
function asked({ who }, owner) {
    if (!who) return people.filter(([name]) => name === owner);
    const now = new Date().toISOString(), levels = [who.from, ...who.escalate.filter((l) => l.at <= now).map((l) => l.to)];
    return people.filter(([name, p]) => levels.some((l) => p.roles?.includes(l.role) && !(l.not_requester && name === owner)));
}

// One mail: each of our lines waits for the relay's answer to the one before.
function mail(to, subject, text) {
    const plain = (s) => s.replace(/[\r\n]+/g, ' '), coded = `=?utf-8?b?${Buffer.from(plain(subject)).toString('base64')}?=`;
    const body = `From: ${FROM}\r\nTo: ${to}\r\nSubject: ${coded}\r\nMIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: base64\r\n\r\n${Buffer.from(text).toString('base64').replace(/.{76}/g, '$&\r\n')}\r\n.`;
    const lines = [undefined, 'EHLO parley', `MAIL FROM:<${FROM}>`, `RCPT TO:<${to}>`, 'DATA', body, 'QUIT'], [host, port] = SMTP.split(':');
    return new Promise((yes, no) => {
        const s = net.connect(Number(port), host);
        let rest = '';
        s.setTimeout(20000, () => s.destroy(new Error('the relay does not answer')));
        s.on('error', no).on('close', () => (lines.length ? no(new Error('the relay hung up')) : yes()));
        s.on('data', (d) => {
            rest += d;
            if (!/^\d{3} .*\r\n$/m.test(rest)) return;
            if (!/^[23]/.test(rest)) return s.destroy(new Error(rest.trim()));
            rest = '';
            lines.shift();
            if (lines.length) s.write(`${lines[0]}\r\n`); else s.end();
        });
    });
}

async function tell({ approval, owner }) {
    for (const [name, { mail: to }] of asked(approval, owner)) {
        const r = await fetch(`${PARLEY_URL}/v1/approvals/${approval.id}/links`, { method: 'POST', headers: { authorization: `Bearer ${PARLEY_KEY}` }, body: JSON.stringify({ for: name }) });
        if (r.status !== 201) continue;              // decided meanwhile
        const { url, until } = await r.json();
        await mail(to, approval.ask ?? approval.tool, `${approval.ask ?? approval.tool}\n\nAsked for by ${owner}.\n\nDecide here, until ${until}:\n${url}\n`);
    }
}

http.createServer((req, res) => {
    let body = '';
    req.on('data', (d) => { body += d; if (body.length > 4e6) req.destroy(); });
    req.on('end', async () => {
        if (!genuine(req.headers, body)) return res.writeHead(401).end();
        const id = req.headers['webhook-id'], { type, data } = JSON.parse(body);
        try {
            if (!done.has(id) && /asked|escalated/.test(type)) await tell(data);
            done.add(id);
            res.writeHead(204).end();
        } catch (e) { console.error(`mailer: ${e.message}`); res.writeHead(503).end(); }   // parley sends it again
    });
}).listen(Number(PORT), () => console.log(`mailer: webhooks at ${PORT}`));
