// The same once more at OpenAI's doors: a request that is sent again, words that are said again, an answer that is generated
// anew. What was paid the first time is not paid again unless a person says so.
import { check, same, test, until } from './lib.mjs';
import { Chat, asksOf, respond } from './openai.mjs';
import { bank, decide, payments, say, script, still } from './org.mjs';

// A bank whose payments ask above 100 only, and a model that pays as it is told.
const SMALL = { confirm: { when: { pointer: '/amount', op: '>', value: 100 } } };
const pay = (amount) => [['process_payment', { recipient: 'Hanako', amount }]];
const TOLD = /A version of this conversation that was replaced has already run these tools[^]*process_payment/;
const lastWords = (model) => JSON.stringify(model.heard.at(-1).messages.findLast((m) => m.role === 'user'));
const paid = (b) => b.books.map((x) => x.amount);

test('a request sent again goes on from the same response, and what was paid there asks', async (t) => {
    const b = await bank(t), model = await script(t, 'Hello.');
    const server = await t.serve({ config: payments(b, SMALL, { model: model.model }) });
    const hello = await respond(server, { input: 'Hello' });
    const body = { input: 'Pay Hanako', previous_response_id: hello.id };
    model.steps.push(pay(52), 'Paid.');
    same(asksOf(await respond(server, body)), []);
    check(!TOLD.test(JSON.stringify(model.heard)), 'nothing was replaced yet');
    for (const input of [body.input, body.input, 'Pay her, please']) {
        model.steps.push(pay(52));
        const again = await respond(server, { ...body, input });
        same([asksOf(again).length, paid(b)], [1, [52]], 'a person is asked');
        check(TOLD.test(lastWords(model)), 'and the model knows of it');
    }
    model.steps.push(pay(53), 'Paid.');
    same([asksOf(await respond(server, body)).length, paid(b)], [0, [52, 53]], 'another payment is another payment');
    model.steps.push(pay(53));
    same([asksOf(await respond(server, body)).length, paid(b)], [1, [52, 53]], 'also one that only another copy made');
    model.steps.push(pay(52));
    const asked = await respond(server, body), [q] = asksOf(asked);
    const yes = { input: [{ type: 'mcp_approval_response', approval_request_id: q.id, approve: true }], previous_response_id: asked.id };
    await respond(server, yes);
    same(paid(b), [52, 53, 52], 'a yes is a yes');
    model.steps.push(pay(53));
    const later = await respond(server, { input: 'And again', previous_response_id: asked.id });
    same([asksOf(later).length, paid(b).length], [1, 3], 'a copy of a copy knows it, too');
});

test('the same request sent again while its model thinks is one request: both are told the same, and it is paid once', async (t) => {
    const b = await bank(t), model = await script(t, 'Hello.');
    const server = await t.serve({ config: payments(b, SMALL, { model: model.model }) });
    const hello = await respond(server, { input: 'Hello' });
    const bodies = [['/v1/responses', { input: 'Pay Hanako', stream: true }], ['/v1/responses', { input: 'Pay Hanako', previous_response_id: hello.id, stream: true }],
        ['/v1/chat/completions', { model: 'parley', messages: [{ role: 'user', content: 'Pay Hanako now' }], stream: true }]];
    for (const [i, [door, body]] of bodies.entries()) {
        const amount = 50 + i, heard = model.heard.length;
        let speak;
        model.thinks = new Promise((yes) => { speak = yes; });
        model.steps.push(pay(amount), 'Paid.', pay(amount), 'Paid.');
        const first = await server.open('POST', door, body);
        await until(() => model.heard.length === heard + 1, 'the model is asked');
        const second = await server.open('POST', door, body);
        same(second.thread, first.thread, 'the same conversation');
        if (i === 2) await first.close();                  // whoever left does not stop what the other one reads
        speak();
        for (const s of i === 2 ? [second] : [first, second]) check(/Paid\./.test((await s.read()).text), s.text);
        same(paid(b).filter((x) => x === amount).length, 1, door);
        model.steps.length = 0;
    }
});

