// <script src="https://…/embed.js" data-page="articles"></script> on anybody's site: loads the tray
// from where this came from.
(() => {
  const script = document.currentScript ?? document.querySelector('script[src$="/embed.js"]');
  const base = new URL('.', script.src).href.slice(0, -1);
  const site = JSON.stringify(location.origin);
  const failed = (why) =>
    console.error(
      `parley: the assistant could not be loaded from ${base}. Is it there, does this page's ` +
        `policy allow it (script-src), and does its parley.json list this site: ` +
        `"page": {"embed": [${site}]}?`,
      why,
    );
  Promise.all([''].map((file) => import(`${base}/${file}`))).then(
    ([tray]) => tray.start(script.dataset, base),
    failed,
  );
})();
