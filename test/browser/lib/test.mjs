// What a test in a browser is handed: servers, tabs, models with a script, a network that fails.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Server } from '../../lib/server.mjs';
import { Context } from '../../lib/test.mjs';
import { Model } from './model.mjs';
import { Tab } from './page.mjs';
import { leavePort, takePort } from './ports.mjs';
import { Proxy } from './proxy.mjs';
import { Report } from './report.mjs';

export { check as ok, same as equal } from '../../lib/check.mjs';
export { test } from '../../lib/test.mjs';

export const report = new Report();

class PageServer extends Server {
  /** Everything it said, on either stream. */
  get output() {
    return this.out + this.err;
  }

  async json(path, init) {
    const response = await fetch(
      this.url + path,
      init && { method: 'POST', ...init, body: JSON.stringify(init.body), headers: { 'content-type': 'application/json' } },
    );
    return response.json();
  }
}

export class Test extends Context {
  report = report;
  servers = [];
  tabs = [];
  closing = [];

  /** Answers come at once: a test that is about their growing says how fast (`demo.token_ms`). */
  async server(config = {}) {
    const port = await takePort();
    this.defer(() => leavePort(port)); // when it is gone
    const server = new PageServer({ config: { listen: `127.0.0.1:${port}`, demo: { token_ms: 0 }, ...config }, dir: this.folder() });
    this.servers.push(server);
    return server.start();
  }

  async model(turns, options) {
    const model = await new Model(turns, options).start();
    this.closing.push(() => model.close());
    return model;
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
      const foreign = tab.requests.filter((u) => /^https?:/.test(u) && !/^https?:\/\/(127\.0\.0\.1|localhost):/.test(u));
      if (foreign.length) throw new Error(`requests to others: ${foreign.join(', ')}`);
      if (!tab.page.isClosed() && !(await tab.noEmptyYou())) throw new Error('an empty "You" bubble');
    }
  }

  async autopsy() {
    const folder = join(import.meta.dirname, '../failed');
    mkdirSync(folder, { recursive: true });
    for (const [n, tab] of this.tabs.entries()) {
      if (!tab.page.isClosed())
        await tab.page.screenshot({ path: join(folder, `${this.title.replace(/\W+/g, '-').slice(0, 80)}-${n}.png`) }).catch(() => {});
    }
    for (const s of this.servers) console.log(`      server: ${s.output.trim().split('\n').slice(-4).join('\n      server: ')}`);
  }

  /** Tabs first: whoever is left alone by its server or its model complains. */
  async close() {
    await Promise.allSettled(this.tabs.map((t) => t.close()));
    this.closing.forEach((f) => f());
    await Promise.allSettled(this.servers.map((s) => s.kill()));
    await super.close();
  }
}
