// Where tabs live: a context of the browser, its cookies and storage, and one process for its pages. To start such a process
// costs as much as a page in it, so a room that a test has left is swept and given to the next one.
import http from 'node:http';
import { takeRow } from './ports.mjs';

const quiet = { viewport: { width: 1200, height: 800 }, colorScheme: 'light', reducedMotion: 'reduce' };
// What a page can be told, and what is swept with the rest; a room with anything else is for one test only.
const ofPage = Object.keys(quiet);
const sameForAll = ['locale', 'isMobile', 'hasTouch', 'deviceScaleFactor'];

// All but what only saves work: files that do not change, and what they were compiled to.
const data = 'cookies,local_storage,indexeddb,cache_storage,service_workers,file_systems';

const rooms = new Map(); // by context
const swept = new Map(); // those that wait for the next test, by their options

/** An empty page at the address of the tests' servers: as long as it is open, its process is there for the next page. */
export const home = {
  async open() {
    const headers = { 'content-type': 'text/html' };
    this.server = http.createServer((_, r) => r.writeHead(200, headers).end('<!doctype html><title>home</title>'));
    await takeRow(this.server);
    this.url = `http://127.0.0.1:${this.server.address().port}/`;
  },

  close() {
    this.server?.closeAllConnections();
    this.server?.close();
  },
};

const without = (options, names) => Object.fromEntries(Object.entries(options).filter(([name]) => !names.includes(name)));

export class Room {
  static of(context) {
    return rooms.get(context);
  }

  /** One that fits the options and that nobody else is in. */
  static async take(browser, options) {
    const kept = without(options, ofPage);
    const key = JSON.stringify(kept);
    return swept.get(key)?.pop() ?? new Room(key, kept).make(browser);
  }

  constructor(key, options) {
    this.key = key;
    this.options = options;
    this.origins = new Set();
  }

  async make(browser) {
    this.context = await browser.newContext({ locale: 'en-GB', serviceWorkers: 'block', ...quiet, ...without(this.options, ['alone']) });
    rooms.set(this.context, this);
    if (!this.again) return this;
    this.context.on('request', (r) => this.origins.add(new URL(r.url()).origin));
    for (const name of ['addInitScript', 'exposeBinding', 'exposeFunction', 'grantPermissions', 'route', 'routeWebSocket', 'setGeolocation', 'setOffline'])
      this.context[name] = () => Promise.reject(new Error(`${name} would be for others, too: ask it of the page, or for a room of your own (alone: true)`));
    this.home = await this.context.newPage();
    await this.home.goto(home.url);
    this.cdp = await this.context.newCDPSession(this.home);
    return this;
  }

  /** Whether another test can have it. */
  get again() {
    return Object.keys(this.options).every((name) => sameForAll.includes(name));
  }

  async page(options) {
    const page = await this.context.newPage();
    const { viewport, ...media } = { ...quiet, ...options };
    if (options.viewport) await page.setViewportSize(viewport);
    if (options.colorScheme || options.reducedMotion) await page.emulateMedia({ colorScheme: media.colorScheme, reducedMotion: media.reducedMotion });
    return page;
  }

  async leave() {
    if (!this.again) return this.context.close();
    await Promise.all(
      this.context
        .pages()
        .filter((p) => p !== this.home)
        .map((p) => p.close()),
    );
    await this.context.clearCookies();
    for (const origin of this.origins) await this.cdp.send('Storage.clearDataForOrigin', { origin, storageTypes: data });
    this.origins.clear();
    swept.set(this.key, [...(swept.get(this.key) ?? []), this]);
  }
}
