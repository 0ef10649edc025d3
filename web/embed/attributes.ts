/* attributes.ts -- what a script tag can say. */
import type { ChatTrayProps } from '../client/components';
import { isLanguage, languages } from '../src/words';

export interface Given extends Pick<
  ChatTrayProps,
  'title' | 'side' | 'theme' | 'accent' | 'lang' | 'greeting' | 'starters' | 'page'
> {
  /** Name of a function of the page that gives the key. */
  tokenCallback?: string;
  open: boolean;
  /** What is not understood, as sentences' ends: "data-them", 'data-side="top" (left or right)'. */
  unknown: string[];
}

const words = { side: ['left', 'right'], theme: ['light', 'dark', 'system'] } as const;
const names = [
  'page',
  'title',
  'side',
  'theme',
  'accent',
  'lang',
  'greeting',
  'starters',
  'tokenCallback',
  'open',
];

export function read(data: DOMStringMap): Given {
  const unknown = Object.keys(data)
    .filter((k) => !names.includes(k))
    .map((k) => `data-${k.replace(/[A-Z]/g, (c) => `-${c.toLowerCase()}`)}`);
  const word = <K extends keyof typeof words>(key: K): (typeof words)[K][number] | undefined => {
    const value = data[key];
    const known = words[key].find((w) => w === value);
    if (value !== undefined && !known)
      unknown.push(`data-${key}="${value}" (${words[key].join(' or ')})`);
    return known;
  };
  if (data.lang !== undefined && !isLanguage(data.lang))
    unknown.push(`data-lang="${data.lang}" (${languages.join(', ')})`);
  if (data.accent !== undefined && !/^#[0-9a-f]{6}$/i.test(data.accent))
    unknown.push(`data-accent="${data.accent}" (six hex digits, such as #0b6b50)`);
  return {
    page: data.page,
    title: data.title,
    accent: data.accent,
    lang: data.lang,
    greeting: data.greeting,
    starters: data.starters
      ?.split('|')
      .map((s) => s.trim())
      .filter(Boolean),
    tokenCallback: data.tokenCallback,
    side: word('side'),
    theme: word('theme'),
    open: data.open !== undefined && data.open !== 'false',
    unknown,
  };
}
