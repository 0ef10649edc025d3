// The lock files are whole, so that `npm ci` takes them: npm 11 refuses one that leaves out the packages of other systems.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { expect, test } from 'vitest';

interface Locked {
  resolved?: string;
  dependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
}

type Packages = Record<string, Locked>;

const root = join(import.meta.dirname, '../..');
const folders = ['web', 'bench/peers', ...readdirSync(join(root, 'test')).map((name) => `test/${name}`)];
const locked = folders
  .map((folder) => join(root, folder, 'package-lock.json'))
  .filter((file) => existsSync(file))
  .map((file) => [relative(root, file), (JSON.parse(readFileSync(file, 'utf8')) as { packages: Packages }).packages] as const);

/* Where Node would find `name` from a package at `path`: beside it, or above. */
function found(packages: Packages, path: string, name: string): boolean {
  const above = path.lastIndexOf('node_modules/');
  const here = path ? `${path}/node_modules/${name}` : `node_modules/${name}`;
  if (packages[here]) return true;
  return path !== '' && found(packages, path.slice(0, Math.max(0, above - 1)), name);
}

test('there are lock files beside the page’s', () => {
  expect(locked.length).toBeGreaterThan(5);
});

test.each(locked)('%s: everything that a package wants has an entry, for every system', (_, packages) => {
  const missing = Object.entries(packages).flatMap(([path, p]) =>
    Object.keys({ ...p.dependencies, ...p.optionalDependencies })
      .filter((name) => !found(packages, path, name))
      .map((name) => `${path || 'the folder itself'}: ${name}`),
  );
  expect(missing).toEqual([]);
});

test.each(locked)('%s: no entry names a registry', (_, packages) => {
  expect(
    Object.entries(packages).flatMap(([path, { resolved }]) => (resolved ? [path] : [])),
  ).toEqual([]);
});