test('the same request many times at the same moment is one request', async (t) => {
    const b = await bank(t), model = await script(t);
    const server = await t.serve({ config: payments(b, SMALL, { model: model.model }) });
    const hello = await respond(server, { input: 'Hello' });
    for (const [i, more] of [{}, { previous_response_id: hello.id }].entries()) {
        const amount = 60 + i;
        let speak;
        model.thinks = new Promise((yes) => { speak = yes; });
        model.steps.push(...Array(8).fill([pay(amount), 'Paid.']).flat());
        const all = await Promise.all(Array.from({ length: 8 }, () => server.open('POST', '/v1/responses', { input: `Pay Hanako ${i}`, stream: true, ...more })));
        same(new Set(all.map((x) => x.thread)).size, 1, 'one conversation');
        speak();
        for (const x of all) check(/Paid\./.test((await x.read()).text), x.text);
        same(paid(b).filter((x) => x === amount).length, 1);
        model.steps.length = 0;
    }
});

test('the same words in another form while the first are thought about: their payments happen once', async (t) => {
    const b = await bank(t), model = await script(t, 'Hello.');
    const server = await t.serve({ config: payments(b, SMALL, { model: model.model }) });
    const hello = await respond(server, { input: 'Hello' });
    const chat = { model: 'parley', messages: [{ role: 'user', content: 'Pay Hanako now' }] }, plain = { input: 'Pay Hanako' }, more = { ...plain, previous_response_id: hello.id };
    const C = '/v1/chat/completions', R = '/v1/responses';
    const forms = { 'not streamed': [[R, plain], [R, { ...plain, stream: true }]], 'another temperature': [[C, chat], [C, { ...chat, temperature: 1 }]], 'from a response': [[R, more], [R, { ...more, temperature: 1 }]],
        'the other door': [[C, { ...chat, messages: [{ role: 'user', content: 'Pay her' }] }], [R, { input: 'Pay her' }]], 'an SDK that falls back': [[R, { input: 'Pay them', stream: true }], [R, { input: 'Pay them' }, { 'x-stainless-retry-count': '1' }]] };
    for (const [i, [form, requests]] of Object.entries(forms).entries()) {
        const amount = 70 + i, heard = model.heard.length;
        let speak;
        model.thinks = new Promise((yes) => { speak = yes; });
        const twice = [...pay(amount), ...pay(amount)];
        model.steps.push(twice, twice, 'Paid.', 'Paid.');
        const open = requests.map(([path, body, headers]) => server.open('POST', path, body, headers));
        await until(() => model.heard.length === heard + 2, `${form}: the model is asked by both`);
        speak();
        for (const x of open) { const { text } = await (await x).read(); check(/Paid\./.test(text), `${form}: ${text}`); }
        same(paid(b).filter((x) => x === amount).length, 2, `${form}: what one request wanted twice happened twice, and not four times`);
        model.steps.length = 0;
    }
});

test('a first message sent again is asked about, at both doors; another one, or another chat, is not', async (t) => {
    const b = await bank(t), model = await script(t);
    const server = await t.serve({ config: payments(b, SMALL, { model: model.model, openai: { chat_headers: ['x-chat'] } }) });
    const chat = async (content, headers) => {
        model.steps.splice(0, 9, pay(52), 'Paid.');
        const c = new Chat(server, { headers });
        await c.say(content);
        return !!c.code;
    };
    same([await chat('Pay Hanako'), await chat('Pay Hanako'), await chat('Pay Hanako')], [false, true, true]);
    check(TOLD.test(lastWords(model)), 'the model was told');
    same(b.books.length, 1);
    same(await chat('Pay Hanako her wage'), false, 'other words');
    same([await chat('Pay', { 'x-chat': 'a' }), await chat('Pay', { 'x-chat': 'b' }), await chat('Pay', { 'x-chat': 'b' })], [false, false, true], 'the program names its chats');
    model.steps.splice(0, 9, pay(52), 'Paid.', pay(52));
    const words = { input: 'The rent, please' };
    same([asksOf(await respond(server, words)).length, asksOf(await respond(server, words)).length], [0, 1]);
    same(b.books.length, 5);
    model.steps.splice(0, 9);
    const first = await respond(server, words, { 'idempotency-key': 'k-1' });
    same((await respond(server, words, { 'idempotency-key': 'k-1' })).id, first.id, 'a retry that says so is still attached');
});

