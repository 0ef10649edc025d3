/* pdf.ts -- what is in a PDF file, for a model that does not read such files itself: its words, and its pages as pictures
 * where they have none. Loaded when there is one.
 *
 * PDF.js is asked for under a name that stays (vite.config.ts), from the server, also in somebody else's page. It
 * reads the file in a worker and needs no eval.
 */
import type { PDFDocumentProxy, PDFPageProxy } from 'pdfjs-dist';

export interface Paper {
  pages: number;
  /** The words of a page; '' where it has none. */
  words(page: number): Promise<string>;
  /** Whether there is anything to see on it. */
  shows(page: number): Promise<boolean>;
  picture(page: number): Promise<Blob>;
  close(): void;
}

const side_px = 1600; // of a page as a picture: enough to read small print

type Library = typeof import('pdfjs-dist');
const libraries = new Map<string, Promise<Library>>();

function library(base: string): Promise<Library> {
  const known = libraries.get(base);
  if (known) return known;
  const url = `${base}/pdf/pdf.js`;
  const loading = import(/* @vite-ignore */ url).then((lib: Library) => {
    lib.GlobalWorkerOptions.workerSrc = `${base}/pdf/worker.js`;
    return lib;
  });
  libraries.set(base, loading);
  loading.catch(() => libraries.delete(base)); // the next file tries again
  return loading;
}

/** Throws an error with the name PasswordException if it is locked. */
export async function openPaper(file: File, base: string): Promise<Paper> {
  const lib = await library(base);
  const loading = lib.getDocument({
    data: await file.arrayBuffer(),
    isEvalSupported: false,
    useWasm: false,
    wasmUrl: new URL(`${base}/pdf/`, location.href).href, // where it finds what reads JPEG 2000
    verbosity: 0,
  });
  try {
    return paperOf(await loading.promise, lib, () => void loading.destroy());
  } catch (why) {
    void loading.destroy();
    throw why;
  }
}

function paperOf(file: PDFDocumentProxy, lib: Library, close: () => void): Paper {
  return {
    pages: file.numPages,
    words: async (n) => wordsOf(await file.getPage(n)),
    shows: async (n) => {
      const { paintImageXObject, paintInlineImageXObject, paintImageMaskXObject, constructPath, shadingFill, showText } = lib.OPS;
      const seen = new Set<number>([paintImageXObject, paintInlineImageXObject, paintImageMaskXObject, constructPath, shadingFill, showText]);
      const list = await (await file.getPage(n)).getOperatorList();
      return list.fnArray.some((op: number) => seen.has(op));
    },
    picture: async (n) => pictureOf(await file.getPage(n)),
    close,
  };
}

async function wordsOf(page: PDFPageProxy): Promise<string> {
  const { items } = await page.getTextContent();
  const text = items.map((item) => ('str' in item ? item.str + (item.hasEOL ? '\n' : '') : '')).join('');
  return text.replace(/[ \t]+$/gm, '').trim();
}

async function pictureOf(page: PDFPageProxy): Promise<Blob> {
  const { width, height } = page.getViewport({ scale: 1 });
  const viewport = page.getViewport({ scale: side_px / Math.max(width, height) });
  const canvas = document.createElement('canvas');
  canvas.width = Math.round(viewport.width);
  canvas.height = Math.round(viewport.height);
  await page.render({ canvas, viewport, background: '#fff' }).promise;
  const blob = await new Promise<Blob | null>((done) => canvas.toBlob(done, 'image/jpeg', 0.85));
  page.cleanup();
  if (!blob) throw new Error('no picture');
  return blob;
}
