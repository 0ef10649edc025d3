/* api.ts -- the REST side: threads, approvals, results.
 *
 * Every failure becomes one of two errors, because the page treats them
 * differently: `Unreachable` (try again by itself) and `Refused` (the server
 * said no; tell the person what it said).
 */
import type { AnswerTerms, ApprovalRecord, StoredThread, UIMessage } from '../protocol';
import { isObject, parseExact } from '../protocol';
import { t } from '../words';

export class Unreachable extends Error {}

export class Refused extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly body?: unknown,
  ) {
    // Programs are told of headers; a person in front of a page needs the address.
    super(code === 'token_needed' ? t.tokenNeeded : message);
  }
}

/* About three screens of short messages: one request while the reader goes through one of them. */
const pageSize = 60;

/* A look that is not answered by then is asked for again: the network may have changed under it. */
const lookWithin_ms = 5000;
const lookEvery_ms = 700;

export interface ThreadInfo {
  id: string;
  title: string | null;
  created_at: string;
  updated_at: string;
  state: 'idle' | 'running' | 'waiting';
}

/** `line`: what stands around the words; null: its name has them. */
export interface FoundThread extends ThreadInfo {
  line?: string | null;
}

/** A yes that is worth more than one call. Amounts are texts in plain decimal. */
export interface Grant {
  id: string;
  tool: string;
  scope: 'thread' | 'me';
  thread: string | null;
  owner: string;
  by: string;
  given_at: string;
  until: string;
  count: number | null;
  uses: number;
  max: string | null;
  amount: string | null;
  same: Record<string, unknown>;
  status: 'open' | 'used_up' | 'ended' | 'revoked';
}

export interface Usage {
  day: string;
  who: string;
  tokens: number;
  /** In millionths of the currency. */
  cost_micro: number;
}

/** A step as it was (docs/doors.md has all of it); `request` when it was asked for alone. */
export interface TraceStep {
  step: number;
  ms?: number;
  model?: string;
  failed?: string;
  input_tokens?: number;
  output_tokens?: number;
  said: { type: string; text?: string }[];
  calls: { tool: string; gate: string; decided?: { outcome: string }; finished?: { outcome: string } }[];
  request?: { body: string } | null;
}

export interface Trace {
  id: string;
  runs: { steps: TraceStep[] }[];
}

export interface SharedThread {
  title: string;
  owner: string;
  messages: UIMessage[];
}

export interface ToolInfo {
  name: string;
  description?: string;
  input_schema?: unknown;
  where?: string;
  confirm?: unknown;
  risk?: string;
  idempotent?: boolean;
  /** What its result is shown as; otherwise it is text, whatever it looks like. */
  shows?: 'artifact' | null;
  /** What somebody might say to have it used. */
  example?: string | null;
  /** Reached by a suggested action only. */
  hidden?: boolean;
  source?: string;
  runs?: number;
  failed?: number;
}

/** Who the server takes us for. `until`: when the cookie's session ends; null without one. */
export interface Whoami {
  principal: string;
  roles: string[];
  until: string | null;
  /** Who answers requests: whose conversation it is, or an approver. */
  decides?: 'owner' | 'approver';
  /** What an approver may read beside a request: nothing, the words that led to it, or the conversation's last lines. */
  context?: 'none' | 'question' | 'conversation';
  /** While a request waits nothing else is taken. */
  holds?: boolean;
}

/** A line of the conversation that led to a request. */
export interface ContextLine {
  role: 'user' | 'assistant';
  text: string;
  /** It goes on. */
  cut: boolean;
}

export type TokenSource = () => string | null | Promise<string | null>;

export interface ApiOptions {
  base?: string;
  /**
   * Bearer key. Asked for again on every request, so that it can change; what a promise brought is kept until the
   * server refuses it or `forget` is called.
   */
  token?: TokenSource;
  fetch?: typeof fetch;
  /** The server wants to know who is there. */
  unauthorized?: () => void;
}

export class Api {
  readonly base: string;
  private readonly token: TokenSource;
  private kept: Promise<string | null> | null = null;
  private readonly fetch: typeof fetch;
  private readonly unauthorized: () => void;

  constructor(options: ApiOptions = {}) {
    this.base = options.base ?? '';
    this.token = options.token ?? (() => null);
    this.fetch = options.fetch ?? ((...args) => globalThis.fetch(...args));
    this.unauthorized = options.unauthorized ?? (() => undefined);
  }

  /** The key to send. Refused when the page cannot say who is there. */
  async bearer(): Promise<string | null> {
    try {
      if (this.kept) return await this.kept;
      const given = this.token();
      if (given instanceof Promise) this.kept = given;
      return await given;
    } catch {
      this.kept = null;
      this.unauthorized();
      throw new Refused(401, 'unauthorized', t.noKey);
    }
  }

  /** Somebody else may be there now: the key is asked for again. */
  forget(): void {
    this.kept = null;
  }

