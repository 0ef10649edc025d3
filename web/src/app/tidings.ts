/* tidings.ts -- told at once when something is asked, answered or settled in any conversation.
 *
 * GET /v1/approvals/events, while somebody looks at the page or wants its notifications. An event only says
 * that it is time to look: what is shown comes from the lists, so that there is one truth. It is also time when
 * the stream opens, since what was asked before that is not told. A connection that cannot be had costs nothing
 * but time: the page looks now and then anyway.
 */
import type { Api } from '../transport/api';
import { readSse } from '../transport/sse';

/* After the first failure, the second, and every further one. */
const pauses_ms = [1_000, 5_000, 30_000];

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((done) => {
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', () => (clearTimeout(timer), done()), { once: true });
  });
}

export class Tidings {
  private who: object | null = null;
  private listening: AbortController | null = null;
  private cursor = '';

  constructor(
    private readonly api: Api,
    private readonly happened: () => void,
  ) {}

  /** For whom, null for nobody; may be said again. A stream was opened by somebody: for another it is opened anew. */
  listenFor(who: object | null): void {
    if (who === this.who) return;
    this.who = who;
    this.listening?.abort();
    this.listening = who && new AbortController();
    if (this.listening) void this.listen(this.listening.signal);
  }

  private async listen(signal: AbortSignal): Promise<void> {
    for (let failures = 0; !signal.aborted; failures++) {
      try {
        await this.follow(signal, () => (failures = 0));
      } catch {
        this.cursor = ''; // perhaps it is too old
      }
      await pause(pauses_ms[Math.min(failures, pauses_ms.length - 1)]!, signal);
    }
  }

  private async follow(signal: AbortSignal, heard: () => void): Promise<void> {
    const after = this.cursor && `?after=${encodeURIComponent(this.cursor)}`;
    const response = await this.api.open('GET', `/v1/approvals/events${after}`, undefined, signal);
    this.happened();
    for await (const batch of readSse(response.body!, signal)) {
      heard();
      this.cursor = batch.at(-1)?.id ?? this.cursor;
      if (batch.length) this.happened();
    }
  }
}
