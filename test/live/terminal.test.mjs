// Commands that people use in a terminal: a real one, by script(1). Words of strangers do nothing to it.
import http from 'node:http';
import { check, parley, same, sound, test, until } from './lib.mjs';
import { PAY, PEOPLE, RULES, approval, auth, bank, decide, key, payments, say } from './org.mjs';
import { audited, lines, noted, stranger, types } from './record.mjs';
import { terminal } from './terminal.mjs';

const PROMPT = /yes or no\? \[y, n; s: later, q: end\] $/;

// A server that has these requests waiting and notes what it is told; `hold`: it answers when that is done.
async function desk(t, approvals, hold = Promise.resolve()) {
    const told = [];
    const server = http.createServer(async (req, res) => {
        let body = '';
        for await (const chunk of req) body += chunk;
        if (req.method === 'POST') told.push([req.url, body]);
        else await hold;
        const from = Number(new URL(req.url, 'http://x').searchParams.get('before') ?? 0), next = from + 500 < approvals.length ? String(from + 500) : null;
        res.writeHead(200, { 'content-type': 'application/json' })
            .end(JSON.stringify(req.method === 'POST' ? { id: 'x', status: 'approved' } : { next, approvals: approvals.slice(from, from + 500) }));
    });
    await new Promise((yes) => server.listen(0, '127.0.0.1', yes));
    t.defer(() => server.close());
    return { told, url: `http://127.0.0.1:${server.address().port}` };
}

test('approvals shows what waits and asks nobody who is not at a terminal', async (t) => {
    const server = await t.serve();
    same((await parley(['approvals', server.url])).out, 'nothing waits\n');
    sound(await server.turn('Send 50 dollars to Hanako'));
    const r = await parley(['approvals', server.url], { input: 'y\n' });
    same([r.code, r.err], [0, '']);
    check(/1 of 1 {2}process_payment {2}high risk\n {2}Send 50 USD to Hanako\?\n {2}input +\{"amount":50,/.test(r.out) && !/yes or no/.test(r.out), r.out);
    same(server.ledger(), []);
});

test('approvals shows who asks, who decides, who has said yes, and what was changed', async (t) => {
    const b = await bank(t), server = await t.serve({ config: payments(b, { edit: ['/amount'] }, { auth: auth(PEOPLE), approvals: { rules: RULES } }) });
    const s = await say(server, 'ada', PAY(50)), { input } = await approval(server, 'ada', s.ids[0]);
    const { json: made } = await decide(server, 'ada', s.ids[0], true, { input: { ...input, amount: 7000 } });
    same((await decide(server, 'fay', made.replaced_by, true)).json.status, 'pending');
    const { out } = await parley(['approvals', server.url], { env: { PARLEY_KEY: key('fin') } });
    check(/ {2}input {4}\{"amount":7000.*\n {2}changed {2}ada\n {2}before {3}\{"amount":50,.*\n {2}asked by ada\n {2}decides {2}2 of finance\n {2}yes of {3}fay\n {2}said /.test(out), out);
});

test('in a terminal a y pays once, an n not at all, and anything else is asked again', async (t) => {
    const server = await t.serve();
    sound(await server.turn('Send 50 dollars to Hanako'));
    sound(await server.turn('Send 20 dollars to Taro'));
    const s = terminal(t, ['approvals', server.url]);
    await s.shows(/1 of 2[^]*Hanako\?[^]*\] $/);
    s.type('Y, please\n');
    await s.shows(/Y, please[^]*\] $/);
    s.type(`${'n'.repeat(80)}y\n`);                        // longer than any answer: its end is none
    await s.shows(/nnnny[^]*\] $/);
    s.type('y\n');
    await s.shows(/now +approved[^]*2 of 2[^]*Taro\?[^]*\] $/);
    s.type('n\n');
    same(await s.gone, 0, s.shown);
    await until(() => server.ledger().length > 0, 'the payment');
    same((await server.get('/v1/approvals?status=pending')).json.approvals.length, 0);
    same(server.ledger().map((l) => l.recipient), ['Hanako']);
});

test('what is typed before a request is on the screen is no answer to it', async (t) => {
    let go;
    const { told, url } = await desk(t, [{ id: 'c1', tool: 'pay', ask: 'Pay?', input: {}, said: '', thread: 't' }], new Promise((yes) => { go = yes; }));
    const s = terminal(t, ['approvals', url]);
    s.type('y\n');
    await s.shows(/y/);                                     // the terminal has it
    go();
    await s.shows(PROMPT);
    s.type('q\n');
    same(await s.gone, 0, s.shown);
    same(told, []);
});

test('more than a page waits: all of it is shown, the oldest first', async (t) => {
    const list = Array.from({ length: 1203 }, (_, i) => ({ id: `c${1203 - i}`, tool: 'pay', ask: `Pay ${1203 - i}?`, input: {}, said: '', thread: 't' }));
    const { url } = await desk(t, list), r = await parley(['approvals', url]);
    same([r.code, r.err, [...r.out.matchAll(/Pay (\d+)\?/g)].map((m) => Number(m[1]))], [0, '', list.map((a) => Number(a.id.slice(1))).reverse()]);
    check(r.out.includes('1 of 1203') && r.out.includes('1203 of 1203'), r.out.slice(-200));
    const s = terminal(t, ['approvals', url]);
    await s.shows(/1 of 1203[^]*Pay 1\?[^]*\] $/);
    s.type('q\n');
    same(await s.gone, 0, s.shown);
});

