/* Composer.tsx -- where the person writes.
 *
 * Usable all the time: while an answer streams, Enter puts the message behind
 * it and the button stops. Enter that confirms an input method's composition
 * never sends. The text is its own; the page around it keeps a copy per thread.
 * Files come by the button, by paste, or dropped anywhere on the page: pictures
 * go with the message, text files and the words of others into it.
 */
import { useContext, useEffect, useImperativeHandle, useLayoutEffect, useRef, useState } from 'react';
import type { ClipboardEvent, KeyboardEvent, Ref, RefObject } from 'react';
import type { FilePart } from '../protocol';
import { accept, attach, limits } from './attach';
import { BaseContext } from './context';
import { Icon } from './icons';
import { loadParser } from './markdown/Markdown';
import { t } from '../words';

export interface ComposerHandle {
  focus(): void;
  fill(text: string, files?: FilePart[]): void;
  clear(): void;
}

interface Props {
  draft: string;
  files: FilePart[];
  onDraft: (text: string) => void;
  onFiles: (files: FilePart[]) => void;
  enterIsLine: boolean;
  readsPdf: boolean;
  streaming: boolean;
  stopping: boolean;
  /** False: it was not taken, and stays here. */
  onSend: (text: string, files: FilePart[]) => boolean;
  onStop: () => void;
  onEditLast: () => void;
  ref: Ref<ComposerHandle>;
}

/* On a touch keyboard Enter is a new line: there is no Shift to speak of. */
const touch = typeof matchMedia === 'function' && matchMedia('(pointer: coarse) and (hover: none)').matches;

export function Composer({ draft, onDraft, enterIsLine, streaming, stopping, onSend, onStop, onEditLast, ref, ...props }: Props) {
  const [text, setText] = useState(draft);
  const latest = useRef(text);
  latest.current = text;
  const area = useRef<HTMLTextAreaElement>(null);
  const pictures = usePictures(area, props.readsPdf, props.files, props.onFiles, (words) => change([latest.current, ...words].filter(Boolean).join('\n')));
  const { files, reading } = pictures;
  const change = (value: string) => {
    setText(value);
    onDraft(value);
  };
  useLayoutEffect(() => fit(area.current), [text]);
  // Ready to write at once; in somebody else's page, where a keyboard would cover it, and where the focus is elsewhere, nothing moves.
  useEffect(() => {
    if (!touch && area.current?.getRootNode() === document && (document.activeElement === document.body || document.activeElement === null)) area.current?.focus({ preventScroll: true });
  }, []);
  useEffect(() => void loadParser(), []); // what is sent will be answered
  useWidth(area, fit);
  useImperativeHandle(ref, () => ({
    focus: () => area.current?.focus(),
    fill: (value, more = []) => {
      change(value);
      pictures.set([...files, ...more]);
      area.current?.focus();
    },
    clear,
  }));
  const clear = () => {
    change('');
    pictures.set([]);
  };
  const empty = text.trim() === '' && files.length === 0;
  const send = () => {
    if (empty || reading) return;
    if (onSend(text.trim(), files)) clear();
    area.current?.focus();
  };
  const keys = (e: KeyboardEvent<HTMLTextAreaElement>) => {
    if (e.nativeEvent.isComposing || e.keyCode === 229) return;
    if (e.key === 'ArrowUp' && empty) {
      e.preventDefault();
      onEditLast();
    }
    const mod = e.ctrlKey || e.metaKey;
    if (e.key !== 'Enter' || e.shiftKey || ((touch || enterIsLine) && !mod)) return;
    e.preventDefault();
    send();
  };
  /* Words that were copied with a picture of themselves (from a sheet, say) are pasted as words. */
  const paste = (e: ClipboardEvent) => {
    if (e.clipboardData.files.length === 0 || e.clipboardData.types.includes('text/plain')) return;
    e.preventDefault();
    pictures.add(e.clipboardData.files);
  };
  const stops = streaming && empty;
  return (
    <form
      className="composer"
      onSubmit={(e) => {
        e.preventDefault();
        if (!stops) send();
      }}
    >
      <Pictures {...pictures} />
      <label className="quiet attach" title={t.addFilesTitle(limits())}>
        <Icon name="clip" />
        <input
          type="file"
          accept={accept}
          multiple
          aria-label={t.addFiles(limits())}
          onChange={(e) => {
            if (e.target.files) pictures.add(e.target.files);
            e.target.value = '';
            area.current?.focus();
          }}
        />
      </label>
      <textarea
        ref={area}
        value={text}
        rows={1}
        placeholder={t.writeMessage}
        aria-label={t.message}
        dir="auto"
        enterKeyHint={touch || enterIsLine ? 'enter' : 'send'}
        onChange={(e) => change(e.target.value)}
        onKeyDown={keys}
        onPaste={paste}
      />
      {streaming && (
        <button
          type="button"
          className="round stop"
          onClick={(e) => e.detail < 2 && onStop()} // the second of a double click was meant for Send, which stood here
          disabled={stopping}
          aria-label={t.stopAnswer}
          title={t.stopEsc}
        >
          <Icon name="stop" />
        </button>
      )}
      {!stops && (
        <button
          type="submit"
          className="round"
          disabled={empty || reading}
          aria-label={streaming ? t.sendAfter : t.send}
          title={enterIsLine ? t.sendCtrlEnter : t.sendEnter}
        >
          <Icon name="send" />
        </button>
      )}
    </form>
  );
}

