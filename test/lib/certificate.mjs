// certificate.mjs -- a certificate that vouches for itself, made by openssl, as the configuration's
// "tls" names it.
import { spawnSync } from 'node:child_process';
import path from 'node:path';

// In {dir}, in files that begin with {name}; for {host}, and for so many {days}.
export function certificate(dir, { name = 'server', host = 'localhost', days = 90 } = {}) {
    const cert = path.join(dir, `${name}.crt`), key = path.join(dir, `${name}.key`);
    const made = spawnSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt',
        'ec_paramgen_curve:P-256', '-nodes', '-keyout', key, '-out', cert, '-days', String(days),
        '-subj', `/CN=${host}`, '-addext', `subjectAltName=DNS:${host},IP:127.0.0.1`]);
    if (made.status !== 0) throw new Error(`openssl req: ${made.stderr}`);
    return { cert, key };
}
