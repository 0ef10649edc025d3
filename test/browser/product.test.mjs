// The page wears a product's name, picture, words and colour, and speaks the person's language.
import { equal, ok, test } from './lib/test.mjs';
import { everyLook, fitsIn, shot, sticksOut, violations } from './lib/look.mjs';
import { squeeze } from './lib/page.mjs';

const leaf =
  'data:image/svg+xml;base64,' +
  Buffer.from(
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 20 20"><path d="M3 17C3 8 9 3 17 3c0 8-5 14-14 14z" fill="#0b6e4f"/><path d="M3 17 12 8" stroke="#fff"/></svg>',
  ).toString('base64');

const acme = {
  name: 'Acme Garden Help',
  logo: leaf,
  accent: '#0b6e4f',
  languages: ['de', 'en'],
  greeting: { de: 'Fragen Sie uns alles über Ihren Garten.', en: 'Ask us anything about your garden.' },
  starters: [
    { de: 'Wann schneide ich Rosen?', en: 'When do I prune roses?' },
    { de: 'Wo ist meine Bestellung?', en: 'Where is my order?' },
    { de: 'Rechnung 4711 bezahlen', en: 'Pay invoice 4711' },
    { de: 'Was blüht im Schatten?', en: 'What blooms in the shade?' },
  ],
  footer: { de: 'Acme GmbH. Antworten können falsch sein.', en: 'Acme Ltd. Answers can be wrong.' },
};

const rgb = (hex) => `rgb(${[1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16)).join(', ')})`;
const paintOf = (tab) => tab.$('.bubble').first().evaluate((e) => getComputedStyle(e).backgroundColor);

test('a product has its own name, picture, words and colour', async (t) => {
  const server = await t.server({ page: acme });
  const tab = await t.tab(server);
  equal(await tab.page.title(), 'Acme Garden Help', 'the title');
  equal(await tab.$('.welcome h1').innerText(), 'Acme Garden Help', 'the name');
  equal(await tab.$('.welcome p').innerText(), 'Ask us anything about your garden.', 'the greeting');
  equal(await tab.$('.starter').allInnerTexts(), acme.starters.map((s) => s.en), 'the starters');
  equal(await tab.$('.footer').innerText(), acme.footer.en, 'the footer');
  ok(await tab.$('.brand img').evaluate((i) => i.complete && i.naturalWidth > 0), 'the picture is drawn');
  ok(!/parley/i.test(await tab.page.innerText('body')), 'nothing of us');
  await tab.$('.starter').first().click();
  await tab.$('.bubble').waitFor();
  equal(await tab.$('.bubble').innerText(), 'When do I prune roses?', 'a starter sends what it says');
  equal(await paintOf(tab), rgb('#0b6e4f'), 'the colour');
  await tab.idle();
  ok((await tab.page.title()).endsWith(' · Acme Garden Help'), 'the title of a conversation');
});

test('the page’s words cannot get out of the place where they are kept', async (t) => {
  const name = '</title><script>alert(1)</script>&amp;';
  const greeting = '</script><img src=x onerror=alert(1)> \u2028 "quoted"';
  const server = await t.server({ page: { name, greeting } });
  const tab = await t.tab(server);
  equal(await tab.page.title(), name, 'the title');
  equal(squeeze(await tab.$('.welcome p').innerText()), squeeze(greeting), 'the greeting');
  equal(await tab.$('script:not([src]):not([type="application/json"])').count(), 0, 'scripts');
  const policy = (await fetch(server.url)).headers.get('content-security-policy');
  ok(/script-src 'self';/.test(policy) && !/unsafe/.test(policy), `the policy: ${policy}`);
});

test('a logo that is a page runs nothing', async (t) => {
  const evil = `data:image/svg+xml;base64,${Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script>document.documentElement.id="ran"</script></svg>').toString('base64')}`;
  const server = await t.server({ page: { logo: evil } });
  const tab = await t.tab(server);
  const response = await tab.page.goto(`${server.url}/logo`);
  equal(response.headers()['content-type'], 'image/svg+xml', 'what it is');
  equal(await tab.page.evaluate(() => document.documentElement.id), '', 'what its script would have set');
  await tab.page.goto(server.url);
  tab.errors = []; // the browser says that it blocked a script
});

test('a product, wide and narrow, in light and dark: readable, nothing sticks out', async (t) => {
  const model = await t.model([{ calls: [{ name: 'process_payment', arguments: { recipient: 'Hanako', amount: 50, currency: 'USD' } }] }]);
  const server = await t.server({ page: acme, model: model.config, demo: { tools: true } });
  const tab = await t.tab(server);
  const looks = everyLook.map(([width, theme]) => [width, theme, width === 375 ? 740 : 900]);
  await tab.$('.starter').first().waitFor();
  await fitsIn(tab, looks, 'empty', (width, theme) => shot(tab, `product-${theme}-${width}`));
  await tab.send('Send 50 dollars to Hanako');
  await tab.card();
  await fitsIn(tab, looks, 'a request', async (width, theme) =>
    equal(await paintOf(tab), theme === 'light' ? rgb('#0b6e4f') : rgb('#4c957e'), `the colour, ${width}, ${theme}`),
  );
});

