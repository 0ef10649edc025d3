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

/** Where a link leads, to be written beside it; null: its text says exactly that, or names no place at all.
 *
 * A text that names another place than the target is a trap: another host, port or scheme, a name before an "@", a host in
 * letters that look like others (told is the browser's own spelling). So is a word by which one decides. */
export function targetBeside(safe: string, text: string): string | null {
  const url = new URL(safe);
  const places = placesIn(skeleton(text));
  if (url.protocol === 'mailto:') {
    const address = decoded(url.pathname);
    return places.every((p) => p === address.toLowerCase()) ? null : address;
  }
  const honest = places.every((p) => leadsTo(p, url)) && !url.username && !url.password && !soundsLikeDecision(text);
  if (honest) return null;
  return places.some((p) => p.includes('://') && !p.startsWith(`${url.protocol}//`)) ? url.origin : url.host;
}

function decoded(text: string): string {
  try {
    return decodeURI(text);
  } catch {
    return text;
  }
}

/* The very place: what is left out of it is the target's scheme, its scheme's port, or a "www." before it. */
function leadsTo(place: string, target: URL): boolean {
  if (/[^!-~]|@/.test(place)) return false;
  const bare = /^[^[]*::/.test(place) && !place.includes('//') ? `[${place}]` : place;
  try {
    const said = new URL(bare.includes('://') ? bare : `${target.protocol}//${bare.replace(/^\/\//, '')}`);
    return said.protocol === target.protocol && [said.host, `www.${said.host}`].includes(target.host);
  } catch {
    return false;
  }
}

/* What a reader takes for a place, each without the path behind it, in which dots are none of hosts. */
const host = '(?:[\\p{L}\\p{N}_-]+\\.)+\\p{L}[\\p{L}\\p{N}-]+';
const begins = '(?<![\\p{L}\\p{N}._-]|[\\p{L}\\p{N}._-]/)';
const place = new RegExp(
  `(${[
    '(?:(?<![a-z0-9+.-])[a-z][a-z0-9+.-]*:)?//[^\\s/?#]+', // whatever has an authority
    `(?<![\\p{L}\\p{N}._%+'-])[\\p{L}\\p{N}._%+'-]+@${host}`,
    `${begins}\\[[0-9a-f:.]+\\](?::\\d+)?`,
    `${begins}[0-9a-f:]{0,40}::[0-9a-f:.]{0,40}`,
    `${begins}(?:\\d+\\.){3}\\d+(?::\\d+)?`,
    `${begins}${host}(?::\\d+)?`,
    `${begins}(?:localhost(?::\\d+)?|\\p{L}[\\p{L}\\p{N}_-]*:\\d{2,5})`,
  ].join('|')})(?![\\p{L}\\p{N}])(?:[/?#]\\S*)?`,
  'gu',
);

/* Browsers read the full stop of East Asia as a point; signs at the end are the sentence's. */
function placesIn(looks: string): string[] {
  return [...looks.replace(/\u3002/g, '.').matchAll(place)].map((m) => m[1]!.replace(/[^\p{L}\p{N}\]:]+$/u, ''));
}
