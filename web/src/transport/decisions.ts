/* decisions.ts -- a person's yes or no, and what the record says of it.
 *
 * The state is in the conversation: a card whose click is on its way says so
 * itself, which is what makes a second click do nothing. The server's record
 * wins over everything that was guessed here.
 */
import { callsOf, self, type AnswerTerms, type Approval, type ApprovalRecord, type Call, type Message } from '../protocol';
import { Refused, Unreachable, type Api } from './api';
import type { Way } from './connection';
import { newId, type Conversation } from './conversation';
import { t } from '../words';

export class Decisions {
  /** Records that were asked for, by question and how it stood. */
  private asked = new Set<string>();
  /** Calls that were decided in this tab. */
  readonly here = new Set<string>();

  constructor(
    private readonly api: Api,
    private readonly c: Conversation,
    private readonly way: Way,
    private readonly notice: (text: string) => void,
  ) {}

  async decide(approvalId: string, confirmed: boolean, terms: AnswerTerms = {}): Promise<void> {
    const found = this.find(approvalId);
    if (!found || found.call.approval?.status !== 'pending' || found.call.approval.sending) return; // a second click
    const { call, message } = found;
    this.c.dispatch({ type: 'decision', id: approvalId, state: 'sending', confirmed });
    this.here.add(call.id);
    try {
      if (terms.grant || terms.input !== undefined || terms.payload !== undefined || call.approval?.who) return await this.vote(approvalId, confirmed, terms);
      const { reason } = terms;
      await this.way.answer(this.c.id!, { approvalId, confirmed, reason, answerId: newId('a'), call, messageId: message.id });
      const record = {
        id: approvalId,
        status: confirmed ? 'approved' : 'denied',
        decided_by: self,
        decided_at: new Date().toISOString(),
        reason: reason ?? null,
      };
      this.c.dispatch({ type: 'approval', record });
    } catch (error) {
      await this.failed(approvalId, confirmed, error);
    }
  }

  /* Where a rule asks, a yes may be one of several, and one with changes is another request: what it came to, the server says. */
  private async vote(id: string, confirmed: boolean, terms: AnswerTerms): Promise<void> {
    const { replaced_by } = await this.api.decide(id, { confirmed, ...terms, answer_id: newId('a') });
    await this.look(id, confirmed);
    if (!replaced_by) return;
    const record = await this.api.approval(replaced_by);
    this.c.dispatch({ type: 'approval', record });
    if (record.status === 'pending') this.notice(t.changedAsks);
  }

  private async look(id: string, confirmed: boolean): Promise<void> {
    const record = await this.api.approval(id);
    this.c.dispatch({ type: 'decision', id, state: 'failed', confirmed, error: '' }); // it is not on its way any more
    this.c.dispatch({ type: 'approval', record });
  }

  /** A vote is taken back, until the others have decided. */
  async unvote(id: string): Promise<void> {
    await this.api.unvote(id).catch(() => undefined);
    await this.look(id, false).catch(() => undefined);
  }

  async settle(approvalId: string, outcome: 'done' | 'not_done'): Promise<void> {
    const record = await this.api.settle(approvalId, outcome);
    this.c.dispatch({ type: 'approval', record });
  }

  /**
   * The typed dialect says that a gated call did not happen, not why; the native
   * form asks without the server's sentence. The record knows both.
   */
  async learn(): Promise<void> {
    const { open } = this.c.state;
    for (const { approval, status } of open ? callsOf(open) : []) {
      if (!approval || approval.sending || !incomplete(approval, status)) continue;
      const key = `${approval.id}:${approval.status}`;
      if (this.asked.has(key)) continue;
      this.asked.add(key);
      await this.learnOf(approval.id);
    }
  }

  /** What the record says of a request now; when it cannot be had, what was known stands. */
  async learnOf(id: string): Promise<void> {
    const record = await this.api.approval(id).catch(() => null);
    if (record) this.c.dispatch({ type: 'approval', record });
  }

  private async failed(id: string, confirmed: boolean, error: unknown): Promise<void> {
    if (error instanceof Refused && error.status === 409) {
      const found = await this.api.decided(id);
      if (found) {
        this.c.dispatch({ type: 'approval', record: found.record });
        this.notice(found.words);
        return;
      }
    }
    if (error instanceof Unreachable) return this.unsure(id, confirmed);
    this.c.dispatch({ type: 'decision', id, state: 'failed', confirmed, error: words(error) });
  }

  /* It may have arrived, and only its answer was lost: nothing is claimed and nothing can be clicked until the server has said. */
  private async unsure(id: string, confirmed: boolean): Promise<void> {
    this.c.dispatch({ type: 'decision', id, state: 'unsure', confirmed, error: t.notKnownYet });
    const waits = () => !!this.find(id)?.call.approval?.sending;
    const record = await this.api.approvalInTime(id, waits);
    if (!waits()) return; // told meanwhile
    const error = !record ? t.noSuchConversation : tookAnswer(record) ? '' : t.notArrived;
    this.c.dispatch({ type: 'decision', id, state: 'failed', confirmed, error });
    if (record) this.c.dispatch({ type: 'approval', record });
  }

  private find(id: string): { call: Call; message: Message } | null {
    const { open, messages } = this.c.state;
    for (const message of open ? [open, ...messages] : messages) {
      const call = callsOf(message).find((c) => c.approval?.id === id);
      if (call) return { call, message };
    }
    return null;
  }
}

/** Of a request after an answer to it of which nothing was heard: whether that was taken, alone or as one of several. */
export function tookAnswer(record: ApprovalRecord): boolean {
  return record.status !== 'pending' || record.voted === true;
}

function incomplete(a: Approval, status: Call['status']): boolean {
  return (a.status === 'pending' && (!a.ask || !a.known)) || (status === 'denied' && !a.decidedBy);
}

function words(error: unknown): string {
  if (error instanceof Refused && error.status === 401) return t.signInFirst;
  return error instanceof Error ? error.message : t.failed;
}
