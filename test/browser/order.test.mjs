// The order of what is seen: letters that are written from right to left turn no digit around, in a request or in an answer.
import { createHash } from 'node:crypto';
import { squeeze } from './lib/page.mjs';
import { equal, ok, test } from './lib/test.mjs';

const pay = {
  description: 'Pays',
  exec: { command: ['sed', 's/^/{"result":/; s/$/}/'] },
  input_schema: { type: 'object', properties: { amount: { type: 'string' }, recipient: { type: 'string' } } },
  confirm: 'always',
  edit: ['/amount', '/recipient'],
  ask: 'Send {amount} to {recipient}?',
};

/* Whatever a natural order would turn around: groups behind a letter, two numbers of an Arabic text, a sign, a host, a name. */
const tricks = {
  amount: '100\u05d0 5000',
  recipient: '\u05d0\u05d1\u05d2 12 34 56',
  account: 'DE89 3704 \u05d2 0044 0532',
  between: '\u062d\u0648\u0644 100 \u0625\u0644\u0649 5000-1',
  digits: '\u0665\u0660 \u0661\u0660\u0660 \u0645',
  host: 'https://bank.example/\u05d0/evil.example',
  list: ['1', '\u05d0', '2', { '3\u05d0': 4 }],
  '7 \u05d0 8': '9',
};

/* What is seen from left to right, and what is stored, of the digits and Latin letters in an element. */
const orders = (tab, selector) =>
  tab.$(selector).evaluateAll((all) =>
    all.map((e) => {
      const glyphs = [];
      const walk = document.createTreeWalker(e, NodeFilter.SHOW_TEXT);
      for (let node = walk.nextNode(); node; node = walk.nextNode())
        for (let i = 0; i < node.data.length; i++) {
          if (!/[0-9A-Za-z\u0660-\u0669]/.test(node.data[i])) continue;
          const range = document.createRange();
          range.setStart(node, i);
          range.setEnd(node, i + 1);
          const { left, top, height } = range.getBoundingClientRect();
          glyphs.push({ c: node.data[i], left, middle: top + height / 2 });
        }
      const seen = glyphs.toSorted((a, b) => (Math.abs(a.middle - b.middle) > 8 ? a.middle - b.middle : a.left - b.left));
      return { seen: seen.map((g) => g.c).join(''), stored: glyphs.map((g) => g.c).join('') };
    }),
  );

async function inOrder(tab, ...selectors) {
  for (const selector of selectors) {
    const all = await orders(tab, selector);
    ok(all.length > 0, `${selector} is there`);
    for (const { seen, stored } of all) equal(seen, stored, selector);
  }
}

/* Whether the letters of a word of theirs stand from right to left. */
const isReadable = (tab, selector, word) =>
  tab.$(selector).evaluateAll((all, text) => {
    for (const e of all) {
      const walk = document.createTreeWalker(e, NodeFilter.SHOW_TEXT);
      for (let node = walk.nextNode(); node; node = walk.nextNode()) {
        const at = node.data.indexOf(text);
        if (at < 0) continue;
        const lefts = [...text].map((_, i) => {
          const range = document.createRange();
          range.setStart(node, at + i);
          range.setEnd(node, at + i + 1);
          return range.getBoundingClientRect().left;
        });
        return lefts.every((x, i) => i === 0 || x < lefts[i - 1]);
      }
    }
    return null;
  }, word);

async function asked(t, args, config) {
  const model = await t.model([{ calls: [{ name: 'pay', arguments: args }] }, 'Good.']);
  const server = await t.server({ model: model.config, tools: { pay }, ...config });
  return { server, model };
}

test('on a card digits stand as they are stored, whatever stands between them, and the card says so', async (t) => {
  const { server } = await asked(t, tricks);
  const tab = await t.tab(server, { viewport: { width: 1440, height: 1200 } });
  await tab.send('pay');
  await tab.card();
  await inOrder(tab, '.dock .ask-title', '.dock .args td', '.dock .args th');
  const card = squeeze(await tab.$('.dock .args').innerText());
  ok(card.includes('100\u05d0 5000 (to be read from left to right)'), card);
  await tab.$('.dock').getByRole('button', { name: 'Change it first' }).click();
  await tab.$('.dock .editing .arg-shown').first().waitFor();
  await inOrder(tab, '.dock .ask-title', '.dock .editing .arg-shown');
});

test('in the inbox and in the record it is the same', async (t) => {
  const { server } = await asked(t, tricks);
  const tab = await t.tab(server, { viewport: { width: 1440, height: 1200 } });
  await tab.send('pay');
  await tab.card();
  const thread = tab.page.url();
  await tab.page.goto(`${server.url}/inbox`);
  await tab.$('.ask-title').first().waitFor();
  await inOrder(tab, '.ask-title', '.args td');
  await tab.page.goto(thread);
  await tab.card();
  await tab.approve();
  await tab.$('.tool[data-status="done"]').waitFor();
  await tab.$('.tool-head').click();
  await inOrder(tab, '.record-ask', '.record .args td', '.tool-body .value pre');
});

