/* attach.ts -- the pictures that go with a message: which are taken, how many, and how they get small enough.
 *
 * A message with its pictures is one request, and the server takes 8 MiB; as text (base64) a picture is a third
 * larger. Photographs are drawn smaller before they leave: no model sees more of them, and every reload is spared
 * the rest.
 */
import type { FilePart } from '../protocol';

const kinds = ['image/png', 'image/jpeg', 'image/webp', 'image/gif'];
const countMax = 5;
const shrinkOver = 1_000_000; // bytes
const side_px = 2048;
const lettersMax = 7_500_000; // all data URLs of a message together

export const accept = kinds.join(',');
export const limits = `PNG, JPEG, WebP or GIF, up to ${countMax} and ${mb(lettersMax * 0.75)} together`;

export interface Attached {
  files: FilePart[];
  /** Why some were left out, as sentences. */
  refused: string[];
}

/** Adds `chosen` to `before`, as far as they can go. */
export async function attach(before: FilePart[], chosen: File[]): Promise<Attached> {
  const out: Attached = { files: before, refused: [] };
  for (const file of chosen) {
    const part = await take(out.files, file);
    if (typeof part === 'string') out.refused.push(part);
    else out.files = [...out.files, part];
  }
  return out;
}

async function take(before: FilePart[], file: File): Promise<FilePart | string> {
  const name = file.name || 'The picture';
  if (!kinds.includes(file.type)) return `${name} is not a PNG, JPEG, WebP or GIF.`;
  if (before.length >= countMax) return `${name} was left out: ${countMax} pictures go with one message.`;
  try {
    const small = file.size > shrinkOver && file.type !== 'image/gif' ? await shrink(file) : file;
    const url = await dataUrl(small);
    const room = lettersMax - before.reduce((n, f) => n + f.url.length, 0);
    if (url.length > room) return `${name} is too large (${mb(small.size)}; there is room for ${mb(Math.max(0, room * 0.75))}).`;
    return { type: 'file', mediaType: small.type, url, ...(file.name ? { filename: file.name } : {}) };
  } catch {
    return `${name} could not be read.`;
  }
}

async function shrink(file: File): Promise<Blob> {
  const bitmap = await createImageBitmap(file);
  const scale = Math.min(1, side_px / Math.max(bitmap.width, bitmap.height));
  const canvas = document.createElement('canvas');
  canvas.width = Math.round(bitmap.width * scale);
  canvas.height = Math.round(bitmap.height * scale);
  const pen = canvas.getContext('2d')!;
  pen.fillStyle = '#fff'; // JPEG has no glass
  pen.fillRect(0, 0, canvas.width, canvas.height);
  pen.drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  bitmap.close();
  const blob = await new Promise<Blob | null>((done) => canvas.toBlob(done, 'image/jpeg', 0.85));
  if (!blob) throw new Error('no picture');
  return blob.size < file.size ? blob : file;
}

function dataUrl(blob: Blob): Promise<string> {
  return new Promise((done, failed) => {
    const reader = new FileReader();
    reader.onload = () => done(String(reader.result));
    reader.onerror = () => failed(reader.error);
    reader.readAsDataURL(blob);
  });
}

function mb(bytes: number): string {
  return `${(bytes / 1_000_000).toFixed(1).replace(/\.0$/, '')} MB`;
}
