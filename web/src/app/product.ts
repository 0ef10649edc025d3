/* product.ts -- whose page this is: what the server wrote into the document. */
import { costOf, readProduct, type Product } from '../chat/product';
import { visible } from '../chat/reveal';
import type { Usage } from '../protocol';
import { choose, type Language } from '../words';

export const product: Product = readProduct(told());

function told(): unknown {
  try {
    return JSON.parse(document.getElementById('page')?.textContent || '{}');
  } catch {
    return {}; // no document, or not from the server
  }
}

/** The language of the person: chosen here, else as the browser wishes. */
export function languageOf(chosen: Language | null): Language {
  if (chosen && product.languages.includes(chosen)) return chosen;
  return choose(product.languages, navigator.languages ?? [navigator.language]);
}

export const cost = (usage: Usage) => costOf(product, usage);

/** What answers: the one that was chosen, as long as it is offered. null: there is nothing to choose. */
export function chosenModel(name: string | null): Product['models'][number] | null {
  return product.models.find((m) => m.name === name) ?? product.models[0] ?? null;
}

/** What the browser's tab is called. A number in brackets at its beginning is how many requests wait, and nothing that
 * somebody wrote. */
export function tabTitle(title: string | null, waiting = 0): string {
  const bare = title && visible(title).replace(/^(?:\W*\(\d+\))+\s*/u, '');
  return `${waiting ? `(${waiting}) ` : ''}${bare ? `${bare} · ` : ''}${product.name}`;
}

/** The colour of the product, before anything is drawn. */
export function paint(): void {
  if (product.accent) document.documentElement.style.setProperty('--mine', `light-dark(${product.accent[0]}, ${product.accent[1]})`);
}
