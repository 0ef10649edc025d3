// One test: a name that is a true sentence, and everything it opened.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Model } from './model.mjs';
import { Tab } from './page.mjs';
import { Proxy } from './proxy.mjs';
import { Server } from './server.mjs';

export const tests = [];

export function test(name, body) {
  tests.push({ name, body });
}

export class Test {
  constructor(name, report) {
    this.name = name;
    this.report = report;
    this.servers = [];
    this.tabs = [];
    this.closing = [];
  }

  async server(config = {}) {
    const server = new Server({ demo: { token_ms: 5 }, ...config });
    this.servers.push(server);
    return server.start();
  }

  async model(turns, options) {
    const model = await new Model(turns, options).start();
    this.closing.push(() => model.close());
    return model;
  }

  /** A folder that goes with the test. */
  folder() {
    const path = mkdtempSync(join(tmpdir(), 'parley-test-'));
    this.closing.push(() => rmSync(path, { recursive: true, force: true }));
    return path;
  }

  touch(file) {
    writeFileSync(file, '');
  }

  async proxy(server) {
    const proxy = await new Proxy(server).start();
    this.closing.push(() => proxy.close());
    return proxy;
  }

  async tab(server, options) {
    const tab = await Tab.open(server.url, options);
    this.tabs.push(tab);
    return tab;
  }

  /** What no test may leave behind. */
  async check() {
    for (const tab of this.tabs) {
      if (tab.errors.length) throw new Error(`errors in the page: ${tab.errors.join('; ')}`);
      const foreign = tab.requests.filter((u) => /^https?:/.test(u) && !u.startsWith('http://127.0.0.1:'));
      if (foreign.length) throw new Error(`requests to others: ${foreign.join(', ')}`);
      if (!tab.page.isClosed() && !(await tab.noEmptyYou())) throw new Error('an empty "You" bubble');
    }
  }

  async autopsy() {
    const folder = join(import.meta.dirname, '../failed');
    mkdirSync(folder, { recursive: true });
    for (const [n, tab] of this.tabs.entries()) {
      if (!tab.page.isClosed())
        await tab.page.screenshot({ path: join(folder, `${this.name.replace(/\W+/g, '-').slice(0, 80)}-${n}.png`) }).catch(() => {});
    }
    for (const s of this.servers) console.log(`      server: ${s.output.trim().split('\n').slice(-4).join('\n      server: ')}`);
  }

  async done() {
    await Promise.allSettled(this.tabs.map((t) => t.close()));
    this.closing.forEach((f) => f());
    await Promise.allSettled(this.servers.map((s) => s.remove()));
  }
}

export function equal(a, b, what = 'values') {
  const [x, y] = [JSON.stringify(a), JSON.stringify(b)];
  if (x !== y) throw new Error(`${what}: ${x} is not ${y}`);
}

export function ok(value, what) {
  if (!value) throw new Error(what);
}
