// Pictures that go with a message: by button, paste and drop; what is too much is said before anything is sent.
import { test, equal, ok } from './lib/test.mjs';

const dot = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64');
const png = (name) => ({ name, mimeType: 'image/png', buffer: dot });

/* A picture that nothing here makes smaller. */
const gif = (name, bytes) => ({
  name,
  mimeType: 'image/gif',
  buffer: Buffer.concat([Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64'), Buffer.alloc(bytes)]),
});

const add = (tab, ...files) => tab.$('.attach input').setInputFiles(files);
const waiting = (tab, n) => tab.until((c) => document.querySelectorAll('.pictures img').length === c, n);

/* A file in the hands of the page: dispatches `type` with it on `selector`. */
function handOver(tab, type, selector, name = 'pasted.png') {
  return tab.page.evaluate(
    ([kind, where, bytes, called]) => {
      const data = new DataTransfer();
      data.items.add(new File([Uint8Array.from(atob(bytes), (c) => c.charCodeAt(0))], called, { type: 'image/png' }));
      const init = { bubbles: true, cancelable: true };
      const event =
        kind === 'paste' ? new ClipboardEvent(kind, { ...init, clipboardData: data }) : new DragEvent(kind, { ...init, dataTransfer: data });
      document.querySelector(where).dispatchEvent(event);
    },
    [type, selector, dot.toString('base64'), name],
  );
}

for (const mode of ['direct', 'sse', 'bidi']) {
  test(`${mode}: a picture goes with the message, reaches the model, and is there after a reload`, async (t) => {
    const model = await t.model(['A very small picture.']);
    const tab = await t.tab(await t.server({ model: model.config }), { mode });
    await add(tab, png('one.png'), png('two.png'));
    await waiting(tab, 2);
    await tab.page.getByRole('button', { name: 'Leave out one.png' }).click();
    await waiting(tab, 1);
    await tab.ask('What is this?');
    equal(await tab.$('.pictures').count(), 0, 'the composer is empty again');
    equal(await tab.$('article.user .thumb img').getAttribute('alt'), 'two.png', 'in the bubble');
    ok(model.heard[0].includes(dot.toString('base64')), 'the model has it');
    await tab.page.reload();
    await tab.$('article.user .thumb img').waitFor();
    ok(await tab.$('.thumb img').evaluate((i) => i.complete && i.naturalWidth === 1), 'shown after a reload');
    equal(await tab.$('.bubble').allInnerTexts(), ['What is this?']);
  });
}

test('a picture needs no words, and an edited question keeps it', async (t) => {
  const model = await t.model(['A dot.', 'Still a dot.']);
  const tab = await t.tab(await t.server({ model: model.config }));
  await add(tab, png('dot.png'));
  await waiting(tab, 1);
  await tab.$('.round').click();
  await tab.until(() => document.querySelector('.said')?.innerText.includes('A dot.'));
  await tab.idle();
  equal([await tab.$('.bubble').count(), await tab.$('.thumb').count()], [0, 1], 'no empty bubble');
  await tab.edit('And now?');
  await tab.until(() => document.querySelector('.said')?.innerText.includes('Still a dot.'));
  await tab.idle();
  ok(model.heard[1].includes(dot.toString('base64')), 'it went along');
  await tab.page.reload();
  await tab.$('.versions').waitFor();
  equal(await tab.$('.thumb').count(), 1, 'pictures');
});

test('pictures come by paste and by drop, and belong to their conversation', async (t) => {
  const tab = await t.tab(await t.server());
  await tab.ask('What is the weather in Tokyo?');
  await handOver(tab, 'paste', '.composer textarea');
  await waiting(tab, 1);
  await handOver(tab, 'dragover', '.scroller');
  ok((await tab.$('.drop').innerText()).includes('up to 5'), 'the limits are told before');
  await handOver(tab, 'drop', '.scroller', 'dropped.png');
  await waiting(tab, 2);
  equal(await tab.$('.drop').count(), 0, 'the frame is gone');
  await tab.page.getByRole('button', { name: 'New conversation', exact: true }).click();
  await waiting(tab, 0);
  await tab.page.goBack();
  await waiting(tab, 2);
});

test('what cannot go is said before anything is sent', async (t) => {
  const tab = await t.tab(await t.server());
  const posts = [];
  tab.page.on('request', (r) => r.method() === 'POST' && posts.push(r.url()));
  await add(tab, { name: 'notes.pdf', mimeType: 'application/pdf', buffer: dot });
  await tab.page.getByText('notes.pdf could not be read.').waitFor();
  await add(tab, gif('film.gif', 6_000_000));
  await tab.page.getByText('film.gif is too large (6 MB; there is room for 5.6 MB).').waitFor();
  await add(tab, ...['a', 'b', 'c', 'd', 'e', 'f'].map((n) => png(`${n}.png`)));
  await tab.page.getByText('f.png was left out: 5 pictures go with one message.').waitFor();
  await waiting(tab, 5);
  equal(posts, [], 'requests');
});

test('a large photograph is made smaller before it leaves', async (t) => {
  const tab = await t.tab(await t.server());
  await tab.page.evaluate(async () => {
    const canvas = document.createElement('canvas');
    canvas.width = 3000;
    canvas.height = 1500;
    const pen = canvas.getContext('2d');
    const noise = pen.createImageData(3000, 400); // noise cannot be packed
    for (let i = 0; i < noise.data.length; i += 65_536) crypto.getRandomValues(noise.data.subarray(i, i + 65_536));
    pen.putImageData(noise, 0, 0);
    const blob = await new Promise((done) => canvas.toBlob(done, 'image/png'));
    if (blob.size < 1_000_000) throw new Error(`too small for this test: ${blob.size}`);
    const data = new DataTransfer();
    data.items.add(new File([blob], 'photo.png', { type: 'image/png' }));
    document.querySelector('.composer').dispatchEvent(new DragEvent('drop', { bubbles: true, cancelable: true, dataTransfer: data }));
  });
  await waiting(tab, 1);
  equal(await tab.$('.pictures img').evaluate((i) => [i.naturalWidth, i.naturalHeight]), [2048, 1024], 'its size');
});

test('bidi: what is too large for a socket goes over HTTP, and the socket goes on', async (t) => {
  const server = await t.server();
  const tab = await t.tab(server, { mode: 'bidi' });
  await tab.ask('What is the weather in Tokyo?');
  const posts = [];
  tab.page.on('request', (r) => r.method() === 'POST' && posts.push(new URL(r.url()).pathname));
  await add(tab, gif('film.gif', 2_000_000));
  await waiting(tab, 1);
  await tab.ask('What is the weather in Paris?');
  equal(posts, ['/stream']);
  await tab.ask('What is the weather in Lima?');
  equal(posts, ['/stream'], 'the next one went by the socket');
  equal(await tab.$('.bubble').count(), 3, 'questions');
  equal(await tab.$('.notice').count(), 0, 'nothing to complain about');
});

test('pictures taken back with an unsent message are in the composer again', async (t) => {
  const proxy = await t.proxy(await t.server());
  const tab = await t.tab(proxy, { mode: 'sse' });
  await tab.ask('What is the weather in Tokyo?');
  proxy.pull();
  await add(tab, png('dot.png'));
  await waiting(tab, 1);
  await tab.send('And this?');
  await tab.page.getByRole('button', { name: 'Take back' }).click();
  await waiting(tab, 1);
  equal(await tab.$('.composer textarea').inputValue(), 'And this?');
});
