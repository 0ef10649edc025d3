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

test('a list of requests is read to its end, page by page', async () => {
  const asked: string[] = [];
  const pages: Record<string, object> = {
    '': { approvals: [{ id: 'c3' }, { id: 'c2' }], next: '2' },
    '2': { approvals: [], next: '1' }, // those that were decided meanwhile
    '1': { approvals: [{ id: 'c1' }], next: null },
  };
  const api = new Api({
    fetch: (async (url: string) => {
      const query = new URL(url, 'http://x').searchParams;
      asked.push(`${query.get('status')} ${query.get('limit')} ${query.get('before') ?? ''}`);
      return Response.json(pages[query.get('before') ?? '']);
    }) as typeof fetch,
  });
  expect((await api.everyApproval({ status: 'pending' })).map((a) => a.id)).toEqual(['c3', 'c2', 'c1']);
  expect(asked).toEqual(['pending 500 ', 'pending 500 2', 'pending 500 1']);
  expect((await api.everyApproval({ before: '1' })).map((a) => a.id)).toEqual(['c1']);
});
