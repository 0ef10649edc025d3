// An artifact has the keyboard after a person went into it, and at no other time: what is typed is where it belongs.
import { auth, bank, key, payments } from '../live/org.mjs';
import { violations } from './lib/look.mjs';
import { equal, test } from './lib/test.mjs';

const build = { description: 'Builds', exec: { command: ['sed', 's/^/{"result":/; s/$/}/'] }, input_schema: { type: 'object' }, confirm: 'never', shows: 'artifact' };
const made = (title, content) => ({ name: 'build', arguments: { type: 'html', title, content } });

/* It takes the keyboard when the page says so, and as long as it runs; it shows what was typed in it. */
const thief = (take) => `<input id="x"><dialog id="d"><input></dialog><p id="got"></p>
  <script>document.onkeydown = (e) => { got.textContent += e.key; };
  addEventListener('message', () => setInterval(() => { ${take} }, 10));</script>`;
const thieves = {
  'by focus()': thief('x.focus(); x.select(); window.focus()'),
  'by a dialog of its own': thief('d.close(); d.showModal()'),
};
const taken = (tab) => tab.page.getByText('The artifact took the keyboard without being pressed');

/* Over when it has tried a few times, or was ended. */
async function steal(tab) {
  const thief = tab.$('iframe[title="Thief"]').contentFrame().locator('#x');
  await thief
    .evaluate(() => {
      postMessage('now', '*');
      let times = 0;
      return new Promise((done) => setInterval(() => ++times === 5 && done(), 10));
    })
    .catch(() => {});
}

const typed = 'what a person types, letter by letter';

for (const [how, content] of Object.entries(thieves)) {
  test(`beside an artifact that takes the keyboard ${how}, what is typed in the composer and in a field of a request stays there`, async (t) => {
    const books = await bank(t);
    const model = await t.model([{ calls: [made('Thief', content)] }, 'Built.', { calls: [{ name: 'process_payment', arguments: { recipient: 'Hanako', amount: 50, currency: 'USD' } }] }, 'Paid.']);
    const rules = payments(books, { edit: ['/amount', '/memo'] }, { model: model.config });
    const tab = await t.tab(await t.server({ ...rules, tools: { ...rules.tools, build } }));
    await tab.ask('build');
    await tab.artifact();
    await tab.$('.composer textarea').click();
    await tab.page.keyboard.type('what a person ');
    await steal(tab);
    await tab.page.keyboard.type('types, letter by letter');
    equal(await tab.$('.composer textarea').inputValue(), typed, 'in the composer');
    await tab.$('.composer textarea').fill('');
    await tab.send('Pay Hanako');
    const card = await tab.card();
    if (await taken(tab).count()) await tab.page.getByRole('button', { name: 'Run it again' }).click();
    await tab.artifact();
    await card.getByRole('button', { name: 'Change it first…' }).click();
    await card.getByLabel('memo', { exact: true }).click();
    await tab.page.keyboard.type('what a person ');
    await steal(tab);
    await tab.page.keyboard.type('types, letter by letter');
    equal(await card.getByLabel('memo', { exact: true }).inputValue(), typed, 'in the field');
  });

  test(`beside an artifact that takes the keyboard ${how}, a key stays in the dialog that asks for it`, async (t) => {
    const model = await t.model([{ calls: [made('Thief', content)] }, 'Built.']);
    const tab = await t.tab(await t.server({ auth: auth({ ann: ['user'] }), model: model.config, tools: { build } }));
    await tab.signIn(key('ann'));
    await tab.ask('build');
    await tab.artifact();
    await tab.signedOutElsewhere();
    await tab.send('hello');
    const field = tab.page.getByRole('dialog', { name: 'Sign in' }).getByLabel('Access key');
    await field.click();
    const [half, rest] = [key('ann').slice(0, 3), key('ann').slice(3)];
    await tab.page.keyboard.type(half);
    await steal(tab);
    await tab.page.keyboard.type(rest);
    equal(await field.inputValue(), key('ann'), 'the key');
    await tab.page.keyboard.press('Enter');
    await tab.page.getByRole('dialog', { name: 'Sign in' }).waitFor({ state: 'detached' });
  });
}

test('an artifact that took the keyboard is taken down; run again it is there until it does so again', async (t) => {
  const model = await t.model([{ calls: [made('Thief', thieves['by a dialog of its own'])] }, 'Built.']);
  const tab = await t.tab(await t.server({ model: model.config, tools: { build } }));
  await tab.ask('build');
  for (const time of ['once', 'twice']) {
    await tab.artifact();
    equal(await taken(tab).count(), 0, `there, ${time}`);
    await tab.$('.composer textarea').click();
    await steal(tab);
    await taken(tab).waitFor();
    equal([await tab.$('.artifact iframe').count(), await tab.$('.composer textarea').evaluate((e) => e === document.activeElement)], [0, true], time);
    await tab.page.getByRole('button', { name: 'Run it again' }).click();
  }
});

test('whoever goes into an artifact has the keyboard in it until they go elsewhere, and no other takes it from there', async (t) => {
  const keys = '<input hidden><p></p><script>document.onkeydown = (e) => { document.querySelector("p").textContent += e.key; };</script>';
  const model = await t.model([{ calls: [made('Keys', keys), made('Thief', thieves['by a dialog of its own'])] }, 'Built.']);
  const tab = await t.tab(await t.server({ model: model.config, tools: { build } }));
  await tab.ask('build');
  const goIn = tab.page.getByRole('button', { name: 'Use: Keys' }), composer = tab.$('.composer textarea');
  const pressed = tab.page.locator('.artifact', { hasText: 'Keys' }).locator('iframe').contentFrame().locator('p');
  await pressed.waitFor({ state: 'attached' });
  await tab.page.locator('.artifact', { hasText: 'Thief' }).locator('iframe').contentFrame().locator('#x').waitFor();
  equal(await violations(tab, '.artifact'), [], 'axe');
  await goIn.focus(); // no pointer is needed
  await tab.page.keyboard.press('Enter');
  await goIn.waitFor({ state: 'detached' });
  await tab.page.keyboard.type('one');
  await steal(tab);
  await taken(tab).waitFor();
  await tab.page.keyboard.type('two');
  equal([await pressed.textContent(), await composer.inputValue(), await goIn.count()], ['onetwo', '', 0], 'in the one that was pressed');
  await composer.click();
  await goIn.waitFor();
  await tab.page.keyboard.type('three');
  equal([await pressed.textContent(), await composer.inputValue()], ['onetwo', 'three'], 'elsewhere');
});