test('text wholly of Hebrew or Arabic is read as it is written, without a word about it', async (t) => {
  const { server } = await asked(t, { amount: '50', recipient: '\u05d3\u05e0\u05d9 \u05db\u05d4\u05df', note: '\u0634\u0643\u0631\u0627 \u062c\u0632\u064a\u0644\u0627\u060c \u064a\u0627 \u0633\u0627\u0631\u0629!', due: '\u05e9"\u05d7' });
  const tab = await t.tab(server, { viewport: { width: 1440, height: 1000 } });
  await tab.send('pay');
  await tab.card();
  await inOrder(tab, '.dock .ask-title');
  for (const word of ['\u05d3\u05e0\u05d9 \u05db\u05d4\u05df', '\u0634\u0643\u0631\u0627 \u062c\u0632\u064a\u0644\u0627', '\u05e9"\u05d7']) equal(await isReadable(tab, '.dock .args td', word), true, `${word} reads from right to left`);
  ok(!/from left to right/.test(await tab.$('.dock .ask').innerText()), 'nothing to say');
});

test('behind a signed link digits stand as they are stored, and the page says so', async (t) => {
  const key = (name, ...roles) => ({ sha256: createHash('sha256').update(name).digest('hex'), principal: name, roles });
  const { server } = await asked(t, { ...tricks, name: '\u05d3\u05e0\u05d9 \u05db\u05d4\u05df' }, {
    auth: { keys: [key('ada', 'user'), key('bot', 'notifier')] },
    public_url: 'http://127.0.0.1',
    links: { key: 'text:0123456789abcdef0123456789abcdef' },
  });
  const as = (name) => ({ authorization: `Bearer ${name}`, 'content-type': 'application/json' });
  await fetch(`${server.url}/v1/chat/completions`, { method: 'POST', headers: as('ada'), body: JSON.stringify({ messages: [{ role: 'user', content: 'pay' }] }) });
  const { approvals } = await (await fetch(`${server.url}/v1/approvals?status=pending`, { headers: as('ada') })).json();
  const made = await fetch(`${server.url}/v1/approvals/${approvals[0].id}/links`, { method: 'POST', headers: as('bot'), body: JSON.stringify({ for: 'ada' }) });
  const tab = await t.tab(server, { path: new URL((await made.json()).url).pathname, javaScriptEnabled: false, viewport: { width: 1440, height: 1200 }, ready: 'h1' });
  await inOrder(tab, 'h1', '.what dd', '.what dt', 'form p small');
  equal(await tab.$('form p small').allInnerTexts(), ['100\u05d0 5000 (to be read from left to right)', '\u05d0\u05d1\u05d2 12 34 56 (to be read from left to right)'], 'below the fields');
  equal(await isReadable(tab, '.what dd', '\u05d3\u05e0\u05d9 \u05db\u05d4\u05df'), true, 'a name reads from right to left');
  const words = squeeze(await tab.$('.what').innerText());
  ok(words.includes('100\u05d0 5000 (to be read from left to right)') && words.endsWith('\u05d3\u05e0\u05d9 \u05db\u05d4\u05df'), words);
});

/* From where to where each link's glyphs stand, paragraph by paragraph. */
const reaches = (tab) =>
  tab.$('.md > p').evaluateAll((all) =>
    all.map((p) =>
      [...p.querySelectorAll('a')].map((a) => {
        const range = document.createRange();
        range.selectNodeContents(a);
        const boxes = [...range.getClientRects()].filter((b) => b.width > 0);
        return { text: a.textContent, left: Math.min(...boxes.map((b) => b.left)), right: Math.max(...boxes.map((b) => b.right)) };
      }),
    ),
  );

const answer = [
  '\u202e[bank.example](https://evil.example/1)\u202c and on',
  '\u2067[bank.example](https://evil.example/2) [shop.example](https://bank.example/3)\u2069',
  '[bank.example \u05d0](https://evil.example/4) [\u05d1 shop.example](https://bank.example/5)',
  '\u05e9\u05dc\u05d5\u05dd [bank.example](https://evil.example/6) \u05d1 [\u05d0 shop.example 5](https://bank.example/7)',
  '[\u05d0 pay](javascript:1) [\u05d1](mailto:\u05d0@evil.example)',
  '`x \u202e y` \u2066[bank.example](https://evil.example/8)',
  '```js\nif (a /* \u202e \u2066// */) pay()\n```',
].join('\n\n');

test('where a link of an answer leads stands beside it, whatever is written around it, and what turns text is seen', async (t) => {
  const model = await t.model([answer]);
  const tab = await t.tab(await t.server({ model: model.config }), { viewport: { width: 1440, height: 1200 } });
  await tab.ask('hello');
  const paragraphs = await reaches(tab);
  equal(paragraphs.flat().filter((l) => l.text.includes('(evil.example)')).length, 5, 'those that lead elsewhere say so');
  for (const links of paragraphs)
    for (const [i, { text, left }] of links.sort((a, b) => a.left - b.left).entries()) ok(i === 0 || left >= links[i - 1].right, `${text} begins where the one before has ended`);
  await inOrder(tab, '.md .host');
  const [first] = await orders(tab, '.md p:first-child a');
  equal(first.seen, 'bankexampleevilexample', 'nothing runs backwards');
  const words = await tab.$('.md').evaluate((e) => e.textContent);
  ok(!/[\u202a-\u202e\u2066-\u2069]/.test(words), 'none of them is left');
  for (const seen of ['\u27e8U+202E\u27e9bank.example (evil.example)\u27e8U+202C\u27e9 and on', 'x \u27e8U+202E\u27e9 y', '/* \u27e8U+202E\u27e9 \u27e8U+2066\u27e9// */']) ok(words.includes(seen), `${seen} in: ${words}`);
});
