import { expect, test } from 'vitest';
import { connectLink } from './connect';

const ask = 'Connect your account at mail to go on? Open /v1/mcp/mail/connect';

test('the address at the end of the question, with the way back', () => {
  expect(connectLink(ask, 'mail__send', '/t/abc')).toBe('/v1/mcp/mail/connect?to=%2Ft%2Fabc');
  expect(connectLink(ask.replace('/v1', 'https://assistant.example/v1'), 'mail__send', '/')).toBe('/v1/mcp/mail/connect?to=%2F');
  expect(connectLink('Open /v1/mcp/my%20mail/connect', 'my mail__send', '/t/x?y')).toBe('/v1/mcp/my%20mail/connect');
});

test('nothing else is one', () => {
  for (const other of ['Send 50 USD to Hanako?', 'Open /v1/mcp/mail/connect now', 'Open /v1/mcp/mail/callback', 'Open /v1/mcp/%zz/connect', 'javascript:/v1/mcp/mail/connect', ''])
    expect(connectLink(other, 'mail__send', '/')).toBe(null);
  expect(connectLink(ask, 'files__read', '/')).toBe(null);
});
