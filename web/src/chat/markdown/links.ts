/* links.ts -- which addresses of an answer a person may follow. */

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
