// locker.mjs -- another program that holds the file of a store, so that nothing can be written.
import { spawn, spawnSync } from 'node:child_process';
import { skip, until } from './lib.mjs';

export const python = () => { if (spawnSync('python3', ['-c', 'import sqlite3']).status !== 0) skip('no python3 with sqlite3'); };

// What a query finds in the file `db`, an array a row.
export function rows(db, query) {
    const r = spawnSync('python3', ['-c', 'import json, sqlite3, sys; print(json.dumps(sqlite3.connect(sys.argv[1], timeout=10).execute(sys.argv[2]).fetchall()))', db, query]);
    if (r.status !== 0) throw new Error(String(r.stderr));
    return JSON.parse(r.stdout);
}

// lock.take(), lock.free(), of the file `db`.
export async function locker(t, db) {
    const child = spawn('python3', ['-u', '-c', `
import sqlite3, sys
c = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=10)
print("ready")
for line in sys.stdin:
    c.execute(line)
    print(line.strip())
`, db], { stdio: ['pipe', 'pipe', 'inherit'] });
    t.defer(() => child.kill('SIGKILL'));
    let out = '';
    child.stdout.setEncoding('utf8').on('data', (d) => { out += d; });
    const said = (word) => until(() => { if (child.exitCode !== null) throw new Error('the locker ended'); return out.endsWith(word + '\n'); }, word);
    const tell = (word) => { child.stdin.write(word + '\n'); return said(word); };
    await said('ready');
    return { take: () => tell('BEGIN EXCLUSIVE'), free: () => tell('ROLLBACK') };
}
