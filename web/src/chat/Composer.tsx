/* Composer.tsx -- where the person writes.
 *
 * Usable all the time: while an answer streams, Enter puts the message behind
 * it and the button stops. Enter that confirms an input method's composition
 * never sends. The text is kept per thread by the page around it.
 */
import { useEffect, useImperativeHandle, useLayoutEffect, useRef, useState, type KeyboardEvent, type Ref } from 'react';
import { Icon } from './icons';

export interface ComposerHandle {
  focus(): void;
  fill(text: string): void;
  clear(): void;
}

interface Props {
  draft: string;
  onDraft: (text: string) => void;
  streaming: boolean;
  stopping: boolean;
  onSend: (text: string) => void;
  onStop: () => void;
  onEditLast: () => void;
  ref: Ref<ComposerHandle>;
}

/* On a touch keyboard Enter is a new line: there is no Shift to speak of. */
const touch = typeof matchMedia === 'function' && matchMedia('(pointer: coarse) and (hover: none)').matches;

export function Composer({ draft, onDraft, streaming, stopping, onSend, onStop, onEditLast, ref }: Props) {
  const [text, setText] = useState(draft);
  const area = useRef<HTMLTextAreaElement>(null);
  const change = (value: string) => {
    setText(value);
    onDraft(value);
  };
  useEffect(() => setText(draft), [draft]);
  useLayoutEffect(() => fit(area.current), [text]);
  useImperativeHandle(ref, () => ({
    focus: () => area.current?.focus(),
    clear: () => change(''),
    fill: (value) => {
      change(value);
      area.current?.focus();
    },
  }));
  const send = () => {
    const value = text.trim();
    if (!value) return;
    change('');
    onSend(value);
    area.current?.focus();
  };
  const keys = (e: KeyboardEvent<HTMLTextAreaElement>) => {
    if (e.nativeEvent.isComposing || e.keyCode === 229) return;
    if (e.key === 'ArrowUp' && text === '') {
      e.preventDefault();
      onEditLast();
    }
    if (e.key !== 'Enter' || e.shiftKey || touch) return;
    e.preventDefault();
    send();
  };
  const stops = streaming && text.trim() === '';
  return (
    <form
      className="composer"
      onSubmit={(e) => {
        e.preventDefault();
        if (!stops) send();
      }}
    >
      <textarea
        ref={area}
        value={text}
        rows={1}
        placeholder="Write a message"
        aria-label="Message"
        dir="auto"
        enterKeyHint={touch ? 'enter' : 'send'}
        onChange={(e) => change(e.target.value)}
        onKeyDown={keys}
      />
      {stops ? (
        <button type="button" className="round stop" onClick={onStop} disabled={stopping} aria-label="Stop the answer" title="Stop (Esc)">
          <Icon name="stop" />
        </button>
      ) : (
        <button
          type="submit"
          className="round"
          disabled={text.trim() === ''}
          aria-label={streaming ? 'Send after this answer' : 'Send'}
          title="Send (Enter)"
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
  el.style.height = `${el.scrollHeight}px`;
}
