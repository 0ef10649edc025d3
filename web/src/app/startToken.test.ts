import { expect, test } from 'vitest';
import { Api, Refused } from '../transport/api';
import { t } from '../words';
import { takeStartToken } from './startToken';

/* An address, and what was done to it, in order. */
function page(hash: string, answer: () => Promise<unknown> = async () => ({})) {
  const done: string[] = [];
  const at = { hash, pathname: '/t/x', search: '?y=1' };
  const history = { replaceState: (_: unknown, __: string, url?: string | URL | null) => void done.push(`address ${url}`) };
  const show = (token: string) => (done.push(`showed ${token}`), answer());
  return { done, exchange: takeStartToken(at, history, show) };
}

test('a token leaves the address before it is exchanged', async () => {
  const p = page('#token=abc-123');
  expect(await p.exchange).toEqual({ taken: true });
  expect(p.done).toEqual(['address /t/x?y=1', 'showed abc-123']);
});

test('an address without a token is left alone', async () => {
  for (const hash of ['', '#', '#token=', '#other=1', '#top&token=x']) {
    const p = page(hash);
    expect(await p.exchange).toEqual({ taken: false });
    expect(p.done).toEqual([]);
  }
});

test('a token of an earlier start is told in the server\'s words', async () => {
  const p = page('#token=old', () => Promise.reject(new Refused(401, 'unauthorized', 'That is not the token of this start.')));
  expect(await p.exchange).toEqual({ taken: false, problem: 'That is not the token of this start.' });
  expect(p.done[0]).toBe('address /t/x?y=1');
});

test('where there is sign-in nothing comes of a token in the address', async () => {
  const p = page('#token=somebodys-key', () => Promise.reject(new Refused(422, 'no_start_token', 'An address signs nobody in.')));
  expect(await p.exchange).toEqual({ taken: false });
  expect(p.done[0]).toBe('address /t/x?y=1');
});

test('a decision without the token says which address to open, and the question still waits', async () => {
  const said = { error: { code: 'token_needed', message: 'send Authorization' } };
  const waits = { id: 'c', status: 'pending' };
  const fetch = async (_: unknown, init?: RequestInit) =>
    init?.method === 'POST' ? new Response(JSON.stringify(said), { status: 403 }) : new Response(JSON.stringify(waits));
  const api = new Api({ fetch: fetch as typeof globalThis.fetch });
  await expect(api.decide('c', { confirmed: true })).rejects.toThrow(t.tokenNeeded);
  expect(await api.decided('c')).toBeNull();
});
