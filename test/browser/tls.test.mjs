// The page by TLS of the server itself, over all three roads; the browser is told to take the certificate.
import { certificate } from '../lib/certificate.mjs';
import { test, equal, ok } from './lib/test.mjs';

for (const mode of ['direct', 'sse', 'bidi'])
  test(`${mode}: by https a payment is asked for and made, and no request goes another way`, async (t) => {
    const server = await t.server({ tls: certificate(t.folder()) });
    const tab = await t.tab(server, { mode, ignoreHTTPSErrors: true });
    ok(tab.page.url().startsWith('https://'), tab.page.url());
    ok(await tab.page.evaluate(() => isSecureContext), 'a secure context');
    equal(await tab.page.evaluate(() => [...new Set(performance.getEntries().map((e) => e.nextHopProtocol).filter(Boolean))].join()), 'h2', 'how the page came');
    await tab.send('Send 50 dollars to Hanako');
    await tab.approve();
    await tab.$('.tool[data-status="done"]').waitFor();
    await tab.idle();
    equal(server.ledger().length, 1, 'payments');
  });
