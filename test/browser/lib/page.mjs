// A browser tab as a person uses it. Waits for what is to be seen, never for time.
import { existsSync } from 'node:fs';
import { chromium } from 'playwright-core';
import { until } from '../../lib/check.mjs';
import { Room, home } from './room.mjs';
import { holds } from './wait.mjs';

// Of two such switches the last one counts: these are Playwright's own, and what costs as much as the page itself in every
// window that is opened: two pages of the address bar's suggestions, which nobody sees, and a process kept in reserve.
const withoutFeatures = [
  ...['AimEnabled', 'AvoidCorsURLLoaderRestartOnRedirect', 'AvoidUnnecessaryBeforeUnloadCheckSync', 'DestroyProfileOnBrowserClose'],
  ...['HttpsFirstBalancedModeAutoEnable', 'HttpsUpgrades', 'LensOverlay', 'MediaRouter', 'NetworkTimeServiceQuerying', 'OptimizationHints'],
  ...['PaintHolding', 'PreconnectToSearch', 'TcpPortRandomizationWin', 'ThirdPartyStoragePartitioning'],
  ...['SpareRendererForSitePerProcess', 'WebUIOmniboxAimPopup', 'WebUIOmniboxFullPopup', 'WebUIOmniboxPopup'],
  // Scripts that are compiled beside the page, while they come, are compiled anew for every page,
  // also when they came before. Where times are measured it is as it is with people.
  ...(process.env.SPEED ? [] : ['BackgroundResourceFetch', 'ScriptStreaming']),
];

const args = [
  // Without a zygote the pages' processes are the browser's children, and their work is counted in that of the suite.
  ...'--headless --no-sandbox --no-zygote --disable-gpu --disable-quic --no-first-run --disable-background-networking'.split(' '),
  ...'--disable-component-update --disable-sync --autoplay-policy=no-user-gesture-required'.split(' '),
  // All pages of a room share a process, and the browser's own is enough for the network. Drawing has its own: where that
  // falls over it is begun anew, and in the browser's process everything would fall with it.
  ...'--renderer-process-limit=1 --disable-site-isolation-trials --enable-features=NetworkServiceInProcess2'.split(' '),
  `--disable-features=${withoutFeatures}`,
  // A page lives for a second or two: what it is compiled to for speed is hardly ever run, and costs a third of its work. Where
  // times are measured the page runs as it does with people.
  ...(process.env.SPEED ? [] : ['--js-flags=--no-opt --no-maglev --single-threaded-gc --min-semi-space-size=16']),
];

// The browser without its windows takes two thirds of the work that the whole one takes.
const executablePath = process.env.CHROMIUM ?? ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'].find(existsSync);

const lists = /\/v1\/(threads\?|approvals\?|tools$)/;

let browser;
let traced = Promise.resolve();

export async function launch() {
  browser = await chromium.launch({ executablePath, args });
  await home.open();
}

export async function quit() {
  await browser?.close();
  home.close();
}

export class Tab {
  /**
   * `context` shares cookies and storage with another tab; `ready` is what is there when the page is; `alone` is for what
   * changes more than its page. Nothing moves by itself: a test that is about movement has `reducedMotion: 'no-preference'`.
   */
  static async open(url, { mode = 'bidi', path = '/', context, theme, ready = '.composer', ...options } = {}) {
    const tab = new Tab();
    tab.url = url;
    tab.errors = [];
    tab.requests = [];
    tab.room = context ? Room.of(context) : await Room.take(browser, options);
    tab.shares = !!context;
    tab.context = tab.room.context;
    tab.page = await tab.room.page(options);
    if (!context) tab.room.setting = [mode, theme];
    await tab.page.addInitScript(([m, t]) => {
      if (window !== top || origin === 'null') return; // artifacts have no storage
      localStorage.setItem('parley.mode', localStorage.getItem('parley.mode') ?? m);
      if (t) localStorage.setItem('parley.theme', t);
      const every = window.setInterval;
      window.looks = [];
      window.setInterval = (...how) => (window.looks.push(every(...how)), window.looks.at(-1));
    }, tab.room.setting);
    tab.page.setDefaultTimeout(60_000); // a shared machine may be slow; a hang is longer
    tab.page.on('pageerror', (e) => tab.errors.push(e.message));
    tab.page.on(
      'console',
      (m) =>
        m.type() === 'error' &&
        !/Failed to load resource|WebSocket connection|net::ERR|Blocked autofocusing/.test(m.text()) &&
        tab.errors.push(m.text()),
    );
    tab.page.on('request', (r) => tab.requests.push(r.url()));
    tab.asking = new Set(); // for lists
    tab.page.on('request', (r) => lists.test(r.url()) && tab.asking.add(r));
    for (const end of ['requestfinished', 'requestfailed']) tab.page.on(end, (r) => tab.asking.delete(r));
    await tab.page.goto(url + path);
    await tab.page.waitForSelector(ready);
    return tab;
  }

  /** Once: a room that is left twice is given to two others, and each closes the other's pages. */
  async close() {
    if (this.shares || this.closed) return;
    this.closed = true;
    await this.room.leave();
  }

  /** Until the function is true in the page. Looks when something changes there, not with every frame: frames are dear. */
  until(condition, arg, { timeout = 60_000 } = {}) {
    return holds(this.page, condition, arg, timeout);
  }

  $(selector, options) {
    return this.page.locator(selector, options);
  }

  async send(text) {
    await this.$('.composer textarea').fill(text);
    await this.page.keyboard.press('Enter');
  }

  /** Until the turn is over: nothing streams, nothing is being sent, and what came is to be read. */
  async idle() {
    await this.until(() => !document.querySelector('.round.stop, .thinking, [aria-busy="true"], .md.coming'));
  }

