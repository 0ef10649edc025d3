// A bot in a chat: what waits for a person becomes a message with two buttons, and a press becomes
// that person's decision. No dependencies; Node 18 or newer.
//
//   PARLEY_URL, PARLEY_KEY   where parley is, and a key with the role "notifier"
//   SLACK_API, SLACK_TOKEN   https://slack.com/api, and the bot's token
//   SLACK_SIGNING_SECRET     presses are signed with it
//   CHANNEL, PEOPLE, PORT    where to; {"U024":"ada"}: who is who; where presses arrive
//
// parley needs "links": {"key"} and "public_url". The bot itself may decide nothing: it makes a link
// for the person who pressed and follows it, so parley judges whether that person may.
import { createHmac, timingSafeEqual } from 'node:crypto';
import http from 'node:http';

const { PARLEY_URL, PARLEY_KEY, SLACK_API = 'https://slack.com/api', SLACK_TOKEN, SLACK_SIGNING_SECRET, CHANNEL, PEOPLE = '{}', PORT = '3000' } = process.env;
const people = JSON.parse(PEOPLE), key = { authorization: `Bearer ${PARLEY_KEY}` };

async function slack(method, body) {
    const r = await fetch(`${SLACK_API}/${method}`, { method: 'POST', headers: { 'content-type': 'application/json', authorization: `Bearer ${SLACK_TOKEN}` }, body: JSON.stringify(body) });
    return r.json();
}

// --- what waits ------------------------------------------------------------------------------

const button = (text, style, value) => ({ type: 'button', style, action_id: style, text: { type: 'plain_text', text }, value });
function message({ id, ask, owner, tool, votes, needed }) {
    const said = votes?.length ? ` (${votes.length} of ${needed}: ${votes.map((v) => v.by).join(', ')})` : '';
    const text = `${ask ?? tool}${owner ? `, asked for by ${owner}` : ''}${said}`;
    return { channel: CHANNEL, text, blocks: [{ type: 'section', text: { type: 'plain_text', text } },
        { type: 'actions', elements: [button('Approve', 'primary', id), button('Deny', 'danger', id)] }] };
}

// The event stream, from where it broke off; server-sent events are lines of text.
async function follow() {
    for (let after = ''; ; await new Promise((go) => setTimeout(go, 1000))) {
        try {
            const r = await fetch(`${PARLEY_URL}/v1/approvals/events${after && `?after=${after}`}`, { headers: key });
            let rest = '';
            console.log(`bot: listening (${r.status})`);
            for await (const bytes of r.body) {
                rest += Buffer.from(bytes).toString();
                for (let end; (end = rest.indexOf('\n\n')) >= 0; rest = rest.slice(end + 2)) {
                    const block = rest.slice(0, end), data = /^data: (.*)$/m.exec(block);
                    if (!data) continue;
                    const { event, approval } = JSON.parse(data[1]);
                    if (event === 'asked' || event === 'escalated') await slack('chat.postMessage', message(approval));
                    after = /^id: (.*)$/m.exec(block)[1];
                }
            }
        } catch (e) { console.error(`bot: ${e.message}`); }
    }
}

// --- presses -----------------------------------------------------------------------------------

function genuine(req, body) {
    const at = req.headers['x-slack-request-timestamp'], given = Buffer.from(req.headers['x-slack-signature'] ?? '');
    const want = Buffer.from(`v0=${createHmac('sha256', SLACK_SIGNING_SECRET).update(`v0:${at}:${body}`).digest('hex')}`);
    return Math.abs(Date.now() / 1000 - Number(at)) < 300 && given.length === want.length && timingSafeEqual(given, want);
}

async function decide(id, person, decision) {
    const made = await fetch(`${PARLEY_URL}/v1/approvals/${id}/links`, { method: 'POST', headers: key, body: JSON.stringify({ for: person }) });
    if (made.status !== 201) return (await made.json()).error.message;
    const at = PARLEY_URL + new URL((await made.json()).url).pathname;
    const r = await fetch(at, { method: 'POST', headers: { 'content-type': 'application/x-www-form-urlencoded' }, body: `decision=${decision}` });
    return /<h1>([^<]*)<\/h1>/.exec(await r.text())?.[1] ?? `status ${r.status}`;
}

http.createServer((req, res) => {
    let body = '';
    req.on('data', (d) => { body += d; if (body.length > 1e6) req.destroy(); });
    req.on('end', async () => {
        if (!genuine(req, body)) return res.writeHead(401).end();
        const { user, actions, response_url } = JSON.parse(new URLSearchParams(body).get('payload'));
        res.end();                                  // Slack wants an answer within three seconds
        const person = people[user.id], [press] = actions;
        const text = person ? `${person}: ${await decide(press.value, person, press.action_id === 'primary' ? 'approve' : 'deny')}` : 'I do not know who you are here.';
        await fetch(response_url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ text, replace_original: false }) });
    });
}).listen(Number(PORT), () => console.log(`bot: presses at ${PORT}`));
follow();
