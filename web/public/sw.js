// sw.js -- the page opens without a network: its own files are kept, and nothing that anybody said.
//
// A page that is opened comes from the server when that answers, so that nobody reads an old one; only without it the
// kept one is shown, and says that there is no connection. Files with a content hash never change and are taken from here.
// Every other request (conversations, answers, streams) goes past this file as if it were not there.
const kept = 'parley-page-1';
const plain = ['/theme.js', '/logo', '/manifest.webmanifest'];
// The server says that its answers vary with Origin, because other sites get a header more; what is kept is for this one.
const any = { ignoreVary: true };

self.addEventListener('install', (e) => {
  e.waitUntil(
    caches
      .open(kept)
      .then((c) => c.addAll(['/', ...plain]))
      .then(() => self.skipWaiting()),
  );
});

self.addEventListener('activate', (e) => {
  const old = (names) => Promise.all(names.filter((n) => n !== kept).map((n) => caches.delete(n)));
  e.waitUntil(
    caches
      .keys()
      .then(old)
      .then(() => self.clients.claim()),
  );
});

// What the page had loaded before this file was there.
self.addEventListener('message', (e) => {
  const files = (e.data?.keep ?? []).map((u) => new URL(u, location.origin)).filter((u) => u.origin === location.origin && isHashed(u));
  e.waitUntil(caches.open(kept).then((c) => Promise.all(files.map((u) => c.match(u, any).then((has) => has || c.add(u))))));
});

// What the page told where a page may not do so itself (phones): to the window that is there, or to a new one.
self.addEventListener('notificationclick', (e) => {
  const { thread } = e.notification.data;
  e.notification.close();
  const show = ([window]) => {
    window?.postMessage({ open: thread });
    return window ? window.focus() : self.clients.openWindow(thread ? `/t/${thread}` : '/');
  };
  e.waitUntil(self.clients.matchAll({ type: 'window' }).then(show));
});

self.addEventListener('fetch', (e) => {
  const url = new URL(e.request.url);
  if (e.request.method !== 'GET' || url.origin !== location.origin) return;
  if (e.request.mode === 'navigate' && isPage(url)) e.respondWith(page(e.request));
  else if (isHashed(url)) e.respondWith(hashed(e.request));
  else if (plain.includes(url.pathname)) e.respondWith(fetch(e.request).catch(() => caches.match(e.request, any)));
});

const isPage = (url) => url.pathname === '/' || /^\/t\/[A-Za-z0-9_-]+$/.test(url.pathname);
const isHashed = (url) => url.pathname.startsWith('/assets/');

async function page(request) {
  const cache = await caches.open(kept);
  try {
    const fresh = await fetch(request);
    const before = await cache.match('/', any);
    if (fresh.ok && before?.headers.get('etag') !== fresh.headers.get('etag')) {
      await forget(cache);
      await cache.put('/', fresh.clone());
    }
    return fresh;
  } catch (error) {
    const shell = await cache.match('/', any);
    if (!shell) throw error;
    return shell;
  }
}

// Another version of the page has other files.
async function forget(cache) {
  const all = await cache.keys();
  await Promise.all(all.filter((r) => isHashed(new URL(r.url))).map((r) => cache.delete(r)));
}

async function hashed(request) {
  const cache = await caches.open(kept);
  const has = await cache.match(request, any);
  if (has) return has;
  const fresh = await fetch(request);
  if (fresh.ok) await cache.put(request, fresh.clone());
  return fresh;
}
