// What others are told of somebody's question: no more than they may read, and nothing of what is gone.
import { reload, same, test, until } from './lib.mjs';
import { BOT, LINKS, PAY, RULES, SECRET, approval, approvals, as, auth, bank, link, pathOf, payments, receiver, say } from './org.mjs';
import { later, timed } from './doors.mjs';
import { STORES, organisation } from './record.mjs';

const hook = (r) => [{ url: r.url, secret: SECRET, allow: ['127.0.0.1'] }];
const WORDS = 'dollars to';  // what they said; the question itself says USD

// Everything that has happened, as one page or bot reads it.
async function events(server, who) {
    const s = await server.open('GET', '/v1/approvals/events?after=0', undefined, as(who));
    return JSON.stringify(await s.must((e) => e.data?.approval));
}

for (const context of ['none', 'question'])
    test(`approvals.context ${context}: an approver ${context === 'none' ? 'never reads' : 'reads'} the words behind a question, whatever way it comes`, async (t) => {
        const b = await bank(t), at = await receiver(t), reads = context !== 'none';
        const config = (context) => payments(b, {}, { auth: auth(BOT), approvals: { rules: RULES, context }, ...LINKS, notify: hook(at) });
        const server = await t.serve({ config: config(context) }), { ids: [id] } = await say(server, 'ada', PAY(5000));
        const page = async (who) => (await server.get(pathOf(await link(server, 'bot', id, who)))).text;
        const seen = async (who) => [JSON.stringify(await approvals(server, who, who === 'root' || who === 'bot' ? '?all=true' : '')), JSON.stringify(await approval(server, who, id)), await events(server, who)].map((x) => x.includes(WORDS));
        for (const who of ['fay', 'bot']) same(await seen(who), [reads, reads, reads], who);
        same(await seen('ada'), [true, true, true], 'whose they are');
        same((await page('fay')).includes(WORDS), reads, 'the page behind a link');
        await until(() => at.taken().length, 'the webhook');
        same([at.got[0].sound, at.got[0].body.data.approval.said?.includes(WORDS) ?? false, at.got[0].body.data.approval.input.recipient], [true, reads, 'Hanako']);
        await reload(server, config(reads ? 'none' : 'question'));
        same((await page('fin')).includes(WORDS), !reads, 'and from a reload on');
        await say(server, 'ada', PAY(6000));
        await until(() => at.taken().length > 1, 'the next webhook');
        same(at.got.at(-1).body.data.approval.said?.includes(WORDS) ?? false, !reads);
    });

for (const [where, newUrl] of STORES)
    test(`in ${where}: what a webhook could not be told before somebody was erased is told nobody after it`, async (t) => {
        let status = 500;
        const b = await bank(t), at = await receiver(t, () => status), of = (name) => at.got.filter((g) => JSON.stringify(g.body).includes(name)).length;
        const { server } = await organisation(t, payments(b, {}, { approvals: { rules: RULES }, notify: hook(at) }), timed(t, { url: await newUrl(), roles: { ...BOT, eve: ['user'] } }));
        await say(server, 'eve', PAY(5000, 'Zorro'));
        await until(() => of('Zorro'), 'an attempt');
        const wakes = async (name) => {                     // all that is left is due, and tried in its order
            later(server, 601 * 1000);
            await say(server, 'ada', PAY(6000, name));
            await until(() => of(name), name);
        };
        await wakes('Taro');
        await until(() => of('Zorro') > 1, 'another attempt');
        same((await server.post('/v1/people/eve/erase', {}, as('root'))).json.done, true);
        await wakes('Kenji');                               // what was on its way at that moment may have come after it: before this
        const before = of('Zorro');
        await wakes('Yuki');
        status = 200;
        await wakes('Hanako');
        await until(() => at.taken().length >= 4, 'all that is left of the others');
        same(of('Zorro'), before, 'words of somebody who was erased');
    });
