/* attach.ts -- the files that go with a message: which are taken, how many, and how they get small enough.
 *
 * Text files become words of the message, where the person sees them and may cut them; every model reads those. A PDF
 * goes as it is to a model that reads it; for any other its words are taken likewise, and pages without words (scans)
 * as pictures.
 * A message with its pictures is one request, and the server takes 8 MiB; as text (base64) a picture is a third
 * larger. Photographs are drawn smaller before they leave: no model sees more of them, and every reload is spared
 * the rest.
 */
import type { FilePart } from '../protocol';
import { number, t } from '../words';
import type { Paper } from './pdf';

const pictures = ['image/png', 'image/jpeg', 'image/webp', 'image/gif'];
const pdf = 'application/pdf';
const countMax = 5;
const shrinkOver = 1_000_000; // bytes
const side_px = 2048;
const lettersMax = 7_500_000; // all data URLs of a message together

const textEndings = /\.(txt|md|markdown|csv|tsv|json|jsonl|log|xml|ya?ml|toml|ini|html?|css|sql|[cm]?[jt]sx?|py|rb|go|rs|java|c|h|cpp|sh|diff|patch)$/i;
const textMax = 100_000; // characters: a message is read by a person too
const wordsMin = 10; // letters on a page: with fewer (a number at its foot) it is taken for a scan

export const accept = [...pictures, pdf, 'text/*', '.csv', '.md', '.json', '.log', '.yaml', '.yml'].join(',');
export const limits = () => t.limits(countMax, mb(lettersMax * 0.75), number(textMax));

export interface Attached {
  files: FilePart[];
  /** What was in text files, ready to stand in the message. */
  words: string[];
  /** Why some were left out, as sentences. */
  refused: string[];
}

/** Adds `chosen` to `before`, as far as they can go. `base`: the server's address, where what reads a PDF comes from. */
export async function attach(before: FilePart[], chosen: File[], readsPdf: boolean, base: string): Promise<Attached> {
  const out: Attached = { files: before, words: [], refused: [] };
  for (const file of chosen) {
    if (isText(file)) await takeText(out, file);
    else if (isPdf(file) && !readsPdf) await takePdf(out, file, base);
    else put(out, await take(out.files, file));
  }
  return out;
}

function put(out: Attached, part: FilePart | string): void {
  if (typeof part === 'string') out.refused.push(part);
  else out.files = [...out.files, part];
}

function isPdf(file: File): boolean {
  return file.type === pdf || /\.pdf$/i.test(file.name);
}

function isText(file: File): boolean {
  return file.type.startsWith('text/') || file.type === 'application/json' || textEndings.test(file.name);
}

async function takeText(out: Attached, file: File): Promise<void> {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(await file.arrayBuffer());
    if (text.length > textMax)
      out.refused.push(t.fileTooLong(file.name, number(text.length), number(textMax)));
    else out.words.push(quoted(file.name, text));
  } catch {
    out.refused.push(t.fileNotText(file.name));
  }
}

async function takePdf(out: Attached, file: File, base: string): Promise<void> {
  try {
    const { openPaper } = await import('./pdf');
    const paper = await openPaper(file, base);
    await takePaper(out, file, paper).finally(paper.close);
  } catch (why) {
    const locked = why instanceof Error && why.name === 'PasswordException';
    out.refused.push(locked ? t.filePdfLocked(file.name) : t.fileUnreadable(file.name));
  }
}

async function takePaper(out: Attached, file: File, paper: Paper): Promise<void> {
  const scans: number[] = [];
  let text = '';
  for (let page = 1; page <= paper.pages; page++) {
    const words = await paper.words(page);
    if (words.replace(/\s/g, '').length >= wordsMin) text += `${words}\n\n`;
    else if (await paper.shows(page)) scans.push(page);
    if (text.length > textMax) return void out.refused.push(t.filePdfLong(file.name, number(textMax)));
  }
  if (text) out.words.push(quoted(file.name, text.trimEnd()));
  if (!text && scans.length === 0) out.refused.push(t.filePdfEmpty(file.name));
  const left = await takePages(out, file, paper, scans);
  if (left.length) out.refused.push(t.filePagesLeft(file.name, left.length, left[0]!, countMax));
}

/* Those for which there is no room any more. */
async function takePages(out: Attached, file: File, paper: Paper, pages: number[]): Promise<number[]> {
  for (const [i, page] of pages.entries()) {
    if (out.files.length >= countMax) return pages.slice(i);
    const name = `${file.name.replace(/\.pdf$/i, '')}-${page}.jpg`;
    const part = await take(out.files, new File([await paper.picture(page)], name, { type: 'image/jpeg' }));
    if (typeof part === 'string') return pages.slice(i);
    put(out, part);
  }
  return [];
}

/* A fence that the text itself does not close. */
function quoted(name: string, text: string): string {
  const longest = Math.max(2, ...(text.match(/`+/g) ?? []).map((ticks) => ticks.length));
  const fence = '`'.repeat(longest + 1);
  return `${name}:\n${fence}\n${text.replace(/\n$/, '')}\n${fence}\n`;
}

async function take(before: FilePart[], file: File): Promise<FilePart | string> {
  const name = file.name || t.thePicture;
  if (!pictures.includes(file.type) && !isPdf(file)) return t.fileUnknown(name);
  if (before.length >= countMax) return t.fileTooMany(name, countMax);
  try {
    const small = file.size > shrinkOver && file.type !== 'image/gif' && !isPdf(file) ? await shrink(file) : file;
    const url = await dataUrl(small);
    const room = lettersMax - before.reduce((n, f) => n + f.url.length, 0);
    if (url.length > room) return t.fileTooLarge(name, mb(small.size), mb(Math.max(0, room * 0.75)));
    return { type: 'file', mediaType: small.type, url, ...(file.name ? { filename: file.name } : {}) };
  } catch {
    return t.fileUnreadable(name);
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
  return t.unit.mb(number(bytes / 1_000_000, { maximumFractionDigits: 1 }));
}