test('words of models, tools and people do nothing to the terminal', async (t) => {
    const evil = 'a\x1b[2J\x1b]0;title\x07\r\n\x9b31m\u202egnihtyreve\u200b';
    const { told, url } = await desk(t, [{ id: 'c/../1?', tool: evil, ask: evil, risk: evil, input: { [evil]: evil }, said: evil, thread: evil, owner: evil, who: { from: { role: evil, count: 1 }, escalate: evil }, votes: [{ by: evil }], lapsed: [evil], replaces: { by: evil, input: { [evil]: evil } } }]);
    const s = terminal(t, ['approvals', url]);
    await s.shows(PROMPT);
    s.type('y\n');
    same(await s.gone, 0, s.shown);
    for (const text of [s.shown.replace(/\x1b\[(0|1|31)m/g, ''), (await parley(['approvals', url])).out]) {
        check(!/[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202e\u200b]/.test(text), JSON.stringify(text));
        check(text.includes('\\u{202E}') && /\\u\{0*1B\}/.test(text), text);
    }
    same(told, [['/v1/approvals/c%2F..%2F1%3F', '{"confirmed":true}']]);
});

test('JSON that commands write does nothing to the terminal either, and is the same to whoever parses it', async (t) => {
    const a = await audited(t), { server } = a, evil = '\x9b31m \x9d0;title\x9c \x7f\u202eabc\u200b\u00a0\ufeff \u{e0041} \u00fc\u6771\u{1f600}';
    const { thread } = sound(await server.turn(evil)), quoted = (s) => JSON.stringify(s).slice(1, -1);
    await noted(a.file, 1);
    const about = ['--config', `${a.dir}/parley.json`, '--store', server.db], told = await stranger(t, a, lines(a.file).at(-1));
    same(told.code, 0, told.out);
    for (const [what, command, of] of [
        ['the record', ['audit', 'export', ...about]], ['a person', ['people', 'export', 'local', ...about]],
        ['a conversation', ['show', thread, '--json', ...about]], ['its request', ['show', thread, '1', '--json', ...about]], ['a server', ['show', thread, '1', server.url, '--json']],
    ]) {
        const r = await parley(command);
        same([r.code, r.err], [0, ''], what);
        check(!/[^\n\x20-\x7e\u00fc\u6771\u{1f600}]/u.test(r.out), `${what}: ${JSON.stringify(r.out)}`);
        const parsed = JSON.stringify(types(r.out));
        check([quoted(evil), quoted(quoted(evil))].some((x) => parsed.includes(x)), `${what} has the words: ${r.out}`);
    }
});

test('an argument makes no rows of its own in a terminal: blanks are counted, and what goes on below stands apart', async (t) => {
    const far = `Hanako${' '.repeat(400)}`, rows = '  asked by bob'.repeat(60), wide = '\u6771\u4eac'.repeat(60);
    const { url } = await desk(t, [{ id: 'c', tool: 'pay', owner: 'ada', ask: `Send 5 to "${far}"?${rows}`, input: { to: far, rows, wide, name: 'p\u0430ypal', digits: '5\u0660' }, said: rows, thread: 't' }]);
    const s = terminal(t, ['approvals', url]);
    await s.shows(PROMPT);
    s.type('q\n');
    same(await s.gone, 0, s.shown);
    const columns = (line) => [...line].reduce((n, c) => n + (c > '\x7f' ? 2 : 1), 0), lines = s.shown.replace(/\x1b\[\d+m/g, '').split(/\r?\n/);
    same(lines.filter((l) => columns(l) > 80), [], 'the terminal wraps nothing');
    same(lines.filter((l) => /^ {0,10}asked by/.test(l)), ['  asked by ada'], 'rows that say who asks');
    same(lines.filter((l) => l && !/^(?:1 of 1| {2}(?:Send|input|asked by|said|thread|id|yes or no)| {11,13}\S)/.test(l)), [], 'what goes on begins below the words');
    const { out } = await parley(['approvals', url]);
    for (const part of ['"to":"Hanako\\u{0020 × 400}"', 'Send 5 to "Hanako\\u{0020 × 400}"?  asked', 'p\\u{0430}ypal', '5\\u{0660}']) check(out.includes(part), `${part} in ${out}`);
});

test('letters that are written from right to left turn nothing around in a terminal', async (t) => {
    const { url } = await desk(t, [{ id: 'c', tool: 'pay', ask: 'Send 100\u05d0 5000 to \u05d3\u05e0\u05d9 \u05db\u05d4\u05df?', input: { to: '7\u05d1 8' }, said: '9\u05d2 1', thread: 't' }]);
    const { out } = await parley(['approvals', url]);
    for (const part of ['100\u2067\u05d0\u2069 5000 to \u2067\u05d3\u05e0\u05d9 \u05db\u05d4\u05df\u2069?', '{"to":"7\u2067\u05d1\u2069 8"}', '"9\u2067\u05d2\u2069 1"']) check(out.includes(part), out);
});

test('approvals shows its key, and says what is wrong', async (t) => {
    const { createHash } = await import('node:crypto'), key = 'a-key-of-this-test-0123456789';
    const server = await t.serve({ config: { auth: { keys: [{ sha256: createHash('sha256').update(key).digest('hex'), principal: 'ada', roles: ['user'] }] } } });
    const without = await parley(['approvals', server.url]);
    check(without.code === 1 && /\(401\) Set PARLEY_KEY to your key\.\n$/.test(without.err), without.err);
    same((await parley(['approvals', server.url], { env: { PARLEY_KEY: key } })).out, 'nothing waits\n');
    const nobody = await parley(['approvals', 'http://127.0.0.1:1']);
    check(nobody.code === 1 && /^parley: http:\/\/127\.0\.0\.1:1 does not answer: /.test(nobody.err), nobody.err);
});
