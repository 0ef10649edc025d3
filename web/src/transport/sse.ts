/* sse.ts -- text/event-stream, from bytes to events.
 *
 * A pure parser (`SseParser`) and a reader over a fetch body. UTF-8 and lines
 * may be cut anywhere; an event that is not closed by a blank line is dropped,
 * as the standard says: the next connection brings it whole.
 */
import { t } from '../words';

export interface SseEvent {
  id?: string;
  event?: string;
  data: string;
}

export class SseParser {
  private rest = '';
  private data: string[] = [];
  private id: string | undefined;
  private name: string | undefined;

  /** Takes the next piece of text, gives the events it completes. */
  push(text: string): SseEvent[] {
    const lines = (this.rest + text).split(/\r\n|\n|\r(?!$)/);
    this.rest = lines.pop() ?? '';
    return lines.flatMap((line) => this.line(line));
  }

  private line(line: string): SseEvent[] {
    if (line === '') return this.dispatch();
    if (line.startsWith(':')) return [];
    const colon = line.indexOf(':');
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
    if (field === 'data') this.data.push(value);
    else if (field === 'id') this.id = value;
    else if (field === 'event') this.name = value;
    return [];
  }

  private dispatch(): SseEvent[] {
    const { data, id, name } = this;
    this.data = [];
    this.name = undefined;
    if (data.length === 0) return [];
    return [{ data: data.join('\n'), ...(id !== undefined ? { id } : {}), ...(name !== undefined ? { event: name } : {}) }];
  }
}

/* The server sends a comment every 15 s of silence. A stream that says nothing
 * for longer than two of them is dead, even if no error was reported (a phone
 * that slept, a proxy that forgot us). */
const silenceMax_ms = 40_000;

export class Silence extends Error {}

/** Events of a response body, in batches as they arrive. Ends when the body ends; throws when it breaks or goes silent. */
export async function* readSse(body: ReadableStream<Uint8Array>, signal: AbortSignal): AsyncGenerator<SseEvent[]> {
  const parser = new SseParser();
  const utf8 = new TextDecoder();
  const reader = body.getReader();
  const cancel = () => void reader.cancel().catch(() => undefined);
  signal.addEventListener('abort', cancel);
  try {
    for (;;) {
      const { done, value } = await withDeadline(reader.read());
      if (signal.aborted || done) return;
      const events = parser.push(utf8.decode(value, { stream: true }));
      if (events.length) yield events;
    }
  } finally {
    signal.removeEventListener('abort', cancel);
    cancel();
  }
}

function withDeadline<T>(read: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Silence(t.streamSilent)), silenceMax_ms);
    read.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
