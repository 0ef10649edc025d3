/* product.ts -- whose assistant this is: what the server says of it from "page" of its configuration. */
import { isObject, type Usage } from '../protocol';
import { isLanguage, language, languages, number, type Language } from '../words';

/** Words of the operator: the same for everybody, or one text per language. */
type Said = string | Record<string, string>;

export interface Product {
  name: string;
  /** It has a picture of its own; otherwise the built-in one is at the same address. */
  logo: boolean;
  /** For light and for dark. */
  accent: [string, string] | null;
  languages: Language[];
  greeting: Said | null;
  footer: Said | null;
  /** What answers, as its provider calls it. */
  model: string | null;
  /** It reads PDF files. */
  pdf: boolean;
  /** Those that people may choose from; none: there is nothing to choose. */
  models: { name: string; model: string; pdf: boolean }[];
  /** For a million tokens. */
  prices: { input: number; output: number; currency: string } | null;
  /** Who names conversations: their first words, or a model, a moment after the first answer. */
  titles: 'words' | 'model';
  /** null: made from the tools. */
  starters: Said[] | null;
  /** Who may read what somebody shares; null: nobody. */
  share: 'signed_in' | 'anyone' | null;
  /** Where people sign in: at this provider, and with keys, too, where there are any. null: with keys. */
  signIn: { provider: string; keys: boolean } | null;
}

export function readProduct(v: unknown): Product {
  const told = isObject(v) ? v : {};
  const offered = Array.isArray(told.languages) ? told.languages.filter(isLanguage) : [];
  const isSaid = (x: unknown): x is Said => typeof x === 'string' || isObject(x);
  const accent = Array.isArray(told.accent) && told.accent.length === 2 ? (told.accent as [string, string]) : null;
  return {
    name: typeof told.name === 'string' && told.name ? told.name : 'parley',
    logo: told.logo === true,
    accent,
    languages: offered.length ? offered : [...languages],
    model: typeof told.model === 'string' ? told.model : null,
    pdf: told.pdf === true,
    models: Array.isArray(told.models)
      ? told.models.filter(isObject).map((m) => ({ name: String(m.name), model: String(m.model), pdf: m.pdf === true }))
      : [],
    prices: isObject(told.prices)
      ? { input: Number(told.prices.input), output: Number(told.prices.output), currency: String(told.prices.currency) }
      : null,
    titles: told.titles === 'model' ? 'model' : 'words',
    greeting: isSaid(told.greeting) ? told.greeting : null,
    footer: isSaid(told.footer) ? told.footer : null,
    share: told.share === 'anyone' ? 'anyone' : told.share === 'off' ? null : 'signed_in',
    signIn: isObject(told.signIn) ? { provider: String(told.signIn.provider ?? ''), keys: told.signIn.keys === true } : null,
    starters: Array.isArray(told.starters) ? told.starters.filter(isSaid) : null,
  };
}

/** The operator's words in the language that is spoken. */
export function said(words: Said): string {
  return typeof words === 'string' ? words : (words[language] ?? Object.values(words)[0] ?? '');
}

/** What an answer came to, where that is known. */
export function costOf({ prices }: Product, usage: Usage): string | null {
  if (!prices) return null;
  const sum = ((usage.input_tokens ?? 0) * prices.input + (usage.output_tokens ?? 0) * prices.output) / 1_000_000;
  return number(sum, { style: 'currency', currency: prices.currency, minimumSignificantDigits: 1, maximumSignificantDigits: 2 });
}