/* Grows with the text; CSS stops it at a third of the screen. */
function fit(el: HTMLTextAreaElement | null): void {
  if (!el) return;
  el.style.height = 'auto';
  if (el.value) el.style.height = `${el.scrollHeight}px`; // nothing is a line high; to measure it would hold up the first picture
}

/* Another width breaks the lines elsewhere. In the next frame, since the height is changed there. */
function useWidth(ref: RefObject<HTMLTextAreaElement | null>, changed: (el: HTMLTextAreaElement) => void): void {
  useEffect(() => {
    const el = ref.current;
    if (!el) return;
    let width = el.clientWidth;
    let frame = 0;
    const look = new ResizeObserver(() => {
      if (el.clientWidth === width) return;
      width = el.clientWidth;
      cancelAnimationFrame(frame);
      frame = requestAnimationFrame(() => changed(el));
    });
    look.observe(el);
    return () => {
      look.disconnect();
      cancelAnimationFrame(frame);
    };
  }, [ref, changed]);
}

/* ---- pictures ---- */

function usePictures(
  area: RefObject<HTMLElement | null>,
  readsPdf: boolean,
  first: FilePart[],
  onChange: (files: FilePart[]) => void,
  onWords: (words: string[]) => void,
) {
  const [files, setFiles] = useState(first);
  const [reading, setReading] = useState(false);
  const base = useContext(BaseContext);
  const [refused, setRefused] = useState<string[]>([]);
  const now = useRef(files);
  const set = (next: FilePart[]) => {
    now.current = next;
    setFiles(next);
    setRefused([]);
    onChange(next);
  };
  const add = async (chosen: Iterable<File>) => {
    setReading(true);
    const result = await attach(now.current, [...chosen], readsPdf, base);
    set(result.files);
    if (result.words.length) onWords(result.words);
    setRefused(result.refused);
    setReading(false);
  };
  const dropping = useDrop(area, (chosen) => void add(chosen));
  return { files, reading, refused, dropping, set, add: (chosen: Iterable<File>) => void add(chosen) };
}

function Pictures({ files, reading, refused, dropping, set }: ReturnType<typeof usePictures>) {
  return (
    <>
      {dropping && <div className="drop">{t.dropFiles(limits())}</div>}
      {refused.length > 0 && (
        <p className="refused" role="alert">
          {refused.join(' ')}
        </p>
      )}
      {(files.length > 0 || reading) && (
        <ul className="pictures" aria-label={t.picturesToSend}>
          {files.map((f, i) => (
            <li key={f.url.length + f.url.slice(-40)}>
              {f.mediaType.startsWith('image/') ? (
                <img src={f.url} alt={f.filename ?? t.picture} />
              ) : (
                <span className="paper">
                  <Icon name="paper" size={16} />
                  {f.filename ?? t.paper}
                </span>
              )}
              <button
                type="button"
                className="quiet"
                aria-label={t.leaveOut(f.filename ?? t.thisPicture)}
                onClick={() => set(files.filter((_, k) => k !== i))}
              >
                <Icon name="close" size={16} />
              </button>
            </li>
          ))}
          {reading && <li className="meta">{t.reading}</li>}
        </ul>
      )}
    </>
  );
}

/* Files dropped anywhere on the page; without this the browser would leave the page to show them. In somebody else's page, on our part of it. */
function useDrop(area: RefObject<HTMLElement | null>, take: (files: File[]) => void): boolean {
  const [over, setOver] = useState(false);
  const latest = useRef(take);
  latest.current = take;
  useEffect(() => {
    const hasFiles = (e: DragEvent) => !!e.dataTransfer?.types.includes('Files') && !document.querySelector('dialog[open]');
    const drag = (e: DragEvent) => {
      if (!hasFiles(e)) return;
      e.preventDefault();
      setOver(true);
    };
    const leave = (e: DragEvent) => {
      if (e.relatedTarget === null) setOver(false);
    };
    const drop = (e: DragEvent) => {
      if (!hasFiles(e)) return;
      e.preventDefault();
      setOver(false);
      latest.current([...e.dataTransfer!.files]);
    };
    const root = area.current?.getRootNode();
    const where: EventTarget = root instanceof ShadowRoot ? root : window;
    const listeners = Object.entries({ dragover: drag, dragleave: leave, drop }) as [string, (e: Event) => void][];
    listeners.forEach(([name, f]) => where.addEventListener(name, f));
    return () => listeners.forEach(([name, f]) => where.removeEventListener(name, f));
  }, [area]);
  return over;
}
