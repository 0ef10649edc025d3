// Fails the build when the first script a visitor loads passes 150 kB compressed.
import { readdirSync, readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';

const max = 150_000;
const html = readFileSync('dist/index.html', 'utf8');
let first = 0;
for (const name of readdirSync('dist/assets').filter((n) => !n.endsWith('.br'))) {
  const bytes = gzipSync(readFileSync(`dist/assets/${name}`), { level: 9 }).length;
  const initial = name.endsWith('.js') && html.includes(name);
  if (initial) first += bytes;
  console.log(`${String(bytes).padStart(7)} B gzip  ${name}${initial ? '  (first script)' : ''}`);
}
if (first > max) {
  console.error(`The first script is ${first} B compressed; the limit is ${max} B.`);
  process.exit(1);
}