  /** Until the answer ends with this paragraph: a long one is drawn a little behind, also when all of it has come. */
  async shows(end) {
    await this.until((e) => [...document.querySelectorAll('.turn:last-child .md > *')].at(-1)?.textContent === e, end, { timeout: 120_000 });
  }

  async ask(text) {
    await this.send(text);
    await this.until((t) => [...document.querySelectorAll('article.user .bubble')].at(-1)?.textContent === t, text);
    await this.until(
      () =>
        document.querySelector('.round.stop, .ask, .failure') ||
        document.querySelector('.turn:last-child article.assistant:not([aria-busy="true"])'),
    );
    await this.idle();
  }

  async signIn(key) {
    const dialog = this.page.getByRole('dialog', { name: 'Sign in' });
    await dialog.getByLabel('Access key').fill(key);
    await this.page.keyboard.press('Enter');
    await dialog.waitFor({ state: 'detached' });
    await this.page.unroute(lists);
  }

  /** The session ends behind the page's back. The lists, which ask now and then, do not notice: what the person does comes first. */
  async signedOutElsewhere() {
    await this.page.route(lists, (r) => r.abort());
    await until(() => !this.asking.size, 'the lists that were asked for before');
    const [cookie] = await this.context.cookies();
    const headers = { cookie: `${cookie.name}=${cookie.value}`, origin: this.url };
    const { status } = await fetch(`${this.url}/v1/session`, { method: 'DELETE', headers });
    if (status !== 204) throw new Error(`not signed out: ${status}`);
  }

  /** From now on nothing is looked at or tried again just because time has passed: the page knows what it is told. */
  waitsForNews() {
    return this.page.evaluate(() => {
      window.looks.forEach(clearInterval);
      const real = window.setTimeout;
      window.setTimeout = (f, ms, ...more) => (ms >= 15_000 ? 0 : real(f, ms, ...more));
    });
  }

  /** Asks the first question differently. */
  async edit(text) {
    await this.$('article.user').first().hover();
    await this.$('article.user').first().getByRole('button', { name: 'Edit your message' }).click();
    await this.page.getByRole('textbox', { name: 'Edit your message' }).fill(text);
    await this.page.keyboard.press('Enter');
  }

  /** "1 / 2" under the question. */
  async version() {
    return squeeze(await this.$('.versions').innerText());
  }

  /** The approval card, ready for a click (it takes none while it is new). */
  async card() {
    const card = this.$('main .ask[data-armed="true"]').first();
    await card.waitFor();
    return card;
  }

  async approve() {
    await this.card();
    await this.$('main .ask .ask-yes').first().click();
  }

  async deny() {
    await this.card();
    await this.$('main .ask').first().getByRole('button', { name: 'Deny', exact: true }).click();
  }

  /** What the last answer says, as one line of words. */
  async words() {
    const texts = await this.$('.turn:last-child article.assistant .md').allInnerTexts();
    return squeeze(texts.join(' '));
  }

  async lastTool() {
    return this.$('.tool').last();
  }

  /** The body of the artifact's document, once that is there. */
  async artifact() {
    const frame = this.$('.artifact iframe').contentFrame();
    await frame.locator('input, button').first().waitFor();
    return frame.locator('body');
  }

  /** Presses the button over the artifact: from then on it is the artifact's own that is pressed. */
  async goInto(title) {
    await this.page.getByRole('button', { name: `Use: ${title}`, exact: true }).click();
  }

  async thread() {
    await this.until(() => location.pathname.startsWith('/t/'));
    return new URL(this.page.url()).pathname.slice(3);
  }

  /**
   * How long the page's tasks took during `during`, in ms of its own processor time: a busy machine must not count. The browser
   * keeps one such record at a time: whoever wants another waits.
   */
  tasks(during) {
    const mine = traced.then(() => this.trace(during));
    traced = mine.catch(() => {});
    return mine;
  }

  async trace(during) {
    const cdp = await this.context.newCDPSession(this.page);
    const events = [];
    cdp.on('Tracing.dataCollected', (d) => events.push(...d.value));
    await cdp.send('Tracing.start', {
      transferMode: 'ReportEvents',
      traceConfig: { includedCategories: ['disabled-by-default-devtools.timeline', '__metadata'], excludedCategories: ['*'] },
    });
    await during();
    const complete = new Promise((done) => cdp.once('Tracing.tracingComplete', done));
    await cdp.send('Tracing.end');
    await complete;
    // The record is of all pages that are open, also of other tests'.
    const { targetInfo } = await cdp.send('Target.getTargetInfo');
    const begun = events.filter((e) => e.name === 'TracingStartedInBrowser');
    const page = begun.flatMap((e) => e.args.data.frames).find((f) => f.frame === targetInfo.targetId);
    const ours = events.filter((e) => e.pid === page.processId);
    const main = ours.find((e) => e.name === 'thread_name' && e.args?.name === 'CrRendererMain');
    return ours
      .filter((e) => e.name === 'RunTask' && e.tdur !== undefined && e.tid === main.tid)
      .map((e) => e.tdur / 1000);
  }

  /** What the browser keeps because it has not been sent. */
  async unsent() {
    return this.page.evaluate(() =>
      Object.keys(localStorage)
        .filter((k) => k.startsWith('parley.unsent.'))
        .map((k) => localStorage.getItem(k)),
    );
  }

  /** Every message of the person has words or pictures in it. */
  async noEmptyYou() {
    return this.$('article.user').evaluateAll((all) =>
      all.every((e) => e.innerText.replace(/^You/, '').trim() !== '' || e.querySelector('img')),
    );
  }
}

export function squeeze(text) {
  return text.replace(/\s+/g, ' ').trim();
}
