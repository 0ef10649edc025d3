// Reflow: in a window of 320 x 256 (1280 x 1024 enlarged to 400 %) and on the narrowest phones nothing is wider than the page,
// with names and words as long as they come.
import { createHash } from 'node:crypto';
import { beside, shot } from './lib/look.mjs';
import { equal, test } from './lib/test.mjs';

const sizes = [
  [320, 256],
  [320, 640],
];

/* What is beside the page in either window, of everything that was looked at. */
class Widths {
  found = [];

  async look(tab, what) {
    for (const [width, height] of sizes) {
      await tab.page.setViewportSize({ width, height });
      for (const e of await beside(tab)) this.found.push(`${what}, ${width} x ${height}: ${e}`);
      if (process.env.LOOK) await shot(tab, `reflow-${what.replace(/\W+/g, '-')}-${height}`);
    }
  }
}

const long = 'Send_fifty_dollars_to_Hanako_for_the_invoice_of_the_twenty-fourth_of_November please, and tell me when it has arrived there';
const words = 'Überweisungsbestätigungsformular'.repeat(3);
const pay = {
  description: 'Pays somebody, and waits until they have it.',
  input_schema: { type: 'object', properties: { recipient: { type: 'string' }, amount: { type: 'number' }, memo: { type: 'string' } } },
  exec: { command: ['sh', '-c', `cat > /dev/null; echo '{"result":{"receipt":"${'0123456789'.repeat(12)}"}}'`], sandbox: 'best_effort' },
  confirm: 'always',
  risk: 'high',
  ask: 'Pay {amount} to {recipient}?',
  edit: ['/amount', '/memo'],
  grant: { for: 28_800, count: 20, sum: '/amount', max: 500, same: ['/recipient'] },
  expires: 3600,
};
const tools = { a_tool_with_a_name_that_does_not_end_where_others_do: pay };
const pays = { text: 'I prepare it.', calls: [{ name: Object.keys(tools)[0], arguments: { recipient: `Hanako_${words}`, amount: 50, memo: words } }] };
const plays = { calls: [{ name: 'change_bgm', arguments: { track: 1 } }] };
const answer = `# ${words}\n\n| a | b | c | d |\n|---|---|---|---|\n| ${words} | ${words} | 1 | 2 |\n\n\`\`\`js\nconst ${words} = '${words}';\n\`\`\`\n\nhttps://example.org/${words}`;

const heading = { name: 'Acme Garden Help and Warehouse of Upper Bavaria', greeting: `Ask us. ${words}`, footer: `Answers can be wrong. ${words}` };