test('of two chats that began alike, the words that paid in one are not new in the other', async (t) => {
    const b = await bank(t), model = await script(t, 'Hello.', 'Hello.');
    const server = await t.serve({ config: payments(b, SMALL, { model: model.model }) });
    const chats = [new Chat(server), new Chat(server)];
    for (const c of chats) await c.say('Hello');
    check(chats[0].thread !== chats[1].thread, 'two threads');
    const said = [];
    for (const c of chats) {
        model.steps.splice(0, 9, pay(52), 'Paid.');
        await c.say('Pay Hanako');
        said.push(!!c.code);
    }
    same([said, paid(b)], [[false, true], [52]]);
    model.steps.splice(0, 9, 'A story.', 'A story.');
    const thread = chats[1].thread;
    await chats[1].say('Tell me a story');
    same(chats[1].thread, thread, 'it goes on by itself');
});

test('a chat that goes on from words which paid, and not as they were answered, knows of it; under another name it does not', async (t) => {
    const b = await bank(t), model = await script(t);
    const server = await t.serve({ config: payments(b, SMALL, { model: model.model, openai: { chat_headers: ['x-chat'] } }) });
    const chat = (headers, ...words) => Object.assign(new Chat(server, { headers }), { messages: words.map((content, i) => ({ role: i % 2 ? 'assistant' : 'user', content })) });
    const says = async (c, content, ...steps) => { model.steps.splice(0, 9, ...steps, 'Well.'); await c.say(content); return [!!c.code, paid(b).length]; };
    // two chats began alike, and one paid: the other's answer is not what was told of that
    for (let i = 0; i < 2; i++) same(await says(chat(), 'Hello', 'Hello.'), [false, 0]);
    same(await says(chat({}, 'Hello', 'Hello.'), 'Pay Hanako', pay(52), 'Paid.'), [false, 1]);
    for (const cut of ['', '[stopped]']) same(await says(chat({}, 'Hello', 'Hello.', 'Pay Hanako', cut), 'Did it work?', pay(52)), [true, 1], cut);
    // an answer that somebody changed far above
    same(await says(chat({}, 'Hello', 'Good day.', 'Pay Hanako', 'Paid.'), 'Thanks', pay(52)), [true, 1]);
    // names
    same(await says(chat({ 'x-chat': 'a' }), 'The rent', pay(60), 'Paid.'), [false, 2]);
    const a = chat({ 'x-chat': 'a' }, 'The rent', '');
    same(await says(a, 'Did it work?', pay(60)), [true, 2]);
    const { thread } = a;
    same(await says(a, 'And?', 'Fine.'), [false, 2]);
    same(a.thread, thread, 'it goes on by itself');
    same(await says(chat({ 'x-chat': 'b' }, 'The rent', ''), 'Did it work?', pay(60), 'Paid.'), [false, 3], 'another name');
});

// Many forms of the same request at the same moment: each differs by its temperature, and all are thought about before one pays.
async function atOnce(model, server, count, path, body, amount) {
    let speak;
    const before = model.heard.length;
    model.thinks = new Promise((yes) => { speak = yes; });
    model.steps.splice(0, 999, ...Array(count).fill(pay(amount)), ...Array(count).fill('Paid.'));
    const all = Array.from({ length: count }, (_, k) => server.post(path, { ...body, temperature: k / 100 }));
    await until(() => model.heard.length === before + count, 'the model is asked by all');
    speak();
    for (const r of await Promise.all(all)) same(r.status, 200, r.text);
    model.thinks = undefined;
}