test('without words of an operator the starters are the tools', async (t) => {
  const tool = (description, more) => ({ description, http: { url: 'http://127.0.0.1:1/' }, ...more });
  const server = await t.server({
    demo: { token_ms: 5, tools: false },
    tools: {
      pay_invoice: tool('Pays an open invoice. Only in euros.'),
      find_order: tool('Finds an order', { example: 'Where is order 4711?' }),
    },
  });
  const tab = await t.tab(server);
  await tab.$('.starter').first().waitFor();
  equal((await tab.$('.starter').allInnerTexts()).map(squeeze), ['Find order Where is order 4711?', 'Pay invoice Pays an open invoice.'], 'starters');
  await tab.$('.starter').last().click();
  await tab.$('.bubble').waitFor();
  equal(await tab.$('.bubble').innerText(), 'Pay invoice', 'what is sent');
});

/* ---- languages ---- */

const spoken = {
  en: { locale: 'en-GB', composer: 'Write a message', required: 'Approval Required', approve: 'Approve', done: 'Completed', settings: 'Settings' },
  de: { locale: 'de-AT', composer: 'Nachricht schreiben', required: 'Freigabe nötig', approve: 'Freigeben', done: 'Fertig', settings: 'Einstellungen' },
  ja: { locale: 'ja-JP', composer: 'メッセージを書く', required: '承認が必要です', approve: '承認', done: '完了', settings: '設定' },
};

for (const [language, words] of Object.entries(spoken)) {
  test(`a browser that wishes ${words.locale} gets the page in ${language}, from the greeting to the record`, async (t) => {
    const server = await t.server();
    const tab = await t.tab(server, { locale: words.locale });
    equal(await tab.page.getAttribute('html', 'lang'), language, 'lang');
    equal(await tab.$('.composer textarea').getAttribute('placeholder'), words.composer, 'the composer');
    await tab.send('Send 50 dollars to Hanako');
    await tab.card();
    equal(await tab.$('.ask-state').first().innerText(), words.required, 'a request');
    equal(await violations(tab), [], 'axe');
    await tab.$('.ask-yes').click();
    await tab.$('.tool[data-status="done"]').waitFor();
    equal(await tab.$('.tool-word').first().innerText(), words.done, 'the outcome');
    await tab.page.getByRole('button', { name: words.settings }).click();
    await tab.$('dialog[open]').waitFor();
    equal(await violations(tab), [], 'axe, settings');
  });
}

test('the language is changed in the settings, by keyboard, and stays', async (t) => {
  const server = await t.server();
  const tab = await t.tab(server);
  await tab.ask('What is the weather in Tokyo?');
  await tab.$('.composer textarea').fill('half a thought');
  await tab.page.getByRole('button', { name: 'Settings' }).click();
  await tab.page.getByRole('combobox', { name: 'Language' }).focus();
  await tab.page.getByRole('combobox', { name: 'Language' }).selectOption('de');
  await tab.page.getByRole('dialog', { name: 'Einstellungen' }).waitFor();
  await tab.until(() => document.activeElement?.matches('select'));
  equal(await tab.page.getAttribute('html', 'lang'), 'de', 'lang');
  await tab.page.keyboard.press('Escape');
  equal(await tab.$('.composer textarea').inputValue(), 'half a thought', 'what was being written');
  equal(await tab.$('.bubble').count(), 1, 'the conversation');
  await tab.ask('What is the weather in Paris?');
  equal(await tab.$('.bubble').count(), 2, 'and it goes on');
  await tab.page.reload();
  await tab.page.getByRole('button', { name: 'Einstellungen' }).waitFor();
});

test('a product in one language has no choice of them', async (t) => {
  const tab = await t.tab(await t.server({ page: { languages: ['ja'] } }), { locale: 'fr-FR' });
  equal(await tab.page.getAttribute('html', 'lang'), 'ja', 'lang');
  await tab.page.getByRole('button', { name: '設定' }).click();
  await tab.$('dialog[open]').waitFor();
  equal(await tab.page.getByRole('combobox').count(), 0, 'choices');
});

/* What people say, and what a tool of theirs asks: a picture in one language. */
const transfer = {
  description: 'Überweist',
  exec: { command: ['sh', '-c', 'cat > /dev/null; echo \'{"result":{"ok":true}}\''] },
  input_schema: { type: 'object' },
  confirm: 'always',
  risk: 'high',
  ask: '{Betrag} {Währung} an {Empfänger} senden?',
};
const transfers = { text: 'Ich bereite die Überweisung vor.', calls: [{ name: 'ueberweisen', arguments: { Betrag: 50, Währung: 'EUR', Empfänger: 'Hanako' } }] };