for (const locale of ['en-GB', 'de-DE'])
  test(`no page of a conversation is wider than its window, ${locale}`, async (t) => {
    const widths = new Widths();
    const model = await t.model([{ text: answer }, plays, { text: 'It plays.' }, pays, { text: 'It is paid, and they have it.' }, { fail: 400 }]);
    const server = await t.server({
      models: { one: { ...model.config, model: `a-model-${words}` }, two: model.config },
      model: 'one',
      page: { ...heading, models: ['one', 'two'], share: 'anyone' },
      demo: { tools: true },
      tools,
    });
    const tab = await t.tab(server, { locale });
    await widths.look(tab, 'the empty page');
    await tab.ask(long);
    await widths.look(tab, 'an answer');
    await tab.ask('Play some music');
    await tab.approve();
    await tab.$('.bgm').waitFor();
    await tab.idle();
    await widths.look(tab, 'music');
    await tab.send(long);
    await tab.card();
    await widths.look(tab, 'a request');
    for (const n of [0, 1, 2]) {
      await tab.$('.ask .link').nth(n).click();
      await widths.look(tab, `a request, another way ${n}`);
      await tab.page.reload();
      await tab.card();
    }
    await tab.page.setViewportSize({ width: 320, height: 640 });
    await tab.$('.inbox-button').click();
    await tab.$('dialog .ask').waitFor();
    await widths.look(tab, 'the sheet of what waits');
    await tab.page.keyboard.press('Escape');
    await tab.page.goto(`${server.url}/inbox`);
    await tab.card();
    await widths.look(tab, 'the inbox');
    await tab.page.goBack();
    await tab.card();
    model.hold();
    await tab.approve();
    await tab.$('article.assistant[aria-busy="true"] .growing').waitFor();
    await widths.look(tab, 'a running answer');
    await tab.page.locator('.column[role="log"]').evaluate((e) => (e.parentElement.scrollTop = 0));
    model.release();
    await tab.$('.jump').waitFor();
    await widths.look(tab, 'new text below');
    await tab.$('.jump').click();
    await tab.idle();
    await tab.$('.tool-head').last().click();
    await widths.look(tab, 'an open card');
    await tab.ask(long);
    await tab.$('.failure').waitFor();
    await widths.look(tab, 'a failure');
    await tab.$('.top button').last().click();
    await tab.$('dialog .toollist').waitFor();
    await tab.$('dialog .share button').click();
    await tab.$('dialog .share input').waitFor();
    await widths.look(tab, 'the settings');
    const shared = new URL(await tab.$('dialog .share input').inputValue()).pathname;
    await tab.$('dialog .choices input[type="checkbox"]').last().check(); // raw events
    await tab.page.keyboard.press('Escape');
    await widths.look(tab, 'raw events');
    await tab.page.keyboard.press('Control+k');
    await tab.$('.palette [role="option"]').first().waitFor();
    await widths.look(tab, 'the palette');
    await tab.page.keyboard.press('Escape');
    await tab.page.keyboard.press('?');
    for (const path of [shared, '/inbox?grants', '/t/t_nobody']) {
      await tab.page.goto(server.url + path);
      await tab.$('.top').waitFor();
      await widths.look(tab, path === shared ? 'a shared conversation' : path);
    }
    await tab.$('.menu').click();
    await tab.$('.side-wrap.open .row').first().waitFor();
    await widths.look(tab, 'the list');
    await tab.page.goto(`${server.url}/inbox`);
    await tab.$('.tabs button').nth(1).click();
    await tab.$('[data-decided] .inbox-line').first().click();
    await widths.look(tab, 'what was decided');
    equal(widths.found, [], 'what is beside a page');
  });

const key = (name, ...roles) => ({ sha256: createHash('sha256').update(name).digest('hex'), principal: `${name}.${words}@example.org`, roles });

test('no page for who signs in, administers or was sent a link is wider than its window', async (t) => {
  const widths = new Widths();
  const model = await t.model([pays, 'Paid.']);
  const server = await t.server({
    model: model.config,
    tools,
    page: heading,
    auth: { keys: [key('ada', 'user'), key('fay', 'user', 'finance', 'admin'), key('bot', 'notifier')] },
    approvals: { rules: [{ tool: '*', from: { role: 'finance', not_requester: true } }], context: 'conversation' },
    public_url: 'http://127.0.0.1',
    links: { key: 'text:0123456789abcdef0123456789abcdef' },
  });
  const as = (name) => ({ authorization: `Bearer ${name}`, 'content-type': 'application/json' });
  await (await fetch(`${server.url}/v1/chat/stream`, { method: 'POST', headers: as('ada'), body: JSON.stringify({ message: long }) })).text();
  const { approvals } = await (await fetch(`${server.url}/v1/approvals?status=pending`, { headers: as('fay') })).json();
  const made = await fetch(`${server.url}/v1/approvals/${approvals[0].id}/links`, { method: 'POST', headers: as('bot'), body: JSON.stringify({ for: key('fay').principal }) });
  const link = new URL((await made.json()).url).pathname;

  const letter = await t.tab(server, { path: link, ready: 'h1' });
  await widths.look(letter, 'a link');
  const tab = await t.tab(server, { ready: 'dialog' });
  await widths.look(tab, 'the sign-in');
  await tab.signIn('fay');
  for (const [path, ready] of [
    ['/inbox', '.inbox-context'],
    ['/admin', '.admin-table td'],
    [`/a/${approvals[0].id}`, 'dialog .ask'],
  ]) {
    await tab.page.goto(server.url + path);
    await tab.$(ready).first().waitFor();
    await widths.look(tab, path.slice(0, 6));
  }
  await tab.page.goto(`${server.url}/admin`);
  await tab.$('.tabs button').nth(1).click();
  await tab.$('.figures').first().waitFor();
  await widths.look(tab, 'what was used');
  await letter.page.getByRole('button', { name: 'Deny' }).click();
  await letter.page.getByText('You said no').waitFor();
  await widths.look(letter, 'a link that was used');
  equal(widths.found, [], 'what is beside a page');
});
