// What the tests themselves stand on: nobody else is in the room of a tab.
import { ok, test } from './lib/test.mjs';

test('a tab that is closed twice leaves its room to one other, not to two', async (t) => {
  const server = await t.server();
  const open = () => t.tab(server, { path: '/healthz', ready: 'body' });
  const first = await open();
  await first.close();
  await first.close();
  const [one, two] = [await open(), await open()];
  ok(one.context !== two.context, 'each has its own');
});
