/* page.ts -- whose assistant it is and which language it speaks, for parts of somebody else's page.
 *
 * The server's configuration ("page") says how the product is called, its colour and the languages
 * it offers; a part may be told otherwise. The language is the page's own, by the `lang` of its
 * document, so all parts of one page speak the same: of several that are told different ones, the
 * last counts.
 */
import { useEffect, useState, useSyncExternalStore } from 'react';
import { readProduct, type Product } from '../../src/chat/product';
import type { Api } from '../../src/transport/api';
import { choose, language, languages, speak, type Language } from '../../src/words';

export interface Look {
  /** Left out: as the page itself, by its `color-scheme`. */
  theme?: Theme;
  /** The person's colour, "#rrggbb": bubbles, links, the button. It must be readable on white; dark
   * pages get a lighter shade. Left out: the product's. */
  accent?: string;
  /** "en", "de" or "ja". Left out: the language of the page. */
  lang?: string;
}

export type Theme = 'light' | 'dark' | 'system';

/** Everything is known that must be known before the first thing is drawn. */
export interface Page {
  /** null: the server could not be asked. */
  product: Product | null;
  language: Language;
}

/* A server that is away is known as such by then; nobody looks at nothing for longer. */
const asked_ms = 1000;

/** `api`: null where no server is known. `up`: it was just heard of. */
export function usePage(api: Api | null, lang: string | undefined, up = true): Page | null {
  const [product, setProduct] = useState<Product | null | undefined>(api ? undefined : null);
  useEffect(() => {
    if (!api || product) return;
    let stale = false;
    const give = (found: Product | null) => stale || setProduct((now) => found ?? now ?? null);
    const timer = setTimeout(() => give(null), asked_ms);
    api.page().then(
      (told) => give(readProduct(told)),
      () => give(null),
    );
    return () => {
      stale = true;
      clearTimeout(timer);
    };
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [api, up]);
  const spoken = useLanguage(lang, product);
  return spoken && product !== undefined ? { product, language: spoken } : null;
}

/* ---- the language ---- */

let ready: Language | null = null;
const listeners = new Set<() => void>();

function ask(wanted: Language): void {
  if (wanted === ready) return;
  const done = () => {
    ready = language;
    listeners.forEach((f) => f());
  };
  speak(wanted).then(done, done); // a table that does not come leaves the words as they are
}

/* null: not known yet, or on its way for the first time. */
function useLanguage(lang: string | undefined, product: Product | null | undefined) {
  const here = useSyncExternalStore(watchDocument, () => document.documentElement.lang, () => '');
  const wanted =
    product === undefined
      ? null
      : choose(product?.languages ?? languages, lang || here ? [lang || here] : navigator.languages);
  useEffect(() => {
    if (wanted) ask(wanted);
  }, [wanted]);
  return useSyncExternalStore(
    (f) => (listeners.add(f), () => listeners.delete(f)),
    () => ready,
    () => null,
  );
}

function watchDocument(f: () => void): () => void {
  const observer = new MutationObserver(f);
  observer.observe(document.documentElement, { attributeFilter: ['lang'] });
  return () => observer.disconnect();
}