test('however many forms of a request found that another had paid, what goes on from it knows who did', async (t) => {
    const b = await bank(t), model = await script(t, 'Hello.');
    const server = await t.serve({ config: payments(b, SMALL, { model: model.model }) });
    const goes = async (...words) => {
        const c = Object.assign(new Chat(server), { messages: words.map((content, i) => ({ role: i % 2 ? 'assistant' : 'user', content })) });
        model.steps.splice(0, 999, pay(52), 'Paid.');
        await c.say('Pay Hanako');
        return !!c.code;
    };
    await atOnce(model, server, 20, '/v1/chat/completions', { model: 'parley', messages: [{ role: 'user', content: 'Pay Hanako' }] }, 52);
    same(paid(b), [52], 'one of them paid');
    same([await goes('Pay Hanako', '[stopped]'), paid(b)], [true, [52]], 'a person is asked');
    check(TOLD.test(lastWords(model)), 'and the model knows');
    // from a response: another version of what 20 said there
    model.steps.splice(0, 999, 'Hello.');
    const hello = await respond(server, { input: 'Hello' }), more = { previous_response_id: hello.id };
    await atOnce(model, server, 20, '/v1/responses', { ...more, input: 'Pay her' }, 53);
    same(paid(b), [52, 53]);
    model.steps.splice(0, 999, pay(53), 'Paid.');
    same([asksOf(await respond(server, { ...more, input: 'Pay her, please' })).length, paid(b)], [1, [52, 53]]);
    // and of many conversations that began alike the one that paid later on
    const first = new Chat(server);
    model.steps.splice(0, 999, 'Hello.', pay(52), 'Paid.', ...Array(20).fill('Hello.'));
    await first.say('Good day');
    await first.say('Pay her, please');
    same(paid(b), [52, 53, 52], 'another conversation');
    for (let i = 0; i < 20; i++) await new Chat(server).say('Good day');
    same([await goes('Good day', 'Good day to you.'), b.books.length], [true, 3]);
});

test('of more payments than anybody looks at, none is taken for one that was not made', async (t) => {
    const b = await bank(t), model = await script(t);
    const server = await t.serve({ config: payments(b, SMALL, { model: model.model }) });
    let speak;
    model.thinks = new Promise((yes) => { speak = yes; });
    model.steps.push(...Array.from({ length: 65 }, (_, i) => pay((i + 1) / 100)), ...Array(65).fill('Paid.'));
    const all = Array.from({ length: 65 }, (_, k) => server.post('/v1/chat/completions', { model: 'parley', messages: [{ role: 'user', content: 'Pay' }], temperature: k / 100 }));
    await until(() => model.heard.length === 65, 'the model is asked by all');
    speak();
    await Promise.all(all);
    same(b.books.length, 65, 'each was another payment');
    for (const amount of [0.01, 0.65, 99]) {
        const c = Object.assign(new Chat(server), { messages: [{ role: 'user', content: 'Pay' }, { role: 'assistant', content: '[stopped]' }] });
        model.steps.splice(0, 999, pay(amount), 'Paid.');
        await c.say(`Pay ${amount}`);
        same([!!c.code, b.books.length], [true, 65], `${amount}: nobody knows whether it was paid`);
    }
});

test('regenerating in a chat: the payment behind it asks, also where a grant would allow it', async (t) => {
    const b = await bank(t), model = await script(t, pay(10));
    const server = await t.serve({ config: payments(b, { grant: { for: 3600, count: 9, sum: '/amount', max: 900, same: ['/recipient'] } }, { model: model.model }) });
    const { thread, ids: [id] } = await say(server, null, 'Pay Hanako something');
    same((await decide(server, null, id, true, { grant: { scope: 'me' } })).status, 200);
    await still(server, null, thread);
    const chat = new Chat(server);
    model.steps.splice(0, 9, 'Hello.', pay(52), 'Paid.');
    await chat.say('Hello');
    await chat.say('Pay Hanako');
    await until(() => b.books.length === 2, 'the grant allowed it');
    for (let i = 0; i < 2; i++) {
        chat.messages = chat.messages.slice(0, 2);
        model.steps.splice(0, 9, pay(52));
        await chat.say('Pay Hanako');
        check(chat.code && TOLD.test(lastWords(model)), 'asked, and told');
    }
    same(paid(b), [10, 52]);
    chat.messages = chat.messages.slice(0, 2);
    model.steps.splice(0, 9, pay(53), 'Paid.');
    await chat.say('Pay Hanako more');
    same([chat.code, paid(b)], [undefined, [10, 52, 53]], 'what is not the same is what the grant is for');
});
