// Waiting in a page without keeping it busy: its conditions are looked at when the document changes.

/* Runs in the page. What is no change of the document (the focus, the address, what is in a shadow) is seen a little later. */
function watch(condition, arg, ms) {
  return new Promise((yes, no) => {
    let soon = 0;
    const end = (settle, value) => {
      changes.disconnect();
      clearInterval(slow);
      [soon, late].forEach(clearTimeout);
      settle(value);
    };
    const look = () => {
      soon = 0;
      return Promise.resolve(condition(arg)).then((is) => is && end(yes));
    };
    const looks = () => {
      try {
        look().catch((e) => end(no, e));
      } catch (e) {
        end(no, e);
      }
    };
    const changes = new MutationObserver(() => (soon ||= setTimeout(looks, 8)));
    const slow = setInterval(looks, 100);
    const late = setTimeout(() => end(no, new Error(`not within ${ms} ms: ${condition}`)), ms);
    changes.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
    looks();
  });
}

/** Until `condition(arg)` is true in the page, also when that is loaded anew meanwhile. */
export async function holds(page, condition, arg, ms) {
  for (const end = Date.now() + ms; ; ) {
    try {
      // As text: the page's policy forbids it to make functions of words, and the driver is above that.
      return await page.evaluate(`(${watch})(${condition}, ${JSON.stringify(arg) ?? 'undefined'}, ${end - Date.now()})`);
    } catch (e) {
      if (!/context was destroyed|Cannot find context|frame was detached/i.test(e.message) || Date.now() > end) throw e;
      await page.waitForLoadState('domcontentloaded');
    }
  }
}