for (const language of ['de', 'ja']) {
  for (const [width, height] of [
    [375, 740],
    [1440, 900],
  ]) {
    test(`nothing is cut off in ${language} at ${width} px`, async (t) => {
      const model = await t.model([transfers]);
      const server = await t.server({ model: model.config, tools: { ueberweisen: transfer } });
      const tab = await t.tab(server, { locale: language, viewport: { width, height }, colorScheme: 'dark' });
      equal(await sticksOut(tab), 0, 'empty');
      await tab.send('Schick Hanako 50 €');
      await tab.card();
      equal(await sticksOut(tab), 0, 'a request');
      const buttons = await tab.$('.ask-answer button, .composer button').evaluateAll((all) =>
        all.filter((e) => e.scrollWidth > e.clientWidth + 1 || e.getBoundingClientRect().right > innerWidth).map((e) => e.textContent),
      );
      equal(buttons, [], 'buttons');
      if (language === 'de' && width === 375) await shot(tab, 'approval-de'); // letters of the other are not on every machine
      await tab.page.getByRole('button', { name: spoken[language].settings }).click();
      const cut = await tab.$('dialog').evaluate((d) => [...d.querySelectorAll('label, label *, h3')].filter((e) => e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 0).map((e) => e.textContent));
      equal(cut, [], 'settings');
    });
  }
}

test('the page is installed under the product’s name, opens without a network, and comes back by itself', async (t) => {
  const server = await t.server({ page: acme });
  const manifest = await (await fetch(`${server.url}/manifest.webmanifest`)).json();
  equal([manifest.name, manifest.start_url, manifest.display, manifest.theme_color], ['Acme Garden Help', '/', 'standalone', '#0b6e4f'], 'the manifest');
  equal(manifest.icons, [{ src: '/logo', sizes: 'any', type: 'image/svg+xml' }], 'its picture');
  const proxy = await t.proxy(server);
  const tab = await t.tab(proxy, { serviceWorkers: 'allow', locale: 'de' });
  await tab.ask('What is the weather in Tokyo?');
  const kept = () => caches.keys().then((names) => Promise.all(names.map((n) => caches.open(n).then((c) => c.keys())))).then((all) => all.flat().map((r) => new URL(r.url).pathname));
  await tab.until(() => navigator.serviceWorker.controller);
  await tab.until(async () => {
    const caught = await caches.open('parley-page-1').then((c) => c.keys());
    const loaded = performance.getEntriesByType('resource').filter((e) => e.name.includes('/assets/') && /index-.*\.(js|css)|de-/.test(e.name));
    return loaded.length > 2 && loaded.every((e) => caught.some((r) => r.url === e.name));
  });
  equal((await tab.page.evaluate(kept)).filter((p) => p.startsWith('/v1') || p.startsWith('/api') || p.startsWith('/t/')), [], 'nothing that was said is kept');
  proxy.pull();
  await tab.page.reload();
  await tab.$('.composer').waitFor();
  equal(await tab.page.getAttribute('html', 'lang'), 'de', 'in the person’s language');
  equal(await tab.$('.brand').innerText(), 'Acme Garden Help', 'whose page it is');
  await tab.page.getByText('Keine Verbindung.').waitFor();
  await tab.$('.composer textarea').fill('written without a network');
  await tab.page.reload();
  equal(await tab.$('.composer textarea').inputValue(), 'written without a network', 'what was being written');
  proxy.plug();
  await tab.$('.bubble', { hasText: 'What is the weather in Tokyo?' }).waitFor();
  tab.errors = []; // requests that could not be made
});

for (const mode of ['direct', 'sse', 'bidi']) {
  test(`${mode}: which model answers is said, and what an answer took and cost`, async (t) => {
    const model = await t.model(['It is sunny.']);
    const prices = { input: 1000, output: 2000, currency: 'EUR' };
    const server = await t.server({ model: { ...model.config, prices } });
    const tab = await t.tab(server, { mode });
    equal(squeeze(await tab.$('.model-name').innerText()), 'Model: qwen3-32b', 'the model');
    await tab.ask('How is the weather?');
    const { messages } = await server.json(`/v1/threads/${await tab.thread()}`);
    const { input_tokens, output_tokens } = messages[1].metadata.usage;
    ok(input_tokens > 0 && output_tokens > 0, 'the server counts');
    const said = tab.$('article.assistant .msg-tools');
    await tab.$('article.assistant').hover();
    await said.getByText(`${(input_tokens + output_tokens).toLocaleString('en-GB')} tokens`).waitFor();
    ok(/about €\d/.test(await said.innerText()), `the cost: ${await said.innerText()}`);
    await tab.page.reload();
    await said.getByText('about €').waitFor({ state: 'attached' });
  });
}