  threads(before?: string): Promise<{ threads: ThreadInfo[]; next: string | null }> {
    return this.json('GET', `/v1/threads?limit=50${before ? `&before=${encodeURIComponent(before)}` : ''}`);
  }

  /** Conversations with these words, in their names or in what was said; `line` is where. */
  search(words: string, before: string | undefined, signal: AbortSignal): Promise<{ threads: FoundThread[]; next: string | null }> {
    const page = before ? `&before=${encodeURIComponent(before)}` : '';
    return this.json('GET', `/v1/threads?in=all&limit=30&search=${encodeURIComponent(words)}${page}`, undefined, { signal });
  }

  /** Its newest messages, or those before the message `before`. */
  thread(id: string, { before, signal }: { before?: string; signal?: AbortSignal } = {}): Promise<StoredThread> {
    const page = before ? `&before=${encodeURIComponent(before)}` : '';
    return this.json('GET', `/v1/threads/${id}?limit=${pageSize}${page}`, undefined, { signal });
  }

  /** Its steps; or one of them, with what the model was asked. */
  trace(id: string, step?: number): Promise<Trace> {
    return this.json('GET', `/v1/threads/${id}/trace${step ? `?step=${step}` : ''}`);
  }

  /** The link by which others read it; null: there is none. */
  shared(id: string): Promise<{ path: string | null }> {
    return this.json('GET', `/v1/threads/${id}/share`);
  }

  /** A link to it as it stands now. */
  share(id: string): Promise<{ path: string }> {
    return this.json('POST', `/v1/threads/${id}/share`, {});
  }

  unshare(id: string): Promise<unknown> {
    return this.json('DELETE', `/v1/threads/${id}/share`);
  }

  /** What a link leads to. */
  sharedThread(token: string): Promise<SharedThread> {
    return this.json('GET', `/v1/shared/${encodeURIComponent(token)}`);
  }

  rename(id: string, title: string): Promise<unknown> {
    return this.json('PATCH', `/v1/threads/${id}`, { title });
  }

  remove(id: string, keepalive = false): Promise<unknown> {
    return this.json('DELETE', `/v1/threads/${id}`, undefined, { keepalive });
  }

  stop(id: string): Promise<{ stopped: boolean }> {
    return this.json('POST', `/v1/threads/${id}/stop`, {});
  }

  action(id: string, action: string, data: unknown, requestId: string): Promise<{ run_id: string }> {
    return this.json('POST', `/v1/threads/${id}/actions`, { action, ...(data !== undefined ? { data } : {}), request_id: requestId });
  }

  claim(id: string, call: string, client: string): Promise<unknown> {
    return this.json('POST', `/v1/threads/${id}/results/${call}/claim`, { client });
  }

  result(id: string, call: string, body: { result: unknown } | { error: string }): Promise<unknown> {
    return this.json('POST', `/v1/threads/${id}/results/${call}`, body);
  }

  approvals(query: {
    status?: string;
    thread?: string;
    limit?: string;
    before?: string;
    /** "true": everybody's, for administrators. */
    all?: string;
  }): Promise<{ approvals: ApprovalRecord[]; next: string | null }> {
    const q = new URLSearchParams(Object.entries(query).filter((e): e is [string, string] => !!e[1]));
    return this.json('GET', `/v1/approvals?${q}`);
  }

  /** All pages of that list, from `before` on. */
  async everyApproval(query: { status?: string; before?: string; all?: string }): Promise<ApprovalRecord[]> {
    const list: ApprovalRecord[] = [];
    for (let before = query.before; ; ) {
      const page = await this.approvals({ ...query, limit: '500', before });
      list.push(...page.approvals);
      if (!page.next) return list;
      before = page.next;
    }
  }

  approval(id: string, signal?: AbortSignal): Promise<ApprovalRecord> {
    return this.json('GET', `/v1/approvals/${id}`, undefined, { signal });
  }

  /**
   * How a request stands, as soon as the server can say it: after an answer whose own answer was lost. null: it will not be
   * said, or `wanted` has become false.
   */
  async approvalInTime(id: string, wanted: () => boolean): Promise<ApprovalRecord | null> {
    while (wanted()) {
      try {
        return await this.approval(id, AbortSignal.timeout(lookWithin_ms));
      } catch (error) {
        if (error instanceof Refused && error.status !== 401) return null;
      }
      await new Promise((again) => setTimeout(again, lookEvery_ms));
    }
    return null;
  }

  /** The last lines of its conversation, where this person may read them. */
  context(id: string): Promise<{ lines: ContextLine[] }> {
    return this.json('GET', `/v1/approvals/${id}/context`);
  }

  /** After a 409: the record, and what became of it in a sentence. */
  async decided(id: string): Promise<{ record: ApprovalRecord; words: string } | null> {
    const record = await this.approval(id).catch(() => null);
    if (record?.status === 'pending') return null; // refused for another reason: it still waits
    return record && { record, words: decidedWords(record) };
  }

