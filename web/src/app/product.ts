/* product.ts -- whose page this is: what the server wrote into the document. */
import { costOf, readProduct, type Product } from '../chat/product';
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

/** The colour of the product, before anything is drawn. */
export function paint(): void {
  if (product.accent) document.documentElement.style.setProperty('--mine', `light-dark(${product.accent[0]}, ${product.accent[1]})`);
}
