/* links.ts -- which addresses of an answer a person may follow, and where they really lead. */
import { soundsLikeDecision } from '../answers';
import { skeleton } from '../reveal';

/** Only addresses that a person may follow; everything else is shown as text. */
export function safeHref(href: string): string | null {
  if (!/^(?:https?:\/\/|mailto:)/i.test(href)) return null;
  try {
    const url = new URL(href);
    return ['http:', 'https:', 'mailto:'].includes(url.protocol) ? url.href : null;
  } catch {
    return null;
  }
}

export function hostOf(href: string): string {
  try {
    return new URL(href).host;
  } catch {
    return '';
  }
}

/** Where a link leads, to be written beside it; null: its text says so, or names no place at all.
 *
 * A text that names another place than the target is a trap, and so is a name before an "@", a host in letters that look
 * like others (told is the browser's own spelling), or a word by which one decides. */
export function targetBeside(safe: string, text: string): string | null {
  const url = new URL(safe);
  if (url.protocol === 'mailto:') return text.includes('@') && !text.includes(decodeURI(url.pathname)) ? decodeURI(url.pathname) : null;
  const looks = skeleton(text);
  const disguised = soundsLikeDecision(text) || url.username || url.password || /\/\/[^/?#\s]*@/.test(looks);
  const honest = placesIn(looks).every((place) => [url.host, url.hostname].some((h) => h === place || h === `www.${place}`));
  return honest && !disguised ? null : url.host;
}

/* What a reader takes for a host. */
function placesIn(looks: string): string[] {
  const host = /(?<![\p{L}\p{N}.@/_-])(?:https?:\/\/)?((?:[\p{L}\p{N}-]+\.)+\p{L}[\p{L}\p{N}-]+(?::\d+)?)(?![\p{L}\p{N}@])/gu;
  return [...looks.matchAll(host)].map((m) => m[1]!);
}
