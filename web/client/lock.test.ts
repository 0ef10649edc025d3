// The lock file is whole, so that `npm ci` takes it: npm 11 refuses one that leaves out the packages of other systems.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

interface Locked {
  resolved?: string;
  dependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
}

const file = join(import.meta.dirname, '../package-lock.json');
const { packages } = JSON.parse(readFileSync(file, 'utf8')) as { packages: Record<string, Locked> };

/* Where Node would find `name` from a package at `path`: beside it, or above. */
function found(path: string, name: string): boolean {
  const above = path.lastIndexOf('node_modules/');
  const here = path ? `${path}/node_modules/${name}` : `node_modules/${name}`;
  if (packages[here]) return true;
  return path !== '' && found(path.slice(0, Math.max(0, above - 1)), name);
}

test('everything that a package wants has an entry, for every system', () => {
  const missing = Object.entries(packages).flatMap(([path, p]) =>
    Object.keys({ ...p.dependencies, ...p.optionalDependencies })
      .filter((name) => !found(path, name))
      .map((name) => `${path || 'the page'}: ${name}`),
  );
  expect(missing).toEqual([]);
});

test('no entry names a registry', () => {
  expect(
    Object.entries(packages).flatMap(([path, { resolved }]) => (resolved ? [path] : [])),
  ).toEqual([]);
});
