/* marker.ts -- `[[tool:N]]` in typed text.
 *
 * The server puts a marker where a tool's card belongs. A marker may arrive cut
 * anywhere between two deltas and must never be seen, so the scanner holds back
 * a tail that could still become one. Text that the model itself wrote in that
 * form comes escaped, with a backslash between the two opening brackets
 * (`[\[tool:N]]`); it is handed on without the backslash and is never a marker.
 */

export type Segment = { type: 'text'; text: string } | { type: 'marker'; index: number };

/* A longer number cannot be an index: no run has a million calls. */
const digitsMax = 6;
const marker = /\[(\\?)\[tool:(\d{1,6})\]\]/g;
const longest = '[\\[tool:'.length + digitsMax + ']]'.length;

/** Splits complete text. What looks like an unfinished marker is plain text. */
export function parseMarkers(text: string): Segment[] {
  const out: Segment[] = [];
  let plain = '';
  let from = 0;
  for (const m of text.matchAll(marker)) {
    plain += text.slice(from, m.index);
    from = m.index + m[0].length;
    if (m[1]) {
      plain += `[[tool:${m[2]}]]`;
      continue;
    }
    if (plain) out.push({ type: 'text', text: plain });
    plain = '';
    out.push({ type: 'marker', index: Number(m[2]) });
  }
  plain += text.slice(from);
  if (plain) out.push({ type: 'text', text: plain });
  return out;
}

/**
 * One step of the streaming form: `held` is what the step before kept back.
 * Pure: the caller keeps `held` in its state. At the end of the stream the rest
 * is ordinary text.
 */
export function scanMarkers(held: string, delta: string): { segments: Segment[]; held: string } {
  const text = held + delta;
  const cut = tailStart(text);
  return { segments: parseMarkers(text.slice(0, cut)), held: text.slice(cut) };
}

/* Where an unfinished marker begins, or the end of the text. */
function tailStart(text: string): number {
  for (let at = Math.max(0, text.length - longest); at < text.length; at++) {
    if (text[at] === '[' && couldBecomeMarker(text.slice(at))) return at;
  }
  return text.length;
}

function couldBecomeMarker(tail: string): boolean {
  const plain = tail.startsWith('[\\') ? '[' + tail.slice(2) : tail;
  const head = '[[tool:';
  if (plain.length <= head.length) return head.startsWith(plain);
  return /^\[\[tool:\d{1,6}\]?$/.test(plain);
}

/** The text with markers taken out, for copying and for titles. */
export function withoutMarkers(text: string): string {
  return parseMarkers(text)
    .map((s) => (s.type === 'text' ? s.text.trim() : ''))
    .filter(Boolean)
    .join('\n\n');
}
