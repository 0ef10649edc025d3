/* clientTools.ts -- the tools that run in this browser.
 *
 * Exactly one tab runs an offered call: it claims the call first, and the tab
 * where the person asked or said yes goes before the others. The result goes to
 * the server before it is shown; a refusal means that it was decided without us.
 */
import { callsOf, lastOf, plain, type Call } from '../protocol';
import { Refused, type Api } from './api';
import type { Way } from './connection';
import type { Conversation } from './conversation';
import { sleep } from './link';
import type { OutgoingResult } from './types';

export type ClientTool = (input: unknown) => Promise<unknown>;

export interface ClientToolOptions {
  /** Names this tab when it claims a call. */
  client: string;
  tools: Record<string, ClientTool>;
  notice: (text: string) => void;
}

/* The tab where the person clicked should make the music; the others wait this long before they offer themselves. */
const strangerDelay_ms = 1500;
const reportTries = 5;

export class ClientTools {
  private attempted = new Set<string>();

  constructor(
    private readonly options: ClientToolOptions,
    private readonly api: Api,
    private readonly c: Conversation,
    private readonly way: Way,
    /** Whether the person is at this tab. */
    private readonly here: (call: Call) => boolean,
  ) {}

  runOffered(): void {
    const { open } = this.c.state;
    for (const call of open ? callsOf(open) : []) {
      if (call.status !== 'offered' || this.attempted.has(call.id) || !this.options.tools[call.name]) continue;
      this.attempted.add(call.id);
      void this.run(call);
    }
  }

  private async run(call: Call): Promise<void> {
    if (!this.here(call)) await sleep(strangerDelay_ms);
    if (this.now(call.id)?.status !== 'offered') return; // another tab did it
    if (!(await this.claim(call))) return;
    this.c.dispatch({ type: 'claim', tool_use_id: call.id, mine: true });
    await this.report(call, await this.execute(call));
  }

  private async claim(call: Call): Promise<boolean> {
    try {
      await this.api.claim(this.c.id!, call.id, this.options.client);
      return true;
    } catch (error) {
      if (error instanceof Refused && error.code === 'token_needed') this.options.notice(error.message);
      if (error instanceof Refused) this.c.dispatch({ type: 'claim', tool_use_id: call.id, mine: false });
      else this.attempted.delete(call.id); // not reached: the next load tries again
      return false;
    }
  }

  private async execute(call: Call): Promise<OutgoingResult['outcome']> {
    try {
      return { result: await this.options.tools[call.name]!(plain(call.input)) };
    } catch (error) {
      return { error: error instanceof Error ? error.message : String(error) };
    }
  }

  private async report(call: Call, outcome: OutgoingResult['outcome']): Promise<void> {
    for (let n = 0; n < reportTries; n++) {
      try {
        await this.way.result(this.c.id!, { callId: call.id, name: call.name, outcome });
        this.c.dispatch(
          'error' in outcome
            ? { type: 'tool_error', tool_use_id: call.id, message: outcome.error }
            : { type: 'tool_output', tool_use_id: call.id, output: outcome.result },
        );
        return;
      } catch (error) {
        if (error instanceof Refused) return; // decided without us; the stream says how
        await sleep(500 * 2 ** n);
      }
    }
  }

  private now(id: string): Call | undefined {
    const { open, messages } = this.c.state;
    return open?.calls[id] ?? lastOf(messages)?.calls[id];
  }
}
