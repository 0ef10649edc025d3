// Every test that test/clients.md names is there.
import fs from 'node:fs';
import path from 'node:path';
import { ROOT, check, same, test } from './lib.mjs';

test('the tests that are said to show what a client can do exist', async () => {
    const rows = fs.readFileSync(path.join(ROOT, 'test/clients.md'), 'utf8').split('\n').filter((l) => l.startsWith('| ') && !l.startsWith('| case'));
    const named = rows.map((l) => /`(\w+\/\w+): (.+?)`{1,2} \|$/.exec(l)).filter(Boolean);
    check(named.length > 50, `${named.length} are named`);
    const missing = named.filter(([, file, words]) => {
        const at = path.join(ROOT, 'test', `${file}.test.mjs`);
        return !fs.existsSync(at) || !fs.readFileSync(at, 'utf8').includes(words);
    });
    same(missing.map(([, file, words]) => `${file}: ${words}`), []);
    same(rows.filter((l) => !named.some(([row]) => l.includes(row)) && !l.includes('no test: ')), [], 'rows that name none');
});
