// What the REST calls are told, in the words of the page.
import { expect, test } from 'vitest';
import { Api } from './api';

const answering = (record: object) => new Api({ fetch: (async () => Response.json(record)) as typeof fetch });

test('who was faster is told in words of the page, however far the call has come since', async () => {
  for (const status of ['approved', 'running', 'offered', 'done', 'failed', 'unknown']) {
    const found = await answering({ id: 'c', status, decided_by: 'ada' }).decided('c');
    expect(found?.words).toBe('Decided already: approved by ada.');
  }
  expect((await answering({ id: 'c', status: 'denied', decided_by: 'ada' }).decided('c'))?.words).toBe('Decided already: denied by ada.');
});

test('what still waits was not decided by anybody', async () => {
  expect(await answering({ id: 'c', status: 'pending' }).decided('c')).toBeNull();
});