  decide(
    id: string,
    answer: AnswerTerms & { confirmed: boolean; answer_id?: string },
  ): Promise<Partial<ApprovalRecord> & { id: string; duplicate?: boolean }> {
    return this.json('POST', `/v1/approvals/${id}`, answer);
  }

  /** Takes a vote back, until the request is decided. */
  unvote(id: string): Promise<unknown> {
    return this.json('DELETE', `/v1/approvals/${id}/vote`);
  }

  grants(): Promise<{ grants: Grant[]; next: string | null }> {
    return this.json('GET', '/v1/grants');
  }

  revoke(id: string): Promise<Grant> {
    return this.json('DELETE', `/v1/grants/${id}`);
  }

  settle(id: string, outcome: 'done' | 'not_done', note?: string): Promise<ApprovalRecord> {
    return this.json('POST', `/v1/approvals/${id}/settle`, { outcome, ...(note ? { note } : {}) });
  }

  /** Tokens by day and person, for administrators. */
  usage(): Promise<{ usage: Usage[]; currency: string | null }> {
    return this.json('GET', '/v1/usage?all=true');
  }

  tools(): Promise<{ tools: ToolInfo[] }> {
    return this.json('GET', '/v1/tools');
  }

  /** Whose assistant it is. Everybody may know: no key goes along. */
  async page(): Promise<unknown> {
    const response = await this.ask('GET', '/v1/page', undefined, {}, null);
    if (!response.ok) throw await refusal(response);
    return response.json();
  }

  whoami(): Promise<Whoami> {
    return this.json('GET', '/v1/session');
  }

  /** Exchanges a key for a cookie that scripts cannot read. */
  signIn(token: string): Promise<Whoami> {
    return this.json('POST', '/v1/session', { token });
  }

  /** The same for what stood in the address: a start token, never a key. */
  showStartToken(token: string): Promise<Whoami> {
    return this.json('POST', '/v1/session', { start_token: token });
  }

  signOut(): Promise<unknown> {
    return this.json('DELETE', '/v1/session');
  }

  /** A streaming request: resolves with the open response, or throws. 204 is an answer ("nothing under way"). */
  async open(method: 'GET' | 'POST', path: string, body: unknown, signal: AbortSignal): Promise<Response> {
    return this.request(method, path, body, { signal, accept: 'text/event-stream' });
  }

  private async json<T>(method: string, path: string, body?: unknown, init: Init = {}): Promise<T> {
    const response = await this.request(method, path, body, init);
    if (response.status === 204) return undefined as T;
    try {
      return parseExact(await response.text()) as T;
    } catch {
      throw new Unreachable(t.unreadable);
    }
  }

  private async request(method: string, path: string, body: unknown, init: Init): Promise<Response> {
    const kept = this.kept;
    const token = await this.bearer();
    let response = await this.ask(method, path, body, init, token);
    // A key that was kept may have run out meanwhile: once more, with a fresh one.
    if (response.status === 401 && kept) {
      if (this.kept === kept) this.kept = null;
      const fresh = await this.bearer();
      if (fresh !== token) response = await this.ask(method, path, body, init, fresh);
    }
    if (response.status === 401) {
      this.kept = null;
      this.unauthorized();
    }
    if (!response.ok) throw await refusal(response);
    return response;
  }

  private async ask(method: string, path: string, body: unknown, init: Init, token: string | null): Promise<Response> {
    try {
      return await this.fetch(this.base + path, {
        method,
        headers: {
          accept: init.accept ?? 'application/json',
          ...(body !== undefined ? { 'content-type': 'application/json' } : {}),
          ...(token ? { authorization: `Bearer ${token}` } : {}),
        },
        ...(body !== undefined ? { body: JSON.stringify(body) } : {}),
        ...(init.signal ? { signal: init.signal } : {}),
        ...(init.keepalive ? { keepalive: true } : {}),
        cache: 'no-store',
      });
    } catch (cause) {
      throw new Unreachable(t.unreachable, { cause });
    }
  }
}

/** What became of a request, in a sentence. */
export function decidedWords(record: ApprovalRecord): string {
  return t.decidedAlready(t.decision[record.status] ?? t.decision.approved!, record.decided_by ?? '');
}

interface Init {
  signal?: AbortSignal;
  keepalive?: boolean;
  accept?: string;
}

/* Errors are `{"error":{"code","message"}}`, on the AI SDK doors a sentence with the code in a header. */
async function refusal(response: Response): Promise<Error> {
  const text = await response.text().catch(() => '');
  let code = response.headers.get('parley-error') ?? `http_${response.status}`;
  let message = text.trim();
  let body: unknown;
  try {
    body = JSON.parse(text);
    if (isObject(body) && isObject(body.error)) {
      code = String(body.error.code ?? code);
      message = String(body.error.message ?? message);
    }
  } catch {
    // a sentence
  }
  // A gateway that answers for a server that is away is "unreachable", not "refused".
  if (response.status === 502 || response.status === 503 || response.status === 504)
    return new Unreachable(message || t.notReady);
  return new Refused(response.status, code, message || t.answered(response.status), body);
}
