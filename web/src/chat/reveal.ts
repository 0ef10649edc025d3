/* reveal.ts -- what a person approves must be what they see.
 *
 * Invisible characters, direction overrides and controls are shown by name;
 * words that mix alphabets which look alike (Latin with Cyrillic or Greek) are
 * marked. Nothing is left out and nothing is reordered.
 */

export interface Piece {
  text: string;
  /** Why this piece is not what it seems. */
  hidden?: string;
}

const names: Record<number, string> = {
  0x00ad: 'soft hyphen',
  0x061c: 'Arabic letter mark',
  0x200b: 'zero-width space',
  0x200c: 'zero-width non-joiner',
  0x200d: 'zero-width joiner',
  0x200e: 'left-to-right mark',
  0x200f: 'right-to-left mark',
  0x202a: 'left-to-right embedding',
  0x202b: 'right-to-left embedding',
  0x202c: 'end of embedding',
  0x202d: 'left-to-right override',
  0x202e: 'right-to-left override',
  0x2060: 'word joiner',
  0x2066: 'left-to-right isolate',
  0x2067: 'right-to-left isolate',
  0x2068: 'first strong isolate',
  0x2069: 'end of isolate',
  0xfeff: 'zero-width no-break space',
};

// Joiners inside emoji and of scripts that need them are ordinary; alone they hide things.
const invisible =
  /(?<!\p{Extended_Pictographic}\uFE0F?)\u200d(?!\p{Extended_Pictographic})|[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b\u200c\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;

export function reveal(text: string): Piece[] {
  const out: Piece[] = [];
  let at = 0;
  for (const m of text.matchAll(invisible)) {
    if (m.index > at) out.push(...words(text.slice(at, m.index)));
    const code = m[0].codePointAt(0)!;
    out.push({ text: `U+${code.toString(16).toUpperCase().padStart(4, '0')}`, hidden: names[code] ?? 'invisible character' });
    at = m.index + m[0].length;
  }
  if (at < text.length) out.push(...words(text.slice(at)));
  return out;
}

function words(text: string): Piece[] {
  const out: Piece[] = [];
  for (const piece of text.split(/(\s+)/)) {
    const mixed = /\p{Script=Latin}/u.test(piece) && /[\p{Script=Cyrillic}\p{Script=Greek}]/u.test(piece);
    const last = out.at(-1);
    if (mixed) out.push({ text: piece, hidden: 'letters of different alphabets that look alike' });
    else if (last && !last.hidden) last.text += piece;
    else if (piece) out.push({ text: piece });
  }
  return out;
}
